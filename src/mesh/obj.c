// SPDX-License-Identifier: Apache-2.0
// Wavefront OBJ: vertices, faces, lines and points, with groups from `g` (several names: the face is
// in each) and `o`. Polygons are cut into triangles as a fan from their first corner. Texture
// coordinates, normals, smoothing and materials are passed over.
#include "base/hash.h"
#include "base/number.h"
#include "mesh/members.h"
#include "mesh/mesh.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_GROUPS  64 // of one `g` line: every face that follows is listed in each of them
#define MOST_UNKNOWN 8  // keywords that are named in the notes

typedef struct objReader
{
    const char *data, *at, *end;
    const char *name;
    tdMesh *mesh;
    tdError *error;

    int groups[MOST_GROUPS]; // of `g`, then `object`: -1 if none
    int n_groups, object;
    tdHash names; // of the mesh's groups

    int32_t *corners; // of the face being read
    int64_t corners_capacity;
    int64_t last_forward; // largest vertex named before it was defined, and where
    const char *forward_at;

    int64_t collapsed, concave, weighted, coloured, materials, unknown;
    char unknown_name[MOST_UNKNOWN][24];
    int n_unknown;
} objReader;

TD_PRINTF(2, 3)
static tdStatus fail_line(objReader *r, const char *format, ...)
{
    char text[500];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    int line = 1;
    for (const char *c = r->data; c < r->at; c++)
        line += *c == '\n';
    return td_fail_at(r->error, TD_ERROR_INPUT, r->name, line, NULL, "%s", text);
}

// ---------------------------------------------------------------- words of a line

// Bytes of a backslash and the line end behind it, which continue a line; 0 if none is here.
static int continuation(const objReader *r)
{
    if (r->end - r->at >= 2 && r->at[0] == '\\' && r->at[1] == '\n')
        return 2;
    return r->end - r->at >= 3 && r->at[0] == '\\' && r->at[1] == '\r' && r->at[2] == '\n' ? 3 : 0;
}

// Goes to the next word of this line and gives its length; 0 at the end of the line.
static size_t next_word(objReader *r)
{
    for (int n = 0; r->at < r->end; r->at += n)
    {
        n = *r->at == ' ' || *r->at == '\t' || *r->at == '\r' ? 1 : continuation(r);
        if (n == 0)
            break;
    }
    if (r->at < r->end && *r->at == '#')
        while (r->at < r->end && *r->at != '\n')
            r->at++;
    objReader ahead = *r;
    while (ahead.at < r->end && *ahead.at != ' ' && *ahead.at != '\t' && *ahead.at != '\r' && *ahead.at != '\n' &&
           continuation(&ahead) == 0)
        ahead.at++;
    return (size_t)(ahead.at - r->at);
}

static void end_line(objReader *r)
{
    for (size_t n = next_word(r); n > 0; n = next_word(r))
        r->at += n;
    if (r->at < r->end)
        r->at++;
}

// ---------------------------------------------------------------- vertices

// v x y z [w], or v x y z r g b: only the place is kept.
static tdStatus read_vertex(objReader *r)
{
    double value[8];
    int count = 0;
    for (size_t n = next_word(r); n > 0 && count < 8; n = next_word(r), count++)
    {
        char *stop = NULL;
        value[count] = td_number(r->at, &stop);
        if (stop != r->at + n || !isfinite(value[count]))
            return fail_line(r, "'%.*s' is not a finite number", (int)(n < 40 ? n : 40), r->at);
        r->at += n;
    }
    if (count < 3 || count == 5 || count == 8)
        return fail_line(r, "a vertex has %d numbers; expected x y z, perhaps with a weight or a colour", count);
    r->weighted += (count == 4 || count == 7) && value[3] != 1;
    r->coloured += count >= 6;
    if (!td_mesh_add_node(r->mesh, value[0], value[1], value[2]))
        return td_fail_memory(r->error, r->name);
    return TD_OK;
}

// ---------------------------------------------------------------- faces, lines, points

// v, v/vt, v//vn or v/vt/vn; counted from 1, or back from the last vertex if negative.
static tdStatus read_corner(objReader *r, size_t n, int32_t *node)
{
    const char *c = r->at, *end = r->at + n;
    bool negative = c < end && *c == '-';
    c += negative || *c == '+';
    int64_t number = 0;
    const char *digits = c;
    for (; c < end && *c >= '0' && *c <= '9' && number <= INT32_MAX; c++)
        number = 10 * number + (*c - '0');
    bool good = c > digits && (c == end || *c == '/');
    for (int slashes = 0; good && c < end; c++)
    {
        slashes += *c == '/';
        good = slashes <= 2 && (*c == '/' || *c == '-' || (*c >= '0' && *c <= '9'));
    }
    int64_t known = r->mesh->n_nodes;
    if (!good || number < 1 || number > INT32_MAX || (negative && number > known))
        return fail_line(r, "'%.*s' names no vertex; expected 1 to the number of vertices, or -1 to -%lld",
                         (int)(n < 40 ? n : 40), r->at, (long long)known);
    *node = (int32_t)(negative ? known - number : number - 1);
    // A vertex may be defined behind the face; whether it was is known at the end.
    if (*node >= known && number > r->last_forward)
    {
        r->last_forward = number;
        r->forward_at = r->at;
    }
    r->at += n;
    return TD_OK;
}

static tdStatus add_cell(objReader *r, tdCellType type, const int32_t *nodes)
{
    int64_t cell = r->mesh->cells[type].count;
    bool good = td_mesh_add_cell(r->mesh, type, nodes);
    for (int g = 0; g < r->n_groups && good; g++)
        good = td_mesh_group_add(r->mesh, r->groups[g], type, cell);
    if (r->object >= 0 && good)
        good = td_mesh_group_add(r->mesh, r->object, type, cell);
    return good ? TD_OK : td_fail_memory(r->error, r->name);
}

static tdStatus read_cells(objReader *r, char kind)
{
    int64_t count = 0;
    for (size_t n = next_word(r); n > 0; n = next_word(r), count++)
    {
        if (!td_grow((void **)&r->corners, &r->corners_capacity, count + 1, sizeof(int32_t)))
            return td_fail_memory(r->error, r->name);
        TD_TRY(read_corner(r, n, &r->corners[count]));
    }
    int64_t least = kind == 'f' ? 3 : kind == 'l' ? 2 : 1;
    if (count < least)
        return fail_line(r, "'%c' has %lld corners, but needs %lld", kind, (long long)count, (long long)least);
    if (kind == 'p')
        for (int64_t k = 0; k < count; k++)
            TD_TRY(add_cell(r, TD_CELL_VERTEX, &r->corners[k]));
    if (kind == 'l')
        for (int64_t k = 0; k + 1 < count; k++)
            TD_TRY(add_cell(r, TD_CELL_LINE, &r->corners[k]));
    if (kind != 'f')
        return TD_OK;
    r->concave += count > 3 && td_mesh_fan_overlaps(r->mesh, r->corners, count);
    for (int64_t k = 1; k + 1 < count; k++)
    {
        int32_t nodes[3] = {r->corners[0], r->corners[k], r->corners[k + 1]};
        if (nodes[0] == nodes[1] || nodes[1] == nodes[2] || nodes[2] == nodes[0])
            r->collapsed++;
        else
            TD_TRY(add_cell(r, TD_CELL_TRI, nodes));
    }
    return TD_OK;
}

// ---------------------------------------------------------------- groups and the rest

static tdStatus read_groups(objReader *r)
{
    r->n_groups = 0;
    for (size_t n = next_word(r); n > 0; n = next_word(r))
    {
        if (r->n_groups == MOST_GROUPS)
            return fail_line(r, "more than %d groups in one line", MOST_GROUPS);
        if (memchr(r->at, '\0', n) != NULL)
            return fail_line(r, "the name of a group holds a zero byte");
        int group = r->groups[r->n_groups++] = td_mesh_named_group(r->mesh, &r->names, r->at, n, 2, 0);
        if (group < 0)
            return td_fail_memory(r->error, r->name);
        r->at += n;
    }
    return TD_OK;
}

// The name of an object is the rest of the line, with the blanks in it.
static tdStatus read_object(objReader *r)
{
    r->object = -1;
    size_t n = next_word(r);
    const char *first = r->at, *last = r->at;
    for (; n > 0 && *r->at != '#'; n = next_word(r))
        last = r->at += n;
    n = (size_t)(last - first);
    if (n == 0)
        return TD_OK;
    if (memchr(first, '\0', n) != NULL || memchr(first, '\n', n) != NULL)
        return fail_line(r, "the name of an object contains a zero byte or a line break");
    r->object = td_mesh_named_group(r->mesh, &r->names, first, n, 2, 0);
    return r->object < 0 ? td_fail_memory(r->error, r->name) : TD_OK;
}

static void note_unknown(objReader *r, const char *word, size_t n)
{
    r->unknown++;
    char name[sizeof r->unknown_name[0]];
    size_t used = n < sizeof name - 1 ? n : sizeof name - 1;
    for (size_t i = 0; i < used; i++)
        name[i] = word[i] >= 32 && word[i] < 127 ? word[i] : '?';
    name[used] = '\0';
    for (int i = 0; i < r->n_unknown; i++)
        if (strcmp(r->unknown_name[i], name) == 0)
            return;
    if (r->n_unknown < MOST_UNKNOWN)
        memcpy(r->unknown_name[r->n_unknown++], name, sizeof name);
}

static tdStatus read_line(objReader *r)
{
    static const char *const silent[] = {"vt", "vn", "vp", "s", "mtllib"};
    size_t n = next_word(r);
    const char *word = r->at;
    r->at += n;
    tdStatus status = TD_OK;
    if (n == 1 && *word == 'v')
        status = read_vertex(r);
    else if (n == 1 && (*word == 'f' || *word == 'l' || *word == 'p'))
        status = read_cells(r, *word);
    else if (n == 1 && *word == 'g')
        status = read_groups(r);
    else if (n == 1 && *word == 'o')
        status = read_object(r);
    else if (n == 6 && memcmp(word, "usemtl", 6) == 0)
        r->materials++;
    else if (n > 0)
    {
        bool known = false;
        for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
            known = known || (strlen(silent[i]) == n && memcmp(word, silent[i], n) == 0);
        if (!known)
            note_unknown(r, word, n);
    }
    if (status == TD_OK)
        end_line(r);
    return status;
}

static void write_notes(objReader *r)
{
    if (r->collapsed > 0)
        td_mesh_note(r->mesh, "%lld triangles with a repeated corner were skipped", (long long)r->collapsed);
    if (r->concave > 0)
        td_mesh_note(r->mesh, "%lld polygons are not convex, so their triangles overlap; triangulate them first",
                     (long long)r->concave);
    if (r->weighted > 0)
        td_mesh_note(r->mesh, "the weights of %lld vertices were skipped", (long long)r->weighted);
    if (r->coloured > 0)
        td_mesh_note(r->mesh, "the colours of %lld vertices were skipped", (long long)r->coloured);
    if (r->materials > 0)
        td_mesh_note(r->mesh, "%lld materials (usemtl) were skipped", (long long)r->materials);
    for (int i = 0; i < r->n_unknown; i++)
        td_mesh_note(r->mesh, "lines that begin with '%s' were skipped", r->unknown_name[i]);
    if (r->n_unknown == MOST_UNKNOWN)
        td_mesh_note(r->mesh, "%lld lines were skipped in all", (long long)r->unknown);
}

tdStatus td_mesh_read_obj(const char *data, size_t size, const char *name, tdMesh *mesh, tdError *error)
{
    objReader r = {
        .data = data, .at = data, .end = data + size, .name = name, .mesh = mesh, .error = error, .object = -1};
    tdStatus status = TD_OK;
    while (r.at < r.end && status == TD_OK)
        status = read_line(&r);
    if (status == TD_OK && r.last_forward > mesh->n_nodes)
    {
        r.at = r.forward_at;
        status = fail_line(&r, "vertex %lld is named, but the file has only %lld", (long long)r.last_forward,
                           (long long)mesh->n_nodes);
    }
    free(r.corners);
    td_hash_free(&r.names);
    if (status != TD_OK)
        return status;
    td_mesh_group_dims(mesh);
    write_notes(&r);
    return td_mesh_check(mesh, name, error);
}

// ---------------------------------------------------------------- writer

// Names end at blanks, and # begins a comment: such characters become underscores.
static void group_name(const char *name, char *out, size_t size)
{
    size_t n = 0;
    for (; name[n] != '\0' && n + 1 < size; n++)
        out[n] = (unsigned char)name[n] <= ' ' || name[n] == '#' || name[n] == '\\' ? '_' : name[n];
    out[n] = '\0';
}

// Names as they will be written must still differ.
static tdStatus check_names(const tdMesh *mesh, tdError *error)
{
    tdHash names = {0};
    tdStatus status = TD_OK;
    for (int g = 0; g < mesh->n_groups && status == TD_OK; g++)
    {
        char name[256], other[256];
        group_name(mesh->groups[g].name, name, sizeof name);
        if (name[0] == '\0' || strlen(mesh->groups[g].name) >= sizeof name)
            status =
                td_fail(error, TD_ERROR_INPUT, "group %d ('%.60s') needs a name of 1 to 255 bytes for OBJ", g, name);
        uint64_t key = td_hash_bytes(name, strlen(name));
        int64_t probe = -1;
        const int32_t *found;
        while (status == TD_OK && (found = td_hash_next(&names, key, &probe)) != NULL)
        {
            group_name(mesh->groups[*found].name, other, sizeof other);
            if (strcmp(name, other) == 0)
                status = td_fail(error, TD_ERROR_INPUT, "two groups would be named '%.60s' in OBJ; rename one", name);
        }
        if (status == TD_OK && !td_hash_add(&names, key, g))
            status = td_fail_memory(error, "the groups");
    }
    td_hash_free(&names);
    return status;
}

static tdStatus put_groups(const tdMesh *mesh, int64_t n, const int32_t *groups, tdText *out, tdError *error)
{
    if (n > MOST_GROUPS)
        return td_fail(error, TD_ERROR_INPUT, "a cell is in %lld groups, but OBJ is written with at most %d",
                       (long long)n, MOST_GROUPS);
    td_text_append(out, "g", 1);
    for (int64_t i = 0; i < n; i++)
    {
        char name[256];
        group_name(mesh->groups[groups[i]].name, name, sizeof name);
        td_text_format(out, " %s", name);
    }
    td_text_append(out, "\n", 1);
    return TD_OK;
}

static tdStatus put_cells(const tdMesh *mesh, tdCellType type, const tdMembers members[TD_CELL_TYPES], tdText *out,
                          const tdMembers **last, int64_t *last_cell, tdError *error)
{
    int n = td_cell_nodes(type);
    for (int64_t c = 0; c < mesh->cells[type].count; c++)
    {
        const tdMembers *m = &members[type];
        bool same = *last == NULL ? m->start[c] == m->start[c + 1] : td_members_equal(m, c, *last, *last_cell);
        if (!same)
            TD_TRY(put_groups(mesh, m->start[c + 1] - m->start[c], m->list + m->start[c], out, error));
        *last = m;
        *last_cell = c;
        char text[64];
        int used = snprintf(text, sizeof text, "%c", type == TD_CELL_VERTEX ? 'p' : type == TD_CELL_LINE ? 'l' : 'f');
        for (int k = 0; k < n; k++)
            used += snprintf(text + used, sizeof text - (size_t)used, " %d", mesh->cells[type].nodes[c * n + k] + 1);
        text[used++] = '\n';
        td_text_append(out, text, (size_t)used);
    }
    return TD_OK;
}

tdStatus td_mesh_write_obj(const tdMesh *mesh, tdText *out, tdError *error)
{
    int64_t count = 0;
    for (int t = TD_CELL_VERTEX; t <= TD_CELL_QUAD; t++)
        count += mesh->cells[t].count;
    if (count == 0)
        return td_fail(error, TD_ERROR_INPUT, "the mesh has no faces to write to OBJ; take its boundary first");
    TD_TRY(check_names(mesh, error));
    for (int64_t i = 0; i < mesh->n_nodes; i++)
    {
        char text[128];
        const double *x = mesh->x + 3 * i;
        td_text_append(out, text, (size_t)snprintf(text, sizeof text, "v %.17g %.17g %.17g\n", x[0], x[1], x[2]));
    }
    for (int32_t g = 0; g < mesh->n_groups; g++) // declared in their order, which the reader keeps
        TD_TRY(put_groups(mesh, 1, &g, out, error));
    if (mesh->n_groups > 0)
        td_text_append(out, "g\n", 2);
    tdArena arena = {0};
    tdMembers members[TD_CELL_TYPES] = {0};
    const tdMembers *last = NULL;
    int64_t last_cell = 0;
    tdStatus status = TD_OK;
    for (int t = TD_CELL_VERTEX; t <= TD_CELL_QUAD && status == TD_OK; t++)
    {
        if (!td_mesh_members(mesh, (tdCellType)t, &arena, &members[t]))
            status = td_fail_memory(error, "the groups");
        else
            status = put_cells(mesh, (tdCellType)t, members, out, &last, &last_cell, error);
    }
    td_arena_free(&arena);
    return status == TD_OK && out->failed ? td_fail_memory(error, "the file") : status;
}
