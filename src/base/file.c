// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include "base/memory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
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

// ---------------------------------------------------------------- writing

static tdStatus fail_write(tdError *error, const char *path)
{
    return td_fail_at(error, TD_ERROR_IO, path, 0, NULL, "cannot be written: %s", strerror(errno));
}

/// What a path leads to.
typedef struct Target
{
    char path[PATH_MAX]; ///< behind all symbolic links, so that a rename leaves them as they are
    mode_t mode;         ///< of the file that is there; 0: none
    bool direct;         ///< a terminal, a pipe, /dev/null: there is nothing to rename onto
} Target;

// Links below these lead to files that a process has open, which a rename would not reach.
static bool is_open_file(const char *path)
{
    return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/fd/", 8) == 0;
}

static tdStatus check_target(const char *path, const struct stat *info, Target *target, tdError *error)
{
    if (S_ISDIR(info->st_mode))
        return td_fail_at(error, TD_ERROR_IO, path, 0, NULL, "cannot be written: it is a folder; give a file");
    if (S_ISBLK(info->st_mode))
        return td_fail_at(error, TD_ERROR_IO, path, 0, NULL, "cannot be written: it is a disk; give a file");
    if (access(target->path, W_OK) != 0)
        return fail_write(error, path);
    target->direct = target->direct || !S_ISREG(info->st_mode);
    target->mode = info->st_mode & 07777;
    return TD_OK;
}

static tdStatus find_target(const char *path, Target *target, tdError *error)
{
    *target = (Target){0};
    if (strlen(path) >= sizeof target->path)
        return td_fail_at(error, TD_ERROR_IO, path, 0, NULL, "the path is too long");
    snprintf(target->path, sizeof target->path, "%s", path);
    for (int links = 0; links < 40; links++)
    {
        struct stat info;
        if (lstat(target->path, &info) != 0)
            return errno == ENOENT ? TD_OK : fail_write(error, path);
        if (S_ISLNK(info.st_mode) && is_open_file(target->path))
        {
            target->direct = true;
            return stat(target->path, &info) != 0 ? fail_write(error, path) : check_target(path, &info, target, error);
        }
        if (!S_ISLNK(info.st_mode))
            return check_target(path, &info, target, error);
        char link[PATH_MAX], folder[PATH_MAX];
        ssize_t n = readlink(target->path, link, sizeof link - 1);
        if (n < 0)
            return fail_write(error, path);
        link[n] = '\0';
        td_path_folder(folder, sizeof folder, target->path);
        if (!td_path_join(target->path, sizeof target->path, folder, link))
            return td_fail_at(error, TD_ERROR_IO, path, 0, NULL, "the path behind its links is too long");
    }
    errno = ELOOP;
    return fail_write(error, path);
}

static bool write_all(int file, int n, const tdFilePart *parts)
{
    for (int i = 0; i < n; i++)
    {
        const char *bytes = parts[i].data;
        for (size_t at = 0; at < parts[i].size;)
        {
            ssize_t done = write(file, bytes + at, parts[i].size - at);
            if (done < 0 && errno == EINTR)
                continue;
            if (done <= 0)
                return false;
            at += (size_t)done;
        }
    }
    return true;
}

static tdStatus write_directly(const Target *target, int n, const tdFilePart *parts, const char *path, tdError *error)
{
    int file = open(target->path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
    if (file < 0)
        return fail_write(error, path);
    bool good = write_all(file, n, parts);
    tdStatus status = good ? TD_OK : fail_write(error, path);
    return close(file) == 0 || !good ? status : fail_write(error, path);
}

// A rename is on the disk when its folder is. Some file systems have no such thing as the state of a folder.
static bool sync_folder(const char *folder)
{
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0)
        return errno == EACCES; // one may write into a folder that one may not read
    bool good = fsync(file) == 0 || errno == EINVAL || errno == EROFS;
    int why = errno;
    close(file);
    errno = why;
    return good;
}

#define TEMPORARY ".tmp" // and behind it the number of the process

// The number behind the ending of an unfinished file of ours; 0: it is none. *length: of what it will be called.
static long unfinished(const char *name, size_t *length)
{
    const char *ending = NULL;
    for (const char *at = name; (at = strstr(at, TEMPORARY)) != NULL; at++)
        ending = at;
    if (ending == NULL || ending == name)
        return 0;
    const char *digits = ending + strlen(TEMPORARY);
    size_t n = strspn(digits, "0123456789");
    if (n == 0 || n > 10 || digits[n] != '\0' || digits[0] == '0')
        return 0;
    *length = (size_t)(ending - name);
    return strtol(digits, NULL, 10);
}

// Who wrote it is gone when there is no such process and nobody holds the lock; the lock tells of processes that this
// one cannot see, in another container.
static void remove_stale(const char *folder, const char *name, long pid)
{
    char path[PATH_MAX];
    if (pid == (long)getpid() || kill((pid_t)pid, 0) == 0 || errno != ESRCH ||
        !td_path_join(path, sizeof path, folder, name))
        return;
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat info;
    if (file >= 0 && fstat(file, &info) == 0 && S_ISREG(info.st_mode) && flock(file, LOCK_EX | LOCK_NB) == 0)
        unlink(path);
    if (file >= 0)
        close(file);
}

static bool is_output(const char *name, size_t length)
{
    static const char *const endings[] = {".vtu", ".pvd", ".h5", ".csv", ".png", ".html", ".json"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
    {
        size_t n = strlen(endings[i]);
        if (length > n && strncmp(name + length - n, endings[i], n) == 0)
            return true;
    }
    return false;
}

// of: the file that they were to become; NULL: any that this program writes.
static void sweep(const char *folder, const char *of)
{
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
    {
        size_t length = 0;
        long pid = unfinished(entry->d_name, &length);
        if (pid == 0)
            continue;
        bool ours = of == NULL ? is_output(entry->d_name, length)
                               : strlen(of) == length && strncmp(entry->d_name, of, length) == 0;
        if (ours)
            remove_stale(folder, entry->d_name, pid);
    }
    if (directory != NULL)
        closedir(directory);
}

void td_file_sweep(const char *folder)
{
    sweep(folder, NULL);
}

// Other machines have processes of our number, so that there only chance keeps names apart.
static tdStatus name_temporary(const char *path, const char *target, tdFileKept kept, char out[PATH_MAX],
                               tdError *error)
{
    uint64_t number = 0;
    if (kept == TD_FILE_SHARED && getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return td_fail_at(error, TD_ERROR_IO, path, 0, NULL, "cannot be written: the system gives no random numbers");
    int length = kept == TD_FILE_SHARED ? snprintf(out, PATH_MAX, "%s" TEMPORARY "-%016" PRIx64, target, number)
                                        : snprintf(out, PATH_MAX, "%s" TEMPORARY "%ld", target, (long)getpid());
    return length >= 0 && length < PATH_MAX ? TD_OK
                                            : td_fail_at(error, TD_ERROR_IO, path, 0, NULL, "the path is too long");
}

tdStatus td_file_write_parts(const char *path, int n, const tdFilePart *parts, tdFileKept kept, tdError *error)
{
    Target target;
    TD_TRY(find_target(path, &target, error));
    if (target.direct)
        return write_directly(&target, n, parts, path, error);
    char temporary[PATH_MAX], folder[PATH_MAX];
    TD_TRY(name_temporary(path, target.path, kept, temporary, error));
    td_path_folder(folder, sizeof folder, target.path);
    const char *slash = strrchr(target.path, '/');
    if (kept == TD_FILE_DURABLE)
        sweep(folder, slash == NULL ? target.path : slash + 1);
    unlink(temporary); // of an earlier process of our number, or put there to be followed
    int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0)
        return fail_write(error, path);
    flock(file, LOCK_EX | LOCK_NB); // tells others that it is not stale
    bool good = write_all(file, n, parts) && (target.mode == 0 || fchmod(file, target.mode) == 0) &&
                (kept == TD_FILE_QUICK || fsync(file) == 0);
    int why = errno;
    bool closed = close(file) == 0;
    if (!good)
        errno = why;
    if (!good || !closed || rename(temporary, target.path) != 0)
    {
        tdStatus status = fail_write(error, path);
        unlink(temporary);
        return status;
    }
    return kept == TD_FILE_QUICK || sync_folder(folder) ? TD_OK : fail_write(error, path);
}

tdStatus td_file_write(const char *path, const void *data, size_t size, tdError *error)
{
    return td_file_write_parts(path, 1, &(tdFilePart){data, size}, TD_FILE_DURABLE, error);
}

tdStatus td_file_write_quickly(const char *path, const void *data, size_t size, tdError *error)
{
    return td_file_write_parts(path, 1, &(tdFilePart){data, size}, TD_FILE_QUICK, error);
}

tdStatus td_folder_sync(const char *folder, tdError *error)
{
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = file >= 0 && syncfs(file) == 0;
    tdStatus status = good ? TD_OK : fail_write(error, folder);
    if (file >= 0)
        close(file);
    return status;
}

// ---------------------------------------------------------------- text

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

// ---------------------------------------------------------------- paths

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
