// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "study/subject.h"

/// Loads a scene, the folder of a run or a mesh file, by its kind.
tdStatus subject_load(tdSubject *subject, const char *path, const tdSubjectSettings *settings, tdError *error);
/// Times of the first and the last frame of the folder of a run.
tdStatus subject_span(const char *path, double span[2], tdError *error);
/// The list of a run's frames, run.pvd, whose path goes into path[PATH_MAX]; *list belongs to the caller.
tdStatus subject_list(const char *folder, char *path, char **list, tdError *error);
/// Whether a surface is a plane: it is written as a square of 2 m, which would dwarf what stands on it.
bool subject_is_plane(const tdPicture *p);
