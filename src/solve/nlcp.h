// SPDX-License-Identifier: Apache-2.0
// Contact with exact Coulomb friction on the dual, by Gauss-Seidel over the constraints (S3).
//
//     v_c = W gamma + b + R gamma           W = J A^-1 J', b = J v* - v_hat
//     contact     0 <= v_n _|_ gamma_n >= 0,   |gamma_t| <= mu gamma_n,   v_t = -lambda gamma_t with lambda >= 0, and 0
//                 inside the cone
//     bilateral   v_c = 0
//     box         lo <= gamma <= hi, v_c = 0 inside, >= 0 at lo, <= 0 at hi
//
// Against the convex problem (sap.h) a body that slides does not ride on a gap; in exchange there is no guarantee of
// convergence, nor of one solution. Each contact is solved exactly with the others held.
#pragma once
#include "base/memory.h"
#include "base/task.h"
#include "solve/sap_law.h"

/// R of the laws is a compliance on the diagonal; zero (rigid) is allowed here. v_hat is part of b and not read.
typedef struct tdNlcp
{
    int n_constraints;
    const tdSapLaw *laws;
    int n;           ///< rows of all constraints
    int stride;      ///< of W
    const double *W; ///< n x n symmetric positive semi-definite, row-major
    const double *b; ///< n
    double *gamma;   ///< n: on entry the warm start, then the solution
} tdNlcp;

typedef struct tdNlcpSettings
{
    double tolerance;   ///< change of v_c in a sweep, relative to the largest |b|
    int max_iterations; ///< sweeps
    tdTasks *tasks;     ///< asked now and then whether to go on; NULL: always
} tdNlcpSettings;

tdNlcpSettings td_default_nlcp(void);

typedef struct tdNlcpResult
{
    int iterations;
    bool converged;
    double residual; ///< largest violation of the laws, as a velocity, over the largest |b|
} tdNlcpResult;

/// velocity: n, receives v_c. Allocates nothing.
void td_nlcp_solve(const tdNlcp *problem, const tdNlcpSettings *settings, double *velocity, tdNlcpResult *result);

/// One contact: gamma such that W gamma + q obeys Signorini and Coulomb (W with the compliance on its diagonal).
void td_nlcp_contact(const double W[9], const double q[3], double mu, double gamma[3]);
