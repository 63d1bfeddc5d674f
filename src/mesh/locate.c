// SPDX-License-Identifier: Apache-2.0
#include "mesh/locate.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAF 4 // cells of a node of the tree that has no children

static const tdCellType kinds[4] = {TD_CELL_TET, TD_CELL_HEX, TD_CELL_TET10, TD_CELL_TRI};

// ---------------------------------------------------------------- linear tetrahedra

static double volume6(const double *a, const double *b, const double *c, const double *d)
{
    double u[3], v[3], w[3];
    td_subtract3(b, a, u);
    td_subtract3(c, a, v);
    td_subtract3(d, a, w);
    return td_triple3(w, u, v);
}

// Barycentric coordinates by ratios of volumes, which hold for either orientation; false when flat.
static bool barycentric(const double *const x[4], const double p[3], double bary[4])
{
    double whole = volume6(x[0], x[1], x[2], x[3]);
    bary[0] = volume6(p, x[1], x[2], x[3]) / whole;
    bary[1] = volume6(x[0], p, x[2], x[3]) / whole;
    bary[2] = volume6(x[0], x[1], p, x[3]) / whole;
    bary[3] = volume6(x[0], x[1], x[2], p) / whole;
    return isfinite(bary[0] + bary[1] + bary[2] + bary[3]);
}

// Nearest point of a segment: its coordinate at b, in [0, 1].
static double nearest_on_segment(const double *a, const double *b, const double p[3])
{
    double u[3], v[3];
    td_subtract3(b, a, u);
    td_subtract3(p, a, v);
    double length = td_dot3(u, u), t = length > 0 ? td_dot3(u, v) / length : 0;
    return t < 0 ? 0 : t > 1 ? 1 : t;
}

// Barycentric coordinates of the point of a triangle nearest to p: the foot of the perpendicular when
// it is inside, else the nearest of the three edges.
static void nearest_on_triangle(const double *const x[3], const double p[3], double w[3])
{
    double u[3], v[3], r[3];
    td_subtract3(x[1], x[0], u);
    td_subtract3(x[2], x[0], v);
    td_subtract3(p, x[0], r);
    double uu = td_dot3(u, u), uv = td_dot3(u, v), vv = td_dot3(v, v), ru = td_dot3(r, u), rv = td_dot3(r, v);
    double whole = uu * vv - uv * uv;
    w[1] = (ru * vv - rv * uv) / whole;
    w[2] = (rv * uu - ru * uv) / whole;
    w[0] = 1 - w[1] - w[2];
    if (w[0] >= 0 && w[1] >= 0 && w[2] >= 0)
        return;
    double best = INFINITY, kept[3] = {1, 0, 0};
    for (int e = 0; e < 3; e++)
    {
        int a = e, b = (e + 1) % 3;
        double t = nearest_on_segment(x[a], x[b], p), d[3];
        for (int k = 0; k < 3; k++)
            d[k] = x[a][k] + t * (x[b][k] - x[a][k]) - p[k];
        if (td_dot3(d, d) < best)
        {
            best = td_dot3(d, d);
            kept[a] = 1 - t;
            kept[b] = t;
            kept[3 - a - b] = 0;
        }
    }
    memcpy(w, kept, sizeof kept);
}

// Squared distance from p to a tetrahedron it is not in, with the nearest point.
static double nearest_on_tet(const double *const x[4], const double p[3], double bary[4])
{
    static const int faces[4][3] = {{0, 1, 2}, {0, 1, 3}, {1, 2, 3}, {0, 2, 3}};
    double best = INFINITY;
    for (int f = 0; f < 4; f++)
    {
        const double *corner[3] = {x[faces[f][0]], x[faces[f][1]], x[faces[f][2]]};
        double w[3], d[3];
        nearest_on_triangle(corner, p, w);
        for (int k = 0; k < 3; k++)
            d[k] = w[0] * corner[0][k] + w[1] * corner[1][k] + w[2] * corner[2][k] - p[k];
        if (td_dot3(d, d) < best)
        {
            best = td_dot3(d, d);
            memset(bary, 0, 4 * sizeof(double));
            for (int k = 0; k < 3; k++)
                bary[faces[f][k]] = w[k];
        }
    }
    return best;
}

// Squared distance from p to a linear tetrahedron; 0: inside.
static double locate_in_tet(const double *const x[4], const double p[3], double bary[4])
{
    bool inside = barycentric(x, p, bary) && bary[0] >= 0 && bary[1] >= 0 && bary[2] >= 0 && bary[3] >= 0;
    return inside ? 0 : nearest_on_tet(x, p, bary);
}

// ---------------------------------------------------------------- tree

static int kind_of(const tdLocator *locator, int64_t number)
{
    int k = 0;
    while (number >= locator->first[k + 1])
        k++;
    return k;
}

static void corners(const tdLocator *locator, int64_t number, int *kind, const double *x[TD_SHAPE_NODES])
{
    *kind = kind_of(locator, number);
    int n = td_cell_nodes(kinds[*kind]);
    const int32_t *nodes = locator->mesh->cells[kinds[*kind]].nodes + n * (number - locator->first[*kind]);
    for (int a = 0; a < n; a++)
        x[a] = locator->mesh->x + 3 * (int64_t)nodes[a];
}

static void cell_box(const tdLocator *locator, int64_t number, double box[6])
{
    const double *x[TD_SHAPE_NODES];
    int kind;
    corners(locator, number, &kind, x);
    for (int c = 0; c < 3; c++)
        box[c] = box[3 + c] = x[0][c];
    for (int a = 1; a < td_cell_nodes(kinds[kind]); a++)
        for (int c = 0; c < 3; c++)
        {
            box[c] = fmin(box[c], x[a][c]);
            box[3 + c] = fmax(box[3 + c], x[a][c]);
        }
}

static double box_distance(const double box[6], const double p[3])
{
    double sum = 0;
    for (int c = 0; c < 3; c++)
    {
        double d = p[c] < box[c] ? box[c] - p[c] : p[c] > box[3 + c] ? p[c] - box[3 + c] : 0;
        sum += d * d;
    }
    return sum;
}

/// A cell while the tree is made.
typedef struct Middle
{
    double at[3];
    int64_t number;
} Middle;

static bool before(const Middle *a, const Middle *b, int axis)
{
    return a->at[axis] != b->at[axis] ? a->at[axis] < b->at[axis] : a->number < b->number;
}

static void swap(Middle *a, Middle *b)
{
    Middle kept = *a;
    *a = *b;
    *b = kept;
}

// Brings the `middle` first cells along an axis to the front of [from, to): Hoare's selection.
static void halve(Middle *m, int64_t from, int64_t to, int64_t middle, int axis)
{
    for (int64_t low = from, high = to - 1; low < high;)
    {
        Middle pivot = m[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j)
        {
            while (before(&m[i], &pivot, axis))
                i++;
            while (before(&pivot, &m[j], axis))
                j--;
            if (i <= j)
                swap(&m[i++], &m[j--]);
        }
        if (middle <= j)
            high = j;
        else if (middle >= i)
            low = i;
        else
            return;
    }
}

// Cells [from, to) under one node: cut in two halves along the longest side of the box of their middles.
static void build(tdLocator *locator, Middle *middles, int64_t node, int64_t from, int64_t to)
{
    double *box = locator->boxes + 6 * node, low[3], high[3];
    if (to - from <= LEAF)
    {
        for (int64_t i = from; i < to; i++)
        {
            double one[6];
            locator->order[i] = middles[i].number;
            cell_box(locator, middles[i].number, one);
            for (int c = 0; c < 3; c++)
            {
                box[c] = i == from ? one[c] : fmin(box[c], one[c]);
                box[3 + c] = i == from ? one[3 + c] : fmax(box[3 + c], one[3 + c]);
            }
        }
        return;
    }
    memcpy(low, middles[from].at, sizeof low);
    memcpy(high, middles[from].at, sizeof high);
    for (int64_t i = from + 1; i < to; i++)
        for (int c = 0; c < 3; c++)
        {
            low[c] = fmin(low[c], middles[i].at[c]);
            high[c] = fmax(high[c], middles[i].at[c]);
        }
    int axis = high[1] - low[1] > high[0] - low[0] ? 1 : 0;
    axis = high[2] - low[2] > high[axis] - low[axis] ? 2 : axis;
    int64_t middle = from + (to - from) / 2;
    halve(middles, from, to, middle, axis);
    build(locator, middles, 2 * node + 1, from, middle);
    build(locator, middles, 2 * node + 2, middle, to);
    const double *left = locator->boxes + 6 * (2 * node + 1), *right = left + 6;
    for (int c = 0; c < 3; c++)
    {
        box[c] = fmin(left[c], right[c]);
        box[3 + c] = fmax(left[3 + c], right[3 + c]);
    }
}

static void measure(const tdMesh *mesh, tdLocator *out)
{
    for (int c = 0; c < 3; c++)
    {
        out->low[c] = mesh->n_nodes > 0 ? mesh->x[c] : 0;
        out->high[c] = out->low[c];
    }
    double far = 0;
    for (int64_t i = 0; i < mesh->n_nodes; i++)
    {
        double from[3];
        td_subtract3(mesh->x + 3 * i, mesh->x, from);
        far = fmax(far, td_dot3(from, from));
        for (int c = 0; c < 3; c++)
        {
            out->low[c] = fmin(out->low[c], mesh->x[3 * i + c]);
            out->high[c] = fmax(out->high[c], mesh->x[3 * i + c]);
        }
    }
    for (int c = 0; c < 3; c++)
        out->size = fmax(out->size, out->high[c] - out->low[c]);
    out->inside = out->linear ? 0 : 1e-24 * far;
}

tdStatus td_locator_make(const tdMesh *mesh, tdLocator *out, tdError *error)
{
    *out = (tdLocator){.mesh = mesh};
    for (int k = 0; k < 4; k++)
    {
        bool counts = kinds[k] != TD_CELL_TRI || out->n == 0;
        out->first[k] = out->n;
        out->n += counts ? mesh->cells[kinds[k]].count : 0;
    }
    out->first[4] = out->n;
    out->linear = mesh->cells[TD_CELL_TET].count == out->n;
    measure(mesh, out);
    int64_t boxes = 1;
    for (int64_t most = out->n; most > LEAF; most = (most + 1) / 2) // of the larger half
        boxes = 2 * boxes + 1;
    Middle *middles = td_take((size_t)out->n + 1, sizeof *middles);
    out->order = td_take((size_t)out->n + 1, sizeof *out->order);
    out->boxes = td_take((size_t)boxes, 6 * sizeof *out->boxes);
    bool good = middles != NULL && out->order != NULL && out->boxes != NULL;
    for (int64_t i = 0; good && i < out->n; i++)
    {
        double box[6];
        cell_box(out, i, box);
        middles[i] = (Middle){.number = i};
        for (int c = 0; c < 3; c++)
            middles[i].at[c] = 0.5 * (box[c] + box[3 + c]);
    }
    if (good && out->n > 0)
        build(out, middles, 0, 0, out->n);
    free(middles);
    if (good)
        return TD_OK;
    td_locator_free(out);
    return td_fail_memory(error, "the search for points of a mesh");
}

void td_locator_free(tdLocator *locator)
{
    free(locator->order);
    free(locator->boxes);
    *locator = (tdLocator){0};
}

// ---------------------------------------------------------------- look-up

/// The best cell so far: the least distance, and of those the least number, whatever the order of visits.
typedef struct Best
{
    double square;
    int64_t number;
} Best;

static void look_at(const tdLocator *locator, int64_t number, const double p[3], Best *best, tdPlace *out)
{
    const double *x[TD_SHAPE_NODES];
    double weights[TD_SHAPE_NODES];
    int kind;
    corners(locator, number, &kind, x);
    double d = locator->linear ? locate_in_tet(x, p, weights) : td_shape_nearest(kinds[kind], x, p, weights);
    d = d <= locator->inside ? 0 : d;
    out->looked_at++;
    if (!(d < best->square) && !(d == best->square && number < best->number))
        return;
    *best = (Best){d, number};
    out->type = kinds[kind];
    out->cell = number - locator->first[kind];
    memcpy(out->weights, weights, (size_t)td_cell_nodes(kinds[kind]) * sizeof *weights);
}

static void search(const tdLocator *locator, int64_t node, int64_t from, int64_t to, const double p[3], Best *best,
                   tdPlace *out)
{
    if (to - from <= LEAF)
    {
        for (int64_t i = from; i < to; i++)
            look_at(locator, locator->order[i], p, best, out);
        return;
    }
    int64_t middle = from + (to - from) / 2;
    const double *left = locator->boxes + 6 * (2 * node + 1);
    double d[2] = {box_distance(left, p), box_distance(left + 6, p)};
    int near = d[1] < d[0];
    for (int k = 0; k < 2; k++)
    {
        int side = k == 0 ? near : !near;
        if (d[side] <= best->square) // equal: another one may have a lesser number
            search(locator, 2 * node + 1 + side, side == 0 ? from : middle, side == 0 ? middle : to, p, best, out);
    }
}

bool td_locator_find(const tdLocator *locator, const double p[3], tdPlace *out)
{
    Best best = {INFINITY, INT64_MAX};
    *out = (tdPlace){.cell = -1};
    if (locator->n > 0)
        search(locator, 0, 0, locator->n, p, &best, out);
    out->distance = sqrt(best.square);
    return out->cell >= 0;
}
