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
    for (uint64_t seed = 1; seed <= 1500; seed++)
    {
        closedLoop loop = random_loop(seed);
        run_loop(&loop, 400);
        worst = fmax(worst, loop.given);
        limited += loop.limited > 0;
        if (!(loop.given <= 1e-3))
            fail_msg("motion %d: %g mJ were given", (int)seed, 1e3 * loop.given);
        assert_true(loop.most <= loop.max_force + 1e-12);
        assert_true(loop.jump <= 200 * loop.max_force * T * (1 + 1e-9));
    }
    print_message("most energy given in 1500 motions: %.3g mJ; %d needed the guard\n", 1e3 * worst, (int)limited);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits), cmocka_unit_test(test_silence), cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_energy), cmocka_unit_test(test_passive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
