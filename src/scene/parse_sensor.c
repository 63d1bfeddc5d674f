// SPDX-License-Identifier: Apache-2.0
// `sensors`. Bodies and attachments are known.
#include "scene/parse.h"

#include "base/suggest.h"

#include <math.h>
#include <string.h>

static bool given(const tdRecord *record, const char *key)
{
    return td_record_get(record, key)->node != NULL;
}

// Keys that a kind has besides name and type.
static bool has_key(tdSensorKind kind, const char *key)
{
    static const char *const keys[4][4] = {
        {"body", "joint", "attachment"}, {"body", "link", "box", "area"}, {"body", "link", "point"}, {"body", "joint"}};
    for (int k = 0; k < 4 && keys[kind][k] != NULL; k++)
        if (strcmp(keys[kind][k], key) == 0)
            return true;
    return false;
}

static tdStatus check_keys(tdSceneParser *parser, const tdRecord *record, tdSensorKind kind)
{
    static const char *const all[] = {"body", "joint", "attachment", "link", "point", "box", "area"};
    static const char *const names[] = {"force_torque", "touch", "inertial", "joint"};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        if (given(record, all[k]) && !has_key(kind, all[k]))
            return td_record_fail(&parser->reader, record, all[k], "a sensor of type %s has no '%s'; remove it",
                                  names[kind], all[k]);
    return TD_OK;
}

static tdStatus parse_attachment(tdSceneParser *parser, const tdRecord *record, tdSceneSensor *out)
{
    const tdScene *scene = parser->scene;
    const char *name = td_record_get(record, "attachment")->text;
    if (given(record, "body") || given(record, "joint"))
        return td_record_fail(&parser->reader, record, "attachment",
                              "a sensor is at a joint ('body', 'joint') or at an attachment; remove one of them");
    for (int i = 0; i < scene->n_attachments; i++)
        if (strcmp(scene->attachments[i].name, name) == 0)
            out->attachment = i;
    if (out->attachment < 0)
        return td_record_fail(&parser->reader, record, "attachment",
                              "the scene has no attachment '%.60s'; list it under 'attachments'", name);
    return TD_OK;
}

// The link that the joint of a name carries; a joint of any kind.
static tdStatus parse_any_joint(tdSceneParser *parser, const tdRecord *record, tdSceneSensor *out)
{
    const tdSceneBody *body = &parser->scene->bodies[out->body];
    const char *name = td_record_get(record, "joint")->text, *names[256];
    int n = 0;
    if (body->type != TD_BODY_ARTICULATED)
        return td_record_fail(&parser->reader, record, "body", "body '%s' has no joints; it is not articulated",
                              body->name);
    out->link = td_tree_joint(body->tree, name);
    for (int l = 1; l < body->tree->n_links && n < 256; l++)
        names[n++] = body->tree->links[l].joint;
    const char *nearest = td_suggest(name, names, n);
    if (out->link < 1)
        return td_record_fail(&parser->reader, record, "joint", "body '%s' has no joint '%.60s'%s%s%s", body->name,
                              name, nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
                              nearest != NULL ? "'?" : "");
    return TD_OK;
}

static tdStatus parse_link(tdSceneParser *parser, const tdRecord *record, tdSceneSensor *out)
{
    const tdSceneBody *body = &parser->scene->bodies[out->body];
    const char *name = NULL;
    if (body->type == TD_BODY_SOFT && out->kind == TD_SENSOR_INERTIAL)
        return td_record_fail(&parser->reader, record, "body",
                              "body '%s' is soft and does not turn as one piece; attach a small rigid body to it and "
                              "put the sensor there",
                              body->name);
    if (given(record, "link"))
    {
        TD_TRY(td_parse_link_name(parser, record, "link", out->body, &name));
        out->link = td_tree_link(body->tree, name);
        return TD_OK;
    }
    if (body->type == TD_BODY_SOFT)
        return TD_OK;
    if (body->tree->n_links > 1)
        return td_record_fail(&parser->reader, record, "link", "body '%s' has %d links; say which one", body->name,
                              body->tree->n_links);
    out->link = 0;
    return TD_OK;
}

static tdStatus parse_sensor(tdSceneParser *parser, const tdYaml *item, int i, tdSceneSensor *out)
{
    const tdScene *scene = parser->scene;
    char path[64];
    tdRecord record;
    bool slides = false;
    td_path_item(path, sizeof path, "sensors", "", i);
    TD_TRY(td_schema_read(&parser->reader, item, &td_schema_sensor, path, &record));
    *out = (tdSceneSensor){.line = item->line, .body = -1, .link = -1, .attachment = -1};
    out->kind = (tdSensorKind)td_record_get(&record, "type")->integer[0];
    TD_TRY(td_parse_copy(parser, td_record_get(&record, "name")->text, &out->name));
    for (int k = 0; k < i; k++)
        if (strcmp(scene->sensors[k].name, out->name) == 0)
            return td_record_fail(&parser->reader, &record, "name", "the sensor on line %d has the same name '%s'",
                                  scene->sensors[k].line, out->name);
    TD_TRY(check_keys(parser, &record, out->kind));
    if (given(&record, "attachment"))
        return parse_attachment(parser, &record, out);
    if (!given(&record, "body"))
        return td_record_fail(&parser->reader, &record, "body",
                              "the key 'body' is missing: the body that carries the sensor");
    TD_TRY(td_parse_body_name(parser, &record, "body", &out->body));
    bool joint = out->kind == TD_SENSOR_JOINT || out->kind == TD_SENSOR_WRENCH;
    if (joint && !given(&record, "joint"))
        return td_record_fail(&parser->reader, &record, "joint", "the key 'joint' is missing: the joint's name");
    if (out->kind == TD_SENSOR_JOINT)
        return td_parse_joint_name(parser, &record, out->body, &out->link, &slides);
    if (joint)
        return parse_any_joint(parser, &record, out);
    TD_TRY(parse_link(parser, &record, out));
    out->at_point = given(&record, "point");
    memcpy(out->point, td_record_get(&record, "point")->number, sizeof out->point);
    out->patch = given(&record, "box");
    memcpy(out->box, td_record_get(&record, "box")->number, sizeof out->box);
    out->area = td_record_number(&record, "area", NAN);
    if (out->kind == TD_SENSOR_TOUCH && scene->contact.line == 0)
        return td_record_fail(&parser->reader, &record, "type",
                              "the scene has no contact that could be felt; add 'contact: {}' to it");
    return TD_OK;
}

tdStatus td_parse_sensors(tdSceneParser *parser, const tdYaml *list)
{
    tdScene *scene = parser->scene;
    scene->sensors = TD_TAKE(parser->arena, tdSceneSensor, list->n);
    if (scene->sensors == NULL)
        return td_fail_memory(parser->reader.error, "the sensors");
    for (const tdYaml *item = list->first; item != NULL; item = item->next, scene->n_sensors++)
        TD_TRY(parse_sensor(parser, item, scene->n_sensors, &scene->sensors[scene->n_sensors]));
    return TD_OK;
}
