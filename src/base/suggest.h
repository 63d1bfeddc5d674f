// SPDX-License-Identifier: Apache-2.0
// "Did you mean ...?": the nearest of some names by edit distance.
#pragma once

/// The name nearest to `given`, or NULL when none is near enough to be what was meant.
const char *td_suggest(const char *given, const char *const *names, int n);
