// SPDX-License-Identifier: Apache-2.0
// The scenes and robots that came with the program.
#pragma once
#include "view/sim.h"

/// Lists them: NAME of scenes/NAME.yaml, robots/NAME/FILE, each where its meshes are there, and once more "(reduced)"
/// where its reduced model is. `first` stands at the top, by the name of its file unless it is one of them. `folder`
/// holds scenes/ and robots/; NULL: where the program finds them. *out is released by free().
tdStatus scenes_list(const char *folder, const tdViewEntry *first, tdViewEntry **out, int *n, tdError *error);
