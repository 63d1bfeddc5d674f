// SPDX-License-Identifier: Apache-2.0
// Primal active-set method for scaled problems of the kinds
//
//     min 1/2 |R x + q|²               (q given)      least squares, without squaring R's condition
//     min 1/2 x' H x + g' x, H = R'R   (q NULL)       R may carry the rounding of its factorization, H and g rule
//
// within lo <= (x, C x) <= hi, from a point that meets them. Each iteration minimizes on the working set: bounds fix
// unknowns, rows C are held by a QR factorization, what is left by a rank-revealing QR of R on their null space; all of
// it made anew, which for tens of unknowns costs less than it saves in lost digits.
#pragma once
#include "solve/qp.h"

typedef struct tdActiveSet
{
    // the problem
    int n, m, k;           ///< unknowns, rows of C, rows of R
    double *R;             ///< by columns of k; columns near unit length
    const double *q;       ///< k, or NULL
    const double *H, *g;   ///< n x n and n where q is NULL
    double *C;             ///< m x n by rows, each of unit length or zero
    double *lo, *hi;       ///< n + m, may be infinite
    double rank_tolerance; ///< columns of R on a null space shorter than this do not count
    int max_iterations;
    // the solution
    double *x;          ///< n; feasible on entry
    signed char *state; ///< n + m: working set, -1 held at lo, 1 at hi, 0 not held
    double *z;          ///< n + m: multipliers
    int iterations;     ///< added to
    // scratch
    double *y, *r, *gradient, *p, *cp; // C x, R x + q, of the objective, step, C p
    double *T, *tau_t;                 // QR of the held rows on the free unknowns, transposed
    double *M, *tau_m;                 // R on the free unknowns turned by Q of T; its null-space part factored
    double *V, *tau_v;                 // the row space of that, where its rank is short
    double *u, *w, *e, *c;
    int *free, *rows, *order;
    int n_free, n_rows, rank;
    bool *resting; // held constraints that came back at once: not released before x has moved
    double size;   // the largest unknown on the way
    double scale;  // of the gradient's terms
} tdActiveSet;

/// Room for n unknowns, m rows and k rows of R; R, C, lo, hi, x, state and z are taken too. False: no memory.
bool td_active_set_take(tdActiveSet *s, tdArena *arena, int n, int m, int k);

/// The minimum on the working set, whatever x violates: true where it meets all bounds, and x is moved there.
bool td_active_set_jump(tdActiveSet *s);

/// C x into y; the largest of y beyond its bounds relative to their rounding, so that up to 1 counts as met.
double td_active_set_excess(tdActiveSet *s, double tolerance);

/// From a feasible x. TD_QP_ITERATIONS also where the objective falls without bound.
tdQpStatus td_active_set_solve(tdActiveSet *s);

/// Multipliers of the working set at x by least squares.
void td_active_set_multipliers(tdActiveSet *s);
