// SPDX-License-Identifier: Apache-2.0
// tendril material fit: which law explains measured stresses, and with which parameters.
#include "material.h"

#include "study/fits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tendril material fit DATA.csv [options]\n"
    "\n"
    "Fits material laws to measured nominal stresses (force per undeformed area) by least squares, compares them\n"
    "and prints what to write into a scene.\n"
    "\n"
    "The file has a header and one point per line; # begins a comment:\n"
    "    mode,stretch,stress [kPa]\n"
    "    uniaxial,1.5,120\n"
    "mode is uniaxial, biaxial, planar (pure shear) or shear (simple shear). 'strain' (stretch - 1, also [%])\n"
    "may replace 'stretch'; shear uses the column 'gamma'. Without a unit a stress is in Pa.\n"
    "\n"
    "  --law NAME         neo_hookean, mooney_rivlin, ogden, arruda_boyce, veronda_westmann, stvk, ...; or all\n"
    "  --terms N          terms of Ogden's law, 1 to 6 (2; with --law all: 1 to N, N = 3)\n"
    "  --incompressible   the volume does not change (default)\n"
    "  --poisson NU       compressible, with this Poisson's ratio at small strain\n"
    "  --mode MODE        the mode, for a file without the column mode\n"
    "  --relative         errors relative to the stress instead of absolute: small strains count more\n"
    "  --plot FILE        a picture: points and curves\n"
    "  --json             print one JSON object\n"
    "\n"
    "Laws are sorted by AIC, least first: the best explanation for the number of parameters.\n"
    "\n"
    "example: tendril material fit scenes/data/treloar.csv --plot rubber.png\n";

typedef struct Options
{
    const char *law, *terms, *poisson, *mode, *plot;
    bool incompressible, relative;
} Options;

// ---------------------------------------------------------------- print

static void print_law(const tdFitted *r)
{
    const tdFit *fit = &r->fit;
    char name[24], value[32], half[32];
    printf("\n%s\n", r->name);
    for (int i = 0; i < fit->n; i++)
    {
        td_fit_name(fit, i, name, sizeof name);
        td_fits_value_text(fit, i, fit->value[i], value, sizeof value);
        td_fits_value_text(fit, i, fit->half[i], half, sizeof half);
        printf("  %-10s %14s", name, value);
        if (!isnan(fit->half[i]))
            printf("  +- %s", half);
        printf("\n");
    }
    for (int i = 0; i < r->n_remarks; i++)
        printf("  ! %s\n", r->remarks[i]);
}

static void print_session(const tdFits *s)
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
        const tdFitted *r = &s->results[i];
        char rms[32], worst[32], young[32], aic[32] = "-", r2[32] = "-";
        if (r->status != TD_OK)
        {
            printf("%-18s not fitted: %s\n", r->name, r->error.message);
            continue;
        }
        td_material_pressure(r->fit.rms, rms, sizeof rms);
        td_material_pressure(r->fit.worst, worst, sizeof worst);
        td_material_pressure(r->fit.young, young, sizeof young);
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
        printf("\nno law fits these data, so there is no material for a scene\n");
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

static void json_law(tdJson *json, const tdFitted *r)
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

static void print_session_json(const tdFits *s, const char *plot)
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

// ---------------------------------------------------------------- the command

static int read_settings(const Options *o, tdFitsSettings *what)
{
    long terms = 0;
    *what = td_default_fits();
    if (o->poisson != NULL && o->incompressible)
        return cli_usage("--poisson and --incompressible exclude each other");
    if (o->poisson != NULL && !cli_number("--poisson", o->poisson, &what->poisson))
        return TD_ERROR_USAGE;
    if (o->terms != NULL && !cli_integer("--terms", o->terms, 1, &terms))
        return TD_ERROR_USAGE;
    if (terms > TD_OGDEN_TERMS)
        return cli_usage("--terms is 1 to %d", TD_OGDEN_TERMS);
    what->terms = (int)terms;
    what->law = o->law;
    what->mode = o->mode;
    what->relative = o->relative;
    return -1;
}

static bool show(void *unused, const char *law, int64_t done, int64_t total)
{
    (void)unused;
    (void)done;
    (void)total;
    if (!cli_quiet())
        fprintf(stderr, "fitting %s\n", law);
    return true;
}

int material_fit(int argc, char **argv)
{
    Options o = {.law = "all"};
    const cliOption options[] = {{"--law", &o.law, NULL},         {"--terms", &o.terms, NULL},
                                 {"--poisson", &o.poisson, NULL}, {"--incompressible", NULL, &o.incompressible},
                                 {"--mode", &o.mode, NULL},       {"--relative", NULL, &o.relative},
                                 {"--plot", &o.plot, NULL}};
    tdFitsSettings what;
    const char *path = NULL;
    int code = cli_parse(argc, argv, help, options, 7, &path, 1, 1);
    if (code < 0)
        code = read_settings(&o, &what);
    if (code >= 0)
        return code;
    tdFits *fits = NULL;
    tdError error = {0};
    what.data = path;
    what.progress = show;
    if (td_fits_make(&what, &fits, &error) != TD_OK)
        return cli_fail(&error);
    if (o.plot != NULL && td_fits_plot(fits, o.plot, &error) != TD_OK)
        code = cli_fail(&error);
    if (code < 0 && cli_json())
        print_session_json(fits, o.plot);
    else if (code < 0)
        print_session(fits);
    td_fits_free(fits);
    return code < 0 ? 0 : code;
}
