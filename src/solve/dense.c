// SPDX-License-Identifier: Apache-2.0
// See dense.h.
#include "solve/dense.h"

#include <string.h>

int td_pivoted_qr(double *A, int rows, int columns, int stride, double *tau, int *order, double tolerance)
{
    for (int j = 0; j < columns; j++)
        order[j] = j;
    int most = rows < columns ? rows : columns;
    for (int j = 0; j < most; j++)
    {
        // Lengths anew in each step: downdated ones lose what decides the rank.
        int longest = j;
        double length = -1;
        for (int l = j; l < columns; l++)
        {
            double next = td_dot(A + l * stride + j, A + l * stride + j, rows - j);
            if (next > length)
            {
                length = next;
                longest = l;
            }
        }
        if (!(sqrt(length) > tolerance))
            return j;
        if (longest != j)
        {
            int keep = order[j];
            order[j] = order[longest];
            order[longest] = keep;
            for (int i = 0; i < rows; i++)
            {
                double a = A[j * stride + i];
                A[j * stride + i] = A[longest * stride + i];
                A[longest * stride + i] = a;
            }
        }
        tau[j] = td_house(A + j * stride + j, rows - j);
        for (int l = j + 1; l < columns; l++)
            td_house_apply(A + j * stride + j, tau[j], rows - j, A + l * stride + j);
    }
    return most;
}

int td_pivoted_cholesky(const double *H, int n, double *R, double *left, double tolerance)
{
    for (int j = 0; j < n; j++)
        left[j] = H[j * n + j];
    memset(R, 0, (size_t)n * (size_t)n * sizeof *R);
    for (int t = 0; t < n; t++)
    {
        int pivot = 0;
        for (int j = 1; j < n; j++)
            if (left[j] > left[pivot])
                pivot = j;
        if (!(left[pivot] > tolerance))
            return t;
        double root = sqrt(left[pivot]);
        for (int j = 0; j < n; j++)
        {
            if (left[j] == -INFINITY)
                continue;
            double a = H[pivot * n + j];
            for (int i = 0; i < t; i++)
                a -= R[i * n + pivot] * R[i * n + j];
            R[t * n + j] = a / root;
            left[j] -= R[t * n + j] * R[t * n + j];
        }
        R[t * n + pivot] = root;
        left[pivot] = -INFINITY; // done
    }
    return n;
}
