// SPDX-License-Identifier: Apache-2.0
// What the benchmarks share.
#pragma once
#include "cli.h"

#define BENCH_MOST_RUNS 101

typedef struct spread
{
    double median, low, high;
} spread;

/// Sorts the values.
spread bench_spread(double *values, int n);
void bench_json_spread(tdJson *json, const char *key, spread s);

/// Energy, stress and tangent of one point, every law in each of its forms.
tdStatus bench_laws(int runs, bool print, tdJson *json, tdError *error);

/// The inverse problem of one linearization along a motion: each mode, warm and cold.
tdStatus bench_inverse(bool print, tdJson *json, tdError *error);

/// Robots along their paths by inverse control, one thread.
tdStatus bench_control(int runs, bool print, tdJson *json, tdError *error);
/// Force and stiffness of reduced St. Venant-Kirchhoff bodies from their polynomials; a plot where there is a folder.
tdStatus bench_stvk(int runs, const tdSettings *settings, const char *folder, bool print, tdJson *json, tdError *error);
/// Steps of a hyper-reduced arm; dense: rate of a dense product on one core [flop/s].
tdStatus bench_reduced(const tdSettings *settings, double dense, bool print, tdJson *json, tdError *error);
/// Contact solvers: condensation of full-order bodies, towers and chains.
tdStatus bench_sap(int runs, int threads, bool print, tdJson *json, tdError *error);
