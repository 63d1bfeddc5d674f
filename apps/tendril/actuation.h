// SPDX-License-Identifier: Apache-2.0
// What commands say of actuators and effectors, in words and in JSON.
#pragma once
#include "cli.h"
#include "simulate.h"

/// The unit that people would use for a quantity of this size given in SI, and its value in SI. Lengths follow the
/// scene's own unit.
double act_unit(const tdModel *model, const char *si, double size, const char **unit);

/// Of the scene: kind, drive, limits, size at rest; rest and target of effectors.
void act_print_scene(const tdModel *model);
void act_json_scene(tdJson *json, const tdModel *model);

/// Of a state: effort, displacement and limits that hold; value, target and error of effectors.
void act_print_state(const tdModel *model, const tdState *state);
void act_json_state(tdJson *json, const tdModel *model, const tdState *state);

/// Of a run: how well drives and inverse control did.
void act_print_totals(const simResult *result);
void act_json_totals(tdJson *json, const tdModel *model, const simResult *result);
/// On stderr, once: actuators that were held back, targets out of reach.
void act_warn(const tdModel *model, const simResult *result);
