// SPDX-License-Identifier: Apache-2.0
// A Collada document: refused with a message, or a sound mesh whose materials are its groups.
#include "fuzz_mesh.h"

#include "mesh/dae.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static tdStatus read_as_written(const char *data, size_t size, const char *name, tdMesh *mesh, tdError *error)
{
    tdDaeColours colours = {0};
    tdStatus status = td_mesh_read_dae_colours(data, size, name, true, mesh, &colours, error);
    fuzz_check(status != TD_OK || colours.n == mesh->n_groups);
    free(colours.rgba);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tdMesh turned, plain;
    tdStatus status = fuzz_read(td_mesh_read_dae, data, size, &turned);
    fuzz_check(fuzz_read(read_as_written, data, size, &plain) == status);
    if (status == TD_OK)
        fuzz_same(&turned, &plain);
    td_mesh_free(&turned);
    td_mesh_free(&plain);
    return 0;
}
