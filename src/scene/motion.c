// SPDX-License-Identifier: Apache-2.0
// Values of named inputs over time, from keyframes or from a CSV file.
#include "base/suggest.h"
#include "scene/parse.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_NAMES   1000
#define LONGEST_CELL 100

// ---------------------------------------------------------------- CSV

typedef struct Csv
{
    const char *at, *end, *file;
    int line;
    tdError *error;
} Csv;

#define CSV_FAIL(csv, field, ...)                                                                                      \
    td_fail_at((csv)->error, TD_ERROR_INPUT, (csv)->file, (csv)->line, (field), __VA_ARGS__)

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

// Cuts the next cell, without blanks around it, off a line. False when it is too long.
static bool next_cell(const char **from, const char *to, char cell[LONGEST_CELL + 1])
{
    const char *comma = memchr(*from, ',', (size_t)(to - *from));
    const char *start = *from, *stop = comma != NULL ? comma : to;
    *from = comma != NULL ? comma + 1 : NULL;
    while (start < stop && (*start == ' ' || *start == '\t'))
        start++;
    while (stop > start && (stop[-1] == ' ' || stop[-1] == '\t'))
        stop--;
    size_t n = (size_t)(stop - start);
    if (n > LONGEST_CELL || memchr(start, '\0', n) != NULL)
        return false;
    memcpy(cell, start, n);
    cell[n] = '\0';
    return true;
}

static tdStatus read_header(Csv *csv, tdArena *arena, tdSceneMotion *motion)
{
    const char *from, *to;
    char cell[LONGEST_CELL + 1];
    if (!next_line(csv, &from, &to))
        return CSV_FAIL(csv, NULL, "the file is empty; it begins with a header 't,NAME,...'");
    int columns = 1;
    for (const char *c = from; c < to; c++)
        columns += *c == ',';
    if (!next_cell(&from, to, cell) || strcmp(cell, "t") != 0)
        return CSV_FAIL(csv, NULL, "the first column is named '%.40s', expected 't', the time in seconds", cell);
    if (columns < 2)
        return CSV_FAIL(csv, NULL, "the header names no load or prescribed motion behind 't'");
    if (columns - 1 > MOST_NAMES)
        return CSV_FAIL(csv, NULL, "%d columns; at most %d are allowed", columns, MOST_NAMES + 1);
    motion->names = TD_TAKE(arena, const char *, columns - 1);
    if (motion->names == NULL)
        return td_fail_memory(csv->error, "the motion");
    while (from != NULL)
    {
        if (!next_cell(&from, to, cell) || cell[0] == '\0')
            return CSV_FAIL(csv, NULL, "the name of column %d is empty or too long", motion->n_names + 2);
        for (int i = 0; i < motion->n_names; i++)
            if (strcmp(motion->names[i], cell) == 0)
                return CSV_FAIL(csv, cell, "columns %d and %d have the same name '%s'", i + 2, motion->n_names + 2,
                                cell);
        const char *copy = td_arena_copy(arena, cell);
        if (copy == NULL)
            return td_fail_memory(csv->error, "the motion");
        motion->names[motion->n_names++] = copy;
    }
    return TD_OK;
}

static tdStatus read_row(Csv *csv, const char *from, const char *to, tdSceneMotion *motion)
{
    const tdUnits si = {1, 1, 1};
    char cell[LONGEST_CELL + 1], why[TD_UNIT_WHY];
    double *row = motion->values + (int64_t)motion->n_times * motion->n_names;
    int column = 0;
    while (from != NULL)
    {
        const char *field = column == 0 ? "t" : column <= motion->n_names ? motion->names[column - 1] : NULL;
        if (column > motion->n_names)
            return CSV_FAIL(csv, NULL, "the line has more cells than the header has names (%d)", motion->n_names + 1);
        if (!next_cell(&from, to, cell))
            return CSV_FAIL(csv, field, "a cell has more than %d characters or a zero byte", LONGEST_CELL);
        double value = NAN;
        bool empty = cell[0] == '\0';
        if ((column == 0 || !empty) &&
            !td_quantity_parse(cell, &si, column == 0 ? TD_DIM_TIME : TD_DIM_NONE, &value, why))
            return CSV_FAIL(csv, field, "%s", why);
        if (column > 0)
            row[column - 1] = value;
        else if (motion->n_times > 0 && !(value > motion->times[motion->n_times - 1]))
            return CSV_FAIL(csv, field, "the time %g s does not come after %g s; times must ascend", value,
                            motion->times[motion->n_times - 1]);
        else
            motion->times[motion->n_times] = value;
        column++;
    }
    if (column != motion->n_names + 1)
        return CSV_FAIL(csv, NULL, "the line has %d cells, the header has %d", column, motion->n_names + 1);
    motion->n_times++;
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

static tdStatus take_values(tdArena *arena, tdSceneMotion *motion, int64_t rows, tdError *error)
{
    motion->times = TD_TAKE(arena, double, rows);
    motion->values = TD_TAKE(arena, double, rows * motion->n_names);
    if (motion->times == NULL || motion->values == NULL)
        return td_fail_memory(error, "the motion");
    return TD_OK;
}

tdStatus td_motion_parse_csv(const char *text, size_t length, const char *name, tdArena *arena, tdSceneMotion *motion,
                             int *header, tdError *error)
{
    Csv csv = {.at = text, .end = text + length, .file = name, .error = error};
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        csv.at += 3;
    motion->n_names = motion->n_times = 0;
    TD_TRY(read_header(&csv, arena, motion));
    *header = csv.line;
    Csv ahead = csv;
    const char *from, *to;
    int64_t rows = 0;
    while (next_line(&ahead, &from, &to))
        rows++;
    if (rows == 0)
        return CSV_FAIL(&csv, NULL, "there is no line of values below the header");
    if (rows > TD_MOST_MOTION / motion->n_names)
        return CSV_FAIL(&csv, NULL, "%lld lines of %d values; at most %lld values are allowed", (long long)rows,
                        motion->n_names, (long long)TD_MOST_MOTION);
    TD_TRY(take_values(arena, motion, rows, error));
    while (next_line(&csv, &from, &to))
        TD_TRY(read_row(&csv, from, to, motion));
    int k = name_without_value(motion);
    csv.line = *header;
    if (k >= 0)
        return CSV_FAIL(&csv, motion->names[k], "the column '%s' has no value on any line", motion->names[k]);
    return TD_OK;
}

// ---------------------------------------------------------------- names

static tdStatus check_name(tdSceneParser *parser, const char *file, int line, const char *field, const char *name)
{
    for (int i = 0; i < parser->n_inputs; i++)
        if (strcmp(parser->inputs[i].name, name) == 0)
            return TD_OK;
    if (parser->n_inputs == 0)
        return td_fail_at(parser->reader.error, TD_ERROR_INPUT, file, line, field,
                          "'%.60s' drives nothing: no load and no prescribed motion has a name", name);
    const char **names = TD_TAKE(parser->arena, const char *, parser->n_inputs);
    if (names == NULL)
        return td_fail_memory(parser->reader.error, "the motion");
    for (int i = 0; i < parser->n_inputs; i++)
        names[i] = parser->inputs[i].name;
    const char *nearest = td_suggest(name, names, parser->n_inputs);
    if (nearest != NULL)
        return td_fail_at(parser->reader.error, TD_ERROR_INPUT, file, line, field,
                          "no load or prescribed motion is named '%.60s'; did you mean '%s'?", name, nearest);
    return td_fail_at(parser->reader.error, TD_ERROR_INPUT, file, line, field,
                      "no load or prescribed motion is named '%.60s'; one is named '%s'", name, names[0]);
}

static int find_name(const tdSceneMotion *motion, const char *name)
{
    int k = 0;
    while (k < motion->n_names && strcmp(motion->names[k], name) != 0)
        k++;
    return k;
}

// ---------------------------------------------------------------- from the scene

// A path may name anything, so only a plain file of bounded size is opened: no device, no pipe.
static tdStatus read_csv(tdSceneParser *parser, const tdRecord *record, tdSceneMotion *motion)
{
    const tdValue *csv = td_record_get(record, "csv");
    const char *path = NULL;
    TD_TRY(td_parse_path(parser, record, "csv", csv->text, &path));
    struct stat info;
    if (stat(path, &info) != 0)
        return td_record_fail(&parser->reader, record, "csv", "'%.200s' cannot be opened: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode) || (uintmax_t)info.st_size > TD_MOST_CSV)
        return td_record_fail(&parser->reader, record, "csv", "'%.200s' is not a plain file of at most %zu bytes", path,
                              TD_MOST_CSV);
    char *text = NULL;
    size_t size = 0;
    TD_TRY(td_file_read(path, &text, &size, parser->reader.error));
    int header = 0;
    tdStatus status = td_motion_parse_csv(text, size, path, parser->arena, motion, &header, parser->reader.error);
    free(text);
    TD_TRY(status);
    for (int k = 0; k < motion->n_names; k++)
        TD_TRY(check_name(parser, path, header, motion->names[k], motion->names[k]));
    return TD_OK;
}

// First pass: the names in order of appearance. A keyframe without any would do nothing.
static tdStatus collect_names(tdSceneParser *parser, const tdYaml *list, tdSceneMotion *motion)
{
    const char **names = TD_TAKE(parser->arena, const char *, MOST_NAMES);
    if (names == NULL)
        return td_fail_memory(parser->reader.error, "the motion");
    motion->names = names;
    int i = 0;
    for (const tdYaml *frame = list->first; frame != NULL; frame = frame->next, i++)
    {
        char path[64];
        snprintf(path, sizeof path, "motion.keyframes[%d]", i);
        if (frame->kind == TD_YAML_MAP && frame->n == 1 && td_yaml_find(frame, "t") != NULL)
            return td_reader_fail(&parser->reader, frame->line, path, NULL,
                                  "the keyframe has a time but drives nothing; add the name of a load or prescribed "
                                  "motion");
        for (const tdYaml *child = frame->first; frame->kind == TD_YAML_MAP && child != NULL; child = child->next)
        {
            if (strcmp(child->key, "t") == 0 || find_name(motion, child->key) < motion->n_names)
                continue;
            char field[256];
            td_path_key(field, sizeof field, path, child->key);
            TD_TRY(check_name(parser, parser->reader.file, child->key_line, field, child->key));
            if (motion->n_names == MOST_NAMES)
                return td_reader_fail(&parser->reader, child->key_line, path, NULL, "more than %d names", MOST_NAMES);
            TD_TRY(td_parse_copy(parser, child->key, &names[motion->n_names]));
            motion->n_names++;
        }
    }
    return TD_OK;
}

static tdStatus read_keyframe(tdSceneParser *parser, const tdYaml *frame, tdSceneMotion *motion)
{
    char path[64], field[256];
    snprintf(path, sizeof path, "motion.keyframes[%d]", motion->n_times);
    tdRecord record;
    TD_TRY(td_schema_read(&parser->reader, frame, &td_schema_keyframe, path, &record));
    double t = td_record_get(&record, "t")->number[0];
    if (motion->n_times > 0 && !(t > motion->times[motion->n_times - 1]))
        return td_record_fail(&parser->reader, &record, "t",
                              "the time %g s does not come after that of the keyframe before, %g s; times must ascend",
                              t, motion->times[motion->n_times - 1]);
    motion->times[motion->n_times] = t;
    double *row = motion->values + (int64_t)motion->n_times * motion->n_names;
    for (int k = 0; k < motion->n_names; k++)
        row[k] = NAN;
    for (const tdYaml *child = frame->first; child != NULL; child = child->next)
    {
        if (strcmp(child->key, "t") == 0)
            continue;
        td_path_key(field, sizeof field, path, child->key);
        TD_TRY(td_read_quantity(&parser->reader, child, field, TD_DIM_NONE, &row[find_name(motion, child->key)]));
    }
    motion->n_times++;
    return TD_OK;
}

static tdStatus read_keyframes(tdSceneParser *parser, const tdYaml *list, tdSceneMotion *motion)
{
    TD_TRY(collect_names(parser, list, motion));
    if (motion->n_names > 0 && list->n > TD_MOST_MOTION / motion->n_names)
        return td_reader_fail(&parser->reader, list->line, "motion.keyframes", NULL,
                              "%d keyframes of %d names; at most %lld values are allowed", list->n, motion->n_names,
                              (long long)TD_MOST_MOTION);
    TD_TRY(take_values(parser->arena, motion, list->n, parser->reader.error));
    for (const tdYaml *frame = list->first; frame != NULL; frame = frame->next)
        TD_TRY(read_keyframe(parser, frame, motion));
    return TD_OK;
}

tdStatus td_parse_motion(tdSceneParser *parser, const tdYaml *node)
{
    tdRecord record;
    tdSceneMotion *motion = &parser->scene->motion;
    TD_TRY(td_schema_read(&parser->reader, node, &td_schema_motion, "motion", &record));
    motion->line = node->key_line;
    motion->smooth = td_record_get(&record, "interpolation")->integer[0] != 0;
    const tdValue *keyframes = td_record_get(&record, "keyframes");
    if (keyframes->node != NULL)
        return read_keyframes(parser, keyframes->node, motion);
    return read_csv(parser, &record, motion);
}
