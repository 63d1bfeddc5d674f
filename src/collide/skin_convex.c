// SPDX-License-Identifier: Apache-2.0
// Contacts of a surface with a convex shape, in three passes:
//   vertices of the surface by the shape's signed distance (exact, at any depth);
//   corners of the shape on the nearest triangle that faces them, for triangles larger than the shape; round ones, as
//   of balls, on all parts of the surface that are nearest in their surroundings;
//   edges of the shape across edges of the surface, for shapes that lie across triangles.
#include "collide/internal.h"

#include <string.h>

#define CONE_SLACK 0.2  // a triangle may look this far past the cone of a corner
#define CROSSING   0.01 // square of the sine of the least angle between edges that cross
#define SHORTEST   0.2  // part of the depth of a crossing that its point is deep at least; a wedge of 25 degrees
#define ENDS       0.02 // part of an edge near its ends that is left to its vertices
#define INSIDE     1e-6 // least weight of the corners of a triangle at a point inside it
#define GROOVE     0.02 // sine of the least angle of a groove
#define NEARLY     0.1  // part of its length by which an end may be less deep than a crossing that it stands for

typedef struct tdSkinConvex
{
    tdNarrow *narrow;
    int32_t skin_id, convex_id;
    const tdSkin *skin;
    const tdCollider *convex;
    const tdPlaced *at, *shape_at;
    double allowed; ///< contacts up to this distance, for the pair
    double reach;   ///< how far features of the shape look for triangles
} tdSkinConvex;

// ---------------------------------------------------------------- vertices of the surface

static double distance_at(const tdSkinConvex *s, const double p[3], const double *facing, double n[3])
{
    double x[3], local[3], way[3];
    td_place_back(&s->shape_at->pose, p, x);
    if (facing != NULL)
        td_turn_back(&s->shape_at->pose, facing, way);
    double phi = td_shape_distance(&s->convex->shape, x, facing != NULL ? way : NULL, local);
    td_turn(&s->shape_at->pose, local, n);
    return phi;
}

static void vertex_on_shape(tdSkinConvex *s, int32_t vert)
{
    const double *p = s->at->x + 3 * vert;
    double n[3], phi = distance_at(s, p, NULL, n);
    s->narrow->piece->looked_at++;
    if (phi > s->allowed)
        return;
    tdMeet meet = {.kind = TD_CONTACT_VERTEX_B, .phi = phi, .n = {n[0], n[1], n[2]}};
    if (meet.phi < 0 && s->convex->shape.type >= TD_SHAPE_BOX)
    {
        double facing[3];
        td_skin_facing(s->skin, s->at->x, vert, facing);
        meet.phi = distance_at(s, p, facing, meet.n);
    }
    memcpy(meet.p[1], p, sizeof meet.p[1]);
    td_along3(p, -meet.phi, meet.n, meet.p[0]);
    meet.s[0].collider = s->convex_id;
    td_side_of_vertex(s->narrow, s->skin_id, vert, &meet.s[1]);
    meet.name[1] = (uint32_t)meet.s[1].feature;
    td_meet_add(s->narrow, &meet);
}

static bool box_near_shape(const tdSkinConvex *s, const tdBox *box)
{
    const double *shape = s->shape_at->box;
    double c[3], n[3], half = 0;
    for (int k = 0; k < 3; k++)
    {
        if (box->min[k] > shape[3 + k] || box->max[k] < shape[k])
            return false;
        double h = 0.5 * ((double)box->max[k] - box->min[k]);
        c[k] = box->min[k] + h;
        half += h * h;
    }
    return distance_at(s, c, NULL, n) - sqrt(half) <= s->allowed;
}

static void pass_vertices(tdSkinConvex *s)
{
    int32_t stack[TD_BVH_DEPTH], n = 0;
    stack[n++] = 0;
    while (n > 0)
    {
        int32_t i = stack[--n];
        const tdBvhNode *node = &s->skin->bvh.nodes[i];
        if (!box_near_shape(s, &s->at->boxes[i]))
            continue;
        if (node->right != 0)
        {
            stack[n++] = node->right;
            stack[n++] = i + 1;
            continue;
        }
        for (int32_t v = node->vert; v < node->vert + node->n_verts; v++)
            vertex_on_shape(s, v);
        for (int32_t v = node->point; v < node->point + node->n_points; v++)
            vertex_on_shape(s, s->skin->n_verts + v);
    }
}

// ---------------------------------------------------------------- corners of the shape

typedef struct tdBest
{
    int32_t tri;
    int region;
    bool plane; ///< its plane counts, not its nearest point
    double square, w[3];
} tdBest;

// Whether the shape around its corner lies in front of a triangle with the unit normal n.
static bool corner_faces(const tdSkinConvex *s, int corner, const double n[3])
{
    const tdFeatures *f = &s->convex->features;
    double local[3];
    td_turn_back(&s->shape_at->pose, n, local);
    for (int32_t j = f->cone[corner]; j < f->cone[corner + 1]; j++)
        if (td_dot3(local, f->ways + 3 * j) < -CONE_SLACK)
            return false;
    return true;
}

static void corner_on_leaf(const tdSkinConvex *s, const double p[3], int corner, const tdBvhNode *leaf, tdBest *best)
{
    const double *x = s->at->x;
    for (int32_t tri = leaf->tri; tri < leaf->tri + leaf->n_tris; tri++)
    {
        const int32_t *t = s->skin->tris + 3 * tri;
        double n[3], w[3], c[3];
        s->narrow->piece->looked_at++;
        int region = td_nearest_on_triangle(p, x + 3 * t[0], x + 3 * t[1], x + 3 * t[2], w);
        td_mix3(x + 3 * t[0], x + 3 * t[1], x + 3 * t[2], w, c);
        double square = td_square_between(p, c);
        if (square > best->square ||
            (square == best->square && best->tri >= 0 && s->skin->tri[tri] > s->skin->tri[best->tri]))
            continue;
        td_skin_normal(s->skin, x, tri, n);
        if (!corner_faces(s, corner, n))
            continue;
        *best = (tdBest){.tri = tri, .region = region, .square = square, .w = {w[0], w[1], w[2]}};
    }
}

// A contact of a corner with the nearest point of a triangle. name: 0, or a number of the part of the surface. False:
// the triangle is not what it touches.
static bool meet_corner(tdSkinConvex *s, int corner, const double p[3], const tdBest *best, uint32_t name)
{
    const int32_t *t = s->skin->tris + 3 * best->tri;
    const double *x = s->at->x, radius = s->convex->features.point_radius;
    tdMeet meet = {.kind = TD_CONTACT_VERTEX_B, .name = {name, (uint32_t)corner}};
    td_mix3(x + 3 * t[0], x + 3 * t[1], x + 3 * t[2], best->w, meet.p[0]);
    if (best->plane)
    {
        double way[3];
        td_skin_normal(s->skin, x, best->tri, meet.n);
        td_subtract3(p, meet.p[0], way);
        meet.phi = td_dot3(meet.n, way);
    }
    else if (!td_skin_side(s->skin, x, best->tri, best->region, p, meet.p[0], meet.n, &meet.phi))
        return false;
    if (radius > 0 && name != 0 && meet.phi < 0)
        return false; // the middle of a round corner is behind it: seen through the body
    if (meet.phi < -s->narrow->world->margin && td_skin_outside(s->skin, x, s->at->boxes, p, -meet.phi))
        return false;
    meet.phi -= radius;
    td_along3(p, -radius, meet.n, meet.p[1]);
    td_side_of_triangle(s->narrow, s->skin_id, best->tri, best->w, &meet.s[0]);
    meet.s[1].collider = s->convex_id;
    meet.s[1].feature = corner;
    td_meet_add(s->narrow, &meet);
    return true;
}

// Number of a part of the surface: the inside of a triangle, or an edge. 0: a vertex, which has a distance of its own.
static uint32_t part_of(const tdSkin *skin, int32_t tri, int region)
{
    if (region == TD_REGION_FACE)
        return 1 + (uint32_t)tri;
    if (region < TD_REGION_SIDE)
        return 0;
    return 1 + (uint32_t)skin->n_tris + (uint32_t)skin->tri_edges[3 * tri + region - TD_REGION_SIDE];
}

// Whether p is nearer to this part of a triangle than to all around it. An edge counts for the triangle to its left,
// and where the other one agrees.
static bool is_least(const tdSkinConvex *s, const double p[3], const tdBest *best)
{
    if (best->region == TD_REGION_FACE)
        return best->w[0] > INSIDE && best->w[1] > INSIDE && best->w[2] > INSIDE;
    if (best->region < TD_REGION_SIDE)
        return false;
    const double *x = s->at->x;
    const int32_t *edge = s->skin->edges + 4 * s->skin->tri_edges[3 * best->tri + best->region - TD_REGION_SIDE];
    if (edge[2] != best->tri || edge[3] < 0)
        return edge[2] == best->tri;
    const int32_t *t = s->skin->tris + 3 * edge[3];
    double w[3];
    int across = td_nearest_on_triangle(p, x + 3 * t[0], x + 3 * t[1], x + 3 * t[2], w);
    return across != TD_REGION_FACE && part_of(s->skin, edge[3], across) == part_of(s->skin, best->tri, best->region);
}

// A ball in a dent touches more than the nearest triangle. With that one alone, each step would push away what was
// nearest in the step before, and force would go to and fro between two triangles.
static void round_corner(tdSkinConvex *s, int corner, const double p[3], const tdBest *nearest)
{
    const double *x = s->at->x, reach = s->allowed + s->convex->features.point_radius;
    uint32_t known = part_of(s->skin, nearest->tri, nearest->region);
    int32_t stack[TD_BVH_DEPTH], n = 0;
    stack[n++] = 0;
    while (n > 0)
    {
        int32_t i = stack[--n];
        const tdBvhNode *node = &s->skin->bvh.nodes[i];
        if (td_square_to_box(p, &s->at->boxes[i]) > reach * reach)
            continue;
        if (node->right != 0)
        {
            stack[n++] = node->right;
            stack[n++] = i + 1;
            continue;
        }
        for (int32_t tri = node->tri; tri < node->tri + node->n_tris; tri++)
        {
            const int32_t *t = s->skin->tris + 3 * tri;
            tdBest best = {.tri = tri};
            double c[3], normal[3];
            s->narrow->piece->looked_at++;
            best.region = td_nearest_on_triangle(p, x + 3 * t[0], x + 3 * t[1], x + 3 * t[2], best.w);
            td_mix3(x + 3 * t[0], x + 3 * t[1], x + 3 * t[2], best.w, c);
            best.square = td_square_between(p, c);
            uint32_t name = part_of(s->skin, tri, best.region);
            if (best.square > reach * reach || name == known || !is_least(s, p, &best))
                continue;
            td_skin_normal(s->skin, x, tri, normal);
            if (corner_faces(s, corner, normal))
                meet_corner(s, corner, p, &best, name);
        }
    }
}

// Whether two triangles at an edge are the walls of a groove; n: their normals.
static bool is_groove(const tdSkinConvex *s, int32_t tri, int side, int32_t across, double n[2][3])
{
    const double *x = s->at->x;
    const int32_t *t = s->skin->tris + 3 * tri, *u = s->skin->tris + 3 * across;
    const double *on = x + 3 * t[side];
    double rise = 0,
           turn[3]; // of the corner of `across` that is not on the edge; the other two are at 0 but for rounding
    td_skin_normal(s->skin, x, tri, n[0]);
    td_skin_normal(s->skin, x, across, n[1]);
    td_cross3(n[0], n[1], turn);
    for (int k = 0; k < 3; k++)
    {
        double way[3];
        td_subtract3(x + 3 * u[k], on, way);
        double up = td_dot3(n[0], way);
        rise = fabs(up) > fabs(rise) ? up : rise;
    }
    return td_dot3(turn, turn) > GROOVE * GROOVE && rise > 0;
}

static bool are_neighbours(const tdSkin *skin, int32_t tri, int32_t other)
{
    for (int side = 0; side < 3; side++)
    {
        const int32_t *edge = skin->edges + 4 * skin->tri_edges[3 * tri + side];
        if (edge[2] == other || edge[3] == other)
            return true;
    }
    return false;
}

// The walls of grooves at the sides of the triangle `of`, but for those at the sides of `known` (or -1) and itself.
static void groove_walls(tdSkinConvex *s, int corner, const double p[3], int32_t of, int32_t known, tdBest *nearest)
{
    const double *x = s->at->x;
    for (int side = 0; side < 3; side++)
    {
        const int32_t *edge = s->skin->edges + 4 * s->skin->tri_edges[3 * of + side];
        tdBest best = {.tri = edge[2] == of ? edge[3] : edge[2], .plane = true};
        double n[2][3], c[3];
        if (best.tri < 0 || (known >= 0 && (best.tri == known || are_neighbours(s->skin, known, best.tri))) ||
            !is_groove(s, of, side, best.tri, n) || !corner_faces(s, corner, n[1]))
            continue;
        const int32_t *t = s->skin->tris + 3 * best.tri;
        best.region = td_nearest_on_triangle(p, x + 3 * t[0], x + 3 * t[1], x + 3 * t[2], best.w);
        td_mix3(x + 3 * t[0], x + 3 * t[1], x + 3 * t[2], best.w, c);
        if (td_square_between(p, c) > s->allowed * s->allowed)
            continue;
        nearest->plane = nearest->plane || (of == nearest->tri && nearest->region == TD_REGION_SIDE + side);
        meet_corner(s, corner, p, &best, 1 + (uint32_t)best.tri);
    }
}

// A sharp corner at the bottom of a groove touches both walls: what is nearer changes from step to step. To both it is
// as far as to their planes, in front of which it stays. nearest: becomes a plane where it is such an edge itself.
// Over an edge both of its triangles are nearest, and rounding says which of them was found: both count.
static void groove_corner(tdSkinConvex *s, int corner, const double p[3], tdBest *nearest)
{
    if (nearest->region < TD_REGION_SIDE)
        return;
    groove_walls(s, corner, p, nearest->tri, -1, nearest);
    if (nearest->region == TD_REGION_FACE)
        return;
    const double *x = s->at->x;
    const int32_t *edge = s->skin->edges + 4 * s->skin->tri_edges[3 * nearest->tri + nearest->region - TD_REGION_SIDE];
    int32_t twin = edge[2] == nearest->tri ? edge[3] : edge[2];
    if (twin < 0)
        return;
    const int32_t *t = s->skin->tris + 3 * twin;
    double n[3], w[3];
    int region = td_nearest_on_triangle(p, x + 3 * t[0], x + 3 * t[1], x + 3 * t[2], w);
    td_skin_normal(s->skin, x, twin, n);
    if (part_of(s->skin, twin, region) == part_of(s->skin, nearest->tri, nearest->region) && corner_faces(s, corner, n))
        groove_walls(s, corner, p, twin, nearest->tri, nearest);
}

static void corner_on_surface(tdSkinConvex *s, int corner)
{
    const tdFeatures *f = &s->convex->features;
    double p[3], radius = f->point_radius, reach = s->reach + radius;
    td_place(&s->shape_at->pose, f->points + 3 * corner, p);
    tdBest best = {.tri = -1, .square = reach * reach};
    int32_t stack[TD_BVH_DEPTH], n = 0;
    stack[n++] = 0;
    while (n > 0)
    {
        int32_t i = stack[--n];
        const tdBvhNode *node = &s->skin->bvh.nodes[i];
        if (td_square_to_box(p, &s->at->boxes[i]) > best.square)
            continue;
        if (node->right == 0)
        {
            corner_on_leaf(s, p, corner, node, &best);
            continue;
        }
        bool left = td_square_to_box(p, &s->at->boxes[i + 1]) <= td_square_to_box(p, &s->at->boxes[node->right]);
        stack[n++] = left ? node->right : i + 1; // the nearer one is taken first
        stack[n++] = left ? i + 1 : node->right;
    }
    if (best.tri < 0)
        return;
    if (radius == 0)
        groove_corner(s, corner, p, &best);
    if (meet_corner(s, corner, p, &best, 0) && radius > 0)
        round_corner(s, corner, p, &best);
}

// ---------------------------------------------------------------- edges of the shape

typedef struct tdSegment
{
    int number;
    double a[3], b[3], along[3], left[3], right[3];
    bool round;
    double box[6];
} tdSegment;

static void segment_of(const tdSkinConvex *s, int number, tdSegment *out)
{
    const tdFeatures *f = &s->convex->features;
    const double *normals = f->normals + 6 * number;
    out->number = number;
    td_place(&s->shape_at->pose, f->edges + 6 * number, out->a);
    td_place(&s->shape_at->pose, f->edges + 6 * number + 3, out->b);
    td_subtract3(out->b, out->a, out->along);
    td_unit3(out->along, 0);
    td_turn(&s->shape_at->pose, normals, out->left);
    td_turn(&s->shape_at->pose, normals + 3, out->right);
    out->round = td_dot3(normals, normals) == 0;
    double reach = s->reach + f->edge_radius;
    for (int k = 0; k < 3; k++)
    {
        out->box[k] = fmin(out->a[k], out->b[k]) - reach;
        out->box[3 + k] = fmax(out->a[k], out->b[k]) + reach;
    }
}

// A flat edge need not cross where an end of it is nearly as deep. Returns how far the crossing is put back for that:
// it fades as the end comes down, for if it came and went at once, force would go to and fro between the two.
// Infinite: the end is as deep.
static double put_back(const tdSkinConvex *s, const int32_t *edge, double phi)
{
    const double *a = s->at->x + 3 * edge[0], *b = s->at->x + 3 * edge[1];
    double n[3], end = fmin(distance_at(s, a, NULL, n), distance_at(s, b, NULL, n));
    return end <= phi ? INFINITY : fmax(0, phi + NEARLY * sqrt(td_square_between(a, b)) - end);
}

static void cross_edges(tdSkinConvex *s, const tdSegment *seg, int32_t number)
{
    const int32_t *edge = s->skin->edges + 4 * number;
    const double *x = s->at->x, *a = x + 3 * edge[0], *b = x + 3 * edge[1];
    double t, u, along[3], left[3], right[3], d[3], far[3];
    s->narrow->piece->looked_at++;
    if (td_nearest_segments(a, b, seg->a, seg->b, &t, &u) < CROSSING || t < ENDS || t > 1 - ENDS || u <= 0 || u >= 1)
        return;
    tdMeet meet = {.kind = TD_CONTACT_EDGES, .name = {(uint32_t)number, (uint32_t)seg->number}};
    td_subtract3(b, a, along);
    td_unit3(along, 0);
    td_cross3(along, seg->along, meet.n);
    td_unit3(meet.n, 0);
    td_skin_normal(s->skin, x, edge[2], left);
    if (edge[3] >= 0)
        td_skin_normal(s->skin, x, edge[3], right);
    else
        memcpy(right, left, sizeof right);
    if (td_dot3(meet.n, left) + td_dot3(meet.n, right) < 0)
        for (int k = 0; k < 3; k++)
            meet.n[k] = -meet.n[k];
    for (int k = 0; k < 3; k++)
    {
        meet.p[0][k] = (1 - t) * a[k] + t * b[k];
        meet.p[1][k] = (1 - u) * seg->a[k] + u * seg->b[k];
    }
    double radius = s->convex->features.edge_radius, in[3] = {-meet.n[0], -meet.n[1], -meet.n[2]};
    if (!(seg->round || td_within_arc(seg->left, seg->right, seg->along, in)) ||
        !td_within_arc(left, right, along, meet.n))
        return;
    td_subtract3(meet.p[1], meet.p[0], d);
    meet.phi = td_dot3(meet.n, d) - radius;
    if (meet.phi > s->allowed || meet.phi < -s->reach - radius)
        return;
    // Edges that cross deep down meet only if the way out between them is about the shortest one.
    if (meet.phi < 0 && distance_at(s, meet.p[0], NULL, far) > SHORTEST * meet.phi + 1e-3 * s->narrow->world->margin)
        return;
    double back = s->skin->bend[number] == TD_EDGE_SHARP ? 0 : put_back(s, edge, meet.phi);
    if (back > s->allowed - meet.phi)
        return;
    meet.phi += back;
    td_along3(meet.p[1], back - radius, meet.n, meet.p[1]);
    td_side_of_edge(s->narrow, s->skin_id, number, t, &meet.s[0]);
    meet.s[1].collider = s->convex_id;
    meet.s[1].feature = seg->number;
    td_meet_add(s->narrow, &meet);
}

static void pass_segment(tdSkinConvex *s, const tdSegment *seg)
{
    int32_t stack[TD_BVH_DEPTH], n = 0;
    stack[n++] = 0;
    while (n > 0)
    {
        int32_t i = stack[--n];
        const tdBvhNode *node = &s->skin->bvh.nodes[i];
        const tdBox *box = &s->at->boxes[i];
        if (box->min[0] > seg->box[3] || box->max[0] < seg->box[0] || box->min[1] > seg->box[4] ||
            box->max[1] < seg->box[1] || box->min[2] > seg->box[5] || box->max[2] < seg->box[2])
            continue;
        if (node->right != 0)
        {
            stack[n++] = node->right;
            stack[n++] = i + 1;
            continue;
        }
        for (int32_t e = node->edge; e < node->edge + node->n_edges; e++)
            if (s->skin->bend[e] != TD_EDGE_HOLLOW)
                cross_edges(s, seg, e);
    }
}

void td_meet_skin_convex(tdNarrow *narrow, int32_t skin, int32_t convex)
{
    const tdCollider *colliders = narrow->world->colliders;
    tdSkinConvex s = {narrow,
                      skin,
                      convex,
                      colliders[skin].skin,
                      &colliders[convex],
                      &narrow->state->placed[skin],
                      &narrow->state->placed[convex],
                      0,
                      0};
    s.allowed = narrow->world->margin + narrow->sweep;
    s.reach = s.at->reach + narrow->sweep;
    pass_vertices(&s);
    for (int i = 0; i < s.convex->features.n_points; i++)
        corner_on_surface(&s, i);
    for (int i = 0; i < s.convex->features.n_edges; i++)
    {
        tdSegment seg;
        segment_of(&s, i, &seg);
        pass_segment(&s, &seg);
    }
}
