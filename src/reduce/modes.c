// SPDX-License-Identifier: Apache-2.0
// See modes.h.
#include "reduce/modes.h"

#include "body/soft.h"
#include "reduce/modes_block.h"

#include <arpack.h>
#include <cblas.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LANCZOS_TOLERANCE 1e-13 // of eigenvalues of the inverse
#define LANCZOS_RESTARTS  300
#define NO_STIFFNESS      1e-12 // of tr K / tr M: far below what the most slender body has, well above rounding
#define FREE_SHIFT        1e-5  // of tr K / tr M
#define SOLVE_SHIFT       1e-2  // of lambda_1
#define MOST_MODES        10000
#define BLOCK_MODES       400  // at most where there is no factor
#define BLOCK_TOLERANCE   1e-7 // of |K psi - lambda M psi| / |K psi| there; lambda is then good to its square
#define BLOCK_ITERATIONS  500
#define COLUMN_TOLERANCE  1e-10 // of derivatives there

// ARPACK's, not ours: its static variables belong to one computation from the first call to the last.
static pthread_mutex_t arpack_lock = PTHREAD_MUTEX_INITIALIZER;

typedef struct modesWork
{
    const char *name; // of the body
    const tdSoft *soft;
    tdState *state;
    tdSoftState *mine; // K is the stiffness at rest, A the shifted matrix with its factor
    tdTasks *tasks;
    tdModes *out;
    double ratio;     // tr K / tr M
    double *a, *b;    // over coordinates
    double *K1, *K2;  // stiffness on either side of the rest shape
    double *MZ;       // mass times rigid modes
    double *rhs, *to; // of some derivatives at a time
} modesWork;

tdModesSettings td_default_modes(void)
{
    return (tdModesSettings){.modes = 10, .derivatives = 10, .memory = 4e9};
}

void td_modes_free(tdModes *modes)
{
    td_arena_free(&modes->arena);
    *modes = (tdModes){0};
}

double td_modes_frequency(double lambda)
{
    return lambda > 0 ? sqrt(lambda) / (2 * M_PI) : 0;
}

void td_modes_mass(const tdSoft *soft, tdTasks *tasks, const double *x, double *y)
{
    int64_t n = 3 * (int64_t)soft->n_nodes;
    if (soft->consistent)
        td_block_multiply_scalar(tasks, &soft->pattern, soft->mass, x, y, false);
    for (int64_t i = 0; i < n; i++)
        y[i] = soft->held[i] ? 0 : soft->consistent ? y[i] : soft->node_mass[i / 3] * x[i];
}

// ---------------------------------------------------------------- matrices

// K at positions x, as it is: nothing is projected.
static tdStatus stiffness_at(modesWork *w, const double *x, double *K, tdError *error)
{
    td_soft_gradients(w->soft, w->mine, w->state, x, true);
    td_soft_forces(w->soft, w->mine, w->state, w->a, K);
    if (isfinite(td_soft_energy(w->soft, w->mine)))
        return TD_OK;
    return td_fail(error, TD_ERROR_NUMERIC, "the stiffness of the body near its rest shape is not finite");
}

// A = K - sigma M and its factor.
static tdStatus shift(modesWork *w, double sigma, tdError *error)
{
    const tdSoft *soft = w->soft;
    for (int64_t b = 0; b < soft->pattern.blocks; b++)
        for (int c = 0; c < 9; c++)
            w->mine->A[9 * b + c] = w->mine->K[9 * b + c] - (c % 4 == 0 ? sigma * soft->mass[b] : 0);
    w->out->shift = sigma;
    tdError why = {0};
    tdStatus status = td_linear_refresh(w->mine->linear, w->state->tasks, w->mine->A, w->soft->rest, &why);
    if (status == TD_OK)
        return TD_OK;
    if (status == TD_ERROR_MEMORY)
        return td_fail(error, status, "%s", why.message);
    return td_fail(
        error, TD_ERROR_NUMERIC,
        "body '%s' can move without resistance other than as a whole, or its stiffness at rest is indefinite: "
        "hold every part of it and check its mesh for parts that are not connected (%s)",
        w->name, why.message);
}

static void stiffness_times(const modesWork *w, const double *values, const double *x, double *y)
{
    td_block_multiply(w->tasks, &w->soft->pattern, values, x, y, false);
    for (int32_t k = 0; k < w->soft->n_held; k++)
        y[w->soft->held_list[k]] = 0;
}

// ---------------------------------------------------------------- rigid modes

// x -= Z (MZ' x), so that Z' M x = 0; or for forces x -= MZ (Z' x), so that Z' x = 0.
static void without_rigid(const modesWork *w, bool force, double *x)
{
    const double *Z = force ? w->out->rigid : w->MZ, *back = force ? w->MZ : w->out->rigid;
    int64_t n = w->out->n;
    for (int k = 0; k < w->out->n_rigid; k++)
    {
        double amount = cblas_ddot((int)n, Z + k * n, 1, x, 1);
        cblas_daxpy((int)n, -amount, back + k * n, 1, x, 1);
    }
}

// Symmetric 6 x 6 by Jacobi's rotations: eigenvectors are the columns of V.
static void eigen6(double A[6][6], double V[6][6])
{
    for (int i = 0; i < 36; i++)
        V[i / 6][i % 6] = i / 6 == i % 6;
    for (int sweep = 0; sweep < 30; sweep++)
        for (int p = 0; p < 6; p++)
            for (int q = p + 1; q < 6; q++)
            {
                if (A[p][q] == 0)
                    continue;
                double t = 0.5 * atan2(2 * A[p][q], A[q][q] - A[p][p]), c = cos(t), s = sin(t);
                for (int k = 0; k < 6; k++)
                {
                    double x = A[k][p], y = A[k][q];
                    A[k][p] = c * x - s * y;
                    A[k][q] = s * x + c * y;
                }
                for (int k = 0; k < 6; k++)
                {
                    double x = A[p][k], y = A[q][k], vx = V[k][p], vy = V[k][q];
                    A[p][k] = c * x - s * y;
                    A[q][k] = s * x + c * y;
                    V[k][p] = c * vx - s * vy;
                    V[k][q] = s * vx + c * vy;
                }
            }
}

typedef struct rigidFrame
{
    double centre[3], size;
} rigidFrame;

// Displacement of a coordinate in the rigid motion m: three translations, three rotations by 1 / size.
static double rigid_motion(const tdSoft *soft, const rigidFrame *frame, int64_t i, int m)
{
    int c = (int)(i % 3);
    if (m < 3)
        return c == m;
    const double *x = soft->rest + i / 3 * 3;
    int axis = m - 3, next = (axis + 1) % 3, last = (axis + 2) % 3; // axis x (x - centre)
    if (c == next)
        return -(x[last] - frame->centre[last]) / frame->size;
    return c == last ? (x[next] - frame->centre[next]) / frame->size : 0;
}

// Rigid motions that the supports leave: combinations that vanish on held coordinates, orthonormal by mass.
static tdStatus rigid_modes(modesWork *w, tdError *error)
{
    const tdSoft *soft = w->soft;
    tdModes *out = w->out;
    rigidFrame frame = {.size = 0};
    double A[6][6] = {{0}}, V[6][6], trace = 0;
    for (int64_t i = 0; i < out->n; i++)
        frame.centre[i % 3] += soft->rest[i] / soft->n_nodes;
    for (int64_t i = 0; i < out->n; i++)
        frame.size = fmax(frame.size, fabs(soft->rest[i] - frame.centre[i % 3]));
    for (int32_t k = 0; k < soft->n_held; k++)
        for (int p = 0; p < 36; p++)
            A[p / 6][p % 6] += rigid_motion(soft, &frame, soft->held_list[k], p / 6) *
                               rigid_motion(soft, &frame, soft->held_list[k], p % 6);
    for (int m = 0; m < 6; m++)
        trace += A[m][m];
    eigen6(A, V);
    out->rigid = TD_TAKE(&out->arena, double, 6 * out->n);
    w->MZ = TD_TAKE(&w->state->arena, double, 6 * out->n);
    if (out->rigid == NULL || w->MZ == NULL)
        return td_fail_memory(error, "the rigid modes");
    for (int m = 0; m < 6; m++)
    {
        if (A[m][m] > 1e-12 * trace)
            continue;
        double *z = out->rigid + out->n_rigid * out->n, *Mz = w->MZ + out->n_rigid * out->n;
        for (int64_t i = 0; i < out->n; i++)
        {
            z[i] = 0;
            for (int p = 0; p < 6 && !soft->held[i]; p++)
                z[i] += V[p][m] * rigid_motion(soft, &frame, i, p);
        }
        td_modes_mass(soft, w->tasks, z, Mz);
        double before = sqrt(cblas_ddot((int)out->n, z, 1, Mz, 1));
        for (int twice = 0; twice < 2; twice++)
            without_rigid(w, false, z);
        td_modes_mass(soft, w->tasks, z, Mz);
        double length = sqrt(cblas_ddot((int)out->n, z, 1, Mz, 1));
        if (!(length > 1e-8 * before))
            continue; // turning about a line of nodes moves nothing
        cblas_dscal((int)out->n, 1 / length, z, 1);
        cblas_dscal((int)out->n, 1 / length, Mz, 1);
        out->n_rigid++;
    }
    return TD_OK;
}

// ---------------------------------------------------------------- Lanczos

// Vectors of ARPACK are over the unknowns.
static void spread(const modesWork *w, const double *x, double *full)
{
    const tdLinearModel *linear = &w->soft->linear;
    for (int32_t k = 0; k < linear->n; k++)
        full[linear->coord[k]] = x[k];
}

static void gather(const modesWork *w, const double *full, double *x)
{
    const tdLinearModel *linear = &w->soft->linear;
    for (int32_t k = 0; k < linear->n; k++)
        x[k] = full[linear->coord[k]];
}

typedef struct lanczos
{
    int n, k, m; // unknowns, wanted, vectors of the subspace
    int length;  // of workl
    double *start, *V, *workd, *workl, *d;
    a_int *select;
} lanczos;

// y = (K - sigma M)^-1 M x, from b = M x where that is known; rigid parts never enter.
static void apply(modesWork *w, const double *x, const double *Mx, double *y)
{
    spread(w, Mx != NULL ? Mx : x, w->a);
    if (Mx == NULL)
    {
        td_modes_mass(w->soft, w->tasks, w->a, w->b);
        memcpy(w->a, w->b, (size_t)w->out->n * sizeof *w->a);
    }
    without_rigid(w, true, w->a);
    td_linear_apply(w->mine->linear, w->state->tasks, w->a, w->b);
    without_rigid(w, false, w->b);
    w->out->solves++;
    gather(w, w->b, y);
}

static tdStatus iterate(modesWork *w, lanczos *l, tdError *error)
{
    a_int ido = 0, info = 1, iparam[11] = {1, 0, LANCZOS_RESTARTS, 1, 0, 0, 3}, ipntr[14] = {0};
    for (;;)
    {
        dsaupd_c(&ido, "G", l->n, "LM", l->k, LANCZOS_TOLERANCE, l->start, l->m, l->V, l->n, iparam, ipntr, l->workd,
                 l->workl, l->length, &info);
        if (ido != -1 && ido != 1 && ido != 2)
            break;
        double *x = l->workd + ipntr[0] - 1, *y = l->workd + ipntr[1] - 1;
        if (ido == 2)
        {
            spread(w, x, w->a);
            td_modes_mass(w->soft, w->tasks, w->a, w->b);
            gather(w, w->b, y);
        }
        else
            apply(w, x, ido == 1 ? l->workd + ipntr[2] - 1 : NULL, y);
    }
    if (info == 0 && iparam[4] >= l->k)
    {
        dseupd_c(1, "A", l->select, l->d, l->V, l->n, w->out->shift, "G", l->n, "LM", l->k, LANCZOS_TOLERANCE, l->start,
                 l->m, l->V, l->n, iparam, ipntr, l->workd, l->workl, l->length, &info);
        if (info == 0)
            return TD_OK;
    }
    if (info == 1 || info == 0)
        return td_fail(error, TD_ERROR_NUMERIC, "only %d of %d modes were found in %d restarts of Lanczos' method",
                       (int)iparam[4], l->k, LANCZOS_RESTARTS);
    return td_fail(error, TD_ERROR_NUMERIC, "ARPACK could not find the modes (code %d)", (int)info);
}

static int compare_lambda(const void *a, const void *b)
{
    double x = **(const double *const *)a, y = **(const double *const *)b;
    return (x > y) - (x < y);
}

// Modes in ascending order, orthonormal by mass to rounding, the largest entry positive; lambda by Rayleigh's quotient.
static tdStatus keep_modes(modesWork *w, const lanczos *l, tdError *error)
{
    tdModes *out = w->out;
    int n = (int)out->n;
    const double **order = td_take((size_t)l->k, sizeof *order);
    double *MX = td_take((size_t)l->k * (size_t)n, sizeof *MX);
    if (order == NULL || MX == NULL)
    {
        free(order);
        free(MX);
        return td_fail_memory(error, "the modes");
    }
    for (int i = 0; i < l->k; i++)
        order[i] = &l->d[i];
    qsort(order, (size_t)l->k, sizeof *order, compare_lambda);
    for (int i = 0; i < l->k; i++)
    {
        double *x = out->psi + i * out->n, *Mx = MX + i * out->n;
        spread(w, l->V + (order[i] - l->d) * l->n, x);
        for (int twice = 0; twice < 2; twice++)
        {
            without_rigid(w, false, x);
            for (int j = 0; j < i; j++)
                cblas_daxpy(n, -cblas_ddot(n, MX + j * out->n, 1, x, 1), out->psi + j * out->n, 1, x, 1);
        }
        double sign = x[cblas_idamax(n, x, 1)] < 0 ? -1 : 1;
        td_modes_mass(w->soft, w->tasks, x, Mx);
        double scale = sign / sqrt(cblas_ddot(n, x, 1, Mx, 1));
        cblas_dscal(n, scale, x, 1);
        cblas_dscal(n, scale, Mx, 1);
        stiffness_times(w, w->mine->K, x, w->a);
        out->lambda[i] = cblas_ddot(n, x, 1, w->a, 1);
        if (i > 0) // two of one frequency may come either way round, by rounding
            out->lambda[i] = fmax(out->lambda[i], out->lambda[i - 1]);
        double size = cblas_dnrm2(n, w->a, 1);
        cblas_daxpy(n, -out->lambda[i], Mx, 1, w->a, 1);
        out->residual = fmax(out->residual, cblas_dnrm2(n, w->a, 1) / size);
    }
    free(order);
    free(MX);
    return TD_OK;
}

// ---------------------------------------------------------------- without a factor

static void block_stiffness(void *user, const double *x, double *y)
{
    const modesWork *w = user;
    stiffness_times(w, w->mine->K, x, y);
}

static void block_mass(void *user, const double *x, double *y)
{
    const modesWork *w = user;
    td_modes_mass(w->soft, w->tasks, x, y);
}

static void block_precondition(void *user, const double *r, double *z)
{
    modesWork *w = user;
    memcpy(w->a, r, (size_t)w->out->n * sizeof *w->a);
    without_rigid(w, true, w->a);
    td_linear_cycle(w->mine->linear, w->state->tasks, w->a, z);
    w->out->solves++;
}

static void block_clean(void *user, double *x)
{
    without_rigid(user, false, x);
}

// By multigrid alone: blocks of vectors (modes_block.h) in the place of Lanczos' method.
static tdStatus iterate_blocks(modesWork *w, lanczos *l, tdError *error)
{
    int64_t n = w->out->n;
    double *X = td_take((size_t)n * (size_t)l->k, sizeof *X), *mask = td_take((size_t)n, sizeof *mask);
    tdStatus status = X == NULL || mask == NULL ? td_fail_memory(error, "the modes") : TD_OK;
    for (int64_t i = 0; i < n && status == TD_OK; i++)
        mask[i] = w->soft->held[i] ? 0 : 1;
    tdModesBlock task = {.n = n,
                         .k = l->k,
                         .tasks = w->tasks,
                         .tolerance = BLOCK_TOLERANCE,
                         .most = BLOCK_ITERATIONS,
                         .mask = mask,
                         .stiffness = block_stiffness,
                         .mass = block_mass,
                         .precondition = block_precondition,
                         .clean = block_clean,
                         .user = w};
    tdModesBlockResult result = {0};
    if (status == TD_OK)
        status = td_modes_block(&task, l->d, X, &result, error);
    if (status == TD_OK && result.found < l->k)
        status = td_fail(
            error, TD_ERROR_NUMERIC,
            "%d of %d modes were found in %d iterations, and the worst of the others is off by %.1e; "
            "request fewer, remesh the body without flat elements, or use 'solver: {type: cholesky}' where memory "
            "allows",
            result.found, l->k, result.iterations, result.residual);
    for (int i = 0; i < l->k && status == TD_OK; i++)
        gather(w, X + i * n, l->V + (int64_t)i * l->n);
    free(X);
    free(mask);
    return status;
}

static tdStatus find_modes(modesWork *w, tdError *error)
{
    tdModes *out = w->out;
    int n = w->soft->linear.n, left = n - out->n_rigid;
    lanczos l = {.n = n, .k = out->k};
    bool blocks = w->soft->linear.amg != NULL;
    l.m = 2 * l.k + 10 < left ? 2 * l.k + 10 : left;
    l.m = blocks ? l.k : l.m;
    l.length = l.m * (l.m + 8);
    l.start = td_take((size_t)n, sizeof(double));
    l.V = td_take((size_t)n * (size_t)l.m, sizeof(double));
    l.workd = td_take(3 * (size_t)n, sizeof(double));
    l.workl = td_take((size_t)l.length, sizeof(double));
    l.d = td_take((size_t)l.m, sizeof(double));
    l.select = td_take((size_t)l.m, sizeof *l.select);
    tdStatus status = TD_OK;
    if (l.start == NULL || l.V == NULL || l.workd == NULL || l.workl == NULL || l.d == NULL || l.select == NULL)
        status = td_fail_memory(error, "the modes");
    else if (blocks)
    {
        status = iterate_blocks(w, &l, error);
        if (status == TD_OK)
            status = keep_modes(w, &l, error);
    }
    else
    {
        // The same start in every run, with a part of everything.
        uint64_t seed = 1;
        for (int i = 0; i < n; i++)
        {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            l.V[i] = (double)(seed >> 11) * 0x1p-53 - 0.5;
        }
        pthread_mutex_lock(&arpack_lock);
        apply(w, l.V, NULL, l.start);
        status = iterate(w, &l, error);
        pthread_mutex_unlock(&arpack_lock);
        if (status == TD_OK)
            status = keep_modes(w, &l, error);
    }
    free(l.start);
    free(l.V);
    free(l.workd);
    free(l.workl);
    free(l.d);
    free(l.select);
    return status;
}

// ---------------------------------------------------------------- derivatives

// Length of the step along a mode. St. Venant-Kirchhoff's K is quadratic, so that any is exact; elsewhere the error
// falls with the square of the strain until rounding is met.
static double step_along(modesWork *w, const double *psi)
{
    bool exact = true;
    for (int b = 0; b < w->soft->n_blocks; b++)
        exact = exact && w->soft->blocks[b].material.law == td_law(TD_LAW_STVK);
    double move = 0, size = 0, most = 0;
    for (int64_t i = 0; i < w->out->n; i++)
    {
        move = fmax(move, fabs(psi[i]));
        size = fmax(size, fabs(w->soft->rest[i] - w->soft->rest[i % 3]));
    }
    double way = 1e-6 * size / move;
    for (int64_t i = 0; i < w->out->n; i++)
        w->a[i] = w->soft->rest[i] + way * psi[i];
    td_soft_gradients(w->soft, w->mine, w->state, w->a, true);
    for (int64_t c = 0; c < 36 * w->soft->point_batches; c++)
        most = fmax(most, fabs(w->mine->F[c] - (c / 4 % 9 % 4 == 0)));
    return way / most * (exact ? 0.05 : 1e-4);
}

// K1 = dK/du : psi
static tdStatus differentiate(modesWork *w, const double *psi, tdError *error)
{
    double step = step_along(w, psi);
    for (int side = 0; side < 2; side++)
    {
        for (int64_t i = 0; i < w->out->n; i++)
            w->b[i] = w->soft->rest[i] + (side == 0 ? step : -step) * psi[i];
        TD_TRY(stiffness_at(w, w->b, side == 0 ? w->K1 : w->K2, error));
    }
    for (int64_t c = 0; c < 9 * w->soft->pattern.blocks; c++)
        w->K1[c] = (w->K1[c] - w->K2[c]) / (2 * step);
    return TD_OK;
}

// A x = b for `count` right-hand sides: by the factor, or by conjugate gradients where multigrid stands for it.
static tdStatus solve_columns(modesWork *w, int count, const double *b, double *x, tdError *error)
{
    int64_t n = w->out->n;
    tdLinearResult result;
    if (w->soft->linear.amg == NULL)
        return td_linear_solve_many(w->mine->linear, w->state->tasks, w->mine->A, true, count, n, b, x, &result, error);
    for (int k = 0; k < count; k++)
    {
        memset(x + k * n, 0, (size_t)n * sizeof *x);
        const tdLinearTask task = {.kind = TD_SOLVER_AMG,
                                   .tolerance = COLUMN_TOLERANCE,
                                   .values = w->mine->A,
                                   .same = true,
                                   .b = b + k * n,
                                   .x = x + k * n,
                                   .at = w->soft->rest};
        TD_TRY(td_linear_solve(w->mine->linear, w->state->tasks, &task, &result, error));
        if (result.indefinite)
            return td_fail(error, TD_ERROR_NUMERIC, "the stiffness of body '%s' at rest is indefinite", w->name);
    }
    return TD_OK;
}

// K x = b for `count` right-hand sides. Of a free body (K - sigma M) x = b - sigma M x is iterated: on the complement
// of the rigid modes the error falls by sigma / (sigma + lambda_1) each time.
static tdStatus solve_static(modesWork *w, int count, double *x, tdError *error)
{
    tdModes *out = w->out;
    int64_t n = out->n;
    for (int k = 0; k < count && out->n_rigid > 0; k++)
        without_rigid(w, true, w->rhs + k * n);
    TD_TRY(solve_columns(w, count, w->rhs, x, error));
    out->solves += count;
    for (int pass = 0; pass < 8 && out->n_rigid > 0; pass++)
    {
        for (int k = 0; k < count; k++)
        {
            without_rigid(w, false, x + k * n);
            td_modes_mass(w->soft, w->tasks, x + k * n, w->a);
            for (int64_t i = 0; i < n; i++)
                w->to[k * n + i] = w->rhs[k * n + i] - out->shift * w->a[i];
        }
        TD_TRY(solve_columns(w, count, w->to, x, error));
        out->solves += count;
    }
    for (int k = 0; k < count && out->n_rigid > 0; k++)
        without_rigid(w, false, x + k * n);
    return TD_OK;
}

static tdStatus find_derivatives(modesWork *w, tdError *error)
{
    tdModes *out = w->out;
    int64_t n = out->n;
    if (out->k2 == 0 || w->soft->constant)
        return TD_OK; // a linear body: they are zero
    w->K1 = TD_TAKE(&w->state->arena, double, 9 * w->soft->pattern.blocks);
    w->K2 = TD_TAKE(&w->state->arena, double, 9 * w->soft->pattern.blocks);
    w->rhs = TD_TAKE(&w->state->arena, double, out->k2 *n);
    w->to = TD_TAKE(&w->state->arena, double, out->n_rigid > 0 ? out->k2 * n : 1);
    if (w->K1 == NULL || w->K2 == NULL || w->rhs == NULL || w->to == NULL)
        return td_fail_memory(error, "the derivatives of the modes");
    if (out->n_rigid > 0)
        TD_TRY(shift(w, -SOLVE_SHIFT * out->lambda[0], error));
    for (int j = 0; j < out->k2; j++)
    {
        TD_TRY(differentiate(w, out->psi + j * n, error));
        for (int i = 0; i <= j; i++)
        {
            stiffness_times(w, w->K1, out->psi + i * n, w->rhs + i * n);
            cblas_dscal((int)n, -1, w->rhs + i * n, 1);
        }
        TD_TRY(solve_static(w, j + 1, out->derived + (int64_t)j * (j + 1) / 2 * n, error));
    }
    return TD_OK;
}

// ---------------------------------------------------------------- the whole

static tdStatus check(const tdModel *model, int body, const tdModesSettings *wanted, tdError *error)
{
    const tdBody *b = &model->bodies[body];
    const tdSoft *soft = b->soft;
    if (b->ops != &td_soft_ops)
        return td_fail(error, TD_ERROR_INPUT, "body '%s' is %s; modes are those of a body of full order", b->name,
                       b->ops->kind);
    if (wanted->modes < 1 || wanted->modes > MOST_MODES || wanted->derivatives < 0 ||
        wanted->derivatives > wanted->modes)
        return td_fail(error, TD_ERROR_INPUT,
                       "%d modes with derivatives of %d: there must be 1 to %d, and derivatives of no more than these",
                       wanted->modes, wanted->derivatives, MOST_MODES);
    if (!(soft->total_mass > 0))
        return td_fail(error, TD_ERROR_INPUT, "body '%s' has no mass, so it has no modes; give its material a density",
                       b->name);
    double vectors = 3.0 * wanted->modes + 10 + 0.5 * wanted->derivatives * (wanted->derivatives + 1.0) +
                     2.0 * wanted->derivatives + 6;
    double bytes = 8 * (vectors * (double)b->count + 18.0 * (double)soft->pattern.blocks);
    if (soft->linear.amg != NULL && wanted->modes > BLOCK_MODES)
        return td_fail(error, TD_ERROR_INPUT,
                       "%d modes by multigrid, which takes the place of a factor by 'solver': request %d at most, or "
                       "take 'type: cholesky' with as much 'memory' as it needs",
                       wanted->modes, BLOCK_MODES);
    bytes += soft->linear.amg != NULL ? td_modes_block_bytes(b->count, wanted->modes) : 0;
    if (bytes > wanted->memory)
        return td_fail(error, TD_ERROR_INPUT,
                       "%d modes and the derivatives of %d need %.3g MB, and %.3g MB are allowed; request fewer",
                       wanted->modes, wanted->derivatives, 1e-6 * bytes, 1e-6 * wanted->memory);
    return TD_OK;
}

static tdStatus take(modesWork *w, const tdModesSettings *wanted, tdError *error)
{
    tdModes *out = w->out;
    out->k = wanted->modes;
    out->k2 = wanted->derivatives;
    out->lambda = TD_TAKE(&out->arena, double, out->k);
    out->psi = TD_TAKE(&out->arena, double, out->k * out->n);
    out->derived = TD_TAKE(&out->arena, double, (int64_t)out->k2 *(out->k2 + 1) / 2 * out->n);
    w->a = TD_TAKE(&w->state->arena, double, out->n);
    w->b = TD_TAKE(&w->state->arena, double, out->n);
    if (out->lambda == NULL || out->psi == NULL || out->derived == NULL || w->a == NULL || w->b == NULL)
        return td_fail_memory(error, "the modes");
    return TD_OK;
}

static tdStatus run(modesWork *w, const tdModesSettings *wanted, tdError *error)
{
    const tdSoft *soft = w->soft;
    tdModes *out = w->out;
    openblas_set_num_threads(1);
    TD_TRY(take(w, wanted, error));
    TD_TRY(stiffness_at(w, soft->rest, w->mine->K, error));
    TD_TRY(rigid_modes(w, error));
    int left = soft->linear.n - out->n_rigid;
    if (out->k >= left)
        return td_fail(error, TD_ERROR_INPUT,
                       "%d modes of a body that has %d apart from rigid motions; request fewer than that", out->k,
                       left);
    double trace = 0, mass = 0;
    for (int32_t i = 0; i < soft->n_nodes; i++)
        for (int c = 0; c < 3; c++)
            if (!soft->held[3 * (int64_t)i + c])
            {
                int64_t block = soft->pattern.row[i + 1] - 1;
                trace += w->mine->K[9 * block + 4 * c];
                mass += soft->mass[block];
            }
    w->ratio = trace / mass;
    TD_TRY(shift(w, out->n_rigid > 0 ? -FREE_SHIFT * w->ratio : 0, error));
    TD_TRY(find_modes(w, error));
    if (!(out->lambda[0] > NO_STIFFNESS * w->ratio))
        return td_fail(error, TD_ERROR_NUMERIC,
                       "the first mode has no stiffness (lambda = %g 1/s^2): parts of the body are not connected, or "
                       "its rest shape is not stable",
                       out->lambda[0]);
    double kept = out->shift;
    TD_TRY(find_derivatives(w, error));
    out->shift = kept;
    return TD_OK;
}

tdStatus td_modes(const tdModel *model, int body, const tdSettings *settings, const tdModesSettings *wanted,
                  tdModes *out, tdError *error)
{
    *out = (tdModes){0};
    TD_TRY(check(model, body, wanted, error));
    modesWork w = {.name = model->bodies[body].name, .soft = model->bodies[body].soft, .out = out};
    out->n = model->bodies[body].count;
    TD_TRY(td_state_create(model, settings, &w.state, error));
    w.mine = (tdSoftState *)w.state->bodies[body];
    w.tasks = w.state->tasks;
    tdStatus status = run(&w, wanted, error);
    td_state_free(w.state);
    if (status != TD_OK)
        td_modes_free(out);
    return status;
}
