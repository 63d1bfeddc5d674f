// SPDX-License-Identifier: Apache-2.0
// The rubber cylinder of S5 section VII-A in contact with its plates; the finest mesh is in
// tests/contact/long_contact.c.
#include "verify_press.h"

static void test_press(void **context)
{
    (void)context;
    verify_press(VERIFY_SLOW ? 2 : 3, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_press)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
