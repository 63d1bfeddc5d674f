// SPDX-License-Identifier: Apache-2.0
// Inverse control beside exact contact against an enumeration of the modes of contacts.
#include "qpcc_space.h"

#include "solve/exact.h"

#define PROBLEMS 250

static qpccProblem problem; // large
static qpccOracle oracle;
static spaceOracle spatial;

static int begin(void **context)
{
    (void)context;
    tdError error = {0};
    return td_problem_create(&problem.problem, &error) == TD_OK ? 0 : -1;
}

static int end(void **context)
{
    (void)context;
    td_problem_free(problem.problem);
    td_arena_free(&problem.arena);
    td_arena_free(&oracle.arena);
    td_arena_free(&spatial.arena);
    return 0;
}

// The tree leaves nothing out: every combination of modes, one by one.
static void test_oracle(void **context)
{
    (void)context;
    for (uint64_t k = 0; k < 60; k++)
    {
        int modes[QPCC_CONTACTS] = {0}, all = 1;
        double best = INFINITY, x[QPCC_UNKNOWNS], value;
        qpcc_random(&problem, 5000 + k, 3);
        double tree = qpcc_best(&oracle, &problem, INFINITY, 1);
        for (int c = 0; c < problem.n_c; c++)
            all *= 4;
        for (int i = 0; i < all; i++)
        {
            for (int c = 0, left = i; c < problem.n_c; c++, left /= 4)
                modes[c] = QPCC_OPEN + left % 4;
            if (qpcc_node(&oracle, modes, x, &value))
                best = fmin(best, value);
        }
        if (fabs(best - tree) > 1e-6 * best + 1e-7)
            fail_msg("problem %llu: %g by the tree, %g by all modes", (unsigned long long)k, tree, best);
    }
}

// Never worse than the start, and nearly always the best there is.
// The tree with programs by another method, which shares nothing with ours.
static void test_independent(void **context)
{
    (void)context;
    for (uint64_t k = 0; k < 40; k++)
    {
        qpcc_random(&problem, 9000 + k, 3);
        double ours = qpcc_best(&oracle, &problem, INFINITY, 1);
        oracle.interior = true;
        double other = qpcc_best(&oracle, &problem, INFINITY, 1);
        oracle.interior = false;
        if (fabs(ours - other) > 1e-4 * ours + 1e-5)
            fail_msg("problem %llu: %.9g with our programs, %.9g with others", (unsigned long long)k, ours, other);
    }
}

// Pieces that differ in one contact, made from the factor of their neighbour, against their own factors.
static void test_neighbours(void **context)
{
    (void)context;
    static double slope[3 * QPCC_CONTACTS * QPCC_ACTUATORS], gamma[3 * QPCC_CONTACTS], state[6 * QPCC_CONTACTS];
    int compared = 0, closed = 0;
    for (uint64_t k = 0; k < 60; k++)
    {
        tdExact e;
        tdError error = {0};
        double before, along[2 * QPCC_CONTACTS];
        signed char mode[3 * QPCC_CONTACTS];
        int iterations = 0;
        problem.solid = k % 2 == 1;
        qpcc_random(&problem, 30000 + k, 6);
        qpcc_run(&problem, 0, 0, &before);
        tdStackMark mark = td_stack_mark(&problem.problem->entries);
        assert_ok(td_exact_begin(&e, problem.problem, problem.start, &error), error);
        td_exact_solve(&e, problem.y, 1e-9, NULL, &iterations);
        // By the factor with which the solution was found, and by its own.
        size_t n = (size_t)e.n, columns = n * (size_t)e.n_y;
        assert_true(e.converged && td_exact_piece(&e, problem.y));
        memcpy(slope, e.slope, columns * sizeof *slope);
        e.has_factor = false;
        assert_true(td_exact_piece(&e, problem.y));
        for (size_t i = 0; i < columns; i++)
            if (fabs(e.slope[i] - slope[i]) > 1e-2 * fabs(e.slope[i]) + 1e-4)
                fail_msg("problem %llu: slope %g by the last factor, %g by its own", (unsigned long long)k, slope[i],
                         e.slope[i]);
        memcpy(state, e.gamma, n * sizeof *state);
        memcpy(state + n, e.u, n * sizeof *state);
        memcpy(mode, e.mode, n);
        memcpy(along, e.along, 2 * (size_t)problem.n_c * sizeof *along);
        td_exact_keep(&e, e.gamma, e.u);
        for (int c = 0; c < problem.n_c; c++)
            for (int to = TD_EXACT_OPEN; to <= TD_EXACT_SLIDE; to++)
            {
                bool good[2];
                double off = 0, most = 0;
                for (int way = 0; way < 2; way++)
                {
                    memcpy(e.gamma, state, n * sizeof *state);
                    memcpy(e.u, state + n, n * sizeof *state);
                    memcpy(e.mode, mode, n);
                    memcpy(e.along, along, 2 * (size_t)problem.n_c * sizeof *along);
                    e.mode[3 * c] = (signed char)to;
                    e.along[2 * c] = 0.6;
                    e.along[2 * c + 1] = problem.solid ? -0.8 : 0;
                    e.has_factor = false;
                    good[way] = way == 0 ? td_exact_neighbour(&e, c) : td_exact_piece(&e, problem.y);
                    for (size_t i = 0; i < columns && way == 1; i++)
                    {
                        off = fmax(off, fabs(e.slope[i] - slope[i]));
                        most = fmax(most, fabs(e.slope[i]));
                    }
                    for (size_t i = 0; i < n && way == 1; i++)
                    {
                        off = fmax(off, fabs(e.gamma[i] - gamma[i]));
                        most = fmax(most, fabs(e.gamma[i]));
                    }
                    memcpy(slope, e.slope, columns * sizeof *slope);
                    memcpy(gamma, e.gamma, n * sizeof *gamma);
                }
                if (!good[0] || !good[1] || most > 1e5) // next to singular
                    continue;
                if (off > 1e-8 * most + 1e-12)
                    fail_msg("problem %llu, contact %d into mode %d: off by %g of %g", (unsigned long long)k, c, to,
                             off, most);
                compared++;
                closed += mode[3 * c] == TD_EXACT_OPEN && to != TD_EXACT_OPEN;
            }
        td_stack_release(&problem.problem->entries, mark);
    }
    problem.solid = false;
    assert_true(compared > 200 && closed > 20);
}

// Contacts in space, against a search that knows no slopes, from what was found and from all over the ranges.
static void test_space(void **context)
{
    (void)context;
    enum
    {
        SPATIAL = 30
    };
    int far = 0, sliding = 0;
    problem.solid = true;
    problem.most_y = 3;
    for (uint64_t k = 0; k < SPATIAL; k++)
    {
        double before = 0, y[QPCC_ACTUATORS];
        qpcc_random(&problem, 20000 + k, 4);
        double found = qpcc_run(&problem, 0, -1, &before);
        for (int c = 0; c < problem.n_c; c++)
        {
            const double *gamma = problem.problem->gamma + 3 * c;
            double mu = problem.problem->constraints[c].law.mu;
            sliding += mu > 0 && gamma[2] > 1e-6 && hypot(gamma[0], gamma[1]) > (1 - 1e-6) * mu * gamma[2];
        }
        memcpy(y, problem.y, sizeof y);
        double same = qpcc_error_at(&problem, TD_SOLVE_COULOMB, y); // another solver of the laws agrees
        if (fabs(same - found) > 1e-5 * before + 1e-6)
            fail_msg("problem %llu: %.9g by pieces, %.9g by sweeps", (unsigned long long)k, found, same);
        far += qpcc_search(&problem, TD_SOLVE_COULOMB, 40, y) < found / 1.01 - 1e-5;
    }
    problem.solid = false;
    problem.most_y = 0;
    print_message("%d problems in space, %d contacts slide: %d are not within 1 %% of the best\n", SPATIAL, sliding,
                  far);
    assert_true(sliding > SPATIAL / 5);
    assert_true(far <= 1);
}

// Contacts in space, against branch and bound; and that against a search without slopes.
static void test_space_tree(void **context)
{
    (void)context;
    enum
    {
        SPATIAL = 60
    };
    int far = 0, missed = 0, nodes = 0, cut = 0;
    problem.solid = true;
    spatial.sure = true;
    for (uint64_t k = 0; k < SPATIAL; k++)
    {
        double before = 0, y[QPCC_ACTUATORS];
        bool whole[2];
        problem.most_y = k % 2 == 0 ? 3 : 0;
        qpcc_random(&problem, 80000 + k, 4);
        double found = qpcc_run(&problem, 0, -1, &before);
        memcpy(y, problem.y, sizeof y);
        double best = space_best(&spatial, &problem, found, 0.99, &whole[0]);
        far += best < found / 1.01 - 1e-5;
        nodes += (int)spatial.nodes;
        cut += !whole[0];
        if (k % 4 != 0)
            continue;
        // From nothing known it finds what was found, and the search finds nothing better.
        double own = space_best(&spatial, &problem, INFINITY, 0.99, &whole[1]);
        double search = qpcc_search(&problem, TD_SOLVE_COULOMB, 40, y);
        missed += whole[1] && (own > found * 1.012 + 1e-4 || own > search * 1.012 + 1e-4);
    }
    problem.solid = false;
    problem.most_y = 0;
    print_message("%d problems in space: %d are not within 1 %% of the best by branch and bound, of %d nodes\n",
                  SPATIAL, far, nodes);
    assert_true(far <= 1);
    assert_int_equal(cut + missed, 0);
}

// u_n of a contact at the velocities of the problem.
static double normal_of(int c)
{
    const tdSapConstraint *constraint = &problem.problem->constraints[c];
    const tdSapSide *side = &constraint->side[0];
    double u = -constraint->law.v_hat[2];
    for (int j = 0; j < side->count; j++)
        u += side->J[2 * side->count + j] * problem.problem->blocks[0].v[side->columns[j]];
    return u + constraint->law.R[2] * problem.problem->gamma[3 * c + 2];
}

// From the impulses of the last step contacts that are far from bearing take no part. Targets jump, so that some of
// them bear in the end: the laws hold for all.
static void test_left_out(void **context)
{
    (void)context;
    static double gamma[3 * QPCC_CONTACTS], v[QPCC_N];
    int out = 0, came = 0;
    for (uint64_t k = 0; k < 150; k++)
    {
        double before, far[QPCC_CONTACTS], most = 0;
        qpcc_random(&problem, 60000 + k, QPCC_CONTACTS);
        qpcc_run(&problem, 0, 2, &before);
        size_t n = (size_t)(problem.n_p + problem.n_c);
        memcpy(gamma, problem.problem->gamma, 3 * (size_t)problem.n_c * sizeof *gamma);
        memcpy(v, problem.problem->blocks[0].v, n * sizeof *v);
        for (int c = 0; c < problem.n_c; c++)
        {
            far[c] = gamma[3 * c + 2] > 0 ? 0 : normal_of(c);
            most = fmax(most, fabs(normal_of(c)));
        }
        for (int i = 0; i < problem.n_y; i++) // the step begins where the last one ended
        {
            double d = problem.y[i] - problem.start[i];
            for (size_t j = 0; j < n; j++)
                problem.v_star[j] += d * problem.X[(size_t)i * n + j];
            for (int e = 0; e < problem.n_e; e++)
                problem.e0[e] += d * problem.E[e * problem.n_y + i];
        }
        memcpy(problem.start, problem.y, sizeof problem.y);
        for (int e = 0; e < problem.n_e; e++)
            problem.e0[e] += e % 2 == 0 ? 3 : -3;
        problem.warm = gamma;
        problem.warm_v = v;
        double found = qpcc_run(&problem, 0, 2, &before);
        problem.warm = NULL;
        if (found > before * (1 + 1e-9) + 1e-9)
            fail_msg("problem %llu: %g after %g", (unsigned long long)k, found, before);
        for (int c = 0; c < problem.n_c; c++)
        {
            double normal = problem.problem->gamma[3 * c + 2], u = normal_of(c);
            if (normal < -1e-9 || u < -1e-7 || fmin(normal, u) > 1e-7)
                fail_msg("problem %llu, contact %d: impulse %g, motion %g", (unsigned long long)k, c, normal, u);
            out += far[c] > 0.2 * most;
            came += far[c] > 0.2 * most && normal > 0;
        }
    }
    print_message("%d contacts far from bearing, %d of them bear after the step\n", out, came);
    assert_true(out > 50 && came > 10);
}

static void test_best(void **context)
{
    (void)context;
    int far = 0, optimal = 0;
    for (uint64_t k = 0; k < PROBLEMS; k++)
    {
        double before = 0;
        qpcc_random(&problem, k, k % 10 == 0 ? 7 : 4);
        double found = qpcc_run(&problem, 0, -1, &before);
        const tdSteer *steer = &problem.problem->steer;
        if (found > before * (1 + 1e-9) + 1e-9)
            fail_msg("problem %llu: from %g to %g", (unsigned long long)k, before, found);
        for (int a = 0; a < problem.n_y; a++)
            assert_true(problem.y[a] >= problem.lo[a] - 1e-9 && problem.y[a] <= problem.hi[a] + 1e-9);
        assert_true(steer->end == TD_STEER_OPTIMAL || steer->end == TD_STEER_STATIONARY);
        assert_true((steer->end == TD_STEER_OPTIMAL) == (found <= steer->tolerance));
        optimal += steer->end == TD_STEER_OPTIMAL;
        far += found > 2e-7 && qpcc_best(&oracle, &problem, found, 0.99) < found / 1.01 - 1e-7;
    }
    print_message("%d problems: %d reach their targets, %d are not within 1 %% of the best\n", PROBLEMS, optimal, far);
    assert_true(optimal > PROBLEMS / 10);
    assert_true(far <= PROBLEMS / 100);
}

// Impulses and motion of the solution obey the laws, in three dimensions too.
static void test_laws(void **context)
{
    (void)context;
    int bearing = 0, sliding = 0;
    for (uint64_t k = 0; k < 60; k++)
    {
        double before = 0;
        qpcc_random(&problem, 900 + k, 6);
        tdProblem *p = problem.problem;
        for (int c = 0; c < problem.n_c; c++) // the second tangent moves in the plane as well
            for (int j = 0; j < problem.n_p; j++)
                ((double *)p->constraints[c].side[0].J)[problem.n_p + 1 + j] = qpcc_in(&problem.seed, -1, 1);
        double found = qpcc_run(&problem, 0, 3, &before);
        assert_true(found <= before * (1 + 1e-9) + 1e-9);
        for (int c = 0; c < problem.n_c; c++)
        {
            const tdSapLaw *law = &p->constraints[c].law;
            const double *gamma = p->gamma + 3 * c, *v = p->v_c + 3 * c;
            double u = v[2] - law->v_hat[2] + law->R[2] * gamma[2], friction = hypot(gamma[0], gamma[1]);
            double speed = hypot(v[0], v[1]), most = law->mu * gamma[2];
            assert_true(gamma[2] >= -1e-8 && u >= -1e-7 && gamma[2] * u <= 1e-7);
            assert_true(friction <= most * (1 + 1e-6) + 1e-8);
            if (speed > 1e-5 && most > 1e-5) // it slides: all the friction there is, against the motion
            {
                assert_true(friction >= most * (1 - 1e-5));
                assert_true(gamma[0] * v[0] + gamma[1] * v[1] <= -(1 - 1e-5) * friction * speed);
                sliding++;
            }
            bearing += gamma[2] > 1e-6;
        }
    }
    print_message("%d contacts bear, %d slide\n", bearing, sliding);
    assert_true(bearing > 30 && sliding > 10);
}

// A mass on a rail before a wall, pulled by one effort: v = y, gap 1, target at 2.
static void test_wall(void **context)
{
    (void)context;
    tdProblem *p = problem.problem;
    td_problem_clear(p);
    problem.n_y = problem.n_e = problem.n_c = 1;
    problem.n_p = 1;
    memset(problem.A, 0, sizeof problem.A);
    problem.A[0] = problem.A[3] = 1;
    td_problem_block(p, 2, 2, problem.A, NULL);
    double *J;
    int32_t *columns;
    td_problem_row(p, (tdOwner){0, 0}, TD_SAP_CONTACT, 3);
    td_problem_side(p, 0, 2, &J, &columns);
    const double rows[6] = {0, 0, 0, 1, -1, 0};
    memcpy(J, rows, sizeof rows);
    columns[0] = 0;
    columns[1] = 1;
    p->constraints[0].law = (tdSapLaw){.kind = TD_SAP_CONTACT, .rows = 3, .R = {1e-3, 1e-3, 1e-6}, .v_hat = {0, 0, -1}};
    memset(problem.X, 0, sizeof problem.X);
    memset(problem.Q, 0, sizeof problem.Q);
    memset(problem.v_star, 0, sizeof problem.v_star);
    problem.X[0] = problem.Q[0] = problem.E[0] = 1;
    problem.e0[0] = -2;
    problem.lo[0] = 0;
    problem.hi[0] = 5;
    problem.start[0] = 0;
    problem.columns[0] = problem.X;
    problem.readings[0] = problem.Q;
    double before = 0, found = qpcc_run(&problem, 0, -1, &before);
    const tdSteer *steer = &p->steer;
    assert_near(before, 2, 1e-9);
    assert_near(found, 1, 1e-5);
    assert_int_equal(steer->end, TD_STEER_STATIONARY);
    assert_int_equal(steer->blocking, 0);
    // One place is not enough to know.
    problem.e0[0] = -0.5;
    found = qpcc_run(&problem, 0, -1, &before);
    assert_near(found, 0, 1e-7);
    assert_int_equal(steer->end, TD_STEER_OPTIMAL);
    assert_int_equal(steer->blocking, -1);
    qpcc_run(&problem, 1, -1, &before);
    assert_int_equal(steer->end, TD_STEER_STALLED);
}

// Efforts that have several solutions of Coulomb's law: whichever is found last, nothing is worse than the start.
static void test_several(void **context)
{
    (void)context;
    double before = 0;
    qpcc_random(&problem, 7063027, 4);
    double found = qpcc_run(&problem, 0, -1, &before);
    assert_true(found <= before * (1 + 1e-9) + 1e-7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracle),     cmocka_unit_test(test_independent), cmocka_unit_test(test_best),
        cmocka_unit_test(test_neighbours), cmocka_unit_test(test_space),       cmocka_unit_test(test_space_tree),
        cmocka_unit_test(test_laws),       cmocka_unit_test(test_wall),        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_several),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
