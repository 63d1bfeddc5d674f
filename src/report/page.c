// SPDX-License-Identifier: Apache-2.0
#include "report/page.h"

#include "base/utf8.h"
#include "report/page_style.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(tdText *out, const char *text)
{
    td_text_append(out, text, strlen(text));
}

// ---------------------------------------------------------------- text

static size_t escape_one(tdText *out, const char *text)
{
    size_t n = td_utf8_size(text);
    switch (text[0])
    {
    case '&': put(out, "&amp;"); return 1;
    case '<': put(out, "&lt;"); return 1;
    case '>': put(out, "&gt;"); return 1;
    case '"': put(out, "&quot;"); return 1;
    case '\n': put(out, "\n"); return 1;
    default: break;
    }
    if (n == 0)
        put(out, TD_UTF8_REPLACEMENT);
    else if (n > 1 || (unsigned char)text[0] >= 0x20)
        td_text_append(out, text, n);
    return n == 0 ? 1 : n;
}

void td_page_escape(tdText *out, const char *text)
{
    while (*text != '\0')
        text += escape_one(out, text);
}

// The same with `code` and **strong**; a mark without its partner is an ordinary sign.
static void put_marked(tdText *out, const char *text)
{
    bool code = false, strong = false;
    while (*text != '\0')
    {
        if (text[0] == '`' && (code || strchr(text + 1, '`') != NULL))
        {
            put(out, code ? "</code>" : "<code>");
            code = !code;
            text++;
        }
        else if (!code && strncmp(text, "**", 2) == 0 && (strong || strstr(text + 2, "**") != NULL))
        {
            put(out, strong ? "</strong>" : "<strong>");
            strong = !strong;
            text += 2;
        }
        else
            text += escape_one(out, text);
    }
    put(out, code ? "</code>" : "");
    put(out, strong ? "</strong>" : "");
}

static void put_formatted(tdPage *page, const char *before, const char *after, const char *format, va_list args)
{
    char fixed[4096];
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(fixed, sizeof fixed, format, args);
    char *text = fixed, *longer = NULL;
    if (n >= (int)sizeof fixed)
    {
        longer = malloc((size_t)n + 1);
        page->html.failed = page->html.failed || longer == NULL;
        if (longer != NULL)
            vsnprintf(text = longer, (size_t)n + 1, format, again);
    }
    va_end(again);
    put(&page->html, before);
    put_marked(&page->html, text);
    put(&page->html, after);
    free(longer);
}

char *td_page_count(int64_t value, char out[32])
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRId64, value), k = 0;
    for (int i = 0; i < n && k + 2 < 32; i++)
    {
        if (i > 0 && (n - i) % 3 == 0 && digits[i - 1] != '-')
            out[k++] = ',';
        out[k++] = digits[i];
    }
    out[k] = '\0';
    return out;
}

// ---------------------------------------------------------------- parts

void td_page_begin(tdPage *page, const char *title, const char *lead)
{
    put(&page->html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                     "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>");
    td_page_escape(&page->html, title);
    put(&page->html, "</title>\n<style>\n");
    put(&page->html, td_page_style);
    put(&page->html, "</style>\n</head>\n<body>\n<header>\n<h1>");
    td_page_escape(&page->html, title);
    put(&page->html, "</h1>\n<p class=\"lead\">");
    put_marked(&page->html, lead);
    put(&page->html, "</p>\n</header>\n<main>\n");
}

void td_page_section(tdPage *page, const char *heading)
{
    put(&page->html, page->in_section ? "</section>\n<section>\n<h2>" : "<section>\n<h2>");
    td_page_escape(&page->html, heading);
    put(&page->html, "</h2>\n");
    page->in_section = true;
}

void td_page_text(tdPage *page, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_formatted(page, "<p>", "</p>\n", format, args);
    va_end(args);
}

void td_page_note(tdPage *page, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_formatted(page, "<p class=\"note\">", "</p>\n", format, args);
    va_end(args);
}

void td_page_code(tdPage *page, const char *text)
{
    put(&page->html, "<pre><code>");
    td_page_escape(&page->html, text);
    put(&page->html, "</code></pre>\n");
}

void td_page_facts(tdPage *page, int n, const tdFact *facts)
{
    put(&page->html, "<dl class=\"facts\">\n");
    for (int i = 0; i < n; i++)
    {
        put(&page->html, "<div><dt>");
        td_page_escape(&page->html, facts[i].label);
        put(&page->html, "</dt><dd>");
        td_page_escape(&page->html, facts[i].value);
        put(&page->html, "</dd></div>\n");
    }
    put(&page->html, "</dl>\n");
}

void td_page_table(tdPage *page, int rows, int columns, const char *const *cells, const char *align, int strong,
                   const char *caption)
{
    tdText *out = &page->html;
    put(out, "<div class=\"wide\"><table>\n<caption>");
    put_marked(out, caption);
    put(out, "</caption>\n<thead>\n");
    for (int r = 0; r < rows; r++)
    {
        put(out, r == strong ? "<tr class=\"strong\">" : "<tr>");
        for (int c = 0; c < columns; c++)
        {
            const char *tag = r == 0 || c == 0 ? "th" : "td";
            const char *scope = r == 0 ? " scope=\"col\"" : c == 0 ? " scope=\"row\"" : "";
            td_text_format(out, "<%s%s%s>", tag, scope, align[c] == 'r' ? " class=\"r\"" : "");
            put_marked(out, cells[r * columns + c]);
            td_text_format(out, "</%s>", tag);
        }
        put(out, r == 0 ? "</tr>\n</thead>\n<tbody>\n" : "</tr>\n");
    }
    put(out, "</tbody>\n</table></div>\n");
}

void td_page_columns(tdPage *page)
{
    put(&page->html, "<div class=\"columns\">\n");
}

void td_page_columns_end(tdPage *page)
{
    put(&page->html, "</div>\n");
}

// ---------------------------------------------------------------- pictures

static void put_base64(tdText *out, const unsigned char *data, size_t n)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3)
    {
        uint32_t bits = (uint32_t)data[i] << 16 | (i + 1 < n ? (uint32_t)data[i + 1] << 8 : 0) |
                        (i + 2 < n ? (uint32_t)data[i + 2] : 0);
        char four[4] = {letters[bits >> 18], letters[bits >> 12 & 63], i + 1 < n ? letters[bits >> 6 & 63] : '=',
                        i + 2 < n ? letters[bits & 63] : '='};
        td_text_append(out, four, 4);
    }
}

static tdStatus put_image(tdText *out, const tdImage *image, tdError *error)
{
    tdText png = {0};
    tdStatus status = td_image_encode_png(image, &png, error);
    if (status == TD_OK)
    {
        put(out, "data:image/png;base64,");
        put_base64(out, (const unsigned char *)png.data, (size_t)png.size);
    }
    free(png.data);
    return status;
}

static void end_figure(tdPage *page, const char *caption)
{
    put(&page->html, "<figcaption>");
    put_marked(&page->html, caption);
    put(&page->html, "</figcaption>\n</figure>\n");
}

tdStatus td_page_picture(tdPage *page, const tdImage *light, const tdImage *dark, const char *alt, const char *caption,
                         tdError *error)
{
    tdText *out = &page->html;
    put(out, "<figure class=\"picture\">\n<picture>");
    if (dark != NULL)
    {
        put(out, "<source media=\"(prefers-color-scheme: dark)\" srcset=\"");
        TD_TRY(put_image(out, dark, error));
        put(out, "\"/>");
    }
    td_text_format(out, "<img width=\"%d\" height=\"%d\" alt=\"", light->width, light->height);
    td_page_escape(out, alt);
    put(out, "\" src=\"");
    TD_TRY(put_image(out, light, error));
    put(out, "\"/></picture>\n");
    end_figure(page, caption);
    return TD_OK;
}

tdStatus td_page_plot(tdPage *page, const tdPlotSettings *settings, int n, const tdSeries *series, const char *caption,
                      tdError *error)
{
    put(&page->html, "<figure class=\"plot\">\n");
    TD_TRY(td_plot_svg(settings, n, series, caption, &page->html, error));
    end_figure(page, caption);
    return TD_OK;
}

// ---------------------------------------------------------------- the file

tdStatus td_page_write(tdPage *page, const char *path, tdError *error)
{
    put(&page->html, page->in_section ? "</section>\n</main>\n</body>\n</html>\n" : "</main>\n</body>\n</html>\n");
    if (page->html.failed)
        return td_fail_memory(error, "the report");
    return td_file_write(path, page->html.data, (size_t)page->html.size, error);
}

void td_page_free(tdPage *page)
{
    free(page->html.data);
    *page = (tdPage){0};
}
