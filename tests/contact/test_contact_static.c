// SPDX-License-Identifier: Apache-2.0
// Equilibria with contact and friction, contact with every integrator that settles, and contact together with actuators
// whose effort is given: against closed forms, and against supports in place of contacts.
#include "scenes.h"

#include "constraint/constraint.h"
#include "contact/contact.h"

#include <string.h>

#define FLOOR "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
#define G     9.81

static void contact_force(const tdState *state, int a, int b, double force[3])
{
    const double about[3] = {0};
    double torque[3];
    td_state_contact_wrench(state, a, b, about, force, torque);
}

// ---------------------------------------------------------------- equilibria

// A column of 0.1 m without lateral strain, let down by 12 mm on a floor 2 mm below: E A / L times 10 mm.
static void test_column(void **unused)
{
    (void)unused;
    tdModel *model =
        scene_model("tendril: 1\ntime_step: 0.2 s\nsteps: 5\nintegrator: {method: static}\ncontact: {friction: "
                    "0.4}\nbodies:\n" FLOOR
                    "  - name: column\n    mesh: {box: [[0, 0, 0.002], [0.1, 0.1, 0.102]], cells: [3, 3, 3]}\n"
                    "    material: {law: linear, young: 0.5 MPa, poisson: 0, density: 1000}\n"
                    "    prescribed: [{name: press, group: zmax, displacement: [0, 0, -0.012]}]\n"
                    "motion: {keyframes: [{t: 0, press: 0}, {t: 1 s, press: 1}]}\n");
    tdState *state = scene_state(model);
    double force[3];
    for (int k = 1; k <= 5; k++)
    {
        scene_steps(model, state, 1);
        double pressed = fmax(0.012 * k / 5 - 0.002, 0);
        contact_force(state, 1, 0, force);
        assert_near(fabs(force[2]), 0.5e6 * 0.01 / 0.1 * pressed, 1e-4 * 500);
    }
    scene_free(model, state);
}

// The end of a slender bar as a body of its own, which only a weld holds: it hangs down as one of a piece does.
static void test_welded_end(void **unused)
{
    (void)unused;
#define BAR(name, from, to, cells)                                                                                     \
    "  - name: " name "\n    mesh: {box: [[" from ", 0, 0], [" to ", 0.02, 0.02]], cells: [" cells                     \
    ", 2, 2], elements: hexahedra}\n    material: {law: corotational, young: 0.3 MPa, poisson: 0.4, density: 1000}\n"
    static const char *const bodies[2] = {
        BAR("bar", "0", "0.22", "11") "    fixed: [{group: xmin}]\n",
        BAR("bar", "0", "0.2", "10") "    fixed: [{group: xmin}]\n" //
        BAR("end", "0.2", "0.22", "1") "attachments: [{name: weld, a: end, b: bar, group: xmin}]\n"};
    double tip[2];
    for (int k = 0; k < 2; k++)
    {
        tdModel *model = scene_model("tendril: 1\nsteps: 1\ngravity: [0, 0, -5]\nintegrator: {method: static}\n"
                                     "bodies:\n%sprobes: [{name: tip, body: %s, point: [0.22, 0.01, 0.01]}]\n",
                                     bodies[k], k == 0 ? "bar" : "end");
        tdState *state = scene_state(model);
        scene_steps(model, state, 1);
        double x[3];
        td_state_probe(model, state, 0, x);
        tip[k] = x[2] - 0.01;
        scene_free(model, state);
    }
    print_message("the tip hangs down by %.6g and %.6g m\n", -tip[0], -tip[1]);
    assert_true(tip[0] < -0.02);
    assert_near(tip[1], tip[0], 1e-5 * fabs(tip[0]));
}

// What only rods hold has an equilibrium too: a rigid and a soft body below fixed points, whose rods pull with their
// weight and have let nothing sink that is not the body's own give.
static void test_hangs_from_rods(void **unused)
{
    (void)unused;
    static const char *const bodies[2] = {
        "  - {name: a, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, density: 1000}\n",
        "  - name: a\n    mesh: {box: [[-0.05, -0.05, -0.05], [0.05, 0.05, 0.05]], cells: [2, 2, 2]}\n"
        "    material: {law: corotational, young: 1 MPa, poisson: 0.3, density: 1000}\n"};
    for (int k = 0; k < 2; k++)
    {
        tdModel *model = scene_model(
            "tendril: 1\nsteps: 1\ngravity: [0, 0, -10]\nintegrator: {method: static}\nbodies:\n%s"
            "couplings:\n  - {name: left, rod: {a: a, point_a: [-0.05, 0, 0.05], point_b: [-0.05, 0, 0.25]}}\n"
            "  - {name: right, rod: {a: a, point_a: [0.05, 0, 0.05], point_b: [0.05, 0, 0.25]}}\n"
            "probes: [{name: top, body: a, point: [0.05, 0, 0.05]}]\n",
            bodies[k]);
        tdState *state = scene_state(model);
        scene_steps(model, state, 1);
        double x[3];
        td_state_probe(model, state, 0, x);
        for (int rod = 0; rod < 2; rod++)
            assert_near(td_state_coupling_effort(state, rod), -5, 1e-3); // of 1 kg, half each
        assert_near(x[2], 0.05, k == 0 ? 1e-6 : 1e-4);
        scene_free(model, state);
    }
}

// A soft block on a slope that nothing but friction holds: at rest at 0.95 of the angle of friction, with the whole
// weight on the slope; without an equilibrium, which is said, at 1.05.
static void test_slope(void **unused)
{
    (void)unused;
    double mu = 0.5, angle = atan(mu);
    for (int k = 0; k < 2; k++)
    {
        double at = (k == 0 ? 0.95 : 1.05) * angle, g[2] = {G * sin(at), -G * cos(at)};
        tdModel *model = scene_model(
            "tendril: 1\nsteps: 1\ngravity: [%.17g, 0, %.17g]\nintegrator: {method: static}\ncontact: {friction: %g}\n"
            "bodies:\n" FLOOR "  - name: block\n    mesh: {box: [[0, 0, 0], [0.1, 0.1, 0.05]], cells: [4, 4, 2]}\n"
            "    material: {law: corotational, young: 0.2 MPa, poisson: 0.3, density: 1000}\n",
            g[0], g[1], mu);
        tdState *state = scene_state(model);
        tdStatus status = td_step(model, state);
        if (k == 0)
        {
            double force[3], mass = 0.5;
            assert_int_equal(status, TD_OK);
            contact_force(state, 0, 1, force);
            assert_near(fabs(force[0]), mass * g[0], 1e-5 * mass * G);
            assert_near(fabs(force[2]), -mass * g[1], 1e-5 * mass * G);
        }
        else
        {
            assert_int_equal(status, TD_ERROR_NUMERIC);
            assert_non_null(strstr(td_state_report(state)->error.message, "no equilibrium"));
        }
        scene_free(model, state);
    }
}

// The same slope under a constant load: however many equilibria were asked for, what sticks is where it was. By
// Gauss-Seidel, whose sweeps do not arrive here, that is said.
static void test_no_creep(void **unused)
{
    (void)unused;
    static const char *const contact[3] = {"friction: 0.5", "friction: 0.5, sliding: corrected",
                                           "friction: 0.5, solver: nlcp"};
    for (int k = 0; k < 3; k++)
    {
        tdModel *model =
            scene_model("tendril: 1\nsteps: 1\ngravity: [4.209, 0, -8.861]\nintegrator: {method: static}\n"
                        "contact: {%s}\nbodies:\n" FLOOR
                        "  - name: block\n    mesh: {box: [[0, 0, 0], [0.1, 0.1, 0.1]], cells: [2, 2, 2]}\n"
                        "    material: {law: corotational, young: 1 MPa, poisson: 0.3, density: 1000}\n",
                        contact[k]);
        tdState *state = scene_state(model);
        if (k == 2)
        {
            assert_int_equal(td_step(model, state), TD_ERROR_NUMERIC);
            assert_non_null(strstr(td_state_report(state)->error.message, "do not obey the law of friction"));
            scene_free(model, state);
            continue;
        }
        scene_steps(model, state, 5);
        double early = td_state_positions(model, state, 1)[0], force[3];
        scene_steps(model, state, 40);
        assert_near(td_state_positions(model, state, 1)[0], early, 5e-9); // 5.8e-6 in each by the law's softness
        contact_force(state, 0, 1, force);
        assert_near(fabs(force[0]), 4.209, 1e-5 * G);
        scene_free(model, state);
    }
}

// A block that only an attachment holds hangs from one that is fixed, rigidly or by springs, whatever the law: with the
// linear law the upper one is longer by what the weight of both does to it. Asked for again, it is the same.
static void test_hanging(void **unused)
{
    (void)unused;
    static const char *const laws[3] = {"linear", "corotational", "corotational_lagged"};
    for (int k = 0; k < 6; k++)
    {
        tdModel *model =
            scene_model("tendril: 1\nsteps: 1\ngravity: [0, 0, -9.81]\nintegrator: {method: static}\nbodies:\n"
                        "  - {name: holder, mesh: {box: [[0, 0, 0.1], [0.1, 0.1, 0.2]], cells: [2, 2, 2]}, fixed: "
                        "[{group: zmax}],\n"
                        "     material: {law: %s, young: 0.1 MPa, poisson: 0, density: 1000}}\n"
                        "  - {name: load, mesh: {box: [[0, 0, 0], [0.1, 0.1, 0.1]], cells: [2, 2, 2]},\n"
                        "     material: {law: %s, young: 0.1 MPa, poisson: 0, density: %d}}\n"
                        "attachments: [{name: seam, a: load, group: zmax, b: holder%s}]\n",
                        laws[k % 3], laws[k % 3], k == 0 ? 10000 : 1000, k < 3 ? "" : ", stiffness: 500 N/m");
        tdState *state = scene_state(model);
        double force[3], weight = k == 0 ? 10 * G : G, where = 0;
        for (int times = 0; times < 3; times++)
        {
            scene_steps(model, state, 1);
            td_state_attachment_force(state, 0, force, NULL, NULL);
            assert_near(force[2], weight, 1e-5 * weight);
            double x = td_state_positions(model, state, 1)[2];
            if (times > 0) // a weld gives way by a millionth, of which stiffness under load makes less
                assert_near(x, where, k % 3 != 0 ? 1e-6 : 1e-8);
            where = x;
        }
        if (k == 0) // (11 m g - m g / 2) L / E A of the upper, 10 m g / 2 of the lower
            assert_near(-where, (10.5 + 5) * G * 0.1 / (0.1e6 * 0.01), 3e-4); // at a corner
        scene_free(model, state);
    }
}

// Free rigid bodies: a box that friction holds on a slope, and a ball that hangs from a soft bar by a point of its own.
static void test_free_rigid(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(
        "tendril: 1\nsteps: 1\ngravity: [2, 0, -9.81]\nintegrator: {method: static}\ncontact: {friction: 0.5}\n"
        "bodies:\n" FLOOR "  - {name: box, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, density: 1000, transform: "
        "{translate: [0, 0, 0.05]}}\n");
    tdState *state = scene_state(model);
    double force[3];
    scene_steps(model, state, 10);
    contact_force(state, 0, 1, force);
    assert_near(fabs(force[0]), 2, 1e-5);
    assert_near(fabs(force[2]), G, 1e-5);
    assert_near(state->q[model->bodies[1].first], 0, 1e-6);
    assert_near(state->q[model->bodies[1].first + 2], 0.05, 1e-6);
    scene_free(model, state);
    double tip[2][3];
    for (int k = 0; k < 2; k++) // the ball, or its weight
    {
        model = scene_model(
            "tendril: 1\nsteps: 1\ngravity: [0, 0, %g]\nintegrator: {method: static}\nbodies:\n"
            "  - name: bar\n    mesh: {box: [[0, 0, 0], [0.2, 0.03, 0.03]], cells: [8, 2, 2]}\n"
            "    material: {law: stvk, young: 1 MPa, poisson: 0.3, density: 1e-3}\n    fixed: [{group: xmin}]\n"
            "%s\nprobes: [{name: tip, body: bar, point: [0.2, 0.015, 0]}]\n",
            -G,
            k == 0 ? "  - {name: ball, type: rigid, shape: {sphere: 0.01}, total_mass: 0.01, transform: {translate: "
                     "[0.2, 0.015, -0.01]}}\n"
                     "attachments: [{name: w, a: ball, points: [[0.2, 0.015, 0]], b: bar, link_a: ball}]"
                   : "loads: [{type: point, body: bar, box: [[0.199, 0.014, -1e-3], [0.201, 0.016, 1e-3]], force: [0, "
                     "0, -0.0981]}]");
        state = scene_state(model);
        scene_steps(model, state, 1);
        td_state_probe(model, state, 0, tip[k]);
        scene_free(model, state);
    }
    assert_true(tip[1][2] < -1e-3);
    for (int c = 0; c < 3; c++)
        assert_near(tip[0][c], tip[1][c], 1e-6);
}

// A box falls on the floor by a fiftieth of its size, in steps that go with the root of that: the same at any size.
static void test_scale(void **unused)
{
    (void)unused;
    static const double size[4] = {1e-6, 2e-4, 0.1, 1e4};
    for (int k = 0; k < 4; k++)
    {
        double L = size[k];
        tdModel *model =
            scene_model("tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: %.17g s\nsteps: 1\ncontact: {}\nbodies:\n" FLOOR
                        "  - {name: box, type: rigid, shape: {box: [%.17g, %.17g, %.17g]}, density: 1000, transform: "
                        "{translate: [0, 0, %.17g]}}\n",
                        1e-3 * sqrt(L / 0.1), L, L, L, 0.52 * L);
        tdState *state = scene_state(model);
        scene_steps(model, state, 200);
        assert_near(state->q[model->bodies[1].first + 2] / L, 0.5, 1e-5);
        scene_free(model, state);
    }
}

// ---------------------------------------------------------------- integrators

// Blocks of rubber and of stone on a slope, with a friction that holds them and one that does not:
// x = (g sin - mu g cos) t^2 / 2.
static void test_integrators(void **unused)
{
    (void)unused;
    static const char *const methods[] = {"{method: backward_euler}", "{method: theta, theta: 0.7, theta_vq: 0.7}",
                                          "{method: theta, theta: 1, theta_vq: 0.6}",
                                          "{method: newmark, gamma: 0.9, beta: 0.49}",
                                          "{method: newmark, gamma: 0.6, beta: 0.3025}"};
    for (size_t k = 0; k < sizeof methods / sizeof methods[0]; k++)
    {
        tdModel *model = scene_model(
            "tendril: 1\ntime_step: 2 ms\nsteps: 1\ngravity: [4.1459, 0, -8.8909]\nintegrator: %s\ncontact: {friction: "
            "0.6}\n"
            "bodies:\n" FLOOR "  - {name: stays, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, density: 1000, transform: "
            "{translate: [0, 0, 0.05]}}\n"
            "  - {name: slides, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, density: 1000, transform: {translate: [0, "
            "0.2, "
            "0.05]}, contact: {friction: 0.2}}\n"
            "  - {name: rubber, mesh: {box: [[0, 0.4, 0], [0.1, 0.5, 0.05]], cells: [2, 2, 1]}, contact: {friction: "
            "0.2},\n"
            "     material: {law: corotational_lagged, young: 0.5 MPa, poisson: 0.3, density: 1000}}\n",
            methods[k]);
        tdState *state = scene_state(model);
        double start = td_state_positions(model, state, 2)[0], soft = td_state_positions(model, state, 3)[0],
               stays = td_state_positions(model, state, 1)[0], way = 0.5 * (4.1459 - 0.3 * 8.8909) * 0.6 * 0.6;
        scene_steps(model, state, 300);
        assert_near(td_state_positions(model, state, 2)[0] - start, way, 5e-3 * way);
        assert_near(td_state_positions(model, state, 3)[0] - soft, way, 2e-2 * way);
        assert_near(td_state_positions(model, state, 1)[0] - stays, 0, 1e-5);
        assert_true(state->report.contact_limit == false);
        scene_free(model, state);
    }
    tdError error = {0};
    tdModel *model = NULL;
    const char *text =
        "tendril: 1\ntime_step: 2 ms\nsteps: 1\nintegrator: {method: midpoint}\ncontact: {}\nbodies:\n" FLOOR;
    assert_int_equal(td_model_parse(text, strlen(text), "scene.yaml", ".", NULL, &model, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "does not damp impacts"));
}

// A ball that falls on the floor comes to rest on it, and by the way bounces by (1 - theta_vq) / theta_vq at most.
static void test_blow(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(
        "tendril: 1\ntime_step: 1 ms\nsteps: 1\ngravity: [0, 0, -9.81]\nintegrator: {method: theta, theta: 0.6, "
        "theta_vq: 0.6}\n"
        "contact: {}\nbodies:\n" FLOOR
        "  - {name: ball, type: rigid, shape: {sphere: 0.05}, density: 1000, transform: {translate: [0, 0, 0.1]}}\n");
    tdState *state = scene_state(model);
    double speed = sqrt(2 * G * 0.05), most = 0;
    for (int k = 0; k < 1500; k++)
    {
        scene_steps(model, state, 1);
        most = fmax(most, state->v[2]);
    }
    assert_true(most <= 1.02 * (0.4 / 0.6) * speed);
    assert_near(state->q[2], 0.05, 1e-5);
    assert_near(state->v[2], 0, 1e-6);
    scene_free(model, state);
}

// ---------------------------------------------------------------- actuators

#define BEAM                                                                                                           \
    "  - name: beam\n    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [8, 2, 2]}\n"                              \
    "    material: {law: corotational, young: 0.5 MPa, poisson: 0.3, density: 1000}\n    fixed: [{group: xmin}%s]\n"
#define POST                                                                                                           \
    "  - {name: post, type: rigid, shape: {box: [0.004, 0.1, 0.02]}, fixed: true, transform: {translate: [0.1005, "    \
    "0.01, "                                                                                                           \
    "-0.01]}}\n"

// A beam that its cable bends down on a post under its last three nodes; and the same with these held where the post
// would hold them. `low`: most that a post's points give way.
static void lean(const char *actuator, double tolerance)
{
    tdModel *touching = scene_model(
        "tendril: 1\nsteps: 1\nintegrator: {method: static}\ncontact: {friction: 0}\nbodies:\n" BEAM POST "%s", "",
        actuator);
    tdModel *held = scene_model("tendril: 1\nsteps: 1\nintegrator: {method: static}\nbodies:\n" BEAM "%s",
                                ", {box: [[0.0999, -1, -1], [0.101, 1, 1e-6]], axes: z}", actuator);
    tdState *a = scene_state(touching), *b = scene_state(held);
    for (int k = 0; k < 2; k++)
    {
        scene_steps(touching, a, 1);
        scene_steps(held, b, 1);
    }
    assert_true(a->report.contacts_active >= 3);
    double effort = b->constraint->effort[0];
    assert_near(a->constraint->effort[0], effort, 1e-3 * fabs(effort));
    assert_near(a->constraint->displacement[0], b->constraint->displacement[0], tolerance);
    const double *x = td_state_positions(touching, a, 0), *y = td_state_positions(held, b, 0);
    for (int64_t i = 0; i < touching->bodies[0].count; i++)
        assert_near(x[i], y[i], tolerance);
    scene_free(touching, a);
    scene_free(held, b);
}

#define PATH                                                                                                           \
    "path: [[0.1, 0.01, 0.002], [0.075, 0.01, 0.004], [0.05, 0.01, 0.002], [0.025, 0.01, 0.004], [0, 0.01, 0.002]]"

static void test_friction_of_a_cable(void **unused)
{
    (void)unused;
    lean("actuators: [{name: cable, type: cable, body: beam, " PATH ", drive: force, friction: 0.5}]\n"
         "motion: {keyframes: [{t: 0, cable: 0}, {t: 1 s, cable: 0.5}]}\n",
         2e-6);
    lean("actuators: [{name: cable, type: cable, body: beam, " PATH ", drive: displacement, friction: 0.5}]\n"
         "motion: {keyframes: [{t: 0, cable: 0}, {t: 1 s, cable: 1 mm}]}\n",
         2e-6);
}

static void test_stops_of_an_effort(void **unused)
{
    (void)unused;
    lean("actuators: [{name: cable, type: cable, body: beam, " PATH
         ", drive: force, displacement_range: [none, 0.5 mm]}]\n"
         "motion: {keyframes: [{t: 0, cable: 0}, {t: 1 s, cable: 5}]}\n",
         2e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_column),
        cmocka_unit_test(test_welded_end),
        cmocka_unit_test(test_hangs_from_rods),
        cmocka_unit_test(test_slope),
        cmocka_unit_test(test_no_creep),
        cmocka_unit_test(test_hanging),
        cmocka_unit_test(test_free_rigid),
        cmocka_unit_test(test_scale),
        cmocka_unit_test(test_integrators),
        cmocka_unit_test(test_blow),
        cmocka_unit_test(test_friction_of_a_cable),
        cmocka_unit_test(test_stops_of_an_effort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
