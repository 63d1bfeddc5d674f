// SPDX-License-Identifier: Apache-2.0
// Homogeneous tests of a law at one point: what a testing machine would read.
//
//     uniaxial  F = diag(x, s2, s3)   sides free          planar  F = diag(x, 1, s)    pure shear, thickness free
//     biaxial   F = diag(x, x, s)     thickness free      shear   F = I + x e1 e2'     simple shear, all of F given
//
// The nominal stress (force by undeformed area) is P11, in shear P12. A compressible law's free stretches are
// those with no stress on the free sides, found by Newton inside a bracket. In the incompressible limit det F = 1
// gives them and the pressure p is eliminated: P - p F^-T has no stress on the free side.
// An anisotropic law is pulled along its fibre (x), with its sheet along y.
#pragma once
#include "material/law.h"

typedef enum tdTest
{
    TD_TEST_UNIAXIAL,
    TD_TEST_BIAXIAL,
    TD_TEST_PLANAR,
    TD_TEST_SHEAR,
    TD_TESTS
} tdTest;

/// A law with compiled parameters, and whether its volume is held constant.
typedef struct tdSpecimen
{
    const tdLaw *law;
    const double *parameters;
    bool incompressible;
} tdSpecimen;

/// "uniaxial", "biaxial", "planar", "shear"
const char *td_test_name(tdTest test);

/// Nominal stress [Pa] at the stretch x (in shear: the amount of shear). *F, when not NULL, gets the deformation
/// gradient. False when there is no state without stress on the free sides, as for laws that collapse.
bool td_response(const tdSpecimen *specimen, tdTest test, double x, double *stress, double F[9]);

/// The same at n points, faster. False when one of them has no answer.
bool td_responses(const tdSpecimen *specimen, int n, const tdTest *test, const double *x, double *stress);

/// Moduli at rest, from the tangent: shear and bulk modulus [Pa]. Isotropic laws; of others those along the fibre.
void td_response_moduli(const tdSpecimen *specimen, double *shear, double *bulk);

#define TD_RESPONSE_LOW   0.2 // least and largest stretch that td_response_stable() looks at; shear: 0 to the largest
#define TD_RESPONSE_HIGH  10.0
#define TD_RESPONSE_SHEAR 5.0

/// The interval about rest in which the nominal stress grows with the stretch, to about 1 %: beyond it a specimen
/// under dead load is unstable. Ends that reach the limits above are those limits.
void td_response_stable(const tdSpecimen *specimen, tdTest test, double range[2]);
