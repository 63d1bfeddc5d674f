// SPDX-License-Identifier: Apache-2.0
// The shipped chain of ten links for a minute of simulated time (S5 VII-F): it holds together, every step meets the
// solver's tolerance, and it comes to rest with the ring bearing its weight.
#include "scenes.h"

#define LINKS 10
#define STEPS 3000

// Mean height of a body's nodes.
static double height_of(const tdModel *model, const tdState *state, int body)
{
    const tdBody *b = &model->bodies[body];
    const double *x = b->ops->nodes(model, b, state);
    double sum = 0;
    for (int64_t i = 0; i < b->nodes; i++)
        sum += x[3 * i + 2];
    return sum / (double)b->nodes;
}

static void test_chain_sustains(void **unused)
{
    (void)unused;
    tdError error = {0};
    tdModel *model = NULL;
    tdState *state = NULL;
    tdSettings settings = td_default_settings();
    assert_ok(td_model_load(TD_SOURCE_DIR "/scenes/contact/chain.yaml", &settings, &model, &error), error);
    assert_int_equal(td_model_bodies(model), LINKS + 1);
    assert_ok(td_state_create(model, &settings, &state, &error), error);
    double constraints = 0;
    for (int step = 0; step < STEPS; step++)
    {
        assert_ok(td_step(model, state), td_state_report(state)->error);
        const tdReport *report = td_state_report(state);
        assert_false(report->contact_limit);
        assert_true(report->contact_residual <= 1.0000001e-6);
        constraints += report->constraints;
        if (step % 50 != 0)
            continue;
        // Taut links are 2 (major - minor) = 140 mm apart; they give by some millimetres, and no further.
        double above = 0;
        for (int k = 1; k <= LINKS; k++)
        {
            double here = height_of(model, state, k);
            assert_in_range((int)(1e4 * (above - here)), 1350, 1550);
            above = here;
        }
    }
    assert_true(constraints / STEPS >= 15 * LINKS);
    double kinetic = 0, force[3], mass = 0;
    td_state_energy(model, state, &kinetic, NULL);
    assert_true(kinetic < 1e-6);
    for (int k = 1; k <= LINKS; k++)
        for (int64_t i = 0; i < model->bodies[k].nodes; i++)
            mass += model->bodies[k].soft->node_mass[i];
    td_state_contact_force(state, 0, 1, force);
    assert_near(force[2], 9.81 * mass, 1e-6 * 9.81 * mass);
    td_state_free(state);
    td_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_chain_sustains)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
