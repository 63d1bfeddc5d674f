// SPDX-License-Identifier: Apache-2.0
// Colliders of the scene: surfaces of soft bodies, shapes of links, and who may meet whom.
#include "scene/compile.h"

#include "base/hash.h"
#include "base/log.h"
#include "constraint/constraint.h"
#include "contact/contact.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    MOVES = 1,
    STANDS = 2, // what stands does not meet what stands
    WALLS = 4,  // of cavities meet nothing but themselves
    PAIRED = 8  // meets the other shape of a pair
};

typedef struct colliderWork
{
    tdModel *model;
    tdContactModel *contact;
    tdArena scratch;
    int n, room;
    tdColliderDef *defs;
    int64_t n_pairs, pair_room;
    tdColliderPair *pairs;
} colliderWork;

static double or_scene(double own, double of_scene)
{
    return isnan(own) ? of_scene : own;
}

static bool meets_itself(const tdScene *scene, int b)
{
    const tdSceneBody *body = &scene->bodies[b];
    bool by_file = body->tree != NULL && body->tree->meets_itself;
    return body->contact.self >= 0 ? body->contact.self != 0 : scene->contact.self || by_file;
}

// ---------------------------------------------------------------- colliders

static int count_colliders(const tdModel *model)
{
    int n = 0;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        if (model->scene.bodies[b].contact.off)
            continue;
        n += body->parts != NULL ? body->parts->n_shapes : 1 + meets_itself(&model->scene, b); // its walls
    }
    return n;
}

static tdColliderDef *add(colliderWork *work, tdColliderKind kind, int b, int link)
{
    const tdScene *scene = &work->model->scene;
    const tdSceneBodyContact *own = &scene->bodies[b].contact;
    tdColliderDef *def = &work->defs[work->n];
    *def = td_default_collider(kind);
    def->name = scene->bodies[b].name;
    def->file = scene->file;
    def->line = scene->bodies[b].line;
    def->body = b;
    def->link = link;
    def->group = MOVES;
    def->mask = MOVES | STANDS;
    def->points = own->points >= 0 ? own->points : scene->contact.points;
    work->contact->colliders[work->n++] = (tdContactCollider){
        .size = INFINITY,
        .thin = INFINITY,
        .give = INFINITY,
        .body = b,
        .link = kind == TD_COLLIDER_SOFT ? -1 : link,
        .field = kind == TD_COLLIDER_SOFT ? work->contact->n_fields - 1 : -1,
        .friction = or_scene(own->friction, scene->contact.friction),
        .torsion = or_scene(own->torsion, kind == TD_COLLIDER_SOFT ? 0 : scene->contact.torsion),
        .rolling = or_scene(own->rolling, kind == TD_COLLIDER_SOFT ? 0 : scene->contact.rolling),
        .stiffness = or_scene(own->stiffness, scene->contact.stiffness),
        .dissipation = or_scene(own->dissipation, scene->contact.dissipation),
    };
    return def;
}

// Near-rigid points give way by half a percent of the body, where it falls farther than that within a step by as much,
// up to one percent; and by no more than a tenth of what is thin, or bodies would be pressed through it.
#define GIVE      0.005
#define GIVE_MOST 0.01
#define GIVE_THIN 0.1

static double extent_of(const double box[6], double *thin)
{
    double size = 0;
    *thin = INFINITY;
    for (int k = 0; k < 3; k++)
    {
        size = fmax(size, box[3 + k] - box[k]);
        *thin = fmin(*thin, box[3 + k] - box[k]);
    }
    return size;
}

static void set_size(const tdModel *model, tdContactCollider *collider, const double box[6])
{
    const double *g = model->scene.settings.gravity, h = model->scheme.h;
    double fall = 0.5 * h * h * sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    collider->size = extent_of(box, &collider->thin);
    collider->give = fmin(fmax(fall, GIVE * collider->size), GIVE_MOST * collider->size);
    if (collider->thin > 0) // a flat surface has no thickness
        collider->give = fmin(collider->give, GIVE_THIN * collider->thin);
}

// Box of the nodes of some triangles.
static void box_of(const tdTouchSurface *surface, int64_t n, const int32_t *tris, double box[6])
{
    for (int k = 0; k < 3; k++)
    {
        box[k] = INFINITY;
        box[3 + k] = -INFINITY;
    }
    for (int64_t i = 0; i < 9 * n; i++)
    {
        double x = surface->rest[3 * (int64_t)tris[i / 3] + i % 3];
        box[i % 3] = fmin(box[i % 3], x);
        box[3 + i % 3] = fmax(box[3 + i % 3], x);
    }
}

static tdColliderDef *add_triangles(colliderWork *work, int b, const tdTouchSurface *surface, int64_t first, int64_t n)
{
    tdModel *model = work->model;
    tdColliderDef *def = add(work, TD_COLLIDER_SOFT, b, 0);
    double box[6];
    def->field = work->contact->n_fields - 1;
    def->n_nodes = surface->n_nodes;
    def->rest = surface->rest;
    def->n_tris = n;
    def->tris = surface->tris + 3 * first;
    def->self = meets_itself(&model->scene, b);
    box_of(surface, n, def->tris, box);
    set_size(model, &work->contact->colliders[work->n - 1], box);
    if (model->bodies[b].unknowns == 0)
    {
        def->group = STANDS;
        def->mask = MOVES;
    }
    return def;
}

// Counts the numbers among n that are new, and marks them.
static int32_t mark(int64_t n, const int32_t *numbers, bool *on)
{
    int32_t fresh = 0;
    for (int64_t i = 0; i < n; i++)
    {
        fresh += !on[numbers[i]];
        on[numbers[i]] = true;
    }
    return fresh;
}

// Nodes of the mesh that n_tris triangles are made of, themselves or through points that they carry.
static tdStatus list_nodes(colliderWork *work, tdContactField *field, const tdTouchSurface *surface, int64_t n_tris,
                           tdError *error)
{
    int64_t n = work->model->bodies[field->body].nodes;
    bool *on = TD_TAKE(&work->scratch, bool, n), *corner = TD_TAKE(&work->scratch, bool, surface->n_nodes);
    if (on == NULL || corner == NULL)
        return td_fail_memory(error, "the surface of a body");
    field->corners = mark(3 * surface->n_tris, surface->tris, corner);
    field->n_nodes = surface->start != NULL ? mark(surface->start[surface->n_nodes], surface->node, on)
                                            : mark(3 * n_tris, surface->tris, on);
    int32_t *nodes = TD_TAKE(&work->model->arena, int32_t, field->n_nodes);
    if (nodes == NULL)
        return td_fail_memory(error, "the surface of a body");
    for (int32_t i = 0, k = 0; i < n; i++)
        if (on[i])
            nodes[k++] = i;
    field->nodes = nodes;
    return TD_OK;
}

static tdStatus add_surface(colliderWork *work, int b, tdError *error)
{
    tdModel *model = work->model;
    tdTouchSurface surface;
    TD_TRY(td_compile_touch_surface(model, b, &work->scratch, &surface, error));
    bool walls = surface.n_walls > 0 && meets_itself(&model->scene, b);
    int64_t n_tris = surface.n_tris + (walls ? surface.n_walls : 0);
    tdContactField *field = &work->contact->fields[work->contact->n_fields++];
    *field = (tdContactField){.body = b,
                              .tris = surface.n_tris,
                              .walls = surface.n_walls,
                              .error = surface.error,
                              .start = surface.start,
                              .node = surface.node,
                              .weight = surface.weight};
    if (surface.start != NULL)
    {
        field->n_points = (int32_t)surface.n_nodes;
        field->hash = td_hash_mix(td_hash_bytes(surface.rest, 3 * (size_t)surface.n_nodes * sizeof *surface.rest) ^
                                  td_hash_bytes(surface.tris, 3 * (size_t)surface.n_tris * sizeof *surface.tris));
    }
    TD_TRY(list_nodes(work, field, &surface, n_tris, error));
    add_triangles(work, b, &surface, 0, surface.n_tris);
    if (!walls)
        return TD_OK;
    tdColliderDef *def = add_triangles(work, b, &surface, surface.n_tris, surface.n_walls);
    def->inward = true;
    def->group = WALLS;
    def->mask = 0;
    return TD_OK;
}

// Largest extent of all shapes of a part together.
static double part_size(const tdBodyParts *parts, int part)
{
    double box[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY}, own[6], thin;
    for (int s = 0; s < parts->n_shapes; s++)
    {
        if (parts->shapes[s].part != part || parts->shapes[s].shape->type == TD_SHAPE_PLANE)
            continue;
        td_shape_bounds(parts->shapes[s].shape, &parts->shapes[s].pose, own);
        for (int k = 0; k < 3; k++)
        {
            box[k] = fmin(box[k], own[k]);
            box[3 + k] = fmax(box[3 + k], own[3 + k]);
        }
    }
    return extent_of(box, &thin);
}

// Shapes of pairs meet each other also where neither meets anything else.
static void set_pairs(colliderWork *work, const tdBodyParts *parts, int first)
{
    for (int p = 0; p < parts->n_pairs; p++)
        for (int k = 0; k < 2; k++)
        {
            const tdBodyShape *shape = &parts->shapes[parts->pairs[p][k]];
            tdColliderDef *def = &work->defs[first + parts->pairs[p][k]];
            bool alone = shape->type == 0 && shape->meets == 0;
            def->group = alone ? PAIRED : def->group | PAIRED;
            def->mask = alone ? PAIRED : def->mask | PAIRED;
        }
}

static void add_parts(colliderWork *work, int b)
{
    tdContactModel *contact = work->contact;
    const tdBodyParts *parts = work->model->bodies[b].parts;
    for (int s = 0; s < parts->n_shapes; s++)
    {
        const tdBodyShape *shape = &parts->shapes[s];
        tdColliderDef *def = add(work, TD_COLLIDER_RIGID, b, shape->part);
        def->file = shape->file;
        def->line = shape->line;
        def->shape = *shape->shape;
        def->pose = shape->pose;
        def->within_body = meets_itself(&work->model->scene, b);
        if (shape->rubs && isnan(work->model->scene.bodies[b].contact.friction))
            contact->colliders[work->n - 1].friction = shape->friction;
        if (shape->turns && isnan(work->model->scene.bodies[b].contact.torsion))
            contact->colliders[work->n - 1].torsion = shape->torsion;
        if (shape->turns && isnan(work->model->scene.bodies[b].contact.rolling))
            contact->colliders[work->n - 1].rolling = shape->rolling;
        if (shape->shape->type != TD_SHAPE_PLANE)
        {
            tdPose own = td_pose_identity();
            double box[6];
            td_shape_bounds(shape->shape, &own, box);
            set_size(work->model, &contact->colliders[work->n - 1], box);
            contact->colliders[work->n - 1].size = part_size(parts, shape->part);
        }
        int f = contact->n_frames - 1;
        if (f < 0 || contact->frames[f].body != b || contact->frames[f].link != shape->part)
            contact->frames[f = contact->n_frames++] = (tdContactFrame){b, shape->part};
        def->frame = f;
        if (parts->piece[shape->part] < 0 || work->model->bodies[b].unknowns == 0)
        {
            def->group = STANDS;
            def->mask = MOVES;
        }
    }
    set_pairs(work, parts, work->n - parts->n_shapes);
}

// ---------------------------------------------------------------- pairs that do not meet

static tdStatus exclude(colliderWork *work, int a, int b, tdError *error)
{
    if (!td_grow((void **)&work->pairs, &work->pair_room, work->n_pairs + 1, sizeof *work->pairs))
        return td_fail_memory(error, "the pairs of contact");
    work->pairs[work->n_pairs++] = (tdColliderPair){a, b};
    return TD_OK;
}

// Whether piece p hangs on q, by its own joint or by others with pieces without mass between them (a universal joint).
static bool hangs_on(const tdBodyParts *parts, int p, int q)
{
    while (p >= 0)
    {
        p = parts->hangs[p];
        if (p == q)
            return true;
        if (p >= 0 && !parts->light[p])
            return false;
    }
    return false;
}

// Part 0 of some robots' files is the world, floor and all, on which bodies stand that are joined to it.
static bool is_world(const colliderWork *work, int b, int part)
{
    const tdTree *tree = work->model->scene.bodies[b].tree;
    return part == 0 && tree != NULL && tree->meets_itself;
}

// Parts of one piece, and those on both sides of a joint.
static bool are_neighbours(const colliderWork *work, int body, int a, int b)
{
    const tdBodyParts *parts = work->model->bodies[body].parts;
    int p = parts->piece[a], q = parts->piece[b];
    if (is_world(work, body, a) || is_world(work, body, b))
        return p == q;
    return p == q || hangs_on(parts, p, q) || hangs_on(parts, q, p);
}

// Colliders of a body stand one after the other: the first one, and how many.
static int colliders_of(const colliderWork *work, int body, int *count)
{
    const tdContactCollider *list = work->contact->colliders;
    int low = 0, high = work->n;
    while (low < high)
    {
        int middle = low + (high - low) / 2;
        if (list[middle].body < body)
            low = middle + 1;
        else
            high = middle;
    }
    for (*count = 0; low + *count < work->n && list[low + *count].body == body;)
        ++*count;
    return low;
}

// Pairs of two bodies, or of two links.
static tdStatus exclude_links(colliderWork *work, const tdSceneExclude *pair, tdError *error)
{
    const tdContactCollider *list = work->contact->colliders;
    int n, m, first = colliders_of(work, pair->body[0], &n), other = colliders_of(work, pair->body[1], &m);
    for (int i = first; i < first + n; i++)
        for (int j = other; j < other + m; j++)
            if (i != j && (pair->link[0] < 0 || list[i].link == pair->link[0]) &&
                (pair->link[1] < 0 || list[j].link == pair->link[1]))
                TD_TRY(exclude(work, i, j, error));
    return TD_OK;
}

static bool is_pair(const tdBodyParts *parts, int a, int b)
{
    for (int p = 0; p < parts->n_pairs; p++)
        if ((parts->pairs[p][0] == a && parts->pairs[p][1] == b) ||
            (parts->pairs[p][0] == b && parts->pairs[p][1] == a))
            return true;
    return false;
}

// Whether the file has two shapes of a robot meet.
static bool masks_meet(const tdBodyParts *parts, int a, int b)
{
    const tdBodyShape *x = &parts->shapes[a], *y = &parts->shapes[b];
    bool all = (x->type == 0 && x->meets == 0) || (y->type == 0 && y->meets == 0);
    return parts->n_pairs > 0 && all ? false : all || (x->type & y->meets) != 0 || (y->type & x->meets) != 0;
}

static tdStatus exclude_neighbours(colliderWork *work, int b, tdError *error)
{
    const tdBodyParts *parts = work->model->bodies[b].parts;
    const tdContactCollider *list = work->contact->colliders;
    int n, first = colliders_of(work, b, &n);
    if (parts == NULL || n < 2 || !work->defs[first].within_body)
        return TD_OK;
    for (int i = first; i < first + n; i++)
        for (int j = i + 1; j < first + n; j++)
            if (!is_pair(parts, i - first, j - first) &&
                (are_neighbours(work, b, list[i].link, list[j].link) || !masks_meet(parts, i - first, j - first)))
                TD_TRY(exclude(work, i, j, error));
    for (int k = 0; k < parts->n_excluded; k++)
        TD_TRY(exclude_links(work, &(tdSceneExclude){{b, b}, {parts->excluded[k][0], parts->excluded[k][1]}}, error));
    return TD_OK;
}

// Pairs of two bodies whose links are attached to each other.
static tdStatus exclude_attached(colliderWork *work, int a, int b, tdError *error)
{
    const tdContactCollider *list = work->contact->colliders;
    int n, m, first = colliders_of(work, a, &n), other = colliders_of(work, b, &m);
    for (int i = first; i < first + n; i++)
        for (int j = other; j < other + m; j++)
            if (i != j && td_bonds_part(work->model, a, list[i].link, b, list[j].link))
                TD_TRY(exclude(work, i, j, error));
    return TD_OK;
}

// Only pairs that something keeps apart are looked at, so that a thousand bodies are not a million pairs.
static tdStatus exclude_pairs(colliderWork *work, tdError *error)
{
    const tdScene *scene = &work->model->scene;
    for (int b = 0; b < work->model->n_bodies; b++)
        TD_TRY(exclude_neighbours(work, b, error));
    for (int k = 0; k < scene->contact.n_exclude; k++)
        TD_TRY(exclude_links(work, &scene->contact.exclude[k], error));
    for (int i = 0; i < scene->n_attachments; i++)
    {
        const tdSceneAttachment *given = &scene->attachments[i];
        bool done = given->b < 0;
        for (int k = 0; k < i && !done; k++)
            done = scene->attachments[k].a == given->a && scene->attachments[k].b == given->b;
        if (!done)
            TD_TRY(exclude_attached(work, given->a, given->b, error));
    }
    return TD_OK;
}

// ---------------------------------------------------------------- together

// Largest extent of the smallest body that moves.
static double smallest_body(const tdModel *model)
{
    double smallest = INFINITY;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdMesh *mesh = &model->bodies[b].soft->mesh;
        double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, size = 0;
        // The first nodes of links are frames, not corners of shapes.
        int64_t first = model->bodies[b].parts != NULL ? model->bodies[b].parts->frames : 0;
        for (int64_t i = 3 * first; i < 3 * mesh->n_nodes; i++)
        {
            low[i % 3] = fmin(low[i % 3], mesh->x[i]);
            high[i % 3] = fmax(high[i % 3], mesh->x[i]);
        }
        for (int c = 0; c < 3; c++)
            size = fmax(size, high[c] - low[c]);
        if (model->bodies[b].unknowns > 0 && size > 0)
            smallest = fmin(smallest, size);
    }
    return smallest;
}

static tdStatus make_world(colliderWork *work, const tdSettings *settings, tdError *error)
{
    tdCollideDef def = {.n_colliders = work->n,
                        .colliders = work->defs,
                        .n_excluded = work->n_pairs,
                        .excluded = work->pairs,
                        .margin = work->contact->margin};
    return td_collide_world(&def, settings, &work->contact->world, error);
}

// ---------------------------------------------------------------- overlaps at the start

#define MOST_TOLD 8    // pairs of links that are named
#define TOUCHING  1e-3 // of the smaller of two links: less deep is a touch

// Contacts where everything is at the start.
static tdStatus collide_at_start(colliderWork *work, tdCollideState **out, tdError *error)
{
    const tdContactModel *contact = work->contact;
    const double **x = TD_TAKE(&work->scratch, const double *, contact->n_fields);
    tdPose *poses = TD_TAKE(&work->scratch, tdPose, contact->n_frames);
    if (x == NULL || poses == NULL)
        return td_fail_memory(error, "the colliders");
    for (int f = 0; f < contact->n_fields; f++)
        x[f] = work->model->bodies[contact->fields[f].body].soft->rest;
    for (int f = 0; f < contact->n_frames; f++)
        poses[f] = work->model->bodies[contact->frames[f].body].parts->start[contact->frames[f].link];
    TD_TRY(td_collide_state(contact->world, NULL, out, error));
    return td_collide(contact->world, *out, &(tdCollideInput){.x = x, .poses = poses}, error);
}

// Excludes all pairs of the links of two colliders, unless it was done.
static tdStatus exempt(colliderWork *work, int a, int b, double depth, const tdSettings *settings, int *told,
                       tdError *error)
{
    const tdContactCollider *list = work->contact->colliders;
    const tdBodyParts *parts = work->model->bodies[list[a].body].parts;
    tdSceneExclude pair = {{list[a].body, list[a].body}, {list[a].link, list[b].link}};
    for (int64_t i = 0; i < work->n_pairs; i++)
        if (work->pairs[i].a == a && work->pairs[i].b == b)
            return TD_OK;
    if (++*told <= MOST_TOLD)
        td_log(
            settings, TD_LOG_WARNING,
            "body '%s': links '%s' and '%s' overlap at the start by %.3g mm and do not meet; 'contact: {overlapping: "
            "meet}' would push them apart",
            work->model->bodies[list[a].body].name, parts->names[list[a].link], parts->names[list[b].link],
            1e3 * depth);
    return exclude_links(work, &pair, error);
}

// Links that the robot's maker has within each other would be torn apart in the first step.
static tdStatus exempt_overlaps(colliderWork *work, const tdSettings *settings, tdError *error)
{
    const tdContactCollider *list = work->contact->colliders;
    bool any = false;
    for (int i = 0; i < work->n; i++)
        any = any || (work->defs[i].kind == TD_COLLIDER_RIGID && work->defs[i].within_body &&
                      work->model->bodies[list[i].body].parts->n > 1);
    if (!any || work->model->scene.contact.overlapping == TD_OVERLAP_MEET)
        return TD_OK;
    tdCollideState *state = NULL;
    int told = 0;
    tdStatus status = collide_at_start(work, &state, error);
    int64_t n = 0;
    const tdContact *contacts = status == TD_OK ? td_collide_contacts(state, &n) : NULL;
    for (int64_t i = 0; i < n && status == TD_OK; i++)
    {
        int a = contacts[i].a.collider, b = contacts[i].b.collider;
        bool links = list[a].body == list[b].body && list[a].link >= 0 && list[a].link != list[b].link &&
                     !is_world(work, list[a].body, list[a].link) && !is_world(work, list[b].body, list[b].link);
        if (links && contacts[i].phi < -TOUCHING * fmin(list[a].size, list[b].size))
            status = exempt(work, a, b, -contacts[i].phi, settings, &told, error);
    }
    td_collide_state_free(state);
    if (status != TD_OK || told == 0)
        return status;
    if (told > MOST_TOLD)
        td_log(settings, TD_LOG_WARNING, "%d more pairs of links overlap as well", told - MOST_TOLD);
    td_collide_world_free(work->contact->world);
    work->contact->world = NULL;
    tdSettings quiet = *settings; // meshes have been complained about
    quiet.log = NULL;
    return make_world(work, &quiet, error);
}

static tdStatus build(colliderWork *work, const tdSettings *settings, tdError *error)
{
    tdModel *model = work->model;
    tdContactModel *contact = work->contact;
    const tdScene *scene = &model->scene;
    work->room = count_colliders(model);
    if (work->room > TD_COLLIDERS)
        return td_fail_at(error, TD_ERROR_INPUT, scene->file, scene->contact.line, "contact",
                          "the scene has %d shapes and surfaces that touch, %d at most are possible; give bodies "
                          "'contact: {meets: false}'",
                          work->room, TD_COLLIDERS);
    work->defs = TD_TAKE(&work->scratch, tdColliderDef, work->room + 1);
    contact->colliders = TD_TAKE(&model->arena, tdContactCollider, work->room + 1);
    contact->fields = TD_TAKE(&model->arena, tdContactField, model->n_bodies);
    contact->frames = TD_TAKE(&model->arena, tdContactFrame, work->room + 1);
    if (work->defs == NULL || contact->colliders == NULL || contact->fields == NULL || contact->frames == NULL)
        return td_fail_memory(error, "the colliders");
    for (int b = 0; b < model->n_bodies; b++)
    {
        if (scene->bodies[b].contact.off)
            continue;
        contact->guided = contact->guided || scene->bodies[b].guided[0] != NULL;
        if (model->bodies[b].parts != NULL)
            add_parts(work, b);
        else
            TD_TRY(add_surface(work, b, error));
    }
    TD_TRY(exclude_pairs(work, error));
    double smallest = smallest_body(model);
    contact->margin = scene->contact.margin > 0 ? scene->contact.margin : 0.01 * smallest;
    if (!isfinite(contact->margin))
        return td_fail_at(
            error, TD_ERROR_INPUT, scene->file, scene->contact.line, "contact",
            "nothing that moves has a shape or surface that can touch; give bodies one, or remove 'contact'");
    if (contact->margin > 0.5 * smallest)
        return td_fail_at(error, TD_ERROR_INPUT, scene->file, scene->contact.line, "contact.margin",
                          "%g m is more than half the size of the smallest body that moves (%g m), so that points "
                          "would touch through bodies; use a smaller one",
                          contact->margin, smallest);
    double friction = 0, relaxation = 0;
    for (int i = 0; i < work->n; i++)
    {
        friction = fmax(friction, contact->colliders[i].friction);
        relaxation = fmax(relaxation, contact->colliders[i].dissipation);
        model->turning = model->turning || contact->colliders[i].torsion > 0 || contact->colliders[i].rolling > 0;
    }
    TD_TRY(td_contact_turning_suits(model, work->n, error));
    contact->corrected = scene->contact.sliding == TD_SLIDING_CORRECTED;
    contact->slide = friction * (1 + relaxation / model->scheme.h);
    TD_TRY(make_world(work, settings, error));
    return exempt_overlaps(work, settings, error);
}

// Whether something acts whose small problem is made of columns: bonds are then part of the response of bodies.
static bool solved_by_columns(const tdModel *model)
{
    bool any = model->n_effectors > 0;
    for (int a = 0; a < model->n_actuators; a++)
    {
        const tdActuator *actuator = &model->actuators[a];
        bool effort = actuator->given->drive == TD_DRIVE_EFFORT;
        any = any || actuator->given->friction > 0 || (effort && (actuator->held || td_actuator_has_stops(actuator)));
    }
    return any;
}

#define FIRM 0.01 // times as soft are near-rigid points in equilibria

tdStatus td_compile_contact(tdModel *model, const tdSettings *settings, tdError *error)
{
    const tdScene *scene = &model->scene;
    bool touch = scene->contact.line != 0;
    if (!touch && scene->n_attachments + scene->n_couplings == 0)
        return TD_OK;
    const char *clash = td_part_clash(touch ? TD_PART_CONTACT : TD_PART_BONDS, td_scheme_part(&model->scheme));
    if (clash != NULL)
        return td_fail_at(error, TD_ERROR_INPUT, scene->file,
                          touch                      ? scene->contact.line
                          : scene->n_attachments > 0 ? scene->attachments[0].line
                                                     : scene->couplings[0].line,
                          touch                      ? "contact"
                          : scene->n_attachments > 0 ? "attachments"
                                                     : "couplings",
                          "%s", clash);
    model->touches = touch;
    TD_TRY(td_contact_suits(model, error));
    colliderWork work = {.model = model, .contact = TD_TAKE(&model->arena, tdContactModel, 1)};
    if (work.contact == NULL)
        return td_fail_memory(error, "the colliders");
    model->contact = work.contact;
    work.contact->tuning = td_sap_tuning(model->scheme.c, model->scheme.s);
    work.contact->by_response = !touch && solved_by_columns(model);
    for (int b = 0; b < model->n_bodies; b++)
        model->bodies[b].rows_apart = !work.contact->by_response;
    TD_TRY(td_compile_bonds(model, error));
    if (!touch)
        return TD_OK;
    // What gives way in proportion to what a body moves by in a step is next to nothing beside its weight and speed,
    // but in equilibrium beside its own deformation.
    double firm = model->scheme.method == TD_METHOD_STATIC ? FIRM : 1;
    work.contact->tuning.beta = firm * scene->contact.softness;
    work.contact->tuning.sigma = firm * scene->contact.stiction;
    tdStatus status = build(&work, settings, error);
    if (status == TD_OK)
        status = td_compile_sleep(model, error);
    free(work.pairs);
    td_arena_free(&work.scratch);
    return status;
}

void td_contact_model_free(tdContactModel *contact)
{
    if (contact == NULL)
        return;
    td_collide_world_free(contact->world);
    free(contact->bonds);
}
