// SPDX-License-Identifier: Apache-2.0
// Table from 64-bit keys to numbers, for readers: node tags, vertices, names. A key may stand more
// than once; who looks one up walks the entries with that key and compares what they stand for.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tdHashSlot
{
    uint64_t key;
    int32_t value; ///< -1: empty
} tdHashSlot;

/// Zero-initialize; td_hash_free().
typedef struct tdHash
{
    int64_t count, capacity; ///< the capacity is a power of two
    tdHashSlot *slot;
} tdHash;

/// Adds an entry, value >= 0. False when memory runs out.
bool td_hash_add(tdHash *hash, uint64_t key, int32_t value);

/// Walks the entries with this key: start with *probe = -1; NULL at the end. The value may be replaced.
int32_t *td_hash_next(const tdHash *hash, uint64_t key, int64_t *probe);

void td_hash_free(tdHash *hash);

/// Keys made of numbers and of bytes. Every bit of the input reaches every bit of the key.
static inline uint64_t td_hash_mix(uint64_t a)
{
    a ^= a >> 32;
    a *= 0xd6e8feb86659fd93U;
    a ^= a >> 32;
    a *= 0xd6e8feb86659fd93U;
    return a ^ (a >> 32);
}

uint64_t td_hash_bytes(const void *bytes, size_t n);
