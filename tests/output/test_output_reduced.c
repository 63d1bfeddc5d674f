// SPDX-License-Identifier: Apache-2.0
// Files of runs of reduced bodies: tables come from the amplitudes alone, nodes are expanded for files that have them.
#include "output_run.h"
#include "reduced.h"

static const char arm[] =
    "tendril: 1\ntime_step: 10 ms\nsteps: 20\ngravity: [0, 0, -9.81]\nbodies:\n  - name: arm\n"
    "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [6, 2, 2]}\n"
    "    material: {law: corotational, young: 100 kPa, poisson: 0.4, density: 1000}\n    fixed: [{group: xmin}]\n"
    "probes: [{name: tip, body: arm, point: [0.1, 0.01, 0.013]}, {name: end, body: arm, group: xmax}]\n"
    "output: {every: 1, formats: [%s]}\n";

static testRun reduced_run(const char *formats)
{
    char text[2000];
    snprintf(text, sizeof text, arm, formats);
    tdModel *full = scene_parse(text);
    tdRom rom = rom_of(full, 12, 2);
    testRun run = {.model = rom_model(text, &rom, false), .folder = "/tmp/tendril_output_XXXXXX"};
    run.state = scene_state(run.model);
    td_arena_free(&rom.arena);
    td_model_free(full);
    assert_non_null(mkdtemp(run.folder));
    return run;
}

// Last row of a table: step, time, values.
static void last_row(const testRun *run, const char *name, int n, double *values)
{
    char path[128], *text = NULL;
    size_t size = 0;
    tdError error = {0};
    snprintf(path, sizeof path, "%s/%s", run->folder, name);
    assert_ok(td_file_read(path, &text, &size, &error), error);
    text[size - 1] = '\0';
    char *at = strrchr(text, '\n') + 1;
    for (int i = 0; i < n; i++, at++)
        values[i] = strtod(at, &at);
    free(text);
}

static void test_tables_expand_nothing(void **unused)
{
    (void)unused;
    testRun run = reduced_run("csv");
    tdReducedState *mine = td_reduced_mine(&run.model->bodies[0], run.state);
    int64_t coords = 3 * run.model->bodies[0].nodes;
    for (int64_t i = 0; i < coords; i++)
        mine->node_x[i] = mine->node_v[i] = NAN;
    tdOutput *output = open_output(&run, -1);
    take_steps(&run, output, 8);
    tdError error = {0};
    assert_ok(td_output_close(output, &error), error);
    for (int64_t i = 0; i < coords; i++)
        assert_true(isnan(mine->node_x[i]) && isnan(mine->node_v[i]));
    // The end is the mean of the nodes of its side, wherever they are expanded from.
    double row[8], mean[3] = {0};
    int n = 0;
    last_row(&run, "probes.csv", 8, row);
    const double *x = td_state_positions(run.model, run.state, 0), *rest = run.model->bodies[0].soft->rest;
    for (int64_t i = 0; i < coords; i += 3)
        if (rest[i] > 0.1 - 1e-9)
        {
            n++;
            for (int c = 0; c < 3; c++)
                mean[c] += x[i + c];
        }
    for (int c = 0; c < 3; c++)
        assert_near(row[5 + c], mean[c] / n, 1e-15);
    assert_true(fabs(row[7] - 0.01) > 1e-9); // it moved
    run_end(&run);
}

static void test_files_with_nodes_have_them(void **unused)
{
    (void)unused;
    testRun run = reduced_run("csv, hdf5");
    tdReducedState *mine = td_reduced_mine(&run.model->bodies[0], run.state);
    mine->node_x[3] = NAN;
    tdOutput *output = open_output(&run, -1);
    take_steps(&run, output, 2);
    tdError error = {0};
    assert_ok(td_output_close(output, &error), error);
    assert_true(isfinite(mine->node_x[3]));
    run_end(&run);
}

// What a step knows of its end is the energy that taking forces anew gives, and asking for it changes nothing.
static void test_energy_is_known(void **unused)
{
    (void)unused;
    testRun run = reduced_run("csv"), other = reduced_run("csv");
    tdReducedState *mine = td_reduced_mine(&run.model->bodies[0], run.state);
    double T, U, again_T, again_U;
    for (int k = 0; k < 5; k++)
    {
        scene_steps(run.model, run.state, 1);
        scene_steps(other.model, other.state, 1);
        td_state_energy(run.model, run.state, &T, &U);
        assert_true(mine->arrived);
    }
    assert_int_equal(td_state_hash(run.model, run.state), td_state_hash(other.model, other.state));
    assert_true(T > 0 && U > 0);
    mine->arrived = mine->current = false;
    td_state_energy(run.model, run.state, &again_T, &again_U);
    assert_true(again_T == T);
    assert_near(again_U, U, 1e-14 * U);
    // Elsewhere it is that of the other place.
    for (int64_t i = 0; i < run.model->coords; i++)
        run.state->q[i] = 0;
    td_state_energy(run.model, run.state, NULL, &again_U);
    assert_true(again_U < 1e-12 * U);
    run_end(&run);
    run_end(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_expand_nothing),
        cmocka_unit_test(test_files_with_nodes_have_them),
        cmocka_unit_test(test_energy_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
