// SPDX-License-Identifier: Apache-2.0
// A rigid frame that carries the modes of a body that nothing holds,
//
//     q = x + R (Y0 + Phi alpha) = x + R y,    Y0 = q0 - centre of mass,    y = sum_i z_i Y_i,   z = (1, alpha)
//
// with modes that do not move the centre of mass, so that x is that centre whatever the shape. The mass enters through
// integrals that are made once: with w the angular velocity in the frame and a = d alpha/dt,
//
//     T = 1/2 m |v|^2 + 1/2 w'J w + w'C a + 1/2 a'M a
//     J_k = z'E_k z     E_k from int rho (|Y_i . Y_j| I - Y_i Y_j')      k = xx, yy, zz, yz, zx, xy
//     C_cj = sum_i z_i D_c,ij     D_c,ij = int rho (Y_i x Y_j)_c
//
// Derivation: docs/theory/frame.md. Coordinates are (alpha, x - centre at rest, theta) with the rotation vector theta
// against a reference, R = R_ref exp(theta); velocities (a, v, w). After each step theta goes into R_ref.
#pragma once
#include "base/memory.h"
#include "base/status.h"

#define TD_FLOATING 6 // coordinates of a frame

struct tdSoft;

/// Constant part. All matrices have r + 1 columns.
typedef struct tdFloating
{
    int r;
    double centre[3]; ///< of mass, at rest
    double mass;
    double *E; ///< 6 matrices, symmetric
    double *D; ///< 3, antisymmetric
    // Dead loads, the weight first: sum f, and (r + 1) x 9 with sum over nodes of Y_i,a f_b at 9 i + 3 a + b.
    int n_loads;
    double *force;
    double *moment;
} tdFloating;

/// Where the frame stands.
typedef struct tdFramePose
{
    double R[9]; ///< R_ref E
    double E[9]; ///< exp(theta)
    double T[9]; ///< turn of the frame, in its own axes, by d theta: exp(theta + d theta) = exp(theta) exp(T d theta)
} tdFramePose;

/// J, C and what their derivatives need, at some alpha.
typedef struct tdInertia
{
    double J[9];
    double *C;  ///< 3 x r
    double *Ez; ///< 6 x (r + 1)
    double *z;  ///< r + 1
} tdInertia;

/// basis: 3 n_nodes x stride, columns [0, r): modes, from which translations are taken away; rest: positions of nodes.
/// lumped: weights of the nodes where the body has no mass.
tdStatus td_floating_create(tdArena *arena, const struct tdSoft *soft, int r, int stride, double *basis,
                            tdFloating *out, tdError *error);
/// Adds a dead load f (3 n_nodes); there must be room.
void td_floating_add_load(const struct tdSoft *soft, int stride, const double *basis, const double *f,
                          tdFloating *floating);

tdStatus td_inertia_take(tdArena *arena, int r, tdInertia *out, tdError *error);
void td_inertia_at(const tdFloating *floating, const double *alpha, tdInertia *out);
/// l = J w + C a and p = M a + C'w for v = (a, velocity, w); M: rows `stride` apart.
void td_inertia_momentum(const tdInertia *inertia, int r, const double *M, int stride, const double *v, double l[3],
                         double *p);
/// out = dT/dalpha; coriolis (NULL: not wanted) = the part w . D a of it, which is also -d(C'w)/dt at constant w.
void td_inertia_slope(const tdFloating *floating, const tdInertia *inertia, const double *v, double *out,
                      double *coriolis);
/// out = dJ/dt w
void td_inertia_change(const tdInertia *inertia, int r, const double *v, double out[3]);

void td_frame_pose_at(const double reference[4], const double theta[3], tdFramePose *out);
/// reference <- reference exp(theta)
void td_pose_turn(double reference[4], const double theta[3]);
/// out = A x and out = A'x; out is not x.
void td_mat3_apply(const double A[9], const double x[3], double out[3]);
void td_mat3_back(const double A[9], const double x[3], double out[3]);
