// SPDX-License-Identifier: Apache-2.0
// A PLY file: refused with a message, or a sound surface that survives being written as OBJ.
#include "fuzz_mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tdMesh mesh, back;
    if (fuzz_read(td_mesh_read_ply, data, size, &mesh) == TD_OK)
    {
        tdText text = {0};
        tdError error = {0};
        fuzz_check(td_mesh_write_obj(&mesh, &text, &error) == TD_OK);
        fuzz_check(fuzz_read(td_mesh_read_obj, text.data, (size_t)text.size, &back) == TD_OK);
        fuzz_compare(&mesh, &back, true, true);
        free(text.data);
    }
    td_mesh_free(&mesh);
    return 0;
}
