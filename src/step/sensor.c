// SPDX-License-Identifier: Apache-2.0
#include "step/sensor.h"

#include "base/vector.h"
#include "body/soft.h"
#include "contact/contact.h"
#include "core/parts.h"
#include "core/rotation.h"
#include "core/state.h"
#include "step/reaction.h"

#include <assert.h>
#include <math.h>
#include <string.h>

// ---------------------------------------------------------------- links

typedef struct linkMotion
{
    tdPose pose;     // at the end of the step
    double twist[6]; // velocity of the origin, angular velocity, in the world
} linkMotion;

static bool moves(const tdModel *model)
{
    return model->scheme.method != TD_METHOD_STATIC; // there v is a displacement
}

static linkMotion motion_of(const tdModel *model, const tdState *state, int b, int link)
{
    const tdBody *body = &model->bodies[b];
    linkMotion motion;
    body->ops->part(body, state, state->q + body->first, state->v + body->first, link, &motion.pose, motion.twist);
    if (!moves(model))
        memset(motion.twist, 0, sizeof motion.twist);
    return motion;
}

static void velocity_at(const linkMotion *motion, const double x[3], double v[3])
{
    double arm[3];
    td_subtract3(x, motion->pose.t, arm);
    td_cross3(motion->twist + 3, arm, v);
    for (int k = 0; k < 3; k++)
        v[k] += motion->twist[k];
}

// Where a point of the link was halfway through the step.
static void go_halfway(const tdModel *model, const linkMotion *motion, double x[3])
{
    double v[3];
    velocity_at(motion, x, v);
    for (int k = 0; k < 3 && moves(model); k++)
        x[k] -= 0.5 * model->scheme.h * v[k];
}

// A vector of the world in the axes that the link had halfway.
static void into_axes(const tdModel *model, const linkMotion *motion, const double vector[3], double out[3])
{
    double turn[3], q[4], R[9], end[3];
    td_turn_back(&motion->pose, motion->twist + 3, turn);
    for (int k = 0; k < 3; k++)
        turn[k] *= moves(model) ? 0.5 * model->scheme.h : 0;
    td_rotation_from_vector(turn, q);
    td_rotation_matrix(q, R);
    td_turn_back(&motion->pose, vector, end);
    for (int k = 0; k < 3; k++)
        out[k] = td_dot3(R + 3 * (size_t)k, end);
}

// ---------------------------------------------------------------- what a joint transmits

typedef struct jointLoad
{
    const tdModel *model;
    const tdState *state;
    int body, link;
    double about[3];
    double wrench[6]; // force, torque
} jointLoad;

static void add_wrench(jointLoad *load, double sign, const double x[3], const double f[3])
{
    double arm[3], turn[3];
    td_subtract3(x, load->about, arm);
    td_cross3(arm, f, turn);
    for (int k = 0; k < 3; k++)
    {
        load->wrench[k] += sign * f[k];
        load->wrench[3 + k] += sign * turn[k];
    }
}

static void take_load(void *context, int part, const double x[3], const double f[3], const double *torque)
{
    jointLoad *load = context;
    const int32_t *parent = load->model->bodies[load->body].parts->parent;
    int at = part;
    while (at > load->link) // parents come first
        at = parent[at];
    if (at != load->link)
        return;
    linkMotion motion = motion_of(load->model, load->state, load->body, part);
    double half[3] = {x[0], x[1], x[2]};
    go_halfway(load->model, &motion, half);
    add_wrench(load, -1, half, f);
    for (int k = 0; torque != NULL && k < 3; k++)
        load->wrench[3 + k] -= torque[k];
}

// Force and torque in the world, about the link's origin halfway through the step.
static void transmitted(const tdModel *model, const tdState *state, const tdSensor *sensor, const tdCarried *start,
                        const linkMotion *motion, double wrench[6])
{
    const tdBody *body = &model->bodies[sensor->given->body];
    jointLoad load = {.model = model, .state = state, .body = body->index, .link = sensor->given->link};
    tdCarried end;
    double center[3], weight[3], shift[3];
    memcpy(load.about, motion->pose.t, sizeof load.about);
    go_halfway(model, motion, load.about);
    body->ops->carried(body, state, state->q + body->first, state->v + body->first, load.link, &end);
    for (int k = 0; k < 3; k++)
    {
        center[k] = end.mass > 0 ? 0.5 * (start->moment[k] + end.moment[k]) / end.mass : load.about[k];
        weight[k] = end.mass * state->gravity * td_state_gravity(state)[k];
        load.wrench[k] = moves(model) ? (end.linear[k] - start->linear[k]) / model->scheme.h : 0;
        load.wrench[3 + k] = moves(model) ? (end.angular[k] - start->angular[k]) / model->scheme.h : 0;
    }
    td_cross3(load.about, load.wrench, shift);
    for (int k = 0; k < 3; k++)
        load.wrench[3 + k] -= shift[k];
    add_wrench(&load, -1, center, weight);
    td_part_loads(model, state, body->index, take_load, &load);
    memcpy(wrench, load.wrench, sizeof load.wrench);
}

static void read_wrench(const tdModel *model, const tdState *state, const tdSensor *sensor, tdSensorState *mine)
{
    double wrench[6];
    if (sensor->given->attachment >= 0)
    {
        td_state_attachment_force(state, sensor->given->attachment, mine->values, mine->values + 3, NULL);
        return;
    }
    linkMotion motion = motion_of(model, state, sensor->given->body, sensor->given->link);
    transmitted(model, state, sensor, &mine->start, &motion, wrench);
    into_axes(model, &motion, wrench, mine->values);
    into_axes(model, &motion, wrench + 3, mine->values + 3);
}

static void read_joint(const tdModel *model, const tdState *state, const tdSensor *sensor, tdSensorState *mine)
{
    const tdBody *body = &model->bodies[sensor->given->body];
    const tdBodyJoint *joint = sensor->joint;
    int64_t i = body->first + joint->coord;
    linkMotion motion = motion_of(model, state, body->index, sensor->given->link);
    double wrench[6], along[3];
    transmitted(model, state, sensor, &mine->start, &motion, wrench);
    into_axes(model, &motion, wrench + (joint->slides ? 0 : 3), along);
    mine->values[0] = joint->ratio * state->q[i] + joint->offset;
    mine->values[1] = moves(model) ? joint->ratio * state->v[i] : 0;
    mine->values[2] = td_dot3(sensor->axis, along);
}

// ---------------------------------------------------------------- acceleration

static void point_velocity(const tdModel *model, const tdState *state, const tdSensor *sensor, double v[3])
{
    linkMotion motion = motion_of(model, state, sensor->given->body, sensor->given->link);
    double x[3];
    td_place(&motion.pose, sensor->local, x);
    velocity_at(&motion, x, v);
}

static void read_inertial(const tdModel *model, const tdState *state, const tdSensor *sensor, tdSensorState *mine)
{
    linkMotion motion = motion_of(model, state, sensor->given->body, sensor->given->link);
    double v[3], a[3];
    point_velocity(model, state, sensor, v);
    for (int k = 0; k < 3; k++)
        a[k] = (moves(model) ? (v[k] - mine->v_start[k]) / model->scheme.h : 0) -
               state->gravity * td_state_gravity(state)[k];
    into_axes(model, &motion, a, mine->values);
    td_turn_back(&motion.pose, motion.twist + 3, mine->values + 3);
}

// ---------------------------------------------------------------- touch

// Whether a side of a contact is on the patch, which moves with the body.
static bool is_on_patch(const tdModel *model, const tdSensor *sensor, const tdContactSide *side)
{
    const tdSceneSensor *given = sensor->given;
    const tdBody *body = &model->bodies[given->body];
    tdSidePoint at;
    double x[3] = {0};
    if (!given->patch)
        return true;
    const tdTouchPoint *point = td_contact_side_point(model, side, &at);
    if (point->n == 0)
        td_place(&body->parts->start[given->link], point->local, x);
    for (int32_t i = 0; i < point->n; i++)
        for (int k = 0; k < 3; k++)
            x[k] += point->weight[i] * body->soft->rest[3 * (int64_t)point->node[i] + k];
    bool inside = true;
    for (int k = 0; k < 3; k++)
        inside = inside && x[k] >= given->box[k] && x[k] <= given->box[3 + k];
    return inside;
}

static void read_touch(const tdModel *model, const tdState *state, const tdSensor *sensor, tdSensorState *mine)
{
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(state, &points);
    double pressing = 0, force[3] = {0}, count = 0;
    for (int64_t i = 0; i < n; i++)
        for (int s = 0; s < 2; s++)
        {
            const tdContactPoint *p = &points[i];
            const tdContact *contact = &state->contact->contacts[i];
            double along = fabs(td_dot3(p->normal, p->force));
            if (p->body[s] != sensor->given->body || p->link[s] != sensor->given->link || !(along > 0) ||
                !is_on_patch(model, sensor, s == 0 ? &contact->a : &contact->b))
                continue;
            pressing += along;
            count++;
            for (int k = 0; k < 3; k++)
                force[k] += s == 0 ? -p->force[k] : p->force[k];
        }
    mine->values[0] = pressing;
    memcpy(mine->values + 1, force, sizeof force);
    if (sensor->given->link >= 0)
    {
        linkMotion motion = motion_of(model, state, sensor->given->body, sensor->given->link);
        into_axes(model, &motion, force, mine->values + 1);
    }
    mine->values[4] = count;
    mine->values[5] = pressing / sensor->given->area;
}

// ---------------------------------------------------------------- around a step

tdStatus td_sensors_create(const tdModel *model, tdState *state, tdError *error)
{
    state->sensors = TD_TAKE(&state->arena, tdSensorState, model->n_sensors);
    if (state->sensors == NULL)
        return td_fail_memory(error, "the sensors");
    td_sensors_forget(model, state);
    return TD_OK;
}

void td_sensors_forget(const tdModel *model, tdState *state)
{
    for (int i = 0; i < model->n_sensors; i++)
        for (int k = 0; k < TD_SENSOR_VALUES; k++)
            state->sensors[i].values[k] = NAN;
}

void td_sensors_start(const tdModel *model, tdState *state)
{
    for (int i = 0; i < model->n_sensors; i++)
    {
        const tdSensor *sensor = &model->sensors[i];
        const tdSceneSensor *given = sensor->given;
        if (given->kind == TD_SENSOR_TOUCH || given->attachment >= 0)
            continue;
        const tdBody *body = &model->bodies[given->body];
        if (given->kind == TD_SENSOR_INERTIAL)
            point_velocity(model, state, sensor, state->sensors[i].v_start);
        else
            body->ops->carried(body, state, state->q + body->first, state->v + body->first, given->link,
                               &state->sensors[i].start);
    }
}

void td_sensors_read(const tdModel *model, tdState *state)
{
    for (int i = 0; i < model->n_sensors; i++)
    {
        const tdSensor *sensor = &model->sensors[i];
        tdSensorState *mine = &state->sensors[i];
        switch (sensor->given->kind)
        {
        case TD_SENSOR_WRENCH: read_wrench(model, state, sensor, mine); break;
        case TD_SENSOR_JOINT: read_joint(model, state, sensor, mine); break;
        case TD_SENSOR_INERTIAL: read_inertial(model, state, sensor, mine); break;
        case TD_SENSOR_TOUCH: read_touch(model, state, sensor, mine); break;
        }
    }
}

// ---------------------------------------------------------------- for the caller

int td_model_sensors(const tdModel *model)
{
    return model->n_sensors;
}

int td_model_find_sensor(const tdModel *model, const char *name)
{
    for (int i = 0; i < model->n_sensors; i++)
        if (strcmp(model->sensors[i].given->name, name) == 0)
            return i;
    return -1;
}

tdSensorInfo td_model_sensor(const tdModel *model, int sensor)
{
    static const char *const kinds[] = {"force_torque", "touch", "inertial", "joint"};
    static const char *const names[4][TD_SENSOR_VALUES] = {
        {"force_x", "force_y", "force_z", "torque_x", "torque_y", "torque_z"},
        {"force", "force_x", "force_y", "force_z", "points", "pressure"},
        {"acceleration_x", "acceleration_y", "acceleration_z", "rate_x", "rate_y", "rate_z"},
        {"position", "rate", "effort"}};
    static const char *const units[4][TD_SENSOR_VALUES] = {{"N", "N", "N", "N m", "N m", "N m"},
                                                           {"N", "N", "N", "N", "", "Pa"},
                                                           {"m/s^2", "m/s^2", "m/s^2", "rad/s", "rad/s", "rad/s"},
                                                           {"rad", "rad/s", "N m"}};
    static const char *const sliding[3] = {"m", "m/s", "N"};
    assert(sensor >= 0 && sensor < model->n_sensors);
    const tdSensor *of = &model->sensors[sensor];
    const tdSceneSensor *given = of->given;
    tdSensorInfo info = {.name = given->name, .kind = kinds[given->kind], .body = given->body, .link = given->link};
    info.values = of->n;
    for (int k = 0; k < of->n; k++)
    {
        info.columns[k] = names[given->kind][k];
        info.units[k] = of->joint != NULL && of->joint->slides ? sliding[k] : units[given->kind][k];
    }
    return info;
}

int td_state_sensor(const tdModel *model, const tdState *state, int sensor, double values[TD_SENSOR_VALUES])
{
    assert(state->model == model && sensor >= 0 && sensor < model->n_sensors);
    int n = model->sensors[sensor].n;
    memcpy(values, state->sensors[sensor].values, (size_t)n * sizeof *values);
    return n;
}
