// SPDX-License-Identifier: Apache-2.0
// Bodies and selectors: from checked records to scene.h's structs.
#include "scene/parse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void copy3(double to[3], const double *from)
{
    memcpy(to, from, 3 * sizeof(double));
}

// ---------------------------------------------------------------- selectors

static int compare_numbers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static tdStatus select_nodes(tdSceneParser *parser, const tdRecord *record, tdSelect *select)
{
    const tdValue *value = td_record_get(record, "nodes");
    int n = value->node->n, i = 0;
    int64_t *nodes = TD_TAKE(parser->arena, int64_t, n), *sorted = TD_TAKE(parser->arena, int64_t, n);
    if (nodes == NULL || sorted == NULL)
        return td_fail_memory(parser->reader.error, "the nodes of a selector");
    for (const tdYaml *item = value->node->first; item != NULL; item = item->next, i++)
    {
        char path[256], field[256];
        td_path_key(path, sizeof path, record->path, "nodes");
        td_path_item(field, sizeof field, path, "", i);
        TD_TRY(td_read_integer(&parser->reader, item, field, value->key->least, value->key->most, &nodes[i]));
    }
    memcpy(sorted, nodes, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, compare_numbers);
    for (i = 1; i < n; i++)
        if (sorted[i] == sorted[i - 1])
            return td_record_fail(&parser->reader, record, "nodes", "node %lld is listed twice; remove one",
                                  (long long)sorted[i]);
    select->kind = TD_SELECT_NODES;
    select->n_nodes = n;
    select->nodes = nodes;
    return TD_OK;
}

static tdStatus select_sphere(tdSceneParser *parser, const tdYaml *node, const char *path, tdSelect *select)
{
    tdRecord record;
    TD_TRY(td_schema_read(&parser->reader, node, &td_schema_sphere, path, &record));
    select->kind = TD_SELECT_SPHERE;
    copy3(select->a, td_record_get(&record, "center")->number);
    select->radius = td_record_get(&record, "radius")->number[0];
    return TD_OK;
}

bool td_parse_unit_vector(const double vector[3], double unit[3])
{
    // Scaled by the largest component first, so that no square overflows or vanishes.
    double largest = fmax(fabs(vector[0]), fmax(fabs(vector[1]), fabs(vector[2])));
    if (largest == 0)
        return false;
    double scaled[3] = {vector[0] / largest, vector[1] / largest, vector[2] / largest};
    double length = sqrt(scaled[0] * scaled[0] + scaled[1] * scaled[1] + scaled[2] * scaled[2]);
    for (int i = 0; i < 3; i++)
        unit[i] = scaled[i] / length;
    return true;
}

tdStatus td_parse_direction(tdSceneParser *parser, const tdRecord *record, const char *key, double unit[3])
{
    if (td_parse_unit_vector(td_record_get(record, key)->number, unit))
        return TD_OK;
    return td_record_fail(&parser->reader, record, key, "the %s is zero; give a direction, e.g. [0, 0, 1]", key);
}

static tdStatus select_plane(tdSceneParser *parser, const tdYaml *node, const char *path, tdSelect *select)
{
    tdRecord record;
    TD_TRY(td_schema_read(&parser->reader, node, &td_schema_plane, path, &record));
    select->kind = TD_SELECT_PLANE;
    copy3(select->a, td_record_get(&record, "point")->number);
    TD_TRY(td_parse_direction(parser, &record, "normal", select->b));
    const tdValue *tolerance = td_record_get(&record, "tolerance");
    select->radius = tolerance->has ? tolerance->number[0] : -1;
    return TD_OK;
}

static tdStatus select_side(tdSceneParser *parser, const tdYaml *node, const char *path, tdSelect *select)
{
    tdRecord record;
    TD_TRY(td_schema_read(&parser->reader, node, &td_schema_side, path, &record));
    select->kind = TD_SELECT_SIDE;
    select->shell = (tdSelectShell)td_record_get(&record, "of")->integer[0];
    const tdValue *facing = td_record_get(&record, "facing"), *angle = td_record_get(&record, "angle");
    if (facing->has)
        TD_TRY(td_parse_direction(parser, &record, "facing", select->a));
    else if (angle->has)
        return td_record_fail(&parser->reader, &record, "angle",
                              "the angle is measured from 'facing', which is missing; give both, e.g. 'facing: [0, 0, "
                              "1]'");
    select->radius = angle->has ? angle->number[0] : acos(-1.0) / 4;
    if (select->radius >= acos(-1.0))
        return td_record_fail(&parser->reader, &record, "angle",
                              "found '%.60s', must be below 180 deg; leave out 'facing' and 'angle' for faces of every "
                              "direction",
                              angle->node->text);
    return TD_OK;
}

static tdStatus select_part(tdSceneParser *parser, const tdYaml *node, const char *path, tdSelect *select)
{
    tdRecord record;
    TD_TRY(td_schema_read(&parser->reader, node, &td_schema_connected, path, &record));
    select->kind = TD_SELECT_PART;
    copy3(select->a, td_record_get(&record, "point")->number);
    return TD_OK;
}

const char *td_parse_selector(const tdRecord *record)
{
    for (int i = 0; i < record->n; i++)
        if (record->values[i].key->either == 's' && record->values[i].node != NULL)
            return record->values[i].key->name;
    return NULL;
}

tdStatus td_parse_select(tdSceneParser *parser, const tdRecord *record, tdSelect *select)
{
    *select = (tdSelect){.line = record->node->line};
    const tdValue *all = td_record_get(record, "all"), *box = td_record_get(record, "box");
    const tdValue *sphere = td_record_get(record, "sphere"), *plane = td_record_get(record, "plane");
    const tdValue *side = td_record_get(record, "side"), *part = td_record_get(record, "part");
    const tdValue *group = td_record_get(record, "group");
    char path[256];
    if (all->node != NULL)
    {
        select->kind = TD_SELECT_ALL;
        if (all->integer[0] == 0)
            return td_record_fail(&parser->reader, record, "all",
                                  "'all: false' chooses nothing; write 'all: true' or another selector");
    }
    else if (box->node != NULL)
    {
        select->kind = TD_SELECT_BOX;
        copy3(select->a, box->number);
        copy3(select->b, box->number + 3);
    }
    else if (sphere->node != NULL)
    {
        td_path_key(path, sizeof path, record->path, "sphere");
        return select_sphere(parser, sphere->node, path, select);
    }
    else if (plane->node != NULL)
    {
        td_path_key(path, sizeof path, record->path, "plane");
        return select_plane(parser, plane->node, path, select);
    }
    else if (side->node != NULL)
    {
        td_path_key(path, sizeof path, record->path, "side");
        return select_side(parser, side->node, path, select);
    }
    else if (part->node != NULL)
    {
        td_path_key(path, sizeof path, record->path, "part");
        return select_part(parser, part->node, path, select);
    }
    else if (group->node != NULL)
    {
        select->kind = TD_SELECT_GROUP;
        return td_parse_copy(parser, group->text, &select->group);
    }
    else
        return select_nodes(parser, record, select);
    return TD_OK;
}

// ---------------------------------------------------------------- parts of a body

// R = Rz Ry Rx: about the fixed axes, x first.
void td_parse_rotation(const double angle[3], double r[9])
{
    double c[3], s[3];
    for (int i = 0; i < 3; i++)
    {
        c[i] = cos(angle[i]);
        s[i] = sin(angle[i]);
        // A quarter turn written in degrees is meant exactly.
        c[i] = fabs(c[i]) < 1e-15 ? 0 : c[i];
        s[i] = fabs(s[i]) < 1e-15 ? 0 : s[i];
    }
    const double made[9] = {
        c[2] * c[1],
        c[2] * s[1] * s[0] - s[2] * c[0],
        c[2] * s[1] * c[0] + s[2] * s[0],
        s[2] * c[1],
        s[2] * s[1] * s[0] + c[2] * c[0],
        s[2] * s[1] * c[0] - c[2] * s[0],
        -s[1],
        c[1] * s[0],
        c[1] * c[0],
    };
    memcpy(r, made, sizeof made);
}

static tdStatus parse_transform(tdSceneParser *parser, const tdRecord *body_record, tdSceneBody *body)
{
    const double none[3] = {0, 0, 0};
    td_parse_rotation(none, body->rotation);
    const tdValue *transform = td_record_get(body_record, "transform");
    if (transform->node == NULL)
        return TD_OK;
    char path[256];
    tdRecord record;
    td_path_key(path, sizeof path, body_record->path, "transform");
    TD_TRY(td_schema_read(&parser->reader, transform->node, &td_schema_transform, path, &record));
    body->scale *= td_record_get(&record, "scale")->number[0];
    td_parse_rotation(td_record_get(&record, "rotate")->number, body->rotation);
    copy3(body->translate, td_record_get(&record, "translate")->number);
    return TD_OK;
}

static tdStatus parse_damping(tdSceneParser *parser, const tdRecord *body_record, tdSceneBody *body)
{
    const tdValue *damping = td_record_get(body_record, "damping");
    if (damping->node == NULL)
        return TD_OK;
    char path[256];
    tdRecord record;
    td_path_key(path, sizeof path, body_record->path, "damping");
    TD_TRY(td_schema_read(&parser->reader, damping->node, &td_schema_damping, path, &record));
    body->damping_mass = td_record_get(&record, "mass")->number[0];
    body->damping_stiffness = td_record_get(&record, "stiffness")->number[0];
    return TD_OK;
}

static tdStatus parse_fixed(tdSceneParser *parser, const tdRecord *body_record, tdSceneBody *body)
{
    const tdYaml *list = td_record_get(body_record, "fixed")->node;
    if (list == NULL)
        return TD_OK;
    if (list->kind != TD_YAML_LIST)
        return td_record_fail(&parser->reader, body_record, "fixed",
                              "a soft body is held at nodes: give a list of selectors, e.g. 'fixed: [{group: base}]'");
    body->fixed = TD_TAKE(parser->arena, tdSceneFixed, list->n);
    if (body->fixed == NULL)
        return td_fail_memory(parser->reader.error, "the fixed nodes");
    for (const tdYaml *item = list->first; item != NULL; item = item->next)
    {
        char path[256];
        tdRecord record;
        td_path_item(path, sizeof path, body_record->path, "fixed", body->n_fixed);
        TD_TRY(td_schema_read(&parser->reader, item, &td_schema_fixed, path, &record));
        tdSceneFixed *fixed = &body->fixed[body->n_fixed++];
        fixed->axes = (int)td_record_get(&record, "axes")->integer[0];
        TD_TRY(td_parse_select(parser, &record, &fixed->select));
    }
    return TD_OK;
}

static tdStatus parse_prescribed(tdSceneParser *parser, const tdRecord *body_record, tdSceneBody *body)
{
    const tdYaml *list = td_record_get(body_record, "prescribed")->node;
    if (list == NULL)
        return TD_OK;
    body->prescribed = TD_TAKE(parser->arena, tdScenePrescribed, list->n);
    if (body->prescribed == NULL)
        return td_fail_memory(parser->reader.error, "the prescribed motions");
    for (const tdYaml *item = list->first; item != NULL; item = item->next)
    {
        char path[256];
        tdRecord record;
        td_path_item(path, sizeof path, body_record->path, "prescribed", body->n_prescribed);
        TD_TRY(td_schema_read(&parser->reader, item, &td_schema_prescribed, path, &record));
        tdScenePrescribed *p = &body->prescribed[body->n_prescribed++];
        TD_TRY(td_parse_input(parser, &record, TD_DIM_NONE, &p->name));
        TD_TRY(td_parse_select(parser, &record, &p->select));
        p->axes = (int)td_record_get(&record, "axes")->integer[0];
        copy3(p->displacement, td_record_get(&record, "displacement")->number);
        for (int i = 0; i < 3; i++)
            if (p->displacement[i] != 0 && !(p->axes & (1 << i)))
                return td_record_fail(&parser->reader, &record, "displacement",
                                      "the %c component is not zero, but 'axes' does not have %c; add it or write 0",
                                      "xyz"[i], "xyz"[i]);
        if (body->plane != TD_PLANE_NONE && p->displacement[2] != 0)
            return td_record_fail(&parser->reader, &record, "displacement",
                                  "a plane body does not move along z; write 0 there");
    }
    return TD_OK;
}

// ---------------------------------------------------------------- bodies

static tdStatus parse_body(tdSceneParser *parser, const tdYaml *node, int index)
{
    const tdReader *reader = &parser->reader;
    tdScene *scene = parser->scene;
    tdSceneBody *body = &scene->bodies[index];
    char path[256];
    tdRecord record;
    td_path_item(path, sizeof path, "bodies", "", index);
    TD_TRY(td_schema_read(reader, node, &td_schema_body, path, &record));
    body->line = node->line;
    TD_TRY(td_parse_copy(parser, td_record_get(&record, "name")->text, &body->name));
    for (int i = 0; i < index; i++)
        if (strcmp(scene->bodies[i].name, body->name) == 0)
            return td_record_fail(reader, &record, "name", "the name '%s' is already that of the body on line %d",
                                  body->name, scene->bodies[i].line);
    body->type = (tdBodyType)td_record_get(&record, "type")->integer[0];
    TD_TRY(td_parse_body_keys(parser, &record, body->type));
    copy3(body->velocity, td_record_get(&record, "velocity")->number);
    TD_TRY(td_parse_body_contact(parser, &record, body));
    if (body->type != TD_BODY_SOFT)
    {
        body->scale = 1;
        TD_TRY(parse_transform(parser, &record, body));
        return td_parse_rigid(parser, &record, body);
    }
    body->snap = td_record_number(&record, "snap", NAN);
    if (td_record_get(&record, "rom")->node != NULL)
        TD_TRY(td_parse_path(parser, &record, "rom", td_record_get(&record, "rom")->text, &body->rom));
    body->rom_line = td_record_line(&record, "rom");
    const tdValue *enrichment = td_record_get(&record, "enrichment");
    body->enrichment = enrichment->node == NULL      ? TD_ENRICHMENT_AUTO
                       : enrichment->integer[0] != 0 ? TD_ENRICHMENT_ON
                                                     : TD_ENRICHMENT_OFF;
    TD_TRY(td_parse_mesh(parser, &record, body));
    TD_TRY(parse_transform(parser, &record, body));
    TD_TRY(td_parse_materials(parser, &record, body));
    body->consistent_mass = td_record_get(&record, "mass")->integer[0] != 0;
    bool is_explicit = scene->settings.method == TD_METHOD_THETA && scene->settings.theta == 0;
    if (body->consistent_mass && is_explicit)
        return td_record_fail(
            reader, &record, "mass",
            "an explicit method (theta = 0, e.g. symplectic) divides by the masses of the nodes, so it "
            "needs 'mass: lumped'");
    TD_TRY(parse_damping(parser, &record, body));
    bool moving = body->velocity[0] != 0 || body->velocity[1] != 0 || body->velocity[2] != 0;
    if (moving && parser->method == TD_CHOICE_STATIC)
        return td_record_fail(reader, &record, "velocity", "a static scene has no velocities; remove it");
    if (body->plane != TD_PLANE_NONE && body->velocity[2] != 0)
        return td_record_fail(reader, &record, "velocity", "a plane body does not move along z; write 0 there");
    TD_TRY(parse_fixed(parser, &record, body));
    return parse_prescribed(parser, &record, body);
}

tdStatus td_parse_bodies(tdSceneParser *parser, const tdYaml *list)
{
    tdScene *scene = parser->scene;
    scene->bodies = TD_TAKE(parser->arena, tdSceneBody, list->n);
    if (scene->bodies == NULL)
        return td_fail_memory(parser->reader.error, "the bodies");
    for (const tdYaml *item = list->first; item != NULL; item = item->next)
    {
        TD_TRY(parse_body(parser, item, scene->n_bodies));
        scene->n_bodies++;
    }
    return td_parse_repeated(parser, list);
}
