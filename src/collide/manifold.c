// SPDX-License-Identifier: Apache-2.0
// Contacts of boxes, cylinders and hulls with each other. Nearest or deepest points give the normal; then the face of
// one that looks most along it is clipped by the face of the other (Sutherland and Hodgman 1974), in projection along
// the normal, so that no corner of the common polygon is deeper than the deepest points. Each corner is named after the
// edges and corners it comes from.
#include "collide/gjk.h"
#include "collide/internal.h"

#include <string.h>

#define PI         3.14159265358979323846
#define MOST_SIDES 64
#define RIM        16

// Names: whose corner it is, in the bits above the numbers.
#define NAME_CLIPPED (1U << 27) // on the side whose polygon was clipped
#define NAME_CROSS   (1U << 26) // where two edges cross
#define NAME_OTHER   (1U << 25) // corner of the polygon that clips

typedef struct tdPolygon
{
    int n; ///< 2: the line on which a cylinder lies
    double x[MOST_SIDES][3];
    uint32_t name[MOST_SIDES];
    double normal[3];
} tdPolygon;

/// A corner while polygons are clipped; `along` is the edge that follows: a side of the polygon, or one of the other's.
typedef struct tdClip
{
    double x[3];
    uint32_t mine, other; ///< name
    uint32_t along;
    bool along_other;
} tdClip;

// ---------------------------------------------------------------- faces

static void hull_face(const tdHull *hull, const tdPose *pose, const double d[3], tdPolygon *out)
{
    int best = 0;
    for (int f = 1; f < hull->n_faces; f++)
        if (td_dot3(hull->plane + 4 * f, d) > td_dot3(hull->plane + 4 * best, d))
            best = f;
    int first = hull->first[best], n = hull->first[best + 1] - first, step = (n + MOST_SIDES - 1) / MOST_SIDES;
    out->n = 0;
    for (int i = 0; i < n; i += step)
    {
        out->name[out->n] = (uint32_t)hull->corner[first + i];
        td_place(pose, hull->x + 3 * hull->corner[first + i], out->x[out->n++]);
    }
    td_turn(pose, hull->plane + 4 * best, out->normal);
}

static void cylinder_face(const tdShape *shape, const tdPose *pose, const double d[3], tdPolygon *out)
{
    double across = sqrt(d[0] * d[0] + d[1] * d[1]), s = d[2] >= 0 ? 1 : -1;
    if (fabs(d[2]) > across)
    {
        out->n = RIM;
        for (int i = 0; i < RIM; i++)
        {
            int at = s > 0 ? i : RIM - 1 - i;
            double angle = 2 * PI * at / RIM;
            double p[3] = {shape->radius * cos(angle), shape->radius * sin(angle), s * shape->half[2]};
            td_place(pose, p, out->x[i]);
            out->name[i] = (uint32_t)(at + (s > 0 ? RIM : 0));
        }
        double end[3] = {0, 0, s};
        td_turn(pose, end, out->normal);
        return;
    }
    double side[3] = {d[0] / across, d[1] / across, 0};
    out->n = 2;
    for (int i = 0; i < 2; i++)
    {
        double p[3] = {shape->radius * side[0], shape->radius * side[1], i == 0 ? -shape->half[2] : shape->half[2]};
        td_place(pose, p, out->x[i]);
        out->name[i] = (uint32_t)(2 * RIM + i);
    }
    td_turn(pose, side, out->normal);
}

// The face of a collider that looks most along the world direction d.
static void face_along(const tdNarrow *narrow, int32_t body, const double d[3], tdPolygon *out)
{
    const tdCollider *c = &narrow->world->colliders[body];
    const tdPose *pose = &narrow->state->placed[body].pose;
    double local[3];
    td_turn_back(pose, d, local);
    if (c->hull != NULL)
        hull_face(c->hull, pose, local, out);
    else
        cylinder_face(&c->shape, pose, local, out);
}

// ---------------------------------------------------------------- clipping

static void cross_at(const tdClip *from, const tdClip *to, double inside, double outside, uint32_t side, tdClip *out)
{
    double t = inside / (inside - outside);
    for (int k = 0; k < 3; k++)
        out->x[k] = from->x[k] + t * (to->x[k] - from->x[k]);
    out->other = side;
    out->mine = from->along_other ? NAME_OTHER | from->along : NAME_CROSS | from->along;
}

// Keeps what is on the inner side of the plane through p with the outward normal m.
static int clip(const tdClip *in, int n, bool closed, const double p[3], const double m[3], uint32_t side, tdClip *out)
{
    int kept = 0;
    for (int i = 0; i < n; i++)
    {
        const tdClip *a = &in[i], *b = &in[(i + 1) % n];
        double da[3], db[3];
        td_subtract3(a->x, p, da);
        td_subtract3(b->x, p, db);
        double fa = td_dot3(m, da), fb = td_dot3(m, db);
        if (fa <= 0)
            out[kept++] = *a;
        if ((fa <= 0) == (fb <= 0) || (!closed && i + 1 == n))
            continue;
        tdClip *c = &out[kept++];
        cross_at(a, b, fa, fb, side, c);
        // On the way out the other's side follows; on the way in the rest of this edge.
        c->along_other = fa <= 0 ? true : a->along_other;
        c->along = fa <= 0 ? side : a->along;
    }
    return kept;
}

// Corners of the part of `cut` that lies over `by` in the direction n. Returns their number.
static int clip_polygon(const tdPolygon *cut, const tdPolygon *by, const double n[3], tdClip *out)
{
    tdClip buffer[2 * MOST_SIDES + 4];
    int count = cut->n;
    for (int i = 0; i < count; i++)
    {
        memcpy(out[i].x, cut->x[i], sizeof out[i].x);
        out[i] = (tdClip){.x = {cut->x[i][0], cut->x[i][1], cut->x[i][2]}, .mine = cut->name[i], .along = cut->name[i]};
    }
    double s = td_dot3(by->normal, n) > 0 ? 1 : -1;
    for (int j = 0; j < by->n && count > 0; j++)
    {
        double edge[3], m[3];
        td_subtract3(by->x[(j + 1) % by->n], by->x[j], edge);
        td_cross3(edge, n, m);
        for (int k = 0; k < 3; k++)
            m[k] *= s;
        count = clip(out, count, cut->n > 2, by->x[j], m, by->name[j], buffer);
        count = count > 2 * MOST_SIDES ? 2 * MOST_SIDES : count;
        memcpy(out, buffer, (size_t)count * sizeof *out);
    }
    return count;
}

// ---------------------------------------------------------------- contacts

static void add_spot(tdNarrow *narrow, int32_t a, int32_t b, tdContactKind kind, const tdSpot *spot, const double n[3],
                     const double p[3], const double q[3])
{
    tdMeet meet = {.kind = kind, .phi = spot->phi, .name = {spot->name[0], spot->name[1]}};
    meet.s[0].collider = a;
    meet.s[1].collider = b;
    meet.s[0].feature = (int32_t)(spot->name[0] & (NAME_OTHER - 1));
    meet.s[1].feature = (int32_t)(spot->name[1] & (NAME_OTHER - 1));
    memcpy(meet.n, n, sizeof meet.n);
    memcpy(meet.p[0], p, sizeof meet.p[0]);
    memcpy(meet.p[1], q, sizeof meet.p[1]);
    td_meet_add(narrow, &meet);
}

// Two cylinders side by side touch along a line: its ends. Returns the least distance among them.
static double add_parallel(tdNarrow *narrow, int32_t a, int32_t b, const tdPolygon *A, const tdPolygon *B,
                           const double n[3])
{
    double u[3], v[3], turn[3], least = INFINITY;
    td_subtract3(A->x[1], A->x[0], u);
    td_subtract3(B->x[1], B->x[0], v);
    double lu = td_length3(u), lv = td_length3(v);
    td_cross3(u, v, turn);
    if (td_length3(turn) > 0.1 * lu * lv)
        return INFINITY;
    for (int i = 0; i < 4; i++) // the ends of A over B, then those of B over A
    {
        const double *end = i < 2 ? A->x[i] : B->x[i - 2], *from = i < 2 ? B->x[0] : A->x[0], *way = i < 2 ? v : u;
        double d[3], other[3], length = i < 2 ? lv : lu;
        td_subtract3(end, from, d);
        double t = td_dot3(d, way) / (length * length);
        if (t < 0 || t > 1)
            continue;
        td_along3(from, t, way, other);
        const double *p = i < 2 ? end : other, *q = i < 2 ? other : end;
        td_subtract3(q, p, d);
        tdSpot spot = {.name = {(uint32_t)i, 0}, .phi = td_dot3(d, n)};
        least = fmin(least, spot.phi);
        add_spot(narrow, a, b, TD_CONTACT_CLIPPED, &spot, n, p, q);
    }
    return least;
}

// Corners of the common polygon; returns the least distance among them.
static double add_polygon(tdNarrow *narrow, int32_t a, int32_t b, const tdPolygon *A, const tdPolygon *B,
                          const double n[3])
{
    double look_a = td_dot3(A->normal, n), look_b = -td_dot3(B->normal, n), least = INFINITY;
    // Between faces that look alike A clips, so that the choice does not flicker.
    bool by_a = B->n == 2 || (A->n > 2 && look_a >= look_b - 1e-3);
    if (A->n == 2 && B->n == 2)
        return add_parallel(narrow, a, b, A, B, n);
    const tdPolygon *by = by_a ? A : B, *cut = by_a ? B : A;
    if ((by_a ? look_a : look_b) < 0.2)
        return INFINITY;
    tdClip corners[2 * MOST_SIDES + 4];
    tdSpot spots[2 * MOST_SIDES];
    int count = clip_polygon(cut, by, n, corners), found = 0;
    double slope = td_dot3(by->normal, n), allowed = narrow->world->margin + narrow->sweep;
    for (int i = 0; i < count; i++)
    {
        double d[3];
        td_subtract3(corners[i].x, by->x[0], d);
        double phi = td_dot3(by->normal, d) / slope * (by_a ? 1 : -1);
        if (phi > allowed)
            continue;
        tdSpot *spot = &spots[found++];
        *spot = (tdSpot){.phi = phi};
        spot->name[by_a ? 0 : 1] = corners[i].other;
        spot->name[by_a ? 1 : 0] = NAME_CLIPPED | corners[i].mine;
        memcpy(spot->q, corners[i].x, sizeof spot->q);
    }
    // Directions turn with the rounder of the two.
    const tdPose *pose = &narrow->state->placed[A->n > B->n ? a : b].pose;
    found = td_spread_out(spots, found, pose, n, 0.01 * narrow->world->margin);
    for (int i = 0; i < found; i++)
    {
        double p[3];
        least = fmin(least, spots[i].phi);
        td_along3(spots[i].q, by_a ? -spots[i].phi : spots[i].phi, n, p);
        add_spot(narrow, a, b, TD_CONTACT_CLIPPED, &spots[i], n, by_a ? p : spots[i].q, by_a ? spots[i].q : p);
    }
    return least;
}

void td_meet_faces(tdNarrow *narrow, int32_t a, int32_t b)
{
    const tdCollider *c = narrow->world->colliders;
    const tdPose *pose = &narrow->state->placed[a].pose, *other = &narrow->state->placed[b].pose;
    tdPose between = {.t = {0}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            between.R[3 * i + j] =
                pose->R[i] * other->R[j] + pose->R[3 + i] * other->R[3 + j] + pose->R[6 + i] * other->R[6 + j];
    td_place_back(pose, other->t, between.t);
    tdNearest nearest;
    narrow->piece->looked_at++;
    if (!td_nearest_convex(&c[a].shape, &c[b].shape, &between, narrow->world->margin + narrow->sweep, &nearest))
        return;
    double n[3], back[3], p[3], q[3];
    td_turn(pose, nearest.n, n);
    td_place(pose, nearest.a, p);
    td_place(pose, nearest.b, q);
    for (int k = 0; k < 3; k++)
        back[k] = -n[k];
    tdPolygon A, B;
    face_along(narrow, a, n, &A);
    face_along(narrow, b, back, &B);
    double least = add_polygon(narrow, a, b, &A, &B, n);
    if (least <= nearest.phi + 0.01 * narrow->world->margin)
        return;
    tdSpot spot = {.phi = nearest.phi};
    add_spot(narrow, a, b, TD_CONTACT_NEAREST, &spot, n, p, q);
}
