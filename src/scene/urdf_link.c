// SPDX-License-Identifier: Apache-2.0
// Links: inertia, and the shapes for contact and for pictures.
#include "base/file.h"
#include "mesh/topology.h"
#include "scene/urdf_part.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

// ---------------------------------------------------------------- inertia

// R I R': the axes of <inertial> to those of the link. Both as xx, yy, zz, xy, xz, yz.
static void turn_inertia(const double R[9], const double I[6], double out[6])
{
    static const int pair[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
    const double full[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]};
    for (int e = 0; e < 6; e++)
    {
        const double *a = R + 3 * (size_t)pair[e][0], *b = R + 3 * (size_t)pair[e][1];
        out[e] = 0;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                out[e] += a[i] * full[3 * i + j] * b[j];
    }
}

static tdStatus read_inertial(tdUrdf *urdf, const xmlNode *node, tdTreeLink *link)
{
    static const char *const names[6] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
    const xmlNode *mass = NULL, *inertia = NULL;
    tdPose origin;
    double I[6] = {0};
    TD_TRY(td_urdf_unused(urdf, node, "origin mass inertia", ""));
    TD_TRY(td_urdf_origin(urdf, node, &origin));
    TD_TRY(td_urdf_child(urdf, node, "mass", &mass));
    TD_TRY(td_urdf_child(urdf, node, "inertia", &inertia));
    if (mass == NULL || inertia == NULL)
        return td_urdf_fail(urdf, node, "<%s> is missing", mass == NULL ? "mass" : "inertia");
    TD_TRY(td_urdf_unused(urdf, mass, "", "value"));
    TD_TRY(td_urdf_unused(urdf, inertia, "", "ixx iyy izz ixy ixz iyz"));
    TD_TRY(td_urdf_numbers(urdf, mass, "value", TD_DIM_MASS, 1, &link->mass, NULL));
    for (int e = 0; e < 6; e++)
    {
        bool given = false; // products of inertia are zero when they are left out
        TD_TRY(td_urdf_numbers(urdf, inertia, names[e], TD_DIM_NONE, 1, &I[e], e < 3 ? NULL : &given));
    }
    if (link->mass < 0)
        return td_urdf_fail(urdf, mass, "the mass of link '%s' is %g kg; it must not be negative", link->name,
                            link->mass);
    memcpy(link->center, origin.t, sizeof link->center);
    turn_inertia(origin.R, I, link->inertia);
    return TD_OK;
}

// ---------------------------------------------------------------- meshes

static bool readable(const char *path)
{
    return access(path, R_OK) == 0;
}

// Where a mesh is: relative to the file's folder; package://NAME/REST stands for REST or NAME/REST there or one above.
static tdStatus find_mesh(tdUrdf *urdf, const xmlNode *node, const char *given, char *out, size_t size)
{
    const char *name = given;
    char relative[PATH_MAX];
    if (urdf->folder == NULL)
        return td_urdf_fail(urdf, node, "the mesh '%.200s' cannot be read: this document has no folder", given);
    if (strncmp(given, "file://", 7) == 0)
        name = given + 7;
    else if (strncmp(given, "package://", 10) == 0)
    {
        const char *package = given + 10, *rest = strchr(package, '/');
        if (rest == NULL || rest[1] == '\0')
            return td_urdf_fail(urdf, node, "'%.200s' names no file in the package", given);
        const char *const tries[2] = {rest + 1, package};
        for (int k = 0; k < 4; k++)
        {
            snprintf(relative, sizeof relative, "%s%s", k < 2 ? "" : "../", tries[k % 2]);
            if (td_path_join(out, size, urdf->folder, relative) && readable(out))
                return TD_OK;
        }
        return td_urdf_fail(urdf, node,
                            "'%.200s' is neither in the folder of this file nor in the one above it; put the package's "
                            "meshes there, or write a path relative to this file",
                            given);
    }
    else if (strstr(given, "://") != NULL)
        return td_urdf_fail(urdf, node, "'%.200s' is not a file; write a path relative to this file, or package://",
                            given);
    if (!td_path_join(out, size, urdf->folder, name))
        return td_urdf_fail(urdf, node, "the path '%.60s...' is too long", given);
    return TD_OK;
}

static void add_triangle(tdTriMesh *mesh, int32_t a, int32_t b, int32_t c, bool mirrored)
{
    int32_t *to = mesh->tris + 3 * mesh->n_tris++;
    to[0] = a;
    to[1] = mirrored ? c : b;
    to[2] = mirrored ? b : c;
}

static tdStatus copy_mesh(tdUrdf *urdf, const xmlNode *node, const tdMesh *mesh, const double scale[3], tdShape *shape)
{
    const tdCells *tris = &mesh->cells[TD_CELL_TRI], *quads = &mesh->cells[TD_CELL_QUAD];
    int64_t count = tris->count + 2 * quads->count;
    if (count == 0)
        return td_urdf_fail(urdf, node, "the mesh has no triangles");
    urdf->n_tris += count;
    if (urdf->n_tris > TD_TREE_TRIS)
        return td_urdf_fail(urdf, node, "more than %d triangles in all; take coarser meshes", TD_TREE_TRIS);
    tdTriMesh *own = TD_TAKE(urdf->arena, tdTriMesh, 1);
    if (own == NULL || (own->x = TD_TAKE(urdf->arena, double, 3 * mesh->n_nodes)) == NULL ||
        (own->tris = TD_TAKE(urdf->arena, int32_t, 3 * count)) == NULL)
        return td_fail_memory(urdf->error, urdf->file);
    own->n_nodes = mesh->n_nodes;
    for (int64_t i = 0; i < 3 * mesh->n_nodes; i++)
    {
        own->x[i] = scale[i % 3] * mesh->x[i];
        if (!(fabs(own->x[i]) < 1e6))
            return td_urdf_fail(urdf, node, "the mesh reaches %g m; check its 'scale'", own->x[i]);
    }
    // A mirrored mesh has its triangles turned round, so that their normals stay outside.
    bool mirrored = scale[0] * scale[1] * scale[2] < 0;
    for (const int32_t *t = tris->nodes, *end = t + 3 * tris->count; t < end; t += 3)
        add_triangle(own, t[0], t[1], t[2], mirrored);
    for (const int32_t *q = quads->nodes, *end = q + 4 * quads->count; q < end; q += 4)
    {
        add_triangle(own, q[0], q[1], q[2], mirrored);
        add_triangle(own, q[0], q[2], q[3], mirrored);
    }
    *shape = (tdShape){.type = TD_SHAPE_MESH, .mesh = own};
    return TD_OK;
}

static tdStatus load_mesh(tdUrdf *urdf, const xmlNode *node, const char *path, const double scale[3], tdShape *shape)
{
    tdMesh mesh = {0};
    tdError inner = {0};
    int64_t merged = 0;
    tdStatus status = td_mesh_read(path, &mesh, &inner);
    double size = 0;
    for (int64_t i = 0; i < 3 * mesh.n_nodes && status == TD_OK; i++)
        size = fmax(size, fabs(mesh.x[i]));
    if (status == TD_OK) // files of loose triangles have each corner several times
        status = td_mesh_merge(&mesh, 1e-9 * size, &merged, &inner);
    if (status != TD_OK)
    {
        char text[600];
        td_error_format(&inner, text, sizeof text);
        td_urdf_fail(urdf, node, "%s", text);
    }
    else
        status = copy_mesh(urdf, node, &mesh, scale, shape);
    td_mesh_free(&mesh);
    return status;
}

static tdStatus read_mesh(tdUrdf *urdf, const xmlNode *node, tdShape *shape)
{
    const char *name = NULL;
    char path[PATH_MAX], extension[16];
    double scale[3] = {1, 1, 1};
    bool given = false;
    TD_TRY(td_urdf_unused(urdf, node, "", "filename scale"));
    TD_TRY(td_urdf_text(urdf, node, "filename", &name));
    if (name == NULL || name[0] == '\0')
        return td_urdf_fail(urdf, node, "the attribute 'filename' is missing");
    TD_TRY(td_urdf_numbers(urdf, node, "scale", TD_DIM_NONE, 3, scale, &given));
    if (scale[0] == 0 || scale[1] == 0 || scale[2] == 0)
        return td_urdf_fail(urdf, node, "a scale of zero leaves nothing of the mesh");
    TD_TRY(find_mesh(urdf, node, name, path, sizeof path));
    td_path_extension(extension, sizeof extension, path);
    if (strcasecmp(extension, ".stl") != 0 && strcasecmp(extension, ".obj") != 0)
        return td_urdf_fail(urdf, node,
                            "meshes of links are read from STL and OBJ files, not from '%.200s'; convert it", name);
    return load_mesh(urdf, node, path, scale, shape);
}

// ---------------------------------------------------------------- geometry

static tdStatus positive(tdUrdf *urdf, const xmlNode *node, const char *name, int n, double *out)
{
    TD_TRY(td_urdf_numbers(urdf, node, name, TD_DIM_LENGTH, n, out, NULL));
    char why[TD_UNIT_WHY];
    for (int i = 0; i < n; i++)
    {
        if (!(out[i] > 0))
            return td_urdf_fail(urdf, node, "'%s' is %g m; a size must be more than zero", name, out[i]);
        if (!td_dim_check(TD_DIM_LENGTH, true, out[i], why))
            return td_urdf_fail(urdf, node, "'%s': %.300s", name, why);
    }
    return TD_OK;
}

static tdStatus read_shape(tdUrdf *urdf, const xmlNode *node, tdShape *shape)
{
    double size[3] = {0}, radius = 0, length = 0;
    if (td_urdf_is(node, "box"))
    {
        TD_TRY(td_urdf_unused(urdf, node, "", "size"));
        TD_TRY(positive(urdf, node, "size", 3, size));
        *shape = td_shape_box(size[0], size[1], size[2]);
        return TD_OK;
    }
    if (td_urdf_is(node, "mesh"))
        return read_mesh(urdf, node, shape);
    bool sphere = td_urdf_is(node, "sphere"), cylinder = td_urdf_is(node, "cylinder");
    if (!sphere && !cylinder && !td_urdf_is(node, "capsule"))
        return td_urdf_fail(urdf, node,
                            "geometry '%.40s' is not known; there are box, sphere, cylinder, capsule and mesh",
                            (const char *)node->name);
    TD_TRY(td_urdf_unused(urdf, node, "", sphere ? "radius" : "radius length"));
    TD_TRY(positive(urdf, node, "radius", 1, &radius));
    if (!sphere)
        TD_TRY(positive(urdf, node, "length", 1, &length));
    *shape = sphere     ? td_shape_sphere(radius)
             : cylinder ? td_shape_cylinder(radius, length)
                        : td_shape_capsule(radius, length);
    return TD_OK;
}

static tdStatus read_geometry(tdUrdf *urdf, const xmlNode *node, tdShape *shape)
{
    const xmlNode *geometry = NULL, *only = NULL;
    TD_TRY(td_urdf_child(urdf, node, "geometry", &geometry));
    if (geometry == NULL)
        return td_urdf_fail(urdf, node, "<geometry> is missing");
    for (const xmlNode *child = geometry->children; child != NULL; child = child->next)
    {
        if (child->type != XML_ELEMENT_NODE)
            continue;
        if (only != NULL)
            return td_urdf_fail(urdf, child, "a second shape in one <geometry>; write another <%s>",
                                (const char *)node->name);
        only = child;
    }
    if (only == NULL)
        return td_urdf_fail(urdf, geometry, "there is no shape in it");
    return read_shape(urdf, only, shape);
}

// ---------------------------------------------------------------- colours

static tdStatus read_rgba(tdUrdf *urdf, const xmlNode *material, float rgba[4])
{
    const xmlNode *colour = NULL;
    double value[4];
    TD_TRY(td_urdf_child(urdf, material, "color", &colour));
    rgba[0] = -1;
    if (colour == NULL)
        return TD_OK;
    TD_TRY(td_urdf_numbers(urdf, colour, "rgba", TD_DIM_NONE, 4, value, NULL));
    for (int k = 0; k < 4; k++)
    {
        if (!(value[k] >= 0 && value[k] <= 1))
            return td_urdf_fail(urdf, colour, "a component of 'rgba' is %g; they go from 0 to 1", value[k]);
        rgba[k] = (float)value[k];
    }
    return TD_OK;
}

tdStatus td_urdf_colour(tdUrdf *urdf, const xmlNode *material)
{
    tdUrdfColour *colour = &urdf->colours[urdf->n_colours];
    TD_TRY(td_urdf_unused(urdf, material, "color", "name"));
    TD_TRY(td_urdf_name(urdf, material, "name", &colour->name));
    TD_TRY(read_rgba(urdf, material, colour->rgba));
    urdf->n_colours++;
    return TD_OK;
}

static tdStatus colour_of(tdUrdf *urdf, const xmlNode *visual, float rgba[4])
{
    const xmlNode *material = NULL;
    const char *name = NULL;
    rgba[0] = -1;
    TD_TRY(td_urdf_child(urdf, visual, "material", &material));
    if (material == NULL)
        return TD_OK;
    TD_TRY(td_urdf_unused(urdf, material, "color", "name"));
    TD_TRY(read_rgba(urdf, material, rgba));
    TD_TRY(td_urdf_text(urdf, material, "name", &name));
    for (int i = 0; i < urdf->n_colours && name != NULL && rgba[0] < 0; i++)
        if (strcmp(urdf->colours[i].name, name) == 0)
            memcpy(rgba, urdf->colours[i].rgba, sizeof urdf->colours[i].rgba);
    return TD_OK;
}

// ---------------------------------------------------------------- link

static tdStatus read_part(tdUrdf *urdf, const xmlNode *node, int link, bool collides)
{
    tdTreeShape shape = {.link = link, .line = td_urdf_line(node), .collides = collides, .drawn = !collides};
    if (urdf->n_shapes >= TD_TREE_SHAPES)
        return td_urdf_fail(urdf, node, "more than %d shapes", TD_TREE_SHAPES);
    TD_TRY(td_urdf_unused(urdf, node, collides ? "origin geometry" : "origin geometry material", "name"));
    TD_TRY(td_urdf_origin(urdf, node, &shape.pose));
    shape.colour[0] = -1;
    if (!collides)
        TD_TRY(colour_of(urdf, node, shape.colour));
    TD_TRY(read_geometry(urdf, node, &shape.shape));
    if (!td_grow((void **)&urdf->shapes, &urdf->shapes_capacity, urdf->n_shapes + 1, sizeof *urdf->shapes))
        return td_fail_memory(urdf->error, urdf->file);
    urdf->shapes[urdf->n_shapes++] = shape;
    return TD_OK;
}

tdStatus td_urdf_link(tdUrdf *urdf, const xmlNode *node, int index)
{
    tdTreeLink *link = &urdf->links[index];
    const xmlNode *inertial = NULL;
    *link = td_default_link();
    link->line = td_urdf_line(node);
    TD_TRY(td_urdf_name(urdf, node, "name", &link->name));
    TD_TRY(td_urdf_unused(urdf, node, "inertial visual collision", "name"));
    for (int l = 0; l < index; l++)
        if (strcmp(urdf->links[l].name, link->name) == 0)
            return td_urdf_fail(urdf, node, "the link on line %d has the same name '%s'", urdf->links[l].line,
                                link->name);
    TD_TRY(td_urdf_child(urdf, node, "inertial", &inertial));
    if (inertial != NULL)
        TD_TRY(read_inertial(urdf, inertial, link));
    for (const xmlNode *child = node->children; child != NULL; child = child->next)
        if (td_urdf_is(child, "visual") || td_urdf_is(child, "collision"))
            TD_TRY(read_part(urdf, child, index, td_urdf_is(child, "collision")));
    return TD_OK;
}
