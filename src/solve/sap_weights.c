// SPDX-License-Identifier: Apache-2.0
// Diagonal estimates of the Delassus operator J A^-1 J', by which regularizations are chosen; see sap.h.
#include "base/lapack.h"
#include "solve/envelope.h"
#include "solve/factor.h"
#include "solve/sap_plan.h"

#include <cblas.h>
#include <string.h>

#define BATCH 96 // rows solved at once
#define FEW   9  // columns of a point on a surface: three nodes

// The share of one block: W_i += J_i A^-1 J_i' for all constraints i on it. With few rows as X' X, X = L^-1 J_i'; with
// many sparse ones from the inverse of A, of which each needs a few entries.
typedef struct blockShare
{
    int32_t n_sides;
    bool inverse;
    int32_t *constraint;     // that act on the block, ascending, each once
    double *W;               // 9 for each of them: what the block adds
    double *factor;          // n x n, where it is made here
    double *X;               // n x BATCH
    int32_t *columns;        // n
    double solving, picking; // operations of both ways
    bool indefinite;
} blockShare;

typedef struct weightWork
{
    const tdSapProblem *problem;
    const double *const *factors;
    tdSapWeighing how;
    blockShare *share;
    double *w;
} weightWork;

// X = J_i' over the block, summed over the constraint's sides on it.
static void fill(const tdSapConstraint *c, int32_t block, int32_t n, double *X)
{
    memset(X, 0, (size_t)n * (size_t)c->law.rows * sizeof *X);
    for (int s = 0; s < c->sides; s++)
    {
        const tdSapSide *side = &c->side[s];
        if (side->block != block)
            continue;
        for (int r = 0; r < c->law.rows; r++)
            for (int32_t j = 0; j < side->count; j++)
                X[r * (int64_t)n + (side->columns == NULL ? j : side->columns[j])] +=
                    side->J[r * (int64_t)side->count + j];
    }
}

static void square(int32_t n, int rows, const double *X, double *W)
{
    for (int r = 0; r < rows; r++)
        for (int s = 0; s <= r; s++)
        {
            double sum = 0;
            for (int32_t i = 0; i < n; i++)
                sum += X[r * (int64_t)n + i] * X[s * (int64_t)n + i];
            W[r * rows + s] = W[s * rows + r] = sum;
        }
}

// W = X' A^-1 X of one constraint by the inverse (lower triangle) and the columns where X is not zero.
static void square_sparse(int32_t n, int rows, const double *inverse, const double *X, int32_t *columns, double *W)
{
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++)
    {
        columns[count] = i;
        bool used = false;
        for (int r = 0; r < rows; r++)
            used = used || X[r * (int64_t)n + i] != 0;
        count += used;
    }
    memset(W, 0, (size_t)(rows * rows) * sizeof *W);
    for (int32_t i = 0; i < count; i++)
    {
        double sum[TD_SAP_ROWS] = {0}; // of A^-1 X in row i
        for (int32_t j = 0; j < count; j++)
        {
            int64_t a = columns[i], b = columns[j];
            double entry = a >= b ? inverse[a + b * n] : inverse[b + a * n];
            for (int r = 0; r < rows; r++)
                sum[r] += entry * X[r * (int64_t)n + b];
        }
        for (int r = 0; r < rows; r++)
            for (int s = 0; s < rows; s++)
                W[r * rows + s] += X[r * (int64_t)n + columns[i]] * sum[s];
    }
}

// The same for the only side of a contact on the block, if it has few columns: J A^-1 J' from as many entries of the
// inverse, of which both triangles are there, as it has pairs of columns.
static bool square_side(const tdSapConstraint *c, int32_t block, int32_t n, const double *inverse, double *W)
{
    const tdSapSide *side = c->side[0].block == block ? &c->side[0] : &c->side[1];
    int32_t count = side->count;
    bool both = c->sides == 2 && c->side[0].block == c->side[1].block;
    if (both || side->columns == NULL || count > FEW || c->law.rows != TD_SAP_ROWS)
        return false;
    double T[TD_SAP_ROWS][FEW]; // J A^-1 over the columns
    for (int32_t j = 0; j < count; j++)
    {
        const double *column = inverse + side->columns[j] * (int64_t)n;
        double sum[TD_SAP_ROWS] = {0};
        for (int32_t i = 0; i < count; i++)
        {
            double entry = column[side->columns[i]];
            sum[0] += side->J[i] * entry;
            sum[1] += side->J[count + i] * entry;
            sum[2] += side->J[2 * count + i] * entry;
        }
        for (int r = 0; r < TD_SAP_ROWS; r++)
            T[r][j] = sum[r];
    }
    for (int r = 0; r < TD_SAP_ROWS; r++)
        for (int s = 0; s < TD_SAP_ROWS; s++)
        {
            double sum = 0;
            for (int32_t j = 0; j < count; j++)
                sum += T[r][j] * side->J[s * count + j];
            W[r * TD_SAP_ROWS + s] = sum;
        }
    return true;
}

// The same of a sparse block, by its diagonal.
static void weigh_sparse(const tdSapProblem *problem, const tdSapBlock *block, int32_t b, blockShare *share)
{
    for (int32_t k = 0; k < share->n_sides; k++)
    {
        const tdSapConstraint *c = &problem->constraints[share->constraint[k]];
        double *W = share->W + 9 * (int64_t)k, soft = c->law.kind == TD_SAP_CONTACT ? fmax(block->softness, 1) : 1;
        int rows = c->law.rows;
        for (int s = 0; s < c->sides; s++)
            for (int32_t j = 0; j < c->side[s].count && c->side[s].block == b; j++)
            {
                const tdSapSide *side = &c->side[s];
                double d = td_sap_diagonal(block, side->columns == NULL ? j : side->columns[j]) / soft;
                for (int r = 0; r < rows; r++)
                    for (int q = 0; q < rows; q++)
                        W[r * rows + q] +=
                            side->J[r * (int64_t)side->count + j] * side->J[q * (int64_t)side->count + j] / d;
            }
    }
}

#define SMALL 40 // velocities of a block up to which constraints are weighed one by one

// W of one constraint on a small block: its three rows, or fewer, side by side.
static void weigh_few(const tdSapConstraint *c, int32_t block, int32_t n, const double *L, const double *reverse,
                      double *X, double *W)
{
    int rows = c->law.rows;
    int32_t begin = n, end = 0; // columns outside are zero; those before the first stay so, in reverse those behind
    double few[TD_SAP_ROWS * TD_SAP_ROWS], *all = rows == TD_SAP_ROWS ? W : few;
    const tdSapSide *only = c->side[0].block == block ? &c->side[0] : &c->side[1];
    bool both = c->sides == 2 && c->side[0].block == c->side[1].block;
    if (reverse != NULL && rows == TD_SAP_ROWS && only->columns == NULL && !both)
    {
        td_envelope_weigh_whole(n, reverse, only->J, X, W);
        return;
    }
    memset(X, 0, 4 * (size_t)n * sizeof *X);
    for (int s = 0; s < c->sides; s++)
    {
        const tdSapSide *side = &c->side[s];
        for (int32_t j = 0; j < side->count && side->block == block; j++)
        {
            int32_t at = side->columns == NULL ? j : side->columns[j];
            double *x = X + 4 * (int64_t)at;
            const double *J = side->J + j;
            begin = at < begin ? at : begin;
            end = at < end ? end : at + 1;
            x[0] += J[0];
            if (rows > 1)
                x[1] += J[side->count];
            if (rows > 2)
                x[2] += J[2 * (int64_t)side->count];
        }
    }
    if (reverse != NULL)
        td_envelope_weigh_reverse(n, end, reverse, X, all);
    else
        td_envelope_weigh(n, begin, L, X, all);
    for (int r = 0; r < rows && all == few; r++)
        for (int s = 0; s < rows; s++)
            W[r * rows + s] = all[TD_SAP_ROWS * r + s];
}

static void weigh_block(void *context, int b)
{
    const weightWork *work = context;
    const tdSapBlock *block = &work->problem->blocks[b];
    blockShare *share = &work->share[b];
    int n = block->n, info = 0;
    if (share->n_sides == 0 || n == 0)
        return;
    if (block->sparse != NULL)
    {
        weigh_sparse(work->problem, block, b, share);
        return;
    }
    const double *L = work->factors != NULL ? work->factors[b] : NULL;
    const double *reverse = work->how == TD_SAP_EXACT && n <= SMALL ? block->reverse : NULL;
    if (work->how == TD_SAP_EXACT && L == NULL && reverse == NULL)
    {
        for (int j = 0; j < n; j++)
            memcpy(share->factor + j + j * (int64_t)n, block->A + j + j * (int64_t)block->stride,
                   (size_t)(n - j) * sizeof *share->factor);
        share->indefinite = !td_factor_panel(n, n, share->factor, n);
        L = share->factor;
    }
    if (share->inverse && !share->indefinite)
    {
        if (L != share->factor)
            memcpy(share->factor, L, (size_t)n * (size_t)n * sizeof *L);
        dpotri_("L", &n, share->factor, &n, &info, 1);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < j; i++)
                share->factor[i + j * (int64_t)n] = share->factor[j + i * (int64_t)n];
    }
    if (n <= SMALL && work->how == TD_SAP_EXACT && !share->indefinite)
    {
        for (int32_t k = 0; k < share->n_sides; k++)
            weigh_few(&work->problem->constraints[share->constraint[k]], b, n, L, reverse, share->X,
                      share->W + 9 * (int64_t)k);
        return;
    }
    for (int32_t k = 0, end = 0; k < share->n_sides && !share->indefinite; k = end)
    {
        int rows = 0;
        end = k + 1;
        if (share->inverse && square_side(&work->problem->constraints[share->constraint[k]], b, n, share->factor,
                                          share->W + 9 * (int64_t)k))
            continue;
        for (end = k; end < share->n_sides && rows + TD_SAP_ROWS <= BATCH; end++)
        {
            const tdSapConstraint *c = &work->problem->constraints[share->constraint[end]];
            fill(c, b, n, share->X + rows * (int64_t)n);
            rows += c->law.rows;
        }
        if (share->inverse)
            ;
        else if (work->how == TD_SAP_EXACT)
            cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, n, rows, 1, L, n, share->X,
                        n);
        else
            for (int r = 0; r < rows; r++)
                for (int i = 0; i < n; i++)
                    share->X[r * (int64_t)n + i] /= sqrt(block->A[i + i * (int64_t)block->stride]);
        rows = 0;
        for (int32_t i = k; i < end; i++)
        {
            const tdSapConstraint *c = &work->problem->constraints[share->constraint[i]];
            double *X = share->X + rows * (int64_t)n, *W = share->W + 9 * (int64_t)i;
            if (share->inverse)
                square_sparse(n, c->law.rows, share->factor, X, share->columns, W);
            else
                square(n, c->law.rows, X, W);
            rows += c->law.rows;
        }
    }
}

static bool is_second_on_block(const tdSapConstraint *c, int s)
{
    return s == 1 && c->side[1].block == c->side[0].block;
}

// ---------------------------------------------------------------- small blocks

// Whether all blocks are small and have their factors: then constraints are weighed one by one, without any lists.
static bool are_small(const weightWork *work)
{
    bool small = work->how == TD_SAP_EXACT;
    for (int32_t b = 0; b < work->problem->n_blocks && small; b++)
    {
        const tdSapBlock *block = &work->problem->blocks[b];
        small = block->sparse == NULL && block->n <= SMALL &&
                (block->reverse != NULL || (work->factors != NULL && work->factors[b] != NULL));
    }
    return small;
}

// Of one or two free bodies; false: they have other factors.
static bool weigh_free(const tdSapProblem *problem, const tdSapConstraint *c, double *W)
{
    const double *L[2] = {0}, *J[2] = {0};
    for (int s = 0; s < c->sides; s++)
    {
        L[s] = problem->blocks[c->side[s].block].reverse;
        J[s] = c->side[s].J;
        if (L[s] == NULL)
            return false;
    }
    td_envelope_weigh_free(c->sides, L, J, W);
    return true;
}

#define RUN 32 // constraints that are weighed in one go

static void weigh_run(void *context, int run)
{
    const weightWork *work = context;
    const tdSapProblem *problem = work->problem;
    int32_t first = run * RUN, last = first + RUN < problem->n_constraints ? first + RUN : problem->n_constraints;
    double X[4 * SMALL], mine[TD_SAP_ROWS * TD_SAP_ROWS];
    for (int32_t i = first; i < last; i++)
    {
        const tdSapConstraint *c = &problem->constraints[i];
        int entries = c->law.rows * c->law.rows;
        double W[TD_SAP_ROWS * TD_SAP_ROWS] = {0};
        if (td_sap_is_free(c) && weigh_free(problem, c, W))
        {
            work->w[i] = td_sap_weight(TD_SAP_ROWS, W);
            continue;
        }
        for (int s = 0; s < c->sides; s++)
        {
            int32_t b = c->side[s].block;
            const tdSapBlock *block = &problem->blocks[b];
            if (is_second_on_block(c, s) || block->n == 0)
                continue;
            weigh_few(c, b, block->n, block->reverse == NULL ? work->factors[b] : NULL, block->reverse, X, mine);
            for (int k = 0; k < entries; k++)
                W[k] += mine[k];
        }
        work->w[i] = td_sap_weight(c->law.rows, W);
    }
}

static bool take_shares(tdStack *stack, weightWork *work)
{
    const tdSapProblem *problem = work->problem;
    work->share = TD_STACK_TAKE(stack, blockShare, problem->n_blocks);
    if (stack->failed)
        return false;
    memset(work->share, 0, (size_t)problem->n_blocks * sizeof *work->share);
    for (int pass = 0; pass < 2; pass++)
    {
        for (int32_t i = 0; i < problem->n_constraints; i++)
            for (int s = 0; s < problem->constraints[i].sides; s++)
            {
                blockShare *share = &work->share[problem->constraints[i].side[s].block];
                if (is_second_on_block(&problem->constraints[i], s))
                    continue;
                if (pass == 1)
                    share->constraint[share->n_sides] = i;
                share->n_sides++;
                // A scattered entry costs as much as ten operations of a product, or three where it is picked by
                // itself.
                double n = problem->blocks[problem->constraints[i].side[s].block].n;
                double rows = problem->constraints[i].law.rows, count = problem->constraints[i].side[s].count;
                share->solving += n * n * rows;
                bool few = count <= FEW && rows == TD_SAP_ROWS && problem->constraints[i].side[s].columns != NULL;
                share->picking += few ? 3 * rows * count * count : 10 * rows * count * count + 10 * n;
            }
        for (int32_t b = 0; b < problem->n_blocks && pass == 0; b++)
        {
            blockShare *share = &work->share[b];
            int64_t n = problem->blocks[b].n;
            bool dense = problem->blocks[b].sparse == NULL;
            bool make = dense && work->how == TD_SAP_EXACT && (work->factors == NULL || work->factors[b] == NULL) &&
                        !(n <= SMALL && problem->blocks[b].reverse != NULL);
            share->constraint = TD_STACK_TAKE(stack, int32_t, share->n_sides);
            share->W = TD_STACK_TAKE(stack, double, 9 * (int64_t)share->n_sides);
            share->inverse = dense && n > SMALL && work->how == TD_SAP_EXACT &&
                             2.0 / 3 * (double)(n * n * n) + share->picking < share->solving;
            make = make || share->inverse;
            share->columns = TD_STACK_TAKE(stack, int32_t, n);
            share->factor = make && share->n_sides > 0 ? TD_STACK_TAKE(stack, double, n *n) : NULL;
            share->X = dense && share->n_sides > 0 ? TD_STACK_TAKE(stack, double, n *BATCH) : NULL;
            if (stack->failed)
                return false;
            memset(share->W, 0, 9 * (size_t)share->n_sides * sizeof *share->W);
            share->n_sides = 0;
        }
    }
    return true;
}

tdStatus td_sap_weights(tdSap *sap, tdTasks *tasks, const tdSapProblem *problem, tdSapWeighing how,
                        const double *const *factors, double *w, tdError *error)
{
    weightWork work = {.problem = problem, .factors = factors, .how = how, .w = w};
    TD_TRY(td_sap_check(problem, false, error));
    if (are_small(&work))
    {
        td_parallel(tasks, (problem->n_constraints + RUN - 1) / RUN, weigh_run, &work);
        return TD_OK;
    }
    td_stack_reset(&sap->stack);
    if (!take_shares(&sap->stack, &work))
        return td_fail_memory(error, "the contact problem");
    td_parallel(tasks, problem->n_blocks, weigh_block, &work);
    for (int32_t b = 0; b < problem->n_blocks; b++)
    {
        if (work.share[b].indefinite)
            return td_fail(error, TD_ERROR_NUMERIC,
                           "block %d of the contact problem is not positive definite; use a smaller time_step", b);
        work.share[b].n_sides = 0;
    }
    // Shares of a constraint's blocks are met in the order in which they were listed.
    for (int32_t i = 0; i < problem->n_constraints; i++)
    {
        const tdSapConstraint *c = &problem->constraints[i];
        double W[TD_SAP_ROWS * TD_SAP_ROWS] = {0};
        for (int s = 0; s < c->sides; s++)
        {
            if (is_second_on_block(c, s))
                continue;
            blockShare *share = &work.share[c->side[s].block];
            const double *mine = share->W + 9 * (int64_t)share->n_sides++;
            for (int k = 0; k < c->law.rows * c->law.rows; k++)
                W[k] += mine[k];
        }
        w[i] = td_sap_weight(c->law.rows, W);
    }
    return TD_OK;
}
