// SPDX-License-Identifier: Apache-2.0
// Messages of the Haply Inverse service (JSON, format 3.1) and the WebSocket frames that carry them (RFC 6455). What
// comes is looked through once, without memory; what cannot be read is refused as a whole.
//
//     service   {"inverse3": [{"device_id": "049D", "state": {"cursor_position": {"x": 0, "y": -0.1, "z": 0.2}, ...}}],
//                "wireless_verse_grip": [{"state": {"orientation": {"w": 1, ...}, "buttons": {"a": false, ...}}}]}
//     client    {"inverse3": [{"device_id": "049D", "commands": {"set_cursor_force": {"values": {"x": 0, ...}}}}]}
//
// The service answers each message of a client by one state. The first device of each kind counts.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TD_HAPLY_ID 32 // bytes of a device's name, with the end

typedef struct tdHaplyState
{
    char device[TD_HAPLY_ID]; ///< letters and digits; empty: not in this message
    double position[3];       ///< of the cursor [m]
    bool has_position;
    bool has_rotation; ///< of a grip
    double rotation[4];
    bool button; ///< the first of the grip
} tdHaplyState;

/// What is wrong with a message; NULL: nothing. Numbers are finite, positions within 10 m, rotations of length 1.
const char *td_haply_read(const char *text, size_t size, tdHaplyState *out);
/// A command, with an end; returns its length, 0: it does not fit.
size_t td_haply_write(const char *device, const double force[3], char *out, size_t size);

/// A frame of a server.
typedef struct tdWebFrame
{
    int opcode; ///< 1 text, 8 close, 9 ping, 10 pong
    bool last;  ///< of its message
    const uint8_t *data;
    size_t size, whole; ///< of the data; with its head
} tdWebFrame;

typedef enum tdWebResult
{
    TD_WEB_FRAME,
    TD_WEB_MORE, ///< it has not come whole
    TD_WEB_BAD   ///< no frame of a server, or longer than `most`
} tdWebResult;

tdWebResult td_web_read(const uint8_t *data, size_t size, size_t most, tdWebFrame *out);
/// A frame of a client, masked, into out; returns its length, 0: it does not fit (64 kB at most).
size_t td_web_write(int opcode, const void *data, size_t n, uint32_t mask, uint8_t *out, size_t size);
