// SPDX-License-Identifier: Apache-2.0
#include "output/csv.h"

#include "base/print.h"
#include "base/timer.h"
#include "base/utf8.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tdCsv
{
    FILE *file;
    tdText rows;    ///< that are not in the file yet
    double flushed; ///< when they were last [s]
    int64_t kept;   ///< last step of an earlier run; -1: none
    char path[PATH_MAX];
};

// Names of joints and links come from other programs' files.
static bool is_quoted(const char *name)
{
    return strpbrk(name, ",\"") != NULL;
}

static void append_name(tdText *out, const char *name)
{
    size_t n = 0;
    for (const char *c = name; *c != '\0'; c += n == 0 ? 1 : n)
    {
        n = td_utf8_size(c);
        if (n == 0 || td_utf8_is_control(*c))
            td_text_append(out, TD_UTF8_REPLACEMENT, sizeof TD_UTF8_REPLACEMENT - 1);
        else
            td_text_append(out, c, n);
        if (*c == '"')
            td_text_append(out, c, 1);
    }
}

void td_csv_title(tdText *header, const char *name, const char *suffix, const char *unit)
{
    bool quoted = is_quoted(name);
    td_text_append(header, quoted ? ",\"" : ",", quoted ? 2 : 1);
    append_name(header, name);
    td_text_format(header, "%s", suffix);
    if (unit[0] != '\0')
        td_text_format(header, " [%s]", unit);
    if (quoted)
        td_text_append(header, "\"", 1);
}

static tdStatus fail_io(const tdCsv *csv, tdError *error)
{
    return td_fail_at(error, TD_ERROR_IO, csv->path, 0, NULL, "cannot be written: %s", strerror(errno));
}

// Bytes of the part of an earlier table that stays: its header and whole rows up to `keep`.
static tdStatus kept_bytes(const char *path, const char *data, size_t size, const tdText *header, int64_t keep,
                           size_t *bytes, int64_t *last, tdError *error)
{
    size_t length = (size_t)header->size;
    if (size < length || memcmp(data, header->data, length) != 0)
        return td_fail_at(error, TD_ERROR_INPUT, path, 1, NULL,
                          "has other columns than this run, so this run cannot continue there; give another folder");
    size_t at = length;
    while (at < size)
    {
        const char *end = memchr(data + at, '\n', size - at);
        char *after = NULL;
        long long step = strtoll(data + at, &after, 10);
        if (end == NULL || after == data + at || *after != ',' || step > keep)
            break;
        at = (size_t)(end - data) + 1;
        *last = step;
    }
    *bytes = at;
    return TD_OK;
}

static tdStatus open_kept(tdCsv *csv, const tdText *header, int64_t keep, tdError *error)
{
    char *data = NULL;
    size_t size = 0, bytes = 0;
    TD_TRY(td_file_read(csv->path, &data, &size, error));
    tdStatus status = kept_bytes(csv->path, data, size, header, keep, &bytes, &csv->kept, error);
    free(data);
    TD_TRY(status);
    if (truncate(csv->path, (off_t)bytes) != 0)
        return fail_io(csv, error);
    csv->file = fopen(csv->path, "ab");
    return csv->file == NULL ? fail_io(csv, error) : TD_OK;
}

static tdStatus open_new(tdCsv *csv, const tdText *header, tdError *error)
{
    csv->file = fopen(csv->path, "wb");
    if (csv->file == NULL || fwrite(header->data, 1, (size_t)header->size, csv->file) != (size_t)header->size ||
        fflush(csv->file) != 0)
        return fail_io(csv, error);
    return TD_OK;
}

tdStatus td_csv_open(const char *folder, const char *name, const tdText *header, int64_t keep, tdCsv **out,
                     tdError *error)
{
    *out = NULL;
    tdCsv *csv = calloc(1, sizeof *csv);
    tdText line = {0};
    td_text_format(&line, "step,time [s]%s\n", header->data == NULL ? "" : header->data);
    if (csv != NULL)
        csv->kept = -1;
    tdStatus status = TD_OK;
    if (csv == NULL || line.failed || header->failed)
        status = td_fail_memory(error, "a table");
    else if (!td_path_join(csv->path, sizeof csv->path, folder, name))
        status = td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "the path is too long");
    else if (keep >= 0 && access(csv->path, F_OK) == 0)
        status = open_kept(csv, &line, keep, error);
    else
        status = open_new(csv, &line, error);
    free(line.data);
    if (status != TD_OK)
    {
        td_csv_close(csv, NULL);
        return status;
    }
    *out = csv;
    return TD_OK;
}

tdStatus td_csv_row(tdCsv *csv, int64_t step, double time, int n, const double *values, tdError *error)
{
    return td_csv_named_row(csv, step, time, 0, NULL, n, values, error);
}

// Whole rows, so that a run that is killed leaves no others. Of runs of thousands of steps a second calls of the system
// for each row would be a third of the time.
#define LONGEST_WAIT 0.02 // [s]
#define MOST_WAITING 65536

tdStatus td_csv_flush(tdCsv *csv, tdError *error)
{
    if (csv == NULL || csv->rows.size == 0)
        return TD_OK;
    size_t size = (size_t)csv->rows.size;
    csv->rows.size = 0;
    csv->flushed = td_seconds();
    if (fwrite(csv->rows.data, 1, size, csv->file) != size || fflush(csv->file) != 0)
        return fail_io(csv, error);
    return TD_OK;
}

tdStatus td_csv_named_row(tdCsv *csv, int64_t step, double time, int n_names, const char *const *names, int n,
                          const double *values, tdError *error)
{
    if (step <= csv->kept)
        return TD_OK;
    td_print_integer(&csv->rows, step);
    td_text_append(&csv->rows, ",", 1);
    td_print_number(&csv->rows, time);
    for (int i = 0; i < n_names; i++)
    {
        bool quoted = names[i] != NULL && is_quoted(names[i]);
        td_text_append(&csv->rows, quoted ? ",\"" : ",", quoted ? 2 : 1);
        if (names[i] != NULL)
            append_name(&csv->rows, names[i]);
        if (quoted)
            td_text_append(&csv->rows, "\"", 1);
    }
    for (int i = 0; i < n; i++)
    {
        td_text_append(&csv->rows, ",", 1);
        if (!isnan(values[i]))
            td_print_number(&csv->rows, values[i]);
    }
    td_text_append(&csv->rows, "\n", 1);
    if (csv->rows.failed)
        return td_fail_memory(error, "a row of a table");
    if ((size_t)csv->rows.size < MOST_WAITING && td_seconds() - csv->flushed < LONGEST_WAIT)
        return TD_OK;
    return td_csv_flush(csv, error);
}

int64_t td_csv_kept(const tdCsv *csv)
{
    return csv->kept;
}

tdStatus td_csv_close(tdCsv *csv, tdError *error)
{
    if (csv == NULL)
        return TD_OK;
    tdStatus status = csv->file != NULL ? td_csv_flush(csv, error) : TD_OK;
    if (csv->file != NULL && fclose(csv->file) != 0 && status == TD_OK)
        status = fail_io(csv, error);
    free(csv->rows.data);
    free(csv);
    return status;
}
