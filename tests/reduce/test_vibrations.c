// SPDX-License-Identifier: Apache-2.0
// Models of vibration modes know what they are good for: bodies without actuators are compared with full order along
// what the scene does, and amplitudes have a range, beyond which steps warn.
#include "scenes.h"

#include "base/file.h"
#include "reduce/offline/job.h"
#include "reduce/rom.h"

#include <unistd.h>

#define SCENE "test_vibrations.yaml"
#define OUT   "test_vibrations.h5"

// A bar that drops under its weight and swings; it is softer across than along the weight. Its static sag is 2.3 mm.
#define BAR(support, reduction)                                                                                        \
    "tendril: 1\ntime_step: 4 ms\nsteps: 120\ngravity: [0, 0, -9.81]\nbodies:\n  - name: bar\n"                        \
    "    mesh: {box: [[0, 0, 0], [0.1, 0.014, 0.02]], cells: [10, 1, 2], elements: hexahedra}\n" support               \
    "    material: {law: stvk, young: 1600 kPa, poisson: 0.3, density: 1000}\n"                                        \
    "    damping: {mass: 1 1/s}\n"                                                                                     \
    "reduction: {" reduction "}\n"
#define HELD "    fixed: [{group: xmin}]\n"

static tdStatus reduce(const char *text, bool accept, tdReduceReport *report, tdError *error)
{
    tdReduceTask task = {
        .scene = SCENE, .out = OUT, .restart = true, .accept = accept, .settings = td_default_settings()};
    task.settings.log = NULL;
    *error = (tdError){0};
    assert_ok(td_file_write(SCENE, text, strlen(text), error), *error);
    return td_reduce(&task, report, error);
}

static void count_warnings(void *user, tdLogLevel level, const char *message)
{
    *(int *)user += level == TD_LOG_WARNING && strstr(message, "was off by") != NULL;
}

// Steps that warn, of 100 under another weight; *told: warnings when it is loaded.
static int warned(const char *gravity, int *told)
{
    char set[100];
    tdSettings settings = td_default_settings();
    tdModel *model = NULL;
    tdState *state = NULL;
    tdError error = {0};
    snprintf(set, sizeof set, "gravity=[0, 0, %s]", gravity);
    settings.rom = OUT;
    settings.set = set;
    settings.log = count_warnings;
    settings.log_user = told;
    assert_ok(td_model_load(SCENE, &settings, &model, &error), error);
    settings.log = NULL;
    assert_ok(td_state_create(model, &settings, &state, &error), error);
    int n = 0;
    for (int k = 0; k < 100; k++)
    {
        assert_ok(td_step(model, state), td_state_report(state)->error);
        n += td_state_report(state)->rom_warning;
    }
    td_state_free(state);
    td_model_free(model);
    return n;
}

// Compared where it swings; silent there, and under a weight with which it bends farther than a fifth of its size, not.
static void ranges(void **unused)
{
    (void)unused;
    static const char *const texts[] = {
        BAR(HELD, "kind: stvk, modes: 4, columns: 10"),
        BAR(HELD, "basis: modes, modes: 4, columns: 10, ecsw_tolerance: 1e-4"),
    };
    for (int k = 0; k < 2; k++)
    {
        tdReduceReport report;
        tdError error;
        tdRom rom = {0};
        int told = 0;
        assert_ok(reduce(texts[k], false, &report, &error), error);
        print_message("%s: %.2f %% off in %lld steps\n", k == 0 ? "polynomials" : "elements", 100 * report.motion_error,
                      (long long)report.motion_steps);
        assert_int_equal(report.held_out_places, 0);
        assert_int_equal(report.motion_steps, 100);
        assert_true(report.motion_error > 0 && report.motion_error < 0.05);
        assert_ok(td_rom_read(OUT, &rom, &error), error);
        for (int i = 0; i < rom.r; i++)
            assert_true(rom.low[i] <= 0 && rom.high[i] >= 0 && rom.low[i] < rom.high[i]);
        assert_true(rom.motion_error == report.motion_error && rom.indicator_offset > 0);
        td_rom_free(&rom);
        assert_int_equal(warned("-9.81", &told), 0);
        assert_true(warned("-294.3", &told) > 0);
        assert_int_equal(told, 0);
    }
}

// One mode, which bends across the weight: it does not move at all.
static void refused(void **unused)
{
    (void)unused;
    static const char text[] = BAR(HELD, "kind: stvk, modes: 1, derivatives: 0, columns: 1");
    tdReduceReport report;
    tdError error;
    int told = 0;
    unlink(OUT);
    assert_int_equal(reduce(text, false, &report, &error), TD_ERROR_NUMERIC);
    assert_non_null(strstr(error.message, "along a motion beside full order"));
    assert_int_not_equal(access(OUT, F_OK), 0);
    assert_ok(reduce(text, true, &report, &error), error);
    assert_true(report.motion_error > 0.5);
    warned("-9.81", &told);
    assert_int_equal(told, 1);
}

// A body that falls keeps its shape: there is nothing to compare.
static void falls(void **unused)
{
    (void)unused;
    tdReduceReport report;
    tdError error;
    assert_ok(reduce(BAR("", "kind: stvk, modes: 3, columns: 6"), false, &report, &error), error);
    assert_true(isnan(report.motion_error));
    assert_int_equal(report.motion_steps, 0);
}

static int clean(void **unused)
{
    (void)unused;
    unlink(SCENE);
    unlink(OUT);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranges), cmocka_unit_test(refused), cmocka_unit_test(falls)};
    return cmocka_run_group_tests(tests, NULL, clean);
}
