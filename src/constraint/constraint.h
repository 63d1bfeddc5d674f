// SPDX-License-Identifier: Apache-2.0
// Actuators and effectors in a step: what each is asked to do, their rows, and the forces they put on bodies.
//
//     displacement d_a = sign (measure - at rest)      row J_a = d d_a / dq      force on the body J_a' effort_a
//
// so that effort times change of displacement is work done on the body: tension and shortening of a cable, pressure and
// growth of a cavity. With friction in a cable the row of the forces F differs from that of the displacement.
//
// A translation or rotation holds coordinates, q_held = q_held(u): its displacement is u, its effort what the
// reactions do along dq_held/du.
#pragma once
#include "core/model.h"

typedef struct tdState tdState;

/// What is known of an actuator in a step. Its unknown is the effort, or u where coordinates are held.
typedef enum tdRole
{
    TD_ROLE_EFFORT,       // effort is given; u where coordinates are held is unknown
    TD_ROLE_DISPLACEMENT, // displacement is given; effort is unknown, within its limits
    TD_ROLE_GAS,          // cavity: amount of gas is given
    TD_ROLE_INVERSE,      // found by inverse control
    TD_ROLE_SERVO         // of a joint: its body finds the effort
} tdRole;

/// By actuator or effector; part of the state.
typedef struct tdConstraintState
{
    // kept from step to step
    double *effort, *displacement; ///< by actuator; displacement of an elastic cable with its stretch
    double *slide;                 ///< by actuator, -1..1: sense in which the cable slides
    double *value;                 ///< 3 by effector
    double *wanted;                ///< 3 by effector: target set by the caller; NAN: the scene's

    // latch
    bool inverse;                                                          ///< some effector has a target
    double *effort_start, *displacement_start, *slide_start, *value_start; ///< at the start of the step
    double *effort_good, *displacement_good; ///< at the last good increment of a static step
    tdRole *role;
    double *given;                       ///< by actuator: effort, displacement or gas
    double *effort_limit, *travel_limit; ///< 2 by actuator: least and most in this step, rates included
    double *target;                      ///< 3 by effector; NAN: none

    // constrain
    double *x, *gradient, *share; ///< points of one measure, for the moment only
    double *row;                  ///< of one, for the moment only
    double *J, *F;                ///< values of the rows: of displacements and of forces
    double *travel;               ///< by actuator: displacement at the iterate, without the stretch of a cable
    double *error;                ///< 3 by effector: how far from its target
    double *slide_tried;          ///< 2 by actuator: slide of the linearization before and what came of it; NAN: none

    struct tdCondensed *condensed; ///< of constraint/condense.h; NULL: no effort can be unknown
} tdConstraintState;

tdStatus td_constraint_create(const tdModel *model, tdState *state, tdError *error);

/// Start of a step: what the inputs, targets and limits are.
void td_constraint_start(const tdModel *model, tdState *state);
/// After inputs were latched: roles and given values. share: of the way of a static step.
void td_constraint_latch(const tdModel *model, tdState *state, double share);
/// reads q_c, efforts      writes rows; subtracts s J' effort from m; adds follower stiffness when `tangent`
void td_constrain(const tdModel *model, tdState *state, bool tangent);
/// m -= s J' change, for a change of the effort of one actuator.
void td_constraint_push(const tdModel *model, tdState *state, int actuator, double change);
/// stiffen.c: adds the stiffness of an actuator, whose points are in x and whose gradient is in gradient, to A of
/// bodies; share: of a cable with friction.
void td_constraint_stiffen(const tdModel *model, tdState *state, int actuator, const double *share);
/// First pass of a step of one linearization, after td_constrain: what the motion that is expected of other bodies does
/// to cables between bodies.      reads q_c, v, v_new, efforts      writes m
void td_constraint_lead(const tdModel *model, tdState *state);
/// b += s effort dF/dslide of a cable with friction, at q_c.
void td_constraint_slide_force(const tdModel *model, tdState *state, int actuator, double *b);
/// How far the sliding at the iterate is from the one that friction was taken for, 0 to 2.
double td_constraint_lag(const tdModel *model, const tdState *state);
/// An increment was accepted (or not: efforts go back to the last that was).
void td_constraint_accept(const tdModel *model, tdState *state);
void td_constraint_reject(const tdModel *model, tdState *state);
/// End of a step: displacements, efforts of held coordinates and values of effectors at the new q.
void td_constraint_commit(const tdModel *model, tdState *state);
/// Values at q, without a step.
void td_constraint_measure(const tdModel *model, tdState *state);

/// Positions x[3 n] of the points of a measure for the coordinates q of all bodies.
void td_constraint_points(const tdModel *model, const tdState *state, const tdMeasure *measure, const double *q,
                          double *x);
/// Carries forces f[3 n] at these points over to the coordinates, which are q: one row.
void td_constraint_carry(const tdModel *model, const tdState *state, const tdMeasure *measure, const double *q,
                         const double *f, double *row);
/// Where the rows of a measure are taken: those between bodies at q_r.
const double *td_measure_place(const tdState *state, const tdMeasure *measure);
/// Product of a row with a vector over all coordinates.
double td_row_dot(const tdModel *model, const double *values, int row, const double *x);
/// Whether the integrator is one for inverse control.
tdStatus td_inverse_suits(const tdModel *model, int line, tdError *error);
/// Whether the displacement of an actuator has limits, by the scene.
bool td_actuator_has_stops(const tdActuator *actuator);
/// Size of an effector's values, for relative errors.
double td_effector_size(const tdModel *model, const tdEffector *effector);
/// Limits of an actuator in this step that hold: of `value` against limit[2].
int td_bound_of(const double limit[2], double value, double size);
