// SPDX-License-Identifier: Apache-2.0
// See haply.h.
#include "haptic/haply.h"

#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 32 // maps and lists within each other

// ---------------------------------------------------------------- JSON

typedef struct jsonCursor
{
    const char *at, *end;
    const char *wrong; ///< NULL: nothing yet
    tdHaplyState *out;
} jsonCursor;

// Where a value stands, as far as that matters.
typedef enum place
{
    NOWHERE,
    ROOT,
    DEVICES, // inverse3
    GRIPS,   // a list of grips
    DEVICE,  // the first of them
    GRIP,
    DEVICE_STATE,
    GRIP_STATE,
    DEVICE_ID,
    POSITION,
    ROTATION,
    BUTTONS,
    NUMBER // or another value that is wanted
} place;

static bool fail(jsonCursor *j, const char *why)
{
    if (j->wrong == NULL)
        j->wrong = why;
    return false;
}

static void skip_space(jsonCursor *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r'))
        j->at++;
}

static bool is_next(jsonCursor *j, char c)
{
    skip_space(j);
    return j->at < j->end && *j->at == c;
}

static bool take(jsonCursor *j, char c)
{
    if (!is_next(j, c))
        return fail(j, "it is not JSON");
    j->at++;
    return true;
}

// The text between quotes, as it stands.
static bool read_text(jsonCursor *j, const char **text, size_t *length)
{
    if (!take(j, '"'))
        return false;
    *text = j->at;
    while (j->at < j->end && *j->at != '"')
        j->at += *j->at == '\\' ? 2 : 1;
    if (j->at >= j->end)
        return fail(j, "a string has no end");
    *length = (size_t)(j->at - *text);
    j->at++;
    return true;
}

static bool read_number(jsonCursor *j, double *out)
{
    char text[48];
    size_t n = 0;
    skip_space(j);
    while (j->at < j->end && n + 1 < sizeof text &&
           (strchr("+-.eE", *j->at) != NULL || (*j->at >= '0' && *j->at <= '9')))
        text[n++] = *j->at++;
    text[n] = '\0';
    char *end = NULL;
    *out = td_number(text, &end);
    return n > 0 && *end == '\0' && isfinite(*out) ? true : fail(j, "a number cannot be read");
}

static bool is_text(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(text, name, length) == 0;
}

// true, false or null, or a number that nobody wants.
static bool skip_word(jsonCursor *j, bool *is_true)
{
    size_t n = 0;
    skip_space(j);
    const char *text = j->at;
    while (j->at < j->end && ((*j->at >= 'a' && *j->at <= 'z') || (*j->at >= 'A' && *j->at <= 'Z') ||
                              (*j->at >= '0' && *j->at <= '9') || *j->at == '+' || *j->at == '-' || *j->at == '.'))
    {
        j->at++;
        n++;
    }
    *is_true = is_text(text, n, "true");
    return n > 0 ? true : fail(j, "it is not JSON");
}

static bool read_value(jsonCursor *j, place where, double *number, int deep);

// What a key of a map leads to, and where its number goes.
static place go_in(jsonCursor *j, place where, const char *key, size_t length, double **number)
{
    static const char *const axes[4] = {"w", "x", "y", "z"};
    tdHaplyState *out = j->out;
    *number = NULL;
    switch (where)
    {
    case ROOT:
        return is_text(key, length, "inverse3")                                                    ? DEVICES
               : is_text(key, length, "verse_grip") || is_text(key, length, "wireless_verse_grip") ? GRIPS
                                                                                                   : NOWHERE;
    case DEVICE:
        return is_text(key, length, "state") ? DEVICE_STATE : is_text(key, length, "device_id") ? DEVICE_ID : NOWHERE;
    case GRIP: return is_text(key, length, "state") ? GRIP_STATE : NOWHERE;
    case DEVICE_STATE:
        if (!is_text(key, length, "cursor_position"))
            return NOWHERE;
        out->has_position = true;
        return POSITION;
    case GRIP_STATE:
        if (is_text(key, length, "orientation"))
        {
            out->has_rotation = true;
            return ROTATION;
        }
        return is_text(key, length, "buttons") ? BUTTONS : NOWHERE;
    case POSITION:
    case ROTATION:
        for (int k = 0; k < 4; k++)
            if (is_text(key, length, axes[k]) && (where == ROTATION || k > 0))
                *number = where == ROTATION ? &out->rotation[k] : &out->position[k - 1];
        return *number != NULL ? NUMBER : NOWHERE;
    case BUTTONS: return is_text(key, length, "a") ? BUTTONS : NOWHERE;
    default: return NOWHERE;
    }
}

static bool read_map(jsonCursor *j, place where, int deep)
{
    if (!take(j, '{'))
        return false;
    for (bool first = true; !is_next(j, '}'); first = false)
    {
        const char *key = NULL;
        size_t length = 0;
        double *number = NULL;
        if ((!first && !take(j, ',')) || !read_text(j, &key, &length) || !take(j, ':'))
            return false;
        place inside = go_in(j, where, key, length, &number);
        if (!read_value(j, inside, number, deep))
            return false;
    }
    return take(j, '}');
}

static bool read_list(jsonCursor *j, place where, int deep)
{
    if (!take(j, '['))
        return false;
    for (int k = 0; !is_next(j, ']'); k++)
    {
        place inside = k > 0 ? NOWHERE : where == DEVICES ? DEVICE : where == GRIPS ? GRIP : NOWHERE;
        if ((k > 0 && !take(j, ',')) || !read_value(j, inside, NULL, deep))
            return false;
    }
    return take(j, ']');
}

static bool read_id(jsonCursor *j)
{
    const char *text;
    size_t length;
    if (!read_text(j, &text, &length))
        return false;
    for (size_t k = 0; k < length; k++)
        if (!((text[k] >= '0' && text[k] <= '9') || (text[k] >= 'a' && text[k] <= 'z') ||
              (text[k] >= 'A' && text[k] <= 'Z') || text[k] == '-' || text[k] == '_') ||
            length >= TD_HAPLY_ID)
            return fail(j, "the name of a device is not of letters and digits");
    memcpy(j->out->device, text, length);
    j->out->device[length] = '\0';
    return true;
}

static bool read_value(jsonCursor *j, place where, double *number, int deep)
{
    const char *text;
    size_t length;
    bool is_true = false;
    if (deep == DEEPEST)
        return fail(j, "objects are nested too deeply");
    if (where == NUMBER)
        return read_number(j, number);
    if (where == DEVICE_ID)
        return read_id(j);
    if (is_next(j, '{'))
        return read_map(j, where, deep + 1);
    if (is_next(j, '['))
        return read_list(j, where, deep + 1);
    if (is_next(j, '"'))
        return read_text(j, &text, &length);
    if (!skip_word(j, &is_true))
        return false;
    if (where == BUTTONS)
        j->out->button = is_true;
    return true;
}

const char *td_haply_read(const char *text, size_t size, tdHaplyState *out)
{
    *out = (tdHaplyState){.position = {NAN, NAN, NAN}, .rotation = {NAN, NAN, NAN, NAN}};
    jsonCursor j = {.at = text, .end = text + size, .out = out};
    bool good = is_next(&j, '{') ? read_map(&j, ROOT, 0) : fail(&j, "it is not an object");
    skip_space(&j);
    if (good && j.at != j.end)
        fail(&j, "something follows its end");
    for (int k = 0; k < 3 && j.wrong == NULL && out->has_position; k++)
        if (!(fabs(out->position[k]) <= 10))
            fail(&j, "the position is incomplete, or beyond 10 m");
    double length = 0;
    for (int k = 0; k < 4; k++)
        length += out->rotation[k] * out->rotation[k];
    if (out->has_rotation && !(length > 0.9 && length < 1.1))
        fail(&j, "the rotation is not a unit quaternion");
    if (j.wrong != NULL)
        *out = (tdHaplyState){0};
    return j.wrong;
}

// Six digits behind the point, in every locale; forces beyond 1000 N are none.
static void print_force(double force, char out[16])
{
    long micro = isfinite(force) && fabs(force) < 1000 ? lround(1e6 * force) : 0;
    snprintf(out, 16, "%s%d.%06d", micro < 0 ? "-" : "", (int)(labs(micro) / 1000000 % 1000),
             (int)(labs(micro) % 1000000));
}

size_t td_haply_write(const char *device, const double force[3], char *out, size_t size)
{
    char f[3][16];
    for (int k = 0; k < 3; k++)
        print_force(force[k], f[k]);
    int n = snprintf(out, size,
                     "{\"inverse3\":[{\"device_id\":\"%s\",\"commands\":{\"set_cursor_force\":{\"values\":{\"x\":%s,"
                     "\"y\":%s,\"z\":%s}}}}]}",
                     device, f[0], f[1], f[2]);
    return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

// ---------------------------------------------------------------- frames

tdWebResult td_web_read(const uint8_t *data, size_t size, size_t most, tdWebFrame *out)
{
    if (size < 2)
        return TD_WEB_MORE;
    size_t head = 2;
    uint64_t length = data[1] & 0x7F;
    // No extension was asked for, and a server does not mask.
    if ((data[0] & 0x70) != 0 || (data[1] & 0x80) != 0)
        return TD_WEB_BAD;
    int extra = length == 126 ? 2 : length == 127 ? 8 : 0;
    if (extra > 0)
        length = 0;
    if (size < head + (size_t)extra)
        return TD_WEB_MORE;
    for (int k = 0; k < extra; k++)
        length = length << 8 | data[head + (size_t)k];
    head += (size_t)extra;
    if (length > most)
        return TD_WEB_BAD;
    *out = (tdWebFrame){.opcode = data[0] & 0x0F,
                        .last = (data[0] & 0x80) != 0,
                        .data = data + head,
                        .size = (size_t)length,
                        .whole = head + (size_t)length};
    return size < out->whole ? TD_WEB_MORE : TD_WEB_FRAME;
}

size_t td_web_write(int opcode, const void *data, size_t n, uint32_t mask, uint8_t *out, size_t size)
{
    const uint8_t key[4] = {(uint8_t)mask, (uint8_t)(mask >> 8), (uint8_t)(mask >> 16), (uint8_t)(mask >> 24)};
    size_t head = n < 126 ? 2 : 4;
    if (n > UINT16_MAX || head + 4 + n > size)
        return 0;
    out[0] = (uint8_t)(0x80 | opcode);
    out[1] = (uint8_t)(0x80 | (n < 126 ? n : 126));
    if (n >= 126)
    {
        out[2] = (uint8_t)(n >> 8);
        out[3] = (uint8_t)n;
    }
    memcpy(out + head, key, 4);
    for (size_t k = 0; k < n; k++)
        out[head + 4 + k] = ((const uint8_t *)data)[k] ^ key[k % 4];
    return head + 4 + n;
}
