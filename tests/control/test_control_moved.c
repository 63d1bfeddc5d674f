// SPDX-License-Identifier: Apache-2.0
// Contact together with nodes that inverse control moves: against closed forms, and against the same nodes driven to
// where control put them.
#include "scenes.h"

#define FLOOR "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
#define COLUMN(name, low, high)                                                                                        \
    "  - name: " name "\n    mesh: {box: [[0, 0, " low "], [0.1, 0.1, " high "]], cells: [3, 3, 3]}\n"                 \
    "    material: {law: linear, young: 0.5 MPa, poisson: 0, density: 1000}\n"
#define SOFTNESS (0.1 / (0.5e6 * 0.01)) // of a column, L / (E A)

static double force_between(const tdState *state, int a, int b)
{
    double force[3];
    td_state_contact_force(state, a, b, force);
    return fabs(force[2]);
}

static void set_value(const tdModel *model, tdState *state, const char *effector, double value)
{
    const double target[3] = {value};
    int e = td_model_find_effector(model, effector);
    assert_int_equal(td_state_set_target(model, state, e, target), TD_OK);
}

// A column without lateral strain, 2 mm above a floor, whose top control moves: for a force of 300 N on the floor it
// goes down by the gap and by F L / (E A), and what moves the top bears the same.
static void test_pressed_column(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *settings, *contact;
    } all[] = {{"time_step: 20 ms\nsteps: 200\n", ""},
               {"time_step: 20 ms\nsteps: 200\nintegrator: {newton: true}\n", ""},
               {"time_step: 0.1 s\nsteps: 50\nintegrator: {method: static}\n", ""},
               {"time_step: 20 ms\nsteps: 200\n", "solver: nlcp"}};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
    {
        tdModel *model = scene_model(
            "tendril: 1\n%scontact: {%s}\nbodies:\n" FLOOR COLUMN(
                "column", "0.002",
                "0.102") "actuators:\n  - {name: press, type: translation, body: column, group: zmax, "
                         "direction: [0, 0, -1], drive: displacement, displacement_rate: 20 mm/s}\n"
                         "effectors:\n  - {name: load, type: contact_force, body: column, against: floor}\n"
                         "  - {name: end, body: column, point: [0.05, 0.05, 0.002], axes: z, priority: 2}\n",
            all[k].settings, all[k].contact);
        tdState *state = scene_state(model);
        const double below[3] = {0.05, 0.05, -0.01}; // which brings it to the floor
        assert_int_equal(td_state_set_target(model, state, 1, below), TD_OK);
        set_value(model, state, "load", 300);
        scene_steps(model, state, k == 2 ? 50 : 200);
        tdActuation press = td_state_actuation(model, state, 0);
        double end[3];
        td_state_effector(model, state, 1, end);
        double shorter = press.displacement - (0.002 - end[2]); // near-rigid points let the end into the floor a little
        print_message("column: force %.9g N, effort %.9g N, shorter by %.6g mm (%.6g), end at %.2g mm\n",
                      force_between(state, 1, 0), press.effort, 1e3 * shorter, 1e3 * 300 * SOFTNESS, 1e3 * end[2]);
        assert_near(force_between(state, 1, 0), 300, 1e-4);
        assert_near(press.effort, 300, 1e-3);
        assert_near(shorter, 300 * SOFTNESS, 3e-5); // points bear alike, not by area: the end is not quite plane
        assert_near(end[2], 0, 1e-4);
        assert_int_equal(td_state_report(state)->inverse_end, TD_INVERSE_STATIONARY); // the end cannot get lower
        // Half of it.
        set_value(model, state, "load", 150);
        scene_steps(model, state, 50);
        assert_near(force_between(state, 1, 0), 150, 1e-4);
        scene_free(model, state);
    }
}

// The nodes that touch are the ones that control moves: the lower end of a column, whose upper end is fixed, is pressed
// onto a column that stands on a floor. Above the end is pulled, below it is pressed.
static void test_moved_nodes_touch(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(
        "tendril: 1\ntime_step: 20 ms\nsteps: 200\ncontact: {}\nbodies:\n" FLOOR COLUMN("below", "0", "0.1")
            COLUMN("above", "0.101", "0.201") "    fixed: [{group: zmax}]\n"
                                              "actuators:\n  - {name: press, type: translation, body: above, group: "
                                              "zmin, direction: [0, 0, -1], drive: displacement, displacement_rate: "
                                              "20 mm/s}\n"
                                              "effectors: [{name: load, type: contact_force, body: above, against: "
                                              "below}]\n");
    tdState *state = scene_state(model);
    set_value(model, state, "load", 200);
    scene_steps(model, state, 200);
    tdActuation press = td_state_actuation(model, state, 0);
    double way = 0.001 + 200 * SOFTNESS, pulled = press.displacement / SOFTNESS;
    print_message("end: force %.9g N, on the floor %.9g N, effort %.6g N (%.6g), way %.6g mm (%.6g)\n",
                  force_between(state, 2, 1), force_between(state, 1, 0), press.effort, 200 + pulled,
                  1e3 * press.displacement, 1e3 * way);
    assert_near(force_between(state, 2, 1), 200, 2e-3); // the lower column still moves by as much
    assert_near(force_between(state, 1, 0), 200, 2e-3);
    assert_near(press.displacement, way, 5e-4); // near-rigid points of both contacts give way
    assert_near(press.effort, 200 + pulled, 1e-2);
    scene_free(model, state);
}

// An end that is led onto the floor, with nothing that could give way between the two, goes where it is led, as one
// that a motion drives.
static void test_nothing_gives_way(void **unused)
{
    (void)unused;
    tdModel *model = scene_model("tendril: 1\ntime_step: 20 ms\nsteps: 200\ncontact: {}\nbodies:\n" FLOOR COLUMN(
        "column", "0.002", "0.102") "    fixed: [{group: zmax}]\n"
                                    "actuators:\n  - {name: press, type: translation, body: column, group: zmin, "
                                    "direction: [0, 0, -1], drive: displacement, range: [0, 5 mm]}\n"
                                    "effectors: [{name: end, body: column, point: [0.05, 0.05, 0.002], axes: z}]\n");
    tdState *state = scene_state(model);
    const double target[3] = {0.05, 0.05, -0.001};
    assert_int_equal(td_state_set_target(model, state, 0, target), TD_OK);
    scene_steps(model, state, 20);
    assert_near(td_state_actuation(model, state, 0).displacement, 0.003, 1e-9);
    scene_free(model, state);
}

// A beam over the edge of a box, whose end control moves down while it winds a cable: its middle is led to targets that
// need both. The same nodes driven to where control put them, with the efforts that it found, move the same.
#define BEAM                                                                                                           \
    "tendril: 1\n%s\ncontact: {friction: 0.2, stiffness: 2000%s}\ngravity: [0, 0, -9.81]\nbodies:\n"                   \
    "  - {name: post, type: rigid, shape: {box: [20 mm, 200 mm, 20 mm]}, fixed: true, transform: {translate: [0.11, "  \
    "0, -0.0105]}}\n"                                                                                                  \
    "  - name: beam\n    mesh: {box: [[0, 0, 0], [0.2, 0.03, 0.02]], cells: [12, 2, 2]}\n"                             \
    "    material: {law: corotational, young: 0.5 MPa, poisson: 0.3, density: 1000}\n    fixed: [{group: xmin}]\n"     \
    "actuators:\n  - {name: pull, type: translation, body: beam, group: xmax, direction: [0, 0, -1], drive: "          \
    "displacement, displacement_rate: 0.1 m/s}\n"                                                                      \
    "  - {name: wind, type: cable, body: beam, path: [[0.0, 0.015, 0.018], [0.1, 0.015, 0.018], [0.18, 0.015, "        \
    "0.018]], drive: force, range: [0, 5 N], effort_rate: 20 N/s}\n"                                                   \
    "effectors:\n  - {name: load, type: contact_force, body: beam, against: post}\n"                                   \
    "  - {name: middle, body: beam, point: [0.05, 0.015, 0.01], axes: z, priority: 2}\n"

static void test_as_driven_there(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *settings, *contact;
        double middle, place, force; // where to; what the two may differ by
    } all[] = {{"time_step: 0.1 s\nsteps: 30\nintegrator: {method: static}", "", 0.00962, 1e-8, 1e-5},
               {"time_step: 10 ms\nsteps: 60\nintegrator: {newton: true}", "", 0.00962, 1e-8, 1e-5},
               {"time_step: 10 ms\nsteps: 60", "", 0.00962, 1e-5, 1e-2}, // one linearization
               {"time_step: 10 ms\nsteps: 60\nintegrator: {newton: true}", ", solver: nlcp", 0.00962, 1e-8, 1e-5}};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
    {
        tdModel *model = scene_model(BEAM, all[k].settings, all[k].contact);
        tdState *state = scene_state(model), *other = scene_state(model);
        double off = 0, other_force = 0, miss = 0, middle[3], effort = 0;
        const double target[3] = {0.05, 0.015, all[k].middle};
        assert_int_equal(td_state_set_target(model, state, 1, target), TD_OK);
        for (int i = 0; i < 60; i++)
        {
            set_value(model, state, "load", 0.5 * fmin(i, 30) / 30 + 0.2);
            scene_steps(model, state, 1);
            td_state_set_input(model, other, td_model_actuator(model, 0).input,
                               td_state_actuation(model, state, 0).displacement);
            td_state_set_input(model, other, td_model_actuator(model, 1).input,
                               td_state_actuation(model, state, 1).effort);
            scene_steps(model, other, 1);
            for (int64_t n = 0; n < 3 * model->bodies[1].nodes; n++)
                off = fmax(off, fabs(td_state_positions(model, state, 1)[n] - td_state_positions(model, other, 1)[n]));
            other_force = fmax(other_force, fabs(force_between(state, 1, 0) - force_between(other, 1, 0)));
            effort = fmax(
                effort, fabs(td_state_actuation(model, state, 0).effort - td_state_actuation(model, other, 0).effort));
            if (i > 40)
                miss = fmax(miss, fabs(force_between(state, 1, 0) - 0.7));
        }
        td_state_effector(model, state, 1, middle);
        print_message("beam: force off by %.1e N, middle at %.4f mm, cable %.3f N, end moved by %.2f mm; driven there "
                      "%.1e m, %.1e N off, reaction %.1e N of %.3f\n",
                      miss, 1e3 * middle[2], td_state_actuation(model, state, 1).effort,
                      1e3 * td_state_actuation(model, state, 0).displacement, off, other_force, effort,
                      td_state_actuation(model, state, 0).effort);
        assert_true(miss < 1e-4);
        assert_near(middle[2], target[2], 2e-6); // of a lower priority: nearer is not worth a step
        assert_true(off < all[k].place);
        assert_true(other_force < all[k].force);
        assert_true(effort < all[k].force);
        td_state_free(other);
        scene_free(model, state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pressed_column),
        cmocka_unit_test(test_moved_nodes_touch),
        cmocka_unit_test(test_nothing_gives_way),
        cmocka_unit_test(test_as_driven_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
