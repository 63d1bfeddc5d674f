// SPDX-License-Identifier: Apache-2.0
// The folder of --out. One process at a time writes there, and what a run has left is not written over unasked.
#pragma once
#include "base/lock.h"
#include "cli.h"

typedef struct outFolder
{
    const char *path;         ///< NULL: none was asked for
    const char *const *names; ///< files that the command writes there, NULL at the end
    bool made;                ///< by us
    tdLock lock;
} outFolder;

/// Of commands that write a folder: --out DIR and --force, and a line of their help.
#define OUT_OPTIONS(variable)                                                                                          \
    {"--out", &(variable), NULL},                                                                                      \
    {                                                                                                                  \
        "--force", NULL, cli_force()                                                                                   \
    }
#define OUT_HELP(space) "  --force" space "overwrite an earlier run in the --out folder\n"

/// Makes the folder and locks it before anything in it is touched. One that holds one of `names` already is refused
/// unless --force was given or `goes_on`. -1 to go on, else the exit code.
int out_take(outFolder *folder, const char *path, const char *const *names, bool goes_on);
/// Removes the files of an earlier run, its frames included, just before the new ones are begun.
void out_clear(const outFolder *folder);
/// A folder that was made for nothing is removed. Fine also where there is none, or it was refused.
void out_release(outFolder *folder);

/// Files of frames, of 'run' and 'control'.
extern const char *const out_frames[];
