// SPDX-License-Identifier: Apache-2.0
// tendril material fit: which law explains measured stresses, and with which parameters.
#include "material.h"

#include "base/suggest.h"
#include "material/fit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tendril material fit DATA.csv [options]\n"
    "\n"
    "Fits material laws to measured nominal stresses (force by undeformed area) by least squares, compares them\n"
    "and prints what to write into a scene.\n"
    "\n"
    "The file has a header and a point a line; # begins a comment:\n"
    "    mode,stretch,stress [kPa]\n"
    "    uniaxial,1.5,120\n"
    "mode is uniaxial, biaxial, planar (pure shear) or shear (simple shear). 'strain' (stretch - 1, also [%])\n"
    "may stand for 'stretch'; shear has the column 'gamma'. Without a unit a stress is in Pa.\n"
    "\n"
    "  --law NAME         neo_hookean, mooney_rivlin, ogden, arruda_boyce, veronda_westmann, stvk, ...; or all\n"
    "  --terms N          terms of Ogden's law, 1 to 6 (2; with --law all: 1 to N, N = 3)\n"
    "  --incompressible   the volume does not change (default)\n"
    "  --poisson NU       compressible, with this Poisson's ratio at small strain\n"
    "  --mode MODE        of a file without the column mode\n"
    "  --relative         errors relative to the stress instead of absolute: small strains count more\n"
    "  --plot FILE        a picture: points and curves\n"
    "  --json             print one JSON object\n"
    "\n"
    "Laws are sorted by AIC, least first: the best explanation for the number of parameters.\n"
    "\n"
    "example: tendril material fit scenes/data/treloar.csv --plot rubber.png\n";

enum
{
    MOST_FITS = TD_LAWS + TD_OGDEN_TERMS,
    MOST_REMARKS = 24,
    DRAWN_LAWS = 6
};

typedef struct Options
{
    const char *law, *terms, *poisson, *mode, *plot;
    bool incompressible, relative;
} Options;

typedef struct Result
{
    tdFit fit;
    tdStatus status;
    tdError error;
    char name[40];
    int n_remarks;
    char remarks[MOST_REMARKS][240];
} Result;

typedef struct Session
{
    const char *path;
    tdFitData data;
    tdFitSettings settings; // common to all laws
    int n;
    Result results[MOST_FITS];
} Session;

// ---------------------------------------------------------------- remarks

__attribute__((format(printf, 2, 3))) static void remark(Result *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (r->n_remarks < MOST_REMARKS)
        vsnprintf(r->remarks[r->n_remarks++], sizeof r->remarks[0], format, args);
    va_end(args);
}

static void value_text(const tdFit *fit, int i, double value, char *out, size_t size)
{
    char name[24];
    if (td_fit_name(fit, i, name, sizeof name))
        material_pressure(value, out, size);
    else
        snprintf(out, size, "%.4g", value);
}

static void remark_parameters(Result *r)
{
    const tdFit *fit = &r->fit;
    char name[24], other[24], text[32];
    if (!fit->converged)
        remark(r, "the search stopped after %d iterations; the parameters may not be the best", fit->iterations);
    if (fit->r2 < 0)
        remark(r, "the law explains nothing (R^2 < 0); look at the sign of stresses and at the modes");
    for (int i = 0; i < fit->n; i++)
    {
        td_fit_name(fit, i, name, sizeof name);
        value_text(fit, i, fit->value[i], text, sizeof text);
        if (fit->at_bound[i])
            remark(r, "%s is at its bound, %s: a law with fewer parameters does as well", name, text);
        else if (isnan(fit->half[i]))
            remark(r, "%s cannot be told from these data", name);
        else if (fit->half[i] > fabs(fit->value[i]))
            remark(r, "%s is uncertain: its interval is wider than itself", name);
    }
    if (fabs(fit->correlation) > 0.99)
    {
        td_fit_name(fit, fit->correlated[0], name, sizeof name);
        td_fit_name(fit, fit->correlated[1], other, sizeof other);
        remark(r,
               "%s and %s cannot be told apart well (correlation %.4f); a test of another mode or larger stretches "
               "would help",
               name, other, fit->correlation);
    }
}

// The range in which the fitted law is unstable, first of all where there are measurements.
static void remark_stability(Result *r, const tdFitData *data)
{
    for (int t = 0; t < TD_TESTS; t++)
    {
        const double *range = r->fit.stable[t];
        if (!material_limited((tdTest)t, range))
            continue;
        bool measured =
            data->count[t] > 0 && (fmin(data->low[t], 1) < range[0] * 0.99 || data->high[t] > range[1] * 1.01);
        remark(r, "unstable in the %s test outside %.3g to %.3g%s", td_test_name((tdTest)t), range[0], range[1],
               measured ? ", within the measured range" : "");
    }
}

// ---------------------------------------------------------------- fitting

static int compare_results(const void *a, const void *b)
{
    const Result *x = a, *y = b;
    if ((x->status == TD_OK) != (y->status == TD_OK))
        return x->status == TD_OK ? -1 : 1;
    double p = x->status == TD_OK ? x->fit.aic : 0, q = y->status == TD_OK ? y->fit.aic : 0;
    if (p != q)
        return p < q ? -1 : 1;
    if (x->fit.n != y->fit.n)
        return x->fit.n - y->fit.n;
    return (int)x->fit.settings.law - (int)y->fit.settings.law;
}

static void fit_one(Session *s, tdLawKind law, int terms)
{
    Result *r = &s->results[s->n++];
    tdFitSettings settings = s->settings;
    settings.law = law;
    settings.terms = terms;
    if (law == TD_LAW_OGDEN)
        snprintf(r->name, sizeof r->name, "ogden, %d term%s", terms, terms == 1 ? "" : "s");
    else
        snprintf(r->name, sizeof r->name, "%s", td_law(law)->name);
    if (!cli_quiet())
        fprintf(stderr, "fitting %s\n", r->name);
    r->status = td_fit(&s->data, &settings, &r->fit, &r->error);
    if (r->status != TD_OK)
        return;
    remark_parameters(r);
    remark_stability(r, &s->data);
}

// By name: every law that a fit can find, for messages and suggestions too.
static int find_law(const char *name, tdLawKind *law)
{
    const char *names[TD_LAWS + 1];
    int n = 0;
    for (int k = 0; k < TD_LAWS; k++)
        if (td_fit_parameters((tdLawKind)k, 1) > 0)
            names[n++] = td_law((tdLawKind)k)->name;
    names[n++] = "all";
    for (int k = 0; k < TD_LAWS; k++)
        if (td_law((tdLawKind)k)->name != NULL && strcmp(td_law((tdLawKind)k)->name, name) == 0)
        {
            *law = (tdLawKind)k;
            if (td_fit_parameters(*law, 1) == 0)
                return cli_usage("--law %s has fibres, which these tests cannot tell apart; it cannot be fitted", name);
            return -1;
        }
    const char *nearest = td_suggest(name, names, n);
    if (nearest != NULL)
        return cli_usage("--law '%s' is unknown; did you mean '%s'?", name, nearest);
    return cli_usage("--law '%s' is unknown; --help lists the laws", name);
}

static int fit_laws(Session *s, const Options *o)
{
    long terms = 0;
    if (o->terms != NULL && !cli_integer("--terms", o->terms, 1, &terms))
        return TD_ERROR_USAGE;
    if (terms > TD_OGDEN_TERMS)
        return cli_usage("--terms is 1 to %d", TD_OGDEN_TERMS);
    if (strcmp(o->law, "all") != 0)
    {
        tdLawKind law = TD_LAW_NEO_HOOKEAN;
        int code = find_law(o->law, &law);
        if (code >= 0)
            return code;
        if (o->terms != NULL && law != TD_LAW_OGDEN)
            return cli_usage("--terms belongs to --law ogden");
        fit_one(s, law, terms > 0 ? (int)terms : 2);
    }
    else
    {
        static const tdLawKind laws[] = {TD_LAW_NEO_HOOKEAN, TD_LAW_MOONEY_RIVLIN, TD_LAW_ARRUDA_BOYCE,
                                         TD_LAW_VERONDA_WESTMANN};
        for (int k = 0; k < 4; k++)
            if (td_fit_parameters(laws[k], 1) > 0)
                fit_one(s, laws[k], 1);
        if (!s->settings.incompressible)
            fit_one(s, TD_LAW_STVK, 1);
        for (int k = 1; td_fit_parameters(TD_LAW_OGDEN, 1) > 0 && k <= (terms > 0 ? terms : 3); k++)
            fit_one(s, TD_LAW_OGDEN, k);
    }
    qsort(s->results, (size_t)s->n, sizeof s->results[0], compare_results);
    if (s->results[0].status == TD_OK)
        return -1;
    // Nothing could be fitted: the reason of the law that came nearest, with the place.
    tdError error = s->results[0].error;
    snprintf(error.file, sizeof error.file, "%s", s->path);
    return cli_fail(&error);
}

// ---------------------------------------------------------------- print

static void print_law(const Result *r)
{
    const tdFit *fit = &r->fit;
    char name[24], value[32], half[32];
    printf("\n%s\n", r->name);
    for (int i = 0; i < fit->n; i++)
    {
        td_fit_name(fit, i, name, sizeof name);
        value_text(fit, i, fit->value[i], value, sizeof value);
        value_text(fit, i, fit->half[i], half, sizeof half);
        printf("  %-10s %14s", name, value);
        if (!isnan(fit->half[i]))
            printf("  +- %s", half);
        printf("\n");
    }
    for (int i = 0; i < r->n_remarks; i++)
        printf("  ! %s\n", r->remarks[i]);
}

static void print_session(const Session *s)
{
    printf("%s: %d points (", s->path, s->data.n);
    for (int t = 0, any = 0; t < TD_TESTS; t++)
        if (s->data.count[t] > 0)
            printf("%s%d %s, %.4g to %.4g", any++ > 0 ? "; " : "", s->data.count[t], td_test_name((tdTest)t),
                   s->data.low[t], s->data.high[t]);
    printf(")\n");
    if (s->settings.incompressible)
        printf("incompressible; %s errors\n\n", s->settings.relative ? "relative" : "absolute");
    else
        printf("Poisson's ratio %g; %s errors\n\n", s->settings.poisson,
               s->settings.relative ? "relative" : "absolute");
    printf("%-18s %2s  %8s  %10s  %10s  %9s  %10s  %s\n", "law", "k", "R^2", "RMS error", "largest", "AIC", "E",
           "remarks");
    for (int i = 0; i < s->n; i++)
    {
        const Result *r = &s->results[i];
        char rms[32], worst[32], young[32], aic[32] = "-", r2[32] = "-";
        if (r->status != TD_OK)
        {
            printf("%-18s not fitted: %s\n", r->name, r->error.message);
            continue;
        }
        material_pressure(r->fit.rms, rms, sizeof rms);
        material_pressure(r->fit.worst, worst, sizeof worst);
        material_pressure(r->fit.young, young, sizeof young);
        if (isfinite(r->fit.aic))
            snprintf(aic, sizeof aic, "%.2f", r->fit.aic);
        if (isfinite(r->fit.r2)) // equal stresses have no variance to explain
            snprintf(r2, sizeof r2, "%.6f", r->fit.r2);
        printf("%-18s %2d  %8s  %10s  %10s  %9s  %10s  %d\n", r->name, r->fit.n, r2, rms, worst, aic, young,
               r->n_remarks);
    }
    printf("\nparameters with 95 %% intervals; ! marks remarks\n");
    for (int i = 0; i < s->n; i++)
        if (s->results[i].status == TD_OK)
            print_law(&s->results[i]);
    tdText text = {0};
    const tdFit *best = &s->results[0].fit;
    if (best->r2 < 0)
    {
        printf("\nno law explains these data: there is no material for a scene\n");
        return;
    }
    td_fit_snippet(best, &text);
    if (!text.failed)
        printf("\nfor a scene (%s):\n    material: {%s, density: ...}\n", s->results[0].name, text.data);
    if (s->settings.incompressible)
        printf("A scene's material changes its volume a little; at these points its stresses differ by %.2g %%.\n",
               100 * best->volume_error);
    free(text.data);
}

static void json_law(tdJson *json, const Result *r)
{
    const tdFit *fit = &r->fit;
    td_json_open(json, NULL, '{');
    td_json_string(json, "law", td_law(fit->settings.law)->name);
    if (fit->settings.law == TD_LAW_OGDEN)
        td_json_integer(json, "terms", fit->settings.terms);
    td_json_bool(json, "fitted", r->status == TD_OK);
    if (r->status != TD_OK)
    {
        td_json_string(json, "reason", r->error.message);
        td_json_close(json, '}');
        return;
    }
    td_json_open(json, "parameters", '[');
    for (int i = 0; i < fit->n; i++)
    {
        char name[24];
        bool modulus = td_fit_name(fit, i, name, sizeof name);
        td_json_open(json, NULL, '{');
        td_json_string(json, "name", name);
        td_json_number(json, "value", fit->value[i]);
        td_json_number(json, "half_interval", fit->half[i]);
        td_json_string(json, "unit", modulus ? "Pa" : "1");
        td_json_bool(json, "at_bound", fit->at_bound[i]);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
    td_json_number(json, "r2", fit->r2);
    td_json_number(json, "rms", fit->rms);
    td_json_number(json, "largest_error", fit->worst);
    td_json_number(json, "aic", fit->aic);
    td_json_number(json, "correlation", fit->correlation);
    td_json_number(json, "young", fit->young);
    td_json_number(json, "poisson", fit->poisson);
    td_json_bool(json, "converged", fit->converged);
    td_json_integer(json, "iterations", fit->iterations);
    td_json_open(json, "stable", '{');
    for (int t = 0; t < TD_TESTS; t++)
        td_json_numbers(json, td_test_name((tdTest)t), 2, fit->stable[t]);
    td_json_close(json, '}');
    td_json_open(json, "remarks", '[');
    for (int i = 0; i < r->n_remarks; i++)
        td_json_string(json, NULL, r->remarks[i]);
    td_json_close(json, ']');
    if (fit->settings.incompressible)
        td_json_number(json, "volume_error", fit->volume_error);
    tdText text = {0};
    td_fit_snippet(fit, &text);
    td_json_string(json, "material", text.failed ? "" : text.data);
    free(text.data);
    td_json_close(json, '}');
}

static void print_session_json(const Session *s, const char *plot)
{
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "data", s->path);
    td_json_integer(&json, "points", s->data.n);
    td_json_bool(&json, "incompressible", s->settings.incompressible);
    if (!s->settings.incompressible)
        td_json_number(&json, "poisson", s->settings.poisson);
    td_json_bool(&json, "relative", s->settings.relative);
    if (plot != NULL)
        td_json_string(&json, "plot", plot);
    td_json_open(&json, "laws", '[');
    for (int i = 0; i < s->n; i++)
        json_law(&json, &s->results[i]);
    td_json_close(&json, ']');
    td_json_close(&json, '}');
    cli_print_json(&json);
}

// ---------------------------------------------------------------- picture

// Curves leave the picture where they leave the data by far, so that a bad law does not flatten the rest.
static void fill_panel(const Session *s, tdTest test, int n_laws, double *numbers, materialPanel *panel)
{
    int n = 0;
    double *x = numbers, *y = numbers + s->data.n;
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (int i = 0; i < s->data.n; i++)
        if (s->data.test[i] == test)
        {
            x[n] = s->data.x[i];
            y[n++] = s->data.stress[i];
            low = fmin(low, s->data.stress[i]);
            high = fmax(high, s->data.stress[i]);
        }
    double rest = test == TD_TEST_SHEAR ? 0 : 1, margin = 0.12 * fmax(high - low, fmax(fabs(high), fabs(low)));
    low = fmin(low, 0) - margin * (low < 0 ? 1 : 0.2);
    high = fmax(high, 0) + margin;
    panel->series[panel->n++] = (tdSeries){
        .name = "measured", .n = n, .x = x, .y = y, .colour = -1, .marker = TD_MARKER_CIRCLE, .line = TD_LINE_NONE};
    for (int k = 0; k < n_laws; k++)
    {
        tdSpecimen specimen = td_fit_specimen(&s->results[k].fit);
        double *cx = numbers + 2 * (ptrdiff_t)s->data.n + (ptrdiff_t)2 * MATERIAL_CURVE * k, *cy = cx + MATERIAL_CURVE;
        material_curve(&specimen, test, fmin(s->data.low[test], rest), fmax(s->data.high[test], rest), cx, cy);
        for (int i = 0; i < MATERIAL_CURVE; i++)
            cy[i] = cy[i] >= low && cy[i] <= high ? cy[i] : NAN;
        panel->series[panel->n++] =
            (tdSeries){.name = s->results[k].name, .n = MATERIAL_CURVE, .x = cx, .y = cy, .colour = k % TD_PALETTE + 1};
    }
    panel->x_range[0] = fmin(s->data.low[test], rest);
    panel->x_range[1] = fmax(s->data.high[test], rest);
    panel->y_range[0] = low;
    panel->y_range[1] = high;
}

static tdStatus draw_session(const Session *s, const char *path, tdError *error)
{
    int n_laws = 0, n_panels = 0;
    while (n_laws < s->n && n_laws < DRAWN_LAWS && s->results[n_laws].status == TD_OK)
        n_laws++;
    size_t each = 2 * (size_t)s->data.n + 2 * (size_t)MATERIAL_CURVE * DRAWN_LAWS;
    double *numbers = td_take(TD_TESTS * each, sizeof *numbers);
    if (numbers == NULL)
        return td_fail_memory(error, "the picture");
    tdSeries series[TD_TESTS][DRAWN_LAWS + 1];
    materialPanel panels[TD_TESTS];
    for (int t = 0; t < TD_TESTS; t++)
    {
        if (s->data.count[t] == 0)
            continue;
        panels[n_panels] = (materialPanel){.test = (tdTest)t, .series = series[n_panels]};
        fill_panel(s, (tdTest)t, n_laws, numbers + (size_t)t * each, &panels[n_panels]);
        n_panels++;
    }
    tdStatus status = material_draw(path, NULL, n_panels, panels, error);
    free(numbers);
    return status;
}

// ---------------------------------------------------------------- the command

static int read_settings(const Options *o, Session *s, tdTest *test)
{
    s->settings = (tdFitSettings){.incompressible = o->poisson == NULL, .relative = o->relative, .poisson = NAN};
    if (o->poisson != NULL && o->incompressible)
        return cli_usage("--poisson and --incompressible exclude each other");
    if (o->poisson != NULL && !cli_number("--poisson", o->poisson, &s->settings.poisson))
        return TD_ERROR_USAGE;
    if (o->poisson != NULL && !(s->settings.poisson > -1 && s->settings.poisson < 0.5))
        return cli_usage("--poisson is > -1 and < 0.5, not %s; leave it out for an incompressible fit", o->poisson);
    *test = TD_TESTS;
    if (o->mode != NULL && (*test = td_test_find(o->mode)) == TD_TESTS)
        return cli_usage("--mode is uniaxial, biaxial, planar or shear, not '%s'", o->mode);
    return -1;
}

static tdStatus read_data(const char *path, tdTest test, tdArena *arena, tdFitData *data, tdError *error)
{
    char *text = NULL;
    size_t size = 0;
    TD_TRY(td_file_read(path, &text, &size, error));
    tdStatus status = td_fit_read_csv(text, size, path, test, arena, data, error);
    free(text);
    return status;
}

int material_fit(int argc, char **argv)
{
    Options o = {.law = "all"};
    const cliOption options[] = {{"--law", &o.law, NULL},         {"--terms", &o.terms, NULL},
                                 {"--poisson", &o.poisson, NULL}, {"--incompressible", NULL, &o.incompressible},
                                 {"--mode", &o.mode, NULL},       {"--relative", NULL, &o.relative},
                                 {"--plot", &o.plot, NULL}};
    const char *path = NULL;
    int code = cli_parse(argc, argv, help, options, 7, &path, 1, 1);
    if (code >= 0)
        return code;
    Session *s = td_take(1, sizeof *s);
    tdArena arena = {0};
    tdError error = {0};
    tdTest test = TD_TESTS;
    if (s == NULL)
    {
        td_fail_memory(&error, "the fit");
        return cli_fail(&error);
    }
    s->path = path;
    code = read_settings(&o, s, &test);
    if (code < 0 && read_data(path, test, &arena, &s->data, &error) != TD_OK)
        code = cli_fail(&error);
    if (code < 0)
        code = fit_laws(s, &o);
    if (code < 0 && o.plot != NULL && draw_session(s, o.plot, &error) != TD_OK)
        code = cli_fail(&error);
    if (code < 0 && cli_json())
        print_session_json(s, o.plot);
    else if (code < 0)
        print_session(s);
    td_arena_free(&arena);
    free(s);
    return code < 0 ? 0 : code;
}
