// SPDX-License-Identifier: Apache-2.0
// Sensors: what a robot would measure, read after each step. They change nothing.
//
//   force_torque   what a joint transmits to the link that it carries, from the momentum p, L of that link and all that
//                  hangs on it:  force = dp/dt - forces from outside,  torque = dL/dt - their moments, about the joint
//   inertial       (dv/dt - gravity) of a point, what an accelerometer shows, and the angular velocity of its link
//   touch          contact forces on a link, a patch of it or a soft body
//   joint          position, rate, and the part of what it transmits that is along its axis
//
// Means over the step, in the axes of the link halfway through it: what the integrator has of second order is kept.
#pragma once
#include "collide/shape.h"
#include "core/model.h"

typedef struct tdSensor
{
    const tdSceneSensor *given;
    int n;                           ///< values, TD_SENSOR_VALUES at most
    double local[3];                 ///< inertial: the point in the link's frame
    const struct tdBodyJoint *joint; ///< joint,
    const double *axis;              ///< and along which it turns or slides, in the link's frame
} tdSensor;

/// Of one sensor.
typedef struct tdSensorState
{
    tdCarried start;   ///< at the start of the step
    double v_start[3]; ///< of the point there
    double values[6];  ///< of the last step; NAN: none yet
} tdSensorState;

tdStatus td_sensors_create(const tdModel *model, tdState *state, tdError *error);
/// Before a step: momenta and velocities at its start.
void td_sensors_start(const tdModel *model, tdState *state);
/// After it was accepted.
void td_sensors_read(const tdModel *model, tdState *state);
/// No values any more: the state has been changed from outside.
void td_sensors_forget(const tdModel *model, tdState *state);
