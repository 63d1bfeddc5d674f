// SPDX-License-Identifier: Apache-2.0
// Reduced St. Venant-Kirchhoff bodies (S2): a reduced body whose forces and tangent are polynomials of its coordinates
// instead of sums over elements. While it runs there is no mesh.
//
// K is indefinite where the law softens under compression. There are no elements that could be projected one by one, so
// the dense matrix is: eigenvalues below zero become zero. Damping beta K is taken with that part too, as a negative
// one would feed energy.
#include "reduce/reduced_body.h"

#include <math.h>
#include <string.h>

tdStatus td_reduced_stvk_compile(tdReduced *reduced, const tdRom *rom, tdError *error)
{
    tdError why = {0};
    if (rom->P == NULL || rom->Q == NULL || rom->S == NULL)
        return td_fail_at(error, TD_ERROR_INPUT, rom->file, 0, "stvk",
                          "the file has no polynomials; make it again with 'tendril reduce'");
    // The limit was one of making them.
    tdStatus status = td_stvk_check(reduced->soft, reduced->n, INFINITY, &why);
    if (status == TD_OK)
        status = td_stvk_set(reduced->n, rom->P, rom->Q, rom->S, &reduced->stvk, &why);
    if (status != TD_OK)
        return td_fail_at(error, status, rom->file, 0, "stvk", "body '%s': %.400s", rom->body, why.message);
    return TD_OK;
}

int64_t td_reduced_stvk_scratch(const tdReduced *reduced)
{
    if (!td_reduced_polynomial(reduced))
        return 0;
    int64_t evaluation = td_stvk_scratch(reduced->n), vectors = 2 * (int64_t)reduced->r * reduced->r;
    return evaluation > vectors ? evaluation : vectors;
}

void td_reduced_stvk_forces(const tdReduced *reduced, tdReducedState *mine, tdIsa isa, double *force, double *K)
{
    td_stvk_kernel(isa)(&reduced->stvk, mine->at, mine->polynomial, force, K, reduced->stride, &mine->elastic);
    td_reduced_set_current(mine);
}

// ---------------------------------------------------------------- indefinite tangents

#define SWEEPS 40 // of Jacobi's method, which takes about eight

static double off_diagonal(int r, const double *A)
{
    double sum = 0;
    for (int i = 0; i < r; i++)
        for (int j = 0; j < i; j++)
            sum += A[i * r + j] * A[i * r + j];
    return sum;
}

// x, y = c x - s y, s x + c y
static void turn(int r, double c, double s, double *x, double *y)
{
    for (int k = 0; k < r; k++)
    {
        double from = x[k];
        x[k] = c * from - s * y[k];
        y[k] = s * from + c * y[k];
    }
}

// The rotation that makes A_pq zero, on rows and columns of A and on the rows p and q of V.
static void rotate(int r, int p, int q, double *A, double *V)
{
    double pivot = A[p * r + q];
    if (pivot == 0)
        return;
    double ratio = (A[q * r + q] - A[p * r + p]) / (2 * pivot);
    double t = (ratio < 0 ? -1 : 1) / (fabs(ratio) + sqrt(1 + ratio * ratio));
    double c = 1 / sqrt(1 + t * t), s = t * c, low = A[p * r + p] - t * pivot, high = A[q * r + q] + t * pivot;
    turn(r, c, s, A + p * r, A + q * r);
    for (int k = 0; k < r; k++)
    {
        A[k * r + p] = A[p * r + k];
        A[k * r + q] = A[q * r + k];
    }
    A[p * r + p] = low;
    A[q * r + q] = high;
    A[p * r + q] = A[q * r + p] = 0;
    turn(r, c, s, V + p * r, V + q * r);
}

// A = V' diag V by cyclic Jacobi rotations: slow and sure, for matrices that are small and rarely indefinite.
static void eigen(int r, double *A, double *V)
{
    double size = 0;
    memset(V, 0, (size_t)r * (size_t)r * sizeof *V);
    for (int i = 0; i < r; i++)
        V[i * r + i] = 1;
    for (int k = 0; k < r * r; k++)
        size += A[k] * A[k];
    for (int sweep = 0; sweep < SWEEPS && off_diagonal(r, A) > 1e-30 * size; sweep++)
        for (int p = 0; p < r; p++)
            for (int q = p + 1; q < r; q++)
                rotate(r, p, q, A, V);
}

bool td_reduced_stvk_project(const tdReduced *reduced, tdReducedState *mine, tdIsa isa, double *K)
{
    int r = reduced->r, stride = reduced->stride;
    if (td_reduced_kernels(isa)->cholesky(r, stride, K, mine->L)) // L is made anew before it is used
        return false;
    double *A = mine->polynomial, *V = A + (int64_t)r * r;
    for (int i = 0; i < r; i++)
        memcpy(A + (int64_t)i * r, K + (int64_t)i * stride, (size_t)r * sizeof *A);
    eigen(r, A, V);
    for (int k = 0; k < r; k++)
    {
        double value = A[k * r + k];
        const double *v = V + (int64_t)k * r;
        for (int i = 0; i < r && value < 0; i++)
            for (int j = 0; j < r; j++)
                K[i * (int64_t)stride + j] -= value * v[i] * v[j];
    }
    return true;
}
