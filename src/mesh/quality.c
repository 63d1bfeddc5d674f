// SPDX-License-Identifier: Apache-2.0
// Shape of single cells; the measures are defined in doctor.h.
#include "base/vector.h"
#include "mesh/doctor.h"

#include <math.h>

static double square_distance(const double *a, const double *b)
{
    double d[3];
    td_subtract3(a, b, d);
    return td_dot3(d, d);
}

static double tet_quality(const double *const p[4], double volume)
{
    double sum = 0;
    for (int i = 0; i < 4; i++)
        for (int j = i + 1; j < 4; j++)
            sum += square_distance(p[i], p[j]);
    return volume > 0 && sum > 0 ? 12 * cbrt(9 * volume * volume) / sum : 0;
}

static double tri_quality(const double *const p[3])
{
    double u[3], v[3], n[3];
    td_subtract3(p[1], p[0], u);
    td_subtract3(p[2], p[0], v);
    td_cross3(u, v, n);
    double sum = td_dot3(u, u) + td_dot3(v, v) + square_distance(p[1], p[2]);
    return sum > 0 ? 2 * sqrt(3.0) * sqrt(td_dot3(n, n)) / sum : 0;
}

// Least over the corners of det(e1, e2, e3) / (|e1| |e2| |e3|), edges leaving the corner.
static double hex_quality(const double *const p[8])
{
    // Neighbours of each corner in right-handed order.
    static const int next[8][3] = {{1, 3, 4}, {2, 0, 5}, {3, 1, 6}, {0, 2, 7},
                                   {7, 5, 0}, {4, 6, 1}, {5, 7, 2}, {6, 4, 3}};
    double least = 1;
    for (int c = 0; c < 8; c++)
    {
        double e[3][3], n[3];
        for (int k = 0; k < 3; k++)
            td_subtract3(p[next[c][k]], p[c], e[k]);
        td_cross3(e[0], e[1], n);
        double lengths = sqrt(td_dot3(e[0], e[0])) * sqrt(td_dot3(e[1], e[1])) * sqrt(td_dot3(e[2], e[2]));
        least = fmin(least, lengths > 0 ? td_dot3(n, e[2]) / lengths : 0);
    }
    return least;
}

// The same in the plane of the quadrilateral's mean normal.
static double quad_quality(const double *const p[4])
{
    double d1[3], d2[3], normal[3];
    td_subtract3(p[2], p[0], d1);
    td_subtract3(p[3], p[1], d2);
    td_cross3(d1, d2, normal);
    double size = sqrt(td_dot3(normal, normal)), least = 1;
    for (int c = 0; c < 4; c++)
    {
        double a[3], b[3], n[3];
        td_subtract3(p[(c + 1) % 4], p[c], a);
        td_subtract3(p[(c + 3) % 4], p[c], b);
        td_cross3(a, b, n);
        double lengths = sqrt(td_dot3(a, a)) * sqrt(td_dot3(b, b)) * size;
        least = fmin(least, lengths > 0 ? td_dot3(n, normal) / lengths : 0);
    }
    return least;
}

double td_cell_quality(const tdMesh *mesh, tdCellType type, int64_t cell)
{
    int n = td_cell_nodes(type);
    const double *p[8] = {0};
    for (int k = 0; k < n && k < 8; k++)
        p[k] = mesh->x + 3 * (int64_t)mesh->cells[type].nodes[cell * n + k];
    double quality = 0;
    switch (type)
    {
    case TD_CELL_TRI: quality = tri_quality(p); break;
    case TD_CELL_QUAD: quality = quad_quality(p); break;
    case TD_CELL_TET:
    case TD_CELL_TET10: quality = tet_quality(p, td_cell_volume(mesh, type, cell)); break;
    case TD_CELL_HEX: quality = hex_quality(p); break;
    default: break;
    }
    return fmax(0, fmin(1, quality));
}
