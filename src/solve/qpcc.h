// SPDX-License-Identifier: Apache-2.0
// What the two halves of the search by pieces share: qpcc.c goes from piece to piece, qpcc_piece.c finds the best y of
// one. See qpcc.c.
#pragma once
#include "solve/exact.h"
#include "solve/problem.h"

#define TD_QPCC_HOLDS 1e-7 // of sizes: a row that is nearer to its bound than this holds

/// Kinds of rows.
enum
{
    TD_QPCC_CLOSED,
    TD_QPCC_APART,
    TD_QPCC_CONE,
    TD_QPCC_SLIP
};

/// What is asked of the best y of a piece.
enum
{
    TD_QPCC_WITHIN = 0, // where the modes hold
    TD_QPCC_ANYWHERE = 1,
    TD_QPCC_SLACK = 2,  // efforts may press less
    TD_QPCC_GAINS = 4,  // only what gains is of interest
    TD_QPCC_ENERGY = 8, // the least energy is, even without a gain
    TD_QPCC_AGAIN = 16  // it is the base
};

// A row that keeps a contact in its mode.
typedef struct tdQpccRow
{
    int32_t contact;
    int kind;
    double violation; // of the y that would be best without it, relative to sizes
} tdQpccRow;

// A y with its solution.
typedef struct tdQpccSpot
{
    double *y, *gamma, *along;
    signed char *mode;
    tdSteerPlace place;
} tdQpccSpot;

typedef struct tdQpcc
{
    tdProblem *problem;
    tdSteer *steer;
    tdExact exact;
    tdTasks *tasks;
    tdSolveResult *result;
    tdError *error;
    double tolerance;
    double *y0, *v0, *next, *d;
    tdQpccSpot here, best, piece;                       // piece: the best y of the last one, by slopes
    double *u;                                          // there
    signed char *guess;                                 // working set of limits, of the piece of `here`
    tdQpccRow rows[TD_STEER_KEPT], held[TD_STEER_KEPT]; // of the piece; those that held in the last
    int n_held;
    tdSteerStep step; // to it
    int tried, most;
    double start, violation; // error of the first y; of its limits
    double size_u;           // of motion
    bool grown;              // contacts take part that did not before
    bool looked;             // `piece` is that of the last look
    bool based;              // the base of `exact` is the piece of `here`
    int32_t neighbour; // contact by which the next piece differs from the base of `exact`; -1: it is none of its own
} tdQpcc;

/// A row times a step.
double td_qpcc_along(const double *row, const double *d, int n);
/// Whether a gain is worth a step of its own.
bool td_qpcc_is_little(const tdQpcc *s, double gain);
/// What the owner reads, for the piece of `exact`.
void td_qpcc_show(const tdQpcc *s);
/// From steer->y in the modes of `exact`: the best y by slopes into `piece`; whether its modes hold there.
bool td_qpcc_look(tdQpcc *s, double reach, int how);
/// Rows that hold at the best y, the one first that is most in the way. Returns how many.
int td_qpcc_blocking(tdQpcc *s, tdQpccRow *out);
