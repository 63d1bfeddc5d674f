// SPDX-License-Identifier: Apache-2.0
// A state is a value: a copy goes on to the same bits, whatever bodies, memories and warm starts it has; a reset is a
// new start.
#include "rigid.h"

#include "base/file.h"
#include "core/state.h"

#define OWN TD_SOURCE_DIR "/tests/golden/scenes/"

static const struct
{
    const char *scene, *rom;
    int steps;
} scenes[] = {
    {OWN "plane.yaml", NULL, 8},                               // kept factors
    {OWN "quadratic.yaml", NULL, 3},                           // a Prony series
    {OWN "tendons.yaml", NULL, 6},                             // friction of cables, stops
    {OWN "cavity_gas.yaml", NULL, 4},                          // static or not: gas
    {OWN "arm.yaml", OWN "arm.h5", 20},                        // reduced
    {OWN "modes.yaml", OWN "modes.h5", 20},                    // reduced to polynomials
    {OWN "worm.yaml", OWN "worm.h5", 20},                      // reduced, on a frame, in contact
    {OWN "linkage.yaml", NULL, 20},                            // joints, a rod, welds
    {OWN "mjcf.yaml", NULL, 20},                               // drives
    {TD_SOURCE_DIR "/scenes/contact/pendulum.yaml", NULL, 20}, // midpoint
    {TD_SOURCE_DIR "/scenes/contact/fingers.yaml", NULL, 30},  // contact of soft and rigid bodies
    {TD_SOURCE_DIR "/scenes/contact/arm_hand.yaml", NULL, 30}, // servos and tools
    {TD_SOURCE_DIR "/scenes/block.yaml", NULL, 2},             // static
    {TD_SOURCE_DIR "/tests/haptic/late.yaml", NULL, 11},       // an asynchronous factor with a lag
};
enum
{
    N_SCENES = sizeof scenes / sizeof scenes[0]
};

static tdModel *load(int k)
{
    tdModel *model = NULL;
    tdError error = {0};
    tdSettings settings = td_default_settings();
    settings.rom = scenes[k].rom;
    assert_ok(td_model_load(scenes[k].scene, &settings, &model, &error), error);
    return model;
}

static void assert_alike(const tdModel *model, const tdState *a, const tdState *b, const char *what, const char *scene)
{
    if (td_state_hash(model, a) != td_state_hash(model, b))
        fail_msg("%s: %s: other bits after step %lld", scene, what, (long long)td_state_steps(a));
}

static void go_on(const tdModel *model, tdState *a, tdState *b, int n, const char *what, const char *scene)
{
    assert_alike(model, a, b, what, scene);
    for (int i = 0; i < n; i++)
    {
        scene_steps(model, a, 1);
        scene_steps(model, b, 1);
        assert_alike(model, a, b, what, scene);
    }
}

static void test_copies_go_on_alike(void **unused)
{
    (void)unused;
    for (int k = 0; k < N_SCENES; k++)
    {
        tdError error = {0};
        tdModel *model = load(k);
        tdState *a = scene_state(model), *b = scene_state_with(model, 2, false), *c = scene_state(model);
        int n = scenes[k].steps;
        scene_steps(model, a, n / 2);
        scene_steps(model, b, n / 2 + 1); // it was elsewhere
        assert_ok(td_state_copy(model, b, a, &error), error);
        go_on(model, a, b, n / 2, "a copy", scenes[k].scene);
        // by memory, into a state that was nowhere yet
        size_t size = td_state_size(model, a);
        void *memory = malloc(size);
        assert_ok(td_state_write(model, a, memory, size, &error), error);
        assert_ok(td_state_read(model, c, memory, size, &error), error);
        go_on(model, a, c, 2, "read from memory", scenes[k].scene);
        // and back, which takes the steps again
        assert_ok(td_state_read(model, a, memory, size, &error), error);
        assert_ok(td_state_copy(model, b, a, &error), error);
        go_on(model, a, b, 2, "read again", scenes[k].scene);
        free(memory);
        td_state_free(a);
        td_state_free(b);
        scene_free(model, c);
    }
}

static void test_reset_is_a_new_start(void **unused)
{
    (void)unused;
    for (int k = 0; k < N_SCENES; k++)
    {
        tdError error = {0};
        tdModel *model = load(k);
        tdState *a = scene_state(model), *b = scene_state(model);
        for (int i = 0; i < td_model_inputs(model); i++)
            assert_int_equal(td_state_set_input(model, a, i, 1e-3), TD_OK);
        int steps = scenes[k].steps / 2;
        for (int i = 0; i < steps; i++)
            td_step(model, a); // it may fail with such inputs: a reset mends that too
        assert_ok(td_state_reset(model, a, &error), error);
        assert_true(td_state_time(a) == 0);
        go_on(model, a, b, scenes[k].steps / 2 + 1, "after a reset", scenes[k].scene);
        td_state_free(a);
        scene_free(model, b);
    }
}

// What is no state of this scene is refused, and nothing changes.
static void test_other_values_are_refused(void **unused)
{
    (void)unused;
    tdError error = {0};
    tdModel *model = load(4), *other = load(5);
    tdState *state = scene_state(model), *stranger = scene_state(other);
    scene_steps(model, state, 3);
    size_t size = td_state_size(model, state), foreign = td_state_size(other, stranger);
    char *memory = malloc(size), *theirs = malloc(foreign);
    uint64_t hash = td_state_hash(model, state);
    assert_int_equal(td_state_write(model, state, memory, size - 1, &error), TD_ERROR_USAGE);
    assert_ok(td_state_write(model, state, memory, size, &error), error);
    assert_ok(td_state_write(other, stranger, theirs, foreign, &error), error);
    static const struct
    {
        const char *what, *why;
    } cases[] = {{"short", "too few"}, {"cut", "its end is missing"}, {"no state", "not a state"}};
    for (int k = 0; k < 3; k++)
    {
        char kept = memory[0];
        memory[0] = k == 2 ? 'X' : kept;
        tdStatus status = td_state_read(model, state, memory, k == 0 ? 8 : k == 1 ? size - 8 : size, &error);
        assert_int_equal(status, TD_ERROR_INPUT);
        assert_non_null(strstr(error.message, cases[k].why));
        memory[0] = kept;
    }
    assert_int_equal(td_state_read(model, state, theirs, foreign, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "another scene"));
    assert_true(td_state_hash(model, state) == hash);
    // A spring that cannot be: found when it is looked at, and taken back.
    tdState *clean = scene_state(model);
    assert_ok(td_state_copy(model, clean, state, &error), error);
    double *springs = clean->springs;
    springs[0] = 1;
    springs[1] = 77; // body
    assert_ok(td_state_write(model, clean, memory, size, &error), error);
    assert_int_equal(td_state_read(model, state, memory, size, &error), TD_ERROR_INPUT);
    assert_true(td_state_hash(model, state) == hash);
    free(memory);
    free(theirs);
    td_state_free(clean);
    scene_free(other, stranger);
    scene_free(model, state);
}

// ---------------------------------------------------------------- coordinates, joints

#define TWO_LINKS                                                                                                      \
    ROBOT(BASE LINK("a", "1", "0 0 -0.5", "0.1", "0.1", "0.1") LINK("b", "1", "0 0 -0.5", "0.1", "0.1", "0.1")         \
              JOINT("hip", "revolute", "base", "a", "0 0 0", "0 1 0",                                                  \
                    "<limit lower=\"-3\" upper=\"3\" effort=\"9\" "                                                    \
                    "velocity=\"9\"/>") JOINT("rail", "prismatic", "a", "b", "0 0 -1", "0 0 1",                        \
                                              "<limit lower=\"-1\" upper=\"1\" effort=\"99\" velocity=\"9\"/>"))

static void test_joints_are_set(void **unused)
{
    (void)unused;
    tdError error = {0};
    tdModel *model = robot_model(TWO_LINKS, "time_step: 1 ms\nsteps: 10\ngravity: [0, 0, -9.81 m/s^2]", "", "");
    tdState *state = robot_state(model);
    assert_int_equal(td_model_joints(model, 0), 2);
    tdJointInfo rail = td_model_joint(model, 0, 1);
    assert_string_equal(rail.name, "rail");
    assert_string_equal(rail.link, "b");
    assert_true(rail.slides && !td_model_joint(model, 0, 0).slides);
    double position[2] = {0.3, 0.1}, rate[2] = {1, -0.5}, x, v;
    assert_ok(td_state_set_joints(model, state, 0, position, rate, &error), error);
    for (int j = 0; j < 2; j++)
    {
        td_state_joint(model, state, 0, j, &x, &v);
        assert_near(x, position[j], 1e-15);
        assert_near(v, rate[j], 1e-15);
    }
    // It goes on from there: in a step the joints move by about their rates.
    robot_steps(model, state, 1);
    for (int j = 0; j < 2; j++)
    {
        td_state_joint(model, state, 0, j, &x, NULL);
        assert_near(x, position[j] + 1e-3 * rate[j], 5e-5); // gravity adds 1e-5 of it
    }
    double bad[2] = {0, NAN};
    uint64_t hash = td_state_hash(model, state);
    assert_int_equal(td_state_set_joints(model, state, 0, bad, NULL, &error), TD_ERROR_INPUT);
    assert_int_equal(td_state_set_joints(model, state, 0, NULL, bad, &error), TD_ERROR_INPUT);
    assert_true(td_state_hash(model, state) == hash);
    scene_free(model, state);
}

#define FALLING                                                                                                        \
    "tendril: 1\ntime_step: 1 ms\nsteps: 10\ngravity: [0, 0, -9.81 m/s^2]\n%sbodies:\n  - name: cube\n"                \
    "    mesh: {box: [[0, 0, 0], [0.1, 0.1, 0.1]], cells: [2, 2, 2]}\n"                                                \
    "    material: {law: corotational, young: 100 kPa, poisson: 0.3, density: 1000}\n%s"

// A body that is put elsewhere with another velocity falls from there; the balance of energy starts anew.
static void test_bodies_are_placed(void **unused)
{
    (void)unused;
    for (int newmark = 0; newmark < 2; newmark++)
    {
        tdError error = {0};
        tdModel *model = scene_model(FALLING, newmark ? "integrator: {method: newmark, newton: true}\n" : "", "");
        tdState *state = scene_state(model);
        scene_steps(model, state, 3);
        int64_t n = td_model_body_coords(model, 0);
        assert_int_equal(n, 3 * td_model_body_nodes(model, 0));
        assert_string_equal(td_model_body_kind(model, 0), "soft");
        double *q = malloc((size_t)n * sizeof *q), *v = malloc((size_t)n * sizeof *v);
        const double *rest = td_model_body_rest(model, 0);
        for (int64_t i = 0; i < n; i++)
        {
            q[i] = rest[i] + (i % 3 == 2 ? 5 : 0);
            v[i] = i % 3 == 0 ? 2 : 0;
        }
        assert_ok(td_state_set_coords(model, state, 0, q, v, NULL, &error), error);
        assert_memory_equal(td_state_coords(model, state, 0), q, (size_t)n * sizeof *q);
        assert_memory_equal(td_state_rates(model, state, 0), v, (size_t)n * sizeof *v);
        scene_steps(model, state, 10);
        double t = 0.010, fall = newmark ? 0.5 * 9.81 * t * t : 0.5 * 9.81 * t * (t + 1e-3);
        for (int64_t i = 0; i < n; i += 3)
        {
            assert_near(td_state_coords(model, state, 0)[i], q[i] + 2 * t, 1e-10);
            assert_near(td_state_coords(model, state, 0)[i + 2], q[i + 2] - fall, 1e-10);
        }
        assert_int_equal(td_state_report(state)->doubts, 0);
        q[0] = NAN;
        assert_int_equal(td_state_set_coords(model, state, 0, q, NULL, NULL, &error), TD_ERROR_INPUT);
        free(q);
        free(v);
        scene_free(model, state);
    }
}

static void test_held_coordinates_are_not_the_callers(void **unused)
{
    (void)unused;
    tdError error = {0};
    tdModel *model = scene_model(FALLING, "", "    fixed: [{group: zmin}]\n");
    tdState *state = scene_state(model);
    int64_t n = td_model_body_coords(model, 0);
    double *q = malloc((size_t)n * sizeof *q);
    memcpy(q, td_state_coords(model, state, 0), (size_t)n * sizeof *q);
    q[n - 1] += 1e-3; // a free one
    assert_ok(td_state_set_coords(model, state, 0, q, NULL, NULL, &error), error);
    q[model->bodies[0].held[0]] += 1e-3;
    assert_int_equal(td_state_set_coords(model, state, 0, q, NULL, NULL, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "is held"));
    free(q);
    scene_free(model, state);
}

static void test_lists(void **unused)
{
    (void)unused;
    tdModel *model = load(4);
    tdState *state = scene_state(model);
    const int32_t *triangles = NULL;
    int64_t n = td_model_body_triangles(model, 0, &triangles);
    assert_true(n > 0);
    // A closed surface: its area vectors sum up to nothing, and its volume is positive.
    double sum[3] = {0}, volume = 0;
    const double *x = td_model_body_rest(model, 0);
    for (int64_t t = 0; t < n; t++)
    {
        const double *a = x + 3 * triangles[3 * t], *b = x + 3 * triangles[3 * t + 1],
                     *c = x + 3 * triangles[3 * t + 2];
        double u[3], w[3], area[3];
        for (int k = 0; k < 3; k++)
        {
            u[k] = b[k] - a[k];
            w[k] = c[k] - a[k];
        }
        for (int k = 0; k < 3; k++)
        {
            int i = (k + 1) % 3, j = (k + 2) % 3;
            area[k] = 0.5 * (u[i] * w[j] - u[j] * w[i]);
            sum[k] += area[k];
            volume += area[k] * a[k] / 3;
        }
    }
    assert_true(volume > 0);
    assert_near(sum[0] + sum[1] + sum[2], 0, 1e-9);
    for (int i = 0; i < td_model_inputs(model); i++)
        assert_int_equal(td_model_find_input(model, td_model_input_name(model, i)), i);
    assert_int_equal(td_model_find_body(model, td_model_body_name(model, 0)), 0);
    assert_int_equal(td_model_find_body(model, "nobody"), -1);
    assert_int_equal(td_model_find_actuator(model, td_model_actuator(model, 0).name), 0);
    int input = td_model_actuator(model, 0).input;
    assert_int_equal(td_state_set_input(model, state, input, 0.25), TD_OK);
    scene_steps(model, state, 1);
    assert_near(td_state_input(model, state, input), 0.25, 0);
    scene_free(model, state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_go_on_alike),
        cmocka_unit_test(test_reset_is_a_new_start),
        cmocka_unit_test(test_other_values_are_refused),
        cmocka_unit_test(test_joints_are_set),
        cmocka_unit_test(test_bodies_are_placed),
        cmocka_unit_test(test_held_coordinates_are_not_the_callers),
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
