// SPDX-License-Identifier: Apache-2.0
// What 'control' keeps of a run: how near effectors came to their goals, what actuators did, how long it took.
#pragma once
#include "cli.h"
#include "output/csv.h"
#include "report/page.h"

#include <limits.h>

// A row: time, seconds of the solver and of the step; then errors of the effectors with a goal, errors of what was
// measured of them, efforts and displacements of the actuators, goals and values of the effectors (3 each).
enum
{
    TRACK_TIME,
    TRACK_SOLVE,
    TRACK_STEP,
    TRACK_BEFORE
};

typedef struct trackTable
{
    tdControl *control;
    int n_effectors, *effector; ///< that have a goal
    int n_actuators;
    bool measured;
    int64_t n, capacity;
    int width;
    double *rows; ///< n x width
    double *line; ///< of a CSV table
    tdCsv *actuation, *tracking;
    char folder[PATH_MAX];
    int64_t out_of_reach, limited, stopped, blocked; ///< steps
    int blocked_by[2];                               ///< bodies whose contact blocked last
    double violation;                                ///< largest
} trackTable;

static inline int track_error_column(int k)
{
    return TRACK_BEFORE + k;
}

static inline int track_measured_column(const trackTable *table, int k)
{
    return TRACK_BEFORE + table->n_effectors + k;
}

static inline int track_effort_column(const trackTable *table, int a)
{
    return TRACK_BEFORE + 2 * table->n_effectors + a;
}

static inline int track_displacement_column(const trackTable *table, int a)
{
    return track_effort_column(table, table->n_actuators) + a;
}

static inline int track_goal_column(const trackTable *table, int k)
{
    return track_displacement_column(table, table->n_actuators) + 3 * k;
}

static inline int track_value_column(const trackTable *table, int k)
{
    return track_goal_column(table, table->n_effectors) + 3 * k;
}

static inline double track_at(const trackTable *table, int64_t row, int column)
{
    return table->rows[row * table->width + column];
}

/// For the effectors that have a goal. With a folder (else NULL) it writes there, a row a step,
///
///   actuation.csv  effort and displacement of every actuator
///   tracking.csv   goal, value and error of effectors (and what was measured of them), residual, limits
///
/// and at the end tracking.png and actuation.png.
tdStatus track_open(const tdModel *model, tdControl *control, const char *folder, bool measured, trackTable **out,
                    tdError *error);
void track_free(trackTable *table);

/// Adds a step that was taken in `seconds`.
tdStatus track_add(trackTable *table, const tdModel *model, const tdState *state, double seconds, tdError *error);
/// Closes the tables and draws the pictures.
tdStatus track_finish(trackTable *table, const tdModel *model, tdError *error);

/// Errors by effector, over all steps and from the step where the start is over: the first whose error is not above
/// the median. Percentiles of times. Files.
void track_json(const trackTable *table, const tdModel *model, tdJson *json);
void track_print(const trackTable *table, const tdModel *model);

typedef struct trackStatistics
{
    int64_t from; ///< row
    double mean, max, rms;
} trackStatistics;
trackStatistics track_statistics(const trackTable *table, int column, bool settled);
/// 50, 90, 99 and 100 of a hundred.
void track_percentiles(const trackTable *table, int column, double out[4]);

/// Values of another run to be shown beside: of the first effector, 3 a row; and its errors. NULL: none.
typedef struct trackOther
{
    const char *name;
    const double *value, *error;
} trackOther;

/// A section's plots: paths of effectors, errors and actuators over time. tracking_page.c
tdStatus track_page(tdPage *page, const trackTable *table, const tdModel *model, const trackOther *other,
                    tdError *error);
