// SPDX-License-Identifier: Apache-2.0
// Random problems for the tests of small quadratic programs and of inverse control, the same in every run.
#pragma once
#include "test.h"

#include "solve/qp.h"

static uint64_t random_state = 88172645463325252ULL;

static inline double uniform(double low, double high)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return low + (high - low) * (double)(random_state >> 11) * 0x1p-53;
}

static inline int whole(int low, int high)
{
    return low + (int)uniform(0, high - low + 0.999999);
}

static inline bool chance(double p)
{
    return uniform(0, 1) < p;
}

static inline double dot(const double *a, const double *b, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += a[i] * b[i];
    return s;
}

/// Gaussian elimination with complete pivoting; false where A is singular to 1e-17.
static inline bool gauss(int n, double *A, double *b, double *x)
{
    int order[64];
    for (int j = 0; j < n; j++)
        order[j] = j;
    for (int k = 0; k < n; k++)
    {
        int pi = k, pj = k;
        for (int i = k; i < n; i++)
            for (int j = k; j < n; j++)
                if (fabs(A[i * n + j]) > fabs(A[pi * n + pj]))
                {
                    pi = i;
                    pj = j;
                }
        if (fabs(A[pi * n + pj]) < 1e-17)
            return false;
        for (int j = 0; j < n; j++)
        {
            double t = A[k * n + j];
            A[k * n + j] = A[pi * n + j];
            A[pi * n + j] = t;
        }
        double t = b[k];
        b[k] = b[pi];
        b[pi] = t;
        for (int i = 0; i < n; i++)
        {
            t = A[i * n + k];
            A[i * n + k] = A[i * n + pj];
            A[i * n + pj] = t;
        }
        int keep = order[k];
        order[k] = order[pj];
        order[pj] = keep;
        for (int i = k + 1; i < n; i++)
        {
            double f = A[i * n + k] / A[k * n + k];
            for (int j = k; j < n; j++)
                A[i * n + j] -= f * A[k * n + j];
            b[i] -= f * b[k];
        }
    }
    for (int k = n - 1; k >= 0; k--)
    {
        double t = b[k];
        for (int j = k + 1; j < n; j++)
            t -= A[k * n + j] * b[j];
        b[k] = t / A[k * n + k];
    }
    for (int k = 0; k < n; k++)
        x[order[k]] = b[k];
    return true;
}
