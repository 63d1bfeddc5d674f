// SPDX-License-Identifier: Apache-2.0
// Ogden: W = sum_i 2 mu_i/alpha_i^2 (l1bar^alpha_i + l2bar^alpha_i + l3bar^alpha_i - 3) in the principal
// stretches of J^(-1/3) F: the form of Abaqus and CalculiX. Own parameters: n, then mu_i [Pa], alpha_i for each
// term. Small strain: shear modulus sum mu_i. (Ogden's own form mu_i'/alpha_i (...) has
// mu_i = alpha_i mu_i'/2.)
//
// Each term is f(J) g(C), f = J^(-alpha/3), g = sum_a h(x_a), h = x^(alpha/2) of the eigenvalues x of C. In
// the eigenvectors n_a of C, with y_a = F n_a, the tangent of g is diagonal: h''(x_a) for a pair (a, a) and the
// divided difference (h'(x_a) - h'(x_b))/(x_a - x_b) for a pair (a, b). Written with expm1 and log1p that is
// exact for eigenvalues however close, and its limit h'' for equal ones. Outside the stretches
// TD_STRETCH_LOW..TD_STRETCH_HIGH h goes on as its second-order Taylor polynomial in x, so that flat elements
// stay finite with negative alpha, too.
#include "material/frame.h"

#define TD_STRETCH_LOW  0.02
#define TD_STRETCH_HIGH 100.0

void TD_ISA(td_law_ogden)(const double *, const double *, const double *, double *, double *, double *);

// One rotation of Jacobi's method in the plane p, q of the symmetric A, gathered in the rows of n. Lanes that
// are done are left as they are, bit by bit, so that a lane does not depend on its neighbours.
static inline void rotate(td4 *A, td4 *n, int p, int q)
{
    int k = 3 - p - q;
    td4 apq = A[3 * p + q], app = A[4 * p], aqq = A[4 * q], zero = td4_set(0), one = td4_set(1);
    td4i act = td4_abs(apq) > 1e-17 * (app + aqq);
    td4 theta = (aqq - app) / td4_select(act, 2.0 * apq, one);
    td4 t = 1.0 / (td4_abs(theta) + td4_sqrt(theta * theta + 1.0));
    t = td4_select(act, td4_select(theta < zero, -t, t), zero);
    td4 c = 1.0 / td4_sqrt(t * t + 1.0), s = t * c, akp = A[3 * k + p], akq = A[3 * k + q];
    A[4 * p] = app - t * apq;
    A[4 * q] = aqq + t * apq;
    A[3 * p + q] = A[3 * q + p] = td4_select(act, zero, apq);
    A[3 * k + p] = A[3 * p + k] = c * akp - s * akq;
    A[3 * k + q] = A[3 * q + k] = s * akp + c * akq;
    for (int i = 0; i < 3; i++)
    {
        td4 a = n[3 * p + i], b = n[3 * q + i];
        n[3 * p + i] = c * a - s * b;
        n[3 * q + i] = s * a + c * b;
    }
}

static void eigen(td4 *A, td4 *n)
{
    for (int i = 0; i < 9; i++)
        n[i] = td4_set(i % 4 == 0);
    for (int sweep = 0; sweep < 12; sweep++)
    {
        td4 off = td4_abs(A[1]) + td4_abs(A[2]) + td4_abs(A[5]);
        if (!td4_any(off > 1e-17 * (A[0] + A[4] + A[8])))
            return;
        rotate(A, n, 0, 1);
        rotate(A, n, 0, 2);
        rotate(A, n, 1, 2);
    }
}

// One lane: where the stretches are taken, and what all terms need of them.
typedef struct lanePoint
{
    double x[3], inside[3], ln[3]; // eigenvalues, clamped, their logarithms
    double upper[3], lower[3];     // clamped eigenvalues of a pair 12, 13, 23
    double span[3];                // log1p((upper - lower)/lower)
    double J, J_inside, ln_J;
} lanePoint;

static lanePoint lane_point(const double *x, double J, bool tangent)
{
    const double low = TD_STRETCH_LOW * TD_STRETCH_LOW, high = TD_STRETCH_HIGH * TD_STRETCH_HIGH;
    lanePoint p = {.J = J, .J_inside = J > TD_COMPRESSION ? J : TD_COMPRESSION};
    p.ln_J = log(p.J_inside);
    for (int a = 0; a < 3; a++)
    {
        p.x[a] = x[a];
        p.inside[a] = x[a] > low ? (x[a] < high ? x[a] : high) : low;
        p.ln[a] = log(p.inside[a]);
    }
    for (int m = 0; tangent && m < 3; m++)
    {
        double a = p.inside[td_frame_pair[3 + m][0]], b = p.inside[td_frame_pair[3 + m][1]];
        p.upper[m] = a > b ? a : b;
        p.lower[m] = a > b ? b : a;
        p.span[m] = log1p((p.upper[m] - p.lower[m]) / p.lower[m]);
    }
    return p;
}

// f(J) and its derivatives of one term: {f, f', f''}.
static void volume_factor(const lanePoint *p, double alpha, double f[3])
{
    double third = -alpha / 3, i = 1 / p->J_inside, x = p->J - p->J_inside;
    double v = exp(third * p->ln_J), d = third * v * i, dd = (third - 1) * d * i;
    f[0] = v + x * (d + 0.5 * dd * x);
    f[1] = d + dd * x;
    f[2] = dd;
}

// (h'(x_a) - h'(x_b))/(x_a - x_b) of a pair; d and dd are h' and h'' at the clamped eigenvalues. The parts
// outside the limits are straight lines: all three summands have the same sign of run, nothing cancels.
static double divided_difference(const lanePoint *p, int m, double power, const double *d, const double *dd)
{
    int a = td_frame_pair[3 + m][0], b = td_frame_pair[3 + m][1];
    double run = p->x[a] - p->x[b];
    if (run == 0)
        return dd[a];
    double inner = 0;
    if (p->upper[m] > p->lower[m])
    {
        int small = p->inside[a] < p->inside[b] ? a : b;
        inner = d[small] * expm1(power * p->span[m]);
        inner = small == a ? -inner : inner;
    }
    return (dd[a] * (p->x[a] - p->inside[a]) + inner - dd[b] * (p->x[b] - p->inside[b])) / run;
}

// Adds one term c (f(J) g(C) - 3).
static void add_term(double mu, double alpha, const lanePoint *p, int l, tdFrameEnergy *e, td4 *psi, bool tangent)
{
    double c = 2 * mu / (alpha * alpha), half = 0.5 * alpha, f[3], d[3], dd[3], sum = 0;
    volume_factor(p, alpha, f);
    for (int a = 0; a < 3; a++)
    {
        double v = exp(half * p->ln[a]), x = p->x[a] - p->inside[a];
        d[a] = half * v / p->inside[a];
        dd[a] = (half - 1) * d[a] / p->inside[a];
        double slope = d[a] + dd[a] * x;
        sum += v + 0.5 * x * (d[a] + slope);
        e->s[a][l] += c * f[0] * slope;
        e->sJ[a][l] += c * f[1] * slope;
        e->k[a][l] += c * f[0] * dd[a];
    }
    (*psi)[l] += c * (f[0] * sum - 3);
    e->J[l] += c * f[1] * sum;
    e->JJ[l] += c * f[2] * sum;
    for (int m = 0; tangent && m < 3; m++)
        e->k[3 + m][l] += 2 * c * f[0] * divided_difference(p, m, half - 1, d, dd);
}

void TD_ISA(td_law_ogden)(const double *p, const double *F_in, const double *R, double *psi_out, double *P, double *D)
{
    (void)R;
    const double *own = p + TD_PARAMETER_OWN;
    td4 F[9], C[9], A[9], n[9], y[9], Z[6][9];
    td_load9(F_in, F);
    td4 J = td_cofactor(F, C);
    td_mul_tn(F, F, A);
    eigen(A, n);
    tdJet U = td_volumetric4(p, J);
    tdFrameEnergy e = {.J = U.d, .JJ = U.dd};
    td4 psi = U.v;
    for (int l = 0; l < TD_LANES; l++)
    {
        const double x[3] = {A[0][l], A[4][l], A[8][l]};
        lanePoint at = lane_point(x, J[l], D != NULL);
        for (int i = 0; i < (int)own[0]; i++)
            add_term(own[1 + 2 * i], own[2 + 2 * i], &at, l, &e, &psi, D != NULL);
    }
    td4_store(psi_out, psi);
    td_frame_map(F, n, y);
    td_frame_gradients(n, y, Z);
    td_frame_stress(&e, Z, C, P, false);
    if (D != NULL)
        td_frame_tangent(&e, F, n, Z, C, D, false);
}
