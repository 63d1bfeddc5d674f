// SPDX-License-Identifier: Apache-2.0
// Arruda-Boyce, the eight-chain model with the inverse Langevin function as a series of five terms:
//     W = mu sum_i C_i / lambda_m^(2 i - 2) (I1bar^i - 3^i),   C = 1/2, 1/20, 11/1050, 19/7000, 519/673750
// Own parameters: mu [Pa], lambda_m > 1, the stretch at which the chains lock. Small strain: shear modulus
//     mu (1 + 3/(5 l) + 99/(175 l^2) + 513/(875 l^3) + 42039/(67375 l^4)),   l = lambda_m^2
#include "material/isochoric.h"

TD_FLAT tdEnergy energy(const double *own, td4 I1bar, td4 I2bar)
{
    (void)I2bar;
    const double C[5] = {1.0 / 2, 1.0 / 20, 11.0 / 1050, 19.0 / 7000, 519.0 / 673750};
    double a[5], power = own[0], at_rest = 0, three = 3;
    for (int i = 0; i < 5; i++, power /= own[1] * own[1], three *= 3)
    {
        a[i] = C[i] * power;
        at_rest += a[i] * three;
    }
    td4 x = I1bar, W = td4_set(a[4]), d = td4_set(0), dd = td4_set(0);
    for (int i = 3; i >= -1; i--) // Horner for the value and both derivatives
    {
        dd = dd * x + 2.0 * d;
        d = d * x + W;
        W = W * x + (i >= 0 ? a[i] : 0.0);
    }
    return (tdEnergy){W - at_rest, d, td4_set(0), dd};
}

TD_ISOCHORIC_LAW(arruda_boyce, energy, false, true)
