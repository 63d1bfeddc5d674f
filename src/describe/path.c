// SPDX-License-Identifier: Apache-2.0
#include "describe/path.h"

#include "describe/csv.h"

#include <stdlib.h>

tdStatus td_path_parse_csv(const char *text, size_t length, const char *name, const tdUnits *units,
                           tdPathColumn *column, void *context, tdArena *arena, tdSceneMotion *out, tdError *error)
{
    const tdCsvFormat format = {.units = units, .column = column, .context = context, .what = "value"};
    return td_csv_parse(text, length, name, &format, arena, out, error);
}

static tdStatus load(const char *path, const tdCsvFormat *format, tdArena *arena, tdSceneMotion *out, tdError *error)
{
    char why[400], *text = NULL;
    size_t size = 0;
    tdStatus status = td_csv_read_file(path, &text, &size, why, sizeof why, error);
    if (status != TD_OK)
        return why[0] != '\0' ? td_fail_at(error, status, path, 0, NULL, "%s", why) : status;
    status = td_csv_parse(text, size, path, format, arena, out, error);
    free(text);
    return status;
}

tdStatus td_path_load_csv(const char *path, const tdUnits *units, tdPathColumn *column, void *context, tdArena *arena,
                          tdSceneMotion *out, tdError *error)
{
    const tdCsvFormat format = {.units = units, .column = column, .context = context, .what = "value"};
    return load(path, &format, arena, out, error);
}

tdStatus td_rows_load_csv(const char *path, const tdUnits *units, tdPathColumn *column, void *context, tdArena *arena,
                          tdSceneMotion *out, tdError *error)
{
    const tdCsvFormat format = {
        .units = units, .column = column, .context = context, .what = "value", .timeless = true};
    return load(path, &format, arena, out, error);
}
