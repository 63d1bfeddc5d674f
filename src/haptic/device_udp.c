// SPDX-License-Identifier: Apache-2.0
// A device that is far away, by datagrams. The first that sends a valid pose is the device; others are counted and not
// answered, until it has been silent for a second. Nothing waits: sockets do not block.
#include "haptic/device.h"
#include "haptic/packet.h"

#include "base/memory.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RELEASE 1.0 // [s] of silence after which another may be the device
#define MOST    64  // datagrams that a tick looks at

typedef struct udpDevice
{
    tdDevice head;
    int socket;
    bool joined;
    struct sockaddr_in peer;
    uint32_t newest, sent;
    double heard; ///< clock
    int64_t good, old, bad, strange, unsent;
    const char *why; ///< of the last that was refused
} udpDevice;

static bool same_peer(const struct sockaddr_in *a, const struct sockaddr_in *b)
{
    return a->sin_addr.s_addr == b->sin_addr.s_addr && a->sin_port == b->sin_port;
}

// One datagram; true: a newer pose.
static bool take(udpDevice *device, double clock, const uint8_t *data, size_t size, const struct sockaddr_in *from,
                 tdReading *out)
{
    tdPosePacket pose;
    if (device->joined && clock - device->heard > RELEASE)
        device->joined = false;
    if (device->joined && !same_peer(from, &device->peer))
    {
        device->strange++;
        return false;
    }
    const char *why = td_packet_read_pose(data, size, &pose);
    if (why != NULL)
    {
        device->bad++;
        device->why = why;
        return false;
    }
    if (device->joined && !td_packet_is_newer(pose.sequence, device->newest))
    {
        device->old++;
        return false;
    }
    device->joined = true;
    device->peer = *from;
    device->newest = pose.sequence;
    device->heard = clock;
    device->good++;
    memcpy(out->position, pose.position, sizeof out->position);
    memcpy(out->rotation, pose.rotation, sizeof out->rotation);
    out->buttons = pose.buttons;
    out->grip = pose.buttons & 1;
    out->turned = true;
    return true;
}

static bool read_udp(tdDevice *head, double clock, tdReading *out)
{
    udpDevice *device = (udpDevice *)head;
    bool any = false;
    for (int k = 0; k < MOST; k++)
    {
        uint8_t data[TD_PACKET_POSE + 1]; // a longer one is seen to be longer
        struct sockaddr_in from;
        socklen_t length = sizeof from;
        ssize_t size = recvfrom(device->socket, data, sizeof data, MSG_DONTWAIT, (struct sockaddr *)&from, &length);
        if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (size >= 0 && length == sizeof from)
            any = take(device, clock, data, (size_t)size, &from, out) || any;
    }
    return any;
}

static void write_udp(tdDevice *head, double clock, const double force[3], const double torque[3], int fault)
{
    udpDevice *device = (udpDevice *)head;
    tdForcePacket packet = {.sequence = device->sent, .pose = device->newest, .fault = (uint32_t)fault};
    uint8_t data[TD_PACKET_FORCE];
    (void)clock;
    if (!device->joined)
        return;
    memcpy(packet.force, force, sizeof packet.force);
    memcpy(packet.torque, torque, sizeof packet.torque);
    td_packet_write_force(&packet, data);
    device->sent++;
    device->unsent += sendto(device->socket, data, sizeof data, MSG_DONTWAIT | MSG_NOSIGNAL,
                             (const struct sockaddr *)&device->peer, sizeof device->peer) != (ssize_t)sizeof data;
}

static bool ended(const tdDevice *head, double clock)
{
    (void)head;
    (void)clock;
    return false;
}

static void tell(const tdDevice *head, char *out, size_t size)
{
    const udpDevice *device = (const udpDevice *)head;
    int n = snprintf(out, size, "%lld poses, %lld old or repeated, %lld refused, %lld of others, %lld forces not sent",
                     (long long)device->good, (long long)device->old, (long long)device->bad,
                     (long long)device->strange, (long long)device->unsent);
    if (device->why != NULL && n > 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, " (the last refused: %s)", device->why);
}

static void close_udp(tdDevice *head)
{
    close(((udpDevice *)head)->socket);
    free(head);
}

static const tdDeviceOps udp_ops = {read_udp, write_udp, ended, tell, close_udp};

// "PORT" or "HOST:PORT", the host as numbers.
static tdStatus parse_address(const char *where, struct sockaddr_in *address, tdError *error)
{
    const char *colon = strrchr(where, ':'), *port = colon != NULL ? colon + 1 : where;
    char host[64] = "127.0.0.1", *end = NULL;
    long number = strtol(port, &end, 10);
    if (colon != NULL && (size_t)(colon - where) < sizeof host)
        snprintf(host, sizeof host, "%.*s", (int)(colon - where), where);
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)number)};
    if (end == port || *end != '\0' || number < 0 || number > 65535 ||
        inet_pton(AF_INET, host, &address->sin_addr) != 1)
        return td_fail(
            error, TD_ERROR_USAGE,
            "'udp:%.80s' is not an address to listen on: write udp:PORT or udp:ADDRESS:PORT with an address like "
            "127.0.0.1 and a port from 0 (any) to 65535",
            where);
    return TD_OK;
}

tdStatus td_device_udp(const char *where, tdDevice **out, tdError *error)
{
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    TD_TRY(parse_address(where, &address, error));
    udpDevice *device = td_take(1, sizeof *device);
    if (device == NULL)
        return td_fail_memory(error, "the device");
    device->head.ops = &udp_ops;
    device->socket = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (device->socket < 0 || bind(device->socket, (const struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(device->socket, (struct sockaddr *)&address, &length) != 0)
    {
        tdStatus status = td_fail(error, TD_ERROR_INPUT, "cannot listen at 'udp:%.80s': %s; use another port", where,
                                  strerror(errno));
        if (device->socket >= 0)
            close(device->socket);
        free(device);
        return status;
    }
    char host[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &address.sin_addr, host, sizeof host);
    snprintf(device->head.name, sizeof device->head.name, "udp:%s:%d", host, ntohs(address.sin_port));
    *out = &device->head;
    return TD_OK;
}
