// SPDX-License-Identifier: Apache-2.0
#include "describe/unit.h"

#include "base/number.h"
#include "base/suggest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI           3.14159265358979323846
#define MOST_POWER   9 // of one unit; no physical quantity here needs more
#define MOST_NESTING 8
#define LONGEST_NAME 15

// Unit names keep their case: mPa is left out on purpose, because who writes it means MPa.
static const struct
{
    const char *name;
    double si;
    tdDim dim;
} units[] = {
    {"m", 1, {1, 0, 0, 0}},
    {"km", 1e3, {1, 0, 0, 0}},
    {"dm", 1e-1, {1, 0, 0, 0}},
    {"cm", 1e-2, {1, 0, 0, 0}},
    {"mm", 1e-3, {1, 0, 0, 0}},
    {"um", 1e-6, {1, 0, 0, 0}},
    {"µm", 1e-6, {1, 0, 0, 0}}, // micro sign
    {"μm", 1e-6, {1, 0, 0, 0}}, // Greek mu
    {"nm", 1e-9, {1, 0, 0, 0}},
    {"in", 0.0254, {1, 0, 0, 0}},
    {"ft", 0.3048, {1, 0, 0, 0}},
    {"L", 1e-3, {3, 0, 0, 0}},
    {"mL", 1e-6, {3, 0, 0, 0}},
    {"kg", 1, {0, 1, 0, 0}},
    {"g", 1e-3, {0, 1, 0, 0}},
    {"mg", 1e-6, {0, 1, 0, 0}},
    {"t", 1e3, {0, 1, 0, 0}},
    {"lb", 0.45359237, {0, 1, 0, 0}},
    {"s", 1, {0, 0, 1, 0}},
    {"ms", 1e-3, {0, 0, 1, 0}},
    {"us", 1e-6, {0, 0, 1, 0}},
    {"µs", 1e-6, {0, 0, 1, 0}},
    {"μs", 1e-6, {0, 0, 1, 0}},
    {"ns", 1e-9, {0, 0, 1, 0}},
    {"min", 60, {0, 0, 1, 0}},
    {"h", 3600, {0, 0, 1, 0}},
    {"Hz", 1, {0, 0, -1, 0}},
    {"kHz", 1e3, {0, 0, -1, 0}},
    {"N", 1, {1, 1, -2, 0}},
    {"kN", 1e3, {1, 1, -2, 0}},
    {"MN", 1e6, {1, 1, -2, 0}},
    {"mN", 1e-3, {1, 1, -2, 0}},
    {"uN", 1e-6, {1, 1, -2, 0}},
    {"lbf", 4.4482216152605, {1, 1, -2, 0}},
    {"Pa", 1, {-1, 1, -2, 0}},
    {"hPa", 1e2, {-1, 1, -2, 0}},
    {"kPa", 1e3, {-1, 1, -2, 0}},
    {"MPa", 1e6, {-1, 1, -2, 0}},
    {"GPa", 1e9, {-1, 1, -2, 0}},
    {"bar", 1e5, {-1, 1, -2, 0}},
    {"mbar", 1e2, {-1, 1, -2, 0}},
    {"atm", 101325, {-1, 1, -2, 0}},
    {"psi", 6894.757293168361, {-1, 1, -2, 0}},
    {"J", 1, {2, 1, -2, 0}},
    {"mJ", 1e-3, {2, 1, -2, 0}},
    {"kJ", 1e3, {2, 1, -2, 0}},
    {"W", 1, {2, 1, -3, 0}},
    {"mW", 1e-3, {2, 1, -3, 0}},
    {"kW", 1e3, {2, 1, -3, 0}},
    {"rad", 1, {0, 0, 0, 1}},
    {"mrad", 1e-3, {0, 0, 0, 1}},
    {"deg", PI / 180, {0, 0, 0, 1}},
    {"°", PI / 180, {0, 0, 0, 1}},
    {"%", 1e-2, {0, 0, 0, 0}},
};
enum
{
    N_UNITS = sizeof units / sizeof units[0]
};

// The limits are absurd on purpose: no soft robot comes near them, a unit that slipped by a factor of 1e9 does, and
// products of a few of them (mass over the square of a time step) are still far from the ends of a double.
static const struct
{
    const char *name, *article, *example, *si;
    tdDim dim;
    double least, most; ///< of what is not zero, in SI units; `least` is for what must be positive
} names[] = {
    {"number", "a plain number", "", "", {0, 0, 0, 0}, 1e-18, 1e18},
    {"length", "a length", "mm", "m", {1, 0, 0, 0}, 1e-12, 1e9},
    {"area", "an area", "mm^2", "m^2", {2, 0, 0, 0}, 1e-24, 1e18},
    {"volume", "a volume", "mm^3", "m^3", {3, 0, 0, 0}, 1e-30, 1e24},
    {"mass", "a mass", "g", "kg", {0, 1, 0, 0}, 1e-18, 1e15},
    {"time", "a time", "ms", "s", {0, 0, 1, 0}, 1e-12, 1e9},
    {"angle", "an angle", "deg", "rad", {0, 0, 0, 1}, 1e-12, 1e7},
    {"angular velocity", "an angular velocity", "rad/s", "rad/s", {0, 0, -1, 1}, 1e-12, 1e9},
    {"rate", "a rate", "1/s", "1/s", {0, 0, -1, 0}, 1e-12, 1e12},
    {"velocity", "a velocity", "m/s", "m/s", {1, 0, -1, 0}, 1e-12, 1e9},
    {"acceleration", "an acceleration", "m/s^2", "m/s^2", {1, 0, -2, 0}, 1e-12, 1e12},
    {"force", "a force", "N", "N", {1, 1, -2, 0}, 1e-18, 1e15},
    {"pressure", "a pressure", "kPa", "Pa", {-1, 1, -2, 0}, 1e-9, 1e15},
    {"density", "a density", "g/cm^3", "kg/m^3", {-3, 1, 0, 0}, 1e-9, 1e15},
    {"energy or torque", "an energy or torque", "J", "J", {2, 1, -2, 0}, 1e-18, 1e18},
    {"power", "a power", "W", "W", {2, 1, -3, 0}, 1e-18, 1e18},
    {"stiffness", "a stiffness", "N/m", "N/m", {0, 1, -2, 0}, 1e-12, 1e18},
    {"force rate", "a force rate", "N/s", "N/s", {1, 1, -3, 0}, 1e-18, 1e24},
    {"pressure rate", "a pressure rate", "kPa/s", "Pa/s", {-1, 1, -3, 0}, 1e-9, 1e24},
    {"flow rate", "a flow rate", "mL/s", "m^3/s", {3, 0, -1, 0}, 1e-30, 1e24},
    {"viscosity", "a viscosity", "Pa*s", "Pa s", {-1, 1, -1, 0}, 1e-12, 1e18},
};
enum
{
    N_NAMES = sizeof names / sizeof names[0]
};

static bool same(tdDim a, tdDim b)
{
    return a.length == b.length && a.mass == b.mass && a.time == b.time && a.angle == b.angle;
}

static int find_name(tdDim dim)
{
    int i = 0;
    while (i < N_NAMES && !same(names[i].dim, dim))
        i++;
    return i < N_NAMES ? i : -1;
}

const char *td_dim_name(tdDim dim)
{
    int i = find_name(dim);
    return i < 0 ? NULL : names[i].name;
}

const char *td_dim_example(tdDim dim)
{
    int i = find_name(dim);
    return i < 0 ? NULL : names[i].example;
}

void td_dim_limits(tdDim dim, double *least, double *most)
{
    int i = find_name(dim);
    *least = i < 0 ? 1e-30 : names[i].least;
    *most = i < 0 ? 1e30 : names[i].most;
}

// "m^2 kg/..." is harder to read than exponents, so an unnamed dimension lists all of them.
static void describe(tdDim dim, bool article, char *out, size_t size)
{
    int i = find_name(dim);
    if (i >= 0)
    {
        snprintf(out, size, "%s", article ? names[i].article : names[i].name);
        return;
    }
    const char *symbol[4] = {"m", "kg", "s", "rad"};
    int power[4] = {dim.length, dim.mass, dim.time, dim.angle};
    size_t used = 0;
    out[0] = '\0';
    for (int k = 0; k < 4 && used < size; k++)
        if (power[k] != 0)
            used += (size_t)snprintf(out + used, size - used, "%s%s^%d", used > 0 ? " " : "", symbol[k], power[k]);
}

void td_dim_describe(tdDim dim, char *out, size_t size)
{
    describe(dim, true, out, size);
}

bool td_dim_check(tdDim dim, bool positive, double value, char why[TD_UNIT_WHY])
{
    double least, most, a = fabs(value);
    td_dim_limits(dim, &least, &most);
    bool small = positive && a < least;
    if (a <= most && !small)
        return true;
    char what[64], si[64];
    int i = find_name(dim);
    describe(dim, true, what, sizeof what);
    describe(dim, false, si, sizeof si);
    const char *unit = i < 0 ? si : names[i].si;
    snprintf(why, TD_UNIT_WHY, "%g%s%s is %s than any scene needs: %s here is %s %g%s%s. Is it a slip of the unit?",
             value, unit[0] != '\0' ? " " : "", unit, small ? "less" : "more", what, small ? "at least" : "at most",
             small ? least : most, unit[0] != '\0' ? " " : "", unit);
    return false;
}

bool td_dim_at(int i, const char **name, const char **si, double *least, double *most)
{
    if (i < 0 || i >= N_NAMES)
        return false;
    *name = names[i].name;
    *si = names[i].si;
    *least = names[i].least;
    *most = names[i].most;
    return true;
}

bool td_unit_at(int i, const char **name, tdDim *dim, double *si)
{
    if (i < 0 || i >= N_UNITS)
        return false;
    *name = units[i].name;
    *dim = units[i].dim;
    *si = units[i].si;
    return true;
}

// ---------------------------------------------------------------- unit expressions

typedef struct Reader
{
    const char *at;
    char *why;
    int nesting;
} Reader;

typedef struct Unit
{
    double si;
    tdDim dim;
} Unit;

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

// Bytes of the superscript at `at`; its digit, or -1 for the minus sign, in *digit.
static int superscript(const char *at, int *digit)
{
    static const struct
    {
        const char *text;
        int digit;
    } signs[] = {{"¹", 1}, {"²", 2}, {"³", 3}, {"⁴", 4}, {"⁻", -1}};
    for (int i = 0; i < 5; i++)
    {
        size_t n = strlen(signs[i].text);
        if (strncmp(at, signs[i].text, n) == 0)
        {
            *digit = signs[i].digit;
            return (int)n;
        }
    }
    return 0;
}

static size_t multiply_sign(const char *at)
{
    if (*at == '*')
        return 1;
    return strncmp(at, "·", 2) == 0 || strncmp(at, "×", 2) == 0 ? 2 : 0;
}

static bool in_name(const char *at)
{
    int digit;
    unsigned char c = (unsigned char)*at;
    if (c >= 0x80)
        return superscript(at, &digit) == 0 && multiply_sign(at) == 0;
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '%' || c == '_';
}

static bool unknown_unit(Reader *reader, const char *name)
{
    // "cm3" is the most common slip, and the edit distance would only offer "cm".
    size_t letters = strcspn(name, "0123456789");
    for (int i = 0; letters < strlen(name) && i < N_UNITS; i++)
        if (strlen(units[i].name) == letters && strncmp(units[i].name, name, letters) == 0)
        {
            snprintf(reader->why, TD_UNIT_WHY, "unknown unit '%s'; did you mean '%s^%s'?", name, units[i].name,
                     name + letters);
            return false;
        }
    const char *known[N_UNITS];
    for (int i = 0; i < N_UNITS; i++)
        known[i] = units[i].name;
    const char *nearest = td_suggest(name, known, N_UNITS);
    if (nearest != NULL)
        snprintf(reader->why, TD_UNIT_WHY, "unknown unit '%s'; did you mean '%s'?", name, nearest);
    else
        snprintf(reader->why, TD_UNIT_WHY, "unknown unit '%s'; units are for example mm, kg, s, N, kPa, deg", name);
    return false;
}

static bool read_name(Reader *reader, Unit *out)
{
    size_t n = 0;
    while (in_name(reader->at + n))
        n++;
    if (n == 0)
    {
        snprintf(reader->why, TD_UNIT_WHY, "a unit is missing at '%.20s'", reader->at);
        return false;
    }
    if (n == 1 && *reader->at == '1')
    {
        *out = (Unit){.si = 1};
        reader->at++;
        return true;
    }
    char name[LONGEST_NAME + 1];
    snprintf(name, sizeof name, "%.*s", (int)(n < LONGEST_NAME ? n : LONGEST_NAME), reader->at);
    for (int i = 0; n <= LONGEST_NAME && i < N_UNITS; i++)
        if (strcmp(units[i].name, name) == 0)
        {
            *out = (Unit){units[i].si, units[i].dim};
            reader->at += n;
            return true;
        }
    return unknown_unit(reader, name);
}

// An exponent behind a factor: ^2, ^-1, ², ⁻¹; 1 when there is none.
static bool read_power(Reader *reader, int *power)
{
    *power = 1;
    int digit = 0, n = superscript(reader->at, &digit), sign = 1;
    if (n > 0)
    {
        if (digit < 0)
        {
            sign = -1;
            reader->at += n;
            n = superscript(reader->at, &digit);
        }
        reader->at += n;
        *power = sign * digit;
        if (n > 0 && digit > 0)
            return true;
    }
    else if (*reader->at == '^')
    {
        reader->at++;
        if (*reader->at == '-' || *reader->at == '+')
            sign = *reader->at++ == '-' ? -1 : 1;
        digit = *reader->at - '0';
        bool single = digit >= 1 && digit <= MOST_POWER && !(reader->at[1] >= '0' && reader->at[1] <= '9');
        reader->at += single;
        *power = sign * digit;
        if (single && *reader->at != '.')
            return true;
    }
    else
        return true;
    snprintf(reader->why, TD_UNIT_WHY, "the power of a unit is a whole number from 1 to %d, e.g. m^2 or s^-1",
             MOST_POWER);
    return false;
}

static Unit times(Unit a, Unit b, int power)
{
    a.si *= pow(b.si, power);
    a.dim.length += power * b.dim.length;
    a.dim.mass += power * b.dim.mass;
    a.dim.time += power * b.dim.time;
    a.dim.angle += power * b.dim.angle;
    return a;
}

static bool too_high(tdDim dim)
{
    int most = 3 * MOST_POWER;
    return abs(dim.length) > most || abs(dim.mass) > most || abs(dim.time) > most || abs(dim.angle) > most;
}

static void skip_space(Reader *reader)
{
    while (is_space(*reader->at))
        reader->at++;
}

static bool read_unit(Reader *reader, Unit *out);

static bool read_factor(Reader *reader, Unit *out)
{
    if (*reader->at != '(')
        return read_name(reader, out);
    reader->at++;
    if (++reader->nesting > MOST_NESTING)
    {
        snprintf(reader->why, TD_UNIT_WHY, "the unit has more than %d nested parentheses", MOST_NESTING);
        return false;
    }
    skip_space(reader);
    if (!read_unit(reader, out))
        return false;
    reader->nesting--;
    if (*reader->at != ')')
    {
        snprintf(reader->why, TD_UNIT_WHY, "')' is missing in the unit");
        return false;
    }
    reader->at++;
    return true;
}

// Stops at the end of the text or at a closing parenthesis.
static bool read_unit(Reader *reader, Unit *out)
{
    *out = (Unit){.si = 1};
    bool divide = false, divided = false;
    if (*reader->at == '/') // "1/s" with its 1 read as the number
    {
        divide = divided = true;
        reader->at++;
        skip_space(reader);
    }
    for (;;)
    {
        Unit factor;
        int power;
        if (!read_factor(reader, &factor) || !read_power(reader, &power))
            return false;
        *out = times(*out, factor, divide ? -power : power);
        if (too_high(out->dim))
        {
            snprintf(reader->why, TD_UNIT_WHY, "the powers of the unit are too high");
            return false;
        }
        skip_space(reader);
        if (*reader->at == '\0' || *reader->at == ')')
            return true;
        size_t sign = multiply_sign(reader->at);
        divide = *reader->at == '/';
        if (divide || sign > 0)
            reader->at += divide ? 1 : sign;
        else if (divided)
        {
            snprintf(reader->why, TD_UNIT_WHY,
                     "a space behind '/' can be read in two ways; write for example kg/(m*s^2)");
            return false;
        }
        divided = divided || divide;
        skip_space(reader);
    }
}

// The whole text is one unit.
static bool read_whole_unit(const char *text, Unit *out, char *why)
{
    Reader reader = {.at = text, .why = why};
    if (!read_unit(&reader, out))
        return false;
    if (*reader.at != '\0')
    {
        snprintf(why, TD_UNIT_WHY, "'%.20s' in the unit has no opening '('", reader.at);
        return false;
    }
    return true;
}

// ---------------------------------------------------------------- quantities

static size_t digits(const char *at)
{
    return strspn(at, "0123456789");
}

// Length of the number at the start of the text; 0 if there is none. Not strtod's grammar: no hex, inf or nan.
static size_t number_length(const char *text)
{
    size_t n = text[0] == '-' || text[0] == '+';
    size_t whole = digits(text + n);
    n += whole;
    size_t fraction = text[n] == '.' ? digits(text + n + 1) : 0;
    if (whole + fraction == 0)
        return 0;
    n += text[n] == '.' ? 1 + fraction : 0;
    if (text[n] == 'e' || text[n] == 'E')
    {
        size_t sign = text[n + 1] == '-' || text[n + 1] == '+';
        size_t exponent = digits(text + n + 1 + sign);
        n += exponent > 0 ? 1 + sign + exponent : 0;
    }
    return n;
}

static double base_factor(const tdUnits *base, tdDim dim)
{
    return pow(base->length, dim.length) * pow(base->mass, dim.mass) * pow(base->time, dim.time);
}

static bool wrong_dimension(const char *text, const char *number, tdDim found, tdDim expected, char *why)
{
    char is[64], wanted[64];
    describe(found, false, is, sizeof is);
    describe(expected, true, wanted, sizeof wanted);
    const char *example = td_dim_example(expected);
    if (example == NULL)
        snprintf(why, TD_UNIT_WHY, "found '%.60s' (%s), expected %s", text, is, wanted);
    else
        snprintf(why, TD_UNIT_WHY, "found '%.60s' (%s), expected %s, e.g. '%s%s%s'", text, is, wanted, number,
                 example[0] != '\0' ? " " : "", example);
    return false;
}

static bool not_a_number(const char *text, tdDim expected, char *why)
{
    char wanted[64];
    describe(expected, true, wanted, sizeof wanted);
    const char *example = td_dim_example(expected);
    snprintf(why, TD_UNIT_WHY, "found '%.60s', expected %s, e.g. '%s%s'", text, wanted,
             example != NULL && example[0] != '\0' ? "10 " : "0.5", example != NULL ? example : "");
    return false;
}

bool td_quantity_parse(const char *text, const tdUnits *base, tdDim expected, double *out, char why[TD_UNIT_WHY])
{
    while (is_space(*text))
        text++;
    size_t n = number_length(text);
    char number[64];
    if (n == 0)
        return not_a_number(text, expected, why);
    if (n >= sizeof number)
    {
        snprintf(why, TD_UNIT_WHY, "the number '%.20s...' has too many digits; 17 are all that count", text);
        return false;
    }
    snprintf(number, sizeof number, "%.*s", (int)n, text);
    double value = td_number(number, NULL);
    const char *rest = text + n;
    if (*rest == ',')
    {
        snprintf(why, TD_UNIT_WHY, "found '%.60s'; the decimal mark is a point, e.g. '0.5'", text);
        return false;
    }
    while (is_space(*rest))
        rest++;
    Unit unit = {.si = base_factor(base, expected), .dim = expected};
    if (*rest != '\0')
    {
        char reason[TD_UNIT_WHY];
        if (!read_whole_unit(rest, &unit, reason))
        {
            snprintf(why, TD_UNIT_WHY, "found '%.60s': %.300s", text, reason);
            return false;
        }
    }
    else if (expected.angle != 0 && value != 0)
    {
        snprintf(why, TD_UNIT_WHY, "found '%s' without a unit; an angle needs one: '%s deg' or '%s rad'", number,
                 number, number);
        return false;
    }
    if (!same(unit.dim, expected))
        return wrong_dimension(text, number, unit.dim, expected, why);
    *out = value * unit.si;
    if (!isfinite(*out))
    {
        snprintf(why, TD_UNIT_WHY, "found '%.60s', which is too large for a number", text);
        return false;
    }
    char reason[TD_UNIT_WHY];
    if (td_dim_check(expected, false, *out, reason))
        return true;
    snprintf(why, TD_UNIT_WHY, "found '%.60s'; %.300s", text, reason);
    return false;
}

bool td_unit_parse(const char *text, tdDim expected, double *out, char why[TD_UNIT_WHY])
{
    Unit unit;
    char reason[TD_UNIT_WHY];
    if (!read_whole_unit(text, &unit, reason))
    {
        snprintf(why, TD_UNIT_WHY, "found '%.60s': %.300s", text, reason);
        return false;
    }
    if (!same(unit.dim, expected))
    {
        char is[64], wanted[64];
        describe(unit.dim, false, is, sizeof is);
        describe(expected, false, wanted, sizeof wanted);
        const char *example = td_dim_example(expected);
        snprintf(why, TD_UNIT_WHY, "found '%.60s' (%s), expected a unit of %s, e.g. '%s'", text, is, wanted,
                 example != NULL ? example : "");
        return false;
    }
    *out = unit.si;
    return true;
}
