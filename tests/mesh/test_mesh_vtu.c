// SPDX-License-Identifier: Apache-2.0
// VTU: one sample in every encoding, built here without the library's writer; round trips; damage.
#include "test.h"

#include "base/memory.h"
#include "mesh/mesh.h"

#include <sys/resource.h>
#include <zlib.h>

// ---------------------------------------------------------------- a sample in any encoding

typedef enum
{
    ASCII,
    INLINE,
    APPENDED_RAW,
    APPENDED_BASE64,
    FORMATS
} Format;

typedef struct Build
{
    Format format;
    bool big, wide, zlib, narrow; // narrow: Float32 and Int8 instead of Float64 and Int64
    size_t block;
    tdText head, appended;
} Build;

static void put_word(tdText *t, uint64_t bits, int bytes, bool big)
{
    for (int i = 0; i < bytes; i++)
    {
        unsigned char byte = (unsigned char)(bits >> 8 * (big ? bytes - 1 - i : i));
        td_text_append(t, &byte, 1);
    }
}

static void put_base64(tdText *t, const char *data, int64_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int64_t i = 0; i < n; i += 3)
    {
        unsigned b[3] = {(unsigned char)data[i], i + 1 < n ? (unsigned char)data[i + 1] : 0,
                         i + 2 < n ? (unsigned char)data[i + 2] : 0};
        char four[4] = {digits[b[0] >> 2], digits[(b[0] & 3) << 4 | b[1] >> 4],
                        i + 1 < n ? digits[(b[1] & 15) << 2 | b[2] >> 6] : '=', i + 2 < n ? digits[b[2] & 63] : '='};
        td_text_append(t, four, 4);
    }
}

// Header and payload of one array; the header ends at *header bytes (0: they are one stream).
static tdText pack(const Build *b, const tdText *raw, int64_t *header)
{
    tdText out = {0};
    int word = b->wide ? 8 : 4;
    *header = 0;
    if (!b->zlib)
    {
        put_word(&out, (uint64_t)raw->size, word, b->big);
        td_text_append(&out, raw->data, (size_t)raw->size);
        return out;
    }
    size_t n = (size_t)raw->size, blocks = (n + b->block - 1) / b->block;
    tdText body = {0};
    put_word(&out, blocks, word, b->big);
    put_word(&out, b->block, word, b->big);
    put_word(&out, n % b->block, word, b->big);
    for (size_t i = 0; i < blocks; i++)
    {
        unsigned char packed[4096];
        uLongf size = sizeof packed;
        size_t part = n - i * b->block < b->block ? n - i * b->block : b->block;
        assert_int_equal(compress(packed, &size, (const unsigned char *)raw->data + i * b->block, part), Z_OK);
        put_word(&out, size, word, b->big);
        td_text_append(&body, packed, size);
    }
    *header = out.size;
    td_text_append(&out, body.data, (size_t)body.size);
    free(body.data);
    return out;
}

static void put_array(Build *b, const char *name, const char *type, int components, int n, const double *values)
{
    td_text_format(&b->head, "<DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%d\" ", type, name, components);
    if (b->format == ASCII)
    {
        td_text_format(&b->head, "format=\"ascii\">\n");
        for (int i = 0; i < n; i++)
            td_text_format(&b->head, "%.17g\n", values[i]);
        td_text_format(&b->head,
                       "<InformationKey name=\"K\"><Value index=\"0\">5</Value></InformationKey></DataArray>\n");
        return;
    }
    tdText raw = {0};
    int bytes = type[strlen(type) - 1] == '8' ? 1 : type[strlen(type) - 1] == '6' ? 2 : strstr(type, "32") ? 4 : 8;
    for (int i = 0; i < n; i++)
    {
        uint64_t bits = (uint64_t)(int64_t)values[i];
        float single = (float)values[i];
        uint32_t half = 0;
        memcpy(&half, &single, 4);
        if (type[0] == 'F' && bytes == 4)
            bits = half;
        else if (type[0] == 'F')
            memcpy(&bits, &values[i], 8);
        put_word(&raw, bits, bytes, b->big);
    }
    int64_t header = 0;
    tdText packed = pack(b, &raw, &header);
    if (b->format == INLINE)
    {
        td_text_format(&b->head, "format=\"binary\">\n  ");
        put_base64(&b->head, packed.data, header);
        put_base64(&b->head, packed.data + header, packed.size - header);
        td_text_format(&b->head, "\n</DataArray>\n");
    }
    else
    {
        td_text_format(&b->head, "format=\"appended\" offset=\"%lld\"/>\n", (long long)b->appended.size);
        if (b->format == APPENDED_RAW)
            td_text_append(&b->appended, packed.data, (size_t)packed.size);
        else
        {
            put_base64(&b->appended, packed.data, header);
            put_base64(&b->appended, packed.data + header, packed.size - header);
        }
    }
    free(raw.data);
    free(packed.data);
}

static const double sample_x[15] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, -1.5};

// tri 012, tet 0123, tri 124, line 34: types out of the mesh's order, so that cell arrays must move.
static void put_piece(Build *b)
{
    td_text_format(&b->head, "<Piece NumberOfPoints=\"5\" NumberOfCells=\"4\">\n<PointData>\n");
    put_array(b, "u", b->narrow ? "Float32" : "Float64", 3, 15, sample_x);
    td_text_format(&b->head, "</PointData>\n<CellData>\n");
    put_array(b, "c", b->narrow ? "Int16" : "Int32", 1, 4, (double[]){-10, 20, 30, 40});
    put_array(b, "medit:ref", b->narrow ? "UInt16" : "UInt64", 1, 4, (double[]){1, 2, 1, 0});
    put_array(b, "group:my&#32;set", "UInt8", 1, 4, (double[]){0, 1, 1, 0});
    td_text_format(&b->head, "</CellData>\n<Points>\n");
    put_array(b, "Points", b->narrow ? "Float32" : "Float64", 3, 15, sample_x);
    td_text_format(&b->head, "</Points>\n<Cells>\n");
    put_array(b, "connectivity", b->narrow ? "Int8" : "Int64", 1, 12, (double[]){0, 1, 2, 0, 1, 2, 3, 1, 2, 4, 3, 4});
    put_array(b, "offsets", b->narrow ? "UInt32" : "Int64", 1, 4, (double[]){3, 7, 10, 12});
    put_array(b, "types", b->narrow ? "UInt8" : "Int32", 1, 4, (double[]){5, 10, 5, 3});
    td_text_format(&b->head, "</Cells>\n</Piece>\n");
}

static tdText build(Build *b, int pieces)
{
    td_text_format(&b->head,
                   "<?xml version=\"1.0\"?>\n<!-- <AppendedData -->\n<VTKFile type=\"UnstructuredGrid\" "
                   "byte_order=\"%s\"%s%s>\n<UnstructuredGrid>\n",
                   b->big ? "BigEndian" : "LittleEndian", b->wide ? " header_type=\"UInt64\"" : "",
                   b->zlib ? " compressor='vtkZLibDataCompressor'" : "");
    for (int i = 0; i < pieces; i++)
        put_piece(b);
    td_text_format(&b->head, "</UnstructuredGrid>\n");
    if (b->format >= APPENDED_RAW)
    {
        td_text_format(&b->head, "<AppendedData encoding=\"%s\">\n  _", b->format == APPENDED_RAW ? "raw" : "base64");
        td_text_append(&b->head, b->appended.data, (size_t)b->appended.size);
        td_text_format(&b->head, "\n</AppendedData>\n");
    }
    td_text_format(&b->head, "</VTKFile>\n");
    free(b->appended.data);
    assert_false(b->head.failed);
    return b->head;
}

// ---------------------------------------------------------------- reading

static const struct tdFieldData *find_field(const tdFields *fields, const char *name)
{
    for (int i = 0; i < fields->n; i++)
        if (strcmp(fields->field[i].name, name) == 0)
            return &fields->field[i];
    fail_msg("field '%s' is missing", name);
    return NULL;
}

static void check_sample(const tdMesh *mesh, const tdFields *fields, int pieces)
{
    assert_int_equal(mesh->n_nodes, 5 * pieces);
    assert_int_equal(mesh->cells[TD_CELL_LINE].count, pieces);
    assert_int_equal(mesh->cells[TD_CELL_TRI].count, 2 * pieces);
    assert_int_equal(mesh->cells[TD_CELL_TET].count, pieces);
    assert_int_equal(fields->n, 3);
    const struct tdFieldData *u = find_field(fields, "u"), *c = find_field(fields, "c");
    assert_int_equal(u->components, 3);
    assert_false(u->by_cell);
    assert_true(c->by_cell && c->components == 1);
    const tdGroup *set = &mesh->groups[td_mesh_find_group(mesh, "my set")];
    assert_int_equal(set->count[TD_CELL_TRI], pieces);
    assert_int_equal(set->count[TD_CELL_TET], pieces);
    const tdGroup *one = &mesh->groups[td_mesh_find_group(mesh, "physical_1")];
    assert_int_equal(one->count[TD_CELL_TRI], 2 * pieces);
    assert_int_equal(one->dim, 2);
    assert_int_equal(mesh->n_groups, 3);
    for (int p = 0; p < pieces; p++)
    {
        assert_memory_equal(mesh->x + 15 * p, sample_x, sizeof sample_x);
        assert_memory_equal(u->data + 15 * p, sample_x, sizeof sample_x);
        assert_int_equal(mesh->cells[TD_CELL_TET].nodes[4 * p + 3], 5 * p + 3);
        assert_int_equal(set->cells[TD_CELL_TRI][p], 2 * p + 1);
        // By type: lines, triangles, tetrahedra.
        assert_near(c->data[p], 40, 0);
        assert_near(c->data[pieces + 2 * p], -10, 0);
        assert_near(c->data[pieces + 2 * p + 1], 30, 0);
        assert_near(c->data[3 * pieces + p], 20, 0);
    }
}

static void reads_every_encoding(void **state)
{
    (void)state;
    int files = 0;
    for (int format = 0; format < FORMATS; format++)
        for (int bits = 0; bits < 16; bits++)
            for (size_t block = 1; block <= 1000; block *= 10) // 1 byte to more than the array
            {
                Build b = {
                    .format = (Format)format, .big = bits & 1, .wide = bits & 2, .zlib = bits & 4, .narrow = bits & 8};
                b.block = block;
                if (!b.zlib && block > 1)
                    continue;
                int pieces = bits % 3 + 1;
                tdText t = build(&b, pieces);
                tdMesh mesh = {0};
                tdFields fields = {0};
                tdError error = {0};
                assert_ok(td_mesh_read_vtu_fields(t.data, (size_t)t.size, "sample.vtu", &mesh, &fields, &error), error);
                check_sample(&mesh, &fields, pieces);
                td_fields_free(&fields);
                td_mesh_free(&mesh);
                free(t.data);
                files++;
            }
    assert_int_equal(files, FORMATS * (8 + 8 * 4));
}

static void reads_without_fields(void **state)
{
    (void)state;
    Build b = {.format = APPENDED_RAW};
    tdText t = build(&b, 1);
    tdMesh mesh = {0};
    tdError error = {0};
    assert_ok(td_mesh_read_vtu(t.data, (size_t)t.size, "sample.vtu", &mesh, &error), error);
    assert_int_equal(mesh.n_groups, 3);
    assert_non_null(strstr(mesh.notes, "skipped 2 point and cell arrays"));
    td_mesh_free(&mesh);
    free(t.data);
}

#define OPEN                    "<VTKFile type='UnstructuredGrid'>\n<UnstructuredGrid>\n"
#define CLOSE                   "</UnstructuredGrid>\n</VTKFile>\n"
#define ARRAY(type, name, text) "<DataArray type='" type "' Name='" name "'>" text "</DataArray>"
#define POINTS                  "<Points><DataArray type='Float32' NumberOfComponents='3'>0 0 0 1 0 0 0 1 0 0 0 1</DataArray></Points>\n"
#define CELLS(nodes, offsets, types)                                                                                   \
    "<Cells>" ARRAY("Int32", "connectivity", nodes) ARRAY("Int32", "offsets", offsets)                                 \
        ARRAY("Int32", "types", types) "</Cells>\n"
#define TET          CELLS("0 1 2 3", "4", "10")
#define PIECE(inner) OPEN "<Piece NumberOfPoints='4' NumberOfCells='1'>\n" inner "</Piece>\n" CLOSE

// A group that some pieces lack has no members there; any other array that is not in all is dropped.
static void joins_unequal_pieces(void **state)
{
    (void)state;
    static const char text[] =
        OPEN "<FieldData><DataArray type='Float64' Name='TimeValue'>1</DataArray></FieldData>\n"
             "<Piece NumberOfPoints='0' NumberOfCells='0'/>\n"
             "<Piece NumberOfPoints='4' NumberOfCells='1'>" POINTS TET "<CellData>" ARRAY("Float32", "p", "1")
                 ARRAY("Float32", "both",
                       "1") "</CellData></Piece>\n"
                            "<Piece NumberOfPoints='4' NumberOfCells='1'>" POINTS TET
                            "<CellData>" ARRAY("Int8", "group:second", "1") ARRAY("Float32", "both", "2")
                                ARRAY("Float32", "q", "1")
                                    ARRAY("String", "s", "1") "</CellData></Piece>\n"
                                                              "<Piece NumberOfPoints='4' NumberOfCells='1'>" POINTS TET
                                                              "<CellData>" ARRAY("Float32", "both",
                                                                                 "3") "</CellData></Piece>\n" CLOSE;
    tdMesh mesh = {0};
    tdFields fields = {0};
    tdError error = {0};
    assert_ok(td_mesh_read_vtu_fields(text, strlen(text), "pieces.vtu", &mesh, &fields, &error), error);
    assert_int_equal(mesh.cells[TD_CELL_TET].count, 3);
    assert_int_equal(mesh.cells[TD_CELL_TET].nodes[11], 11);
    assert_int_equal(mesh.n_groups, 1);
    assert_int_equal(mesh.groups[0].count[TD_CELL_TET], 1);
    assert_int_equal(mesh.groups[0].cells[TD_CELL_TET][0], 1);
    assert_int_equal(fields.n, 1);
    assert_near(find_field(&fields, "both")->data[2], 3, 0);
    assert_non_null(strstr(mesh.notes, "'p': not all pieces"));
    assert_non_null(strstr(mesh.notes, "'q': not all pieces"));
    assert_non_null(strstr(mesh.notes, "skipped 1 arrays of <FieldData>"));
    td_fields_free(&fields);
    td_mesh_free(&mesh);
}

// An array ends where its element does, also when the next one begins with what could be more of its last number.
static void ends_numbers_with_their_element(void **state)
{
    (void)state;
    static const char *const last[] = {"1", "1.5", "0.1234567890123456789012345", "1.25e-300", "-0"};
    for (size_t i = 0; i < sizeof last / sizeof last[0]; i++)
    {
        char text[2048];
        snprintf(text, sizeof text,
                 OPEN "<Piece NumberOfPoints='4' NumberOfCells='1'>\n<Points><DataArray type='Float64' "
                      "NumberOfComponents='3' format='ascii'>0 0 0 1 0 0 0 1 0 0 0 %s</DataArray></Points>" TET
                      "</Piece>\n" CLOSE,
                 last[i]);
        tdMesh mesh = {0};
        tdError error = {0};
        assert_ok(td_mesh_read_vtu(text, strlen(text), "last.vtu", &mesh, &error), error);
        assert_near(mesh.x[11], strtod(last[i], NULL), 0);
        td_mesh_free(&mesh);
    }
}

// Labels that make no sense as groups stay fields.
static void keeps_odd_labels_as_fields(void **state)
{
    (void)state;
    static const char text[] = PIECE(POINTS TET "<CellData>" ARRAY("Int64", "CellEntityIds", "3000000000") ARRAY(
        "Float32", "medit:ref", "1") ARRAY("UInt8", "gmsh:physical", "5") "</CellData>");
    tdMesh mesh = {0};
    tdFields fields = {0};
    tdError error = {0};
    assert_ok(td_mesh_read_vtu_fields(text, strlen(text), "labels.vtu", &mesh, &fields, &error), error);
    assert_int_equal(fields.n, 3);
    assert_int_equal(mesh.n_groups, 1);
    assert_string_equal(mesh.groups[0].name, "physical_5");
    assert_int_equal(mesh.groups[0].tag, 5);
    assert_non_null(strstr(mesh.notes, "made no groups of 'CellEntityIds'"));
    td_fields_free(&fields);
    td_mesh_free(&mesh);
}

// ---------------------------------------------------------------- round trips

static tdMesh sample_mesh(int64_t n_nodes, int64_t n_tets)
{
    tdMesh mesh = {0};
    for (int64_t i = 0; i < n_nodes; i++)
        assert_true(
            td_mesh_add_node(&mesh, (double)i / 3.0, -1e-300 * (double)i, i == 4 ? -0.0 : 1e20 / (double)(i + 1)));
    for (int t = 0; t < TD_CELL_TYPES; t++)
        for (int64_t k = 0; k < (t == TD_CELL_TET ? n_tets : 3); k++)
        {
            int32_t nodes[10];
            for (int i = 0; i < 10; i++)
                nodes[i] = (int32_t)((i * 5 + k + t) % n_nodes);
            assert_true(td_mesh_add_cell(&mesh, (tdCellType)t, nodes));
        }
    int a = td_mesh_group(&mesh, "50% \"of\" <a> & 'b'\n%41 \xc3\xa9\xff\xed\xa0\x80", 3, 0);
    assert_true(td_mesh_group_add(&mesh, a, TD_CELL_TET, 0) && td_mesh_group_add(&mesh, a, TD_CELL_TET, 2));
    int b = td_mesh_group(&mesh, "mixed", -1, 0);
    assert_true(td_mesh_group_add(&mesh, b, TD_CELL_TRI, 1) && td_mesh_group_add(&mesh, b, TD_CELL_HEX, 2));
    assert_true(td_mesh_group(&mesh, "nothing", -1, 0) >= 0);
    return mesh;
}

static void assert_same(const tdMesh *a, const tdMesh *b)
{
    assert_int_equal(a->n_nodes, b->n_nodes);
    assert_memory_equal(a->x, b->x, (size_t)(3 * a->n_nodes) * sizeof(double));
    for (int t = 0; t < TD_CELL_TYPES; t++)
    {
        assert_int_equal(a->cells[t].count, b->cells[t].count);
        assert_memory_equal(a->cells[t].nodes, b->cells[t].nodes,
                            (size_t)(a->cells[t].count * td_cell_nodes((tdCellType)t)) * sizeof(int32_t));
    }
    assert_int_equal(a->n_groups, b->n_groups);
    for (int g = 0; g < a->n_groups; g++)
    {
        assert_string_equal(a->groups[g].name, b->groups[g].name);
        assert_int_equal(a->groups[g].dim, b->groups[g].dim);
        for (int t = 0; t < TD_CELL_TYPES; t++)
        {
            assert_int_equal(a->groups[g].count[t], b->groups[g].count[t]);
            for (int64_t i = 0; i < a->groups[g].count[t]; i++)
                assert_int_equal(a->groups[g].cells[t][i], b->groups[g].cells[t][i]);
        }
    }
}

static void round_trip(const tdMesh *mesh, tdMeshEncoding encoding)
{
    int64_t cells = 0;
    for (int t = 0; t < TD_CELL_TYPES; t++)
        cells += mesh->cells[t].count;
    double *values = td_take((size_t)(9 * (cells + mesh->n_nodes)), sizeof(double));
    assert_non_null(values);
    for (int64_t i = 0; i < 9 * (cells + mesh->n_nodes); i++)
        values[i] = sin((double)i) * pow(10, (double)(i % 40 - 20));
    tdField by_node[] = {{"u <&>", 3, values}, {"t", 1, values + 3}}, by_cell[] = {{"sigma", 9, values}};
    tdText out = {0};
    tdMesh again = {0};
    tdFields fields = {0};
    tdError error = {0};
    assert_ok(td_mesh_write_vtu(mesh, encoding, 2, by_node, 1, by_cell, &out, &error), error);
    assert_ok(td_mesh_read_vtu_fields(out.data, (size_t)out.size, "again.vtu", &again, &fields, &error), error);
    assert_same(mesh, &again);
    assert_null(again.notes);
    assert_int_equal(fields.n, 3);
    assert_memory_equal(find_field(&fields, "u <&>")->data, values, (size_t)(3 * mesh->n_nodes) * sizeof(double));
    assert_memory_equal(find_field(&fields, "t")->data, values + 3, (size_t)mesh->n_nodes * sizeof(double));
    assert_memory_equal(find_field(&fields, "sigma")->data, values, (size_t)(9 * cells) * sizeof(double));
    assert_int_equal(find_field(&fields, "sigma")->components, 9);
    td_fields_free(&fields);
    td_mesh_free(&again);
    free(out.data);
    free(values);
}

static void round_trips_keep_every_bit(void **state)
{
    (void)state;
    tdMesh mesh = sample_mesh(12, 3);
    for (int encoding = TD_MESH_ASCII; encoding <= TD_MESH_COMPRESSED; encoding++)
        round_trip(&mesh, (tdMeshEncoding)encoding);
    td_mesh_free(&mesh);
}

// More than the ten million characters that libxml2 takes for one text, and several blocks of zlib.
static void round_trips_large_arrays(void **state)
{
    (void)state;
    tdMesh mesh = sample_mesh(20000, 120000);
    round_trip(&mesh, TD_MESH_BASE64);
    round_trip(&mesh, TD_MESH_COMPRESSED);
    round_trip(&mesh, TD_MESH_BINARY);
    td_mesh_free(&mesh);
}

static void writer_refuses_names_of_groups(void **state)
{
    (void)state;
    tdMesh mesh = sample_mesh(12, 3);
    tdText out = {0};
    tdError error = {0};
    tdField field = {"group:x", 1, mesh.x};
    assert_int_equal(td_mesh_write_vtu(&mesh, TD_MESH_ASCII, 0, NULL, 1, &field, &out, &error), TD_ERROR_USAGE);
    free(out.data);
    td_mesh_free(&mesh);
}

// ---------------------------------------------------------------- damage

static void refuses_with_a_reason(void **state)
{
    (void)state;
    static const struct
    {
        const char *text, *message;
        int line;
    } cases[] = {
        {"", "not well-formed", -1},
        {"hello", "not well-formed", -1},
        {"<a/>", "not a VTU file", 1},
        {"<VTKFile type='PolyData'/>", "Append Datasets", 1},
        {"<VTKFile type='PUnstructuredGrid'/>", "lists other files", 1},
        {"<VTKFile type='UnstructuredGrid'/>", "UnstructuredGrid: is missing", 1},
        {"<VTKFile type='UnstructuredGrid' compressor='vtkLZ4DataCompressor'/>", "vtkLZ4DataCompressor", 1},
        {"<VTKFile type='UnstructuredGrid' byte_order='Middle'/>", "byte_order", 1},
        {"<VTKFile type='UnstructuredGrid' header_type='UInt16'/>", "header_type", 1},
        {"<VTKFile type='UnstructuredGrid'><AppendedData encoding='hex'>_</AppendedData></VTKFile>", "encoding", 1},
        {"<VTKFile type='UnstructuredGrid'><AppendedData encoding='raw'>_", "has no end", 0},
        {"<!DOCTYPE a [<!ENTITY b 'c'>]>\n" PIECE(POINTS TET), "DOCTYPE", 0},
        {OPEN CLOSE, "no nodes", 0},
        {OPEN "<Piece NumberOfPoints='4'/>" CLOSE, "NumberOfCells", 3},
        {OPEN "<Piece NumberOfPoints='-4' NumberOfCells='1'/>" CLOSE, "NumberOfPoints", 3},
        {OPEN "<Piece NumberOfPoints='1e9' NumberOfCells='1'/>" CLOSE, "NumberOfPoints", 3},
        {PIECE(TET), "Points: are missing", 3},
        {PIECE(POINTS), "Cells: are missing", 3},
        {PIECE(POINTS CELLS("0 1 2 4", "4", "10")), "names node 4", 5},
        {PIECE(POINTS CELLS("0 1 2 -1", "4", "10")), "names node -1", 5},
        {PIECE(POINTS CELLS("0 1 2", "4", "10")), "connectivity", 5},
        {PIECE(POINTS CELLS("0 1 2 3\n3", "4", "10")), "found 4 and then 3", 6},
        {PIECE(POINTS CELLS("0 1 2 3", "nan", "10")), "must be whole", 5},
        {PIECE(POINTS CELLS("0 1 2 3", "-4", "10")), "must be whole", 5},
        {PIECE(POINTS CELLS("0 1 2 3", "4", "13")), "cell 0 (from 0) has VTK type 13 (wedge)", 5},
        {PIECE(POINTS CELLS("0 1 2", "3", "10")), "has 3 nodes, expected 4", 5},
        {PIECE(POINTS CELLS("0 1 2 3", "4", "1e300")), "from 0 to 255", 5},
        {PIECE(POINTS CELLS("0 1 2 x", "4", "10")), "found 3 and then x", 5},
        {PIECE(POINTS "<Cells>" ARRAY("Int32", "offsets", "4") "</Cells>"), "types: is missing", 5},
        {PIECE(POINTS "<Cells><DataArray Name='offsets' type='Int7'>4</DataArray></Cells>"), "Int7", 5},
        {PIECE(POINTS "<Cells><DataArray Name='offsets' type='Int8' format='zip'>4</DataArray></Cells>"), "zip", 5},
        {PIECE(POINTS "<Cells><DataArray Name='offsets' type='Int8' format='appended'/></Cells>"), "AppendedData", 5},
        {PIECE(POINTS "<Cells><DataArray Name='offsets' type='Int8' format='binary'>AQAA!</DataArray></Cells>"),
         "cut off", 5},
        {PIECE(POINTS "<Cells><DataArray Name='offsets' type='Int8'>4<DataArray/></DataArray></Cells>"),
         "inside another", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        tdMesh mesh = {0};
        tdError error = {0};
        char text[1200];
        assert_int_equal(td_mesh_read_vtu(cases[i].text, strlen(cases[i].text), "bad.vtu", &mesh, &error),
                         TD_ERROR_INPUT);
        td_error_format(&error, text, sizeof text);
        if (strstr(text, cases[i].message) == NULL || (cases[i].line >= 0 && error.line != cases[i].line))
            fail_msg("case %zu: expected line %d and '%s', found line %d: %s", i, cases[i].line, cases[i].message,
                     error.line, text);
        td_mesh_free(&mesh);
    }
}

// A copy of exactly n bytes and the zero that readers ask for, so that ASan sees any step beyond.
static tdStatus read_cut(const char *data, size_t n)
{
    char *copy = malloc(n + 1);
    assert_non_null(copy);
    memcpy(copy, data, n);
    copy[n] = '\0';
    tdMesh mesh = {0};
    tdFields fields = {0};
    tdError error = {0};
    tdStatus status = td_mesh_read_vtu_fields(copy, n, "cut.vtu", &mesh, &fields, &error);
    assert_true(status == TD_OK || (status == TD_ERROR_INPUT && error.message[0] != '\0'));
    td_fields_free(&fields);
    td_mesh_free(&mesh);
    free(copy);
    return status;
}

static void truncation_anywhere_is_an_error(void **state)
{
    (void)state;
    for (int format = 0; format < FORMATS; format++)
        for (int zlib = 0; zlib < 2; zlib++)
        {
            Build b = {.format = (Format)format, .zlib = zlib, .block = 16, .narrow = true};
            tdText t = build(&b, 1);
            assert_int_equal(read_cut(t.data, (size_t)t.size), TD_OK);
            // The appended kinds are complete with the closing tag of the data.
            int64_t end = format >= APPENDED_RAW ? t.size - 27 : t.size - 2;
            for (int64_t n = 0; n < end; n++)
                assert_int_equal(read_cut(t.data, (size_t)n), TD_ERROR_INPUT);
            free(t.data);
        }
}

static void survives_changed_bytes(void **state)
{
    (void)state;
    static const unsigned char bytes[] = {0, 0x7F, 0x80, 0xFF, '<', '9'};
    for (int format = 0; format < FORMATS; format++)
    {
        Build b = {.format = (Format)format, .zlib = format != ASCII, .block = 16, .narrow = true};
        tdText t = build(&b, 1);
        for (int64_t i = 0; i < t.size; i++)
            for (size_t k = i % 3; k < sizeof bytes; k += 3)
            {
                char kept = t.data[i];
                t.data[i] = (char)bytes[k];
                read_cut(t.data, (size_t)t.size);
                t.data[i] = kept;
            }
        free(t.data);
    }
}

// Counts and headers that promise terabytes must fail without taking the memory.
static void huge_sizes_take_no_memory(void **state)
{
    (void)state;
    static const char big[] =
        OPEN "<Piece NumberOfPoints='2000000000' NumberOfCells='2000000000'>" POINTS TET "</Piece>" CLOSE;
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    assert_int_equal(read_cut(big, strlen(big)), TD_ERROR_INPUT);
    for (int zlib = 0; zlib < 2; zlib++)
        for (int word = 0; word < 4; word++)
        {
            Build b = {.format = APPENDED_RAW, .wide = true, .zlib = zlib, .block = 16};
            tdText t = build(&b, 1);
            char *data = strchr(strstr(strstr(t.data, "-->"), "<AppendedData"), '_') + 1;
            for (uint64_t value = UINT64_MAX; value > 1u << 20; value >>= 3)
            {
                memcpy(data + 8 * word, &value, sizeof value);
                // Beyond the header of plain data these are numbers, which may be anything.
                if (word == 0 || zlib)
                    assert_int_equal(read_cut(t.data, (size_t)t.size), TD_ERROR_INPUT);
            }
            free(t.data);
        }
    // A header that fits the declared counts, but not the few bytes that are compressed.
    tdText t = {0};
    td_text_format(&t, "<VTKFile type='UnstructuredGrid' compressor='vtkZLibDataCompressor'><UnstructuredGrid>"
                       "<Piece NumberOfPoints='100000000' NumberOfCells='1'><Points><DataArray type='Int8' "
                       "NumberOfComponents='3' format='appended' offset='0'/></Points></Piece></UnstructuredGrid>"
                       "<AppendedData encoding='raw'>_");
    put_word(&t, 1, 4, false);
    put_word(&t, 300000000, 4, false);
    put_word(&t, 0, 4, false);
    put_word(&t, 8, 4, false);
    td_text_format(&t, "12345678%0400000d</AppendedData></VTKFile>", 0); // long enough that only the block lies
    tdMesh mesh = {0};
    tdError error = {0};
    assert_int_equal(td_mesh_read_vtu(t.data, (size_t)t.size, "lie.vtu", &mesh, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "more data than zlib could have compressed"));
    td_mesh_free(&mesh);
    free(t.data);
    getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_maxrss - before.ru_maxrss < 20000); // kilobytes
}

static void expect_refusal(Build *b, const char *message)
{
    td_text_format(&b->head, "</UnstructuredGrid><AppendedData encoding='raw'>_");
    td_text_append(&b->head, b->appended.data, (size_t)b->appended.size);
    td_text_format(&b->head, "</AppendedData></VTKFile>");
    tdMesh mesh = {0};
    tdFields fields = {0};
    tdError error = {0};
    assert_int_equal(td_mesh_read_vtu_fields(b->head.data, (size_t)b->head.size, "bomb.vtu", &mesh, &fields, &error),
                     TD_ERROR_INPUT);
    if (strstr(error.message, message) == NULL)
        fail_msg("expected '%s', found '%s'", message, error.message);
    td_fields_free(&fields);
    td_mesh_free(&mesh);
    free(b->head.data);
    free(b->appended.data);
}

#define BOMB "<VTKFile type='UnstructuredGrid' compressor='vtkZLibDataCompressor'><UnstructuredGrid>"

// Each array is honest, but all share the same bytes; or one cell becomes many, each with a long tuple.
static void small_files_cannot_ask_for_much(void **state)
{
    (void)state;
    enum
    {
        N = 100000
    };
    double *zeros = td_take(3 * N, sizeof(double));
    assert_non_null(zeros);
    Build b = {.format = APPENDED_RAW, .zlib = true, .block = 65536};
    td_text_format(&b.head, BOMB "<Piece NumberOfPoints='%d' NumberOfCells='0'><Points>", N);
    put_array(&b, "Points", "Int8", 3, 3 * N, zeros);
    td_text_format(&b.head, "</Points><PointData>");
    for (int i = 0; i < 100; i++)
        td_text_format(&b.head,
                       "<DataArray type='Int8' Name='a%d' NumberOfComponents='3' format='appended' offset='0'/>", i);
    td_text_format(&b.head, "</PointData></Piece>");
    expect_refusal(&b, "together declare more data");

    b = (Build){.format = APPENDED_RAW, .zlib = true, .block = 65536};
    td_text_format(&b.head, BOMB "<Piece NumberOfPoints='1' NumberOfCells='1'><Points>");
    put_array(&b, "Points", "Int8", 3, 3, zeros);
    td_text_format(&b.head, "</Points><Cells>");
    put_array(&b, "connectivity", "Int8", 1, N, zeros);
    put_array(&b, "offsets", "Int32", 1, 1, (double[]){N});
    put_array(&b, "types", "Int8", 1, 1, (double[]){2});
    td_text_format(&b.head, "</Cells><CellData>");
    put_array(&b, "long", "Int8", N, N, zeros);
    td_text_format(&b.head, "</CellData></Piece>");
    expect_refusal(&b, "more than the file can hold");
    free(zeros);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_encoding),
        cmocka_unit_test(reads_without_fields),
        cmocka_unit_test(joins_unequal_pieces),
        cmocka_unit_test(ends_numbers_with_their_element),
        cmocka_unit_test(keeps_odd_labels_as_fields),
        cmocka_unit_test(round_trips_keep_every_bit),
        cmocka_unit_test(round_trips_large_arrays),
        cmocka_unit_test(writer_refuses_names_of_groups),
        cmocka_unit_test(refuses_with_a_reason),
        cmocka_unit_test(truncation_anywhere_is_an_error),
        cmocka_unit_test(survives_changed_bytes),
        cmocka_unit_test(huge_sizes_take_no_memory),
        cmocka_unit_test(small_files_cannot_ask_for_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
