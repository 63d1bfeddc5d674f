// SPDX-License-Identifier: Apache-2.0
// A mesh with fields has millions of numbers, a run with tables thousands a second, and the C library takes half a
// microsecond for each try. Most are settled here in a tenth of that; the rest is handed over to it.
#include "base/print.h"

#include "base/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

void td_print_integer(tdText *text, int64_t value)
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

#define UNSURE 0.01L // of the last digit: so near to the middle between two the quick way cannot tell which is nearer

// The n decimal digits of a, 10^exponent <= a < 10^(exponent + 1), as an integer; 0 when out of reach.
static uint64_t take_digits(double a, int exponent, int n, bool *sure)
{
    int power = n - 1 - exponent;
    if (LDBL_MANT_DIG != 64 || power > TD_MOST_POWER || power < -TD_MOST_POWER)
        return 0;
    long double scaled = power < 0 ? (long double)a / td_powers[-power] : (long double)a * td_powers[power];
    uint64_t digits = (uint64_t)(scaled + 0.5L);
    long double over = scaled + 0.5L - (long double)digits;
    *sure = over > UNSURE && over < 1 - UNSURE;
    return digits >= (uint64_t)td_powers[n - 1] && digits < (uint64_t)td_powers[n] ? digits : 0;
}

// The fewest digits that read back as a, from 15 on; seventeen always do: they are right to 0.51 of their last unit,
// and 0.55 would still round back. Returns how many; 0: the quick way cannot tell.
static int fewest_digits(double a, int exponent, uint64_t *digits)
{
    bool sure = false;
    for (int n = 15; n < 17; n++)
    {
        double back = 0;
        *digits = take_digits(a, exponent, n, &sure);
        if (*digits == 0 || !sure || !td_number_scale(*digits, exponent - n + 1, &back))
            return 0;
        if (back == a)
            return n;
    }
    *digits = take_digits(a, exponent, 17, &sure);
    return *digits > 0 ? 17 : 0;
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
    {
        int size = exponent < 0 ? -exponent : exponent; // below 100
        *c++ = 'e';
        if (exponent < 0)
            *c++ = '-';
        if (size > 9)
            *c++ = (char)('0' + size / 10);
        *c++ = (char)('0' + size % 10);
    }
    td_text_append(text, out, (size_t)(c - out));
}

void td_print_number(tdText *text, double value)
{
    double a = fabs(value);
    if (a < 1e15 && value == (double)(int64_t)value && !(a == 0 && signbit(value)))
    {
        td_print_integer(text, (int64_t)value);
        return;
    }
    if (a > 1e-20 && a < 1e20)
    {
        int exponent = (int)floor(log10(a));
        uint64_t digits = 0;
        int n = fewest_digits(a, exponent, &digits);
        if (n > 0)
        {
            put_digits(text, value < 0, digits, n, exponent);
            return;
        }
    }
    char plain[40];
    int length = 0;
    for (int n = 15; n <= 17; n++)
    {
        length = snprintf(plain, sizeof plain, "%.*g", n, value);
        if (td_number(plain, NULL) == value)
            break;
    }
    td_text_append(text, plain, (size_t)length);
}
