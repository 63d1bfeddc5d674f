// SPDX-License-Identifier: Apache-2.0
#include "scene/yaml.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

#define MOST_ANCHORS 256

typedef struct Anchor
{
    const char *name;
    const tdYaml *node;
    bool complete; // false while its node is still being built: an alias to it would recurse
} Anchor;

typedef struct Builder
{
    yaml_parser_t parser;
    const char *text, *file;
    size_t length;
    tdArena *arena;
    tdError *error;
    int nodes, n_anchors;
    Anchor anchors[MOST_ANCHORS];
} Builder;

#define FAIL(b, line, field, ...) td_fail_at((b)->error, TD_ERROR_INPUT, (b)->file, (line), (field), __VA_ARGS__)

static int line_of(const yaml_event_t *event)
{
    return (int)event->start_mark.line + 1;
}

static int line_at_offset(const Builder *b, size_t offset)
{
    int line = 1;
    for (size_t i = 0; i < offset && i < b->length; i++)
        line += b->text[i] == '\n';
    return line;
}

static bool tab_indents(const Builder *b, int line)
{
    size_t i = 0;
    for (int k = 1; k < line && i < b->length; i++)
        k += b->text[i] == '\n';
    while (i < b->length && b->text[i] == ' ')
        i++;
    return i < b->length && b->text[i] == '\t';
}

// What is usually meant by a complaint of libyaml's.
static const char *remedy(const char *problem)
{
    static const char *const remedies[][2] = {
        {"',' or ']'", "; close the '[', or put a comma between its items"},
        {"',' or '}'", "; close the '{', or put a comma between its keys"},
        {"expected key", "; begin all keys of a map in the same column"},
        {"expected '-' indicator", "; begin all items of a list in the same column"},
        {"mapping values are not allowed",
         "; begin all keys of a map in the same column, and put a text with ': ' in quotes"},
        {"could not find expected ':'", "; write 'key: value', with a space after the colon"},
        {"unexpected end of stream", "; a quotation mark is not closed"},
        {"cannot start any token", "; put a text that begins with this character in quotes"},
    };
    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++)
        if (strstr(problem, remedies[i][0]) != NULL)
            return remedies[i][1];
    return "";
}

// libyaml's own complaint, with a line.
static tdStatus syntax_error(Builder *b)
{
    const yaml_parser_t *p = &b->parser;
    const char *problem = p->problem != NULL ? p->problem : "cannot be read";
    if (p->error == YAML_MEMORY_ERROR)
        return td_fail_memory(b->error, "the scene's text");
    if (p->error == YAML_READER_ERROR)
        return FAIL(b, line_at_offset(b, p->problem_offset), NULL,
                    "the text is not valid UTF-8 (%s); save the file as UTF-8", problem);
    int line = (int)p->problem_mark.line + 1;
    int column = (int)p->problem_mark.column + 1;
    if (tab_indents(b, line))
        return FAIL(b, line, NULL, "a tab indents this line; YAML allows only spaces there: replace it");
    if (p->context != NULL)
        return FAIL(b, line, NULL, "YAML syntax: %s (column %d), %s that began on line %d%s", problem, column,
                    p->context, (int)p->context_mark.line + 1, remedy(problem));
    return FAIL(b, line, NULL, "YAML syntax: %s (column %d)%s", problem, column, remedy(problem));
}

static tdStatus next_event(Builder *b, yaml_event_t *event)
{
    return yaml_parser_parse(&b->parser, event) ? TD_OK : syntax_error(b);
}

static tdStatus new_node(Builder *b, tdYamlKind kind, int line, tdYaml **out)
{
    if (++b->nodes > TD_YAML_MOST_NODES)
        return FAIL(b, line, NULL,
                    "the scene has more than %d values, those of an alias counted at each use; put a long motion into "
                    "a CSV file",
                    TD_YAML_MOST_NODES);
    tdYaml *node = TD_TAKE(b->arena, tdYaml, 1);
    if (node == NULL)
        return td_fail_memory(b->error, "the scene");
    node->kind = kind;
    node->line = line;
    *out = node;
    return TD_OK;
}

static void append(tdYaml *parent, tdYaml *child)
{
    if (parent->last == NULL)
        parent->first = child;
    else
        parent->last->next = child;
    parent->last = child;
    parent->n++;
}

static tdStatus copy_scalar(Builder *b, const yaml_event_t *event, const char **out)
{
    size_t n = event->data.scalar.length;
    const char *value = (const char *)event->data.scalar.value;
    if (memchr(value, '\0', n) != NULL)
        return FAIL(b, line_of(event), NULL, "the text holds a zero character (\\0); remove it");
    char *copy = td_arena_take(b->arena, n + 1, 1);
    if (copy == NULL)
        return td_fail_memory(b->error, "the scene");
    memcpy(copy, value, n);
    *out = copy;
    return TD_OK;
}

// ---------------------------------------------------------------- anchors

static tdStatus copy_tree(Builder *b, const tdYaml *from, int depth, int line, tdYaml **out)
{
    if (depth > TD_YAML_MOST_DEPTH)
        return FAIL(b, line, NULL, "the scene is nested deeper than %d levels", TD_YAML_MOST_DEPTH);
    TD_TRY(new_node(b, from->kind, line, out));
    tdYaml *to = *out;
    to->line = from->line; // where the value is written, which is what a message about it should name
    to->quoted = from->quoted;
    to->text = from->text;
    to->key = from->key;
    to->key_line = from->key_line;
    for (const tdYaml *child = from->first; child != NULL; child = child->next)
    {
        tdYaml *copy = NULL;
        TD_TRY(copy_tree(b, child, depth + 1, line, &copy));
        append(to, copy);
    }
    return TD_OK;
}

static tdStatus expand_alias(Builder *b, const yaml_event_t *event, int depth, tdYaml **out)
{
    const char *name = (const char *)event->data.alias.anchor;
    // From the end: a later anchor of the same name replaces an earlier one.
    for (int i = b->n_anchors - 1; i >= 0; i--)
    {
        if (strcmp(b->anchors[i].name, name) != 0)
            continue;
        if (!b->anchors[i].complete)
            return FAIL(b, line_of(event), NULL, "alias '*%.40s' is inside its own anchor and would never end", name);
        return copy_tree(b, b->anchors[i].node, depth, line_of(event), out);
    }
    return FAIL(b, line_of(event), NULL, "alias '*%.40s' has no anchor '&%.40s' before it", name, name);
}

// Remembers the node if the event names an anchor. *slot is its number, or -1.
static tdStatus note_anchor(Builder *b, const yaml_event_t *event, const yaml_char_t *name, const tdYaml *node,
                            int *slot)
{
    *slot = -1;
    if (name == NULL)
        return TD_OK;
    if (b->n_anchors == MOST_ANCHORS)
        return FAIL(b, line_of(event), NULL, "the scene has more than %d anchors", MOST_ANCHORS);
    const char *copy = td_arena_copy(b->arena, (const char *)name);
    if (copy == NULL)
        return td_fail_memory(b->error, "the scene");
    b->anchors[b->n_anchors] = (Anchor){.name = copy, .node = node};
    *slot = b->n_anchors++;
    return TD_OK;
}

// ---------------------------------------------------------------- nodes

static tdStatus build(Builder *b, yaml_event_t *event, int depth, tdYaml **out);

static tdStatus refuse_tag(Builder *b, const yaml_event_t *event, const yaml_char_t *tag)
{
    if (tag == NULL || strcmp((const char *)tag, "!") == 0)
        return TD_OK;
    return FAIL(b, line_of(event), NULL, "the tag '%.60s' is not understood; write the value without it", tag);
}

static tdStatus check_key(Builder *b, const tdYaml *map, const tdYaml *key)
{
    if (strcmp(key->text, "<<") == 0 && !key->quoted)
        return FAIL(b, key->line, NULL,
                    "merge keys '<<' are not supported; repeat the keys, or use an alias for a "
                    "whole value");
    for (const tdYaml *other = map->first; other != NULL; other = other->next)
        if (strcmp(other->key, key->text) == 0 && other->key_line == key->line)
            return FAIL(b, key->line, NULL, "the key '%.60s' is given twice on line %d; remove one", key->text,
                        key->line);
        else if (strcmp(other->key, key->text) == 0)
            return FAIL(b, key->line, NULL, "the key '%.60s' is given twice, on line %d and on line %d; remove one",
                        key->text, other->key_line, key->line);
    if (map->n == TD_YAML_MOST_KEYS)
        return FAIL(b, key->line, NULL, "a map has more than %d keys", TD_YAML_MOST_KEYS);
    return TD_OK;
}

// Children up to the end of the list or map. Each event is deleted whatever comes of it.
static tdStatus build_children(Builder *b, tdYaml *parent, int depth)
{
    yaml_event_type_t end = parent->kind == TD_YAML_MAP ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
    const tdYaml *key = NULL;
    for (;;)
    {
        yaml_event_t event;
        TD_TRY(next_event(b, &event));
        if (event.type == end)
        {
            yaml_event_delete(&event);
            return TD_OK;
        }
        int line = line_of(&event);
        tdYaml *child = NULL;
        tdStatus status = build(b, &event, depth, &child);
        yaml_event_delete(&event);
        TD_TRY(status);
        if (parent->kind == TD_YAML_MAP && key == NULL)
        {
            if (child->kind != TD_YAML_SCALAR)
                return FAIL(b, line, NULL,
                            "a key must be plain text, not a list or a map; look for a stray '{' or '['");
            TD_TRY(check_key(b, parent, child));
            key = child;
            continue;
        }
        child->key = key != NULL ? key->text : NULL;
        child->key_line = key != NULL ? key->line : 0;
        key = NULL;
        append(parent, child);
    }
}

static tdStatus build_scalar(Builder *b, const yaml_event_t *event, tdYaml **out)
{
    int slot;
    TD_TRY(refuse_tag(b, event, event->data.scalar.tag));
    TD_TRY(new_node(b, TD_YAML_SCALAR, line_of(event), out));
    TD_TRY(note_anchor(b, event, event->data.scalar.anchor, *out, &slot));
    if (slot >= 0)
        b->anchors[slot].complete = true;
    (*out)->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return copy_scalar(b, event, &(*out)->text);
}

static tdStatus build(Builder *b, yaml_event_t *event, int depth, tdYaml **out)
{
    if (event->type == YAML_SCALAR_EVENT)
        return build_scalar(b, event, out);
    if (event->type == YAML_ALIAS_EVENT)
        return expand_alias(b, event, depth, out);
    if (depth >= TD_YAML_MOST_DEPTH)
        return FAIL(b, line_of(event), NULL, "the scene is nested deeper than %d levels", TD_YAML_MOST_DEPTH);
    bool map = event->type == YAML_MAPPING_START_EVENT;
    int slot;
    TD_TRY(refuse_tag(b, event, map ? event->data.mapping_start.tag : event->data.sequence_start.tag));
    TD_TRY(new_node(b, map ? TD_YAML_MAP : TD_YAML_LIST, line_of(event), out));
    TD_TRY(
        note_anchor(b, event, map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor, *out, &slot));
    TD_TRY(build_children(b, *out, depth + 1));
    if (slot >= 0)
        b->anchors[slot].complete = true;
    return TD_OK;
}

// Stream start, document, its root, stream end.
static tdStatus build_document(Builder *b, tdYaml **root)
{
    *root = NULL;
    for (;;)
    {
        yaml_event_t event;
        TD_TRY(next_event(b, &event));
        tdStatus status = TD_OK;
        bool end = event.type == YAML_STREAM_END_EVENT;
        if (event.type == YAML_DOCUMENT_START_EVENT && *root != NULL)
            status = FAIL(b, line_of(&event), NULL, "a second document begins ('---'); a scene file holds one");
        else if (event.type == YAML_SCALAR_EVENT || event.type == YAML_ALIAS_EVENT ||
                 event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_MAPPING_START_EVENT)
            status = build(b, &event, 0, root);
        yaml_event_delete(&event);
        TD_TRY(status);
        if (end)
            break;
    }
    if (*root == NULL)
        return FAIL(b, 1, NULL, "the file is empty; a scene begins with 'tendril: 1'");
    return TD_OK;
}

tdStatus td_yaml_parse(const char *text, size_t length, const char *name, tdArena *arena, tdYaml **root, tdError *error)
{
    *root = NULL;
    if (length > TD_YAML_MOST_BYTES)
        return td_fail_at(error, TD_ERROR_INPUT, name, 0, NULL, "has %zu bytes; a scene may have %zu at most", length,
                          TD_YAML_MOST_BYTES);
    Builder *b = td_arena_take(arena, 1, sizeof *b);
    if (b == NULL || !yaml_parser_initialize(&b->parser))
        return td_fail_memory(error, "the scene's parser");
    // The byte order mark is skipped here because a set encoding stops libyaml from looking for it.
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
    {
        text += 3;
        length -= 3;
    }
    b->text = text;
    b->length = length;
    b->file = name;
    b->arena = arena;
    b->error = error;
    yaml_parser_set_encoding(&b->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b->parser, (const unsigned char *)text, length);
    tdStatus status = build_document(b, root);
    yaml_parser_delete(&b->parser);
    return status;
}

const tdYaml *td_yaml_find(const tdYaml *map, const char *key)
{
    if (map->kind != TD_YAML_MAP)
        return NULL;
    for (const tdYaml *child = map->first; child != NULL; child = child->next)
        if (strcmp(child->key, key) == 0)
            return child;
    return NULL;
}

bool td_yaml_nothing(const char *text, bool quoted)
{
    return !quoted && (text[0] == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

bool td_yaml_empty(const tdYaml *node)
{
    return node->kind == TD_YAML_SCALAR && td_yaml_nothing(node->text, node->quoted);
}

void td_yaml_describe(const tdYaml *node, char *out, size_t size)
{
    if (node->kind == TD_YAML_MAP)
        snprintf(out, size, "a map");
    else if (node->kind == TD_YAML_LIST)
        snprintf(out, size, "a list of %d", node->n);
    else if (td_yaml_empty(node))
        snprintf(out, size, "nothing");
    else
        snprintf(out, size, "'%.60s'", node->text);
}
