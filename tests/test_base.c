// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/task.h"

#include <stdatomic.h>

static void test_error_format(void **state)
{
    (void)state;
    tdError error = {0};
    char text[512];
    assert_int_equal(td_fail_at(&error, TD_ERROR_INPUT, "beam.yaml", 7, "bodies[0].mesh", "no such file"),
                     TD_ERROR_INPUT);
    td_error_format(&error, text, sizeof text);
    assert_string_equal(text, "beam.yaml:7: bodies[0].mesh: no such file");
    td_fail(&error, TD_ERROR_NUMERIC, "diverged");
    td_error_format(&error, text, sizeof text);
    assert_string_equal(text, "diverged");
    // An error built from its own text, as when a caller adds to a message.
    td_fail(&error, TD_ERROR_NUMERIC, "%s; try a smaller step", error.message);
    assert_string_equal(error.message, "diverged; try a smaller step");
}

static void test_arena(void **state)
{
    (void)state;
    tdArena arena = {0};
    for (int i = 0; i < 1000; i++)
    {
        size_t n = (size_t)(i * 37 % 5000);
        char *p = td_arena_take(&arena, n, 1);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % TD_ALIGN, 0);
        for (size_t k = 0; k < n; k++)
        {
            assert_int_equal(p[k], 0);
            p[k] = (char)i;
        }
    }
    assert_null(td_arena_take(&arena, SIZE_MAX / 2, 8));
    td_arena_free(&arena);
}

static void count_piece(void *context, int i)
{
    atomic_int *counts = context;
    atomic_fetch_add(&counts[i], 1);
}

static void test_parallel_runs_each_piece_once(void **state)
{
    (void)state;
    static atomic_int counts[1000];
    for (int threads = 1; threads <= 4; threads++)
    {
        tdTasks *tasks = NULL;
        assert_int_equal(td_tasks_create(threads, &tasks, NULL), TD_OK);
        for (int i = 0; i < 1000; i++)
            atomic_store(&counts[i], 0);
        for (int round = 0; round < 500; round++)
            td_parallel(tasks, 2 * round, count_piece, counts);
        for (int i = 0; i < 998; i++)
            assert_int_equal(atomic_load(&counts[i]), 499 - i / 2);
        td_tasks_free(tasks);
    }
}

static void test_dot_has_the_same_bits_for_any_threads(void **state)
{
    (void)state;
    enum
    {
        N = 100003
    };
    double *a = td_take(N, sizeof(double)), *b = td_take(N, sizeof(double));
    uint64_t random = 1;
    for (int i = 0; i < N; i++)
    {
        random = random * 6364136223846793005U + 1442695040888963407U;
        a[i] = (double)(random >> 11) * 0x1p-53 - 0.5;
        b[i] = 1.0 / (1 + i) - a[i];
    }
    double serial = td_dot(NULL, N, a, b), plain = 0;
    for (int64_t i = 0; i < N; i++)
        plain += a[i] * b[i];
    assert_near(serial, plain, 1e-9 * N);
    for (int threads = 1; threads <= 5; threads++)
    {
        tdTasks *tasks = NULL;
        assert_int_equal(td_tasks_create(threads, &tasks, NULL), TD_OK);
        double sum = td_dot(tasks, N, a, b);
        assert_memory_equal(&sum, &serial, sizeof sum);
        td_tasks_free(tasks);
    }
    free(a);
    free(b);
}

static void test_paths(void **state)
{
    (void)state;
    char out[64];
    assert_true(td_path_join(out, sizeof out, "a/b", "c.msh"));
    assert_string_equal(out, "a/b/c.msh");
    assert_true(td_path_join(out, sizeof out, "a/b", "/c.msh"));
    assert_string_equal(out, "/c.msh");
    td_path_extension(out, sizeof out, "a.b/C.MSH");
    assert_string_equal(out, ".msh");
    td_path_extension(out, sizeof out, "a.b/c");
    assert_string_equal(out, "");
    td_path_folder(out, sizeof out, "a/b/c.msh");
    assert_string_equal(out, "a/b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_format),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_parallel_runs_each_piece_once),
        cmocka_unit_test(test_dot_has_the_same_bits_for_any_threads),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
