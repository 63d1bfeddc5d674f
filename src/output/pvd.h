// SPDX-License-Identifier: Apache-2.0
// ParaView's list of the files of a run, one entry for each part and frame: run.pvd of the
// bodies, cables.pvd of the cables.
#pragma once
#include "base/file.h"

typedef struct tdPvd tdPvd;

/// keep < 0: an empty list; else entries up to that step of an earlier run are kept.
tdStatus td_pvd_open(const char *folder, const char *name, int64_t keep, tdPvd **out, tdError *error);
/// Name of a body's file at a step; false when it does not fit.
bool td_pvd_name(char *out, size_t size, const char *body, int64_t step);
/// A step of which entries were kept is not added again.
void td_pvd_add(tdPvd *pvd, double time, int part, const char *body, const char *file);
/// To be called when the files of a frame are there: puts the list on disk, whole. In long runs not at
/// every frame (the last 0.1 % may be missing after a kill), or the time for it would grow with its square.
tdStatus td_pvd_frame(tdPvd *pvd, tdError *error);
/// Last step of which entries were kept; -1: none.
int64_t td_pvd_kept(const tdPvd *pvd);
/// Puts the full list on disk and releases it. A NULL is fine.
tdStatus td_pvd_close(tdPvd *pvd, tdError *error);

/// The next entry of the text of a list: its file and step, its time (NAN: not written). Only files that lie beside the
/// list and are named as td_pvd_name() does are returned; false at the end. *at begins at the text.
bool td_pvd_next(const char *list, const char **at, char *file, size_t size, int64_t *step, double *time);
