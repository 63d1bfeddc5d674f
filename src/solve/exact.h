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
#include "base/isa.h"
#include "base/status.h"
#include "base/task.h"

struct tdProblem;

typedef enum tdExactMode
{
    TD_EXACT_OPEN,
    TD_EXACT_STICK,
    TD_EXACT_SLIDE
} tdExactMode;

/// A piece that others are made from which differ in one contact.
typedef struct tdExactBase
{
    int m;
    double *K, *gamma, *u, *slope, *u_slope, *state;
    double *own;    ///< gamma and u at the y of the piece itself
    double *along;  ///< of friction, by constraint
    double *Z, *WZ; ///< n x 3: what impulses do when the equations of one contact are left open, and their motion
    signed char *mode;
    int *place, *rows, *pivots;
    int32_t contact; ///< whose Z it is; -1: none
} tdExactBase;

/// Memory is that of the problem's stack.
typedef struct tdExact
{
    struct tdProblem *problem;
    int n, n_y;         ///< rows of the dual; efforts
    int32_t n_in, *in;  ///< constraints that take part; the others are contacts that do not come near
    bool *takes_part;   ///< by constraint
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
    tdIsa isa;
    double *apart;          ///< by constraint: motion of those that do not bear
    bool given;             ///< some impulse that is given is not zero
    int columns;            ///< right-hand sides
    int m;                  ///< rows of K
    double *K, *right;      ///< factors of the last piece
    bool has_factor;        ///< they are there
    signed char *factored;  ///< its modes
    double *factored_along; ///< and directions of sliding
    double *miss;           ///< what equations lack
    double *last;           ///< impulses before it
    double *state;          ///< 3 by constraint, of the state that directions of sliding are linear about: t, gamma_n
    double *part;           ///< columns of W
    int *place, *rows, *pivots;
    tdExactBase base; ///< of neighbours
} tdExact;

/// For the efforts of problem->steer, at y0. Makes the dual.
tdStatus td_exact_begin(tdExact *exact, struct tdProblem *problem, const double *y0, tdError *error);
/// With impulses to start from, only contacts that bear or come near take part. The others, at the velocities of the
/// blocks: whether some of them are in the way; they take part from now on, and the problem is to be solved again.
tdStatus td_exact_grow(tdExact *exact, bool *grown, tdError *error);
/// Laws of the problem are read anew at each y.
void td_exact_laws(tdExact *exact);
/// gamma, u and modes at y, from the last ones; iterations are added.
void td_exact_solve(tdExact *exact, const double *y, double tolerance, tdTasks *tasks, int *iterations);
/// gamma, u and their slopes at the y of the last solution in `mode`, from the state `gamma`, `u` given. False: these
/// modes have no solution of their own.
bool td_exact_piece(tdExact *exact, const double *y);
/// The last piece becomes the base of its neighbours, at another y of it, where impulses and motion are these.
void td_exact_keep(tdExact *exact, const double *gamma, const double *u);
/// The piece that is the base, as it was.
void td_exact_recall(tdExact *exact);
/// The same as td_exact_piece at that y, for modes that differ from the base's in contact c only, at a
/// fraction of the cost: the equations of all others stand, those of c are three.
bool td_exact_neighbour(tdExact *exact, int32_t c);
/// gamma and v_c of the problem.
void td_exact_write(const tdExact *exact);
/// v of the blocks.
tdStatus td_exact_move(tdExact *exact, tdError *error);
