// SPDX-License-Identifier: Apache-2.0
#include "scenes.h"

#include "cli.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct list
{
    const char *root;
    tdViewEntry *entries;
    int n;
    int64_t capacity;
    bool failed;
} list;

// A scene whose meshes have not been made yet (scripts/robots) would only fail when it is picked.
static bool has_meshes(const char *path)
{
    char *text = NULL, folder[PATH_MAX];
    size_t size = 0;
    tdScene scene = {0};
    if (td_file_read(path, &text, &size, NULL) != TD_OK)
        return false;
    td_path_folder(folder, sizeof folder, path);
    bool good = td_scene_parse(text, size, path, folder, &scene, NULL) == TD_OK;
    for (int b = 0; b < scene.n_bodies && good; b++)
        good = scene.bodies[b].mesh == NULL || access(scene.bodies[b].mesh, R_OK) == 0;
    td_scene_free(&scene);
    free(text);
    return good;
}

static void add(list *l, const tdViewEntry *entry)
{
    if (l->failed || !td_grow((void **)&l->entries, &l->capacity, l->n + 1, sizeof *l->entries))
        l->failed = true;
    else
        l->entries[l->n++] = *entry;
}

// A scene of the folder, and its reduced model where that lies beside it.
static void add_file(list *l, const char *folder, const char *file)
{
    tdViewEntry entry = {0};
    size_t stem = strlen(file) - strlen(".yaml");
    const char *shown = strcmp(folder, "scenes") == 0 ? "" : strncmp(folder, "scenes/", 7) == 0 ? folder + 7 : folder;
    int n =
        snprintf(entry.name, sizeof entry.name - 16, "%s%s%.*s", shown, shown[0] != '\0' ? "/" : "", (int)stem, file);
    int m = snprintf(entry.path, sizeof entry.path, "%s/%s/%s", l->root, folder, file);
    if (n < 0 || (size_t)n >= sizeof entry.name - 16 || m < 0 || (size_t)m >= sizeof entry.path ||
        !has_meshes(entry.path))
        return;
    add(l, &entry);
    snprintf(entry.rom, sizeof entry.rom, "%.*s.h5", (int)(strlen(entry.path) - strlen(".yaml")), entry.path);
    if (access(entry.rom, R_OK) != 0)
        return;
    snprintf(entry.name + n, sizeof entry.name - (size_t)n, " (reduced)");
    add(l, &entry);
}

static void add_folder(list *l, const char *folder, int depth)
{
    char path[PATH_MAX];
    struct dirent **items = NULL;
    snprintf(path, sizeof path, "%s/%s", l->root, folder);
    int n = scandir(path, &items, NULL, alphasort); // the same order everywhere
    for (int i = 0; i < n; i++)
    {
        const char *name = items[i]->d_name, *dot = strrchr(name, '.');
        char inner[PATH_MAX];
        snprintf(inner, sizeof inner, "%s/%s", folder, name);
        if (dot != NULL && dot != name && strcmp(dot, ".yaml") == 0)
            add_file(l, folder, name);
        else if (depth > 0 && name[0] != '.' && dot == NULL)
            add_folder(l, inner, depth - 1);
        free(items[i]);
    }
    free(items);
}

static bool is_same_file(const char *a, const char *b)
{
    char x[PATH_MAX], y[PATH_MAX];
    if (a[0] == '\0' || b[0] == '\0')
        return a[0] == b[0];
    return realpath(a, x) != NULL && realpath(b, y) != NULL && strcmp(x, y) == 0;
}

tdStatus scenes_list(const char *folder, const tdViewEntry *first, tdViewEntry **out, int *n, tdError *error)
{
    char root[PATH_MAX] = "";
    list l = {.root = folder != NULL ? folder : root};
    add(&l, first);
    bool found = cli_shipped("scenes/beam.yaml", root, sizeof root);
    if (folder == NULL && found)
        root[strlen(root) - strlen("/scenes/beam.yaml")] = '\0';
    if (folder != NULL || found)
    {
        add_folder(&l, "scenes", 1);
        add_folder(&l, "robots", 1);
    }
    if (l.failed)
    {
        free(l.entries);
        return td_fail_memory(error, "the list of scenes");
    }
    if (folder != NULL && access(folder, R_OK | X_OK) != 0)
    {
        free(l.entries);
        return td_fail_at(error, TD_ERROR_INPUT, folder, 0, "--scenes", "the folder cannot be read: %s",
                          strerror(errno));
    }
    // The first goes by its name among the others where it is one of them.
    for (int i = 1; i < l.n; i++)
        if (is_same_file(l.entries[i].path, first->path) && is_same_file(l.entries[i].rom, first->rom))
        {
            l.entries[0] = l.entries[i];
            memmove(&l.entries[i], &l.entries[i + 1], (size_t)(l.n - i - 1) * sizeof *l.entries);
            l.n--;
            break;
        }
    *out = l.entries;
    *n = l.n;
    return TD_OK;
}
