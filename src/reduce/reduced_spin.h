// SPDX-License-Identifier: Apache-2.0
// Corotational laws: all but the constant part of their tangents is of rank four at each point
// (material/corotational.h), 16 rows a point batch instead of 36. Included only by reduced_kernel.c, whose batches it
// uses.
#pragma once

// Rows R : B and Q_k : B of one lane, four of them, into S, and w (lambda, H) times them into T.
FLAT void spin_tile(const double R[9], double lambda, const double H[9], const double *B, int64_t step, int64_t stride,
                    double *S, double *T)
{
    td4 s = td4_set(0), q0 = s, q1 = s, q2 = s;
    for (int i = 0; i < 3; i++)
    {
        td4 b0 = td4_load(B + 3 * i * step), b1 = td4_load(B + (3 * i + 1) * step),
            b2 = td4_load(B + (3 * i + 2) * step);
        double r0 = R[3 * i], r1 = R[3 * i + 1], r2 = R[3 * i + 2];
        s += r0 * b0 + r1 * b1 + r2 * b2;
        q0 += r2 * b1 - r1 * b2;
        q1 += r0 * b2 - r2 * b0;
        q2 += r1 * b0 - r0 * b1;
    }
    td4_store(S, s);
    td4_store(S + stride, q0);
    td4_store(S + 2 * stride, q1);
    td4_store(S + 3 * stride, q2);
    td4_store(T, lambda * s);
    td4_store(T + stride, H[0] * q0 + H[1] * q1 + H[2] * q2);
    td4_store(T + 2 * stride, H[3] * q0 + H[4] * q1 + H[5] * q2);
    td4_store(T + 3 * stride, H[6] * q0 + H[7] * q1 + H[8] * q2);
}

FLAT void spin_tile_single(const float R[9], float lambda, const float H[9], const float *B, int64_t step, int64_t n,
                           float *S, float *T)
{
    td8f s = td8f_set(0), q0 = s, q1 = s, q2 = s;
    for (int i = 0; i < 3; i++)
    {
        td8f b0 = td8f_load(B + 3 * i * step), b1 = td8f_load(B + (3 * i + 1) * step),
             b2 = td8f_load(B + (3 * i + 2) * step);
        float r0 = R[3 * i], r1 = R[3 * i + 1], r2 = R[3 * i + 2];
        s += r0 * b0 + r1 * b1 + r2 * b2;
        q0 += r2 * b1 - r1 * b2;
        q1 += r0 * b2 - r2 * b0;
        q2 += r1 * b0 - r0 * b1;
    }
    td8f_store(S, s);
    td8f_store(S + n, q0);
    td8f_store(S + 2 * n, q1);
    td8f_store(S + 3 * n, q2);
    td8f_store(T, lambda * s);
    td8f_store(T + n, H[0] * q0 + H[1] * q1 + H[2] * q2);
    td8f_store(T + 2 * n, H[3] * q0 + H[4] * q1 + H[5] * q2);
    td8f_store(T + 3 * n, H[6] * q0 + H[7] * q1 + H[8] * q2);
}

// R and H of a point batch; returns (1 + damped) lambda.
static double spin_at(const tdReducedWork *work, int64_t point, td4 R[9], td4 H[9])
{
    const tdElementWork *points = &work->points;
    double mu = points->parameters[0], lambda = points->parameters[1];
    td4 F[9], U[9];
    td_load9(points->F + 36 * point, F);
    td_load9(points->R + 36 * point, R);
    if (work->spin == TD_ROTATION_CURRENT)
    {
        td_mul_tn(R, F, U);
        td_corotational_spin(mu, lambda, U, U[0] + U[4] + U[8] - 3.0, H);
    }
    else
        for (int c = 0; c < 9; c++)
            H[c] = td4_set(c % 4 == 0 ? -mu : 0);
    for (int c = 0; c < 9; c += 4)
        H[c] -= work->damped * mu;
    return (1 + work->damped) * lambda;
}

// All but the constant part of a corotational tangent, 16 rows a point batch instead of 36: S and T, `at` rows on.
static void spin_rows(const tdReducedWork *work, int64_t point, double *S, double *T, int64_t at)
{
    int64_t stride = work->stride;
    td4 R[9], H[9], weight = td4_load(work->points.block->weight + 4 * point);
    double along = spin_at(work, point, R, H);
    for (int l = 0; l < 4; l++)
    {
        double r[9], h[9];
        for (int c = 0; c < 9; c++)
        {
            r[c] = R[c][l];
            h[c] = weight[l] * H[c][l];
        }
        if (work->B_single == NULL)
        {
            const double *B = work->B + 36 * stride * point + l * stride;
            int64_t to = (at + 4 * l) * stride;
            for (int64_t j = 0; j < stride; j += 4)
                spin_tile(r, weight[l] * along, h, B + j, 4 * stride, stride, S + to + j, T + to + j);
            continue;
        }
        float rf[9], hf[9];
        for (int c = 0; c < 9; c++)
        {
            rf[c] = (float)r[c];
            hf[c] = (float)h[c];
        }
        int64_t n = work->stride_single, to = (at + 4 * l) * n;
        const float *B = work->B_single + 36 * n * point + l * n;
        for (int64_t j = 0; j < n; j += 8)
            spin_tile_single(rf, (float)(weight[l] * along), hf, B + j, 4 * n, n, (float *)S + to + j,
                             (float *)T + to + j);
    }
}

#define SPIN_PIECE 4 // point batches of one rank update

static void spin_forces(const tdReducedWork *work, tdChunkSums *sums)
{
    const tdElements *block = work->points.block;
    int n_points = td_element_shape[block->kind].points, stride = work->stride, pending = 0;
    double *T = work->rows, *S = T + 16 * SPIN_PIECE * (int64_t)stride, *p = S + 16 * SPIN_PIECE * (int64_t)stride;
    const double *piece = work->B;
    for (int32_t b = 0; b < block->batches; b++)
    {
        if (work->q != NULL)
            gradients_batch(work, b, sums);
        batch e = begin_batch(work, b);
        for (int k = 0; k < n_points; k++)
        {
            int64_t point = n_points * (int64_t)b + k;
            respond(work, &e, point, p + 36 * pending, NULL, NULL);
            spin_rows(work, point, S, T, 16 * pending);
            pending++;
            if (pending < SPIN_PIECE && (b + 1 < block->batches || k + 1 < n_points))
                continue;
            add_force(36 * pending, stride, piece, p, work->force);
            if (work->B_single == NULL)
                TD_ISA(td_dense_gram)(16 * pending, stride, S, T, work->K);
            else
                gram_single(16 * pending, work->stride_single, (float *)S, (float *)T, stride, work->K);
            piece += 36 * pending * (int64_t)stride;
            pending = 0;
        }
        end_batch(work, &e, b, sums);
    }
}

// The same by registers of four points (reduced_lanes.h).
static void lanes_forces(const tdReducedWork *work, tdChunkSums *sums)
{
    const tdElements *block = work->points.block;
    int n_points = td_element_shape[block->kind].points, n = work->n, stride = work->stride, pending = 0;
    double *T = work->rows, *S = T + LANES_ROWS * (int64_t)stride, *f = S + LANES_ROWS * (int64_t)stride;
    double *K = f + 4 * (int64_t)stride;
    _Alignas(64) double p[36];
    memset(T + LANES_ROWS * (int64_t)n, 0, LANES_ROWS * (size_t)(stride - n) * sizeof *T);
    memset(f, 0, 4 * (size_t)stride * sizeof *f);
    memset(K, 0, (size_t)(LONG * lanes_sums(n)) * sizeof *K);
    for (int32_t b = 0; b < block->batches; b++)
    {
        if (work->q != NULL)
            gradients_batch(work, b, sums);
        batch e = begin_batch(work, b);
        for (int k = 0; k < n_points; k++)
        {
            int64_t point = n_points * (int64_t)b + k, at = 16 * (int64_t)pending;
            td4 R[9], H[9], weight = respond(work, &e, point, p, NULL, NULL);
            double along = spin_at(work, point, R, H);
            for (int c = 0; c < 9; c++)
                H[c] *= weight;
            spin_lanes(work->lanes + 36 * n * point, n, R, weight * along, H, p, f, S + at, T + at);
            pending++;
            if (pending < LANES_PIECE && (b + 1 < block->batches || k + 1 < n_points))
                continue;
            lanes_gram(16 * pending, n, S, T, K);
            pending = 0;
        }
        end_batch(work, &e, b, sums);
    }
    lanes_sum(n, stride, K, work->K);
    for (int j = 0; j < n; j++)
        work->force[j] += (f[4 * j] + f[4 * j + 1]) + (f[4 * j + 2] + f[4 * j + 3]);
}

static void lanes_forces_single(const tdReducedWork *work, tdChunkSums *sums)
{
    const tdElements *block = work->points.block;
    int n_points = td_element_shape[block->kind].points, n = work->n, stride = work->stride;
    int64_t points = n_points * (int64_t)block->batches, rows = LANES_ROWS_SINGLE * (int64_t)stride, pair = 0;
    float *T = (float *)work->rows, *S = T + rows, *K = S + rows;
    double *f = (double *)(K + 2 * TD_REDUCED_TILES(stride));
    _Alignas(64) double p[36];
    td4 R[2][9], H[2][9], along[2];
    memset(T + LANES_ROWS_SINGLE * (int64_t)n, 0, LANES_ROWS_SINGLE * (size_t)(stride - n) * sizeof *T);
    memset(K, 0, (size_t)(LONG_SINGLE * lanes_sums(n)) * sizeof *K);
    memset(f, 0, 4 * (size_t)stride * sizeof *f);
    batch e = {0};
    for (int64_t point = 0; point < points; point++)
    {
        int32_t b = (int32_t)(point / n_points), h = (int)(point % 2);
        if (point % n_points == 0)
        {
            if (work->q != NULL)
                gradients_batch(work, b, sums);
            e = begin_batch(work, b);
        }
        td4 weight = respond(work, &e, point, p, NULL, NULL);
        if ((point + 1) % n_points == 0)
            end_batch(work, &e, b, sums);
        force_lanes(work->lanes + 36 * n * point, n, p, f);
        along[h] = weight * spin_at(work, point, R[h], H[h]);
        for (int c = 0; c < 9; c++)
            H[h][c] *= weight;
        bool last = point + 1 == points;
        if (h == 0 && !last)
            continue;
        td8f r[9], t[9];
        for (int c = 0; c < 9; c++)
        {
            r[c] = td8f_join(R[0][c], R[h][c]);
            t[c] = td8f_join(H[0][c], h == 1 ? H[1][c] : td4_set(0)); // what is not there weighs nothing
        }
        int64_t at = 32 * (pair % LANES_PIECE);
        spin_lanes_single(work->lanes_single + 72 * n * pair, n, r, td8f_join(along[0], h == 1 ? along[1] : td4_set(0)),
                          t, S + at, T + at);
        pair++;
        if (pair % LANES_PIECE == 0 || last)
            lanes_gram_single((int)at + 32, n, S, T, K);
        if (pair % LANES_FLUSH == 0 || last)
            lanes_sum_single(n, stride, K, work->K);
    }
    for (int j = 0; j < n; j++)
        work->force[j] += (f[4 * j] + f[4 * j + 1]) + (f[4 * j + 2] + f[4 * j + 3]);
}
