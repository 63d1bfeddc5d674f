// SPDX-License-Identifier: Apache-2.0
// The few routines of LAPACK that are used, as OpenBLAS exports them (Fortran: arguments by reference, columns first,
// and the hidden lengths of characters at the end).
#pragma once
#include <stddef.h>

/// A = Q R, in place.
void dgeqrf_(const int *m, const int *n, double *A, const int *lda, double *tau, double *work, const int *lwork,
             int *info);
/// Q from what dgeqrf_ left.
void dorgqr_(const int *m, const int *n, const int *k, double *A, const int *lda, const double *tau, double *work,
             const int *lwork, int *info);
/// A = U S V'.
void dgesvd_(const char *jobu, const char *jobvt, const int *m, const int *n, double *A, const int *lda, double *S,
             double *U, const int *ldu, double *Vt, const int *ldvt, double *work, const int *lwork, int *info,
             size_t length_u, size_t length_vt);
/// A = L L' (uplo 'L', the lower triangle) in place; info > 0: the minor of that order is not positive definite.
void dpotrf_(const char *uplo, const int *n, double *A, const int *lda, int *info, size_t length);
/// The inverse of A from what dpotrf_ left, the same triangle.
void dpotri_(const char *uplo, const int *n, double *A, const int *lda, int *info, size_t length);
/// X = A^-1 B in place of B, from what dpotrf_ left.
void dpotrs_(const char *uplo, const int *n, const int *columns, const double *A, const int *lda, double *B,
             const int *ldb, int *info, size_t length);
/// X = A^-1 B in place of B by A = P L U, which replaces A; info > 0: A is singular.
void dgesv_(const int *n, const int *columns, double *A, const int *lda, int *pivots, double *B, const int *ldb,
            int *info);
/// A = P L U in place; and X = A^-1 B (trans 'N') in place of B, from what that left.
void dgetrf_(const int *m, const int *n, double *A, const int *lda, int *pivots, int *info);
void dgetrs_(const char *trans, const int *n, const int *columns, const double *A, const int *lda, const int *pivots,
             double *B, const int *ldb, int *info, size_t length);
/// U U' ('U') or L' L ('L') in place of the triangle.
void dlauum_(const char *uplo, const int *n, double *A, const int *lda, int *info, size_t length);
/// Eigenvalues w of a symmetric A, ascending, and its eigenvectors in its place (jobz 'V').
void dsyev_(const char *jobz, const char *uplo, const int *n, double *A, const int *lda, double *w, double *work,
            const int *lwork, int *info, size_t length_jobz, size_t length_uplo);
