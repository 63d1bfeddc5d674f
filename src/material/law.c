// SPDX-License-Identifier: Apache-2.0
#include "material/parameters.h"

#include <math.h>
#include <stddef.h>

// The kernels of each instruction set that this machine's compiler knows.
#define DECLARE_ISA(name, isa)                                                                                         \
    void td_law_##name##_##isa(const double *parameters, const double *F, const double *R, double *psi, double *P,     \
                               double *D);
#define DECLARE_MJED_ISA(name, isa)                                                                                    \
    void td_mjed_##name##_##isa(const double *parameters, const double *I1, const double *I2, const double *J,         \
                                double *psi, double *W, bool second);
#if defined(__x86_64__)
#define DECLARE(name)      DECLARE_ISA(name, portable) DECLARE_ISA(name, avx2)
#define DECLARE_MJED(name) DECLARE_MJED_ISA(name, portable) DECLARE_MJED_ISA(name, avx2)
#define KERNELS(name)                                                                                                  \
    {                                                                                                                  \
        td_##name##_portable, td_##name##_avx2                                                                         \
    }
void td_polar_avx2(const double *F, double *R);
#else
#define DECLARE(name)      DECLARE_ISA(name, portable)
#define DECLARE_MJED(name) DECLARE_MJED_ISA(name, portable)
#define KERNELS(name)                                                                                                  \
    {                                                                                                                  \
        td_##name##_portable, td_##name##_portable                                                                     \
    }
#endif
void td_polar_portable(const double *F, double *R);

DECLARE(linear)
DECLARE(corotational)
DECLARE(corotational_lagged)
DECLARE(stvk)
DECLARE(neo_hookean)
DECLARE(mooney_rivlin)
DECLARE(ogden)
DECLARE(arruda_boyce)
DECLARE(veronda_westmann)
DECLARE(costa)
DECLARE_MJED(neo_hookean)
DECLARE_MJED(mooney_rivlin)
DECLARE_MJED(arruda_boyce)
DECLARE_MJED(veronda_westmann)

static const tdLaw laws[TD_LAWS] = {
    [TD_LAW_LINEAR] = {.name = "linear",
                       .semidefinite = true,
                       .constant = true,
                       .parameters = td_parameters_lame,
                       .kernel = KERNELS(law_linear)},
    [TD_LAW_COROTATIONAL] = {.name = "corotational",
                             .rotation = TD_ROTATION_CURRENT,
                             .parameters = td_parameters_lame,
                             .kernel = KERNELS(law_corotational)},
    [TD_LAW_COROTATIONAL_LAGGED] = {.name = "corotational_lagged",
                                    .rotation = TD_ROTATION_LAGGED,
                                    .semidefinite = true,
                                    .parameters = td_parameters_lame,
                                    .kernel = KERNELS(law_corotational_lagged)},
    [TD_LAW_STVK] = {.name = "stvk", .parameters = td_parameters_lame, .kernel = KERNELS(law_stvk)},
    [TD_LAW_NEO_HOOKEAN] = {.name = "neo_hookean",
                            .split = true,
                            .parameters = td_parameters_neo_hookean,
                            .kernel = KERNELS(law_neo_hookean),
                            .mjed = KERNELS(mjed_neo_hookean)},
    [TD_LAW_MOONEY_RIVLIN] = {.name = "mooney_rivlin",
                              .split = true,
                              .parameters = td_parameters_mooney_rivlin,
                              .kernel = KERNELS(law_mooney_rivlin),
                              .mjed = KERNELS(mjed_mooney_rivlin)},
    [TD_LAW_OGDEN] = {.name = "ogden", .split = true, .parameters = td_parameters_ogden, .kernel = KERNELS(law_ogden)},
    [TD_LAW_ARRUDA_BOYCE] = {.name = "arruda_boyce",
                             .split = true,
                             .parameters = td_parameters_arruda_boyce,
                             .kernel = KERNELS(law_arruda_boyce),
                             .mjed = KERNELS(mjed_arruda_boyce)},
    [TD_LAW_VERONDA_WESTMANN] = {.name = "veronda_westmann",
                                 .split = true,
                                 .parameters = td_parameters_veronda_westmann,
                                 .kernel = KERNELS(law_veronda_westmann),
                                 .mjed = KERNELS(mjed_veronda_westmann)},
    [TD_LAW_COSTA] = {.name = "costa",
                      .rotation = TD_ROTATION_FIBRE,
                      .split = true,
                      .parameters = td_parameters_costa,
                      .kernel = KERNELS(law_costa)},
};

const tdLaw *td_law(tdLawKind kind)
{
    return &laws[kind];
}

tdPolarKernel td_polar(tdIsa isa)
{
    static const tdPolarKernel kernels[TD_ISAS] = KERNELS(polar);
    return kernels[isa];
}

tdMjedInvariants td_mjed_invariants(tdIsa isa)
{
    static const tdMjedInvariants kernels[TD_ISAS] = KERNELS(mjed_invariants);
    return kernels[isa];
}

tdMjedExpand td_mjed_expand(tdIsa isa)
{
    static const tdMjedExpand kernels[TD_ISAS] = KERNELS(mjed_expand);
    return kernels[isa];
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
