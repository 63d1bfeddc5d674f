// SPDX-License-Identifier: Apache-2.0
// Files that a robot names, and the program that expands xacro files.
#include "base/file.h"
#include "scene/robot.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_ABOVE 32               // folders above a robot's that are searched
#define MOST_BYTES ((long)64 << 20) // of an expanded file

// ---------------------------------------------------------------- packages

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, R_OK) == 0;
}

// folder/relative, if it is there.
static bool try_join(const char *folder, const char *relative, char *out, size_t size)
{
    return td_path_join(out, size, folder, relative) && is_file(out);
}

// One entry of the list of packages: NAME=FOLDER, or a folder that is the package or holds it.
static bool try_entry(const char *entry, size_t length, const char *name, const char *rest, char *out, size_t size)
{
    char folder[PATH_MAX];
    size_t n = strlen(name);
    const char *equals = memchr(entry, '=', length);
    if (equals != NULL)
    {
        if ((size_t)(equals - entry) != n || memcmp(entry, name, n) != 0)
            return false;
        length -= n + 1;
        entry = equals + 1;
    }
    while (length > 1 && entry[length - 1] == '/')
        length--;
    if (length == 0 || length >= sizeof folder)
        return false;
    memcpy(folder, entry, length);
    folder[length] = '\0';
    if (equals != NULL)
        return try_join(folder, rest, out, size);
    const char *last = strrchr(folder, '/');
    if (strcmp(last != NULL ? last + 1 : folder, name) == 0 && try_join(folder, rest, out, size))
        return true;
    char inner[PATH_MAX];
    return snprintf(inner, sizeof inner, "%s/%s", name, rest) < (int)sizeof inner && try_join(folder, inner, out, size);
}

static bool try_packages(const char *list, const char *name, const char *rest, char *out, size_t size)
{
    for (const char *at = list; at != NULL && *at != '\0';)
    {
        size_t length = strcspn(at, ":");
        if (try_entry(at, length, name, rest, out, size))
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

// In the robot's folder and in all above it: `rest`, and `name`/`rest`; with `cut` whatever is left of the path without
// its first folders, also below `meshes`.
static bool try_above(const char *folder, const char *inner, bool cut, char *out, size_t size)
{
    char at[PATH_MAX], below[PATH_MAX];
    const char *rest = strchr(inner, '/') + 1;
    if (realpath(folder, at) == NULL)
        return false;
    for (int level = 0; level < MOST_ABOVE; level++)
    {
        if (!cut && (try_join(at, rest, out, size) || try_join(at, inner, out, size)))
            return true;
        // A file name alone could be any file: one folder has to stay.
        for (const char *tail = inner; cut && strchr(tail, '/') != NULL; tail = strchr(tail, '/') + 1)
            if (try_join(at, tail, out, size) ||
                (snprintf(below, sizeof below, "meshes/%s", tail) < (int)sizeof below &&
                 try_join(at, below, out, size)))
                return true;
        char *slash = strrchr(at, '/');
        if (slash == NULL || at[1] == '\0')
            return false;
        slash[slash == at] = '\0'; // the root keeps its slash
    }
    return false;
}

static bool find_in_package(const tdRobotFiles *files, const char *given, char *out, size_t size, char *why,
                            size_t why_size)
{
    char name[256];
    const char *package = strstr(given, "://") + 3;
    package += strspn(package, "/");
    const char *rest = strchr(package, '/');
    if (rest == NULL || rest[1] == '\0' || rest - package >= (long)sizeof name)
    {
        snprintf(why, why_size, "'%.200s' names no file in the package", given);
        return false;
    }
    memcpy(name, package, (size_t)(rest - package));
    name[rest - package] = '\0';
    if (try_packages(files->packages, name, rest + 1, out, size) || try_above(files->folder, package, false, out, size))
        return true;
    if (try_above(files->folder, package, true, out, size))
    {
        snprintf(why, why_size,
                 "package '%s' was not found, so '%.300s' is used for '%.200s'; if that is the wrong file, give the "
                 "package's folder: --package %s=FOLDER",
                 name, out, given, name);
        return true;
    }
    snprintf(why, why_size,
             "'%.200s' is neither in the folder of this file, nor above it, nor in ROS_PACKAGE_PATH; give the "
             "package's folder: --package %s=FOLDER",
             given, name);
    return false;
}

bool td_robot_find(const tdRobotFiles *files, const char *given, char *out, size_t size, char *why, size_t why_size)
{
    why[0] = '\0';
    if (files->folder == NULL)
    {
        snprintf(why, why_size, "the mesh '%.200s' cannot be read: this document has no folder", given);
        return false;
    }
    if (strncmp(given, "package://", 10) == 0 || strncmp(given, "model://", 8) == 0)
        return find_in_package(files, given, out, size, why, why_size);
    const char *path = strncmp(given, "file://", 7) == 0 ? given + 7 : given;
    if (path == given && strstr(given, "://") != NULL)
    {
        snprintf(why, why_size, "'%.200s' is not a file; write a path relative to this file, or package://", given);
        return false;
    }
    if (!td_path_join(out, size, files->folder, path))
    {
        snprintf(why, why_size, "the path '%.60s...' is too long", given);
        return false;
    }
    if (is_file(out))
        return true;
    snprintf(why, why_size, "there is no file '%.300s' that can be read", out);
    return false;
}

// ---------------------------------------------------------------- xacro

// The environment, with ROS_PACKAGE_PATH being the folders of the list that have no name: what xacro's $(find) asks.
static char **environment(tdArena *arena, const char *packages)
{
    static const char variable[] = "ROS_PACKAGE_PATH=";
    size_t n = 0, kept = 0, size = sizeof variable + (packages == NULL ? 0 : strlen(packages)) + 1;
    while (environ[n] != NULL)
        n++;
    char **out = TD_TAKE(arena, char *, n + 2), *paths = TD_TAKE(arena, char, size), *at = paths;
    if (out == NULL || paths == NULL)
        return NULL;
    at = stpcpy(at, variable);
    for (const char *from = packages; from != NULL && *from != '\0';)
    {
        size_t length = strcspn(from, ":");
        if (memchr(from, '=', length) == NULL)
        {
            memcpy(at, from, length);
            at += length;
            *at++ = ':';
        }
        from += length + (from[length] == ':');
    }
    *at = '\0';
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], variable, sizeof variable - 1) != 0)
            out[kept++] = environ[i];
    out[kept] = paths;
    return out;
}

static tdStatus read_back(FILE *file, const char *path, char **text, size_t *size, tdError *error)
{
    long length = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (length < 0 || length > MOST_BYTES)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL, "xacro makes %ld bytes of it; %ld are allowed", length,
                          MOST_BYTES);
    *text = malloc((size_t)length + 1);
    if (*text == NULL)
        return td_fail_memory(error, path);
    rewind(file);
    *size = fread(*text, 1, (size_t)length, file);
    (*text)[*size] = '\0';
    return TD_OK;
}

static tdStatus run_xacro(const char *path, char **environment_of, FILE *out, FILE *complaints, bool *missing,
                          tdError *error)
{
    char *const arguments[] = {"xacro", (char *)path, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int status = 0;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return td_fail_memory(error, path);
    int failure = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0);
    failure = failure != 0 ? failure : posix_spawn_file_actions_adddup2(&actions, fileno(out), 1);
    failure = failure != 0 ? failure : posix_spawn_file_actions_adddup2(&actions, fileno(complaints), 2);
    failure = failure != 0 ? failure : posix_spawnp(&child, "xacro", &actions, NULL, arguments, environment_of);
    posix_spawn_file_actions_destroy(&actions);
    *missing = failure == ENOENT;
    if (failure != 0)
        return *missing
                   ? TD_OK
                   : td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL, "xacro cannot be started: %s", strerror(failure));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL, "xacro was lost: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return TD_OK;
    *missing = WIFEXITED(status) && WEXITSTATUS(status) == 127;
    char *text = NULL;
    size_t size = 0;
    if (*missing)
        return TD_OK;
    TD_TRY(read_back(complaints, path, &text, &size, error));
    while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == ' '))
        text[--size] = '\0';
    const char *last = size > 300 ? text + size - 300 : text; // what it failed at stands at the end
    td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL, "xacro cannot expand it: %s", last);
    free(text);
    return TD_ERROR_INPUT;
}

tdStatus td_robot_xacro(const char *path, const char *packages, char **text, size_t *size, bool *missing,
                        tdError *error)
{
    tdArena arena = {0};
    FILE *out = tmpfile(), *complaints = tmpfile();
    char **variables = environment(&arena, packages);
    tdStatus status = out == NULL || complaints == NULL || variables == NULL
                          ? td_fail_memory(error, path)
                          : run_xacro(path, variables, out, complaints, missing, error);
    if (status == TD_OK && !*missing)
        status = read_back(out, path, text, size, error);
    if (out != NULL)
        fclose(out);
    if (complaints != NULL)
        fclose(complaints);
    td_arena_free(&arena);
    return status;
}
