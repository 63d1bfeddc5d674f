// SPDX-License-Identifier: Apache-2.0
// What the readers and writers of legacy VTK and of VTU share: number types, cells, names, groups.
//
// Every array of a file is decoded to doubles: those hold each integer that can be a node number, a
// tag or a type exactly, and one path for all widths is easier to trust than ten.
//
// Groups travel as cell arrays "group:NAME" with 1 for members. Integer cell arrays by which other
// programs label regions ("gmsh:physical", "CellEntityIds", "medit:ref") become groups "physical_N".
#pragma once
#include "base/file.h"
#include "mesh/mesh.h"

#define TD_VTK_GROUP "group:"

// ---------------------------------------------------------------- numbers (vtk_values.c)

typedef enum tdVtkType
{
    TD_VTK_NONE, // unknown name
    TD_VTK_INT8,
    TD_VTK_UINT8,
    TD_VTK_INT16,
    TD_VTK_UINT16,
    TD_VTK_INT32,
    TD_VTK_UINT32,
    TD_VTK_INT64,
    TD_VTK_UINT64,
    TD_VTK_FLOAT32,
    TD_VTK_FLOAT64,
    TD_VTK_BIT,   // legacy only, eight to a byte
    TD_VTK_STRING // text: can be stepped over, not decoded
} tdVtkType;

tdVtkType td_vtk_type_legacy(const char *name); ///< "unsigned_char", ..., any case
tdVtkType td_vtk_type_xml(const char *name);    ///< "UInt8", ...
int td_vtk_type_bytes(tdVtkType type);          ///< 0 for bits and strings
bool td_vtk_type_integer(tdVtkType type);

/// count values of a type from bytes of either order to doubles. Not for strings.
void td_vtk_decode(tdVtkType type, bool big_endian, const void *bytes, int64_t count, double *out);

// ---------------------------------------------------------------- numbers as text (vtk_numbers.c)

/// Parses up to `count` numbers, separated by white space, into out (NULL: they are stepped over).
/// Moves *at behind the last good one and returns how many there were.
int64_t td_vtk_parse(const char **at, const char *end, int64_t count, double *out);

// ---------------------------------------------------------------- cells (vtk_cells.c)

/// Cells of a file on their way into a mesh, which stores them by type: `source` keeps for every
/// cell of the mesh the file's cell that it came from, so that cell arrays can follow.
typedef struct tdVtkCells
{
    tdMesh *mesh;
    const char *file;
    int line;  ///< where the cells stand, for messages; 0 if unknown
    int64_t n; ///< cells of the file so far
    int64_t capacity[TD_CELL_TYPES];
    int32_t *source[TD_CELL_TYPES];
    int64_t fans;        ///< polygons cut into triangles
    int64_t passed[128]; ///< cells passed over, by VTK type
    int64_t ids_capacity;
    int32_t *ids; ///< nodes of one cell
} tdVtkCells;

/// Adds the file's next cell, given by its VTK type and its nodes as they stand in the file; those
/// must be whole numbers in [0, n_points) and become first_node + number.
tdStatus td_vtk_cell_add(tdVtkCells *cells, double vtk_type, const double *nodes, int64_t n_nodes, int64_t first_node,
                         int64_t n_points, tdError *error);
/// Notes in the mesh what was skipped or cut up.
void td_vtk_cells_note(tdVtkCells *cells);
void td_vtk_cells_free(tdVtkCells *cells);
int64_t td_vtk_cells_total(const tdMesh *mesh);

/// Cell array in the file's order -> the mesh's order.
void td_vtk_cells_permute(const tdVtkCells *cells, int components, const double *in, double *out);

/// True when a cell array of this kind is turned into groups.
bool td_vtk_is_group(const char *name, tdVtkType type, int components);
/// Makes groups of such an array, given in the file's order. Call when all cells are there.
tdStatus td_vtk_take_groups(tdVtkCells *cells, const char *name, const double *values, tdError *error);
/// After the last of them: sorts members, sets dimensions.
void td_vtk_finish_groups(tdMesh *mesh);

/// 1 for the members of a group in the order of the mesh's cells; `out` holds td_vtk_cells_total() bytes.
void td_vtk_group_bytes(const tdMesh *mesh, int group, uint8_t *out);

extern const uint8_t td_vtk_cell_codes[TD_CELL_TYPES]; ///< VTK's numbers of our types

// ---------------------------------------------------------------- names

/// Appends a name as legacy VTK holds it: bytes that would end or break a token as %XX.
void td_vtk_encode_name(tdText *text, const char *name);
/// Appends a name as an XML attribute holds it: entities, and %XX for what XML cannot hold.
void td_vtk_encode_xml(tdText *text, const char *name);
/// Undoes %XX in place.
void td_vtk_decode_name(char *name);

// ---------------------------------------------------------------- bytes of VTU arrays (vtu_data.c)

/// Bytes of one array: raw, or base64 text (white space and padding in the middle are allowed).
typedef struct tdVtuBytes
{
    const char *at, *end;
    bool base64;
    int n_left; ///< decoded and not yet taken
    unsigned char left[3];
} tdVtuBytes;

/// How a file codes its binary arrays.
typedef struct tdVtuCoding
{
    bool big_endian;
    bool wide; ///< header words of 64 bits, else 32
    bool zlib;
} tdVtuCoding;

/// Reads the header of an array and its bytes, which must be `expected` in number. *bytes points
/// into the file or, then also set, to *owned, released by free(). What is taken is subtracted from
/// *budget. On failure returns the reason (static text or `why`), else NULL.
const char *td_vtu_bytes_read(tdVtuBytes *from, const tdVtuCoding *coding, int64_t expected, int64_t *budget,
                              const unsigned char **bytes, void **owned, char why[160]);

/// Appends the array's header (64-bit words, little-endian) and its bytes.
void td_vtu_append_raw(tdText *out, const void *bytes, size_t n);
void td_vtu_append_base64(tdText *out, const void *bytes, size_t n);
void td_vtu_append_zlib(tdText *out, const void *bytes, size_t n);
