// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include "base/memory.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

tdStatus td_file_read(const char *path, char **data, size_t *size, tdError *error)
{
    *data = NULL;
    *size = 0;
    struct stat info;
    if (stat(path, &info) != 0)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL, "cannot be opened: %s", strerror(errno));
    if (S_ISDIR(info.st_mode))
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL, "is a folder; give a file");
    if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)) // /dev/zero never ends
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL, "is a device; give a file");
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL, "cannot be opened: %s", strerror(errno));
    // Pipes have no size, so read until the end rather than trust stat.
    void *buffer = NULL;
    int64_t capacity = 0, used = 0;
    tdStatus status = TD_OK;
    int64_t first = info.st_size > 0 ? info.st_size + 2 : 65536;
    for (;;)
    {
        if (!td_grow(&buffer, &capacity, used == 0 ? first : used + 2, 1))
        {
            status = td_fail_memory(error, path);
            break;
        }
        size_t got = fread((char *)buffer + used, 1, (size_t)(capacity - used - 1), file);
        used += (int64_t)got;
        if (got == 0)
            break;
    }
    if (status == TD_OK && ferror(file))
        status = td_fail_at(error, TD_ERROR_IO, path, 0, NULL, "cannot be read: %s", strerror(errno));
    fclose(file);
    if (status != TD_OK)
    {
        free(buffer);
        return status;
    }
    ((char *)buffer)[used] = '\0';
    *data = buffer;
    *size = (size_t)used;
    return TD_OK;
}

tdStatus td_file_write(const char *path, const void *data, size_t size, tdError *error)
{
    char temporary[PATH_MAX];
    int n = snprintf(temporary, sizeof temporary, "%s.tmp%ld", path, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof temporary)
        return td_fail_at(error, TD_ERROR_IO, path, 0, NULL, "the path is too long");
    FILE *file = fopen(temporary, "wb");
    if (file == NULL)
        return td_fail_at(error, TD_ERROR_IO, path, 0, NULL, "cannot be written: %s", strerror(errno));
    bool good = size == 0 || fwrite(data, 1, size, file) == size;
    good = fclose(file) == 0 && good;
    if (!good || rename(temporary, path) != 0)
    {
        tdStatus status = td_fail_at(error, TD_ERROR_IO, path, 0, NULL, "cannot be written: %s", strerror(errno));
        remove(temporary);
        return status;
    }
    return TD_OK;
}

void td_text_append(tdText *text, const void *bytes, size_t n)
{
    if (text->failed)
        return;
    if (!td_grow((void **)&text->data, &text->capacity, text->size + (int64_t)n + 1, 1))
    {
        text->failed = true;
        return;
    }
    if (n > 0)
        memcpy(text->data + text->size, bytes, n);
    text->size += (int64_t)n;
    text->data[text->size] = '\0';
}

void td_text_format(tdText *text, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0 || text->failed || !td_grow((void **)&text->data, &text->capacity, text->size + n + 1, 1))
        text->failed = true;
    else
    {
        vsnprintf(text->data + text->size, (size_t)n + 1, format, again);
        text->size += n;
    }
    va_end(again);
}

bool td_path_join(char *out, size_t size, const char *folder, const char *relative)
{
    int n = 0;
    if (relative[0] == '/' || folder == NULL || folder[0] == '\0' || strcmp(folder, ".") == 0)
        n = snprintf(out, size, "%s", relative);
    else
        n = snprintf(out, size, "%s/%s", folder, relative);
    return n >= 0 && (size_t)n < size;
}

void td_path_folder(char *out, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        snprintf(out, size, ".");
    else if (slash == path)
        snprintf(out, size, "/");
    else
        snprintf(out, size, "%.*s", (int)(slash - path), path);
}

void td_path_extension(char *out, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash == NULL ? path : slash, '.');
    snprintf(out, size, "%s", dot == NULL ? "" : dot);
    for (char *c = out; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
}

tdStatus td_path_make(const char *folder, tdError *error)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s", folder);
    if (n < 0 || (size_t)n >= sizeof path)
        return td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "the path is too long");
    for (char *c = path + 1;; c++)
    {
        if (*c != '/' && *c != '\0')
            continue;
        char kept = *c;
        *c = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return td_fail_at(error, TD_ERROR_IO, path, 0, NULL, "the folder cannot be made: %s", strerror(errno));
        *c = kept;
        if (kept == '\0')
            break;
    }
    struct stat info;
    if (stat(folder, &info) != 0 || !S_ISDIR(info.st_mode))
        return td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "is not a folder");
    return TD_OK;
}
