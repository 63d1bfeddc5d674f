// SPDX-License-Identifier: Apache-2.0
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static tdStatus fail_lock(tdError *error, const char *path)
{
    return td_fail_at(error, TD_ERROR_IO, path, 0, NULL, "cannot be written: %s", strerror(errno));
}

// The number of the process, as it wrote it into the file. It may not have come to that yet.
static tdStatus fail_taken(int file, const char *what, const char *way_out, tdError *error)
{
    char text[32] = "";
    ssize_t n = pread(file, text, sizeof text - 1, 0);
    long pid = n > 0 ? strtol(text, NULL, 10) : 0;
    char who[48] = "another process";
    if (pid > 0)
        snprintf(who, sizeof who, "process %ld", pid);
    return td_fail_at(error, TD_ERROR_INPUT, what, 0, NULL, "%s is writing there; %s", who, way_out);
}

// Who had the lock before may have removed the file between our opening and our locking it; a lock on a file without
// a name would keep nobody out.
static bool still_there(int file, const char *path)
{
    struct stat mine, there;
    return fstat(file, &mine) == 0 && stat(path, &there) == 0 && mine.st_ino == there.st_ino &&
           mine.st_dev == there.st_dev;
}

static tdStatus take(tdLock *lock, bool shared, const char *path, const char *what, const char *way_out, tdError *error)
{
    *lock = TD_UNLOCKED;
    lock->shared = shared;
    if (strlen(path) >= sizeof lock->path)
        return td_fail_at(error, TD_ERROR_IO, path, 0, NULL, "the path is too long");
    for (;;)
    {
        int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (file < 0)
            return fail_lock(error, path);
        bool taken = flock(file, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0;
        if (!taken && errno == EWOULDBLOCK)
        {
            tdStatus status = fail_taken(file, what, way_out, error);
            close(file);
            return status;
        }
        if (taken && !still_there(file, path))
        {
            close(file);
            continue;
        }
        // The number is for messages alone, so that a full disk does not matter here.
        char text[32];
        int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
        if (ftruncate(file, 0) == 0 && pwrite(file, text, (size_t)n, 0) != n)
            errno = 0;
        lock->file = file;
        snprintf(lock->path, sizeof lock->path, "%s", path);
        return TD_OK;
    }
}

tdStatus td_lock_take(tdLock *lock, const char *path, const char *what, const char *way_out, tdError *error)
{
    return take(lock, false, path, what, way_out, error);
}

tdStatus td_lock_share(tdLock *lock, const char *path, const char *what, const char *way_out, tdError *error)
{
    return take(lock, true, path, what, way_out, error);
}

bool td_lock_is_taken(const tdLock *lock)
{
    return lock->file >= 0;
}

void td_lock_release(tdLock *lock)
{
    if (lock->file < 0)
        return;
    if (!lock->shared)
        unlink(lock->path); // while it is ours
    close(lock->file);
    lock->file = -1;
}
