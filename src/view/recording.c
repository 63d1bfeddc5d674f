// SPDX-License-Identifier: Apache-2.0
#include "view/recording.h"

#include "view/view_own.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

void td_view_record(tdText *recording, bool text, double ms, const void *bytes, size_t n)
{
    static const char zeros[8] = {0};
    if (recording->size == 0)
        td_text_append(recording, "TDREC1\0\0", 8);
    const uint32_t head[2] = {!text, (uint32_t)n};
    recording->failed = recording->failed || n > UINT32_MAX;
    td_text_append(recording, head, sizeof head);
    td_text_append(recording, &ms, sizeof ms);
    td_text_append(recording, bytes, n);
    td_text_append(recording, zeros, (8 - n % 8) % 8);
}

// gzip, which browsers unpack.
static bool pack(const tdText *recording, unsigned char **out, size_t *size)
{
    z_stream z = {0};
    if (recording->failed || recording->size > INT_MAX / 2 ||
        deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    size_t room = deflateBound(&z, (uLong)recording->size);
    *out = malloc(room);
    z.next_in = (unsigned char *)recording->data;
    z.avail_in = (uInt)recording->size;
    z.next_out = *out;
    z.avail_out = (uInt)room;
    bool good = *out != NULL && deflate(&z, Z_FINISH) == Z_STREAM_END;
    *size = room - z.avail_out;
    deflateEnd(&z);
    return good;
}

// As text of an attribute.
static void append_name(tdText *page, const char *name)
{
    for (const char *c = name; *c != '\0'; c++)
        if (strchr("&\"<>", *c) != NULL)
            td_text_format(page, "&#%d;", *c);
        else
            td_text_append(page, c, 1);
}

static void append_run(tdText *page, const tdText *recording, const char *name, const char *id)
{
    unsigned char *packed = NULL;
    size_t size = 0;
    bool good = pack(recording, &packed, &size);
    size_t length = 4 * (size / 3 + 2); // the library wants room for an end
    char *text = good ? malloc(length) : NULL;
    int written = text == NULL ? -1 : lws_b64_encode_string((const char *)packed, (int)size, text, (int)length);
    if (written < 0)
        page->failed = true;
    else
    {
        td_text_format(page, "<script type=\"application/octet-stream\" id=\"%s\" data-name=\"", id);
        append_name(page, name);
        td_text_format(page, "\">");
        td_text_append(page, text, (size_t)written);
        td_text_format(page, "</script>");
    }
    free(text);
    free(packed);
}

tdStatus td_view_record_page(int n, const tdText *const *recordings, const char *const *names, tdText *page,
                             tdError *error)
{
    static const char end[] = "</body>";
    static const char *const ids[] = {"recording", "recording-2"};
    const char *from = (const char *)td_view_page, *to = (const char *)td_view_page_end, *at = to;
    for (const char *c = from; (c = memmem(c, (size_t)(to - c), end, sizeof end - 1)) != NULL; c++)
        at = c;
    td_text_append(page, from, (size_t)(at - from));
    for (int i = 0; i < n && i < 2; i++)
        append_run(page, recordings[i], names[i], ids[i]);
    td_text_append(page, at, (size_t)(to - at));
    return page->failed ? td_fail_memory(error, "the page of the runs") : TD_OK;
}
