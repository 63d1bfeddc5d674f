// SPDX-License-Identifier: Apache-2.0
#include "view/stage.h"

#include "body/articulated.h"
#include "body/soft.h"
#include "constraint/constraint.h"
#include "mesh/topology.h"
#include "reduce/reduced_body.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MODAL (64 << 20) // numbers of modes that are sent; a body of more is sent as positions

void td_view_stage_hold(tdViewStage *stage)
{
    atomic_fetch_add(&stage->holders, 1);
}

void td_view_stage_release(tdViewStage *stage)
{
    if (stage == NULL || atomic_fetch_sub(&stage->holders, 1) > 1)
        return;
    td_model_free(stage->model);
    td_arena_free(&stage->arena);
    free(stage);
}

static bool is_reduced(const tdBody *body)
{
    return body->ops == &td_reduced_ops;
}

// ---------------------------------------------------------------- meshes

// Numbers the nodes that triangles use; the triangles are rewritten in these numbers.
static bool take_nodes(tdViewStage *stage, tdViewMesh *mesh, int64_t n_nodes)
{
    int32_t *number = malloc((size_t)n_nodes * sizeof *number);
    if (number == NULL)
        return false;
    for (int64_t i = 0; i < n_nodes; i++)
        number[i] = -1;
    int64_t corners = 3 * (int64_t)mesh->n_triangles;
    for (int64_t i = 0; i < corners; i++)
        number[mesh->triangles[i]] = 0;
    // In the order of the nodes, which the mesh's own locality made.
    for (int64_t i = 0; i < n_nodes; i++)
        if (number[i] == 0)
            number[i] = mesh->n_vertices++;
    mesh->nodes = TD_TAKE(&stage->arena, int32_t, mesh->n_vertices);
    bool good = mesh->nodes != NULL;
    for (int64_t i = 0; good && i < n_nodes; i++)
        if (number[i] >= 0)
            mesh->nodes[number[i]] = (int32_t)i;
    for (int64_t i = 0; good && i < corners; i++)
        mesh->triangles[i] = number[mesh->triangles[i]];
    free(number);
    return good;
}

// Nodes that supports hold where they are. In a plane body every z is held, which is no support.
static bool take_fixed(tdViewStage *stage, tdViewMesh *mesh)
{
    const tdSoft *soft = stage->model->bodies[mesh->body].soft;
    int axes = stage->model->scene.bodies[mesh->body].plane == TD_PLANE_NONE ? 3 : 2;
    bool *moved = calloc((size_t)soft->n_nodes, sizeof *moved);
    mesh->fixed = TD_TAKE(&stage->arena, int32_t, mesh->n_vertices);
    if (moved == NULL || mesh->fixed == NULL)
    {
        free(moved);
        return false;
    }
    for (int32_t k = 0; k < soft->n_driven; k++)
        moved[soft->driven[k].coord / 3] = true;
    for (int32_t k = 0; k < soft->n_turned; k++)
        moved[soft->turned[k].node] = true;
    for (int32_t i = 0; i < mesh->n_vertices; i++)
    {
        int held = 0;
        for (int c = 0; c < axes; c++)
            held += soft->held[3 * (int64_t)mesh->nodes[i] + c];
        if (held > 0 && !moved[mesh->nodes[i]])
            mesh->fixed[mesh->n_fixed++] = i;
    }
    free(moved);
    return true;
}

static bool add_surface(tdViewStage *stage, int b)
{
    const tdBody *body = &stage->model->bodies[b];
    tdViewMesh *mesh = &stage->meshes[stage->n_meshes++];
    *mesh = (tdViewMesh){.kind = TD_VIEW_SURFACE, .body = b, .actuator = -1};
    mesh->n_triangles = (int32_t)body->soft->surface_tris;
    mesh->triangles = TD_TAKE(&stage->arena, int32_t, 3 * (int64_t)mesh->n_triangles);
    if (mesh->triangles == NULL)
        return false;
    memcpy(mesh->triangles, body->soft->surface, 3 * (size_t)mesh->n_triangles * sizeof(int32_t));
    if (!take_nodes(stage, mesh, body->nodes) || !take_fixed(stage, mesh))
        return false;
    mesh->modal = is_reduced(body) && 3 * (int64_t)mesh->n_vertices * td_reduced_of(body)->n <= MOST_MODAL;
    return true;
}

// Triangles of the sides of a cell, by its corners; straight edges are good enough to show where it is.
static int cell_triangles(tdCellType type, int32_t out[12][3])
{
    static const int8_t tet[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}};
    static const int8_t hex[12][3] = {{0, 2, 1}, {0, 3, 2}, {4, 5, 6}, {4, 6, 7}, {0, 1, 5}, {0, 5, 4},
                                      {1, 2, 6}, {1, 6, 5}, {2, 3, 7}, {2, 7, 6}, {3, 0, 4}, {3, 4, 7}};
    int n = type == TD_CELL_HEX ? 12 : type == TD_CELL_TRI ? 1 : 4;
    for (int t = 0; t < n; t++)
        for (int c = 0; c < 3; c++)
            out[t][c] = type == TD_CELL_HEX ? hex[t][c] : type == TD_CELL_TRI ? c : tet[t][c];
    return n;
}

// The elements of a reduced domain. All of them are no domain, and polynomials have none.
static bool add_domain(tdViewStage *stage, int b)
{
    const tdBody *body = &stage->model->bodies[b];
    const tdSoft *soft = body->soft, *domain = &td_reduced_of(body)->domain;
    int64_t elements = 0;
    for (int k = 0; k < domain->n_blocks; k++)
        elements += domain->blocks[k].count;
    if (elements == 0 || elements >= body->elements)
        return true;
    tdViewMesh *mesh = &stage->meshes[stage->n_meshes++];
    *mesh = (tdViewMesh){.kind = TD_VIEW_DOMAIN, .body = b, .actuator = -1};
    mesh->triangles = TD_TAKE(&stage->arena, int32_t, 36 * elements);
    if (mesh->triangles == NULL)
        return false;
    for (int k = 0; k < domain->n_blocks; k++)
        for (int64_t i = 0; i < 4 * (int64_t)domain->blocks[k].batches; i++)
        {
            int32_t e = domain->blocks[k].element[i];
            if (e < 0)
                continue;
            tdCellType type = td_element_shape[domain->blocks[k].kind].cell;
            int32_t sides[12][3], n = cell_triangles(type, sides);
            const int32_t *cell = soft->mesh.cells[type].nodes + td_cell_nodes(type) * (int64_t)soft->element_cell[e];
            for (int t = 0; t < n; t++, mesh->n_triangles++)
                for (int c = 0; c < 3; c++)
                    mesh->triangles[3 * (int64_t)mesh->n_triangles + c] = cell[sides[t][c]];
        }
    mesh->modal = stage->meshes[b].modal;
    return take_nodes(stage, mesh, body->nodes);
}

static void add_cavity(tdViewStage *stage, int a)
{
    const tdMeasure *measure = &stage->model->actuators[a].measure;
    if (stage->model->actuators[a].held || measure->kind != TD_MEASURE_VOLUME || measure->n_sets != 1 ||
        measure->sets[0].body < 0)
        return;
    const tdPointSet *set = &measure->sets[0];
    stage->meshes[stage->n_meshes++] = (tdViewMesh){.kind = TD_VIEW_CAVITY,
                                                    .body = set->body,
                                                    .actuator = a,
                                                    .n_vertices = set->n,
                                                    .n_triangles = measure->n_tris,
                                                    .triangles = measure->tris,
                                                    .set = set,
                                                    .modal = stage->meshes[set->body].modal};
}

// Clients get coordinates and make positions of them: of bodies whose positions are more than that nothing would be
// right.
static tdStatus check_bodies(const tdModel *model, tdError *error)
{
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        bool rigid = td_body_is_articulated(body);
        if (!rigid && !(is_reduced(body) && td_reduced_of(body)->floating != NULL))
            continue;
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, model->scene.bodies[b].line, "bodies",
                          "body '%s' is %s, which the viewer of this version does not show; 'tendril run' and 'tendril "
                          "render' do",
                          body->name, rigid ? "rigid" : "reduced on a frame of its own");
    }
    return TD_OK;
}

static tdStatus add_meshes(tdViewStage *stage, tdError *error)
{
    const tdModel *model = stage->model;
    stage->meshes = TD_TAKE(&stage->arena, tdViewMesh, 2 * (int64_t)model->n_bodies + model->n_actuators);
    bool good = stage->meshes != NULL;
    for (int b = 0; b < model->n_bodies && good; b++)
        good = add_surface(stage, b); // mesh b is the surface of body b
    for (int b = 0; b < model->n_bodies && good; b++)
        good = !is_reduced(&model->bodies[b]) || add_domain(stage, b);
    for (int a = 0; a < model->n_actuators && good; a++)
        add_cavity(stage, a);
    return good ? TD_OK : td_fail_memory(error, "the meshes of the viewer");
}

void td_view_vertex_rest(const tdViewStage *stage, const tdViewMesh *mesh, int32_t vertex, double x[3])
{
    const double *rest = stage->model->bodies[mesh->body].soft->rest;
    for (int c = 0; c < 3; c++)
    {
        x[c] = mesh->set == NULL ? rest[3 * (int64_t)mesh->nodes[vertex] + c] : 0;
        for (int32_t k = mesh->set == NULL ? 0 : mesh->set->start[vertex];
             mesh->set != NULL && k < mesh->set->start[vertex + 1]; k++)
            x[c] += mesh->set->weights[k] * rest[3 * (int64_t)mesh->set->nodes[k] + c];
    }
}

double td_view_vertex_mode(const tdViewStage *stage, const tdViewMesh *mesh, int32_t vertex, int axis, int mode)
{
    const tdReduced *reduced = td_reduced_of(&stage->model->bodies[mesh->body]);
    if (mesh->set == NULL)
        return reduced->basis[(3 * (int64_t)mesh->nodes[vertex] + axis) * reduced->stride + mode];
    double sum = 0;
    for (int32_t k = mesh->set->start[vertex]; k < mesh->set->start[vertex + 1]; k++)
        sum +=
            mesh->set->weights[k] * reduced->basis[(3 * (int64_t)mesh->set->nodes[k] + axis) * reduced->stride + mode];
    return sum;
}

// ---------------------------------------------------------------- actuators

double td_view_scene_value(const tdViewStage *stage, int a, double time)
{
    const tdModel *model = stage->model;
    if (stage->actuators[a].column < 0)
        return NAN;
    // Efforts act where the integrator takes forces, displacements are reached at the end of the step.
    bool effort = model->actuators[a].given->drive == TD_DRIVE_EFFORT;
    double when = time + (effort ? model->scheme.load_time : model->scheme.h);
    return td_motion_value(&model->scene.motion, stage->actuators[a].column, when,
                           model->inputs[model->actuators[a].input].standard);
}

static double weight_of(const tdModel *model)
{
    double mass = 0;
    for (int b = 0; b < model->n_bodies; b++)
        mass += model->bodies[b].soft->total_mass;
    return 9.81 * mass;
}

// Range of a slider: the scene's limits; where it gives none what its motion spans; else a guess by size and weight.
static void set_range(const tdModel *model, const tdActuator *actuator, tdViewActuator *out)
{
    const tdSceneActuator *given = actuator->given;
    const double *limit = given->drive == TD_DRIVE_EFFORT         ? given->effort
                          : given->drive == TD_DRIVE_DISPLACEMENT ? given->displacement
                                                                  : given->gas;
    const tdSceneMotion *motion = &model->scene.motion;
    double least = INFINITY, most = -INFINITY;
    for (int i = 0; out->column >= 0 && i < motion->n_times; i++)
    {
        double value = motion->values[(int64_t)i * motion->n_names + out->column];
        least = isnan(value) ? least : fmin(least, value);
        most = isnan(value) ? most : fmax(most, value);
    }
    if (!(most > least))
    {
        bool cavity = given->kind == TD_ACTUATOR_CAVITY, angle = given->kind == TD_ACTUATOR_ROTATION;
        if (given->drive == TD_DRIVE_EFFORT)
            most = cavity ? 50e3 : weight_of(model) * (angle ? model->size : 2);
        else
            most = angle ? 1.5707963267948966 : cavity ? fabs(actuator->rest_value) : 0.2 * model->size;
        bool pulls = given->kind == TD_ACTUATOR_CABLE || given->drive == TD_DRIVE_GAS;
        least = pulls ? 0 : -most;
    }
    out->low = isfinite(limit[0]) ? limit[0] : fmin(least, isfinite(limit[1]) ? limit[1] : least);
    out->high = isfinite(limit[1]) ? limit[1] : fmax(most, out->low);
    if (!(out->high > out->low))
        out->high = out->low + 1;
}

// Hands the actuators to the viewer. The model is still the caller's alone: no state has been made of it.
static tdStatus take_actuators(tdViewStage *stage, tdError *error)
{
    tdModel *model = stage->model;
    stage->actuators = TD_TAKE(&stage->arena, tdViewActuator, model->n_actuators + 1);
    if (stage->actuators == NULL)
        return td_fail_memory(error, "the actuators of the viewer");
    for (int a = 0; a < model->n_actuators; a++)
    {
        tdActuator *actuator = &model->actuators[a];
        stage->actuators[a].column = actuator->driven ? model->inputs[actuator->input].column : -1;
        set_range(model, actuator, &stage->actuators[a]);
        if (stage->actuators[a].column >= 0)
        {
            actuator->driven = false;
            model->inputs[actuator->input].column = -1;
        }
    }
    tdError why = {0};
    if (model->n_effectors == 0 || model->n_actuators == 0)
        snprintf(stage->inverse, sizeof stage->inverse, "the scene has no %s",
                 model->n_effectors == 0 ? "effectors" : "actuators");
    else if (td_inverse_suits(model, 0, &why) != TD_OK)
        snprintf(stage->inverse, sizeof stage->inverse, "%s", why.message);
    // As the compiler asks of a scene whose translations and rotations are free.
    const tdScheme *scheme = &model->scheme;
    bool suits = scheme->method == TD_METHOD_STATIC ||
                 (scheme->method == TD_METHOD_THETA && scheme->theta == 1 && scheme->theta_vq == 1);
    for (int a = 0; a < model->n_actuators && !suits && stage->inverse[0] == '\0'; a++)
        if (model->actuators[a].held)
            snprintf(stage->inverse, sizeof stage->inverse,
                     "'%s' moves nodes as one piece, which inverse control does with the integrators backward_euler "
                     "and static only",
                     model->actuators[a].name);
    return TD_OK;
}

// ---------------------------------------------------------------- life

static void measure_bounds(tdViewStage *stage)
{
    for (int c = 0; c < 3; c++)
    {
        stage->bounds[c] = INFINITY;
        stage->bounds[3 + c] = -INFINITY;
    }
    for (int b = 0; b < stage->model->n_bodies; b++)
        for (int64_t i = 0; i < 3 * stage->model->bodies[b].nodes; i++)
        {
            double x = stage->model->bodies[b].soft->rest[i];
            stage->bounds[i % 3] = fmin(stage->bounds[i % 3], x);
            stage->bounds[3 + i % 3] = fmax(stage->bounds[3 + i % 3], x);
        }
    // A spring that a tenth of the robot's size long bears its weight: gentle, and still felt.
    stage->stiffness = weight_of(stage->model) / (0.1 * stage->model->size);
}

tdStatus td_view_stage_load(const char *path, const char *name, const tdSettings *settings, uint32_t generation,
                            tdViewStage **out, tdError *error)
{
    *out = NULL;
    tdViewStage *stage = td_take(1, sizeof *stage);
    if (stage == NULL)
        return td_fail_memory(error, "the viewer");
    stage->holders = 1;
    stage->generation = generation;
    const char *slash = strrchr(path, '/');
    snprintf(stage->name, sizeof stage->name, "%s", name);
    snprintf(stage->file, sizeof stage->file, "%s", slash == NULL ? path : slash + 1);
    snprintf(stage->path, sizeof stage->path, "%s", path);
    tdStatus status = td_model_load(path, settings, &stage->model, error);
    if (status == TD_OK)
        status = check_bodies(stage->model, error);
    if (status == TD_OK)
        status = add_meshes(stage, error);
    if (status == TD_OK)
        status = take_actuators(stage, error);
    if (status != TD_OK)
    {
        td_view_stage_release(stage);
        return status;
    }
    measure_bounds(stage);
    for (int b = 0; b < stage->model->n_bodies; b++)
        stage->reduced = stage->reduced || is_reduced(&stage->model->bodies[b]);
    *out = stage;
    return TD_OK;
}
