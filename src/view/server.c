// SPDX-License-Identifier: Apache-2.0
// The server: the page over HTTP, its sockets, and who may have them. It serves what is part of the program and reads
// no file, so there is no path that could lead to one.
#include "base/timer.h"
#include "view/view_own.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICK      4000  // [us] while somebody looks
#define IDLE_TICK 50000 // [us] while nobody does

tdViewSettings td_default_view(void)
{
    return (tdViewSettings){.sim = {.model = td_default_settings(), .speed = 1},
                            .host = "127.0.0.1",
                            .port = 8321,
                            .tries = 1,
                            .clients = 128};
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

// 0: welcome; else the connection has been answered.
static int check_upgrade(tdView *view, struct lws *wsi, const char *to)
{
    char path[64], host[256], origin[256], argument[TD_VIEW_TOKEN + 16];
    const char *uri = header(wsi, WSI_TOKEN_GET_URI, path, sizeof path);
    if (strcmp(to, "websocket") != 0 || uri == NULL || strcmp(uri, "/ws") != 0)
        return answer(view, wsi, HTTP_STATUS_NOT_FOUND, "the socket is at /ws");
    const char *token = lws_get_urlarg_by_name(wsi, "token=", argument, sizeof argument);
    switch (td_view_check(&view->access, header(wsi, WSI_TOKEN_HOST, host, sizeof host),
                          header(wsi, WSI_TOKEN_ORIGIN, origin, sizeof origin), token))
    {
    case TD_VIEW_WRONG_HOST:
        return answer(view, wsi, HTTP_STATUS_FORBIDDEN, "this server does not go by the name in the address");
    case TD_VIEW_WRONG_ORIGIN: return answer(view, wsi, HTTP_STATUS_FORBIDDEN, "pages of other sites may not connect");
    case TD_VIEW_WRONG_TOKEN:
        return answer(view, wsi, HTTP_STATUS_FORBIDDEN, "the token is missing or wrong; use the address as printed");
    case TD_VIEW_WELCOME: break;
    }
    if (view->n_clients >= view->settings.clients)
        return answer(view, wsi, HTTP_STATUS_SERVICE_UNAVAILABLE, "there are as many clients as the server takes");
    return 0;
}

// Only what the page itself brings along may run, and it may talk to this server only. Older browsers do not take
// 'self' for a socket, so its address is given too; a name that could end the rule is not.
static bool add_headers(struct lws *wsi, const char *host, unsigned char **p, unsigned char *end)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]";
    bool plain = strspn(host, letters) == strlen(host);
    char policy[1024];
    snprintf(policy, sizeof policy,
             "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data: blob:; "
             "font-src data:; media-src blob:; connect-src 'self' %s%s data: blob:; worker-src blob:; base-uri 'none'; "
             "form-action 'none'; frame-ancestors 'none'",
             plain ? "ws://" : "", plain ? host : "");
    const char *const headers[][2] = {
        {"content-security-policy:", policy},
        {"x-content-type-options:", "nosniff"},
        {"referrer-policy:", "no-referrer"},
        {"cache-control:", "no-store"},
    };
    size_t size = (size_t)(td_view_page_end - td_view_page);
    if (lws_add_http_common_headers(wsi, HTTP_STATUS_OK, "text/html; charset=utf-8", size, p, end) != 0)
        return false;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        if (lws_add_http_header_by_name(wsi, (const unsigned char *)headers[i][0], (const unsigned char *)headers[i][1],
                                        (int)strlen(headers[i][1]), p, end) != 0)
            return false;
    return true;
}

static int start_page(tdView *view, struct lws *wsi, tdViewClient *client, const char *path)
{
    char host[256];
    unsigned char head[LWS_PRE + 2048], *p = head + LWS_PRE, *end = head + sizeof head - 1;
    if (td_view_check_host(&view->access, header(wsi, WSI_TOKEN_HOST, host, sizeof host)) != TD_VIEW_WELCOME)
        return answer(view, wsi, HTTP_STATUS_FORBIDDEN, "this server does not go by the name in the address") < 0 ||
               lws_http_transaction_completed(wsi);
    if (lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) <= 0)
        return answer(view, wsi, HTTP_STATUS_METHOD_NOT_ALLOWED, "the page can be read only") < 0 ||
               lws_http_transaction_completed(wsi);
    if (strcmp(path, "/") != 0 && strcmp(path, "/index.html") != 0)
        return answer(view, wsi, HTTP_STATUS_NOT_FOUND, "there is the page at / and nothing else") < 0 ||
               lws_http_transaction_completed(wsi);
    if (!add_headers(wsi, host, &p, end) || lws_finalize_write_http_header(wsi, head + LWS_PRE, &p, end) != 0)
        return -1;
    client->page = 0;
    lws_callback_on_writable(wsi);
    return 0;
}

static int continue_page(tdView *view, struct lws *wsi, tdViewClient *client)
{
    size_t size = (size_t)(td_view_page_end - td_view_page), left = size - client->page;
    size_t n = left < TD_VIEW_CHUNK ? left : TD_VIEW_CHUNK;
    memcpy(view->chunk + LWS_PRE, td_view_page + client->page, n);
    if (lws_write(wsi, view->chunk + LWS_PRE, n, n == left ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < (int)n)
        return -1;
    client->page += n;
    if (n == left)
        return lws_http_transaction_completed(wsi) != 0 ? -1 : 0;
    lws_callback_on_writable(wsi);
    return 0;
}

// The kernel would take megabytes for a client that reads nothing, and show it a past of many seconds when it does.
static void keep_short(struct lws *wsi)
{
    int bytes = TD_VIEW_CHUNK, yes = 1;
    setsockopt(lws_get_socket_fd(wsi), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
    setsockopt(lws_get_socket_fd(wsi), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static int callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t size)
{
    tdView *view = lws_context_user(lws_get_context(wsi));
    tdViewClient *client = user;
    switch (reason)
    {
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE: return check_upgrade(view, wsi, in);
    case LWS_CALLBACK_HTTP: return start_page(view, wsi, client, in);
    case LWS_CALLBACK_HTTP_WRITEABLE: return continue_page(view, wsi, client);
    case LWS_CALLBACK_ESTABLISHED:
        keep_short(wsi);
        td_view_client_open(view, client, wsi);
        return 0;
    case LWS_CALLBACK_CLOSED: td_view_client_close(view, client); return 0;
    case LWS_CALLBACK_SERVER_WRITEABLE: return td_view_client_write(view, client) ? 0 : -1;
    case LWS_CALLBACK_RECEIVE:
        return td_view_client_receive(view, client, in, size, lws_frame_is_binary(wsi),
                                      lws_is_final_fragment(wsi) && lws_remaining_packet_payload(wsi) == 0)
                   ? 0
                   : -1;
    default: return 0; // other defaults of the library would serve files, run programs and pass requests on
    }
}

// ---------------------------------------------------------------- address

// The numeric form of a name or an address.
static tdStatus resolve(const char *host, char *out, size_t size, tdError *error)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    if (strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    int rc = getaddrinfo(host, NULL, &hints, &found);
    if (rc != 0)
        return td_fail_at(error, TD_ERROR_USAGE, NULL, 0, "--host", "'%s' is no address of this machine: %s", host,
                          gai_strerror(rc));
    rc = getnameinfo(found->ai_addr, found->ai_addrlen, out, (socklen_t)size, NULL, 0, NI_NUMERICHOST);
    freeaddrinfo(found);
    return rc == 0 ? TD_OK : td_fail_at(error, TD_ERROR_USAGE, NULL, 0, "--host", "'%s': %s", host, gai_strerror(rc));
}

// Whether a port can be had, which is asked here because the library would only say that something went wrong.
static int try_port(const char *host, int port)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    bool six = inet_pton(AF_INET6, host, &v6.sin6_addr) == 1;
    if (!six && inet_pton(AF_INET, host, &v4.sin_addr) != 1)
        return -EINVAL;
    int fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const struct sockaddr *address = six ? (const struct sockaddr *)&v6 : (const struct sockaddr *)&v4;
    socklen_t size = six ? sizeof v6 : sizeof v4;
    int result = -1;
    if (bind(fd, address, size) != 0 || listen(fd, 1) != 0)
        result = -errno;
    else if (getsockname(fd, six ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4, &size) == 0)
        result = ntohs(six ? v6.sin6_port : v4.sin_port);
    close(fd);
    return result;
}

static tdStatus find_port(tdView *view, const char *host, tdError *error)
{
    int got = -EINVAL;
    for (int i = 0; i < view->settings.tries && view->settings.port + i < 65536; i++)
    {
        got = try_port(host, view->settings.port == 0 ? 0 : view->settings.port + i);
        if (got != -EADDRINUSE)
            break;
    }
    view->port = got;
    if (got > 0)
        return TD_OK;
    return td_fail_at(error, TD_ERROR_USAGE, NULL, 0, "--port", "%s port %d cannot be had: %s; give another --port%s",
                      host, view->settings.port, strerror(-got), got == -EADDRNOTAVAIL ? " or --host" : "");
}

static tdStatus set_access(tdView *view, const char *host, tdError *error)
{
    tdViewAccess *access = &view->access;
    const char *token = view->settings.token;
    access->loopback = td_view_is_loopback(host);
    snprintf(access->host, sizeof access->host, "%s", view->settings.host);
    if (token != NULL && token[0] != '\0')
    {
        if (!td_view_is_token(token))
            return td_fail_at(error, TD_ERROR_USAGE, NULL, 0, "--token",
                              "a token has 16 to %d letters, digits, '-' and '_'; 'auto' makes one", TD_VIEW_TOKEN);
        snprintf(access->token, sizeof access->token, "%s", token);
    }
    else if (token != NULL || !access->loopback)
        TD_TRY(td_view_make_token(access->token, error));
    return TD_OK;
}

// Of an address that means all of them, the one that works on this machine is shown.
static void write_address(tdView *view, const char *host)
{
    bool all = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
    char name[256];
    snprintf(name, sizeof name, "%s", host);
    if (all && gethostname(name, sizeof name - 1) != 0)
        snprintf(name, sizeof name, "localhost");
    bool six = strchr(name, ':') != NULL;
    snprintf(view->address, sizeof view->address, "http://%s%.200s%s:%d/%s%s", six ? "[" : "", name, six ? "]" : "",
             view->port, view->access.token[0] != '\0' ? "#token=" : "", view->access.token);
}

// ---------------------------------------------------------------- life

static void on_tick(lws_sorted_usec_list_t *sul)
{
    tdView *view = lws_container_of(sul, tdView, tick);
    td_view_tick(view);
    if (view->settings.ended != NULL && view->settings.ended(view->settings.user))
        td_view_stop(view);
    lws_sul_schedule(view->context, 0, &view->tick, on_tick, view->clients == NULL ? IDLE_TICK : TICK);
}

static tdStatus open_server(tdView *view, const char *host, tdError *error)
{
    // Its messages would go to stderr; what matters is reported by our own calls.
    lws_set_log_level(0, NULL);
    const size_t each = sizeof(tdViewClient);
    view->protocols[0] = (struct lws_protocols){"http", callback, each, TD_VIEW_MESSAGE, 0, NULL, 0};
    view->protocols[1] = (struct lws_protocols){"tendril.1", callback, each, TD_VIEW_MESSAGE, 0, NULL, 0};
    view->idle = (lws_retry_bo_t){.secs_since_valid_ping = 20, .secs_since_valid_hangup = 60};
    bool all = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0, six = strchr(host, ':') != NULL;
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .gid = -1,
        .uid = -1,
        .user = view,
        .server_string = "tendril",
        .fd_limit_per_thread = 2 * (unsigned)view->settings.clients + 128, // some that never finish their request
        .max_http_header_pool = (unsigned short)(view->settings.clients + 64),
        .timeout_secs = 3,
        .timeout_secs_ah_idle = 5,
        .keepalive_timeout = 5,
        .pt_serv_buf_size = 8192,
        .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_VALIDATE_UTF8 |
                   LWS_SERVER_OPTION_SKIP_SERVER_CANONICAL_NAME | LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND |
                   (six ? 0 : LWS_SERVER_OPTION_DISABLE_IPV6),
    };
    view->context = lws_create_context(&info);
    if (view->context == NULL)
        return td_fail(error, TD_ERROR_IO, "the web server cannot be set up: out of memory or of file descriptors");
    info.port = view->port;
    info.iface = all ? NULL : host;
    info.protocols = view->protocols;
    info.retry_and_idle_policy = &view->idle;
    info.vhost_name = "tendril";
    view->vhost = lws_create_vhost(view->context, &info);
    if (view->vhost == NULL)
        return td_fail_at(error, TD_ERROR_USAGE, NULL, 0, "--port",
                          "%s port %d cannot be had; give another --port or --host", host, view->port);
    return TD_OK;
}

static tdStatus create(tdView *view, tdError *error)
{
    char host[128];
    TD_TRY(resolve(view->settings.host, host, sizeof host, error));
    TD_TRY(set_access(view, host, error));
    TD_TRY(find_port(view, host, error));
    TD_TRY(td_view_painter_create(&view->painter, error));
    view->settings.sim.log = view->log = calloc(1, sizeof *view->log);
    if (view->log == NULL)
        return td_fail_memory(error, "the viewer");
    TD_TRY(td_view_mirror_create(&view->settings.sim.model, view->log, &view->mirror, error));
    TD_TRY(open_server(view, host, error));
    TD_TRY(td_view_sim_create(&view->settings.sim, &view->sim, error));
    write_address(view, host);
    view->house = (tdViewHouse){.n_entries = view->settings.sim.n_entries,
                                .entries = view->settings.sim.entries,
                                .most_clients = view->settings.clients,
                                .may_record = view->settings.sim.out != NULL};
    td_view_tick(view);
    lws_sul_schedule(view->context, 0, &view->tick, on_tick, IDLE_TICK);
    return TD_OK;
}

tdStatus td_view_create(const tdViewSettings *settings, tdView **out, tdError *error)
{
    *out = NULL;
    tdView *view = td_take(1, sizeof *view);
    if (view == NULL)
        return td_fail_memory(error, "the viewer");
    view->settings = *settings;
    tdStatus status = create(view, error);
    if (status != TD_OK)
        td_view_free(view);
    else
        *out = view;
    return status;
}

tdStatus td_view_run(tdView *view, tdError *error)
{
    while (!atomic_load(&view->stop))
        if (lws_service(view->context, 0) < 0)
            return atomic_load(&view->stop) ? TD_OK : td_fail(error, TD_ERROR_IO, "the web server has failed");
    return TD_OK;
}

void td_view_stop(tdView *view)
{
    atomic_store(&view->stop, true);
    lws_cancel_service(view->context);
}

void td_view_free(tdView *view)
{
    if (view == NULL)
        return;
    if (view->context != NULL)
    {
        lws_sul_cancel(&view->tick);
        if (view->sim == NULL)
            view->clients = NULL;
        lws_context_destroy(view->context); // closes all clients
    }
    td_view_sim_free(view->sim);
    td_view_painter_free(view->painter);
    td_view_mirror_free(view->mirror);
    free(view->log);
    td_view_drop(&view->topology);
    td_view_drop(&view->frame);
    for (int f = 0; f < TD_VIEW_FIELD_KINDS; f++)
        td_view_drop(&view->fields[f]);
    free(view);
}

const char *td_view_address(const tdView *view)
{
    return view->address;
}

int td_view_port(const tdView *view)
{
    return view->port;
}

const char *td_view_token(const tdView *view)
{
    return view->access.token;
}

tdViewCounts td_view_counts(const tdView *view)
{
    return (tdViewCounts){.steps = td_view_sim_steps(view->sim),
                          .seconds = td_view_sim_seconds(view->sim),
                          .frames = atomic_load(&view->counted_frames),
                          .bytes = atomic_load(&view->counted_bytes),
                          .frame_bytes = atomic_load(&view->frame_bytes),
                          .messages = atomic_load(&view->counted_messages),
                          .refused = atomic_load(&view->counted_refused),
                          .rejected = atomic_load(&view->counted_rejected),
                          .clients = atomic_load(&view->counted_clients)};
}
