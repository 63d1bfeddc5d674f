// SPDX-License-Identifier: Apache-2.0
// A report as one HTML file: words, tables, pictures and plots. The file stands alone (pictures are in it, nothing is
// fetched), follows the reader's light or dark setting, prints, and is well-formed XML, so that it can be checked.
//
//     begin -> section -> text, facts, table, picture, plot, code ... -> write
//
// Text is plain and is escaped; in td_page_text, `code` and **strong** words are marked as in Markdown. A failure to
// take memory is kept and told by td_page_write().
#pragma once
#include "base/file.h"
#include "render/plot.h"

/// Zero-initialize; td_page_free().
typedef struct tdPage
{
    tdText html;
    bool in_section;
} tdPage;

void td_page_begin(tdPage *page, const char *title, const char *lead);
void td_page_section(tdPage *page, const char *heading);
/// A paragraph.
void td_page_text(tdPage *page, const char *format, ...) TD_PRINTF(2, 3);
/// Lines to type or to read as they are.
void td_page_code(tdPage *page, const char *text);

/// A number that a reader should not miss.
typedef struct tdFact
{
    const char *value, *label;
} tdFact;
void td_page_facts(tdPage *page, int n, const tdFact *facts);

/// rows x columns cells, row by row; the first row is the head. `align` has a letter a column: l, or r for numbers.
/// `strong` is a row to stress, or -1.
void td_page_table(tdPage *page, int rows, int columns, const char *const *cells, const char *align, int strong,
                   const char *caption);

/// Figures between these two stand side by side where there is room.
void td_page_columns(tdPage *page);
void td_page_columns_end(tdPage *page);

/// A picture, with another for dark pages or NULL. `alt` says what is to be seen to those who do not see it.
tdStatus td_page_picture(tdPage *page, const tdImage *light, const tdImage *dark, const char *alt, const char *caption,
                         tdError *error);
/// Curves or bars as vector graphics; width and height are in points of the page. See td_default_page_plot().
tdStatus td_page_plot(tdPage *page, const tdPlotSettings *settings, int n, const tdSeries *series, const char *caption,
                      tdError *error);
tdPlotSettings td_default_page_plot(void);

/// A line of small print at the end.
void td_page_note(tdPage *page, const char *format, ...) TD_PRINTF(2, 3);
/// Ends the page and writes it. Once.
tdStatus td_page_write(tdPage *page, const char *path, tdError *error);
void td_page_free(tdPage *page);

/// A whole number with commas: 4,161. Returns `out`.
char *td_page_count(int64_t value, char out[32]);

/// Plots below each other as one SVG file with legends, colours and fonts of its own; every panel has its own size.
tdStatus td_plot_svg_write(int n, const tdPanel *panels, const char *path, tdError *error);

// ---- used between page.c and plot_svg.c

/// Text with &, <, > and quotes made harmless; control characters are dropped, what is not UTF-8 becomes a mark.
void td_page_escape(tdText *out, const char *text);
tdStatus td_plot_svg(const tdPlotSettings *settings, int n, const tdSeries *series, const char *label, tdText *out,
                     tdError *error);
