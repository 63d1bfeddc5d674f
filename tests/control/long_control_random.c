// SPDX-License-Identifier: Apache-2.0
// The smooth way of inverse control beside contact on some four thousand random problems (smooth_random.h), of seeds
// that nothing was tuned on.
#include "smooth_random.h"

#define SCENES 1000

static void test_random(void **context)
{
    (void)context;
    smoothTally t = {0};
    for (uint64_t k = 0; k < SCENES; k++)
        smooth_scene(&t, UINT64_C(5000000) + k, 40);
    print_message(
        "%d steps in contact: %d worse than their start; a search without slopes finds efforts that are better "
        "by 1 %% in %d (%.1f %%), by 5 %% in %d, by %.2f %% in the mean; %d end at the limit on steps; a "
        "simulation with the efforts is %.1e m off\n",
        t.n, t.worse, t.far, 100.0 * t.far / t.n, t.farther, 100 * t.mean / t.n, t.stalled, t.same);
    assert_true(t.n > 3 * SCENES);
    assert_int_equal(t.worse, 0);
    assert_true(t.same < 1e-8);
    assert_true(t.far <= 0.02 * t.n);
    assert_true(t.stalled <= 0.05 * t.n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
