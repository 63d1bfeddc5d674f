// SPDX-License-Identifier: Apache-2.0
// `contact` of the scene and of bodies, and what cannot go with it.
#include "describe/together.h"
#include "scene/parse.h"

#include <math.h>
#include <string.h>

// The surface by which a soft body touches.
static tdStatus parse_surface(tdSceneParser *parser, const tdRecord *record, tdSceneBody *body)
{
    const tdValue *surface = td_record_get(record, "surface"), *nodes = td_record_get(record, "nodes");
    const char *key = surface->has ? "surface" : "nodes";
    if (!surface->has && !nodes->has)
        return TD_OK;
    if (surface->has && nodes->has)
        return td_record_fail(&parser->reader, record, "nodes",
                              "'surface' (line %d) and 'nodes' exclude each other; give one",
                              td_record_line(record, "surface"));
    if (body->type != TD_BODY_SOFT)
        return td_record_fail(&parser->reader, record, key,
                              "links touch by their shapes; give the shape that you want, or remove '%s'", key);
    if (body->contact.off)
        return td_record_fail(&parser->reader, record, key, "the body touches nothing; remove 'meets: false' or '%s'",
                              key);
    if (surface->has && body->contact.walls)
        return td_record_fail(&parser->reader, record, "walls",
                              "the surface of the file is what touches; include the walls in it, or remove 'walls'");
    body->contact.nodes = nodes->has ? (int)nodes->integer[0] : 0;
    return surface->has ? td_parse_path(parser, record, "surface", surface->text, &body->contact.surface) : TD_OK;
}

tdStatus td_parse_body_contact(tdSceneParser *parser, const tdRecord *body_record, tdSceneBody *body)
{
    body->contact = (tdSceneBodyContact){.friction = NAN,
                                         .torsion = NAN,
                                         .rolling = NAN,
                                         .stiffness = NAN,
                                         .dissipation = NAN,
                                         .self = -1,
                                         .points = -1};
    const tdYaml *node = td_record_get(body_record, "contact")->node;
    if (node == NULL)
        return TD_OK;
    char path[256];
    tdRecord record;
    td_path_key(path, sizeof path, body_record->path, "contact");
    TD_TRY(td_schema_read(&parser->reader, node, &td_schema_body_contact, path, &record));
    body->contact.line = node->line;
    body->contact.friction = td_record_number(&record, "friction", NAN);
    body->contact.torsion = td_record_number(&record, "torsional_friction", NAN);
    body->contact.rolling = td_record_number(&record, "rolling_friction", NAN);
    if (body->type == TD_BODY_SOFT && (body->contact.torsion > 0 || body->contact.rolling > 0))
        return td_record_fail(&parser->reader, &record,
                              body->contact.torsion > 0 ? "torsional_friction" : "rolling_friction",
                              "a soft body touches at several points, whose friction resists turning; this is of "
                              "rigid bodies and links");
    body->contact.stiffness = td_record_number(&record, "stiffness", NAN);
    body->contact.dissipation = td_record_number(&record, "dissipation", NAN);
    const tdValue *self = td_record_get(&record, "self");
    body->contact.self = self->has ? (int)self->integer[0] : -1;
    const tdValue *points = td_record_get(&record, "points");
    body->contact.points = points->has ? (int)points->integer[0] : -1;
    body->contact.off = td_record_get(&record, "meets")->integer[0] == 0;
    body->contact.walls = td_record_get(&record, "walls")->integer[0] != 0;
    return parse_surface(parser, &record, body);
}

static tdStatus parse_exclude_link(tdSceneParser *parser, const tdRecord *record, const char *key, int body, int *out)
{
    const char *name = NULL;
    *out = -1;
    if (td_record_get(record, key)->node == NULL)
        return TD_OK;
    TD_TRY(td_parse_link_name(parser, record, key, body, &name));
    *out = td_tree_link(parser->scene->bodies[body].tree, name);
    return TD_OK;
}

static tdStatus parse_exclude(tdSceneParser *parser, const tdYaml *list, tdSceneContact *contact)
{
    contact->exclude = td_arena_take(parser->arena, (size_t)list->n, sizeof *contact->exclude);
    if (contact->exclude == NULL)
        return td_fail_memory(parser->reader.error, "the pairs of contact");
    for (const tdYaml *item = list->first; item != NULL; item = item->next)
    {
        char path[64];
        tdRecord record;
        td_path_item(path, sizeof path, "contact", "exclude", contact->n_exclude);
        TD_TRY(td_schema_read(&parser->reader, item, &td_schema_exclude, path, &record));
        tdSceneExclude *pair = &contact->exclude[contact->n_exclude++];
        TD_TRY(td_parse_body_name(parser, &record, "a", &pair->body[0]));
        TD_TRY(td_parse_body_name(parser, &record, "b", &pair->body[1]));
        TD_TRY(parse_exclude_link(parser, &record, "link_a", pair->body[0], &pair->link[0]));
        TD_TRY(parse_exclude_link(parser, &record, "link_b", pair->body[1], &pair->link[1]));
        if (pair->body[0] == pair->body[1] &&
            (pair->link[0] == pair->link[1] || pair->link[0] < 0 || pair->link[1] < 0))
            return td_record_fail(&parser->reader, &record, "b",
                                  "a pair is of two bodies, or of two links of one, 'link_a' and 'link_b'; whether a "
                                  "body meets itself is its 'contact: {self: false}'");
    }
    return TD_OK;
}

static tdStatus check_planes(const tdSceneParser *parser)
{
    const tdScene *scene = parser->scene;
    for (int b = 0; b < scene->n_bodies; b++)
        if (scene->bodies[b].plane != TD_PLANE_NONE && !scene->bodies[b].contact.off)
            return td_reader_fail(&parser->reader, scene->bodies[b].line, "contact", NULL,
                                  "body '%s' is plane, and plane bodies have no surface to touch; give it 'contact: "
                                  "{meets: false}'",
                                  scene->bodies[b].name);
    return TD_OK;
}

tdStatus td_parse_contact(tdSceneParser *parser, const tdYaml *node)
{
    const tdScene *scene = parser->scene;
    tdSceneContact *contact = &parser->scene->contact;
    for (int b = 0; b < scene->n_bodies && node == NULL; b++)
        if (scene->bodies[b].contact.line != 0)
            return td_reader_fail(&parser->reader, scene->bodies[b].contact.line, "contact", NULL,
                                  "body '%s' has contact settings, but the scene has no contact; add 'contact: {}' to "
                                  "the scene",
                                  scene->bodies[b].name);
    for (int e = 0; e < scene->n_effectors && node == NULL; e++)
        if (scene->effectors[e].kind == TD_EFFECTOR_CONTACT || scene->effectors[e].kind == TD_EFFECTOR_FRICTION)
            return td_reader_fail(&parser->reader, scene->effectors[e].line, "contact", NULL,
                                  "effector '%s' is about contact, but the scene has none; add 'contact: {}' to the "
                                  "scene",
                                  scene->effectors[e].name);
    if (node == NULL)
        return TD_OK;
    tdRecord record;
    TD_TRY(td_schema_read(&parser->reader, node, &td_schema_contact, "contact", &record));
    contact->line = node->key_line;
    contact->friction = td_record_get(&record, "friction")->number[0];
    contact->torsion = td_record_get(&record, "torsional_friction")->number[0];
    contact->rolling = td_record_get(&record, "rolling_friction")->number[0];
    contact->stiffness = td_record_number(&record, "stiffness", INFINITY);
    contact->dissipation = td_record_get(&record, "dissipation")->number[0];
    contact->margin = td_record_number(&record, "margin", 0);
    contact->softness = td_record_get(&record, "softness")->number[0];
    contact->stiction = td_record_get(&record, "stiction")->number[0];
    contact->sleep = td_record_number(&record, "sleep", 0);
    contact->sleep_line = td_record_line(&record, "sleep");
    contact->solver = (tdContactSolver)td_record_get(&record, "solver")->integer[0];
    contact->sliding = (tdSlidingLaw)td_record_get(&record, "sliding")->integer[0];
    if (contact->sliding == TD_SLIDING_CORRECTED && contact->solver == TD_CONTACT_NLCP)
        return td_record_fail(&parser->reader, &record, "sliding",
                              "the solver 'nlcp' uses Coulomb's law exactly; remove 'sliding'");
    contact->points = (int)td_record_get(&record, "points")->integer[0];
    contact->self = td_record_get(&record, "self")->integer[0] != 0;
    contact->overlapping = (tdOverlapChoice)td_record_get(&record, "overlapping")->integer[0];
    const tdYaml *exclude = td_record_get(&record, "exclude")->node;
    if (exclude != NULL)
        TD_TRY(parse_exclude(parser, exclude, contact));
    return check_planes(parser);
}
