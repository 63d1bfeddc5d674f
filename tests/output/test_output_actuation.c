// SPDX-License-Identifier: Apache-2.0
// The files of a run hold what its actuators and effectors did.
#include "actuators.h"

#include "output/actuation.h"
#include "output_run.h"
#include "store/h5.h"

// A beam with a pulled cable, one with friction that is asked for more than it may give, and a named target.
static const char scene_text[] =
    "tendril: 1\n"
    "time_step: 10 ms\n"
    "steps: 6\n"
    "bodies:\n"
    "  - name: cables\n" // of the name that the files of cables have
    "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [5, 2, 2]}\n"
    "    material: {law: corotational, young: 200 kPa, poisson: 0.4, density: 1000}\n"
    "    fixed: [{group: xmin}]\n"
    "actuators:\n"
    "  - {name: top, type: cable, body: cables, path: [[0.09, 0.01, 0.018], [0.05, 0.01, 0.018]],\n"
    "     pull_point: [-0.02, 0.01, 0.018], drive: displacement}\n"
    "  - {name: side, type: cable, body: cables, path: [[0.09, 0.018, 0.01], [0.05, 0.018, 0.012]],\n"
    "     pull_point: [-0.02, 0.018, 0.01], drive: force, friction: 0.5, range: [0, 0.5 N]}\n"
    "  - {name: push, type: force, body: cables, group: xmax, direction: [0, 0, 1], drive: force}\n"
    "effectors:\n"
    "  - {name: tip, body: cables, point: [0.1, 0.01, 0.01]}\n"
    "  - {name: reach, type: length, actuator: top}\n"
    "motion: {keyframes: [{t: 0, top: 0, side: 0, push: 0}, {t: 0.06, top: 4 mm, side: 1 N, push: 0.01 N}]}\n"
    "output: {every: 1, formats: [vtu, csv, hdf5]}\n";

enum
{
    STEPS = 6
};

static testRun run_begin(void)
{
    testRun run = {0};
    tdError error = {0};
    tdSettings settings = td_default_settings();
    settings.threads = 1;
    strcpy(run.folder, "/tmp/tendril_actuation_XXXXXX");
    assert_non_null(mkdtemp(run.folder));
    assert_ok(td_model_parse(scene_text, sizeof scene_text - 1, "test.yaml", NULL, &settings, &run.model, &error),
              error);
    assert_ok(td_state_create(run.model, &settings, &run.state, &error), error);
    return run;
}

// Numbers of the last row; NAN for empty fields.
static int last_row(const char *data, double *values, int most)
{
    int n = 0;
    size_t length = strlen(data);
    const char *c = data + length - 1;
    while (c > data && c[-1] != '\n')
        c--;
    for (; n < most; c++)
    {
        char *end = NULL;
        values[n] = strtod(c, &end);
        if (end == c)
            values[n] = NAN;
        n++;
        c = end;
        if (*c != ',')
            break;
    }
    return n;
}

static void test_tables(void **unused)
{
    (void)unused;
    testRun run = run_begin();
    write_run(&run, STEPS);
    size_t size = 0;
    double row[64], tip[3];
    char *data = read_file(&run, "actuators.csv", &size);
    const char *header = "step,time [s],top.effort [N],top.displacement [m],side.effort [N],side.displacement [m],"
                         "push.effort [N],push.displacement [m]\n";
    assert_memory_equal(data, header, strlen(header));
    assert_int_equal(last_row(data, row, 64), 8);
    for (int a = 0; a < 3; a++) // text keeps all bits
    {
        tdActuation now = td_state_actuation(run.model, run.state, a);
        assert_near(row[2 + 2 * a], now.effort, 0);
        assert_near(row[3 + 2 * a], now.displacement, 0);
    }
    assert_true(row[2] > 0);
    assert_near(row[4], 0.5, 0); // the most that it may
    free(data);

    data = read_file(&run, "effectors.csv", &size);
    header = "step,time [s],tip.x [m],tip.y [m],tip.z [m],tip.target.x [m],tip.target.y [m],tip.target.z [m],"
             "tip.error [m],reach [m],reach.target [m],reach.error [m],residual,out_of_reach\n";
    assert_memory_equal(data, header, strlen(header));
    assert_int_equal(last_row(data, row, 64), 14);
    td_state_effector(run.model, run.state, 0, tip);
    for (int k = 0; k < 3; k++)
    {
        assert_near(row[2 + k], tip[k], 0);
        assert_true(isnan(row[5 + k])); // there is no target
    }
    assert_true(isnan(row[8]) && isnan(row[12]) && isnan(row[13]));
    free(data);
    run_end(&run);
}

// The error of an effector counts the components that it controls.
static void test_error_of_an_effector(void **unused)
{
    (void)unused;
    testRun run = run_begin();
    double value[3], *target = run.state->constraint->target;
    assert_true(isnan(td_effector_error(run.model, run.state, 0)));
    td_state_effector(run.model, run.state, 0, value);
    for (int k = 0; k < 3; k++)
        target[k] = value[k];
    target[0] += 0.003;
    target[2] -= 0.004;
    // Positions are of the order of 0.1 and known to 1e-16 of that.
    assert_near(td_effector_error(run.model, run.state, 0), 0.005, 1e-16);
    run.model->scene.effectors[0].axes = TD_AXIS_Z;
    assert_near(td_effector_error(run.model, run.state, 0), 0.004, 1e-16);
    run_end(&run);
}

static void test_saturation_is_seen(void **unused)
{
    (void)unused;
    testRun run = run_begin();
    assert_int_equal(td_actuation_saturated(run.model, run.state), -1);
    for (int i = 1; i <= STEPS; i++)
    {
        assert_ok(td_step(run.model, run.state), td_state_report(run.state)->error);
        // The side is asked for i/6 N, and may give 1/2 N.
        assert_int_equal(td_actuation_saturated(run.model, run.state), i > 3 ? 1 : -1);
    }
    run_end(&run);
}

static void test_cables(void **unused)
{
    (void)unused;
    testRun run = run_begin();
    write_run(&run, STEPS);
    tdError error = {0};
    tdMesh mesh = {0};
    tdFields fields = {0};
    size_t size = 0;
    // A body has the name; the cables stand aside.
    char *data = read_file(&run, "cables__000006.vtu", &size);
    assert_ok(td_mesh_read_vtu_fields(data, size, "cables", &mesh, &fields, &error), error);
    assert_int_equal(mesh.n_nodes, 6);
    assert_int_equal(mesh.cells[TD_CELL_LINE].count, 4);
    assert_int_equal(fields.n, 3);
    const double *tension = NULL;
    for (int i = 0; i < fields.n; i++)
        if (strcmp(fields.field[i].name, "tension") == 0)
            tension = fields.field[i].data;
    assert_non_null(tension);
    double top = td_state_actuation(run.model, run.state, 0).effort;
    assert_near(tension[0], top, 0); // without friction all the way
    assert_near(tension[1], top, 0);
    assert_near(tension[3], 0.5, 0); // at the motor; less behind the bend
    assert_true(tension[2] > 0 && tension[2] < 0.499);
    assert_near(mesh.x[3 * 2], -0.02, 0); // the pull point stays
    double length = 0, reach[3];
    for (int i = 0; i < 2; i++)
    {
        double d2 = 0;
        for (int k = 0; k < 3; k++)
            d2 += pow(mesh.x[3 * (i + 1) + k] - mesh.x[3 * i + k], 2);
        length += sqrt(d2);
    }
    td_state_effector(run.model, run.state, 1, reach);
    assert_near(length, reach[0], 1e-15); // the same sum of three roots of the order of 0.1
    td_fields_free(&fields);
    td_mesh_free(&mesh);
    free(data);
    data = read_file(&run, "cables_.pvd", &size);
    int entries = 0;
    for (const char *at = data; (at = strstr(at, "<DataSet")) != NULL; at++)
        entries++;
    assert_int_equal(entries, STEPS + 1);
    free(data);
    run_end(&run);
}

// The walls of a cavity in the file enclose its volume, and carry its pressure.
static void test_cavities(void **unused)
{
    (void)unused;
    static char path[SCENE_PATH], surface[SCENE_PATH];
    const actBall ball = {.n = 4, .layers = 1, .inner = 0.6, .outer = 1, .tetrahedra = true};
    ball_files(&ball, 4, path, surface);
    testRun run = {.folder = "/tmp/tendril_actuation_XXXXXX"};
    run.model = scene_model(ACT_STATIC "bodies:\n  - name: ball\n    mesh: %s\n"
                                       "    material: {law: neo_hookean, young: 1e5, poisson: 0.3}\n"
                                       "    fixed: [{box: [[-2, -2, -2], [2, 2, -0.5]]}]\n"
                                       "actuators: [{name: air, type: cavity, body: ball, group: inner, "
                                       "drive: pressure}]\noutput: {formats: [vtu]}\n",
                            path);
    unlink(path);
    unlink(surface);
    run.state = scene_state(run.model);
    assert_non_null(mkdtemp(run.folder));
    tdOutput *output = open_output(&run, -1);
    act_set(run.model, run.state, "air", 2000);
    take_steps(&run, output, 1);
    tdError error = {0};
    assert_ok(td_output_close(output, &error), error);
    size_t size = 0;
    char *data = read_file(&run, "cavities_000001.vtu", &size);
    tdMesh mesh = {0};
    tdFields fields = {0};
    assert_ok(td_mesh_read_vtu_fields(data, size, "cavities", &mesh, &fields, &error), error);
    free(data);
    const tdCells *tris = &mesh.cells[TD_CELL_TRI];
    assert_int_equal(tris->count, run.model->actuators[0].measure.n_tris);
    double volume = 0;
    for (int64_t t = 0; t < tris->count; t++)
    {
        const double *a = mesh.x + 3 * (int64_t)tris->nodes[3 * t], *b = mesh.x + 3 * (int64_t)tris->nodes[3 * t + 1],
                     *c = mesh.x + 3 * (int64_t)tris->nodes[3 * t + 2];
        volume += (a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
                   a[2] * (b[0] * c[1] - b[1] * c[0])) /
                  6;
    }
    double growth = act_of(run.model, run.state, "air").displacement;
    assert_true(growth > 0.001);
    assert_near(volume - run.model->actuators[0].rest_value, growth, 1e-14); // sums of terms below one
    assert_string_equal(fields.field[0].name, "pressure");
    assert_near(fields.field[0].data[tris->count - 1], 2000, 0);
    td_fields_free(&fields);
    td_mesh_free(&mesh);
    run_end(&run);
}

static void check_series(hid_t file, const char *name, int rank, const hsize_t *expected, double *out,
                         const char *first_name, const char *first_unit)
{
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    assert_true(dataset >= 0);
    hid_t space = H5Dget_space(dataset);
    hsize_t dims[4] = {0};
    assert_int_equal(H5Sget_simple_extent_dims(space, dims, NULL), rank);
    for (int i = 0; i < rank; i++)
        assert_int_equal(dims[i], expected[i]);
    assert_true(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) >= 0);
    const char *const attributes[] = {"names", "units"}, *const words[] = {first_name, first_unit};
    for (int i = 0; i < 2; i++)
    {
        char text[256] = "";
        hid_t attribute = H5Aopen(dataset, attributes[i], H5P_DEFAULT);
        assert_true(attribute >= 0);
        hid_t type = H5Aget_type(attribute);
        assert_true(H5Aread(attribute, type, text) >= 0);
        assert_string_equal(text, words[i]);
        H5Tclose(type);
        H5Aclose(attribute);
    }
    H5Sclose(space);
    H5Dclose(dataset);
}

static void check_trajectory(const testRun *run)
{
    char path[512];
    double values[64];
    snprintf(path, sizeof path, "%s/run.h5", run->folder);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    check_series(file, "/actuators/effort", 2, (hsize_t[]){STEPS + 1, 3}, values, "top", "N");
    assert_near(values[3 * STEPS], td_state_actuation(run->model, run->state, 0).effort, 0);
    check_series(file, "/actuators/displacement", 2, (hsize_t[]){STEPS + 1, 3}, values, "top", "m");
    assert_near(values[3 * STEPS + 1], td_state_actuation(run->model, run->state, 1).displacement, 0);
    double value[3];
    td_state_effector(run->model, run->state, 0, value);
    check_series(file, "/effectors/value", 3, (hsize_t[]){STEPS + 1, 2, 3}, values, "tip", "m");
    assert_memory_equal(values + 6 * STEPS, value, sizeof value);
    assert_true(isnan(values[6 * STEPS + 4])); // a length has one number
    check_series(file, "/effectors/target", 3, (hsize_t[]){STEPS + 1, 2, 3}, values, "tip", "m");
    assert_true(isnan(values[6 * STEPS]));
    H5Fclose(file);
}

static void test_trajectory(void **unused)
{
    (void)unused;
    testRun run = run_begin();
    write_run(&run, STEPS);
    check_trajectory(&run);
    run_end(&run);
}

static void test_going_on_gives_the_files_of_one_run(void **unused)
{
    (void)unused;
    testRun straight = run_begin(), parts = run_begin();
    write_run(&straight, STEPS);
    write_in_parts(&parts, 3, 2, STEPS);
    check_trajectory(&parts);
    static const char *const names[] = {"actuators.csv", "effectors.csv", "cables_.pvd", "cables__000005.vtu"};
    assert_same_files(&straight, &parts, 4, names);
    run_end(&straight);
    run_end(&parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_error_of_an_effector),
        cmocka_unit_test(test_saturation_is_seen),
        cmocka_unit_test(test_cables),
        cmocka_unit_test(test_cavities),
        cmocka_unit_test(test_trajectory),
        cmocka_unit_test(test_going_on_gives_the_files_of_one_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
