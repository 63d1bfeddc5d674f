// SPDX-License-Identifier: Apache-2.0
// Scenes in several files: `include: [parts/finger.yaml]`. What an included file has becomes part of the map that
// includes it: lists are joined, in the order of the files, and every other key is given once.
//
// Lines are numbers in many places, so that the file is part of the number while a scene is read and compiled: line 7
// of the second included file is 2 * TD_SCENE_LINES + 7. td_include_place() turns such lines into what a user reads.
#pragma once
#include "describe/scene.h"
#include "scene/yaml.h"

#define TD_INCLUDE_MOST_FILES 64
#define TD_INCLUDE_MOST_DEPTH 16

/// Takes included files into the tree. Their paths are relative to the file that names them; `folder` is that of the
/// scene. Mixes their texts into scene->hash.
tdStatus td_include(tdYaml *root, tdScene *scene, const char *folder, tdArena *tree, tdError *error);

/// The folder that paths on this line are relative to.
void td_include_folder(const tdScene *scene, int line, const char *folder, char *out, size_t size);

/// The file that a line is in, and its number there: for warnings.
const char *td_include_file(const tdScene *scene, int line);
int td_include_line(int line);

/// Puts the included file and its own line into an error that was made with lines of the tree, also where the message
/// mentions one.
void td_include_place(const tdScene *scene, tdError *error);
