// SPDX-License-Identifier: Apache-2.0
// A scene that somebody edits: it is loaded again when its file, or one that it includes, has been saved.
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

static void add(tdViewStamp *to, const tdViewStamp *more)
{
    to->seconds += more->seconds;
    to->nanoseconds += more->nanoseconds;
    to->size += more->size;
    to->inode += more->inode;
}

void td_view_sim_watch(tdViewSim *sim, const tdViewEntry *entry)
{
    sim->watch.entry = entry;
    sim->watch.fresh = true;
    sim->watch.loaded = sim->watch.seen = stamp_of(entry->path);
}

// False: one is not there.
static bool stamp_included(const tdViewSim *sim, tdViewStamp *out)
{
    const tdScene *scene = &sim->stage->model->scene;
    bool there = true;
    for (int i = 0; i < scene->n_files; i++)
    {
        tdViewStamp file = stamp_of(scene->files[i]);
        there = there && file.seconds != 0;
        add(out, &file);
    }
    return there;
}

void td_view_sim_watch_included(tdViewSim *sim)
{
    tdViewStamp included = {0};
    if (!sim->watch.fresh)
        return;
    stamp_included(sim, &included);
    add(&sim->watch.loaded, &included);
    add(&sim->watch.seen, &included);
    sim->watch.fresh = false;
}

// Whoever saves may be in the middle of it: the file must have been the same at two looks.
void td_view_sim_look(tdViewSim *sim)
{
    double now = td_seconds();
    if (sim->settings.keep_scene || now < sim->watch.next)
        return;
    sim->watch.next = now + TD_VIEW_LOOK_EVERY;
    td_view_sim_watch_included(sim);
    tdViewStamp stamp = stamp_of(sim->watch.entry->path), included = {0};
    bool there = stamp.seconds != 0 && stamp_included(sim, &included);
    add(&stamp, &included);
    bool still = same(&stamp, &sim->watch.seen);
    sim->watch.seen = stamp;
    if (!still || !there || same(&stamp, &sim->watch.loaded))
        return;
    if (td_view_sim_open(sim, sim->watch.entry))
        td_view_sim_say(sim, 0, false, false, TD_VIEW_SCENE, "'%s' was saved and has been loaded again",
                        sim->watch.entry->name);
}
