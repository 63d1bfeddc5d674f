// SPDX-License-Identifier: Apache-2.0
#include "render/raster.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

// A node with more triangles than this keeps their own normals: averaging would cost the square.
#define MANY 64

// Triangles around each node: of[start[i]] ... of[start[i + 1] - 1].
typedef struct Around
{
    int64_t *start;
    int32_t *of;
    double *face; // normals of faces, length = 2 * area
} Around;

static void around_free(Around *around)
{
    free(around->start);
    free(around->of);
    free(around->face);
}

static void face_normal(const tdDrawMesh *mesh, int64_t t, double n[3])
{
    const int32_t *v = mesh->tris + 3 * t;
    const double *a = mesh->x + 3 * (int64_t)v[0], *b = mesh->x + 3 * (int64_t)v[1], *c = mesh->x + 3 * (int64_t)v[2];
    double e[3], f[3];
    for (int k = 0; k < 3; k++)
    {
        e[k] = b[k] - a[k];
        f[k] = c[k] - a[k];
    }
    for (int k = 0; k < 3; k++)
        n[k] = e[(k + 1) % 3] * f[(k + 2) % 3] - e[(k + 2) % 3] * f[(k + 1) % 3];
}

static tdStatus around_make(const tdDrawMesh *mesh, Around *around, tdError *error)
{
    around->start = td_take((size_t)mesh->n_nodes + 2, sizeof(int64_t));
    around->of = td_take((size_t)mesh->n_tris * 3, sizeof(int32_t));
    around->face = td_take((size_t)mesh->n_tris * 3, sizeof(double));
    if (around->start == NULL || around->of == NULL || around->face == NULL)
        return td_fail_memory(error, "the surface's topology");
    // Counts two places ahead, so that filling leaves the starts where they belong.
    for (int64_t i = 0; i < 3 * mesh->n_tris; i++)
        around->start[mesh->tris[i] + 2]++;
    for (int64_t i = 2; i <= mesh->n_nodes; i++)
        around->start[i] += around->start[i - 1];
    for (int64_t i = 0; i < 3 * mesh->n_tris; i++)
        around->of[around->start[mesh->tris[i] + 1]++] = (int32_t)(i / 3);
    for (int64_t t = 0; t < mesh->n_tris; t++)
        face_normal(mesh, t, around->face + 3 * t);
    return TD_OK;
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// Sum of the normals around a corner that differ from its own by less than the crease angle.
static void corner_normal(const Around *around, int64_t t, int32_t node, double cosine, float out[3])
{
    const double *own = around->face + 3 * t;
    double sum[3] = {0}, length = sqrt(dot(own, own));
    int64_t from = around->start[node], to = around->start[node + 1];
    if (to - from > MANY)
        from = to;
    for (int64_t i = from; i < to; i++)
    {
        const double *other = around->face + 3 * (int64_t)around->of[i];
        double d = dot(own, other), limit = cosine * length * sqrt(dot(other, other));
        // A neighbour that is wound the other way counts with its other side.
        if (fabs(d) >= limit)
            for (int k = 0; k < 3; k++)
                sum[k] += d < 0 ? -other[k] : other[k];
    }
    double size = sqrt(dot(sum, sum));
    const double *use = size > 0 ? sum : own;
    size = size > 0 ? size : length > 0 ? length : 1;
    for (int k = 0; k < 3; k++)
        out[k] = (float)(use[k] / size);
}

static bool has_node(const int32_t *tri, int32_t node)
{
    return tri[0] == node || tri[1] == node || tri[2] == node;
}

// Whether the viewer sees the side that the normal points away from.
static bool faces_away(const tdDrawMesh *mesh, const Around *around, const tdCamera *camera, int64_t t)
{
    const double *x = mesh->x + 3 * (int64_t)mesh->tris[3 * t], *n = around->face + 3 * t;
    double to_eye[3];
    for (int k = 0; k < 3; k++)
        to_eye[k] =
            camera->distance > 0 ? camera->centre[k] + camera->distance * camera->back[k] - x[k] : camera->back[k];
    return dot(n, to_eye) < 0;
}

// An edge is sharp when it is a border, joins more than two triangles, is a crease or the outline.
static bool edge_is_sharp(const tdDrawMesh *mesh, const Around *around, const tdCamera *camera, int64_t t, int edge,
                          double cosine)
{
    int32_t a = mesh->tris[3 * t + edge], b = mesh->tris[3 * t + (edge + 1) % 3];
    int64_t from = around->start[a], to = around->start[a + 1], other = -1;
    if (to - from > MANY)
        return false;
    for (int64_t i = from; i < to; i++)
    {
        int32_t s = around->of[i];
        if (s == t || !has_node(mesh->tris + 3 * (int64_t)s, b))
            continue;
        if (other >= 0)
            return true;
        other = s;
    }
    if (other < 0)
        return true;
    const double *n = around->face + 3 * t, *m = around->face + 3 * other;
    double d = dot(n, m), size = sqrt(dot(n, n) * dot(m, m));
    if (d < cosine * size && -d < cosine * size)
        return true;
    return faces_away(mesh, around, camera, t) != (faces_away(mesh, around, camera, other) != (d < 0));
}

// A triangle that touches a sharp edge with a corner alone draws the end of the line there: without
// it, the line would be notched at each node.
static tdStatus mark_corners(const tdDrawMesh *mesh, uint16_t *lines, tdError *error)
{
    bool *sharp = td_take((size_t)mesh->n_nodes, sizeof(bool));
    if (sharp == NULL)
        return td_fail_memory(error, "the surface's edges");
    for (int64_t i = 0; i < 3 * mesh->n_tris; i++)
        if (lines[i / 3] >> (i % 3 + TD_LINE_SHIFT) & 1)
            sharp[mesh->tris[i]] = sharp[mesh->tris[i % 3 == 2 ? i - 2 : i + 1]] = true;
    for (int64_t i = 0; i < 3 * mesh->n_tris; i++)
        if (sharp[mesh->tris[i]])
            lines[i / 3] |= (uint16_t)(1u << (i % 3 + 2 * TD_LINE_SHIFT));
    free(sharp);
    return TD_OK;
}

tdStatus td_corners_prepare(const tdDrawMesh *mesh, const tdCamera *camera, double crease, float *normals,
                            uint16_t *lines, tdError *error)
{
    Around around = {0};
    tdStatus status = around_make(mesh, &around, error);
    double cosine = cos(crease * M_PI / 180);
    for (int64_t t = 0; status == TD_OK && t < mesh->n_tris; t++)
    {
        for (int i = 0; i < 3; i++)
            corner_normal(&around, t, mesh->tris[3 * t + i], cosine, normals + 9 * t + 3 * i);
        lines[t] = 0;
        if (mesh->edges)
            lines[t] = mesh->edge_mask != NULL ? mesh->edge_mask[t] & TD_LINE_ALL : TD_LINE_ALL;
        for (int i = 0; mesh->features && i < 3; i++)
            if (edge_is_sharp(mesh, &around, camera, t, i, cosine))
                lines[t] |= (uint16_t)(1u << (i + TD_LINE_SHIFT));
    }
    if (status == TD_OK && mesh->features)
        status = mark_corners(mesh, lines, error);
    around_free(&around);
    return status;
}
