// SPDX-License-Identifier: Apache-2.0
// A step of one robot, taken by a few lanes together: the same source for the threads of a device and for the host,
// where there is one lane. One linearization of backward Euler, as src/step has it, in single precision; places,
// lengths of cables and the small problem of the actuators are in double precision.
//
//     assemble   F = F0 + B q, stress, rows of the tangent      -> S, f, energy       (a device may have its own way)
//     advance    judge the last step; latch; A and right-hand sides; factor; actuators; q, v
//
// The tangent of a corotational point is 2 mu I + lambda R R' + Q H Q' (material/corotational.h): a constant matrix and
// four rows, one added and three taken away.
#pragma once
#include "gpu/law.h"

#include <math.h>
#include <stdbool.h>

// ---------------------------------------------------------------- lanes

/// Threads that work on one robot; the same code runs in all of them.
typedef struct tdLanes
{
    int lane, n;
    unsigned mask; ///< of the warp
    int shape;     ///< of the factor, for TD_FACTOR; 0: any
} tdLanes;

#if defined(__CUDA_ARCH__) || defined(TD_LANES)
#define TD_SYNC(lanes) __syncwarp((lanes).mask)
TD_BOTH double td_lanes_across(tdLanes lanes, double x, int k)
{
    (void)lanes; // a host knows no masks
    return __shfl_xor_sync(lanes.mask, x, k);
}
TD_BOTH double td_lanes_sum(tdLanes lanes, double x)
{
    for (int k = 1; k < lanes.n; k *= 2)
        x += __shfl_xor_sync(lanes.mask, x, k);
    return x;
}
TD_BOTH double td_lanes_most(tdLanes lanes, double x)
{
    for (int k = 1; k < lanes.n; k *= 2)
        x = fmax(x, __shfl_xor_sync(lanes.mask, x, k));
    return x;
}
#else
#define TD_SYNC(lanes) ((void)(lanes))
TD_BOTH double td_lanes_across(tdLanes lanes, double x, int k)
{
    (void)lanes;
    return k == 0 ? x : 0;
}
TD_BOTH double td_lanes_sum(tdLanes lanes, double x)
{
    (void)lanes;
    return x;
}
TD_BOTH double td_lanes_most(tdLanes lanes, double x)
{
    (void)lanes;
    return x;
}
#endif

/// Where a row of S begins: r of the matrix, of which the lower triangle is kept, then one of the motion and one for
/// each actuator.
TD_BOTH int td_row(int r, int i)
{
    return i < r ? i * (i + 1) / 2 : r * (r + 1) / 2 + (i - r) * r;
}

/// A table of the plan for what comes after assembly, from M on: a device may have copied those to where they are near.
#define TD_GPU_TABLE(tables, plan, type, name) ((const type *)((tables) + ((plan)->name - (plan)->M)))

/// Of one robot, for all its lanes.
typedef struct tdRobotWork
{
    const char *tables;                  ///< the plan's from M on
    float *S;                            ///< rows, see td_row
    float *f;                            ///< r: force inside the body
    float *load;                         ///< r: what acts on it, without actuators
    float *u;                            ///< TD_GPU_ACROSS rows of TD_ROW_U(r), 16 bytes aligned
    float *products;                     ///< actuators x (1 + actuators): of L^-1 J with L^-1 y, then with each other
    double *place;                       ///< 3 cable_points
    double *cable;                       ///< TD_CABLE_NUMBERS by actuator
    double *matrix;                      ///< of the small problem: TD_SMALL(actuators)
    const struct tdAssembledRobot *from; ///< what TD_FACTOR reads the matrix from; NULL: it is in S
} tdRobotWork;

enum
{
    TD_CABLE_EFFORT, // before the step, or as given
    TD_CABLE_NEXT,
    TD_CABLE_TRAVEL,
    TD_CABLE_SECOND,
    TD_CABLE_LOW,
    TD_CABLE_HIGH,
    TD_CABLE_GIVEN,
    TD_CABLE_TRAVEL_LOW,
    TD_CABLE_TRAVEL_HIGH,
    TD_CABLE_EFFORT_LOW,
    TD_CABLE_EFFORT_HIGH,
    TD_CABLE_RIGHT,
    TD_CABLE_ACTIVE,
    TD_CABLE_NUMBERS
};
#define TD_SMALL(n)  (2 * (n) * (n) + 2 * (n))
#define TD_ROW_U(r)  (((r) + 3) / 4 * 4)
#define TD_SMALL_FEW 4 // actuators whose small problem is in registers

/// How S is factored, and how it is used: a device may have its own way.
#if !defined(TD_FACTOR)
#define TD_FACTOR td_robot_factored
#define TD_BACK   td_robot_back
#endif

// Both to the last digit but one, which is what the rest is good for.

TD_BOTH float td_quotient(float a, float b)
{
#if defined(__CUDA_ARCH__)
    return __fdividef(a, b);
#else
    return a / b;
#endif
}

TD_BOTH float td_inverse_root(float x)
{
#if defined(__CUDA_ARCH__)
    return rsqrtf(x);
#else
    return 1 / sqrtf(x);
#endif
}

/// a'b of rows that are 16 bytes aligned, n a multiple of 4.
TD_BOTH float td_dot(int n, const float *a, const float *b)
{
    float sum[4] = {0, 0, 0, 0};
    for (int j = 0; j < n; j += 4)
    {
#if defined(__CUDA_ARCH__)
        const float4 x = *(const float4 *)(a + j), y = *(const float4 *)(b + j);
        sum[0] = fmaf(x.x, y.x, sum[0]);
        sum[1] = fmaf(x.y, y.y, sum[1]);
        sum[2] = fmaf(x.z, y.z, sum[2]);
        sum[3] = fmaf(x.w, y.w, sum[3]);
#else
        for (int k = 0; k < 4; k++)
            sum[k] += a[j + k] * b[j + k];
#endif
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// ---------------------------------------------------------------- rotation

/// The proper rotation nearest to any F, flat or inside out: by Jacobi's method on Horn's matrix (1987), whose largest
/// eigenvalue belongs to the quaternion.
#if defined(__CUDACC__)
static __host__ __device__ __noinline__
#else
static
#endif
    void
    td_rotation_any(const float *F, float *R)
{
    double N[4][4], V[4][4];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            V[i][j] = i == j;
    N[0][0] = (double)F[0] + F[4] + F[8];
    N[1][1] = (double)F[0] - F[4] - F[8];
    N[2][2] = (double)F[4] - F[0] - F[8];
    N[3][3] = (double)F[8] - F[0] - F[4];
    N[0][1] = N[1][0] = (double)F[7] - F[5];
    N[0][2] = N[2][0] = (double)F[2] - F[6];
    N[0][3] = N[3][0] = (double)F[3] - F[1];
    N[1][2] = N[2][1] = (double)F[1] + F[3];
    N[1][3] = N[3][1] = (double)F[2] + F[6];
    N[2][3] = N[3][2] = (double)F[5] + F[7];
    for (int sweep = 0; sweep < 10; sweep++)
        for (int p = 0; p < 3; p++)
            for (int q = p + 1; q < 4; q++)
            {
                if (fabs(N[p][q]) <= 1e-30)
                    continue;
                double theta = (N[q][q] - N[p][p]) / (2 * N[p][q]);
                double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < 4; k++)
                {
                    double a = N[k][p], b = N[k][q];
                    N[k][p] = c * a - s * b;
                    N[k][q] = s * a + c * b;
                }
                for (int k = 0; k < 4; k++)
                {
                    double a = N[p][k], b = N[q][k];
                    N[p][k] = c * a - s * b;
                    N[q][k] = s * a + c * b;
                    a = V[k][p];
                    b = V[k][q];
                    V[k][p] = c * a - s * b;
                    V[k][q] = s * a + c * b;
                }
            }
    int best = 0;
    for (int k = 1; k < 4; k++)
        best = N[k][k] > N[best][best] ? k : best;
    double w = V[0][best], x = V[1][best], y = V[2][best], z = V[3][best];
    R[0] = (float)(w * w + x * x - y * y - z * z);
    R[1] = (float)(2 * (x * y - w * z));
    R[2] = (float)(2 * (x * z + w * y));
    R[3] = (float)(2 * (x * y + w * z));
    R[4] = (float)(w * w - x * x + y * y - z * z);
    R[5] = (float)(2 * (y * z - w * x));
    R[6] = (float)(2 * (x * z - w * y));
    R[7] = (float)(2 * (y * z + w * x));
    R[8] = (float)(w * w - x * x - y * y + z * z);
}

/// Of a gradient F = R S.
typedef struct tdPolar
{
    float trace, second, det, size; ///< of S: s1 + s2 + s3, s1 s2 + s2 s3 + s3 s1, s1 s2 s3; and |F|^2
    float turning;                  ///< det (trace I - S) = trace second - det
} tdPolar;

/// The largest root t of t^4 - 2 |F|^2 t^2 - 8 det F t + |F|^4 - 4 |cof F|^2, which is trace S, on its way from above.
typedef struct tdPolarRoot
{
    float t, step, size, eight, last;
} tdPolarRoot;

/// C = F'F, upper triangle 00 01 02 11 12 22. False: F is nearly flat, and there is no root to go to.
TD_BOTH bool td_polar_begin(const float *F, float *cof, float *C, tdPolar *out, tdPolarRoot *root)
{
    out->det = td_cofactor9(F, cof);
    C[0] = F[0] * F[0] + F[3] * F[3] + F[6] * F[6];
    C[1] = F[0] * F[1] + F[3] * F[4] + F[6] * F[7];
    C[2] = F[0] * F[2] + F[3] * F[5] + F[6] * F[8];
    C[3] = F[1] * F[1] + F[4] * F[4] + F[7] * F[7];
    C[4] = F[1] * F[2] + F[4] * F[5] + F[7] * F[8];
    C[5] = F[2] * F[2] + F[5] * F[5] + F[8] * F[8];
    float size = out->size = C[0] + C[3] + C[5];
    float minors = C[0] * C[3] - C[1] * C[1] + C[0] * C[5] - C[2] * C[2] + C[3] * C[5] - C[4] * C[4];
    root->size = size;
    root->last = size * size - 4 * minors;
    root->eight = 8 * out->det;
    root->t = root->step = 3 * size * td_inverse_root(3 * size);
    return out->det > 0.02f * size; // at rest det is 1 and the size 3; NaN goes the other way
}

/// Newton's method, its error squared each time; true: it has to go on.
TD_BOTH bool td_polar_step(tdPolarRoot *root)
{
    float t = root->t, square = t * t;
    root->step = td_quotient((square - 2 * root->size) * square - root->eight * t + root->last,
                             4 * t * (square - root->size) - root->eight);
    root->t = t - root->step;
    return fabsf(root->step) > 1e-5f * root->t;
}

/// R = dt/dF. What is left of the error is along R, and goes when R is given its length.
TD_BOTH void td_polar_end(const float *F, const float *cof, const float *C, bool root_found, const tdPolarRoot *root,
                          tdPolar *out, float *R)
{
    if (root_found)
    {
        float t = root->t, size = out->size, square = t * t,
              inverse = td_quotient(1.0f, t * (square - size) - 2 * out->det), norm = 0;
        float of_F = inverse * (square + size), of_C = 2 * inverse * t, of_FC = -2 * inverse;
        for (int i = 0; i < 9; i += 3)
        {
            float f0 = F[i], f1 = F[i + 1], f2 = F[i + 2];
            R[i] = of_F * f0 + of_C * cof[i] + of_FC * (f0 * C[0] + f1 * C[1] + f2 * C[2]);
            R[i + 1] = of_F * f1 + of_C * cof[i + 1] + of_FC * (f0 * C[1] + f1 * C[3] + f2 * C[4]);
            R[i + 2] = of_F * f2 + of_C * cof[i + 2] + of_FC * (f0 * C[2] + f1 * C[4] + f2 * C[5]);
        }
        for (int k = 0; k < 9; k++)
            norm += R[k] * R[k];
        norm = 1.5f - norm * (1.0f / 6);
        for (int k = 0; k < 9; k++)
            R[k] *= norm;
    }
    else
        td_rotation_any(F, R);
    out->trace = 0;
    for (int k = 0; k < 9; k++)
        out->trace += R[k] * F[k];
    out->second = 0.5f * (out->trace * out->trace - out->size);
    out->turning = out->trace * out->second - out->det;
}

/// R and numbers of S; C as in td_polar_begin. Where F is not nearly flat without a loop over matrices.
TD_BOTH tdPolar td_polar(const float *F, float *R, float *C)
{
    float cof[9];
    tdPolar out;
    tdPolarRoot root;
    bool found = td_polar_begin(F, cof, C, &out, &root), more = found;
    for (int i = 0; i < 12 && more; i++)
        more = td_polar_step(&root);
    td_polar_end(F, cof, C, found, &root, &out, R);
    return out;
}

// ---------------------------------------------------------------- a point

/// Stress P and energy density, from R and the trace of S.
TD_BOTH float td_turned_stress(const float *F, const float *R, float trace_S, float mu, float lambda, float *P)
{
    float square = 0;
    const float trace = trace_S - 3;
    TD_UNROLL
    for (int k = 0; k < 9; k++)
    {
        float d = F[k] - R[k];
        square += d * d;
        P[k] = 2 * mu * d + lambda * trace * R[k];
    }
    return mu * square + 0.5f * lambda * trace * trace;
}

/// The same with the rotation; C = F'F, upper triangle.
TD_BOTH float td_point_stress(const float *F, float mu, float lambda, float *P, float *R, float *C, tdPolar *polar)
{
    *polar = td_polar(F, R, C);
    return td_turned_stress(F, R, polar->trace, mu, lambda, P);
}

/// Rows V with tangent = (1 + damped) 2 mu I + V0 V0' - V1 V1' - V2 V2' - V3 V3', V0 = along R: that of the law and
/// `damped` times that of its damping, whose rotation is kept. *odd: what is taken away was not definite, and a little
/// of it is left out.
TD_BOTH void td_point_rows(const tdPolar *polar, const float *C, const float *R, float mu, float lambda, int law,
                           float damped, float V[3][9], float *along, bool *odd)
{
    // N = -H, lower triangle: 00 10 11 20 21 22. (trace S I - S)^-1 = (S^2 + second I) / turning, and S^2 = C.
    float N[6] = {mu, 0, mu, 0, 0, mu};
    if (law == TD_GPU_COROTATIONAL)
    {
        float trace = polar->trace - 3, floor = 1e-6f * fabsf(polar->trace * polar->trace * polar->trace) + 1e-30f;
        float inverse = td_quotient(2 * mu - lambda * trace, fabsf(polar->turning) > floor ? polar->turning : floor);
        N[0] = inverse * (C[0] + polar->second);
        N[1] = inverse * C[1];
        N[2] = inverse * (C[3] + polar->second);
        N[3] = inverse * C[2];
        N[4] = inverse * C[4];
        N[5] = inverse * (C[5] + polar->second);
    }
    N[0] += damped * mu;
    N[2] += damped * mu;
    N[5] += damped * mu;
    // N = L L'
    float least = 1e-4f * mu, L00, L10, L11, L20, L21, L22, d00, d11, d22, inverse;
    *odd = !(N[0] > least);
    d00 = *odd ? least : N[0];
    inverse = td_inverse_root(d00);
    L00 = d00 * inverse;
    L10 = N[1] * inverse;
    L20 = N[3] * inverse;
    d11 = N[2] - L10 * L10;
    *odd = *odd || !(d11 > least);
    d11 = d11 > least ? d11 : least;
    inverse = td_inverse_root(d11);
    L11 = d11 * inverse;
    L21 = (N[4] - L20 * L10) * inverse;
    d22 = N[5] - L20 * L20 - L21 * L21;
    *odd = *odd || !(d22 > least);
    d22 = d22 > least ? d22 : least;
    L22 = d22 * td_inverse_root(d22);
    // Rows L'Q with Q_k = R [e_k]x.
    for (int i = 0; i < 3; i++)
    {
        float r0 = R[3 * i], r1 = R[3 * i + 1], r2 = R[3 * i + 2];
        V[0][3 * i] = -L10 * r2 + L20 * r1;
        V[0][3 * i + 1] = L00 * r2 - L20 * r0;
        V[0][3 * i + 2] = -L00 * r1 + L10 * r0;
        V[1][3 * i] = -L11 * r2 + L21 * r1;
        V[1][3 * i + 1] = -L21 * r0;
        V[1][3 * i + 2] = L11 * r0;
        V[2][3 * i] = L22 * r1;
        V[2][3 * i + 1] = -L22 * r0;
        V[2][3 * i + 2] = 0;
    }
    *along = sqrtf((1 + damped) * lambda);
}

TD_BOTH float td_point(const float *F, float mu, float lambda, int law, float damped, float *P, float *R, float V[3][9],
                       float *along, bool *odd)
{
    float C[6];
    tdPolar polar;
    float energy = td_point_stress(F, mu, lambda, P, R, C, &polar);
    td_point_rows(&polar, C, R, mu, lambda, law, damped, V, along, odd);
    return energy;
}

/// Stress, energy density and all of the tangent of a point that is no membrane: TD_GPU_PACKED.
TD_BOTH float td_point_solid(const tdGpuPoint *point, const float *F, float damped, float *P, float *D, bool *odd)
{
    *odd = false;
    if (point->law >= TD_GPU_STVK)
        return td_gpu_law(point, F, damped, P, D);
    float R[9], V[3][9], along;
    float energy = td_point(F, point->mu, point->lambda, point->law, damped, P, R, V, &along, odd);
    TD_UNROLL
    for (int i = 0; i < 9; i++)
    {
        TD_UNROLL
        for (int j = 0; j <= i; j++)
            D[TD_GPU_PACKED(i, j)] = (i == j ? 2 * (1 + damped) * point->mu : 0.0f) + along * along * R[i] * R[j] -
                                     V[0][i] * V[0][j] - V[1][i] * V[1][j] - V[2][i] * V[2][j];
    }
    return energy;
}

#define TD_GPU_THROUGH 20 // passes for P n = 0, at most

/// D = D - M S^-1 M', M = D n and S = n . D . n; r: where not NULL, S^-1 times it, and D stays.
TD_BOTH void td_gpu_condense(const float *n, float *D, const float *r, float *d)
{
    float M[9][3], S[6], inverse[6];
    for (int i = 0; i < 9; i++)
        for (int k = 0; k < 3; k++)
        {
            M[i][k] = 0;
            for (int j = 0; j < 3; j++)
            {
                int c = 3 * k + j;
                M[i][k] += n[j] * D[i >= c ? TD_GPU_PACKED(i, c) : TD_GPU_PACKED(c, i)];
            }
        }
    for (int i = 0; i < 3; i++)
        for (int k = 0; k <= i; k++)
            S[TD_GPU_PACKED(i, k)] = n[0] * M[3 * i][k] + n[1] * M[3 * i + 1][k] + n[2] * M[3 * i + 2][k];
    float c00 = S[2] * S[5] - S[4] * S[4], c10 = S[4] * S[3] - S[1] * S[5], c20 = S[1] * S[4] - S[2] * S[3];
    float by = 1 / (S[0] * c00 + S[1] * c10 + S[3] * c20);
    inverse[0] = c00 * by;
    inverse[1] = c10 * by;
    inverse[2] = (S[0] * S[5] - S[3] * S[3]) * by;
    inverse[3] = c20 * by;
    inverse[4] = (S[1] * S[3] - S[0] * S[4]) * by;
    inverse[5] = (S[0] * S[2] - S[1] * S[1]) * by;
    for (int i = 0; i < (r != NULL ? 1 : 9); i++)
    {
        const float *x = r != NULL ? r : M[i];
        float y[3] = {inverse[0] * x[0] + inverse[1] * x[1] + inverse[3] * x[2],
                      inverse[1] * x[0] + inverse[2] * x[1] + inverse[4] * x[2],
                      inverse[3] * x[0] + inverse[4] * x[1] + inverse[5] * x[2]};
        for (int k = 0; k < 3 && r != NULL; k++)
            d[k] = y[k];
        for (int c = 0; c <= i && r == NULL; c++)
            D[TD_GPU_PACKED(i, c)] -= y[0] * M[c][0] + y[1] * M[c][1] + y[2] * M[c][2];
    }
}

/// A membrane (body/point.h): F = flat + f x n with P n = 0, from the f that keeps the volume on; the tangent is that
/// of what is left. Not finite where no f is found.
#if defined(__CUDACC__)
static __host__ __device__ __noinline__
#else
static inline
#endif
    float
    td_point_membrane(const tdGpuPoint *point, const float *flat, float damped, float *P, float *D, bool *odd)
{
    tdGpuPoint solid = *point;
    float cof[9], n[3] = {0, 0, 0}, f[3] = {0, 0, 0}, F[9], most = 0, energy = 0, way = 1, size = 0;
    solid.law &= ~TD_GPU_MEMBRANE;
    td_cofactor9(flat, cof); // = a x n, a normal to the membrane as it is
    for (int i = 0; i < 3; i++)
    {
        float square = cof[3 * i] * cof[3 * i] + cof[3 * i + 1] * cof[3 * i + 1] + cof[3 * i + 2] * cof[3 * i + 2];
        float by = td_inverse_root(square);
        for (int k = 0; k < 3 && square > most; k++)
            n[k] = cof[3 * i + k] * by;
        most = fmaxf(most, square);
    }
    for (int i = 0; i < 3; i++)
    {
        f[i] = cof[3 * i] * n[0] + cof[3 * i + 1] * n[1] + cof[3 * i + 2] * n[2];
        size += f[i] * f[i];
    }
    for (int i = 0; i < 3; i++)
        f[i] /= size;
    for (int pass = 0; pass < TD_GPU_THROUGH; pass++)
    {
        float r[3], d[3];
        for (int c = 0; c < 9; c++)
            F[c] = flat[c] + f[c / 3] * n[c % 3];
        energy = td_point_solid(&solid, F, 0, P, D, odd);
        for (int i = 0; i < 3; i++)
            r[i] = P[3 * i] * n[0] + P[3 * i + 1] * n[1] + P[3 * i + 2] * n[2];
        td_gpu_condense(n, D, r, d);
        size = sqrtf(f[0] * f[0] + f[1] * f[1] + f[2] * f[2]);
        way = sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        if (way <= 2e-7f * size)
            break;
        for (int i = 0; i < 3; i++)
            f[i] -= (way > 0.5f * size ? 0.5f * size / way : 1.0f) * d[i];
    }
    if (!(way <= 1e-5f * size))
        energy = P[0] = NAN;
    td_gpu_condense(n, D, NULL, NULL);
    if (damped > 0 && solid.law >= TD_GPU_STVK) // the stiffness of plane stress at rest, carried along
    {
        float left[9], right[9];
        td_gpu_gram(flat, left, right);
        solid.lambda = 2 * solid.lambda * solid.mu / (solid.lambda + 2 * solid.mu);
        td_gpu_add_damping(&solid, damped, flat, left, D);
    }
    else if (damped > 0) // that of the law with its rotation kept
    {
        float kept[TD_GPU_PACKED(9, 0)], Q[9];
        solid.law = TD_GPU_LAGGED;
        td_point_solid(&solid, F, 0, Q, kept, odd);
        td_gpu_condense(n, kept, NULL, NULL);
        for (int k = 0; k < TD_GPU_PACKED(9, 0); k++)
            D[k] += damped * kept[k];
    }
    return energy;
}

/// The same of any point.
TD_BOTH float td_point_whole(const tdGpuPoint *point, const float *F, float damped, float *P, float *D, bool *odd)
{
    return (point->law & TD_GPU_MEMBRANE) != 0 ? td_point_membrane(point, F, damped, P, D, odd)
                                               : td_point_solid(point, F, damped, P, D, odd);
}

/// Stress and energy density of a point, whatever its law.
TD_BOTH float td_point_force(const tdGpuPoint *point, const float *F, float *P)
{
    float R[9], C[6], D[TD_GPU_PACKED(9, 0)];
    tdPolar polar;
    bool odd;
    if (point->law >= TD_GPU_STVK)
        return td_point_whole(point, F, 0, P, D, &odd);
    return td_point_stress(F, point->mu, point->lambda, P, R, C, &polar);
}

/// K + damped K_damping in the place of K: all damping of the material, at the cost of the tangent.
TD_BOTH float td_robot_damped(const tdGpuPlan *plan, const double *row)
{
    return (float)(plan->beta * row[plan->at.damping] / plan->h);
}

// ---------------------------------------------------------------- assemble

TD_BOTH bool td_robot_factor(int r, int rows, float *S, tdLanes lanes);

/// Stress, energy density and, into S, the tangent of a point by its rows but for what is constant.
TD_BOTH float td_robot_add_rows(int r, const tdGpuPoint *point, const float *B, const float *F, float damped, float *P,
                                bool *odd, const tdRobotWork *work, tdLanes lanes)
{
    float R[9], V[3][9], along, root = sqrtf(point->weight);
    float energy = td_point(F, point->mu, point->lambda, point->law, damped, P, R, V, &along, odd);
    TD_SYNC(lanes);
    for (int j = lanes.lane; j < r; j += lanes.n)
    {
        float u[4] = {0, 0, 0, 0};
        for (int c = 0; c < 9; c++)
        {
            float b = B[c * r + j];
            u[0] += R[c] * b;
            for (int k = 0; k < 3; k++)
                u[1 + k] += V[k][c] * b;
        }
        work->u[j] = root * along * u[0];
        for (int k = 1; k < 4; k++)
            work->u[k * r + j] = root * u[k];
    }
    TD_SYNC(lanes);
    for (int i = lanes.lane; i < r; i += lanes.n)
        for (int j = 0; j <= i; j++)
            work->S[td_row(r, i) + j] += work->u[i] * work->u[j] - work->u[r + i] * work->u[r + j] -
                                         work->u[2 * r + i] * work->u[2 * r + j] -
                                         work->u[3 * r + i] * work->u[3 * r + j];
    return energy;
}

/// Entry k of the product that makes cof(A + B) = cof A + A x B + cof B.
TD_BOTH float td_gpu_cross(const float *A, const float *B, int stride, int k)
{
    int i = k / 3, j = k % 3, i1 = 3 * ((i + 1) % 3), i2 = 3 * ((i + 2) % 3), j1 = (j + 1) % 3, j2 = (j + 2) % 3;
    return A[i1 + j1] * B[(i2 + j2) * stride] + A[i2 + j2] * B[(i1 + j1) * stride] -
           A[i1 + j2] * B[(i2 + j1) * stride] - A[i2 + j1] * B[(i1 + j2) * stride];
}

/// The same where the tangent keeps the rotation: (lambda + mu) b'b - 2 mu R : cof(B), b = R : B, in the place of three
/// rows that are taken away from 2 mu B'B (lagged.cuh).
TD_BOTH float td_robot_add_lagged(int r, const tdGpuPoint *point, const float *B, const float *F, float damped,
                                  float *P, const tdRobotWork *work, tdLanes lanes)
{
    float R[9], C[6], weight = (1 + damped) * point->weight;
    tdPolar polar;
    float energy = td_point_stress(F, point->mu, point->lambda, P, R, C, &polar);
    TD_SYNC(lanes);
    for (int j = lanes.lane; j < r; j += lanes.n)
    {
        float b = 0;
        for (int c = 0; c < 9; c++)
            b += R[c] * B[c * r + j];
        work->u[j] = b;
    }
    TD_SYNC(lanes);
    for (int i = lanes.lane; i < r; i += lanes.n)
    {
        float T[9], b = weight * (point->lambda + point->mu) * work->u[i];
        for (int c = 0; c < 9; c++)
            T[c] = weight * point->mu * td_gpu_cross(R, B + i, r, c);
        for (int j = 0; j <= i; j++)
        {
            float x = b * work->u[j];
            for (int c = 0; c < 9; c++)
                x -= T[c] * B[c * r + j];
            work->S[td_row(r, i) + j] += x;
        }
    }
    return energy;
}

/// The same with the tangent whole: w B'(D B).
TD_BOTH float td_robot_add_whole(int r, const tdGpuPoint *point, const float *B, const float *F, float damped, float *P,
                                 bool *odd, const tdRobotWork *work, tdLanes lanes)
{
    float D[TD_GPU_PACKED(9, 0)], energy = td_point_whole(point, F, damped, P, D, odd);
    for (int i = lanes.lane; i < r; i += lanes.n)
    {
        float T[9] = {0};
        for (int c = 0; c < 9; c++)
            for (int d = 0; d < 9; d++)
                T[c] += point->weight * D[c >= d ? TD_GPU_PACKED(c, d) : TD_GPU_PACKED(d, c)] * B[d * r + i];
        for (int j = 0; j <= i; j++)
        {
            float x = 0;
            for (int c = 0; c < 9; c++)
                x += T[c] * B[c * r + j];
            work->S[td_row(r, i) + j] += x;
        }
    }
    return energy;
}

/// S, f and energy of polynomials: every lane has whole rows of the matrix.
TD_BOTH void td_robot_evaluate(const tdGpuPlan *plan, const double *q, float damped, tdLanes lanes,
                               const tdRobotWork *work, float *energy)
{
    int r = plan->r, pairs = TD_GPU_PAIRS(r), columns = 1 + r + pairs;
    float sum = 0;
    for (int i = lanes.lane; i < r; i += lanes.n)
    {
        float force = 0;
        for (int j = 0; j < r; j++)
        {
            int row = i < j ? TD_GPU_PAIRS(j) + i : TD_GPU_PAIRS(i) + j, c = 1 + r;
            const float *m = TD_GPU_ARRAY(plan, float, polynomial) +
                             (int64_t)(row / TD_GPU_TILE) * columns * TD_GPU_TILE + row % TD_GPU_TILE;
            float P = m[0], y2 = 0, y3 = 0;
            for (int k = 0; k < r; k++)
                y2 += m[(1 + k) * TD_GPU_TILE] * (float)q[k];
            for (int k = 0; k < r; k++)
                for (int l = 0; l <= k; l++, c++)
                    y3 += m[(int64_t)c * TD_GPU_TILE] * ((l < k ? 2 : 1) * (float)q[k] * (float)q[l]);
            force += (P + y2 + y3) * (float)q[j];
            if (j > i)
                continue;
            work->S[td_row(r, i) + j] = (1 + damped) * (P + 2 * y2 + 3 * y3);
            sum += (j < i ? 2 : 1) * (float)q[i] * (float)q[j] * (0.5f * P + (1.0f / 3) * y2 + 0.25f * y3);
        }
        work->f[i] = force;
    }
    *energy = (float)td_lanes_sum(lanes, sum);
    TD_SYNC(lanes);
}

/// S (lower triangle), f and energy at Young's factor 1; true: some tangent was odd.
TD_BOTH bool td_robot_assemble(const tdGpuPlan *plan, const double *row, tdLanes lanes, const tdRobotWork *work,
                               float *energy)
{
    int r = plan->r;
    const double *q = row + plan->at.q;
    const float *K0 = TD_GPU_ARRAY(plan, float, K0);
    float damped = td_robot_damped(plan, row), sum = 0;
    bool any = false;
    if (plan->polynomial != 0)
    {
        td_robot_evaluate(plan, q, damped, lanes, work, energy);
        if (damped <= 0)
            return false;
        // Damping by a stiffness that is negative somewhere is another one than the CPU's.
        any = !td_robot_factor(r, r, work->S, lanes);
        td_robot_evaluate(plan, q, damped, lanes, work, energy);
        return any;
    }
    for (int i = lanes.lane; i < r; i += lanes.n)
    {
        work->f[i] = 0;
        for (int j = 0; j <= i; j++)
            work->S[td_row(r, i) + j] = (1 + damped) * K0[i * TD_GPU_ROW(r) + j];
    }
    for (int e = 0; e < plan->points; e++)
    {
        const float *B = TD_GPU_ARRAY(plan, float, B) + (int64_t)e * 9 * r, *F0 = TD_GPU_ARRAY(plan, float, F0) + 9 * e;
        const tdGpuPoint *point = TD_GPU_ARRAY(plan, tdGpuPoint, point) + e;
        float F[9], P[9];
        bool odd = false;
        for (int c = 0; c < 9; c++)
        {
            float x = 0;
            for (int j = lanes.lane; j < r; j += lanes.n)
                x += B[c * r + j] * (float)q[j];
            F[c] = F0[c] + (float)td_lanes_sum(lanes, x);
        }
        sum += point->weight * (plan->general != 0  ? td_robot_add_whole(r, point, B, F, damped, P, &odd, work, lanes)
                                : plan->lagged != 0 ? td_robot_add_lagged(r, point, B, F, damped, P, work, lanes)
                                                    : td_robot_add_rows(r, point, B, F, damped, P, &odd, work, lanes));
        any = any || odd;
        for (int j = lanes.lane; j < r; j += lanes.n)
        {
            float force = 0;
            for (int c = 0; c < 9; c++)
                force += P[c] * B[c * r + j];
            work->f[j] += point->weight * force;
        }
    }
    *energy = sum;
    TD_SYNC(lanes);
    return any;
}

// ---------------------------------------------------------------- judge

/// What a step came to is known when the next one begins: its energies and how straight its path was, with the bounds
/// of src/step/monitor.c. Returns why the robot has to stop.
TD_BOTH int td_robot_judge(const tdGpuPlan *plan, double *row, double kinetic, double elastic, double force_work)
{
    const tdGpuRow *at = &plan->at;
    if (!isfinite(elastic) || !isfinite(kinetic))
        return TD_GPU_BAD_ELEMENT;
    if (row[at->known] == 0)
    {
        row[at->most] = kinetic + elastic;
        row[at->gain] = 0;
        row[at->known] = 1;
        return TD_GPU_GOES;
    }
    if (row[at->known] == 1) // no step since
        return TD_GPU_GOES;
    double before = row[at->kinetic] + row[at->elastic], after = kinetic + elastic, work = row[at->work];
    double gain = after - before - work, size = fabs(before) + fabs(after) + fabs(work), had = row[at->gain];
    if (fabs(gain) <= 3e-5 * size) // rounding of energies in single precision
        gain = 0;
    row[at->gain] = fmax(0.0, had + gain);
    row[at->most] = fmax(row[at->most], fmax(before + fmax(work, 0.0), after) - row[at->gain]);
    double honest = row[at->most] + plan->noise, share = row[at->gain] / honest;
    if (!(kinetic <= 2 * honest) || !(share <= 1e6))
        return TD_GPU_NO_PHYSICS;
    double mean = 0.5 * (row[at->force_work] + force_work), change = elastic - row[at->elastic];
    double bent = fabs(change) + 0.5 * fabs(row[at->force_work]) + 0.5 * fabs(force_work) + 0.01 * row[at->most];
    bool curved = bent > 0 && fabs(change - mean) > 0.5 * bent;
    row[at->doubts] += curved || (share > 0.05 && row[at->gain] > had);
    return TD_GPU_GOES;
}

// ---------------------------------------------------------------- actuators

/// Present value of an input: the caller's, else the scene's at the end of the step.
TD_BOTH double td_robot_input(const tdGpuPlan *plan, const double *row, const double *motion, int input)
{
    double set = row[plan->at.override_ + input];
    return (isnan(set) ? motion[input] : set) + row[plan->at.offset + input];
}

TD_BOTH void td_robot_interval(const double *limit, double start, double most, double *low, double *high)
{
    *low = fmax(limit[0], start - most);
    *high = fmin(limit[1], start + most);
    if (*low > *high) // a start outside the limits comes back as fast as it may
        *low = *high = start < limit[0] ? start + most : start - most;
}

/// Places of the points of all cables.
TD_BOTH void td_robot_places(const tdGpuPlan *plan, const char *tables, const double *q, tdLanes lanes, double *place)
{
    int r = plan->r;
    const double *X = TD_GPU_TABLE(tables, plan, double, cable);
    for (int i = lanes.lane; i < 3 * plan->cable_points; i += lanes.n)
    {
        const double *x = X + (int64_t)i * (1 + r);
        double sum = x[0];
        for (int j = 0; j < r; j++)
            sum += x[1 + j] * q[j];
        place[i] = sum;
    }
    TD_SYNC(lanes);
}

/// Length of a cable, from the places of points.
TD_BOTH double td_robot_length(const tdGpuActuator *cable, const double *place)
{
    double length = 0;
    for (int k = cable->first; k + 1 < cable->first + cable->points; k++)
    {
        double d0 = place[3 * k + 3] - place[3 * k], d1 = place[3 * k + 4] - place[3 * k + 1],
               d2 = place[3 * k + 5] - place[3 * k + 2];
        length += sqrt(d0 * d0 + d1 * d1 + d2 * d2);
    }
    return length;
}

/// T_ijk y_k of a cavity, y = (1, q).
TD_BOTH double td_cavity_entry(const double *T, int r, int i, int j, const double *q)
{
    int high = i > j ? i : j, low = i > j ? j : i, k = 1;
    const double *t = T + TD_GPU_TRIPLES(high) + TD_GPU_PAIRS(low);
    double sum = t[0];
    for (; k <= low; k++)
        sum += t[k] * q[k - 1];
    for (; k <= high; k++)
        sum += T[TD_GPU_TRIPLES(high) + TD_GPU_PAIRS(k) + low] * q[k - 1];
    for (; k <= r; k++)
        sum += T[TD_GPU_TRIPLES(k) + TD_GPU_PAIRS(high) + low] * q[k - 1];
    return sum;
}

/// T_ijk y_j y_k: dV/dy_i is three times that.
TD_BOTH double td_cavity_row(const double *T, int r, int i, const double *q)
{
    double sum = td_cavity_entry(T, r, i, 0, q);
    for (int j = 1; j <= r; j++)
        sum += td_cavity_entry(T, r, i, j, q) * q[j - 1];
    return sum;
}

TD_BOTH const double *td_cavity(const tdGpuPlan *plan, const tdGpuActuator *actuator)
{
    return TD_GPU_ARRAY(plan, double, volume) + (int64_t)actuator->first * TD_GPU_TRIPLES(1 + plan->r);
}

/// Volumes of cavities to where their travel will be, and their rows to where those of all actuators are.
TD_BOTH void td_robot_volumes(const tdGpuPlan *plan, const double *q, tdLanes lanes, const tdRobotWork *work)
{
    int r = plan->r;
    const tdGpuActuator *list = TD_GPU_TABLE(work->tables, plan, tdGpuActuator, actuator);
    for (int a = 0; a < plan->actuators && plan->cavities > 0; a++)
    {
        if (list[a].cavity == 0)
            continue;
        const double *T = td_cavity(plan, list + a);
        float *J = work->S + td_row(r, r + 1 + a);
        double part = 0;
        for (int i = lanes.lane; i <= r; i += lanes.n)
        {
            double x = td_cavity_row(T, r, i, q);
            part += i > 0 ? x * q[i - 1] : x;
            if (i > 0)
                J[i - 1] = (float)(3 * list[a].sign * x);
        }
        part = td_lanes_sum(lanes, part);
        if (lanes.lane == 0)
            work->cable[TD_CABLE_NUMBERS * a + TD_CABLE_TRAVEL] = part;
    }
    TD_SYNC(lanes);
}

/// S += h^2 times what a pressure adds to the stiffness, -p d2V/dq2, which may be of either sign.
TD_BOTH void td_robot_press(const tdGpuPlan *plan, const double *q, tdLanes lanes, const tdRobotWork *work)
{
    int r = plan->r;
    const tdGpuActuator *list = TD_GPU_TABLE(work->tables, plan, tdGpuActuator, actuator);
    for (int a = 0; a < plan->actuators && plan->cavities > 0; a++)
    {
        double effort = work->cable[TD_CABLE_NUMBERS * a + TD_CABLE_EFFORT];
        if (list[a].cavity == 0 || effort == 0)
            continue;
        const double *T = td_cavity(plan, list + a), factor = -6 * plan->h * plan->h * list[a].sign * effort;
        for (int i = lanes.lane; i < r; i += lanes.n)
            for (int j = 0; j <= i; j++)
                work->S[td_row(r, i) + j] += (float)(factor * td_cavity_entry(T, r, 1 + i, 1 + j, q));
    }
    TD_SYNC(lanes);
}

/// Displacement of an actuator without its stretch where there are no places yet: for outputs.
TD_BOTH double td_robot_travel(const tdGpuPlan *plan, const char *tables, const tdGpuActuator *cable, const double *q)
{
    int width = 1 + plan->r;
    if (cable->cavity != 0)
    {
        const double *T = td_cavity(plan, cable);
        double volume = td_cavity_row(T, plan->r, 0, q);
        for (int i = 1; i <= plan->r; i++)
            volume += q[i - 1] * td_cavity_row(T, plan->r, i, q);
        return cable->sign * (volume - cable->rest);
    }
    double length = 0, last[3] = {0, 0, 0};
    for (int k = 0; k < cable->points; k++)
    {
        double square = 0;
        for (int c = 0; c < 3; c++)
        {
            const double *x = TD_GPU_TABLE(tables, plan, double, cable) + (3 * (int64_t)(cable->first + k) + c) * width;
            double sum = x[0];
            for (int j = 0; j < plan->r; j++)
                sum += x[1 + j] * q[j];
            square += (sum - last[c]) * (sum - last[c]);
            last[c] = sum;
        }
        length += k > 0 ? sqrt(square) : 0;
    }
    return cable->sign * (length - cable->rest);
}

/// What each actuator is asked for, see constraint.c; false: an input is infinite.
TD_BOTH bool td_robot_latch(const tdGpuPlan *plan, const double *row, const double *motion, tdLanes lanes,
                            const tdRobotWork *work)
{
    const tdGpuActuator *list = TD_GPU_TABLE(work->tables, plan, tdGpuActuator, actuator);
    bool good = true;
    for (int i = 0; i < plan->inputs; i++)
        good = good && isfinite(td_robot_input(plan, row, motion, i));
    for (int a = lanes.lane; a < plan->actuators; a += lanes.n)
    {
        double *c = work->cable + TD_CABLE_NUMBERS * a, input = td_robot_input(plan, row, motion, list[a].input);
        double effort = row[plan->at.effort + a];
        double size = list[a].cavity != 0 ? c[TD_CABLE_TRAVEL] : td_robot_length(list + a, work->place);
        double travel = list[a].sign * (size - list[a].rest);
        double displacement = travel + list[a].compliance * effort;
        td_robot_interval(list[a].effort, effort, list[a].effort_rate * plan->h, c + TD_CABLE_EFFORT_LOW,
                          c + TD_CABLE_EFFORT_HIGH);
        td_robot_interval(list[a].displacement, displacement, list[a].displacement_rate * plan->h,
                          c + TD_CABLE_TRAVEL_LOW, c + TD_CABLE_TRAVEL_HIGH);
        bool pulls = list[a].drive == TD_GPU_EFFORT;
        c[TD_CABLE_GIVEN] = fmin(fmax(input, c[pulls ? TD_CABLE_EFFORT_LOW : TD_CABLE_TRAVEL_LOW]),
                                 c[pulls ? TD_CABLE_EFFORT_HIGH : TD_CABLE_TRAVEL_HIGH]);
        c[TD_CABLE_TRAVEL] = travel;
        c[TD_CABLE_EFFORT] = c[TD_CABLE_NEXT] = pulls ? c[TD_CABLE_GIVEN] : effort;
    }
    TD_SYNC(lanes);
    return good;
}

/// Whether its effort is unknown: of a given effort, where it would push the actuator past a stop.
TD_BOTH bool td_robot_unknown(const tdGpuActuator *list, const tdRobotWork *work, int a)
{
    const double *c = work->cable + TD_CABLE_NUMBERS * a;
    return list[a].drive == TD_GPU_DISPLACEMENT || isfinite(c[TD_CABLE_TRAVEL_LOW]) ||
           isfinite(c[TD_CABLE_TRAVEL_HIGH]);
}

/// S += u'u on the lower triangle, of `n` rows u.
TD_BOTH void td_robot_across(int r, int n, const tdRobotWork *work, tdLanes lanes)
{
    const float *u = work->u;
    TD_SYNC(lanes);
    for (int i = lanes.lane; i < r; i += lanes.n)
        for (int j = 0; j <= i; j++)
        {
            float sum = work->S[td_row(r, i) + j];
            for (int m = 0; m < n; m++)
                sum += u[m * TD_ROW_U(r) + i] * u[m * TD_ROW_U(r) + j];
            work->S[td_row(r, i) + j] = sum;
        }
    TD_SYNC(lanes);
}

/// Where S is the matrix it becomes mass M + stiff S; else it gathers what is added to the matrix, if it has to.
TD_BOTH void td_robot_matrix(const tdGpuPlan *plan, tdLanes lanes, const tdRobotWork *work, float mass, float stiff)
{
    int r = plan->r;
    const float *M = TD_GPU_TABLE(work->tables, plan, float, M);
    for (int i = lanes.lane; i < r && work->from == NULL; i += lanes.n)
        for (int j = 0; j <= i; j++)
            work->S[td_row(r, i) + j] = mass * M[i * TD_GPU_ROW(r) + j] + stiff * work->S[td_row(r, i) + j];
    for (int i = lanes.lane; i < td_row(r, r) && work->from != NULL && plan->gathers != 0; i += lanes.n)
        work->S[i] = 0;
}

/// Rows of cables at S behind that of the motion. A taut segment stiffens across its direction d, by tension / length
/// along two axes: rows u, which go into S when there are TD_GPU_ACROSS of them. Returns how many are left.
TD_BOTH int td_robot_rows(const tdGpuPlan *plan, tdLanes lanes, const tdRobotWork *work)
{
    int r = plan->r, gathered = 0;
    const tdGpuActuator *list = TD_GPU_TABLE(work->tables, plan, tdGpuActuator, actuator);
    const float *segments = TD_GPU_TABLE(work->tables, plan, float, segment);
    for (int a = 0; a < plan->actuators; a++)
    {
        const tdGpuActuator *cable = list + a;
        float *J = work->S + td_row(r, r + 1 + a), sign = (float)cable->sign;
        float effort = (float)(-work->cable[TD_CABLE_NUMBERS * a + TD_CABLE_EFFORT]) * sign;
        for (int j = lanes.lane; j < r && cable->cavity == 0; j += lanes.n) // that of a cavity is there
            J[j] = 0;
        for (int k = cable->first; k + 1 < cable->first + cable->points; k++)
        {
            const double *place = work->place + 3 * k;
            float f0 = (float)(place[3] - place[0]), f1 = (float)(place[4] - place[1]),
                  f2 = (float)(place[5] - place[2]), length = f0 * f0 + f1 * f1 + f2 * f2;
            bool taut = effort > 0 && length > 0;
            if (gathered == TD_GPU_ACROSS)
            {
                td_robot_across(r, gathered, work, lanes);
                gathered = 0;
            }
            float inverse = length > 0 ? td_inverse_root(length) : 0;
            f0 *= inverse;
            f1 *= inverse;
            f2 *= inverse;
            // Two axes across: e = d x the axis that d has least of, and d x e.
            float e[3], g[3], a0 = fabsf(f0), a1 = fabsf(f1), a2 = fabsf(f2);
            int least = a0 <= a1 ? (a0 <= a2 ? 0 : 2) : (a1 <= a2 ? 1 : 2);
            e[0] = least == 1 ? -f2 : least == 2 ? f1 : 0;
            e[1] = least == 0 ? f2 : least == 2 ? -f0 : 0;
            e[2] = least == 0 ? -f1 : least == 1 ? f0 : 0;
            float size = e[0] * e[0] + e[1] * e[1] + e[2] * e[2];
            float one = taut ? (float)plan->h * sqrtf(effort * inverse / size) : 0;
            for (int c = 0; c < 3; c++)
                e[c] *= one;
            g[0] = f1 * e[2] - f2 * e[1];
            g[1] = f2 * e[0] - f0 * e[2];
            g[2] = f0 * e[1] - f1 * e[0];
            const float *x = segments + 3 * (int64_t)k * r;
            float *u = work->u + gathered * TD_ROW_U(r);
            for (int j = lanes.lane; j < r; j += lanes.n)
            {
                float m0 = x[j], m1 = x[r + j], m2 = x[2 * r + j];
                J[j] += sign * (f0 * m0 + f1 * m1 + f2 * m2);
                if (taut)
                {
                    u[j] = e[0] * m0 + e[1] * m1 + e[2] * m2;
                    u[TD_ROW_U(r) + j] = g[0] * m0 + g[1] * m1 + g[2] * m2;
                }
            }
            gathered += taut ? 2 : 0;
        }
    }
    TD_SYNC(lanes);
    return gathered;
}

// ---------------------------------------------------------------- factor

/// L L' = S on the first r rows, their diagonal then the reciprocals; rows behind become L^-1 times what they were.
/// False: not definite.
TD_BOTH bool td_robot_factor(int r, int rows, float *S, tdLanes lanes)
{
    bool good = true;
    for (int k = 0; k < r; k++)
    {
        float d = S[td_row(r, k) + k];
        good = good && d > 0;
        float inverse = 1 / sqrtf(d > 0 ? d : 1.0f);
        TD_SYNC(lanes);
        for (int i = k + lanes.lane; i < rows; i += lanes.n)
            S[td_row(r, i) + k] = i == k ? inverse : S[td_row(r, i) + k] * inverse;
        TD_SYNC(lanes);
        for (int i = k + 1 + lanes.lane; i < rows; i += lanes.n)
        {
            float x = S[td_row(r, i) + k];
            int last = i < r ? i : r - 1;
            for (int j = k + 1; j <= last; j++)
                S[td_row(r, i) + j] -= x * S[td_row(r, j) + k];
        }
        TD_SYNC(lanes);
    }
    return good;
}

/// Of each pair of rows behind the matrix a product: those with the motion, then those of actuators with each other.
TD_BOTH void td_robot_products(int r, int n, const tdRobotWork *work, tdLanes lanes)
{
    for (int a = 0, k = 0; a < n; a++)
        for (int b = -1; b <= a; b++, k++)
        {
            if (k % lanes.n != lanes.lane)
                continue;
            const float *x = work->S + td_row(r, r + 1 + a), *z = work->S + td_row(r, r + 1 + b);
            float sum = 0;
            for (int i = 0; i < r; i++)
                sum += x[i] * z[i];
            work->products[a * (n + 1) + 1 + b] = sum;
        }
    TD_SYNC(lanes);
}

/// The same of mass M + stiff times what was assembled, with the rows u that are left, and the products of the rows
/// behind it; td_robot_matrix came before.
TD_BOTH bool td_robot_factored(const tdGpuPlan *plan, const tdRobotWork *work, tdLanes lanes, float mass, float stiff,
                               int left)
{
    (void)mass;
    (void)stiff;
    td_robot_across(plan->r, left, work, lanes);
    bool good = td_robot_factor(plan->r, plan->r + 1 + plan->actuators, work->S, lanes);
    td_robot_products(plan->r, plan->actuators, work, lanes);
    return good;
}

/// y <- L^-T y
TD_BOTH void td_robot_back(int r, const float *S, float *y, tdLanes lanes)
{
    for (int k = r - 1; k >= 0; k--)
    {
        float x = y[k] * S[td_row(r, k) + k];
        TD_SYNC(lanes);
        for (int j = lanes.lane; j <= k; j += lanes.n)
            y[j] = j == k ? x : y[j] - S[td_row(r, k) + j] * x;
        TD_SYNC(lanes);
    }
}

// ---------------------------------------------------------------- the small problem

/// A little of the diagonal keeps actuators apart that do the same, as constraint/condense.c does; more of it, because
/// the matrix is one of single precision.
#define TD_SMALL_APART 1e-6

/// A x = b by Gaussian elimination, rows of n + 1; false: singular. A is symmetric, and definite but for rounding, so
/// that no rows have to change places.
TD_BOTH bool td_small_solve(const int n, double *A)
{
    bool good = true;
    TD_UNROLL
    for (int k = 0; k < n; k++)
    {
        double pivot = A[k * (n + 1) + k], inverse = 1 / pivot;
        good = good && fabs(pivot) > 0;
        TD_UNROLL
        for (int i = k + 1; i < n; i++)
        {
            double x = A[i * (n + 1) + k] * inverse;
            TD_UNROLL
            for (int j = k + 1; j <= n; j++)
                A[i * (n + 1) + j] -= x * A[k * (n + 1) + j];
        }
        A[k * (n + 1) + k] = inverse;
    }
    TD_UNROLL
    for (int k = n - 1; k >= 0; k--)
    {
        double x = A[k * (n + 1) + n];
        TD_UNROLL
        for (int j = k + 1; j < n; j++)
            x -= A[k * (n + 1) + j] * A[j * (n + 1) + n];
        A[k * (n + 1) + n] = x * A[k * (n + 1) + k];
    }
    return good;
}

/// M y + b with bounds (solve/driven.c): block pivoting, single pivots where blocks go in circles. `c`:
/// TD_CABLE_NUMBERS an actuator; those whose TD_CABLE_ACTIVE is 2 are given. False: singular, or no end was found.
/// Where n is a constant all of it is in registers.
TD_BOTH bool td_small_pivot(const int n, const double *M, double *A, double *c)
{
    const int w = TD_CABLE_NUMBERS;
    int least = n + 1, blocks = 3;
    double largest = 0;
    bool solved = false, good = true;
    TD_UNROLL
    for (int i = 0; i < n; i++)
        largest = fmax(largest, c[w * i + TD_CABLE_ACTIVE] == 2 ? 0 : fabs(c[w * i + TD_CABLE_RIGHT]));
    double tiny = 1e-9 * largest;
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (int pivot = 0; pivot < 10 * n + 20 && !solved && good; pivot++)
    {
        // Those at a bound are there; the others follow.
        TD_UNROLL
        for (int i = 0; i < n; i++)
        {
            double active = c[w * i + TD_CABLE_ACTIVE];
            if (active == -1)
                c[w * i + TD_CABLE_NEXT] = c[w * i + TD_CABLE_LOW];
            if (active == 1)
                c[w * i + TD_CABLE_NEXT] = c[w * i + TD_CABLE_HIGH];
        }
        TD_UNROLL
        for (int i = 0; i < n; i++)
        {
            bool mine = c[w * i + TD_CABLE_ACTIVE] == 0;
            double right = -c[w * i + TD_CABLE_RIGHT];
            TD_UNROLL
            for (int j = 0; j < n; j++)
            {
                double active = c[w * j + TD_CABLE_ACTIVE], m = M[i * n + j];
                A[i * (n + 1) + j] = mine && active == 0 ? m : i == j;
                if (active == 0)
                    right += m * c[w * j + TD_CABLE_EFFORT];
                else if (active != 2)
                    right -= m * (c[w * j + TD_CABLE_NEXT] - c[w * j + TD_CABLE_EFFORT]);
            }
            A[i * (n + 1) + n] = mine ? right : 0;
        }
        good = td_small_solve(n, A);
        // Which belong elsewhere: counted, then moved.
        int wrong = 0, last = -1;
        TD_UNROLL
        for (int i = 0; i < n; i++)
            if (c[w * i + TD_CABLE_ACTIVE] == 0)
                c[w * i + TD_CABLE_NEXT] = A[i * (n + 1) + n];
        TD_UNROLL
        for (int i = 0; i < n; i++)
        {
            double active = c[w * i + TD_CABLE_ACTIVE], belongs = active, next = c[w * i + TD_CABLE_NEXT];
            double miss = c[w * i + TD_CABLE_RIGHT];
            TD_UNROLL
            for (int j = 0; j < n; j++)
                miss += M[i * n + j] * (c[w * j + TD_CABLE_NEXT] - c[w * j + TD_CABLE_EFFORT]);
            if (active == 0)
                belongs = next < c[w * i + TD_CABLE_LOW] ? -1 : next > c[w * i + TD_CABLE_HIGH] ? 1 : 0;
            else if (active != 2 && c[w * i + TD_CABLE_LOW] != c[w * i + TD_CABLE_HIGH])
                belongs = (active < 0 && miss < -tiny) || (active > 0 && miss > tiny) ? 0 : active;
            if (belongs != active)
            {
                wrong++;
                last = i;
            }
            A[i] = belongs;
        }
        solved = wrong == 0;
        bool block = wrong < least || blocks-- > 0;
        if (wrong < least)
        {
            least = wrong;
            blocks = 3;
        }
        TD_UNROLL
        for (int i = 0; i < n; i++)
            if (block || i == last)
                c[w * i + TD_CABLE_ACTIVE] = A[i];
    }
    return solved && good;
}

/// A few actuators: all of their problem in registers, filled up with some that are given.
TD_BOTH bool td_small_few(int n, const tdRobotWork *work)
{
    double M[TD_SMALL_FEW * TD_SMALL_FEW], A[TD_SMALL_FEW * (TD_SMALL_FEW + 1)], c[TD_SMALL_FEW * TD_CABLE_NUMBERS];
    TD_UNROLL
    for (int i = 0; i < TD_SMALL_FEW; i++)
    {
        const double *from = work->cable + TD_CABLE_NUMBERS * (i < n ? i : 0);
        double *to = c + TD_CABLE_NUMBERS * i;
        to[TD_CABLE_EFFORT] = from[TD_CABLE_EFFORT];
        to[TD_CABLE_NEXT] = i < n ? from[TD_CABLE_NEXT] : from[TD_CABLE_EFFORT];
        to[TD_CABLE_LOW] = from[TD_CABLE_LOW];
        to[TD_CABLE_HIGH] = from[TD_CABLE_HIGH];
        to[TD_CABLE_RIGHT] = from[TD_CABLE_RIGHT];
        to[TD_CABLE_ACTIVE] = i < n ? from[TD_CABLE_ACTIVE] : 2;
        TD_UNROLL
        for (int j = 0; j <= i; j++)
            M[i * TD_SMALL_FEW + j] = M[j * TD_SMALL_FEW + i] = i < n ? work->matrix[i * n + j] : 0;
    }
    bool solved = td_small_pivot(TD_SMALL_FEW, M, A, c);
    TD_UNROLL
    for (int i = 0; i < TD_SMALL_FEW; i++)
        if (i < n)
            work->cable[TD_CABLE_NUMBERS * i + TD_CABLE_NEXT] = c[TD_CABLE_NUMBERS * i + TD_CABLE_NEXT];
    return solved;
}

/// Efforts of unknown actuators, by the first lane alone; work->matrix: n x n of all actuators. False: there is no such
/// effort.
TD_BOTH bool td_small_driven(const tdGpuPlan *plan, const tdRobotWork *work)
{
    int n = plan->actuators;
    const tdGpuActuator *list = TD_GPU_TABLE(work->tables, plan, tdGpuActuator, actuator);
    double *M = work->matrix, *cables = work->cable, asked = 0;
    for (int k = 0; k < n; k++)
    {
        double *c = cables + TD_CABLE_NUMBERS * k, target = c[TD_CABLE_GIVEN];
        c[TD_CABLE_ACTIVE] = 2; // is given
        c[TD_CABLE_RIGHT] = c[TD_CABLE_LOW] = c[TD_CABLE_HIGH] = 0;
        if (!td_robot_unknown(list, work, k))
            continue;
        c[TD_CABLE_LOW] = c[TD_CABLE_EFFORT_LOW];
        c[TD_CABLE_HIGH] = c[TD_CABLE_EFFORT_HIGH];
        if (list[k].drive == TD_GPU_EFFORT)
        {
            double there = c[TD_CABLE_SECOND];
            bool upper = there > c[TD_CABLE_TRAVEL_HIGH], lower = there < c[TD_CABLE_TRAVEL_LOW];
            target = upper ? c[TD_CABLE_TRAVEL_HIGH] : lower ? c[TD_CABLE_TRAVEL_LOW] : there;
            c[TD_CABLE_LOW] = upper ? c[TD_CABLE_EFFORT_LOW] : c[TD_CABLE_GIVEN];
            c[TD_CABLE_HIGH] = lower ? c[TD_CABLE_EFFORT_HIGH] : c[TD_CABLE_GIVEN];
        }
        // Where it was at a bound it is likely to be there again.
        c[TD_CABLE_ACTIVE] = c[TD_CABLE_EFFORT] <= c[TD_CABLE_LOW]    ? -1
                             : c[TD_CABLE_EFFORT] >= c[TD_CABLE_HIGH] ? 1
                                                                      : 0;
        M[k * n + k] += TD_SMALL_APART * M[k * n + k];
        c[TD_CABLE_RIGHT] = c[TD_CABLE_SECOND] - target;
        asked = fmax(asked, fabs(c[TD_CABLE_RIGHT]) / list[k].size);
    }
    bool solved = n <= TD_SMALL_FEW ? td_small_few(n, work) : td_small_pivot(n, M, M + n * n, cables);
    for (int k = 0; k < n; k++)
    {
        double *c = cables + TD_CABLE_NUMBERS * k;
        if (!td_robot_unknown(list, work, k))
            continue;
        c[TD_CABLE_NEXT] = fmin(fmax(c[TD_CABLE_NEXT], c[TD_CABLE_LOW]), c[TD_CABLE_HIGH]);
        // Between its limits, and only the little that keeps actuators apart makes it do what is asked.
        double apart = TD_SMALL_APART * M[k * n + k] * (c[TD_CABLE_NEXT] - c[TD_CABLE_EFFORT]);
        if (asked >= 1e-6 && c[TD_CABLE_LOW] < c[TD_CABLE_NEXT] && c[TD_CABLE_NEXT] < c[TD_CABLE_HIGH] &&
            fabs(apart) > 0.01 * asked * list[k].size)
            solved = false;
    }
    return solved;
}

// ---------------------------------------------------------------- advance

/// A step from S, f and energy of assemble. `motion`: the scene's inputs at its end. The row changes where it went
/// well; else its status alone, and the robot stays where it was.
TD_BOTH void td_robot_advance(const tdGpuPlan *plan, double *row, const double *motion, tdLanes lanes,
                              const tdRobotWork *work, float energy, bool odd)
{
    const tdGpuRow *at = &plan->at;
    int r = plan->r, n = plan->actuators;
    double *q = row + at->q, *v = row + at->v, h = plan->h, young = row[at->young], mass = row[at->mass];
    float *S = work->S, *y = S + td_row(r, r);
    const float *M = TD_GPU_TABLE(work->tables, plan, float, M);
    const tdGpuActuator *list = TD_GPU_TABLE(work->tables, plan, tdGpuActuator, actuator);
    // What the last step came to.
    double part = 0, force_work = 0;
    for (int i = lanes.lane; i < TD_ROW_U(r); i += lanes.n)
        work->u[i] = i < r ? (float)v[i] : 0.0f;
    TD_SYNC(lanes);
    for (int i = lanes.lane; i < r; i += lanes.n)
    {
        y[i] = (float)mass * td_dot(TD_ROW_U(r), M + i * TD_GPU_ROW(r), work->u);
        part += y[i] * v[i];
        force_work += work->f[i] * (h * v[i]);
    }
    double kinetic = 0.5 * td_lanes_sum(lanes, part), elastic = young * energy;
    force_work = young * td_lanes_sum(lanes, force_work);
    td_robot_places(plan, work->tables, q, lanes, work->place);
    td_robot_volumes(plan, q, lanes, work);
    bool good = td_robot_latch(plan, row, motion, lanes, work);
    TD_SYNC(lanes);
    if (lanes.lane == 0)
    {
        int why = td_robot_judge(plan, row, kinetic, elastic, force_work);
        row[at->status] = good ? why : TD_GPU_BAD_INPUT;
        row[at->doubts] += odd;
    }
    TD_SYNC(lanes);
    if (row[at->status] != TD_GPU_GOES)
        return;
    // A, and right-hand sides behind it.
    double of_mass = mass * (1 + h * plan->alpha * row[at->damping]), of_K = h * h * young;
    td_robot_matrix(plan, lanes, work, (float)of_mass, (float)of_K);
    TD_SYNC(lanes);
    td_robot_press(plan, q, lanes, work);
    int left = td_robot_rows(plan, lanes, work);
    double outside_work = 0;
    const double *weight = TD_GPU_TABLE(work->tables, plan, double, weight),
                 *loads = TD_GPU_TABLE(work->tables, plan, double, load);
    for (int i = lanes.lane; i < r; i += lanes.n)
    {
        double load = 0, pull = 0;
        for (int c = 0; c < 3; c++)
            load += mass * row[at->gravity + c] * weight[c * r + i];
        for (int k = 0; k < plan->loads; k++)
        {
            const double *dead = loads + (int64_t)k * (1 + r);
            load += (dead[0] < 0 ? 1 : td_robot_input(plan, row, motion, (int)dead[0])) * dead[1 + i];
        }
        for (int a = 0; a < n; a++)
            pull += work->cable[TD_CABLE_NUMBERS * a + TD_CABLE_EFFORT] * S[td_row(r, r + 1 + a) + i];
        work->load[i] = (float)load;
        y[i] += (float)(h * (load - young * work->f[i] + pull));
    }
    TD_SYNC(lanes);
    if (!TD_FACTOR(plan, work, lanes, (float)of_mass, (float)of_K, left))
    {
        if (lanes.lane == 0)
            row[at->status] = TD_GPU_INDEFINITE;
        TD_SYNC(lanes);
        return;
    }
    for (int k = lanes.lane; k < n * (n + 1); k += lanes.n) // the small problem
    {
        int a = k / (n + 1), b = k % (n + 1) - 1;
        double *c = work->cable + TD_CABLE_NUMBERS * a, sum = work->products[k];
        if (b < 0)
            c[TD_CABLE_SECOND] = c[TD_CABLE_TRAVEL] + list[a].compliance * c[TD_CABLE_EFFORT] + h * sum;
        else if (b <= a)
            work->matrix[a * n + b] = work->matrix[b * n + a] = h * h * sum + (a == b ? list[a].compliance : 0);
    }
    TD_SYNC(lanes);
    if (lanes.lane == 0 && n > 0 && !td_small_driven(plan, work))
        row[at->status] = TD_GPU_CONTRADICTED;
    TD_SYNC(lanes);
    if (row[at->status] != TD_GPU_GOES)
        return;
    for (int i = lanes.lane; i < r; i += lanes.n) // rows J of actuators are L^-1 J here: so is the work that they do
    {
        float pull = 0, sum = y[i];
        for (int a = 0; a < n; a++)
        {
            const double *c = work->cable + TD_CABLE_NUMBERS * a;
            float x = S[td_row(r, r + 1 + a) + i];
            sum += (float)(h * (c[TD_CABLE_NEXT] - c[TD_CABLE_EFFORT])) * x;
            pull += (float)c[TD_CABLE_NEXT] * x;
        }
        y[i] = sum;
        outside_work += h * (pull * sum);
    }
    TD_SYNC(lanes);
    TD_BACK(r, S, y, lanes);
    double bad = 0;
    for (int i = lanes.lane; i < r; i += lanes.n)
        bad += !isfinite(y[i]);
    if (td_lanes_sum(lanes, bad) > 0)
    {
        if (lanes.lane == 0)
            row[at->status] = TD_GPU_NOT_FINITE;
        TD_SYNC(lanes);
        return;
    }
    force_work = 0;
    for (int i = lanes.lane; i < r; i += lanes.n)
    {
        double way = h * y[i];
        outside_work += work->load[i] * way;
        force_work += work->f[i] * way;
        v[i] = y[i];
        q[i] += way;
    }
    outside_work = td_lanes_sum(lanes, outside_work);
    force_work = young * td_lanes_sum(lanes, force_work);
    TD_SYNC(lanes);
    for (int a = lanes.lane; a < n; a += lanes.n)
        row[at->effort + a] = work->cable[TD_CABLE_NUMBERS * a + TD_CABLE_NEXT];
    if (lanes.lane == 0)
    {
        row[at->kinetic] = kinetic;
        row[at->elastic] = elastic;
        row[at->work] = outside_work;
        row[at->force_work] = force_work;
        row[at->known] = 2;
        row[at->steps] += 1;
    }
    TD_SYNC(lanes);
}

// ---------------------------------------------------------------- inputs, outputs

/// A row of inputs comes in.
TD_BOTH void td_robot_feed(const tdGpuPlan *plan, double *row, const double *inputs, int64_t stride,
                           const int32_t *chosen, int n)
{
    for (int k = 0; k < n; k++)
        row[plan->at.override_ + chosen[k]] = inputs[k * stride];
}

/// Kinetic energy; on a frame with the inertia of the present shape (reduce/floating.h).
TD_BOTH double td_robot_kinetic(const tdGpuPlan *plan, const char *tables, const double *row)
{
    const double *q = row + plan->at.q, *v = row + plan->at.v;
    const float *M = TD_GPU_TABLE(tables, plan, float, M);
    int r = plan->r, n = r + 1;
    double sum = 0;
    for (int i = 0; i < r; i++)
        for (int j = 0; j < r; j++)
            sum += 0.5 * row[plan->at.mass] * v[i] * M[i * TD_GPU_ROW(r) + j] * v[j];
    if (plan->frame == 0)
        return sum;
    const double *w = v + r + 3, *E = TD_GPU_ARRAY(plan, double, E), *D = TD_GPU_ARRAY(plan, double, D);
    const double square[6] = {w[0] * w[0], w[1] * w[1], w[2] * w[2], 2 * w[1] * w[2], 2 * w[2] * w[0], 2 * w[0] * w[1]};
    for (int i = 0; i < n; i++)
    {
        double z = i == 0 ? 1 : q[i - 1];
        for (int j = 0; j < n; j++)
        {
            for (int k = 0; k < 6; k++)
                sum += 0.5 * square[k] * z * E[((int64_t)k * n + i) * n + j] * (j == 0 ? 1 : q[j - 1]);
            for (int c = 0; c < 3 && j > 0; c++)
                sum += w[c] * z * D[((int64_t)c * n + i) * n + j] * v[j - 1];
        }
    }
    return sum + 0.5 * plan->body_mass * (v[r] * v[r] + v[r + 1] * v[r + 1] + v[r + 2] * v[r + 2]);
}

/// Coordinate c of a point that is seen, whose three rows begin at `rows`.
TD_BOTH double td_robot_seen(const tdGpuPlan *plan, const double *rows, const double *row, int c)
{
    const double *q = row + plan->at.q, *t = row + plan->at.turn;
    int r = plan->r;
    double y[3] = {0, 0, 0};
    for (int d = plan->frame == 0 ? c : 0; d <= (plan->frame == 0 ? c : 2); d++)
    {
        const double *x = rows + (int64_t)d * (1 + r);
        double sum = x[0];
        for (int j = 0; j < r; j++)
            sum += x[1 + j] * q[j];
        y[d] = sum;
    }
    if (plan->frame == 0)
        return y[c];
    // Turned by the quaternion t: y + 2 t x (t x y + t0 y).
    double a[3], b = t[0];
    for (int d = 0; d < 3; d++)
    {
        int e = (d + 1) % 3, f = (d + 2) % 3;
        a[d] = t[1 + e] * y[f] - t[1 + f] * y[e] + b * y[d];
    }
    int e = (c + 1) % 3, f = (c + 2) % 3;
    return plan->centre[c] + q[r + c] + y[c] + 2 * (t[1 + e] * a[f] - t[1 + f] * a[e]);
}

/// The row of outputs; NaN where `stopped`.
TD_BOTH void td_robot_outputs(const tdGpuPlan *plan, const char *tables, const double *row, const double *motion,
                              bool stopped, tdLanes lanes, double *to, int64_t stride)
{
    const tdGpuOutput *list = TD_GPU_TABLE(tables, plan, tdGpuOutput, output);
    const double *seen = TD_GPU_TABLE(tables, plan, double, seen), *q = row + plan->at.q, *v = row + plan->at.v;
    int r = plan->r;
    int64_t first = 0;
    for (int o = 0; o < plan->outputs; first += list[o++].count)
        for (int k = lanes.lane; k < list[o].count; k += lanes.n)
        {
            int index = list[o].index;
            double x = 0;
            switch (list[o].kind)
            {
            case TD_GPU_OUT_TIME: x = row[plan->at.steps] * plan->h; break;
            case TD_GPU_OUT_INPUT: x = td_robot_input(plan, row, motion, index); break;
            case TD_GPU_OUT_EFFORT: x = row[plan->at.effort + index]; break;
            case TD_GPU_OUT_DISPLACEMENT:
            {
                const tdGpuActuator *cable = TD_GPU_TABLE(tables, plan, tdGpuActuator, actuator) + index;
                x = td_robot_travel(plan, tables, cable, q) + cable->compliance * row[plan->at.effort + index];
                break;
            }
            case TD_GPU_OUT_COORDS: x = q[k]; break;
            case TD_GPU_OUT_RATES: x = v[k]; break;
            case TD_GPU_OUT_INDICATOR:
            case TD_GPU_OUT_ROM_ERROR:
            case TD_GPU_OUT_ELASTIC: continue;
            case TD_GPU_OUT_POINT:
                x = td_robot_seen(plan, seen + (int64_t)(index + k - k % 3) * (1 + r), row, k % 3);
                break;
            case TD_GPU_OUT_KINETIC: x = td_robot_kinetic(plan, tables, row); break;
            case TD_GPU_OUT_CONTACT: // by the body that is touched, or on it
                x = index >= 0 ? row[plan->at.touch + 3 * index + k] : -row[plan->at.touch + 3 * (-1 - index) + k];
                break;
            case TD_GPU_OUT_CONTACTS: x = row[plan->at.touch + 3 * plan->others]; break;
            case TD_GPU_OUT_PENETRATION: x = row[plan->at.touch + 3 * plan->others + 1]; break;
            }
            to[(first + k) * stride] = stopped ? NAN : x;
        }
}

/// Elastic energy of polynomials at Young's factor 1, the lanes' own part of it.
TD_BOTH double td_robot_polynomial_energy(const tdGpuPlan *plan, const double *q, tdLanes lanes)
{
    int r = plan->r, columns = 1 + r + TD_GPU_PAIRS(r);
    double sum = 0;
    for (int row = lanes.lane; row < TD_GPU_PAIRS(r); row += lanes.n)
    {
        const float *m = TD_GPU_ARRAY(plan, float, polynomial) + (int64_t)(row / TD_GPU_TILE) * columns * TD_GPU_TILE +
                         row % TD_GPU_TILE;
        int i = 0, c = 1 + r;
        while (TD_GPU_PAIRS(i + 1) <= row)
            i++;
        int j = row - TD_GPU_PAIRS(i);
        double P = m[0], y2 = 0, y3 = 0;
        for (int k = 0; k < r; k++)
            y2 += m[(1 + k) * TD_GPU_TILE] * q[k];
        for (int k = 0; k < r; k++)
            for (int l = 0; l <= k; l++, c++)
                y3 += m[(int64_t)c * TD_GPU_TILE] * ((l < k ? 2 : 1) * q[k] * q[l]);
        sum += (j < i ? 2 : 1) * q[i] * q[j] * (0.5 * P + y2 / 3 + 0.25 * y3);
    }
    return sum;
}

/// Outputs of the present shape that need its forces once more: the elastic energy, and whether the body is to be
/// trusted (reduce/reduced_check.c): forces of two choices of elements, and the displacements that their difference
/// would cause at rest. `g`: r numbers for all lanes.
TD_BOTH void td_robot_trust(const tdGpuPlan *plan, const char *tables, const double *row, bool stopped, tdLanes lanes,
                            double *g, double *to, int64_t stride)
{
    const tdGpuOutput *list = TD_GPU_TABLE(tables, plan, tdGpuOutput, output);
    const double *q = row + plan->at.q, *inverse = TD_GPU_ARRAY(plan, double, rest);
    int r = plan->r;
    double elastic = plan->polynomial != 0 ? td_lanes_sum(lanes, td_robot_polynomial_energy(plan, q, lanes)) : 0;
    for (int j = lanes.lane; j < r; j += lanes.n)
        g[j] = 0;
    for (int e = 0; e < plan->points + plan->check_points && !stopped; e++)
    {
        const float *B = TD_GPU_ARRAY(plan, float, B) + (int64_t)e * 9 * r, *F0 = TD_GPU_ARRAY(plan, float, F0) + 9 * e;
        const tdGpuPoint *point = TD_GPU_ARRAY(plan, tdGpuPoint, point) + e;
        float F[9], P[9];
        for (int c = 0; c < 9; c++)
        {
            double x = 0;
            for (int j = lanes.lane; j < r; j += lanes.n)
                x += B[c * r + j] * q[j];
            F[c] = (float)(F0[c] + td_lanes_sum(lanes, x));
        }
        double density = td_point_force(point, F, P), weight = e < plan->points ? -point->weight : point->weight;
        elastic += e < plan->points ? density * point->weight : 0;
        for (int j = lanes.lane; j < r; j += lanes.n)
        {
            double force = 0;
            for (int c = 0; c < 9; c++)
                force += (double)P[c] * B[c * r + j];
            g[j] += weight * force;
        }
    }
    TD_SYNC(lanes);
    double part = 0;
    for (int i = lanes.lane; i < r && plan->check_points > 0; i += lanes.n)
    {
        double x = 0;
        for (int j = 0; j < r; j++)
            x += inverse[i * r + j] * g[j];
        part += x * x;
    }
    double indicator = sqrt(td_lanes_sum(lanes, part));
    indicator = isfinite(indicator) ? indicator : INFINITY;
    for (int o = 0, first = 0; o < plan->outputs; first += list[o++].count)
        if (lanes.lane == 0 && list[o].kind >= TD_GPU_OUT_INDICATOR)
        {
            double x = list[o].kind == TD_GPU_OUT_ELASTIC     ? row[plan->at.young] * elastic
                       : list[o].kind == TD_GPU_OUT_INDICATOR ? indicator
                                                              : plan->offset + plan->slope * indicator;
            to[first * stride] = stopped ? NAN : x;
        }
}
