// SPDX-License-Identifier: Apache-2.0
// Inverse control beside contact, the smooth way, against a search that knows no slopes: from the same state, efforts
// all over what limits and rates allow in a step, each tried in a forward simulation, then steps along axes and random
// directions that become shorter. What control finds may be no farther from the target than the best of these.
#include "scenes.h"

#define CABLES 4
#define RATE   0.4 // [N] in a step
#define MOST   4.0 // [N]

#define SCENE                                                                                                          \
    "tendril: 1\ntime_step: 10 ms\nsteps: 10\ngravity: [0, 0, -9.81]\n"                                                \
    "contact: {friction: %g}\n"                                                                                        \
    "bodies:\n"                                                                                                        \
    "  - name: arm\n"                                                                                                  \
    "    mesh: {box: [[0, -0.01, -0.01], [0.1, 0.01, 0.01]], cells: [6, 2, 2]}\n"                                      \
    "    material: {law: corotational, young: 250 kPa, poisson: 0.4, density: 1000}\n"                                 \
    "    damping: {stiffness: 5 ms}\n"                                                                                 \
    "    fixed: [{group: xmin}]\n"                                                                                     \
    "  - {name: wall, type: rigid, fixed: true, shape: {box: [0.04, 0.02, 0.08]}, transform: {rotate: [0, 0, %g deg]," \
    " translate: [0.1, %g, 0]}}\n"                                                                                     \
    "actuators:\n" CABLE("north", "0.01", "0") CABLE("south", "-0.01", "0") CABLE("up", "0", "0.01")                   \
        CABLE("down", "0", "-0.01") "effectors: [{name: tip, body: arm, point: [0.1, 0, 0]}]\n"
#define CABLE(name, y, z)                                                                                              \
    "  - {name: " name ", type: cable, body: arm, path: [[0.1, " y ", " z "], [0.05, " y ", " z "], [0, " y ", " z     \
    "]], drive: force, range: [0, 4 N], effort_rate: 40 N/s}\n"

static double random_in(uint64_t *seed, double low, double high)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return low + (high - low) * (double)(*seed >> 11) * 0x1p-53;
}

typedef struct trial
{
    const tdModel *model;
    const tdState *from;
    tdState *state;
    double target[3], low[CABLES], high[CABLES];
} trial;

static double distance_at(const trial *t, const double *y)
{
    tdError error = {0};
    double tip[3];
    assert_ok(td_state_copy(t->model, t->state, t->from, &error), error);
    for (int a = 0; a < CABLES; a++)
        td_state_set_input(t->model, t->state, td_model_actuator(t->model, a).input, y[a]);
    scene_steps(t->model, t->state, 1);
    td_state_effector(t->model, t->state, 0, tip);
    return hypot(hypot(tip[0] - t->target[0], tip[1] - t->target[1]), tip[2] - t->target[2]);
}

static double search(const trial *t, const double *found, uint64_t *seed)
{
    double best[CABLES], least = distance_at(t, found), y[CABLES];
    memcpy(best, found, sizeof best);
    for (int k = 0; k < 40; k++)
    {
        for (int a = 0; a < CABLES; a++)
            y[a] = random_in(seed, t->low[a], t->high[a]);
        double value = distance_at(t, y);
        if (value < least)
        {
            least = value;
            memcpy(best, y, sizeof y);
        }
    }
    for (double length = 0.25; length > 1e-3;)
    {
        bool better = false;
        for (int k = 0; k < 3 * CABLES && !better; k++)
        {
            for (int a = 0; a < CABLES; a++)
            {
                double way = k < 2 * CABLES ? (a == k / 2 ? 1 - 2 * (k % 2) : 0) : random_in(seed, -1, 1);
                y[a] = fmin(fmax(best[a] + length * way * 2 * RATE, t->low[a]), t->high[a]);
            }
            double value = distance_at(t, y);
            better = value < least;
            if (better)
            {
                least = value;
                memcpy(best, y, sizeof y);
            }
        }
        length *= better ? 1.5 : 0.5;
    }
    return least;
}

static void test_search(void **context)
{
    (void)context;
    uint64_t seed = 20261117;
    double worst = 0, mean = 0;
    int n = 0, far = 0, touching = 0;
    for (int k = 0; k < 12; k++)
    {
        double friction = random_in(&seed, 0, 0.6), turn = random_in(&seed, -20, 20),
               at = random_in(&seed, 0.022, 0.026);
        tdModel *model = scene_model(SCENE, friction, turn, at);
        tdState *state = scene_state(model), *fresh = scene_state(model), *spare = scene_state(model);
        trial t = {.model = model, .from = fresh, .state = spare};
        double goal[3] = {0.097, random_in(&seed, 0.004, 0.014), random_in(&seed, -0.008, 0.002)}, last[CABLES] = {0};
        for (int s = 1; s <= 60; s++)
        {
            double share = fmin(s / 40.0, 1), y[CABLES];
            t.target[0] = 0.099 + share * (goal[0] - 0.099);
            t.target[1] = share * goal[1];
            t.target[2] = -0.003 + share * (goal[2] + 0.003);
            assert_int_equal(td_state_set_target(model, state, 0, t.target), TD_OK);
            scene_steps(model, state, 1);
            for (int a = 0; a < CABLES; a++)
            {
                y[a] = td_state_actuation(model, state, a).effort;
                t.low[a] = fmax(0, last[a] - RATE);
                t.high[a] = fmin(MOST, last[a] + RATE);
                last[a] = y[a];
            }
            bool touches = td_state_report(state)->contacts_active > 0;
            if (touches && s % 8 == 0)
            {
                double found = distance_at(&t, y), best = search(&t, y, &seed), more = found - best;
                worst = fmax(worst, more);
                mean += more;
                far += more > 0.05 * found && more > 2e-5;
                touching++;
                n++;
            }
            for (int a = 0; a < CABLES; a++)
                td_state_set_input(model, fresh, td_model_actuator(model, a).input, y[a]);
            scene_steps(model, fresh, 1);
        }
        td_state_free(fresh);
        td_state_free(spare);
        scene_free(model, state);
    }
    print_message(
        "%d steps in contact: a search without slopes comes nearer by %.4f mm in the mean, %.4f mm at most; %d "
        "(%.1f %%) by more than 5 %% of the distance and 0.02 mm\n",
        n, 1e3 * mean / n, 1e3 * worst, far, 100.0 * far / n);
    assert_true(touching > 20);
    assert_true(far <= n / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_search)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
