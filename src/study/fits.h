// SPDX-License-Identifier: Apache-2.0
// What came of td_fits_make().
#pragma once
#include "material/fit.h"
#include "study/material.h"
#include "tendril/study.h"

enum
{
    TD_FITS_MOST = TD_LAWS + TD_OGDEN_TERMS,
    TD_FITS_REMARKS = 24
};

/// One law.
typedef struct tdFitted
{
    tdFit fit;
    tdStatus status;
    tdError error;
    char name[40];
    char parameter[TD_FIT_PARAMETERS][24];
    bool modulus[TD_FIT_PARAMETERS];
    tdText material; ///< for a scene
    int n_remarks;
    char remarks[TD_FITS_REMARKS][240];
} tdFitted;

struct tdFits
{
    tdArena arena;
    const char *path;
    tdFitData data;
    tdFitSettings settings; ///< common to all laws
    int n;
    tdFitted results[TD_FITS_MOST]; ///< the best first
};

/// A value of parameter i in words: "450 kPa", "1.3".
void td_fits_value_text(const tdFit *fit, int i, double value, char *out, size_t size);
