// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

tdSettings td_default_settings(void)
{
    return (tdSettings){.threads = 0, .level = TD_LOG_INFO};
}

void td_log(const tdSettings *settings, tdLogLevel level, const char *format, ...)
{
    if (settings == NULL || settings->log == NULL || level < settings->level)
        return;
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    settings->log(settings->log_user, level, message);
}
