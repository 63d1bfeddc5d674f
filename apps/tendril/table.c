// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include "cli.h"

#include "base/file.h"
#include "base/number.h"
#include "describe/csv.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_COLUMNS 20000

// ---------------------------------------------------------------- cells

// Where the cell that begins here ends; quotes hide commas.
static const char *end_of_cell(const char *at, const char *end)
{
    bool quoted = false;
    for (; at < end && (quoted || (*at != ',' && *at != '\n')); at++)
        quoted = quoted != (*at == '"');
    return at;
}

// A cell without blanks and quotes around it.
static char *take_cell(tdArena *arena, const char *from, const char *to)
{
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r'))
        to--;
    char *copy = TD_TAKE(arena, char, to - from + 1), *put = copy;
    bool quoted = to - from >= 2 && *from == '"';
    if (quoted)
    {
        from++;
        to--;
    }
    for (; copy != NULL && from < to; from++)
    {
        *put++ = *from;
        if (quoted && from + 1 < to && from[0] == '"' && from[1] == '"')
            from++;
    }
    return copy;
}

static bool is_gap(const char *from, size_t length)
{
    static const char *const gaps[] = {"nan", "inf", "-nan", "-inf", "+inf"}; // as programs write what is no number
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++)
        if (length == strlen(gaps[i]) && strncasecmp(from, gaps[i], length) == 0)
            return true;
    return length == 0;
}

// NAN for what is not a number alone.
static double number_in(const char *from, const char *to, bool *empty)
{
    char cell[64], *end = NULL;
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r'))
        to--;
    *empty = is_gap(from, (size_t)(to - from));
    if (*empty || to - from >= (int)sizeof cell || strchr("+-.0123456789", *from) == NULL)
        return NAN;
    memcpy(cell, from, (size_t)(to - from));
    cell[to - from] = '\0';
    double value = td_number(cell, &end);
    return *end == '\0' && isfinite(value) ? value : NAN;
}

// ---------------------------------------------------------------- a table

static const char *next_line(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline != NULL ? newline + 1 : end;
}

static bool is_blank(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
        at++;
    return at == end || *at == '\n' || *at == '#';
}

static const char *skip_blank(const char *at, const char *end)
{
    while (at < end && is_blank(at, end))
        at = next_line(at, end);
    return at;
}

static tdStatus read_title(tdArena *arena, const char *from, const char *to, tableColumn *out, tdError *error)
{
    char *title = take_cell(arena, from, to), *name = title != NULL ? td_arena_copy(arena, title) : NULL;
    if (name == NULL)
        return td_fail_memory(error, "a table");
    out->title = title;
    out->name = name;
    out->unit = "";
    size_t length = strlen(name);
    char *open = strrchr(name, '[');
    // "bodies[arm].mass" has brackets of its own: a unit stands behind a blank.
    if (open == NULL || length < 2 || name[length - 1] != ']' || open == name || open[-1] != ' ')
        return TD_OK;
    name[length - 1] = '\0';
    out->unit = open + 1;
    for (*open = '\0'; open > name && open[-1] == ' '; open--)
        open[-1] = '\0';
    return TD_OK;
}

static tdStatus read_header(const char *file, const char *at, const char *end, tdArena *arena, Table *out,
                            tdError *error)
{
    const char *line = next_line(at, end);
    int n = 1;
    for (const char *c = end_of_cell(at, line); c < line && *c == ','; c = end_of_cell(c + 1, line))
        n++;
    if (n > MOST_COLUMNS)
        return td_fail_at(error, TD_ERROR_INPUT, file, 1, NULL, "has %d columns; %d are allowed", n, MOST_COLUMNS);
    out->columns = TD_TAKE(arena, tableColumn, n);
    if (out->columns == NULL)
        return td_fail_memory(error, file);
    for (int k = 0; k < n; k++)
    {
        const char *to = end_of_cell(at, line);
        TD_TRY(read_title(arena, at, to, &out->columns[k], error));
        at = to + 1;
    }
    out->n = n;
    const char *title = out->columns[0].title;
    if (n == 1 && strpbrk(title, ";\t") != NULL)
        return td_fail_at(
            error, TD_ERROR_INPUT, file, 1, NULL,
            "the titles are separated by %s; tables have commas between cells, and points as decimal marks",
            strchr(title, ';') != NULL ? "semicolons" : "tabs");
    return TD_OK;
}

// Whether there is anything but blanks and commas in the rest of a line.
static bool has_more(const char *at, const char *line)
{
    while (at < line && (*at == ',' || *at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
        at++;
    return at < line;
}

static tdStatus read_rows(const char *file, const char *at, const char *end, tdArena *arena, Table *out, tdError *error)
{
    int64_t rows = 0;
    for (const char *c = skip_blank(at, end); c < end; c = skip_blank(next_line(c, end), end))
        rows++;
    bool *number = TD_TAKE(arena, bool, out->n + 1);
    for (int k = 0; k < out->n; k++)
        if ((out->columns[k].values = TD_TAKE(arena, double, rows + 1)) == NULL || number == NULL)
            return td_fail_memory(error, file);
    for (at = skip_blank(at, end); at < end; at = skip_blank(at, end))
    {
        const char *line = next_line(at, end);
        for (int k = 0; k < out->n; k++)
        {
            bool empty = true;
            const char *to = at < line ? end_of_cell(at, line) : line;
            double value = at < line ? number_in(at, to, &empty) : NAN;
            tableColumn *column = &out->columns[k];
            column->values[out->rows] = value;
            number[k] = number[k] || !isnan(value);
            if (isnan(value) && !empty && column->odd++ == 0)
                column->odd_row = out->rows + 1;
            if (k + 1 < out->n && (to >= line || *to != ','))
                return td_fail_at(error, TD_ERROR_INPUT, file, 0, NULL,
                                  "row %lld below the titles has %d cells, there are %d titles",
                                  (long long)out->rows + 1, k + 1, out->n);
            if (k + 1 == out->n && has_more(to, line))
                return td_fail_at(
                    error, TD_ERROR_INPUT, file, 0, NULL,
                    "row %lld below the titles has more cells than there are titles, %d; decimal marks are "
                    "points, not commas",
                    (long long)out->rows + 1, out->n);
            at = to < line ? to + 1 : line;
        }
        at = line;
        out->rows++;
    }
    for (int k = 0; k < out->n; k++)
        out->columns[k].words = out->columns[k].odd > 0 && !number[k];
    return TD_OK;
}

static tdStatus read_table(const char *file, tdArena *arena, Table *out, tdError *error)
{
    char *text = NULL, why[400];
    size_t size = 0;
    *out = (Table){.file = td_arena_copy(arena, file)};
    tdStatus status = td_csv_read_file(file, &text, &size, why, sizeof why, error);
    if (status != TD_OK)
        return why[0] != '\0' ? td_fail_at(error, TD_ERROR_INPUT, file, 0, NULL, "%s", why) : status;
    bool marked = size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0; // as spreadsheets write it
    const char *end = text + size, *at = skip_blank(text + (marked ? 3 : 0), end);
    if (memchr(text, '\0', size) != NULL)
        status =
            td_fail_at(error, TD_ERROR_INPUT, file, 0, NULL, "is not text in UTF-8; save the table as CSV in UTF-8");
    else if (at == end)
        status = td_fail_at(error, TD_ERROR_INPUT, file, 0, NULL, "is empty; expected a table with a line of titles");
    if (status == TD_OK)
        status = read_header(file, at, end, arena, out, error);
    if (status == TD_OK)
        status = read_rows(file, next_line(at, end), end, arena, out, error);
    free(text);
    return status;
}

// ---------------------------------------------------------------- a run

// Rows of these tables are not one a frame, but one a contact.
static bool is_list(const char *name)
{
    return strcmp(name, "contacts.csv") == 0 || strcmp(name, "contact_pairs.csv") == 0;
}

static tdStatus read_folder(const char *path, runTables *out, tdError *error)
{
    struct dirent **items = NULL;
    int n = scandir(path, &items, NULL, alphasort);
    tdStatus status =
        n >= 0 ? TD_OK : td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL, "cannot be read: %s", strerror(errno));
    for (int i = 0; i < n; i++)
    {
        const char *name = items[i]->d_name, *dot = strrchr(name, '.');
        char file[PATH_MAX];
        if (status == TD_OK && dot != NULL && dot != name && strcmp(dot, ".csv") == 0 && !is_list(name) &&
            out->n < RUN_TABLES && td_path_join(file, sizeof file, path, name))
        {
            status = read_table(file, &out->arena, &out->table[out->n], error);
            out->n += status == TD_OK;
        }
        free(items[i]);
    }
    free(items);
    if (status == TD_OK && out->n == 0)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL,
                          "holds no tables; 'tendril run SCENE --out %s' writes them where the scene's output has the "
                          "format csv",
                          path);
    return status;
}

tdStatus tables_read(const char *path, runTables *out, tdError *error)
{
    struct stat info;
    *out = (runTables){.path = path};
    tdStatus status = TD_OK;
    if (stat(path, &info) != 0)
        status = td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL, "cannot be opened: %s", strerror(errno));
    else if (S_ISDIR(info.st_mode))
        status = read_folder(path, out, error);
    else
    {
        status = read_table(path, &out->arena, &out->table[0], error);
        out->n = status == TD_OK;
    }
    if (status != TD_OK)
        tables_free(out);
    return status;
}

void tables_free(runTables *tables)
{
    td_arena_free(&tables->arena);
    tables->n = 0;
}

void table_warn(const Table *table, const tableColumn *column)
{
    if (column->odd > 0 && !column->words && !cli_quiet())
        fprintf(stderr,
                "warning: %s: column '%s': %lld of %lld cells are not numbers and were left out; the first is in row "
                "%lld below the titles\n",
                table->file, column->name, (long long)column->odd, (long long)table->rows, (long long)column->odd_row);
}

const tableColumn *table_find(const Table *table, const char *name)
{
    for (int k = 0; k < table->n; k++)
        if (strcmp(table->columns[k].name, name) == 0)
            return &table->columns[k];
    return NULL;
}

const tableColumn *table_time(const Table *table)
{
    const tableColumn *time = table_find(table, "time");
    return time != NULL ? time : table_find(table, "t");
}
