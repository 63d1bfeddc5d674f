// SPDX-License-Identifier: Apache-2.0
// One process at a time: a lock on a file, which the system releases when the process ends, however it does.
#pragma once
#include "base/status.h"

#include <limits.h>

typedef struct tdLock
{
    int file; ///< descriptor; -1: not taken
    bool shared;
    char path[PATH_MAX];
} tdLock;

#define TD_UNLOCKED ((tdLock){.file = -1})

/// Makes the file and locks it. TD_ERROR_INPUT: another process has it; the message is about `what`, names the
/// process and ends with the way out. On file systems that have no locks it succeeds without one.
tdStatus td_lock_take(tdLock *lock, const char *path, const char *what, const char *way_out, tdError *error);
/// The same, but with others who share it; td_lock_take() is refused while one of them has it, and they while somebody
/// has taken it. The file stays when it is released.
tdStatus td_lock_share(tdLock *lock, const char *path, const char *what, const char *way_out, tdError *error);
bool td_lock_is_taken(const tdLock *lock);
/// Removes the file, unless it was shared: who comes then would take its end for somebody who has it.
void td_lock_release(tdLock *lock);
