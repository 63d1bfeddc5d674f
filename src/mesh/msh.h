// SPDX-License-Identifier: Apache-2.0
// Gmsh's MSH format, versions 2.2 and 4.1, as text and as binary: what its files share.
//
//   msh_scan.c    numbers from text or from binary of either byte order; node tags to node numbers
//   msh_read.c    sections, nodes, elements
//   msh_groups.c  physical names and entities to named groups
//   msh_write.c   the writer
#pragma once
#include "base/hash.h"
#include "base/memory.h"
#include "mesh/mesh.h"

#define TD_MSH_TYPES 141 // Gmsh's element types are numbered from 1 to 140

/// One of Gmsh's element types; name NULL when the number stands for none that we know.
typedef struct tdMshType
{
    const char *name;
    int nodes, dim;
    int cell; ///< tdCellType, or -1 when meshes here have no such cell
} tdMshType;

extern const tdMshType td_msh_types[TD_MSH_TYPES];

/// Entity of a 4.1 file: its cells are in these physical groups.
typedef struct tdMshEntity
{
    int dim, tag;
    bool interface;       ///< between partitions: no part of the geometry
    int64_t first, count; ///< in tdMshReader.physical_tags; a negative one means reversed
} tdMshEntity;

/// Physical group of the file, and the mesh's group that it became.
typedef struct tdMshPhysical
{
    int dim, tag, group;
} tdMshPhysical;

/// 4.1: `count` cells of one type from `first` on belong to an entity.
typedef struct tdMshBlock
{
    tdCellType type;
    int dim, entity;
    int64_t first, count;
} tdMshBlock;

/// 2.2: a cell is in a physical group; `next` goes through the memberships of one cell, -1 at the end.
typedef struct tdMshMember
{
    tdCellType type;
    int32_t cell;
    int tag;
    int32_t next;
} tdMshMember;

typedef struct tdMshReader
{
    const char *data, *at, *end;
    const char *name;  ///< of the file, for messages
    char section[40];  ///< being read, for messages
    int version;       ///< 22 or 41
    bool binary, swap; ///< swap: the file has the other byte order
    int size_bytes;    ///< of size_t in a binary 4.1 file: 4 or 8
    tdMesh *mesh;
    tdError *error;

    int64_t *node_tags; ///< of each node
    int64_t tags_capacity;
    bool have_nodes;
    int64_t least_tag, span; ///< dense map of the tags in [least_tag, least_tag + span) ...
    int32_t *dense;          ///< ... or NULL: sparse tags, by hash
    tdHash sparse;

    int64_t by_corners;                ///< 6-node triangles, whose mid-edge nodes are left out
    int64_t passed_over[TD_MSH_TYPES]; ///< elements of types that meshes here do not have
    int64_t partitioned;               ///< 2.2: elements with partition numbers
    int64_t reversed;                  ///< cells that two groups hold with opposite orientations
    int64_t homeless;                  ///< 4.1: cells of entities that $Entities does not list
    int64_t interfaces;                ///< 4.1: elements between partitions

    tdMshEntity *entities;
    int64_t n_entities, entities_capacity;
    int *physical_tags;
    int64_t n_physical_tags, physical_tags_capacity;
    tdHash entity_of; ///< (dim, tag) -> entities

    tdMshPhysical *physicals;
    int64_t n_physicals, physicals_capacity;
    tdHash physical_of; ///< (dim, tag) -> physicals
    tdHash group_of;    ///< name -> mesh->groups

    tdMshBlock *blocks;
    int64_t n_blocks, blocks_capacity;

    tdMshMember *members;
    int64_t n_members, members_capacity;
    struct tdMshKnown
    {
        tdCellType type;
        int32_t cell;
        int32_t members; ///< first of its memberships
        int64_t entity;
    } * known; ///< 2.2: the last cell with certain nodes in a certain entity
    int64_t n_known, known_capacity;
    tdHash known_of;
} tdMshReader;

// ---------------------------------------------------------------- msh_scan.c

/// Fails with the line (text) or the byte (binary) at which the reader stands.
tdStatus td_msh_fail(tdMshReader *reader, const char *format, ...) TD_PRINTF(2, 3);
void td_msh_skip_blank(tdMshReader *reader);
/// An integer written as text, whatever the mode of the file.
tdStatus td_msh_text_int(tdMshReader *reader, const char *what, int64_t *out);
/// An int (4 bytes in binary), a size_t (size_bytes in binary), a double.
tdStatus td_msh_int(tdMshReader *reader, const char *what, int64_t *out);
tdStatus td_msh_size(tdMshReader *reader, const char *what, int64_t *out);
tdStatus td_msh_real(tdMshReader *reader, const char *what, double *out);
/// Refuses a count whose items cannot fit into the rest of the file, before anything is allocated.
tdStatus td_msh_check_count(tdMshReader *reader, const char *what, int64_t count, int64_t text_bytes,
                            int64_t binary_bytes);
/// Prepares td_msh_node; refuses a tag that is there twice.
tdStatus td_msh_map_tags(tdMshReader *reader);
/// Node number of a tag; -1 if none.
int32_t td_msh_node(const tdMshReader *reader, int64_t tag);

// ---------------------------------------------------------------- msh_groups.c

/// Names longer than this are refused (Gmsh itself cuts them at 127 bytes).
#define TD_MSH_NAME 255

tdStatus td_msh_read_names(tdMshReader *reader);
/// $Entities and $PartitionedEntities of 4.1.
tdStatus td_msh_read_entities(tdMshReader *reader, bool partitioned);
/// 4.1: whether an entity is an interface between partitions, whose elements are passed over.
bool td_msh_is_interface(const tdMshReader *reader, int dim, int tag);
/// 2.2: finds a cell of the same entity that only differs in its group (Gmsh writes a cell once for
/// each of its groups) and puts it into this one too; otherwise *merged is false.
tdStatus td_msh_merge(tdMshReader *reader, tdCellType type, int64_t entity, int tag, const int32_t *nodes,
                      bool *merged);
/// 2.2: the cell just added is in a physical group.
tdStatus td_msh_member(tdMshReader *reader, tdCellType type, int64_t entity, int tag);
/// Makes the mesh's groups of what was collected.
tdStatus td_msh_make_groups(tdMshReader *reader);
/// Reverses the orientation of a line, triangle or quadrilateral in place.
void td_msh_reverse(tdCellType type, int32_t *nodes);
