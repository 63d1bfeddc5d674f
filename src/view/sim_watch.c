// SPDX-License-Identifier: Apache-2.0
// A scene that somebody edits: its file is loaded again when it has been saved.
#include "view/sim_own.h"

#include "base/timer.h"

#include <sys/stat.h>

static tdViewStamp stamp_of(const char *path)
{
    struct stat file;
    if (stat(path, &file) != 0 || !S_ISREG(file.st_mode))
        return (tdViewStamp){0};
    return (tdViewStamp){(int64_t)file.st_mtim.tv_sec, file.st_mtim.tv_nsec, (int64_t)file.st_size,
                         (int64_t)file.st_ino};
}

static bool same(const tdViewStamp *a, const tdViewStamp *b)
{
    return a->seconds == b->seconds && a->nanoseconds == b->nanoseconds && a->size == b->size && a->inode == b->inode;
}

void td_view_sim_watch(tdViewSim *sim, const tdViewEntry *entry)
{
    sim->watch.entry = entry;
    sim->watch.loaded = sim->watch.seen = stamp_of(entry->path);
}

// Whoever saves may be in the middle of it: the file must have been the same at two looks.
void td_view_sim_look(tdViewSim *sim)
{
    double now = td_seconds();
    if (sim->settings.keep_scene || now < sim->watch.next)
        return;
    sim->watch.next = now + TD_VIEW_LOOK_EVERY;
    tdViewStamp stamp = stamp_of(sim->watch.entry->path);
    bool still = same(&stamp, &sim->watch.seen);
    sim->watch.seen = stamp;
    if (!still || stamp.seconds == 0 || same(&stamp, &sim->watch.loaded))
        return;
    if (td_view_sim_open(sim, sim->watch.entry))
        td_view_sim_say(sim, 0, false, false, TD_VIEW_SCENE, "'%s' was saved and has been loaded again",
                        sim->watch.entry->name);
}
