// SPDX-License-Identifier: Apache-2.0
// Laws at a point that have no short form of their tangent: stress and all of D = dP/dF, as src/material has them, in
// single precision. One source for a device and for the host.
//
//     St. Venant-Kirchhoff   psi = mu |E|^2 + lambda/2 tr(E)^2
//     Mooney-Rivlin          psi = c10 (I1bar - 3) + c01 (I2bar - 3) + U(J), and neo-Hookean without c01
//
// Energies are small differences of numbers near 3 and 1: those are taken in double precision.
#pragma once
#include "gpu/plan.h"

#include <math.h>

#define TD_GPU_COMPRESSION 0.1f // J below which f, g and U go on as their second-order Taylor polynomials

/// Place of D(i, j), i >= j.
#define TD_GPU_PACKED(i, j) ((i) * ((i) + 1) / 2 + (j))

/// A function of J with its first two derivatives.
typedef struct tdGpuJet
{
    float v, d, dd;
} tdGpuJet;

TD_BOTH tdGpuJet td_gpu_extend(tdGpuJet at, float x)
{
    float slope = at.d + at.dd * x;
    tdGpuJet out = {at.v + 0.5f * x * (at.d + slope), slope, at.dd};
    return out;
}

/// C = cof F, returns det F.
TD_BOTH float td_cofactor9(const float *F, float *C)
{
    C[0] = F[4] * F[8] - F[5] * F[7];
    C[1] = F[5] * F[6] - F[3] * F[8];
    C[2] = F[3] * F[7] - F[4] * F[6];
    C[3] = F[2] * F[7] - F[1] * F[8];
    C[4] = F[0] * F[8] - F[2] * F[6];
    C[5] = F[1] * F[6] - F[0] * F[7];
    C[6] = F[1] * F[5] - F[2] * F[4];
    C[7] = F[2] * F[3] - F[0] * F[5];
    C[8] = F[0] * F[4] - F[1] * F[3];
    return F[0] * C[0] + F[1] * C[1] + F[2] * C[2];
}

/// U(J) less than the compression, at J = 1 + x.
TD_BOTH tdGpuJet td_gpu_volumetric(const tdGpuPoint *point, float J, float x)
{
    float kappa = point->kappa;
    if (point->volumetric == TD_GPU_SQUARE)
    {
        tdGpuJet square = {0.5f * kappa * x * x, kappa * x, kappa};
        return square;
    }
    float inside = fmaxf(J, TD_GPU_COMPRESSION), y = J > TD_GPU_COMPRESSION ? x : TD_GPU_COMPRESSION - 1;
    float ln = log1pf(y), i = 1 / inside;
    tdGpuJet log = {0.5f * kappa * ln * ln, kappa * ln * i, kappa * (1 - ln) * i * i};
    tdGpuJet mixed = {0.5f * kappa * (y + 0.5f * y * y - ln), 0.5f * kappa * (y + y * i), 0.5f * kappa * (1 + i * i)};
    return td_gpu_extend(point->volumetric == TD_GPU_LOG ? log : mixed, J - inside);
}

/// Entry i, j of scale d cof F / dF added to a value.
TD_BOTH float td_gpu_add_cofactor(float value, float scale, const float *F, int i, int j)
{
    int r = i / 3, s = i % 3, t = j / 3, u = j % 3;
    if (r == t || s == u)
        return value;
    int m = 3 - r - t, n = 3 - s - u;
    bool even = ((t - r + 3) % 3 == 1) == ((u - s + 3) % 3 == 1);
    return even ? value + scale * F[3 * m + n] : value - scale * F[3 * m + n];
}

/// D += damped times the stiffness at rest carried along, of mu and lambda at rest:
/// lambda F x F + mu (F F')_ik delta_JL + mu F_iL F_kJ. `left`: F F'.
TD_BOTH void td_gpu_add_damping(const tdGpuPoint *point, float damped, const float *F, const float *left, float *D)
{
    float mu = damped * point->mu, lambda = damped * point->lambda;
    TD_UNROLL
    for (int i = 0; i < 9; i++)
    {
        TD_UNROLL
        for (int j = 0; j <= i; j++)
        {
            int a = i / 3, b = i % 3, c = j / 3, d = j % 3;
            float value = mu * F[3 * a + d] * F[3 * c + b] + lambda * F[i] * F[j];
            if (b == d)
                value += mu * left[3 * a + c];
            D[TD_GPU_PACKED(i, j)] += value;
        }
    }
}

/// F F' and F'F.
TD_BOTH void td_gpu_gram(const float *F, float *left, float *right)
{
    TD_UNROLL
    for (int i = 0; i < 3; i++)
    {
        TD_UNROLL
        for (int k = 0; k < 3; k++)
        {
            left[3 * i + k] = F[3 * i] * F[3 * k] + F[3 * i + 1] * F[3 * k + 1] + F[3 * i + 2] * F[3 * k + 2];
            right[3 * i + k] = F[i] * F[k] + F[3 + i] * F[3 + k] + F[6 + i] * F[6 + k];
        }
    }
}

TD_BOTH float td_gpu_stvk(const tdGpuPoint *point, const float *F, const float *left, const float *right, float *P,
                          float *D)
{
    float S[9], square = 0, mu = point->mu, lambda = point->lambda;
    float trace = 0.5f * ((right[0] - 1) + (right[4] - 1) + (right[8] - 1));
    TD_UNROLL
    for (int i = 0; i < 9; i++)
    {
        float e = 0.5f * (right[i] - (i % 4 == 0 ? 1.0f : 0.0f));
        square += e * e;
        S[i] = 2 * mu * e + (i % 4 == 0 ? lambda * trace : 0.0f);
    }
    TD_UNROLL
    for (int i = 0; i < 9; i++)
    {
        int r = i / 3, c = i % 3;
        P[i] = F[3 * r] * S[c] + F[3 * r + 1] * S[3 + c] + F[3 * r + 2] * S[6 + c];
        TD_UNROLL
        for (int j = 0; j <= i; j++)
        {
            int a = i / 3, b = i % 3, k = j / 3, d = j % 3;
            float value = mu * F[3 * a + d] * F[3 * k + b] + lambda * F[i] * F[j];
            if (a == k)
                value += S[3 * b + d];
            if (b == d)
                value += mu * left[3 * a + k];
            D[TD_GPU_PACKED(i, j)] = value;
        }
    }
    return mu * square + 0.5f * lambda * trace * trace;
}

// J - 1, I1 - 3 and I2 - 3: small where strains are.
TD_BOTH void td_gpu_small(const float *F, bool second, float *J, float *I1, float *I2)
{
    double G[9], square = 0, minors = 0;
    TD_UNROLL
    for (int k = 0; k < 9; k++)
    {
        G[k] = F[k];
        square += G[k] * G[k];
    }
    double c0 = G[4] * G[8] - G[5] * G[7], c1 = G[5] * G[6] - G[3] * G[8], c2 = G[3] * G[7] - G[4] * G[6];
    *J = (float)(G[0] * c0 + G[1] * c1 + G[2] * c2 - 1);
    *I1 = (float)(square - 3);
    *I2 = 0;
    if (second)
    {
        double c3 = G[2] * G[7] - G[1] * G[8], c4 = G[0] * G[8] - G[2] * G[6], c5 = G[1] * G[6] - G[0] * G[7];
        double c6 = G[1] * G[5] - G[2] * G[4], c7 = G[2] * G[3] - G[0] * G[5], c8 = G[0] * G[4] - G[1] * G[3];
        minors = c0 * c0 + c1 * c1 + c2 * c2 + c3 * c3 + c4 * c4 + c5 * c5 + c6 * c6 + c7 * c7 + c8 * c8;
        *I2 = (float)(minors - 3);
    }
}

/// With C = cof F and G = d I2/dF = 2 (I1 F - F F'F), f = J^(-2/3), g = J^(-4/3):
///     P = 2 c10 f F + c01 g G + (c10 f' I1 + c01 g' I2 + U') C        (src/material/isochoric.h)
TD_BOTH float td_gpu_isochoric(const tdGpuPoint *point, const float *F, const float *left, const float *right,
                               bool second, float *P, float *D)
{
    float C[9], G[9], V[9], x, I1, I2, c10 = point->c10, c01 = second ? point->c01 : 0;
    td_cofactor9(F, C);
    td_gpu_small(F, second, &x, &I1, &I2);
    float J = 1 + x, inside = fmaxf(J, TD_GPU_COMPRESSION), beyond = J - inside;
    float ln = log1pf(J > TD_GPU_COMPRESSION ? x : TD_GPU_COMPRESSION - 1), inverse = 1 / inside;
    float f1 = expm1f((-2.0f / 3) * ln), g1 = second ? expm1f((-4.0f / 3) * ln) : 0; // f - 1, g - 1
    float fi = (1 + f1) * inverse, gi = (1 + g1) * inverse;
    tdGpuJet f = {f1, (-2.0f / 3) * fi, (10.0f / 9) * fi * inverse},
             g = {g1, (-4.0f / 3) * gi, (28.0f / 9) * gi * inverse};
    tdGpuJet U = td_gpu_volumetric(point, J, x);
    f = td_gpu_extend(f, beyond);
    g = td_gpu_extend(g, beyond);
    float energy = c10 * ((1 + f.v) * I1 + 3 * f.v) + c01 * ((1 + g.v) * I2 + 3 * g.v) + U.v;
    I1 += 3;
    I2 += 3;
    float a = 2 * c10 * (1 + f.v), b = c01 * (1 + g.v), c = c10 * f.d * I1 + c01 * g.d * I2 + U.d;
    float half = 0.5f * (c10 * f.dd * I1 + c01 * g.dd * I2 + U.dd);
    TD_UNROLL
    for (int i = 0; i < 9; i++)
    {
        int r = i / 3, k = i % 3;
        G[i] = second ? 2 * (I1 * F[i] - (left[3 * r] * F[k] + left[3 * r + 1] * F[3 + k] + left[3 * r + 2] * F[6 + k]))
                      : 0;
        P[i] = a * F[i] + c * C[i] + b * G[i];
        V[i] = 2 * c10 * f.d * F[i] + half * C[i] + c01 * g.d * G[i];
    }
    TD_UNROLL
    for (int i = 0; i < 9; i++)
    {
        TD_UNROLL
        for (int j = 0; j <= i; j++)
        {
            int r = i / 3, s = i % 3, t = j / 3, u = j % 3;
            float value = V[i] * C[j] + C[i] * V[j] + (i == j ? a + 2 * b * I1 : 0.0f);
            if (second)
            {
                value += 4 * b * F[i] * F[j] - 2 * b * F[3 * r + u] * F[3 * t + s];
                if (r == t)
                    value -= 2 * b * right[3 * s + u];
                if (s == u)
                    value -= 2 * b * left[3 * r + t];
            }
            D[TD_GPU_PACKED(i, j)] = td_gpu_add_cofactor(value, c, F, i, j);
        }
    }
    return energy;
}

/// Stress, tangent with `damped` times that of its damping, and energy density of a law that follows no rotation.
TD_BOTH float td_gpu_law(const tdGpuPoint *point, const float *F, float damped, float *P, float *D)
{
    float left[9], right[9];
    td_gpu_gram(F, left, right);
    float energy = point->law == TD_GPU_STVK
                       ? td_gpu_stvk(point, F, left, right, P, D)
                       : td_gpu_isochoric(point, F, left, right, point->law == TD_GPU_MOONEY_RIVLIN, P, D);
    if (damped > 0)
        td_gpu_add_damping(point, damped, F, left, D);
    return energy;
}
