// SPDX-License-Identifier: Apache-2.0
// A basis of modes and their derivatives by principal components in the norm of the mass: see modes.h.
//
// With the candidates as columns of Y and their weights in w: Y = Q R with Q' M Q = I, R diag(w) = A S B', and the
// basis is the first columns of Q A. A singular value of R diag(w) is good to rounding of the largest; of a matrix of
// scalar products it would be to its square root, and the weights of derivatives are small.
#include "reduce/modes.h"

#include "body/soft.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPENDENT  1e-10 // part of a candidate that others do not hold, below which it is rounding
#define NEGLIGIBLE 1e-13 // singular values relative to the largest

// LAPACK in OpenBLAS; its C header is not part of that package.
extern void dgesvd_(const char *jobu, const char *jobv, const int *m, const int *n, double *a, const int *lda,
                    double *s, double *u, const int *ldu, double *vt, const int *ldvt, double *work, const int *lwork,
                    int *info, size_t jobu_length, size_t jobv_length);

typedef struct basisWork
{
    const tdModes *modes;
    const tdSoft *soft;
    tdTasks *tasks;
    int m;     // candidates
    double *Q; // n x m
    double *R; // m x m, column-major
    double *A, *sigma, *work;
    double *Mx;  // n
    double *U;   // n x r, column-major
    double *sum; // m
    int length;  // of work
} basisWork;

static int candidates(const tdModes *modes)
{
    return modes->k + modes->k2 * (modes->k2 + 1) / 2;
}

// Column of a candidate: modes, then derivatives.
static const double *candidate(const tdModes *modes, int c)
{
    return c < modes->k ? modes->psi + c * modes->n : modes->derived + (c - modes->k) * modes->n;
}

double td_modes_amplitude(const tdModes *modes, const tdSoft *soft, double amplitude)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, move = 0;
    if (amplitude == 0)
        return 1;
    for (int64_t i = 0; i < modes->n; i += 3)
    {
        const double *u = modes->psi + i;
        move = fmax(move, sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]));
        for (int c = 0; c < 3; c++)
        {
            low[c] = fmin(low[c], soft->rest[i + c]);
            high[c] = fmax(high[c], soft->rest[i + c]);
        }
    }
    if (isnan(amplitude))
        amplitude = 0.2 * fmax(fmax(high[0] - low[0], high[1] - low[1]), high[2] - low[2]);
    return amplitude / move;
}

// x -= Q (Q' M x) over the first `count` columns, with the coefficients added to `sum`; Mx is M x before.
static void project_out(basisWork *w, int count, double *x, double *sum)
{
    int n = (int)w->modes->n;
    td_modes_mass(w->soft, w->tasks, x, w->Mx);
    cblas_dgemv(CblasColMajor, CblasTrans, n, count, 1, w->Q, n, w->Mx, 1, 0, w->sum, 1);
    cblas_dgemv(CblasColMajor, CblasNoTrans, n, count, -1, w->Q, n, w->sum, 1, 1, x, 1);
    for (int k = 0; k < count; k++)
        sum[k] += w->sum[k];
}

static double mass_norm(basisWork *w, const double *x)
{
    td_modes_mass(w->soft, w->tasks, x, w->Mx);
    return sqrt(fmax(0, cblas_ddot((int)w->modes->n, x, 1, w->Mx, 1)));
}

// Y = Q R; a column that depends on those before it is zero in Q.
static void factorize(basisWork *w)
{
    int64_t n = w->modes->n;
    for (int c = 0; c < w->m; c++)
    {
        double *x = w->Q + c * n, *r = w->R + (int64_t)c * w->m;
        memcpy(x, candidate(w->modes, c), (size_t)n * sizeof *x);
        double before = mass_norm(w, x);
        for (int twice = 0; twice < 2 && c > 0; twice++)
            project_out(w, c, x, r);
        double length = mass_norm(w, x);
        bool independent = length > DEPENDENT * before;
        r[c] = independent ? length : 0;
        cblas_dscal((int)n, independent ? 1 / length : 0, x, 1);
    }
}

static tdStatus decompose(basisWork *w, int r, double p, tdError *error)
{
    const tdModes *modes = w->modes;
    const double *lambda = modes->lambda;
    int m = w->m, info = 0, one = 1;
    factorize(w);
    for (int c = 0; c < modes->k; c++)
        cblas_dscal(m, lambda[0] / lambda[c], w->R + (int64_t)c * m, 1);
    for (int j = 0, c = modes->k; j < modes->k2; j++)
        for (int i = 0; i <= j; i++, c++)
            cblas_dscal(m, p * lambda[0] / lambda[i] * (lambda[0] / lambda[j]), w->R + (int64_t)c * m, 1);
    dgesvd_("A", "N", &m, &m, w->R, &m, w->sigma, w->A, &m, NULL, &one, w->work, &w->length, &info, 1, 1);
    if (info != 0)
        return td_fail(error, TD_ERROR_NUMERIC, "the singular values of the modes did not converge (code %d)", info);
    int rank = 0;
    while (rank < m && w->sigma[rank] > NEGLIGIBLE * w->sigma[0])
        rank++;
    if (r > rank)
        return td_fail(
            error, TD_ERROR_INPUT,
            "%d modes and derivatives have %d independent directions, fewer than the %d requested; compute more modes",
            m, rank, r);
    return TD_OK;
}

// Columns become orthonormal in the plain product, each by those before it.
static void make_plain(basisWork *w, int r)
{
    int n = (int)w->modes->n;
    for (int c = 0; c < r; c++)
    {
        double *x = w->U + (int64_t)c * n;
        for (int twice = 0; twice < 2 && c > 0; twice++)
        {
            cblas_dgemv(CblasColMajor, CblasTrans, n, c, 1, w->U, n, x, 1, 0, w->sum, 1);
            cblas_dgemv(CblasColMajor, CblasNoTrans, n, c, -1, w->U, n, w->sum, 1, 1, x, 1);
        }
        cblas_dscal(n, 1 / cblas_dnrm2(n, x, 1), x, 1);
    }
}

static tdStatus take(basisWork *w, int r, tdError *error)
{
    size_t n = (size_t)w->modes->n, m = (size_t)w->m;
    w->length = 10 * w->m + 64;
    w->Q = td_take(n * m, sizeof(double));
    w->R = td_take(m * m, sizeof(double));
    w->A = td_take(m * m, sizeof(double));
    w->sigma = td_take(m, sizeof(double));
    w->work = td_take((size_t)w->length, sizeof(double));
    w->Mx = td_take(n, sizeof(double));
    w->U = td_take(n * (size_t)r, sizeof(double));
    w->sum = td_take(m, sizeof(double));
    if (w->Q == NULL || w->R == NULL || w->A == NULL || w->sigma == NULL || w->work == NULL || w->Mx == NULL ||
        w->U == NULL || w->sum == NULL)
        return td_fail_memory(error, "the basis");
    return TD_OK;
}

tdStatus td_modes_basis(const tdModes *modes, const tdSoft *soft, tdTasks *tasks, int r, double amplitude,
                        tdOrthonormal kind, double *U, double *sigma, tdError *error)
{
    basisWork w = {.modes = modes, .soft = soft, .tasks = tasks, .m = candidates(modes)};
    int64_t n = modes->n;
    if (r < 1 || r > w.m)
        return td_fail(error, TD_ERROR_INPUT, "a basis of %d columns from %d modes and derivatives; request 1 to %d", r,
                       w.m, w.m);
    openblas_set_num_threads(1);
    tdStatus status = take(&w, r, error);
    if (status == TD_OK)
        status = decompose(&w, r, td_modes_amplitude(modes, soft, amplitude), error);
    if (status == TD_OK)
    {
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (int)n, r, w.m, 1, w.Q, (int)n, w.A, w.m, 0, w.U,
                    (int)n);
        if (kind == TD_ORTHONORMAL_PLAIN)
            make_plain(&w, r);
        for (int c = 0; c < r; c++)
        {
            const double *x = w.U + c * n;
            double sign = x[cblas_idamax((int)n, x, 1)] < 0 ? -1 : 1;
            for (int64_t i = 0; i < n; i++)
                U[i * r + c] = sign * x[i];
            if (sigma != NULL)
                sigma[c] = w.sigma[c];
        }
    }
    free(w.Q);
    free(w.R);
    free(w.A);
    free(w.sigma);
    free(w.work);
    free(w.Mx);
    free(w.U);
    free(w.sum);
    return status;
}
