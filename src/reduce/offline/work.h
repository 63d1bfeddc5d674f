// SPDX-License-Identifier: Apache-2.0
// The folder in which a long job keeps what it has done, so that it goes on after it was killed at any moment. A part
// is a file that appears whole, by rename, with a checksum and the key of what it was made from: one of another key is
// as good as not there. So a job whose later phases are asked for with other settings finds what the earlier ones did.
// The folder belongs to jobs with one text, which says line by line what is too dear to be thrown away unasked. One
// process works in it at a time.
#pragma once
#include "base/lock.h"

typedef struct tdWork
{
    char folder[PATH_MAX - 64]; ///< leaves room for names
    uint64_t key;               ///< of the text
    tdLock lock;
    bool resumed; ///< it was there before
} tdWork;

/// Makes the folder, or opens that of the same job. One of another job is refused, and the first line of `about` that
/// differs is told; `restart` throws its parts away instead.
tdStatus td_work_open(const char *folder, const char *about, bool restart, tdWork *out, tdError *error);
/// done: throws the parts and the folder away.
void td_work_close(tdWork *work, bool done);

typedef struct tdWorkPart
{
    const void *data;
    size_t size;
} tdWorkPart;

/// A key that depends on one before and on bytes.
uint64_t td_work_key(uint64_t before, const void *bytes, size_t n);
/// The same of a file's bytes: the key goes on from what it was.
tdStatus td_work_key_file(const char *path, uint64_t *key, tdError *error);
/// Writes a part made of several pieces of memory. Threads may write different parts at a time.
tdStatus td_work_save(const tdWork *work, uint64_t key, const char *name, int n, const tdWorkPart *parts,
                      tdError *error);
/// Reads it into pieces of the same sizes. False when it is not there, not whole, or of another key.
bool td_work_load(const tdWork *work, uint64_t key, const char *name, int n, const tdWorkPart *parts);
/// Path of a file in the folder; it must fit.
void td_work_path(const tdWork *work, const char *name, char out[PATH_MAX]);
