// SPDX-License-Identifier: Apache-2.0
#include "study/subject.h"

#include "base/file.h"
#include "body/soft.h"
#include "constraint/constraint.h"
#include "core/parts.h"
#include "core/state.h"
#include "mesh/topology.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void td_subject_free(tdSubject *s)
{
    for (int i = 0; i < s->n_pictures; i++)
        td_picture_free(&s->pictures[i]);
    free(s->pictures);
    td_mark_free(&s->cables);
    td_mark_free(&s->slack);
    td_mark_free(&s->course);
    td_mark_free(&s->probes);
    td_mark_free(&s->domain);
    td_mark_free(&s->cavities);
    td_mark_free(&s->effectors);
    td_mark_free(&s->targets);
    td_mark_free(&s->supports);
    td_mark_free(&s->contacts);
    for (int i = 0; i < s->n_parts; i++)
        td_mark_free(&s->parts[i].marks);
    for (int i = 0; i < s->n_floors; i++)
    {
        td_mark_free(&s->floors[i].marks);
        free(s->floors[i].edge_mask);
    }
    free(s->parts);
    free(s->floors);
}

tdPicture *td_subject_add_picture(tdSubject *s)
{
    tdPicture *more = realloc(s->pictures, ((size_t)s->n_pictures + 1) * sizeof *more);
    if (more == NULL)
        return NULL;
    s->pictures = more;
    more[s->n_pictures] = (tdPicture){0};
    return &more[s->n_pictures++];
}

// tdMarkMesh follow the size of the bodies.
void td_subject_set_radius(tdSubject *s)
{
    double box[6], size = 0;
    bool any = td_subject_box(s, box);
    for (int k = 0; k < 3 && any; k++)
        size += (box[3 + k] - box[k]) * (box[3 + k] - box[k]);
    s->radius = isfinite(size) ? 0.0045 * sqrt(size) : 0;
}

static void between(const double a[3], const double b[3], double t, double x[3])
{
    for (int k = 0; k < 3; k++)
        x[k] = a[k] + t * (b[k] - a[k]);
}

// Thinner than one that pulls, and dashed.
static bool add_slack(tdSubject *s, const double a[3], const double b[3])
{
    double length = sqrt((b[0] - a[0]) * (b[0] - a[0]) + (b[1] - a[1]) * (b[1] - a[1]) + (b[2] - a[2]) * (b[2] - a[2]));
    double period = 9 * s->radius;
    int n = period > 0 && length / period < 1000 ? (int)(length / period) + 1 : 1;
    bool good = true;
    for (int i = 0; i < n && good; i++)
    {
        double from[3], to[3];
        between(a, b, (i + 0.2) / n, from);
        between(a, b, (i + 0.8) / n, to);
        good = td_mark_rod(&s->slack, from, to, 0.75 * s->radius, 0);
    }
    s->n_slack++;
    return good && td_mark_ball(&s->slack, a, 1.5 * s->radius, 0) && td_mark_ball(&s->slack, b, 1.5 * s->radius, 0);
}

bool td_subject_add_segment(tdSubject *s, const double a[3], const double b[3], double tension)
{
    s->n_segments++;
    if (s->tension_known && !(tension > 0))
        return add_slack(s, a, b);
    return td_mark_rod(&s->cables, a, b, s->radius, tension) && td_mark_ball(&s->cables, a, 1.5 * s->radius, tension) &&
           td_mark_ball(&s->cables, b, 1.5 * s->radius, tension);
}

bool td_subject_add_effector(tdSubject *s, const double x[3])
{
    s->n_effectors++;
    return td_mark_ball(&s->effectors, x, 2.6 * s->radius, 0);
}

bool td_subject_add_target(tdSubject *s, const double x[3])
{
    s->n_targets++;
    return td_mark_cross(&s->targets, x, 9 * s->radius, s->radius);
}

bool td_subject_add_probe(tdSubject *s, const double x[3])
{
    s->n_probes++;
    return td_mark_ball(&s->probes, x, 2 * s->radius, 0);
}

tdStatus td_subject_add_path(tdSubject *s, int64_t n, const double *x, tdError *error)
{
    bool good = true;
    for (int64_t i = 0; i + 1 < n && good; i++)
        good = td_mark_rod(&s->course, x + 3 * i, x + 3 * (i + 1), 0.7 * s->radius, 0) &&
               td_mark_ball(&s->course, x + 3 * (i + 1), 0.7 * s->radius, 0);
    return good ? TD_OK : td_fail_memory(error, "a path");
}

// ---------------------------------------------------------------- scenes

// Where a cable leaves for its motor, a larger ball.
static bool mark_cable(tdSubject *s, const tdActuator *actuator, const double *x, double tension, double slide)
{
    const tdMeasure *measure = &actuator->measure;
    double *share = calloc((size_t)measure->n, sizeof *share);
    bool good = share != NULL;
    if (good)
        td_cable_shares(measure, x, actuator->given->friction * slide, share);
    for (int32_t k = 0; good && k + 1 < measure->n; k++)
        good = td_subject_add_segment(s, x + 3 * (int64_t)k, x + 3 * (int64_t)(k + 1), share[k] * tension);
    if (good && actuator->given->has_pull)
        good = td_mark_ball(s->tension_known && !(tension > 0) ? &s->slack : &s->cables,
                            x + 3 * (int64_t)(measure->n - 1), 2.6 * s->radius, tension);
    free(share);
    return good;
}

static bool mark_actuators(tdSubject *s, const tdModel *model, const tdState *state)
{
    const tdConstraintState *cs = state->constraint;
    bool good = true;
    for (int a = 0; a < model->n_actuators && good; a++)
    {
        const tdActuator *actuator = &model->actuators[a];
        const tdMeasure *measure = &actuator->measure;
        if (actuator->held || (measure->kind != TD_MEASURE_LENGTH && measure->kind != TD_MEASURE_VOLUME))
            continue;
        double *x = calloc((size_t)measure->n, 3 * sizeof *x);
        if (x == NULL)
            return false;
        td_constraint_points(model, state, measure, state->q, x);
        good = measure->kind == TD_MEASURE_LENGTH
                   ? mark_cable(s, actuator, x, cs->effort[a], cs->slide[a])
                   : td_mark_triangles(&s->cavities, measure->n, x, measure->n_tris, measure->tris, cs->effort[a]);
        free(x);
    }
    return good;
}

// Before the first step the target is that of the scene's start.
static bool target_of(const tdModel *model, const tdState *state, int e, double target[3])
{
    const tdSceneEffector *given = model->effectors[e].given;
    if (td_state_target(model, state, e, target))
        return true;
    for (int k = 0; k < 3 && given->has_target; k++)
        target[k] = given->path == NULL        ? given->target[k]
                    : k < given->path->n_names ? td_motion_value(given->path, k, state->time, 0)
                                               : 0;
    return given->has_target;
}

static bool mark_effectors(tdSubject *s, const tdModel *model, const tdState *state)
{
    bool good = true;
    for (int e = 0; e < model->n_effectors && good; e++)
    {
        double value[3], target[3];
        if (model->effectors[e].given->kind != TD_EFFECTOR_POSITION)
            continue;
        td_state_effector(model, state, e, value);
        good = td_subject_add_effector(s, value);
        if (good && target_of(model, state, e, target))
            good = td_subject_add_target(s, target);
    }
    return good;
}

static bool mark_supports(tdSubject *s, const tdModel *model, const tdState *state)
{
    bool good = true;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdSoft *soft = model->bodies[b].soft;
        const double *x = td_state_positions(model, state, b);
        for (int32_t i = 0; i < soft->n_held && good; i++)
        {
            // Coordinates of a node follow each other: the first that is held stands for it.
            int64_t node = soft->held_list[i] / 3;
            if (i > 0 && soft->held_list[i - 1] / 3 == node)
                continue;
            good = td_mark_ball(&s->supports, x + 3 * node, 1.3 * s->radius, 0);
            s->n_supports++;
        }
    }
    return good;
}

static bool mark_probes(tdSubject *s, const tdModel *model, const tdState *state)
{
    bool good = true;
    for (int p = 0; p < model->n_probes && good; p++)
    {
        double x[3];
        td_state_probe(model, state, p, x);
        good = td_subject_add_probe(s, x);
    }
    return good;
}

// The boundary of the elements of a reduced body's domain, as it is now.
static tdStatus mark_domain(tdSubject *s, const tdModel *model, const tdState *state, const tdBody *body,
                            tdError *error)
{
    const tdSoft *domain = body->modes->domain;
    const tdSoft *soft = body->soft;
    tdMesh few = {0};
    tdSurface surface = {0};
    const double *x = td_state_positions(model, state, body->index);
    bool room = true;
    for (int32_t i = 0; i < soft->n_nodes && room; i++)
        room = td_mesh_add_node(&few, x[3 * i], x[3 * i + 1], x[3 * i + 2]);
    for (int k = 0; k < domain->n_blocks; k++)
        for (int64_t i = 0; i < 4 * (int64_t)domain->blocks[k].batches && room; i++)
        {
            int32_t element = domain->blocks[k].element[i];
            int t = 0;
            while (element >= 0 && t + 1 < TD_CELL_TYPES && element >= soft->element_start[t + 1])
                t++;
            if (element < 0)
                continue;
            int64_t at = (int64_t)soft->element_cell[element] * td_cell_nodes((tdCellType)t);
            room = td_mesh_add_cell(&few, (tdCellType)t, soft->mesh.cells[t].nodes + at);
            s->n_chosen++;
        }
    tdStatus status = room ? td_mesh_boundary_faces(&few, &surface, error) : td_fail_memory(error, "the elements");
    const tdCells *tris = &few.cells[TD_CELL_TRI];
    if (status == TD_OK && !(td_mark_triangles(&s->domain, few.n_nodes, few.x, surface.n_tris, surface.tris, 0) &&
                             td_mark_triangles(&s->domain, few.n_nodes, few.x, tris->count, tris->nodes, 0)))
        status = td_fail_memory(error, "the elements");
    td_surface_free(&surface);
    td_mesh_free(&few);
    return status;
}

static tdStatus mark_domains(tdSubject *s, const tdModel *model, const tdState *state, tdError *error)
{
    for (int b = 0; b < model->n_bodies; b++)
        if (model->bodies[b].modes != NULL)
            TD_TRY(mark_domain(s, model, state, &model->bodies[b], error));
    if (s->n_chosen == 0)
        return td_fail_at(error, TD_ERROR_USAGE, s->path, 0, "--domain",
                          "no body here is reduced to some of its elements; give such a model with --rom FILE");
    return TD_OK;
}

static bool has_cells(const tdMesh *mesh)
{
    int64_t n = 0;
    for (int t = 0; t < TD_CELL_TYPES; t++)
        n += mesh->cells[t].count;
    return n > 0;
}

tdStatus td_subject_take(tdSubject *s, const char *path, const tdModel *model, const tdState *state,
                         const tdSubjectSettings *settings, tdError *error)
{
    *s = (tdSubject){.path = path, .step = td_state_steps(state), .time = td_state_time(state)};
    s->tension_known = s->step > 0;
    tdPicture *p = td_subject_add_picture(s);
    if (p == NULL)
        return td_fail_memory(error, s->path);
    TD_TRY(td_picture_add_bodies(p, model, state, !settings->coloured, error));
    bool good = !settings->coloured || td_subject_links(s, model, state, true);
    // A scene of links alone has no picture beside them.
    if (s->n_parts > 0 && !has_cells(&p->mesh))
    {
        td_picture_free(p);
        s->n_pictures = 0;
    }
    else
        TD_TRY(td_picture_surface(p, s->path, error));
    td_subject_set_radius(s);
    good = good && td_subject_links(s, model, state, false);
    if (settings->marks)
        good = good && mark_actuators(s, model, state) && mark_effectors(s, model, state) &&
               td_subject_contacts(s, model, state);
    if (good && settings->supports)
        good = mark_supports(s, model, state);
    if (good && settings->probes)
        good = mark_probes(s, model, state);
    if (!good)
        return td_fail_memory(error, "the marks of a scene");
    if (settings->probes && s->n_probes == 0)
        return td_fail_at(error, TD_ERROR_USAGE, s->path, 0, "probes", "the scene has no probes to mark");
    return settings->domain ? mark_domains(s, model, state, error) : TD_OK;
}
