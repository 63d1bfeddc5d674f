// SPDX-License-Identifier: Apache-2.0
#include "body/guided.h"

#include "base/vector.h"
#include "core/rotation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static tdGuidedState *mine_of(const tdBody *body, const tdState *state)
{
    return (tdGuidedState *)state->bodies[body->index];
}

// ---------------------------------------------------------------- motion

tdPose td_guided_pose(const tdGuided *guided, const double q[6])
{
    const tdPose *start = &guided->rigid.links[0].origin;
    double turn[4];
    tdPose by = {.t = {0, 0, 0}}, out;
    td_rotation_from_vector(q + 3, turn);
    td_rotation_matrix(turn, by.R);
    out = td_pose_multiply(&by, start);
    for (int k = 0; k < 3; k++)
        out.t[k] = start->t[k] + q[k];
    return out;
}

// The shortest turn from the direction of a to that of b.
static void turn_between(const double a[3], const double b[3], double R[9])
{
    double q[4], size = sqrt(td_dot3(a, a) * td_dot3(b, b));
    td_cross3(a, b, q + 1);
    q[0] = size + td_dot3(a, b);
    double length = sqrt(q[0] * q[0] + td_dot3(q + 1, q + 1));
    bool none = !(length > 1e-9 * size); // no direction, or the opposite one: the shaft has been pulled out
    for (int k = 0; k < 4; k++)
        q[k] = none ? k == 0 : q[k] / length;
    td_rotation_matrix(q, R);
}

tdPose td_guided_held(const tdGuided *guided, const double input[6])
{
    tdPose own = td_guided_pose(guided, input), turn = {.t = {0, 0, 0}};
    if (!guided->through)
        return own;
    double from[3], to[3];
    td_subtract3(guided->trocar, guided->rigid.links[0].origin.t, from);
    td_subtract3(guided->trocar, own.t, to);
    turn_between(from, to, turn.R);
    tdPose out = td_pose_multiply(&turn, &own);
    memcpy(out.t, own.t, sizeof out.t);
    return out;
}

void td_guided_coordinates(const tdGuided *guided, const tdPose *pose, const double *near, double q[6])
{
    const tdPose *start = &guided->rigid.links[0].origin;
    double a[4], b[4], turn[4];
    td_rotation_from_matrix(pose->R, a);
    td_rotation_from_matrix(start->R, b);
    td_rotation_difference(a, b, turn);
    td_rotation_vector(turn, near, q + 3);
    td_subtract3(pose->t, start->t, q);
}

// From inputs to coordinates. leader: the inputs of the body that it follows.
static void coordinates_of(const tdModel *model, const tdBody *body, const double own[6], const double *leader,
                           const double *near, double q[6])
{
    const tdGuided *guided = body->guided;
    if (!guided->through && guided->follows < 0)
    {
        memcpy(q, own, 6 * sizeof *q);
        return;
    }
    tdPose pose = td_guided_held(guided, own);
    if (guided->follows >= 0)
    {
        const tdGuided *other = model->bodies[guided->follows].guided;
        const tdPose *start = &other->rigid.links[0].origin;
        tdPose led = td_guided_held(other, leader), against;
        // Against the start of the other: start^-1 pose.
        for (int r = 0; r < 3; r++)
        {
            against.t[r] = 0;
            for (int c = 0; c < 3; c++)
            {
                against.t[r] += start->R[3 * c + r] * (pose.t[c] - start->t[c]);
                against.R[3 * r + c] =
                    start->R[r] * pose.R[c] + start->R[3 + r] * pose.R[3 + c] + start->R[6 + r] * pose.R[6 + c];
            }
        }
        pose = td_pose_multiply(&led, &against);
    }
    td_guided_coordinates(guided, &pose, near, q);
}

// Angular velocity w = T(r) dr/dt, T = I + (1 - cos a)/a^2 [r] + (a - sin a)/a^3 [r]^2, a = |r|.
static void turning(const double r[3], const double rate[3], double w[3])
{
    double a2 = td_dot3(r, r), a = sqrt(a2), once[3], twice[3];
    double b = a < 1e-3 ? 0.5 - a2 / 24 : (1 - cos(a)) / a2, c = a < 1e-3 ? 1. / 6 - a2 / 120 : (a - sin(a)) / (a2 * a);
    td_cross3(r, rate, once);
    td_cross3(r, once, twice);
    for (int k = 0; k < 3; k++)
        w[k] = rate[k] + b * once[k] + c * twice[k];
}

// T(r)' times a torque: what it is over the rotation vector. T' is T of -r.
static void turned_torque(const double r[3], const double torque[3], double out[3])
{
    const double back[3] = {-r[0], -r[1], -r[2]};
    turning(back, torque, out);
}

static void twist_of(const double q[6], const double v[6], double twist[6])
{
    memcpy(twist, v, 3 * sizeof *v);
    turning(q + 3, v + 3, twist + 3);
}

// row += (dx/dq)' f of a force at the place `arm` from the origin of the body.
static void push_at(const double q[6], const double arm[3], const double f[3], double *row)
{
    double torque[3], over[3];
    td_cross3(arm, f, torque);
    turned_torque(q + 3, torque, over);
    for (int k = 0; k < 3; k++)
    {
        row[k] += f[k];
        row[3 + k] += over[k];
    }
}

// ---------------------------------------------------------------- life

static void free_model(tdBody *body)
{
    td_mesh_free(&((tdGuided *)body->data)->rigid.shape->mesh);
}

// It starts where its inputs have it at the start, without a jump.
static tdStatus state_create(const tdModel *model, const tdBody *body, tdState *state, tdError *error)
{
    tdGuidedState *mine = TD_TAKE(&state->arena, tdGuidedState, 1);
    if (mine == NULL)
        return td_fail_memory(error, "a guided body");
    state->bodies[body->index] = (tdBodyState *)mine;
    mine->node_x = TD_TAKE(&state->arena, double, 3 * body->nodes);
    mine->node_v = TD_TAKE(&state->arena, double, 3 * body->nodes);
    if (mine->node_x == NULL || mine->node_v == NULL)
        return td_fail_memory(error, "a guided body");
    const tdGuided *guided = body->guided;
    double own[6], leader[6] = {0};
    for (int k = 0; k < 6; k++)
    {
        own[k] = td_input_value(model, guided->input[k], 0);
        if (guided->follows >= 0)
            leader[k] = td_input_value(model, model->bodies[guided->follows].guided->input[k], 0);
    }
    coordinates_of(model, body, own, leader, NULL, state->q + body->first);
    return TD_OK;
}

// ---------------------------------------------------------------- the step

static void place(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdGuided *guided = body->guided;
    double own[6], leader[6] = {0};
    for (int k = 0; k < 6; k++)
    {
        own[k] = state->input_end[guided->input[k]];
        if (guided->follows >= 0)
            leader[k] = state->input_end[model->bodies[guided->follows].guided->input[k]];
    }
    coordinates_of(model, body, own, leader, state->q + body->first + 3, state->q_end + body->first);
}

static void nothing(const tdModel *model, const tdBody *body, tdState *state)
{
    (void)model;
    (void)body;
    (void)state;
}

static tdStatus forces(const tdModel *model, const tdBody *body, tdState *state, bool tangent)
{
    size_t bytes = (size_t)body->count * sizeof(double);
    (void)model;
    (void)tangent;
    memset(state->load + body->first, 0, bytes);
    memset(state->force + body->first, 0, bytes);
    memset(state->own + body->first, 0, bytes);
    memset(state->m + body->first, 0, bytes);
    return TD_OK;
}

static tdStatus free_motion(const tdModel *model, const tdBody *body, tdState *state)
{
    (void)model;
    memset(state->dv + body->first, 0, (size_t)body->count * sizeof(double));
    return TD_OK;
}

static tdStatus start_acceleration(const tdModel *model, const tdBody *body, tdState *state)
{
    (void)model;
    memset(state->a + body->first, 0, (size_t)body->count * sizeof(double));
    return TD_OK;
}

static tdStatus apply_inverse(const tdModel *model, const tdBody *body, tdState *state, int n, int64_t stride,
                              const double *b, double *x)
{
    (void)model;
    (void)state;
    (void)b;
    for (int j = 0; j < n; j++)
        memset(x + j * stride, 0, (size_t)body->count * sizeof *x);
    return TD_OK;
}

static void multiply(const tdModel *model, const tdBody *body, tdState *state, const double *x, double *y)
{
    (void)model;
    (void)state;
    (void)x;
    memset(y, 0, (size_t)body->count * sizeof *y);
}

static void drive(const tdModel *model, const tdBody *body, const tdState *state, int input, double *psi)
{
    (void)model;
    (void)state;
    for (int k = 0; k < 6; k++)
        psi[k] = body->guided->input[k] == input;
}

static void arrive(const tdModel *model, const tdBody *body, tdState *state, tdArrival *arrival)
{
    (void)model;
    memset(state->force + body->first, 0, (size_t)body->count * sizeof(double));
    (void)arrival; // it has no energy
}

// ---------------------------------------------------------------- contact

// Nobody asks: none of its coordinates is unknown.
static tdStatus condense(const tdBody *body, tdState *state, tdBodyBlock *out)
{
    (void)body;
    (void)state;
    *out = (tdBodyBlock){0};
    return TD_OK;
}

static void part(const tdBody *body, const tdState *state, const double *q, const double *v, int link, tdPose *pose,
                 double twist[6])
{
    (void)state;
    (void)link;
    *pose = td_guided_pose(body->guided, q);
    if (twist != NULL)
        twist_of(q, v, twist);
}

// The mean velocity of a point in the step, whatever it turns by; or the angular velocity that turns it as far.
static int32_t touch(const tdBody *body, tdState *state, const tdTouchPoint *point, int link, const tdBodyBlock *block,
                     double sign, double frame[3][3], double *J, int32_t *columns, double *drift)
{
    const tdGuided *guided = body->guided;
    const tdScheme *scheme = &state->model->scheme;
    tdPose start = td_guided_pose(guided, state->q + body->first);
    tdPose end = td_guided_pose(guided, state->q_end + body->first);
    double from[3], to[3], time = scheme->method == TD_METHOD_STATIC ? 1 : scheme->h;
    (void)link;
    (void)block;
    (void)J;
    (void)columns;
    td_place(&start, point->local, from);
    td_place(&end, point->local, to);
    if (point->turns)
    {
        double before[4], after[4], between[4];
        td_rotation_from_matrix(start.R, before);
        td_rotation_from_matrix(end.R, after);
        td_rotation_difference(after, before, between);
        memset(from, 0, sizeof from);
        td_rotation_vector(between, NULL, to);
    }
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 3; k++)
            drift[r] += sign * frame[r][k] * (to[k] - from[k]) / time;
    return 0;
}

static void push(const tdBody *body, const tdState *state, const tdTouchPoint *point, int link, const double f[3],
                 double *m)
{
    const double *q = state->q + body->first;
    tdPose pose = td_guided_pose(body->guided, q);
    double arm[3], over[3];
    (void)link;
    if (point->turns)
    {
        turned_torque(q + 3, f, over);
        for (int k = 0; k < 3; k++)
            m[3 + k] += over[k];
        return;
    }
    td_turn(&pose, point->local, arm);
    push_at(q, arm, f, m);
}

// ---------------------------------------------------------------- points

static tdStatus point_set(tdModel *model, const tdBody *body, tdPointSet *set, tdError *error)
{
    (void)body;
    set->size = 6;
    set->coord = TD_TAKE(&model->arena, int32_t, 6);
    for (int32_t k = 0; set->coord != NULL && k < 6; k++)
        set->coord[k] = k;
    return set->coord == NULL ? td_fail_memory(error, "the points of a guided body") : TD_OK;
}

// A point of a set in the body's frame.
static void local_of(const tdBody *body, const tdPointSet *set, int32_t p, double local[3])
{
    local[0] = local[1] = local[2] = 0;
    for (int32_t k = set->start[p]; k < set->start[p + 1]; k++)
        for (int c = 0; c < 3; c++)
            local[c] += set->weights[k] * body->guided->rigid.node_local[3 * (int64_t)set->nodes[k] + c];
}

static void positions(const tdBody *body, const tdState *state, const tdPointSet *set, const double *q, double *x)
{
    tdPose pose = td_guided_pose(body->guided, q);
    (void)state;
    for (int32_t p = 0; p < set->n; p++)
    {
        double local[3];
        local_of(body, set, p, local);
        td_place(&pose, local, x + 3 * (int64_t)p);
    }
}

static void pull(const tdBody *body, const tdState *state, const tdPointSet *set, const double *q, const double *f,
                 double *row)
{
    tdPose pose = td_guided_pose(body->guided, q);
    (void)state;
    memset(row, 0, 6 * sizeof *row);
    for (int32_t p = 0; p < set->n; p++)
    {
        double local[3], arm[3];
        local_of(body, set, p, local);
        td_turn(&pose, local, arm);
        push_at(q, arm, f + 3 * (int64_t)p, row);
    }
}

// Nothing of it is unknown.
static void stiffen(const tdModel *model, const tdBody *body, tdState *state, const tdPointSet *set, int32_t i,
                    int32_t j, const double H[9], bool definite)
{
    (void)model;
    (void)body;
    (void)state;
    (void)set;
    (void)i;
    (void)j;
    (void)H;
    (void)definite;
}

// ---------------------------------------------------------------- what others see

static const double *nodes(const tdModel *model, const tdBody *body, const tdState *state)
{
    tdPose pose = td_guided_pose(body->guided, state->q + body->first);
    double *x = mine_of(body, state)->node_x;
    (void)model;
    for (int64_t i = 0; i < body->nodes; i++)
        td_place(&pose, body->guided->rigid.node_local + 3 * i, x + 3 * i);
    return x;
}

static const double *node_velocities(const tdModel *model, const tdBody *body, const tdState *state)
{
    const double *q = state->q + body->first;
    tdPose pose = td_guided_pose(body->guided, q);
    double *v = mine_of(body, state)->node_v, twist[6], arm[3], across[3];
    (void)model;
    twist_of(q, state->v + body->first, twist);
    for (int64_t i = 0; i < body->nodes; i++)
    {
        td_turn(&pose, body->guided->rigid.node_local + 3 * i, arm);
        td_cross3(twist + 3, arm, across);
        for (int c = 0; c < 3; c++)
            v[3 * i + c] = twist[c] + across[c];
    }
    return v;
}

static void fields(const tdModel *model, const tdBody *body, tdState *state, double *von_mises, double *energy)
{
    (void)model;
    (void)state;
    if (von_mises != NULL)
        memset(von_mises, 0, (size_t)body->elements * sizeof *von_mises);
    if (energy != NULL)
        memset(energy, 0, (size_t)body->elements * sizeof *energy);
}

static void energy(const tdModel *model, const tdBody *body, tdState *state, double *kinetic, double *elastic)
{
    (void)model;
    (void)body;
    (void)state;
    if (kinetic != NULL)
        *kinetic = 0;
    if (elastic != NULL)
        *elastic = 0;
}

// What guides it bears all that acts on it.
static bool gain(const tdBody *body, const tdState *state, double gained[3], double weight[3])
{
    (void)body;
    (void)state;
    for (int k = 0; k < 3; k++)
        gained[k] = weight[k] = 0;
    return true;
}

static void describe(const tdBody *body, int64_t element, char *out, size_t size)
{
    snprintf(out, size, "triangle %lld of body '%s'", (long long)element, body->name);
}

const tdBodyOps td_guided_ops = {
    .kind = "guided",
    .free_model = free_model,
    .state_create = state_create,
    .place = place,
    .begin = nothing,
    .kinematics = nothing,
    .forces = forces,
    .free_motion = free_motion,
    .start_acceleration = start_acceleration,
    .apply_inverse = apply_inverse,
    .multiply = multiply,
    .condense = condense,
    .part = part,
    .touch = touch,
    .push = push,
    .locate = td_articulated_locate,
    .hash = td_articulated_hash,
    .gain = gain,
    .point_set = point_set,
    .positions = positions,
    .pull = pull,
    .stiffen = stiffen,
    .drive = drive,
    .balance = nothing,
    .arrive = arrive,
    .commit = nothing,
    .describe = describe,
    .nodes = nodes,
    .node_velocities = node_velocities,
    .fields = fields,
    .energy = energy,
};
