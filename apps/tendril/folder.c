// SPDX-License-Identifier: Apache-2.0
#include "folder.h"

#include "base/file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK ".lock"

const char *const out_frames[] = {"run.pvd",
                                  "run.h5",
                                  "report.csv",
                                  "reactions.csv",
                                  "probes.csv",
                                  "joints.csv",
                                  "contacts.csv",
                                  "contact_pairs.csv",
                                  "attachments.csv",
                                  "couplings.csv",
                                  "actuators.csv",
                                  "effectors.csv",
                                  "sensors.csv",
                                  "cables.pvd",
                                  "cavities.pvd",
                                  "actuation.csv",
                                  "tracking.csv",
                                  "checkpoint.h5",
                                  NULL};

// The first of the names that is there, or NULL.
static const char *find_old(const outFolder *folder)
{
    char path[PATH_MAX];
    for (const char *const *name = folder->names; *name != NULL; name++)
        if (td_path_join(path, sizeof path, folder->path, *name) && access(path, F_OK) == 0)
            return *name;
    return NULL;
}

static int refuse_old(const outFolder *folder, const char *old)
{
    char checkpoint[PATH_MAX], way[PATH_MAX + 32] = "", command[512];
    tdError error = {0};
    if (folder->names == out_frames && td_path_join(checkpoint, sizeof checkpoint, folder->path, "checkpoint.h5") &&
        access(checkpoint, F_OK) == 0)
        snprintf(way, sizeof way, "go on with it (--resume %.120s), ", checkpoint);
    if (!cli_command_line("--force", command, sizeof command))
        snprintf(command, sizeof command, "--force");
    td_fail_at(&error, TD_ERROR_INPUT, folder->path, 0, NULL,
               "holds an earlier run already (%s); give another folder, %sor write over it: %.300s", old, way, command);
    return cli_fail(&error);
}

int out_take(outFolder *folder, const char *path, const char *const *names, bool goes_on)
{
    *folder = (outFolder){.path = path, .names = names, .lock = TD_UNLOCKED};
    if (path == NULL)
        return *cli_force() ? cli_usage("--force is about the folder of --out; give --out DIR too") : -1;
    tdError error = {0};
    char lock[PATH_MAX];
    struct stat info;
    folder->made = stat(path, &info) != 0;
    if (!td_path_join(lock, sizeof lock, path, LOCK))
        td_fail_at(&error, TD_ERROR_IO, path, 0, NULL, "the path is too long");
    else if (td_path_make(path, &error) == TD_OK)
        td_lock_take(&folder->lock, lock, path, "wait for it, or give another folder", &error);
    if (error.status != TD_OK)
        return cli_fail(&error);
    const char *old = goes_on || *cli_force() ? NULL : find_old(folder);
    if (old == NULL)
        return -1;
    int code = refuse_old(folder, old);
    out_release(folder);
    return code;
}

void out_clear(const outFolder *folder)
{
    char path[PATH_MAX];
    for (const char *const *name = folder->names; folder->path != NULL && *name != NULL; name++)
        if (td_path_join(path, sizeof path, folder->path, *name))
            unlink(path);
}

void out_release(outFolder *folder)
{
    if (!td_lock_is_taken(&folder->lock))
        return;
    td_lock_release(&folder->lock);
    if (folder->made)
        rmdir(folder->path); // not when something was written
}
