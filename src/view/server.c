// SPDX-License-Identifier: Apache-2.0
// The server: where it listens, what becomes of its connections, and its life.
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
#define ANY_TRIES 64    // of ports that the system gives

tdViewSettings td_default_view(void)
{
    return (tdViewSettings){.sim = {.model = td_default_settings(), .speed = 1, .hold = 1},
                            .host = "127.0.0.1",
                            .port = 8321,
                            .tries = 1,
                            .clients = 128,
                            .visitors = 64,
                            .request_seconds = 3,
                            .silent_seconds = 60,
                            .messages = 200,
                            .at_once = 400,
                            .most_refused = 1000};
}

// ---------------------------------------------------------------- connections

// The kernel would take megabytes for a client that reads nothing, and show it a past of many seconds when it does.
static void keep_short(struct lws *wsi)
{
    int bytes = TD_VIEW_CHUNK, yes = 1;
    setsockopt(lws_get_socket_fd(wsi), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
    setsockopt(lws_get_socket_fd(wsi), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static int callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t size)
{
    (void)size;
    tdView *view = lws_context_user(lws_get_context(wsi));
    tdViewClient *client = user;
    switch (reason)
    {
    case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED: td_view_visitor_come(view, wsi); return 0;
    case LWS_CALLBACK_WSI_DESTROY: td_view_visitor_go(view, wsi); return 0;
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE: return td_view_check_upgrade(view, wsi, in);
    case LWS_CALLBACK_HTTP: return td_view_start_page(view, wsi, client, in);
    case LWS_CALLBACK_HTTP_WRITEABLE: return td_view_continue_page(view, wsi, client);
    case LWS_CALLBACK_ESTABLISHED:
        keep_short(wsi);
        td_view_visitor_go(view, wsi);
        td_view_client_open(view, client, wsi);
        return td_view_client_listen(view, client) ? 0 : -1;
    case LWS_CALLBACK_CLOSED: td_view_client_close(view, client); return 0;
    case LWS_CALLBACK_SERVER_WRITEABLE: return td_view_client_write(view, client) ? 0 : -1;
    case LWS_CALLBACK_RAW_RX_FILE: // what a client sends
        td_view_client_read(view, lws_wsi_user(lws_get_parent(wsi)));
        return 0;
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
        return td_fail_at(error, TD_ERROR_USAGE, NULL, 0, "--host", "'%s' is not an address of this machine: %s", host,
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
    if (view->sim != NULL)
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
    view->protocols[2] = (struct lws_protocols){"bytes", callback, 0, 0, 0, NULL, 0};
    view->idle = (lws_retry_bo_t){.secs_since_valid_ping = (uint16_t)(view->settings.silent_seconds / 3),
                                  .secs_since_valid_hangup = (uint16_t)view->settings.silent_seconds};
    bool all = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0, six = strchr(host, ':') != NULL;
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .gid = -1,
        .uid = -1,
        .user = view,
        .server_string = "tendril",
        // a client has two descriptors; some who have gone take a moment to be forgotten
        .fd_limit_per_thread = (unsigned)(2 * view->settings.clients + 2 * view->settings.visitors + 32),
        .max_http_header_pool = (unsigned short)(2 * view->settings.visitors),
        .timeout_secs = (unsigned)view->settings.request_seconds,
        .timeout_secs_ah_idle = (unsigned)view->settings.request_seconds,
        .keepalive_timeout = view->settings.request_seconds,
        .pt_serv_buf_size = 8192,
        .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_SKIP_SERVER_CANONICAL_NAME |
                   LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND | (six ? 0 : LWS_SERVER_OPTION_DISABLE_IPV6),
    };
    view->context = lws_create_context(&info);
    if (view->context == NULL)
        return td_fail(error, TD_ERROR_IO, "the web server cannot be set up: out of memory or of file descriptors");
    info.iface = all ? NULL : host;
    info.protocols = view->protocols;
    info.retry_and_idle_policy = &view->idle;
    info.vhost_name = "tendril";
    // Another program may take a port after it was seen to be free, so that trying goes on.
    int first = view->settings.port, tries = first == 0 ? ANY_TRIES : view->settings.tries, got = -EINVAL;
    for (int i = 0; view->vhost == NULL && i < tries && first + i < 65536; i++)
    {
        got = try_port(host, first == 0 ? 0 : first + i);
        if (got == -EADDRINUSE)
            continue;
        if (got <= 0)
            break;
        info.port = view->port = got;
        view->vhost = lws_create_vhost(view->context, &info);
        got = -EADDRINUSE;
    }
    if (view->vhost != NULL)
        return TD_OK;
    return td_fail_at(error, TD_ERROR_USAGE, NULL, 0, "--port",
                      "%s port %d is not available: %s; give another --port%s", host, first, strerror(-got),
                      got == -EADDRNOTAVAIL ? " or --host" : "");
}

// What a live page needs behind it.
static tdStatus simulate(tdView *view, tdError *error)
{
    TD_TRY(td_view_painter_create(&view->painter, error));
    view->settings.sim.log = view->log = calloc(1, sizeof *view->log);
    if (view->log == NULL)
        return td_fail_memory(error, "the viewer");
    TD_TRY(td_view_mirror_create(&view->settings.sim.model, view->log, &view->mirror, error));
    TD_TRY(td_view_sim_create(&view->settings.sim, &view->sim, error));
    view->house = (tdViewHouse){.n_entries = view->settings.sim.n_entries,
                                .entries = view->settings.sim.entries,
                                .most_clients = view->settings.clients,
                                .messages = (int)view->settings.messages,
                                .may_record = view->settings.sim.out != NULL};
    td_view_tick(view);
    return TD_OK;
}

static tdStatus create(tdView *view, tdError *error)
{
    char host[128];
    TD_TRY(resolve(view->settings.host, host, sizeof host, error));
    TD_TRY(set_access(view, host, error));
    view->visitors = calloc((size_t)view->settings.visitors + 1, sizeof(void *));
    if (view->visitors == NULL)
        return td_fail_memory(error, "the viewer");
    // What a page holds beside the live one are data, which run nothing: the rules are those of the live one.
    const tdText *given = view->settings.page;
    size_t size = (size_t)(td_view_page_end - td_view_page);
    view->page = given != NULL ? (const unsigned char *)given->data : td_view_page;
    view->page_size = given != NULL ? (size_t)given->size : size;
    td_view_policy((const char *)td_view_page, size, view->policy, sizeof view->policy);
    TD_TRY(open_server(view, host, error));
    write_address(view, host);
    if (given == NULL)
        TD_TRY(simulate(view, error));
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
    free(view->visitors);
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
    bool live = view->sim != NULL;
    return (tdViewCounts){.steps = live ? td_view_sim_steps(view->sim) : 0,
                          .seconds = live ? td_view_sim_seconds(view->sim) : 0,
                          .frames = atomic_load(&view->counted_frames),
                          .bytes = atomic_load(&view->counted_bytes),
                          .frame_bytes = atomic_load(&view->frame_bytes),
                          .messages = atomic_load(&view->counted_messages),
                          .refused = atomic_load(&view->counted_refused),
                          .rejected = atomic_load(&view->counted_rejected),
                          .clients = atomic_load(&view->counted_clients)};
}
