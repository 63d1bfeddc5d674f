// SPDX-License-Identifier: Apache-2.0
// Contacts of two surfaces, or of one with itself: each vertex with the nearest triangle that faces it, both ways, and
// sharp edges across each other. Two trees are walked together; candidates are collected and the nearest of each vertex
// becomes a contact, so that a vertex keeps its name while it slides from triangle to triangle.
#include "collide/internal.h"

#include <string.h>

#define OPPOSED  0.3  // product of unit normals below which a triangle faces a vertex of another body
#define FLAT     0.99 // product of opposed unit normals above which faces lie on each other
#define CROSSING 0.01 // square of the sine of the least angle between edges that cross
#define ENDS     0.02 // part of an edge near its ends that is left to its vertices

typedef struct tdSkins
{
    tdNarrow *narrow;
    int32_t id[2];
    const tdSkin *skin[2];
    const tdPlaced *at[2];
    double reach;   ///< how far a vertex looks for triangles
    double allowed; ///< contacts up to this distance
    bool self;
} tdSkins;

// ---------------------------------------------------------------- a vertex and a triangle

// At rest near enough to be neighbours: they never meet.
static bool neighbours(const tdSkins *s, int32_t vert, int32_t tri)
{
    const tdSkin *skin = s->skin[0];
    const int32_t *t = skin->tris + 3 * tri;
    const double *p = skin->rest + 3 * vert, *a = skin->rest + 3 * t[0], *b = skin->rest + 3 * t[1],
                 *c = skin->rest + 3 * t[2];
    double gap = s->narrow->world->colliders[s->id[0]].self_gap, w[3], q[3];
    td_nearest_on_triangle(p, a, b, c, w);
    td_mix3(a, b, c, w, q);
    return td_square_between(p, q) <= gap * gap;
}

// Vertices and points that one leaf owns against the triangles of the other's leaf.
typedef struct leafTriangles
{
    const tdBvhNode *leaf;
    bool ready;
    double area[TD_LEAF_TRIS][3], square[TD_LEAF_TRIS];
} leafTriangles;

static void make_areas(const tdSkin *skin, const double *x, leafTriangles *tris)
{
    for (int i = 0; i < tris->leaf->n_tris && !tris->ready; i++)
    {
        td_skin_area(skin, x, tris->leaf->tri + i, tris->area[i]);
        tris->square[i] = td_dot3(tris->area[i], tris->area[i]);
    }
    tris->ready = true;
}

// Whether vertex v and triangle i face each other. *own is the length of its normal `facing`, < 0 before it is known.
static bool face_each_other(const tdSkins *s, int side, int32_t v, const leafTriangles *tris, int i, double facing[3],
                            double *own)
{
    if (*own < 0) // only now is it worth the ring around the vertex
    {
        if (s->at[side]->normal != NULL)
            memcpy(facing, s->at[side]->normal + 3 * v, 3 * sizeof *facing);
        else
            td_skin_facing(s->skin[side], s->at[side]->x, v, facing);
        *own = td_length3(facing);
    }
    return td_dot3(facing, tris->area[i]) <= (s->self ? 0 : OPPOSED * *own * sqrt(tris->square[i])) &&
           !(s->self && neighbours(s, v, tris->leaf->tri + i));
}

// The nearest of the triangles goes to the list.
static void vertex_on_leaf(tdSkins *s, int side, int32_t v, const leafTriangles *tris)
{
    const tdSkin *other = s->skin[1 - side];
    const double *p = s->at[side]->x + 3 * v, *y = s->at[1 - side]->x;
    tdPiece *piece = s->narrow->piece;
    double facing[3], own = -1;
    tdCandidate best = {.vert = v, .tri = -1, .square = s->reach * s->reach};
    for (int i = 0; i < tris->leaf->n_tris; i++)
    {
        const int32_t *t = other->tris + 3 * (tris->leaf->tri + i);
        const double *a = y + 3 * t[0];
        double d[3], w[3], q[3];
        td_subtract3(p, a, d);
        double height = td_dot3(d, tris->area[i]);
        piece->looked_at++;
        if (height * height > best.square * tris->square[i])
            continue;
        int region = td_nearest_on_triangle(p, a, y + 3 * t[1], y + 3 * t[2], w);
        td_mix3(a, y + 3 * t[1], y + 3 * t[2], w, q);
        double way = td_square_between(p, q);
        if (way > best.square || (way == best.square && best.tri >= 0))
            continue;
        if (face_each_other(s, side, v, tris, i, facing, &own))
            best = (tdCandidate){v, tris->leaf->tri + i, region, way, {w[0], w[1], w[2]}};
    }
    if (best.tri < 0)
        return;
    best.region |= side << 3;
    if (td_grow((void **)&piece->candidates, &piece->candidate_room, piece->n_candidates + 1,
                sizeof *piece->candidates))
        piece->candidates[piece->n_candidates++] = best;
    else
        piece->failed = true;
}

// Whether points of a triangle can meet one of the others: most of the surface of a block looks another way.
static bool triangle_faces(const tdSkins *s, int side, int32_t tri, const leafTriangles *tris)
{
    double area[3];
    td_skin_area(s->skin[side], s->at[side]->x, tri, area);
    double square = td_dot3(area, area);
    for (int i = 0; i < tris->leaf->n_tris; i++)
        if (td_dot3(area, tris->area[i]) <= (s->self ? 0 : OPPOSED * sqrt(square * tris->square[i])))
            return true;
    return false;
}

static void vertices_on_leaf(tdSkins *s, int side, const tdBvhNode *mine, const tdBvhNode *theirs, const tdBox *box)
{
    const double *x = s->at[side]->x;
    double beyond = s->reach - 0.5 * s->at[1 - side]->reach; // what their box was not grown by
    leafTriangles tris = {.leaf = theirs};
    for (int32_t v = mine->vert; v < mine->vert + mine->n_verts && !s->narrow->piece->failed; v++)
        if (td_in_box(box, x + 3 * v, beyond))
        {
            make_areas(s->skin[1 - side], s->at[1 - side]->x, &tris);
            vertex_on_leaf(s, side, v, &tris);
        }
    if (mine->n_points == 0)
        return;
    make_areas(s->skin[1 - side], s->at[1 - side]->x, &tris);
    int32_t each = mine->n_points / mine->n_tris, first = s->skin[side]->n_verts + mine->point;
    for (int32_t t = 0; t < mine->n_tris; t++)
    {
        if (!triangle_faces(s, side, mine->tri + t, &tris))
            continue;
        for (int32_t v = first + t * each; v < first + (t + 1) * each && !s->narrow->piece->failed; v++)
            if (td_in_box(box, x + 3 * v, beyond))
                vertex_on_leaf(s, side, v, &tris);
    }
}

// Faces that lie on each other: a triangle at the vertex looks against the triangle it is at.
static bool lies_flat(const tdSkin *skin, const double *x, int32_t vert, const double normal[3])
{
    double own[3];
    if (vert >= skin->n_verts)
    {
        td_skin_normal(skin, x, skin->points[vert - skin->n_verts].tri, own);
        return td_dot3(own, normal) < -FLAT;
    }
    for (int32_t i = skin->ring_first[vert]; i < skin->ring_first[vert + 1]; i++)
    {
        td_skin_normal(skin, x, skin->ring[i], own);
        if (td_dot3(own, normal) < -FLAT)
            return true;
    }
    return false;
}

// A vertex that is a little past the edge of a face on which its own face lies: blocks with edges in line. It stays on
// the plane of that face, whose normal does not turn, until it is half a margin away; else it would come and go.
static bool in_line(const tdSkins *s, int side, const tdCandidate *best, const double q[3], tdMeet *meet)
{
    const double *p = s->at[side]->x + 3 * best->vert;
    double slack = 0.5 * s->narrow->world->margin, way[3];
    td_skin_normal(s->skin[1 - side], s->at[1 - side]->x, best->tri, meet->n);
    if (!lies_flat(s->skin[side], s->at[side]->x, best->vert, meet->n))
        return false;
    td_subtract3(p, q, way);
    meet->phi = td_dot3(way, meet->n);
    return td_dot3(way, way) - meet->phi * meet->phi <= slack * slack;
}

static void add_vertex(tdSkins *s, const tdCandidate *best)
{
    int side = best->region >> 3, region = best->region & 7;
    const tdSkin *other = s->skin[1 - side];
    const double *p = s->at[side]->x + 3 * best->vert, *y = s->at[1 - side]->x;
    const int32_t *t = other->tris + 3 * best->tri;
    double q[3];
    tdMeet meet = {.kind = TD_CONTACT_VERTEX_A};
    td_mix3(y + 3 * t[0], y + 3 * t[1], y + 3 * t[2], best->w, q);
    if (!(region != TD_REGION_FACE && in_line(s, side, best, q, &meet)) &&
        !td_skin_side(other, y, best->tri, region, p, q, meet.n, &meet.phi))
        return;
    // Bodies that move fast together look farther than they can be inside each other.
    double depth = fmax(s->narrow->world->colliders[s->id[1 - side]].depth, s->narrow->world->margin);
    if (meet.phi < -depth)
        return;
    if (meet.phi < -s->narrow->world->margin && td_skin_outside(other, y, s->at[1 - side]->boxes, p, -meet.phi))
        return;
    for (int k = 0; k < 3; k++)
        meet.n[k] = -meet.n[k]; // from the vertex to the triangle
    memcpy(meet.p[0], p, sizeof meet.p[0]);
    memcpy(meet.p[1], q, sizeof meet.p[1]);
    td_side_of_vertex(s->narrow, s->id[side], best->vert, &meet.s[0]);
    td_side_of_triangle(s->narrow, s->id[1 - side], best->tri, best->w, &meet.s[1]);
    meet.name[0] = (uint32_t)meet.s[0].feature;
    td_meet_add(s->narrow, &meet);
}

static bool comes_before(const tdCandidate *a, const tdCandidate *b)
{
    int side_a = a->region >> 3, side_b = b->region >> 3;
    if (side_a != side_b)
        return side_a < side_b;
    if (a->vert != b->vert)
        return a->vert < b->vert;
    return a->square < b->square || (a->square == b->square && a->tri < b->tri);
}

// Shell's sort: no memory, and the lists come nearly sorted by vertices.
static void sort_candidates(tdCandidate *c, int64_t n)
{
    for (int64_t gap = n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (int64_t i = gap; i < n; i++)
        {
            tdCandidate at = c[i];
            int64_t j = i;
            for (; j >= gap && comes_before(&at, &c[j - gap]); j -= gap)
                c[j] = c[j - gap];
            c[j] = at;
        }
}

// ---------------------------------------------------------------- edges

static void normals_at(const tdSkin *skin, const double *x, const int32_t *edge, double left[3], double right[3])
{
    td_skin_normal(skin, x, edge[2], left);
    if (edge[3] >= 0)
        td_skin_normal(skin, x, edge[3], right);
    else
        memcpy(right, left, 3 * sizeof *right);
}

static bool edges_neighbours(const tdSkins *s, const int32_t *a, const int32_t *b)
{
    const double *X = s->skin[0]->rest;
    double t, u, p[3], q[3], gap = s->narrow->world->colliders[s->id[0]].self_gap;
    td_nearest_segments(X + 3 * a[0], X + 3 * a[1], X + 3 * b[0], X + 3 * b[1], &t, &u);
    for (int k = 0; k < 3; k++)
    {
        p[k] = (1 - t) * X[3 * a[0] + k] + t * X[3 * a[1] + k];
        q[k] = (1 - u) * X[3 * b[0] + k] + u * X[3 * b[1] + k];
    }
    return td_square_between(p, q) <= gap * gap;
}

static void cross_edges(tdSkins *s, int32_t first, int32_t second)
{
    const int32_t *e = s->skin[0]->edges + 4 * first, *f = s->skin[1]->edges + 4 * second;
    const double *x = s->at[0]->x, *y = s->at[1]->x;
    const double *a = x + 3 * e[0], *b = x + 3 * e[1], *c = y + 3 * f[0], *d = y + 3 * f[1];
    double t, u, along[3], other[3], left[3], right[3], left2[3], right2[3], way[3];
    s->narrow->piece->looked_at++;
    if (td_nearest_segments(a, b, c, d, &t, &u) < CROSSING || t < ENDS || t > 1 - ENDS || u < ENDS || u > 1 - ENDS)
        return;
    tdMeet meet = {.kind = TD_CONTACT_EDGES, .name = {(uint32_t)first, (uint32_t)second}};
    for (int k = 0; k < 3; k++)
    {
        meet.p[0][k] = (1 - t) * a[k] + t * b[k];
        meet.p[1][k] = (1 - u) * c[k] + u * d[k];
    }
    if (td_square_between(meet.p[0], meet.p[1]) > s->allowed * s->allowed || (s->self && edges_neighbours(s, e, f)))
        return;
    td_subtract3(b, a, along);
    td_subtract3(d, c, other);
    td_unit3(along, 0);
    td_unit3(other, 0);
    td_cross3(along, other, meet.n);
    td_unit3(meet.n, 0);
    normals_at(s->skin[0], x, e, left, right);
    normals_at(s->skin[1], y, f, left2, right2);
    if (td_dot3(meet.n, left) + td_dot3(meet.n, right) < 0)
        for (int k = 0; k < 3; k++)
            meet.n[k] = -meet.n[k];
    double back[3] = {-meet.n[0], -meet.n[1], -meet.n[2]};
    if (!td_within_arc(left, right, along, meet.n) || !td_within_arc(left2, right2, other, back))
        return;
    td_subtract3(meet.p[1], meet.p[0], way);
    meet.phi = td_dot3(meet.n, way);
    // Deeper there is a shorter way out than between these two, however fast the bodies move.
    if (meet.phi < -s->narrow->world->margin)
        return;
    td_side_of_edge(s->narrow, s->id[0], first, t, &meet.s[0]);
    td_side_of_edge(s->narrow, s->id[1], second, u, &meet.s[1]);
    td_meet_add(s->narrow, &meet);
}

// ---------------------------------------------------------------- two trees

// Sharp edges that a leaf owns and that reach into the box of the other. Returns how many.
static int edges_in_box(const tdSkins *s, int side, const tdBvhNode *leaf, const tdBox *box, int32_t *out)
{
    const tdSkin *skin = s->skin[side];
    const double *x = s->at[side]->x;
    double beyond = s->reach - 0.5 * s->at[1 - side]->reach;
    int n = 0;
    for (int32_t e = leaf->edge; e < leaf->edge + leaf->n_edges; e++)
    {
        const double *a = x + 3 * skin->edges[4 * e], *b = x + 3 * skin->edges[4 * e + 1];
        if (skin->bend[e] != TD_EDGE_SHARP)
            continue;
        bool in = true;
        for (int k = 0; k < 3; k++)
            in &= ((a[k] <= box->max[k] + beyond) | (b[k] <= box->max[k] + beyond)) &
                  ((a[k] >= box->min[k] - beyond) | (b[k] >= box->min[k] - beyond));
        if (in)
            out[n++] = e;
    }
    return n;
}

static void meet_leaves(tdSkins *s, int32_t i, int32_t j)
{
    const tdBvhNode *a = &s->skin[0]->bvh.nodes[i], *b = &s->skin[1]->bvh.nodes[j];
    const tdBox *box_a = &s->at[0]->boxes[i], *box_b = &s->at[1]->boxes[j];
    bool same = s->self && i == j;
    vertices_on_leaf(s, 0, a, b, box_b);
    if (!same)
        vertices_on_leaf(s, s->self ? 0 : 1, b, a, box_a);
    int32_t first[3 * TD_LEAF_TRIS], second[3 * TD_LEAF_TRIS];
    int n = edges_in_box(s, 0, a, box_b, first), m = n > 0 ? edges_in_box(s, 1, b, box_a, second) : 0;
    for (int e = 0; e < n; e++)
        for (int f = same ? e + 1 : 0; f < m; f++)
            cross_edges(s, first[e], second[f]);
}

// Whether normals of the two nodes can oppose each other: the least product over both boxes is not positive.
static bool may_face(const tdBox *a, const tdBox *b)
{
    float least = 0;
    for (int k = 0; k < 3; k++)
    {
        float p = fminf(a->min[k] * b->min[k], a->min[k] * b->max[k]);
        float q = fminf(a->max[k] * b->min[k], a->max[k] * b->max[k]);
        least += fminf(p, q);
    }
    return least <= 0;
}

static void walk_trees(tdSkins *s)
{
    int32_t stack[4 * TD_BVH_DEPTH][2], n = 0;
    const tdBox *boxes[2] = {s->at[0]->boxes, s->at[1]->boxes};
    stack[n][0] = stack[n][1] = 0;
    n++;
    while (n > 0)
    {
        n--;
        int32_t i = stack[n][0], j = stack[n][1];
        if (s->self ? !may_face(&s->at[0]->facing[i], &s->at[0]->facing[j]) : false)
            continue;
        if (!td_boxes_meet(&boxes[0][i], &boxes[1][j]))
            continue;
        const tdBvhNode *a = &s->skin[0]->bvh.nodes[i], *b = &s->skin[1]->bvh.nodes[j];
        if (a->right == 0 && b->right == 0)
        {
            meet_leaves(s, i, j);
            continue;
        }
        if (s->self && i == j)
        {
            const int32_t pairs[3][2] = {{i + 1, i + 1}, {a->right, a->right}, {i + 1, a->right}};
            memcpy(stack[n], pairs, sizeof pairs);
            n += 3;
            continue;
        }
        // The larger box is opened.
        bool first = b->right == 0 || (a->right != 0 && td_box_size(&boxes[0][i]) >= td_box_size(&boxes[1][j]));
        stack[n][0] = first ? a->right : i;
        stack[n][1] = first ? j : b->right;
        n++;
        stack[n][0] = first ? i + 1 : i;
        stack[n][1] = first ? j : j + 1;
        n++;
    }
}

void td_meet_skins(tdNarrow *narrow, int32_t a, int32_t b)
{
    const tdCollider *colliders = narrow->world->colliders;
    const tdPlaced *placed = narrow->state->placed;
    tdSkins s = {.narrow = narrow,
                 .id = {a, b},
                 .skin = {colliders[a].skin, colliders[b].skin},
                 .at = {&placed[a], &placed[b]},
                 .self = a == b};
    s.allowed = narrow->world->margin + narrow->sweep;
    s.reach = 0.5 * (placed[a].reach + placed[b].reach) + narrow->sweep;
    tdPiece *piece = narrow->piece;
    piece->n_candidates = 0;
    walk_trees(&s);
    sort_candidates(piece->candidates, piece->n_candidates);
    for (int64_t i = 0; i < piece->n_candidates; i++)
    {
        const tdCandidate *c = &piece->candidates[i];
        if (i == 0 || c->vert != c[-1].vert || c->region >> 3 != c[-1].region >> 3)
            add_vertex(&s, c);
    }
}
