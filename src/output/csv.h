// SPDX-License-Identifier: Apache-2.0
// A table of numbers over time as text, one row a frame, in whole rows: on disk when the last writing was some
// milliseconds ago, and at the latest when asked for. The first two columns are always the step and the time.
#pragma once
#include "base/file.h"

typedef struct tdCsv tdCsv;

/// Column title with its unit, e.g. "tip_x [m]"; "" = no unit. Titles are appended to `header`.
void td_csv_title(tdText *header, const char *name, const char *suffix, const char *unit);

/// Opens DIR/name. `header` are the titles after step and time, as made by td_csv_title(). keep < 0: a new
/// file; else rows up to that step of an earlier run are kept, later ones dropped.
tdStatus td_csv_open(const char *folder, const char *name, const tdText *header, int64_t keep, tdCsv **out,
                     tdError *error);
/// Last step of which rows were kept; -1: none.
int64_t td_csv_kept(const tdCsv *csv);
/// A value that is not a number leaves its field empty. A step of which rows were kept is not written again.
tdStatus td_csv_row(tdCsv *csv, int64_t step, double time, int n, const double *values, tdError *error);
/// The same with names before the numbers; NULL: an empty field.
tdStatus td_csv_named_row(tdCsv *csv, int64_t step, double time, int n_names, const char *const *names, int n,
                          const double *values, tdError *error);
/// All rows are in the file from here on. A NULL is fine.
tdStatus td_csv_flush(tdCsv *csv, tdError *error);
/// Also releases it. A NULL is fine.
tdStatus td_csv_close(tdCsv *csv, tdError *error);
