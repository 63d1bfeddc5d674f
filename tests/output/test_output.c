// SPDX-License-Identifier: Apache-2.0
// The files of a run hold what the state held.
#include "test.h"

#include "base/file.h"
#include "body/soft.h"
#include "output/csv.h"
#include "output/frames.h"
#include "store/h5.h"

#include <dirent.h>
#include <libxml/parser.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char scene_text[] = "tendril: 1\n"
                                 "gravity: [0, 0, -9.81 m/s^2]\n"
                                 "time_step: 10 ms\n"
                                 "steps: 6\n"
                                 "bodies:\n"
                                 "  - name: beam\n"
                                 "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [5, 2, 2]}\n"
                                 "    material: {law: neo_hookean, young: 100 kPa, poisson: 0.4, density: 1000}\n"
                                 "    fixed: [{group: xmin}]\n"
                                 "    prescribed: [{name: pull, group: xmax, axes: x, displacement: [0.01, 0, 0]}]\n"
                                 "  - name: cube\n"
                                 "    mesh: {box: [[0, 0.1, 0], [0.02, 0.12, 0.02]], cells: [1, 2, 2]}\n"
                                 "    material: {law: corotational, young: 50 kPa, poisson: 0.3, density: 1000}\n"
                                 "    fixed: [{group: zmin}]\n"
                                 "probes:\n"
                                 "  - {name: tip, body: beam, point: [0.1, 0.01, 0.01]}\n"
                                 "  - {name: top, body: cube, group: zmax}\n"
                                 "motion: {keyframes: [{t: 0, pull: 0}, {t: 0.06, pull: 1}]}\n"
                                 "output: {every: 1, formats: [vtu, csv, hdf5]}\n";

enum
{
    STEPS = 6
};

/// A model with a state, and a folder of its own.
typedef struct testRun
{
    tdModel *model;
    tdState *state;
    char folder[64];
} testRun;

static testRun run_begin(void)
{
    testRun run = {0};
    tdError error = {0};
    tdSettings settings = td_default_settings();
    settings.threads = 1;
    strcpy(run.folder, "/tmp/tendril_output_XXXXXX");
    assert_non_null(mkdtemp(run.folder));
    assert_ok(td_model_parse(scene_text, sizeof scene_text - 1, "test.yaml", NULL, &settings, &run.model, &error),
              error);
    assert_ok(td_state_create(run.model, &settings, &run.state, &error), error);
    return run;
}

static void remove_folder(const char *folder)
{
    DIR *directory = opendir(folder);
    struct dirent *entry;
    while (directory != NULL && (entry = readdir(directory)) != NULL)
    {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (directory != NULL)
        closedir(directory);
    rmdir(folder);
}

static void run_end(testRun *run)
{
    remove_folder(run->folder);
    td_state_free(run->state);
    td_model_free(run->model);
}

static tdOutput *open_output(const testRun *run, bool compressed, int64_t keep)
{
    tdError error = {0};
    tdOutput *output = NULL;
    tdOutputSettings settings = td_default_output(run->model);
    assert_true(settings.vtu && settings.csv && settings.hdf5);
    settings.compressed = compressed;
    settings.keep = keep;
    assert_ok(td_output_open(run->model, run->folder, &settings, &output, &error), error);
    return output;
}

static void take_steps(const testRun *run, tdOutput *output, int n)
{
    tdError error = {0};
    for (int i = 0; i < n; i++)
    {
        assert_ok(td_step(run->model, run->state), td_state_report(run->state)->error);
        td_output_count(output, td_state_report(run->state));
        assert_ok(td_output_frame(output, run->state, &error), error);
    }
}

static void write_run(const testRun *run, bool compressed)
{
    tdError error = {0};
    tdOutput *output = open_output(run, compressed, -1);
    assert_ok(td_output_frame(output, run->state, &error), error);
    take_steps(run, output, STEPS);
    assert_int_equal(td_output_frames(output), STEPS + 1);
    assert_ok(td_output_frame(output, run->state, &error), error); // not written again
    assert_int_equal(td_output_frames(output), STEPS + 1);
    assert_ok(td_output_close(output, &error), error);
}

static char *read_file(const testRun *run, const char *name, size_t *size)
{
    char path[512], *data = NULL;
    tdError error = {0};
    snprintf(path, sizeof path, "%s/%s", run->folder, name);
    assert_ok(td_file_read(path, &data, size, &error), error);
    return data;
}

// ---------------------------------------------------------------- VTU, PVD

static const double *find_field(const tdFields *fields, const char *name, bool by_cell, int components)
{
    for (int i = 0; i < fields->n; i++)
        if (strcmp(fields->field[i].name, name) == 0)
        {
            assert_int_equal(fields->field[i].by_cell, by_cell);
            assert_int_equal(fields->field[i].components, components);
            return fields->field[i].data;
        }
    fail_msg("the file has no array %s", name);
    return NULL;
}

static void check_vtu(const testRun *run, int b, const char *name)
{
    const tdBody *body = &run->model->bodies[b];
    const tdSoft *soft = body->data;
    tdError error = {0};
    tdMesh mesh = {0};
    tdFields fields = {0};
    size_t size = 0, vectors = (size_t)body->count * sizeof(double);
    char *data = read_file(run, name, &size);
    assert_ok(td_mesh_read_vtu_fields(data, size, name, &mesh, &fields, &error), error);
    assert_int_equal(mesh.n_nodes, body->nodes);
    assert_memory_equal(mesh.x, run->state->q + body->first, vectors);
    assert_memory_equal(find_field(&fields, "velocity", false, 3), run->state->v + body->first, vectors);
    assert_memory_equal(find_field(&fields, "reaction", false, 3), run->state->reaction + body->first, vectors);
    const double *u = find_field(&fields, "displacement", false, 3);
    for (int64_t i = 0; i < body->count; i++)
        assert_near(u[i], mesh.x[i] - soft->rest[i], 0);

    int64_t tets = body->elements, tris = mesh.cells[TD_CELL_TRI].count;
    assert_int_equal(mesh.cells[TD_CELL_TET].count, tets);
    assert_int_equal(mesh.n_groups, soft->mesh.n_groups);
    assert_true(td_mesh_find_group(&mesh, "xmin") >= 0);
    double *von_mises = td_take((size_t)tets, sizeof(double)), *energy = td_take((size_t)tets, sizeof(double));
    td_soft_fields(run->model, body, run->state, von_mises, energy);
    // Cells are by type: triangles of the sides come before tetrahedra.
    assert_memory_equal(find_field(&fields, "von_mises", true, 1) + tris, von_mises, (size_t)tets * sizeof(double));
    assert_memory_equal(find_field(&fields, "strain_energy_density", true, 1) + tris, energy,
                        (size_t)tets * sizeof(double));
    // A triangle shows the value of an element that it is a face of.
    for (int64_t t = 0; t < tris; t++)
    {
        const int32_t *tri = mesh.cells[TD_CELL_TRI].nodes + 3 * t;
        double shown = find_field(&fields, "von_mises", true, 1)[t];
        bool found = false;
        for (int64_t e = 0; e < tets; e++)
        {
            const int32_t *tet = mesh.cells[TD_CELL_TET].nodes + 4 * e;
            int common = 0;
            for (int k = 0; k < 12; k++)
                common += tet[k / 3] == tri[k % 3];
            found = found || (common == 3 && von_mises[e] == shown);
        }
        assert_true(found);
    }
    free(von_mises);
    free(energy);
    free(data);
    td_fields_free(&fields);
    td_mesh_free(&mesh);
}

static void test_vtu(void **unused)
{
    (void)unused;
    for (int compressed = 0; compressed < 2; compressed++)
    {
        testRun run = run_begin();
        write_run(&run, compressed);
        check_vtu(&run, 0, "beam_000006.vtu");
        check_vtu(&run, 1, "cube_000006.vtu");
        run_end(&run);
    }
}

// Counts the entries of run.pvd, each of which must name a file that is there.
static int count_pvd(const testRun *run)
{
    char path[512];
    snprintf(path, sizeof path, "%s/run.pvd", run->folder);
    xmlDocPtr document = xmlReadFile(path, NULL, XML_PARSE_NONET);
    assert_non_null(document);
    xmlNodePtr root = xmlDocGetRootElement(document), collection = xmlFirstElementChild(root);
    assert_string_equal((const char *)collection->name, "Collection");
    int n = 0;
    double last = -1;
    for (xmlNodePtr entry = xmlFirstElementChild(collection); entry != NULL; entry = xmlNextElementSibling(entry), n++)
    {
        xmlChar *file = xmlGetProp(entry, (const xmlChar *)"file"),
                *time = xmlGetProp(entry, (const xmlChar *)"timestep"),
                *part = xmlGetProp(entry, (const xmlChar *)"part");
        assert_int_equal(atoi((const char *)part), n % 2);
        double t = strtod((const char *)time, NULL);
        assert_true(t >= last);
        last = t;
        snprintf(path, sizeof path, "%s/%s", run->folder, (const char *)file);
        assert_int_equal(access(path, R_OK), 0);
        xmlFree(file);
        xmlFree(time);
        xmlFree(part);
    }
    assert_near(last, td_state_time(run->state), 0);
    xmlFreeDoc(document);
    return n;
}

static void test_pvd_is_whole_at_every_frame(void **unused)
{
    (void)unused;
    testRun run = run_begin();
    tdError error = {0};
    tdOutput *output = open_output(&run, false, -1);
    for (int i = 1; i <= 3; i++)
    {
        take_steps(&run, output, 1);
        assert_int_equal(count_pvd(&run), 2 * i); // the run might be killed here
    }
    assert_ok(td_output_close(output, &error), error);
    assert_int_equal(count_pvd(&run), 6);
    run_end(&run);
}

// ---------------------------------------------------------------- CSV

// Numbers of the last row; rows in *n_rows.
static int last_row(const char *data, double *values, int most, int *n_rows)
{
    int n = 0;
    *n_rows = -1; // the header
    const char *last = data;
    for (const char *c = data; *c != '\0'; c++)
        if (*c == '\n')
        {
            ++*n_rows;
            last = c[1] != '\0' ? c + 1 : last;
        }
    for (const char *c = last; n < most && *c != '\n' && *c != '\0';)
    {
        char *end = NULL;
        values[n++] = strtod(c, &end);
        assert_true(end != c);
        c = *end == ',' ? end + 1 : end;
    }
    return n;
}

static void test_tables(void **unused)
{
    (void)unused;
    testRun run = run_begin();
    write_run(&run, false);
    double values[64], x[3], f[3];
    size_t size = 0;
    int rows = 0;

    char *data = read_file(&run, "probes.csv", &size);
    const char *header = "step,time [s],tip_x [m],tip_y [m],tip_z [m],top_x [m],top_y [m],top_z [m]\n";
    assert_memory_equal(data, header, strlen(header));
    assert_int_equal(last_row(data, values, 64, &rows), 8);
    assert_int_equal(rows, STEPS + 1);
    assert_near(values[0], STEPS, 0);
    assert_near(values[1], td_state_time(run.state), 0);
    for (int p = 0; p < 2; p++)
    {
        td_state_probe(run.model, run.state, p, x);
        assert_memory_equal(values + 2 + 3 * p, x, sizeof x); // text keeps all bits
    }
    free(data);

    data = read_file(&run, "reactions.csv", &size);
    header = "step,time [s],beam_x [N],beam_y [N],beam_z [N],cube_x [N],cube_y [N],cube_z [N],"
             "beam.pull_x [N],beam.pull_y [N],beam.pull_z [N]\n";
    assert_memory_equal(data, header, strlen(header));
    assert_int_equal(last_row(data, values, 64, &rows), 11);
    td_state_reaction(run.model, run.state, 1, f);
    assert_memory_equal(values + 5, f, sizeof f);
    assert_true(values[8] > 0);   // the beam is pulled along x,
    assert_near(values[9], 0, 0); // and only there
    free(data);

    data = read_file(&run, "report.csv", &size);
    assert_int_equal(last_row(data, values, 64, &rows), 2 + TD_TOTALS_COLUMNS);
    assert_int_equal(rows, STEPS + 1);
    assert_near(values[2], 1, 0);
    assert_near(values[3], td_state_report(run.state)->newton_iterations, 0);
    free(data);
    run_end(&run);
}

// ---------------------------------------------------------------- HDF5

static void read_series(hid_t file, const char *name, int rank, const hsize_t *expected, double *out)
{
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    assert_true(dataset >= 0);
    hid_t space = H5Dget_space(dataset);
    hsize_t dims[4] = {0};
    assert_int_equal(H5Sget_simple_extent_ndims(space), rank);
    H5Sget_simple_extent_dims(space, dims, NULL);
    for (int i = 0; i < rank; i++)
        assert_int_equal(dims[i], expected[i]);
    if (out != NULL)
        assert_true(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) >= 0);
    H5Sclose(space);
    H5Dclose(dataset);
}

static void check_trajectory(const testRun *run)
{
    char path[512];
    snprintf(path, sizeof path, "%s/run.h5", run->folder);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    const tdBody *body = &run->model->bodies[0];
    const tdSoft *soft = body->data;
    hsize_t frames = STEPS + 1, nodes = (hsize_t)body->nodes, elements = (hsize_t)body->elements;
    size_t vectors = (size_t)body->count;
    double *values = td_take((STEPS + 1) * vectors, sizeof(double));
    read_series(file, "/frames/time", 1, &frames, values);
    assert_near(values[STEPS], td_state_time(run->state), 0);
    read_series(file, "/frames/newton_iterations", 1, &frames, values);
    assert_near(values[STEPS], td_state_report(run->state)->newton_iterations, 0);
    read_series(file, "/bodies/beam/position", 3, (hsize_t[]){frames, nodes, 3}, values);
    assert_memory_equal(values, soft->rest, vectors * sizeof(double));
    assert_memory_equal(values + STEPS * vectors, run->state->q + body->first, vectors * sizeof(double));
    read_series(file, "/bodies/beam/velocity", 3, (hsize_t[]){frames, nodes, 3}, values);
    assert_memory_equal(values + STEPS * vectors, run->state->v + body->first, vectors * sizeof(double));
    read_series(file, "/bodies/beam/von_mises", 2, (hsize_t[]){frames, elements}, NULL);
    read_series(file, "/bodies/cube/strain_energy", 2, (hsize_t[]){frames, (hsize_t)run->model->bodies[1].elements},
                NULL);
    read_series(file, "/bodies/beam/tets", 2, (hsize_t[]){elements, 4}, NULL);
    read_series(file, "/bodies/beam/surface", 2, (hsize_t[]){(hsize_t)soft->surface_tris, 3}, NULL);
    double probe[3];
    td_state_probe(run->model, run->state, 0, probe);
    read_series(file, "/probes/tip", 2, (hsize_t[]){frames, 3}, values);
    assert_memory_equal(values + 3 * STEPS, probe, sizeof probe);
    free(values);
    assert_true(H5Aexists(file, "scene") > 0 && H5Aexists(file, "tendril") > 0 && H5Aexists(file, "units") > 0);
    H5Fclose(file);
}

static void test_trajectory(void **unused)
{
    (void)unused;
    for (int compressed = 0; compressed < 2; compressed++)
    {
        testRun run = run_begin();
        write_run(&run, compressed);
        check_trajectory(&run);
        run_end(&run);
    }
}

static void test_killed_run_leaves_its_frames(void **unused)
{
    (void)unused;
    testRun run = run_begin();
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
    {
        tdError error = {0};
        tdOutput *output = open_output(&run, false, -1);
        if (td_output_frame(output, run.state, &error) == TD_OK)
            take_steps(&run, output, STEPS);
        kill(getpid(), SIGKILL); // nothing is closed
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    for (int i = 0; i < STEPS; i++)
        assert_ok(td_step(run.model, run.state), td_state_report(run.state)->error);
    check_trajectory(&run);
    assert_int_equal(count_pvd(&run), 2 * (STEPS + 1));
    check_vtu(&run, 0, "beam_000006.vtu");
    run_end(&run);
}

static void test_equal_runs_give_equal_bytes(void **unused)
{
    (void)unused;
    testRun a = run_begin(), b = run_begin();
    write_run(&a, false);
    write_run(&b, false);
    static const char *const names[] = {"run.h5", "run.pvd", "probes.csv", "reactions.csv", "beam_000004.vtu"};
    for (int i = 0; i < 5; i++)
    {
        size_t size_a = 0, size_b = 0;
        char *data_a = read_file(&a, names[i], &size_a), *data_b = read_file(&b, names[i], &size_b);
        assert_int_equal(size_a, size_b);
        assert_memory_equal(data_a, data_b, size_a);
        free(data_a);
        free(data_b);
    }
    run_end(&a);
    run_end(&b);
}

static void test_output_leaves_the_run_as_it_is(void **unused)
{
    (void)unused;
    testRun a = run_begin(), b = run_begin();
    write_run(&a, false);
    for (int i = 0; i < STEPS; i++)
        assert_ok(td_step(b.model, b.state), td_state_report(b.state)->error);
    assert_memory_equal(a.state->q, b.state->q, (size_t)a.model->coords * sizeof(double));
    assert_memory_equal(a.state->v, b.state->v, (size_t)a.model->coords * sizeof(double));
    run_end(&a);
    run_end(&b);
}

// ---------------------------------------------------------------- going on, failing

static void test_going_on_gives_the_files_of_one_run(void **unused)
{
    (void)unused;
    testRun straight = run_begin(), parts = run_begin();
    tdError error = {0};
    write_run(&straight, false);

    char path[512];
    snprintf(path, sizeof path, "%s/checkpoint.h5", parts.folder);
    tdOutput *output = open_output(&parts, false, -1);
    assert_ok(td_output_frame(output, parts.state, &error), error);
    take_steps(&parts, output, 3);
    assert_ok(td_state_save(parts.model, parts.state, path, &error), error);
    take_steps(&parts, output, 2); // lost: the run goes on from the checkpoint
    assert_ok(td_output_close(output, &error), error);
    assert_ok(td_state_load(parts.model, parts.state, path, &error), error);
    output = open_output(&parts, false, td_state_steps(parts.state));
    take_steps(&parts, output, STEPS - 3);
    assert_ok(td_output_close(output, &error), error);

    check_trajectory(&parts);
    static const char *const names[] = {"run.pvd", "probes.csv", "reactions.csv", "cube_000005.vtu"};
    for (int i = 0; i < 4; i++)
    {
        size_t size_a = 0, size_b = 0;
        char *a = read_file(&straight, names[i], &size_a), *b = read_file(&parts, names[i], &size_b);
        assert_int_equal(size_a, size_b);
        assert_memory_equal(a, b, size_a);
        free(a);
        free(b);
    }
    run_end(&straight);
    run_end(&parts);
}

// A run that was ended before its first row: what goes on writes the same table as one that begins.
static void test_table_without_rows_is_gone_on_with(void **unused)
{
    (void)unused;
    testRun run = run_begin();
    tdError error = {0};
    tdText header = {0};
    td_csv_title(&header, "tip", "_x", "m");
    for (int again = 0; again < 3; again++)
    {
        tdCsv *csv = NULL;
        assert_ok(td_csv_open(run.folder, "empty.csv", &header, again == 0 ? -1 : 5, &csv, &error), error);
        assert_int_equal(td_csv_kept(csv), -1);
        if (again == 2)
            assert_ok(td_csv_row(csv, 1, 0.5, 1, (const double[]){2}, &error), error);
        assert_ok(td_csv_close(csv, &error), error);
    }
    size_t size = 0;
    char *data = read_file(&run, "empty.csv", &size);
    assert_string_equal(data, "step,time [s],tip_x [m]\n1,0.5,2\n");
    free(data);
    free(header.data);
    run_end(&run);
}

static void test_refuses_a_foreign_folder(void **unused)
{
    (void)unused;
    testRun run = run_begin();
    tdError error = {0};
    char path[512];
    tdOutput *output = NULL;
    tdOutputSettings settings = td_default_output(run.model);
    settings.keep = 3;
    snprintf(path, sizeof path, "%s/probes.csv", run.folder);
    assert_ok(td_file_write(path, "a,b\n1,2\n", 8, &error), error);
    assert_int_equal(td_output_open(run.model, run.folder, &settings, &output, &error), TD_ERROR_INPUT);
    assert_null(output);
    assert_string_equal(error.file, path);
    unlink(path);
    snprintf(path, sizeof path, "%s/run.h5", run.folder);
    assert_ok(td_file_write(path, "not HDF5", 8, &error), error);
    assert_int_equal(td_output_open(run.model, run.folder, &settings, &output, &error), TD_ERROR_INPUT);
    assert_string_equal(error.file, path);
    run_end(&run);
}

static void test_reports_what_cannot_be_written(void **unused)
{
    (void)unused;
    testRun run = run_begin();
    tdError error = {0};
    char path[512];
    tdOutput *output = NULL;
    tdOutputSettings settings = td_default_output(run.model);
    snprintf(path, sizeof path, "%s/file", run.folder);
    assert_ok(td_file_write(path, "", 0, &error), error);
    assert_int_equal(td_output_open(run.model, path, &settings, &output, &error), TD_ERROR_IO);
    assert_string_equal(error.file, path);
    unlink(path);

    // HDF5's own printing is as the caller had it, also after a failure.
    static int marker;
    H5Eset_auto2(H5E_DEFAULT, NULL, &marker);
    snprintf(path, sizeof path, "%s/run.h5", run.folder);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(td_output_open(run.model, run.folder, &settings, &output, &error), TD_ERROR_IO);
    assert_string_equal(error.file, path);
    H5E_auto2_t print = NULL;
    void *data = NULL;
    H5Eget_auto2(H5E_DEFAULT, &print, &data);
    assert_ptr_equal(data, &marker);
    rmdir(path);
    run_end(&run);
}

// Names of joints come from files of other programs.
static void test_titles_of_any_name(void **unused)
{
    (void)unused;
    tdText header = {0};
    td_csv_title(&header, "plain", "_x", "m");
    td_csv_title(&header, "a,b", "", "rad");
    td_csv_title(&header, "say \"no\"", "_rate", "");
    td_csv_title(&header, "two\nlines\xFF", "", "");
    assert_string_equal(header.data,
                        ",plain_x [m],\"a,b [rad]\",\"say \"\"no\"\"_rate\",two\xEF\xBF\xBDlines\xEF\xBF\xBD");
    free(header.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vtu),
        cmocka_unit_test(test_pvd_is_whole_at_every_frame),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_titles_of_any_name),
        cmocka_unit_test(test_trajectory),
        cmocka_unit_test(test_killed_run_leaves_its_frames),
        cmocka_unit_test(test_equal_runs_give_equal_bytes),
        cmocka_unit_test(test_output_leaves_the_run_as_it_is),
        cmocka_unit_test(test_going_on_gives_the_files_of_one_run),
        cmocka_unit_test(test_table_without_rows_is_gone_on_with),
        cmocka_unit_test(test_refuses_a_foreign_folder),
        cmocka_unit_test(test_reports_what_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
