// SPDX-License-Identifier: Apache-2.0
#include "folder.h"

#include "base/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
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
        snprintf(way, sizeof way, "continue that run (--resume %.120s), ", checkpoint);
    if (!cli_command_line("--force", command, sizeof command))
        snprintf(command, sizeof command, "--force");
    td_fail_at(&error, TD_ERROR_INPUT, folder->path, 0, NULL,
               "already holds an earlier run (%s); give another folder, %sor overwrite it: %.300s", old, way, command);
    return cli_fail(&error);
}

int out_take(outFolder *folder, const char *path, const char *const *names, bool goes_on)
{
    *folder = (outFolder){.path = path, .names = names, .lock = TD_UNLOCKED};
    if (path == NULL)
        return *cli_force() ? cli_usage("--force applies to the folder of --out; give --out DIR too") : -1;
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

// Length of what stands before the step in the name of a frame, "beam_" of beam_000100.vtu; 0: it is no frame.
static size_t frame_stem(const char *name)
{
    static const char ending[] = ".vtu";
    size_t length = strlen(name), at = length < sizeof ending ? 0 : length - (sizeof ending - 1), digits = 0;
    if (at == 0 || strcmp(name + at, ending) != 0)
        return 0;
    for (; at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9'; at--)
        digits++;
    return digits >= 6 && at > 1 && name[at - 1] == '_' ? at : 0;
}

// Whether a list of frames (run.pvd, cables.pvd, ...) names files of this stem, as XML writes it.
static bool is_listed(const char *list, const char *name, size_t stem)
{
    char entry[8 * NAME_MAX];
    size_t n = (size_t)snprintf(entry, sizeof entry, "file=\"");
    for (size_t i = 0; i < stem && n + 8 < sizeof entry; i++)
        n += (size_t)(name[i] == '&'   ? snprintf(entry + n, 8, "&amp;")
                      : name[i] == '<' ? snprintf(entry + n, 8, "&lt;")
                      : name[i] == '"' ? snprintf(entry + n, 8, "&quot;")
                                       : snprintf(entry + n, 8, "%c", name[i]));
    return strstr(list, entry) != NULL;
}

// The list goes to disk after the frames and in long runs not with each: those of its stems are its frames, listed or
// not. Files of other names stay.
static void clear_frames(const outFolder *folder, const char *list)
{
    char path[PATH_MAX];
    DIR *files = opendir(folder->path);
    for (struct dirent *entry = files != NULL ? readdir(files) : NULL; entry != NULL; entry = readdir(files))
    {
        size_t stem = frame_stem(entry->d_name);
        if (stem > 0 && is_listed(list, entry->d_name, stem) &&
            td_path_join(path, sizeof path, folder->path, entry->d_name))
            unlink(path);
    }
    if (files != NULL)
        closedir(files);
}

void out_clear(const outFolder *folder)
{
    char path[PATH_MAX];
    for (const char *const *name = folder->names; folder->path != NULL && *name != NULL; name++)
    {
        if (!td_path_join(path, sizeof path, folder->path, *name))
            continue;
        char *list = NULL;
        size_t size = 0, length = strlen(*name);
        if (length > 4 && strcmp(*name + length - 4, ".pvd") == 0 && td_file_read(path, &list, &size, NULL) == TD_OK)
            clear_frames(folder, list);
        free(list);
        unlink(path);
    }
}

void out_release(outFolder *folder)
{
    if (!td_lock_is_taken(&folder->lock))
        return;
    td_lock_release(&folder->lock);
    if (folder->made)
        rmdir(folder->path); // not when something was written
}
