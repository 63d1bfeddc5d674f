// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void copy_text(char *to, size_t size, const char *from)
{
    if (from == NULL)
        from = "";
    size_t n = strlen(from);
    // A path too long for the field keeps its end: that is where the file's name is.
    if (n >= size)
        from += n - (size - 1);
    snprintf(to, size, "%s", from);
}

TD_PRINTF(6, 0)
static tdStatus fail_v(tdError *error, tdStatus status, const char *file, int line, const char *field,
                       const char *format, va_list args)
{
    if (error == NULL)
        return status;
    // Built aside, because an argument may point into the error that is being replaced.
    tdError made = {.status = status, .line = line > 0 ? line : 0};
    copy_text(made.file, sizeof made.file, file);
    copy_text(made.field, sizeof made.field, field);
    vsnprintf(made.message, sizeof made.message, format, args);
    *error = made;
    return status;
}

tdStatus td_fail(tdError *error, tdStatus status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_v(error, status, NULL, 0, NULL, format, args);
    va_end(args);
    return status;
}

tdStatus td_fail_at(tdError *error, tdStatus status, const char *file, int line, const char *field, const char *format,
                    ...)
{
    va_list args;
    va_start(args, format);
    fail_v(error, status, file, line, field, format, args);
    va_end(args);
    return status;
}

tdStatus td_fail_memory(tdError *error, const char *what)
{
    return td_fail(error, TD_ERROR_MEMORY, "out of memory for %s; use a coarser mesh or a larger machine", what);
}

// Quoted input may hold line ends or have been cut within a character.
static void clean(char *text)
{
    for (char *at = text; *at != '\0';)
    {
        size_t n = td_utf8_size(at);
        if (n == 0 || td_utf8_is_control(*at))
            *at = td_utf8_is_control(*at) ? ' ' : '?';
        at += n == 0 ? 1 : n;
    }
}

void td_error_clean(tdError *error)
{
    if (error == NULL)
        return;
    clean(error->field);
    clean(error->message);
}

const char *td_status_name(tdStatus status)
{
    switch (status)
    {
    case TD_OK: return "done";
    case TD_ERROR_USAGE: return "wrong use";
    case TD_ERROR_INPUT: return "bad input";
    case TD_ERROR_NUMERIC: return "numerical failure";
    case TD_ERROR_MEMORY: return "out of memory";
    case TD_ERROR_IO: return "input/output failure";
    case TD_CANCELLED: return "interrupted";
    }
    return "unknown status";
}

int td_error_format(const tdError *error, char *buffer, size_t size)
{
    char place[320] = "";
    if (error->file[0] != '\0' && error->line > 0)
        snprintf(place, sizeof place, "%s:%d: ", error->file, error->line);
    else if (error->file[0] != '\0')
        snprintf(place, sizeof place, "%s: ", error->file);
    const char *colon = error->field[0] != '\0' ? ": " : "";
    return snprintf(buffer, size, "%s%s%s%s", place, error->field, colon, error->message);
}

const char *td_version(void)
{
    return TD_VERSION_STRING;
}
