// SPDX-License-Identifier: Apache-2.0
// An MJCF document: whatever it says, it is refused with a message, or its tree is sound and its dynamics are finite.
#include "body/articulated.h"
#include "scene/mjcf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool condition)
{
    if (!condition)
        abort();
}

// What a file has besides its tree names links and shapes that there are.
static void check_parts(const tdTree *tree)
{
    for (int i = 0; i < tree->n_drives; i++)
        check(tree->drives[i].link > 0 && tree->drives[i].link < tree->n_links && tree->drives[i].damping >= 0 &&
              tree->drives[i].effort[0] <= tree->drives[i].effort[1]);
    for (int i = 0; i < tree->n_bonds; i++)
        check(tree->bonds[i].link[0] != tree->bonds[i].link[1] && tree->bonds[i].link[0] < tree->n_links &&
              tree->bonds[i].link[1] < tree->n_links);
    for (int i = 0; i < tree->n_pairs; i++)
        check(tree->pairs[i][0] < tree->n_shapes && tree->shapes[tree->pairs[i][0]].collides);
    for (int i = 0; i < tree->n_excluded; i++)
        check(tree->excluded[i][0] < tree->n_links && tree->excluded[i][1] < tree->n_links);
}

static void move(tdArena *arena, tdTree *tree)
{
    const double none[3] = {0, 0, 0}, gravity[3] = {0, 0, -9.81};
    tdPose base = td_pose_identity();
    tdArticulated body;
    tdTreeWork work;
    tdError error = {0};
    if (tree->n_links > 64)
        return; // the algorithms have no limits of their own to find
    check(td_articulated_build(arena, tree, &base, none, none, gravity, &body, &error) == TD_OK &&
          td_tree_work_take(arena, &body, &work));
    double *tau = TD_TAKE(arena, double, body.n + 1);
    check(tau != NULL);
    td_tree_kinematics(&body, body.start, body.reference, &work);
    td_tree_inverse(&body, body.start_v, NULL, gravity, &work, tau);
    for (int i = 0; i < body.n; i++)
        check(isfinite(tau[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const tdRobotFiles files = {0};
    char *copy = malloc(size + 1);
    check(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    copy[size] = '\0';
    for (int k = 0; k < 2; k++)
    {
        tdArena arena = {0};
        tdTree tree;
        tdError error = {0};
        tdStatus status = td_mjcf_parse(&arena, copy, size, "fuzz", &files, k == 0 ? NULL : "home", &tree, &error);
        check(status == TD_OK || error.message[0] != '\0');
        if (status == TD_OK)
        {
            check_parts(&tree);
            move(&arena, &tree);
        }
        td_arena_free(&arena);
    }
    free(copy);
    return 0;
}
