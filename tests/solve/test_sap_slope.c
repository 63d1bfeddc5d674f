// SPDX-License-Identifier: Apache-2.0
// How the solution of the convex problem answers to a change of the free motion: against differences of solutions.
#include "sap_random.h"

#define PROBLEMS 300

static randomProblem problem; // large

static void solve(tdSap *sap)
{
    tdSapSettings settings = td_default_sap();
    tdSapResult result;
    tdError error = {0};
    settings.tolerance = 1e-13;
    settings.absolute = 0;
    assert_int_equal(td_sap_solve(sap, NULL, &problem.problem, &settings, &result, &error), TD_OK);
}

// The mode of each constraint: rows at which bound, contacts open, stuck or sliding.
static int mode_of(int c)
{
    const tdSapLaw *law = &problem.constraints[c].law;
    const double *gamma = problem.gamma + 3 * c;
    int mode = 0;
    if (law->kind == TD_SAP_CONTACT)
        return gamma[2] <= 0 ? 0 : hypot(gamma[0], gamma[1]) < (1 - 1e-6) * law->mu * gamma[2] ? 1 : 2;
    for (int r = 0; r < law->rows && law->kind == TD_SAP_BOX; r++)
        mode = 3 * mode + (gamma[r] <= law->lo[r] ? 1 : gamma[r] >= law->hi[r] ? 2 : 0);
    return mode;
}

static double X[RANDOM_BLOCKS][RANDOM_SIZE], dgamma[3 * RANDOM_CONSTRAINTS], dv_c[3 * RANDOM_CONSTRAINTS];
static double v_star[RANDOM_BLOCKS][RANDOM_SIZE];

// Impulses and velocities at v* + step X. False: some constraint is in another mode than in `modes`.
static bool solve_at(tdSap *sap, double step, const int *modes, double *gamma, double *v_c)
{
    const tdSapProblem *p = &problem.problem;
    for (int b = 0; b < p->n_blocks; b++)
        for (int i = 0; i < p->blocks[b].n; i++)
            problem.v_star[b][i] = v_star[b][i] + step * X[b][i];
    solve(sap);
    memcpy(gamma, problem.gamma, sizeof problem.gamma);
    memcpy(v_c, problem.v_c, sizeof problem.v_c);
    for (int c = 0; c < p->n_constraints; c++)
        if (mode_of(c) != modes[c])
            return false;
    return true;
}

// Where modes stay the same on both sides of v*, the difference of solutions is the slope.
static void test_differences(void **context)
{
    (void)context;
    tdSap *sap = NULL;
    tdError error = {0};
    int compared = 0, contacts = 0, stiff = 0;
    assert_int_equal(td_sap_create(&sap, &error), TD_OK);
    for (int k = 0; k < PROBLEMS; k++)
    {
        static double plus[2][2][3 * RANDOM_CONSTRAINTS], minus[2][2][3 * RANDOM_CONSTRAINTS];
        int modes[RANDOM_CONSTRAINTS];
        const double *columns[RANDOM_BLOCKS];
        random_problem(&problem, sap, 77 + (uint64_t)k);
        const tdSapProblem *p = &problem.problem;
        double speed = 0;
        for (int b = 0; b < p->n_blocks; b++)
            for (int i = 0; i < p->blocks[b].n; i++)
                speed = fmax(speed, fabs(problem.v_star[b][i]));
        for (int b = 0; b < p->n_blocks; b++)
        {
            columns[b] = X[b];
            memcpy(v_star[b], problem.v_star[b], sizeof v_star[b]);
            for (int i = 0; i < p->blocks[b].n; i++)
                X[b][i] = random_in(&problem.seed, -1, 1) * speed;
        }
        solve(sap);
        for (int c = 0; c < p->n_constraints; c++)
            modes[c] = mode_of(c);
        assert_int_equal(td_sap_slope(sap, NULL, p, 1, columns, NULL, dgamma, dv_c, &error), TD_OK);
        // Rounding of stiff problems is less beside longer steps; then modes may change. One of the steps has to agree.
        bool same = false, near = false;
        double worst = 0;
        for (double step = 1e-6; step < 2e-3 && !near; step *= 10)
        {
            double size[2] = {0}, off[2] = {0}, largest[2] = {0};
            bool stays = true;
            for (int f = 0; f < 2 && stays; f++)
                stays = solve_at(sap, step * (1 + f), modes, plus[f][0], plus[f][1]) &&
                        solve_at(sap, -step * (1 + f), modes, minus[f][0], minus[f][1]);
            if (!stays)
                break;
            same = true;
            for (int i = 0; i < 3 * p->n_constraints; i++)
            {
                const double *slopes[2] = {dgamma, dv_c};
                for (int q = 0; q < 2 && i % 3 < problem.constraints[i / 3].law.rows; q++)
                {
                    double difference = (plus[0][q][i] - minus[0][q][i]) / (2 * step);
                    double twice = (plus[1][q][i] - minus[1][q][i]) / (4 * step);
                    // By how much differences of two steps differ is what rounding and the curvature of cones do.
                    off[q] = fmax(off[q], fabs(difference - slopes[q][i]) - 3 * fabs(difference - twice));
                    size[q] = fmax(size[q], fabs(slopes[q][i]));
                    largest[q] = fmax(largest[q], fabs(plus[0][q][i]));
                }
            }
            // Solutions are good to about 1e-12 of the largest impulse.
            near = true;
            worst = 0;
            for (int q = 0; q < 2; q++)
            {
                near = near && off[q] <= 1e-4 * size[q] + 1e-12 * largest[q] / step;
                worst = fmax(worst, size[q] > 0 ? off[q] / size[q] : 0);
            }
        }
        if (!same)
            continue;
        if (!near)
            print_message("problem %d: slopes are off by %g\n", k, worst);
        stiff += !near;
        compared++;
        for (int c = 0; c < p->n_constraints; c++)
            contacts += problem.constraints[c].law.kind == TD_SAP_CONTACT && modes[c] > 0;
    }
    print_message("%d of %d problems compared, %d of them are off; %d contacts that bear\n", compared, PROBLEMS, stiff,
                  contacts);
    assert_int_equal(stiff, 0);
    assert_true(compared > PROBLEMS / 2 && contacts > 100);
    td_sap_free(sap);
}

// A constraint whose impulse is given has no slope of its own, and the others answer as to a force: compared with the
// same problem without it.
static void test_taken_away(void **context)
{
    (void)context;
    // A mass on two springs side by side (bilateral rows): A = 1, R = 1 each, v* = 3.
    double A = 1, free_v = 3, v = 3, J = 1, gamma[6], v_c[6], change[6] = {NAN, NAN, NAN, NAN, NAN, NAN}, out[12],
           speeds[12];
    int32_t column = 0;
    tdSapBlock block = {.n = 1, .stride = 1, .A = &A, .v_star = &free_v, .v = &v};
    tdSapConstraint two[2];
    for (int c = 0; c < 2; c++)
        two[c] = (tdSapConstraint){.law = {.kind = TD_SAP_BILATERAL, .rows = 1, .R = {1}},
                                   .sides = 1,
                                   .side = {{.block = 0, .count = 1, .columns = &column, .J = &J}}};
    tdSapProblem small = {1, 2, &block, two, gamma, v_c};
    tdSapSettings settings = td_default_sap();
    tdSapResult result;
    tdError error = {0};
    tdSap *sap = NULL;
    const double x = 1, *columns[1] = {&x};
    assert_int_equal(td_sap_create(&sap, &error), TD_OK);
    assert_int_equal(td_sap_solve(sap, NULL, &small, &settings, &result, &error), TD_OK);
    assert_true(fabs((v) - (1)) <= 1e-12); // v - 3 = -2 v
    assert_true(fabs((gamma[0]) - (-1)) <= 1e-12);
    change[3] = -gamma[3];
    assert_int_equal(td_sap_slope(sap, NULL, &small, 2, columns, change, out, speeds, &error), TD_OK);
    assert_true(fabs((speeds[0]) - (0.5)) <= 1e-12); // with one spring v = v* / 2
    assert_true(fabs((out[0]) - (-0.5)) <= 1e-12);
    assert_true(fabs((out[6]) - (0)) <= 0);
    assert_true(fabs((speeds[1]) - (0.5)) <= 1e-12); // from 1 to 1.5
    assert_true(fabs((out[1]) - (-0.5)) <= 1e-12);
    td_sap_free(sap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_taken_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
