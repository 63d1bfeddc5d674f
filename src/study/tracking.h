// SPDX-License-Identifier: Apache-2.0
// What is kept of a run under control: how near effectors came to their goals, what actuators did, how long it took.
// td_tracking_create() and its kin are in tendril/study.h.
#pragma once
#include "output/csv.h"
#include "report/page.h"
#include "tendril/study.h"

#include <limits.h>

// A row: time, seconds of the solver and of the step; then errors of the effectors with a goal, errors of what was
// measured of them, efforts and displacements of the actuators, goals and values of the effectors (3 each).
enum
{
    TD_TRACKING_TIME,
    TD_TRACKING_SOLVE,
    TD_TRACKING_STEP,
    TD_TRACKING_BEFORE
};

struct tdTracking
{
    const tdModel *model;
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
};

static inline int td_tracking_error_column(int k)
{
    return TD_TRACKING_BEFORE + k;
}

static inline int td_tracking_measured_column(const tdTracking *table, int k)
{
    return TD_TRACKING_BEFORE + table->n_effectors + k;
}

static inline int td_tracking_effort_column(const tdTracking *table, int a)
{
    return TD_TRACKING_BEFORE + 2 * table->n_effectors + a;
}

static inline int td_tracking_displacement_column(const tdTracking *table, int a)
{
    return td_tracking_effort_column(table, table->n_actuators) + a;
}

static inline int td_tracking_goal_column(const tdTracking *table, int k)
{
    return td_tracking_displacement_column(table, table->n_actuators) + 3 * k;
}

static inline int td_tracking_value_column(const tdTracking *table, int k)
{
    return td_tracking_goal_column(table, table->n_effectors) + 3 * k;
}

static inline double td_tracking_at(const tdTracking *table, int64_t row, int column)
{
    return table->rows[row * table->width + column];
}

typedef struct tdTrackingStatistics
{
    int64_t from; ///< row
    double mean, max, rms;
} tdTrackingStatistics;
/// Of a column; settled: from the row where the start is over, the first that is not above the median.
tdTrackingStatistics td_tracking_statistics(const tdTracking *table, int column, bool settled);
/// 50, 90, 99 and 100 of a hundred.
void td_tracking_percentiles(const tdTracking *table, int column, double out[4]);

/// Values of another run to be shown beside: of the first effector, 3 a row; and its errors. NULL: none.
typedef struct tdTrackingOther
{
    const char *name;
    const double *value, *error;
} tdTrackingOther;

/// A section's plots: paths of effectors, errors and actuators over time. tracking_page.c
tdStatus td_tracking_page(tdPage *page, const tdTracking *table, const tdTrackingOther *other, tdError *error);
