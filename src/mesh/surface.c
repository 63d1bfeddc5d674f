// SPDX-License-Identifier: Apache-2.0
// Is a triangle surface closed, and what does it enclose?
//
//   area = 1/2 Σ |(b - a) x (c - a)|          volume = 1/6 Σ (a - o) . (b - o) x (c - o)
//
// with any origin o when the surface is closed; the first node keeps the sums small.
#include "base/memory.h"
#include "mesh/edges.h"
#include "mesh/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_uses(const void *first, const void *second)
{
    const tdEdgeUse *a = first, *b = second;
    if (a->high != b->high)
        return a->high < b->high ? -1 : 1;
    return a->side < b->side ? -1 : a->side > b->side;
}

// Sorted by low by counting, then within a node by comparison.
tdEdgeUse *td_sorted_edges(int64_t n_nodes, int64_t n_tris, const int32_t *tris, int64_t *n_uses)
{
    int64_t *start = td_take((size_t)n_nodes + 2, sizeof *start);
    tdEdgeUse *uses = td_take((size_t)n_tris * 3, sizeof *uses);
    if (start == NULL || uses == NULL)
    {
        free(start);
        free(uses);
        return NULL;
    }
    for (int pass = 0; pass < 2; pass++)
    {
        for (int64_t i = 0; i < 3 * n_tris; i++)
        {
            if (td_collapsed(tris + i / 3 * 3))
                continue;
            int32_t a = tris[i], b = tris[td_next_side(i)];
            int32_t low = a < b ? a : b, high = a < b ? b : a;
            if (pass == 0)
                start[low + 2]++;
            else
                uses[start[low + 1]++] = (tdEdgeUse){low, high, a > b, i};
        }
        for (int64_t i = 2; pass == 0 && i <= n_nodes + 1; i++)
            start[i] += start[i - 1];
    }
    for (int64_t i = 0; i < n_nodes; i++)
        qsort(uses + start[i], (size_t)(start[i + 1] - start[i]), sizeof *uses, compare_uses);
    *n_uses = start[n_nodes];
    free(start);
    return uses;
}

static void middle(const double *x, const tdEdgeUse *edge, double out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = 0.5 * (x[3 * (int64_t)edge->low + k] + x[3 * (int64_t)edge->high + k]);
}

static void classify_edge(const double *x, const tdEdgeUse *uses, int64_t n, tdSurfaceCheck *check)
{
    check->n_edges++;
    if (n == 1 && check->open++ == 0)
        middle(x, uses, check->open_at);
    if (n > 2 && check->crowded++ == 0)
        middle(x, uses, check->crowded_at);
    if (n == 2 && uses[0].reversed == uses[1].reversed && check->flipped++ == 0)
        middle(x, uses, check->flipped_at);
}

static void measure(const double *x, int64_t n_tris, const int32_t *tris, tdSurfaceCheck *check)
{
    const double *o = n_tris > 0 ? x + 3 * (int64_t)tris[0] : NULL;
    for (int64_t i = 0; i < n_tris; i++)
    {
        const double *a = x + 3 * (int64_t)tris[3 * i], *b = x + 3 * (int64_t)tris[3 * i + 1],
                     *c = x + 3 * (int64_t)tris[3 * i + 2];
        double u[3], v[3];
        for (int k = 0; k < 3; k++)
        {
            u[k] = b[k] - a[k];
            v[k] = c[k] - a[k];
        }
        double n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
        check->area += 0.5 * sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        check->volume += ((a[0] - o[0]) * n[0] + (a[1] - o[1]) * n[1] + (a[2] - o[2]) * n[2]) / 6;
    }
}

tdStatus td_surface_check(int64_t n_nodes, const double *x, int64_t n_tris, const int32_t *tris, tdSurfaceCheck *check,
                          tdError *error)
{
    *check = (tdSurfaceCheck){0};
    int64_t n = 0;
    tdEdgeUse *uses = td_sorted_edges(n_nodes, n_tris, tris, &n);
    if (uses == NULL)
        return td_fail_memory(error, "the edges of a surface");
    for (int64_t i = 0, end = 0; i < n; i = end)
    {
        end = td_edge_end(uses, n, i);
        classify_edge(x, uses + i, end - i, check);
    }
    free(uses);
    measure(x, n_tris, tris, check);
    check->closed = check->n_edges > 0 && check->open == 0 && check->crowded == 0 && check->flipped == 0;
    return TD_OK;
}
