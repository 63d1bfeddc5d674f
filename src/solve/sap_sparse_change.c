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
// of a factorization, and serves all iterations of the factor: what slides changes in each of them, and is much the
// same. Where counts of operations say otherwise, the factor is made anew. M is the preconditioner of
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
#define BUNCH        64   // columns at a time
#define FEW_MORE     9    // places that are not worth another W: they are left to conjugate gradients too
#define WORTH        0.8  // of the operations of a factorization that W may take, at most

static double norm9(const double *G)
{
    double sum = 0;
    for (int i = 0; i < TD_SAP_ROWS * TD_SAP_ROWS; i++)
        sum += G[i] * G[i];
    return sqrt(sum);
}

// dG of a row since the factor was made. False: it is wide, or nothing that counts.
static bool change_of(const tdSapFactor *f, const tdSapIsland *island, int32_t l, double *dG)
{
    const double *now = island->G + (int64_t)TD_SAP_ROWS * TD_SAP_ROWS * l;
    const double *then = f->G + (int64_t)TD_SAP_ROWS * TD_SAP_ROWS * l;
    if (td_sap_is_wide(&island->links[l]))
        return false;
    for (int i = 0; i < TD_SAP_ROWS * TD_SAP_ROWS; i++)
        dG[i] = now[i] - then[i];
    return norm9(dG) > NEAR * fmax(norm9(now), norm9(then));
}

static int compare_places(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

// All places known by their numbers in W.
static void number_places(tdSapFactor *f)
{
    qsort(f->places, (size_t)f->n_places, sizeof *f->places, compare_places);
    for (int32_t k = 0; k < f->n_places; k++)
    {
        f->at[k] = ((const int32_t *)f->factor->Perm)[f->places[k]];
        f->mark[f->at[k]] = k;
    }
}

void td_sap_sparse_forget(tdSapFactor *f)
{
    for (int32_t i = 0; i < f->n; i++)
        f->mark[i] = -1;
    f->n_places = f->n_moved = 0;
}

// Adds places of rows that have changed to those that W is known of. How many those are is in *more; false: too many,
// or a row acts that has no border.
static bool list_changes(tdSapFactor *f, const tdSapIsland *island, int32_t *more)
{
    double dG[TD_SAP_ROWS * TD_SAP_ROWS];
    int32_t before = f->n_places;
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapLink *link = &island->links[l];
        if (!link->idle && td_sap_is_wide(link) && link->border == NULL)
            return false;
        if (!change_of(f, island, l, dG))
            continue;
        for (int32_t i = 0; i < link->patch.n; i++)
            if (f->mark[link->patch.at[i]] < 0)
            {
                if (f->n_places == MOST_CHANGED)
                    return false;
                f->mark[link->patch.at[i]] = f->n_places;
                f->places[f->n_places++] = f->tree.place[link->patch.at[i]];
            }
    }
    *more = f->n_places - before;
    return true;
}

// Takes back the last `more` of the places that were listed.
static void unlist(tdSapFactor *f, int32_t more)
{
    for (; more > 0; more--)
        f->mark[((const int32_t *)f->factor->Perm)[f->places[--f->n_places]]] = -1;
}

static bool make_room(tdSapFactor *f, int q)
{
    int64_t need = 2 * (int64_t)q * q + 2 * q, narrow = (int64_t)q * q;
    if (need > f->small_room || q > f->pivot_room || narrow > f->narrow_room)
        f->stack->grown = true;
    if (!td_grow((void **)&f->change_room, &f->small_room, need, sizeof *f->W) ||
        !td_grow((void **)&f->narrow, &f->narrow_room, narrow, sizeof *f->narrow) ||
        !td_grow((void **)&f->pivots, &f->pivot_room, q, sizeof *f->pivots))
        return false;
    f->W = f->change_room;
    f->LU = f->W + (int64_t)q * q;
    f->y = f->LU + (int64_t)q * q;
    f->t = f->y + q;
    return true;
}

// W over the places that are listed. False: that does not pay.
static bool make_W(tdSapFactor *f)
{
    double flops = 0, square = 0;
    tdError error;
    int q = f->n_places;
    td_schur_tree_visit(&f->tree, q, f->places, &flops, &square);
    double solves = 8.0 * (double)f->shape.values, dense = 2.0 / 3 * (double)q * q * q;
    if (flops + square + dense + solves > WORTH * f->plan.flops || !make_room(f, q))
        return false;
    int64_t Z_room = f->tree.Z_room, update_room = f->tree.update_room;
    tdStatus status = f->single
                          ? td_schur_tree_square_single(&f->tree, f->triangular.values, q, f->places, f->narrow, &error)
                          : td_schur_tree_square(&f->tree, f->factor->x, q, f->places, f->LU, &error);
    if (status != TD_OK)
        return false;
    f->stack->grown = f->stack->grown || f->tree.Z_room != Z_room || f->tree.update_room != update_room;
    for (int j = 0; j < q; j++) // from its lower triangle
        for (int i = j; i < q; i++)
        {
            int64_t at = i + (int64_t)j * q;
            f->W[at] = f->W[j + (int64_t)i * q] = f->single ? (double)f->narrow[at] : f->LU[at];
        }
    return true;
}

// Rows of 1 + D W that a row of the problem adds to; W is symmetric, and so all runs along columns of the transpose.
static void add_to_LU(tdSapFactor *f, const tdSapLink *link, const double *dG)
{
    int q = f->n_places, rows = link->law->rows;
    int32_t n = link->patch.n;
    double v[TD_SAP_ROWS][BUNCH];
    for (int begin = 0; begin < q; begin += BUNCH)
    {
        int count = q - begin < BUNCH ? q - begin : BUNCH;
        memset(v, 0, sizeof v);
        for (int32_t i = 0; i < n; i++)
        {
            const double *W = f->W + f->mark[link->patch.at[i]] * (int64_t)q + begin;
            for (int r = 0; r < rows; r++)
            {
                double g = 0;
                for (int s = 0; s < rows; s++)
                    g += dG[r * rows + s] * link->J[s * (int64_t)n + i];
                for (int c = 0; c < count; c++)
                    v[r][c] += g * W[c];
            }
        }
        for (int32_t i = 0; i < n; i++)
        {
            double *to = f->LU + f->mark[link->patch.at[i]] * (int64_t)q + begin;
            for (int r = 0; r < rows; r++)
                for (int c = 0; c < count; c++)
                    to[c] += link->J[r * (int64_t)n + i] * v[r][c];
        }
    }
}

// The transpose of 1 + D W, of rows whose places are all known, factored.
static bool make_LU(tdSapFactor *f, const tdSapIsland *island)
{
    double dG[TD_SAP_ROWS * TD_SAP_ROWS];
    int q = f->n_places, info = 0;
    memset(f->LU, 0, (size_t)q * (size_t)q * sizeof *f->LU);
    for (int i = 0; i < q; i++)
        f->LU[i + (int64_t)i * q] = 1;
    f->n_moved = 0;
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapLink *link = &island->links[l];
        bool known = change_of(f, island, l, dG);
        for (int32_t i = 0; i < link->patch.n && known; i++)
            known = f->mark[link->patch.at[i]] >= 0;
        if (!known)
            continue;
        f->moved[f->n_moved++] = l;
        add_to_LU(f, link, dG);
    }
    dgetrf_(&q, &q, f->LU, &q, f->pivots, &info);
    return info == 0;
}

bool td_sap_sparse_change(tdSapFactor *f, const tdSapIsland *island)
{
    int32_t more = 0;
    f->island = island;
    if (!f->based || f->anew || !list_changes(f, island, &more))
    {
        td_sap_sparse_forget(f);
        return false;
    }
    if (f->n_places == 0)
        return true; // nothing that counts
    if (more > FEW_MORE || more == f->n_places)
    {
        number_places(f);
        if (!make_W(f))
        {
            td_sap_sparse_forget(f);
            return false;
        }
    }
    else
        unlist(f, more);
    if (make_LU(f, island))
        return true;
    td_sap_sparse_forget(f);
    return false;
}

// ---------------------------------------------------------------- preconditioner

// y = (1 + D W)^-1 D t, over changed places.
static void answer(tdSapFactor *f, const double *t)
{
    int q = f->n_places, one = 1, info = 0;
    memset(f->y, 0, (size_t)q * sizeof *f->y);
    for (int32_t k = 0; k < f->n_moved; k++)
    {
        const tdSapLink *link = &f->island->links[f->moved[k]];
        double dG[TD_SAP_ROWS * TD_SAP_ROWS], v[TD_SAP_ROWS] = {0};
        int32_t n = link->patch.n;
        int rows = link->law->rows;
        change_of(f, f->island, f->moved[k], dG);
        for (int r = 0; r < rows; r++)
            for (int32_t i = 0; i < n; i++)
                v[r] += link->J[r * (int64_t)n + i] * t[f->mark[link->patch.at[i]]];
        for (int r = 0; r < rows; r++)
        {
            double g = 0;
            for (int s = 0; s < rows; s++)
                g += dG[r * rows + s] * v[s];
            for (int32_t i = 0; i < n; i++)
                f->y[f->mark[link->patch.at[i]]] += link->J[r * (int64_t)n + i] * g;
        }
    }
    dgetrs_("T", &q, &one, f->LU, &q, f->pivots, f->y, &q, &info, 1);
}

// Between the two halves of a solve: L^-1 r -= L^-1 E (1 + D W)^-1 D E' H_0^-1 r.
static void subtract_changes(void *context, float *y)
{
    tdSapFactor *f = context;
    int q = f->n_places;
    if (f->single)
    {
        td_schur_tree_gather_single(&f->tree, q, y, f->narrow);
        for (int i = 0; i < q; i++)
            f->t[i] = f->narrow[i];
        answer(f, f->t);
        for (int i = 0; i < q; i++)
            f->narrow[i] = (float)f->y[i];
        td_schur_tree_scatter_single(&f->tree, f->narrow, y);
        return;
    }
    for (int32_t i = 0; i < f->n; i++)
        f->between[i] = (double)y[i];
    td_schur_tree_gather(&f->tree, q, f->between, f->t);
    answer(f, f->t);
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
    if (m == 0)
        return true;
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, m, m, f->n, 1, f->Z, f->n, f->HZ, f->n, 0, f->E, m);
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
    cblas_dgemv(CblasColMajor, CblasNoTrans, f->n, m, times, f->Z, f->n, y, 1, 1, x, 1);
}

#define STEPS      30   // more are needed where changes are too much for the factor
#define DEAR       18.0 // operations of a factorization by entries of the factor that take as long as a step: beyond so
#define SOME       2    // many steps, and a few, it is made anew for the next iteration of Newton's method
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
    int m = f->n_borders;
    if (m > 0 && good)
    {
        cblas_dgemv(CblasColMajor, CblasTrans, n, m, 1, f->Z, n, r, 1, 0, y, 1);
        along_borders(island, 1, y, x);
        cblas_dgemv(CblasColMajor, CblasNoTrans, n, m, -1, f->HZ, n, y, 1, 1, r, 1);
    }
    int some = SOME + (int)(f->plan.flops / (DEAR * (double)f->shape.values));
    int most = f->changed && 2 * some < STEPS ? 2 * some : STEPS;
    for (int k = 0; k < most && good; k++)
    {
        precondition(f, r, z);
        if (m > 0)
            cblas_dgemv(CblasColMajor, CblasTrans, n, m, 1, f->HZ, n, z, 1, 0, y, 1);
        along_borders(island, -1, y, z);
        double next = cblas_ddot(n, r, 1, z, 1);
        for (int32_t i = 0; i < n; i++)
            p[i] = z[i] + (k == 0 ? 0 : next / rho * p[i]);
        rho = next;
        multiply_H(island, p, Hp);
        double curvature = cblas_ddot(n, p, 1, Hp, 1);
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
        {
            f->anew = f->changed && k >= some;
            return;
        }
    }
    f->exactly = f->exactly || (f->single && !f->changed);
    f->anew = true;
}
