// SPDX-License-Identifier: Apache-2.0
// Contact together with nodes that a given effort moves: against closed forms, and against the same nodes driven to the
// place where the effort brought them.
#include "scenes.h"

#include "constraint/constraint.h"

#include <string.h>

#define FLOOR "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
#define COLUMN                                                                                                         \
    "  - name: column\n    mesh: {box: [[0, 0, 0.002], [0.1, 0.1, 0.102]], cells: [3, 3, 3]}\n"                        \
    "    material: {law: linear, young: 0.5 MPa, poisson: 0, density: 1000}\n"
#define PRESS "  - {name: press, type: translation, body: column, direction: [0, 0, -1]"

static double floor_force(const tdState *state)
{
    double force[3];
    td_state_contact_force(state, 1, 0, force);
    return fabs(force[2]);
}

// A column of 0.1 m without lateral strain, 2 mm above a floor, that a force of 300 N presses down by its top: it goes
// down by the gap and by F L / (E A), and the floor bears the force. With a stop 5 mm below its place it goes that far,
// and the floor bears what 3 mm of pressing take.
static void test_pressed_column(void **unused)
{
    (void)unused;
    for (int k = 0; k < 4; k++)
    {
        bool newton = k & 1, stop = k & 2;
        tdModel *model =
            scene_model("tendril: 1\ntime_step: 20 ms\nsteps: 200\nintegrator: {newton: %s}\ncontact: "
                        "{}\nbodies:\n" FLOOR COLUMN "actuators:\n" PRESS ", group: zmax, drive: force%s}\n"
                        "motion: {keyframes: [{t: 0, press: 0}, {t: 1 s, press: 300}]}\n",
                        newton ? "true" : "false", stop ? ", displacement_range: [0, 5 mm]" : "");
        tdState *state = scene_state(model);
        scene_steps(model, state, 200);
        double way = stop ? 0.005 : 0.002 + 300 * 0.1 / (0.5e6 * 0.01), force = stop ? 150 : 300;
        assert_near(floor_force(state), force, stop ? 5 : 0.3);
        assert_near(state->constraint->displacement[0], way, 1.5e-4); // points of near-rigid contact give way by that
        if (!stop)
            assert_near(state->constraint->effort[0], 300, 0.3);
        scene_free(model, state);
    }
}

// Nodes that touch are the ones that are moved: a plate of them goes down on the floor and stays there.
static void test_moved_nodes_touch(void **unused)
{
    (void)unused;
    tdModel *model = scene_model("tendril: 1\ntime_step: 10 ms\nsteps: 100\ncontact: {}\nbodies:\n" FLOOR COLUMN
                                 "    fixed: [{group: zmax}]\nactuators:\n" PRESS ", group: zmin, drive: force}\n"
                                 "motion: {keyframes: [{t: 0, press: 0}, {t: 0.3 s, press: 400}]}\n");
    tdState *state = scene_state(model);
    scene_steps(model, state, 100);
    // The column takes E A / L times 2 mm, the floor the rest.
    assert_near(state->constraint->displacement[0], 0.002, 2e-5);
    assert_near(floor_force(state), 400 - 0.5e6 * 0.01 / 0.1 * 0.002, 1);
    scene_free(model, state);
}

// A beam that an edge of a box holds up, its end pulled down by a force, a cable in it that is wound in and a weight
// welded to it. With the end driven to where the force brought it everything is the same: forces, efforts, places.
#define BEAM                                                                                                           \
    "tendril: 1\n%s\ncontact: {friction: 0, stiffness: 2000}\ngravity: [0, 0, -9.81]\nbodies:\n"                       \
    "  - {name: post, type: rigid, shape: {box: [20 mm, 200 mm, 20 mm]}, fixed: true, transform: {translate: [0.11, "  \
    "0, -0.0105]}}\n"                                                                                                  \
    "  - name: beam\n    mesh: {box: [[0, 0, 0], [0.2, 0.03, 0.02]], cells: [12, 2, 2]}\n"                             \
    "    material: {law: corotational, young: 0.5 MPa, poisson: 0.3, density: 1000}\n    fixed: [{group: xmin}]\n"     \
    "  - name: weight\n    mesh: {box: [[0.15, 0, 0.02], [0.17, 0.03, 0.03]], cells: [2, 2, 1]}\n"                     \
    "    material: {law: corotational, young: 0.5 MPa, poisson: 0.3, density: 2000}\n"                                 \
    "attachments: [{name: glue, a: weight, group: zmin, b: beam, gap: 2 mm}]\n"                                        \
    "actuators:\n  - {name: pull, type: translation, body: beam, group: xmax, direction: [0, 0, -1], drive: %s}\n"     \
    "  - {name: wind, type: cable, body: beam, path: [[0.0, 0.015, 0.018], [0.1, 0.015, 0.018], [0.18, 0.015, "        \
    "0.018]], drive: displacement}\n"

static void test_as_driven_there(void **unused)
{
    (void)unused;
    const char *settings[] = {"time_step: 0.1 s\nsteps: 10\nintegrator: {method: static}",
                              "time_step: 10 ms\nsteps: 60\nintegrator: {newton: true}",
                              "time_step: 10 ms\nsteps: 60\nintegrator: {newton: false}"};
    const int steps[] = {10, 60, 60};
    for (int k = 0; k < 3; k++)
    {
        double length = k == 0 ? 1 : 0.3;
        tdModel *model =
            scene_model(BEAM "motion: {keyframes: [{t: 0, pull: 0, wind: 0}, {t: %g, pull: 0.4, wind: 2e-3}]}\n",
                        settings[k], "force", length);
        tdModel *same = scene_model(BEAM "motion: {keyframes: [{t: 0, pull: 0, wind: 0}, {t: %g, wind: 2e-3}]}\n",
                                    settings[k], "displacement", length);
        tdState *state = scene_state(model), *other = scene_state(same);
        int pull = 0;
        for (int i = 0; i < steps[k]; i++)
        {
            scene_steps(model, state, 1);
            double place = state->constraint->displacement[pull];
            assert_int_equal(td_state_set_input(same, other, same->actuators[pull].input, place), TD_OK);
            scene_steps(same, other, 1);
            double force[2][3];
            for (int c = 0; c < 2; c++)
                td_state_contact_force(c == 0 ? state : other, 1, 0, force[c]);
            for (int c = 0; c < 3; c++)
                assert_near(force[0][c], force[1][c], 2e-5);
            assert_near(state->constraint->effort[1], other->constraint->effort[1], 2e-5);
            for (int64_t n = 0; n < 3 * model->bodies[1].nodes; n++)
                assert_near(td_state_positions(model, state, 1)[n], td_state_positions(same, other, 1)[n], 2e-7);
            if (k < 2) // with one linearization the reaction is that of its balance
                assert_near(other->constraint->effort[pull], state->constraint->effort[pull], 2e-5);
        }
        assert_near(state->constraint->effort[pull], 0.4, 1e-6);
        double force[3];
        td_state_contact_force(state, 1, 0, force);
        assert_true(fabs(force[2]) > 0.2); // it does lean on the post
        scene_free(model, state);
        scene_free(same, other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pressed_column),
        cmocka_unit_test(test_moved_nodes_touch),
        cmocka_unit_test(test_as_driven_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
