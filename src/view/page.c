// SPDX-License-Identifier: Apache-2.0
// The page, as bytes of the program: TD_VIEW_PAGE is its file when the program is built.
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".global td_view_page\n"
        "td_view_page:\n"
        ".incbin \"" TD_VIEW_PAGE "\"\n"
        ".global td_view_page_end\n"
        "td_view_page_end:\n"
        ".byte 0\n"
        ".popsection\n");
