// SPDX-License-Identifier: Apache-2.0
// Numbers from text, the same in every locale: a host program that calls setlocale() with a decimal comma
// would break strtod().
#pragma once
#include <stdbool.h>
#include <stdint.h>

/// As strtod() in the "C" locale: the double nearest to the number at the start of a zero-terminated text.
/// *end (end may be NULL) is behind it, or is the text itself where there is no number.
double td_number(const char *text, char **end);

/// For printing: powers of ten, which a mantissa of 64 bits holds exactly (5^27 < 2^64), and
/// digits * 10^power, correctly rounded; false when the quick way cannot tell.
#define TD_MOST_POWER 27
extern const long double td_powers[TD_MOST_POWER + 1];
bool td_number_scale(uint64_t digits, int power, double *out);
