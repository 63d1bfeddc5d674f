// SPDX-License-Identifier: Apache-2.0
// Devices of Haply by the vendor's Inverse service, which speaks JSON over a WebSocket (haply.h). Axes are those of the
// service, z up [m]. The service answers each force by a state, so that the loop's own rate drives it.
#include "haptic/device.h"

#include "base/memory.h"
#include "core/rotation.h"
#include "haptic/haply.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT     10001
#define PATIENCE 2000 // [ms] for the service when it is opened
#define ROOM     65536

// The service is asked with the key of RFC 6455's example, and must answer what the RFC says.
#define KEY    "dGhlIHNhbXBsZSBub25jZQ=="
#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

typedef struct haplyDevice
{
    tdDevice head;
    int socket;
    bool gone; ///< the service has closed
    char id[TD_HAPLY_ID];
    double center[3];   ///< where it was when it was opened
    double rotation[4]; ///< the same of the grip
    bool has_rotation;
    size_t used;
    uint8_t in[ROOM];
    uint32_t mask;
    int64_t states, refused, lost;
} haplyDevice;

// ---------------------------------------------------------------- frames that come

// Takes all frames that are there; the newest state into *out. True: there is one.
static bool take_frames(haplyDevice *device, tdHaplyState *out)
{
    bool any = false;
    size_t at = 0;
    tdWebFrame frame;
    tdWebResult result;
    while ((result = td_web_read(device->in + at, device->used - at, ROOM / 2, &frame)) == TD_WEB_FRAME)
    {
        tdHaplyState state;
        at += frame.whole;
        if (frame.opcode == 8)
            device->gone = true;
        if (frame.opcode == 9) // ping: the same comes back
        {
            uint8_t pong[256];
            size_t n =
                frame.size <= 125 ? td_web_write(10, frame.data, frame.size, ++device->mask, pong, sizeof pong) : 0;
            if (n > 0 && send(device->socket, pong, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n)
                device->lost++;
        }
        if (frame.opcode != 1)
            continue;
        if (!frame.last || td_haply_read((const char *)frame.data, frame.size, &state) != NULL)
        {
            device->refused++;
            continue;
        }
        *out = state;
        any = true;
    }
    if (result == TD_WEB_BAD)
    {
        device->refused++;
        device->gone = true; // where the next frame begins is not known any more
    }
    memmove(device->in, device->in + at, device->used - at);
    device->used -= at;
    return any;
}

static void receive(haplyDevice *device)
{
    while (!device->gone && device->used < ROOM)
    {
        ssize_t n = recv(device->socket, device->in + device->used, ROOM - device->used, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
            device->gone = true;
        if (n <= 0)
            return;
        device->used += (size_t)n;
    }
}

static bool read_haply(tdDevice *head, double clock, tdReading *out)
{
    haplyDevice *device = (haplyDevice *)head;
    tdHaplyState state;
    (void)clock;
    receive(device);
    if (!take_frames(device, &state) || !state.has_position || device->gone)
        return false;
    device->states++;
    for (int k = 0; k < 3; k++)
        out->position[k] = state.position[k] - device->center[k];
    out->turned = device->has_rotation && state.has_rotation;
    if (out->turned)
        td_rotation_difference(state.rotation, device->rotation, out->rotation);
    out->buttons = state.button;
    out->grip = state.button;
    return true;
}

static void write_haply(tdDevice *head, double clock, const double force[3], const double torque[3], int fault)
{
    haplyDevice *device = (haplyDevice *)head;
    char text[256];
    uint8_t frame[300];
    (void)clock;
    (void)torque;
    (void)fault;
    size_t n = td_haply_write(device->id, force, text, sizeof text);
    n = n > 0 ? td_web_write(1, text, n, ++device->mask * 2654435761U, frame, sizeof frame) : 0;
    if (n == 0 || device->gone)
        return;
    ssize_t sent = send(device->socket, frame, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == (ssize_t)n)
        return;
    device->lost++;
    device->gone = sent >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK); // nothing can follow a part of a frame
}

static bool ended(const tdDevice *head, double clock)
{
    (void)head;
    (void)clock;
    return false;
}

static void tell(const tdDevice *head, char *out, size_t size)
{
    const haplyDevice *device = (const haplyDevice *)head;
    snprintf(out, size, "device %s: %lld states, %lld refused, %lld forces lost%s", device->id,
             (long long)device->states, (long long)device->refused, (long long)device->lost,
             device->gone ? "; the service has closed the connection" : "");
}

static void close_haply(tdDevice *head)
{
    haplyDevice *device = (haplyDevice *)head;
    const double none[3] = {0, 0, 0};
    write_haply(head, 0, none, none, 0);
    close(device->socket);
    free(device);
}

static const tdDeviceOps haply_ops = {read_haply, write_haply, ended, tell, close_haply};

// ---------------------------------------------------------------- opened

static bool wait_to_read(const haplyDevice *device)
{
    struct pollfd one = {device->socket, POLLIN, 0};
    return poll(&one, 1, PATIENCE) == 1;
}

static tdStatus connect_to(haplyDevice *device, const char *where, tdError *error)
{
    struct sockaddr_in host = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    char address[64] = "127.0.0.1", *end = NULL;
    const char *colon = where != NULL ? strrchr(where, ':') : NULL;
    const char *port = colon != NULL ? colon + 1 : where;
    if (colon != NULL)
        snprintf(address, sizeof address, "%.*s", (int)(colon - where), where);
    if (port != NULL)
    {
        long number = strtol(port, &end, 10);
        if (*port == '\0' || *end != '\0' || number < 1 || number > 65535)
            return td_fail(error, TD_ERROR_USAGE,
                           "'haply:%.80s' has no port; write haply, haply:PORT or "
                           "haply:ADDRESS:PORT",
                           where);
        host.sin_port = htons((uint16_t)number);
    }
    if (inet_pton(AF_INET, address, &host.sin_addr) != 1)
        return td_fail(error, TD_ERROR_USAGE, "'%.60s' is not an address; write four numbers, e.g. 127.0.0.1", address);
    device->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    struct timeval patience = {.tv_sec = PATIENCE / 1000};
    if (device->socket >= 0)
    {
        setsockopt(device->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(device->socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience); // of connect() too
    }
    if (device->socket < 0 || connect(device->socket, (const struct sockaddr *)&host, sizeof host) != 0)
        return td_fail(error, TD_ERROR_INPUT,
                       "the Haply Inverse service does not answer at %s:%d (%s); install and start it, e.g. by "
                       "'systemctl start haply-inverse-service'",
                       address, ntohs(host.sin_port), strerror(errno));
    return TD_OK;
}

// From HTTP to WebSocket.
static tdStatus upgrade(haplyDevice *device, tdError *error)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                  "Sec-WebSocket-Key: " KEY "\r\nSec-WebSocket-Version: 13\r\n\r\n";
    if (send(device->socket, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request))
        return td_fail(error, TD_ERROR_INPUT, "the Haply Inverse service closed the connection");
    const uint8_t *end = NULL;
    while (end == NULL && device->used < 4096 && !device->gone && wait_to_read(device))
    {
        receive(device);
        end = memmem(device->in, device->used, "\r\n\r\n", 4);
    }
    size_t n = end != NULL ? (size_t)(end - device->in) + 4 : 0;
    if (n < 12 || memcmp(device->in, "HTTP/1.1 101", 12) != 0 || memmem(device->in, n, ACCEPT, strlen(ACCEPT)) == NULL)
        return td_fail(error, TD_ERROR_INPUT,
                       "what answers there is not the Haply Inverse service: it refused a WebSocket");
    memmove(device->in, device->in + n, device->used - n);
    device->used -= n;
    return TD_OK;
}

// The first message lists what is plugged in.
static tdStatus find_device(haplyDevice *device, tdError *error)
{
    tdHaplyState state = {0};
    bool any = take_frames(device, &state);
    while (!any && !device->gone && wait_to_read(device))
    {
        receive(device);
        any = take_frames(device, &state);
    }
    if (!any)
        return td_fail(error, TD_ERROR_INPUT, "the Haply Inverse service sends no state of its devices%s",
                       device->refused > 0 ? " that can be read; version 3.1 or later is needed" : "");
    if (state.device[0] == '\0' || !state.has_position)
        return td_fail(error, TD_ERROR_INPUT,
                       "the Haply Inverse service finds no Inverse3; plug it in, switch it on and calibrate it");
    memcpy(device->id, state.device, sizeof device->id);
    memcpy(device->center, state.position, sizeof device->center);
    memcpy(device->rotation, state.rotation, sizeof device->rotation);
    device->has_rotation = state.has_rotation;
    return TD_OK;
}

tdStatus td_device_haply(const char *where, tdDevice **out, tdError *error)
{
    haplyDevice *device = td_take(1, sizeof *device);
    if (device == NULL)
        return td_fail_memory(error, "the device");
    device->head.ops = &haply_ops;
    device->socket = -1;
    snprintf(device->head.name, sizeof device->head.name, "haply%s%.80s", where != NULL ? ":" : "",
             where != NULL ? where : "");
    tdStatus status = connect_to(device, where, error);
    if (status == TD_OK)
        status = upgrade(device, error);
    if (status == TD_OK)
        status = find_device(device, error);
    if (status != TD_OK)
    {
        if (device->socket >= 0)
            close(device->socket);
        free(device);
        return status;
    }
    *out = &device->head;
    return TD_OK;
}
