// SPDX-License-Identifier: Apache-2.0
// What joins bodies: `attachments` and `couplings`.
#include "scene/parse.h"

#include <math.h>
#include <string.h>

#define MOST_POINTS 10000

static bool given(const tdRecord *record, const char *key)
{
    return td_record_get(record, key)->node != NULL;
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
                                  "'link_a' needs 'points'; 'group: %.60s' chooses the corners of a link",
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
            return td_record_fail(&parser->reader, record, "space", "'space: false' has no effect; name a body 'b'");
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
                              "a point cannot be attached to its own body '%s'; name another one, or attach it to a "
                              "point in space ('space: true')",
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
    out->gap = td_record_number(&record, "gap", NAN);
    out->stiffness = td_record_number(&record, "stiffness", INFINITY);
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

// ---------------------------------------------------------------- couplings

// Number, or length per angle (angle per length) where the first joint slides and this one turns (or the reverse).
// Angles may be left out.
static tdStatus parse_factor(tdSceneParser *parser, const tdRecord *record, bool first_slides, bool slides, double *out)
{
    const tdYaml *node = td_record_get(record, "factor")->node;
    *out = 1;
    if (node == NULL && first_slides != slides)
        return td_record_fail(&parser->reader, record, "factor",
                              "one joint slides and another one turns; give a factor, %s",
                              slides ? "an angle per length" : "a length per angle");
    if (node == NULL)
        return TD_OK;
    tdDim dim = first_slides == slides ? TD_DIM_NONE : TD_DIM_LENGTH, with;
    if (slides && !first_slides)
        dim.length = -1;
    with = dim;
    with.angle = first_slides == slides ? 0 : slides ? 1 : -1;
    char why[TD_UNIT_WHY], field[256];
    if (node->kind != TD_YAML_SCALAR || td_yaml_empty(node) ||
        !td_quantity_parse(node->text, &parser->reader.units, with, out, why))
    {
        td_path_key(field, sizeof field, record->path, "factor");
        TD_TRY(td_read_quantity(&parser->reader, node, field, dim, out));
    }
    return *out != 0 && isfinite(*out) ? TD_OK : td_record_fail(&parser->reader, record, "factor", "must not be 0");
}

static tdStatus parse_terms(tdSceneParser *parser, const tdRecord *coupling, tdSceneCoupling *out)
{
    const tdYaml *list = td_record_get(coupling, "terms")->node, *offset = td_record_get(coupling, "offset")->node;
    bool first_slides = false, slides = false;
    out->terms = TD_TAKE(parser->arena, tdSceneTerm, list->n);
    if (out->terms == NULL)
        return td_fail_memory(parser->reader.error, "the couplings");
    for (const tdYaml *item = list->first; item != NULL; item = item->next, out->n_terms++)
    {
        tdSceneTerm *term = &out->terms[out->n_terms];
        char path[256];
        tdRecord record;
        td_path_item(path, sizeof path, coupling->path, "terms", out->n_terms);
        TD_TRY(td_schema_read(&parser->reader, item, &td_schema_coupling_term, path, &record));
        TD_TRY(td_parse_body_name(parser, &record, "body", &term->body));
        TD_TRY(td_parse_joint_name(parser, &record, term->body, &term->joint, &slides));
        first_slides = out->n_terms == 0 ? slides : first_slides;
        TD_TRY(parse_factor(parser, &record, first_slides, slides, &term->factor));
        for (int k = 0; k < out->n_terms; k++)
            if (out->terms[k].body == term->body && out->terms[k].joint == term->joint)
                return td_record_fail(&parser->reader, &record, "joint",
                                      "the joint is already a term; add the factors");
    }
    char field[256];
    td_path_key(field, sizeof field, coupling->path, "offset");
    return offset == NULL ? TD_OK
                          : td_read_quantity(&parser->reader, offset, field,
                                             first_slides ? TD_DIM_LENGTH : TD_DIM_ANGLE, &out->offset);
}

static tdStatus parse_rod(tdSceneParser *parser, const tdRecord *coupling, tdSceneCoupling *out)
{
    char path[256];
    tdRecord record;
    if (given(coupling, "offset"))
        return td_record_fail(&parser->reader, coupling, "offset",
                              "'offset' is for 'terms'; a rod keeps the length that it has at rest");
    td_path_key(path, sizeof path, coupling->path, "rod");
    TD_TRY(td_schema_read(&parser->reader, td_record_get(coupling, "rod")->node, &td_schema_rod, path, &record));
    static const char *const keys[2][3] = {{"a", "point_a", "link_a"}, {"b", "point_b", "link_b"}};
    double square = 0;
    for (int s = 0; s < 2; s++)
    {
        out->body[s] = -1;
        if (given(&record, keys[s][0]))
            TD_TRY(td_parse_body_name(parser, &record, keys[s][0], &out->body[s]));
        memcpy(out->point[s], td_record_get(&record, keys[s][1])->number, sizeof out->point[s]);
        if (given(&record, keys[s][2]) && out->body[s] < 0)
            return td_record_fail(&parser->reader, &record, keys[s][2], "places in space have no links; name a body");
        if (given(&record, keys[s][2]))
            TD_TRY(td_parse_link_name(parser, &record, keys[s][2], out->body[s], &out->link[s]));
    }
    for (int c = 0; c < 3; c++)
        square += (out->point[1][c] - out->point[0][c]) * (out->point[1][c] - out->point[0][c]);
    if (!(square > 0))
        return td_record_fail(&parser->reader, &record, "point_b",
                              "a rod of no length has no direction; attach the points to each other (attachments)");
    out->stiffness = td_record_number(&record, "stiffness", INFINITY);
    out->dissipation = td_record_get(&record, "dissipation")->number[0];
    if (given(&record, "dissipation") && !given(&record, "stiffness"))
        return td_record_fail(&parser->reader, &record, "dissipation",
                              "a rigid rod has no error that could relax; add 'stiffness', or remove it");
    return TD_OK;
}

tdStatus td_parse_couplings(tdSceneParser *parser, const tdYaml *list)
{
    tdScene *scene = parser->scene;
    scene->couplings = TD_TAKE(parser->arena, tdSceneCoupling, list->n);
    if (scene->couplings == NULL)
        return td_fail_memory(parser->reader.error, "the couplings");
    for (const tdYaml *item = list->first; item != NULL; item = item->next, scene->n_couplings++)
    {
        tdSceneCoupling *out = &scene->couplings[scene->n_couplings];
        char path[64];
        tdRecord record;
        td_path_item(path, sizeof path, "couplings", "", scene->n_couplings);
        TD_TRY(td_schema_read(&parser->reader, item, &td_schema_coupling, path, &record));
        *out = (tdSceneCoupling){.line = item->line, .offset = NAN, .body = {-1, -1}, .stiffness = INFINITY};
        TD_TRY(td_parse_copy(parser, td_record_get(&record, "name")->text, &out->name));
        for (int k = 0; k < scene->n_couplings; k++)
            if (strcmp(scene->couplings[k].name, out->name) == 0)
                return td_record_fail(&parser->reader, &record, "name",
                                      "the coupling on line %d has the same name '%s'", scene->couplings[k].line,
                                      out->name);
        TD_TRY(given(&record, "rod") ? parse_rod(parser, &record, out) : parse_terms(parser, &record, out));
    }
    return TD_OK;
}

// ---------------------------------------------------------------- attachments

tdStatus td_parse_attachments(tdSceneParser *parser, const tdYaml *list)
{
    tdScene *scene = parser->scene;
    scene->attachments = TD_TAKE(parser->arena, tdSceneAttachment, list->n);
    if (scene->attachments == NULL)
        return td_fail_memory(parser->reader.error, "the attachments");
    for (const tdYaml *item = list->first; item != NULL; item = item->next, scene->n_attachments++)
        TD_TRY(parse_attachment(parser, item, scene->n_attachments, &scene->attachments[scene->n_attachments]));
    return TD_OK;
}
