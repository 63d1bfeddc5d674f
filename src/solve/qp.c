// SPDX-License-Identifier: Apache-2.0
// From a user's problem to a scaled one and back: unknowns such that the columns of the objective have length near 1,
// rows of C likewise, all by powers of two, which round nothing. A start that violates rows is first moved to where it
// violates them least: min 1/2 |C x - s|² over x in its box and s in [cl, cu], a problem of the same kind with bounds
// alone; what then remains violated is unique, and its rows are relaxed to it.
#include "solve/qp.h"

#include "solve/active_set.h"
#include "solve/dense.h"

#include <assert.h>
#include <string.h>

#define MET          1e-9  // relative violation of a row that counts as met
#define PIVOT        1e-13 // of a scaled H, times n: below it, rounding
#define RANK         1e-7  // of R from such an H, the root of that
#define RANK_SQUARES 1e-11 // of R as given

struct tdQpWork
{
    int n, m;
    tdActiveSet main, feasible; // the problem; the one of least violation
    double *H, *g, *q, *chol;
    double *unit, *row; // x = unit * scaled x; scaled row = row * C * unit
    double *unit_feasible, *zero, *keep;
};

tdQpWork *td_qp_work(tdArena *arena, int n, int m)
{
    assert(n >= 0 && m >= 0);
    size_t un = (size_t)n;
    tdQpWork *w = TD_TAKE(arena, tdQpWork, 1);
    if (w == NULL || n > 10000 || m > 10000 || !td_active_set_take(&w->main, arena, n, m, n) ||
        !td_active_set_take(&w->feasible, arena, n + m, 0, m))
        return NULL;
    w->n = n;
    w->m = m;
    w->H = TD_TAKE(arena, double, un *un + 1);
    w->chol = TD_TAKE(arena, double, un *un + 1);
    w->g = TD_TAKE(arena, double, 4 * un + 1);
    w->row = TD_TAKE(arena, double, 2 * (size_t)m + 1);
    if (w->H == NULL || w->chol == NULL || w->g == NULL || w->row == NULL)
        return NULL;
    w->q = w->g + n;
    w->unit = w->q + n;
    w->keep = w->unit + n;
    w->zero = w->row + m;
    w->unit_feasible = TD_TAKE(arena, double, un + 1);
    return w->unit_feasible != NULL ? w : NULL;
}

// ---------------------------------------------------------------- scaling

static bool bounds_usable(const double *low, const double *high, int n)
{
    for (int i = 0; i < n; i++)
        if (isnan(low[i]) || isnan(high[i]) || low[i] == INFINITY || high[i] == -INFINITY)
            return false;
    return true;
}

// Where neither objective nor range measures an unknown, rows do: it counts in them as much as the others, at most.
static double unit_by_rows(const tdQp *qp, int unknown, const double *unit)
{
    int n = qp->n;
    double least = INFINITY, longest = 0;
    for (int i = 0; i < qp->m; i++)
    {
        double others = 0, own = fabs(qp->C[i * n + unknown]);
        for (int j = 0; j < n; j++)
            if (qp->xl[j] < qp->xu[j])
                others = fmax(others, fabs(qp->C[i * n + j]) * unit[j]);
        longest = fmax(longest, own);
        if (own > 0 && others > 0)
            least = fmin(least, others / own);
    }
    return least < INFINITY ? td_power_of_two(least) : longest > 0 ? 1 / td_power_of_two(longest) : 1;
}

// Column lengths of the objective in, units out. An unknown that the objective does not see is measured by its range.
static void choose_units(const double *length, const tdQp *qp, double *unit)
{
    int n = qp->n;
    double longest = td_largest(length, n);
    for (int j = 0; j < n; j++)
    {
        double range = qp->xu[j] - qp->xl[j];
        unit[j] = length[j] > 1e-14 * longest     ? 1 / td_power_of_two(length[j])
                  : range > 0 && range < INFINITY ? td_power_of_two(range)
                                                  : 0;
    }
    for (int j = 0; j < n; j++)
        if (unit[j] == 0)
            unit[j] = unit_by_rows(qp, j, unit);
}

// Bounds that cross are met halfway. Returns half of how far they do.
static double scale_bounds(const double *low, const double *high, int n, const double *unit, bool by_row, double *lo,
                           double *hi)
{
    double crossed = 0;
    for (int j = 0; j < n; j++)
    {
        double s = by_row ? unit[j] : 1 / unit[j], a = low[j], b = high[j];
        if (a > b)
        {
            crossed = fmax(crossed, 0.5 * (a - b));
            a = b = 0.5 * (a + b);
        }
        lo[j] = a * s;
        hi[j] = b * s;
    }
    return crossed;
}

static double scale_constraints(tdQpWork *w, const tdQp *qp)
{
    tdActiveSet *s = &w->main;
    int n = qp->n, m = qp->m;
    double crossed = scale_bounds(qp->xl, qp->xu, n, w->unit, false, s->lo, s->hi);
    for (int i = 0; i < m; i++)
    {
        double *row = s->C + i * n;
        for (int j = 0; j < n; j++)
            row[j] = qp->C[i * n + j] * w->unit[j];
        // Unknowns that are fixed only shift a row, unless all that it has beside them is rounding.
        double length = 0, whole = td_norm(row, n);
        for (int j = 0; j < n; j++)
            length += qp->xl[j] < qp->xu[j] ? row[j] * row[j] : 0;
        length = sqrt(length) > 1e-11 * whole ? sqrt(length) : whole;
        w->row[i] = length > 0 && length < INFINITY ? 1 / td_power_of_two(length) : 1;
        for (int j = 0; j < n; j++)
            row[j] *= w->row[i];
    }
    return fmax(crossed, scale_bounds(qp->cl, qp->cu, m, w->row, true, s->lo + n, s->hi + n));
}

static void scale_objective(tdQpWork *w, const tdQp *qp)
{
    tdActiveSet *s = &w->main;
    int n = qp->n;
    for (int j = 0; j < n; j++)
        w->keep[j] = sqrt(fmax(0, qp->H[j * n + j]));
    choose_units(w->keep, qp, w->unit);
    for (int i = 0; i < n; i++)
    {
        for (int j = 0; j < n; j++)
            w->H[i * n + j] = qp->H[i * n + j] * w->unit[i] * w->unit[j];
        w->g[i] = qp->g[i] * w->unit[i];
    }
    s->k = td_pivoted_cholesky(w->H, n, w->chol, w->keep, PIVOT * n);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < s->k; i++)
            s->R[j * s->k + i] = w->chol[i * n + j];
    s->q = NULL;
    s->H = w->H;
    s->g = w->g;
    s->rank_tolerance = RANK;
}

static void scale_squares(tdQpWork *w, const tdQp *qp, int k, const double *R, const double *q)
{
    tdActiveSet *s = &w->main;
    int n = qp->n;
    for (int j = 0; j < n; j++)
    {
        for (int i = 0; i < k; i++)
            s->R[j * k + i] = R[i * n + j];
        w->keep[j] = td_norm(s->R + j * k, k);
    }
    choose_units(w->keep, qp, w->unit);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < k; i++)
            s->R[j * k + i] *= w->unit[j];
    memcpy(w->q, q, (size_t)k * sizeof *q);
    s->k = k;
    s->q = w->q;
    s->rank_tolerance = RANK_SQUARES;
}

// ---------------------------------------------------------------- start

static double clip(double x, double lo, double hi)
{
    return fmin(fmax(x, lo), hi);
}

// x in its box and the working set at it.
static void start(tdQpWork *w, const tdQpSolution *out, bool warm)
{
    tdActiveSet *s = &w->main;
    int n = s->n;
    for (int j = 0; j < n; j++)
    {
        double from = warm && isfinite(out->x[j]) ? out->x[j] / w->unit[j] : 0;
        s->x[j] = clip(from, s->lo[j], s->hi[j]);
    }
    for (int j = 0; j < n + s->m; j++)
    {
        int held = warm ? out->active[j] : j < n && s->x[j] != 0 ? (s->x[j] == s->lo[j] ? -1 : 1) : 0;
        if (s->lo[j] == s->hi[j])
            held = -1;
        bool can = held < 0 ? s->lo[j] > -INFINITY : held > 0 && s->hi[j] < INFINITY;
        s->state[j] = (signed char)(can ? (held < 0 ? -1 : 1) : 0);
    }
}

// The minimum on the warm working set, if that is feasible; otherwise back, with the part of it that holds at x.
static bool try_working_set(tdQpWork *w)
{
    tdActiveSet *s = &w->main;
    int n = s->n;
    memcpy(w->keep, s->x, (size_t)n * sizeof *s->x);
    for (int j = 0; j < n; j++)
        if (s->state[j] != 0)
            s->x[j] = s->state[j] < 0 ? s->lo[j] : s->hi[j];
    if (td_active_set_jump(s))
        return true;
    memcpy(s->x, w->keep, (size_t)n * sizeof *s->x);
    for (int j = 0; j < n; j++)
        if (s->state[j] != 0 && s->x[j] != (s->state[j] < 0 ? s->lo[j] : s->hi[j]))
            s->state[j] = 0;
    return false;
}

// Rows held although y is not at their bound would be reached by a step that no ratio test has seen.
static void release_distant_rows(tdActiveSet *s)
{
    double size = td_largest(s->x, s->n);
    for (int i = 0; i < s->m; i++)
    {
        int j = s->n + i;
        double bound = s->state[j] < 0 ? s->lo[j] : s->hi[j];
        if (s->state[j] != 0 && fabs(s->y[i] - bound) > 1e-12 * fmax(size, fabs(bound)))
            s->state[j] = 0;
    }
}

// min 1/2 |C x - s|². False where the bound on iterations stopped it.
static bool least_violation(tdQpWork *w)
{
    tdActiveSet *s = &w->main, *f = &w->feasible;
    int n = s->n, m = s->m;
    f->n = n + m;
    f->m = 0;
    f->k = m;
    f->q = w->zero;
    f->rank_tolerance = RANK_SQUARES;
    f->iterations = s->iterations;
    f->max_iterations = s->max_iterations;
    for (int j = 0; j < n; j++)
    {
        for (int i = 0; i < m; i++)
            f->R[j * m + i] = s->C[i * n + j];
        w->keep[j] = td_norm(f->R + j * m, m);
    }
    for (int j = 0; j < n; j++)
    {
        double unit = w->unit_feasible[j] = w->keep[j] > 0 ? 1 / td_power_of_two(w->keep[j]) : 1;
        for (int i = 0; i < m; i++)
            f->R[j * m + i] *= unit;
        f->lo[j] = s->lo[j] / unit;
        f->hi[j] = s->hi[j] / unit;
        f->x[j] = s->x[j] / unit;
        f->state[j] = s->state[j];
    }
    memset(f->R + n * m, 0, (size_t)m * (size_t)m * sizeof *f->R);
    for (int i = 0; i < m; i++)
    {
        double lo = f->lo[n + i] = s->lo[n + i], hi = f->hi[n + i] = s->hi[n + i];
        f->R[(n + i) * m + i] = -1;
        f->x[n + i] = clip(s->y[i], lo, hi);
        f->state[n + i] = (signed char)(s->y[i] < lo || lo == hi ? -1 : s->y[i] > hi ? 1 : 0);
    }
    tdQpStatus status = td_active_set_solve(f);
    s->iterations = f->iterations;
    for (int j = 0; j < n; j++)
    {
        s->x[j] = f->x[j] * w->unit_feasible[j];
        s->state[j] = f->state[j];
    }
    memcpy(s->state + n, f->state + n, (size_t)m * sizeof *s->state);
    return status == TD_QP_OPTIMAL;
}

// Bounds of rows give way to where they cannot be met.
static void relax_rows(tdActiveSet *s)
{
    for (int i = 0; i < s->m; i++)
    {
        int j = s->n + i;
        if (s->y[i] < s->lo[j])
        {
            s->lo[j] = s->y[i];
            s->state[j] = -1;
        }
        else if (s->y[i] > s->hi[j])
        {
            s->hi[j] = s->y[i];
            s->state[j] = 1;
        }
    }
}

// ---------------------------------------------------------------- solution

static void report(const tdQpWork *w, const tdQp *qp, tdQpSolution *out)
{
    const tdActiveSet *s = &w->main;
    int n = qp->n, m = qp->m;
    for (int j = 0; j < n; j++)
    {
        bool crossed = qp->xl[j] > qp->xu[j];
        double x = s->x[j] * w->unit[j];
        out->x[j] = crossed ? x
                            : clip(s->state[j] < 0   ? qp->xl[j]
                                   : s->state[j] > 0 ? qp->xu[j]
                                                     : x,
                                   qp->xl[j], qp->xu[j]);
        out->z[j] = s->z[j] / w->unit[j];
    }
    memcpy(out->active, s->state, (size_t)(n + m) * sizeof *s->state);
    for (int i = 0; i < m; i++)
    {
        double y = td_dot(qp->C + i * n, out->x, n);
        out->violation = fmax(out->violation, fmax(qp->cl[i] - y, y - qp->cu[i]));
        out->z[n + i] = s->z[n + i] * w->row[i];
    }
}

// Numbers that are none, or that overflowed: nothing is known, x is in its box where it has one.
static void give_up(const tdQp *qp, tdQpSolution *out)
{
    out->status = TD_QP_ITERATIONS;
    out->violation = NAN;
    for (int j = 0; j < qp->n; j++)
    {
        out->x[j] = clip(0, qp->xl[j], qp->xu[j]);
        if (!isfinite(out->x[j]))
            out->x[j] = 0;
    }
    memset(out->active, 0, (size_t)(qp->n + qp->m) * sizeof *out->active);
    memset(out->z, 0, (size_t)(qp->n + qp->m) * sizeof *out->z);
}

static tdQpStatus solve_scaled(tdQpWork *w, const tdQpSolution *out, bool warm)
{
    tdActiveSet *s = &w->main;
    bool met = true;
    start(w, out, warm);
    if (!warm || !try_working_set(w))
    {
        if (td_active_set_excess(s, 1e-12) > 1)
        {
            if (!least_violation(w))
                return TD_QP_ITERATIONS;
            met = td_active_set_excess(s, MET) <= 1;
        }
        if (!met)
            relax_rows(s);
        release_distant_rows(s);
    }
    tdQpStatus status = td_active_set_solve(s);
    return status == TD_QP_OPTIMAL && !met ? TD_QP_INFEASIBLE : status;
}

static void solve(const tdQp *qp, int k, const double *R, const double *q, tdQpWork *w, bool warm, tdQpSolution *out)
{
    int n = qp->n, m = qp->m;
    assert(n >= 0 && m >= 0 && n <= w->n && m <= w->m && k <= n);
    out->iterations = 0;
    out->violation = 0;
    bool usable = R != NULL ? td_all_finite(R, (size_t)(k * n)) && td_all_finite(q, (size_t)(k))
                            : td_all_finite(qp->H, (size_t)(n * n)) && td_all_finite(qp->g, (size_t)(n));
    if (!usable || !td_all_finite(qp->C, (size_t)(m * n)) || !bounds_usable(qp->xl, qp->xu, n) ||
        !bounds_usable(qp->cl, qp->cu, m))
    {
        give_up(qp, out);
        return;
    }
    tdActiveSet *s = &w->main;
    s->n = n;
    s->m = m;
    s->iterations = 0;
    s->max_iterations = qp->max_iterations > 0 ? qp->max_iterations : 50 + 10 * (n + m);
    memset(s->z, 0, (size_t)(n + m) * sizeof *s->z);
    if (R != NULL)
        scale_squares(w, qp, k, R, q);
    else
        scale_objective(w, qp);
    double crossed = scale_constraints(w, qp);
    out->status = solve_scaled(w, out, warm);
    out->iterations = s->iterations;
    out->violation = crossed;
    report(w, qp, out);
    if (!td_all_finite(out->x, (size_t)(n)) || !td_all_finite(out->z, (size_t)(n + m)))
    {
        give_up(qp, out);
        return;
    }
    if (crossed > 0 && out->status == TD_QP_OPTIMAL)
        out->status = TD_QP_INFEASIBLE;
}

void td_qp_solve(const tdQp *qp, tdQpWork *work, bool warm, tdQpSolution *solution)
{
    solve(qp, 0, NULL, NULL, work, warm, solution);
}

void td_qp_solve_squares(const tdQp *qp, int k, const double *R, const double *q, tdQpWork *work, bool warm,
                         tdQpSolution *solution)
{
    solve(qp, k, R, q, work, warm, solution);
}
