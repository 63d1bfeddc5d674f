// SPDX-License-Identifier: Apache-2.0
// Surfaces that a scene gives by a file or by a group of a mesh: read, placed as the body is, and asked whether they
// enclose a volume.
#include "scene/compile.h"

#include <math.h>
#include <stdlib.h>

static double mesh_extent(const tdMesh *mesh)
{
    double extent = 0;
    for (int c = 0; c < 3; c++)
        for (int64_t i = 0; i < mesh->n_nodes; i++)
            extent = fmax(extent, fabs(mesh->x[3 * i + c] - mesh->x[c]));
    return extent;
}

tdStatus td_surface_read(const tdModel *model, int body, const char *path, int line, const char *field, tdMesh *mesh,
                         tdError *error)
{
    const tdSceneBody *given = &model->scene.bodies[body];
    tdStatus status = td_mesh_read(path, mesh, error);
    if (status != TD_OK)
    {
        char inner[700];
        if (error != NULL)
        {
            td_error_format(error, inner, sizeof inner);
            td_fail_at(error, status, model->scene.file, line, field, "%.600s", inner);
        }
        return status;
    }
    double scale = td_scene_file_scale(&model->scene, given);
    const double *R = given->rotation;
    for (int64_t i = 0; i < mesh->n_nodes; i++)
    {
        double *x = mesh->x + 3 * i, p[3];
        for (int c = 0; c < 3; c++)
            p[c] = scale * x[c];
        for (int c = 0; c < 3; c++)
            x[c] = R[3 * c] * p[0] + R[3 * c + 1] * p[1] + R[3 * c + 2] * p[2] + given->translate[c];
    }
    // Files of loose triangles have each corner several times.
    int64_t merged = 0;
    return td_mesh_merge(mesh, 1e-9 * mesh_extent(mesh), &merged, error);
}

int64_t td_surface_most(const tdMesh *mesh, const tdGroup *group)
{
    return group != NULL ? group->count[TD_CELL_TRI] + 2 * group->count[TD_CELL_QUAD]
                         : mesh->cells[TD_CELL_TRI].count + 2 * mesh->cells[TD_CELL_QUAD].count;
}

int64_t td_surface_list(const tdMesh *mesh, const tdGroup *group, int32_t *tris)
{
    static const tdCellType types[] = {TD_CELL_TRI, TD_CELL_QUAD};
    int64_t n_tris = 0;
    for (int k = 0; k < 2; k++)
    {
        int corners = td_cell_nodes(types[k]);
        int64_t count = group != NULL ? group->count[types[k]] : mesh->cells[types[k]].count;
        for (int64_t i = 0; i < count; i++)
        {
            int64_t cell = group != NULL ? group->cells[types[k]][i] : i;
            const int32_t *n = mesh->cells[types[k]].nodes + corners * cell;
            // By the diagonal at the least number, as the boundary of hexahedra is cut.
            int least = 0;
            for (int c = 1; c < corners; c++)
                least = n[c] < n[least] ? c : least;
            for (int t = 0; t < corners - 2; t++)
            {
                int32_t *to = tris + 3 * n_tris++;
                to[0] = n[least];
                to[1] = n[(least + t + 1) % corners];
                to[2] = n[(least + t + 2) % corners];
            }
        }
    }
    return n_tris;
}

tdStatus td_surface_encloses(const tdModel *model, int64_t n_nodes, const double *x, int64_t n_tris, int32_t *tris,
                             char *reason, size_t size, tdError *error)
{
    tdClosedResult result;
    TD_TRY(td_surface_closed(n_nodes, x, n_tris, tris, &result, error));
    td_closed_reason(&result, x, reason, size);
    if (result.closed && reason[0] == '\0')
        return TD_OK;
    // Places are told in the scene's unit.
    double *scaled = td_take(3 * (size_t)n_nodes, sizeof *scaled);
    for (int64_t i = 0; scaled != NULL && i < 3 * n_nodes; i++)
        scaled[i] = x[i] / model->scene.length_unit;
    td_closed_reason(&result, scaled != NULL ? scaled : x, reason, size);
    free(scaled);
    return TD_OK;
}
