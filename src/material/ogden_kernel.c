// SPDX-License-Identifier: Apache-2.0
// Ogden: W = sum_i 2 mu_i/alpha_i^2 (l1bar^alpha_i + l2bar^alpha_i + l3bar^alpha_i - 3) in the principal
// stretches of J^(-1/3) F: the form of Abaqus and CalculiX. Own parameters: n, then mu_i [Pa], alpha_i for each
// term. Small strain: shear modulus sum mu_i. (Ogden's own form mu_i'/alpha_i (...) has
// mu_i = alpha_i mu_i'/2.)
//
// Each term is f(J) g(C). With h(x) = x^(|alpha|/2) of the eigenvalues x of C,
//     alpha > 0:  f = J^(-alpha/3),      g = h1 + h2 + h3
//     alpha < 0:  f = J^(-2 |alpha|/3),  g = h2 h3 + h3 h1 + h1 h2   (l1^alpha = (l2 l3)^|alpha| J^alpha)
// so that no power of a stretch is negative: flat elements stay finite, f grows under compression for either
// sign, and alpha = -2 is I2bar for every F. In the eigenvectors of C the tangent needs, for a pair of axes,
// the divided difference (g_a - g_b)/(x_a - x_b), made of those of h' and h. Written with expm1 and log1p
// they are exact for eigenvalues however close, with h'' and h' for equal ones. Outside the stretches
// TD_STRETCH_LOW..TD_STRETCH_HIGH h goes on as its second-order Taylor polynomial in x: powers below 4 have no
// second derivative at a stretch of 0, and large ones would overflow.
#include "material/frame.h"

#define TD_STRETCH_LOW  0.02
#define TD_STRETCH_HIGH 100.0
#define FAR_APART       1.25 // ratio of eigenvalues from which a plain difference is exact enough

void TD_ISA(td_law_ogden)(const double *, const double *, const double *, double *, double *, double *);

// One rotation of Jacobi's method in the plane p, q of the symmetric A, gathered in the rows of n. Lanes that
// are done are left as they are, bit by bit, so that a lane does not depend on its neighbours.
static inline void rotate(td4 *A, td4 *n, int p, int q)
{
    int k = 3 - p - q;
    td4 apq = A[3 * p + q], app = A[4 * p], aqq = A[4 * q], zero = td4_set(0);
    td4i act = td4_abs(apq) > 1e-17 * (app + aqq);
    td4 gap = aqq - app, twice = 2.0 * apq, size = td4_abs(gap) + td4_sqrt(gap * gap + twice * twice);
    td4 t = td4_select(act, td4_select(gap < zero, -twice, twice) / td4_select(act, size, td4_set(1)), zero);
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
    double span[3];                // log1p((upper - lower)/lower), unless far apart
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
        if (p.upper[m] <= FAR_APART * p.lower[m])
            p.span[m] = log1p((p.upper[m] - p.lower[m]) / p.lower[m]);
    }
    return p;
}

// f(J) = J^power and its derivatives: {f, f', f''}.
static void volume_factor(const lanePoint *p, double power, double f[3])
{
    double i = 1 / p->J_inside, x = p->J - p->J_inside;
    double v = exp(power * p->ln_J), d = power * v * i, dd = (power - 1) * d * i;
    f[0] = v + x * (d + 0.5 * dd * x);
    f[1] = d + dd * x;
    f[2] = dd;
}

// h of one term: with its slope at each eigenvalue, and with its derivatives where those are clamped.
typedef struct stretchPower
{
    double power, h[3], slope[3];
    double at[3], d[3], dd[3];
} stretchPower;

static stretchPower stretch_power(const lanePoint *p, double power)
{
    stretchPower s = {.power = power};
    for (int a = 0; a < 3; a++)
    {
        double x = p->x[a] - p->inside[a];
        s.at[a] = exp(power * p->ln[a]);
        s.d[a] = power * s.at[a] / p->inside[a];
        s.dd[a] = (power - 1) * s.d[a] / p->inside[a];
        s.slope[a] = s.d[a] + s.dd[a] * x;
        s.h[a] = s.at[a] + 0.5 * x * (s.d[a] + s.slope[a]);
    }
    return s;
}

// y_a - y_b of y = x^power at the clamped eigenvalues of pair m; close ones are not left to cancel.
static double difference_of(const lanePoint *p, int m, double power, const double *y)
{
    int a = td_frame_pair[3 + m][0], b = td_frame_pair[3 + m][1];
    if (p->upper[m] > FAR_APART * p->lower[m])
        return y[a] - y[b];
    return p->inside[a] < p->inside[b] ? -y[a] * expm1(power * p->span[m]) : y[b] * expm1(power * p->span[m]);
}

// Divided differences of h' (returned) and of h over pair m. The way from one eigenvalue to the other goes
// through the clamped ones: three parts that run in the same direction, so that nothing cancels.
static double divided_differences(const lanePoint *p, const stretchPower *s, int m, double *of_h)
{
    int a = td_frame_pair[3 + m][0], b = td_frame_pair[3 + m][1];
    double run = p->x[a] - p->x[b], da = p->x[a] - p->inside[a], db = p->x[b] - p->inside[b];
    bool same = p->upper[m] == p->lower[m]; // equal, or both on the same parabola
    if (of_h != NULL && same)
        *of_h = s->d[a] + 0.5 * s->dd[a] * (da + db);
    else if (of_h != NULL)
        *of_h = (da * (s->d[a] + 0.5 * s->dd[a] * da) + difference_of(p, m, s->power, s->at) -
                 db * (s->d[b] + 0.5 * s->dd[b] * db)) /
                run;
    return same ? s->dd[a] : (s->dd[a] * da + difference_of(p, m, s->power - 1, s->d) - s->dd[b] * db) / run;
}

// Adds one term c (f(J) g(C) - 3).
static void add_term(double mu, double alpha, const lanePoint *p, int l, tdFrameEnergy *e, td4 *psi, bool tangent)
{
    bool negative = alpha < 0;
    double c = 2 * mu / (alpha * alpha), f[3];
    volume_factor(p, negative ? 2 * alpha / 3 : -alpha / 3, f);
    stretchPower s = stretch_power(p, 0.5 * fabs(alpha));
    const double *h = s.h;
    double g = negative ? h[1] * h[2] + h[2] * h[0] + h[0] * h[1] : h[0] + h[1] + h[2];
    (*psi)[l] += c * (f[0] * g - 3);
    e->J[l] += c * f[1] * g;
    e->JJ[l] += c * f[2] * g;
    for (int a = 0; a < 3; a++)
    {
        double others = negative ? h[(a + 1) % 3] + h[(a + 2) % 3] : 1;
        e->s[a][l] += c * f[0] * s.slope[a] * others;
        e->sJ[a][l] += c * f[1] * s.slope[a] * others;
        e->k[a][l] += c * f[0] * s.dd[a] * others;
    }
    for (int m = 0; tangent && m < 3; m++)
    {
        int a = td_frame_pair[3 + m][0], b = td_frame_pair[3 + m][1];
        double of_h = 0, difference = divided_differences(p, &s, m, negative ? &of_h : NULL);
        if (negative)
        {
            // g_a = h'_a (h_b + h_c): the difference of g_a and g_b, and the coupling g_ab = h'_a h'_b
            difference = difference * (h[b] + h[3 - a - b]) - s.slope[b] * of_h;
            e->mixed[m][l] += c * f[0] * s.slope[a] * s.slope[b];
        }
        e->k[3 + m][l] += 2 * c * f[0] * difference;
    }
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
