// SPDX-License-Identifier: Apache-2.0
// Inverse control beside exact contact against an enumeration of the modes of contacts.
#include "qpcc_random.h"

#define PROBLEMS 250

static qpccProblem problem; // large
static qpccOracle oracle;

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracle),
        cmocka_unit_test(test_best),
        cmocka_unit_test(test_laws),
        cmocka_unit_test(test_wall),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
