// SPDX-License-Identifier: Apache-2.0
#include "describe/csv.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LONGEST_CELL (TD_CSV_NAME - 1)

// A header cell: its name, and the unit in brackets behind it.
typedef struct Column
{
    tdDim dim;
    double unit; ///< SI value of the unit of bare numbers; 0: the format's base units
} Column;

typedef struct Csv
{
    const char *at, *end, *file;
    int line;
    const tdCsvFormat *format;
    Column *columns; ///< t, then one for each name
    bool own;        ///< a command has written it: step, time, and what is wanted of the rest
    int n_cells;     ///< of a line, t not counted
    int *place;      ///< by cell behind t: the number of its name; -1: it is skipped
    tdSceneMotion *out;
    tdArena *arena;
    tdError *error;
} Csv;

#define CSV_FAIL(csv, field, ...)                                                                                      \
    td_fail_at((csv)->error, TD_ERROR_INPUT, (csv)->file, (csv)->line, (field), __VA_ARGS__)

// ---------------------------------------------------------------- lines and cells

// Next line that is neither blank nor a comment, without its end. False at the end of the text.
static bool next_line(Csv *csv, const char **from, const char **to)
{
    while (csv->at < csv->end)
    {
        const char *newline = memchr(csv->at, '\n', (size_t)(csv->end - csv->at));
        *from = csv->at;
        *to = newline != NULL ? newline : csv->end;
        csv->at = newline != NULL ? newline + 1 : csv->end;
        csv->line++;
        while (*to > *from && ((*to)[-1] == '\r' || (*to)[-1] == ' ' || (*to)[-1] == '\t'))
            (*to)--;
        while (*from < *to && (**from == ' ' || **from == '\t'))
            (*from)++;
        if (*from < *to && **from != '#')
            return true;
    }
    return false;
}

// The comma behind a cell, or NULL. One that begins with a quote ends with one, and may have commas in it.
static const char *find_comma(const char *from, const char *to)
{
    const char *at = from;
    while (at < to && (*at == ' ' || *at == '\t'))
        at++;
    if (at < to && *at == '"')
    {
        const char *quote = at + 1;
        while (quote < to && *quote != '"')
            quote++;
        at = quote < to ? quote : at;
    }
    while (at < to && *at != ',')
        at++;
    return at < to ? at : NULL;
}

// Cuts the next cell, without blanks and quotes around it, off a line. False when it is too long.
static bool next_cell(const char **from, const char *to, char cell[LONGEST_CELL + 1])
{
    const char *comma = find_comma(*from, to);
    const char *start = *from, *stop = comma != NULL ? comma : to;
    *from = comma != NULL ? comma + 1 : NULL;
    while (start < stop && (*start == ' ' || *start == '\t'))
        start++;
    while (stop > start && (stop[-1] == ' ' || stop[-1] == '\t'))
        stop--;
    if (stop - start >= 2 && *start == '"' && stop[-1] == '"')
    {
        start++;
        stop--;
    }
    size_t n = (size_t)(stop - start);
    cell[0] = '\0';
    if (n > LONGEST_CELL || memchr(start, '\0', n) != NULL)
        return false;
    memcpy(cell, start, n);
    cell[n] = '\0';
    return true;
}

// ---------------------------------------------------------------- header

// Cuts "[mm]" off the name. *unit is NULL where there are no brackets. False when they are not closed.
static bool cut_unit(char *cell, char **unit)
{
    *unit = NULL;
    char *open = strchr(cell, '[');
    if (open == NULL)
        return true;
    size_t n = strlen(open);
    if (open[n - 1] != ']')
        return false;
    open[n - 1] = '\0';
    *unit = open + 1 + strspn(open + 1, " \t");
    for (char *last = open; last >= cell && (last == open || *last == ' ' || *last == '\t'); last--)
        *last = '\0';
    for (char *last = *unit + strlen(*unit); last > *unit && (last[-1] == ' ' || last[-1] == '\t'); last--)
        last[-1] = '\0';
    return true;
}

static tdStatus set_unit(Csv *csv, const char *name, tdDim dim, const char *unit, Column *column)
{
    char why[TD_UNIT_WHY];
    *column = (Column){.dim = dim};
    if (unit != NULL && !td_unit_parse(unit, dim, &column->unit, why))
        return CSV_FAIL(csv, name, "%s", why);
    return TD_OK;
}

static tdStatus read_time_name(Csv *csv, const char **from, const char *to)
{
    char cell[LONGEST_CELL + 1], *unit;
    const char *second = *from;
    if (csv->format->own != NULL && next_cell(&second, to, cell) && strcmp(cell, "step") == 0 && second != NULL)
    {
        csv->own = true;
        *from = second;
    }
    bool whole = next_cell(from, to, cell);
    if (*from == NULL && strpbrk(cell, ";\t") != NULL)
        return CSV_FAIL(csv, NULL,
                        "the names are separated by %s; tables have commas between cells, and points as decimal marks",
                        strchr(cell, ';') != NULL ? "semicolons" : "tabs");
    if (!whole || !cut_unit(cell, &unit) || strcmp(cell, csv->own ? "time" : "t") != 0)
        return CSV_FAIL(csv, NULL, "the first column is named '%.40s', expected 't', the time in seconds", cell);
    return set_unit(csv, "t", TD_DIM_TIME, unit, &csv->columns[0]);
}

static tdStatus check_new(Csv *csv, const char *name)
{
    int first = csv->format->timeless ? 1 : 2; // column of the first name
    for (int i = 0; i < csv->out->n_names; i++)
        if (strcmp(csv->out->names[i], name) == 0)
            return CSV_FAIL(csv, name, "columns %d and %d have the same name '%s'", i + first,
                            csv->out->n_names + first, name);
    return TD_OK;
}

static tdStatus add_name(Csv *csv, const char *name, tdDim dim, const char *unit)
{
    tdSceneMotion *out = csv->out;
    TD_TRY(set_unit(csv, name, dim, unit, &csv->columns[out->n_names + 1]));
    const char *copy = td_arena_copy(csv->arena, name);
    if (copy == NULL)
        return td_fail_memory(csv->error, "a table over time");
    csv->place[csv->n_cells - 1] = out->n_names;
    out->names[out->n_names++] = copy;
    return TD_OK;
}

// A column of a table that a command has written: what is not wanted here is skipped.
static tdStatus read_own_name(Csv *csv, const char *cell, const char *unit)
{
    char name[TD_CSV_NAME] = "", why[TD_UNIT_WHY] = "";
    tdDim dim = TD_DIM_NONE;
    tdCsvOwn found = csv->format->own(csv->format->context, cell, name, why);
    if (found == TD_CSV_REFUSE)
        return CSV_FAIL(csv, cell, "%s", why);
    if (found == TD_CSV_SKIP ||
        (csv->format->column != NULL && !csv->format->column(csv->format->context, name, &dim, why)))
        return TD_OK;
    TD_TRY(check_new(csv, name));
    return add_name(csv, name, dim, unit);
}

static tdStatus read_name(Csv *csv, const char **from, const char *to)
{
    tdSceneMotion *out = csv->out;
    char cell[LONGEST_CELL + 1], why[TD_UNIT_WHY], *unit;
    int first = csv->format->timeless ? 1 : 2; // column of the first name
    csv->place[csv->n_cells++] = -1;
    bool whole = next_cell(from, to, cell);
    if (csv->own) // one with a long name is of something else
        return whole && cut_unit(cell, &unit) ? read_own_name(csv, cell, unit) : TD_OK;
    if (!whole || cell[0] == '\0')
        return CSV_FAIL(csv, NULL, "the name of column %d is empty or too long", out->n_names + first);
    if (!cut_unit(cell, &unit))
        return CSV_FAIL(csv, cell, "the '[' of a unit is closed by ']' at the end of the cell, e.g. 'NAME [mm]'");
    if (cell[0] == '\0')
        return CSV_FAIL(csv, NULL, "column %d has a unit but no name; write 'NAME [%.20s]'", out->n_names + first,
                        unit);
    tdDim dim = TD_DIM_NONE;
    TD_TRY(check_new(csv, cell));
    if (csv->format->column != NULL && !csv->format->column(csv->format->context, cell, &dim, why))
        return CSV_FAIL(csv, cell, "%s", why);
    return add_name(csv, cell, dim, unit);
}

static tdStatus read_header(Csv *csv)
{
    const char *from, *to;
    if (!next_line(csv, &from, &to))
        return CSV_FAIL(csv, NULL, "the file is empty; it begins with a header '%sNAME,...'",
                        csv->format->timeless ? "" : "t,");
    int64_t columns = 1;
    for (const char *c = from; c < to; c++)
        columns += *c == ',';
    if (columns - 1 > TD_CSV_MOST_NAMES)
        return CSV_FAIL(csv, NULL, "%lld columns; at most %d are allowed", (long long)columns, TD_CSV_MOST_NAMES + 1);
    csv->out->names = TD_TAKE(csv->arena, const char *, columns);
    csv->columns = TD_TAKE(csv->arena, Column, columns + 1);
    csv->place = TD_TAKE(csv->arena, int, columns + 1);
    if (csv->out->names == NULL || csv->columns == NULL || csv->place == NULL)
        return td_fail_memory(csv->error, "a table over time");
    if (!csv->format->timeless)
        TD_TRY(read_time_name(csv, &from, to));
    if (columns < 2 && !csv->format->timeless)
        return CSV_FAIL(csv, NULL, "the header names no %s behind 't'", csv->format->what);
    while (from != NULL)
        TD_TRY(read_name(csv, &from, to));
    if (csv->own && csv->out->n_names == 0)
        return CSV_FAIL(csv, NULL, "none of the columns of this table is a %s of the scene", csv->format->what);
    return TD_OK;
}

// ---------------------------------------------------------------- rows

// A bare number is in the unit of its column. It may be an angle, whose unit the quantity itself would have to say.
static bool read_value(const tdUnits *base, const Column *column, const char *cell, double *out, char *why)
{
    bool bare = cell[strspn(cell, "+-.0123456789eE")] == '\0';
    if (column->unit == 0 || !bare)
        return td_quantity_parse(cell, base, column->dim, out, why);
    const tdUnits si = {1, 1, 1};
    if (!td_quantity_parse(cell, &si, TD_DIM_NONE, out, why))
        return false;
    char reason[TD_UNIT_WHY];
    *out *= column->unit;
    if (td_dim_check(column->dim, false, *out, reason))
        return true;
    snprintf(why, TD_UNIT_WHY, "found '%.60s'; %.300s", cell, reason);
    return false;
}

static tdStatus read_time(Csv *csv, const char *cell)
{
    tdSceneMotion *out = csv->out;
    const tdUnits si = {1, 1, 1};
    char why[TD_UNIT_WHY];
    double t = 0;
    if (!read_value(&si, &csv->columns[0], cell, &t, why))
        return CSV_FAIL(csv, "t", "%s", why);
    if (out->n_times > 0 && !(t > out->times[out->n_times - 1]))
        return CSV_FAIL(csv, "t", "the time %g s does not come after %g s; times must ascend", t,
                        out->times[out->n_times - 1]);
    out->times[out->n_times] = t;
    return TD_OK;
}

// One cell behind the time.
static tdStatus read_cell(Csv *csv, int place, const char *cell, double *row)
{
    char why[TD_UNIT_WHY];
    const char *field = csv->out->names[place];
    if (cell[0] == '\0' && csv->format->gaps)
        row[place] = NAN;
    else if (cell[0] == '\0')
        return CSV_FAIL(csv, field,
                        "the cell is empty; every line needs a number in every column, so fill the gap or remove the "
                        "line");
    else if (!read_value(csv->format->units, &csv->columns[place + 1], cell, &row[place], why))
        return CSV_FAIL(csv, field, "%s", why);
    return TD_OK;
}

static tdStatus read_row(Csv *csv, const char *from, const char *to)
{
    tdSceneMotion *out = csv->out;
    char cell[LONGEST_CELL + 1];
    double *row = out->values + (int64_t)out->n_times * out->n_names;
    int before = csv->format->timeless ? 1 : 0, column = before;
    out->times[out->n_times] = csv->line;
    if (csv->own)
        next_cell(&from, to, cell); // the step
    for (; from != NULL; column++)
    {
        if (column > csv->n_cells)
            return CSV_FAIL(csv, NULL, "the line has more cells than the header has names (%d)",
                            csv->n_cells + 1 - before);
        int place = column > 0 ? csv->place[column - 1] : -1;
        bool whole = next_cell(&from, to, cell);
        if (!whole && (column == 0 || place >= 0))
            return CSV_FAIL(csv, column == 0 ? "t" : out->names[place],
                            "a cell has more than %d characters or a zero byte", LONGEST_CELL);
        if (column == 0)
            TD_TRY(read_time(csv, cell));
        else if (place >= 0)
            TD_TRY(read_cell(csv, place, cell, row));
    }
    if (column != csv->n_cells + 1)
        return CSV_FAIL(csv, NULL, "the line has %d cells, the header has %d", column - before,
                        csv->n_cells + 1 - before);
    out->n_times++;
    return TD_OK;
}

// Every name needs a value somewhere, or there is nothing to interpolate.
static int name_without_value(const tdSceneMotion *motion)
{
    for (int k = 0; k < motion->n_names; k++)
    {
        bool found = false;
        for (int64_t i = 0; i < motion->n_times && !found; i++)
            found = !isnan(motion->values[i * motion->n_names + k]);
        if (!found)
            return k;
    }
    return -1;
}

// ---------------------------------------------------------------- the whole

tdStatus td_csv_take(tdArena *arena, tdSceneMotion *motion, int64_t rows, tdError *error)
{
    motion->times = TD_TAKE(arena, double, rows);
    motion->values = TD_TAKE(arena, double, rows * motion->n_names);
    if (motion->times == NULL || motion->values == NULL)
        return td_fail_memory(error, "a table over time");
    return TD_OK;
}

static tdStatus parse(Csv *csv)
{
    tdSceneMotion *out = csv->out;
    TD_TRY(read_header(csv));
    Csv ahead = *csv;
    const char *from, *to;
    int64_t rows = 0;
    while (next_line(&ahead, &from, &to))
        rows++;
    if (rows == 0)
        return CSV_FAIL(csv, NULL, "there is no line of values below the header");
    if (rows > TD_CSV_MOST_VALUES / out->n_names)
        return CSV_FAIL(csv, NULL, "%lld lines of %d values; at most %lld values are allowed", (long long)rows,
                        out->n_names, (long long)TD_CSV_MOST_VALUES);
    TD_TRY(td_csv_take(csv->arena, out, rows, csv->error));
    int header = csv->line;
    if (!csv->format->gaps) // a motion has the line of the scene that names the file
        out->line = header;
    while (next_line(csv, &from, &to))
        TD_TRY(read_row(csv, from, to));
    int k = name_without_value(out);
    csv->line = header;
    if (k >= 0)
        return CSV_FAIL(csv, out->names[k], "the column '%s' has no value on any line", out->names[k]);
    return TD_OK;
}

tdStatus td_csv_parse(const char *text, size_t length, const char *name, const tdCsvFormat *format, tdArena *arena,
                      tdSceneMotion *out, tdError *error)
{
    Csv csv = {
        .at = text, .end = text + length, .file = name, .format = format, .out = out, .arena = arena, .error = error};
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        csv.at += 3;
    out->n_names = out->n_times = 0;
    bool wide = length >= 2 && (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0);
    tdStatus status = wide ? CSV_FAIL(&csv, NULL, "the file is in UTF-16; save it as CSV in UTF-8") : parse(&csv);
    if (status != TD_OK)
        td_error_clean(error);
    return status;
}

tdStatus td_csv_read_file(const char *path, char **text, size_t *size, char *why, size_t why_size, tdError *error)
{
    struct stat info;
    why[0] = '\0';
    if (stat(path, &info) != 0)
        snprintf(why, why_size, "'%.200s' cannot be opened: %s", path, strerror(errno));
    else if (!S_ISREG(info.st_mode) || (uintmax_t)info.st_size > TD_CSV_MOST_BYTES)
        snprintf(why, why_size, "'%.200s' is not a plain file of at most %zu bytes", path, TD_CSV_MOST_BYTES);
    return why[0] != '\0' ? TD_ERROR_INPUT : td_file_read(path, text, size, error);
}
