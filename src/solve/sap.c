// SPDX-License-Identifier: Apache-2.0
// Newton's method with exact line search on the convex problem of contact; see sap.h.
#include "solve/sap.h"

#include "solve/envelope.h"
#include "solve/sap_plan.h"

#include <cblas.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_STEP     1.5   // of the line search, in steps of Newton
#define SEARCH_TOLERANCE 1e-8  // of the slope, relative to the slope at the start
#define IDLE_STEPS       4     // that do not halve a gradient which is all rounding, before giving up
#define FIRST_SHIFT      1e-14 // of the diagonal, where rounding makes the Hessian indefinite
#define SHORT_STEP       0.05  // of Newton's method, that calls for another way
#define STOPPABLE        1e3   // times what stiction bears: 1 / sigma
#define LAST_SHIFT       1e-3
#define FORCING          1e-3 // of the gradient that a step may leave where it is iterated; less near the end, where
#define LEAST_FORCING    1e-6 // steps of Newton square it
#define NEAR             1e-3 // of what constraints change: how far off a start may be that is looked at first

tdSapSettings td_default_sap(void)
{
    return (tdSapSettings){.tolerance = 1e-6, .absolute = 1e-14, .max_iterations = 500, .max_search = 60};
}

tdStatus td_sap_create(tdSap **out, tdError *error)
{
    *out = td_take(1, sizeof **out);
    // OpenBLAS with several threads gives other bits than with one, and the threads are ours to use.
    openblas_set_num_threads(1);
    return *out == NULL ? td_fail_memory(error, "the contact solver") : TD_OK;
}

void td_sap_free(tdSap *sap)
{
    if (sap == NULL)
        return;
    td_stack_free(&sap->stack);
    td_sap_sparse_free(sap->factors);
    free(sap);
}

// ---------------------------------------------------------------- products

#define SMALL 16 // velocities of a block up to which a library's call costs more than it saves

// y = A x of a small block, of whose A the lower triangle is there.
static void multiply_small(const tdSapBlock *block, const double *x, double *y)
{
    int n = block->n;
    for (int i = 0; i < n; i++)
        y[i] = 0;
    for (int j = 0; j < n; j++)
    {
        const double *a = block->A + j * (int64_t)block->stride;
        double f = x[j], sum = a[j] * f;
        for (int i = j + 1; i < n; i++)
        {
            y[i] += a[i] * f;
            sum += a[i] * x[i];
        }
        y[j] += sum;
    }
}

// y = A x
void td_sap_multiply_A(const tdSapProblem *problem, const tdSapIsland *island, const double *x, double *y)
{
    for (int32_t k = 0; k < island->n_members; k++)
    {
        const tdSapMember *member = &island->members[k];
        const tdSapBlock *block = &problem->blocks[member->block];
        if (island->envelope != NULL)
        {
            td_envelope_multiply(block->n, block->stride, block->A, x + member->first, y + member->first);
            continue;
        }
        if (block->sparse != NULL && block->sparse->pattern != NULL)
        {
            td_sap_sparse_multiply_nodes(island, member, block->sparse, x, y);
            continue;
        }
        double *in = member->in, *out = member->out;
        for (int32_t i = 0; i < block->n; i++)
            in[member->column[i]] = x[member->patch.at[i]];
        if (block->sparse != NULL)
            td_sap_sparse_multiply(&member->plain, block->n, in, out);
        else if (block->n <= SMALL)
            multiply_small(block, in, out);
        else
            cblas_dsymv(CblasColMajor, CblasLower, block->n, 1, block->A, block->stride > 0 ? block->stride : 1, in, 1,
                        0, out, 1);
        for (int32_t i = 0; i < block->n; i++)
            y[member->patch.at[i]] = out[member->column[i]];
    }
}

// v_c = J x
void td_sap_multiply_J(const tdSapIsland *island, const double *x, double *v_c)
{
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapLink *link = &island->links[l];
        int32_t n = link->patch.n;
        if (link->lumped)
        {
            td_envelope_rates(n, link->split, link->patch.at, link->J, x, v_c + TD_SAP_ROWS * (int64_t)l);
            continue;
        }
        if (link->law->rows == 3) // a contact: one gather for its rows
        {
            double sum[3] = {0};
            for (int32_t i = 0; i < n; i++)
            {
                double at = x[link->patch.at[i]];
                sum[0] += link->J[i] * at;
                sum[1] += link->J[n + i] * at;
                sum[2] += link->J[2 * (int64_t)n + i] * at;
            }
            memcpy(v_c + TD_SAP_ROWS * (int64_t)l, sum, sizeof sum);
            continue;
        }
        for (int r = 0; r < link->law->rows; r++)
        {
            const double *J = link->J + r * (int64_t)n;
            double sum = 0;
            for (int32_t i = 0; i < n; i++)
                sum += J[i] * x[link->patch.at[i]];
            v_c[TD_SAP_ROWS * (int64_t)l + r] = sum;
        }
    }
}

// f = J' gamma
static void multiply_transposed(const tdSapIsland *island, const double *gamma, double *f)
{
    memset(f, 0, (size_t)island->n * sizeof *f);
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapLink *link = &island->links[l];
        int32_t n = link->patch.n;
        const double *g3 = gamma + TD_SAP_ROWS * (int64_t)l;
        if (link->lumped)
        {
            if (g3[0] != 0 || g3[1] != 0 || g3[2] != 0)
                td_envelope_forces(n, link->split, link->patch.at, link->J, g3, f);
            continue;
        }
        if (link->law->rows == 3)
        {
            for (int32_t i = 0; i < n && (g3[0] != 0 || g3[1] != 0 || g3[2] != 0); i++)
            {
                double sum = f[link->patch.at[i]] + link->J[i] * g3[0];
                sum += link->J[n + i] * g3[1];
                f[link->patch.at[i]] = sum + link->J[2 * (int64_t)n + i] * g3[2];
            }
            continue;
        }
        for (int r = 0; r < link->law->rows; r++)
        {
            double g = gamma[TD_SAP_ROWS * (int64_t)l + r];
            const double *J = link->J + r * (int64_t)n;
            for (int32_t i = 0; i < n && g != 0; i++)
                f[link->patch.at[i]] += J[i] * g;
        }
    }
}

double td_sap_norm(const tdSapIsland *island, const double *a, const double *b)
{
    double square = 0;
    for (int32_t i = 0; i < island->n; i++)
    {
        double x = island->scale[i] * (b == NULL ? a[i] : a[i] + b[i]);
        square += x * x;
    }
    return sqrt(square);
}

// ---------------------------------------------------------------- evaluation

typedef struct evaluation
{
    double cost;
    double gradient; // scaled norm
    double size;     // what it is measured by
} evaluation;

// reads v      writes v_c, gamma, G, p, force, gradient
static evaluation evaluate(const tdSapProblem *problem, tdSapIsland *island)
{
    evaluation e = {0};
    for (int32_t i = 0; i < island->n; i++)
        island->x[i] = island->v[i] - island->v_star[i];
    td_sap_multiply_A(problem, island, island->x, island->p);
    td_sap_multiply_J(island, island->v, island->v_c);
    e.cost = 0.5 * td_sap_product(island->n, island->x, island->p);
    if (island->b != NULL)
        e.cost -= td_sap_product(island->n, island->x, island->b); // but for a constant
    for (int32_t i = 0; i < island->n && island->b != NULL; i++)
        island->p[i] -= island->b[i];
    for (int32_t l = 0; l < island->n_links; l++)
    {
        int64_t at = TD_SAP_ROWS * (int64_t)l;
        e.cost +=
            td_sap_project(island->links[l].law, island->v_c + at, island->gamma + at, island->G + TD_SAP_ROWS * at);
    }
    multiply_transposed(island, island->gamma, island->force);
    for (int32_t i = 0; i < island->n; i++)
        island->gradient[i] = island->p[i] - island->force[i];
    e.gradient = td_sap_norm(island, island->gradient, NULL);
    e.size = fmax(td_sap_norm(island, island->p, island->q), td_sap_norm(island, island->force, NULL));
    return e;
}

// A bound of what rounding leaves in the gradient, scaled norm: in A (v - v*), where |A_ij| <= sqrt(A_ii A_jj); in the
// rows J v, which 1 / R enlarges; in impulses that cancel.
static double rounding(const tdSapIsland *island)
{
    double inertia = 0, *noise = island->y, square = 0;
    memset(noise, 0, (size_t)island->n * sizeof *noise);
    for (int32_t i = 0; i < island->n; i++)
        inertia += (fabs(island->v[i]) + fabs(island->v_star[i])) / island->scale[i];
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapLink *link = &island->links[l];
        int32_t n = link->patch.n;
        for (int r = 0; r < link->law->rows; r++)
        {
            const double *J = link->J + r * (int64_t)n;
            double sum = fabs(link->law->v_hat[r]);
            for (int32_t i = 0; i < n; i++)
                sum += fabs(J[i] * island->v[link->patch.at[i]]);
            sum = sum / link->law->R[r] + fabs(island->gamma[TD_SAP_ROWS * (int64_t)l + r]);
            for (int32_t i = 0; i < n; i++)
                noise[link->patch.at[i]] += fabs(J[i]) * sum;
        }
    }
    for (int32_t i = 0; i < island->n; i++)
    {
        double x = inertia + island->scale[i] * noise[i];
        square += x * x;
    }
    return DBL_EPSILON * sqrt(square);
}

// ---------------------------------------------------------------- line search

// The cost along v + a dv. Its derivative is taken as what it is at the start and a change: impulses that are large and
// cancel (rows that contradict each other) then leave no rounding in it where their rows are linear.
typedef struct costLine
{
    const tdSapIsland *island;
    double start;     // derivative at 0
    double quadratic; // its change by what is linear in v: dv' (A + J_b' J_b / R_b) dv, b the bilateral rows
} costLine;

static costLine line_along(const tdSapIsland *island, double start)
{
    costLine line = {island, start, td_sap_product(island->n, island->dv, island->Adv)};
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapLaw *law = island->links[l].law;
        const double *dv_c = island->dv_c + TD_SAP_ROWS * (int64_t)l;
        for (int r = 0; r < law->rows && law->kind == TD_SAP_BILATERAL; r++)
            line.quadratic += dv_c[r] * dv_c[r] / law->R[r];
    }
    return line;
}

// First and second derivative at a.
static void slope(const costLine *line, double a, double *first, double *second)
{
    const tdSapIsland *island = line->island;
    double d = 0, dd = line->quadratic;
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapLaw *law = island->links[l].law;
        int64_t place = TD_SAP_ROWS * (int64_t)l;
        const double *dv_c = island->dv_c + place, *before = island->gamma + place;
        double at[TD_SAP_ROWS], gamma[TD_SAP_ROWS], G[TD_SAP_ROWS * TD_SAP_ROWS];
        int n = law->rows;
        if (law->kind == TD_SAP_BILATERAL)
            continue;
        if (law->kind == TD_SAP_CONTACT)
        {
            for (int r = 0; r < 3; r++)
                at[r] = island->v_c[place + r] + a * dv_c[r];
            td_sap_contact_slope(law, at, dv_c, before, &d, &dd);
            continue;
        }
        for (int r = 0; r < n; r++)
            at[r] = island->v_c[place + r] + a * dv_c[r];
        td_sap_project(law, at, gamma, G);
        for (int r = 0; r < n; r++)
        {
            d += (before[r] - gamma[r]) * dv_c[r];
            for (int s = 0; s < n; s++)
                dd += dv_c[r] * G[r * n + s] * dv_c[s];
        }
    }
    *first = line->start + (a * line->quadratic + d);
    *second = dd;
}

// The least cost on [0, LONGEST_STEP]: Newton on the derivative, which grows, kept inside a bracket. The full step of
// Newton comes first, because near the end it is the answer.
static double search(const costLine *line, int most, int *evaluations)
{
    double low = 0, high = INFINITY, a = 1, d, dd, before = INFINITY;
    for (int k = 0; k < most; k++)
    {
        slope(line, a, &d, &dd);
        (*evaluations)++;
        if (fabs(d) <= SEARCH_TOLERANCE * -line->start || (a == LONGEST_STEP && d < 0))
            return a;
        if (d < 0)
            low = a;
        else
            high = a;
        if (high - low <= 4 * DBL_EPSILON * high)
            return a;
        double next = a - d / dd;
        // Newton that does not halve the derivative has met a kink.
        bool slow = fabs(d) > 0.5 * before;
        before = fabs(d);
        if (high == INFINITY)
            next = next < LONGEST_STEP && !slow ? next : LONGEST_STEP;
        else if (!(next > low && next < high) || slow)
            next = 0.5 * (low + high);
        a = next;
    }
    return a;
}

// ---------------------------------------------------------------- Newton

bool td_sap_factor_shifted(const tdSapProblem *problem, tdSapIsland *island, tdTasks *tasks)
{
    if (td_sap_factor(problem, island, tasks, 0))
        return true;
    for (double shift = FIRST_SHIFT; shift <= LAST_SHIFT; shift *= 100)
    {
        island->shifted++;
        if (td_sap_factor(problem, island, tasks, shift))
            return true;
    }
    return false;
}

// v += a dv with dv = -H^-1 gradient. Returns the slope at the start, which is negative while rounding allows.
static double advance(const tdSapProblem *problem, tdSapIsland *island, int most, double accuracy, double *step)
{
    for (int32_t i = 0; i < island->n; i++)
        island->x[i] = -island->gradient[i];
    island->accuracy = accuracy;
    td_sap_substitute(island, island->x, island->dv);
    island->accuracy = 0;
    double start = td_sap_product(island->n, island->dv, island->gradient);
    if (!(start < 0))
        return start;
    td_sap_multiply_A(problem, island, island->dv, island->Adv);
    td_sap_multiply_J(island, island->dv, island->dv_c);
    costLine line = line_along(island, start);
    *step = search(&line, most, &island->evaluations);
    for (int32_t i = 0; i < island->n; i++)
        island->v[i] += *step * island->dv[i];
    return start;
}

// The residual is relative to what the tolerance is for, so that islands in which nothing moves have a small one too.
static void finish(tdSapIsland *island, const evaluation *e, const tdSapSettings *settings, tdSapEnd end)
{
    island->end = end;
    island->cost = e->cost;
    double size = e->size + (settings->tolerance > 0 ? settings->absolute / settings->tolerance : 0);
    island->residual = size > 0 ? e->gradient / size : 0;
}

// Contacts that bear a force and slide no faster than friction can stop within the step are taken to stick: impulse and
// slope as they are inside the cone. Returns how many that changes.
static int take_to_stick(tdSapIsland *island)
{
    int changed = 0;
    for (int32_t l = 0; l < island->n_links; l++)
    {
        const tdSapLaw *law = island->links[l].law;
        int64_t at = TD_SAP_ROWS * (int64_t)l;
        double *gamma = island->gamma + at, *G = island->G + TD_SAP_ROWS * at, y[TD_SAP_ROWS];
        if (law->kind != TD_SAP_CONTACT || !(gamma[2] > 0))
            continue;
        for (int r = 0; r < TD_SAP_ROWS; r++)
            y[r] = (law->v_hat[r] - island->v_c[at + r]) / law->R[r];
        double t = hypot(y[0], y[1]), most = law->mu * fmax(y[2], gamma[2]);
        if (t <= law->mu * y[2] || t > STOPPABLE * most)
            continue;
        changed++;
        memset(G, 0, TD_SAP_ROWS * TD_SAP_ROWS * sizeof *G);
        for (int r = 0; r < TD_SAP_ROWS; r++)
        {
            gamma[r] = y[r];
            G[(TD_SAP_ROWS + 1) * r] = 1 / law->R[r];
        }
    }
    return changed;
}

// Where velocities start from those of the last step, what moves together has slipped by a little, many times what
// stiction allows: contacts look as if they slide, and Newton's method learns in short steps, one by one, that they do
// not. The solution with all of them stuck is often next to the answer; it is taken where its cost is less.
static void stick(const tdSapProblem *problem, tdSapIsland *island, tdTasks *tasks)
{
    double cost = evaluate(problem, island).cost;
    if (!isfinite(cost) || take_to_stick(island) == 0)
        return;
    multiply_transposed(island, island->gamma, island->force);
    for (int32_t i = 0; i < island->n; i++)
        island->x[i] = island->force[i] - island->p[i];
    island->iterations++;
    if (!td_sap_factor_shifted(problem, island, tasks))
        return;
    td_sap_substitute(island, island->x, island->dv);
    for (int32_t i = 0; i < island->n; i++)
    {
        island->x[i] = island->v[i];
        island->v[i] += island->dv[i];
    }
    memcpy(island->dv, island->x, (size_t)island->n * sizeof *island->v); // evaluation needs x
    if (!(evaluate(problem, island).cost < cost))
        memcpy(island->v, island->dv, (size_t)island->n * sizeof *island->v);
}

static bool is_good(const evaluation *e, const tdSapSettings *settings)
{
    return e->gradient <= settings->absolute + settings->tolerance * e->size;
}

static void exchange(tdSapIsland *island)
{
    double *v = island->v;
    island->v = island->best;
    island->best = v;
}

// Whether what is foreseen is so near to the start that it may be better: all else moves.
static bool is_near(const tdSapIsland *island)
{
    double far = 0, all = 0;
    for (int32_t i = 0; i < island->n; i++)
    {
        double d = (island->best[i] - island->v[i]) / island->scale[i];
        double e = (island->v[i] - island->v_star[i]) / island->scale[i];
        far += d * d;
        all += e * e;
    }
    return far <= NEAR * NEAR * all;
}

// What the solution is if all is at rest or creeps. Returns its cost; INFINITY: nothing is foreseen.
static double look_ahead(const tdSapProblem *problem, tdSapIsland *island, const tdSapSettings *settings, bool *found)
{
    if (!island->foreseen || !is_near(island))
        return INFINITY;
    exchange(island);
    evaluation e = evaluate(problem, island);
    *found = is_good(&e, settings) && isfinite(e.cost);
    if (*found)
        finish(island, &e, settings, TD_SAP_CONVERGED);
    else
        exchange(island);
    return isfinite(e.cost) && isfinite(e.gradient) ? e.cost : INFINITY;
}

static void newton(const tdSapProblem *problem, tdSapIsland *island, tdTasks *tasks, const tdSapSettings *settings,
                   double *history)
{
    double least = INFINITY, step = 1;
    bool found = false, tried = false; // to take all contacts to stick
    int idle = 0;                      // steps in a row that rounding made useless
    double ahead = look_ahead(problem, island, settings, &found);
    if (found)
    {
        if (history != NULL)
            history[0] = ahead;
        return;
    }
    for (;; island->iterations++)
    {
        evaluation e = evaluate(problem, island);
        if (island->iterations == 0 && ahead < e.cost && !is_good(&e, settings))
        {
            exchange(island);
            e = evaluate(problem, island);
        }
        if (history != NULL)
            history[island->iterations] = e.cost;
        if (!isfinite(e.cost) || !isfinite(e.gradient))
        {
            island->failed = true;
            return;
        }
        if (td_tasks_cancelled(tasks))
        {
            island->failed = true;
            return;
        }
        bool good = is_good(&e, settings);
        bool bound = island->iterations >= settings->max_iterations;
        if (good)
        {
            finish(island, &e, settings, TD_SAP_CONVERGED);
            return;
        }
        idle = e.gradient <= 0.5 * least ? 0 : e.gradient <= rounding(island) ? idle + 1 : idle;
        if (e.gradient < least)
        {
            least = e.gradient;
            memcpy(island->best, island->v, (size_t)island->n * sizeof *island->v);
        }
        if (!bound && idle < IDLE_STEPS)
        {
            if (!td_sap_factor_shifted(problem, island, tasks))
            {
                island->failed = true;
                return;
            }
            double accuracy = fmax(fmin(FORCING, e.gradient / e.size), LEAST_FORCING);
            if (advance(problem, island, settings->max_search, accuracy, &step) < 0)
            {
                if (step < SHORT_STEP && !tried)
                    stick(problem, island, tasks);
                tried = tried || step < SHORT_STEP;
                continue;
            }
        }
        memcpy(island->v, island->best, (size_t)island->n * sizeof *island->v);
        e = evaluate(problem, island);
        finish(island, &e, settings, bound ? TD_SAP_BOUND : TD_SAP_ROUNDOFF);
        return;
    }
}

// ---------------------------------------------------------------- islands

typedef struct islandWork
{
    const tdSapProblem *problem;
    const tdSapSettings *settings;
    tdSapPlan plan;
} islandWork;

void td_sap_load(const tdSapProblem *problem, tdSapIsland *island)
{
    for (int32_t k = 0; k < island->n_members; k++)
        island->foreseen = island->foreseen || problem->blocks[island->members[k].block].change != NULL;
    if (island->envelope != NULL)
    {
        td_sap_small_load(problem, island);
        td_sap_multiply_A(problem, island, island->v_star, island->q);
        return;
    }
    for (int32_t s = 0; s < island->n_supers; s++)
    {
        const tdSapSuper *super = &island->supers[s];
        memset(super->base, 0, (size_t)super->n * (size_t)(super->n + super->m) * sizeof *super->base);
    }
    for (int32_t k = 0; k < island->n_members; k++)
    {
        const tdSapMember *member = &island->members[k];
        const tdSapBlock *block = &problem->blocks[member->block];
        const tdSapPatch *patch = &member->patch;
        for (int32_t i = 0; i < patch->n; i++)
        {
            int32_t at = patch->at[i], c = member->column[i];
            island->v[at] = block->v[c];
            if (island->foreseen)
                island->best[at] = block->v[c] + (block->change != NULL ? block->change[c] : 0);
            island->v_star[at] = block->v_star[c];
            if (island->b != NULL)
                island->b[at] = block->b != NULL ? block->b[c] : 0;
            island->scale[at] = 1 / sqrt(td_sap_diagonal(block, c));
        }
        for (int32_t r = 0; r < patch->n_runs; r++)
        {
            const tdSapRun *run = &patch->runs[r];
            const tdSapSuper *super = &island->supers[run->super];
            for (int32_t j = run->begin; j < run->end; j++)
            {
                double *to = super->base + (patch->at[j] - super->first) * (int64_t)(super->n + super->m);
                for (int32_t i = j; i < patch->n; i++)
                {
                    int64_t a = member->column[i], b = member->column[j];
                    to[run->row[i - run->begin]] =
                        a >= b ? block->A[a + b * block->stride] : block->A[b + a * block->stride];
                }
            }
        }
    }
    td_sap_multiply_A(problem, island, island->v_star, island->q);
    for (int32_t i = 0; i < island->n && island->b != NULL; i++)
        island->q[i] += island->b[i];
}

static void solve_island(const islandWork *work, int i, tdTasks *tasks)
{
    tdSapIsland *island = &work->plan.islands[i];
    island->tasks = tasks;
    td_sap_load(work->problem, island);
    newton(work->problem, island, tasks, work->settings, i == 0 ? work->settings->history : NULL);
}

// Islands whose factor is cut into trees share the threads; the others are shared out.
static void solve_small(void *context, int i)
{
    islandWork *work = context;
    if (work->plan.islands[i].n_trees == 1)
        solve_island(work, i, NULL);
}

static void publish(const tdSapProblem *problem, const tdSapPlan *plan, tdSapResult *result)
{
    for (int32_t k = 0; k < plan->n_alone; k++)
    {
        const tdSapBlock *block = &problem->blocks[plan->alone[k]];
        memcpy(block->v, block->v_star, (size_t)block->n * sizeof *block->v);
    }
    for (int32_t i = 0; i < plan->n_islands; i++)
    {
        const tdSapIsland *island = &plan->islands[i];
        for (int32_t k = 0; k < island->n_members; k++)
        {
            const tdSapMember *member = &island->members[k];
            for (int32_t j = 0; j < member->patch.n; j++)
                problem->blocks[member->block].v[member->column[j]] = island->v[member->patch.at[j]];
        }
        for (int32_t l = 0; l < island->n_links; l++)
            for (int r = 0; r < TD_SAP_ROWS; r++)
            {
                int64_t to = TD_SAP_ROWS * (int64_t)island->links[l].constraint + r,
                        from = TD_SAP_ROWS * (int64_t)l + r;
                bool real = r < island->links[l].law->rows;
                problem->gamma[to] = real ? island->gamma[from] : 0;
                if (problem->v_c != NULL)
                    problem->v_c[to] = real ? island->v_c[from] : 0;
            }
        result->islands++;
        result->largest = island->n > result->largest ? island->n : result->largest;
        result->iterations = island->iterations > result->iterations ? island->iterations : result->iterations;
        result->total_iterations += island->iterations;
        result->evaluations += island->evaluations;
        result->sparse += island->sparse;
        result->shifted += island->shifted;
        result->residual = fmax(result->residual, island->residual);
        result->cost += island->cost;
        result->converged += island->end == TD_SAP_CONVERGED;
        result->roundoff += island->end == TD_SAP_ROUNDOFF;
        result->bound += island->end == TD_SAP_BOUND;
        if (island->end == TD_SAP_ROUNDOFF)
            result->roundoff_residual = fmax(result->roundoff_residual, island->residual);
    }
}

tdStatus td_sap_solve(tdSap *sap, tdTasks *tasks, const tdSapProblem *problem, const tdSapSettings *settings,
                      tdSapResult *result, tdError *error)
{
    islandWork work = {.problem = problem, .settings = settings};
    *result = (tdSapResult){0};
    sap->plan = (tdSapPlan){0};
    td_stack_reset(&sap->stack);
    TD_TRY(td_sap_plan(sap, problem, settings->structure, &work.plan, error));
    for (int32_t k = 0; k < work.plan.n_alone; k++)
        if (problem->blocks[work.plan.alone[k]].b != NULL)
            return td_fail(error, TD_ERROR_NUMERIC,
                           "a body that nothing touches was left to the contact problem; use another time_step");
    td_parallel(tasks, work.plan.n_islands, solve_small, &work);
    for (int32_t i = 0; i < work.plan.n_islands; i++)
        if (work.plan.islands[i].n_trees > 1)
            solve_island(&work, i, tasks);
    for (int32_t i = 0; i < work.plan.n_islands; i++)
    {
        const tdSapIsland *island = &work.plan.islands[i];
        if (island->failed)
            return td_fail(error, TD_ERROR_NUMERIC,
                           "the contact problem with block %d and %d more has numbers that are not finite, or a matrix "
                           "that is not positive definite; use a smaller time_step",
                           island->members[0].block, island->n_members - 1);
    }
    publish(problem, &work.plan, result);
    sap->plan = work.plan;
    if (settings->history != NULL && work.plan.n_islands > 0)
        result->history = work.plan.islands[0].iterations + 1;
    result->grown = sap->stack.grown;
    return TD_OK;
}
