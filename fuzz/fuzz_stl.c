// SPDX-License-Identifier: Apache-2.0
#include "fuzz_mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tdMesh mesh, back;
    if (fuzz_read(td_mesh_read_stl, data, size, &mesh) == TD_OK)
        for (int mode = 0; mode < 2; mode++)
        {
            tdText text = {0};
            tdError error = {0};
            // Single precision may be too coarse, which the writer refuses.
            tdStatus status = td_mesh_write_stl(&mesh, mode == 0 ? TD_MESH_ASCII : TD_MESH_BINARY, &text, &error);
            if (status != TD_OK && mode == 0)
                abort();
            if (status == TD_OK)
            {
                if (fuzz_read(td_mesh_read_stl, text.data, (size_t)text.size, &back) != TD_OK)
                    abort();
                fuzz_compare(&mesh, &back, false, false);
            }
            free(text.data);
        }
    td_mesh_free(&mesh);
    return 0;
}
