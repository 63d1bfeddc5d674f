// SPDX-License-Identifier: Apache-2.0
#include "collide/gjk.h"

#include "collide/geometry.h"

#include <string.h>

#define STEPS     100
#define MOST_VERT 160
#define MOST_FACE (2 * MOST_VERT)

/// A support point of A - B with the points it comes from.
typedef struct tdCorner
{
    double w[3], a[3], b[3];
} tdCorner;

typedef struct tdTwo
{
    const tdShape *A, *B;
    const tdPose *pose;
    double size; ///< of A - B, for tolerances
} tdTwo;

static void corner_along(const tdTwo *two, const double d[3], tdCorner *out)
{
    double local[3], back[3] = {-d[0], -d[1], -d[2]}, p[3];
    td_shape_support(two->A, d, out->a);
    td_turn_back(two->pose, back, local);
    td_shape_support(two->B, local, p);
    td_place(two->pose, p, out->b);
    td_subtract3(out->a, out->b, out->w);
}

// ---------------------------------------------------------------- apart

typedef struct tdSimplex
{
    int n;
    tdCorner c[4];
    double weight[4];
} tdSimplex;

static void keep_corners(tdSimplex *s, const int *which, const double *weight, int n)
{
    tdSimplex old = *s;
    s->n = 0;
    for (int i = 0; i < n; i++)
        if (weight[i] > 0)
        {
            s->c[s->n] = old.c[which[i]];
            s->weight[s->n++] = weight[i];
        }
}

#define FLAT 1e-12 // of its size: a tetrahedron of which rounding decides which side is which

// Reduces the simplex to the corners around its point nearest to the origin. False: the origin is inside.
static bool reduce(tdSimplex *s)
{
    static const double origin[3] = {0, 0, 0};
    static const int faces[4][4] = {{0, 1, 2, 3}, {0, 3, 1, 2}, {0, 2, 3, 1}, {1, 3, 2, 0}}; // and the corner opposite
    if (s->n == 1)
    {
        s->weight[0] = 1;
        return true;
    }
    if (s->n == 2)
    {
        double t = td_nearest_on_segment(origin, s->c[0].w, s->c[1].w), w[2] = {1 - t, t};
        keep_corners(s, faces[0], w, 2);
        return true;
    }
    if (s->n == 3)
    {
        double w[3];
        td_nearest_on_triangle(origin, s->c[0].w, s->c[1].w, s->c[2].w, w);
        keep_corners(s, faces[0], w, 3);
        return true;
    }
    double best = INFINITY, weight[3] = {1, 0, 0};
    int face = -1;
    for (int f = 0; f < 4; f++)
    {
        const double *a = s->c[faces[f][0]].w, *b = s->c[faces[f][1]].w, *c = s->c[faces[f][2]].w;
        double ab[3], ac[3], ad[3], n[3], w[3], p[3];
        td_subtract3(b, a, ab);
        td_subtract3(c, a, ac);
        td_subtract3(s->c[faces[f][3]].w, a, ad);
        td_cross3(ab, ac, n);
        double mine = -td_dot3(n, a), other = td_dot3(n, ad);
        bool flat = other * other <= FLAT * FLAT * td_dot3(n, n) * td_dot3(ad, ad);
        if (mine * other > 0 && !flat)
            continue; // on the same side as the fourth corner; a flat tetrahedron has no such side
        td_nearest_on_triangle(origin, a, b, c, w);
        td_mix3(a, b, c, w, p);
        if (td_dot3(p, p) < best)
        {
            best = td_dot3(p, p);
            face = f;
            memcpy(weight, w, sizeof w);
        }
    }
    if (face < 0)
        return false;
    keep_corners(s, faces[face], weight, 3);
    return true;
}

typedef enum tdOutcome
{
    APART,
    OVERLAP,
    OUT_OF_REACH
} tdOutcome;

static tdOutcome nearest_apart(const tdTwo *two, double reach, tdNearest *out)
{
    tdSimplex s = {.n = 1};
    double v[3], best = INFINITY;
    for (int k = 0; k < 3; k++)
        v[k] = -two->pose->t[k];
    if (!(td_dot3(v, v) > 0))
        v[0] = 1;
    double d[3] = {-v[0], -v[1], -v[2]};
    corner_along(two, d, &s.c[0]);
    memcpy(v, s.c[0].w, sizeof v);
    s.weight[0] = 1;
    for (int step = 0; step < STEPS; step++)
    {
        double square = td_dot3(v, v);
        if (square <= 1e-20 * two->size * two->size)
            return OVERLAP;
        if (square >= best) // no progress is left in this precision
            break;
        best = square;
        tdCorner w;
        for (int k = 0; k < 3; k++)
            d[k] = -v[k];
        corner_along(two, d, &w);
        double bound = td_dot3(v, w.w);
        if (bound > 0 && bound * bound > reach * reach * square)
        {
            double length = sqrt(square);
            for (int k = 0; k < 3; k++)
                out->n[k] = -v[k] / length;
            out->phi = bound / length;
            return OUT_OF_REACH;
        }
        if (square - bound <= 1e-12 * square)
            break;
        s.c[s.n++] = w;
        if (!reduce(&s))
            return OVERLAP;
        v[0] = v[1] = v[2] = 0;
        for (int i = 0; i < s.n; i++)
            td_along3(v, s.weight[i], s.c[i].w, v);
    }
    double a[3] = {0}, b[3] = {0}, total = 0;
    for (int i = 0; i < s.n; i++)
    {
        td_along3(a, s.weight[i], s.c[i].a, a);
        td_along3(b, s.weight[i], s.c[i].b, b);
        total += s.weight[i];
    }
    for (int k = 0; k < 3; k++)
    {
        out->a[k] = a[k] / total;
        out->b[k] = b[k] / total;
    }
    td_subtract3(out->b, out->a, out->n);
    out->phi = td_unit3(out->n, 0);
    return out->phi > 1e-10 * two->size ? APART : OVERLAP;
}

// ---------------------------------------------------------------- overlapping

typedef struct tdPolyFace
{
    int v[3], next_to[3];
    double n[3], d;
    bool alive, seen;
} tdPolyFace;

typedef struct tdPolytope
{
    int n_verts, n_faces, n_horizon, n_free;
    tdCorner vert[MOST_VERT];
    tdPolyFace face[MOST_FACE];
    int horizon[MOST_FACE][2], seen[MOST_FACE], n_seen, free_face[MOST_FACE];
} tdPolytope;

static int poly_face(tdPolytope *p, int a, int b, int c)
{
    if (p->n_free == 0 && p->n_faces == MOST_FACE)
        return -1;
    int me = p->n_free > 0 ? p->free_face[--p->n_free] : p->n_faces++;
    tdPolyFace *f = &p->face[me];
    *f = (tdPolyFace){.v = {a, b, c}, .next_to = {-1, -1, -1}, .alive = true};
    double u[3], v[3];
    td_subtract3(p->vert[b].w, p->vert[a].w, u);
    td_subtract3(p->vert[c].w, p->vert[a].w, v);
    td_cross3(u, v, f->n);
    // A face without area has no normal; it is never the nearest.
    if (td_unit3(f->n, 1e-300) > 1e-300)
        f->d = td_dot3(f->n, p->vert[a].w);
    else
        f->d = INFINITY;
    return me;
}

// Four support points that span a volume.
static bool poly_start(const tdTwo *two, tdPolytope *p)
{
    static const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    double least = 1e-9 * two->size, d[3], u[3], v[3];
    p->n_verts = p->n_faces = p->n_free = 0;
    corner_along(two, axes[0], &p->vert[0]);
    for (int k = 0; k < 3; k++)
        d[k] = -axes[0][k];
    corner_along(two, d, &p->vert[1]);
    td_subtract3(p->vert[1].w, p->vert[0].w, u);
    if (!(td_unit3(u, least) > least))
        return false;
    td_across3(u, d);
    for (int turn = 0; turn < 4; turn++) // until one is off the line
    {
        corner_along(two, d, &p->vert[2]);
        double w[3], along[3];
        td_subtract3(p->vert[2].w, p->vert[0].w, w);
        td_cross3(u, w, along);
        if (td_length3(along) > 1e-3 * two->size || turn == 3)
        {
            if (!(td_length3(along) > least))
                return false;
            break;
        }
        td_cross3(u, d, v);
        memcpy(d, v, sizeof d);
    }
    td_subtract3(p->vert[2].w, p->vert[0].w, v);
    td_cross3(u, v, d);
    td_unit3(d, 0);
    corner_along(two, d, &p->vert[3]);
    td_subtract3(p->vert[3].w, p->vert[0].w, v);
    double above = td_dot3(v, d);
    tdCorner other;
    for (int k = 0; k < 3; k++)
        d[k] = -d[k];
    corner_along(two, d, &other);
    td_subtract3(other.w, p->vert[0].w, v);
    double below = td_dot3(v, d);
    if (below > above)
        p->vert[3] = other;
    if (!(fmax(below, above) > least))
        return false;
    // Normal of 0 1 2 is +d before it was turned round; the base must look away from the top.
    int q = below > above ? 1 : 2, r = 3 - q;
    p->n_verts = 4;
    const int corners[4][3] = {{0, q, r}, {0, 3, q}, {q, 3, r}, {r, 3, 0}};
    static const int around[4][3] = {{1, 2, 3}, {3, 2, 0}, {1, 3, 0}, {2, 1, 0}};
    for (int f = 0; f < 4; f++)
    {
        poly_face(p, corners[f][0], corners[f][1], corners[f][2]);
        memcpy(p->face[f].next_to, around[f], sizeof around[f]);
    }
    return true;
}

static bool poly_horizon(tdPolytope *p, const double *w, double tolerance, int face, int from)
{
    p->face[face].seen = true;
    p->seen[p->n_seen++] = face;
    for (int i = 0; i < 3; i++)
    {
        int k = (from + i) % 3, other = p->face[face].next_to[k], back = 0;
        if (p->face[other].seen)
            continue;
        while (p->face[other].next_to[back] != face || p->face[other].v[back] != p->face[face].v[(k + 1) % 3])
            if (++back == 3)
                return false;
        const tdPolyFace *o = &p->face[other];
        if (o->d == INFINITY || td_dot3(o->n, w) - o->d > -tolerance)
        {
            if (!poly_horizon(p, w, tolerance, other, back))
                return false;
            continue;
        }
        p->horizon[p->n_horizon][0] = other;
        p->horizon[p->n_horizon++][1] = back;
    }
    return true;
}

// False when the polytope cannot grow: it is full, or rounding spoils it. What stands then is the answer.
static bool poly_grow(tdPolytope *p, const tdCorner *w, double tolerance, int face)
{
    if (p->n_verts == MOST_VERT)
        return false;
    p->n_horizon = p->n_seen = 0;
    bool good = poly_horizon(p, w->w, tolerance, face, 0) && p->n_horizon >= 3 &&
                p->n_faces - p->n_free - p->n_seen + p->n_horizon <= MOST_FACE;
    for (int i = 0; i < p->n_horizon && good; i++) // one loop
    {
        const int *h = p->horizon[i], *next = p->horizon[(i + 1) % p->n_horizon];
        good = p->face[h[0]].v[h[1]] == p->face[next[0]].v[(next[1] + 1) % 3];
    }
    for (int i = 0; i < p->n_seen; i++)
        p->face[p->seen[i]].seen = false;
    if (!good)
        return false;
    for (int i = p->n_seen - 1; i >= 0; i--)
    {
        p->face[p->seen[i]].alive = false;
        p->free_face[p->n_free++] = p->seen[i];
    }
    int top = p->n_verts++, made[MOST_FACE];
    p->vert[top] = *w;
    for (int i = 0; i < p->n_horizon; i++)
    {
        const int *h = p->horizon[i];
        made[i] = poly_face(p, p->face[h[0]].v[(h[1] + 1) % 3], p->face[h[0]].v[h[1]], top);
        p->face[made[i]].next_to[0] = h[0];
        p->face[h[0]].next_to[h[1]] = made[i];
    }
    for (int i = 0; i < p->n_horizon; i++)
    {
        p->face[made[i]].next_to[1] = made[(i + 1) % p->n_horizon];
        p->face[made[i]].next_to[2] = made[(i + p->n_horizon - 1) % p->n_horizon];
    }
    return true;
}

static int nearest_face(const tdPolytope *p)
{
    int best = -1;
    for (int f = 0; f < p->n_faces; f++)
        if (p->face[f].alive && (best < 0 || p->face[f].d < p->face[best].d))
            best = f;
    return best;
}

static bool deepest(const tdTwo *two, tdNearest *out)
{
    static const double origin[3] = {0, 0, 0};
    tdPolytope p;
    if (!poly_start(two, &p))
        return false;
    // The depth is at least the distance of the nearest face and at most that of the support along its normal. The
    // least of the latter is the answer: moved by it along that normal, the shapes are apart for certain.
    double least = INFINITY;
    for (int step = 0; step < MOST_VERT; step++)
    {
        int face = nearest_face(&p);
        const tdPolyFace *f = &p.face[face];
        tdCorner w;
        if (!(f->d < INFINITY))
            break;
        corner_along(two, f->n, &w);
        double most = td_dot3(f->n, w.w), gain = most - f->d;
        if (most < least)
        {
            const tdCorner *a = &p.vert[f->v[0]], *b = &p.vert[f->v[1]], *c = &p.vert[f->v[2]];
            double weight[3];
            least = most;
            td_nearest_on_triangle(origin, a->w, b->w, c->w, weight);
            td_mix3(a->a, b->a, c->a, weight, out->a);
            td_mix3(a->b, b->b, c->b, weight, out->b);
            memcpy(out->n, f->n, sizeof out->n);
        }
        if (gain <= 1e-10 * two->size || !poly_grow(&p, &w, 1e-12 * two->size, face))
            break;
    }
    out->phi = -least;
    for (int k = 0; k < 3; k++)
    {
        double middle = 0.5 * (out->a[k] + out->b[k]);
        out->a[k] = middle + 0.5 * least * out->n[k];
        out->b[k] = middle - 0.5 * least * out->n[k];
    }
    return isfinite(least);
}

bool td_nearest_convex(const tdShape *A, const tdShape *B, const tdPose *b, double reach, tdNearest *out)
{
    tdTwo two = {A, B, b, 0};
    tdBoxes boxes =
        A->type == TD_SHAPE_BOX && B->type == TD_SHAPE_BOX ? td_nearest_boxes(A, B, b, reach, out) : TD_BOXES_UNKNOWN;
    if (boxes != TD_BOXES_UNKNOWN)
        return boxes == TD_BOXES_FOUND;
    tdPose identity = td_pose_identity();
    double box[6], other[6];
    td_shape_bounds(A, &identity, box);
    td_shape_bounds(B, &identity, other);
    two.size = sqrt(td_square_between(box, box + 3)) + sqrt(td_square_between(other, other + 3));
    tdOutcome outcome = nearest_apart(&two, reach, out);
    if (outcome == OVERLAP)
        return deepest(&two, out);
    return outcome == APART && out->phi <= reach;
}
