// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "scene/yaml.h"

/// Changes the tree: lines of PATH=VALUE (tdSettings.set); the value is YAML. What is not there in a map is added, and
/// judged like any other key when the scene is read. `file` stands for the scene in messages.
tdStatus td_yaml_edit(tdYaml *root, const char *file, const char *set, tdArena *arena, tdError *error);
