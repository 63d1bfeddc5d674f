// SPDX-License-Identifier: Apache-2.0
// The tetrahedron at or nearest to a point.
#include "base/vector.h"
#include "mesh/topology.h"

#include <math.h>
#include <string.h>

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

static double box_distance(const double *const x[4], const double p[3])
{
    double sum = 0;
    for (int k = 0; k < 3; k++)
    {
        double low = fmin(fmin(x[0][k], x[1][k]), fmin(x[2][k], x[3][k]));
        double high = fmax(fmax(x[0][k], x[1][k]), fmax(x[2][k], x[3][k]));
        double d = p[k] < low ? low - p[k] : p[k] > high ? p[k] - high : 0;
        sum += d * d;
    }
    return sum;
}

tdStatus td_mesh_locate(const tdMesh *mesh, const double p[3], int64_t *tet, double bary[4], double *distance)
{
    const tdCells *cells = &mesh->cells[TD_CELL_TET];
    double best = INFINITY;
    *tet = -1;
    for (int64_t i = 0; i < cells->count && best > 0; i++)
    {
        const double *x[4];
        for (int k = 0; k < 4; k++)
            x[k] = mesh->x + 3 * (int64_t)cells->nodes[4 * i + k];
        if (box_distance(x, p) >= best)
            continue;
        double b[4];
        bool inside = barycentric(x, p, b) && b[0] >= 0 && b[1] >= 0 && b[2] >= 0 && b[3] >= 0;
        double d = inside ? 0 : nearest_on_tet(x, p, b);
        if (d < best)
        {
            best = d;
            *tet = i;
            memcpy(bary, b, sizeof b);
        }
    }
    *distance = sqrt(best);
    return *tet < 0 ? TD_ERROR_INPUT : TD_OK;
}
