// SPDX-License-Identifier: Apache-2.0
#include "fuzz_mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tdMesh mesh, back;
    if (fuzz_read(td_mesh_read_msh, data, size, &mesh) == TD_OK)
        for (int mode = 0; mode < 4; mode++)
        {
            tdText text = {0};
            tdError error = {0};
            tdMeshFormat version = mode < 2 ? TD_MESH_MSH22 : TD_MESH_MSH41;
            tdMeshEncoding encoding = mode % 2 == 0 ? TD_MESH_ASCII : TD_MESH_BINARY;
            if (td_mesh_write_msh(&mesh, version, encoding, &text, &error) != TD_OK ||
                fuzz_read(td_mesh_read_msh, text.data, (size_t)text.size, &back) != TD_OK)
                abort(); // whatever was read can be written and read again
            fuzz_compare(&mesh, &back, true, true);
            free(text.data);
        }
    td_mesh_free(&mesh);
    return 0;
}
