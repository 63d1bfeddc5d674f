// SPDX-License-Identifier: Apache-2.0
// What is drawn of a scene, and where it is: surfaces of soft bodies, links, elements that stand for a reduced body,
// walls of chambers.
#include "body/soft.h"
#include "constraint/constraint.h"
#include "core/parts.h"
#include "core/state.h"
#include "mesh/topology.h"
#include "view/stage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MODAL (64 << 20) // numbers of modes that are sent; a body of more is sent as positions

static bool is_framed(const tdBody *body)
{
    return body->modes != NULL && body->modes->framed;
}

// ---------------------------------------------------------------- soft bodies

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
    tdViewMesh *mesh = &stage->meshes[stage->n_meshes];
    stage->surface[b] = stage->n_meshes++;
    *mesh = (tdViewMesh){.kind = TD_VIEW_SURFACE, .body = b, .actuator = -1, .pose = is_framed(body) ? 0 : -1};
    mesh->n_triangles = (int32_t)body->soft->surface_tris;
    mesh->triangles = TD_TAKE(&stage->arena, int32_t, 3 * (int64_t)mesh->n_triangles);
    if (mesh->triangles == NULL)
        return false;
    memcpy(mesh->triangles, body->soft->surface, 3 * (size_t)mesh->n_triangles * sizeof(int32_t));
    if (!take_nodes(stage, mesh, body->nodes) || !take_fixed(stage, mesh))
        return false;
    mesh->modal = body->modes != NULL && 3 * (int64_t)mesh->n_vertices * body->modes->n <= MOST_MODAL;
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
    const tdSoft *soft = body->soft, *domain = body->modes->domain;
    int64_t elements = body->modes->domain_elements;
    if (elements == 0 || elements >= body->elements)
        return true;
    tdViewMesh *mesh = &stage->meshes[stage->n_meshes++];
    *mesh = (tdViewMesh){.kind = TD_VIEW_DOMAIN, .body = b, .actuator = -1, .pose = is_framed(body) ? 0 : -1};
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
    mesh->modal = stage->meshes[stage->surface[b]].modal;
    return take_nodes(stage, mesh, body->nodes);
}

static void add_cavity(tdViewStage *stage, int a)
{
    const tdMeasure *measure = &stage->model->actuators[a].measure;
    if (stage->model->actuators[a].held || measure->kind != TD_MEASURE_VOLUME || measure->n_sets != 1 ||
        measure->sets[0].body < 0)
        return;
    const tdPointSet *set = &measure->sets[0];
    const tdBody *body = &stage->model->bodies[set->body];
    if (body->parts != NULL)
        return;
    stage->meshes[stage->n_meshes++] = (tdViewMesh){.kind = TD_VIEW_CAVITY,
                                                    .body = set->body,
                                                    .actuator = a,
                                                    .n_vertices = set->n,
                                                    .n_triangles = measure->n_tris,
                                                    .triangles = measure->tris,
                                                    .set = set,
                                                    .modal = stage->meshes[stage->surface[set->body]].modal,
                                                    .pose = is_framed(body) ? 0 : -1};
}

// ---------------------------------------------------------------- rigid parts

static bool add_part(tdViewStage *stage, int b, const tdBodyDrawing *part)
{
    const tdBody *body = &stage->model->bodies[b];
    tdViewMesh *mesh = &stage->meshes[stage->n_meshes++];
    *mesh = (tdViewMesh){.kind = part->plane ? TD_VIEW_PLANE : TD_VIEW_SURFACE,
                         .body = b,
                         .actuator = -1,
                         .n_triangles = (int32_t)part->triangles,
                         .pose = body->count > 0 ? part->part : -1,
                         .coloured = part->coloured};
    memcpy(mesh->colour, part->colour, sizeof mesh->colour);
    mesh->triangles = TD_TAKE(&stage->arena, int32_t, 3 * part->triangles);
    if (mesh->triangles == NULL)
        return false;
    memcpy(mesh->triangles, body->soft->surface + 3 * part->triangle, 3 * (size_t)part->triangles * sizeof(int32_t));
    return take_nodes(stage, mesh, body->nodes);
}

static bool add_parts(tdViewStage *stage, int b)
{
    const tdBodyParts *parts = stage->model->bodies[b].parts;
    bool good = true;
    for (int k = 0; k < parts->n_drawings && good; k++)
        good = add_part(stage, b, &parts->drawings[k]);
    return good;
}

static int64_t count_meshes(const tdModel *model)
{
    int64_t n = 2 * (int64_t)model->n_bodies + model->n_actuators;
    for (int b = 0; b < model->n_bodies; b++)
        n += model->bodies[b].parts != NULL ? model->bodies[b].parts->n_drawings : 0;
    return n;
}

// Parts that can move have a pose each, a frame has one.
static bool take_poses(tdViewStage *stage)
{
    const tdModel *model = stage->model;
    stage->surface = TD_TAKE(&stage->arena, int, model->n_bodies);
    stage->first_pose = TD_TAKE(&stage->arena, int, model->n_bodies + 1);
    if (stage->surface == NULL || stage->first_pose == NULL)
        return false;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        bool parts = body->parts != NULL && body->count > 0;
        stage->surface[b] = -1;
        stage->first_pose[b] = stage->n_poses;
        stage->n_poses += parts ? body->parts->n : is_framed(body);
        stage->n_turns += body->n_turns;
    }
    stage->first_pose[model->n_bodies] = stage->n_poses;
    return true;
}

tdStatus td_view_add_meshes(tdViewStage *stage, tdError *error)
{
    const tdModel *model = stage->model;
    stage->meshes = TD_TAKE(&stage->arena, tdViewMesh, count_meshes(model));
    bool good = stage->meshes != NULL && take_poses(stage);
    for (int b = 0; b < model->n_bodies && good; b++)
        good = model->bodies[b].parts != NULL ? add_parts(stage, b) : add_surface(stage, b);
    for (int b = 0; b < model->n_bodies && good; b++)
        good = model->bodies[b].modes == NULL || add_domain(stage, b);
    for (int a = 0; a < model->n_actuators && good; a++)
        add_cavity(stage, a);
    return good ? TD_OK : td_fail_memory(error, "the meshes of the viewer");
}

// ---------------------------------------------------------------- places

// out = now rest^-1
static void since(const tdPose *now, const tdPose *rest, tdPose *out)
{
    double turned[3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
        {
            double sum = 0;
            for (int k = 0; k < 3; k++)
                sum += now->R[3 * i + k] * rest->R[3 * j + k];
            out->R[3 * i + j] = sum;
        }
    td_turn(out, rest->t, turned);
    for (int c = 0; c < 3; c++)
        out->t[c] = now->t[c] - turned[c];
}

void td_view_turns(const tdViewStage *stage, const tdState *state, double *turns)
{
    for (int b = 0; b < stage->model->n_bodies; b++)
    {
        const tdBody *body = &stage->model->bodies[b];
        if (body->n_turns > 0)
            memcpy(turns, body->ops->turns(body, state), (size_t)body->n_turns * sizeof *turns);
        turns += body->n_turns;
    }
}

void td_view_poses(const tdViewStage *stage, const tdState *state, tdPose *poses)
{
    const tdModel *model = stage->model;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        const double *q = state->q + body->first;
        int first = stage->first_pose[b], n = stage->first_pose[b + 1] - first;
        for (int l = 0; l < n && body->parts != NULL; l++)
        {
            tdPose now;
            body->ops->part(body, state, q, NULL, l, &now, NULL);
            since(&now, &body->parts->start[l], &poses[first + l]);
        }
        if (n > 0 && body->parts == NULL)
            body->ops->frame(body, body->ops->turns(body, state), q, &poses[first]);
    }
}

void td_view_node(const tdViewStage *stage, const double *q, const tdPose *poses, int b, int32_t node, double x[3])
{
    const tdBody *body = &stage->model->bodies[b];
    const tdBodyModes *modes = body->modes;
    const double *from = body->parts != NULL || modes != NULL ? body->soft->rest : q + body->first;
    double y[3];
    for (int c = 0; c < 3; c++)
    {
        int64_t i = 3 * (int64_t)node + c;
        y[c] = from[i];
        for (int j = 0; modes != NULL && j < modes->n; j++)
            y[c] += modes->basis[i * modes->stride + j] * q[body->first + j];
    }
    int first = stage->first_pose[b];
    if (stage->first_pose[b + 1] > first)
        td_place(&poses[first + (body->parts != NULL ? body->parts->of_node[node] : 0)], y, x);
    else
        memcpy(x, y, sizeof y);
}

void td_view_point(const tdViewStage *stage, const double *q, const tdPose *poses, const tdPointSet *set, int32_t p,
                   double x[3])
{
    if (set->body < 0)
    {
        memcpy(x, set->rest + 3 * (int64_t)p, 3 * sizeof *x);
        return;
    }
    x[0] = x[1] = x[2] = 0;
    for (int32_t k = set->start[p]; k < set->start[p + 1]; k++)
    {
        double at[3];
        td_view_node(stage, q, poses, set->body, set->nodes[k], at);
        for (int c = 0; c < 3; c++)
            x[c] += set->weights[k] * at[c];
    }
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
    const tdBodyModes *modes = stage->model->bodies[mesh->body].modes;
    if (mesh->set == NULL)
        return modes->basis[(3 * (int64_t)mesh->nodes[vertex] + axis) * modes->stride + mode];
    double sum = 0;
    for (int32_t k = mesh->set->start[vertex]; k < mesh->set->start[vertex + 1]; k++)
        sum += mesh->set->weights[k] * modes->basis[(3 * (int64_t)mesh->set->nodes[k] + axis) * modes->stride + mode];
    return sum;
}
