// SPDX-License-Identifier: Apache-2.0
#include "scene/include.h"

#include "base/file.h"
#include "base/hash.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(((int64_t)TD_INCLUDE_MOST_FILES + 1) * TD_SCENE_LINES < INT_MAX, "a line fits into an int");
_Static_assert(TD_YAML_MOST_BYTES <= TD_SCENE_LINES, "a file has fewer lines than are counted for it");

// One file that is being included, and who includes it.
typedef struct Link
{
    const struct Link *by; ///< NULL: the scene
    const char *name, *folder;
    bool known; ///< dev and ino are
    dev_t dev;
    ino_t ino;
} Link;

typedef struct Work
{
    tdScene *scene;
    tdArena *tree;
    tdError *error;
} Work;

static tdStatus fail(const Work *w, int line, const char *format, const char *a, const char *b)
{
    return td_fail_at(w->error, TD_ERROR_INPUT, w->scene->file, line, "include", format, a, b);
}

static void append(tdYaml *parent, tdYaml *child)
{
    if (parent->last == NULL)
        parent->first = child;
    else
        parent->last->next = child;
    parent->last = child;
    child->next = NULL;
    parent->n++;
}

static void shift_lines(tdYaml *node, int by)
{
    node->line += by;
    node->key_line += by;
    for (tdYaml *child = node->first; child != NULL; child = child->next)
        shift_lines(child, by);
}

// "a.yaml includes b.yaml, which includes a.yaml": from the first file of the circle to the last.
static void describe_circle(const Link *first, const Link *last, const char *again, char *out, size_t size)
{
    const Link *chain[TD_INCLUDE_MOST_DEPTH + 1];
    int n = 0;
    for (const Link *at = last; at != NULL && n <= TD_INCLUDE_MOST_DEPTH; at = at->by)
    {
        chain[n++] = at;
        if (at == first)
            break;
    }
    size_t used = 0;
    for (int i = n - 1; i >= 0 && used < size; i--)
        used += (size_t)snprintf(out + used, size - used, i == n - 1 ? "%.120s includes " : "%.120s, which includes ",
                                 chain[i]->name);
    if (used < size)
        snprintf(out + used, size - used, "%.120s", again);
}

// Moves the keys of a map to the end of another one. A list that both have becomes one; the version may be said twice.
static tdStatus merge(const Work *w, tdYaml *into, tdYaml *from)
{
    for (tdYaml *child = from->first, *next = NULL; child != NULL; child = next)
    {
        next = child->next;
        tdYaml *other = (tdYaml *)td_yaml_find(into, child->key); // of the tree that we are building
        if (other == NULL)
            append(into, child);
        else if (other->kind == TD_YAML_LIST && child->kind == TD_YAML_LIST)
            for (tdYaml *item = child->first, *after = NULL; item != NULL; item = after)
            {
                after = item->next;
                append(other, item);
            }
        else if (strcmp(child->key, "tendril") != 0 || other->kind != TD_YAML_SCALAR || child->kind != TD_YAML_SCALAR ||
                 strcmp(child->text, other->text) != 0)
            return td_fail_at(w->error, TD_ERROR_INPUT, w->scene->file, child->key_line, child->key,
                              "is given here and on line %d; only lists are joined, so give it in one of the files",
                              other->key_line);
    }
    return TD_OK;
}

static tdStatus expand(const Work *w, tdYaml *map, const Link *link, int depth);

static tdStatus check_file(const Work *w, const Link *by, Link *link, int line, int depth)
{
    struct stat info;
    link->known = stat(link->name, &info) == 0;
    if (!link->known)
        return TD_OK; // reading it says why
    link->dev = info.st_dev;
    link->ino = info.st_ino;
    for (const Link *at = by; at != NULL; at = at->by)
        if (at->known && at->dev == link->dev && at->ino == link->ino)
        {
            char circle[500];
            describe_circle(at, by, link->name, circle, sizeof circle);
            return fail(w, line, "%s; a file cannot include itself: remove one of these%s", circle, "");
        }
    if (depth == TD_INCLUDE_MOST_DEPTH)
        return fail(w, line, "'%.120s' is included through too many files, one inside another%s", link->name, "");
    return TD_OK;
}

static tdStatus include_file(const Work *w, tdYaml *into, const tdYaml *node, const Link *by, int depth)
{
    char path[PATH_MAX], folder[PATH_MAX];
    if (node->kind != TD_YAML_SCALAR || td_yaml_empty(node))
        return fail(w, node->line, "expected the name of a file, e.g. 'include: [parts/finger.yaml]'%s%s", "", "");
    if (!td_path_join(path, sizeof path, by->folder, node->text))
        return fail(w, node->line, "the path '%.60s...' is too long%s", node->text, "");
    if (w->scene->n_files == TD_INCLUDE_MOST_FILES)
        return fail(w, node->line, "the scene has too many included files; '%.60s' is one more than 64%s", node->text,
                    "");
    td_path_folder(folder, sizeof folder, path);
    Link link = {.by = by, .name = td_arena_copy(&w->scene->arena, path), .folder = folder};
    if (link.name == NULL)
        return td_fail_memory(w->error, "an included file");
    TD_TRY(check_file(w, by, &link, node->line, depth));
    char *text = NULL;
    size_t length = 0;
    tdYaml *root = NULL;
    tdError why = {0};
    if (td_file_read(path, &text, &length, &why) != TD_OK)
        return fail(w, node->line, "'%.200s' %s", path, why.message);
    tdStatus status = td_yaml_parse(text, length, link.name, w->tree, &root, w->error);
    w->scene->hash = td_hash_mix(w->scene->hash ^ td_hash_bytes(text, length));
    free(text);
    TD_TRY(status);
    w->scene->files[w->scene->n_files++] = link.name;
    shift_lines(root, w->scene->n_files * TD_SCENE_LINES);
    if (root->kind != TD_YAML_MAP)
        return fail(w, root->line, "an included file holds keys of a scene, e.g. 'bodies:'%s%s", "", "");
    TD_TRY(expand(w, root, &link, depth + 1));
    return merge(w, into, root);
}

// What the files have comes first, in their order, then what the map has itself.
static tdStatus expand(const Work *w, tdYaml *map, const Link *link, int depth)
{
    const tdYaml *include = td_yaml_find(map, "include");
    if (include == NULL)
        return TD_OK;
    tdYaml own = *map;
    own.first = own.last = NULL;
    own.n = 0;
    for (tdYaml *child = map->first, *next = NULL; child != NULL; child = next)
    {
        next = child->next;
        if (child != include)
            append(&own, child);
    }
    map->first = map->last = NULL;
    map->n = 0;
    if (include->kind == TD_YAML_SCALAR)
        TD_TRY(include_file(w, map, include, link, depth));
    else if (include->kind == TD_YAML_LIST && include->n > 0)
        for (const tdYaml *item = include->first; item != NULL; item = item->next)
            TD_TRY(include_file(w, map, item, link, depth));
    else
        return fail(w, include->line,
                    "expected the name of a file or a list of them, e.g. 'include: [parts/finger.yaml]'%s%s", "", "");
    return merge(w, map, &own);
}

tdStatus td_include(tdYaml *root, tdScene *scene, const char *folder, tdArena *tree, tdError *error)
{
    if (td_yaml_find(root, "include") == NULL)
        return TD_OK;
    Work w = {scene, tree, error};
    scene->files = TD_TAKE(&scene->arena, const char *, TD_INCLUDE_MOST_FILES);
    if (scene->files == NULL)
        return td_fail_memory(error, "included files");
    struct stat info;
    Link link = {.name = scene->file, .folder = folder};
    link.known = stat(scene->file, &info) == 0;
    if (link.known)
    {
        link.dev = info.st_dev;
        link.ino = info.st_ino;
    }
    return expand(&w, root, &link, 0);
}

void td_include_folder(const tdScene *scene, int line, const char *folder, char *out, size_t size)
{
    int k = line / TD_SCENE_LINES;
    if (k >= 1 && k <= scene->n_files)
        td_path_folder(out, size, scene->files[k - 1]);
    else
        snprintf(out, size, "%s", folder != NULL ? folder : "");
}

const char *td_include_file(const tdScene *scene, int line)
{
    int k = line / TD_SCENE_LINES;
    return k >= 1 && k <= scene->n_files ? scene->files[k - 1] : scene->file;
}

int td_include_line(int line)
{
    return line > 0 ? line % TD_SCENE_LINES : 0;
}

// "line 33554439" -> "line 7 of parts/finger.yaml"; "on line -1", of what was set, -> "that --set gives".
static void place_message(const tdScene *scene, char *message, size_t size)
{
    static const char word[] = "line ";
    char out[sizeof((tdError *)NULL)->message];
    size_t used = 0;
    for (const char *at = message; *at != '\0' && used + 1 < sizeof out;)
    {
        char *end = NULL;
        const char *whole = "on line -1", *part = "line -1";
        bool set = strncmp(at, whole, strlen(whole)) == 0, in_brackets = strncmp(at, part, strlen(part)) == 0;
        if (set || in_brackets)
        {
            int n = snprintf(out + used, sizeof out - used, "%s", set ? "that --set gives" : "by --set");
            used = n > 0 && used + (size_t)n < sizeof out ? used + (size_t)n : sizeof out - 1;
            at += strlen(set ? whole : part);
            continue;
        }
        bool counted = strncmp(at, word, sizeof word - 1) == 0 && isdigit((unsigned char)at[sizeof word - 1]);
        long line = counted ? strtol(at + sizeof word - 1, &end, 10) : 0;
        int k = (int)(line / TD_SCENE_LINES);
        if (k < 1 || k > scene->n_files)
        {
            out[used++] = *at++;
            continue;
        }
        int n =
            snprintf(out + used, sizeof out - used, "line %ld of %.200s", line % TD_SCENE_LINES, scene->files[k - 1]);
        used = n > 0 && used + (size_t)n < sizeof out ? used + (size_t)n : sizeof out - 1;
        at = end;
    }
    out[used] = '\0';
    snprintf(message, size, "%s", out);
}

void td_include_place(const tdScene *scene, tdError *error)
{
    if (error == NULL)
        return;
    // Files of meshes have lines of their own.
    int k = error->line / TD_SCENE_LINES;
    if (k >= 1 && k <= scene->n_files && strncmp(error->file, scene->file, sizeof error->file - 1) == 0)
    {
        snprintf(error->file, sizeof error->file, "%s", scene->files[k - 1]);
        error->line %= TD_SCENE_LINES;
    }
    place_message(scene, error->message, sizeof error->message);
}
