// SPDX-License-Identifier: Apache-2.0
#include "mesh/topology.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

// Corner faces of the volume cells, seen from outside counterclockwise, for positively numbered cells.
static const int8_t tet_faces[4][4] = {{0, 2, 1, -1}, {0, 1, 3, -1}, {1, 2, 3, -1}, {0, 3, 2, -1}};
static const int8_t hex_faces[6][4] = {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4},
                                       {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};
// Mid-edge node of a quadratic tetrahedron between two corners.
static const int8_t tet10_middle[4][4] = {{-1, 4, 6, 7}, {4, -1, 5, 8}, {6, 5, -1, 9}, {7, 8, 9, -1}};

static const tdCellType volume_types[3] = {TD_CELL_TET, TD_CELL_HEX, TD_CELL_TET10};

// A face by its corner nodes, ascending and without repetition (-1 fills up), and where it comes from:
// a face of a cell while the boundary is sought, a run of triangles of the surface afterwards.
typedef struct faceKey
{
    int32_t node[4];
    int32_t from;  // cell, or first triangle
    int32_t local; // face of the cell, or number of triangles
} faceKey;

// Sorted corner nodes without repetition; false when fewer than three are left (a collapsed face).
static bool make_key(int n, const int32_t *nodes, faceKey *key)
{
    int count = 0;
    for (int i = 0; i < n; i++)
    {
        int at = count;
        while (at > 0 && key->node[at - 1] > nodes[i])
            at--;
        if (at > 0 && key->node[at - 1] == nodes[i])
            continue;
        for (int k = count; k > at; k--)
            key->node[k] = key->node[k - 1];
        key->node[at] = nodes[i];
        count++;
    }
    for (int k = count; k < 4; k++)
        key->node[k] = -1;
    return count >= 3;
}

static int compare_nodes(const faceKey *a, const faceKey *b)
{
    for (int k = 0; k < 4; k++)
        if (a->node[k] != b->node[k])
            return a->node[k] < b->node[k] ? -1 : 1;
    return 0;
}

static int compare_keys(const void *first, const void *second)
{
    const faceKey *a = first, *b = second;
    int nodes = compare_nodes(a, b);
    if (nodes != 0)
        return nodes;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->local < b->local ? -1 : a->local > b->local;
}

// Sorts keys by their nodes: by counting for the least node, then each node's few faces by comparison.
static bool sort_keys(int64_t n_nodes, int64_t n, faceKey **keys)
{
    int64_t *start = td_take((size_t)n_nodes + 2, sizeof *start);
    faceKey *sorted = td_take((size_t)n, sizeof *sorted);
    if (start == NULL || sorted == NULL)
    {
        free(start);
        free(sorted);
        return false;
    }
    for (int64_t i = 0; i < n; i++)
        start[(*keys)[i].node[0] + 2]++;
    for (int64_t i = 2; i <= n_nodes + 1; i++)
        start[i] += start[i - 1];
    for (int64_t i = 0; i < n; i++)
        sorted[start[(*keys)[i].node[0] + 1]++] = (*keys)[i];
    for (int64_t i = 0; i < n_nodes; i++)
        qsort(sorted + start[i], (size_t)(start[i + 1] - start[i]), sizeof *sorted, compare_keys);
    free(start);
    free(*keys);
    *keys = sorted;
    return true;
}

static int face_count(tdCellType type)
{
    return type == TD_CELL_HEX ? 6 : 4;
}

// Corner nodes of a face; returns their number.
static int face_nodes(const tdMesh *mesh, tdCellType type, int64_t cell, int face, int32_t out[4])
{
    const int32_t *nodes = mesh->cells[type].nodes + cell * td_cell_nodes(type);
    const int8_t *corners = type == TD_CELL_HEX ? hex_faces[face] : tet_faces[face];
    int n = 0;
    while (n < 4 && corners[n] >= 0)
    {
        out[n] = nodes[corners[n]];
        n++;
    }
    return n;
}

static bool volume_cell_count(const tdMesh *mesh, int64_t *cells, int64_t *faces)
{
    *cells = *faces = 0;
    for (int k = 0; k < 3; k++)
    {
        int64_t n = mesh->cells[volume_types[k]].count;
        *cells += n;
        *faces += n * face_count(volume_types[k]);
    }
    return *faces <= INT32_MAX / 4; // four triangles a face must be countable
}

// marks[6 * cell + face] = 1 for each face of one cell only.
static bool mark_boundary(const tdMesh *mesh, int64_t n_faces, uint8_t *marks, int64_t *crowded)
{
    faceKey *keys = td_take((size_t)n_faces, sizeof *keys);
    if (keys == NULL)
        return false;
    int64_t n = 0;
    int32_t number = 0;
    for (int k = 0; k < 3; k++)
        for (int64_t c = 0; c < mesh->cells[volume_types[k]].count; c++, number++)
            for (int f = 0; f < face_count(volume_types[k]); f++)
            {
                int32_t nodes[4];
                int corners = face_nodes(mesh, volume_types[k], c, f, nodes);
                keys[n].from = number;
                keys[n].local = f;
                n += make_key(corners, nodes, &keys[n]);
            }
    if (!sort_keys(mesh->n_nodes, n, &keys))
    {
        free(keys);
        return false;
    }
    *crowded = 0;
    for (int64_t i = 0, end = 0; i < n; i = end)
    {
        for (end = i + 1; end < n && compare_nodes(&keys[i], &keys[end]) == 0; end++)
            ;
        if (end - i == 1)
            marks[6 * (int64_t)keys[i].from + keys[i].local] = 1;
        *crowded += end - i > 2;
    }
    free(keys);
    return true;
}

// Corner or sub-triangles of a face, at most 4, normals away from a positive cell. Returns their number.
static int face_triangles(const tdMesh *mesh, tdCellType type, int64_t cell, int face, int32_t out[4][3])
{
    int32_t v[4] = {0};
    int corners = face_nodes(mesh, type, cell, face, v);
    if (type == TD_CELL_TET10)
    {
        const int32_t *nodes = mesh->cells[type].nodes + cell * 10;
        const int8_t *c = tet_faces[face];
        int32_t m[3] = {nodes[tet10_middle[c[0]][c[1]]], nodes[tet10_middle[c[1]][c[2]]],
                        nodes[tet10_middle[c[2]][c[0]]]};
        int32_t made[4][3] = {{v[0], m[0], m[2]}, {v[1], m[1], m[0]}, {v[2], m[2], m[1]}, {m[0], m[1], m[2]}};
        memcpy(out, made, sizeof made);
        return 4;
    }
    int least = 0;
    for (int i = 1; i < corners; i++)
        if (v[i] < v[least])
            least = i;
    int n = 0;
    for (int k = 1; k + 1 < corners; k++)
    {
        int32_t t[3] = {v[least], v[(least + k) % corners], v[(least + k + 1) % corners]};
        if (t[0] != t[1] && t[1] != t[2] && t[2] != t[0]) // a collapsed quadrilateral has one triangle
            memcpy(out[n++], t, sizeof t);
    }
    return n;
}

// Fills the surface, and for each face the key of its corners with its run of triangles (keys may be NULL).
static void collect_triangles(const tdMesh *mesh, const uint8_t *marks, tdSurface *surface, faceKey *keys,
                              int64_t *n_keys)
{
    int32_t number = 0;
    for (int k = 0; k < 3; k++)
        for (int64_t c = 0; c < mesh->cells[volume_types[k]].count; c++, number++)
        {
            bool flip = td_cell_volume(mesh, volume_types[k], c) < 0;
            for (int f = 0; f < face_count(volume_types[k]); f++)
            {
                if (!marks[6 * (int64_t)number + f])
                    continue;
                int32_t tris[4][3], nodes[4];
                int n = face_triangles(mesh, volume_types[k], c, f, tris);
                if (keys != NULL)
                {
                    make_key(face_nodes(mesh, volume_types[k], c, f, nodes), nodes, &keys[*n_keys]);
                    keys[*n_keys].from = (int32_t)surface->n_tris;
                    keys[(*n_keys)++].local = n;
                }
                for (int i = 0; i < n; i++)
                {
                    int32_t *to = surface->tris + 3 * surface->n_tris;
                    to[0] = tris[i][0];
                    to[1] = tris[i][flip ? 2 : 1];
                    to[2] = tris[i][flip ? 1 : 2];
                    surface->cell[surface->n_tris++] = number;
                }
            }
        }
}

// The boundary, and the keys of its faces when `keys` is given (released by free()).
static tdStatus find_boundary(const tdMesh *mesh, tdSurface *surface, faceKey **keys, int64_t *n_keys, tdError *error)
{
    *surface = (tdSurface){0};
    int64_t n_cells = 0, n_faces = 0;
    if (!volume_cell_count(mesh, &n_cells, &n_faces))
        return td_fail(error, TD_ERROR_INPUT, "%lld volume cells are too many; use a coarser mesh", (long long)n_cells);
    uint8_t *marks = td_take((size_t)n_cells * 6, 1);
    if (marks == NULL || !mark_boundary(mesh, n_faces, marks, &surface->crowded))
    {
        free(marks);
        return td_fail_memory(error, "the faces of the mesh");
    }
    int64_t n_marked = 0;
    for (int64_t i = 0; i < 6 * n_cells; i++)
        n_marked += marks[i];
    int64_t room = n_marked * (mesh->cells[TD_CELL_TET10].count > 0 ? 4 : 2);
    surface->tris = td_take((size_t)room, 3 * sizeof(int32_t));
    surface->cell = td_take((size_t)room, sizeof(int32_t));
    // Beside each face, its triangles can be looked up one by one (see find_key).
    faceKey *made = keys != NULL ? td_take((size_t)(n_marked + room), sizeof *made) : NULL;
    if (surface->tris == NULL || surface->cell == NULL || (keys != NULL && made == NULL))
    {
        free(made);
        free(marks);
        td_surface_free(surface);
        return td_fail_memory(error, "the boundary of the mesh");
    }
    collect_triangles(mesh, marks, surface, made, n_keys);
    free(marks);
    if (keys != NULL)
        *keys = made;
    return TD_OK;
}

tdStatus td_mesh_boundary_faces(const tdMesh *mesh, tdSurface *surface, tdError *error)
{
    return find_boundary(mesh, surface, NULL, NULL, error);
}

void td_surface_free(tdSurface *surface)
{
    free(surface->tris);
    free(surface->cell);
    *surface = (tdSurface){0};
}

// ---------------------------------------------------------------- the boundary as a mesh

// A mesh of triangles and quadrilaterals as a surface, with keys that lead from its cells to triangles.
static tdStatus own_surface(const tdMesh *mesh, tdSurface *surface, faceKey **keys, int64_t *n_keys, tdError *error)
{
    int64_t n_tris = mesh->cells[TD_CELL_TRI].count, n_quads = mesh->cells[TD_CELL_QUAD].count;
    int64_t room = n_tris + 2 * n_quads;
    *surface = (tdSurface){0};
    if (room > INT32_MAX)
        return td_fail(error, TD_ERROR_INPUT, "%lld faces are too many; use a coarser mesh", (long long)room);
    surface->tris = td_take((size_t)room, 3 * sizeof(int32_t));
    surface->cell = td_take((size_t)room, sizeof(int32_t));
    *keys = td_take((size_t)(2 * room), sizeof **keys);
    if (surface->tris == NULL || surface->cell == NULL || *keys == NULL)
        return td_fail_memory(error, "a surface");
    for (int64_t i = 0; i < n_tris + n_quads; i++)
    {
        bool quad = i >= n_tris;
        const int32_t *v =
            quad ? mesh->cells[TD_CELL_QUAD].nodes + 4 * (i - n_tris) : mesh->cells[TD_CELL_TRI].nodes + 3 * i;
        int first = (int)surface->n_tris, corners = quad ? 4 : 3, least = 0;
        for (int k = 1; quad && k < corners; k++)
            if (v[k] < v[least])
                least = k;
        for (int k = 1; k + 1 < corners; k++)
        {
            int32_t *to = surface->tris + 3 * surface->n_tris;
            to[0] = v[least];
            to[1] = v[(least + k) % corners];
            to[2] = v[(least + k + 1) % corners];
            surface->cell[surface->n_tris++] = (int32_t)i;
        }
        faceKey *key = &(*keys)[*n_keys];
        if (make_key(corners, v, key))
        {
            key->from = first;
            key->local = corners - 2;
            (*n_keys)++;
        }
    }
    return TD_OK;
}

// Adds a key for each triangle of a face that has several, so that a group may name either.
static void add_triangle_keys(const tdSurface *surface, faceKey *keys, int64_t *n_keys)
{
    int64_t faces = *n_keys;
    for (int64_t i = 0; i < faces; i++)
        for (int32_t t = 0; keys[i].local > 1 && t < keys[i].local; t++)
        {
            faceKey *key = &keys[*n_keys];
            key->from = keys[i].from + t;
            key->local = 1;
            *n_keys += make_key(3, surface->tris + 3 * (int64_t)key->from, key);
        }
}

// First key with these nodes, or -1.
static int64_t find_key(const faceKey *keys, int64_t n, const faceKey *wanted)
{
    int64_t low = 0, high = n;
    while (low < high)
    {
        int64_t middle = low + (high - low) / 2;
        if (compare_nodes(&keys[middle], wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && compare_nodes(&keys[low], wanted) == 0 ? low : -1;
}

static int compare_int32(const void *first, const void *second)
{
    int32_t a = *(const int32_t *)first, b = *(const int32_t *)second;
    return (a > b) - (a < b);
}

// Carries one group over to the surface; `list` is scratch.
static bool copy_group(const tdMesh *mesh, const tdGroup *group, const faceKey *keys, int64_t n_keys, tdMesh *surface,
                       int32_t **list, int64_t *capacity)
{
    int64_t n = 0, inside = 0;
    for (int t = TD_CELL_TRI; t <= TD_CELL_QUAD; t++)
        for (int64_t i = 0; i < group->count[t]; i++)
        {
            faceKey wanted;
            int corners = td_cell_nodes((tdCellType)t);
            make_key(corners, mesh->cells[t].nodes + (int64_t)group->cells[t][i] * corners, &wanted);
            int64_t found = find_key(keys, n_keys, &wanted);
            if (found < 0)
            {
                inside++;
                continue;
            }
            // A surface with repeated cells has repeated keys; the group means all of them.
            for (; found < n_keys && compare_nodes(&keys[found], &wanted) == 0; found++)
            {
                if (!td_grow((void **)list, capacity, n + keys[found].local, sizeof **list))
                    return false;
                for (int32_t k = 0; k < keys[found].local; k++)
                    (*list)[n++] = keys[found].from + k;
            }
        }
    if (inside > 0)
        td_mesh_note(surface, "group '%s': %lld of its faces are not on the boundary and were left out", group->name,
                     (long long)inside);
    if (n == 0)
        return true;
    qsort(*list, (size_t)n, sizeof **list, compare_int32);
    int made = td_mesh_group(surface, group->name, 2, group->tag);
    for (int64_t i = 0; made >= 0 && i < n; i++)
        if (!td_mesh_group_add(surface, made, TD_CELL_TRI, (*list)[i]))
            return false;
    return made >= 0;
}

static bool copy_nodes_and_triangles(const tdMesh *mesh, const tdSurface *from, tdMesh *surface)
{
    int32_t *number = td_take((size_t)mesh->n_nodes, sizeof *number);
    bool good = number != NULL;
    for (int64_t i = 0; good && i < 3 * from->n_tris; i++)
        number[from->tris[i]] = 1;
    for (int64_t i = 0; good && i < mesh->n_nodes; i++)
        if (number[i])
        {
            number[i] = (int32_t)surface->n_nodes;
            good = td_mesh_add_node(surface, mesh->x[3 * i], mesh->x[3 * i + 1], mesh->x[3 * i + 2]);
        }
    for (int64_t i = 0; good && i < from->n_tris; i++)
    {
        const int32_t *t = from->tris + 3 * i;
        good = td_mesh_add_cell(surface, TD_CELL_TRI, (int32_t[]){number[t[0]], number[t[1]], number[t[2]]});
    }
    free(number);
    return good;
}

static bool has_surface_groups(const tdMesh *mesh)
{
    for (int g = 0; g < mesh->n_groups; g++)
        if (mesh->groups[g].count[TD_CELL_TRI] > 0 || mesh->groups[g].count[TD_CELL_QUAD] > 0)
            return true;
    return false;
}

tdStatus td_mesh_boundary(const tdMesh *mesh, tdMesh *surface, tdError *error)
{
    int64_t n_cells = 0, n_faces = 0, n_keys = 0;
    volume_cell_count(mesh, &n_cells, &n_faces);
    tdSurface faces = {0};
    faceKey *keys = NULL;
    tdStatus status = n_cells > 0 ? find_boundary(mesh, &faces, &keys, &n_keys, error)
                                  : own_surface(mesh, &faces, &keys, &n_keys, error);
    if (status == TD_OK && faces.n_tris == 0)
        status = td_fail(error, TD_ERROR_INPUT, "the mesh has no surface: it holds neither faces nor volume cells");
    bool good = status != TD_OK || copy_nodes_and_triangles(mesh, &faces, surface);
    if (status == TD_OK && good && has_surface_groups(mesh))
    {
        add_triangle_keys(&faces, keys, &n_keys);
        good = sort_keys(mesh->n_nodes, n_keys, &keys);
        int32_t *list = NULL;
        int64_t capacity = 0;
        for (int g = 0; good && g < mesh->n_groups; g++)
            good = copy_group(mesh, &mesh->groups[g], keys, n_keys, surface, &list, &capacity);
        free(list);
    }
    free(keys);
    td_surface_free(&faces);
    return good ? status : td_fail_memory(error, "the boundary of the mesh");
}

// ---------------------------------------------------------------- connected parts

static int32_t find_root(int32_t *parent, int32_t i)
{
    while (parent[i] != i)
    {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

tdStatus td_mesh_components(const tdMesh *mesh, int dim, int64_t *n_parts, int32_t *part, tdError *error)
{
    *n_parts = 0;
    int32_t *parent = td_take((size_t)mesh->n_nodes, sizeof *parent);
    int32_t *number = td_take((size_t)mesh->n_nodes, sizeof *number);
    if (parent == NULL || number == NULL)
    {
        free(parent);
        free(number);
        return td_fail_memory(error, "the parts of the mesh");
    }
    for (int64_t i = 0; i < mesh->n_nodes; i++)
    {
        parent[i] = (int32_t)i;
        number[i] = -1;
    }
    for (int t = 0; t < TD_CELL_TYPES; t++)
        for (int64_t c = 0, n = td_cell_nodes((tdCellType)t);
             td_cell_dim((tdCellType)t) == dim && c < mesh->cells[t].count; c++)
            for (int64_t k = 1; k < n; k++)
            {
                // The lesser number becomes the root, so that the result does not depend on the order of unions.
                int32_t a = find_root(parent, mesh->cells[t].nodes[c * n]);
                int32_t b = find_root(parent, mesh->cells[t].nodes[c * n + k]);
                parent[a > b ? a : b] = a > b ? b : a;
            }
    int64_t at = 0;
    for (int t = 0; t < TD_CELL_TYPES; t++)
        for (int64_t c = 0, n = td_cell_nodes((tdCellType)t);
             td_cell_dim((tdCellType)t) == dim && c < mesh->cells[t].count; c++)
        {
            int32_t root = find_root(parent, mesh->cells[t].nodes[c * n]);
            if (number[root] < 0)
                number[root] = (int32_t)(*n_parts)++;
            if (part != NULL)
                part[at++] = number[root];
        }
    free(parent);
    free(number);
    return TD_OK;
}

// ---------------------------------------------------------------- volume and orientation of cells

// Six times the volume of the tetrahedron o, a, b, c.
static double triple(const double *o, const double *a, const double *b, const double *c)
{
    double u[3], v[3], w[3];
    for (int k = 0; k < 3; k++)
    {
        u[k] = a[k] - o[k];
        v[k] = b[k] - o[k];
        w[k] = c[k] - o[k];
    }
    return (u[1] * v[2] - u[2] * v[1]) * w[0] + (u[2] * v[0] - u[0] * v[2]) * w[1] + (u[0] * v[1] - u[1] * v[0]) * w[2];
}

double td_cell_volume(const tdMesh *mesh, tdCellType type, int64_t cell)
{
    const int32_t *nodes = mesh->cells[type].nodes + cell * td_cell_nodes(type);
    const double *p[8];
    for (int k = 0; k < (type == TD_CELL_HEX ? 8 : 4); k++)
        p[k] = mesh->x + 3 * (int64_t)nodes[k];
    if (type != TD_CELL_HEX)
        return triple(p[0], p[1], p[2], p[3]) / 6;
    // The volume under a bilinear patch is the mean of its two cuts into triangles.
    double sum = 0;
    for (int f = 0; f < 6; f++)
    {
        const double *a = p[hex_faces[f][0]], *b = p[hex_faces[f][1]], *c = p[hex_faces[f][2]], *d = p[hex_faces[f][3]];
        sum += triple(p[0], a, b, c) + triple(p[0], a, c, d) + triple(p[0], a, b, d) + triple(p[0], b, c, d);
    }
    return sum / 12;
}

int64_t td_mesh_orient(tdMesh *mesh)
{
    // Pairs of nodes whose exchange mirrors the cell.
    static const int8_t swaps[3][5][2] = {{{1, 2}}, {{1, 3}, {5, 7}}, {{1, 2}, {4, 6}, {8, 9}}};
    int64_t turned = 0;
    for (int k = 0; k < 3; k++)
    {
        tdCells *cells = &mesh->cells[volume_types[k]];
        for (int64_t c = 0; c < cells->count; c++)
        {
            if (td_cell_volume(mesh, volume_types[k], c) >= 0)
                continue;
            int32_t *nodes = cells->nodes + c * td_cell_nodes(volume_types[k]);
            for (int s = 0; swaps[k][s][1] != 0; s++)
            {
                int32_t kept = nodes[swaps[k][s][0]];
                nodes[swaps[k][s][0]] = nodes[swaps[k][s][1]];
                nodes[swaps[k][s][1]] = kept;
            }
            turned++;
        }
    }
    return turned;
}
