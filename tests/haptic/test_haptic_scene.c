// SPDX-License-Identifier: Apache-2.0
// Whole ways from a hand to a force, simulation and loop by turns: against static equilibria and closed forms.
#include "base/vector.h"
#include "rig.h"

#include "body/soft.h"

#define TISSUE(law)                                                                                                    \
    "  - name: tissue\n"                                                                                               \
    "    mesh: {box: [[-0.04, -0.04, 0], [0.04, 0.04, 0.03]], cells: [6, 6, 3]}\n"                                     \
    "    material: {law: " law ", young: 15 kPa, poisson: 0.4, density: 1000 kg/m^3}\n"                                \
    "    damping: {stiffness: 10 ms}\n"                                                                                \
    "    fixed: [{box: [[-1, -1, -0.001], [1, 1, 0.001]]}]\n"
#define BALL                                                                                                           \
    "  - {name: ball, type: rigid, shape: {sphere: 0.02}, guided: true, transform: {translate: [0.002, 0.001, "        \
    "0.051]}}\n"

// A ball pressed into tissue and held: the force is that of the static equilibrium with the tool where it is, for
// several time steps and rates of the loop.
static void test_indentation(void **unused)
{
    (void)unused;
    static const char scene[] =
        "tendril: 1\ngravity: [0, 0, 0]\n%s\n"
        "contact: {friction: 0.3, margin: 1 mm, points: 3, stiffness: 2000 N/m}\nbodies:\n" BALL TISSUE("neo_hookean");
    static const char *const times[] = {"time_step: 5 ms\nsteps: 9\nintegrator: {method: backward_euler}",
                                        "time_step: 20 ms\nsteps: 9\nintegrator: {method: backward_euler}"};
    static const double periods[] = {1e-3, 1e-3, 2.5e-4, 5e-3}; // of the loop, with steps of 20 ms from the second on
    double forces[4], tool = 0;
    for (int i = 0; i < 4; i++)
    {
        rig r = rig_at(scene_model(scene, times[i > 0]), 2000, periods[i]);
        double at[3] = {0, 0, 0};
        go(&r, at, (const double[3]){0, 0, -5e-3}, (int)lround(0.3 / periods[i]));
        go(&r, at, at, (int)lround(0.5 / periods[i]));
        forces[i] = r.felt.force[2];
        tool = r.felt.tool[2] - 0.051;
        assert_near(tool, -5e-3 + forces[i] / 2000, 1e-9);
        assert_int_equal(r.felt.fault, 0);
        assert_true(r.largest_jump < fmax(0.1, 30 * periods[i]) * forces[i]); // smooth across updates
        assert_near(forces[i], forces[0], 0.01 * forces[0]);
        rig_free(&r);
    }
    char how[200];
    snprintf(how, sizeof how,
             "integrator: {method: static}\nsteps: 5\nmotion: {keyframes: [{t: 0, ball.z: 0}, {t: 1, ball.z: %.9g}]}",
             tool);
    tdModel *model = scene_model(scene, how);
    tdState *state = scene_state(model);
    double force[3];
    scene_steps(model, state, 5);
    td_state_reaction(model, state, 0, force);
    assert_near(forces[0], -force[2], 0.02 * forces[0]);
    scene_free(model, state);
}

// While a tool moves on in damped tissue, a new model changes the force by no more than the way of a tick does, and a
// longer time step gives the same force. (Surfaces that stood still between steps would lose the damping at each one.)
static void test_moving(void **unused)
{
    (void)unused;
    static const char *const times[] = {"5 ms", "20 ms"};
    double end[2];
    for (int i = 0; i < 2; i++)
    {
        rig r = rig_of(scene_model("tendril: 1\ngravity: [0, 0, 0]\ntime_step: %s\nsteps: 9\ncontact: {friction: 0, "
                                   "margin: 1 mm, points: 3, stiffness: 2000 N/m}\nbodies:\n" BALL "  - name: tissue\n"
                                   "    mesh: {box: [[-0.04, -0.04, 0], [0.04, 0.04, 0.03]], cells: [6, 6, 3]}\n"
                                   "    material: {law: neo_hookean, young: 15 kPa, poisson: 0.4, density: 1000}\n"
                                   "    damping: {stiffness: 40 ms}\n    fixed: [{group: zmin}]\n",
                                   times[i]),
                       2000);
        double at[3] = {0, 0, 0}, jumps = 0, ticks = 0, to = -1e-3;
        int per = i == 0 ? 5 : 20, updates = 0;
        go(&r, at, (const double[3]){0, 0, to}, 100);
        for (int k = 0; k < 400; k++)
        {
            bool update = r.tick % per == 0;
            double before = r.felt.force[2];
            to -= 1.5e-5;
            go(&r, at, (const double[3]){0, 0, to}, 1);
            updates += update && k >= 100;
            *(update ? &jumps : &ticks) += k >= 100 ? fabs(r.felt.force[2] - before) : 0;
        }
        jumps /= updates;
        ticks /= 300 - updates;
        end[i] = r.felt.force[2];
        print_message("steps of %s: %.4f N, by %.2g N from tick to tick, by %.2g N at a new model\n", times[i], end[i],
                      ticks, jumps);
        assert_true(jumps < (i == 0 ? 2 : 4) * ticks);
        rig_free(&r);
    }
    assert_near(end[1], end[0], 0.02 * end[0]);
}

// A hand that holds a tool still in tissue feels a force that stands still, whatever the tool touches by: the part of
// the surface that is nearest to a ball, or an edge that crosses those of the surface, must not change at every step.
static void test_steady(void **unused)
{
    (void)unused;
    static const char *const tools[] = {
        "shape: {sphere: 0.02}, transform: {translate: [0.002, 0.001, 0.051]}",
        "shape: {box: [0.02, 0.02, 0.02]}, transform: {rotate: [45 deg, 10 deg, 20 deg], translate: [0.002, 0.001, "
        "0.0455]}",
        "shape: {box: [0.02, 0.02, 0.02]}, transform: {rotate: [45 deg, 10 deg, 0], translate: [0.002, 0.001, 0.0455]}",
        "shape: {capsule: {radius: 0.01, length: 0.03}}, transform: {rotate: [90 deg, 0, 17 deg], translate: [0.002, "
        "0.001, 0.041]}"};
    for (int i = 0; i < 4; i++)
    {
        rig r = rig_of(scene_model("tendril: 1\ngravity: [0, 0, 0]\ntime_step: 10 ms\nsteps: 9\nintegrator: {method: "
                                   "backward_euler}\ncontact: {friction: 0.3, margin: 1 mm}\nbodies:\n"
                                   "  - {name: tool, type: rigid, guided: true, %s}\n"
                                   "  - name: tissue\n"
                                   "    mesh: {box: [[-0.04, -0.04, 0], [0.04, 0.04, 0.03]], cells: [%s]}\n"
                                   "    material: {law: corotational_lagged, young: 15 kPa, poisson: 0.4, density: "
                                   "1000 kg/m^3}\n"
                                   "    damping: {stiffness: 10 ms}\n    fixed: [{group: zmin}]\n",
                                   tools[i], i == 0 ? "6, 6, 3" : "10, 10, 4"),
                       2000);
        double at[3] = {0, 0, 0}, low = INFINITY, high = 0;
        go(&r, at, (const double[3]){0, 0, -5e-3}, 300);
        go(&r, at, at, 700);
        r.largest_jump = 0;
        for (int k = 0; k < 300; k++)
        {
            go(&r, at, at, 1);
            low = fmin(low, r.felt.force[2]);
            high = fmax(high, r.felt.force[2]);
        }
        print_message("%.4f to %.4f N, by %.2g %% at most from tick to tick\n", low, high, 100 * r.largest_jump / high);
        assert_true(low > 0.3 && high - low < 2e-3 * high && r.largest_jump < 1e-3 * high);
        rig_free(&r);
    }
}

// A stamp pressed onto a slab and drawn along: it sticks up to mu N, slips at that, and sticks again where it turns
// round, over the way that the tissue gives.
static void test_slab(void **unused)
{
    (void)unused;
    rig r = rig_of(
        scene_model("tendril: 1\ngravity: [0, 0, 0]\ntime_step: 10 ms\nsteps: 9\nintegrator: {method: "
                    "backward_euler}\ncontact: {friction: 0.4, margin: 1 mm, points: 2, stiffness: 2000 N/m}\nbodies:\n"
                    "  - {name: stamp, type: rigid, shape: {box: [0.3, 0.3, 0.01]}, guided: true, transform: "
                    "{translate: [0, 0, 0.0352]}}\n" TISSUE("corotational_lagged")),
        5000);
    double at[3] = {0, 0, 0}, stuck;
    go(&r, at, (const double[3]){0, 0, -3e-3}, 200);
    go(&r, at, at, 300);
    double normal = r.felt.force[2];
    assert_true(normal > 1);
    go(&r, at, (const double[3]){2e-4, 0, -3e-3}, 100); // sticks
    go(&r, at, at, 100);
    stuck = -r.felt.force[0];
    assert_true(stuck > 0.02 * normal && stuck < 0.35 * r.felt.force[2]);
    go(&r, at, (const double[3]){4e-4, 0, -3e-3}, 100); // twice the way, twice the force
    go(&r, at, at, 100);
    assert_near(-r.felt.force[0], 2 * stuck, 0.1 * 2 * stuck);
    go(&r, at, (const double[3]){10e-3, 0, -3e-3}, 500); // slips
    assert_near(-r.felt.force[0], 0.4 * r.felt.force[2], 0.02 * 0.4 * r.felt.force[2]);
    assert_near(r.felt.force[1], 0, 0.02 * r.felt.force[2]);
    double drawn = r.felt.force[0];
    go(&r, at, (const double[3]){9.9e-3, 0, -3e-3}, 50); // turns round: unloads, and does not jump over
    assert_true(r.felt.force[0] > drawn && r.felt.force[0] < 0.3 * -drawn);
    go(&r, at, (const double[3]){2e-3, 0, -3e-3}, 400); // and slips the other way round
    assert_near(r.felt.force[0], 0.4 * r.felt.force[2], 0.02 * 0.4 * r.felt.force[2]);
    rig_free(&r);
}

// A block on an incline of 20 degrees, pushed up by a plate without friction and let down again, at less and at more
// friction than holds it. It sticks up to m g (sin + mu cos), slips at that however far it is pushed, and on the way
// back it sticks until m g (sin - mu cos) is left, at which it slides down with the hand; where that is less than
// nothing it stays, and the hand comes free. While it sticks, all that gives is the coupling. The heavier block is more
// than the coupling moves in a step (k h^2 = 100 g): it stays in contact because the local model knows how its motion
// grows.
static void test_incline(void **unused)
{
    (void)unused;
    const double slope = 20 * M_PI / 180, masses[] = {0.02, 0.2}, frictions[] = {0.2, 0.5}, stiffness = 1000;
    const double up[3] = {-cos(slope), 0, sin(slope)};
    for (int i = 0; i < 4; i++)
    {
        double mu = frictions[i % 2], weight = masses[i / 2] * 9.81, high = weight * (sin(slope) + mu * cos(slope)),
               low = weight * (sin(slope) - mu * cos(slope));
        rig r = rig_of(
            scene_model("tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 10 ms\nsteps: 9\ncontact: {friction: %g, "
                        "margin: 1 mm, stiffness: 2000 N/m, dissipation: 20 ms}\nbodies:\n"
                        "  - {name: ramp, type: rigid, shape: {plane: true}, fixed: true, transform: {rotate: [0, 20 "
                        "deg, 0]}}\n"
                        "  - {name: block, type: rigid, shape: {box: [0.03, 0.03, 0.02]}, total_mass: %g, transform: "
                        "{rotate: [0, 20 deg, 0], translate: [%.9g, 0, %.9g]}}\n"
                        "  - {name: plate, type: rigid, shape: {box: [0.004, 0.02, 0.01]}, guided: true, contact: "
                        "{friction: 0}, transform: {rotate: [0, 20 deg, 0], translate: [%.9g, 0, %.9g]}}\n",
                        mu, masses[i / 2], 0.01 * sin(slope), 0.01 * cos(slope),
                        0.01 * sin(slope) + 0.0175 * cos(slope), 0.01 * cos(slope) - 0.0175 * sin(slope)),
            stiffness);
        double at[3] = {0, 0, 0}, felt[4], block[2];
        double way[4] = {0.012, 0.012, 0, 0}; // up, held, a way back on which it sticks, down
        way[2] = way[3] = way[1] - 0.6 * (high - fmax(low, 0)) / stiffness;
        way[3] -= 0.006;
        for (int k = 0; k < 4; k++)
        {
            const double to[3] = {way[k] * up[0], 0, way[k] * up[2]};
            go(&r, at, to, k == 0 || k == 3 ? 1200 : 200);
            felt[k] = -td_dot3(r.felt.force, up);
            if (k == 1 || k == 2)
                block[k - 1] = td_state_positions(r.model, r.state, 1)[0];
        }
        // The points of the plate give way too.
        double held = felt[1] - 0.6 * (high - fmax(low, 0)) / (1 + stiffness / (4 * 2000));
        print_message("%g g, mu %g: up %.4f (%.4f), held %.4f, sticks at %.4f (%.4f), down %.4f (%.4f) N\n",
                      1e3 * masses[i / 2], mu, felt[0], high, felt[1], felt[2], held, felt[3], fmax(low, 0));
        assert_near(felt[0], high, 0.02 * high);
        assert_near(felt[2], held, 0.05 * high);
        assert_true(felt[1] > low && felt[1] < 1.001 * high);
        assert_near(block[1], block[0], 3e-5); // stiction creeps by about 1e-3 g h^2 = 1e-6 m in each of 40 steps
        assert_near(felt[3], fmax(low, 0), 0.02 * high);
        rig_free(&r);
    }
}

// The asynchronous factor (S3 Fig. 4): on one motion, deep and along the surface, the force is that of exact factors
// over the whole curve; with the factor at rest it is far off.
static void test_factors(void **unused)
{
    (void)unused;
    static const char *const solvers[] = {"auto", "asynchronous, lag: 3", "rest"};
    enum
    {
        TICKS = 400
    };
    static double force[3][TICKS];
    double square = 0, off[3] = {0};
    for (int i = 0; i < 3; i++)
    {
        rig r = rig_of(scene_model("tendril: 1\ngravity: [0, 0, 0]\ntime_step: 10 ms\nsteps: 9\n"
                                   "solver: {type: %s, tolerance: 1e-6}\ncontact: {friction: 0, margin: 1 mm, points: "
                                   "2, stiffness: 2000 N/m}\nbodies:\n"
                                   "  - {name: ball, type: rigid, shape: {sphere: 0.015}, guided: true, transform: "
                                   "{translate: [0.002, 0.001, 0.0755]}}\n"
                                   "  - name: cube\n"
                                   "    mesh: {box: [[-0.03, -0.03, 0], [0.03, 0.03, 0.06]], cells: [5, 5, 5]}\n"
                                   "    material: {law: mooney_rivlin, c10: 1.7 kPa, c01: 0.4 kPa, poisson: 0.45, "
                                   "density: 1000 kg/m^3}\n    damping: {stiffness: 20 ms}\n"
                                   "    fixed: [{group: zmin}]\n",
                                   solvers[i]),
                       2000);
        double at[3] = {0, 0, 0}, to[3] = {0, 0, -0.008};
        for (int k = 0; k < TICKS; k++)
        {
            if (k == TICKS / 2)
                to[0] = 0.005;
            const double next[3] = {at[0] + (to[0] - at[0]) * 10 / TICKS, 0, at[2] + (to[2] - at[2]) * 10 / TICKS};
            go(&r, at, next, 1);
            force[i][k] = r.felt.asked[2];
            square += i == 0 ? force[0][k] * force[0][k] : 0;
            off[i] += (force[i][k] - force[0][k]) * (force[i][k] - force[0][k]);
        }
        rig_free(&r);
    }
    assert_true(sqrt(off[1] / square) < 0.02);
    assert_true(sqrt(off[2] / square) > 0.05);
}

// With the factor at rest contact answers like a linear material, whatever the law: too little force where tissue has
// hardened, too much where it has softened (pressed, Mooney-Rivlin does the one and StVK the other).
static void test_rest(void **unused)
{
    (void)unused;
    static const char *const laws[] = {"mooney_rivlin, c10: 1.7 kPa, c01: 0.4 kPa", "stvk, young: 12.6 kPa"};
    double mean[2][2] = {{0}};
    for (int i = 0; i < 4; i++)
    {
        rig r = rig_of(scene_model("tendril: 1\ngravity: [0, 0, 0]\ntime_step: 10 ms\nsteps: 9\nsolver: {type: %s}\n"
                                   "contact: {friction: 0, margin: 1 mm, points: 2, stiffness: 2000 N/m}\nbodies:\n"
                                   "  - {name: ball, type: rigid, shape: {sphere: 0.015}, guided: true, transform: "
                                   "{translate: [0.002, 0.001, 0.0755]}}\n"
                                   "  - name: cube\n"
                                   "    mesh: {box: [[-0.03, -0.03, 0], [0.03, 0.03, 0.06]], cells: [5, 5, 5]}\n"
                                   "    material: {law: %s, poisson: 0.45, density: 1000 kg/m^3}\n"
                                   "    damping: {stiffness: 20 ms}\n    fixed: [{group: zmin}]\n",
                                   i % 2 == 0 ? "auto" : "rest", laws[i / 2]),
                       2000);
        double at[3] = {0, 0, 0};
        go(&r, at, (const double[3]){0, 0, -0.008}, 500);
        for (int k = 0; k < 300; k++)
        {
            go(&r, at, at, 1);
            mean[i / 2][i % 2] += r.felt.asked[2] / 300;
        }
        rig_free(&r);
    }
    print_message("Mooney-Rivlin: %.4f N, with the factor at rest %.4f N; StVK: %.4f N, %.4f N\n", mean[0][0],
                  mean[0][1], mean[1][0], mean[1][1]);
    assert_true(mean[0][1] < 0.95 * mean[0][0]);
    assert_true(mean[1][1] > 1.05 * mean[1][0]);
    assert_near(mean[1][1], mean[0][1], 0.1 * mean[0][1]);
}

// A grasper takes a block off the floor: the hand feels its weight. With too little friction the jaws slip off, and the
// block stays.
static void test_grasp(void **unused)
{
    (void)unused;
    static const double frictions[] = {0.6, 0.02};
    for (int i = 0; i < 2; i++)
    {
        rig r = rig_of(
            scene_model(
                "tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 10 ms\nsteps: 9\ncontact: {friction: %g, margin: 1 mm, "
                "stiffness: 500 N/m, dissipation: 20 ms}\nbodies:\n"
                "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
                "  - {name: block, type: rigid, shape: {box: [0.03, 0.02, 0.02]}, total_mass: 20 g, transform: "
                "{translate: [0, 0, 0.01]}}\n"
                "  - {name: near, type: rigid, shape: {box: [0.02, 0.004, 0.014]}, guided: true, transform: "
                "{translate: "
                "[0, -0.0135, 0.01]}}\n"
                "  - {name: far, type: rigid, shape: {box: [0.02, 0.004, 0.014]}, guided: true, follows: near, close: "
                "[0, -0.005, 0], transform: {translate: [0, 0.0135, 0.01]}}\n",
                frictions[i]),
            1000);
        double at[3] = {0, 0, 0}, weight = 0.02 * 9.81;
        td_haptic_grip(r.haptic, 1);
        go(&r, at, (const double[3]){0, 2.5e-3, 0}, 200);
        go(&r, at, at, 100); // the block is between them
        go(&r, at, (const double[3]){0, 2.5e-3, 0.02}, 600);
        go(&r, at, at, 300);
        const double *x = td_state_positions(r.model, r.state, 1);
        double lowest = INFINITY;
        for (int64_t k = 0; k < r.model->bodies[1].nodes; k++)
            lowest = fmin(lowest, x[3 * k + 2]);
        if (i == 0)
        {
            assert_near(r.felt.force[2], -weight, 0.01 * weight);
            assert_near(lowest, r.felt.tool[2] - 0.01, 1e-3);
            assert_int_equal(r.felt.slipping, 0);
        }
        else
            assert_true(lowest < 1e-3 && r.felt.force[2] > -0.6 * weight);
        rig_free(&r);
    }
}

#define JAWS                                                                                                           \
    "  - {name: near, type: rigid, shape: {box: [0.02, 0.004, 0.014]}, guided: true, transform: {translate: [0, "      \
    "-0.0135, 0.01]}}\n"                                                                                               \
    "  - {name: far, type: rigid, shape: {box: [0.02, 0.004, 0.014]}, guided: true, follows: near, close: [0, "        \
    "-0.005, "                                                                                                         \
    "0], transform: {translate: [0, 0.0135, 0.01]}}\n"

// A block of 200 g, which is heavier than what the coupling moves in a step (k h^2 = 100 g), is lifted and held without
// shaking.
static void test_grasp_heavy(void **unused)
{
    (void)unused;
    rig r =
        rig_of(scene_model("tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 10 ms\nsteps: 9\ncontact: {friction: 0.6, "
                           "margin: 1 mm, stiffness: 2000 N/m, dissipation: 20 ms}\nbodies:\n"
                           "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
                           "  - {name: block, type: rigid, shape: {box: [0.03, 0.02, 0.02]}, total_mass: 200 g, "
                           "transform: {translate: [0, 0, 0.01]}}\n" JAWS),
               1000);
    double at[3] = {0, 0, 0}, weight = 0.2 * 9.81, most = 0;
    td_haptic_grip(r.haptic, 1);
    go(&r, at, (const double[3]){0, 2.5e-3, 0}, 200);
    go(&r, at, at, 100);
    for (int k = 1; k <= 60; k++)
    {
        go(&r, at, (const double[3]){0, 2.5e-3, 0.02 * k / 60}, 10);
        most = fmax(most, -r.felt.force[2]);
    }
    go(&r, at, at, 500);
    r.largest_jump = 0;
    go(&r, at, at, 200);
    print_message("200 g: %.4f N, weight %.4f N, %.3f N at most, by %.2g N from tick to tick\n", -r.felt.force[2],
                  weight, most, r.largest_jump);
    assert_near(-r.felt.force[2], weight, 0.01 * weight);
    assert_true(r.largest_jump < 2e-3 * weight && most < 1.5 * weight);
    rig_free(&r);
}

// Jaws 1 mm within each side of a block press with four points each: N = 4 k d. They hold up to 2 mu N, be it a weight
// that they lift or a block that does not come along.
static void test_grasp_slips(void **unused)
{
    (void)unused;
    const double squeeze = 4 * 500 * 1e-3, weight = 0.02 * 9.81, frictions[] = {0.9, 1.1};
    for (int i = 0; i < 2; i++) // of what just lifts it
    {
        rig r =
            rig_of(scene_model("tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 10 ms\nsteps: 9\ncontact: {friction: "
                               "%.9g, margin: 1 mm, stiffness: 500 N/m, dissipation: 20 ms}\nbodies:\n"
                               "  - {name: block, type: rigid, shape: {box: [0.03, 0.02, 0.02]}, total_mass: 20 g, "
                               "transform: {translate: [0, 0, 0.01]}}\n"
                               "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n" JAWS,
                               frictions[i] * weight / (2 * squeeze)),
                   1000);
        double at[3] = {0, 0, 0};
        td_haptic_grip(r.haptic, 1);
        go(&r, at, (const double[3]){0, 2.5e-3, 0}, 200);
        go(&r, at, at, 100);
        go(&r, at, (const double[3]){0, 2.5e-3, 0.01}, 300);
        go(&r, at, at, 100);
        double z = td_state_positions(r.model, r.state, 0)[2];
        for (int64_t k = 1; k < r.model->bodies[0].nodes; k++)
            z = fmin(z, td_state_positions(r.model, r.state, 0)[3 * k + 2]);
        assert_true(frictions[i] > 1 ? z > 8e-3 : z < 1e-3);
        rig_free(&r);
    }
    rig r = rig_of(scene_model("tendril: 1\ngravity: [0, 0, 0]\ntime_step: 10 ms\nsteps: 9\ncontact: {friction: 0.3, "
                               "margin: 1 mm, stiffness: 500 N/m, dissipation: 20 ms}\nbodies:\n"
                               "  - {name: block, type: rigid, shape: {box: [0.03, 0.02, 0.02]}, total_mass: 20 g, "
                               "transform: {translate: [0, 0, 0.01]}}\n" JAWS
                               "attachments: [{name: pin, a: block, points: [[0.015, 0, 0.01], [-0.015, 0, 0.01], [0, "
                               "0, 0]], space: true}]\n"),
                   1000);
    double at[3] = {0, 0, 0}, most = 2 * 0.3 * squeeze;
    td_haptic_grip(r.haptic, 1);
    go(&r, at, (const double[3]){0, 2.5e-3, 0}, 200);
    go(&r, at, at, 200);
    go(&r, at, (const double[3]){0, 2.5e-3, 0.5e-3}, 100); // holds, and pulls by the coupling
    go(&r, at, at, 100);
    assert_true(-r.felt.force[2] > 0.1 * most && -r.felt.force[2] < 0.95 * most);
    assert_int_equal(r.felt.slipping, 0);
    go(&r, at, (const double[3]){0, 2.5e-3, 3e-3}, 300);   // slips
    go(&r, at, (const double[3]){0, 2.5e-3, 3.1e-3}, 200); // and goes on slowly: what slides fast rides on a gap
    print_message("slips at %.4f N, 2 mu N = %.4f N\n", -r.felt.force[2], most);
    assert_near(-r.felt.force[2], most, 0.02 * most);
    assert_true(r.felt.slipping > 0);
    rig_free(&r);
}

typedef struct pair
{
    tdModel *model;
    tdState *state;
    tdHaptic *haptics[2];
    tdHapticForce felt[2];
} pair;

// Two tools, 'left' and 'right', that go to their places and stay there.
static pair hold_both(tdModel *model, const double left[3], const double right[3])
{
    pair p = {.model = model, .state = scene_state(model)};
    tdError error = {0};
    tdHapticSettings settings = td_default_haptic();
    static const char *const names[] = {"left", "right"};
    settings.max_force = 20;
    assert_int_equal(td_haptic_create(model, &settings, &p.haptics[0], &error), TD_ERROR_USAGE); // which one?
    for (int k = 0; k < 2; k++)
    {
        settings.tool = names[k];
        assert_ok(td_haptic_create(model, &settings, &p.haptics[k], &error), error);
    }
    for (int tick = 0; tick < 400; tick++)
    {
        double clock = 1e-3 * tick, share = fmin(1, tick / 150.);
        if (tick % 10 == 0)
            assert_ok(td_haptic_step_all(p.haptics, 2, model, p.state, clock), td_state_report(p.state)->error);
        for (int k = 0; k < 2; k++)
        {
            const double *to = k == 0 ? left : right, position[3] = {share * to[0], share * to[1], share * to[2]};
            td_haptic_tick(p.haptics[k], clock, position, NULL, &p.felt[k]);
        }
    }
    return p;
}

static void pair_free(pair *p)
{
    for (int k = 0; k < 2; k++)
        td_haptic_free(p->haptics[k]);
    scene_free(p->model, p->state);
}

#define PAIR_SCENE                                                                                                     \
    "tendril: 1\ngravity: [0, 0, 0]\ntime_step: 10 ms\nsteps: 9\ncontact: {friction: 0, margin: 1 mm, points: 2, "     \
    "stiffness: 2000 N/m}\nbodies:\n"

// An instrument in a trocar with a ball on half of its shaft, which presses a column: half of the force there comes to
// the tip, where the hand is, and the shaft passes through the trocar whatever the coupling gives.
static void test_trocar(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(
        PAIR_SCENE "  - name: column\n"
                   "    mesh: {box: [[0.0115, -0.02, -0.02], [0.05, 0.02, 0.02]], cells: [4, 4, 4]}\n"
                   "    material: {law: neo_hookean, young: 15 kPa, poisson: 0.3, density: 1000 kg/m^3}\n"
                   "    damping: {stiffness: 10 ms}\n    fixed: [{group: xmax}]\n"
                   "  - {name: left, type: rigid, shape: {sphere: 0.01}, guided: true, transform: "
                   "{translate: [-0.3, 0, 0]}}\n"
                   "  - {name: right, type: rigid, shape: {sphere: 0.002}, guided: true, trocar: [0, 0, "
                   "0.2], transform: {translate: [0, 0, -0.2]}}\n"
                   "  - {name: middle, type: rigid, shape: {sphere: 0.01}, guided: true, follows: right}\n");
    const double none[3] = {0, 0, 0}, right[3] = {0.016, 0, 0}, up[3] = {0, 0, 0.4};
    pair p = hold_both(model, none, right);
    double force[3], through[3];
    td_state_reaction(model, p.state, 3, force);
    assert_true(fabs(force[0]) > 0.2);
    assert_near(p.felt[1].force[0], -0.5 * fabs(force[0]), 0.02 * fabs(force[0]));
    const tdBody *body = &model->bodies[2];
    tdPose pose = td_guided_pose(body->guided, p.state->q + body->first);
    td_place(&pose, up, through);
    double slope = (0 - pose.t[0]) / (0.2 - pose.t[2]);
    assert_true(pose.t[0] > 0.01);
    assert_near(through[0], pose.t[0] + slope * (through[2] - pose.t[2]), 1e-12);
    pair_free(&p);
}

// What one instrument presses into a tissue is felt with another that rests on it.
static void test_two_tools(void **unused)
{
    (void)unused;
    double rests[2];
    for (int pressed = 0; pressed < 2; pressed++)
    {
        const double left[3] = {0, 0, pressed ? -6e-3 : 0.01}, right[3] = {0, 0, -2.5e-3};
        pair p = hold_both(
            scene_model(PAIR_SCENE TISSUE(
                "neo_hookean") "  - {name: left, type: rigid, shape: {sphere: 0.01}, guided: true, transform: "
                               "{translate: [-0.011, 0, 0.0405]}}\n"
                               "  - {name: right, type: rigid, shape: {sphere: 0.01}, guided: true, transform: "
                               "{translate: [0.011, 0, 0.0405]}}\n"),
            left, right);
        rests[pressed] = p.felt[1].force[2];
        pair_free(&p);
    }
    assert_true(rests[0] > 0.05);
    assert_true(fabs(rests[1] - rests[0]) > 0.05 * rests[0]);
}

// Against a rigid wall the coupling is all that gives: k d.
static void test_wall(void **unused)
{
    (void)unused;
    rig r = rig_of(scene_model("tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 5 ms\nsteps: 9\ncontact: {friction: 0, "
                               "margin: 1 mm}\nbodies:\n"
                               "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
                               "  - {name: block, type: rigid, shape: {box: [0.1, 0.1, 0.02]}, total_mass: 5, "
                               "transform: {translate: [0, 0, 0.01]}}\n"
                               "  - {name: ball, type: rigid, shape: {sphere: 0.01}, guided: true, transform: "
                               "{translate: [0, 0, 0.0305]}}\n"),
                   800);
    double at[3] = {0, 0, 0};
    go(&r, at, (const double[3]){0, 0, -5.5e-3}, 200);
    go(&r, at, at, 400);
    assert_near(r.felt.force[2], 800 * 5e-3, 0.02 * 800 * 5e-3);
    rig_free(&r);
}

// A motion through places, each with its time [s] and grip: x, y, z [m].
typedef struct place
{
    double t, x, y, z, grip;
} place;

// Forces on a hand along a motion of a shipped scene, by ticks of 1 ms. sweeps 0: as many as in a session. Returns how
// many ticks reached their bound.
static int64_t follow(const char *file, double stiffness, int n, const place *way, int sweeps, int ticks,
                      double (*force)[3])
{
    char path[512];
    tdModel *model = NULL;
    tdError error = {0};
    snprintf(path, sizeof path, TD_SOURCE_DIR "/scenes/haptic/%s", file);
    assert_ok(td_model_load(path, NULL, &model, &error), error);
    rig r = rig_of(model, stiffness);
    if (sweeps > 0)
    {
        r.haptic->feel.settings.sweeps = sweeps;
        r.haptic->feel.settings.tolerance = 1e-7;
    }
    double at[3] = {0, 0, 0};
    for (int k = 0, i = 0; k < ticks; k++)
    {
        while (i + 2 < n && way[i + 1].t <= 1e-3 * k)
            i++;
        double share = (1e-3 * k - way[i].t) / (way[i + 1].t - way[i].t);
        const double to[3] = {way[i].x + share * (way[i + 1].x - way[i].x),
                              way[i].y + share * (way[i + 1].y - way[i].y),
                              way[i].z + share * (way[i + 1].z - way[i].z)};
        td_haptic_grip(r.haptic, way[i].grip + share * (way[i + 1].grip - way[i].grip));
        go(&r, at, to, 1);
        memcpy(force[k], r.felt.asked, sizeof force[k]);
    }
    int64_t unsolved = r.haptic->unsolved;
    rig_free(&r);
    return unsolved;
}

// Where the sweeps of a tick are not enough, it is forces which cancel each other that are not found yet: neighbours
// that slip towards each other. What a hand feels is that of hundreds of sweeps.
static void test_sweeps(void **unused)
{
    (void)unused;
    static const place stroke[] = {{0, 0, 0, 0, 0}, {0.5, 0, 0, -3.5e-3, 0}, {2.5, 24e-3, 0, -3.5e-3, 0}},
                       rub[] = {{0, 0, 0, 0, 0},
                                {0.3, 0, 0, -2.2e-3, 0},
                                {1, 15e-3, 0, -2.2e-3, 0},
                                {1.8, 0, 0, -2.2e-3, 0}},
                       pull[] = {{0, 0, 0, 0, 0},
                                 {0.3, 0, 0, -5e-4, 0},
                                 {0.8, 0, 0, -5e-4, 1},
                                 {1.4, 5e-3, 0, 2e-3, 1},
                                 {2, 5e-3, 0, 2e-3, 1}};
    static const struct
    {
        const char *file;
        int n;
        const place *way;
        int ticks;
    } cases[] = {{"nodule.yaml", 3, stroke, 2500}, {"slab.yaml", 4, rub, 1800}, {"grasp.yaml", 5, pull, 2000}};
    for (int i = 0; i < 3; i++)
    {
        static double bound[2500][3], whole[2500][3];
        int64_t unsolved = follow(cases[i].file, 1000, cases[i].n, cases[i].way, 0, cases[i].ticks, bound), left;
        left = follow(cases[i].file, 1000, cases[i].n, cases[i].way, 500, cases[i].ticks, whole);
        double most = 0, off = 0, worst = 0, square = 0;
        for (int k = 0; k < cases[i].ticks; k++)
        {
            double d[3];
            td_subtract3(bound[k], whole[k], d);
            most = fmax(most, sqrt(td_dot3(whole[k], whole[k])));
            worst = fmax(worst, sqrt(td_dot3(d, d)));
            off += td_dot3(d, d);
            square += td_dot3(whole[k], whole[k]);
        }
        print_message(
            "%s: %d of %d ticks at the bound (%d of 500 sweeps); %.3g %% off, %.3g %% of the largest force at most\n",
            cases[i].file, (int)unsolved, cases[i].ticks, (int)left, 100 * sqrt(off / square), 100 * worst / most);
        assert_true(unsolved < 0.1 * cases[i].ticks);
        assert_true(sqrt(off / square) < 0.01 && worst < 0.03 * most);
    }
}

// The shipped cube that is glued to a plate, pulled and pushed: forces are those of static equilibria with the plate
// where it is; it grows softer as it is pulled and stiffer as it is pushed (S3 Fig. 3).
static void test_elongation(void **unused)
{
    (void)unused;
    static const double ways[] = {1e-3, 15e-3, -1e-3, -10e-3};
    double stiffness[4], felt[4];
    char path[512];
    snprintf(path, sizeof path, "%s/scenes/haptic/elongation.yaml", TD_SOURCE_DIR);
    for (int i = 0; i < 4; i++)
    {
        tdModel *model = NULL;
        tdError error = {0};
        assert_ok(td_model_load(path, NULL, &model, &error), error);
        rig r = rig_of(model, 1000);
        double at[3] = {0, 0, 0}, force[3], z;
        const double to[3] = {0, 0, ways[i]};
        go(&r, at, to, 500);
        go(&r, at, at, 400);
        felt[i] = r.felt.force[2];
        z = r.felt.tool[2] - 0.062;
        assert_near(z, ways[i] + felt[i] / 1000, 1e-9);
        rig_free(&r);
        model =
            scene_model("tendril: 1\nunits: {length: mm, mass: kg, time: s}\ngravity: [0, 0, 0]\ntime_step: 1\nsteps: "
                        "4\nintegrator: {method: static}\nbodies:\n  - name: cube\n"
                        "    mesh: {box: [[-30, -30, 0], [30, 30, 60]], cells: [7, 7, 7]}\n"
                        "    material: {law: mooney_rivlin, c10: 0.4 kPa, c01: 0.1 kPa, poisson: 0.45, density: 1000 "
                        "kg/m^3}\n"
                        "    fixed: [{group: zmin}]\n"
                        "    prescribed: [{name: pull, group: zmax, displacement: [0, 0, 1]}]\n"
                        "motion: {keyframes: [{t: 0, pull: 0}, {t: 4, pull: %.9g}]}\n",
                        1e3 * z);
        tdState *state = scene_state(model);
        scene_steps(model, state, 4);
        force[2] = 0;
        for (int64_t k = 0; k < model->bodies[0].nodes; k++)
            force[2] +=
                ((const tdSoft *)model->bodies[0].data)->rest[3 * k + 2] > 0.03 ? state->reaction[3 * k + 2] : 0;
        scene_free(model, state);
        assert_near(felt[i], -force[2], 0.01 * fabs(force[2]));
        stiffness[i] = -felt[i] / z;
    }
    print_message("pulled %.3f N, %.1f N/m instead of %.1f; pushed %.3f N, %.1f N/m instead of %.1f\n", felt[1],
                  stiffness[1], stiffness[0], felt[3], stiffness[3], stiffness[2]);
    assert_true(stiffness[1] < 0.97 * stiffness[0] && stiffness[3] > 1.03 * stiffness[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_indentation), cmocka_unit_test(test_moving),      cmocka_unit_test(test_steady),
        cmocka_unit_test(test_slab),        cmocka_unit_test(test_incline),     cmocka_unit_test(test_factors),
        cmocka_unit_test(test_grasp),       cmocka_unit_test(test_grasp_heavy), cmocka_unit_test(test_grasp_slips),
        cmocka_unit_test(test_trocar),      cmocka_unit_test(test_two_tools),   cmocka_unit_test(test_wall),
        cmocka_unit_test(test_sweeps),      cmocka_unit_test(test_rest),        cmocka_unit_test(test_elongation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
