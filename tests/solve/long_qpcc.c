// SPDX-License-Identifier: Apache-2.0
// A hundred thousand random problems of inverse control beside exact contact, against an enumeration of modes.
#include "qpcc_random.h"

#include "base/timer.h"

#include <stdlib.h>

#define PROBLEMS 100000

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Most have few contacts, because enumerating those of twelve takes a quarter of a second.
static int most_contacts(int k)
{
    return k % 200 == 0 ? 12 : k % 20 == 0 ? 8 : 4;
}

static void test_problems(void **context)
{
    (void)context;
    static qpccProblem problem;
    static qpccOracle oracle;
    static double times[PROBLEMS];
    tdError error = {0};
    int far = 0, worse = 0, ends[4] = {0}, unknown = 0, large = 0;
    const char *text = getenv("TENDRIL_QPCC");
    int problems = text != NULL ? atoi(text) : PROBLEMS;
    problems = problems > 0 && problems < PROBLEMS ? problems : PROBLEMS;
    assert_int_equal(td_problem_create(&problem.problem, &error), TD_OK);
    for (int k = 0; k < problems; k++)
    {
        double before = 0;
        qpcc_random(&problem, (uint64_t)k, most_contacts(k));
        double start = td_seconds(), found = qpcc_run(&problem, 0, -1, &before);
        times[k] = 1e6 * (td_seconds() - start);
        ends[problem.problem->steer.end]++;
        worse += found > before * (1 + 1e-9) + 1e-9;
        large += problem.n_c > 8;
        if (found <= 2e-7)
            continue;
        far += qpcc_best(&oracle, &problem, found, 0.99) < found / 1.01 - 1e-7;
        unknown += oracle.nodes >= QPCC_MOST_NODES;
        if (k % 10000 == 9999)
            print_message("%d problems: %d worse than the start, %d not within 1 %% of the best\n", k + 1, worse, far);
    }
    qsort(times, (size_t)problems, sizeof *times, ascending);
    print_message(
        "%d problems, %d with more than 8 contacts: %d worse than the start, %d (%.2f %%) not within 1 %% of the "
        "best, %d not enumerated\n",
        problems, large, worse, far, 100.0 * far / problems, unknown);
    print_message("optimal %d, stationary %d, stalled %d, infeasible %d; median %.0f us, p90 %.0f us, p99 %.0f us\n",
                  ends[0], ends[1], ends[2], ends[3], times[problems / 2], times[problems * 9 / 10],
                  times[problems * 99 / 100]);
    assert_int_equal(worse, 0);
    assert_int_equal(unknown, 0);
    assert_true(far <= problems / 100);
    td_problem_free(problem.problem);
    td_arena_free(&problem.arena);
    td_arena_free(&oracle.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_problems)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
