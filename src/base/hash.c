// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <stdlib.h>

static void put(tdHash *hash, uint64_t key, int32_t value)
{
    int64_t mask = hash->capacity - 1;
    int64_t i = (int64_t)(key & (uint64_t)mask);
    while (hash->slot[i].value >= 0)
        i = (i + 1) & mask;
    hash->slot[i] = (tdHashSlot){key, value};
}

bool td_hash_add(tdHash *hash, uint64_t key, int32_t value)
{
    if (2 * (hash->count + 1) > hash->capacity)
    {
        tdHash larger = {.capacity = hash->capacity == 0 ? 64 : 2 * hash->capacity};
        larger.slot = malloc((size_t)larger.capacity * sizeof(tdHashSlot));
        if (larger.slot == NULL)
            return false;
        for (int64_t i = 0; i < larger.capacity; i++)
            larger.slot[i].value = -1;
        for (int64_t i = 0; i < hash->capacity; i++)
            if (hash->slot[i].value >= 0)
                put(&larger, hash->slot[i].key, hash->slot[i].value);
        free(hash->slot);
        hash->slot = larger.slot;
        hash->capacity = larger.capacity;
    }
    put(hash, key, value);
    hash->count++;
    return true;
}

int32_t *td_hash_next(const tdHash *hash, uint64_t key, int64_t *probe)
{
    if (hash->capacity == 0)
        return NULL;
    int64_t mask = hash->capacity - 1;
    int64_t i = *probe < 0 ? (int64_t)(key & (uint64_t)mask) : (*probe + 1) & mask;
    for (; hash->slot[i].value >= 0; i = (i + 1) & mask)
        if (hash->slot[i].key == key)
        {
            *probe = i;
            return &hash->slot[i].value;
        }
    return NULL;
}

void td_hash_free(tdHash *hash)
{
    free(hash->slot);
    *hash = (tdHash){0};
}

uint64_t td_hash_bytes(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t h = 0xcbf29ce484222325U; // FNV-1a, then mixed
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3U;
    return td_hash_mix(h);
}
