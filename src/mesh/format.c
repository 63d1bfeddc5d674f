// SPDX-License-Identifier: Apache-2.0
// Mesh files by name: which format, which reader or writer, and what a format cannot hold.
#include "base/xml.h"
#include "mesh/mesh.h"
#include "mesh/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WRITTEN_FORMATS ".msh (Gmsh 2.2 or 4.1), .vtk, .vtu, .stl and .obj"
#define READ_FORMATS    ".msh (Gmsh 2.2 or 4.1), .vtk, .vtu, .stl, .obj, .ply and .dae (Collada)"

static const struct
{
    const char *extension;
    tdMeshFormat format;
} extensions[] = {{".msh", TD_MESH_MSH41}, {".vtk", TD_MESH_VTK}, {".vtu", TD_MESH_VTU}, {".stl", TD_MESH_STL},
                  {".obj", TD_MESH_OBJ},   {".dae", TD_MESH_DAE}, {".ply", TD_MESH_PLY}};

static bool begins(const char *data, size_t size, const char *word)
{
    return size >= strlen(word) && strncasecmp(data, word, strlen(word)) == 0;
}

// OBJ has no mark of its own: the first line that is no comment must be one of its kinds.
static bool looks_like_obj(const char *data, size_t size)
{
    static const char *const words[] = {"v ", "o ", "g ", "mtllib ", "vn ", "vt "};
    const char *at = data, *end = data + size;
    while (at < end && (*at == '#' || *at == '\n' || *at == '\r'))
    {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        at = stop == NULL ? end : stop + 1;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (begins(at, (size_t)(end - at), words[i]))
            return true;
    return false;
}

static bool looks_like_binary_stl(const char *data, size_t size)
{
    if (size < 84)
        return false;
    const unsigned char *b = (const unsigned char *)data + 80;
    uint64_t count = (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24;
    return size == 84 + 50 * count;
}

tdMeshFormat td_mesh_format(const char *path, const char *data, size_t size)
{
    char extension[16];
    td_path_extension(extension, sizeof extension, path);
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
        if (strcmp(extension, extensions[i].extension) == 0)
            return extensions[i].format;
    if (data == NULL)
        return TD_MESH_UNKNOWN;
    if (begins(data, size, "$MeshFormat") || begins(data, size, "$NOD"))
        return TD_MESH_MSH41;
    if (begins(data, size, "# vtk DataFile"))
        return TD_MESH_VTK;
    if (begins(data, size, "<COLLADA") ||
        (begins(data, size, "<?xml") && memmem(data, size < 1000 ? size : 1000, "<COLLADA", 8) != NULL))
        return TD_MESH_DAE;
    if (begins(data, size, "<VTKFile") || begins(data, size, "<?xml"))
        return TD_MESH_VTU;
    if (begins(data, size, "ply\n") || begins(data, size, "ply\r\n"))
        return TD_MESH_PLY;
    if (begins(data, size, "solid") || looks_like_binary_stl(data, size))
        return TD_MESH_STL;
    return looks_like_obj(data, size) ? TD_MESH_OBJ : TD_MESH_UNKNOWN;
}

tdStatus td_mesh_read(const char *path, tdMesh *mesh, tdError *error)
{
    char *data = NULL;
    size_t size = 0;
    TD_TRY(td_file_read(path, &data, &size, error));
    tdStatus status = td_refuse_pointer(data, size, path, error);
    if (status != TD_OK)
    {
        free(data);
        return status;
    }
    switch (td_mesh_format(path, data, size))
    {
    case TD_MESH_MSH22:
    case TD_MESH_MSH41: status = td_mesh_read_msh(data, size, path, mesh, error); break;
    case TD_MESH_VTK: status = td_mesh_read_vtk(data, size, path, mesh, error); break;
    case TD_MESH_VTU: status = td_mesh_read_vtu_fields(data, size, path, mesh, NULL, error); break;
    case TD_MESH_STL: status = td_mesh_read_stl(data, size, path, mesh, error); break;
    case TD_MESH_OBJ: status = td_mesh_read_obj(data, size, path, mesh, error); break;
    case TD_MESH_DAE: status = td_mesh_read_dae(data, size, path, mesh, error); break;
    case TD_MESH_PLY: status = td_mesh_read_ply(data, size, path, mesh, error); break;
    case TD_MESH_UNKNOWN:
        status = td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL,
                            "neither the name nor the first bytes identify a mesh format; " READ_FORMATS
                            " are read (geometry such as .geo or .step must be meshed first)");
    }
    free(data);
    return status;
}

// ---------------------------------------------------------------- writing

static int64_t count_cells(const tdMesh *mesh, int dim)
{
    int64_t n = 0;
    for (int t = 0; t < TD_CELL_TYPES; t++)
        n += td_cell_dim((tdCellType)t) == dim ? mesh->cells[t].count : 0;
    return n;
}

static tdStatus write_bytes(const tdMesh *mesh, tdMeshFormat format, tdMeshEncoding encoding, tdText *out,
                            tdError *error)
{
    switch (format)
    {
    case TD_MESH_MSH22:
    case TD_MESH_MSH41: return td_mesh_write_msh(mesh, format, encoding, out, error);
    case TD_MESH_VTK: return td_mesh_write_vtk(mesh, encoding, out, error);
    case TD_MESH_VTU: return td_mesh_write_vtu(mesh, encoding, 0, NULL, 0, NULL, out, error);
    case TD_MESH_STL: return td_mesh_write_stl(mesh, encoding, out, error);
    case TD_MESH_OBJ:
        if (encoding != TD_MESH_ASCII)
            return td_fail(error, TD_ERROR_USAGE, "OBJ is written as text only");
        return td_mesh_write_obj(mesh, out, error);
    case TD_MESH_DAE:
    case TD_MESH_PLY:
    case TD_MESH_UNKNOWN: break;
    }
    return td_fail(error, TD_ERROR_USAGE,
                   "the name's extension is not a mesh format that can be written; " WRITTEN_FORMATS " are written");
}

tdStatus td_mesh_write(const tdMesh *mesh, const char *path, tdMeshFormat format, tdMeshEncoding encoding,
                       tdError *error)
{
    if (format == TD_MESH_UNKNOWN)
        format = td_mesh_format(path, NULL, 0);
    tdText text = {0};
    tdMesh surface = {0};
    tdError reason = {0}; // with the path, which the writers do not know
    tdStatus status = TD_OK;
    bool boundary = (format == TD_MESH_STL || format == TD_MESH_OBJ) && count_cells(mesh, 3) > 0;
    if (boundary)
        status = td_mesh_boundary(mesh, &surface, &reason);
    if (status == TD_OK)
        status = write_bytes(boundary ? &surface : mesh, format, encoding, &text, &reason);
    if (status != TD_OK)
        td_fail_at(error, status, path, 0, reason.field[0] != '\0' ? reason.field : NULL, "%s", reason.message);
    else
        status = td_file_write(path, text.data, (size_t)text.size, error);
    free(text.data);
    td_mesh_free(&surface);
    return status;
}

// ---------------------------------------------------------------- what is lost

// Triangles and quadrilaterals in more than one group.
static int64_t count_shared_faces(const tdMesh *mesh)
{
    int64_t shared = 0;
    for (int t = TD_CELL_TRI; t <= TD_CELL_QUAD; t++)
    {
        unsigned char *seen = calloc((size_t)mesh->cells[t].count + 1, 1);
        if (seen == NULL)
            return 0; // a warning is not worth failing for
        for (int g = 0; g < mesh->n_groups; g++)
            for (int64_t i = 0; i < mesh->groups[g].count[t]; i++)
            {
                unsigned char *times = &seen[mesh->groups[g].cells[t][i]];
                shared += *times == 1;
                *times += *times < 2;
            }
        free(seen);
    }
    return shared;
}

// Nodes of no face, and groups without one: STL knows neither.
static void lost_loose_ends(const tdMesh *mesh, tdText *out)
{
    int64_t groups = 0, nodes = mesh->n_nodes;
    for (int g = 0; g < mesh->n_groups; g++)
        groups += mesh->groups[g].count[TD_CELL_TRI] + mesh->groups[g].count[TD_CELL_QUAD] == 0;
    unsigned char *used = calloc((size_t)mesh->n_nodes + 1, 1);
    for (int t = TD_CELL_TRI; t <= TD_CELL_QUAD && used != NULL; t++)
        for (int64_t i = 0; i < mesh->cells[t].count * td_cell_nodes((tdCellType)t); i++)
        {
            nodes -= used[mesh->cells[t].nodes[i]] == 0;
            used[mesh->cells[t].nodes[i]] = 1;
        }
    if (nodes > 0 && used != NULL)
        td_text_format(out, "STL holds no nodes without a triangle: %lld are left out\n", (long long)nodes);
    if (groups > 0)
        td_text_format(out, "STL holds no groups without a triangle: %lld are left out\n", (long long)groups);
    free(used);
}

static void lost_in_stl(const tdMesh *mesh, tdMeshEncoding encoding, tdText *out)
{
    int64_t shared = count_shared_faces(mesh);
    if (mesh->cells[TD_CELL_QUAD].count > 0)
        td_text_format(out, "STL holds triangles only: %lld quadrilaterals are cut in two\n",
                       (long long)mesh->cells[TD_CELL_QUAD].count);
    if (encoding == TD_MESH_BINARY)
    {
        td_text_format(out, "binary STL holds coordinates in single precision\n");
        if (mesh->n_groups > 0)
            td_text_format(out, "binary STL holds no groups: %d are left out\n", mesh->n_groups);
        return;
    }
    if (shared > 0)
        td_text_format(out, "STL holds one group for a triangle: %lld that are in several keep the first\n",
                       (long long)shared);
}

static void lost_in_obj(const tdMesh *mesh, tdText *out)
{
    for (int g = 0; g < mesh->n_groups; g++)
        if (strpbrk(mesh->groups[g].name, " \t\r\n\v\f#\\") != NULL)
            td_text_format(out, "OBJ holds no blanks, # or \\ in names: '%s' is written with underscores\n",
                           mesh->groups[g].name);
}

void td_mesh_losses(const tdMesh *mesh, tdMeshFormat format, tdMeshEncoding encoding, tdText *out)
{
    if (format != TD_MESH_STL && format != TD_MESH_OBJ)
        return;
    const char *name = format == TD_MESH_STL ? "STL" : "OBJ";
    int64_t volumes = count_cells(mesh, 3), small = count_cells(mesh, 0) + count_cells(mesh, 1);
    if (volumes > 0)
        td_text_format(out, "%s holds no volumes: of %lld cells the boundary is written, without faces inside\n", name,
                       (long long)volumes);
    if (small > 0 && (volumes > 0 || format == TD_MESH_STL))
        td_text_format(out, "%s: %lld lines and vertices are left out\n", name, (long long)small);
    if (format == TD_MESH_OBJ)
        lost_in_obj(mesh, out);
    else
        lost_in_stl(mesh, encoding, out);
    if (format == TD_MESH_STL && volumes == 0)
        lost_loose_ends(mesh, out);
}
