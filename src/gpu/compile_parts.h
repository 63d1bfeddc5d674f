// SPDX-License-Identifier: Apache-2.0
// What the files that make a plan share.
#pragma once
#include "core/state.h"
#include "gpu/plan.h"
#include "reduce/reduced_body.h"

#define ARRAY(plan, type, name) ((type *)((char *)(plan) + (plan)->name))

/// compile_check.c: the body that robots are, and whether the GPU does all that is in the scene.
const tdBody *td_gpu_body(const tdModel *model);
tdStatus td_gpu_check(const tdModel *model, tdError *error);
tdStatus td_gpu_refuse(const tdModel *model, tdError *error, const char *field, const char *what);
/// The law as the GPU names it; -1: it does not know it.
int32_t td_gpu_law(const tdLaw *law);
/// A closed surface whose volume the reduced body knows by itself.
bool td_gpu_is_cavity(const tdActuator *actuator);

/// compile.c: bytes of an array behind those that are there.
int64_t td_gpu_reserve(tdGpuPlan *plan, int64_t count, size_t size);

/// compile_free.c: frames and contact. Sizes first, which rows of robots depend on; then arrays; then numbers.
void td_gpu_count_free(const tdModel *model, tdGpuPlan *plan);
void td_gpu_lay_out_free(tdGpuPlan *plan);
void td_gpu_fill_free(const tdModel *model, tdGpuPlan *plan);
/// A,B of an output: which of the bodies that are touched acts on the robot, or -1 - that if it is the other way round.
bool td_gpu_contact_pair(const tdModel *model, const char *names, int32_t *index);
/// The collider of the body that meets others; -1: it meets none.
int td_gpu_collider(const tdModel *model);
