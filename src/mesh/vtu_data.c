// SPDX-License-Identifier: Apache-2.0
// Bytes of VTU arrays: header, base64, zlib.
//
//   plain:       [bytes] data
//   compressed:  [blocks][bytes of a full block][bytes of the last block if not full, else 0]
//                [compressed bytes of block 0] ... then the blocks
//
// Header words are 32 or 64 bits in the file's order. In base64 a plain array is one stream with its
// header; a compressed one has its header padded as a stream of its own.
#include "mesh/vtk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

// zlib cannot expand more than about 1032 times; a file that says so is lying.
#define MOST_EXPANSION 1100
#define BLOCK_BYTES    ((size_t)1 << 16)

// ---------------------------------------------------------------- reading

// Value of each character from '+' to 'z', -1 for those that are no digits.
static const int8_t base64_values[] = {62, -1, -1, -1, 63, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, -1, -1, -1, -1, -1,
                                       -1, -1, 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,
                                       18, 19, 20, 21, 22, 23, 24, 25, -1, -1, -1, -1, -1, -1, 26, 27, 28, 29, 30, 31,
                                       32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51};

static int base64_value(char c)
{
    return c >= '+' && c <= 'z' ? base64_values[c - '+'] : -1;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

// The next four characters give up to three bytes. False at the end or at a foreign character.
static bool decode_quad(tdVtuBytes *from)
{
    int digits = 0, padding = 0;
    uint32_t word = 0;
    while (digits + padding < 4)
    {
        while (from->at < from->end && is_blank(*from->at))
            from->at++;
        if (from->at >= from->end)
            return false;
        char c = *from->at++;
        int value = base64_value(c);
        if (c == '=' && digits >= 2)
            padding++;
        else if (value >= 0 && padding == 0)
            digits++;
        else
            return false;
        word = word << 6 | (uint32_t)(value > 0 ? value : 0);
    }
    from->n_left = 3 - padding;
    for (int i = 0; i < 3; i++)
        from->left[i] = (unsigned char)(word >> (16 - 8 * i));
    return true;
}

static bool take(tdVtuBytes *from, void *out, size_t n)
{
    unsigned char *to = out;
    if (!from->base64)
    {
        if (n > (size_t)(from->end - from->at))
            return false;
        memcpy(to, from->at, n);
        from->at += n;
        return true;
    }
    while (n > 0)
    {
        // Whole quads of digits, as nearly all are, need no detour.
        while (from->n_left == 0 && n >= 3 && from->end - from->at >= 4)
        {
            const char *c = from->at;
            int a0 = base64_value(c[0]), a1 = base64_value(c[1]), a2 = base64_value(c[2]), a3 = base64_value(c[3]);
            if ((a0 | a1 | a2 | a3) < 0)
                break;
            to[0] = (unsigned char)(a0 << 2 | a1 >> 4);
            to[1] = (unsigned char)(a1 << 4 | a2 >> 2);
            to[2] = (unsigned char)(a2 << 6 | a3);
            to += 3;
            n -= 3;
            from->at += 4;
        }
        if (n == 0)
            break;
        if (from->n_left == 0 && !decode_quad(from))
            return false;
        size_t k = n < (size_t)from->n_left ? n : (size_t)from->n_left;
        memcpy(to, from->left, k);
        from->n_left -= (int)k;
        memmove(from->left, from->left + k, (size_t)from->n_left);
        to += k;
        n -= k;
    }
    return true;
}

// An upper bound of what is left, to check sizes before memory is taken for them.
static uint64_t most_left(const tdVtuBytes *from)
{
    uint64_t bytes = (uint64_t)(from->end - from->at);
    return from->base64 ? bytes / 4 * 3 + 3 + (uint64_t)from->n_left : bytes;
}

static bool take_word(tdVtuBytes *from, const tdVtuCoding *coding, uint64_t *word)
{
    unsigned char bytes[8];
    int n = coding->wide ? 8 : 4;
    if (!take(from, bytes, (size_t)n))
        return false;
    *word = 0;
    for (int i = 0; i < n; i++)
        *word |= (uint64_t)bytes[i] << 8 * (coding->big_endian ? n - 1 - i : i);
    return true;
}

static const char *wrong_size(uint64_t found, int64_t expected, char why[160])
{
    snprintf(why, 160, "holds %llu bytes, expected %lld; the file is damaged or its counts are wrong",
             (unsigned long long)found, (long long)expected);
    return why;
}

#define CUT_OFF "the data is cut off"

// Header of compressed data: *words (owned by the caller) gets the compressed size of each block.
static const char *read_block_sizes(tdVtuBytes *from, const tdVtuCoding *coding, int64_t expected, uint64_t *blocks,
                                    uint64_t *full, uint64_t *last, uint64_t **words, char why[160])
{
    if (!take_word(from, coding, blocks))
        return CUT_OFF;
    if (*blocks == 0)
        return expected == 0 ? NULL : wrong_size(0, expected, why);
    if (!take_word(from, coding, full) || !take_word(from, coding, last))
        return CUT_OFF;
    if (*blocks > most_left(from) / (coding->wide ? 8 : 4))
        return "declares more blocks than the file can hold";
    uint64_t total = 0;
    if (__builtin_mul_overflow(*blocks - (*last > 0), *full, &total) || __builtin_add_overflow(total, *last, &total) ||
        *last > *full || total != (uint64_t)expected)
        return wrong_size(total, expected, why);
    *words = malloc(*blocks * sizeof(uint64_t));
    if (*words == NULL)
        return "out of memory";
    uint64_t compressed = 0;
    for (uint64_t i = 0; i < *blocks; i++)
        if (!take_word(from, coding, &(*words)[i]) || __builtin_add_overflow(compressed, (*words)[i], &compressed))
            return CUT_OFF;
    if (compressed > most_left(from))
        return CUT_OFF;
    if (total / MOST_EXPANSION > compressed + 1)
        return "declares more data than zlib could have compressed";
    return NULL;
}

// Inflates blocks one after the other into `out`, which holds what the header promised.
static const char *inflate_blocks(tdVtuBytes *from, uint64_t blocks, uint64_t full, uint64_t last,
                                  const uint64_t *words, unsigned char *out)
{
    uint64_t largest = 1;
    for (uint64_t i = 0; i < blocks; i++)
        largest = words[i] > largest ? words[i] : largest;
    unsigned char *packed = malloc(largest);
    if (packed == NULL)
        return "out of memory";
    const char *reason = NULL;
    for (uint64_t i = 0; i < blocks && reason == NULL; i++)
    {
        uint64_t size = i + 1 == blocks && last > 0 ? last : full;
        uLongf got = (uLongf)size;
        if (!take(from, packed, words[i]))
            reason = CUT_OFF;
        else if (uncompress(out, &got, packed, (uLong)words[i]) != Z_OK || got != size)
            reason = "a compressed block is damaged";
        out += size;
    }
    free(packed);
    return reason;
}

static const char *read_zlib(tdVtuBytes *from, const tdVtuCoding *coding, int64_t expected, void **owned, char why[160])
{
    uint64_t blocks = 0, full = 0, last = 0, *words = NULL;
    const char *reason = read_block_sizes(from, coding, expected, &blocks, &full, &last, &words, why);
    if (reason == NULL)
    {
        *owned = malloc(expected > 0 ? (size_t)expected : 1);
        if (*owned == NULL)
            reason = "out of memory";
        else if (expected > 0)
            reason = inflate_blocks(from, blocks, full, last, words, *owned);
    }
    free(words);
    return reason;
}

const char *td_vtu_bytes_read(tdVtuBytes *from, const tdVtuCoding *coding, int64_t expected, int64_t *budget,
                              const unsigned char **bytes, void **owned, char why[160])
{
    // Arrays may share appended data, so that a small file could ask for the same bytes many times.
    if (expected > *budget)
        return "the arrays of the file together declare more data than it can hold";
    *budget -= expected;
    if (coding->zlib)
    {
        const char *reason = read_zlib(from, coding, expected, owned, why);
        *bytes = *owned;
        return reason;
    }
    uint64_t size = 0;
    if (!take_word(from, coding, &size))
        return CUT_OFF;
    if (size != (uint64_t)expected)
        return wrong_size(size, expected, why);
    if (size > most_left(from))
        return CUT_OFF;
    if (!from->base64)
    {
        *bytes = (const unsigned char *)from->at;
        return NULL;
    }
    *owned = malloc(size > 0 ? size : 1);
    *bytes = *owned;
    if (*owned == NULL)
        return "out of memory";
    return take(from, *owned, size) ? NULL : "the base64 text is cut off or damaged";
}

// ---------------------------------------------------------------- writing

void td_vtu_append_raw(tdText *out, const void *bytes, size_t n)
{
    uint64_t size = n;
    td_text_append(out, &size, sizeof size);
    td_text_append(out, bytes, n);
}

void td_vtu_append_base64(tdText *out, const void *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // Header and data are one stream: three bytes of it make four characters.
    uint64_t size = n;
    unsigned char head[8];
    memcpy(head, &size, sizeof head);
    const unsigned char *data = bytes;
    char chunk[4096];
    size_t used = 0;
    for (size_t i = 0; i < n + 8; i += 3)
    {
        uint32_t word = 0;
        for (size_t k = i; k < i + 3; k++)
            word = word << 8 | (k < 8 ? head[k] : k < n + 8 ? data[k - 8] : 0u);
        for (int k = 0; k < 4; k++)
            chunk[used++] = digits[word >> (18 - 6 * k) & 63];
        if (i + 2 >= n + 8)
            chunk[used - 1] = '=';
        if (i + 1 >= n + 8)
            chunk[used - 2] = '=';
        if (used + 4 > sizeof chunk)
        {
            td_text_append(out, chunk, used);
            used = 0;
        }
    }
    td_text_append(out, chunk, used);
}

void td_vtu_append_zlib(tdText *out, const void *bytes, size_t n)
{
    size_t blocks = (n + BLOCK_BYTES - 1) / BLOCK_BYTES;
    uint64_t header[3] = {blocks, BLOCK_BYTES, n % BLOCK_BYTES};
    td_text_append(out, header, sizeof header);
    int64_t sizes = out->size;
    uint64_t none = 0;
    for (size_t i = 0; i < blocks; i++)
        td_text_append(out, &none, sizeof none);
    uLong room = compressBound(BLOCK_BYTES);
    unsigned char *packed = malloc(room);
    out->failed |= packed == NULL;
    for (size_t i = 0; i < blocks && !out->failed; i++)
    {
        size_t size = n - i * BLOCK_BYTES < BLOCK_BYTES ? n - i * BLOCK_BYTES : BLOCK_BYTES;
        uLongf got = room;
        // Level 1: a third of the time of the default for a few percent of size.
        if (compress2(packed, &got, (const unsigned char *)bytes + i * BLOCK_BYTES, (uLong)size, 1) != Z_OK)
            out->failed = true;
        uint64_t word = got;
        td_text_append(out, packed, got);
        if (!out->failed)
            memcpy(out->data + sizes + (int64_t)(i * sizeof word), &word, sizeof word);
    }
    free(packed);
}
