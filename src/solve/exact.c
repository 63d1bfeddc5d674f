// SPDX-License-Identifier: Apache-2.0
#include "solve/exact.h"

#include "base/lapack.h"
#include "solve/nlcp.h"
#include "solve/problem.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#define GIVES   1e-7 // of W_ii: what tangents give way by, so that bodies that stick at many points have one solution
#define NEWTONS 25   // steps of Newton's method; a handful is usual
#define SWEEPS  400  // of Gauss-Seidel where it does not arrive
#define TRIES   3    // of both

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
                 {&e->K, n * n},
                 {&e->right, n * (n_y + 1)},
                 {&e->last, n}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if ((*parts[i].at = td_stack_take(stack, parts[i].count + 1, sizeof(double))) == NULL)
            return false;
    e->mode = td_stack_take(stack, n + 1, sizeof *e->mode);
    e->place = td_stack_take(stack, n + 1, sizeof *e->place);
    e->rows = td_stack_take(stack, n + 1, sizeof *e->rows);
    e->pivots = td_stack_take(stack, n + 1, sizeof *e->pivots);
    return e->mode != NULL && e->place != NULL && e->rows != NULL && e->pivots != NULL;
}

// B = J X
static void make_columns(const tdExact *e)
{
    const tdProblem *p = e->problem;
    memset(e->B, 0, (size_t)e->n * (size_t)e->n_y * sizeof *e->B);
    for (int32_t c = 0; c < p->n_constraints; c++)
        for (int k = 0; k < p->constraints[c].sides; k++)
        {
            const tdSapSide *side = &p->constraints[c].side[k];
            const double *X = p->steer.X[side->block];
            int64_t n = p->blocks[side->block].n;
            for (int r = 0; X != NULL && r < p->constraints[c].law.rows; r++)
                for (int j = 0; j < e->n_y; j++)
                {
                    double sum = 0;
                    for (int32_t i = 0; i < side->count; i++)
                        sum += side->J[r * (int64_t)side->count + i] *
                               X[(side->columns != NULL ? side->columns[i] : i) + j * n];
                    e->B[(p->dual.first[c] + r) * (int64_t)e->n_y + j] += sum;
                }
        }
}

tdStatus td_exact_begin(tdExact *e, tdProblem *problem, const double *y0, tdError *error)
{
    tdSapProblem rows = view(problem);
    TD_TRY(td_dual_make(&problem->dual, &rows, problem->factors, NULL, error));
    *e = (tdExact){.problem = problem, .n = problem->dual.n, .n_y = problem->steer.n, .y0 = y0};
    if (!take(e))
        return td_fail_memory(error, "inverse control beside contact");
    memcpy(e->b0, problem->dual.b, (size_t)e->n * sizeof *e->b0);
    memset(e->gamma, 0, (size_t)e->n * sizeof *e->gamma);
    memset(e->mode, 0, (size_t)e->n * sizeof *e->mode);
    make_columns(e);
    td_exact_laws(e);
    return TD_OK;
}

void td_exact_laws(tdExact *e)
{
    const tdProblem *p = e->problem;
    for (int32_t c = 0; c < p->n_constraints; c++)
        for (int r = 0; r < p->constraints[c].law.rows; r++)
        {
            const tdSapLaw *law = &p->constraints[c].law;
            int i = p->dual.first[c] + r;
            bool tangent = law->kind == TD_SAP_CONTACT && r < 2;
            e->R[i] = tangent ? GIVES * p->dual.W[i * (int64_t)e->n + i] : law->R[r];
            e->v_hat[i] = law->v_hat[r];
        }
}

// ---------------------------------------------------------------- modes

static void set_efforts(const tdExact *e, const double *y)
{
    memcpy(e->b, e->b0, (size_t)e->n * sizeof *e->b);
    if (e->n == 0)
        return;
    cblas_dgemv(CblasRowMajor, CblasNoTrans, e->n, e->n_y, 1, e->B, e->n_y, y, 1, 1, e->b, 1);
    cblas_dgemv(CblasRowMajor, CblasNoTrans, e->n, e->n_y, -1, e->B, e->n_y, e->y0, 1, 1, e->b, 1);
}

// u at gamma
static void read_motion(const tdExact *e)
{
    if (e->n == 0)
        return;
    cblas_dsymv(CblasRowMajor, CblasLower, e->n, 1, e->problem->dual.W, e->n, e->gamma, 1, 0, e->u, 1);
    for (int i = 0; i < e->n; i++)
        e->u[i] += e->b[i] - e->v_hat[i] + e->R[i] * e->gamma[i];
}

static double diagonal(const tdExact *e, int i)
{
    double w = e->problem->dual.W[i * (int64_t)e->n + i] + e->R[i];
    return w > 0 ? w : 1;
}

// Modes by the projections of gamma - u / w. Returns whether one of them is new.
static bool find_modes(const tdExact *e)
{
    const tdProblem *p = e->problem;
    bool changed = false;
    for (int32_t c = 0; c < p->n_constraints; c++)
    {
        const tdSapLaw *law = &p->constraints[c].law;
        int i = p->dual.first[c];
        const double *gamma = e->gamma + i, *u = e->u + i;
        if (law->kind == TD_SAP_CONTACT)
        {
            double w = fmax(diagonal(e, i), diagonal(e, i + 1)), normal = gamma[2] - u[2] / diagonal(e, i + 2);
            double t[2] = {gamma[0] - u[0] / w, gamma[1] - u[1] / w}, length = hypot(t[0], t[1]);
            tdExactMode mode = normal <= 0                                          ? TD_EXACT_OPEN
                               : law->mu > 0 && length <= law->mu * fmax(normal, 0) ? TD_EXACT_STICK
                                                                                    : TD_EXACT_SLIDE;
            if (mode == TD_EXACT_SLIDE && length > 0)
                for (int r = 0; r < 2; r++)
                    e->along[2 * c + r] = t[r] / length;
            changed = changed || e->mode[i] != (signed char)mode;
            e->mode[i] = (signed char)mode;
            continue;
        }
        for (int r = 0; r < law->rows; r++)
        {
            double at = gamma[r] - u[r] / diagonal(e, i + r);
            signed char mode = 0;
            if (law->kind == TD_SAP_BOX)
                mode = at < law->lo[r] ? -1 : at > law->hi[r] ? 1 : 0;
            changed = changed || e->mode[i + r] != mode;
            e->mode[i + r] = mode;
        }
    }
    return changed;
}

// ---------------------------------------------------------------- one piece

// Rows whose impulse is given get it; the others are numbered.
static int number_rows(tdExact *e)
{
    const tdProblem *p = e->problem;
    int m = 0;
    e->given = false;
    for (int32_t c = 0; c < p->n_constraints; c++)
    {
        const tdSapLaw *law = &p->constraints[c].law;
        int i = p->dual.first[c];
        for (int r = 0; r < law->rows; r++)
        {
            bool contact = law->kind == TD_SAP_CONTACT;
            bool given = contact ? e->mode[i] == TD_EXACT_OPEN || (r < 2 && law->mu == 0) : e->mode[i + r] != 0;
            if (given)
                e->gamma[i + r] = contact ? 0 : e->mode[i + r] < 0 ? law->lo[r] : law->hi[r];
            e->given = e->given || (given && e->gamma[i + r] != 0);
            e->place[i + r] = given ? -1 : m;
            if (!given)
                e->rows[m++] = i + r;
        }
    }
    return m;
}

// factor times (u_i = 0) into equation `row`, columns of K being unknowns.
static void add_motion(const tdExact *e, int m, int row, int i, double factor)
{
    const double *W = e->problem->dual.W + i * (int64_t)e->n;
    double sum = e->b[i] - e->v_hat[i];
    for (int j = 0; j < m; j++)
        e->K[row + j * (int64_t)m] += factor * W[e->rows[j]];
    if (e->place[i] >= 0)
        e->K[row + e->place[i] * (int64_t)m] += factor * e->R[i];
    for (int j = 0; j < e->n && e->given; j++)
        if (e->place[j] < 0)
            sum += W[j] * e->gamma[j];
    e->right[row] -= factor * sum;
    for (int k = 0; k < e->columns - 1; k++)
        e->right[row + (k + 1) * (int64_t)m] -= factor * e->B[i * (int64_t)e->n_y + k];
}

// gamma_t = mu gamma_n d with d = t / |t|, t = gamma_t - u_t / w, linear about the state: P = I - d d' turns it,
//     gamma_t - mu d gamma_n - mu gamma_n / |t| P (gamma_t - u_t / w) = 0
static void add_slide(const tdExact *e, int m, int32_t c, double normal, const double t[2], double w)
{
    const double *d = e->along + 2 * (int64_t)c;
    double mu = e->problem->constraints[c].law.mu, length = hypot(t[0], t[1]);
    double turn = length > 0 ? fmin(fmax(mu * normal / length, 0), 1) : 0;
    int i = e->problem->dual.first[c];
    for (int r = 0; r < 2; r++)
    {
        int row = e->place[i + r];
        e->K[row + row * (int64_t)m] += 1;
        e->K[row + e->place[i + 2] * (int64_t)m] -= mu * d[r];
        for (int s = 0; s < 2 && turn > 0; s++)
        {
            double P = (r == s) - d[r] * d[s];
            e->K[row + e->place[i + s] * (int64_t)m] -= turn * P;
            add_motion(e, m, row, i + s, turn * P / w);
        }
    }
}

// gamma and slopes over the unknown rows for the modes as they stand.
static bool solve_piece(tdExact *e, int columns)
{
    const tdProblem *p = e->problem;
    double *before = e->last;
    memcpy(before, e->gamma, (size_t)e->n * sizeof *before);
    int m = number_rows(e), info = 0;
    e->columns = columns;
    memset(e->K, 0, (size_t)m * (size_t)m * sizeof *e->K);
    memset(e->right, 0, (size_t)m * (size_t)columns * sizeof *e->right);
    for (int32_t c = 0; c < p->n_constraints; c++)
    {
        const tdSapLaw *law = &p->constraints[c].law;
        int i = p->dual.first[c];
        bool slides = law->kind == TD_SAP_CONTACT && e->mode[i] == TD_EXACT_SLIDE && law->mu > 0;
        if (slides)
        {
            double w = fmax(diagonal(e, i), diagonal(e, i + 1));
            double t[2] = {before[i] - e->u[i] / w, before[i + 1] - e->u[i + 1] / w};
            add_slide(e, m, c, before[i + 2], t, w);
        }
        for (int r = slides ? 2 : 0; r < law->rows; r++)
            if (e->place[i + r] >= 0)
                add_motion(e, m, e->place[i + r], i + r, 1);
    }
    if (m > 0)
        dgesv_(&m, &columns, e->K, &m, e->pivots, e->right, &m, &info);
    bool good = info == 0;
    for (int j = 0; j < m * columns && good; j++)
        good = isfinite(e->right[j]);
    for (int j = 0; j < m; j++)
        e->gamma[e->rows[j]] = good ? e->right[j] : before[e->rows[j]];
    if (!good)
        memcpy(e->gamma, before, (size_t)e->n * sizeof *before);
    else
        read_motion(e);
    return good;
}

bool td_exact_piece(tdExact *e, const double *y)
{
    set_efforts(e, y);
    if (!solve_piece(e, e->n_y + 1))
        return false;
    int m = 0;
    memset(e->slope, 0, (size_t)e->n * (size_t)e->n_y * sizeof *e->slope);
    for (int i = 0; i < e->n; i++)
        m += e->place[i] >= 0;
    for (int j = 0; j < m; j++)
        for (int k = 0; k < e->n_y; k++)
            e->slope[e->rows[j] * (int64_t)e->n_y + k] = e->right[j + (k + 1) * (int64_t)m];
    memcpy(e->u_slope, e->B, (size_t)e->n * (size_t)e->n_y * sizeof *e->B);
    if (e->n == 0)
        return true;
    cblas_dsymm(CblasRowMajor, CblasLeft, CblasLower, e->n, e->n_y, 1, e->problem->dual.W, e->n, e->slope, e->n_y, 1,
                e->u_slope, e->n_y);
    for (int64_t i = 0; i < (int64_t)e->n * e->n_y; i++)
        e->u_slope[i] += e->R[i / e->n_y] * e->slope[i];
    return true;
}

// ---------------------------------------------------------------- at efforts

static double change_since(const tdExact *e)
{
    double most = 0;
    for (int i = 0; i < e->n; i++)
        most = fmax(most, fabs(e->gamma[i] - e->last[i]) * diagonal(e, i));
    return most;
}

static bool newton(tdExact *e, double tolerance, double size, int *iterations)
{
    for (int k = 0; k < NEWTONS; k++)
    {
        bool changed = find_modes(e);
        ++*iterations;
        if (!solve_piece(e, 1))
            return false;
        if ((!changed || k == 0) && change_since(e) <= tolerance * size && !find_modes(e))
            return true;
    }
    return false;
}

// By Gauss-Seidel, from no impulses as simulations do.
static void sweep(tdExact *e, double tolerance, tdTasks *tasks, int *iterations)
{
    tdDual *dual = &e->problem->dual;
    tdNlcpSettings settings = {.tolerance = tolerance, .max_iterations = SWEEPS, .tasks = tasks};
    tdNlcpResult result;
    for (int32_t c = 0; c < e->problem->n_constraints; c++)
    {
        dual->laws[c] = e->problem->constraints[c].law;
        for (int r = 0; r < dual->laws[c].rows; r++)
            dual->laws[c].R[r] = e->R[dual->first[c] + r];
    }
    for (int i = 0; i < e->n; i++)
    {
        dual->b[i] = e->b[i] - e->v_hat[i];
        e->gamma[i] = 0;
    }
    const tdNlcp small = {e->problem->n_constraints, dual->laws, e->n, e->n, dual->W, dual->b, e->gamma};
    td_nlcp_solve(&small, &settings, e->u, &result);
    *iterations += result.iterations;
    e->converged = result.converged;
}

void td_exact_solve(tdExact *e, const double *y, double tolerance, tdTasks *tasks, int *iterations)
{
    double size = 0;
    set_efforts(e, y);
    for (int i = 0; i < e->n; i++)
        size = fmax(size, fabs(e->b[i] - e->v_hat[i]));
    read_motion(e);
    e->converged = e->n == 0 || newton(e, tolerance, size, iterations);
    for (int k = 0; k < TRIES && !e->converged; k++)
    {
        sweep(e, tolerance, tasks, iterations);
        bool swept = e->converged;
        e->converged = newton(e, tolerance, size, iterations) || swept;
    }
}

void td_exact_write(const tdExact *e)
{
    const tdProblem *p = e->problem;
    for (int32_t c = 0; c < p->n_constraints; c++)
        for (int r = 0; r < p->constraints[c].law.rows; r++)
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
