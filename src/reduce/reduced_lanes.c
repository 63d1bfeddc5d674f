// SPDX-License-Identifier: Apache-2.0
// B of corotational laws on few modes, as reduced_lanes.h reads it.
#include "reduce/reduced_body.h"

#define LANES_MODES   48   // more would not leave their sums in the first cache
#define LANES_BATCHES 4096 // of points: the tangent of more is not made in each step of a robot in real time

// B once more, as corotational laws read it (reduced_lanes.h).
tdStatus td_reduced_build_lanes(tdArena *arena, tdReduced *reduced, tdError *error)
{
    const tdSoft *domain = &reduced->domain;
    int64_t stride = reduced->stride, n = reduced->n;
    reduced->lanes = TD_TAKE(arena, double *, domain->n_blocks);
    if (reduced->lanes == NULL)
        return td_fail_memory(error, "the domain of a reduced body");
    for (int k = 0; k < domain->n_blocks; k++)
    {
        const tdElements *block = &domain->blocks[k];
        int64_t points = (int64_t)block->batches * td_element_shape[block->kind].points;
        if (reduced->constant[k] == NULL || n > LANES_MODES || points > LANES_BATCHES)
            continue;
        double *to = reduced->lanes[k] = TD_TAKE(arena, double, 36 * n * points);
        if (to == NULL)
            return td_fail_memory(error, "the domain of a reduced body");
        for (int64_t p = 0; p < points; p++)
            for (int64_t j = 0; j < n; j++)
                for (int64_t i = 0; i < 36; i++)
                    *to++ = reduced->B[(36 * (block->first + p) + i) * stride + j];
    }
    return TD_OK;
}

tdStatus td_reduced_build_lanes_single(tdArena *arena, tdReduced *reduced, tdError *error)
{
    const tdSoft *domain = &reduced->domain;
    int64_t n = reduced->n;
    reduced->lanes_single = TD_TAKE(arena, float *, domain->n_blocks);
    if (reduced->lanes_single == NULL)
        return td_fail_memory(error, "the domain of a reduced body");
    for (int k = 0; k < domain->n_blocks; k++)
    {
        const tdElements *block = &domain->blocks[k];
        int64_t points = (int64_t)block->batches * td_element_shape[block->kind].points;
        if (reduced->lanes[k] == NULL)
            continue;
        float *to = reduced->lanes_single[k] = TD_TAKE(arena, float, 72 * n * ((points + 1) / 2));
        if (to == NULL)
            return td_fail_memory(error, "the domain of a reduced body");
        for (int64_t p = 0; p < points; p++)
            for (int64_t i = 0; i < 36 * n; i++)
                to[72 * n * (p / 2) + 8 * (i / 4) + 4 * (p % 2) + i % 4] = (float)reduced->lanes[k][36 * n * p + i];
    }
    return TD_OK;
}
