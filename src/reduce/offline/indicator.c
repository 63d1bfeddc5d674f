// SPDX-License-Identifier: Apache-2.0
#include "reduce/offline/indicator.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(int64_t n, const double *sorted)
{
    return 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
}

#define SHARE 0.95 // of the errors that are to be below what is foretold

// left: room for n.
static double offset_of(int64_t n, const double *indicator, const double *error_found, double slope, double *left)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(indicator[i]) && isfinite(error_found[i]))
            left[count++] = error_found[i] - slope * indicator[i];
    if (count == 0)
        return 0;
    qsort(left, (size_t)count, sizeof *left, ascending);
    return fmax(left[(int64_t)ceil(SHARE * (double)count) - 1], 0);
}

tdStatus td_indicator_calibrate(int64_t n, const double *indicator, const double *distance, const double *error_found,
                                tdIndicatorFit *fit, tdError *error)
{
    *fit = (tdIndicatorFit){.slope = NAN, .threshold = NAN, .far = TD_INDICATOR_FAR, .factor = NAN};
    double *ratio = td_take((size_t)n, sizeof *ratio), largest = 0;
    if (ratio == NULL)
        return td_fail_memory(error, "the calibration of the indicator");
    for (int64_t i = 0; i < n; i++)
        if (isfinite(indicator[i]) && indicator[i] > 0 && isfinite(error_found[i]) && error_found[i] >= 0)
        {
            ratio[fit->n++] = error_found[i] / indicator[i];
            largest = fmax(largest, indicator[i]);
        }
    if (fit->n > 0)
    {
        // A median, because a ratio of two small numbers may be anything.
        qsort(ratio, (size_t)fit->n, sizeof *ratio, ascending);
        fit->slope = middle(fit->n, ratio);
        fit->threshold = TD_INDICATOR_MARGIN * largest;
        for (int64_t i = 0; i < fit->n && fit->slope > 0; i++)
            ratio[i] = fmax(ratio[i] / fit->slope, fit->slope / ratio[i]);
        qsort(ratio, (size_t)fit->n, sizeof *ratio, ascending);
        fit->factor = ratio[(fit->n - 1) * 9 / 10];
    }
    fit->offset = offset_of(n, indicator, error_found, fit->slope > 0 ? fit->slope : 0, ratio);
    for (int64_t i = 0; i < n && distance != NULL; i++)
        if (isfinite(distance[i]))
            fit->far = fmin(fmax(fit->far, TD_INDICATOR_MARGIN * distance[i]), TD_INDICATOR_FAREST);
    free(ratio);
    return TD_OK;
}
