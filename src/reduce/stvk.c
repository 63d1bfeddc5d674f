// SPDX-License-Identifier: Apache-2.0
// Coefficients of a reduced St. Venant-Kirchhoff body. At a point of an element F = I + sum_i q_i B_i, and
//
//     E = A_i q_i + 1/2 C_ij q_i q_j,    A_i = sym(B_i),   C_ij = sym(B_i' B_j)
//     W = 1/2 sum w <E, E>,              <X, Y> = 2 mu X : Y + lambda tr X tr Y
//
// So all coefficients are sums of products <V_a, V_b> of the strains V = (A_1 ... A_r, C_11, C_12, C_22, ...): a Gram
// matrix G, to which every point adds its strains' outer product. Symmetry of the energy then gives
//
//     P_ij = G(i, j)    Q_ijk = 1/2 (G(i, jk) + G(j, ik) + G(k, ij))    S_ijkl = 1/6 (G(ij, kl) + G(ik, jl) + G(il,
//     jk))
//
// Work goes through the points of the body some at a time; their strains, weighted so that <,> becomes a plain product,
// are the columns of one matrix, and each tile of G is a task that adds its part of V V'.
#include "reduce/stvk.h"

#include "body/soft.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TILE       96  // rows and columns of G a task
#define BATCHES    64  // of four points, a pass
#define STRAINS    6   // numbers of a symmetric tensor, at most
#define MOST_MODES 512 // far beyond what fits; keeps products of counts within 64 bits

typedef struct gramWork
{
    const tdSoft *soft;
    const tdElements *block;
    int r;
    int64_t n;           // rows of V: modes and pairs
    const double *basis; // 3 n_nodes x r
    int32_t first;       // batch of this pass
    int strains;
    double *V; // n x (4 BATCHES strains), column-major
    double *G; // n x n column-major, lower triangle of tiles
    double *B; // 9 r a batch of the pass: by component, by mode
    int64_t columns;
    bool bent[BATCHES]; // out of the plane, where that is not allowed
} gramWork;

// ---------------------------------------------------------------- sizes

static double tiles_across(double n)
{
    return ceil(n / TILE);
}

tdStvkCost td_stvk_cost(const tdSoft *soft, int r)
{
    double pairs = 0.5 * r * (r + 1.0), n = r + pairs, triples = pairs * (r + 2.0) / 3, quads = triples * (r + 3.0) / 4;
    double rows = 4 * ceil(pairs / 4), tiles = tiles_across(n);
    tdStvkCost cost = {0};
    for (int b = 0; b < soft->n_blocks; b++)
    {
        const tdElements *block = &soft->blocks[b];
        const tdElementShape *shape = &td_element_shape[block->kind];
        double columns = block->kind == TD_ELEMENT_TRI3 ? 3 : 6;
        double points = 4.0 * block->batches * shape->points;
        cost.flops += points * (columns * (n * (n + 1) + 6 * pairs) + 18.0 * shape->nodes * r);
    }
    cost.kept = 8 * (pairs + triples + quads + rows + rows * r + rows * (rows + 4) / 2);
    cost.bytes = cost.kept + 8 * (tiles * TILE * tiles * TILE + 4.0 * BATCHES * STRAINS * n + 4.0 * BATCHES * 9 * r);
    return cost;
}

int64_t td_stvk_scratch(int r)
{
    return 3 * ((td_stvk_pairs(r) + 3) / 4 * 4);
}

double td_stvk_flops(int r)
{
    double pairs = 0.5 * r * (r + 1.0);
    return 2 * pairs * pairs + 2 * pairs * r + 2 * pairs + 6 * pairs + 2.0 * r * r;
}

void td_stvk_evaluate_portable(const tdStvk *stvk, const double *q, double *scratch, double *f, double *K, int stride,
                               double *energy);
void td_stvk_evaluate_avx2(const tdStvk *stvk, const double *q, double *scratch, double *f, double *K, int stride,
                           double *energy);

tdStvkKernel td_stvk_kernel(tdIsa isa)
{
#if defined(__x86_64__)
    if (isa == TD_ISA_AVX2)
        return td_stvk_evaluate_avx2;
#endif
    (void)isa;
    return td_stvk_evaluate_portable;
}

// ---------------------------------------------------------------- strains

// B_i = sum_a phi_a,i (x) dN_a at the point of one lane, by component.
static void gradients(const gramWork *w, int32_t batch, int point, int lane, double *B)
{
    const tdElements *block = w->block;
    const tdElementShape *shape = &td_element_shape[block->kind];
    int r = w->r, n = shape->nodes, skip = block->kind == TD_ELEMENT_TET4;
    const double *from = block->gradient + 12 * (n - skip) * ((int64_t)shape->points * batch + point) + lane;
    double g[TD_ELEMENT_NODES][3] = {{0}};
    for (int a = skip; a < n; a++)
        for (int c = 0; c < 3; c++)
        {
            g[a][c] = from[12 * (a - skip) + 4 * c];
            if (skip)
                g[0][c] -= g[a][c];
        }
    memset(B, 0, 9 * (size_t)r * sizeof *B);
    for (int a = 0; a < n; a++)
    {
        int64_t node = block->nodes[4 * (n * (int64_t)batch + a) + lane];
        for (int c = 0; c < 9; c++)
        {
            const double *phi = w->basis + (3 * node + c / 3) * r;
            double *to = B + (int64_t)c * r, gradient = g[a][c % 3];
            for (int i = 0; i < r; i++)
                to[i] += gradient * phi[i];
        }
    }
}

// Two directions in the plane of a triangle: columns of B become those along them. False: B leaves the plane.
static bool into_plane(const gramWork *w, int32_t batch, int lane, double *B, double *frame)
{
    double n[3], *t1 = frame, *t2 = frame + 3;
    int r = w->r, least = 0;
    for (int c = 0; c < 3; c++)
        n[c] = w->block->normal[4 * (3 * (int64_t)batch + c) + lane];
    for (int c = 1; c < 3; c++)
        least = fabs(n[c]) < fabs(n[least]) ? c : least;
    double length = sqrt(1 - n[least] * n[least]);
    for (int c = 0; c < 3; c++)
        t1[c] = ((c == least) - n[least] * n[c]) / length;
    for (int c = 0; c < 3; c++)
        t2[c] = n[(c + 1) % 3] * t1[(c + 2) % 3] - n[(c + 2) % 3] * t1[(c + 1) % 3];
    bool within = true;
    for (int i = 0; i < r; i++)
    {
        double out = 0, size = 0;
        for (int d = 0; d < 3; d++)
        {
            double *row[3] = {B + (3 * (int64_t)d) * r + i, B + (3 * (int64_t)d + 1) * r + i,
                              B + (3 * (int64_t)d + 2) * r + i};
            double b[3] = {*row[0], *row[1], *row[2]};
            *row[0] = b[0] * t1[0] + b[1] * t1[1] + b[2] * t1[2];
            *row[1] = b[0] * t2[0] + b[1] * t2[1] + b[2] * t2[2];
            *row[2] = 0;
        }
        for (int a = 0; a < 2; a++)
        {
            double across = 0;
            for (int d = 0; d < 3; d++)
            {
                double b = B[(3 * (int64_t)d + a) * r + i];
                across += n[d] * b;
                size += b * b;
            }
            out += across * across;
        }
        within = within && !(out > 1e-20 * size);
    }
    return within;
}

// One row of strains of V, where column s (of `strains`) of this point begins at V + s n: component (a, b) of
// A_i, i < r and of C_ij, without weights.
static void strain_row(const gramWork *w, const double *B, const double *frame, int a, int b, double *to)
{
    int r = w->r;
    const double *Ba[3], *Bb[3];
    for (int d = 0; d < 3; d++)
    {
        Ba[d] = B + (3 * (int64_t)d + a) * r;
        Bb[d] = B + (3 * (int64_t)d + b) * r;
    }
    for (int i = 0; i < r; i++)
    {
        to[i] = 0;
        for (int d = 0; d < 3; d++)
            to[i] += 0.5 * (frame[3 * a + d] * Bb[d][i] + frame[3 * b + d] * Ba[d][i]);
    }
    to += r;
    for (int j = 0; j < r; j++, to += j)
    {
        double a0 = 0.5 * Ba[0][j], a1 = 0.5 * Ba[1][j], a2 = 0.5 * Ba[2][j], b0 = 0.5 * Bb[0][j], b1 = 0.5 * Bb[1][j],
               b2 = 0.5 * Bb[2][j];
        for (int i = 0; i <= j; i++)
            to[i] = (a0 * Bb[0][i] + a1 * Bb[1][i] + a2 * Bb[2][i]) + (b0 * Ba[0][i] + b1 * Ba[1][i] + b2 * Ba[2][i]);
    }
}

// Moduli of a block: mu and the lambda of the strains that are counted. Where the stress through a triangle vanishes,
// E_nn = -lambda / (lambda + 2 mu) tr E, still linear in the strains of the plane.
static void moduli(const tdMaterial *material, double *mu, double *lambda)
{
    *mu = material->parameters[0];
    *lambda = material->parameters[1];
    if (material->through == TD_THROUGH_FREE)
        *lambda = 2 * *mu * *lambda / (*lambda + 2 * *mu);
}

// Columns of V of one point. sqrt(2 mu w) (X + c tr X I) turns <X, Y> into a plain product when d c^2 + 2 c =
// lambda / (2 mu) in d dimensions.
static void fill_point(gramWork *w, int32_t batch, int point, int lane, double *B, double *V)
{
    static const int pair[2][STRAINS][2] = {{{0, 0}, {1, 1}, {0, 1}}, {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}}};
    const tdElements *block = w->block;
    const tdElementShape *shape = &td_element_shape[block->kind];
    double frame[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, mu, lambda;
    bool flat = block->kind == TD_ELEMENT_TRI3;
    int d = flat ? 2 : 3;
    int64_t n = w->n;
    gradients(w, batch, point, lane, B);
    if (flat && !into_plane(w, batch, lane, B, frame) && block->material.through == TD_THROUGH_HELD)
        w->bent[batch - w->first] = true;
    moduli(&block->material, &mu, &lambda);
    double c = (sqrt(1 + d * lambda / (2 * mu)) - 1) / d;
    double scale = sqrt(2 * mu * block->weight[4 * ((int64_t)shape->points * batch + point) + lane]);
    for (int s = 0; s < w->strains; s++)
        strain_row(w, B, frame, pair[d - 2][s][0], pair[d - 2][s][1], V + s * n);
    for (int64_t i = 0; i < n; i++)
    {
        double trace = 0;
        for (int s = 0; s < d; s++)
            trace += V[s * n + i];
        for (int s = 0; s < d; s++)
            V[s * n + i] = scale * (V[s * n + i] + c * trace);
        for (int s = d; s < w->strains; s++)
            V[s * n + i] *= sqrt(2.0) * scale;
    }
}

static void fill_batch(void *context, int k)
{
    gramWork *w = context;
    int points = td_element_shape[w->block->kind].points;
    double *V = w->V + (int64_t)k * 4 * points * w->strains * w->n;
    for (int p = 0; p < points; p++)
        for (int lane = 0; lane < 4; lane++, V += w->strains * w->n)
            fill_point(w, w->first + k, p, lane, w->B + 9 * (int64_t)k * w->r, V);
}

// ---------------------------------------------------------------- Gram matrix

// Tiles of the lower triangle are numbered by rows.
static void add_tile(void *context, int k)
{
    const gramWork *w = context;
    int64_t row = (int64_t)((sqrt(8.0 * k + 1) - 1) / 2);
    while (row * (row + 1) / 2 > k)
        row--;
    while ((row + 1) * (row + 2) / 2 <= k)
        row++;
    int64_t i = row * TILE, j = (k - row * (row + 1) / 2) * TILE, n = w->n;
    int height = (int)(n - i < TILE ? n - i : TILE), width = (int)(n - j < TILE ? n - j : TILE);
    double *G = w->G + j * n + i;
    if (i == j)
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, height, (int)w->columns, 1, w->V + i, (int)n, 1, G,
                    (int)n);
    else
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, height, width, (int)w->columns, 1, w->V + i, (int)n,
                    w->V + j, (int)n, 1, G, (int)n);
}

static tdStatus add_block(gramWork *w, tdTasks *tasks, tdError *error)
{
    const tdElements *block = w->block;
    int points = td_element_shape[block->kind].points, tiles = (int)tiles_across((double)w->n);
    w->strains = block->kind == TD_ELEMENT_TRI3 ? 3 : 6;
    int32_t pass = BATCHES / points;
    for (w->first = 0; w->first < block->batches; w->first += pass)
    {
        int32_t left = block->batches - w->first, count = left < pass ? left : pass;
        memset(w->bent, 0, sizeof w->bent);
        td_parallel(tasks, count, fill_batch, w);
        for (int k = 0; k < count; k++)
            if (w->bent[k])
                return td_fail(error, TD_ERROR_INPUT,
                               "a mode leaves the plane of a body in plane strain near element %d; its coordinates "
                               "across the plane must be held",
                               block->element[4 * (int64_t)(w->first + k)]);
        w->columns = (int64_t)count * 4 * points * w->strains;
        td_parallel(tasks, tiles * (tiles + 1) / 2, add_tile, w);
    }
    return TD_OK;
}

// ---------------------------------------------------------------- coefficients

static double gram(const gramWork *w, int64_t a, int64_t b)
{
    return a >= b ? w->G[b * w->n + a] : w->G[a * w->n + b];
}

// Row of G of the pair i <= j.
static int64_t pair_row(const gramWork *w, int64_t i, int64_t j)
{
    return w->r + j * (j + 1) / 2 + i;
}

static void extract(const gramWork *w, tdStvk *out)
{
    double *P = out->P, *Q = out->Q, *S = out->S;
    for (int64_t l = 0; l < w->r; l++)
        for (int64_t k = 0; k <= l; k++)
        {
            *P++ = gram(w, l, k);
            for (int64_t j = 0; j <= k; j++)
            {
                *Q++ = 0.5 *
                       (gram(w, j, pair_row(w, k, l)) + gram(w, k, pair_row(w, j, l)) + gram(w, l, pair_row(w, j, k)));
                for (int64_t i = 0; i <= j; i++)
                    *S++ =
                        (gram(w, pair_row(w, i, j), pair_row(w, k, l)) + gram(w, pair_row(w, i, k), pair_row(w, j, l)) +
                         gram(w, pair_row(w, i, l), pair_row(w, j, k))) /
                        6;
            }
        }
}

static void swap_down(int *a, int *b)
{
    int keep = *a;
    if (*a > *b)
    {
        *a = *b;
        *b = keep;
    }
}

static double quadruple(const tdStvk *stvk, const int *a, const int *b)
{
    int i = a[0], j = a[1], k = b[0], l = b[1];
    swap_down(&i, &k);
    swap_down(&j, &l); // both pairs ascend: i is now the least, l the greatest
    swap_down(&j, &k);
    return stvk->S[td_stvk_quadruples(l) + td_stvk_triples(k) + td_stvk_pairs(j) + i];
}

static double triple(const tdStvk *stvk, const int *a, int k)
{
    int i = a[0], j = a[1];
    swap_down(&j, &k);
    swap_down(&i, &j);
    return stvk->Q[td_stvk_triples(k) + td_stvk_pairs(j) + i];
}

static void lay_out(tdStvk *stvk, const int (*pair)[2])
{
    int64_t pairs = td_stvk_pairs(stvk->r), rows = stvk->rows;
    memcpy(stvk->pair, stvk->P, (size_t)pairs * sizeof *stvk->pair);
    double *to = stvk->linear;
    for (int64_t i = 0; i < rows; i += 4)
        for (int k = 0; k < stvk->r; k++)
            for (int64_t row = i; row < i + 4; row++)
                *to++ = row < pairs ? triple(stvk, pair[row], k) : 0;
    to = stvk->squared;
    for (int64_t j = 0; j < rows; j += 4)
        for (int64_t i = j; i < rows; i += 4)
            for (int64_t column = j; column < j + 4; column++)
                for (int64_t row = i; row < i + 4; row++)
                    *to++ = row < pairs && column < pairs ? quadruple(stvk, pair[row], pair[column]) : 0;
}

static tdStatus expand(tdStvk *stvk, tdError *error)
{
    int(*pair)[2] = td_take((size_t)td_stvk_pairs(stvk->r), sizeof *pair);
    if (pair == NULL)
        return td_fail_memory(error, "the coefficients of a reduced body");
    for (int j = 0, at = 0; j < stvk->r; j++)
        for (int i = 0; i <= j; i++, at++)
        {
            pair[at][0] = i;
            pair[at][1] = j;
        }
    lay_out(stvk, (const int(*)[2])pair);
    free(pair);
    return TD_OK;
}

static tdStatus take(int r, tdStvk *out, tdError *error)
{
    *out = (tdStvk){.r = r, .rows = (td_stvk_pairs(r) + 3) / 4 * 4};
    int64_t rows = out->rows;
    out->P = TD_TAKE(&out->arena, double, td_stvk_pairs(r));
    out->Q = TD_TAKE(&out->arena, double, td_stvk_triples(r));
    out->S = TD_TAKE(&out->arena, double, td_stvk_quadruples(r));
    out->pair = TD_TAKE(&out->arena, double, rows);
    out->linear = TD_TAKE(&out->arena, double, rows *r);
    out->squared = TD_TAKE(&out->arena, double, rows *(rows + 4) / 2);
    if (out->P != NULL && out->Q != NULL && out->S != NULL && out->pair != NULL && out->linear != NULL &&
        out->squared != NULL)
        return TD_OK;
    td_stvk_free(out);
    return td_fail_memory(error, "the coefficients of a reduced body");
}

// ---------------------------------------------------------------- making them

static tdStatus check(const tdSoft *soft, int r, double limit, tdError *error)
{
    if (r < 1 || r > MOST_MODES)
        return td_fail(error, TD_ERROR_INPUT, "a reduced St. Venant-Kirchhoff body has 1 to %d modes, not %d",
                       MOST_MODES, r);
    for (int b = 0; b < soft->n_blocks; b++)
    {
        const tdMaterial *material = &soft->blocks[b].material;
        if (material->law != td_law(TD_LAW_STVK))
            return td_fail(error, TD_ERROR_INPUT,
                           "some elements have the law '%s'; forces are polynomials with the law 'stvk' alone",
                           material->law->name);
        if (material->n_prony > 0 || material->mean_dilatation)
            return td_fail(error, TD_ERROR_INPUT,
                           "some elements are %s; forces are polynomials of the shape without that alone",
                           material->n_prony > 0 ? "viscoelastic" : "formulated with mean dilatation");
        if (!(material->parameters[0] > 0) || !isfinite(material->parameters[1]))
            return td_fail(error, TD_ERROR_INPUT, "the moduli mu = %g Pa, lambda = %g Pa are not those of a solid",
                           material->parameters[0], material->parameters[1]);
    }
    tdStvkCost cost = td_stvk_cost(soft, r);
    if (cost.bytes > limit)
        return td_fail(error, TD_ERROR_INPUT,
                       "the polynomials of %d modes need %.3g MB and %.3g Gflop to make, and %.3g MB are allowed; use "
                       "fewer modes",
                       r, 1e-6 * cost.bytes, 1e-9 * cost.flops, 1e-6 * limit);
    return TD_OK;
}

tdStatus td_stvk_create(const tdSoft *soft, tdTasks *tasks, int r, const double *basis, double limit, tdStvk *out,
                        tdError *error)
{
    *out = (tdStvk){0};
    TD_TRY(check(soft, r, limit, error));
    gramWork w = {.soft = soft, .r = r, .n = r + td_stvk_pairs(r), .basis = basis};
    w.V = td_take(4 * BATCHES * STRAINS * (size_t)w.n, sizeof *w.V);
    w.B = td_take(9 * BATCHES * (size_t)r, sizeof *w.B);
    w.G = td_take((size_t)w.n * (size_t)w.n, sizeof *w.G);
    tdStatus status =
        w.V != NULL && w.B != NULL && w.G != NULL ? TD_OK : td_fail_memory(error, "the coefficients of a reduced body");
    openblas_set_num_threads(1); // parallel work is ours, and its bits must not depend on it
    for (int b = 0; b < soft->n_blocks && status == TD_OK; b++)
    {
        w.block = &soft->blocks[b];
        status = add_block(&w, tasks, error);
    }
    if (status == TD_OK)
        status = take(r, out, error);
    if (status == TD_OK)
    {
        extract(&w, out);
        status = expand(out, error);
    }
    free(w.V);
    free(w.B);
    free(w.G);
    if (status != TD_OK)
        td_stvk_free(out);
    return status;
}

tdStatus td_stvk_set(int r, const double *P, const double *Q, const double *S, tdStvk *out, tdError *error)
{
    *out = (tdStvk){0};
    if (r < 1 || r > MOST_MODES)
        return td_fail(error, TD_ERROR_INPUT, "a reduced St. Venant-Kirchhoff body has 1 to %d modes, not %d",
                       MOST_MODES, r);
    TD_TRY(take(r, out, error));
    memcpy(out->P, P, (size_t)td_stvk_pairs(r) * sizeof *P);
    memcpy(out->Q, Q, (size_t)td_stvk_triples(r) * sizeof *Q);
    memcpy(out->S, S, (size_t)td_stvk_quadruples(r) * sizeof *S);
    tdStatus status = expand(out, error);
    if (status != TD_OK)
        td_stvk_free(out);
    return status;
}

void td_stvk_free(tdStvk *stvk)
{
    td_arena_free(&stvk->arena);
    *stvk = (tdStvk){0};
}
