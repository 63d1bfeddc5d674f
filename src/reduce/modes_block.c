// SPDX-License-Identifier: Apache-2.0
#include "reduce/modes_block.h"

#include "base/lapack.h"
#include "base/memory.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GRAIN     4096  // rows in a piece of work
#define DEPENDENT 1e-11 // eigenvalue of the scaled Gram matrix below which a direction is one of the others
#define STRIP     64    // rows at a time
#define REFRESH   16    // iterations after which products are made anew, and not combined

// Columns X | P | W of S, and K S and M S.
typedef struct Block
{
    const tdModesBlock *task;
    int m, dim;          // of X; of S at present
    double *S, *KS, *MS; // n x 3 m
    double *theta, *norm;
    double *parts;   // by piece: its Gram matrices, or some rows
    int64_t room;    // of a piece in it
    double *GK, *GM; // dim x dim
    double *C;       // dim x 2 m: new X, new P
    double *Z, *work, *eigen, *small;
    double *r;
    int lwork;
    int products;
} Block;

int td_modes_block_size(int64_t n, int k)
{
    int m = k + (k < 6 ? 3 : k / 2 < 8 ? k / 2 : 8);
    return m < n ? m : (int)n;
}

double td_modes_block_bytes(int64_t n, int k)
{
    double m = td_modes_block_size(n, k), pieces = (double)td_pieces(n, GRAIN);
    return 8 * ((double)n * (9 * m + 1) + pieces * (18 * m * m + 128 * m) + 60 * m * m);
}

static void free_block(Block *b)
{
    double *all[] = {b->S,  b->KS, b->MS, b->theta, b->norm,  b->parts, b->GK,
                     b->GM, b->C,  b->Z,  b->work,  b->eigen, b->small, b->r};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

static bool take_block(Block *b)
{
    size_t n = (size_t)b->task->n, m = (size_t)b->m, most = 3 * m;
    size_t pieces = (size_t)td_pieces(b->task->n, GRAIN);
    b->lwork = (int)(40 * most);
    b->S = td_take(n * most, sizeof(double));
    b->KS = td_take(n * most, sizeof(double));
    b->MS = td_take(n * most, sizeof(double));
    b->theta = td_take(m, sizeof(double));
    b->norm = td_take(m, sizeof(double));
    b->room = (int64_t)(2 * most * most > STRIP * 2 * m ? 2 * most * most : STRIP * 2 * m);
    b->parts = td_take(pieces * (size_t)b->room, sizeof(double));
    b->GK = td_take(most * most, sizeof(double));
    b->GM = td_take(most * most, sizeof(double));
    b->C = td_take(most * 2 * m, sizeof(double));
    b->Z = td_take(most * most, sizeof(double));
    b->work = td_take((size_t)b->lwork, sizeof(double));
    b->eigen = td_take(most, sizeof(double));
    b->small = td_take(most * most, sizeof(double));
    b->r = td_take(n, sizeof(double));
    return b->S != NULL && b->KS != NULL && b->MS != NULL && b->theta != NULL && b->norm != NULL && b->parts != NULL &&
           b->GK != NULL && b->GM != NULL && b->C != NULL && b->Z != NULL && b->work != NULL && b->eigen != NULL &&
           b->small != NULL && b->r != NULL;
}

// ---------------------------------------------------------------- work on rows

// S' K S and S' M S of the rows of a piece.
static void gram_piece(void *context, int piece)
{
    Block *b = context;
    int64_t n = b->task->n, begin = (int64_t)piece * GRAIN, rows = n - begin < GRAIN ? n - begin : GRAIN;
    double *to = b->parts + (int64_t)piece * b->room;
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, b->dim, b->dim, (int)rows, 1, b->S + begin, (int)n,
                b->KS + begin, (int)n, 0, to, b->dim);
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, b->dim, b->dim, (int)rows, 1, b->S + begin, (int)n,
                b->MS + begin, (int)n, 0, to + (int64_t)b->dim * b->dim, b->dim);
}

static void gram(Block *b)
{
    int pieces = td_pieces(b->task->n, GRAIN), all = b->dim * b->dim;
    td_parallel(b->task->tasks, pieces, gram_piece, b);
    memset(b->GK, 0, (size_t)all * sizeof(double));
    memset(b->GM, 0, (size_t)all * sizeof(double));
    for (int p = 0; p < pieces; p++)
        for (int i = 0; i < all; i++)
        {
            b->GK[i] += b->parts[p * b->room + i];
            b->GM[i] += b->parts[p * b->room + all + i];
        }
}

// X and, where there is more than X, P become S C, and so do their products: some rows at a time, in place.
static void combine_piece(void *context, int piece)
{
    Block *b = context;
    int64_t n = b->task->n, begin = (int64_t)piece * GRAIN, end = begin + GRAIN < n ? begin + GRAIN : n;
    int columns = b->dim > b->m ? 2 * b->m : b->m;
    double *of[] = {b->S, b->KS, b->MS}, *out = b->parts + (int64_t)piece * b->room;
    for (int a = 0; a < 3; a++)
        for (int64_t at = begin; at < end; at += STRIP)
        {
            int rows = (int)(end - at < STRIP ? end - at : STRIP);
            cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, rows, columns, b->dim, 1, of[a] + at, (int)n, b->C,
                        b->dim, 0, out, rows);
            for (int j = 0; j < columns; j++)
                memcpy(of[a] + at + j * n, out + (int64_t)j * rows, (size_t)rows * sizeof(double));
        }
}

static void combine(Block *b)
{
    td_parallel(b->task->tasks, td_pieces(b->task->n, GRAIN), combine_piece, b);
}

static void products_of(Block *b, int column)
{
    const tdModesBlock *task = b->task;
    int64_t at = column * task->n;
    task->stiffness(task->user, b->S + at, b->KS + at);
    task->mass(task->user, b->S + at, b->MS + at);
}

// ---------------------------------------------------------------- Rayleigh and Ritz

// Directions of S that are independent, orthonormal by mass: columns of Z. Returns how many; -1: the matrix is not
// finite.
static int independent(Block *b)
{
    int d = b->dim, info = 0, kept = 0;
    for (int i = 0; i < d; i++)
        if (!(b->GM[i + d * i] > 0) || !isfinite(b->GM[i + d * i]))
            b->small[i] = 0; // a column of nothing
        else
            b->small[i] = 1 / sqrt(b->GM[i + d * i]);
    for (int j = 0; j < d; j++)
        for (int i = 0; i < d; i++)
            b->Z[i + d * j] = 0.5 * (b->GM[i + d * j] + b->GM[j + d * i]) * b->small[i] * b->small[j];
    dsyev_("V", "U", &d, b->Z, &d, b->eigen, b->work, &b->lwork, &info, 1, 1);
    if (info != 0)
        return -1;
    for (int j = 0; j < d; j++)
    {
        if (!(b->eigen[j] > DEPENDENT))
            continue;
        for (int i = 0; i < d; i++)
            b->Z[i + d * kept] = b->Z[i + d * j] * b->small[i] / sqrt(b->eigen[j]);
        kept++;
    }
    return kept;
}

// theta and C from the Gram matrices; C has new X, then new P, which is the same without what was X before.
static bool ritz(Block *b)
{
    int d = b->dim, m = b->m, info = 0, q = 0;
    gram(b);
    q = independent(b);
    if (q < m)
        return false;
    double *half = b->GM; // which is done with
    for (int j = 0; j < d; j++)
        for (int i = 0; i < j; i++)
            b->GK[i + d * j] = b->GK[j + d * i] = 0.5 * (b->GK[i + d * j] + b->GK[j + d * i]);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, d, q, d, 1, b->GK, d, b->Z, d, 0, half, d);
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, q, q, d, 1, b->Z, d, half, d, 0, b->small, q);
    dsyev_("V", "U", &q, b->small, &q, b->eigen, b->work, &b->lwork, &info, 1, 1);
    if (info != 0 || !isfinite(b->eigen[0]))
        return false;
    memcpy(b->theta, b->eigen, (size_t)m * sizeof(double));
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, d, m, q, 1, b->Z, d, b->small, q, 0, b->C, d);
    for (int j = 0; j < m && d > m; j++)
        for (int i = 0; i < d; i++)
            b->C[i + d * (m + j)] = i < m ? 0 : b->C[i + d * j];
    return true;
}

// ---------------------------------------------------------------- iterations

// r = K x - theta M x of a column, and how large it is relative to K x.
static double residual(Block *b, int column)
{
    int64_t n = b->task->n, at = column * n;
    double square = 0, whole = 0;
    for (int64_t i = 0; i < n; i++)
    {
        b->r[i] = b->KS[at + i] - b->theta[column] * b->MS[at + i];
        square += b->r[i] * b->r[i];
        whole += b->KS[at + i] * b->KS[at + i];
    }
    return whole > 0 ? sqrt(square / whole) : 0;
}

// The preconditioned residual of a column as the next one of S, without what X has of it, of length 1 by mass.
static void add_direction(Block *b, int column)
{
    const tdModesBlock *task = b->task;
    int n = (int)task->n, m = b->m;
    double *w = b->S + b->dim * task->n;
    residual(b, column);
    task->precondition(task->user, b->r, w);
    b->products++;
    task->clean(task->user, w);
    cblas_dgemv(CblasColMajor, CblasTrans, n, m, 1, b->MS, n, w, 1, 0, b->small, 1);
    cblas_dgemv(CblasColMajor, CblasNoTrans, n, m, -1, b->S, n, b->small, 1, 1, w, 1);
    task->mass(task->user, w, b->MS + b->dim * task->n);
    double length = sqrt(cblas_ddot(n, w, 1, b->MS + b->dim * task->n, 1));
    if (!(length > 0) || !isfinite(length))
        return;
    cblas_dscal(n, 1 / length, w, 1);
    products_of(b, b->dim);
    b->dim++;
}

// Residuals of X; how many of the wanted are good, from the first on.
static int judge(Block *b, double *worst)
{
    int good = 0;
    *worst = 0;
    for (int j = 0; j < b->m; j++)
        b->norm[j] = residual(b, j);
    for (int j = 0; j < b->task->k; j++)
    {
        good += b->norm[j] <= b->task->tolerance;
        *worst = fmax(*worst, b->norm[j]);
    }
    return good;
}

// From a start that has some of everything.
static bool begin(Block *b)
{
    const tdModesBlock *task = b->task;
    uint64_t seed = 1;
    for (int j = 0; j < b->m; j++)
    {
        double *x = b->S + j * task->n;
        for (int64_t i = 0; i < task->n; i++)
        {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            b->r[i] = task->mask[i] * ((double)(seed >> 11) * 0x1p-53 - 0.5);
        }
        task->mass(task->user, b->r, x);
        memcpy(b->r, x, (size_t)task->n * sizeof(double));
        task->precondition(task->user, b->r, x); // smooth: what is rough would have to go first
        b->products++;
        task->clean(task->user, x);
        products_of(b, j);
    }
    b->dim = b->m;
    if (!ritz(b))
        return false;
    combine(b);
    return true;
}

static bool iterate(Block *b, tdModesBlockResult *result)
{
    const tdModesBlock *task = b->task;
    bool has_p = false;
    if (!begin(b))
        return false;
    for (result->iterations = 0;; result->iterations++)
    {
        if (result->iterations % REFRESH == REFRESH - 1)
            for (int j = 0; j < b->m; j++)
                products_of(b, j);
        result->found = judge(b, &result->residual);
        if (result->found == task->k || result->iterations == task->most)
            return true;
        b->dim = has_p ? 2 * b->m : b->m;
        for (int j = 0; j < b->m; j++)
            if (b->norm[j] > task->tolerance)
                add_direction(b, j);
        if (!ritz(b))
        {
            if (!has_p)
                return false;
            has_p = false; // begins anew from X
            continue;
        }
        combine(b);
        has_p = true;
    }
}

tdStatus td_modes_block(const tdModesBlock *task, double *lambda, double *X, tdModesBlockResult *result, tdError *error)
{
    Block b = {.task = task, .m = td_modes_block_size(task->n, task->k)};
    *result = (tdModesBlockResult){0};
    openblas_set_num_threads(1);
    tdStatus status = take_block(&b) ? TD_OK : td_fail_memory(error, "the modes");
    if (status == TD_OK && !iterate(&b, result))
        status = td_fail(error, TD_ERROR_NUMERIC, "the modes could not be told apart; is the body's stiffness finite?");
    if (status == TD_OK)
    {
        memcpy(lambda, b.theta, (size_t)task->k * sizeof *lambda);
        memcpy(X, b.S, (size_t)(task->k * task->n) * sizeof *X);
        result->products = b.products;
    }
    free_block(&b);
    return status;
}
