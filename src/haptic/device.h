// SPDX-License-Identifier: Apache-2.0
// Devices behind one interface: where a hand is, and the force that it gets.
//
//     trace:FILE.csv     a motion that was recorded: t, x, y, z, rx, ry, rz, grip; FILE.csv alone too
//     hand:FILE.csv      a simulated hand on a simulated device that wants to follow such a motion, and feels
//     udp:PORT           datagrams (packet.h), at 127.0.0.1 unless udp:HOST:PORT names a host
//     forcedimension     a device of Force Dimension, by the vendor's library where it is installed
//     openhaptics        a device of 3D Systems, likewise
//     haply              a device of Haply, by the vendor's service (haply:PORT, haply:ADDRESS:PORT)
//     auto               the first of: forcedimension, openhaptics, haply; else an error that says what was looked for
//
// Positions are ways from where the tool starts [m], in the world's axes. Reading and writing never wait.
#pragma once
#include "base/status.h"

typedef struct tdDevice tdDevice;

typedef struct tdReading
{
    double position[3];
    bool turned; ///< the device knows its rotation
    double rotation[4];
    uint32_t buttons;
    double grip; ///< of a grasper: 0 open, 1 closed
} tdReading;

typedef struct tdDeviceOps
{
    /// The newest pose since the last call; false: none.
    bool (*read)(tdDevice *device, double clock, tdReading *out);
    void (*write)(tdDevice *device, double clock, const double force[3], const double torque[3], int fault);
    bool (*ended)(const tdDevice *device, double clock); ///< nothing more will come
    /// What became of its messages, for the report.
    void (*tell)(const tdDevice *device, char *out, size_t size);
    void (*close)(tdDevice *device);
} tdDeviceOps;

struct tdDevice
{
    const tdDeviceOps *ops;
    char name[128]; ///< as it was opened
};

/// log: what was looked for, line by line. clock: from which its times count.
tdStatus td_device_open(const char *spec, double period, double clock, const tdSettings *settings, tdDevice **out,
                        tdError *error);
static inline void td_device_close(tdDevice *device)
{
    if (device != NULL)
        device->ops->close(device);
}

// One function a kind.
tdStatus td_device_trace(const char *path, double clock, tdDevice **out, tdError *error);
tdStatus td_device_hand(const char *path, double period, double clock, tdDevice **out, tdError *error);
tdStatus td_device_udp(const char *where, tdDevice **out, tdError *error);
/// library NULL: by the names under which the vendor's is installed.
tdStatus td_device_force_dimension(const char *library, tdDevice **out, tdError *error);
tdStatus td_device_openhaptics(const char *library, tdDevice **out, tdError *error);
/// where: PORT or ADDRESS:PORT of the Inverse service; NULL: 127.0.0.1:10001.
tdStatus td_device_haply(const char *where, tdDevice **out, tdError *error);
