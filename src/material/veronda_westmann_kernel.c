// SPDX-License-Identifier: Apache-2.0
// Veronda-Westmann, for soft tissue: W = c1 (exp(c2 (I1bar - 3)) - 1) - c1 c2/2 (I2bar - 3).
// Own parameters: c1 [Pa], c2 (a number). Small strain: 2 (W_1 + W_2) = 2 (c1 c2 - c1 c2/2), so the shear
// modulus is c1 c2. The exponential goes on as a parabola beyond TD_EXPONENT.
#include "material/isochoric.h"

TD_FLAT tdEnergy energy(const double *own, td4 I1bar, td4 I2bar)
{
    double c1 = own[0], c2 = own[1];
    tdJet e = td_exponential(c2 * (I1bar - 3.0));
    return (tdEnergy){c1 * (e.v - 1.0) - 0.5 * c1 * c2 * (I2bar - 3.0), c1 * c2 * e.d, td4_set(-0.5 * c1 * c2),
                      c1 * c2 * c2 * e.dd};
}

TD_ISOCHORIC_LAW(veronda_westmann, energy, true, true)
