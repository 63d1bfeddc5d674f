// SPDX-License-Identifier: Apache-2.0
// Snapshots: the equilibria of a body at full order, as deviations from what the moved coordinates alone would give,
//
//     d = q - q0 - Psi u       zero on held coordinates
//
// Psi is the linear static response at rest to each input that moves held coordinates; d is what modes are made of. Of
// a body that nothing holds, d is what is left when its motion as a whole is taken away (rigid.h), seen from the frame.
#pragma once
#include "base/task.h"
#include "reduce/offline/rigid.h"
#include "reduce/offline/sample.h"
#include "reduce/rom.h"

/// The body that is reduced, as training sees it. Lives in an arena.
typedef struct tdTrainee
{
    const tdModel *model, *moving; ///< of full order: static, and to settle with (walker.h)
    int body;
    int64_t n; ///< coordinates
    int n_u;
    const char **inputs; ///< n_u: names; "" moves by a constant
    int32_t *coord;      ///< n_u: a coordinate that tells u,
    double *per_u;       ///< and how far it moves for u = 1
    double *psi;         ///< n x n_u row-major
    double *loose;       ///< n: 1 for unknowns, 0 for held coordinates
    tdFrameKind frame;
    tdRigid rigid; ///< of a frame that is not fixed
    bool touching; ///< the scene has contact: all ways are gone by the moving model
} tdTrainee;

/// Finds the moved inputs and their responses. Bodies that cannot be reduced are refused with the reason.
tdStatus td_trainee_create(const tdModel *model, const tdModel *moving, int body, const tdSettings *settings,
                           tdArena *arena, tdTrainee *out, tdError *error);
/// The body's stiffness at rest, without loads, and its factor for `columns` vectors at a time, in a state of the
/// static model: for the body's multiply and apply_inverse. Nothing is advanced.
tdStatus td_trainee_stiffness(const tdTrainee *trainee, tdState *state, int columns);
/// u and d of positions q of the body's nodes.
void td_trainee_split(const tdTrainee *trainee, const double *q, double *u, double *d);
/// Takes translations out of d where the frame has them as modes of their own (S1 eq. 22), in the inner product of the
/// decomposition.
void td_trainee_steady(const tdTrainee *trainee, double *d);

/// Snapshots of one trajectory. The arrays have room for all of its places; `reached` come first.
typedef struct tdSnapshots
{
    int64_t reached, failed;
    int64_t iterations; ///< of Newton's method
    double *u;          ///< n_u each
    double *d;          ///< n each
    double *q;          ///< n each: positions; NULL: not wanted
    int64_t *place;
    char why[440];   ///< the first that failed,
    int64_t failure; ///< and which place that is
} tdSnapshots;

/// Called after each place; false: stop.
typedef bool (*tdVisitedFn)(void *user);

/// From rest through the places of a trajectory. A place without an equilibrium is counted and left out. `settle`: with
/// the moving model from the start. On a stop, *stopped is set and what was reached is worth nothing.
tdStatus td_snapshot_trajectory(const tdTrainee *trainee, const tdSettings *settings, const tdSamplePath *path,
                                int trajectory, bool settle, tdVisitedFn visited, void *user, tdSnapshots *out,
                                bool *stopped, tdError *error);

/// Memory [bytes] that a state of the model takes, about.
double td_snapshot_memory(const tdModel *model);
