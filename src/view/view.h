// SPDX-License-Identifier: Apache-2.0
// The viewer: a simulation on show to browsers (docs/viewer.md, docs/viewer-protocol.md). One thread simulates
// (view/sim.h), one serves the page and its sockets, one works out fields (view/paint.h), and one takes the steps of a
// reduced body at full order while somebody looks at its error (view/mirror.h).
#pragma once
#include "view/sim.h"

typedef struct tdView tdView;

/// Start from td_default_view().
typedef struct tdViewSettings
{
    tdViewSimSettings sim; ///< entries and texts must outlive the viewer
    const tdText *page;    ///< served instead of the live page, which it outlives: nothing is simulated. NULL: none
    const char *host;      ///< address to bind to; loopback
    int port;              ///< 0: any that is free
    int tries;             ///< ports that are tried, one after the other
    const char *token;     ///< NULL: one is made when `host` is not loopback; "": one is made
    int clients;           ///< most at a time
    int visitors;          ///< most connections that are no clients yet; the oldest makes room for the next
    int request_seconds;   ///< that a request may take to come
    int silent_seconds;    ///< after which a client that answers no ping has gone; asked at a third of them
    double messages;       ///< of a client, a second
    double at_once;        ///< of a client that was silent before
    int64_t most_refused;  ///< messages, then the client is closed
    /// Polled by td_view_run(), which ends when it says so; may be NULL.
    bool (*ended)(void *user);
    void *user;
} tdViewSettings;

tdViewSettings td_default_view(void);

/// Loads the first scene and binds the port.
tdStatus td_view_create(const tdViewSettings *settings, tdView **out, tdError *error);
/// Serves until `ended` or td_view_stop().
tdStatus td_view_run(tdView *view, tdError *error);
/// May be called from any thread.
void td_view_stop(tdView *view);
/// A NULL is fine.
void td_view_free(tdView *view);

const char *td_view_address(const tdView *view); ///< for a browser, with the token
int td_view_port(const tdView *view);
const char *td_view_token(const tdView *view); ///< "": none

/// Since the start.
typedef struct tdViewCounts
{
    int64_t steps, frames, bytes, frame_bytes; ///< frame_bytes: of the last frame
    int64_t messages, refused, rejected;       ///< rejected: connections
    int clients;
    double seconds; ///< of a core, used by the simulation
} tdViewCounts;
tdViewCounts td_view_counts(const tdView *view); ///< from any thread
