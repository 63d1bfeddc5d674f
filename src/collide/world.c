// SPDX-License-Identifier: Apache-2.0
// Compiles colliders: checks them, prepares surfaces and features, and decides who may meet whom.
#include "collide/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARP 0.3490658503988659 // 20 degrees

tdColliderDef td_default_collider(tdColliderKind kind)
{
    return (tdColliderDef){
        .kind = kind, .body = -1, .group = 1, .mask = UINT32_MAX, .pose = td_pose_identity(), .frame = -1};
}

double td_collide_margin(const tdCollideWorld *world)
{
    return world->margin;
}

int td_collide_colliders(const tdCollideWorld *world)
{
    return world->n;
}

void td_collide_world_free(tdCollideWorld *world)
{
    if (world == NULL)
        return;
    td_arena_free(&world->arena);
    free(world);
}

// ---------------------------------------------------------------- one collider

static tdStatus check_pose(const tdPose *pose, const char *name, tdError *error)
{
    double off = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            off = fmax(off, fabs(td_dot3(pose->R + 3 * i, pose->R + 3 * j) - (i == j)));
    bool finite = isfinite(pose->t[0] + pose->t[1] + pose->t[2]);
    if (!(off < 1e-6) || !finite || !(td_triple3(pose->R, pose->R + 3, pose->R + 6) > 0))
        return td_fail_at(error, TD_ERROR_INPUT, NULL, 0, name,
                          "the pose of a shape is not a rotation and a finite translation (off by %g); correct it",
                          off);
    return TD_OK;
}

static void warn_skin(const tdSettings *settings, const char *name, const tdSkinCheck *check, bool mesh)
{
    if (check->collapsed > 0)
        td_log(settings, TD_LOG_WARNING, "%s: %lld triangles name a node twice and are left out (the first is %d)",
               name, (long long)check->collapsed, check->first_collapsed);
    if (check->flat > 0)
        td_log(settings, TD_LOG_WARNING,
               "%s: %lld triangles have no area (the first is %d); contacts there have no normal, repair the mesh",
               name, (long long)check->flat, check->first_flat);
    if (check->open > 0)
        td_log(settings, mesh ? TD_LOG_WARNING : TD_LOG_INFO,
               "%s: %lld edges have one triangle only (the first joins nodes %d and %d); near them there is no inside",
               name, (long long)check->open, check->first_open[0], check->first_open[1]);
    if (check->cuts > 0)
        td_log(settings, TD_LOG_WARNING,
               "%s: %lld pairs of triangles cut each other (the first are %d and %d); contacts there may push the "
               "wrong way, repair the mesh",
               name, (long long)check->cuts, check->first_cut[0], check->first_cut[1]);
}

static double volume_of(const tdSkin *skin)
{
    double volume = 0;
    for (int32_t t = 0; t < skin->n_tris; t++)
    {
        const int32_t *v = skin->tris + 3 * t;
        double a[3], b[3], c[3];
        td_subtract3(skin->rest + 3 * v[0], skin->rest, a);
        td_subtract3(skin->rest + 3 * v[1], skin->rest, b);
        td_subtract3(skin->rest + 3 * v[2], skin->rest, c);
        volume += td_triple3(a, b, c) / 6;
    }
    return volume;
}

static tdStatus make_skin(tdCollideWorld *world, const tdColliderDef *def, const tdSettings *settings,
                          tdCollider *collider, tdError *error)
{
    bool mesh = def->kind == TD_COLLIDER_RIGID;
    const tdTriMesh *m = def->shape.mesh;
    tdSkinCheck check;
    collider->skin = TD_TAKE(&world->arena, tdSkin, 1);
    if (collider->skin == NULL)
        return td_fail_memory(error, "a surface for contact");
    TD_TRY(td_skin_build(&world->arena, collider->name, mesh ? m->n_nodes : def->n_nodes, mesh ? m->x : def->rest,
                         mesh ? m->n_tris : def->n_tris, mesh ? m->tris : def->tris, world->sharp, collider->skin,
                         &check, error));
    TD_TRY(td_skin_points(&world->arena, collider->name, def->points, collider->skin, error));
    const tdSkin *skin = collider->skin;
    if (skin->closed && !def->inward && volume_of(skin) < 0)
        return td_fail_at(error, TD_ERROR_INPUT, NULL, 0, collider->name,
                          "the surface is inside out: it encloses %g m^3; reverse all of its triangles",
                          volume_of(skin));
    tdBox *boxes = malloc((size_t)skin->bvh.n_nodes * sizeof *boxes);
    if (boxes == NULL)
        return td_fail_memory(error, "a surface for contact");
    td_skin_refit(skin, skin->rest, NULL, 0, boxes);
    check.cuts = td_skin_cuts(skin, skin->rest, boxes, check.first_cut);
    free(boxes);
    warn_skin(settings, collider->name, &check, mesh);
    // Half an edge deep a vertex still finds the side it came from.
    collider->depth = def->depth > 0 ? def->depth : fmax(world->margin, 0.5 * skin->mean_edge);
    collider->self_gap = def->self_gap > 0 ? def->self_gap : 2 * fmax(world->margin, skin->mean_edge);
    if (collider->self) // else the two sides of a wall would meet through it
        collider->depth = fmin(collider->depth, 0.5 * collider->self_gap);
    return TD_OK;
}

static tdStatus make_rigid(tdCollideWorld *world, const tdColliderDef *def, const tdSettings *settings,
                           tdCollider *collider, tdError *error)
{
    TD_TRY(td_shape_check(&def->shape, collider->name, error));
    TD_TRY(check_pose(&def->pose, collider->name, error));
    if (def->frame < -1)
        return td_fail_at(error, TD_ERROR_USAGE, NULL, 0, collider->name, "there is no frame %d", def->frame);
    collider->shape = def->shape;
    if (def->shape.type == TD_SHAPE_MESH)
        return make_skin(world, def, settings, collider, error);
    if (def->shape.type == TD_SHAPE_BOX)
    {
        double x[24];
        for (int i = 0; i < 24; i++)
            x[i] = (i / 3 >> i % 3 & 1) != 0 ? def->shape.half[i % 3] : -def->shape.half[i % 3];
        tdShape hull = {0};
        TD_TRY(td_shape_hull(&world->arena, 8, x, &hull, error));
        collider->hull = hull.hull;
    }
    if (def->shape.type == TD_SHAPE_HULL)
    {
        // A copy: the world does not depend on the arena of the shape.
        tdShape hull = {0};
        TD_TRY(td_shape_hull(&world->arena, def->shape.hull->n_points, def->shape.hull->x, &hull, error));
        collider->hull = hull.hull;
        collider->shape = hull;
    }
    if (!td_features_make(&world->arena, &def->shape, collider->hull, world->sharp, &collider->features))
        return td_fail_memory(error, "a shape for contact");
    return TD_OK;
}

static tdStatus make_collider(tdCollideWorld *world, int i, const tdColliderDef *def, const tdSettings *settings,
                              tdError *error)
{
    tdCollider *c = &world->colliders[i];
    char fallback[32];
    snprintf(fallback, sizeof fallback, "collider %d", i);
    *c = (tdCollider){.kind = def->kind,
                      .body = def->body,
                      .link = def->link,
                      .frame = def->frame,
                      .field = def->field,
                      .group = def->group,
                      .mask = def->mask,
                      .within_body = def->within_body,
                      .self = def->kind == TD_COLLIDER_SOFT && def->self,
                      .pose = def->pose,
                      .n_nodes = def->n_nodes};
    c->name = td_arena_copy(&world->arena, def->name != NULL ? def->name : fallback);
    if (c->name == NULL)
        return td_fail_memory(error, "a collider");
    if (!(def->depth >= 0 && def->depth < INFINITY) || !(def->self_gap >= 0 && def->self_gap < INFINITY))
        return td_fail_at(error, TD_ERROR_INPUT, NULL, 0, c->name,
                          "its depth is %g and the gap of its own parts %g m; both must be finite, and zero or more",
                          def->depth, def->self_gap);
    if (def->kind == TD_COLLIDER_RIGID)
        return make_rigid(world, def, settings, c, error);
    if (def->kind != TD_COLLIDER_SOFT || def->field < 0)
        return td_fail_at(error, TD_ERROR_USAGE, NULL, 0, c->name,
                          "it is neither rigid nor has it a field of positions");
    c->frame = -1;
    return make_skin(world, def, settings, c, error);
}

// An error names the place that the shape is from, where it does not name another one.
static tdStatus make_placed(tdCollideWorld *world, int i, const tdColliderDef *def, const tdSettings *settings,
                            tdError *error)
{
    tdStatus status = make_collider(world, i, def, settings, error);
    if (status == TD_OK || error == NULL || def->file == NULL || error->line > 0)
        return status;
    tdError inner = *error;
    return td_fail_at(error, status, def->file, def->line, inner.field[0] != '\0' ? inner.field : def->name, "%s",
                      inner.message);
}

// ---------------------------------------------------------------- who may meet whom

static bool may_meet(const tdCollider *a, const tdCollider *b)
{
    bool fixed_a = a->kind == TD_COLLIDER_RIGID && a->frame < 0, fixed_b = b->kind == TD_COLLIDER_RIGID && b->frame < 0;
    if (fixed_a && fixed_b)
        return false; // neither can move
    if ((a->mask & b->group) == 0 || (b->mask & a->group) == 0)
        return false;
    if (a->body >= 0 && a->body == b->body)
        return a->within_body && b->within_body && a->link != b->link;
    return true;
}

static void set_meets(tdCollideWorld *world, int32_t a, int32_t b, bool meets)
{
    int64_t bit = (int64_t)a * world->n + b;
    uint8_t mask = (uint8_t)(1U << (bit & 7));
    world->meets[bit >> 3] = (uint8_t)(meets ? world->meets[bit >> 3] | mask : world->meets[bit >> 3] & ~mask);
}

static tdStatus fill_meets(tdCollideWorld *world, const tdCollideDef *def, tdError *error)
{
    world->meets = TD_TAKE(&world->arena, uint8_t, ((int64_t)world->n * world->n + 7) / 8);
    if (world->meets == NULL)
        return td_fail_memory(error, "the table of colliders");
    for (int32_t a = 0; a < world->n; a++)
        for (int32_t b = 0; b < world->n; b++)
            if (a != b && may_meet(&world->colliders[a], &world->colliders[b]))
                set_meets(world, a, b, true);
    for (int64_t i = 0; i < def->n_excluded; i++)
    {
        int32_t a = def->excluded[i].a, b = def->excluded[i].b;
        if (a < 0 || b < 0 || a >= world->n || b >= world->n)
            return td_fail(error, TD_ERROR_USAGE, "the excluded pair %lld names colliders %d and %d of %d",
                           (long long)i, a, b, world->n);
        set_meets(world, a, b, false);
        set_meets(world, b, a, false);
        if (a == b)
            world->colliders[a].self = false;
    }
    return TD_OK;
}

static tdStatus compile(tdCollideWorld *world, const tdCollideDef *def, const tdSettings *settings, tdError *error)
{
    if (!(def->margin > 0 && def->margin < 1e9))
        return td_fail(error, TD_ERROR_INPUT, "the margin of contact is %g m; it must be positive", def->margin);
    if (!(def->sharp >= 0 && def->sharp < 3.2))
        return td_fail(error, TD_ERROR_INPUT, "edges are sharp from %g rad on; give 0 to pi", def->sharp);
    if (def->n_colliders < 0 || def->n_colliders > TD_COLLIDERS)
        return td_fail(error, TD_ERROR_INPUT, "there are %d colliders; at most %d are possible", def->n_colliders,
                       TD_COLLIDERS);
    world->margin = def->margin;
    world->sharp = def->sharp > 0 ? def->sharp : SHARP;
    world->n = def->n_colliders;
    world->colliders = TD_TAKE(&world->arena, tdCollider, world->n);
    if (world->colliders == NULL)
        return td_fail_memory(error, "the colliders");
    for (int i = 0; i < world->n; i++)
        TD_TRY(make_placed(world, i, &def->colliders[i], settings, error));
    return fill_meets(world, def, error);
}

tdStatus td_collide_world(const tdCollideDef *def, const tdSettings *settings, tdCollideWorld **out, tdError *error)
{
    *out = NULL;
    tdCollideWorld *world = calloc(1, sizeof *world);
    if (world == NULL)
        return td_fail_memory(error, "the colliders");
    tdStatus status = compile(world, def, settings, error);
    if (status != TD_OK)
    {
        td_collide_world_free(world);
        return status;
    }
    *out = world;
    return TD_OK;
}
