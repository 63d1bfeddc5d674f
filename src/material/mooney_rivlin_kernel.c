// SPDX-License-Identifier: Apache-2.0
// Mooney-Rivlin: W = c10 (I1bar - 3) + c01 (I2bar - 3). Own parameters: c10, c01 [Pa], c10 with I1bar as is
// usual (S1 eq. 10 names them the other way round). Small strain: shear modulus 2 (c10 + c01).
#include "material/isochoric.h"

TD_FLAT tdEnergy energy(const double *own, td4 I1bar, td4 I2bar)
{
    return (tdEnergy){own[0] * (I1bar - 3.0) + own[1] * (I2bar - 3.0), td4_set(own[0]), td4_set(own[1]), td4_set(0)};
}

TD_ISOCHORIC_LAW(mooney_rivlin, energy, true, false)
