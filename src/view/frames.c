// SPDX-License-Identifier: Apache-2.0
#include "view/frames.h"

#include <string.h>

enum
{
    CONTINUED = 0,
    TEXT = 1,
    BINARY = 2,
    CLOSE = 8,
    PING = 9,
    PONG = 10,
    // codes to close with, section 7.4.1
    NORMAL = 1000,
    PROTOCOL = 1002,
    NO_TEXT = 1007,
    TOO_LARGE = 1009
};

// Shortest forms only, no surrogates, nothing beyond the last character (RFC 3629).
static bool is_utf8(const unsigned char *text, size_t size)
{
    for (size_t i = 0; i < size;)
    {
        unsigned char c = text[i++];
        int more = c < 0x80                ? 0
                   : c >= 0xc2 && c < 0xe0 ? 1
                   : c >= 0xe0 && c < 0xf0 ? 2
                   : c >= 0xf0 && c < 0xf5 ? 3
                                           : -1;
        if (more < 0 || size - i < (size_t)more)
            return false;
        unsigned char low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
        unsigned char high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
        for (int k = 0; k < more; k++, i++, low = 0x80, high = 0xbf)
            if (text[i] < low || text[i] > high)
                return false;
    }
    return true;
}

static tdViewEvent breaks(tdViewReader *r, int code)
{
    r->code = code;
    return TD_VIEW_BROKEN;
}

static int opcode(const tdViewReader *r)
{
    return r->head[0] & 15;
}

static bool is_last(const tdViewReader *r)
{
    return r->head[0] & 0x80;
}

// The first two bytes say how long the head is; what they may not say ends the connection before more is read.
static tdViewEvent begin(tdViewReader *r)
{
    int code = opcode(r), length = r->head[1] & 127;
    bool control = code >= CLOSE, masked = r->head[1] & 0x80;
    if (!masked || (r->head[0] & 0x70) != 0)
        return breaks(r, PROTOCOL);
    if (code > PONG || (code > BINARY && !control))
        return breaks(r, PROTOCOL);
    if (control && (!is_last(r) || length > 125))
        return breaks(r, PROTOCOL);
    if (!control && (code == CONTINUED) != r->within)
        return breaks(r, PROTOCOL);
    r->wants = 2 + (length == 126 ? 2 : length == 127 ? 8 : 0) + 4;
    return TD_VIEW_NOTHING;
}

// The head is whole.
static tdViewEvent measure(tdViewReader *r)
{
    int n = r->wants - 6;
    r->at = 0;
    r->length = n == 0 ? r->head[1] & 127u : 0;
    for (int i = 0; i < n; i++)
        r->length = r->length << 8 | r->head[2 + i];
    if ((n == 2 && r->length < 126) || (n == 8 && (r->length < 65536 || r->length >> 63)))
        return breaks(r, PROTOCOL); // not the shortest form
    if (opcode(r) >= CLOSE)
    {
        r->control_size = 0;
        return TD_VIEW_NOTHING;
    }
    if (opcode(r) != CONTINUED)
    {
        r->size = 0;
        r->binary = opcode(r) == BINARY;
    }
    return r->length > sizeof r->message - r->size ? breaks(r, TOO_LARGE) : TD_VIEW_NOTHING;
}

static tdViewEvent closed(tdViewReader *r)
{
    if (r->control_size == 0)
    {
        r->code = NORMAL;
        return TD_VIEW_CLOSED;
    }
    int code = r->control_size == 1 ? 0 : r->control[0] << 8 | r->control[1];
    bool reserved = code == 1004 || code == 1005 || code == 1006; // never sent
    bool known = (code >= NORMAL && code <= 1014 && !reserved) || (code >= 3000 && code < 5000);
    if (!known)
        return breaks(r, PROTOCOL);
    if (!is_utf8(r->control + 2, r->control_size - 2))
        return breaks(r, NO_TEXT);
    r->code = code;
    return TD_VIEW_CLOSED;
}

// The frame is whole.
static tdViewEvent finish(tdViewReader *r)
{
    r->has = r->wants = 0;
    switch (opcode(r))
    {
    case CLOSE: return closed(r);
    case PING: return TD_VIEW_PINGED;
    case PONG: return TD_VIEW_PONGED;
    default: break;
    }
    r->within = !is_last(r);
    if (r->within)
        return TD_VIEW_PIECE;
    if (r->binary)
        return TD_VIEW_BINARY;
    return is_utf8((const unsigned char *)r->message, r->size) ? TD_VIEW_TEXT : breaks(r, NO_TEXT);
}

size_t td_view_reader_take(tdViewReader *r, const unsigned char *bytes, size_t size, tdViewEvent *event)
{
    size_t used = 0;
    *event = TD_VIEW_NOTHING;
    if (r->wants == 0)
        r->wants = 2;
    while (used < size && *event == TD_VIEW_NOTHING)
    {
        if (r->has < r->wants)
        {
            r->head[r->has++] = bytes[used++];
            if (r->has < r->wants)
                continue;
            *event = r->wants == 2 ? begin(r) : measure(r);
        }
        else
        {
            unsigned char byte = bytes[used++] ^ r->head[r->wants - 4 + (int)(r->at++ & 3)];
            if (opcode(r) >= CLOSE)
                r->control[r->control_size++] = byte;
            else
                r->message[r->size++] = (char)byte;
        }
        if (*event == TD_VIEW_NOTHING && r->has == r->wants && r->wants > 2 && r->at == r->length)
            *event = finish(r);
    }
    return used;
}
