// SPDX-License-Identifier: Apache-2.0
// The response of points, four at a time, whatever gives their deformation gradients: the thickness of a triangle, and
// the pressure of elements whose change of volume is averaged. Included only by *_kernel.c.
#pragma once
#include "body/element.h"

#define TD_THROUGH_PASSES 40 // of the iteration for P n = 0

// ---------------------------------------------------------------- thickness of a triangle

// M = D n, S = n . D . n and its inverse times the determinant (symmetric: 00 10 11 20 21 22).
static inline void td_through_parts(const double *D, const td4 n[3], td4 M[9][3], td4 inverse[6])
{
    td4 S[3][3];
    td_contract(D, n, M);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            S[i][k] = n[0] * M[3 * i][k] + n[1] * M[3 * i + 1][k] + n[2] * M[3 * i + 2][k];
    td4 c00 = S[1][1] * S[2][2] - S[1][2] * S[2][1], c10 = S[1][2] * S[2][0] - S[1][0] * S[2][2],
        c20 = S[1][0] * S[2][1] - S[1][1] * S[2][0];
    td4 det = S[0][0] * c00 + S[0][1] * c10 + S[0][2] * c20;
    inverse[0] = c00 / det;
    inverse[1] = c10 / det;
    inverse[2] = (S[0][0] * S[2][2] - S[0][2] * S[2][0]) / det;
    inverse[3] = c20 / det;
    inverse[4] = (S[0][1] * S[2][0] - S[0][0] * S[2][1]) / det;
    inverse[5] = (S[0][0] * S[1][1] - S[0][1] * S[1][0]) / det;
}

static inline void td_times_symmetric(const td4 A[6], const td4 x[3], td4 y[3])
{
    y[0] = A[0] * x[0] + A[1] * x[1] + A[3] * x[2];
    y[1] = A[1] * x[0] + A[2] * x[1] + A[4] * x[2];
    y[2] = A[3] * x[0] + A[4] * x[1] + A[5] * x[2];
}

// D - M S^-1 M'
static inline void td_condense_through(const td4 n[3], double *D)
{
    td4 M[9][3], inverse[6], Y[9][3];
    td_through_parts(D, n, M, inverse);
    for (int r = 0; r < 9; r++)
        td_times_symmetric(inverse, M[r], Y[r]);
    for (int r = 0; r < 9; r++)
        for (int c = 0; c <= r; c++)
        {
            double *to = D + 4 * TD_PACKED(r, c);
            td4_store(to, td4_load(to) - (Y[r][0] * M[c][0] + Y[r][1] * M[c][1] + Y[r][2] * M[c][2]));
        }
}

static inline void td_law_at(const tdElementWork *work, int64_t point, const double *F, double *psi, double *P,
                             double *D)
{
    work->law(work->parameters, F, td_rotation_at(work, point), psi, P, D);
    if (work->H != NULL)
        td_add_history(work->gamma, work->H + 24 * point, F, psi, P, D);
}

// F += f3 (x) n with P n = 0. The first guess keeps the volume and depends on the other two columns only, so
// that f3 is a function of the state; a step changes it by at most a half. Where the iteration fails, f3 is
// not finite, so that the element is reported.
static inline void td_solve_through(const tdElementWork *work, int64_t point, const td4 n[3], td4 F[9])
{
    _Alignas(64) double Fs[36], psi[4], P[36], D[4 * TD_TANGENT];
    td4 cof[9], f3[3], flat[9], change = td4_set(0);
    memcpy(flat, F, sizeof flat);
    td_cofactor(F, cof);
    for (int i = 0; i < 3; i++)
        f3[i] = cof[3 * i] * n[0] + cof[3 * i + 1] * n[1] + cof[3 * i + 2] * n[2];
    td4 area = f3[0] * f3[0] + f3[1] * f3[1] + f3[2] * f3[2];
    for (int i = 0; i < 3; i++)
        f3[i] = f3[i] / area;
    for (int pass = 0; pass < TD_THROUGH_PASSES; pass++)
    {
        for (int c = 0; c < 9; c++)
            F[c] = flat[c] + f3[c / 3] * n[c % 3];
        td_store9(F, Fs);
        // For a normal f3 the rotation does not depend on its length.
        if (pass == 0 && work->polar != NULL)
            work->polar(Fs, work->R + 36 * point);
        td_law_at(work, point, Fs, psi, P, D);
        td4 M[9][3], inverse[6], r[3], d[3];
        td_through_parts(D, n, M, inverse);
        for (int i = 0; i < 3; i++)
            r[i] = td4_load(P + 12 * i) * n[0] + td4_load(P + 12 * i + 4) * n[1] + td4_load(P + 12 * i + 8) * n[2];
        td_times_symmetric(inverse, r, d);
        td4 size = td4_sqrt(f3[0] * f3[0] + f3[1] * f3[1] + f3[2] * f3[2]),
            way = td4_sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        td4 share = td4_select(way > 0.5 * size, 0.5 * size / way, td4_set(1));
        for (int i = 0; i < 3; i++)
            f3[i] -= share * d[i];
        change = way / size;
        bool done = true;
        for (int l = 0; l < 4; l++)
            done = done && !(change[l] > 1e-14);
        if (done)
            break;
    }
    td4 good = td4_select(change < 1e-6, td4_set(0), td4_set((double)NAN));
    for (int c = 0; c < 9; c++)
        F[c] = flat[c] + (f3[c / 3] + good) * n[c % 3];
}

// ---------------------------------------------------------------- mean dilatation

// The element's part: U'(Jbar) a point, U''(Jbar)/V for the outer product of dV/dx.
typedef struct tdDilatation
{
    td4 energy, pressure, stiffness;
} tdDilatation;

static inline tdDilatation td_mean_dilatation(const tdElementWork *work, int64_t first, int n_points)
{
    const tdElements *block = work->block;
    td4 volume = td4_set(0), present = td4_set(0);
    tdDilatation out;
    for (int p = 0; p < n_points; p++)
    {
        td4 F[9], w = td4_load(block->weight + 4 * (first + p));
        td_load9(work->F + 36 * (first + p), F);
        volume += w;
        present += w * td_det(F);
    }
    for (int l = 0; l < 4; l++)
    {
        double U = 0, dU = 0, ddU = 0;
        if (volume[l] > 0)
            td_volumetric(block->material.parameters, present[l] / volume[l], &U, &dU, &ddU);
        out.energy[l] = volume[l] * U;
        out.pressure[l] = dU;
        out.stiffness[l] = volume[l] > 0 ? ddU / volume[l] : 0;
    }
    return out;
}

// At rest, of elements with this volume.
static inline td4 td_rest_bulk(const tdElements *block, td4 volume)
{
    double U, dU, ddU;
    td_volumetric(block->material.parameters, 1, &U, &dU, &ddU);
    return td4_select(volume > td4_set(0), td4_set(ddU) / volume, td4_set(0));
}

// P += U' cof F, D += U' d(cof F)/dF; returns cof F.
static inline void td_add_pressure(const double *F_in, td4 pressure, double *P, double *D, td4 cof[9])
{
    td4 F[9];
    td_load9(F_in, F);
    td_cofactor(F, cof);
    for (int c = 0; c < 9; c++)
        td4_store(P + 4 * c, td4_load(P + 4 * c) + pressure * cof[c]);
    for (int i = 0; i < 9 && D != NULL; i++)
        for (int j = 0; j < i; j++)
        {
            // d cof_rs / d F_tu = e_rtm e_sun F_mn
            int r = i / 3, s = i % 3, t = j / 3, u = j % 3;
            if (r == t || s == u)
                continue;
            int m = 3 - r - t, n = 3 - s - u;
            bool plus = ((t - r + 3) % 3 == 1) == ((u - s + 3) % 3 == 1);
            double *to = D + 4 * TD_PACKED(i, j);
            td4 term = pressure * F[3 * m + n];
            td4_store(to, plus ? td4_load(to) + term : td4_load(to) - term);
        }
}
