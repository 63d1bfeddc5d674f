// SPDX-License-Identifier: Apache-2.0
#include "solve/problem.h"

#include "solve/nlcp.h"
#include "solve/sap_plan.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- life

tdStatus td_problem_create(tdProblem **out, tdError *error)
{
    tdProblem *problem = td_take(1, sizeof *problem);
    *out = problem;
    return problem == NULL ? td_fail_memory(error, "the constraint problem") : td_sap_create(&problem->sap, error);
}

void td_problem_free(tdProblem *problem)
{
    if (problem == NULL)
        return;
    td_sap_free(problem->sap);
    td_dual_free(&problem->dual);
    td_stack_free(&problem->entries);
    free(problem->blocks);
    free((void *)problem->factors);
    free(problem->constraints);
    free(problem->owner);
    free(problem->drift);
    free(problem->gamma);
    free(problem->v_c);
    free(problem->w);
    free(problem);
}

// ---------------------------------------------------------------- blocks and rows

void td_problem_clear(tdProblem *problem)
{
    problem->n_blocks = problem->n_constraints = 0;
    problem->scalar.driven.n = 0;
    problem->scalar.inverse = NULL;
    problem->steer.n = 0;
    problem->again = NULL;
    td_stack_release(&problem->entries, (tdStackMark){0});
}

int32_t td_problem_block(tdProblem *problem, int32_t n, int32_t stride, const double *A, const double *L)
{
    int64_t need = problem->n_blocks + 1, room[2] = {problem->block_room, problem->block_room};
    if (!td_grow((void **)&problem->blocks, &room[0], need, sizeof *problem->blocks) ||
        !td_grow((void **)&problem->factors, &room[1], need, sizeof *problem->factors))
        return -1;
    problem->block_room = room[0];
    double *v_star = td_stack_take(&problem->entries, 2 * (int64_t)n, sizeof(double));
    if (v_star == NULL)
        return -1;
    problem->blocks[problem->n_blocks] =
        (tdSapBlock){.n = n, .stride = stride, .A = A, .v_star = v_star, .v = v_star + n};
    problem->factors[problem->n_blocks] = L;
    return problem->n_blocks++;
}

static bool grow_constraints(tdProblem *p, int64_t need)
{
    if (need <= p->constraint_room)
        return true;
    int64_t room[6];
    for (int k = 0; k < 6; k++)
        room[k] = p->constraint_room;
    bool good = td_grow((void **)&p->constraints, &room[0], need, sizeof *p->constraints) &&
                td_grow((void **)&p->owner, &room[1], need, sizeof *p->owner) &&
                td_grow((void **)&p->drift, &room[2], need, TD_SAP_ROWS * sizeof *p->drift) &&
                td_grow((void **)&p->gamma, &room[3], need, TD_SAP_ROWS * sizeof *p->gamma) &&
                td_grow((void **)&p->v_c, &room[4], need, TD_SAP_ROWS * sizeof *p->v_c) &&
                td_grow((void **)&p->w, &room[5], need, sizeof *p->w);
    p->constraint_room = good ? room[0] : p->constraint_room;
    return good;
}

int32_t td_problem_row(tdProblem *problem, tdOwner owner, tdSapKind kind, int rows)
{
    int32_t c = problem->n_constraints;
    if (!grow_constraints(problem, c + 1))
        return -1;
    problem->constraints[c] = (tdSapConstraint){.law = {.kind = kind, .rows = rows}};
    problem->owner[c] = owner;
    for (int r = 0; r < TD_SAP_ROWS; r++)
        problem->drift[TD_SAP_ROWS * (int64_t)c + r] = 0;
    return problem->n_constraints++;
}

tdSapSide *td_problem_side(tdProblem *problem, int32_t block, int32_t most, double **J, int32_t **columns)
{
    tdSapConstraint *constraint = &problem->constraints[problem->n_constraints - 1];
    int64_t numbers = constraint->law.rows * (int64_t)most;
    *J = td_stack_take(&problem->entries, numbers + (most + 1) / 2, sizeof **J); // the columns stand behind
    if (*J == NULL)
        return NULL;
    *columns = (int32_t *)(*J + numbers);
    tdSapSide *side = &constraint->side[constraint->sides++];
    *side = (tdSapSide){.block = block, .count = most, .columns = *columns, .J = *J};
    return side;
}

void td_problem_side_is(tdProblem *problem, int32_t count)
{
    tdSapConstraint *constraint = &problem->constraints[problem->n_constraints - 1];
    constraint->side[constraint->sides - 1].count = count;
    constraint->sides -= count == 0;
}

void td_problem_drop(tdProblem *problem)
{
    problem->n_constraints--;
}

// ---------------------------------------------------------------- methods

static tdSapProblem view(const tdProblem *problem)
{
    return (tdSapProblem){.n_blocks = problem->n_blocks,
                          .n_constraints = problem->n_constraints,
                          .blocks = problem->blocks,
                          .constraints = problem->constraints,
                          .gamma = problem->gamma,
                          .v_c = problem->v_c};
}

tdStatus td_problem_weigh(tdProblem *problem, tdTasks *tasks, tdError *error)
{
    tdSapProblem rows = view(problem);
    double largest = 0;
    TD_TRY(td_sap_weights(problem->sap, tasks, &rows, TD_SAP_EXACT, problem->factors, problem->w, error));
    for (int32_t c = 0; c < problem->n_constraints; c++)
        largest = fmax(largest, problem->w[c]);
    // A point that no coordinate of its bodies moves, as on the axis of a joint, has none.
    for (int32_t c = 0; c < problem->n_constraints; c++)
        problem->w[c] = fmax(problem->w[c], fmax(1e-12 * largest, 1e-30));
    return TD_OK;
}

double td_problem_momentum(tdProblem *problem)
{
    double square = 0;
    for (int32_t b = 0; b < problem->n_blocks; b++)
    {
        const tdSapBlock *block = &problem->blocks[b];
        tdStackMark mark = td_stack_mark(&problem->entries);
        double *p = td_stack_take(&problem->entries, block->n, sizeof *p);
        if (p == NULL || block->n == 0)
            continue;
        if (block->sparse != NULL)
            td_sap_sparse_multiply(block->sparse, block->n, block->v, p);
        else
            cblas_dsymv(CblasColMajor, CblasLower, block->n, 1, block->A, block->stride, block->v, 1, 0, p, 1);
        for (int32_t i = 0; i < block->n; i++)
            square += p[i] * p[i];
        td_stack_release(&problem->entries, mark);
    }
    return sqrt(square);
}

tdStatus td_problem_by_velocities(tdProblem *problem, double tolerance, tdTasks *tasks, tdSolveResult *out,
                                  tdError *error)
{
    tdSapProblem rows = view(problem);
    tdSapSettings settings = td_default_sap();
    settings.tolerance = fmin(settings.tolerance, tolerance);
    tdSapResult result;
    TD_TRY(td_sap_solve(problem->sap, tasks, &rows, &settings, &result, error));
    for (int32_t b = 0; b < problem->n_blocks; b++) // the next solution, with other laws, begins with this one
        problem->blocks[b].change = NULL;
    // An island where nothing moves ends by its absolute bound; relative to next to nothing its residual says nothing.
    bool all = result.bound + result.roundoff == 0;
    out->iterations += result.iterations;
    out->residual = all ? fmin(result.residual, settings.tolerance) : result.residual;
    out->limit = result.bound > 0;
    out->shifted = out->shifted || result.shifted > 0;
    return TD_OK;
}

tdStatus td_problem_slope(tdProblem *problem, tdTasks *tasks, int n, const double *const *X, const double *change,
                          double *dgamma, double *dv_c, tdError *error)
{
    tdSapProblem rows = view(problem);
    return td_sap_slope(problem->sap, tasks, &rows, n, X, change, dgamma, dv_c, error);
}

// The convex problem's compliance of the tangents is a matter of its own and left out: what sticks does not creep. Each
// solution starts from no impulses, so that it depends on the state alone.
static tdStatus by_impulses(tdProblem *problem, double tolerance, tdTasks *tasks, tdSolveResult *out, tdError *error)
{
    tdSapProblem rows = view(problem);
    tdDual *dual = &problem->dual;
    tdNlcpSettings settings = td_default_nlcp();
    settings.tolerance = fmin(settings.tolerance, tolerance);
    settings.tasks = tasks;
    tdNlcpResult result = {.converged = true};
    TD_TRY(td_dual_make(dual, &rows, problem->factors, NULL, error));
    for (int32_t c = 0; c < rows.n_constraints; c++)
    {
        dual->laws[c] = rows.constraints[c].law;
        for (int r = 0; r < dual->laws[c].rows; r++)
        {
            dual->b[dual->first[c] + r] -= dual->laws[c].v_hat[r];
            dual->gamma[dual->first[c] + r] = 0;
        }
        if (dual->laws[c].kind == TD_SAP_CONTACT)
            dual->laws[c].R[0] = dual->laws[c].R[1] = 0;
    }
    const tdNlcp small = {rows.n_constraints, dual->laws, dual->n, dual->n, dual->W, dual->b, dual->gamma};
    if (dual->n > 0)
        td_nlcp_solve(&small, &settings, dual->velocity, &result);
    for (int32_t c = 0; c < rows.n_constraints; c++)
        for (int r = 0; r < dual->laws[c].rows; r++)
        {
            int i = dual->first[c] + r;
            rows.gamma[TD_SAP_ROWS * (int64_t)c + r] = dual->gamma[i];
            rows.v_c[TD_SAP_ROWS * (int64_t)c + r] =
                dual->velocity[i] - dual->laws[c].R[r] * dual->gamma[i] + dual->laws[c].v_hat[r];
        }
    out->iterations += result.iterations;
    out->residual = result.residual;
    out->limit = !result.converged;
    return td_dual_move(dual, &rows, problem->factors, dual->gamma, error);
}

tdStatus td_solve(tdProblem *problem, tdSolveMethod method, double tolerance, tdTasks *tasks, tdSolveResult *result,
                  tdError *error)
{
    tdScalarRows *scalar = &problem->scalar;
    *result = (tdSolveResult){0};
    if (method == TD_SOLVE_INVERSE && problem->steer.n > 0)
        return problem->steer.exact ? td_qpcc_solve(problem, tolerance, tasks, result, error)
                                    : td_steer_solve(problem, tolerance, tasks, result, error);
    do
    {
        if (method == TD_SOLVE_INVERSE)
            td_inverse_solve(scalar->inverse, scalar->work, scalar->warm, &scalar->result);
        else if (problem->n_constraints == 0 && scalar->driven.n > 0)
            scalar->solved = td_driven_solve(&scalar->driven, scalar->scratch, scalar->y, scalar->active);
        else if (method == TD_SOLVE_COULOMB)
            TD_TRY(by_impulses(problem, tolerance, tasks, result, error));
        else if (problem->n_blocks > 0)
            TD_TRY(td_problem_by_velocities(problem, tolerance, tasks, result, error));
    } while (problem->again != NULL && problem->again(problem->context, problem, result));
    return TD_OK;
}
