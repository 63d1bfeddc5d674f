// SPDX-License-Identifier: Apache-2.0
// See schur_tree.h.
#include "solve/schur_tree_numbers.h"

#include <stdlib.h>

tdStatus td_schur_tree_create(tdArena *arena, int32_t n, tdSchurTree *out, tdError *error)
{
    *out = (tdSchurTree){.n = n,
                         .super = TD_TAKE(arena, int32_t, n),
                         .parent = TD_TAKE(arena, int32_t, n),
                         .begin = TD_TAKE(arena, int32_t, n),
                         .place = TD_TAKE(arena, int32_t, n),
                         .path = TD_TAKE(arena, int32_t, n),
                         .low = TD_TAKE(arena, int32_t, n),
                         .high = TD_TAKE(arena, int32_t, n),
                         .row = TD_TAKE(arena, int32_t, n),
                         .visited = TD_TAKE(arena, bool, n)};
    if (out->super == NULL || out->parent == NULL || out->begin == NULL || out->place == NULL || out->path == NULL ||
        out->low == NULL || out->high == NULL || out->row == NULL || out->visited == NULL)
        return td_fail_memory(error, "the condensation");
    return TD_OK;
}

void td_schur_tree_free(tdSchurTree *tree)
{
    free(tree->Z);
    free(tree->update);
    tree->Z = tree->update = NULL;
    tree->Z_room = tree->update_room = 0;
}

void td_schur_tree_set(tdSchurTree *tree, const struct cholmod_factor_struct *factor)
{
    const int32_t *order = factor->Perm;
    tree->factor = factor;
    tree->supers = (int32_t)factor->nsuper;
    tree->longest = 0;
    tree->n_path = 0;
    for (int32_t i = 0; i < tree->n; i++)
        tree->place[order[i]] = i;
    for (int32_t s = 0; s < tree->supers; s++)
    {
        tree->begin[s] = first_of(tree, s);
        tree->visited[s] = false;
        for (int32_t c = first_of(tree, s); c < first_of(tree, s + 1); c++)
            tree->super[c] = s;
    }
    for (int32_t s = 0; s < tree->supers; s++)
    {
        int32_t below = rows_of(tree, s) - columns_of(tree, s);
        tree->longest = below > tree->longest ? below : tree->longest;
        int32_t parent = tree->parent[s] = below == 0 ? -1 : tree->super[list_of(tree, s)[columns_of(tree, s)]];
        if (parent >= 0 && tree->begin[s] < tree->begin[parent])
            tree->begin[parent] = tree->begin[s];
    }
}

// First of the n ascending places that is not below `limit`.
static int32_t lower_bound(const int32_t *places, int32_t n, int32_t limit)
{
    int32_t low = 0, high = n;
    while (low < high)
    {
        int32_t middle = (low + high) / 2;
        if (places[middle] < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void td_schur_tree_visit(tdSchurTree *tree, int32_t n, const int32_t *places, double *flops, double *square)
{
    for (int32_t k = 0; k < tree->n_path; k++)
        tree->visited[tree->path[k]] = false;
    tree->n_path = 0;
    tree->rows = 0;
    *flops = *square = 0;
    for (int32_t i = 0; i < n; i++)
        for (int32_t s = tree->super[places[i]]; s >= 0 && !tree->visited[s]; s = tree->parent[s])
            tree->visited[s] = true;
    for (int32_t s = 0; s < tree->supers; s++)
    {
        if (!tree->visited[s])
            continue;
        int32_t k = tree->n_path++, columns = columns_of(tree, s);
        tree->path[k] = s;
        tree->low[k] = lower_bound(places, n, tree->begin[s]);
        tree->high[k] = lower_bound(places, n, first_of(tree, s + 1));
        double reach = tree->high[k] - tree->low[k], below = rows_of(tree, s) - columns;
        *flops += reach * columns * (columns + 2 * below);
        *square += reach * reach * columns;
        for (int32_t c = first_of(tree, s); c < first_of(tree, s + 1); c++)
            tree->row[c] = (int32_t)tree->rows++;
    }
}
