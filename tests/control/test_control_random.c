// SPDX-License-Identifier: Apache-2.0
// The smooth way of inverse control beside contact on random small problems (smooth_random.h).
#include "smooth_random.h"

static void test_random(void **context)
{
    (void)context;
    int n = 0, far = 0, worse = 0;
    double same = 0, mean = 0;
    long first = getenv("FIRST") ? atol(getenv("FIRST")) : 0, last = getenv("LAST") ? atol(getenv("LAST")) : 40;
    for (long k = first; k < last; k++)
    {
        smoothProblem p;
        smooth_begin(&p, (uint64_t)k);
        for (int i = 0; i < SMOOTH_STEPS; i++)
        {
            double found = smooth_step(&p), best[SMOOTH_EFFORTS];
            const tdReport *report = td_state_report(p.state);
            if (report->contacts_active > 0)
            {
                double start = smooth_at(&p, p.last), replayed = smooth_at(&p, p.found);
                double least = smooth_best(&p, 30, best);
                same = fmax(same, fabs(replayed - found));
                n++;
                worse += found > start * (1 + 1e-9);
                mean += (found - least) / found;
                far += least < found / 1.01 - 1e-6;
                if (getenv("SAY") && (least < found / 1.01 - 1e-6 || found > start*(1+1e-9)||fabs(replayed-found)>1e-7))
                    printf("%ld.%d n_y %d n_e %d ball %d contacts %d: start %.4g found %.6g replayed %.6g best %.6g mm end %d blocked %d steps %d\n", k, i, p.n_y, p.n_e,
                           p.ball, report->contacts_active, 1e3 * start, 1e3 * found, 1e3*replayed, 1e3 * least, report->inverse_end, report->contact_blocks, report->inverse_steps);
            }
            smooth_go_on(&p);
        }
        smooth_end(&p);
    }
    print_message("%d problems: %d worse than their start, %d not within 1 %% of the best found; mean %.2f %%; replayed "
                  "%.1e m\n",
                  n, worse, far, 100 * mean / n, same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
