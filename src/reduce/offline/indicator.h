// SPDX-License-Identifier: Apache-2.0
// What the indicator of a reduced body (src/reduce/reduced_check.c) says of its true error, learned from motions at
// which full order is known:
//
//     error <= offset + slope indicator in 95 of 100 cases
//
// warned above `threshold` and `far`, which no motion inside the trained ranges reached.
#pragma once
#include "base/status.h"

typedef struct tdIndicatorFit
{
    double slope;     ///< median of error / indicator; NAN: none
    double offset;    ///< what has to be added to `slope indicator` so that 95 of 100 errors are below
    double threshold; ///< of the indicator: TD_INDICATOR_MARGIN times the largest that was seen; NAN: none
    double far;       ///< of the distance, likewise, but at least TD_INDICATOR_FAR and at most TD_INDICATOR_FAREST
    double factor;    ///< nine of ten errors lie within this factor of `slope indicator`
    int64_t n;        ///< pairs that counted
} tdIndicatorFit;

/// Held-out motions are few: what is a little above all of them need not be wrong.
#define TD_INDICATOR_MARGIN 2
/// Distance that is warned of: what of a shape lies outside of training, beside the largest shape there. A body that
/// moves overshoots what it was at rest; a shape of which a quarter is not known is not to be trusted, whatever was
/// seen.
#define TD_INDICATOR_FAR    0.03
#define TD_INDICATOR_FAREST 0.25

/// Indicator, distance (NULL: not known) and true relative error of steps, as in tdReport. What is not finite does not
/// count, nor does a step without an indicator for the slope; without any that does the slope is NAN.
tdStatus td_indicator_calibrate(int64_t n, const double *indicator, const double *distance, const double *error_found,
                                tdIndicatorFit *fit, tdError *error);
