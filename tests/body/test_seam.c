// SPDX-License-Identifier: Apache-2.0
// The seam is complete: a kind of body that only tests/seam knows touches, is attached, is driven, is controlled and is
// drawn, each against what can be said on paper.
#include "seam/mass.h"

#include "study/subject.h"
#include "view/describe.h"
#include "view/stage.h"

#define G 9.81
#define M 0.1
#define K ((double)MASS_STIFFNESS)

#define HEAD(h, g) "tendril: 1\ngravity: [0, 0, " g "]\ntime_step: " h "\nsteps: 1\n"
#define MASS(z, more)                                                                                                  \
    "  - {name: mass, type: rigid, shape: {sphere: 0.02}, total_mass: 0.1, transform: {translate: [0, 0, " z "]}" more \
    "}\n"
#define FLOOR "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"

static int body_named(const tdModel *model, const char *name)
{
    for (int b = 0; b < model->n_bodies; b++)
        if (strcmp(model->bodies[b].name, name) == 0)
            return b;
    fail_msg("no body '%s'", name);
    return -1;
}

static int64_t coord_of(const tdModel *model)
{
    return model->bodies[body_named(model, "mass")].first;
}

// ---------------------------------------------------------------- by itself

// Backward Euler of a mass on a spring: v1 = (m v0 - h k (x0 - a) - h m g) / (m + h^2 k), whoever else is in the scene.
static void test_swings(void **unused)
{
    (void)unused;
    tdModel *model = mass_parse(HEAD("10 ms", "-9.81") "bodies:\n" MASS("1", ", velocity: [0.3, 0, 0.1]"));
    tdState *state = scene_state(model);
    double x[3] = {0, 0, 1}, v[3] = {0.3, 0, 0.1}, h = 0.01, a[3] = {0, 0, 1};
    for (int k = 0; k < 100; k++)
    {
        scene_steps(model, state, 1);
        for (int c = 0; c < 3; c++)
        {
            v[c] = (M * v[c] - h * K * (x[c] - a[c]) - (c == 2 ? h * M * G : 0)) / (M + h * h * K);
            x[c] += h * v[c];
            assert_near(state->q[c], x[c], 1e-13);
            assert_near(state->v[c], v[c], 1e-12);
        }
    }
    double kinetic = 0, elastic = 0, speed = v[0] * v[0] + v[1] * v[1] + v[2] * v[2], away = 0;
    for (int c = 0; c < 3; c++)
        away += (x[c] - a[c]) * (x[c] - a[c]);
    td_state_energy(model, state, &kinetic, &elastic);
    assert_near(kinetic, 0.5 * M * speed, 1e-12);
    assert_near(elastic, 0.5 * K * away, 1e-12);
    scene_free(model, state);
}

// ---------------------------------------------------------------- touches

// It falls freely by the formula above until it meets the floor, and then lies there: the floor bears its weight less
// what the spring bears, k times the way that it has sunk below its anchor.
static void test_lands(void **unused)
{
    (void)unused;
    for (int nlcp = 0; nlcp < 2; nlcp++)
    {
        char text[1000];
        snprintf(text, sizeof text, HEAD("2 ms", "-9.81") "contact: {friction: 0.5%s}\nbodies:\n%s%s",
                 nlcp ? ", solver: nlcp" : "", MASS("0.03", ""), FLOOR);
        tdModel *model = mass_parse(text);
        tdState *state = scene_state(model);
        double z = 0.03, v = 0, h = 0.002, force[3];
        int alone = 0;
        for (int k = 0; k < 400; k++)
        {
            scene_steps(model, state, 1);
            if (alone == k && td_state_report(state)->contacts_active == 0)
            {
                v = (M * v - h * K * (z - 0.03) - h * M * G) / (M + h * h * K);
                z += h * v;
                assert_near(state->q[2], z, 1e-13);
                alone++;
            }
        }
        // sqrt(2 (0.03 - 0.02) / 9.81) = 45 ms without the spring
        assert_true(alone > 15 && alone < 30);
        double sunk = 0.03 - state->q[2];
        assert_near(state->q[2], 0.02, 2e-4); // near-rigid: half a percent of the ball
        assert_near(state->v[2], 0, 1e-6);
        td_state_contact_force(state, body_named(model, "floor"), body_named(model, "mass"), force);
        assert_near(force[2], M * G - K * sunk, 1e-5 * M * G);
        assert_near(force[0], 0, 1e-6);
        scene_free(model, state);
    }
}

// Pulled aside by a cable of given force: up to mu N less than the spring it sticks, above it slides.
static void test_rubs(void **unused)
{
    (void)unused;
    for (int slides = 0; slides < 2; slides++)
    {
        double pull = slides ? 0.6 : 0.4, mu = 0.5, force[3]; // mu m g = 0.49 N
        char text[1000];
        snprintf(text, sizeof text,
                 HEAD("2 ms", "-9.81") "contact: {friction: %g}\nbodies:\n%s%s"
                                       "actuators: [{name: rope, type: cable, body: mass, path: [[0, 0, 0.02]], "
                                       "pull_point: [1, 0, 0.02], drive: force}]\n"
                                       "motion: {keyframes: [{t: 0, rope: 0}, {t: 0.1 s, rope: %g N}]}\n",
                 mu, MASS("0.02", ""), FLOOR, pull);
        tdModel *model = mass_parse(text);
        tdState *state = scene_state(model);
        scene_steps(model, state, 1500);
        td_state_contact_force(state, body_named(model, "floor"), body_named(model, "mass"), force);
        // What the rope pulls is borne by the floor and by the spring.
        assert_near(-force[0] + K * state->q[0], pull, 1e-4);
        assert_near(force[2], M * G - K * (0.02 - state->q[2]), 1e-5);
        assert_near(state->v[0], 0, 1e-4);
        if (slides)
            assert_true(state->q[0] > (pull - mu * M * G) / K * 0.99);
        else
            assert_near(state->q[0], 0, 2e-4);
        scene_free(model, state);
    }
}

// ---------------------------------------------------------------- is attached

#define BLOCK                                                                                                          \
    "  - {name: block, mesh: {box: [[-0.05, -0.05, 0.1], [0.05, 0.05, 0.2]], cells: [2, 2, 2]}, material: {law: "      \
    "corotational_lagged, young: 50 kPa, poisson: 0.3, density: 1000 kg/m^3}, fixed: [{group: zmax}]}\n"

// It hangs from a node of a soft block. What the weld does to it is m dv/dt + k (x - a) - m g in each step, and in the
// end the block's support bears all that the spring does not.
static void test_hangs(void **unused)
{
    (void)unused;
    tdModel *model =
        mass_parse(HEAD("5 ms", "-9.81") "bodies:\n" BLOCK MASS("0.1", "") "attachments: [{name: weld, a: mass, "
                                                                           "points: [[0, 0, 0.1]], b: block}]\n");
    tdState *state = scene_state(model);
    int64_t at = coord_of(model);
    double before[3] = {0}, force[3], held[3], h = 0.005, largest = 0;
    const tdSoft *soft = model->bodies[0].soft;
    int32_t node = -1;
    for (int32_t i = 0; i < soft->n_nodes; i++)
        if (fabs(soft->rest[3 * i]) + fabs(soft->rest[3 * i + 1]) + fabs(soft->rest[3 * i + 2] - 0.1) < 1e-9)
            node = i;
    assert_true(node >= 0);
    for (int k = 0; k < 1500; k++)
    {
        memcpy(before, state->v + at, sizeof before);
        scene_steps(model, state, 1);
        td_state_attachment_force(state, 0, force, NULL, NULL);
        for (int c = 0; c < 3; c++)
        {
            double away = state->q[at + c] - (c == 2 ? 0.1 : 0);
            assert_near(force[c], M * (state->v[at + c] - before[c]) / h + K * away + (c == 2 ? M * G : 0),
                        1e-6 * M * G);
            assert_near(state->q[at + c], state->q[3 * node + c], 1e-7);
        }
        largest = fmax(largest, fabs(force[2]));
    }
    assert_true(largest > 0.1 * M * G);
    assert_near(state->v[at + 2], 0, 1e-6);
    td_state_reaction(model, state, 0, held);
    double block = 1000 * 0.1 * 0.1 * 0.1 * G;
    assert_near(held[2], block + M * G - K * (0.1 - state->q[at + 2]), 1e-5 * block);
    scene_free(model, state);
}

// ---------------------------------------------------------------- is driven

#define ROPE                                                                                                           \
    "actuators: [{name: rope, type: cable, body: mass, path: [[0, 0, 0.02]], pull_point: [0.5, 0, 0.02], drive: "      \
    "displacement, range: [0, 50 mm]}]\n"
#define PULL "motion: {keyframes: [{t: 0, rope: 0}, {t: 0.4 s, rope: 10 mm}], interpolation: smooth}\n"

// A cable winds it in by 10 mm along x, so gently that it never goes slack: it is there, and the tension is that of
// the spring. In each step it is m dv/dt + k x. With contact the cable is a row of the same problem; without friction
// the floor changes nothing.
static void test_is_driven(void **unused)
{
    (void)unused;
    for (int touch = 0; touch < 2; touch++)
    {
        tdModel *model = touch ? mass_parse(HEAD("5 ms", "-9.81") "contact: {friction: 0}\nbodies:\n" MASS("0.02", "")
                                                FLOOR ROPE PULL)
                               : mass_parse(HEAD("5 ms", "0") "bodies:\n" MASS("0.02", "") ROPE PULL);
        tdState *state = scene_state(model);
        double h = 0.005;
        for (int k = 0; k < 400; k++)
        {
            double before = state->v[0];
            scene_steps(model, state, 1);
            tdActuation rope = td_state_actuation(model, state, 0);
            double along = state->q[0], share = fmin(state->time / 0.4, 1);
            assert_near(rope.displacement, share * share * (3 - 2 * share) * 0.01, 1e-7);
            assert_near(rope.effort, M * (state->v[0] - before) / h + K * along, 1e-6 * K * 0.01);
        }
        tdActuation rope = td_state_actuation(model, state, 0);
        assert_near(state->q[0], 0.01, 1e-6);
        assert_near(rope.effort, K * 0.01, 1e-5 * K * 0.01);
        assert_int_equal(td_state_report(state)->contacts_active > 0, touch);
        scene_free(model, state);
    }
}

// Inverse control brings it to a target: the effort that it finds is that of the spring.
static void test_is_controlled(void **unused)
{
    (void)unused;
    tdModel *model = mass_parse(HEAD("5 ms", "0") "bodies:\n" MASS("0.02", "") ROPE
                                "effectors: [{name: tip, body: mass, point: [0, 0, 0.02], axes: x}]\n");
    tdState *state = scene_state(model);
    const double target[3] = {0.006, 0, 0.02};
    assert_int_equal(td_state_set_target(model, state, 0, target), TD_OK);
    scene_steps(model, state, 400);
    tdActuation rope = td_state_actuation(model, state, 0);
    assert_near(state->q[0], 0.006, 1e-8);
    assert_near(rope.effort, K * 0.006, 1e-6 * K);
    scene_free(model, state);
}

// A hand in the viewer pulls at a corner of the ball by a spring: it comes to rest between the two springs.
static void test_is_pulled(void **unused)
{
    (void)unused;
    tdModel *model = mass_parse(HEAD("10 ms", "0") "bodies:\n" MASS("0", ""));
    tdState *state = scene_state(model);
    const int32_t *corner = model->bodies[0].soft->surface;
    const double *x = model->bodies[0].soft->rest + 3 * corner[0];
    tdSpring spring = {.nodes = {corner[0], corner[1], corner[2]}, .weights = {1, 0, 0}, .stiffness = 30};
    for (int c = 0; c < 3; c++)
        spring.anchor[c] = x[c] + 0.01 * (c + 1);
    assert_int_equal(td_state_set_spring(model, state, 0, &spring), TD_OK);
    scene_steps(model, state, 1000);
    for (int c = 0; c < 3; c++)
        assert_near(state->q[c], 0.01 * (c + 1) * 30 / (K + 30), 1e-9);
    spring.nodes[1] = 0; // its centre is of the same part
    assert_int_equal(td_state_set_spring(model, state, 0, &spring), TD_OK);
    scene_free(model, state);
}

// ---------------------------------------------------------------- is drawn

// The stage of the viewer has its ball as a mesh that a pose moves, and what clients are told names the part.
static void test_is_on_stage(void **unused)
{
    (void)unused;
    tdViewStage *stage = NULL;
    tdError error = {0};
    tdModel *model = mass_parse(HEAD("5 ms", "-9.81") "bodies:\n" BLOCK MASS("0.05", ", velocity: [0.2, 0.1, 0]"));
    assert_ok(td_view_stage_make(model, "scene.yaml", "mass", 1, &stage, &error), error);
    tdState *state = scene_state(model);
    scene_steps(model, state, 20);
    int64_t at = coord_of(model);
    const tdViewMesh *mesh = NULL;
    for (int m = 0; m < stage->n_meshes; m++)
        if (stage->meshes[m].body == body_named(model, "mass"))
        {
            assert_null(mesh);
            mesh = &stage->meshes[m];
        }
    assert_non_null(mesh);
    assert_int_equal(mesh->pose, 0);
    assert_true(mesh->n_triangles > 50 && mesh->n_vertices > 20);
    tdPose *poses = calloc((size_t)stage->n_poses, sizeof *poses);
    td_view_poses(stage, state, poses);
    for (int32_t i = 0; i < mesh->n_vertices; i++)
    {
        double x[3], away = 0;
        td_view_node(stage, state->q, poses, mesh->body, mesh->nodes[i], x);
        for (int c = 0; c < 3; c++)
            away += (x[c] - state->q[at + c]) * (x[c] - state->q[at + c]);
        assert_near(sqrt(away), 0.02, 1e-9);
    }
    assert_true(state->q[at] > 0.01); // it has moved
    tdText hello = {0}, topology = {0};
    tdViewHouse house = {.clients = 1, .most_clients = 1};
    td_view_hello(stage, &house, 0, &hello);
    td_view_topology(stage, &topology);
    assert_false(hello.failed || topology.failed);
    assert_non_null(strstr(hello.data, "\"links\""));
    assert_non_null(strstr(hello.data, "\"mass\""));
    assert_true(topology.size > 12 * (int64_t)mesh->n_triangles);
    free(hello.data);
    free(topology.data);
    free(poses);
    td_state_free(state);
    td_view_stage_release(stage);
}

// `render` draws the ball where the mass is, and the floor as a plane.
static void test_is_rendered(void **unused)
{
    (void)unused;
    tdModel *model = mass_parse(HEAD("5 ms", "-9.81") "contact: {friction: 0.5}\nbodies:\n" MASS("0.05", "") FLOOR);
    tdState *state = scene_state(model);
    scene_steps(model, state, 100);
    tdSubject subject;
    tdError error = {0};
    tdSubjectSettings settings = {.step = -1, .time = NAN, .marks = true, .coloured = true};
    assert_ok(td_subject_take(&subject, "scene.yaml", model, state, &settings, &error), error);
    assert_int_equal(subject.n_parts, 1);
    assert_int_equal(subject.n_floors, 1);
    double box[6];
    assert_true(td_subject_box(&subject, box));
    for (int c = 0; c < 3; c++)
    {
        assert_near(0.5 * (box[c] + box[3 + c]), state->q[c], 1e-9);
        assert_near(box[3 + c] - box[c], 0.04, 2e-3); // triangles are within the ball
    }
    assert_true(subject.n_contacts > 0);
    td_subject_free(&subject);
    scene_free(model, state);
}

// ---------------------------------------------------------------- is kept

// A checkpoint of a scene with it goes on bit for bit.
static void test_is_kept(void **unused)
{
    (void)unused;
    static const char text[] = HEAD("2 ms", "-9.81") "contact: {friction: 0.5}\nbodies:\n" MASS("0.03", "") FLOOR;
    tdModel *model = mass_parse(text);
    tdState *a = scene_state(model), *b = scene_state(model);
    tdError error = {0};
    char path[] = "/tmp/tendril_seam_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    scene_steps(model, a, 40);
    assert_ok(td_state_save(model, a, path, &error), error);
    assert_ok(td_state_load(model, b, path, &error), error);
    scene_steps(model, a, 60);
    scene_steps(model, b, 60);
    assert_memory_equal(a->q, b->q, (size_t)model->coords * sizeof(double));
    assert_memory_equal(a->v, b->v, (size_t)model->coords * sizeof(double));
    unlink(path);
    td_state_free(b);
    scene_free(model, a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_swings),    cmocka_unit_test(test_lands),       cmocka_unit_test(test_rubs),
        cmocka_unit_test(test_hangs),     cmocka_unit_test(test_is_driven),   cmocka_unit_test(test_is_controlled),
        cmocka_unit_test(test_is_pulled), cmocka_unit_test(test_is_on_stage), cmocka_unit_test(test_is_rendered),
        cmocka_unit_test(test_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
