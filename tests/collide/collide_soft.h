// SPDX-License-Identifier: Apache-2.0
// Soft surfaces for the tests of collision.
#pragma once
#include "shapes.h"

/// Positions and triangles with normals outwards.
typedef struct soft
{
    int64_t n_nodes, n_tris;
    double *x;
    int32_t *tris;
} soft;

static inline void soft_free(soft *s)
{
    free(s->x);
    free(s->tris);
    *s = (soft){0};
}

static inline soft soft_of(const tdMesh *mesh, int64_t n_tris, const int32_t *tris)
{
    soft s = {mesh->n_nodes, n_tris, malloc((size_t)mesh->n_nodes * 3 * sizeof(double)),
              malloc((size_t)n_tris * 3 * sizeof(int32_t))};
    assert_true(s.x != NULL && s.tris != NULL);
    memcpy(s.x, mesh->x, (size_t)mesh->n_nodes * 3 * sizeof(double));
    memcpy(s.tris, tris, (size_t)n_tris * 3 * sizeof(int32_t));
    return s;
}

static inline soft soft_sphere(double x, double y, double z, double radius, int subdivisions)
{
    tdMesh mesh = {0};
    tdError error = {0};
    const double center[3] = {x, y, z};
    assert_ok(td_mesh_sphere_surface(center, radius, subdivisions, &mesh, &error), error);
    soft s = soft_of(&mesh, mesh.cells[TD_CELL_TRI].count, mesh.cells[TD_CELL_TRI].nodes);
    td_mesh_free(&mesh);
    return s;
}

static inline soft soft_torus(double major, double minor, int n_major, int n_minor)
{
    tdMesh mesh = {0};
    tdError error = {0};
    assert_ok(td_mesh_torus_surface(major, minor, n_major, n_minor, &mesh, &error), error);
    soft s = soft_of(&mesh, mesh.cells[TD_CELL_TRI].count, mesh.cells[TD_CELL_TRI].nodes);
    td_mesh_free(&mesh);
    return s;
}

/// Surface of a box cut into tetrahedra; nodes inside are not on it.
static inline soft soft_box(const double min[3], const double max[3], int nx, int ny, int nz)
{
    tdMesh mesh = {0};
    tdError error = {0};
    tdSurface surface = {0};
    const int cells[3] = {nx, ny, nz};
    assert_ok(td_mesh_box(min, max, cells, false, &mesh, &error), error);
    assert_ok(td_mesh_boundary_faces(&mesh, &surface, &error), error);
    soft s = soft_of(&mesh, surface.n_tris, surface.tris);
    td_surface_free(&surface);
    td_mesh_free(&mesh);
    return s;
}

static inline void soft_place(soft *s, const tdPose *pose)
{
    for (int64_t i = 0; i < s->n_nodes; i++)
        td_place(pose, s->x + 3 * i, s->x + 3 * i);
}

static inline tdColliderDef soft_collider(const soft *s, int32_t field)
{
    tdColliderDef c = td_default_collider(TD_COLLIDER_SOFT);
    c.field = field;
    c.n_nodes = s->n_nodes;
    c.rest = s->x;
    c.n_tris = s->n_tris;
    c.tris = s->tris;
    return c;
}

static inline tdColliderDef rigid_collider(const tdShape *shape, int32_t frame)
{
    tdColliderDef c = td_default_collider(TD_COLLIDER_RIGID);
    c.shape = *shape;
    c.frame = frame;
    return c;
}

static inline scene scene_with(tdColliderDef *colliders, int n, double margin)
{
    tdCollideDef def = {.n_colliders = n, .colliders = colliders, .margin = margin};
    return scene_of(&def, 0);
}
