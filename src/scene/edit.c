// SPDX-License-Identifier: Apache-2.0
// Changes of a scene before it is read: "bodies[finger].material.young=500 kPa" by lines. Values are YAML, so that what
// is checked and what is said of them is the same as for the file; what they name has no line.
#include "scene/edit.h"

#include <stdlib.h>
#include <string.h>

typedef struct Edit
{
    tdArena *arena;
    const char *file;
    const char *path; ///< the whole, for messages
    tdError *error;
} Edit;

#define FAIL(e, ...) td_fail_at((e)->error, TD_ERROR_INPUT, (e)->file, 0, (e)->path, __VA_ARGS__)

// A new child; its value comes later.
static tdStatus add_child(const Edit *e, tdYaml *map, const char *key, tdYaml **out)
{
    tdYaml *child = td_arena_take(e->arena, 1, sizeof *child);
    if (child == NULL)
        return td_fail_memory(e->error, "the changes of the scene");
    *child = (tdYaml){.kind = TD_YAML_MAP, .key = key, .text = "", .line = TD_YAML_SET, .key_line = TD_YAML_SET};
    if (map->last != NULL)
        map->last->next = child;
    else
        map->first = child;
    map->last = child;
    map->n++;
    *out = child;
    return TD_OK;
}

static tdStatus find_key(const Edit *e, tdYaml *at, const char *key, tdYaml **out)
{
    if (*key == '\0')
        return FAIL(e, "a name is missing in the path; write it like bodies[0].material.young");
    if (at->kind == TD_YAML_SCALAR && td_yaml_empty(at))
        at->kind = TD_YAML_MAP, at->n = 0;
    if (at->kind != TD_YAML_MAP)
    {
        char found[100];
        td_yaml_describe(at, found, sizeof found);
        return FAIL(e, "'%.60s' cannot be set: what holds it is %s, not a map%s", key, found,
                    at->kind == TD_YAML_LIST ? "; choose an entry by its number or name, like bodies[0]" : "");
    }
    for (tdYaml *child = at->first; child != NULL; child = child->next)
        if (strcmp(child->key, key) == 0)
            return *out = child, TD_OK;
    return add_child(e, at, key, out);
}

// The entry of a list by its number from 0, or by the name that it has.
static tdStatus find_entry(const Edit *e, tdYaml *at, const char *which, tdYaml **out)
{
    if (at->kind != TD_YAML_LIST)
    {
        char found[100];
        td_yaml_describe(at, found, sizeof found);
        return FAIL(e, "[%.60s] chooses from a list, and this is %s", which, found);
    }
    char *end;
    long number = strtol(which, &end, 10), i = 0;
    bool is_number = end != which && *end == '\0';
    for (tdYaml *child = at->first; child != NULL; child = child->next, i++)
    {
        const tdYaml *name = td_yaml_find(child, "name");
        if (is_number ? i == number : name != NULL && name->kind == TD_YAML_SCALAR && strcmp(name->text, which) == 0)
            return *out = child, TD_OK;
    }
    if (is_number)
        return FAIL(e, "there is no entry %ld: the list has %d, numbered from 0", number, at->n);
    return FAIL(e, "no entry of the list has the name '%.60s'", which);
}

// Cuts the path, which is the edit's own, at its marks.
static tdStatus walk(const Edit *e, tdYaml *at, char *path, tdYaml **out)
{
    bool first = true;
    while (*path != '\0')
    {
        if (*path == '[')
        {
            char *close = strchr(path, ']');
            if (close == NULL)
                return FAIL(e, "a ']' is missing in the path");
            *close = '\0';
            TD_TRY(find_entry(e, at, path + 1, &at));
            path = close + 1;
        }
        else
        {
            char *key = path + (*path == '.' && !first);
            size_t length = strcspn(key, ".[");
            char mark = key[length];
            char *copy = td_arena_take(e->arena, length + 1, 1);
            if (copy == NULL)
                return td_fail_memory(e->error, "the changes of the scene");
            memcpy(copy, key, length);
            TD_TRY(find_key(e, at, copy, &at));
            path = key + length;
            if (mark == '.' && path[1] == '\0')
                return FAIL(e, "a name is missing at the end of the path");
        }
        first = false;
    }
    *out = at;
    return TD_OK;
}

static void without_lines(tdYaml *node)
{
    node->line = node->key_line = TD_YAML_SET;
    for (tdYaml *child = node->first; child != NULL; child = child->next)
        without_lines(child);
}

static tdStatus apply(Edit *e, tdYaml *root, const char *line, size_t length)
{
    char *copy = td_arena_take(e->arena, length + 1, 1), *path = td_arena_take(e->arena, length + 1, 1);
    if (copy == NULL || path == NULL)
        return td_fail_memory(e->error, "the changes of the scene");
    memcpy(copy, line, length);
    e->path = copy;
    char *equals = strchr(copy, '=');
    if (equals == NULL || equals == copy)
        return FAIL(e, "a change of the scene is PATH=VALUE, like bodies[0].material.young=500 kPa");
    *equals = '\0';
    memcpy(path, copy, (size_t)(equals - copy));
    if (strcspn(path, ".[ ") == strlen("include") && strncmp(path, "include", strlen("include")) == 0)
        return FAIL(
            e, "included files are read before a scene is changed, so this would do nothing; set the keys that they "
               "contain, or make a scene that includes other files");
    if (equals[1 + strspn(equals + 1, " \t")] == '\0')
        return FAIL(e, "no value is given; write PATH=VALUE");
    tdYaml *value = NULL, *at = NULL;
    tdError why = {0};
    if (td_yaml_parse(equals + 1, strlen(equals + 1), e->file, e->arena, &value, &why) != TD_OK)
        return td_fail_at(e->error, why.status, e->file, 0, e->path, "%.300s", why.message);
    TD_TRY(walk(e, root, path, &at));
    without_lines(value);
    at->kind = value->kind;
    at->quoted = value->quoted;
    at->text = value->text;
    at->n = value->n;
    at->first = value->first;
    at->last = value->last;
    at->line = at->key_line = TD_YAML_SET;
    return TD_OK;
}

tdStatus td_yaml_edit(tdYaml *root, const char *file, const char *set, tdArena *arena, tdError *error)
{
    Edit e = {arena, file, NULL, error};
    while (set != NULL && *set != '\0')
    {
        size_t length = strcspn(set, "\n");
        if (length > 0)
            TD_TRY(apply(&e, root, set, length));
        set += length + (set[length] == '\n');
    }
    return TD_OK;
}
