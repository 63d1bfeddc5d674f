// SPDX-License-Identifier: Apache-2.0
// The points of a reduced body: F = F0 + B q, forces sum w B' P, tangent sum w B' D B, four points at a time.
//
// Pieces of two point batches, 72 rows of B, go from F to the matrix in one sweep, so that B is read once from memory
// and what lies between, D B and w P, never leaves the first cache.
#include "body/point.h"
#include "material/corotational.h"
#include "material/project.h"
#include "reduce/reduced_body.h"
#include "reduce/reduced_lanes.h"

#define FLAT static inline __attribute__((always_inline))

void TD_ISA(td_reduced_gradients)(const tdReducedWork *work);
void TD_ISA(td_reduced_forces)(const tdReducedWork *work);
void TD_ISA(td_reduced_damping)(const tdReducedWork *work);
void TD_ISA(td_reduced_stress)(const tdReducedWork *work, int32_t batch, double *P);
void TD_ISA(td_dense_gram)(int64_t rows, int n, const double *X, const double *Y, double *K);

// ---------------------------------------------------------------- gradients

FLAT void affine(const double *B, const double *F0, const double *q, int stride, td4 F[9])
{
    for (int c = 0; c < 9; c++)
    {
        const double *row = B + 4 * c * (int64_t)stride;
        td4 sum[4] = {td4_set(0), td4_set(0), td4_set(0), td4_set(0)};
        for (int j = 0; j < stride; j += 4)
        {
            td4 x = td4_load(q + j);
            for (int l = 0; l < 4; l++)
                sum[l] += td4_load(row + l * (int64_t)stride + j) * x;
        }
        td4_transpose(sum);
        F[c] = td4_load(F0 + 4 * c) + ((sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
}

static void gradients_batch(const tdReducedWork *work, int32_t b, tdChunkSums *sums)
{
    const tdElementWork *points = &work->points;
    const tdElements *block = points->block;
    int n_points = td_element_shape[block->kind].points;
    bool through = block->material.through == TD_THROUGH_FREE;
    td4 least = td4_set(INFINITY);
    for (int p = 0; p < n_points; p++)
    {
        int64_t point = n_points * (int64_t)b + p;
        td4 F[9], n[3];
        int64_t at = point - work->first;
        if (work->lanes != NULL)
            affine_lanes(work->lanes + 36 * work->n * at, work->F0 + 36 * at, work->q, work->n, F);
        else
            affine(work->B + 36 * work->stride * at, work->F0 + 36 * at, work->q, work->stride, F);
        for (int c = 0; c < 3 && through; c++)
            n[c] = td4_load(block->normal + 12 * (int64_t)b + 4 * c);
        if (through)
            td_solve_through(points, point, n, F);
        td_store9(F, points->F + 36 * point);
        least = td4_min(least, td_det(F));
        if (points->polar != NULL && !through)
            points->polar(points->F + 36 * point, points->R + 36 * point);
    }
    for (int l = 0; l < 4; l++)
    {
        bool real = block->element[4 * (int64_t)b + l] >= 0;
        sums->inverted += !(least[l] > 0) && real;
        sums->extended += least[l] < TD_COMPRESSION && real;
    }
}

void TD_ISA(td_reduced_gradients)(const tdReducedWork *work)
{
    tdChunkSums *sums = work->points.sums;
    sums->inverted = sums->extended = 0;
    for (int32_t b = 0; b < work->points.block->batches; b++)
        gradients_batch(work, b, sums);
}

// ---------------------------------------------------------------- products

// K(i..i+3, j..j+4 vectors) += X'Y
FLAT void gram_tile(int64_t rows, int n, const double *X, const double *Y, double *K, const int vectors)
{
    td4 sum[4][3];
    memset(sum, 0, sizeof sum);
    for (int64_t k = 0; k < rows; k++, X += n, Y += n)
    {
        td4 y[3];
        for (int v = 0; v < vectors; v++)
            y[v] = td4_load(Y + 4 * v);
        for (int a = 0; a < 4; a++)
        {
            td4 x = td4_set(X[a]);
            for (int v = 0; v < vectors; v++)
                sum[a][v] += x * y[v];
        }
    }
    for (int a = 0; a < 4; a++)
        for (int v = 0; v < vectors; v++)
        {
            double *to = K + a * (int64_t)n + 4 * v;
            td4_store(to, td4_load(to) + sum[a][v]);
        }
}

// How many of the vectors that are left go into the next tile: three, but never three and one.
FLAT int tile_width(int left)
{
    return left == 4 ? 2 : left > 3 ? 3 : left;
}

void TD_ISA(td_dense_gram)(int64_t rows, int n, const double *X, const double *Y, double *K)
{
    for (int i = 0; i < n; i += 4)
        for (int j = 0; j <= i;)
        {
            int width = tile_width((i + 4 - j) / 4);
            double *to = K + i * (int64_t)n + j;
            if (width == 3)
                gram_tile(rows, n, X + i, Y + j, to, 3);
            else if (width == 2)
                gram_tile(rows, n, X + i, Y + j, to, 2);
            else
                gram_tile(rows, n, X + i, Y + j, to, 1);
            j += 4 * width;
        }
}

// Three rows of T = D B of one lane; rows of B and T are `step` apart.
FLAT void product_tile(const double *D, const double *B, int64_t step, double *T, const int vectors)
{
    td4 sum[3][3];
    memset(sum, 0, sizeof sum);
    for (int d = 0; d < 9; d++)
    {
        td4 y[3];
        for (int v = 0; v < vectors; v++)
            y[v] = td4_load(B + d * step + 4 * v);
        for (int a = 0; a < 3; a++)
        {
            td4 x = td4_set(D[9 * a + d]);
            for (int v = 0; v < vectors; v++)
                sum[a][v] += x * y[v];
        }
    }
    for (int a = 0; a < 3; a++)
        for (int v = 0; v < vectors; v++)
            td4_store(T + a * step + 4 * v, sum[a][v]);
}

// T = w D B of a point batch.
static void tangent_rows(const double *D, td4 weight, const double *B, int stride, double *T)
{
    int64_t step = 4 * (int64_t)stride;
    for (int l = 0; l < 4; l++)
    {
        double full[81];
        for (int i = 0; i < 9; i++)
            for (int j = 0; j <= i; j++)
                full[9 * i + j] = full[9 * j + i] = weight[l] * D[4 * TD_PACKED(i, j) + l];
        for (int j = 0; j < stride;)
        {
            int width = tile_width((stride - j) / 4);
            for (int a = 0; a < 9; a += 3)
            {
                const double *from = B + l * (int64_t)stride + j;
                double *to = T + a * step + l * (int64_t)stride + j;
                if (width == 3)
                    product_tile(full + 9 * a, from, step, to, 3);
                else if (width == 2)
                    product_tile(full + 9 * a, from, step, to, 2);
                else
                    product_tile(full + 9 * a, from, step, to, 1);
            }
            j += 4 * width;
        }
    }
}

// ---------------------------------------------------------------- products in single precision

// As above, with rows of floats `n` apart. Sums over the rows of one piece are floats, sums of pieces doubles.
FLAT void gram_tile_single(int rows, int n, const float *X, const float *Y, double *K, int stride, int columns,
                           const int vectors)
{
    td8f sum[4][3];
    memset(sum, 0, sizeof sum);
    for (int k = 0; k < rows; k++, X += n, Y += n)
    {
        td8f y[3];
        for (int v = 0; v < vectors; v++)
            y[v] = td8f_load(Y + 8 * v);
        for (int a = 0; a < 4; a++)
        {
            td8f x = td8f_set(X[a]);
            for (int v = 0; v < vectors; v++)
                sum[a][v] += x * y[v];
        }
    }
    for (int a = 0; a < 4; a++)
        for (int v = 0; v < vectors; v++)
            td8f_add_to(K + a * (int64_t)stride + 8 * v, sum[a][v], columns - 8 * v);
}

// Lower triangle of K and what stands right of it in the same registers.
static void gram_single(int rows, int n, const float *X, const float *Y, int stride, double *K)
{
    for (int i = 0; i < stride; i += 4)
        for (int j = 0; j <= i;)
        {
            int width = tile_width((i + 4 - j + 7) / 8), columns = stride - j;
            double *to = K + i * (int64_t)stride + j;
            if (width == 3)
                gram_tile_single(rows, n, X + i, Y + j, to, stride, columns, 3);
            else if (width == 2)
                gram_tile_single(rows, n, X + i, Y + j, to, stride, columns, 2);
            else
                gram_tile_single(rows, n, X + i, Y + j, to, stride, columns, 1);
            j += 8 * width;
        }
}

FLAT void product_tile_single(const float *D, const float *B, int64_t step, float *T, const int vectors)
{
    td8f sum[3][3];
    memset(sum, 0, sizeof sum);
    for (int d = 0; d < 9; d++)
    {
        td8f y[3];
        for (int v = 0; v < vectors; v++)
            y[v] = td8f_load(B + d * step + 8 * v);
        for (int a = 0; a < 3; a++)
        {
            td8f x = td8f_set(D[9 * a + d]);
            for (int v = 0; v < vectors; v++)
                sum[a][v] += x * y[v];
        }
    }
    for (int a = 0; a < 3; a++)
        for (int v = 0; v < vectors; v++)
            td8f_store(T + a * step + 8 * v, sum[a][v]);
}

static void tangent_rows_single(const double *D, td4 weight, const float *B, int n, float *T)
{
    int64_t step = 4 * (int64_t)n;
    for (int l = 0; l < 4; l++)
    {
        float full[81];
        for (int i = 0; i < 9; i++)
            for (int j = 0; j <= i; j++)
                full[9 * i + j] = full[9 * j + i] = (float)(weight[l] * D[4 * TD_PACKED(i, j) + l]);
        for (int j = 0; j < n;)
        {
            int width = tile_width((n - j) / 8);
            for (int a = 0; a < 9; a += 3)
            {
                const float *from = B + l * (int64_t)n + j;
                float *to = T + a * step + l * (int64_t)n + j;
                if (width == 3)
                    product_tile_single(full + 9 * a, from, step, to, 3);
                else if (width == 2)
                    product_tile_single(full + 9 * a, from, step, to, 2);
                else
                    product_tile_single(full + 9 * a, from, step, to, 1);
            }
            j += 8 * width;
        }
    }
}

// f(j..j+4 vectors) += B' p
FLAT void force_tile(int rows, int stride, const double *B, const double *p, double *f, const int vectors)
{
    td4 sum[8];
    memset(sum, 0, sizeof sum);
    for (int k = 0; k < rows; k++, B += stride)
        for (int v = 0; v < vectors; v++)
            sum[v] += p[k] * td4_load(B + 4 * v);
    for (int v = 0; v < vectors; v++)
        td4_store(f + 4 * v, td4_load(f + 4 * v) + sum[v]);
}

// One sum after the other would wait for itself in every row, so that all columns that are left go together.
static void add_force(int rows, int stride, const double *B, const double *p, double *f)
{
    int j = 0;
    for (; j + 32 <= stride; j += 32)
        force_tile(rows, stride, B + j, p, f + j, 8);
    switch ((stride - j) / 4)
    {
    case 7: force_tile(rows, stride, B + j, p, f + j, 7); break;
    case 6: force_tile(rows, stride, B + j, p, f + j, 6); break;
    case 5: force_tile(rows, stride, B + j, p, f + j, 5); break;
    case 4: force_tile(rows, stride, B + j, p, f + j, 4); break;
    case 3: force_tile(rows, stride, B + j, p, f + j, 3); break;
    case 2: force_tile(rows, stride, B + j, p, f + j, 2); break;
    case 1: force_tile(rows, stride, B + j, p, f + j, 1); break;
    default: break;
    }
}

// ---------------------------------------------------------------- forces

// What one batch of elements has in common.
typedef struct batch
{
    bool mean, through;
    int changed; // lanes whose tangent was projected
    tdDilatation dilation;
    td4 energy, normal[3];
} batch;

static batch begin_batch(const tdReducedWork *work, int32_t b)
{
    const tdElements *block = work->points.block;
    int n_points = td_element_shape[block->kind].points;
    batch e = {.mean = block->material.mean_dilatation, .through = block->material.through == TD_THROUGH_FREE};
    if (e.mean)
    {
        e.dilation = td_mean_dilatation(&work->points, n_points * (int64_t)b, n_points);
        e.energy = work->points.gamma * e.dilation.energy;
    }
    for (int c = 0; c < 3 && e.through; c++)
        e.normal[c] = td4_load(block->normal + 12 * (int64_t)b + 4 * c);
    return e;
}

// D of what stiffness damping multiplies.
static void damping_tangent(const tdElementWork *points, const batch *e, int64_t point, double *D)
{
    _Alignas(64) double thin[4 * TD_TANGENT];
    const double *rest = points->block->material.rest;
    if (rest != NULL && e->through)
    {
        memcpy(thin, rest, sizeof thin);
        td_condense_through(e->normal, thin);
        rest = thin;
    }
    td_damping_tangent(points, rest, point, D);
    if (rest == NULL && e->through)
        td_condense_through(e->normal, D);
}

// P (times the weight, into p) and D of a point batch; cof F where volume changes are averaged.
static td4 respond(const tdReducedWork *work, batch *e, int64_t point, double *p, double *D, td4 cof[9])
{
    const tdElementWork *points = &work->points;
    _Alignas(64) double psi[4], P[36];
    const double *F = points->F + 36 * point;
    td4 weight = td4_load(points->block->weight + 4 * point);
    points->law(points->parameters, F, td_rotation_at(points, point), psi, P, D);
    if (e->mean)
        td_add_pressure(F, e->dilation.pressure, P, D, cof);
    if (points->H != NULL)
        td_add_history(points->gamma, points->H + 24 * point, F, psi, P, D);
    e->energy += weight * td4_load(psi);
    for (int c = 0; c < 9; c++)
        td4_store(p + 4 * c, weight * td4_load(P + 4 * c));
    if (D != NULL && e->through)
        td_condense_through(e->normal, D);
    if (D != NULL && points->project)
        e->changed |= td_project4(D);
    const tdMaterial *material = &points->block->material;
    if (D != NULL && work->damped > 0 && material->rest != NULL && !e->through && !isnan(material->lame[0]))
        td_add_lame(work->damped * material->lame[0], work->damped * material->lame[1], F, D);
    else if (D != NULL && work->damped > 0)
    {
        _Alignas(64) double damping[4 * TD_TANGENT];
        damping_tangent(points, e, point, damping);
        for (int c = 0; c < TD_TANGENT; c++)
            td4_store(D + 4 * c, td4_load(D + 4 * c) + work->damped * td4_load(damping + 4 * c));
    }
    return weight;
}

// The same of what stiffness damping multiplies: no stress; F in the place of cof F.
static batch begin_damping(const tdReducedWork *work, int32_t b)
{
    const tdElements *block = work->points.block;
    int n_points = td_element_shape[block->kind].points;
    batch e = {.mean = block->material.mean_dilatation, .through = block->material.through == TD_THROUGH_FREE};
    td4 volume = td4_set(0);
    for (int k = 0; k < n_points; k++)
        volume += td4_load(block->weight + 4 * (n_points * (int64_t)b + k));
    if (e.mean)
        e.dilation.stiffness = td_rest_bulk(block, volume);
    for (int c = 0; c < 3 && e.through; c++)
        e.normal[c] = td4_load(block->normal + 12 * (int64_t)b + 4 * c);
    return e;
}

static td4 damp(const tdReducedWork *work, const batch *e, int64_t point, double *D, td4 F[9])
{
    const tdElementWork *points = &work->points;
    damping_tangent(points, e, point, D);
    td_load9(points->F + 36 * point, F);
    return td4_load(points->block->weight + 4 * point);
}

static void end_batch(const tdReducedWork *work, const batch *e, int32_t b, tdChunkSums *sums)
{
    const int32_t *element = work->points.block->element + 4 * (int64_t)b;
    for (int l = 0; l < 4; l++)
    {
        if (element[l] < 0)
            continue;
        sums->projected += e->changed >> l & 1;
        sums->energy += e->energy[l];
        if (!isfinite(e->energy[l]) && element[l] < sums->bad)
            sums->bad = element[l];
    }
}

// dV += sum w cof F : B, a row for each lane.
static void add_volume_rows(td4 weight, const td4 cof[9], const double *B, int stride, double *dV)
{
    for (int c = 0; c < 9; c++)
    {
        td4 wc = weight * cof[c];
        for (int l = 0; l < 4; l++)
            for (int j = 0; j < stride; j += 4)
            {
                int64_t at = l * (int64_t)stride + j;
                td4_store(dV + at, td4_load(dV + at) + wc[l] * td4_load(B + 4 * c * (int64_t)stride + at));
            }
    }
}

// The outer product of dV/dq of each lane's element, which all of its points share.
static void add_volume_stiffness(const tdReducedWork *work, const batch *e, double *dV, double *scaled)
{
    int stride = work->stride;
    td4 stiffness = work->points.gamma * e->dilation.stiffness;
    if (work->points.project)
        stiffness = td4_max(stiffness, td4_set(0));
    for (int64_t k = 0; k < 4 * (int64_t)stride; k++)
        scaled[k] = stiffness[k / stride] * dV[k];
    TD_ISA(td_dense_gram)(4, stride, dV, scaled, work->K);
    memset(dV, 0, 4 * (size_t)stride * sizeof *dV);
}

#include "reduce/reduced_spin.h"

// ---------------------------------------------------------------- all laws

FLAT void general_forces(const tdReducedWork *work, tdChunkSums *sums, const bool damping)
{
    const tdElements *block = work->points.block;
    int n_points = td_element_shape[block->kind].points, stride = work->stride, rows = 0;
    double *T = work->rows, *dV = T + TD_REDUCED_ROWS * (int64_t)stride, *p = dV + 8 * (int64_t)stride;
    _Alignas(64) double D_here[4 * TD_TANGENT], *D = work->K != NULL ? D_here : NULL;
    memset(dV, 0, 4 * (size_t)stride * sizeof *dV);
    const double *piece = work->B;
    const float *piece_single = work->B_single;
    for (int32_t b = 0; b < block->batches; b++)
    {
        if (work->q != NULL)
            gradients_batch(work, b, sums);
        batch e = damping ? begin_damping(work, b) : begin_batch(work, b);
        for (int k = 0; k < n_points; k++)
        {
            int64_t point = n_points * (int64_t)b + k;
            const double *B = work->B + 36 * stride * point;
            td4 cof[9], weight = damping ? damp(work, &e, point, D, cof) : respond(work, &e, point, p + rows, D, cof);
            if (D != NULL && work->B_single == NULL)
                tangent_rows(D, weight, B, stride, T + rows * (int64_t)stride);
            else if (D != NULL)
                tangent_rows_single(D, weight, work->B_single + 36 * work->stride_single * point, work->stride_single,
                                    (float *)T + rows * (int64_t)work->stride_single);
            if (D != NULL && e.mean)
                add_volume_rows(weight, cof, B, stride, dV);
            rows += 36;
            if (rows < TD_REDUCED_ROWS && (b + 1 < block->batches || k + 1 < n_points))
                continue;
            if (!damping)
                add_force(rows, stride, piece, p, work->force);
            if (D != NULL && work->B_single == NULL)
                TD_ISA(td_dense_gram)(rows, stride, piece, T, work->K);
            else if (D != NULL)
                gram_single(rows, work->stride_single, piece_single, (float *)T, stride, work->K);
            piece += rows * (int64_t)stride;
            piece_single += work->B_single != NULL ? rows * (int64_t)work->stride_single : 0;
            rows = 0;
        }
        if (D != NULL && e.mean)
            add_volume_stiffness(work, &e, dV, dV + 4 * (int64_t)stride);
        if (!damping)
            end_batch(work, &e, b, sums);
    }
}

void TD_ISA(td_reduced_forces)(const tdReducedWork *work)
{
    tdChunkSums sums = {.bad = INT64_MAX};
    if (work->q == NULL)
    {
        sums.inverted = work->points.sums->inverted;
        sums.extended = work->points.sums->extended;
    }
    bool spins = work->spin != TD_ROTATION_NONE && work->K != NULL;
    if (spins && work->lanes_single != NULL)
        lanes_forces_single(work, &sums);
    else if (spins && work->lanes != NULL && work->B_single == NULL)
        lanes_forces(work, &sums);
    else if (spins)
        spin_forces(work, &sums);
    else
        general_forces(work, &sums, false);
    *work->points.sums = sums;
}

void TD_ISA(td_reduced_damping)(const tdReducedWork *work)
{
    general_forces(work, NULL, true);
}

void TD_ISA(td_reduced_stress)(const tdReducedWork *work, int32_t b, double *P)
{
    int n_points = td_element_shape[work->points.block->kind].points;
    tdChunkSums unused = {0};
    gradients_batch(work, b, &unused);
    batch e = begin_batch(work, b);
    for (int k = 0; k < n_points; k++)
    {
        td4 cof[9];
        respond(work, &e, n_points * (int64_t)b + k, P + 36 * (int64_t)k, NULL, cof);
    }
}
