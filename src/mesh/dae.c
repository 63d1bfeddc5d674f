// SPDX-License-Identifier: Apache-2.0
// Collada: triangles, polygons, strips and fans of all geometries of the scene, placed by their nodes, in metres.
// Materials become groups. Animation, skinning, lights and cameras are passed over; a skinned mesh has the shape that
// it was bound in. Polygons are cut into triangles as a fan from their first corner.
#include "mesh/dae.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/xml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DEPTH  64     // of nodes within nodes, and of nodes that are instances of others
#define MOST_PLACES 100000 // instances of geometries: nodes that name nodes could multiply without end

typedef struct daeReader
{
    const char *name;
    xmlDoc *document;
    const xmlNode *root;
    tdMesh *mesh;
    tdDaeColours *colours;
    tdError *error;
    int64_t lines, places;
} daeReader;

typedef struct placement
{
    double m[12]; // rows of R | t
} placement;

static tdStatus fail(const daeReader *r, const xmlNode *node, const char *message)
{
    char field[64];
    snprintf(field, sizeof field, "<%.40s>", (const char *)node->name);
    return td_fail_at(r->error, TD_ERROR_INPUT, r->name, td_xml_line(node), field, "%s", message);
}

// ---------------------------------------------------------------- attributes and texts

// The value of an attribute; "" where it is missing.
static const char *attribute(const xmlNode *node, const char *name)
{
    for (const xmlAttr *a = node->properties; a != NULL; a = a->next)
        if (strcmp((const char *)a->name, name) == 0)
            return a->children == NULL || a->children->content == NULL ? "" : (const char *)a->children->content;
    return "";
}

static const char *text_of(const xmlNode *node)
{
    const xmlNode *child = node->children;
    while (child != NULL && child->type != XML_TEXT_NODE && child->type != XML_CDATA_SECTION_NODE)
        child = child->next;
    return child == NULL || child->content == NULL ? "" : (const char *)child->content;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

// The next number of a text; false at its end. What is no number is passed over with the rest.
static bool next_number(const char **at, double *out)
{
    char *end = NULL;
    *out = td_number(*at, &end);
    if (end == *at)
        return false;
    *at = end;
    return true;
}

// Integers are read without a detour over floating point: a mesh has millions.
static bool next_index(const char **at, int64_t *out)
{
    const char *c = *at;
    while (is_space(*c))
        c++;
    if (*c < '0' || *c > '9')
        return false;
    for (*out = 0; *c >= '0' && *c <= '9' && *out < INT32_MAX; c++)
        *out = 10 * *out + (*c - '0');
    *at = c;
    return is_space(*c) || *c == '\0';
}

static int read_numbers(const char *text, int most, double *out)
{
    int n = 0;
    while (n < most && next_number(&text, &out[n]))
        n++;
    return n;
}

// The element with an id, within a library or anywhere.
static const xmlNode *find_id(const xmlNode *node, const char *element, const char *id)
{
    // In the order of the document, without recursion: files may be deep.
    for (const xmlNode *at = node; at != NULL;)
    {
        if (td_xml_is(at, element) && strcmp(attribute(at, "id"), id) == 0)
            return at;
        if (at->type == XML_ELEMENT_NODE && at->children != NULL)
            at = at->children;
        else
        {
            while (at != node && at->next == NULL)
                at = at->parent;
            at = at == node ? NULL : at->next;
        }
    }
    return NULL;
}

// What a url="#id" names.
static const xmlNode *follow(const daeReader *r, const char *element, const char *url)
{
    return url[0] == '#' && url[1] != '\0' ? find_id(r->root, element, url + 1) : NULL;
}

// ---------------------------------------------------------------- placements

static placement identity(void)
{
    return (placement){{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}};
}

// a after b
static placement multiply(const placement *a, const placement *b)
{
    placement out;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
        {
            out.m[4 * i + j] = j == 3 ? a->m[4 * i + 3] : 0;
            for (int k = 0; k < 3; k++)
                out.m[4 * i + j] += a->m[4 * i + k] * b->m[4 * k + j];
        }
    return out;
}

static placement turned(const double axis[3], double degrees)
{
    double length = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    placement out = identity();
    if (!(length > 0))
        return out;
    double angle = degrees * atan(1) / 45, c = cos(angle), s = sin(angle);
    double n[3] = {axis[0] / length, axis[1] / length, axis[2] / length};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
        {
            int k = 3 - i - j; // the third axis, where i and j differ
            double skew = i == j ? 0 : ((j - i + 3) % 3 == 1 ? -n[k] : n[k]);
            out.m[4 * i + j] = (i == j ? c : 0) + (1 - c) * n[i] * n[j] + s * skew;
        }
    return out;
}

// One of the elements that move a node; false: it is none.
static bool read_step(const xmlNode *node, placement *out)
{
    double v[16] = {0};
    *out = identity();
    if (td_xml_is(node, "matrix"))
    {
        if (read_numbers(text_of(node), 16, v) == 16)
            memcpy(out->m, v, sizeof out->m);
    }
    else if (td_xml_is(node, "translate"))
    {
        read_numbers(text_of(node), 3, v);
        for (int k = 0; k < 3; k++)
            out->m[4 * k + 3] = v[k];
    }
    else if (td_xml_is(node, "scale"))
    {
        if (read_numbers(text_of(node), 3, v) == 3)
            for (int k = 0; k < 3; k++)
                out->m[5 * k] = v[k];
    }
    else if (td_xml_is(node, "rotate"))
    {
        read_numbers(text_of(node), 4, v);
        *out = turned(v, v[3]);
    }
    else
        return false;
    return true;
}

static double determinant(const placement *p)
{
    const double *m = p->m;
    return m[0] * (m[5] * m[10] - m[6] * m[9]) - m[1] * (m[4] * m[10] - m[6] * m[8]) +
           m[2] * (m[4] * m[9] - m[5] * m[8]);
}

// ---------------------------------------------------------------- materials

// The diffuse colour of a material; false: it has none.
static bool colour_of(const daeReader *r, const xmlNode *material, float rgba[4])
{
    const xmlNode *instance = td_xml_child(material, "instance_effect"), *at = NULL;
    const xmlNode *effect = instance == NULL ? NULL : follow(r, "effect", attribute(instance, "url"));
    const xmlNode *profile = effect == NULL ? NULL : td_xml_child(effect, "profile_COMMON");
    const xmlNode *technique = profile == NULL ? NULL : td_xml_child(profile, "technique");
    for (at = technique == NULL ? NULL : technique->children; at != NULL; at = at->next)
    {
        const xmlNode *diffuse = at->type == XML_ELEMENT_NODE ? td_xml_child(at, "diffuse") : NULL;
        const xmlNode *colour = diffuse == NULL ? NULL : td_xml_child(diffuse, "color");
        double v[4] = {0, 0, 0, 1};
        if (colour == NULL || read_numbers(text_of(colour), 4, v) < 3)
            continue;
        for (int k = 0; k < 4; k++)
            rgba[k] = (float)fmin(fmax(v[k], 0), 1);
        rgba[3] = 1; // what a transparent colour means differs from file to file
        return true;
    }
    return false;
}

// The material that the symbol of a primitive stands for where its geometry is placed.
static const xmlNode *bound_material(const daeReader *r, const xmlNode *instance, const char *symbol)
{
    const xmlNode *bind = instance == NULL ? NULL : td_xml_child(instance, "bind_material");
    const xmlNode *common = bind == NULL ? NULL : td_xml_child(bind, "technique_common");
    for (const xmlNode *at = common == NULL ? NULL : common->children; at != NULL; at = at->next)
        if (td_xml_is(at, "instance_material") && strcmp(attribute(at, "symbol"), symbol) == 0)
            return follow(r, "material", attribute(at, "target"));
    return symbol[0] == '\0' ? NULL : find_id(r->root, "material", symbol);
}

// The group of a primitive, with its colour.
static tdStatus group_of(daeReader *r, const xmlNode *instance, const xmlNode *primitive, int *out)
{
    const char *symbol = attribute(primitive, "material");
    const xmlNode *material = bound_material(r, instance, symbol);
    const char *name = material != NULL ? attribute(material, "id") : symbol;
    int before = r->mesh->n_groups;
    *out = td_mesh_group(r->mesh, name[0] != '\0' ? name : "surface", 2, 0);
    if (*out < 0)
        return td_fail_memory(r->error, r->name);
    if (r->colours == NULL || r->mesh->n_groups == before)
        return TD_OK;
    tdDaeColours *colours = r->colours;
    if (!td_grow((void **)&colours->rgba, &colours->capacity, *out + 1, sizeof *colours->rgba))
        return td_fail_memory(r->error, r->name);
    colours->n = *out + 1;
    float *rgba = colours->rgba[*out];
    rgba[0] = -1;
    if (material != NULL)
        colour_of(r, material, rgba);
    return TD_OK;
}

// ---------------------------------------------------------------- geometry

// Positions of a <source>, placed, as new nodes of the mesh; how many.
static tdStatus add_positions(daeReader *r, const xmlNode *source, const placement *place, int64_t *count)
{
    const xmlNode *array = td_xml_child(source, "float_array"), *common = td_xml_child(source, "technique_common");
    const xmlNode *accessor = common == NULL ? NULL : td_xml_child(common, "accessor");
    double stride = 3, offset = 0, most = INT32_MAX;
    if (array == NULL)
        return fail(r, source, "it has no <float_array>");
    if (accessor != NULL && attribute(accessor, "stride")[0] != '\0')
        read_numbers(attribute(accessor, "stride"), 1, &stride);
    if (accessor != NULL && attribute(accessor, "offset")[0] != '\0')
        read_numbers(attribute(accessor, "offset"), 1, &offset);
    if (accessor != NULL && attribute(accessor, "count")[0] != '\0')
        read_numbers(attribute(accessor, "count"), 1, &most);
    if (!(stride >= 3 && stride <= 1000) || !(offset >= 0 && offset <= 1e9) || !(most >= 0 && most <= INT32_MAX))
        return fail(r, source, "its <accessor> has a stride, offset or count that positions cannot have");
    const char *at = text_of(array);
    double skipped, x[3];
    for (int64_t i = 0; i < (int64_t)offset; i++)
        if (!next_number(&at, &skipped))
            break;
    for (*count = 0; *count < (int64_t)most && read_numbers(at, 3, x) == 3; ++*count)
    {
        double p[3];
        for (int i = 0; i < 3; i++)
            p[i] =
                place->m[4 * i] * x[0] + place->m[4 * i + 1] * x[1] + place->m[4 * i + 2] * x[2] + place->m[4 * i + 3];
        if (!isfinite(p[0]) || !isfinite(p[1]) || !isfinite(p[2]))
            return fail(r, array, "a position is not a finite number");
        if (!td_mesh_add_node(r->mesh, p[0], p[1], p[2]))
            return td_fail_memory(r->error, r->name);
        for (int k = 0; k < (int)stride; k++)
            if (!next_number(&at, &skipped))
                break;
    }
    return *count > 0 ? TD_OK : fail(r, array, "it has no positions");
}

// Corners of one primitive, for its triangles.
typedef struct primitive
{
    const xmlNode *node;
    const char *at;            // in <p>
    int64_t stride, offset;    // numbers of a corner, and which is that of the position
    int64_t first_node, count; // of the mesh
    int group;
    bool turned; // mirrored by its placement
} primitive;

static tdStatus next_corner(daeReader *r, primitive *p, int32_t *out, bool *more)
{
    *more = true;
    for (int64_t k = 0; k < p->stride; k++)
    {
        int64_t index = 0;
        if (!next_index(&p->at, &index))
        {
            *more = false;
            return TD_OK;
        }
        if (k == p->offset && index >= p->count)
            return fail(r, p->node, "a corner names a position that does not exist");
        if (k == p->offset)
            *out = (int32_t)(p->first_node + index);
    }
    return TD_OK;
}

static tdStatus add_triangle(daeReader *r, const primitive *p, int32_t a, int32_t b, int32_t c)
{
    const int32_t nodes[3] = {a, p->turned ? c : b, p->turned ? b : c};
    int64_t cell = r->mesh->cells[TD_CELL_TRI].count;
    return td_mesh_add_cell(r->mesh, TD_CELL_TRI, nodes) && td_mesh_group_add(r->mesh, p->group, TD_CELL_TRI, cell)
               ? TD_OK
               : td_fail_memory(r->error, r->name);
}

enum
{
    FAN,
    STRIP
};

// Up to `most` corners of a polygon (or fan), or of a strip, which goes on from its last two; *got: how many there
// were.
static tdStatus read_run(daeReader *r, primitive *p, int kind, int64_t most, int64_t *got)
{
    int32_t first = 0, last = 0, corner = 0;
    bool more = true;
    for (*got = 0; *got < most; ++*got)
    {
        TD_TRY(next_corner(r, p, &corner, &more));
        if (!more)
            return TD_OK;
        if (*got >= 2 && kind == STRIP && *got % 2 == 1)
            TD_TRY(add_triangle(r, p, last, first, corner));
        else if (*got >= 2)
            TD_TRY(add_triangle(r, p, first, last, corner));
        if (*got == 0)
            first = corner;
        else if (kind == STRIP && *got >= 2)
            first = last;
        last = corner;
    }
    return TD_OK;
}

static tdStatus read_lists(daeReader *r, primitive *p)
{
    const xmlNode *node = p->node, *counts = td_xml_child(node, "vcount");
    bool triangles = td_xml_is(node, "triangles"), strips = td_xml_is(node, "tristrips");
    const char *count_at = counts == NULL ? "" : text_of(counts);
    for (const xmlNode *list = node->children; list != NULL; list = list->next)
    {
        const xmlNode *corners = td_xml_is(list, "ph") ? td_xml_child(list, "p") : list; // of a polygon with holes
        if (corners == NULL || !td_xml_is(corners, "p"))
            continue;
        p->at = text_of(corners);
        int64_t got = 0, sides = 3;
        if (!triangles && !td_xml_is(node, "polylist"))
        {
            TD_TRY(read_run(r, p, strips ? STRIP : FAN, INT64_MAX, &got));
            continue;
        }
        while (triangles || next_index(&count_at, &sides))
        {
            TD_TRY(read_run(r, p, FAN, sides, &got));
            if (got < sides)
                break;
        }
    }
    return TD_OK;
}

static tdStatus read_primitive(daeReader *r, const xmlNode *instance, const xmlNode *node, primitive *p)
{
    p->node = node;
    p->stride = 0;
    p->offset = -1;
    for (const xmlNode *input = node->children; input != NULL; input = input->next)
    {
        if (!td_xml_is(input, "input"))
            continue;
        double offset = 0;
        read_numbers(attribute(input, "offset"), 1, &offset);
        if (!(offset >= 0 && offset < 64))
            return fail(r, input, "its offset is not one of 0 to 63");
        p->stride = (int64_t)offset + 1 > p->stride ? (int64_t)offset + 1 : p->stride;
        if (strcmp(attribute(input, "semantic"), "VERTEX") == 0)
            p->offset = (int64_t)offset;
    }
    if (p->offset < 0)
        return fail(r, node, "none of its inputs are the vertices");
    TD_TRY(group_of(r, instance, node, &p->group));
    return read_lists(r, p);
}

// The <source> of the positions of a <mesh>.
static const xmlNode *positions_of(const xmlNode *mesh)
{
    const xmlNode *vertices = td_xml_child(mesh, "vertices");
    for (const xmlNode *input = vertices == NULL ? NULL : vertices->children; input != NULL; input = input->next)
        if (td_xml_is(input, "input") && strcmp(attribute(input, "semantic"), "POSITION") == 0)
        {
            const char *url = attribute(input, "source");
            return url[0] == '#' ? find_id(mesh, "source", url + 1) : NULL;
        }
    return NULL;
}

static tdStatus add_geometry(daeReader *r, const xmlNode *instance, const xmlNode *geometry, const placement *place)
{
    static const char surfaces[] = "triangles polylist polygons tristrips trifans";
    const xmlNode *mesh = td_xml_child(geometry, "mesh");
    if (mesh == NULL)
        return TD_OK; // splines have no surface
    bool any = false;
    for (const xmlNode *at = mesh->children; at != NULL; at = at->next)
    {
        any = any || (at->type == XML_ELEMENT_NODE && td_xml_listed(surfaces, (const char *)at->name));
        r->lines += td_xml_is(at, "lines") || td_xml_is(at, "linestrips");
    }
    if (!any)
        return TD_OK;
    const xmlNode *source = positions_of(mesh);
    if (source == NULL)
        return fail(r, mesh, "its <vertices> name no <source> of positions");
    primitive p = {.first_node = r->mesh->n_nodes, .turned = determinant(place) < 0};
    if (r->mesh->n_nodes > INT32_MAX / 2 || ++r->places > MOST_PLACES)
        return fail(r, geometry, "the file places more geometry than a mesh can hold");
    TD_TRY(add_positions(r, source, place, &p.count));
    for (const xmlNode *at = mesh->children; at != NULL; at = at->next)
        if (at->type == XML_ELEMENT_NODE && td_xml_listed(surfaces, (const char *)at->name))
            TD_TRY(read_primitive(r, instance, at, &p));
    return TD_OK;
}

// ---------------------------------------------------------------- scene

static tdStatus add_instance(daeReader *r, const xmlNode *node, const placement *place)
{
    const xmlNode *geometry = NULL;
    if (td_xml_is(node, "instance_geometry"))
        geometry = follow(r, "geometry", attribute(node, "url"));
    else
    {
        const xmlNode *controller = follow(r, "controller", attribute(node, "url"));
        const xmlNode *skin = controller == NULL ? NULL : td_xml_child(controller, "skin");
        geometry = skin == NULL ? NULL : follow(r, "geometry", attribute(skin, "source"));
    }
    if (geometry == NULL)
        return fail(r, node, "it names a geometry that is not in the file");
    return add_geometry(r, node, geometry, place);
}

static tdStatus add_node(daeReader *r, const xmlNode *node, const placement *outer, int depth)
{
    placement place = *outer, step;
    if (depth > MOST_DEPTH || ++r->places > MOST_PLACES)
        return fail(r, node, "its nodes are nested too deeply, or name each other in a circle");
    for (const xmlNode *at = node->children; at != NULL; at = at->next)
        if (at->type == XML_ELEMENT_NODE && read_step(at, &step))
            place = multiply(&place, &step);
    for (const xmlNode *at = node->children; at != NULL; at = at->next)
    {
        if (td_xml_is(at, "instance_geometry") || td_xml_is(at, "instance_controller"))
            TD_TRY(add_instance(r, at, &place));
        else if (td_xml_is(at, "node"))
            TD_TRY(add_node(r, at, &place, depth + 1));
        else if (td_xml_is(at, "instance_node"))
        {
            const xmlNode *other = follow(r, "node", attribute(at, "url"));
            if (other == NULL)
                return fail(r, at, "it names a node that is not in the file");
            TD_TRY(add_node(r, other, &place, depth + 1));
        }
    }
    return TD_OK;
}

// Unit and up axis of the file.
static placement asset_of(const daeReader *r, bool as_written)
{
    placement out = identity();
    const xmlNode *asset = td_xml_child(r->root, "asset");
    const xmlNode *unit = asset == NULL ? NULL : td_xml_child(asset, "unit");
    const xmlNode *up = asset == NULL ? NULL : td_xml_child(asset, "up_axis");
    const char *axis = up == NULL ? "Y_UP" : text_of(up);
    double metre = 1;
    if (unit != NULL && attribute(unit, "meter")[0] != '\0')
        read_numbers(attribute(unit, "meter"), 1, &metre);
    if (!(metre > 0 && metre < 1e6))
        metre = 1;
    if (!as_written && strstr(axis, "Y_UP") != NULL)
        out = (placement){{1, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0, 0}};
    else if (!as_written && strstr(axis, "X_UP") != NULL)
        out = (placement){{0, 0, -1, 0, 0, 1, 0, 0, 1, 0, 0, 0}};
    for (int i = 0; i < 12; i++)
        out.m[i] *= metre;
    return out;
}

static const xmlNode *scene_of(const daeReader *r)
{
    const xmlNode *scene = td_xml_child(r->root, "scene");
    const xmlNode *instance = scene == NULL ? NULL : td_xml_child(scene, "instance_visual_scene");
    return instance == NULL ? NULL : follow(r, "visual_scene", attribute(instance, "url"));
}

static tdStatus read_document(daeReader *r, bool as_written)
{
    if (!td_xml_is(r->root, "COLLADA"))
        return fail(r, r->root, "expected <COLLADA>: this is not a Collada file");
    placement place = asset_of(r, as_written);
    const xmlNode *scene = scene_of(r);
    for (const xmlNode *at = scene == NULL ? NULL : scene->children; at != NULL; at = at->next)
        if (td_xml_is(at, "node"))
            TD_TRY(add_node(r, at, &place, 0));
    // A file without a scene is a library: all of its geometry as it is.
    const xmlNode *library = scene == NULL ? td_xml_child(r->root, "library_geometries") : NULL;
    for (const xmlNode *at = library == NULL ? NULL : library->children; at != NULL; at = at->next)
        if (td_xml_is(at, "geometry"))
            TD_TRY(add_geometry(r, NULL, at, &place));
    if (r->mesh->cells[TD_CELL_TRI].count == 0)
        return td_fail_at(r->error, TD_ERROR_INPUT, r->name, 0, NULL,
                          "the scene of the file has no triangles or polygons");
    if (r->lines > 0)
        td_mesh_note(r->mesh, "%lld sets of lines were left out", (long long)r->lines);
    td_mesh_group_dims(r->mesh);
    return td_mesh_check(r->mesh, r->name, r->error);
}

tdStatus td_mesh_read_dae_colours(const char *data, size_t size, const char *name, bool as_written, tdMesh *mesh,
                                  tdDaeColours *colours, tdError *error)
{
    daeReader r = {.name = name, .mesh = mesh, .colours = colours, .error = error};
    tdStatus status = td_xml_parse(data, size, name, &r.document, error);
    if (status == TD_OK)
    {
        r.root = xmlDocGetRootElement(r.document);
        status = read_document(&r, as_written);
    }
    xmlFreeDoc(r.document);
    return status;
}

tdStatus td_mesh_read_dae(const char *data, size_t size, const char *name, tdMesh *mesh, tdError *error)
{
    return td_mesh_read_dae_colours(data, size, name, false, mesh, NULL, error);
}
