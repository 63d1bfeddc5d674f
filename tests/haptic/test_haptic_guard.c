// SPDX-License-Identifier: Apache-2.0
// The guard before the motors: limits, slew, silence, nonsense, and passivity against a simulated hand.
#include "passive.h"

#define T 1e-3

static tdGuard guard_of(double max_force)
{
    tdGuard guard;
    tdGuardSettings settings = td_default_guard(T, max_force);
    td_guard_start(&guard, &settings);
    return guard;
}

// One tick at rest with a demand along z; returns what is applied.
static double tick(tdGuard *guard, const double *x, double demand)
{
    double force[3] = {0, 0, demand}, torque[3] = {0, 0, 0};
    td_guard(guard, x, x != NULL, force, torque);
    return force[2];
}

static const double origin[3] = {0, 0, 0};

static void test_limits(void **unused)
{
    (void)unused;
    tdGuard guard = guard_of(3);
    double last = 0, most = guard.settings.slew * T;
    for (int k = 0; k < 50; k++)
    {
        double now = tick(&guard, origin, 10);
        assert_true(now <= 3 + 1e-12 && now - last <= most * (1 + 1e-12));
        last = now;
    }
    assert_near(last, 3, 1e-12);
    assert_int_equal(guard.cuts, 50);
}

// No pose for 10 ms: to zero within 5 ms, straight; back when the device is heard again, by the slew.
static void test_silence(void **unused)
{
    (void)unused;
    tdGuard guard = guard_of(4);
    for (int k = 0; k < 50; k++)
        tick(&guard, origin, 2);
    for (int k = 1; k <= 10; k++)
        assert_near(tick(&guard, NULL, 2), 2, 1e-12);
    for (int k = 1; k <= 5; k++)
        assert_near(tick(&guard, NULL, 2), 2 * (1 - k / 5.), 1e-9);
    assert_int_equal(guard.fault, TD_GUARD_SILENT);
    for (int k = 0; k < 100; k++)
        assert_near(tick(&guard, NULL, 2), 0, 1e-12);
    assert_int_equal(guard.faults, 1);
    assert_near(tick(&guard, origin, 2), guard.settings.slew * T, 1e-12);
    assert_int_equal(guard.fault, TD_GUARD_FINE);
}

// A device that is away for a while and comes back elsewhere can be felt again: what moved it meanwhile was not our
// force, which had been gone by then.
static void test_comes_back(void **unused)
{
    (void)unused;
    tdGuard guard = guard_of(4);
    for (int k = 0; k < 50; k++)
        tick(&guard, origin, 2);
    for (int k = 0; k < 1000; k++)
        tick(&guard, NULL, 2);
    const double elsewhere[3] = {0, 0, 0.1};
    for (int k = 0; k < 10; k++)
        tick(&guard, elsewhere, 0);
    assert_true(guard.energy < 5e-3);
    double x[3] = {0, 0, 0.1}, force = 0;
    for (int k = 0; k < 100; k++) // presses by 5 mm
    {
        x[2] -= 5e-5;
        force = tick(&guard, x, 0.04 * k);
    }
    assert_near(force, 0.04 * 99, 1e-9);
}

// Poses that cannot be: no force from the same tick on; demands that cannot be: none until the demand has been zero.
static void test_nonsense(void **unused)
{
    (void)unused;
    const double bad[][3] = {{NAN, 0, 0}, {0, INFINITY, 0}, {0, 0, 1}};
    for (int i = 0; i < 3; i++)
    {
        tdGuard guard = guard_of(4);
        for (int k = 0; k < 50; k++)
            tick(&guard, origin, 2);
        assert_near(tick(&guard, bad[i], 2), 0, 0);
        assert_int_equal(guard.fault, TD_GUARD_BAD_POSE);
        assert_true(isfinite(guard.energy));
        assert_true(tick(&guard, origin, 2) > 0);
    }
    const double demand[] = {NAN, -INFINITY, 1e4};
    for (int i = 0; i < 3; i++)
    {
        tdGuard guard = guard_of(4);
        for (int k = 0; k < 50; k++)
            tick(&guard, origin, 2);
        double first = tick(&guard, origin, demand[i]);
        assert_true(i < 2 ? first == 0 : first < 2 && first > 0);
        for (int k = 0; k < 5; k++)
            tick(&guard, origin, 2);
        assert_near(tick(&guard, origin, 2), 0, 1e-12);
        assert_int_equal(guard.fault, TD_GUARD_BAD_FORCE);
        tick(&guard, origin, 0);
        assert_true(tick(&guard, origin, 2) > 0);
    }
}

// A force that goes with the motion gives no more than was put in.
static void test_energy(void **unused)
{
    (void)unused;
    tdGuard guard = guard_of(4);
    double x[3] = {0, 0, 0}, given = 0, last = 0;
    for (int k = 0; k < 400; k++) // down against 1 N for 20 mm, then up with 3 N
    {
        double before = x[2];
        x[2] += k < 200 ? -1e-4 : 1e-4;
        given += last * (x[2] - before);
        last = tick(&guard, x, k < 200 ? 1 : 3);
    }
    assert_true(given <= 1e-4);
    assert_true(guard.limited > 0);
    assert_true(given > -5e-3); // and all of it is given back, but what the encoders may not have seen
}

static void test_passive(void **unused)
{
    (void)unused;
    double worst = 0;
    int64_t limited = 0;
    static const uint64_t hard[] = {7009, 11082, 12396, 14016, 19368}; // faults while the hand is being given something
    for (uint64_t k = 1; k <= 1505; k++)
    {
        uint64_t seed = k <= 1500 ? k : hard[k - 1501];
        closedLoop loop = random_loop(seed);
        run_loop(&loop, 400);
        worst = fmax(worst, loop.given);
        limited += loop.limited > 0;
        if (!(loop.given <= 1e-3))
            fail_msg("motion %d: %g mJ were given", (int)seed, 1e3 * loop.given);
        assert_true(loop.most <= loop.max_force + 1e-12);
        assert_true(loop.jump <= 200 * loop.max_force * T * (1 + 1e-9));
    }
    print_message("most energy given in 1505 motions: %.3g mJ; %d needed the guard\n", 1e3 * worst, (int)limited);
    assert_true(limited > 500); // or the test would say nothing
    // Without the guard the same hands are given hundreds of times as much.
    double loose = 0;
    for (uint64_t seed = 1; seed <= 50; seed++)
    {
        closedLoop loop = random_loop(seed);
        loop.guarded = false;
        run_loop(&loop, 400);
        loose = fmax(loose, loop.given);
    }
    assert_true(loose > 0.05);
}

// A hand that leans on a wall of the stiffness that is published for the device's damping, k = 2 b / T, stands still
// for as long as it leans, a minute here: its force does not go to and fro by more than what the encoders make of it.
// Without the arm's damping nothing but the device's is there; with it a wall may be twice as stiff.
static void test_no_limit_cycle(void **unused)
{
    (void)unused;
    for (int trial = 0; trial < 12; trial++)
    {
        closedLoop wall = {.unrest = 0, .mu = 0};
        tdHandSettings settings = td_default_hand();
        settings.damping = 0.5 + 0.5 * (trial % 3);
        settings.mass = trial % 6 < 3 ? 0.1 : 0.3;
        settings.arm_damping = trial < 6 ? 0 : 5;
        wall.stiffness = (trial < 6 ? 2 : 4) * settings.damping / T;
        tdLocal *local = calloc(1, sizeof *local);
        uint64_t seed = 1;
        make_wall(&wall, &seed, local);
        const tdCoupling rigid = RIGID_COUPLING;
        tdFeelSettings feel_settings = td_default_feel();
        tdGuard guard = guard_of(10);
        tdFeel feel;
        tdHand hand;
        double x[3] = {0, 0, 5e-3}, low = INFINITY, high = -INFINITY;
        td_feel_start(&feel, &feel_settings);
        td_feel_take(&feel, local);
        td_hand_start(&hand, &settings, x);
        for (int k = 0; k < 60000; k++)
        {
            tdPose device = td_pose_identity();
            tdFelt felt;
            const double goal[3] = {0, 0, 5e-3 - 10e-3 * fmin(1, k / 300.)};
            td_hand_measure(&hand, x);
            memcpy(device.t, x, sizeof x);
            td_feel(&feel, &rigid, &device, 0, &felt);
            td_guard(&guard, x, true, felt.force, felt.torque);
            td_hand_move(&hand, felt.force, goal);
            low = k > 20000 ? fmin(low, felt.force[2]) : low;
            high = k > 20000 ? fmax(high, felt.force[2]) : high;
        }
        assert_true(low > 0.5);
        if (!(high - low <= 3 * wall.stiffness * settings.resolution))
            fail_msg("%g N/m, arm %g, mass %g: %g to %g N", wall.stiffness, settings.arm_damping, settings.mass, low,
                     high);
        free(local);
    }
}

// A hand leans on a wall that does not stand still, as of a simulation that is late, until there is no force left to be
// had: the wall has given what it may. When the wall is quiet again, so is the guard, after a few presses.
static void test_recovers(void **unused)
{
    (void)unused;
    static tdLocal local;
    for (uint64_t trial = 1; trial <= 4; trial++)
    {
        closedLoop wall = random_loop(trial);
        const tdCoupling rigid = RIGID_COUPLING;
        tdFeelSettings feel_settings = td_default_feel();
        tdHandSettings settings = td_default_hand();
        tdGuard guard = guard_of(wall.max_force);
        tdFeel feel;
        tdHand hand;
        uint64_t seed = trial;
        double x[3] = {0, 0, 5e-3}, felt_force = 0, asked = 0;
        wall.stiffness = 600;
        td_feel_start(&feel, &feel_settings);
        td_hand_start(&hand, &settings, x);
        for (int k = 0; k < 40000; k++)
        {
            double t = k * T, press = t < 20 ? fmin(1, t) : 0.5 + 0.5 * cos(M_PI * (t - 20));
            tdPose device = td_pose_identity();
            tdFelt felt;
            const double goal[3] = {0, 0, 5e-3 - 10e-3 * press};
            wall.unrest = t < 20 ? 0.3 : 0;
            if (k % 10 == 0)
            {
                make_wall(&wall, &seed, &local);
                td_feel_take(&feel, &local);
            }
            td_hand_measure(&hand, x);
            memcpy(device.t, x, sizeof x);
            td_feel(&feel, &rigid, &device, 0, &felt);
            asked += t > 30 ? fabs(felt.force[2]) : 0;
            td_guard(&guard, x, true, felt.force, felt.torque);
            felt_force += t > 30 ? fabs(felt.force[2]) : 0;
            td_hand_move(&hand, felt.force, goal);
        }
        assert_true(guard.limited > 1000); // or there was nothing to recover from
        assert_true(guard.most < 1e-3);
        assert_true(felt_force > 0.9 * asked);
    }
}

// Most energy that a hand on a handle that turns was given by a spring that comes late and changes [J].
static double turn_handle(uint64_t seed, bool guarded)
{
    enum
    {
        TICKS = 1500,
        LATEST = 20
    };
    double period = 1e-3, inertia = 1.25e-4 * between(&seed, 1, 8), arm = between(&seed, 0.05, 0.4),
           asked[LATEST + 1] = {0};
    double angle = 0, rate = 0, energy = 0, most = 0, stiffness = 0.5;
    int delay = (int)between(&seed, 0, LATEST + 0.999);
    tdGuardSettings settings = td_default_guard(period, 5);
    tdGuard guard;
    td_guard_start(&guard, &settings);
    for (int k = 0; k < TICKS; k++)
    {
        double seen = 2e-4 * floor(angle / 2e-4 + 0.5), still[3] = {0, 0, 0}, force[3] = {0, 0, 0};
        if (k % 10 == 0)
            stiffness = between(&seed, 0.3, 0.9);
        asked[k % (LATEST + 1)] = seen < 0 ? -stiffness * seen : 0; // a stop at zero
        double torque[3] = {0, 0, k < delay ? 0 : asked[(k - delay) % (LATEST + 1)]};
        const double rotation[4] = {cos(seen / 2), 0, 0, sin(seen / 2)};
        td_guard_turn(&guard, rotation);
        if (guarded)
            td_guard(&guard, still, true, force, torque);
        assert_true(!guarded || fabs(torque[2]) <= settings.max_torque * (1 + 1e-12));
        double goal = 0.6 * sin(2 * M_PI * 1.7 * period * k) + 0.2 * sin(2 * M_PI * 4.1 * period * k);
        rate += period / inertia * (torque[2] + arm * (goal - angle) - 0.01 * rate);
        angle += period * rate;
        energy += torque[2] * period * rate;
        most = fmax(most, energy);
    }
    return most;
}

// Torques give a hand no energy either.
static void test_passive_torque(void **unused)
{
    (void)unused;
    double most = 0, without = 0;
    for (uint64_t seed = 1; seed <= 60; seed++)
    {
        most = fmax(most, turn_handle(seed, true));
        without = fmax(without, turn_handle(seed, false));
    }
    assert_true(most < 1e-3);
    assert_true(without > 1e-2); // it has something to do
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),         cmocka_unit_test(test_silence),  cmocka_unit_test(test_comes_back),
        cmocka_unit_test(test_nonsense),       cmocka_unit_test(test_energy),   cmocka_unit_test(test_passive),
        cmocka_unit_test(test_no_limit_cycle), cmocka_unit_test(test_recovers), cmocka_unit_test(test_passive_torque),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
