// SPDX-License-Identifier: Apache-2.0
// Scratch that many states use by turns. What a state needs only while something is done with it, or what is the same
// for all, is taken as a piece; states of one model take the same pieces in the same order. By itself a state has them
// in its arena. Of thousands of states each enters a room of the thread that works on it instead: what it touches in
// memory of its own is then what it remembers, and the rest stays in the cache from one state to the next.
//
// A piece holds what the state before left there, at first what it holds in the arena that the room was made like.
#pragma once
#include "base/memory.h"

typedef struct tdRoom tdRoom;

/// A piece of zeroed, TD_ALIGN-aligned memory, or NULL (overflow or out of memory). where: address of the pointer that
/// holds it, which has to stay where it is; it is the caller's to set at first, and entering a room sets it.
void *td_room_take(tdArena *arena, void *where, size_t count, size_t size);
#define TD_ROOM_TAKE(arena, type, where, count) ((type *)td_room_take((arena), (where), (size_t)(count), sizeof(type)))
/// Several of doubles at once; false: out of memory.
typedef struct tdRoomPiece
{
    double **where;
    int64_t count;
} tdRoomPiece;
bool td_room_take_all(tdArena *arena, const tdRoomPiece *list, int n);
/// Another pointer to the piece that the pointer at `first` was taken for; false: out of memory.
bool td_room_also(tdArena *arena, void *where, const void *first);

/// Has all pieces that the arena has. NULL: out of memory. To be released by free().
tdRoom *td_room_create(const tdArena *like);
/// From now on the pieces of the arena are in the room; what they held is left behind. Before the arena has taken any:
/// they will be there. False: out of memory, which can only be then.
bool td_room_enter(tdArena *arena, tdRoom *room);
