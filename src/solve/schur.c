// SPDX-License-Identifier: Apache-2.0
// See schur.h.
#include "solve/schur.h"

#include "base/lapack.h"
#include "solve/schur_tree.h"

#include <cblas.h>
#include <cholmod.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// A symbolic factor takes about 120 ns for each entry of A; numeric operations, at 20 a nanosecond on large bodies and
// at 5 on small ones, could be so many in that time.
#define ANALYSIS_LARGE 2400.0
#define ANALYSIS_SMALL 600.0
// Moving nodes to the end of the order lengthens the columns on their paths: this share of what solving along them
// costs.
#define LAST_SHARE 0.85
// Solving along paths works on larger matrices than a factorization does: an operation takes this much of the time.
#define PATH_RATE 0.75
// Nodes up to which a new minimum degree order with the participating nodes last (CAMD) beats moving them in the
// standing order.
#define SMALL_BODY 1000

struct tdSchur
{
    const tdLinearModel *model;
    tdSchurSettings settings;
    tdArena arena;
    cholmod_common common;
    cholmod_factor *factor;
    const tdFactorPlan *plan; // of the factor: the model's, or
    tdFactorPlan own;         // that of an order of its own
    double *work;             // of a factorization
    int64_t work_room;
    cholmod_sparse A;            // its pattern
    tdArena solving;             // of the next two, which are the factor's
    tdTriangularShape own_shape; // where it has an order of its own
    tdSubstitution substitution;
    double *force; // over unknowns
    tdSchurTree tree;
    double flops;                // of the factorization
    double spent;                // since the last order
    int32_t *ordered, *left;     // by node
    int32_t n_ordered, *last;    // places of unknowns that stand last, ascending
    int32_t *order, *group;      // scratch for a new order: by unknown, by node
    bool factored;               // there are numbers
    tdSchurWay way;              // of the present set
    int32_t n, *places;          // the present set, ascending
    int32_t *coord, *column;     // of the condensed body
    bool *touched;               // by node
    bool has_A, has_L;           // made since the last factorization
    double *dense, *hat, *lower; // growing: scratch, A_hat, L
    int64_t dense_room, hat_room, lower_room;
};

tdSchurSettings td_default_schur(void)
{
    return (tdSchurSettings){.way = TD_SCHUR_AUTO, .patience = 20};
}

static bool grow(double **data, int64_t *room, int64_t need)
{
    return td_grow((void **)data, room, need, sizeof **data);
}

// ---------------------------------------------------------------- life

static tdStatus take_arrays(tdSchur *schur, tdError *error)
{
    const tdLinearModel *model = schur->model;
    int32_t n = model->n, nodes = model->pattern->n;
    tdArena *arena = &schur->arena;
    schur->force = TD_TAKE(arena, double, n);
    schur->ordered = TD_TAKE(arena, int32_t, nodes);
    schur->left = TD_TAKE(arena, int32_t, nodes);
    schur->group = TD_TAKE(arena, int32_t, nodes);
    schur->touched = TD_TAKE(arena, bool, nodes);
    schur->last = TD_TAKE(arena, int32_t, n);
    schur->order = TD_TAKE(arena, int32_t, n);
    schur->places = TD_TAKE(arena, int32_t, n);
    schur->coord = TD_TAKE(arena, int32_t, n);
    schur->column = TD_TAKE(arena, int32_t, 3 * (int64_t)nodes);
    if (schur->force == NULL || schur->ordered == NULL || schur->left == NULL || schur->group == NULL ||
        schur->touched == NULL || schur->last == NULL || schur->order == NULL || schur->places == NULL ||
        schur->coord == NULL || schur->column == NULL)
        return td_fail_memory(error, "the condensation");
    schur->A = td_cholmod_lower(n, model->Ap, model->Ai);
    for (int64_t i = 0; i < 3 * (int64_t)nodes; i++)
        schur->column[i] = -1;
    return td_schur_tree_create(arena, n, &schur->tree, error);
}

// Room for solves with the factor, by the machine's own kernels, as it is made.
static tdStatus make_substitution(tdSchur *schur, const tdTriangularShape *shape, tdError *error)
{
    return td_substitution_create(&schur->solving, shape, td_isa_pick_wide(false), &schur->substitution, error);
}

tdStatus td_schur_create(const tdLinearModel *model, const tdSchurSettings *settings, tdSchur **out, tdError *error)
{
    tdSchur *schur = *out = td_take(1, sizeof *schur);
    if (schur == NULL)
        return td_fail_memory(error, "the condensation");
    schur->model = model;
    schur->settings = *settings;
    td_cholmod_start(&schur->common);
    tdStatus status = take_arrays(schur, error);
    if (status == TD_OK && model->n > 0)
    {
        schur->factor = cholmod_copy_factor(model->symbolic, &schur->common);
        if (schur->factor == NULL)
            status = td_fail_memory(error, "the condensation");
        else
        {
            td_schur_tree_set(&schur->tree, schur->factor);
            status = make_substitution(schur, &model->shape, error);
        }
        schur->flops = model->factor_flops;
        schur->plan = &model->plan;
    }
    if (status != TD_OK)
    {
        td_schur_free(schur);
        *out = NULL;
    }
    return status;
}

void td_schur_free(tdSchur *schur)
{
    if (schur == NULL)
        return;
    cholmod_free_factor(&schur->factor, &schur->common);
    cholmod_finish(&schur->common);
    td_schur_tree_free(&schur->tree);
    td_arena_free(&schur->arena);
    td_arena_free(&schur->solving);
    td_factor_plan_free(&schur->own);
    free(schur->work);
    free(schur->dense);
    free(schur->hat);
    free(schur->lower);
    free(schur);
}

tdSchurKept td_schur_kept(tdSchur *schur)
{
    return (tdSchurKept){schur->model->pattern->n, schur->ordered, schur->left, &schur->spent};
}

// ---------------------------------------------------------------- orders

// Minimum degree with the ordered nodes last.
static tdStatus order_small(tdSchur *schur, tdError *error)
{
    const tdLinearModel *model = schur->model;
    const tdBlockPattern *pattern = model->pattern;
    cholmod_common *common = &schur->common;
    cholmod_sparse *graph = cholmod_allocate_sparse((size_t)pattern->n, (size_t)pattern->n, (size_t)pattern->blocks, 1,
                                                    1, 1, CHOLMOD_PATTERN, common);
    int32_t *nodes = td_take((size_t)pattern->n, sizeof *nodes);
    tdStatus status = TD_OK;
    if (graph == NULL || nodes == NULL)
        status = td_fail_memory(error, "the order of the matrix");
    else
    {
        for (int32_t k = 0; k <= pattern->n; k++)
            ((int32_t *)graph->p)[k] = (int32_t)pattern->row[k];
        memcpy(graph->i, pattern->column, (size_t)pattern->blocks * sizeof(int32_t));
        for (int32_t i = 0; i < pattern->n; i++)
            schur->group[i] = schur->ordered[i];
        if (!cholmod_camd(graph, NULL, 0, schur->group, nodes, common))
            status = td_fail(error, TD_ERROR_NUMERIC, "CHOLMOD could not order the matrix (status %d)", common->status);
    }
    int32_t at = 0;
    for (int32_t k = 0; k < pattern->n && status == TD_OK; k++)
        for (int c = 0; c < 3; c++)
            if (model->dof[3 * nodes[k] + c] >= 0)
                schur->order[at++] = model->dof[3 * nodes[k] + c];
    cholmod_free_sparse(&graph, common);
    free(nodes);
    return status;
}

// The standing order with the ordered nodes moved to its end.
static void order_large(tdSchur *schur)
{
    const tdLinearModel *model = schur->model;
    const int32_t *standing = model->symbolic->Perm;
    int32_t at = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < model->n; i++)
            if ((schur->ordered[model->coord[standing[i]] / 3] != 0) == (pass == 1))
                schur->order[at++] = standing[i];
}

// A symbolic factor for the nodes in `ordered`; the standing one where there are none.
static tdStatus analyse(tdSchur *schur, tdError *error)
{
    const tdLinearModel *model = schur->model;
    cholmod_common *common = &schur->common;
    schur->n_ordered = 0;
    for (int32_t i = 0; i < model->n; i++)
        schur->n_ordered += schur->ordered[model->coord[i] / 3] != 0;
    cholmod_factor *made = NULL;
    if (schur->n_ordered == 0)
        made = cholmod_copy_factor(model->symbolic, common);
    else
    {
        if (model->pattern->n <= SMALL_BODY)
            TD_TRY(order_small(schur, error));
        else
            order_large(schur);
        common->nmethods = 1;
        common->method[0].ordering = CHOLMOD_GIVEN;
        common->postorder = 1;
        made = cholmod_analyze_p(&schur->A, schur->order, NULL, 0, common);
    }
    if (made == NULL)
        return td_fail_memory(error, "the factor of the matrix");
    cholmod_free_factor(&schur->factor, common);
    td_factor_plan_free(&schur->own);
    schur->factor = made;
    schur->plan = &model->plan;
    td_arena_free(&schur->solving);
    if (schur->n_ordered > 0)
    {
        tdFactorMatrix matrix = {model->n, model->Ap, model->Ai, model->source};
        TD_TRY(td_factor_plan(made, &matrix, &schur->own, error));
        TD_TRY(td_triangular_shape(&schur->solving, made, &schur->own_shape, error));
        schur->plan = &schur->own;
    }
    TD_TRY(make_substitution(schur, schur->n_ordered > 0 ? &schur->own_shape : &model->shape, error));
    schur->flops = schur->n_ordered == 0 ? model->factor_flops : common->fl;
    schur->factored = false;
    td_schur_tree_set(&schur->tree, made);
    int32_t k = 0;
    for (int32_t i = 0; i < model->n; i++)
        if (schur->ordered[model->coord[((const int32_t *)made->Perm)[i]] / 3] != 0)
            schur->last[k++] = i;
    return TD_OK;
}

tdStatus td_schur_restore(tdSchur *schur, tdError *error)
{
    return schur->model->n == 0 ? TD_OK : analyse(schur, error);
}

// ---------------------------------------------------------------- choice

static double cube(double n)
{
    return n * n * n;
}

// Places of the touched unknowns in the present factor, ascending, and what they are in the condensed body.
static void list_places(tdSchur *schur)
{
    const tdLinearModel *model = schur->model;
    const int32_t *order = schur->factor->Perm;
    for (int32_t k = 0; k < schur->n; k++)
        schur->column[schur->coord[k]] = -1;
    schur->n = 0;
    for (int32_t i = 0; i < model->n; i++)
    {
        int32_t coord = model->coord[order[i]];
        if (!schur->touched[coord / 3])
            continue;
        schur->places[schur->n] = i;
        schur->coord[schur->n] = coord;
        schur->column[coord] = schur->n++;
    }
}

// Operations of a condensation to the present set, beside those of the standing factor: by an order of its own; along
// the paths; and by the order there is, whose last unknowns include the set.
typedef struct schurCost
{
    double ideal, path, inside;
} schurCost;

static schurCost costs(tdSchur *schur, bool inside)
{
    double solve, square, n = schur->n, all = schur->n_ordered, u = all - n;
    td_schur_tree_visit(&schur->tree, schur->n, schur->places, &solve, &square);
    schurCost cost = {.path = PATH_RATE * (solve + square + cube(n))};
    double longer = schur->flops - schur->model->factor_flops; // of an order with others at its end
    if (inside)
    {
        cost.inside = longer + cube(all) / 3 + (u > 0 ? cube(u) / 3 + u * u * n + u * n * n : 0);
        cost.ideal = (all > 0 ? longer * n / all : 0) + cube(n) / 3;
    }
    else
    {
        cost.path += longer;
        cost.ideal = LAST_SHARE * solve + cube(n) / 3;
    }
    return cost;
}

static tdStatus choose(tdSchur *schur, bool inside, bool all_left, tdSchurReport *report, tdError *error)
{
    const tdLinearModel *model = schur->model;
    tdSchurWay asked = schur->settings.way;
    bool renew = false;
    list_places(schur);
    if (schur->n == 0)
        renew = schur->n_ordered > 0 && all_left; // nothing has touched for a while: back to the standing order
    else if (asked == TD_SCHUR_LAST)
        renew = !inside;
    else if (asked == TD_SCHUR_AUTO)
    {
        schurCost cost = costs(schur, inside);
        schur->spent += inside ? cost.inside - cost.ideal : cost.path - cost.ideal;
        bool small = model->pattern->n <= SMALL_BODY;
        renew = schur->spent > (small ? ANALYSIS_SMALL : ANALYSIS_LARGE) * model->Ap[model->n];
    }
    if (renew)
    {
        for (int32_t i = 0; i < model->pattern->n; i++)
            schur->ordered[i] = schur->left[i] > 0;
        TD_TRY(analyse(schur, error));
        schur->spent = 0;
        report->analysed = true;
        inside = true;
        list_places(schur);
    }
    schur->way = inside ? TD_SCHUR_LAST : TD_SCHUR_PATH;
    schurCost cost = costs(schur, inside);
    double longer = schur->flops - model->factor_flops;
    report->condense_flops = schur->n == 0 ? 0 : (inside ? cost.inside : cost.path) - longer;
    return TD_OK;
}

// ---------------------------------------------------------------- factor

static tdStatus factorize(tdSchur *schur, tdTasks *tasks, const double *values, bool *definite, tdError *error)
{
    if (!grow(&schur->work, &schur->work_room, schur->plan->room))
        return td_fail_memory(error, "the factor of the matrix");
    TD_TRY(td_factor_ready(schur->factor, &schur->common, error));
    *definite = schur->factored = td_factor_numbers(schur->plan, tasks, values, schur->work, schur->factor);
    schur->has_A = schur->has_L = false;
    return TD_OK;
}

tdStatus td_schur_factor(tdSchur *schur, tdTasks *tasks, const double *values, int32_t n_nodes, const int32_t *nodes,
                         tdSchurReport *report, tdError *error)
{
    const tdLinearModel *model = schur->model;
    *report = (tdSchurReport){.way = TD_SCHUR_LAST};
    bool inside = true, all_left = true;
    memset(schur->touched, 0, (size_t)model->pattern->n * sizeof *schur->touched);
    for (int32_t i = 0; i < model->pattern->n; i++)
        schur->left[i] -= schur->left[i] > 0;
    for (int32_t k = 0; k < n_nodes; k++)
    {
        if (nodes[k] < 0 || nodes[k] >= model->pattern->n)
            return td_fail(error, TD_ERROR_USAGE, "node %d of a body of %d nodes takes part in contact", nodes[k],
                           model->pattern->n);
        schur->touched[nodes[k]] = true;
        schur->left[nodes[k]] = schur->settings.patience > 1 ? schur->settings.patience : 1;
        const int32_t *dof = model->dof + 3 * (int64_t)nodes[k];
        bool held = dof[0] < 0 && dof[1] < 0 && dof[2] < 0;
        inside = inside && (held || schur->ordered[nodes[k]] != 0);
    }
    if (model->n == 0)
        return TD_OK;
    for (int32_t i = 0; i < model->pattern->n; i++)
        all_left = all_left && schur->left[i] == 0;
    TD_TRY(choose(schur, inside, all_left, report, error));
    report->way = schur->way;
    report->participating = schur->n;
    report->ordered = schur->n_ordered;
    report->factor_flops = schur->flops;
    bool definite = true;
    TD_TRY(factorize(schur, tasks, values, &definite, error));
    report->indefinite = !definite;
    return TD_OK;
}

static tdStatus need_factor(const tdSchur *schur, tdError *error)
{
    if (schur->model->n > 0 && !schur->factored)
        return td_fail(error, TD_ERROR_NUMERIC, "the matrix of the body has no factor: it is not positive definite");
    return TD_OK;
}

tdStatus td_schur_extend(tdSchur *schur, int32_t n_nodes, const int32_t *nodes, tdError *error)
{
    const tdLinearModel *model = schur->model;
    bool inside = schur->way == TD_SCHUR_LAST, more = false;
    TD_TRY(need_factor(schur, error));
    for (int32_t k = 0; k < n_nodes; k++)
    {
        if (schur->touched[nodes[k]])
            continue;
        more = schur->touched[nodes[k]] = true;
        schur->left[nodes[k]] = schur->settings.patience > 1 ? schur->settings.patience : 1;
        inside = inside && schur->ordered[nodes[k]] != 0;
    }
    if (!more || model->n == 0)
        return TD_OK;
    list_places(schur);
    schur->way = inside ? TD_SCHUR_LAST : TD_SCHUR_PATH;
    schurCost cost = costs(schur, inside);
    schur->spent += schur->settings.way == TD_SCHUR_AUTO && !inside ? cost.path - cost.ideal : 0;
    schur->has_A = schur->has_L = false;
    return TD_OK;
}

// Held coordinates of a column.
static void hold(const tdLinearModel *model, double *x)
{
    for (int64_t i = 0; i < 3 * (int64_t)model->pattern->n; i++)
        x[i] = model->dof[i] < 0 ? 0 : x[i];
}

tdStatus td_schur_solve_with(tdSchur *schur, tdTasks *tasks, const double *b, double *x, tdLinearMore *more,
                             tdError *error)
{
    const tdLinearModel *model = schur->model;
    TD_TRY(need_factor(schur, error));
    tdSubstituteTask task = {.values = model->n > 0 ? schur->factor->x : NULL, .coord = model->coord, .b = b, .x = x};
    if (more != NULL)
    {
        task.more = more->n;
        task.stride = more->stride;
        task.more_b = more->b;
        task.more_x = more->x;
        more->done = true;
    }
    if (model->n > 0)
        td_substitute(&schur->substitution, tasks, &task);
    hold(model, x);
    for (int j = 0; j < task.more; j++)
        hold(model, task.more_x + j * task.stride);
    return TD_OK;
}

tdStatus td_schur_solve(tdSchur *schur, tdTasks *tasks, int n, int64_t stride, const double *b, double *x,
                        tdError *error)
{
    tdLinearMore more = {.n = n - 1, .stride = stride, .b = b + stride, .x = x + stride};
    return n == 0 ? need_factor(schur, error) : td_schur_solve_with(schur, tasks, b, x, n > 1 ? &more : NULL, error);
}

// ---------------------------------------------------------------- condensation

// hat = L_ss L_ss' of the unknowns that stand last, full lower triangle. L_ss is kept in `lower`. L L' by LAPACK is
// only there for upper triangles, U U': the order is turned round.
static tdStatus read_last(tdSchur *schur, tdError *error)
{
    int n = schur->n_ordered, info = 0;
    int64_t size = (int64_t)n * n;
    if (!grow(&schur->dense, &schur->dense_room, size) || !grow(&schur->lower, &schur->lower_room, size) ||
        !grow(&schur->hat, &schur->hat_room, size))
        return td_fail_memory(error, "the condensation");
    const cholmod_factor *factor = schur->factor;
    const int32_t *super = factor->super, *pi = factor->pi, *px = factor->px, *rows = factor->s;
    int32_t *index = schur->order; // by place: its number among the last, or -1
    for (int32_t i = 0; i < schur->model->n; i++)
        index[i] = -1;
    for (int32_t k = 0; k < n; k++)
        index[schur->last[k]] = k;
    memset(schur->lower, 0, (size_t)size * sizeof *schur->lower);
    for (int32_t k = 0; k < n; k++)
    {
        int32_t s = schur->tree.super[schur->last[k]], column = schur->last[k] - super[s];
        int32_t stride = pi[s + 1] - pi[s];
        const double *L = (const double *)factor->x + px[s] + (int64_t)column * stride;
        for (int32_t i = column; i < stride; i++)
        {
            int32_t to = index[rows[pi[s] + i]];
            if (to >= k) // a row that does not stand last is a zero of a merged supernode
                schur->lower[to + (int64_t)k * n] = L[i];
        }
    }
    double *U = schur->dense;
    for (int32_t k = 0; k < n; k++)
        for (int32_t i = k; i < n; i++)
            U[(n - 1 - i) + (int64_t)(n - 1 - k) * n] = schur->lower[i + (int64_t)k * n];
    dlauum_("U", &n, U, &n, &info, 1);
    for (int32_t k = 0; k < n; k++)
        for (int32_t i = k; i < n; i++)
            schur->hat[i + (int64_t)k * n] = U[(n - 1 - i) + (int64_t)(n - 1 - k) * n];
    return info == 0 ? TD_OK
                     : td_fail(error, TD_ERROR_NUMERIC, "LAPACK could not multiply a triangular factor (%d)", info);
}

// Condenses hat, over all that stand last, to those that are touched.
static tdStatus drop_untouched(tdSchur *schur, tdError *error)
{
    int all = schur->n_ordered, n = schur->n, u = all - n;
    int32_t *index = schur->order, from = 0, to = 0; // untouched first, then touched, each in its order
    for (int32_t k = 0, t = 0; k < all; k++)
        if (t < n && schur->places[t] == schur->last[k])
        {
            index[u + to++] = k;
            t++;
        }
        else
            index[from++] = k;
    double *M = schur->dense;
    for (int32_t j = 0; j < all; j++)
        for (int32_t i = j; i < all; i++)
        {
            int64_t a = index[i], b = index[j];
            M[i + (int64_t)j * all] = a >= b ? schur->hat[a + b * all] : schur->hat[b + a * all];
        }
    if (!td_factor_panel(u, all, M, all))
        return td_fail(error, TD_ERROR_NUMERIC,
                       "the condensed matrix is not positive definite; use a smaller time_step");
    double *rest = M + u + (int64_t)u * all;
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, n, u, -1, M + u, all, 1, rest, all);
    for (int32_t j = 0; j < n; j++)
        memcpy(schur->hat + j + (int64_t)j * n, rest + j + (int64_t)j * all, (size_t)(n - j) * sizeof *rest);
    return TD_OK;
}

// hat = ((A^-1)_pp)^-1
static tdStatus solve_paths(tdSchur *schur, tdError *error)
{
    int n = schur->n, info = 0;
    if (!grow(&schur->hat, &schur->hat_room, (int64_t)n * n))
        return td_fail_memory(error, "the condensation");
    TD_TRY(td_schur_tree_square(&schur->tree, schur->tree.factor->x, n, schur->places, schur->hat, error));
    info = !td_factor_panel(n, n, schur->hat, n);
    if (info == 0)
        dpotri_("L", &n, schur->hat, &n, &info, 1);
    return info == 0 ? TD_OK
                     : td_fail(error, TD_ERROR_NUMERIC,
                               "the compliance of the touched nodes is not positive definite; use a smaller time_step");
}

tdStatus td_schur_condense(tdSchur *schur, bool factor, tdSchurBody *out, tdError *error)
{
    int n = schur->n;
    TD_TRY(need_factor(schur, error));
    if (!schur->has_A && n > 0)
    {
        schur->has_L = false;
        if (schur->way == TD_SCHUR_PATH)
            TD_TRY(solve_paths(schur, error));
        else
        {
            TD_TRY(read_last(schur, error));
            schur->has_L = n == schur->n_ordered;
            if (!schur->has_L)
                TD_TRY(drop_untouched(schur, error));
        }
    }
    schur->has_A = true;
    if (factor && !schur->has_L && n > 0)
    {
        if (!grow(&schur->lower, &schur->lower_room, (int64_t)n * n))
            return td_fail_memory(error, "the condensation");
        memcpy(schur->lower, schur->hat, (size_t)n * (size_t)n * sizeof *schur->hat);
        if (!td_factor_panel(n, n, schur->lower, n))
            return td_fail(error, TD_ERROR_NUMERIC,
                           "the condensed matrix is not positive definite; use a smaller time_step");
        schur->has_L = true;
    }
    *out = (tdSchurBody){n, schur->coord, schur->column, schur->hat, schur->has_L ? schur->lower : NULL};
    return TD_OK;
}

tdStatus td_schur_recover(tdSchur *schur, tdTasks *tasks, const double *dv_p, double *dv, tdError *error)
{
    const tdLinearModel *model = schur->model;
    tdSchurBody body;
    TD_TRY(td_schur_condense(schur, false, &body, error));
    memset(dv, 0, 3 * (size_t)model->pattern->n * sizeof *dv);
    if (body.n == 0)
        return TD_OK;
    double *force = schur->force;
    cblas_dsymv(CblasColMajor, CblasLower, body.n, 1, body.A, body.n, dv_p, 1, 0, force, 1);
    for (int32_t k = 0; k < body.n; k++)
        dv[body.coord[k]] = force[k];
    return td_schur_solve(schur, tasks, 1, 0, dv, dv, error);
}

tdStatus td_schur_dual(tdSchur *schur, int rows, const int64_t *start, const int32_t *coord, const double *J, double *W,
                       tdError *error)
{
    tdSchurBody body;
    TD_TRY(td_schur_condense(schur, true, &body, error));
    int64_t n = body.n;
    if (rows == 0 || n == 0)
        return TD_OK;
    if (!grow(&schur->dense, &schur->dense_room, n * rows))
        return td_fail_memory(error, "the condensation");
    double *X = schur->dense;
    memset(X, 0, (size_t)(n * rows) * sizeof *X);
    for (int r = 0; r < rows; r++)
        for (int64_t k = start[r]; k < start[r + 1]; k++)
            if (body.column[coord[k]] >= 0)
                X[body.column[coord[k]] + r * n] += J[k];
            else if (schur->model->dof[coord[k]] >= 0)
                return td_fail(error, TD_ERROR_USAGE, "a row acts on coordinate %d, whose node does not participate",
                               coord[k]);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)n, rows, 1, body.L, (int)n, X,
                (int)n);
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, rows, (int)n, 1, X, (int)n, 1, W, rows);
    for (int i = 0; i < rows; i++)
        for (int j = i + 1; j < rows; j++)
            W[j * rows + i] = W[i * rows + j];
    return TD_OK;
}
