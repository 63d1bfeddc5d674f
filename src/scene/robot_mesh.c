// SPDX-License-Identifier: Apache-2.0
// Mesh files as shapes of links: to draw them by colour, to touch them as closed surfaces or as convex hulls.
#include "base/file.h"
#include "mesh/dae.h"
#include "mesh/topology.h"
#include "scene/robot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAR 1e6 // a link does not reach farther [m]

// ---------------------------------------------------------------- hulls

// Directions spread evenly over the sphere: a spiral that turns by the golden angle.
static void direction(int i, int n, double out[3])
{
    const double golden = 4 * atan(1) * (3 - sqrt(5));
    out[2] = 1 - (2.0 * i + 1) / n;
    double r = sqrt(1 - out[2] * out[2]);
    out[0] = r * cos(golden * i);
    out[1] = r * sin(golden * i);
}

// The points farthest in TD_ROBOT_CORNERS directions, each once.
static int farthest_points(int64_t n, const double *x, double *out)
{
    int64_t chosen[TD_ROBOT_CORNERS];
    int count = 0;
    for (int k = 0; k < TD_ROBOT_CORNERS; k++)
    {
        double d[3], best = -INFINITY;
        int64_t at = 0;
        direction(k, TD_ROBOT_CORNERS, d);
        for (int64_t i = 0; i < n; i++)
        {
            double along = d[0] * x[3 * i] + d[1] * x[3 * i + 1] + d[2] * x[3 * i + 2];
            if (along > best)
            {
                best = along;
                at = i;
            }
        }
        bool known = false;
        for (int i = 0; i < count && !known; i++)
            known = chosen[i] == at;
        if (!known)
        {
            chosen[count] = at;
            memcpy(out + 3 * (size_t)count++, x + 3 * at, 3 * sizeof *x);
        }
    }
    return count;
}

bool td_robot_hull(tdArena *arena, int64_t n, const double *x, tdShape *out)
{
    tdArena scratch = {0};
    tdError error = {0};
    bool good = n <= TD_HULL_INPUT && td_shape_hull(&scratch, n, x, out, &error) == TD_OK;
    double few[3 * TD_ROBOT_CORNERS];
    // What touches looks at all faces of a hull: a few hundred corners are as good as thousands.
    if (good && out->hull->n_points <= TD_ROBOT_CORNERS)
        good = td_shape_hull(arena, out->hull->n_points, out->hull->x, out, &error) == TD_OK;
    else
    {
        int count = farthest_points(n, x, few);
        good = td_shape_hull(arena, count, few, out, &error) == TD_OK;
    }
    td_arena_free(&scratch);
    return good;
}

// ---------------------------------------------------------------- triangles

static void add_triangle(tdTriMesh *mesh, int32_t a, int32_t b, int32_t c, bool mirrored)
{
    int32_t *to = mesh->tris + 3 * mesh->n_tris++;
    to[0] = a;
    to[1] = mirrored ? c : b;
    to[2] = mirrored ? b : c;
}

// Triangles and halves of quadrangles that are in a group (-1: all), with the nodes that they use.
static tdTriMesh *pick(tdArena *arena, const tdMesh *mesh, int group, const double scale[3], int32_t *number)
{
    const tdCells *tris = &mesh->cells[TD_CELL_TRI], *quads = &mesh->cells[TD_CELL_QUAD];
    const tdGroup *only = group < 0 ? NULL : &mesh->groups[group];
    int64_t n_tris = only == NULL ? tris->count : only->count[TD_CELL_TRI], n_quads = only == NULL ? quads->count : 0;
    tdTriMesh *own = TD_TAKE(arena, tdTriMesh, 1);
    if (own == NULL || (own->tris = TD_TAKE(arena, int32_t, 3 * (n_tris + 2 * n_quads))) == NULL)
        return NULL;
    // A mirrored mesh has its triangles turned round, so that their normals stay outside.
    bool mirrored = scale[0] * scale[1] * scale[2] < 0;
    for (int64_t i = 0; i < n_tris; i++)
    {
        const int32_t *t = tris->nodes + 3 * (only == NULL ? i : only->cells[TD_CELL_TRI][i]);
        add_triangle(own, t[0], t[1], t[2], mirrored);
    }
    for (int64_t i = 0; i < n_quads; i++)
    {
        const int32_t *q = quads->nodes + 4 * i;
        add_triangle(own, q[0], q[1], q[2], mirrored);
        add_triangle(own, q[0], q[2], q[3], mirrored);
    }
    for (int64_t i = 0; i < mesh->n_nodes; i++)
        number[i] = -1;
    for (int64_t i = 0; i < 3 * own->n_tris; i++)
    {
        int32_t *of = &number[own->tris[i]];
        if (*of < 0)
            *of = (int32_t)own->n_nodes++;
        own->tris[i] = *of;
    }
    own->x = TD_TAKE(arena, double, 3 * own->n_nodes);
    for (int64_t i = 0; i < mesh->n_nodes && own->x != NULL; i++)
        for (int k = 0; k < 3 && number[i] >= 0; k++)
            own->x[3 * (int64_t)number[i] + k] = scale[k] * mesh->x[3 * i + k];
    return own->x == NULL ? NULL : own;
}

static tdStatus check_reach(const tdTriMesh *mesh, const char *path, tdError *error)
{
    for (int64_t i = 0; i < 3 * mesh->n_nodes; i++)
        if (!(fabs(mesh->x[i]) < FAR))
            return td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL, "the mesh reaches %g m; check its 'scale'",
                              mesh->x[i]);
    return TD_OK;
}

// ---------------------------------------------------------------- one file

typedef struct meshFile
{
    tdMesh mesh;
    tdDaeColours colours;
} meshFile;

static tdStatus read_file(const char *path, meshFile *file, tdError *error)
{
    char extension[16], *data = NULL;
    size_t size = 0;
    td_path_extension(extension, sizeof extension, path);
    if (strcmp(extension, ".dae") != 0)
        return td_mesh_read(path, &file->mesh, error);
    TD_TRY(td_file_read(path, &data, &size, error));
    tdStatus status = td_mesh_read_dae_colours(data, size, path, true, &file->mesh, &file->colours, error);
    free(data);
    return status;
}

// Files of loose triangles have each corner several times.
static tdStatus merge(tdMesh *mesh, tdError *error)
{
    double size = 0;
    int64_t merged = 0;
    for (int64_t i = 0; i < 3 * mesh->n_nodes; i++)
        size = fmax(size, fabs(mesh->x[i]));
    return td_mesh_merge(mesh, 1e-9 * size, &merged, error);
}

static tdStatus draw(tdRobotReader *reader, const meshFile *file, const char *path, const double scale[3],
                     int32_t *number, int *n, tdRobotMesh *parts, tdError *error)
{
    bool by_colour = file->colours.n > 0 && file->colours.n == file->mesh.n_groups;
    for (int g = 0; g < (by_colour ? file->mesh.n_groups : 1); g++)
    {
        if (by_colour && file->mesh.groups[g].count[TD_CELL_TRI] == 0)
            continue;
        tdTriMesh *own = pick(reader->arena, &file->mesh, by_colour ? g : -1, scale, number);
        if (own == NULL)
            return td_fail_memory(error, path);
        TD_TRY(check_reach(own, path, error));
        parts[*n] = (tdRobotMesh){.shape = {.type = TD_SHAPE_MESH, .mesh = own}};
        parts[*n].colour[0] = -1;
        if (by_colour)
            memcpy(parts[*n].colour, file->colours.rgba[g], sizeof parts[*n].colour);
        ++*n;
    }
    return TD_OK;
}

// The surface if it encloses a volume, else its hull; *why says why.
static tdStatus solid(tdRobotReader *reader, const meshFile *file, const char *path, const double scale[3],
                      tdMeshUse use, int32_t *number, int *n, tdRobotMesh *parts, char *why, size_t why_size,
                      tdError *error)
{
    tdTriMesh *own = pick(reader->arena, &file->mesh, -1, scale, number);
    if (own == NULL)
        return td_fail_memory(error, path);
    TD_TRY(check_reach(own, path, error));
    tdRobotMesh *part = &parts[0];
    *part = (tdRobotMesh){.shape = {.type = TD_SHAPE_MESH, .mesh = own}};
    part->colour[0] = -1;
    *n = 1;
    tdClosedResult closed = {0};
    tdError inner = {0};
    if (use == TD_MESH_COLLIDES)
    {
        tdStatus status = td_surface_closed(own->n_nodes, own->x, own->n_tris, own->tris, &closed, &inner);
        if (status != TD_OK && status != TD_ERROR_INPUT)
            return td_fail_memory(error, path);
        if (status == TD_OK && closed.closed && closed.flat == 0 && closed.volume > 0)
            return TD_OK;
        if (status == TD_OK)
            td_closed_reason(&closed, own->x, why, why_size);
        else
            snprintf(why, why_size, "%s", inner.message);
    }
    if (!td_robot_hull(reader->arena, own->n_nodes, own->x, &part->shape))
        *n = 0; // flat
    return TD_OK;
}

tdStatus td_robot_mesh(tdRobotReader *reader, const char *path, const double scale[3], tdMeshUse use, int *n,
                       tdRobotMesh **parts, char *why, size_t why_size, tdError *error)
{
    meshFile file = {0};
    *n = 0;
    why[0] = '\0';
    tdStatus status = read_file(path, &file, error);
    if (status == TD_OK)
        status = merge(&file.mesh, error);
    int64_t count = file.mesh.cells[TD_CELL_TRI].count + 2 * file.mesh.cells[TD_CELL_QUAD].count;
    reader->n_tris += count;
    if (status == TD_OK && count == 0)
        status = td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL, "the mesh has no triangles");
    else if (status == TD_OK && reader->n_tris > TD_TREE_TRIS)
        status = td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL,
                            "the robot has more than %d triangles in all; use coarser meshes", TD_TREE_TRIS);
    int32_t *number = malloc((size_t)(file.mesh.n_nodes + 1) * sizeof *number);
    *parts = TD_TAKE(reader->arena, tdRobotMesh, file.mesh.n_groups + 1);
    if (status == TD_OK && (number == NULL || *parts == NULL))
        status = td_fail_memory(error, path);
    if (status == TD_OK)
        status = use == TD_MESH_DRAWN ? draw(reader, &file, path, scale, number, n, *parts, error)
                                      : solid(reader, &file, path, scale, use, number, n, *parts, why, why_size, error);
    free(number);
    free(file.colours.rgba);
    td_mesh_free(&file.mesh);
    return status;
}
