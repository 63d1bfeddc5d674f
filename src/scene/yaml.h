// SPDX-License-Identifier: Apache-2.0
// YAML text -> a tree of nodes that know their lines, built from libyaml's events.
//
// One document of UTF-8. Anchors and aliases are expanded, within a limit on the number of nodes.
// Refused with a reason: duplicate keys, merge keys, tags, keys that are not plain text, recursion.
#pragma once
#include "base/memory.h"
#include "base/status.h"

#define TD_YAML_MOST_BYTES ((size_t)16 << 20)
#define TD_YAML_MOST_NODES 262144
#define TD_YAML_MOST_KEYS  4096 // of one map
#define TD_YAML_MOST_DEPTH 32

typedef enum tdYamlKind
{
    TD_YAML_SCALAR,
    TD_YAML_LIST,
    TD_YAML_MAP
} tdYamlKind;

#define TD_YAML_SET (-1) ///< the line of what is not in the file: it was set by a change

typedef struct tdYaml
{
    tdYamlKind kind;
    int line;         ///< from 1, or TD_YAML_SET
    bool quoted;      ///< scalar in quotes or a block: text, never empty by omission
    const char *text; ///< scalar
    const char *key;  ///< its name when it is in a map
    int key_line;     ///< line of the name
    int n;            ///< number of children
    struct tdYaml *first, *last, *next;
} tdYaml;

/// Builds the tree in the arena. `name` stands for the file in messages.
tdStatus td_yaml_parse(const char *text, size_t length, const char *name, tdArena *arena, tdYaml **root,
                       tdError *error);

/// The child of a map with this key, or NULL.
const tdYaml *td_yaml_find(const tdYaml *map, const char *key);

/// "nothing", "a list", "a map", or the text in quotes, shortened; for messages.
void td_yaml_describe(const tdYaml *node, char *out, size_t size);

/// True for the text of a scalar that says nothing: "", "~" and "null" without quotation marks.
bool td_yaml_nothing(const char *text, bool quoted);

/// True for a key without a value: "young:" or "young: ~".
bool td_yaml_empty(const tdYaml *node);
