// SPDX-License-Identifier: Apache-2.0
// Inside the server: clients, and the messages that are on their way to them. All of it belongs to the server's thread.
#pragma once
#include "view/access.h"
#include "view/mirror.h"
#include "view/paint.h"
#include "view/view.h"

#include <libwebsockets.h>

#define TD_VIEW_CHUNK  65536 // bytes given to a socket at a time: no more than this waits for a client in our memory
#define TD_VIEW_TEXTS  8     // replies that wait for a client
#define TD_VIEW_FLIGHT 4     // frames on their way to a client that acknowledges them

/// A message that several clients may be taking.
typedef struct tdViewBuffer
{
    int holders;
    bool text;
    size_t size;
    char *data;
} tdViewBuffer;

/// One connection: of the page until it is upgraded to a socket.
typedef struct tdViewClient
{
    struct lws *wsi;
    struct tdViewClient *next;
    int id;      ///< 0: not a socket
    size_t page; ///< bytes of the page that were sent

    // what comes
    size_t received;
    bool binary;
    char message[TD_VIEW_MESSAGE];
    double allowance, counted; ///< messages that may come now, and when that was
    double told;               ///< when it was last told of a refusal
    int64_t refused;
    int close; ///< code to close with, 0: stay

    // what goes
    tdViewBuffer *out;
    size_t sent;
    uint32_t generation; ///< of the scene that was described to it
    bool topology;       ///< sent too
    int n_texts;
    tdViewBuffer *texts[TD_VIEW_TEXTS];
    bool status;
    tdViewField field;
    uint64_t painted; ///< number of the field that was sent last
    double rate, due;
    uint32_t frame;
    uint32_t flight[TD_VIEW_FLIGHT], acknowledged;
    bool acknowledges;
    int64_t frames, dropped;
} tdViewClient;

struct tdView
{
    tdViewSettings settings;
    tdViewAccess access;
    char address[320];
    int port;
    tdViewSim *sim;
    tdViewPainter *painter;
    tdViewMirror *mirror;
    tdViewLog *log;
    struct lws_context *context;
    struct lws_vhost *vhost;
    struct lws_protocols protocols[3];
    lws_retry_bo_t idle;
    lws_sorted_usec_list_t tick;
    atomic_bool stop;

    tdViewClient *clients;
    int n_clients, last_id;
    tdViewHouse house;
    const tdViewSnapshot *snapshot;
    uint32_t generation;
    tdViewBuffer *topology, *frame, *fields[TD_VIEW_FIELD_KINDS];
    uint32_t frame_number;
    uint64_t framed;                       ///< snapshot that the frame shows
    uint64_t painted[TD_VIEW_FIELD_KINDS]; ///< how often each field was made
    uint64_t painted_of;                   ///< snapshot that was painted last
    double paint_due, status_due;
    uint64_t status_after; ///< a snapshot after this one is told at once
    unsigned char chunk[LWS_PRE + TD_VIEW_CHUNK];

    atomic_llong counted_frames, counted_bytes, counted_messages, counted_refused, counted_rejected, frame_bytes;
    atomic_int counted_clients;
};

/// The page: part of the program (cmake/page.cmake).
extern const unsigned char td_view_page[];
extern const unsigned char td_view_page_end[];

/// client.c
void td_view_client_open(tdView *view, tdViewClient *client, struct lws *wsi);
void td_view_client_close(tdView *view, tdViewClient *client);
/// A piece of a message. False: the connection is to be closed.
bool td_view_client_receive(tdView *view, tdViewClient *client, const char *data, size_t size, bool binary,
                            bool complete);
/// The socket can take something. False: the connection is to be closed.
bool td_view_client_write(tdView *view, tdViewClient *client);
/// Looks at the simulation and at what clients are due.
void td_view_tick(tdView *view);
void td_view_drop(tdViewBuffer **buffer);
