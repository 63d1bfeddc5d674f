// SPDX-License-Identifier: Apache-2.0
// The inverse problem of one linearization (S4): unknowns of the actuators that bring effectors to their targets.
//
//     delta_e = E x + e0          weighted errors of the effectors, linear in the unknowns x (E is S4's Wea)
//     energy  = 1/2 x' W x        of deformation (S4's Waa)
//     xl <= x <= xu,  cl <= C x <= cu      bounds on efforts, displacements, their rates; groups (cl = cu)
//
// null_space: the least |delta_e|, and among the x that attain it the least energy (two QPs).
// levels:     the same for the rows of the first level, then for the others with the image of those before held.
// s4:         min 1/2 x' (E'E + eps W) x + x' E' e0,  eps = epsilon |E'E|_inf / |W|_inf: biased by about eps.
// Gauss-Seidel (S4 eq. 6-10): one actuator after the other moves along what it can do for all effectors, within
// its bounds. Rows C with several unknowns are kept by clipping each move, which may stop short of the optimum.
#pragma once
#include "describe/scene.h"
#include "solve/qp.h"

typedef struct tdInverse
{
    int n_a, n_e, n_c;
    const double *E, *e0; ///< n_e x n_a row-major, n_e
    const double *W;      ///< n_a x n_a, symmetric positive semi-definite
    const double *xl, *xu;
    const double *C, *cl, *cu; ///< n_c x n_a
    const int *level;          ///< n_e: rows of a lower one come first, the others among what is left; NULL: all alike
    tdEnergyMode energy;
    tdInverseSolver solver;
    bool reach_only;    ///< null_space: an x of nearly the least |delta_e| (dual_set.h), not that of least energy
    bool or_nothing;    ///< of that: bounds that contradict each other are all there is to know of it
    bool near;          ///< null_space: begins with that x, whatever the working set on entry
    double epsilon;     ///< s4, relative
    int max_iterations; ///< hard bound, of each QP or of sweeps; 0: default
    double tolerance;   ///< |delta_e| up to this counts as reached
} tdInverse;

typedef struct tdInverseResult
{
    tdQpStatus status;
    int iterations;
    double residual;     ///< |E x + e0|
    double stationarity; ///< largest violation of the optimality conditions of the (first) problem, each scaled to 1
    double violation;    ///< of the rows C, when they cannot be met
    bool out_of_reach;   ///< residual > tolerance
    double *x;           ///< n_a; on entry the warm start
    signed char *active; ///< n_a + n_c: as in tdQpSolution; on entry the warm start
} tdInverseResult;

typedef struct tdInverseWork tdInverseWork;
tdInverseWork *td_inverse_work(tdArena *arena, int n_a, int n_e, int n_c);
void td_inverse_solve(const tdInverse *problem, tdInverseWork *work, bool warm, tdInverseResult *result);
