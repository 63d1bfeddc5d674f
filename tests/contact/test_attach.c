// SPDX-License-Identifier: Apache-2.0
// Attachments: bodies of every kind welded to each other and to space; how well they hold, what they bear, replay.
#include "frames.h"
#include "rigid.h"

#include "constraint/constraint.h"
#include "contact/contact.h"

#define G 9.81
#define BLOCK(name, low, high, cells)                                                                                  \
    "  - {name: " name ", mesh: {box: [" low ", " high "], cells: " cells                                              \
    "}, damping: {stiffness: 20 ms}, material: {law: corotational_lagged, young: 0.2 MPa, poisson: 0.3, density: "     \
    "1000}}\n"
#define HEAD "tendril: 1\ntime_step: %g\nsteps: 10\ngravity: [0, 0, -9.81]\nintegrator: {newton: %s}\n"

// Largest distance of a weld's points from each other, over all of them.
static double worst_weld(const tdModel *model, const tdState *state)
{
    double worst = 0;
    for (int i = 0; i < model->contact->n_bonds; i++)
    {
        double x[2][3];
        for (int s = 0; s < 2; s++)
        {
            const tdPointSet *set = &model->contact->bonds[i].side[s];
            memcpy(x[s], set->rest, sizeof x[s]);
            if (set->body >= 0)
            {
                const tdBody *body = &model->bodies[set->body];
                body->ops->positions(body, state, set, state->q + body->first, x[s]);
            }
        }
        for (int c = 0; c < 3; c++)
            worst = fmax(worst, fabs(x[0][c] - x[1][c]));
    }
    return worst;
}

static double holds(const tdModel *model, tdState *state, int steps)
{
    double worst = 0;
    for (int k = 0; k < steps; k++)
    {
        scene_steps(model, state, 1);
        double now = worst_weld(model, state);
        worst = fmax(worst, now);
        assert_near(state->report.attachment_error * model->size, now, 1e-12);
    }
    return worst;
}

// ---------------------------------------------------------------- soft bodies

// A block of 0.8 kg that hangs from space by its top face, at three time steps; after a second it hangs still.
static void test_hangs_from_space(void **unused)
{
    (void)unused;
    for (double h = 1e-3; h < 0.2; h *= 10)
    {
        tdModel *model = scene_model(
            HEAD "bodies:\n" BLOCK("block", "[0, 0, 0]", "[0.1, 0.1, 0.08]",
                                   "[2, 2, 2]") "attachments: [{name: top, a: block, group: zmax, space: true}]\n",
            h, "false");
        tdState *state = scene_state(model);
        assert_int_equal(model->contact->n_bonds, 9);
        assert_true(holds(model, state, (int)(1.5 / h)) <= 1e-6 * 0.1);
        double force[3], torque[3], point[3];
        assert_string_equal(td_model_attachment_name(model, 0), "top");
        td_state_attachment_force(state, 0, force, torque, point);
        assert_near(force[2], 0.8 * G, 1e-3 * 0.8 * G);
        assert_near(force[0], 0, 1e-6 * 0.8 * G);
        assert_near(torque[0], 0, 1e-6 * 0.8 * G);
        assert_near(point[2], 0.08, 1e-7);
        scene_free(model, state);
    }
}

// Two blocks whose nodes coincide, welded, are one block.
static void test_seam_is_one_body(void **unused)
{
    (void)unused;
    const char *end = "attachments: [{name: seam, a: low, group: zmax, b: high}]\n";
    tdModel *two = scene_model(HEAD "bodies:\n" BLOCK("low", "[0, 0, 0]", "[0.1, 0.1, 0.1]", "[2, 2, 2]")
                                   BLOCK("high", "[0, 0, 0.1]", "[0.1, 0.1, 0.2]", "[2, 2, 2]") "%s",
                               2e-3, "false", end);
    tdModel *one =
        scene_model(HEAD "bodies:\n" BLOCK("all", "[0, 0, 0]", "[0.1, 0.1, 0.2]", "[2, 2, 4]"), 2e-3, "false");
    tdState *a = scene_state(two), *b = scene_state(one);
    // Something to do: the lowest nodes fly off sideways.
    for (int i = 0; i < 9; i++)
        a->v[3 * i] = b->v[3 * i] = 0.5;
    assert_true(holds(two, a, 200) <= 1e-7);
    scene_steps(one, b, 200);
    const double *low = td_state_positions(two, a, 0), *high = td_state_positions(two, a, 1),
                 *all = td_state_positions(one, b, 0);
    for (int i = 0; i < 3 * 27; i++)
        assert_near(low[i], all[i], 1e-7);
    for (int i = 0; i < 3 * 27; i++)
        assert_near(high[i], all[3 * 18 + i], 1e-7);
    scene_free(two, a);
    scene_free(one, b);
}

// Meshes that do not match: nodes of the finer one inside faces of the coarser, which hangs from supports and bears it.
static void test_soft_soft(void **unused)
{
    (void)unused;
    for (double h = 1e-3; h < 0.2; h *= 10)
    {
        tdModel *model =
            scene_model(HEAD "bodies:\n" BLOCK("load", "[0.01, 0.01, 0]", "[0.09, 0.09, 0.1]", "[3, 3, 3]")
                            BLOCK("holder", "[0, 0, 0.1]", "[0.1, 0.1, 0.2]",
                                  "[2, 2, 2]") "attachments:\n  - {name: seam, a: load, group: zmax, b: holder}\n"
                                               "  - {name: top, a: holder, group: zmax, space: true}\n",
                        h, "false");
        tdState *state = scene_state(model);
        assert_true(holds(model, state, (int)(2 / h)) <= 1e-7);
        double force[3];
        td_state_attachment_force(state, 0, force, NULL, NULL);
        assert_near(force[2], 0.64 * G, 2e-3 * 0.64 * G);
        td_state_attachment_force(state, 1, force, NULL, NULL);
        assert_near(force[2], 1.64 * G, 2e-3 * 1.64 * G);
        scene_free(model, state);
    }
}

// Points outside of the body that carries them turn with its element.
static void test_gap_turns(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(
        HEAD "bodies:\n" BLOCK("load", "[0, 0, 0]", "[0.1, 0.1, 0.098]", "[1, 1, 1]")
            BLOCK("holder", "[0, 0, 0.1]", "[0.1, 0.1, 0.2]",
                  "[1, 1, 1]") "attachments:\n  - {name: seam, a: load, group: zmax, b: holder, gap: 3 mm}\n",
        5e-3, "true");
    tdState *state = scene_state(model);
    for (int64_t i = 0; i < model->coords; i += 3)
    {
        state->v[i] = -10 * state->q[i + 1];
        state->v[i + 1] = 10 * state->q[i];
    }
    assert_true(holds(model, state, 60) <= 1e-7);
    // Half a turn and more, and faces of both are as far from each other as they were.
    const double *load = td_state_positions(model, state, 0), *holder = td_state_positions(model, state, 1);
    double square = 0;
    for (int c = 0; c < 3; c++)
        square += (load[12 + c] - holder[c]) * (load[12 + c] - holder[c]);
    assert_near(sqrt(square), 2e-3, 2e-4);
    assert_true(td_state_positions(model, state, 0)[3] < 0.05); // the corner that was at x = 0.1
    scene_free(model, state);
}

// ---------------------------------------------------------------- rigid bodies and links

// Ball joint: a rod hangs aslant from one point, and swings like m g d / (I + m d^2).
static void test_pendulum(void **unused)
{
    (void)unused;
    for (double h = 1e-3; h < 0.02; h *= 10)
    {
        tdModel *model = scene_model(HEAD "bodies:\n  - {name: rod, type: rigid, shape: {box: [0.4, 0.02, 0.02]}, "
                                          "total_mass: 1}\n"
                                          "attachments: [{name: pin, a: rod, points: [[-0.2, 0, 0]], space: true}]\n",
                                     h, "true");
        tdState *state = scene_state(model);
        // From level: angular acceleration m g d / I, d = 0.2, I = (0.4^2 + 0.02^2)/12 + 0.04.
        double I = (0.16 + 0.0004) / 12 + 0.04, alpha = G * 0.2 / I;
        scene_steps(model, state, 1);
        assert_near(state->v[2], -alpha * 0.2 * h, 1e-3 * alpha * 0.2 * h);
        double force[3];
        td_state_attachment_force(state, 0, force, NULL, NULL);
        assert_near(force[2], G - alpha * 0.2, 2e-3 * G);
        assert_true(holds(model, state, (int)(1 / h)) <= 1e-6 * 0.4);
        scene_free(model, state);
    }
}

#define ARM                                                                                                            \
    ROBOT(BASE LINK("upper", "1", "0.1 0 0", "0.001", "0.004", "0.004")                                                \
              LINK("lower", "0.5", "0.1 0 0", "0.001", "0.002", "0.002")                                               \
                  JOINT("shoulder", "revolute", "base", "upper", "0 0 0.5", "0 1 0",                                   \
                        "<limit lower=\"-2\" upper=\"2\" effort=\"100\" velocity=\"10\"/>")                            \
                      JOINT("elbow", "revolute", "upper", "lower", "0.2 0 0", "0 1 0",                                 \
                            "<limit lower=\"-2\" upper=\"2\" effort=\"100\" velocity=\"10\"/>"))

static tdModel *arm_model(double h, const char *newton, const char *rest)
{
    char settings[256], text[4096];
    snprintf(settings, sizeof settings, "time_step: %g\nsteps: 10\ngravity: [0, 0, -9.81]\nintegrator: {newton: %s}", h,
             newton);
    snprintf(text, sizeof text, "%s", rest);
    return robot_model(ARM, settings, "", text);
}

// A spring at the tip of an arm that moves in a plane: nothing can move the row across it, which comes first, but
// the miss of the others counts.
static void test_spring_in_a_plane(void **unused)
{
    (void)unused;
    tdModel *model = robot_model(ROBOT(BASE LINK("arm", "1", "0 0.1 0", "0.004", "0.001", "0.004")
                                           JOINT("j", "continuous", "base", "arm", "0 0 0", "1 0 0", "")),
                                 "time_step: 20 ms\nsteps: 10\ngravity: [0, 0, -9.81]\nintegrator: {newton: true}", "",
                                 "attachments: [{name: spring, a: r, link_a: arm, points: [[0, 0.2, 0]], space: true, "
                                 "stiffness: 100 N/m}]\n");
    tdState *state = scene_state(model);
    double most = 0;
    for (int k = 0; k < 100; k++)
    {
        const double tip[3] = {0, 0.2, 0};
        double force[3], x[3];
        scene_steps(model, state, 1);
        td_state_attachment_force(state, 0, force, NULL, NULL);
        td_place(&td_articulated_poses(&model->bodies[0], state, state->q)[1], tip, x);
        assert_near(force[1], -100 * (x[1] - 0.2), 1e-4);
        assert_near(force[2], -100 * x[2], 1e-4);
        most = fmax(most, fabs(force[2]));
    }
    assert_true(most > 5);
    const tdContactState *cs = state->contact;
    const double *R = cs->problem->constraints[0].law.R;
    assert_true(td_bond_miss(model, state, 0, R, cs->problem->gamma, cs->bond_dead) < 1e-9);
    state->q_c[0] += 0.01;
    assert_near(td_bond_miss(model, state, 0, R, cs->problem->gamma, cs->bond_dead), 0.2 * 0.01, 1e-3);
    scene_free(model, state);
}

#define PAD BLOCK("pad", "[0.35, -0.05, 0.3]", "[0.45, 0.05, 0.45]", "[2, 2, 3]")

// A soft pad on the lower link of an arm whose joints are driven. With Newton it holds whatever the step.
static void test_soft_on_link(void **unused)
{
    (void)unused;
    const char *rest = PAD "attachments: [{name: grip, a: pad, group: zmax, b: r, link: lower}]\n"
                           "actuators:\n  - {name: s, type: joint, body: r, joint: shoulder, drive: position}\n"
                           "  - {name: e, type: joint, body: r, joint: elbow, drive: position}\n"
                           "motion: {keyframes: [{t: 0, s: 0, e: 0}, {t: 1 s, s: -40 deg, e: 70 deg}]}\n";
    for (double h = 1e-3; h < 0.2; h *= 10)
    {
        tdModel *model = arm_model(h, "true", rest);
        tdState *state = scene_state(model);
        assert_true(holds(model, state, (int)(2 / h)) <= 1e-6 * 0.15);
        double force[3];
        td_state_attachment_force(state, 0, force, NULL, NULL);
        assert_near(force[2], 1.5 * G, 0.01 * 1.5 * G);
        // The base bears both links and the pad, and so says the reaction.
        td_state_reaction(model, state, 0, force);
        assert_near(force[2], 3 * G, 0.01 * 3 * G);
        assert_near(force[0], 0, 0.01 * 3 * G);
        // What the shoulder's motor bears: both links and the pad.
        double arm = 0;
        const double *x = td_state_positions(model, state, 1);
        int n = td_model_body_nodes(model, 1);
        for (int i = 0; i < n; i++)
            arm += x[3 * i] / n;
        assert_true(fabs(state->constraint->effort[0]) > 1.2 * G * arm);
        scene_free(model, state);
    }
    // One linearization: rows are those of the start of the step, so that the error is that of an arc and its tangent.
    for (double h = 1e-3; h < 0.2; h *= 10)
    {
        tdModel *model = arm_model(h, "false", rest);
        tdState *state = scene_state(model);
        double turn = 110 * M_PI / 180 * h;
        assert_true(holds(model, state, (int)(2 / h)) <= 0.5 * turn * turn * 0.45);
        double force[3];
        td_state_attachment_force(state, 0, force, NULL, NULL);
        assert_near(force[2], 1.5 * G, 1e-3 * 1.5 * G);
        scene_free(model, state);
    }
}

// A bar let go at level on a hinge, with a force along it: the base bears m g - m d alpha, and the force.
static void test_base_reaction(void **unused)
{
    (void)unused;
    tdModel *model = robot_model(
        ROBOT(BASE LINK("bar", "2", "0.2 0 0", "0.001", "0.03", "0.03")
                  JOINT("hinge", "continuous", "base", "bar", "0 0 0", "0 1 0", "")),
        "time_step: 1 ms\nsteps: 10\ngravity: [0, 0, -9.81]", "",
        "actuators: [{name: push, type: force, body: r, link: bar, point: [0.3, 0, 0], direction: [1, 0, 0], drive: "
        "force}]\nmotion: {keyframes: [{t: 0, push: 5 N}]}\n");
    tdState *state = scene_state(model);
    double force[3], alpha = 2 * G * 0.2 / (0.03 + 2 * 0.04);
    td_state_reaction(model, state, 0, force);
    assert_true(isnan(force[0]));
    scene_steps(model, state, 1);
    td_state_reaction(model, state, 0, force);
    assert_near(force[0], -5, 0.01);
    assert_near(force[1], 0, 1e-9);
    assert_near(force[2], 2 * (G - 0.2 * alpha), 0.01);
    scene_free(model, state);
}

// A loop within one body: both ends of a chain of links are held.
static void test_loop(void **unused)
{
    (void)unused;
    tdModel *model = arm_model(1e-3, "true",
                               "attachments: [{name: end, a: r, points: [[0.4, 0, 0.5]], link_a: lower, b: r, link: "
                               "base}]\n");
    tdState *state = scene_state(model);
    assert_true(holds(model, state, 500) <= 1e-7);
    // It is straight, so both joints stay where they are; the links hang like a stretched chain.
    assert_near(state->q[0], 0, 1e-3);
    scene_free(model, state);
}

// Boxes welded at their corners fall as one, and the weld bears nothing; with a push it bears the share of a's mass.
static void test_rigid_rigid(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(
        HEAD "contact: {}\nbodies:\n"
             "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
             "  - {name: low, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1, transform: {translate: [0, 0, "
             "0.0505]}}\n"
             "  - {name: high, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 3, transform: {translate: "
             "[0, 0, 0.15]}}\n"
             "attachments: [{name: glue, a: high, all: true, b: low}]\n",
        1e-3, "false");
    tdState *state = scene_state(model);
    assert_true(holds(model, state, 500) <= 1e-7);
    double force[3];
    td_state_attachment_force(state, 0, force, NULL, NULL);
    assert_near(force[2], 3 * G, 1e-3 * 3 * G);
    td_state_contact_force(state, 0, 1, force);
    assert_near(force[2], 4 * G, 1e-3 * 4 * G);
    td_state_contact_force(state, 1, 2, force); // they overlap, and do not meet
    assert_near(force[2], 0, 0);
    scene_free(model, state);
}

// ---------------------------------------------------------------- reduced bodies

#define ALONE(top)                                                                                                     \
    HEAD "bodies:\n" BLOCK("block", "[0, 0, 0]", "[0.1, 0.1, 0.1]",                                                    \
                           "[2, 2, 2]") "  - {name: plate, type: rigid, shape: {box: [0.1, 0.1, 0.02]}, total_mass: "  \
                                        "0.3, transform: {translate: [0.05, "                                          \
                                        "0.05, 0.11]}}\n"                                                              \
                                        "attachments:\n  - {name: glue, a: block, group: zmax, b: plate}\n" top

static void compare(bool frame, const char *newton, double tolerance)
{
    char text[4096];
    snprintf(text, sizeof text, ALONE("  - {name: pin, a: plate, points: [[0.05, 0.05, 0.12]], space: true}\n"), 2e-3,
             newton);
    tdModel *full = scene_parse(text);
    tdRom rom = frame ? frame_rom(full, 0, 1) : rom_of(full, 0, 1);
    tdModel *reduced = rom_model(text, &rom, false);
    tdState *a = scene_state(full), *b = scene_state(reduced);
    scene_steps(full, a, 100);
    assert_true(holds(reduced, b, 100) <= 1e-7);
    const double *x = td_state_positions(full, a, 0), *y = td_state_positions(reduced, b, 0);
    for (int i = 0; i < 81; i++)
        assert_near(x[i], y[i], tolerance);
    double of_full[3], of_reduced[3];
    td_state_attachment_force(a, 0, of_full, NULL, NULL);
    td_state_attachment_force(b, 0, of_reduced, NULL, NULL);
    assert_near(of_full[2], of_reduced[2], 1e4 * tolerance);
    scene_free(full, a);
    scene_free(reduced, b);
    td_rom_free(&rom);
}

static void test_reduced(void **unused)
{
    (void)unused;
    compare(false, "false", 1e-8);
    compare(false, "true", 1e-8);
}

// On a frame of its own the body turns as a whole: other coordinates of the same motion.
static void test_reduced_on_frame(void **unused)
{
    (void)unused;
    compare(true, "true", 1e-6);
}

// ---------------------------------------------------------------- momentum, stiffness

static void test_momentum(void **unused)
{
    (void)unused;
    tdModel *model = scene_model("tendril: 1\ntime_step: 2 ms\nsteps: 10\nbodies:\n" BLOCK(
        "block", "[0, 0, 0]", "[0.1, 0.1, 0.1]",
        "[2, 2, 2]") "  - {name: plate, type: rigid, shape: {box: [0.1, 0.1, 0.02]}, total_mass: 0.3, velocity: [0.1, "
                     "-0.2, 0.3], "
                     "transform: {translate: [0.05, 0.05, 0.11]}}\n"
                     "attachments: [{name: glue, a: block, group: zmax, b: plate}]\n");
    tdState *state = scene_state(model);
    assert_true(holds(model, state, 200) <= 1e-5); // it turns fast, and rows are those of the start of a step
    double p[3] = {0};
    const tdSoft *soft = model->bodies[0].soft;
    double *mv = calloc(3 * (size_t)soft->n_nodes, sizeof *mv);
    frame_mass(soft, td_state_velocities(model, state, 0), mv);
    for (int i = 0; i < 3 * soft->n_nodes; i++)
        p[i % 3] += mv[i];
    free(mv);
    for (int c = 0; c < 3; c++)
        p[c] += 0.3 * state->v[model->bodies[1].first + c];
    // Two hundred steps of a solver with a tolerance of 1e-6.
    assert_near(p[0], 0.03, 1e-8);
    assert_near(p[1], -0.06, 1e-8);
    assert_near(p[2], 0.09, 1e-8);
    scene_free(model, state);
}

// A box on a spring at its centre sinks by m g / k; with dissipation it gets there at its own pace.
static void test_compliant(void **unused)
{
    (void)unused;
    for (double tau = 0; tau < 0.2; tau += 0.1)
    {
        tdModel *model = scene_model(
            HEAD "bodies:\n  - {name: box, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 2}\n"
                 "attachments: [{name: spring, a: box, points: [[0, 0, 0]], space: true, stiffness: 400 N/m, "
                 "dissipation: %g}]\n",
            5e-3, "false", tau);
        tdState *state = scene_state(model);
        scene_steps(model, state, 1);
        // (m + h k (h + tau)) v = -m g h
        assert_near(state->v[2], -2 * G * 5e-3 / (2 + 5e-3 * 400 * (5e-3 + tau)), 1e-9);
        scene_steps(model, state, 6000);
        assert_near(state->q[2], -2 * G / 400, 1e-6);
        scene_free(model, state);
    }
}

// ---------------------------------------------------------------- couplings

#define GRIPPER                                                                                                        \
    ROBOT(BASE LINK("left", "1", "0 0 0", "0.01", "0.01", "0.01") LINK("right", "3", "0 0 0", "0.03", "0.03", "0.03")  \
              LINK("wheel", "2", "0 0 0", "0.005", "0.005", "0.005")                                                   \
                  JOINT("slide_l", "prismatic", "base", "left", "0 0 0", "1 0 0",                                      \
                        "<limit lower=\"-2\" upper=\"2\" effort=\"100\" velocity=\"10\"/>")                            \
                      JOINT("slide_r", "prismatic", "base", "right", "0 0 0", "1 0 0",                                 \
                            "<limit lower=\"-2\" upper=\"2\" effort=\"100\" velocity=\"10\"/>")                        \
                          JOINT("turn", "continuous", "base", "wheel", "0 0 0", "0 0 1", ""))

// Two sliders of 1 and 3 kg and a wheel of 0.005 kg m^2, moved by 6 N: x_l = -x_r = 0.05 m/rad theta. The inertia at
// the first slider is 1 + 3 + 0.005 / 0.05^2 = 6 kg.
static void test_gears(void **unused)
{
    (void)unused;
    for (double h = 1e-3; h < 0.2; h *= 10)
    {
        char settings[200];
        snprintf(settings, sizeof settings, "time_step: %g\nsteps: 10", h);
        tdModel *model = robot_model(
            GRIPPER, settings, "",
            "couplings:\n  - {name: jaws, terms: [{body: r, joint: slide_l}, {body: r, joint: slide_r}], offset: 0}\n"
            "  - {name: rack, terms: [{body: r, joint: slide_l}, {body: r, joint: turn, factor: -50 mm}]}\n"
            "actuators: [{name: motor, type: joint, body: r, joint: slide_l, drive: effort}]\n"
            "motion: {keyframes: [{t: 0, motor: 6 N}]}\n");
        tdState *state = scene_state(model);
        int n = h > 0.05 ? 5 : 10;
        scene_steps(model, state, n);
        const double *q = state->q;
        assert_near(state->v[0], n * h, 1e-6 * n * h);
        assert_near(q[0] + q[1], 0, 1e-6 * fabs(q[0]));
        assert_near(q[0] - 0.05 * q[2], 0, 1e-6 * fabs(q[0]));
        // The right slider is moved by 3 kg times -1 m/s^2, the wheel by 0.005 kg m^2 times 20 rad/s^2.
        assert_string_equal(td_model_coupling_name(model, 1), "rack");
        assert_near(td_state_coupling_effort(state, 0), -3, 1e-5);
        assert_near(td_state_coupling_effort(state, 1), -2, 1e-5);
        scene_free(model, state);
    }
}

// A rod from space holds a rigid ball like a thread: it swings on a sphere, and bears m g at rest.
static void test_rod(void **unused)
{
    (void)unused;
    for (double h = 1e-3; h < 0.02; h *= 10)
    {
        tdModel *model = scene_model(
            HEAD "bodies:\n  - {name: ball, type: rigid, shape: {sphere: 0.05}, total_mass: 2}\n"
                 "couplings: [{name: thread, rod: {a: ball, point_a: [0, 0, 0], point_b: [0.3, 0, 0.4]}}]\n",
            h, "true");
        tdState *state = scene_state(model);
        scene_steps(model, state, 1);
        // Tension m g cos of the angle from the vertical, 4/5; the rod pulls.
        assert_near(td_state_coupling_effort(state, 0), -2 * G * 0.8, 0.02 * 2 * G);
        for (int k = 0; k < (int)(1 / h); k++)
        {
            scene_steps(model, state, 1);
            const double *x = state->q;
            double length = sqrt((x[0] - 0.3) * (x[0] - 0.3) + x[1] * x[1] + (x[2] - 0.4) * (x[2] - 0.4));
            assert_near(length, 0.5, 1e-6 * 0.5);
        }
        scene_free(model, state);
    }
    // Between two soft bodies: of the first, held by space, the rod pulls at the second, which hangs.
    tdModel *model =
        scene_model(HEAD "bodies:\n" BLOCK("high", "[0, 0, 0.2]", "[0.1, 0.1, 0.3]", "[2, 2, 2]")
                        BLOCK("low", "[0, 0, 0]", "[0.1, 0.1, 0.1]",
                              "[2, 2, 2]") "attachments: [{name: top, a: high, group: zmax, space: true}]\n"
                                           "couplings: [{name: rod, rod: {a: low, point_a: [0.05, 0.05, 0.1], b: high, "
                                           "point_b: [0.05, 0.05, 0.2]}}]\n",
                    2e-3, "true");
    tdState *state = scene_state(model);
    scene_steps(model, state, 1000);
    assert_near(td_state_coupling_effort(state, 0), -G, 0.01 * G);
    double force[3];
    td_state_attachment_force(state, 0, force, NULL, NULL);
    assert_near(force[2], 2 * G, 0.01 * 2 * G);
    scene_free(model, state);
}

// However fast both ends move, a rod is as long as it is: ends of different kinds of bodies are taken at one time.
static void test_rod_flies(void **unused)
{
    (void)unused;
    const char *const schemes[] = {"theta: 0.6, theta_vq: 0.6", "theta: 1, theta_vq: 0.6", "theta: 1, theta_vq: 1"};
    for (int k = 0; k < 3; k++)
    {
        tdModel *model = scene_model(
            "tendril: 1\ntime_step: 5 ms\nsteps: 50\nintegrator: {method: theta, %s}\nbodies:\n"
            "  - {name: R, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1 kg, velocity: [30, 0, 0]}\n"
            "  - {name: S, mesh: {box: [[-0.05, -0.05, 0.15], [0.05, 0.05, 0.25]], cells: [2, 2, 2]}, "
            "velocity: [30, 0, 0], material: {law: corotational, young: 200 kPa, poisson: 0.3, density: 1000}}\n"
            "couplings: [{name: r, rod: {a: R, point_a: [0, 0, 0], b: S, point_b: [0, 0, 0.2]}}]\n",
            schemes[k]);
        tdState *state = scene_state(model);
        scene_steps(model, state, 50);
        double g[3];
        td_bond_error(model, state, &model->contact->bonds[0], state->q, g);
        print_message("%s: the rod is off by %.2e m\n", schemes[k], g[0]);
        assert_near(g[0], 0, 1e-9);
        assert_near(state->q[model->bodies[0].first], 7.5, 1e-9);
        scene_free(model, state);
    }
}

// A rod from a joint's axis to a point that turns about it changes no motion and bears nothing, and one between points
// of one piece is refused.
static void test_rod_that_holds_nothing(void **unused)
{
    (void)unused;
    static const char pendulum[] =
        "<robot name='p'><link name='world'/><link name='arm'><inertial><origin xyz='0 0 -1'/><mass value='1'/>"
        "<inertia ixx='0.1' iyy='0.1' izz='0.1' ixy='0' ixz='0' iyz='0'/></inertial></link><joint name='j' "
        "type='continuous'><parent link='world'/><child link='arm'/><axis xyz='0 1 0'/></joint></robot>";
    const char *set = "time_step: 10 ms\nsteps: 10\ngravity: [0, 0, -9.81]";
    const char *rod = "couplings: [{name: x, rod: {a: r, link_a: arm, point_a: [-1, 0, 0], point_b: [0, 0, 0]}}]\n";
    tdModel *free = robot_model(pendulum, set, "joints: [{name: j, position: 90 deg}]", "");
    tdModel *held = robot_model(pendulum, set, "joints: [{name: j, position: 90 deg}]", rod);
    tdState *a = robot_state(free), *b = robot_state(held);
    for (int i = 0; i < 50; i++)
    {
        robot_steps(free, a, 1);
        robot_steps(held, b, 1);
        assert_near(b->q[0], a->q[0], 1e-6);
        assert_near(td_state_coupling_effort(b, 0), 0, 1e-3 * 9.81);
    }
    assert_true(fabs(a->q[0] - M_PI / 2) > 0.5); // it has swung
    scene_free(free, a);
    scene_free(held, b);
    robot_refused(
        pendulum, set, "",
        "couplings: [{name: x, rod: {a: r, link_a: arm, point_a: [0, 0, -1], b: r, link_b: arm, point_b: [0, 0, "
        "-0.5]}}]\n",
        "points of one piece");
}

static void test_couplings_refused(void **unused)
{
    (void)unused;
    const char *set = "time_step: 1 ms\nsteps: 10";
    robot_refused(GRIPPER, set, "", "couplings: [{name: x, terms: [{body: r, joint: nothing}]}]\n", "has no joint");
    robot_refused(GRIPPER, set, "", "couplings: [{name: x, terms: [{body: r, joint: slide_l}], offset: 10 mm}]\n",
                  "sum up to 0 at the start");
    robot_refused(GRIPPER, set, "", "couplings: [{name: x, terms: [{body: r, joint: slide_l}], offset: 10 deg}]\n",
                  "couplings[0].offset");
    robot_refused(GRIPPER, set, "",
                  "couplings: [{name: x, terms: [{body: r, joint: slide_l}, {body: r, joint: turn}]}]\n",
                  "a length per angle");
    robot_refused(GRIPPER, set, "",
                  "couplings: [{name: x, terms: [{body: r, joint: slide_l}, {body: r, joint: slide_r, factor: 0}]}]\n",
                  "must not be 0");
    robot_refused(GRIPPER, set, "",
                  "couplings: [{name: x, terms: [{body: r, joint: slide_l}, {body: r, joint: slide_l}]}]\n",
                  "already a term");
    robot_refused(GRIPPER, set, "",
                  "couplings: [{name: x, rod: {a: r, link_a: left, point_a: [0, 0, 0], point_b: [0, 0, 0]}}]\n",
                  "no length");
    robot_refused(GRIPPER, set, "", "couplings: [{name: x}]\n", "one of these keys is required: terms, rod");
    robot_refused(GRIPPER, set, "",
                  "couplings: [{name: x, rod: {a: r, link_a: base, point_a: [0, 0, 0], point_b: [0, 0, 1]}}]\n",
                  "can move");
    robot_refused(GRIPPER, "time_step: 1 ms\nsteps: 10\nintegrator: {method: newmark}", "",
                  "couplings: [{name: x, terms: [{body: r, joint: slide_l}]}]\n", "backward_euler");
}

// ---------------------------------------------------------------- replay, contradictions, bad input

#define CROWD                                                                                                          \
    HEAD "contact: {friction: 0.4}\nbodies:\n"                                                                         \
         "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n" BLOCK("leg", "[0, 0, 0.002]",           \
                                                                                     "[0.1, 0.1, 0.1]", "[3, 3, 3]")   \
             BLOCK("trunk", "[0, 0, 0.1]", "[0.3, 0.1, 0.2]",                                                          \
                   "[6, 2, 2]") "  - {name: head, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 0.4, "       \
                                "transform: "                                                                          \
                                "{translate: [0.35, 0.05, 0.15]}}\n"                                                   \
                                "attachments:\n  - {name: hip, a: leg, group: zmax, b: trunk}\n"                       \
                                "  - {name: neck, a: trunk, group: xmax, b: head}\n"

static void same_bits(const tdModel *model, const tdState *a, const tdState *b)
{
    assert_memory_equal(a->q, b->q, (size_t)model->coords * sizeof(double));
    assert_memory_equal(a->v, b->v, (size_t)model->coords * sizeof(double));
}

static void replay(const char *newton)
{
    tdModel *model = scene_model(CROWD, 4e-3, newton);
    tdState *one = scene_state_with(model, 1, false), *three = scene_state_with(model, 3, false),
            *again = scene_state_with(model, 1, false);
    char path[] = "/tmp/tendril_attach_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    scene_steps(model, one, 20);
    scene_steps(model, three, 20);
    same_bits(model, one, three);
    tdError error = {0};
    assert_ok(td_state_save(model, one, path, &error), error);
    assert_ok(td_state_load(model, again, path, &error), error);
    unlink(path);
    scene_steps(model, one, 20);
    scene_steps(model, three, 20);
    scene_steps(model, again, 20);
    assert_true(one->report.contacts_active > 4);
    same_bits(model, one, three);
    same_bits(model, one, again);
    td_state_free(one);
    td_state_free(three);
    td_state_free(again);
    td_model_free(model);
}

static void test_threads_and_replay(void **unused)
{
    (void)unused;
    replay("false");
    replay("true");
}

// The same nodes attached twice, and a body welded to two that go apart: nothing is exact any more, nothing breaks, and
// what cannot be is shared.
static void test_contradiction(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(
        HEAD "bodies:\n" BLOCK("block", "[0, 0, 0]", "[0.1, 0.1, 0.08]",
                               "[2, 2, 2]") "attachments:\n  - {name: once, a: block, group: zmax, space: true}\n"
                                            "  - {name: twice, a: block, group: zmax, space: true}\n",
        1e-3, "false");
    tdState *state = scene_state(model);
    assert_true(holds(model, state, 300) <= 1e-7);
    double once[3], twice[3];
    td_state_attachment_force(state, 0, once, NULL, NULL);
    td_state_attachment_force(state, 1, twice, NULL, NULL);
    assert_near(once[2], twice[2], 1e-6 * once[2]);
    scene_free(model, state);
    // Held at the bottom, which is moved down by 10 mm, with all of its nodes in space: only the held ones move.
    model =
        scene_model(HEAD "bodies:\n"
                         "  - {name: bar, mesh: {box: [[0, 0, 0], [0.1, 0.1, 0.1]], cells: [1, 1, 1]}, material: "
                         "{law: corotational_lagged, young: 0.2 MPa, poisson: 0.3, density: 1000}, prescribed: [{name: "
                         "p, group: zmin, displacement: [0, 0, -10 mm]}]}\n"
                         "attachments: [{name: stuck, a: bar, all: true, space: true}]\n"
                         "motion: {keyframes: [{t: 0, p: 0}, {t: 100 ms, p: 1}]}\n",
                    1e-3, "false");
    state = scene_state(model);
    scene_steps(model, state, 150);
    const double *x = td_state_positions(model, state, 0);
    assert_near(x[2], -0.01, 1e-12);
    assert_near(x[14], 0.1, 1e-7);
    scene_free(model, state);
}

#define TWO                                                                                                            \
    "tendril: 1\ntime_step: 1 ms\nsteps: 10\nbodies:\n" BLOCK("a", "[0, 0, 0]", "[0.1, 0.1, 0.1]", "[1, 1, 1]") BLOCK( \
        "b", "[0, 0, 0.105]", "[0.1, 0.1, 0.2]",                                                                       \
        "[1, 1, 1]") "  - {name: rock, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, total_mass: 1, fixed: true}\n"      \
                     "attachments:\n  - "

static void test_refused(void **unused)
{
    (void)unused;
    scene_refused(TWO "{name: x, a: nobody, all: true, b: b}\n", "nobody");
    scene_refused(TWO "{name: x, a: a, all: true, b: c}\n", "'c'");
    scene_refused(TWO "{name: x, a: a, b: b}\n", "one of these keys is required");
    scene_refused(TWO "{name: x, a: a, all: true}\n", "one of these keys is required: b, space");
    scene_refused(TWO "{name: x, a: a, all: true, b: b, space: true}\n", "exclude each other");
    scene_refused(TWO "{name: x, a: a, all: true, b: a}\n", "cannot be attached to its own body");
    scene_refused(TWO "{name: x, a: a, box: [[1, 1, 1], [2, 2, 2]], b: b}\n", "selects no node");
    scene_refused(TWO "{name: x, a: a, group: zmax, b: b}\n", "node 4 of body 'a'");
    scene_refused(TWO "{name: x, a: a, group: zmax, b: b, gap: 2 mm}\n", "more than the gap 0.002");
    scene_refused(TWO "{name: x, a: a, group: zmax, b: b, link: tip}\n", "is soft and has no links");
    scene_refused(TWO "{name: x, a: a, group: zmax, b: rock, link: tip}\n", "has no link 'tip'");
    scene_refused(TWO "{name: x, a: a, group: zmax, b: rock, gap: 1 mm}\n", "'gap' is for soft bodies");
    scene_refused(TWO "{name: x, a: rock, all: true, space: true}\n", "nothing that it joins can move");
    scene_refused(TWO "{name: x, a: a, points: [[0.2, 0, 0]], space: true}\n", "outside body 'a'");
    scene_refused(TWO "{name: x, a: a, points: [], space: true}\n", "a list of points");
    scene_refused(TWO "{name: x, a: a, group: zmax, space: true, dissipation: 1 ms}\n", "add 'stiffness'");
    scene_refused(TWO "{name: x, a: a, group: zmax, space: true, meets: true}\n", "has no contact");
    scene_refused(TWO "{name: x, a: a, group: zmax, space: true}\n  - {name: x, a: a, group: zmax, space: true}\n",
                  "has the same name");
    scene_refused(TWO "{name: x, a: a, group: zmax, space: true}\nintegrator: {method: midpoint}\n", "backward_euler");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hangs_from_space),
        cmocka_unit_test(test_seam_is_one_body),
        cmocka_unit_test(test_soft_soft),
        cmocka_unit_test(test_gap_turns),
        cmocka_unit_test(test_pendulum),
        cmocka_unit_test(test_soft_on_link),
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_rigid_rigid),
        cmocka_unit_test(test_reduced),
        cmocka_unit_test(test_reduced_on_frame),
        cmocka_unit_test(test_momentum),
        cmocka_unit_test(test_compliant),
        cmocka_unit_test(test_threads_and_replay),
        cmocka_unit_test(test_contradiction),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_base_reaction),
        cmocka_unit_test(test_gears),
        cmocka_unit_test(test_spring_in_a_plane),
        cmocka_unit_test(test_rod),
        cmocka_unit_test(test_rod_flies),
        cmocka_unit_test(test_rod_that_holds_nothing),
        cmocka_unit_test(test_couplings_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
