// SPDX-License-Identifier: Apache-2.0
// What the indicator of a reduced body (src/reduce/reduced_check.c) says of its true error, learned from motions at
// which full order is known:
//
//     error ~ slope indicator       warned above `threshold`, which no motion inside the trained ranges reached
#pragma once
#include "base/status.h"

typedef struct tdIndicatorFit
{
    double slope; ///< median of error / indicator: half of the steps have a larger error than is foretold; NAN: none
    double threshold; ///< of the indicator: TD_INDICATOR_MARGIN times the largest that was seen; NAN: none
    double factor;    ///< nine of ten errors lie within this factor of what is foretold
    int64_t n;        ///< pairs that counted
} tdIndicatorFit;

/// Held-out motions are few: what is a little above all of them need not be wrong.
#define TD_INDICATOR_MARGIN 2

/// Pairs of indicator and true relative error, both as in tdReport. Pairs that are not finite or of no indicator do not
/// count; without any the fit is NAN, which calibrates nothing.
tdStatus td_indicator_calibrate(int64_t n, const double *indicator, const double *error_found, tdIndicatorFit *fit,
                                tdError *error);
