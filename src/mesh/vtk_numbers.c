// SPDX-License-Identifier: Apache-2.0
// Numbers as text, exact both ways: what is printed reads back as the same bits, and what is read is
// the double nearest to the decimal number. The C library does that too, but a mesh with fields has
// millions of numbers and it takes half a microsecond for each; these paths take a tenth and hand
// over to it whatever they cannot settle.
#include "mesh/vtk.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// With a mantissa of 64 bits, integers below 2^64 and powers of ten up to 10^27 (5^27 < 2^64) are exact
// and a product or quotient of the two is off by half a unit in its last place at most.
#define WIDE_FLOAT (LDBL_MANT_DIG == 64)
#define MOST_POWER 27

static const long double powers[MOST_POWER + 1] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                                                   1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                                                   1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// ---------------------------------------------------------------- reading

// digits * 10^power, correctly rounded; false when this cannot tell.
static bool scale(uint64_t digits, int power, double *out)
{
    if (digits == 0 || (power == 0 && digits < (uint64_t)1 << 53))
    {
        *out = (double)digits;
        return true;
    }
    if (!WIDE_FLOAT || power > MOST_POWER || power < -MOST_POWER)
        return false;
    long double value = power < 0 ? (long double)digits / powers[-power] : (long double)digits * powers[power];
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

// A plain decimal number of at most 19 digits that ends at white space or at the end.
static bool parse_short(const char *c, const char *end, const char **behind, double *out)
{
    bool negative = c < end && *c == '-';
    c += negative;
    uint64_t digits = 0;
    int count = 0, fraction = 0, exponent = 0;
    bool any = false;
    for (bool point = false; c < end && (is_digit(*c) || (*c == '.' && !point)); c++)
    {
        if (*c == '.')
        {
            point = true;
            continue;
        }
        any = true;
        count += count > 0 || *c != '0';
        fraction += point;
        if (count > 19)
            return false;
        digits = 10 * digits + (uint64_t)(*c - '0');
    }
    if (any && c < end && (*c == 'e' || *c == 'E'))
    {
        c++;
        bool down = c < end && *c == '-';
        c += c < end && (*c == '-' || *c == '+');
        if (c >= end || !is_digit(*c))
            return false;
        for (; c < end && is_digit(*c) && exponent < 1000; c++)
            exponent = 10 * exponent + (*c - '0');
        exponent = down ? -exponent : exponent;
    }
    if (!any || fraction > 1000 || (c < end && !is_space(*c)) || !scale(digits, exponent - fraction, out))
        return false;
    *out = negative ? -*out : *out;
    *behind = c;
    return true;
}

int64_t td_vtk_parse(const char **at, const char *end, int64_t count, double *out)
{
    const char *c = *at;
    int64_t n = 0;
    for (; n < count; n++)
    {
        while (c < end && is_space(*c))
            c++;
        if (c >= end)
            break;
        double value = 0;
        const char *behind = c;
        if (!parse_short(c, end, &behind, &value))
        {
            char *stop = NULL;
            value = strtod(c, &stop);
            // strtod runs to the zero byte behind the data, which may be farther than our end.
            if (stop == c || stop > end || (stop < end && !is_space(*stop)))
                break;
            behind = stop;
        }
        c = behind;
        if (out != NULL)
            out[n] = value;
    }
    *at = c;
    return n;
}

// ---------------------------------------------------------------- printing

void td_vtk_print_integer(tdText *text, int64_t value)
{
    char digits[24];
    char *c = digits + sizeof digits;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do
        *--c = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (value < 0)
        *--c = '-';
    td_text_append(text, c, (size_t)(digits + sizeof digits - c));
}

// The n decimal digits of a, 10^exponent <= a < 10^(exponent + 1), as an integer; 0 when out of reach.
static uint64_t take_digits(double a, int exponent, int n)
{
    int power = n - 1 - exponent;
    if (!WIDE_FLOAT || power > MOST_POWER || power < -MOST_POWER)
        return 0;
    long double scaled = power < 0 ? (long double)a / powers[-power] : (long double)a * powers[power];
    uint64_t digits = (uint64_t)(scaled + 0.5L);
    return digits >= (uint64_t)powers[n - 1] && digits < (uint64_t)powers[n] ? digits : 0;
}

// digits * 10^(exponent - n + 1) as 0.00123, 12.3 or 1.23e-09.
static void put_digits(tdText *text, bool negative, uint64_t digits, int n, int exponent)
{
    char figures[24], out[64];
    for (int i = n - 1; i >= 0; i--, digits /= 10)
        figures[i] = (char)('0' + digits % 10);
    while (n > 1 && figures[n - 1] == '0')
        n--;
    char *c = out;
    if (negative)
        *c++ = '-';
    bool scientific = exponent < -5 || exponent > 20;
    int before = scientific ? 1 : exponent + 1; // digits before the point
    if (before <= 0)
        *c++ = '0';
    for (int i = 0; i < before; i++)
        *c++ = i < n ? figures[i] : '0';
    if (n > before)
    {
        *c++ = '.';
        for (int i = before; i < n; i++)
            *c++ = i < 0 ? '0' : figures[i];
    }
    if (scientific)
        c += snprintf(c, 8, "e%d", exponent);
    td_text_append(text, out, (size_t)(c - out));
}

void td_vtk_print(tdText *text, double value)
{
    double a = fabs(value);
    if (a < 1e15 && value == (double)(int64_t)value && !(a == 0 && signbit(value)))
    {
        td_vtk_print_integer(text, (int64_t)value);
        return;
    }
    if (a > 1e-20 && a < 1e20)
    {
        int exponent = (int)floor(log10(a));
        // Fifteen digits do if they read back as the same double, seventeen always do: they are right
        // to 0.51 of their last unit, and 0.55 would still round back.
        double back = 0;
        uint64_t digits = take_digits(a, exponent, 15);
        if (digits > 0 && scale(digits, exponent - 14, &back) && back == a)
        {
            put_digits(text, value < 0, digits, 15, exponent);
            return;
        }
        digits = take_digits(a, exponent, 17);
        if (digits > 0)
        {
            put_digits(text, value < 0, digits, 17, exponent);
            return;
        }
    }
    char plain[40];
    int n = snprintf(plain, sizeof plain, "%.17g", value);
    td_text_append(text, plain, (size_t)n);
}
