// SPDX-License-Identifier: Apache-2.0
// The folder in which a long job keeps what it has done, so that it goes on after it was killed at any moment. A part
// is a file that appears whole, by rename, with a checksum and the key of what it was made from: one of another key is
// as good as not there. So a job whose later phases are asked for with other settings finds what the earlier ones did.
// The folder belongs to jobs with one text, which says line by line what is too dear to be thrown away unasked. One
// process works in it at a time, or several of the same job share it, on one machine or on many with one file system:
// each part is whole whoever wrote it last, and all write the same.
#pragma once
#include "base/lock.h"

typedef struct tdWork
{
    char folder[PATH_MAX - 64]; ///< leaves room for names
    uint64_t key;               ///< of the text
    tdLock lock;
    bool resumed; ///< it was there before
    bool shared;
} tdWork;

/// Makes the folder, or opens that of the same job. One of another job is refused, and the first line of `about` that
/// differs is told; `restart` throws its parts away instead.
tdStatus td_work_open(const char *folder, const char *about, bool restart, tdWork *out, tdError *error);
/// The same beside others of the same job, whose parts appear meanwhile.
tdStatus td_work_share(const char *folder, const char *about, tdWork *out, tdError *error);
/// The folder that another process of the same job has opened and keeps the lock of, on behalf of this one.
tdStatus td_work_join(const char *folder, const char *about, tdWork *out, tdError *error);
/// done: throws the parts and the folder away; not of a shared one.
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
/// Reads `count` ranges of a part, `bytes` long each, the first at `at` and then `stride` apart, behind each other to
/// `out`. What it holds as a whole is not checked; false: it is not there, or shorter.
bool td_work_read(const tdWork *work, uint64_t key, const char *name, int64_t count, size_t at, size_t stride,
                  size_t bytes, void *out);
/// Whether a part of that size seems to be there: its head is, what follows is not looked at.
bool td_work_has(const tdWork *work, uint64_t key, const char *name, size_t size);
/// Waits until a part that another machine has written shows up here, for a minute at most: file systems over a network
/// may remember for some time that it was not there.
void td_work_await(const tdWork *work, const char *name);
/// Path of a file in the folder; it must fit.
void td_work_path(const tdWork *work, const char *name, char out[PATH_MAX]);
