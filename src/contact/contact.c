// SPDX-License-Identifier: Apache-2.0
// Contact from step to step: who touches whom, and what is told and kept of it.
#include "contact/contact.h"

#include "base/log.h"
#include "base/vector.h"
#include "body/soft.h"
#include "constraint/condense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int count_colliders(const tdModel *model)
{
    return model->contact->world != NULL ? td_collide_colliders(model->contact->world) : 0;
}

// ---------------------------------------------------------------- life

static tdStatus take_fields(const tdModel *model, tdState *state, tdError *error)
{
    const tdContactModel *contact = model->contact;
    tdContactState *cs = state->contact;
    tdArena *arena = &state->arena;
    cs->x = TD_TAKE(arena, const double *, contact->n_fields + 1);
    cs->v = TD_TAKE(arena, const double *, contact->n_fields + 1);
    cs->field_x = TD_TAKE(arena, double *, contact->n_fields + 1);
    cs->field_v = TD_TAKE(arena, double *, contact->n_fields + 1);
    cs->point_x = TD_TAKE(arena, double *, contact->n_fields + 1);
    cs->point_v = TD_TAKE(arena, double *, contact->n_fields + 1);
    cs->poses = TD_TAKE(arena, tdPose, contact->n_frames + 1);
    cs->twists = td_arena_take(arena, (size_t)contact->n_frames + 1, sizeof *cs->twists);
    cs->x_last = TD_TAKE(arena, const double *, contact->n_fields + 1);
    cs->poses_last = TD_TAKE(arena, tdPose, contact->n_frames + 1);
    cs->ways = TD_TAKE(arena, tdContactWay, count_colliders(model) + 1);
    if (cs->x_last == NULL || cs->poses_last == NULL || cs->ways == NULL || cs->x == NULL || cs->v == NULL ||
        cs->field_x == NULL || cs->field_v == NULL || cs->point_x == NULL || cs->point_v == NULL || cs->poses == NULL ||
        cs->twists == NULL)
        return td_fail_memory(error, "the contacts");
    for (int f = 0; f < contact->n_fields; f++)
    {
        cs->point_x[f] = TD_TAKE(arena, double, 3 * (int64_t)contact->fields[f].n_points);
        cs->point_v[f] = TD_TAKE(arena, double, 3 * (int64_t)contact->fields[f].n_points);
        if (cs->point_x[f] == NULL || cs->point_v[f] == NULL)
            return td_fail_memory(error, "the contacts");
        const tdBody *body = &model->bodies[contact->fields[f].body];
        if (body->ops->nodal)
            continue;
        cs->field_x[f] = TD_TAKE(arena, double, 3 * body->nodes);
        cs->field_v[f] = TD_TAKE(arena, double, 3 * body->nodes);
        if (cs->field_x[f] == NULL || cs->field_v[f] == NULL)
            return td_fail_memory(error, "the contacts");
        memcpy(cs->field_x[f], body->soft->rest, 3 * (size_t)body->nodes * sizeof(double));
    }
    return TD_OK;
}

tdStatus td_contact_create(const tdModel *model, tdState *state, tdError *error)
{
    if (model->contact == NULL)
        return TD_OK;
    tdArena *arena = &state->arena;
    tdContactState *cs = TD_TAKE(arena, tdContactState, 1);
    if (cs == NULL)
        return td_fail_memory(error, "the contacts");
    state->contact = cs;
    int colliders = count_colliders(model);
    cs->island = TD_TAKE(arena, int32_t, model->n_bodies);
    cs->gives_way = TD_TAKE(arena, bool, model->n_bodies);
    cs->depth = TD_TAKE(arena, double, colliders + 1);
    cs->depth_now = TD_TAKE(arena, double, colliders + 1);
    cs->overlap = TD_TAKE(arena, double, colliders + 1);
    cs->bond_effort = TD_TAKE(arena, double, 3 * (int64_t)model->contact->n_bonds + 1);
    cs->bond_told = TD_TAKE(arena, double, 3 * (int64_t)model->contact->n_bonds + 1);
    cs->bond_base = TD_TAKE(arena, double, 3 * (int64_t)model->contact->n_bonds + 1);
    cs->bond_row = TD_TAKE(arena, double, model->contact->bond_size + 1);
    cs->bond_dead = TD_TAKE(arena, bool, 3 * (int64_t)model->contact->n_bonds + 1);
    if (cs->island == NULL || cs->gives_way == NULL || cs->depth == NULL || cs->depth_now == NULL ||
        cs->overlap == NULL || cs->bond_effort == NULL || cs->bond_row == NULL || cs->bond_dead == NULL ||
        cs->bond_told == NULL || cs->bond_base == NULL)
        return td_fail_memory(error, "the contacts");
    for (int i = 0; i < colliders; i++)
        cs->depth[i] = -1;
    cs->readings = TD_TAKE(arena, tdTouchReading, model->n_effectors + 1);
    cs->direction = TD_TAKE(arena, double, 6 * (int64_t)model->n_actuators + 1);
    if (cs->readings == NULL || cs->direction == NULL)
        return td_fail_memory(error, "the contacts");
    for (int e = 0; e < model->n_effectors; e++)
        if ((cs->readings[e].slope = TD_TAKE(arena, double, model->n_actuators + 1)) == NULL)
            return td_fail_memory(error, "the contacts");
    TD_TRY(td_contact_sleep_create(model, state, error));
    TD_TRY(take_fields(model, state, error));
    TD_TRY(td_bonds_create(model, state, error));
    TD_TRY(td_contact_blocks_create(model, state, error));
    cs->problem = state->problem;
    if (model->contact->world == NULL)
        return TD_OK;
    if (model->scheme.method == TD_METHOD_STATIC)
        TD_TRY(td_collide_state(model->contact->world, state->tasks, &cs->again, error));
    return td_collide_state(model->contact->world, state->tasks, &cs->collide, error);
}

void td_contact_free(tdState *state)
{
    tdContactState *cs = state->contact;
    if (cs == NULL)
        return;
    td_collide_state_free(cs->collide);
    td_collide_state_free(cs->again);
    td_contact_sleep_free(cs);
    free(cs->body_rows);
    free(cs->row_body);
    free(cs->acts);
    free(cs->gap);
    free(cs->w_own);
    free(cs->ride);
    free(cs->hold);
    free(cs->bears);
    free(cs->turn);
    free(cs->frame);
    free(cs->impulse);
    free(cs->points);
    free(cs->sums);
}

// ---------------------------------------------------------------- where bodies are

static void place_bodies(const tdModel *model, tdState *state)
{
    const tdContactModel *contact = model->contact;
    tdContactState *cs = state->contact;
    for (int f = 0; f < contact->n_fields; f++)
        td_contact_place(model, state, f);
    for (int f = 0; f < contact->n_frames; f++)
    {
        const tdBody *body = &model->bodies[contact->frames[f].body];
        body->ops->part(body, state, state->q + body->first, state->v + body->first, contact->frames[f].link,
                        &cs->poses[f], cs->twists[f]);
    }
}

// ---------------------------------------------------------------- the set

void td_contact_take_part(const tdModel *model, tdState *state, int b, int64_t n, const int32_t *coord)
{
    const tdBody *body = &model->bodies[b];
    bool moves =
        body->ops->part_coords != NULL ? body->ops->part_coords(body, state, n, coord) : n > 0 && body->unknowns > 0;
    tdContactBody *mine = &state->contact->bodies[b];
    mine->acted_on = mine->acted_on || moves;
}

static void touch_side(const tdModel *model, tdState *state, const tdContactSide *side, double gap)
{
    const tdBody *body = &model->bodies[model->contact->colliders[side->collider].body];
    bool moves = body->unknowns > 0;
    if (body->ops->part_point != NULL)
    {
        tdSidePoint at;
        tdTouchPoint point = *td_contact_side_point(model, side, &at);
        point.gap = gap;
        moves = body->ops->part_point(body, state, &point);
    }
    tdContactBody *mine = &state->contact->bodies[body->index];
    mine->acted_on = mine->acted_on || moves;
}

void td_contact_touch(const tdModel *model, tdState *state, const tdContact *contact)
{
    touch_side(model, state, &contact->a, contact->phi);
    touch_side(model, state, &contact->b, contact->phi);
}

#define DEEP 5 // margins: what overlaps by more at the start was hardly meant to

static void warn_of_overlap(const tdModel *model, tdState *state)
{
    const tdContactState *cs = state->contact;
    const tdContact *deepest = NULL;
    for (int64_t i = 0; i < cs->n; i++)
        if (cs->contacts[i].phi < (deepest != NULL ? deepest->phi : -DEEP * model->contact->margin))
            deepest = &cs->contacts[i];
    if (deepest == NULL)
        return;
    const tdContactCollider *colliders = model->contact->colliders;
    td_log(&state->settings, TD_LOG_WARNING,
           "bodies '%s' and '%s' overlap by %.3g m at the start and will separate, slowly where contact is near-rigid; "
           "place them apart, or list them under contact.exclude",
           model->bodies[colliders[deepest->a.collider].body].name,
           model->bodies[colliders[deepest->b.collider].body].name, -deepest->phi);
}

#define LAG 0.5 // of what a point may give way by: how far it may be behind

// Near-rigid points that are found deep where a collider is looked at for the first time are held there, and come out
// by the law below. Pushed out within a step they would leave at the speed of their depth over the step. What cannot
// come out, because something else is in its way, is waited for.
static void hold_overlaps(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    for (int64_t i = 0; i < cs->n && model->scheme.method != TD_METHOD_STATIC; i++)
    {
        const tdContact *contact = &cs->contacts[i];
        const int32_t sides[2] = {contact->a.collider, contact->b.collider};
        double held = td_contact_overlap(cs, contact);
        if (!(contact->phi < 0) || !(held > 0 || cs->depth[sides[0]] < 0 || cs->depth[sides[1]] < 0))
            continue;
        tdContactPair pair = td_contact_pair(model, contact);
        for (int s = 0; s < 2 && isinf(pair.stiffness) && -contact->phi > pair.give; s++)
            if (cs->depth[sides[s]] < 0)
                cs->overlap[sides[s]] = fmax(cs->overlap[sides[s]], -contact->phi);
            else if (held > 0)
                cs->overlap[sides[s]] = fmax(cs->overlap[sides[s]], -contact->phi - LAG * pair.give);
    }
}

#define EARTH 9.81 // [m/s^2] where a scene has no gravity

// d(overlap)/dt = -1/2 sqrt(g overlap): it slows down by g/8, so that what is lifted arrives at the surface at rest and
// stays in contact on the way.
static void come_out(const tdModel *model, const tdState *state)
{
    tdContactState *cs = state->contact;
    const double *gravity = td_state_gravity(state);
    double g = sqrt(gravity[0] * gravity[0] + gravity[1] * gravity[1] + gravity[2] * gravity[2]);
    double root = 0.25 * model->scheme.h * sqrt(g > 0 ? g : EARTH);
    for (int i = 0; i < count_colliders(model); i++)
        if (cs->overlap[i] > 0)
        {
            double left = fmax(sqrt(cs->overlap[i]) - root, 0);
            cs->overlap[i] = left * left;
        }
}

double td_contact_held(const tdModel *model, const tdContactState *cs, const tdContact *contact, double gap)
{
    double overlap = td_contact_overlap(cs, contact);
    if (!(overlap > 0) || gap >= 0 || !isinf(td_contact_pair(model, contact).stiffness))
        return gap;
    return fmin(gap + overlap, 0);
}

static tdStatus collide(const tdModel *model, tdState *state, tdCollideState *where)
{
    tdContactState *cs = state->contact;
    place_bodies(model, state);
    tdCollideInput input = {.x = cs->x,
                            .poses = cs->poses,
                            .h = model->scheme.h,
                            .v = cs->v,
                            .twists = (const double(*)[6])cs->twists,
                            .slide = model->contact->slide * fmax(1, td_state_friction(state))};
    td_collide_set_depths(where, cs->depth);
    tdStatus status = td_collide(model->contact->world, where, &input, &state->report.error);
    if (status == TD_OK)
        return TD_OK;
    char why[sizeof state->report.error.message];
    memcpy(why, state->report.error.message, sizeof why);
    return td_fail(&state->report.error, status, "contact, t = %g s (step %lld): %.480s", state->time + model->scheme.h,
                   (long long)state->steps + 1, why);
}

static tdStatus find_contacts(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    TD_TRY(collide(model, state, cs->collide));
    td_collide_depths(cs->collide, cs->depth_now);
    cs->contacts = td_collide_contacts(cs->collide, &cs->n);
    if (state->steps == 0)
        warn_of_overlap(model, state);
    hold_overlaps(model, state);
    return TD_OK;
}

#define UNSEEN 0.1 // margins: how deep a point may be that the problem did not have

tdStatus td_contact_overlooks(const tdModel *model, tdState *state, bool *overlooks)
{
    tdContactState *cs = state->contact;
    *overlooks = false;
    if (cs == NULL || cs->again == NULL)
        return TD_OK;
    TD_TRY(collide(model, state, cs->again));
    int64_t n = 0;
    const tdContact *now = td_collide_contacts(cs->again, &n);
    for (int64_t i = 0; i < n && !*overlooks; i++)
    {
        bool known = now[i].phi >= -UNSEEN * model->contact->margin;
        for (int64_t k = 0; k < cs->n && !known; k++)
            known = cs->contacts[k].key == now[i].key && cs->contacts[k].a.collider == now[i].a.collider &&
                    cs->contacts[k].b.collider == now[i].b.collider;
        *overlooks = !known;
    }
    return TD_OK;
}

tdStatus td_contact_find(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    if (cs == NULL)
        return TD_OK;
    for (int b = 0; b < model->n_bodies; b++)
    {
        if (model->bodies[b].ops->part_none != NULL)
            model->bodies[b].ops->part_none(&model->bodies[b], state);
        cs->bodies[b].acted_on = false;
    }
    cs->n = cs->n_body_rows = 0;
    memcpy(cs->bond_effort, cs->bond_told, 3 * (size_t)model->contact->n_bonds * sizeof(double));
    if (model->contact->world != NULL)
        TD_TRY(find_contacts(model, state));
    td_contact_doze(model, state);
    if (!td_contact_choose(model, state))
        return td_fail_memory(&state->report.error, "the contacts of a step");
    for (int64_t i = 0; i < cs->n; i++)
        if (cs->acts[i])
            td_contact_touch(model, state, &cs->contacts[i]);
    if (state->bonded == NULL)
        td_bond_touch(model, state);
    if (!td_contact_body_rows(model, state))
        return td_fail_memory(&state->report.error, "the limits of joints");
    state->joined = cs->n + cs->n_body_rows + (state->bonded == NULL ? model->contact->n_bonds : 0) > 0;
    if (!state->joined)
        return TD_OK;
    td_contact_touch_scalars(model, state);
    // Where a body is solved whole, a point more costs next to nothing.
    for (int b = 0; b < model->n_bodies && cs->n_left_out > 0; b++)
        if (model->bodies[b].ops->part_all != NULL && !cs->bodies[b].condensed)
        {
            td_contact_act_all(model, state);
            td_contact_touch_scalars(model, state);
        }
    return TD_OK;
}

// ---------------------------------------------------------------- what is told

static void report_depth(const tdModel *model, tdState *state, int32_t contact, double depth)
{
    const tdContact *at = &state->contact->contacts[contact];
    const tdContactCollider *a = &model->contact->colliders[at->a.collider];
    const tdContactCollider *b = &model->contact->colliders[at->b.collider];
    tdReport *report = &state->report;
    double ratio = depth / fmin(a->size, b->size);
    report->penetration = fmax(report->penetration, depth);
    if (ratio <= report->penetration_ratio)
        return;
    report->penetration_ratio = ratio;
    report->penetration_body[0] = a->body;
    report->penetration_body[1] = b->body;
}

// How deep a point is where the step began, seen by where bodies are and not by where they were said to come to.
static void report_found(const tdModel *model, tdState *state, const tdContact *contact)
{
    const tdContactCollider *a = &model->contact->colliders[contact->a.collider];
    const tdContactCollider *b = &model->contact->colliders[contact->b.collider];
    double ratio = -contact->phi / fmin(a->size, b->size);
    if (!(ratio > state->report.penetration_found))
        return;
    state->report.penetration_found = ratio;
    state->report.penetration_found_body[0] = a->body;
    state->report.penetration_found_body[1] = b->body;
}

// Contacts of bodies that sleep: they bear what they bore, where they are. Returns how many bear something.
static int commit_settled(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    int active = 0;
    for (int64_t i = 0; cs->sleep != NULL && i < cs->n; i++)
    {
        tdContactPoint *point = &cs->points[i];
        if (!td_contact_is_settled(model, cs, &cs->contacts[i]))
            continue;
        for (int k = 0; k < 3; k++)
        {
            point->force[k] = cs->impulse[3 * i + k] / model->scheme.s;
            point->torque[k] = model->turning ? cs->turn[3 * i + k] / model->scheme.s : 0;
        }
        if (!(td_dot3(point->force, point->normal) > 0))
            continue;
        active++;
        report_depth(model, state, (int32_t)i, -point->distance);
    }
    return active;
}

void td_contact_commit(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    if (cs == NULL)
        return;
    memcpy(cs->depth, cs->depth_now, (size_t)count_colliders(model) * sizeof(double));
    td_bond_commit(model, state);
    cs->n_points = cs->n;
    cs->sums_known = false;
    for (int64_t i = 0; i < cs->n; i++)
    {
        const tdContact *contact = &cs->contacts[i];
        const tdContactCollider *a = &model->contact->colliders[contact->a.collider];
        const tdContactCollider *b = &model->contact->colliders[contact->b.collider];
        tdContactPoint *point = &cs->points[i];
        *point = (tdContactPoint){
            .body = {a->body, b->body}, .link = {a->link, b->link}, .key = contact->key, .distance = contact->phi};
        memcpy(point->position, contact->position, sizeof point->position);
        memcpy(point->normal, contact->normal, sizeof point->normal);
        report_found(model, state, contact);
    }
    const tdProblem *problem = cs->problem;
    int active = 0;
    cs->pushed = 0;
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        int32_t i = problem->owner[c].index;
        tdContactPoint *point = &cs->points[i];
        if (problem->owner[c].kind == TD_OWNER_TURNING)
            for (int k = 0; k < 3; k++)
                point->torque[k] = cs->turn[3 * i + k] / model->scheme.s;
        if (problem->owner[c].kind != TD_OWNER_CONTACT)
            continue;
        const double(*t)[3] = (const double(*)[3])cs->frame[i];
        const double *v = problem->v_c + TD_SAP_ROWS * (int64_t)c, *gamma = problem->gamma + TD_SAP_ROWS * (int64_t)c;
        const double *drift = problem->drift + TD_SAP_ROWS * (int64_t)c;
        for (int k = 0; k < 3; k++)
        {
            point->force[k] = cs->impulse[3 * i + k] / model->scheme.s;
            point->slip[k] = (v[0] + drift[0]) * t[0][k] + (v[1] + drift[1]) * t[1][k];
        }
        if (gamma[2] > 0)
        {
            tdContactPair pair;
            active++;
            // As far as it may give way it stores what presses it in, and gives that back; what comes out slowly is not
            // thrown.
            bool held = td_contact_held(model, cs, &cs->contacts[i], point->distance) != point->distance;
            if (!held && td_contact_is_near_rigid(model, cs, c, &pair) && -point->distance > pair.give)
                for (int r = 0; r < TD_SAP_ROWS; r++)
                    cs->pushed += gamma[r] * (v[r] + drift[r]);
            report_depth(model, state, i, -(cs->gap[i] + model->scheme.c * (v[2] + drift[2])));
        }
    }
    if (model->contact->world != NULL)
        come_out(model, state);
    active += commit_settled(model, state);
    td_contact_sleep_commit(model, state);
    state->report.contacts = (int)cs->n;
    state->report.contacts_active = active;
    td_contact_effectors(model, state);
    state->report.tunnelled = td_contact_tunnels(model, state);
}

// ---------------------------------------------------------------- checkpoints

int td_contact_arrays(const tdModel *model, tdState *state, tdStateArray *out, int most)
{
    tdContactState *cs = state->contact;
    int n = 0;
    if (cs == NULL)
        return 0;
    if (n < most && model->contact->world != NULL)
        out[n++] = (tdStateArray){"contact_depth", -1, false, count_colliders(model), cs->depth};
    if (n < most && model->contact->world != NULL)
        out[n++] = (tdStateArray){"contact_overlap", -1, false, count_colliders(model), cs->overlap};
    if (n < most && model->contact->n_bonds > 0)
        out[n++] = (tdStateArray){"bond_impulse", -1, false, 3 * (int64_t)model->contact->n_bonds, cs->bond_told};
    if (n < most)
        out[n++] = (tdStateArray){"contact_softness", -1, false, model->n_bodies + model->n_actuators, cs->softness};
    if (n < most && cs->sleep != NULL)
        out[n++] = (tdStateArray){"contact_calm", -1, true, model->n_bodies, td_contact_calm(cs)};
    return n;
}

void td_contact_restore(tdState *state)
{
    tdContactState *cs = state->contact;
    if (cs == NULL)
        return;
    cs->n = cs->n_points = cs->n_body_rows = 0;
    td_contact_sleep_restore(cs);
}

void td_contact_forget(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    if (cs == NULL)
        return;
    for (int i = 0; i < count_colliders(model); i++)
        cs->depth[i] = -1;
    td_contact_wake(model, state);
    td_contact_restore(state);
}
