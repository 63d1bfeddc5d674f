// SPDX-License-Identifier: Apache-2.0
// Links as parts of a body (core/parts.h), and points of them.
#include "base/hash.h"
#include "base/vector.h"
#include "body/articulated.h"
#include "core/parts.h"
#include "mesh/topology.h"

#include <math.h>
#include <string.h>

// ---------------------------------------------------------------- tables

static void count(const tdArticulated *rigid, tdBodyParts *parts)
{
    tdLinkPart drawn = {0};
    for (int l = 0; l < rigid->n_links; l++)
        parts->n_joints += rigid->links[l].columns == 1;
    for (int s = 0; s < rigid->tree->n_shapes; s++)
        parts->n_shapes += rigid->tree->shapes[s].collides;
    while (td_articulated_part(rigid, &drawn))
        parts->n_drawings++;
}

static void fill_links(const tdArticulated *rigid, const tdTreeWork *work, tdBodyParts *parts)
{
    int joints = 0;
    for (int l = 0; l < rigid->n_links; l++) // parents come first
    {
        const tdLink *link = &rigid->links[l];
        int32_t parent = link->parent < 0 ? -1 : parts->piece[link->parent];
        parts->names[l] = rigid->tree->links[l].name;
        parts->start[l] = work->pose[l];
        parts->parent[l] = link->parent;
        parts->piece[l] = link->columns > 0 ? l : parent;
        parts->hangs[l] = parent;
        parts->light[l] = true;
        if (parts->piece[l] >= 0 && link->mass > 0)
            parts->light[parts->piece[l]] = false;
        if (link->columns == 1)
            parts->joints[joints++] = (tdBodyJoint){.part = l,
                                                    .name = rigid->tree->links[l].joint,
                                                    .slides = link->kind == TD_JOINT_PRISMATIC,
                                                    .coord = link->coord,
                                                    .ratio = link->ratio,
                                                    .offset = link->offset,
                                                    .start = link->ratio * rigid->start[link->coord] + link->offset};
    }
}

static void fill_shapes(const tdArticulated *rigid, tdBodyParts *parts)
{
    const tdTree *tree = rigid->tree;
    int n = 0;
    for (int s = 0; s < tree->n_shapes; s++)
    {
        const tdTreeShape *shape = &tree->shapes[s];
        for (int p = 0; p < 2 * tree->n_pairs; p++) // by shapes that collide, which all of these do
            if (tree->pairs[p / 2][p % 2] == s)
                parts->pairs[p / 2][p % 2] = n;
        if (shape->collides)
            parts->shapes[n++] = (tdBodyShape){.part = shape->link,
                                               .shape = &shape->shape,
                                               .pose = shape->pose,
                                               .file = tree->file,
                                               .line = shape->line,
                                               .rubs = shape->rubs,
                                               .friction = shape->friction,
                                               .turns = shape->turns,
                                               .torsion = shape->torsion,
                                               .rolling = shape->rolling,
                                               .type = shape->type,
                                               .meets = shape->meets};
    }
    tdLinkPart drawn = {0};
    for (n = 0; td_articulated_part(rigid, &drawn); n++)
    {
        parts->drawings[n] = (tdBodyDrawing){.part = drawn.link,
                                             .triangle = drawn.triangle,
                                             .triangles = drawn.triangles,
                                             .plane = drawn.plane,
                                             .coloured = drawn.coloured};
        memcpy(parts->drawings[n].colour, drawn.colour, sizeof drawn.colour);
    }
}

tdStatus td_articulated_parts(tdArena *arena, tdArticulated *rigid, tdBody *body, tdError *error)
{
    tdBodyParts *parts = TD_TAKE(arena, tdBodyParts, 1);
    tdArena scratch = {0};
    tdTreeWork work;
    if (parts == NULL)
        return td_fail_memory(error, "an articulated body");
    parts->n = rigid->n_links;
    parts->frames = 4 * (int64_t)rigid->n_links;
    parts->of_node = rigid->node_link;
    count(rigid, parts);
    parts->names = TD_TAKE(arena, const char *, parts->n);
    parts->start = TD_TAKE(arena, tdPose, parts->n);
    parts->parent = TD_TAKE(arena, int32_t, parts->n);
    parts->piece = TD_TAKE(arena, int32_t, parts->n);
    parts->hangs = TD_TAKE(arena, int32_t, parts->n);
    parts->light = TD_TAKE(arena, bool, parts->n);
    parts->n_excluded = rigid->tree->n_excluded;
    parts->excluded = rigid->tree->excluded;
    parts->n_pairs = rigid->tree->n_pairs;
    parts->pairs = td_arena_take(arena, (size_t)parts->n_pairs, sizeof *parts->pairs);
    parts->joints = TD_TAKE(arena, tdBodyJoint, parts->n_joints);
    parts->shapes = TD_TAKE(arena, tdBodyShape, parts->n_shapes);
    parts->drawings = TD_TAKE(arena, tdBodyDrawing, parts->n_drawings);
    bool good = parts->names != NULL && parts->start != NULL && parts->parent != NULL && parts->piece != NULL &&
                parts->hangs != NULL && parts->light != NULL && parts->pairs != NULL && parts->joints != NULL &&
                parts->shapes != NULL && parts->drawings != NULL && td_tree_work_take(&scratch, rigid, &work);
    if (good)
    {
        td_tree_kinematics(rigid, rigid->start, rigid->reference, &work);
        fill_links(rigid, &work, parts);
        fill_shapes(rigid, parts);
    }
    td_arena_free(&scratch);
    body->parts = parts;
    body->n_turns = rigid->n > 0 ? 4 * rigid->n_balls : 0;
    return good ? TD_OK : td_fail_memory(error, "an articulated body");
}

void td_articulated_hash(const tdBody *body, uint64_t *hash)
{
    const tdArticulated *rigid = td_articulated_of(body);
    for (int l = 0; l < rigid->n_links; l++)
    {
        const tdTreeLink *link = &rigid->tree->links[l];
        const double numbers[] = {
            link->mass,       link->center[0],  link->center[1],   link->center[2],  link->inertia[0], link->inertia[1],
            link->inertia[2], link->inertia[3], link->inertia[4],  link->inertia[5], link->lower,      link->upper,
            link->damping,    link->friction,   link->armature,    link->ratio,      link->offset,     link->axis[0],
            link->axis[1],    link->axis[2],    (double)link->kind};
        *hash = td_hash_mix(*hash ^ td_hash_bytes(numbers, sizeof numbers));
    }
}

// ---------------------------------------------------------------- points

static double distance_to_triangle(const double p[3], const double *a, const double *b, const double *c)
{
    double ab[3], ac[3], ap[3], best = INFINITY;
    td_subtract3(b, a, ab);
    td_subtract3(c, a, ac);
    td_subtract3(p, a, ap);
    double bb = td_dot3(ab, ab), bc = td_dot3(ab, ac), cc = td_dot3(ac, ac), pb = td_dot3(ap, ab), pc = td_dot3(ap, ac);
    double det = bb * cc - bc * bc, s = det > 0 ? (cc * pb - bc * pc) / det : -1,
           t = det > 0 ? (bb * pc - bc * pb) / det : -1;
    if (s >= 0 && t >= 0 && s + t <= 1)
    {
        double d[3];
        for (int k = 0; k < 3; k++)
            d[k] = ap[k] - s * ab[k] - t * ac[k];
        return sqrt(td_dot3(d, d));
    }
    const double *corner[3] = {a, b, c};
    for (int k = 0; k < 3; k++)
    {
        double edge[3], from[3], d[3];
        td_subtract3(corner[(k + 1) % 3], corner[k], edge);
        td_subtract3(p, corner[k], from);
        double length = td_dot3(edge, edge), share = length > 0 ? td_dot3(from, edge) / length : 0;
        share = fmin(fmax(share, 0), 1);
        for (int i = 0; i < 3; i++)
            d[i] = from[i] - share * edge[i];
        best = fmin(best, sqrt(td_dot3(d, d)));
    }
    return best;
}

// The link that a point at rest is in, or the one whose surface is nearest; *distance zero inside.
static int nearest_link(const tdBody *body, const double p[3], double *distance)
{
    const tdMesh *mesh = &body->soft->mesh;
    const double turn = 16 * atan(1);
    int best = -1;
    *distance = INFINITY;
    for (int g = 0; g < mesh->n_groups; g++)
    {
        const tdGroup *group = &mesh->groups[g];
        double near = INFINITY, solid = 0;
        int link = 0;
        for (int64_t k = 0; k < group->count[TD_CELL_TRI]; k++)
        {
            const int32_t *n = mesh->cells[TD_CELL_TRI].nodes + 3 * (int64_t)group->cells[TD_CELL_TRI][k];
            const double *x[3] = {mesh->x + 3 * (int64_t)n[0], mesh->x + 3 * (int64_t)n[1],
                                  mesh->x + 3 * (int64_t)n[2]};
            double a[3], b[3], c[3];
            td_subtract3(x[0], p, a);
            td_subtract3(x[1], p, b);
            td_subtract3(x[2], p, c);
            solid += td_solid_angle(a, b, c);
            near = fmin(near, distance_to_triangle(p, x[0], x[1], x[2]));
            link = td_articulated_of(body)->node_link[n[0]];
        }
        near = fabs(solid) > 0.5 * turn ? 0 : near;
        if (near < *distance)
        {
            *distance = near;
            best = link;
        }
    }
    return best;
}

int td_articulated_locate(const tdBody *body, const char *name, const double p[3], double slack, int32_t *nodes,
                          double *weights)
{
    const tdArticulated *rigid = td_articulated_of(body);
    int link = name != NULL ? td_tree_link(rigid->tree, name) : rigid->n_links == 1 ? 0 : -1;
    double distance = 0, size = 0;
    if (link < 0)
    {
        link = nearest_link(body, p, &distance);
        for (int l = 0; l < rigid->n_links; l++)
            size = fmax(size, rigid->reach[l] / TD_LINK_AXIS);
        if (link < 0 || !(distance <= slack * size))
            return 0;
    }
    // Barycentric in the frame of the link at rest.
    const double *x = body->soft->mesh.x + 12 * (int64_t)link;
    double from[3], reach = rigid->reach[link];
    td_subtract3(p, x, from);
    weights[0] = 1;
    for (int k = 0; k < 4; k++)
        nodes[k] = 4 * link + k;
    for (int k = 1; k < 4; k++)
    {
        double axis[3];
        td_subtract3(x + 3 * (size_t)k, x, axis);
        weights[k] = td_dot3(from, axis) / (reach * reach);
        weights[0] -= weights[k];
    }
    return 4;
}

// ---------------------------------------------------------------- motion

double *td_articulated_turns(const tdBody *body, const tdState *state)
{
    return td_articulated_mine(body, state)->reference;
}

double td_articulated_effort(const tdBody *body, const tdState *state, int drive)
{
    return td_articulated_mine(body, state)->effort[drive];
}

bool td_articulated_gain(const tdBody *body, const tdState *state, double gain[3], double weight[3])
{
    const tdArticulated *given = td_articulated_of(body);
    double mass = 0;
    if (!td_articulated_is_based(body))
        return false;
    for (int l = 0; l < given->n_links; l++)
        mass += given->links[l].mass;
    for (int c = 0; c < 3; c++)
    {
        weight[c] = mass * state->gravity * td_state_gravity(state)[c];
        gain[c] = td_articulated_mine(body, state)->gain[c];
    }
    return true;
}

// ---------------------------------------------------------------- dynamics, for those who ask

void td_articulated_inverse(const tdBody *body, const tdState *state, bool still, const double *dv, const double g[3],
                            double *efforts)
{
    tdArticulatedState *mine = td_articulated_mine(body, state);
    td_articulated_poses(body, state, state->q + body->first);
    memcpy(mine->rhs, state->v + body->first, (size_t)body->count * sizeof(double));
    if (still)
        memset(mine->rhs, 0, (size_t)body->count * sizeof(double));
    td_tree_inverse(td_articulated_of(body), mine->rhs, dv, g, &mine->points, efforts);
}

void td_articulated_mass(const tdBody *body, const tdState *state, double *M)
{
    td_articulated_poses(body, state, state->q + body->first);
    td_tree_mass(td_articulated_of(body), &td_articulated_mine(body, state)->points, M);
}
