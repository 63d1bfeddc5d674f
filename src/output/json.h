// SPDX-License-Identifier: Apache-2.0
// Writes one JSON object, key by key, into a growing text. Numbers keep all their digits; a number
// that JSON cannot hold (NaN, infinity) becomes null.
#pragma once
#include "base/file.h"

typedef struct tdJson
{
    tdText text;
    int depth;
    bool comma; ///< the next item needs one before it
} tdJson;

/// `key` is NULL inside an array and for the outermost object.
void td_json_open(tdJson *json, const char *key, char bracket); ///< '{' or '['
void td_json_close(tdJson *json, char bracket);                 ///< '}' or ']'
void td_json_string(tdJson *json, const char *key, const char *value);
void td_json_number(tdJson *json, const char *key, double value);
void td_json_integer(tdJson *json, const char *key, int64_t value);
void td_json_bool(tdJson *json, const char *key, bool value);
void td_json_numbers(tdJson *json, const char *key, int n, const double *values);
