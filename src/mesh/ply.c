// SPDX-License-Identifier: Apache-2.0
// PLY (Stanford), text and binary of both byte orders: vertices with x, y, z and faces as lists of vertex numbers,
// counted from 0. Polygons are cut into triangles as a fan from their first corner. Other properties and elements
// (normals, colours, edges, strips) are passed over and named in the notes.
#include "base/number.h"
#include "mesh/members.h"
#include "mesh/mesh.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ELEMENTS   16
#define MOST_PROPERTIES 64 // of one element
#define NAME_SIZE       32

typedef enum plyType
{
    PLY_INT8,
    PLY_UINT8,
    PLY_INT16,
    PLY_UINT16,
    PLY_INT32,
    PLY_UINT32,
    PLY_FLOAT32,
    PLY_FLOAT64,
    PLY_TYPES
} plyType;

static const struct
{
    const char *name, *old_name;
    int bytes;
} types[PLY_TYPES] = {
    [PLY_INT8] = {"int8", "char", 1},        [PLY_UINT8] = {"uint8", "uchar", 1},
    [PLY_INT16] = {"int16", "short", 2},     [PLY_UINT16] = {"uint16", "ushort", 2},
    [PLY_INT32] = {"int32", "int", 4},       [PLY_UINT32] = {"uint32", "uint", 4},
    [PLY_FLOAT32] = {"float32", "float", 4}, [PLY_FLOAT64] = {"float64", "double", 8},
};

typedef struct plyProperty
{
    char name[NAME_SIZE];
    bool is_list;
    plyType count_type, type;
} plyProperty;

typedef struct plyElement
{
    char name[NAME_SIZE];
    int64_t count;
    int n_properties;
    plyProperty property[MOST_PROPERTIES];
} plyElement;

typedef struct plyReader
{
    const char *data, *at, *end;
    const char *name;
    tdMesh *mesh;
    tdError *error;
    bool is_text, is_big; // else binary, little-endian
    int n_elements;
    plyElement *element; // MOST_ELEMENTS
    int32_t *corners;
    int64_t corners_capacity, collapsed, concave;
    const char *largest_at; // where the largest vertex number was
    int64_t largest;
} plyReader;

// Where: the line of a text, the byte of a binary file.
TD_PRINTF(2, 3)
static tdStatus fail_here(plyReader *r, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!r->is_text)
        return td_fail_at(r->error, TD_ERROR_INPUT, r->name, 0, NULL, "byte %lld: %s", (long long)(r->at - r->data),
                          text);
    int line = 1;
    for (const char *c = r->data; c < r->at; c++)
        line += *c == '\n';
    return td_fail_at(r->error, TD_ERROR_INPUT, r->name, line, NULL, "%s", text);
}

// ---------------------------------------------------------------- header

// The next word of the header's line at r->at into `word` (cut to its size); false at the end of the line.
static bool header_word(plyReader *r, char word[NAME_SIZE])
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
    size_t n = 0;
    for (; r->at < r->end && *r->at != ' ' && *r->at != '\t' && *r->at != '\r' && *r->at != '\n'; r->at++)
        if (n + 1 < NAME_SIZE)
            word[n++] = *r->at > 32 && *r->at < 127 ? *r->at : '?'; // it may stand in a message
    word[n] = '\0';
    return n > 0;
}

static bool find_type(const char *word, plyType *type)
{
    for (int t = 0; t < PLY_TYPES; t++)
        if (strcmp(word, types[t].name) == 0 || strcmp(word, types[t].old_name) == 0)
        {
            *type = (plyType)t;
            return true;
        }
    return false;
}

static tdStatus read_format(plyReader *r)
{
    char word[NAME_SIZE];
    header_word(r, word);
    bool text = strcmp(word, "ascii") == 0;
    r->is_big = strcmp(word, "binary_big_endian") == 0;
    if (!text && !r->is_big && strcmp(word, "binary_little_endian") != 0)
        return fail_here(r, "the format '%s' is unknown; expected ascii, binary_little_endian or binary_big_endian",
                         word);
    r->is_text = text;
    return TD_OK;
}

static tdStatus read_element(plyReader *r)
{
    if (r->n_elements == MOST_ELEMENTS)
        return fail_here(r, "more than %d kinds of elements", MOST_ELEMENTS);
    plyElement *e = &r->element[r->n_elements++];
    char count[NAME_SIZE], *stop = NULL;
    if (!header_word(r, e->name) || !header_word(r, count))
        return fail_here(r, "expected 'element NAME COUNT'");
    double value = td_number(count, &stop);
    if (*stop != '\0' || !(value >= 0) || value > INT32_MAX || value != floor(value))
        return fail_here(r, "'%s' is not a number of elements", count);
    e->count = (int64_t)value;
    return TD_OK;
}

static tdStatus read_property(plyReader *r)
{
    if (r->n_elements == 0)
        return fail_here(r, "a property comes before the first element");
    plyElement *e = &r->element[r->n_elements - 1];
    if (e->n_properties == MOST_PROPERTIES)
        return fail_here(r, "element '%s' has more than %d properties", e->name, MOST_PROPERTIES);
    plyProperty *p = &e->property[e->n_properties++];
    char word[NAME_SIZE];
    header_word(r, word);
    p->is_list = strcmp(word, "list") == 0;
    if (p->is_list)
    {
        header_word(r, word);
        if (!find_type(word, &p->count_type) || p->count_type >= PLY_FLOAT32)
            return fail_here(r, "'%s' cannot be the type of a list's length", word);
        header_word(r, word);
    }
    if (!find_type(word, &p->type))
        return fail_here(r, "the type '%s' of a property is unknown", word);
    if (!header_word(r, p->name))
        return fail_here(r, "a property has no name");
    return TD_OK;
}

static tdStatus read_header(plyReader *r)
{
    char word[NAME_SIZE];
    bool text = false, has_format = false;
    if (!header_word(r, word) || strcmp(word, "ply") != 0)
        return fail_here(r, "a PLY file begins with 'ply'");
    while (r->at < r->end)
    {
        r->at++; // the end of the line before
        const char *line = r->at;
        if (!header_word(r, word))
            continue;
        tdStatus status = TD_OK;
        if (strcmp(word, "format") == 0)
        {
            status = read_format(r);
            text = r->is_text;
            has_format = true;
        }
        else if (strcmp(word, "element") == 0)
            status = read_element(r);
        else if (strcmp(word, "property") == 0)
            status = read_property(r);
        else if (strcmp(word, "end_header") == 0)
        {
            while (r->at < r->end && *r->at != '\n')
                r->at++;
            r->at += r->at < r->end;
            r->is_text = text;
            return has_format ? TD_OK : fail_here(r, "the header has no line 'format'");
        }
        else if (strcmp(word, "comment") != 0 && strcmp(word, "obj_info") != 0)
            status = (r->at = line, fail_here(r, "'%s' is no line of a PLY header", word));
        r->is_text = true; // the header is text in any case
        TD_TRY(status);
        while (r->at < r->end && *r->at != '\n')
            r->at++;
    }
    return fail_here(r, "the header has no end ('end_header'); the file was cut off, or is not PLY");
}

// ---------------------------------------------------------------- values

static tdStatus read_text_value(plyReader *r, double *value)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n'))
        r->at++;
    char *stop = NULL;
    if (r->at >= r->end)
        return fail_here(r, "the file ends before the last element; it was cut off");
    *value = td_number(r->at, &stop);
    if (stop == r->at || stop > r->end || (stop < r->end && strchr(" \t\r\n", *stop) == NULL))
        return fail_here(r, "expected a number, found '%.*s'", (int)(r->end - r->at < 20 ? r->end - r->at : 20), r->at);
    r->at = stop;
    return TD_OK;
}

static tdStatus read_value(plyReader *r, plyType type, double *value)
{
    if (r->is_text)
        return read_text_value(r, value);
    int bytes = types[type].bytes;
    if (r->end - r->at < bytes)
        return fail_here(r, "the file ends before the last element; it was cut off");
    uint64_t bits = 0;
    for (int i = 0; i < bytes; i++)
        bits |= (uint64_t)(unsigned char)r->at[r->is_big ? bytes - 1 - i : i] << (8 * i);
    r->at += bytes;
    float single;
    switch (type)
    {
    case PLY_INT8: *value = (int8_t)bits; break;
    case PLY_INT16: *value = (int16_t)bits; break;
    case PLY_INT32: *value = (int32_t)bits; break;
    case PLY_FLOAT32:
    {
        uint32_t low = (uint32_t)bits;
        memcpy(&single, &low, sizeof single);
        *value = single;
        break;
    }
    case PLY_FLOAT64: memcpy(value, &bits, sizeof *value); break;
    default: *value = (double)bits;
    }
    return TD_OK;
}

static tdStatus read_length(plyReader *r, plyType type, int64_t *length)
{
    double value = 0;
    TD_TRY(read_value(r, type, &value));
    if (!(value >= 0) || value > INT32_MAX || value != floor(value))
        return fail_here(r, "%g is not the length of a list", value);
    *length = (int64_t)value;
    return TD_OK;
}

// ---------------------------------------------------------------- elements

static tdStatus skip_property(plyReader *r, const plyProperty *p)
{
    int64_t n = 1;
    double value;
    if (p->is_list)
        TD_TRY(read_length(r, p->count_type, &n));
    for (int64_t i = 0; i < n; i++)
        TD_TRY(read_value(r, p->type, &value));
    return TD_OK;
}

static tdStatus read_vertices(plyReader *r, const plyElement *e)
{
    int axis[MOST_PROPERTIES], found = 0;
    for (int k = 0; k < e->n_properties; k++)
    {
        const plyProperty *p = &e->property[k];
        axis[k] = !p->is_list && p->name[0] >= 'x' && p->name[0] <= 'z' && p->name[1] == '\0' ? p->name[0] - 'x' : -1;
        found |= axis[k] >= 0 ? 1 << axis[k] : 0;
    }
    if (found != 7)
        return td_fail_at(r->error, TD_ERROR_INPUT, r->name, 0, "vertex", "the vertices have no properties x, y and z");
    for (int64_t i = 0; i < e->count; i++)
    {
        double x[3] = {0};
        for (int k = 0; k < e->n_properties; k++)
        {
            if (axis[k] < 0)
            {
                TD_TRY(skip_property(r, &e->property[k]));
                continue;
            }
            TD_TRY(read_value(r, e->property[k].type, &x[axis[k]]));
            if (!isfinite(x[axis[k]]))
                return fail_here(r, "coordinate %s of vertex %lld is not finite", e->property[k].name, (long long)i);
        }
        if (!td_mesh_add_node(r->mesh, x[0], x[1], x[2]))
            return td_fail_memory(r->error, r->name);
    }
    return TD_OK;
}

static tdStatus read_polygon(plyReader *r, const plyProperty *p)
{
    int64_t n = 0;
    TD_TRY(read_length(r, p->count_type, &n));
    for (int64_t i = 0; i < n; i++)
    {
        double number = 0;
        TD_TRY(read_value(r, p->type, &number));
        if (!(number >= 0) || number >= INT32_MAX || number != floor(number))
            return fail_here(r, "%g is not the number of a vertex", number);
        if (!td_grow((void **)&r->corners, &r->corners_capacity, i + 1, sizeof(int32_t)))
            return td_fail_memory(r->error, r->name);
        r->corners[i] = (int32_t)number;
        if (r->corners[i] > r->largest)
        {
            r->largest = r->corners[i];
            r->largest_at = r->at;
        }
    }
    r->concave += n > 3 && td_mesh_fan_overlaps(r->mesh, r->corners, n);
    r->collapsed += n < 3; // a point or a line
    for (int64_t k = 1; k + 1 < n; k++)
    {
        int32_t nodes[3] = {r->corners[0], r->corners[k], r->corners[k + 1]};
        if (nodes[0] == nodes[1] || nodes[1] == nodes[2] || nodes[2] == nodes[0])
            r->collapsed++;
        else if (!td_mesh_add_cell(r->mesh, TD_CELL_TRI, nodes))
            return td_fail_memory(r->error, r->name);
    }
    return TD_OK;
}

static bool is_corner_list(const plyProperty *p)
{
    return p->is_list && (strcmp(p->name, "vertex_indices") == 0 || strcmp(p->name, "vertex_index") == 0);
}

static tdStatus read_faces(plyReader *r, const plyElement *e)
{
    bool found = false;
    for (int k = 0; k < e->n_properties; k++)
        found = found || is_corner_list(&e->property[k]);
    if (!found)
        return td_fail_at(r->error, TD_ERROR_INPUT, r->name, 0, "face", "the faces have no list 'vertex_indices'");
    for (int64_t i = 0; i < e->count; i++)
        for (int k = 0; k < e->n_properties; k++)
            TD_TRY(is_corner_list(&e->property[k]) ? read_polygon(r, &e->property[k])
                                                   : skip_property(r, &e->property[k]));
    return TD_OK;
}

static tdStatus read_body(plyReader *r)
{
    bool vertices = false;
    for (int i = 0; i < r->n_elements; i++)
    {
        const plyElement *e = &r->element[i];
        bool is_vertex = strcmp(e->name, "vertex") == 0;
        if (is_vertex && vertices)
            return td_fail_at(r->error, TD_ERROR_INPUT, r->name, 0, "vertex", "the header lists vertices twice");
        vertices = vertices || is_vertex;
        if (is_vertex)
            TD_TRY(read_vertices(r, e));
        else if (strcmp(e->name, "face") == 0)
            TD_TRY(read_faces(r, e));
        else if (e->n_properties > 0) // without properties it takes no bytes
        {
            for (int64_t k = 0; k < e->count; k++)
                for (int j = 0; j < e->n_properties; j++)
                    TD_TRY(skip_property(r, &e->property[j]));
            if (e->count > 0)
                td_mesh_note(r->mesh, "%lld elements '%s' were skipped", (long long)e->count, e->name);
        }
    }
    if (r->largest >= r->mesh->n_nodes)
    {
        r->at = r->largest_at;
        return fail_here(r, "a face has vertex %lld (from 0), but the file has only %lld", (long long)r->largest,
                         (long long)r->mesh->n_nodes);
    }
    return TD_OK;
}

static void write_notes(plyReader *r)
{
    if (r->collapsed > 0)
        td_mesh_note(r->mesh, "%lld faces without area (fewer than three different corners) were skipped",
                     (long long)r->collapsed);
    if (r->concave > 0)
        td_mesh_note(r->mesh, "%lld polygons are not convex, so their triangles overlap; triangulate them first",
                     (long long)r->concave);
}

tdStatus td_mesh_read_ply(const char *data, size_t size, const char *name, tdMesh *mesh, tdError *error)
{
    plyReader r = {.data = data,
                   .at = data,
                   .end = data + size,
                   .name = name,
                   .mesh = mesh,
                   .error = error,
                   .is_text = true,
                   .largest = -1,
                   .element = calloc(MOST_ELEMENTS, sizeof(plyElement))};
    tdStatus status = r.element == NULL ? td_fail_memory(error, name) : read_header(&r);
    if (status == TD_OK)
        status = read_body(&r);
    if (status == TD_OK && mesh->cells[TD_CELL_TRI].count == 0)
        status = td_fail_at(error, TD_ERROR_INPUT, name, 0, NULL,
                            "the file has no faces; a cloud of points must be made a surface first");
    if (status == TD_OK)
        write_notes(&r);
    free(r.corners);
    free(r.element);
    return status == TD_OK ? td_mesh_check(mesh, name, error) : status;
}
