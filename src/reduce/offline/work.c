// SPDX-License-Identifier: Apache-2.0
#include "reduce/offline/work.h"

#include "base/file.h"
#include "base/hash.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#define ABOUT "job.txt"
#define LOCK  "lock"

#define WORK_PARTS 16 // more than a part has pieces

/// Head of a part. In the byte order of the machine: the folder does not travel.
typedef struct Head
{
    char magic[8];
    uint64_t key, size;
    uint64_t crc; // of what follows
} Head;

static const char magic[8] = {'T', 'D', 'P', 'A', 'R', 'T', '1', '\n'};

void td_work_path(const tdWork *work, const char *name, char out[PATH_MAX])
{
    assert(strlen(name) < 60);
    snprintf(out, PATH_MAX, "%s/%s", work->folder, name);
}

// ---------------------------------------------------------------- parts

uint64_t td_work_key(uint64_t before, const void *bytes, size_t n)
{
    return td_hash_mix(td_hash_mix(before + n) ^ td_hash_bytes(bytes, n));
}

tdStatus td_work_key_file(const char *path, uint64_t *key, tdError *error)
{
    char *data = NULL;
    size_t size = 0;
    TD_TRY(td_file_read(path, &data, &size, error));
    *key = td_work_key(*key, data, size);
    free(data);
    return TD_OK;
}

static uint64_t sum_of(uint64_t crc, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t at = 0; at < size;)
    {
        size_t n = size - at < 1U << 30 ? size - at : 1U << 30;
        crc = crc32((uLong)crc, bytes + at, (uInt)n);
        at += n;
    }
    return crc;
}

tdStatus td_work_save(const tdWork *work, uint64_t key, const char *name, int n, const tdWorkPart *parts,
                      tdError *error)
{
    assert(n <= WORK_PARTS);
    char path[PATH_MAX];
    td_work_path(work, name, path);
    Head head = {.key = key};
    tdFilePart all[1 + WORK_PARTS] = {{&head, sizeof head}};
    memcpy(head.magic, magic, sizeof magic);
    for (int i = 0; i < n; i++)
    {
        head.size += parts[i].size;
        head.crc = sum_of(head.crc, parts[i].data, parts[i].size);
        all[1 + i] = (tdFilePart){parts[i].data, parts[i].size};
    }
    // A part that a loss of power tore has another checksum, and is made again. One that others wait for stays.
    return td_file_write_parts(path, n + 1, all, work->shared ? TD_FILE_SHARED : TD_FILE_QUICK, error);
}

// A part with this key, behind its head; NULL: there is none.
static FILE *open_part(const tdWork *work, uint64_t key, const char *name, Head *head)
{
    char path[PATH_MAX];
    td_work_path(work, name, path);
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return NULL;
    if (fread(head, sizeof *head, 1, file) == 1 && memcmp(head->magic, magic, sizeof magic) == 0 && head->key == key)
        return file;
    fclose(file);
    return NULL;
}

bool td_work_load(const tdWork *work, uint64_t key, const char *name, int n, const tdWorkPart *parts)
{
    Head head;
    FILE *file = open_part(work, key, name, &head);
    if (file == NULL)
        return false;
    uint64_t size = 0, crc = 0;
    for (int i = 0; i < n; i++)
        size += parts[i].size;
    bool good = head.size == size;
    for (int i = 0; good && i < n; i++)
    {
        good = parts[i].size == 0 || fread((void *)parts[i].data, parts[i].size, 1, file) == 1;
        crc = good ? sum_of(crc, parts[i].data, parts[i].size) : 0;
    }
    fclose(file);
    return good && crc == head.crc;
}

bool td_work_read(const tdWork *work, uint64_t key, const char *name, int64_t count, size_t at, size_t stride,
                  size_t bytes, void *out)
{
    Head head;
    FILE *file = open_part(work, key, name, &head);
    if (file == NULL)
        return false;
    bool good = true;
    for (int64_t i = 0; good && i < count; i++)
        good = pread(fileno(file), (char *)out + (size_t)i * bytes, bytes,
                     (off_t)(sizeof head + at + (size_t)i * stride)) == (ssize_t)bytes;
    fclose(file);
    return good;
}

bool td_work_has(const tdWork *work, uint64_t key, const char *name, size_t size)
{
    Head head;
    FILE *file = open_part(work, key, name, &head);
    if (file == NULL)
        return false;
    struct stat info;
    bool good = head.size == size && fstat(fileno(file), &info) == 0 && (uint64_t)info.st_size == sizeof head + size;
    fclose(file);
    return good;
}

#define SHOWS_UP 60 // [s]

void td_work_await(const tdWork *work, const char *name)
{
    char path[PATH_MAX];
    td_work_path(work, name, path);
    for (int k = 0; k < 10 * SHOWS_UP && access(path, F_OK) != 0; k++)
    {
        DIR *folder = opendir(work->folder); // makes it ask the server
        if (folder != NULL)
            closedir(folder);
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
}

// ---------------------------------------------------------------- the folder

// What a job may have left there, killed or not: by whole names, because a user's own files may lie beside them.
static bool is_ours(const char *name)
{
    static const char *const whole[] = {ABOUT, LOCK, "candidate.h5", "greedy.h5"};
    const char *unfinished = strstr(name, ".tmp");
    size_t length = unfinished != NULL ? (size_t)(unfinished - name) : strlen(name);
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        if (strlen(whole[i]) == length && strncmp(name, whole[i], length) == 0)
            return true;
    return length > 5 && strncmp(name + length - 5, ".part", 5) == 0;
}

// Removes the parts, but neither what is not ours nor the lock. Counts what is not ours.
static int clear(const tdWork *work, bool only_count)
{
    int foreign = 0;
    DIR *folder = opendir(work->folder);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
    {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char path[PATH_MAX + 256];
        snprintf(path, sizeof path, "%s/%s", work->folder, entry->d_name);
        if (!is_ours(entry->d_name))
            foreign++;
        else if (!only_count && strcmp(entry->d_name, LOCK) != 0)
            unlink(path);
    }
    if (folder != NULL)
        closedir(folder);
    return foreign;
}

static tdStatus take_lock(tdWork *work, tdError *error)
{
    char path[PATH_MAX];
    td_work_path(work, LOCK, path);
    return (work->shared ? td_lock_share : td_lock_take)(&work->lock, path, work->folder,
                                                         "wait for it, or give another output file", error);
}

// The first lines of two texts that differ, without their ends.
static void first_difference(const char *a, const char *b, char *one, char *other, size_t size)
{
    while (*a != '\0' || *b != '\0')
    {
        int n = (int)strcspn(a, "\n"), m = (int)strcspn(b, "\n");
        if (n != m || memcmp(a, b, (size_t)n) != 0)
        {
            snprintf(one, size, "%.*s", n, a);
            snprintf(other, size, "%.*s", m, b);
            return;
        }
        a += n + (a[n] == '\n');
        b += m + (b[m] == '\n');
    }
}

// Compares with the job that the folder belongs to, or makes it that of this one.
static tdStatus claim(tdWork *work, const char *about, bool restart, tdError *error)
{
    char path[PATH_MAX], *found = NULL;
    size_t size = 0;
    td_work_path(work, ABOUT, path);
    if (!restart && access(path, F_OK) == 0)
    {
        TD_TRY(td_file_read(path, &found, &size, error));
        if (strcmp(found, about) == 0)
        {
            free(found);
            work->resumed = true;
            return TD_OK;
        }
        char there[160] = "", here[160] = "";
        first_difference(found, about, there, here, sizeof there);
        free(found);
        return td_fail_at(error, TD_ERROR_INPUT, work->folder, 0, NULL,
                          "was left by another job: it has '%s' where this one has '%s'; finish that one, or discard "
                          "its work (--restart of 'tendril reduce', --force of other commands)",
                          there, here);
    }
    if (clear(work, true) > 0)
        return td_fail_at(
            error, TD_ERROR_INPUT, work->folder, 0, NULL,
            "is in the way: it is not a work folder, or contains something else; move it, or give another "
            "output file");
    if (!work->shared) // others have begun already, maybe
        clear(work, false);
    // Of several who find nothing there each writes it, and all the same.
    const tdFilePart text = {about, strlen(about)};
    return td_file_write_parts(path, 1, &text, work->shared ? TD_FILE_SHARED : TD_FILE_DURABLE, error);
}

static tdStatus enter(const char *folder, const char *about, bool shared, bool restart, tdWork *out, tdError *error)
{
    *out = (tdWork){.key = td_hash_bytes(about, strlen(about)), .lock = TD_UNLOCKED, .shared = shared};
    if (strlen(folder) >= sizeof out->folder)
        return td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "the path is too long");
    snprintf(out->folder, sizeof out->folder, "%s", folder);
    TD_TRY(td_path_make(folder, error));
    TD_TRY(take_lock(out, error));
    tdStatus status = claim(out, about, restart, error);
    if (status != TD_OK)
        td_work_close(out, false);
    return status;
}

tdStatus td_work_open(const char *folder, const char *about, bool restart, tdWork *out, tdError *error)
{
    return enter(folder, about, false, restart, out, error);
}

tdStatus td_work_share(const char *folder, const char *about, tdWork *out, tdError *error)
{
    return enter(folder, about, true, false, out, error);
}

tdStatus td_work_join(const char *folder, const char *about, tdWork *out, tdError *error)
{
    *out = (tdWork){.key = td_hash_bytes(about, strlen(about)), .lock = TD_UNLOCKED, .shared = true};
    if (strlen(folder) >= sizeof out->folder)
        return td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "the path is too long");
    snprintf(out->folder, sizeof out->folder, "%s", folder);
    td_work_await(out, ABOUT);
    char path[PATH_MAX];
    td_work_path(out, ABOUT, path);
    if (access(path, F_OK) != 0)
        return td_fail_at(error, TD_ERROR_INPUT, folder, 0, NULL,
                          "the work folder that rank 0 has made is not seen by another rank; all ranks need one file "
                          "system: give --work FOLDER on one that they share");
    return claim(out, about, false, error);
}

void td_work_close(tdWork *work, bool done)
{
    if (!td_lock_is_taken(&work->lock))
        return;
    done = done && !work->shared;
    if (done)
        clear(work, false);
    td_lock_release(&work->lock);
    if (done)
        rmdir(work->folder); // stays when something of the user's lies there
}
