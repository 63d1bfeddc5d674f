// SPDX-License-Identifier: Apache-2.0
// What the page may run: its own scripts and styles, each named by its hash in the Content-Security-Policy, so that
// nothing that gets into the page some other way runs. The page is part of the program, and so they are worked out from
// it when the server starts. SHA-256 is that of FIPS 180-4.
#include "view/view_own.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

// ---------------------------------------------------------------- SHA-256

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void mix(uint32_t h[8], const unsigned char block[64])
{
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(s, h, sizeof s);
    for (int i = 0; i < 64; i++)
    {
        uint32_t a = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) +
                     round_constants[i] + w[i];
        uint32_t b =
            (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += a;
        s[0] = a + b;
    }
    for (int i = 0; i < 8; i++)
        h[i] += s[i];
}

static void hash(const char *text, size_t size, unsigned char out[32])
{
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned char end[128] = {0};
    size_t whole = size / 64 * 64, rest = size - whole, last = rest < 56 ? 64 : 128;
    for (size_t i = 0; i < whole; i += 64)
        mix(h, (const unsigned char *)text + i);
    memcpy(end, text + whole, rest);
    end[rest] = 0x80;
    for (size_t i = 0; i < 8; i++)
        end[last - 1 - i] = (unsigned char)((uint64_t)size * 8 >> 8 * i);
    for (size_t i = 0; i < last; i += 64)
        mix(h, end + i);
    for (int i = 0; i < 32; i++)
        out[i] = (unsigned char)(h[i / 4] >> (24 - 8 * (i % 4)));
}

// ---------------------------------------------------------------- page

typedef struct part
{
    const char *from;
    size_t size;
} part;

static const char *find(const char *from, const char *end, const char *what)
{
    size_t n = strlen(what);
    for (; from + n <= end; from++)
        if (*from == *what && strncasecmp(from, what, n) == 0)
            return from;
    return NULL;
}

// What stands in the next element of a name, as browsers read it: a comment before it is none, and what is inside of
// another element that holds text is none either.
static bool next_part(const char **at, const char *end, const char *name, part *out)
{
    static const char *const texts[] = {"<!--", "<script", "<style"}, *const ends[] = {"-->", "</script", "</style"};
    while (*at < end)
    {
        const char *first = NULL;
        int kind = 0;
        for (int i = 0; i < 3; i++)
        {
            const char *here = find(*at, first == NULL ? end : first, texts[i]);
            if (here != NULL)
            {
                first = here;
                kind = i;
            }
        }
        const char *open = first == NULL || kind == 0 ? first : memchr(first, '>', (size_t)(end - first));
        const char *close = open == NULL ? NULL : find(open, end, ends[kind]);
        if (close == NULL)
            break;
        *at = close + strlen(ends[kind]);
        if (kind != 0 && strcmp(texts[kind] + 1, name) == 0)
        {
            *out = (part){.from = open + 1, .size = (size_t)(close - open - 1)};
            return true;
        }
    }
    *at = end;
    return false;
}

static void add_hashes(const char *page, size_t size, const char *name, char *out, size_t capacity)
{
    const char *at = page;
    part found;
    while (next_part(&at, page + size, name, &found))
    {
        unsigned char digest[32];
        char text[48];
        size_t used = strlen(out);
        hash(found.from, found.size, digest);
        lws_b64_encode_string((const char *)digest, sizeof digest, text, sizeof text);
        snprintf(out + used, capacity - used, " 'sha256-%s'", text);
    }
}

void td_view_policy(const char *page, size_t size, char *out, size_t capacity)
{
    snprintf(out, capacity, "script-src");
    add_hashes(page, size, "script", out, capacity);
    snprintf(out + strlen(out), capacity - strlen(out), "; style-src");
    add_hashes(page, size, "style", out, capacity);
}
