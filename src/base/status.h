// SPDX-License-Identifier: Apache-2.0
// Errors inside the library: every function that can fail returns a tdStatus and fills the
// tdError it is given (which may be NULL) with the place, the reason and the way out.
#pragma once
#include "tendril/tendril.h"

#define TD_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/// Fills *error and returns `status`. The message says what is wrong and what to do about it.
tdStatus td_fail(tdError *error, tdStatus status, const char *format, ...) TD_PRINTF(3, 4);

/// The same with a place: file (may be NULL), line (0 = none), field (may be NULL).
tdStatus td_fail_at(tdError *error, tdStatus status, const char *file, int line, const char *field, const char *format,
                    ...) TD_PRINTF(6, 7);

/// Out of memory while making `what`.
tdStatus td_fail_memory(tdError *error, const char *what);

/// Replaces what cannot be printed in the field and the message, which may quote any bytes of a file.
void td_error_clean(tdError *error);

/// Returns from the calling function when the expression fails.
#define TD_TRY(expression)                                                                                             \
    do                                                                                                                 \
    {                                                                                                                  \
        tdStatus td_try_status = (expression);                                                                         \
        if (td_try_status != TD_OK)                                                                                    \
            return td_try_status;                                                                                      \
    } while (0)
