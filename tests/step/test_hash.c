// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "test.h"

// Many keys, some twice: every entry is found, and nothing else.
static void test_find(void **state)
{
    (void)state;
    tdHash hash = {0};
    int64_t probe = -1;
    assert_null(td_hash_next(&hash, 7, &probe));
    for (int i = 0; i < 10000; i++)
        assert_true(td_hash_add(&hash, td_hash_mix((uint64_t)(i % 7500)), i));
    for (int i = 0; i < 8000; i++)
    {
        int found = 0;
        int64_t sum = 0;
        const int32_t *value;
        for (probe = -1; (value = td_hash_next(&hash, td_hash_mix((uint64_t)i), &probe)) != NULL; found++)
            sum += *value;
        assert_int_equal(found, i < 2500 ? 2 : i < 7500 ? 1 : 0);
        assert_int_equal(sum, i < 2500 ? 2 * i + 7500 : i < 7500 ? i : 0);
    }
    td_hash_free(&hash);
}

// Keys that differ only in their upper bits fall into one slot and push each other along.
static void test_collisions(void **state)
{
    (void)state;
    tdHash hash = {0};
    for (uint64_t i = 0; i < 100; i++)
        assert_true(td_hash_add(&hash, i << 32, (int32_t)i));
    for (uint64_t i = 0; i < 100; i++)
    {
        int64_t probe = -1;
        int32_t *value = td_hash_next(&hash, i << 32, &probe);
        assert_non_null(value);
        assert_int_equal(*value, i);
        *value = 5; // may be replaced
        assert_null(td_hash_next(&hash, i << 32, &probe));
    }
    td_hash_free(&hash);
}

static void test_bytes(void **state)
{
    (void)state;
    assert_true(td_hash_bytes("ab", 2) == td_hash_bytes("abc", 2));
    assert_true(td_hash_bytes("ab", 2) != td_hash_bytes("ba", 2));
    assert_true(td_hash_bytes("", 0) != td_hash_bytes("\0", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_collisions),
        cmocka_unit_test(test_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
