// SPDX-License-Identifier: Apache-2.0
// What is accepted but hardly meant is said in the log; and a checkpoint knows the files behind its scene.
#include "test.h"

#include "base/file.h"
#include "tendril/tendril.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/tendril_warnings_XXXXXX";

// One tetrahedron, then what a test adds.
#define NODES   "1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n"
#define MIDDLES "5 .5 0 0\n6 .5 .5 0\n7 0 .5 0\n8 0 0 .5\n9 .5 0 .5\n10 0 .5 .5\n"
#define MESH(n, nodes, m, cells)                                                                                       \
    "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n" #n "\n" nodes "$EndNodes\n$Elements\n" #m "\n" cells              \
    "$EndElements\n"
#define FIRST "1 4 2 1 1 1 2 3 4\n"

static const char one[] = MESH(4, NODES, 1, FIRST);

static void write_mesh(const char *text)
{
    char path[128];
    tdError error = {0};
    snprintf(path, sizeof path, "%s/mesh.msh", folder);
    assert_ok(td_file_write(path, text, strlen(text), &error), error);
}

static void collect(void *user, tdLogLevel level, const char *message)
{
    if (level == TD_LOG_WARNING)
        td_text_format(user, "%s\n", message);
}

// A body of 0.4 x 0.1 x 0.1 m, or of the mesh file; `body` and `rest` are added to it.
static tdModel *load(const char *mesh, const char *body, const char *rest, char **warnings)
{
    char scene[2048];
    tdText log = {0};
    tdError error = {0};
    tdModel *model = NULL;
    tdSettings settings = td_default_settings();
    settings.log = collect;
    settings.log_user = &log;
    int n =
        snprintf(scene, sizeof scene,
                 "tendril: 1\ntime_step: 10 ms\nsteps: 4\ngravity: [0, 0, -9.81]\nbodies:\n  - name: b\n    mesh: %s\n"
                 "    material: {law: corotational, young: 450 kPa, poisson: 0.45, density: 1000}\n"
                 "    fixed: [{plane: {point: [0, 0, 0], normal: [1, 0, 0]}}]\n%s%s",
                 mesh != NULL ? "mesh.msh" : "{box: [[0, 0, 0], [0.4, 0.1, 0.1]], cells: [4, 2, 2]}", body, rest);
    if (mesh != NULL)
        write_mesh(mesh);
    assert_ok(td_model_parse(scene, (size_t)n, "scene.yaml", folder, &settings, &model, &error), error);
    if (warnings != NULL)
        *warnings = log.data;
    else
        free(log.data);
    return model;
}

static void expect(const char *mesh, const char *body, const char *rest, const char *warning)
{
    char *got = NULL;
    td_model_free(load(mesh, body, rest, &got));
    if (warning == NULL && got != NULL)
        fail_msg("unexpected: %s", got);
    if (warning != NULL && (got == NULL || strstr(got, warning) == NULL))
        fail_msg("'%s' is not in: %s", warning, got != NULL ? got : "(nothing)");
    free(got);
}

static void test_scenes(void **unused)
{
    (void)unused;
    expect(NULL, "", "", NULL);
    expect(NULL, "    damping: {stiffness: 1 ms}\n", "", NULL);
    expect(NULL, "    damping: {stiffness: 1 ms}\n", "integrator: {method: static}\n", "damping has no effect");
    expect(NULL, "    damping: {mass: 1}\n", "integrator: {method: static}\n", "damping has no effect");
    expect(NULL, "    mass: consistent\n", "integrator: {method: static}\n",
           "the form of the mass matrix has no effect");
    expect(NULL, "    transform: {scale: 1000}\n", "",
           "scene.yaml:7: the size of body 'b' is 424.3 m; usual values are 1e-06 to 50 m");
    expect(NULL, "", "integrator: {method: symplectic}\n", "stable up to about");
    expect(NULL, "", "integrator: {method: theta, theta: 0.6, theta_vq: 0.5}\n", NULL);
    expect(NULL, "", "integrator: {method: newmark}\n", NULL);
    expect(NULL, "", "integrator: {method: newmark, gamma: 0.6}\n", "stable for small steps only");
}

static void test_loads(void **unused)
{
    (void)unused;
    static const char held[] = "acts on held nodes only";
    expect(NULL, "", "loads: [{type: point, body: b, group: xmax, force: [1, 0, 0]}]\n", NULL);
    expect(NULL, "", "loads: [{type: point, body: b, group: xmin, force: [1, 0, 0]}]\n", held);
    expect(NULL, "", "loads: [{type: surface, body: b, group: xmin, pressure: 1}]\n", held);
    expect(NULL, "", "loads: [{type: surface, body: b, group: zmin, pressure: 1}]\n", NULL);
}

#define END "actuators: [{name: end, type: force, body: b, group: xmax, direction: [1, 0, 0], drive: "

static void test_actuators(void **unused)
{
    (void)unused;
    expect(NULL, "", END "displacement}]\n", NULL);
    expect(NULL, "", "integrator: {method: newmark}\n" END "force}]\n", NULL);
    expect(NULL, "", "integrator: {method: newmark}\n" END "displacement}]\n", "oscillates from step to step");
    expect(NULL, "", "integrator: {method: newmark, gamma: 0.6, beta: 0.3025}\n" END "displacement}]\n", NULL);
}

// The stable step that is told is neither far too small nor too large.
static void test_stable_step(void **unused)
{
    (void)unused;
    char *got = NULL;
    tdModel *model = load(NULL, "", "integrator: {method: symplectic}\n", &got);
    double limit = strtod(strstr(got, "about ") + strlen("about "), NULL);
    td_model_free(model);
    free(got);
    for (int k = 0; k < 2; k++)
    {
        char scene[1024];
        int n = snprintf(scene, sizeof scene,
                         "tendril: 1\ntime_step: %g\nsteps: 300\ngravity: [0, 0, -9.81]\nbodies:\n  - name: b\n"
                         "    mesh: {box: [[0, 0, 0], [0.4, 0.1, 0.1]], cells: [4, 2, 2]}\n"
                         "    material: {law: corotational, young: 450 kPa, poisson: 0.45, density: 1000}\n"
                         "    fixed: [{group: xmin}]\nintegrator: {method: symplectic}\n",
                         (k == 0 ? 0.9 : 2) * limit);
        tdError error = {0};
        tdState *state = NULL;
        assert_ok(td_model_parse(scene, (size_t)n, "scene.yaml", NULL, NULL, &model, &error), error);
        assert_ok(td_state_create(model, NULL, &state, &error), error);
        tdStatus status = TD_OK;
        for (int i = 0; i < 300 && status == TD_OK; i++)
            status = td_step(model, state);
        assert_int_equal(status, k == 0 ? TD_OK : TD_ERROR_NUMERIC);
        double kinetic = 0;
        td_state_energy(model, state, &kinetic, NULL);
        assert_true(kinetic < 100);
        td_state_free(state);
        td_model_free(model);
    }
}

static void test_meshes(void **unused)
{
    (void)unused;
    expect(one, "", "", NULL);
    expect(MESH(4, NODES, 2, FIRST "2 4 2 1 1 1 2 3 4\n"), "", "", "1 repeated cell");
    expect(MESH(8, NODES "5 0 0 0\n6 1 0 0\n7 0 1 0\n8 0 0 1\n", 2, FIRST "2 4 2 1 1 5 6 7 8\n"), "", "",
           "4 nodes are exactly at the place of an earlier one");
    expect(MESH(8, NODES "5 0 0 5\n6 1 0 5\n7 0 1 5\n8 0 0 6\n", 2, FIRST "2 4 2 1 1 5 6 7 8\n"), "", "",
           "falls into 2 parts");
    expect(MESH(5, NODES "5 9 9 9\n", 1, FIRST), "", "", "belong to no element");
    // Group 2 is a face: of a linear tetrahedron it takes a membrane, of a quadratic one at its corners only.
    const char *skin = "    materials: [{group: skin, element: membrane, thickness: 1 mm, law: stvk, young: 1 MPa, "
                       "poisson: 0.3, density: 1000}]\n";
    const char *names = "$PhysicalNames\n1\n2 2 \"skin\"\n$EndPhysicalNames\n";
    const char *linear = MESH(4, NODES, 2, FIRST "2 2 2 2 2 1 2 3\n");
    const char *quadratic = MESH(10, NODES MIDDLES, 2, "1 11 2 1 1 1 2 3 4 5 6 7 8 10 9\n2 2 2 2 2 1 2 3\n");
    for (int k = 0; k < 2; k++)
    {
        char mesh[1024];
        snprintf(mesh, sizeof mesh, "%s%s", k == 0 ? linear : quadratic, names);
        expect(mesh, skin, "", k == 0 ? NULL : "joined to their corners only");
    }
}

// The text of the scene is the same, the number of nodes too; only the file behind it has changed.
static void test_checkpoint_knows_meshes(void **unused)
{
    (void)unused;
    char path[128];
    tdError error = {0};
    tdState *state = NULL;
    snprintf(path, sizeof path, "%s/state.h5", folder);
    tdModel *before = load(one, "", "", NULL);
    assert_ok(td_state_create(before, NULL, &state, &error), error);
    assert_ok(td_step(before, state), td_state_report(state)->error);
    assert_ok(td_state_save(before, state, path, &error), error);
    td_state_free(state);
    tdModel *same = load(one, "", "", NULL);
    assert_ok(td_state_create(same, NULL, &state, &error), error);
    assert_ok(td_state_load(same, state, path, &error), error);
    td_state_free(state);
    tdModel *other = load(MESH(4, "1 0 0 0\n2 1.001 0 0\n3 0 1 0\n4 0 0 1\n", 1, FIRST), "", "", NULL);
    assert_ok(td_state_create(other, NULL, &state, &error), error);
    assert_int_equal(td_state_load(other, state, path, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "another scene"));
    td_state_free(state);
    td_model_free(before);
    td_model_free(same);
    td_model_free(other);
}

static int make_folder(void **unused)
{
    (void)unused;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **unused)
{
    (void)unused;
    char path[128];
    snprintf(path, sizeof path, "%s/mesh.msh", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/state.h5", folder);
    unlink(path);
    return rmdir(folder);
}

// Two boxes that share half of their room are told of in the first step; side by side they are not.
static void test_overlap(void **unused)
{
    (void)unused;
    for (int apart = 0; apart < 2; apart++)
    {
        char scene[1024];
        tdText log = {0};
        tdError error = {0};
        tdModel *model = NULL;
        tdState *state = NULL;
        tdSettings settings = td_default_settings();
        settings.log = collect;
        settings.log_user = &log;
        int n = snprintf(scene, sizeof scene,
                         "tendril: 1\ntime_step: 1 ms\nsteps: 2\ncontact: {}\nbodies:\n"
                         "  - {name: a, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1}\n"
                         "  - {name: b, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1, transform: "
                         "{translate: [%s, 0, 0]}}\n",
                         apart ? "0.1" : "0.05");
        assert_ok(td_model_parse(scene, (size_t)n, "scene.yaml", folder, &settings, &model, &error), error);
        assert_ok(td_state_create(model, &settings, &state, &error), error);
        assert_ok(td_step(model, state), td_state_report(state)->error);
        if (apart)
            assert_null(log.data);
        else
        {
            assert_non_null(log.data);
            assert_non_null(strstr(log.data, "bodies 'a' and 'b' overlap by 0.05 m"));
        }
        assert_ok(td_step(model, state), td_state_report(state)->error);
        free(log.data);
        td_state_free(state);
        td_model_free(model);
    }
}

// A law that loses its stiffness within reach, and elements that lock.
static void test_materials(void **unused)
{
    (void)unused;
    const struct
    {
        const char *material, *warning; // NULL: none
    } cases[] = {
        {"{law: mooney_rivlin, c10: 100 kPa, c01: -20 kPa, poisson: 0.4, density: 1000}", "stable for stretches from"},
        {"{law: mooney_rivlin, c10: 100 kPa, c01: 20 kPa, poisson: 0.4, density: 1000}", NULL},
        {"{law: neo_hookean, young: 100 kPa, poisson: 0.4997, density: 1000}", "they lock"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
    {
        char scene[1024];
        tdText log = {0};
        tdModel *model = NULL;
        tdError error = {0};
        tdSettings settings = td_default_settings();
        settings.log = collect;
        settings.log_user = &log;
        int n = snprintf(scene, sizeof scene,
                         "tendril: 1\ntime_step: 1 ms\nsteps: 1\nbodies:\n  - name: b\n"
                         "    mesh: {box: [[0, 0, 0], [0.1, 0.1, 0.1]], cells: [1, 1, 1]}\n    material: %s\n",
                         cases[k].material);
        assert_ok(td_model_parse(scene, (size_t)n, "scene.yaml", NULL, &settings, &model, &error), error);
        if (cases[k].warning == NULL)
            assert_null(log.data);
        else
        {
            assert_non_null(log.data);
            assert_non_null(strstr(log.data, cases[k].warning));
        }
        free(log.data);
        td_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scenes),    cmocka_unit_test(test_loads),
        cmocka_unit_test(test_meshes),    cmocka_unit_test(test_materials),
        cmocka_unit_test(test_overlap),   cmocka_unit_test(test_stable_step),
        cmocka_unit_test(test_actuators), cmocka_unit_test(test_checkpoint_knows_meshes),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
