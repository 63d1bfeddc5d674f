// SPDX-License-Identifier: Apache-2.0
// Memory: an arena for what lives as long as a model or a state, and a growable array for
// readers that do not know the size beforehand. A step allocates nothing: whatever it needs
// was taken from the state's arena when the state was made.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TD_ALIGN 64 // a cache line, and enough for any SIMD load

/// Chain of blocks freed together. Zero-initialize before use.
typedef struct tdArena
{
    struct tdArenaBlock *head;
    size_t bytes; ///< handed out so far
} tdArena;

/// Zeroed, TD_ALIGN-aligned memory for count elements, or NULL (overflow or out of memory).
void *td_arena_take(tdArena *arena, size_t count, size_t size);
char *td_arena_copy(tdArena *arena, const char *text); ///< NULL on failure
/// To be called before anything is taken: what is taken will be in this memory, td_arena_room() of an arena that took
/// the same, TD_ALIGN-aligned. It stays the caller's, who keeps it for longer than the arena.
void td_arena_lend(tdArena *arena, void *memory, size_t bytes);
size_t td_arena_room(const tdArena *arena);
void td_arena_free(tdArena *arena);

#define TD_TAKE(arena, type, count) ((type *)td_arena_take((arena), (size_t)(count), sizeof(type)))

/// Scratch that is taken and given back like a stack. Its blocks are kept, so that after a while nothing is allocated;
/// what was taken stays where it is. Zero-initialize before use.
typedef struct tdStack
{
    struct tdStackBlock *first, *now;
    size_t room;        ///< of all blocks [bytes]
    bool failed, grown; ///< memory ran out; a block was allocated; both since the last td_stack_reset()
} tdStack;

/// Where a stack stands.
typedef struct tdStackMark
{
    struct tdStackBlock *now;
    size_t used;
} tdStackMark;

/// TD_ALIGN-aligned memory for count elements, not initialized, or NULL (overflow or out of memory).
void *td_stack_take(tdStack *stack, int64_t count, size_t size);
#define TD_STACK_TAKE(stack, type, count) ((type *)td_stack_take((stack), (count), sizeof(type)))
tdStackMark td_stack_mark(const tdStack *stack);
/// Gives back what was taken since.
void td_stack_release(tdStack *stack, tdStackMark mark);
void td_stack_reset(tdStack *stack); ///< gives back all
void td_stack_free(tdStack *stack);

/// Zeroed, aligned memory to be released by free(); NULL on failure.
void *td_take(size_t count, size_t size);
/// The same, not zeroed, in large pages where the system has them: for much memory of which little is used at a time,
/// here and there, so that the processor does not have to look up a page for every other line of it.
void *td_take_large(size_t count, size_t size);

/// Makes room for `need` elements in *data (capacity in *capacity), at least doubling. The new
/// part is not initialized. Returns false, leaving all as it was, when memory runs out.
bool td_grow(void **data, int64_t *capacity, int64_t need, size_t size);
