// SPDX-License-Identifier: Apache-2.0
// What the verification tests share: scenes made by printf, figures on stdout, extrapolation.
//
// Every figure is printed as one line of fields parted by tabs,
//     VERIFY  case  reference  expected  measured  error  tolerance
// from which scripts/verification makes the table in docs/verification.md; then it is checked. Other tables of
// that page are made of lines "ROW  table  cell  cell ...", the first of a table its head.
#pragma once
#include "body/soft.h"
#include "test.h"

#include <tendril/tendril.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VERIFY_SLOW 1 // under a sanitizer: one level of refinement less, tolerances to match
#else
#define VERIFY_SLOW 0
#endif

/// Prints a figure and checks |measured - expected| <= tolerance (relative: times |expected|).
static inline void verify_print(const char *name, const char *reference, double expected, double measured,
                                bool relative, double tolerance)
{
    double error = fabs(measured - expected) / (relative ? fabs(expected) : 1);
    printf("VERIFY\t%s\t%s\t%.6g\t%.6g\t", name, reference, expected, measured);
    printf(relative ? "%.2g %%\t%g %%\n" : "%.2g\t%g\n", relative ? 100 * error : error,
           relative ? 100 * tolerance : tolerance);
    fflush(stdout);
    if (!(error <= tolerance))
        fail_msg("%s: %.9g, expected %.9g (%s): off by %.3g, allowed are %.3g", name, measured, expected, reference,
                 error, tolerance);
}

static inline void verify_relative(const char *name, const char *reference, double expected, double measured,
                                   double tolerance)
{
    verify_print(name, reference, expected, measured, true, tolerance);
}

static inline void verify_absolute(const char *name, const char *reference, double expected, double measured,
                                   double tolerance)
{
    verify_print(name, reference, expected, measured, false, tolerance);
}

/// A figure that must lie above (below) a bound.
static inline void verify_bound(const char *name, const char *reference, bool above, double bound, double measured)
{
    printf("VERIFY\t%s\t%s\t%s %.6g\t%.6g\t\t\n", name, reference, above ? ">" : "<", bound, measured);
    fflush(stdout);
    if (!(above ? measured > bound : measured < bound))
        fail_msg("%s: %.9g, expected %s %.9g (%s)", name, measured, above ? ">" : "<", bound, reference);
}

static inline void verify_above(const char *name, const char *reference, double bound, double measured)
{
    verify_bound(name, reference, true, bound, measured);
}

static inline void verify_below(const char *name, const char *reference, double bound, double measured)
{
    verify_bound(name, reference, false, bound, measured);
}

/// The model of a scene given by a format.
TD_PRINTF(1, 2) static inline tdModel *verify_model(const char *format, ...)
{
    char text[4096];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    assert_true(length > 0 && length < (int)sizeof text);
    tdSettings settings = td_default_settings();
    tdModel *model = NULL;
    tdError error = {0};
    assert_ok(td_model_parse(text, (size_t)length, "verify", NULL, &settings, &model, &error), error);
    return model;
}

static inline tdState *verify_state(const tdModel *model)
{
    tdSettings settings = td_default_settings();
    tdState *state = NULL;
    tdError error = {0};
    assert_ok(td_state_create(model, &settings, &state, &error), error);
    return state;
}

static inline void verify_step(const tdModel *model, tdState *state)
{
    tdStatus status = td_step(model, state);
    assert_ok(status, td_state_report(state)->error);
}

/// The soft body of a model of one body. Tests set loads and displacements that no scene can express.
static inline tdSoft *verify_soft(tdModel *model)
{
    return model->bodies[0].data;
}

/// Limit of a sequence whose error falls by four when the mesh is halved, from its two last values.
static inline double verify_limit(double coarse, double fine)
{
    return fine + (fine - coarse) / 3;
}

/// Limit of a sequence whose error falls by a constant factor that its three values tell (Aitken): for solutions
/// with a singular point, where meshes converge by another order than that of the elements.
static inline double verify_aitken(const double u[3])
{
    return u[2] + (u[2] - u[1]) * (u[2] - u[1]) / (2 * u[1] - u[0] - u[2]);
}
