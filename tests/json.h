// SPDX-License-Identifier: Apache-2.0
// Whether a text is JSON (RFC 8259), for tests of what the program prints.
#pragma once
#include "test.h"

#include <ctype.h>
#include <stdbool.h>

static inline const char *json_blank(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

// Behind a string; NULL: it is none.
static inline const char *json_string(const char *at)
{
    if (*at++ != '"')
        return NULL;
    for (; *at != '"'; at++)
    {
        if ((unsigned char)*at < ' ')
            return NULL;
        if (*at == '\\' && (*++at == '\0' || strchr("\"\\/bfnrtu", *at) == NULL))
            return NULL;
    }
    return at + 1;
}

static inline const char *json_plain(const char *at)
{
    static const char *const words[] = {"true", "false", "null"};
    for (int i = 0; i < 3; i++)
        if (strncmp(at, words[i], strlen(words[i])) == 0)
            return at + strlen(words[i]);
    if (*at != '-' && !isdigit((unsigned char)*at))
        return NULL; // no infinity, no NaN
    char *end = NULL;
    strtod(at, &end);
    return end;
}

// Behind a value; NULL: it is none.
static inline const char *json_behind(const char *at)
{
    at = json_blank(at);
    if (*at == '"')
        return json_string(at);
    if (*at != '{' && *at != '[')
        return json_plain(at);
    const char open = *at, close = open == '{' ? '}' : ']';
    at = json_blank(at + 1);
    if (*at == close)
        return at + 1;
    for (;;)
    {
        if (open == '{')
        {
            at = json_string(json_blank(at));
            if (at == NULL || *(at = json_blank(at)) != ':')
                return NULL;
            at++;
        }
        at = json_behind(at);
        if (at == NULL)
            return NULL;
        at = json_blank(at);
        if (*at == close)
            return at + 1;
        if (*at++ != ',')
            return NULL;
    }
}

static inline void assert_json(const char *text)
{
    const char *end = json_behind(text);
    if (end == NULL || *json_blank(end) != '\0')
        fail_msg("this is no JSON: %s", text);
}
