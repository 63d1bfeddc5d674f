// SPDX-License-Identifier: Apache-2.0
// Connections that are no clients yet: the page over HTTP, who may have a socket, and how many may stand at the door.
// It serves what is part of the program and reads no file, so there is no path that could lead to one.
#include "view/view_own.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

// ---------------------------------------------------------------- visitors

// Whoever connects and says nothing, or takes the page a byte at a time, keeps nobody out: when there are too many the
// one who came first goes, and the next who has something to say is heard at once.
void td_view_visitor_come(tdView *view, struct lws *wsi)
{
    view->visitors[view->n_visitors++] = wsi;
    if (view->n_visitors <= view->settings.visitors)
        return;
    struct lws *first = view->visitors[0];
    td_view_visitor_go(view, first);
    atomic_fetch_add(&view->counted_rejected, 1);
    shutdown(lws_get_socket_fd(first), SHUT_RDWR); // which the library sees; a time-out it may set anew
}

void td_view_visitor_go(tdView *view, const struct lws *wsi)
{
    for (int i = 0; i < view->n_visitors; i++)
        if (view->visitors[i] == wsi)
        {
            view->n_visitors--;
            memmove(view->visitors + i, view->visitors + i + 1, (size_t)(view->n_visitors - i) * sizeof(void *));
            return;
        }
}

// ---------------------------------------------------------------- requests

// A header, or NULL where there is none. One that does not fit is as wrong as it can be.
static const char *header(struct lws *wsi, enum lws_token_indexes which, char *out, int size)
{
    if (lws_hdr_total_length(wsi, which) <= 0)
        return NULL;
    if (lws_hdr_copy(wsi, out, size, which) < 0)
        snprintf(out, (size_t)size, "?");
    return out;
}

static int answer(tdView *view, struct lws *wsi, unsigned code, const char *why)
{
    atomic_fetch_add(&view->counted_rejected, 1);
    return lws_return_http_status(wsi, code, why) != 0 ? -1 : 1;
}

int td_view_check_upgrade(tdView *view, struct lws *wsi, const char *to)
{
    char path[64], host[256], origin[256], argument[TD_VIEW_TOKEN + 16];
    const char *uri = header(wsi, WSI_TOKEN_GET_URI, path, sizeof path);
    if (strcmp(to, "websocket") != 0 || uri == NULL || strcmp(uri, "/ws") != 0)
        return answer(view, wsi, HTTP_STATUS_NOT_FOUND, "the socket is at /ws");
    if (view->sim == NULL)
        return answer(view, wsi, HTTP_STATUS_NOT_FOUND, "this page shows runs that have ended; there is no simulation");
    const char *token = lws_get_urlarg_by_name(wsi, "token=", argument, sizeof argument);
    switch (td_view_check(&view->access, header(wsi, WSI_TOKEN_HOST, host, sizeof host),
                          header(wsi, WSI_TOKEN_ORIGIN, origin, sizeof origin), token))
    {
    case TD_VIEW_WRONG_HOST:
        return answer(view, wsi, HTTP_STATUS_FORBIDDEN, "the name in the address is not one of this server's");
    case TD_VIEW_WRONG_ORIGIN: return answer(view, wsi, HTTP_STATUS_FORBIDDEN, "pages of other sites may not connect");
    case TD_VIEW_WRONG_TOKEN:
        return answer(view, wsi, HTTP_STATUS_FORBIDDEN, "the token is missing or wrong; use the address as printed");
    case TD_VIEW_WELCOME: break;
    }
    if (view->n_clients >= view->settings.clients)
        return answer(view, wsi, HTTP_STATUS_SERVICE_UNAVAILABLE, "the server has reached its limit on clients");
    return 0;
}

// Only what the page itself brings along may run, and it may talk to this server only. Older browsers do not take
// 'self' for a socket, so its address is given too; a name that could end the rule is not.
static bool add_headers(const tdView *view, struct lws *wsi, const char *host, unsigned char **p, unsigned char *end)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]";
    bool plain = strspn(host, letters) == strlen(host);
    char policy[sizeof view->policy + 1024];
    snprintf(policy, sizeof policy,
             "default-src 'none'; %s; img-src data: blob:; font-src data:; connect-src 'self' %s%s data: blob:; "
             "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
             view->policy, plain ? "ws://" : "", plain ? host : "");
    const char *const headers[][2] = {
        {"content-security-policy:", policy},
        {"x-content-type-options:", "nosniff"},
        {"referrer-policy:", "no-referrer"},
        {"cache-control:", "no-store"},
    };
    if (lws_add_http_common_headers(wsi, HTTP_STATUS_OK, "text/html; charset=utf-8", view->page_size, p, end) != 0)
        return false;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        if (lws_add_http_header_by_name(wsi, (const unsigned char *)headers[i][0], (const unsigned char *)headers[i][1],
                                        (int)strlen(headers[i][1]), p, end) != 0)
            return false;
    return true;
}

int td_view_start_page(tdView *view, struct lws *wsi, tdViewClient *client, const char *path)
{
    char host[256];
    unsigned char head[LWS_PRE + 2048], *p = head + LWS_PRE, *end = head + sizeof head - 1;
    if (td_view_check_host(&view->access, header(wsi, WSI_TOKEN_HOST, host, sizeof host)) != TD_VIEW_WELCOME)
        return answer(view, wsi, HTTP_STATUS_FORBIDDEN, "the name in the address is not one of this server's") < 0 ||
               lws_http_transaction_completed(wsi);
    if (lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) <= 0)
        return answer(view, wsi, HTTP_STATUS_METHOD_NOT_ALLOWED, "this page supports GET only") < 0 ||
               lws_http_transaction_completed(wsi);
    if (strcmp(path, "/") != 0 && strcmp(path, "/index.html") != 0)
        return answer(view, wsi, HTTP_STATUS_NOT_FOUND, "only the page at / is served") < 0 ||
               lws_http_transaction_completed(wsi);
    if (!add_headers(view, wsi, host, &p, end) || lws_finalize_write_http_header(wsi, head + LWS_PRE, &p, end) != 0)
        return -1;
    client->page = 0;
    lws_callback_on_writable(wsi);
    return 0;
}

int td_view_continue_page(tdView *view, struct lws *wsi, tdViewClient *client)
{
    size_t left = view->page_size - client->page;
    size_t n = left < TD_VIEW_CHUNK ? left : TD_VIEW_CHUNK;
    memcpy(view->chunk + LWS_PRE, view->page + client->page, n);
    if (lws_write(wsi, view->chunk + LWS_PRE, n, n == left ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < (int)n)
        return -1;
    client->page += n;
    if (n == left)
        return lws_http_transaction_completed(wsi) != 0 ? -1 : 0;
    lws_callback_on_writable(wsi);
    return 0;
}
