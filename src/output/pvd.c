// SPDX-License-Identifier: Apache-2.0
#include "output/pvd.h"

#include "base/print.h"
#include "base/utf8.h"
#include "output/csv.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAMES_WRITTEN_AT_ONCE 1000

static const char head[] = "<?xml version=\"1.0\"?>\n"
                           "<VTKFile type=\"Collection\" version=\"1.0\" byte_order=\"LittleEndian\">\n"
                           "  <Collection>\n";
static const char tail[] = "  </Collection>\n"
                           "</VTKFile>\n";

struct tdPvd
{
    tdText text;    ///< head and entries
    int64_t frames; ///< in the list
    int64_t waiting;
    int64_t kept; ///< last step of an earlier run; -1: none
    char path[PATH_MAX];
};

bool td_pvd_name(char *out, size_t size, const char *body, int64_t step)
{
    int n = snprintf(out, size, "%s_%06" PRId64 ".vtu", body, step);
    return n > 0 && (size_t)n < size;
}

static void append_escaped(tdText *text, const char *value)
{
    size_t n = 0;
    for (const char *c = value; *c != '\0'; c += n == 0 ? 1 : n)
    {
        n = td_utf8_size(c);
        switch (*c)
        {
        case '&': td_text_append(text, "&amp;", 5); break;
        case '<': td_text_append(text, "&lt;", 4); break;
        case '"': td_text_append(text, "&quot;", 6); break;
        default:
            if (n == 0 || td_utf8_is_control(*c))
                td_text_append(text, TD_UTF8_REPLACEMENT, sizeof TD_UTF8_REPLACEMENT - 1);
            else
                td_text_append(text, c, n);
            break;
        }
    }
}

static tdStatus write_list(tdPvd *pvd, tdError *error)
{
    int64_t size = pvd->text.size;
    td_text_append(&pvd->text, tail, sizeof tail - 1);
    if (pvd->text.failed)
        return td_fail_memory(error, "a list of files");
    tdStatus status = td_file_write_quickly(pvd->path, pvd->text.data, (size_t)pvd->text.size, error);
    pvd->text.size = size;
    pvd->waiting = 0;
    return status;
}

tdStatus td_pvd_frame(tdPvd *pvd, tdError *error)
{
    pvd->frames++;
    pvd->waiting++;
    if (pvd->waiting * FRAMES_WRITTEN_AT_ONCE < pvd->frames)
        return TD_OK;
    return write_list(pvd, error);
}

// Step of an entry as td_pvd_add() wrote it: the number behind the last _ of its file; -1 if there is none.
static int64_t entry_step(const char *line, size_t length)
{
    static const char ending[] = ".vtu\"/>";
    if (length < sizeof ending || memcmp(line + length - (sizeof ending - 1), ending, sizeof ending - 1) != 0)
        return -1;
    size_t at = length - (sizeof ending - 1), digits = 0;
    while (at > 0 && line[at - 1] >= '0' && line[at - 1] <= '9')
        at--, digits++;
    return at > 0 && line[at - 1] == '_' && digits >= 6 && digits <= 18 ? strtoll(line + at, NULL, 10) : -1;
}

void td_pvd_add(tdPvd *pvd, double time, int part, const char *body, const char *file)
{
    int64_t size = pvd->text.size;
    td_text_format(&pvd->text, "    <DataSet timestep=\"");
    td_print_number(&pvd->text, time);
    td_text_format(&pvd->text, "\" part=\"%d\" name=\"", part);
    append_escaped(&pvd->text, body);
    td_text_format(&pvd->text, "\" file=\"");
    append_escaped(&pvd->text, file);
    td_text_format(&pvd->text, "\"/>\n");
    // The frame that an earlier run ended with is there already.
    if (!pvd->text.failed && pvd->kept >= 0 &&
        entry_step(pvd->text.data + size, (size_t)(pvd->text.size - size) - 1) <= pvd->kept)
        pvd->text.size = size;
}

// Takes over the entries of an earlier run, line by line as they were written.
static void keep_entries(tdPvd *pvd, const char *data, size_t size, int64_t keep)
{
    static const char start[] = "    <DataSet timestep=\"";
    size_t length = 0;
    for (size_t at = 0; at < size; at += length + 1)
    {
        const char *end = memchr(data + at, '\n', size - at);
        length = end == NULL ? size - at : (size_t)(end - (data + at));
        if (end != NULL && length > sizeof start && memcmp(data + at, start, sizeof start - 1) == 0)
        {
            int64_t step = entry_step(data + at, length);
            if (step < 0 || step > keep)
                continue;
            td_text_append(&pvd->text, data + at, length + 1);
            pvd->kept = step > pvd->kept ? step : pvd->kept;
        }
    }
}

tdStatus td_pvd_open(const char *folder, const char *name, int64_t keep, tdPvd **out, tdError *error)
{
    *out = NULL;
    tdPvd *pvd = calloc(1, sizeof *pvd);
    if (pvd == NULL)
        return td_fail_memory(error, "a list of files");
    pvd->kept = -1;
    td_text_append(&pvd->text, head, sizeof head - 1);
    tdStatus status = TD_OK;
    if (!td_path_join(pvd->path, sizeof pvd->path, folder, name))
        status = td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "the path is too long");
    if (status == TD_OK && keep >= 0 && access(pvd->path, F_OK) == 0)
    {
        char *data = NULL;
        size_t size = 0;
        status = td_file_read(pvd->path, &data, &size, error);
        if (status == TD_OK)
            keep_entries(pvd, data, size, keep);
        free(data);
    }
    if (status == TD_OK)
        status = write_list(pvd, error);
    if (status != TD_OK)
    {
        free(pvd->text.data);
        free(pvd);
        return status;
    }
    *out = pvd;
    return TD_OK;
}

int64_t td_pvd_kept(const tdPvd *pvd)
{
    return pvd->kept;
}

tdStatus td_pvd_close(tdPvd *pvd, tdError *error)
{
    if (pvd == NULL)
        return TD_OK;
    tdStatus status = pvd->waiting > 0 ? write_list(pvd, error) : TD_OK;
    free(pvd->text.data);
    free(pvd);
    return status;
}

// ---------------------------------------------------------------- reading

// Time of the entry whose line holds `at`.
static double entry_time(const char *list, const char *at)
{
    static const char start[] = "timestep=\"";
    while (at > list && at[-1] != '\n')
        at--;
    size_t length = strcspn(at, "\n");
    const char *found = memmem(at, length, start, sizeof start - 1);
    return found == NULL ? NAN : strtod(found + sizeof start - 1, NULL);
}

// One character of an attribute as append_escaped() writes it; its length there.
static size_t plain_character(const char *c, char *plain)
{
    static const struct
    {
        const char *text;
        char c;
    } escapes[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&quot;", '"'}};
    for (int i = 0; i < 3; i++)
        if (strncmp(c, escapes[i].text, strlen(escapes[i].text)) == 0)
        {
            *plain = escapes[i].c;
            return strlen(escapes[i].text);
        }
    *plain = *c;
    return 1;
}

bool td_pvd_next(const char *list, const char **at, char *file, size_t size, int64_t *step, double *time)
{
    while ((*at = strstr(*at, " file=\"")) != NULL)
    {
        const char *c = *at += strlen(" file=\"");
        size_t n = 0;
        while (*c != '\0' && *c != '"' && n + 1 < size)
            c += plain_character(c, &file[n++]);
        file[n] = '\0';
        const char *number = strrchr(file, '_');
        char *end = NULL;
        *step = number == NULL ? -1 : strtoll(number + 1, &end, 10);
        *time = entry_time(list, *at);
        if (number != NULL && end > number + 1 && strcmp(end, ".vtu") == 0 && strchr(file, '/') == NULL && *step >= 0)
            return true;
    }
    return false;
}
