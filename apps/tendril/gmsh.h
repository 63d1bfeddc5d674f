// SPDX-License-Identifier: Apache-2.0
// Runs the gmsh program, without a shell, in a private folder that goes away afterwards.
#pragma once
#include "base/file.h"

#include <limits.h>

typedef struct gmshWork
{
    char folder[PATH_MAX]; ///< temporary; empty when there is none
    double seconds;        ///< time left for all runs together
    int runs;
    bool hopeless; ///< gmsh is missing, or the user interrupted: another run makes no sense
    tdText output; ///< of the last run: stdout and stderr together
} gmshWork;

/// Makes the folder; `seconds` bounds all runs together. Interruptions are caught until gmsh_close().
tdStatus gmsh_open(gmshWork *work, double seconds, tdError *error);
/// Removes the folder and all in it.
void gmsh_close(gmshWork *work);
/// Path of a file in the folder.
tdStatus gmsh_path(const gmshWork *work, const char *name, char path[PATH_MAX], tdError *error);
/// Writes a file in the folder.
tdStatus gmsh_write(const gmshWork *work, const char *name, const tdText *text, tdError *error);
/// Runs "gmsh args[0] args[1] ...", NULL-terminated. On failure the message holds gmsh's own errors.
tdStatus gmsh_run(gmshWork *work, const char *const *args, tdError *error);
