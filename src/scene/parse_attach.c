// SPDX-License-Identifier: Apache-2.0
// What joins bodies: `attachments`.
#include "scene/parse.h"

#include <math.h>
#include <string.h>

#define MOST_POINTS 10000

static bool given(const tdRecord *record, const char *key)
{
    return td_record_get(record, key)->node != NULL;
}

static double number_or(const tdRecord *record, const char *key, double other)
{
    return given(record, key) ? td_record_get(record, key)->number[0] : other;
}

static tdStatus parse_points(tdSceneParser *parser, const tdRecord *record, tdSceneAttachment *out)
{
    const tdYaml *node = td_record_get(record, "points")->node;
    char path[256], field[256];
    td_path_key(path, sizeof path, record->path, "points");
    if (node->kind != TD_YAML_LIST || node->n < 1)
        return td_reader_unexpected(&parser->reader, node, path, "a list of points [[x, y, z], ...]");
    if (node->n > MOST_POINTS)
        return td_record_fail(&parser->reader, record, "points", "%d points; at most %d are allowed", node->n,
                              MOST_POINTS);
    out->points = TD_TAKE(parser->arena, double, 3 * (int64_t)node->n);
    if (out->points == NULL)
        return td_fail_memory(parser->reader.error, "the points of an attachment");
    for (const tdYaml *item = node->first; item != NULL; item = item->next, out->n_points++)
    {
        td_path_item(field, sizeof field, path, "", out->n_points);
        TD_TRY(td_read_vector(&parser->reader, item, field, TD_DIM_LENGTH, out->points + 3 * (int64_t)out->n_points));
    }
    return TD_OK;
}

// Which nodes or points of a.
static tdStatus parse_side_a(tdSceneParser *parser, const tdRecord *record, tdSceneAttachment *out)
{
    TD_TRY(td_parse_body_name(parser, record, "a", &out->a));
    if (!given(record, "points"))
    {
        if (given(record, "link_a"))
            return td_record_fail(&parser->reader, record, "link_a",
                                  "'link_a' goes with 'points'; 'group: %.60s' chooses the corners of a link",
                                  td_record_get(record, "link_a")->text);
        return td_parse_select(parser, record, &out->select);
    }
    TD_TRY(parse_points(parser, record, out));
    return given(record, "link_a") ? td_parse_link_name(parser, record, "link_a", out->a, &out->link_a) : TD_OK;
}

static tdStatus parse_side_b(tdSceneParser *parser, const tdRecord *record, tdSceneAttachment *out)
{
    out->b = -1;
    if (given(record, "space"))
    {
        if (td_record_get(record, "space")->integer[0] == 0)
            return td_record_fail(&parser->reader, record, "space", "'space: false' says nothing; name a body 'b'");
        if (given(record, "link") || given(record, "gap"))
            return td_record_fail(&parser->reader, record, given(record, "link") ? "link" : "gap",
                                  "places in space have no links and no gap; remove it, or name a body 'b'");
        return TD_OK;
    }
    TD_TRY(td_parse_body_name(parser, record, "b", &out->b));
    if (given(record, "link"))
        TD_TRY(td_parse_link_name(parser, record, "link", out->b, &out->link));
    const tdSceneBody *b = &parser->scene->bodies[out->b];
    if (out->a == out->b && b->type != TD_BODY_ARTICULATED)
        return td_record_fail(&parser->reader, record, "b",
                              "a point of body '%s' is where it is in that body; name another one, or attach it to a "
                              "place in space ('space: true')",
                              b->name);
    if (out->a == out->b && out->link == NULL)
        return td_record_fail(&parser->reader, record, "link",
                              "within a body say which link carries the points ('link'), of the others");
    if (given(record, "gap") && b->type != TD_BODY_SOFT)
        return td_record_fail(&parser->reader, record, "gap",
                              "a link carries points that are anywhere; 'gap' is for soft bodies, remove it");
    return TD_OK;
}

static tdStatus parse_attachment(tdSceneParser *parser, const tdYaml *item, int i, tdSceneAttachment *out)
{
    const tdScene *scene = parser->scene;
    char path[64];
    tdRecord record;
    td_path_item(path, sizeof path, "attachments", "", i);
    TD_TRY(td_schema_read(&parser->reader, item, &td_schema_attachment, path, &record));
    out->line = item->line;
    TD_TRY(td_parse_copy(parser, td_record_get(&record, "name")->text, &out->name));
    for (int k = 0; k < i; k++)
        if (strcmp(scene->attachments[k].name, out->name) == 0)
            return td_record_fail(&parser->reader, &record, "name", "the attachment on line %d has the same name '%s'",
                                  scene->attachments[k].line, out->name);
    TD_TRY(parse_side_a(parser, &record, out));
    TD_TRY(parse_side_b(parser, &record, out));
    out->gap = number_or(&record, "gap", NAN);
    out->stiffness = number_or(&record, "stiffness", INFINITY);
    out->dissipation = td_record_get(&record, "dissipation")->number[0];
    out->meets = td_record_get(&record, "meets")->integer[0] != 0;
    if (given(&record, "dissipation") && !given(&record, "stiffness"))
        return td_record_fail(&parser->reader, &record, "dissipation",
                              "a rigid attachment has no error that could relax; add 'stiffness', or remove it");
    if (given(&record, "meets") && scene->contact.line == 0)
        return td_record_fail(&parser->reader, &record, "meets",
                              "the scene has no contact; add 'contact: {}' to it, or remove 'meets'");
    return TD_OK;
}

tdStatus td_parse_attachments(tdSceneParser *parser, const tdYaml *list)
{
    tdScene *scene = parser->scene;
    scene->attachments = TD_TAKE(parser->arena, tdSceneAttachment, list->n);
    if (scene->attachments == NULL)
        return td_fail_memory(parser->reader.error, "the attachments");
    for (const tdYaml *item = list->first; item != NULL; item = item->next, scene->n_attachments++)
        TD_TRY(parse_attachment(parser, item, scene->n_attachments, &scene->attachments[scene->n_attachments]));
    return list->n > 0 ? td_parse_check_together(parser, list->key_line, "attachments") : TD_OK;
}
