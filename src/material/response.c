// SPDX-License-Identifier: Apache-2.0
// What a law does as a whole, whatever it is: its volumetric energy, its moduli at small strain, and the
// stretches over which it is stable.
#include "material/law.h"

#include <math.h>
#include <stddef.h>

void td_volumetric(const double *parameters, double J, double *U, double *dU, double *ddU)
{
    double kappa = parameters[TD_PARAMETER_KAPPA];
    double a = J > TD_COMPRESSION ? J : TD_COMPRESSION, x = J - a, ln = log(a), v, d, dd;
    switch ((int)parameters[TD_PARAMETER_VOLUMETRIC])
    {
    case TD_VOLUMETRIC_LOG: v = 0.5 * ln * ln, d = ln / a, dd = (1 - ln) / (a * a); break;
    case TD_VOLUMETRIC_MIXED:
        v = 0.5 * (0.5 * (a * a - 1) - ln), d = 0.5 * (a - 1 / a), dd = 0.5 * (1 + 1 / (a * a));
        break;
    default: v = 0.5 * (a - 1) * (a - 1), d = a - 1, dd = 1;
    }
    *U = kappa * (v + x * (d + 0.5 * dd * x));
    *dU = kappa * (d + dd * x);
    *ddU = kappa * dd;
}

// Stress and tangent at four gradients diag(stretch); the frame of fibres and the rotation are the identity.
static void diagonal(const tdLaw *law, const double *parameters, const double stretch[4][3], double *P, double *D)
{
    _Alignas(64) double F[36] = {0}, R[36] = {0}, psi[4];
    for (int c = 0; c < 3; c++)
        for (int l = 0; l < 4; l++)
        {
            F[16 * c + l] = stretch[l][c];
            R[16 * c + l] = 1;
        }
    law->kernel[TD_ISA_PORTABLE](parameters, F, R, psi, P, D);
}

// Voigt's averages, which are the moduli themselves where the law is isotropic.
void td_law_engineering(const tdLaw *law, const double *parameters, double *young, double *poisson)
{
    static const double rest[4][3] = {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}};
    _Alignas(64) double P[36], D[4 * TD_TANGENT];
    diagonal(law, parameters, rest, P, D);
    double axial = 0, cross = 0, shear = 0;
    for (int i = 0; i < 3; i++)
    {
        int j = (i + 1) % 3, a = 4 * i, b = 4 * j, s = 3 * i + j;
        axial += D[4 * TD_PACKED(a, a)];
        cross += D[4 * (a > b ? TD_PACKED(a, b) : TD_PACKED(b, a))];
        shear += D[4 * TD_PACKED(s, s)];
    }
    double bulk = (axial + 2 * cross) / 9, mu = (axial - cross + 3 * shear) / 15;
    *young = 9 * bulk * mu / (3 * bulk + mu);
    *poisson = (3 * bulk - 2 * mu) / (2 * (3 * bulk + mu));
}

// ---------------------------------------------------------------- stable range

#define SCAN_STEPS 400 // of the logarithm of the stretch, each way from 1
#define SCAN_END   10.0

// The two tests: pulled along the first axis, and along the first two alike.
typedef enum path
{
    UNIAXIAL,
    BIAXIAL
} path;

static void stretches(path way, double pulled, double free, double out[3])
{
    out[0] = pulled;
    out[1] = way == UNIAXIAL ? free : pulled;
    out[2] = free;
}

// Lateral stress at a free stretch, for a law that does not split off the volume.
static double lateral(const tdLaw *law, const double *parameters, path way, double pulled, double free)
{
    _Alignas(64) double P[36];
    double s[4][3];
    for (int l = 0; l < 4; l++)
        stretches(way, pulled, free, s[l]);
    diagonal(law, parameters, s, P, NULL);
    return P[4 * 8];
}

// Nominal stress that holds the stretch `pulled`, NAN where there is none. Laws that split off the volume are
// taken at constant volume, where the pressure drops out; the others find the free stretch by bisection.
static double nominal(const tdLaw *law, const double *parameters, path way, double pulled, double *free)
{
    _Alignas(64) double P[36];
    double s[4][3], slope; // slope = d free / d pulled
    int n_free = way == UNIAXIAL ? 2 : 1, n_pulled = 3 - n_free;
    if (law->split)
    {
        *free = way == UNIAXIAL ? 1 / sqrt(pulled) : 1 / (pulled * pulled);
        slope = -n_pulled * *free / (n_free * pulled);
    }
    else
    {
        double low = *free / 1.2, high = *free * 1.2;
        if (!(lateral(law, parameters, way, pulled, low) < 0 && lateral(law, parameters, way, pulled, high) > 0))
            return NAN;
        for (int i = 0; i < 60; i++)
        {
            double middle = 0.5 * (low + high);
            if (lateral(law, parameters, way, pulled, middle) < 0)
                low = middle;
            else
                high = middle;
        }
        *free = 0.5 * (low + high);
        slope = 0;
    }
    for (int l = 0; l < 4; l++)
        stretches(way, pulled, *free, s[l]);
    diagonal(law, parameters, s, P, NULL);
    return P[0] + slope * (way == UNIAXIAL ? P[16] + P[32] : P[32]) / n_pulled;
}

int td_law_stable_range(const tdLaw *law, const double *parameters, double range[2])
{
    range[0] = 1 / SCAN_END;
    range[1] = SCAN_END;
    int limited = 0;
    for (int end = 0; end < 2; end++)
        for (path way = UNIAXIAL; way <= BIAXIAL; way++)
        {
            // Two axes pulled alike reach the same principal stretches at the root.
            double last = pow(SCAN_END, way == BIAXIAL ? 0.5 : 1), sign = end == 0 ? -1 : 1;
            double free = 1, pulled = 1, stress = nominal(law, parameters, way, 1, &free);
            for (int i = 1; i <= SCAN_STEPS; i++)
            {
                double next = pow(last, sign * i / SCAN_STEPS), value = nominal(law, parameters, way, next, &free);
                if (!(sign * (value - stress) > 0))
                {
                    limited = 1;
                    range[end] = end == 0 ? fmax(range[end], pulled) : fmin(range[end], pulled);
                    break;
                }
                pulled = next;
                stress = value;
            }
        }
    return limited;
}
