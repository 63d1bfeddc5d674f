// SPDX-License-Identifier: Apache-2.0
#include "render/render.h"

#include "base/memory.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

tdStatus td_image_create(int width, int height, tdImage *image, tdError *error)
{
    *image = (tdImage){0};
    if (width < 16 || height < 16 || width > TD_IMAGE_MAX || height > TD_IMAGE_MAX)
        return td_fail(error, TD_ERROR_USAGE, "a picture of %d x %d pixels cannot be made; each side has 16 to %d",
                       width, height, TD_IMAGE_MAX);
    image->rgb = td_take((size_t)width * (size_t)height, 3);
    if (image->rgb == NULL)
        return td_fail_memory(error, "the picture");
    image->width = width;
    image->height = height;
    return TD_OK;
}

void td_image_free(tdImage *image)
{
    free(image->rgb);
    *image = (tdImage){0};
}

static void append(png_structp png, png_bytep bytes, png_size_t n)
{
    td_text_append(png_get_io_ptr(png), bytes, n);
}

static void no_flush(png_structp png)
{
    (void)png;
}

// libpng's default handlers print and jump; ours only jump, and the caller reports.
static void stop(png_structp png, png_const_charp message)
{
    (void)message;
    png_longjmp(png, 1);
}

static void ignore(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

tdStatus td_image_encode_png(const tdImage *image, tdText *out, tdError *error)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, stop, ignore);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
    if (info == NULL)
    {
        png_destroy_write_struct(&png, NULL);
        return td_fail_memory(error, "the PNG encoder");
    }
    if (setjmp(png_jmpbuf(png)) != 0)
    {
        png_destroy_write_struct(&png, &info);
        return td_fail(error, TD_ERROR_MEMORY, "the PNG encoder failed on a picture of %d x %d pixels", image->width,
                       image->height);
    }
    png_set_write_fn(png, out, append, no_flush);
    png_set_IHDR(png, info, (png_uint_32)image->width, (png_uint_32)image->height, 8, PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
    png_set_compression_level(png, 6);
    png_write_info(png, info);
    for (int y = 0; y < image->height; y++)
        png_write_row(png, image->rgb + (size_t)y * (size_t)image->width * 3);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return out->failed ? td_fail_memory(error, "the PNG file") : TD_OK;
}

tdStatus td_image_write_png(const tdImage *image, const char *path, tdError *error)
{
    tdText text = {0};
    tdStatus status = td_image_encode_png(image, &text, error);
    if (status == TD_OK)
        status = td_file_write(path, text.data, (size_t)text.size, error);
    free(text.data);
    return status;
}
