// SPDX-License-Identifier: Apache-2.0
// What a linear solver knows of a body from the start: order, structure, symbolic factor, and what a factorization
// costs.
#include "solve/refine.h"

#include <cblas.h>
#include <cholmod.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// A factorization runs near the peak of the arithmetic, a solve near that of the memory: a flop of the first costs
// about a tenth of one of the second, and half of that in single precision (12 to 20 as measured on fine robots). Each
// iteration makes 4 flops an entry of the factor.
#define FLOP_RATIO   10.0
#define SINGLE_RATIO 15.0
#define AMG_COST     20 // of a multigrid hierarchy, in iterations, as measured

// Of the OpenMP run time that CHOLMOD is linked with; its header comes with one compiler only.
extern int omp_get_max_active_levels(void);
extern void omp_set_max_active_levels(int levels);

// Debian's CHOLMOD opens OpenMP regions of its own inside a factorization, whatever OMP_NUM_THREADS
// says; on busy cores they cost a multiple of what they save, and they are not our threads. With no
// active level allowed, a region runs on the calling thread. The setting belongs to that thread.
int td_openmp_quiet(void)
{
    int levels = omp_get_max_active_levels();
    omp_set_max_active_levels(0);
    return levels;
}

void td_openmp_restore(int levels)
{
    omp_set_max_active_levels(levels);
}

void td_cholmod_start(cholmod_common *common)
{
    cholmod_start(common);
    common->print = 0;
    common->error_handler = NULL;
    common->supernodal = CHOLMOD_SUPERNODAL;
    common->final_ll = 1;
    common->quick_return_if_not_posdef = 1;
    // Supernodes of four nodes rather than four unknowns at least: on robots of a thousand nodes calls of BLAS for
    // smaller ones cost more than the zeros.
    common->nrelax[0] = 12;
    common->nrelax[1] = 32;
    common->nrelax[2] = 64;
    common->zrelax[1] = 0.2;
    common->zrelax[2] = 0.1;
    // OpenBLAS with several threads gives other bits than with one, and the threads are ours to use.
    openblas_set_num_threads(1);
}

// Fill-reducing order of the nodes; the three unknowns of a node stay together, which makes the
// ordering nine times smaller and the supernodes wider.
static tdStatus order_nodes(cholmod_common *common, const tdBlockPattern *pattern, int32_t *order, tdError *error)
{
    cholmod_sparse *graph = cholmod_allocate_sparse((size_t)pattern->n, (size_t)pattern->n, (size_t)pattern->blocks, 1,
                                                    1, 1, CHOLMOD_PATTERN, common);
    if (graph == NULL)
        return td_fail_memory(error, "the ordering of the matrix");
    // Rows of the lower triangle are columns of the upper one.
    int32_t *p = graph->p, *i = graph->i;
    for (int32_t k = 0; k <= pattern->n; k++)
        p[k] = (int32_t)pattern->row[k];
    memcpy(i, pattern->column, (size_t)pattern->blocks * sizeof *i);
    // METIS gives less fill on large meshes of solids, AMD is quicker and as good on small ones.
    bool done = pattern->n > 300 ? cholmod_metis(graph, NULL, 0, 1, order, common) != 0
                                 : cholmod_amd(graph, NULL, 0, order, common) != 0;
    if (!done)
        done = cholmod_amd(graph, NULL, 0, order, common) != 0;
    cholmod_free_sparse(&graph, common);
    return done ? TD_OK
                : td_fail(error, TD_ERROR_NUMERIC, "CHOLMOD could not order the matrix (status %d)", common->status);
}

// Column by column: the lower triangle of the free unknowns, with the place of each entry in the blocks.
static void list_entries(tdLinearModel *out, bool count_only)
{
    const tdBlockPattern *pattern = out->pattern;
    int32_t entries = 0;
    for (int32_t j = 0; j < pattern->n; j++)
        for (int c = 0; c < 3; c++)
        {
            int32_t column = out->dof[3 * j + c];
            if (column < 0)
                continue;
            out->Ap[column] = entries;
            for (int64_t k = pattern->below[j] - 1; k < pattern->below[j + 1]; k++)
            {
                bool diagonal = k < pattern->below[j];
                int32_t i = diagonal ? j : pattern->below_row[k];
                int64_t block = diagonal ? pattern->row[j + 1] - 1 : pattern->below_block[k];
                for (int r = diagonal ? c : 0; r < 3; r++)
                {
                    int32_t row = out->dof[3 * i + r];
                    if (row < 0)
                        continue;
                    if (!count_only)
                    {
                        out->Ai[entries] = row;
                        out->source[entries] = (int32_t)(9 * block + 3 * r + c);
                    }
                    entries++;
                }
            }
        }
    out->Ap[out->n] = entries;
}

cholmod_sparse td_cholmod_lower(int32_t n, int32_t *start, int32_t *row)
{
    return (cholmod_sparse){.nrow = (size_t)n,
                            .ncol = (size_t)n,
                            .nzmax = n > 0 ? (size_t)start[n] : 0,
                            .p = start,
                            .i = row,
                            .stype = -1,
                            .itype = CHOLMOD_INT,
                            .xtype = CHOLMOD_PATTERN,
                            .dtype = CHOLMOD_DOUBLE,
                            .sorted = 1,
                            .packed = 1};
}

// What a factor takes: the numbers in double precision and in single, and the fronts of a factorization.
static double bytes_of(const tdLinearModel *model)
{
    return 8 * (double)model->symbolic->xsize + 4 * (double)model->shape.values + 8 * (double)model->plan.room;
}

static void drop_factor(tdLinearModel *model)
{
    td_factor_plan_free(&model->plan);
    if (model->symbolic != NULL)
        cholmod_free_factor(&model->symbolic, model->common);
}

static tdStatus take_multigrid(tdArena *arena, const bool *held, const tdLinearChoice *choice, tdLinearModel *out,
                               tdError *error)
{
    drop_factor(out);
    out->factor_flops = out->factor_entries = 0;
    out->single = out->rough = false;
    out->factor_cost = AMG_COST;
    return td_amg_model_create(arena, out->pattern, held, choice->memory, &out->amg, error);
}

// A factor that does not fit: multigrid in its place where that may be.
static tdStatus fit(tdArena *arena, const bool *held, const tdLinearChoice *choice, tdLinearModel *out, tdError *error)
{
    if (choice == NULL || out->factor_bytes <= choice->memory)
        return TD_OK;
    if (choice->kind == TD_SOLVER_AUTO)
        return take_multigrid(arena, held, choice, out, error);
    if (isfinite(out->factor_bytes))
        return td_fail(error, TD_ERROR_MEMORY,
                       "the factor of the matrix would take %.1f GB, more than solver.memory allows (%.1f GB); use "
                       "'solver: {type: auto}' or 'amg', allow more, or use a coarser mesh",
                       1e-9 * out->factor_bytes, 1e-9 * choice->memory);
    return td_fail(error, TD_ERROR_MEMORY,
                   "the factor of the matrix has more entries than can be counted; use 'solver: {type: auto}' or "
                   "'amg', or a coarser mesh");
}

tdStatus td_linear_model_create(tdArena *arena, const tdBlockPattern *pattern, const bool *held,
                                const tdLinearChoice *choice, tdLinearModel *out, tdError *error)
{
    *out = (tdLinearModel){.pattern = pattern};
    int64_t coords = 3 * (int64_t)pattern->n;
    out->dof = TD_TAKE(arena, int32_t, coords);
    out->coord = TD_TAKE(arena, int32_t, coords);
    out->common = td_take(1, sizeof *out->common);
    if (out->dof == NULL || out->coord == NULL || out->common == NULL)
        return td_fail_memory(error, "the matrix");
    td_cholmod_start(out->common);
    for (int64_t i = 0; i < coords; i++)
    {
        out->dof[i] = held[i] ? -1 : out->n;
        if (!held[i])
            out->coord[out->n++] = (int32_t)i;
    }
    if (out->n == 0)
        return TD_OK; // everything is held: nothing to solve
    out->turning = TD_TAKE(arena, bool, pattern->n);
    if (out->turning == NULL)
        return td_fail_memory(error, "the matrix");
    for (int32_t i = 0; i < pattern->n; i++)
        out->turning[i] = out->dof[3 * i] >= 0 && out->dof[3 * i + 1] >= 0 && out->dof[3 * i + 2] >= 0;
    if (choice != NULL && choice->kind == TD_SOLVER_AMG)
        return take_multigrid(arena, held, choice, out, error);
    out->Ap = TD_TAKE(arena, int32_t, out->n + 1);
    if (out->Ap == NULL)
        return td_fail_memory(error, "the matrix");
    list_entries(out, true);
    out->Ai = TD_TAKE(arena, int32_t, out->Ap[out->n]);
    out->source = TD_TAKE(arena, int32_t, out->Ap[out->n]);
    int32_t *nodes = td_take((size_t)pattern->n, sizeof *nodes), *order = td_take((size_t)out->n, sizeof *order);
    tdStatus status = TD_OK;
    if (out->Ai == NULL || out->source == NULL || nodes == NULL || order == NULL)
        status = td_fail_memory(error, "the matrix");
    else
        status = order_nodes(out->common, pattern, nodes, error);
    if (status == TD_OK)
    {
        list_entries(out, false);
        int32_t at = 0;
        for (int32_t k = 0; k < pattern->n; k++)
            for (int c = 0; c < 3; c++)
                if (out->dof[3 * nodes[k] + c] >= 0)
                    order[at++] = out->dof[3 * nodes[k] + c];
        cholmod_sparse A = td_cholmod_lower(out->n, out->Ap, out->Ai);
        out->common->nmethods = 1;
        out->common->method[0].ordering = CHOLMOD_GIVEN;
        out->common->postorder = 1;
        out->symbolic = cholmod_analyze_p(&A, order, NULL, 0, out->common);
        if (out->symbolic == NULL && out->common->status != CHOLMOD_TOO_LARGE)
            status = td_fail_memory(error, "the factor of the matrix");
        if (out->symbolic == NULL)
            out->factor_bytes = INFINITY;
    }
    free(nodes);
    free(order);
    if (status == TD_OK && out->symbolic == NULL)
        return fit(arena, held, choice, out, error);
    if (status == TD_OK)
    {
        tdFactorMatrix matrix = {out->n, out->Ap, out->Ai, out->source};
        status = td_factor_plan(out->symbolic, &matrix, &out->plan, error);
    }
    if (status == TD_OK)
        status = td_triangular_shape(arena, out->symbolic, &out->shape, error);
    if (status == TD_OK)
    {
        out->factor_bytes = bytes_of(out);
        out->factor_flops = out->common->fl;
        out->factor_entries = out->common->lnz;
        out->single = td_refine_pays(out->plan.flops, (double)out->shape.values, false);
        out->rough = td_refine_rough_pays(out->plan.flops);
        double ratio = out->single ? SINGLE_RATIO : FLOP_RATIO;
        double cost = out->factor_flops / (4 * ratio * out->factor_entries);
        out->factor_cost = cost < 2 ? 2 : (int)cost;
        status = fit(arena, held, choice, out, error);
    }
    return status;
}

void td_linear_model_free(tdLinearModel *model)
{
    if (model->common == NULL)
        return;
    drop_factor(model);
    td_amg_model_free(model->amg);
    model->amg = NULL;
    cholmod_finish(model->common);
    free(model->common);
    model->common = NULL;
}
