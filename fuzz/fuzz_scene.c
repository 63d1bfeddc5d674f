// SPDX-License-Identifier: Apache-2.0
// Any bytes as a scene: refused with a message or understood, never worse.
#include "scene/scene.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tdScene scene;
    tdError error = {0};
    // Files named by the scene are looked for in a folder that does not exist.
    tdStatus status = td_scene_parse((const char *)data, size, "fuzz", "/nonexistent", &scene, &error);
    if (status != TD_OK && (error.message[0] == '\0' || strchr(error.message, '\n') != NULL))
        abort();
    if (status == TD_OK && (scene.n_bodies < 1 || scene.settings.steps < 1 || !(scene.settings.time_step > 0)))
        abort();
    td_scene_free(&scene);
    return 0;
}
