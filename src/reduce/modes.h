// SPDX-License-Identifier: Apache-2.0
// Vibration modes of a soft body at rest, their derivatives, and bases made of both (Barbic and James 2005; Idelsohn
// and Cardona 1985).
//
//     K psi_i = lambda_i M psi_i,   psi_i' M psi_j = delta_ij,   lambda = omega^2
//     K psi_ij = -(dK/du : psi_j) psi_i
//
// psi_ij is how mode i bends when mode j is there: under the load sum_i p_i lambda_i M psi_i the body takes the shape
// u = sum psi_i p_i + 1/2 sum psi_ij p_i p_j + O(p^3). It is symmetric, as K is the second derivative of an energy.
//
// Modes by Lanczos' method with restarts (ARPACK) on (K - sigma M)^-1 M with the body's own solver. A body that is held
// has sigma = 0. One that is free in some of its rigid motions has sigma slightly below 0, so that K - sigma M is
// positive definite; its rigid modes are known beforehand and kept out of everything by projection. Any law: K is the
// tangent at rest (of viscoelastic materials that of a sudden load), its derivative a difference along a mode, which is
// exact for St. Venant-Kirchhoff. ARPACK keeps its state in static variables: calls in several threads wait for each
// other.
// Where multigrid stands for the factor, a block of vectors is iterated with it as preconditioner (modes_block.h).
#pragma once
#include "base/memory.h"
#include "base/task.h"
#include "core/model.h"

struct tdSoft;

typedef struct tdModesSettings
{
    int modes;       ///< elastic ones, the lowest
    int derivatives; ///< of all pairs of the first so many; 0: none
    double memory;   ///< [bytes] that modes and derivatives may take
} tdModesSettings;
tdModesSettings td_default_modes(void);

/// Vectors are over the body's coordinates, n apart; zero where these are held.
typedef struct tdModes
{
    tdArena arena;
    int64_t n;
    int n_rigid;
    double *rigid; ///< orthonormal by mass, as psi is to them
    int k;
    double *lambda; ///< k, ascending [1/s^2]
    double *psi;
    int k2;
    double *derived; ///< psi_ij, i <= j < k2, at column j (j + 1) / 2 + i; of a free body without rigid part
    double residual; ///< largest |K psi - lambda M psi| / |K psi|
    double shift;    ///< sigma
    int solves;
} tdModes;

/// Of a body of full order. The model is not changed.
tdStatus td_modes(const tdModel *model, int body, const tdSettings *settings, const tdModesSettings *wanted,
                  tdModes *out, tdError *error);
void td_modes_free(tdModes *modes);
double td_modes_frequency(double lambda); ///< [Hz]

/// y = M x over the body's coordinates; held ones are zero in y.
void td_modes_mass(const struct tdSoft *soft, tdTasks *tasks, const double *x, double *y);

/// p such that the largest displacement of p psi_1 is `amplitude` [m]; NAN: a fifth of the body's size; 0: p = 1.
double td_modes_amplitude(const tdModes *modes, const struct tdSoft *soft, double amplitude);

typedef enum tdOrthonormal
{
    TD_ORTHONORMAL_MASS, // U' M U = I
    TD_ORTHONORMAL_PLAIN // U' U = I
} tdOrthonormal;

/// The r directions that matter most, by principal components in the norm of the mass, of
///
///     (lambda_1 / lambda_i) psi_i    and    p (lambda_1^2 / (lambda_i lambda_j)) psi_ij
///
/// p is the amplitude at which derivatives are weighed against modes: such that the largest displacement of p psi_1 is
/// `amplitude` [m]; with p = 1 (amplitude 0) the choice would depend on the unit of length. NAN: a fifth of the body's
/// size. U is n x r row-major; sigma (r numbers, may be NULL) gets the singular values. Columns have their largest
/// entry positive. r beyond the independent directions is refused with their number.
tdStatus td_modes_basis(const tdModes *modes, const struct tdSoft *soft, tdTasks *tasks, int r, double amplitude,
                        tdOrthonormal kind, double *U, double *sigma, tdError *error);
