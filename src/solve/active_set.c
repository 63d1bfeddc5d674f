// SPDX-License-Identifier: Apache-2.0
// See active_set.h. Degenerate corners: the most promising constraint is released first; after a run of steps that
// do not move, the one of least number (Bland), and one that comes back at once rests until x has moved.
#include "solve/active_set.h"

#include "solve/dense.h"

#include <string.h>

#define DEPENDENT 1e-12 // a row shorter than this beside those that are held is held with them
#define ROUNDING  1e-14 // of a sum of a few products

bool td_active_set_take(tdActiveSet *s, tdArena *arena, int n, int m, int k)
{
    size_t un = (size_t)n, um = (size_t)m, uk = (size_t)k;
    *s = (tdActiveSet){.n = n, .m = m, .k = k};
    struct
    {
        double **at;
        size_t count;
    } parts[] = {{&s->R, uk * un},   {&s->C, um * un}, {&s->lo, un + um}, {&s->hi, un + um}, {&s->x, un},
                 {&s->z, un + um},   {&s->y, um},      {&s->r, uk},       {&s->p, un},       {&s->cp, um},
                 {&s->gradient, un}, {&s->T, un * un}, {&s->tau_t, un},   {&s->M, uk * un},  {&s->tau_m, un},
                 {&s->V, un * un},   {&s->tau_v, un},  {&s->u, un},       {&s->w, un},       {&s->e, un},
                 {&s->c, uk + un}};
    bool good = true;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        good = (*parts[i].at = TD_TAKE(arena, double, parts[i].count + 1)) != NULL && good;
    s->state = TD_TAKE(arena, signed char, un + um + 1);
    s->resting = TD_TAKE(arena, bool, un + um + 1);
    s->free = TD_TAKE(arena, int, un + 1);
    s->rows = TD_TAKE(arena, int, un + um + 1);
    s->order = TD_TAKE(arena, int, un + 1);
    return good && s->state != NULL && s->resting != NULL && s->free != NULL && s->rows != NULL && s->order != NULL;
}

// ---------------------------------------------------------------- the minimum on a working set

// reads state, C, R     writes free, rows, T, M, V: everything that depends on the working set alone
static void factor(tdActiveSet *s)
{
    int n = s->n, k = s->k, f = 0, a = 0;
    for (int j = 0; j < n; j++)
        if (s->state[j] == 0)
            s->free[f++] = j;
    s->n_free = f;
    for (int i = 0; i < s->m; i++)
    {
        if (s->state[n + i] == 0)
            continue;
        double *column = s->T + (size_t)a * (size_t)n;
        const double *row = s->C + (size_t)i * (size_t)n;
        for (int j = 0; j < f; j++)
            column[j] = row[s->free[j]];
        for (int l = 0; l < a; l++)
            td_house_apply(s->T + l * n + l, s->tau_t[l], f - l, column + l);
        if (a >= f || td_norm(column + a, f - a) < DEPENDENT)
        {
            s->state[n + i] = 0;
            continue;
        }
        s->tau_t[a] = td_house(column + a, f - a);
        s->rows[a++] = i;
    }
    s->n_rows = a;
    for (int j = 0; j < f; j++)
        memcpy(s->M + j * k, s->R + s->free[j] * k, (size_t)k * sizeof *s->M);
    for (int l = 0; l < a; l++)
    {
        const double *v = s->T + l * n + l;
        memcpy(s->c, s->M + l * k, (size_t)k * sizeof *s->c);
        for (int j = l + 1; j < f; j++)
            for (int i = 0; i < k; i++)
                s->c[i] += v[j - l] * s->M[j * k + i];
        for (int j = l; j < f; j++)
        {
            double t = s->tau_t[l] * (j == l ? 1 : v[j - l]);
            for (int i = 0; i < k; i++)
                s->M[j * k + i] -= t * s->c[i];
        }
    }
    int left = f - a;
    s->rank = td_pivoted_qr(s->M + a * k, k, left, k, s->tau_m, s->order, s->rank_tolerance);
    if (s->rank == left)
        return;
    for (int i = 0; i < s->rank; i++)
    {
        double *column = s->V + i * n;
        for (int j = 0; j < left; j++)
            column[j] = j < i ? 0 : s->M[(a + j) * k + i];
        for (int l = 0; l < i; l++)
            td_house_apply(s->V + l * n + l, s->tau_v[l], left - l, column + l);
        s->tau_v[i] = td_house(column + i, left - i);
    }
}

// y, r, gradient and the scale of its terms at x.
static void evaluate(tdActiveSet *s)
{
    int n = s->n, k = s->k;
    for (int i = 0; i < s->m; i++)
        s->y[i] = td_dot(s->C + i * n, s->x, n);
    if (s->q == NULL)
    {
        s->scale = 0;
        for (int j = 0; j < n; j++)
        {
            double hx = td_dot(s->H + j * n, s->x, n);
            s->gradient[j] = hx + s->g[j];
            s->scale = fmax(s->scale, fmax(fabs(hx), fabs(s->g[j])));
        }
        return;
    }
    memset(s->r, 0, (size_t)k * sizeof *s->r);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < k; i++)
            s->r[i] += s->R[j * k + i] * s->x[j];
    s->scale = td_norm(s->r, k) + td_norm(s->q, k);
    for (int i = 0; i < k; i++)
        s->r[i] += s->q[i];
    for (int j = 0; j < n; j++)
        s->gradient[j] = td_dot(s->R + j * k, s->r, k);
}

// Q' of the held rows times a vector over the free unknowns, and Q times one.
static void turn(const tdActiveSet *s, double *a)
{
    for (int l = 0; l < s->n_rows; l++)
        td_house_apply(s->T + l * s->n + l, s->tau_t[l], s->n_free - l, a + l);
}

static void turn_back(const tdActiveSet *s, double *a)
{
    for (int l = s->n_rows - 1; l >= 0; l--)
        td_house_apply(s->T + l * s->n + l, s->tau_t[l], s->n_free - l, a + l);
}

// Solves S S' t = S c - e, S the upper triangle of V where the rank is short and Rm' of M where it is full, for S' t =
// c - S⁻¹ e; e over the pivoted null space, its first `rank` entries turned into the row space. Result in e.
static void solve_triangles(const tdActiveSet *s, const double *c, double *e)
{
    int n = s->n, k = s->k, rank = s->rank, left = s->n_free - s->n_rows;
    const double *M = s->M + s->n_rows * k;
    if (rank == left)
    {
        for (int i = 0; i < rank; i++)
        {
            double t = e[i];
            for (int j = 0; j < i; j++)
                t -= M[i * k + j] * e[j];
            e[i] = t / M[i * k + i];
        }
        for (int i = rank - 1; i >= 0; i--)
        {
            double t = c[i] - e[i];
            for (int j = i + 1; j < rank; j++)
                t -= M[j * k + i] * e[j];
            e[i] = t / M[i * k + i];
        }
        return;
    }
    for (int i = rank - 1; i >= 0; i--)
    {
        double t = e[i];
        for (int j = i + 1; j < rank; j++)
            t -= s->V[j * n + i] * e[j];
        e[i] = t / s->V[i * n + i];
    }
    for (int i = 0; i < rank; i++)
    {
        double t = c[i] - e[i];
        for (int j = 0; j < i; j++)
            t -= s->V[i * n + j] * e[j];
        e[i] = t / s->V[i * n + i];
    }
}

// The part u of a step, in the space of the held rows, that takes x onto their bounds.
static void find_range_step(tdActiveSet *s)
{
    int n = s->n;
    for (int i = 0; i < s->n_rows; i++)
    {
        int row = s->rows[i];
        double t = (s->state[n + row] < 0 ? s->lo : s->hi)[n + row] - s->y[row];
        for (int j = 0; j < i; j++)
            t -= s->T[i * n + j] * s->u[j];
        s->u[i] = t / s->T[i * n + i];
    }
}

// Over the free unknowns in w, turned by Q: the step p.
static void spread_step(tdActiveSet *s)
{
    turn_back(s, s->w);
    memset(s->p, 0, (size_t)s->n * sizeof *s->p);
    for (int j = 0; j < s->n_free; j++)
        s->p[s->free[j]] = s->w[j];
}

// The step p to the minimum on the working set, given its part u; the least such step where there are many. True where
// instead p is a direction along which the objective falls linearly.
static bool find_step(tdActiveSet *s)
{
    int n = s->n, k = s->k, f = s->n_free, a = s->n_rows, left = f - a;
    double *u = s->u, *e = s->e, *c = s->c;
    for (int i = 0; i < k; i++)
        c[i] = s->q != NULL ? -s->r[i] : 0;
    for (int j = 0; j < a; j++)
        for (int i = 0; i < k; i++)
            c[i] -= s->M[j * k + i] * u[j];
    for (int j = 0; j < s->rank; j++)
        td_house_apply(s->M + (a + j) * k + j, s->tau_m[j], k - j, c + j);

    bool linear = false, full = s->rank == left;
    memset(e, 0, (size_t)n * sizeof *e);
    if (s->q == NULL)
    {
        for (int j = 0; j < f; j++)
            s->w[j] = s->gradient[s->free[j]];
        turn(s, s->w);
        for (int j = 0; j < left; j++)
            e[j] = s->w[a + s->order[j]];
        if (!full)
        {
            for (int l = 0; l < s->rank; l++)
                td_house_apply(s->V + l * n + l, s->tau_v[l], left - l, e + l);
            linear = td_norm(e + s->rank, left - s->rank) > 2e-10 * s->scale;
        }
    }
    if (linear)
    {
        memset(u, 0, (size_t)a * sizeof *u);
        memset(e, 0, (size_t)s->rank * sizeof *e);
        for (int j = s->rank; j < left; j++)
            e[j] = -e[j];
    }
    else
    {
        solve_triangles(s, c, e);
        memset(e + s->rank, 0, (size_t)(left - s->rank) * sizeof *e);
    }
    if (!full)
        for (int l = s->rank - 1; l >= 0; l--)
            td_house_apply(s->V + l * n + l, s->tau_v[l], left - l, e + l);
    memcpy(s->w, u, (size_t)a * sizeof *u);
    for (int j = 0; j < left; j++)
        s->w[a + s->order[j]] = e[j];
    spread_step(s);
    return linear;
}

// gradient = z_x + C' z_c, with z_c from the free unknowns.
static void find_multipliers(tdActiveSet *s)
{
    int n = s->n, a = s->n_rows;
    memset(s->z, 0, (size_t)(n + s->m) * sizeof *s->z);
    for (int j = 0; j < s->n_free; j++)
        s->w[j] = s->gradient[s->free[j]];
    turn(s, s->w);
    for (int i = a - 1; i >= 0; i--)
    {
        double t = s->w[i];
        for (int j = i + 1; j < a; j++)
            t -= s->T[j * n + i] * s->z[n + s->rows[j]];
        s->z[n + s->rows[i]] = t / s->T[i * n + i];
    }
    for (int j = 0; j < n; j++)
        if (s->state[j] != 0)
        {
            s->z[j] = s->gradient[j];
            for (int i = 0; i < a; i++)
                s->z[j] -= s->C[s->rows[i] * n + j] * s->z[n + s->rows[i]];
        }
}

void td_active_set_multipliers(tdActiveSet *s)
{
    factor(s);
    evaluate(s);
    find_multipliers(s);
}

// ---------------------------------------------------------------- moves

// The first bound on the way along p, before `most`; -1 where there is none. Among equals the one that p meets most
// squarely, or the one of least number.
static int first_bound(tdActiveSet *s, double most, bool least_number, double *alpha)
{
    int n = s->n, found = -1;
    // Below this a component of p is rounding, and at most that far x may go beyond a bound.
    double rounding = most < INFINITY ? ROUNDING * (td_largest(s->x, n) + s->scale) : 0;
    double small = fmax(DEPENDENT * td_norm(s->p, n), rounding), best = most, square = 0;
    for (int i = 0; i < s->m; i++)
        s->cp[i] = td_dot(s->C + i * n, s->p, n);
    for (int j = 0; j < n + s->m; j++)
    {
        double d = j < n ? s->p[j] : s->cp[j - n], at = j < n ? s->x[j] : s->y[j - n];
        double bound = d < 0 ? s->lo[j] : s->hi[j];
        if (s->state[j] != 0 || !(fabs(d) > small) || isinf(bound))
            continue;
        double t = fmax(0, (bound - at) / d);
        bool better = t < best - ROUNDING * best || (t <= best && found >= 0 && !least_number && fabs(d) > square);
        if (better || (t < best && found < 0))
        {
            best = fmin(t, best);
            square = fabs(d);
            found = j;
        }
    }
    *alpha = best;
    return found;
}

static void move(tdActiveSet *s, double alpha)
{
    for (int j = 0; j < s->n; j++)
        if (s->state[j] == 0)
            s->x[j] = fmin(fmax(s->x[j] + alpha * s->p[j], s->lo[j]), s->hi[j]);
}

static void hold(tdActiveSet *s, int j, bool upper)
{
    s->state[j] = upper ? 1 : -1;
    if (j < s->n)
        s->x[j] = upper ? s->hi[j] : s->lo[j];
}

double td_active_set_excess(tdActiveSet *s, double tolerance)
{
    int n = s->n;
    double size = td_largest(s->x, n), most = 0;
    for (int i = 0; i < s->m; i++)
    {
        double y = s->y[i] = td_dot(s->C + i * n, s->x, n), lo = s->lo[n + i], hi = s->hi[n + i];
        double bound = y < lo ? lo : hi, beyond = fmax(lo - y, y - hi);
        if (beyond > 0)
            most = fmax(most, beyond / (tolerance * fmax(size, fabs(bound))));
    }
    return most;
}

bool td_active_set_jump(tdActiveSet *s)
{
    int n = s->n;
    s->iterations++;
    factor(s);
    evaluate(s);
    find_range_step(s);
    if (find_step(s))
        return false;
    double size = td_largest(s->x, n) + td_largest(s->p, n);
    for (int j = 0; j < n; j++)
    {
        double t = s->x[j] + s->p[j];
        if (!(t >= s->lo[j] - ROUNDING * size && t <= s->hi[j] + ROUNDING * size))
            return false;
    }
    memcpy(s->e, s->x, (size_t)n * sizeof *s->e);
    move(s, 1);
    if (td_active_set_excess(s, 1e-12) <= 1)
        return true;
    memcpy(s->x, s->e, (size_t)n * sizeof *s->e);
    return false;
}

// The held constraint to release: the one whose multiplier pulls most the wrong way, or the first that does.
static int to_release(const tdActiveSet *s, bool least_number)
{
    int found = -1;
    double least = s->q != NULL ? ROUNDING * s->scale + 1e-11 * td_norm(s->r, s->k) : 1e-12 * s->scale;
    for (int j = 0; j < s->n + s->m; j++)
    {
        double wrong = s->state[j] < 0 ? -s->z[j] : s->z[j];
        if (s->state[j] == 0 || s->lo[j] == s->hi[j] || s->resting[j] || !(wrong > least))
            continue;
        found = j;
        if (least_number)
            break;
        least = wrong;
    }
    return found;
}

// The step from a feasible x. Rounding takes x off the held rows; the way back, through rows that hardly differ, is not
// a move that others could block, so it is made beforehand.
static bool find_feasible_step(tdActiveSet *s)
{
    evaluate(s);
    find_range_step(s);
    if (td_largest(s->u, s->n_rows) > 0)
    {
        memset(s->w, 0, (size_t)s->n_free * sizeof *s->w);
        memcpy(s->w, s->u, (size_t)s->n_rows * sizeof *s->u);
        spread_step(s);
        if (td_largest(s->p, s->n) <= 1e-9 * s->size)
        {
            move(s, 1);
            evaluate(s);
        }
    }
    memset(s->u, 0, (size_t)s->n_rows * sizeof *s->u);
    return find_step(s);
}

// At the minimum on the working set: one more solve with the same factors takes out what rounding left.
static void refine(tdActiveSet *s)
{
    double alpha;
    if (!find_feasible_step(s) && first_bound(s, 1, false, &alpha) < 0)
        move(s, 1);
    evaluate(s);
}

tdQpStatus td_active_set_solve(tdActiveSet *s)
{
    int still = 0, released = -1;
    s->size = 0;
    memset(s->resting, 0, (size_t)(s->n + s->m) * sizeof *s->resting);
    for (;;)
    {
        if (s->iterations >= s->max_iterations)
            return TD_QP_ITERATIONS;
        s->iterations++;
        s->size = fmax(s->size, td_largest(s->x, s->n));
        factor(s);
        bool linear = find_feasible_step(s), careful = still > s->n;
        double alpha;
        int bound = first_bound(s, linear ? INFINITY : 1, careful, &alpha);
        if (linear && bound < 0)
            return TD_QP_ITERATIONS;
        bool moved = alpha * td_largest(s->p, s->n) > 1e-13 * s->size;
        if (!isfinite(alpha * td_largest(s->p, s->n)))
            return TD_QP_ITERATIONS;
        move(s, alpha);
        if (moved)
        {
            still = 0;
            memset(s->resting, 0, (size_t)(s->n + s->m) * sizeof *s->resting);
        }
        else
            still++;
        if (bound >= 0)
        {
            hold(s, bound, (bound < s->n ? s->p[bound] : s->cp[bound - s->n]) > 0);
            s->resting[bound] = !moved && bound == released;
            released = -1;
            continue;
        }
        refine(s);
        find_multipliers(s);
        if (s->q != NULL && td_norm(s->r, s->k) <= ROUNDING * s->scale)
            return TD_QP_OPTIMAL;
        released = to_release(s, careful);
        if (released < 0)
            return TD_QP_OPTIMAL;
        s->state[released] = 0;
    }
}
