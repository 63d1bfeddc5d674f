// SPDX-License-Identifier: Apache-2.0
// A hundred thousand random problems of inverse control beside exact contact, against an enumeration of modes; some of
// them again with an enumeration whose programs are solved by a method of its own; contacts in space against a search
// without slopes. Seeds are such that nothing was tuned on. TENDRIL_QPCC=N runs the first N, TENDRIL_QPCC=A-B those
// from A to before B, so that the whole may be run in shares.
#include "qpcc_space.h"

#include <stdlib.h>
#include <time.h>

#define PROBLEMS 100000
#define MANY     2000
#define SPATIAL  20000
#define FIRST    7000000 // seed
#define CONTROL  2       // other starts that control makes; by default there are more

static qpccProblem problem;
static qpccOracle oracle;
static spaceOracle spatial;

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Most have few contacts, because enumerating those of twelve takes a quarter of a second.
static int most_contacts(int k)
{
    return k % 20 == 0 ? 12 : k % 5 == 0 ? 8 : 4;
}

// The share of `all` that is asked for; returns how many, and the first.
static int share(int all, int *first)
{
    const char *text = getenv("TENDRIL_QPCC"), *to = text != NULL ? strchr(text, '-') : NULL;
    int64_t from = to != NULL ? atoi(text) : 0, end = text == NULL ? PROBLEMS : atoi(to != NULL ? to + 1 : text);
    from = from >= 0 && from < PROBLEMS ? from : 0;
    end = end > from && end <= PROBLEMS ? end : PROBLEMS;
    *first = (int)(from * all / PROBLEMS);
    return (int)(end * all / PROBLEMS) - *first;
}

typedef struct tally
{
    int problems, worse, far, few_far, ends[4], unknown;
} tally;

static void add(tally *t, int k, double *times)
{
    double before = 0, best;
    double few = qpcc_run(&problem, 0, CONTROL, &before);
    double start = processor_seconds(), found = qpcc_run(&problem, 0, -1, &before);
    times[k] = 1e6 * (processor_seconds() - start);
    t->problems++;
    t->ends[problem.problem->steer.end]++;
    t->worse += found > before * (1 + 1e-9) + 1e-9 || few > before * (1 + 1e-9) + 1e-9;
    if (few <= 2e-7)
        return;
    best = qpcc_best(&oracle, &problem, fmax(few, found), 0.99);
    best = fmin(best, fmin(few, found));
    t->far += best < found / 1.01 - 1e-7;
    t->few_far += best < few / 1.01 - 1e-7;
    t->unknown += oracle.nodes >= QPCC_MOST_NODES;
}

static void print_tally(const char *name, const tally *t)
{
    print_message("%s: %d problems, %d worse than the start; not within 1 %% of the best %d (%.2f %%), with the starts "
                  "of control %d (%.2f %%); %d not enumerated; optimal %d, stationary %d, stalled %d, infeasible %d\n",
                  name, t->problems, t->worse, t->far, 100.0 * t->far / fmax(t->problems, 1), t->few_far,
                  100.0 * t->few_far / fmax(t->problems, 1), t->unknown, t->ends[0], t->ends[1], t->ends[2],
                  t->ends[3]);
}

// As many of each number of contacts from 9 to 12: those of the hundred thousand that have so many are few.
static void test_many(void **context)
{
    (void)context;
    static double times[MANY];
    tally many = {0};
    int first, problems = share(MANY, &first), found = 0;
    for (uint64_t k = 0; found < first + problems; k++)
    {
        qpcc_random(&problem, FIRST + 800000 + k, 12);
        if (problem.n_c > 8 && found++ >= first)
            add(&many, found - 1 - first, times);
    }
    print_tally("9 to 12 contacts, their own", &many);
    assert_int_equal(many.worse, 0);
    assert_true(many.far <= problems / 100);
}

static void test_problems(void **context)
{
    (void)context;
    static double times[PROBLEMS];
    tally few = {0}, many = {0}; // up to 8 contacts; more
    int first, problems = share(PROBLEMS, &first);
    for (int k = 0; k < problems; k++)
    {
        qpcc_random(&problem, FIRST + (uint64_t)(first + k), most_contacts(first + k));
        add(problem.n_c > 8 ? &many : &few, k, times);
        if (k % 10000 == 9999)
            print_message("%d problems: %d worse than the start, %d not within 1 %% of the best\n", k + 1,
                          few.worse + many.worse, few.far + many.far);
    }
    qsort(times, (size_t)problems, sizeof *times, ascending);
    print_tally("up to 8 contacts", &few);
    print_tally("9 to 12 contacts", &many);
    print_message("processor time: half below %.0f us, p90 %.0f us, p99 %.0f us\n", times[problems / 2],
                  times[problems * 9 / 10], times[problems * 99 / 100]);
    assert_int_equal(few.worse + many.worse, 0);
    assert_int_equal(few.unknown + many.unknown, 0);
    assert_true(few.far + many.far <= problems / 100);
}

// The enumeration itself, with programs by another method.
static void test_enumeration(void **context)
{
    (void)context;
    int off = 0, first, problems = share(2000, &first);
    for (int k = 0; k < problems; k++)
    {
        qpcc_random(&problem, FIRST + 500000 + (uint64_t)(first + k), 4);
        double ours = qpcc_best(&oracle, &problem, INFINITY, 1);
        oracle.interior = true;
        double other = qpcc_best(&oracle, &problem, INFINITY, 1);
        oracle.interior = false;
        off += fabs(ours - other) > 1e-3 * ours + 1e-5;
    }
    print_message("%d enumerations by two methods: %d differ by more than 0.1 %%\n", problems, off);
    assert_true(off <= problems / 1000);
}

static void test_space(void **context)
{
    (void)context;
    int far = 0, few_far = 0, differ = 0, first, problems = share(2000, &first);
    problem.solid = true;
    problem.most_y = 4;
    for (int k = 0; k < problems; k++)
    {
        double before = 0, y[QPCC_ACTUATORS];
        qpcc_random(&problem, FIRST + 600000 + (uint64_t)(first + k), 6);
        double few = qpcc_run(&problem, 0, CONTROL, &before), found = qpcc_run(&problem, 0, -1, &before);
        memcpy(y, problem.y, sizeof y);
        double same = qpcc_error_at(&problem, TD_SOLVE_COULOMB, y);
        differ += !(fabs(same - found) <= 1e-4 * before + 1e-6);
        double best = fmin(found, qpcc_search(&problem, TD_SOLVE_COULOMB, 60, y));
        far += best < found / 1.01 - 1e-5;
        few_far += best < few / 1.01 - 1e-5;
    }
    problem.solid = false;
    problem.most_y = 0;
    print_message("%d problems in space: %d (%.2f %%) not within 1 %% of the best of a search without slopes, with the "
                  "starts of control %d (%.2f %%); %d where sweeps end elsewhere than Newton's method\n",
                  problems, far, 100.0 * far / problems, few_far, 100.0 * few_far / problems, differ);
    assert_true(far <= problems / 50);
}

// Up to 12 contacts in space and 8 actuators, against branch and bound.
static void test_space_tree(void **context)
{
    (void)context;
    tally t[2] = {{0}}; // up to 6 contacts; more
    int first, problems = share(SPATIAL, &first), narrow = 0, slow = 0, nodes = 0;
    problem.solid = true;
    for (int k = 0; k < problems; k++)
    {
        double before = 0;
        bool whole = true;
        qpcc_random(&problem, FIRST + 900000 + (uint64_t)(first + k), most_contacts(first + k));
        tally *mine = &t[problem.n_c > 6];
        double few = qpcc_run(&problem, 0, CONTROL, &before), found = qpcc_run(&problem, 0, -1, &before);
        mine->problems++;
        mine->ends[problem.problem->steer.end]++;
        mine->worse += found > before * (1 + 1e-9) + 1e-9 || few > before * (1 + 1e-9) + 1e-9;
        if (few <= 2e-7)
            continue;
        spatial.sure = k % 10 == 0;
        double best = fmin(space_best(&spatial, &problem, fmax(few, found), 0.99, &whole), fmin(few, found));
        mine->far += best < found / 1.01 - 1e-5;
        mine->few_far += best < few / 1.01 - 1e-5;
        mine->unknown += !whole;
        narrow += spatial.narrow > 0;
        slow += spatial.sure ? (int)spatial.slow : 0;
        nodes += spatial.sure ? (int)spatial.nodes : 0;
    }
    problem.solid = false;
    print_tally("in space, up to 6 contacts", &t[0]);
    print_tally("in space, 7 to 12 contacts", &t[1]);
    print_message("%d with sectors that became as narrow as they may without a solution of the laws; of %d programs of "
                  "every tenth problem %d were said to have no solution, but have one\n",
                  narrow, nodes, slow);
    assert_int_equal(t[0].worse + t[1].worse, 0);
    assert_true(t[0].far + t[1].far <= problems / 100);
}

int main(void)
{
    tdError error = {0};
    if (td_problem_create(&problem.problem, &error) != TD_OK)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_enumeration), cmocka_unit_test(test_space_tree), cmocka_unit_test(test_space),
        cmocka_unit_test(test_many),        cmocka_unit_test(test_problems),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    td_problem_free(problem.problem);
    td_arena_free(&problem.arena);
    td_arena_free(&oracle.arena);
    td_arena_free(&spatial.arena);
    return failed;
}
