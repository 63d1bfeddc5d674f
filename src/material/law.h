// SPDX-License-Identifier: Apache-2.0
// Constitutive laws. A law gives, at four points at once,
//
//     psi(F)              energy density                                   [J/m^3]
//     P = d psi / d F     first Piola-Kirchhoff stress                      [Pa]
//     D = d P / d F       tangent, symmetric 9 x 9, lower triangle packed   [Pa]
//
// Arrays are structures of arrays: component c of lane l is at [4 c + l]; F is row-major, F[3 i + J].
// A law is a row in the table of law.c and one file *_kernel.c, compiled for each instruction set.
#pragma once
#include "base/isa.h"
#include "scene/scene.h"

#define TD_LAW_PARAMETERS 8
#define TD_TANGENT        45 // entries of a packed symmetric 9 x 9 matrix

/// Place of D(i, j), i >= j, in the packed triangle.
#define TD_PACKED(i, j) ((i) * ((i) + 1) / 2 + (j))

/// R is the rotation of each point (NULL unless the law asks for it). D may be NULL. A point that the
/// law cannot evaluate (J <= 0 for neo-Hookean) gets psi = NaN.
typedef void (*tdLawKernel)(const double *parameters, const double *F, const double *R, double *psi, double *P,
                            double *D);

typedef enum tdRotationUse
{
    TD_ROTATION_NONE,
    TD_ROTATION_CURRENT, // polar rotation of F itself
    TD_ROTATION_LAGGED   // polar rotation at the start of the step (S5 section V-B)
} tdRotationUse;

typedef struct tdLaw
{
    const char *name;
    tdRotationUse rotation;
    bool semidefinite; ///< D is positive semi-definite for every F
    bool constant;     ///< D does not depend on F
    bool needs_volume; ///< not defined for J <= 0
    void (*parameters)(const tdSceneMaterial *material, double *parameters);
    tdLawKernel kernel[TD_ISAS];
} tdLaw;

const tdLaw *td_law(tdLawKind kind);

/// Rotations R of four deformation gradients: the R with det R = 1 that is nearest to F.
typedef void (*tdPolarKernel)(const double *F, double *R);
tdPolarKernel td_polar(tdIsa isa);

/// Makes packed tangents positive semi-definite by clamping eigenvalues. Bit l of the result is set
/// when lane l was changed.
int td_law_project(double *D);
