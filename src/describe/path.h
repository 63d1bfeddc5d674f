// SPDX-License-Identifier: Apache-2.0
// Strict tables over time: targets, goals and measurements of effectors.
//
//     t, tip.x [mm], tip.y [mm], tip.z [mm]
//     0,          0,          0,        125
//     0.5 s,     10,          0,     12 cm
//
// The first column is the time, in seconds unless its header or a cell says otherwise; times ascend strictly. A bare
// number is in the unit in brackets behind its column's name, else in the caller's base units (an angle has no base
// unit: it needs "[deg]" or "[rad]"). A cell may carry its own unit. There is at least one row. Gaps, NaN and infinity
// are errors that name line and column. Blank lines and lines that begin with # are skipped.
#pragma once
#include "describe/scene.h"
#include "describe/unit.h"

/// Dimension of the column `name` (without its unit in brackets). False when there is no such column; `why` then says
/// so, with a way out ("there is no effector 'tap'; did you mean 'tip'?"). It is called once for each column behind t,
/// from left to right, so a caller may also refuse what does not belong together and keep where each column leads.
typedef bool tdPathColumn(void *context, const char *name, tdDim *dim, char why[TD_UNIT_WHY]);

/// CSV text -> times [s] and values in SI units: out->values[row * out->n_names + column], never NAN. `name` stands for
/// the file in messages. text[length] must be a zero byte. Strings and numbers are taken from the arena.
tdStatus td_path_parse_csv(const char *text, size_t length, const char *name, const tdUnits *units,
                           tdPathColumn *column, void *context, tdArena *arena, tdSceneMotion *out, tdError *error);

/// The same from a file. Only a plain file of bounded size is opened: no device, no pipe. A table that a command has
/// written, with the columns step and time, is taken too: NAME.x, NAME.value.x and NAME_x are the column NAME.x, and
/// what `column` does not know is skipped.
tdStatus td_path_load_csv(const char *path, const tdUnits *units, tdPathColumn *column, void *context, tdArena *arena,
                          tdSceneMotion *out, tdError *error);

/// Rows that do not belong to times, e.g. points: no column t, the line of each row is in out->times. Else the same.
tdStatus td_rows_load_csv(const char *path, const tdUnits *units, tdPathColumn *column, void *context, tdArena *arena,
                          tdSceneMotion *out, tdError *error);
