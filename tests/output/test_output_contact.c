// SPDX-License-Identifier: Apache-2.0
// Contacts, attachments and couplings in the files of a run: tables, the HDF5 file, and runs that go on.
#include "scenes.h"

#include "output_run.h"
#include "store/h5.h"

#define G         9.81
#define FLOOR_BOX "floor,floor,box,box,"

// A box and a soft block fall on the floor; another box hangs on the block by a rod.
static const char scene_text[] =
    "tendril: 1\ntime_step: 2 ms\nsteps: 10\ngravity: [0, 0, -9.81]\ncontact: {friction: 0.5}\nbodies:\n"
    "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
    "  - {name: box, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 2, transform: {translate: [0, 0, "
    "0.0501]}}\n"
    "  - {name: pad, mesh: {box: [[0.2, 0, 0.0002], [0.3, 0.1, 0.1]], cells: [2, 2, 2]}, damping: {stiffness: 20 ms}, "
    "material: {law: corotational_lagged, young: 0.5 MPa, poisson: 0.3, density: 1000}}\n"
    "  - {name: lid, type: rigid, shape: {box: [0.1, 0.1, 0.02]}, total_mass: 0.5, transform: {translate: [0.25, 0.05, "
    "0.11]}}\n"
    "  - {name: bob, type: rigid, shape: {sphere: 0.02}, total_mass: 0.3, transform: {translate: [0.6, 0, 0.3]}}\n"
    "attachments: [{name: glue, a: lid, points: [[0.21, 0.01, 0.1], [0.29, 0.01, 0.1], [0.25, 0.09, 0.1]], b: pad}]\n"
    "couplings: [{name: thread, rod: {a: bob, point_a: [0.6, 0, 0.3], point_b: [0.6, 0, 0.6]}}]\n"
    "output: {every: 1, formats: [csv, hdf5]}\n";

enum
{
    STEPS = 40
};

static testRun run_begin(void)
{
    testRun run = {.model = scene_parse(scene_text)};
    run.state = scene_state(run.model);
    strcpy(run.folder, "/tmp/tendril_contacts_XXXXXX");
    assert_non_null(mkdtemp(run.folder));
    return run;
}

// Value of a column, by its title, in the last row whose first columns after step and time are `of` (NULL: any).
static double cell(const char *data, const char *title, const char *of)
{
    int column = 0, found = -1;
    const char *c = data, *line = NULL;
    for (; *c != '\n'; column++)
    {
        size_t length = strcspn(c, ",\n");
        if (strlen(title) == length && strncmp(c, title, length) == 0)
            found = column;
        c += length + (c[length] == ',');
    }
    assert_true(found >= 0);
    for (c++; *c != '\0'; c = strchr(c, '\n') + 1)
    {
        const char *third = strchr(strchr(c, ',') + 1, ',') + 1;
        if (of == NULL || strncmp(third, of, strlen(of)) == 0)
            line = c;
    }
    assert_non_null(line);
    for (int k = 0; k < found; k++)
        line = strchr(line, ',') + 1;
    return strtod(line, NULL);
}

static void test_tables(void **unused)
{
    (void)unused;
    testRun run = run_begin();
    write_run(&run, STEPS);
    size_t size = 0;
    double force[3], torque[3], point[3], total[3];
    char *pairs = read_file(&run, "contact_pairs.csv", &size);
    td_state_contact_force(run.state, 0, 1, force);
    assert_near(cell(pairs, "force_z [N]", FLOOR_BOX), force[2], 0);
    assert_near(force[2], 2 * G, 0.2 * G);
    assert_near(cell(pairs, "z [m]", FLOOR_BOX), 0, 1e-4);
    assert_near(cell(pairs, "points", FLOOR_BOX), 4, 0);
    // About the middle of the pressure a box that stands has no torque but that of friction.
    assert_near(cell(pairs, "torque_x [N m]", FLOOR_BOX), 0, 1e-3);
    free(pairs);
    // The same forces about another place.
    const double about[3] = {1, 0, 0};
    td_state_contact_wrench(run.state, 0, 1, about, total, torque);
    assert_memory_equal(total, force, sizeof total);
    assert_near(torque[1], 1 * force[2], 1e-6 * force[2]);
    td_state_contact_wrench(run.state, 1, 0, about, total, torque);
    assert_near(total[2], -force[2], 0);
    char *attachments = read_file(&run, "attachments.csv", &size);
    td_state_attachment_force(run.state, 0, force, torque, point);
    assert_near(cell(attachments, "glue.force_z [N]", NULL), force[2], 0);
    assert_near(cell(attachments, "glue.torque_y [N m]", NULL), torque[1], 0);
    assert_near(cell(attachments, "glue.x [m]", NULL), point[0], 0);
    free(attachments);
    char *couplings = read_file(&run, "couplings.csv", &size);
    assert_near(cell(couplings, "thread [N]", NULL), -0.3 * G, 1e-4);
    free(couplings);
    char *report = read_file(&run, "report.csv", &size);
    const tdReport *r = td_state_report(run.state);
    assert_near(cell(report, "contacts", NULL), r->contacts, 0);
    assert_near(cell(report, "contacts_active", NULL), r->contacts_active, 0);
    assert_near(cell(report, "constraints", NULL), r->constraints, 0);
    assert_near(cell(report, "contact_iterations", NULL), r->contact_iterations, 0);
    assert_near(cell(report, "contact_residual", NULL), r->contact_residual, 0);
    assert_near(cell(report, "contact_limits", NULL), 0, 0);
    assert_true(r->contacts_active >= 8 && r->constraints >= r->contacts_active + 4);
    free(report);
    run_end(&run);
}

static int64_t read_series(hid_t file, const char *name, hid_t type, int width, void *out, int64_t most)
{
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    assert_true(dataset >= 0);
    hid_t space = H5Dget_space(dataset);
    hsize_t dims[4] = {0, 1};
    int rank = H5Sget_simple_extent_dims(space, dims, NULL);
    assert_int_equal(rank, width == 0 ? 1 : 2);
    assert_int_equal(dims[1], width == 0 ? 1 : width);
    assert_true((int64_t)(dims[0] * dims[1]) <= most);
    assert_true(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) >= 0);
    H5Sclose(space);
    H5Dclose(dataset);
    return (int64_t)dims[0];
}

#define MOST 100000

static void check_trajectory(const testRun *run)
{
    static double values[MOST];
    static int64_t numbers[MOST];
    char path[512], text[64] = "";
    snprintf(path, sizeof path, "%s/run.h5", run->folder);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    assert_int_equal(read_series(file, "/contacts/count", H5T_NATIVE_INT64, 0, numbers, MOST), STEPS + 1);
    int64_t sum = 0, last = numbers[STEPS];
    for (int k = 0; k <= STEPS; k++)
        sum += numbers[k];
    assert_int_equal(numbers[0], 0); // at rest nothing is known
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(run->state, &points), active = 0;
    double total = 0;
    assert_int_equal(read_series(file, "/contacts/force", H5T_NATIVE_DOUBLE, 3, values, MOST), sum);
    for (int64_t i = 0; i < n; i++)
    {
        const double *f = points[i].force;
        if (f[0] == 0 && f[1] == 0 && f[2] == 0)
            continue;
        assert_memory_equal(values + 3 * (sum - last + active), f, sizeof points[i].force);
        active++;
        total += f[2];
    }
    assert_int_equal(active, last);
    assert_true(total > 0);
    assert_int_equal(read_series(file, "/contacts/position", H5T_NATIVE_DOUBLE, 3, values, MOST), sum);
    assert_int_equal(read_series(file, "/contacts/normal", H5T_NATIVE_DOUBLE, 3, values, MOST), sum);
    assert_near(values[3 * sum - 1], 1, 1e-12);
    assert_int_equal(read_series(file, "/contacts/slip", H5T_NATIVE_DOUBLE, 3, values, MOST), sum);
    assert_int_equal(read_series(file, "/contacts/distance", H5T_NATIVE_DOUBLE, 0, values, MOST), sum);
    assert_int_equal(read_series(file, "/contacts/link", H5T_NATIVE_INT64, 2, numbers, MOST), sum);
    assert_int_equal(read_series(file, "/contacts/body", H5T_NATIVE_INT64, 2, numbers, MOST), sum);
    for (int64_t i = 0; i < sum; i++)
        assert_true(numbers[2 * i] == 0 && (numbers[2 * i + 1] == 1 || numbers[2 * i + 1] == 2));
    hid_t attribute = H5Aopen_by_name(file, "/contacts/body", "names", H5P_DEFAULT, H5P_DEFAULT);
    assert_true(attribute >= 0);
    hid_t type = H5Aget_type(attribute);
    assert_true(H5Aread(attribute, type, text) >= 0);
    assert_string_equal(text, "floor");
    H5Tclose(type);
    H5Aclose(attribute);
    assert_int_equal(read_series(file, "/couplings/effort", H5T_NATIVE_DOUBLE, 1, values, MOST), STEPS + 1);
    assert_near(values[STEPS], td_state_coupling_effort(run->state, 0), 0);
    H5Fclose(file);
}

static void test_going_on_gives_the_files_of_one_run(void **unused)
{
    (void)unused;
    testRun straight = run_begin(), parts = run_begin();
    write_run(&straight, STEPS);
    check_trajectory(&straight);
    write_in_parts(&parts, 23, 7, STEPS);
    check_trajectory(&parts);
    static const char *const names[] = {"contacts.csv", "contact_pairs.csv", "attachments.csv", "couplings.csv"};
    assert_same_files(&straight, &parts, 4, names);
    run_end(&straight);
    run_end(&parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_going_on_gives_the_files_of_one_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
