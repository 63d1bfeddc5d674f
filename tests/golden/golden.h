// SPDX-License-Identifier: Apache-2.0
// Golden trajectories: what shipped scenes have come to after many steps, recorded in tests/golden/recorded, so that a
// change of the solver that was not meant to change the physics is seen. Kernels differ in rounding from one processor
// to another, hence numbers and not hashes are recorded, and compared to 1e-9 of what they are measured by; hashes are
// compared between runs on the same machine.
#pragma once
#include "base/status.h"

#define GOLDEN_TOLERANCE 1e-9
#define GOLDEN_STEPS     200

/// A scene is run as it is, or with another integrator.
typedef enum goldenMethod
{
    GOLDEN_AS_IT_IS,
    GOLDEN_MIDPOINT,
    GOLDEN_THETA,
    GOLDEN_NEWMARK,
    GOLDEN_NEWMARK_DAMPED,
    GOLDEN_SYMPLECTIC,
    GOLDEN_STATIC
} goldenMethod;

typedef struct goldenCase
{
    const char *name;    ///< also of the file of its record
    const char *scene;   ///< below the root of the sources
    int steps;           ///< 0: GOLDEN_STEPS, or the scene's own if these are fewer
    int bits;            ///< steps over which hashes are compared; 0: 20
    bool quick;          ///< so small that it is run under sanitizers too
    const char *rom;     ///< reduced model, below the root
    goldenMethod method; ///< in the place of the scene's
    double time_step;    ///< [s]; 0: the scene's
    bool newton;         ///< steps to convergence
    double tolerance;    ///< of Newton's method, and of contact in it; 0: 1e-11
    double hurry;        ///< how many times as fast the scene's motion is, so that few steps see it; 0: once
    bool nlcp;           ///< contact by Gauss-Seidel
    const char *goals;   ///< closed loop along this file: all actuators are found by inverse control
    double offset;       ///< closed loop: the robot is this far from its model along x [m]
    bool spring;         ///< a spring pulls at the last node of the first body
} goldenCase;

/// Ends with a case without a name.
extern const goldenCase golden_cases[];

// ---------------------------------------------------------------- running (run.c)

typedef struct goldenRun
{
    const goldenCase *given;
    const tdModel *model;
    tdState *state;
    tdControl *control; ///< NULL: the scene runs by itself
    int steps;          ///< that it is run for
} goldenRun;

tdStatus golden_load(const goldenCase *given, tdModel **out, tdError *error);
tdStatus golden_start(const goldenCase *given, const tdModel *model, int threads, bool portable, goldenRun *run,
                      tdError *error);
tdStatus golden_step(goldenRun *run, tdError *error);
/// Another state in the place of the run's, read from a checkpoint.
tdStatus golden_resume(goldenRun *run, int threads, const char *checkpoint, tdError *error);
void golden_end(goldenRun *run);

// ---------------------------------------------------------------- what is recorded (record.c)

/// Numbers that are measured by the same scale: differences count as shares of it.
typedef struct goldenVector
{
    char name[96];
    double scale;
    int n;
    double *x;
} goldenVector;

typedef struct goldenRecord
{
    int steps, n;
    goldenVector *vectors;
} goldenRecord;

/// Runs a case to its end.
tdStatus golden_take(const goldenCase *given, const tdModel *model, bool portable, goldenRecord *out, tdError *error);
tdStatus golden_write(const goldenCase *given, const goldenRecord *record, const char *path, tdError *error);
tdStatus golden_read(const char *path, goldenRecord *out, tdError *error);
void golden_free(goldenRecord *record);

/// The largest difference as a share of its scale; infinite where the two are not of the same make.
typedef struct goldenDifference
{
    double share;
    char where[200];
} goldenDifference;

goldenDifference golden_compare(const goldenRecord *is, const goldenRecord *was);
