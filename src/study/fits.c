// SPDX-License-Identifier: Apache-2.0
// td_fits_make(): which law explains measured stresses, and with which parameters.
#include "study/fits.h"

#include "base/file.h"
#include "base/print.h"
#include "base/suggest.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- remarks

__attribute__((format(printf, 2, 3))) static void remark(tdFitted *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (r->n_remarks < TD_FITS_REMARKS)
        vsnprintf(r->remarks[r->n_remarks++], sizeof r->remarks[0], format, args);
    va_end(args);
}

void td_fits_value_text(const tdFit *fit, int i, double value, char *out, size_t size)
{
    char name[24];
    if (td_fit_name(fit, i, name, sizeof name))
        td_material_pressure(value, out, size);
    else
        snprintf(out, size, "%.4g", value);
}

static void remark_parameters(tdFitted *r)
{
    const tdFit *fit = &r->fit;
    char name[24], other[24], text[32];
    if (!fit->converged)
        remark(r, "the search stopped after %d iterations; the parameters may not be the best", fit->iterations);
    if (fit->r2 < 0)
        remark(r, "the law explains nothing (R^2 < 0); check the signs of the stresses, and the modes");
    for (int i = 0; i < fit->n; i++)
    {
        td_fit_name(fit, i, name, sizeof name);
        td_fits_value_text(fit, i, fit->value[i], text, sizeof text);
        if (fit->at_bound[i])
            remark(r, "%s is at its bound, %s: a law with fewer parameters does as well", name, text);
        else if (isnan(fit->half[i]))
            remark(r, "%s cannot be determined from these data", name);
        else if (fit->half[i] > fabs(fit->value[i]))
            remark(r, "%s is uncertain: its interval is wider than itself", name);
    }
    if (fabs(fit->correlation) > 0.99)
    {
        td_fit_name(fit, fit->correlated[0], name, sizeof name);
        td_fit_name(fit, fit->correlated[1], other, sizeof other);
        remark(r,
               "%s and %s cannot be separated well (correlation %.4f); a test of another mode or larger stretches "
               "would help",
               name, other, fit->correlation);
    }
}

// The range in which the fitted law is unstable, first of all where there are measurements.
static void remark_stability(tdFitted *r, const tdFitData *data)
{
    for (int t = 0; t < TD_TESTS; t++)
    {
        const double *range = r->fit.stable[t];
        if (!td_material_limited((tdTest)t, range))
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
    const tdFitted *x = a, *y = b;
    if ((x->status == TD_OK) != (y->status == TD_OK))
        return x->status == TD_OK ? -1 : 1;
    double p = x->status == TD_OK ? x->fit.aic : 0, q = y->status == TD_OK ? y->fit.aic : 0;
    if (p != q)
        return p < q ? -1 : 1;
    if (x->fit.n != y->fit.n)
        return x->fit.n - y->fit.n;
    return (int)x->fit.settings.law - (int)y->fit.settings.law;
}

// False: stopped.
static bool fit_one(const tdFitsSettings *what, tdFits *s, tdLawKind law, int terms)
{
    tdFitted *r = &s->results[s->n];
    tdFitSettings settings = s->settings;
    settings.law = law;
    settings.terms = terms;
    if (law == TD_LAW_OGDEN)
        snprintf(r->name, sizeof r->name, "ogden, %d term%s", terms, terms == 1 ? "" : "s");
    else
        snprintf(r->name, sizeof r->name, "%s", td_law(law)->name);
    if (what->progress != NULL && !what->progress(what->user, r->name, s->n, 0))
        return false;
    s->n++;
    r->fit.settings = settings;
    r->status = td_fit(&s->data, &settings, &r->fit, &r->error);
    if (r->status != TD_OK)
        return true;
    for (int i = 0; i < r->fit.n; i++)
        r->modulus[i] = td_fit_name(&r->fit, i, r->parameter[i], sizeof r->parameter[i]);
    remark_parameters(r);
    remark_stability(r, &s->data);
    td_fit_snippet(&r->fit, &r->material);
    return true;
}

// By name: every law that a fit can find, for messages and suggestions too.
static tdStatus find_law(const char *name, tdLawKind *law, tdError *error)
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
                return td_fail(error, TD_ERROR_USAGE, "the law %s cannot be fitted%s", name,
                               k == TD_LAW_COSTA ? ": it has fibres, which these tests cannot resolve" : "");
            return TD_OK;
        }
    const char *nearest = td_suggest(name, names, n);
    if (nearest != NULL)
        return td_fail(error, TD_ERROR_USAGE, "the law '%.60s' is unknown; did you mean '%s'?", name, nearest);
    return td_fail(error, TD_ERROR_USAGE,
                   "the law '%.60s' is unknown; there are neo_hookean, mooney_rivlin, ogden, arruda_boyce, "
                   "veronda_westmann, stvk, or all",
                   name);
}

// False: stopped.
static bool fit_all(const tdFitsSettings *what, tdFits *s)
{
    static const tdLawKind laws[] = {TD_LAW_NEO_HOOKEAN, TD_LAW_MOONEY_RIVLIN, TD_LAW_ARRUDA_BOYCE,
                                     TD_LAW_VERONDA_WESTMANN};
    for (int k = 0; k < 4; k++)
        if (td_fit_parameters(laws[k], 1) > 0 && !fit_one(what, s, laws[k], 1))
            return false;
    if (!s->settings.incompressible && !fit_one(what, s, TD_LAW_STVK, 1))
        return false;
    for (int k = 1; td_fit_parameters(TD_LAW_OGDEN, 1) > 0 && k <= (what->terms > 0 ? what->terms : 3); k++)
        if (!fit_one(what, s, TD_LAW_OGDEN, k))
            return false;
    return true;
}

static tdStatus fit_laws(const tdFitsSettings *what, tdFits *s, tdError *error)
{
    bool whole = false;
    if (what->law != NULL && strcmp(what->law, "all") != 0)
    {
        tdLawKind law = TD_LAW_NEO_HOOKEAN;
        TD_TRY(find_law(what->law, &law, error));
        if (what->terms > 0 && law != TD_LAW_OGDEN)
            return td_fail(error, TD_ERROR_USAGE, "terms belong to the law ogden, not to %s", what->law);
        whole = fit_one(what, s, law, what->terms > 0 ? what->terms : 2);
    }
    else
        whole = fit_all(what, s);
    if (!whole)
        return td_fail(error, TD_CANCELLED, "the fit was stopped");
    qsort(s->results, (size_t)s->n, sizeof s->results[0], compare_results);
    if (s->results[0].status == TD_OK)
        return TD_OK;
    // Nothing could be fitted: the reason of the law that came nearest, with the place.
    if (error != NULL)
    {
        *error = s->results[0].error;
        snprintf(error->file, sizeof error->file, "%s", s->path);
    }
    return s->results[0].status;
}

// ---------------------------------------------------------------- measurements

static tdStatus read_file(const char *path, tdTest test, tdFits *s, tdError *error)
{
    char *text = NULL;
    size_t size = 0;
    TD_TRY(td_file_read(path, &text, &size, error));
    tdStatus status = td_fit_read_csv(text, size, path, test, &s->arena, &s->data, error);
    free(text);
    return status;
}

// Points of arrays are read as those of a file are, so that they meet the same checks.
static tdStatus read_points(const tdFitsSettings *what, tdFits *s, tdError *error)
{
    if (what->n < 1 || what->stretch == NULL || what->stress == NULL)
        return td_fail(error, TD_ERROR_USAGE, "there are no points; give a file, or stretches and stresses");
    if (what->modes == NULL && what->mode == NULL)
        return td_fail(error, TD_ERROR_USAGE, "say of which test the points are: uniaxial, biaxial, planar or shear");
    tdText text = {0};
    tdError why = {0};
    td_text_format(&text, "mode,stretch,gamma,stress\n");
    for (int i = 0; i < what->n; i++)
    {
        const char *mode = what->modes != NULL ? what->modes[i] : what->mode;
        bool shear = strcmp(mode, td_test_name(TD_TEST_SHEAR)) == 0;
        td_text_format(&text, shear ? "%.40s,," : "%.40s,", mode);
        td_print_number(&text, what->stretch[i]);
        td_text_format(&text, shear ? "," : ",,");
        td_print_number(&text, what->stress[i]);
        td_text_append(&text, "\n", 1);
    }
    tdStatus status = text.failed
                          ? td_fail_memory(&why, "the measurements")
                          : td_fit_read_csv(text.data, (size_t)text.size, "point", TD_TESTS, &s->arena, &s->data, &why);
    why.line = why.line > 1 ? why.line - 1 : 0; // of the point, from 1
    if (status != TD_OK && error != NULL)
        *error = why;
    free(text.data);
    return status;
}

static tdStatus check(const tdFitsSettings *what, tdTest *test, tdError *error)
{
    *test = TD_TESTS;
    if (!isnan(what->poisson) && !(what->poisson > -1 && what->poisson < 0.5))
        return td_fail(error, TD_ERROR_USAGE,
                       "Poisson's ratio is > -1 and < 0.5, not %g; leave it out for an incompressible fit",
                       what->poisson);
    if (what->mode != NULL && (*test = td_test_find(what->mode)) == TD_TESTS)
        return td_fail(error, TD_ERROR_USAGE, "the mode is uniaxial, biaxial, planar or shear, not '%.40s'",
                       what->mode);
    if (what->terms < 0 || what->terms > TD_OGDEN_TERMS)
        return td_fail(error, TD_ERROR_USAGE, "Ogden's law has 1 to %d terms, not %d", TD_OGDEN_TERMS, what->terms);
    return TD_OK;
}

// ---------------------------------------------------------------- the study

tdFitsSettings td_default_fits(void)
{
    return (tdFitsSettings){.poisson = NAN};
}

tdStatus td_fits_make(const tdFitsSettings *what, tdFits **out, tdError *error)
{
    tdTest test = TD_TESTS;
    *out = NULL;
    TD_TRY(check(what, &test, error));
    tdFits *s = td_take(1, sizeof *s);
    if (s == NULL)
        return td_fail_memory(error, "the fit");
    s->path = what->data != NULL ? td_arena_copy(&s->arena, what->data) : "the points";
    s->settings =
        (tdFitSettings){.incompressible = isnan(what->poisson), .relative = what->relative, .poisson = what->poisson};
    tdStatus status = s->path == NULL      ? td_fail_memory(error, "the fit")
                      : what->data != NULL ? read_file(what->data, test, s, error)
                                           : read_points(what, s, error);
    if (status == TD_OK)
        status = fit_laws(what, s, error);
    if (status == TD_OK)
        *out = s;
    else
        td_fits_free(s);
    return status;
}

void td_fits_free(tdFits *fits)
{
    if (fits == NULL)
        return;
    for (int i = 0; i < fits->n; i++)
        free(fits->results[i].material.data);
    td_arena_free(&fits->arena);
    free(fits);
}

int td_fits_points(const tdFits *fits)
{
    return fits->data.n;
}

int td_fits_laws(const tdFits *fits)
{
    return fits->n;
}

static const tdFitted *result_of(const tdFits *fits, int law)
{
    assert(law >= 0 && law < fits->n);
    return &fits->results[law];
}

tdFittedInfo td_fits_law(const tdFits *fits, int law)
{
    const tdFitted *r = result_of(fits, law);
    const tdFit *fit = &r->fit;
    tdFittedInfo info = {.name = r->name,
                         .law = td_law(fit->settings.law)->name,
                         .terms = fit->settings.law == TD_LAW_OGDEN ? fit->settings.terms : 1,
                         .reason = r->status != TD_OK ? &r->error : NULL,
                         .material = ""};
    if (r->status != TD_OK)
        return info;
    info.parameters = fit->n;
    info.r2 = fit->r2;
    info.rms = fit->rms;
    info.worst = fit->worst;
    info.aic = fit->aic;
    info.young = fit->young;
    info.poisson = fit->poisson;
    info.volume_error = fit->settings.incompressible ? fit->volume_error : 0;
    info.converged = fit->converged;
    info.iterations = fit->iterations;
    info.remarks = r->n_remarks;
    info.material = r->material.failed || r->material.data == NULL ? "" : r->material.data;
    return info;
}

tdFittedParameter td_fits_parameter(const tdFits *fits, int law, int parameter)
{
    const tdFitted *r = result_of(fits, law);
    assert(parameter >= 0 && parameter < r->fit.n);
    return (tdFittedParameter){r->parameter[parameter], r->modulus[parameter], r->fit.value[parameter],
                               r->fit.half[parameter], r->fit.at_bound[parameter]};
}

const char *td_fits_remark(const tdFits *fits, int law, int remark)
{
    const tdFitted *r = result_of(fits, law);
    assert(remark >= 0 && remark < r->n_remarks);
    return r->remarks[remark];
}

bool td_fits_stable(const tdFits *fits, int law, const char *mode, double range[2])
{
    tdTest test = td_test_find(mode);
    if (test == TD_TESTS || result_of(fits, law)->status != TD_OK)
        return false;
    memcpy(range, fits->results[law].fit.stable[test], 2 * sizeof *range);
    return true;
}

double td_fits_stress(const tdFits *fits, int law, const char *mode, double stretch)
{
    tdTest test = td_test_find(mode);
    double stress = NAN;
    if (test == TD_TESTS || result_of(fits, law)->status != TD_OK)
        return NAN;
    tdSpecimen specimen = td_fit_specimen(&fits->results[law].fit);
    return td_response(&specimen, test, stretch, &stress, NULL) ? stress : NAN;
}
