// SPDX-License-Identifier: Apache-2.0
#include "solve/dual.h"

#include "base/lapack.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

#define TILE      16
#define MOST_ROWS 12000 // W is dense: 1.2 GB

void td_dual_free(tdDual *dual)
{
    free(dual->first);
    free(dual->W);
    free(dual->b);
    free(dual->laws);
    free(dual->S);
    free(dual->Y);
    free(dual->L);
    free(dual->p);
    free(dual->row);
    *dual = (tdDual){0};
}

static tdStatus make_room(tdDual *dual, const tdSapProblem *problem, tdError *error)
{
    int64_t rows = dual->n, most = 0;
    for (int32_t b = 0; b < problem->n_blocks; b++)
        most = problem->blocks[b].n > most ? problem->blocks[b].n : most;
    if (rows > MOST_ROWS)
        return td_fail(error, TD_ERROR_NUMERIC,
                       "%d rows are too many for the solver nlcp, which supports %d at most; use 'solver: sap'",
                       dual->n, MOST_ROWS);
    bool good = td_grow((void **)&dual->W, &dual->W_room, rows * rows, sizeof *dual->W) &&
                td_grow((void **)&dual->S, &dual->S_room, rows * rows, sizeof *dual->S) &&
                td_grow((void **)&dual->Y, &dual->Y_room, most * rows, sizeof *dual->Y) &&
                td_grow((void **)&dual->L, &dual->L_room, most * most, sizeof *dual->L) &&
                td_grow((void **)&dual->p, &dual->p_room, most, sizeof *dual->p) &&
                td_grow((void **)&dual->b, &dual->b_room, 3 * rows, sizeof *dual->b) &&
                td_grow((void **)&dual->row, &dual->row_room, rows, sizeof *dual->row);
    if (!good)
        return td_fail_memory(error, "the dual of the constraint problem");
    dual->gamma = dual->b + rows;
    dual->velocity = dual->gamma + rows;
    return TD_OK;
}

// Lower Cholesky factor of a block: the one that is known, or made into L.
static tdStatus factor(const tdDual *dual, const tdSapProblem *problem, const double *const *factors, int b,
                       const double **out, tdError *error)
{
    const tdSapBlock *block = &problem->blocks[b];
    int n = block->n, info = 0;
    double *L = dual->L;
    *out = factors != NULL && factors[b] != NULL ? factors[b] : L;
    if (*out != L)
        return TD_OK;
    for (int j = 0; j < n; j++)
        memcpy(L + j + j * (int64_t)n, block->A + j + j * (int64_t)block->stride, (size_t)(n - j) * sizeof *L);
    dpotrf_("L", &n, L, &n, &info, 1);
    if (info == 0)
        return TD_OK;
    return td_fail(error, TD_ERROR_NUMERIC,
                   "block %d of the constraint problem is not positive definite; use a smaller time_step", b);
}

// Rows of the constraints that act on a block, as columns of Y; returns how many, which ones into row.
static int gather(const tdDual *dual, const tdSapProblem *problem, int b)
{
    int64_t n = problem->blocks[b].n;
    int count = 0;
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        const tdSapConstraint *constraint = &problem->constraints[c];
        int rows = constraint->law.rows;
        bool acts = false;
        for (int s = 0; s < constraint->sides && dual->first[c] >= 0; s++)
        {
            const tdSapSide *side = &constraint->side[s];
            if (side->block != b)
                continue;
            if (!acts)
                memset(dual->Y + count * n, 0, (size_t)(rows * n) * sizeof *dual->Y);
            acts = true;
            for (int r = 0; r < rows; r++)
                for (int32_t j = 0; j < side->count; j++)
                    dual->Y[(count + r) * n + (side->columns != NULL ? side->columns[j] : j)] +=
                        side->J[r * side->count + j];
        }
        for (int r = 0; acts && r < rows; r++)
            dual->row[count + r] = dual->first[c] + r;
        count += acts ? rows : 0;
    }
    return count;
}

// W += Y'Y and b += J v* of one block.
static tdStatus add_block(tdDual *dual, const tdSapProblem *problem, const double *const *factors, int b,
                          tdError *error)
{
    const tdSapBlock *block = &problem->blocks[b];
    int n = block->n, count = gather(dual, problem, b);
    const double *L = NULL;
    if (count == 0)
        return TD_OK;
    for (int i = 0; i < count; i++)
        dual->b[dual->row[i]] += cblas_ddot(n, dual->Y + i * (int64_t)n, 1, block->v_star, 1);
    TD_TRY(factor(dual, problem, factors, b, &L, error));
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, n, count, 1, L, n, dual->Y, n);
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, count, n, 1, dual->Y, n, 0, dual->S, count);
    // By tiles, of which rows and columns stay in the cache.
    for (int left = 0; left < count; left += TILE)
        for (int top = left; top < count; top += TILE)
            for (int j = left; j < left + TILE && j < count; j++)
                for (int i = top > j ? top : j; i < top + TILE && i < count; i++)
                {
                    double value = dual->S[i + j * (int64_t)count];
                    dual->W[dual->row[i] * (int64_t)dual->n + dual->row[j]] += value;
                    if (i != j)
                        dual->W[dual->row[j] * (int64_t)dual->n + dual->row[i]] += value;
                }
    return TD_OK;
}

tdStatus td_dual_make(tdDual *dual, const tdSapProblem *problem, const double *const *factors, const bool *touched,
                      tdError *error)
{
    dual->n = 0;
    if (!td_grow((void **)&dual->first, &dual->first_room, problem->n_constraints, sizeof *dual->first) ||
        !td_grow((void **)&dual->laws, &dual->law_room, problem->n_constraints, sizeof *dual->laws))
        return td_fail_memory(error, "the dual of the constraint problem");
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        bool in = touched == NULL || touched[c];
        dual->first[c] = in ? dual->n : -1;
        dual->n += in ? problem->constraints[c].law.rows : 0;
    }
    TD_TRY(make_room(dual, problem, error));
    size_t rows = (size_t)dual->n;
    if (rows == 0)
        return TD_OK;
    memset(dual->W, 0, rows * rows * sizeof *dual->W);
    memset(dual->b, 0, rows * sizeof *dual->b);
    for (int32_t b = 0; b < problem->n_blocks; b++)
        TD_TRY(add_block(dual, problem, factors, b, error));
    return TD_OK;
}

tdStatus td_dual_move(tdDual *dual, const tdSapProblem *problem, const double *const *factors, const double *gamma,
                      tdError *error)
{
    for (int32_t b = 0; b < problem->n_blocks; b++)
    {
        const tdSapBlock *block = &problem->blocks[b];
        const double *L = NULL;
        double *p = dual->p;
        int n = block->n;
        bool acts = false;
        memset(p, 0, (size_t)n * sizeof *p);
        for (int32_t c = 0; c < problem->n_constraints; c++)
            for (int s = 0; s < problem->constraints[c].sides && dual->first[c] >= 0; s++)
            {
                const tdSapSide *side = &problem->constraints[c].side[s];
                acts = acts || side->block == b;
                for (int r = 0; side->block == b && r < problem->constraints[c].law.rows; r++)
                    for (int32_t j = 0; j < side->count; j++)
                        p[side->columns != NULL ? side->columns[j] : j] +=
                            side->J[r * side->count + j] * gamma[dual->first[c] + r];
            }
        if (acts)
        {
            TD_TRY(factor(dual, problem, factors, b, &L, error));
            cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, L, n, p, 1);
            cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, n, L, n, p, 1);
        }
        for (int i = 0; i < n; i++)
            block->v[i] = block->v_star[i] + p[i];
    }
    return TD_OK;
}
