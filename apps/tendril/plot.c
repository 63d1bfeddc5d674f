// SPDX-License-Identifier: Apache-2.0
// tendril plot RUN ...: columns of the tables that a run has written, over time; of two runs their difference.
#include "cli.h"

#include "base/suggest.h"
#include "report/page.h"
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RUNS    8
#define MOST_COLUMNS 64
#define MOST_PANELS  12

static const char help[] =
    "usage: tendril plot RUN [RUN ...] [--column NAME ...] [-o FILE.png|FILE.svg] [options]\n\n"
    "Draws columns of the tables that a run has written, over time. RUN is a folder of 'run', 'control', 'haptic' or\n"
    "'sweep', or a table (.csv). Columns of the same unit share a plot. Without --column it lists the available "
    "columns.\n"
    "For several runs it draws each column of all runs, and reports the differences of each from the first: the "
    "largest\n"
    "and the root-mean-square difference where their times overlap.\n\n"
    "  --column NAME  a column without its unit, e.g. tip_z; or the part before a '_' or '.', e.g. tip, for all of "
    "them\n"
    "                 (may be repeated)\n"
    "  --x NAME       over this column instead of time; for the table of a sweep, the default is the first varied key\n"
    "  -o FILE        where to draw, .png or .svg; without it only differences are reported\n"
    "  --names A,B    names of the runs in the legend (default: their folders)\n"
    "  --points       draw markers instead of lines\n"
    "  --json         print one JSON object: columns, or differences with largest, rms, scale\n\n"
    "Exit codes: 0 done, 2 usage, 3 bad input, 5 out of memory, 6 a file could not be written.\n\n"
    "example: tendril plot out/full out/reduced --column tip -o tip.png\n";

typedef struct plotArguments
{
    const char *runs[MOST_RUNS];
    const char *x, *out, *names;
    cliWords columns;
    bool points;
} plotArguments;

/// A column that is shown, of all runs.
typedef struct Shown
{
    const char *name;
    const Table *table[MOST_RUNS]; ///< NULL: the run does not have it
    const tableColumn *x[MOST_RUNS], *y[MOST_RUNS];
    double largest[MOST_RUNS], rms[MOST_RUNS]; ///< difference from the first run; NAN: none
    double scale;                              ///< range of the first run
} Shown;

typedef struct Plotted
{
    const plotArguments *arguments;
    int n_runs;
    runTables run[MOST_RUNS];
    const char *name[MOST_RUNS];
    tdArena arena;
    int n;
    Shown shown[MOST_COLUMNS];
} Plotted;

// ---------------------------------------------------------------- which columns

static bool is_axis(const char *name)
{
    return strcmp(name, "step") == 0 || strcmp(name, "time") == 0 || strcmp(name, "t") == 0;
}

// "tip" also means tip_x, tip.x and so on.
static bool fits(const char *name, const char *wanted, bool whole)
{
    size_t length = strlen(wanted);
    return whole ? strcmp(name, wanted) == 0
                 : strncmp(name, wanted, length) == 0 && (name[length] == '_' || name[length] == '.');
}

// Of a part of a name only what all runs have is meant.
static bool is_in_all(const Plotted *p, const char *name)
{
    int found = 0;
    for (int r = 0; r < p->n_runs; r++)
    {
        bool here = false;
        for (int t = 0; t < p->run[r].n && !here; t++)
            here = table_find(&p->run[r].table[t], name) != NULL;
        found += here;
    }
    return found == p->n_runs;
}

static bool is_shown(const Plotted *p, const char *name)
{
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->shown[i].name, name) == 0)
            return true;
    return false;
}

static bool has_numbers(const tableColumn *column, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        if (!isnan(column->values[i]))
            return true;
    return false;
}

// Adds what is called so. The same column may be in several tables: the first counts.
static int add_columns(Plotted *p, const char *wanted, bool whole)
{
    int found = 0;
    for (int t = 0; t < p->run[0].n; t++)
        for (int k = 0; k < p->run[0].table[t].n; k++)
        {
            const tableColumn *column = &p->run[0].table[t].columns[k];
            if (!fits(column->name, wanted, whole) || !has_numbers(column, p->run[0].table[t].rows) ||
                (!whole && !is_in_all(p, column->name)))
                continue;
            found++;
            if (!is_shown(p, column->name) && p->n < MOST_COLUMNS)
                p->shown[p->n++] = (Shown){.name = column->name};
        }
    return found;
}

static int no_column(const Plotted *p, const char *wanted)
{
    const char **names = NULL;
    int n = 0;
    int64_t capacity = 0;
    for (int t = 0; t < p->run[0].n; t++)
        for (int k = 0; k < p->run[0].table[t].n; k++)
            if (td_grow((void **)&names, &capacity, n + 1, sizeof *names))
                names[n++] = p->run[0].table[t].columns[k].name;
    const char *nearest = td_suggest(wanted, names, n);
    tdError error = {0};
    if (nearest != NULL && strcmp(nearest, wanted) == 0)
        td_fail_at(&error, TD_ERROR_INPUT, p->run[0].path, 0, "--column", "the column '%s' holds no number", wanted);
    else if (nearest != NULL)
        td_fail_at(&error, TD_ERROR_INPUT, p->run[0].path, 0, "--column", "there is no column '%s'; did you mean '%s'?",
                   wanted, nearest);
    else
        td_fail_at(&error, TD_ERROR_INPUT, p->run[0].path, 0, "--column",
                   "there is no column of numbers '%s'; 'tendril plot %s' lists those there are", wanted,
                   p->run[0].path);
    free((void *)names);
    return cli_fail(&error);
}

// What a table is drawn over.
static const tableColumn *axis_of(const Table *table, const char *wanted)
{
    const tableColumn *time = table_time(table);
    if (wanted != NULL)
        return table_find(table, wanted);
    if (time != NULL)
        return time;
    // A sweep: run, then what was varied.
    for (int k = 1; k < table->n && strcmp(table->columns[k].name, "status") != 0; k++)
        if (!table->columns[k].words)
            return &table->columns[k];
    return table->n > 0 ? &table->columns[0] : NULL;
}

static int find_columns(Plotted *p)
{
    const plotArguments *arguments = p->arguments;
    for (int i = 0; i < arguments->columns.n; i++)
        if (add_columns(p, arguments->columns.word[i], true) == 0 &&
            add_columns(p, arguments->columns.word[i], false) == 0)
            return no_column(p, arguments->columns.word[i]);
    for (int i = 0; i < p->n; i++)
        for (int r = 0; r < p->n_runs; r++)
            for (int t = 0; t < p->run[r].n && p->shown[i].y[r] == NULL; t++)
            {
                p->shown[i].table[r] = &p->run[r].table[t];
                p->shown[i].y[r] = table_find(&p->run[r].table[t], p->shown[i].name);
                p->shown[i].x[r] = axis_of(&p->run[r].table[t], arguments->x);
            }
    for (int i = 0; i < p->n; i++)
        for (int r = 0; r < p->n_runs; r++)
        {
            tdError error = {0};
            if (p->shown[i].y[r] == NULL)
                td_fail_at(&error, TD_ERROR_INPUT, p->run[r].path, 0, "--column", "there is no column '%s' here",
                           p->shown[i].name);
            else if (p->shown[i].x[r] == NULL)
                td_fail_at(&error, TD_ERROR_INPUT, p->shown[i].table[r]->file, 0, "--x",
                           "the table that has '%s' has no column '%s'", p->shown[i].name, arguments->x);
            else if (strcmp(p->shown[i].y[r]->unit, p->shown[i].y[0]->unit) != 0)
                td_fail_at(&error, TD_ERROR_INPUT, p->run[r].path, 0, "--column",
                           "'%s' is in '%s' here and in '%s' in %.200s", p->shown[i].name, p->shown[i].y[r]->unit,
                           p->shown[i].y[0]->unit, p->run[0].path);
            if (error.status != TD_OK)
                return cli_fail(&error);
        }
    return -1;
}

// ---------------------------------------------------------------- differences

// Value of a curve at a place, on straight lines between its points; NAN outside or beside a gap. *from: where to look.
static double value_at(const tableColumn *x, const tableColumn *y, int64_t rows, double at, int64_t *from)
{
    double slack = 1e-9 * (1 + fabs(at)); // times are sums of time steps
    while (*from + 1 < rows && x->values[*from + 1] < at)
        (*from)++;
    for (int64_t k = *from; k < rows && k <= *from + 1; k++)
        if (fabs(x->values[k] - at) <= slack)
            return y->values[k];
    if (*from + 1 >= rows || !(x->values[*from] <= at) || !(x->values[*from + 1] >= at))
        return NAN;
    double share = (at - x->values[*from]) / (x->values[*from + 1] - x->values[*from]);
    return (1 - share) * y->values[*from] + share * y->values[*from + 1];
}

static void compare(Shown *shown, int r)
{
    int64_t n = 0, from = 0, rows = shown->table[0]->rows;
    double largest = 0, squares = 0, least = INFINITY, most = -INFINITY;
    for (int64_t i = 0; i < rows; i++)
    {
        double mine = shown->y[0]->values[i];
        double other = value_at(shown->x[r], shown->y[r], shown->table[r]->rows, shown->x[0]->values[i], &from);
        least = fmin(least, mine);
        most = fmax(most, mine);
        if (isnan(mine) || isnan(other))
            continue;
        n++;
        largest = fmax(largest, fabs(other - mine));
        squares += (other - mine) * (other - mine);
    }
    shown->scale = most >= least ? most - least : NAN;
    shown->largest[r] = n > 0 ? largest : NAN;
    shown->rms[r] = n > 0 ? sqrt(squares / (double)n) : NAN;
}

static void report(const Plotted *p)
{
    if (cli_json())
    {
        tdJson json = {0};
        td_json_open(&json, NULL, '{');
        td_json_string(&json, "status", "done");
        if (p->arguments->out != NULL)
            td_json_string(&json, "picture", p->arguments->out);
        td_json_open(&json, "columns", '[');
        for (int i = 0; i < p->n; i++)
        {
            td_json_open(&json, NULL, '{');
            td_json_string(&json, "name", p->shown[i].name);
            td_json_string(&json, "unit", p->shown[i].y[0]->unit);
            td_json_integer(&json, "rows", p->shown[i].table[0]->rows);
            td_json_open(&json, "differences", '[');
            for (int r = 1; r < p->n_runs; r++)
            {
                td_json_open(&json, NULL, '{');
                td_json_string(&json, "run", p->run[r].path);
                td_json_number(&json, "largest", p->shown[i].largest[r]);
                td_json_number(&json, "rms", p->shown[i].rms[r]);
                td_json_number(&json, "scale", p->shown[i].scale);
                td_json_close(&json, '}');
            }
            td_json_close(&json, ']');
            td_json_close(&json, '}');
        }
        td_json_close(&json, ']');
        td_json_close(&json, '}');
        cli_print_json(&json);
        return;
    }
    if (p->n_runs > 1)
        printf("%-24s %-24s %12s %12s %12s\n", "column", "difference of", "largest", "rms", "of a range of");
    for (int i = 0; i < p->n; i++)
        for (int r = 1; r < p->n_runs; r++)
            printf("%-24s %-24s %12.4g %12.4g %12.4g  %s\n", p->shown[i].name, p->name[r], p->shown[i].largest[r],
                   p->shown[i].rms[r], p->shown[i].scale, p->shown[i].y[0]->unit);
    if (p->arguments->out != NULL)
        printf("%s\n", p->arguments->out);
}

// ---------------------------------------------------------------- pictures

static const char *label(Plotted *p, const char *format, const char *a, const char *b)
{
    char text[400];
    snprintf(text, sizeof text, format, a, b); // NOLINT: all formats are ours
    return td_arena_copy(&p->arena, text);
}

static tdStatus fill_panel(Plotted *p, const int *members, int n, tdPanel *panel, tdError *error)
{
    tdSeries *series = TD_TAKE(&p->arena, tdSeries, n * p->n_runs);
    if (series == NULL)
        return td_fail_memory(error, "the plot");
    panel->settings = td_default_plot();
    panel->settings.width = 900;
    panel->settings.height = 420;
    for (int m = 0; m < n; m++)
        for (int r = 0; r < p->n_runs; r++)
        {
            const Shown *shown = &p->shown[members[m]];
            tdSeries *one = &series[panel->n++];
            one->n = shown->table[r]->rows;
            one->x = shown->x[r]->values;
            one->y = shown->y[r]->values;
            one->colour = m % TD_PALETTE + 1;
            one->line = p->arguments->points ? TD_LINE_NONE : r == 0 ? TD_LINE_SOLID : TD_LINE_DASHED;
            one->marker = p->arguments->points ? (r == 0 ? TD_MARKER_CIRCLE : TD_MARKER_SQUARE) : TD_MARKER_NONE;
            if (r > 1 || (n == 1 && r > 0)) // dashes tell two runs apart, colours more
                one->colour = (m + n * r) % TD_PALETTE + 1;
            one->name = p->n_runs > 1 ? label(p, "%s, %s", shown->name, p->name[r]) : n > 1 ? shown->name : NULL;
        }
    panel->series = series;
    const Shown *first = &p->shown[members[0]];
    panel->settings.x_label = first->x[0]->title;
    panel->settings.y_label =
        n == 1 ? first->y[0]->title : label(p, first->y[0]->unit[0] != '\0' ? "[%s]" : "%s", first->y[0]->unit, "");
    return TD_OK;
}

// Columns of one unit over one axis share a plot.
static tdStatus draw(Plotted *p, tdError *error)
{
    tdPanel panels[MOST_PANELS] = {0};
    bool placed[MOST_COLUMNS] = {false};
    int n = 0;
    for (int i = 0; i < p->n && n < MOST_PANELS; i++)
    {
        int members[MOST_COLUMNS], count = 0;
        for (int k = i; k < p->n && !placed[i]; k++)
            if (strcmp(p->shown[k].y[0]->unit, p->shown[i].y[0]->unit) == 0 &&
                strcmp(p->shown[k].x[0]->title, p->shown[i].x[0]->title) == 0 && count < 2 * TD_PALETTE)
                members[count++] = k;
        for (int k = 1; k < count; k++)
            placed[members[k]] = true;
        if (!placed[i])
            TD_TRY(fill_panel(p, members, count, &panels[n++], error));
    }
    size_t length = strlen(p->arguments->out);
    if (length > 4 && strcmp(p->arguments->out + length - 4, ".svg") == 0)
        return td_plot_svg_write(n, panels, p->arguments->out, error);
    return td_plot_panels(1, n, panels, p->arguments->out, error);
}

// ---------------------------------------------------------------- the command

static void list_columns(const Plotted *p)
{
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "status", "done");
    td_json_open(&json, "columns", '[');
    for (int t = 0; t < p->run[0].n; t++)
    {
        const Table *table = &p->run[0].table[t];
        if (!cli_json())
            printf("%s, %lld rows\n", table->file, (long long)table->rows);
        for (int k = 0; k < table->n; k++)
        {
            if (is_axis(table->columns[k].name) || table->columns[k].words)
                continue;
            td_json_string(&json, NULL, table->columns[k].name);
            if (!cli_json())
                printf("  %s\n", table->columns[k].title);
        }
    }
    td_json_close(&json, ']');
    td_json_close(&json, '}');
    if (cli_json())
        cli_print_json(&json);
    free(json.text.data);
}

// Names of the legend, from --names or the folders.
static int name_runs(Plotted *p)
{
    char *text = p->arguments->names != NULL ? td_arena_copy(&p->arena, p->arguments->names) : NULL, *rest = NULL;
    int n = 0;
    for (char *name = text != NULL ? strtok_r(text, ",", &rest) : NULL; name != NULL && n < MOST_RUNS;
         name = strtok_r(NULL, ",", &rest))
        p->name[n++] = name;
    if (p->arguments->names != NULL && n != p->n_runs)
        return cli_usage("--names has %d names, and there are %d runs", n, p->n_runs);
    for (; n < p->n_runs; n++)
        p->name[n] = p->arguments->runs[n];
    return -1;
}

static int plot(Plotted *p)
{
    const plotArguments *arguments = p->arguments;
    tdError error = {0};
    int code = name_runs(p);
    if (code >= 0)
        return code;
    for (int r = 0; r < p->n_runs; r++)
        if (tables_read(arguments->runs[r], &p->run[r], &error) != TD_OK)
            return cli_fail(&error);
    if (arguments->columns.n == 0)
    {
        if (arguments->out != NULL || p->n_runs > 1)
            return cli_usage("no column is given: --column NAME selects one; 'tendril plot %s' lists them",
                             arguments->runs[0]);
        list_columns(p);
        return 0;
    }
    code = find_columns(p);
    if (code >= 0)
        return code;
    for (int i = 0; i < p->n; i++)
        for (int r = 0; r < p->n_runs; r++)
        {
            table_warn(p->shown[i].table[r], p->shown[i].y[r]);
            if (r > 0)
                compare(&p->shown[i], r);
        }
    if (arguments->out != NULL && draw(p, &error) != TD_OK)
        return cli_fail(&error);
    report(p);
    return 0;
}

int cmd_plot(int argc, char **argv)
{
    plotArguments arguments = {0};
    const cliOption options[] = {
        {"--column", &arguments.columns.last, NULL},
        {"--x", &arguments.x, NULL},
        {"-o", &arguments.out, NULL},
        {"--names", &arguments.names, NULL},
        {"--points", NULL, &arguments.points},
    };
    cli_repeats(&arguments.columns);
    int code =
        cli_parse(argc, argv, help, options, (int)(sizeof options / sizeof options[0]), arguments.runs, 1, MOST_RUNS);
    if (code >= 0)
        return code;
    size_t length = arguments.out != NULL ? strlen(arguments.out) : 0;
    if (arguments.out != NULL && (length < 5 || (strcmp(arguments.out + length - 4, ".png") != 0 &&
                                                 strcmp(arguments.out + length - 4, ".svg") != 0)))
        return cli_usage("-o %s: give a name that ends in .png or .svg", arguments.out);
    Plotted *p = td_take(1, sizeof *p);
    tdError error = {0};
    if (p == NULL)
    {
        td_fail_memory(&error, "the tables");
        return cli_fail(&error);
    }
    p->arguments = &arguments;
    while (p->n_runs < MOST_RUNS && arguments.runs[p->n_runs] != NULL)
        p->n_runs++;
    if (arguments.columns.n > 0 && arguments.out == NULL && p->n_runs == 1)
        code = cli_usage("the output is missing: give -o FILE.png or FILE.svg");
    else
        code = plot(p);
    for (int r = 0; r < p->n_runs; r++)
        tables_free(&p->run[r]);
    td_arena_free(&p->arena);
    free(p);
    return code;
}
