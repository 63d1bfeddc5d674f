// SPDX-License-Identifier: Apache-2.0
// VTU reader on any bytes. What it accepts must survive being written and read again, fields and all.
#include "fuzz_mesh.h"

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
        fuzz_check(td_mesh_write_vtu(mesh, (tdMeshEncoding)encoding, n_node, by_node, n_cell, by_cell, &out, &error) ==
                   TD_OK);
        fuzz_check(td_mesh_read_vtu_fields(out.data, (size_t)out.size, "again.vtu", &again, &read, &error) == TD_OK);
        fuzz_same(mesh, &again);
        fuzz_check(read.n == n_node + n_cell);
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
        fuzz_check(error.message[0] != '\0');
    td_fields_free(&fields);
    td_mesh_free(&mesh);
    free(copy);
    return 0;
}
