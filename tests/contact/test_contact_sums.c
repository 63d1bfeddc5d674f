// SPDX-License-Identifier: Apache-2.0
// Contact forces by link, with names: what two fingers of one hand squeeze is told of each of them.
#include "rigid.h"

#include "base/vector.h"
#include "contact/contact.h"

#define FINGER(name)                                                                                                   \
    "<link name=\"" name "\"><inertial><mass value=\"0.2\"/><inertia ixx=\"1e-4\" ixy=\"0\" "                          \
    "ixz=\"0\" iyy=\"1e-4\" iyz=\"0\" izz=\"1e-4\"/></inertial><collision><geometry><box size=\"0.02 0.04 0.04\"/>"    \
    "</geometry></collision></link>"
#define SLIDE(name, child, at)                                                                                         \
    "<joint name=\"" name "\" type=\"prismatic\"><parent link=\"base\"/><child link=\"" child "\"/><origin xyz=\"" at  \
    " 0 0\"/><axis xyz=\"1 0 0\"/><limit lower=\"-1\" upper=\"1\" effort=\"100\" velocity=\"9\"/></joint>"
#define HAND                                                                                                           \
    "<robot name=\"r\"><link name=\"base\"/>" FINGER("left") FINGER("right") SLIDE("l", "left", "-0.035")              \
        SLIDE("r", "right", "0.035") "</robot>"

#define CUBE "  - {name: cube, type: rigid, shape: {box: [0.05, 0.05, 0.05]}, total_mass: 0.1}\n"
#define PRESS                                                                                                          \
    "actuators:\n  - {name: l, type: joint, body: r, joint: l, drive: effort}\n"                                       \
    "  - {name: r, type: joint, body: r, joint: r, drive: effort}\nmotion: {keyframes: [{t: 0, l: 4, r: -4}]}"

// A cube between two fingers that press with 4 N each; nothing else acts. By body the forces sum to nothing.
static void test_squeeze(void **unused)
{
    (void)unused;
    tdModel *model =
        robot_model(HAND, "gravity: [0, 0, 0]\ntime_step: 1 ms\nsteps: 1\ncontact: {friction: 0.5}", "", CUBE PRESS);
    tdState *state = robot_state(model);
    const tdContactSum *sums = NULL;
    assert_int_equal(td_state_contact_sums(state, &sums), 0);
    robot_steps(model, state, 200);
    double none[3], torque[3], force[3];
    td_state_contact_force(state, 0, 1, none);
    assert_near(sqrt(td_dot3(none, none)), 0, 1e-6);
    assert_int_equal(td_state_contact_sums(state, &sums), 2);
    for (int i = 0; i < 2; i++)
    {
        // Side 0 is the hand, links in order; the force is on the cube, away from the finger.
        double sign = i == 0 ? 1 : -1;
        assert_int_equal(sums[i].body[0], 0);
        assert_int_equal(sums[i].body[1], 1);
        assert_string_equal(td_model_link_name(model, 0, sums[i].link[0]), i == 0 ? "left" : "right");
        assert_int_equal(sums[i].link[1], 0);
        assert_int_equal(sums[i].points, 4);
        assert_near(sums[i].force[0], sign * 4, 4e-4);
        assert_near(sums[i].pressing, 4, 4e-4);
        assert_near(sums[i].position[0], -sign * 0.025, 1e-4);
        assert_near(sqrt(td_dot3(sums[i].torque, sums[i].torque)), 0, 1e-5);
        // On the finger, about a place 1 m below it: 4 N m.
        const double about[3] = {0, 0, -1};
        td_state_link_wrench(state, 0, td_model_find_link(model, 0, i == 0 ? "left" : "right"), about, force, torque);
        assert_near(force[0], -sign * 4, 4e-4);
        assert_near(torque[1], -sign * 4, 4e-3);
    }
    assert_int_equal(td_model_links(model, 0), 3);
    assert_int_equal(td_model_find_link(model, 0, "thumb"), -1);
    assert_null(td_model_link_name(model, 1, -1));
    scene_free(model, state);
}

// Sums have all points, each once: they add up to what points say, on every body of a heap.
static void test_all_points(void **unused)
{
    (void)unused;
    sceneText text = {0};
    scene_add(&text,
              "tendril: 1\ntime_step: 5 ms\nsteps: 1\ngravity: [0, 0, -9.81]\ncontact: {friction: 0.4}\nbodies:\n"
              "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n");
    for (int i = 0, layer = 0; i < 12; i++, layer = i / 3)
        scene_add(&text,
                  "  - {name: b%d, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1, transform: {translate: "
                  "[%g, 0, %g]}}\n",
                  i, 0.105 * (i % 3) + 0.03 * (layer % 2), 0.05 + 0.101 * layer);
    tdModel *model = scene_parse(text.text);
    tdState *state = scene_state(model);
    for (int k = 0; k < 60; k++)
    {
        scene_steps(model, state, 1);
        const tdContactSum *sums = NULL;
        const tdContactPoint *points = NULL;
        int64_t n = td_state_contact_sums(state, &sums), n_points = td_state_contacts(state, &points), told = 0;
        for (int64_t i = 0; i < n; i++)
        {
            told += sums[i].points;
            double force[3], torque[3];
            td_state_contact_wrench(state, sums[i].body[0], sums[i].body[1], sums[i].position, force, torque);
            for (int c = 0; c < 3; c++)
            {
                assert_near(sums[i].force[c], force[c], 1e-9);
                assert_near(sums[i].torque[c], torque[c], 1e-9);
            }
            assert_true(i == 0 || sums[i - 1].body[0] < sums[i].body[0] ||
                        (sums[i - 1].body[0] == sums[i].body[0] && sums[i - 1].body[1] < sums[i].body[1]));
        }
        for (int64_t i = 0; i < n_points; i++)
            told -= points[i].force[0] != 0 || points[i].force[1] != 0 || points[i].force[2] != 0;
        assert_int_equal(told, 0);
    }
    scene_free(model, state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_squeeze), cmocka_unit_test(test_all_points)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
