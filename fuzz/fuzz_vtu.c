// SPDX-License-Identifier: Apache-2.0
// VTU reader on any bytes. What it accepts must survive being written and read again, fields and all.
#include "mesh/mesh.h"

#include <stdlib.h>
#include <string.h>

static void check(bool condition)
{
    if (!condition)
        abort();
}

static void check_same(const tdMesh *a, const tdMesh *b)
{
    check(a->n_nodes == b->n_nodes && a->n_groups == b->n_groups);
    for (int t = 0; t < TD_CELL_TYPES; t++)
        check(a->cells[t].count == b->cells[t].count);
    for (int g = 0; g < a->n_groups; g++)
        for (int t = 0; t < TD_CELL_TYPES; t++)
            check(a->groups[g].count[t] == b->groups[g].count[t]);
}

static void write_and_read(const tdMesh *mesh, const tdFields *fields)
{
    enum
    {
        MOST = 32
    };
    tdField by_node[MOST], by_cell[MOST];
    int n_node = 0, n_cell = 0;
    for (int i = 0; i < fields->n && n_node < MOST && n_cell < MOST; i++)
    {
        const struct tdFieldData *f = &fields->field[i];
        *(f->by_cell ? &by_cell[n_cell++] : &by_node[n_node++]) = (tdField){f->name, f->components, f->data};
    }
    for (int encoding = TD_MESH_ASCII; encoding <= TD_MESH_COMPRESSED; encoding++)
    {
        tdText out = {0};
        tdMesh again = {0};
        tdFields read = {0};
        tdError error = {0};
        check(td_mesh_write_vtu(mesh, (tdMeshEncoding)encoding, n_node, by_node, n_cell, by_cell, &out, &error) ==
              TD_OK);
        check(td_mesh_read_vtu_fields(out.data, (size_t)out.size, "again.vtu", &again, &read, &error) == TD_OK);
        check_same(mesh, &again);
        check(read.n == n_node + n_cell);
        td_mesh_free(&again);
        td_fields_free(&read);
        free(out.data);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1);
    if (copy == NULL)
        return 0;
    memcpy(copy, data, size);
    copy[size] = '\0';
    tdMesh mesh = {0};
    tdFields fields = {0};
    tdError error = {0};
    if (td_mesh_read_vtu_fields(copy, size, "fuzz.vtu", &mesh, &fields, &error) == TD_OK)
        write_and_read(&mesh, &fields);
    else
        check(error.message[0] != '\0');
    td_fields_free(&fields);
    td_mesh_free(&mesh);
    free(copy);
    return 0;
}
