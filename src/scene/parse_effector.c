// SPDX-License-Identifier: Apache-2.0
// Effectors, their targets and the settings of inverse control: from checked records to scene.h's structs.
#include "describe/csv.h"
#include "scene/parse.h"

#include "base/suggest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct
{
    const char *a; ///< with its article, for messages
    tdDim dim;     ///< of its target
    int n;         ///< numbers of its target
} kinds[TD_EFFECTOR_KINDS] = {
    [TD_EFFECTOR_POSITION] = {"a position", TD_DIM_LENGTH, 3},
    [TD_EFFECTOR_ORIENTATION] = {"an orientation", TD_DIM_ANGLE, 3},
    [TD_EFFECTOR_DIRECTION] = {"a direction", TD_DIM_NONE, 3},
    [TD_EFFECTOR_VOLUME] = {"a volume", TD_DIM_VOLUME, 1},
    [TD_EFFECTOR_LENGTH] = {"a length", TD_DIM_LENGTH, 1},
    [TD_EFFECTOR_CONTACT] = {"a contact force", TD_DIM_FORCE, 1},
    [TD_EFFECTOR_FRICTION] = {"a use of friction", TD_DIM_NONE, 1},
};

static bool is_contact(tdEffectorKind kind)
{
    return kind == TD_EFFECTOR_CONTACT || kind == TD_EFFECTOR_FRICTION;
}

static bool given(const tdRecord *record, const char *key)
{
    return td_record_get(record, key)->node != NULL;
}

// ---------------------------------------------------------------- names of actuators

// The actuator of this name, or -1 with the reason in `why`.
static int find_actuator(const tdScene *scene, const char *name, char *why, size_t size)
{
    const char *names[1000];
    int n = 0;
    for (; n < scene->n_actuators && n < 1000; n++)
    {
        names[n] = scene->actuators[n].name;
        if (strcmp(names[n], name) == 0)
            return n;
    }
    const char *nearest = n > 0 ? td_suggest(name, names, n) : NULL;
    if (n == 0)
        snprintf(why, size, "there is no actuator '%.60s': the scene has no 'actuators'", name);
    else if (nearest != NULL)
        snprintf(why, size, "there is no actuator '%.60s'; did you mean '%s'?", name, nearest);
    else
        snprintf(why, size, "there is no actuator '%.60s'; the first actuator is '%s'", name, names[0]);
    return -1;
}

// ---------------------------------------------------------------- targets

static tdStatus check_target(tdSceneParser *parser, const tdRecord *record, const tdSceneEffector *effector,
                             const char *place, double *value)
{
    if (effector->kind == TD_EFFECTOR_DIRECTION && !td_parse_unit_vector(value, value))
        return td_record_fail(&parser->reader, record, "target", "the direction%s is zero; give one, e.g. [0, 0, 1]",
                              place);
    if (is_contact(effector->kind) && !(value[0] >= 0))
        return td_record_fail(&parser->reader, record, "target", "%s must not be negative, found %g%s",
                              kinds[effector->kind].a, value[0], place);
    if (kinds[effector->kind].n == 1 && !is_contact(effector->kind) && !(value[0] > 0))
        return td_record_fail(&parser->reader, record, "target", "%s must be > 0, found %g%s", kinds[effector->kind].a,
                              value[0], place);
    if (effector->kind <= TD_EFFECTOR_DIRECTION && effector->kind != TD_EFFECTOR_ORIENTATION &&
        parser->scene->bodies[effector->body].plane != TD_PLANE_NONE && (effector->axes & TD_AXIS_Z) != 0 &&
        value[2] != 0)
        return td_record_fail(&parser->reader, record, "target", "a plane body does not leave z = 0; write 0 there%s",
                              place);
    return TD_OK;
}

// Columns of a target's file: x, y, z in this order, or value.
typedef struct Columns
{
    tdDim dim;
    int n, seen;
} Columns;

static bool target_column(void *context, const char *name, tdDim *dim, char why[TD_UNIT_WHY])
{
    Columns *columns = context;
    static const char *const three[] = {"x", "y", "z"};
    const char *expected = columns->n == 1 ? "value" : columns->seen < 3 ? three[columns->seen] : "";
    *dim = columns->dim;
    columns->seen++;
    if (columns->seen <= columns->n && strcmp(name, expected) == 0)
        return true;
    snprintf(why, TD_UNIT_WHY, "column %d is named '%.40s'; the header of this target is '%s'", columns->seen + 1, name,
             columns->n == 1 ? "t,value" : "t,x,y,z");
    return false;
}

static tdStatus read_target_file(tdSceneParser *parser, const tdRecord *record, tdSceneEffector *effector)
{
    const tdYaml *node = td_record_get(record, "target")->node;
    const char *path = NULL;
    char *text = NULL;
    size_t size = 0;
    effector->path = TD_TAKE(parser->arena, tdSceneMotion, 1);
    if (effector->path == NULL)
        return td_fail_memory(parser->reader.error, "the target of an effector");
    TD_TRY(td_parse_read_csv(parser, record, "target", &path, &text, &size));
    Columns columns = {.dim = kinds[effector->kind].dim, .n = kinds[effector->kind].n};
    tdStatus status = td_path_parse_csv(text, size, path, &parser->reader.units, target_column, &columns, parser->arena,
                                        effector->path, parser->reader.error);
    free(text);
    TD_TRY(status);
    if (columns.seen != columns.n)
        return td_fail_at(parser->reader.error, TD_ERROR_INPUT, path, 0, NULL,
                          "the file has %d columns behind t; the header of this target is '%s'", columns.seen,
                          columns.n == 1 ? "t,value" : "t,x,y,z");
    effector->path->line = node->line;
    for (int i = 0; i < effector->path->n_times; i++)
    {
        char place[64];
        snprintf(place, sizeof place, " at t = %g s of the file", effector->path->times[i]);
        TD_TRY(check_target(parser, record, effector, place, effector->path->values + (int64_t)i * columns.n));
    }
    return TD_OK;
}

static bool names_csv(const char *text)
{
    size_t n = strlen(text);
    return n > 4 && strcasecmp(text + n - 4, ".csv") == 0;
}

static tdStatus parse_target(tdSceneParser *parser, const tdRecord *record, tdSceneEffector *effector)
{
    const tdYaml *node = td_record_get(record, "target")->node;
    effector->has_target = node != NULL;
    if (node == NULL)
        return TD_OK;
    if (node->kind == TD_YAML_SCALAR && names_csv(node->text))
        return read_target_file(parser, record, effector);
    char field[256];
    td_path_key(field, sizeof field, record->path, "target");
    tdDim dim = kinds[effector->kind].dim;
    if (kinds[effector->kind].n == 1)
        TD_TRY(td_read_quantity(&parser->reader, node, field, dim, effector->target));
    else if (node->kind != TD_YAML_LIST)
        return td_reader_unexpected(&parser->reader, node, field, "[x, y, z], or the path of a .csv file");
    else
        TD_TRY(td_read_vector(&parser->reader, node, field, dim, effector->target));
    return check_target(parser, record, effector, "", effector->target);
}

// ---------------------------------------------------------------- effectors

static tdStatus refuse(tdSceneParser *parser, const tdRecord *record, tdEffectorKind kind, const char *key,
                       const char *of)
{
    if (key == NULL || !given(record, key))
        return TD_OK;
    return td_record_fail(&parser->reader, record, key, "%s takes no '%s'; it is for type%s", kinds[kind].a, key, of);
}

static tdStatus parse_of_actuator(tdSceneParser *parser, const tdRecord *record, tdSceneEffector *effector)
{
    bool volume = effector->kind == TD_EFFECTOR_VOLUME;
    const char *selector = td_parse_selector(record);
    effector->body = -1;
    TD_TRY(refuse(parser, record, effector->kind, "body",
                  "s position, orientation, direction, contact_force and friction_use"));
    if (selector != NULL)
        TD_TRY(refuse(parser, record, effector->kind, selector,
                      strcmp(selector, "point") == 0 ? " position" : "s position, orientation and direction"));
    const tdValue *value = td_record_get(record, "actuator");
    if (value->node == NULL)
        return td_record_fail(&parser->reader, record, "actuator", "%s needs 'actuator', the name of a %s",
                              kinds[effector->kind].a, volume ? "cavity" : "cable");
    char why[200];
    effector->actuator = find_actuator(parser->scene, value->text, why, sizeof why);
    if (effector->actuator < 0)
        return td_record_fail(&parser->reader, record, "actuator", "%s", why);
    tdActuatorKind kind = parser->scene->actuators[effector->actuator].kind;
    if (kind != (volume ? TD_ACTUATOR_CAVITY : TD_ACTUATOR_CABLE))
        return td_record_fail(&parser->reader, record, "actuator", "'%s' is an actuator of type %s; %s is that of a %s",
                              value->text, td_actuator_kind_name(kind), kinds[effector->kind].a,
                              volume ? "cavity" : "cable");
    return TD_OK;
}

static tdStatus parse_of_body(tdSceneParser *parser, const tdRecord *record, tdSceneEffector *effector)
{
    bool position = effector->kind == TD_EFFECTOR_POSITION;
    effector->actuator = -1;
    TD_TRY(refuse(parser, record, effector->kind, "actuator", "s volume and length"));
    if (!given(record, "body"))
        return td_record_fail(&parser->reader, record, "body", "%s needs 'body', the name of a body",
                              kinds[effector->kind].a);
    TD_TRY(td_parse_body_name(parser, record, "body", &effector->body));
    if (!position)
        TD_TRY(refuse(parser, record, effector->kind, "point", " position"));
    if (td_parse_selector(record) == NULL)
        return td_reader_fail(&parser->reader, effector->line, record->path, NULL,
                              "%s needs nodes; add %sone of: all, box, sphere, plane, side, part, group, nodes",
                              kinds[effector->kind].a, position ? "'point', or " : "");
    const tdValue *point = td_record_get(record, "point");
    effector->at_point = point->node != NULL;
    memcpy(effector->point, point->number, sizeof effector->point);
    TD_TRY(td_parse_link(parser, record, effector->body, effector->at_point, &effector->link));
    if (!effector->at_point)
        TD_TRY(td_parse_select(parser, record, &effector->select));
    if (effector->kind != TD_EFFECTOR_DIRECTION)
        return TD_OK;
    if (!given(record, "direction"))
        return td_record_fail(&parser->reader, record, "direction",
                              "a direction needs 'direction', its direction at rest, e.g. 'direction: [0, 0, 1]'");
    return td_parse_direction(parser, record, "direction", effector->direction);
}

// Between two bodies, or between one and all others.
static tdStatus parse_of_contact(tdSceneParser *parser, const tdRecord *record, tdSceneEffector *effector)
{
    const char *selector = td_parse_selector(record);
    effector->body = effector->actuator = effector->bodies[1] = -1;
    TD_TRY(refuse(parser, record, effector->kind, "actuator", "s volume and length"));
    TD_TRY(refuse(parser, record, effector->kind, "link", " position"));
    if (selector != NULL)
        TD_TRY(refuse(parser, record, effector->kind, selector,
                      strcmp(selector, "point") == 0 ? " position" : "s position, orientation and direction"));
    if (!given(record, "body"))
        return td_record_fail(&parser->reader, record, "body", "%s needs 'body', the name of a body that touches",
                              kinds[effector->kind].a);
    TD_TRY(td_parse_body_name(parser, record, "body", &effector->bodies[0]));
    if (given(record, "against"))
        TD_TRY(td_parse_body_name(parser, record, "against", &effector->bodies[1]));
    if (effector->bodies[1] == effector->bodies[0])
        return td_record_fail(&parser->reader, record, "against",
                              "is the body itself; name another one, or leave it out for all others");
    effector->range[0] = -INFINITY;
    effector->range[1] = INFINITY;
    TD_TRY(td_parse_limits(parser, record, "range", kinds[effector->kind].dim, effector->range));
    if (effector->range[1] < 0)
        return td_record_fail(&parser->reader, record, "range",
                              "%s is never below 0, so that at most %g cannot be kept", kinds[effector->kind].a,
                              effector->range[1]);
    return TD_OK;
}

static tdStatus parse_effector_name(tdSceneParser *parser, const tdRecord *record, tdSceneEffector *effector)
{
    const tdScene *scene = parser->scene;
    const char *name = td_record_get(record, "name")->text;
    size_t n = strlen(name);
    if (strcmp(name, "t") == 0)
        return td_record_fail(&parser->reader, record, "name", "'t' is the time in files; use another name");
    if (n > 2 && name[n - 2] == '.' && strchr("xyz", name[n - 1]) != NULL)
        return td_record_fail(&parser->reader, record, "name",
                              "'%s' would be mistaken for a component of '%.*s' in files; use another name", name,
                              (int)n - 2, name);
    for (int i = 0; i < scene->n_effectors; i++)
        if (strcmp(scene->effectors[i].name, name) == 0)
            return td_record_fail(&parser->reader, record, "name", "the effector on line %d has the same name '%s'",
                                  scene->effectors[i].line, name);
    return td_parse_copy(parser, name, &effector->name);
}

static tdStatus parse_effector(tdSceneParser *parser, const tdYaml *node, tdSceneEffector *effector)
{
    char path[64];
    tdRecord record;
    td_path_item(path, sizeof path, "effectors", "", parser->scene->n_effectors);
    TD_TRY(td_schema_read(&parser->reader, node, &td_schema_effector, path, &record));
    effector->line = node->line;
    effector->kind = (tdEffectorKind)td_record_get(&record, "type")->integer[0];
    effector->axes = (int)td_record_get(&record, "axes")->integer[0];
    effector->weight = td_record_get(&record, "weight")->number[0];
    effector->priority = (int)td_record_get(&record, "priority")->integer[0];
    TD_TRY(parse_effector_name(parser, &record, effector));
    if (effector->kind != TD_EFFECTOR_POSITION)
        TD_TRY(refuse(parser, &record, effector->kind, "axes", " position"));
    if (effector->kind != TD_EFFECTOR_DIRECTION)
        TD_TRY(refuse(parser, &record, effector->kind, "direction", " direction"));
    if (!is_contact(effector->kind))
    {
        TD_TRY(refuse(parser, &record, effector->kind, "against", "s contact_force and friction_use"));
        TD_TRY(refuse(parser, &record, effector->kind, "range", "s contact_force and friction_use"));
    }
    if (is_contact(effector->kind))
        TD_TRY(parse_of_contact(parser, &record, effector));
    else if (effector->kind == TD_EFFECTOR_VOLUME || effector->kind == TD_EFFECTOR_LENGTH)
        TD_TRY(parse_of_actuator(parser, &record, effector));
    else
        TD_TRY(parse_of_body(parser, &record, effector));
    return parse_target(parser, &record, effector);
}

tdStatus td_parse_effectors(tdSceneParser *parser, const tdYaml *list)
{
    tdScene *scene = parser->scene;
    scene->effectors = TD_TAKE(parser->arena, tdSceneEffector, list->n);
    if (scene->effectors == NULL)
        return td_fail_memory(parser->reader.error, "the effectors");
    for (const tdYaml *item = list->first; item != NULL; item = item->next, scene->n_effectors++)
        TD_TRY(parse_effector(parser, item, &scene->effectors[scene->n_effectors]));
    return TD_OK;
}

static bool is_driven(const tdScene *scene, int actuator)
{
    for (int k = 0; k < scene->motion.n_names; k++)
        if (strcmp(scene->motion.names[k], scene->actuators[actuator].name) == 0)
            return true;
    return false;
}

tdStatus td_parse_check_targets(tdSceneParser *parser)
{
    const tdScene *scene = parser->scene;
    int first = 0;
    while (first < scene->n_effectors && !scene->effectors[first].has_target)
        first++;
    if (first == scene->n_effectors)
        return TD_OK;
    for (int i = 0; i < scene->n_actuators; i++)
        if (!is_driven(scene, i))
            return TD_OK;
    char path[64];
    td_path_item(path, sizeof path, "effectors", "", first);
    return td_reader_fail(&parser->reader, scene->effectors[first].line, path, "target",
                          scene->n_actuators == 0
                              ? "there is no actuator that could reach it; add 'actuators', or remove the target"
                              : "the motion drives every actuator, so none is free to reach it; remove an actuator "
                                "from the motion, or remove the target");
}

// ---------------------------------------------------------------- control

// Members that a motion drives would leave their group without a word.
static tdStatus check_groups(const tdSceneParser *parser)
{
    const tdScene *scene = parser->scene;
    for (int g = 0; g < scene->control.n_groups; g++)
    {
        const tdSceneGroup *group = &scene->control.groups[g];
        for (int i = 1; i < group->n; i++)
        {
            bool first = is_driven(scene, group->actuators[0]);
            if (is_driven(scene, group->actuators[i]) == first)
                continue;
            char path[64];
            td_path_item(path, sizeof path, "control.groups", "", g);
            return td_reader_fail(
                &parser->reader, group->line, path, NULL,
                "the motion drives '%s' but not '%s', which share a motor; drive all of the group, or "
                "none of it",
                scene->actuators[group->actuators[first ? 0 : i]].name,
                scene->actuators[group->actuators[first ? i : 0]].name);
        }
    }
    return TD_OK;
}

// One unknown after the other gets nowhere where a row without slack ties them together.
static tdStatus check_gauss_seidel(const tdSceneParser *parser)
{
    const tdScene *scene = parser->scene;
    if (scene->control.solver != TD_INVERSE_GAUSS_SEIDEL)
        return TD_OK;
    if (scene->control.n_groups > 0)
        return td_reader_fail(&parser->reader, scene->control.line, "control", "solver",
                              "gauss_seidel moves one actuator at a time, which cannot move a group; set 'solver: qp', "
                              "or remove 'groups'");
    for (int a = 0; a < scene->n_actuators; a++)
    {
        const tdSceneActuator *actuator = &scene->actuators[a];
        bool held = actuator->kind == TD_ACTUATOR_TRANSLATION || actuator->kind == TD_ACTUATOR_ROTATION;
        if (is_driven(scene, a) && held != (actuator->drive == TD_DRIVE_EFFORT))
            continue;
        if (is_driven(scene, a))
            return td_reader_fail(&parser->reader, scene->control.line, "control", "solver",
                                  "gauss_seidel moves one actuator at a time and cannot keep '%s' (line %d) where the "
                                  "motion puts it; set 'solver: qp'",
                                  actuator->name, actuator->line);
    }
    return TD_OK;
}

tdStatus td_parse_check_control(tdSceneParser *parser)
{
    TD_TRY(check_groups(parser));
    return check_gauss_seidel(parser);
}

static tdStatus parse_member(tdSceneParser *parser, const tdYaml *item, const char *field, int *group_of,
                             tdSceneGroup *group)
{
    const tdReader *reader = &parser->reader;
    const tdScene *scene = parser->scene;
    if (item->kind != TD_YAML_SCALAR || td_yaml_empty(item))
        return td_reader_unexpected(reader, item, field, "the name of an actuator");
    char why[200];
    int found = find_actuator(scene, item->text, why, sizeof why);
    if (found < 0)
        return td_reader_fail(reader, item->line, field, NULL, "%s", why);
    int now = scene->control.n_groups, before = group_of[found];
    if (before == now)
        return td_reader_fail(reader, item->line, field, NULL, "'%s' is listed twice; remove one", item->text);
    if (before >= 0)
        return td_reader_fail(reader, item->line, field, NULL,
                              "'%s' is already in the group on line %d; an actuator is in one group at most",
                              item->text, scene->control.groups[before].line);
    group_of[found] = now;
    group->actuators[group->n++] = found;
    const tdSceneActuator *a = &scene->actuators[group->actuators[0]], *b = &scene->actuators[found];
    tdDim da = td_actuator_effort_dim(a->kind), db = td_actuator_effort_dim(b->kind);
    if (!group->effort && a->kind != b->kind)
        return td_reader_fail(reader, item->line, field, NULL,
                              "'%s' is of type %s but '%s' of type %s; actuators that share a displacement are of one "
                              "type",
                              b->name, td_actuator_kind_name(b->kind), a->name, td_actuator_kind_name(a->kind));
    if (group->effort && memcmp(&da, &db, sizeof da) != 0)
        return td_reader_fail(reader, item->line, field, NULL,
                              "the effort of '%s' is a %s but that of '%s' a %s; actuators that share an effort have "
                              "one of the same unit",
                              b->name, td_dim_name(db), a->name, td_dim_name(da));
    return TD_OK;
}

static tdStatus parse_ratio(tdSceneParser *parser, const tdRecord *record, tdSceneGroup *group)
{
    const tdYaml *node = td_record_get(record, "ratio")->node;
    for (int i = 0; i < group->n; i++)
        group->ratio[i] = 1;
    if (node == NULL)
        return TD_OK;
    char path[256], field[256];
    td_path_key(path, sizeof path, record->path, "ratio");
    if (node->kind != TD_YAML_LIST)
        return td_reader_unexpected(&parser->reader, node, path, "a list of numbers, one for each actuator");
    if (node->n != group->n)
        return td_record_fail(&parser->reader, record, "ratio", "%d numbers for %d actuators; give one for each",
                              node->n, group->n);
    int i = 0;
    for (const tdYaml *item = node->first; item != NULL; item = item->next, i++)
    {
        td_path_item(field, sizeof field, path, "", i);
        TD_TRY(td_read_quantity(&parser->reader, item, field, TD_DIM_NONE, &group->ratio[i]));
        if (group->ratio[i] == 0)
            return td_reader_fail(
                &parser->reader, item->line, field, NULL,
                "a ratio of 0 would hold the actuator; use another number, or remove '%s' from the group",
                parser->scene->actuators[group->actuators[i]].name);
    }
    return TD_OK;
}

static tdStatus parse_group(tdSceneParser *parser, const tdYaml *node, int *group_of)
{
    tdSceneControl *control = &parser->scene->control;
    tdSceneGroup *group = &control->groups[control->n_groups];
    char path[256], field[256];
    tdRecord record;
    td_path_item(path, sizeof path, "control.groups", "", control->n_groups);
    TD_TRY(td_schema_read(&parser->reader, node, &td_schema_group, path, &record));
    group->line = node->line;
    group->effort = td_record_get(&record, "share")->integer[0] == TD_SHARE_EFFORT;
    const tdYaml *list = td_record_get(&record, "actuators")->node;
    td_path_key(path, sizeof path, record.path, "actuators");
    if (list->kind != TD_YAML_LIST || list->n < 2)
        return td_reader_unexpected(&parser->reader, list, path, "a list of at least two names of actuators");
    group->actuators = TD_TAKE(parser->arena, int, list->n);
    group->ratio = TD_TAKE(parser->arena, double, list->n);
    if (group->actuators == NULL || group->ratio == NULL)
        return td_fail_memory(parser->reader.error, "a group of actuators");
    int i = 0;
    for (const tdYaml *item = list->first; item != NULL; item = item->next, i++)
    {
        td_path_item(field, sizeof field, path, "", i);
        TD_TRY(parse_member(parser, item, field, group_of, group));
    }
    TD_TRY(parse_ratio(parser, &record, group));
    control->n_groups++;
    return TD_OK;
}

static tdStatus parse_groups(tdSceneParser *parser, const tdYaml *list)
{
    tdScene *scene = parser->scene;
    int *group_of = TD_TAKE(parser->arena, int, scene->n_actuators); // -1: none
    scene->control.groups = TD_TAKE(parser->arena, tdSceneGroup, list->n);
    if (group_of == NULL || scene->control.groups == NULL)
        return td_fail_memory(parser->reader.error, "the groups of actuators");
    for (int i = 0; i < scene->n_actuators; i++)
        group_of[i] = -1;
    for (const tdYaml *item = list->first; item != NULL; item = item->next)
        TD_TRY(parse_group(parser, item, group_of));
    return TD_OK;
}

tdStatus td_parse_control(tdSceneParser *parser, const tdYaml *node)
{
    const tdReader *reader = &parser->reader;
    tdSceneControl *control = &parser->scene->control;
    tdRecord record;
    TD_TRY(td_schema_read(reader, node, &td_schema_control, "control", &record));
    control->line = node->key_line;
    control->energy = (tdEnergyMode)td_record_get(&record, "energy")->integer[0];
    control->epsilon = td_record_get(&record, "epsilon")->number[0];
    control->solver = (tdInverseSolver)td_record_get(&record, "solver")->integer[0];
    control->max_iterations = (int)td_record_get(&record, "max_iterations")->integer[0];
    control->tolerance = td_record_get(&record, "tolerance")->number[0];
    if (control->line != 0 && parser->scene->n_actuators == 0)
        return td_reader_fail(reader, control->line, "control", NULL,
                              "there is nothing to control: the scene has no 'actuators'; add some, or remove it");
    if (control->solver == TD_INVERSE_GAUSS_SEIDEL && given(&record, "energy"))
        return td_record_fail(reader, &record, "energy",
                              "solver gauss_seidel does not minimize energy; remove 'energy', or set 'solver: qp'");
    if (control->energy != TD_ENERGY_S4 && given(&record, "epsilon"))
        return td_record_fail(reader, &record, "epsilon", "is used by energy s4 only; remove it or set 'energy: s4'");
    for (int e = 0; e < parser->scene->n_effectors; e++)
        if (parser->scene->effectors[e].priority > 1 &&
            (control->solver == TD_INVERSE_GAUSS_SEIDEL || control->energy == TD_ENERGY_S4))
            return td_reader_fail(reader, parser->scene->effectors[e].line, "control", NULL,
                                  "effector '%s' has a priority, which solver gauss_seidel and energy s4 do not "
                                  "support; remove it, or use 'solver: qp' and 'energy: null_space'",
                                  parser->scene->effectors[e].name);
    const tdYaml *groups = td_record_get(&record, "groups")->node;
    return groups != NULL ? parse_groups(parser, groups) : TD_OK;
}
