// SPDX-License-Identifier: Apache-2.0
#include "constraint/condense.h"

#include "constraint/bonded.h"
#include "core/state.h"
#include "solve/problem.h"

#include <math.h>
#include <string.h>

// ---------------------------------------------------------------- life

// Whether an actuator's unknown can be anything but given.
static bool may_be_unknown(const tdModel *model, int a)
{
    const tdActuator *actuator = &model->actuators[a];
    const tdSceneActuator *given = actuator->given;
    if (given->drive == TD_DRIVE_SERVO)
        return false;
    return model->n_effectors > 0 || given->drive == TD_DRIVE_GAS ||
           (actuator->held ? given->drive == TD_DRIVE_EFFORT
                           : given->drive == TD_DRIVE_DISPLACEMENT || td_actuator_has_stops(actuator));
}

// Rows that ask for something, or limit what is neither the unknown nor its second quantity: gas.
static int further_rows(const tdModel *model)
{
    int rows = 0;
    for (int a = 0; a < model->n_actuators; a++)
        rows += model->actuators[a].given->drive == TD_DRIVE_GAS;
    for (int g = 0; g < model->control.n_groups; g++)
        rows += model->control.groups[g].n - 1;
    return rows;
}

static int effector_rows(const tdModel *model)
{
    int rows = 0;
    for (int e = 0; e < model->n_effectors; e++)
        rows += model->effectors[e].measure.rows;
    return rows;
}

tdStatus td_condense_create(const tdModel *model, tdState *state, tdError *error)
{
    int n = model->n_actuators, n_e = effector_rows(model), n_c = n + further_rows(model), held = 0;
    int effectors = n_e;
    bool touch = n_e > 0 && model->touches;
    int read = touch ? td_condense_touch_most(model, effectors) : 0;
    n_e += n_e > 0 ? n : 0;       // and the rows that damp
    n_e += touch ? effectors : 0; // what contact blocks of them
    n_c += touch ? TD_MOST_KEPT + model->n_effectors : 0;
    bool any = false;
    for (int a = 0; a < n; a++)
    {
        any = any || may_be_unknown(model, a);
        held += model->actuators[a].held;
    }
    if (!any)
        return TD_OK;
    tdArena *arena = &state->arena;
    struct tdCondensed *cd = TD_TAKE(arena, struct tdCondensed, 1);
    if (cd == NULL)
        return td_fail_memory(error, "the condensed problem");
    struct
    {
        double **array;
        int64_t count;
    } list[] = {
        {&cd->X, (read + n) * model->coords},
        {&cd->B, (read + n) * model->coords},
        {&cd->psi, held * model->coords},
        {&cd->now, n},
        {&cd->next, n},
        {&cd->second, n},
        {&cd->predicted, n},
        {&cd->M, (int64_t)n * n},
        {&cd->b, n},
        {&cd->lo, n},
        {&cd->hi, n},
        {&cd->scratch, TD_DRIVEN_SCRATCH(n)},
        {&cd->E, (int64_t)n_e * n},
        {&cd->e0, n_e},
        {&cd->W, (int64_t)n * n},
        {&cd->C, (int64_t)n_c * n},
        {&cd->cl, n_c},
        {&cd->cu, n_c},
        {&cd->row_size, n_c},
        {&cd->xl, n},
        {&cd->xu, n},
        {&cd->predicted_error, 3 * (int64_t)model->n_effectors},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if ((*list[i].array = TD_TAKE(arena, double, list[i].count)) == NULL)
            return td_fail_memory(error, "the condensed problem");
    cd->X += read * model->coords; // what is read beside contact stands before them
    cd->B += read * model->coords;
    state->ahead.wanted = TD_TAKE(arena, bool, model->n_bodies);
    state->ahead.done = TD_TAKE(arena, bool, model->n_bodies);
    state->ahead.rough = TD_TAKE(arena, bool, model->n_bodies);
    state->ahead.redo = TD_TAKE(arena, bool, model->n_bodies);
    cd->unknown = TD_TAKE(arena, int, n);
    cd->active = TD_TAKE(arena, signed char, n);
    cd->unknown_active = TD_TAKE(arena, signed char, n);
    cd->level = TD_TAKE(arena, int, n_e + 1);
    cd->inverse_active = TD_TAKE(arena, signed char, n + n_c);
    cd->work = n_e == 0 ? NULL : td_inverse_work(arena, n, n_e, n_c);
    if (state->ahead.wanted == NULL || state->ahead.done == NULL || state->ahead.rough == NULL ||
        state->ahead.redo == NULL || cd->level == NULL || cd->unknown == NULL || cd->active == NULL ||
        cd->unknown_active == NULL || cd->inverse_active == NULL || (n_e > 0 && cd->work == NULL))
        return td_fail_memory(error, "the condensed problem");
    state->constraint->condensed = cd;
    return touch ? td_condense_touch_create(model, state, cd, effectors, error) : TD_OK;
}

// ---------------------------------------------------------------- unknowns

// Place of a held actuator's psi.
static double *psi_of(const tdModel *model, const struct tdCondensed *cd, int actuator)
{
    int64_t k = 0;
    for (int a = 0; a < actuator; a++)
        k += model->actuators[a].held;
    return cd->psi + k * model->coords;
}

// An effort that is given is unknown all the same when it would push the actuator past a stop.
static bool is_unknown(const tdModel *model, const tdState *state, int a)
{
    const tdConstraintState *cs = state->constraint;
    if (model->actuators[a].held)
        return cs->role[a] == TD_ROLE_EFFORT || cs->role[a] == TD_ROLE_INVERSE;
    if (state->joined) // what is driven is a row beside those of contacts
        return cs->role[a] == TD_ROLE_INVERSE;
    if (cs->role[a] == TD_ROLE_EFFORT)
        return isfinite(cs->travel_limit[2 * a]) || isfinite(cs->travel_limit[2 * a + 1]);
    return cs->role[a] != TD_ROLE_SERVO;
}

static void list_unknowns(const tdModel *model, const tdState *state, struct tdCondensed *cd)
{
    cd->n = 0;
    for (int a = 0; a < model->n_actuators; a++)
        if (is_unknown(model, state, a))
            cd->unknown[cd->n++] = a;
    for (int k = 0; k < cd->n; k++)
    {
        int a = cd->unknown[k];
        cd->now[k] = model->actuators[a].held ? state->constraint->displacement[a] : state->constraint->effort[a];
    }
}

// ---------------------------------------------------------------- columns

static tdStatus fail_columns(const tdModel *model, tdState *state, tdStatus status)
{
    char why[sizeof state->report.error.message];
    memcpy(why, state->report.error.message, sizeof why);
    return td_fail(&state->report.error, status, "actuators, t = %g s (step %lld): %.480s",
                   state->time + model->scheme.h, (long long)state->steps + 1, why);
}

// b = s F'
static void effort_load(const tdModel *model, const tdState *state, const tdActuator *actuator, double *b)
{
    memset(b, 0, (size_t)model->coords * sizeof *b);
    for (int64_t k = model->row_start[actuator->row]; k < model->row_start[actuator->row + 1]; k++)
        b[model->row_coord[k]] += model->scheme.s * state->constraint->F[k];
}

double td_condense_per_step(const tdModel *model)
{
    return model->scheme.method == TD_METHOD_STATIC ? 1 : 1 / model->scheme.h;
}

// b = -A psi/h
static void held_load(const tdModel *model, tdState *state, const tdActuator *actuator, double *psi, double *b)
{
    const tdBody *body = &model->bodies[actuator->given->body];
    double *moved = td_scratch_take(state);
    memset(psi, 0, (size_t)model->coords * sizeof *psi);
    memset(b, 0, (size_t)model->coords * sizeof *b);
    body->ops->drive(model, body, state, actuator->input, psi + body->first);
    for (int64_t i = 0; i < body->count; i++)
        moved[i] = -td_condense_per_step(model) * psi[body->first + i];
    body->ops->multiply(model, body, state, moved, b + body->first);
    td_scratch_give(state, moved);
}

// Whether an actuator acts on a body.
static bool touches(const tdActuator *actuator, int body)
{
    for (int s = 0; s < actuator->measure.n_sets && !actuator->held; s++)
        if (actuator->measure.sets[s].body == body)
            return true;
    return actuator->held && actuator->given->body == body;
}

// Loads of held coordinates, which are of A.
static void complete_loads(const tdModel *model, tdState *state, int body)
{
    struct tdCondensed *cd = state->constraint->condensed;
    for (int k = 0; k < cd->n; k++)
    {
        const tdActuator *actuator = &model->actuators[cd->unknown[k]];
        if (actuator->held && actuator->given->body == body)
            held_load(model, state, actuator, psi_of(model, cd, cd->unknown[k]), cd->B + k * model->coords);
    }
}

void td_condense_ahead(const tdModel *model, tdState *state)
{
    struct tdCondensed *cd = state->constraint->condensed;
    struct tdColumnsAhead *ahead = &state->ahead;
    bool steers = state->joined && state->constraint->inverse;
    ahead->n = 0;
    if (cd == NULL || state->columns == 0 || (state->joined && !steers) || state->friction != NULL)
        return; // of the last two, bodies or rows may still change
    list_unknowns(model, state, cd);
    if (steers)
        td_condense_touch_rows(model, state, cd);
    int read = steers ? cd->n_read : 0;
    for (int i = 0; i < model->n_bodies; i++)
    {
        ahead->wanted[i] = true;
        ahead->done[i] = ahead->rough[i] = false;
        for (int k = 0; k < cd->n; k++)
            ahead->wanted[i] = ahead->wanted[i] && touches(&model->actuators[cd->unknown[k]], i);
        ahead->wanted[i] = ahead->wanted[i] && (!steers || td_condense_touch_all(model, cd, &model->bodies[i]));
    }
    // What costs least energy depends on columns to more digits than that targets are reached.
    ahead->exactly = state->constraint->inverse;
    ahead->complete = NULL;
    for (int k = 0; k < cd->n; k++)
        if (model->actuators[cd->unknown[k]].held)
            ahead->complete = complete_loads;
        else
            effort_load(model, state, &model->actuators[cd->unknown[k]], cd->B + k * model->coords);
    ahead->n = read + cd->n;
    ahead->b = cd->B - read * model->coords;
    ahead->x = cd->X - read * model->coords;
}

// X = A^-1 b, body by body; held coordinates move as they are told.
static tdStatus make_columns(const tdModel *model, tdState *state, struct tdCondensed *cd)
{
    bool known = state->ahead.n > 0;
    for (int k = 0; k < cd->n && !known; k++)
        if (!model->actuators[cd->unknown[k]].held)
            effort_load(model, state, &model->actuators[cd->unknown[k]], cd->B + k * model->coords);
    for (int i = 0; i < model->n_bodies; i++)
        if (!known || !state->ahead.done[i])
            complete_loads(model, state, i);
    for (int i = 0; i < model->n_bodies; i++)
    {
        const tdBody *body = &model->bodies[i];
        if (known && state->ahead.done[i])
            continue;
        // Runs of unknowns that act on the body go together; the others leave it alone.
        for (int k = 0, end = 0; k < cd->n; k = end)
        {
            bool acts = touches(&model->actuators[cd->unknown[k]], i);
            for (end = k + 1; end < cd->n && touches(&model->actuators[cd->unknown[end]], i) == acts; end++)
                ;
            double *X = cd->X + k * model->coords + body->first;
            if (acts)
            {
                tdStatus status = body->ops->apply_inverse(model, body, state, end - k, model->coords,
                                                           cd->B + k * model->coords + body->first, X);
                if (status != TD_OK)
                    return fail_columns(model, state, status);
            }
            else
                for (int j = k; j < end; j++, X += model->coords)
                    memset(X, 0, (size_t)body->count * sizeof *X);
        }
    }
    for (int k = 0; k < cd->n; k++)
    {
        const tdActuator *actuator = &model->actuators[cd->unknown[k]];
        const tdBody *body = &model->bodies[actuator->given->body];
        if (!actuator->held)
            continue;
        const double *psi = psi_of(model, cd, cd->unknown[k]) + body->first;
        for (int32_t j = 0; j < body->n_held; j++)
            cd->X[k * model->coords + body->first + body->held[j]] = td_condense_per_step(model) * psi[body->held[j]];
    }
    if (state->bonded != NULL)
        td_bonded_project(model, state->bonded, 0, cd->n, cd->X);
    return TD_OK;
}

// ---------------------------------------------------------------- the small matrices

// The way from q_c to the end of the step in the free motion: c dv, and in the first pass what held coordinates
// have still to go.
static void free_way(const tdModel *model, tdState *state, bool first, double *way)
{
    for (int64_t i = 0; i < model->coords; i++)
        way[i] = model->scheme.c * state->dv[i];
    for (int b = 0; b < model->n_bodies && first; b++)
        for (int32_t k = 0; k < model->bodies[b].n_held; k++)
        {
            int64_t i = model->bodies[b].first + model->bodies[b].held[k];
            way[i] = state->q_end[i] - state->q_c[i];
        }
}

static double dot(const tdBody *body, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = body->first; i < body->first + body->count; i++)
        sum += a[i] * b[i];
    return sum;
}

// Effort of held coordinates: what the reactions do along psi, 1/s psi' (m + A dv).
static void held_row(const tdModel *model, tdState *state, struct tdCondensed *cd, int k)
{
    int a = cd->unknown[k];
    const tdActuator *actuator = &model->actuators[a];
    const tdBody *body = &model->bodies[actuator->given->body];
    const double *psi = psi_of(model, cd, a);
    double per_s = 1 / model->scheme.s, *product = td_scratch_take(state);
    // A is symmetric: psi' A is made once, whatever it meets.
    body->ops->multiply(model, body, state, psi + body->first, product + body->first);
    cd->second[k] = per_s * (dot(body, psi, state->m) + dot(body, product, state->dv));
    const tdBonded *bonded = state->bonded; // which push on held coordinates too
    if (bonded != NULL)
        cd->second[k] -= per_s * td_bonded_along(bonded, bonded->gamma, psi);
    for (int j = 0; j < cd->n; j++)
    {
        const tdActuator *other = &model->actuators[cd->unknown[j]];
        double value = per_s * dot(body, product, cd->X + j * model->coords);
        // The row pushes on held coordinates too.
        if (!other->held)
            value -= td_row_dot(model, state->constraint->F, other->row, psi);
        if (bonded != NULL)
            value -= per_s * td_bonded_along(bonded, bonded->G + (int64_t)j * bonded->most, psi);
        cd->M[k * cd->n + j] = value;
    }
    td_scratch_give(state, product);
}

static void make_matrix(const tdModel *model, tdState *state, struct tdCondensed *cd, const double *way)
{
    const tdConstraintState *cs = state->constraint;
    for (int k = 0; k < cd->n; k++)
    {
        int a = cd->unknown[k];
        const tdActuator *actuator = &model->actuators[a];
        if (actuator->held)
        {
            held_row(model, state, cd, k);
            continue;
        }
        cd->second[k] =
            cs->travel[a] + actuator->compliance * cs->effort[a] + td_row_dot(model, cs->J, actuator->row, way);
        for (int j = 0; j < cd->n; j++)
            cd->M[k * cd->n + j] = model->scheme.c * td_row_dot(model, cs->J, actuator->row, cd->X + j * model->coords);
        cd->M[k * cd->n + k] += actuator->compliance;
    }
}

// ---------------------------------------------------------------- together

// dv += X (y - now); m with the new efforts; what the second quantities should become.
static void apply(const tdModel *model, tdState *state, struct tdCondensed *cd)
{
    tdConstraintState *cs = state->constraint;
    for (int k = 0; k < cd->n; k++)
    {
        int a = cd->unknown[k];
        double change = cd->next[k] - cd->now[k];
        const double *X = cd->X + k * model->coords;
        for (int64_t i = 0; i < model->coords && change != 0; i++)
            state->dv[i] += change * X[i];
        if (state->bonded != NULL)
            td_bonded_change(state->bonded, k, change);
        if (model->actuators[a].held)
            continue;
        td_constraint_push(model, state, a, change);
        cs->effort[a] = cd->next[k];
    }
    for (int k = 0; k < cd->n; k++)
    {
        cd->predicted[k] = cd->second[k];
        for (int j = 0; j < cd->n; j++)
            cd->predicted[k] += cd->M[k * cd->n + j] * (cd->next[j] - cd->now[j]);
    }
}

int td_condense_unknowns(const tdModel *model, const tdState *state)
{
    int n = 0;
    for (int a = 0; a < model->n_actuators && state->constraint->condensed != NULL; a++)
        n += is_unknown(model, state, a);
    return n;
}

double td_condense_push(const tdModel *model, tdState *state)
{
    const struct tdCondensed *cd = state->constraint->condensed;
    bool any = false;
    double *moved = td_scratch_take(state), *force = td_scratch_take(state), sum = 0;
    memset(moved, 0, (size_t)model->coords * sizeof *moved);
    for (int k = 0; k < cd->n; k++)
    {
        const tdActuator *actuator = &model->actuators[cd->unknown[k]];
        if (!actuator->held || cd->next[k] == cd->now[k])
            continue;
        const tdBody *body = &model->bodies[actuator->given->body];
        const double *X = cd->X + k * model->coords + body->first;
        for (int32_t i = 0; i < body->n_held; i++)
            moved[body->first + body->held[i]] += (cd->next[k] - cd->now[k]) * X[body->held[i]];
        any = true;
    }
    for (int b = 0; b < model->n_bodies && any; b++)
    {
        const tdBody *body = &model->bodies[b];
        body->ops->multiply(model, body, state, moved + body->first, force + body->first);
        for (int32_t i = 0; i < body->n_held; i++)
            force[body->first + body->held[i]] = 0;
    }
    if (any)
        sum = td_dot(state->tasks, model->coords, force, force);
    td_scratch_give(state, moved);
    return sqrt(sum);
}

// An actuator that does less for the effectors than a thirtieth of what the others do with the same energy is followed
// slowly when a target is out of reach.
#define LEAST_DAMPING 1e-3

// Beside contact the unknowns are nodes that an effort moves, and their motion is a velocity of the problem.
static void limit_moved(const tdState *state, struct tdCondensed *cd)
{
    for (int k = 0; k < cd->n; k++)
    {
        cd->lo[k] = state->constraint->travel_limit[2 * cd->unknown[k]];
        cd->hi[k] = state->constraint->travel_limit[2 * cd->unknown[k] + 1];
        cd->next[k] = cd->now[k];
    }
}

tdStatus td_condense_rows(const tdModel *model, tdState *state, bool first, bool fresh)
{
    struct tdCondensed *cd = state->constraint->condensed;
    if (cd == NULL)
        return TD_OK;
    if (first && fresh)
    {
        cd->damping = LEAST_DAMPING;
        cd->move = 0;
        cd->passes = 0;
    }
    cd->damping_before = cd->damping;
    cd->move_before = cd->move;
    cd->passes_before = cd->passes;
    list_unknowns(model, state, cd);
    if (cd->n == 0)
        return TD_OK;
    bool steers = state->joined && state->constraint->inverse;
    if (fresh && state->columns > 0)
        TD_TRY(make_columns(model, state, cd));
    if (fresh && steers)
        TD_TRY(td_condense_touch_columns(model, state, cd));
    double *way = td_scratch_take(state);
    free_way(model, state, first, way);
    make_matrix(model, state, cd, way);
    if (state->joined)
    {
        limit_moved(state, cd);
        if (steers)
            td_condense_touch(model, state, cd, way);
    }
    else if (state->constraint->inverse)
        td_condense_inverse(model, state, cd, way);
    else
        td_condense_driven(model, state, cd);
    td_scratch_give(state, way);
    return TD_OK;
}

tdStatus td_condense_take(const tdModel *model, tdState *state)
{
    struct tdCondensed *cd = state->constraint->condensed;
    if (cd == NULL || cd->n == 0 || state->joined)
        return TD_OK;
    if (state->constraint->inverse)
        td_condense_inverse_take(state, cd);
    else
        TD_TRY(td_condense_driven_take(model, state, cd));
    apply(model, state, cd);
    return TD_OK;
}

void td_condense_back(const tdModel *model, tdState *state)
{
    struct tdCondensed *cd = state->constraint->condensed;
    for (int k = 0; k < cd->n; k++)
        if (!model->actuators[cd->unknown[k]].held)
            state->constraint->effort[cd->unknown[k]] = cd->now[k];
    cd->damping = cd->damping_before;
    cd->move = cd->move_before;
    cd->passes = cd->passes_before;
}

bool td_condense_place(const tdModel *model, tdState *state, double length)
{
    tdConstraintState *cs = state->constraint;
    const struct tdCondensed *cd = cs->condensed;
    bool any = false;
    for (int k = 0; cd != NULL && k < cd->n; k++)
    {
        int a = cd->unknown[k];
        if (!model->actuators[a].held)
            continue;
        cs->displacement[a] = cd->now[k] + length * (cd->next[k] - cd->now[k]);
        state->input_end[model->actuators[a].input] = cs->displacement[a];
        any = true;
    }
    return any;
}

// The effort of held coordinates at the iterate beside the one that is given, relative to the forces around. At a stop
// the effort is not what was asked for.
static double held_miss(const tdModel *model, const tdState *state, const struct tdCondensed *cd, int k)
{
    const tdConstraintState *cs = state->constraint;
    int a = cd->unknown[k];
    const tdActuator *actuator = &model->actuators[a];
    const tdBody *body = &model->bodies[actuator->given->body];
    if (cs->role[a] != TD_ROLE_EFFORT || !(cd->lo[k] < cd->next[k] && cd->next[k] < cd->hi[k]))
        return 0;
    double arm = actuator->given->kind == TD_ACTUATOR_ROTATION ? model->size : 1;
    double effort = 0, scale = fmax(fabs(cs->given[a]), arm * state->scale / model->scheme.s),
           *psi = td_scratch_take(state);
    body->ops->drive(model, body, state, actuator->input, psi + body->first);
    for (int32_t i = 0; i < body->n_held; i++)
        effort += psi[body->first + body->held[i]] * state->m[body->first + body->held[i]] / model->scheme.s;
    td_scratch_give(state, psi);
    return scale > 0 ? fabs(effort - cs->given[a]) / scale : 0;
}

double td_condense_miss(const tdModel *model, const tdState *state)
{
    const tdConstraintState *cs = state->constraint;
    const struct tdCondensed *cd = cs->condensed;
    double miss = 0;
    for (int k = 0; cd != NULL && k < cd->n; k++)
    {
        int a = cd->unknown[k];
        const tdActuator *actuator = &model->actuators[a];
        if (actuator->held)
        {
            miss = fmax(miss, held_miss(model, state, cd, k));
            continue;
        }
        double second = cs->travel[a] + actuator->compliance * cs->effort[a];
        if (cs->role[a] == TD_ROLE_GAS)
        {
            // At a limit of the pressure there is more or less gas than was given.
            if (!(cd->lo[k] < cs->effort[a] && cs->effort[a] < cd->hi[k]))
                continue;
            double compliance = 0, target = 0;
            td_condense_gas(model, cs, a, &compliance, &target);
            miss = fmax(miss, fabs(cs->travel[a] + compliance * cs->effort[a] - target) / actuator->size);
        }
        else
            miss = fmax(miss, fabs(second - cd->predicted[k]) / actuator->size);
    }
    for (int e = 0; cd != NULL && cs->inverse && e < model->n_effectors; e++)
        for (int r = 0; r < model->effectors[e].measure.rows && !isnan(cs->target[3 * e]); r++)
        {
            const tdEffector *effector = &model->effectors[e];
            if ((effector->measure.rows == 3 && !(effector->given->axes & 1 << r)) ||
                effector->measure.kind == TD_MEASURE_CONTACT)
                continue;
            double size = td_effector_size(model, effector);
            miss = fmax(miss, fabs(cs->error[3 * e + r] - cd->predicted_error[3 * e + r]) / size);
        }
    return miss;
}

// How far the effectors are from their targets, weighted.
static double distance(const tdModel *model, const tdConstraintState *cs)
{
    double sum = 0;
    for (int e = 0; e < model->n_effectors; e++)
    {
        const tdEffector *effector = &model->effectors[e];
        double error[3];
        if (isnan(cs->target[3 * e]))
            continue;
        td_measure_error(effector->measure.kind, cs->value + 3 * e, cs->target + 3 * e, error);
        for (int r = 0; r < effector->measure.rows; r++)
            if (effector->measure.rows == 1 || effector->given->axes & 1 << r)
                sum += effector->given->weight * effector->given->weight * error[r] * error[r];
    }
    return sqrt(sum);
}

void td_condense_report(const tdModel *model, tdState *state)
{
    const tdConstraintState *cs = state->constraint;
    if (cs->inverse && state->report.inverse)
        state->report.inverse_residual = distance(model, cs);
    for (int a = 0; a < model->n_actuators; a++)
    {
        const tdActuator *actuator = &model->actuators[a];
        if (actuator->held || cs->role[a] != TD_ROLE_DISPLACEMENT)
            continue;
        // At a limit of its effort it does not follow, and a slack cable is shorter than it was wound.
        if (td_bound_of(cs->effort_limit + 2 * a, cs->effort[a], fabs(cs->effort[a])) != 0)
            continue;
        double miss = fabs(cs->displacement[a] - cs->given[a]) / actuator->size;
        state->report.constraint_error = fmax(state->report.constraint_error, miss);
    }
}
