// SPDX-License-Identifier: Apache-2.0
// Laws of joints: dry friction, limits, servos. Each is a monotone function of the joint's position and rate, so that
// its slopes are never negative and A stays definite.
#include "body/articulated.h"

#include <math.h>
#include <string.h>

static void add(int32_t coord, double ratio, double value, double by_position, double by_rate, double *force,
                double *slope_q, double *slope_v)
{
    force[coord] += ratio * value;
    if (slope_q == NULL)
        return;
    slope_q[coord] += ratio * ratio * by_position;
    slope_v[coord] += ratio * ratio * by_rate;
}

static void add_friction(const tdJointFriction *friction, const double *v, bool secant, double *force, double *slope_q,
                         double *slope_v)
{
    double rate = friction->ratio * v[friction->coord], size = sqrt(rate * rate + friction->slip * friction->slip);
    double slope = friction->force / size, share = friction->slip / size;
    add(friction->coord, friction->ratio, slope * rate, 0, secant ? slope : slope * share * share, force, slope_q,
        slope_v);
}

static void add_limit(const tdJointLimit *limit, const double *q, const double *v, double *force, double *slope_q,
                      double *slope_v)
{
    double x = limit->ratio * q[limit->coord] + limit->offset, rate = limit->ratio * v[limit->coord];
    double above = limit->stiffness * (x - limit->upper) + limit->damping * rate;
    double below = limit->stiffness * (limit->lower - x) - limit->damping * rate;
    if (above > 0)
        add(limit->coord, limit->ratio, above, limit->stiffness, limit->damping, force, slope_q, slope_v);
    if (below > 0)
        add(limit->coord, limit->ratio, -below, limit->stiffness, limit->damping, force, slope_q, slope_v);
}

// Without its limits.
static double asked_effort(const tdServo *servo, double feed, double input, double position, double rate)
{
    return feed + (servo->rate ? servo->damping * (input - rate)
                               : servo->stiffness * (input - position) - servo->damping * rate);
}

double td_servo_effort(const tdServo *servo, double feed, double input, double position, double rate)
{
    return fmin(fmax(asked_effort(servo, feed, input, position, rate), servo->effort[0]), servo->effort[1]);
}

void td_servo_feed(const tdBody *body, tdState *state, const double gravity[3])
{
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    bool any = false;
    for (int k = 0; k < given->n_servos; k++)
        any = any || given->servos[k].weightless;
    if (!any)
        return;
    memset(mine->trial, 0, (size_t)given->n * sizeof(double));
    td_tree_inverse(given, mine->trial, NULL, gravity, &mine->at, mine->rhs);
    for (int k = 0; k < given->n_servos; k++)
        if (given->servos[k].weightless)
            mine->feed[k] = mine->rhs[given->servos[k].coord] / given->servos[k].ratio;
}

bool td_servo_is_limited(const tdServo *servo)
{
    return isfinite(servo->effort[0]) || isfinite(servo->effort[1]);
}

static void add_servo(const tdServo *servo, double feed, double input, const double *q, const double *v, double *force,
                      double *slope_q, double *slope_v)
{
    double x = servo->ratio * q[servo->coord] + servo->offset, rate = servo->ratio * v[servo->coord];
    double asked = asked_effort(servo, feed, input, x, rate);
    bool within = asked >= servo->effort[0] && asked <= servo->effort[1];
    add(servo->coord, servo->ratio, -td_servo_effort(servo, feed, input, x, rate), within ? servo->stiffness : 0,
        within ? servo->damping : 0, force, slope_q, slope_v);
}

void td_joint_laws(const tdModel *model, const tdBody *body, const tdState *state, const double *q_e, const double *v_e,
                   bool secant, double *force, double *slope_q, double *slope_v)
{
    const tdArticulated *mine = td_articulated_of(body);
    const double *feed = td_articulated_mine(body, state)->feed;
    bool moving = model->scheme.method != TD_METHOD_STATIC;
    for (int k = 0; k < mine->n_frictions && moving; k++)
        add_friction(&mine->frictions[k], v_e, secant, force, slope_q, slope_v);
    bool apart = body->rows_apart && !td_articulated_mine(body, state)->foreseeing;
    for (int k = 0; k < mine->n_limits && !apart; k++)
        add_limit(&mine->limits[k], q_e, v_e, force, slope_q, slope_v);
    for (int k = 0; k < mine->n_servos; k++)
        if (!apart || !td_servo_is_limited(&mine->servos[k]))
            add_servo(&mine->servos[k], feed[k], state->input[mine->servos[k].input], q_e, v_e, force, slope_q,
                      slope_v);
}

// ---------------------------------------------------------------- rows

static void list_row(tdBodyRow *out, int most, int *n, tdBodyRow row)
{
    if (*n < most)
        out[*n] = row;
    ++*n;
}

static void list_limit(const tdModel *model, const tdBody *body, const tdState *state, const tdJointLimit *limit,
                       tdBodyRow *out, int most, int *n)
{
    int64_t i = body->first + limit->coord;
    double start = state->q[i] + td_scheme_drift(&model->scheme, state->v[i], state->a[i]);
    double x = limit->ratio * start + limit->offset, rate = limit->ratio * state->v[i];
    double reach = model->scheme.h * (2 * fabs(rate) + limit->fast);
    tdBodyRow row = {.coord = limit->coord, .stiffness = limit->stiffness, .damping = limit->damping, .high = INFINITY};
    row.ratio = limit->ratio;
    row.error = x - limit->lower;
    if (row.error < reach)
        list_row(out, most, n, row);
    row.ratio = -limit->ratio;
    row.error = limit->upper - x;
    if (row.error < reach)
        list_row(out, most, n, row);
}

static tdBodyRow servo_row(const tdModel *model, const tdBody *body, const tdState *state, int k)
{
    const tdServo *servo = &td_articulated_of(body)->servos[k];
    double feed = td_articulated_mine(body, state)->feed[k]; // as a shift of what is asked for
    int64_t i = body->first + servo->coord;
    double s = model->scheme.s, input = state->input[servo->input];
    double start = state->q[i] + td_scheme_drift(&model->scheme, state->v[i], state->a[i]);
    double position = servo->ratio * start + servo->offset;
    return (tdBodyRow){.coord = servo->coord,
                       .ratio = servo->ratio,
                       .error = servo->rate ? 0 : position - input - feed / servo->stiffness,
                       .stiffness = servo->rate ? 0 : servo->stiffness,
                       .damping = servo->damping,
                       .rate = servo->rate ? input + feed / servo->damping : 0,
                       .low = s * servo->effort[0],
                       .high = s * servo->effort[1]};
}

int td_joint_rows(const tdModel *model, const tdBody *body, const tdState *state, tdBodyRow *out, int most)
{
    const tdArticulated *mine = td_articulated_of(body);
    int n = 0;
    for (int k = 0; k < mine->n_limits; k++)
        list_limit(model, body, state, &mine->limits[k], out, most, &n);
    for (int k = 0; k < mine->n_servos; k++)
        if (td_servo_is_limited(&mine->servos[k]))
            list_row(out, most, &n, servo_row(model, body, state, k));
    return n;
}

// ---------------------------------------------------------------- energy and what is looked at afterwards

void td_joint_limits(const tdArticulated *body, const double *q_e, const double *v_e, double *force)
{
    for (int k = 0; k < body->n_limits; k++)
        add_limit(&body->limits[k], q_e, v_e, force, NULL, NULL);
}

double td_joint_limit_energy(const tdArticulated *body, const double *q)
{
    double sum = 0;
    for (int k = 0; k < body->n_limits; k++)
    {
        const tdJointLimit *limit = &body->limits[k];
        double x = limit->ratio * q[limit->coord] + limit->offset;
        double beyond = fmax(fmax(x - limit->upper, limit->lower - x), 0);
        sum += 0.5 * limit->stiffness * beyond * beyond;
    }
    return sum;
}

double td_joint_energy(const tdModel *model, const tdBody *body, const tdState *state)
{
    const tdArticulated *mine = td_articulated_of(body);
    const double *q = state->q + body->first;
    double sum = td_joint_limit_energy(mine, q);
    (void)model;
    for (int k = 0; k < mine->n_servos && state->steps > 0; k++) // before the first step nothing is asked for
    {
        const tdServo *servo = &mine->servos[k];
        double way = state->input[servo->input] - servo->ratio * q[servo->coord] - servo->offset;
        sum += servo->rate ? 0 : 0.5 * servo->stiffness * way * way;
    }
    return sum;
}
