// SPDX-License-Identifier: Apache-2.0
// Measurements from CSV text.
#include "base/suggest.h"
#include "describe/unit.h"
#include "material/fit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LONGEST_CELL 100
#define MOST_COLUMNS 5

typedef enum Column
{
    COLUMN_MODE,
    COLUMN_STRETCH,
    COLUMN_STRAIN,
    COLUMN_GAMMA,
    COLUMN_STRESS,
    COLUMNS
} Column;
static const char *const column_names[COLUMNS] = {"mode", "stretch", "strain", "gamma", "stress"};

typedef struct Csv
{
    const char *at, *end, *file;
    int line;
    char separator;
    int n_columns;
    Column column[MOST_COLUMNS];
    int place[COLUMNS];   // of each kind, -1: not there
    double unit[COLUMNS]; // of bare numbers
    tdError *error;
} Csv;

#define CSV_FAIL(csv, field, ...)                                                                                      \
    td_fail_at((csv)->error, TD_ERROR_INPUT, (csv)->file, (csv)->line, (field), __VA_ARGS__)

tdTest td_test_find(const char *name)
{
    int i = 0;
    while (i < TD_TESTS && strcmp(td_test_name((tdTest)i), name) != 0)
        i++;
    return (tdTest)i;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

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
        const char *comment = memchr(*from, '#', (size_t)(*to - *from));
        if (comment != NULL)
            *to = comment;
        while (*to > *from && is_blank((*to)[-1]))
            (*to)--;
        const char *first = *from;
        while (first < *to && is_blank(*first))
            first++;
        if (first < *to)
            return true;
    }
    return false;
}

// Cuts the next cell, without blanks around it, off a line; *from is NULL after the last. False: too long.
static bool next_cell(const Csv *csv, const char **from, const char *to, char cell[LONGEST_CELL + 1])
{
    const char *comma = memchr(*from, csv->separator, (size_t)(to - *from));
    const char *start = *from, *stop = comma != NULL ? comma : to;
    *from = comma != NULL ? comma + 1 : NULL;
    while (start < stop && is_blank(*start))
        start++;
    while (stop > start && is_blank(stop[-1]))
        stop--;
    size_t n = (size_t)(stop - start);
    if (n > LONGEST_CELL || memchr(start, '\0', n) != NULL)
        return false;
    memcpy(cell, start, n);
    cell[n] = '\0';
    return true;
}

// ---------------------------------------------------------------- header

// "stress [kPa]" -> the column and the SI value of its unit.
static tdStatus read_column(Csv *csv, char *cell)
{
    char *bracket = strchr(cell, '['), why[TD_UNIT_WHY];
    double unit = 1;
    if (bracket != NULL)
    {
        size_t n = strlen(bracket);
        if (bracket[n - 1] != ']')
            return CSV_FAIL(csv, cell, "']' is missing behind the unit, e.g. 'stress [kPa]'");
        bracket[n - 1] = '\0';
        *bracket++ = '\0';
        for (size_t k = strlen(cell); k > 0 && is_blank(cell[k - 1]); k--)
            cell[k - 1] = '\0';
    }
    int k = 0;
    while (k < COLUMNS && strcmp(column_names[k], cell) != 0)
        k++;
    if (k == COLUMNS)
    {
        const char *nearest = td_suggest(cell, column_names, COLUMNS);
        return CSV_FAIL(csv, NULL, "unknown column '%.40s'; %s%s%scolumns are mode, stretch, strain, gamma, stress",
                        cell, nearest != NULL ? "did you mean '" : "", nearest != NULL ? nearest : "",
                        nearest != NULL ? "'? The " : "the ");
    }
    if (csv->place[k] >= 0)
        return CSV_FAIL(csv, column_names[k], "the column appears twice");
    if (bracket != NULL && k == COLUMN_MODE)
        return CSV_FAIL(csv, "mode", "a mode has no unit");
    tdDim dim = k == COLUMN_STRESS ? TD_DIM_PRESSURE : TD_DIM_NONE;
    // "-" and "1" are common marks of a plain number.
    bool plain = bracket != NULL && k != COLUMN_STRESS && strcmp(bracket, "-") == 0;
    if (bracket != NULL && !plain && !td_unit_parse(bracket, dim, &unit, why))
        return CSV_FAIL(csv, column_names[k], "%s", why);
    csv->unit[k] = unit;
    csv->place[k] = csv->n_columns;
    csv->column[csv->n_columns++] = (Column)k;
    return TD_OK;
}

static tdStatus check_columns(Csv *csv, tdTest test)
{
    const int *place = csv->place;
    if (place[COLUMN_STRESS] < 0)
        return CSV_FAIL(csv, "stress",
                        "the column is missing; the header reads for example 'mode,stretch,stress [kPa]'");
    if (place[COLUMN_STRETCH] >= 0 && place[COLUMN_STRAIN] >= 0)
        return CSV_FAIL(csv, "strain", "'stretch' and 'strain' exclude each other; remove one column");
    if (place[COLUMN_STRETCH] < 0 && place[COLUMN_STRAIN] < 0 && place[COLUMN_GAMMA] < 0)
        return CSV_FAIL(csv, "stretch",
                        "the column is missing; give 'stretch', 'strain' (stretch - 1) or, for shear, 'gamma'");
    if (place[COLUMN_MODE] >= 0 && test != TD_TESTS)
        return CSV_FAIL(csv, "mode", "the file names the mode of each point itself; leave out --mode");
    if (place[COLUMN_MODE] < 0 && test == TD_TESTS)
        return CSV_FAIL(csv, "mode",
                        "the column is missing; add it or give --mode (uniaxial, biaxial, planar or shear)");
    return TD_OK;
}

static tdStatus read_header(Csv *csv, tdTest test)
{
    const char *from, *to;
    char cell[LONGEST_CELL + 1];
    if (!next_line(csv, &from, &to))
        return CSV_FAIL(csv, NULL, "the file is empty; it begins with a header, e.g. 'mode,stretch,stress [kPa]'");
    // Spreadsheets of some countries separate by semicolons; the header has no other reason for one.
    size_t length = (size_t)(to - from);
    csv->separator = memchr(from, ',', length) != NULL    ? ','
                     : memchr(from, ';', length) != NULL  ? ';'
                     : memchr(from, '\t', length) != NULL ? '\t'
                                                          : ',';
    for (int k = 0; k < COLUMNS; k++)
        csv->place[k] = -1;
    while (from != NULL)
    {
        if (csv->n_columns == MOST_COLUMNS)
            return CSV_FAIL(csv, NULL, "more than %d columns", MOST_COLUMNS);
        if (!next_cell(csv, &from, to, cell))
            return CSV_FAIL(csv, NULL, "a cell has more than %d characters or a zero byte", LONGEST_CELL);
        TD_TRY(read_column(csv, cell));
    }
    return check_columns(csv, test);
}

// ---------------------------------------------------------------- values

// A number alone is in the unit of the header; one with its own unit stands for itself.
static bool read_number(const Csv *csv, Column column, const char *cell, double *out, char why[TD_UNIT_WHY])
{
    const tdUnits si = {1, 1, 1};
    if (!td_quantity_parse(cell, &si, column == COLUMN_STRESS ? TD_DIM_PRESSURE : TD_DIM_NONE, out, why))
        return false;
    if (cell[strspn(cell, "+-.0123456789eE")] == '\0')
        *out *= csv->unit[column];
    if (!isfinite(*out))
        snprintf(why, TD_UNIT_WHY, "found '%.60s', which is too large for a number", cell);
    return isfinite(*out);
}

static tdStatus read_mode(Csv *csv, const char *cell, tdTest *test)
{
    *test = td_test_find(cell);
    if (*test != TD_TESTS)
        return TD_OK;
    const char *names[TD_TESTS];
    for (int k = 0; k < TD_TESTS; k++)
        names[k] = td_test_name((tdTest)k);
    const char *nearest = td_suggest(cell, names, TD_TESTS);
    if (nearest != NULL)
        return CSV_FAIL(csv, "mode", "found '%.40s'; did you mean '%s'?", cell, nearest);
    return CSV_FAIL(csv, "mode", "found '%.40s', expected uniaxial, biaxial, planar or shear", cell);
}

// Which column holds the deformation of a point of this test.
static tdStatus find_deformation(Csv *csv, tdTest test, Column *column)
{
    bool shear = test == TD_TEST_SHEAR;
    if (shear && csv->place[COLUMN_GAMMA] >= 0)
        *column = COLUMN_GAMMA;
    else if (csv->place[COLUMN_STRAIN] >= 0)
        *column = COLUMN_STRAIN;
    else if (!shear && csv->place[COLUMN_STRETCH] >= 0)
        *column = COLUMN_STRETCH;
    else
        return CSV_FAIL(csv, shear ? "gamma" : "stretch", "a %s test needs the column '%s'", td_test_name(test),
                        shear ? "gamma" : "stretch");
    return TD_OK;
}

static tdStatus take_point(Csv *csv, tdTest test, const bool has[COLUMNS], const double value[COLUMNS], tdFitData *data)
{
    Column column = COLUMN_STRETCH;
    TD_TRY(find_deformation(csv, test, &column));
    for (int k = COLUMN_STRETCH; k <= COLUMN_GAMMA; k++)
        if (has[k] && k != (int)column)
            return CSV_FAIL(csv, column_names[k], "a %s test takes '%s'; leave this cell empty", td_test_name(test),
                            column_names[column]);
    const Column needed[2] = {column, COLUMN_STRESS};
    for (int i = 0; i < 2; i++)
        if (!has[needed[i]])
            return CSV_FAIL(csv, column_names[needed[i]], "the cell is empty; a gap is not filled, remove the line");
    double x = value[column];
    if (test != TD_TEST_SHEAR)
    {
        x += column == COLUMN_STRAIN;
        if (!(x > 0))
            return CSV_FAIL(csv, column_names[column], "the stretch is %g, must be > 0 (1 is the length at rest)", x);
    }
    int i = data->n++;
    data->test[i] = test;
    data->x[i] = x;
    data->stress[i] = value[COLUMN_STRESS];
    data->low[test] = data->count[test] == 0 ? x : fmin(data->low[test], x);
    data->high[test] = data->count[test] == 0 ? x : fmax(data->high[test], x);
    data->count[test]++;
    return TD_OK;
}

static tdStatus read_row(Csv *csv, const char *from, const char *to, tdTest test, tdFitData *data)
{
    char cell[LONGEST_CELL + 1], why[TD_UNIT_WHY];
    double value[COLUMNS] = {0};
    bool has[COLUMNS] = {false};
    int n = 0;
    while (from != NULL)
    {
        if (n == csv->n_columns)
            return CSV_FAIL(csv, NULL, "the line has more cells than the header has names (%d)", csv->n_columns);
        Column column = csv->column[n++];
        if (!next_cell(csv, &from, to, cell))
            return CSV_FAIL(csv, column_names[column], "a cell has more than %d characters or a zero byte",
                            LONGEST_CELL);
        has[column] = cell[0] != '\0';
        if (column == COLUMN_MODE)
            TD_TRY(read_mode(csv, cell, &test));
        else if (has[column] && !read_number(csv, column, cell, &value[column], why))
            return CSV_FAIL(csv, column_names[column], "%s", why);
    }
    if (n != csv->n_columns)
        return CSV_FAIL(csv, NULL, "the line has %d cells, the header has %d", n, csv->n_columns);
    return take_point(csv, test, has, value, data);
}

tdStatus td_fit_read_csv(const char *text, size_t length, const char *name, tdTest test, tdArena *arena,
                         tdFitData *data, tdError *error)
{
    Csv csv = {.at = text, .end = text + length, .file = name, .error = error};
    *data = (tdFitData){0};
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        csv.at += 3;
    TD_TRY(read_header(&csv, test));
    Csv ahead = csv;
    const char *from, *to;
    int rows = 0;
    while (next_line(&ahead, &from, &to))
        if (++rows > TD_FIT_POINTS)
            return CSV_FAIL(&ahead, NULL, "more than %d points; thin them out", TD_FIT_POINTS);
    if (rows == 0)
        return CSV_FAIL(&csv, NULL, "there is no line of values below the header");
    data->test = TD_TAKE(arena, tdTest, rows);
    data->x = TD_TAKE(arena, double, rows);
    data->stress = TD_TAKE(arena, double, rows);
    if (data->test == NULL || data->x == NULL || data->stress == NULL)
        return td_fail_memory(error, "the measurements");
    while (next_line(&csv, &from, &to))
        TD_TRY(read_row(&csv, from, to, test, data));
    return TD_OK;
}
