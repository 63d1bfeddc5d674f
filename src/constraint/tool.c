// SPDX-License-Identifier: Apache-2.0
#include "constraint/tool.h"

#include "base/vector.h"
#include "core/parts.h"
#include "core/rotation.h"
#include "core/state.h"
#include "solve/driven.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define ITERATIONS 10    // of Levenberg and Marquardt in a step; two or three are the rule
#define NOTHING    1e-15 // relative to the arm's length: an error that is rounding
#define STUCK      1e-6  // an error of more that moves no joint by as much
#define NUDGE      0.02  // radians, or of the arm's length
#define LEASH      0.1   // [s] that a driven target may be ahead of a tool that cannot follow
#define SHORTEST   0.01  // of the arm's length, and radians: but not less than this

// ---------------------------------------------------------------- life

static tdStatus take_scratch(const tdModel *model, tdState *state, tdToolsState *ts)
{
    tdArena *arena = &state->arena;
    int64_t most = 0, coords = 0;
    for (int t = 0; t < model->n_tools; t++)
    {
        const tdTool *tool = &model->tools[t];
        most = tool->n > most ? tool->n : most;
        coords = model->bodies[tool->body].count > coords ? model->bodies[tool->body].count : coords;
        ts->count = tool->first + TD_TOOL_COMMAND + tool->n;
    }
    struct
    {
        double **array;
        int64_t count;
    } list[] = {{&ts->kept, ts->count}, {&ts->next, ts->count},
                {&ts->q, coords},       {&ts->J, 6 * most},
                {&ts->H, most * most},  {&ts->g, most},
                {&ts->low, most},       {&ts->high, most},
                {&ts->u, most},         {&ts->trial, most},
                {&ts->other, most},     {&ts->least, most},
                {&ts->most, most},      {&ts->scratch, TD_DRIVEN_SCRATCH(most)}};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if ((*list[i].array = TD_TAKE(arena, double, list[i].count)) == NULL)
            return TD_ERROR_MEMORY;
    ts->active = TD_TAKE(arena, signed char, most);
    return ts->active == NULL ? TD_ERROR_MEMORY : TD_OK;
}

tdStatus td_tools_create(const tdModel *model, tdState *state, tdError *error)
{
    if (model->n_tools == 0)
        return TD_OK;
    tdToolsState *ts = state->tools = TD_TAKE(&state->arena, tdToolsState, 1);
    if (ts == NULL || take_scratch(model, state, ts) != TD_OK)
        return td_fail_memory(error, "the tools");
    for (int t = 0; t < model->n_tools; t++)
    {
        const tdTool *tool = &model->tools[t];
        double *kept = ts->kept + tool->first;
        memcpy(kept + TD_TOOL_PLACE, tool->start.t, sizeof tool->start.t);
        td_rotation_from_matrix(tool->start.R, kept + TD_TOOL_TURN);
        for (int k = 0; k < tool->n; k++)
            kept[TD_TOOL_COMMAND + k] = tool->joints[k].start;
    }
    return TD_OK;
}

tdStatus td_tools_check(const tdModel *model, const tdState *state, tdError *error)
{
    for (int t = 0; t < model->n_tools; t++)
    {
        const tdTool *tool = &model->tools[t];
        const double *kept = state->tools->kept + tool->first, *turn = kept + TD_TOOL_TURN;
        bool good = fabs(turn[0] * turn[0] + td_dot3(turn + 1, turn + 1) - 1) < 1e-6;
        for (int k = 0; k < TD_TOOL_COMMAND + tool->n; k++)
            good = good && isfinite(kept[k]);
        if (!good)
            return td_fail(error, TD_ERROR_INPUT, "the state of tool '%s' in the file is not a pose", tool->name);
    }
    return TD_OK;
}

// ---------------------------------------------------------------- kinematics

tdPose td_tool_pose(const tdModel *model, const tdState *state, int t, const double *command)
{
    const tdTool *tool = &model->tools[t];
    const tdBody *body = &model->bodies[tool->body];
    tdToolsState *ts = state->tools;
    memcpy(ts->q, state->q + body->first, (size_t)body->count * sizeof *ts->q);
    for (int k = 0; k < tool->n; k++)
        ts->q[tool->joints[k].coord] = (command[k] - tool->joints[k].offset) / tool->joints[k].ratio;
    tdPose link, pose;
    body->ops->part(body, state, ts->q, NULL, tool->link, &link, NULL);
    pose = link;
    td_place(&link, tool->local, pose.t);
    return pose;
}

// Way and rotation vector from one pose to another; turn: quaternion of the latter.
static void difference(const tdPose *from, const double to[3], const double turn[4], double e[6])
{
    double q[4], between[4];
    td_subtract3(to, from->t, e);
    td_rotation_from_matrix(from->R, q);
    td_rotation_difference(turn, q, between);
    td_rotation_vector(between, NULL, e + 3);
}

// Without a unit.
static void scale_error(const tdTool *tool, double e[6])
{
    for (int k = 0; k < 3; k++)
    {
        e[k] /= tool->length;
        e[3 + k] *= tool->lever / tool->length;
    }
}

static double square(const double e[6])
{
    return td_dot3(e, e) + td_dot3(e + 3, e + 3);
}

// J[6 x n], scaled, where td_tool_pose() was last asked for: rates of the point and of the link by those of joints.
static void jacobian(const tdModel *model, const tdState *state, const tdTool *tool, const tdPose *at, double *J)
{
    const tdBody *body = &model->bodies[tool->body];
    for (int k = 0; k < tool->n; k++)
    {
        const tdToolJoint *joint = &tool->joints[k];
        double twist[6] = {0}, unit = joint->unit / joint->ratio;
        body->ops->part_rate(body, state, state->tools->q, tool->link, at->t, joint->coord, twist);
        for (int c = 0; c < 3; c++)
        {
            J[c * tool->n + k] = unit * twist[c] / tool->length;
            J[(3 + c) * tool->n + k] = unit * twist[3 + c] * tool->lever / tool->length;
        }
    }
}

// ---------------------------------------------------------------- the target

// Moves a pose by a way and a rotation vector.
static void advance(double place[3], double turn[4], const double by[6], double share)
{
    double r[3], q[4], all[4];
    for (int k = 0; k < 3; k++)
    {
        place[k] += share * by[k];
        r[k] = share * by[3 + k];
    }
    td_rotation_from_vector(r, q);
    td_rotation_multiply(q, turn, all);
    double size = sqrt(all[0] * all[0] + td_dot3(all + 1, all + 1));
    for (int k = 0; k < 4; k++)
        turn[k] = all[k] / size;
}

// The target at the end of the step: by the inputs, or a step of the twist on from the last.
static void place_target(const tdModel *model, const tdState *state, const tdTool *tool, double *next)
{
    double *place = next + TD_TOOL_PLACE, *turn = next + TD_TOOL_TURN;
    if (next[TD_TOOL_DRIVEN] != 0)
    {
        advance(place, turn, next + TD_TOOL_TWIST, model->scheme.h);
        return;
    }
    memcpy(place, tool->start.t, sizeof tool->start.t);
    td_rotation_from_matrix(tool->start.R, turn);
    advance(place, turn, state->input_end + tool->input, 1);
}

// A driven target waits for a tool that cannot follow: it is no farther ahead than what is driven in LEASH.
static void hold_back(const tdTool *tool, const tdPose *at, double *next)
{
    double e[6], *place = next + TD_TOOL_PLACE, *turn = next + TD_TOOL_TURN, *twist = next + TD_TOOL_TWIST;
    difference(at, place, turn, e);
    double way = sqrt(td_dot3(e, e)), angle = sqrt(td_dot3(e + 3, e + 3));
    double most_way = fmax(LEASH * sqrt(td_dot3(twist, twist)), SHORTEST * tool->length);
    double most_angle = fmax(LEASH * sqrt(td_dot3(twist + 3, twist + 3)), SHORTEST);
    double back[6];
    for (int k = 0; k < 3; k++)
    {
        back[k] = way > most_way ? (most_way / way - 1) * e[k] : 0;
        back[3 + k] = angle > most_angle ? (most_angle / angle - 1) * e[3 + k] : 0;
    }
    advance(place, turn, back, 1);
}

// ---------------------------------------------------------------- commands

// g = J' e, H = J' J + lambda^2 I; minus g, as the box problem takes it.
static void normal_equations(int n, const double *J, const double e[6], double lambda2, double *H, double *g)
{
    for (int i = 0; i < n; i++)
    {
        g[i] = 0;
        for (int r = 0; r < 6; r++)
            g[i] -= J[r * n + i] * e[r];
        for (int j = 0; j < n; j++)
        {
            double sum = i == j ? lambda2 : 0;
            for (int r = 0; r < 6; r++)
                sum += J[r * n + i] * J[r * n + j];
            H[i * n + j] = sum;
        }
    }
}

// Bounds of the commands in this step. A joint whose input the caller has set is where that says, and does not move.
static void bound(const tdModel *model, const tdState *state, const tdTool *tool, double *command)
{
    tdToolsState *ts = state->tools;
    for (int k = 0; k < tool->n; k++)
    {
        const tdToolJoint *joint = &tool->joints[k];
        double set = state->override[joint->input], way = isnan(set) ? joint->rate * model->scheme.h : 0;
        command[k] = fmin(fmax(isnan(set) ? command[k] : set, joint->lower), joint->upper);
        ts->low[k] = fmax(joint->lower, command[k] - way);
        ts->high[k] = fmin(joint->upper, command[k] + way);
    }
}

// One try: commands that are best by the linearization at `command`, into trial. Returns the square of how far they go.
static double solve(const tdTool *tool, tdToolsState *ts, const double *command, const double e[6], double lambda2)
{
    int n = tool->n;
    double moved = 0;
    normal_equations(n, ts->J, e, lambda2, ts->H, ts->g);
    for (int k = 0; k < n; k++)
    {
        ts->least[k] = (ts->low[k] - command[k]) / tool->joints[k].unit;
        ts->most[k] = (ts->high[k] - command[k]) / tool->joints[k].unit;
    }
    const tdDrivenProblem box = {n, ts->H, ts->g, ts->least, ts->most};
    td_driven_solve(&box, ts->scratch, ts->u, ts->active); // H is definite; what a failure leaves is within bounds
    for (int k = 0; k < n; k++)
    {
        double to = command[k] + tool->joints[k].unit * ts->u[k];
        ts->trial[k] = fmin(fmax(to, ts->low[k]), ts->high[k]);
        moved += ts->u[k] * ts->u[k];
    }
    return moved;
}

// Iterates from commands whose pose is *at to ones that bring the tool nearer to a place. Returns the square of the
// error that is left.
static double descend(const tdModel *model, tdState *state, int t, const double place[3], const double turn[4],
                      int iterations, tdPose *at, double *command)
{
    const tdTool *tool = &model->tools[t];
    tdToolsState *ts = state->tools;
    double e[6], least = tool->given->damping * tool->given->damping, more = 1;
    difference(at, place, turn, e);
    scale_error(tool, e);
    double error = square(e);
    memset(ts->active, 0, (size_t)tool->n);
    jacobian(model, state, tool, at, ts->J);
    for (int i = 0; i < iterations && error > NOTHING * NOTHING; i++)
    {
        // The square of the error as damping holds back where it is large and J says little (Sugihara 2011).
        double moved = solve(tool, ts, command, e, more * (least + 0.5 * error)), there[6];
        if (!(moved > NOTHING * NOTHING))
            break;
        tdPose next = td_tool_pose(model, state, t, ts->trial);
        difference(&next, place, turn, there);
        scale_error(tool, there);
        if (!(square(there) < error))
        {
            more *= 10;
            continue;
        }
        more = fmax(0.1 * more, 1e-3);
        error = square(there);
        *at = next;
        memcpy(e, there, sizeof e);
        memcpy(command, ts->trial, (size_t)tool->n * sizeof *command);
        jacobian(model, state, tool, at, ts->J);
    }
    return error;
}

// A straight arm that is pulled along itself is at a stationary point that is no minimum: J knows of no way out. One
// joint a step, each in its turn, is bent a little and the way from there tried.
static void unlock(const tdModel *model, tdState *state, int t, const double place[3], const double turn[4],
                   double error, tdPose *at, double *command)
{
    const tdTool *tool = &model->tools[t];
    tdToolsState *ts = state->tools;
    int k = (int)(state->steps % tool->n);
    double bend = NUDGE * tool->joints[k].unit, *other = ts->other;
    memcpy(other, command, (size_t)tool->n * sizeof *other);
    other[k] += ts->high[k] - command[k] >= command[k] - ts->low[k] ? bend : -bend;
    other[k] = fmin(fmax(other[k], ts->low[k]), ts->high[k]);
    tdPose there = td_tool_pose(model, state, t, other);
    if (!(descend(model, state, t, place, turn, ITERATIONS / 2, &there, other) < (1 - 1e-6) * error))
        return;
    *at = there;
    memcpy(command, other, (size_t)tool->n * sizeof *command);
}

// Commands that bring the tool from the pose `at` nearest to a place; returns the pose that they give.
static tdPose approach(const tdModel *model, tdState *state, int t, tdPose at, const double place[3],
                       const double turn[4], double *command)
{
    const tdTool *tool = &model->tools[t];
    const double *kept = state->tools->kept + tool->first + TD_TOOL_COMMAND;
    double error = descend(model, state, t, place, turn, ITERATIONS, &at, command), moved = 0;
    for (int k = 0; k < tool->n; k++)
        moved = fmax(moved, fabs(command[k] - kept[k]) / tool->joints[k].unit);
    if (error > STUCK * STUCK && moved < STUCK)
        unlock(model, state, t, place, turn, error, &at, command);
    return at;
}

// What the limits of speed allow of the way to the target in this step: way and turn end together.
static void limit_speed(const tdModel *model, const tdTool *tool, const tdPose *at, double place[3], double turn[4])
{
    double e[6], h = model->scheme.h;
    difference(at, place, turn, e);
    double way = sqrt(td_dot3(e, e)), angle = sqrt(td_dot3(e + 3, e + 3)), share = 1;
    if (way > h * tool->given->speed)
        share = h * tool->given->speed / way;
    if (angle > h * tool->given->turning)
        share = fmin(share, h * tool->given->turning / angle);
    if (share < 1)
        advance(place, turn, e, share - 1);
}

static void command_servos(const tdModel *model, tdState *state, const tdTool *tool, const double *kept,
                           const double *next)
{
    double share = model->scheme.load_time / model->scheme.h;
    for (int k = 0; k < tool->n; k++)
    {
        int input = tool->joints[k].input;
        if (!isnan(state->override[input]))
            continue;
        double from = kept[TD_TOOL_COMMAND + k], to = next[TD_TOOL_COMMAND + k];
        state->input[input] = share == 1 ? to : from + share * (to - from);
        state->input_end[input] = state->load_next[input] = to;
    }
}

void td_tools_latch(const tdModel *model, tdState *state)
{
    tdToolsState *ts = state->tools;
    for (int t = 0; t < model->n_tools; t++)
    {
        const tdTool *tool = &model->tools[t];
        double *kept = ts->kept + tool->first, *next = ts->next + tool->first, *command = next + TD_TOOL_COMMAND;
        memcpy(next, kept, (size_t)(TD_TOOL_COMMAND + tool->n) * sizeof *next);
        place_target(model, state, tool, next);
        bound(model, state, tool, command);
        tdPose at = td_tool_pose(model, state, t, command);
        double place[3], turn[4];
        memcpy(place, next + TD_TOOL_PLACE, sizeof place);
        memcpy(turn, next + TD_TOOL_TURN, sizeof turn);
        limit_speed(model, tool, &at, place, turn);
        at = approach(model, state, t, at, place, turn, command);
        if (next[TD_TOOL_DRIVEN] != 0)
            hold_back(tool, &at, next);
        command_servos(model, state, tool, kept, next);
    }
}

void td_tools_commit(const tdModel *model, tdState *state)
{
    if (model->n_tools > 0)
        memcpy(state->tools->kept, state->tools->next, (size_t)state->tools->count * sizeof(double));
}

// ---------------------------------------------------------------- what the public header tells

int td_model_tools(const tdModel *model)
{
    return model->n_tools;
}

tdToolInfo td_model_tool(const tdModel *model, int index)
{
    assert(index >= 0 && index < model->n_tools);
    const tdTool *tool = &model->tools[index];
    return (tdToolInfo){.name = tool->name,
                        .body = tool->body,
                        .link = model->bodies[tool->body].parts->names[tool->link],
                        .input = tool->input,
                        .joints = tool->n,
                        .length = tool->length,
                        .speed = tool->given->speed,
                        .turning = tool->given->turning};
}

int td_model_find_tool(const tdModel *model, const char *name)
{
    assert(name != NULL);
    for (int t = 0; t < model->n_tools; t++)
        if (strcmp(model->tools[t].name, name) == 0)
            return t;
    return -1;
}

tdStatus td_state_drive_tool(const tdModel *model, tdState *state, int tool, const double twist[6])
{
    if (tool < 0 || tool >= model->n_tools)
        return TD_ERROR_USAGE;
    double *kept = state->tools->kept + model->tools[tool].first;
    for (int k = 0; k < 6 && twist != NULL; k++)
        if (!isfinite(twist[k]))
            return TD_ERROR_USAGE;
    kept[TD_TOOL_DRIVEN] = twist != NULL;
    for (int k = 0; k < 6; k++)
        kept[TD_TOOL_TWIST + k] = twist != NULL ? twist[k] : 0;
    return TD_OK;
}

tdToolState td_state_tool(const tdModel *model, const tdState *state, int index)
{
    assert(state->model == model && index >= 0 && index < model->n_tools);
    const tdTool *tool = &model->tools[index];
    const tdBody *body = &model->bodies[tool->body];
    const double *kept = state->tools->kept + tool->first, *turn = kept + TD_TOOL_TURN;
    tdToolState out = {.driven = kept[TD_TOOL_DRIVEN] != 0};
    memcpy(out.twist, kept + TD_TOOL_TWIST, sizeof out.twist);
    memcpy(out.target, kept + TD_TOOL_PLACE, sizeof out.target);
    td_rotation_matrix(turn, out.target_rotation);
    tdPose is, asked;
    body->ops->part(body, state, state->q + body->first, NULL, tool->link, &is, NULL);
    double at[3];
    td_place(&is, tool->local, at);
    memcpy(is.t, at, sizeof at);
    asked = td_tool_pose(model, state, index, kept + TD_TOOL_COMMAND);
    memcpy(out.position, is.t, sizeof is.t);
    memcpy(out.rotation, is.R, sizeof is.R);
    memcpy(out.command, asked.t, sizeof asked.t);
    memcpy(out.command_rotation, asked.R, sizeof asked.R);
    difference(&is, out.target, turn, out.error);
    difference(&asked, out.target, turn, out.miss);
    for (int k = 0; k < tool->n; k++)
    {
        double command = kept[TD_TOOL_COMMAND + k];
        out.at_limits += command <= tool->joints[k].lower || command >= tool->joints[k].upper;
    }
    return out;
}
