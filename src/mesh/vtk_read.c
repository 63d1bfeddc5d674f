// SPDX-License-Identifier: Apache-2.0
// Legacy VTK files, versions 1.0 to 5.1, text or big-endian binary:
//
//   # vtk DataFile Version 3.0 / title / ASCII or BINARY / DATASET UNSTRUCTURED_GRID or POLYDATA
//   POINTS, CELLS, CELL_TYPES, VERTICES, LINES, POLYGONS, TRIANGLE_STRIPS     the mesh
//   FIELD, METADATA, POINT_DATA, CELL_DATA with their arrays                  stepped over, except labels
//
// Nothing in a binary file marks the end of an array, so even what is passed over must be understood.
#include "mesh/vtk.h"

#include "base/memory.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TOKEN_BYTES 1024
#define MOST_LABELS 4096 // arrays that make groups: groups are found by walking a list

typedef enum
{
    VERTICES, // in this order stands the cell data of POLYDATA, whatever the order of the sections
    LINES,
    POLYGONS,
    STRIPS,
    CELLS,
    LISTS
} List;

static const struct
{
    const char *keyword;
    int vtk_type; // the general type, for lists that imply one
} lists[LISTS] = {{"VERTICES", 2}, {"LINES", 4}, {"POLYGONS", 7}, {"TRIANGLE_STRIPS", 6}, {"CELLS", 0}};

typedef struct CellList
{
    bool given;
    int64_t n;
    int64_t *start; // n + 1
    double *nodes;  // start[n]
} CellList;

typedef struct LabelArray
{
    char *name;
    double *values;
} LabelArray;

typedef struct Reader
{
    const char *data, *at, *end;
    const char *file;
    tdMesh *mesh;
    tdError *error;
    bool binary, polydata;
    int major;
    CellList list[LISTS];
    int64_t n_types;
    double *types;
    int64_t tuples;           // of POINT_DATA or CELL_DATA
    bool in_points, in_cells; // which of the two we are in
    int64_t components;       // of the last array
    int n_labels;
    int64_t labels_capacity;
    LabelArray *labels;
    int64_t passed_points, passed_cells, passed_other; // arrays passed over
} Reader;

// ---------------------------------------------------------------- text

// A line number means something only where there are lines.
static int line_here(const Reader *r)
{
    if (r->binary)
        return 0;
    int line = 1;
    for (const char *c = r->data; c < r->at; c++)
        line += *c == '\n';
    return line;
}

#define FAIL(r, field, ...) td_fail_at((r)->error, TD_ERROR_INPUT, (r)->file, line_here(r), field, __VA_ARGS__)

static void skip_space(Reader *r)
{
    while (r->at < r->end && isspace((unsigned char)*r->at))
        r->at++;
}

// The next word; an empty one at the end of the file.
static tdStatus next_word(Reader *r, char word[TOKEN_BYTES])
{
    skip_space(r);
    size_t n = 0;
    while (r->at < r->end && !isspace((unsigned char)*r->at))
    {
        if (n + 1 == TOKEN_BYTES)
            return FAIL(r, NULL, "a word of more than %d bytes; the file is damaged or not a legacy VTK file",
                        TOKEN_BYTES - 1);
        word[n++] = *r->at++;
    }
    word[n] = '\0';
    return TD_OK;
}

// Whether the next word is this keyword; does not move.
static bool next_is(const Reader *r, const char *keyword)
{
    const char *c = r->at;
    size_t n = strlen(keyword);
    while (c < r->end && isspace((unsigned char)*c))
        c++;
    return (size_t)(r->end - c) >= n && strncasecmp(c, keyword, n) == 0 &&
           (c + n == r->end || isspace((unsigned char)c[n]));
}

static void skip_line(Reader *r)
{
    const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
    r->at = newline == NULL ? r->end : newline + 1;
}

// True when nothing but blanks stands before the end of the line; does not move.
static bool at_line_end(const Reader *r)
{
    const char *c = r->at;
    while (c < r->end && (*c == ' ' || *c == '\t' || *c == '\r'))
        c++;
    return c == r->end || *c == '\n';
}

static tdStatus next_count(Reader *r, const char *what, int64_t *count)
{
    char word[TOKEN_BYTES];
    TD_TRY(next_word(r, word));
    char *stop = NULL;
    long long value = strtoll(word, &stop, 10);
    if (stop == word || *stop != '\0' || value < 0 || value > INT32_MAX)
        return FAIL(r, what, "expected a number from 0 to %d, found '%.40s'; the file is damaged", INT32_MAX, word);
    *count = value;
    return TD_OK;
}

static tdStatus next_type(Reader *r, const char *what, tdVtkType *type)
{
    char word[TOKEN_BYTES];
    TD_TRY(next_word(r, word));
    *type = td_vtk_type_legacy(word);
    if (*type == TD_VTK_NONE)
        return FAIL(r, what, "unknown data type '%.40s'; expected float, double, int, unsigned_char, ...", word);
    return TD_OK;
}

// ---------------------------------------------------------------- arrays

// Binary strings: the two highest bits of the first byte tell how many bytes hold the length.
static tdStatus skip_strings(Reader *r, const char *what, int64_t count)
{
    skip_line(r);
    for (int64_t i = 0; i < count; i++)
    {
        if (r->at >= r->end)
            return FAIL(r, what, "the file ends after %lld of %lld strings", (long long)i, (long long)count);
        if (!r->binary)
        {
            skip_line(r);
            continue;
        }
        int width = 8 >> (((unsigned char)*r->at) >> 6);
        uint64_t length = (unsigned char)*r->at & 0x3F;
        if (r->end - r->at < width)
            return FAIL(r, what, "the file ends inside a string");
        for (int k = 1; k < width; k++)
            length = length << 8 | (unsigned char)r->at[k];
        r->at += width;
        if (length > (uint64_t)(r->end - r->at))
            return FAIL(r, what, "the file ends inside a string of %llu bytes", (unsigned long long)length);
        r->at += length;
    }
    return TD_OK;
}

// count values behind the line that declared them. *values (released by free()) may be NULL: then
// they are only stepped over. No memory is taken for more values than the rest of the file can hold.
static tdStatus read_values(Reader *r, const char *what, tdVtkType type, int64_t count, double **values)
{
    if (type == TD_VTK_STRING)
        return values == NULL ? skip_strings(r, what, count) : FAIL(r, what, "holds text where numbers are expected");
    int64_t bytes = 0;
    if (r->binary)
    {
        if (!at_line_end(r))
            return FAIL(r, what, "the line before binary data has more words than expected; the file is damaged");
        skip_line(r);
        bytes = type == TD_VTK_BIT ? (count + 7) / 8 : count * td_vtk_type_bytes(type);
    }
    else
        bytes = count > 0 ? 2 * count - 1 : 0; // a digit and a space for each
    if (bytes > r->end - r->at)
        return FAIL(r, what, "%lld values are declared, but only %lld bytes are left; the file is cut off or damaged",
                    (long long)count, (long long)(r->end - r->at));
    double *out = NULL;
    if (values != NULL)
    {
        out = malloc((size_t)(count > 0 ? count : 1) * sizeof(double));
        if (out == NULL)
            return td_fail_memory(r->error, "an array of a VTK file");
        *values = out;
    }
    if (r->binary)
    {
        if (out != NULL)
            td_vtk_decode(type, true, r->at, count, out);
        r->at += bytes;
        return TD_OK;
    }
    int64_t got = td_vtk_parse(&r->at, r->end, count, out);
    if (got == count)
        return TD_OK;
    char word[TOKEN_BYTES];
    skip_space(r);
    if (r->at >= r->end)
        return FAIL(r, what, "the file ends after %lld of %lld numbers", (long long)got, (long long)count);
    int line = line_here(r);
    TD_TRY(next_word(r, word));
    return td_fail_at(r->error, TD_ERROR_INPUT, r->file, line, what,
                      "expected %lld numbers, found '%.40s' after %lld; check the declared count", (long long)count,
                      word, (long long)got);
}

// An array of POINT_DATA, CELL_DATA or FIELD: kept when it makes groups, else stepped over.
static tdStatus read_array(Reader *r, char *name, tdVtkType type, int64_t tuples, int64_t components)
{
    int64_t count = 0;
    if (__builtin_mul_overflow(tuples, components, &count) || count > INT64_MAX / 16)
        return FAIL(r, name, "%lld times %lld values cannot be", (long long)tuples, (long long)components);
    td_vtk_decode_name(name);
    r->components = components;
    bool kept = r->in_cells && tuples == r->tuples && components == 1 && td_vtk_is_group(name, type, 1);
    if (!kept)
    {
        ++*(r->in_cells ? &r->passed_cells : r->in_points ? &r->passed_points : &r->passed_other);
        return read_values(r, name, type, count, NULL);
    }
    if (r->n_labels >= MOST_LABELS)
        return FAIL(r, name, "the file has more than %d groups; merge some", MOST_LABELS);
    if (!td_grow((void **)&r->labels, &r->labels_capacity, r->n_labels + 1, sizeof(LabelArray)))
        return td_fail_memory(r->error, "the arrays of a VTK file");
    LabelArray *label = &r->labels[r->n_labels];
    *label = (LabelArray){.name = strdup(name)};
    if (label->name == NULL)
        return td_fail_memory(r->error, "the arrays of a VTK file");
    r->n_labels++;
    return read_values(r, label->name, type, count, &label->values);
}

// METADATA ends at the first empty line, also in binary files; but a component of the array before it
// that has no name makes an empty line as well.
static void skip_metadata(Reader *r)
{
    skip_line(r);
    while (r->at < r->end && !at_line_end(r))
    {
        bool names = next_is(r, "COMPONENT_NAMES");
        skip_line(r);
        for (int64_t i = 0; names && i < r->components && r->at < r->end; i++)
            skip_line(r);
    }
    skip_line(r);
}

static tdStatus read_field(Reader *r)
{
    char name[TOKEN_BYTES];
    int64_t arrays = 0;
    TD_TRY(next_word(r, name));
    TD_TRY(next_count(r, "FIELD", &arrays));
    for (int64_t i = 0; i < arrays; i++)
    {
        while (next_is(r, "METADATA"))
            skip_metadata(r);
        int64_t components = 0, tuples = 0;
        tdVtkType type = TD_VTK_NONE;
        TD_TRY(next_word(r, name));
        if (name[0] == '\0')
            return FAIL(r, "FIELD", "the file ends after %lld of %lld arrays", (long long)i, (long long)arrays);
        if (strcmp(name, "NULL_ARRAY") == 0)
            continue;
        TD_TRY(next_count(r, name, &components));
        TD_TRY(next_count(r, name, &tuples));
        TD_TRY(next_type(r, name, &type));
        TD_TRY(read_array(r, name, type, tuples, components));
    }
    return TD_OK;
}

// SCALARS name type [components] / LOOKUP_TABLE table / values
static tdStatus read_scalars(Reader *r)
{
    char name[TOKEN_BYTES], table[TOKEN_BYTES];
    tdVtkType type = TD_VTK_NONE;
    int64_t components = 1;
    TD_TRY(next_word(r, name));
    TD_TRY(next_type(r, name, &type));
    if (!at_line_end(r))
        TD_TRY(next_count(r, name, &components));
    const char *kept = r->at;
    skip_line(r);
    if (next_is(r, "LOOKUP_TABLE"))
    {
        TD_TRY(next_word(r, table));
        TD_TRY(next_word(r, table));
    }
    else
        r->at = kept;
    return read_array(r, name, type, r->tuples, components);
}

// Attributes "KEYWORD name [dimension] type" with a number of components that the keyword tells.
static tdStatus read_attribute(Reader *r, const char *keyword, bool *known)
{
    static const struct
    {
        const char *keyword;
        int components; // 0: written in the file
    } attributes[] = {{"VECTORS", 3},    {"NORMALS", 3},      {"TENSORS", 9},    {"TENSORS6", 6},
                      {"GLOBAL_IDS", 1}, {"PEDIGREE_IDS", 1}, {"EDGE_FLAGS", 1}, {"TEXTURE_COORDINATES", 0}};
    char name[TOKEN_BYTES];
    tdVtkType type = TD_VTK_NONE;
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
    {
        if (strcasecmp(keyword, attributes[i].keyword) != 0)
            continue;
        *known = true;
        int64_t components = attributes[i].components;
        TD_TRY(next_word(r, name));
        if (components == 0)
            TD_TRY(next_count(r, name, &components));
        TD_TRY(next_type(r, name, &type));
        return read_array(r, name, type, r->tuples, components);
    }
    return TD_OK;
}

// Arrays inside POINT_DATA or CELL_DATA. Colours are floats in text and bytes in binary.
static tdStatus read_data(Reader *r, const char *keyword, bool *known)
{
    char name[TOKEN_BYTES];
    int64_t n = 0;
    *known = true;
    tdVtkType colour = r->binary ? TD_VTK_UINT8 : TD_VTK_FLOAT32;
    if (strcasecmp(keyword, "SCALARS") == 0)
        return read_scalars(r);
    if (strcasecmp(keyword, "COLOR_SCALARS") == 0)
    {
        TD_TRY(next_word(r, name));
        TD_TRY(next_count(r, name, &n));
        return read_array(r, name, colour, r->tuples, n);
    }
    if (strcasecmp(keyword, "LOOKUP_TABLE") == 0)
    {
        TD_TRY(next_word(r, name));
        TD_TRY(next_count(r, name, &n));
        return read_values(r, name, colour, 4 * n, NULL);
    }
    *known = false;
    return read_attribute(r, keyword, known);
}

// ---------------------------------------------------------------- the mesh

static tdStatus read_points(Reader *r)
{
    tdMesh *mesh = r->mesh;
    int64_t n = 0;
    tdVtkType type = TD_VTK_NONE;
    if (mesh->x != NULL)
        return FAIL(r, "POINTS", "appears twice in the file; keep one");
    TD_TRY(next_count(r, "POINTS", &n));
    TD_TRY(next_type(r, "POINTS", &type));
    TD_TRY(read_values(r, "POINTS", type, 3 * n, &mesh->x));
    mesh->n_nodes = mesh->nodes_capacity = n;
    r->components = 3;
    return TD_OK;
}

// Version 5: offsets and node numbers in two arrays of a declared integer type.
static tdStatus read_list_5(Reader *r, CellList *list, const char *what, int64_t n_offsets, int64_t n_nodes)
{
    char word[TOKEN_BYTES];
    tdVtkType type = TD_VTK_NONE;
    if (n_offsets == 0 && n_nodes > 0)
        return FAIL(r, what, "%lld node numbers are declared for no cells", (long long)n_nodes);
    if (n_offsets == 0 && !next_is(r, "OFFSETS"))
        return TD_OK;
    TD_TRY(next_word(r, word));
    if (strcasecmp(word, "OFFSETS") != 0)
        return FAIL(r, what, "expected OFFSETS as in files of version 5, found '%.40s'", word);
    TD_TRY(next_type(r, "OFFSETS", &type));
    double *offsets = NULL;
    tdStatus status = read_values(r, "OFFSETS", type, n_offsets, &offsets);
    list->n = n_offsets > 0 ? n_offsets - 1 : 0;
    list->start = status == TD_OK ? td_take((size_t)list->n + 1, sizeof(int64_t)) : NULL;
    if (status == TD_OK && list->start == NULL)
        status = td_fail_memory(r->error, "the cells of a VTK file");
    for (int64_t i = 0; i < n_offsets && status == TD_OK; i++)
    {
        double least = i == 0 ? 0 : (double)list->start[i - 1];
        if (!(offsets[i] >= least && offsets[i] <= (double)n_nodes) || (i == 0 && offsets[i] != 0) ||
            (i == list->n && offsets[i] != (double)n_nodes))
            status = FAIL(r, "OFFSETS", "offset %lld is %.17g, but they must rise from 0 to %lld", (long long)i,
                          offsets[i], (long long)n_nodes);
        else
            list->start[i] = (int64_t)offsets[i];
    }
    free(offsets);
    TD_TRY(status);
    TD_TRY(next_word(r, word));
    if (strcasecmp(word, "CONNECTIVITY") != 0)
        return FAIL(r, what, "expected CONNECTIVITY, found '%.40s'", word);
    TD_TRY(next_type(r, "CONNECTIVITY", &type));
    return read_values(r, "CONNECTIVITY", type, n_nodes, &list->nodes);
}

// Before version 5: count, nodes, count, nodes ... `size` numbers in all. The counts are squeezed out.
static tdStatus read_list_1(Reader *r, CellList *list, const char *what, int64_t n, int64_t size)
{
    TD_TRY(read_values(r, what, TD_VTK_INT32, size, &list->nodes));
    if (n > size)
        return FAIL(r, what, "%lld cells cannot fit into %lld numbers", (long long)n, (long long)size);
    list->n = n;
    list->start = td_take((size_t)n + 1, sizeof(int64_t));
    if (list->start == NULL)
        return td_fail_memory(r->error, "the cells of a VTK file");
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++)
    {
        double count = at < size ? list->nodes[at] : -1;
        if (!(count >= 0 && count <= (double)(size - at - 1) && count == (double)(int64_t)count))
            return FAIL(r, what, "cell %lld (from 0) does not fit into the %lld numbers declared", (long long)i,
                        (long long)size);
        memmove(list->nodes + list->start[i], list->nodes + at + 1, (size_t)count * sizeof(double));
        list->start[i + 1] = list->start[i] + (int64_t)count;
        at += 1 + (int64_t)count;
    }
    if (at != size)
        return FAIL(r, what, "%lld numbers are declared, but the cells use %lld; check the counts", (long long)size,
                    (long long)at);
    return TD_OK;
}

static tdStatus read_list(Reader *r, List which)
{
    CellList *list = &r->list[which];
    const char *what = lists[which].keyword;
    int64_t n = 0, size = 0;
    if (list->given)
        return FAIL(r, what, "appears twice in the file; keep one");
    if ((which == CELLS) == r->polydata)
        return FAIL(r, what, "does not belong into %s", r->polydata ? "POLYDATA" : "UNSTRUCTURED_GRID");
    list->given = true;
    TD_TRY(next_count(r, what, &n));
    TD_TRY(next_count(r, what, &size));
    return r->major >= 5 ? read_list_5(r, list, what, n, size) : read_list_1(r, list, what, n, size);
}

static tdStatus read_cell_types(Reader *r)
{
    if (r->types != NULL)
        return FAIL(r, "CELL_TYPES", "appears twice in the file; keep one");
    TD_TRY(next_count(r, "CELL_TYPES", &r->n_types));
    return read_values(r, "CELL_TYPES", TD_VTK_INT32, r->n_types, &r->types);
}

static tdStatus start_data(Reader *r, bool cells)
{
    int64_t expected = r->mesh->n_nodes;
    if (cells)
    {
        expected = 0;
        for (int i = 0; i < LISTS; i++)
            expected += r->list[i].n;
    }
    r->in_cells = cells;
    r->in_points = !cells;
    const char *keyword = cells ? "CELL_DATA" : "POINT_DATA";
    TD_TRY(next_count(r, keyword, &r->tuples));
    if (r->tuples != expected)
        return FAIL(r, keyword, "is for %lld, but the file has %lld %s before it", (long long)r->tuples,
                    (long long)expected, cells ? "cells" : "points");
    return TD_OK;
}

static tdStatus read_sections(Reader *r)
{
    for (;;)
    {
        char word[TOKEN_BYTES];
        bool known = true;
        TD_TRY(next_word(r, word));
        if (word[0] == '\0')
            return TD_OK;
        int list = 0;
        while (list < LISTS && strcasecmp(word, lists[list].keyword) != 0)
            list++;
        bool in_data = r->in_cells || r->in_points;
        // Arrays were measured by the cells before them, so no more may come.
        if (in_data && (list < LISTS || strcasecmp(word, "POINTS") == 0 || strcasecmp(word, "CELL_TYPES") == 0))
            return FAIL(r, word, "must come before CELL_DATA and POINT_DATA; move it there");
        if (list < LISTS)
            TD_TRY(read_list(r, (List)list));
        else if (strcasecmp(word, "POINTS") == 0)
            TD_TRY(read_points(r));
        else if (strcasecmp(word, "CELL_TYPES") == 0)
            TD_TRY(read_cell_types(r));
        else if (strcasecmp(word, "FIELD") == 0)
            TD_TRY(read_field(r));
        else if (strcasecmp(word, "METADATA") == 0)
            skip_metadata(r);
        else if (strcasecmp(word, "CELL_DATA") == 0 || strcasecmp(word, "POINT_DATA") == 0)
            TD_TRY(start_data(r, strcasecmp(word, "CELL_DATA") == 0));
        else if (in_data)
            TD_TRY(read_data(r, word, &known));
        else
            known = false;
        if (!known)
            return FAIL(r, NULL, "unknown keyword '%.40s'; the file is damaged or a count before it is wrong", word);
    }
}

static tdStatus read_head(Reader *r)
{
    char word[TOKEN_BYTES];
    int minor = 0;
    if (r->end - r->at < 26 || sscanf(r->at, "# vtk DataFile Version %d.%d", &r->major, &minor) != 2)
        return FAIL(r, NULL, "does not start with '# vtk DataFile Version'; this is not a legacy VTK file");
    if (r->major < 1 || r->major > 5)
        return FAIL(r, NULL, "version %d.%d is not supported; save as version 3.0, 4.2 or 5.1", r->major, minor);
    skip_line(r);
    skip_line(r); // the title, any text
    TD_TRY(next_word(r, word));
    bool binary = strcasecmp(word, "BINARY") == 0;
    if (!binary && strcasecmp(word, "ASCII") != 0)
        return FAIL(r, NULL, "expected ASCII or BINARY in the third line, found '%.40s'", word);
    TD_TRY(next_word(r, word));
    if (strcasecmp(word, "DATASET") != 0)
        return FAIL(r, NULL, "expected DATASET, found '%.40s'", word);
    TD_TRY(next_word(r, word));
    r->polydata = strcasecmp(word, "POLYDATA") == 0;
    if (!r->polydata && strcasecmp(word, "UNSTRUCTURED_GRID") != 0)
        return FAIL(r, "DATASET",
                    "'%.40s' is not supported, only UNSTRUCTURED_GRID and POLYDATA; in ParaView apply the filter "
                    "\"Append Datasets\" (which makes an unstructured grid) and save again",
                    word);
    r->binary = binary; // only from here on, so that the messages above have their line
    return TD_OK;
}

static tdStatus build(Reader *r, tdVtkCells *cells)
{
    if (r->list[CELLS].n != r->n_types)
        return td_fail_at(r->error, TD_ERROR_INPUT, r->file, 0, "CELL_TYPES",
                          "there are %lld types for %lld cells; the file is cut off or damaged", (long long)r->n_types,
                          (long long)r->list[CELLS].n);
    for (int which = 0; which < LISTS; which++)
    {
        const CellList *list = &r->list[which];
        for (int64_t i = 0; i < list->n; i++)
        {
            double type = which == CELLS ? r->types[i] : lists[which].vtk_type;
            TD_TRY(td_vtk_cell_add(cells, type, list->nodes + list->start[i], list->start[i + 1] - list->start[i], 0,
                                   r->mesh->n_nodes, r->error));
        }
    }
    td_vtk_cells_note(cells);
    for (int i = 0; i < r->n_labels; i++)
        TD_TRY(td_vtk_take_groups(cells, r->labels[i].name, r->labels[i].values, r->error));
    td_vtk_finish_groups(r->mesh);
    if (r->passed_points + r->passed_cells + r->passed_other > 0)
        td_mesh_note(r->mesh, "skipped %lld point arrays, %lld cell arrays and %lld other arrays",
                     (long long)r->passed_points, (long long)r->passed_cells, (long long)r->passed_other);
    return td_mesh_check(r->mesh, r->file, r->error);
}

tdStatus td_mesh_read_vtk(const char *data, size_t size, const char *name, tdMesh *mesh, tdError *error)
{
    Reader r = {.data = data, .at = data, .end = data + size, .file = name, .mesh = mesh, .error = error};
    tdVtkCells cells = {.mesh = mesh, .file = name};
    tdStatus status = read_head(&r);
    if (status == TD_OK)
        status = read_sections(&r);
    if (status == TD_OK)
        status = build(&r, &cells);
    td_vtk_cells_free(&cells);
    for (int i = 0; i < LISTS; i++)
    {
        free(r.list[i].start);
        free(r.list[i].nodes);
    }
    for (int i = 0; i < r.n_labels; i++)
    {
        free(r.labels[i].name);
        free(r.labels[i].values);
    }
    free(r.labels);
    free(r.types);
    return status;
}
