// SPDX-License-Identifier: Apache-2.0
// Where a robot touches shapes that stand still, by the CPU's rules (collide/skin_convex.c): the centre of a ball, ends
// of a capsule and corners of a box on the nearest triangle, and on others around it; edges of the surface across the
// axis of a capsule and the edges of a box; and all of it.
#pragma once
#include "gpu/meet_point.h"

// ---------------------------------------------------------------- corners and edges of shapes

/// Point `corner` of a shape in the world: the centre of a ball, an end of a capsule, a corner of a box; of a box also
/// the ways of its edges from there.
TD_BOTH void td_shape_corner(const tdGpuShape *shape, int corner, double *p, double *ways)
{
    double local[3];
    for (int c = 0; c < 3; c++)
    {
        double side = shape->type == TD_GPU_CAPSULE ? (corner == 0 ? -1 : 1) : (corner >> c & 1) != 0 ? 1 : -1;
        local[c] = side * shape->half[c]; // of a ball they are zero
        for (int k = 0; k < 3; k++)
            ways[3 * c + k] = -side * shape->R[3 * k + c];
    }
    td_turn3(shape->R, local, p);
    for (int c = 0; c < 3; c++)
        p[c] += shape->t[c];
}

/// The weights of the point of a triangle nearest to p, its region, the point; returns the square of its distance.
TD_BOTH double td_meet_point(const tdTouchWork *work, int triangle, const double *p, double *w, int *region, double *on)
{
    double square = td_meet_nearest(work, triangle, p, w, region);
    for (int c = 0; c < 3; c++)
        on[c] = w[0] * td_meet_corner(work, triangle, 0)[c] + w[1] * td_meet_corner(work, triangle, 1)[c] +
                w[2] * td_meet_corner(work, triangle, 2)[c];
    return square;
}

/// Where a corner of a shape meets a triangle.
typedef struct tdCornerMeets
{
    int triangle, region;
    bool plane; ///< its plane counts, not its nearest point
    double w[3], on[3];
} tdCornerMeets;

/// Distance and normal of that (meet_corner of collide/skin_convex.c); part: one of many that a round corner meets.
TD_BOTH bool td_meet_meets(const tdTouchWork *work, const tdGpuShape *shape, const double *p, const tdCornerMeets *at,
                           bool part, tdMeeting *out)
{
    const tdGpuTriangle *list = TD_GPU_ARRAY(work->plan, tdGpuTriangle, triangle);
    double normal[3], way[3], phi;
    if (at->plane)
    {
        td_meet_normal(work, at->triangle, normal);
        td_gpu_from3(p, at->on, way);
        phi = td_gpu_dot3(normal, way);
    }
    else if (!td_meet_side(work, at->triangle, at->region, p, at->on, normal, &phi))
        return false;
    if (part && phi < 0)
        return false;
    for (int c = 0; c < 3; c++)
    {
        out->points[c] = list[at->triangle].corner[c];
        out->shares[c] = at->w[c];
        out->normal[c] = -normal[c];
    }
    out->phi = phi - shape->radius;
    return true;
}

/// The same as a contact, of the first lane; in all lanes. False: they do not meet.
TD_BOTH bool td_meet_one(const tdTouchWork *work, const tdMeetState *state, int s, const double *p,
                         const tdCornerMeets *at, int *found)
{
    const tdGpuPlan *plan = work->plan;
    const tdGpuShape *shape = TD_GPU_ARRAY(plan, tdGpuShape, shape) + s;
    tdMeeting meeting = {{0, -1, -1}, {1, 0, 0}, INFINITY, {0, 0, 1}};
    double y[3];
    if (!td_meet_meets(work, shape, p, at, false, &meeting))
        return false;
    double phi = meeting.phi + shape->radius;
    if (phi < -plan->margin && td_meet_outside(work, p, -phi))
        return false;
    td_touch_mean(plan, TD_GPU_ARRAY(plan, double, touch_rest), meeting.points, meeting.shares, state->q, y);
    td_meet_keep(work, state, s, work->lanes.lane == 0 && td_meet_comes(work, state, &meeting, y), &meeting, y, found);
    return true;
}

/// Whether two regions of triangles are one part of the surface: the inside of one triangle, or one edge.
TD_BOTH bool td_meet_same(const tdGpuTriangle *list, int triangle, int region, int other, int its)
{
    if (region < 3 || its < 3 || (region == 6) != (its == 6))
        return false;
    if (triangle == other)
        return region == its;
    if (region == 6)
        return false;
    int k = region - 3, l = its - 3;
    return list[triangle].across[k] == other && list[other].across[l] == triangle &&
           list[triangle].corner[k] == list[other].corner[(l + 1) % 3];
}

/// Parts of the surface that a round corner is nearest to in their surroundings (round_corner of
/// collide/skin_convex.c).
TD_BOTH void td_meet_round(const tdTouchWork *work, const tdMeetState *state, int s, const double *p,
                           const tdCornerMeets *nearest, int *found)
{
    const tdGpuPlan *plan = work->plan;
    const tdGpuShape *shape = TD_GPU_ARRAY(plan, tdGpuShape, shape) + s;
    const tdGpuTriangle *list = TD_GPU_ARRAY(plan, tdGpuTriangle, triangle);
    tdLanes lanes = work->lanes;
    int rounds = (plan->triangles + lanes.n - 1) / lanes.n;
    double far_ = state->reach + shape->radius;
    for (int k = 0; k < rounds; k++)
    {
        int t = k * lanes.n + lanes.lane;
        tdMeeting meeting = {{0, -1, -1}, {1, 0, 0}, INFINITY, {0, 0, 1}};
        tdCornerMeets at = {t, 0, false, {1, 0, 0}, {0, 0, 0}};
        double y[3] = {0, 0, 0};
        bool meets = t < plan->triangles && td_meet_point(work, t, p, at.w, &at.region, at.on) <= far_ * far_ &&
                     at.region >= 3 && !td_meet_same(list, t, at.region, nearest->triangle, nearest->region);
        if (meets && at.region == 6)
            meets = at.w[0] > 1e-6 && at.w[1] > 1e-6 && at.w[2] > 1e-6;
        else if (meets && list[t].across[at.region - 3] >= 0)
        {
            int across = list[t].across[at.region - 3], its;
            double w[3];
            td_meet_nearest(work, across, p, w, &its);
            meets = t < across && td_meet_same(list, t, at.region, across, its);
        }
        meets = meets && td_meet_meets(work, shape, p, &at, true, &meeting);
        if (meets)
        {
            td_touch_mean(plan, TD_GPU_ARRAY(plan, double, touch_rest), meeting.points, meeting.shares, state->q, y);
            meets = td_meet_comes(work, state, &meeting, y);
        }
        td_meet_keep(work, state, s, meets, &meeting, y, found);
    }
}

/// Whether two triangles at a side of the first are the walls of a groove; its: the normal of the second.
TD_BOTH bool td_meet_groove(const tdTouchWork *work, int triangle, int side, int across, double *its)
{
    double own[3], turn[3], way[3], rise = 0;
    td_meet_normal(work, triangle, own);
    td_meet_normal(work, across, its);
    td_gpu_cross3(own, its, turn);
    for (int k = 0; k < 3; k++)
    {
        td_gpu_from3(td_meet_corner(work, across, k), td_meet_corner(work, triangle, side), way);
        double up = td_gpu_dot3(own, way);
        rise = fabs(up) > fabs(rise) ? up : rise;
    }
    return td_gpu_dot3(turn, turn) > 0.02 * 0.02 && rise > 0;
}

/// Walls of grooves at the sides of a triangle, but for those at the sides of `known` (-1: none) and itself.
TD_BOTH void td_meet_walls(const tdTouchWork *work, const tdMeetState *state, int s, const double *p,
                           const double *ways, int triangle, int known, tdCornerMeets *nearest, int *found)
{
    const tdGpuTriangle *list = TD_GPU_ARRAY(work->plan, tdGpuTriangle, triangle);
    for (int side = 0; side < 3; side++)
    {
        tdCornerMeets at = {list[triangle].across[side], 0, true, {1, 0, 0}, {0, 0, 0}};
        double normal[3];
        if (at.triangle < 0 || at.triangle == known ||
            (known >= 0 && (list[known].across[0] == at.triangle || list[known].across[1] == at.triangle ||
                            list[known].across[2] == at.triangle)) ||
            !td_meet_groove(work, triangle, side, at.triangle, normal) || !td_meet_faces(normal, ways) ||
            td_meet_point(work, at.triangle, p, at.w, &at.region, at.on) > state->reach * state->reach)
            continue;
        nearest->plane = nearest->plane || (triangle == nearest->triangle && nearest->region == 3 + side);
        td_meet_one(work, state, s, p, &at, found);
    }
}

/// A sharp corner at the bottom of a groove touches both walls (groove_corner of collide/skin_convex.c).
TD_BOTH void td_meet_sharp(const tdTouchWork *work, const tdMeetState *state, int s, const double *p,
                           const double *ways, tdCornerMeets *nearest, int *found)
{
    const tdGpuTriangle *list = TD_GPU_ARRAY(work->plan, tdGpuTriangle, triangle);
    double w[3], normal[3];
    int its;
    if (nearest->region < 3)
        return;
    td_meet_walls(work, state, s, p, ways, nearest->triangle, -1, nearest, found);
    int twin = nearest->region == 6 ? -1 : list[nearest->triangle].across[nearest->region - 3];
    if (twin < 0)
        return;
    td_meet_nearest(work, twin, p, w, &its);
    td_meet_normal(work, twin, normal);
    if (td_meet_same(list, twin, its, nearest->triangle, nearest->region) && td_meet_faces(normal, ways))
        td_meet_walls(work, state, s, p, ways, twin, nearest->triangle, nearest, found);
}

TD_BOTH void td_meet_corners(const tdTouchWork *work, const tdMeetState *state, int s, int *found)
{
    const tdGpuPlan *plan = work->plan;
    const tdGpuShape *shape = TD_GPU_ARRAY(plan, tdGpuShape, shape) + s;
    int corners = shape->type == TD_GPU_SPHERE ? 1 : shape->type == TD_GPU_CAPSULE ? 2 : 8;
    double away = plan->depth + state->reach + shape->radius;
    for (int corner = 0; corner < corners; corner++)
    {
        double p[3], ways[9];
        tdCornerMeets nearest = {0, 0, false, {1, 0, 0}, {0, 0, 0}};
        td_shape_corner(shape, corner, p, ways);
        nearest.triangle = td_meet_search(work, p, away, shape->type == TD_GPU_BOX ? ways : NULL);
        if (nearest.triangle < 0)
            continue;
        td_meet_point(work, nearest.triangle, p, nearest.w, &nearest.region, nearest.on);
        if (shape->radius == 0)
            td_meet_sharp(work, state, s, p, ways, &nearest, found);
        if (td_meet_one(work, state, s, p, &nearest, found) && shape->radius > 0)
            td_meet_round(work, state, s, p, &nearest, found);
    }
}

/// Edge `number` of a shape in the world: its ends, and the normals of the faces beside it; of a capsule's axis zero.
TD_BOTH void td_shape_edge(const tdGpuShape *shape, int number, double *a, double *b, double *left, double *right)
{
    double local[3], unit[3], x[3], y[3];
    int along = shape->type == TD_GPU_CAPSULE ? 2 : number / 4, first = (along + 1) % 3, second = (along + 2) % 3;
    double one = (number & 1) != 0 ? 1 : -1, two = (number & 2) != 0 ? 1 : -1;
    for (int c = 0; c < 3; c++)
    {
        local[c] = c == along ? 0 : (c == first ? one : two) * shape->half[c];
        unit[c] = shape->R[3 * c + along];
        x[c] = one * shape->R[3 * c + first];
        y[c] = two * shape->R[3 * c + second];
    }
    td_turn3(shape->R, local, a);
    // The normal turns about the edge from left to right.
    bool turned = one * two > 0;
    for (int c = 0; c < 3; c++)
    {
        double middle = a[c] + shape->t[c], half = shape->half[along];
        a[c] = middle - half * unit[c];
        b[c] = middle + half * unit[c];
        left[c] = shape->type == TD_GPU_CAPSULE ? 0 : turned ? x[c] : y[c];
        right[c] = shape->type == TD_GPU_CAPSULE ? 0 : turned ? y[c] : x[c];
    }
}

/// Whether d is between the normals on both sides of an edge along t, or little past them (td_within_arc).
TD_BOTH bool td_meet_within(const double *left, const double *right, const double *t, double *d)
{
    double a[3], b[3];
    td_gpu_cross3(left, d, a);
    td_gpu_cross3(d, right, b);
    double past_left = -td_gpu_dot3(a, t), past_right = -td_gpu_dot3(b, t);
    if (past_left > 0.17 || past_right > 0.17 || td_gpu_dot3(left, d) + td_gpu_dot3(right, d) <= 0)
        return false;
    for (int c = 0; c < 3 && (past_left > 0 || past_right > 0); c++)
        d[c] = past_left > past_right ? left[c] : right[c];
    return true;
}

/// One edge of the surface across one of a shape (cross_edges of collide/skin_convex.c). False: they do not meet.
TD_BOTH bool td_meet_cross(const tdTouchWork *work, const tdMeetState *state, const tdGpuShape *shape,
                           const tdGpuEdge *edge, const double *c, const double *d, const double *left,
                           const double *right, tdMeeting *out)
{
    const tdGpuPlan *plan = work->plan;
    const double *a = work->place + 3 * (int64_t)edge->corner[0], *b = work->place + 3 * (int64_t)edge->corner[1];
    double u[3], v[3], r[3], along[3], axis[3], one[3], two[3], n[3], p[3], q[3], back[3], far_[3], way[3];
    td_gpu_from3(b, a, u);
    td_gpu_from3(d, c, v);
    td_gpu_from3(a, c, r);
    double uu = td_gpu_dot3(u, u), vv = td_gpu_dot3(v, v), uv = td_gpu_dot3(u, v), ur = td_gpu_dot3(u, r),
           vr = td_gpu_dot3(v, r), square = uu * vv - uv * uv;
    double at = square > 1e-14 * uu * vv ? fmin(fmax((uv * vr - ur * vv) / square, 0.0), 1.0) : 0,
           to = vv > 0 ? (uv * at + vr) / vv : 0;
    if (!(to >= 0 && to <= 1))
    {
        to = fmin(fmax(to, 0.0), 1.0);
        at = uu > 0 ? fmin(fmax((uv * to - ur) / uu, 0.0), 1.0) : 0;
    }
    if (!(uu > 0 && vv > 0) || square / (uu * vv) < 0.01 || at < 0.02 || at > 0.98 || to <= 0 || to >= 1)
        return false;
    for (int k = 0; k < 3; k++)
    {
        along[k] = u[k];
        axis[k] = v[k];
    }
    td_gpu_unit3(along);
    td_gpu_unit3(axis);
    td_gpu_cross3(along, axis, n);
    td_gpu_unit3(n);
    td_meet_normal(work, edge->beside[0], one);
    td_meet_normal(work, edge->beside[1] >= 0 ? edge->beside[1] : edge->beside[0], two);
    double side = td_gpu_dot3(n, one) + td_gpu_dot3(n, two) < 0 ? -1 : 1;
    for (int k = 0; k < 3; k++)
    {
        n[k] *= side;
        p[k] = (1 - at) * a[k] + at * b[k];
        q[k] = (1 - to) * c[k] + to * d[k];
        back[k] = -n[k];
    }
    if (!(shape->type == TD_GPU_CAPSULE || td_meet_within(left, right, axis, back)) ||
        !td_meet_within(one, two, along, n))
        return false;
    td_gpu_from3(q, p, way);
    double phi = td_gpu_dot3(n, way) - shape->radius, allowed = plan->margin + state->reach;
    if (phi > allowed || phi < -(plan->depth + state->reach) - shape->radius)
        return false;
    if (phi < 0 && td_shape_away(shape, p, far_) > 0.2 * phi + 1e-3 * plan->margin)
        return false;
    if (edge->bend == 0) // put_back of collide/skin_convex.c
    {
        double end = fmin(td_shape_away(shape, a, far_), td_shape_away(shape, b, far_)),
               put_back = fmax(0.0, phi + 0.1 * sqrt(uu) - end);
        if (end <= phi || put_back > allowed - phi)
            return false;
        phi += put_back;
    }
    out->points[0] = edge->corner[0];
    out->points[1] = edge->corner[1];
    out->points[2] = -1;
    out->shares[0] = 1 - at;
    out->shares[1] = at;
    out->shares[2] = 0;
    out->phi = phi;
    for (int k = 0; k < 3; k++)
        out->normal[k] = -n[k];
    return true;
}

TD_BOTH void td_meet_edges(const tdTouchWork *work, const tdMeetState *state, int s, int *found)
{
    const tdGpuPlan *plan = work->plan;
    const tdGpuShape *shape = TD_GPU_ARRAY(plan, tdGpuShape, shape) + s;
    tdLanes lanes = work->lanes;
    int edges = shape->type == TD_GPU_SPHERE    ? 0
                : shape->type == TD_GPU_CAPSULE ? 1
                                                : 12,
        rounds = (plan->edges + lanes.n - 1) / lanes.n;
    for (int number = 0; number < edges; number++)
    {
        double c[3], d[3], left[3], right[3], y[3] = {0, 0, 0};
        td_shape_edge(shape, number, c, d, left, right);
        for (int k = 0; k < rounds; k++)
        {
            int e = k * lanes.n + lanes.lane;
            tdMeeting meeting = {{0, -1, -1}, {1, 0, 0}, INFINITY, {0, 0, 1}};
            bool meets = e < plan->edges && td_meet_cross(work, state, shape, TD_GPU_ARRAY(plan, tdGpuEdge, edge) + e,
                                                          c, d, left, right, &meeting);
            if (meets)
            {
                td_touch_mean(plan, TD_GPU_ARRAY(plan, double, touch_rest), meeting.points, meeting.shares, state->q,
                              y);
                meets = td_meet_comes(work, state, &meeting, y);
            }
            td_meet_keep(work, state, s, meets, &meeting, y, found);
        }
    }
}

// ---------------------------------------------------------------- all of it

/// All contacts, where the robot is at the start of a step. Returns how many; more than there is room for are not kept.
TD_BOTH int td_touch_find(const tdTouchWork *work, const double *q, const double *v, double friction)
{
    const tdGpuPlan *plan = work->plan;
    const double *most = TD_GPU_ARRAY(plan, double, touch_most);
    int r = plan->r, found = 0;
    double fastest = 0;
    for (int j = 0; j < r; j++)
        fastest += most[j] * fabs(v[j]);
    if (plan->frame != 0)
    {
        double away = most[r];
        for (int j = 0; j < r; j++)
            away += most[j] * fabs(q[j]);
        fastest += sqrt(td_gpu_dot3(v + r, v + r)) + away * sqrt(td_gpu_dot3(v + r + 3, v + r + 3));
    }
    tdMeetState state = {q, v, friction, plan->slide * fmax(1.0, friction), 0};
    state.reach = plan->margin + plan->h * (1 + state.slide) * fastest;
    td_meet_points(work, &state, &found);
    for (int s = 0; s < plan->shapes && plan->triangles > 0; s++)
        if (TD_GPU_ARRAY(plan, tdGpuShape, shape)[s].type != TD_GPU_PLANE)
        {
            td_meet_corners(work, &state, s, &found);
            td_meet_edges(work, &state, s, &found);
        }
    TD_SYNC(work->lanes);
    return found;
}
