// SPDX-License-Identifier: Apache-2.0
#include "haptic/packet.h"

#include <math.h>
#include <string.h>

static const uint8_t magic[4] = {'T', 'D', 'H', 'P'};

enum
{
    KIND_POSE = 1,
    KIND_FORCE = 2
};

static void put(uint8_t *out, uint64_t value, int bytes)
{
    for (int k = 0; k < bytes; k++)
        out[k] = (uint8_t)(value >> (8 * k));
}

static uint64_t get(const uint8_t *in, int bytes)
{
    uint64_t value = 0;
    for (int k = 0; k < bytes; k++)
        value |= (uint64_t)in[k] << (8 * k);
    return value;
}

static void put_numbers(uint8_t *out, int n, const double *values)
{
    for (int k = 0; k < n; k++)
    {
        uint64_t bits;
        memcpy(&bits, values + k, sizeof bits);
        put(out + 8 * k, bits, 8);
    }
}

// False: one is not finite.
static bool get_numbers(const uint8_t *in, int n, double *values)
{
    bool good = true;
    for (int k = 0; k < n; k++)
    {
        uint64_t bits = get(in + 8 * k, 8);
        memcpy(values + k, &bits, sizeof bits);
        good = good && isfinite(values[k]);
    }
    return good;
}

static void put_head(uint8_t *out, int kind, uint32_t sequence)
{
    memcpy(out, magic, sizeof magic);
    put(out + 4, TD_PACKET_VERSION, 2);
    put(out + 6, (uint64_t)kind, 2);
    put(out + 8, sequence, 4);
}

static const char *check_head(const uint8_t *data, size_t size, size_t expected, int kind)
{
    if (size < 8 || memcmp(data, magic, sizeof magic) != 0)
        return "it is not a message of a haptic device";
    if (get(data + 4, 2) != TD_PACKET_VERSION)
        return "it has another version";
    if (get(data + 6, 2) != (uint64_t)kind)
        return "it has another kind";
    return size != expected ? "it has the wrong length" : NULL;
}

void td_packet_write_pose(const tdPosePacket *packet, uint8_t out[TD_PACKET_POSE])
{
    put_head(out, KIND_POSE, packet->sequence);
    put(out + 12, packet->buttons, 4);
    put_numbers(out + 16, 1, &packet->time);
    put_numbers(out + 24, 3, packet->position);
    put_numbers(out + 48, 4, packet->rotation);
}

void td_packet_write_force(const tdForcePacket *packet, uint8_t out[TD_PACKET_FORCE])
{
    put_head(out, KIND_FORCE, packet->sequence);
    put(out + 12, packet->pose, 4);
    put(out + 16, packet->fault, 4);
    put(out + 20, 0, 4);
    put_numbers(out + 24, 3, packet->force);
    put_numbers(out + 48, 3, packet->torque);
}

const char *td_packet_read_pose(const uint8_t *data, size_t size, tdPosePacket *out)
{
    const char *why = check_head(data, size, TD_PACKET_POSE, KIND_POSE);
    if (why != NULL)
        return why;
    out->sequence = (uint32_t)get(data + 8, 4);
    out->buttons = (uint32_t)get(data + 12, 4);
    if (!get_numbers(data + 16, 1, &out->time) || !get_numbers(data + 24, 3, out->position) ||
        !get_numbers(data + 48, 4, out->rotation))
        return "it has numbers that are not finite";
    double length = 0;
    for (int k = 0; k < 4; k++)
        length += out->rotation[k] * out->rotation[k];
    for (int k = 0; k < 3; k++)
        if (!(fabs(out->position[k]) <= 10))
            return "its position is beyond 10 m";
    return fabs(length - 1) <= 1e-3 ? NULL : "its rotation is not a unit quaternion";
}

const char *td_packet_read_force(const uint8_t *data, size_t size, tdForcePacket *out)
{
    const char *why = check_head(data, size, TD_PACKET_FORCE, KIND_FORCE);
    if (why != NULL)
        return why;
    out->sequence = (uint32_t)get(data + 8, 4);
    out->pose = (uint32_t)get(data + 12, 4);
    out->fault = (uint32_t)get(data + 16, 4);
    if (!get_numbers(data + 24, 3, out->force) || !get_numbers(data + 48, 3, out->torque))
        return "it has numbers that are not finite";
    return NULL;
}
