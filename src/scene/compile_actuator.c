// SPDX-License-Identifier: Apache-2.0
// Actuators and effectors of the scene: their material points, measures and rows. Points are found with each body,
// before its matrix is laid out, because a cable or a pressure couples nodes that no element joins.
#include "constraint/constraint.h"
#include "scene/compile.h"

#include "constraint/condense.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLACK 0.01 // of the size of a rigid body: how far from its links a point may be

// ---------------------------------------------------------------- before the bodies

tdStatus td_compile_actuators_begin(tdModel *model, tdError *error)
{
    const tdScene *scene = &model->scene;
    model->actuators = TD_TAKE(&model->arena, tdActuator, scene->n_actuators);
    model->effectors = TD_TAKE(&model->arena, tdEffector, scene->n_effectors);
    model->probes = TD_TAKE(&model->arena, tdProbe, scene->n_probes);
    if (model->actuators == NULL || model->effectors == NULL || model->probes == NULL)
        return td_fail_memory(error, "the actuators");
    for (int a = 0; a < scene->n_actuators; a++)
    {
        const tdSceneActuator *given = &scene->actuators[a];
        tdActuator *out = &model->actuators[model->n_actuators++];
        *out = (tdActuator){.given = given, .name = given->name, .sign = 1, .row = -1, .servo = -1, .tool = -1};
        out->input = td_compile_input(model, given->name);
        out->driven = model->inputs[out->input].column >= 0;
        out->held = given->kind == TD_ACTUATOR_TRANSLATION || given->kind == TD_ACTUATOR_ROTATION;
        out->measure.sets = TD_TAKE(&model->arena, tdPointSet, 2);
        if (out->measure.sets == NULL)
            return td_fail_memory(error, "the actuators");
    }
    for (int e = 0; e < scene->n_effectors; e++)
    {
        tdEffector *out = &model->effectors[model->n_effectors++];
        *out = (tdEffector){.given = &scene->effectors[e], .name = scene->effectors[e].name};
        out->measure.sets = TD_TAKE(&model->arena, tdPointSet, 1);
        if (out->measure.sets == NULL)
            return td_fail_memory(error, "the effectors");
    }
    return TD_OK;
}

// ---------------------------------------------------------------- points of a body

static tdStatus take_set(tdModel *model, tdPointSet *set, int body, int64_t points, int64_t entries, tdError *error)
{
    *set = (tdPointSet){.body = body, .n = (int32_t)points};
    set->start = TD_TAKE(&model->arena, int32_t, points + 1);
    set->nodes = TD_TAKE(&model->arena, int32_t, entries);
    set->weights = TD_TAKE(&model->arena, double, entries);
    set->rest = TD_TAKE(&model->arena, double, 3 * points);
    return set->start == NULL || set->nodes == NULL || set->weights == NULL || set->rest == NULL
               ? td_fail_memory(error, "the points of actuators")
               : TD_OK;
}

// Points that were given by their places at rest. link: of a rigid body; NULL: the nearest.
static tdStatus located_set(const tdBodyWork *w, tdPointSet *set, int64_t n, const double *places, const char *link,
                            int line, const char *field, tdError *error)
{
    TD_TRY(take_set(w->model, set, w->index, n, TD_SHAPE_NODES * n, error));
    tdSnapped snapped = {0};
    for (int64_t p = 0; p < n; p++)
    {
        tdMaterialPoint point;
        const tdGivenPoint given = {places + 3 * p, NAN, line, field};
        TD_TRY(td_compile_body_point(w->model, w->index, link, SLACK, &given, &point, &snapped, error));
        int32_t at = set->start[p];
        memcpy(set->nodes + at, point.nodes, (size_t)point.n * sizeof(int32_t));
        memcpy(set->weights + at, point.weights, (size_t)point.n * sizeof(double));
        set->start[p + 1] = at + point.n;
    }
    td_compile_tell_snapped(w->model, w->index, &snapped, line, field);
    return TD_OK;
}

// Every node a point of its own, or all of them one point with their weights.
static tdStatus node_set(const tdBodyWork *w, tdPointSet *set, const double *weight, bool apart, tdError *error)
{
    int64_t n = 0;
    for (int32_t i = 0; i < w->soft->n_nodes; i++)
        n += weight[i] != 0;
    TD_TRY(take_set(w->model, set, w->index, apart ? n : 1, n, error));
    int32_t at = 0;
    for (int32_t i = 0; i < w->soft->n_nodes; i++)
    {
        if (weight[i] == 0)
            continue;
        set->nodes[at] = i;
        set->weights[at++] = apart ? 1 : weight[i];
        set->start[apart ? at : 1] = at;
    }
    return TD_OK;
}

static tdStatus selected_set(tdBodyWork *w, tdPointSet *set, const tdSelect *select, bool apart, const char *field,
                             tdError *error)
{
    double *weight = TD_TAKE(&w->scratch, double, w->soft->n_nodes);
    if (weight == NULL)
        return td_fail_memory(error, "the points of actuators");
    TD_TRY(td_select_nodes(w->model, &w->soft->mesh, select, field, w->chosen, error));
    int64_t n = 0;
    // The nodes of frames stand for a rigid link's axes and are where they are by convention: only corners of shapes
    // are chosen by place.
    const tdBodyParts *parts = w->model->bodies[w->index].parts;
    for (int64_t i = 0; parts != NULL && select->kind != TD_SELECT_NODES && i < parts->frames; i++)
        w->chosen[i] = false;
    for (int32_t i = 0; i < w->soft->n_nodes; i++)
        n += w->chosen[i];
    if (n == 0)
        return td_fail_at(error, TD_ERROR_INPUT, w->model->scene.file, select->line, field,
                          "selects no corner of a link's shapes; use 'point' and 'link'");
    for (int32_t i = 0; i < w->soft->n_nodes; i++)
        weight[i] = w->chosen[i] ? 1.0 / (double)n : 0;
    return node_set(w, set, weight, apart, error);
}

// ---------------------------------------------------------------- couplings

// Announces that the nodes of some points of a set are stiffened together.
static tdStatus couple(tdBodyWork *w, const tdPointSet *set, int n, const int32_t *points, tdError *error)
{
    int k = 0;
    for (int i = 0; i < n; i++)
        k += set->start[points[i] + 1] - set->start[points[i]];
    int32_t *nodes = TD_TAKE(&w->scratch, int32_t, k), *to = nodes;
    if (nodes == NULL ||
        !td_grow((void **)&w->couplings, &w->couplings_capacity, w->n_couplings + 1, sizeof *w->couplings))
        return td_fail_memory(error, "the couplings of actuators");
    for (int i = 0; i < n; i++)
        for (int32_t j = set->start[points[i]]; j < set->start[points[i] + 1]; j++)
            *to++ = set->nodes[j];
    w->couplings[w->n_couplings++] = (tdBlockCells){1, k, nodes};
    return TD_OK;
}

static tdStatus couple_segments(tdBodyWork *w, const tdPointSet *set, tdError *error)
{
    for (int32_t p = 0; p < set->n; p++)
    {
        int32_t points[2] = {p, p + 1};
        TD_TRY(couple(w, set, p + 1 < set->n ? 2 : 1, points, error));
    }
    return TD_OK;
}

static tdStatus couple_triangles(tdBodyWork *w, const tdMeasure *measure, tdError *error)
{
    for (int32_t t = 0; t < measure->n_tris; t++)
        TD_TRY(couple(w, &measure->sets[0], 3, measure->tris + 3 * (int64_t)t, error));
    return TD_OK;
}

// ---------------------------------------------------------------- cables

static tdStatus compile_cable(tdBodyWork *w, tdActuator *out, const char *field, tdError *error)
{
    const tdSceneActuator *given = out->given;
    tdMeasure *measure = &out->measure;
    measure->kind = TD_MEASURE_LENGTH;
    bool mine = given->body == w->index, ends_here = given->has_pull && given->pull_body == w->index;
    char place[96];
    if (mine)
    {
        // A pull point on the same body is one more point of the path.
        int64_t n = given->n_path + ends_here;
        double *path = TD_TAKE(&w->scratch, double, 3 * n);
        if (path == NULL)
            return td_fail_memory(error, "the cable");
        memcpy(path, given->path, 3 * (size_t)given->n_path * sizeof *path);
        if (ends_here)
            memcpy(path + 3 * (int64_t)given->n_path, given->pull, 3 * sizeof *path);
        snprintf(place, sizeof place, "%s.path", field);
        TD_TRY(located_set(w, &measure->sets[0], n, path, NULL, given->line, place, error));
        TD_TRY(couple_segments(w, &measure->sets[0], error));
    }
    else if (ends_here)
    {
        snprintf(place, sizeof place, "%s.pull_point", field);
        TD_TRY(located_set(w, &measure->sets[1], 1, given->pull, NULL, given->line, place, error));
        TD_TRY(couple_segments(w, &measure->sets[1], error));
    }
    measure->n_sets = given->has_pull && given->pull_body != given->body ? 2 : 1;
    if (mine && given->has_pull && given->pull_body < 0)
    {
        TD_TRY(take_set(w->model, &measure->sets[1], -1, 1, 0, error));
        memcpy(measure->sets[1].rest, given->pull, 3 * sizeof(double));
    }
    return TD_OK;
}

// ---------------------------------------------------------------- cavities

static tdStatus check_cavity(const tdModel *model, const tdActuator *out, int64_t n_nodes, const double *x,
                             const char *field, tdError *error)
{
    char reason[400];
    TD_TRY(
        td_surface_encloses(model, n_nodes, x, out->measure.n_tris, out->measure.tris, reason, sizeof reason, error));
    if (reason[0] == '\0')
        return TD_OK;
    return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, out->given->line, field,
                      "the surface of cavity '%s' does not enclose a volume: %s", out->name, reason);
}

// Triangles of a mesh, all or of a group; quadrilaterals cut in two.
static tdStatus list_triangles(tdModel *model, const tdMesh *mesh, const tdGroup *group, tdMeasure *measure,
                               tdError *error)
{
    measure->tris = TD_TAKE(&model->arena, int32_t, 3 * td_surface_most(mesh, group));
    if (measure->tris == NULL)
        return td_fail_memory(error, "the cavity");
    measure->n_tris = (int32_t)td_surface_list(mesh, group, measure->tris);
    return TD_OK;
}

static tdStatus cavity_of_group(tdBodyWork *w, tdActuator *out, const char *field, tdError *error)
{
    const tdMesh *mesh = &w->soft->mesh;
    tdMeasure *measure = &out->measure;
    char place[96];
    snprintf(place, sizeof place, "%s.group", field);
    if (mesh->cells[TD_CELL_TET10].count > 0)
        return td_fail_at(error, TD_ERROR_INPUT, w->model->scene.file, out->given->line, place,
                          "a group of a mesh of quadratic tetrahedra has the corners of its faces only; give the walls "
                          "of the cavity as a file instead ('surface')");
    // td_select_nodes names the groups that there are when this one is not among them.
    tdSelect select = {.kind = TD_SELECT_GROUP, .group = out->given->group, .line = out->given->line};
    TD_TRY(td_select_nodes(w->model, mesh, &select, place, w->chosen, error));
    const tdGroup *group = &mesh->groups[td_mesh_find_group(mesh, out->given->group)];
    TD_TRY(list_triangles(w->model, mesh, group, measure, error));
    if (measure->n_tris == 0)
        return td_fail_at(error, TD_ERROR_INPUT, w->model->scene.file, out->given->line, place,
                          "group '%s' has no triangles; a cavity is a closed surface of them", out->given->group);
    TD_TRY(check_cavity(w->model, out, mesh->n_nodes, mesh->x, place, error));
    // Points are the nodes of the triangles, in the order of their numbers.
    double *weight = TD_TAKE(&w->scratch, double, mesh->n_nodes);
    int32_t *number = TD_TAKE(&w->scratch, int32_t, mesh->n_nodes), n = 0;
    if (weight == NULL || number == NULL)
        return td_fail_memory(error, "the cavity");
    for (int64_t i = 0; i < 3 * (int64_t)measure->n_tris; i++)
        weight[measure->tris[i]] = 1;
    for (int64_t i = 0; i < mesh->n_nodes; i++)
        number[i] = weight[i] != 0 ? n++ : 0;
    for (int64_t i = 0; i < 3 * (int64_t)measure->n_tris; i++)
        measure->tris[i] = number[measure->tris[i]];
    return node_set(w, &measure->sets[0], weight, true, error);
}

static tdStatus cavity_of_file(tdBodyWork *w, tdActuator *out, const char *field, tdError *error)
{
    const tdSceneActuator *given = out->given;
    tdMesh mesh = {0};
    char place[96];
    snprintf(place, sizeof place, "%s.surface", field);
    tdStatus status = td_surface_read(w->model, w->index, given->surface, given->line, place, &mesh, error);
    if (status == TD_OK)
        status = list_triangles(w->model, &mesh, NULL, &out->measure, error);
    if (status == TD_OK)
        status = check_cavity(w->model, out, mesh.n_nodes, mesh.x, place, error);
    if (status == TD_OK)
        status = located_set(w, &out->measure.sets[0], mesh.n_nodes, mesh.x, NULL, given->line, place, error);
    td_mesh_free(&mesh);
    return status;
}

static tdStatus compile_cavity(tdBodyWork *w, tdActuator *out, const char *field, tdError *error)
{
    out->measure.kind = TD_MEASURE_VOLUME;
    out->measure.n_sets = 1;
    TD_TRY(out->given->group != NULL ? cavity_of_group(w, out, field, error) : cavity_of_file(w, out, field, error));
    return couple_triangles(w, &out->measure, error);
}

// ---------------------------------------------------------------- forces, effectors

static tdStatus compile_force(tdBodyWork *w, tdActuator *out, const char *field, tdError *error)
{
    const tdSceneActuator *given = out->given;
    tdMeasure *measure = &out->measure;
    measure->kind = TD_MEASURE_ALONG;
    measure->n_sets = 1;
    memcpy(measure->direction, given->direction, sizeof measure->direction);
    if (given->at_point)
        return located_set(w, &measure->sets[0], 1, given->point, given->link, given->line, field, error);
    if (!given->on_surface)
        return selected_set(w, &measure->sets[0], &given->select, false, field, error);
    double *share = TD_TAKE(&w->scratch, double, w->soft->n_nodes);
    if (share == NULL)
        return td_fail_memory(error, "the actuators");
    TD_TRY(td_compile_face_shares(w, &given->select, field, share, error));
    return node_set(w, &measure->sets[0], share, false, error);
}

// Its row is one coordinate of the body.
static tdStatus compile_joint(tdBodyWork *w, tdActuator *out, tdError *error)
{
    tdMeasure *measure = &out->measure;
    const tdBodyJoint *joint = td_parts_joint(w->model->bodies[w->index].parts, out->given->joint);
    measure->kind = TD_MEASURE_COORDINATE;
    measure->n_sets = 1;
    measure->ratio = joint->ratio;
    measure->offset = joint->offset;
    measure->sets[0] = (tdPointSet){.body = w->index, .size = 1, .coord = TD_TAKE(&w->model->arena, int32_t, 1)};
    if (measure->sets[0].coord == NULL)
        return td_fail_memory(error, "the actuators");
    measure->sets[0].coord[0] = joint->coord;
    out->start = joint->start;
    return TD_OK;
}

static tdStatus compile_effector(tdBodyWork *w, tdEffector *out, const char *field, tdError *error)
{
    const tdSceneEffector *given = out->given;
    tdMeasure *measure = &out->measure;
    bool position = given->kind == TD_EFFECTOR_POSITION;
    measure->n_sets = 1;
    measure->kind = position                                 ? TD_MEASURE_POSITION
                    : given->kind == TD_EFFECTOR_ORIENTATION ? TD_MEASURE_ORIENTATION
                                                             : TD_MEASURE_DIRECTION;
    memcpy(measure->direction, given->direction, sizeof measure->direction);
    if (position && given->at_point)
        return located_set(w, &measure->sets[0], 1, given->point, given->link, given->line, field, error);
    return selected_set(w, &measure->sets[0], &given->select, !position, field, error);
}

tdStatus td_compile_body_points(tdBodyWork *w, tdError *error)
{
    char field[64];
    for (int a = 0; a < w->model->n_actuators; a++)
    {
        tdActuator *out = &w->model->actuators[a];
        const tdSceneActuator *given = out->given;
        snprintf(field, sizeof field, "actuators[%d]", a);
        bool mine = given->body == w->index;
        if (given->kind == TD_ACTUATOR_CABLE)
            TD_TRY(compile_cable(w, out, field, error));
        else if (given->kind == TD_ACTUATOR_CAVITY && mine)
            TD_TRY(compile_cavity(w, out, field, error));
        else if (given->kind == TD_ACTUATOR_FORCE && mine)
            TD_TRY(compile_force(w, out, field, error));
        else if ((given->kind == TD_ACTUATOR_JOINT || given->kind == TD_ACTUATOR_SLIDE) && mine)
            TD_TRY(compile_joint(w, out, error));
    }
    for (int e = 0; e < w->model->n_effectors; e++)
    {
        tdEffector *out = &w->model->effectors[e];
        snprintf(field, sizeof field, "effectors[%d]", e);
        bool own = out->given->kind != TD_EFFECTOR_VOLUME && out->given->kind != TD_EFFECTOR_LENGTH;
        if (own && out->given->body == w->index)
            TD_TRY(compile_effector(w, out, field, error));
    }
    for (int k = 0; k < w->model->scene.n_probes; k++)
    {
        const tdSceneProbe *given = &w->model->scene.probes[k];
        tdPointSet *set = &w->model->probes[k].point;
        snprintf(field, sizeof field, "probes[%d]", k);
        if (given->body == w->index)
            TD_TRY(given->at_point ? located_set(w, set, 1, given->point, given->link, given->line, field, error)
                                   : selected_set(w, set, &given->select, false, field, error));
    }
    return TD_OK;
}

// ---------------------------------------------------------------- after the bodies

// Entries of a set whose points are known, and where it is at rest. volume: of which it is the only set; else NULL.
static tdStatus finish_set(tdModel *model, tdPointSet *set, const tdMeasure *volume, tdError *error)
{
    if (set->body < 0 || set->n == 0)
        return TD_OK; // fixed in space, or a coordinate
    const tdBody *body = &model->bodies[set->body];
    TD_TRY(volume != NULL && body->ops->volume_set != NULL ? body->ops->volume_set(model, body, volume, set, error)
                                                           : body->ops->point_set(model, body, set, error));
    for (int32_t p = 0; p < set->n; p++)
        for (int32_t k = set->start[p]; k < set->start[p + 1]; k++)
            for (int c = 0; c < 3; c++)
                set->rest[3 * (int64_t)p + c] += set->weights[k] * body->soft->rest[3 * (int64_t)set->nodes[k] + c];
    return TD_OK;
}

// Rest positions, entries and values of a measure whose sets have their points.
static tdStatus finish_measure(tdModel *model, tdMeasure *measure, tdError *error)
{
    measure->rows = measure->kind == TD_MEASURE_LENGTH || measure->kind == TD_MEASURE_VOLUME ||
                            measure->kind == TD_MEASURE_ALONG || measure->kind == TD_MEASURE_COORDINATE
                        ? 1
                        : 3;
    for (int s = 0; s < measure->n_sets; s++)
        measure->n += measure->sets[s].n;
    measure->rest = TD_TAKE(&model->arena, double, 3 * (int64_t)measure->n);
    if (measure->rest == NULL)
        return td_fail_memory(error, "the actuators");
    double *rest = measure->rest;
    for (int s = 0; s < measure->n_sets; s++)
    {
        tdPointSet *set = &measure->sets[s];
        bool alone = measure->kind == TD_MEASURE_VOLUME && measure->n_sets == 1;
        TD_TRY(finish_set(model, set, alone ? measure : NULL, error));
        if (set->n > 0)
            memcpy(rest, set->rest, 3 * (size_t)set->n * sizeof *rest);
        rest += 3 * (int64_t)set->n;
    }
    if (measure->n > model->most_points)
        model->most_points = measure->n;
    return TD_OK;
}

static tdStatus finish_actuator(tdModel *model, int a, tdError *error)
{
    tdActuator *out = &model->actuators[a];
    const tdSceneActuator *given = out->given;
    tdMeasure *measure = &out->measure;
    out->size = given->kind == TD_ACTUATOR_ROTATION || given->kind == TD_ACTUATOR_JOINT ? 1 : model->size;
    if (out->held)
        return TD_OK;
    TD_TRY(finish_measure(model, measure, error));
    if (measure->kind == TD_MEASURE_COORDINATE)
        return TD_OK; // its displacement is the position itself
    td_measure(measure, measure->rest, NULL, &out->rest_value, NULL);
    if (given->kind == TD_ACTUATOR_CAVITY)
        out->size = out->rest_value;
    if (given->kind != TD_ACTUATOR_CABLE)
        return TD_OK;
    out->sign = -1;
    out->size = out->rest_value;
    if (!(out->rest_value > 0))
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, given->line, "path",
                          "cable '%s' has no length: its points and pull point coincide", out->name);
    out->compliance = given->stiffness > 0 ? out->rest_value / given->stiffness : 0;
    out->slip = given->slip > 0 ? given->slip : 1e-3 * out->rest_value;
    return TD_OK;
}

static tdStatus finish_effector(tdModel *model, int e, tdError *error)
{
    tdEffector *out = &model->effectors[e];
    const tdSceneEffector *given = out->given;
    char field[64];
    if (given->kind == TD_EFFECTOR_CONTACT || given->kind == TD_EFFECTOR_FRICTION)
    {
        out->measure.kind = TD_MEASURE_CONTACT;
        out->measure.rows = 1;
        return TD_OK;
    }
    if (given->kind == TD_EFFECTOR_VOLUME || given->kind == TD_EFFECTOR_LENGTH)
        out->measure = model->actuators[given->actuator].measure;
    else
        TD_TRY(finish_measure(model, &out->measure, error));
    if ((given->kind == TD_EFFECTOR_ORIENTATION || given->kind == TD_EFFECTOR_DIRECTION) &&
        td_measure_fit_rank(out->measure.n, out->measure.rest) < 2)
    {
        snprintf(field, sizeof field, "effectors[%d]", e);
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, given->line, field,
                          "the %d chosen nodes are at one place or on a line, which leaves their rotation open; choose "
                          "nodes that are not",
                          out->measure.n);
    }
    td_measure(&out->measure, out->measure.rest, NULL, out->rest, NULL);
    return TD_OK;
}

// A translation or rotation whose displacement is not given beforehand enters the momentum balance through A.
static tdStatus check_held(const tdModel *model, int a, tdError *error)
{
    const tdActuator *actuator = &model->actuators[a];
    bool unknown = actuator->given->drive == TD_DRIVE_EFFORT || (model->n_effectors > 0 && !actuator->driven);
    const char *clash = td_part_clash(TD_PART_MOVED, td_scheme_part(&model->scheme));
    if (!actuator->held || !unknown || clash == NULL)
        return TD_OK;
    return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, actuator->given->line, actuator->name, "%s", clash);
}

static bool limited(const double range[2], double rate)
{
    return isfinite(range[0]) || isfinite(range[1]) || isfinite(rate);
}

// Limits that nothing could keep: of the force that moves nodes where they are told to go, of a volume that the gas
// decides.
static tdStatus check_limits(const tdModel *model, int a, tdError *error)
{
    const tdActuator *actuator = &model->actuators[a];
    const tdSceneActuator *given = actuator->given;
    if (!actuator->driven && model->n_effectors > 0)
        return TD_OK; // inverse control keeps them
    bool rotation = given->kind == TD_ACTUATOR_ROTATION;
    if (actuator->held && given->drive == TD_DRIVE_DISPLACEMENT && limited(given->effort, given->effort_rate))
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, given->line, actuator->name,
                          "a %s that is driven by %s moves whatever effort it takes, so 'effort_range' and "
                          "'effort_rate' cannot be kept; remove them, or drive it by %s",
                          rotation ? "rotation" : "translation", rotation ? "angle" : "displacement",
                          rotation ? "torque" : "force");
    if (given->drive == TD_DRIVE_GAS && limited(given->displacement, given->displacement_rate))
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, given->line, actuator->name,
                          "a cavity that is driven by gas grows as the gas makes it, so that 'displacement_range' and "
                          "'displacement_rate' cannot be kept; remove them, or drive it by volume");
    return TD_OK;
}

static int64_t list_row(const tdModel *model, const tdMeasure *measure, int row, int64_t at)
{
    for (int s = 0; s < measure->n_sets; s++)
        for (int64_t k = 0; k < measure->sets[s].size; k++)
            model->row_coord[at++] = model->bodies[measure->sets[s].body].first + measure->sets[s].coord[k];
    model->row_start[row + 1] = at;
    return at;
}

static int64_t row_size(const tdMeasure *measure)
{
    int64_t size = 0;
    for (int s = 0; s < measure->n_sets; s++)
        size += measure->sets[s].size;
    return size;
}

static tdStatus lay_out_rows(tdModel *model, tdError *error)
{
    int64_t entries = 0, at = 0;
    for (int a = 0; a < model->n_actuators; a++)
        if (!model->actuators[a].held)
        {
            model->actuators[a].row = model->n_rows++;
            entries += row_size(&model->actuators[a].measure);
        }
    for (int e = 0; e < model->n_effectors; e++)
    {
        model->effectors[e].row = model->n_rows;
        model->n_rows += model->effectors[e].measure.rows;
        entries += model->effectors[e].measure.rows * row_size(&model->effectors[e].measure);
    }
    model->row_start = TD_TAKE(&model->arena, int64_t, model->n_rows + 1);
    model->row_coord = TD_TAKE(&model->arena, int64_t, entries);
    if (model->row_start == NULL || model->row_coord == NULL)
        return td_fail_memory(error, "the rows of actuators");
    for (int a = 0; a < model->n_actuators; a++)
        if (!model->actuators[a].held)
            at = list_row(model, &model->actuators[a].measure, model->actuators[a].row, at);
    for (int e = 0; e < model->n_effectors; e++)
        for (int r = 0; r < model->effectors[e].measure.rows; r++)
            at = list_row(model, &model->effectors[e].measure, model->effectors[e].row + r, at);
    return TD_OK;
}

tdStatus td_compile_actuators_end(tdModel *model, tdError *error)
{
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdSoft *soft = model->bodies[b].soft;
        for (int c = 0; c < 3; c++)
        {
            double low = INFINITY, high = -INFINITY;
            for (int32_t i = 0; i < soft->n_nodes; i++)
            {
                low = fmin(low, soft->rest[3 * (int64_t)i + c]);
                high = fmax(high, soft->rest[3 * (int64_t)i + c]);
            }
            model->size = fmax(model->size, high - low);
        }
    }
    for (int a = 0; a < model->n_actuators; a++)
    {
        TD_TRY(finish_actuator(model, a, error));
        TD_TRY(check_held(model, a, error));
        TD_TRY(check_limits(model, a, error));
    }
    for (int e = 0; e < model->n_effectors; e++)
        TD_TRY(finish_effector(model, e, error));
    for (int k = 0; k < model->scene.n_probes; k++)
    {
        model->probes[model->n_probes++].name = model->scene.probes[k].name;
        TD_TRY(finish_set(model, &model->probes[k].point, NULL, error));
    }
    if (td_condense_antagonists(model) > TD_MOST_ANTAGONISTS)
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, model->scene.control.line, "control.groups",
                          "%d groups wind some cables in while they let others out; at most %d are supported",
                          td_condense_antagonists(model), TD_MOST_ANTAGONISTS);
    return lay_out_rows(model, error);
}
