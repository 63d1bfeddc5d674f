// SPDX-License-Identifier: Apache-2.0
// Loads from shapes: the efforts of the actuators that nothing drives, such that points of the body come nearest to
// where they were measured,
//
//     min over x of |y(x) - measured|^2        y: the points in equilibrium under the efforts x
//
// which is the inverse problem of control with every measured point as an effector. The deviations are those of a
// linear fit at the solution, sigma^2 (E'E)^-1 with E = dy/dx by central differences.
#pragma once
#include "core/state.h"
#include "tendril/study.h"

#define TD_ESTIMATE_POINTS   20000
#define TD_ESTIMATE_UNKNOWNS 100

/// Measured points of a body.
typedef struct tdMarks
{
    const char *file;
    int n;
    double *rest;     ///< 3 n: where they are on the body at rest [m]
    double *measured; ///< 3 n
    int *line;        ///< n: in the file
    int body;
} tdMarks;

/// Points of arrays, checked.
tdStatus td_marks_take(int n, const double *rest, const double *measured, tdArena *arena, tdMarks *marks,
                       tdError *error);
/// Reads x0, y0, z0, x, y, z of each point, in SI units or with a unit in the header ("x0 [mm]").
tdStatus td_marks_read(const char *path, tdArena *arena, tdMarks *marks, tdError *error);

/// The scene made static, with the marks as its effectors and unknown actuators driven by effort. `body`: name of the
/// body that the marks are on; NULL when the scene has one only. Sets marks->body.
tdStatus td_estimate_load(const char *scene, const char *body, tdMarks *marks, const tdSettings *settings,
                          tdModel **out, tdError *error);

/// Start zero-initialized; memory of the arena.
typedef struct tdEstimate
{
    int n;             ///< unknowns
    int *actuator;     ///< n: whose efforts they are
    double *effort;    ///< n
    double *deviation; ///< n: standard deviation; infinite where the points do not tell
    bool *bound;       ///< n: a limit of the actuator holds
    double *fitted;    ///< 3 x marks: where the model puts the points
    double residual;   ///< root of the mean square of the coordinates' errors [m]
    double sigma;      ///< of one coordinate [m]: given, or from the residual
    int steps;         ///< equilibria that were looked for
    const tdEstimateSettings *what;
} tdEstimate;

/// what: `noise` and `progress` of it. The state is left at the estimate.
tdStatus td_estimate(const tdModel *model, tdState *state, const tdMarks *marks, const tdEstimateSettings *what,
                     tdArena *arena, tdEstimate *out, tdError *error);
