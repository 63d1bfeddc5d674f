// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"

#include "base/room.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// Blocks this large serve many small requests; larger requests get a block of their own.
#define BLOCK_BYTES ((size_t)256 * 1024)
#define LEAST_STACK ((size_t)64 * 1024)

typedef struct tdArenaBlock
{
    struct tdArenaBlock *next;
    struct tdPieces *pieces; ///< of the arena, in one of its blocks (room.h)
    size_t used;
    size_t size;
    bool lent; ///< somebody else's memory
    _Alignas(TD_ALIGN) char data[];
} tdArenaBlock;

static bool bytes_of(size_t count, size_t size, size_t *bytes)
{
    if (__builtin_mul_overflow(count, size, bytes) || *bytes > SIZE_MAX / 4)
        return false;
    *bytes = (*bytes + TD_ALIGN - 1) / TD_ALIGN * TD_ALIGN;
    return true;
}

void *td_arena_take(tdArena *arena, size_t count, size_t size)
{
    size_t bytes = 0;
    if (!bytes_of(count, size, &bytes))
        return NULL;
    if (bytes == 0)
        bytes = TD_ALIGN;
    tdArenaBlock *block = arena->head;
    if (block == NULL || block->size - block->used < bytes)
    {
        size_t room = bytes > BLOCK_BYTES / 4 ? bytes : BLOCK_BYTES;
        tdArenaBlock *made = aligned_alloc(TD_ALIGN, sizeof(tdArenaBlock) + room);
        if (made == NULL)
            return NULL;
        *made = (tdArenaBlock){.size = room};
        // A full-size request goes behind the head, so that the head's room is not lost.
        if (room == bytes && block != NULL)
        {
            made->next = block->next;
            block->next = made;
        }
        else
        {
            made->next = block;
            arena->head = made;
        }
        block = made;
    }
    void *result = block->data + block->used;
    block->used += bytes;
    arena->bytes += bytes;
    memset(result, 0, bytes);
    return result;
}

char *td_arena_copy(tdArena *arena, const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = td_arena_take(arena, n, 1);
    if (copy != NULL)
        memcpy(copy, text, n);
    return copy;
}

void td_arena_lend(tdArena *arena, void *memory, size_t bytes)
{
    assert(arena->head == NULL && bytes > sizeof(tdArenaBlock));
    tdArenaBlock *block = memory;
    *block = (tdArenaBlock){.size = bytes - sizeof *block, .lent = true};
    arena->head = block;
}

size_t td_arena_room(const tdArena *arena)
{
    return sizeof(tdArenaBlock) + arena->bytes;
}

static void free_pieces(struct tdPieces *pieces);

void td_arena_free(tdArena *arena)
{
    tdArenaBlock *block = arena->head;
    while (block != NULL)
    {
        tdArenaBlock *next = block->next;
        free_pieces(block->pieces);
        if (!block->lent)
            free(block);
        block = next;
    }
    *arena = (tdArena){0};
}

// ---------------------------------------------------------------- rooms

typedef struct tdPiece
{
    void *where; ///< the pointer to it
    int index;   ///< among those of the room
} tdPiece;

typedef struct tdPieces
{
    tdRoom *room; ///< where they are; NULL: in the arena
    tdPiece *list;
    size_t *bytes; ///< by index
    int64_t n, n_bytes, list_capacity, bytes_capacity;
} tdPieces;

struct tdRoom
{
    int64_t n;
    void **piece;
};

static tdPieces *pieces_of(tdArena *arena)
{
    for (tdArenaBlock *block = arena->head; block != NULL; block = block->next)
        if (block->pieces != NULL)
            return block->pieces;
    tdPieces *made = TD_TAKE(arena, tdPieces, 1);
    if (made != NULL)
        arena->head->pieces = made;
    return made;
}

static void free_pieces(tdPieces *pieces)
{
    if (pieces == NULL)
        return;
    free(pieces->list);
    free(pieces->bytes);
}

void *td_room_take(tdArena *arena, void *where, size_t count, size_t size)
{
    size_t bytes = 0;
    tdPieces *pieces = pieces_of(arena);
    if (pieces == NULL || !bytes_of(count, size, &bytes) ||
        !td_grow((void **)&pieces->list, &pieces->list_capacity, pieces->n + 1, sizeof *pieces->list) ||
        !td_grow((void **)&pieces->bytes, &pieces->bytes_capacity, pieces->n_bytes + 1, sizeof *pieces->bytes))
        return NULL;
    int64_t k = pieces->n_bytes++;
    pieces->list[pieces->n++] = (tdPiece){where, (int)k};
    pieces->bytes[k] = bytes > 0 ? bytes : TD_ALIGN;
    assert(pieces->room == NULL || k < pieces->room->n); // the same pieces, in the same order
    return pieces->room != NULL ? pieces->room->piece[k] : td_arena_take(arena, count, size);
}

bool td_room_take_all(tdArena *arena, const tdRoomPiece *list, int n)
{
    for (int i = 0; i < n; i++)
        if ((*list[i].where = TD_ROOM_TAKE(arena, double, list[i].where, list[i].count)) == NULL)
            return false;
    return true;
}

bool td_room_also(tdArena *arena, void *where, const void *first)
{
    tdPieces *pieces = pieces_of(arena);
    int64_t k = 0;
    if (pieces == NULL || !td_grow((void **)&pieces->list, &pieces->list_capacity, pieces->n + 1, sizeof *pieces->list))
        return false;
    while (k < pieces->n && pieces->list[k].where != first)
        k++;
    assert(k < pieces->n);
    pieces->list[pieces->n++] = (tdPiece){where, pieces->list[k].index};
    memcpy(where, first, sizeof(void *));
    return true;
}

tdRoom *td_room_create(const tdArena *like)
{
    const tdPieces *pieces = pieces_of((tdArena *)like);
    if (pieces == NULL)
        return NULL;
    size_t room_bytes = 0, head = 0, bytes = 0;
    if (!bytes_of(1, sizeof(tdRoom), &room_bytes) || !bytes_of((size_t)pieces->n_bytes, sizeof(void *), &head))
        return NULL;
    for (int64_t k = 0; k < pieces->n_bytes; k++)
        bytes += pieces->bytes[k];
    char *at = td_take(1, room_bytes + head + bytes);
    if (at == NULL)
        return NULL;
    tdRoom *room = (tdRoom *)at;
    room->n = pieces->n_bytes;
    room->piece = (void **)(at + room_bytes);
    at += room_bytes + head;
    for (int64_t k = 0; k < room->n; k++)
    {
        room->piece[k] = at;
        at += pieces->bytes[k];
    }
    for (int64_t k = 0; k < pieces->n; k++) // some to the same piece, which does no harm
    {
        void *from = NULL;
        int index = pieces->list[k].index;
        memcpy(&from, pieces->list[k].where, sizeof from);
        memcpy(room->piece[index], from, pieces->bytes[index]);
    }
    return room;
}

bool td_room_enter(tdArena *arena, tdRoom *room)
{
    tdPieces *pieces = pieces_of(arena);
    if (pieces == NULL)
        return false;
    if (pieces->room == room)
        return true;
    pieces->room = room;
    for (int64_t k = 0; k < pieces->n; k++)
        memcpy(pieces->list[k].where, &room->piece[pieces->list[k].index], sizeof(void *));
    return true;
}

// ---------------------------------------------------------------- stack

typedef struct tdStackBlock
{
    struct tdStackBlock *next;
    size_t used, size;
    _Alignas(TD_ALIGN) char data[];
} tdStackBlock;

void *td_stack_take(tdStack *stack, int64_t count, size_t size)
{
    size_t bytes = 0;
    if (count < 0 || !bytes_of((size_t)count, size, &bytes))
        return stack->failed = true, NULL;
    // The next block that is large enough; those in between come into use again when the stack is released.
    tdStackBlock *block = stack->now;
    while (block != NULL && block->size - block->used < bytes)
    {
        block = block->next;
        if (block != NULL)
            block->used = 0;
    }
    if (block == NULL)
    {
        // As much again as there is, so that blocks stay few.
        size_t room = stack->room > LEAST_STACK ? stack->room : LEAST_STACK;
        room = bytes > room ? bytes : room;
        block = aligned_alloc(TD_ALIGN, sizeof(tdStackBlock) + room);
        stack->grown = true;
        if (block == NULL)
            return stack->failed = true, NULL;
        stack->room += room;
        *block = (tdStackBlock){.size = room};
        tdStackBlock **last = &stack->first;
        while (*last != NULL)
            last = &(*last)->next;
        *last = block;
    }
    stack->now = block;
    void *result = block->data + block->used;
    block->used += bytes;
    return result;
}

tdStackMark td_stack_mark(const tdStack *stack)
{
    return (tdStackMark){stack->now, stack->now != NULL ? stack->now->used : 0};
}

void td_stack_release(tdStack *stack, tdStackMark mark)
{
    stack->now = mark.now != NULL ? mark.now : stack->first;
    if (stack->now != NULL)
        stack->now->used = mark.used;
}

void td_stack_reset(tdStack *stack)
{
    td_stack_release(stack, (tdStackMark){0});
    stack->failed = stack->grown = false;
}

void td_stack_free(tdStack *stack)
{
    tdStackBlock *block = stack->first;
    while (block != NULL)
    {
        tdStackBlock *next = block->next;
        free(block);
        block = next;
    }
    *stack = (tdStack){0};
}

// ---------------------------------------------------------------- single pieces

void *td_take(size_t count, size_t size)
{
    size_t bytes = 0;
    if (!bytes_of(count, size, &bytes))
        return NULL;
    void *result = aligned_alloc(TD_ALIGN, bytes > 0 ? bytes : TD_ALIGN);
    if (result != NULL)
        memset(result, 0, bytes);
    return result;
}

#define LARGE_PAGE ((size_t)2 << 20)

void *td_take_large(size_t count, size_t size)
{
    size_t bytes = 0;
    if (!bytes_of(count, size, &bytes))
        return NULL;
    if (bytes < 2 * LARGE_PAGE)
        return aligned_alloc(TD_ALIGN, bytes > 0 ? bytes : TD_ALIGN);
    bytes = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    void *result = aligned_alloc(LARGE_PAGE, bytes);
#if defined(MADV_HUGEPAGE)
    if (result != NULL)
        madvise(result, bytes, MADV_HUGEPAGE); // small ones do as well
#endif
    return result;
}

bool td_grow(void **data, int64_t *capacity, int64_t need, size_t size)
{
    if (need <= *capacity)
        return true;
    int64_t room = *capacity < 16 ? 16 : *capacity;
    while (room < need)
    {
        if (room > INT64_MAX / 2)
            return false;
        room *= 2;
    }
    size_t bytes = 0;
    if (__builtin_mul_overflow((size_t)room, size, &bytes))
        return false;
    void *grown = realloc(*data, bytes);
    if (grown == NULL)
        return false;
    *data = grown;
    *capacity = room;
    return true;
}
