// SPDX-License-Identifier: Apache-2.0
// A stiff nodule felt through soft tissue, against static equilibria of the scene's own mesh and of finer ones. The
// profile of a stroke over it is in long_nodule.c.
#include "nodule.h"

// Over the nodule, and at the same place in plain tissue: forces are those of static equilibria with the tool where it
// is, and so is how much the nodule adds; on the scene's mesh, and on one of half the element size with points that do
// not give way. That one is a quarter of the whole, about the axis on which the ball is.
static void test_nodule(void **unused)
{
    (void)unused;
    double felt[2], exact[2], fine[2], depth[2];
    for (int plain = 0; plain < 2; plain++)
    {
        rig r = rig_of(nodule_model("integrator: {method: backward_euler}", NULL, NULL, plain, false), 2000);
        double at[3] = {12e-3, 0, 0}, force[3];
        go(&r, at, (const double[3]){12e-3, 0, -3.5e-3}, 250);
        go(&r, at, at, 350);
        felt[plain] = r.felt.force[2];
        depth[plain] = r.felt.tool[2] - NODULE_START_Z;
        char how[300];
        snprintf(how, sizeof how,
                 "integrator: {method: static}\nmotion: {keyframes: [{t: 0, probe.x: 12, probe.z: 0}, {t: 0.075, "
                 "probe.x: %.9g, probe.z: %.9g}]}",
                 1e3 * (r.felt.tool[0] - NODULE_START_X), 1e3 * depth[plain]);
        rig_free(&r);
        tdModel *model = nodule_model(how, NULL, NULL, plain, false);
        tdState *state = scene_state(model);
        scene_steps(model, state, 3);
        td_state_reaction(model, state, 1, force);
        exact[plain] = -force[2];
        scene_free(model, state);
        fine[plain] = nodule_static(2, 0, depth[plain], plain);
    }
    double adds = felt[0] - felt[1];
    print_message("felt %.4f N over the nodule, %.4f N in plain tissue: it adds %.4f N; static equilibria %.4f, %.4f, "
                  "%.4f N; of half the element size %.4f, %.4f, %.4f N\n",
                  felt[0], felt[1], adds, exact[0], exact[1], exact[0] - exact[1], fine[0], fine[1], fine[0] - fine[1]);
    for (int plain = 0; plain < 2; plain++)
    {
        assert_near(felt[plain], exact[plain], 0.05 * exact[plain]);
        assert_near(felt[plain], fine[plain], 0.05 * fine[plain]);
    }
    assert_true(exact[0] > 1.15 * exact[1]); // or it could not be felt
    assert_near(adds, exact[0] - exact[1], 0.05 * (exact[0] - exact[1]));
    assert_near(adds, fine[0] - fine[1], 0.05 * (fine[0] - fine[1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nodule)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
