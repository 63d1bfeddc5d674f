// SPDX-License-Identifier: Apache-2.0
// Text of any origin (paths are bytes, not text) in files that must be valid UTF-8.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define TD_UTF8_REPLACEMENT "\xEF\xBF\xBD" // U+FFFD, for what is no character

/// Bytes of the character at `text`, which is not at its end; 0: it begins none that JSON and XML allow. Control
/// characters count as characters.
static inline size_t td_utf8_size(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t n = c[0] < 0x80 ? 1 : c[0] >= 0xC2 && c[0] < 0xE0 ? 2 : c[0] >= 0xE0 && c[0] < 0xF0 ? 3 : 0;
    if (c[0] >= 0xF0 && c[0] < 0xF5)
        n = 4;
    for (size_t i = 1; i < n; i++)
        if ((c[i] & 0xC0) != 0x80)
            return 0;
    // Longer than need be, halves of pairs of UTF-16, beyond the last plane.
    bool bad = (c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xED && c[1] > 0x9F) || (c[0] == 0xF0 && c[1] < 0x90) ||
               (c[0] == 0xF4 && c[1] > 0x8F);
    // The last two of the plane are no characters of XML.
    return bad || (c[0] == 0xEF && c[1] == 0xBF && c[2] > 0xBD) ? 0 : n;
}

/// Whether the byte is a control character, which most formats do not take as it is.
static inline bool td_utf8_is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7F;
}
