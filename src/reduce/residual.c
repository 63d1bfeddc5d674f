// SPDX-License-Identifier: Apache-2.0
// See residual.h.
#include "reduce/residual.h"

#include "base/lapack.h"
#include "core/state.h"

#include <cblas.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES 512e6 // of all columns of a body
#define AT_ONCE    2e8   // operations that may be spent on columns beforehand

struct tdResidual
{
    tdArena arena;
    const tdSoft *soft;
    int r, skipped, stride;
    const double *basis;
    bool loose;
    int64_t coords;
    pthread_mutex_t lock; // of all that follows; columns that are there are read without
    bool prepared, usable;
    bool *held;
    tdLinearModel linear;
    tdLinear *factor;
    double *K;
    double *L;         // of Phi'K Phi over the modes that strain, by columns
    int32_t *triangle; // by node: the first of its triangles, or -1
    int n_rigid;
    double *rigid, *rigid_mass; // orthonormal by mass; times mass
    double *b, *x;              // three right-hand sides and solutions
    double *modal;              // 3 r
    _Atomic(double *) *column;  // by node
    double *size;               // by node
    double bytes;
};

tdStatus td_residual_create(const tdSoft *soft, int r, int skipped, int stride, const double *basis, bool loose,
                            tdResidual **out, tdError *error)
{
    tdResidual *residual = td_take(1, sizeof *residual);
    *out = NULL;
    if (residual == NULL)
        return td_fail_memory(error, "the local flexibility of a reduced body");
    residual->soft = soft;
    residual->r = r;
    residual->skipped = skipped;
    residual->stride = stride;
    residual->basis = basis;
    residual->loose = loose;
    residual->coords = 3 * (int64_t)soft->n_nodes;
    if (pthread_mutex_init(&residual->lock, NULL) != 0)
    {
        free(residual);
        return td_fail_memory(error, "the local flexibility of a reduced body");
    }
    *out = residual;
    return TD_OK;
}

void td_residual_free(tdResidual *residual)
{
    if (residual == NULL)
        return;
    for (int32_t i = 0; residual->column != NULL && i < residual->soft->n_nodes; i++)
        free(atomic_load(&residual->column[i]));
    if (residual->factor != NULL)
        td_linear_free(residual->factor);
    td_linear_model_free(&residual->linear);
    pthread_mutex_destroy(&residual->lock);
    td_arena_free(&residual->arena);
    free(residual);
}

// ---------------------------------------------------------------- bodies that nothing holds

static double distance2(const double *a, const double *b)
{
    return (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]);
}

static void cross(const double *o, const double *a, const double *b, double out[3])
{
    for (int c = 0; c < 3; c++)
    {
        int i = (c + 1) % 3, j = (c + 2) % 3;
        out[c] = (a[i] - o[i]) * (b[j] - o[j]) - (a[j] - o[j]) * (b[i] - o[i]);
    }
}

static int largest(const double *x)
{
    int most = fabs(x[1]) > fabs(x[0]) ? 1 : 0;
    return fabs(x[2]) > fabs(x[most]) ? 2 : most;
}

// Six coordinates of three nodes far apart, which take away the motion as a whole; forces in balance do not feel them.
static void hold_six(tdResidual *residual)
{
    const tdSoft *soft = residual->soft;
    const double *x = soft->rest;
    int32_t a = 0, b = 0, c = 0;
    double most = -1;
    while (a < soft->n_nodes - 1 && soft->node_start[a] == soft->node_start[a + 1])
        a++; // a node of no element
    for (int32_t i = 0; i < soft->n_nodes; i++)
        if (soft->node_start[i] < soft->node_start[i + 1] && distance2(x + 3 * (int64_t)a, x + 3 * (int64_t)i) > most)
        {
            most = distance2(x + 3 * (int64_t)a, x + 3 * (int64_t)i);
            b = i;
        }
    most = -1;
    for (int32_t i = 0; i < soft->n_nodes; i++)
    {
        double normal[3];
        cross(x + 3 * (int64_t)a, x + 3 * (int64_t)b, x + 3 * (int64_t)i, normal);
        double area = normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2];
        if (soft->node_start[i] < soft->node_start[i + 1] && area > most)
        {
            most = area;
            c = i;
        }
    }
    double along[3], normal[3];
    for (int k = 0; k < 3; k++)
    {
        along[k] = x[3 * (int64_t)b + k] - x[3 * (int64_t)a + k];
        residual->held[3 * (int64_t)a + k] = true;
    }
    cross(x + 3 * (int64_t)a, x + 3 * (int64_t)b, x + 3 * (int64_t)c, normal);
    for (int k = 0; k < 3; k++)
        if (k != largest(along))
            residual->held[3 * (int64_t)b + k] = true;
    residual->held[3 * (int64_t)c + largest(normal)] = true;
}

static void times_mass(const tdSoft *soft, const double *x, double *y)
{
    if (soft->consistent)
        td_block_multiply_scalar(NULL, &soft->pattern, soft->mass, x, y, false);
    for (int64_t i = 0; i < 3 * (int64_t)soft->n_nodes && !soft->consistent; i++)
        y[i] = soft->node_mass[i / 3] * x[i];
}

// Translations and rotations about the mean of the nodes, by Gram and Schmidt.
static bool make_rigid(tdResidual *residual)
{
    const tdSoft *soft = residual->soft;
    int64_t n = residual->coords;
    double centre[3] = {0};
    residual->rigid = TD_TAKE(&residual->arena, double, 6 * n);
    residual->rigid_mass = TD_TAKE(&residual->arena, double, 6 * n);
    if (residual->rigid == NULL || residual->rigid_mass == NULL)
        return false;
    for (int64_t i = 0; i < n; i++)
        centre[i % 3] += soft->rest[i] / soft->n_nodes;
    for (int m = 0; m < 6; m++)
    {
        double *z = residual->rigid + m * n, *Mz = residual->rigid_mass + m * n;
        int axis = m % 3, next = (axis + 1) % 3, last = (axis + 2) % 3;
        for (int64_t i = 0; i < n; i += 3)
        {
            z[i + axis] = m < 3;
            z[i + next] = m < 3 ? 0 : -(soft->rest[i + last] - centre[last]);
            z[i + last] = m < 3 ? 0 : soft->rest[i + next] - centre[next];
        }
        for (int k = 0; k < m; k++)
            cblas_daxpy((int)n, -cblas_ddot((int)n, residual->rigid_mass + k * n, 1, z, 1), residual->rigid + k * n, 1,
                        z, 1);
        times_mass(soft, z, Mz);
        double size = sqrt(cblas_ddot((int)n, z, 1, Mz, 1));
        if (!(size > 0))
            return false;
        cblas_dscal((int)n, 1 / size, z, 1);
        cblas_dscal((int)n, 1 / size, Mz, 1);
    }
    residual->n_rigid = 6;
    return true;
}

// x -= Z (MZ'x); of forces x -= MZ (Z'x)
static void without_rigid(const tdResidual *residual, bool force, double *x)
{
    int64_t n = residual->coords;
    const double *by = force ? residual->rigid : residual->rigid_mass,
                 *back = force ? residual->rigid_mass : residual->rigid;
    for (int k = 0; k < residual->n_rigid; k++)
        cblas_daxpy((int)n, -cblas_ddot((int)n, by + k * n, 1, x, 1), back + k * n, 1, x, 1);
}

// ---------------------------------------------------------------- stiffness, factors

// K at rest, of materials that relax the relaxed one.
static bool assemble(tdResidual *residual)
{
    const tdSoft *soft = residual->soft;
    tdArena arena = {0};
    tdSoftState points = {0};
    tdState *state = td_take(1, sizeof *state); // the kernels ask it which they are
    double *force = td_take((size_t)residual->coords, sizeof *force);
    bool good = state != NULL && force != NULL && td_soft_take_points(&arena, soft, &points);
    if (good)
    {
        state->isa = td_isa_pick(false);
        td_soft_history_begin(soft, &points, INFINITY);
        td_soft_gradients(soft, &points, state, soft->rest, true);
        td_soft_forces(soft, &points, state, force, residual->K);
        good = isfinite(td_soft_energy(soft, &points));
    }
    free(state);
    free(force);
    td_arena_free(&arena);
    return good;
}

// L L' = Phi'K Phi
static bool factor_modes(tdResidual *residual)
{
    int r = residual->r - residual->skipped, info = 0;
    int64_t n = residual->coords;
    double *column = td_take((size_t)n, sizeof *column), *product = td_take((size_t)n, sizeof *product);
    residual->L = TD_TAKE(&residual->arena, double, (int64_t)r *r + 1);
    bool good = column != NULL && product != NULL && residual->L != NULL;
    for (int j = 0; j < r && good; j++)
    {
        cblas_dcopy((int)n, residual->basis + residual->skipped + j, residual->stride, column, 1);
        td_block_multiply(NULL, &residual->soft->pattern, residual->K, column, product, false);
        for (int i = j; i < r; i++)
            residual->L[i + (int64_t)j * r] =
                cblas_ddot((int)n, residual->basis + residual->skipped + i, residual->stride, product, 1);
    }
    if (good && r > 0)
        dpotrf_("L", &r, residual->L, &r, &info, 1);
    free(column);
    free(product);
    return good && info == 0;
}

static bool list_triangles(tdResidual *residual)
{
    const tdSoft *soft = residual->soft;
    residual->triangle = TD_TAKE(&residual->arena, int32_t, soft->n_nodes);
    if (residual->triangle == NULL)
        return false;
    for (int32_t i = 0; i < soft->n_nodes; i++)
        residual->triangle[i] = -1;
    for (int64_t t = 0; t < 3 * soft->surface_tris; t++)
        if (residual->triangle[soft->surface[t]] < 0)
            residual->triangle[soft->surface[t]] = (int32_t)(t / 3);
    return true;
}

static bool take(tdResidual *residual)
{
    tdArena *arena = &residual->arena;
    int64_t n = residual->coords;
    residual->held = TD_TAKE(arena, bool, n);
    residual->K = TD_TAKE(arena, double, 9 * residual->soft->pattern.blocks);
    residual->b = TD_TAKE(arena, double, 3 * n);
    residual->x = TD_TAKE(arena, double, 3 * n);
    residual->modal = TD_TAKE(arena, double, 3 * (int64_t)residual->r + 1);
    residual->column = td_arena_take(arena, (size_t)residual->soft->n_nodes, sizeof *residual->column);
    residual->size = TD_TAKE(arena, double, residual->soft->n_nodes);
    return residual->held != NULL && residual->K != NULL && residual->b != NULL && residual->x != NULL &&
           residual->modal != NULL && residual->column != NULL && residual->size != NULL && list_triangles(residual);
}

static bool make(tdResidual *residual)
{
    const tdSoft *soft = residual->soft;
    tdError why;
    if (!take(residual))
        return false;
    memcpy(residual->held, soft->held, (size_t)residual->coords * sizeof *residual->held);
    if (residual->loose)
        hold_six(residual);
    if ((residual->loose && !make_rigid(residual)) || !assemble(residual))
        return false;
    if (td_linear_model_create(&residual->arena, &soft->pattern, residual->held, NULL, &residual->linear, &why) !=
            TD_OK ||
        td_linear_create(&residual->linear, &residual->arena, td_isa_pick(false), &residual->factor, &why) != TD_OK)
        return false;
    return td_linear_refresh(residual->factor, NULL, residual->K, NULL, &why) == TD_OK && factor_modes(residual);
}

// ---------------------------------------------------------------- columns

// p = L^-1 Phi'f, f along d at a node.
static void project(const tdResidual *residual, int32_t node, int d, double *p)
{
    int r = residual->r - residual->skipped;
    const double *row = residual->basis + (3 * (int64_t)node + d) * residual->stride + residual->skipped;
    memcpy(p, row, (size_t)r * sizeof *p);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, r, residual->L, r, p, 1);
}

// Solutions are in residual->x; G is what modes do not have of them.
static void fill(tdResidual *residual, int32_t node, double *G)
{
    int r = residual->r - residual->skipped;
    int64_t n = residual->coords;
    for (int d = 0; d < 3; d++)
    {
        double *x = residual->x + d * n, *p = residual->modal + (int64_t)d * residual->r;
        if (residual->loose)
            without_rigid(residual, false, x);
        residual->size[node] += x[3 * (int64_t)node + d] / 3;
        project(residual, node, d, p);
        cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, r, residual->L, r, p, 1);
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)n, r, -1, residual->basis + residual->skipped, residual->stride,
                    p, 1, 1, x, 1);
        for (int64_t i = 0; i < n; i++)
            G[3 * i + d] = x[i];
    }
}

static double *make_column(tdResidual *residual, int32_t node)
{
    int64_t n = residual->coords;
    tdLinearResult result;
    tdError why;
    double bytes = 3.0 * (double)n * sizeof(double);
    double *G = residual->bytes + bytes > MOST_BYTES ? NULL : td_take(3 * (size_t)n, sizeof *G);
    if (G == NULL)
        return NULL;
    memset(residual->b, 0, 3 * (size_t)n * sizeof *residual->b);
    for (int d = 0; d < 3; d++)
    {
        residual->b[d * n + 3 * (int64_t)node + d] = !residual->soft->held[3 * (int64_t)node + d];
        if (residual->loose)
            without_rigid(residual, true, residual->b + d * n);
    }
    if (td_linear_solve_many(residual->factor, NULL, residual->K, true, 3, n, residual->b, residual->x, &result,
                             &why) != TD_OK)
    {
        free(G);
        return NULL;
    }
    fill(residual, node, G);
    residual->bytes += bytes;
    atomic_store_explicit(&residual->column[node], G, memory_order_release);
    return G;
}

bool td_residual_prepare(tdResidual *residual)
{
    pthread_mutex_lock(&residual->lock);
    if (!residual->prepared)
    {
        residual->prepared = true;
        residual->usable = make(residual);
        double work = 0;
        for (int32_t i = 0; residual->usable && i < residual->soft->n_nodes; i++)
            work += residual->triangle[i] >= 0
                        ? 3 * (4 * residual->linear.factor_entries + 2.0 * (double)residual->coords * residual->r)
                        : 0;
        for (int32_t i = 0; residual->usable && work < AT_ONCE && i < residual->soft->n_nodes; i++)
            if (residual->triangle[i] >= 0)
                make_column(residual, i);
    }
    bool usable = residual->usable;
    pthread_mutex_unlock(&residual->lock);
    return usable;
}

const double *td_residual_column(tdResidual *residual, int32_t node)
{
    double *G = atomic_load_explicit(&residual->column[node], memory_order_acquire);
    if (G != NULL)
        return G;
    pthread_mutex_lock(&residual->lock);
    G = atomic_load_explicit(&residual->column[node], memory_order_acquire);
    if (G == NULL)
        G = make_column(residual, node);
    pthread_mutex_unlock(&residual->lock);
    return G;
}

double td_residual_size(const tdResidual *residual, int32_t node)
{
    return residual->size[node];
}

double td_residual_modal(const tdResidual *residual, int n, const int32_t *nodes, const double *f, double *scratch)
{
    int r = residual->r - residual->skipped;
    memset(scratch, 0, (size_t)r * sizeof *scratch);
    for (int k = 0; k < n; k++)
        for (int c = 0; c < 3; c++)
            cblas_daxpy(r, f[3 * k + c],
                        residual->basis + (3 * (int64_t)nodes[k] + c) * residual->stride + residual->skipped, 1,
                        scratch, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, r, residual->L, r, scratch, 1);
    return cblas_ddot(r, scratch, 1, scratch, 1);
}

const int32_t *td_residual_triangle(const tdResidual *residual, int32_t node)
{
    return residual->triangle[node] < 0 ? NULL : residual->soft->surface + 3 * (int64_t)residual->triangle[node];
}
