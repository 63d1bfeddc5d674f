// SPDX-License-Identifier: Apache-2.0
// Stages of a step (step.c) and the ways to go through them: passes of Newton's method, attempts, load steps.
#pragma once
#include "core/state.h"

/// Charges the time since *clock to a stage.
void td_stage_charge(tdState *state, tdStage stage, double *clock);
/// reads  time, scene's motion, override      writes  input, input_end, gravity, roles and targets of actuators
void td_stage_latch(const tdModel *model, tdState *state);
/// Static: the share of the way from the last equilibrium's loads to the next one's.
void td_stage_latch_share(const tdModel *model, tdState *state, double share);
void td_stage_kinematics(const tdModel *model, tdState *state);
/// With the rows of all that acts, at the efforts known so far. writes  m, own, force, J, and A when `tangent`
tdStatus td_stage_forces(const tdModel *model, tdState *state, bool tangent, double *clock);
/// writes  dv, the way to the motion without a change of efforts
tdStatus td_stage_free(const tdModel *model, tdState *state);
/// The constraint problem, which corrects dv and m by what acts. first: held coordinates have not arrived yet.
/// *unknowns: how many efforts were unknown; contacts and bonds count as one.
tdStatus td_stage_solve(const tdModel *model, tdState *state, bool first, int *unknowns);
/// reads  v_new, q_end      writes  q, v, a. Nothing is written when a number is not finite.
tdStatus td_stage_integrate(const tdModel *model, tdState *state);

/// Newmark: the accelerations that the present loads cause. writes  a
tdStatus td_step_start(const tdModel *model, tdState *state);

/// newton.c: the balance at the latched inputs. reads  q, v, a, inputs      writes  v_new, m
tdStatus td_step_balance(const tdModel *model, tdState *state, double *clock);
/// Size of m on the coordinates that are unknowns, which are left in m_free.
double td_step_residual(const tdModel *model, tdState *state);
/// What to do about a step that failed; and one that failed because of state->bad_element.
const char *td_step_advice(const tdModel *model);
tdStatus td_step_fail_element(const tdModel *model, tdState *state);

/// attempt.c: a dynamic step; and efforts and displacements of actuators as they were when the step began.
tdStatus td_step_dynamic(const tdModel *model, tdState *state, double *clock);
void td_step_reject_efforts(const tdModel *model, tdState *state);
/// runge_kutta.c: the motion of a step of Runge-Kutta. writes  v_new, a (mean rates of the coordinates)
tdStatus td_step_rk4(const tdModel *model, tdState *state, double *clock);
/// load_step.c: from the last equilibrium to the next.
tdStatus td_step_static(const tdModel *model, tdState *state, double *clock);
