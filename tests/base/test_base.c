// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/task.h"

#include <locale.h>
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

// The C library in the "C" locale, in which tests run, is the reference: the same bits and the same end.
static void expect_number(const char *text)
{
    char *end = NULL, *expected_end = NULL;
    double value = td_number(text, &end), expected = strtod(text, &expected_end);
    if (memcmp(&value, &expected, sizeof value) != 0 && !(isnan(value) && isnan(expected)))
        fail_msg("'%s' is read as %.17g, expected %.17g", text, value, expected);
    if (end != expected_end)
        fail_msg("'%s' ends at %d, expected %d", text, (int)(end - text), (int)(expected_end - text));
}

static void test_number(void **state)
{
    (void)state;
    static const char *const texts[] = {"0",
                                        "-0",
                                        "+1",
                                        "1.",
                                        ".5",
                                        "-.5e1",
                                        "1e5",
                                        "1E+05",
                                        "1e-5x",
                                        "1e",
                                        "1e+",
                                        "1ex",
                                        "1.5.2",
                                        "",
                                        ".",
                                        "-",
                                        "e5",
                                        " \t\n\v\f\r 7 8",
                                        "0x1p4",
                                        "-0X1.8",
                                        "0x",
                                        "inf",
                                        "-infinity",
                                        "nan",
                                        "nan(3)",
                                        "1e400",
                                        "-1e400",
                                        "1e-400",
                                        "4.9e-324",
                                        "2.2250738585072011e-308",
                                        "1.7976931348623157e308",
                                        "0e99999",
                                        "0.0e-99999",
                                        "1e99999999999",
                                        "123456789012345678901234567890",
                                        "0.000000000000000000000000000000000000000000001",
                                        "9007199254740993",
                                        "9007199254740992e1",
                                        "1e22",
                                        "1e23",
                                        "123e27",
                                        "18446744073709551615",
                                        "0.1",
                                        "0.3",
                                        "1,5",
                                        "3/4",
                                        "5<",
                                        "8.5e-27",
                                        "1.00000000000000011102230246251565",
                                        "00000000000000000000000000000001.5",
                                        "-1.25e-3,2"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        expect_number(texts[i]);
    assert_near(td_number("2.5", NULL), 2.5, 0);
    // Every length of mantissa and many exponents.
    uint64_t seed = 1;
    for (int i = 0; i < 200000; i++)
    {
        char text[64];
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        double a = (double)(seed >> 11) / 9007199254740992.0 * pow(10, (double)((int)(seed % 60) - 30));
        snprintf(text, sizeof text, i % 2 ? "%.*g" : "%.*e", 1 + (int)(seed >> 40) % 19, i % 3 ? a : -a);
        expect_number(text);
    }
}

// A locale with a decimal comma, made for the test where the system has none.
static bool set_comma(void)
{
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL)
        return true;
    if (system("localedef -i de_DE -f UTF-8 " TD_BUILD_DIR "/de_DE.UTF-8 >/dev/null 2>&1") != 0)
        return false;
    setenv("LOCPATH", TD_BUILD_DIR, 1);
    return setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL;
}

static void test_number_in_any_locale(void **state)
{
    (void)state;
    if (!set_comma())
        skip_because("there is no locale with a decimal comma, and localedef cannot make one");
    char *end = NULL;
    double wrong = strtod("0.5", NULL), quick = td_number("0.5", NULL), slow = td_number("0.5e-300", NULL);
    double comma = td_number("1,5", &end);
    setlocale(LC_NUMERIC, "C");
    assert_near(wrong, 0, 0); // or the locale would prove nothing
    assert_near(quick, 0.5, 0);
    assert_near(slow, 0.5e-300, 0);
    assert_near(comma, 1, 0);
    assert_string_equal(end, ",5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number),
        cmocka_unit_test(test_number_in_any_locale),
        cmocka_unit_test(test_error_format),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_parallel_runs_each_piece_once),
        cmocka_unit_test(test_dot_has_the_same_bits_for_any_threads),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
