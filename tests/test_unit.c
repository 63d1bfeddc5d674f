// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include "scene/unit.h"

static const tdUnits si = {1, 1, 1};
static const tdUnits mm_kg_s = {1e-3, 1, 1};
static const tdUnits mm_t_s = {1e-3, 1e3, 1};

static void test_quantities(void **state)
{
    (void)state;
    const struct
    {
        const char *text;
        const tdUnits *base;
        tdDim dim;
        double value;
    } cases[] = {
        {"450 kPa", &si, TD_DIM_PRESSURE, 450e3},
        {"450kPa", &si, TD_DIM_PRESSURE, 450e3},
        {"1.07 g/cm^3", &si, TD_DIM_DENSITY, 1070},
        {"1.07 g / cm^3", &mm_kg_s, TD_DIM_DENSITY, 1070},
        {"1.07 g cm^-3", &si, TD_DIM_DENSITY, 1070},
        {"-9.81 m/s^2", &mm_kg_s, TD_DIM_ACCELERATION, -9.81},
        {"9.81 m/s²", &si, TD_DIM_ACCELERATION, 9.81},
        {"9.81 m·s⁻²", &si, TD_DIM_ACCELERATION, 9.81},
        {"9.81 m*s^-2", &si, TD_DIM_ACCELERATION, 9.81},
        {"9.81 m/s/s", &si, TD_DIM_ACCELERATION, 9.81},
        {"1/s", &si, TD_DIM_FREQUENCY, 1},
        {"0.1 1/s", &si, TD_DIM_FREQUENCY, 0.1},
        {"50 Hz", &si, TD_DIM_FREQUENCY, 50},
        {"2 N*mm", &si, ((tdDim){2, 1, -2, 0}), 2e-3},
        {"2 N mm", &si, ((tdDim){2, 1, -2, 0}), 2e-3},
        {"3 kg/(m*s^2)", &si, TD_DIM_PRESSURE, 3},
        {"3 kg/(mm s^2)", &si, TD_DIM_PRESSURE, 3e3},
        {"3 (kg/m)^2 * m^2 / kg", &si, TD_DIM_MASS, 3},
        {"90 deg", &si, TD_DIM_ANGLE, 1.5707963267948966},
        {"90°", &si, TD_DIM_ANGLE, 1.5707963267948966},
        {"0", &si, TD_DIM_ANGLE, 0},
        {"45 %", &si, TD_DIM_NONE, 0.45},
        {"14.5 psi", &si, TD_DIM_PRESSURE, 14.5 * 6894.757293168361},
        {"1 bar", &si, TD_DIM_PRESSURE, 1e5},
        {"2 in", &si, TD_DIM_LENGTH, 0.0508},
        {"5 um", &si, TD_DIM_LENGTH, 5e-6},
        {"5 µm", &si, TD_DIM_LENGTH, 5e-6},
        {"1.5 h", &si, TD_DIM_TIME, 5400},
        {"2 min", &si, TD_DIM_TIME, 120},
        {"10 ms", &si, TD_DIM_TIME, 0.01},
        {"3 t", &si, TD_DIM_MASS, 3000},
        {"7 mN", &si, TD_DIM_FORCE, 7e-3},
        {"7 kN", &si, TD_DIM_FORCE, 7e3},
        {"1 L", &si, ((tdDim){3, 0, 0, 0}), 1e-3},
        // Bare numbers are in the scene's units: mm-kg-s makes kPa, mm-t-s makes MPa.
        {"450", &mm_kg_s, TD_DIM_PRESSURE, 450e3},
        {"450", &mm_t_s, TD_DIM_PRESSURE, 450e6},
        {"1e-9", &mm_t_s, TD_DIM_DENSITY, 1000},
        {"40", &mm_kg_s, TD_DIM_LENGTH, 0.04},
        {"-.5e+1", &si, TD_DIM_LENGTH, -5},
        {"5.", &si, TD_DIM_LENGTH, 5},
        {"1e3 mm", &si, TD_DIM_LENGTH, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        double value = NAN;
        char why[TD_UNIT_WHY] = "";
        if (!td_quantity_parse(cases[i].text, cases[i].base, cases[i].dim, &value, why))
            fail_msg("'%s': %s", cases[i].text, why);
        assert_near(value, cases[i].value, 4e-16 * fabs(cases[i].value)); // products of powers round
    }
}

static void test_what_is_refused(void **state)
{
    (void)state;
    const struct
    {
        const char *text;
        tdDim dim;
        const char *why;
    } cases[] = {
        {"40 kPa", TD_DIM_LENGTH, "found '40 kPa' (pressure), expected a length, e.g. '40 mm'"},
        {"90 deg", TD_DIM_NONE, "found '90 deg' (angle), expected a plain number, e.g. '90'"},
        {"3 m^2 kg", TD_DIM_LENGTH, "(m^2 kg^1), expected a length"},
        {"90", TD_DIM_ANGLE, "an angle needs one: '90 deg' or '90 rad'"},
        {"45 %", TD_DIM_LENGTH, "(number), expected a length"},
        {"450 kpa", TD_DIM_PRESSURE, "unknown unit 'kpa'; did you mean 'kPa'?"},
        {"450 mPa", TD_DIM_PRESSURE, "unknown unit 'mPa'; did you mean 'MPa'?"},
        {"1 g/cm3", TD_DIM_DENSITY, "unknown unit 'cm3'; did you mean 'cm^3'?"},
        {"1 furlong", TD_DIM_LENGTH, "unknown unit 'furlong'"},
        {"1 averyveryverylongunitname", TD_DIM_LENGTH, "unknown unit 'averyveryverylo"},
        {"1 kg/m s^2", TD_DIM_PRESSURE, "can be read in two ways"},
        {"1 m^10", TD_DIM_LENGTH, "the power of a unit"},
        {"1 m^", TD_DIM_LENGTH, "the power of a unit"},
        {"1 m^0.5", TD_DIM_LENGTH, "the power of a unit"},
        {"1 m^0", TD_DIM_LENGTH, "the power of a unit"},
        {"1 m⁻", TD_DIM_LENGTH, "the power of a unit"},
        {"1 (m", TD_DIM_LENGTH, "')' is missing"},
        {"1 m)", TD_DIM_LENGTH, "no opening '('"},
        {"1 ((((((((((m))))))))))", TD_DIM_LENGTH, "nested parentheses"},
        {"1 (((m^9)^9)^9)^9", TD_DIM_LENGTH, "too high"},
        {"1 m*", TD_DIM_LENGTH, "a unit is missing"},
        {"1 /", TD_DIM_LENGTH, "a unit is missing"},
        {"1 $", TD_DIM_LENGTH, "a unit is missing at '$'"},
        {"", TD_DIM_LENGTH, "expected a length"},
        {"mm", TD_DIM_LENGTH, "expected a length, e.g. '10 mm'"},
        {"nan", TD_DIM_LENGTH, "found 'nan', expected a length"},
        {"inf", TD_DIM_NONE, "found 'inf', expected a plain number"},
        {".inf", TD_DIM_NONE, "expected a plain number"},
        {"-", TD_DIM_NONE, "expected a plain number"},
        {".", TD_DIM_NONE, "expected a plain number"},
        {"0x10", TD_DIM_LENGTH, "unknown unit 'x10'"},
        {"0,45", TD_DIM_NONE, "the decimal mark is a point"},
        {"1e999", TD_DIM_NONE, "too large"},
        {"1e308 km", TD_DIM_LENGTH, "too large"},
        {"00000000000000000000000000000000000000000000000000000000000000001", TD_DIM_NONE, "too many digits"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        double value = 0;
        char why[TD_UNIT_WHY] = "";
        if (td_quantity_parse(cases[i].text, &si, cases[i].dim, &value, why))
            fail_msg("'%s' was taken as %g", cases[i].text, value);
        if (strstr(why, cases[i].why) == NULL)
            fail_msg("'%s': \"%s\" does not say \"%s\"", cases[i].text, why, cases[i].why);
    }
}

static void test_units_alone(void **state)
{
    (void)state;
    double value = 0;
    char why[TD_UNIT_WHY];
    assert_true(td_unit_parse("mm", TD_DIM_LENGTH, &value, why));
    assert_near(value, 1e-3, 0);
    assert_false(td_unit_parse("mm", TD_DIM_TIME, &value, why));
    assert_non_null(strstr(why, "found 'mm' (length), expected a unit of time"));
    assert_false(td_unit_parse("", TD_DIM_TIME, &value, why));
    assert_false(td_unit_parse("5 mm", TD_DIM_LENGTH, &value, why));
}

// Each unit of the table is read back as itself, so the reference lists only what works.
static void test_table(void **state)
{
    (void)state;
    const char *name;
    tdDim dim;
    double factor;
    int n = 0;
    for (; td_unit_at(n, &name, &dim, &factor); n++)
    {
        char text[32], why[TD_UNIT_WHY];
        double value = 0;
        snprintf(text, sizeof text, "3 %s", name);
        assert_true(td_quantity_parse(text, &mm_kg_s, dim, &value, why));
        assert_near(value, 3 * factor, 1e-15 * factor);
        assert_non_null(td_dim_name(dim));
    }
    assert_true(n > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantities),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_units_alone),
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
