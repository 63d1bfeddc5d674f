// SPDX-License-Identifier: Apache-2.0
// Neo-Hookean: W = mu/2 (I1bar - 3). Own parameters: mu [Pa] (= 2 C10). Small strain: shear modulus mu.
#include "material/isochoric.h"

TD_FLAT tdEnergy energy(const double *own, td4 I1bar, td4 I2bar)
{
    (void)I2bar;
    double half = 0.5 * own[0];
    return (tdEnergy){half * (I1bar - 3.0), td4_set(half), td4_set(0), td4_set(0)};
}

TD_ISOCHORIC_LAW(neo_hookean, energy, false, false)
