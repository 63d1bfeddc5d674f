// SPDX-License-Identifier: Apache-2.0
#include "store/seal.h"

#include "store/h5.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

// The block: magic, then format u32, crc u32, length u64, tag u64, all little-endian, then a line for whoever looks at
// the file, then zeros. The CRC is of what follows its own field, to the file's end.
enum
{
    AT_FORMAT = 8,
    AT_CRC = 12,
    AT_LENGTH = 16,
    AT_TAG = 24,
    AT_TEXT = 32
};

static void put(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static uint32_t sum_of(const unsigned char *file, size_t size)
{
    // crc32() counts in unsigned int, files may be longer.
    uLong crc = crc32(0, NULL, 0);
    for (size_t at = AT_LENGTH; at < size;)
    {
        size_t n = size - at < 1U << 30 ? size - at : 1U << 30;
        crc = crc32(crc, file + at, (uInt)n);
        at += n;
    }
    return (uint32_t)crc;
}

tdStatus td_seal_make(const tdSeal *seal, const char *path, herr_t (*fill)(void *context, hid_t file), void *context,
                      unsigned char **image, size_t *size, tdError *error)
{
    char why[64];
    snprintf(why, sizeof why, "the %s cannot be made", seal->what);
    tdStatus status = TD_OK;
    hid_t list = H5Pcreate(H5P_FILE_ACCESS), file = -1;
    if (list >= 0 && H5Pset_fapl_core(list, 1 << 20, 0) >= 0)
        file = H5Fcreate(seal->what, H5F_ACC_TRUNC, H5P_DEFAULT, list);
    if (file < 0 || fill(context, file) < 0 || H5Fflush(file, H5F_SCOPE_GLOBAL) < 0)
        status = td_h5_fail(error, TD_ERROR_IO, path, why);
    if (status == TD_OK)
    {
        ssize_t bytes = H5Fget_file_image(file, NULL, 0);
        if (bytes > 0)
            *image = calloc(1, TD_SEAL_BYTES + (size_t)bytes);
        if (bytes <= 0)
            status = td_h5_fail(error, TD_ERROR_IO, path, why);
        else if (*image == NULL)
            status = td_fail_memory(error, seal->what);
        else if (H5Fget_file_image(file, *image + TD_SEAL_BYTES, (size_t)bytes) != bytes)
            status = td_h5_fail(error, TD_ERROR_IO, path, why);
        *size = TD_SEAL_BYTES + (size_t)(bytes > 0 ? bytes : 0);
    }
    if (file >= 0)
        H5Fclose(file);
    if (list >= 0)
        H5Pclose(list);
    return status;
}

void td_seal_close(const tdSeal *seal, uint64_t tag, unsigned char *image, size_t size)
{
    memcpy(image, seal->magic, sizeof seal->magic);
    put(image + AT_FORMAT, seal->format, 4);
    put(image + AT_LENGTH, size, 8);
    put(image + AT_TAG, tag, 8);
    snprintf((char *)image + AT_TEXT, TD_SEAL_BYTES - AT_TEXT, "Tendril %s %s; an HDF5 file follows at byte %d\n",
             td_version(), seal->what, TD_SEAL_BYTES);
    put(image + AT_CRC, sum_of(image, size), 4);
}

tdStatus td_seal_check(const tdSeal *seal, const unsigned char *file, size_t size, const char *path, uint64_t *tag,
                       tdError *error)
{
    if (size < sizeof seal->magic || memcmp(file, seal->magic, sizeof seal->magic) != 0)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL, "is not a %s of Tendril; %s", seal->what, seal->given);
    if (size < TD_SEAL_BYTES)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL, "the %s ends after %zu bytes; %s", seal->what, size,
                          seal->again);
    uint64_t format = get(file + AT_FORMAT, 4);
    if (format != seal->format)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, "format",
                          "the %s has format %" PRIu64 ", this version of Tendril (%s) reads format %" PRIu32 "; %s",
                          seal->what, format, td_version(), seal->format, seal->other);
    uint64_t length = get(file + AT_LENGTH, 8);
    if (length != size)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL,
                          "the %s is damaged: it has %zu bytes where %" PRIu64 " were written; %s", seal->what, size,
                          length, seal->again);
    if (get(file + AT_CRC, 4) != sum_of(file, size))
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL,
                          "the %s is damaged: its checksum does not fit its content; %s", seal->what, seal->again);
    *tag = get(file + AT_TAG, 8);
    return TD_OK;
}

tdStatus td_seal_open(const tdSeal *seal, void *image, size_t size, const char *path, hid_t *file, tdError *error)
{
    char why[64];
    snprintf(why, sizeof why, "the %s cannot be opened", seal->what);
    hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    *file = -1;
    if (list >= 0 && H5Pset_fapl_core(list, 1 << 20, 0) >= 0 &&
        H5Pset_file_image(list, (char *)image + TD_SEAL_BYTES, size - TD_SEAL_BYTES) >= 0)
        *file = H5Fopen(seal->what, H5F_ACC_RDONLY, list);
    tdStatus status = *file < 0 ? td_h5_fail(error, TD_ERROR_INPUT, path, why) : TD_OK;
    if (list >= 0)
        H5Pclose(list);
    return status;
}
