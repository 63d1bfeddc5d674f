// SPDX-License-Identifier: Apache-2.0
// Legacy VTK reader on any bytes. What it accepts must survive being written and read again.
#include "fuzz_mesh.h"

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
            fuzz_check(status == TD_OK || (status == TD_ERROR_USAGE && strstr(error.message, "too long") != NULL));
            if (status == TD_OK)
            {
                fuzz_check(td_mesh_read_vtk(out.data, (size_t)out.size, "again.vtk", &again, &error) == TD_OK);
                fuzz_same(&mesh, &again);
            }
            td_mesh_free(&again);
            free(out.data);
        }
    else
        fuzz_check(error.message[0] != '\0');
    td_mesh_free(&mesh);
    free(copy);
    return 0;
}
