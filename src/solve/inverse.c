// SPDX-License-Identifier: Apache-2.0
// See inverse.h and docs/theory/inverse.md. E is reduced once to R of its rank by QR with column pivoting, in units in
// which its columns have length near 1; everything after that costs the same for three effectors or three hundred.
#include "solve/inverse.h"

#include "solve/dense.h"
#include "solve/dual_set.h"

#include <assert.h>
#include <string.h>

#define RANK    1e-10 // directions in which E's image is shorter than this of a column's are its null space
#define SWEEPS  1000
#define SETTLED 1e-13 // moves of a sweep, in the effectors, relative to their errors

struct tdInverseWork
{
    int n_a, n_e, n_c;
    tdQpWork *qp;
    tdDualSet near;
    double *A, *tau, *length, *e; // scaled E and its QR; lengths of its columns; errors of the effectors
    double *R, *q;                // rank x n_a by rows, rank
    double *stack, *W;            // of s4: R over the root of eps W; the energy with what makes it definite
    double *rows, *low, *high;    // image held, then C, and their bounds
    double *z, *z_energy, *y, *t;
    double *x, *zero;
    signed char *active, *before; // of the second problem; of the last time
    // levels: rows of one, and C with the images of those before
    double *E, *e0, *C, *cl, *cu;
    signed char *all;
    int *order, *held;
    int rank;
};

tdInverseWork *td_inverse_work(tdArena *arena, int n_a, int n_e, int n_c)
{
    assert(n_a >= 0 && n_e >= 0 && n_c >= 0);
    size_t a = (size_t)n_a, e = (size_t)n_e, c = (size_t)n_c;
    tdInverseWork *w = TD_TAKE(arena, tdInverseWork, 1);
    if (w == NULL || n_a > 5000 || n_c > 5000)
        return NULL;
    struct
    {
        double **at;
        size_t count;
    } parts[] = {{&w->A, (e + 1) * (a + 1)},
                 {&w->tau, a},
                 {&w->length, a},
                 {&w->e, e},
                 {&w->R, a * a},
                 {&w->q, a},
                 {&w->stack, 2 * a * (a + 1)},
                 {&w->W, a * a},
                 {&w->rows, (2 * a + c) * a},
                 {&w->low, 2 * a + c},
                 {&w->high, 2 * a + c},
                 {&w->z, 2 * a + c},
                 {&w->z_energy, 3 * a + c},
                 {&w->y, a + c},
                 {&w->t, 3 * a + c},
                 {&w->x, a},
                 {&w->zero, a},
                 {&w->E, e * a},
                 {&w->e0, e},
                 {&w->C, (a + c) * a},
                 {&w->cl, a + c},
                 {&w->cu, a + c}};
    bool good = true;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        good = (*parts[i].at = TD_TAKE(arena, double, parts[i].count + 1)) != NULL && good;
    w->active = TD_TAKE(arena, signed char, 3 * a + c + 1);
    w->before = TD_TAKE(arena, signed char, 2 * a + c + 1);
    w->all = TD_TAKE(arena, signed char, 2 * a + c + 1);
    w->order = TD_TAKE(arena, int, a + 1);
    w->held = TD_TAKE(arena, int, a + c + 1);
    w->qp = td_qp_work(arena, n_a, 2 * n_a + n_c);
    w->n_a = n_a;
    w->n_e = n_e;
    w->n_c = n_c;
    good = good && w->all != NULL && w->active != NULL && w->before != NULL && w->order != NULL && w->held != NULL &&
           w->qp != NULL && td_dual_set_take(&w->near, arena, n_a, n_c);
    return good ? w : NULL;
}

// ---------------------------------------------------------------- reduction

// E = Q R: writes R, q = Q' e0, rank, lengths of columns. What e0 has outside E's range nobody can change.
static void reduce(const tdInverse *p, tdInverseWork *w)
{
    int n = p->n_a, e = p->n_e;
    for (int j = 0; j < n; j++)
    {
        double *column = w->A + (size_t)j * (size_t)e;
        for (int i = 0; i < e; i++)
            column[i] = p->E[(size_t)i * (size_t)n + (size_t)j];
        w->length[j] = td_norm(column, e);
        double unit = w->length[j] > 0 ? 1 / td_power_of_two(w->length[j]) : 1;
        for (int i = 0; i < e; i++)
            column[i] *= unit;
    }
    int rank = w->rank = td_pivoted_qr(w->A, e, n, e, w->tau, w->order, RANK);
    memcpy(w->e, p->e0, (size_t)e * sizeof *w->e);
    for (int j = 0; j < rank; j++)
        td_house_apply(w->A + j * e + j, w->tau[j], e - j, w->e + j);
    memcpy(w->q, w->e, (size_t)rank * sizeof *w->q);
    for (int j = 0; j < n; j++)
    {
        int at = w->order[j];
        double unit = w->length[at] > 0 ? td_power_of_two(w->length[at]) : 1;
        for (int i = 0; i < rank; i++)
            w->R[i * n + at] = i <= j ? w->A[j * e + i] * unit : 0;
    }
}

static tdQp constraints(const tdInverse *p)
{
    return (tdQp){.n = p->n_a,
                  .m = p->n_c,
                  .xl = p->xl,
                  .xu = p->xu,
                  .C = p->C,
                  .cl = p->cl,
                  .cu = p->cu,
                  .max_iterations = p->max_iterations};
}

// ---------------------------------------------------------------- null space

// The energy, made definite where it is not: an unknown that costs nothing then costs a little of what it moves.
static void definite_energy(const tdInverse *p, tdInverseWork *w)
{
    int n = p->n_a;
    double most = 0;
    for (int i = 0; i < n; i++)
        w->tau[i] = p->W[i * n + i] > 0 ? 1 / td_power_of_two(sqrt(p->W[i * n + i])) : 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            w->W[i * n + j] = p->W[i * n + j] * w->tau[i] * w->tau[j];
    int rank = td_pivoted_cholesky(w->W, n, w->stack, w->t, 1e-12 * n);
    memcpy(w->W, p->W, (size_t)n * (size_t)n * sizeof *w->W);
    if (rank == n)
        return;
    for (int j = 0; j < n; j++)
        if (w->length[j] > 0)
            most = fmax(most, p->W[j * n + j] / (w->length[j] * w->length[j]));
    for (int j = 0; j < n; j++)
    {
        double own = most > 0 ? most * w->length[j] * w->length[j] : w->length[j] * w->length[j];
        w->W[j * n + j] += 1e-9 * fmax(own, p->W[j * n + j]);
        if (!(w->W[j * n + j] > 0))
            w->W[j * n + j] = 1;
    }
}

// The least energy among the x with the image that result->x has. `warm_active` is where bounds were last time.
static void least_energy(const tdInverse *p, tdInverseWork *w, const signed char *warm_active, tdInverseResult *out)
{
    int n = p->n_a, rank = w->rank, m = rank + p->n_c;
    definite_energy(p, w);
    memcpy(w->rows, w->R, (size_t)rank * (size_t)n * sizeof *w->rows);
    for (int i = 0; i < rank; i++)
        w->low[i] = w->high[i] = td_dot(w->R + i * n, out->x, n);
    memcpy(w->rows + rank * n, p->C, (size_t)p->n_c * (size_t)n * sizeof *w->rows);
    for (int i = 0; i < p->n_c; i++) // what cannot be met stays as it is
    {
        double y = td_dot(p->C + i * n, out->x, n);
        w->low[rank + i] = fmin(fmin(p->cl[i], p->cu[i]), y);
        w->high[rank + i] = fmax(fmax(p->cl[i], p->cu[i]), y);
    }
    memcpy(w->active, warm_active, (size_t)n * sizeof *w->active);
    memset(w->active + n, -1, (size_t)rank * sizeof *w->active);
    memcpy(w->active + n + rank, warm_active + n, (size_t)p->n_c * sizeof *w->active);
    tdQp qp = constraints(p);
    qp.m = m;
    qp.H = w->W;
    qp.g = w->zero;
    qp.C = w->rows;
    qp.cl = w->low;
    qp.cu = w->high;
    memcpy(w->x, out->x, (size_t)n * sizeof *w->x);
    tdQpSolution s = {.x = w->x, .active = w->active, .z = w->z_energy};
    td_qp_solve(&qp, w->qp, true, &s);
    out->iterations += s.iterations;
    if (isnan(s.violation)) // an energy that is none: the reach of the first problem stands
    {
        out->status = TD_QP_ITERATIONS;
        return;
    }
    memcpy(out->x, w->x, (size_t)n * sizeof *w->x);
    memcpy(out->active, w->active, (size_t)n * sizeof *w->active);
    memcpy(out->active + n, w->active + n + rank, (size_t)p->n_c * sizeof *w->active);
    if (s.status == TD_QP_ITERATIONS)
        out->status = TD_QP_ITERATIONS;
}

static void solve_null_space(const tdInverse *p, tdInverseWork *w, bool warm, tdInverseResult *out)
{
    int n = p->n_a;
    tdQp qp = constraints(p);
    if (warm)
        memcpy(w->before, out->active, (size_t)(n + p->n_c) * sizeof *w->before);
    tdQpSolution s = {.x = out->x, .active = out->active, .z = w->z};
    td_qp_solve_squares(&qp, w->rank, w->R, w->q, w->qp, warm, &s);
    out->status = s.status;
    out->iterations = s.iterations;
    out->violation = s.violation;
    if (isnan(s.violation) || w->rank == n || p->reach_only)
        return;
    least_energy(p, w, warm ? w->before : out->active, out);
}

// ---------------------------------------------------------------- s4

static double row_sum_norm(const double *A, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
    {
        double sum = 0;
        for (int j = 0; j < n; j++)
            sum += fabs(A[i * n + j]);
        most = fmax(most, sum);
    }
    return most;
}

// S4's weight: epsilon |E'E|_inf / |W|_inf.
static double energy_weight(const tdInverse *p, tdInverseWork *w)
{
    int n = p->n_a;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
        {
            double sum = 0;
            for (int l = 0; l < w->rank; l++)
                sum += w->R[l * n + i] * w->R[l * n + j];
            w->W[i * n + j] = sum;
        }
    double energy = row_sum_norm(p->W, n);
    return energy > 0 ? p->epsilon * row_sum_norm(w->W, n) / energy : 0;
}

// R over the root of eps W, reduced to n rows by QR: the same minimum, without squaring E.
static void stack_energy(const tdInverse *p, tdInverseWork *w, double eps)
{
    int n = p->n_a, k = w->rank;
    for (int j = 0; j < n; j++)
        w->tau[j] = p->W[j * n + j] > 0 ? 1 / td_power_of_two(sqrt(p->W[j * n + j])) : 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            w->W[i * n + j] = p->W[i * n + j] * w->tau[i] * w->tau[j];
    double *root = w->rows;
    int rank = td_pivoted_cholesky(w->W, n, root, w->t, 1e-15 * n), high = k + rank;
    double *A = w->stack, weight = sqrt(eps), *right = A + (size_t)n * (size_t)high;
    for (int j = 0; j < n; j++)
    {
        for (int i = 0; i < k; i++)
            A[j * high + i] = w->R[i * n + j];
        for (int i = 0; i < rank; i++)
            A[j * high + k + i] = w->tau[j] > 0 ? weight * root[i * n + j] / w->tau[j] : 0;
        double length = td_norm(A + j * high, high);
        w->length[j] = length > 0 ? td_power_of_two(length) : 1; // so that the largest pivot is no matter of units
        for (int i = 0; i < high; i++)
            A[j * high + i] /= w->length[j];
    }
    memcpy(right, w->q, (size_t)k * sizeof *right);
    memset(right + k, 0, (size_t)rank * sizeof *right);
    w->rank = td_pivoted_qr(A, high, n, high, w->tau, w->order, RANK);
    for (int j = 0; j < w->rank; j++)
        td_house_apply(A + j * high + j, w->tau[j], high - j, right + j);
    memcpy(w->q, right, (size_t)w->rank * sizeof *right);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < w->rank; i++)
            w->R[i * n + w->order[j]] = i <= j ? A[j * high + i] * w->length[w->order[j]] : 0;
}

static void solve_weighted(const tdInverse *p, tdInverseWork *w, bool warm, double eps, tdInverseResult *out)
{
    stack_energy(p, w, eps);
    tdQp qp = constraints(p);
    tdQpSolution s = {.x = out->x, .active = out->active, .z = w->z};
    td_qp_solve_squares(&qp, w->rank, w->R, w->q, w->qp, warm, &s);
    out->status = s.status;
    out->iterations = s.iterations;
    out->violation = s.violation;
}

// ---------------------------------------------------------------- Gauss-Seidel

// How far unknown j may go up (or down, negative) before a row stops it. A row that is violated lets it go back.
static double clip_to_rows(const tdInverse *p, const tdInverseWork *w, int j, double move)
{
    for (int i = 0; i < p->n_c; i++)
    {
        double c = p->C[i * p->n_a + j], d = c * move;
        if (d == 0)
            continue;
        double room = d > 0 ? p->cu[i] - w->y[i] : p->cl[i] - w->y[i], share = room / d;
        if (share < 1)
            move *= fmax(0, share);
    }
    return move;
}

// One sweep of S4 eq. 6-10; returns the largest move in the effectors.
static double sweep(const tdInverse *p, tdInverseWork *w, double *x)
{
    int n = p->n_a;
    double most = 0;
    for (int j = 0; j < n; j++)
    {
        double along = 0, square = 0;
        for (int i = 0; i < w->rank; i++)
        {
            double r = w->R[i * n + j];
            along += r * w->e[i];
            square += r * r;
        }
        if (square == 0)
            continue;
        double to = fmin(fmax(x[j] - along / square, p->xl[j]), p->xu[j]);
        double move = clip_to_rows(p, w, j, to - x[j]);
        x[j] = move == to - x[j] ? to : x[j] + move;
        for (int i = 0; i < w->rank; i++)
            w->e[i] += w->R[i * n + j] * move;
        for (int i = 0; i < p->n_c; i++)
            w->y[i] += p->C[i * n + j] * move;
        most = fmax(most, fabs(move) * sqrt(square));
    }
    return most;
}

// Multipliers of what is active by least squares over the free unknowns: what the conditions then lack is reported.
static void estimate_multipliers(const tdInverse *p, tdInverseWork *w, const tdInverseResult *out)
{
    int n = p->n_a, f = 0, held = 0;
    double *gradient = w->t, *right = w->t + n, *A = w->stack;
    for (int j = 0; j < n; j++)
    {
        gradient[j] = 0;
        for (int i = 0; i < w->rank; i++)
            gradient[j] += w->R[i * n + j] * w->e[i];
        if (out->active[j] == 0)
            w->order[f++] = j;
    }
    memset(w->z, 0, (size_t)(n + p->n_c) * sizeof *w->z);
    for (int i = 0; i < p->n_c && held < f; i++)
        if (out->active[n + i] != 0)
        {
            // In units of the effectors; dependent rows have no multiplier of their own.
            double *column = A + held * n;
            for (int j = 0; j < f; j++)
                column[j] = p->C[i * n + w->order[j]] / fmax(w->length[w->order[j]], 1e-300);
            for (int l = 0; l < held; l++)
                td_house_apply(A + l * n + l, w->tau[l], f - l, column + l);
            double length = td_norm(column, f);
            if (td_norm(column + held, f - held) <= 1e-10 * length)
                continue;
            w->tau[held] = td_house(column + held, f - held);
            w->held[held++] = i;
        }
    for (int j = 0; j < f; j++)
        right[j] = gradient[w->order[j]] / fmax(w->length[w->order[j]], 1e-300);
    for (int l = 0; l < held; l++)
        td_house_apply(A + l * n + l, w->tau[l], f - l, right + l);
    for (int l = held - 1; l >= 0; l--)
    {
        for (int k = l + 1; k < held; k++)
            right[l] -= A[k * n + l] * right[k];
        w->z[n + w->held[l]] = right[l] /= A[l * n + l];
    }
    for (int j = 0; j < n; j++)
        if (out->active[j] != 0)
        {
            w->z[j] = gradient[j];
            for (int i = 0; i < p->n_c; i++)
                w->z[j] -= p->C[i * n + j] * w->z[n + i];
        }
}

static void find_active(const tdInverse *p, const tdInverseWork *w, tdInverseResult *out)
{
    int n = p->n_a;
    for (int j = 0; j < n; j++)
        out->active[j] = (signed char)(out->x[j] <= p->xl[j] ? -1 : out->x[j] >= p->xu[j] ? 1 : 0);
    for (int i = 0; i < p->n_c; i++)
    {
        double size = 0;
        for (int j = 0; j < n; j++)
            size += fabs(p->C[i * n + j] * out->x[j]);
        double y = w->y[i];
        out->active[n + i] = (signed char)(y - p->cl[i] <= 1e-12 * size ? -1 : p->cu[i] - y <= 1e-12 * size ? 1 : 0);
    }
}

static void solve_gauss_seidel(const tdInverse *p, tdInverseWork *w, bool warm, tdInverseResult *out)
{
    int n = p->n_a;
    tdQp qp = constraints(p); // a start that meets the rows: nothing to minimize but the violation
    tdQpSolution s = {.x = out->x, .active = out->active, .z = w->z};
    qp.max_iterations = 0;
    if (!warm)
        memset(out->x, 0, (size_t)n * sizeof *out->x);
    memset(out->active, 0, (size_t)(n + p->n_c) * sizeof *out->active);
    td_qp_solve_squares(&qp, 0, w->R, w->q, w->qp, true, &s);
    out->status = s.status;
    out->violation = s.violation;
    if (isnan(s.violation))
        return;
    for (int i = 0; i < w->rank; i++)
        w->e[i] = w->q[i] + td_dot(w->R + i * n, out->x, n);
    for (int i = 0; i < p->n_c; i++)
        w->y[i] = td_dot(p->C + i * n, out->x, n);
    int most = p->max_iterations > 0 ? p->max_iterations : SWEEPS;
    double error = td_norm(w->q, w->rank) + td_norm(w->e, w->rank), moved = INFINITY;
    while (out->iterations < most && moved > SETTLED * error)
    {
        moved = sweep(p, w, out->x);
        out->iterations++;
    }
    if (moved > SETTLED * error && out->status == TD_QP_OPTIMAL)
        out->status = TD_QP_ITERATIONS;
    out->violation = 0;
    for (int i = 0; i < p->n_c; i++)
        out->violation = fmax(out->violation, fmax(p->cl[i] - w->y[i], w->y[i] - p->cu[i]));
    find_active(p, w, out);
    estimate_multipliers(p, w, out);
}

// ---------------------------------------------------------------- report

// Of a multiplier and the value whose bounds it belongs to: wrong at most in one of size, sign, distance.
static double bound_off(double z, double at, double low, double high, double z_size, double size)
{
    double distance = z > 0 ? at - low : high - at;
    double beyond = fmax(low - at, at - high);
    double pull = z_size > 0 ? fabs(z) / z_size : 0;
    if (!(size > 0))
        return 0;
    return fmax(beyond / size, fmin(pull, fabs(distance) / size));
}

// From E and W as given, at x, with the multipliers of the problem that was solved first.
static void report(const tdInverse *p, tdInverseWork *w, double eps, tdInverseResult *out)
{
    int n = p->n_a, e = p->n_e;
    double moved = 0, given = td_norm(p->e0, e), worst = 0;
    for (int i = 0; i < e; i++)
    {
        double t = td_dot(p->E + (size_t)i * (size_t)n, out->x, n);
        moved += t * t;
        w->e[i] = t + p->e0[i];
    }
    out->residual = td_norm(w->e, e);
    out->out_of_reach = !(out->residual <= p->tolerance);
    double effect = sqrt(moved) + given;
    memset(w->t, 0, (size_t)n * sizeof *w->t);
    for (int i = 0; i < e; i++)
        for (int j = 0; j < n; j++)
            w->t[j] += p->E[(size_t)i * (size_t)n + (size_t)j] * w->e[i];
    double size = 0, scale = 0;
    for (int j = 0; j < n; j++) // each unknown in the unit in which it moves the effectors by 1
        if (w->length[j] > 0)
            size = fmax(size, fabs(out->x[j]) * w->length[j]);
    scale = fmax(effect, size);
    for (int j = 0; j < n; j++)
    {
        double g = w->t[j] + (eps > 0 ? eps * td_dot(p->W + j * n, out->x, n) : 0) - w->z[j], terms = 0;
        for (int i = 0; i < p->n_c; i++)
        {
            g -= p->C[i * n + j] * w->z[n + i];
            terms = fmax(terms, fabs(p->C[i * n + j] * w->z[n + i]));
        }
        double unit = fmax(scale * w->length[j], terms);
        worst = fmax(worst, unit > 0 ? fabs(g) / unit : g != 0);
        double own = w->length[j] > 0 ? scale / w->length[j] : fabs(out->x[j]);
        worst = fmax(worst, bound_off(w->z[j], out->x[j], p->xl[j], p->xu[j], unit, own));
    }
    for (int i = 0; i < p->n_c; i++)
    {
        double y = td_dot(p->C + i * n, out->x, n), terms = 0, pull = 0;
        for (int j = 0; j < n; j++)
        {
            terms += fabs(p->C[i * n + j]) * (w->length[j] > 0 ? scale / w->length[j] : fabs(out->x[j]));
            if (w->length[j] > 0)
                pull = fmax(pull, fabs(p->C[i * n + j]) / (scale * w->length[j]));
        }
        bool relaxed = out->status == TD_QP_INFEASIBLE; // rows that cannot be met are the violation's matter
        worst = fmax(worst, bound_off(w->z[n + i], y, relaxed ? fmin(p->cl[i], y) : p->cl[i],
                                      relaxed ? fmax(p->cu[i], y) : p->cu[i], pull > 0 ? 1 / pull : 0, terms));
    }
    out->stationarity = worst;
}

// Numbers that are none: no move, and nothing is known.
static void give_up(const tdInverse *p, tdInverseResult *out)
{
    int n = p->n_a;
    out->status = TD_QP_ITERATIONS;
    out->violation = NAN;
    out->residual = out->stationarity = INFINITY;
    out->out_of_reach = true;
    memset(out->active, 0, (size_t)(n + p->n_c) * sizeof *out->active);
    for (int j = 0; j < n; j++)
    {
        double x = fmin(fmax(0, p->xl[j]), p->xu[j]);
        out->x[j] = isfinite(x) ? x : 0;
    }
}

// The x of nearly the least |delta_e| that is nearest to the one on entry, quickly. False: there is none.
static bool solve_near(const tdInverse *p, tdInverseWork *w, bool warm, tdInverseResult *out)
{
    int n = p->n_a;
    const tdDualSetProblem near = {n, p->n_e, p->n_c, p->E, p->e0, p->xl, p->xu, p->C, p->cl, p->cu};
    if (!warm)
        memset(out->x, 0, (size_t)n * sizeof *out->x);
    return td_dual_set_solve(&w->near, &near, out->x, out->active, &out->iterations);
}

static void report_near(const tdInverse *p, bool found, tdInverseResult *out)
{
    double square = 0;
    for (int i = 0; i < p->n_e; i++)
    {
        double error = p->e0[i] + td_dot(p->E + i * p->n_a, out->x, p->n_a);
        square += error * error;
    }
    out->status = found ? TD_QP_OPTIMAL : TD_QP_INFEASIBLE;
    out->residual = sqrt(square);
    out->out_of_reach = !(out->residual <= p->tolerance);
    out->violation = out->stationarity = 0;
}

static void solve_level(const tdInverse *p, tdInverseWork *w, bool warm, tdInverseResult *out)
{
    double eps = 0;
    reduce(p, w);
    if (p->solver == TD_INVERSE_GAUSS_SEIDEL)
        solve_gauss_seidel(p, w, warm, out);
    else if (p->energy == TD_ENERGY_NULL_SPACE)
        solve_null_space(p, w, warm, out);
    else
    {
        eps = energy_weight(p, w);
        solve_weighted(p, w, warm, eps, out);
    }
    if (isnan(out->violation))
        give_up(p, out);
    else
        report(p, w, eps, out);
}

// Rows of E of one level; returns whether there is a later one.
static bool take_level(const tdInverse *p, tdInverseWork *w, int level, tdInverse *sub)
{
    int n = p->n_a;
    bool more = false;
    sub->n_e = 0;
    for (int i = 0; i < p->n_e; i++)
    {
        more = more || p->level[i] > level;
        if (p->level[i] != level)
            continue;
        memcpy(w->E + sub->n_e * n, p->E + i * n, (size_t)n * sizeof *w->E);
        w->e0[sub->n_e++] = p->e0[i];
    }
    return more;
}

// The image of what a level has found is held: rows R x behind C.
static void hold_image(tdInverseWork *w, int n, const double *x, tdInverse *sub)
{
    for (int i = 0; i < w->rank && sub->n_c < w->n_c + n; i++, sub->n_c++)
    {
        memcpy(w->C + sub->n_c * n, w->R + i * n, (size_t)n * sizeof *w->C);
        w->cl[sub->n_c] = w->cu[sub->n_c] = td_dot(w->R + i * n, x, n);
    }
}

static void solve_levels(const tdInverse *p, tdInverseWork *w, tdInverseResult *out)
{
    int n = p->n_a, level = p->level[0], iterations = 0;
    tdInverse sub = *p;
    double violation = 0, optimality = 0, square = 0;
    tdQpStatus status = TD_QP_OPTIMAL;
    sub.E = w->E;
    sub.e0 = w->e0;
    sub.C = w->C;
    sub.cl = w->cl;
    sub.cu = w->cu;
    sub.level = NULL;
    memcpy(w->C, p->C, (size_t)(p->n_c * n) * sizeof *w->C);
    memcpy(w->cl, p->cl, (size_t)p->n_c * sizeof *w->cl);
    memcpy(w->cu, p->cu, (size_t)p->n_c * sizeof *w->cu);
    for (int i = 1; i < p->n_e; i++)
        level = p->level[i] < level ? p->level[i] : level;
    for (bool more = true, first = true; more; level++, first = false)
    {
        more = take_level(p, w, level, &sub);
        if (sub.n_e == 0)
            continue;
        tdInverseResult part = {.x = out->x, .active = w->all};
        solve_level(&sub, w, false, &part);
        iterations += part.iterations;
        optimality = fmax(optimality, part.stationarity);
        status = part.status == TD_QP_ITERATIONS || first ? part.status : status;
        violation = first ? part.violation : violation; // rows that hold images are met as well as they can be
        hold_image(w, n, out->x, &sub);
    }
    memcpy(out->active, w->all, (size_t)(n + p->n_c) * sizeof *out->active);
    for (int i = 0; i < p->n_e; i++)
    {
        double error = p->e0[i] + td_dot(p->E + i * n, out->x, n);
        square += error * error;
    }
    out->status = status;
    out->iterations = iterations;
    out->residual = sqrt(square);
    out->stationarity = optimality;
    out->violation = violation;
    out->out_of_reach = out->residual > p->tolerance;
}

static bool has_levels(const tdInverse *p)
{
    for (int i = 1; i < p->n_e && p->level != NULL; i++)
        if (p->level[i] != p->level[0])
            return true;
    return false;
}

void td_inverse_solve(const tdInverse *p, tdInverseWork *w, bool warm, tdInverseResult *out)
{
    int n = p->n_a;
    assert(n >= 0 && n <= w->n_a && p->n_e >= 0 && p->n_e <= w->n_e && p->n_c >= 0 && p->n_c <= w->n_c);
    out->iterations = 0;
    if (!td_all_finite(p->E, (size_t)p->n_e * (size_t)n) || !td_all_finite(p->e0, (size_t)p->n_e) ||
        !td_all_finite(p->W, (size_t)n * (size_t)n))
        give_up(p, out);
    else if (has_levels(p))
        solve_levels(p, w, out);
    else
    {
        bool near = p->near && p->solver != TD_INVERSE_GAUSS_SEIDEL && p->energy == TD_ENERGY_NULL_SPACE,
             found = near && solve_near(p, w, warm, out);
        if (p->reach_only && (found || (near && p->or_nothing)))
            report_near(p, found, out);
        else
            solve_level(p, w, warm || found, out);
    }
}
