// SPDX-License-Identifier: Apache-2.0
// R of a tall matrix by blocks of rows, and the deals by which ranks share them.
#include "test.h"

#include "base/hash.h"
#include "base/task.h"
#include "reduce/offline/crew.h"
#include "reduce/offline/tsqr.h"

#include <math.h>
#include <stdlib.h>

#define ROWS    80000
#define COLUMNS 7

// Columns of very different length, the last nearly dependent on the first: a Gram matrix would lose it.
static double entry(int64_t i, int j)
{
    double random = (double)(td_hash_mix((uint64_t)(i * COLUMNS + j)) >> 11) * 0x1p-53 - 0.5;
    if (j == COLUMNS - 1)
        return entry(i, 0) + 1e-10 * random;
    return random * pow(10, -j);
}

static tdStatus rows(void *user, int64_t begin, int64_t end, double *out, tdError *error)
{
    (void)user;
    (void)error;
    for (int j = 0; j < COLUMNS; j++)
        for (int64_t i = begin; i < end; i++)
            *out++ = entry(i, j);
    return TD_OK;
}

static void decompose(const tdTsqr *plan, double *R)
{
    tdError error = {0};
    tdTsqrTree *tree = NULL;
    const double *root = NULL;
    assert_ok(td_tsqr_tree_create(plan->m, &tree, &error), error);
    for (int64_t u = 0; u < plan->units; u++)
    {
        assert_ok(td_tsqr_unit(plan, u, rows, NULL, R, &error), error);
        assert_ok(td_tsqr_tree_add(tree, R, &error), error);
    }
    assert_ok(td_tsqr_tree_end(tree, &root, &error), error);
    memcpy(R, root, COLUMNS * COLUMNS * sizeof *R);
    td_tsqr_tree_free(tree);
}

// |R x| = |X x| for any x, to rounding of the largest column, and so for the combination that nearly vanishes.
static void test_lengths(void **unused)
{
    (void)unused;
    tdTsqr plan = td_tsqr_plan(ROWS, COLUMNS);
    double R[COLUMNS * COLUMNS];
    assert_true(plan.units == 3); // the last not full
    assert_true(td_tsqr_bytes(&plan) < 1e7);
    decompose(&plan, R);
    for (int test = 0; test < 4; test++)
    {
        double x[COLUMNS], left = 0, right = 0;
        for (int j = 0; j < COLUMNS; j++)
            x[j] = test == 0 ? (j == 0) - (j == COLUMNS - 1) : cos(test + 2.5 * j) * pow(10, j);
        for (int64_t i = 0; i < ROWS; i++)
        {
            double sum = 0;
            for (int j = 0; j < COLUMNS; j++)
                sum += entry(i, j) * x[j];
            right += sum * sum;
        }
        for (int i = 0; i < COLUMNS; i++)
        {
            double sum = 0;
            for (int j = i; j < COLUMNS; j++)
                sum += R[i + COLUMNS * j] * x[j];
            left += sum * sum;
        }
        // 1e-10 beside 1: five digits are what double precision has of it, and a Gram matrix none.
        assert_near(sqrt(left), sqrt(right), (test == 0 ? 1e-4 : 1e-12) * sqrt(right));
    }
    for (int j = 0; j < COLUMNS; j++)
        for (int i = j + 1; i < COLUMNS; i++)
            assert_true(R[i + COLUMNS * j] == 0);
}

// Fewer rows than columns: the rest of R is zero.
static void test_flat(void **unused)
{
    (void)unused;
    tdTsqr plan = td_tsqr_plan(3, COLUMNS);
    double R[COLUMNS * COLUMNS];
    assert_true(plan.units == 1);
    decompose(&plan, R);
    for (int j = 0; j < COLUMNS; j++)
        for (int i = 3; i < COLUMNS; i++)
            assert_true(R[i + COLUMNS * j] == 0);
    double square = 0;
    for (int64_t i = 0; i < 3; i++)
        square += entry(i, 0) * entry(i, 0);
    assert_near(fabs(R[0]), sqrt(square), 1e-14);
}

// A tree over more units than it is deep: its parts are put together on the way. |R x| of n times the same is sqrt(n).
static void test_many_units(void **unused)
{
    (void)unused;
    enum
    {
        UNITS = 1000
    };
    const double one[4] = {2, 0, 1, 3};
    tdError error = {0};
    tdTsqrTree *tree = NULL;
    const double *R = NULL;
    assert_ok(td_tsqr_tree_create(2, &tree, &error), error);
    for (int u = 0; u < UNITS; u++)
        assert_ok(td_tsqr_tree_add(tree, one, &error), error);
    assert_ok(td_tsqr_tree_end(tree, &R, &error), error);
    assert_near(fabs(R[0]), 2 * sqrt(UNITS), 1e-10);
    assert_near(R[1], 0, 0);
    assert_near(fabs(R[3]), 3 * sqrt(UNITS), 1e-10);
    assert_near(R[0] * R[2], 2 * UNITS, 1e-8);
    td_tsqr_tree_free(tree);
}

typedef struct Counted
{
    tdDeal deal;
    int times[100];
} Counted;

static void take_numbers(void *context, int thread)
{
    (void)thread;
    Counted *counted = context;
    for (int64_t i = 0; (i = td_deal_next(&counted->deal, 1)) >= 0;)
        counted->times[i]++; // nobody else has this number
}

static void test_deal(void **unused)
{
    (void)unused;
    Counted counted = {0};
    tdTasks *tasks = NULL;
    tdError error = {0};
    assert_ok(td_tasks_create(3, &tasks, &error), error);
    td_deal_begin(&counted.deal, NULL, 100, NULL, NULL);
    td_parallel(tasks, 3, take_numbers, &counted);
    td_deal_end(&counted.deal);
    for (int i = 0; i < 100; i++)
        assert_int_equal(counted.times[i], 1);
    td_deal_begin(&counted.deal, NULL, 100, NULL, NULL);
    assert_int_equal(td_deal_next(&counted.deal, 0), 0);
    td_deal_stop(&counted.deal);
    assert_int_equal(td_deal_next(&counted.deal, 0), -1);
    td_deal_end(&counted.deal);
    td_tasks_free(tasks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_flat),
        cmocka_unit_test(test_many_units),
        cmocka_unit_test(test_deal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
