// SPDX-License-Identifier: Apache-2.0
#include "collide/bvh.h"

#include <stdlib.h>

typedef struct tdBuild
{
    const double *centers;
    int32_t *order;
    tdBvhNode *nodes;
    int32_t n_nodes;
} tdBuild;

// Numbers decide between equal centres, so that the tree depends on the surface only.
static bool before(const tdBuild *b, int axis, int32_t i, int32_t j)
{
    double x = b->centers[3 * i + axis], y = b->centers[3 * j + axis];
    return x < y || (x == y && i < j);
}

// Quickselect: the k smallest of order[0..n) come first.
static void select_smallest(const tdBuild *b, int axis, int32_t *order, int32_t n, int32_t k)
{
    int32_t low = 0, high = n - 1;
    while (low < high)
    {
        // Median of three against sorted input.
        int32_t mid = low + (high - low) / 2, x = order[low], y = order[mid], z = order[high];
        int32_t pivot = before(b, axis, x, y) ? (before(b, axis, y, z) ? y : (before(b, axis, x, z) ? z : x))
                                              : (before(b, axis, x, z) ? x : (before(b, axis, y, z) ? z : y));
        int32_t i = low, j = high;
        while (i <= j)
        {
            while (before(b, axis, order[i], pivot))
                i++;
            while (before(b, axis, pivot, order[j]))
                j--;
            if (i <= j)
            {
                int32_t swap = order[i];
                order[i++] = order[j];
                order[j--] = swap;
            }
        }
        if (k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else
            return;
    }
}

// The median along the longest extent of the centres. The left half gets a multiple of the leaf's size, so that leaves
// are full.
static void build(tdBuild *b, int32_t first, int32_t n)
{
    int32_t me = b->n_nodes++;
    b->nodes[me] = (tdBvhNode){.tri = first, .n_tris = n};
    if (n <= TD_LEAF_TRIS)
        return;
    double min[3], max[3];
    for (int k = 0; k < 3; k++)
        min[k] = max[k] = b->centers[3 * b->order[first] + k];
    for (int32_t i = 1; i < n; i++)
        for (int k = 0; k < 3; k++)
        {
            double x = b->centers[3 * b->order[first + i] + k];
            min[k] = x < min[k] ? x : min[k];
            max[k] = x > max[k] ? x : max[k];
        }
    int axis = 0;
    for (int k = 1; k < 3; k++)
        if (max[k] - min[k] > max[axis] - min[axis])
            axis = k;
    int32_t leaves = (n + TD_LEAF_TRIS - 1) / TD_LEAF_TRIS, half = leaves / 2 * TD_LEAF_TRIS;
    select_smallest(b, axis, b->order + first, n, half);
    build(b, first, half);
    b->nodes[me].right = b->n_nodes;
    build(b, first + half, n - half);
}

bool td_bvh_build(tdArena *arena, int32_t n, const double *centers, int32_t *order, tdBvh *out)
{
    int32_t leaves = (n + TD_LEAF_TRIS - 1) / TD_LEAF_TRIS;
    tdBuild b = {.centers = centers, .order = order};
    b.nodes = TD_TAKE(arena, tdBvhNode, 2 * (size_t)leaves);
    *out = (tdBvh){0};
    if (b.nodes == NULL)
        return false;
    for (int32_t i = 0; i < n; i++)
        order[i] = i;
    if (n > 0)
        build(&b, 0, n);
    *out = (tdBvh){b.n_nodes, b.nodes};
    return true;
}
