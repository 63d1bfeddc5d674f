// SPDX-License-Identifier: Apache-2.0
// How far a reduced model is off at a place, without the equilibrium of full order there: the reduced one, over all
// elements, is expanded to all nodes, and what is left of the balance of forces, with the efforts of its actuators, is
// turned into a displacement by the stiffness at rest,
//
//     e = |K0^-1 r| / amplitude       r = f_int(q) - f_ext - J(q)' effort      q = q0 + Phi alpha + Psi u
//
// for the reasons for which the indicator of errors does so (reduce/reduced_check.c): forces of stiff modes differ most
// and matter least, and the stiffness of the moment is close to singular where cables hold a body up. e is no bound: it
// ranks places, and becomes an error by what is known where full order was computed.
#pragma once
#include "reduce/offline/snapshot.h"
#include "reduce/rom.h"

typedef struct tdEstimator tdEstimator;

/// K0 is factored, once for all bases. alone: of td_walk_edit_static(). `file`: where the reduced model is put for the
/// moment.
tdStatus td_estimator_create(const tdTrainee *trainee, const char *scene, char *alone, const char *file,
                             const tdSettings *settings, tdEstimator **out, tdError *error);
void td_estimator_free(tdEstimator *estimator);
/// From now on with these modes; `rom` need not have domains. amplitude: size of displacements, over all coordinates.
/// settle: where the static way ends, the reduced model moves on (walker.h); else that is enough to tell that it is
/// bad.
tdStatus td_estimator_set(tdEstimator *estimator, const tdRom *rom, double amplitude, bool settle, tdError *error);
#define TD_ESTIMATES 8 // at a time, whatever the number of threads
/// Estimates at n <= TD_ESTIMATES places, values[i] of all inputs. INFINITY: the reduced model has no equilibrium
/// there. d: deviation of each reduced shape as of a snapshot, n coordinates each; may be NULL.
tdStatus td_estimator_try(tdEstimator *estimator, tdTasks *tasks, int n, const double *const *values, double *out,
                          double *d, tdError *error);
