// SPDX-License-Identifier: Apache-2.0
// Moving pictures as animated PNG: the file of a still picture (the first frame) with chunks for the other frames,
// which programs that do not know of them skip. A frame holds only the rectangle in which it differs from the one
// before.
//
//     signature IHDR sRGB | acTL | fcTL IDAT | fcTL fdAT | fcTL fdAT ... | IEND
#include "render/render.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum
{
    SIGNATURE = 8, // bytes
    CHUNK = 12,    // length, type and checksum around the data of a chunk
};

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void put32(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void put_chunk(tdText *out, const char type[4], const uint8_t *head, size_t n_head, const uint8_t *data,
                      size_t n)
{
    uint8_t length[4], sum[4];
    uLong crc = crc32(0, (const Bytef *)type, 4);
    if (n_head > 0)
        crc = crc32(crc, head, (uInt)n_head);
    if (n > 0)
        crc = crc32(crc, data, (uInt)n);
    put32(length, (uint32_t)(n_head + n));
    put32(sum, (uint32_t)crc);
    td_text_append(out, length, 4);
    td_text_append(out, type, 4);
    if (n_head > 0)
        td_text_append(out, head, n_head);
    if (n > 0)
        td_text_append(out, data, n);
    td_text_append(out, sum, 4);
}

// Rectangle in which two pictures differ: x, y, width, height; one pixel where they are equal.
static void find_change(const tdImage *image, const uint8_t *last, int rect[4])
{
    int lo[2] = {image->width, image->height}, hi[2] = {-1, -1};
    for (int y = 0; y < image->height; y++)
    {
        const uint8_t *a = image->rgb + (size_t)y * (size_t)image->width * 3;
        const uint8_t *b = last == NULL ? NULL : last + (size_t)y * (size_t)image->width * 3;
        for (int x = 0; x < image->width; x++)
            if (b == NULL || memcmp(a + 3 * (size_t)x, b + 3 * (size_t)x, 3) != 0)
            {
                lo[0] = x < lo[0] ? x : lo[0];
                hi[0] = x > hi[0] ? x : hi[0];
                lo[1] = y < lo[1] ? y : lo[1];
                hi[1] = y;
            }
    }
    bool some = hi[1] >= 0;
    for (int k = 0; k < 2; k++)
    {
        rect[k] = some ? lo[k] : 0;
        rect[2 + k] = some ? hi[k] - lo[k] + 1 : 1;
    }
}

// The rectangle as a PNG file of its own, whose chunks become those of the frame.
static tdStatus encode(const tdImage *image, const int rect[4], tdText *png, tdError *error)
{
    tdImage part = {rect[2], rect[3], td_take((size_t)rect[2] * (size_t)rect[3], 3)};
    if (part.rgb == NULL)
        return td_fail_memory(error, "a frame");
    for (int y = 0; y < part.height; y++)
        memcpy(part.rgb + (size_t)y * (size_t)part.width * 3,
               image->rgb + ((size_t)(rect[1] + y) * (size_t)image->width + (size_t)rect[0]) * 3,
               (size_t)part.width * 3);
    tdStatus status = td_image_encode_png(&part, png, error);
    td_image_free(&part);
    return status;
}

static void put_control(tdMovie *movie, const int rect[4], int milliseconds)
{
    uint8_t data[26] = {0};
    put32(data, movie->sequence++);
    put32(data + 4, (uint32_t)rect[2]);
    put32(data + 8, (uint32_t)rect[3]);
    put32(data + 12, (uint32_t)rect[0]);
    put32(data + 16, (uint32_t)rect[1]);
    data[20] = (uint8_t)(milliseconds >> 8);
    data[21] = (uint8_t)milliseconds;
    data[22] = 1000 >> 8;
    data[23] = 1000 & 255;
    put_chunk(&movie->frames, "fcTL", NULL, 0, data, sizeof data);
}

tdStatus td_movie_add(tdMovie *movie, const tdImage *image, int milliseconds, tdError *error)
{
    size_t bytes = (size_t)image->width * (size_t)image->height * 3;
    if (movie->n > 0 && (image->width != movie->width || image->height != movie->height))
        return td_fail(error, TD_ERROR_USAGE, "frames of one moving picture have one size, not %d x %d and %d x %d",
                       movie->width, movie->height, image->width, image->height);
    if (milliseconds < 1 || milliseconds > UINT16_MAX)
        return td_fail(error, TD_ERROR_USAGE, "a frame is shown for 1 to %d ms, not %d", UINT16_MAX, milliseconds);
    int rect[4];
    tdText png = {0};
    find_change(image, movie->last, rect);
    tdStatus status = encode(image, rect, &png, error);
    if (status == TD_OK && movie->last == NULL && (movie->last = td_take(bytes, 1)) == NULL)
        status = td_fail_memory(error, "the moving picture");
    if (status == TD_OK)
    {
        memcpy(movie->last, image->rgb, bytes);
        put_control(movie, rect, milliseconds);
        const uint8_t *at = (const uint8_t *)png.data;
        if (movie->n == 0)
            td_text_append(&movie->head, at, SIGNATURE);
        for (size_t i = SIGNATURE; i + CHUNK <= (size_t)png.size; i += CHUNK + get32(at + i))
        {
            const uint8_t *data = at + i + 8;
            size_t n = get32(at + i);
            bool pixels = memcmp(at + i + 4, "IDAT", 4) == 0, end = memcmp(at + i + 4, "IEND", 4) == 0;
            uint8_t sequence[4];
            if (pixels && movie->n > 0)
            {
                put32(sequence, movie->sequence++);
                put_chunk(&movie->frames, "fdAT", sequence, 4, data, n);
            }
            else if (movie->n == 0 && !end)
                td_text_append(pixels ? &movie->frames : &movie->head, at + i, n + CHUNK);
        }
        movie->width = image->width;
        movie->height = image->height;
        movie->n++;
        if (movie->head.failed || movie->frames.failed)
            status = td_fail_memory(error, "the moving picture");
    }
    free(png.data);
    return status;
}

tdStatus td_movie_write(tdMovie *movie, const char *path, tdError *error)
{
    if (movie->n == 0)
        return td_fail(error, TD_ERROR_USAGE, "a moving picture has at least one frame");
    uint8_t counts[8] = {0}; // frames, and how often it plays: for ever
    tdText file = {0};
    put32(counts, (uint32_t)movie->n);
    td_text_append(&file, movie->head.data, (size_t)movie->head.size);
    put_chunk(&file, "acTL", NULL, 0, counts, sizeof counts);
    td_text_append(&file, movie->frames.data, (size_t)movie->frames.size);
    put_chunk(&file, "IEND", NULL, 0, NULL, 0);
    tdStatus status = file.failed ? td_fail_memory(error, "the moving picture")
                                  : td_file_write(path, file.data, (size_t)file.size, error);
    free(file.data);
    return status;
}

void td_movie_free(tdMovie *movie)
{
    free(movie->last);
    free(movie->head.data);
    free(movie->frames.data);
    *movie = (tdMovie){0};
}
