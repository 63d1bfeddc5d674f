// SPDX-License-Identifier: Apache-2.0
// Writes MSH 2.2 and 4.1. Cells in the same groups share an entity, so there is one entity for each
// dimension and set of groups. Nothing is lost: cells keep their order (4.1: a block for each run of
// cells of one entity), and a cell in several groups is written in 2.2 once for each, as Gmsh does;
// the reader joins them again.
#include "mesh/members.h"
#include "mesh/msh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct writeEntity
{
    int dim, tag; // tags from 1 in each dimension
    int n_groups;
    const int32_t *groups;
    double low[3], high[3];
} writeEntity;

typedef struct mshWriter
{
    const tdMesh *mesh;
    tdText *out;
    tdError *error;
    bool binary;
    tdArena arena;
    int (*tags)[4]; // of each group as a physical group of each dimension; 0: not there
    tdMembers members[TD_CELL_TYPES];
    int32_t *entity_of[TD_CELL_TYPES]; // of each cell
    writeEntity *entities;
    int64_t n_entities, entities_capacity;
    int counts[4]; // entities of each dimension
} mshWriter;

static int gmsh_type(tdCellType cell)
{
    for (int t = 1; t < TD_MSH_TYPES; t++)
        if (td_msh_types[t].name != NULL && td_msh_types[t].cell == (int)cell)
            return t;
    return 0;
}

// ---------------------------------------------------------------- groups and entities

static tdStatus check_names(const mshWriter *w)
{
    tdHash names = {0};
    tdStatus status = TD_OK;
    for (int g = 0; g < w->mesh->n_groups && status == TD_OK; g++)
    {
        const char *name = w->mesh->groups[g].name;
        size_t n = strlen(name);
        if (n == 0 || n > TD_MSH_NAME || strchr(name, '\n') != NULL)
            status = td_fail(w->error, TD_ERROR_INPUT,
                             "group %d ('%.60s') cannot be written to MSH: a name has 1 to %d bytes and no line break; "
                             "rename it",
                             g, name, TD_MSH_NAME);
        uint64_t key = td_hash_bytes(name, n);
        int64_t probe = -1;
        const int32_t *found;
        while (status == TD_OK && (found = td_hash_next(&names, key, &probe)) != NULL)
            if (strcmp(w->mesh->groups[*found].name, name) == 0)
                status = td_fail(w->error, TD_ERROR_INPUT, "two groups are named '%.60s'; rename one", name);
        if (status == TD_OK && !td_hash_add(&names, key, g))
            status = td_fail_memory(w->error, "the groups");
    }
    td_hash_free(&names);
    return status;
}

static bool group_has_dim(const tdGroup *group, int dim)
{
    int64_t here = 0, all = 0;
    for (int t = 0; t < TD_CELL_TYPES; t++)
    {
        all += group->count[t];
        here += td_cell_dim((tdCellType)t) == dim ? group->count[t] : 0;
    }
    return all > 0 ? here > 0 : dim == (group->dim < 0 ? 3 : group->dim); // an empty group still has a name
}

// Numbers of the physical groups: those they came with where they are free, else the next free ones.
static tdStatus number_groups(mshWriter *w)
{
    int n = w->mesh->n_groups;
    w->tags = td_arena_take(&w->arena, (size_t)n, sizeof *w->tags);
    if (w->tags == NULL)
        return td_fail_memory(w->error, "the groups");
    for (int dim = 0; dim < 4; dim++)
    {
        tdHash used = {0};
        bool good = true;
        for (int pass = 0; pass < 2; pass++)
            for (int g = 0, next = 1; g < n && good; g++)
            {
                const tdGroup *group = &w->mesh->groups[g];
                if (w->tags[g][dim] != 0 || !group_has_dim(group, dim) || (pass == 0 && group->tag <= 0))
                    continue;
                int64_t probe = -1;
                int tag = pass == 0 ? group->tag : next;
                if (pass == 0 && td_hash_next(&used, td_hash_mix((uint64_t)tag), &probe) != NULL)
                    continue;
                while (pass == 1 && td_hash_next(&used, td_hash_mix((uint64_t)tag), &probe) != NULL)
                {
                    tag++;
                    probe = -1;
                }
                good = td_hash_add(&used, td_hash_mix((uint64_t)tag), g);
                w->tags[g][dim] = tag;
                next = pass == 1 ? tag + 1 : next;
            }
        td_hash_free(&used);
        if (!good)
            return td_fail_memory(w->error, "the groups");
    }
    return TD_OK;
}

// The entity of this dimension and set of groups, made if missing; -1 when memory runs out.
static int32_t find_entity(mshWriter *w, tdHash *known, int dim, int n, const int32_t *groups)
{
    uint64_t key = td_hash_mix(td_hash_bytes(groups, (size_t)n * sizeof *groups) + (uint64_t)dim);
    int64_t probe = -1;
    const int32_t *found;
    while ((found = td_hash_next(known, key, &probe)) != NULL)
    {
        const writeEntity *e = &w->entities[*found];
        if (e->dim == dim && e->n_groups == n && memcmp(e->groups, groups, (size_t)n * sizeof *groups) == 0)
            return *found;
    }
    int32_t made = (int32_t)w->n_entities;
    if (!td_grow((void **)&w->entities, &w->entities_capacity, w->n_entities + 1, sizeof(writeEntity)) ||
        !td_hash_add(known, key, made))
        return -1;
    w->entities[w->n_entities++] = (writeEntity){.dim = dim,
                                                 .tag = ++w->counts[dim],
                                                 .n_groups = n,
                                                 .groups = groups,
                                                 .low = {1e300, 1e300, 1e300},
                                                 .high = {-1e300, -1e300, -1e300}};
    return made;
}

static void enclose(mshWriter *w, writeEntity *entity, tdCellType type, int64_t cell)
{
    int n = td_cell_nodes(type);
    for (int k = 0; k < n; k++)
    {
        const double *x = w->mesh->x + 3 * (int64_t)w->mesh->cells[type].nodes[cell * n + k];
        for (int d = 0; d < 3; d++)
        {
            entity->low[d] = x[d] < entity->low[d] ? x[d] : entity->low[d];
            entity->high[d] = x[d] > entity->high[d] ? x[d] : entity->high[d];
        }
    }
}

static tdStatus make_entities(mshWriter *w)
{
    tdHash known = {0};
    bool good = true;
    for (int t = 0; t < TD_CELL_TYPES && good; t++)
    {
        w->entity_of[t] = TD_TAKE(&w->arena, int32_t, w->mesh->cells[t].count);
        good = w->entity_of[t] != NULL && td_mesh_members(w->mesh, (tdCellType)t, &w->arena, &w->members[t]);
        for (int64_t c = 0; good && c < w->mesh->cells[t].count; c++)
        {
            const tdMembers *members = &w->members[t];
            int n = (int)(members->start[c + 1] - members->start[c]);
            int32_t e = find_entity(w, &known, td_cell_dim((tdCellType)t), n, members->list + members->start[c]);
            good = e >= 0;
            if (!good)
                break;
            w->entity_of[t][c] = e;
            enclose(w, &w->entities[e], (tdCellType)t, c);
        }
    }
    td_hash_free(&known);
    return good ? TD_OK : td_fail_memory(w->error, "the groups");
}

// ---------------------------------------------------------------- output

// n numbers, as text with `last` behind the last one, or in binary.
static void put_ints(mshWriter *w, int n, const int32_t *values, const char *last)
{
    char text[24];
    if (w->binary)
        td_text_append(w->out, values, (size_t)n * sizeof *values);
    for (int i = 0; i < n && !w->binary; i++)
        td_text_append(w->out, text, (size_t)snprintf(text, sizeof text, "%d%s", values[i], i + 1 < n ? " " : last));
}

static void put_sizes(mshWriter *w, int n, const int64_t *values, const char *last)
{
    char text[32];
    if (w->binary)
        td_text_append(w->out, values, (size_t)n * sizeof *values);
    for (int i = 0; i < n && !w->binary; i++)
        td_text_append(w->out, text,
                       (size_t)snprintf(text, sizeof text, "%lld%s", (long long)values[i], i + 1 < n ? " " : last));
}

static void put_reals(mshWriter *w, int n, const double *values, const char *last)
{
    char text[40];
    if (w->binary)
        td_text_append(w->out, values, (size_t)n * sizeof *values);
    for (int i = 0; i < n && !w->binary; i++)
        td_text_append(w->out, text, (size_t)snprintf(text, sizeof text, "%.17g%s", values[i], i + 1 < n ? " " : last));
}

static void end_section(mshWriter *w, const char *name)
{
    td_text_format(w->out, "%s$End%s\n", w->binary ? "\n" : "", name);
}

static void write_header(mshWriter *w, const char *version)
{
    td_text_format(w->out, "$MeshFormat\n%s %d 8\n", version, w->binary);
    if (w->binary)
        put_ints(w, 1, &(int32_t){1}, "");
    end_section(w, "MeshFormat");
    if (w->mesh->n_groups == 0)
        return;
    int names = 0;
    for (int g = 0; g < w->mesh->n_groups; g++)
        for (int dim = 0; dim < 4; dim++)
            names += w->tags[g][dim] != 0;
    td_text_format(w->out, "$PhysicalNames\n%d\n", names);
    for (int g = 0; g < w->mesh->n_groups; g++) // in the order of the mesh, to be read in the same
        for (int dim = 0; dim < 4; dim++)
            if (w->tags[g][dim] != 0)
                td_text_format(w->out, "%d %d \"%s\"\n", dim, w->tags[g][dim], w->mesh->groups[g].name);
    td_text_format(w->out, "$EndPhysicalNames\n");
}

static void write_entities(mshWriter *w)
{
    td_text_format(w->out, "$Entities\n");
    put_sizes(w, 4, (int64_t[]){w->counts[0], w->counts[1], w->counts[2], w->counts[3]}, "\n");
    for (int dim = 0; dim < 4; dim++)
        for (int64_t i = 0; i < w->n_entities; i++)
        {
            const writeEntity *e = &w->entities[i];
            if (e->dim != dim)
                continue;
            put_ints(w, 1, &e->tag, " ");
            put_reals(w, 3, e->low, " ");
            if (dim > 0)
                put_reals(w, 3, e->high, " ");
            put_sizes(w, 1, &(int64_t){e->n_groups}, " ");
            for (int k = 0; k < e->n_groups; k++)
                put_ints(w, 1, &w->tags[e->groups[k]][dim], " ");
            if (dim > 0)
                put_sizes(w, 1, &(int64_t){0}, "");
            if (!w->binary)
                td_text_append(w->out, "\n", 1);
        }
    end_section(w, "Entities");
}

// All nodes in one block, which keeps their order, on an entity of the highest dimension.
static void write_nodes41(mshWriter *w)
{
    int dim = 3;
    while (dim > 0 && w->counts[dim] == 0)
        dim--;
    int64_t n = w->mesh->n_nodes;
    td_text_format(w->out, "$Nodes\n");
    put_sizes(w, 4, (int64_t[]){1, n, 1, n}, "\n");
    put_ints(w, 3, (int32_t[]){dim, 1, 0}, " ");
    put_sizes(w, 1, &n, "\n");
    for (int64_t i = 0; i < n; i++)
        put_sizes(w, 1, &(int64_t){i + 1}, "\n");
    for (int64_t i = 0; i < n; i++)
        put_reals(w, 3, w->mesh->x + 3 * i, "\n");
    end_section(w, "Nodes");
}

static void write_nodes22(mshWriter *w)
{
    td_text_format(w->out, "$Nodes\n%lld\n", (long long)w->mesh->n_nodes);
    for (int64_t i = 0; i < w->mesh->n_nodes; i++)
    {
        put_ints(w, 1, &(int32_t){(int32_t)(i + 1)}, " ");
        put_reals(w, 3, w->mesh->x + 3 * i, "\n");
    }
    end_section(w, "Nodes");
}

// Node numbers of a cell in Gmsh's order, from 1.
static int gmsh_nodes(const tdMesh *mesh, tdCellType type, int64_t cell, int32_t *nodes)
{
    int n = td_cell_nodes(type);
    for (int k = 0; k < n; k++)
        nodes[k] = mesh->cells[type].nodes[cell * n + k] + 1;
    if (type == TD_CELL_TET10) // Gmsh: ... 23 13
    {
        int32_t kept = nodes[8];
        nodes[8] = nodes[9];
        nodes[9] = kept;
    }
    return n;
}

static void write_elements41(mshWriter *w)
{
    int64_t blocks = 0, total = 0;
    for (int t = 0; t < TD_CELL_TYPES; t++)
    {
        total += w->mesh->cells[t].count;
        for (int64_t c = 0; c < w->mesh->cells[t].count; c++)
            blocks += c == 0 || w->entity_of[t][c] != w->entity_of[t][c - 1];
    }
    td_text_format(w->out, "$Elements\n");
    put_sizes(w, 4, (int64_t[]){blocks, total, 1, total}, "\n");
    int64_t tag = 0;
    for (int t = 0; t < TD_CELL_TYPES; t++)
        for (int64_t c = 0, end; c < w->mesh->cells[t].count; c = end)
        {
            for (end = c + 1; end < w->mesh->cells[t].count && w->entity_of[t][end] == w->entity_of[t][c];)
                end++;
            const writeEntity *e = &w->entities[w->entity_of[t][c]];
            put_ints(w, 3, (int32_t[]){e->dim, e->tag, gmsh_type((tdCellType)t)}, " ");
            put_sizes(w, 1, &(int64_t){end - c}, "\n");
            for (int64_t i = c; i < end; i++)
            {
                int32_t nodes[10] = {0};
                int64_t numbers[11] = {++tag};
                int n = gmsh_nodes(w->mesh, (tdCellType)t, i, nodes);
                for (int k = 0; k < n; k++)
                    numbers[1 + k] = nodes[k];
                put_sizes(w, 1 + n, numbers, "\n");
            }
        }
    end_section(w, "Elements");
}

static tdStatus write_elements22(mshWriter *w)
{
    // A cell without a group is written once, with group 0.
    int64_t counts[TD_CELL_TYPES] = {0}, total = 0;
    for (int t = 0; t < TD_CELL_TYPES; t++)
    {
        for (int64_t c = 0; c < w->mesh->cells[t].count; c++)
        {
            int n = w->entities[w->entity_of[t][c]].n_groups;
            counts[t] += n > 0 ? n : 1;
        }
        total += counts[t];
    }
    if (total > INT32_MAX)
        return td_fail(w->error, TD_ERROR_INPUT, "%lld elements are too many for MSH 2.2; write 4.1", (long long)total);
    td_text_format(w->out, "$Elements\n%lld\n", (long long)total);
    int32_t number = 0;
    for (int t = 0; t < TD_CELL_TYPES; t++)
    {
        int type = gmsh_type((tdCellType)t);
        if (w->binary && counts[t] > 0)
            put_ints(w, 3, (int32_t[]){type, (int32_t)counts[t], 2}, "");
        for (int64_t c = 0; c < w->mesh->cells[t].count; c++)
        {
            const writeEntity *e = &w->entities[w->entity_of[t][c]];
            int32_t nodes[10] = {0};
            int n = gmsh_nodes(w->mesh, (tdCellType)t, c, nodes);
            for (int k = 0; k == 0 || k < e->n_groups; k++)
            {
                int tag = e->n_groups > 0 ? w->tags[e->groups[k]][e->dim] : 0;
                put_ints(w, 1, &(int32_t){++number}, " ");
                if (!w->binary)
                    put_ints(w, 2, (int32_t[]){type, 2}, " ");
                put_ints(w, 2, (int32_t[]){tag, e->tag}, " ");
                put_ints(w, n, nodes, "\n");
            }
        }
    }
    end_section(w, "Elements");
    return TD_OK;
}

static tdStatus write_all(mshWriter *w, tdMeshFormat version)
{
    TD_TRY(td_mesh_check(w->mesh, NULL, w->error));
    TD_TRY(check_names(w));
    TD_TRY(number_groups(w));
    TD_TRY(make_entities(w));
    write_header(w, version == TD_MESH_MSH22 ? "2.2" : "4.1");
    if (version == TD_MESH_MSH22)
    {
        write_nodes22(w);
        TD_TRY(write_elements22(w));
    }
    else
    {
        write_entities(w);
        write_nodes41(w);
        write_elements41(w);
    }
    return w->out->failed ? td_fail_memory(w->error, "the file") : TD_OK;
}

tdStatus td_mesh_write_msh(const tdMesh *mesh, tdMeshFormat version, tdMeshEncoding encoding, tdText *out,
                           tdError *error)
{
    if (version != TD_MESH_MSH22 && version != TD_MESH_MSH41)
        return td_fail(error, TD_ERROR_USAGE, "MSH is written in version 2.2 or 4.1");
    if (encoding != TD_MESH_ASCII && encoding != TD_MESH_BINARY)
        return td_fail(error, TD_ERROR_USAGE, "MSH is written as text or as binary");
    mshWriter writer = {.mesh = mesh, .out = out, .error = error, .binary = encoding == TD_MESH_BINARY};
    tdStatus status = write_all(&writer, version);
    td_arena_free(&writer.arena);
    free(writer.entities);
    return status;
}
