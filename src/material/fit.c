// SPDX-License-Identifier: Apache-2.0
#include "material/fit.h"

#include "material/fit_law.h"
#include "material/least_squares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST       TD_FIT_PARAMETERS
#define ITERATIONS 400
#define THINNED    300  // points with which the starts are followed when there are more
#define KEPT       6    // starts that are followed to the end
#define DIFFERENCE 1e-5 // central differences: their error, about h^2, only slows the last digits

typedef struct Problem
{
    const tdFitData *data;
    tdFitSettings settings;
    int n, k;      // points, parameters
    int n_first;   // points in front that stand for all
    double S;      // largest stress, the unit of residuals
    double strain; // largest I1 - 3 at constant volume
    double low[MOST], high[MOST];
    double *weight; // 1 / w by point
    double *plus, *minus;
    double *A; // n x (k + 1): derivatives and residual
} Problem;

typedef struct Candidate
{
    double u[MOST], cost;
    int iterations;
    bool converged;
} Candidate;

// ---------------------------------------------------------------- the model

// Weighted residuals at the parameters p. False where the law has no answer.
static bool residuals(const Problem *q, const tdFitSettings *settings, const double *p, double *r)
{
    tdSceneMaterial material;
    double parameters[TD_LAW_PARAMETERS];
    if (!td_fit_compile(settings, p, &material, parameters))
        return false;
    tdSpecimen specimen = {td_law(settings->law), parameters, settings->incompressible};
    if (!td_responses(&specimen, q->n, q->data->test, q->data->x, r))
        return false;
    for (int i = 0; i < q->n; i++)
        r[i] = q->weight[i] * (r[i] - q->data->stress[i]);
    return true;
}

static double square(int n, const double *r)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += r[i] * r[i];
    return sum;
}

static bool cost_at(const Problem *q, const double *u, double *r, double *cost)
{
    double p[MOST];
    td_fit_publish(&q->settings, q->S, u, p);
    *cost = HUGE_VAL;
    if (!residuals(q, &q->settings, p, r))
        return false;
    *cost = square(q->n, r);
    return isfinite(*cost);
}

// ---------------------------------------------------------------- Levenberg-Marquardt

// Triangle of the derivatives by u with the residual as last column, into the first k rows of q->A.
static bool linearize(const Problem *q, const double *u, const double *r)
{
    int stride = q->k + 1;
    double moved[MOST], cost;
    memcpy(moved, u, sizeof moved);
    for (int j = 0; j < q->k; j++)
    {
        double h = DIFFERENCE * fmax(1, fabs(u[j]));
        moved[j] = fmin(u[j] + h, q->high[j]);
        double up = moved[j];
        if (!cost_at(q, moved, q->plus, &cost))
            return false;
        moved[j] = fmax(u[j] - h, q->low[j]);
        if (!cost_at(q, moved, q->minus, &cost))
            return false;
        for (int i = 0; i < q->n; i++)
            q->A[i * stride + j] = (q->plus[i] - q->minus[i]) / (up - moved[j]);
        moved[j] = u[j];
    }
    for (int i = 0; i < q->n; i++)
        q->A[i * stride + q->k] = r[i];
    td_triangulate(q->n, q->k + 1, stride, q->A);
    return true;
}

// Coordinates at a bound that the descent would leave.
static void hold(const Problem *q, const double *u, bool *held)
{
    int stride = q->k + 1;
    for (int j = 0; j < q->k; j++)
    {
        double gradient = 0;
        for (int i = 0; i <= j; i++)
            gradient += q->A[i * stride + j] * q->A[i * stride + q->k];
        held[j] = (u[j] <= q->low[j] && gradient >= 0) || (u[j] >= q->high[j] && gradient <= 0);
    }
}

// Tries steps of growing damping until one lowers the cost. False when none does: this is the minimum.
static bool advance(const Problem *q, Candidate *c, double *lambda, double *r, double *moved)
{
    double d[MOST], trial[MOST], cost;
    bool held[MOST];
    hold(q, c->u, held);
    for (; *lambda < 1e14; *lambda *= 10)
    {
        td_damped_step(q->k, q->A, held, *lambda, d);
        *moved = 0;
        for (int j = 0; j < q->k; j++)
        {
            // A step of more than e^2 in a modulus says more about the linearization than about the data.
            trial[j] = fmin(fmax(c->u[j] + fmin(fmax(d[j], -2), 2), q->low[j]), q->high[j]);
            *moved = fmax(*moved, fabs(trial[j] - c->u[j]) / fmax(1, fabs(c->u[j])));
        }
        if (cost_at(q, trial, r, &cost) && cost < c->cost)
        {
            memcpy(c->u, trial, sizeof trial);
            c->cost = cost;
            *lambda = fmax(*lambda * 0.1, 1e-14);
            return true;
        }
        if (*moved < 1e-11) // what is left is rounding
            return false;
    }
    return false;
}

static void minimize(const Problem *q, double *r, Candidate *c)
{
    double lambda = 1e-3, moved;
    if (!cost_at(q, c->u, r, &c->cost))
        return;
    for (c->iterations = 1; c->iterations <= ITERATIONS; c->iterations++)
    {
        double before = c->cost;
        if (!linearize(q, c->u, r))
            return;
        if (!advance(q, c, &lambda, r, &moved) || (moved < 1e-9 && before - c->cost <= 1e-12 * before))
        {
            c->converged = true;
            return;
        }
    }
}

// ---------------------------------------------------------------- starts

static void keep_best(Candidate *list, int *n, const Candidate *c)
{
    int at = *n < KEPT ? (*n)++ : KEPT;
    while (at > 0 && c->cost < list[at - 1].cost)
    {
        if (at < KEPT)
            list[at] = list[at - 1];
        at--;
    }
    if (at < KEPT)
        list[at] = *c;
}

// Stresses are proportional to the moduli, so their common scale is a linear problem.
static void scaled_starts(const Problem *q, double *r, Candidate *list, int *n)
{
    Candidate c;
    for (int i = 0; td_fit_start(&q->settings, q->strain, i, c.u); i++)
    {
        c = (Candidate){.cost = HUGE_VAL, .u = {c.u[0], c.u[1]}};
        double cost, above = 0, below = 0;
        if (!cost_at(q, c.u, r, &cost))
            continue;
        for (int k = 0; k < q->n; k++)
        {
            double measured = q->weight[k] * q->data->stress[k], model = r[k] + measured;
            above += model * measured;
            below += model * model;
        }
        if (above > 0 && below > 0)
            td_fit_scale(&q->settings, above / below, c.u);
        cost_at(q, c.u, r, &c.cost);
        keep_best(list, n, &c);
    }
}

static const double exponents[] = {-9, -5, -3, -1.5, 1, 2, 3, 4.5, 7, 11};
enum
{
    N_EXPONENTS = sizeof exponents / sizeof exponents[0]
};

// Least squares for the weights of chosen columns of the Gram matrix; those below `least` are raised to it.
static double solve_weights(const double G[N_EXPONENTS + 1][N_EXPONENTS + 1], int m, const int *chosen, double *w)
{
    double A[MOST][MOST + 1], cost = G[N_EXPONENTS][N_EXPONENTS];
    for (int i = 0; i < m; i++)
    {
        for (int j = 0; j < m; j++)
            A[i][j] = G[chosen[i]][chosen[j]] * (i == j ? 1 + 1e-9 : 1);
        A[i][m] = G[chosen[i]][N_EXPONENTS];
    }
    for (int i = 0; i < m; i++)
        for (int k = i + 1; k < m; k++)
        {
            double factor = A[k][i] / A[i][i];
            for (int j = i; j <= m; j++)
                A[k][j] -= factor * A[i][j];
        }
    for (int i = m - 1; i >= 0; i--)
    {
        w[i] = A[i][m];
        for (int j = i + 1; j < m; j++)
            w[i] -= A[i][j] * w[j];
        w[i] /= A[i][i];
    }
    for (int i = 0; i < m; i++)
    {
        double least = 1e-3 * sqrt(G[N_EXPONENTS][N_EXPONENTS] / G[chosen[i]][chosen[i]]);
        w[i] = w[i] > least ? w[i] : least;
    }
    for (int i = 0; i < m; i++)
    {
        cost -= 2 * w[i] * G[chosen[i]][N_EXPONENTS];
        for (int j = 0; j < m; j++)
            cost += w[i] * w[j] * G[chosen[i]][chosen[j]];
    }
    return cost;
}

// Ogden: every choice of exponents from a list, with the best moduli for each.
static bool ogden_starts(const Problem *q, Candidate *list, int *n)
{
    tdFitSettings one = q->settings;
    one.terms = 1;
    double G[N_EXPONENTS + 1][N_EXPONENTS + 1];
    double *columns = td_take((size_t)q->n * (N_EXPONENTS + 1), sizeof *columns);
    if (columns == NULL)
        return false;
    for (int e = 0; e <= N_EXPONENTS; e++)
        for (int i = 0; i < q->n; i++)
            columns[e * q->n + i] = q->weight[i] * q->data->stress[i];
    for (int e = 0; e < N_EXPONENTS; e++)
    {
        double p[2] = {q->S, exponents[e]}, *column = columns + (ptrdiff_t)e * q->n;
        if (!residuals(q, &one, p, q->plus))
            memset(q->plus, 0, (size_t)q->n * sizeof(double));
        for (int i = 0; i < q->n; i++)
            column[i] += q->plus[i];
    }
    for (int a = 0; a <= N_EXPONENTS; a++)
        for (int b = 0; b <= N_EXPONENTS; b++)
        {
            G[a][b] = 0;
            for (int i = 0; i < q->n; i++)
                G[a][b] += columns[a * q->n + i] * columns[b * q->n + i];
        }
    free(columns);
    for (unsigned set = 0; set < 1U << N_EXPONENTS; set++)
    {
        int chosen[N_EXPONENTS], m = 0;
        for (int e = 0; e < N_EXPONENTS; e++)
            if (set >> e & 1U)
                chosen[m++] = e;
        if (m != q->settings.terms)
            continue;
        double w[MOST];
        Candidate c = {.cost = solve_weights(G, m, chosen, w)};
        for (int i = 0; i < m; i++)
        {
            c.u[2 * i] = log(w[i]);
            c.u[2 * i + 1] = exponents[chosen[i]];
        }
        if (isfinite(c.cost))
            keep_best(list, n, &c);
    }
    return true;
}

// ---------------------------------------------------------------- statistics

// Derivatives by the free parameters, in units of the parameters themselves, made triangular in q->A.
static bool linearize_parameters(const Problem *q, const tdFit *fit, int n_free, const int *map)
{
    double p[MOST];
    memcpy(p, fit->value, sizeof p);
    for (int c = 0; c < n_free; c++)
    {
        int j = map[c];
        p[j] = fit->value[j] * (1 + DIFFERENCE);
        if (!residuals(q, &q->settings, p, q->plus))
            return false;
        p[j] = fit->value[j] * (1 - DIFFERENCE);
        if (!residuals(q, &q->settings, p, q->minus))
            return false;
        p[j] = fit->value[j];
        for (int i = 0; i < q->n; i++)
            q->A[i * n_free + c] = (q->plus[i] - q->minus[i]) / (2 * DIFFERENCE);
    }
    td_triangulate(q->n, n_free, n_free, q->A);
    return true;
}

// Intervals from the inverse of the triangle: covariance = sigma^2 R^-1 R^-T.
static void intervals(const Problem *q, double rss, tdFit *fit)
{
    int map[MOST], n = 0;
    double X[MOST][MOST] = {0}, *R = q->A;
    for (int j = 0; j < fit->n; j++)
    {
        fit->half[j] = NAN;
        if (!fit->at_bound[j])
            map[n++] = j;
    }
    fit->dof = q->n - n;
    if (n == 0 || !linearize_parameters(q, fit, n, map))
        return;
    for (int j = 0; j < n; j++)
    {
        double norm = 0;
        for (int i = 0; i <= j; i++)
            norm += R[i * n + j] * R[i * n + j];
        if (!(fabs(R[j * n + j]) > 1e-9 * sqrt(norm)))
        {
            fit->correlation = n > 1 ? 1 : 0; // what is left of the column is rounding: the data do not tell
            fit->correlated[0] = map[0];
            fit->correlated[1] = map[j];
            return;
        }
        X[j][j] = 1 / R[j * n + j];
        for (int i = j - 1; i >= 0; i--)
        {
            double sum = 0;
            for (int k = i + 1; k <= j; k++)
                sum -= R[i * n + k] * X[k][j];
            X[i][j] = sum / R[i * n + i];
        }
    }
    double sigma = sqrt(rss / fit->dof), t = td_student_95(fit->dof), C[MOST][MOST] = {0};
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += X[i][k] * X[j][k];
    for (int i = 0; i < n; i++)
    {
        fit->half[map[i]] = t * sigma * sqrt(C[i][i]) * fabs(fit->value[map[i]]);
        for (int j = 0; j < i; j++)
        {
            double correlation = C[i][j] / sqrt(C[i][i] * C[j][j]);
            if (fabs(correlation) > fabs(fit->correlation))
            {
                fit->correlation = correlation;
                fit->correlated[0] = map[j];
                fit->correlated[1] = map[i];
            }
        }
    }
}

static void quality(const Problem *q, const double *r, tdFit *fit)
{
    double mean = 0, total = 0, error = 0, rss = square(q->n, r);
    for (int i = 0; i < q->n; i++)
        mean += q->data->stress[i] / q->n;
    for (int i = 0; i < q->n; i++)
    {
        double e = r[i] / q->weight[i], d = q->data->stress[i] - mean;
        error += e * e;
        total += d * d;
        fit->worst = fmax(fit->worst, fabs(e));
    }
    fit->r2 = total > 0 ? 1 - error / total : NAN;
    fit->rms = sqrt(error / q->n);
    // Below the rounding of the data a smaller residual means nothing.
    double n = q->n, k = fit->n + 1, floor = 1e-30 * n;
    fit->aic = n - k - 1 > 0 ? n * log(fmax(rss, floor) / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1) : HUGE_VAL;
    intervals(q, rss, fit);
}

// ---------------------------------------------------------------- the fit

static tdStatus check(const tdFitData *data, const tdFitSettings *s, int k, tdError *error)
{
    const tdLaw *law = td_law(s->law);
    if (k == 0)
        return td_fail(error, TD_ERROR_INPUT,
                       "the law cannot be fitted to these tests; it has fibres, or this build does not have it");
    if (s->law == TD_LAW_OGDEN && (s->terms < 1 || s->terms > TD_OGDEN_TERMS))
        return td_fail(error, TD_ERROR_USAGE, "an Ogden law has 1 to %d terms, not %d", TD_OGDEN_TERMS, s->terms);
    if (s->incompressible && !law->split)
        return td_fail(error, TD_ERROR_INPUT, "the law %s has no incompressible form; give a Poisson's ratio",
                       law->name);
    if (!s->incompressible && !(s->poisson > -1 && s->poisson < 0.5))
        return td_fail(error, TD_ERROR_INPUT, "Poisson's ratio is %g, must be > -1 and < 0.5", s->poisson);
    if (data->n <= k)
        return td_fail(error, TD_ERROR_INPUT,
                       "%d points for the %d parameters of %s; more points than parameters "
                       "are needed",
                       data->n, k, law->name);
    return TD_OK;
}

// I1 - 3 of a test at constant volume.
static double strain_of(tdTest test, double x)
{
    switch (test)
    {
    case TD_TEST_UNIAXIAL: return x * x + 2 / x - 3;
    case TD_TEST_BIAXIAL: return 2 * x * x + 1 / (x * x * x * x) - 3;
    case TD_TEST_PLANAR: return x * x + 1 / (x * x) - 2;
    default: return x * x;
    }
}

static tdStatus weigh(Problem *q, tdError *error)
{
    const tdFitData *data = q->data;
    double largest[TD_TESTS] = {0};
    for (int i = 0; i < q->n; i++)
    {
        largest[data->test[i]] = fmax(largest[data->test[i]], fabs(data->stress[i]));
        q->strain = fmax(q->strain, strain_of(data->test[i], data->x[i]));
    }
    bool strained = q->strain > 0;
    for (int t = 0; t < TD_TESTS; t++)
    {
        q->S = fmax(q->S, largest[t]);
        if (q->settings.relative && data->count[t] > 0 && largest[t] == 0)
            return td_fail(error, TD_ERROR_INPUT, "all stresses of the %s test are zero: no relative error",
                           td_test_name((tdTest)t));
    }
    if (!(q->S > 0) || !strained)
        return td_fail(error, TD_ERROR_INPUT, "%s; there is nothing to fit",
                       strained ? "all stresses are zero" : "no point is away from rest");
    if (!(q->S > 1e-100 && q->S < 1e100))
        return td_fail(error, TD_ERROR_INPUT,
                       "the largest stress is %g Pa, more than any machine measures; check its unit", q->S);
    for (int i = 0; i < q->n; i++)
        q->weight[i] = 1 / (q->settings.relative ? fmax(fabs(data->stress[i]), 0.01 * largest[data->test[i]]) : q->S);
    return TD_OK;
}

// Ogden's terms by the stiffness they add, so that the order does not depend on the start.
static void sort_terms(Candidate *c, int terms)
{
    for (int i = 1; i < terms; i++)
        for (int j = i; j > 0 && c->u[2 * j] > c->u[2 * j - 2]; j--)
            for (int k = 0; k < 2; k++)
            {
                double kept = c->u[2 * j + k];
                c->u[2 * j + k] = c->u[2 * j - 2 + k];
                c->u[2 * j - 2 + k] = kept;
            }
}

static void describe(const Problem *q, tdFit *fit)
{
    double shear, bulk;
    tdSpecimen specimen = td_fit_specimen(fit);
    td_response_moduli(&specimen, &shear, &bulk);
    fit->poisson = q->settings.incompressible ? 0.5 : (3 * bulk - 2 * shear) / (2 * (3 * bulk + shear));
    fit->young = 2 * shear * (1 + fit->poisson);
    for (int t = 0; t < TD_TESTS; t++)
        td_response_stable(&specimen, (tdTest)t, fit->stable[t]);
}

// A scene cannot hold the volume exactly. The least Poisson's ratio of a few whose stresses stay within 1 % of the
// incompressible ones at the measured points.
static void choose_poisson(const Problem *q, tdFit *fit)
{
    static const double ratios[] = {TD_FIT_POISSON, 0.495, 0.499, 0.4995, 0.4999};
    tdSpecimen held = td_fit_specimen(fit);
    if (!td_responses(&held, q->n, q->data->test, q->data->x, q->plus))
        return;
    for (int k = 0; k < (int)(sizeof ratios / sizeof ratios[0]); k++)
    {
        tdFitSettings settings = q->settings;
        tdSceneMaterial material;
        double parameters[TD_LAW_PARAMETERS], off = 0;
        settings.incompressible = false;
        settings.poisson = fit->material.poisson = ratios[k];
        tdSpecimen free = {held.law, parameters, false};
        if (!td_fit_compile(&settings, fit->value, &material, parameters) ||
            !td_responses(&free, q->n, q->data->test, q->data->x, q->minus))
            continue;
        for (int i = 0; i < q->n; i++)
            off += (q->plus[i] - q->minus[i]) * (q->plus[i] - q->minus[i]);
        fit->volume_error = sqrt(off / square(q->n, q->plus));
        if (fit->volume_error <= 0.01)
            return;
    }
}

static tdStatus search(Problem *q, double *r, tdFit *fit, tdError *error)
{
    TD_TRY(weigh(q, error));
    td_fit_bounds(&q->settings, q->strain, q->low, q->high);
    Candidate list[KEPT], best = {.cost = HUGE_VAL};
    int n = 0, n_all = q->n;
    q->n = q->n_first;
    if (q->settings.law != TD_LAW_OGDEN)
        scaled_starts(q, r, list, &n);
    else if (!ogden_starts(q, list, &n))
        return td_fail_memory(error, "the fit");
    for (int i = 0; i < n; i++)
    {
        minimize(q, r, &list[i]);
        if (list[i].cost < best.cost)
            best = list[i];
    }
    q->n = n_all;
    if (q->n_first < n_all && isfinite(best.cost))
    {
        best.cost = HUGE_VAL;
        minimize(q, r, &best);
    }
    if (!isfinite(best.cost))
        return td_fail(error, TD_ERROR_NUMERIC,
                       "the law %s has no solution at some of these points from any start; leave out the farthest "
                       "points or use another law",
                       td_law(q->settings.law)->name);
    if (q->settings.law == TD_LAW_OGDEN)
        sort_terms(&best, q->settings.terms);
    fit->converged = best.converged;
    fit->iterations = best.iterations;
    td_fit_publish(&q->settings, q->S, best.u, fit->value);
    for (int j = 0; j < q->k; j++)
        fit->at_bound[j] = best.u[j] <= q->low[j] || best.u[j] >= q->high[j];
    td_fit_compile(&q->settings, fit->value, &fit->material, fit->parameters);
    residuals(q, &q->settings, fit->value, r);
    quality(q, r, fit);
    describe(q, fit);
    if (q->settings.incompressible)
        choose_poisson(q, fit);
    return TD_OK;
}

// Copies the points so that every so manyth of each test stands in front; returns how many do.
static int thin(const tdFitData *from, tdFitData *to)
{
    int step = (from->n + THINNED - 1) / THINNED, n = 0, first = 0;
    for (int pass = 0; pass < 2; pass++)
    {
        int seen[TD_TESTS] = {0};
        for (int i = 0; i < from->n; i++)
        {
            if ((seen[from->test[i]]++ % step == 0) != (pass == 0))
                continue;
            to->test[n] = from->test[i];
            to->x[n] = from->x[i];
            to->stress[n++] = from->stress[i];
        }
        first = pass == 0 ? n : first;
    }
    return first;
}

tdStatus td_fit(const tdFitData *data, const tdFitSettings *settings, tdFit *fit, tdError *error)
{
    tdFitData points = *data;
    Problem q = {.data = &points, .settings = *settings, .n = data->n};
    q.k = td_fit_parameters(settings->law, settings->terms);
    *fit = (tdFit){.settings = *settings, .n = q.k, .names = td_fit_names(settings->law)};
    TD_TRY(check(data, settings, q.k, error));
    double *memory = td_take((size_t)q.n * (size_t)(q.k + 7), sizeof *memory);
    points.test = td_take((size_t)q.n, sizeof *points.test);
    tdStatus status = TD_OK;
    if (memory == NULL || points.test == NULL)
        status = td_fail_memory(error, "the fit");
    else
    {
        q.weight = memory;
        q.plus = memory + q.n;
        q.minus = memory + (ptrdiff_t)2 * q.n;
        points.x = memory + (ptrdiff_t)3 * q.n;
        points.stress = memory + (ptrdiff_t)4 * q.n;
        double *r = memory + (ptrdiff_t)5 * q.n;
        q.A = memory + (ptrdiff_t)6 * q.n;
        q.n_first = thin(data, &points);
        status = search(&q, r, fit, error);
    }
    free(points.test);
    free(memory);
    return status;
}

tdSpecimen td_fit_specimen(const tdFit *fit)
{
    return (tdSpecimen){td_law(fit->settings.law), fit->parameters, fit->settings.incompressible};
}
