// SPDX-License-Identifier: Apache-2.0
// A X = B by a factor of A in single precision, refined in double precision on A itself:
//
//     R = B - A X        X += (L L')^-1 R        until |r| <= tolerance |b| for each right-hand side
//
// Each round brings some four digits, so that two or three do. The factor takes half the bytes of one in double
// precision and half its time; the rounds read it for eight right-hand sides at once. Where rounds bring too little (A
// is too near singular for seven digits), the caller is told and goes on in double precision. Bits do not depend on
// threads.
#pragma once
#include "solve/linear.h"

#define TD_REFINE_LANES TD_SUBSTITUTE_LANES ///< right-hand sides at once, at most

/// Room for it: belongs to a state.
typedef struct tdRefine
{
    const tdLinearModel *model;
    tdIsa isa;
    tdSubstitutionSingle substitution;
    float *work;       ///< of a factorization, made with the first one
    double *b, *x, *r; ///< over coordinates, TD_REFINE_LANES numbers each
} tdRefine;

tdStatus td_refine_create(const tdLinearModel *model, tdArena *arena, tdRefine *out, tdError *error);
void td_refine_free(tdRefine *refine);

/// Whether single precision pays for a factor of so many operations and entries: with one right-hand side, which
/// conjugate gradients finish; with a block of them, which is refined.
bool td_refine_pays(double flops, double entries, bool block);

/// The same for a block that is not refined, and of which one combination is corrected.
bool td_refine_rough_pays(double flops);

/// The factor of the values into L, of model->shape.values numbers. *definite: not false where A is but for rounding.
tdStatus td_refine_factor(tdRefine *refine, tdTasks *tasks, const double *values, float *L, bool *definite,
                          tdError *error);

/// Up to TD_REFINE_LANES systems. Vectors are over all coordinates; held ones of x are zero, before and after.
typedef struct tdRefineTask
{
    const double *values; ///< of A
    const float *L;
    double tolerance;
    int n;
    const double *b[TD_REFINE_LANES];
    double *x[TD_REFINE_LANES]; ///< each holds a first guess, or
    bool zero;                  ///< starts from zero, whatever it holds
} tdRefineTask;

/// *residual: the largest |b - A x| / |b|. False: it does not get there.
bool td_refine_solve(tdRefine *refine, tdTasks *tasks, const tdRefineTask *task, int *rounds, double *residual);

// ---- kernel (refine_kernel.c): rows [begin, end) of nodes of R = B - A X, TD_REFINE_LANES numbers a coordinate
void td_refine_rows_portable(const tdBlockPattern *pattern, const double *values, const double *x, const double *b,
                             double *r, int32_t begin, int32_t end);
#if defined(__x86_64__)
void td_refine_rows_avx2(const tdBlockPattern *pattern, const double *values, const double *x, const double *b,
                         double *r, int32_t begin, int32_t end);
void td_refine_rows_avx512(const tdBlockPattern *pattern, const double *values, const double *x, const double *b,
                           double *r, int32_t begin, int32_t end);
#endif
