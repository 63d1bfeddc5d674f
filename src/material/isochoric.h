// SPDX-License-Identifier: Apache-2.0
// What the hyperelastic kernels share: psi = W(I1bar, I2bar) + U(J) with I1bar = f(J) I1, f = J^(-2/3) and
// I2bar = g(J) I2, g = J^(-4/3). Below J = TD_COMPRESSION f, g and U go on as their second-order Taylor
// polynomials. A law gives W and its derivatives by its two arguments (tdEnergy); from them this file makes
//     td_isochoric_closed  P and D directly in F
//     td_isochoric_mjed    the ten numbers of the form by invariants
// `second` (W depends on I2bar) and `curved` (W is not linear in I1bar) are constants of a law, so that what
// it does not need is never computed. No law here has W_12 or W_22.
#pragma once
#include "material/tensor.h"

#define TD_FLAT static inline __attribute__((always_inline))

/// Beyond this argument the exponential goes on as its second-order Taylor polynomial: no F overflows it.
#define TD_EXPONENT 50.0

/// A function of one variable with its first two derivatives.
typedef struct tdJet
{
    td4 v, d, dd;
} tdJet;

/// The Taylor polynomial of a jet at a distance x from where it was taken (0 inside the law's range).
TD_FLAT tdJet td_jet_extend(tdJet at, td4 x)
{
    td4 slope = at.d + at.dd * x;
    return (tdJet){at.v + 0.5 * x * (at.d + slope), slope, at.dd};
}

// x^(-1/3) for x > 0: Newton's method from a guess by the exponent (within 3.5 %), four steps to rounding.
TD_FLAT td4 td4_rcbrt(td4 x)
{
    td4i bits = (td4i)x;
    for (int l = 0; l < TD_LANES; l++)
        bits[l] = INT64_C(0x553EF0FF289DD796) - bits[l] / 3;
    td4 y = (td4)bits;
    for (int i = 0; i < 4; i++)
        y += y * (1.0 - x * y * (y * y)) * (1.0 / 3.0);
    return y;
}

/// f(J) = J^(-2/3) and g(J) = J^(-4/3).
TD_FLAT void td_isochoric(td4 J, tdJet *f, tdJet *g)
{
    td4 inside = td4_max(J, td4_set(TD_COMPRESSION)), x = J - inside;
    td4 root = td4_rcbrt(inside), square = root * root, inverse = square * root;
    td4 fi = square * inverse;
    *f = td_jet_extend((tdJet){square, (-2.0 / 3.0) * fi, (10.0 / 9.0) * fi * inverse}, x);
    td4 fourth = square * square, gi = fourth * inverse;
    *g = td_jet_extend((tdJet){fourth, (-4.0 / 3.0) * gi, (28.0 / 9.0) * gi * inverse}, x);
}

/// U(J) of the kind that the parameters name; td_volumetric() is the same for one number.
TD_FLAT tdJet td_volumetric4(const double *parameters, td4 J)
{
    double kappa = parameters[TD_PARAMETER_KAPPA];
    int kind = (int)parameters[TD_PARAMETER_VOLUMETRIC];
    if (kind == TD_VOLUMETRIC_SQUARE)
        return (tdJet){0.5 * kappa * (J - 1.0) * (J - 1.0), kappa * (J - 1.0), td4_set(kappa)};
    td4 inside = td4_max(J, td4_set(TD_COMPRESSION)), x = J - inside, ln = td4_log(inside), i = 1.0 / inside;
    tdJet at = {0.5 * kappa * ln * ln, kappa * ln * i, kappa * (1.0 - ln) * i * i};
    if (kind == TD_VOLUMETRIC_MIXED)
        at = (tdJet){0.5 * kappa * (0.5 * (inside * inside - 1.0) - ln), 0.5 * kappa * (inside - i),
                     0.5 * kappa * (1.0 + i * i)};
    return td_jet_extend(at, x);
}

/// exp(x), quadratic beyond TD_EXPONENT.
TD_FLAT tdJet td_exponential(td4 x)
{
    td4 inside = td4_min(x, td4_set(TD_EXPONENT)), e;
    for (int l = 0; l < TD_LANES; l++)
        e[l] = exp(inside[l]);
    return td_jet_extend((tdJet){e, e, e}, x - inside);
}

/// W of a law and its derivatives by I1bar and I2bar.
typedef struct tdEnergy
{
    td4 W, d1, d2, d11;
} tdEnergy;

typedef tdEnergy (*tdEnergyFn)(const double *own, td4 I1bar, td4 I2bar);

// With C = cof F and G = d I2/dF = 2 (I1 F - F F'F):
//     P = W_1 A + W_2 B + U' C,           A = 2 f F + f' I1 C,  B = g G + g' I2 C
//     D = W_11 A x A + W_1 dA/dF + W_2 dB/dF + U'' C x C + U' dC/dF
TD_FLAT void td_isochoric_closed(const double *p, const double *F_in, double *psi, double *P, double *D, tdEnergyFn law,
                                 bool second, bool curved)
{
    td4 F[9], C[9], G[9], PK[9], I1 = td4_set(0), I2 = td4_set(0), left[9];
    tdJet f, g, U;
    td_load9(F_in, F);
    td4 J = td_cofactor(F, C);
    for (int i = 0; i < 9; i++)
        I1 += F[i] * F[i];
    for (int i = 0; second && i < 9; i++)
        I2 += C[i] * C[i];
    td_isochoric(J, &f, &g);
    U = td_volumetric4(p, J);
    tdEnergy w = law(p + TD_PARAMETER_OWN, f.v * I1, g.v * I2);
    td4_store(psi, w.W + U.v);
    td4 a = 2.0 * w.d1 * f.v, c = w.d1 * f.d * I1 + U.d;
    if (second)
    {
        td_left(F, left);
        td_second_gradient(F, left, I1, G);
        c += w.d2 * g.d * I2;
    }
    for (int i = 0; i < 9; i++)
        PK[i] = a * F[i] + c * C[i] + (second ? w.d2 * g.v * G[i] : td4_set(0));
    td_store9(PK, P);
    if (D == NULL)
        return;
    td4 A[9], V[9], right[9], b = w.d2 * g.v, half = 0.5 * (w.d1 * f.dd * I1 + U.dd);
    if (second)
    {
        half += 0.5 * w.d2 * g.dd * I2;
        td_mul_tn(F, F, right);
        a += 2.0 * b * I1;
        for (int i = 0; i < 9; i++)
        {
            left[i] *= -2.0 * b;
            right[i] *= -2.0 * b;
        }
    }
    for (int i = 0; i < 9; i++)
    {
        A[i] = 2.0 * f.v * F[i] + f.d * I1 * C[i];
        V[i] = 2.0 * w.d1 * f.d * F[i] + half * C[i] + (second ? w.d2 * g.d * G[i] : td4_set(0));
    }
#pragma GCC unroll 9
    for (int i = 0; i < 9; i++)
    {
        td4 wA = w.d11 * A[i], bF = 4.0 * b * F[i];
#pragma GCC unroll 9
        for (int j = 0; j <= i; j++)
        {
            td4 value = V[i] * C[j] + C[i] * V[j];
            if (curved)
                value += wA * A[j];
            if (i == j)
                value += a;
            if (second)
                value += bF * F[j] + td_second_hessian(F, left, right, b, i, j);
            td4_store(D + 4 * TD_PACKED(i, j), td_add_cofactor(value, c, F, i, j));
        }
    }
}

// Multiplicative: psi = W(f(J) I1, g(J) I2) + U(J), so every derivative is one of W times one of f or g.
TD_FLAT void td_isochoric_mjed(const double *p, const double *I1_in, const double *I2_in, const double *J_in,
                               double *psi, double *out, bool tangent, tdEnergyFn law, bool second, bool curved)
{
    td4 I1 = td4_load(I1_in), I2 = td4_load(I2_in), J = td4_load(J_in), zero = td4_set(0);
    tdJet f, g, U = td_volumetric4(p, J);
    td_isochoric(J, &f, &g);
    tdEnergy w = law(p + TD_PARAMETER_OWN, f.v * I1, g.v * I2);
    td4 x = f.d * I1, psi_J = w.d1 * x + U.d;
    if (second)
        psi_J += w.d2 * g.d * I2;
    td4_store(psi, w.W + U.v);
    td4_store(out, w.d1 * f.v);
    td4_store(out + 4, second ? w.d2 * g.v : zero);
    td4_store(out + 8, psi_J);
    if (!tangent)
        return;
    td4 psi_11 = zero, psi_1J = w.d1 * f.d, psi_JJ = w.d1 * f.dd * I1 + U.dd;
    if (second)
        psi_JJ += w.d2 * g.dd * I2;
    if (curved)
    {
        td4 y = w.d11 * f.v;
        psi_11 = y * f.v;
        psi_1J += y * x;
        psi_JJ += w.d11 * x * x;
    }
    td4_store(out + 12, psi_11);
    td4_store(out + 16, zero);
    td4_store(out + 20, zero);
    td4_store(out + 24, psi_1J);
    td4_store(out + 28, second ? w.d2 * g.d : zero);
    td4_store(out + 32, psi_JJ);
}

/// The two entries of a law's row in the table, from its energy.
#define TD_ISOCHORIC_LAW(name, energy, second, curved)                                                                 \
    void TD_ISA(td_law_##name)(const double *, const double *, const double *, double *, double *, double *);          \
    void TD_ISA(td_mjed_##name)(const double *, const double *, const double *, const double *, double *, double *,    \
                                bool);                                                                                 \
    void TD_ISA(td_law_##name)(const double *p, const double *F, const double *R, double *psi, double *P, double *D)   \
    {                                                                                                                  \
        (void)R;                                                                                                       \
        td_isochoric_closed(p, F, psi, P, D, energy, second, curved);                                                  \
    }                                                                                                                  \
    void TD_ISA(td_mjed_##name)(const double *p, const double *I1, const double *I2, const double *J, double *psi,     \
                                double *W, bool tangent)                                                               \
    {                                                                                                                  \
        td_isochoric_mjed(p, I1, I2, J, psi, W, tangent, energy, second, curved);                                      \
    }
