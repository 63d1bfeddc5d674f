// SPDX-License-Identifier: Apache-2.0
#include "constraint/constraint.h"

#include "base/room.h"
#include "base/vector.h"
#include "constraint/condense.h"
#include "core/state.h"

#include <math.h>
#include <string.h>

// ---------------------------------------------------------------- life

tdStatus td_constraint_create(const tdModel *model, tdState *state, tdError *error)
{
    tdArena *arena = &state->arena;
    tdConstraintState *cs = state->constraint = TD_TAKE(arena, tdConstraintState, 1);
    if (cs == NULL)
        return td_fail_memory(error, "the state of constraints");
    int n = model->n_actuators, e = 3 * model->n_effectors;
    int64_t entries = model->row_start == NULL ? 0 : model->row_start[model->n_rows], longest = 0;
    for (int r = 0; entries > 0 && r < model->n_rows; r++)
        longest = longest > model->row_start[r + 1] - model->row_start[r]
                      ? longest
                      : model->row_start[r + 1] - model->row_start[r];
    struct
    {
        double **array;
        int64_t count;
    } list[] = {
        {&cs->effort, n},
        {&cs->displacement, n},
        {&cs->slide, n},
        {&cs->value, e},
        {&cs->wanted, e},
        {&cs->effort_start, n},
        {&cs->displacement_start, n},
        {&cs->slide_start, n},
        {&cs->value_start, e},
        {&cs->effort_good, n},
        {&cs->displacement_good, n},
        {&cs->given, n},
        {&cs->effort_limit, 2 * (int64_t)n},
        {&cs->travel_limit, 2 * (int64_t)n},
        {&cs->target, e},
        {&cs->J, entries},
        {&cs->F, entries},
        {&cs->travel, n},
        {&cs->error, e},
        {&cs->slide_tried, 2 * (int64_t)n},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if ((*list[i].array = TD_TAKE(arena, double, list[i].count)) == NULL)
            return td_fail_memory(error, "the state of constraints");
    const tdRoomPiece scratch[] = {
        {&cs->x, 3 * (int64_t)model->most_points},
        {&cs->gradient, 9 * (int64_t)model->most_points},
        {&cs->share, model->most_points},
        {&cs->row, longest},
    };
    cs->role = TD_TAKE(arena, tdRole, n);
    if (cs->role == NULL || !td_room_take_all(arena, scratch, (int)(sizeof scratch / sizeof scratch[0])))
        return td_fail_memory(error, "the state of constraints");
    for (int i = 0; i < e; i++)
        cs->wanted[i] = cs->target[i] = NAN;
    // Those of the scene, until a step adds those of rates.
    for (int a = 0; a < n; a++)
    {
        memcpy(cs->effort_limit + 2 * a, model->actuators[a].given->effort, 2 * sizeof(double));
        memcpy(cs->travel_limit + 2 * a, model->actuators[a].given->displacement, 2 * sizeof(double));
        cs->displacement[a] = cs->displacement_good[a] = model->actuators[a].start;
        if (model->actuators[a].start != 0)
            state->load_last[model->actuators[a].input] = model->inputs[model->actuators[a].input].standard;
    }
    for (int k = 0; k < model->n_effectors; k++)
        memcpy(cs->value + 3 * k, model->effectors[k].rest, 3 * sizeof(double));
    return TD_OK;
}

// ---------------------------------------------------------------- latch

static bool has_target(const tdConstraintState *cs, int effector)
{
    return !isnan(cs->target[3 * effector]);
}

void td_constraint_start(const tdModel *model, tdState *state)
{
    tdConstraintState *cs = state->constraint;
    size_t actuators = (size_t)model->n_actuators * sizeof(double);
    memcpy(cs->effort_start, cs->effort, actuators);
    memcpy(cs->displacement_start, cs->displacement, actuators);
    memcpy(cs->slide_start, cs->slide, actuators);
    memcpy(cs->value_start, cs->value, 3 * (size_t)model->n_effectors * sizeof(double));
    td_constraint_accept(model, state);
    // Warm starts of the small problems go from pass to pass only: what a step does depends on the state alone.
    struct tdCondensed *cd = cs->condensed;
    if (cd == NULL)
        return;
    cd->warm = false;
    memset(cd->active, 0, (size_t)model->n_actuators);
}

static void interval(const double limit[2], double start, double most_change, double out[2])
{
    out[0] = fmax(limit[0], start - most_change);
    out[1] = fmin(limit[1], start + most_change);
    // A start outside the limits comes back as fast as it may.
    if (out[0] > out[1])
        out[0] = out[1] = start < limit[0] ? start + most_change : start - most_change;
}

static double clamp(double value, const double limit[2])
{
    return fmin(fmax(value, limit[0]), limit[1]);
}

static void latch_actuator(const tdModel *model, tdState *state, int a)
{
    const tdActuator *actuator = &model->actuators[a];
    const tdSceneActuator *given = actuator->given;
    tdConstraintState *cs = state->constraint;
    double h = model->scheme.h, *effort = cs->effort_limit + 2 * a, *travel = cs->travel_limit + 2 * a;
    interval(given->effort, cs->effort_start[a], given->effort_rate * h, effort);
    interval(given->displacement, cs->displacement_start[a], given->displacement_rate * h, travel);
    if (actuator->servo >= 0)
    {
        cs->role[a] = TD_ROLE_SERVO;
        if (!given->rate)
            state->input[actuator->input] = clamp(state->input[actuator->input], given->displacement);
        cs->given[a] = state->input[actuator->input];
        return;
    }
    bool free = !actuator->driven && isnan(state->override[actuator->input]);
    if (cs->inverse && free)
    {
        cs->role[a] = TD_ROLE_INVERSE;
        if (actuator->held)
            state->input_end[actuator->input] = cs->displacement[a];
        return;
    }
    if (given->drive == TD_DRIVE_EFFORT)
    {
        cs->role[a] = TD_ROLE_EFFORT;
        cs->given[a] = clamp(state->input[actuator->input], effort);
        if (actuator->held)
            state->input_end[actuator->input] = cs->displacement[a];
    }
    else if (given->drive == TD_DRIVE_DISPLACEMENT)
    {
        cs->role[a] = TD_ROLE_DISPLACEMENT;
        cs->given[a] = clamp(state->input_end[actuator->input], travel);
        if (actuator->held)
            state->input_end[actuator->input] = cs->displacement[a] = cs->given[a];
    }
    else
    {
        cs->role[a] = TD_ROLE_GAS;
        cs->given[a] = clamp(state->input_end[actuator->input], given->gas);
    }
}

// The target of the scene at the end of the step; false when it has none.
static bool scene_target(const tdModel *model, const tdState *state, int e, double target[3])
{
    const tdSceneEffector *given = model->effectors[e].given;
    if (!given->has_target)
        return false;
    if (given->path == NULL)
        memcpy(target, given->target, 3 * sizeof(double));
    else
        for (int k = 0; k < given->path->n_names && k < 3; k++)
            target[k] = td_motion_value(given->path, k, state->time + model->scheme.h, 0);
    return true;
}

static void latch_targets(const tdModel *model, tdState *state, double share)
{
    tdConstraintState *cs = state->constraint;
    cs->inverse = false;
    for (int e = 0; e < model->n_effectors; e++)
    {
        double *target = cs->target + 3 * e, *start = cs->value_start + 3 * e;
        const double *wanted = cs->wanted + 3 * e;
        if (!isnan(wanted[0]))
            memcpy(target, wanted, 3 * sizeof(double));
        else if (!scene_target(model, state, e, target))
        {
            target[0] = target[1] = target[2] = NAN;
            continue;
        }
        cs->inverse = true;
        for (int c = 0; c < model->effectors[e].measure.rows; c++)
            target[c] = share == 1 ? target[c] : start[c] + share * (target[c] - start[c]);
        // Between two directions, or as the caller gave it, it may be shorter or longer than what can be reached.
        double length = sqrt(td_dot3(target, target));
        for (int c = 0; model->effectors[e].measure.kind == TD_MEASURE_DIRECTION && length > 0 && c < 3; c++)
            target[c] /= length;
    }
}

// The rate of a joint with which its displacement ends as given.
static void ask_rate(const tdModel *model, tdState *state, int a)
{
    const tdMeasure *measure = &model->actuators[a].measure;
    const tdConstraintState *cs = state->constraint;
    if (measure->kind != TD_MEASURE_COORDINATE)
        return;
    int64_t at = model->bodies[measure->sets[0].body].first + measure->sets[0].coord[0];
    double none = 0, end = 0, wanted = state->q[at] + (cs->given[a] - cs->displacement_start[a]) / measure->ratio;
    td_scheme_end(&model->scheme, 1, state->q + at, state->v + at, &none, &end);
    state->asked[at] = cs->role[a] == TD_ROLE_DISPLACEMENT ? (wanted - end) / model->scheme.c : NAN;
}

void td_constraint_latch(const tdModel *model, tdState *state, double share)
{
    latch_targets(model, state, share);
    for (int a = 0; a < model->n_actuators; a++)
    {
        latch_actuator(model, state, a);
        ask_rate(model, state, a);
    }
    tdConstraintState *cs = state->constraint;
    for (int a = 0; a < model->n_actuators; a++)
    {
        if (cs->role[a] == TD_ROLE_EFFORT && !model->actuators[a].held)
            cs->effort[a] = cs->given[a];
        cs->slide[a] = cs->slide_start[a];
        cs->slide_tried[2 * a] = NAN;
    }
}

// ---------------------------------------------------------------- rows

void td_constraint_points(const tdModel *model, const tdState *state, const tdMeasure *measure, const double *q,
                          double *x)
{
    for (int s = 0; s < measure->n_sets; s++)
    {
        const tdPointSet *set = &measure->sets[s];
        if (set->body < 0)
            memcpy(x, set->rest, 3 * (size_t)set->n * sizeof *x);
        else
        {
            const tdBody *body = &model->bodies[set->body];
            body->ops->positions(body, state, set, q + body->first, x);
        }
        x += 3 * (int64_t)set->n;
    }
}

void td_constraint_carry(const tdModel *model, const tdState *state, const tdMeasure *measure, const double *q,
                         const double *f, double *row)
{
    for (int s = 0; s < measure->n_sets; s++)
    {
        const tdPointSet *set = &measure->sets[s];
        const tdBody *body = set->body < 0 ? NULL : &model->bodies[set->body];
        if (body != NULL)
            body->ops->pull(body, state, set, q + body->first, f, row);
        row += set->size;
        f += 3 * (int64_t)set->n;
    }
}

double td_row_dot(const tdModel *model, const double *values, int row, const double *x)
{
    double sum = 0;
    for (int64_t k = model->row_start[row]; k < model->row_start[row + 1]; k++)
        sum += values[k] * x[model->row_coord[k]];
    return sum;
}

void td_constraint_push(const tdModel *model, tdState *state, int actuator, double change)
{
    int row = model->actuators[actuator].row;
    if (row < 0 || change == 0)
        return;
    double factor = model->scheme.s * change, size = 0;
    for (int64_t k = model->row_start[row]; k < model->row_start[row + 1]; k++)
    {
        double force = factor * state->constraint->F[k];
        state->m[model->row_coord[k]] -= force;
        size += force * force;
    }
    state->scale = fmax(state->scale, sqrt(size));
}

// The body that knows the volume of a closed surface by itself; NULL: the surface's points have to be looked at.
static const tdBody *volume_body(const tdModel *model, const tdMeasure *measure)
{
    if (measure->kind != TD_MEASURE_VOLUME || measure->n_sets != 1 || measure->sets[0].body < 0)
        return NULL;
    const tdBody *body = &model->bodies[measure->sets[0].body];
    return body->ops->volume == NULL ? NULL : body;
}

// Value of a measure at q and, where wanted, its rows, which stand in J from `row` on.
static void measure_at(const tdModel *model, tdState *state, const tdMeasure *measure, const double *q,
                       const double *near, double *value, int row)
{
    tdConstraintState *cs = state->constraint;
    const tdBody *body = volume_body(model, measure);
    double *J = row < 0 ? NULL : cs->J + model->row_start[row];
    if (measure->kind == TD_MEASURE_CONTACT)
        return; // contact knows
    if (measure->kind == TD_MEASURE_COORDINATE)
    {
        *value = measure->ratio * q[model->bodies[measure->sets[0].body].first + measure->sets[0].coord[0]] +
                 measure->offset;
        if (J != NULL)
            *J = measure->ratio;
        return;
    }
    if (body != NULL)
    {
        *value = body->ops->volume(body, state, measure->sets, q + body->first, J);
        return;
    }
    td_constraint_points(model, state, measure, q, cs->x);
    td_measure(measure, cs->x, near, value, row < 0 ? NULL : cs->gradient);
    for (int r = 0; r < measure->rows && row >= 0; r++)
        td_constraint_carry(model, state, measure, q, cs->gradient + 3 * (int64_t)measure->n * r,
                            cs->J + model->row_start[row + r]);
}

// Sense of sliding after a change of length: it turns round over the slip distance.
static double sliding(const tdModel *model, const tdConstraintState *cs, int a)
{
    const tdActuator *actuator = &model->actuators[a];
    double start = cs->displacement_start[a] - actuator->compliance * cs->effort_start[a];
    return fmin(fmax(cs->slide_start[a] + (cs->travel[a] - start) / actuator->slip, -1), 1);
}

// The slide of a linearization. Friction stays as it is while a line search goes on, because over so short a distance
// as the slip it would never get past the change. Where a force is given, the solution finds it
// (constraint/friction.h); where a displacement is, the secant through the last two does, because an elastic cable
// stretches with the force.
static void slide_on(const tdModel *model, tdConstraintState *cs, int a)
{
    if (cs->role[a] == TD_ROLE_EFFORT && cs->effort[a] > 0)
        return;
    double now = cs->slide[a], came = sliding(model, cs, a), *tried = cs->slide_tried + 2 * a;
    double slope = isnan(tried[0]) || now == tried[0] ? 0 : (came - tried[1]) / (now - tried[0]);
    tried[0] = now;
    tried[1] = came;
    // More sliding means less force at the tied end and less way: what else a slope says is not friction's doing.
    cs->slide[a] = fmin(fmax(now + (came - now) / (1 - fmin(slope, 0)), -1), 1);
}

// The share of a segment is exp(-friction slide angle), angle that of all corners up to the pull point.
void td_constraint_slide_force(const tdModel *model, tdState *state, int a, double *b)
{
    const tdActuator *actuator = &model->actuators[a];
    const tdMeasure *measure = &actuator->measure;
    tdConstraintState *cs = state->constraint;
    const double *q = td_measure_place(state, measure);
    td_constraint_points(model, state, measure, q, cs->x);
    td_cable_shares(measure, cs->x, actuator->given->friction, cs->share);
    for (int32_t k = 0; k + 1 < measure->n; k++)
        cs->share[k] = log(cs->share[k]) * pow(cs->share[k], cs->slide[a]);
    td_cable_gradient(measure, cs->x, cs->share, cs->gradient);
    double factor = model->scheme.s * cs->effort[a] * actuator->sign;
    for (int64_t k = 0; k < 3 * (int64_t)measure->n; k++)
        cs->gradient[k] *= factor;
    td_constraint_carry(model, state, measure, q, cs->gradient, cs->row);
    int64_t start = model->row_start[actuator->row];
    for (int64_t k = start; k < model->row_start[actuator->row + 1]; k++)
        b[model->row_coord[k]] += cs->row[k - start];
}

double td_constraint_lag(const tdModel *model, const tdState *state)
{
    double lag = 0;
    for (int a = 0; a < model->n_actuators; a++)
        if (model->actuators[a].given->friction > 0)
            lag = fmax(lag, fabs(sliding(model, state->constraint, a) - state->constraint->slide[a]));
    return lag;
}

// From where a row between bodies was taken to q_c.
static double row_back(const tdModel *model, const tdState *state, int row)
{
    double sum = 0;
    for (int64_t k = model->row_start[row]; k < model->row_start[row + 1]; k++)
        sum += state->constraint->J[k] * (state->q_c[model->row_coord[k]] - state->q_r[model->row_coord[k]]);
    return sum;
}

static void constrain_actuator(const tdModel *model, tdState *state, int a, bool tangent)
{
    const tdActuator *actuator = &model->actuators[a];
    const tdMeasure *measure = &actuator->measure;
    tdConstraintState *cs = state->constraint;
    double value = 0, *J = cs->J + model->row_start[actuator->row], *F = cs->F + model->row_start[actuator->row];
    int64_t entries = model->row_start[actuator->row + 1] - model->row_start[actuator->row];
    const double *q = td_measure_place(state, measure);
    measure_at(model, state, measure, q, NULL, &value, actuator->row);
    if (q != state->q_c) // the row goes on from there
        value += row_back(model, state, actuator->row);
    cs->travel[a] = actuator->sign * (value - actuator->rest_value);
    for (int64_t k = 0; k < entries; k++)
        J[k] *= actuator->sign;
    const double *share = NULL;
    if (actuator->given->friction > 0)
    {
        if (tangent)
            slide_on(model, cs, a);
        td_cable_shares(measure, cs->x, actuator->given->friction * cs->slide[a], cs->share);
        td_cable_gradient(measure, cs->x, cs->share, cs->gradient);
        for (int64_t k = 0; k < 3 * (int64_t)measure->n; k++)
            cs->gradient[k] *= actuator->sign;
        td_constraint_carry(model, state, measure, q, cs->gradient, F);
        share = cs->share;
    }
    else
        memcpy(F, J, (size_t)entries * sizeof *F);
    if (cs->role[a] == TD_ROLE_SERVO)
        return;
    td_constraint_push(model, state, a, cs->effort[a]);
    if (!tangent || cs->effort[a] == 0 || measure->kind == TD_MEASURE_COORDINATE)
        return;
    const tdBody *body = volume_body(model, measure);
    if (body == NULL)
        td_constraint_stiffen(model, state, a, share);
    else
        body->ops->volume_stiffen(body, state, measure->sets, state->q_c + body->first,
                                  -cs->effort[a] * actuator->sign);
}

static void constrain_effector(const tdModel *model, tdState *state, int e)
{
    const tdEffector *effector = &model->effectors[e];
    const tdMeasure *measure = &effector->measure;
    tdConstraintState *cs = state->constraint;
    double value[3] = {0};
    const double *q = td_measure_place(state, measure);
    measure_at(model, state, measure, q, cs->value_start + 3 * e, value, effector->row);
    if (q != state->q_c) // of a cable: a length
        value[0] += row_back(model, state, effector->row);
    td_measure_error(measure->kind, value, cs->target + 3 * e, cs->error + 3 * e);
    // A linearization knows nothing of places farther away than the body is large.
    double *error = cs->error + 3 * e,
           far = hypot(hypot(error[0], measure->rows > 1 ? error[1] : 0), measure->rows > 1 ? error[2] : 0);
    double most = td_effector_size(model, effector);
    for (int r = 0; r < measure->rows && far > most; r++)
        error[r] *= most / far;
}

void td_constrain(const tdModel *model, tdState *state, bool tangent)
{
    for (int a = 0; a < model->n_actuators; a++)
        if (!model->actuators[a].held)
            constrain_actuator(model, state, a, tangent);
    for (int e = 0; e < model->n_effectors; e++)
        if (has_target(state->constraint, e))
            constrain_effector(model, state, e);
}

// ---------------------------------------------------------------- end of a step

void td_constraint_accept(const tdModel *model, tdState *state)
{
    tdConstraintState *cs = state->constraint;
    memcpy(cs->effort_good, cs->effort, (size_t)model->n_actuators * sizeof(double));
    memcpy(cs->displacement_good, cs->displacement, (size_t)model->n_actuators * sizeof(double));
}

void td_constraint_reject(const tdModel *model, tdState *state)
{
    tdConstraintState *cs = state->constraint;
    memcpy(cs->effort, cs->effort_good, (size_t)model->n_actuators * sizeof(double));
    memcpy(cs->displacement, cs->displacement_good, (size_t)model->n_actuators * sizeof(double));
}

void td_constraint_measure(const tdModel *model, tdState *state)
{
    tdConstraintState *cs = state->constraint;
    for (int a = 0; a < model->n_actuators; a++)
    {
        const tdActuator *actuator = &model->actuators[a];
        if (actuator->held)
            continue;
        double value = 0;
        measure_at(model, state, &actuator->measure, state->q, NULL, &value, -1);
        cs->travel[a] = actuator->sign * (value - actuator->rest_value);
        cs->displacement[a] = cs->travel[a] + actuator->compliance * cs->effort[a];
    }
    for (int e = 0; e < model->n_effectors; e++)
    {
        double near[3];
        memcpy(near, cs->value + 3 * e, sizeof near);
        measure_at(model, state, &model->effectors[e].measure, state->q, near, cs->value + 3 * e, -1);
    }
}

void td_constraint_commit(const tdModel *model, tdState *state)
{
    tdConstraintState *cs = state->constraint;
    for (int a = 0; a < model->n_actuators; a++)
    {
        const tdActuator *actuator = &model->actuators[a];
        if (!actuator->held)
            continue;
        const tdBody *body = &model->bodies[actuator->given->body];
        double *psi = td_scratch_take(state);
        cs->displacement[a] = state->input_end[actuator->input];
        body->ops->drive(model, body, state, actuator->input, psi);
        cs->effort[a] = 0;
        for (int32_t k = 0; k < body->n_held; k++)
            cs->effort[a] += psi[body->held[k]] * state->reaction[body->first + body->held[k]];
        td_scratch_give(state, psi);
    }
    td_constraint_measure(model, state);
    for (int a = 0; a < model->n_actuators; a++)
    {
        const tdActuator *actuator = &model->actuators[a];
        if (actuator->given->friction > 0)
            cs->slide[a] = sliding(model, cs, a);
        const tdBody *body = actuator->servo >= 0 ? &model->bodies[actuator->given->body] : NULL;
        if (body != NULL)
            cs->effort[a] = body->ops->effort(body, state, actuator->servo);
    }
}

double td_effector_size(const tdModel *model, const tdEffector *effector)
{
    switch (effector->measure.kind)
    {
    case TD_MEASURE_ORIENTATION:
    case TD_MEASURE_DIRECTION: return 1;
    case TD_MEASURE_LENGTH:
    case TD_MEASURE_VOLUME: return model->actuators[effector->given->actuator].size;
    case TD_MEASURE_CONTACT: return 1; // 1 N, or all of the friction
    default: return model->size;
    }
}

int td_bound_of(const double limit[2], double value, double size)
{
    double near = 1e-6 * size;
    return value <= limit[0] + near ? -1 : value >= limit[1] - near ? 1 : 0;
}
