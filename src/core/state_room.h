// SPDX-License-Identifier: Apache-2.0
// States that share their scratch.
#pragma once
#include "base/room.h"
#include "core/state.h"

/// td_state_create_like() of a state whose scratch is in a room, one that was made like the arena of `like`. Nothing
/// may be done with it but in that room or another one, and by nobody else who is in it. tasks: of the room too, and to
/// be taken from the state (NULL) before it is freed.
/// home: as many bytes as td_state_home() says, aligned, which outlive the state; NULL: it takes memory of its own.
tdStatus td_state_create_in(const tdModel *model, const tdSettings *settings, const tdState *like, tdRoom *room,
                            struct tdTasks *tasks, void *home, size_t bytes, tdState **out, tdError *error);
/// Of a state like this one, which was created in a room.
size_t td_state_home(const tdState *state);
