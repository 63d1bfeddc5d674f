// SPDX-License-Identifier: Apache-2.0
// Messages to the library's user and the question whether to go on. Both travel in tdSettings; there is no global.
#pragma once
#include "base/status.h"

void td_log(const tdSettings *settings, tdLogLevel level, const char *format, ...) TD_PRINTF(3, 4);

/// TD_CANCELLED when the caller wants it to end.
tdStatus td_check_cancel(const tdSettings *settings, tdError *error);
