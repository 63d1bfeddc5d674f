// SPDX-License-Identifier: Apache-2.0
// The choice of elements: non-negative least squares by its optimality conditions, and the sketch by all rows.
#include "reduce/offline/ecsw.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double uniform(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 24);
}

// r = y - A xi: A'r = 0 where xi > 0 and <= 0 where xi = 0, relative to |a| |y|.
static void check_optimal(int rows, int n, const double *A, const double *y, const double *xi)
{
    double *r = malloc(sizeof(double) * (size_t)rows), size = 0;
    for (int i = 0; i < rows; i++)
    {
        r[i] = y[i];
        size += y[i] * y[i];
        for (int j = 0; j < n; j++)
            r[i] -= A[i + j * rows] * xi[j];
    }
    for (int j = 0; j < n; j++)
    {
        double dot = 0, length = 0;
        assert_true(xi[j] >= 0);
        for (int i = 0; i < rows; i++)
        {
            dot += A[i + j * rows] * r[i];
            length += A[i + j * rows] * A[i + j * rows];
        }
        double scaled = dot / sqrt(fmax(length * size, 1e-300));
        assert_true(scaled < 1e-9); // rounding of products that cancel
        if (xi[j] > 0)
            assert_true(scaled > -1e-9);
    }
    free(r);
}

static void test_nnls_is_optimal(void **state)
{
    (void)state;
    unsigned seed = 3;
    for (int trial = 0; trial < 300; trial++)
    {
        int rows = 1 + (int)(uniform(&seed) * 12), n = 1 + (int)(uniform(&seed) * 20), count = 0;
        double A[12 * 20 + 12], y[12], xi[20], residual = 0;
        for (int i = 0; i < rows * n; i++)
            A[i] = uniform(&seed) - 0.4;
        for (int i = 0; i < rows; i++)
            y[i] = uniform(&seed) - 0.3;
        if (trial % 3 == 0 && n > 1) // the same column twice
            memcpy(A + rows, A, sizeof(double) * (size_t)rows);
        if (trial % 5 == 0) // a column of nothing
            memset(A, 0, sizeof(double) * (size_t)rows);
        tdError error = {0};
        assert_ok(td_nnls(rows, n, A, y, 0, 0, NULL, NULL, xi, &count, &residual, &error), error);
        check_optimal(rows, n, A, y, xi);
    }
}

enum
{
    ROWS = 900,
    ELEMENTS = 3000,
    RANK = 40
};

// Smooth forces along a body: columns change slowly from element to element.
typedef struct Training
{
    int calls;
    double *sketched[64];
    double *sum[64];
    bool stored;
    size_t size;
} Training;

static tdStatus columns(void *user, int64_t begin, int64_t end, double *out, tdError *error)
{
    (void)error;
    static double of_time[ROWS][RANK];
    ((Training *)user)->calls++;
    for (int i = 0; i < ROWS && of_time[ROWS - 1][0] == 0; i++)
        for (int k = 1; k <= RANK; k++)
            of_time[i][k - 1] = sin(k * 3.1 * (i + 1) / ROWS + 0.3 * k) / (k * k);
    for (int64_t e = begin; e < end; e++)
    {
        double of_place[RANK];
        for (int k = 1; k <= RANK; k++)
            of_place[k - 1] = cos(k * 2.7 * (double)e / ELEMENTS);
        for (int i = 0; i < ROWS; i++)
        {
            double sum = 0.2;
            for (int k = 0; k < RANK; k++)
                sum += of_time[i][k] * of_place[k];
            out[(e - begin) * ROWS + i] = sum;
        }
    }
    return TD_OK;
}

static bool load(void *user, int sketch, int64_t begin, int64_t end, double *sketched, double *sum)
{
    Training *t = user;
    (void)end;
    assert_int_equal(sketch, 200);
    int64_t b = begin / 500;
    if (t->sketched[b] == NULL)
        return false;
    memcpy(sketched, t->sketched[b], t->size);
    memcpy(sum, t->sum[b], ROWS * sizeof(double));
    return true;
}

static tdStatus save(void *user, int sketch, int64_t begin, int64_t end, const double *sketched, const double *sum,
                     tdError *error)
{
    Training *t = user;
    (void)error;
    int64_t b = begin / 500;
    t->size = (size_t)sketch * sizeof(double) * (size_t)(end - begin);
    t->sketched[b] = malloc(t->size);
    t->sum[b] = malloc(ROWS * sizeof(double));
    memcpy(t->sketched[b], sketched, t->size);
    memcpy(t->sum[b], sum, ROWS * sizeof(double));
    return TD_OK;
}

static tdEcswResult choose(tdArena *arena, Training *training, double tau, const uint8_t *skip, int threads,
                           bool resumes)
{
    tdError error = {0};
    tdTasks *tasks = NULL;
    assert_ok(td_tasks_create(threads, &tasks, &error), error);
    tdEcswTask task = {.rows = ROWS,
                       .n = ELEMENTS,
                       .block = 500,
                       .columns = columns,
                       .user = training,
                       .tau = tau,
                       .sketch = 200,
                       .seed = 5,
                       .skip = skip,
                       .tasks = tasks,
                       .load = resumes ? load : NULL,
                       .save = resumes ? save : NULL};
    tdEcswResult result;
    assert_ok(td_ecsw(&task, arena, &result, &error), error);
    td_tasks_free(tasks);
    return result;
}

// The residual that is reported, from the columns themselves.
static double true_residual(const tdEcswResult *result)
{
    Training plain = {0};
    static double y[ROWS], r[ROWS], column[ROWS];
    memset(y, 0, sizeof y);
    for (int e = 0; e < ELEMENTS; e++)
    {
        columns(&plain, e, e + 1, column, NULL);
        for (int i = 0; i < ROWS; i++)
            y[i] += column[i];
    }
    memcpy(r, y, sizeof r);
    for (int k = 0; k < result->count; k++)
    {
        columns(&plain, result->element[k], result->element[k] + 1, column, NULL);
        for (int i = 0; i < ROWS; i++)
            r[i] -= result->weight[k] * column[i];
    }
    double top = 0, bottom = 0;
    for (int i = 0; i < ROWS; i++)
    {
        top += r[i] * r[i];
        bottom += y[i] * y[i];
    }
    return sqrt(top / bottom);
}

static void test_residual_is_true(void **state)
{
    (void)state;
    tdArena arena = {0};
    int last = 0;
    for (double tau = 0.1; tau > 2e-4; tau /= 10)
    {
        Training training = {0};
        tdEcswResult result = choose(&arena, &training, tau, NULL, 1, false);
        assert_true(result.error <= tau);
        assert_near(true_residual(&result), result.error, 1e-9 + 1e-6 * result.error);
        assert_true(result.count >= last && result.count < 200);
        for (int k = 0; k < result.count; k++)
            assert_true(result.weight[k] > 0 && (k == 0 || result.element[k] > result.element[k - 1]));
        last = result.count;
    }
    assert_true(last > 3);
    td_arena_free(&arena);
}

static void test_same_bits(void **state)
{
    (void)state;
    tdArena arena = {0};
    Training kept = {0}, plain = {0};
    tdEcswResult first = choose(&arena, &kept, 1e-3, NULL, 1, true);
    int calls = kept.calls;
    tdEcswResult again = choose(&arena, &kept, 1e-3, NULL, 1, true); // all blocks are there
    assert_true(kept.calls - calls < calls);
    tdEcswResult two = choose(&arena, &plain, 1e-3, NULL, 2, false);
    const tdEcswResult *others[] = {&again, &two};
    for (int k = 0; k < 2; k++)
    {
        assert_int_equal(others[k]->count, first.count);
        assert_memory_equal(others[k]->element, first.element, sizeof(int32_t) * (size_t)first.count);
        assert_memory_equal(others[k]->weight, first.weight, sizeof(double) * (size_t)first.count);
    }
    for (int b = 0; b < 64; b++)
    {
        free(kept.sketched[b]);
        free(kept.sum[b]);
    }
    td_arena_free(&arena);
}

static tdEcswResult choose_sketched(tdArena *arena, double tau, int sketch, int most, const uint8_t *skip)
{
    Training training = {0};
    tdError error = {0};
    const tdEcswTask task = {.rows = ROWS,
                             .n = ELEMENTS,
                             .block = 500,
                             .columns = columns,
                             .user = &training,
                             .tau = tau,
                             .sketch = sketch,
                             .most_sketch = most,
                             .seed = 5,
                             .skip = skip};
    tdEcswResult result;
    assert_ok(td_ecsw(&task, arena, &result, &error), error);
    return result;
}

// A sketch with fewer rows than elements are needed grows until all rows agree; where it may not, that is told. So it
// is where the elements that are left cannot do it.
static void test_small_sketch(void **state)
{
    (void)state;
    tdArena arena = {0};
    static uint8_t skip[ELEMENTS];
    tdEcswResult grown = choose_sketched(&arena, 1e-3, 8, 0, NULL);
    assert_int_equal(grown.end, TD_ECSW_WITHIN);
    assert_true(grown.count > 8 && grown.sketch_rows > 8 && grown.error <= 1e-3);
    assert_near(true_residual(&grown), grown.error, 1e-9);
    tdEcswResult stuck = choose_sketched(&arena, 1e-3, 8, 8, NULL);
    assert_int_equal(stuck.end, TD_ECSW_SKETCH);
    assert_true(stuck.sketch_rows == 8 && stuck.error > 1e-3 && stuck.count <= 8);
    assert_near(true_residual(&stuck), stuck.error, 1e-9);
    memset(skip, 1, sizeof skip);
    memset(skip, 0, 30); // from one end of the body, whose forces are much alike
    tdEcswResult few = choose_sketched(&arena, 1e-3, 40, 0, skip);
    assert_int_equal(few.end, TD_ECSW_COLUMNS);
    assert_true(few.error > 1e-3);
    memset(skip, 1, sizeof skip);
    tdEcswResult none = choose_sketched(&arena, 1e-3, 8, 0, skip);
    assert_true(none.count == 0 && none.end == TD_ECSW_COLUMNS);
    assert_near(none.error, 1, 0);
    td_arena_free(&arena);
}

// A sketch judges its choice too well, by some percent: what is within the tolerance on the sketch is not on all rows.
// Its own tolerance is then tightened, before more rows are taken: here none may be.
static void test_tightened(void **state)
{
    (void)state;
    tdArena arena = {0};
    const int sketch[] = {44, 44, 52};
    const double tau[] = {1 / 900.0, 1 / 2700.0, 1 / 300.0};
    for (int k = 0; k < 3; k++)
    {
        tdEcswResult result = choose_sketched(&arena, tau[k], sketch[k], sketch[k], NULL);
        assert_int_equal(result.end, TD_ECSW_WITHIN);
        assert_int_equal(result.sketch_rows, sketch[k]);
        assert_true(result.error <= tau[k] && result.sketched_error < 0.7 * tau[k]);
        assert_near(true_residual(&result), result.error, 1e-9);
    }
    td_arena_free(&arena);
}

/// What parts chose, kept as a work folder keeps it.
typedef struct Shares
{
    Training training;
    int saved, loaded, sketch;
    tdEcswShare kept[16];
} Shares;

static tdStatus columns_of_shares(void *user, int64_t begin, int64_t end, double *out, tdError *error)
{
    return columns(&((Shares *)user)->training, begin, end, out, error);
}

static tdStatus save_share(void *user, int sketch, const tdEcswShare *share, tdError *error)
{
    (void)error;
    Shares *shares = user;
    size_t count = (size_t)share->count;
    tdEcswShare *kept = &shares->kept[share->part];
    shares->saved++;
    shares->sketch = sketch;
    free(kept->column);
    free(kept->sketched);
    *kept = *share;
    kept->column = malloc(count * sizeof(int32_t) + 1);
    kept->sketched = malloc(count * (size_t)sketch * sizeof(double) + 1);
    memcpy(kept->column, share->column, count * sizeof(int32_t));
    memcpy(kept->sketched, share->sketched, count * (size_t)sketch * sizeof(double));
    return TD_OK;
}

static bool load_share(void *user, int sketch, tdEcswShare *share)
{
    Shares *shares = user;
    const tdEcswShare *kept = &shares->kept[share->part];
    size_t count = (size_t)kept->count;
    if (kept->column == NULL || kept->target != share->target || sketch != shares->sketch)
        return false;
    assert_true(kept->begin == share->begin && kept->end == share->end);
    shares->loaded++;
    share->count = kept->count;
    share->column = malloc(count * sizeof(int32_t) + 1);
    share->sketched = malloc(count * (size_t)sketch * sizeof(double) + 1);
    memcpy(share->column, kept->column, count * sizeof(int32_t));
    memcpy(share->sketched, kept->sketched, count * (size_t)sketch * sizeof(double));
    return true;
}

static tdEcswResult choose_in_parts(tdArena *arena, Shares *shares, double tau, int parts, int sketch,
                                    const uint8_t *skip)
{
    tdError error = {0};
    const tdEcswTask task = {.rows = ROWS,
                             .n = ELEMENTS,
                             .block = 100,
                             .columns = columns_of_shares,
                             .user = shares,
                             .tau = tau,
                             .sketch = sketch,
                             .seed = 5,
                             .skip = skip,
                             .parts = parts,
                             .load_share = load_share,
                             .save_share = save_share};
    tdEcswResult result;
    assert_ok(td_ecsw(&task, arena, &result, &error), error);
    return result;
}

static void forget(Shares *shares)
{
    for (int p = 0; p < 16; p++)
    {
        free(shares->kept[p].column);
        free(shares->kept[p].sketched);
    }
    *shares = (Shares){0};
}

// The same tolerance on all rows is met as without parts, with few more elements; what was chosen by parts before is
// not chosen again, and gives the same bits.
static void test_parts(void **state)
{
    (void)state;
    tdArena arena = {0};
    for (double tau = 0.05; tau > 4e-4; tau /= 10)
    {
        Training training = {0};
        tdEcswResult whole = choose(&arena, &training, tau, NULL, 1, false);
        for (int parts = 2; parts <= 10; parts += 4) // of 30 blocks
        {
            Shares shares = {0};
            tdEcswResult result = choose_in_parts(&arena, &shares, tau, parts, 200, NULL);
            assert_int_equal(result.end, TD_ECSW_WITHIN);
            assert_true(result.error <= tau);
            assert_near(true_residual(&result), result.error, 1e-9 + 1e-6 * result.error);
            assert_true(result.count <= whole.count + whole.count / 2 + 2);
            for (int k = 0; k < result.count; k++)
                assert_true(result.weight[k] > 0 && (k == 0 || result.element[k] > result.element[k - 1]));
            assert_true(shares.saved >= parts && shares.saved % parts == 0 && shares.loaded == 0);
            int saved = shares.saved;
            tdEcswResult again = choose_in_parts(&arena, &shares, tau, parts, 200, NULL);
            assert_true(saved > parts || (shares.saved == saved && shares.loaded == parts));
            assert_int_equal(again.count, result.count);
            assert_memory_equal(again.element, result.element, sizeof(int32_t) * (size_t)result.count);
            assert_memory_equal(again.weight, result.weight, sizeof(double) * (size_t)result.count);
            forget(&shares);
        }
    }
    td_arena_free(&arena);
}

// Elements that may not be chosen; parts in which all are such; a sketch that is too small at first.
static void test_parts_of_few(void **state)
{
    (void)state;
    tdArena arena = {0};
    static uint8_t skip[ELEMENTS];
    Shares shares = {0};
    memset(skip + 800, 1, 800); // the second of four parts, of 8 blocks each, and every second one of the others
    for (int e = 0; e < ELEMENTS; e += 2)
        skip[e] = 1;
    tdEcswResult half = choose_in_parts(&arena, &shares, 0.05, 4, 200, skip);
    assert_int_equal(half.end, TD_ECSW_WITHIN);
    assert_true(half.count > 0 && shares.kept[0].count > 0 && shares.kept[1].count == 0);
    for (int k = 0; k < half.count; k++)
        assert_int_equal(skip[half.element[k]], 0);
    assert_near(true_residual(&half), half.error, 1e-9);
    forget(&shares);
    tdEcswResult grown = choose_in_parts(&arena, &shares, 1e-3, 4, 8, NULL);
    assert_int_equal(grown.end, TD_ECSW_WITHIN);
    assert_true(grown.sketch_rows > 8 && grown.error <= 1e-3);
    forget(&shares);
    memset(skip, 1, ELEMENTS);
    tdEcswResult none = choose_in_parts(&arena, &shares, 1e-3, 4, 40, skip);
    assert_true(none.count == 0 && none.end == TD_ECSW_COLUMNS);
    assert_near(none.error, 1, 0);
    forget(&shares);
    td_arena_free(&arena);
}

static void test_second_choice(void **state)
{
    (void)state;
    tdArena arena = {0};
    Training training = {0};
    static uint8_t skip[ELEMENTS];
    tdEcswResult first = choose(&arena, &training, 1e-2, NULL, 1, false);
    for (int k = 0; k < first.count; k++)
        skip[first.element[k]] = 1;
    tdEcswResult second = choose(&arena, &training, 1e-2, skip, 1, false);
    assert_true(second.error <= 1e-2);
    for (int k = 0; k < second.count; k++)
        assert_false(skip[second.element[k]]);
    td_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nnls_is_optimal), cmocka_unit_test(test_residual_is_true),
                                       cmocka_unit_test(test_same_bits),       cmocka_unit_test(test_small_sketch),
                                       cmocka_unit_test(test_tightened),       cmocka_unit_test(test_parts),
                                       cmocka_unit_test(test_parts_of_few),    cmocka_unit_test(test_second_choice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
