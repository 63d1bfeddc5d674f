// SPDX-License-Identifier: Apache-2.0
// The little of HDF5 that our files need. Objects carry no times, so that equal runs give equal bytes.
// HDF5 keeps an error stack and prints it by default; between td_h5_begin() and td_h5_end() it is silent,
// and whatever the caller had set is put back. With a thread-safe HDF5, as Debian's is, each thread has its own error
// stack and files may be used from several threads; with another one, from one thread at a time.
#pragma once
#include "base/memory.h"
#include "base/status.h"

#include <hdf5.h>

typedef struct tdH5Quiet
{
    H5E_auto2_t print;
    void *data;
} tdH5Quiet;

tdH5Quiet td_h5_begin(void);
void td_h5_end(tdH5Quiet quiet);

/// Fails with HDF5's own innermost reason. To be called right after the call that failed.
tdStatus td_h5_fail(tdError *error, tdStatus status, const char *path, const char *what);

// All return a negative number on failure, as HDF5 does.

hid_t td_h5_group(hid_t parent, const char *name);
herr_t td_h5_text(hid_t object, const char *name, const char *value);
/// A list of texts.
herr_t td_h5_texts(hid_t object, const char *name, int n, const char *const *values);
/// The same as an array of its own: attributes hold 64 KiB at most.
herr_t td_h5_text_array(hid_t group, const char *name, int n, const char *const *values);
herr_t td_h5_integer(hid_t object, const char *name, int64_t value);
herr_t td_h5_number(hid_t object, const char *name, double value);

/// Writes an array whole. `type` is that in memory; in the file it is little-endian.
herr_t td_h5_array(hid_t parent, const char *name, hid_t type, int rank, const hsize_t *dims, const void *data,
                   const char *unit);

/// A dataset that grows along its first axis: rows of dims[0..rank-1]. rank 0: a column of numbers.
hid_t td_h5_series(hid_t parent, const char *name, hid_t type, int rank, const hsize_t *dims, int deflate,
                   const char *unit);
/// Adds a row, or several that follow each other.
herr_t td_h5_append(hid_t series, hid_t type, const void *row);
herr_t td_h5_append_rows(hid_t series, hid_t type, hsize_t n, const void *rows);
/// Cuts or fills to `rows` rows.
herr_t td_h5_resize(hid_t series, hsize_t rows);

// Reading what may be anybody's file: shapes and types are compared before memory is taken. A name may be a path. All
// name the file and the place in what they say.

#define TD_H5_LONGEST_TEXT 4096

/// Text attribute of `object` ("." : the group itself).
tdStatus td_h5_read_text(hid_t file, const char *object, const char *name, tdArena *arena, const char *path,
                         const char **out, tdError *error);
/// List of texts; n is how many there must be, or -1: any number up to `most`, returned in *count.
tdStatus td_h5_read_texts(hid_t file, const char *object, const char *name, int n, int most, tdArena *arena,
                          const char *path, int *count, const char ***out, tdError *error);
tdStatus td_h5_read_integer(hid_t file, const char *object, const char *name, const char *path, int64_t least,
                            int64_t most, int64_t *out, tdError *error);
tdStatus td_h5_read_number(hid_t file, const char *object, const char *name, const char *path, double *out,
                           tdError *error);
/// Whether there is such an attribute.
bool td_h5_has_attribute(hid_t file, const char *object, const char *name);
/// Shape of a dataset of the rank, with each dimension of at most `most`.
tdStatus td_h5_read_shape(hid_t file, const char *name, const char *path, int rank, int64_t most, int64_t *dims,
                          tdError *error);
/// A whole dataset of that shape: doubles or, with `integers`, int32_t. Memory of the arena.
tdStatus td_h5_read_array(hid_t file, const char *name, const char *path, bool integers, int rank, const int64_t *dims,
                          tdArena *arena, void **out, tdError *error);
