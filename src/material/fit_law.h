// SPDX-License-Identifier: Apache-2.0
// What the fit knows of each law: its parameters p, the coordinates u in which it searches, and where it starts.
#pragma once
#include "material/fit.h"

/// Coordinates of p, S the largest measured stress:
///     moduli            u = ln(p / S)              lambda_m          u = ln(lambda_m - 1)
///     mooney_rivlin     u = p / S >= 0             veronda_westmann  u = ln(c1 c2 / S), ln c2
///     exponents         u = alpha
/// so that every term of a law adds a positive stiffness.
void td_fit_publish(const tdFitSettings *settings, double S, const double *u, double *p);
/// `strain` is the largest I1 - 3 of the data.
void td_fit_bounds(const tdFitSettings *settings, double strain, double *low, double *high);

/// Start number i with moduli that add up to S, for the caller to scale; false past the last. Not Ogden.
bool td_fit_start(const tdFitSettings *settings, double strain, int i, double *u);
/// Multiplies the moduli by a factor > 0.
void td_fit_scale(const tdFitSettings *settings, double factor, double *u);

/// The material of a scene with these parameters, and compiled. False when the law refuses them.
bool td_fit_compile(const tdFitSettings *settings, const double *p, tdSceneMaterial *material, double *parameters);
/// Names of the parameters of one term.
const char *const *td_fit_names(tdLawKind law);
