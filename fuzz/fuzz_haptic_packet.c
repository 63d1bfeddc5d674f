// SPDX-License-Identifier: Apache-2.0
// Any bytes as a datagram of a haptic device: what is accepted is a pose or a force, and is written as it was read.
#include "haptic/packet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    // A copy of exactly the size, so that a read behind the end is seen.
    uint8_t *copy = malloc(size + (size == 0)), out[TD_PACKET_POSE];
    tdPosePacket pose;
    tdForcePacket force;
    if (copy == NULL)
        return 0;
    if (size > 0)
        memcpy(copy, data, size);
    if (td_packet_read_pose(copy, size, &pose) == NULL)
    {
        for (int k = 0; k < 3; k++)
            if (!(fabs(pose.position[k]) <= 10))
                abort();
        td_packet_write_pose(&pose, out);
        if (size != TD_PACKET_POSE || memcmp(out, copy, size) != 0)
            abort();
    }
    if (td_packet_read_force(copy, size, &force) == NULL)
        for (int k = 0; k < 3; k++)
            if (!isfinite(force.force[k]) || !isfinite(force.torque[k]))
                abort();
    free(copy);
    return 0;
}
