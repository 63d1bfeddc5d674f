// SPDX-License-Identifier: Apache-2.0
// Datagrams of a device that is far away, version 1. Numbers are little-endian, floating-point numbers IEEE doubles.
//
//     pose   80 bytes   device -> host     force  72 bytes   host -> device
//      0  "TDHP"                            0  "TDHP"
//      4  u16 version = 1                   4  u16 version = 1
//      6  u16 kind = 1                      6  u16 kind = 2
//      8  u32 sequence                      8  u32 sequence
//     12  u32 buttons                      12  u32 sequence of the newest pose that was used
//     16  f64 time of the device [s]       16  u32 fault: 0, or why there is no force (guard.h)
//     24  f64 position x, y, z [m]         20  u32 0
//     48  f64 rotation w, x, y, z          24  f64 force x, y, z [N]
//                                          48  f64 torque x, y, z [N m]
//
// A datagram of another length, version or kind, with numbers that are not finite, a position beyond 10 m or a rotation
// that is no unit quaternion, is refused as a whole. Sequence numbers go up and around; what is not newer than the
// newest is old.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TD_PACKET_POSE    80
#define TD_PACKET_FORCE   72
#define TD_PACKET_VERSION 1

typedef struct tdPosePacket
{
    uint32_t sequence, buttons;
    double time, position[3], rotation[4];
} tdPosePacket;

typedef struct tdForcePacket
{
    uint32_t sequence, pose, fault;
    double force[3], torque[3];
} tdForcePacket;

void td_packet_write_pose(const tdPosePacket *packet, uint8_t out[TD_PACKET_POSE]);
void td_packet_write_force(const tdForcePacket *packet, uint8_t out[TD_PACKET_FORCE]);
/// NULL: it was read; else why not.
const char *td_packet_read_pose(const uint8_t *data, size_t size, tdPosePacket *out);
const char *td_packet_read_force(const uint8_t *data, size_t size, tdForcePacket *out);

/// Whether a comes after b.
static inline bool td_packet_is_newer(uint32_t a, uint32_t b)
{
    return a != b && a - b < UINT32_C(0x80000000);
}
