// SPDX-License-Identifier: Apache-2.0
// Contact in a step: closed-form physics on rigid and soft bodies, actuators and contacts together, replay.
#include "reduced.h"

#include "contact/contact.h"

#define G     9.81
#define FLOOR "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
#define RIGID                                                                                                          \
    "  - {name: block, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1, velocity: [%g, 0, 0], transform: "   \
    "{translate: [0, 0, 0.05]}}\n"
#define SOFT                                                                                                           \
    "  - {name: block, mesh: {box: [[-0.05, -0.05, 0], [0.05, 0.05, 0.1]], cells: [2, 2, 2]}, velocity: [%g, 0, 0], "  \
    "material: {law: corotational_lagged, young: 1 MPa, poisson: 0.3, density: 1000}}\n"

static double slope_scene(sceneText *t, const char *block, double mu, double slope, double speed, double h)
{
    *t = (sceneText){0};
    scene_add(t, "tendril: 1\ntime_step: %g\nsteps: 10\ngravity: [%.17g, 0, %.17g]\n", h, G * sin(slope),
              -G * cos(slope));
    scene_add(t, "contact: {friction: %g}\nbodies:\n" FLOOR, mu);
    scene_add(t, block, speed);
    return h;
}

// Mean velocity along x of body 1.
static double speed_of(const tdModel *model, const tdState *state)
{
    const double *v = td_state_velocities(model, state, 1);
    int n = td_model_body_nodes(model, 1);
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += v[3 * i];
    return sum / n;
}

static double place_of(const tdModel *model, const tdState *state)
{
    const double *x = td_state_positions(model, state, 1);
    int n = td_model_body_nodes(model, 1);
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[3 * i];
    return sum / n;
}

static void incline(const char *block, double mu)
{
    sceneText t;
    double h = 1e-3;
    // 5 % below the angle of friction it sticks: creep at most 1.1 sigma g h.
    slope_scene(&t, block, mu, atan(0.95 * mu), 0, h);
    tdModel *model = scene_parse(t.text);
    tdState *state = scene_state(model);
    scene_steps(model, state, 300);
    assert_true(fabs(speed_of(model, state)) <= 1.1 * 1e-3 * G * h);
    assert_true(state->report.contacts_active >= 4);
    td_state_free(state);
    td_model_free(model);
    // 5 % above it slides with g (sin - mu cos); forces of sliding contacts are exact, and a soft block's wobble from
    // its start has died away to less than a percent.
    double slope = atan(1.05 * mu), expected = G * (sin(slope) - mu * cos(slope));
    slope_scene(&t, block, mu, slope, 0, h);
    model = scene_parse(t.text);
    state = scene_state(model);
    scene_steps(model, state, 300);
    double before = speed_of(model, state);
    scene_steps(model, state, 200);
    assert_near((speed_of(model, state) - before) / (200 * h), expected, 0.02 * expected);
    td_state_free(state);
    td_model_free(model);
}

static void test_incline_rigid(void **unused)
{
    (void)unused;
    incline(RIGID, 0.5);
}

static void test_incline_soft(void **unused)
{
    (void)unused;
    incline(SOFT, 0.5);
}

// v^2 / (2 mu g), to a step's way.
static void test_stopping_distance(void **unused)
{
    (void)unused;
    sceneText t;
    double h = 1e-3, mu = 0.3, v = 1, distance = v * v / (2 * mu * G);
    slope_scene(&t, RIGID, mu, 0, v, h);
    tdModel *model = scene_parse(t.text);
    tdState *state = scene_state(model);
    double start = place_of(model, state);
    scene_steps(model, state, 500);
    assert_near(speed_of(model, state), 0, 1e-6);
    assert_near(place_of(model, state) - start, distance, 2 * v * h);
    td_state_free(state);
    td_model_free(model);
}

// At 7 m/s it rides on a gap of mu v h, far beyond the margin, and is still followed: the floor bears its weight
// throughout.
static void test_fast_slide(void **unused)
{
    (void)unused;
    sceneText t;
    double h = 2e-3, mu = 0.5, slope = M_PI / 4, weight = 0;
    slope_scene(&t, RIGID, mu, slope, 0, h);
    tdModel *model = scene_parse(t.text);
    tdState *state = scene_state(model);
    scene_steps(model, state, 20);
    for (int i = 0; i < 1000; i++)
    {
        double force[3];
        scene_steps(model, state, 1);
        td_state_contact_force(state, 0, 1, force);
        weight = i == 0 ? force[2] : weight;
        assert_near(force[2], weight, 1e-3 * weight);
        assert_near(force[0], -mu * weight, 1e-3 * weight);
    }
    assert_true(weight > 0 && speed_of(model, state) > 6.5);
    td_state_free(state);
    td_model_free(model);
}

#define BOX_AT(name, z)                                                                                                \
    "  - {name: " name ", type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1, transform: {translate: [0, 0, " z \
    "]}}\n"
#define STACK                                                                                                          \
    "tendril: 1\ntime_step: 5 ms\nsteps: 10\ngravity: [0, 0, -9.81]\ncontact: {}\nbodies:\n" FLOOR BOX_AT("a", "0.05") \
        BOX_AT("b", "0.15") BOX_AT("c", "0.25")

static void test_stack_rests(void **unused)
{
    (void)unused;
    tdModel *model = scene_parse(STACK);
    tdState *state = scene_state(model);
    scene_steps(model, state, 200);
    double before[32];
    assert_true(model->coords <= 32);
    memcpy(before, state->q, (size_t)model->coords * sizeof(double));
    double force[3];
    td_state_reaction(model, state, 0, force); // of the floor, which bears three boxes
    assert_near(force[2], 3 * G, 1e-3 * 3 * G);
    td_state_contact_force(state, 0, 1, force);
    assert_near(force[2], 3 * G, 1e-4 * G);
    td_state_contact_force(state, 2, 1, force);
    assert_near(force[2], -2 * G, 1e-4 * G);
    scene_steps(model, state, 200);
    for (int64_t i = 0; i < model->coords; i++)
        if (i % 6 < 3)
            assert_near(state->q[i], before[i], 1e-6);
    // Softness of a near-rigid contact: what gravity makes of one step or so.
    assert_near(before[2], 0.05, 3 * 3 * G * 0.005 * 0.005);
    td_state_free(state);
    td_model_free(model);
}

// At rest the points' forces k depth bear the weight: mean depth W / (k n).
static void test_indentation(void **unused)
{
    (void)unused;
    tdModel *model = scene_model("tendril: 1\ntime_step: 5 ms\nsteps: 10\ngravity: [0, 0, -9.81]\n"
                                 "contact: {stiffness: 1e3 N/m}\nbodies:\n" FLOOR SOFT,
                                 0.0);
    tdState *state = scene_state(model);
    scene_steps(model, state, 400);
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(state, &points);
    double weight = 1000 * 1e-3 * G, sum = 0, depth = 0;
    for (int64_t i = 0; i < n; i++)
    {
        sum += points[i].force[2];
        depth -= points[i].distance;
        assert_int_equal(points[i].body[0], 0);
        assert_int_equal(points[i].body[1], 1);
        assert_int_equal(points[i].link[1], -1);
    }
    assert_int_equal(n, 9); // nodes of the lower side
    assert_near(sum, weight, 1e-4 * weight);
    assert_near(depth / (double)n, weight / (1e3 * (double)n), 0.01 * weight / (1e3 * (double)n));
    td_state_free(state);
    td_model_free(model);
}

static void test_collision_keeps_momentum(void **unused)
{
    (void)unused;
    tdModel *model =
        scene_model("tendril: 1\ntime_step: 1 ms\nsteps: 10\ngravity: [0, 0, 0]\ncontact: {}\nbodies:\n"
                    "  - {name: a, type: rigid, shape: {sphere: 0.1}, total_mass: 1, velocity: [1, 0.2, 0]}\n"
                    "  - {name: b, type: rigid, shape: {sphere: 0.1}, total_mass: 3, velocity: [-2, 0, 0.1], "
                    "transform: {translate: [0.25, 0.03, 0]}}\n");
    tdState *state = scene_state(model);
    bool met = false;
    for (int k = 0; k < 100; k++)
    {
        scene_steps(model, state, 1);
        met = met || state->report.contacts_active > 0;
        const double *a = state->v, *b = state->v + model->bodies[1].first;
        assert_near(a[0] + 3 * b[0], 1 - 6, 1e-9);
        assert_near(a[1] + 3 * b[1], 0.2, 1e-9);
        assert_near(a[2] + 3 * b[2], 0.3, 1e-9);
    }
    assert_true(met);
    // Without restitution they do not approach each other any more.
    const double *a = state->v, *b = state->v + model->bodies[1].first;
    assert_true(b[0] - a[0] > -1e-3);
    td_state_free(state);
    td_model_free(model);
}

#define PRESSED                                                                                                        \
    "tendril: 1\ntime_step: 2 ms\nsteps: 10\ngravity: [0, 0, -9.81]\ncontact: {stiffness: 2e3 N/m}\nbodies:\n"         \
    "  - {name: block, mesh: {box: [[-0.05, -0.05, 0], [0.05, 0.05, 0.1]], cells: [2, 2, 2]}, fixed: [{group: "        \
    "zmin}], "                                                                                                         \
    "material: {law: corotational_lagged, young: 0.1 MPa, poisson: 0.3, density: 1000}}\n"                             \
    "  - {name: ball, type: rigid, shape: {sphere: 0.05}, total_mass: 0.5, transform: {translate: [0.01, 0.005, "      \
    "0.152]}}\n"

// A reduced body with all modes is the full-order one in other coordinates: one by its dense A, one condensed.
static void test_reduced_like_full(void **unused)
{
    (void)unused;
    tdModel *full = scene_parse(PRESSED);
    tdRom rom = rom_of(full, 0, 1);
    tdModel *reduced = rom_model(PRESSED, &rom, true);
    tdState *a = scene_state(full), *b = scene_state(reduced);
    double largest = 0;
    for (int k = 0; k < 60; k++)
    {
        scene_steps(full, a, 1);
        scene_steps(reduced, b, 1);
        double f[3], g[3];
        td_state_contact_force(a, 0, 1, f);
        td_state_contact_force(b, 0, 1, g);
        for (int c = 0; c < 3; c++)
            assert_near(g[c], f[c], 1e-4 * (1 + fabs(f[2]))); // tolerances of both solvers, grown over steps
        largest = fmax(largest, f[2]);
    }
    assert_true(largest > 0.5 * G);
    td_state_free(a);
    td_state_free(b);
    td_model_free(reduced);
    td_model_free(full);
    td_rom_free(&rom);
}

// The weight of what rests on a body that is held comes out at its supports.
static void test_reaction_bears_contact(void **unused)
{
    (void)unused;
    tdModel *model = scene_parse(PRESSED);
    tdState *state = scene_state(model);
    scene_steps(model, state, 1500);
    double force[3], reaction[3];
    td_state_contact_force(state, 0, 1, force);
    td_state_reaction(model, state, 0, reaction);
    // The ball rolls off in the end or rests; either way the balance of the block holds, but for its own motion.
    assert_near(reaction[2], 1000 * 1e-3 * G + force[2], 0.02 * 1000 * 1e-3 * G);
    td_state_free(state);
    td_model_free(model);
}

#define CABLE                                                                                                          \
    "tendril: 1\ntime_step: 5 ms\nsteps: 10\ngravity: [0, 0, -9.81]\ncontact: {}\n%sbodies:\n" FLOOR                   \
    "  - {name: beam, mesh: {box: [[0, -0.01, 0], [0.1, 0.01, 0.02]], cells: [5, 2, 2]}, fixed: [{group: xmin}], "     \
    "material: {law: corotational_lagged, young: 0.1 MPa, poisson: 0.3, density: 1000}}\n"                             \
    "actuators:\n  - {name: cable, type: cable, body: beam, path: [[0.1, 0, 0.02], [0.05, 0, 0.02], [0, 0, 0.02]], "   \
    "pull_point: [-0.02, 0, 0.02], drive: displacement}\n"                                                             \
    "motion: {keyframes: [{t: 0, cable: 0}, {t: 0.2, cable: 4 mm}]}\n"

// A cable of given displacement bends a beam up from the floor: it holds to 1e-6 in a converged step.
static void test_driven_with_contact(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(CABLE, "integrator: {method: backward_euler, newton: true}\n");
    tdState *state = scene_state(model);
    for (int k = 0; k < 60; k++)
    {
        scene_steps(model, state, 1);
        assert_true(state->report.contacts > 0);
        tdActuation a = td_state_actuation(model, state, 0);
        double given = fmin(4e-3, 4e-3 * td_state_time(state) / 0.2);
        if (a.effort > 1e-3)
            assert_near(a.displacement, given, 1e-6 * model->actuators[0].size);
    }
    assert_true(td_state_actuation(model, state, 0).effort > 0.01);
    td_state_free(state);
    td_model_free(model);
}

#define PILE                                                                                                           \
    "tendril: 1\ntime_step: 5 ms\nsteps: 10\ngravity: [0.5, 0, -9.81]\ncontact: {friction: 0.3}\nbodies:\n" FLOOR      \
    "  - {name: a, mesh: {box: [[0, 0, 0.001], [0.1, 0.1, 0.05]], cells: [3, 3, 2]}, material: {law: "                 \
    "corotational_lagged, young: 0.2 MPa, poisson: 0.4, density: 1000}}\n"                                             \
    "  - {name: b, mesh: {box: [[0.03, 0.02, 0.06], [0.12, 0.1, 0.1]], cells: [3, 3, 2]}, material: {law: "            \
    "corotational_lagged, young: 0.1 MPa, poisson: 0.4, density: 1000}}\n"                                             \
    "  - {name: c, type: rigid, shape: {box: [0.05, 0.05, 0.02]}, total_mass: 0.1, transform: {translate: [0.07, "     \
    "0.06, 0.13], rotate: [10 deg, 5 deg, 0]}}\n"

#define SLIDER                                                                                                         \
    "<robot name=\"r\"><link name=\"base\"/><link name=\"head\"><inertial><mass value=\"2\"/><inertia ixx=\"0.01\" "   \
    "iyy=\"0.01\" izz=\"0.01\"/></inertial><collision><geometry><box size=\"0.1 0.1 "                                  \
    "0.1\"/></geometry></collision></link>"                                                                            \
    "<joint name=\"down\" type=\"prismatic\"><parent link=\"base\"/><child link=\"head\"/><axis xyz=\"0 0 -1\"/>"      \
    "<limit lower=\"-1\" upper=\"%s\" effort=\"30\" velocity=\"1\"/></joint></robot>"

// A press above the floor, driven below it by a servo of 30 N: the floor bears 30 N and the weight. With a limit of the
// joint in the way it bears nothing and the limit holds.
static void test_servo_and_limit(void **unused)
{
    (void)unused;
    for (int limited = 0; limited < 2; limited++)
    {
        char path[] = "/tmp/tendril_press_XXXXXX";
        int file = mkstemp(path);
        assert_true(file >= 0);
        dprintf(file, SLIDER, limited ? "0.05" : "1");
        close(file);
        tdModel *model = scene_model(
            "tendril: 1\ntime_step: 2 ms\nsteps: 10\ngravity: [0, 0, -9.81]\ncontact: {}\nbodies:\n" FLOOR
            "  - {name: press, type: articulated, urdf: %s, transform: {translate: [0, 0, 0.15]}}\n"
            "actuators:\n  - {name: down, type: joint, body: press, joint: down, drive: position, stiffness: 1e4 N/m, "
            "damping: 100 N*s/m}\nmotion: {keyframes: [{t: 0, down: 0.2}]}\n",
            path);
        unlink(path);
        tdState *state = scene_state(model);
        scene_steps(model, state, 1000);
        double force[3];
        td_state_contact_force(state, 0, 1, force);
        assert_near(force[2], limited ? 0 : 30 + 2 * G, 1e-3);
        assert_near(state->q[0], limited ? 0.05 : 0.1, 1e-4);
        if (!limited)
            assert_near(td_state_actuation(model, state, 0).effort, 30, 1e-6);
        td_state_free(state);
        td_model_free(model);
    }
}

#define PART(name, mass, along, across, shape)                                                                         \
    "<link name=\"" name "\"><inertial><origin xyz=\"0 0 0.0064\"/><mass value=\"" mass "\"/><inertia ixx=\"" along    \
    "\" iyy=\"" along "\" izz=\"" across "\"/></inertial><collision><origin xyz=\"0 0 0.0064\"/><geometry>" shape      \
    "</geometry></collision></link>"
#define MITE                                                                                                           \
    "<robot name=\"r\">" PART("l0", "2.5e-4", "3.7e-9", "5.8e-10", "<box size=\"0.0038 0.0038 0.0128\"/>")             \
        PART("l1", "1.1e-4", "1.7e-9", "2.6e-10", "<cylinder radius=\"0.0019\" length=\"0.0128\"/>")                   \
            PART("l2", "1.1e-4", "1.7e-9", "2.6e-10",                                                                  \
                 "<sphere radius=\"0.0019\"/>") "<joint name=\"j1\" type=\"revolute\"><parent link=\"l0\"/><child "    \
                                                "link=\"l1\"/><origin xyz=\"0 0 0.0128\" "                             \
                                                "rpy=\"0.714 0.186 -0.568\"/><axis xyz=\"0 0 1\"/><limit "             \
                                                "lower=\"-0.2439\" upper=\"1.71\" effort=\"1000\" "                    \
                                                "velocity=\"10\"/></joint><joint name=\"j2\" type=\"fixed\"><parent "  \
                                                "link=\"l1\"/><child link=\"l2\"/><origin "                            \
                                                "xyz=\"0 0 0.0128\" rpy=\"0.916 0.776 0.355\"/></joint></robot>"

// A robot of millimetres falls on a ball, and the blow turns its joint at more than 60 rad/s: its limit holds in the
// very step.
static void test_blow_on_a_small_joint(void **unused)
{
    (void)unused;
    char path[] = "/tmp/tendril_mite_XXXXXX";
    int file = mkstemp(path);
    double most = 0;
    assert_true(file >= 0);
    dprintf(file, MITE);
    close(file);
    tdModel *model =
        scene_model("tendril: 1\ntime_step: 0.0318\nsteps: 8\ngravity: [0, 0, -9.81]\ncontact: {friction: 0}\nbodies:\n"
                    "  - {name: rock, type: rigid, fixed: true, shape: {sphere: 0.0242}, transform: {translate: "
                    "[-0.00522, 0.00729, "
                    "0.042]}}\n"
                    "  - {name: mite, type: articulated, urdf: %s, base: free, transform: {translate: [-0.00256, "
                    "0.00652, 0.1294]}}\n",
                    path);
    unlink(path);
    tdState *state = scene_state(model);
    for (int k = 0; k < 8; k++)
    {
        scene_steps(model, state, 1);
        most = fmax(most, fabs(state->v[6]));
        assert_true(state->q[6] < 1.71 + 0.02 && state->q[6] > -0.2439 - 0.02);
    }
    assert_true(most > 40); // there is something to hold
    td_state_free(state);
    td_model_free(model);
}

static void same_bits(const tdModel *model, const tdState *a, const tdState *b)
{
    assert_memory_equal(a->q, b->q, (size_t)model->coords * sizeof(double));
    assert_memory_equal(a->v, b->v, (size_t)model->coords * sizeof(double));
}

static void test_threads_and_replay(void **unused)
{
    (void)unused;
    tdModel *model = scene_parse(PILE);
    tdState *one = scene_state_with(model, 1, false), *three = scene_state_with(model, 3, false),
            *again = scene_state_with(model, 1, false);
    char path[] = "/tmp/tendril_contact_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    scene_steps(model, one, 60);
    scene_steps(model, three, 60);
    assert_true(one->report.contacts_active > 8);
    same_bits(model, one, three);
    tdError error = {0};
    assert_ok(td_state_save(model, one, path, &error), error);
    assert_ok(td_state_load(model, again, path, &error), error);
    unlink(path);
    scene_steps(model, one, 40);
    scene_steps(model, three, 40);
    scene_steps(model, again, 40);
    same_bits(model, one, three);
    same_bits(model, one, again);
    td_state_free(one);
    td_state_free(three);
    td_state_free(again);
    td_model_free(model);
}

#define HEAD "tendril: 1\ntime_step: 1 ms\nsteps: 1\n"
#define BODY "bodies:\n" FLOOR BOX_AT("a", "0.05")
static void test_refused(void **unused)
{
    (void)unused;
    scene_refused(HEAD "contact: {friction: -1}\n" BODY, "friction");
    scene_refused(HEAD "contact: {stiffness: 0}\n" BODY, "stiffness");
    scene_refused(HEAD "contact: {exclude: [{a: floor, b: nobody}]}\n" BODY, "nobody");
    scene_refused(HEAD "contact: {exclude: [{a: floor, b: floor}]}\n" BODY, "two bodies");
    scene_refused(HEAD "contact: {}\nintegrator: {method: midpoint}\n" BODY, "backward_euler");
    scene_refused("tendril: 1\nintegrator: {method: static}\n" BODY, "has no equilibrium");
    scene_refused(HEAD "contact: {}\nbodies:\n" FLOOR, "nothing that moves");
    scene_refused(HEAD
                  "bodies:\n  - {name: a, type: rigid, shape: {plane: true}, fixed: true, contact: {friction: 1}}\n",
                  "has no contact");
}

// Pairs and bodies that do not meet fall through.
static void test_excluded_falls(void **unused)
{
    (void)unused;
    const char *const scenes[] = {
        HEAD "gravity: [0, 0, -9.81]\ncontact: {exclude: [{a: a, b: floor}]}\n" BODY,
        HEAD "gravity: [0, 0, -9.81]\ncontact: {}\nbodies:\n  - {name: floor, type: rigid, shape: {plane: true}, "
             "fixed: true, contact: {meets: false}}\n" BOX_AT("a", "0.05"),
        HEAD "gravity: [0, 0, -9.81]\n" BODY};
    for (int i = 0; i < 3; i++)
    {
        tdModel *model = scene_parse(scenes[i]);
        tdState *state = scene_state(model);
        scene_steps(model, state, 100);
        assert_near(state->q[2], 0.05 - 0.5 * G * 0.1 * 0.101, 1e-9);
        assert_int_equal(state->report.contacts, 0);
        td_state_free(state);
        td_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_incline_rigid),
        cmocka_unit_test(test_incline_soft),
        cmocka_unit_test(test_stopping_distance),
        cmocka_unit_test(test_fast_slide),
        cmocka_unit_test(test_stack_rests),
        cmocka_unit_test(test_indentation),
        cmocka_unit_test(test_collision_keeps_momentum),
        cmocka_unit_test(test_reduced_like_full),
        cmocka_unit_test(test_reaction_bears_contact),
        cmocka_unit_test(test_driven_with_contact),
        cmocka_unit_test(test_threads_and_replay),
        cmocka_unit_test(test_servo_and_limit),
        cmocka_unit_test(test_blow_on_a_small_joint),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_excluded_falls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
