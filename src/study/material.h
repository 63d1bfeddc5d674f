// SPDX-License-Identifier: Apache-2.0
// Stresses of materials in print and in pictures.
#pragma once
#include "material/specimen.h"
#include "render/plot.h"

#define TD_MATERIAL_CURVE 200 // points of a curve

/// One panel of a picture: its axis, and curves in Pa.
typedef struct tdMaterialPanel
{
    tdTest test;
    int n;
    tdSeries *series;
    double x_range[2], y_range[2]; ///< y [Pa]; NAN: from the data
} tdMaterialPanel;

/// Draws panels side by side, all in the unit that suits the largest stress. Changes the series' numbers.
tdStatus td_material_draw(const char *path, const char *title, int n, tdMaterialPanel *panels, tdError *error);

/// Stresses of a specimen at TD_MATERIAL_CURVE places from low to high; NAN where it has no answer.
void td_material_curve(const tdSpecimen *specimen, tdTest test, double low, double high, double *x, double *y);

/// "450 kPa", three to five digits.
void td_material_pressure(double pascal, char *out, size_t size);
/// "1 to 2.31", "all" when the whole range that is looked at is stable.
void td_material_range(tdTest test, const double range[2], char *out, size_t size);
/// Whether td_response_stable() found an end within what it looks at.
bool td_material_limited(tdTest test, const double range[2]);
