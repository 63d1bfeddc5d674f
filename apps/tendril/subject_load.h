// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "study/subject.h"

/// Loads a scene, the folder of a run or a mesh file, by its kind.
tdStatus subject_load(tdSubject *subject, const char *path, const tdSubjectSettings *settings, tdError *error);
