// SPDX-License-Identifier: Apache-2.0
// Nearest or deepest points of two boxes by their separating axes (S. Gottschalk, M. Lin, D. Manocha 1996): three
// normals of faces of each and nine products of edges. Boxes that overlap are apart the soonest along one of these, and
// what is left to find are points; where boxes are apart, the axis of the largest gap is the answer if a corner lies
// over the face, or the edges cross. What is left, a corner beside a face, is for the general method.
#include "collide/gjk.h"

#include "collide/geometry.h"

#include <string.h>

#define EDGE_GAIN 1e-9 // of the size: an axis of edges is taken only where it is better than that of a face by this

typedef struct boxAxis
{
    double gap;  ///< along it; negative: overlap
    double n[3]; ///< unit, from A to B, in the axes of A
    int a, b;    ///< axis of A's face or edge, of B's; -1: none
} boxAxis;

typedef struct boxPair
{
    const double *h, *g; ///< half of A, of B
    const tdPose *pose;  ///< of B in the axes of A
    double size;
} boxPair;

static void column(const tdPose *pose, int j, double out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = pose->R[3 * k + j];
}

static void try_axis(const boxPair *two, const double n[3], double slack, int a, int b, boxAxis *best)
{
    const double *R = two->pose->R, *t = two->pose->t, *h = two->h, *g = two->g;
    double along = td_dot3(n, t), reach = h[0] * fabs(n[0]) + h[1] * fabs(n[1]) + h[2] * fabs(n[2]);
    for (int j = 0; j < 3; j++)
        reach += g[j] * fabs(n[0] * R[j] + n[1] * R[3 + j] + n[2] * R[6 + j]);
    double gap = fabs(along) - reach;
    if (!(gap > best->gap + slack))
        return;
    double sign = along < 0 ? -1 : 1;
    *best = (boxAxis){.gap = gap, .n = {sign * n[0], sign * n[1], sign * n[2]}, .a = a, .b = b};
}

static boxAxis best_axis(const boxPair *two)
{
    boxAxis best = {.gap = -INFINITY};
    double n[3], slack = EDGE_GAIN * two->size;
    for (int i = 0; i < 3; i++)
    {
        double axis[3] = {i == 0, i == 1, i == 2};
        try_axis(two, axis, 0, i, -1, &best);
    }
    for (int j = 0; j < 3; j++) // those of A stay where both look alike
    {
        column(two->pose, j, n);
        try_axis(two, n, slack, -1, j, &best);
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
        {
            double d[3] = {0}, length;
            column(two->pose, j, n);
            d[(i + 1) % 3] = -n[(i + 2) % 3]; // e_i x n
            d[(i + 2) % 3] = n[(i + 1) % 3];
            length = td_length3(d);
            if (length < 1e-6) // parallel: faces say as much
                continue;
            for (int k = 0; k < 3; k++)
                d[k] /= length;
            try_axis(two, d, slack, i, j, &best);
        }
    return best;
}

// The corner of a box farthest along d; its coordinate along `edge` is zero.
static void corner(const double half[3], const double d[3], int edge, double out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = k == edge ? 0 : d[k] < 0 ? -half[k] : half[k];
}

// Where two edges come nearest. False: outside one of them.
static bool cross_edges(const boxPair *two, const boxAxis *axis, tdNearest *out)
{
    double p[3], local[3], q[3], u[3] = {axis->a == 0, axis->a == 1, axis->a == 2}, v[3], back[3], d[3];
    for (int k = 0; k < 3; k++)
        back[k] = -axis->n[k];
    td_turn_back(two->pose, back, local);
    corner(two->h, axis->n, axis->a, p);
    corner(two->g, local, axis->b, q);
    memcpy(local, q, sizeof local);
    td_place(two->pose, local, q);
    column(two->pose, axis->b, v);
    td_subtract3(q, p, d);
    double c = td_dot3(u, v), du = td_dot3(d, u), dv = td_dot3(d, v), det = 1 - c * c;
    double s = (du - c * dv) / det, t = (c * du - dv) / det;
    if (!(fabs(s) <= two->h[axis->a] && fabs(t) <= two->g[axis->b]))
        return false;
    td_along3(p, s, u, out->a);
    td_along3(q, t, v, out->b);
    return true;
}

#define ALONG 1e-7 // cosine: an edge or face of the other box that lies along the face, all of which is nearest

// From the axes of one box to those of the other.
static void to_face(const boxPair *two, bool of_a, const double p[3], double out[3])
{
    if (of_a)
        td_place(two->pose, p, out);
    else
        td_place_back(two->pose, p, out);
}

// A point of the other box that is nearest to a face, over it where one is. False: it is beside it.
static bool over_face(const boxPair *two, const boxAxis *axis, tdNearest *out)
{
    bool of_a = axis->a >= 0, beside = false;
    const double *half = of_a ? two->h : two->g, *other = of_a ? two->g : two->h;
    int face = of_a ? axis->a : axis->b;
    double towards[3], d[3], p[3], x[3];
    for (int k = 0; k < 3; k++)
        towards[k] = of_a ? -axis->n[k] : axis->n[k]; // from the other box to the face
    if (of_a)
        td_turn_back(two->pose, towards, d);
    else
        memcpy(d, towards, sizeof d);
    for (int k = 0; k < 3; k++)
        p[k] = fabs(d[k]) < ALONG ? 0 : d[k] < 0 ? -other[k] : other[k];
    to_face(two, of_a, p, x);
    for (int round = 0; round < 8; round++) // between what is over the face and what belongs to the other box
    {
        double at[3], back[3];
        beside = false;
        for (int k = 0; k < 3; k++)
        {
            at[k] = k == face ? x[k] : fmin(fmax(x[k], -half[k]), half[k]);
            beside = beside || at[k] != x[k];
        }
        if (!beside)
            break;
        to_face(two, !of_a, at, back);
        for (int k = 0; k < 3; k++)
            if (fabs(d[k]) < ALONG)
                p[k] = fmin(fmax(back[k], -other[k]), other[k]);
        to_face(two, of_a, p, x);
    }
    for (int k = 0; k < 3; k++)
    {
        double here = of_a ? x[k] : p[k]; // in the axes of A
        out->a[k] = of_a ? here - axis->gap * axis->n[k] : here;
        out->b[k] = of_a ? here : here + axis->gap * axis->n[k];
    }
    return !beside;
}

tdBoxes td_nearest_boxes(const tdShape *A, const tdShape *B, const tdPose *b, double reach, tdNearest *out)
{
    boxPair two = {A->half, B->half, b, 2 * (td_length3(A->half) + td_length3(B->half))};
    boxAxis axis = best_axis(&two);
    out->phi = axis.gap;
    memcpy(out->n, axis.n, sizeof out->n);
    if (axis.gap > reach)
        return TD_BOXES_FAR;
    bool edges = axis.a >= 0 && axis.b >= 0,
         exact = edges ? cross_edges(&two, &axis, out) : over_face(&two, &axis, out);
    if (!exact)
        return TD_BOXES_UNKNOWN;
    for (int k = 0; k < 3 && edges; k++) // on a common normal to rounding
    {
        double middle = 0.5 * (out->a[k] + out->b[k]);
        out->a[k] = middle - 0.5 * axis.gap * axis.n[k];
        out->b[k] = middle + 0.5 * axis.gap * axis.n[k];
    }
    return TD_BOXES_FOUND;
}
