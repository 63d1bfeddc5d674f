// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

// Blocks this large serve many small requests; larger requests get a block of their own.
#define BLOCK_BYTES ((size_t)256 * 1024)
#define LEAST_STACK ((size_t)64 * 1024)

typedef struct tdArenaBlock
{
    struct tdArenaBlock *next;
    size_t used;
    size_t size;
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
        made->used = 0;
        made->size = room;
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

void td_arena_free(tdArena *arena)
{
    tdArenaBlock *block = arena->head;
    while (block != NULL)
    {
        tdArenaBlock *next = block->next;
        free(block);
        block = next;
    }
    *arena = (tdArena){0};
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
