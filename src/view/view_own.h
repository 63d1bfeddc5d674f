// SPDX-License-Identifier: Apache-2.0
// Inside the server: clients, and the messages that are on their way to them. All of it belongs to the server's thread.
#pragma once
#include "view/access.h"
#include "view/frames.h"
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
    tdViewReader reader;
    tdViewAllowance allowance;
    int64_t refused;
    int close;    ///< code to close with, 0: stay
    bool goodbye; ///< it has closed by itself and waits for an answer
    int pong;     ///< bytes of the ping to answer, -1: none
    unsigned char ping[125];

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
    struct lws_protocols protocols[4];
    const unsigned char *page;
    size_t page_size;
    char policy[512]; ///< what the page may run
    lws_retry_bo_t idle;
    lws_sorted_usec_list_t tick;
    atomic_bool stop;

    struct lws **visitors; ///< in the order in which they came
    int n_visitors;
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

/// policy.c: hashes of what the page brings along, for its Content-Security-Policy.
void td_view_policy(const char *page, size_t size, char *out, size_t capacity);

/// request.c: connections that are no clients yet.
void td_view_visitor_come(tdView *view, struct lws *wsi);
void td_view_visitor_go(tdView *view, const struct lws *wsi);
/// 0: welcome; else the connection has been answered.
int td_view_check_upgrade(tdView *view, struct lws *wsi, const char *to);
/// Both return what the library is to get.
int td_view_start_page(tdView *view, struct lws *wsi, tdViewClient *client, const char *path);
int td_view_continue_page(tdView *view, struct lws *wsi, tdViewClient *client);

/// receive.c
/// From here on the client's bytes are read here and not by the library. False: they cannot be.
bool td_view_client_listen(tdView *view, tdViewClient *client);
/// There is something to read, or the connection has ended.
void td_view_client_read(tdView *view, tdViewClient *client);
void td_view_refuse(tdView *view, tdViewClient *client, tdViewAction action, const char *why);

/// client.c
void td_view_client_open(tdView *view, tdViewClient *client, struct lws *wsi);
void td_view_client_close(tdView *view, tdViewClient *client);
/// A reply for a client; one that takes none loses the later ones.
void td_view_client_tell(tdViewClient *client, tdText *text);
/// The socket can take something. False: the connection is to be closed.
bool td_view_client_write(tdView *view, tdViewClient *client);
/// Looks at the simulation and at what clients are due.
void td_view_tick(tdView *view);
void td_view_drop(tdViewBuffer **buffer);
