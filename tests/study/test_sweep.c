// SPDX-License-Identifier: Apache-2.0
// Batches from file to file: the same numbers as a batch in memory, and the same file after the job was killed.
#include "program.h"

#include "store/h5.h"
#include "tendril/study.h"

#define ROBOTS 5
#define ROWS   40

static char scene[512], rom[512];

static double command(int robot, int row, int input)
{
    return (input == 0 ? 1e-3 : 5e-4) * (1 + robot) * sin(0.3 * row + input);
}

// Names of variable length, as h5py writes them. robots x ROWS x 2, young by robot; one robot's inputs end in infinity.
static void write_inputs(const char *name, int robots, const char *const *names, bool bad)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    double *data = calloc((size_t)robots * ROWS * 2, sizeof *data), young[64];
    for (int i = 0; i < robots; i++)
        for (int t = 0; t < ROWS; t++)
            for (int k = 0; k < 2; k++)
                data[(i * ROWS + t) * 2 + k] = bad && i == 1 && t == 20 ? INFINITY : fabs(command(i, t, k));
    for (int i = 0; i < robots; i++)
        young[i] = 0.8 + 0.1 * i;
    hsize_t dims[3] = {(hsize_t)robots, ROWS, 2}, two = 2, n = (hsize_t)robots;
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(td_h5_array(file, "inputs", H5T_NATIVE_DOUBLE, 3, dims, data, NULL) >= 0);
    hid_t group = H5Gcreate2(file, "parameters", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(td_h5_array(group, "young:arm", H5T_NATIVE_DOUBLE, 1, &n, young, NULL) >= 0);
    if (names != NULL)
    {
        hid_t set = H5Dopen2(file, "inputs", H5P_DEFAULT), type = H5Tcopy(H5T_C_S1);
        H5Tset_size(type, H5T_VARIABLE);
        hid_t space = H5Screate_simple(1, &two, NULL);
        hid_t attribute = H5Acreate2(set, "names", type, space, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(H5Awrite(attribute, type, names) >= 0);
        H5Aclose(attribute);
        H5Sclose(space);
        H5Tclose(type);
        H5Dclose(set);
    }
    H5Gclose(group);
    H5Fclose(file);
    free(data);
}

static double *read_output(const char *name, const char *what, int64_t *count)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), data = H5Dopen2(file, what, H5P_DEFAULT);
    hid_t space = H5Dget_space(data);
    *count = H5Sget_simple_extent_npoints(space);
    double *out = calloc((size_t)*count, sizeof *out);
    assert_true(H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) >= 0);
    H5Sclose(space);
    H5Dclose(data);
    H5Fclose(file);
    return out;
}

static int begin(void **unused)
{
    (void)unused;
    char command_line[1024];
    snprintf(scene, sizeof scene, "%s/tests/golden/scenes/arm.yaml", TD_SOURCE_DIR);
    snprintf(rom, sizeof rom, "%s/tests/golden/scenes/arm.h5", TD_SOURCE_DIR);
    if (make_folder() != 0)
        return -1;
    snprintf(command_line, sizeof command_line, "cp %s/tests/golden/scenes/arm.yaml %s/tests/golden/scenes/arm.h5 %s",
             TD_SOURCE_DIR, TD_SOURCE_DIR, folder);
    return system(command_line);
}

static int run(const char *arguments)
{
    char text[600];
    snprintf(text, sizeof text, "arm.yaml --rom arm.h5 %s", arguments);
    return run_command("run", text);
}

static void test_as_in_memory(void **unused)
{
    (void)unused;
    tdError error = {0};
    tdModel *model = NULL;
    tdBatch *batch = NULL;
    tdSettings settings = td_default_settings();
    settings.rom = rom;
    assert_ok(td_model_load(scene, &settings, &model, &error), error);
    const char *first = td_model_input_name(model, 0), *second = td_model_input_name(model, 1);
    const char *const names[2] = {second, first};
    write_inputs("inputs.h5", ROBOTS, names, true);
    assert_int_equal(run("--batch inputs.h5 --hold 2 --outputs 'coords:arm time' --out result.h5"), 0);
    assert_false(exists("result.h5.work"));

    assert_ok(td_batch_create(model, &settings, ROBOTS, &batch, &error), error);
    int64_t count = 0;
    double *got = read_output("result.h5", "outputs/coords:arm", &count), *status = NULL;
    double *in = calloc(ROBOTS * ROWS * 2, sizeof *in), *out = calloc((size_t)count, sizeof *out), young[ROBOTS];
    int64_t width = td_model_body_coords(model, 0);
    assert_int_equal(count, ROBOTS * ROWS * width);
    for (int i = 0; i < ROBOTS * ROWS * 2; i++)
        in[i] = i / 2 % ROWS == 20 && i / 2 / ROWS == 1 ? INFINITY : fabs(command(i / 2 / ROWS, i / 2 % ROWS, i % 2));
    for (int i = 0; i < ROBOTS; i++)
        young[i] = 0.8 + 0.1 * i;
    const char *what = "coords:arm";
    const int chosen[2] = {1, 0};
    assert_ok(td_batch_choose_outputs(batch, 1, &what, &error), error);
    assert_ok(td_batch_choose_inputs(batch, 2, chosen, &error), error);
    assert_ok(td_batch_set_parameter(batch, TD_PARAMETER_YOUNG, 0, young, 1, NULL, &error), error);
    tdRollout rollout = td_default_rollout();
    rollout.rows = ROWS;
    rollout.hold = 2;
    rollout.inputs = (tdSpan){in, ROWS * 2, 2, 1};
    rollout.outputs = (tdSpan){out, ROWS * width, width, 1};
    assert_ok(td_batch_rollout(batch, &rollout, &error), error);
    for (int64_t i = 0; i < count; i++)
        assert_true(got[i] == out[i] || (isnan(got[i]) && isnan(out[i])));
    assert_true(isnan(got[(1 * ROWS + 20) * width]) && !isnan(got[(1 * ROWS + 19) * width]));
    free(got);
    status = read_output("result.h5", "status", &count);
    assert_true(status[0] == TD_OK && status[1] == TD_ERROR_USAGE);
    free(status);
    status = read_output("result.h5", "steps", &count);
    assert_true(status[0] == 2 * ROWS && status[1] == 40);
    free(status);
    free(in);
    free(out);
    td_batch_free(batch);
    td_model_free(model);
}

// In a child: the job kills itself when it has been told of progress so often.
static bool die(void *user, const char *phase, int64_t done, int64_t total)
{
    (void)phase;
    (void)done;
    (void)total;
    if (--*(int *)user == 0)
        kill(getpid(), SIGKILL);
    return true;
}

static void killed_at(int calls, const char *name)
{
    char inputs[512], out[512];
    snprintf(inputs, sizeof inputs, "%s/inputs.h5", folder);
    snprintf(out, sizeof out, "%s/%s", folder, name);
    pid_t child = fork();
    if (child == 0)
    {
        tdSettings settings = td_default_settings();
        tdSweepSettings what = td_default_sweep();
        settings.rom = rom;
        settings.threads = 1;
        what.inputs = inputs;
        what.out = out;
        what.progress = die;
        what.user = &calls;
        td_sweep_run(scene, &what, &settings, NULL, NULL);
        _exit(9);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
}

static void test_killed(void **unused)
{
    (void)unused;
    write_inputs("inputs.h5", 20, NULL, false);
    assert_int_equal(run("--batch inputs.h5 --out whole.h5"), 0);
    killed_at(2, "part.h5");
    killed_at(2, "part.h5");
    assert_true(exists("part.h5.work/block-0-row-0-rows.part"));
    assert_false(exists("part.h5"));
    assert_int_equal(run("--batch inputs.h5 --out part.h5 --json --threads 2"), 0);
    char *said = read_text("stdout.txt");
    assert_non_null(strstr(said, "\"resumed\": true"));
    free(said);
    assert_false(exists("part.h5.work"));
    char paths[2][512], *data[2];
    size_t size[2];
    tdError error = {0};
    for (int k = 0; k < 2; k++)
    {
        snprintf(paths[k], sizeof paths[k], "%s/%s.h5", folder, k == 0 ? "whole" : "part");
        assert_ok(td_file_read(paths[k], &data[k], &size[k], &error), error);
    }
    assert_true(size[0] == size[1]);
    assert_memory_equal(data[0], data[1], size[0]);
    free(data[0]);
    free(data[1]);
    // Work of other inputs is not taken for that of these.
    killed_at(2, "other.h5");
    write_inputs("inputs.h5", 19, NULL, false);
    assert_int_equal(run("--batch inputs.h5 --out other.h5"), 3);
    assert_int_equal(run("--batch inputs.h5 --out other.h5 --force"), 0);
}

static void expect(const char *arguments, int code, const char *says)
{
    assert_int_equal(run(arguments), code);
    char *said = read_text("stderr.txt");
    if (strstr(said, says) == NULL)
        fail_msg("'%s' does not say '%s'", said, says);
    free(said);
}

static void test_mistakes(void **unused)
{
    (void)unused;
    static const char *const wrong[2] = {"tpo", "side"};
    write_inputs("inputs.h5", 3, NULL, false);
    write_text("text.h5", "no such thing");
    expect("--batch inputs.h5", 2, ".h5");
    expect("--batch inputs.h5 --out folder", 2, ".h5");
    expect("--batch none.h5 --out new.h5", 3, "none.h5: cannot be opened");
    expect("--batch text.h5 --out new.h5", 3, "not an HDF5 file");
    expect("--batch inputs.h5 --out new.h5 --steps 3", 2, "one robot");
    expect("--hold 2", 2, "--hold belongs to --batch");
    expect("--batch inputs.h5 --out new.h5 --outputs 'probe:nose'", 3, "nose");
    expect("--batch inputs.h5 --out text.h5", 2, "--force");
    write_inputs("inputs.h5", 3, wrong, false);
    expect("--batch inputs.h5 --out new.h5", 3, "no input 'tpo'");
    assert_false(exists("new.h5"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_in_memory), cmocka_unit_test(test_killed),
                                       cmocka_unit_test(test_mistakes)};
    return cmocka_run_group_tests(tests, begin, teardown);
}
