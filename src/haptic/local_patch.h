// SPDX-License-Identifier: Apache-2.0
// Patches: where the tool bears more contacts than a local model has room for, neighbours become one, within which
// forces keep their shares.
#pragma once
#include "haptic/local.h"

/// Contacts that there is room for.
int td_local_room(const tdLocalMaker *maker);
/// Members become patches; returns how many there are. writes  patch, share
int td_local_make_patches(tdLocalMaker *maker);
/// What a patch is: means of its members by share.
void td_local_sum_patch(const tdLocalMaker *maker, int patch, tdLocalContact *out);
/// What a unit of each row of its patch is in the rows of a member.
void td_local_set_parts(tdLocalMember *member, const tdLocalContact *patch);
/// The compliance of patches from that of their members, both row-major.
void td_local_reduce(const tdLocalMaker *maker, const tdLocal *local, const double *W, double *out);
