// SPDX-License-Identifier: Apache-2.0
// Studies as calls of the library: what they find, what they say of progress, and that they stop when told to.
#include "arm.h"
#include "scenes.h"

#include "control/workspace.h"
#include "study/tracking.h"
#include "tendril/study.h"

#define DO(call) assert_ok(call, error)

// Stops when so many calls have been made; counts them.
typedef struct Watch
{
    int calls, most;
    int64_t done, total;
} Watch;

static bool watch(void *user, const char *phase, int64_t done, int64_t total)
{
    Watch *w = user;
    assert_non_null(phase);
    w->done = done;
    w->total = total;
    return ++w->calls <= w->most;
}

static const char arm[] = ARM_BODY("100 kPa") ARM_CABLES("[0, 0.2 N]") ARM_TIP;

static void test_workspace(void **unused)
{
    (void)unused;
    tdError error = {0};
    tdSettings settings = td_default_settings();
    tdWorkspaceSettings what = td_default_workspace();
    tdWorkspace *all = NULL, *part = NULL;
    Watch w = {.most = 1000};
    settings.text = arm;
    what.samples = 6;
    what.progress = watch;
    what.user = &w;
    DO(td_workspace_explore("arm", &what, &settings, &all, &error));
    tdWorkspaceInfo info = td_workspace_info(all);
    assert_int_equal(info.reached, 6);
    assert_int_equal(info.values, 3);
    assert_int_equal(info.actuators, 4);
    assert_false(info.stopped);
    assert_int_equal(w.done, 6);
    assert_int_equal(w.total, 6);

    w = (Watch){.most = 3};
    DO(td_workspace_explore("arm", &what, &settings, &part, &error));
    assert_true(td_workspace_info(part).stopped);
    assert_int_equal(td_workspace_info(part).reached, 3);
    // What was found before is the same, and what is set is what was asked for.
    assert_memory_equal(td_workspace_points(part), td_workspace_points(all), 9 * sizeof(double));
    double set[4];
    td_workspace_actuation(all, 5, set);
    for (int a = 0; a < 4; a++)
        assert_true(set[a] >= 0 && set[a] <= 0.2);
    td_workspace_free(all);
    td_workspace_free(part);

    what.effector = "tpi";
    assert_int_equal(td_workspace_explore("arm", &what, &settings, &all, &error), TD_ERROR_USAGE);
    assert_non_null(strstr(error.message, "did you mean 'tip'"));
    what.grid = 1;
    assert_int_equal(td_workspace_explore("arm", &what, &settings, &all, &error), TD_ERROR_USAGE);
}

#define FORCE(name, direction)                                                                                         \
    "  - {name: " name ", type: force, body: arm, group: xmax, direction: " direction ", drive: force}\n"
static const char pushed[] =
    ARM_BODY("100 kPa") "actuators:\n" FORCE("fy", "[0, 1, 0]") FORCE("fz", "[0, 0, 1]") ARM_TIP;

static void test_loads(void **unused)
{
    (void)unused;
    tdError error = {0};
    tdSettings settings = td_default_settings();
    settings.text = pushed;
    tdModel *model = NULL;
    tdState *state = NULL;
    // Where known forces bring the end of the beam.
    DO(td_model_load_edited("pushed", &settings, td_workspace_edit, NULL, &model, &error));
    DO(td_state_create(model, &settings, &state, &error));
    assert_int_equal(td_state_set_input(model, state, 0, 0.01), TD_OK);
    assert_int_equal(td_state_set_input(model, state, 1, -0.02), TD_OK);
    assert_int_equal(td_step(model, state), TD_OK);
    const double rest[12] = {0.1, -0.01, -0.01, 0.1, 0.01, -0.01, 0.1, 0.01, 0.01, 0.05, 0.01, 0.01};
    double measured[12];
    const double *x0 = td_model_body_rest(model, 0), *x = td_state_positions(model, state, 0);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < td_model_body_nodes(model, 0); k++)
            if (fabs(x0[3 * k] - rest[3 * i]) + fabs(x0[3 * k + 1] - rest[3 * i + 1]) +
                    fabs(x0[3 * k + 2] - rest[3 * i + 2]) <
                1e-9)
                memcpy(measured + 3 * i, x + 3 * k, 3 * sizeof *x);
    tdEstimateSettings what = td_default_estimate();
    tdLoads *loads = NULL;
    Watch w = {.most = 1000};
    what.n = 4;
    what.rest = rest;
    what.position = measured;
    what.progress = watch;
    what.user = &w;
    DO(td_loads_estimate("pushed", &what, &settings, &loads, &error));
    assert_int_equal(td_loads_info(loads).loads, 2);
    assert_int_equal(td_loads_info(loads).points, 4);
    assert_int_equal(w.calls, td_loads_info(loads).equilibria);
    assert_near(td_loads_load(loads, 0).effort, 0.01, 1e-7);
    assert_near(td_loads_load(loads, 1).effort, -0.02, 1e-7);
    assert_near(td_loads_fitted(loads)[2], measured[2], 1e-7);
    td_loads_free(loads);

    w = (Watch){.most = 2};
    assert_int_equal(td_loads_estimate("pushed", &what, &settings, &loads, &error), TD_CANCELLED);
    assert_null(loads);
    measured[4] = NAN;
    assert_int_equal(td_loads_estimate("pushed", &what, &settings, &loads, &error), TD_ERROR_INPUT);
    assert_int_equal(error.line, 2); // the second point
    td_state_free(state);
    td_model_free(model);
}

static void test_fits(void **unused)
{
    (void)unused;
    tdError error = {0};
    // Nominal stresses of an incompressible neo-Hookean solid, mu (x - 1/x^2), and in shear mu gamma; mu = 100 kPa.
    const double stretch[6] = {1.1, 1.5, 2, 3, 0.2, 0.5};
    const char *modes[6] = {"uniaxial", "uniaxial", "uniaxial", "uniaxial", "shear", "shear"};
    double stress[6];
    for (int i = 0; i < 6; i++)
        stress[i] = 1e5 * (i < 4 ? stretch[i] - 1 / (stretch[i] * stretch[i]) : stretch[i]);
    tdFitsSettings what = td_default_fits();
    tdFits *fits = NULL;
    Watch w = {.most = 100};
    what.n = 6;
    what.modes = modes;
    what.stretch = stretch;
    what.stress = stress;
    what.law = "neo_hookean";
    what.progress = watch;
    what.user = &w;
    DO(td_fits_make(&what, &fits, &error));
    assert_int_equal(td_fits_laws(fits), 1);
    assert_int_equal(td_fits_points(fits), 6);
    tdFittedInfo law = td_fits_law(fits, 0);
    assert_near(law.young, 3e5, 1);
    assert_true(law.r2 > 0.999999);
    assert_non_null(strstr(law.material, "law: neo_hookean"));
    assert_near(td_fits_stress(fits, 0, "biaxial", 2), 1e5 * (2 - 1 / 32.0), 1);
    assert_true(isnan(td_fits_stress(fits, 0, "sideways", 2)));
    assert_true(td_fits_parameter(fits, 0, 0).modulus);
    td_fits_free(fits);

    what.law = "all";
    w = (Watch){.most = 2};
    assert_int_equal(td_fits_make(&what, &fits, &error), TD_CANCELLED);
    modes[2] = "uniaxail";
    assert_int_equal(td_fits_make(&what, &fits, &error), TD_ERROR_INPUT);
    assert_int_equal(error.line, 3);
    assert_non_null(strstr(error.message, "did you mean 'uniaxial'"));
}

static void test_compare(void **unused)
{
    (void)unused;
    tdError error = {0};
    tdSettings settings = td_default_settings();
    tdCompareSettings what = td_default_compare();
    tdComparison *comparison = NULL;
    char scene[512], rom[512];
    snprintf(scene, sizeof scene, "%s/tests/golden/scenes/arm.yaml", TD_SOURCE_DIR);
    snprintf(rom, sizeof rom, "%s/tests/golden/scenes/arm.h5", TD_SOURCE_DIR);
    assert_int_equal(td_compare(scene, &what, &settings, &comparison, &error), TD_ERROR_USAGE);
    Watch w = {.most = 1000};
    what.rom = rom;
    what.steps = 4;
    what.progress = watch;
    what.user = &w;
    DO(td_compare(scene, &what, &settings, &comparison, &error));
    tdComparisonInfo info = td_comparison_info(comparison);
    assert_int_equal(info.models, 3);
    assert_int_equal(info.steps, 4);
    assert_false(info.stopped);
    double mean = NAN, most = NAN;
    td_comparison_error(comparison, 2, info.errors - 1, &mean, &most);
    assert_true(mean >= 0 && mean <= most && most < 0.5);
    assert_string_equal(td_comparison_error_name(comparison, info.errors - 1), "shape");
    assert_int_equal(td_comparison_model(comparison, 2).kind, TD_COMPARE_HYPER);
    assert_null(td_comparison_model(comparison, 2).failure);
    td_comparison_free(comparison);

    w = (Watch){.most = 2};
    DO(td_compare(scene, &what, &settings, &comparison, &error));
    assert_true(td_comparison_info(comparison).stopped);
    assert_int_equal(td_comparison_info(comparison).steps, 2);
    td_comparison_free(comparison);
}

// Mean, largest and root mean square of a column: steps without a value do not count, and none of the start does where
// what is settled is asked for.
static void test_statistics(void **unused)
{
    (void)unused;
    enum
    {
        WIDTH = TD_TRACKING_BEFORE + 1
    };
    double rows[5 * WIDTH] = {0};
    const double values[5] = {5, 4, 1, NAN, 2};
    for (int k = 0; k < 5; k++)
        rows[WIDTH * k + TD_TRACKING_BEFORE] = values[k];
    const tdTracking table = {.n = 5, .width = WIDTH, .rows = rows};
    tdTrackingStatistics s = td_tracking_statistics(&table, TD_TRACKING_BEFORE, false);
    assert_int_equal(s.from, 0);
    assert_near(s.mean, 3, 1e-15);
    assert_near(s.max, 5, 0);
    assert_near(s.rms, sqrt((25 + 16 + 1 + 4) / 4.0), 1e-15);
    s = td_tracking_statistics(&table, TD_TRACKING_BEFORE, true); // the median is 2
    assert_int_equal(s.from, 2);
    assert_near(s.mean, 1.5, 1e-15);
    assert_near(s.max, 2, 0);
    assert_near(s.rms, sqrt(2.5), 1e-15);
    const tdTracking none = {.n = 1, .width = WIDTH, .rows = rows + 3 * WIDTH};
    s = td_tracking_statistics(&none, TD_TRACKING_BEFORE, false);
    assert_true(isnan(s.mean) && isnan(s.max) && isnan(s.rms));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_workspace), cmocka_unit_test(test_loads),
                                       cmocka_unit_test(test_fits), cmocka_unit_test(test_statistics),
                                       cmocka_unit_test(test_compare)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
