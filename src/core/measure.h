// SPDX-License-Identifier: Apache-2.0
// Quantities that constraints act on: a length, a volume, a position, an orientation, as functions of the
// positions of material points. Pure geometry: nothing here knows of bodies or of the step.
//
// Points are gathered from sets (src/core/body.h), each of one body or fixed in space; x holds the positions of all
// of them, set after set. A row of the condensed problem is the gradient of a measure, carried over to the
// coordinates of the bodies by tdBodyOps.
#pragma once
#include "core/body.h"

typedef enum tdMeasureKind
{
    TD_MEASURE_LENGTH,      // of the polygon through all points in order
    TD_MEASURE_VOLUME,      // enclosed by triangles between the points, outward normals
    TD_MEASURE_ALONG,       // direction . (x - rest) of the only point
    TD_MEASURE_POSITION,    // 3 rows: of the only point
    TD_MEASURE_ORIENTATION, // 3 rows: rotation vector of the best fit of the points to their rest
    TD_MEASURE_DIRECTION,   // 3 rows: `direction` turned by that best fit
    TD_MEASURE_CONTACT,     // of the contacts between two bodies: no geometry, no points
    TD_MEASURE_COORDINATE   // ratio times the coordinate of the only set, plus offset: a joint's position, no points
} tdMeasureKind;

typedef struct tdMeasure
{
    tdMeasureKind kind;
    int rows; ///< 1 or 3
    int n_sets;
    tdPointSet *sets;
    int32_t n;            ///< points of all sets
    double *rest;         ///< 3 n: positions at rest
    int32_t n_tris;       ///< volume
    int32_t *tris;        ///< 3 n_tris points
    double direction[3];  ///< along, direction: unit vector
    double ratio, offset; ///< coordinate
} tdMeasure;

/// value[rows]; gradient[rows][3 n], NULL: not wanted. A segment of no length has no direction and pulls at nothing.
/// Orientation: the rotation vector nearest to `near` (3 numbers, NULL: zero), so that it does not jump at half a turn,
/// and `gradient` is of the spatial angular motion: d theta with R <- exp(d theta) R. Points on a line leave the turn
/// about it open: the least one is taken, and it does not move. At whole turns any axis is right and that of `near` is
/// taken; next to them a rotation vector other than zero changes fast. Nothing is ever divided by zero.
void td_measure(const tdMeasure *measure, const double *x, const double *near, double *value, double *gradient);

/// Length with friction (capstan law): the share of the pulling tension in each segment, share[n - 1]. The last
/// segment, at the pull point, has 1; across the point between two segments at an angle t the tension falls by
/// exp(-turn t) towards the tied end (turn = friction coefficient times -1..1, the sense of sliding).
void td_cable_shares(const tdMeasure *measure, const double *x, double turn, double *share);
/// gradient[3 n] of sum_k share_k |p_k+1 - p_k| at fixed shares; NULL: all 1.
void td_cable_gradient(const tdMeasure *measure, const double *x, const double *share, double *gradient);

/// Second derivatives of a measure with one row: emits blocks H = d2 value / dx_i dx_j (row-major). For i != j, H
/// stands for both (i, j) and, transposed, (j, i). A pair may be emitted several times, also as (j, i); blocks add up.
/// share: of a cable's segments, NULL: all 1 (ignored for volumes).
typedef void (*tdStiffnessFn)(void *context, int32_t i, int32_t j, const double H[9]);
void td_measure_stiffness(const tdMeasure *measure, const double *x, const double *share, tdStiffnessFn emit,
                          void *context);

/// Error of an effector, row by row: value - target; of orientations the rotation vector of R(value) R(target)',
/// whose derivative, near the target, is the gradient.
void td_measure_error(tdMeasureKind kind, const double *value, const double *target, double *error);

/// Dimension of what points at rest span, 0 to 3: one place, a line, a plane, space. An orientation needs 2.
int td_measure_fit_rank(int32_t n, const double *rest);
