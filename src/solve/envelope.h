// SPDX-License-Identifier: Apache-2.0
// A symmetric matrix by rows, each from its first entry that is not zero to the diagonal: the Hessian of a small island
// of contacts, whose bodies mostly follow each other as they are numbered. Its factor has the same shape.
#pragma once
#include <stdbool.h>
#include <stdint.h>

typedef struct tdEnvelope
{
    int32_t n;
    int32_t stride;  ///< of rows, >= n + 4: they are written four numbers at a time
    int32_t *first;  ///< by row
    double *base;    ///< what does not change, lower triangle
    double *H;       ///< the matrix, then its factor L
    double *inverse; ///< of the diagonal of L
    bool reverse;    ///< L'L = H instead, all rows whole: keeps the zeros between branches of a tree
} tdEnvelope;

static inline int32_t td_envelope_stride(int32_t n)
{
    return (n + 3) / 4 * 4 + 4;
}

/// L L' = H in place. False: not positive definite.
bool td_envelope_factor(tdEnvelope *e);
/// x = (L L')^-1 x
void td_envelope_solve(const tdEnvelope *e, double *x);
/// H += J' G J of three rows over n columns. Columns [0, split) stand next to each other from at[0] on, those from
/// split on from at[split].
void td_envelope_add(tdEnvelope *e, int32_t n, int32_t split, const int32_t *at, const double *J, const double G[9]);
/// W[9] = J A^-1 J' of three rows, A = L L' by columns with stride n. X: 4 n, scratch that has J, its rows side by
/// side: X[4 i + r] = J_ri, X[4 i + 3] = 0, of which those before `begin` are zero.
void td_envelope_weigh(int32_t n, int32_t begin, const double *L, double *X, double W[9]);

/// The same with A = L'L, L by rows with stride n, reciprocals on its diagonal; rows of X from `end` on are zero.
void td_envelope_weigh_reverse(int32_t n, int32_t end, const double *L, double *X, double W[9]);
/// The same of J[3 x n], none of whose columns are left out; X: 4 n, scratch.
void td_envelope_weigh_whole(int32_t n, const double *L, const double *J, double *X, double W[9]);
/// The same of one or two free bodies together, J[3 x 6] of each.
void td_envelope_weigh_free(int sides, const double *const *L, const double *const *J, double W[9]);
/// y = A x, of A the lower triangle by columns.
void td_envelope_multiply(int32_t n, int32_t stride, const double *A, const double *x, double *y);
/// out = J x of three rows over columns as in td_envelope_add(), and f += J' g.
void td_envelope_rates(int32_t n, int32_t split, const int32_t *at, const double *J, const double *x, double out[3]);
void td_envelope_forces(int32_t n, int32_t split, const int32_t *at, const double *J, const double g[3], double *f);

#define TD_ENVELOPE_COLUMNS 96 // most of a constraint

/// The same for one instruction set (envelope_kernel.c).
typedef struct tdEnvelopeKernel
{
    bool (*factor)(tdEnvelope *);
    void (*solve)(const tdEnvelope *, double *);
    void (*add)(tdEnvelope *, int32_t, int32_t, const int32_t *, const double *, const double *);
    void (*weigh)(int32_t, int32_t, const double *, double *, double *);
    void (*weigh_reverse)(int32_t, int32_t, const double *, double *, double *);
    void (*weigh_whole)(int32_t, const double *, const double *, double *, double *);
    void (*weigh_free)(int, const double *const *, const double *const *, double *);
    void (*multiply)(int32_t, int32_t, const double *, const double *, double *);
    void (*rates)(int32_t, int32_t, const int32_t *, const double *, const double *, double *);
    void (*forces)(int32_t, int32_t, const int32_t *, const double *, const double *, double *);
} tdEnvelopeKernel;

extern const tdEnvelopeKernel td_envelope_kernel_portable, td_envelope_kernel_avx2;
