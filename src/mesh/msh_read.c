// SPDX-License-Identifier: Apache-2.0
// Reads MSH 2.2 and 4.1. Nodes come first, elements name them by tag; which groups the cells are in
// is collected on the way and resolved at the end, because 4.1 says it through entities.
#include "mesh/msh.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CELL_NODES 10
#define MOST_NOTED      16
#define CONVERT         "convert it: gmsh FILE -save -format msh41 -o NEW.msh"
#define FAIL_IF_FULL(ok)                                                                                               \
    do                                                                                                                 \
    {                                                                                                                  \
        if (!(ok))                                                                                                     \
            return td_fail_memory(reader->error, reader->name);                                                        \
    } while (0)

// ---------------------------------------------------------------- sections

// Goes behind the end of this line; a text header is followed by binary data at once.
static tdStatus end_line(tdMshReader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\r'))
        reader->at++;
    if (reader->at >= reader->end || *reader->at != '\n')
        return td_msh_fail(reader, "the line should end here");
    reader->at++;
    return TD_OK;
}

// Reads "$Name" into reader->section; empty at the end of the file.
static tdStatus begin_section(tdMshReader *reader)
{
    reader->section[0] = '\0';
    td_msh_skip_blank(reader);
    if (reader->at >= reader->end)
        return TD_OK;
    if (*reader->at != '$')
        return td_msh_fail(reader, "a section ($Nodes, $Elements, ...) should begin here; "
                                   "the count of the section before may be wrong");
    size_t n = 0;
    while (n < sizeof reader->section - 1 && reader->at<reader->end && * reader->at> ' ' && *reader->at < 127)
        reader->section[n++] = *reader->at++;
    reader->section[n] = '\0';
    if (strncmp(reader->section, "$End", 4) == 0)
        return td_msh_fail(reader, "ends a section that was not begun");
    return end_line(reader);
}

static tdStatus end_section(tdMshReader *reader)
{
    char mark[48];
    int n = snprintf(mark, sizeof mark, "$End%s", reader->section + 1);
    td_msh_skip_blank(reader);
    if (reader->end - reader->at < n || memcmp(reader->at, mark, (size_t)n) != 0)
        return td_msh_fail(reader, "%s is expected here; a count in this section is wrong, or the file was cut off",
                           mark);
    reader->at += n;
    return TD_OK;
}

// Sections that say nothing about nodes, cells and groups.
static tdStatus pass_over(tdMshReader *reader, int *passed)
{
    char mark[48];
    int n = snprintf(mark, sizeof mark, "$End%s", reader->section + 1);
    const char *found = memmem(reader->at, (size_t)(reader->end - reader->at), mark, (size_t)n);
    if (found == NULL)
        return td_msh_fail(reader, "the section has no end (%s); the file was cut off or the name is misspelt", mark);
    reader->at = found + n;
    if (strcmp(reader->section, "$Comments") != 0 && (*passed)++ < MOST_NOTED)
        td_mesh_note(reader->mesh, "section %s was skipped", reader->section);
    return TD_OK;
}

static tdStatus read_format(tdMshReader *reader)
{
    double version = 0;
    int64_t mode = 0, bytes = 0;
    TD_TRY(td_msh_real(reader, "the version", &version));
    TD_TRY(td_msh_text_int(reader, "the file type", &mode));
    TD_TRY(td_msh_text_int(reader, "the data size", &bytes));
    if (version >= 2 && version < 2.25)
        reader->version = 22;
    else if (fabs(version - 4.1) < 0.01)
        reader->version = 41;
    else
        return td_msh_fail(reader, "MSH version %g is not read, only 2.2 and 4.1; " CONVERT, version);
    if (mode != 0 && mode != 1)
        return td_msh_fail(reader, "the file type is %lld, but only 0 (text) and 1 (binary) exist", (long long)mode);
    if (mode == 1 && bytes != 8 && !(bytes == 4 && reader->version == 41))
        return td_msh_fail(reader, "a data size of %lld bytes is not read, only 8; " CONVERT, (long long)bytes);
    if (mode == 1)
    {
        TD_TRY(end_line(reader));
        reader->binary = true;
        reader->size_bytes = (int)bytes;
        int64_t one = 0;
        TD_TRY(td_msh_int(reader, "the number one that gives the byte order", &one));
        if (one != 1 && one != 0x01000000)
            return td_msh_fail(reader,
                               "the number one that gives the byte order is %lld; the file was damaged, "
                               "perhaps by a transfer as text",
                               (long long)one);
        reader->swap = one != 1;
    }
    return end_section(reader);
}

// ---------------------------------------------------------------- nodes

static tdStatus add_tag(tdMshReader *reader, int64_t tag)
{
    if (tag < 0)
        return td_msh_fail(reader, "the node tag %lld is negative", (long long)tag);
    int64_t n = reader->mesh->n_nodes;
    FAIL_IF_FULL(td_grow((void **)&reader->node_tags, &reader->tags_capacity, n + 1, sizeof(int64_t)));
    reader->node_tags[n] = tag;
    return TD_OK;
}

static tdStatus read_point(tdMshReader *reader)
{
    double x[3];
    for (int k = 0; k < 3; k++)
    {
        TD_TRY(td_msh_real(reader, "a coordinate", &x[k]));
        if (!isfinite(x[k]))
            return td_msh_fail(reader, "a coordinate is not a finite number");
    }
    FAIL_IF_FULL(td_mesh_add_node(reader->mesh, x[0], x[1], x[2]));
    return TD_OK;
}

// Coordinates on the geometry, which a mesh here does not keep.
static tdStatus skip_parameters(tdMshReader *reader, int n)
{
    double unused;
    for (int k = 0; k < n; k++)
        TD_TRY(td_msh_real(reader, "a parameter of a node", &unused));
    return TD_OK;
}

static tdStatus read_nodes22(tdMshReader *reader, bool parametric)
{
    int64_t count = 0;
    TD_TRY(td_msh_text_int(reader, "the number of nodes", &count));
    if (reader->binary)
        TD_TRY(end_line(reader));
    TD_TRY(td_msh_check_count(reader, "nodes", count, 8, 28));
    for (int64_t i = 0; i < count; i++)
    {
        int64_t tag = 0, dim = 0, entity = 0;
        TD_TRY(td_msh_int(reader, "a node's number", &tag));
        TD_TRY(add_tag(reader, tag));
        TD_TRY(read_point(reader));
        if (!parametric)
            continue;
        TD_TRY(td_msh_int(reader, "the dimension of a node's entity", &dim));
        TD_TRY(td_msh_int(reader, "a node's entity", &entity));
        TD_TRY(skip_parameters(reader, dim == 1 || dim == 2 ? (int)dim : 0));
    }
    return TD_OK;
}

// Tags of all nodes of a block, then their coordinates.
static tdStatus read_node_block(tdMshReader *reader, int64_t *total)
{
    int64_t dim = 0, entity = 0, parametric = 0, count = 0;
    TD_TRY(td_msh_int(reader, "the dimension of a block of nodes", &dim));
    TD_TRY(td_msh_int(reader, "the entity of a block of nodes", &entity));
    TD_TRY(td_msh_int(reader, "the parametric flag of a block of nodes", &parametric));
    TD_TRY(td_msh_size(reader, "the number of nodes of a block", &count));
    if (dim < 0 || dim > 3)
        return td_msh_fail(reader, "the dimension of a block of nodes is %lld, expected 0 to 3", (long long)dim);
    if (parametric != 0 && parametric != 1)
        return td_msh_fail(reader, "the parametric flag of a block of nodes is %lld, expected 0 or 1",
                           (long long)parametric);
    int parameters = parametric ? (int)dim : 0;
    TD_TRY(td_msh_check_count(reader, "nodes", count, 2 * (4 + parameters), 24 + reader->size_bytes + 8 * parameters));
    int64_t before = reader->mesh->n_nodes;
    FAIL_IF_FULL(td_grow((void **)&reader->node_tags, &reader->tags_capacity, before + count, sizeof(int64_t)));
    for (int64_t i = 0; i < count; i++)
        TD_TRY(td_msh_size(reader, "a node's tag", &reader->node_tags[before + i]));
    for (int64_t i = 0; i < count; i++)
    {
        TD_TRY(read_point(reader));
        TD_TRY(skip_parameters(reader, parameters));
    }
    *total += count;
    return TD_OK;
}

static tdStatus read_nodes41(tdMshReader *reader)
{
    int64_t blocks = 0, count = 0, least = 0, most = 0, total = 0;
    TD_TRY(td_msh_size(reader, "the number of blocks of nodes", &blocks));
    TD_TRY(td_msh_size(reader, "the number of nodes", &count));
    TD_TRY(td_msh_size(reader, "the least node tag", &least));
    TD_TRY(td_msh_size(reader, "the largest node tag", &most));
    TD_TRY(td_msh_check_count(reader, "blocks of nodes", blocks, 8, 12 + reader->size_bytes));
    TD_TRY(td_msh_check_count(reader, "nodes", count, 8, 24 + reader->size_bytes));
    for (int64_t b = 0; b < blocks; b++)
        TD_TRY(read_node_block(reader, &total));
    if (total != count)
        return td_msh_fail(reader, "%lld nodes are announced, but the blocks hold %lld", (long long)count,
                           (long long)total);
    return TD_OK;
}

static tdStatus read_nodes(tdMshReader *reader, bool parametric)
{
    if (reader->have_nodes)
        return td_msh_fail(reader, "the file has a second section of nodes; merge them into one");
    TD_TRY(reader->version == 22 ? read_nodes22(reader, parametric) : read_nodes41(reader));
    reader->have_nodes = true;
    return td_msh_map_tags(reader);
}

// ---------------------------------------------------------------- elements

// The type's facts, or why elements of it cannot be read.
static tdStatus check_type(tdMshReader *reader, int64_t type, int64_t element, const tdMshType **out)
{
    const tdMshType *facts = type >= 1 && type < TD_MSH_TYPES ? &td_msh_types[type] : NULL;
    if (facts == NULL || facts->name == NULL)
        return td_msh_fail(reader,
                           "element %lld has the unknown type %lld; the file is damaged or holds elements "
                           "that are not supported",
                           (long long)element, (long long)type);
    if (facts->cell < 0 && facts->dim == 3)
        return td_msh_fail(reader,
                           "element %lld is a %s (Gmsh type %lld), but volumes are made of 4- or 10-node tetrahedra "
                           "or 8-node hexahedra; mesh again without recombination and layers, and with -order 1",
                           (long long)element, facts->name, (long long)type);
    *out = facts;
    return TD_OK;
}

// Nodes of an element by their tags, in VTK's order. A 6-node triangle is the side of a quadratic tetrahedron,
// which its corners name; they come first.
static tdStatus read_element_nodes(tdMshReader *reader, const tdMshType *facts, int64_t element, int32_t *nodes)
{
    for (int k = 0; k < facts->nodes; k++)
    {
        int64_t tag = 0;
        TD_TRY(reader->version == 22 ? td_msh_int(reader, "a node of an element", &tag)
                                     : td_msh_size(reader, "a node of an element", &tag));
        if (facts->cell < 0)
            continue;
        nodes[k] = td_msh_node(reader, tag);
        if (nodes[k] < 0)
            return td_msh_fail(reader, "element %lld names node %lld, which $Nodes does not hold", (long long)element,
                               (long long)tag);
    }
    reader->by_corners += facts->cell == TD_CELL_TRI && facts->nodes == 6;
    if (facts->cell == TD_CELL_TET10) // Gmsh: ... 23 13
    {
        int32_t kept = nodes[8];
        nodes[8] = nodes[9];
        nodes[9] = kept;
    }
    return TD_OK;
}

// Tags: the physical group, the elementary entity, then the number of partitions and the partitions.
static tdStatus read_element22(tdMshReader *reader, int64_t element, int64_t type, int64_t n_tags)
{
    const tdMshType *facts = NULL;
    TD_TRY(check_type(reader, type, element, &facts));
    int64_t group = 0, entity = 0, partitions = 0;
    for (int64_t k = 0; k < n_tags; k++)
    {
        int64_t tag = 0;
        TD_TRY(td_msh_int(reader, "a tag of an element", &tag));
        if (k == 0)
            group = tag;
        else if (k == 1)
            entity = tag;
        else if (k == 2)
            partitions = tag;
    }
    int32_t nodes[MOST_CELL_NODES];
    TD_TRY(read_element_nodes(reader, facts, element, nodes));
    reader->partitioned += partitions > 0;
    if (facts->cell < 0)
    {
        reader->passed_over[type]++;
        return TD_OK;
    }
    if (group == INT32_MIN)
        return td_msh_fail(reader, "element %lld has the group %lld, which is out of range", (long long)element,
                           (long long)group);
    tdCellType cell = (tdCellType)facts->cell;
    if (group < 0)
    {
        td_msh_reverse(cell, nodes);
        group = -group;
    }
    bool merged = false;
    if (group != 0)
        TD_TRY(td_msh_merge(reader, cell, entity, (int)group, nodes, &merged));
    if (merged)
        return TD_OK;
    FAIL_IF_FULL(td_mesh_add_cell(reader->mesh, cell, nodes));
    return group != 0 ? td_msh_member(reader, cell, entity, (int)group) : TD_OK;
}

static tdStatus check_tag_count(tdMshReader *reader, int64_t element, int64_t n_tags)
{
    if (n_tags < 0 || n_tags > (reader->end - reader->at) / (reader->binary ? 4 : 2))
        return td_msh_fail(reader, "element %lld announces %lld tags, more than the file holds", (long long)element,
                           (long long)n_tags);
    return TD_OK;
}

static tdStatus read_elements22(tdMshReader *reader)
{
    int64_t count = 0, element = 0, type = 0, n_tags = 0;
    TD_TRY(td_msh_text_int(reader, "the number of elements", &count));
    if (reader->binary)
        TD_TRY(end_line(reader));
    TD_TRY(td_msh_check_count(reader, "elements", count, 8, 8));
    for (int64_t i = 0; !reader->binary && i < count; i++)
    {
        TD_TRY(td_msh_int(reader, "an element's number", &element));
        TD_TRY(td_msh_int(reader, "an element's type", &type));
        TD_TRY(td_msh_int(reader, "the number of tags of an element", &n_tags));
        TD_TRY(check_tag_count(reader, element, n_tags));
        TD_TRY(read_element22(reader, element, type, n_tags));
    }
    for (int64_t i = 0; reader->binary && i < count;)
    {
        int64_t block = 0;
        TD_TRY(td_msh_int(reader, "the type of a block of elements", &type));
        TD_TRY(td_msh_int(reader, "the size of a block of elements", &block));
        TD_TRY(td_msh_int(reader, "the number of tags of a block of elements", &n_tags));
        if (block < 1 || block > count - i)
            return td_msh_fail(reader, "a block announces %lld elements, but %lld are left", (long long)block,
                               (long long)(count - i));
        for (int64_t k = 0; k < block; k++, i++)
        {
            TD_TRY(td_msh_int(reader, "an element's number", &element));
            TD_TRY(check_tag_count(reader, element, n_tags));
            TD_TRY(read_element22(reader, element, type, n_tags));
        }
    }
    return TD_OK;
}

static tdStatus read_element_block(tdMshReader *reader, int64_t *total)
{
    int64_t dim = 0, entity = 0, type = 0, count = 0, element = 0;
    const tdMshType *facts = NULL;
    TD_TRY(td_msh_int(reader, "the dimension of a block of elements", &dim));
    TD_TRY(td_msh_int(reader, "the entity of a block of elements", &entity));
    TD_TRY(td_msh_int(reader, "the type of a block of elements", &type));
    TD_TRY(td_msh_size(reader, "the number of elements of a block", &count));
    if (count == 0)
        return TD_OK;
    TD_TRY(check_type(reader, type, *total + 1, &facts));
    if (dim != facts->dim)
        return td_msh_fail(reader, "a block of an entity of dimension %lld cannot hold elements of type %lld (%s)",
                           (long long)dim, (long long)type, facts->name);
    int64_t numbers = 1 + facts->nodes;
    TD_TRY(td_msh_check_count(reader, "elements", count, 2 * numbers, reader->size_bytes * numbers));
    *total += count;
    bool between = td_msh_is_interface(reader, (int)dim, (int)entity), keep = facts->cell >= 0 && !between;
    int64_t first = keep ? reader->mesh->cells[facts->cell].count : 0;
    for (int64_t i = 0; i < count; i++)
    {
        int32_t nodes[MOST_CELL_NODES];
        TD_TRY(td_msh_size(reader, "an element's tag", &element));
        TD_TRY(read_element_nodes(reader, facts, element, nodes));
        if (keep)
            FAIL_IF_FULL(td_mesh_add_cell(reader->mesh, (tdCellType)facts->cell, nodes));
    }
    if (!keep)
    {
        *(between ? &reader->interfaces : &reader->passed_over[type]) += count;
        return TD_OK;
    }
    FAIL_IF_FULL(td_grow((void **)&reader->blocks, &reader->blocks_capacity, reader->n_blocks + 1, sizeof(tdMshBlock)));
    reader->blocks[reader->n_blocks++] = (tdMshBlock){
        .type = (tdCellType)facts->cell, .dim = (int)dim, .entity = (int)entity, .first = first, .count = count};
    return TD_OK;
}

static tdStatus read_elements41(tdMshReader *reader)
{
    int64_t blocks = 0, count = 0, least = 0, most = 0, total = 0;
    TD_TRY(td_msh_size(reader, "the number of blocks of elements", &blocks));
    TD_TRY(td_msh_size(reader, "the number of elements", &count));
    TD_TRY(td_msh_size(reader, "the least element tag", &least));
    TD_TRY(td_msh_size(reader, "the largest element tag", &most));
    TD_TRY(td_msh_check_count(reader, "blocks of elements", blocks, 8, 12 + reader->size_bytes));
    TD_TRY(td_msh_check_count(reader, "elements", count, 4, 2 * reader->size_bytes));
    for (int64_t b = 0; b < blocks && total <= count; b++)
        TD_TRY(read_element_block(reader, &total));
    if (total != count)
        return td_msh_fail(reader, "%lld elements are announced, but the blocks hold %lld", (long long)count,
                           (long long)total);
    return TD_OK;
}

// ---------------------------------------------------------------- the file

static tdStatus read_section(tdMshReader *reader, int *passed)
{
    const char *section = reader->section;
    if (strcmp(section, "$MeshFormat") == 0)
        return td_msh_fail(reader, "the file has a second header; it holds several meshes, of which one can be read");
    if (strcmp(section, "$PhysicalNames") == 0)
        TD_TRY(td_msh_read_names(reader));
    else if (strcmp(section, "$Entities") == 0 && reader->version == 41)
        TD_TRY(td_msh_read_entities(reader, false));
    else if (strcmp(section, "$PartitionedEntities") == 0 && reader->version == 41)
        TD_TRY(td_msh_read_entities(reader, true));
    else if (strcmp(section, "$Nodes") == 0)
        TD_TRY(read_nodes(reader, false));
    else if (strcmp(section, "$ParametricNodes") == 0 && reader->version == 22)
        TD_TRY(read_nodes(reader, true));
    else if (strcmp(section, "$Elements") == 0)
    {
        if (!reader->have_nodes)
            return td_msh_fail(reader, "comes before $Nodes; write the nodes first");
        TD_TRY(reader->version == 22 ? read_elements22(reader) : read_elements41(reader));
    }
    else
        return pass_over(reader, passed);
    return end_section(reader);
}

// A mesh of which every element was skipped: say why it is empty.
static tdStatus check_some_left(tdMshReader *reader)
{
    int64_t cells = 0;
    for (int t = 0; t < TD_CELL_TYPES; t++)
        cells += reader->mesh->cells[t].count;
    for (int t = 0; t < TD_MSH_TYPES && cells == 0; t++)
        if (reader->passed_over[t] > 0)
            return td_fail_at(reader->error, TD_ERROR_INPUT, reader->name, 0, "$Elements",
                              "all elements are of types that are not read, such as %s; mesh with -order 1 in Gmsh",
                              td_msh_types[t].name);
    return TD_OK;
}

static tdStatus read_all(tdMshReader *reader)
{
    TD_TRY(begin_section(reader));
    if (strcmp(reader->section, "$NOD") == 0)
        return td_msh_fail(reader, "MSH version 1 is not read, only 2.2 and 4.1; " CONVERT);
    if (strcmp(reader->section, "$MeshFormat") != 0)
        return td_msh_fail(reader, "the file does not begin with $MeshFormat, so it is not a Gmsh mesh");
    TD_TRY(read_format(reader));
    int passed = 0;
    for (;;)
    {
        TD_TRY(begin_section(reader));
        if (reader->section[0] == '\0')
            break;
        TD_TRY(read_section(reader, &passed));
    }
    if (passed > MOST_NOTED)
        td_mesh_note(reader->mesh, "%d further sections were skipped", passed - MOST_NOTED);
    TD_TRY(td_msh_make_groups(reader));
    for (int t = 0; t < TD_MSH_TYPES; t++)
        if (reader->passed_over[t] > 0)
            td_mesh_note(reader->mesh, "%lld elements of type %s were skipped; use -order 1 in Gmsh to keep them",
                         (long long)reader->passed_over[t], td_msh_types[t].name);
    if (reader->by_corners > 0 && reader->mesh->cells[TD_CELL_TET10].count == 0)
        td_mesh_note(reader->mesh, "%lld triangles of 6 nodes were read by their corners; use -order 1 in Gmsh",
                     (long long)reader->by_corners);
    if (reader->partitioned > 0)
        td_mesh_note(reader->mesh, "the partition numbers of %lld elements were skipped",
                     (long long)reader->partitioned);
    TD_TRY(check_some_left(reader));
    if (reader->interfaces > 0)
        td_mesh_note(reader->mesh, "%lld elements between partitions were skipped", (long long)reader->interfaces);
    return td_mesh_check(reader->mesh, reader->name, reader->error);
}

tdStatus td_mesh_read_msh(const char *data, size_t size, const char *name, tdMesh *mesh, tdError *error)
{
    tdMshReader reader = {.data = data, .at = data, .end = data + size, .name = name, .mesh = mesh, .error = error};
    tdStatus status = read_all(&reader);
    free(reader.node_tags);
    free(reader.dense);
    td_hash_free(&reader.sparse);
    free(reader.entities);
    free(reader.physical_tags);
    td_hash_free(&reader.entity_of);
    free(reader.physicals);
    td_hash_free(&reader.physical_of);
    td_hash_free(&reader.group_of);
    free(reader.blocks);
    free(reader.members);
    free(reader.known);
    td_hash_free(&reader.known_of);
    return status;
}
