// SPDX-License-Identifier: Apache-2.0
// Loads on a soft body. Forces on faces become forces on their nodes by the shape functions of the face,
// share_a = int N_a dA; pressure keeps its faces, because it follows them.
//
// Faces are those of the boundary: triangles, quadrilaterals of hexahedra, quadratic triangles of quadratic
// tetrahedra; of a body of membranes its triangles; of a plane body its edges, times its thickness.
#include "base/log.h"
#include "mesh/shape.h"
#include "scene/compile.h"
#include "scene/include.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FACE_NODES 6

typedef struct loadFace
{
    int n; // 2, 3, 4 or 6 nodes, corners first
    int32_t nodes[FACE_NODES];
} loadFace;

// What the loads of a body share.
typedef struct loadWork
{
    tdBodyWork *body;
    int64_t n_faces;
    loadFace *faces;
    bool *face;    // by face: chosen
    double *share; // by node
} loadWork;

// ---------------------------------------------------------------- faces

// The run of boundary triangles that starts at t is a face; returns its length.
static int face_at(const tdBodyWork *w, int64_t t, loadFace *face)
{
    const tdMesh *mesh = &w->soft->mesh;
    int64_t tets = mesh->cells[TD_CELL_TET].count, hexes = mesh->cells[TD_CELL_HEX].count;
    const int32_t *n = w->surface.tris + 3 * t;
    int32_t cell = w->surface.cell[t];
    if (cell >= tets + hexes)
    {
        int32_t nodes[6] = {n[0], n[3], n[6], n[1], n[4], n[7]};
        face->n = 6;
        memcpy(face->nodes, nodes, sizeof nodes);
        return 4;
    }
    // A quadrilateral is a fan of two; one that is collapsed has a single triangle.
    bool fan =
        cell >= tets && t + 1 < w->surface.n_tris && w->surface.cell[t + 1] == cell && n[3] == n[0] && n[4] == n[2];
    face->n = fan ? 4 : 3;
    memcpy(face->nodes, n, 3 * sizeof *n);
    if (fan)
        face->nodes[3] = n[5];
    return fan ? 2 : 1;
}

static int compare_faces(const void *first, const void *second)
{
    const loadFace *a = first, *b = second;
    for (int i = 0; i < 2; i++)
        if (a->nodes[i] != b->nodes[i])
            return a->nodes[i] < b->nodes[i] ? -1 : 1;
    return 0;
}

// Edges of one triangle only.
static void boundary_edges(loadWork *w)
{
    const tdSoft *soft = w->body->soft;
    int64_t n = 3 * soft->surface_tris;
    for (int64_t i = 0; i < n; i++)
    {
        int32_t a = soft->surface[i], b = soft->surface[i % 3 == 2 ? i - 2 : i + 1];
        w->faces[i] = (loadFace){2, {a < b ? a : b, a < b ? b : a}};
    }
    qsort(w->faces, (size_t)n, sizeof *w->faces, compare_faces);
    for (int64_t i = 0, end = 0; i < n; i = end)
    {
        for (end = i + 1; end < n && compare_faces(&w->faces[i], &w->faces[end]) == 0; end++)
            ;
        if (end == i + 1)
            w->faces[w->n_faces++] = w->faces[i];
    }
}

static tdStatus take_faces(loadWork *w, tdError *error)
{
    const tdSoft *soft = w->body->soft;
    int64_t most = 3 * soft->surface_tris;
    w->faces = td_take((size_t)most, sizeof *w->faces);
    w->face = td_take((size_t)most, sizeof *w->face);
    w->share = td_take((size_t)soft->n_nodes, sizeof *w->share);
    if (w->faces == NULL || w->face == NULL || w->share == NULL)
        return td_fail_memory(error, "the loads");
    if (w->body->given->plane != TD_PLANE_NONE)
        boundary_edges(w);
    else if (td_body_is_flat(w->body))
        for (; w->n_faces < soft->surface_tris; w->n_faces++)
        {
            w->faces[w->n_faces].n = 3;
            memcpy(w->faces[w->n_faces].nodes, soft->surface + 3 * w->n_faces, 3 * sizeof(int32_t));
        }
    else
        for (int64_t t = 0; t < w->body->surface.n_tris;)
            t += face_at(w->body, t, &w->faces[w->n_faces++]);
    return TD_OK;
}

// ---------------------------------------------------------------- choice

// Corners of a face, ascending, -1 in place of those it has not.
typedef struct cornerKey
{
    int32_t node[4];
} cornerKey;

static int compare_corners(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cornerKey));
}

static cornerKey corners_of(int n, const int32_t *nodes)
{
    cornerKey key = {{-1, -1, -1, -1}};
    for (int i = 0; i < n; i++)
    {
        int at = i;
        for (; at > 0 && key.node[at - 1] > nodes[i]; at--)
            key.node[at] = key.node[at - 1];
        key.node[at] = nodes[i];
    }
    return key;
}

// The faces that are cells of a group, as sorted keys; free().
static tdStatus group_faces(const tdBodyWork *w, const tdGroup *group, cornerKey **out, int64_t *n, tdError *error)
{
    static const tdCellType edges[] = {TD_CELL_LINE}, sides[] = {TD_CELL_TRI, TD_CELL_QUAD};
    bool plane = w->given->plane != TD_PLANE_NONE;
    const tdCellType *types = plane ? edges : sides;
    *n = 0;
    *out = td_take((size_t)(group->count[TD_CELL_LINE] + group->count[TD_CELL_TRI] + group->count[TD_CELL_QUAD]),
                   sizeof **out);
    if (*out == NULL)
        return td_fail_memory(error, "the loads");
    for (int k = 0; k < (plane ? 1 : 2); k++)
        for (int64_t i = 0; i < group->count[types[k]]; i++)
        {
            int corners = td_cell_nodes(types[k]);
            const int32_t *nodes = w->soft->mesh.cells[types[k]].nodes + corners * (int64_t)group->cells[types[k]][i];
            (*out)[(*n)++] = corners_of(corners, nodes);
        }
    qsort(*out, (size_t)*n, sizeof **out, compare_corners);
    return TD_OK;
}

// Whether a face has the direction of a side. Corners of a face come first, and its normal points outwards.
static bool has_direction(const loadWork *w, const loadFace *face, const tdSelect *select)
{
    const double *x = w->body->soft->mesh.x;
    const double *a = x + 3 * (int64_t)face->nodes[0], *b = x + 3 * (int64_t)face->nodes[1];
    const double *c = x + 3 * (int64_t)face->nodes[2];
    double normal[3];
    for (int i = 0; i < 3; i++)
    {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        normal[i] = (b[j] - a[j]) * (c[k] - a[k]) - (b[k] - a[k]) * (c[j] - a[j]);
    }
    return td_select_faces(select, normal);
}

// A group of faces means just these faces, a side those of its direction; every other selector means the faces all of
// whose nodes it chooses.
static tdStatus select_faces(loadWork *w, const tdSelect *select, const char *field, int64_t *count, tdError *error)
{
    tdBodyWork *body = w->body;
    const tdMesh *mesh = &body->soft->mesh;
    TD_TRY(td_select_nodes(body->model, mesh, select, field, body->chosen, error));
    cornerKey *listed = NULL;
    int64_t n_listed = 0;
    if (select->kind == TD_SELECT_GROUP)
        TD_TRY(group_faces(body, &mesh->groups[td_mesh_find_group(mesh, select->group)], &listed, &n_listed, error));
    *count = 0;
    for (int64_t f = 0; f < w->n_faces; f++)
    {
        const loadFace *face = &w->faces[f];
        w->face[f] = true;
        for (int a = 0; a < face->n; a++)
            w->face[f] = w->face[f] && body->chosen[face->nodes[a]];
        if (select->kind == TD_SELECT_SIDE)
            w->face[f] = w->face[f] && has_direction(w, face, select);
        if (n_listed > 0)
        {
            cornerKey key = corners_of(face->n == 6 ? 3 : face->n, face->nodes);
            w->face[f] = bsearch(&key, listed, (size_t)n_listed, sizeof key, compare_corners) != NULL;
        }
        *count += w->face[f];
    }
    free(listed);
    if (*count == 0)
        return td_fail_at(error, TD_ERROR_INPUT, body->model->scene.file, select->line, field,
                          "selects no face of the surface of body '%s': a face is selected if all its nodes are",
                          body->given->name);
    return TD_OK;
}

// ---------------------------------------------------------------- forces

// Adds int N_a dA of a face to the shares of its nodes; returns its area (an edge: length times thickness).
static double add_shares(const loadWork *w, const loadFace *face)
{
    const double *x = w->body->soft->rest;
    if (face->n == 2)
    {
        const double *a = x + 3 * (int64_t)face->nodes[0], *b = x + 3 * (int64_t)face->nodes[1];
        double area = hypot(b[0] - a[0], b[1] - a[1]) * w->body->given->material.thickness;
        w->share[face->nodes[0]] += area / 2;
        w->share[face->nodes[1]] += area / 2;
        return area;
    }
    tdRule rule = td_rule_face(face->n);
    double total = 0;
    for (int p = 0; p < rule.n; p++)
    {
        double N[FACE_NODES], dN[2 * FACE_NODES], t[2][3] = {{0}}, normal[3];
        td_shape_face(face->n, rule.xi[p], N, dN);
        for (int a = 0; a < face->n; a++)
            for (int c = 0; c < 6; c++)
                t[c / 3][c % 3] += dN[2 * a + c / 3] * x[3 * (int64_t)face->nodes[a] + c % 3];
        for (int c = 0; c < 3; c++)
            normal[c] = t[0][(c + 1) % 3] * t[1][(c + 2) % 3] - t[0][(c + 2) % 3] * t[1][(c + 1) % 3];
        double area = rule.weight[p] * sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
        total += area;
        for (int a = 0; a < face->n; a++)
            w->share[face->nodes[a]] += N[a] * area;
    }
    return total;
}

// Nodal forces of the nodes with a share: share * vector.
static tdStatus add_dead_load(loadWork *w, const tdSceneLoad *given, tdSoftLoad *out, tdError *error)
{
    tdArena *arena = &w->body->model->arena;
    int32_t n = 0, nodes = w->body->soft->n_nodes;
    for (int32_t i = 0; i < nodes; i++)
        n += w->share[i] != 0;
    out->nodes = TD_TAKE(arena, int32_t, n);
    out->force = TD_TAKE(arena, double, 3 * (int64_t)n);
    if (out->nodes == NULL || out->force == NULL)
        return td_fail_memory(error, "the loads");
    for (int32_t i = 0; i < nodes; i++)
        if (w->share[i] != 0)
        {
            out->nodes[out->n] = i;
            for (int c = 0; c < 3; c++)
                out->force[3 * (int64_t)out->n + c] = w->share[i] * given->vector[c];
            out->n++;
        }
    return TD_OK;
}

// One load of the body for each kind of face that is chosen.
static tdStatus add_pressure(loadWork *w, const tdSceneLoad *given, const char *field, int input, tdError *error)
{
    static const int kinds[] = {3, 4, 6};
    tdArena *arena = &w->body->model->arena;
    tdSoft *soft = w->body->soft;
    if (w->body->given->plane != TD_PLANE_NONE)
        return td_fail_at(error, TD_ERROR_INPUT, w->body->model->scene.file, given->line, field,
                          "pressure on the edges of a plane body is not supported yet; use 'traction', which does not "
                          "follow the edge, or a body of hexahedra one cell thick");
    for (int k = 0; k < 3; k++)
    {
        int64_t m = kinds[k], faces = 0;
        for (int64_t f = 0; f < w->n_faces; f++)
            faces += w->face[f] && w->faces[f].n == m;
        if (faces == 0)
            continue;
        tdSoftLoad *out = &soft->loads[soft->n_loads++];
        *out = (tdSoftLoad){.kind = given->kind, .input = input, .pressure = given->pressure, .face_nodes = (int32_t)m};
        out->nodes = TD_TAKE(arena, int32_t, m * faces);
        out->block = TD_TAKE(arena, int32_t, m * m * faces);
        if (out->nodes == NULL || out->block == NULL)
            return td_fail_memory(error, "the loads");
        for (int64_t f = 0; f < w->n_faces; f++)
            if (w->face[f] && w->faces[f].n == m)
                memcpy(out->nodes + m * out->n++, w->faces[f].nodes, (size_t)m * sizeof(int32_t));
    }
    return TD_OK;
}

static tdStatus add_load(loadWork *w, int number, tdError *error)
{
    tdBodyWork *body = w->body;
    const tdSceneLoad *given = &body->model->scene.loads[number];
    tdSoft *soft = body->soft;
    char field[64];
    snprintf(field, sizeof field, "loads[%d]", number);
    int input = td_compile_input(body->model, given->name);
    memset(w->share, 0, (size_t)soft->n_nodes * sizeof *w->share);
    int64_t n = 0;
    if (given->kind == TD_LOAD_POINT_TOTAL || given->kind == TD_LOAD_POINT_EACH)
    {
        TD_TRY(td_select_nodes(body->model, &soft->mesh, &given->select, field, body->chosen, error));
        for (int32_t i = 0; i < soft->n_nodes; i++)
            n += body->chosen[i];
        for (int32_t i = 0; i < soft->n_nodes; i++)
            if (body->chosen[i])
                w->share[i] = given->kind == TD_LOAD_POINT_EACH ? 1 : 1.0 / (double)n;
    }
    else
    {
        TD_TRY(select_faces(w, &given->select, field, &n, error));
        if (given->kind == TD_LOAD_SURFACE_PRESSURE)
            return add_pressure(w, given, field, input, error);
        double total = 0;
        for (int64_t f = 0; f < w->n_faces; f++)
            if (w->face[f])
                total += add_shares(w, &w->faces[f]);
        for (int32_t i = 0; i < soft->n_nodes && given->kind == TD_LOAD_SURFACE_TOTAL; i++)
            w->share[i] /= total;
    }
    tdSoftLoad *out = &soft->loads[soft->n_loads++];
    *out = (tdSoftLoad){.kind = given->kind, .input = input};
    return add_dead_load(w, given, out, error);
}

// A load that no free coordinate feels is legal, but hardly meant. One load of the scene may be several here.
static void warn_if_held(const tdBodyWork *body, int number, const tdSoftLoad *loads, int n)
{
    const double *vector = body->model->scene.loads[number].vector;
    bool any = false;
    for (int k = 0; k < n; k++)
    {
        bool pressure = loads[k].kind == TD_LOAD_SURFACE_PRESSURE;
        for (int64_t i = 0; i < (pressure ? loads[k].face_nodes : 1) * (int64_t)loads[k].n; i++)
            for (int c = 0; c < 3; c++)
            {
                any = any || pressure || vector[c] != 0;
                if ((pressure || vector[c] != 0) && !body->soft->held[3 * (int64_t)loads[k].nodes[i] + c])
                    return;
            }
    }
    if (any)
        td_log(body->settings, TD_LOG_WARNING,
               "%s:%d: loads[%d] acts on held nodes only: it changes the reaction but moves nothing",
               td_include_file(&body->model->scene, body->model->scene.loads[number].line),
               td_include_line(body->model->scene.loads[number].line), number);
}

tdStatus td_compile_face_shares(tdBodyWork *body, const tdSelect *select, const char *field, double *share,
                                tdError *error)
{
    loadWork w = {.body = body};
    int64_t n = 0;
    double area = 0;
    tdStatus status = take_faces(&w, error);
    if (status == TD_OK)
        status = select_faces(&w, select, field, &n, error);
    for (int64_t f = 0; status == TD_OK && f < w.n_faces; f++)
        area += w.face[f] ? add_shares(&w, &w.faces[f]) : 0;
    for (int32_t i = 0; status == TD_OK && i < body->soft->n_nodes; i++)
        share[i] = w.share[i] / area;
    free(w.faces);
    free(w.face);
    free(w.share);
    return status;
}

tdStatus td_compile_loads(tdBodyWork *body, tdError *error)
{
    const tdScene *scene = &body->model->scene;
    loadWork w = {.body = body};
    body->soft->loads = TD_TAKE(&body->model->arena, tdSoftLoad, 3 * (int64_t)scene->n_loads);
    tdStatus status = body->soft->loads == NULL ? td_fail_memory(error, "the loads") : take_faces(&w, error);
    for (int k = 0; k < scene->n_loads && status == TD_OK; k++)
        if (scene->loads[k].body == body->index)
        {
            int first = body->soft->n_loads;
            status = add_load(&w, k, error);
            if (status == TD_OK)
                warn_if_held(body, k, body->soft->loads + first, body->soft->n_loads - first);
        }
    free(w.share);
    free(w.face);
    free(w.faces);
    return status;
}

void td_compile_pressure_blocks(tdSoft *soft)
{
    for (int k = 0; k < soft->n_loads; k++)
    {
        tdSoftLoad *load = &soft->loads[k];
        int64_t m = load->face_nodes;
        for (int64_t f = 0; f < load->n && load->kind == TD_LOAD_SURFACE_PRESSURE; f++)
            for (int64_t p = 0; p < m * m; p++)
            {
                int32_t a = load->nodes[m * f + p / m], b = load->nodes[m * f + p % m];
                load->block[m * m * f + p] = td_block_find(&soft->pattern, a > b ? a : b, a > b ? b : a);
            }
    }
}
