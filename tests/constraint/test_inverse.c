// SPDX-License-Identifier: Apache-2.0
// The inverse problem of one linearization against closed forms, grids over all that the actuators can do, and its
// conditions of optimality.
#include "solve/qp_random.h"

#include "solve/inverse.h"

enum
{
    A = 12, // most actuators and rows
    E = 300 // most effector rows
};

typedef struct task
{
    double E[E * A], e0[E], W[A * A], xl[A], xu[A], C[A * A], cl[A], cu[A];
    double x[A];
    signed char active[2 * A];
    tdInverse p;
    tdInverseResult r;
} task;

static tdArena arena;
static tdInverseWork *work;
static tdQpWork *lp;

static int set_up(void **unused)
{
    (void)unused;
    work = td_inverse_work(&arena, A, E, A);
    lp = td_qp_work(&arena, A, 2 * A);
    return work == NULL || lp == NULL;
}

static int tear_down(void **unused)
{
    (void)unused;
    td_arena_free(&arena);
    arena = (tdArena){0};
    return 0;
}

// W = B'B + 0.1; E random; no bounds. Column j of E in units of unit[j].
static void make(task *t, int n_a, int n_e, double decades)
{
    double B[A * A], unit[A];
    memset(t, 0, sizeof *t);
    t->p = (tdInverse){.n_a = n_a,
                       .n_e = n_e,
                       .E = t->E,
                       .e0 = t->e0,
                       .W = t->W,
                       .xl = t->xl,
                       .xu = t->xu,
                       .C = t->C,
                       .cl = t->cl,
                       .cu = t->cu,
                       .epsilon = 1e-3,
                       .tolerance = 1e-6};
    t->r.x = t->x;
    t->r.active = t->active;
    for (int j = 0; j < n_a; j++)
    {
        unit[j] = pow(10, uniform(-decades, decades));
        t->xl[j] = -INFINITY;
        t->xu[j] = INFINITY;
    }
    for (int i = 0; i < n_a * n_a; i++)
        B[i] = uniform(-1, 1);
    for (int i = 0; i < n_a; i++)
        for (int j = 0; j < n_a; j++)
        {
            double s = i == j ? 0.1 : 0;
            for (int k = 0; k < n_a; k++)
                s += B[k * n_a + i] * B[k * n_a + j];
            t->W[i * n_a + j] = s * unit[i] * unit[j];
        }
    for (int i = 0; i < n_e; i++)
    {
        t->e0[i] = uniform(-1, 1);
        for (int j = 0; j < n_a; j++)
            t->E[i * n_a + j] = uniform(-1, 1) * unit[j];
    }
}

static void solve(task *t, bool warm)
{
    td_inverse_solve(&t->p, work, warm, &t->r);
}

static double energy(const task *t, const double *x)
{
    double f = 0;
    for (int i = 0; i < t->p.n_a; i++)
        f += 0.5 * x[i] * dot(t->W + i * t->p.n_a, x, t->p.n_a);
    return f;
}

static double residual(const task *t, const double *x)
{
    double f = 0;
    for (int i = 0; i < t->p.n_e; i++)
    {
        double e = dot(t->E + i * t->p.n_a, x, t->p.n_a) + t->e0[i];
        f += e * e;
    }
    return sqrt(f);
}

// [W E'; E 0] (x, l) = (0, -e0): the least energy among the x that reach, without bounds.
static void least_energy_reach(const task *t, double *x)
{
    int n = t->p.n_a, e = t->p.n_e, k = n + e;
    double K[4 * A * A] = {0}, b[2 * A] = {0}, xl[2 * A];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            K[i * k + j] = t->W[i * n + j];
    for (int i = 0; i < e; i++)
    {
        b[n + i] = -t->e0[i];
        for (int j = 0; j < n; j++)
            K[(n + i) * k + j] = K[j * k + n + i] = t->E[i * n + j];
    }
    assert_true(gauss(k, K, b, xl));
    memcpy(x, xl, (size_t)n * sizeof *x);
}

static void reaches_with_least_energy(void **unused)
{
    (void)unused;
    double worst = 0, off = 0;
    for (int t = 0; t < 500; t++)
    {
        task k;
        double x[A];
        int n = whole(2, 9), e = whole(1, n > 6 ? 6 : n);
        make(&k, n, e, t % 2 == 0 ? 0 : 1);
        solve(&k, false);
        least_energy_reach(&k, x);
        assert_int_equal(k.r.status, TD_QP_OPTIMAL);
        assert_false(k.r.out_of_reach);
        worst = fmax(worst, k.r.residual);
        assert_true(k.r.stationarity < 1e-9);
        if (residual(&k, x) < 1e-10) // the reference squares nothing, but it is not scaled either
            off = fmax(off, fabs(energy(&k, k.x) / energy(&k, x) - 1));
    }
    print_message("residual %.1e of targets of size 1, energy within %.1e of the closed form\n", worst, off);
    assert_true(worst < 1e-9 && off < 1e-8);
}

// Pressures of 1e5 beside forces of 1, ten decades apart in the columns of E.
static void units_do_not_matter(void **unused)
{
    (void)unused;
    for (int t = 0; t < 200; t++)
    {
        task k, scaled;
        double unit[A];
        make(&k, 5, 3, 0);
        for (int j = 0; j < 5; j++)
        {
            unit[j] = pow(10, whole(-5, 5));
            k.xl[j] = -0.3;
            k.xu[j] = 0.5;
        }
        scaled = k;
        scaled.p = (tdInverse){.n_a = 5,
                               .n_e = 3,
                               .E = scaled.E,
                               .e0 = scaled.e0,
                               .W = scaled.W,
                               .xl = scaled.xl,
                               .xu = scaled.xu,
                               .C = scaled.C,
                               .cl = scaled.cl,
                               .cu = scaled.cu,
                               .tolerance = 1e-6};
        scaled.r.x = scaled.x;
        scaled.r.active = scaled.active;
        for (int j = 0; j < 5; j++)
        {
            scaled.xl[j] /= unit[j];
            scaled.xu[j] /= unit[j];
            for (int i = 0; i < 3; i++)
                scaled.E[i * 5 + j] *= unit[j];
            for (int i = 0; i < 5; i++)
                scaled.W[i * 5 + j] *= unit[i] * unit[j];
        }
        solve(&k, false);
        solve(&scaled, false);
        assert_near(k.r.residual, scaled.r.residual, 1e-12);
        for (int j = 0; j < 5; j++)
            assert_near(k.x[j], scaled.x[j] * unit[j], 1e-9);
    }
}

// With bounds, one dimension of null space: every point of it that is in the box, on a fine grid.
static void bounded_energy_against_grid(void **unused)
{
    (void)unused;
    int compared = 0, bounded = 0;
    for (int t = 0; t < 300; t++)
    {
        task k;
        double x[A], null[A], best = INFINITY, length;
        make(&k, 4, 3, 0);
        for (int j = 0; j < 4; j++)
        {
            k.xl[j] = -uniform(0.2, 3);
            k.xu[j] = uniform(0.2, 3);
        }
        solve(&k, false);
        if (k.r.out_of_reach)
            continue;
        // The null vector by cofactors of the three rows.
        for (int j = 0; j < 4; j++)
        {
            const double *r[3] = {k.E, k.E + 4, k.E + 8};
            int a = j == 0 ? 1 : 0, b = j <= 1 ? 2 : 1, c = j <= 2 ? 3 : 2;
            null[j] = (j % 2 == 0 ? 1 : -1) * (r[0][a] * (r[1][b] * r[2][c] - r[1][c] * r[2][b]) -
                                               r[0][b] * (r[1][a] * r[2][c] - r[1][c] * r[2][a]) +
                                               r[0][c] * (r[1][a] * r[2][b] - r[1][b] * r[2][a]));
        }
        length = sqrt(dot(null, null, 4));
        for (int s = -20000; s <= 20000; s++)
        {
            bool inside = true;
            for (int j = 0; j < 4; j++)
            {
                x[j] = k.x[j] + 1e-3 * s * null[j] / length;
                inside = inside && x[j] >= k.xl[j] && x[j] <= k.xu[j];
            }
            if (inside)
                best = fmin(best, energy(&k, x));
        }
        assert_true(energy(&k, k.x) <= best * (1 + 1e-9)); // x itself is on the grid, so best is no higher
        assert_true(k.r.residual < 1e-9 && k.r.stationarity < 1e-9);
        compared++;
        for (int j = 0; j < 4; j++)
            bounded += k.active[j] != 0;
    }
    print_message("%d compared, %d bounds active\n", compared, bounded);
    assert_true(compared > 50 && bounded > 30);
}

// Two actuators, three effector rows, a box and a row: nothing on a fine grid is nearer.
static void out_of_reach_against_grid(void **unused)
{
    (void)unused;
    for (int t = 0; t < 60; t++)
    {
        task k;
        double best = INFINITY;
        make(&k, 2, 3, 0);
        k.p.n_c = 1;
        for (int j = 0; j < 2; j++)
        {
            k.xl[j] = -uniform(0.1, 0.5);
            k.xu[j] = uniform(0.1, 0.5);
            k.C[j] = uniform(-1, 1);
        }
        k.cl[0] = -0.1;
        k.cu[0] = 0.1;
        solve(&k, false);
        for (int a = 0; a <= 500; a++)
            for (int b = 0; b <= 500; b++)
            {
                double x[2] = {k.xl[0] + (k.xu[0] - k.xl[0]) * a / 500, k.xl[1] + (k.xu[1] - k.xl[1]) * b / 500};
                if (fabs(dot(k.C, x, 2)) <= 0.1)
                    best = fmin(best, residual(&k, x));
            }
        assert_int_equal(k.r.status, TD_QP_OPTIMAL);
        assert_true(k.r.out_of_reach);
        assert_true(k.r.stationarity < 1e-9);
        assert_near(k.r.residual, residual(&k, k.x), 1e-14);
        assert_true(k.r.residual <= best * (1 + 1e-12));
        assert_true(best <= k.r.residual + 0.01); // cells of 0.002, |E| below 2.5
    }
}

// How much a linear objective can still fall within the constraints and, if asked for, with the image of x kept,
// relative to its terms: nothing at the minimum of a convex objective with this gradient, and only there.
static double descent_left(const task *k, const double *gradient, const double *size, bool keep_image)
{
    static const double zero[A * A];
    int n = k->p.n_a, m = 0;
    double C[2 * A * A], cl[2 * A], cu[2 * A], x[A], z[3 * A], terms = 1e-300, fall = 0;
    signed char active[3 * A];
    for (; m < k->p.n_c; m++)
    {
        memcpy(C + m * n, k->C + m * n, (size_t)n * sizeof *C);
        cl[m] = k->cl[m];
        cu[m] = k->cu[m];
    }
    for (int i = 0; keep_image && i < k->p.n_e; i++, m++)
    {
        memcpy(C + m * n, k->E + i * n, (size_t)n * sizeof *C);
        cl[m] = cu[m] = dot(k->E + i * n, k->x, n);
    }
    tdQp qp = {n, m, zero, gradient, k->xl, k->xu, C, cl, cu, 0};
    tdQpSolution s = {.x = x, .active = active, .z = z};
    td_qp_solve(&qp, lp, false, &s);
    assert_int_not_equal(s.status, TD_QP_ITERATIONS);
    for (int j = 0; j < n; j++)
    {
        fall += gradient[j] * (k->x[j] - x[j]);
        terms += size[j] * (k->xu[j] - k->xl[j]);
    }
    return s.status == TD_QP_OPTIMAL ? fall / terms : 0;
}

// Of 1/2 |E x + e0|² or of the energy, with the size of the terms of each component.
static void gradient_of(const task *k, bool of_energy, double *gradient, double *size)
{
    int n = k->p.n_a;
    memset(gradient, 0, (size_t)n * sizeof *gradient);
    memset(size, 0, (size_t)n * sizeof *size);
    for (int i = 0; i < (of_energy ? n : k->p.n_e); i++)
    {
        double value = of_energy ? k->x[i] : k->e0[i], whole_value = fabs(value);
        for (int j = 0; j < n && !of_energy; j++)
        {
            value += k->E[i * n + j] * k->x[j];
            whole_value += fabs(k->E[i * n + j] * k->x[j]);
        }
        for (int j = 0; j < n; j++)
        {
            double a = of_energy ? k->W[i * n + j] : k->E[i * n + j];
            gradient[j] += a * value;
            size[j] += fabs(a) * whole_value;
        }
    }
}

// Random problems with redundant actuators, rows, groups and units: conditions of the first problem, as reported and
// by what a linear program still finds; the same for the energy with the image kept.
static void conditions_hold(void **unused)
{
    (void)unused;
    double worst = 0, error_left = 0, energy_left = 0;
    int out_of_reach = 0, infeasible = 0;
    for (int t = 0; t < 4000; t++)
    {
        task k;
        double gradient[A], size_of[A];
        int n = whole(1, 9), e = whole(1, 9);
        make(&k, n, e, t % 3 == 0 ? 4 : 0);
        k.p.n_c = whole(0, 9);
        for (int j = 0; j < n; j++)
        {
            double unit = sqrt(k.W[j * n + j]);
            k.xl[j] = chance(0.5) ? 0 : -uniform(0, 2) / unit;
            k.xu[j] = chance(0.1) ? k.xl[j] : uniform(0, 2) / unit;
        }
        if (chance(0.3)) // a copy of an actuator
            for (int i = 0; i < e; i++)
                k.E[i * n + n - 1] = 2 * k.E[i * n];
        for (int i = 0; i < k.p.n_c; i++)
        {
            bool group = chance(0.1);
            for (int j = 0; j < n; j++) // displacements, as Waa gives them
                k.C[i * n + j] = group ? (j == i % n) - (j == (i + 1) % n) : k.W[(i % n) * n + j];
            k.cl[i] = group ? 0 : -uniform(0, 1) * sqrt(k.W[(i % n) * n + i % n]);
            k.cu[i] = group ? 0 : uniform(0, 1) * sqrt(k.W[(i % n) * n + i % n]);
        }
        solve(&k, false);
        assert_int_not_equal(k.r.status, TD_QP_ITERATIONS);
        out_of_reach += k.r.out_of_reach;
        infeasible += k.r.status == TD_QP_INFEASIBLE;
        worst = fmax(worst, k.r.stationarity);
        for (int j = 0; j < n; j++)
            assert_true(k.x[j] >= k.xl[j] && k.x[j] <= k.xu[j]);
        if (k.r.status == TD_QP_OPTIMAL)
        {
            gradient_of(&k, false, gradient, size_of);
            error_left = fmax(error_left, descent_left(&k, gradient, size_of, false));
            gradient_of(&k, true, gradient, size_of);
            double left = descent_left(&k, gradient, size_of, true);
            energy_left = fmax(energy_left, left);
        }
        // The same from the solution.
        double before = k.r.residual, cost = energy(&k, k.x), size = 0;
        for (int i = 0; i < e; i++)
            size = fmax(size, fabs(k.e0[i]));
        solve(&k, true);
        assert_near(k.r.residual, before, 1e-9 * size);
        assert_near(energy(&k, k.x), cost, 1e-8 * (cost + 1e-12));
    }
    print_message("%d out of reach, %d infeasible, conditions within %.1e; left to gain: error %.1e, energy %.1e\n",
                  out_of_reach, infeasible, worst, error_left, energy_left);
    assert_true(worst < 1e-9 && error_left < 1e-9);
    assert_true(energy_left < 1e-8); // rows that are met to 1e-9 give the linear program some play
    assert_true(out_of_reach > 1000);
}

// (E'E + eps W) x = -E'e0, and what eps costs: the error that is left is eps (E W⁻¹ E')⁻¹ e0 to first order.
static void s4_weighted(void **unused)
{
    (void)unused;
    double bias = 0;
    int redundant = 0;
    for (int t = 0; t < 300; t++)
    {
        task k;
        double H[A * A], b[A], x[A], of_E = 0, of_W = 0;
        int n = whole(2, 6);
        make(&k, n, 3, 0);
        k.p.energy = TD_ENERGY_S4;
        for (int i = 0; i < n; i++)
        {
            double sum_E = 0, sum_W = 0;
            b[i] = 0;
            for (int l = 0; l < 3; l++)
                b[i] -= k.E[l * n + i] * k.e0[l];
            for (int j = 0; j < n; j++)
            {
                H[i * n + j] = 0;
                for (int l = 0; l < 3; l++)
                    H[i * n + j] += k.E[l * n + i] * k.E[l * n + j];
                sum_E += fabs(H[i * n + j]);
                sum_W += fabs(k.W[i * n + j]);
            }
            of_E = fmax(of_E, sum_E);
            of_W = fmax(of_W, sum_W);
        }
        for (int i = 0; i < n * n; i++)
            H[i] += 1e-3 * of_E / of_W * k.W[i];
        assert_true(gauss(n, H, b, x));
        solve(&k, false);
        assert_int_equal(k.r.status, TD_QP_OPTIMAL);
        assert_true(k.r.stationarity < 1e-9);
        for (int j = 0; j < n; j++)
            assert_near(k.x[j], x[j], 1e-9 * (1 + fabs(x[j]))); // the reference squares E: eps / 1e-16 of digits left
        if (n > 3)
        {
            bias += k.r.residual / sqrt(dot(k.e0, k.e0, 3));
            redundant++;
        }
    }
    bias /= redundant;
    print_message("error left by the weight: %.2f %% of the free one on average\n", 100 * bias);
    assert_true(bias > 5e-4 && bias < 5e-2); // about 0.5 %, by the conditioning of E
}

static void gauss_seidel(void **unused)
{
    (void)unused;
    for (int t = 0; t < 300; t++)
    {
        task k;
        int n = whole(1, 4);
        make(&k, n, 9, t % 2 == 0 ? 0 : 3);
        for (int j = 0; j < n; j++)
        {
            double unit = sqrt(k.W[j * n + j]);
            k.xl[j] = -uniform(0, 0.3) / unit;
            k.xu[j] = uniform(0, 0.3) / unit;
        }
        solve(&k, false);
        double x[A], reached = k.r.residual;
        memcpy(x, k.x, sizeof x);
        k.p.solver = TD_INVERSE_GAUSS_SEIDEL;
        solve(&k, false);
        assert_int_equal(k.r.status, TD_QP_OPTIMAL);
        assert_true(k.r.stationarity < 1e-6);
        assert_near(k.r.residual, reached, 1e-9);
        for (int j = 0; j < n; j++)
            assert_near(k.x[j] * sqrt(k.W[j * n + j]), x[j] * sqrt(k.W[j * n + j]), 1e-6);
        solve(&k, true); // from the solution: nothing to do
        assert_true(k.r.iterations <= 3);
        // Rows clip moves: they hold, and the error is no larger than at the start.
        k.p.n_c = 1;
        for (int j = 0; j < n; j++)
            k.C[j] = uniform(-1, 1) * sqrt(k.W[j * n + j]);
        k.cl[0] = -0.05;
        k.cu[0] = 0.05;
        solve(&k, false);
        assert_int_equal(k.r.status, TD_QP_OPTIMAL);
        assert_true(fabs(dot(k.C, k.x, n)) <= 0.05 * (1 + 1e-12));
        assert_true(k.r.residual <= sqrt(dot(k.e0, k.e0, 9)) * (1 + 1e-12));
    }
}

// Two pairs of cables on two motors: displacements equal within each pair.
static void groups(void **unused)
{
    (void)unused;
    for (int t = 0; t < 200; t++)
    {
        task k;
        make(&k, 4, 2, 0);
        k.p.n_c = 2;
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 4; j++)
                k.C[i * 4 + j] = k.W[2 * i * 4 + j] - k.W[(2 * i + 1) * 4 + j];
        for (int j = 0; j < 4; j++)
        {
            k.xl[j] = -50;
            k.xu[j] = 50;
        }
        solve(&k, false);
        assert_int_equal(k.r.status, TD_QP_OPTIMAL);
        for (int i = 0; i < 2; i++)
            assert_near(dot(k.C + 4 * i, k.x, 4), 0, 1e-10);
        assert_true(k.r.stationarity < 1e-9);
        // Four unknowns, two groups, two effector rows: exactly one solution.
        double K[16], b[4] = {-k.e0[0], -k.e0[1], 0, 0}, x[4];
        memcpy(K, k.E, 8 * sizeof *K);
        memcpy(K + 8, k.C, 8 * sizeof *K);
        bool inside = gauss(4, K, b, x);
        for (int j = 0; j < 4; j++)
            inside = inside && fabs(x[j]) < 49;
        for (int j = 0; j < 4 && inside; j++)
            assert_near(k.x[j], x[j], 1e-8 * (1 + fabs(x[j])));
    }
}

static void infeasible_rows(void **unused)
{
    (void)unused;
    for (int solver = 0; solver < 3; solver++)
    {
        task k;
        make(&k, 3, 2, 0);
        for (int j = 0; j < 3; j++)
        {
            k.xl[j] = 0;
            k.xu[j] = 1;
            k.C[j] = 1;
        }
        k.p.n_c = 1;
        k.cl[0] = 5;
        k.cu[0] = INFINITY;
        k.p.solver = solver == 2 ? TD_INVERSE_GAUSS_SEIDEL : TD_INVERSE_QP;
        k.p.energy = solver == 1 ? TD_ENERGY_S4 : TD_ENERGY_NULL_SPACE;
        solve(&k, false);
        assert_int_equal(k.r.status, TD_QP_INFEASIBLE);
        assert_near(k.r.violation, 2, 1e-12);
        for (int j = 0; j < 3; j++)
            assert_near(k.x[j], 1, 1e-12);
    }
}

// Hundreds of measurements, a few loads: as exact as few.
static void many_effectors(void **unused)
{
    (void)unused;
    for (int t = 0; t < 20; t++)
    {
        task k;
        double truth[6];
        make(&k, 6, E, 5);
        for (int j = 0; j < 6; j++)
        {
            k.xl[j] = -INFINITY;
            truth[j] = uniform(0.5, 1) / fabs(k.E[j]);
        }
        for (int i = 0; i < E; i++)
            k.e0[i] = -dot(k.E + i * 6, truth, 6);
        solve(&k, false);
        for (int j = 0; j < 6; j++)
            assert_near(k.x[j] / truth[j], 1, 1e-8); // loads of ten decades: the weak ones are a part of the sum
    }
}

// An energy that does not see some unknowns: one answer, the same from any start, and reach untouched.
static void singular_energy(void **unused)
{
    (void)unused;
    for (int t = 0; t < 100; t++)
    {
        task k;
        double x[A];
        make(&k, 5, 2, 0);
        memset(k.W, 0, sizeof k.W);
        if (t % 2 == 0)
            k.W[0] = k.W[6] = 1;
        for (int j = 0; j < 5; j++)
        {
            k.xl[j] = -5;
            k.xu[j] = 5;
        }
        solve(&k, false);
        if (k.r.out_of_reach)
            continue;
        memcpy(x, k.x, sizeof x);
        for (int j = 0; j < 5; j++)
            k.x[j] = uniform(-5, 5);
        for (int j = 0; j < 5; j++)
            k.active[j] = (signed char)whole(-1, 1);
        solve(&k, true);
        assert_true(k.r.residual < 1e-9);
        for (int j = 0; j < 5; j++)
            assert_near(k.x[j], x[j], 1e-6);
    }
}

// As large as it gets: 64 actuators, 300 measurements, 64 rows; and nothing at all.
static void large_and_empty(void **unused)
{
    (void)unused;
    enum
    {
        N = 64
    };
    tdArena own = {0};
    tdInverseWork *large = td_inverse_work(&own, N, E, N);
    double *data = TD_TAKE(&own, double, E *N + E + 2 * N * N + 7 * N), *x = data + E * N + E + 2 * N * N + 6 * N;
    signed char *active = TD_TAKE(&own, signed char, 2 * N);
    double *e0 = data + E * N, *W = e0 + E, *C = W + N * N, *xl = C + N * N, *xu = xl + N, *cl = xu + N, *cu = cl + N;
    for (int n_e = 20; n_e <= E; n_e += 280)
    {
        for (int i = 0; i < E * N + E; i++)
            data[i] = uniform(-1, 1);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
            {
                W[i * N + j] = exp(-0.2 * abs(i - j)); // the energy of a chain: positive definite
                C[i * N + j] = W[i * N + j];
            }
        for (int j = 0; j < N; j++)
        {
            xl[j] = -uniform(0, 0.3);
            xu[j] = uniform(0, 0.3);
            cl[j] = -uniform(0, 0.3);
            cu[j] = uniform(0, 0.3);
        }
        tdInverse p = {.n_a = N,
                       .n_e = n_e,
                       .n_c = N,
                       .E = data,
                       .e0 = e0,
                       .W = W,
                       .xl = xl,
                       .xu = xu,
                       .C = C,
                       .cl = cl,
                       .cu = cu,
                       .tolerance = 1e-6};
        tdInverseResult r = {.x = x, .active = active};
        td_inverse_solve(&p, large, false, &r);
        print_message("%d effector rows: %d iterations, residual %g, conditions within %.1e\n", n_e, r.iterations,
                      r.residual, r.stationarity);
        assert_int_equal(r.status, TD_QP_OPTIMAL);
        assert_true(r.stationarity < 1e-9);
        int cold = r.iterations;
        td_inverse_solve(&p, large, true, &r);
        assert_int_equal(r.status, TD_QP_OPTIMAL);
        assert_true(r.iterations < 10 && r.iterations < cold);
        p.n_e = 0; // no target: rest
        td_inverse_solve(&p, large, false, &r);
        assert_int_equal(r.status, TD_QP_OPTIMAL);
        assert_false(r.out_of_reach);
        for (int j = 0; j < N; j++)
            assert_near(x[j], 0, 1e-12);
        p.n_a = p.n_c = 0;
        p.n_e = 3; // no actuator: the error stays
        for (int solver = 0; solver < 2; solver++)
        {
            p.solver = solver == 0 ? TD_INVERSE_QP : TD_INVERSE_GAUSS_SEIDEL;
            td_inverse_solve(&p, large, false, &r);
            assert_near(r.residual, sqrt(dot(e0, e0, 3)), 1e-15);
        }
    }
    td_arena_free(&own);
}

static void hostile_numbers(void **unused)
{
    (void)unused;
    const double bad[] = {NAN, INFINITY, -INFINITY, 1e300, 1e-320};
    for (int t = 0; t < 3000; t++)
    {
        task k;
        make(&k, 3, 2, 0);
        k.p.n_c = 2;
        for (int i = 0; i < 6; i++)
            k.C[i] = uniform(-1, 1);
        k.cu[0] = k.cu[1] = 1;
        double *fields[] = {k.E, k.e0, k.W, k.xl, k.xu, k.C, k.cl, k.cu};
        int sizes[] = {6, 2, 9, 3, 3, 6, 2, 2}, field = whole(0, 7);
        fields[field][whole(0, sizes[field] - 1)] = bad[whole(0, 4)];
        k.p.solver = t % 3 == 2 ? TD_INVERSE_GAUSS_SEIDEL : TD_INVERSE_QP;
        k.p.energy = t % 3 == 1 ? TD_ENERGY_S4 : TD_ENERGY_NULL_SPACE;
        solve(&k, t % 2 == 0);
        assert_in_range(k.r.status, TD_QP_OPTIMAL, TD_QP_INFEASIBLE);
        for (int j = 0; j < 3; j++)
            assert_true(isfinite(k.x[j]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reaches_with_least_energy),
                                       cmocka_unit_test(units_do_not_matter),
                                       cmocka_unit_test(bounded_energy_against_grid),
                                       cmocka_unit_test(out_of_reach_against_grid),
                                       cmocka_unit_test(conditions_hold),
                                       cmocka_unit_test(s4_weighted),
                                       cmocka_unit_test(gauss_seidel),
                                       cmocka_unit_test(groups),
                                       cmocka_unit_test(infeasible_rows),
                                       cmocka_unit_test(many_effectors),
                                       cmocka_unit_test(singular_energy),
                                       cmocka_unit_test(large_and_empty),
                                       cmocka_unit_test(hostile_numbers)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
