// SPDX-License-Identifier: Apache-2.0
// Actuators: from checked records to scene.h's structs. One table of keys serves all types, so what belongs to which
// type is checked here, and quantities whose dimension hangs on type and drive are read here.
#include "scene/parse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_POINTS 1000 // of a cable's path

// ---------------------------------------------------------------- types and what they take

static const struct
{
    const char *name, *a; ///< as in a scene, and with its article
    tdDim effort, displacement;
    const char *drives; ///< for messages
} kinds[TD_ACTUATOR_KINDS] = {
    [TD_ACTUATOR_CABLE] = {"cable", "a cable", TD_DIM_FORCE, TD_DIM_LENGTH, "displacement or force"},
    [TD_ACTUATOR_CAVITY] = {"cavity", "a cavity", TD_DIM_PRESSURE, TD_DIM_VOLUME, "pressure, volume or gas"},
    [TD_ACTUATOR_FORCE] = {"force", "a force", TD_DIM_FORCE, TD_DIM_LENGTH, "force or displacement"},
    [TD_ACTUATOR_TRANSLATION] = {"translation", "a translation", TD_DIM_FORCE, TD_DIM_LENGTH, "displacement or force"},
    [TD_ACTUATOR_ROTATION] = {"rotation", "a rotation", TD_DIM_TORQUE, TD_DIM_ANGLE, "angle or torque"},
    [TD_ACTUATOR_JOINT] = {"joint", "a joint", TD_DIM_TORQUE, TD_DIM_ANGLE, "effort, position or velocity"},
    [TD_ACTUATOR_SLIDE] = {"joint", "a joint", TD_DIM_FORCE, TD_DIM_LENGTH, "effort, position or velocity"},
};

enum
{
    CABLE = 1 << TD_ACTUATOR_CABLE,
    CAVITY = 1 << TD_ACTUATOR_CAVITY,
    FORCE = 1 << TD_ACTUATOR_FORCE,
    TRANSLATION = 1 << TD_ACTUATOR_TRANSLATION,
    ROTATION = 1 << TD_ACTUATOR_ROTATION,
    JOINT = 1 << TD_ACTUATOR_JOINT,
    NODES = FORCE | TRANSLATION | ROTATION
};

// Keys that not every type takes.
static const struct
{
    const char *key;
    int of;
} own_keys[] = {
    {"path", CABLE},
    {"pull_point", CABLE},
    {"pull_body", CABLE},
    {"stiffness", CABLE | JOINT},
    {"damping", JOINT},
    {"gravity_compensation", JOINT},
    {"joint", JOINT},
    {"friction", CABLE},
    {"slip", CABLE},
    {"surface", CAVITY},
    {"ambient", CAVITY},
    {"on", FORCE},
    {"point", FORCE},
    {"link", FORCE},
    {"direction", FORCE | TRANSLATION},
    {"axis", ROTATION},
    {"center", ROTATION},
    {"group", CAVITY | NODES},
    {"all", NODES},
    {"box", NODES},
    {"sphere", NODES},
    {"plane", NODES},
    {"nodes", NODES},
};

static const struct
{
    tdActuatorKind kind;
    tdDriveChoice choice;
    tdDrive drive;
} drives[] = {
    {TD_ACTUATOR_CABLE, TD_CHOICE_DISPLACEMENT, TD_DRIVE_DISPLACEMENT},
    {TD_ACTUATOR_CABLE, TD_CHOICE_FORCE, TD_DRIVE_EFFORT},
    {TD_ACTUATOR_CAVITY, TD_CHOICE_PRESSURE, TD_DRIVE_EFFORT},
    {TD_ACTUATOR_CAVITY, TD_CHOICE_VOLUME, TD_DRIVE_DISPLACEMENT},
    {TD_ACTUATOR_CAVITY, TD_CHOICE_GAS, TD_DRIVE_GAS},
    {TD_ACTUATOR_FORCE, TD_CHOICE_FORCE, TD_DRIVE_EFFORT},
    {TD_ACTUATOR_FORCE, TD_CHOICE_DISPLACEMENT, TD_DRIVE_DISPLACEMENT},
    {TD_ACTUATOR_TRANSLATION, TD_CHOICE_FORCE, TD_DRIVE_EFFORT},
    {TD_ACTUATOR_TRANSLATION, TD_CHOICE_DISPLACEMENT, TD_DRIVE_DISPLACEMENT},
    {TD_ACTUATOR_ROTATION, TD_CHOICE_TORQUE, TD_DRIVE_EFFORT},
    {TD_ACTUATOR_ROTATION, TD_CHOICE_ANGLE, TD_DRIVE_DISPLACEMENT},
    {TD_ACTUATOR_JOINT, TD_CHOICE_EFFORT, TD_DRIVE_EFFORT},
    {TD_ACTUATOR_JOINT, TD_CHOICE_POSITION, TD_DRIVE_DISPLACEMENT},
    {TD_ACTUATOR_JOINT, TD_CHOICE_RATE, TD_DRIVE_SERVO},
    {TD_ACTUATOR_SLIDE, TD_CHOICE_EFFORT, TD_DRIVE_EFFORT},
    {TD_ACTUATOR_SLIDE, TD_CHOICE_POSITION, TD_DRIVE_DISPLACEMENT},
    {TD_ACTUATOR_SLIDE, TD_CHOICE_RATE, TD_DRIVE_SERVO},
};

tdDim td_actuator_effort_dim(tdActuatorKind kind)
{
    return kinds[kind].effort;
}

tdDim td_actuator_displacement_dim(tdActuatorKind kind)
{
    return kinds[kind].displacement;
}

const char *td_actuator_kind_name(tdActuatorKind kind)
{
    return kinds[kind].name;
}

static bool given(const tdRecord *record, const char *key)
{
    return td_record_get(record, key)->node != NULL;
}

// "cable", "force and translation", "force, translation and rotation"
static void list_kinds(int of, char *out, size_t size)
{
    int left = 0;
    for (int k = 0; k < TD_ACTUATOR_KINDS; k++)
        left += (of >> k) & 1;
    size_t used = 0;
    out[0] = '\0';
    for (int k = 0; k < TD_ACTUATOR_KINDS; k++)
        if (((of >> k) & 1) != 0 && used < size)
        {
            left--;
            used += (size_t)snprintf(out + used, size - used, "%s%s", kinds[k].name,
                                     left > 1   ? ", "
                                     : left > 0 ? " and "
                                                : "");
        }
}

static tdStatus check_keys(tdSceneParser *parser, const tdRecord *record, const tdSceneActuator *actuator)
{
    for (size_t i = 0; i < sizeof own_keys / sizeof own_keys[0]; i++)
    {
        int of = own_keys[i].of;
        if (!given(record, own_keys[i].key) || (of & (1 << actuator->kind)) != 0)
            continue;
        char list[80];
        list_kinds(of, list, sizeof list);
        return td_record_fail(&parser->reader, record, own_keys[i].key, "%s takes no '%s'; it is for type%s %s",
                              kinds[actuator->kind].a, own_keys[i].key, (of & (of - 1)) != 0 ? "s" : "", list);
    }
    return TD_OK;
}

static tdStatus need(tdSceneParser *parser, const tdRecord *record, tdActuatorKind kind, const char *key,
                     const char *example)
{
    if (given(record, key))
        return TD_OK;
    return td_record_fail(&parser->reader, record, key, "%s needs '%s', e.g. '%s: %s'", kinds[kind].a, key, key,
                          example);
}

static tdStatus parse_drive(tdSceneParser *parser, const tdRecord *record, tdSceneActuator *actuator)
{
    const tdValue *value = td_record_get(record, "drive");
    for (size_t i = 0; i < sizeof drives / sizeof drives[0]; i++)
        if (drives[i].kind == actuator->kind && (int64_t)drives[i].choice == value->integer[0])
        {
            actuator->drive = drives[i].drive;
            actuator->rate = drives[i].choice == TD_CHOICE_RATE;
            return TD_OK;
        }
    return td_record_fail(&parser->reader, record, "drive", "%s is not driven by %s; it is by %s",
                          kinds[actuator->kind].a, value->node->text, kinds[actuator->kind].drives);
}

// ---------------------------------------------------------------- limits

static tdStatus read_limit(tdSceneParser *parser, const tdYaml *node, const char *path, int i, tdDim dim, double *out)
{
    // The default, no limit, may stand on one side of a pair.
    if (node->kind == TD_YAML_SCALAR && strcmp(node->text, "none") == 0)
    {
        *out = i == 0 ? -INFINITY : INFINITY;
        return TD_OK;
    }
    char field[256];
    td_path_item(field, sizeof field, path, "", i);
    return td_read_quantity(&parser->reader, node, field, dim, out);
}

tdStatus td_parse_limits(tdSceneParser *parser, const tdRecord *record, const char *key, tdDim dim, double out[2])
{
    const tdYaml *node = td_record_get(record, key)->node;
    if (node == NULL)
        return TD_OK;
    char path[256];
    td_path_key(path, sizeof path, record->path, key);
    if (node->kind != TD_YAML_LIST || node->n != 2)
        return td_reader_unexpected(&parser->reader, node, path, "two numbers [minimum, maximum]");
    TD_TRY(read_limit(parser, node->first, path, 0, dim, &out[0]));
    TD_TRY(read_limit(parser, node->last, path, 1, dim, &out[1]));
    if (!(out[0] <= out[1]))
        return td_record_fail(&parser->reader, record, key,
                              "the minimum '%.40s' is more than the maximum '%.40s'; the smaller one comes first",
                              node->first->text, node->last->text);
    return TD_OK;
}

static tdStatus read_rate(tdSceneParser *parser, const tdRecord *record, const char *key, tdDim dim, double *out)
{
    const tdYaml *node = td_record_get(record, key)->node;
    *out = INFINITY;
    if (node == NULL)
        return TD_OK;
    char field[256];
    td_path_key(field, sizeof field, record->path, key);
    dim.time--;
    TD_TRY(td_read_quantity(&parser->reader, node, field, dim, out));
    if (!(*out > 0))
        return td_record_fail(&parser->reader, record, key,
                              "found '%.60s', must be > 0; leave the key out for no limit", node->text);
    return TD_OK;
}

static tdStatus parse_limits(tdSceneParser *parser, const tdRecord *record, tdSceneActuator *actuator)
{
    tdDim effort = kinds[actuator->kind].effort, displacement = kinds[actuator->kind].displacement;
    bool cable = actuator->kind == TD_ACTUATOR_CABLE;
    actuator->effort[0] = cable ? 0 : -INFINITY;
    actuator->displacement[0] = actuator->gas[0] = -INFINITY;
    actuator->effort[1] = actuator->displacement[1] = actuator->gas[1] = INFINITY;
    if (actuator->kind == TD_ACTUATOR_JOINT || actuator->kind == TD_ACTUATOR_SLIDE)
        td_parse_joint_limits(parser, actuator);
    const char *same = actuator->drive == TD_DRIVE_EFFORT         ? "effort_range"
                       : actuator->drive == TD_DRIVE_DISPLACEMENT ? "displacement_range"
                                                                  : NULL;
    if (same != NULL && given(record, "range") && given(record, same))
        return td_record_fail(&parser->reader, record, same,
                              "'range' (line %d) is already that of the %s, which 'drive' names; give one of them",
                              td_record_line(record, "range"),
                              actuator->drive == TD_DRIVE_EFFORT ? "effort" : "displacement");
    TD_TRY(td_parse_limits(parser, record, "effort_range", effort, actuator->effort));
    TD_TRY(td_parse_limits(parser, record, "displacement_range", displacement, actuator->displacement));
    if (actuator->rate && given(record, "range"))
        return td_record_fail(&parser->reader, record, "range",
                              "a joint driven by velocity has no limits of the rate here; use 'effort_range'");
    if (actuator->drive == TD_DRIVE_SERVO && (given(record, "effort_rate") || given(record, "displacement_rate")))
        return td_record_fail(&parser->reader, record,
                              given(record, "effort_rate") ? "effort_rate" : "displacement_rate",
                              "a servo has no limits of rates; remove it");
    if (actuator->drive == TD_DRIVE_EFFORT)
        TD_TRY(td_parse_limits(parser, record, "range", effort, actuator->effort));
    else
        TD_TRY(td_parse_limits(parser, record, "range", displacement,
                               actuator->drive == TD_DRIVE_GAS ? actuator->gas : actuator->displacement));
    if (cable && actuator->effort[0] < 0)
        return td_record_fail(&parser->reader, record, given(record, "effort_range") ? "effort_range" : "range",
                              "a cable only pulls: the minimum force is %g N, but must not be negative",
                              actuator->effort[0]);
    TD_TRY(read_rate(parser, record, "effort_rate", effort, &actuator->effort_rate));
    return read_rate(parser, record, "displacement_rate", displacement, &actuator->displacement_rate);
}

// ---------------------------------------------------------------- cable

static bool same_point(const double *a, const double *b)
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

static tdStatus parse_path(tdSceneParser *parser, const tdRecord *record, tdSceneActuator *actuator)
{
    const tdYaml *node = td_record_get(record, "path")->node;
    bool flat = parser->scene->bodies[actuator->body].plane != TD_PLANE_NONE;
    char path[256], field[256];
    td_path_key(path, sizeof path, record->path, "path");
    if (node->kind != TD_YAML_LIST || node->n < 1)
        return td_reader_unexpected(&parser->reader, node, path, "a list of points [[x, y, z], ...]");
    if (node->n > MOST_POINTS)
        return td_record_fail(&parser->reader, record, "path", "%d points; at most %d are allowed", node->n,
                              MOST_POINTS);
    actuator->path = TD_TAKE(parser->arena, double, 3 * (int64_t)node->n);
    if (actuator->path == NULL)
        return td_fail_memory(parser->reader.error, "the path of a cable");
    for (const tdYaml *item = node->first; item != NULL; item = item->next)
    {
        int i = actuator->n_path;
        double *point = actuator->path + 3 * i;
        td_path_item(field, sizeof field, path, "", i);
        TD_TRY(td_read_vector(&parser->reader, item, field, TD_DIM_LENGTH, point));
        if (i > 0 && same_point(point, point - 3))
            return td_reader_fail(&parser->reader, item->line, field, NULL,
                                  "the point is the same as the one before it; remove one");
        if (flat && point[2] != 0)
            return td_reader_fail(&parser->reader, item->line, field, NULL, "a plane body is at z = 0; write 0 there");
        actuator->n_path++;
    }
    return TD_OK;
}

static tdStatus parse_pull(tdSceneParser *parser, const tdRecord *record, tdSceneActuator *actuator)
{
    actuator->has_pull = given(record, "pull_point");
    actuator->pull_body = -1;
    if (!actuator->has_pull && given(record, "pull_body"))
        return td_record_fail(&parser->reader, record, "pull_body",
                              "there is no 'pull_point' that the body could carry; add one, or remove 'pull_body'");
    if (!actuator->has_pull && actuator->n_path < 2)
        return td_record_fail(&parser->reader, record, "path",
                              "a cable has two ends: add a 'pull_point', or a second point to the path");
    if (!actuator->has_pull)
        return TD_OK;
    memcpy(actuator->pull, td_record_get(record, "pull_point")->number, sizeof actuator->pull);
    if (same_point(actuator->pull, actuator->path + 3 * (actuator->n_path - 1)))
        return td_record_fail(&parser->reader, record, "pull_point",
                              "the pull point is the last point of the path; remove one of them");
    if (!given(record, "pull_body"))
        return TD_OK;
    TD_TRY(td_parse_body_name(parser, record, "pull_body", &actuator->pull_body));
    if (actuator->pull_body == actuator->body)
        return td_record_fail(&parser->reader, record, "pull_body",
                              "the pull point is on the cable's own body; write it as the last point of 'path'");
    return TD_OK;
}

static tdStatus read_stretch(tdSceneParser *parser, const tdRecord *record, tdSceneActuator *actuator)
{
    const tdYaml *node = td_record_get(record, "stiffness")->node;
    if (node == NULL)
        return TD_OK;
    char field[256];
    td_path_key(field, sizeof field, record->path, "stiffness");
    TD_TRY(td_read_quantity(&parser->reader, node, field, TD_DIM_FORCE, &actuator->stiffness));
    if (!(actuator->stiffness > 0))
        return td_record_fail(&parser->reader, record, "stiffness", "found '%.60s', must be > 0", node->text);
    return TD_OK;
}

static tdStatus parse_cable(tdSceneParser *parser, const tdRecord *record, tdSceneActuator *actuator)
{
    TD_TRY(need(parser, record, actuator->kind, "path", "[[0, 97, 45], [0, 50, 40]]"));
    TD_TRY(parse_path(parser, record, actuator));
    TD_TRY(parse_pull(parser, record, actuator));
    TD_TRY(read_stretch(parser, record, actuator));
    actuator->friction = td_record_get(record, "friction")->number[0];
    actuator->slip = td_record_get(record, "slip")->number[0];
    if (actuator->friction > 0 && actuator->n_path + actuator->has_pull < 3)
        return td_record_fail(&parser->reader, record, "friction",
                              "friction acts where a cable bends, and one between two points is straight; add a point "
                              "to the path, or remove 'friction'");
    if (given(record, "slip") && !(actuator->friction > 0))
        return td_record_fail(&parser->reader, record, "slip",
                              "a cable without friction slides freely; add 'friction', or remove 'slip'");
    return TD_OK;
}

// ---------------------------------------------------------------- cavity, nodes

static tdStatus parse_cavity(tdSceneParser *parser, const tdRecord *record, tdSceneActuator *actuator)
{
    const tdSceneBody *body = &parser->scene->bodies[actuator->body];
    if (body->plane != TD_PLANE_NONE)
        return td_record_fail(&parser->reader, record, "type", "a plane body encloses no volume; use a body in space");
    bool file = given(record, "surface"), group = given(record, "group");
    if (file && group)
        return td_record_fail(&parser->reader, record, "group",
                              "'surface' (line %d) and 'group' exclude each other; "
                              "give one",
                              td_record_line(record, "surface"));
    if (!file && !group)
        return td_record_fail(&parser->reader, record, "surface",
                              "a cavity needs 'surface', a mesh file, or 'group', boundary triangles of the body");
    if (given(record, "ambient") && actuator->drive != TD_DRIVE_GAS)
        return td_record_fail(&parser->reader, record, "ambient",
                              "only a cavity driven by gas uses it; set 'drive: gas', or remove 'ambient'");
    actuator->ambient = td_record_get(record, "ambient")->number[0];
    if (group)
        return td_parse_copy(parser, td_record_get(record, "group")->text, &actuator->group);
    return td_parse_path(parser, record, "surface", td_record_get(record, "surface")->text, &actuator->surface);
}

static tdStatus parse_place(tdSceneParser *parser, const tdRecord *record, tdSceneActuator *actuator)
{
    const tdValue *point = td_record_get(record, "point");
    actuator->on_surface = td_record_get(record, "on")->integer[0] == TD_ON_SURFACE;
    actuator->at_point = point->node != NULL;
    if (td_parse_selector(record) == NULL)
        return td_reader_fail(
            &parser->reader, actuator->line, record->path, NULL,
            "%s needs nodes to act on; add %sone of: all, box, sphere, plane, side, part, group, nodes",
            kinds[actuator->kind].a, actuator->kind == TD_ACTUATOR_FORCE ? "'point', or " : "");
    if (!actuator->at_point)
        return td_parse_select(parser, record, &actuator->select);
    if (actuator->on_surface)
        return td_record_fail(&parser->reader, record, "on",
                              "a point has no area; choose faces, e.g. by 'group', or remove 'on'");
    memcpy(actuator->point, point->number, sizeof actuator->point);
    return TD_OK;
}

// What moves nodes by itself is for bodies that have nodes of their own.
static tdStatus check_body(tdSceneParser *parser, const tdRecord *record, const tdSceneActuator *actuator)
{
    const tdSceneBody *body = &parser->scene->bodies[actuator->body];
    bool fits = actuator->kind == TD_ACTUATOR_CABLE || (actuator->kind == TD_ACTUATOR_FORCE && !actuator->on_surface);
    if (body->type == TD_BODY_SOFT || fits)
        return TD_OK;
    if (actuator->kind == TD_ACTUATOR_FORCE)
        return td_record_fail(&parser->reader, record, "on",
                              "body '%s' is rigid: let the force act at a 'point' or at nodes", body->name);
    return td_record_fail(
        &parser->reader, record, "type",
        "body '%s' is rigid, and %s is for soft bodies; drive its joints (type joint), or use a force", body->name,
        kinds[actuator->kind].a);
}

static tdStatus parse_nodes(tdSceneParser *parser, const tdRecord *record, tdSceneActuator *actuator)
{
    bool rotation = actuator->kind == TD_ACTUATOR_ROTATION;
    const char *key = rotation ? "axis" : "direction";
    TD_TRY(need(parser, record, actuator->kind, key, "[0, 0, 1]"));
    TD_TRY(td_parse_direction(parser, record, key, actuator->direction));
    if (rotation)
    {
        TD_TRY(need(parser, record, actuator->kind, "center", "[0, 0, 0]"));
        memcpy(actuator->center, td_record_get(record, "center")->number, sizeof actuator->center);
    }
    const double *d = actuator->direction;
    if (parser->scene->bodies[actuator->body].plane != TD_PLANE_NONE)
    {
        if (rotation && (d[0] != 0 || d[1] != 0))
            return td_record_fail(&parser->reader, record, key, "a plane body rotates about z only; use [0, 0, 1]");
        if (!rotation && d[2] != 0)
            return td_record_fail(&parser->reader, record, key, "a plane body does not move along z; write 0 there");
    }
    return parse_place(parser, record, actuator);
}

// ---------------------------------------------------------------- actuators

static tdStatus parse_actuator(tdSceneParser *parser, const tdYaml *node, int index, tdSceneActuator *actuator)
{
    char path[64];
    tdRecord record;
    td_path_item(path, sizeof path, "actuators", "", index);
    TD_TRY(td_schema_read(&parser->reader, node, &td_schema_actuator, path, &record));
    actuator->line = node->line;
    actuator->kind = (tdActuatorKind)td_record_get(&record, "type")->integer[0];
    TD_TRY(check_keys(parser, &record, actuator));
    if (actuator->kind == TD_ACTUATOR_JOINT)
        TD_TRY(td_parse_joint_kind(parser, &record, actuator));
    TD_TRY(parse_drive(parser, &record, actuator));
    tdDim dim = actuator->drive == TD_DRIVE_EFFORT ? kinds[actuator->kind].effort : kinds[actuator->kind].displacement;
    dim.time -= actuator->rate;
    TD_TRY(td_parse_input(parser, &record, dim, &actuator->name));
    TD_TRY(td_parse_body_name(parser, &record, "body", &actuator->body));
    int input = parser->n_inputs - 1;
    actuator->pull_body = -1;
    if (actuator->kind == TD_ACTUATOR_JOINT || actuator->kind == TD_ACTUATOR_SLIDE)
        TD_TRY(td_parse_joint(parser, &record, actuator));
    else if (actuator->kind == TD_ACTUATOR_CABLE)
        TD_TRY(parse_cable(parser, &record, actuator));
    else if (actuator->kind == TD_ACTUATOR_CAVITY)
        TD_TRY(parse_cavity(parser, &record, actuator));
    else
        TD_TRY(parse_nodes(parser, &record, actuator));
    // A servo, gas and a cable that stretches are driven by something else than what they come to.
    bool is_met = actuator->drive == TD_DRIVE_DISPLACEMENT && !(actuator->stiffness > 0);
    parser->inputs[input].table = actuator->drive == TD_DRIVE_EFFORT ? ".effort" : is_met ? ".displacement" : "";
    if (actuator->kind < TD_ACTUATOR_JOINT)
        TD_TRY(check_body(parser, &record, actuator));
    TD_TRY(td_parse_link(parser, &record, actuator->body, actuator->at_point, &actuator->link));
    return parse_limits(parser, &record, actuator);
}

tdStatus td_parse_actuators(tdSceneParser *parser, const tdYaml *list)
{
    tdScene *scene = parser->scene;
    scene->actuators = TD_TAKE(parser->arena, tdSceneActuator, list->n);
    if (scene->actuators == NULL)
        return td_fail_memory(parser->reader.error, "the actuators");
    for (const tdYaml *item = list->first; item != NULL; item = item->next, scene->n_actuators++)
        TD_TRY(parse_actuator(parser, item, scene->n_actuators, &scene->actuators[scene->n_actuators]));
    return TD_OK;
}
