// SPDX-License-Identifier: Apache-2.0
// Which colliders come near each other: their boxes are sorted along the axis in which they are spread out most, and
// swept. Boxes that move little stay nearly sorted from step to step, so that an insertion sort costs no more than a
// look at each.
#include "collide/internal.h"

#include <stdlib.h>
#include <string.h>

static bool boxes_overlap(const double a[6], const double b[6])
{
    for (int k = 0; k < 3; k++)
        if (a[k] > b[3 + k] || b[k] > a[3 + k])
            return false;
    return true;
}

// Variance of the centres of bounded boxes.
static int widest_axis(const tdCollideState *state, int n)
{
    double sum[3] = {0}, squares[3] = {0};
    int count = 0, axis = 0;
    for (int i = 0; i < n; i++)
    {
        const double *box = state->placed[i].box;
        if (!isfinite(box[0]) || !isfinite(box[3]))
            continue;
        for (int k = 0; k < 3; k++)
        {
            double c = 0.5 * (box[k] + box[3 + k]);
            sum[k] += c;
            squares[k] += c * c;
        }
        count++;
    }
    for (int k = 1; k < 3 && count > 0; k++)
        if (squares[k] - sum[k] * sum[k] / count > squares[axis] - sum[axis] * sum[axis] / count)
            axis = k;
    return axis;
}

static void sort_order(tdCollideState *state, int n, int axis)
{
    int32_t *order = state->order;
    for (int i = 1; i < n; i++)
    {
        int32_t me = order[i];
        double low = state->placed[me].box[axis];
        int j = i;
        for (; j > 0; j--)
        {
            double other = state->placed[order[j - 1]].box[axis];
            if (other < low || (other == low && order[j - 1] < me))
                break;
            order[j] = order[j - 1];
        }
        order[j] = me;
    }
}

static bool add_pair(tdCollideState *state, int32_t a, int32_t b)
{
    if (!td_grow((void **)&state->pairs, &state->pair_room, state->n_pairs + 1, sizeof *state->pairs))
        return false;
    state->pairs[state->n_pairs++] = (tdPair){a < b ? a : b, a < b ? b : a};
    return true;
}

static bool pair_before(tdPair a, tdPair b)
{
    return a.a < b.a || (a.a == b.a && a.b < b.b);
}

static void sift(tdPair *pairs, int64_t i, int64_t n)
{
    tdPair me = pairs[i];
    for (int64_t child = 2 * i + 1; child < n; child = 2 * i + 1)
    {
        child += child + 1 < n && pair_before(pairs[child], pairs[child + 1]);
        if (!pair_before(me, pairs[child]))
            break;
        pairs[i] = pairs[child];
        i = child;
    }
    pairs[i] = me;
}

// Heapsort: qsort may allocate.
static void sort_pairs(tdPair *pairs, int64_t n)
{
    for (int64_t i = n / 2 - 1; i >= 0; i--)
        sift(pairs, i, n);
    for (int64_t end = n - 1; end > 0; end--)
    {
        tdPair top = pairs[0];
        pairs[0] = pairs[end];
        pairs[end] = top;
        sift(pairs, 0, end);
    }
}

bool td_broad_phase(tdCollideState *state)
{
    const tdCollideWorld *world = state->world;
    int axis = widest_axis(state, world->n), n_active = 0;
    sort_order(state, world->n, axis);
    state->n_pairs = 0;
    for (int i = 0; i < world->n; i++)
    {
        int32_t me = state->order[i];
        const double *box = state->placed[me].box;
        if (world->colliders[me].self && !add_pair(state, me, me))
            return false;
        int kept = 0;
        for (int j = 0; j < n_active; j++)
        {
            int32_t other = state->active[j];
            if (state->placed[other].box[3 + axis] < box[axis])
                continue; // ends before all that follow
            state->active[kept++] = other;
            if (td_may_meet(world, me, other) && boxes_overlap(box, state->placed[other].box) &&
                !add_pair(state, me, other))
                return false;
        }
        n_active = kept;
        state->active[n_active++] = me;
    }
    sort_pairs(state->pairs, state->n_pairs);
    return true;
}
