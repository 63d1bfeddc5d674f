// SPDX-License-Identifier: Apache-2.0
// Physical groups of MSH files to named groups of cells.
//
// 4.1: cells belong to an entity, an entity to any number of physical groups. A negative number means
// that the group holds the entity reversed: its lines and faces are reversed when no group holds them
// as they are; when groups disagree the entity's own orientation stays and a note says so.
// 2.2: an element has one physical group. Gmsh writes a cell in several groups several times, so
// elements of one entity with the same nodes and different groups are one cell here. Elements with the
// same nodes and the same group stay separate cells.
#include "mesh/members.h"
#include "mesh/msh.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Groups of one entity: a bound, because every cell of the entity is listed in each of them.
#define MOST_GROUPS 256

static uint64_t pair_key(int64_t a, int64_t b)
{
    return td_hash_mix((uint64_t)a + 0x9e3779b97f4a7c15U * td_hash_mix((uint64_t)b + 1));
}

void td_msh_reverse(tdCellType type, int32_t *nodes)
{
    int last = td_cell_nodes(type) - 1;
    if (td_cell_dim(type) != 1 && td_cell_dim(type) != 2)
        return;
    int first = type == TD_CELL_LINE ? 0 : 1; // faces keep their first node
    int32_t kept = nodes[first];
    nodes[first] = nodes[last];
    nodes[last] = kept;
}

// ---------------------------------------------------------------- physical groups

// The mesh's group of this name, made if missing; -1 when memory runs out. *old: it was there.
static int name_group(tdMshReader *reader, const char *name, int dim, int tag, bool *old)
{
    int before = reader->mesh->n_groups;
    int group = td_mesh_named_group(reader->mesh, &reader->group_of, name, strlen(name), dim, tag);
    *old = group >= 0 && group < before;
    return group;
}

static tdMshPhysical *find_physical(const tdMshReader *reader, int dim, int tag)
{
    int64_t probe = -1;
    const int32_t *found;
    uint64_t key = pair_key(dim, tag);
    while ((found = td_hash_next(&reader->physical_of, key, &probe)) != NULL)
        if (reader->physicals[*found].dim == dim && reader->physicals[*found].tag == tag)
            return &reader->physicals[*found];
    return NULL;
}

static bool add_physical(tdMshReader *reader, int dim, int tag, int group)
{
    int64_t n = reader->n_physicals;
    if (group < 0 || !td_grow((void **)&reader->physicals, &reader->physicals_capacity, n + 1, sizeof(tdMshPhysical)) ||
        !td_hash_add(&reader->physical_of, pair_key(dim, tag), (int32_t)n))
        return false;
    reader->physicals[reader->n_physicals++] = (tdMshPhysical){dim, tag, group};
    return true;
}

// The mesh's group of a physical group; one without a name gets "physical_DIM_TAG". -1: no memory.
static int physical_group(tdMshReader *reader, int dim, int tag)
{
    const tdMshPhysical *known = find_physical(reader, dim, tag);
    if (known != NULL)
        return known->group;
    char name[64];
    int n = snprintf(name, sizeof name, "physical_%d_%d", dim, tag);
    bool old = true;
    int group = -1;
    // A file may use this very name for another group: underscores until it is free.
    for (; old && (size_t)n + 1 < sizeof name; name[n] = '_', name[n + 1] = '\0', n++)
        group = name_group(reader, name, dim, tag, &old);
    return add_physical(reader, dim, tag, group) ? group : -1;
}

// dim tag "name": the name ends at the last quote of the line, so it may contain quotes.
static tdStatus read_name(tdMshReader *reader)
{
    int64_t dim = 0, tag = 0;
    TD_TRY(td_msh_text_int(reader, "the dimension of a physical group", &dim));
    TD_TRY(td_msh_text_int(reader, "the number of a physical group", &tag));
    if (dim < 0 || dim > 3)
        return td_msh_fail(reader, "the dimension of a physical group is %lld, expected 0 to 3", (long long)dim);
    if (tag < 1 || tag > INT32_MAX)
        return td_msh_fail(reader, "the number of a physical group is %lld, expected 1 to 2147483647", (long long)tag);
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t'))
        reader->at++;
    const char *close = reader->at;
    for (const char *c = reader->at; c < reader->end && *c != '\n'; c++)
        close = *c == '"' ? c : close;
    if (close == reader->at || *reader->at != '"')
        return td_msh_fail(reader, "the name of physical group %lld must be in quotes", (long long)tag);
    size_t n = (size_t)(close - reader->at - 1);
    char name[TD_MSH_NAME + 1];
    if (n > TD_MSH_NAME || memchr(reader->at, '\0', n + 1) != NULL)
        return td_msh_fail(reader, "the name of physical group %lld is longer than %d bytes or holds a zero byte",
                           (long long)tag, TD_MSH_NAME);
    memcpy(name, reader->at + 1, n);
    name[n] = '\0';
    if (find_physical(reader, (int)dim, (int)tag) != NULL)
        return td_msh_fail(reader, "physical group %lld of dimension %lld is named twice", (long long)tag,
                           (long long)dim);
    reader->at = close + 1;
    if (n == 0)
        return TD_OK; // as good as no name
    bool old = false;
    int group = name_group(reader, name, (int)dim, (int)tag, &old);
    if (!add_physical(reader, (int)dim, (int)tag, group))
        return td_fail_memory(reader->error, "the physical groups");
    return TD_OK;
}

tdStatus td_msh_read_names(tdMshReader *reader)
{
    int64_t count = 0;
    TD_TRY(td_msh_text_int(reader, "the number of physical names", &count));
    TD_TRY(td_msh_check_count(reader, "physical names", count, 6, 6));
    for (int64_t i = 0; i < count; i++)
        TD_TRY(read_name(reader));
    return TD_OK;
}

// ---------------------------------------------------------------- entities (4.1)

static tdMshEntity *find_entity(const tdMshReader *reader, int dim, int tag)
{
    int64_t probe = -1;
    const int32_t *found;
    uint64_t key = pair_key(dim, tag);
    while ((found = td_hash_next(&reader->entity_of, key, &probe)) != NULL)
        if (reader->entities[*found].dim == dim && reader->entities[*found].tag == tag)
            return &reader->entities[*found];
    return NULL;
}

bool td_msh_is_interface(const tdMshReader *reader, int dim, int tag)
{
    const tdMshEntity *entity = find_entity(reader, dim, tag);
    return entity != NULL && entity->interface;
}

// A counted list of ints; kept in physical_tags when `keep`.
static tdStatus read_list(tdMshReader *reader, const char *what, bool keep, int64_t *n)
{
    TD_TRY(td_msh_size(reader, what, n));
    TD_TRY(td_msh_check_count(reader, what, *n, 2, 4));
    if (keep && *n > MOST_GROUPS)
        return td_msh_fail(reader, "an entity is in %lld physical groups, more than the %d that are read",
                           (long long)*n, MOST_GROUPS);
    for (int64_t i = 0; i < *n; i++)
    {
        int64_t value = 0;
        TD_TRY(td_msh_int(reader, what, &value));
        if (!keep)
            continue;
        if (value == 0 || value == INT32_MIN)
            return td_msh_fail(reader, "%lld cannot be the number of a physical group", (long long)value);
        if (!td_grow((void **)&reader->physical_tags, &reader->physical_tags_capacity, reader->n_physical_tags + 1,
                     sizeof(int)))
            return td_fail_memory(reader->error, "the entities");
        reader->physical_tags[reader->n_physical_tags++] = (int)value;
    }
    return TD_OK;
}

static tdStatus read_entity(tdMshReader *reader, int dim, bool partitioned)
{
    int64_t tag = 0, parent_dim = dim, parent = 0, partitions = 0, boundary = 0;
    TD_TRY(td_msh_int(reader, "an entity's tag", &tag));
    if (partitioned)
    {
        TD_TRY(td_msh_int(reader, "the dimension of a parent entity", &parent_dim));
        TD_TRY(td_msh_int(reader, "the tag of a parent entity", &parent));
        TD_TRY(read_list(reader, "partitions of an entity", false, &partitions));
    }
    for (int k = 0; k < (dim == 0 ? 3 : 6); k++)
    {
        double unused;
        TD_TRY(td_msh_real(reader, "a bound of an entity", &unused));
    }
    // The interface between partitions of a surface is a curve that carries the surface's groups,
    // which are no groups of curves.
    tdMshEntity entity = {
        .dim = dim, .tag = (int)tag, .interface = parent_dim != dim, .first = reader->n_physical_tags};
    TD_TRY(read_list(reader, "physical groups of an entity", !entity.interface, &entity.count));
    entity.count = reader->n_physical_tags - entity.first;
    if (dim > 0)
        TD_TRY(read_list(reader, "boundary entities", false, &boundary));
    if (find_entity(reader, dim, (int)tag) != NULL)
        return td_msh_fail(reader, "entity %lld of dimension %d is given twice", (long long)tag, dim);
    int64_t n = reader->n_entities;
    if (!td_grow((void **)&reader->entities, &reader->entities_capacity, n + 1, sizeof entity) ||
        !td_hash_add(&reader->entity_of, pair_key(dim, tag), (int32_t)n))
        return td_fail_memory(reader->error, "the entities");
    reader->entities[reader->n_entities++] = entity;
    return TD_OK;
}

tdStatus td_msh_read_entities(tdMshReader *reader, bool partitioned)
{
    int64_t counts[4] = {0}, partitions = 0, ghosts = 0, unused = 0;
    if (partitioned)
    {
        TD_TRY(td_msh_size(reader, "the number of partitions", &partitions));
        TD_TRY(td_msh_size(reader, "the number of ghost entities", &ghosts));
        TD_TRY(td_msh_check_count(reader, "ghost entities", ghosts, 4, 8));
        for (int64_t i = 0; i < 2 * ghosts; i++)
            TD_TRY(td_msh_int(reader, "a ghost entity", &unused));
        td_mesh_note(reader->mesh, "the division into %lld partitions was skipped; the groups were kept",
                     (long long)partitions);
    }
    for (int dim = 0; dim < 4; dim++)
        TD_TRY(td_msh_size(reader, "the number of entities of a dimension", &counts[dim]));
    for (int dim = 0; dim < 4; dim++)
    {
        TD_TRY(td_msh_check_count(reader, "entities", counts[dim], 8, 28));
        for (int64_t i = 0; i < counts[dim]; i++)
            TD_TRY(read_entity(reader, dim, partitioned));
    }
    return TD_OK;
}

static tdStatus resolve_block(tdMshReader *reader, const tdMshBlock *block)
{
    const tdMshEntity *entity = find_entity(reader, block->dim, block->entity);
    if (entity == NULL)
        reader->homeless += reader->n_entities > 0 ? block->count : 0;
    if (entity == NULL || entity->count == 0)
        return TD_OK;
    int64_t negative = 0;
    for (int64_t k = 0; k < entity->count; k++)
    {
        int tag = reader->physical_tags[entity->first + k];
        negative += tag < 0;
        int group = physical_group(reader, block->dim, abs(tag));
        if (group < 0)
            return td_fail_memory(reader->error, "the groups");
        for (int64_t c = block->first; c < block->first + block->count; c++)
            if (!td_mesh_group_add(reader->mesh, group, block->type, c))
                return td_fail_memory(reader->error, "the groups");
    }
    if (negative == 0 || block->dim == 0 || block->dim == 3)
        return TD_OK;
    if (negative < entity->count)
    {
        reader->reversed += block->count;
        return TD_OK;
    }
    int nodes = td_cell_nodes(block->type);
    for (int64_t c = block->first; c < block->first + block->count; c++)
        td_msh_reverse(block->type, reader->mesh->cells[block->type].nodes + c * nodes);
    return TD_OK;
}

// ---------------------------------------------------------------- memberships (2.2)

// For lines and faces the order of the nodes does not count, so that a reversed cell has the same key.
static uint64_t cell_key(tdCellType type, int64_t entity, const int32_t *nodes)
{
    uint64_t sum = 0;
    for (int k = 0; k < td_cell_nodes(type); k++)
        sum = (td_cell_dim(type) == 3 ? td_hash_mix(sum) : sum) + td_hash_mix((uint64_t)nodes[k] + 1);
    return td_hash_mix(sum ^ pair_key((int64_t)type, entity));
}

static struct tdMshKnown *find_known(const tdMshReader *reader, tdCellType type, int64_t entity, const int32_t *nodes,
                                     bool *reversed)
{
    int n = td_cell_nodes(type);
    int32_t turned[10];
    memcpy(turned, nodes, (size_t)n * sizeof(int32_t));
    td_msh_reverse(type, turned);
    int64_t probe = -1;
    const int32_t *found;
    uint64_t key = cell_key(type, entity, nodes);
    while ((found = td_hash_next(&reader->known_of, key, &probe)) != NULL)
    {
        struct tdMshKnown *known = &reader->known[*found];
        if (known->type != type || known->entity != entity)
            continue;
        const int32_t *other = reader->mesh->cells[type].nodes + (int64_t)known->cell * n;
        bool same = memcmp(other, nodes, (size_t)n * sizeof(int32_t)) == 0;
        *reversed = !same && memcmp(other, turned, (size_t)n * sizeof(int32_t)) == 0;
        if (same || *reversed)
            return known;
    }
    return NULL;
}

static tdStatus add_member(tdMshReader *reader, struct tdMshKnown *known, int tag)
{
    if (reader->n_members >= INT32_MAX ||
        !td_grow((void **)&reader->members, &reader->members_capacity, reader->n_members + 1, sizeof(tdMshMember)))
        return td_fail_memory(reader->error, "the groups");
    reader->members[reader->n_members] =
        (tdMshMember){.type = known->type, .cell = known->cell, .tag = tag, .next = known->members};
    known->members = (int32_t)reader->n_members++;
    return TD_OK;
}

tdStatus td_msh_merge(tdMshReader *reader, tdCellType type, int64_t entity, int tag, const int32_t *nodes, bool *merged)
{
    bool reversed = false;
    struct tdMshKnown *known = find_known(reader, type, entity, nodes, &reversed);
    *merged = known != NULL;
    for (int32_t m = known == NULL ? -1 : known->members; m >= 0; m = reader->members[m].next)
        *merged = *merged && reader->members[m].tag != tag;
    if (!*merged)
        return TD_OK;
    reader->reversed += reversed;
    return add_member(reader, known, tag);
}

tdStatus td_msh_member(tdMshReader *reader, tdCellType type, int64_t entity, int tag)
{
    int64_t cell = reader->mesh->cells[type].count - 1;
    const int32_t *nodes = reader->mesh->cells[type].nodes + cell * td_cell_nodes(type);
    bool reversed = false;
    struct tdMshKnown *known = find_known(reader, type, entity, nodes, &reversed);
    if (known == NULL)
    {
        int64_t n = reader->n_known;
        if (!td_grow((void **)&reader->known, &reader->known_capacity, n + 1, sizeof *known) ||
            !td_hash_add(&reader->known_of, cell_key(type, entity, nodes), (int32_t)n))
            return td_fail_memory(reader->error, "the groups");
        known = &reader->known[reader->n_known++];
    }
    *known = (struct tdMshKnown){.type = type, .cell = (int32_t)cell, .members = -1, .entity = entity};
    return add_member(reader, known, tag);
}

// By type and cell: groups want their cells in ascending order.
static int by_cell(const void *a, const void *b)
{
    const tdMshMember *p = a, *q = b;
    if (p->type != q->type)
        return p->type < q->type ? -1 : 1;
    return (p->cell > q->cell) - (p->cell < q->cell);
}

static tdStatus resolve_members(tdMshReader *reader)
{
    // Groups without a name are made in the order of the file, whatever the order of the cells.
    for (int64_t i = 0; i < reader->n_members; i++)
        if (physical_group(reader, td_cell_dim(reader->members[i].type), reader->members[i].tag) < 0)
            return td_fail_memory(reader->error, "the groups");
    qsort(reader->members, (size_t)reader->n_members, sizeof(tdMshMember), by_cell);
    for (int64_t i = 0; i < reader->n_members; i++)
    {
        const tdMshMember *m = &reader->members[i];
        int group = physical_group(reader, td_cell_dim(m->type), m->tag);
        if (!td_mesh_group_add(reader->mesh, group, m->type, m->cell))
            return td_fail_memory(reader->error, "the groups");
    }
    return TD_OK;
}

tdStatus td_msh_make_groups(tdMshReader *reader)
{
    for (int64_t b = 0; b < reader->n_blocks; b++)
        TD_TRY(resolve_block(reader, &reader->blocks[b]));
    if (reader->n_members > 0)
        TD_TRY(resolve_members(reader));
    td_mesh_group_dims(reader->mesh);
    if (reader->reversed > 0)
        td_mesh_note(reader->mesh, "%lld cells are in groups of opposite orientations; they keep one",
                     (long long)reader->reversed);
    if (reader->homeless > 0)
        td_mesh_note(reader->mesh, "%lld cells belong to entities that $Entities does not list, so to no group",
                     (long long)reader->homeless);
    return TD_OK;
}
