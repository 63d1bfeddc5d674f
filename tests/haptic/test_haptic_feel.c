// SPDX-License-Identifier: Apache-2.0
// The small problem of the haptic loop against closed forms, and against the exact solver on impulses.
#include "core/rotation.h"
#include "felt.h"

#include "solve/nlcp.h"

// A point on a rigid floor's compliance: one contact with its normal along z.
static void one_contact(tdLocal *local, double soft, double along, double mu)
{
    memset(local, 0, sizeof *local);
    local->tool = td_pose_identity();
    local->h = 0.01;
    local->n = 1;
    local->contact[0].direction[0][0] = local->contact[0].direction[1][1] = local->contact[0].direction[2][2] = 1;
    local->contact[0].mu = mu;
    local->C[0] = local->C[4] = along;
    local->C[8] = soft;
}

static tdFelt feel_at(tdFeel *feel, double x, double y, double z)
{
    tdFelt felt;
    const tdCoupling rigid = RIGID_COUPLING;
    tdPose device = td_pose_identity();
    device.t[0] = x;
    device.t[1] = y;
    device.t[2] = z;
    td_feel(feel, &rigid, &device, 0, &felt);
    return felt;
}

// Pressed in, drawn along: sticks as a spring up to mu times the normal force, then slips at that; drawn back it
// unloads from there, sticks over twice the way, and slips the other way round.
static void test_stick_and_slip(void **unused)
{
    (void)unused;
    double soft = 1. / 400, along = 1. / 300, mu = 0.4, depth = 5e-3, normal = depth / soft, most = mu * normal;
    tdLocal *local = calloc(1, sizeof *local);
    tdFeel feel;
    tdFeelSettings settings = td_default_feel();
    one_contact(local, soft, along, mu);
    td_feel_start(&feel, &settings);
    td_feel_take(&feel, local);
    double x = 0, step = 5e-5, turn = 8e-3, anchor = 0;
    for (int way = 0; way < 2; way++)
        for (int k = 0; k < (int)(2 * turn / step); k++)
        {
            x += way == 0 ? step : -step;
            tdFelt felt = feel_at(&feel, x, 0, -depth);
            double stuck = (x - anchor) / along;
            if (stuck > most)
                anchor = x - most * along;
            if (stuck < -most)
                anchor = x + most * along;
            assert_near(felt.force[2], normal, 1e-9 * normal);
            assert_near(felt.force[0], -fmax(-most, fmin(stuck, most)), 1e-9 * most);
            assert_near(felt.force[1], 0, 1e-12);
            assert_int_equal(felt.slipping, fabs(stuck) > most * (1 - 1e-9) ? 1 : 0);
        }
    // Lifted off and put down elsewhere: nothing is remembered.
    feel_at(&feel, x, 0, 1e-3);
    x += 0.05;
    feel_at(&feel, x, 0, 1e-6);
    tdFelt felt = feel_at(&feel, x, 0, -depth);
    assert_near(felt.force[0], 0, 1e-9 * most);
    free(local);
}

// Drawn at an angle, the force of what slips is against the motion.
static void test_direction(void **unused)
{
    (void)unused;
    tdLocal *local = calloc(1, sizeof *local);
    tdFeel feel;
    tdFeelSettings settings = td_default_feel();
    settings.sweeps = 500;
    settings.tolerance = 1e-12;
    one_contact(local, 1. / 400, 1. / 300, 0.5);
    td_feel_start(&feel, &settings);
    td_feel_take(&feel, local);
    tdFelt felt = {0};
    for (int k = 0; k <= 400; k++)
        felt = feel_at(&feel, 3e-5 * k, 4e-5 * k, -2e-3);
    assert_near(felt.force[0], -0.6 * 0.5 * 0.8, 1e-6);
    assert_near(felt.force[1], -0.8 * 0.5 * 0.8, 1e-6);
    free(local);
}

// Thirty contacts with friction that share a body: the same forces as the exact solver, from a cold start; within the
// bound on sweeps from the tick before.
static void test_against_exact(void **unused)
{
    (void)unused;
    tdLocal *local = calloc(1, sizeof *local);
    uint64_t seed = 5;
    int n = 30, rows = 90;
    double J[90][40], b[90], gamma[90] = {0}, velocity[90];
    tdSapLaw laws[30];
    for (int trial = 0; trial < 10; trial++)
    {
        memset(local, 0, sizeof *local);
        local->tool = td_pose_identity();
        local->h = 0.01;
        local->n = n;
        for (int i = 0; i < rows; i++)
            for (int k = 0; k < 40; k++)
                J[i][k] = next_random(&seed) + (k == i % 3);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < rows; j++)
            {
                double sum = i == j ? 20 : 0;
                for (int k = 0; k < 40; k++)
                    sum += J[i][k] * J[j][k];
                local->C[i * rows + j] = 1e-5 * sum;
            }
        for (int c = 0; c < n; c++)
        {
            tdLocalContact *contact = &local->contact[c];
            contact->mu = 0.3;
            for (int r = 0; r < 3; r++)
            {
                contact->direction[r][r] = 1;
                contact->b[r] = b[3 * c + r] = 1e-3 * (r == 2 ? next_random(&seed) - 0.5 : 0.5 * next_random(&seed));
            }
            laws[c] = (tdSapLaw){.kind = TD_SAP_CONTACT, .rows = 3, .mu = 0.3};
        }
        tdNlcpSettings exact = {.tolerance = 1e-12, .max_iterations = 20000};
        tdNlcpResult result;
        memset(gamma, 0, sizeof gamma);
        const tdNlcp problem = {n, laws, rows, rows, local->C, b, gamma};
        td_nlcp_solve(&problem, &exact, velocity, &result);
        assert_true(result.residual < 1e-8);
        tdFeel feel;
        tdFeelSettings settings = td_default_feel();
        settings.sweeps = 20000;
        settings.tolerance = 1e-12;
        td_feel_start(&feel, &settings);
        td_feel_take(&feel, local);
        assert_true(feel_at(&feel, 0, 0, 0).converged);
        for (int i = 0; i < rows; i++)
            assert_near(feel.lambda[i], gamma[i], 1e-6);
        // Bounded sweeps from the solution: a motion of 0.3 mm/ms.
        feel.settings = td_default_feel();
        for (int k = 1; k <= 20; k++)
        {
            tdFelt felt = feel_at(&feel, 0, 0, -1e-5 * k);
            assert_true(felt.sweeps <= feel.settings.sweeps);
        }
    }
    free(local);
}

// The gap moves with the device's turn about the tool's origin, and so does the torque.
static void test_turn(void **unused)
{
    (void)unused;
    tdLocal *local = calloc(1, sizeof *local);
    tdFeel feel;
    tdFeelSettings settings = td_default_feel();
    one_contact(local, 1e-3, 1e-3, 0);
    local->contact[0].arm[0] = 0.1;
    td_feel_start(&feel, &settings);
    td_feel_take(&feel, local);
    const tdCoupling rigid = RIGID_COUPLING;
    tdPose device = td_pose_identity();
    double q[4];
    td_rotation_from_vector((const double[3]){0, 0.02, 0}, q); // about y: the end at +x goes down
    td_rotation_matrix(q, device.R);
    tdFelt felt;
    td_feel(&feel, &rigid, &device, 0, &felt);
    assert_near(felt.force[2], 0.02 * 0.1 / 1e-3, 1e-9);
    assert_near(felt.torque[1], -0.1 * felt.force[2], 1e-12);
    free(local);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stick_and_slip),
        cmocka_unit_test(test_direction),
        cmocka_unit_test(test_against_exact),
        cmocka_unit_test(test_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
