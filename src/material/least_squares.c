// SPDX-License-Identifier: Apache-2.0
#include "material/least_squares.h"

#include <math.h>
#include <string.h>

void td_triangulate(int m, int n, int stride, double *A)
{
    for (int j = 0; j < n && j < m; j++)
    {
        double norm = 0;
        for (int i = j; i < m; i++)
            norm += A[i * stride + j] * A[i * stride + j];
        norm = sqrt(norm);
        if (norm == 0)
            continue;
        double head = A[j * stride + j], beta = head > 0 ? -norm : norm;
        double v0 = head - beta;
        for (int c = j + 1; c < n; c++)
        {
            double sum = v0 * A[j * stride + c];
            for (int i = j + 1; i < m; i++)
                sum += A[i * stride + j] * A[i * stride + c];
            sum /= beta * v0;
            A[j * stride + c] += sum * v0;
            for (int i = j + 1; i < m; i++)
                A[i * stride + c] += sum * A[i * stride + j];
        }
        A[j * stride + j] = beta;
        for (int i = j + 1; i < m; i++)
            A[i * stride + j] = 0;
    }
}

void td_damped_step(int k, const double *R, const bool *held, double lambda, double *d)
{
    double B[2 * TD_LEAST_SQUARES * (TD_LEAST_SQUARES + 1)] = {0};
    int map[TD_LEAST_SQUARES], n = 0, stride = 0;
    for (int j = 0; j < k; j++)
        if (!held[j])
            map[n++] = j;
    stride = n + 1;
    for (int c = 0; c < n; c++)
    {
        double norm = 0;
        for (int i = 0; i < k; i++)
        {
            B[i * stride + c] = R[i * (k + 1) + map[c]];
            norm += B[i * stride + c] * B[i * stride + c];
        }
        B[(k + c) * stride + c] = sqrt(lambda * fmax(norm, 1e-30));
    }
    for (int i = 0; i < k; i++)
        B[i * stride + n] = R[i * (k + 1) + k];
    td_triangulate(k + n, n + 1, stride, B);
    memset(d, 0, (size_t)k * sizeof *d);
    for (int i = n - 1; i >= 0; i--)
    {
        double sum = -B[i * stride + n];
        for (int c = i + 1; c < n; c++)
            sum -= B[i * stride + c] * d[map[c]];
        d[map[i]] = B[i * stride + i] != 0 ? sum / B[i * stride + i] : 0;
    }
}

double td_student_95(int dof)
{
    // Abramowitz and Stegun 26.7.3-4, the probability as a finite sum, inverted by bisection.
    if (dof < 1)
        return NAN;
    if (dof > 2000)
        return 1.9599639845400545 * (1 + 1.2103 / dof); // normal, with the first term of its expansion
    double low = 0, high = 13;
    for (int i = 0; i < 80; i++)
    {
        double t = 0.5 * (low + high), theta = atan(t / sqrt(dof)), c = cos(theta), sum = 0;
        double term = dof % 2 == 1 ? c : 1;
        for (int k = dof % 2 == 1 ? 1 : 0; k <= dof - 2; k += 2)
        {
            sum += term;
            term *= c * c * (k + 1) / (k + 2);
        }
        double probability = sin(theta) * sum;
        if (dof % 2 == 1)
            probability = 2 / 3.14159265358979323846 * (theta + probability);
        if (probability < 0.95)
            low = t;
        else
            high = t;
    }
    return 0.5 * (low + high);
}
