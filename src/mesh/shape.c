// SPDX-License-Identifier: Apache-2.0
#include "mesh/shape.h"

#include <assert.h>
#include <math.h>
#include <string.h>

// Corners of the reference square and cube.
static const double corner[8][3] = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1},
                                    {-1, -1, 1},  {1, -1, 1},  {1, 1, 1},  {-1, 1, 1}};
// Ends of the edges whose middles are nodes, in VTK's order.
static const int8_t edge[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}};

// ---------------------------------------------------------------- shape functions

// Simplex with `dim` + 1 corners and, when quadratic, the middles of its edges:
// corners L (2 L - 1), middles 4 L_i L_j in barycentric coordinates L.
static void simplex(int dim, bool quadratic, const double *xi, double *N, double *dN, int stride)
{
    double L[4], dL[4][3] = {{0}};
    L[0] = 1;
    for (int c = 0; c < dim; c++)
    {
        L[c + 1] = xi[c];
        L[0] -= xi[c];
        dL[0][c] = -1;
        dL[c + 1][c] = 1;
    }
    int corners = dim + 1, edges = quadratic ? (dim == 2 ? 3 : 6) : 0;
    for (int a = 0; a < corners + edges; a++)
    {
        int i = a < corners ? a : edge[a - corners][0], j = a < corners ? a : edge[a - corners][1];
        double value = a >= corners ? 4 * L[i] * L[j] : quadratic ? L[a] * (2 * L[a] - 1) : L[a];
        if (N != NULL)
            N[a] = value;
        for (int c = 0; c < stride && dN != NULL; c++)
            dN[stride * a + c] = a >= corners ? 4 * (L[i] * dL[j][c] + L[j] * dL[i][c])
                                 : quadratic  ? (4 * L[a] - 1) * dL[a][c]
                                              : dL[a][c];
    }
}

static void cube(int dim, const double *xi, double *N, double *dN, int stride)
{
    for (int a = 0; a < 1 << dim; a++)
    {
        double f[3] = {1, 1, 1};
        for (int c = 0; c < dim; c++)
            f[c] = 0.5 * (1 + corner[a][c] * xi[c]);
        if (N != NULL)
            N[a] = f[0] * f[1] * f[2];
        for (int c = 0; c < stride && dN != NULL; c++)
            dN[stride * a + c] = c < dim ? 0.5 * corner[a][c] * f[(c + 1) % 3] * f[(c + 2) % 3] : 0;
    }
}

void td_shape(tdCellType type, const double xi[3], double *N, double *dN)
{
    switch (type)
    {
    case TD_CELL_TRI: simplex(2, false, xi, N, dN, 3); return;
    case TD_CELL_QUAD: cube(2, xi, N, dN, 3); return;
    case TD_CELL_TET: simplex(3, false, xi, N, dN, 3); return;
    case TD_CELL_HEX: cube(3, xi, N, dN, 3); return;
    case TD_CELL_TET10: simplex(3, true, xi, N, dN, 3); return;
    default: assert(false && "a cell without shape functions");
    }
}

void td_shape_face(int n, const double xi[2], double *N, double *dN)
{
    if (n == 4)
        cube(2, xi, N, dN, 2);
    else
        simplex(2, n == 6, xi, N, dN, 2);
}

double td_shape_gradients(tdCellType type, const double *const *X, const double xi[3], double *gradient)
{
    int n = td_cell_nodes(type);
    double dN[3 * TD_SHAPE_NODES], J[9] = {0}, C[9];
    td_shape(type, xi, NULL, dN);
    for (int a = 0; a < n; a++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                J[3 * i + j] += X[a][i] * dN[3 * a + j];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
        {
            int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
            C[3 * i + j] = J[3 * a + c] * J[3 * b + d] - J[3 * a + d] * J[3 * b + c];
        }
    double det = J[0] * C[0] + J[1] * C[1] + J[2] * C[2];
    for (int a = 0; a < n; a++)
        for (int i = 0; i < 3; i++)
            gradient[3 * a + i] =
                (C[3 * i] * dN[3 * a] + C[3 * i + 1] * dN[3 * a + 1] + C[3 * i + 2] * dN[3 * a + 2]) / det;
    return det;
}

// ---------------------------------------------------------------- quadrature

static void add_point(tdRule *rule, double x, double y, double z, double weight)
{
    memcpy(rule->xi[rule->n], (double[3]){x, y, z}, 3 * sizeof(double));
    rule->weight[rule->n++] = weight;
}

// n = 2 or 3 Gauss points along each of `dim` axes.
static tdRule gauss(int dim, int n)
{
    const double at2[2] = {-0.57735026918962576451, 0.57735026918962576451}, w2[2] = {1, 1};
    const double at3[3] = {-0.77459666924148337704, 0, 0.77459666924148337704}, w3[3] = {5.0 / 9, 8.0 / 9, 5.0 / 9};
    const double *at = n == 2 ? at2 : at3, *w = n == 2 ? w2 : w3;
    tdRule rule = {0};
    for (int k = 0; k < (dim == 3 ? n : 1); k++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++)
                add_point(&rule, at[i], at[j], dim == 3 ? at[k] : 0, w[i] * w[j] * (dim == 3 ? w[k] : 1));
    return rule;
}

// The points with barycentric coordinates (a, a, a, 1 - 3 a).
static void tet_corners(tdRule *rule, double a, double weight)
{
    double b = 1 - 3 * a;
    add_point(rule, a, a, a, weight / 6);
    add_point(rule, b, a, a, weight / 6);
    add_point(rule, a, b, a, weight / 6);
    add_point(rule, a, a, b, weight / 6);
}

static tdRule tet_rule_4(void)
{
    tdRule rule = {0};
    tet_corners(&rule, 0.13819660112501051518, 0.25);
    return rule;
}

// Degree 5, all weights positive (Walkington).
static tdRule tet_rule_14(void)
{
    tdRule rule = {0};
    const double a = 0.045503704125649649492, b = 0.5 - a, w = 0.042546020777081466438 / 6;
    tet_corners(&rule, 0.31088591926330060980, 0.11268792571801585080);
    tet_corners(&rule, 0.092735250310891226402, 0.073493043116361949544);
    add_point(&rule, a, a, b, w);
    add_point(&rule, a, b, a, w);
    add_point(&rule, b, a, a, w);
    add_point(&rule, a, b, b, w);
    add_point(&rule, b, a, b, w);
    add_point(&rule, b, b, a, w);
    return rule;
}

static void tri_corners(tdRule *rule, double a, double weight)
{
    double b = 1 - 2 * a;
    add_point(rule, a, a, 0, weight / 2);
    add_point(rule, b, a, 0, weight / 2);
    add_point(rule, a, b, 0, weight / 2);
}

tdRule td_rule_stiffness(tdCellType type)
{
    tdRule one = {0};
    switch (type)
    {
    case TD_CELL_TRI: add_point(&one, 1.0 / 3, 1.0 / 3, 0, 0.5); return one;
    case TD_CELL_HEX: return gauss(3, 2);
    case TD_CELL_TET10: return tet_rule_4();
    default: add_point(&one, 0.25, 0.25, 0.25, 1.0 / 6); return one;
    }
}

tdRule td_rule_mass(tdCellType type)
{
    tdRule three = {0};
    switch (type)
    {
    case TD_CELL_TRI: tri_corners(&three, 1.0 / 6, 1.0 / 3); return three;
    case TD_CELL_HEX: return gauss(3, 3);
    case TD_CELL_TET10: return tet_rule_14();
    default: return tet_rule_4();
    }
}

tdRule td_rule_face(int n)
{
    if (n == 4)
        return gauss(2, 2);
    tdRule rule = {0};
    if (n == 3)
        add_point(&rule, 1.0 / 3, 1.0 / 3, 0, 0.5);
    else // degree 4
    {
        tri_corners(&rule, 0.44594849091596488632, 0.22338158967801146570);
        tri_corners(&rule, 0.091576213509770743460, 0.10995174365532186764);
    }
    return rule;
}

// ---------------------------------------------------------------- location

static double squared(const double *a, const double *b)
{
    return (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]);
}

// Euclidean projection of barycentric coordinates onto the simplex: none negative, sum 1.
static void into_simplex(int n, double *L)
{
    for (int pass = 0; pass < n; pass++)
    {
        double excess = -1;
        int positive = 0;
        for (int i = 0; i < n; i++)
        {
            L[i] = fmax(L[i], 0);
            excess += L[i];
            positive += L[i] > 0;
        }
        for (int i = 0; i < n; i++)
            L[i] -= L[i] > 0 ? excess / positive : 0;
    }
}

static void clamp(tdCellType type, double xi[3])
{
    int dim = td_cell_dim(type);
    if (type == TD_CELL_HEX)
    {
        for (int c = 0; c < 3; c++)
            xi[c] = fmin(fmax(xi[c], -1), 1);
        return;
    }
    double L[4] = {1, xi[0], xi[1], dim == 3 ? xi[2] : 0};
    for (int c = 0; c < dim; c++)
        L[0] -= xi[c];
    into_simplex(dim + 1, L);
    memcpy(xi, L + 1, (size_t)dim * sizeof(double));
}

// The point of the cell nearest to p: Gauss-Newton on |x(xi) - p|^2 within the reference cell, exact in a few
// passes when p is inside. Returns the squared distance.
double td_shape_nearest(tdCellType type, const double *const *X, const double p[3], double *weights)
{
    int n = td_cell_nodes(type), dim = td_cell_dim(type);
    double xi[3] = {0}, N[TD_SHAPE_NODES], dN[3 * TD_SHAPE_NODES], best = INFINITY;
    if (type != TD_CELL_HEX)
        for (int c = 0; c < dim; c++)
            xi[c] = 1.0 / (dim + 1);
    for (int pass = 0; pass < 40; pass++)
    {
        double x[3] = {0}, T[3][3] = {{0}}, A[9], b[3];
        td_shape(type, xi, N, dN);
        for (int a = 0; a < n; a++)
            for (int i = 0; i < 3; i++)
            {
                x[i] += N[a] * X[a][i];
                for (int c = 0; c < dim; c++)
                    T[c][i] += dN[3 * a + c] * X[a][i];
            }
        double d = squared(x, p);
        if (d < best)
        {
            best = d;
            memcpy(weights, N, (size_t)n * sizeof(double));
        }
        for (int r = 0; r < 3; r++)
        {
            b[r] = r < dim ? T[r][0] * (p[0] - x[0]) + T[r][1] * (p[1] - x[1]) + T[r][2] * (p[2] - x[2]) : 0;
            for (int c = 0; c < 3; c++)
                A[3 * r + c] = r < dim && c < dim ? T[r][0] * T[c][0] + T[r][1] * T[c][1] + T[r][2] * T[c][2] : r == c;
        }
        double C0 = A[4] * A[8] - A[5] * A[7], C1 = A[5] * A[6] - A[3] * A[8], C2 = A[3] * A[7] - A[4] * A[6];
        double det = A[0] * C0 + A[1] * C1 + A[2] * C2, was[3] = {xi[0], xi[1], xi[2]};
        if (!(det > 0))
            break;
        xi[0] += (C0 * b[0] + C1 * b[1] + C2 * b[2]) / det;
        xi[1] += (C1 * b[0] + (A[0] * A[8] - A[2] * A[6]) * b[1] + (A[2] * A[3] - A[0] * A[5]) * b[2]) / det;
        if (dim == 3)
            xi[2] += (C2 * b[0] + (A[1] * A[6] - A[0] * A[7]) * b[1] + (A[0] * A[4] - A[1] * A[3]) * b[2]) / det;
        clamp(type, xi);
        if (squared(xi, was) < 1e-30)
            break;
    }
    return best;
}
