// SPDX-License-Identifier: Apache-2.0
// Scenes in code: a tree of values that calls fill, written as the text of a scene and read by the parser, so that what
// is checked and what is said about it are the same as for files.
#include "base/file.h"
#include "base/memory.h"
#include "base/print.h"
#include "core/model.h"
#include "scene/yaml.h"
#include "tendril/study.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_KEY 200

typedef struct Node
{
    tdYamlKind kind;
    bool quoted; // scalar: a text, not a number or a word
    char *text;  // scalar
    char *key;   // its name when it is in a map
    struct Node *first, *last, *next;
} Node;

struct tdBuild
{
    char *name, *path; // for messages; the folder with the name, which says where files are
    Node *root;
    tdText text;
    bool current; // the text is that of the tree
};

// ---------------------------------------------------------------- nodes

static void node_free(Node *node)
{
    while (node != NULL)
    {
        Node *next = node->next;
        node_free(node->first);
        free(node->text);
        free(node->key);
        free(node);
        node = next;
    }
}

// What it holds; it stays in its place, with its name.
static void node_clear(Node *node, tdYamlKind kind)
{
    node_free(node->first);
    free(node->text);
    node->first = node->last = NULL;
    node->text = NULL;
    node->kind = kind;
    node->quoted = false;
}

static Node *node_add(Node *parent, const char *key, size_t length)
{
    Node *node = td_take(1, sizeof *node);
    if (node == NULL)
        return NULL;
    node->kind = TD_YAML_SCALAR;
    if (key != NULL && (node->key = td_take(length + 1, 1)) == NULL)
    {
        free(node);
        return NULL;
    }
    if (key != NULL)
        memcpy(node->key, key, length);
    if (parent->last != NULL)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    return node;
}

static int64_t count(const Node *node)
{
    int64_t n = 0;
    for (const Node *child = node->first; child != NULL; child = child->next)
        n++;
    return n;
}

// A scalar without text is what has just been made: it becomes whatever is wanted.
static bool is_new(const Node *node)
{
    return node->kind == TD_YAML_SCALAR && node->text == NULL;
}

// ---------------------------------------------------------------- paths

// One step of a path: a key, or the number of an element.
typedef struct Part
{
    bool is_index;
    int64_t index;
    char key[LONGEST_KEY + 1];
    size_t length;
} Part;

static tdStatus bad_path(const char *path, const char *why, tdError *error)
{
    return td_fail_at(error, TD_ERROR_USAGE, NULL, 0, path, "%s; paths are like bodies[0].material.young", why);
}

// Takes the next part off a path; *at goes on behind it.
static tdStatus next_part(const char *path, const char **at, Part *part, tdError *error)
{
    const char *p = *at;
    *part = (Part){0};
    if (*p == '[')
    {
        char *end = NULL;
        part->is_index = true;
        if (isdigit((unsigned char)p[1]))
            part->index = strtoll(p + 1, &end, 10);
        if (end == NULL || *end != ']' || part->index >= TD_YAML_MOST_NODES)
            return bad_path(path, "an element is a number in brackets", error);
        p = end + 1;
    }
    else
    {
        bool quoted = *p == '"';
        const char *end = quoted ? strchr(++p, '"') : p + strcspn(p, ".[");
        if (end == NULL)
            return bad_path(path, "a quotation mark is missing", error);
        part->length = (size_t)(end - p);
        if (part->length == 0)
            return bad_path(path, "a key is missing", error);
        if (part->length > LONGEST_KEY)
            return bad_path(path, "a key is too long", error);
        memcpy(part->key, p, part->length);
        p = end + (quoted ? 1 : 0);
    }
    if (*p == '.' && p[1] != '\0')
        p++;
    else if (*p != '[' && *p != '\0')
        return bad_path(path, "a key or an element has to follow", error);
    *at = p;
    return TD_OK;
}

// The child that a part names. It is made where `make` says so; else NULL when it is not there.
static tdStatus step_down(const char *path, Node *node, const Part *part, bool make, Node **out, tdError *error)
{
    tdYamlKind wanted = part->is_index ? TD_YAML_LIST : TD_YAML_MAP;
    *out = NULL;
    if (make && is_new(node))
        node->kind = wanted;
    if (node->kind != wanted)
        return make ? bad_path(path,
                               part->is_index ? "there is no list to take an element of"
                                              : "there is no map to "
                                                "put a key in",
                               error)
                    : TD_OK;
    int64_t n = 0;
    for (Node *child = node->first; child != NULL; child = child->next, n++)
        if (part->is_index ? n == part->index : strcmp(child->key, part->key) == 0)
        {
            *out = child;
            return TD_OK;
        }
    if (!make)
        return TD_OK;
    if (part->is_index && part->index > n)
        return td_fail_at(error, TD_ERROR_USAGE, NULL, 0, path,
                          "the list has %lld elements, and the next is [%lld], not [%lld]", (long long)n, (long long)n,
                          (long long)part->index);
    *out = node_add(node, part->is_index ? NULL : part->key, part->length);
    return *out != NULL ? TD_OK : td_fail_memory(error, "the scene");
}

// The node at a path, "" the root.
static tdStatus find(tdBuild *build, const char *path, bool make, Node **out, tdError *error)
{
    const char *at = path;
    Part part;
    *out = build->root;
    // A path that is wrong further on leaves nothing behind.
    for (int depth = 0; *at != '\0'; depth++)
    {
        TD_TRY(next_part(path, &at, &part, error));
        if (depth == TD_YAML_MOST_DEPTH)
            return bad_path(path, "the path is too deep", error);
    }
    for (at = path; *at != '\0' && *out != NULL;)
    {
        TD_TRY(next_part(path, &at, &part, error));
        TD_TRY(step_down(path, *out, &part, make, out, error));
    }
    return TD_OK;
}

// ---------------------------------------------------------------- values

static tdStatus set_scalar(Node *node, const char *text, bool quoted, tdError *error)
{
    char *copy = td_take(strlen(text) + 1, 1);
    if (copy == NULL)
        return td_fail_memory(error, "the scene");
    memcpy(copy, text, strlen(text) + 1);
    node_clear(node, TD_YAML_SCALAR);
    node->text = copy;
    node->quoted = quoted;
    return TD_OK;
}

static tdStatus set_number(Node *node, const char *path, double value, tdError *error)
{
    if (!isfinite(value))
        return td_fail_at(error, TD_ERROR_USAGE, NULL, 0, path, "the number is not finite");
    tdText text = {0};
    td_print_number(&text, value);
    tdStatus status = text.failed ? td_fail_memory(error, "the scene") : set_scalar(node, text.data, false, error);
    free(text.data);
    return status;
}

// The place of a new value, which the caller is going to change.
static tdStatus place(tdBuild *build, const char *path, tdYamlKind kind, Node **out, tdError *error)
{
    if (path[0] == '\0' && kind != TD_YAML_MAP)
        return td_fail(error, TD_ERROR_USAGE, "a scene is a map of keys; give the path of one");
    build->current = false;
    return find(build, path, true, out, error);
}

tdStatus td_build_text(tdBuild *build, const char *path, const char *text, tdError *error)
{
    Node *node = NULL;
    TD_TRY(place(build, path, TD_YAML_SCALAR, &node, error));
    return set_scalar(node, text, true, error);
}

tdStatus td_build_number(tdBuild *build, const char *path, double value, tdError *error)
{
    Node *node = NULL;
    if (!isfinite(value))
        return td_fail_at(error, TD_ERROR_USAGE, NULL, 0, path, "the number is not finite");
    TD_TRY(place(build, path, TD_YAML_SCALAR, &node, error));
    return set_number(node, path, value, error);
}

tdStatus td_build_numbers(tdBuild *build, const char *path, int64_t n, const double *values, tdError *error)
{
    Node *node = NULL;
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return td_fail_at(error, TD_ERROR_USAGE, NULL, 0, path, "number %lld is not finite", (long long)i);
    TD_TRY(place(build, path, TD_YAML_LIST, &node, error));
    node_clear(node, TD_YAML_LIST);
    for (int64_t i = 0; i < n; i++)
    {
        Node *item = node_add(node, NULL, 0);
        if (item == NULL)
            return td_fail_memory(error, "the scene");
        TD_TRY(set_number(item, path, values[i], error));
    }
    return TD_OK;
}

tdStatus td_build_flag(tdBuild *build, const char *path, bool value, tdError *error)
{
    Node *node = NULL;
    TD_TRY(place(build, path, TD_YAML_SCALAR, &node, error));
    return set_scalar(node, value ? "true" : "false", false, error);
}

static tdStatus set_empty(tdBuild *build, const char *path, tdYamlKind kind, tdError *error)
{
    Node *node = NULL;
    TD_TRY(place(build, path, kind, &node, error));
    node_clear(node, kind);
    return TD_OK;
}

tdStatus td_build_map(tdBuild *build, const char *path, tdError *error)
{
    return set_empty(build, path, TD_YAML_MAP, error);
}

tdStatus td_build_list(tdBuild *build, const char *path, tdError *error)
{
    return set_empty(build, path, TD_YAML_LIST, error);
}

static tdStatus copy_tree(Node *node, const tdYaml *from, tdError *error)
{
    if (from->kind == TD_YAML_SCALAR)
        return set_scalar(node, from->text != NULL ? from->text : "", from->quoted, error);
    node_clear(node, from->kind);
    for (const tdYaml *child = from->first; child != NULL; child = child->next)
    {
        Node *item = node_add(node, child->key, child->key != NULL ? strlen(child->key) : 0);
        if (item == NULL)
            return td_fail_memory(error, "the scene");
        TD_TRY(copy_tree(item, child, error));
    }
    return TD_OK;
}

tdStatus td_build_yaml(tdBuild *build, const char *path, const char *text, tdError *error)
{
    tdArena arena = {0};
    tdYaml *root = NULL;
    Node *node = NULL;
    tdStatus status = td_yaml_parse(text, strlen(text), build->name, &arena, &root, error);
    if (status == TD_OK && root == NULL)
        status = td_fail_at(error, TD_ERROR_USAGE, NULL, 0, path, "the text is empty");
    if (status == TD_OK)
        status = place(build, path, root->kind, &node, error);
    if (status == TD_OK)
        status = copy_tree(node, root, error);
    td_arena_free(&arena);
    return status;
}

tdStatus td_build_remove(tdBuild *build, const char *path, tdError *error)
{
    Node *node = NULL, *parent = build->root;
    TD_TRY(find(build, path, false, &node, error));
    if (node == NULL || node == build->root)
        return td_fail_at(error, TD_ERROR_USAGE, NULL, 0, path, "there is nothing to remove");
    const char *at = path;
    Part part;
    for (Node *next = build->root; next != node;)
    {
        parent = next;
        TD_TRY(next_part(path, &at, &part, error));
        TD_TRY(step_down(path, parent, &part, false, &next, error));
    }
    Node *before = NULL;
    for (Node *child = parent->first; child != node; child = child->next)
        before = child;
    if (before != NULL)
        before->next = node->next;
    else
        parent->first = node->next;
    if (parent->last == node)
        parent->last = before;
    node->next = NULL;
    node_free(node);
    build->current = false;
    return TD_OK;
}

int64_t td_build_count(const tdBuild *build, const char *path)
{
    Node *node = NULL;
    // Nothing is made, so that the tree stays as it is.
    if (find((tdBuild *)build, path, false, &node, NULL) != TD_OK || node == NULL)
        return -1;
    return count(node);
}

// ---------------------------------------------------------------- text

static void put_quoted(tdText *out, const char *text)
{
    td_text_append(out, "\"", 1);
    for (; *text != '\0'; text++)
    {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            td_text_format(out, "\\%c", c);
        else if (c < 0x20)
            td_text_format(out, "\\x%02x", c);
        else
            td_text_append(out, text, 1);
    }
    td_text_append(out, "\"", 1);
}

// Texts that need no quotation marks: words, and numbers with their units.
static bool is_plain(const char *text, const char *others)
{
    if (text[0] == '\0' || text[0] == ' ' || text[strlen(text) - 1] == ' ' || (text[0] == '-' && text[1] == ' '))
        return false;
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && strchr(others, *text) == NULL)
            return false;
    return true;
}

static void put_key(tdText *out, const char *key)
{
    if (is_plain(key, "_") && isalpha((unsigned char)key[0]))
        td_text_append(out, key, strlen(key));
    else
        put_quoted(out, key);
    td_text_append(out, ": ", 2);
}

static void put_value(tdText *out, const Node *node)
{
    if (node->kind == TD_YAML_SCALAR)
    {
        if (node->text == NULL || td_yaml_nothing(node->text, node->quoted))
            td_text_append(out, "~", 1); // in quotation marks it would be read back as a text
        else if (node->quoted || !is_plain(node->text, "_ .+-/^"))
            put_quoted(out, node->text);
        else
            td_text_append(out, node->text, strlen(node->text));
        return;
    }
    bool map = node->kind == TD_YAML_MAP;
    td_text_append(out, map ? "{" : "[", 1);
    for (const Node *child = node->first; child != NULL; child = child->next)
    {
        if (child != node->first)
            td_text_append(out, ", ", 2);
        if (map)
            put_key(out, child->key);
        put_value(out, child);
    }
    td_text_append(out, map ? "}" : "]", 1);
}

// A key a line, and lists of maps with an element a line.
static void put_scene(tdText *out, const Node *root)
{
    for (const Node *child = root->first; child != NULL; child = child->next)
    {
        put_key(out, child->key);
        bool rows = child->kind == TD_YAML_LIST && child->first != NULL && child->first->kind == TD_YAML_MAP;
        for (const Node *item = rows ? child->first : NULL; item != NULL; item = item->next)
        {
            td_text_append(out, "\n  - ", 5);
            put_value(out, item);
        }
        if (!rows)
            put_value(out, child);
        td_text_append(out, "\n", 1);
    }
    td_text_append(out, "", 1); // the end of the text
}

tdStatus td_build_scene(tdBuild *build, const char **text, tdError *error)
{
    if (!build->current)
    {
        build->text.size = 0;
        build->text.failed = false;
        put_scene(&build->text, build->root);
        if (build->text.failed)
            return td_fail_memory(error, "the scene's text");
        build->current = true;
    }
    *text = build->text.data;
    return TD_OK;
}

// ---------------------------------------------------------------- the scene

tdStatus td_build_create(const char *name, const char *folder, tdBuild **out, tdError *error)
{
    *out = NULL;
    tdBuild *build = td_take(1, sizeof *build);
    if (build == NULL)
        return td_fail_memory(error, "the scene");
    const char *in = folder != NULL && folder[0] != '\0' ? folder : ".";
    build->root = td_take(1, sizeof *build->root);
    build->name = td_take(strlen(name) + 1, 1);
    build->path = td_take(strlen(in) + strlen(name) + 2, 1);
    if (build->root == NULL || build->name == NULL || build->path == NULL)
    {
        td_build_free(build);
        return td_fail_memory(error, "the scene");
    }
    build->root->kind = TD_YAML_MAP;
    memcpy(build->name, name, strlen(name) + 1);
    snprintf(build->path, strlen(in) + strlen(name) + 2, "%s/%s", in, name);
    *out = build;
    return TD_OK;
}

void td_build_free(tdBuild *build)
{
    if (build == NULL)
        return;
    node_free(build->root);
    free(build->name);
    free(build->path);
    free(build->text.data);
    free(build);
}

tdStatus td_build_model(tdBuild *build, const tdSettings *settings, tdModel **out, tdError *error)
{
    const char *text = NULL;
    tdError why = {0};
    char folder[4096];
    *out = NULL;
    TD_TRY(td_build_scene(build, &text, error));
    td_path_folder(folder, sizeof folder, build->path);
    tdStatus status = td_model_parse(text, strlen(text), build->name, folder, settings, out, &why);
    // Lines are those of a text that nobody has seen; the field says where it is.
    if (status != TD_OK && strcmp(why.file, build->name) == 0)
        why.line = 0;
    if (status != TD_OK && error != NULL)
        *error = why;
    return status;
}
