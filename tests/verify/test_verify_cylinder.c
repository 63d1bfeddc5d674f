// SPDX-License-Identifier: Apache-2.0
// A rubber cylinder pressed between two plates (S5 section VII-A), bonded to them along strips: no contact.
#include "verify_cylinder.h"

static void test_calculix(void **context)
{
    (void)context;
    verify_cylinder_calculix(VERIFY_SLOW ? 3 : 6);
}

static void test_formulations(void **context)
{
    (void)context;
    verify_cylinder_formulations(VERIFY_SLOW ? 3 : 6, 3, 0.02, "cylinder.png");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_calculix), cmocka_unit_test(test_formulations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
