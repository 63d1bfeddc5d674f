// SPDX-License-Identifier: Apache-2.0
// Physics of contact on running scenes: the arch, a closing ring, fast balls, stacks, Hertz, two corotations; and laws
// that are checked from what is told of the points alone. tests/contact/long_contact.c has the long and the fine ones.
#include "contact_physics.h"

#define G     9.81
#define FLOOR "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"

// ---------------------------------------------------------------- arch

// With a coefficient of 1 the crown stays up, with 0.2 it is on the floor after two seconds.
static void test_arch_stands_or_falls(void **unused)
{
    (void)unused;
    const char *const file[2] = {"arch.yaml", "arch_low.yaml"};
    for (int low = 0; low < 2; low++)
    {
        tdModel *model = contact_scene(file[low]);
        tdState *state = scene_state(model);
        double before[3], after[3];
        mean_position(model, state, 8, before);
        scene_steps(model, state, 75);
        mean_position(model, state, 8, after);
        if (low)
            assert_true(after[2] < 0.25 * before[2]);
        else
            assert_near(after[2], before[2], 0.01 * before[2]);
        scene_free(model, state);
    }
}

// Momentum of each block and the laws of its points, in stiction and while the arch slides apart.
static void test_laws_from_points(void **unused)
{
    (void)unused;
    const char *const file[2] = {"arch.yaml", "arch_low.yaml"};
    const double mu[2] = {1, 0.2};
    for (int low = 0; low < 2; low++)
    {
        tdModel *model = contact_scene(file[low]);
        tdState *state = scene_state(model);
        contactLaws laws = {0};
        double worst = 0, tumbling = 0;
        for (int i = 0; i < 20; i++)
        {
            double error = balance_error(model, state, 1, 2300);
            if (low && i >= 3)
                tumbling = fmax(tumbling, error);
            else
                worst = fmax(worst, error);
            check_laws(state, mu[low], &laws);
        }
        // The solver's tolerance is 1e-6 of A v in the norm of A's diagonal. At rest that is as much of the forces.
        // Where stiff blocks tumble, from the fourth step on, A v is mostly the elastic forces that turning with the
        // rotation of the step's start makes, and beside the contact forces the same tolerance is percents.
        assert_true(worst < (low ? 1e-3 : 1e-5));
        assert_true(tumbling < 0.1);
        assert_true(laws.pull < 1e-9);
        assert_true(laws.cone < 1e-9);
        assert_true(laws.against < 1e-6); // friction is against the slip, in the creep of stiction too
        assert_true(laws.points > 20 * 40);
        assert_true(low ? laws.sliding > 100 : laws.sticking > 20 * 200);
        scene_free(model, state);
    }
}

// The same bits with one thread and with three, from the first step on, in which points begin to slide.
static void test_arch_threads(void **unused)
{
    (void)unused;
    tdModel *model = contact_scene("arch_low.yaml");
    tdState *one = scene_state_with(model, 1, false), *three = scene_state_with(model, 3, false);
    scene_steps(model, one, 3);
    scene_steps(model, three, 3);
    assert_memory_equal(one->q, three->q, (size_t)model->coords * sizeof(double));
    td_state_free(three);
    scene_free(model, one);
}

// `points` of the scene and of a body: a block of eight nodes stands on four of them and n x n points of two triangles.
static void test_points_of_bodies(void **unused)
{
    (void)unused;
#define BLOCK(name, x, more)                                                                                           \
    "  - {name: " name ", mesh: {box: [[" x ", 0, 0], [0.1, 0.1, 0.1]], cells: [1, 1, 1]}, material: {law: "           \
    "corotational_lagged, young: 1 MPa, poisson: 0.3, density: 1000}" more "}\n"
    tdModel *model =
        scene_model("tendril: 1\ntime_step: 5 ms\nsteps: 2\ngravity: [0, 0, -9.81]\ncontact: {points: 2, "
                    "exclude: [{a: a, b: b}, {a: b, b: c}, {a: a, b: c}]}\nbodies:\n" FLOOR BLOCK("a", "0", "")
                        BLOCK("b", "0", ", contact: {points: 3}") BLOCK("c", "0", ", contact: {points: 0}"));
    tdState *state = scene_state(model);
    scene_steps(model, state, 1);
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(state, &points);
    int count[4] = {0};
    for (int64_t i = 0; i < n; i++)
        count[points[i].body[1]]++;
    assert_int_equal(count[1], 4 + 2 * 4);
    assert_int_equal(count[2], 4 + 2 * 9);
    assert_int_equal(count[3], 4);
    scene_free(model, state);
}

// ---------------------------------------------------------------- ring

#define RING_BODY(name, file, more)                                                                                    \
    "  - name: " name "\n    mesh: %s/" file "\n    damping: {stiffness: 10 ms}\n"                                     \
    "    material: {law: corotational_lagged, young: 0.5 MPa, poisson: 0.4, density: 1000}\n"                          \
    "    fixed: [{box: [[-0.05, -1e-5, -1], [-0.02, 1e-5, 1]]}]\n" more
#define RING_LOAD(name, body, group, force)                                                                            \
    "  - {name: " name ", type: point, body: " body ", group: " group ", force: [0, " force " N, 0]}\n"

// The ends of one body that meets itself behave as those of two bodies: the held section keeps its halves apart.
static void test_ring_equals_halves(void **unused)
{
    (void)unused;
    char folder[256];
    make_folder(folder);
    ring_mesh(folder, "ring.msh", 0.3, 2 * M_PI - 0.3, 40);
    ring_mesh(folder, "upper.msh", 0.3, M_PI, 20);
    ring_mesh(folder, "lower.msh", M_PI, 2 * M_PI - 0.3, 20);
#define RING_HEAD                                                                                                      \
    "tendril: 1\ntime_step: 5 ms\nsteps: 10\ngravity: [0, 0, 0]\ncontact: {friction: 0.5, self: true, margin: 0.5 "    \
    "mm}\n"
    tdModel *one = scene_model(RING_HEAD "bodies:\n" RING_BODY("ring", "ring.msh", "") "loads:\n" RING_LOAD(
                                   "a", "ring", "ymin", "-0.1") RING_LOAD("b", "ring", "ymax", "0.1"),
                               folder);
    tdModel *two =
        scene_model(RING_HEAD "bodies:\n" RING_BODY("upper", "upper.msh", "")
                        RING_BODY("lower", "lower.msh", "") "loads:\n" RING_LOAD("a", "upper", "ymin", "-0.1")
                            RING_LOAD("b", "lower", "ymax", "0.1"),
                    folder, folder);
    tdState *whole = scene_state(one), *halves = scene_state(two);
    scene_steps(one, whole, 300);
    scene_steps(two, halves, 300);
    const tdContactPoint *p = NULL, *q = NULL;
    int64_t n = td_state_contacts(whole, &p), m = td_state_contacts(halves, &q);
    double force[2] = {0, 0};
    int at_gap[2] = {0, 0};
    for (int64_t i = 0; i < n + m; i++)
    {
        const tdContactPoint *point = i < n ? &p[i] : &q[i - n];
        if (point->position[0] < 0) // of the halves at the held section
            continue;
        force[i >= n] += fabs(point->force[1]);
        at_gap[i >= n]++;
    }
    assert_int_equal(at_gap[0], at_gap[1]);
    assert_true(force[0] > 0.01);
    assert_near(force[0], force[1], 1e-6 * force[1]);
    double a[3], b[3], c[3];
    mean_position(one, whole, 0, a);
    mean_position(two, halves, 0, b);
    mean_position(two, halves, 1, c);
    // Nodes of the held section stand in both halves and do not move.
    int nodes = td_model_body_nodes(one, 0), half = td_model_body_nodes(two, 0);
    assert_int_equal(2 * half, nodes + 9);
    double section = 0; // mean x of its nine nodes
    for (int i = 0; i < nodes; i++)
        section += one->bodies[0].soft->held[3 * i] ? one->bodies[0].soft->rest[3 * i] / 9 : 0;
    assert_near(nodes * a[0], half * (b[0] + c[0]) - 9 * section, nodes * 1e-9);
    scene_free(one, whole);
    scene_free(two, halves);
    remove_folder(folder);
}

// ---------------------------------------------------------------- tunnels

#define PLATE_RIGID                                                                                                    \
    "  - {name: plate, type: rigid, shape: {box: [0.4, 0.4, 0.004]}, fixed: true, transform: {translate: [0, 0, "      \
    "-0.002]}}\n"
#define PLATE_SOFT                                                                                                     \
    "  - {name: plate, mesh: {box: [[-0.2, -0.2, -0.004], [0.2, 0.2, 0]], cells: [8, 8, 1]}, material: {law: "         \
    "corotational_lagged, young: 1 GPa, poisson: 0.3, density: 1000}, fixed: [{plane: {point: [-0.2, 0, 0], normal: "  \
    "[1, 0, 0]}}, {plane: {point: [0.2, 0, 0], normal: [1, 0, 0]}}]}\n"
#define BALL_RIGID                                                                                                     \
    "  - {name: ball, type: rigid, shape: {sphere: 0.02}, total_mass: 0.03, velocity: [0, 0, %g], transform: "         \
    "{translate: [0.013, 0.007, 0.1]}}\n"
#define BALL_SOFT                                                                                                      \
    "  - {name: ball, mesh: {box: [[-0.007, -0.013, 0.08], [0.033, 0.027, 0.12]], cells: [2, 2, 2]}, velocity: [0, "   \
    "0, %g], material: {law: corotational_lagged, young: 0.5 MPa, poisson: 0.3, density: 500}}\n"

// At the speed that the margin is said to allow, margin / h, and far above it, where a step's way is many times the
// plate's thickness, nothing passes through.
static void test_no_tunnels(void **unused)
{
    (void)unused;
    const char *const plates[] = {PLATE_RIGID, PLATE_SOFT}, *const balls[] = {BALL_RIGID, BALL_SOFT};
    double margin = 1e-3, h = 2e-3;
    for (int plate = 0; plate < 2; plate++)
        for (int ball = 0; ball < 2; ball++)
            for (int fast = 0; fast < 2; fast++)
            {
                sceneText t = {0};
                double speed = (fast ? 40 : 1) * margin / h;
                scene_add(&t, "tendril: 1\ntime_step: %g\nsteps: 10\ngravity: [0, 0, %g]\ncontact: {margin: %g}\n", h,
                          fast ? 0 : -G, margin);
                scene_add(&t, "bodies:\n%s", plates[plate]);
                scene_add(&t, balls[ball], -speed);
                tdModel *model = scene_parse(t.text);
                tdState *state = scene_state(model);
                scene_steps(model, state, fast ? 30 : 150);
                double x[3];
                mean_position(model, state, 1, x);
                assert_true(x[2] > 0);
                scene_free(model, state);
            }
}

// ---------------------------------------------------------------- stacks

#define RIGID_BOX(name, z)                                                                                             \
    "  - {name: " name ", type: rigid, shape: {box: [0.1, 0.1, 0.1]}, density: 1000, transform: {translate: [0, 0, " z \
    "]}}\n"
#define SOFT_BOX(name, low, high)                                                                                      \
    "  - {name: " name ", mesh: {box: [[-0.05, -0.05, " low "], [0.05, 0.05, " high                                    \
    "]], cells: [2, 2, 2]}, material: "                                                                                \
    "{law: corotational_lagged, young: 5 MPa, poisson: 0.3, density: 1000}, damping: {stiffness: 5 ms}}\n"

// Soft and rigid boxes on each other come to rest and stay; none gives way by more than gravity makes of a step for
// each weight above it, which is what near-rigid contact is said to do.
static void test_stack_rests(void **unused)
{
    (void)unused;
    double h = 5e-3;
    tdModel *model = scene_model(
        "tendril: 1\ntime_step: 5 ms\nsteps: 10\ngravity: [0, 0, -9.81]\ncontact: {}\nbodies:\n" FLOOR RIGID_BOX(
            "a", "0.05") SOFT_BOX("b", "0.1", "0.2") RIGID_BOX("c", "0.25") SOFT_BOX("d", "0.3", "0.4"));
    tdState *state = scene_state(model);
    scene_steps(model, state, 400);
    size_t coords = (size_t)model->coords;
    double *before = calloc(coords, sizeof *before);
    assert_non_null(before);
    memcpy(before, state->q, coords * sizeof *before);
    scene_steps(model, state, 200);
    for (size_t i = 0; i < coords; i++)
        assert_near(state->q[i], before[i], 1e-6);
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(state, &points);
    for (int64_t i = 0; i < n; i++)
        assert_true(points[i].distance > -4 * G * h * h);
    free(before);
    scene_free(model, state);
}

// ---------------------------------------------------------------- Hertz

// Coarse: within 10 %; the fine ones are in the long test.
static void test_hertz_coarse(void **unused)
{
    (void)unused;
    int touching = 0;
    double force = hertz_force(8, 0.4, &touching);
    assert_true(touching >= 6);
    assert_near(force, hertz_theory(), 0.1 * hertz_theory());
}

// ---------------------------------------------------------------- corotations

// S5 VII-E. At 10 ms the two agree within a percent of the length, at 1 s the lagged one stays bounded.
static void test_cantilevers(void **unused)
{
    (void)unused;
    tdModel *model = contact_scene("cantilever_10ms.yaml");
    tdState *state = scene_state(model);
    scene_steps(model, state, 100);
    double lagged[3], exact[3];
    td_state_probe(model, state, 0, lagged);
    td_state_probe(model, state, 1, exact);
    exact[1] -= 0.012;
    assert_true(sqrt(td_square_between(lagged, exact)) < 0.01 * 0.04);
    assert_true(lagged[2] < -0.5 * 0.04); // it bends far
    scene_free(model, state);
    model = contact_scene("cantilever_1s.yaml");
    state = scene_state(model);
    for (int i = 0; i < 60; i++)
    {
        scene_steps(model, state, 1);
        const double *x = td_state_positions(model, state, 0);
        for (int k = 0; k < 3 * td_model_body_nodes(model, 0); k++)
            assert_true(fabs(x[k]) < 2 * 0.04);
    }
    scene_free(model, state);
}

// ---------------------------------------------------------------- surfaces that are not well formed

#define TET_MESH(nodes, list, cells, body)                                                                             \
    "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n" #nodes "\n" list "$EndNodes\n$Elements\n" #cells "\n" body        \
    "$EndElements\n"
// Two tetrahedra on one edge: four triangles there. Two that overlap without sharing a node.
static const char on_an_edge[] = TET_MESH(6, "1 0 0 0\n2 0 0 1\n3 1 0 0\n4 1 1 0\n5 -1 0 0\n6 -1 -1 0\n", 2,
                                          "1 4 2 0 0 1 3 4 2\n2 4 2 0 0 1 5 6 2\n");
static const char overlapping[] =
    TET_MESH(8, "1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 .1 .1 .1\n6 1.1 .1 .1\n7 .1 1.1 .1\n8 .1 .1 1.1\n", 2,
             "1 4 2 0 0 1 2 3 4\n2 4 2 0 0 5 6 7 8\n");

typedef struct logged
{
    char text[4096];
} logged;

static void keep(void *user, tdLogLevel level, const char *message)
{
    logged *log = user;
    size_t used = strlen(log->text);
    if (level == TD_LOG_WARNING)
        snprintf(log->text + used, sizeof log->text - used, "%s\n", message);
}

static tdStatus load_body(const char *text, tdModel **model, logged *log, tdError *error)
{
    char folder[256], path[300], scene[1024];
    make_folder(folder);
    snprintf(path, sizeof path, "%s/body.msh", folder);
    assert_ok(td_file_write(path, text, strlen(text), error), *error);
    int n = snprintf(scene, sizeof scene,
                     "tendril: 1\ntime_step: 1 ms\nsteps: 2\ncontact: {}\nbodies:\n" FLOOR
                     "  - {name: odd, mesh: %s/body.msh, material: {law: corotational_lagged, young: 1 MPa, poisson: "
                     "0.3, density: 1000}}\n",
                     folder);
    tdSettings settings = td_default_settings();
    settings.log = keep;
    settings.log_user = log;
    tdStatus status = td_model_parse(scene, (size_t)n, "scene.yaml", NULL, &settings, model, error);
    remove_folder(folder);
    return status;
}

static void test_odd_surfaces(void **unused)
{
    (void)unused;
    tdModel *model = NULL;
    tdError error = {0};
    logged log = {{0}};
    assert_int_not_equal(load_body(on_an_edge, &model, &log, &error), TD_OK);
    assert_non_null(strstr(error.message, "share the edge of nodes 0 and 1"));
    assert_string_equal(error.field, "odd");
    assert_null(model);
    error = (tdError){0};
    assert_ok(load_body(overlapping, &model, &log, &error), error);
    assert_non_null(strstr(log.text, "cut each other"));
    assert_non_null(strstr(log.text, "odd"));
    td_model_free(model);
}

// ---------------------------------------------------------------- all scenes

static void test_all_scenes_converge(void **unused)
{
    (void)unused;
    all_scenes_converge(VERIFY_SLOW ? 10 : 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arch_stands_or_falls), cmocka_unit_test(test_laws_from_points),
        cmocka_unit_test(test_ring_equals_halves),   cmocka_unit_test(test_no_tunnels),
        cmocka_unit_test(test_stack_rests),          cmocka_unit_test(test_hertz_coarse),
        cmocka_unit_test(test_cantilevers),          cmocka_unit_test(test_odd_surfaces),
        cmocka_unit_test(test_all_scenes_converge),  cmocka_unit_test(test_arch_threads),
        cmocka_unit_test(test_points_of_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
