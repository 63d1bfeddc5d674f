// SPDX-License-Identifier: Apache-2.0
// A cantilever bent far by a dead load at its tip, against the elastica.
//
// The elastica neither shears nor stretches; a strip 20 times as long as high does, by parts of a thousand:
// shear adds 0.15 % to a small deflection, and at PL²/EI = 10 the strain of 11 % at the clamped end shows how
// the laws differ. Hence 1 %.
#include "verify_beam.h"

#define CELLS (VERIFY_SLOW ? 4 : 6)
#define NEAR  (VERIFY_SLOW ? 0.02 : 0.01)

// The table against the equation it solves; it has five digits.
static void test_reference(void **context)
{
    (void)context;
    for (int k = 0; k < ELASTICA_LOADS; k++)
    {
        double down, shorter;
        elastica(elastica_a[k], &down, &shorter, NULL);
        assert_near(down, elastica_down[k], 6e-6);
        assert_near(shorter, elastica_short[k], 6e-6);
    }
}

static void test_corotational(void **context)
{
    (void)context;
    elasticaResult fine;
    verify_elastica("corotational", 20, CELLS, NEAR, &fine);
}

static void test_stvk(void **context)
{
    (void)context;
    elasticaResult fine;
    verify_elastica("stvk", 20, CELLS, NEAR, &fine);
}

static void test_neo_hookean(void **context)
{
    (void)context;
    elasticaResult fine;
    verify_elastica("neo_hookean", 20, CELLS, NEAR, &fine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference), cmocka_unit_test(test_corotational),
                                       cmocka_unit_test(test_stvk), cmocka_unit_test(test_neo_hookean)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
