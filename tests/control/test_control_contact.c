// SPDX-License-Identifier: Apache-2.0
// Inverse control of a robot that touches: an arm beside a wall.
#include "scenes.h"

#define BODY                                                                                                           \
    "tendril: 1\n"                                                                                                     \
    "time_step: 10 ms\n"                                                                                               \
    "steps: 10\n"                                                                                                      \
    "gravity: [0, 0, -9.81]\n"                                                                                         \
    "bodies:\n"                                                                                                        \
    "  - name: arm\n"                                                                                                  \
    "    mesh: {box: [[0, -0.01, -0.01], [0.1, 0.01, 0.01]], cells: [8, 2, 2]}\n"                                      \
    "    material: {law: corotational, young: 250 kPa, poisson: 0.4, density: 1000}\n"                                 \
    "    damping: {stiffness: 5 ms}\n"                                                                                 \
    "    fixed: [{group: xmin}]\n"
#define WALL(y)                                                                                                        \
    "  - {name: wall, type: rigid, fixed: true, shape: {box: [0.04, 0.02, 0.08]}, transform: {translate: [0.1, " y     \
    ", 0]}}\n"
#define CONTACT "contact: {friction: 0.3}\n"
#define EXACT   "contact: {friction: 0.3, solver: nlcp}\n"
#define CABLE(name, y, z)                                                                                              \
    "  - {name: " name ", type: cable, body: arm, path: [[0.1, " y ", " z "], [0.05, " y ", " z "], [0, " y ", " z     \
    "]], drive: force, range: [0, 4 N], effort_rate: 40 N/s}\n"
#define CABLES                                                                                                         \
    "actuators:\n" CABLE("north", "0.01", "0") CABLE("south", "-0.01", "0") CABLE("up", "0", "0.01")                   \
        CABLE("down", "0", "-0.01")
#define TIP       "  - {name: tip, body: arm, point: [0.1, 0, 0]}\n"
#define EFFECTORS "effectors:\n"
#define STATIC    "integrator: {method: static}\n"

#define FACE     0.004 // of the wall at y = 0.024: where the middle of the tip is when its side touches
#define CABLES_N 4

typedef struct Efforts
{
    int n;
    double effort[400][CABLES_N];
} Efforts;

static void note(const tdModel *model, const tdState *state, Efforts *out)
{
    assert_true(out->n < 400);
    for (int a = 0; a < CABLES_N; a++)
        out->effort[out->n][a] = td_state_actuation(model, state, a).effort;
    out->n++;
}

static void set_target(const tdModel *model, tdState *state, int effector, double x, double y, double z)
{
    const double target[3] = {x, y, z};
    assert_int_equal(td_state_set_target(model, state, effector, target), TD_OK);
}

// From one target to another on a straight line.
static void lead(const tdModel *model, tdState *state, int effector, const double from[3], const double to[3],
                 int steps, Efforts *out)
{
    for (int k = 1; k <= steps; k++)
    {
        double s = (double)k / steps;
        set_target(model, state, effector, from[0] + s * (to[0] - from[0]), from[1] + s * (to[1] - from[1]),
                   from[2] + s * (to[2] - from[2]));
        scene_steps(model, state, 1);
        if (out != NULL)
            note(model, state, out);
    }
}

// The same efforts in a fresh simulation, without targets.
static tdState *replay(const tdModel *model, const Efforts *found)
{
    tdState *state = scene_state(model);
    for (int k = 0; k < found->n; k++)
    {
        for (int a = 0; a < CABLES_N; a++)
            td_state_set_input(model, state, td_model_actuator(model, a).input, found->effort[k][a]);
        scene_steps(model, state, 1);
    }
    return state;
}

static double distance(const double *a, const double *b)
{
    return hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
}

// Largest difference of the middle from the mean of the steps beside it: what is left is faster than 1 / (4 steps).
static double flutter(const Efforts *found, int from)
{
    double most = 0;
    for (int k = from + 2; k + 2 < found->n; k++)
        for (int a = 0; a < CABLES_N; a++)
        {
            const double *e = &found->effort[k][a];
            double mean = (e[-2 * CABLES_N] + e[-CABLES_N] + e[CABLES_N] + e[2 * CABLES_N]) / 4;
            most = fmax(most, fabs(*e - mean));
        }
    return most;
}

// Root mean square of what efforts do above 5 Hz, the largest of the cables: by Fourier's sums over the steps from
// `from` on, without their straight line, which is no oscillation.
static double above_5_hz(const Efforts *found, int from)
{
    int n = found->n - from;
    double most = 0, h = 0.01;
    for (int a = 0; a < CABLES_N; a++)
    {
        double first = found->effort[from][a], slope = (found->effort[found->n - 1][a] - first) / (n - 1), power = 0;
        for (int f = 1; f <= n / 2; f++)
        {
            double re = 0, im = 0;
            for (int k = 0; k < n; k++)
            {
                double e = found->effort[from + k][a] - first - slope * k, angle = 2 * M_PI * f * k / n;
                re += e * cos(angle) / n;
                im += e * sin(angle) / n;
            }
            if (f / (n * h) > 5)
                power += 2 * (re * re + im * im);
        }
        most = fmax(most, sqrt(power));
    }
    return most;
}

static const double start[3] = {0.099, 0, -0.003}, before[3] = {0.098, 0.003, -0.004},
                    behind[3] = {0.097, 0.012, -0.004};

// With Coulomb's law as it is the tip sticks where it met the wall: what is left along it is less than 0.5 % of the
// distance to the target, which no step is made for.
#define STUCK 7e-4

// The finger is soft: where it sticks it presses with 0.36 N, three times as much as where it slides, and gives way.
#define PRESSED 6e-4

// It goes to the wall, stops there, says what blocks it, does not shake, does not press with all it has, and comes off.
static void check_wall(const char *text, const char *what, double replayed, double along, double deep)
{
    tdModel *model = scene_parse(text);
    tdState *state = scene_state(model);
    Efforts found = {0};
    double tip[3], again[3], force[3], forward[3];
    lead(model, state, 0, start, before, 30, &found);
    assert_false(td_state_report(state)->out_of_reach);
    lead(model, state, 0, before, behind, 30, &found);
    int blocked = found.n;
    for (int k = 0; k < 60; k++)
    {
        scene_steps(model, state, 1);
        note(model, state, &found);
        const tdReport *report = td_state_report(state);
        assert_true(report->out_of_reach);
        assert_true(report->contact_blocks);
        assert_int_equal(report->blocking_body[0] + report->blocking_body[1], 1);
        assert_true(fabs(report->blocking_point[1] - 0.014) < 1e-3);
        assert_true(report->inverse_end == TD_INVERSE_STATIONARY);
    }
    td_state_effector(model, state, 0, tip);
    td_state_contact_force(state, 0, 1, force);
    print_message("%s: tip at y = %.3f mm, pressing with %.2f N; efforts flutter by %.1e N\n", what, 1e3 * tip[1],
                  force[1], flutter(&found, blocked));
    assert_true(tip[1] > FACE - 2e-4 && tip[1] < FACE + deep);
    assert_true(fabs(tip[2] - behind[2]) < along); // along the wall it is where it should be
    assert_true(flutter(&found, blocked) < 0.01);
    print_message("%s: efforts above 5 Hz: %.1e N\n", what, above_5_hz(&found, blocked));
    assert_true(above_5_hz(&found, blocked) < 5e-3);
    for (int a = 0; a < CABLES_N; a++)
        assert_true(found.effort[found.n - 1][a] < (along > 2e-4 ? 3.2 : 2.5)); // of 4
    tdState *fresh = replay(model, &found);
    td_state_effector(model, fresh, 0, again);
    td_state_contact_force(fresh, 0, 1, forward);
    print_message("%s: replayed to %.1e mm, force to %.1e N\n", what, 1e3 * distance(tip, again),
                  distance(force, forward));
    assert_true(distance(tip, again) < replayed);
    assert_true(distance(force, forward) < 0.02 * fmax(distance(force, (double[3]){0}), 0.1));
    td_state_free(fresh);
    // However far behind the wall the target is, it is the wall that blocks.
    for (int k = 0; k < 40; k++)
    {
        set_target(model, state, 0, behind[0], k < 20 ? 0.1 : 1, behind[2]);
        scene_steps(model, state, 1);
        const tdReport *report = td_state_report(state);
        assert_true(k % 20 < 10 || (report->contact_blocks && fabs(report->blocking_point[1] - 0.014) < 1e-3));
    }
    lead(model, state, 0, behind, start, 60, NULL);
    td_state_effector(model, state, 0, tip);
    assert_false(td_state_report(state)->contact_blocks);
    assert_true(distance(tip, start) < 1e-7);
    scene_free(model, state);
}

static void test_wall(void **context)
{
    (void)context;
    check_wall(BODY WALL("0.024") CONTACT CABLES EFFECTORS TIP, "dynamic", 2e-5, 2e-4, 5e-4);
    check_wall(BODY WALL("0.024") CONTACT CABLES EFFECTORS TIP STATIC, "static", 1e-6, 2e-4, 5e-4);
    check_wall(BODY WALL("0.024") EXACT CABLES EFFECTORS TIP, "dynamic, exact", 2e-5, STUCK, PRESSED);
    check_wall(BODY WALL("0.024") EXACT CABLES EFFECTORS TIP STATIC, "static, exact", 1e-6, STUCK, PRESSED);
}

// The target goes through the wall and back, again and again: it touches once each time, efforts change no faster than
// their rate allows when a contact opens or closes, and little of that is fast.
static void check_switches(const char *contact, const char *what)
{
    double change[2] = {0}, above[2];
    int switches = 0;
    for (int wall = 0; wall < 2; wall++)
    {
        tdModel *model = scene_model(BODY "%s%s" CABLES EFFECTORS TIP, wall ? WALL("0.024") : "", wall ? contact : "");
        tdState *state = scene_state(model);
        Efforts found = {0};
        bool touched = false;
        for (int k = 0; k < 250; k++)
        {
            set_target(model, state, 0, 0.098, 0.004 * (1 - cos(2 * M_PI * k / 100)), -0.004);
            scene_steps(model, state, 1);
            note(model, state, &found);
            bool touches = wall && td_state_report(state)->contacts_active > 0;
            switches += touches != touched;
            touched = touches;
            for (int a = 0; a < CABLES_N && k > 20; a++)
                change[wall] = fmax(change[wall], fabs(found.effort[k][a] - found.effort[k - 1][a]));
        }
        above[wall] = above_5_hz(&found, 20);
        scene_free(model, state);
    }
    print_message(
        "%s: %d switches, efforts change by %.3f N a step (%.3f N without a wall), above 5 Hz %.4f N (%.4f N)\n", what,
        switches, change[1], change[0], above[1], above[0]);
    assert_true(switches >= 4 && switches <= 6);
    assert_true(change[1] <= 0.4 + 1e-9); // 40 N/s
    assert_true(above[1] <= 0.15);
}

static void test_switches(void **context)
{
    (void)context;
    check_switches(CONTACT, "convex");
    check_switches(EXACT, "exact");
}

// A wall that is not in reach: the same bits as without one.
static void test_far_away(void **context)
{
    (void)context;
    for (int exact = 0; exact < 2; exact++)
    {
        tdModel *with = scene_model(BODY WALL("0.5") "%s" CABLES EFFECTORS TIP "%s", exact ? EXACT : CONTACT, "");
        tdModel *without = scene_parse(BODY CABLES EFFECTORS TIP);
        tdState *a = scene_state(with), *b = scene_state(without);
        for (int k = 0; k < 30; k++)
        {
            set_target(with, a, 0, 0.098, 2e-4 * k, -0.004);
            set_target(without, b, 0, 0.098, 2e-4 * k, -0.004);
            scene_steps(with, a, 1);
            scene_steps(without, b, 1);
            for (int i = 0; i < CABLES_N; i++)
                assert_true(td_state_actuation(with, a, i).effort == td_state_actuation(without, b, i).effort);
        }
        scene_free(with, a);
        scene_free(without, b);
    }
}

#define PRESS "  - {name: press, type: contact_force, body: arm, against: wall%s}\n"

static tdModel *pressing(const char *more, const char *tip)
{
    return scene_model(BODY WALL("0.0205") CONTACT CABLES EFFECTORS PRESS "%s", more, tip);
}

static double pressed(const tdModel *model, const tdState *state)
{
    double value[3];
    td_state_effector(model, state, 0, value);
    return value[0];
}

// Presses with the force that was asked for, from a start off the wall, and a fresh simulation presses alike.
static void test_force(void **context)
{
    (void)context;
    tdModel *model = pressing("", "  - {name: tip, body: arm, point: [0.1, 0, 0], axes: z}\n");
    tdState *state = scene_state(model);
    Efforts found = {0};
    double force[3], worst = 0;
    for (int k = 0; k < 120; k++)
    {
        double newton = k < 60 ? 0.3 : 0.15;
        assert_int_equal(td_state_set_target(model, state, 0, &newton), TD_OK);
        set_target(model, state, 1, 0, 0, -0.003);
        scene_steps(model, state, 1);
        note(model, state, &found);
        td_state_contact_force(state, 0, 1, force);
        assert_near(pressed(model, state), force[1], 1e-9 + 0.01 * force[1]); // the wall's normal is y
        if (k % 60 > 40)
            worst = fmax(worst, fabs(pressed(model, state) - newton));
    }
    tdState *fresh = replay(model, &found);
    print_message("pressed to %.1e N; replayed to %.1e N\n", worst,
                  fabs(pressed(model, fresh) - pressed(model, state)));
    assert_true(worst < 2e-3);
    assert_true(fabs(pressed(model, fresh) - 0.15) < 2e-3);
    td_state_free(fresh);
    scene_free(model, state);
}

// A target behind the wall, and no more force than so much; a limit of nothing keeps it off.
static void test_force_limit(void **context)
{
    (void)context;
    for (int k = 0; k < 2; k++)
    {
        tdModel *model = pressing(k == 0 ? ", range: [0, 0.1 N]" : ", range: [0, 0]", TIP);
        tdState *state = scene_state(model);
        double most = 0, tip[3];
        int above = 0;
        set_target(model, state, 1, 0.098, 0, -0.004);
        scene_steps(model, state, 10);
        lead(model, state, 1, (double[3]){0.098, 0, -0.004}, (double[3]){0.097, 0.012, -0.004}, 50, NULL);
        for (int i = 0; i < 50; i++)
        {
            scene_steps(model, state, 1);
            most = fmax(most, pressed(model, state));
            const tdReport *report = td_state_report(state);
            double excess = pressed(model, state) - (k == 0 ? 0.1 : 0);
            // What is more is reported; by more than a mN it is only where rates of efforts do not let it stop in the
            // step.
            assert_true(excess <= report->bound_violation + 1e-9);
            assert_true(excess <= 1e-3 || report->inverse_end == TD_INVERSE_INFEASIBLE);
            above += excess > 1e-3;
        }
        td_state_effector(model, state, 1, tip);
        print_message("at most %.4f N, tip at y = %.3f mm\n", most, 1e3 * tip[1]);
        assert_true(above == 0 && most <= (k == 0 ? 0.101 : 1e-3));
        assert_true(tip[1] > -5e-4);
        scene_free(model, state);
    }
}

// The tip is drawn along the wall while it presses: friction is used no further than it may.
static void test_friction_use(void **context)
{
    (void)context;
    double used[2];
    for (int k = 0; k < 2; k++)
    {
        tdModel *model = scene_model(BODY WALL("0.0205") CONTACT CABLES EFFECTORS PRESS
                                     "  - {name: tip, body: arm, point: [0.1, 0, 0], axes: z, weight: 0.01}\n"
                                     "  - {name: grip, type: friction_use, body: arm%s}\n",
                                     "", k == 0 ? "" : ", range: [0, 0.5]");
        tdState *state = scene_state(model);
        double newton = 0.2, value[3];
        used[k] = 0;
        for (int i = 0; i < 100; i++)
        {
            assert_int_equal(td_state_set_target(model, state, 0, &newton), TD_OK);
            set_target(model, state, 1, 0, 0, i < 50 ? -0.003 : -0.003 + 1e-4 * (i - 50));
            scene_steps(model, state, 1);
            td_state_effector(model, state, 2, value);
            used[k] = i >= 60 ? fmax(used[k], value[0]) : 0; // after it has settled
            // The limit holds, or the report tells by how much it does not.
            assert_true(k == 0 || value[0] < 0.51 + td_state_report(state)->bound_violation);
        }
        scene_free(model, state);
    }
    print_message("friction used: %.2f, with a limit %.2f\n", used[0], used[1]);
    assert_true(used[0] > 0.58);
    assert_true(used[1] < 0.8 * used[0]);
}

// Two targets that cannot both be reached, without contact: the first is, whatever the weights.
static void test_priority(void **context)
{
    (void)context;
    double reached[2];
    for (int k = 0; k < 2; k++)
    {
        tdModel *model = scene_model(BODY CABLES EFFECTORS
                                     "  - {name: tip, body: arm, point: [0.1, 0, 0]%s}\n"
                                     "  - {name: middle, body: arm, point: [0.05, 0, 0], weight: 100%s}\n" STATIC,
                                     "", k == 0 ? "" : ", priority: 2");
        tdState *state = scene_state(model);
        double tip[3];
        for (int i = 0; i < 8; i++)
        {
            set_target(model, state, 0, 0.098, 0.004, -0.004);
            set_target(model, state, 1, 0.05, -0.001, -0.001);
            scene_steps(model, state, 1);
        }
        td_state_effector(model, state, 0, tip);
        reached[k] = distance(tip, (double[3]){0.098, 0.004, -0.004});
        assert_true(td_state_report(state)->out_of_reach);
        scene_free(model, state);
    }
    print_message("tip off by %.3g mm by weights, by %.3g mm by priority\n", 1e3 * reached[0], 1e3 * reached[1]);
    assert_true(reached[0] > 1e-3);
    assert_true(reached[1] < 1e-7);
}

static void refuse(const char *text, const char *reason)
{
    tdModel *model = NULL;
    tdError error = {0};
    tdStatus status = td_model_parse(text, strlen(text), "test.yaml", ".", NULL, &model, &error);
    if (status != TD_ERROR_INPUT || strstr(error.message, reason) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, reason);
    td_model_free(model);
}

static void test_refusals(void **context)
{
    (void)context;
    refuse(BODY CABLES EFFECTORS "  - {name: p, type: contact_force, body: arm}\n", "the scene has none");
    refuse(BODY WALL("0.024") CONTACT CABLES EFFECTORS "  - {name: p, type: contact_force, body: arm, against: arm}\n",
           "is the body itself");
    refuse(BODY WALL("0.024") CONTACT CABLES EFFECTORS
           "  - {name: p, type: contact_force, body: arm, point: [0, 0, 0]}\n",
           "takes no 'point'");
    refuse(BODY WALL("0.024") CONTACT CABLES EFFECTORS
           "  - {name: p, type: contact_force, body: arm, range: [-2 N, -1 N]}\n",
           "never below 0");
    refuse(BODY WALL("0.024") CONTACT CABLES EFFECTORS "  - {name: p, body: arm, point: [0.1, 0, 0], range: [0, 1]}\n",
           "takes no 'range'");
    refuse(BODY WALL("0.024") CONTACT CABLES EFFECTORS "  - {name: p, type: contact_force, body: arm, target: -1 N}\n",
           "must not be negative");
    refuse(BODY CABLES EFFECTORS "  - {name: p, body: arm, point: [0.1, 0, 0], priority: 2}\n"
                                 "control: {solver: gauss_seidel}\n",
           "has a priority");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wall),     cmocka_unit_test(test_switches),    cmocka_unit_test(test_far_away),
        cmocka_unit_test(test_force),    cmocka_unit_test(test_force_limit), cmocka_unit_test(test_friction_use),
        cmocka_unit_test(test_priority), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
