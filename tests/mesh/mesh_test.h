// SPDX-License-Identifier: Apache-2.0
// What the tests of mesh files share: a small mesh with everything in it, and exact comparison.
#pragma once
#include "mesh/mesh.h"
#include "test.h"

/// A copy with the zero byte behind the end that readers ask for, so that a sanitizer sees reads beyond.
static inline char *exact_copy(const char *data, size_t size)
{
    char *copy = malloc(size + 1);
    assert_non_null(copy);
    if (size > 0)
        memcpy(copy, data, size);
    copy[size] = '\0';
    return copy;
}

typedef tdStatus (*readFn)(const char *data, size_t size, const char *name, tdMesh *mesh, tdError *error);

/// Reads text that must be good.
static inline void read_good(readFn read, const char *text, size_t size, tdMesh *mesh)
{
    tdError error = {0};
    char *copy = exact_copy(text, size);
    *mesh = (tdMesh){0};
    tdStatus status = read(copy, size, "sample", mesh, &error);
    free(copy);
    assert_ok(status, error);
}

/// Reads text that must fail, on this line (-1: any) and with these words in its message.
static inline void read_bad(readFn read, const char *text, size_t size, int line, const char *words)
{
    tdError error = {0};
    tdMesh mesh = {0};
    char *copy = exact_copy(text, size);
    tdStatus status = read(copy, size, "sample", &mesh, &error);
    free(copy);
    td_mesh_free(&mesh);
    if (status != TD_ERROR_INPUT)
        fail_msg("expected bad input with '%s', got status %d", words, status);
    if (strstr(error.message, words) == NULL)
        fail_msg("expected '%s' in '%s'", words, error.message);
    if (line >= 0 && error.line != line)
        fail_msg("expected line %d, got %d: %s", line, error.line, error.message);
    assert_string_equal(error.file, "sample");
}

/// Every shorter file is read or refused; a sanitizer watches.
static inline void read_truncated(readFn read, const char *data, size_t size)
{
    int refused = 0;
    for (size_t n = 0; n < size; n++)
    {
        tdError error = {0};
        tdMesh mesh = {0};
        char *copy = exact_copy(data, n);
        tdStatus status = read(copy, n, "cut", &mesh, &error);
        if (status == TD_OK)
            assert_ok(td_mesh_check(&mesh, "cut", &error), error);
        else
        {
            refused++;
            assert_int_equal(status, TD_ERROR_INPUT);
            assert_true(error.message[0] != '\0');
        }
        td_mesh_free(&mesh);
        free(copy);
    }
    assert_true(refused > 0);
}

static inline void assert_same_connectivity(const tdMesh *a, const tdMesh *b)
{
    assert_int_equal(a->n_nodes, b->n_nodes);
    for (int t = 0; t < TD_CELL_TYPES; t++)
    {
        assert_int_equal(a->cells[t].count, b->cells[t].count);
        for (int64_t i = 0; i < a->cells[t].count * td_cell_nodes((tdCellType)t); i++)
            assert_int_equal(a->cells[t].nodes[i], b->cells[t].nodes[i]);
    }
}

/// Every bit of the coordinates as well.
static inline void assert_same_cells(const tdMesh *a, const tdMesh *b)
{
    assert_same_connectivity(a, b);
    assert_memory_equal(a->x, b->x, (size_t)a->n_nodes * 3 * sizeof(double));
}

static inline void assert_same_groups(const tdMesh *a, const tdMesh *b)
{
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

static inline int64_t group_count(const tdMesh *mesh, const char *name, tdCellType type)
{
    int g = td_mesh_find_group(mesh, name);
    if (g < 0)
        fail_msg("no group '%s'", name);
    return mesh->groups[g].count[type];
}

static inline void add_cell(tdMesh *mesh, tdCellType type, const int32_t *nodes, int n_groups, const int *groups)
{
    int64_t cell = mesh->cells[type].count;
    assert_true(td_mesh_add_cell(mesh, type, nodes));
    for (int i = 0; i < n_groups; i++)
        assert_true(td_mesh_group_add(mesh, groups[i], type, cell));
}

/// Nodes whose coordinates need all 17 digits.
static inline void add_nodes(tdMesh *mesh, int n)
{
    for (int i = 0; i < n; i++)
        assert_true(td_mesh_add_node(mesh, sin(i) / 3, 1e-7 * cos(i) - 1, i == 2 ? -0.0 : 1e5 * sqrt(i + 0.1)));
}

/// Lines, faces and vertices in groups that overlap; surfaces only, for STL and OBJ as well.
static inline void add_surface_cells(tdMesh *mesh, bool quads)
{
    int a = td_mesh_group(mesh, "skin", 2, 3), b = td_mesh_group(mesh, "b\303\274gel", 2, 0);
    for (int i = 0; i < 6; i++)
        add_cell(mesh, TD_CELL_TRI, (int32_t[]){i, i + 1, i + 2}, i % 3, (int[]){a, b});
    for (int i = 0; i < 2 && quads; i++)
        add_cell(mesh, TD_CELL_QUAD, (int32_t[]){i, i + 1, i + 2, i + 5}, 1, &a);
}
