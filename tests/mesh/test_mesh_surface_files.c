// SPDX-License-Identifier: Apache-2.0
// STL and OBJ, and mesh files by name.
#include "mesh_test.h"

#include <unistd.h>

#define STL(text, mesh)           read_good(td_mesh_read_stl, text, strlen(text), mesh)
#define BAD_STL(text, line, word) read_bad(td_mesh_read_stl, text, strlen(text), line, word)
#define OBJ(text, mesh)           read_good(td_mesh_read_obj, text, strlen(text), mesh)
#define BAD_OBJ(text, line, word) read_bad(td_mesh_read_obj, text, strlen(text), line, word)

#define FACET(a, b, c)                                                                                                 \
    "facet normal 0 0 nan\n outer loop\n  vertex " a "\n  vertex " b "\n  vertex " c "\n endloop\nendfacet\n"

// Nodes are numbered by their first use, as an STL reader does.
static void make_surface(tdMesh *mesh, bool quads)
{
    *mesh = (tdMesh){0};
    add_nodes(mesh, 8);
    add_surface_cells(mesh, quads);
    td_mesh_group_dims(mesh);
}

static tdText write_stl(const tdMesh *mesh, tdMeshEncoding encoding)
{
    tdText text = {0};
    tdError error = {0};
    assert_ok(td_mesh_write_stl(mesh, encoding, &text, &error), error);
    return text;
}

// ---------------------------------------------------------------- STL

static void test_stl_text_round_trip(void **state)
{
    (void)state;
    tdMesh mesh, back;
    make_surface(&mesh, false);
    tdText text = write_stl(&mesh, TD_MESH_ASCII);
    read_good(td_mesh_read_stl, text.data, (size_t)text.size, &back);
    assert_same_cells(&mesh, &back);
    // Every triangle keeps its first group: 1 and 4 are in one, 2 and 5 in both.
    assert_int_equal(group_count(&back, "skin", TD_CELL_TRI), 4);
    assert_int_equal(back.groups[0].dim, 2);
    assert_int_equal(back.n_groups, 1);
    tdText lost = {0};
    td_mesh_losses(&mesh, TD_MESH_STL, TD_MESH_ASCII, &lost);
    assert_non_null(strstr(lost.data, "2 that are in several"));
    assert_null(strstr(lost.data, "left out"));
    td_mesh_group(&mesh, "nobody", 2, 0);
    td_mesh_add_node(&mesh, 9, 9, 9);
    td_mesh_losses(&mesh, TD_MESH_STL, TD_MESH_ASCII, &lost);
    assert_non_null(strstr(lost.data, "nodes without a triangle: 1"));
    assert_non_null(strstr(lost.data, "groups without a triangle: 1"));
    free(lost.data);
    read_truncated(td_mesh_read_stl, text.data, (size_t)text.size);
    free(text.data);
    td_mesh_free(&mesh);
    td_mesh_free(&back);
}

static void test_stl_binary_round_trip(void **state)
{
    (void)state;
    tdMesh mesh, back, again;
    make_surface(&mesh, true);
    tdText text = write_stl(&mesh, TD_MESH_BINARY);
    assert_int_equal(text.size, 84 + 50 * (6 + 2 * 2));
    read_good(td_mesh_read_stl, text.data, (size_t)text.size, &back);
    assert_int_equal(back.cells[TD_CELL_TRI].count, 10);
    assert_int_equal(back.n_nodes, mesh.n_nodes);
    for (int64_t i = 0; i < 3 * mesh.n_nodes; i++)
        assert_near(back.x[i], (double)(float)mesh.x[i], 0);
    // What came from single precision goes there again without loss.
    tdText second = write_stl(&back, TD_MESH_BINARY);
    assert_int_equal(second.size, text.size);
    assert_memory_equal(second.data, text.data, (size_t)text.size);
    read_good(td_mesh_read_stl, second.data, (size_t)second.size, &again);
    assert_same_cells(&back, &again);
    read_truncated(td_mesh_read_stl, text.data, (size_t)text.size);
    // Binary files may begin with "solid"; colours and bytes behind the end are noted.
    memcpy(text.data, "solid cube", 10);
    text.data[84 + 48] = 1;
    td_mesh_free(&again);
    read_good(td_mesh_read_stl, text.data, (size_t)text.size, &again);
    assert_same_cells(&back, &again);
    assert_non_null(strstr(again.notes, "attributes"));
    td_mesh_free(&again);
    td_text_append(&text, "junk", 4);
    read_good(td_mesh_read_stl, text.data, (size_t)text.size, &again);
    assert_non_null(strstr(again.notes, "4 bytes behind"));
    td_mesh_free(&again);
    memset(text.data + 80, 0xff, 4);
    read_bad(td_mesh_read_stl, text.data, (size_t)text.size, -1, "4294967295 triangles");
    free(text.data);
    free(second.data);
    td_mesh_free(&mesh);
    td_mesh_free(&back);
}

static void test_stl_samples(void **state)
{
    (void)state;
    tdMesh mesh;
    STL("solid left part \n" FACET("0 0 0", "1 0 0", "0 1 0")
            FACET("1 0 -0", "1 1 0", "0 1 0") "endsolid left part\n"
                                              "SOLID right\n" FACET("1 1 0", "2 1 0", "1 2 0")
                                                  FACET("0 0 0", "0 0 0", "0 1 0") "ENDSOLID\n",
        &mesh);
    assert_int_equal(mesh.n_nodes, 6); // merged, -0 with 0
    assert_int_equal(mesh.cells[TD_CELL_TRI].count, 3);
    assert_int_equal(group_count(&mesh, "left part", TD_CELL_TRI), 2);
    assert_int_equal(group_count(&mesh, "right", TD_CELL_TRI), 1);
    assert_non_null(strstr(mesh.notes, "1 triangles with two corners"));
    td_mesh_free(&mesh);
    STL("solid\n" FACET("0 0 0", "1 0 0", "0 1 0") "endsolid\nsolid\n" FACET("0 0 0", "0 1 0", "1 1 1") "endsolid\n",
        &mesh);
    assert_int_equal(group_count(&mesh, "solid_1", TD_CELL_TRI), 1);
    assert_int_equal(group_count(&mesh, "solid_2", TD_CELL_TRI), 1);
    td_mesh_free(&mesh);
    STL("solid\n" FACET("0 0 0", "1 0 0", "0 1 0") "endsolid", &mesh);
    assert_int_equal(mesh.n_groups, 0);
    td_mesh_free(&mesh);
}

static void test_stl_errors(void **state)
{
    (void)state;
    BAD_STL("", -1, "too few");
    BAD_STL("solid a\n", 2, "facet or endsolid");
    BAD_STL("solid a\nendsolid a\n", -1, "no nodes");
    BAD_STL("solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 x\n", 5, "'x'");
    BAD_STL("solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 nan\n", 5, "finite");
    BAD_STL("solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 1 1 0\nvertex 0 1 0\n", 7,
            "endloop");
    BAD_STL("solid a\n" FACET("0 0 0", "0 0 0", "0 1 0") "endsolid a\n", -1, "no cells");
    // Beyond the first 512 bytes a zero byte does not tell a binary file.
    char text[700];
    int n = snprintf(text, sizeof text, "solid a\n" FACET("0 0 0", "0 0 1", "0 1 0") "%500s\nendsolid\nsolid ?b\n", "");
    *strchr(text, '?') = '\0';
    read_bad(td_mesh_read_stl, text, (size_t)n, -1, "zero bytes");
    BAD_STL("solid a\n" FACET("0 0 0", "0 0 1", "0 1 0") "endsolid a\nrubbish\n", 10, "solid");
}

static void test_stl_writer_refuses(void **state)
{
    (void)state;
    tdMesh mesh = {0};
    tdText text = {0};
    tdError error = {0};
    assert_int_equal(td_mesh_write_stl(&mesh, TD_MESH_ASCII, &text, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "no triangles"));
    td_mesh_add_node(&mesh, 1, 0, 0);
    td_mesh_add_node(&mesh, 1 + 1e-12, 0, 0);
    td_mesh_add_node(&mesh, 0, 1e39, 0);
    td_mesh_add_node(&mesh, 0, 1, 0);
    add_cell(&mesh, TD_CELL_TRI, (int32_t[]){0, 1, 3}, 0, NULL);
    assert_int_equal(td_mesh_write_stl(&mesh, TD_MESH_BINARY, &text, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "single precision"));
    assert_int_equal(td_mesh_write_stl(&mesh, TD_MESH_ASCII, &text, &error), TD_OK);
    mesh.cells[TD_CELL_TRI].nodes[1] = 2;
    assert_int_equal(td_mesh_write_stl(&mesh, TD_MESH_BINARY, &text, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "too large"));
    assert_int_equal(td_mesh_write_stl(&mesh, TD_MESH_COMPRESSED, &text, &error), TD_ERROR_USAGE);
    td_mesh_group(&mesh, "two\nlines", 2, 0);
    assert_int_equal(td_mesh_write_stl(&mesh, TD_MESH_ASCII, &text, &error), TD_ERROR_INPUT);
    free(text.data);
    td_mesh_free(&mesh);
}

// Corners of two million are merged in some seconds; in quadratic time it would be hours.
static void test_stl_large(void **state)
{
    (void)state;
    tdMesh mesh = {0}, back = {0};
    int n = 600;
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= n; j++)
            td_mesh_add_node(&mesh, i, j, 0);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            add_cell(
                &mesh, TD_CELL_QUAD,
                (int32_t[]){i * (n + 1) + j, (i + 1) * (n + 1) + j, (i + 1) * (n + 1) + j + 1, i * (n + 1) + j + 1}, 0,
                NULL);
    tdText text = write_stl(&mesh, TD_MESH_BINARY);
    read_good(td_mesh_read_stl, text.data, (size_t)text.size, &back);
    assert_int_equal(back.n_nodes, (n + 1) * (n + 1));
    assert_int_equal(back.cells[TD_CELL_TRI].count, 2 * n * n);
    td_mesh_free(&back);
    free(text.data);
    td_mesh_free(&mesh);
}

// ---------------------------------------------------------------- OBJ

static void test_obj_round_trip(void **state)
{
    (void)state;
    tdMesh mesh, back;
    make_surface(&mesh, false);
    int lines = td_mesh_group(&mesh, "lines", 1, 0);
    td_mesh_group(&mesh, "empty", -1, 0);
    add_cell(&mesh, TD_CELL_LINE, (int32_t[]){3, 1}, 1, &lines);
    add_cell(&mesh, TD_CELL_LINE, (int32_t[]){1, 7}, 0, NULL);
    add_cell(&mesh, TD_CELL_VERTEX, (int32_t[]){6}, 2, (int[]){0, lines});
    td_mesh_group_dims(&mesh);
    tdText text = {0};
    tdError error = {0};
    assert_ok(td_mesh_write_obj(&mesh, &text, &error), error);
    read_good(td_mesh_read_obj, text.data, (size_t)text.size, &back);
    assert_same_cells(&mesh, &back);
    assert_same_groups(&mesh, &back);
    assert_null(back.notes);
    read_truncated(td_mesh_read_obj, text.data, (size_t)text.size);
    td_mesh_free(&back);
    // Names that OBJ cannot hold are changed, and that is told; two that become equal are refused.
    free(mesh.groups[0].name);
    mesh.groups[0].name = strdup("my skin");
    tdText lost = {0};
    td_mesh_losses(&mesh, TD_MESH_OBJ, TD_MESH_ASCII, &lost);
    assert_non_null(strstr(lost.data, "'my skin'"));
    text.size = 0;
    assert_ok(td_mesh_write_obj(&mesh, &text, &error), error);
    read_good(td_mesh_read_obj, text.data, (size_t)text.size, &back);
    assert_true(td_mesh_find_group(&back, "my_skin") >= 0);
    free(mesh.groups[1].name);
    mesh.groups[1].name = strdup("my_skin");
    assert_int_equal(td_mesh_write_obj(&mesh, &text, &error), TD_ERROR_INPUT);
    free(lost.data);
    free(text.data);
    td_mesh_free(&mesh);
    td_mesh_free(&back);
}

static void test_obj_samples(void **state)
{
    (void)state;
    tdMesh mesh;
    OBJ("# a comment\r\n"
        "mtllib a.mtl\r\no the cube\r\n"
        "v 0 0 0\r\nv 1 0 0 1.0\r\nv 1 1 0 0.5 0.5 0.5\r\nv \\\r\n 0 1 0 # corner\r\nv 0.5 2 0 2\r\n"
        "vt 0 0\nvn 0 0 1\ns off\nusemtl red\n"
        "f 1/1 2/1/1 3//1 4\n" // a quadrilateral
        "g a b\n"
        "f -5 -4 \\\n -3 -1 -2\n" // five corners over two lines
        "g\n"
        "f 1 1 2\n"
        "curv 0 1\ncurv 0 2\n"
        "o\nl 1 2 3\np 4 5\n"
        "f 6 7 1\nv 7 7 7\nv 8 7 7",
        &mesh);
    assert_int_equal(mesh.n_nodes, 7);
    assert_near(mesh.x[3 * 3 + 1], 1, 0);
    assert_int_equal(mesh.cells[TD_CELL_TRI].count, 2 + 3 + 1);
    const int32_t expected[] = {0, 1, 2, 0, 2, 3, 0, 1, 2, 0, 2, 4, 0, 4, 3, 5, 6, 0};
    assert_memory_equal(mesh.cells[TD_CELL_TRI].nodes, expected, sizeof expected);
    assert_int_equal(mesh.cells[TD_CELL_LINE].count, 2);
    assert_int_equal(mesh.cells[TD_CELL_VERTEX].count, 2);
    assert_int_equal(group_count(&mesh, "the cube", TD_CELL_TRI), 5);
    assert_int_equal(group_count(&mesh, "a", TD_CELL_TRI), 3);
    assert_int_equal(group_count(&mesh, "b", TD_CELL_TRI), 3);
    assert_non_null(strstr(mesh.notes, "'curv'"));
    assert_non_null(strstr(mesh.notes, "repeated corner"));
    assert_non_null(strstr(mesh.notes, "colours of 1"));
    assert_non_null(strstr(mesh.notes, "weights of 1"));
    assert_non_null(strstr(mesh.notes, "usemtl"));
    assert_null(strstr(mesh.notes, "convex"));
    td_mesh_free(&mesh);
    OBJ("v 0 0 0\nv 2 0 0\nv 2 2 0\nv 1.9 0.1 0\nf 1 2 3 4\nf 1 3 4 2\n", &mesh);
    assert_non_null(strstr(mesh.notes, "1 polygons are not convex"));
    td_mesh_free(&mesh);
}

static void test_obj_errors(void **state)
{
    (void)state;
    BAD_OBJ("", -1, "no nodes");
    BAD_OBJ("v 0 0 0\n", -1, "no cells");
    BAD_OBJ("v 0 0\n", 1, "2 numbers");
    BAD_OBJ("v 0 0 a\n", 1, "'a'");
    BAD_OBJ("v 0 0 inf\n", 1, "finite");
    BAD_OBJ("v 0 0 0\nv 0 0 1\nv 0 1 0\nf 1 2\n", 4, "2 corners");
    BAD_OBJ("v 0 0 0\nv 0 0 1\nv 0 1 0\nf 1 2 0\n", 4, "'0' names no vertex");
    BAD_OBJ("v 0 0 0\nv 0 0 1\nv 0 1 0\nf 1 2 -4\n", 4, "'-4'");
    BAD_OBJ("v 0 0 0\nv 0 0 1\nv 0 1 0\n\nf 1 2 4\n", 5, "vertex 4");
    BAD_OBJ("v 0 0 0\nv 0 0 1\nv 0 1 0\nf 1 2 3 4 5\n", 4, "vertex 5"); // a polygon of what is not there
    BAD_OBJ("v 0 0 0\nv 0 0 1\nv 0 1 0\nf 1 2 99999999999\n", 4, "names no vertex");
    BAD_OBJ("v 0 0 0\nv 0 0 1\nv 0 1 0\nf 1 2 3/1/1/1\n", 4, "names no vertex");
    BAD_OBJ("v 0 0 0\nv 0 0 1\nv 0 1 0\nf 1 2 3x\n", 4, "names no vertex");
}

// As many groups as faces: in quadratic time it would be most of an hour.
static void test_obj_many_groups(void **state)
{
    (void)state;
    tdText text = {0};
    td_text_format(&text, "v 0 0 0\nv 1 0 0\nv 0 1 0\n");
    for (int i = 0; i < 500000; i++)
        td_text_format(&text, "g part_%d\nf 1 2 3\n", i);
    tdMesh mesh;
    read_good(td_mesh_read_obj, text.data, (size_t)text.size, &mesh);
    assert_int_equal(mesh.n_groups, 500000);
    td_mesh_free(&mesh);
    free(text.data);
}

// ---------------------------------------------------------------- files by name

#define PLY_HEAD                   "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
#define PLY_FACE                   "property list uchar int vertex_indices\nend_header\n"
#define PLY_FOUR                   "0 0 0\n1 0 0\n1 1 0\n0 1 0.5\n"
#define BAD_PLY(text, line, words) read_bad(td_mesh_read_ply, text, strlen(text), line, words)

static void test_ply_text(void **state)
{
    (void)state;
    tdMesh mesh;
    static const char text[] = "ply\r\nformat ascii 1.0\r\ncomment by hand\r\nobj_info none\r\n"
                               "element vertex 4\r\nproperty float z\r\nproperty list uchar int ids\r\n"
                               "property float64 x\r\nproperty int8 y\r\nelement face 3\r\nproperty uchar flag\r\n"
                               "property list uchar int vertex_index\r\nelement edge 1\r\nproperty int a\r\n"
                               "property int b\r\nend_header\r\n"
                               "0 2 9 9 0 0\r\n0 0 1 0\r\n0 0 1 1\r\n.5 1 9 0 1\r\n"
                               "1 4 0 1 2 3\r\n1 3 0 0 1\r\n1 2 0 1\r\n0 1\r\n";
    read_good(td_mesh_read_ply, text, strlen(text), &mesh);
    assert_int_equal(mesh.n_nodes, 4);
    const double x[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0.5};
    assert_memory_equal(mesh.x, x, sizeof x);
    const int32_t expected[] = {0, 1, 2, 0, 2, 3};
    assert_int_equal(mesh.cells[TD_CELL_TRI].count, 2);
    assert_memory_equal(mesh.cells[TD_CELL_TRI].nodes, expected, sizeof expected);
    assert_non_null(strstr(mesh.notes, "1 elements 'edge'"));
    assert_non_null(strstr(mesh.notes, "2 faces without area"));
    td_mesh_free(&mesh);
    read_truncated(td_mesh_read_ply, text, strlen(text));
    static const char folded[] = PLY_HEAD "element face 1\n" PLY_FACE "0 0 0\n2 0 0\n2 2 0\n1.9 .1 0\n4 0 1 2 3\n";
    read_good(td_mesh_read_ply, folded, strlen(folded), &mesh);
    assert_non_null(strstr(mesh.notes, "1 polygons are not convex"));
    td_mesh_free(&mesh);
}

// The same surface in both byte orders, with coordinates of three types.
static void test_ply_binary(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++)
    {
        unsigned char file[512];
        size_t size = (size_t)snprintf((char *)file, sizeof file,
                                       "ply\nformat binary_%s_endian 1.0\nelement vertex 3\nproperty double x\n"
                                       "property float y\nproperty short z\nelement face 1\n"
                                       "property list ushort uint vertex_indices\nend_header\n",
                                       big ? "big" : "little");
        uint64_t numbers[14];
        int bytes[14], n = 0;
        const double places[3][3] = {{0.1, 0, -1}, {1, 0.25, -2}, {-3, 1, 300}};
        for (int i = 0; i < 3; i++)
        {
            float y = (float)places[i][1];
            uint32_t bits;
            memcpy(&bits, &y, 4);
            memcpy(&numbers[n], &places[i][0], 8);
            bytes[n++] = 8;
            numbers[n] = bits;
            bytes[n++] = 4;
            numbers[n] = (uint64_t)(int64_t)places[i][2];
            bytes[n++] = 2;
        }
        for (int i = 0; i < 4; i++) // a list of three: 0, 1, 2
        {
            numbers[n] = (uint64_t)(i == 0 ? 3 : i - 1);
            bytes[n++] = i == 0 ? 2 : 4;
        }
        for (int i = 0; i < n; i++)
            for (int b = 0; b < bytes[i]; b++)
                file[size++] = (unsigned char)(numbers[i] >> (8 * (big ? bytes[i] - 1 - b : b)));
        tdMesh mesh;
        read_good(td_mesh_read_ply, (char *)file, size, &mesh);
        assert_int_equal(mesh.n_nodes, 3);
        for (int i = 0; i < 9; i++)
            assert_near(mesh.x[i], places[i / 3][i % 3], 0);
        assert_int_equal(mesh.cells[TD_CELL_TRI].count, 1);
        const int32_t expected[] = {0, 1, 2};
        assert_memory_equal(mesh.cells[TD_CELL_TRI].nodes, expected, sizeof expected);
        td_mesh_free(&mesh);
        read_truncated(td_mesh_read_ply, (char *)file, size);
        read_bad(td_mesh_read_ply, (char *)file, size - 1, -1, "cut off");
    }
}

static void test_ply_errors(void **state)
{
    (void)state;
    BAD_PLY("", 1, "begins with 'ply'");
    BAD_PLY("ply\nformat ascii 1.0\n", -1, "end_header");
    BAD_PLY("ply\nformat text 1.0\n", 2, "'text'");
    BAD_PLY("ply\nend_header\n", -1, "'format'");
    BAD_PLY("ply\nformat ascii 1.0\nproperty int x\n", 3, "before the first element");
    BAD_PLY("ply\nformat ascii 1.0\nelement vertex -1\n", 3, "'-1'");
    BAD_PLY("ply\nformat ascii 1.0\nelement vertex 1e99\n", 3, "'1e99'");
    BAD_PLY("ply\nformat ascii 1.0\nelement vertex 1\nproperty long x\n", 4, "'long'");
    BAD_PLY("ply\nformat ascii 1.0\nelement vertex 1\nproperty list float int x\n", 4, "'float'");
    BAD_PLY("ply\nformat ascii 1.0\nvertices 3\n", 3, "'vertices'");
    BAD_PLY("ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n0\n", -1, "x, y and z");
    BAD_PLY(PLY_HEAD "end_header\n" PLY_FOUR, -1, "no faces");
    BAD_PLY(PLY_HEAD "element face 1\nproperty int a\nend_header\n" PLY_FOUR "3\n", -1, "vertex_indices");
    BAD_PLY(PLY_HEAD "element face 1\n" PLY_FACE PLY_FOUR "3 0 1 4\n", 14, "vertex 4 (from 0)");
    BAD_PLY(PLY_HEAD "element face 1\n" PLY_FACE PLY_FOUR "3 0 1 -1\n", 14, "-1 is not the number of a vertex");
    BAD_PLY(PLY_HEAD "element face 1\n" PLY_FACE PLY_FOUR "3 0 1 1.5\n", 14, "1.5");
    BAD_PLY(PLY_HEAD "element face 1\n" PLY_FACE PLY_FOUR "-3 0 1 2\n", 14, "length of a list");
    BAD_PLY(PLY_HEAD "element face 1\n" PLY_FACE "0 0 0\n1 0 nan\n", 11, "");
    BAD_PLY(PLY_HEAD "element face 2000000000\n" PLY_FACE PLY_FOUR "3 0 1 2\n", -1, "cut off");
}

static void test_formats(void **state)
{
    (void)state;
    static const struct
    {
        const char *path, *data;
        tdMeshFormat format;
    } cases[] = {{"a/b.MSH", NULL, TD_MESH_MSH41},
                 {"b.vtk", NULL, TD_MESH_VTK},
                 {"b.vtu", "solid", TD_MESH_VTU},
                 {"b.Stl", NULL, TD_MESH_STL},
                 {"b.obj", NULL, TD_MESH_OBJ},
                 {"b.ply", NULL, TD_MESH_PLY},
                 {"b", "ply\nformat ascii 1.0\n", TD_MESH_PLY},
                 {"b.txt", NULL, TD_MESH_UNKNOWN},
                 {"b", "$MeshFormat\n", TD_MESH_MSH41},
                 {"b", "# vtk DataFile Version 3.0", TD_MESH_VTK},
                 {"b", "<?xml version=\"1.0\"?>", TD_MESH_VTU},
                 {"b", "solid x", TD_MESH_STL},
                 {"b", "# by hand\n\nv 0 0 0", TD_MESH_OBJ},
                 {"b", "#", TD_MESH_UNKNOWN},
                 {"b.geo", "Point(1) = {0, 0, 0};", TD_MESH_UNKNOWN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(td_mesh_format(cases[i].path, cases[i].data, cases[i].data ? strlen(cases[i].data) : 0),
                         cases[i].format);
}

static void test_files(void **state)
{
    (void)state;
    char folder[] = "/tmp/td_surface_XXXXXX", path[128];
    assert_non_null(mkdtemp(folder));
    tdError error = {0};
    tdMesh tet = {0}, back = {0};
    for (int i = 0; i < 4; i++)
        td_mesh_add_node(&tet, i == 1, i == 2, i == 3);
    add_cell(&tet, TD_CELL_TET, (int32_t[]){0, 1, 2, 3}, 0, NULL);
    add_cell(&tet, TD_CELL_LINE, (int32_t[]){0, 1}, 0, NULL);
    static const char *const names[] = {"a.stl", "a.obj"};
    for (int i = 0; i < 2; i++) // a volume in a surface format is its boundary
    {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_ok(td_mesh_write(&tet, path, TD_MESH_UNKNOWN, TD_MESH_ASCII, &error), error);
        assert_ok(td_mesh_read(path, &back, &error), error);
        assert_int_equal(back.cells[TD_CELL_TRI].count, 4);
        assert_int_equal(back.cells[TD_CELL_TET].count, 0);
        td_mesh_free(&back);
        remove(path);
    }
    tdText lost = {0};
    td_mesh_losses(&tet, TD_MESH_STL, TD_MESH_BINARY, &lost);
    assert_non_null(strstr(lost.data, "boundary"));
    assert_non_null(strstr(lost.data, "single precision"));
    assert_non_null(strstr(lost.data, "lines"));
    free(lost.data);
    // Without an extension the first bytes tell.
    snprintf(path, sizeof path, "%s/mesh", folder);
    assert_ok(td_mesh_write(&tet, path, TD_MESH_MSH22, TD_MESH_BINARY, &error), error);
    assert_ok(td_mesh_read(path, &back, &error), error);
    assert_same_cells(&tet, &back);
    td_mesh_free(&back);
    assert_int_equal(td_mesh_write(&tet, path, TD_MESH_UNKNOWN, TD_MESH_ASCII, &error), TD_ERROR_USAGE);
    assert_string_equal(error.file, path);
    assert_int_equal(td_mesh_write(&tet, path, TD_MESH_OBJ, TD_MESH_BINARY, &error), TD_ERROR_USAGE);
    assert_ok(td_file_write(path, "hello", 5, &error), error);
    assert_int_equal(td_mesh_read(path, &back, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, ".msh"));
    remove(path);
    assert_int_equal(td_mesh_read(path, &back, &error), TD_ERROR_INPUT);
    rmdir(folder);
    td_mesh_free(&tet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stl_text_round_trip),
        cmocka_unit_test(test_stl_binary_round_trip),
        cmocka_unit_test(test_stl_samples),
        cmocka_unit_test(test_stl_errors),
        cmocka_unit_test(test_stl_writer_refuses),
        cmocka_unit_test(test_stl_large),
        cmocka_unit_test(test_obj_round_trip),
        cmocka_unit_test(test_obj_samples),
        cmocka_unit_test(test_obj_errors),
        cmocka_unit_test(test_obj_many_groups),
        cmocka_unit_test(test_ply_text),
        cmocka_unit_test(test_ply_binary),
        cmocka_unit_test(test_ply_errors),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
