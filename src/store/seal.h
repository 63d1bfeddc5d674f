// SPDX-License-Identifier: Apache-2.0
// HDF5 files that can be trusted: an HDF5 file behind a block of 512 bytes that says what the rest is: magic, format,
// length and CRC-32. HDF5 tools look for their file at 512 too and open it as usual. The library is not safe on damaged
// files, so it only ever sees bytes whose length and sum are right.
#pragma once
#include "base/status.h"

#include <hdf5.h>

#define TD_SEAL_BYTES 512

typedef struct tdSeal
{
    char magic[8];
    uint32_t format;
    const char *what;  ///< "checkpoint"
    const char *given; ///< what else to give, when it is none: "give a file written by ..."
    const char *again; ///< what to do about a damaged one
    const char *other; ///< and about one of another format
} tdSeal;

/// An HDF5 file in memory, behind room for the block: `fill` writes its content. free() the image.
tdStatus td_seal_make(const tdSeal *seal, const char *path, herr_t (*fill)(void *context, hid_t file), void *context,
                      unsigned char **image, size_t *size, tdError *error);
/// Fills the block. `tag` is the kind's own, e.g. the hash of a scene.
void td_seal_close(const tdSeal *seal, uint64_t tag, unsigned char *image, size_t size);

/// Everything that can be said of a file before HDF5 looks at it.
tdStatus td_seal_check(const tdSeal *seal, const unsigned char *file, size_t size, const char *path, uint64_t *tag,
                       tdError *error);
/// Opens the HDF5 file of a checked image, read only.
tdStatus td_seal_open(const tdSeal *seal, void *image, size_t size, const char *path, hid_t *file, tdError *error);
