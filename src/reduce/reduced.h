// SPDX-License-Identifier: Apache-2.0
// Reduced soft bodies at run time. Coordinates are alpha (r unknowns) and u (n_u held coordinates), so that with
// B = dF/d(alpha, u) at the points of the domain's elements
//
//     F = F0 + B (alpha, u)      force sum w B' P      stiffness sum w B' D B
//
// and the work of a step depends on the numbers of modes and of elements in the domain alone. With all elements and
// weights 1 it is the Galerkin projection of the full model ("reduced"), with the file's domains "hyper-reduced".
// Mass, gravity and dead loads are projected exactly when the model is made.
// A body that nothing holds is carried by a rigid frame (floating.h), with six more unknowns.
#pragma once
#include "core/model.h"
#include "reduce/rom.h"

struct tdSoft;

extern const tdBodyOps td_reduced_ops;

/// Replaces body number `body`, compiled at full order, by its reduced form: with the file's domains or all elements,
/// and in the precision, that the settings ask for. Refused with the reason when the file was made from another scene
/// or the body has what a reduced one cannot do (a pressure load on a surface, a rotation actuator).
tdStatus td_compile_reduced(tdModel *model, int body, const tdRom *rom, const tdSettings *settings, tdError *error);

/// Hash of all that a reduced model depends on: mesh, elements, materials, supports, moved nodes, mass. Not of motion,
/// loads, actuators with rows, time step or output.
uint64_t td_soft_physics(const tdModel *model, int body);

/// Dead loads that may act on the body, those of one input together: what they are (name of the input and a hash of the
/// forces), and the input (-1: constant 1). Memory of the arena.
typedef struct tdDeadLoads
{
    int n;
    const char **what;
    int32_t *input;
} tdDeadLoads;
tdStatus td_soft_dead_loads(const tdModel *model, int body, tdArena *arena, tdDeadLoads *out, tdError *error);
#define TD_DRIVE_TEXT 300
/// What a file says of an actuator of the body beside the range that it had in training: what was given of it, and its
/// name. False: it is of another body, or drives no shape.
bool td_soft_drive_text(const tdModel *model, int body, int actuator, tdDrive drive, char out[TD_DRIVE_TEXT]);

/// For training: projected internal forces of single elements, column e - begin: out[(e - begin) * rows + k * r + i] =
/// (Phi_e' f_e(q0 + Phi alpha_k + Psi u_k))_i for snapshots k and elements [begin, end) of the body; rows = n_k * r.
/// Runs on the tasks of `tasks`; allocates.
tdStatus td_reduced_training(const tdModel *model, int body, const tdRom *basis, int64_t n_k, const double *alpha,
                             const double *u, int64_t begin, int64_t end, struct tdTasks *tasks, double *out,
                             tdError *error);
