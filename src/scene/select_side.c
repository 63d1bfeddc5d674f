// SPDX-License-Identifier: Apache-2.0
// Selectors that follow from how a mesh is connected: faces of its boundary by surface and direction, and connected
// parts. Both are for meshes without groups.
#include "base/memory.h"
#include "mesh/locate.h"
#include "scene/compile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool td_select_faces(const tdSelect *s, const double normal[3])
{
    double length = sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
    bool any = s->a[0] == 0 && s->a[1] == 0 && s->a[2] == 0;
    // A face at just this angle is meant, whatever its rounding.
    return any || normal[0] * s->a[0] + normal[1] * s->a[1] + normal[2] * s->a[2] >= (cos(s->radius) - 1e-9) * length;
}

static void normal_of(const tdMesh *mesh, const int32_t *nodes, double normal[3])
{
    const double *a = mesh->x + 3 * (int64_t)nodes[0], *b = mesh->x + 3 * (int64_t)nodes[1];
    const double *c = mesh->x + 3 * (int64_t)nodes[2];
    for (int i = 0; i < 3; i++)
    {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        normal[i] = (b[j] - a[j]) * (c[k] - a[k]) - (b[k] - a[k]) * (c[j] - a[j]);
    }
}

// Which triangles of the boundary are walls of cavities. A boundary that is not closed, as where cells overlap or touch
// at an edge, has no inside: then outer and inner cannot be distinguished, which is an error rather than a guess.
static tdStatus find_inner(const tdModel *model, const tdMesh *mesh, const tdSurface *surface, const tdSelect *s,
                           const char *field, int32_t *inner, tdError *error)
{
    int32_t n_inner = 0;
    int32_t *tris = td_take((size_t)(3 * surface->n_tris), sizeof *tris);
    if (tris == NULL)
        return td_fail_memory(error, "a side");
    memcpy(tris, surface->tris, (size_t)(3 * surface->n_tris) * sizeof *tris);
    tdClosedResult result = {0};
    tdStatus status = td_surface_closed(mesh->n_nodes, mesh->x, surface->n_tris, tris, &result, error);
    free(tris);
    TD_TRY(status);
    char why[300];
    td_closed_reason(&result, mesh->x, why, sizeof why);
    if (!result.closed)
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, s->line, field,
                          "outer and inner surface cannot be distinguished: %s; use a box, a sphere or 'facing' alone",
                          why);
    TD_TRY(td_surface_inner(mesh->n_nodes, mesh->x, surface->n_tris, surface->tris, inner, &n_inner, error));
    if (s->shell == TD_SHELL_INNER && n_inner == 0)
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, s->line, field,
                          "the body has no inner surface: its mesh encloses no cavity. Choose a part of the outer "
                          "surface by 'facing', a box or a sphere");
    return TD_OK;
}

tdStatus td_select_triangles(const tdModel *model, const tdMesh *mesh, const tdSurface *surface, const tdSelect *s,
                             const char *field, bool *chosen, tdError *error)
{
    int32_t *inner = NULL;
    if (surface->n_tris == 0)
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, s->line, field,
                          "a side is one of the boundary of volume elements, and this body has none; use a box, a "
                          "sphere, a plane or a group");
    if (s->shell != TD_SHELL_ANY)
    {
        inner = td_take((size_t)surface->n_tris, sizeof *inner);
        tdStatus status =
            inner == NULL ? td_fail_memory(error, "a side") : find_inner(model, mesh, surface, s, field, inner, error);
        if (status != TD_OK)
        {
            free(inner);
            return status;
        }
    }
    for (int64_t t = 0; t < surface->n_tris; t++)
    {
        double normal[3];
        normal_of(mesh, surface->tris + 3 * t, normal);
        chosen[t] = (inner == NULL || (inner[t] >= 0) == (s->shell == TD_SHELL_INNER)) && td_select_faces(s, normal);
    }
    free(inner);
    return TD_OK;
}

tdStatus td_select_side(const tdModel *model, const tdMesh *mesh, const tdSelect *s, const char *field, bool *chosen,
                        tdError *error)
{
    tdSurface surface = {0};
    TD_TRY(td_mesh_boundary_faces(mesh, &surface, error));
    bool *triangle = td_take((size_t)surface.n_tris, sizeof *triangle);
    tdStatus status = triangle == NULL ? td_fail_memory(error, "a side")
                                       : td_select_triangles(model, mesh, &surface, s, field, triangle, error);
    for (int64_t i = 0; i < 3 * surface.n_tris && status == TD_OK; i++)
        chosen[surface.tris[i]] = chosen[surface.tris[i]] || triangle[i / 3];
    free(triangle);
    td_surface_free(&surface);
    return status;
}

tdStatus td_select_part(const tdModel *model, const tdMesh *mesh, const tdSelect *s, const char *field, bool *chosen,
                        tdError *error)
{
    tdLocator locator = {0};
    tdPlace place;
    TD_TRY(td_locator_make(mesh, &locator, error));
    bool found = td_locator_find(&locator, s->a, &place);
    td_locator_free(&locator);
    if (!found)
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, s->line, field,
                          "the mesh has no elements that could be connected; use a box, a sphere or a plane");
    int dim = td_cell_dim(place.type);
    int64_t n_cells = 0, at = 0, n_parts = 0;
    for (int type = 0; type < TD_CELL_TYPES; type++)
        if (td_cell_dim((tdCellType)type) == dim)
        {
            at = type == (int)place.type ? n_cells + place.cell : at;
            n_cells += mesh->cells[type].count;
        }
    int32_t *part = td_take((size_t)n_cells, sizeof *part);
    tdStatus status =
        part == NULL ? td_fail_memory(error, "a connected part") : td_mesh_components(mesh, dim, &n_parts, part, error);
    for (int type = 0, c = 0; type < TD_CELL_TYPES && status == TD_OK; type++)
        for (int64_t k = 0; td_cell_dim((tdCellType)type) == dim && k < mesh->cells[type].count; k++, c++)
            for (int a = 0; a < td_cell_nodes((tdCellType)type) && part[c] == part[at]; a++)
                chosen[mesh->cells[type].nodes[k * td_cell_nodes((tdCellType)type) + a]] = true;
    free(part);
    return status;
}
