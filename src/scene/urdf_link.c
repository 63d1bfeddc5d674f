// SPDX-License-Identifier: Apache-2.0
// Links: inertia, and the shapes for contact and for pictures.
#include "scene/urdf_part.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// ---------------------------------------------------------------- inertia

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
    td_inertia_turn(origin.R, I, link->inertia);
    return TD_OK;
}

// ---------------------------------------------------------------- geometry

// What one <geometry> comes to: shapes of one colour each, none where it has no size.
typedef struct foundShapes
{
    int n;
    tdRobotMesh one, *parts; // &one, or those of a mesh
} foundShapes;

// One number stands for all three, as some programs write it.
static tdStatus read_scale(tdUrdf *urdf, const xmlNode *node, double scale[3])
{
    const char *text = NULL;
    bool given = false;
    TD_TRY(td_urdf_text(urdf, node, "scale", &text));
    if (text != NULL && strpbrk(text + strspn(text, " \t\r\n"), " \t\r\n") == NULL)
    {
        TD_TRY(td_urdf_numbers(urdf, node, "scale", TD_DIM_NONE, 1, scale, NULL));
        scale[1] = scale[2] = scale[0];
        return TD_OK;
    }
    return td_urdf_numbers(urdf, node, "scale", TD_DIM_NONE, 3, scale, &given);
}

static tdStatus read_mesh(tdUrdf *urdf, const xmlNode *node, const char *link, bool collides, foundShapes *out)
{
    const char *name = NULL;
    char path[PATH_MAX], why[700];
    double scale[3] = {1, 1, 1};
    tdError inner = {0};
    TD_TRY(td_urdf_unused(urdf, node, "", "filename scale"));
    TD_TRY(td_urdf_text(urdf, node, "filename", &name));
    if (name == NULL || name[0] == '\0')
        return td_urdf_fail(urdf, node, "the attribute 'filename' is missing");
    TD_TRY(read_scale(urdf, node, scale));
    if (scale[0] == 0 || scale[1] == 0 || scale[2] == 0)
        return td_urdf_warn(urdf, node, "link '%s': a scale of zero leaves nothing of the mesh; it is left out", link);
    if (!td_robot_find(&urdf->reader.files, name, path, sizeof path, why, sizeof why))
        return td_urdf_fail(urdf, node, "%s", why);
    if (why[0] != '\0' && !urdf->guessed)
        TD_TRY(td_urdf_warn(urdf, node, "%s", why));
    urdf->guessed = urdf->guessed || why[0] != '\0';
    tdMeshUse use = !collides ? TD_MESH_DRAWN : urdf->reader.files.hulls ? TD_MESH_HULL : TD_MESH_COLLIDES;
    tdStatus status = td_robot_mesh(&urdf->reader, path, scale, use, &out->n, &out->parts, why, sizeof why, &inner);
    if (status != TD_OK)
    {
        char text[600];
        td_error_format(&inner, text, sizeof text);
        td_urdf_fail(urdf, node, "%s", text);
        return status;
    }
    if (out->n == 0)
        return td_urdf_warn(urdf, node, "link '%s' does not touch with the mesh '%.200s': it is flat, without a volume",
                            link, name);
    if (why[0] != '\0')
        return td_urdf_warn(urdf, node, "link '%s' touches with the convex hull of the mesh '%.200s': %s", link, name,
                            why);
    return TD_OK;
}

// A size that must not be negative; zero makes *empty true.
static tdStatus read_size(tdUrdf *urdf, const xmlNode *node, const char *name, int n, double *out, bool *empty)
{
    TD_TRY(td_urdf_numbers(urdf, node, name, TD_DIM_LENGTH, n, out, NULL));
    char why[TD_UNIT_WHY];
    for (int i = 0; i < n; i++)
    {
        *empty = *empty || out[i] == 0;
        if (out[i] < 0)
            return td_urdf_fail(urdf, node, "'%s' is %g m; a size must be more than zero", name, out[i]);
        if (out[i] > 0 && !td_dim_check(TD_DIM_LENGTH, true, out[i], why))
            return td_urdf_fail(urdf, node, "'%s': %.300s", name, why);
    }
    return TD_OK;
}

static tdStatus read_shape(tdUrdf *urdf, const xmlNode *node, const char *link, bool collides, foundShapes *out)
{
    double size[3] = {0}, radius = 0, length = 0;
    bool empty = false, sphere = td_xml_is(node, "sphere"), cylinder = td_xml_is(node, "cylinder"),
         box = td_xml_is(node, "box");
    if (td_xml_is(node, "mesh"))
        return read_mesh(urdf, node, link, collides, out);
    if (!sphere && !cylinder && !box && !td_xml_is(node, "capsule"))
        return td_urdf_fail(urdf, node,
                            "geometry '%.40s' is not supported; there are box, sphere, cylinder, capsule and mesh",
                            (const char *)node->name);
    TD_TRY(td_urdf_unused(urdf, node, "", box ? "size" : sphere ? "radius" : "radius length"));
    if (box)
        TD_TRY(read_size(urdf, node, "size", 3, size, &empty));
    else
        TD_TRY(read_size(urdf, node, "radius", 1, &radius, &empty));
    bool capsule = !box && !sphere && !cylinder, flat = false;
    if (cylinder || capsule)
        TD_TRY(read_size(urdf, node, "length", 1, &length, capsule ? &flat : &empty)); // a short capsule is a ball
    if (empty)
        return td_urdf_warn(urdf, node, "link '%s': this %s has a size of zero; it is left out", link,
                            (const char *)node->name);
    out->n = 1;
    out->one.shape = box        ? td_shape_box(size[0], size[1], size[2])
                     : sphere   ? td_shape_sphere(radius)
                     : cylinder ? td_shape_cylinder(radius, length)
                                : td_shape_capsule(radius, length);
    return TD_OK;
}

static tdStatus read_geometry(tdUrdf *urdf, const xmlNode *node, const char *link, bool collides, foundShapes *out)
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
    return read_shape(urdf, only, link, collides, out);
}

// ---------------------------------------------------------------- colours

// rgba[0] < 0: there is none. Colours are not worth an error.
static tdStatus read_rgba(tdUrdf *urdf, const xmlNode *material, float rgba[4])
{
    const xmlNode *colour = td_xml_child(material, "color");
    double value[4] = {0};
    bool given = false, outside = false;
    tdError inner = {0}, *outer = urdf->error;
    rgba[0] = -1;
    if (colour == NULL)
        return TD_OK;
    urdf->error = &inner;
    tdStatus status = td_urdf_numbers(urdf, colour, "rgba", TD_DIM_NONE, 4, value, &given);
    urdf->error = outer;
    if (status != TD_OK)
        return td_urdf_warn(urdf, colour, "this colour is not used: %s", inner.message);
    for (int k = 0; k < 4 && given; k++)
    {
        outside = outside || !(value[k] >= 0 && value[k] <= 1);
        rgba[k] = (float)fmin(fmax(value[k], 0), 1);
    }
    return outside ? td_urdf_warn(urdf, colour, "components of 'rgba' range from 0 to 1; the nearest are used") : TD_OK;
}

static const tdUrdfColour *find_colour(const tdUrdf *urdf, const char *name)
{
    for (int i = 0; i < urdf->n_colours; i++)
        if (strcmp(urdf->colours[i].name, name) == 0)
            return &urdf->colours[i];
    return NULL;
}

tdStatus td_urdf_colour(tdUrdf *urdf, const xmlNode *material)
{
    tdUrdfColour colour = {0};
    TD_TRY(td_urdf_unused(urdf, material, "color", "name"));
    TD_TRY(td_urdf_text(urdf, material, "name", &colour.name));
    TD_TRY(read_rgba(urdf, material, colour.rgba));
    if (colour.name == NULL || colour.rgba[0] < 0 || find_colour(urdf, colour.name) != NULL)
        return TD_OK;
    if (!td_grow((void **)&urdf->colours, &urdf->colours_capacity, urdf->n_colours + 1, sizeof *urdf->colours))
        return td_fail_memory(urdf->error, urdf->file);
    urdf->colours[urdf->n_colours++] = colour;
    return TD_OK;
}

static tdStatus colour_of(tdUrdf *urdf, const xmlNode *visual, float rgba[4])
{
    const xmlNode *material = td_xml_child(visual, "material");
    const char *name = NULL;
    rgba[0] = -1;
    if (material == NULL)
        return TD_OK;
    TD_TRY(td_urdf_unused(urdf, material, "color", "name"));
    TD_TRY(read_rgba(urdf, material, rgba));
    TD_TRY(td_urdf_text(urdf, material, "name", &name));
    const tdUrdfColour *named = name != NULL && rgba[0] < 0 ? find_colour(urdf, name) : NULL;
    if (named != NULL)
        memcpy(rgba, named->rgba, sizeof named->rgba);
    return TD_OK;
}

// ---------------------------------------------------------------- link

static tdStatus read_part(tdUrdf *urdf, const xmlNode *node, int link, bool collides)
{
    tdTreeShape shape = {.link = link, .line = td_xml_line(node), .collides = collides, .drawn = !collides};
    foundShapes found = {.parts = NULL};
    TD_TRY(td_urdf_unused(urdf, node, collides ? "origin geometry" : "origin geometry material", "name"));
    TD_TRY(td_urdf_origin(urdf, node, &shape.pose));
    shape.colour[0] = -1;
    if (!collides)
        TD_TRY(colour_of(urdf, node, shape.colour));
    found.one.colour[0] = -1;
    TD_TRY(read_geometry(urdf, node, urdf->links[link].name, collides, &found));
    for (int i = 0; i < found.n; i++)
    {
        const tdRobotMesh *part = found.parts != NULL ? &found.parts[i] : &found.one;
        if (urdf->n_shapes >= TD_TREE_SHAPES)
            return td_urdf_fail(urdf, node, "more than %d shapes", TD_TREE_SHAPES);
        if (!td_grow((void **)&urdf->shapes, &urdf->shapes_capacity, urdf->n_shapes + 1, sizeof *urdf->shapes))
            return td_fail_memory(urdf->error, urdf->file);
        shape.shape = part->shape;
        tdTreeShape *to = &urdf->shapes[urdf->n_shapes++];
        *to = shape;
        if (shape.colour[0] < 0) // that of the mesh's own file
            memcpy(to->colour, part->colour, sizeof to->colour);
    }
    return TD_OK;
}

// What is drawn does not move the robot: what is wrong with it is a warning that says what is drawn instead.
static tdStatus read_visuals(tdUrdf *urdf, const xmlNode *node, int index)
{
    tdError *outer = urdf->error;
    int before = urdf->n_shapes, touching = 0;
    for (int s = 0; s < urdf->n_shapes; s++)
        touching += urdf->shapes[s].link == index;
    for (const xmlNode *child = node->children; child != NULL; child = child->next)
    {
        tdError inner = {0};
        if (!td_xml_is(child, "visual"))
            continue;
        urdf->error = &inner;
        tdStatus status = read_part(urdf, child, index, false);
        urdf->error = outer;
        if (status == TD_OK)
            continue;
        if (status == TD_ERROR_MEMORY || urdf->xacro)
        {
            if (outer != NULL)
                *outer = inner;
            return status;
        }
        TD_TRY(td_urdf_warn(urdf, child, "a visual of link '%s' is left out, and %s: %s", urdf->links[index].name,
                            urdf->n_shapes > before ? "the others are drawn"
                            : touching > 0          ? "unless others are left, its collision shapes are drawn"
                                                    : "unless others are left, it is not drawn",
                            inner.message));
    }
    return TD_OK;
}

tdStatus td_urdf_link(tdUrdf *urdf, const xmlNode *node, int index)
{
    tdTreeLink *link = &urdf->links[index];
    const xmlNode *inertial = NULL;
    *link = td_default_link();
    link->line = td_xml_line(node);
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
        if (td_xml_is(child, "collision"))
            TD_TRY(read_part(urdf, child, index, true));
    return read_visuals(urdf, node, index);
}
