// SPDX-License-Identifier: Apache-2.0
// Contact for minutes and on fine meshes: the arch stands for ten minutes, Hertz under refinement, the rubber cylinder
// between plates, and every contact scene to its end.
#include "base/file.h"
#include "verify/verify_press.h"

// ---------------------------------------------------------------- arch

// The shipped arch with another stiction.
static tdModel *arch_with(const char *stiction)
{
    char *text = NULL;
    size_t length = 0;
    tdError error = {0};
    tdModel *model = NULL;
    assert_ok(td_file_read(CONTACT_SCENES "/arch.yaml", &text, &length, &error), error);
    char *at = strstr(text, "stiction: 1e-5");
    assert_non_null(at);
    sceneText scene = {0};
    scene_add(&scene, "%.*sstiction: %s%s", (int)(at - text), text, stiction, at + strlen("stiction: 1e-5"));
    free(text);
    tdSettings settings = td_default_settings();
    settings.threads = 1;
    assert_ok(td_model_parse(scene.text, scene.length, "arch.yaml", CONTACT_SCENES, &settings, &model, &error), error);
    return model;
}

// Speed [m/s] at which the crown sinks from the second minute to the tenth.
static double arch_creep(const char *stiction)
{
    tdModel *model = arch_with(stiction);
    tdState *state = scene_state(model);
    double start[3], settled[3], end[3], worst = 0;
    mean_position(model, state, 8, start);
    for (int i = 0; i < 15000; i++)
    {
        scene_steps(model, state, 1);
        assert_false(td_state_report(state)->contact_limit);
        worst = fmax(worst, td_state_report(state)->contact_residual);
        if (i == 1499)
            mean_position(model, state, 8, settled);
    }
    mean_position(model, state, 8, end);
    assert_true(worst <= 1e-6); // every step reached the tolerance
    assert_near(end[2], start[2], 0.02 * start[2]);
    scene_free(model, state);
    return (settled[2] - end[2]) / (13500 * 0.04);
}

static void test_arch_stands(void **unused)
{
    (void)unused;
    double creep = arch_creep("1e-5"), half = arch_creep("5e-6");
    verify_below("arch, ten minutes: crown sinks at [m/s], sigma = 1e-5", "bound", 5e-5, creep);
    verify_relative("arch: creep at half the sigma over creep", "1/2", 0.5, half / creep, 0.2);
}

// ---------------------------------------------------------------- Hertz

static void test_hertz(void **unused)
{
    (void)unused;
    const int cells[3] = {8, 12, 16};
    const double finest[3] = {0.4, 0.2, 0.12}, tolerance[3] = {0.1, 0.05, 0.03};
    for (int k = 0; k < 3; k++)
    {
        int touching = 0;
        char name[128];
        double force = hertz_force(cells[k], finest[k], &touching);
        snprintf(name, sizeof name, "ball on a rigid plane, %d^3 cells in a quarter, %d points touch: force [N]",
                 cells[k], touching);
        verify_relative(name, "Hertz", hertz_theory(), force, tolerance[k]);
    }
}

// ---------------------------------------------------------------- cylinder, scenes

static void test_press(void **unused)
{
    (void)unused;
    verify_press(4, "press.png");
}

static void test_all_scenes_converge(void **unused)
{
    (void)unused;
    all_scenes_converge(100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_arch_stands), cmocka_unit_test(test_hertz),
                                       cmocka_unit_test(test_press), cmocka_unit_test(test_all_scenes_converge)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
