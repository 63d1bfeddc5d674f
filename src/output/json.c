// SPDX-License-Identifier: Apache-2.0
#include "output/json.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void write_quoted(tdText *text, const char *value)
{
    td_text_append(text, "\"", 1);
    for (const char *c = value; *c != '\0';)
    {
        size_t n = td_utf8_size(c);
        if (*c == '"' || *c == '\\')
            td_text_format(text, "\\%c", *c);
        else if (td_utf8_is_control(*c))
            td_text_format(text, "\\u%04x", (unsigned)*c);
        else if (n == 0)
            td_text_append(text, TD_UTF8_REPLACEMENT, sizeof TD_UTF8_REPLACEMENT - 1);
        else
            td_text_append(text, c, n);
        c += n == 0 ? 1 : n;
    }
    td_text_append(text, "\"", 1);
}

static void begin(tdJson *json, const char *key)
{
    if (json->comma)
        td_text_append(&json->text, ",", 1);
    if (json->depth > 0 && key != NULL)
        td_text_append(&json->text, " ", 1);
    if (key != NULL)
    {
        write_quoted(&json->text, key);
        td_text_append(&json->text, ": ", 2);
    }
    json->comma = true;
}

void td_json_open(tdJson *json, const char *key, char bracket)
{
    begin(json, key);
    td_text_append(&json->text, &bracket, 1);
    json->depth++;
    json->comma = false;
}

void td_json_close(tdJson *json, char bracket)
{
    td_text_append(&json->text, &bracket, 1);
    json->depth--;
    json->comma = true;
}

void td_json_string(tdJson *json, const char *key, const char *value)
{
    begin(json, key);
    write_quoted(&json->text, value);
}

static void write_number(tdText *text, double value)
{
    if (isfinite(value))
        td_text_format(text, "%.17g", value);
    else
        td_text_append(text, "null", 4);
}

void td_json_number(tdJson *json, const char *key, double value)
{
    begin(json, key);
    write_number(&json->text, value);
}

void td_json_integer(tdJson *json, const char *key, int64_t value)
{
    begin(json, key);
    td_text_format(&json->text, "%" PRId64, value);
}

void td_json_bool(tdJson *json, const char *key, bool value)
{
    begin(json, key);
    td_text_format(&json->text, "%s", value ? "true" : "false");
}

void td_json_numbers(tdJson *json, const char *key, int n, const double *values)
{
    begin(json, key);
    for (int i = 0; i < n; i++)
    {
        td_text_append(&json->text, i == 0 ? "[" : ", ", i == 0 ? 1 : 2);
        write_number(&json->text, values[i]);
    }
    td_text_format(&json->text, "%s", n == 0 ? "[]" : "]");
}
