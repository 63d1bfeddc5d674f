// SPDX-License-Identifier: Apache-2.0
#include "material/fit_law.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FARTHEST    35.0 // logarithm of a modulus by that of the data
#define STEEPEST    50.0 // exponent of an Ogden term
#define FLATTEST    1e-3 // at an exponent of 0 the energy is a limit that the kernel does not take
#define MOST_STARTS 7
#define EXPONENT    30.0 // largest of Veronda-Westmann within the data; the kernel's exponential ends not far above

static const struct
{
    int n; // parameters, of one term for Ogden
    const char *names[2];
    bool modulus[2];
    int starts;
    double start[MOST_STARTS]; // of lambda_m - 1; of c2 (I1 - 3) at the largest strain
    double low, high;          // of the second coordinate
} laws[TD_LAWS] = {
    [TD_LAW_LINEAR] = {.n = 1, .names = {"young"}, .modulus = {true}, .starts = 1},
    [TD_LAW_COROTATIONAL] = {.n = 1, .names = {"young"}, .modulus = {true}, .starts = 1},
    [TD_LAW_COROTATIONAL_LAGGED] = {.n = 1, .names = {"young"}, .modulus = {true}, .starts = 1},
    [TD_LAW_STVK] = {.n = 1, .names = {"young"}, .modulus = {true}, .starts = 1},
    [TD_LAW_NEO_HOOKEAN] = {.n = 1, .names = {"mu"}, .modulus = {true}, .starts = 1},
    [TD_LAW_MOONEY_RIVLIN] = {.n = 2, .names = {"c10", "c01"}, .modulus = {true, true}, .starts = 1, .high = 1e15},
    [TD_LAW_OGDEN] = {.n = 2, .names = {"mu", "alpha"}, .modulus = {true, false}, .low = -STEEPEST, .high = STEEPEST},
    [TD_LAW_ARRUDA_BOYCE] = {.n = 2,
                             .names = {"mu", "lambda_m"},
                             .modulus = {true, false},
                             .starts = 7,
                             .start = {0.2, 0.5, 1, 2, 4, 8, 20},
                             .low = -4.6,
                             .high = 4.6},
    [TD_LAW_VERONDA_WESTMANN] =
        {.n = 2, .names = {"c1", "c2"}, .modulus = {true, false}, .starts = 7, .start = {0.01, 0.1, 0.5, 1, 2, 5, 15}},
};

static bool is_engineering(tdLawKind law)
{
    return law <= TD_LAW_STVK;
}

int td_fit_parameters(tdLawKind law, int terms)
{
    if (td_law(law)->name == NULL)
        return 0;
    return laws[law].n * (law == TD_LAW_OGDEN ? terms : 1);
}

const char *const *td_fit_names(tdLawKind law)
{
    return laws[law].names;
}

bool td_fit_name(const tdFit *fit, int i, char *out, size_t size)
{
    int n = laws[fit->settings.law].n;
    if (fit->n > n)
        snprintf(out, size, "%s_%d", fit->names[i % n], i / n + 1);
    else
        snprintf(out, size, "%s", fit->names[i]);
    return laws[fit->settings.law].modulus[i % n];
}

void td_fit_publish(const tdFitSettings *settings, double S, const double *u, double *p)
{
    int n = td_fit_parameters(settings->law, settings->terms);
    switch (settings->law)
    {
    case TD_LAW_MOONEY_RIVLIN:
        p[0] = S * u[0];
        p[1] = S * u[1];
        break;
    case TD_LAW_OGDEN:
        for (int i = 0; i < n; i += 2)
        {
            p[i] = S * exp(u[i]);
            p[i + 1] = fabs(u[i + 1]) > FLATTEST ? u[i + 1] : copysign(FLATTEST, u[i + 1]);
        }
        break;
    case TD_LAW_ARRUDA_BOYCE:
        p[0] = S * exp(u[0]);
        p[1] = 1 + exp(u[1]);
        break;
    case TD_LAW_VERONDA_WESTMANN:
        p[1] = exp(u[1]);
        p[0] = S * exp(u[0]) / p[1];
        break;
    default: p[0] = S * exp(u[0]);
    }
}

void td_fit_bounds(const tdFitSettings *settings, double strain, double *low, double *high)
{
    int n = td_fit_parameters(settings->law, settings->terms);
    for (int i = 0; i < n; i++)
    {
        bool second = i % 2 == 1, linear = settings->law == TD_LAW_MOONEY_RIVLIN;
        low[i] = second || linear ? laws[settings->law].low : -FARTHEST;
        high[i] = second || linear ? laws[settings->law].high : FARTHEST;
    }
    if (settings->law == TD_LAW_VERONDA_WESTMANN)
    {
        low[1] = log(1e-4 / strain);
        high[1] = log(EXPONENT / strain);
    }
}

bool td_fit_start(const tdFitSettings *settings, double strain, int i, double *u)
{
    if (i >= laws[settings->law].starts)
        return false;
    u[0] = 0;
    if (settings->law == TD_LAW_MOONEY_RIVLIN)
        u[0] = u[1] = 0.25;
    else if (laws[settings->law].n == 2)
        u[1] = log(laws[settings->law].start[i] / (settings->law == TD_LAW_VERONDA_WESTMANN ? strain : 1));
    return true;
}

void td_fit_scale(const tdFitSettings *settings, double factor, double *u)
{
    int n = td_fit_parameters(settings->law, settings->terms);
    for (int i = 0; i < n; i++)
        if (settings->law == TD_LAW_MOONEY_RIVLIN)
            u[i] *= factor;
        else if (i % 2 == 0)
            u[i] += log(factor);
}

bool td_fit_compile(const tdFitSettings *settings, const double *p, tdSceneMaterial *material, double *parameters)
{
    int n = td_fit_parameters(settings->law, settings->terms);
    *material = (tdSceneMaterial){.law = settings->law, .young = NAN, .poisson = settings->poisson, .bulk = NAN};
    // The volume is held by the response itself; any ratio below 1/2 will do.
    if (settings->incompressible)
        material->poisson = TD_FIT_POISSON;
    for (int i = 0; i < TD_LAW_VALUES; i++)
        material->value[i] = NAN;
    if (is_engineering(settings->law))
        material->young = p[0];
    else
        memcpy(material->value, p, (size_t)n * sizeof *p);
    material->n_terms = settings->law == TD_LAW_OGDEN ? settings->terms : 0;
    return td_law(settings->law)->parameters(material, NULL, parameters, NULL) == TD_OK;
}

// ---------------------------------------------------------------- scene

static void append_pressure(tdText *out, double pascal)
{
    static const char *const prefix[] = {"", "k", "M", "G"};
    int k = 0;
    while (k < 3 && fabs(pascal) >= 1000)
    {
        pascal /= 1000;
        k++;
    }
    td_text_format(out, "%.7g %sPa", pascal, prefix[k]);
}

void td_fit_snippet(const tdFit *fit, tdText *out)
{
    int n = laws[fit->settings.law].n;
    bool ogden = fit->settings.law == TD_LAW_OGDEN;
    td_text_format(out, "law: %s", td_law(fit->settings.law)->name);
    if (ogden)
        td_text_format(out, ", terms: [");
    for (int i = 0; i < fit->n; i++)
    {
        const char *open = !ogden ? ", " : i == 0 ? "{" : i % n == 0 ? ", {" : ", ";
        td_text_format(out, "%s%s: ", open, fit->names[i % n]);
        if (laws[fit->settings.law].modulus[i % n])
            append_pressure(out, fit->value[i]);
        else
            td_text_format(out, "%.7g", fit->value[i]);
        if (ogden && i % n == n - 1)
            td_text_format(out, "}");
    }
    td_text_format(out, "%s, poisson: %.7g", ogden ? "]" : "", fit->material.poisson);
}
