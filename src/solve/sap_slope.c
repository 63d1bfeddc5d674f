// SPDX-License-Identifier: Apache-2.0
// How the solution of the convex problem answers to a change of the motion without constraints; see sap.h.
//
// At the minimum A (v - v*) = J' gamma(J v). Differentiated, with G = -dgamma/dv_c: (A + J' G J) dv = A dv*. The
// Hessian is that of Newton's method at the solution: where contacts stick, slide and are open as they do there.
#include "solve/sap_plan.h"

#include <math.h>
#include <string.h>

typedef struct slopeWork
{
    const tdSapProblem *problem;
    tdSapPlan *plan;
    int n;
    const double *const *X;
    const double *change;
    double *dgamma, *dv_c;
} slopeWork;

static bool is_moved(const slopeWork *work, const tdSapIsland *island)
{
    for (int32_t k = 0; k < island->n_members; k++)
        if (work->X[island->members[k].block] != NULL)
            return true;
    return false;
}

// Column k of X in the order of the island.
static void gather(const slopeWork *work, const tdSapIsland *island, int column, double *x)
{
    for (int32_t k = 0; k < island->n_members; k++)
    {
        const tdSapMember *member = &island->members[k];
        const double *X = work->X[member->block];
        for (int32_t i = 0; i < member->patch.n; i++)
            x[member->patch.at[i]] =
                X == NULL ? 0 : X[member->column[i] + column * (int64_t)work->problem->blocks[member->block].n];
    }
}

static void scatter(const slopeWork *work, const tdSapIsland *island, int column)
{
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapLink *link = &island->links[l];
        int rows = link->law->rows;
        const double *dv_c = island->dv_c + TD_SAP_ROWS * (int64_t)l;
        const double *G = island->G + (int64_t)TD_SAP_ROWS * TD_SAP_ROWS * l;
        for (int r = 0; r < rows; r++)
        {
            int64_t at = (TD_SAP_ROWS * (int64_t)link->constraint + r) * work->n + column;
            double sum = 0;
            for (int s = 0; s < rows; s++)
                sum += G[r * rows + s] * dv_c[s];
            work->dgamma[at] = -sum;
            work->dv_c[at] = dv_c[r];
        }
    }
}

// J' times the changes of impulses that are given.
static void push_changes(const slopeWork *work, tdSapIsland *island, double *b)
{
    memset(b, 0, (size_t)island->n * sizeof *b);
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapLink *link = &island->links[l];
        const double *change = work->change + TD_SAP_ROWS * (int64_t)link->constraint;
        int32_t n = link->patch.n;
        for (int r = 0; r < link->law->rows; r++)
            for (int32_t i = 0; i < n && !isnan(change[r]); i++)
                b[link->patch.at[i]] += link->J[r * (int64_t)n + i] * change[r];
    }
}

// Rows whose impulses are given do not answer.
static void hold_rows(const slopeWork *work, tdSapIsland *island)
{
    for (int32_t l = 0; l < island->n_links; l++)
    {
        int rows = island->links[l].law->rows;
        const double *change = work->change + TD_SAP_ROWS * (int64_t)island->links[l].constraint;
        double *G = island->G + (int64_t)TD_SAP_ROWS * TD_SAP_ROWS * l;
        for (int r = 0; r < rows; r++)
            for (int s = 0; s < rows; s++)
                G[r * rows + s] = isnan(change[r]) && isnan(change[s]) ? G[r * rows + s] : 0;
    }
}

static void slope_of_island(const slopeWork *work, tdSapIsland *island, tdTasks *tasks)
{
    if (!is_moved(work, island))
        return;
    island->tasks = tasks;
    if (work->change != NULL)
        hold_rows(work, island);
    td_sap_sparse_renew(island); // slopes are solved to rounding
    if (!td_sap_factor_shifted(work->problem, island, tasks))
    {
        island->failed = true;
        return;
    }
    for (int k = 0; k < work->n; k++)
    {
        if (work->change != NULL && k == work->n - 1)
            push_changes(work, island, island->Adv);
        else
        {
            gather(work, island, k, island->x);
            td_sap_multiply_A(work->problem, island, island->x, island->Adv);
        }
        td_sap_substitute(island, island->Adv, island->dv);
        td_sap_multiply_J(island, island->dv, island->dv_c);
        scatter(work, island, k);
    }
}

static void slope_of_small(void *context, int i)
{
    slopeWork *work = context;
    if (work->plan->islands[i].n_trees == 1)
        slope_of_island(work, &work->plan->islands[i], NULL);
}

tdStatus td_sap_slope(tdSap *sap, tdTasks *tasks, const tdSapProblem *problem, int n, const double *const *X,
                      const double *change, double *dgamma, double *dv_c, tdError *error)
{
    slopeWork work = {problem, &sap->plan, n, X, change, dgamma, dv_c};
    size_t size = (size_t)TD_SAP_ROWS * (size_t)problem->n_constraints * (size_t)n;
    memset(dgamma, 0, size * sizeof *dgamma);
    memset(dv_c, 0, size * sizeof *dv_c);
    td_parallel(tasks, sap->plan.n_islands, slope_of_small, &work);
    for (int32_t i = 0; i < sap->plan.n_islands; i++)
        if (sap->plan.islands[i].n_trees > 1)
            slope_of_island(&work, &sap->plan.islands[i], tasks);
    for (int32_t i = 0; i < sap->plan.n_islands; i++)
        if (sap->plan.islands[i].failed)
            return td_fail(error, TD_ERROR_NUMERIC,
                           "the contact problem with block %d and %d more cannot be differentiated: its matrix is not "
                           "positive definite; use a smaller time_step",
                           sap->plan.islands[i].members[0].block, sap->plan.islands[i].n_members - 1);
    return TD_OK;
}
