// SPDX-License-Identifier: Apache-2.0
// An hour of each tree that nothing damps, with the defaults, at steps of 1 to 20 ms: never more energy than at the
// start. docs/rigid.md has what it prints.
#include "undamped.h"

#define HOUR 3600.0

static void watch_hour(undampedKind kind, int n, double h)
{
    tdModel *model = undamped_model(kind, n, h, "");
    tdState *state = undamped_state(model, kind);
    double start = undamped_energy(model, state), above = 0, below = 0, most = 0, last = 0;
    int64_t steps = llround(HOUR / h);
    for (int64_t i = 0; i < steps; i++)
    {
        robot_steps(model, state, 1);
        double kinetic = 0, potential = 0;
        for (int b = 0; b < model->n_bodies; b++)
        {
            robotSums sums = robot_sums(model, state, b);
            kinetic += sums.kinetic;
            potential += sums.potential;
        }
        last = kinetic + potential - start;
        assert_true(isfinite(last));
        most = fmax(most, kinetic);
        above = fmax(above, last);
        below = fmin(below, last);
    }
    printf("| %s", undamped_names[kind]);
    if (n > 0)
        printf(", %d hinges", n);
    printf(" | %.0f ms | %.3g J | %.1e | %.1e | %.1e |\n", 1e3 * h, most, above / most, -below / most, last / most);
    fflush(stdout);
    assert_true(above <= 1e-6 * most); // rounding of millions of steps
    td_state_free(state);
    td_model_free(model);
}

static void hour_of(undampedKind kind, int n)
{
    static const double steps[] = {0.02, 0.01, 0.005, 0.002, 0.001};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        watch_hour(kind, n, steps[i]);
}

static void pendulum_and_tops(void **unused)
{
    (void)unused;
    printf("| | step | most kinetic energy | above the start | below it | at the end |\n|---|---|---|---|---|---|\n");
    hour_of(UNDAMPED_PENDULUM, 0);
    hour_of(UNDAMPED_HEAVY, 0);
    hour_of(UNDAMPED_FREE, 0);
    hour_of(UNDAMPED_BOXES, 0);
}

static void short_chains(void **unused)
{
    (void)unused;
    hour_of(UNDAMPED_FLAT, 3);
    hour_of(UNDAMPED_FLAT, 10);
    hour_of(UNDAMPED_CHAIN, 3);
    hour_of(UNDAMPED_CHAIN, 5);
    hour_of(UNDAMPED_CHAIN, 10);
}

static void long_chains(void **unused)
{
    (void)unused;
    hour_of(UNDAMPED_CHAIN, 20);
    hour_of(UNDAMPED_CHAIN, 40);
    hour_of(UNDAMPED_FLAT, 40);
}

// Trees of all joints, thrown onto a floor or into it: all numbers stay finite, and no body gains energy by itself.
// What a floor gives to a tree that begins inside of it is told apart (docs/theory/energy.md).
static void thousand_starts(void **unused)
{
    (void)unused;
    uint64_t seed = 77;
    double worst = 0;
    for (int round = 0; round < 1000; round++)
    {
        bool flies = round % 2 == 0;
        char settings[200], body[200];
        double h = pow(10, -2.35 + 0.65 * next_random(&seed)); // 1 to 20 ms
        snprintf(settings, sizeof settings, "gravity: [0, 0, -9.81]\ntime_step: %.17g\nsteps: 1%s", h,
                 round % 3 < 2 ? "\ncontact: {}" : "");
        snprintf(body, sizeof body, "base: %s, transform: {translate: [0, 0, %g]}", flies ? "free" : "fixed",
                 0.3 + 0.3 * next_random(&seed));
        tdModel *model =
            robot_model(undamped_tree(&seed, 1 + round % 9, round % 7 < 3, round % 5 < 2), settings, body,
                        round % 3 < 2 ? "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}" : "");
        tdState *state = robot_state(model);
        for (int64_t i = 0; i < model->coords; i++)
            state->v[i] = (round % 4 != 0 ? 15 : 0) * next_random(&seed);
        for (int i = 0; i < 200; i++)
        {
            robot_steps(model, state, 1);
            assert_true(isfinite(undamped_energy(model, state)));
            worst = fmax(worst, state->report.energy_gain);
        }
        td_state_free(state);
        td_model_free(model);
    }
    printf("1,000 random starts: %.1e of the energy gained\n", worst);
    assert_true(worst < 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pendulum_and_tops), cmocka_unit_test(short_chains),
                                       cmocka_unit_test(thousand_starts), cmocka_unit_test(long_chains)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
