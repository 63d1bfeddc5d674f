// SPDX-License-Identifier: Apache-2.0
// Meshes of bodies, from files or made from numbers, and bodies that are repeated.
#include "scene/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CELLS 20000000 // of a generated block; times six tetrahedra still fits an int32

// ---------------------------------------------------------------- meshes

tdStatus td_parse_torus(tdSceneParser *parser, const tdRecord *record, tdSceneTorus *out)
{
    char path[256];
    tdRecord torus;
    td_path_key(path, sizeof path, record->path, "torus");
    TD_TRY(td_schema_read(&parser->reader, td_record_get(record, "torus")->node, &td_schema_torus, path, &torus));
    static const char *const names[3] = {"sections", "around", "circles"};
    out->major = td_record_get(&torus, "major")->number[0];
    out->minor = td_record_get(&torus, "minor")->number[0];
    int64_t points = 1;
    for (int i = 0; i < 3; i++)
    {
        out->cells[i] = (int)td_record_get(&torus, names[i])->integer[0];
        points *= out->cells[i];
    }
    if (!(out->minor < out->major))
        return td_record_fail(&parser->reader, &torus, "minor", "must be smaller than 'major', which is %g m",
                              out->major);
    if (points > MOST_CELLS)
        return td_record_fail(&parser->reader, &torus, "sections", "%lld points in all; a torus may have %d at most",
                              (long long)points, MOST_CELLS);
    return TD_OK;
}

static tdStatus read_torus_mesh(tdSceneParser *parser, const tdRecord *record, tdSceneBody *body)
{
    static const char *const others[2] = {"cells", "elements"};
    for (int i = 0; i < 2; i++)
        if (td_record_get(record, others[i])->node != NULL)
            return td_record_fail(&parser->reader, record, others[i],
                                  "a torus has sections, around and circles of its own; remove '%s'", others[i]);
    return td_parse_torus(parser, record, &body->torus);
}

tdStatus td_parse_mesh(tdSceneParser *parser, const tdRecord *body_record, tdSceneBody *body)
{
    const tdValue *mesh = td_record_get(body_record, "mesh");
    body->mesh_line = td_record_line(body_record, "mesh");
    body->scale = 1;
    if (mesh->node->kind != TD_YAML_MAP)
    {
        body->scale = parser->scene->length_unit;
        return td_parse_path(parser, body_record, "mesh", mesh->text, &body->mesh);
    }
    char path[256];
    tdRecord record;
    td_path_key(path, sizeof path, body_record->path, "mesh");
    TD_TRY(td_schema_read(&parser->reader, mesh->node, &td_schema_mesh_box, path, &record));
    const tdValue *rectangle = td_record_get(&record, "rectangle"), *counts = td_record_get(&record, "cells");
    if (td_record_get(&record, "torus")->node != NULL)
        return read_torus_mesh(parser, &record, body);
    if (counts->node == NULL)
        return td_reader_fail(&parser->reader, record.node->line, record.path, "cells",
                              "the key 'cells' is missing: %s", counts->key->doc);
    bool flat = rectangle->node != NULL;
    const char *shape = flat ? "rectangle" : "box";
    int dims = flat ? 2 : 3;
    const double *box = flat ? rectangle->number : td_record_get(&record, "box")->number;
    const int64_t *cells = counts->integer;
    if (counts->node->n != dims)
        return td_record_fail(
            &parser->reader, &record, "cells", "found a list of %d, expected a list of %s", counts->node->n,
            flat ? "two whole numbers [nx, ny] for a rectangle" : "three whole numbers [nx, ny, nz] for a box");
    for (int i = 0; i < 3; i++)
    {
        body->box.min[i] = box[i];
        body->box.max[i] = box[3 + i];
        body->box.cells[i] = (int)cells[i];
        if (i < dims && !(box[i] < box[3 + i]))
            return td_record_fail(&parser->reader, &record, shape, "the %s has no extent along %c",
                                  flat ? "rectangle" : "block", "xyz"[i]);
    }
    int64_t total = cells[0] * cells[1] * (flat ? 1 : cells[2]);
    if (total > MOST_CELLS)
        return td_record_fail(&parser->reader, &record, "cells", "%lld cells in all; a block may have %d at most",
                              (long long)total, MOST_CELLS);
    const tdValue *elements = td_record_get(&record, "elements");
    if (flat && elements->node != NULL)
        return td_record_fail(&parser->reader, &record, "elements",
                              "a rectangle is made of triangles; remove 'elements', or give a 'box'");
    body->box.hexahedra = elements->integer[0] == TD_ELEMENTS_HEXAHEDRA;
    return TD_OK;
}

// ---------------------------------------------------------------- bodies that are repeated

static void multiply(const double a[9], const double b[9], double out[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

// How a body is repeated; count 0: it is not.
static tdStatus read_repeat(tdSceneParser *parser, const tdYaml *item, int index, tdRecord *out, int *count)
{
    const tdYaml *node = td_yaml_find(item, "repeat");
    *count = 0;
    if (node == NULL)
        return TD_OK;
    char path[256], inner[256];
    const tdSceneBody *body = &parser->scene->bodies[index];
    td_path_item(path, sizeof path, "bodies", "", index);
    td_path_key(inner, sizeof inner, path, "repeat");
    TD_TRY(td_schema_read(&parser->reader, node, &td_schema_repeat, inner, out));
    *count = (int)td_record_get(out, "count")->integer[0];
    if (body->n_prescribed > 0)
        return td_reader_fail(&parser->reader, node->line, path, "repeat",
                              "a body whose nodes are moved cannot be repeated; write each one");
    return TD_OK;
}

// Copy number k of a body, turned against the one before it.
static tdStatus copy_body(tdSceneParser *parser, const tdSceneBody *from, const tdRecord *repeat, int k,
                          tdSceneBody *to)
{
    char name[128];
    double turn[9];
    const double *step = td_record_get(repeat, "translate")->number;
    *to = *from;
    if (snprintf(name, sizeof name, "%s_%d", from->name, k + 1) >= (int)sizeof name)
        return td_record_fail(&parser->reader, repeat, "count", "the name of the body is too long to be numbered");
    TD_TRY(td_parse_copy(parser, name, &to->name));
    td_parse_rotation(td_record_get(repeat, "rotate")->number, turn);
    if (k > 0)
        multiply(turn, (to - 1)->rotation, to->rotation);
    for (int i = 0; i < 3; i++)
        to->translate[i] += k * step[i];
    return TD_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// A number behind a name may make it that of another body. Sorted, because there may be thousands.
static tdStatus check_names(tdSceneParser *parser, int n, const tdSceneBody *bodies)
{
    const char **names = td_take((size_t)n + 1, sizeof *names), *twice = NULL;
    if (names == NULL)
        return td_fail_memory(parser->reader.error, "the bodies");
    for (int b = 0; b < n; b++)
        names[b] = bodies[b].name;
    qsort((void *)names, (size_t)n, sizeof *names, compare_names);
    for (int b = 1; b < n && twice == NULL; b++)
        twice = strcmp(names[b - 1], names[b]) == 0 ? names[b] : NULL;
    free((void *)names);
    if (twice == NULL)
        return TD_OK;
    int line = 0; // of the later one
    for (int b = 0; b < n; b++)
        line = strcmp(bodies[b].name, twice) == 0 ? bodies[b].line : line;
    return td_reader_fail(&parser->reader, line, "bodies", NULL, "the name '%s' is that of two bodies; change one",
                          twice);
}

tdStatus td_parse_repeated(tdSceneParser *parser, const tdYaml *list)
{
    tdScene *scene = parser->scene;
    tdRecord repeat;
    int total = 0, count, index = 0;
    for (const tdYaml *item = list->first; item != NULL; item = item->next, index++)
    {
        TD_TRY(read_repeat(parser, item, index, &repeat, &count));
        total += count > 0 ? count : 1;
    }
    tdSceneBody *all = TD_TAKE(parser->arena, tdSceneBody, total);
    if (all == NULL)
        return td_fail_memory(parser->reader.error, "the bodies");
    index = total = 0;
    for (const tdYaml *item = list->first; item != NULL; item = item->next, index++)
    {
        TD_TRY(read_repeat(parser, item, index, &repeat, &count));
        for (int k = 0; k < count; k++)
            TD_TRY(copy_body(parser, &scene->bodies[index], &repeat, k, &all[total++]));
        if (count == 0)
            all[total++] = scene->bodies[index];
    }
    TD_TRY(check_names(parser, total, all));
    scene->bodies = all;
    scene->n_bodies = total;
    return TD_OK;
}
