// SPDX-License-Identifier: Apache-2.0
#include "material/law.h"

#include <math.h>
#include <stddef.h>

// The kernels of each instruction set that this machine's compiler knows.
#define DECLARE_ISA(name, isa)                                                                                         \
    void name##_##isa(const double *parameters, const double *F, const double *R, double *psi, double *P, double *D);
#if defined(__x86_64__)
#define DECLARE(name) DECLARE_ISA(name, portable) DECLARE_ISA(name, avx2)
#define KERNELS(name)                                                                                                  \
    {                                                                                                                  \
        name##_portable, name##_avx2                                                                                   \
    }
void td_polar_avx2(const double *F, double *R);
#else
#define DECLARE(name) DECLARE_ISA(name, portable)
#define KERNELS(name)                                                                                                  \
    {                                                                                                                  \
        name##_portable, name##_portable                                                                               \
    }
#endif
void td_polar_portable(const double *F, double *R);

DECLARE(td_law_linear)
DECLARE(td_law_corotational)
DECLARE(td_law_corotational_lagged)
DECLARE(td_law_stvk)
DECLARE(td_law_neo_hookean)

// mu and lambda, the Lame constants.
static void lame_parameters(const tdSceneMaterial *material, double *parameters)
{
    double young = material->young, poisson = material->poisson;
    parameters[0] = young / (2 * (1 + poisson));
    parameters[1] = young * poisson / ((1 + poisson) * (1 - 2 * poisson));
}

// mu and kappa, the moduli of shear and volume.
static void shear_bulk_parameters(const tdSceneMaterial *material, double *parameters)
{
    parameters[0] = material->young / (2 * (1 + material->poisson));
    parameters[1] = material->young / (3 * (1 - 2 * material->poisson));
}

static const tdLaw laws[TD_LAWS] = {
    [TD_LAW_LINEAR] = {"linear", TD_ROTATION_NONE, true, true, false, lame_parameters, KERNELS(td_law_linear)},
    [TD_LAW_COROTATIONAL] = {"corotational", TD_ROTATION_CURRENT, false, false, false, lame_parameters,
                             KERNELS(td_law_corotational)},
    [TD_LAW_COROTATIONAL_LAGGED] = {"corotational_lagged", TD_ROTATION_LAGGED, true, false, false, lame_parameters,
                                    KERNELS(td_law_corotational_lagged)},
    [TD_LAW_STVK] = {"stvk", TD_ROTATION_NONE, false, false, false, lame_parameters, KERNELS(td_law_stvk)},
    [TD_LAW_NEO_HOOKEAN] = {"neo_hookean", TD_ROTATION_NONE, false, false, true, shear_bulk_parameters,
                            KERNELS(td_law_neo_hookean)},
};

const tdLaw *td_law(tdLawKind kind)
{
    return &laws[kind];
}

tdPolarKernel td_polar(tdIsa isa)
{
#if defined(__x86_64__)
    if (isa == TD_ISA_AVX2)
        return td_polar_avx2;
#endif
    (void)isa;
    return td_polar_portable;
}

// Eigenvalues and vectors of a symmetric 9 x 9 matrix by cyclic Jacobi rotations. a becomes diagonal.
static void jacobi9(double a[9][9], double v[9][9])
{
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++)
            v[i][j] = i == j;
    for (int sweep = 0; sweep < 30; sweep++)
    {
        double off = 0, diagonal = 0;
        for (int i = 0; i < 9; i++)
        {
            diagonal += a[i][i] * a[i][i];
            for (int j = 0; j < i; j++)
                off += a[i][j] * a[i][j];
        }
        if (!(off > 1e-30 * diagonal))
            return;
        for (int p = 1; p < 9; p++)
            for (int q = 0; q < p; q++)
            {
                if (a[p][q] == 0)
                    continue;
                double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
                double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < 9; k++)
                {
                    double akp = a[k][p], akq = a[k][q];
                    a[k][p] = c * akp - s * akq;
                    a[k][q] = s * akp + c * akq;
                }
                for (int k = 0; k < 9; k++)
                {
                    double apk = a[p][k], aqk = a[q][k], vkp = v[k][p], vkq = v[k][q];
                    a[p][k] = c * apk - s * aqk;
                    a[q][k] = s * apk + c * aqk;
                    v[k][p] = c * vkp - s * vkq;
                    v[k][q] = s * vkp + c * vkq;
                }
            }
    }
}

// A Cholesky attempt on D + shift tells whether the lane needs the eigenvalues at all.
static bool is_semidefinite(double a[9][9], double shift)
{
    double l[9][9];
    for (int i = 0; i < 9; i++)
        for (int j = 0; j <= i; j++)
        {
            double sum = a[i][j] + (i == j ? shift : 0);
            for (int k = 0; k < j; k++)
                sum -= l[i][k] * l[j][k];
            if (i > j)
                l[i][j] = sum / l[j][j];
            else if (!(sum > 0))
                return false;
            else
                l[i][i] = sqrt(sum);
        }
    return true;
}

int td_law_project(double *D)
{
    int changed = 0;
    for (int lane = 0; lane < 4; lane++)
    {
        double a[9][9], v[9][9], trace = 0;
        for (int i = 0; i < 9; i++)
            for (int j = 0; j <= i; j++)
                a[i][j] = a[j][i] = D[4 * TD_PACKED(i, j) + lane];
        for (int i = 0; i < 9; i++)
            trace += fabs(a[i][i]);
        if (!isfinite(trace) || is_semidefinite(a, 1e-12 * trace))
            continue;
        jacobi9(a, v);
        changed |= 1 << lane;
        for (int i = 0; i < 9; i++)
            for (int j = 0; j <= i; j++)
            {
                double sum = 0;
                for (int k = 0; k < 9; k++)
                    sum += v[i][k] * fmax(a[k][k], 0) * v[j][k];
                D[4 * TD_PACKED(i, j) + lane] = sum;
            }
    }
    return changed;
}
