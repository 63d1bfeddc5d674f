// SPDX-License-Identifier: Apache-2.0
// In two passes: JSON of the only shape that occurs (an object of strings, numbers, null and short arrays of numbers)
// to pairs, then the pairs against the table of messages.
#include "view/message.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PAIRS 8
#define KEY_SIZE   16

typedef enum valueKind
{
    VALUE_NULL,
    VALUE_STRING,
    VALUE_NUMBER,
    VALUE_ARRAY // of one to TD_VIEW_LIST numbers
} valueKind;

typedef struct pair
{
    char key[KEY_SIZE];
    valueKind kind;
    int n;
    double number[TD_VIEW_LIST];
    char string[TD_VIEW_NAME];
} pair;

typedef struct reader
{
    const char *at, *end;
    int n;
    pair pairs[MOST_PAIRS];
    char *why;
} reader;

static bool refuse(char *why, const char *format, ...) TD_PRINTF(2, 3);
static bool refuse(char *why, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(why, TD_VIEW_WHY, format, list);
    va_end(list);
    // What is quoted comes from the client and goes back to it inside JSON.
    for (char *c = why; *c != '\0'; c++)
        if (*c < 0x20 || *c > 0x7e)
            *c = '?';
    return false;
}

// ---------------------------------------------------------------- JSON

static void skip_space(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

static bool take(reader *r, char c)
{
    skip_space(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool read_hex(reader *r, unsigned *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++)
    {
        if (r->at == r->end)
            return false;
        char c = *r->at++;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;
        if (digit > 15)
            return false;
        *out = 16 * *out + digit;
    }
    return true;
}

// One escape as UTF-8; the number of bytes, 0: not one.
static int read_escape(reader *r, char out[4])
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (r->at == r->end)
        return 0;
    char c = *r->at++;
    const char *found = c == '\0' ? NULL : strchr(from, c);
    if (found != NULL)
    {
        out[0] = to[found - from];
        return 1;
    }
    unsigned code = 0, low = 0;
    if (c != 'u' || !read_hex(r, &code) || code == 0 || (code >= 0xdc00 && code < 0xe000))
        return 0;
    if (code >= 0xd800 && code < 0xdc00)
    {
        if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
            return 0;
        r->at += 2;
        if (!read_hex(r, &low) || low < 0xdc00 || low >= 0xe000)
            return 0;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code < 0x80)
    {
        out[0] = (char)code;
        return 1;
    }
    int n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (int i = n - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | code);
    return n;
}

// A string that fits in `size` bytes with its end.
static bool read_string(reader *r, char *out, size_t size)
{
    size_t n = 0;
    if (!take(r, '"'))
        return refuse(r->why, "a string is expected");
    while (r->at < r->end && *r->at != '"')
    {
        char bytes[4] = {*r->at};
        int count = 1;
        if ((unsigned char)*r->at < 0x20)
            return refuse(r->why, "a string holds a control character");
        if (*r->at++ == '\\' && (count = read_escape(r, bytes)) == 0)
            return refuse(r->why, "a string contains an escape unknown to JSON");
        if (n + (size_t)count >= size)
            return refuse(r->why, "a string is longer than %d bytes", (int)size - 1);
        memcpy(out + n, bytes, (size_t)count);
        n += (size_t)count;
    }
    if (r->at == r->end)
        return refuse(r->why, "a string does not end");
    r->at++;
    out[n] = '\0';
    return true;
}

static size_t count_digits(const char *text, size_t from)
{
    size_t n = from;
    while (text[n] >= '0' && text[n] <= '9')
        n++;
    return n - from;
}

// By JSON's grammar, which is narrower than that of strtod().
static bool read_number(reader *r, double *out)
{
    char text[64];
    size_t n = 0, digits;
    skip_space(r);
    while (r->at + n < r->end && n < sizeof text - 1 && r->at[n] != '\0' && strchr("+-.0123456789eE", r->at[n]) != NULL)
    {
        text[n] = r->at[n];
        n++;
    }
    text[n] = '\0';
    size_t i = text[0] == '-';
    bool good = (digits = count_digits(text, i)) > 0 && (digits == 1 || text[i] != '0');
    i += digits;
    if (good && text[i] == '.')
    {
        good = (digits = count_digits(text, i + 1)) > 0;
        i += 1 + digits;
    }
    if (good && (text[i] == 'e' || text[i] == 'E'))
    {
        i += 1 + (text[i + 1] == '+' || text[i + 1] == '-');
        good = (digits = count_digits(text, i)) > 0;
        i += digits;
    }
    if (!good || text[i] != '\0' || n == sizeof text - 1)
        return refuse(r->why, "a number is expected, null, a string or an array of numbers");
    *out = strtod(text, NULL);
    r->at += n;
    return isfinite(*out) || refuse(r->why, "the number %s is too large", text);
}

static bool read_value(reader *r, pair *p)
{
    skip_space(r);
    if (r->at < r->end && *r->at == '"')
    {
        p->kind = VALUE_STRING;
        return read_string(r, p->string, sizeof p->string);
    }
    if (r->end - r->at >= 4 && memcmp(r->at, "null", 4) == 0)
    {
        r->at += 4;
        p->kind = VALUE_NULL;
        return true;
    }
    p->n = 1;
    p->kind = VALUE_NUMBER;
    if (!take(r, '['))
        return read_number(r, &p->number[0]);
    p->kind = VALUE_ARRAY;
    for (p->n = 0; p->n < TD_VIEW_LIST;)
    {
        if (!read_number(r, &p->number[p->n++]))
            return false;
        if (take(r, ']'))
            return true;
        if (!take(r, ','))
            return refuse(r->why, "an array is not closed");
    }
    return refuse(r->why, "an array holds more than %d numbers", TD_VIEW_LIST);
}

static bool read_object(reader *r)
{
    if (!take(r, '{'))
        return refuse(r->why, "a message is one JSON object");
    bool first = true;
    while (!take(r, '}'))
    {
        if (r->n == MOST_PAIRS)
            return refuse(r->why, "a message has at most %d keys", MOST_PAIRS);
        if (!first && !take(r, ','))
            return refuse(r->why, "a comma is missing");
        pair *p = &r->pairs[r->n];
        if (!read_string(r, p->key, sizeof p->key))
            return false;
        for (int i = 0; i < r->n; i++)
            if (strcmp(r->pairs[i].key, p->key) == 0)
                return refuse(r->why, "the key '%s' is given twice", p->key);
        if (!take(r, ':'))
            return refuse(r->why, "a colon is missing after the key '%s'", p->key);
        if (!read_value(r, p))
            return false;
        r->n++;
        first = false;
    }
    skip_space(r);
    return r->at == r->end || refuse(r->why, "something follows the object");
}

// ---------------------------------------------------------------- messages

// Where a value goes, and so of which form it must be.
typedef enum target
{
    TO_END,
    TO_NAME,
    TO_WORD,      // "start" or "stop"
    TO_VALUE,     // a number
    TO_OPTION,    // a number or null
    TO_VALUES,    // a number, an array or null
    TO_COUNT,     // a whole number
    TO_MESH,      // the same
    TO_TRIANGLE,  // the same
    TO_WEIGHTS,   // three numbers that sum to 1
    TO_ANCHOR,    // three numbers
    TO_STIFFNESS, // a number
    TO_WAY,       // three numbers or null
    TO_TURN,      // three numbers
    TO_LIST,      // whole numbers
} target;

typedef struct field
{
    const char *key;
    target to;
    bool required;
    double low, high; ///< of numbers
} field;

// Places and efforts have no bound of their own: the simulation knows their limits.
#define HUGE_NUMBER 1e15
#define LAST_INDEX  2147483647.0

static const struct
{
    const char *type;
    field fields[6];
} messages[TD_VIEW_ACTIONS] = {
    [TD_VIEW_PLAY] = {"play", {{0}}},
    [TD_VIEW_PAUSE] = {"pause", {{0}}},
    [TD_VIEW_STEP] = {"step", {{"count", TO_COUNT, false, 1, 1000}}},
    [TD_VIEW_RESET] = {"reset", {{0}}},
    [TD_VIEW_SPEED] = {"speed", {{"value", TO_VALUE, true, 0.01, 100}}},
    [TD_VIEW_ACTUATOR] = {"actuator",
                          {{"name", TO_NAME, true, 0, 0}, {"value", TO_OPTION, true, -HUGE_NUMBER, HUGE_NUMBER}}},
    [TD_VIEW_TARGET] = {"target",
                        {{"name", TO_NAME, true, 0, 0}, {"value", TO_VALUES, true, -HUGE_NUMBER, HUGE_NUMBER}}},
    [TD_VIEW_SPRING] = {"spring",
                        {{"mesh", TO_MESH, false, 0, LAST_INDEX},
                         {"triangle", TO_TRIANGLE, false, 0, LAST_INDEX},
                         {"weights", TO_WEIGHTS, false, 0, 1},
                         {"anchor", TO_ANCHOR, true, -HUGE_NUMBER, HUGE_NUMBER},
                         {"stiffness", TO_STIFFNESS, false, 1e-9, HUGE_NUMBER}}},
    [TD_VIEW_RELEASE] = {"release", {{0}}},
    [TD_VIEW_TOOL] = {"tool",
                      {{"name", TO_NAME, true, 0, 0},
                       {"linear", TO_WAY, true, -100, 100},
                       {"angular", TO_TURN, false, -100, 100}}},
    [TD_VIEW_LEAD] = {"lead", {{"name", TO_NAME, true, 0, 0}, {"to", TO_ANCHOR, true, -HUGE_NUMBER, HUGE_NUMBER}}},
    [TD_VIEW_GROUP] = {"group", {{"actuators", TO_LIST, true, 0, LAST_INDEX}, {"rate", TO_VALUE, true, -10, 10}}},
    [TD_VIEW_GRIP] = {"grip", {{"name", TO_NAME, true, 0, 0}, {"rate", TO_VALUE, true, -10, 10}}},
    [TD_VIEW_FIELD] = {"field", {{"name", TO_NAME, true, 0, 0}}},
    [TD_VIEW_SCENE] = {"scene", {{"name", TO_NAME, true, 0, 0}}},
    [TD_VIEW_RECORD] = {"record", {{"action", TO_WORD, true, 0, 0}, {"every", TO_COUNT, false, 1, 100000}}},
    [TD_VIEW_RATE] = {"rate", {{"value", TO_VALUE, true, 1, 240}}},
    [TD_VIEW_ACK] = {"ack", {{"frame", TO_COUNT, true, 0, 4294967295.0}}},
    [TD_VIEW_PING] = {"ping", {{"id", TO_COUNT, true, 0, 4294967295.0}}},
};

const char *td_view_action_name(tdViewAction action)
{
    return action >= 0 && action < TD_VIEW_ACTIONS ? messages[action].type : "";
}

static const pair *find(const reader *r, const char *key)
{
    for (int i = 0; i < r->n; i++)
        if (strcmp(r->pairs[i].key, key) == 0)
            return &r->pairs[i];
    return NULL;
}

static bool check_list(const field *f, const pair *p, char *why)
{
    bool whole = p->kind == VALUE_ARRAY;
    for (int i = 0; i < p->n && whole; i++)
        whole = p->number[i] == floor(p->number[i]);
    return whole || refuse(why, "'%s' must be an array of whole numbers", f->key);
}

static bool check_kind(const field *f, const pair *p, char *why)
{
    bool number = p->kind == VALUE_NUMBER, three = p->kind == VALUE_ARRAY && p->n == 3, nothing = p->kind == VALUE_NULL;
    switch (f->to)
    {
    case TO_NAME:
    case TO_WORD: return p->kind == VALUE_STRING || refuse(why, "'%s' must be a string", f->key);
    case TO_WAY: return three || nothing || refuse(why, "'%s' must be an array of three numbers or null", f->key);
    case TO_LIST: return check_list(f, p, why);
    case TO_WEIGHTS:
    case TO_TURN:
    case TO_ANCHOR: return three || refuse(why, "'%s' must be an array of three numbers", f->key);
    case TO_VALUES:
        return number || nothing || (p->kind == VALUE_ARRAY && p->n <= 3) ||
               refuse(why, "'%s' must be a number, an array of at most three or null", f->key);
    case TO_OPTION: return number || nothing || refuse(why, "'%s' must be a number or null", f->key);
    case TO_COUNT:
    case TO_MESH:
    case TO_TRIANGLE:
        return (number && p->number[0] == floor(p->number[0])) || refuse(why, "'%s' must be a whole number", f->key);
    default: return number || refuse(why, "'%s' must be a number", f->key);
    }
}

static bool store(const field *f, const pair *p, tdViewMessage *out, char *why)
{
    if (!check_kind(f, p, why))
        return false;
    bool numbers = p->kind == VALUE_NUMBER || p->kind == VALUE_ARRAY;
    for (int i = 0; numbers && i < p->n; i++)
        if (!(p->number[i] >= f->low && p->number[i] <= f->high))
            return refuse(why, "'%s' must be from %g to %g", f->key, f->low, f->high);
    switch (f->to)
    {
    case TO_NAME: memcpy(out->name, p->string, sizeof out->name); break;
    case TO_WORD:
        out->start = strcmp(p->string, "start") == 0;
        return out->start || strcmp(p->string, "stop") == 0 || refuse(why, "'%s' must be 'start' or 'stop'", f->key);
    case TO_WAY:
    case TO_VALUE:
    case TO_OPTION:
    case TO_VALUES:
        out->n_values = numbers ? p->n : 0;
        memcpy(out->value, p->number, sizeof out->value);
        break;
    case TO_COUNT: out->count = (int64_t)p->number[0]; break;
    case TO_MESH: out->mesh = (int32_t)p->number[0]; break;
    case TO_TRIANGLE: out->triangle = (int32_t)p->number[0]; break;
    case TO_WEIGHTS: memcpy(out->weights, p->number, sizeof out->weights); break;
    case TO_ANCHOR: memcpy(out->anchor, p->number, sizeof out->anchor); break;
    case TO_STIFFNESS: out->stiffness = p->number[0]; break;
    case TO_TURN: memcpy(out->turn, p->number, sizeof out->turn); break;
    case TO_LIST:
        out->n_list = p->n;
        for (int i = 0; i < p->n; i++)
            out->list[i] = (int32_t)p->number[i];
        break;
    case TO_END: break;
    }
    return true;
}

// A point has all of its keys or none, and its weights make it a point of the triangle.
static bool finish_spring(const reader *r, tdViewMessage *out, char *why)
{
    int given = (find(r, "mesh") != NULL) + (find(r, "triangle") != NULL) + (find(r, "weights") != NULL);
    if (given != 0 && given != 3)
        return refuse(why, "a spring needs 'mesh', 'triangle' and 'weights', or none of them to move its anchor");
    out->tied = given == 3;
    if (!out->tied)
        return find(r, "stiffness") == NULL || refuse(why, "'stiffness' is set where the spring is tied");
    double sum = out->weights[0] + out->weights[1] + out->weights[2];
    if (!(fabs(sum - 1) <= 1e-3))
        return refuse(why, "'weights' must sum to 1");
    for (int i = 0; i < 3; i++)
        out->weights[i] /= sum; // a client may compute with few digits
    return true;
}

bool td_view_message(const char *text, size_t size, tdViewMessage *out, char why[TD_VIEW_WHY])
{
    *out = (tdViewMessage){.action = TD_VIEW_ACTIONS, .count = 1, .stiffness = NAN};
    why[0] = '\0';
    if (size > TD_VIEW_MESSAGE)
        return refuse(why, "a message is longer than %d bytes", TD_VIEW_MESSAGE);
    reader r = {.at = text, .end = text + size, .why = why};
    if (!read_object(&r))
        return false;
    const pair *type = find(&r, "type");
    if (type == NULL || type->kind != VALUE_STRING)
        return refuse(why, "'type' is missing");
    for (int a = 0; a < TD_VIEW_ACTIONS; a++)
        if (strcmp(messages[a].type, type->string) == 0)
            out->action = (tdViewAction)a;
    if (out->action == TD_VIEW_ACTIONS)
        return refuse(why, "there is no message of type '%.40s'", type->string);
    int known = 1;
    for (const field *f = messages[out->action].fields; f->key != NULL; f++)
    {
        const pair *p = find(&r, f->key);
        if (p == NULL && f->required)
            return refuse(why, "'%s' is missing", f->key);
        if (p == NULL)
            continue;
        known++;
        if (!store(f, p, out, why))
            return false;
    }
    if (known != r.n)
        return refuse(why, "a message of type '%s' has an unknown key", type->string);
    return out->action != TD_VIEW_SPRING || finish_spring(&r, out, why);
}
