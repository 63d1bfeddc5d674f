// SPDX-License-Identifier: Apache-2.0
// Messages to the library's user, by tdSettings; there is no global.
#pragma once
#include "base/status.h"

void td_log(const tdSettings *settings, tdLogLevel level, const char *format, ...) TD_PRINTF(3, 4);
