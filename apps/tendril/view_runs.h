// SPDX-License-Identifier: Apache-2.0
// Runs that have ended, for the page of the viewer: the frames of a folder as the messages that a live scene sends.
#pragma once
#include "base/file.h"

/// Reads the folder of a run into a recording (view/recording.h).
tdStatus runs_read(const char *folder, tdText *recording, tdError *error);
