// SPDX-License-Identifier: Apache-2.0
// Triangles of a surface that cut each other: its tree against itself, then edges against triangles.
#include "collide/skin.h"

#include <string.h>

typedef struct tdCuts
{
    const tdSkin *skin;
    const double *x;
    int64_t count;
    int32_t first[2];
} tdCuts;

// Whether the segment from a to b passes through the inside of the triangle pqr.
static bool pierces(const double *a, const double *b, const double *p, const double *q, const double *r)
{
    double pq[3], pr[3], pa[3], pb[3], n[3], ab[3], ap[3], aq[3], ar[3];
    td_subtract3(q, p, pq);
    td_subtract3(r, p, pr);
    td_subtract3(a, p, pa);
    td_subtract3(b, p, pb);
    td_cross3(pq, pr, n);
    double above = td_dot3(n, pa), below = td_dot3(n, pb);
    // Points within rounding of the plane do not count: parts that touch do not cut.
    double least = 1e-9 * td_length3(n) * sqrt(td_dot3(pq, pq) + td_dot3(pr, pr));
    if (!(above * below < 0) || fabs(above) < least || fabs(below) < least)
        return false;
    td_subtract3(b, a, ab);
    td_subtract3(p, a, ap);
    td_subtract3(q, a, aq);
    td_subtract3(r, a, ar);
    double u = td_triple3(ab, ap, aq), v = td_triple3(ab, aq, ar), w = td_triple3(ab, ar, ap);
    return (u > 0 && v > 0 && w > 0) || (u < 0 && v < 0 && w < 0);
}

static int shared(const int32_t *s, const int32_t *t)
{
    int n = 0;
    for (int i = 0; i < 3; i++)
        n += s[i] == t[0] || s[i] == t[1] || s[i] == t[2];
    return n;
}

// Sides of triangle s through triangle t. Those that start at a common vertex cannot pass through it.
static bool sides_pierce(const tdCuts *c, const int32_t *s, const int32_t *t)
{
    const double *x = c->x;
    for (int k = 0; k < 3; k++)
    {
        int32_t a = s[k], b = s[(k + 1) % 3];
        bool common = a == t[0] || a == t[1] || a == t[2] || b == t[0] || b == t[1] || b == t[2];
        if (!common && pierces(x + 3 * a, x + 3 * b, x + 3 * t[0], x + 3 * t[1], x + 3 * t[2]))
            return true;
    }
    return false;
}

static void test_leaves(tdCuts *c, const tdBvhNode *a, const tdBvhNode *b)
{
    for (int32_t i = a->tri; i < a->tri + a->n_tris; i++)
        for (int32_t j = a == b ? i + 1 : b->tri; j < b->tri + b->n_tris; j++)
        {
            const int32_t *s = c->skin->tris + 3 * i, *t = c->skin->tris + 3 * j;
            if (shared(s, t) > 1 || !(sides_pierce(c, s, t) || sides_pierce(c, t, s)))
                continue;
            int32_t low = c->skin->tri[i], high = c->skin->tri[j];
            if (low > high)
            {
                low = c->skin->tri[j];
                high = c->skin->tri[i];
            }
            if (c->count++ == 0 || low < c->first[0] || (low == c->first[0] && high < c->first[1]))
            {
                c->first[0] = low;
                c->first[1] = high;
            }
        }
}

int64_t td_skin_cuts(const tdSkin *skin, const double *x, const tdBox *boxes, int32_t first[2])
{
    tdCuts c = {.skin = skin, .x = x, .first = {-1, -1}};
    int32_t stack[4 * TD_BVH_DEPTH][2], n = 1;
    stack[0][0] = stack[0][1] = 0;
    while (n > 0)
    {
        n--;
        int32_t i = stack[n][0], j = stack[n][1];
        if (!td_boxes_meet(&boxes[i], &boxes[j]))
            continue;
        const tdBvhNode *a = &skin->bvh.nodes[i], *b = &skin->bvh.nodes[j];
        if (a->right == 0 && b->right == 0)
            test_leaves(&c, a, b);
        else if (i == j)
        {
            const int32_t pairs[3][2] = {{i + 1, i + 1}, {a->right, a->right}, {i + 1, a->right}};
            memcpy(stack[n], pairs, sizeof pairs);
            n += 3;
        }
        else
        {
            bool open = b->right == 0 || (a->right != 0 && td_box_size(&boxes[i]) >= td_box_size(&boxes[j]));
            const int32_t pairs[2][2] = {{open ? a->right : i, open ? j : b->right},
                                         {open ? i + 1 : i, open ? j : j + 1}};
            memcpy(stack[n], pairs, sizeof pairs);
            n += 2;
        }
    }
    memcpy(first, c.first, sizeof c.first);
    return c.count;
}
