// SPDX-License-Identifier: Apache-2.0
// Tangents of four points made positive semi-definite at a time, by the eigenvalues that td_law_project (law.h) finds
// for one after the other. Included only by kernels.
#pragma once
#include "base/simd.h"
#include "material/law.h"

#define TD_PROJECT_SWEEPS 16

// a[p][q] becomes zero; the rotation goes into v too.
static inline void td_rotate9(td4 a[9][9], td4 v[9][9], int p, int q, td4 apq)
{
    td4i acts = td4_abs(apq) > td4_set(0);
    td4 theta = (a[q][q] - a[p][p]) / (2 * td4_select(acts, apq, td4_set(1)));
    td4 t = 1 / (td4_abs(theta) + td4_sqrt(theta * theta + 1));
    t = td4_select(acts, td4_select(theta >= td4_set(0), t, -t), td4_set(0));
    td4 c = 1 / td4_sqrt(t * t + 1), s = t * c;
    a[p][p] -= t * apq;
    a[q][q] += t * apq;
    a[p][q] = a[q][p] = td4_set(0);
    for (int k = 0; k < 9; k++)
    {
        td4 vp = v[k][p], vq = v[k][q];
        v[k][p] = c * vp - s * vq;
        v[k][q] = s * vp + c * vq;
        if (k == p || k == q)
            continue;
        td4 ap = a[k][p], aq = a[k][q];
        a[k][p] = a[p][k] = c * ap - s * aq;
        a[k][q] = a[q][k] = s * ap + c * aq;
    }
}

// Eigenvalues (diagonal of a) and vectors by cyclic Jacobi rotations.
static inline void td_jacobi9(td4 a[9][9], td4 v[9][9])
{
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++)
            v[i][j] = td4_set(i == j);
    for (int sweep = 0; sweep < TD_PROJECT_SWEEPS; sweep++)
    {
        td4 off = td4_set(0), diagonal = td4_set(0);
        for (int i = 0; i < 9; i++)
        {
            diagonal += a[i][i] * a[i][i];
            for (int j = 0; j < i; j++)
                off += a[i][j] * a[i][j];
        }
        if (!td4_any(off > 1e-26 * diagonal))
            return;
        for (int p = 0; p < 9; p++)
            for (int q = p + 1; q < 9; q++)
                if (td4_any(a[p][q] != td4_set(0)))
                    td_rotate9(a, v, p, q, a[p][q]);
    }
}

/// As td_law_project.
static inline int td_project4(double *D)
{
    td4 a[9][9], v[9][9], trace = td4_set(0);
    int changed = 0;
    for (int i = 0; i < 9; i++)
        for (int j = 0; j <= i; j++)
            a[i][j] = a[j][i] = td4_load(D + 4 * TD_PACKED(i, j));
    for (int i = 0; i < 9; i++)
        trace += td4_abs(a[i][i]);
    if (td4_any(~(td4i)(trace < td4_set(INFINITY)))) // one by one: a lane that is not finite must not spoil the others
        return td_law_project(D);
    td_jacobi9(a, v);
    for (int k = 0; k < 9; k++)
    {
        td4i bad = a[k][k] < -1e-12 * trace;
        if (!td4_any(bad))
            continue;
        for (int l = 0; l < 4; l++)
            changed |= bad[l] != 0 ? 1 << l : 0;
        td4 most = td4_select(bad, a[k][k], td4_set(0));
        for (int i = 0; i < 9; i++)
            for (int j = 0; j <= i; j++)
                td4_store(D + 4 * TD_PACKED(i, j), td4_load(D + 4 * TD_PACKED(i, j)) - most * v[i][k] * v[j][k]);
    }
    return changed;
}
