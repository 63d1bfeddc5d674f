// SPDX-License-Identifier: Apache-2.0
// Steps of Newton's method on an island with sparse blocks, by a factor that is nearly that of H = A + J' G J.
//
// From one iteration of Newton's method to the next G changes at a few points only: those that begin or cease to touch,
// to stick or to slide. The factor of the first iteration then does for the others, with the change as one of low rank
// on the places p of these points,
//
//     M = H_0 + E D E',   D = J' dG J        E: unit vectors of p
//     M^-1 = H_0^-1 - H_0^-1 E (1 + D W)^-1 D E' H_0^-1,   W = E' H_0^-1 E
//
// W over p is made along the paths of the elimination tree from p to its root (schur_tree.h), which costs a small part
// of a factorization; where counts of operations say otherwise, the factor is made anew. M is the preconditioner of
// conjugate gradients on H; it is applied in single precision, and lacks changes of G that are small. Wide rows
// (borders) are nearly rigid, and single precision would be far from that: what they do is solved for in double
// precision, by deflation (Saad, Yeung, Erhel, Guyomarc'h 2000) with Z = H_n^-1 J_b', which the factor was made with.
#include "base/lapack.h"
#include "solve/sap_sparse.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- changes

#define NEAR         0.03 // of G: a change that is left to conjugate gradients
#define MOST_CHANGED 480  // places
#define WORTH        0.6  // of the operations of a factorization that a change may take, at most

static double norm9(const double *G)
{
    double sum = 0;
    for (int i = 0; i < TD_SAP_ROWS * TD_SAP_ROWS; i++)
        sum += G[i] * G[i];
    return sqrt(sum);
}

static bool has_changed(const tdSapFactor *f, const tdSapIsland *island, int32_t l)
{
    const double *now = island->G + (int64_t)TD_SAP_ROWS * TD_SAP_ROWS * l;
    const double *then = f->G + (int64_t)TD_SAP_ROWS * TD_SAP_ROWS * l;
    double d[TD_SAP_ROWS * TD_SAP_ROWS];
    if (td_sap_is_wide(&island->links[l]))
        return false;
    for (int i = 0; i < TD_SAP_ROWS * TD_SAP_ROWS; i++)
        d[i] = now[i] - then[i];
    return norm9(d) > NEAR * fmax(norm9(now), norm9(then));
}

static int compare_places(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

// Places of constraints that have changed; false: a row that has no border acts, or there are too many.
static bool list_changes(tdSapFactor *f, const tdSapIsland *island)
{
    f->n_places = 0;
    for (int32_t i = 0; i < f->n; i++)
        f->mark[i] = -1;
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapLink *link = &island->links[l];
        if (!link->idle && td_sap_is_wide(link) && link->border == NULL)
            return false;
        if (!has_changed(f, island, l))
            continue;
        for (int32_t i = 0; i < link->patch.n; i++)
            if (f->mark[link->patch.at[i]] < 0)
            {
                if (f->n_places == MOST_CHANGED)
                    return false;
                f->mark[link->patch.at[i]] = 0;
                f->places[f->n_places++] = f->tree.place[link->patch.at[i]];
            }
    }
    qsort(f->places, (size_t)f->n_places, sizeof *f->places, compare_places);
    for (int32_t k = 0; k < f->n_places; k++)
    {
        f->at[k] = ((const int32_t *)f->factor->Perm)[f->places[k]];
        f->mark[f->at[k]] = k;
    }
    return true;
}

static void fill_D(tdSapFactor *f, const tdSapIsland *island, int q)
{
    memset(f->D, 0, (size_t)q * (size_t)q * sizeof *f->D);
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapLink *link = &island->links[l];
        int32_t n = link->patch.n;
        int rows = link->law->rows;
        const double *now = island->G + (int64_t)TD_SAP_ROWS * TD_SAP_ROWS * l;
        const double *then = f->G + (int64_t)TD_SAP_ROWS * TD_SAP_ROWS * l;
        if (!has_changed(f, island, l))
            continue;
        for (int r = 0; r < rows; r++)
            for (int s = 0; s < rows; s++)
            {
                double d = now[r * rows + s] - then[r * rows + s];
                for (int32_t j = 0; j < n && d != 0; j++)
                {
                    double *column = f->D + (int64_t)f->mark[link->patch.at[j]] * q;
                    double times = d * link->J[s * (int64_t)n + j];
                    for (int32_t i = 0; i < n; i++)
                        column[f->mark[link->patch.at[i]]] += link->J[r * (int64_t)n + i] * times;
                }
            }
    }
}

// W from its lower triangle.
static void fill_W(tdSapFactor *f, const double *triangle, int q)
{
    for (int j = 0; j < q; j++)
        for (int i = j; i < q; i++)
            f->W[i + (int64_t)j * q] = f->W[j + (int64_t)i * q] = triangle[i + (int64_t)j * q];
}

static bool make_room(tdSapFactor *f, int q)
{
    int64_t need = 3 * (int64_t)q * q + q, narrow = (int64_t)q * q;
    if (need > f->small_room || q > f->pivot_room || narrow > f->narrow_room)
        f->stack->grown = true;
    if (!td_grow((void **)&f->change_room, &f->small_room, need, sizeof *f->D) ||
        !td_grow((void **)&f->narrow, &f->narrow_room, narrow, sizeof *f->narrow) ||
        !td_grow((void **)&f->pivots, &f->pivot_room, q, sizeof *f->pivots))
        return false;
    f->D = f->change_room;
    f->W = f->D + (int64_t)q * q;
    f->LU = f->W + (int64_t)q * q;
    f->y = f->LU + (int64_t)q * q;
    return true;
}

bool td_sap_sparse_change(tdSapFactor *f, const tdSapIsland *island)
{
    double flops = 0, square = 0;
    tdError error;
    int info = 0;
    if (!f->based || f->anew || !list_changes(f, island))
    {
        f->n_places = 0;
        return false;
    }
    int q = f->n_places;
    if (q == 0)
        return true; // nothing that counts
    td_schur_tree_visit(&f->tree, q, f->places, &flops, &square);
    double solves = 8.0 * (double)f->shape.values, dense = 8.0 / 3 * (double)q * q * q;
    if (flops + square + dense + solves > WORTH * f->plan.flops || !make_room(f, q))
        return false;
    int64_t Z_room = f->tree.Z_room, update_room = f->tree.update_room;
    tdStatus status = f->single
                          ? td_schur_tree_square_single(&f->tree, f->triangular.values, q, f->places, f->narrow, &error)
                          : td_schur_tree_square(&f->tree, f->factor->x, q, f->places, f->LU, &error);
    if (status != TD_OK)
        return false;
    f->stack->grown = f->stack->grown || f->tree.Z_room != Z_room || f->tree.update_room != update_room;
    for (int64_t i = 0; i < (int64_t)q * q && f->single; i++)
        f->LU[i] = f->narrow[i];
    fill_W(f, f->LU, q);
    fill_D(f, island, q);
    cblas_dsymm(CblasColMajor, CblasLeft, CblasLower, q, q, 1, f->D, q, f->W, q, 0, f->LU, q);
    for (int i = 0; i < q; i++)
        f->LU[i + (int64_t)i * q] += 1;
    dgetrf_(&q, &q, f->LU, &q, f->pivots, &info);
    return info == 0;
}

// ---------------------------------------------------------------- preconditioner

// y = (1 + D W)^-1 D t, over changed places.
static void answer(tdSapFactor *f, const double *t)
{
    int q = f->n_places, one = 1, info = 0;
    cblas_dsymv(CblasColMajor, CblasLower, q, 1, f->D, q, t, 1, 0, f->y, 1);
    dgetrs_("N", &q, &one, f->LU, &q, f->pivots, f->y, &q, &info, 1);
}

// Between the two halves of a solve: L^-1 r -= L^-1 E (1 + D W)^-1 D E' H_0^-1 r. W is not needed any more: it is room.
static void subtract_changes(void *context, float *y)
{
    tdSapFactor *f = context;
    int q = f->n_places;
    if (f->single)
    {
        td_schur_tree_gather_single(&f->tree, q, y, f->narrow);
        for (int i = 0; i < q; i++)
            f->W[i] = f->narrow[i];
        answer(f, f->W);
        for (int i = 0; i < q; i++)
            f->narrow[i] = (float)f->y[i];
        td_schur_tree_scatter_single(&f->tree, f->narrow, y);
        return;
    }
    for (int32_t i = 0; i < f->n; i++)
        f->between[i] = (double)y[i];
    td_schur_tree_gather(&f->tree, q, f->between, f->W);
    answer(f, f->W);
    td_schur_tree_scatter(&f->tree, f->y, f->between);
    for (int32_t i = 0; i < f->n; i++)
        y[i] = (float)f->between[i];
}

// z = M^-1 r
static void precondition(tdSapFactor *f, const double *r, double *z)
{
    if (!f->rounded)
        td_triangular_set(&f->triangular, f->tasks, f->factor->x);
    f->rounded = true;
    f->triangular.between = f->n_places > 0 ? subtract_changes : NULL;
    f->triangular.context = f;
    td_triangular_solve(&f->triangular, f->tasks, r, z);
}

// ---------------------------------------------------------------- products

static bool is_same(const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

// y += J' G J x of one row.
static void add_link(const tdSapLink *link, const double *G, const double *x, double *y)
{
    int32_t n = link->patch.n;
    int rows = link->law->rows;
    double v[TD_SAP_ROWS] = {0};
    for (int r = 0; r < rows; r++)
        for (int32_t i = 0; i < n; i++)
            v[r] += link->J[r * (int64_t)n + i] * x[link->patch.at[i]];
    for (int r = 0; r < rows; r++)
    {
        double g = 0;
        for (int s = 0; s < rows; s++)
            g += G[r * rows + s] * v[s];
        for (int32_t i = 0; i < n; i++)
            y[link->patch.at[i]] += link->J[r * (int64_t)n + i] * g;
    }
}

// y += J' (G - G_0) J x of narrow rows.
static void add_changes(const tdSapIsland *island, const double *x, double *y)
{
    const tdSapFactor *f = island->factor;
    for (int32_t l = 0; l < island->n_links; l++)
    {
        int64_t at = (int64_t)TD_SAP_ROWS * TD_SAP_ROWS * l;
        double d[TD_SAP_ROWS * TD_SAP_ROWS];
        if (island->links[l].entry == NULL || is_same(island->G + at, f->G + at, TD_SAP_ROWS * TD_SAP_ROWS))
            continue;
        for (int i = 0; i < TD_SAP_ROWS * TD_SAP_ROWS; i++)
            d[i] = island->G[at + i] - f->G[at + i];
        add_link(&island->links[l], d, x, y);
    }
}

void td_sap_sparse_multiply_narrow(const tdSapProblem *problem, const tdSapIsland *island, const double *x, double *y)
{
    td_sap_multiply_A(problem, island, x, y);
    for (int32_t l = 0; l < island->n_links; l++)
        if (!island->links[l].idle && island->links[l].entry != NULL)
            add_link(&island->links[l], island->G + (int64_t)TD_SAP_ROWS * TD_SAP_ROWS * l, x, y);
}

// y += J_b' G_b J_b x
static void add_borders(const tdSapIsland *island, const double *x, double *y)
{
    const tdSapFactor *f = island->factor;
    for (int k = 0; k < f->n_borders; k++)
    {
        const tdSapLink *link = &island->links[f->borders[k]];
        td_sap_sparse_add(link, td_sap_sparse_slope(island, f->borders[k]) * td_sap_sparse_dot(link, x), y);
    }
}

// y = H x
static void multiply_H(const tdSapIsland *island, const double *x, double *y)
{
    td_sap_sparse_multiply_narrow(island->factor->problem, island, x, y);
    add_borders(island, x, y);
}

// ---------------------------------------------------------------- conjugate gradients

// H Z, of which H_0n Z = J_b', nearly so in single precision, and Z' H Z. False: rounding has left nothing of it.
static bool deflate(const tdSapIsland *island)
{
    tdSapFactor *f = island->factor;
    int m = f->n_borders, info = 0;
    for (int k = 0; k < m; k++)
    {
        const double *Z = island->links[f->borders[k]].border;
        double *HZ = f->HZ + k * (int64_t)f->n;
        if (f->single)
            memcpy(HZ, f->HnZ + k * (int64_t)f->n, (size_t)f->n * sizeof *HZ);
        else
        {
            memset(HZ, 0, (size_t)f->n * sizeof *HZ);
            td_sap_sparse_add(&island->links[f->borders[k]], 1, HZ);
        }
        add_changes(island, Z, HZ);
        add_borders(island, Z, HZ);
    }
    for (int j = 0; j < m; j++)
        for (int i = j; i < m; i++)
            f->E[i + j * m] = td_sap_product(f->n, island->links[f->borders[i]].border, f->HZ + j * (int64_t)f->n);
    if (m > 0)
        dpotrf_("L", &m, f->E, &m, &info, 1);
    return info == 0;
}

// x += times Z E^-1 y, which y holds then
static void along_borders(const tdSapIsland *island, double times, double *y, double *x)
{
    tdSapFactor *f = island->factor;
    int m = f->n_borders, one = 1, info = 0;
    if (m == 0)
        return;
    dpotrs_("L", &m, &one, f->E, &m, y, &m, &info, 1);
    for (int k = 0; k < m; k++)
        cblas_daxpy(f->n, times * y[k], island->links[f->borders[k]].border, 1, x, 1);
}

#define STEPS      30   // more are needed where changes are too much for the factor
#define LEFT_SMALL 1e-6 // of the right-hand side, where no accuracy is asked for

void td_sap_sparse_iterate(const tdSapIsland *island, const double *b, double *x)
{
    tdSapFactor *f = island->factor;
    double *r = f->r, *z = island->y, *p = f->p, *Hp = f->Hp, *y = f->small, rho = 0;
    int32_t n = f->n;
    bool good = deflate(island);
    memcpy(r, b, (size_t)n * sizeof *r);
    memset(x, 0, (size_t)n * sizeof *x);
    double target = (island->accuracy > 0 ? island->accuracy : LEFT_SMALL) * td_sap_norm(island, r, NULL);
    for (int k = 0; k < f->n_borders && good; k++)
        y[k] = td_sap_product(n, island->links[f->borders[k]].border, r);
    if (good)
        along_borders(island, 1, y, x);
    for (int k = 0; k < f->n_borders && good; k++)
        cblas_daxpy(n, -y[k], f->HZ + k * (int64_t)n, 1, r, 1);
    for (int k = 0; k < STEPS && good; k++)
    {
        precondition(f, r, z);
        for (int j = 0; j < f->n_borders; j++)
            y[j] = td_sap_product(n, f->HZ + j * (int64_t)n, z);
        along_borders(island, -1, y, z);
        double next = td_sap_product(n, r, z);
        for (int32_t i = 0; i < n; i++)
            p[i] = z[i] + (k == 0 ? 0 : next / rho * p[i]);
        rho = next;
        multiply_H(island, p, Hp);
        double curvature = td_sap_product(n, p, Hp);
        if (!(curvature > 0) || !(rho > 0))
            break;
        double length = rho / curvature;
        for (int32_t i = 0; i < n; i++)
        {
            x[i] += length * p[i];
            r[i] -= length * Hp[i];
        }
        f->steps++;
        if (td_sap_norm(island, r, NULL) <= target)
            return;
    }
    f->exactly = f->exactly || (f->single && f->n_places == 0);
    f->anew = true;
}
