// SPDX-License-Identifier: Apache-2.0
// Attachments of the scene: their points on both sides, each a bond of its own. When they are found all bodies are
// compiled, reduced ones too.
#include "scene/compile.h"

#include "contact/contact.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLACK 0.01 // of the size of a body: how far from its links, or from a soft b, points may be

typedef struct attachWork
{
    tdModel *model;
    const tdSceneAttachment *given;
    tdBondGroup *group;
    char field[64];
    int64_t n;
    int32_t *nodes; ///< of side a; NULL: places
    double *places; ///< 3 each, at rest
    tdSnapped snapped;
} attachWork;

static tdStatus fail(const attachWork *w, const char *why, tdError *error)
{
    return td_fail_at(error, TD_ERROR_INPUT, w->model->scene.file, w->given->line, w->field, "%s", why);
}

// ---------------------------------------------------------------- side a

static tdStatus choose_nodes(attachWork *w, bool *chosen, tdError *error)
{
    const tdBody *body = &w->model->bodies[w->given->a];
    const tdSelect *select = &w->given->select;
    TD_TRY(td_select_nodes(w->model, &body->soft->mesh, select, w->field, chosen, error));
    // Nodes of the frames of links are where they are by convention; only corners of shapes are chosen by place.
    int64_t frames = body->parts != NULL ? body->parts->frames : 0;
    for (int64_t i = 0; select->kind != TD_SELECT_NODES && i < frames; i++)
        chosen[i] = false;
    w->n = 0;
    for (int64_t i = 0; i < body->nodes; i++)
        w->n += chosen[i];
    return w->n > 0 ? TD_OK : fail(w, "selects no corner of a link's shapes; use 'points' and 'link_a'", error);
}

// The points of a: nodes, or places.
static tdStatus find_points(attachWork *w, tdArena *scratch, tdError *error)
{
    const tdBody *body = &w->model->bodies[w->given->a];
    w->n = w->given->n_points;
    w->places = w->given->points;
    w->nodes = NULL;
    if (w->n > 0)
        return TD_OK;
    bool *chosen = TD_TAKE(scratch, bool, body->nodes);
    if (chosen == NULL)
        return td_fail_memory(error, "an attachment");
    TD_TRY(choose_nodes(w, chosen, error));
    w->nodes = TD_TAKE(scratch, int32_t, w->n);
    w->places = TD_TAKE(scratch, double, 3 * w->n);
    if (w->nodes == NULL || w->places == NULL)
        return td_fail_memory(error, "an attachment");
    for (int64_t i = 0, k = 0; i < body->nodes; i++)
        if (chosen[i])
        {
            memcpy(w->places + 3 * k, body->soft->mesh.x + 3 * i, 3 * sizeof(double));
            w->nodes[k++] = (int32_t)i;
        }
    return TD_OK;
}

// ---------------------------------------------------------------- sets of one point

tdStatus td_bond_point(tdModel *model, tdPointSet *set, int body, const tdMaterialPoint *point, const double rest[3],
                       tdError *error)
{
    *set = (tdPointSet){.body = body, .n = 1};
    set->start = TD_TAKE(&model->arena, int32_t, 2);
    set->nodes = TD_TAKE(&model->arena, int32_t, point->n + 1);
    set->weights = TD_TAKE(&model->arena, double, point->n + 1);
    set->rest = TD_TAKE(&model->arena, double, 3);
    if (set->start == NULL || set->nodes == NULL || set->weights == NULL || set->rest == NULL)
        return td_fail_memory(error, "the points of attachments");
    memcpy(set->rest, rest, 3 * sizeof(double));
    if (body < 0)
        return TD_OK;
    // Corners that bear nothing only make rows longer.
    int n = 0;
    for (int k = 0; k < point->n; k++)
        if (fabs(point->weights[k]) > 1e-12)
        {
            set->nodes[n] = point->nodes[k];
            set->weights[n++] = point->weights[k];
        }
    set->start[1] = n;
    return model->bodies[body].ops->point_set(model, &model->bodies[body], set, error);
}

static double place_of(const tdMesh *mesh, const tdMaterialPoint *point, const double p[3], double from[3])
{
    double square = 0;
    for (int c = 0; c < 3; c++)
    {
        from[c] = p[c];
        for (int k = 0; k < point->n; k++)
            from[c] -= point->weights[k] * mesh->x[3 * (int64_t)point->nodes[k] + c];
        square += from[c] * from[c];
    }
    return sqrt(square);
}

// By the least change of its weights, dw_k = b . (x_k - mean), that moves the point by `from`.
bool td_compile_extend(const tdMesh *mesh, tdMaterialPoint *point, const double p[3], double *distance)
{
    double mean[3] = {0}, S[9] = {0}, C[9], b[3], from[3];
    *distance = place_of(mesh, point, p, from);
    for (int k = 0; k < point->n; k++)
        for (int c = 0; c < 3; c++)
            mean[c] += mesh->x[3 * (int64_t)point->nodes[k] + c] / point->n;
    for (int k = 0; k < point->n; k++)
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                S[3 * r + c] += (mesh->x[3 * (int64_t)point->nodes[k] + r] - mean[r]) *
                                (mesh->x[3 * (int64_t)point->nodes[k] + c] - mean[c]);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
        {
            int k = (i + 1) % 3, l = (i + 2) % 3, r = (j + 1) % 3, s = (j + 2) % 3;
            C[3 * i + j] = S[3 * k + r] * S[3 * l + s] - S[3 * k + s] * S[3 * l + r];
        }
    double det = S[0] * C[0] + S[1] * C[1] + S[2] * C[2], trace = S[0] + S[4] + S[8];
    if (!(det > 1e-12 * trace * trace * trace))
        return false;
    for (int i = 0; i < 3; i++)
        b[i] = (C[3 * i] * from[0] + C[3 * i + 1] * from[1] + C[3 * i + 2] * from[2]) / det;
    for (int k = 0; k < point->n; k++)
        for (int c = 0; c < 3; c++)
            point->weights[k] += b[c] * (mesh->x[3 * (int64_t)point->nodes[k] + c] - mean[c]);
    return true;
}

// ---------------------------------------------------------------- side b

// "node 12 of body 'pad'", or "the point"
static void name_point(const attachWork *w, int64_t i, char *out, size_t size)
{
    const char *body = w->model->bodies[w->given->a].name;
    if (w->nodes != NULL)
        snprintf(out, size, "node %d of body '%.60s'", (int)w->nodes[i], body);
    else
        snprintf(out, size, "point %d of body '%.60s'", (int)i, body);
}

static tdStatus soft_point(const attachWork *w, int64_t i, const double p[3], tdMaterialPoint *point, tdError *error)
{
    const tdScene *scene = &w->model->scene;
    const tdBody *body = &w->model->bodies[w->given->b];
    const tdMesh *mesh = &body->soft->mesh;
    const tdLocator *locator = td_compile_locator(w->model, w->given->b, error);
    const tdGivenPoint given = {p, INFINITY, w->given->line, w->field}; // judged below, by the gap
    if (locator == NULL)
        return TD_ERROR_MEMORY;
    TD_TRY(td_compile_point(w->model, w->given->b, &given, point, NULL, error));
    double size = locator->size, unit = scene->length_unit, gap = isnan(w->given->gap) ? SLACK * size : w->given->gap;
    double distance;
    bool reaches = td_compile_extend(mesh, point, p, &distance);
    char name[128];
    name_point(w, i, name, sizeof name);
    if (distance > gap + 1e-9 * size)
        return td_fail_at(error, TD_ERROR_INPUT, scene->file, w->given->line, w->field,
                          "%s at (%g, %g, %g) is %g (scene's length unit) away from body '%s', more than the gap %g; "
                          "choose other nodes, or allow it by 'gap'",
                          name, p[0] / unit, p[1] / unit, p[2] / unit, distance / unit, body->name, gap / unit);
    if (!reaches && distance > 1e-6 * size)
        return td_fail_at(error, TD_ERROR_INPUT, scene->file, w->given->line, w->field,
                          "%s at (%g, %g, %g) is %g (scene's length unit) away from the triangles of body '%s'; "
                          "triangles carry only points that lie on them, so move the nodes there",
                          name, p[0] / unit, p[1] / unit, p[2] / unit, distance / unit, body->name);
    return TD_OK;
}

// The piece of a body with parts that a point belongs to.
static int piece_of(const tdBodyParts *parts, const tdPointSet *set)
{
    return parts->piece[parts->of_node[set->nodes[0]]];
}

bool td_bond_is_one_piece(const tdModel *model, const tdBond *bond)
{
    const tdPointSet *a = &bond->side[0], *b = &bond->side[1];
    const tdBodyParts *parts = a->body >= 0 ? model->bodies[a->body].parts : NULL;
    return a->body == b->body && parts != NULL && piece_of(parts, a) == piece_of(parts, b);
}

// Whether a coordinate moves the point: of links and reduced bodies any.
static bool moves(const tdModel *model, const tdPointSet *set)
{
    if (set->body < 0)
        return false;
    const tdBody *body = &model->bodies[set->body];
    if (!body->ops->nodal)
        return set->size > 0 && body->unknowns > 0;
    for (int64_t k = 0; k < set->size; k++)
        if (!body->soft->held[set->coord[k]])
            return true;
    return false;
}

// ---------------------------------------------------------------- bonds

bool td_bond_count(const tdModel *model, const tdBond *bond)
{
    tdContactModel *contact = model->contact;
    for (int s = 0; s < 2; s++)
    {
        contact->bond_columns += bond->side[s].size;
        contact->bond_entries += bond->rows * bond->side[s].size;
        contact->bond_size = bond->side[s].size > contact->bond_size ? bond->side[s].size : contact->bond_size;
    }
    return moves(model, &bond->side[0]) || moves(model, &bond->side[1]);
}

static tdStatus place_sides(attachWork *w, int64_t i, tdBond *bond, tdError *error)
{
    tdModel *model = w->model;
    const tdSceneAttachment *given = w->given;
    const double *p = w->places + 3 * i;
    tdMaterialPoint point = {.n = 1, .nodes = {w->nodes != NULL ? w->nodes[i] : 0}, .weights = {1}};
    const tdGivenPoint place = {p, NAN, given->line, w->field};
    if (w->nodes == NULL)
        TD_TRY(td_compile_body_point(model, given->a, given->link_a, SLACK, &place, &point, &w->snapped, error));
    TD_TRY(td_bond_point(model, &bond->side[0], given->a, &point, p, error));
    if (given->b >= 0)
    {
        TD_TRY(model->bodies[given->b].ops->locate != NULL
                   ? td_compile_body_point(model, given->b, given->link, SLACK, &place, &point, NULL, error)
                   : soft_point(w, i, p, &point, error));
    }
    return td_bond_point(model, &bond->side[1], given->b, &point, p, error);
}

// Where a side is at rest: weighted means of nodes, or the place itself.
static void rest_place(const tdModel *model, const tdPointSet *set, double x[3])
{
    memcpy(x, set->rest, 3 * sizeof(double));
    if (set->body < 0)
        return;
    const double *nodes = model->bodies[set->body].soft->mesh.x;
    for (int c = 0; c < 3; c++)
    {
        x[c] = 0;
        for (int32_t k = 0; k < set->start[1]; k++)
            x[c] += set->weights[k] * nodes[3 * (int64_t)set->nodes[k] + c];
    }
}

static tdStatus add_bonds(attachWork *w, int group, tdError *error)
{
    tdContactModel *contact = w->model->contact;
    bool can_move = false;
    for (int64_t i = 0; i < w->n; i++)
    {
        tdBond *bond = &contact->bonds[contact->n_bonds++];
        *bond = (tdBond){.kind = TD_BOND_WELD, .rows = 3, .group = group};
        TD_TRY(place_sides(w, i, bond, error));
        if (td_bond_is_one_piece(w->model, bond))
            return fail(w, "attaches a point of a link to the same piece; choose points of another one", error);
        double x[3];
        rest_place(w->model, &bond->side[0], bond->rest);
        rest_place(w->model, &bond->side[1], x);
        for (int c = 0; c < 3; c++)
            bond->rest[c] -= x[c];
        can_move = td_bond_count(w->model, bond) || can_move;
    }
    td_compile_tell_snapped(w->model, w->given->a, &w->snapped, w->given->line, w->field);
    return can_move ? TD_OK : fail(w, "nothing that it joins can move; remove it", error);
}

tdStatus td_compile_bonds(tdModel *model, tdError *error)
{
    const tdScene *scene = &model->scene;
    tdContactModel *contact = model->contact;
    contact->groups = TD_TAKE(&model->arena, tdBondGroup, scene->n_attachments + scene->n_couplings + 1);
    if (contact->groups == NULL)
        return td_fail_memory(error, "the attachments");
    int64_t room = 0;
    for (int i = 0; i < scene->n_attachments; i++)
    {
        const tdSceneAttachment *given = &scene->attachments[i];
        attachWork w = {.model = model, .given = given, .group = &contact->groups[i]};
        tdArena scratch = {0};
        snprintf(w.field, sizeof w.field, "attachments[%d]", i);
        tdStatus status = find_points(&w, &scratch, error);
        if (status == TD_OK &&
            !td_grow((void **)&contact->bonds, &room, contact->n_bonds + w.n, sizeof *contact->bonds))
            status = td_fail_memory(error, "the attachments");
        *w.group = (tdBondGroup){.name = given->name,
                                 .line = given->line,
                                 .first = contact->n_bonds,
                                 .count = (int)w.n,
                                 .stiffness = given->stiffness,
                                 .dissipation = given->dissipation};
        if (status == TD_OK)
            status = add_bonds(&w, i, error);
        td_arena_free(&scratch);
        TD_TRY(status);
        contact->n_groups++;
    }
    return td_compile_couplings(model, &room, error);
}

// ---------------------------------------------------------------- contact between what is attached

static bool is_side(const tdModel *model, const tdPointSet *set, int body, int link)
{
    if (set->body != body || link < 0)
        return set->body == body;
    const tdBodyParts *parts = model->bodies[body].parts;
    return piece_of(parts, set) == parts->piece[link];
}

bool td_bonds_part(const tdModel *model, int body, int link, int other, int other_link)
{
    const tdContactModel *contact = model->contact;
    for (int i = 0; i < model->scene.n_attachments; i++)
    {
        const tdSceneAttachment *given = &model->scene.attachments[i];
        bool same = (given->a == body && given->b == other) || (given->a == other && given->b == body);
        for (int k = 0; same && !given->meets && k < contact->groups[i].count; k++)
        {
            const tdPointSet *side = contact->bonds[contact->groups[i].first + k].side;
            if ((is_side(model, &side[0], body, link) && is_side(model, &side[1], other, other_link)) ||
                (is_side(model, &side[1], body, link) && is_side(model, &side[0], other, other_link)))
                return true;
        }
    }
    return false;
}
