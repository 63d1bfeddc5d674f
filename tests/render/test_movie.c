// SPDX-License-Identifier: Apache-2.0
// Moving pictures: the chunks of an animated PNG, taken apart and put together again by libpng.
#include "test.h"

#include "render/render.h"

#include <png.h>
#include <unistd.h>
#include <zlib.h>

enum
{
    WIDTH = 40,
    HEIGHT = 30,
    FRAMES = 3,
};

static uint32_t get32(const char *p)
{
    const uint8_t *b = (const uint8_t *)p;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void add_chunk(tdText *out, const char *type, const char *data, uint32_t n)
{
    uint32_t crc = (uint32_t)crc32(crc32(0, (const Bytef *)type, 4), (const Bytef *)data, n);
    for (int part = 0; part < 2; part++)
    {
        uint32_t value = part == 0 ? n : crc;
        uint8_t big[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8), (uint8_t)value};
        td_text_append(out, big, 4);
        if (part == 0)
        {
            td_text_append(out, type, 4);
            td_text_append(out, data, n);
        }
    }
}

// Frame k: a square that moves to the right by its width on a background with a gradient.
static void paint(tdImage *image, int k)
{
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
        {
            uint8_t *c = image->rgb + 3 * (y * WIDTH + x);
            bool square = x >= 5 + 6 * k && x < 11 + 6 * k && y >= 10 && y < 16;
            c[0] = square ? 250 : (uint8_t)(3 * x);
            c[1] = square ? 20 : (uint8_t)(5 * y);
            c[2] = 90;
        }
}

// Reads a PNG of its own made of a frame's pixels into the rectangle of the canvas.
static void lay(const char *header, const tdText *pixels, const uint32_t rect[4], uint8_t *canvas)
{
    tdText png = {0};
    char shape[13];
    memcpy(shape, header, sizeof shape);
    for (int i = 0; i < 8; i++)
        shape[i] = (char)(rect[i / 4] >> (24 - 8 * (i % 4)));
    td_text_append(&png, "\x89PNG\r\n\x1a\n", 8);
    add_chunk(&png, "IHDR", shape, sizeof shape);
    add_chunk(&png, "IDAT", pixels->data, (uint32_t)pixels->size);
    add_chunk(&png, "IEND", "", 0);
    png_image read = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(&read, png.data, (size_t)png.size));
    read.format = PNG_FORMAT_RGB;
    uint8_t *part = malloc(PNG_IMAGE_SIZE(read));
    assert_non_null(part);
    assert_true(png_image_finish_read(&read, NULL, part, 0, NULL));
    for (uint32_t y = 0; y < rect[1]; y++)
        memcpy(canvas + 3 * ((rect[3] + y) * WIDTH + rect[2]), part + (size_t)3 * y * rect[0], (size_t)3 * rect[0]);
    free(part);
    free(png.data);
}

static void test_frames_come_back(void **state)
{
    (void)state;
    char path[] = "/tmp/tendril_movie_XXXXXX";
    assert_true(close(mkstemp(path)) == 0);
    tdMovie movie = {0};
    tdImage image;
    assert_int_equal(td_image_create(WIDTH, HEIGHT, &image, NULL), TD_OK);
    for (int k = 0; k < FRAMES; k++)
    {
        paint(&image, k);
        assert_int_equal(td_movie_add(&movie, &image, 120, NULL), TD_OK);
    }
    assert_int_equal(td_movie_write(&movie, path, NULL), TD_OK);
    td_movie_free(&movie);

    char *file;
    size_t size;
    assert_int_equal(td_file_read(path, &file, &size, NULL), TD_OK);
    const char *header = NULL;
    uint8_t canvas[3 * WIDTH * HEIGHT] = {0};
    uint32_t rect[4] = {0}, sequence = 0;
    tdText pixels = {0};
    int frames = 0;
    for (size_t at = 8; at < size; at += 12 + get32(file + at))
    {
        uint32_t n = get32(file + at);
        const char *type = file + at + 4, *data = file + at + 8;
        assert_int_equal(get32(data + n), (uint32_t)crc32(0, (const Bytef *)type, n + 4));
        bool control = memcmp(type, "fcTL", 4) == 0, more = memcmp(type, "fdAT", 4) == 0;
        if (memcmp(type, "IHDR", 4) == 0)
            header = data;
        if (memcmp(type, "acTL", 4) == 0)
            assert_int_equal(get32(data), FRAMES);
        if (control || more)
            assert_int_equal(get32(data), sequence++);
        if ((control && frames > 0) || memcmp(type, "IEND", 4) == 0)
        {
            lay(header, &pixels, rect, canvas);
            paint(&image, frames - 1);
            assert_memory_equal(canvas, image.rgb, sizeof canvas);
            pixels.size = 0;
        }
        if (control)
        {
            for (int i = 0; i < 4; i++)
                rect[i] = get32(data + 4 + 4 * i);
            assert_int_equal(256 * (uint8_t)data[20] + (uint8_t)data[21], 120);
            // Only what the square left and entered is stored.
            assert_int_equal(rect[0], frames == 0 ? WIDTH : 12);
            assert_int_equal(rect[1], frames == 0 ? HEIGHT : 6);
            frames++;
        }
        if (more || memcmp(type, "IDAT", 4) == 0)
            td_text_append(&pixels, data + (more ? 4 : 0), n - (more ? 4 : 0));
    }
    assert_int_equal(frames, FRAMES);
    free(pixels.data);
    free(file);
    td_image_free(&image);
    unlink(path);
}

static void test_bad_frames(void **state)
{
    (void)state;
    tdMovie movie = {0};
    tdImage small, large;
    tdError error = {0};
    assert_int_equal(td_image_create(16, 16, &small, NULL), TD_OK);
    assert_int_equal(td_image_create(17, 16, &large, NULL), TD_OK);
    memset(small.rgb, 7, 3 * 16 * 16);
    memset(large.rgb, 7, 3 * 17 * 16);
    assert_int_equal(td_movie_write(&movie, "/dev/null", &error), TD_ERROR_USAGE);
    assert_int_equal(td_movie_add(&movie, &small, 0, &error), TD_ERROR_USAGE);
    assert_int_equal(td_movie_add(&movie, &small, 40, NULL), TD_OK);
    assert_int_equal(td_movie_add(&movie, &small, 40, NULL), TD_OK); // nothing changes
    assert_int_equal(td_movie_add(&movie, &large, 40, &error), TD_ERROR_USAGE);
    assert_non_null(strstr(error.message, "16 x 16 and 17 x 16"));
    assert_int_equal(movie.n, 2);
    td_movie_free(&movie);
    td_image_free(&small);
    td_image_free(&large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_frames_come_back), cmocka_unit_test(test_bad_frames)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
