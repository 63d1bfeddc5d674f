// SPDX-License-Identifier: Apache-2.0
// Numbers of the factor of an island with sparse blocks, H = A + J' G J, and solves with it as exact as they can be.
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

void td_sap_sparse_multiply_nodes(const tdSapIsland *island, const tdSapMember *member, const tdSapSparse *A,
                                  const double *x, double *y)
{
    int32_t n = member->patch.n;
    double *in = member->wide[0], *out = member->wide[1];
    for (int32_t i = 0; i < n; i++)
        in[A->coord[i]] = x[member->first + i];
    td_block_multiply(island->tasks, A->pattern, A->blocks, in, out, false);
    for (int32_t i = 0; i < n; i++)
        y[member->first + i] = out[A->coord[i]];
}

static void assemble(const tdSapProblem *problem, tdSapIsland *island, double shift)
{
    tdSapFactor *f = island->factor;
    int32_t entry = 0;
    memset(f->values, 0, (size_t)f->start[f->n] * sizeof *f->values);
    for (int32_t k = 0; k < island->n_members; k++)
    {
        const tdSapBlock *block = &problem->blocks[island->members[k].block];
        const tdSapSparse *sparse = block->sparse != NULL ? &island->members[k].plain : NULL;
        for (int32_t j = 0; j < block->n; j++)
            for (int32_t e = 0, count = td_sap_column_count(block, j); e < count; e++, entry++)
            {
                double a = sparse == NULL ? block->A[j + e + (int64_t)j * block->stride]
                                          : sparse->values[sparse->start[j] + e];
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

double td_sap_sparse_dot(const tdSapLink *link, const double *x)
{
    double sum = 0;
    for (int32_t i = 0; i < link->patch.n; i++)
        sum += link->J[i] * x[link->patch.at[i]];
    return sum;
}

void td_sap_sparse_add(const tdSapLink *link, double times, double *x)
{
    for (int32_t i = 0; i < link->patch.n; i++)
        x[link->patch.at[i]] += times * link->J[i];
}

// The same by the factor in single precision, and H_n x of it, which is not quite what was asked for.
static void solve_single(const tdSapIsland *island, tdTasks *tasks, int count, double *x, double *Hx)
{
    tdSapFactor *f = island->factor;
    for (int first = 0; first < count; first += TD_SUBSTITUTE_FLOATS)
    {
        const double *b[TD_SUBSTITUTE_FLOATS];
        double *to[TD_SUBSTITUTE_FLOATS];
        int n = count - first < TD_SUBSTITUTE_FLOATS ? count - first : TD_SUBSTITUTE_FLOATS;
        for (int j = 0; j < n; j++)
            b[j] = to[j] = x + (first + j) * (int64_t)f->n;
        td_substitute_columns(&f->columns, tasks, f->triangular.values, f->self, n, b, to);
    }
    for (int j = 0; j < count; j++)
        td_sap_sparse_multiply_narrow(f->problem, island, x + j * (int64_t)f->n, Hx + j * (int64_t)f->n);
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
        td_sap_sparse_add(link, 1, link->border);
    }
    int m = f->n_borders;
    if (f->single)
    {
        solve_single(island, tasks, m, f->Z, f->HnZ);
        return true; // what they do is found by iterations
    }
    solve(f, tasks, m, f->Z);
    for (int j = 0; j < m; j++)
        for (int i = j; i < m; i++)
            f->C[i + j * m] = td_sap_sparse_dot(&island->links[f->borders[i]], island->links[f->borders[j]].border) +
                              (i == j ? 1 / td_sap_sparse_slope(island, f->borders[i]) : 0);
    if (m > 0)
        dpotrf_("L", &m, f->C, &m, &info, 1);
    return info == 0;
}

// ---------------------------------------------------------------- factor

#define LEAST_SINGLE 1e7 // operations of a factor that is worth being made in single precision

// Contacts give way by a thousandth of what their bodies do, at least: single precision sees the bodies beside them.
// Welds and stops are a million times as stiff.
static bool may_be_single(const tdSapFactor *f, const tdSapIsland *island)
{
    if (f->exactly || f->plan.flops < LEAST_SINGLE)
        return false;
    for (int32_t k = 0; k < island->n_members; k++)
        if (f->problem->blocks[island->members[k].block].exactly)
            return false;
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapLink *link = &island->links[l];
        bool gives_way = link->law->kind == TD_SAP_CONTACT || link->law->kind == TD_SAP_TURNING;
        if (!link->idle && !td_sap_is_wide(link) && !gives_way)
            return false;
    }
    return true;
}

static bool make_single(tdSapFactor *f, tdTasks *tasks)
{
    f->stack->grown = f->stack->grown || f->plan.room > f->work_single_room;
    return td_grow((void **)&f->work_single, &f->work_single_room, f->plan.room, sizeof *f->work_single) &&
           td_factor_fill_single(&f->plan, tasks, f->values, f->work_single, f->triangular.values);
}

bool td_sap_sparse_factor(const tdSapProblem *problem, tdSapIsland *island, tdTasks *tasks, double shift)
{
    tdSapFactor *f = island->factor;
    f->tasks = tasks;
    td_sap_prepare_links(island, tasks);
    f->changed = shift == 0 && td_sap_sparse_change(f, island);
    f->changes += f->changed;
    if (f->changed)
        return true;
    assemble(problem, island, shift);
    f->single = shift == 0 && may_be_single(f, island) && make_single(f, tasks);
    f->singles += f->single;
    bool good =
        (f->single || td_factor_numbers(&f->plan, tasks, f->values, f->work, f->factor)) && make_borders(island, tasks);
    f->based = good && shift == 0;
    f->rounded = f->single;
    td_sap_sparse_forget(f);
    f->anew = false;
    memcpy(f->G, island->G, (size_t)island->n_links * TD_SAP_ROWS * TD_SAP_ROWS * sizeof *f->G);
    return good;
}

void td_sap_sparse_renew(tdSapIsland *island)
{
    if (island->factor != NULL)
        island->factor->anew = island->factor->exactly = true;
}

// x += H^-1 r; r is used up.
static void correct(const tdSapIsland *island, double *r, double *x)
{
    tdSapFactor *f = island->factor;
    int m = f->n_borders, one = 1, info = 0;
    double *y = f->small;
    solve(f, NULL, 1, r);
    for (int k = 0; k < m; k++)
        y[k] = td_sap_sparse_dot(&island->links[f->borders[k]], r);
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
    // A shift is not part of H.
    if (f->changed || f->single || (island->accuracy > 0 && f->based))
    {
        td_sap_sparse_iterate(island, b, x);
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
        td_sap_sparse_add(link, td_sap_sparse_slope(island, f->borders[k]) * td_sap_sparse_dot(link, x), r);
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
