// SPDX-License-Identifier: Apache-2.0
// VTU files (VTKFile type UnstructuredGrid): text, inline base64, appended raw or base64, plain or
// zlib, either order of bytes, any width of numbers, any number of pieces.
#include "mesh/vtk.h"
#include "mesh/vtu_xml.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

// A point or cell array as it is gathered from the pieces, cells in the file's order.
typedef struct Store
{
    char *name;
    tdVtkType type;
    bool by_cell, group;
    int components;
    int64_t tuples, capacity; // capacity in values
    double *data;
} Store;

// Arrays and groups are found by walking a list; no honest file has more than this.
#define MOST_ARRAYS 4096

typedef struct Reader
{
    tdVtuXml xml;
    tdVtuCoding coding;
    bool appended_base64;
    int64_t budget; // bytes that arrays may still decode to
    const char *file;
    tdMesh *mesh;
    tdVtkCells cells;
    tdFields *fields; // NULL: arrays are passed over, except those that make groups
    int64_t n_stores, stores_capacity;
    Store *store;
    int64_t passed_arrays, passed_data, passed_elements;
    tdError *error;
} Reader;

#define FAIL(r, node, field, ...)                                                                                      \
    td_fail_at((r)->error, TD_ERROR_INPUT, (r)->file, td_vtu_element(&(r)->xml, node)->line, field, __VA_ARGS__)

static const char *attribute(const xmlNode *node, const char *name, const char *otherwise)
{
    const char *value = td_vtu_attribute(node, name);
    return value == NULL ? otherwise : value;
}

static tdStatus read_count(Reader *r, const xmlNode *node, const char *name, int64_t most, int64_t *count)
{
    const char *text = td_vtu_attribute(node, name);
    if (text == NULL)
        return FAIL(r, node, name, "is missing in <%s>", (const char *)node->name);
    char *stop = NULL;
    long long value = strtoll(text, &stop, 10);
    if (stop == text || *stop != '\0' || value < 0 || value > most)
        return FAIL(r, node, name, "must be a number from 0 to %lld, found '%.40s'", (long long)most, text);
    *count = value;
    return TD_OK;
}

static const xmlNode *child(const xmlNode *node, const char *name)
{
    for (const xmlNode *c = node->children; c != NULL; c = c->next)
        if (td_vtu_is(c, name))
            return c;
    return NULL;
}

// ---------------------------------------------------------------- one array

static tdStatus decode_ascii(Reader *r, const xmlNode *node, const char *name, int64_t count, double *out)
{
    const tdVtuElement *element = td_vtu_element(&r->xml, node);
    const char *at = r->xml.text.data + element->text, *end = at + element->length;
    int64_t got = td_vtk_parse(&at, end, count, out);
    while (at < end && (*at == ' ' || (*at >= '\t' && *at <= '\r')))
        at++;
    if (got == count && at == end)
        return TD_OK;
    int line = element->line;
    for (const char *c = r->xml.text.data + element->text; c < at; c++)
        line += *c == '\n';
    int shown = 0;
    while (shown < 30 && at + shown < end && at[shown] > ' ')
        shown++;
    return td_fail_at(r->error, TD_ERROR_INPUT, r->file, line, name,
                      "expected %lld numbers, found %lld and then %s%.*s; check the counts of the piece",
                      (long long)count, (long long)got, at == end ? "the end" : "", shown, at);
}

// Where the bytes of an array that is not text begin.
static tdStatus find_bytes(Reader *r, const xmlNode *node, const char *name, bool appended, tdVtuBytes *bytes)
{
    if (!appended)
    {
        const tdVtuElement *element = td_vtu_element(&r->xml, node);
        const char *text = r->xml.text.data == NULL ? "" : r->xml.text.data + element->text;
        *bytes = (tdVtuBytes){.at = text, .end = text + element->length, .base64 = true};
        return TD_OK;
    }
    int64_t offset = 0;
    if (r->xml.appended == NULL)
        return FAIL(r, node, name, "is appended, but the file has no <AppendedData>; it is cut off");
    TD_TRY(read_count(r, node, "offset", r->xml.appended_end - r->xml.appended, &offset));
    *bytes = (tdVtuBytes){.at = r->xml.appended + offset, .end = r->xml.appended_end, .base64 = r->appended_base64};
    return TD_OK;
}

static tdStatus decode_bytes(Reader *r, const xmlNode *node, const char *name, bool appended, tdVtkType type,
                             int64_t count, double **out)
{
    tdVtuBytes from = {0};
    TD_TRY(find_bytes(r, node, name, appended, &from));
    const unsigned char *bytes = NULL;
    void *owned = NULL;
    char why[160];
    const char *reason =
        td_vtu_bytes_read(&from, &r->coding, count * td_vtk_type_bytes(type), &r->budget, &bytes, &owned, why);
    tdStatus status = TD_OK;
    if (reason != NULL)
        status = FAIL(r, node, name, "%s", reason);
    else if ((*out = malloc((size_t)(count > 0 ? count : 1) * sizeof(double))) == NULL)
        status = td_fail_memory(r->error, "an array of a VTU file");
    else
        td_vtk_decode(type, r->coding.big_endian, bytes, count, *out);
    free(owned);
    return status;
}

// Reads `count` values as doubles; *out is released by free(), also on failure. Memory is taken only
// after the bytes that shall fill it were seen.
static tdStatus read_array(Reader *r, const xmlNode *node, int64_t count, double **out)
{
    const char *name = attribute(node, "Name", "DataArray"), *format = attribute(node, "format", "ascii");
    const char *type_name = attribute(node, "type", "");
    tdVtkType type = td_vtk_type_xml(type_name);
    if (type == TD_VTK_NONE || type == TD_VTK_STRING)
        return FAIL(r, node, name, "has the type '%.40s'; expected Int8 to UInt64, Float32 or Float64", type_name);
    bool appended = strcmp(format, "appended") == 0;
    if (count == 0) // whatever stands for nothing: some writers leave the header out
    {
        *out = malloc(sizeof(double));
        return *out == NULL ? td_fail_memory(r->error, "an array of a VTU file") : TD_OK;
    }
    if (count > INT64_MAX / 16)
        return FAIL(r, node, name, "%lld values cannot be", (long long)count);
    if (appended || strcmp(format, "binary") == 0)
        return decode_bytes(r, node, name, appended, type, count, out);
    if (strcmp(format, "ascii") != 0)
        return FAIL(r, node, name, "has the format '%.40s'; expected ascii, binary or appended", format);
    int64_t most = (td_vtu_element(&r->xml, node)->length + 1) / 2; // a digit and a space for each
    if (count > most)
        return FAIL(r, node, name, "%lld numbers are expected, but its text holds at most %lld; check the counts",
                    (long long)count, (long long)most);
    *out = malloc((size_t)count * sizeof(double));
    if (*out == NULL)
        return td_fail_memory(r->error, "an array of a VTU file");
    return decode_ascii(r, node, name, count, *out);
}

// ---------------------------------------------------------------- points and cells

static tdStatus read_points(Reader *r, const xmlNode *piece, int64_t n)
{
    const xmlNode *points = child(piece, "Points"), *array = points == NULL ? NULL : child(points, "DataArray");
    if (n == 0)
        return TD_OK;
    if (array == NULL)
        return FAIL(r, piece, "Points", "are missing in a piece of %lld points", (long long)n);
    if (strcmp(attribute(array, "NumberOfComponents", "3"), "3") != 0)
        return FAIL(r, array, "Points", "NumberOfComponents must be 3, found '%.40s'",
                    attribute(array, "NumberOfComponents", ""));
    double *x = NULL;
    tdStatus status = read_array(r, array, 3 * n, &x);
    tdMesh *mesh = r->mesh;
    if (status == TD_OK && !td_grow((void **)&mesh->x, &mesh->nodes_capacity, mesh->n_nodes + n, 3 * sizeof(double)))
        status = td_fail_memory(r->error, "the nodes of a VTU file");
    if (status == TD_OK)
    {
        memcpy(mesh->x + 3 * mesh->n_nodes, x, (size_t)(3 * n) * sizeof(double));
        mesh->n_nodes += n;
    }
    free(x);
    return status;
}

typedef struct PieceCells
{
    const xmlNode *node;
    int64_t n;
    double *offsets, *types, *nodes;
} PieceCells;

static tdStatus read_cell_array(Reader *r, const PieceCells *p, const char *name, int64_t count, double **out)
{
    for (const xmlNode *c = p->node->children; c != NULL; c = c->next)
        if (td_vtu_is(c, "DataArray") && strcmp(attribute(c, "Name", ""), name) == 0)
            return read_array(r, c, count, out);
    return FAIL(r, p->node, name, "is missing in <Cells>");
}

static tdStatus gather_cells(Reader *r, PieceCells *p, int64_t first_node, int64_t n_points)
{
    TD_TRY(read_cell_array(r, p, "offsets", p->n, &p->offsets));
    for (int64_t i = 0; i < p->n; i++)
    {
        double least = i == 0 ? 0 : p->offsets[i - 1];
        if (!(p->offsets[i] >= least && p->offsets[i] < 1e15) || p->offsets[i] != (double)(int64_t)p->offsets[i])
            return FAIL(r, p->node, "offsets", "offset %lld is %.17g, but they must be whole numbers that never fall",
                        (long long)i, p->offsets[i]);
    }
    TD_TRY(read_cell_array(r, p, "types", p->n, &p->types));
    int64_t numbers = (int64_t)p->offsets[p->n - 1];
    TD_TRY(read_cell_array(r, p, "connectivity", numbers, &p->nodes));
    int64_t at = 0;
    r->cells.line = td_vtu_element(&r->xml, p->node)->line;
    for (int64_t i = 0; i < p->n; i++)
    {
        int64_t next = (int64_t)p->offsets[i];
        TD_TRY(td_vtk_cell_add(&r->cells, p->types[i], p->nodes + at, next - at, first_node, n_points, r->error));
        at = next;
    }
    return TD_OK;
}

static tdStatus read_cells(Reader *r, const xmlNode *piece, int64_t n, int64_t first_node, int64_t n_points)
{
    if (n == 0)
        return TD_OK;
    PieceCells p = {.node = child(piece, "Cells"), .n = n};
    if (p.node == NULL)
        return FAIL(r, piece, "Cells", "are missing in a piece of %lld cells", (long long)n);
    tdStatus status = gather_cells(r, &p, first_node, n_points);
    free(p.offsets);
    free(p.types);
    free(p.nodes);
    return status;
}

// ---------------------------------------------------------------- data

static Store *find_store(Reader *r, const char *name, bool by_cell)
{
    for (int64_t i = 0; i < r->n_stores; i++)
        if (r->store[i].by_cell == by_cell && strcmp(r->store[i].name, name) == 0)
            return &r->store[i];
    return NULL;
}

static Store *add_store(Reader *r, const char *name, bool by_cell, tdVtkType type, int components)
{
    if (!td_grow((void **)&r->store, &r->stores_capacity, r->n_stores + 1, sizeof(Store)))
        return NULL;
    Store *store = &r->store[r->n_stores];
    *store = (Store){.name = strdup(name), .type = type, .by_cell = by_cell, .components = components};
    if (store->name == NULL)
        return NULL;
    store->group = by_cell && td_vtk_is_group(store->name, type, components);
    r->n_stores++;
    return store;
}

// Cells of pieces that lack a group's array are no members of it.
static tdStatus pad_store(Reader *r, Store *store, int64_t tuples)
{
    int64_t missing = tuples - store->tuples;
    if (missing <= 0)
        return TD_OK;
    if (missing > r->budget)
        return td_fail_at(r->error, TD_ERROR_INPUT, r->file, 0, store->name, "is missing in too many pieces");
    r->budget -= missing;
    if (!td_grow((void **)&store->data, &store->capacity, tuples, sizeof(double)))
        return td_fail_memory(r->error, "an array of a VTU file");
    memset(store->data + store->tuples, 0, (size_t)missing * sizeof(double));
    store->tuples = tuples;
    return TD_OK;
}

// One array of PointData or CellData; `first` tuples came with the pieces before.
static tdStatus read_data_array(Reader *r, const xmlNode *node, bool by_cell, int64_t first, int64_t n)
{
    char *name = strdup(attribute(node, "Name", ""));
    if (name == NULL)
        return td_fail_memory(r->error, "an array of a VTU file");
    td_vtk_decode_name(name);
    int64_t components = 1;
    tdVtkType type = td_vtk_type_xml(attribute(node, "type", ""));
    tdStatus status = TD_OK;
    if (td_vtu_attribute(node, "NumberOfComponents") != NULL)
        status = read_count(r, node, "NumberOfComponents", 1000000, &components);
    if (status == TD_OK && r->n_stores >= MOST_ARRAYS)
        status = FAIL(r, node, "DataArray", "the file has more than %d arrays; export fewer", MOST_ARRAYS);
    bool wanted = r->fields != NULL || (by_cell && td_vtk_is_group(name, type, (int)components));
    bool prefixed = by_cell && strncmp(name, TD_VTK_GROUP, strlen(TD_VTK_GROUP)) == 0;
    bool usable = (components == 1 || !prefixed) && type != TD_VTK_NONE && type != TD_VTK_STRING && components > 0 &&
                  name[0] != '\0';
    Store *store = find_store(r, name, by_cell);
    if (status == TD_OK && wanted && usable && store == NULL &&
        (store = add_store(r, name, by_cell, type, (int)components)) == NULL)
        status = td_fail_memory(r->error, "an array of a VTU file");
    free(name);
    TD_TRY(status);
    if (store != NULL && store->group)
        TD_TRY(pad_store(r, store, first));
    // Passed over: what nobody asked for, text, and what does not continue the earlier pieces.
    if (!wanted || !usable || store->tuples != first || store->components != components)
    {
        r->passed_arrays++;
        return TD_OK;
    }
    double *values = NULL;
    status = read_array(r, node, n * components, &values);
    int64_t used = store->tuples * components;
    if (status == TD_OK && used == 0)
    {
        free(store->data);
        store->data = values;
        store->capacity = n * components;
        store->tuples = n;
        return TD_OK;
    }
    if (status == TD_OK && !td_grow((void **)&store->data, &store->capacity, used + n * components, sizeof(double)))
        status = td_fail_memory(r->error, "an array of a VTU file");
    if (status == TD_OK)
    {
        memcpy(store->data + used, values, (size_t)(n * components) * sizeof(double));
        store->tuples += n;
    }
    free(values);
    return status;
}

static tdStatus read_data(Reader *r, const xmlNode *piece, const char *section, bool by_cell, int64_t first, int64_t n)
{
    const xmlNode *data = child(piece, section);
    for (const xmlNode *c = data == NULL ? NULL : data->children; c != NULL; c = c->next)
    {
        if (td_vtu_is(c, "DataArray"))
            TD_TRY(read_data_array(r, c, by_cell, first, n));
        else if (c->type == XML_ELEMENT_NODE)
            r->passed_arrays++;
    }
    return TD_OK;
}

static tdStatus read_piece(Reader *r, const xmlNode *piece)
{
    int64_t first_node = r->mesh->n_nodes, first_cell = r->cells.n, n_points = 0, n_cells = 0;
    TD_TRY(read_count(r, piece, "NumberOfPoints", INT32_MAX - first_node, &n_points));
    TD_TRY(read_count(r, piece, "NumberOfCells", INT32_MAX - first_cell, &n_cells));
    TD_TRY(read_points(r, piece, n_points));
    TD_TRY(read_cells(r, piece, n_cells, first_node, n_points));
    TD_TRY(read_data(r, piece, "PointData", false, first_node, n_points));
    return read_data(r, piece, "CellData", true, first_cell, n_cells);
}

// ---------------------------------------------------------------- the file

static tdStatus read_head(Reader *r, const xmlNode *root)
{
    if (!td_vtu_is(root, "VTKFile"))
        return FAIL(r, root, NULL, "the file starts with <%.40s>, expected <VTKFile>; this is not a VTU file",
                    (const char *)root->name);
    const char *type = attribute(root, "type", ""), *order = attribute(root, "byte_order", "LittleEndian");
    const char *header = attribute(root, "header_type", "UInt32"), *compressor = attribute(root, "compressor", "");
    if (type[0] == 'P' && strcmp(type, "PolyData") != 0)
        return FAIL(r, root, "type", "'%.40s' only lists other files; give those, or save one UnstructuredGrid file",
                    type);
    if (strcmp(type, "UnstructuredGrid") != 0)
        return FAIL(r, root, "type",
                    "'%.40s' is not supported, only UnstructuredGrid; in ParaView apply the filter \"Append Datasets\" "
                    "and save as .vtu",
                    type);
    r->coding.big_endian = strcmp(order, "BigEndian") == 0;
    if (!r->coding.big_endian && strcmp(order, "LittleEndian") != 0)
        return FAIL(r, root, "byte_order", "must be LittleEndian or BigEndian, found '%.40s'", order);
    r->coding.wide = strcmp(header, "UInt64") == 0;
    if (!r->coding.wide && strcmp(header, "UInt32") != 0)
        return FAIL(r, root, "header_type", "must be UInt32 or UInt64, found '%.40s'", header);
    r->coding.zlib = strcmp(compressor, "vtkZLibDataCompressor") == 0;
    if (!r->coding.zlib && compressor[0] != '\0')
        return FAIL(r, root, "compressor",
                    "'%.40s' is not supported, only vtkZLibDataCompressor; save with ZLib or none", compressor);
    const xmlNode *appended = child(root, "AppendedData");
    const char *encoding = appended == NULL ? "raw" : attribute(appended, "encoding", "base64");
    r->appended_base64 = strcmp(encoding, "base64") == 0;
    if (!r->appended_base64 && strcmp(encoding, "raw") != 0)
        return FAIL(r, appended, "AppendedData", "encoding must be raw or base64, found '%.40s'", encoding);
    return TD_OK;
}

static tdStatus read_pieces(Reader *r, const xmlNode *root)
{
    const xmlNode *grid = child(root, "UnstructuredGrid");
    if (grid == NULL)
        return FAIL(r, root, "UnstructuredGrid", "is missing in <VTKFile>");
    for (const xmlNode *c = grid->children; c != NULL; c = c->next)
    {
        if (td_vtu_is(c, "Piece"))
            TD_TRY(read_piece(r, c));
        else if (td_vtu_is(c, "FieldData"))
            for (const xmlNode *array = c->children; array != NULL; array = array->next)
                r->passed_data += array->type == XML_ELEMENT_NODE;
        else
            r->passed_elements += c->type == XML_ELEMENT_NODE;
    }
    return TD_OK;
}

// Hands a gathered array to the caller, cells in the order of the mesh.
static tdStatus give_field(Reader *r, Store *store)
{
    int64_t total = td_vtk_cells_total(r->mesh), values = 0;
    tdFields *fields = r->fields;
    if (!td_grow((void **)&fields->field, &fields->capacity, fields->n + 1, sizeof *fields->field))
        return td_fail_memory(r->error, "an array of a VTU file");
    double *data = store->data;
    if (store->by_cell)
    {
        // Cells that were split repeat their values, which no count in the file has bounded yet.
        if (__builtin_mul_overflow(total, store->components, &values) || values > r->budget)
            return td_fail_at(r->error, TD_ERROR_INPUT, r->file, 0, store->name,
                              "has %d components for %lld cells, more than the file can hold", store->components,
                              (long long)total);
        r->budget -= values;
        data = malloc((size_t)(values + 1) * sizeof(double));
        if (data == NULL)
            return td_fail_memory(r->error, "an array of a VTU file");
        td_vtk_cells_permute(&r->cells, store->components, store->data, data);
        free(store->data);
    }
    fields->field[fields->n++] = (struct tdFieldData){
        .name = store->name, .by_cell = store->by_cell, .components = store->components, .data = data};
    store->name = NULL;
    store->data = NULL;
    return TD_OK;
}

static tdStatus finish(Reader *r)
{
    td_vtk_cells_note(&r->cells);
    for (int64_t i = 0; i < r->n_stores; i++)
    {
        Store *store = &r->store[i];
        bool listed = r->fields != NULL && strncmp(store->name, TD_VTK_GROUP, strlen(TD_VTK_GROUP)) != 0;
        if (store->group)
        {
            TD_TRY(pad_store(r, store, r->cells.n));
            TD_TRY(td_vtk_take_groups(&r->cells, store->name, store->data, r->error));
        }
        if ((store->group && !listed) || r->fields == NULL)
            continue;
        if (store->data == NULL || store->tuples != (store->by_cell ? r->cells.n : r->mesh->n_nodes))
            td_mesh_note(r->mesh, "skipped the array '%.80s': not all pieces have it alike", store->name);
        else
            TD_TRY(give_field(r, store));
    }
    td_vtk_finish_groups(r->mesh);
    if (r->passed_arrays > 0)
        td_mesh_note(r->mesh, "skipped %lld point and cell arrays", (long long)r->passed_arrays);
    if (r->passed_data > 0)
        td_mesh_note(r->mesh, "skipped %lld arrays of <FieldData>", (long long)r->passed_data);
    if (r->passed_elements > 0)
        td_mesh_note(r->mesh, "skipped %lld unknown elements next to <Piece>", (long long)r->passed_elements);
    return td_mesh_check(r->mesh, r->file, r->error);
}

tdStatus td_mesh_read_vtu_fields(const char *data, size_t size, const char *name, tdMesh *mesh, tdFields *fields,
                                 tdError *error)
{
    Reader r = {.file = name, .mesh = mesh, .fields = fields, .error = error};
    r.cells = (tdVtkCells){.mesh = mesh, .file = name};
    // zlib expands at most some 1032 times; see vtu_data.c.
    r.budget = size > INT64_MAX / 2200 ? INT64_MAX / 2 : (int64_t)size * 1100 + (1 << 20);
    tdStatus status = td_vtu_xml_read(&r.xml, data, size, name, error);
    const xmlNode *root = status == TD_OK ? xmlDocGetRootElement(r.xml.document) : NULL;
    if (status == TD_OK)
        status = read_head(&r, root);
    if (status == TD_OK)
        status = read_pieces(&r, root);
    if (status == TD_OK)
        status = finish(&r);
    for (int64_t i = 0; i < r.n_stores; i++)
    {
        free(r.store[i].name);
        free(r.store[i].data);
    }
    free(r.store);
    td_vtk_cells_free(&r.cells);
    td_vtu_xml_free(&r.xml);
    return status;
}

tdStatus td_mesh_read_vtu(const char *data, size_t size, const char *name, tdMesh *mesh, tdError *error)
{
    return td_mesh_read_vtu_fields(data, size, name, mesh, NULL, error);
}

void td_fields_free(tdFields *fields)
{
    for (int i = 0; i < fields->n; i++)
    {
        free(fields->field[i].name);
        free(fields->field[i].data);
    }
    free(fields->field);
    *fields = (tdFields){0};
}
