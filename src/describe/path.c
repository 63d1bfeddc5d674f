// SPDX-License-Identifier: Apache-2.0
#include "describe/path.h"

#include "describe/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Effectors in tables that commands write: NAME.x of effectors.csv, NAME.value.x of tracking.csv, and NAME_x of probes,
// which may be called as an effector is. Goals, targets and measurements beside them are something else.
static tdCsvOwn own_column(void *context, const char *name, char out[TD_CSV_NAME], char why[TD_UNIT_WHY])
{
    (void)context;
    (void)why;
    size_t n = strlen(name);
    const char *value = strstr(name, ".value");
    if (strstr(name, ".goal") != NULL || strstr(name, ".target") != NULL || strstr(name, ".measured") != NULL)
        return TD_CSV_SKIP;
    snprintf(out, TD_CSV_NAME, "%s", name);
    if (value != NULL)
        snprintf(out + (value - name), TD_CSV_NAME - (size_t)(value - name), "%s", value + strlen(".value"));
    else if (n > 2 && name[n - 2] == '_' && strchr("xyz", name[n - 1]) != NULL)
        out[n - 2] = '.';
    return TD_CSV_TAKE;
}

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
    const tdCsvFormat format = {
        .units = units, .column = column, .context = context, .what = "value", .own = own_column};
    return load(path, &format, arena, out, error);
}

tdStatus td_rows_load_csv(const char *path, const tdUnits *units, tdPathColumn *column, void *context, tdArena *arena,
                          tdSceneMotion *out, tdError *error)
{
    const tdCsvFormat format = {
        .units = units, .column = column, .context = context, .what = "value", .timeless = true};
    return load(path, &format, arena, out, error);
}
