// SPDX-License-Identifier: Apache-2.0
// Inside the convex solver: the factor of an island with sparse blocks (sap_sparse.c), and what its numbers become when
// some constraints change (sap_sparse_numbers.c).
#pragma once
#include "solve/linear.h"
#include "solve/sap_plan.h"
#include "solve/schur_tree.h"

#include <cholmod.h>

#define TD_SAP_WIDE    24 ///< columns of a row from which on it is a border
#define TD_SAP_BORDERS 64 ///< rows

typedef struct tdSapFactor
{
    struct tdSapFactor *next;
    cholmod_common common;
    cholmod_factor *factor;
    tdFactorPlan plan;
    int32_t n, *start, *row; ///< the structure that was analysed
    int64_t start_room, row_room, value_room, work_room;
    double *values, *work;
    tdArena arena; ///< of the next three
    tdTriangularShape shape;
    tdSubstitution substitution;
    tdSchurTree tree;
    tdTriangular triangular; ///< the factor in single precision
    tdSubstitutionSingle columns;
    int32_t *self;      ///< n: the unknown itself
    float *work_single; ///< of a factorization
    int64_t work_single_room;
    double *between; ///< n: scratch
    bool in_use;
    // of this solution
    const tdSapProblem *problem;
    tdStack *stack;
    const int32_t *from; ///< by entry of the members' A, one after the other: its place in the structure
    int n_borders;
    int32_t *borders;   ///< links
    double *Z;          ///< n a wide link
    double *HZ;         ///< the same: H Z
    double *HnZ;        ///< the same of narrow rows, where the factor is in single precision
    double *E;          ///< Z' H Z, factored
    double *C;          ///< G^-1 + J Z, factored
    double *small;      ///< 2 n_borders
    double *r, *p, *Hp; ///< n each
    tdTasks *tasks;     ///< of the last factor
    bool single;        ///< the factor was made in single precision
    bool exactly;       ///< none of this solution is to be made so any more
    bool rounded;       ///< the factor in single precision is that of the factor
    // The narrow rows that the numbers of the factor have, and what has changed since. Of this solution too.
    bool based;       ///< the factor is of this A
    bool changed;     ///< H is that of the factor and of what has changed
    int64_t changes;  ///< how often it was so, ever
    int64_t singles;  ///< factors in single precision, ever
    int64_t steps;    ///< of conjugate gradients, ever
    bool anew;        ///< changes were too much for it: the next one is to be made anew
    double *G;        ///< of each link, in the factor
    int32_t *mark;    ///< by place of the island: its number among those that W is known of, or -1
    int32_t n_places; ///< that W is known of: what has changed since the factor was made
    int32_t *places;  ///< where they stand in the order of the factor, ascending
    int32_t *at;      ///< in the island
    int64_t small_room, pivot_room, narrow_room;
    double *W, *LU, *y, *t; ///< over changed places
    float *narrow;          ///< W in single precision, then vectors
    int32_t n_moved;
    int32_t *moved; ///< links that have changed, whose places are all among these
    const tdSapIsland *island;
    double *change_room;
    int *pivots;
} tdSapFactor;

static inline bool td_sap_is_wide(const tdSapLink *link)
{
    return link->law->rows == 1 && link->patch.n > TD_SAP_WIDE;
}

/// Rows of column j of a block, from its diagonal on.
static inline int32_t td_sap_column_count(const tdSapBlock *block, int32_t j)
{
    return block->sparse != NULL ? block->sparse->start[j + 1] - block->sparse->start[j] : block->n - j;
}

/// Slope of a row that is a border.
static inline double td_sap_sparse_slope(const tdSapIsland *island, int32_t l)
{
    return island->G[(int64_t)TD_SAP_ROWS * TD_SAP_ROWS * l];
}

/// Of a row that is a border: J x, and x += times J'.
double td_sap_sparse_dot(const tdSapLink *link, const double *x);
void td_sap_sparse_add(const tdSapLink *link, double times, double *x);

/// y = H_n x, of what is there now.
void td_sap_sparse_multiply_narrow(const tdSapProblem *problem, const tdSapIsland *island, const double *x, double *y);

/// sap_sparse_change.c: H by what has changed since the factor was made. False: that does not pay.
bool td_sap_sparse_change(tdSapFactor *f, const tdSapIsland *island);
/// Nothing has changed.
void td_sap_sparse_forget(tdSapFactor *f);
/// x = H^-1 b to island->accuracy. Where steps do not do, x leads downhill still, and the next factor is made anew.
void td_sap_sparse_iterate(const tdSapIsland *island, const double *b, double *x);
