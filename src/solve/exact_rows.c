// SPDX-License-Identifier: Apache-2.0
// Rows of the dual that the exact laws are about: which contacts take part, what efforts do to them, and what becomes
// of a solution. See exact.h; exact.c solves on them.
#include "solve/exact.h"

#include "solve/lu.h"
#include "solve/problem.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#define GIVES 1e-7 // of W_ii: what tangents give way by, so that bodies that stick at many points have one solution
#define NEAR  0.03 // of the largest distance: contacts that do not bear take part below it

// ---------------------------------------------------------------- rows

static tdSapProblem view(const tdProblem *p)
{
    return (tdSapProblem){.n_blocks = p->n_blocks,
                          .n_constraints = p->n_constraints,
                          .blocks = p->blocks,
                          .constraints = p->constraints,
                          .gamma = p->gamma,
                          .v_c = p->v_c};
}

static bool take(tdExact *e)
{
    int64_t n = e->n, n_y = e->n_y;
    tdStack *stack = &e->problem->entries;
    struct
    {
        double **at;
        int64_t count;
    } parts[] = {{&e->b0, n},
                 {&e->b, n},
                 {&e->B, n * n_y},
                 {&e->R, n},
                 {&e->v_hat, n},
                 {&e->gamma, n},
                 {&e->u, n},
                 {&e->slope, n * n_y},
                 {&e->u_slope, n * n_y},
                 {&e->along, 2 * (int64_t)e->problem->n_constraints},
                 {&e->factored_along, 2 * (int64_t)e->problem->n_constraints},
                 {&e->apart, e->problem->n_constraints},
                 {&e->K, n * (n + TD_LU_LANES)},
                 {&e->right, (n + 6) * (n_y + 1 + TD_LU_LANES)},
                 {&e->last, n},
                 {&e->miss, n},
                 {&e->state, 3 * (int64_t)e->problem->n_constraints},
                 {&e->part, n * n},
                 {&e->base.K, n * (n + TD_LU_LANES)},
                 {&e->base.gamma, n},
                 {&e->base.u, n},
                 {&e->base.own, 2 * n},
                 {&e->base.slope, n * n_y},
                 {&e->base.u_slope, n * n_y},
                 {&e->base.state, 3 * (int64_t)e->problem->n_constraints},
                 {&e->base.along, 2 * (int64_t)e->problem->n_constraints},
                 {&e->base.Z, 3 * n},
                 {&e->base.WZ, 3 * n}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if ((*parts[i].at = td_stack_take(stack, parts[i].count + 1, sizeof(double))) == NULL)
            return false;
    e->in = td_stack_take(stack, e->problem->n_constraints + 1, sizeof *e->in);
    e->takes_part = td_stack_take(stack, e->problem->n_constraints + 1, sizeof *e->takes_part);
    e->mode = td_stack_take(stack, n + 1, sizeof *e->mode);
    e->place = td_stack_take(stack, n + 1, sizeof *e->place);
    e->rows = td_stack_take(stack, n + 1, sizeof *e->rows);
    e->pivots = td_stack_take(stack, n + 1, sizeof *e->pivots);
    e->factored = td_stack_take(stack, n + 1, sizeof *e->factored);
    e->base.mode = td_stack_take(stack, n + 1, sizeof *e->base.mode);
    e->base.place = td_stack_take(stack, n + 1, sizeof *e->base.place);
    e->base.rows = td_stack_take(stack, n + 1, sizeof *e->base.rows);
    e->base.pivots = td_stack_take(stack, n + 1, sizeof *e->base.pivots);
    return e->in != NULL && e->takes_part != NULL && e->mode != NULL && e->place != NULL && e->rows != NULL &&
           e->pivots != NULL && e->factored != NULL && e->base.mode != NULL && e->base.place != NULL &&
           e->base.rows != NULL && e->base.pivots != NULL;
}

// B = J X. Efforts lie side by side for each velocity, so that a row of J runs along them.
static bool make_columns(const tdExact *e)
{
    const tdProblem *p = e->problem;
    int64_t n_y = e->n_y;
    memset(e->B, 0, (size_t)e->n * (size_t)n_y * sizeof *e->B);
    for (int32_t b = 0; b < p->n_blocks; b++)
    {
        const double *X = p->steer.X[b];
        int64_t n = p->blocks[b].n;
        if (X == NULL)
            continue;
        tdStackMark mark = td_stack_mark(&e->problem->entries);
        double *turned = td_stack_take(&e->problem->entries, n * n_y + 1, sizeof *turned);
        if (turned == NULL)
            return false;
        for (int64_t j = 0; j < n_y; j++)
            for (int64_t i = 0; i < n; i++)
                turned[i * n_y + j] = X[i + j * n];
        for (int32_t each = 0; each < e->n_in; each++)
        {
            int32_t c = e->in[each];
            for (int k = 0; k < p->constraints[c].sides; k++)
            {
                const tdSapSide *side = &p->constraints[c].side[k];
                for (int r = 0; side->block == b && r < p->constraints[c].law.rows; r++)
                    td_steer_along(side, r, turned, (int)n_y, e->B + (p->dual.first[c] + r) * n_y);
            }
        }
        td_stack_release(&e->problem->entries, mark);
    }
    return true;
}

// Motion of the normal of a contact at the velocities of the blocks, as u.
static double apart(const tdProblem *p, int32_t c)
{
    const tdSapConstraint *constraint = &p->constraints[c];
    double u = -constraint->law.v_hat[2];
    for (int k = 0; k < constraint->sides; k++)
        td_steer_along(&constraint->side[k], 2, p->blocks[constraint->side[k].block].v, 1, &u);
    return u;
}

// Contacts that bear, or that come near to it, at the velocities and impulses of the problem.
static void choose_contacts(tdExact *e, bool all)
{
    const tdProblem *p = e->problem;
    double most = 0;
    for (int32_t c = 0; c < p->n_constraints; c++)
    {
        e->apart[c] = !all && p->constraints[c].law.kind == TD_SAP_CONTACT ? apart(p, c) : 0;
        most = fmax(most, fabs(e->apart[c]));
    }
    for (int32_t c = 0; c < p->n_constraints; c++)
        e->takes_part[c] = p->gamma[TD_SAP_ROWS * (int64_t)c + 2] > 0 || e->apart[c] <= NEAR * most;
}

// The dual of the contacts that take part, from the impulses of the problem.
static tdStatus make_rows(tdExact *e, tdError *error)
{
    const tdProblem *p = e->problem;
    tdSapProblem rows = view(p);
    e->n_in = 0;
    for (int32_t c = 0; c < p->n_constraints; c++)
        if (e->takes_part[c])
            e->in[e->n_in++] = c;
    TD_TRY(td_dual_make(&e->problem->dual, &rows, p->factors, e->takes_part, error));
    e->n = p->dual.n;
    e->has_factor = false;
    e->base.contact = -1;
    memcpy(e->b0, p->dual.b, (size_t)e->n * sizeof *e->b0);
    for (int32_t each = 0; each < e->n_in; each++)
        for (int r = 0, c = e->in[each]; r < p->constraints[c].law.rows; r++)
            e->gamma[p->dual.first[c] + r] = p->gamma[TD_SAP_ROWS * (int64_t)c + r];
    memset(e->mode, 0, (size_t)e->n * sizeof *e->mode);
    memset(e->along, 0, 2 * (size_t)p->n_constraints * sizeof *e->along);
    if (!make_columns(e))
        return td_fail_memory(error, "inverse control beside contact");
    td_exact_laws(e);
    return TD_OK;
}

tdStatus td_exact_begin(tdExact *e, tdProblem *problem, const double *y0, tdError *error)
{
    const double *warm = problem->steer.warm;
    *e = (tdExact){.problem = problem, .n_y = problem->steer.n, .y0 = y0, .isa = td_isa_pick(false)};
    for (int32_t c = 0; c < problem->n_constraints; c++)
        e->n += problem->constraints[c].law.rows;
    if (!take(e))
        return td_fail_memory(error, "inverse control beside contact");
    for (int32_t c = 0; c < problem->n_constraints; c++)
        for (int r = 0; r < TD_SAP_ROWS; r++)
        {
            int64_t i = TD_SAP_ROWS * (int64_t)c + r;
            problem->gamma[i] = warm != NULL && r < problem->constraints[c].law.rows ? warm[i] : 0;
            problem->v_c[i] = 0;
        }
    choose_contacts(e, warm == NULL);
    return make_rows(e, error);
}

tdStatus td_exact_grow(tdExact *e, bool *grown, tdError *error)
{
    const tdProblem *p = e->problem;
    *grown = false;
    for (int32_t c = 0; c < p->n_constraints && e->n_in < p->n_constraints; c++)
    {
        if (e->takes_part[c])
            continue;
        double u = apart(p, c);
        p->v_c[TD_SAP_ROWS * (int64_t)c + 2] = u + p->constraints[c].law.v_hat[2];
        if (u < 0)
            *grown = e->takes_part[c] = true;
    }
    if (!*grown)
        return TD_OK;
    TD_TRY(make_rows(e, error));
    // v_star of the blocks is that at y
    const double *y = p->steer.y;
    cblas_dgemv(CblasRowMajor, CblasNoTrans, e->n, e->n_y, -1, e->B, e->n_y, y, 1, 1, e->b0, 1);
    cblas_dgemv(CblasRowMajor, CblasNoTrans, e->n, e->n_y, 1, e->B, e->n_y, e->y0, 1, 1, e->b0, 1);
    return TD_OK;
}

void td_exact_laws(tdExact *e)
{
    const tdProblem *p = e->problem;
    for (int32_t each = 0; each < e->n_in; each++)
        for (int r = 0, c = e->in[each]; r < p->constraints[c].law.rows; r++)
        {
            const tdSapLaw *law = &p->constraints[c].law;
            int i = p->dual.first[c] + r;
            bool tangent = law->kind == TD_SAP_CONTACT && r < 2;
            e->R[i] = tangent ? GIVES * p->dual.W[i * (int64_t)e->n + i] : law->R[r];
            e->v_hat[i] = law->v_hat[r];
        }
}

// ---------------------------------------------------------------- solution

void td_exact_write(const tdExact *e)
{
    const tdProblem *p = e->problem;
    for (int32_t each = 0; each < e->n_in; each++)
        for (int r = 0, c = e->in[each]; r < p->constraints[c].law.rows; r++)
        {
            int i = p->dual.first[c] + r;
            p->gamma[TD_SAP_ROWS * (int64_t)c + r] = e->gamma[i];
            p->v_c[TD_SAP_ROWS * (int64_t)c + r] = e->u[i] - e->R[i] * e->gamma[i] + e->v_hat[i];
        }
}

tdStatus td_exact_move(tdExact *e, tdError *error)
{
    tdSapProblem rows = view(e->problem);
    return td_dual_move(&e->problem->dual, &rows, e->problem->factors, e->gamma, error);
}
