// SPDX-License-Identifier: Apache-2.0
// Who may connect to the viewer. A page of another site that a browser shows on this machine can reach a loopback port,
// so being local is not enough:
//
//   Host    on loopback, only names of this machine: a name of the attacker's that resolves to 127.0.0.1 (DNS
//           rebinding) is not one. Elsewhere any, because names of a machine cannot be known: there the token decides.
//   Origin  where there is one (all browsers send it), the address that the browser itself came to: the Host.
//   token   when the server is bound to more than loopback, or one was given.
//
// Who is in may send so many messages a second, and some more at once.
//
// Ports are not compared with the server's own: behind 'ssh -L 9000:localhost:8321' a browser knows it as 9000.
#pragma once
#include "base/status.h"

#define TD_VIEW_TOKEN 64 // most characters

typedef enum tdViewRefusal
{
    TD_VIEW_WELCOME,
    TD_VIEW_WRONG_HOST,
    TD_VIEW_WRONG_ORIGIN,
    TD_VIEW_WRONG_TOKEN
} tdViewRefusal;

typedef struct tdViewAccess
{
    bool loopback;                 ///< bound to it
    char host[128];                ///< what it was bound to
    char token[TD_VIEW_TOKEN + 1]; ///< empty: none
} tdViewAccess;

/// Whether an address is one of loopback: 127.x.x.x, ::1, localhost.
bool td_view_is_loopback(const char *host);
/// 128 random bits as text.
tdStatus td_view_make_token(char token[TD_VIEW_TOKEN + 1], tdError *error);
/// Whether a text can be a token: 16 to 64 letters, digits, '-' and '_'.
bool td_view_is_token(const char *text);

/// Headers of a request, NULL where absent.
tdViewRefusal td_view_check_host(const tdViewAccess *access, const char *host);
tdViewRefusal td_view_check(const tdViewAccess *access, const char *host, const char *origin, const char *token);

/// What a client may send: `rate` messages a second, and `most` at once.
typedef struct tdViewAllowance
{
    double left;    ///< messages that may come now
    double counted; ///< [s] when that was
} tdViewAllowance;

/// Whether one more may come at a time [s], and takes it.
bool td_view_allow(tdViewAllowance *allowance, double rate, double most, double now);
