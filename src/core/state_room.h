// SPDX-License-Identifier: Apache-2.0
// States that share their scratch.
#pragma once
#include "base/room.h"
#include "core/state.h"

/// td_state_create_like() of a state whose scratch is in a room, one that was made like the arena of `like`. Nothing
/// may be done with it but in that room or another one, and by nobody else who is in it.
tdStatus td_state_create_in(const tdModel *model, const tdSettings *settings, const tdState *like, tdRoom *room,
                            tdState **out, tdError *error);
