// SPDX-License-Identifier: Apache-2.0
// The dual active-set method against the primal one (qp.h), which finds the same least distance by another way.
#include "qp_random.h"

#include "solve/dual_set.h"

enum
{
    N = 12, // most unknowns
    M = 20, // most rows
    K = 6,  // most rows of E
    PROBLEMS = 4000
};

static double E[K * N], e0[K], xl[N], xu[N], C[M * N], cl[M], cu[M];

static double length_at(int n, int k, const double *x)
{
    double square = 0;
    for (int i = 0; i < k; i++)
    {
        double t = e0[i];
        for (int j = 0; j < n; j++)
            t += E[i * n + j] * x[j];
        square += t * t;
    }
    return sqrt(square);
}

static double violation_at(int n, int m, const double *x)
{
    double most = 0;
    for (int j = 0; j < n; j++)
        most = fmax(most, fmax(xl[j] - x[j], x[j] - xu[j]));
    for (int i = 0; i < m; i++)
    {
        double y = 0;
        for (int j = 0; j < n; j++)
            y += C[i * n + j] * x[j];
        most = fmax(most, fmax(cl[i] - y, y - cu[i]));
    }
    return most;
}

// Some with room for all rows, some without; equations, fixed and unbounded unknowns, rows that hold at the start.
static void make(int n, int m, int k, bool room, double *inside)
{
    for (int i = 0; i < k * n; i++)
        E[i] = uniform(-1, 1);
    for (int i = 0; i < k; i++)
        e0[i] = uniform(-4, 4);
    for (int j = 0; j < n; j++)
    {
        inside[j] = uniform(-1, 1);
        xl[j] = chance(0.1) ? -INFINITY : inside[j] - uniform(0, 1);
        xu[j] = chance(0.1)                       ? INFINITY
                : chance(0.05) && isfinite(xl[j]) ? inside[j] = xl[j]
                                                  : inside[j] + uniform(0, 1);
    }
    for (int i = 0; i < m; i++)
    {
        double at = room ? 0 : uniform(-2, 2);
        for (int j = 0; j < n; j++)
        {
            C[i * n + j] = chance(0.3) ? 0 : uniform(-1, 1);
            at += C[i * n + j] * inside[j];
        }
        cl[i] = at - (chance(0.2) ? 0 : uniform(0, 0.5));
        cu[i] = chance(0.6) ? INFINITY : chance(0.1) ? cl[i] = at : at + uniform(0, 0.5);
    }
}

static void test_random(void **context)
{
    (void)context;
    tdArena arena = {0};
    tdDualSet set;
    tdQpWork *work = td_qp_work(&arena, N, M);
    int contradict = 0, missed = 0, met = 0, said = 0;
    double worst = 0, broken = 0;
    assert_true(td_dual_set_take(&set, &arena, N, M) && work != NULL);
    for (int t = 0; t < PROBLEMS; t++)
    {
        int n = 1 + (int)uniform(0, N - 1e-9), m = (int)uniform(0, M),
            k = 1 + (int)uniform(0, n < K ? n - 1e-9 : K - 1e-9);
        double x[N], inside[N], best[N] = {0}, z[N + M];
        signed char active[N + M] = {0}, held[N + M];
        int iterations = 0;
        make(n, m, k, t % 4 != 0, inside);
        memcpy(x, inside, sizeof x);
        const tdDualSetProblem problem = {n, k, m, E, e0, xl, xu, C, cl, cu};
        bool found = td_dual_set_solve(&set, &problem, x, held, &iterations);
        const tdQp qp = {.n = n, .m = m, .xl = xl, .xu = xu, .C = C, .cl = cl, .cu = cu};
        tdQpSolution solution = {.x = best, .active = active, .z = z};
        td_qp_solve_squares(&qp, k, E, e0, work, false, &solution);
        bool can = solution.status == TD_QP_OPTIMAL;
        contradict += !can;
        said += !can && !found;
        missed += can && !found;
        broken = fmax(broken, found ? violation_at(n, m, x) : 0); // so that there is such an x, whatever the other says
        if (!can || !found)
            continue;
        met++;
        worst = fmax(worst, fabs(length_at(n, k, x) - length_at(n, k, best)));
        for (int j = 0; j < n + m; j++)
            if (held[j] != 0 && j < n && x[j] != (held[j] < 0 ? xl[j] : xu[j]))
                fail_msg("problem %d: unknown %d is said to be at a bound and is not", t, j);
    }
    print_message("%d programs: distances differ by %.1e at most, bounds are broken by %.1e; of %d that contradict "
                  "themselves %d are found out, %d are given up that do not\n",
                  met, worst, broken, contradict, said, missed);
    assert_true(met > PROBLEMS / 2 && contradict > PROBLEMS / 20);
    assert_true(worst < 2e-5); // EPS of the squares of distances up to 10
    assert_true(broken < 1e-8);
    assert_true(said > contradict * 9 / 10 && missed <= PROBLEMS / 1000);
    td_arena_free(&arena);
}

// Where many x are as good, the one on entry is left by as little as can be.
static void test_near(void **context)
{
    (void)context;
    tdArena arena = {0};
    tdDualSet set;
    double x[3] = {0.3, -0.2, 0.5};
    const double row[3] = {1, 1, 0}, error = -1, low[3] = {-1, -1, -1}, high[3] = {1, 1, 1};
    signed char held[3];
    int iterations = 0;
    assert_true(td_dual_set_take(&set, &arena, 3, 0));
    const tdDualSetProblem problem = {3, 1, 0, row, &error, low, high, NULL, NULL, NULL};
    assert_true(td_dual_set_solve(&set, &problem, x, held, &iterations));
    assert_true(fabs(x[0] - 0.75) < 1e-6 && fabs(x[1] - 0.25) < 1e-6 && x[2] == 0.5);
    assert_true(held[0] == 0 && held[1] == 0 && held[2] == 0 && iterations == 0);
    x[0] = NAN;
    assert_false(td_dual_set_solve(&set, &problem, x, held, &iterations));
    td_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_near)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
