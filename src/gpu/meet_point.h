// SPDX-License-Identifier: Apache-2.0
// Where a robot touches shapes that stand still, by the CPU's rules (collide/skin_convex.c): distances of shapes and of
// triangles, contacts that are kept, and points of the surface by the distance of the shape.
#pragma once
#include "gpu/touch.h"

// ---------------------------------------------------------------- shapes

/// Signed distance of a point in the world and the normal out of the shape, as td_shape_distance().
TD_BOTH double td_shape_away(const tdGpuShape *shape, const double *point, double *normal)
{
    double x[3], local[3], on[3] = {0, 0, 0},
                           d[3] = {point[0] - shape->t[0], point[1] - shape->t[1], point[2] - shape->t[2]};
    double phi, square = 0;
    td_turn3_back(shape->R, d, x);
    if (shape->type == TD_GPU_PLANE)
    {
        for (int c = 0; c < 3; c++)
            normal[c] = shape->R[3 * c + 2];
        return x[2];
    }
    bool inside = shape->type == TD_GPU_BOX;
    for (int c = 0; c < 3; c++)
    {
        on[c] = fmax(-shape->half[c], fmin(shape->half[c], x[c])); // of a ball the centre, of a capsule its axis
        inside = inside && on[c] == x[c];
        local[c] = x[c] - on[c];
        square += local[c] * local[c];
    }
    if (inside)
    {
        phi = -INFINITY;
        for (int f = 0; f < 6; f++)
        {
            double side = f % 2 == 0 ? 1 : -1, here = side * x[f / 2] - shape->half[f / 2];
            if (here <= phi)
                continue;
            phi = here;
            for (int c = 0; c < 3; c++)
                local[c] = c == f / 2 ? side : 0;
        }
    }
    else
    {
        double length = sqrt(square);
        for (int c = 0; c < 3; c++)
            local[c] = length > 1e-300 ? local[c] / length : c == (shape->type == TD_GPU_CAPSULE ? 0 : 2);
        phi = length - shape->radius;
    }
    td_turn3(shape->R, local, normal);
    return phi;
}

/// Two tangents and the normal (contact/contact_rows.c).
TD_BOTH void td_touch_axes(const double *normal, double *axes)
{
    int least = fabs(normal[0]) <= fabs(normal[1]) ? 0 : 1;
    least = (least == 0 ? fabs(normal[0]) : fabs(normal[1])) <= fabs(normal[2]) ? least : 2;
    double along = least == 0 ? normal[0] : least == 1 ? normal[1] : normal[2], length = sqrt(1 - along * along);
    for (int k = 0; k < 3; k++)
    {
        axes[k] = ((k == least) - along * normal[k]) / length;
        axes[6 + k] = normal[k];
    }
    td_gpu_cross3(normal, axes, axes + 3);
}

// ---------------------------------------------------------------- contacts

/// A contact that was found, by one lane.
typedef struct tdMeeting
{
    int32_t points[3];
    double shares[3], phi, normal[3]; ///< normal: out of the shape
} tdMeeting;

/// What of the robot's state finding reads.
typedef struct tdMeetState
{
    const double *q, *v;
    double friction, slide, reach; ///< reach: no point that is farther comes near within the step
} tdMeetState;

/// Whether a point that is not within the margin comes there by the velocities at the start (td_meet_add); y: its place
/// in the frame.
TD_BOTH bool td_meet_comes(const tdTouchWork *work, const tdMeetState *state, const tdMeeting *meeting, const double *y)
{
    const tdGpuPlan *plan = work->plan;
    double u[3], v[3];
    if (meeting->phi <= plan->margin || !(meeting->phi <= state->reach))
        return meeting->phi <= plan->margin;
    td_touch_speed(work, meeting->points, meeting->shares, y, state->v, u);
    td_turn3(work->R, u, v);
    double along = v[0] * meeting->normal[0] + v[1] * meeting->normal[1] + v[2] * meeting->normal[2],
           square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    return meeting->phi <=
           plan->margin + plan->h * (fmax(0.0, -along) + state->slide * sqrt(fmax(0.0, square - along * along)));
}

/// Contacts of some lanes behind those that there are; in all lanes.
TD_BOTH void td_meet_keep(const tdTouchWork *work, const tdMeetState *state, int s, bool has, const tdMeeting *meeting,
                          const double *y, int *found)
{
    const tdGpuPlan *plan = work->plan;
    int all, to = *found + td_lanes_before(work->lanes, has, &all);
    *found += all;
    if (!has || to >= plan->touches)
        return;
    double axes[9];
    work->shape[to] = s;
    work->row[to] = meeting->points[1] < 0 ? meeting->points[0] : -1 - to;
    *td_touch_at(work, TD_TOUCH_PHI, to) = meeting->phi;
    *td_touch_at(work, TD_TOUCH_MU, to) = state->friction * TD_GPU_ARRAY(plan, tdGpuShape, shape)[s].friction;
    *td_touch_at(work, TD_TOUCH_RIDE, to) = 0;
    td_touch_axes(meeting->normal, axes);
    for (int c = 0; c < 3; c++)
    {
        work->point[3 * to + c] = meeting->points[c];
        *td_touch_at(work, TD_TOUCH_SHARE + c, to) = meeting->shares[c];
        *td_touch_at(work, TD_TOUCH_Y + c, to) = y[c];
    }
    for (int e = 0; e < 9; e++) // axes times R
        *td_touch_at(work, TD_TOUCH_Q + e, to) = axes[e - e % 3] * work->R[e % 3] +
                                                 axes[e - e % 3 + 1] * work->R[3 + e % 3] +
                                                 axes[e - e % 3 + 2] * work->R[6 + e % 3];
}

/// Points of the surface by the distance of each shape.
TD_BOTH void td_meet_points(const tdTouchWork *work, const tdMeetState *state, int *found)
{
    const tdGpuPlan *plan = work->plan;
    const tdGpuShape *shapes = TD_GPU_ARRAY(plan, tdGpuShape, shape);
    const double *rest = TD_GPU_ARRAY(plan, double, touch_rest);
    tdLanes lanes = work->lanes;
    int rounds = (plan->touch_points + lanes.n - 1) / lanes.n;
    for (int k = 0; k < rounds; k++)
    {
        int point = k * lanes.n + lanes.lane;
        bool mine = point < plan->touch_points;
        double y[3] = {0, 0, 0}, x[3];
        if (mine)
            td_touch_modes(plan, rest, point, state->q, y);
        td_turn3(work->R, y, x);
        for (int c = 0; c < 3; c++)
        {
            x[c] += plan->frame != 0 ? plan->centre[c] + state->q[plan->r + c] : 0;
            if (plan->triangles > 0 && mine)
                work->place[3 * point + c] = x[c];
        }
        for (int s = 0; s < plan->shapes; s++)
        {
            tdMeeting meeting = {{point, -1, -1}, {1, 0, 0}, INFINITY, {0, 0, 1}};
            if (mine)
                meeting.phi = td_shape_away(shapes + s, x, meeting.normal);
            td_meet_keep(work, state, s, mine && td_meet_comes(work, state, &meeting, y), &meeting, y, found);
        }
    }
    TD_SYNC(lanes);
}

// ---------------------------------------------------------------- triangles

TD_BOTH double td_gpu_dot3(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

TD_BOTH void td_gpu_from3(const double *a, const double *b, double *out)
{
    for (int c = 0; c < 3; c++)
        out[c] = a[c] - b[c];
}

/// Length, then unit; zero where there is none.
TD_BOTH double td_gpu_unit3(double *a)
{
    double length = sqrt(td_gpu_dot3(a, a));
    for (int c = 0; c < 3; c++)
        a[c] = length > 1e-300 ? a[c] / length : 0;
    return length;
}

TD_BOTH const double *td_meet_corner(const tdTouchWork *work, int triangle, int k)
{
    return work->place + 3 * (int64_t)TD_GPU_ARRAY(work->plan, tdGpuTriangle, triangle)[triangle].corner[k];
}

TD_BOTH void td_meet_normal(const tdTouchWork *work, int triangle, double *out)
{
    double u[3], v[3];
    const double *a = td_meet_corner(work, triangle, 0);
    td_gpu_from3(td_meet_corner(work, triangle, 1), a, u);
    td_gpu_from3(td_meet_corner(work, triangle, 2), a, v);
    td_gpu_cross3(u, v, out);
    td_gpu_unit3(out);
}

/// Weights of the point of a triangle nearest to p and its region, as td_nearest_on_triangle(): corner 0 to 2, side 3
/// to 5, 6. Returns the square of its distance.
TD_BOTH double td_meet_nearest(const tdTouchWork *work, int triangle, const double *p, double *w, int *region)
{
    const double *a = td_meet_corner(work, triangle, 0), *b = td_meet_corner(work, triangle, 1),
                 *c = td_meet_corner(work, triangle, 2);
    double ab[3], ac[3], ap[3], bp[3], cp[3];
    td_gpu_from3(b, a, ab);
    td_gpu_from3(c, a, ac);
    td_gpu_from3(p, a, ap);
    td_gpu_from3(p, b, bp);
    td_gpu_from3(p, c, cp);
    double d1 = td_gpu_dot3(ab, ap), d2 = td_gpu_dot3(ac, ap), d3 = td_gpu_dot3(ab, bp), d4 = td_gpu_dot3(ac, bp),
           d5 = td_gpu_dot3(ab, cp), d6 = td_gpu_dot3(ac, cp);
    double vc = d1 * d4 - d3 * d2, vb = d5 * d2 - d1 * d6, va = d3 * d6 - d5 * d4;
    w[0] = 1;
    w[1] = w[2] = 0;
    if (d1 <= 0 && d2 <= 0)
        *region = 0;
    else if (d3 >= 0 && d4 <= d3)
    {
        w[0] = 0;
        w[1] = 1;
        *region = 1;
    }
    else if (vc <= 0 && d1 >= 0 && d3 <= 0)
    {
        w[1] = d1 - d3 > 0 ? d1 / (d1 - d3) : 0;
        w[0] = 1 - w[1];
        *region = 3;
    }
    else if (d6 >= 0 && d5 <= d6)
    {
        w[0] = 0;
        w[2] = 1;
        *region = 2;
    }
    else if (vb <= 0 && d2 >= 0 && d6 <= 0)
    {
        w[2] = d2 - d6 > 0 ? d2 / (d2 - d6) : 0;
        w[0] = 1 - w[2];
        *region = 5;
    }
    else if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0)
    {
        double sum = (d4 - d3) + (d5 - d6);
        w[0] = 0;
        w[2] = sum > 0 ? (d4 - d3) / sum : 0;
        w[1] = 1 - w[2];
        *region = 4;
    }
    else
    {
        double sum = va + vb + vc;
        w[1] = vb / sum;
        w[2] = vc / sum;
        w[0] = 1 - w[1] - w[2];
        *region = 6;
    }
    double square = 0;
    for (int k = 0; k < 3; k++)
    {
        double d = p[k] - (w[0] * a[k] + w[1] * b[k] + w[2] * c[k]);
        square += d * d;
    }
    return square;
}

/// The least of the lanes' squares, between equal ones the lower number; -1: none. In all lanes.
TD_BOTH int td_meet_least(const tdTouchWork *work, double square, int triangle)
{
    const tdGpuTriangle *list = TD_GPU_ARRAY(work->plan, tdGpuTriangle, triangle);
#if defined(__CUDA_ARCH__) || defined(TD_LANES)
    for (int k = 1; k < work->lanes.n; k *= 2)
    {
        double other = __shfl_xor_sync(work->lanes.mask, square, k);
        int its = __shfl_xor_sync(work->lanes.mask, triangle, k);
        bool nearer = its >= 0 &&
                      (triangle < 0 || other < square || (other == square && list[its].number < list[triangle].number));
        square = nearer ? other : square;
        triangle = nearer ? its : triangle;
    }
    triangle = __shfl_sync(work->lanes.mask, triangle, 0); // also where squares are no numbers
#else
    (void)list;
    (void)square;
#endif
    return triangle;
}

/// Whether the shape around its corner, whose edges go along `ways` (NULL: any), is in front of a triangle.
TD_BOTH bool td_meet_faces(const double *normal, const double *ways)
{
    for (int k = 0; k < 3 && ways != NULL; k++)
        if (td_gpu_dot3(normal, ways + 3 * k) < -0.2)
            return false;
    return true;
}

/// The triangle nearest to p within `far_`; faces: that look to where the shape around its corner lies, whose edges go
/// along `ways` (rows; NULL: any).
TD_BOTH int td_meet_search(const tdTouchWork *work, const double *p, double far_, const double *ways)
{
    const tdGpuPlan *plan = work->plan;
    const tdGpuTriangle *list = TD_GPU_ARRAY(plan, tdGpuTriangle, triangle);
    double best = far_ * far_;
    int mine = -1;
    for (int t = work->lanes.lane; t < plan->triangles; t += work->lanes.n)
    {
        double w[3], normal[3], square;
        int region;
        square = td_meet_nearest(work, t, p, w, &region);
        if (square > best || (square == best && mine >= 0 && list[t].number > list[mine].number))
            continue;
        td_meet_normal(work, t, normal);
        if (!td_meet_faces(normal, ways))
            continue;
        best = square;
        mine = t;
    }
    return td_meet_least(work, best, mine);
}

/// The normal where a point is nearest to: of the triangle, of both at a side, by angles around a corner; not scaled.
TD_BOTH void td_meet_pseudo(const tdTouchWork *work, int triangle, int region, double *out)
{
    const tdGpuPlan *plan = work->plan;
    const tdGpuTriangle *list = TD_GPU_ARRAY(plan, tdGpuTriangle, triangle);
    double other[3];
    td_meet_normal(work, triangle, out);
    if (region == 6)
        return;
    if (region >= 3)
    {
        int across = list[triangle].across[region - 3];
        if (across < 0)
            return;
        td_meet_normal(work, across, other);
        for (int c = 0; c < 3; c++)
            out[c] += other[c];
        return;
    }
    int corner = list[triangle].corner[region];
    const int32_t *first = TD_GPU_ARRAY(plan, int32_t, ring_first), *ring = TD_GPU_ARRAY(plan, int32_t, ring);
    out[0] = out[1] = out[2] = 0;
    for (int i = first[corner]; i < first[corner + 1]; i++)
    {
        const int32_t *at = list[ring[i]].corner;
        int k = at[0] == corner ? 0 : at[1] == corner ? 1 : 2;
        double u[3], v[3], turn[3];
        const double *x = work->place + 3 * (int64_t)corner;
        td_gpu_from3(td_meet_corner(work, ring[i], (k + 1) % 3), x, u);
        td_gpu_from3(td_meet_corner(work, ring[i], (k + 2) % 3), x, v);
        td_gpu_cross3(u, v, turn);
        double angle = atan2(sqrt(td_gpu_dot3(turn, turn)), td_gpu_dot3(u, v));
        td_meet_normal(work, ring[i], other);
        for (int c = 0; c < 3; c++)
            out[c] += angle * other[c];
    }
}

/// The most that the way from the surface is in front of another triangle at the region.
TD_BOTH double td_meet_beside(const tdTouchWork *work, int triangle, int region, const double *way)
{
    const tdGpuPlan *plan = work->plan;
    const tdGpuTriangle *list = TD_GPU_ARRAY(plan, tdGpuTriangle, triangle);
    double most = -INFINITY, n[3];
    if (region >= 3)
    {
        int across = list[triangle].across[region - 3];
        if (across < 0)
            return most;
        td_meet_normal(work, across, n);
        return td_gpu_dot3(n, way);
    }
    int corner = list[triangle].corner[region];
    const int32_t *first = TD_GPU_ARRAY(plan, int32_t, ring_first), *ring = TD_GPU_ARRAY(plan, int32_t, ring);
    for (int i = first[corner]; i < first[corner + 1]; i++)
        if (ring[i] != triangle)
        {
            td_meet_normal(work, ring[i], n);
            most = fmax(most, td_gpu_dot3(n, way));
        }
    return most;
}

/// Distance of p from its nearest point on the surface, and the normal there out of the surface (td_skin_side).
TD_BOTH bool td_meet_side(const tdTouchWork *work, int triangle, int region, const double *p, const double *nearest,
                          double *normal, double *phi)
{
    double way[3];
    td_gpu_from3(p, nearest, way);
    double d = sqrt(td_gpu_dot3(way, way));
    td_meet_pseudo(work, triangle, region, normal);
    double sign = td_gpu_dot3(way, normal) >= 0 ? 1 : -1;
    *phi = sign * d;
    if (region != 6)
    {
        if (sign < 0 && td_meet_beside(work, triangle, region, way) > 0.1 * d)
            return false;
        if (d > 1e-6 * work->plan->mean_edge)
            for (int c = 0; c < 3; c++)
                normal[c] = sign * way[c] / d;
        else
        {
            td_meet_normal(work, triangle, normal);
            *phi = td_gpu_dot3(normal, way);
        }
    }
    return td_gpu_unit3(normal) > 1e-300;
}

/// Whether p is outside by more than a tenth of `depth`, judged by the nearest of all triangles (td_skin_outside).
TD_BOTH bool td_meet_outside(const tdTouchWork *work, const double *p, double depth)
{
    int triangle = td_meet_search(work, p, depth, NULL), region;
    if (triangle < 0)
        return false;
    double w[3], way[3], normal[3], square = td_meet_nearest(work, triangle, p, w, &region);
    for (int c = 0; c < 3; c++)
        way[c] = p[c] - (w[0] * td_meet_corner(work, triangle, 0)[c] + w[1] * td_meet_corner(work, triangle, 1)[c] +
                         w[2] * td_meet_corner(work, triangle, 2)[c]);
    td_meet_pseudo(work, triangle, region, normal);
    return td_gpu_dot3(way, normal) > 0 && square > 0.01 * depth * depth;
}
