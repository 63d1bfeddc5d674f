// SPDX-License-Identifier: Apache-2.0
// Which sides of which triangles run along the same edge.
#pragma once
#include <stdbool.h>
#include <stdint.h>

/// Side k of triangle t, from its corner k to the next, is number 3 t + k.
typedef struct tdEdgeUse
{
    int32_t low, high; ///< nodes
    bool reversed;     ///< the triangle runs from high to low
    int64_t side;
} tdEdgeUse;

static inline int64_t td_next_side(int64_t side)
{
    return side % 3 == 2 ? side - 2 : side + 1;
}

/// A triangle with fewer than three different nodes: it has no edges of its own.
static inline bool td_collapsed(const int32_t t[3])
{
    return t[0] == t[1] || t[1] == t[2] || t[2] == t[0];
}

/// Sides of all triangles that are not collapsed, sorted by low, high and side; NULL without memory. To be freed.
tdEdgeUse *td_sorted_edges(int64_t n_nodes, int64_t n_tris, const int32_t *tris, int64_t *n_uses);

/// End of the run of uses of one edge that starts at `i`.
static inline int64_t td_edge_end(const tdEdgeUse *uses, int64_t n, int64_t i)
{
    int64_t end = i + 1;
    while (end < n && uses[end].low == uses[i].low && uses[end].high == uses[i].high)
        end++;
    return end;
}
