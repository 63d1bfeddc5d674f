// SPDX-License-Identifier: Apache-2.0
// The parser's parts: parse.c (the scene, settings, loads, probes), parse_body.c (bodies and
// selectors), parse_material.c (laws and their parameters), motion.c (keyframes and CSV). Each turns checked records
// into scene.h's structs.
#pragma once
#include "scene/scene.h"
#include "scene/schema.h"

#define TD_MOST_INPUTS 10000
#define TD_MOST_MOTION ((int64_t)8 << 20) // values of a motion: times x names
#define TD_MOST_CSV    ((size_t)64 << 20)

typedef struct tdSceneParser
{
    tdReader reader;
    tdScene *scene;
    tdArena *arena; ///< the scene's
    const char *folder;
    tdMethodChoice method;
    int n_inputs; ///< names of loads and prescribed motions, which a motion may drive
    struct
    {
        const char *name;
        int line;
    } * inputs;
} tdSceneParser;

/// Copies a text of the tree into the scene's arena.
tdStatus td_parse_copy(tdSceneParser *parser, const char *text, const char **out);
/// The path of a file, resolved against the scene's folder.
tdStatus td_parse_path(tdSceneParser *parser, const tdRecord *record, const char *key, const char *file,
                       const char **out);
/// Registers the name of a load or prescribed motion; it must be new.
tdStatus td_parse_input(tdSceneParser *parser, const tdRecord *record, const char **out);

/// The selector among the keys of a record whose schema includes td_schema_select.
tdStatus td_parse_select(tdSceneParser *parser, const tdRecord *record, tdSelect *select);
/// `material`, `materials`, `plane`, `thickness` and `formulation` of a body whose mesh is known.
tdStatus td_parse_materials(tdSceneParser *parser, const tdRecord *body_record, tdSceneBody *body);
tdStatus td_parse_bodies(tdSceneParser *parser, const tdYaml *list);
tdStatus td_parse_motion(tdSceneParser *parser, const tdYaml *node);

/// CSV text -> times and values, names not yet checked against the scene. First line: t,NAME,...
/// text[length] must be a zero byte. *header is the line of the header.
tdStatus td_motion_parse_csv(const char *text, size_t length, const char *name, tdArena *arena, tdSceneMotion *motion,
                             int *header, tdError *error);
