// SPDX-License-Identifier: Apache-2.0
// From equilibrium to equilibrium. A static model finds each from the one before. Where that way ends, because the body
// snaps, or because Newton's method gets stuck, a moving model of the same scene goes there from the last equilibrium,
// and once it nearly rests the static model goes on. With contact there is no static model, and the moving one goes
// from place to place in a few long, damped steps (S1).
#pragma once
#include "core/state.h"

/// The two models, of full order or reduced.
typedef struct tdWalk
{
    // moving NULL: where the static way ends, nothing is reached. Both the same one, with `settle`: there is no static
    // model, as of reduced bodies that nothing holds and of bodies that touch others.
    const tdModel *at_rest, *moving;
    bool settle; ///< every way is gone by the moving model, so that equilibria are stable ones
} tdWalk;

/// The scenes of the two models, as tdSceneEdit: static; and moving with long, damped time steps. Targets are taken
/// away, so that actuators stay where they are set. Only the moving model has the scene's contact, with the friction
/// of its `reduction`. context: name of a body that is left alone (alone.h), or NULL.
tdStatus td_walk_edit_static(void *context, tdScene *scene, tdError *error);
tdStatus td_walk_edit_moving(void *context, tdScene *scene, tdError *error);
/// The same of a motion as the scene has it: targets are taken away, and that is all.
tdStatus td_walk_edit_motion(void *context, tdScene *scene, tdError *error);

typedef struct tdWalker tdWalker;

/// Starts from rest.
tdStatus td_walker_create(const tdWalk *walk, const tdSettings *settings, tdWalker **out, tdError *error);
void td_walker_free(tdWalker *walker);
/// Goes to the place with these values of all inputs and a share of gravity. Not `reached`: there is no equilibrium, or
/// none was found, and td_walker_why() tells the reason.
tdStatus td_walker_visit(tdWalker *walker, const double *values, double weight, bool *reached, tdError *error);
/// Where the static model begins the next visit: positions of a body's nodes, `loose` ones alone (1; held ones are 0).
/// Where that leads nowhere, it goes on from where it is. Until that visit is over; NULL: no guess.
void td_walker_guess(tdWalker *walker, int body, const double *nodes, const double *loose);
/// Newton iterations of all visits.
int64_t td_walker_iterations(const tdWalker *walker);
/// Where it stands at a place, to which it was led: settles there once more, from another shape of a body (coordinates
/// as its model has them, held ones as they are), without velocity.
tdStatus td_walker_settle_from(tdWalker *walker, const double *values, int body, const double *coords, bool *reached,
                               tdError *error);
const char *td_walker_why(const tdWalker *walker);
/// Whether the reason is that it goes on moving: no step failed, and td_walker_report() is that of the last shape.
bool td_walker_restless(const tdWalker *walker);
/// Positions of a body's nodes.
const double *td_walker_nodes(const tdWalker *walker, int body);
/// Where it is: of whichever of the two models moves now.
const tdState *td_walker_state(const tdWalker *walker);
/// Of the last step.
const tdReport *td_walker_report(const tdWalker *walker);
