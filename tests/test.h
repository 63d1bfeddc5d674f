// SPDX-License-Identifier: Apache-2.0
// What every test includes: cmocka with its prerequisites, and comparisons for numbers.
#pragma once
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/// |a - b| <= tolerance, or a message with the numbers.
#define assert_near(a, b, tolerance)                                                                                   \
    do                                                                                                                 \
    {                                                                                                                  \
        double near_a = (a), near_b = (b), near_t = (tolerance);                                                       \
        if (!(fabs(near_a - near_b) <= near_t))                                                                        \
            fail_msg("%s = %.17g, expected %.17g within %g (off by %g)", #a, near_a, near_b, near_t, near_a - near_b); \
    } while (0)

/// The status is TD_OK, or the error's text.
#define assert_ok(status, error)                                                                                       \
    do                                                                                                                 \
    {                                                                                                                  \
        if ((status) != TD_OK)                                                                                         \
        {                                                                                                              \
            char ok_text[1200];                                                                                        \
            td_error_format(&(error), ok_text, sizeof ok_text);                                                        \
            fail_msg("%s", ok_text);                                                                                   \
        }                                                                                                              \
    } while (0)

/// Ends a test that cannot be done here. It counts as skipped, not as passed, and 'make test' prints why.
#define skip_because(...)                                                                                              \
    do                                                                                                                 \
    {                                                                                                                  \
        print_message("skipped: " __VA_ARGS__);                                                                        \
        print_message("\n");                                                                                           \
        skip();                                                                                                        \
    } while (0)
