// SPDX-License-Identifier: Apache-2.0
// Springs that are tied to a body while it runs: their force, the equilibrium they lead to, their place in the matrix
// and in checkpoints, on bodies of both kinds.
#include "reduced.h"

#include "body/spring.h"
#include "rigid.h"

#define BAR                                                                                                            \
    "tendril: 1\ngravity: [0, 0, 0]\nsteps: 1\n%s\nbodies:\n  - name: bar\n    mesh: {box: [[0, 0, 0], [2, 1, 1]], "   \
    "cells: [4, 2, 2]}\n    material: {law: %s, young: 1e5, poisson: 0.3, density: 1000}\n%s%s"
#define HELD "    fixed: [{group: xmin}]\n"

// A triangle of the surface whose corners are all at x = 2.
static tdSpring at_end(const tdModel *model, double stiffness, const double pull[3])
{
    const tdSoft *soft = model->bodies[0].soft;
    tdSpring spring = {.weights = {0.2, 0.3, 0.5}, .stiffness = stiffness};
    for (int64_t t = 0; t < soft->surface_tris; t++)
    {
        const int32_t *n = soft->surface + 3 * t;
        if (soft->rest[3 * n[0]] < 1.999 || soft->rest[3 * n[1]] < 1.999 || soft->rest[3 * n[2]] < 1.999)
            continue;
        memcpy(spring.nodes, n, sizeof spring.nodes);
        break;
    }
    for (int c = 0; c < 3; c++)
    {
        spring.anchor[c] = pull[c];
        for (int a = 0; a < 3; a++)
            spring.anchor[c] += spring.weights[a] * soft->rest[3 * spring.nodes[a] + c];
    }
    return spring;
}

static void tie(const tdModel *model, tdState *state, int number, const tdSpring *spring)
{
    assert_int_equal(td_state_set_spring(model, state, number, spring), TD_OK);
}

// ---------------------------------------------------------------- forces

// The displacement of the point and the force of the spring at equilibrium.
static void pull_linear(const tdModel *model, double stiffness, const double pull[3], double u[3], double f[3])
{
    tdState *state = scene_state(model);
    tdSpring spring = at_end(model, stiffness, pull);
    double point[3], reaction[3];
    assert_false(td_state_spring(model, state, 0, point, f));
    tie(model, state, 0, &spring);
    scene_steps(model, state, 1);
    assert_true(td_state_spring(model, state, 0, point, f));
    td_state_reaction(model, state, 0, reaction);
    double size = fabs(f[0]) + fabs(f[1]) + fabs(f[2]);
    for (int c = 0; c < 3; c++)
    {
        assert_near(f[c], stiffness * (spring.anchor[c] - point[c]), 1e-12 * stiffness);
        assert_near(reaction[c] + f[c], 0, 1e-8 * size); // Newton's tolerance, and rounding of positions
        u[c] = point[c] - (spring.anchor[c] - pull[c]);
    }
    td_state_free(state);
}

static double det3(const double a[3], const double b[3], const double c[3])
{
    return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

// A linear body gives way in proportion to the force, u = C f: three pulls measure C, and a spring fifty times as stiff
// must meet it.
static void linear_body_gives_way_in_proportion(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(BAR, "integrator: {method: static, tolerance: 1e-12}", "linear", HELD, "");
    double u[4][3], f[4][3];
    for (int i = 0; i < 3; i++)
        pull_linear(model, 1e3, (double[3]){i == 0 ? 0.3 : 0, i == 1 ? 0.3 : 0, i == 2 ? 0.3 : 0}, u[i], f[i]);
    pull_linear(model, 5e4, (double[3]){0.1, -0.2, 0.3}, u[3], f[3]);
    double whole = det3(f[0], f[1], f[2]);
    const double share[3] = {det3(f[3], f[1], f[2]) / whole, det3(f[0], f[3], f[2]) / whole,
                             det3(f[0], f[1], f[3]) / whole};
    for (int c = 0; c < 3; c++)
        assert_near(u[3][c], share[0] * u[0][c] + share[1] * u[1][c] + share[2] * u[2][c], 1e-9);
    assert_true(u[3][2] > 0.01);
    td_model_free(model);
}

// The same shape as under a dead load of the spring's force, whatever the law.
static void shape_is_that_of_the_force(void **unused)
{
    (void)unused;
    const char *const laws[] = LAWS_LIST;
    for (int l = 0; l < 5; l++)
    {
        const char *method = "integrator: {method: static, tolerance: 1e-12, max_iterations: 200}";
        tdModel *model = scene_model(BAR, method, laws[l], HELD, "");
        tdState *state = scene_state(model);
        tdSpring spring = at_end(model, 2e3, (double[3]){0.1, 0.4, -0.2});
        spring.weights[0] = spring.weights[1] = spring.weights[2] = 1.0 / 3;
        tie(model, state, 3, &spring);
        scene_steps(model, state, 1);
        double point[3], force[3];
        assert_true(td_state_spring(model, state, 3, point, force));
        char load[512];
        snprintf(load, sizeof load,
                 "loads: [{type: point, body: bar, nodes: [%d, %d, %d], force: [%.17g, %.17g, %.17g]}]\n",
                 spring.nodes[0], spring.nodes[1], spring.nodes[2], force[0], force[1], force[2]);
        tdModel *loaded = scene_model(BAR, method, laws[l], HELD, load);
        tdState *other = scene_state(loaded);
        scene_steps(loaded, other, 1);
        for (int64_t i = 0; i < model->coords; i++)
            assert_near(state->q[i], other->q[i], 1e-9); // of 2 m; Newton ends at 1e-12 of the forces
        scene_free(model, state);
        scene_free(loaded, other);
    }
}

// A free body that hangs from a spring comes to rest with its weight on it.
static void free_body_hangs(void **unused)
{
    (void)unused;
    tdModel *model = scene_model("tendril: 1\ngravity: [0, 0, -10]\ntime_step: 0.05\nsteps: 1\nbodies:\n  - name: bar\n"
                                 "    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [2, 2, 2]}\n    material: {law: "
                                 "corotational, young: 1e6, poisson: 0.3, density: 100}\n    damping: {mass: 2}\n");
    tdState *state = scene_state(model);
    const tdSoft *soft = model->bodies[0].soft;
    tdSpring spring = {.weights = {1, 0, 0}, .anchor = {0.5, 0.5, 1.4}, .stiffness = 2500};
    // The middle of the top, so that it hangs upright.
    for (int64_t t = 0; t < 3 * soft->surface_tris; t++)
    {
        const double *x = soft->rest + 3 * soft->surface[t];
        if (fabs(x[0] - 0.5) + fabs(x[1] - 0.5) + fabs(x[2] - 1) < 1e-9)
            for (int a = 0; a < 3; a++)
                spring.nodes[a] = soft->surface[3 * (t / 3) + (t + a) % 3];
    }
    tie(model, state, 0, &spring);
    scene_steps(model, state, 800);
    double point[3], force[3];
    assert_true(td_state_spring(model, state, 0, point, force));
    assert_near(force[2], 1000, 1e-3); // 40 s at a damping of 2 / s
    assert_near(point[2], 1.4 - 1000.0 / 2500, 1e-6);
    scene_free(model, state);
}

// A linear body keeps its factor while nothing changes; tying, moving and untying must each reach the matrix.
static void kept_factor_follows(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(BAR, "integrator: {method: static}\nsolver: {type: cholesky}", "linear", HELD, "");
    tdState *state = scene_state(model);
    scene_steps(model, state, 2);
    tdSpring spring = at_end(model, 1e4, (double[3]){0, 0, 0.1});
    tie(model, state, 7, &spring);
    scene_steps(model, state, 1);
    double once[3], point[3], force[3];
    td_state_spring(model, state, 7, once, force);
    spring.anchor[2] += 0.1;
    tie(model, state, 7, &spring);
    scene_steps(model, state, 1);
    td_state_spring(model, state, 7, point, force);
    double rest = spring.anchor[2] - 0.2;
    assert_near(point[2] - rest, 2 * (once[2] - rest), 1e-9);
    assert_true(point[2] - rest > 1e-3);
    tie(model, state, 7, NULL);
    scene_steps(model, state, 1);
    for (int64_t i = 0; i < model->coords; i++)
        assert_near(state->q[i], scene_soft(model)->rest[i], 1e-12);
    scene_free(model, state);
}

// ---------------------------------------------------------------- reduced bodies

// With all modes and all elements a reduced body is the full one, spring included.
static void reduced_body_of_full_rank(void **unused)
{
    (void)unused;
    char text[1024];
    snprintf(
        text, sizeof text,
        "tendril: 1\ngravity: [0, 0, -1]\ntime_step: 0.02\nsteps: 1\nintegrator: {method: backward_euler, newton: "
        "true, tolerance: 1e-11}\nbodies:\n  - name: bar\n    mesh: {box: [[0, 0, 0], [2, 1, 1]], cells: [2, 1, 1]}\n"
        "    material: {law: neo_hookean, young: 1e5, poisson: 0.3, density: 1000}\n    fixed: [{group: xmin}]\n");
    tdModel *full = scene_parse(text);
    tdRom rom = rom_of(full, 0, 1);
    tdModel *reduced = rom_model(text, &rom, true);
    tdState *a = scene_state(full), *b = scene_state(reduced);
    tdSpring spring = at_end(full, 3e3, (double[3]){0.2, 0.3, 0.3});
    tie(full, a, 1, &spring);
    tie(reduced, b, 1, &spring);
    scene_steps(full, a, 20);
    scene_steps(reduced, b, 20);
    const double *x = td_state_positions(full, a, 0), *y = td_state_positions(reduced, b, 0);
    double way = 0;
    for (int64_t i = 0; i < full->coords; i++)
    {
        assert_near(x[i], y[i], 1e-8); // Newton ends at 1e-11 of the forces in each of 20 steps
        way = fmax(way, fabs(x[i] - scene_soft(full)->rest[i]));
    }
    assert_true(way > 0.05);
    double point[3], force[3], other[3], same[3];
    assert_true(td_state_spring(full, a, 1, point, force) && td_state_spring(reduced, b, 1, other, same));
    for (int c = 0; c < 3; c++)
        assert_near(force[c], same[c], 1e-4);
    scene_free(full, a);
    scene_free(reduced, b);
    td_arena_free(&rom.arena);
}

// ---------------------------------------------------------------- checkpoints

static void checkpoint_goes_on(void **unused)
{
    (void)unused;
    const char *const laws[] = {"linear", "corotational"};
    for (int l = 0; l < 2; l++)
    {
        tdModel *model = scene_model(BAR, "time_step: 0.02", laws[l], HELD, "");
        tdState *a = scene_state(model), *b = scene_state(model);
        tdSpring spring = at_end(model, 3e3, (double[3]){0.2, 0.3, 0.3});
        tdError error = {0};
        char path[] = "/tmp/tendril_spring_XXXXXX";
        close(mkstemp(path));
        scene_steps(model, a, 3);
        tie(model, a, 2, &spring);
        scene_steps(model, a, 3);
        assert_ok(td_state_save(model, a, path, &error), error);
        assert_ok(td_state_load(model, b, path, &error), error);
        scene_steps(model, a, 5);
        scene_steps(model, b, 5);
        assert_memory_equal(a->q, b->q, (size_t)model->coords * sizeof(double));
        // Numbers of another scene, or of nobody.
        double kept = a->springs[2 * TD_SPRING_NUMBERS + 2];
        const double bad[] = {1e9, -1, NAN, 1e300};
        for (int i = 0; i < 4; i++)
        {
            a->springs[2 * TD_SPRING_NUMBERS + 2] = bad[i];
            assert_int_equal(td_springs_check(model, a->springs, &error), TD_ERROR_INPUT);
        }
        a->springs[2 * TD_SPRING_NUMBERS + 2] = kept;
        assert_int_equal(td_springs_check(model, a->springs, &error), TD_OK);
        remove(path);
        td_state_free(b);
        scene_free(model, a);
    }
}

// ---------------------------------------------------------------- links

#define SWING                                                                                                          \
    ROBOT(BASE LINK("arm", "2", "0 0 -0.5", "0.1", "0.1", "0.01")                                                      \
              JOINT("hinge", "continuous", "base", "arm", "0 0 0", "0 1 0", "<dynamics damping=\"1\"/>"))
#define SLIDER                                                                                                         \
    ROBOT(BASE LINK("block", "2", "0 0 0", "0.1", "0.1", "0.1")                                                        \
              JOINT("rail", "prismatic", "base", "block", "0 0 0", "0 0 1", "<limit lower=\"-9\" upper=\"9\"/>"))

// A spring on a point of the first triangle of the last link.
static tdSpring at_link(const tdModel *model, double stiffness, const double anchor[3])
{
    const tdSoft *soft = model->bodies[0].soft;
    tdSpring spring = {.weights = {0.2, 0.3, 0.5}, .stiffness = stiffness};
    memcpy(spring.nodes, soft->surface, sizeof spring.nodes);
    memcpy(spring.anchor, anchor, sizeof spring.anchor);
    return spring;
}

// The slope of the potential of weight and spring along the hinge, at an angle: the point is p at angle 0.
static double slope(double angle, double k, const double p[3], const double anchor[3])
{
    double x = p[0] * cos(angle) + p[2] * sin(angle), z = p[2] * cos(angle) - p[0] * sin(angle);
    double dx = z, dz = -x;
    return 2 * 9.81 * 0.5 * sin(angle) + k * ((x - anchor[0]) * dx + (z - anchor[2]) * dz);
}

static void link_hangs_where_its_energy_is_least(void **unused)
{
    (void)unused;
    tdModel *model = robot_model(SWING, "gravity: [0, 0, -9.81]\ntime_step: 0.02\nduration: 1", "", "");
    tdState *state = scene_state(model);
    tdSpring spring = at_link(model, 300, (double[3]){-0.3, 0, -0.2});
    double p[3] = {0}, low, high, point[3], force[3];
    for (int a = 0; a < 3; a++)
        for (int c = 0; c < 3; c++)
            p[c] += spring.weights[a] * model->bodies[0].soft->rest[3 * spring.nodes[a] + c];
    tie(model, state, 0, &spring);
    scene_steps(model, state, 1000);
    double found = state->q[0];
    low = found - 0.1;
    high = found + 0.1;
    assert_true(slope(low, 300, p, spring.anchor) < 0 && slope(high, 300, p, spring.anchor) > 0);
    for (int i = 0; i < 60; i++)
    {
        double mid = 0.5 * (low + high);
        if (slope(mid, 300, p, spring.anchor) < 0)
            low = mid;
        else
            high = mid;
    }
    assert_true(fabs(found) > 0.05);
    assert_near(found, low, 1e-7); // after 20 s with a joint that brakes
    assert_true(td_state_spring(model, state, 0, point, force));
    assert_near(point[0], p[0] * cos(found) + p[2] * sin(found), 1e-12);
    assert_near(force[0], 300 * (-0.3 - point[0]), 1e-9);
    scene_free(model, state);
}

// z = A cos(w t) about the anchor, w^2 = k/m.
static void link_swings_on_a_spring(void **unused)
{
    (void)unused;
    tdModel *model = robot_model(
        SLIDER, "gravity: [0, 0, 0]\ntime_step: 1e-3\nduration: 1\nintegrator: {method: midpoint, newton: true}", "",
        "");
    tdState *state = scene_state(model);
    const double k = 200, w = 10, way = 0.1;
    double at[3] = {0};
    tdSpring spring = at_link(model, k, at);
    for (int a = 0; a < 3; a++)
        for (int c = 0; c < 3; c++)
            spring.anchor[c] += spring.weights[a] * model->bodies[0].soft->rest[3 * spring.nodes[a] + c];
    spring.anchor[2] += way;
    tie(model, state, 3, &spring);
    for (int i = 0; i < 5; i++)
    {
        scene_steps(model, state, 100);
        double t = td_state_time(state);
        assert_near(state->q[0], way * (1 - cos(w * t)), 0.1 * 1e-4 * w * t); // phase of midpoint: (w h)^2/12 w t
    }
    scene_free(model, state);
}

static void fixed_links_and_two_links_are_refused(void **unused)
{
    (void)unused;
    tdModel *model = robot_model(SWING, "time_step: 1e-2\nduration: 1", "", "");
    tdState *state = scene_state(model);
    tdSpring spring = at_link(model, 10, (double[3]){0, 0, 0});
    spring.nodes[1] = 0; // of the base
    assert_int_equal(td_state_set_spring(model, state, 0, &spring), TD_ERROR_USAGE);
    scene_free(model, state);
    tdModel *still =
        robot_model(ROBOT(LINK("base", "1", "0 0 0", "1", "1", "1")), "time_step: 1e-2\nduration: 1", "", "");
    state = scene_state(still);
    spring = at_link(still, 10, (double[3]){0, 0, 0});
    assert_int_equal(td_state_set_spring(still, state, 0, &spring), TD_ERROR_USAGE);
    scene_free(still, state);
}

static void nonsense_is_refused(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(BAR, "time_step: 1", "linear", HELD, "");
    tdState *state = scene_state(model);
    tdSpring good = at_end(model, 1e3, (double[3]){0, 0, 0}), bad[9];
    for (int i = 0; i < 9; i++)
        bad[i] = good;
    bad[0].body = 1;
    bad[1].nodes[1] = (int32_t)model->bodies[0].nodes;
    bad[2].nodes[0] = 0; // a corner at the other end: no common element
    bad[3].weights[2] = 0.6;
    bad[4].weights[0] = NAN;
    bad[5].anchor[1] = INFINITY;
    bad[6].stiffness = 0;
    bad[7].stiffness = NAN;
    bad[8].nodes[2] = -1;
    for (int i = 0; i < 9; i++)
        assert_int_equal(td_state_set_spring(model, state, 0, &bad[i]), TD_ERROR_USAGE);
    assert_int_equal(td_state_set_spring(model, state, TD_SPRINGS, &good), TD_ERROR_USAGE);
    assert_int_equal(td_state_set_spring(model, state, -1, NULL), TD_ERROR_USAGE);
    scene_free(model, state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_body_gives_way_in_proportion),
        cmocka_unit_test(shape_is_that_of_the_force),
        cmocka_unit_test(free_body_hangs),
        cmocka_unit_test(kept_factor_follows),
        cmocka_unit_test(reduced_body_of_full_rank),
        cmocka_unit_test(checkpoint_goes_on),
        cmocka_unit_test(link_hangs_where_its_energy_is_least),
        cmocka_unit_test(link_swings_on_a_spring),
        cmocka_unit_test(fixed_links_and_two_links_are_refused),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
