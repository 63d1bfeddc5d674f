// SPDX-License-Identifier: Apache-2.0
// Frames of a WebSocket as a client sends them (RFC 6455, section 5): bytes in, whole messages out. The library that
// serves the sockets also obeys clients that do not mask their frames, which section 5.1 forbids, and it does not say
// which these are; so the server reads by itself. Nothing is allocated, and whatever comes, nothing is read twice.
#pragma once
#include "view/message.h"

typedef enum tdViewEvent
{
    TD_VIEW_NOTHING, // all bytes were taken and something is still missing
    TD_VIEW_TEXT,    // a message, whole
    TD_VIEW_BINARY,
    TD_VIEW_PIECE,  // of a message that goes on
    TD_VIEW_PINGED, // control
    TD_VIEW_PONGED,
    TD_VIEW_CLOSED, // code
    TD_VIEW_BROKEN  // to be closed with the code; no more can be read
} tdViewEvent;

typedef struct tdViewReader
{
    // the frame that is coming
    int has, wants; ///< bytes of its head; wants 0: of a new one
    unsigned char head[14];
    uint64_t at, length;
    // the message that its pieces make up
    bool within, binary;
    size_t size;
    char message[TD_VIEW_MESSAGE];
    size_t control_size;
    unsigned char control[125]; ///< of a ping, a pong or a closing frame
    int code;                   ///< what to close with
} tdViewReader;

/// Takes bytes up to the end of the next frame; how many it has taken. A message stays until the next call.
size_t td_view_reader_take(tdViewReader *reader, const unsigned char *bytes, size_t size, tdViewEvent *event);
