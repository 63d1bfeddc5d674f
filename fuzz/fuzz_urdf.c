// SPDX-License-Identifier: Apache-2.0
// A URDF document: whatever it says, it is refused with a message, or its tree is sound and its dynamics are finite.
#include "body/articulated.h"
#include "scene/urdf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void move(tdArena *arena, tdTree *tree)
{
    const double none[3] = {0, 0, 0}, gravity[3] = {0, 0, -9.81};
    tdPose base = td_pose_identity();
    tdArticulated body;
    tdTreeWork work;
    tdError error = {0};
    if (tree->n_links > 64)
        return; // the algorithms have no limits of their own to find
    if (td_articulated_build(arena, tree, &base, none, none, gravity, &body, &error) != TD_OK ||
        !td_tree_work_take(arena, &body, &work))
        abort();
    double *tau = TD_TAKE(arena, double, body.n + 1);
    if (tau == NULL)
        abort();
    td_tree_kinematics(&body, body.start, body.reference, &work);
    td_tree_inverse(&body, body.start_v, NULL, gravity, &work, tau);
    for (int i = 0; i < body.n; i++)
        if (!isfinite(tau[i]))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tdArena arena = {0};
    tdTree tree;
    tdError error = {0};
    const tdRobotFiles files = {0};
    char *copy = malloc(size + 1);
    if (copy == NULL)
        abort();
    if (size > 0)
        memcpy(copy, data, size);
    copy[size] = '\0';
    tdStatus status = td_urdf_parse(&arena, copy, size, "fuzz", &files, &tree, NULL, &error);
    if (status != TD_OK && error.message[0] == '\0')
        abort();
    if (status == TD_OK)
        move(&arena, &tree);
    free(copy);
    td_arena_free(&arena);
    return 0;
}
