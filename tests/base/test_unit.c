// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include "describe/unit.h"

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

// Each unit of the table against its definition from the units of the SI, or from units defined before it: the pound
// and the inch of 1959, the standard acceleration of free fall, the atmosphere of 1954. All of these are exact.
static void test_definitions(void **state)
{
    (void)state;
    const double pound = 0.45359237, inch = 0.0254, fall = 9.80665, turn = 2 * acos(-1.0);
    const struct
    {
        const char *name;
        double si;
        tdDim dim;
    } defined[] = {
        {"m", 1, {1, 0, 0, 0}},
        {"km", 1000, {1, 0, 0, 0}},
        {"dm", 1.0 / 10, {1, 0, 0, 0}},
        {"cm", 1.0 / 100, {1, 0, 0, 0}},
        {"mm", 1.0 / 1000, {1, 0, 0, 0}},
        {"um", 1.0 / 1000 / 1000, {1, 0, 0, 0}},
        {"\xC2\xB5m", 1.0 / 1000 / 1000, {1, 0, 0, 0}},
        {"\xCE\xBCm", 1.0 / 1000 / 1000, {1, 0, 0, 0}},
        {"nm", 1.0 / 1000 / 1000 / 1000, {1, 0, 0, 0}},
        {"in", inch, {1, 0, 0, 0}},
        {"ft", 12 * inch, {1, 0, 0, 0}},
        {"L", 0.1 * 0.1 * 0.1, {3, 0, 0, 0}},
        {"mL", 0.01 * 0.01 * 0.01, {3, 0, 0, 0}},
        {"kg", 1, {0, 1, 0, 0}},
        {"g", 1.0 / 1000, {0, 1, 0, 0}},
        {"mg", 1.0 / 1000 / 1000, {0, 1, 0, 0}},
        {"t", 1000, {0, 1, 0, 0}},
        {"lb", pound, {0, 1, 0, 0}},
        {"s", 1, {0, 0, 1, 0}},
        {"ms", 1.0 / 1000, {0, 0, 1, 0}},
        {"us", 1.0 / 1000 / 1000, {0, 0, 1, 0}},
        {"\xC2\xB5s", 1.0 / 1000 / 1000, {0, 0, 1, 0}},
        {"\xCE\xBCs", 1.0 / 1000 / 1000, {0, 0, 1, 0}},
        {"ns", 1.0 / 1000 / 1000 / 1000, {0, 0, 1, 0}},
        {"min", 60, {0, 0, 1, 0}},
        {"h", 60 * 60, {0, 0, 1, 0}},
        {"Hz", 1, {0, 0, -1, 0}},
        {"kHz", 1000, {0, 0, -1, 0}},
        {"N", 1, {1, 1, -2, 0}},
        {"kN", 1000, {1, 1, -2, 0}},
        {"MN", 1000 * 1000, {1, 1, -2, 0}},
        {"mN", 1.0 / 1000, {1, 1, -2, 0}},
        {"uN", 1.0 / 1000 / 1000, {1, 1, -2, 0}},
        {"lbf", pound * fall, {1, 1, -2, 0}},
        {"Pa", 1, {-1, 1, -2, 0}},
        {"hPa", 100, {-1, 1, -2, 0}},
        {"kPa", 1000, {-1, 1, -2, 0}},
        {"MPa", 1000 * 1000, {-1, 1, -2, 0}},
        {"GPa", 1000 * 1000 * 1000, {-1, 1, -2, 0}},
        {"bar", 100 * 1000, {-1, 1, -2, 0}},
        {"mbar", 100, {-1, 1, -2, 0}},
        {"atm", 101325, {-1, 1, -2, 0}},
        {"psi", pound * fall / (inch * inch), {-1, 1, -2, 0}},
        {"J", 1, {2, 1, -2, 0}},
        {"mJ", 1.0 / 1000, {2, 1, -2, 0}},
        {"kJ", 1000, {2, 1, -2, 0}},
        {"W", 1, {2, 1, -3, 0}},
        {"mW", 1.0 / 1000, {2, 1, -3, 0}},
        {"kW", 1000, {2, 1, -3, 0}},
        {"rad", 1, {0, 0, 0, 1}},
        {"mrad", 1.0 / 1000, {0, 0, 0, 1}},
        {"deg", turn / 360, {0, 0, 0, 1}},
        {"\xC2\xB0", turn / 360, {0, 0, 0, 1}},
        {"%", 1.0 / 100, {0, 0, 0, 0}},
    };
    const char *name;
    tdDim dim;
    double factor;
    int n = 0, all = (int)(sizeof defined / sizeof defined[0]);
    for (; td_unit_at(n, &name, &dim, &factor); n++)
    {
        int k = 0;
        while (k < all && strcmp(defined[k].name, name) != 0)
            k++;
        if (k == all)
            fail_msg("the unit '%s' has no definition here; add it", name);
        assert_memory_equal(&dim, &defined[k].dim, sizeof dim);
        if (!(fabs(factor - defined[k].si) <= 4e-16 * defined[k].si)) // products of powers round
            fail_msg("one '%s' is %.17g, but its definition gives %.17g", name, factor, defined[k].si);
    }
    assert_int_equal(n, all);
}

// Limits of a dimension: what is beyond them is told in SI units, with the limit.
static void test_limits(void **state)
{
    (void)state;
    const struct
    {
        const char *text;
        const tdUnits *base;
        tdDim dim;
        const char *why; // NULL: within
    } cases[] = {
        {"1e308", &si, TD_DIM_PRESSURE, "1e+308 Pa is more than any scene needs: a pressure here is at most 1e+15 Pa"},
        {"-1e308 deg", &si, TD_DIM_ANGLE, "-1.74533e+306 rad is more than any scene needs: an angle here is at most"},
        {"1e19 kPa", &si, TD_DIM_PRESSURE, "found '1e19 kPa'; 1e+22 Pa is more"},
        {"1e9", &mm_kg_s, TD_DIM_LENGTH, NULL},
        {"1e13", &mm_kg_s, TD_DIM_LENGTH, "found '1e13'; 1e+10 m is more than any scene needs"},
        {"1e9 s", &si, TD_DIM_TIME, NULL},
        {"1.1e9 s", &si, TD_DIM_TIME, "a slip of the unit?"},
        {"1e31", &si, ((tdDim){-2, 1, -2, 0}), "1e+31 m^-2 kg^1 s^-2 is more"}, // without a name
        {"1e-300 m", &si, TD_DIM_LENGTH, NULL},                                 // may be the rounding of a coordinate
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        double value = 0;
        char why[TD_UNIT_WHY] = "";
        bool taken = td_quantity_parse(cases[i].text, cases[i].base, cases[i].dim, &value, why);
        if (taken != (cases[i].why == NULL) || (!taken && strstr(why, cases[i].why) == NULL))
            fail_msg("'%s': taken %d, \"%s\"", cases[i].text, taken, why);
    }
    char why[TD_UNIT_WHY];
    assert_true(td_dim_check(TD_DIM_DENSITY, true, 1000, why));
    assert_false(td_dim_check(TD_DIM_DENSITY, true, 5e-324, why));
    assert_non_null(strstr(why, "is less than any scene needs: a density here is at least 1e-09 kg/m^3"));
    assert_false(td_dim_check(TD_DIM_NONE, false, NAN, why));
    assert_false(td_dim_check(TD_DIM_NONE, false, -INFINITY, why));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantities), cmocka_unit_test(test_what_is_refused), cmocka_unit_test(test_units_alone),
        cmocka_unit_test(test_table),      cmocka_unit_test(test_definitions),     cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
