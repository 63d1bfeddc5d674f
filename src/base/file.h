// SPDX-License-Identifier: Apache-2.0
// Whole files in and out. Readers work on bytes in memory, so that they can be fuzzed.
#pragma once
#include "base/status.h"

/// Reads a file whole. *data (released by free()) has one extra zero byte behind its end.
tdStatus td_file_read(const char *path, char **data, size_t *size, tdError *error);

/// How long a written file has to last.
typedef enum tdFileKept
{
    TD_FILE_DURABLE, ///< on the disk with its name when the call returns: survives a loss of power
    TD_FILE_QUICK,   ///< whole whatever happens to this process; frames, of which td_folder_sync() takes care
    TD_FILE_SHARED   ///< durable, and processes on other machines may write to the same path at the same time
} tdFileKept;

typedef struct tdFilePart
{
    const void *data;
    size_t size;
} tdFilePart;

/// Writes to a temporary file in the same folder, PATH.tmpPID, and renames it: a reader sees the old or the new, and
/// whatever goes wrong leaves the old. Symbolic links are followed, the file's mode is kept, a file that may not be
/// written is refused. Devices and pipes are written to as they are, disks are refused. What processes that are gone
/// left of PATH is removed. One thread writes to a path at a time; with TD_FILE_SHARED several may, and the last rename
/// stays: the temporary file is then PATH.tmp-NUMBER with a random number, and what others left is not touched.
tdStatus td_file_write(const char *path, const void *data, size_t size, tdError *error);
/// The same, TD_FILE_QUICK.
tdStatus td_file_write_quickly(const char *path, const void *data, size_t size, tdError *error);
/// The same of several pieces of memory.
tdStatus td_file_write_parts(const char *path, int n, const tdFilePart *parts, tdFileKept kept, tdError *error);
/// Brings all that was written to the file system of a folder onto its disk.
tdStatus td_folder_sync(const char *folder, tdError *error);
/// Removes unfinished files with the endings of our output that processes which are gone left in a folder.
void td_file_sweep(const char *folder);

/// Growable text, for writers. Zero-initialize; free(text->data). A failed append sets `failed`.
typedef struct tdText
{
    char *data;
    int64_t size, capacity;
    bool failed;
} tdText;

void td_text_append(tdText *text, const void *bytes, size_t n);
void td_text_format(tdText *text, const char *format, ...) TD_PRINTF(2, 3);

/// folder(base) + relative, or relative itself when it is absolute. False when it does not fit.
bool td_path_join(char *out, size_t size, const char *folder, const char *relative);
/// Folder part of a path ("." if none).
void td_path_folder(char *out, size_t size, const char *path);
/// Extension with its dot in lower case ("" if none), e.g. ".msh".
void td_path_extension(char *out, size_t size, const char *path);
/// Makes a folder and its parents.
tdStatus td_path_make(const char *folder, tdError *error);
