// SPDX-License-Identifier: Apache-2.0
// Values of named inputs over time, from keyframes or from a CSV file.
#include "base/suggest.h"
#include "describe/csv.h"
#include "scene/parse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- names

// What a motion may drive by this name, and the dimension of its values. False with the reason in `why`.
bool td_parse_find_input(void *context, const char *name, tdDim *dim, char why[TD_UNIT_WHY])
{
    const tdSceneParser *parser = context;
    for (int i = 0; i < parser->n_inputs; i++)
        if (strcmp(parser->inputs[i].name, name) == 0)
        {
            *dim = parser->inputs[i].dim;
            return true;
        }
    if (parser->n_inputs == 0)
    {
        snprintf(why, TD_UNIT_WHY,
                 "'%.60s' drives nothing: the scene has no named load, prescribed motion, actuator or tool", name);
        return false;
    }
    const char **names = td_take((size_t)parser->n_inputs, sizeof *names);
    for (int i = 0; names != NULL && i < parser->n_inputs; i++)
        names[i] = parser->inputs[i].name;
    const char *nearest = names != NULL ? td_suggest(name, names, parser->n_inputs) : NULL;
    free((void *)names);
    if (nearest != NULL)
        snprintf(why, TD_UNIT_WHY, "no load, prescribed motion, actuator or tool is named '%.60s'; did you mean '%s'?",
                 name, nearest);
    else
        snprintf(why, TD_UNIT_WHY, "no load, prescribed motion, actuator or tool is named '%.60s'; one is named '%s'",
                 name, parser->inputs[0].name);
    return false;
}

// Actuators in tables that commands write: NAME.effort and NAME.displacement, of which one drives it.
static tdCsvOwn own_column(void *context, const char *name, char out[TD_CSV_NAME], char why[TD_UNIT_WHY])
{
    const tdSceneParser *parser = context;
    const char *dot = strrchr(name, '.');
    size_t length = dot != NULL ? (size_t)(dot - name) : 0;
    snprintf(out, TD_CSV_NAME, "%.*s", (int)length, name);
    for (int i = 0; i < parser->n_inputs; i++)
    {
        const char *table = parser->inputs[i].table;
        if (table == NULL || dot == NULL || strcmp(parser->inputs[i].name, out) != 0)
            continue;
        if (strcmp(table, dot) == 0)
            return TD_CSV_TAKE;
        if (table[0] != '\0' || strcmp(dot, ".displacement") != 0)
            return TD_CSV_SKIP;
        snprintf(why, TD_UNIT_WHY,
                 "this is what the actuator '%.60s' reached, not what drove it (a servo, gas, or a cable that "
                 "stretches); give what drives it in a table with the columns t and '%.60s'",
                 out, out);
        return TD_CSV_REFUSE;
    }
    return TD_CSV_SKIP;
}

static int find_name(const tdSceneMotion *motion, const char *name)
{
    int k = 0;
    while (k < motion->n_names && strcmp(motion->names[k], name) != 0)
        k++;
    return k;
}

// ---------------------------------------------------------------- from the scene

static tdStatus read_csv(tdSceneParser *parser, const tdRecord *record, tdSceneMotion *motion)
{
    const char *path = NULL;
    char *text = NULL;
    size_t size = 0;
    TD_TRY(td_parse_read_csv(parser, record, "csv", &path, &text, &size));
    const tdCsvFormat format = {.units = &parser->reader.units,
                                .column = td_parse_find_input,
                                .context = parser,
                                .what = "load, prescribed motion or actuator",
                                .gaps = true,
                                .own = own_column};
    tdStatus status = td_csv_parse(text, size, path, &format, parser->arena, motion, parser->reader.error);
    free(text);
    return status;
}

// First pass: the names in order of appearance. A keyframe without any would do nothing.
static tdStatus collect_names(tdSceneParser *parser, const tdYaml *list, const char *where, tdDim *dims,
                              tdSceneMotion *motion)
{
    const char **names = TD_TAKE(parser->arena, const char *, TD_CSV_MOST_NAMES);
    if (names == NULL)
        return td_fail_memory(parser->reader.error, "the motion");
    motion->names = names;
    int i = 0;
    for (const tdYaml *frame = list->first; frame != NULL; frame = frame->next, i++)
    {
        char path[64];
        td_path_item(path, sizeof path, where, "", i);
        if (frame->kind == TD_YAML_MAP && frame->n == 1 && td_yaml_find(frame, "t") != NULL)
            return td_reader_fail(&parser->reader, frame->line, path, NULL,
                                  "the keyframe has a time but drives nothing; add the name of a load, a prescribed "
                                  "motion or an actuator");
        for (const tdYaml *child = frame->first; frame->kind == TD_YAML_MAP && child != NULL; child = child->next)
        {
            if (strcmp(child->key, "t") == 0 || find_name(motion, child->key) < motion->n_names)
                continue;
            if (motion->n_names == TD_CSV_MOST_NAMES)
                return td_reader_fail(&parser->reader, child->key_line, path, NULL, "more than %d names",
                                      TD_CSV_MOST_NAMES);
            char why[TD_UNIT_WHY];
            if (!td_parse_find_input(parser, child->key, &dims[motion->n_names], why))
                return td_reader_fail(&parser->reader, child->key_line, path, child->key, "%s", why);
            TD_TRY(td_parse_copy(parser, child->key, &names[motion->n_names]));
            motion->n_names++;
        }
    }
    return TD_OK;
}

static tdStatus read_keyframe(tdSceneParser *parser, const tdYaml *frame, const char *where, const tdDim *dims,
                              tdSceneMotion *motion)
{
    char path[64], field[256];
    td_path_item(path, sizeof path, where, "", motion->n_times);
    tdRecord record;
    TD_TRY(td_schema_read(&parser->reader, frame, &td_schema_keyframe, path, &record));
    double t = td_record_get(&record, "t")->number[0];
    if (motion->n_times > 0 && !(t > motion->times[motion->n_times - 1]))
        return td_record_fail(&parser->reader, &record, "t",
                              "the time %g s does not come after that of the keyframe before, %g s; times must ascend",
                              t, motion->times[motion->n_times - 1]);
    motion->times[motion->n_times] = t;
    double *row = motion->values + (int64_t)motion->n_times * motion->n_names;
    for (int k = 0; k < motion->n_names; k++)
        row[k] = NAN;
    for (const tdYaml *child = frame->first; child != NULL; child = child->next)
    {
        if (strcmp(child->key, "t") == 0)
            continue;
        td_path_key(field, sizeof field, path, child->key);
        int k = find_name(motion, child->key);
        TD_TRY(td_read_quantity(&parser->reader, child, field, dims[k], &row[k]));
    }
    motion->n_times++;
    return TD_OK;
}

static tdStatus read_keyframes(tdSceneParser *parser, const tdYaml *list, const char *where, tdSceneMotion *motion)
{
    tdDim *dims = TD_TAKE(parser->arena, tdDim, TD_CSV_MOST_NAMES);
    if (dims == NULL)
        return td_fail_memory(parser->reader.error, "the motion");
    TD_TRY(collect_names(parser, list, where, dims, motion));
    if (motion->n_names > 0 && list->n > TD_CSV_MOST_VALUES / motion->n_names)
        return td_reader_fail(&parser->reader, list->line, where, NULL,
                              "%d keyframes of %d names; at most %lld values are allowed", list->n, motion->n_names,
                              (long long)TD_CSV_MOST_VALUES);
    TD_TRY(td_csv_take(parser->arena, motion, list->n, parser->reader.error));
    for (const tdYaml *frame = list->first; frame != NULL; frame = frame->next)
        TD_TRY(read_keyframe(parser, frame, where, dims, motion));
    return TD_OK;
}

tdStatus td_parse_motion(tdSceneParser *parser, const tdYaml *node, const char *path, tdSceneMotion *motion)
{
    tdRecord record;
    char where[64];
    TD_TRY(td_schema_read(&parser->reader, node, &td_schema_motion, path, &record));
    td_path_key(where, sizeof where, path, "keyframes");
    motion->line = node->key_line;
    motion->smooth = td_record_get(&record, "interpolation")->integer[0] != 0;
    const tdValue *keyframes = td_record_get(&record, "keyframes");
    if (keyframes->node != NULL)
        return read_keyframes(parser, keyframes->node, where, motion);
    return read_csv(parser, &record, motion);
}
