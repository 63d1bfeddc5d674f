// SPDX-License-Identifier: Apache-2.0
// `reduction` and `validation`.
#include "base/number.h"
#include "describe/csv.h"
#include "scene/parse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_MEMORY 16000000
#define MOST_MEMORY  1e15
#define RUNS         8 // of the scene, where numbers vary

static bool given(const tdRecord *record, const char *key)
{
    return td_record_get(record, key)->node != NULL;
}

// A key that only some kinds of samples take.
static tdStatus only_for(tdSceneParser *parser, const tdRecord *record, const char *key, bool takes, const char *kinds)
{
    if (!given(record, key) || takes)
        return TD_OK;
    return td_record_fail(&parser->reader, record, key, "is used by samples %s only; remove it, or change 'samples'",
                          kinds);
}

tdStatus td_parse_memory(tdSceneParser *parser, const tdRecord *record, int64_t least, int64_t standard, int64_t *out)
{
    static const struct
    {
        const char *unit;
        double bytes;
    } units[] = {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
    const tdYaml *node = td_record_get(record, "memory")->node;
    *out = standard;
    if (node == NULL)
        return TD_OK;
    char field[200], *end = NULL;
    td_path_key(field, sizeof field, record->path, "memory");
    static const char expected[] = "a number of bytes with its unit, e.g. 4 GB or 500 MB";
    if (node->kind != TD_YAML_SCALAR)
        return td_reader_unexpected(&parser->reader, node, field, expected);
    double value = td_number(node->text, &end);
    if (end == node->text)
        return td_reader_unexpected(&parser->reader, node, field, expected);
    end += strspn(end, " \t");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].unit) == 0)
        {
            value *= units[i].bytes;
            if (!(value >= (double)least && value <= MOST_MEMORY))
                return td_record_fail(&parser->reader, record, "memory",
                                      "found '%.60s', expected %g MB to 1000 TB of memory", node->text,
                                      1e-6 * (double)least);
            *out = (int64_t)value;
            return TD_OK;
        }
    return td_reader_unexpected(&parser->reader, node, field, expected);
}

static tdStatus read_sequence(tdSceneParser *parser, const tdRecord *record, tdSceneReduction *reduction)
{
    const char *path = NULL;
    char *text = NULL;
    size_t size = 0;
    TD_TRY(td_parse_read_csv(parser, record, "sequence", &path, &text, &size));
    reduction->sequence = TD_TAKE(parser->arena, tdSceneMotion, 1);
    const tdCsvFormat format = {.units = &parser->reader.units,
                                .column = td_parse_find_input,
                                .context = parser,
                                .what = "load, prescribed motion or actuator",
                                .timeless = true};
    tdStatus status = reduction->sequence == NULL ? td_fail_memory(parser->reader.error, "the sequence")
                                                  : td_csv_parse(text, size, path, &format, parser->arena,
                                                                 reduction->sequence, parser->reader.error);
    free(text);
    return status;
}

static tdStatus parse_body_key(tdSceneParser *parser, const tdRecord *record, tdSceneReduction *reduction)
{
    if (given(record, "body"))
        return td_parse_body_name(parser, record, "body", &reduction->body);
    reduction->body = parser->scene->n_bodies == 1 ? 0 : -1;
    if (reduction->line != 0 && reduction->body < 0)
        return td_record_fail(&parser->reader, record, "body",
                              "the scene has %d bodies; add 'body', the name of the one that is reduced",
                              parser->scene->n_bodies);
    return TD_OK;
}

static tdStatus parse_samples(tdSceneParser *parser, const tdRecord *record, tdSceneReduction *reduction)
{
    bool sequence = given(record, "sequence");
    tdSampleKind kind = (tdSampleKind)td_record_get(record, "samples")->integer[0];
    if (sequence && !given(record, "samples"))
        kind = TD_SAMPLE_SEQUENCE;
    bool counted = kind == TD_SAMPLE_LATIN_HYPERCUBE || kind == TD_SAMPLE_GREEDY || kind == TD_SAMPLE_MOTION ||
                   kind == TD_SAMPLE_AUTO;
    TD_TRY(only_for(parser, record, "levels", kind == TD_SAMPLE_GRID, "grid"));
    TD_TRY(only_for(parser, record, "count", counted, "auto, latin_hypercube, greedy and motion"));
    TD_TRY(only_for(parser, record, "candidates", kind == TD_SAMPLE_GREEDY, "greedy"));
    TD_TRY(only_for(parser, record, "greedy_tolerance", kind == TD_SAMPLE_GREEDY, "greedy"));
    TD_TRY(only_for(parser, record, "sequence", kind == TD_SAMPLE_SEQUENCE, "sequence"));
    if (kind == TD_SAMPLE_SEQUENCE && !sequence)
        return td_record_fail(&parser->reader, record, "sequence",
                              "samples sequence need 'sequence', a CSV file with one point per line");
    if (kind == TD_SAMPLE_MOTION && parser->scene->motion.n_names == 0)
        return td_record_fail(&parser->reader, record, "samples",
                              "the scene has no 'motion' to sample; add one, or use other samples");
    const tdValue *count = td_record_get(record, "count"), *between = td_record_get(record, "steps_between");
    reduction->samples = kind;
    reduction->levels = (int)td_record_get(record, "levels")->integer[0];
    reduction->count = count->has                 ? (int)count->integer[0]
                       : kind == TD_SAMPLE_MOTION ? 0
                       : kind == TD_SAMPLE_AUTO   ? 200
                                                  : 100;
    reduction->candidates = (int)td_record_get(record, "candidates")->integer[0];
    reduction->greedy_tolerance = td_record_get(record, "greedy_tolerance")->number[0];
    reduction->steps_between = between->has                ? (int)between->integer[0]
                               : kind == TD_SAMPLE_CORNERS ? 9
                               : kind == TD_SAMPLE_GREEDY  ? 3
                                                           : 1;
    return sequence ? read_sequence(parser, record, reduction) : TD_OK;
}

// Keys that belong to another kind or basis are refused, so that none is without effect.
static tdStatus check_keys(tdSceneParser *parser, const tdRecord *record, const tdSceneReduction *reduction)
{
    static const char *const of_modes[] = {"modes", "derivatives", "columns", "amplitude"};
    static const char *const of_snapshots[] = {
        "samples",  "levels",        "count",         "candidates", "greedy_tolerance",
        "sequence", "steps_between", "pod_tolerance", "error",      "max_modes",
        "runs",     "vary",          "every",         "seed"};
    bool modes = reduction->basis == TD_BASIS_MODES;
    bool beside = reduction->kind == TD_REDUCTION_DOMAINS; // modes beside those of snapshots; random states
    for (size_t i = beside ? 1 : 0; i < sizeof of_modes / sizeof of_modes[0] && !modes; i++)
        if (given(record, of_modes[i]))
            return td_record_fail(&parser->reader, record, of_modes[i],
                                  "is used by basis modes only; remove it, or change 'basis'");
    for (size_t i = 0; i < sizeof of_snapshots / sizeof of_snapshots[0] - (beside ? 1 : 0) && modes; i++)
        if (given(record, of_snapshots[i]))
            return td_record_fail(&parser->reader, record, of_snapshots[i],
                                  "is used by basis snapshots only; remove it, or add 'basis: snapshots'");
    static const char *const of_domains[] = {"ecsw_tolerance", "ecsw_norm", "ecsw_parts"};
    for (int i = 0; i < 3; i++)
        if (reduction->kind == TD_REDUCTION_STVK && given(record, of_domains[i]))
            return td_record_fail(&parser->reader, record, of_domains[i],
                                  "is used by kind domains only: polynomials are exact; remove it");
    return TD_OK;
}

static tdStatus parse_kind(tdSceneParser *parser, const tdRecord *record, tdSceneReduction *reduction)
{
    const tdValue *basis = td_record_get(record, "basis"), *derivatives = td_record_get(record, "derivatives");
    const tdValue *columns = td_record_get(record, "columns"), *amplitude = td_record_get(record, "amplitude");
    reduction->kind = (tdReductionKind)td_record_get(record, "kind")->integer[0];
    bool stvk = reduction->kind == TD_REDUCTION_STVK;
    reduction->basis = basis->has ? (tdBasisKind)basis->integer[0] : stvk ? TD_BASIS_MODES : TD_BASIS_SNAPSHOTS;
    TD_TRY(check_keys(parser, record, reduction));
    reduction->modes = given(record, "modes") || reduction->basis == TD_BASIS_MODES
                           ? (int)td_record_get(record, "modes")->integer[0]
                           : 0;
    if (reduction->basis == TD_BASIS_SNAPSHOTS)
        return TD_OK;
    reduction->derivatives = derivatives->has ? (int)derivatives->integer[0] : reduction->modes;
    reduction->columns = columns->has ? (int)columns->integer[0] : 0;
    reduction->amplitude = amplitude->has ? amplitude->number[0] : NAN;
    int64_t most = reduction->modes + (int64_t)reduction->derivatives * (reduction->derivatives + 1) / 2;
    if (reduction->derivatives > reduction->modes)
        return td_record_fail(&parser->reader, record, "derivatives",
                              "derivatives of %d modes, but there are only %d; request no more than these",
                              reduction->derivatives, reduction->modes);
    if (reduction->columns > most)
        return td_record_fail(
            &parser->reader, record, "columns",
            "%d modes and their derivatives are %lld directions, fewer than %d; request fewer, or more modes",
            reduction->modes, (long long)most, reduction->columns);
    if (reduction->columns == 0)
        reduction->columns = most < 20 ? (int)most : 20;
    return TD_OK;
}

// One of several values, as they are written.
static tdStatus parse_values(tdSceneParser *parser, const tdRecord *record, tdSceneVary *out)
{
    static const char expected[] = "a list of values, e.g. [walk.csv, turn.csv]";
    static const char *const others[] = {"from", "to", "unit"};
    const tdYaml *list = td_record_get(record, "values")->node;
    char path[200];
    for (int i = 0; i < 3; i++)
        if (given(record, others[i]))
            return td_record_fail(&parser->reader, record, others[i], "is used without 'values' only; remove one");
    td_path_key(path, sizeof path, record->path, "values");
    if (list->kind != TD_YAML_LIST || list->n == 0)
        return td_reader_unexpected(&parser->reader, list, path, expected);
    out->values = TD_TAKE(parser->arena, const char *, list->n);
    if (out->values == NULL)
        return td_fail_memory(parser->reader.error, "the values that vary");
    for (const tdYaml *item = list->first; item != NULL; item = item->next)
    {
        if (item->kind != TD_YAML_SCALAR || item->text[0] == '\0' || strchr(item->text, '\n') != NULL)
            return td_reader_unexpected(&parser->reader, item, path, expected);
        TD_TRY(td_parse_copy(parser, item->text, &out->values[out->n_values++]));
    }
    return TD_OK;
}

static tdStatus parse_vary_item(tdSceneParser *parser, const tdYaml *node, int index, tdSceneVary *out)
{
    char path[64];
    tdRecord record;
    td_path_item(path, sizeof path, "reduction.vary", "", index);
    TD_TRY(td_schema_read(&parser->reader, node, &td_schema_vary, path, &record));
    const tdValue *unit = td_record_get(&record, "unit");
    const tdValue *from = td_record_get(&record, "from"), *to = td_record_get(&record, "to");
    bool listed = given(&record, "values");
    *out =
        (tdSceneVary){.line = node->line, .from = from->has ? from->number[0] : 0, .to = to->has ? to->number[0] : 0};
    if (!listed && (!from->has || !to->has))
        return td_record_fail(&parser->reader, &record, from->has ? "to" : "from",
                              "both ends of the range are required, 'from' and 'to', or a list of 'values'");
    const char *set = td_record_get(&record, "set")->text;
    if (strpbrk(set, "=\n") != NULL)
        return td_record_fail(&parser->reader, &record, "set",
                              "found '%.60s', expected the path of a number, without a value", set);
    TD_TRY(td_parse_copy(parser, set, &out->set));
    if (listed)
        TD_TRY(parse_values(parser, &record, out));
    return td_parse_copy(parser, unit->node != NULL ? unit->text : "", &out->unit);
}

// Runs of the scene with other numbers each.
static tdStatus parse_vary(tdSceneParser *parser, const tdRecord *record, tdSceneReduction *reduction)
{
    const tdYaml *list = td_record_get(record, "vary")->node;
    bool follows = reduction->samples == TD_SAMPLE_MOTION && parser->scene->contact.line != 0;
    static const char *const keys[] = {"vary", "runs", "every"};
    for (int i = 0; i < 3; i++)
        if (given(record, keys[i]) && !follows)
            return td_record_fail(&parser->reader, record, keys[i],
                                  "is used by samples motion in a scene with 'contact' only; remove it, or change "
                                  "'samples'");
    if (given(record, "runs") && list == NULL)
        return td_record_fail(&parser->reader, record, "runs",
                              "all runs would be the same; add 'vary', the numbers of the scene that differ");
    if (list != NULL && given(record, "contact_friction"))
        return td_record_fail(&parser->reader, record, "contact_friction",
                              "is that of all runs, and they differ; remove it, or 'vary'");
    const tdValue *runs = td_record_get(record, "runs");
    reduction->runs = list == NULL ? 1 : runs->has ? (int)runs->integer[0] : RUNS;
    reduction->every = (int)td_record_get(record, "every")->integer[0];
    if (list == NULL)
        return TD_OK;
    reduction->vary = TD_TAKE(parser->arena, tdSceneVary, list->n);
    if (reduction->vary == NULL)
        return td_fail_memory(parser->reader.error, "the runs of training");
    for (const tdYaml *item = list->first; item != NULL; item = item->next, reduction->n_vary++)
        TD_TRY(parse_vary_item(parser, item, reduction->n_vary, &reduction->vary[reduction->n_vary]));
    return TD_OK;
}

tdStatus td_parse_reduction(tdSceneParser *parser, const tdYaml *node)
{
    tdSceneReduction *reduction = &parser->scene->reduction;
    tdRecord record;
    TD_TRY(td_schema_read(&parser->reader, node, &td_schema_reduction, "reduction", &record));
    reduction->line = node->key_line;
    TD_TRY(parse_body_key(parser, &record, reduction));
    TD_TRY(parse_kind(parser, &record, reduction));
    TD_TRY(parse_samples(parser, &record, reduction));
    reduction->pod_tolerance = td_record_get(&record, "pod_tolerance")->number[0];
    reduction->ecsw_tolerance = td_record_get(&record, "ecsw_tolerance")->number[0];
    reduction->ecsw_norm = (tdEcswNorm)td_record_get(&record, "ecsw_norm")->integer[0];
    const tdValue *parts = td_record_get(&record, "ecsw_parts");
    reduction->ecsw_parts = parts->has ? (int)parts->integer[0] : 0;
    reduction->error = td_record_get(&record, "error")->number[0];
    bool snapshots = reduction->basis == TD_BASIS_SNAPSHOTS;
    reduction->find_pod = snapshots && !given(&record, "pod_tolerance");
    reduction->find_ecsw = snapshots && !given(&record, "ecsw_tolerance") && reduction->kind == TD_REDUCTION_DOMAINS;
    if (given(&record, "error") && !reduction->find_pod && !reduction->find_ecsw &&
        reduction->samples != TD_SAMPLE_AUTO)
        return td_record_fail(&parser->reader, &record, "error",
                              "has no effect where both tolerances are given and samples are not auto; remove it, or a "
                              "tolerance");
    const tdValue *most = td_record_get(&record, "max_modes");
    reduction->max_modes = most->has ? (int)most->integer[0] : reduction->kind == TD_REDUCTION_STVK ? 40 : 200;
    reduction->frame = (tdFrameChoice)td_record_get(&record, "frame")->integer[0];
    bool motion = reduction->samples == TD_SAMPLE_MOTION;
    reduction->contact_friction = given(&record, "contact_friction")
                                      ? td_record_get(&record, "contact_friction")->number[0]
                                  : motion ? NAN
                                           : 0;
    if (motion && given(&record, "count") && parser->scene->contact.line != 0)
        return td_record_fail(&parser->reader, &record, "count",
                              "with 'contact' samples motion are all steps of the scene; remove it");
    if (given(&record, "contact_friction") && parser->scene->contact.line == 0)
        return td_record_fail(&parser->reader, &record, "contact_friction",
                              "the scene has no 'contact', so that nothing rubs in training; remove it, or add "
                              "'contact'");
    reduction->seed = (uint64_t)td_record_get(&record, "seed")->integer[0];
    TD_TRY(parse_vary(parser, &record, reduction));
    return td_parse_memory(parser, &record, LEAST_MEMORY, 4000000000, &reduction->memory);
}

tdStatus td_parse_validation(tdSceneParser *parser, const tdYaml *node)
{
    tdSceneValidation *validation = &parser->scene->validation;
    static const tdYaml empty = {.kind = TD_YAML_MAP};
    tdRecord record, random;
    TD_TRY(td_schema_read(&parser->reader, node, &td_schema_validation, "validation", &record));
    validation->line = node->key_line;
    const tdYaml *motion = td_record_get(&record, "motion")->node, *path = td_record_get(&record, "random")->node;
    if (validation->line != 0 && motion == NULL && path == NULL)
        return td_reader_fail(&parser->reader, node->line, "validation", NULL,
                              "one of 'motion' and 'random' is required, e.g. 'validation: {random: {steps: 200}}'");
    TD_TRY(
        td_schema_read(&parser->reader, path != NULL ? path : &empty, &td_schema_random, "validation.random", &random));
    validation->steps = (int)td_record_get(&random, "steps")->integer[0];
    validation->moves = (int)td_record_get(&random, "moves")->integer[0];
    validation->seed = (uint64_t)td_record_get(&random, "seed")->integer[0];
    if (motion == NULL)
        return TD_OK;
    validation->motion = TD_TAKE(parser->arena, tdSceneMotion, 1);
    if (validation->motion == NULL)
        return td_fail_memory(parser->reader.error, "the validation");
    return td_parse_motion(parser, motion, "validation.motion", validation->motion);
}
