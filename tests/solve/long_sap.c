// SPDX-License-Identifier: Apache-2.0
// A hundred thousand random contact problems: every one must be solved.
#include "sap_random.h"

#include "base/timer.h"

static void all_converge(void **unused)
{
    (void)unused;
    static randomProblem p;
    tdSap *sap = NULL;
    tdError error = {0};
    assert_ok(td_sap_create(&sap, &error), error);
    const int count = 100000;
    int roundoff = 0, most = 0, histogram[501] = {0}, shifted = 0;
    double worst = 0, worst_law = 0, worst_roundoff = 0, start = td_seconds(), solving = 0;
    for (int k = 0; k < count; k++)
    {
        random_problem(&p, sap, (uint64_t)k + 1);
        tdSapSettings settings = td_default_sap();
        settings.structure = k % 3;
        tdSapResult result;
        double before = td_seconds();
        tdStatus status = td_sap_solve(sap, NULL, &p.problem, &settings, &result, &error);
        solving += td_seconds() - before;
        assert_ok(status, error);
        double momentum = momentum_residual(&p.problem), law = law_residual(&p.problem);
        // 1e-6 is the tolerance; what rounding stopped must satisfy 1e-4.
        if (result.bound != 0 || !(momentum <= (result.roundoff > 0 ? 1e-4 : 1.0001e-6)) || !(law <= 1e-12))
            fail_msg("problem %d: %d iterations, residual %g, momentum %g, law %g, %d at round-off", k,
                     result.iterations, result.residual, momentum, law, result.roundoff);
        roundoff += result.roundoff > 0;
        shifted += result.shifted;
        worst_roundoff = fmax(worst_roundoff, result.roundoff_residual);
        most = result.iterations > most ? result.iterations : most;
        histogram[result.iterations]++;
        worst = fmax(worst, result.roundoff > 0 ? 0 : momentum);
        worst_law = fmax(worst_law, law);
    }
    int sum = 0, median = 0, high = 0;
    for (int i = 0; i < 501; i++)
    {
        sum += histogram[i];
        median = 2 * (sum - histogram[i]) < count ? i : median;
        high = 1000 * (int64_t)(sum - histogram[i]) < 999 * (int64_t)count ? i : high;
    }
    printf(
        "%d problems in %.1f s (solver %.1f s): iterations median %d, 99.9 %% %d, most %d; %d at round-off (residual "
        "to %.1e); momentum %.1e, laws %.1e; %d shifted factors\n",
        count, td_seconds() - start, solving, median, high, most, roundoff, worst_roundoff, worst, worst_law, shifted);
    td_sap_free(sap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_converge)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
