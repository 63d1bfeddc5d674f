// SPDX-License-Identifier: Apache-2.0
// Legacy VTK reader on any bytes. What it accepts must survive being written and read again.
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1);
    if (copy == NULL)
        return 0;
    memcpy(copy, data, size);
    copy[size] = '\0';
    tdMesh mesh = {0};
    tdError error = {0};
    if (td_mesh_read_vtk(copy, size, "fuzz.vtk", &mesh, &error) == TD_OK)
        for (int encoding = TD_MESH_ASCII; encoding <= TD_MESH_BINARY; encoding++)
        {
            tdText out = {0};
            tdMesh again = {0};
            tdStatus status = td_mesh_write_vtk(&mesh, (tdMeshEncoding)encoding, &out, &error);
            check(status == TD_OK || (status == TD_ERROR_USAGE && strstr(error.message, "too long") != NULL));
            if (status == TD_OK)
            {
                check(td_mesh_read_vtk(out.data, (size_t)out.size, "again.vtk", &again, &error) == TD_OK);
                check_same(&mesh, &again);
            }
            td_mesh_free(&again);
            free(out.data);
        }
    else
        check(error.message[0] != '\0');
    td_mesh_free(&mesh);
    free(copy);
    return 0;
}
