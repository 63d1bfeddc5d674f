// SPDX-License-Identifier: Apache-2.0
// Constitutive laws. A law gives, at four points at once,
//
//     psi(F)              energy density                                   [J/m^3]
//     P = d psi / d F     first Piola-Kirchhoff stress                      [Pa]
//     D = d P / d F       tangent, symmetric 9 x 9, lower triangle packed   [Pa]
//
// Arrays are structures of arrays: component c of lane l is at [4 c + l]; F is row-major, F[3 i + J].
// A law is a row in the table of law.c and one file *_kernel.c, compiled for each instruction set.
//
// Hyperelastic laws have the form psi = W(F) + U(J) with W free of volume change (a function of the
// invariants of J^(-2/3) C), and exist twice: in closed form in F, and by MJED (S3 section III-B),
// psi = sum f_k(J) g_k(I1, I2), where only ten numbers a point are the law's own and the rest is shared by
// all laws (see tdMjedKernel). Below J = TD_COMPRESSION every f_k(J) and U(J) goes on as its second-order
// Taylor polynomial there, so that flat and inverted elements stay finite with continuous tangents.
#pragma once
#include "base/isa.h"
#include "describe/scene.h"

#define TD_LAW_PARAMETERS 40
#define TD_COMPRESSION    0.1 // J below which a hyperelastic law is extended
#define TD_TANGENT        45  // entries of a packed symmetric 9 x 9 matrix

/// Place of D(i, j), i >= j, in the packed triangle.
#define TD_PACKED(i, j) ((i) * ((i) + 1) / 2 + (j))

/// Parameters of a hyperelastic law: the first two are common, its own follow (documented in its file), in the
/// order of td_law_names(), Ogden's after their number. Quadratic laws have mu, lambda and nothing else.
enum
{
    TD_PARAMETER_KAPPA,      // bulk modulus [Pa]; 0 leaves the change of volume to the element
    TD_PARAMETER_VOLUMETRIC, // a tdVolumetric
    TD_PARAMETER_OWN
};

/// R is the rotation (or, for TD_ROTATION_FIBRE, the constant fibre frame) of each point, NULL unless the law
/// asks for one. D may be NULL. Nothing but NaN or infinity in F makes a result that is not finite.
typedef void (*tdLawKernel)(const double *parameters, const double *F, const double *R, double *psi, double *P,
                            double *D);

/// By invariants of C, I1 = tr C and I2 = (I1^2 - tr C^2)/2, and J = det F, each four lanes:
/// W[0..8] = psi_1, psi_2, psi_J, psi_11, psi_12, psi_22, psi_1J, psi_2J, psi_JJ, each four lanes.
/// Second derivatives are written only when `second`.
typedef void (*tdMjedKernel)(const double *parameters, const double *I1, const double *I2, const double *J, double *psi,
                             double *W, bool second);

/// What laws by invariants share: I1, I2 and J of four gradients, and P and D (NULL: only P) from W[0..8].
/// invariants, mjed, expand gives what `kernel` gives; an element may fuse the last with its own sums.
typedef void (*tdMjedInvariants)(const double *F, double *I1, double *I2, double *J);
typedef void (*tdMjedExpand)(const double *F, const double *W, double *P, double *D);
tdMjedInvariants td_mjed_invariants(tdIsa isa);
tdMjedExpand td_mjed_expand(tdIsa isa);
void td_mjed_expand_portable(const double *F, const double *W, double *P, double *D); // for kernels: TD_ISA(...)
void td_mjed_expand_avx2(const double *F, const double *W, double *P, double *D);     // on x86-64 only
void td_mjed_invariants_portable(const double *F, double *I1, double *I2, double *J);
void td_mjed_invariants_avx2(const double *F, double *I1, double *I2, double *J);

/// U(J), U', U'' of the volumetric energy with its extension; for formulations that average J.
typedef void (*tdVolumetricFn)(const double *parameters, double J, double *U, double *dU, double *ddU);
void td_volumetric(const double *parameters, double J, double *U, double *dU, double *ddU);

typedef enum tdRotationUse
{
    TD_ROTATION_NONE,
    TD_ROTATION_CURRENT, // polar rotation of F itself
    TD_ROTATION_LAGGED,  // polar rotation at the start of the step (S5 section V-B)
    TD_ROTATION_FIBRE    // constant frame of the fibres, rows f, s, n
} tdRotationUse;

typedef struct tdLaw
{
    const char *name;
    tdRotationUse rotation;
    bool semidefinite; ///< D is positive semi-definite for every F
    bool constant;     ///< D does not depend on F
    bool split;        ///< psi = W(F) + U(J): mean dilatation and Prony series may be used
    /// From what the scene gives. Bad values are refused with the reason, naming scene file and line.
    tdStatus (*parameters)(const tdSceneMaterial *material, const char *file, double *parameters, tdError *error);
    tdLawKernel kernel[TD_ISAS]; ///< closed form in F
    tdMjedKernel mjed[TD_ISAS];  ///< by invariants, used by linear tetrahedra; NULL where the law has none (Ogden,
                                 ///< Costa, quadratic laws)
} tdLaw;

/// Names of the law's own parameters in the order of tdSceneMaterial.value; for Ogden those of as many terms
/// as there may be.
const char *const *td_law_names(tdLawKind kind, int *count);

/// Young's modulus and Poisson's ratio at small strain of compiled parameters; Voigt's averages where the law
/// is not isotropic.
void td_law_engineering(const tdLaw *law, const double *parameters, double *young, double *poisson);

/// Stretches around 1 over which the nominal stress grows with the stretch, pulled along one axis (the first
/// of the fibre frame) and along two alike; scanned where all principal stretches are in 0.1..10, laws with
/// `split` at constant volume. Returns 1 when that is less than the whole scan, so that a user may be warned.
int td_law_stable_range(const tdLaw *law, const double *parameters, double range[2]);

const tdLaw *td_law(tdLawKind kind);

/// Rotations R of four deformation gradients: the R with det R = 1 that is nearest to F.
typedef void (*tdPolarKernel)(const double *F, double *R);
tdPolarKernel td_polar(tdIsa isa);

/// Makes packed tangents positive semi-definite by clamping eigenvalues. Bit l of the result is set
/// when lane l was changed.
int td_law_project(double *D);
