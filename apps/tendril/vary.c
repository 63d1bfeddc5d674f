// SPDX-License-Identifier: Apache-2.0
#include "vary.h"

#include "base/hash.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_VALUES 100000

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

static const char *copy_trimmed(tdArena *arena, const char *from, const char *to)
{
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
        to--;
    char *copy = TD_TAKE(arena, char, to - from + 1);
    if (copy != NULL)
        memcpy(copy, from, (size_t)(to - from));
    return copy;
}

// ---------------------------------------------------------------- numbers with units

// "1.5 MPa" -> 1.5 and "MPa". False: it does not begin with a number. A unit begins with a letter, or is a word such as
// "%": "1e" and "0x" are no numbers.
static bool cut_number(tdArena *arena, const char *from, const char *to, double *number, const char **unit)
{
    char *end = NULL;
    const char *text = copy_trimmed(arena, from, to);
    if (text == NULL || strpbrk(text, "0123456789") == NULL || strspn(text, "+-.0123456789") == 0)
        return false;
    *number = td_number(text, &end);
    if (end == text || !isfinite(*number))
        return false;
    *unit = skip_blanks(end);
    return strpbrk(*unit, "[]{},:\"'") == NULL;
}

// Two numbers whose units are the same, or of which only the second says it: "0.5..2 MPa".
static bool cut_pair(tdArena *arena, const char *from, const char *middle, const char *behind, const char *to,
                     varyAxis *out, char why[VARY_WHY])
{
    const char *first = "", *second = "";
    if (!cut_number(arena, from, middle, &out->a, &first) || !cut_number(arena, behind, to, &out->b, &second))
    {
        snprintf(why, VARY_WHY, "'%.*s' are not two numbers", (int)(to - from < 80 ? to - from : 80), from);
        return false;
    }
    if (first[0] != '\0' && strcmp(first, second) != 0)
    {
        snprintf(why, VARY_WHY, "the units '%.20s' and '%.20s' differ; write both numbers in the same unit", first,
                 second);
        return false;
    }
    out->unit = second;
    out->numeric = true;
    return true;
}

// ---------------------------------------------------------------- the forms

static bool parse_range(const char *text, const char *dots, tdArena *arena, varyAxis *out, char why[VARY_WHY])
{
    const char *from = skip_blanks(text), *colon = strrchr(dots, ':');
    char *end = NULL;
    out->kind = VARY_RANGE;
    if (strncmp(from, "log ", 4) == 0)
    {
        out->kind = VARY_LOG_RANGE;
        from += 4;
    }
    long n = colon != NULL ? strtol(colon + 1, &end, 10) : 0;
    if (colon == NULL || end == colon + 1 || *skip_blanks(end) != '\0' || n < 2 || n > MOST_VALUES)
    {
        snprintf(why, VARY_WHY, "a range ends with the number of its values, from 2 to %d: 0.2..0.8:4", MOST_VALUES);
        return false;
    }
    out->n = (int)n;
    if (!cut_pair(arena, from, dots, dots + 2, colon, out, why))
        return false;
    if (out->kind == VARY_LOG_RANGE && !(out->a > 0 && out->b > 0))
    {
        snprintf(why, VARY_WHY, "a range in equal ratios (log) needs numbers above zero");
        return false;
    }
    return true;
}

static bool parse_distribution(const char *text, varyKind kind, tdArena *arena, varyAxis *out, char why[VARY_WHY])
{
    const char *open = strchr(text, '('), *comma = strchr(open, ','), *close = strrchr(open, ')');
    out->kind = kind;
    out->n = 1;
    if (comma == NULL || close == NULL || close < comma || *skip_blanks(close + 1) != '\0')
    {
        snprintf(why, VARY_WHY,
                 "a distribution has two numbers: uniform(LEAST, MOST), normal(MEAN, DEVIATION), "
                 "lognormal(MEDIAN, DEVIATION OF THE LOGARITHM)");
        return false;
    }
    if (kind == VARY_LOGNORMAL) // the second is a pure number
    {
        const char *rest = "";
        out->numeric = cut_number(arena, open + 1, comma, &out->a, &out->unit) &&
                       cut_number(arena, comma + 1, close, &out->b, &rest) && rest[0] == '\0' && out->a > 0;
        if (!out->numeric)
            snprintf(why, VARY_WHY,
                     "lognormal takes a median above zero and the deviation of its logarithm, a number "
                     "without a unit");
        if (!out->numeric)
            return false;
    }
    else if (!cut_pair(arena, open + 1, comma, comma + 1, close, out, why))
        return false;
    if (kind != VARY_UNIFORM && !(out->b >= 0))
    {
        snprintf(why, VARY_WHY, "a deviation is not negative");
        return false;
    }
    return true;
}

// Where the next value of a list ends: at a comma outside of brackets and quotes.
static const char *end_of_value(const char *text)
{
    int depth = 0;
    char quote = '\0';
    for (; *text != '\0'; text++)
    {
        if (quote != '\0')
            quote = *text == quote ? '\0' : quote;
        else if (*text == '"' || *text == '\'')
            quote = *text;
        else if (strchr("[{(", *text) != NULL)
            depth++;
        else if (strchr("]})", *text) != NULL)
            depth--;
        else if (*text == ',' && depth == 0)
            break;
    }
    return text;
}

static bool parse_list(const char *text, tdArena *arena, varyAxis *out, char why[VARY_WHY])
{
    int n = 1;
    for (const char *at = end_of_value(text); *at != '\0'; at = end_of_value(at + 1))
        n++;
    out->values = n <= MOST_VALUES ? TD_TAKE(arena, const char *, n) : NULL;
    if (out->values == NULL)
    {
        snprintf(why, VARY_WHY, "%d values are too many", n);
        return false;
    }
    int numbers = 0;
    for (const char *at = text; out->n < n; at = end_of_value(at) + 1)
    {
        const char *end = end_of_value(at), *unit = "";
        double number;
        const char *value = copy_trimmed(arena, at, end);
        if (value == NULL || value[0] == '\0' || strlen(value) >= VARY_VALUE)
        {
            snprintf(why, VARY_WHY, "value %d of the list is empty or too long", out->n + 1);
            return false;
        }
        if (cut_number(arena, at, end, &number, &unit))
        {
            if (numbers > 0 && strcmp(unit, out->unit) != 0)
            {
                snprintf(why, VARY_WHY, "the units '%.20s' and '%.20s' differ; write all values in the same unit",
                         out->unit, unit);
                return false;
            }
            out->unit = unit;
            numbers++;
        }
        out->values[out->n++] = value;
    }
    out->numeric = numbers == n;
    if (!out->numeric)
        out->unit = "";
    return true;
}

bool vary_parse(const char *text, tdArena *arena, varyAxis *out, char why[VARY_WHY])
{
    static const struct
    {
        const char *word;
        varyKind kind;
    } words[] = {{"uniform", VARY_UNIFORM}, {"normal", VARY_NORMAL}, {"lognormal", VARY_LOGNORMAL}};
    const char *equals = strchr(text, '=');
    *out = (varyAxis){.unit = ""};
    if (equals == NULL || equals == text || *skip_blanks(equals + 1) == '\0')
    {
        snprintf(why, VARY_WHY, "expected PATH=VALUES, e.g. contact.friction=0.2,0.5 or 0.2..0.8:4 or normal(1, 0.1)");
        return false;
    }
    out->path = copy_trimmed(arena, text, equals);
    if (out->path == NULL)
    {
        snprintf(why, VARY_WHY, "there is no memory for it");
        return false;
    }
    const char *values = skip_blanks(equals + 1), *dots = strstr(values, "..");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    {
        size_t length = strlen(words[i].word);
        if (strncmp(values, words[i].word, length) == 0 && *skip_blanks(values + length) == '(')
            return parse_distribution(values, words[i].kind, arena, out, why);
    }
    // Dots are also in paths of files, such as ../arm.msh.
    if (dots != NULL && (strncmp(values, "log ", 4) == 0 || strspn(values, "+-.0123456789") > 0) && values != dots)
        return parse_range(values, dots, arena, out, why);
    return parse_list(values, arena, out, why);
}

// ---------------------------------------------------------------- values

// A number between 0 and 1, neither of them, that depends on the seed, the axis and a counter alone.
static double draw(uint64_t seed, int axis, int counter)
{
    uint64_t bits = td_hash_mix(seed + 0x9e3779b97f4a7c15U * (uint64_t)(2 * axis + counter + 1));
    bits = td_hash_mix(bits + 0xbf58476d1ce4e5b9U);
    return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}

// Box and Muller.
static double draw_normal(uint64_t seed, int axis)
{
    return sqrt(-2 * log(draw(seed, axis, 0))) * cos(2 * 3.14159265358979323846 * draw(seed, axis, 1));
}

void vary_value(const varyAxis *axis, int i, uint64_t seed, int axis_number, char out[VARY_VALUE], double *number)
{
    double share = axis->n > 1 ? (double)i / (axis->n - 1) : 0, value = NAN;
    switch (axis->kind)
    {
    case VARY_LIST:
        snprintf(out, VARY_VALUE, "%s", axis->values[i]);
        *number = axis->numeric ? td_number(axis->values[i], NULL) : NAN;
        return;
    case VARY_RANGE: value = axis->a + share * (axis->b - axis->a); break;
    case VARY_LOG_RANGE: value = axis->a * pow(axis->b / axis->a, share); break;
    case VARY_UNIFORM: value = axis->a + (axis->b - axis->a) * draw(seed, axis_number, 0); break;
    case VARY_NORMAL: value = axis->a + axis->b * draw_normal(seed, axis_number); break;
    case VARY_LOGNORMAL: value = axis->a * exp(axis->b * draw_normal(seed, axis_number)); break;
    }
    // Twelve digits: what the table shows is what the scene was given.
    snprintf(out, VARY_VALUE, "%.12g%s%s", value, axis->unit[0] != '\0' ? " " : "", axis->unit);
    *number = td_number(out, NULL);
}
