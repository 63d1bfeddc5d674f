// SPDX-License-Identifier: Apache-2.0
// Tools: from checked records to scene.h's structs. Bodies and actuators are known.
#include "scene/parse.h"

#include "base/suggest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_NAMES 256

// ---------------------------------------------------------------- links and joints

static tdStatus find_link(tdSceneParser *parser, const tdRecord *record, const tdSceneBody *body, int *out)
{
    const char *name = td_record_get(record, "link")->text, *names[MOST_NAMES];
    int n = 0;
    *out = td_tree_link(body->tree, name);
    if (*out >= 0)
        return TD_OK;
    for (; n < body->tree->n_links && n < MOST_NAMES; n++)
        names[n] = body->tree->links[n].name;
    const char *nearest = td_suggest(name, names, n);
    return td_record_fail(&parser->reader, record, "link", "body '%s' has no link '%.60s'; %s '%s'%s", body->name, name,
                          nearest != NULL ? "did you mean" : "its first is", nearest != NULL ? nearest : names[0],
                          nearest != NULL ? "?" : "");
}

// Whether the joint of a link, or one that mimics it, is on the way from the tool's link to the root.
static bool moves(const tdTree *tree, int joint, int link)
{
    for (int l = link; l >= 0; l = tree->links[l].parent)
        if (l == joint || tree->links[l].mimic == joint)
            return true;
    return false;
}

// The position servo of a joint, -1: none. *other: an actuator of the joint that is none.
static int servo_of(const tdScene *scene, int body, int joint, int *other)
{
    *other = -1;
    for (int a = 0; a < scene->n_actuators; a++)
    {
        const tdSceneActuator *actuator = &scene->actuators[a];
        bool of_joint = actuator->kind == TD_ACTUATOR_JOINT || actuator->kind == TD_ACTUATOR_SLIDE;
        if (!of_joint || actuator->body != body || actuator->joint != joint)
            continue;
        if (actuator->drive == TD_DRIVE_SERVO && !actuator->rate)
            return a;
        *other = a;
    }
    return -1;
}

static tdStatus check_joint(tdSceneParser *parser, int line, const char *field, const tdSceneTool *tool, int actuator)
{
    const tdScene *scene = parser->scene;
    const tdTreeLink *joint = &scene->bodies[tool->body].tree->links[scene->actuators[actuator].joint];
    if (!(joint->velocity > 0))
        return td_reader_fail(
            &parser->reader, line, field, NULL,
            "joint '%s' has a limit of velocity of zero and would never move; raise it in the robot's "
            "file",
            joint->joint);
    for (int t = 0; t < scene->n_tools; t++)
        for (int k = 0; k < scene->tools[t].n_joints; k++)
            if (scene->tools[t].actuators[k] == actuator)
                return td_reader_fail(
                    &parser->reader, line, field, NULL,
                    "joint '%s' is already commanded by the tool '%s' on line %d; a joint follows one "
                    "tool",
                    joint->joint, scene->tools[t].name, scene->tools[t].line);
    return TD_OK;
}

static tdStatus named_joint(tdSceneParser *parser, const tdYaml *item, const char *field, tdSceneTool *tool)
{
    const tdSceneBody *body = &parser->scene->bodies[tool->body];
    const tdTree *tree = body->tree;
    if (item->kind != TD_YAML_SCALAR || td_yaml_empty(item))
        return td_reader_unexpected(&parser->reader, item, field, "the name of a joint");
    int joint = td_tree_joint(tree, item->text);
    if (joint < 0)
    {
        const char *names[MOST_NAMES];
        int n = 0;
        for (int l = 1; l < tree->n_links && n < MOST_NAMES; l++)
            names[n++] = tree->links[l].joint;
        const char *nearest = td_suggest(item->text, names, n);
        return td_reader_fail(&parser->reader, item->line, field, NULL, "body '%s' has no joint '%.60s'%s%s%s",
                              body->name, item->text, nearest != NULL ? "; did you mean '" : "",
                              nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
    }
    if (!moves(tree, joint, tool->link))
        return td_reader_fail(&parser->reader, item->line, field, NULL,
                              "joint '%s' does not move link '%s': it is not between it and the root", item->text,
                              tree->links[tool->link].name);
    int other = -1, actuator = servo_of(parser->scene, tool->body, joint, &other);
    if (actuator < 0 && other >= 0)
        return td_reader_fail(
            &parser->reader, item->line, field, NULL,
            "actuator '%s' of joint '%s' is not a position servo; a tool commands actuators with 'drive: "
            "position' and 'stiffness'",
            parser->scene->actuators[other].name, item->text);
    if (actuator < 0)
        return td_reader_fail(&parser->reader, item->line, field, NULL,
                              "joint '%s' has no servo; add an actuator with 'type: joint, joint: %s, drive: position, "
                              "stiffness: ...'",
                              item->text, item->text);
    for (int k = 0; k < tool->n_joints; k++)
        if (tool->actuators[k] == actuator)
            return td_reader_fail(&parser->reader, item->line, field, NULL, "joint '%s' is listed twice", item->text);
    TD_TRY(check_joint(parser, item->line, field, tool, actuator));
    tool->actuators[tool->n_joints++] = actuator;
    return TD_OK;
}

static tdStatus parse_joints(tdSceneParser *parser, const tdRecord *record, tdSceneTool *tool)
{
    const tdYaml *list = td_record_get(record, "joints")->node;
    const tdTree *tree = parser->scene->bodies[tool->body].tree;
    char field[256];
    td_path_key(field, sizeof field, record->path, "joints");
    tool->actuators = TD_TAKE(parser->arena, int, list != NULL ? list->n : tree->n_links);
    if (tool->actuators == NULL)
        return td_fail_memory(parser->reader.error, "the tools");
    if (list != NULL && list->kind != TD_YAML_LIST)
        return td_reader_unexpected(&parser->reader, list, field, "a list of names of joints, [joint_1, joint_2]");
    for (const tdYaml *item = list == NULL ? NULL : list->first; item != NULL; item = item->next)
        TD_TRY(named_joint(parser, item, field, tool));
    for (int l = 1; list == NULL && l < tree->n_links; l++)
    {
        int other = -1, actuator = moves(tree, l, tool->link) ? servo_of(parser->scene, tool->body, l, &other) : -1;
        if (actuator < 0)
            continue;
        TD_TRY(check_joint(parser, record->node->line, record->path, tool, actuator));
        tool->actuators[tool->n_joints++] = actuator;
    }
    if (tool->n_joints > 0)
        return TD_OK;
    return td_record_fail(&parser->reader, record, "joints",
                          "no joint that moves link '%s' has a position servo; add actuators with 'type: joint, drive: "
                          "position, stiffness: ...'",
                          tree->links[tool->link].name);
}

// ---------------------------------------------------------------- tools

static tdStatus parse_names(tdSceneParser *parser, const tdRecord *record, tdSceneTool *tool)
{
    static const char *const parts[6] = {"x", "y", "z", "rx", "ry", "rz"};
    const tdScene *scene = parser->scene;
    const char *name = td_record_get(record, "name")->text;
    for (int t = 0; t < scene->n_tools; t++)
        if (strcmp(scene->tools[t].name, name) == 0)
            return td_record_fail(&parser->reader, record, "name", "the tool on line %d has the same name '%s'",
                                  scene->tools[t].line, name);
    TD_TRY(td_parse_copy(parser, name, &tool->name));
    for (int k = 0; k < 6; k++)
    {
        char input[512];
        if (snprintf(input, sizeof input, "%s.%s", name, parts[k]) >= (int)sizeof input)
            return td_record_fail(&parser->reader, record, "name", "the name is too long");
        TD_TRY(td_parse_input_name(parser, record, input, k < 3 ? TD_DIM_LENGTH : TD_DIM_ANGLE, &tool->inputs[k]));
    }
    return TD_OK;
}

static tdStatus parse_tool(tdSceneParser *parser, const tdYaml *node, tdSceneTool *tool)
{
    char path[64];
    tdRecord record;
    td_path_item(path, sizeof path, "tools", "", parser->scene->n_tools);
    TD_TRY(td_schema_read(&parser->reader, node, &td_schema_tool, path, &record));
    tool->line = node->line;
    TD_TRY(parse_names(parser, &record, tool));
    TD_TRY(td_parse_body_name(parser, &record, "body", &tool->body));
    const tdSceneBody *body = &parser->scene->bodies[tool->body];
    if (body->type != TD_BODY_ARTICULATED)
        return td_record_fail(&parser->reader, &record, "body", "body '%s' has no joints; it is not articulated",
                              body->name);
    TD_TRY(find_link(parser, &record, body, &tool->link));
    const tdValue *point = td_record_get(&record, "point");
    tool->at_point = point->node != NULL;
    memcpy(tool->point, point->number, sizeof tool->point);
    tool->damping = td_record_get(&record, "damping")->number[0];
    tool->lever = td_record_number(&record, "lever", 0);
    tool->speed = td_record_number(&record, "speed", INFINITY);
    tool->turning = td_record_number(&record, "turning", INFINITY);
    return parse_joints(parser, &record, tool);
}

tdStatus td_parse_tools(tdSceneParser *parser, const tdYaml *list)
{
    tdScene *scene = parser->scene;
    scene->tools = TD_TAKE(parser->arena, tdSceneTool, list->n);
    if (scene->tools == NULL)
        return td_fail_memory(parser->reader.error, "the tools");
    for (const tdYaml *item = list->first; item != NULL; item = item->next, scene->n_tools++)
        TD_TRY(parse_tool(parser, item, &scene->tools[scene->n_tools]));
    return TD_OK;
}

tdStatus td_parse_check_tools(tdSceneParser *parser)
{
    const tdScene *scene = parser->scene;
    for (int t = 0; t < scene->n_tools; t++)
        for (int k = 0; k < scene->tools[t].n_joints; k++)
            for (int n = 0; n < scene->motion.n_names; n++)
            {
                const tdSceneActuator *actuator = &scene->actuators[scene->tools[t].actuators[k]];
                if (strcmp(scene->motion.names[n], actuator->name) == 0)
                    return td_reader_fail(&parser->reader, scene->tools[t].line, "tools", NULL,
                                          "the motion on line %d drives actuator '%s', which tool '%s' commands; "
                                          "remove it from the motion, or give the tool its 'joints' without it",
                                          scene->motion.line, actuator->name, scene->tools[t].name);
            }
    return TD_OK;
}
