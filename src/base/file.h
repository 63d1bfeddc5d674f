// SPDX-License-Identifier: Apache-2.0
// Whole files in and out. Readers work on bytes in memory, so that they can be fuzzed.
#pragma once
#include "base/status.h"

/// Reads a file whole. *data (released by free()) has one extra zero byte behind its end.
tdStatus td_file_read(const char *path, char **data, size_t *size, tdError *error);

/// Writes to a temporary file in the same folder and renames it: a reader sees the old or the new.
tdStatus td_file_write(const char *path, const void *data, size_t size, tdError *error);

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
