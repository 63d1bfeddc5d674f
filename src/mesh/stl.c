// SPDX-License-Identifier: Apache-2.0
// STL, text and binary. The format has no nodes, only corners: equal corners become one node, so that
// the surface is connected. A named solid of a text file is a group; several solids without names are
// solid_1, solid_2, ... Normals are passed over: the order of the corners says the same.
//
// The writer keeps the order of the triangles: a run of triangles with the same first group is one
// solid, and solids of the same name are one group for the reader.
#include "base/hash.h"
#include "base/number.h"
#include "mesh/members.h"
#include "mesh/mesh.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HEADER_BYTES 84 // 80 of comment, 4 of count
#define FACET_BYTES  50

typedef struct stlSolid
{
    char *name; // NULL: none
    int64_t first;
} stlSolid;

typedef struct stlReader
{
    const char *data, *at, *end;
    const char *name;
    tdMesh *mesh;
    tdError *error;
    tdHash vertex_of;
    int64_t collapsed; // triangles with two equal corners
    stlSolid *solids;
    int64_t n_solids, solids_capacity;
} stlReader;

// ---------------------------------------------------------------- vertices

static uint64_t vertex_key(const double *x)
{
    uint64_t key = 0;
    for (int d = 0; d < 3; d++)
    {
        double value = x[d] + 0.0; // -0 and 0 are the same place
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        key = td_hash_mix(key * 31 + bits);
    }
    return key;
}

// Number of the node at x, added if missing; -1 when memory runs out.
static int32_t find_vertex(stlReader *r, const double *x)
{
    uint64_t key = vertex_key(x);
    int64_t probe = -1;
    const int32_t *found;
    while ((found = td_hash_next(&r->vertex_of, key, &probe)) != NULL)
    {
        const double *y = r->mesh->x + 3 * (int64_t)*found;
        if (x[0] == y[0] && x[1] == y[1] && x[2] == y[2])
            return *found;
    }
    int32_t made = (int32_t)r->mesh->n_nodes;
    if (!td_mesh_add_node(r->mesh, x[0], x[1], x[2]) || !td_hash_add(&r->vertex_of, key, made))
        return -1;
    return made;
}

static tdStatus add_triangle(stlReader *r, const double *corners)
{
    int32_t nodes[3];
    for (int k = 0; k < 3; k++)
    {
        nodes[k] = find_vertex(r, corners + 3 * (int64_t)k);
        if (nodes[k] < 0)
            return td_fail_memory(r->error, r->name);
    }
    if (nodes[0] == nodes[1] || nodes[1] == nodes[2] || nodes[2] == nodes[0])
        r->collapsed++;
    else if (!td_mesh_add_cell(r->mesh, TD_CELL_TRI, nodes))
        return td_fail_memory(r->error, r->name);
    return TD_OK;
}

// ---------------------------------------------------------------- binary

static uint32_t little32(const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static tdStatus read_binary(stlReader *r)
{
    int64_t size = r->end - r->data;
    if (size < HEADER_BYTES)
        return td_fail_at(r->error, TD_ERROR_INPUT, r->name, 0, NULL,
                          "%lld bytes are too few for an STL file; it was cut off or is something else",
                          (long long)size);
    int64_t count = little32(r->data + 80), needed = HEADER_BYTES + FACET_BYTES * count;
    if (size < needed)
        return td_fail_at(r->error, TD_ERROR_INPUT, r->name, 0, NULL,
                          "a binary STL file with %lld triangles has %lld bytes, but this one ends at byte %lld; it "
                          "was cut off, or is not STL",
                          (long long)count, (long long)needed, (long long)size);
    int64_t attributes = 0;
    for (int64_t i = 0; i < count; i++)
    {
        const char *facet = r->data + HEADER_BYTES + FACET_BYTES * i;
        double corners[9];
        for (int k = 0; k < 9; k++)
        {
            uint32_t bits = little32(facet + 12 + 4 * (int64_t)k);
            float value;
            memcpy(&value, &bits, sizeof value);
            corners[k] = value;
            if (!isfinite(corners[k]))
                return td_fail_at(r->error, TD_ERROR_INPUT, r->name, 0, "triangles",
                                  "byte %lld: a corner of triangle %lld is not a finite number",
                                  (long long)(facet + 12 + 4 * (int64_t)k - r->data), (long long)i);
        }
        attributes += facet[48] != 0 || facet[49] != 0;
        TD_TRY(add_triangle(r, corners));
    }
    if (attributes > 0)
        td_mesh_note(r->mesh, "the attributes (colours) of %lld triangles were skipped", (long long)attributes);
    if (size > needed)
        td_mesh_note(r->mesh, "%lld bytes behind the last triangle were skipped", (long long)(size - needed));
    return TD_OK;
}

// ---------------------------------------------------------------- text

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static tdStatus fail_text(stlReader *r, const char *expected)
{
    int line = 1;
    for (const char *c = r->data; c < r->at; c++)
        line += *c == '\n';
    char found[32];
    size_t n = 0;
    for (; n + 1 < sizeof found && r->at + n < r->end && !is_blank(r->at[n]); n++)
        found[n] = r->at[n] >= 32 && r->at[n] < 127 ? r->at[n] : '?';
    found[n] = '\0';
    if (r->at >= r->end)
        return td_fail_at(r->error, TD_ERROR_INPUT, r->name, line, NULL,
                          "the file ends where %s is expected; it was cut off, so write or copy it again", expected);
    return td_fail_at(r->error, TD_ERROR_INPUT, r->name, line, NULL, "'%s' found where %s is expected", found,
                      expected);
}

static void skip_blank(stlReader *r)
{
    while (r->at < r->end && is_blank(*r->at))
        r->at++;
}

// Goes behind a keyword, in letters of any case, if it stands here.
static bool keyword(stlReader *r, const char *word)
{
    skip_blank(r);
    size_t n = strlen(word);
    if ((size_t)(r->end - r->at) < n || strncasecmp(r->at, word, n) != 0 || (r->at + n < r->end && !is_blank(r->at[n])))
        return false;
    r->at += n;
    return true;
}

static tdStatus expect(stlReader *r, const char *word)
{
    return keyword(r, word) ? TD_OK : fail_text(r, word);
}

static tdStatus read_real(stlReader *r, double *out)
{
    skip_blank(r);
    char *stop = NULL;
    *out = r->at < r->end ? td_number(r->at, &stop) : 0;
    if (r->at >= r->end || stop == r->at || (stop < r->end && !is_blank(*stop)) || !isfinite(*out))
        return fail_text(r, "a finite number");
    r->at = stop;
    return TD_OK;
}

// facet normal nx ny nz  outer loop  vertex x y z (three times)  endloop  endfacet; "facet" is read.
static tdStatus read_facet(stlReader *r)
{
    double corners[9];
    TD_TRY(expect(r, "normal"));
    for (int k = 0; k < 3; k++) // may be anything, even nan
    {
        skip_blank(r);
        if (r->at >= r->end)
            return fail_text(r, "a normal");
        while (r->at < r->end && !is_blank(*r->at))
            r->at++;
    }
    TD_TRY(expect(r, "outer"));
    TD_TRY(expect(r, "loop"));
    for (int k = 0; k < 9; k++)
    {
        if (k % 3 == 0)
            TD_TRY(expect(r, "vertex"));
        TD_TRY(read_real(r, &corners[k]));
    }
    TD_TRY(expect(r, "endloop"));
    TD_TRY(expect(r, "endfacet"));
    return add_triangle(r, corners);
}

// The rest of the line without the blanks around it.
static const char *rest_of_line(stlReader *r, size_t *n)
{
    const char *first = r->at;
    while (r->at < r->end && *r->at != '\n')
        r->at++;
    const char *last = r->at;
    while (first < last && is_blank(*first))
        first++;
    while (last > first && is_blank(last[-1]))
        last--;
    *n = (size_t)(last - first);
    return first;
}

static tdStatus read_solid(stlReader *r)
{
    size_t n = 0;
    const char *name = rest_of_line(r, &n);
    if (memchr(name, '\0', n) != NULL)
        return fail_text(r, "a name without zero bytes before this");
    if (!td_grow((void **)&r->solids, &r->solids_capacity, r->n_solids + 1, sizeof(stlSolid)))
        return td_fail_memory(r->error, r->name);
    stlSolid *solid = &r->solids[r->n_solids++];
    *solid = (stlSolid){.name = n > 0 ? strndup(name, n) : NULL, .first = r->mesh->cells[TD_CELL_TRI].count};
    if (n > 0 && solid->name == NULL)
        return td_fail_memory(r->error, r->name);
    while (!keyword(r, "endsolid"))
    {
        if (!keyword(r, "facet"))
            return fail_text(r, "facet or endsolid");
        TD_TRY(read_facet(r));
    }
    rest_of_line(r, &n);
    return TD_OK;
}

static tdStatus make_groups(stlReader *r)
{
    bool named = false;
    for (int64_t s = 0; s < r->n_solids; s++)
        named = named || r->solids[s].name != NULL;
    if (!named && r->n_solids == 1)
        return TD_OK;
    tdHash names = {0};
    bool good = true;
    for (int64_t s = 0; s < r->n_solids && good; s++)
    {
        char number[32];
        snprintf(number, sizeof number, "solid_%lld", (long long)s + 1);
        const char *name = named ? r->solids[s].name : number;
        if (name == NULL)
            continue; // among named solids, one without a name is in no group
        int group = td_mesh_named_group(r->mesh, &names, name, strlen(name), 2, 0);
        int64_t end = s + 1 < r->n_solids ? r->solids[s + 1].first : r->mesh->cells[TD_CELL_TRI].count;
        good = group >= 0;
        for (int64_t c = r->solids[s].first; c < end && good; c++)
            good = td_mesh_group_add(r->mesh, group, TD_CELL_TRI, c);
    }
    td_hash_free(&names);
    td_mesh_group_dims(r->mesh);
    return good ? TD_OK : td_fail_memory(r->error, r->name);
}

static tdStatus read_text(stlReader *r)
{
    for (skip_blank(r); r->at < r->end; skip_blank(r))
    {
        TD_TRY(expect(r, "solid"));
        TD_TRY(read_solid(r));
    }
    return make_groups(r);
}

// Binary files may begin with "solid" too, so first ask whether the size is that of a binary file; in
// text, bytes 80 to 83 would announce hundreds of millions of triangles. A zero byte near the start
// tells a binary file that was cut off or has something behind it.
static bool is_text(const char *data, size_t size)
{
    if (size >= HEADER_BYTES && size == HEADER_BYTES + (size_t)FACET_BYTES * little32(data + 80))
        return false;
    size_t blanks = 0;
    while (blanks < size && is_blank(data[blanks]))
        blanks++;
    size_t near = size < 512 ? size : 512;
    return size - blanks >= 5 && strncasecmp(data + blanks, "solid", 5) == 0 && memchr(data, '\0', near) == NULL;
}

tdStatus td_mesh_read_stl(const char *data, size_t size, const char *name, tdMesh *mesh, tdError *error)
{
    stlReader r = {.data = data, .at = data, .end = data + size, .name = name, .mesh = mesh, .error = error};
    tdStatus status = is_text(data, size) ? read_text(&r) : read_binary(&r);
    for (int64_t s = 0; s < r.n_solids; s++)
        free(r.solids[s].name);
    free(r.solids);
    td_hash_free(&r.vertex_of);
    if (status != TD_OK)
        return status;
    if (r.collapsed > 0)
        td_mesh_note(mesh, "%lld triangles with two corners at the same place were skipped", (long long)r.collapsed);
    return td_mesh_check(mesh, name, error);
}

// ---------------------------------------------------------------- writer

typedef struct stlWriter
{
    const tdMesh *mesh;
    tdText *out;
    tdError *error;
    bool binary;
} stlWriter;

static void put32(tdText *out, uint32_t bits)
{
    unsigned char b[4] = {(unsigned char)bits, (unsigned char)(bits >> 8), (unsigned char)(bits >> 16),
                          (unsigned char)(bits >> 24)};
    td_text_append(out, b, sizeof b);
}

static void put_float(tdText *out, double value)
{
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    put32(out, bits);
}

static void facet_normal(const double x[3][3], double *normal)
{
    double a[3], b[3];
    for (int d = 0; d < 3; d++)
    {
        a[d] = x[1][d] - x[0][d];
        b[d] = x[2][d] - x[0][d];
    }
    for (int d = 0; d < 3; d++)
        normal[d] = a[(d + 1) % 3] * b[(d + 2) % 3] - a[(d + 2) % 3] * b[(d + 1) % 3];
    double length = sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
    for (int d = 0; d < 3; d++)
        normal[d] = isnormal(length) ? normal[d] / length : 0;
}

static tdStatus put_facet(stlWriter *w, const int32_t *nodes)
{
    double x[3][3], normal[3];
    for (int k = 0; k < 3; k++)
        for (int d = 0; d < 3; d++)
        {
            x[k][d] = w->mesh->x[3 * (int64_t)nodes[k] + d];
            if (w->binary && fabs(x[k][d]) > FLT_MAX)
                return td_fail(w->error, TD_ERROR_INPUT,
                               "the coordinate %g of node %d is too large for binary STL; write it as text", x[k][d],
                               nodes[k]);
            x[k][d] = w->binary ? (double)(float)x[k][d] : x[k][d];
        }
    for (int k = 0; k < 3; k++)
    {
        const double *a = x[k], *b = x[(k + 1) % 3];
        if (a[0] == b[0] && a[1] == b[1] && a[2] == b[2])
            return td_fail(w->error, TD_ERROR_INPUT,
                           "nodes %d and %d of a triangle are at the same place, which would lose the triangle%s",
                           nodes[k], nodes[(k + 1) % 3],
                           w->binary ? " (in single precision); write it as text" : "; remove it");
    }
    facet_normal((const double(*)[3])x, normal);
    if (!w->binary)
    {
        char text[512];
        int n = snprintf(text, sizeof text,
                         "facet normal %.9g %.9g %.9g\nouter loop\nvertex %.17g %.17g %.17g\nvertex %.17g %.17g "
                         "%.17g\nvertex %.17g %.17g %.17g\nendloop\nendfacet\n",
                         normal[0], normal[1], normal[2], x[0][0], x[0][1], x[0][2], x[1][0], x[1][1], x[1][2], x[2][0],
                         x[2][1], x[2][2]);
        td_text_append(w->out, text, (size_t)n);
        return TD_OK;
    }
    for (int d = 0; d < 3; d++)
        put_float(w->out, normal[d]);
    for (int k = 0; k < 9; k++)
        put_float(w->out, x[k / 3][k % 3]);
    td_text_append(w->out, "\0\0", 2);
    return TD_OK;
}

// A triangle, or a quadrilateral as two.
static tdStatus put_cell(stlWriter *w, tdCellType type, int64_t cell)
{
    int n = td_cell_nodes(type);
    const int32_t *nodes = w->mesh->cells[type].nodes + cell * n;
    TD_TRY(put_facet(w, nodes));
    return type == TD_CELL_QUAD ? put_facet(w, (int32_t[]){nodes[0], nodes[2], nodes[3]}) : TD_OK;
}

static const char *solid_name(const stlWriter *w, int group)
{
    return group < 0 ? "" : w->mesh->groups[group].name;
}

static tdStatus write_text(stlWriter *w, const tdMembers members[2])
{
    int open = -2; // group of the solid being written; -1: no group, -2: no solid
    for (int t = TD_CELL_TRI; t <= TD_CELL_QUAD; t++)
        for (int64_t c = 0; c < w->mesh->cells[t].count; c++)
        {
            const tdMembers *m = &members[t - TD_CELL_TRI];
            int group = m->start[c] < m->start[c + 1] ? m->list[m->start[c]] : -1;
            if (group != open && open != -2)
                td_text_format(w->out, "endsolid %s\n", solid_name(w, open));
            if (group != open)
                td_text_format(w->out, "solid %s\n", solid_name(w, group));
            open = group;
            TD_TRY(put_cell(w, (tdCellType)t, c));
        }
    td_text_format(w->out, "endsolid %s\n", solid_name(w, open));
    return TD_OK;
}

static tdStatus write_binary(stlWriter *w, int64_t count)
{
    if (count > UINT32_MAX)
        return td_fail(w->error, TD_ERROR_INPUT, "%lld triangles are too many for binary STL", (long long)count);
    char header[80] = "binary STL"; // must not begin with "solid"
    td_text_append(w->out, header, sizeof header);
    put32(w->out, (uint32_t)count);
    for (int t = TD_CELL_TRI; t <= TD_CELL_QUAD; t++)
        for (int64_t c = 0; c < w->mesh->cells[t].count; c++)
            TD_TRY(put_cell(w, (tdCellType)t, c));
    return TD_OK;
}

tdStatus td_mesh_write_stl(const tdMesh *mesh, tdMeshEncoding encoding, tdText *out, tdError *error)
{
    int64_t count = mesh->cells[TD_CELL_TRI].count + 2 * mesh->cells[TD_CELL_QUAD].count;
    if (encoding != TD_MESH_ASCII && encoding != TD_MESH_BINARY)
        return td_fail(error, TD_ERROR_USAGE, "STL is written as text or as binary");
    if (count == 0)
        return td_fail(error, TD_ERROR_INPUT, "the mesh has no triangles to write to STL; take its boundary first");
    for (int g = 0; g < mesh->n_groups && encoding == TD_MESH_ASCII; g++)
    {
        const char *name = mesh->groups[g].name;
        size_t n = strlen(name);
        if (n == 0 || is_blank(name[0]) || is_blank(name[n - 1]) || strchr(name, '\n') != NULL)
            return td_fail(error, TD_ERROR_INPUT,
                           "the group name '%.60s' cannot be written to STL: empty, with blanks around it, or with a "
                           "line break; rename it",
                           name);
    }
    stlWriter w = {.mesh = mesh, .out = out, .error = error, .binary = encoding == TD_MESH_BINARY};
    tdStatus status = TD_OK;
    if (w.binary)
        status = write_binary(&w, count);
    else
    {
        tdArena arena = {0};
        tdMembers members[2] = {0};
        if (td_mesh_members(mesh, TD_CELL_TRI, &arena, &members[0]) &&
            td_mesh_members(mesh, TD_CELL_QUAD, &arena, &members[1]))
            status = write_text(&w, members);
        else
            status = td_fail_memory(error, "the groups");
        td_arena_free(&arena);
    }
    return status == TD_OK && out->failed ? td_fail_memory(error, "the file") : status;
}
