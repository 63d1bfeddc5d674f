// SPDX-License-Identifier: Apache-2.0
// Small quadratic programs. Optimality of a convex problem is proven by its own conditions (stationarity, bounds,
// signs, complementarity) and the gap to the dual, computed here from the user's numbers; small problems are compared
// with an enumeration of all working sets, larger ones with an alternating-directions method. A problem that is called
// infeasible must show the conditions of least violation.
#include "qp_random.h"

enum
{
    N = 12, // most unknowns, most rows
    PROBLEMS = 40000
};

typedef struct problem
{
    int n, m;
    double H[N * N], g[N], xl[N], xu[N], C[N * N], cl[N], cu[N];
    bool feasible; // made so
} problem;

typedef struct answer
{
    double x[N], z[2 * N];
    signed char active[2 * N];
    tdQpSolution s;
} answer;

static tdQp as_qp(const problem *p)
{
    return (tdQp){p->n, p->m, p->H, p->g, p->xl, p->xu, p->C, p->cl, p->cu, 0};
}

static void solve(const problem *p, tdQpWork *work, bool warm, answer *a)
{
    tdQp qp = as_qp(p);
    a->s.x = a->x;
    a->s.z = a->z;
    a->s.active = a->active;
    td_qp_solve(&qp, work, warm, &a->s);
}

// ---------------------------------------------------------------- problems

// H = B'B of rank at most k, g in its range where asked for.
static void make_objective(problem *p, int k, bool bounded)
{
    double B[N * N], b[N];
    for (int i = 0; i < k * p->n; i++)
        B[i] = chance(0.2) ? 0 : uniform(-1, 1);
    for (int i = 0; i < k; i++)
        b[i] = uniform(-2, 2);
    for (int i = 0; i < p->n; i++)
    {
        p->g[i] = bounded ? 0 : uniform(-2, 2);
        for (int l = 0; l < k && bounded; l++)
            p->g[i] += B[l * p->n + i] * b[l];
        for (int j = 0; j < p->n; j++)
        {
            p->H[i * p->n + j] = 0;
            for (int l = 0; l < k; l++)
                p->H[i * p->n + j] += B[l * p->n + i] * B[l * p->n + j];
        }
    }
}

static void make_row(problem *p, int i, const double *inside)
{
    int n = p->n;
    if (i > 0 && chance(0.15)) // a multiple of another row
        for (int j = 0; j < n; j++)
            p->C[i * n + j] = (i % 2 == 0 ? -2 : 1) * p->C[(i - 1) * n + j];
    else
        for (int j = 0; j < n; j++)
            p->C[i * n + j] = chance(0.3) ? 0 : chance(0.3) ? whole(-1, 1) : uniform(-1, 1);
    double y = dot(p->C + i * n, inside, n);
    if (chance(0.15))
        p->cl[i] = p->cu[i] = y;
    else
    {
        p->cl[i] = chance(0.2) ? -INFINITY : chance(0.2) ? y : y - uniform(0, 1);
        p->cu[i] = chance(0.2) ? INFINITY : chance(0.2) ? y : y + uniform(0, 1);
    }
}

static void make(problem *p, int most)
{
    double inside[N];
    int n = p->n = whole(1, most), m = p->m = whole(0, most);
    bool box = chance(0.6), singular = chance(0.4);
    make_objective(p, singular ? whole(0, n) : n + (n < N), !box);
    for (int j = 0; j < n; j++)
    {
        // Whole numbers make corners where many bounds meet.
        double low = chance(0.3) ? -1 : uniform(-2, 0), high = chance(0.3) ? 1 : uniform(0, 2);
        if (chance(0.05))
            low = high;
        p->xl[j] = !box && chance(0.5) ? -INFINITY : low;
        p->xu[j] = !box && chance(0.5) ? INFINITY : high;
        inside[j] = chance(0.2) ? low : chance(0.2) ? high : uniform(low, high);
    }
    for (int i = 0; i < m; i++)
        make_row(p, i, inside);
    p->feasible = !chance(0.15);
    if (!p->feasible && m > 0)
    {
        int i = whole(0, m - 1);
        double shift = uniform(0.5, 5) * (chance(0.5) ? 1 : -1);
        p->cl[i] += shift;
        p->cu[i] += shift;
    }
}

// The same problem in other units.
static void rescale(const problem *p, double decades, problem *q)
{
    double unit[N];
    *q = *p;
    for (int j = 0; j < p->n; j++)
    {
        unit[j] = pow(10, uniform(-decades, decades));
        q->g[j] *= unit[j];
        q->xl[j] /= unit[j];
        q->xu[j] /= unit[j];
    }
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->n; j++)
            q->H[i * p->n + j] = unit[i] * unit[j] * p->H[i * p->n + j];
    for (int i = 0; i < p->m; i++)
    {
        double row = pow(10, uniform(-decades, decades));
        for (int j = 0; j < p->n; j++)
            q->C[i * p->n + j] *= row * unit[j];
        q->cl[i] *= row;
        q->cu[i] *= row;
    }
}

// ---------------------------------------------------------------- conditions

static double objective(const problem *p, const double *x)
{
    double f = 0;
    for (int i = 0; i < p->n; i++)
        f += x[i] * (p->g[i] + 0.5 * dot(p->H + i * p->n, x, p->n));
    return f;
}

// Units in which the objective's curvature is 1.
static void units(const problem *p, double *unit)
{
    for (int j = 0; j < p->n; j++)
        unit[j] = p->H[j * p->n + j] > 0                                  ? 1 / sqrt(p->H[j * p->n + j])
                  : p->xu[j] - p->xl[j] < INFINITY && p->xu[j] > p->xl[j] ? p->xu[j] - p->xl[j]
                                                                          : 1;
}

static double row_length(const problem *p, int i, const double *unit)
{
    double s = 0;
    for (int j = 0; j < p->n; j++)
        s += p->xl[j] < p->xu[j] ? pow(p->C[i * p->n + j] * unit[j], 2) : 0;
    return s > 0 ? sqrt(s) : 1;
}

// Bounds of rows widened to what an infeasible problem's answer violates.
static void widen(problem *p, const double *x)
{
    for (int i = 0; i < p->m; i++)
    {
        double y = dot(p->C + i * p->n, x, p->n);
        p->cl[i] = fmin(p->cl[i], y);
        p->cu[i] = fmax(p->cu[i], y);
    }
}

static double worst_sign(double z, double at, double low, double high, double z_size, double size)
{
    double worst = fmax(low - at, at - high) / size;
    double distance = z > 0 ? at - low : high - at;
    return fmax(worst, fmin(fabs(z) / z_size, fabs(distance) / size));
}

// The largest violation of any condition, all scaled.
static double conditions(const problem *p, const answer *a)
{
    double unit[N], residual[N], scale = 1e-300, size = 1e-300, worst = 0;
    int n = p->n;
    units(p, unit);
    for (int j = 0; j < n; j++)
    {
        double terms = fabs(p->g[j]) + fabs(a->z[j]);
        residual[j] = p->g[j] - a->z[j];
        for (int k = 0; k < n; k++)
        {
            residual[j] += p->H[j * n + k] * a->x[k];
            terms += fabs(p->H[j * n + k] * a->x[k]);
        }
        for (int i = 0; i < p->m; i++)
        {
            residual[j] -= p->C[i * n + j] * a->z[n + i];
            terms += fabs(p->C[i * n + j] * a->z[n + i]);
        }
        scale = fmax(scale, unit[j] * terms);
        size = fmax(size, p->xl[j] < p->xu[j] ? fabs(a->x[j]) / unit[j] : 0);
    }
    for (int j = 0; j < n; j++)
    {
        worst = fmax(worst, fabs(residual[j]) * unit[j] / scale);
        worst = fmax(worst, worst_sign(a->z[j], a->x[j], p->xl[j], p->xu[j], scale / unit[j], size * unit[j]));
        assert_true(a->x[j] >= p->xl[j] && a->x[j] <= p->xu[j]); // boxes hold exactly
    }
    for (int i = 0; i < p->m; i++)
    {
        double length = row_length(p, i, unit), y = dot(p->C + i * n, a->x, n);
        double terms = fmax(isfinite(p->cl[i]) ? fabs(p->cl[i]) : 0, isfinite(p->cu[i]) ? fabs(p->cu[i]) : 0);
        for (int j = 0; j < n; j++)
            terms += fabs(p->C[i * n + j] * a->x[j]);
        worst = fmax(worst, worst_sign(a->z[n + i], y, p->cl[i], p->cu[i], scale / length, fmax(size * length, terms)));
    }
    return worst;
}

static double power_of_two(double a)
{
    return exp2(floor(log2(a)));
}

// The units in which the solver measures: the objective's curvature, else the range. False where it takes others.
static bool units_of_solver(const problem *p, double *unit)
{
    double longest = 0;
    bool known = true;
    for (int j = 0; j < p->n; j++)
        longest = fmax(longest, sqrt(p->H[j * p->n + j]));
    for (int j = 0; j < p->n; j++)
    {
        double length = sqrt(p->H[j * p->n + j]), range = p->xu[j] - p->xl[j];
        unit[j] = length > 1e-14 * longest ? 1 / power_of_two(length) : range > 0 ? power_of_two(range) : 1;
        known = known && isfinite(unit[j]);
    }
    return known;
}

// Conditions of min 1/2 Σ v², v the violation of each row in its length.
static double least_violation_conditions(const problem *p, const answer *a)
{
    double unit[N], gradient[N] = {0}, total = 0, worst = 0, size = 0;
    if (!units_of_solver(p, unit))
        return 0;
    for (int j = 0; j < p->n; j++)
        size = fmax(size, fabs(a->x[j]) / unit[j]);
    for (int i = 0; i < p->m; i++)
    {
        double length = power_of_two(row_length(p, i, unit)), y = dot(p->C + i * p->n, a->x, p->n);
        double v = fmax(0, y - p->cu[i]) - fmax(0, p->cl[i] - y);
        total += fabs(v) / length;
        for (int j = 0; j < p->n; j++)
            gradient[j] += p->C[i * p->n + j] * unit[j] * v / (length * length);
    }
    for (int j = 0; j < p->n; j++)
    {
        // A bound that others imply is met up to rounding.
        double near = 1e-10 * size * unit[j];
        bool low = a->x[j] <= p->xl[j] + near, high = a->x[j] >= p->xu[j] - near;
        double push = low ? fmax(0, -gradient[j]) : high ? fmax(0, gradient[j]) : fabs(gradient[j]);
        worst = fmax(worst, low && high ? 0 : push / total);
    }
    return total > 0 ? worst : INFINITY;
}

// ---------------------------------------------------------------- references

// The least objective over every feasible minimum on a working set: one of them is the optimum.
static double enumerate(const problem *p)
{
    int n = p->n, all = n + p->m, sets = 1;
    double best = INFINITY;
    for (int i = 0; i < all; i++)
        sets *= 3;
    for (int set = 0; set < sets; set++)
    {
        double A[4 * N * N], b[2 * N], xz[2 * N];
        int k = n, code = set;
        int held[N];
        bool possible = true;
        for (int i = 0; i < all; i++, code /= 3)
            if (code % 3 != 0 && possible)
            {
                double low = i < n ? p->xl[i] : p->cl[i - n], high = i < n ? p->xu[i] : p->cu[i - n];
                double bound = code % 3 == 1 ? low : high;
                possible = isfinite(bound) && k < 2 * n && !(code % 3 == 2 && low == high);
                if (possible)
                {
                    held[k - n] = i;
                    b[k++] = bound;
                }
            }
        if (!possible)
            continue;
        memset(A, 0, sizeof A);
        for (int i = 0; i < n; i++)
        {
            for (int j = 0; j < n; j++)
                A[i * k + j] = p->H[i * n + j];
            b[i] = -p->g[i];
        }
        for (int l = n; l < k; l++)
            for (int j = 0; j < n; j++)
                A[l * k + j] = A[j * k + l] = held[l - n] < n ? held[l - n] == j : p->C[(held[l - n] - n) * n + j];
        if (!gauss(k, A, b, xz))
            continue;
        bool feasible = true;
        for (int j = 0; j < n; j++)
            feasible = feasible && xz[j] >= p->xl[j] - 1e-9 && xz[j] <= p->xu[j] + 1e-9;
        for (int i = 0; i < p->m; i++)
        {
            double y = dot(p->C + i * n, xz, n);
            feasible = feasible && y >= p->cl[i] - 1e-9 && y <= p->cu[i] + 1e-9;
        }
        if (feasible)
            best = fmin(best, objective(p, xz));
    }
    return best;
}

// Alternating directions on (x, C x) with bounds: slow, and right where it has converged (returns NAN where not).
static double alternate(const problem *p)
{
    int n = p->n, all = n + p->m;
    double K[N * N], s[2 * N] = {0}, y[2 * N] = {0}, x[N] = {0}, rho = 1;
    double inverse[N][N];
    for (int c = 0; c < n; c++)
    {
        double b[N] = {0};
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
            {
                K[i * n + j] = p->H[i * n + j] + (i == j ? rho + 1e-7 : 0);
                for (int l = 0; l < p->m; l++)
                    K[i * n + j] += rho * p->C[l * n + i] * p->C[l * n + j];
            }
        b[c] = 1;
        assert_true(gauss(n, K, b, inverse[c]));
    }
    for (int it = 0; it < 20000; it++)
    {
        double b[N], change = 0, apart = 0;
        for (int j = 0; j < n; j++)
        {
            b[j] = 1e-7 * x[j] - p->g[j] + rho * s[j] - y[j];
            for (int i = 0; i < p->m; i++)
                b[j] += p->C[i * n + j] * (rho * s[n + i] - y[n + i]);
        }
        for (int j = 0; j < n; j++)
            x[j] = dot(inverse[j], b, n);
        for (int l = 0; l < all; l++)
        {
            double t = l < n ? x[l] : dot(p->C + (l - n) * n, x, n);
            double low = l < n ? p->xl[l] : p->cl[l - n], high = l < n ? p->xu[l] : p->cu[l - n];
            double next = fmin(fmax(t + y[l] / rho, low), high);
            y[l] += rho * (t - next);
            change = fmax(change, fabs(next - s[l]));
            apart = fmax(apart, fabs(t - next));
            s[l] = next;
        }
        if (change < 1e-12 && apart < 1e-12)
            return objective(p, x);
    }
    return NAN;
}

// ---------------------------------------------------------------- tests

static void describe(const problem *p, const char *what, int number, double value)
{
    print_message("problem %d (n %d, m %d): %s %g\n", number, p->n, p->m, what, value);
    for (int i = 0; i < p->n; i++)
    {
        print_message("  H");
        for (int j = 0; j < p->n; j++)
            print_message(" %.17g", p->H[i * p->n + j]);
        print_message("  g %.17g in %g %g\n", p->g[i], p->xl[i], p->xu[i]);
    }
    for (int i = 0; i < p->m; i++)
    {
        print_message("  C");
        for (int j = 0; j < p->n; j++)
            print_message(" %.17g", p->C[i * p->n + j]);
        print_message("  in %g %g\n", p->cl[i], p->cu[i]);
    }
    fail();
}

static void random_problems(void **unused)
{
    (void)unused;
    tdArena arena = {0};
    tdQpWork *work = td_qp_work(&arena, N, N);
    int enumerated = 0, alternated = 0, infeasible = 0, most = 0;
    double worst = 0;
    for (int t = 0; t < PROBLEMS; t++)
    {
        problem base, p;
        answer a;
        make(&base, t % 3 == 0 ? 3 : 9);
        rescale(&base, t % 4 == 0 ? 5 : t % 4 == 1 ? 0 : 1, &p);
        solve(&p, work, false, &a);
        most = a.s.iterations > most ? a.s.iterations : most;
        if (a.s.status == TD_QP_ITERATIONS)
            describe(&p, "no solution in iterations", t, a.s.iterations);
        if (a.s.status == TD_QP_INFEASIBLE)
        {
            infeasible++;
            if (p.feasible)
                describe(&p, "called infeasible, violation", t, a.s.violation);
            double least = least_violation_conditions(&p, &a);
            if (!(least < 1e-9))
                describe(&p, "violation is not least:", t, least);
            widen(&p, a.x);
        }
        double off = conditions(&p, &a);
        if (!(off < 1e-9))
            describe(&p, "conditions violated by", t, off);
        worst = fmax(worst, off);
        if (a.s.status != TD_QP_OPTIMAL)
            continue;
        double reference = base.n + base.m <= 6 ? enumerate(&base) : t % 16 == 1 ? alternate(&base) : NAN;
        enumerated += base.n + base.m <= 6;
        if (isnan(reference))
            continue;
        alternated += base.n + base.m > 6;
        double f = objective(&p, a.x);
        if (!(fabs(f - reference) <= 1e-8 * fmax(1, fabs(reference))))
            describe(&p, "objective off by", t, f - reference);
    }
    print_message("%d problems: %d enumerated, %d by alternating directions, %d infeasible; conditions within %.1e, at "
                  "most %d iterations\n",
                  PROBLEMS, enumerated, alternated, infeasible, worst, most);
    assert_true(enumerated > 2000 && alternated > 100 && infeasible > 300);
    td_arena_free(&arena);
}

// Warm from the neighbour's solution: the same optimum, in fewer iterations.
static void warm_start(void **unused)
{
    (void)unused;
    tdArena arena = {0};
    tdQpWork *work = td_qp_work(&arena, N, N);
    long cold = 0, warm = 0;
    for (int t = 0; t < 200; t++)
    {
        problem p;
        answer a, b;
        do
            make(&p, 9);
        while (!p.feasible);
        double g[N];
        memcpy(g, p.g, sizeof g);
        solve(&p, work, false, &a);
        for (int step = 1; step < 20; step++)
        {
            for (int j = 0; j < p.n; j++) // a factor keeps g in the range of H
                p.g[j] = g[j] * (1 + 0.5 * sin(0.1 * step));
            for (int i = 0; i < p.m; i++)
                if (p.cl[i] < p.cu[i])
                    p.cu[i] += 0.01;
            solve(&p, work, true, &a);
            solve(&p, work, false, &b);
            warm += a.s.iterations;
            cold += b.s.iterations;
            assert_int_equal(a.s.status, b.s.status);
            assert_int_equal(a.s.status, TD_QP_OPTIMAL);
            assert_true(conditions(&p, &a) < 1e-9);
            assert_near(objective(&p, a.x), objective(&p, b.x), 1e-9 * fmax(1, fabs(objective(&p, b.x))));
        }
    }
    print_message("iterations: %ld cold, %ld warm\n", cold, warm);
    assert_true(2 * warm < cold);
    td_arena_free(&arena);
}

// A warm start that has nothing to do with the problem, or is not even a number, costs iterations and nothing else.
static void misleading_warm_start(void **unused)
{
    (void)unused;
    tdArena arena = {0};
    tdQpWork *work = td_qp_work(&arena, N, N);
    for (int t = 0; t < 1000; t++)
    {
        problem p;
        answer a, b;
        make(&p, 6);
        solve(&p, work, false, &b);
        for (int j = 0; j < p.n + p.m; j++)
            a.active[j] = (signed char)whole(-1, 1);
        for (int j = 0; j < p.n; j++)
            a.x[j] = t % 10 == 0 ? NAN : uniform(-3, 3);
        solve(&p, work, true, &a);
        assert_int_equal(a.s.status, b.s.status);
        if (b.s.status == TD_QP_INFEASIBLE)
            widen(&p, a.x);
        assert_true(conditions(&p, &a) < 1e-9);
        assert_near(objective(&p, a.x), objective(&p, b.x), 1e-8 * fmax(1, fabs(objective(&p, b.x))));
    }
    td_arena_free(&arena);
}

static void iterations_are_bounded(void **unused)
{
    (void)unused;
    tdArena arena = {0};
    tdQpWork *work = td_qp_work(&arena, N, N);
    int stopped = 0;
    for (int t = 0; t < 500; t++)
    {
        problem p;
        answer a, again;
        make(&p, 9);
        for (int most = 1; most < 6; most++)
        {
            tdQp qp = as_qp(&p);
            qp.max_iterations = most;
            a.s = (tdQpSolution){.x = a.x, .z = a.z, .active = a.active};
            td_qp_solve(&qp, work, false, &a.s);
            assert_true(a.s.iterations <= most);
            stopped += a.s.status == TD_QP_ITERATIONS;
            for (int j = 0; j < p.n; j++)
                assert_true(a.x[j] >= p.xl[j] && a.x[j] <= p.xu[j]);
        }
        solve(&p, work, false, &a); // the same bits in another run
        solve(&p, work, false, &again);
        assert_memory_equal(a.x, again.x, (size_t)p.n * sizeof *a.x);
        assert_memory_equal(a.z, again.z, (size_t)(p.n + p.m) * sizeof *a.z);
    }
    assert_true(stopped > 100);
    td_arena_free(&arena);
}

// NaN, infinity and overflow anywhere, an objective without a floor, bounds that cross: a status and numbers.
static void hostile_numbers(void **unused)
{
    (void)unused;
    tdArena arena = {0};
    tdQpWork *work = td_qp_work(&arena, N, N);
    const double bad[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, 1e-320};
    for (int t = 0; t < 3000; t++)
    {
        problem p;
        answer a;
        make(&p, 4);
        double *fields[] = {p.H, p.g, p.xl, p.xu, p.C, p.cl, p.cu};
        int sizes[] = {p.n * p.n, p.n, p.n, p.n, p.m * p.n, p.m, p.m}, field = whole(0, 6);
        if (sizes[field] == 0)
            continue;
        fields[field][whole(0, sizes[field] - 1)] = bad[whole(0, 5)];
        solve(&p, work, false, &a);
        assert_in_range(a.s.status, TD_QP_OPTIMAL, TD_QP_INFEASIBLE);
        for (int j = 0; j < p.n; j++)
            assert_true(isfinite(a.x[j]) && isfinite(a.z[j]));
    }
    problem p = {.n = 2, .g = {1, -1}, .H = {1, 1, 1, 1}, .xl = {-INFINITY, -INFINITY}, .xu = {INFINITY, INFINITY}};
    answer a;
    solve(&p, work, false, &a);
    assert_int_equal(a.s.status, TD_QP_ITERATIONS);
    assert_true(isfinite(a.x[0]) && isfinite(a.x[1]));
    problem crossed = {.n = 1, .m = 1, .H = {1}, .xl = {2}, .xu = {1}, .C = {1}, .cl = {-9}, .cu = {9}};
    solve(&crossed, work, false, &a);
    assert_int_equal(a.s.status, TD_QP_INFEASIBLE);
    assert_near(a.x[0], 1.5, 0);
    assert_near(a.s.violation, 0.5, 0);
    td_arena_free(&arena);
}

// Two rows that contradict each other, of lengths 1 and 2 in the scaled unknowns: met in the middle of their scaled
// violations, then the objective decides what is free.
static void contradiction(void **unused)
{
    (void)unused;
    tdArena arena = {0};
    tdQpWork *work = td_qp_work(&arena, N, N);
    problem p = {.n = 2,
                 .m = 2,
                 .H = {1, 0, 0, 1},
                 .g = {0, -3},
                 .xl = {-9, -9},
                 .xu = {9, 9},
                 .C = {1, 0, 2, 0},
                 .cl = {1, -INFINITY},
                 .cu = {INFINITY, -2}};
    answer a;
    solve(&p, work, false, &a);
    assert_int_equal(a.s.status, TD_QP_INFEASIBLE);
    assert_near(a.x[0], 0, 1e-12);
    assert_near(a.x[1], 3, 1e-12);
    assert_near(a.s.violation, 2, 1e-12);
    td_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems),       cmocka_unit_test(warm_start),
        cmocka_unit_test(misleading_warm_start), cmocka_unit_test(iterations_are_bounded),
        cmocka_unit_test(hostile_numbers),       cmocka_unit_test(contradiction)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
