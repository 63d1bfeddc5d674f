// SPDX-License-Identifier: Apache-2.0
// The condensed problem of one linearization. Its unknowns y are efforts of rows, or u of held coordinates:
//
//     X_j = dv/dy_j         s A^-1 F_j'  for an effort,   (psi/h on held coordinates, -A^-1 A psi/h elsewhere) for u
//     M_ij = d(second_i)/dy_j            second: displacement of a row, effort of held coordinates
//     E_ej = c J_e X_j                   effectors
//
// Driven actuators ask for their second quantity within the limits of the first (driven.h); inverse control chooses y
// (inverse.h). Then v = v* + X (y - y_now). For rows alone M = c s J A^-1 J' is S4's compliance W.
#pragma once
#include "constraint/constraint.h"
#include "solve/inverse.h"
#include "solve/steer.h"

struct tdCondensed
{
    double *X;    ///< columns over all coordinates, by unknown: kept as first guesses
    double *B;    ///< what they answer to
    double *psi;  ///< over all coordinates, one column for each held actuator
    int n;        ///< unknowns of this linearization
    int *unknown; ///< their actuators
    // over unknowns
    double *now, *next; ///< y before and after
    double *second;     ///< second quantity for y = now, with the motion without change of y
    double *predicted;  ///< the same for y = next
    double *M, *b, *lo, *hi, *scratch;
    double asked;                         ///< of the driven problem: how much, relative to sizes
    int stop_rounds;                      ///< of the driven problem: in which stops were found that it comes to
    signed char *active, *unknown_active; ///< of the driven problem, a warm start: by actuator, by unknown
    // inverse problem
    double *E, *e0, *W, *C, *cl, *cu, *xl, *xu;
    double *row_size;        ///< by row of C: size of the displacement that it is about; 0: it is about efforts
    double *predicted_error; ///< 3 by effector
    signed char *inverse_active;
    tdInverseWork *work;
    int *level; ///< by row of E: the effector's priority
    bool warm;
    // its tries (condense_inverse.c)
    tdInverse inverse;
    int phase, n_e, n_limits;
    unsigned turns, best;
    double best_residual, best_energy, clock;
    struct tdCondensedContext
    {
        const tdModel *model;
        tdState *state;
    } context;
    // Beside contact (condense_touch.c): without impulses, at y = start; then what contact makes of it.
    double *start, *E_free, *error_free, *M_free, *second_free;
    double *error, *E_full;  ///< errors at the base y, and their slopes
    int n_blocked;           ///< rows of E behind those of errors: motion that contact blocks
    double *size;            ///< by unknown: of the region of trust, per unit
    double *blocked;         ///< scratch of td_condense_unblock
    double *Y, *Y_right;     ///< columns A^-1 J' of rows that are read, and what they answer to: before X and B
    int n_read, *read;       ///< these rows: those of effectors, then of cables with friction
    double reach;            ///< of the region of trust
    int n_kept;              ///< rows that keep contacts as they are
    int n_chosen;            ///< rows before them, of the last choice
    double *kept, *kept_low; ///< TD_MOST_KEPT x n, and their lower bounds
    int n_forces;            ///< rows that limit forces of contact
    double *force_row, *force_low, *force_high;
    // Targets out of reach: how much a change of y is resisted, and how the passes go.
    double damping, move, damping_before, move_before;
    int passes, passes_before;
};

/// Takes what td_condense needs; state->constraint->condensed stays NULL when nothing can be unknown.
tdStatus td_condense_create(const tdModel *model, tdState *state, tdError *error);

/// Unknowns of the latched step.
int td_condense_unknowns(const tdModel *model, const tdState *state);
/// What columns answer to, before the free motion (state->ahead): a body may find them with it.
void td_condense_ahead(const tdModel *model, tdState *state);
/// Columns, and what is asked of the unknowns, into the state's problem. first: held coordinates have not arrived yet.
/// fresh: A is new since the last time; then columns are made anew, unless state->columns says that those of the last
/// pass do.
/// reads rows, m, A, dv (the free motion)
tdStatus td_condense_rows(const tdModel *model, tdState *state, bool first, bool fresh);
/// reads the solution      writes efforts, dv, predictions; m with the new efforts
tdStatus td_condense_take(const tdModel *model, tdState *state);
/// The problem is to be solved once more in the same pass: takes back efforts, and what the solution made of the
/// damping.
void td_condense_back(const tdModel *model, tdState *state);
/// Size of what the way of held coordinates whose u is unknown does to the balance of the others: as a right-hand side,
/// by which a line search judges what is left. Uses work and scratch.
double td_condense_push(const tdModel *model, tdState *state);
/// Held coordinates whose u is unknown: `length` of the way to the solution. False when there are none.
bool td_condense_place(const tdModel *model, tdState *state, double length);
/// How far the second quantities and effectors at the iterate are from what the linearization said, relative to
/// their sizes.
double td_condense_miss(const tdModel *model, const tdState *state);
/// Fills the report: misses of driven displacements, bounds, reach.
void td_condense_report(const tdModel *model, tdState *state);

/// A cavity with a given amount of gas, linearized: volume growth + compliance pressure = target.
void td_condense_gas(const tdModel *model, const tdConstraintState *cs, int actuator, double *compliance,
                     double *target);
/// By how much v changes with u of held coordinates, in a step: 1/h; in statics v is the way, 1.
double td_condense_per_step(const tdModel *model);
/// condense_driven.c: the problem of driven actuators, and after its solution: whether it has one.
void td_condense_driven(const tdModel *model, tdState *state, struct tdCondensed *cd);
tdStatus td_condense_driven_take(const tdModel *model, tdState *state, struct tdCondensed *cd);
/// Within this stage. The law of unknown k: adds to M and `second`, sets lo <= y <= hi and b = second - what is asked
/// for.
void td_condense_law(const tdModel *model, const tdState *state, struct tdCondensed *cd, int k);
/// condense_inverse.c: the problem of inverse control; `way`: the motion at y = now, over all coordinates. After its
/// solution.
void td_condense_inverse(const tdModel *model, tdState *state, struct tdCondensed *cd, const double *way);
void td_condense_inverse_take(tdState *state, struct tdCondensed *cd);
/// Solves the quadratic program at the base: with every turn of motors, and damped where targets are out of reach. It
/// begins with the working set of the last choice, of whose rows `kept` the first `same` are still there.
void td_condense_choose(tdState *state, struct tdCondensed *cd, int same);
/// The parts of condense_inverse.c that condense_touch.c needs.
int td_condense_effectors(const tdModel *model, tdState *state, struct tdCondensed *cd, const double *way);
void td_condense_energy(const tdModel *model, struct tdCondensed *cd);
void td_condense_limits(const tdModel *model, const tdState *state, struct tdCondensed *cd);
void td_condense_open(const tdModel *model, tdState *state, struct tdCondensed *cd);
double td_condense_violation(const struct tdCondensed *cd, int rows);
double td_condense_weight(const tdModel *model, const tdEffector *effector);
bool td_condense_misses(const tdModel *model, const tdState *state, const struct tdCondensed *cd, double tolerance);
/// Of the rows of effectors with a target.
int td_condense_last_level(const struct tdCondensed *cd);
/// Groups of cables of which a motor winds some in while it lets others out; every way to turn them is tried.
int td_condense_antagonists(const tdModel *model);
#define TD_MOST_ANTAGONISTS 6

// ---------------------------------------------------------------- condense_touch.c: inverse control beside contact

#define TD_MOST_KEPT TD_STEER_KEPT

/// What contact says of an effector of its own: value and slopes over y.
typedef struct tdTouchReading
{
    double value; ///< where nothing touches, less than nothing: by how much it is open
    double *slope;
} tdTouchReading;

/// Room for it, where bodies can touch; n: actuators, n_e: rows of effectors.
tdStatus td_condense_touch_create(const tdModel *model, tdState *state, struct tdCondensed *cd, int n_e,
                                  tdError *error);
/// Rows that are read, most.
int td_condense_touch_most(const tdModel *model, int n_e);
/// Lists these rows and what their columns answer to, which stand before those of unknowns in X and B.
void td_condense_touch_rows(const tdModel *model, const tdState *state, struct tdCondensed *cd);
/// Whether all of them act on a body.
bool td_condense_touch_all(const tdModel *model, const struct tdCondensed *cd, const tdBody *body);
/// Columns A^-1 J' of rows that are read, where they did not come with the free motion.
tdStatus td_condense_touch_columns(const tdModel *model, tdState *state, struct tdCondensed *cd);
/// How many of them there will be.
int td_condense_touch_count(const tdModel *model, const tdState *state);
/// Errors, displacements and energy without contact. reads M, second, X; `way`: the motion at y = now
void td_condense_touch(const tdModel *model, tdState *state, struct tdCondensed *cd, const double *way);
/// The linearization at y: push, dpush of n_e rows of effectors, then of the second quantities of the unknowns; dpush
/// NULL: values alone. readings: by effector, NULL where it has none. Returns the weighted distance from the targets.
double td_condense_touch_base(const tdModel *model, tdState *state, const double *y, const double *push,
                              const double *dpush, const tdTouchReading *readings);
/// Slopes of the motion of effectors without contact, at the same place.
void td_condense_touch_free(struct tdCondensed *cd);
/// Directions in which contact blocks effectors count as ones in which they do not move. Efforts are not to go there,
/// or (slack) may, so that what presses can press less.
void td_condense_unblock(struct tdCondensed *cd, bool slack);
/// Weighted distance that slopes promise for cd->next; full: with what constraints give way by.
double td_condense_touch_said(const struct tdCondensed *cd, bool full);
/// After the solution: efforts, dv and m of the change of y, predictions, report.
void td_condense_touch_take(const tdModel *model, tdState *state, const double *y, const double *push, double error,
                            double tolerance);
