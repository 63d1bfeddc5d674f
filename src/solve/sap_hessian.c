// SPDX-License-Identifier: Apache-2.0
// The Hessian A + J' G J of an island in supernodes: assembled, factored, solved with; see sap_plan.h.
#include "solve/envelope.h"
#include "solve/factor.h"
#include "solve/sap_plan.h"

#include <cblas.h>
#include <string.h>

#define LINKS_PIECE 256 // constraints of a task
#define SMALL       16  // unknowns of a supernode up to which a library's call costs more than it saves

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
    if (super->n <= SMALL && stride <= 3 * SMALL)
    {
        for (int32_t r = 0; r < rows; r++)
            for (int j = 0; j < super->n; j++)
            {
                const double *row = super->stacked + (int64_t)r * stride;
                double *column = super->panel + (int64_t)j * stride, f = row[j];
                for (int i = j; i < stride; i++)
                    column[i] += f * row[i];
            }
        return;
    }
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, super->n, rows, 1, super->stacked, stride, 1, super->panel,
                stride);
    if (super->m > 0)
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, super->m, super->n, rows, 1, super->stacked + super->n,
                    stride, super->stacked, stride, 1, super->panel + super->n, stride);
}

// T = G J and S of the constraints [begin, end).
static void prepare_links(void *context, int piece)
{
    tdSapIsland *island = context;
    int32_t end = (piece + 1) * LINKS_PIECE < island->n_links ? (piece + 1) * LINKS_PIECE : island->n_links;
    for (int32_t l = piece * LINKS_PIECE; l < end; l++)
    {
        tdSapLink *link = &island->links[l];
        const double *G = island->G + (int64_t)TD_SAP_ROWS * TD_SAP_ROWS * l;
        int rows = link->law->rows;
        link->idle = true;
        for (int i = 0; i < rows * rows; i++)
            link->idle = link->idle && G[i] == 0;
        if (link->idle)
            continue;
        root_of_G(rows, G, link->S);
        times_G(rows, link->patch.n, G, link->J, link->T);
    }
}

static void assemble(tdSapIsland *island, tdSapSuper *super, double shift)
{
    int64_t stride = super->n + super->m;
    memcpy(super->panel, super->base, (size_t)(stride * super->n) * sizeof *super->panel);
    int32_t rows = 0;
    for (int32_t p = 0; p < super->n_parts; p++)
    {
        const tdSapLink *link = &island->links[super->parts[2 * p]];
        const tdSapRun *run = &link->patch.runs[super->parts[2 * p + 1]];
        if (link->idle)
            continue;
        if (super->stacked != NULL)
            stack_run(super, &link->patch, run, link->law->rows, link->S, link->J, &rows);
        else
            scatter_run(super, &link->patch, run, link->law->rows, link->J, link->T);
    }
    if (rows > 0)
        add_stacked(super, rows);
    for (int32_t i = 0; i < super->n && shift > 0; i++)
        super->panel[i * (stride + 1)] *= 1 + shift;
}

// ---------------------------------------------------------------- small products

// U = P P', lower triangle, of the m rows below n columns.
static void square_below(int n, int m, const double *P, int stride, double *U)
{
    if (n > SMALL || m > 2 * SMALL)
    {
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, m, n, 1, P, stride, 0, U, m);
        return;
    }
    for (int j = 0; j < m; j++)
    {
        double *u = U + j * (int64_t)m;
        memset(u + j, 0, (size_t)(m - j) * sizeof *u);
        for (int k = 0; k < n; k++)
        {
            const double *p = P + k * (int64_t)stride;
            double f = p[j];
            for (int i = j; i < m; i++)
                u[i] += f * p[i];
        }
    }
}

// x = L^-1 x, and what the rows below take of it into `below`.
static void go_down(int n, int m, const double *L, int stride, double *x, double *below)
{
    if (n > SMALL)
    {
        cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, L, stride, x, 1);
        if (m > 0)
            cblas_dgemv(CblasColMajor, CblasNoTrans, m, n, 1, L + n, stride, x, 1, 0, below, 1);
        return;
    }
    for (int i = 0; i < m; i++)
        below[i] = 0;
    for (int j = 0; j < n; j++)
    {
        const double *l = L + j * (int64_t)stride;
        double f = x[j] /= l[j];
        for (int i = j + 1; i < n; i++)
            x[i] -= f * l[i];
        for (int i = 0; i < m; i++)
            below[i] += f * l[n + i];
    }
}

// x = L^-T (x - L_below' below)
static void go_up(int n, int m, const double *L, int stride, double *x, const double *below)
{
    if (n > SMALL)
    {
        if (m > 0)
            cblas_dgemv(CblasColMajor, CblasTrans, m, n, -1, L + n, stride, below, 1, 1, x, 1);
        cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, n, L, stride, x, 1);
        return;
    }
    for (int j = n - 1; j >= 0; j--)
    {
        const double *l = L + j * (int64_t)stride;
        double sum = x[j];
        for (int i = 0; i < m; i++)
            sum -= l[n + i] * below[i];
        for (int i = j + 1; i < n; i++)
            sum -= l[i] * x[i];
        x[j] = sum / l[j];
    }
}

// ---------------------------------------------------------------- factor

// Rows of `super` from `begin` on as rows of a supernode above it (its columns, then its rows).
static void relate(const tdSapSuper *super, int32_t begin, const tdSapSuper *above, int32_t *relative)
{
    int32_t k = 0;
    for (int32_t i = begin; i < super->m; i++)
    {
        if (super->rows[i] < above->first + above->n)
        {
            relative[i] = super->rows[i] - above->first;
            continue;
        }
        while (above->rows[k] != super->rows[i])
            k++;
        relative[i] = above->n + k;
    }
}

// Subtracts the update of a supernode from those above it in its tree; what is outside is kept for later.
static void update_above(tdSapIsland *island, const tdSapTree *tree, const tdSapSuper *super)
{
    int32_t m = super->m, t = (int32_t)(super - island->supers) + 1, begin = 0;
    const tdSapSuper *last = &island->supers[tree->last];
    int32_t *relative = tree->relative, limit = last->first + last->n;
    while (begin < m && super->rows[begin] < limit)
    {
        while (island->supers[t].first + island->supers[t].n <= super->rows[begin])
            t++; // ancestors have higher numbers, and rows ascend
        const tdSapSuper *above = &island->supers[t];
        int64_t stride = above->n + above->m;
        relate(super, begin, above, relative);
        for (; begin < m && super->rows[begin] < above->first + above->n; begin++)
        {
            double *column = above->panel + relative[begin] * stride;
            const double *u = tree->update + begin * (int64_t)m;
            for (int32_t i = begin; i < m; i++)
                column[relative[i]] -= u[i];
        }
    }
    if (begin == m)
        return;
    // Rows outside the tree are rows of its last supernode.
    for (int32_t i = begin, k = 0; i < m; i++)
    {
        while (last->rows[k] != super->rows[i])
            k++;
        relative[i] = k;
    }
    for (int32_t j = begin; j < m; j++)
    {
        double *column = tree->outside + relative[j] * (int64_t)last->m;
        const double *u = tree->update + j * (int64_t)m;
        for (int32_t i = j; i < m; i++)
            column[relative[i]] += u[i];
    }
}

static bool factor_super(tdSapIsland *island, const tdSapTree *tree, tdSapSuper *super)
{
    int n = super->n, m = super->m, stride = n + m;
    if (n == 0)
        return true;
    if (!td_factor_panel(n, stride, super->panel, stride))
        return false;
    if (m == 0)
        return true;
    square_below(n, m, super->panel + n, stride, tree->update);
    update_above(island, tree, super);
    return true;
}

typedef struct factorWork
{
    tdSapIsland *island;
    double shift;
} factorWork;

static void factor_tree(void *context, int k)
{
    const factorWork *work = context;
    tdSapTree *tree = &work->island->trees[k];
    int64_t m = work->island->supers[tree->last].m;
    memset(tree->outside, 0, (size_t)(m * m) * sizeof *tree->outside);
    for (int32_t s = tree->first; s <= tree->last; s++)
        assemble(work->island, &work->island->supers[s], work->shift);
    tree->failed = false;
    for (int32_t s = tree->first; s <= tree->last && !tree->failed; s++)
        tree->failed = !factor_super(work->island, tree, &work->island->supers[s]);
}

// Subtracts what a tree adds outside. Its root's rows are related as an update of the root would be.
static void join_tree(tdSapIsland *island, const tdSapTree *all, const tdSapTree *tree)
{
    const tdSapSuper *root = &island->supers[tree->last];
    tdSapTree whole = *all;
    whole.update = tree->outside;
    update_above(island, &whole, root);
}

void td_sap_prepare_links(tdSapIsland *island, tdTasks *tasks)
{
    td_parallel(tasks, td_pieces(island->n_links, LINKS_PIECE), prepare_links, island);
}

bool td_sap_factor(const tdSapProblem *problem, tdSapIsland *island, tdTasks *tasks, double shift)
{
    if (island->factor != NULL)
        return td_sap_sparse_factor(problem, island, tasks, shift);
    if (island->envelope != NULL)
        return td_sap_small_factor(island, shift);
    factorWork work = {island, shift};
    int32_t trees = island->n_trees - 1;
    const tdSapTree *all = &island->trees[trees];
    td_sap_prepare_links(island, tasks);
    td_parallel(tasks, trees, factor_tree, &work);
    for (int32_t k = 0; k < trees; k++)
        if (island->trees[k].failed)
            return false;
    for (int32_t s = 0; s < island->n_supers; s++)
        if (island->supers[s].tree < 0)
            assemble(island, &island->supers[s], shift);
    for (int32_t k = 0; k < trees; k++)
        join_tree(island, all, &island->trees[k]);
    for (int32_t s = 0; s < island->n_supers; s++)
        if (island->supers[s].tree < 0 && !factor_super(island, all, &island->supers[s]))
            return false;
    return true;
}

void td_sap_substitute(const tdSapIsland *island, const double *b, double *x)
{
    if (island->factor != NULL)
    {
        td_sap_sparse_substitute(island, b, x);
        return;
    }
    if (x != b)
        memcpy(x, b, (size_t)island->n * sizeof *x);
    if (island->envelope != NULL)
    {
        td_envelope_solve(island->envelope, x);
        return;
    }
    double *below = island->y; // as long as the rows of any supernode
    for (int32_t s = 0; s < island->n_supers; s++)
    {
        const tdSapSuper *super = &island->supers[s];
        int n = super->n, m = super->m, stride = n + m;
        go_down(n, m, super->panel, stride, x + super->first, below);
        for (int32_t i = 0; i < m; i++)
            x[super->rows[i]] -= below[i];
    }
    for (int32_t s = island->n_supers - 1; s >= 0; s--)
    {
        const tdSapSuper *super = &island->supers[s];
        int n = super->n, m = super->m, stride = n + m;
        for (int32_t i = 0; i < m; i++)
            below[i] = x[super->rows[i]];
        go_up(n, m, super->panel, stride, x + super->first, below);
    }
}
