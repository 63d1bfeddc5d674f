// SPDX-License-Identifier: Apache-2.0
// The other solver of a step: Coulomb's law as it is, on impulses alone (solve/nlcp.h).
//
//     W = sum over blocks of Y'Y,   Y = L^-1 J'        A = L L' of each block
//     v = v* + A^-1 J' gamma
//
// The convex problem's compliance of the tangents is a matter of its own and left out: what sticks does not creep. Each
// step starts from no impulses, so that it depends on the state alone.
#include "contact/contact.h"

#include "base/lapack.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 12000 // W is dense: 1.2 GB

static tdStatus make_room(tdContactState *cs, const tdSapProblem *problem, int rows, tdError *error)
{
    tdContactNlcp *mine = &cs->nlcp;
    int64_t most = 0;
    for (int32_t b = 0; b < problem->n_blocks; b++)
        most = problem->blocks[b].n > most ? problem->blocks[b].n : most;
    if (rows > MOST_ROWS)
        return td_fail(error, TD_ERROR_NUMERIC,
                       "%d rows are too many for the solver nlcp, which takes %d at most; take 'solver: sap'", rows,
                       MOST_ROWS);
    bool good = td_grow((void **)&mine->W, &mine->W_room, (int64_t)rows * rows, sizeof *mine->W) &&
                td_grow((void **)&mine->S, &mine->S_room, (int64_t)rows * rows, sizeof *mine->S) &&
                td_grow((void **)&mine->Y, &mine->Y_room, most * rows, sizeof *mine->Y) &&
                td_grow((void **)&mine->L, &mine->L_room, most * most, sizeof *mine->L) &&
                td_grow((void **)&mine->b, &mine->b_room, 3 * (int64_t)rows + most, sizeof *mine->b) &&
                td_grow((void **)&mine->row, &mine->row_room, rows, sizeof *mine->row) &&
                td_grow((void **)&mine->laws, &mine->law_room, problem->n_constraints, sizeof *mine->laws);
    return good ? TD_OK : td_fail_memory(error, "the contact problem");
}

// Lower Cholesky factor of a block: what there is, or made into L.
static const double *factor(const tdContactState *cs, const tdSapProblem *problem, int b)
{
    const tdSapBlock *block = &problem->blocks[b];
    int n = block->n, info = 0;
    double *L = cs->nlcp.L;
    if (cs->factors[b] != NULL)
        return cs->factors[b];
    for (int j = 0; j < n; j++)
        memcpy(L + j + j * (int64_t)n, block->A + j + j * (int64_t)block->stride, (size_t)(n - j) * sizeof *L);
    dpotrf_("L", &n, L, &n, &info, 1);
    return info == 0 ? L : NULL;
}

// Rows of the constraints that act on a block, as columns of Y; returns how many, which ones into row.
static int gather(const tdContactState *cs, const tdSapProblem *problem, int b)
{
    const tdContactNlcp *mine = &cs->nlcp;
    int64_t n = problem->blocks[b].n;
    int count = 0;
    for (int32_t c = 0, first = 0; c < problem->n_constraints; first += problem->constraints[c++].law.rows)
    {
        const tdSapConstraint *constraint = &problem->constraints[c];
        int rows = constraint->law.rows;
        bool acts = false;
        for (int s = 0; s < constraint->sides; s++)
        {
            const tdSapSide *side = &constraint->side[s];
            if (side->block != b)
                continue;
            if (!acts)
                memset(mine->Y + count * n, 0, (size_t)(rows * n) * sizeof *mine->Y);
            acts = true;
            for (int r = 0; r < rows; r++)
                for (int32_t j = 0; j < side->count; j++)
                    mine->Y[(count + r) * n + (side->columns != NULL ? side->columns[j] : j)] +=
                        side->J[r * side->count + j];
        }
        for (int r = 0; acts && r < rows; r++)
            mine->row[count + r] = first + r;
        count += acts ? rows : 0;
    }
    return count;
}

// W += Y'Y and b += J v* of one block.
static tdStatus add_block(tdContactState *cs, const tdSapProblem *problem, int b, int rows, tdError *error)
{
    tdContactNlcp *mine = &cs->nlcp;
    const tdSapBlock *block = &problem->blocks[b];
    int n = block->n, count = gather(cs, problem, b);
    if (count == 0)
        return TD_OK;
    for (int i = 0; i < count; i++)
        mine->b[mine->row[i]] += cblas_ddot(n, mine->Y + i * (int64_t)n, 1, block->v_star, 1);
    const double *L = factor(cs, problem, b);
    if (L == NULL)
        return td_fail(error, TD_ERROR_NUMERIC,
                       "block %d of the contact problem is not positive definite; use a smaller time_step", b);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, n, count, 1, L, n, mine->Y, n);
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, count, n, 1, mine->Y, n, 0, mine->S, count);
    for (int j = 0; j < count; j++)
        for (int i = j; i < count; i++)
        {
            double value = mine->S[i + j * (int64_t)count];
            mine->W[mine->row[i] * (int64_t)rows + mine->row[j]] += value;
            if (i != j)
                mine->W[mine->row[j] * (int64_t)rows + mine->row[i]] += value;
        }
    return TD_OK;
}

// v = v* + A^-1 J' gamma
static void move_block(tdContactState *cs, const tdSapProblem *problem, int b, const double *gamma, double *p)
{
    const tdSapBlock *block = &problem->blocks[b];
    int n = block->n;
    memset(p, 0, (size_t)n * sizeof *p);
    for (int32_t c = 0, first = 0; c < problem->n_constraints; first += problem->constraints[c++].law.rows)
        for (int s = 0; s < problem->constraints[c].sides; s++)
        {
            const tdSapSide *side = &problem->constraints[c].side[s];
            for (int r = 0; side->block == b && r < problem->constraints[c].law.rows; r++)
                for (int32_t j = 0; j < side->count; j++)
                    p[side->columns != NULL ? side->columns[j] : j] += side->J[r * side->count + j] * gamma[first + r];
        }
    const double *L = factor(cs, problem, b);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, L, n, p, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, n, L, n, p, 1);
    for (int i = 0; i < n; i++)
        block->v[i] = block->v_star[i] + p[i];
}

tdStatus td_contact_nlcp(tdContactState *cs, const tdSapProblem *problem, const tdNlcpSettings *settings,
                         tdNlcpResult *result, tdError *error)
{
    tdContactNlcp *mine = &cs->nlcp;
    int rows = 0;
    for (int32_t c = 0; c < problem->n_constraints; c++)
        rows += problem->constraints[c].law.rows;
    if (rows == 0) // points between what does not move
    {
        for (int32_t b = 0; b < problem->n_blocks; b++)
            memcpy(problem->blocks[b].v, problem->blocks[b].v_star, (size_t)problem->blocks[b].n * sizeof(double));
        *result = (tdNlcpResult){.converged = true};
        return TD_OK;
    }
    TD_TRY(make_room(cs, problem, rows, error));
    double *gamma = mine->b + rows, *velocity = gamma + rows, *p = velocity + rows;
    memset(mine->W, 0, (size_t)rows * (size_t)rows * sizeof *mine->W);
    memset(mine->b, 0, 2 * (size_t)rows * sizeof *mine->b);
    for (int32_t b = 0; b < problem->n_blocks; b++)
        TD_TRY(add_block(cs, problem, b, rows, error));
    for (int32_t c = 0, first = 0; c < problem->n_constraints; first += mine->laws[c++].rows)
    {
        mine->laws[c] = problem->constraints[c].law;
        for (int r = 0; r < mine->laws[c].rows; r++)
            mine->b[first + r] -= mine->laws[c].v_hat[r];
        if (mine->laws[c].kind == TD_SAP_CONTACT)
            mine->laws[c].R[0] = mine->laws[c].R[1] = 0;
    }
    const tdNlcp dual = {problem->n_constraints, mine->laws, rows, rows, mine->W, mine->b, gamma};
    td_nlcp_solve(&dual, settings, velocity, result);
    for (int32_t c = 0, first = 0; c < problem->n_constraints; first += mine->laws[c++].rows)
        for (int r = 0; r < mine->laws[c].rows; r++)
        {
            problem->gamma[TD_SAP_ROWS * (int64_t)c + r] = gamma[first + r];
            problem->v_c[TD_SAP_ROWS * (int64_t)c + r] =
                velocity[first + r] - mine->laws[c].R[r] * gamma[first + r] + mine->laws[c].v_hat[r];
        }
    for (int32_t b = 0; b < problem->n_blocks; b++)
        move_block(cs, problem, b, gamma, p);
    return TD_OK;
}

void td_contact_nlcp_free(tdContactNlcp *mine)
{
    free(mine->W);
    free(mine->S);
    free(mine->Y);
    free(mine->L);
    free(mine->b);
    free(mine->row);
    free(mine->laws);
}
