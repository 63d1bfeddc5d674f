// SPDX-License-Identifier: Apache-2.0
// MSH 2.2 and 4.1: round trips, samples by hand and by Gmsh, and files that are damaged.
#include "mesh_test.h"

#include <sys/resource.h>
#include <unistd.h>

static const tdMeshFormat versions[] = {TD_MESH_MSH22, TD_MESH_MSH41};
static const tdMeshEncoding encodings[] = {TD_MESH_ASCII, TD_MESH_BINARY};

#define READ(text, mesh)      read_good(td_mesh_read_msh, text, strlen(text), mesh)
#define BAD(text, line, word) read_bad(td_mesh_read_msh, text, strlen(text), line, word)

// Every cell type; groups that overlap, span dimensions, share a number, are empty or have odd names.
static void make_sample(tdMesh *mesh)
{
    *mesh = (tdMesh){0};
    add_nodes(mesh, 12);
    add_surface_cells(mesh, true);
    int body = td_mesh_group(mesh, "the \"body\" of it", 3, 3), mixed = td_mesh_group(mesh, "mixed", 3, 3);
    td_mesh_group(mesh, "nothing", -1, 9);
    add_cell(mesh, TD_CELL_VERTEX, (int32_t[]){3}, 1, &mixed);
    add_cell(mesh, TD_CELL_LINE, (int32_t[]){3, 1}, 1, &mixed);
    add_cell(mesh, TD_CELL_LINE, (int32_t[]){1, 4}, 0, NULL);
    add_cell(mesh, TD_CELL_TRI, (int32_t[]){1, 2, 3}, 1, &mixed);
    // The same nodes twice in the same groups are two cells and must stay so, also turned round.
    add_cell(mesh, TD_CELL_TRI, (int32_t[]){1, 2, 3}, 2, (int[]){0, mixed});
    add_cell(mesh, TD_CELL_TRI, (int32_t[]){1, 2, 3}, 2, (int[]){0, mixed});
    add_cell(mesh, TD_CELL_TRI, (int32_t[]){1, 3, 2}, 2, (int[]){0, mixed});
    for (int i = 0; i < 5; i++)
        add_cell(mesh, TD_CELL_TET, (int32_t[]){i, i + 1, i + 2, i + 3}, i % 3, (int[]){body, mixed});
    add_cell(mesh, TD_CELL_HEX, (int32_t[]){0, 1, 2, 3, 4, 5, 6, 7}, 1, &body);
    add_cell(mesh, TD_CELL_TET10, (int32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 1, &body);
    td_mesh_group_dims(mesh);
}

static void write_text(const tdMesh *mesh, tdMeshFormat version, tdMeshEncoding encoding, tdText *out)
{
    tdError error = {0};
    *out = (tdText){0};
    assert_ok(td_mesh_write_msh(mesh, version, encoding, out, &error), error);
}

static void test_round_trip(void **state)
{
    (void)state;
    for (int v = 0; v < 2; v++)
        for (int e = 0; e < 2; e++)
        {
            tdMesh mesh, back;
            tdText text;
            make_sample(&mesh);
            write_text(&mesh, versions[v], encodings[e], &text);
            read_good(td_mesh_read_msh, text.data, (size_t)text.size, &back);
            assert_same_cells(&mesh, &back);
            assert_same_groups(&mesh, &back);
            assert_int_equal(back.groups[0].tag, 3); // a number that was free is kept
            assert_int_equal(signbit(back.x[8]) != 0, 1);
            td_mesh_free(&mesh);
            td_mesh_free(&back);
            free(text.data);
        }
}

static void test_writer_refuses(void **state)
{
    (void)state;
    tdMesh mesh;
    tdError error = {0};
    tdText text = {0};
    make_sample(&mesh);
    assert_int_equal(td_mesh_write_msh(&mesh, TD_MESH_STL, TD_MESH_ASCII, &text, &error), TD_ERROR_USAGE);
    assert_int_equal(td_mesh_write_msh(&mesh, TD_MESH_MSH41, TD_MESH_BASE64, &text, &error), TD_ERROR_USAGE);
    free(mesh.groups[1].name);
    mesh.groups[1].name = strdup("two\nlines");
    assert_int_equal(td_mesh_write_msh(&mesh, TD_MESH_MSH41, TD_MESH_ASCII, &text, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "line break"));
    free(mesh.groups[1].name);
    mesh.groups[1].name = strdup(mesh.groups[0].name);
    assert_int_equal(td_mesh_write_msh(&mesh, TD_MESH_MSH22, TD_MESH_ASCII, &text, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "two groups"));
    td_mesh_free(&mesh);
    free(text.data);
}

// ---------------------------------------------------------------- samples

#define HEAD22  "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
#define NODES22 "$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n"
#define HEAD41  "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n"
#define NODES41 "$Nodes\n1 4 1 4\n3 1 0 4\n1\n2\n3\n4\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n$EndNodes\n"
#define TETS41  "$Elements\n1 1 1 1\n3 1 4 1\n1 1 2 3 4\n$EndElements\n"

static void test_sample22(void **state)
{
    (void)state;
    tdMesh mesh;
    READ(HEAD22 "$Comments\nanything $ here\n$EndComments\n"
                "$PhysicalNames\n2\n2 1 \"skin\"\n3 1 \"body\"\n$EndPhysicalNames\n"
                "$Nodes\n4\n 1000000000  0 0 0\n7 1 0 0\n30 0 1. 0\n2000000000 0 0 1e0\n$EndNodes\n"
                "$Elements\n6\n"
                "1 2 2 1 1 1000000000 7 30\n"
                "2 2 2 8 1 1000000000 7 30\n"                // the same triangle in a group without a name
                "3 2 2 9 1 1000000000 30 7\n"                // and reversed in another
                "9 4 4 1 1 1 5 1000000000 7 30 2000000000\n" // partition 5
                "10 15 0 7\n"
                "11 8 2 1 1 7 30 1000000000\n" // 3-node line
                "$EndElements\n"
                "$NodeData\n1\n\"T\"\n1\n0\n3\n0\n1\n1\n1 5\n$EndNodeData\n",
         &mesh);
    assert_int_equal(mesh.n_nodes, 4);
    assert_int_equal(mesh.cells[TD_CELL_TRI].count, 1);
    assert_int_equal(mesh.cells[TD_CELL_VERTEX].count, 1);
    assert_int_equal(mesh.cells[TD_CELL_VERTEX].nodes[0], 1);
    assert_int_equal(mesh.cells[TD_CELL_TET].nodes[3], 3);
    assert_int_equal(group_count(&mesh, "skin", TD_CELL_TRI), 1);
    assert_int_equal(group_count(&mesh, "physical_2_8", TD_CELL_TRI), 1);
    assert_int_equal(group_count(&mesh, "physical_2_9", TD_CELL_TRI), 1);
    assert_int_equal(group_count(&mesh, "body", TD_CELL_TET), 1);
    assert_int_equal(mesh.n_groups, 4);
    assert_non_null(strstr(mesh.notes, "$NodeData"));
    assert_non_null(strstr(mesh.notes, "3-node line"));
    assert_non_null(strstr(mesh.notes, "opposite"));
    assert_non_null(strstr(mesh.notes, "partition"));
    assert_null(strstr(mesh.notes, "Comments"));
    td_mesh_free(&mesh);
}

static void test_sample41(void **state)
{
    (void)state;
    tdMesh mesh;
    READ(HEAD41 "$PhysicalNames\n3\n2 1 \"in\"\n2 2 \"out\"\n3 1 \"in\"\n$EndPhysicalNames\n"
                "$Entities\n1 0 3 1\n"
                "5 0 0 0 0\n"
                "1 0 0 0 1 1 1 2 1 2 0\n"     // in both
                "2 0 0 0 1 1 1 1 -2 2 7 -8\n" // reversed
                "3 0 0 0 1 1 1 2 1 -4 0\n"    // the groups disagree
                "1 0 0 0 1 1 1 1 1 3 1 2 3\n"
                "$EndEntities\n"
                "$Nodes\n3 4 10 9000000000000000000\n"
                "0 5 1 1\n10\n0 0 0\n"
                "2 1 1 2\n20\n9000000000000000000\n1 0 0 0.5 0.25\n0 1 0 1 2\n"
                "3 1 1 1\n40\n0 0 1 1 2 3\n"
                "$EndNodes\n"
                "$Elements\n5 5 1 5\n"
                "2 1 2 1\n1 10 20 9000000000000000000\n"
                "2 2 2 1\n2 10 20 40\n"
                "2 3 2 1\n3 20 40 10\n"
                "3 1 4 1\n5 10 20 9000000000000000000 40\n"
                "2 77 2 1\n6 40 20 10\n"
                "$EndElements\n"
                "$Periodic\n0\n$EndPeriodic\n",
         &mesh);
    assert_int_equal(mesh.n_nodes, 4);
    assert_near(mesh.x[3 * 3 + 2], 1, 0);
    assert_int_equal(mesh.cells[TD_CELL_TRI].count, 4);
    assert_int_equal(group_count(&mesh, "in", TD_CELL_TRI), 2);
    assert_int_equal(group_count(&mesh, "in", TD_CELL_TET), 1);
    assert_int_equal(mesh.groups[td_mesh_find_group(&mesh, "in")].dim, -1);
    assert_int_equal(group_count(&mesh, "out", TD_CELL_TRI), 2);
    assert_int_equal(group_count(&mesh, "physical_2_4", TD_CELL_TRI), 1);
    const int32_t *tris = mesh.cells[TD_CELL_TRI].nodes;
    assert_int_equal(tris[1], 1);     // entity 1 as it is
    assert_int_equal(tris[3 + 1], 3); // entity 2 reversed: 10 40 20
    assert_int_equal(tris[3 + 2], 1);
    assert_int_equal(tris[6 + 1], 3); // entity 3 as it is
    assert_non_null(strstr(mesh.notes, "$Periodic"));
    assert_non_null(strstr(mesh.notes, "opposite"));
    assert_non_null(strstr(mesh.notes, "does not list"));
    td_mesh_free(&mesh);
}

static void test_parametric22_and_names(void **state)
{
    (void)state;
    tdMesh mesh;
    // Windows line ends; a generated name that is taken.
    READ("$MeshFormat\r\n2.2 0 8\r\n$EndMeshFormat\r\n"
         "$PhysicalNames\r\n2\r\n3 5 \"physical_3_6\"\r\n3 7 \"\"\r\n$EndPhysicalNames\r\n"
         "$ParametricNodes\r\n4\r\n1 0 0 0 0 1\r\n2 1 0 0 1 1 0.5\r\n3 0 1 0 2 1 0.5 0.5\r\n4 0 0 1 3 1\r\n"
         "$EndParametricNodes\r\n"
         "$Elements\r\n2\r\n1 4 2 5 1 1 2 3 4\r\n2 4 2 6 1 1 2 3 4\r\n$EndElements\r\n",
         &mesh);
    assert_int_equal(mesh.n_nodes, 4);
    assert_int_equal(mesh.cells[TD_CELL_TET].count, 1);
    assert_int_equal(mesh.n_groups, 2);
    assert_int_equal(group_count(&mesh, "physical_3_6_", TD_CELL_TET), 1);
    td_mesh_free(&mesh);
}

// Gmsh's last two mid-edge nodes are 23 and 13, VTK's 13 and 23.
static void test_tet10_order(void **state)
{
    (void)state;
    tdMesh mesh;
    READ(HEAD22 "$Nodes\n10\n1 0 0 0\n2 2 0 0\n3 0 2 0\n4 0 0 2\n5 1 0 0\n6 1 1 0\n7 0 1 0\n8 0 0 1\n9 0 1 1\n"
                "10 1 0 1\n$EndNodes\n$Elements\n1\n1 11 0 1 2 3 4 5 6 7 8 9 10\n$EndElements\n",
         &mesh);
    static const int edges[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}};
    const int32_t *nodes = mesh.cells[TD_CELL_TET10].nodes;
    for (int e = 0; e < 6; e++)
        for (int d = 0; d < 3; d++)
            assert_near(mesh.x[3 * nodes[4 + e] + d],
                        (mesh.x[3 * nodes[edges[e][0]] + d] + mesh.x[3 * nodes[edges[e][1]] + d]) / 2, 0);
    td_mesh_free(&mesh);
}

// ---------------------------------------------------------------- byte orders

typedef struct builder
{
    tdText text;
    bool swap;
    int size_bytes;
} builder;

static void put(builder *b, const void *value, size_t n)
{
    unsigned char bytes[8];
    memcpy(bytes, value, n);
    for (size_t i = 0; i < n / 2 && b->swap; i++)
    {
        unsigned char kept = bytes[i];
        bytes[i] = bytes[n - 1 - i];
        bytes[n - 1 - i] = kept;
    }
    td_text_append(&b->text, bytes, n);
}

static void put_ints(builder *b, int n, const int32_t *values)
{
    for (int i = 0; i < n; i++)
        put(b, &values[i], 4);
}

static void put_sizes(builder *b, int n, const int64_t *values)
{
    for (int i = 0; i < n; i++)
    {
        int32_t narrow = (int32_t)values[i];
        put(b, b->size_bytes == 8 ? (const void *)&values[i] : (const void *)&narrow, (size_t)b->size_bytes);
    }
}

static void put_nodes(builder *b, int first, int n)
{
    for (int i = first; i < first + n; i++)
        for (int d = 0; d < 3; d++)
            put(b, &(double){i == d + 1 ? 1.5 : 0}, 8);
}

#define PUT_INTS(b, ...)  put_ints(b, (int)(sizeof((int32_t[]){__VA_ARGS__}) / 4), (int32_t[]){__VA_ARGS__})
#define PUT_SIZES(b, ...) put_sizes(b, (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]){__VA_ARGS__})

static void build22(builder *b)
{
    td_text_format(&b->text, "$MeshFormat\n2.2 1 8\n");
    PUT_INTS(b, 1);
    td_text_format(&b->text, "\n$EndMeshFormat\n$PhysicalNames\n1\n3 2 \"body\"\n$EndPhysicalNames\n$Nodes\n4\n");
    for (int i = 0; i < 4; i++)
    {
        PUT_INTS(b, i + 10);
        put_nodes(b, i, 1);
    }
    td_text_format(&b->text, "\n$EndNodes\n$Elements\n3\n");
    PUT_INTS(b, 2, 2, 2, 1, 4, 1, 10, 11, 12, 2, 4, 1, 11, 12, 13);
    PUT_INTS(b, 4, 1, 2, 3, 2, 1, 10, 11, 12, 13);
    td_text_format(&b->text, "\n$EndElements\n");
}

static void build41(builder *b)
{
    td_text_format(&b->text, "$MeshFormat\n4.1 1 %d\n", b->size_bytes);
    PUT_INTS(b, 1);
    td_text_format(&b->text, "\n$EndMeshFormat\n$PhysicalNames\n1\n3 2 \"body\"\n$EndPhysicalNames\n$Entities\n");
    PUT_SIZES(b, 1, 0, 1, 1);
    PUT_INTS(b, 1);
    put_nodes(b, 0, 1);
    PUT_SIZES(b, 0);
    for (int dim = 2; dim < 4; dim++)
    {
        PUT_INTS(b, 1);
        put_nodes(b, 0, 2);
        PUT_SIZES(b, 1);
        PUT_INTS(b, dim == 2 ? 4 : 2);
        PUT_SIZES(b, 1);
        PUT_INTS(b, -1);
    }
    td_text_format(&b->text, "\n$EndEntities\n$Nodes\n");
    PUT_SIZES(b, 2, 4, 10, 13);
    PUT_INTS(b, 0, 1, 0);
    PUT_SIZES(b, 1, 10);
    put_nodes(b, 0, 1);
    PUT_INTS(b, 1, 1, 1); // parametric: one more number for each
    PUT_SIZES(b, 3, 11, 12, 13);
    for (int i = 1; i < 4; i++)
    {
        put_nodes(b, i, 1);
        put(b, &(double){0.5}, 8);
    }
    td_text_format(&b->text, "\n$EndNodes\n$Elements\n");
    PUT_SIZES(b, 2, 3, 1, 3);
    PUT_INTS(b, 2, 1, 2);
    PUT_SIZES(b, 2, 1, 10, 11, 12, 2, 11, 12, 13);
    PUT_INTS(b, 3, 1, 4);
    PUT_SIZES(b, 1, 3, 10, 11, 12, 13);
    td_text_format(&b->text, "\n$EndElements\n");
}

static void test_byte_orders(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++)
    {
        builder b = {.swap = i % 2 == 1, .size_bytes = i < 4 ? 8 : 4};
        i < 2 ? build22(&b) : build41(&b);
        tdMesh mesh;
        read_good(td_mesh_read_msh, b.text.data, (size_t)b.text.size, &mesh);
        assert_int_equal(mesh.n_nodes, 4);
        assert_near(mesh.x[3 * 3 + 2], 1.5, 0);
        assert_int_equal(mesh.cells[TD_CELL_TRI].count, 2);
        assert_int_equal(mesh.cells[TD_CELL_TRI].nodes[5], 3);
        assert_int_equal(mesh.cells[TD_CELL_TET].count, 1);
        assert_int_equal(group_count(&mesh, "body", TD_CELL_TET), 1);
        assert_int_equal(group_count(&mesh, "physical_2_4", TD_CELL_TRI), 2);
        td_mesh_free(&mesh);
        read_truncated(td_mesh_read_msh, b.text.data, (size_t)b.text.size);
        free(b.text.data);
    }
}

// ---------------------------------------------------------------- bad files

static void test_truncated(void **state)
{
    (void)state;
    tdMesh mesh;
    make_sample(&mesh);
    for (int v = 0; v < 2; v++)
        for (int e = 0; e < 2; e++)
        {
            tdText text;
            write_text(&mesh, versions[v], encodings[e], &text);
            read_truncated(td_mesh_read_msh, text.data, (size_t)text.size);
            free(text.data);
        }
    td_mesh_free(&mesh);
}

// Every byte of a file changed in turn: read or refused, never a crash.
static void test_damaged(void **state)
{
    (void)state;
    static const char values[] = {0, -1, 127, '9', '$'};
    for (int i = 0; i < 2; i++)
    {
        builder b = {.size_bytes = 8};
        i == 0 ? build22(&b) : build41(&b);
        for (int64_t k = 0; k < b.text.size; k++)
            for (size_t j = 0; j < sizeof values; j++)
            {
                char *copy = exact_copy(b.text.data, (size_t)b.text.size);
                copy[k] = values[j];
                tdMesh mesh = {0};
                tdError error = {0};
                if (td_mesh_read_msh(copy, (size_t)b.text.size, "damaged", &mesh, &error) != TD_OK)
                    assert_int_equal(error.status, TD_ERROR_INPUT);
                td_mesh_free(&mesh);
                free(copy);
            }
        free(b.text.data);
    }
}

static void test_errors(void **state)
{
    (void)state;
    BAD("", -1, "$MeshFormat");
    BAD("v 1 2 3\n", 1, "section");
    BAD("$NOD\n1\n", -1, "version 1");
    BAD("$MeshFormat\n4 0 8\n$EndMeshFormat\n", 2, "-format msh41");
    BAD("$MeshFormat\n3 0 8\n$EndMeshFormat\n", 2, "only 2.2 and 4.1");
    BAD("$MeshFormat\n2.2 2 8\n$EndMeshFormat\n", 2, "file type");
    BAD("$MeshFormat\n2.2 1 4\nxxxx", 2, "data size");
    BAD("$MeshFormat\n2.2 1 8\nxxxx\n$EndMeshFormat\n", 0, "byte order");
    BAD(HEAD22 NODES22, -1, "no cells");
    BAD(HEAD22 "$Elements\n0\n$EndElements\n", -1, "before $Nodes");
    BAD(HEAD22 NODES22 NODES22, -1, "second section");
    BAD(HEAD22 NODES22 "$Elements\n1\n7 4 0 1 2 3 5\n$EndElements\n", 13, "element 7 names node 5");
    BAD(HEAD22 NODES22 "$Elements\n1\n7 4 0 1 2 x 5\n$EndElements\n", 13, "'x'");
    BAD(HEAD22 NODES22 "$Elements\n1\n7 7 0 1 2 3 4 1\n$EndElements\n", 13, "element 7 is a 5-node pyramid");
    BAD(HEAD22 NODES22 "$Elements\n1\n7 6 0 1 2 3 4 1 1\n$EndElements\n", 13, "prism");
    BAD(HEAD22 NODES22 "$Elements\n1\n7 17 0 1 2 3 4 1 1\n$EndElements\n", 13, "20-node hexahedron");
    BAD(HEAD22 NODES22 "$Elements\n1\n7 99 0 1 2 3 4\n$EndElements\n", 13, "unknown type 99");
    BAD(HEAD22 NODES22 "$Elements\n1\n7 -1 0 1 2 3 4\n$EndElements\n", 13, "unknown type -1");
    BAD(HEAD22 NODES22 "$Elements\n1\n7 4 1000000 1 2 3 4\n$EndElements\n", 13, "tags");
    BAD(HEAD22 NODES22 "$Elements\n1\n7 4 0 1 2 3 4\n8 4 0 1 2 3 4\n$EndElements\n", 14, "$EndElements");
    BAD(HEAD22 "$Nodes\n2\n1 0 0 0\n1 1 0 0\n$EndNodes\n", -1, "given twice");
    BAD(HEAD22 "$Nodes\n2\n1 0 0 0\n-4 1 0 0\n$EndNodes\n", 7, "negative");
    BAD(HEAD22 "$Nodes\n1\n1 0 nan 0\n$EndNodes\n", 6, "finite");
    BAD(HEAD22 "$Nodes\n1\n1 0 1e999 0\n$EndNodes\n", 6, "finite");
    BAD(HEAD22 "$Nodes\n1\n99999999999999999999 0 0 0\n$EndNodes\n", 6, "integer");
    BAD(HEAD22 "$Nodes\n1\n1 0 0,5 0\n$EndNodes\n", 6, "'0,5'");
    BAD(HEAD22 "$Unknown\nfoo\n", -1, "no end");
    BAD(HEAD22 "$PhysicalNames\n1\n3 1 body\n$EndPhysicalNames\n", 6, "quotes");
    BAD(HEAD22 "$PhysicalNames\n1\n4 1 \"body\"\n$EndPhysicalNames\n", 6, "dimension");
    BAD(HEAD22 "$PhysicalNames\n2\n3 1 \"a\"\n3 1 \"b\"\n$EndPhysicalNames\n", 7, "named twice");
    BAD(HEAD22 NODES22 "$Elements\n1\n7 16 0 1 2 3 4 1 2 3 4\n$EndElements\n", -1, "8-node quadrilateral");
    BAD(HEAD41 "$Nodes\n1 3 1 4\n3 1 0 2\n1\n2\n0 0 0\n1 0 0\n$EndNodes\n", -1, "announced");
    BAD(HEAD41 "$Nodes\n1 1 1 1\n4 1 0 1\n1\n0 0 0\n$EndNodes\n", 6, "dimension");
    BAD(HEAD41 NODES41 "$Elements\n1 1 1 1\n2 1 4 1\n1 1 2 3 4\n$EndElements\n", -1, "dimension 2");
    BAD(HEAD41 NODES41 "$Elements\n1 2 1 1\n3 1 4 1\n1 1 2 3 4\n$EndElements\n", -1, "announced");
    BAD(HEAD41 NODES41 "$Elements\n1 1 1 1\n3 1 4 1\n1 1 2 3 5\n$EndElements\n", -1, "names node 5");
    BAD(HEAD41 "$Entities\n0 0 0 1\n1 0 0 0 1 1 1 1 0 0\n$EndEntities\n" NODES41 TETS41, 6, "physical group");
}

// Counts that promise far more than the file holds are refused without memory, and before anything goes through them.
static void test_huge_counts(void **state)
{
    (void)state;
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    BAD(HEAD22 "$Nodes\n9000000000000000000\n1 0 0 0\n$EndNodes\n", 5, "cannot hold");
    BAD(HEAD22 "$Nodes\n-3\n1 0 0 0\n$EndNodes\n", 5, "cannot hold");
    BAD(HEAD22 NODES22 "$Elements\n2000000000\n1 4 0 1 2 3 4\n$EndElements\n", 12, "cannot hold");
    BAD(HEAD22 "$PhysicalNames\n2000000000\n$EndPhysicalNames\n", 5, "cannot hold");
    BAD(HEAD41 "$Nodes\n9000000000000000000 4 1 4\n3 1 0 4\n", -1, "cannot hold");
    BAD(HEAD41 "$Nodes\n1 9000000000000000000 1 4\n3 1 0 4\n", -1, "cannot hold");
    BAD(HEAD41 "$Nodes\n1 1 1 4\n3 1 0 9000000000000000000\n1\n0 0 0\n", -1, "cannot hold");
    BAD(HEAD41 NODES41 "$Elements\n1 1 1 1\n3 1 4 9000000000000000000\n1 1 2 3 4\n", -1, "cannot hold");
    BAD(HEAD41 "$Entities\n0 0 0 9000000000000000000\n", -1, "cannot hold");
    BAD(HEAD41 "$Entities\n0 0 0 1\n1 0 0 0 1 1 1 9000000000000000000 1\n", -1, "cannot hold");
    getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_maxrss - before.ru_maxrss < 20000); // kilobytes
}

// ---------------------------------------------------------------- large and foreign files

// A block of n^3 cubes, five tetrahedra each.
static void make_block(tdMesh *mesh, int n)
{
    static const int tets[5][4] = {{0, 1, 2, 4}, {1, 3, 2, 7}, {1, 4, 5, 7}, {2, 4, 7, 6}, {1, 2, 4, 7}};
    *mesh = (tdMesh){0};
    int group = td_mesh_group(mesh, "block", 3, 1), m = n + 1;
    for (int i = 0; i < m * m * m; i++)
        assert_true(td_mesh_add_node(mesh, i % m / 7.0, i / m % m / 7.0, i / (m * m) / 7.0));
    for (int i = 0; i < n * n * n; i++)
    {
        int corner = i % n + m * (i / n % n) + m * m * (i / (n * n));
        for (int t = 0; t < 5; t++)
        {
            int32_t nodes[4];
            for (int k = 0; k < 4; k++)
                nodes[k] = corner + (tets[t][k] & 1) + m * (tets[t][k] >> 1 & 1) + m * m * (tets[t][k] >> 2);
            add_cell(mesh, TD_CELL_TET, nodes, 1, &group);
        }
    }
}

static void test_large(void **state)
{
    (void)state;
    tdMesh mesh;
    make_block(&mesh, 24);
    assert_int_equal(mesh.cells[TD_CELL_TET].count, 69120);
    for (int v = 0; v < 2; v++)
        for (int e = 0; e < 2; e++)
        {
            tdText text;
            write_text(&mesh, versions[v], encodings[e], &text);
            tdMesh back = {0};
            tdError error = {0};
            assert_ok(td_mesh_read_msh(text.data, (size_t)text.size, "block", &back, &error), error);
            assert_int_equal(back.groups[0].count[TD_CELL_TET], 69120);
            assert_memory_equal(back.x, mesh.x, (size_t)mesh.n_nodes * 24);
            td_mesh_free(&back);
            free(text.data);
        }
    td_mesh_free(&mesh);
}

static const char geometry[] = "Point(1)={0,0,0,0.5};Point(2)={1,0,0,0.5};Point(3)={1,1,0,0.5};Point(4)={0,1,0,0.5};\n"
                               "Line(1)={1,2};Line(2)={2,3};Line(3)={3,4};Line(4)={4,1};\n"
                               "Curve Loop(1)={1,2,3,4};Plane Surface(1)={1};\n"
                               "out[]=Extrude{0,0,1}{Surface{1};};\n"
                               "Physical Volume(\"whole body\",7)={1};\n"
                               "Physical Surface(\"base\",3)={1};\n"
                               "Physical Surface(\"ends\",4)={1,out[0]};\n"
                               "Physical Surface(9)={out[2]};\n"
                               "Physical Curve(\"edge\",3)={1};\n";

static double volume(const tdMesh *mesh)
{
    double sum = 0;
    for (int64_t c = 0; c < mesh->cells[TD_CELL_TET].count; c++)
    {
        const int32_t *n = mesh->cells[TD_CELL_TET].nodes + 4 * c;
        double e[3][3];
        for (int k = 0; k < 3; k++)
            for (int d = 0; d < 3; d++)
                e[k][d] = mesh->x[3 * n[k + 1] + d] - mesh->x[3 * n[0] + d];
        sum += (e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) - e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
                e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0])) /
               6;
    }
    return sum;
}

// Gmsh's own files in every version and mode hold the same mesh, and Gmsh reads ours.
static void test_gmsh(void **state)
{
    (void)state;
    char folder[] = "/tmp/td_msh_XXXXXX", path[128], command[512];
    assert_non_null(mkdtemp(folder));
    tdError error = {0};
    snprintf(path, sizeof path, "%s/a.geo", folder);
    assert_ok(td_file_write(path, geometry, strlen(geometry), &error), error);
    static const char *const modes[] = {"msh22",
                                        "msh22 -bin",
                                        "msh41",
                                        "msh41 -bin",
                                        "msh41 -part 2 -part_ghosts",
                                        "msh22 -parametric -bin",
                                        "msh41 -parametric -bin",
                                        "msh41 -bin -part 3 -part_ghosts"};
    tdMesh first = {0};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    {
        tdMesh mesh = {0};
        snprintf(command, sizeof command, "cd %s && gmsh -3 a.geo -o a.msh -format %s >log 2>&1", folder, modes[i]);
        assert_int_equal(system(command), 0);
        snprintf(path, sizeof path, "%s/a.msh", folder);
        assert_ok(td_mesh_read(path, &mesh, &error), error);
        assert_near(volume(&mesh), 1, 1e-12);
        assert_int_equal(group_count(&mesh, "whole body", TD_CELL_TET), mesh.cells[TD_CELL_TET].count);
        assert_int_equal(group_count(&mesh, "edge", TD_CELL_LINE), 2);
        assert_int_equal(2 * group_count(&mesh, "base", TD_CELL_TRI), group_count(&mesh, "ends", TD_CELL_TRI));
        assert_true(group_count(&mesh, "physical_2_9", TD_CELL_TRI) > 0);
        assert_int_equal(mesh.n_groups, 5);
        if (i == 0)
            first = mesh;
        else if (i < 4)
        {
            assert_same_connectivity(&first, &mesh);
            for (int64_t k = 0; k < 3 * mesh.n_nodes; k++) // Gmsh writes text with 16 digits
                assert_near(first.x[k], mesh.x[k], 1e-15);
        }
        else
            assert_int_equal(first.cells[TD_CELL_TRI].count, mesh.cells[TD_CELL_TRI].count);
        if (i > 0)
            td_mesh_free(&mesh);
    }
    for (int v = 0; v < 2; v++)
        for (int e = 0; e < 2; e++)
        {
            tdMesh back = {0};
            snprintf(path, sizeof path, "%s/ours.msh", folder);
            assert_ok(td_mesh_write(&first, path, versions[v], encodings[e], &error), error);
            snprintf(command, sizeof command, "cd %s && gmsh ours.msh -save -format msh41 -o theirs.msh >log 2>&1",
                     folder);
            assert_int_equal(system(command), 0);
            snprintf(path, sizeof path, "%s/theirs.msh", folder);
            assert_ok(td_mesh_read(path, &back, &error), error);
            assert_int_equal(back.n_nodes, first.n_nodes);
            assert_near(volume(&back), 1, 1e-12);
            // From 2.2 Gmsh does not join the elements of a cell in several groups, not even its own.
            for (int g = 0; g < first.n_groups; g++)
                for (int t = 0; t < TD_CELL_TYPES; t++)
                {
                    int64_t expected = first.groups[g].count[t],
                            found = group_count(&back, first.groups[g].name, (tdCellType)t);
                    assert_true(found == expected || (v == 0 && t == TD_CELL_TRI && found > expected));
                }
            td_mesh_free(&back);
        }
    td_mesh_free(&first);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_writer_refuses),
        cmocka_unit_test(test_sample22),
        cmocka_unit_test(test_sample41),
        cmocka_unit_test(test_parametric22_and_names),
        cmocka_unit_test(test_tet10_order),
        cmocka_unit_test(test_byte_orders),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_huge_counts),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_gmsh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
