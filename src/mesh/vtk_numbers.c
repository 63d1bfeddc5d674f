// SPDX-License-Identifier: Apache-2.0
// Numbers as text, exact both ways: what is printed reads back as the same bits, and what is read is
// the double nearest to the decimal number. The C library does that too, but a mesh with fields has
// millions of numbers and it takes half a microsecond for each; these paths take a tenth and hand
// over to it whatever they cannot settle.
#include "base/number.h"
#include "mesh/vtk.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

// ---------------------------------------------------------------- reading

// The number at c, which may reach `end` but not go beyond it; NULL when there is none. What stands behind the
// end may look like more of it: VTU's texts follow each other without a gap.
static const char *parse_number(const char *c, const char *end, double *out)
{
    char *stop = NULL, last[512];
    *out = td_number(c, &stop);
    if (stop <= end)
        return stop == c ? NULL : stop;
    size_t length = (size_t)(end - c);
    if (length >= sizeof last)
        return NULL;
    memcpy(last, c, length);
    last[length] = '\0';
    *out = td_number(last, &stop);
    return stop == last ? NULL : c + (stop - last);
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
        const char *behind = parse_number(c, end, &value);
        if (behind == NULL || (behind < end && !is_space(*behind)))
            break;
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
    if (LDBL_MANT_DIG != 64 || power > TD_MOST_POWER || power < -TD_MOST_POWER)
        return 0;
    long double scaled = power < 0 ? (long double)a / td_powers[-power] : (long double)a * td_powers[power];
    uint64_t digits = (uint64_t)(scaled + 0.5L);
    return digits >= (uint64_t)td_powers[n - 1] && digits < (uint64_t)td_powers[n] ? digits : 0;
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
        if (digits > 0 && td_number_scale(digits, exponent - 14, &back) && back == a)
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
