// SPDX-License-Identifier: Apache-2.0
// Incremental singular value decomposition (Brand 2002). With S = U Sigma V' so far and a new block B,
//
//     [U Sigma | B] = [U Q] K,   K = | Sigma  U'B |,   B - U U'B = Q T
//                                    |   0     T  |
//
// so that the decomposition of the small K turns [U Q] into the new U. V is never formed.
#include "reduce/offline/pod.h"

#include "base/lapack.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tdPod
{
    int64_t n;
    int most, rank;
    double drop;
    double square; // sum of squares of all snapshots: what was dropped counts in the error
    double *U;     // n x rank, columns n apart
    double *sigma;
};

tdStatus td_pod_create(int64_t n, int most, double drop, tdPod **out, tdError *error)
{
    *out = NULL;
    tdPod *pod = td_take(1, sizeof *pod);
    if (pod == NULL)
        return td_fail_memory(error, "the decomposition of snapshots");
    pod->n = n;
    pod->most = most;
    pod->drop = fmax(drop, 1e-13); // below, directions are rounding and not orthogonal to the others
    openblas_set_num_threads(1);
    pod->U = td_take((size_t)(n * most), sizeof(double));
    pod->sigma = td_take((size_t)most, sizeof(double));
    if (pod->U == NULL || pod->sigma == NULL)
    {
        td_pod_free(pod);
        return td_fail_memory(error, "the decomposition of snapshots");
    }
    *out = pod;
    return TD_OK;
}

tdStatus td_pod_adopt(int64_t n, int rank, double *U, const double *sigma, double square, tdPod **out, tdError *error)
{
    tdPod *pod = *out = td_take(1, sizeof *pod);
    double *kept = td_take((size_t)rank + 1, sizeof(double));
    if (pod == NULL || kept == NULL)
    {
        free(pod);
        free(kept);
        *out = NULL;
        return td_fail_memory(error, "the decomposition of snapshots");
    }
    *pod = (tdPod){.n = n, .most = rank, .rank = rank, .square = square, .U = U, .sigma = kept};
    memcpy(kept, sigma, (size_t)rank * sizeof(double));
    return TD_OK;
}

void td_pod_free(tdPod *pod)
{
    if (pod == NULL)
        return;
    free(pod->U);
    free(pod->sigma);
    free(pod);
}

// Scratch of one block of b snapshots.
typedef struct block
{
    int b, m;          // m = rank + b
    double *Q;         // n x b: what is left of the block, then its orthonormal basis
    double *P, *again; // rank x b
    double *tau;       // b
    int n_work;
    double *work;       // of LAPACK
    double *K, *Us, *S; // m x m, m x m, m
    double *U;          // n x most
} block;

static bool take_block(const tdPod *pod, int b, block *w)
{
    int m = pod->rank + b;
    *w = (block){.b = b, .m = m};
    w->Q = td_take((size_t)(pod->n * b), sizeof(double));
    w->P = td_take((size_t)pod->rank * (size_t)b + 1, sizeof(double));
    w->again = td_take((size_t)pod->rank * (size_t)b + 1, sizeof(double));
    w->tau = td_take((size_t)b, sizeof(double));
    w->K = td_take((size_t)m * (size_t)m, sizeof(double));
    w->Us = td_take((size_t)m * (size_t)m, sizeof(double));
    w->S = td_take(2 * (size_t)m, sizeof(double));
    w->U = td_take((size_t)(pod->n * pod->most), sizeof(double));
    w->n_work = 64 * b + 64 * m + 5 * m;
    w->work = td_take((size_t)w->n_work, sizeof(double));
    return w->work != NULL && w->Q != NULL && w->P != NULL && w->again != NULL && w->tau != NULL && w->K != NULL &&
           w->Us != NULL && w->S != NULL && w->U != NULL;
}

static void free_block(block *w)
{
    free(w->Q);
    free(w->P);
    free(w->again);
    free(w->tau);
    free(w->K);
    free(w->Us);
    free(w->S);
    free(w->U);
    free(w->work);
}

// P = U'B and Q = B - U P, twice, because once leaves what rounding put back.
static void project(const tdPod *pod, block *w)
{
    int n = (int)pod->n, k = pod->rank, b = w->b;
    for (int pass = 0; pass < 2 && k > 0; pass++)
    {
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, k, b, n, 1, pod->U, n, w->Q, n, 0, w->again, k);
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, b, k, -1, pod->U, n, w->again, k, 1, w->Q, n);
        for (int i = 0; i < k * b; i++)
            w->P[i] += w->again[i];
    }
}

static tdStatus decompose(tdPod *pod, block *w, tdError *error)
{
    int n = (int)pod->n, k = pod->rank, b = w->b, m = w->m;
    int info = 0, one = 1;
    dgeqrf_(&n, &b, w->Q, &n, w->tau, w->work, &w->n_work, &info);
    if (info != 0)
        return td_fail(error, TD_ERROR_NUMERIC, "the snapshots could not be factored; are they finite?");
    for (int i = 0; i < k; i++)
        w->K[i + i * m] = pod->sigma[i];
    for (int j = 0; j < b; j++)
    {
        for (int i = 0; i < k; i++)
            w->K[i + (k + j) * m] = w->P[i + j * k];
        for (int i = 0; i <= j; i++)
            w->K[k + i + (k + j) * m] = w->Q[i + (int64_t)j * n];
    }
    dorgqr_(&n, &b, &b, w->Q, &n, w->tau, w->work, &w->n_work, &info);
    if (info == 0)
        dgesvd_("A", "N", &m, &m, w->K, &m, w->S, w->Us, &m, NULL, &one, w->work, &w->n_work, &info, 1, 1);
    if (info != 0)
        return td_fail(error, TD_ERROR_NUMERIC, "the decomposition of the snapshots did not converge");
    int rank = 0;
    while (rank < m && rank < pod->most && w->S[rank] > pod->drop * w->S[0] && w->S[rank] > 0)
        rank++;
    // U <- [U Q] Us
    if (rank > 0 && k > 0)
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, rank, k, 1, pod->U, n, w->Us, m, 0, w->U, n);
    if (rank > 0)
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, rank, b, 1, w->Q, n, w->Us + k, m, k > 0 ? 1 : 0,
                    w->U, n);
    double *old = pod->U;
    pod->U = w->U;
    w->U = old;
    memcpy(pod->sigma, w->S, (size_t)rank * sizeof(double));
    pod->rank = rank;
    return TD_OK;
}

tdStatus td_pod_add(tdPod *pod, tdTasks *tasks, int k, const double *snapshots, tdError *error)
{
    (void)tasks;
    // A block may not have more columns than rows.
    for (int first = 0; first < k;)
    {
        int b = k - first < pod->n ? k - first : (int)pod->n;
        block w;
        tdStatus status = TD_OK;
        if (!take_block(pod, b, &w))
            status = td_fail_memory(error, "the decomposition of snapshots");
        else
        {
            memcpy(w.Q, snapshots + first * pod->n, (size_t)(pod->n * b) * sizeof(double));
            double square = 0;
            for (int64_t i = 0; i < pod->n * b; i++)
                square += w.Q[i] * w.Q[i];
            if (isfinite(square))
            {
                pod->square += square;
                project(pod, &w);
                status = decompose(pod, &w, error);
            }
            else
                status = td_fail(error, TD_ERROR_NUMERIC, "a snapshot has numbers that are not finite");
        }
        free_block(&w);
        TD_TRY(status);
        first += b;
    }
    return TD_OK;
}

int td_pod_rank(const tdPod *pod)
{
    return pod->rank;
}

const double *td_pod_sigma(const tdPod *pod)
{
    return pod->sigma;
}

int td_pod_modes(const tdPod *pod, double tolerance, double *error_left)
{
    // What was dropped on the way is the difference to the whole; rounding must not make it negative.
    double kept = 0;
    for (int i = 0; i < pod->rank; i++)
        kept += pod->sigma[i] * pod->sigma[i];
    double left = fmax(pod->square - kept, 0);
    if (left < 1e-14 * pod->square)
        left = 0;
    int r = pod->rank;
    while (r > 1 && left + pod->sigma[r - 1] * pod->sigma[r - 1] <= tolerance * tolerance * pod->square)
    {
        r--;
        left += pod->sigma[r] * pod->sigma[r];
    }
    if (error_left != NULL)
        *error_left = pod->square > 0 ? sqrt(left / pod->square) : 0;
    return r;
}

void td_pod_project(const tdPod *pod, const double *shape, double *amplitude)
{
    cblas_dgemv(CblasColMajor, CblasTrans, (int)pod->n, pod->rank, 1, pod->U, (int)pod->n, shape, 1, 0, amplitude, 1);
}

void td_pod_basis(const tdPod *pod, int r, double *phi)
{
    for (int j = 0; j < r; j++)
    {
        const double *u = pod->U + j * pod->n;
        int64_t largest = 0;
        for (int64_t i = 1; i < pod->n; i++)
            if (fabs(u[i]) > fabs(u[largest]))
                largest = i;
        double sign = u[largest] < 0 ? -1 : 1;
        for (int64_t i = 0; i < pod->n; i++)
            phi[i * r + j] = sign * u[i];
    }
}
