// SPDX-License-Identifier: Apache-2.0
// Assets and geoms of MJCF files: shapes, what they weigh, whom they meet.
#include "base/file.h"
#include "body/drawing.h"
#include "scene/mjcf_part.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define DENSITY   1000.0 // of geoms that give none [kg/m^3]
#define SEEN      2      // geoms of groups up to this are drawn; the others are for contact
#define RINGS     8      // of an ellipsoid, from pole to pole; twice as many corners around
#define ELLIPSOID (2 * RINGS * (RINGS - 1) + 2)

// ---------------------------------------------------------------- meshes

// The file's name without folder and ending, after which a mesh is called that has no name.
static tdStatus name_by_file(tdMjcf *m, const char *path, const char **out)
{
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    char *copy = td_arena_copy(m->arena, base);
    if (copy == NULL)
        return td_fail_memory(m->error, m->file);
    char *dot = strrchr(copy, '.');
    if (dot != NULL && dot != copy)
        *dot = '\0';
    *out = copy;
    return TD_OK;
}

static tdStatus read_asset(tdMjcf *m, const xmlNode *node)
{
    tdMjElement e;
    TD_TRY(td_mjcf_element(m, node, -1, &e));
    td_mjcf_attributes(m, node);
    tdMjMesh *mesh = td_mjcf_add(m, &m->meshes, &m->n_meshes, 0, sizeof *mesh);
    if (mesh == NULL)
        return td_fail_memory(m->error, m->file);
    mesh->node = node;
    mesh->drawn_n = mesh->solid_n = -1;
    TD_TRY(td_mjcf_name(m, &e, "name", &mesh->name));
    const char *file = td_mjcf_text(m, &e, "file");
    return mesh->name[0] == '\0' && file != NULL ? name_by_file(m, file, &mesh->name) : TD_OK;
}

tdStatus td_mjcf_assets(tdMjcf *m, const xmlNode *section)
{
    for (const xmlNode *child = section->children; child != NULL; child = child->next)
    {
        if (child->type != XML_ELEMENT_NODE)
            continue;
        if (td_xml_is(child, "mesh"))
            TD_TRY(read_asset(m, child));
        else if (td_xml_is(child, "material"))
            td_mjcf_attributes(m, child); // found by its name where a geom asks
        else
            td_mjcf_unused(m, (const char *)child->name, NULL);
    }
    return TD_OK;
}

// Where the file of a mesh is.
static bool find_file(const tdMjcf *m, const char *file, char *out, size_t size, char *why, size_t why_size)
{
    char path[PATH_MAX];
    const char *slash = m->strip ? strrchr(file, '/') : NULL;
    if (!td_path_join(path, sizeof path, m->meshdir, slash != NULL ? slash + 1 : file))
    {
        snprintf(why, why_size, "the path '%.60s...' is too long", file);
        return false;
    }
    return td_robot_find(&m->reader.files, path, out, size, why, why_size);
}

// refpos and refquat: the mesh's frame is there in the file.
static void refer(const tdPose *ref, tdShape *shape)
{
    double *x = shape->mesh != NULL ? shape->mesh->x : shape->hull->x;
    int64_t n = shape->mesh != NULL ? shape->mesh->n_nodes : shape->hull->n_points;
    for (int64_t i = 0; i < n; i++)
    {
        double moved[3];
        td_place_back(ref, x + 3 * i, moved);
        memcpy(x + 3 * i, moved, sizeof moved);
    }
    for (int f = 0; shape->hull != NULL && f < shape->hull->n_faces; f++)
    {
        double *plane = shape->hull->plane + 4 * f, turned[3];
        plane[3] -= plane[0] * ref->t[0] + plane[1] * ref->t[1] + plane[2] * ref->t[2];
        td_turn_back(ref, plane, turned);
        memcpy(plane, turned, sizeof turned);
    }
    if (shape->hull != NULL)
    {
        double moved[3];
        td_place_back(ref, shape->hull->center, moved);
        memcpy(((tdHull *)shape->hull)->center, moved, sizeof moved);
    }
}

// Corners of a mesh that is written out in the file: their hull.
static tdStatus read_vertices(tdMjcf *m, const tdMjElement *e, const double scale[3], int *n, tdRobotMesh **parts)
{
    const char *text = td_mjcf_text(m, e, "vertex");
    int most = (int)(strlen(text) / 2 + 1), count = 0;
    double *x = TD_TAKE(&m->scratch, double, most + 3);
    *parts = TD_TAKE(m->arena, tdRobotMesh, 1);
    if (x == NULL || *parts == NULL)
        return td_fail_memory(m->error, m->file);
    TD_TRY(td_mjcf_numbers(m, e, "vertex", most, x, &count));
    if (count % 3 != 0)
        return td_mjcf_fail(m, e->node, "'vertex' has %d numbers; three make a corner", count);
    for (int i = 0; i < count; i++)
        x[i] *= scale[i % 3];
    (*parts)[0].colour[0] = -1;
    *n = td_robot_hull(m->arena, count / 3, x, &(*parts)[0].shape) ? 1 : 0;
    return TD_OK;
}

static tdStatus load_mesh(tdMjcf *m, const tdMjMesh *mesh, bool drawn, int *n, tdRobotMesh **parts)
{
    tdMjElement e;
    double scale[3] = {1, 1, 1}, q[4] = {1, 0, 0, 0};
    char path[PATH_MAX], why[700];
    tdError inner = {0};
    tdPose ref = td_pose_identity();
    TD_TRY(td_mjcf_element(m, mesh->node, -1, &e));
    const char *file = td_mjcf_text(m, &e, "file");
    TD_TRY(td_mjcf_numbers(m, &e, "scale", 3, scale, NULL));
    TD_TRY(td_mjcf_numbers(m, &e, "refpos", 3, ref.t, NULL));
    TD_TRY(td_mjcf_numbers(m, &e, "refquat", 4, q, NULL));
    double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(length > 1e-12) || scale[0] == 0 || scale[1] == 0 || scale[2] == 0)
        return td_mjcf_fail(m, mesh->node, "'refquat' or 'scale' is zero");
    for (int k = 0; k < 4; k++)
        q[k] /= length;
    td_mjcf_quaternion(q, ref.R);
    if (file == NULL && td_mjcf_text(m, &e, "vertex") == NULL)
        return td_mjcf_fail(m, mesh->node, "mesh '%s' has neither 'file' nor 'vertex'", mesh->name);
    if (file == NULL)
        TD_TRY(read_vertices(m, &e, scale, n, parts));
    else
    {
        if (!find_file(m, file, path, sizeof path, why, sizeof why))
            return td_mjcf_fail(m, mesh->node, "%s", why);
        tdStatus status = td_robot_mesh(&m->reader, path, scale, drawn ? TD_MESH_DRAWN : TD_MESH_HULL, n, parts, why,
                                        sizeof why, &inner);
        if (status != TD_OK)
        {
            char text[600];
            td_error_format(&inner, text, sizeof text);
            td_mjcf_fail(m, mesh->node, "%s", text);
            return status;
        }
    }
    for (int i = 0; i < *n; i++)
        refer(&ref, &(*parts)[i].shape);
    return TD_OK;
}

// Each file is read at most twice: to be drawn, and as a hull.
static tdStatus find_mesh(tdMjcf *m, const tdMjElement *e, const char *name, bool drawn, int *n, tdRobotMesh **parts)
{
    for (int i = 0; i < m->n_meshes; i++)
    {
        tdMjMesh *mesh = &m->meshes[i];
        if (strcmp(mesh->name, name) != 0)
            continue;
        int *known = drawn ? &mesh->drawn_n : &mesh->solid_n, found = 0;
        tdRobotMesh **kept = drawn ? &mesh->drawn : &mesh->solid;
        if (*known < 0)
        {
            TD_TRY(load_mesh(m, mesh, drawn, &found, kept));
            *known = found;
        }
        *n = *known;
        *parts = *kept;
        return TD_OK;
    }
    return td_mjcf_fail(m, e->node, "there is no mesh '%.100s' among the assets", name);
}

// ---------------------------------------------------------------- shapes

static bool make_ellipsoid(tdArena *arena, const double size[3], tdShape *out)
{
    double x[3 * ELLIPSOID] = {0, 0, size[2], 0, 0, -size[2]}, *at = x + 6;
    const double half = 4 * atan(1);
    for (int i = 1; i < RINGS; i++)
        for (int k = 0; k < 2 * RINGS; k++, at += 3)
        {
            at[0] = size[0] * sin(half * i / RINGS) * cos(half * k / RINGS);
            at[1] = size[1] * sin(half * i / RINGS) * sin(half * k / RINGS);
            at[2] = size[2] * cos(half * i / RINGS);
        }
    return td_robot_hull(arena, ELLIPSOID, x, out);
}

// fromto: the axis z goes from one point to the other.
static tdStatus along(tdMjcf *m, const tdMjElement *e, tdPose *pose, double *half)
{
    double ends[6], z[3], length = 0;
    TD_TRY(td_mjcf_numbers(m, e, "fromto", 6, ends, NULL));
    for (int k = 0; k < 3; k++)
    {
        z[k] = ends[k] - ends[3 + k]; // as MuJoCo has it
        pose->t[k] = 0.5 * (ends[k] + ends[3 + k]);
        length += z[k] * z[k];
    }
    length = sqrt(length);
    *half = length / 2;
    if (!(length > 1e-12))
        return TD_OK;
    double axis[3] = {-z[1] / length, z[0] / length, 0}, sine = sqrt(axis[0] * axis[0] + axis[1] * axis[1]);
    double angle = atan2(sine, z[2] / length);
    double q[4] = {cos(angle / 2), sine > 0 ? sin(angle / 2) * axis[0] / sine : sin(angle / 2),
                   sine > 0 ? sin(angle / 2) * axis[1] / sine : 0, 0};
    td_mjcf_quaternion(q, pose->R);
    return TD_OK;
}

// A geom that is no mesh. *n 0: nothing is left of it.
static tdStatus read_solid(tdMjcf *m, const tdMjElement *e, const char *type, tdPose *pose, int *n, tdShape *shape)
{
    double size[3] = {0};
    int count = 0;
    bool fromto = td_mjcf_text(m, e, "fromto") != NULL;
    TD_TRY(td_mjcf_numbers(m, e, "size", 3, size, &count));
    *n = 1;
    if (fromto && (strcmp(type, "box") == 0 || strcmp(type, "ellipsoid") == 0))
    {
        size[1] = size[0];
        TD_TRY(along(m, e, pose, &size[2]));
    }
    else if (fromto)
        TD_TRY(along(m, e, pose, &size[1]));
    bool round = strcmp(type, "capsule") == 0 || strcmp(type, "cylinder") == 0, box = strcmp(type, "box") == 0;
    bool plane = strcmp(type, "plane") == 0, ball = strcmp(type, "sphere") == 0, oval = strcmp(type, "ellipsoid") == 0;
    if (!round && !box && !plane && !ball && !oval)
    {
        *n = 0;
        td_mjcf_unused(m, "geom of type", type);
        return TD_OK;
    }
    int needed = plane ? 0 : ball ? 1 : round ? 2 : 3;
    for (int k = 0; k < needed; k++)
        if (!(size[k] > 1e-9 && size[k] < 1e6))
        {
            *n = 0;
            return td_mjcf_warn(m, e->node, "this %s has a size of %g m; it is left out", type, size[k]);
        }
    *shape = plane                          ? td_shape_plane()
             : ball                         ? td_shape_sphere(size[0])
             : box                          ? td_shape_box(2 * size[0], 2 * size[1], 2 * size[2])
             : strcmp(type, "capsule") == 0 ? td_shape_capsule(size[0], 2 * size[1])
                                            : td_shape_cylinder(size[0], 2 * size[1]);
    if (oval && !make_ellipsoid(m->arena, size, shape))
        *n = 0;
    return TD_OK;
}

// The colour of a geom, or of its material.
static tdStatus read_colour(tdMjcf *m, const tdMjElement *e, float out[4])
{
    double rgba[4] = {0.5, 0.5, 0.5, 1};
    const char *name = td_mjcf_text(m, e, "material");
    out[0] = -1;
    tdMjElement from = *e;
    if (td_mjcf_text(m, e, "rgba") == NULL && name != NULL)
    {
        const xmlNode *material = NULL;
        for (const xmlNode *section = m->root->children; section != NULL && material == NULL; section = section->next)
            for (const xmlNode *at = td_xml_is(section, "asset") ? section->children : NULL; at != NULL; at = at->next)
            {
                tdMjElement own;
                if (td_xml_is(at, "material") && td_mjcf_element(m, at, -1, &own) == TD_OK &&
                    td_mjcf_text(m, &own, "name") != NULL && strcmp(td_mjcf_text(m, &own, "name"), name) == 0)
                {
                    material = at;
                    from = own;
                }
            }
        if (material == NULL)
            return td_mjcf_warn(m, e->node, "there is no material '%.100s'", name);
        rgba[0] = rgba[1] = rgba[2] = 1; // of a texture, which is not drawn, this is the middle
    }
    else if (td_mjcf_text(m, e, "rgba") == NULL)
        return TD_OK;
    TD_TRY(td_mjcf_numbers(m, &from, "rgba", 4, rgba, NULL));
    for (int k = 0; k < 4; k++)
        out[k] = (float)fmin(fmax(rgba[k], 0), 1);
    return TD_OK;
}

// ---------------------------------------------------------------- masses

static tdStatus weigh(tdMjcf *m, const tdMjElement *e, const tdPose *pose, int n, const tdRobotMesh *parts,
                      double sum[10])
{
    double mass = NAN, density = DENSITY, volume = 0, part[10] = {0};
    int count = 0, group = 0;
    TD_TRY(td_mjcf_numbers(m, e, "mass", 1, &mass, &count));
    TD_TRY(td_mjcf_numbers(m, e, "density", 1, &density, NULL));
    TD_TRY(td_mjcf_integer(m, e, "group", &group));
    if (group < m->groups[0] || group > m->groups[1])
        return TD_OK;
    for (int i = 0; i < n; i++)
    {
        double V, c[3], I[6], turned[6], at[3];
        td_shape_mass(&parts[i].shape, &V, c, I);
        if (!(V > 0))
            continue;
        td_inertia_turn(pose->R, I, turned);
        td_place(pose, c, at);
        td_inertia_shift(V, at, 1, turned, part + 4);
        for (int k = 0; k < 3; k++)
            part[1 + k] += V * at[k];
        volume += V;
    }
    if (!(volume > 0))
        return TD_OK;
    if (count > 0)
        density = mass / volume;
    if (density < 0)
        return td_mjcf_fail(m, e->node, "its mass or density is negative");
    part[0] = volume;
    for (int k = 0; k < 10; k++)
        sum[k] += density * part[k];
    return TD_OK;
}

// ---------------------------------------------------------------- a geom

static tdStatus add_shape(tdMjcf *m, const tdMjElement *e, tdTreeShape shape, const tdRobotMesh *part)
{
    if (m->n_shapes >= TD_TREE_SHAPES)
        return td_mjcf_fail(m, e->node, "more than %d shapes", TD_TREE_SHAPES);
    tdTreeShape *to = td_mjcf_add(m, &m->shapes, &m->n_shapes, 1, sizeof *to);
    if (to == NULL)
        return td_fail_memory(m->error, m->file);
    shape.shape = part->shape;
    if (shape.colour[0] < 0)
        memcpy(shape.colour, part->colour, sizeof shape.colour);
    *to = shape;
    return TD_OK;
}

// What touches it is the hull, as MuJoCo has it; what is drawn is the mesh, and never a reason to fail.
static tdStatus add_mesh(tdMjcf *m, const tdMjElement *e, const char *name, tdTreeShape shape, double sum[10])
{
    int n = 0;
    tdRobotMesh *parts = NULL;
    tdError inner = {0}, *outer = m->error;
    m->error = &inner;
    tdStatus status = find_mesh(m, e, name, true, &n, &parts);
    m->error = outer;
    if (status == TD_ERROR_MEMORY)
        return td_fail_memory(m->error, m->file);
    if (status != TD_OK && shape.collides)
    {
        if (outer != NULL)
            *outer = inner;
        return status;
    }
    if (status != TD_OK)
        return td_mjcf_warn(m, e->node, "this geom of link '%s' is not drawn: %s", m->links[shape.link].name,
                            inner.message);
    double before = sum[0];
    TD_TRY(weigh(m, e, &shape.pose, n, parts, sum));
    tdTreeShape drawn = shape;
    drawn.collides = false;
    for (int i = 0; i < n && shape.drawn; i++)
        TD_TRY(add_shape(m, e, drawn, &parts[i]));
    if (!shape.collides && sum[0] > before)
        return TD_OK;
    TD_TRY(find_mesh(m, e, name, false, &n, &parts));
    if (!(sum[0] > before)) // a surface that encloses nothing weighs what its hull does
        TD_TRY(weigh(m, e, &shape.pose, n, parts, sum));
    shape.drawn = false;
    for (int i = 0; i < n && shape.collides; i++)
        TD_TRY(add_shape(m, e, shape, &parts[i]));
    return n > 0 || !shape.collides
               ? TD_OK
               : td_mjcf_warn(m, e->node,
                              "link '%s' does not touch with the mesh '%.100s': it is flat, without a volume",
                              m->links[shape.link].name, name);
}

static tdStatus read_contact(tdMjcf *m, const tdMjElement *e, tdTreeShape *shape)
{
    int type = 1, meets = 1, group = 0, condim = 0, count = 0;
    double friction[3] = {1, 0.005, 0.0001}; // sliding, torsion, rolling
    TD_TRY(td_mjcf_integer(m, e, "contype", &type));
    TD_TRY(td_mjcf_integer(m, e, "conaffinity", &meets));
    TD_TRY(td_mjcf_integer(m, e, "group", &group));
    TD_TRY(td_mjcf_integer(m, e, "condim", &condim));
    TD_TRY(td_mjcf_numbers(m, e, "friction", 3, friction, &count));
    if (friction[0] < 0 || friction[1] < 0 || friction[2] < 0)
        return td_mjcf_fail(m, e->node, "its friction is negative");
    shape->type = (uint32_t)type;
    shape->meets = (uint32_t)meets;
    shape->collides = type != 0 || meets != 0;
    shape->drawn = group <= SEEN;
    shape->rubs = count > 0 || condim == 1;
    shape->friction = condim == 1 ? 0 : friction[0];
    shape->turns = condim != 0;
    shape->torsion = condim >= 4 ? friction[1] : 0;
    shape->rolling = condim >= 6 ? friction[2] : 0;
    return TD_OK;
}

tdStatus td_mjcf_geom(tdMjcf *m, const xmlNode *node, int childclass, int link, const tdPose *pose, double sum[10])
{
    tdMjElement e;
    tdTreeShape shape = {.link = link, .line = td_xml_line(node)};
    tdPose own;
    TD_TRY(td_mjcf_element(m, node, childclass, &e));
    td_mjcf_attributes(m, node);
    const char *type = td_mjcf_text(m, &e, "type"), *mesh = td_mjcf_text(m, &e, "mesh");
    TD_TRY(td_mjcf_name(m, &e, "name", &shape.name));
    TD_TRY(td_mjcf_pose(m, &e, &own));
    TD_TRY(read_contact(m, &e, &shape));
    TD_TRY(read_colour(m, &e, shape.colour));
    type = type == NULL ? "sphere" : type;
    if (mesh != NULL)
    {
        if (strcmp(type, "mesh") != 0)
            td_mjcf_unused(m, "geom fitted to a mesh, replaced by the mesh, of type", type);
        shape.pose = td_pose_multiply(pose, &own);
        return add_mesh(m, &e, mesh, shape, sum);
    }
    tdRobotMesh part = {.colour = {-1}};
    int n = 0;
    TD_TRY(read_solid(m, &e, type, &own, &n, &part.shape));
    shape.pose = td_pose_multiply(pose, &own);
    if (n > 0)
        TD_TRY(weigh(m, &e, &shape.pose, 1, &part, sum));
    return n > 0 && (shape.collides || shape.drawn) ? add_shape(m, &e, shape, &part) : TD_OK;
}
