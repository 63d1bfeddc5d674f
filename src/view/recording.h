// SPDX-License-Identifier: Apache-2.0
// Recordings as the page plays them back without a server (web/src/recording.ts): the messages of a run one after the
// other, packed into a copy of the page.
#pragma once
#include "base/file.h"

/// Appends a message that comes at `ms` of the recording; the first call begins it. A text is JSON.
void td_view_record(tdText *recording, bool text, double ms, const void *bytes, size_t n);

/// The page with a run inside, or with two side by side. names[1]: how the second is called there.
tdStatus td_view_record_page(int n, const tdText *const *recordings, const char *const *names, tdText *page,
                             tdError *error);
