// SPDX-License-Identifier: Apache-2.0
// The Hessian A + J' G J of an island in supernodes: assembled, factored, solved with; see sap_plan.h.
#include "base/lapack.h"
#include "solve/sap_plan.h"

#include <cblas.h>
#include <string.h>

// ---------------------------------------------------------------- assembly

// T = G J, rows x n.
static void times_G(int rows, int32_t n, const double *G, const double *J, double *T)
{
    for (int r = 0; r < rows; r++)
    {
        double *t = T + r * (int64_t)n;
        memset(t, 0, (size_t)n * sizeof *t);
        for (int s = 0; s < rows; s++)
            if (G[r * rows + s] != 0)
                for (int32_t j = 0; j < n; j++)
                    t[j] += G[r * rows + s] * J[s * (int64_t)n + j];
    }
}

// panel += J' G J on one run. T = G J.
static void scatter_run(const tdSapSuper *super, const tdSapPatch *patch, const tdSapRun *run, int rows,
                        const double *J, const double *T)
{
    int64_t stride = super->n + super->m, n = patch->n;
    for (int32_t j = run->begin; j < run->end; j++)
    {
        double *column = super->panel + (patch->at[j] - super->first) * stride;
        const int32_t *row = run->row - run->begin;
        if (rows == 3)
        {
            double t0 = T[j], t1 = T[n + j], t2 = T[2 * n + j];
            for (int32_t i = j; i < n; i++)
                column[row[i]] += J[i] * t0 + J[n + i] * t1 + J[2 * n + i] * t2;
        }
        else
            for (int r = 0; r < rows; r++)
                for (int32_t i = j; i < n; i++)
                    column[row[i]] += J[r * n + i] * T[r * n + j];
    }
}

// S with S' S = G, for G positive semi-definite: a Cholesky factor whose pivots may vanish.
static void root_of_G(int n, const double *G, double *S)
{
    memset(S, 0, (size_t)(n * n) * sizeof *S);
    for (int k = 0; k < n; k++)
    {
        double pivot = G[k * n + k];
        for (int i = 0; i < k; i++)
            pivot -= S[i * n + k] * S[i * n + k];
        // What is left of a vanished pivot is rounding, and so is its row.
        if (!(pivot > 1e-15 * G[k * n + k]))
            continue;
        S[k * n + k] = sqrt(pivot);
        for (int j = k + 1; j < n; j++)
        {
            double sum = G[k * n + j];
            for (int i = 0; i < k; i++)
                sum -= S[i * n + k] * S[i * n + j];
            S[k * n + j] = sum / S[k * n + k];
        }
    }
}

// Rows S J of one constraint on a run, below those that are there.
static void stack_run(tdSapSuper *super, const tdSapPatch *patch, const tdSapRun *run, int rows, const double *S,
                      const double *J, int32_t *filled)
{
    int64_t width = super->n + super->m, n = patch->n;
    for (int r = 0; r < rows; r++)
    {
        double *to = super->stacked + (*filled + r) * width;
        memset(to, 0, (size_t)width * sizeof *to);
        for (int s = r; s < rows; s++)
            if (S[r * rows + s] != 0)
                for (int32_t i = run->begin; i < n; i++)
                    to[run->row[i - run->begin]] += S[r * rows + s] * J[s * n + i];
    }
    *filled += rows;
}

// panel += stacked' stacked
static void add_stacked(tdSapSuper *super, int32_t rows)
{
    int stride = super->n + super->m;
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, super->n, rows, 1, super->stacked, stride, 1, super->panel,
                stride);
    if (super->m > 0)
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, super->m, super->n, rows, 1, super->stacked + super->n,
                    stride, super->stacked, stride, 1, super->panel + super->n, stride);
}

static bool is_zero(const double *G, int n)
{
    for (int i = 0; i < n; i++)
        if (G[i] != 0)
            return false;
    return true;
}

static void assemble(tdSapIsland *island, double shift)
{
    for (int32_t s = 0; s < island->n_supers; s++)
    {
        tdSapSuper *super = &island->supers[s];
        int64_t stride = super->n + super->m;
        memcpy(super->panel, super->base, (size_t)(stride * super->n) * sizeof *super->panel);
        super->n_stacked = 0;
    }
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapLink *link = &island->links[l];
        const double *G = island->G + (int64_t)TD_SAP_ROWS * TD_SAP_ROWS * l;
        int rows = link->law->rows;
        if (is_zero(G, rows * rows))
            continue;
        double S[TD_SAP_ROWS * TD_SAP_ROWS];
        root_of_G(rows, G, S);
        times_G(rows, link->patch.n, G, link->J, link->T);
        for (int32_t k = 0; k < link->patch.n_runs; k++)
        {
            const tdSapRun *run = &link->patch.runs[k];
            tdSapSuper *super = &island->supers[run->super];
            if (super->stacked != NULL)
                stack_run(super, &link->patch, run, rows, S, link->J, &super->n_stacked);
            else
                scatter_run(super, &link->patch, run, rows, link->J, link->T);
        }
    }
    for (int32_t s = 0; s < island->n_supers; s++)
    {
        tdSapSuper *super = &island->supers[s];
        if (super->n_stacked > 0)
            add_stacked(super, super->n_stacked);
        for (int32_t i = 0; i < super->n && shift > 0; i++)
            super->panel[i * (int64_t)(super->n + super->m + 1)] *= 1 + shift;
    }
}

// ---------------------------------------------------------------- factor

// Subtracts the update of s from the supernodes that own its rows.
static void update_above(tdSapIsland *island, const tdSapSuper *super)
{
    int32_t m = super->m, t = 0;
    for (int32_t begin = 0, end = 0; begin < m; begin = end)
    {
        // Ancestors have higher numbers, and rows ascend.
        for (t = t > 0 ? t : (int32_t)(super - island->supers) + 1;
             island->supers[t].first + island->supers[t].n <= super->rows[begin];)
            t++;
        const tdSapSuper *above = &island->supers[t];
        int32_t *relative = island->relative, k = 0;
        int64_t stride = above->n + above->m;
        for (end = begin; end < m && super->rows[end] < above->first + above->n; end++)
            relative[end] = super->rows[end] - above->first;
        for (int32_t i = end; i < m; i++)
        {
            while (above->rows[k] != super->rows[i])
                k++;
            relative[i] = above->n + k;
        }
        for (int32_t j = begin; j < end; j++)
        {
            double *column = above->panel + relative[j] * stride;
            const double *u = island->update + j * (int64_t)m;
            for (int32_t i = j; i < m; i++)
                column[relative[i]] -= u[i];
        }
    }
}

bool td_sap_factor(tdSapIsland *island, double shift)
{
    assemble(island, shift);
    for (int32_t s = 0; s < island->n_supers; s++)
    {
        tdSapSuper *super = &island->supers[s];
        int n = super->n, m = super->m, stride = n + m, info = 0;
        if (n == 0)
            continue;
        dpotrf_("L", &n, super->panel, &stride, &info, 1);
        if (info != 0)
            return false;
        if (m == 0)
            continue;
        cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, m, n, 1, super->panel, stride,
                    super->panel + n, stride);
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, m, n, 1, super->panel + n, stride, 0, island->update, m);
        update_above(island, super);
    }
    return true;
}

void td_sap_substitute(const tdSapIsland *island, const double *b, double *x)
{
    if (x != b)
        memcpy(x, b, (size_t)island->n * sizeof *x);
    double *below = island->update; // at least as long as the rows of any supernode
    for (int32_t s = 0; s < island->n_supers; s++)
    {
        const tdSapSuper *super = &island->supers[s];
        int n = super->n, m = super->m, stride = n + m;
        cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, super->panel, stride, x + super->first,
                    1);
        if (m == 0)
            continue;
        cblas_dgemv(CblasColMajor, CblasNoTrans, m, n, 1, super->panel + n, stride, x + super->first, 1, 0, below, 1);
        for (int32_t i = 0; i < m; i++)
            x[super->rows[i]] -= below[i];
    }
    for (int32_t s = island->n_supers - 1; s >= 0; s--)
    {
        const tdSapSuper *super = &island->supers[s];
        int n = super->n, m = super->m, stride = n + m;
        if (m > 0)
        {
            for (int32_t i = 0; i < m; i++)
                below[i] = x[super->rows[i]];
            cblas_dgemv(CblasColMajor, CblasTrans, m, n, -1, super->panel + n, stride, below, 1, 1, x + super->first,
                        1);
        }
        cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, n, super->panel, stride, x + super->first, 1);
    }
}
