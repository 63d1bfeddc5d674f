// SPDX-License-Identifier: Apache-2.0
// Rotation of the polar decomposition, four at a time, without branches on the data.
//
// The rotation nearest to F is the unit quaternion that belongs to the largest eigenvalue l of the
// symmetric 4 x 4 matrix N(F) (Horn 1987). Its characteristic polynomial is
//     l^4 - 2 |F|^2 l^2 - 8 det(F) l + det N = 0,
// its largest root the trace of the stretch, s1 + s2 + s3 (s3 negative when F is inverted), so that
// inverted and flat elements get a proper rotation too. Newton from the upper bound sqrt(3) |F| comes
// down monotonically; the quaternion is a column of the adjugate of N - l I. One step of correction
// on the rotation itself removes the rounding of the polynomial.
#include "material/tensor.h"

void TD_ISA(td_polar)(const double *F_in, double *R_out);

// Determinants of two rows: the upper two by columns 01 02 03 12 13 23, then the lower two.
static inline __attribute__((always_inline)) void pairs(td4 N[4][4], td4 s[6], td4 c[6])
{
    static const int at[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    for (int k = 0; k < 6; k++)
    {
        int i = at[k][0], j = at[k][1];
        s[k] = N[0][i] * N[1][j] - N[1][i] * N[0][j];
        c[k] = N[2][i] * N[3][j] - N[3][i] * N[2][j];
    }
}

// Determinant of a 4 x 4 matrix by Laplace, and the adjugate of a symmetric one, its upper triangle by rows.
static inline __attribute__((always_inline)) td4 det4(td4 N[4][4])
{
    td4 s[6], c[6];
    pairs(N, s, c);
    return s[0] * c[5] - s[1] * c[4] + s[2] * c[3] + s[3] * c[2] - s[4] * c[1] + s[5] * c[0];
}

static inline __attribute__((always_inline)) void adjugate(td4 N[4][4], td4 M[4][4])
{
    td4 s[6], c[6];
    pairs(N, s, c);
    M[0][0] = N[1][1] * c[5] - N[1][2] * c[4] + N[1][3] * c[3];
    M[0][1] = N[0][2] * c[4] - N[0][1] * c[5] - N[0][3] * c[3];
    M[0][2] = N[3][1] * s[5] - N[3][2] * s[4] + N[3][3] * s[3];
    M[0][3] = N[2][2] * s[4] - N[2][1] * s[5] - N[2][3] * s[3];
    M[1][1] = N[0][0] * c[5] - N[0][2] * c[2] + N[0][3] * c[1];
    M[1][2] = N[3][2] * s[2] - N[3][0] * s[5] - N[3][3] * s[1];
    M[1][3] = N[2][0] * s[5] - N[2][2] * s[2] + N[2][3] * s[1];
    M[2][2] = N[3][0] * s[4] - N[3][1] * s[2] + N[3][3] * s[0];
    M[2][3] = N[2][1] * s[2] - N[2][0] * s[4] - N[2][3] * s[0];
    M[3][3] = N[2][0] * s[3] - N[2][1] * s[1] + N[2][2] * s[0];
    for (int i = 1; i < 4; i++)
        for (int j = 0; j < i; j++)
            M[i][j] = M[j][i];
}

static void quaternion_matrix(const td4 *q, td4 *R)
{
    td4 w = q[0], x = q[1], y = q[2], z = q[3];
    R[0] = w * w + x * x - y * y - z * z;
    R[1] = 2.0 * (x * y - w * z);
    R[2] = 2.0 * (x * z + w * y);
    R[3] = 2.0 * (x * y + w * z);
    R[4] = w * w - x * x + y * y - z * z;
    R[5] = 2.0 * (y * z - w * x);
    R[6] = 2.0 * (x * z - w * y);
    R[7] = 2.0 * (y * z + w * x);
    R[8] = w * w - x * x - y * y + z * z;
}

// R <- R cay(w), w = (tr S I - S)^-1 axial(S - S'), S = R'F: Newton on the rotation, quadratic.
static void correct(const td4 *F, td4 *R)
{
    td4 S[9], G[9], C[9], W[9], T[9];
    td_mul_tn(R, F, S);
    td4 trace = S[0] + S[4] + S[8];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            G[3 * i + j] = -0.5 * (S[3 * i + j] + S[3 * j + i]) + (i == j ? trace : td4_set(0));
    td4 det = td_cofactor(G, C);
    // Two stretches that cancel leave the rotation undetermined: keep what the quaternion gave.
    td4 size = td4_abs(trace) * trace * trace;
    td4i good = td4_abs(det) > 1e-12 * td4_abs(size);
    td4 inverse = td4_select(good, 1.0 / td4_select(good, det, td4_set(1)), td4_set(0));
    td4 a[3] = {S[7] - S[5], S[2] - S[6], S[3] - S[1]}, w[3], norm = td4_set(0);
    for (int i = 0; i < 3; i++)
    {
        w[i] = inverse * (C[3 * i] * a[0] + C[3 * i + 1] * a[1] + C[3 * i + 2] * a[2]);
        norm += w[i] * w[i];
    }
    td4i small = norm < td4_set(0.01);
    for (int i = 0; i < 3; i++)
        w[i] = td4_select(small, 0.5 * w[i], td4_set(0));
    norm = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
    td4 q[4] = {td4_set(1), w[0], w[1], w[2]};
    quaternion_matrix(q, W);
    td_mul_nn(R, W, T);
    for (int i = 0; i < 9; i++)
        R[i] = T[i] / (1.0 + norm);
}

void TD_ISA(td_polar)(const double *F_in, double *R_out)
{
    td4 F[9], N[4][4], C[9];
    td_load9(F_in, F);
    td4 det = td_cofactor(F, C);
    td4 square = td4_set(0);
    for (int i = 0; i < 9; i++)
        square += F[i] * F[i];
    // F[3 i + J] = x_i X_J sums: Horn's matrix with the rotation taking X to x.
    N[0][0] = F[0] + F[4] + F[8];
    N[1][1] = F[0] - F[4] - F[8];
    N[2][2] = F[4] - F[0] - F[8];
    N[3][3] = F[8] - F[0] - F[4];
    N[0][1] = N[1][0] = F[7] - F[5];
    N[0][2] = N[2][0] = F[2] - F[6];
    N[0][3] = N[3][0] = F[3] - F[1];
    N[1][2] = N[2][1] = F[1] + F[3];
    N[1][3] = N[3][1] = F[2] + F[6];
    N[2][3] = N[3][2] = F[5] + F[7];
    td4 c0 = det4(N);
    td4 c1 = -8.0 * det, c2 = -2.0 * square;
    td4 root = td4_sqrt(3.0 * square);
    for (int i = 0; i < 40; i++)
    {
        td4 value = ((root * root + c2) * root + c1) * root + c0;
        td4 slope = (4.0 * root * root + 2.0 * c2) * root + c1;
        td4i good = slope > 1e-280;
        td4 step = td4_select(good, value / td4_select(good, slope, td4_set(1)), td4_set(0));
        root = root - step;
        if (!td4_any(td4_abs(step) > 1e-15 * root))
            break;
    }
    for (int i = 0; i < 4; i++)
        N[i][i] = N[i][i] - root;
    // The column of the adjugate with the largest diagonal entry is the best conditioned.
    td4 M[4][4], q[4], best = td4_set(-1), norm = td4_set(0);
    adjugate(N, M);
    for (int k = 0; k < 4; k++)
        q[k] = td4_set(k == 0);
    for (int column = 0; column < 4; column++)
    {
        td4 diagonal = td4_abs(M[column][column]);
        td4i better = diagonal > best;
        best = td4_select(better, diagonal, best);
        for (int k = 0; k < 4; k++)
            q[k] = td4_select(better, M[column][k], q[k]);
    }
    for (int k = 0; k < 4; k++)
        norm += q[k] * q[k];
    td4i found = norm > 1e-280;
    td4 scale = 1.0 / td4_sqrt(td4_select(found, norm, td4_set(1)));
    for (int k = 0; k < 4; k++)
        q[k] = td4_select(found, q[k] * scale, td4_set(k == 0));
    td4 R[9];
    quaternion_matrix(q, R);
    correct(F, R);
    td_store9(R, R_out);
}
