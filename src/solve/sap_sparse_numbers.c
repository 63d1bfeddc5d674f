// SPDX-License-Identifier: Apache-2.0
// Numbers of the factor of an island with sparse blocks.
//
//     H = A + J' G J
//
// From one iteration of Newton's method to the next G changes at a few points only: those that begin or cease to touch,
// to stick or to slide. The factor of the first iteration then does for the others, with the change as one of low rank
// on the places p of these points,
//
//     H = H_0 + U D U',   U = [J_b' E],   D = [G_b         ]      b: borders, E: unit vectors of p
//                                             [    J' dG J ]
//     H^-1 = H_0^-1 - H_0^-1 U (1 + D W)^-1 D U' H_0^-1,   W = U' H_0^-1 U
//
// W over p is made along the paths of the elimination tree from p to its root (schur_tree.h), which costs a small part
// of a factorization; where counts of operations say otherwise, the factor is made anew. Points of which G has changed
// by little are left to conjugate gradients on H, for which all of that is the preconditioner.
#include "base/lapack.h"
#include "solve/sap_sparse.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void td_sap_sparse_multiply(const tdSapSparse *A, int32_t n, const double *x, double *y)
{
    memset(y, 0, (size_t)n * sizeof *y);
    for (int32_t j = 0; j < n; j++)
    {
        int32_t k = A->start[j];
        double sum = A->values[A->source != NULL ? A->source[k] : k] * x[j];
        for (k++; k < A->start[j + 1]; k++)
        {
            double a = A->values[A->source != NULL ? A->source[k] : k];
            sum += a * x[A->row[k]];
            y[A->row[k]] += a * x[j];
        }
        y[j] += sum;
    }
}

static void assemble(const tdSapProblem *problem, tdSapIsland *island, double shift)
{
    tdSapFactor *f = island->factor;
    int32_t entry = 0;
    memset(f->values, 0, (size_t)f->start[f->n] * sizeof *f->values);
    for (int32_t k = 0; k < island->n_members; k++)
    {
        const tdSapBlock *block = &problem->blocks[island->members[k].block];
        const tdSapSparse *sparse = block->sparse;
        for (int32_t j = 0; j < block->n; j++)
            for (int32_t e = 0, count = td_sap_column_count(block, j); e < count; e++, entry++)
            {
                int32_t at = sparse != NULL ? sparse->start[j] + e : 0;
                double a = sparse == NULL           ? block->A[j + e + (int64_t)j * block->stride]
                           : sparse->source != NULL ? sparse->values[sparse->source[at]]
                                                    : sparse->values[at];
                f->values[f->from[entry]] += e == 0 ? (1 + shift) * a : a;
            }
    }
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapLink *link = &island->links[l];
        int32_t n = link->patch.n, k = 0;
        if (link->idle || link->entry == NULL)
            continue;
        for (int32_t j = 0; j < n; j++)
            for (int32_t i = j; i < n; i++, k++)
                for (int r = 0; r < link->law->rows; r++)
                    f->values[link->entry[k]] += link->J[r * (int64_t)n + i] * link->T[r * (int64_t)n + j];
    }
}

// x = H_n^-1 x for `count` columns, one after the other
static void solve(tdSapFactor *f, tdTasks *tasks, int count, double *x)
{
    tdSubstituteTask task = {.values = f->factor->x, .b = x, .x = x, .more = count - 1, .stride = f->n};
    task.more_b = task.more_x = x + f->n;
    if (count > 0)
        td_substitute(&f->substitution, tasks, &task);
}

static double dot_row(const tdSapLink *link, const double *x)
{
    double sum = 0;
    for (int32_t i = 0; i < link->patch.n; i++)
        sum += link->J[i] * x[link->patch.at[i]];
    return sum;
}

static void add_row(const tdSapLink *link, double times, double *x)
{
    for (int32_t i = 0; i < link->patch.n; i++)
        x[link->patch.at[i]] += times * link->J[i];
}

static double slope_of(const tdSapIsland *island, int32_t l)
{
    return island->G[(int64_t)TD_SAP_ROWS * TD_SAP_ROWS * l];
}

static bool make_borders(tdSapIsland *island, tdTasks *tasks)
{
    tdSapFactor *f = island->factor;
    int info = 0;
    f->n_borders = 0;
    for (int32_t l = 0; l < island->n_links; l++)
    {
        tdSapLink *link = &island->links[l];
        link->border = NULL;
        if (link->idle || !td_sap_is_wide(link))
            continue;
        if (f->n_borders == TD_SAP_BORDERS)
            return false;
        link->border = f->Z + f->n_borders * (int64_t)f->n;
        f->borders[f->n_borders++] = l;
        memset(link->border, 0, (size_t)f->n * sizeof *f->r);
        add_row(link, 1, link->border);
    }
    solve(f, tasks, f->n_borders, f->Z);
    int m = f->n_borders;
    for (int j = 0; j < m; j++)
        for (int i = j; i < m; i++)
            f->C[i + j * m] = dot_row(&island->links[f->borders[i]], island->links[f->borders[j]].border) +
                              (i == j ? 1 / slope_of(island, f->borders[i]) : 0);
    if (m > 0)
        dpotrf_("L", &m, f->C, &m, &info, 1);
    return info == 0;
}

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

// D over borders, then places.
static void fill_D(tdSapFactor *f, const tdSapIsland *island, int q)
{
    memset(f->D, 0, (size_t)q * (size_t)q * sizeof *f->D);
    for (int k = 0; k < f->n_borders; k++)
        f->D[k + k * q] = slope_of(island, f->borders[k]);
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
                    double *column = f->D + (int64_t)(f->n_borders + f->mark[link->patch.at[j]]) * q + f->n_borders;
                    double times = d * link->J[s * (int64_t)n + j];
                    for (int32_t i = 0; i < n; i++)
                        column[f->mark[link->patch.at[i]]] += link->J[r * (int64_t)n + i] * times;
                }
            }
    }
}

// W over borders, then places; those of places are there already, as a triangle of their own.
static void fill_W(tdSapFactor *f, const tdSapIsland *island, const double *triangle, int q)
{
    int m = f->n_borders, n = f->n_places;
    for (int j = 0; j < m; j++)
    {
        const double *Z = island->links[f->borders[j]].border;
        for (int i = 0; i < m; i++)
            f->W[i + j * q] = dot_row(&island->links[f->borders[i]], Z);
        for (int i = 0; i < n; i++)
            f->W[m + i + j * q] = f->W[j + (int64_t)(m + i) * q] = Z[f->at[i]];
    }
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++)
            f->W[m + i + (int64_t)(m + j) * q] = f->W[m + j + (int64_t)(m + i) * q] = triangle[i + (int64_t)j * n];
}

static bool make_room(tdSapFactor *f, int q)
{
    int64_t need = 3 * (int64_t)q * q + q;
    if (need > f->small_room || q > f->pivot_room)
        f->stack->grown = true;
    if (!td_grow((void **)&f->change_room, &f->small_room, need, sizeof *f->D) ||
        !td_grow((void **)&f->pivots, &f->pivot_room, q, sizeof *f->pivots))
        return false;
    f->D = f->change_room;
    f->W = f->D + (int64_t)q * q;
    f->LU = f->W + (int64_t)q * q;
    f->y = f->LU + (int64_t)q * q;
    return true;
}

// H by what has changed since the factor was made. False: that does not pay.
static bool change(tdSapFactor *f, const tdSapIsland *island)
{
    double flops = 0, square = 0;
    tdError error;
    int info = 0;
    if (!f->based || f->anew || !list_changes(f, island))
        return false;
    int n = f->n_places, q = f->n_borders + n;
    if (q == 0)
        return true; // nothing that counts
    td_schur_tree_visit(&f->tree, n, f->places, &flops, &square);
    double solves = 8.0 * (double)f->shape.values, dense = 8.0 / 3 * (double)q * q * q;
    if (flops + square + dense + solves > WORTH * f->plan.flops || !make_room(f, q))
        return false;
    int64_t Z_room = f->tree.Z_room, update_room = f->tree.update_room;
    if (td_schur_tree_square(&f->tree, n, f->places, f->LU, &error) != TD_OK)
        return false;
    f->stack->grown = f->stack->grown || f->tree.Z_room != Z_room || f->tree.update_room != update_room;
    fill_W(f, island, f->LU, q);
    fill_D(f, island, q);
    cblas_dsymm(CblasColMajor, CblasLeft, CblasLower, q, q, 1, f->D, q, f->W, q, 0, f->LU, q);
    for (int i = 0; i < q; i++)
        f->LU[i + (int64_t)i * q] += 1;
    dgetrf_(&q, &q, f->LU, &q, f->pivots, &info);
    return info == 0;
}

// Between the two halves of a solve: y = (1 + D W)^-1 D U' H_0^-1 r, of which borders are subtracted at the end.
static void subtract_changes(void *context, int lanes, double *rows)
{
    tdSapFactor *f = context;
    int m = f->n_borders, q = m + f->n_places, one = 1, info = 0;
    double *t = f->W; // which is not needed any more, but for what stands there of borders
    td_schur_tree_gather(&f->tree, f->n_places, lanes, rows, t + m);
    cblas_dsymv(CblasColMajor, CblasLower, q, 1, f->D, q, t, 1, 0, f->y, 1);
    dgetrs_("N", &q, &one, f->LU, &q, f->pivots, f->y, &q, &info, 1);
    td_schur_tree_scatter(&f->tree, lanes, f->y + m, rows);
}

// r = H^-1 r, but for changes that are small.
static void correct_changed(const tdSapIsland *island, double *r)
{
    tdSapFactor *f = island->factor;
    int m = f->n_borders;
    for (int k = 0; k < m; k++) // J H_0^-1 r
        f->W[k] = cblas_ddot(f->n, island->links[f->borders[k]].border, 1, r, 1);
    tdSubstituteTask task = {.values = f->factor->x, .b = r, .x = r, .context = f};
    task.between = m + f->n_places > 0 ? subtract_changes : NULL;
    td_substitute(&f->substitution, NULL, &task);
    for (int k = 0; k < m; k++)
        cblas_daxpy(f->n, -f->y[k], island->links[f->borders[k]].border, 1, r, 1);
}

// y = H x
static void multiply_H(const tdSapIsland *island, const double *x, double *y)
{
    td_sap_multiply_A(island->factor->problem, island, x, y);
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapLink *link = &island->links[l];
        const double *G = island->G + (int64_t)TD_SAP_ROWS * TD_SAP_ROWS * l;
        int32_t n = link->patch.n;
        int rows = link->law->rows;
        double v[TD_SAP_ROWS] = {0};
        for (int r = 0; r < rows && !link->idle; r++)
            for (int32_t i = 0; i < n; i++)
                v[r] += link->J[r * (int64_t)n + i] * x[link->patch.at[i]];
        for (int r = 0; r < rows && !link->idle; r++)
        {
            double g = 0;
            for (int s = 0; s < rows; s++)
                g += G[r * rows + s] * v[s];
            for (int32_t i = 0; i < n; i++)
                y[link->patch.at[i]] += link->J[r * (int64_t)n + i] * g;
        }
    }
}

static double largest(const tdSapIsland *island, const double *r)
{
    double size = 0;
    for (int32_t i = 0; i < island->n; i++)
        size = fmax(size, island->scale[i] * fabs(r[i]));
    return size;
}

static double product(int32_t n, const double *a, const double *b)
{
    double sum = 0;
    for (int32_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

#define STEPS      20   // of conjugate gradients; more are needed where changes are too much for the factor
#define LEFT_SMALL 1e-6 // of the right-hand side

// x = H^-1 b. Where steps do not do, x leads downhill still, and the next factor is made anew.
static void iterate(const tdSapIsland *island, const double *b, double *x)
{
    tdSapFactor *f = island->factor;
    double *r = f->r, *z = island->y, *p = f->p, *Hp = f->Hp, rho = 0;
    int32_t n = f->n;
    memcpy(r, b, (size_t)n * sizeof *r);
    memset(x, 0, (size_t)n * sizeof *x);
    double target = LEFT_SMALL * largest(island, r);
    for (int k = 0; k < STEPS; k++)
    {
        memcpy(z, r, (size_t)n * sizeof *z);
        correct_changed(island, z);
        double next = product(n, r, z);
        for (int32_t i = 0; i < n; i++)
            p[i] = z[i] + (k == 0 ? 0 : next / rho * p[i]);
        rho = next;
        multiply_H(island, p, Hp);
        double curvature = product(n, p, Hp);
        if (!(curvature > 0) || !(rho > 0))
            break;
        double length = rho / curvature;
        for (int32_t i = 0; i < n; i++)
        {
            x[i] += length * p[i];
            r[i] -= length * Hp[i];
        }
        if (largest(island, r) <= target)
            return;
    }
    f->anew = true;
}

// ---------------------------------------------------------------- factor

bool td_sap_sparse_factor(const tdSapProblem *problem, tdSapIsland *island, tdTasks *tasks, double shift)
{
    tdSapFactor *f = island->factor;
    td_sap_prepare_links(island, tasks);
    f->changed = shift == 0 && change(f, island);
    f->changes += f->changed;
    if (f->changed)
        return true;
    assemble(problem, island, shift);
    bool good = td_factor_numbers(&f->plan, tasks, f->values, f->work, f->factor) && make_borders(island, tasks);
    f->based = good && shift == 0;
    f->anew = false;
    memcpy(f->G, island->G, (size_t)island->n_links * TD_SAP_ROWS * TD_SAP_ROWS * sizeof *f->G);
    return good;
}

void td_sap_sparse_renew(tdSapIsland *island)
{
    if (island->factor != NULL)
        island->factor->anew = true;
}

// x += H^-1 r; r is used up.
static void correct(const tdSapIsland *island, double *r, double *x)
{
    tdSapFactor *f = island->factor;
    int m = f->n_borders, one = 1, info = 0;
    double *y = f->small;
    solve(f, NULL, 1, r);
    for (int k = 0; k < m; k++)
        y[k] = dot_row(&island->links[f->borders[k]], r);
    if (m > 0)
        dpotrs_("L", &m, &one, f->C, &m, y, &m, &info, 1);
    for (int32_t i = 0; i < f->n; i++)
        x[i] += r[i];
    for (int k = 0; k < m; k++)
        for (int32_t i = 0; i < f->n; i++)
            x[i] -= y[k] * island->links[f->borders[k]].border[i];
}

// Near-rigid rows are so stiff that rounding in x would be much of their effort: what is left is looked at, and solved
// for once more where it is worth it.
#define LEFT 1e-10

void td_sap_sparse_substitute(const tdSapIsland *island, const double *b, double *x)
{
    tdSapFactor *f = island->factor;
    if (f->changed)
    {
        iterate(island, b, x);
        return;
    }
    double *r = f->r, *right = island->y, size = 0, left = 0;
    memcpy(right, b, (size_t)f->n * sizeof *b);
    memcpy(r, b, (size_t)f->n * sizeof *b);
    memset(x, 0, (size_t)f->n * sizeof *x);
    correct(island, r, x);
    tdSapSparse H = {.start = f->start, .row = f->row, .values = f->values};
    td_sap_sparse_multiply(&H, f->n, x, r);
    for (int k = 0; k < f->n_borders; k++)
    {
        const tdSapLink *link = &island->links[f->borders[k]];
        add_row(link, slope_of(island, f->borders[k]) * dot_row(link, x), r);
    }
    for (int32_t i = 0; i < f->n; i++)
    {
        r[i] = right[i] - r[i];
        size = fmax(size, island->scale[i] * fabs(right[i]));
        left = fmax(left, island->scale[i] * fabs(r[i]));
    }
    if (left > LEFT * size)
        correct(island, r, x);
}
