// SPDX-License-Identifier: Apache-2.0
#include "reduce/offline/nnls.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GRAIN 512 // columns a task

struct tdNnls
{
    int64_t rows, n;
    const double *A, *y;
    const uint8_t *skip;
    int most, count;
    double y_norm, norm;     // of y, of the residual
    double *r;               // rows: y - A xi
    double *gain;            // n: A'r / |a|
    double *length;          // n: |a|
    uint8_t *state;          // n: 1 chosen, 2 not now
    int32_t *chosen;         // count: columns in the order of the factor
    double *xi, *zeta, *rhs; // by place
    double *L;               // most x most, row-major lower triangle
    double *active;          // rows x most: the chosen columns, by place
    double *product;         // most: active' a
};

tdStatus td_nnls_create(int64_t rows, int64_t n, const double *A, const double *y, const uint8_t *skip, int most,
                        tdNnls **out, tdError *error)
{
    *out = NULL;
    tdNnls *w = td_take(1, sizeof *w);
    if (w == NULL)
        return td_fail_memory(error, "the choice of elements");
    int64_t limit = rows < n ? rows : n;
    *w = (tdNnls){.rows = rows, .n = n, .A = A, .y = y, .skip = skip};
    w->most = most > 0 && most < limit ? most : (int)limit;
    size_t m = (size_t)w->most;
    w->r = td_take((size_t)rows, sizeof(double));
    w->gain = td_take((size_t)n, sizeof(double));
    w->length = td_take((size_t)n, sizeof(double));
    w->state = td_take((size_t)n, 1);
    w->chosen = td_take(m, sizeof(int32_t));
    w->xi = td_take(m, sizeof(double));
    w->zeta = td_take(m, sizeof(double));
    w->rhs = td_take(m, sizeof(double));
    w->L = td_take(m * m, sizeof(double));
    w->active = td_take((size_t)rows * m, sizeof(double));
    w->product = td_take(m, sizeof(double));
    if (w->r == NULL || w->gain == NULL || w->length == NULL || w->state == NULL || w->chosen == NULL ||
        w->xi == NULL || w->zeta == NULL || w->rhs == NULL || w->L == NULL || w->active == NULL || w->product == NULL)
    {
        td_nnls_free(w);
        return td_fail_memory(error, "the choice of elements");
    }
    memcpy(w->r, y, (size_t)rows * sizeof(double));
    w->y_norm = w->norm = cblas_dnrm2((int)rows, y, 1);
    for (int64_t j = 0; j < n; j++)
        w->length[j] = cblas_dnrm2((int)rows, A + j * rows, 1);
    *out = w;
    return TD_OK;
}

void td_nnls_free(tdNnls *w)
{
    if (w == NULL)
        return;
    free(w->r);
    free(w->gain);
    free(w->length);
    free(w->state);
    free(w->chosen);
    free(w->xi);
    free(w->zeta);
    free(w->rhs);
    free(w->L);
    free(w->active);
    free(w->product);
    free(w);
}

// ---------------------------------------------------------------- the factor

// Adds a column at the last place; false when it depends on the others.
static bool append(tdNnls *w, int32_t column)
{
    int k = w->count, m = w->most, rows = (int)w->rows;
    const double *a = w->A + column * w->rows;
    double *l = w->L + (int64_t)k * m, square = w->length[column] * w->length[column];
    if (k > 0)
        cblas_dgemv(CblasColMajor, CblasTrans, rows, k, 1, w->active, rows, a, 1, 0, l, 1);
    for (int i = 0; i < k; i++)
        l[i] = (l[i] - cblas_ddot(i, w->L + (int64_t)i * m, 1, l, 1)) / w->L[(int64_t)i * m + i];
    double left = square - cblas_ddot(k, l, 1, l, 1);
    if (!(left > 1e-12 * square))
        return false;
    l[k] = sqrt(left);
    memcpy(w->active + k * w->rows, a, (size_t)w->rows * sizeof(double));
    w->rhs[k] = cblas_ddot(rows, a, 1, w->y, 1);
    w->chosen[k] = column;
    w->xi[k] = 0;
    w->state[column] = 1;
    w->count++;
    return true;
}

// Takes the column at a place out: the rows below move up and rotations clear what is beside the diagonal.
static void drop(tdNnls *w, int place)
{
    int m = w->most;
    w->state[w->chosen[place]] = 0;
    for (int i = place; i + 1 < w->count; i++)
    {
        memcpy(w->L + (int64_t)i * m, w->L + (int64_t)(i + 1) * m, (size_t)(i + 2) * sizeof(double));
        memcpy(w->active + i * w->rows, w->active + (i + 1) * w->rows, (size_t)w->rows * sizeof(double));
        w->chosen[i] = w->chosen[i + 1];
        w->xi[i] = w->xi[i + 1];
        w->zeta[i] = w->zeta[i + 1];
        w->rhs[i] = w->rhs[i + 1];
    }
    w->count--;
    for (int c = place; c < w->count; c++)
    {
        double *row = w->L + (int64_t)c * m, size = hypot(row[c], row[c + 1]);
        double cosine = row[c] / size, sine = row[c + 1] / size;
        for (int i = c; i < w->count; i++)
        {
            double *x = w->L + (int64_t)i * m + c, a = x[0], b = x[1];
            x[0] = cosine * a + sine * b;
            x[1] = cosine * b - sine * a;
        }
        row[c + 1] = 0;
    }
}

// x <- (L L')^-1 x
static void solve(const tdNnls *w, double *x)
{
    int k = w->count, m = w->most;
    for (int i = 0; i < k; i++)
        x[i] = (x[i] - cblas_ddot(i, w->L + (int64_t)i * m, 1, x, 1)) / w->L[(int64_t)i * m + i];
    for (int i = k - 1; i >= 0; i--)
    {
        x[i] /= w->L[(int64_t)i * m + i];
        cblas_daxpy(i, -x[i], w->L + (int64_t)i * m, 1, x, 1);
    }
}

static void residual(tdNnls *w, const double *xi)
{
    memcpy(w->r, w->y, (size_t)w->rows * sizeof(double));
    if (w->count > 0)
        cblas_dgemv(CblasColMajor, CblasNoTrans, (int)w->rows, w->count, -1, w->active, (int)w->rows, xi, 1, 1, w->r,
                    1);
}

// Least squares on the chosen columns, with one refinement for what the squared condition loses.
static void least_squares(tdNnls *w)
{
    int k = w->count;
    memcpy(w->zeta, w->rhs, (size_t)k * sizeof(double));
    solve(w, w->zeta);
    residual(w, w->zeta);
    cblas_dgemv(CblasColMajor, CblasTrans, (int)w->rows, k, 1, w->active, (int)w->rows, w->r, 1, 0, w->product, 1);
    solve(w, w->product);
    for (int i = 0; i < k; i++)
        w->zeta[i] += w->product[i];
}

// ---------------------------------------------------------------- choice

static void gain_piece(void *context, int piece)
{
    tdNnls *w = context;
    int64_t begin = (int64_t)piece * GRAIN, end = begin + GRAIN < w->n ? begin + GRAIN : w->n;
    cblas_dgemv(CblasColMajor, CblasTrans, (int)w->rows, (int)(end - begin), 1, w->A + begin * w->rows, (int)w->rows,
                w->r, 1, 0, w->gain + begin, 1);
}

// The column that goes best with the residual, -1 when none does.
static int32_t best_column(tdNnls *w, tdTasks *tasks)
{
    td_parallel(tasks, td_pieces(w->n, GRAIN), gain_piece, w);
    int32_t best = -1;
    double most = 1e-13 * w->norm;
    for (int64_t j = 0; j < w->n; j++)
    {
        if (w->state[j] != 0 || !(w->length[j] > 0) || (w->skip != NULL && w->skip[j]))
            continue;
        double gain = w->gain[j] / w->length[j];
        if (gain > most)
        {
            most = gain;
            best = (int32_t)j;
        }
    }
    return best;
}

// From xi towards the least squares solution, stopping where the first goes through zero, until none does.
static void settle(tdNnls *w)
{
    for (;;)
    {
        least_squares(w);
        double step = 1;
        for (int i = 0; i < w->count; i++)
            if (w->zeta[i] <= 0)
                step = fmin(step, w->xi[i] / (w->xi[i] - w->zeta[i]));
        for (int i = 0; i < w->count; i++)
            w->xi[i] = step < 1 ? w->xi[i] + step * (w->zeta[i] - w->xi[i]) : w->zeta[i];
        if (step == 1)
            break;
        double largest = 0;
        for (int i = 0; i < w->count; i++)
            largest = fmax(largest, w->xi[i]);
        for (int i = w->count - 1; i >= 0; i--)
            if (w->zeta[i] <= 0 && w->xi[i] <= 1e-12 * largest)
                drop(w, i);
    }
    for (int i = w->count - 1; i >= 0; i--)
        if (!(w->xi[i] > 0))
            drop(w, i);
    residual(w, w->xi);
    w->norm = cblas_dnrm2((int)w->rows, w->r, 1);
}

void td_nnls_run(tdNnls *w, double tau, tdTasks *tasks, const tdNnlsProgress *progress)
{
    // Each pass adds a column; those that drop may come back, which cannot go on for ever, but rounding might.
    for (int64_t pass = 0; pass < 10 * (int64_t)w->most + 100 && w->norm > tau * w->y_norm && w->count < w->most;
         pass++)
    {
        bool added = false;
        double before = w->norm;
        for (int32_t j = best_column(w, tasks); j >= 0 && !added; j = added ? -1 : best_column(w, tasks))
        {
            added = append(w, j);
            if (!added)
                w->state[j] = 2;
            else
            {
                // The gain of a column that wants to be negative is rounding.
                least_squares(w);
                if (w->zeta[w->count - 1] <= 0)
                {
                    drop(w, w->count - 1);
                    residual(w, w->xi);
                    w->state[j] = 2;
                    added = false;
                }
            }
        }
        if (!added)
            break;
        settle(w);
        for (int64_t j = 0; j < w->n && w->norm < before; j++)
            w->state[j] = w->state[j] == 2 ? 0 : w->state[j];
        if (progress != NULL && progress->fn != NULL && !progress->fn(progress->user, w->count, w->norm / w->y_norm))
            break;
    }
}

int td_nnls_count(const tdNnls *w)
{
    return w->count;
}

double td_nnls_residual(const tdNnls *w)
{
    return w->y_norm > 0 ? w->norm / w->y_norm : 0;
}

void td_nnls_result(const tdNnls *w, int32_t *column, double *value)
{
    for (int i = 0; i < w->count; i++)
    {
        int at = i;
        for (; at > 0 && column[at - 1] > w->chosen[i]; at--)
        {
            column[at] = column[at - 1];
            value[at] = value[at - 1];
        }
        column[at] = w->chosen[i];
        value[at] = w->xi[i];
    }
}

tdStatus td_nnls(int64_t rows, int64_t n, const double *A, const double *y, double tau, int most, tdTasks *tasks,
                 const tdNnlsProgress *progress, double *xi, int *count, double *relative, tdError *error)
{
    tdNnls *w = NULL;
    TD_TRY(td_nnls_create(rows, n, A, y, NULL, most, &w, error));
    td_nnls_run(w, tau, tasks, progress);
    memset(xi, 0, (size_t)n * sizeof *xi);
    for (int i = 0; i < w->count; i++)
        xi[w->chosen[i]] = w->xi[i];
    *count = w->count;
    *relative = td_nnls_residual(w);
    td_nnls_free(w);
    return TD_OK;
}
