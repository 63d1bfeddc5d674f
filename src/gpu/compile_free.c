// SPDX-License-Identifier: Apache-2.0
// Of a plan what bodies need that move as a whole or touch others: the inertia of a frame, points of the surface and
// the shapes that they meet.
#include "collide/skin.h"
#include "contact/contact.h"
#include "gpu/compile_parts.h"

#include <math.h>
#include <string.h>

// ---------------------------------------------------------------- who meets whom

int td_gpu_collider(const tdModel *model)
{
    if (model->contact == NULL || model->contact->world == NULL)
        return -1;
    const tdCollideWorld *world = model->contact->world;
    for (int i = 0; i < td_collide_colliders(world); i++)
        for (int k = 0; k < td_collide_colliders(world) && model->contact->colliders[i].link < 0 &&
                        model->contact->colliders[i].body == td_gpu_body(model)->index;
             k++)
            if (k != i && td_collide_may_meet(world, i, k))
                return i;
    return -1;
}

static bool is_met(const tdModel *model, int own, int collider)
{
    return own >= 0 && collider != own && td_collide_may_meet(model->contact->world, own, collider);
}

// Number of a body among those that are touched; -1: it is not.
static int other_of(const tdModel *model, int own, int body)
{
    int n = 0, last = -1;
    for (int i = 0; own >= 0 && i < td_collide_colliders(model->contact->world); i++)
    {
        int here = model->contact->colliders[i].body; // colliders of a body stand one after the other
        if (!is_met(model, own, i) || here == last)
            continue;
        if (here == body)
            return n;
        last = here;
        n++;
    }
    return body < 0 ? n : -1;
}

bool td_gpu_contact_pair(const tdModel *model, const char *names, int32_t *index)
{
    int own = td_gpu_collider(model), robot = td_gpu_body(model)->index;
    const char *comma = strchr(names, ',');
    if (own < 0 || comma == NULL)
        return false;
    int second = td_model_find_body(model, comma + 1), first = -1;
    for (int b = 0; b < model->n_bodies; b++)
        if (strncmp(model->bodies[b].name, names, (size_t)(comma - names)) == 0 &&
            model->bodies[b].name[comma - names] == '\0')
            first = b;
    bool on_robot = second == robot;
    if (first < 0 || second < 0 || (first != robot && !on_robot))
        return false;
    int other = other_of(model, own, on_robot ? first : second);
    *index = on_robot ? other : -1 - other;
    return other >= 0;
}

// ---------------------------------------------------------------- sizes

void td_gpu_count_free(const tdModel *model, tdGpuPlan *plan)
{
    const tdReduced *reduced = td_reduced_of(td_gpu_body(model));
    int own = td_gpu_collider(model);
    plan->frame = reduced->floating != NULL;
    plan->coords = reduced->coords;
    if (own >= 0)
    {
        const tdSkin *skin = td_collide_skin(model->contact->world, own, &plan->depth);
        plan->touch_points = skin->n_verts + skin->n_points;
        plan->mean_edge = skin->mean_edge;
        plan->others = other_of(model, own, -1);
        for (int i = 0; i < td_collide_colliders(model->contact->world); i++)
        {
            tdShape shape;
            tdPose pose;
            if (!is_met(model, own, i))
                continue;
            plan->shapes++;
            td_collide_rigid(model->contact->world, i, &shape, &pose);
            plan->triangles = shape.type != TD_SHAPE_PLANE ? skin->n_tris : plan->triangles;
        }
        for (int32_t e = 0; e < skin->n_edges && plan->triangles > 0; e++)
            plan->edges += skin->bend[e] != TD_EDGE_HOLLOW;
        plan->rings = plan->triangles > 0 ? skin->ring_first[skin->n_verts] : 0;
        int64_t most = ((int64_t)plan->touch_points + plan->edges + 8) * plan->shapes;
        plan->touches = most < TD_GPU_TOUCHES ? (int32_t)most + (int32_t)(most % 2) : TD_GPU_TOUCHES;
        plan->margin = model->contact->margin;
        plan->slide = model->contact->slide;
        plan->corrected = model->contact->corrected;
    }
    plan->apart = plan->frame != 0 || plan->shapes > 0;
}

void td_gpu_lay_out_free(tdGpuPlan *plan)
{
    int64_t n = plan->r + 1, points = plan->touch_points, square = plan->frame != 0 ? n * n : 0,
            loads = plan->frame != 0 ? 1 + plan->loads : 0;
    plan->E = td_gpu_reserve(plan, 6 * square, sizeof(double));
    plan->D = td_gpu_reserve(plan, 3 * square, sizeof(double));
    plan->force = td_gpu_reserve(plan, 3 * loads, sizeof(double));
    plan->moment = td_gpu_reserve(plan, 9 * n * loads, sizeof(double));
    plan->touch = td_gpu_reserve(plan, 3 * (n - 1) * points, sizeof(double));
    plan->touch_rows = td_gpu_reserve(plan, 3 * (n - 1) * points, sizeof(double));
    plan->touch_rest = td_gpu_reserve(plan, 3 * points, sizeof(double));
    plan->touch_most = td_gpu_reserve(plan, points > 0 ? n : 0, sizeof(double));
    plan->shape = td_gpu_reserve(plan, plan->shapes, sizeof(tdGpuShape));
    plan->triangle = td_gpu_reserve(plan, plan->triangles, sizeof(tdGpuTriangle));
    plan->edge = td_gpu_reserve(plan, plan->edges, sizeof(tdGpuEdge));
    plan->ring_first = td_gpu_reserve(plan, plan->triangles > 0 ? points + 1 : 0, sizeof(int32_t));
    plan->ring = td_gpu_reserve(plan, plan->rings, sizeof(int32_t));
}

// ---------------------------------------------------------------- numbers

// Weight is mass times the place where it acts, kept for 1 m/s^2: read off the strongest component of the scene's.
static void fill_frame(const tdModel *model, const tdFloating *floating, tdGpuPlan *plan)
{
    int64_t n = plan->r + 1;
    const double *own = model->settings.gravity;
    int d = fabs(own[1]) > fabs(own[0]) ? 1 : 0;
    d = fabs(own[2]) > fabs(own[d]) ? 2 : d;
    plan->body_mass = floating->mass;
    memcpy(plan->centre, floating->centre, sizeof plan->centre);
    memcpy(ARRAY(plan, double, E), floating->E, 6 * (size_t)(n * n) * sizeof(double));
    memcpy(ARRAY(plan, double, D), floating->D, 3 * (size_t)(n * n) * sizeof(double));
    memcpy(ARRAY(plan, double, force), floating->force, 3 * (size_t)floating->n_loads * sizeof(double));
    memcpy(ARRAY(plan, double, moment), floating->moment, 9 * (size_t)(n * floating->n_loads) * sizeof(double));
    ARRAY(plan, double, force)[0] = own[d] != 0 ? floating->force[d] / own[d] : floating->mass;
    for (int64_t i = 0; i < 3 * n; i++)
        ARRAY(plan, double, moment)[3 * i] = own[d] != 0 ? floating->moment[3 * i + d] / own[d] : 0;
}

// Where a point that can touch is at rest, from the centre of a frame, and how modes move it.
static void fill_point(const tdModel *model, const tdReduced *reduced, const tdSkin *skin, int own, int32_t p,
                       tdGpuPlan *plan)
{
    const tdContactField *field = &model->contact->fields[model->contact->colliders[own].field];
    int64_t points = plan->touch_points, r = plan->r;
    const tdSkinPoint vertex = {.vert = {p, p, p}, .w = {1, 0, 0}};
    const tdSkinPoint *mean = p < skin->n_verts ? &vertex : &skin->points[p - skin->n_verts];
    double *rest = ARRAY(plan, double, touch_rest) + p;
    for (int k = 0; k < 3; k++)
    {
        int32_t corner = skin->node[mean->vert[k]], first = field->n_points > 0 ? field->start[corner] : corner,
                end = field->n_points > 0 ? field->start[corner + 1] : corner + 1;
        for (int32_t i = first; i < end && mean->w[k] != 0; i++)
        {
            int64_t node = field->n_points > 0 ? field->node[i] : i;
            double weight = mean->w[k] * (field->n_points > 0 ? field->weight[i] : 1);
            for (int c = 0; c < 3; c++)
            {
                double centre = reduced->floating != NULL ? reduced->floating->centre[c] : 0;
                rest[c * points] += weight * (reduced->soft->rest[3 * node + c] - centre);
                for (int64_t j = 0; j < r; j++)
                    ARRAY(plan, double, touch_rows)
                [(3 * (int64_t)p + c) * r + j] += weight * reduced->basis[(3 * node + c) * reduced->stride + j];
            }
        }
    }
    double *most = ARRAY(plan, double, touch_most);
    const double *rows = ARRAY(plan, double, touch_rows) + 3 * (int64_t)p * r;
    for (int64_t j = 0; j < r; j++)
    {
        for (int c = 0; c < 3; c++)
            ARRAY(plan, double, touch)[(c * r + j) * points + p] = rows[c * r + j];
        most[j] =
            fmax(most[j], sqrt(rows[j] * rows[j] + rows[r + j] * rows[r + j] + rows[2 * r + j] * rows[2 * r + j]));
    }
    most[r] =
        fmax(most[r], sqrt(rest[0] * rest[0] + rest[points] * rest[points] + rest[2 * points] * rest[2 * points]));
}

// Triangles, edges that others can meet, and the triangles at each corner.
static void fill_surface(const tdSkin *skin, tdGpuPlan *plan)
{
    tdGpuEdge *to = ARRAY(plan, tdGpuEdge, edge);
    for (int32_t t = 0; t < skin->n_tris; t++)
    {
        tdGpuTriangle *triangle = ARRAY(plan, tdGpuTriangle, triangle) + t;
        triangle->number = skin->tri[t];
        for (int k = 0; k < 3; k++)
        {
            const int32_t *edge = skin->edges + 4 * (int64_t)skin->tri_edges[3 * t + k];
            triangle->corner[k] = skin->tris[3 * t + k];
            triangle->across[k] = edge[2] == t ? edge[3] : edge[2];
        }
    }
    for (int32_t e = 0; e < skin->n_edges; e++)
    {
        const int32_t *edge = skin->edges + 4 * (int64_t)e;
        if (skin->bend[e] != TD_EDGE_HOLLOW)
            *to++ = (tdGpuEdge){{edge[0], edge[1]}, {edge[2], edge[3]}, skin->bend[e] == TD_EDGE_SHARP, 0};
    }
    memcpy(ARRAY(plan, int32_t, ring_first), skin->ring_first, (size_t)(skin->n_verts + 1) * sizeof(int32_t));
    memcpy(ARRAY(plan, int32_t, ring), skin->ring, (size_t)plan->rings * sizeof(int32_t));
}

static void fill_shape(const tdModel *model, int own, int collider, tdGpuShape *out)
{
    static const int32_t types[] = {[TD_SHAPE_PLANE] = TD_GPU_PLANE,
                                    [TD_SHAPE_SPHERE] = TD_GPU_SPHERE,
                                    [TD_SHAPE_CAPSULE] = TD_GPU_CAPSULE,
                                    [TD_SHAPE_BOX] = TD_GPU_BOX};
    const tdContactCollider *a = &model->contact->colliders[own], *b = &model->contact->colliders[collider];
    const tdBody *body = &model->bodies[b->body];
    tdShape shape;
    tdPose local, pose;
    td_collide_rigid(model->contact->world, collider, &shape, &local);
    pose = td_pose_multiply(&body->parts->start[b->link], &local);
    double sum = a->friction + b->friction;
    *out = (tdGpuShape){.type = types[shape.type],
                        .other = other_of(model, own, b->body),
                        .radius = shape.type == TD_SHAPE_BOX ? 0 : shape.radius,
                        .friction = sum > 0 ? 2 * a->friction * (b->friction / sum) : 0,
                        .stiffness = fmin(a->stiffness, b->stiffness),
                        .dissipation = fmax(a->dissipation, b->dissipation),
                        .give = fmin(a->give, b->give)};
    memcpy(out->R, pose.R, sizeof out->R);
    memcpy(out->t, pose.t, sizeof out->t);
    for (int c = 0; c < 3; c++)
        out->half[c] = shape.type == TD_SHAPE_BOX || (shape.type == TD_SHAPE_CAPSULE && c == 2) ? shape.half[c] : 0;
}

void td_gpu_fill_free(const tdModel *model, tdGpuPlan *plan)
{
    const tdReduced *reduced = td_reduced_of(td_gpu_body(model));
    int own = td_gpu_collider(model), n = 0;
    if (plan->frame != 0)
        fill_frame(model, reduced->floating, plan);
    const tdSkin *skin = own >= 0 ? td_collide_skin(model->contact->world, own, &plan->depth) : NULL;
    for (int32_t p = 0; p < plan->touch_points; p++)
        fill_point(model, reduced, skin, own, p, plan);
    if (plan->triangles > 0)
        fill_surface(skin, plan);
    for (int i = 0; n < plan->shapes; i++)
        if (is_met(model, own, i))
            fill_shape(model, own, i, ARRAY(plan, tdGpuShape, shape) + n++);
}
