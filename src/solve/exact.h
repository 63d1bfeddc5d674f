// SPDX-License-Identifier: Apache-2.0
// Signorini's and Coulomb's laws as they are, as a function of efforts, on the dual.
//
//     u = W gamma + b(y) - v_hat + R gamma,    b(y) = J v*(y),    db/dy = B = J X
//     open   gamma = 0,  u_n >= 0
//     stick  u = 0,  gamma_n >= 0,  |gamma_t| <= mu gamma_n
//     slide  u_n = 0,  gamma_t = -mu gamma_n u_t / |u_t|
//     box    lo <= gamma <= hi, u = 0 inside, >= 0 at lo, <= 0 at hi;    bilateral  u = 0
//
// R of the tangents of a contact is left out, as in simulations with these laws (TD_SOLVE_COULOMB). A choice of modes
// makes gamma a function of y that is linear, but for the direction in which contacts slide: a piece. Which modes hold
// at a y is found by Newton's method on the projections (P. Alart, A. Curnier 1991), where that does not arrive by
// Gauss-Seidel (nlcp.h).
#pragma once
#include "base/status.h"
#include "base/task.h"

struct tdProblem;

typedef enum tdExactMode
{
    TD_EXACT_OPEN,
    TD_EXACT_STICK,
    TD_EXACT_SLIDE
} tdExactMode;

/// Memory is that of the problem's stack.
typedef struct tdExact
{
    struct tdProblem *problem;
    int n, n_y;         ///< rows of the dual; efforts
    const double *y0;   ///< where v_star of the blocks was taken
    double *b0, *b, *B; ///< n, n, n x n_y
    double *R, *v_hat;  ///< n
    double *gamma, *u;  ///< n: of the last solution, or of the last piece
    double *slope;      ///< n x n_y: dgamma/dy of the last piece
    double *u_slope;    ///< n x n_y: du/dy
    signed char *mode;  ///< by row: of a contact in the first; of others -1 at lo, 0, 1 at hi
    double *along;      ///< 2 by constraint: direction of friction of those that slide
    bool converged;     ///< the last solution is one
    // scratch
    bool given;  ///< some impulse that is given is not zero
    int columns; ///< right-hand sides
    double *K, *right, *last;
    int *place, *rows, *pivots;
} tdExact;

/// For the efforts of problem->steer, at y0. Makes the dual.
tdStatus td_exact_begin(tdExact *exact, struct tdProblem *problem, const double *y0, tdError *error);
/// Laws of the problem are read anew at each y.
void td_exact_laws(tdExact *exact);
/// gamma, u and modes at y, from the last ones; iterations are added.
void td_exact_solve(tdExact *exact, const double *y, double tolerance, tdTasks *tasks, int *iterations);
/// gamma, u and their slopes at the y of the last solution in `mode`, from the state `gamma`, `u` given. False: these
/// modes have no solution of their own.
bool td_exact_piece(tdExact *exact, const double *y);
/// gamma and v_c of the problem.
void td_exact_write(const tdExact *exact);
/// v of the blocks.
tdStatus td_exact_move(tdExact *exact, tdError *error);
