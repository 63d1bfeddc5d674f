// SPDX-License-Identifier: Apache-2.0
// Meshes as they come from and go to files: nodes, cells by type, named groups of cells.
//
// Cells of one type are stored together, node numbers from 0, in VTK's order of nodes. A cell may
// be in any number of groups. A reader keeps what it understands, refuses with a place what would
// change the meaning of the mesh, and records in `notes` whatever it passed over.
#pragma once
#include "base/file.h"
#include "base/status.h"

typedef enum tdCellType
{
    TD_CELL_VERTEX, // 1 node
    TD_CELL_LINE,   // 2
    TD_CELL_TRI,    // 3
    TD_CELL_QUAD,   // 4
    TD_CELL_TET,    // 4
    TD_CELL_HEX,    // 8
    TD_CELL_TET10,  // 10, VTK's order of mid-edge nodes: 01 12 20 03 13 23
    TD_CELL_TYPES
} tdCellType;

typedef struct tdCells
{
    int64_t count, capacity;
    int32_t *nodes; ///< count * td_cell_nodes(type)
} tdCells;

/// Named set of cells: for each type a strictly ascending list of cell numbers.
typedef struct tdGroup
{
    char *name;
    int dim; ///< of its cells, 0 to 3; -1 when mixed or empty
    int tag; ///< number in the file it came from; 0 if none
    int64_t count[TD_CELL_TYPES], capacity[TD_CELL_TYPES];
    int32_t *cells[TD_CELL_TYPES];
} tdGroup;

typedef struct tdMesh
{
    int64_t n_nodes, nodes_capacity;
    double *x; ///< 3 * n_nodes
    tdCells cells[TD_CELL_TYPES];
    int n_groups;
    int64_t groups_capacity;
    tdGroup *groups;
    char *notes; ///< what the reader passed over, one line each; NULL if nothing
} tdMesh;

int td_cell_nodes(tdCellType type);
int td_cell_dim(tdCellType type);
const char *td_cell_name(tdCellType type); ///< "tetrahedra", ...

/// All functions below that add return false when memory runs out.
bool td_mesh_add_node(tdMesh *mesh, double x, double y, double z);
bool td_mesh_add_cell(tdMesh *mesh, tdCellType type, const int32_t *nodes);
/// Number of the group with this name, added if missing; -1 when memory runs out.
int td_mesh_group(tdMesh *mesh, const char *name, int dim, int tag);
int td_mesh_find_group(const tdMesh *mesh, const char *name); ///< -1 if none
/// Adds a group that the caller knows to be new (td_mesh_group searches, which is slow for many).
int td_mesh_new_group(tdMesh *mesh, const char *name, int dim, int tag);
/// Sets the dimension of every group from its cells; the last step of a reader that adds groups.
void td_mesh_group_dims(tdMesh *mesh);
/// Adds a cell to a group. Cells of one type must be added in ascending order; a repeated one is dropped.
bool td_mesh_group_add(tdMesh *mesh, int group, tdCellType type, int64_t cell);
void td_mesh_note(tdMesh *mesh, const char *format, ...) TD_PRINTF(2, 3);
void td_mesh_free(tdMesh *mesh);

/// Last check of every reader: node numbers in range, coordinates finite, at least one node and cell.
tdStatus td_mesh_check(const tdMesh *mesh, const char *file, tdError *error);

// ---------------------------------------------------------------- files

typedef enum tdMeshFormat
{
    TD_MESH_UNKNOWN,
    TD_MESH_MSH22,
    TD_MESH_MSH41,
    TD_MESH_VTK,
    TD_MESH_VTU,
    TD_MESH_STL,
    TD_MESH_OBJ,
    TD_MESH_DAE, // read only
    TD_MESH_PLY  // read only
} tdMeshFormat;

typedef enum tdMeshEncoding
{
    TD_MESH_ASCII,
    TD_MESH_BINARY,     // VTU: appended raw
    TD_MESH_BASE64,     // VTU only: inline base64
    TD_MESH_COMPRESSED, // VTU only: appended, zlib
} tdMeshEncoding;

/// Readers: bytes in memory -> *mesh (zero-initialized by the caller, freed by the caller also on
/// failure). `name` stands for the file in messages. data[size] must be a zero byte.
tdStatus td_mesh_read_msh(const char *data, size_t size, const char *name, tdMesh *mesh, tdError *error);
tdStatus td_mesh_read_vtk(const char *data, size_t size, const char *name, tdMesh *mesh, tdError *error);
tdStatus td_mesh_read_vtu(const char *data, size_t size, const char *name, tdMesh *mesh, tdError *error);
tdStatus td_mesh_read_stl(const char *data, size_t size, const char *name, tdMesh *mesh, tdError *error);
tdStatus td_mesh_read_obj(const char *data, size_t size, const char *name, tdMesh *mesh, tdError *error);
tdStatus td_mesh_read_dae(const char *data, size_t size, const char *name, tdMesh *mesh, tdError *error);
tdStatus td_mesh_read_ply(const char *data, size_t size, const char *name, tdMesh *mesh, tdError *error);

/// Reads a file by its extension, or by its first bytes when the extension says nothing.
tdStatus td_mesh_read(const char *path, tdMesh *mesh, tdError *error);

tdStatus td_mesh_write_msh(const tdMesh *mesh, tdMeshFormat version, tdMeshEncoding encoding, tdText *out,
                           tdError *error);
tdStatus td_mesh_write_vtk(const tdMesh *mesh, tdMeshEncoding encoding, tdText *out, tdError *error);
tdStatus td_mesh_write_stl(const tdMesh *mesh, tdMeshEncoding encoding, tdText *out, tdError *error);
tdStatus td_mesh_write_obj(const tdMesh *mesh, tdText *out, tdError *error);

/// A named array for VTU output, by node or by cell.
typedef struct tdField
{
    const char *name;
    int components;     ///< 1, 3 or 9
    const double *data; ///< components * count; cells in the order of the mesh: by type, then number
} tdField;

tdStatus td_mesh_write_vtu(const tdMesh *mesh, tdMeshEncoding encoding, int n_node_fields, const tdField *node_fields,
                           int n_cell_fields, const tdField *cell_fields, tdText *out, tdError *error);

/// Point and cell arrays of a VTU file, by name, for rendering. Zero-initialize; td_fields_free().
typedef struct tdFields
{
    int n;
    int64_t capacity;
    struct tdFieldData
    {
        char *name;
        bool by_cell;
        int components;
        double *data;
    } * field;
} tdFields;

/// As td_mesh_read_vtu, with the arrays (fields may be NULL). Cell arrays follow the mesh's order.
tdStatus td_mesh_read_vtu_fields(const char *data, size_t size, const char *name, tdMesh *mesh, tdFields *fields,
                                 tdError *error);
void td_fields_free(tdFields *fields);

/// What a format cannot hold of this mesh, one line each, nothing if it holds all: to be told to the
/// user before writing, because a writer leaves it out without failing.
void td_mesh_losses(const tdMesh *mesh, tdMeshFormat format, tdMeshEncoding encoding, tdText *out);

/// The format that the path's extension names, or else the first bytes of the data (which may be NULL).
tdMeshFormat td_mesh_format(const char *path, const char *data, size_t size);

/// Writes a mesh in a format, or for TD_MESH_UNKNOWN by the extension of its path (.msh = 4.1; .vtk,
/// .vtu, .stl, .obj). A surface format given a volume writes its boundary.
tdStatus td_mesh_write(const tdMesh *mesh, const char *path, tdMeshFormat format, tdMeshEncoding encoding,
                       tdError *error);
