// SPDX-License-Identifier: Apache-2.0
// The shipped scene of a stiff nodule under the surface, as a hand feels it and as static equilibria of finer meshes.
#pragma once
#include "rig.h"

#include "base/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODULE_START_X (-12e-3)
#define NODULE_START_Z 15.5e-3

static inline void nodule_replace(char *text, size_t size, const char *from, const char *to)
{
    char *at = strstr(text, from), *rest = at != NULL ? strdup(at + strlen(from)) : NULL;
    assert_non_null(at);
    assert_true((size_t)(at - text) + strlen(to) + strlen(rest) + 1 < size);
    snprintf(at, size - (size_t)(at - text), "%s%s", to, rest);
    free(rest);
}

/// The shipped scene with `how` in the place of its integrator and, unless NULL, other tables of its tissue's mesh and
/// supports. plain: the nodule is as soft as the tissue. rigid: points give way by nothing.
static inline tdModel *nodule_model(const char *how, const char *mesh, const char *fixed, bool plain, bool rigid)
{
    static const char folder[] = TD_SOURCE_DIR "/scenes/haptic";
    char *text = NULL, *whole = calloc(1, 8192);
    size_t size = 0;
    tdError error = {0};
    tdModel *model = NULL;
    assert_ok(td_file_read(TD_SOURCE_DIR "/scenes/haptic/nodule.yaml", &text, &size, &error), error);
    snprintf(whole, 8192, "%.*s", (int)size, text);
    nodule_replace(whole, 8192, "integrator: {method: backward_euler}", how);
    if (plain)
        nodule_replace(whole, 8192, "young: 40 kPa", "young: 8 kPa");
    if (rigid)
        nodule_replace(whole, 8192, ", stiffness: 4000 N/m", "");
    if (mesh != NULL)
        nodule_replace(whole, 8192, "nodule.msh", mesh);
    if (fixed != NULL)
        nodule_replace(whole, 8192, "    fixed: [", fixed);
    assert_ok(td_model_parse(whole, strlen(whole), "nodule.yaml", folder, NULL, &model, &error), error);
    free(text);
    free(whole);
    return model;
}

/// A mesh whose elements are n times as small, cut along planes of symmetry ("y", "xy"); its name is to be freed, after
/// unlink().
static inline char *nodule_mesh(int n, const char *cut)
{
    char name[] = "/tmp/nodule_XXXXXX.msh", command[1024];
    int file = mkstemps(name, 4);
    assert_true(file >= 0);
    close(file);
    snprintf(command, sizeof command, "awk -v n=%d -v cut=%s -f '%s/scenes/haptic/nodule.awk' >%s", n, cut,
             TD_SOURCE_DIR, name);
    assert_int_equal(system(command), 0);
    return strdup(name);
}

/// Force on the ball in the static equilibrium with its middle at x from that of the nodule and its depth z, points of
/// contact that give way by nothing: of half of a mesh n times as fine, twice; with x = 0 of a quarter, four times.
static inline double nodule_static(int n, double x, double z, bool plain)
{
    static const char planes[] = "    fixed: [{box: [[-23, -0.1, -21], [23, 0.1, 1]], axes: y}, ",
                      both[] = "    fixed: [{box: [[-23, -0.1, -21], [23, 0.1, 1]], axes: y}, {box: [[-0.1, -13, -21], "
                               "[0.1, 13, 1]], axes: x}, ";
    char how[300], *mesh = nodule_mesh(n, x == 0 ? "xy" : "y");
    double force[3], at = 1e3 * (x - NODULE_START_X);
    snprintf(
        how, sizeof how,
        "integrator: {method: static}\nmotion: {keyframes: [{t: 0, probe.x: %.9g, probe.z: 0}, {t: 0.075, probe.x: "
        "%.9g, probe.z: %.9g}]}",
        at, at, 1e3 * z);
    tdModel *model = nodule_model(how, mesh, x == 0 ? both : planes, plain, true);
    tdState *state = scene_state(model);
    scene_steps(model, state, 3);
    td_state_reaction(model, state, 1, force);
    scene_free(model, state);
    unlink(mesh);
    free(mesh);
    return (x == 0 ? -4 : -2) * force[2];
}
