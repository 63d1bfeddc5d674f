// SPDX-License-Identifier: Apache-2.0
// Legacy VTK: hand-written files of every version and encoding, round trips, damage.
#include "test.h"

#include "base/print.h"
#include "mesh/mesh.h"
#include "mesh/vtk.h"

static tdStatus read_text(const char *text, tdMesh *mesh, tdError *error)
{
    return td_mesh_read_vtk(text, strlen(text), "sample.vtk", mesh, error);
}

static void check_members(const tdMesh *mesh, const char *name, tdCellType type, int n, const int *cells)
{
    int g = td_mesh_find_group(mesh, name);
    if (g < 0)
        fail_msg("group '%s' is missing", name);
    assert_int_equal(mesh->groups[g].count[type], n);
    for (int i = 0; i < n; i++)
        assert_int_equal(mesh->groups[g].cells[type][i], cells[i]);
}

static void check_nodes(const tdMesh *mesh, tdCellType type, int64_t cell, const int32_t *expected)
{
    int n = td_cell_nodes(type);
    assert_true(cell < mesh->cells[type].count);
    assert_memory_equal(mesh->cells[type].nodes + cell * n, expected, (size_t)n * sizeof(int32_t));
}

// Every section that may stand between and behind the mesh.
static const char full_ascii[] = "# vtk DataFile Version 3.0\n"
                                 "a title with words BINARY DATASET\n"
                                 "ASCII\n"
                                 "DATASET UNSTRUCTURED_GRID\n"
                                 "FIELD FieldData 2\n"
                                 "TIME 1 1 double\n1.5\n"
                                 "note 1 2 string\nsome%20text\n\n"
                                 "POINTS 5 float\n"
                                 "0 0 0 1 0 0 0 1 0\n0 0 1 1 1 1\n"
                                 "METADATA\nCOMPONENT_NAMES\nX\n\n\n"
                                 "INFORMATION 1\nNAME L2_NORM_RANGE LOCATION vtkDataArray\nDATA 2 0 1\n\n"
                                 "CELLS 4 17\n"
                                 "3 0 1 2\n4 0 1 2 3\n3 1 2 4\n3 2 3 4\n"
                                 "CELL_TYPES 4\n5\n10\n5\n5\n"
                                 "CELL_DATA 4\n"
                                 "SCALARS gmsh:physical int 1\nLOOKUP_TABLE mine\n7 8 7 0\n"
                                 "LOOKUP_TABLE mine 2\n0 0 0 1 1 1 1 1\n"
                                 "FIELD FieldData 2\n"
                                 "group:left%20arm 1 4 unsigned_char\n1 1 0 1\n"
                                 "METADATA\nINFORMATION 0\n\n"
                                 "empty 1 0 double\n\n"
                                 "POINT_DATA 5\n"
                                 "VECTORS u double\n0 0 0 1e-3 nan -inf 0 0 0 0 0 0 0 0 0\n"
                                 "COLOR_SCALARS c 2\n0 0 0 0 0 0 0 0 1 .5\n"
                                 "TEXTURE_COORDINATES t 2 float\n0 0 0 0 0 0 0 0 0 0\n"
                                 "NORMALS n float\n0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

static void check_full(const tdMesh *mesh)
{
    assert_int_equal(mesh->n_nodes, 5);
    assert_near(mesh->x[3], 1, 0);
    assert_near(mesh->x[14], 1, 0);
    assert_int_equal(mesh->cells[TD_CELL_TRI].count, 3);
    assert_int_equal(mesh->cells[TD_CELL_TET].count, 1);
    check_nodes(mesh, TD_CELL_TRI, 1, (int32_t[]){1, 2, 4});
    check_nodes(mesh, TD_CELL_TET, 0, (int32_t[]){0, 1, 2, 3});
    // Triangles are the file's cells 0, 2 and 3.
    check_members(mesh, "left arm", TD_CELL_TRI, 2, (int[]){0, 2});
    check_members(mesh, "left arm", TD_CELL_TET, 1, (int[]){0});
    check_members(mesh, "physical_7", TD_CELL_TRI, 2, (int[]){0, 1});
    check_members(mesh, "physical_8", TD_CELL_TET, 1, (int[]){0});
    assert_int_equal(mesh->n_groups, 3);
    int solid = td_mesh_find_group(mesh, "physical_8");
    assert_int_equal(mesh->groups[solid].dim, 3);
    assert_int_equal(mesh->groups[solid].tag, 8);
    assert_int_equal(mesh->groups[td_mesh_find_group(mesh, "left arm")].dim, -1);
}

static void reads_ascii_with_all_sections(void **state)
{
    (void)state;
    tdMesh mesh = {0};
    tdError error = {0};
    assert_ok(read_text(full_ascii, &mesh, &error), error);
    check_full(&mesh);
    assert_non_null(strstr(mesh.notes, "skipped 4 point arrays, 1 cell arrays and 2 other arrays"));
    assert_non_null(strstr(mesh.notes, "1 cells have 'gmsh:physical' 0"));
    td_mesh_free(&mesh);
}

// ---------------------------------------------------------------- binary, built by hand

static void put_big(tdText *t, uint64_t bits, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--)
    {
        unsigned char byte = (unsigned char)(bits >> 8 * i);
        td_text_append(t, &byte, 1);
    }
}

static void put_float(tdText *t, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_big(t, bits, 4);
}

static void put_ints(tdText *t, int bytes, int n, const int *values)
{
    for (int i = 0; i < n; i++)
        put_big(t, (uint64_t)(int64_t)values[i], bytes);
    td_text_append(t, "\n", 1);
}

#define PUT_INTS(t, bytes, ...)                                                                                        \
    put_ints(t, bytes, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[]){__VA_ARGS__})

// The same mesh as full_ascii. The lengths of strings have 6, 14 and 30 bits.
static tdText full_binary(int version)
{
    tdText t = {0};
    td_text_format(&t, "# vtk DataFile Version %d.1\r\ntitle\r\nBINARY\r\nDATASET UNSTRUCTURED_GRID\r\n", version);
    td_text_format(&t, "FIELD FieldData 2\nnote 1 3 string\n");
    char text[300];
    memset(text, '\n', sizeof text);
    put_big(&t, 0xC0 | 5, 1);
    td_text_append(&t, "hello", 5);
    put_big(&t, 0x8000 | 300, 2);
    td_text_append(&t, text, 300);
    put_big(&t, 0x40000000u | 2, 4);
    td_text_append(&t, "ok", 2);
    td_text_format(&t, "\nNULL_ARRAY\nPOINTS 5 float\n");
    static const float x[15] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
    for (int i = 0; i < 15; i++)
        put_float(&t, x[i]);
    td_text_format(&t, "\nMETADATA\nINFORMATION 0\n\n");
    if (version >= 5)
    {
        td_text_format(&t, "CELLS 5 13\nOFFSETS vtktypeint64\n");
        PUT_INTS(&t, 8, 0, 3, 7, 10, 13);
        td_text_format(&t, "CONNECTIVITY vtktypeint64\n");
        PUT_INTS(&t, 8, 0, 1, 2, 0, 1, 2, 3, 1, 2, 4, 2, 3, 4);
    }
    else
    {
        td_text_format(&t, "CELLS 4 17\n");
        PUT_INTS(&t, 4, 3, 0, 1, 2, 4, 0, 1, 2, 3, 3, 1, 2, 4, 3, 2, 3, 4);
    }
    td_text_format(&t, "CELL_TYPES 4\n");
    PUT_INTS(&t, 4, 5, 10, 5, 5);
    td_text_format(&t, "CELL_DATA 4\nSCALARS gmsh:physical short\nLOOKUP_TABLE default\n");
    PUT_INTS(&t, 2, 7, 8, 7, 0);
    td_text_format(&t, "FIELD f 3\ngroup:left%%20arm 1 4 bit\n");
    PUT_INTS(&t, 1, 0xD0); // 1101
    td_text_format(&t, "wide 2 4 long\n");
    PUT_INTS(&t, 8, 1, 2, 3, 4, 5, 6, 7, 8);
    td_text_format(&t, "METADATA\nCOMPONENT_NAMES\n\n\n\nids 1 4 vtkIdType\n");
    PUT_INTS(&t, 4, 1, 2, 3, 4);
    td_text_format(&t, "POINT_DATA 5\nCOLOR_SCALARS c 3\n");
    PUT_INTS(&t, 1, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 10, 10, 10);
    td_text_format(&t, "TENSORS6 s char\n");
    for (int i = 0; i < 30; i++)
        td_text_append(&t, "\n", 1);
    td_text_format(&t, "LOOKUP_TABLE lut 1\n");
    PUT_INTS(&t, 1, 1, 2, 3, 4);
    assert_false(t.failed);
    return t;
}

static void reads_binary_with_all_sections(void **state)
{
    (void)state;
    for (int version = 1; version <= 5; version++)
    {
        tdText t = full_binary(version);
        tdMesh mesh = {0};
        tdError error = {0};
        assert_ok(td_mesh_read_vtk(t.data, (size_t)t.size, "sample.vtk", &mesh, &error), error);
        check_full(&mesh);
        td_mesh_free(&mesh);
        free(t.data);
    }
}

// Arrays of every type that VTK's own writer names, in the bytes that it gives them: what comes behind is found.
static void reads_every_type(void **state)
{
    (void)state;
    static const struct
    {
        const char *name;
        int bytes; // 0: texts
    } types[] = {{"char", 1},           {"signed_char", 1},    {"unsigned_char", 1},
                 {"short", 2},          {"unsigned_short", 2}, {"int", 4},
                 {"unsigned_int", 4},   {"long", 8},           {"unsigned_long", 8},
                 {"float", 4},          {"double", 8},         {"vtkIdType", 4},
                 {"vtktypeint8", 1},    {"vtktypeuint8", 1},   {"vtktypeint16", 2},
                 {"vtktypeuint16", 2},  {"vtktypeint32", 4},   {"vtktypeuint32", 4},
                 {"vtktypeint64", 8},   {"vtktypeuint64", 8},  {"vtktypefloat32", 4},
                 {"vtktypefloat64", 8}, {"string", 0},         {"utf8_string", 0},
                 {"unicode_string", 0}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        for (int binary = 0; binary < 2; binary++)
        {
            tdText t = {0};
            tdMesh mesh = {0};
            td_text_format(&t, "# vtk DataFile Version 3.0\nt\n%s\nDATASET UNSTRUCTURED_GRID\n",
                           binary ? "BINARY" : "ASCII");
            td_text_format(&t, "FIELD FieldData 1\nnote 1 2 %s\n%s", types[i].name,
                           binary               ? ""
                           : types[i].bytes > 0 ? "1 2\n"
                                                : "one\ntwo\n");
            for (int k = 0; k < 2 && binary; k++)
            {
                put_big(&t, types[i].bytes == 0 ? 0xC0 | 3 : 0, types[i].bytes == 0 ? 1 : types[i].bytes);
                td_text_append(&t, "one", types[i].bytes == 0 ? 3 : 0);
            }
            td_text_format(&t, "%sPOINTS 1 float\n%s", binary ? "\n" : "", binary ? "" : "0 0 0\n");
            for (int k = 0; k < 3 && binary; k++)
                put_float(&t, 0);
            td_text_format(&t, "\nCELLS 1 2\n%s", binary ? "" : "1 0\n");
            if (binary)
                PUT_INTS(&t, 4, 1, 0);
            td_text_format(&t, "CELL_TYPES 1\n%s", binary ? "" : "1\n");
            if (binary)
                PUT_INTS(&t, 4, 1);
            tdError error = {0};
            assert_ok(td_mesh_read_vtk(t.data, (size_t)t.size, "types.vtk", &mesh, &error), error);
            assert_int_equal(mesh.n_nodes, 1);
            td_mesh_free(&mesh);
            free(t.data);
        }
}

static const char ascii_51[] = "# vtk DataFile Version 5.1\nt\nASCII\nDATASET UNSTRUCTURED_GRID\n"
                               "POINTS 4 int\n0 0 0 1 0 0 0 1 0 0 0 1\n"
                               "CELLS 3 7\nOFFSETS vtktypeint64\n0 3 7\nCONNECTIVITY vtktypeint64\n0 1 2 0 1 2 3\n"
                               "CELL_TYPES 2\n5 10\n";

static void reads_version_5_text(void **state)
{
    (void)state;
    tdMesh mesh = {0};
    tdError error = {0};
    assert_ok(read_text(ascii_51, &mesh, &error), error);
    check_nodes(&mesh, TD_CELL_TET, 0, (int32_t[]){0, 1, 2, 3});
    assert_int_equal(mesh.cells[TD_CELL_TRI].count, 1);
    td_mesh_free(&mesh);
}

// Cell data of POLYDATA follows VERTICES, LINES, POLYGONS, STRIPS, whatever stands first in the file.
static void reads_polydata(void **state)
{
    (void)state;
    static const char text[] = "# vtk DataFile Version 2.0\nt\nASCII\nDATASET POLYDATA\n"
                               "POINTS 6 double\n0 0 0 1 0 0 0 1 0 0 0 1 1 1 1 2 2 2\n"
                               "TRIANGLE_STRIPS 1 6\n5 0 1 2 3 4\n"
                               "POLYGONS 3 15\n3 0 1 2 4 0 1 2 3 5 0 1 2 3 4\n"
                               "LINES 1 4\n3 3 4 5\n"
                               "VERTICES 1 3\n2 0 5\n"
                               "CELL_DATA 6\nSCALARS medit:ref int\nLOOKUP_TABLE default\n1 2 3 4 5 6\n";
    tdMesh mesh = {0};
    tdError error = {0};
    assert_ok(read_text(text, &mesh, &error), error);
    assert_int_equal(mesh.cells[TD_CELL_VERTEX].count, 2);
    assert_int_equal(mesh.cells[TD_CELL_LINE].count, 2);
    assert_int_equal(mesh.cells[TD_CELL_TRI].count, 1 + 3 + 3);
    assert_int_equal(mesh.cells[TD_CELL_QUAD].count, 1);
    check_nodes(&mesh, TD_CELL_LINE, 1, (int32_t[]){4, 5});
    check_nodes(&mesh, TD_CELL_TRI, 3, (int32_t[]){0, 3, 4}); // last of the fan
    check_nodes(&mesh, TD_CELL_TRI, 4, (int32_t[]){0, 1, 2});
    check_nodes(&mesh, TD_CELL_TRI, 5, (int32_t[]){1, 3, 2}); // strips turn every other triangle
    check_nodes(&mesh, TD_CELL_TRI, 6, (int32_t[]){2, 3, 4});
    check_members(&mesh, "physical_1", TD_CELL_VERTEX, 2, (int[]){0, 1});
    check_members(&mesh, "physical_2", TD_CELL_LINE, 2, (int[]){0, 1});
    check_members(&mesh, "physical_3", TD_CELL_TRI, 1, (int[]){0});
    check_members(&mesh, "physical_4", TD_CELL_QUAD, 1, (int[]){0});
    check_members(&mesh, "physical_5", TD_CELL_TRI, 3, (int[]){1, 2, 3});
    check_members(&mesh, "physical_6", TD_CELL_TRI, 3, (int[]){4, 5, 6});
    assert_non_null(strstr(mesh.notes, "cut 1 polygons"));
    td_mesh_free(&mesh);
}

static void converts_cells(void **state)
{
    (void)state;
    static const char text[] = "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 10 float\n"
                               "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                               "CELLS 6 40\n8 0 1 2 3 4 5 6 7\n4 0 1 2 3\n10 0 1 2 3 4 5 6 7 8 9\n3 0 1 2\n"
                               "6 0 1 2 3 4 5\n3 7 8 9\nCELL_TYPES 6\n11 8 24 21 22 5\n"
                               "CELL_DATA 6\nSCALARS CellEntityIds int\nLOOKUP_TABLE default\n1 1 1 1 1 2\n";
    tdMesh mesh = {0};
    tdError error = {0};
    assert_ok(read_text(text, &mesh, &error), error);
    check_nodes(&mesh, TD_CELL_HEX, 0, (int32_t[]){0, 1, 3, 2, 4, 5, 7, 6});
    check_nodes(&mesh, TD_CELL_QUAD, 0, (int32_t[]){0, 1, 3, 2});
    check_nodes(&mesh, TD_CELL_TET10, 0, (int32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    assert_int_equal(mesh.cells[TD_CELL_TRI].count, 1);
    check_members(&mesh, "physical_2", TD_CELL_TRI, 1, (int[]){0});
    assert_non_null(strstr(mesh.notes, "skipped 1 cells of VTK type 21"));
    assert_non_null(strstr(mesh.notes, "skipped 1 cells of VTK type 22"));
    td_mesh_free(&mesh);
}

// ---------------------------------------------------------------- round trips

static tdMesh sample_mesh(void)
{
    tdMesh mesh = {0};
    for (int i = 0; i < 12; i++)
        assert_true(td_mesh_add_node(&mesh, i / 3.0, -1e-300 * i, i == 4 ? -0.0 : 1e20 + i));
    for (int t = 0; t < TD_CELL_TYPES; t++)
        for (int k = 0; k < 3; k++)
        {
            int32_t nodes[10];
            for (int i = 0; i < 10; i++)
                nodes[i] = (i * 5 + k + t) % 12;
            assert_true(td_mesh_add_cell(&mesh, (tdCellType)t, nodes));
        }
    int a = td_mesh_group(&mesh, "50% \"of\" <a>\n%41 \xc3\xa9\xff", 3, 0);
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
        const tdGroup *p = &a->groups[g], *q = &b->groups[g];
        assert_string_equal(p->name, q->name);
        assert_int_equal(p->dim, q->dim);
        for (int t = 0; t < TD_CELL_TYPES; t++)
        {
            assert_int_equal(p->count[t], q->count[t]);
            for (int64_t i = 0; i < p->count[t]; i++)
                assert_int_equal(p->cells[t][i], q->cells[t][i]);
        }
    }
}

static void round_trips_keep_every_bit(void **state)
{
    (void)state;
    tdMesh mesh = sample_mesh();
    for (int encoding = TD_MESH_ASCII; encoding <= TD_MESH_BINARY; encoding++)
    {
        tdText out = {0};
        tdMesh again = {0};
        tdError error = {0};
        assert_ok(td_mesh_write_vtk(&mesh, (tdMeshEncoding)encoding, &out, &error), error);
        assert_ok(td_mesh_read_vtk(out.data, (size_t)out.size, "again.vtk", &again, &error), error);
        assert_same(&mesh, &again);
        assert_null(again.notes);
        td_mesh_free(&again);
        free(out.data);
    }
    tdText out = {0};
    tdError error = {0};
    assert_int_equal(td_mesh_write_vtk(&mesh, TD_MESH_BASE64, &out, &error), TD_ERROR_USAGE);
    char name[90]; // three bytes each, and the prefix: more than VTK's 255
    memset(name, ' ', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_true(td_mesh_group(&mesh, name, -1, 0) >= 0);
    assert_int_equal(td_mesh_write_vtk(&mesh, TD_MESH_BINARY, &out, &error), TD_ERROR_USAGE);
    assert_non_null(strstr(error.message, "too long"));
    free(out.data);
    td_mesh_free(&mesh);
}

// Against the C library: printed numbers read back as the same bits, read numbers are the nearest doubles.
static void numbers_are_exact_both_ways(void **state)
{
    (void)state;
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < 200000; i++)
    {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        double value = 0;
        if (i % 4 == 0) // any bits
            memcpy(&value, &seed, sizeof value);
        else if (i % 4 == 1) // few digits
            value = (double)(int)(seed % 100001) / (double[]){1, 10, 1000, 1e5, 1e9}[seed >> 40 & 3];
        else // common sizes, full precision
            value = ((double)(int64_t)seed / 9.3e18) * pow(10, (double)(int)(seed % 30) - 20);
        if (isnan(value))
            continue;
        tdText text = {0};
        td_print_number(&text, value);
        double library = strtod(text.data, NULL), ours = 0;
        const char *at = text.data;
        assert_int_equal(td_vtk_parse(&at, text.data + text.size, 1, &ours), 1);
        if (memcmp(&library, &value, 8) != 0 || memcmp(&ours, &value, 8) != 0)
            fail_msg("%.17g printed as %s, read as %.17g", value, text.data, ours);
        int fewest = 15, figures = 0;
        for (char plain[40]; fewest < 17; fewest++)
        {
            snprintf(plain, sizeof plain, "%.*g", fewest, value);
            if (strtod(plain, NULL) == value)
                break;
        }
        for (const char *c = text.data; *c != '\0' && *c != 'e'; c++)
            figures += *c >= '0' && *c <= '9' && (figures > 0 || *c != '0');
        if (isfinite(value) && figures > fewest + (fabs(value) >= 1e15 ? 6 : 0)) // whole numbers show their zeros
            fail_msg("%.17g has %d figures as %s, %d are enough", value, figures, text.data, fewest);
        // Decimal numbers that no double printed.
        char digits[64];
        int n = snprintf(digits, sizeof digits, "%llu.%llue%d", (unsigned long long)(seed % 100000000),
                         (unsigned long long)(seed >> 20 & 0xFFFFFFFFFF), (int)(seed % 50) - 25);
        library = strtod(digits, NULL);
        at = digits;
        assert_int_equal(td_vtk_parse(&at, digits + n, 1, &ours), 1);
        if (memcmp(&library, &ours, 8) != 0)
            fail_msg("%s read as %.17g", digits, ours);
        free(text.data);
    }
    static const char *const bad[] = {"", ".", "-", "1e", "1e+", "--1", "1.2.3", "1x", "e5", "+-1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    {
        const char *at = bad[i];
        assert_int_equal(td_vtk_parse(&at, bad[i] + strlen(bad[i]), 1, NULL), 0);
    }
    tdText text = {0};
    td_print_number(&text, 0.1);
    td_print_number(&text, -2.5e-9);
    td_print_number(&text, 1e-4);
    assert_string_equal(text.data, "0.1-2.5e-90.0001");
    free(text.data);
}

// ---------------------------------------------------------------- damage

#define HEAD   "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\n"
#define POINTS "POINTS 4 float\n0 0 0 1 0 0 0 1 0 0 0 1\n"

static void refuses_with_a_reason(void **state)
{
    (void)state;
    static const struct
    {
        const char *text, *message;
        int line;
    } cases[] = {
        {"", "not a legacy VTK file", 1},
        {"# vtk DataFile Version 9.0\nt\nASCII\n", "version 9.0", 1},
        {"# vtk DataFile Version 3.0\nt\nUTF8\n", "ASCII or BINARY", 3},
        {"# vtk DataFile Version 3.0\nt\nASCII\nDATASET STRUCTURED_GRID\n", "Append Datasets", 4},
        {HEAD, "no nodes", 0},
        {HEAD POINTS, "no cells", 0},
        {HEAD "POINTS 4 variant\n", "unknown data type", 5},
        {HEAD "POINTS -4 float\n", "from 0 to", 5},
        {HEAD "POINTS 2000000000 double\n0 0 0\n", "cut off", 5},
        {HEAD "POINTS 4 float\n0 0 0 1 0 0 x 1 0 0 0 1\n", "found 'x' after 6", 6},
        {HEAD "POINTS 4 float\n0 0 0 1 0 0 nan 1 0 0 0 1\nCELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n", "finite", 0},
        {HEAD POINTS "POINTS 4 float\n", "twice", 7},
        {HEAD POINTS "CELLS 1 5\n4 0 1 2 4\nCELL_TYPES 1\n10\n", "names node 4", 0},
        {HEAD POINTS "CELLS 1 5\n4 0 1 2 -1\nCELL_TYPES 1\n10\n", "names node -1", 0},
        {HEAD POINTS "CELLS 1 5\n4 0 1 2 1.5\nCELL_TYPES 1\n10\n", "names node 1.5", 0},
        {HEAD POINTS "CELLS 1 5\n5 0 1 2 3\nCELL_TYPES 1\n10\n", "does not fit", 8},
        {HEAD POINTS "CELLS 1 6\n4 0 1 2 3 0\nCELL_TYPES 1\n10\n", "use 5", 8},
        {HEAD POINTS "CELLS 1 4\n3 0 1 2\nCELL_TYPES 1\n10\n", "expected 4", 0},
        {HEAD POINTS "CELLS 1 5\n4 0 1 2 3\n", "0 types for 1 cells", 0},
        {HEAD POINTS "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n14\n", "pyramid", 0},
        {HEAD POINTS "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n99\n", "unknown cell type", 0},
        {HEAD POINTS "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n300\n", "from 0 to 255", 0},
        {HEAD POINTS "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\nCELL_DATA 2\n", "CELL_DATA", 11},
        {HEAD POINTS "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\nNONSENSE 2\n", "unknown keyword 'NONSENSE'", 11},
        {"# vtk DataFile Version 3.0\nt\nASCII\nDATASET POLYDATA\n" POINTS
         "LINES 1 3\n2 0 1\nCELL_DATA 1\nSCALARS medit:ref int\nLOOKUP_TABLE default\n1\nVERTICES 1 2\n1 0\n",
         "must come before", 13},
        {HEAD POINTS "POLYGONS 1 5\n4 0 1 2 3\n", "does not belong", 7},
        {"# vtk DataFile Version 5.1\nt\nASCII\nDATASET UNSTRUCTURED_GRID\n" POINTS
         "CELLS 2 4\nOFFSETS vtktypeint64\n0 3\nCONNECTIVITY vtktypeint64\n0 1 2 3\n",
         "must rise", 9},
        {"# vtk DataFile Version 5.1\nt\nASCII\nDATASET UNSTRUCTURED_GRID\n" POINTS "CELLS 1 5\n4 0 1 2 3\n",
         "expected OFFSETS", 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        tdMesh mesh = {0};
        tdError error = {0};
        char text[1200];
        assert_int_equal(read_text(cases[i].text, &mesh, &error), TD_ERROR_INPUT);
        td_error_format(&error, text, sizeof text);
        if (strstr(text, cases[i].message) == NULL || error.line != cases[i].line)
            fail_msg("case %zu: expected line %d and '%s', found line %d: %s", i, cases[i].line, cases[i].message,
                     error.line, text);
        td_mesh_free(&mesh);
    }
}

// A copy of exactly n bytes and the zero that readers ask for, so that ASan sees any step beyond.
static void read_cut(const char *data, size_t n)
{
    char *copy = malloc(n + 1);
    assert_non_null(copy);
    memcpy(copy, data, n);
    copy[n] = '\0';
    tdMesh mesh = {0};
    tdError error = {0};
    tdStatus status = td_mesh_read_vtk(copy, n, "cut.vtk", &mesh, &error);
    assert_true(status == TD_OK || (status == TD_ERROR_INPUT && error.message[0] != '\0'));
    td_mesh_free(&mesh);
    free(copy);
}

static void survives_truncation_anywhere(void **state)
{
    (void)state;
    for (size_t n = 0; n <= strlen(full_ascii); n++)
        read_cut(full_ascii, n);
    for (size_t n = 0; n <= strlen(ascii_51); n++)
        read_cut(ascii_51, n);
    for (int version = 4; version <= 5; version++)
    {
        tdText t = full_binary(version);
        for (int64_t n = 0; n <= t.size; n++)
            read_cut(t.data, (size_t)n);
        free(t.data);
    }
}

// Any one byte changed to something unkind.
static void survives_changed_bytes(void **state)
{
    (void)state;
    static const unsigned char bytes[] = {0, 0x7F, 0x80, 0xFF, ' ', '\n', '9'};
    tdText t = full_binary(5);
    for (int64_t i = 0; i < t.size; i++)
        for (size_t k = 0; k < sizeof bytes; k++)
        {
            char kept = t.data[i];
            t.data[i] = (char)bytes[k];
            read_cut(t.data, (size_t)t.size);
            t.data[i] = kept;
        }
    free(t.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_ascii_with_all_sections),
        cmocka_unit_test(reads_binary_with_all_sections),
        cmocka_unit_test(reads_every_type),
        cmocka_unit_test(reads_version_5_text),
        cmocka_unit_test(reads_polydata),
        cmocka_unit_test(converts_cells),
        cmocka_unit_test(round_trips_keep_every_bit),
        cmocka_unit_test(numbers_are_exact_both_ways),
        cmocka_unit_test(refuses_with_a_reason),
        cmocka_unit_test(survives_truncation_anywhere),
        cmocka_unit_test(survives_changed_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
