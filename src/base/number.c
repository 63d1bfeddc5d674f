// SPDX-License-Identifier: Apache-2.0
// A mesh with fields has millions of numbers, and the C library takes up to half a microsecond for each.
// Most are settled here in a tenth of that, with the same bits; the rest is handed over to it.
#include "base/number.h"

#include <float.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

// With a mantissa of 64 bits, integers below 2^64 and powers of ten up to 10^27 (5^27 < 2^64) are exact
// and a product or quotient of the two is off by half a unit in its last place at most. In double the same
// holds below 2^53 and up to 10^22, and there the result is rounded once: it is the nearest.
#define WIDE_FLOAT        (LDBL_MANT_DIG == 64)
#define MOST_POWER_DOUBLE 22

const long double td_powers[TD_MOST_POWER + 1] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                                                  1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                                                  1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool td_number_scale(uint64_t digits, int power, double *out)
{
    if (digits == 0 || (power == 0 && digits < (uint64_t)1 << 53))
    {
        *out = (double)digits;
        return true;
    }
    if (FLT_EVAL_METHOD == 0 && digits < (uint64_t)1 << 53 && power >= -MOST_POWER_DOUBLE && power <= MOST_POWER_DOUBLE)
    {
        *out = power < 0 ? (double)digits / (double)td_powers[-power] : (double)digits * (double)td_powers[power];
        return true;
    }
    if (!WIDE_FLOAT || power > TD_MOST_POWER || power < -TD_MOST_POWER)
        return false;
    long double value = power < 0 ? (long double)digits / td_powers[-power] : (long double)digits * td_powers[power];
    // The eleven bits that a double lacks decide its rounding. Half a unit of error in the last of
    // them matters only next to the middle.
    uint64_t mantissa = 0;
    memcpy(&mantissa, &value, sizeof mantissa);
    unsigned tail = mantissa & 0x7FF;
    if (tail >= 0x3FF && tail <= 0x401)
        return false;
    *out = (double)value;
    return true;
}

// A plain decimal number of at most 19 digits.
static bool parse_short(const char *c, const char **behind, double *out)
{
    bool negative = *c == '-';
    c += *c == '-' || *c == '+';
    uint64_t digits = 0;
    int count = 0, fraction = 0, exponent = 0;
    bool any = false;
    for (bool point = false; is_digit(*c) || (*c == '.' && !point); c++)
    {
        if (*c == '.')
        {
            point = true;
            continue;
        }
        any = true;
        count += count > 0 || *c != '0';
        fraction += point;
        if (count > 19 || fraction > 1000)
            return false;
        digits = 10 * digits + (uint64_t)(*c - '0');
    }
    if (!any || *c == 'x' || *c == 'X') // hexadecimal, infinity, or no number
        return false;
    if (*c == 'e' || *c == 'E')
    {
        c++;
        bool down = *c == '-';
        c += *c == '-' || *c == '+';
        if (!is_digit(*c))
            return false;
        for (; is_digit(*c) && exponent < 1000; c++)
            exponent = 10 * exponent + (*c - '0');
        if (is_digit(*c))
            return false;
        exponent = down ? -exponent : exponent;
    }
    if (!td_number_scale(digits, exponent - fraction, out))
        return false;
    *out = negative ? -*out : *out;
    *behind = c;
    return true;
}

double td_number(const char *text, char **end)
{
    const char *start = text, *behind = text;
    double value = 0;
    while (*start == ' ' || (*start >= '\t' && *start <= '\r'))
        start++;
    if (parse_short(start, &behind, &value))
    {
        if (end != NULL)
            *end = (char *)behind;
        return value;
    }
    // The "C" locale is a constant of the C library: asking for it takes no memory.
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0)
        return strtod(text, end);
    value = strtod_l(text, end, plain);
    freelocale(plain);
    return value;
}
