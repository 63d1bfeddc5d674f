// SPDX-License-Identifier: Apache-2.0
// Signed distances, supports and bounds of shapes. Distances are exact; the formulas are those of the pieces nearest
// to the point: face, edge or corner.
#include "collide/shape.h"

#include "collide/geometry.h"

#include <string.h>

// A face that looks more than this the same way as the surface that dips into it cannot be what it touched.
#define SAME_WAY 0.3

const char *td_shape_name(tdShapeType type)
{
    static const char *const names[TD_SHAPE_TYPES] = {"plane", "sphere", "capsule", "box", "cylinder", "hull", "mesh"};
    return (unsigned)type < TD_SHAPE_TYPES ? names[type] : "unknown shape";
}

// ---------------------------------------------------------------- checks

static bool is_size(double a)
{
    return a >= 1e-9 && a <= 1e9;
}

tdStatus td_shape_check(const tdShape *shape, const char *field, tdError *error)
{
    const char *name = td_shape_name(shape->type);
    bool radius = false, length = false;
    switch (shape->type)
    {
    case TD_SHAPE_PLANE: return TD_OK;
    case TD_SHAPE_SPHERE: radius = true; break;
    case TD_SHAPE_CAPSULE:
    case TD_SHAPE_CYLINDER: radius = length = true; break;
    case TD_SHAPE_BOX:
        for (int k = 0; k < 3; k++)
            if (!is_size(shape->half[k]))
                return td_fail_at(error, TD_ERROR_INPUT, NULL, 0, field,
                                  "a box has the half length %g along axis %d; it must be from 1e-9 to 1e9 m",
                                  shape->half[k], k);
        return TD_OK;
    case TD_SHAPE_HULL:
    case TD_SHAPE_MESH:
        if ((shape->type == TD_SHAPE_HULL && shape->hull == NULL) ||
            (shape->type == TD_SHAPE_MESH && shape->mesh == NULL))
            return td_fail_at(error, TD_ERROR_USAGE, NULL, 0, field, "a %s has no points; make it by td_shape_%s()",
                              name, name);
        return TD_OK;
    default: return td_fail_at(error, TD_ERROR_USAGE, NULL, 0, field, "there is no shape of type %d", (int)shape->type);
    }
    if (radius && !is_size(shape->radius))
        return td_fail_at(error, TD_ERROR_INPUT, NULL, 0, field,
                          "a %s has the radius %g; it must be from 1e-9 to 1e9 m", name, shape->radius);
    // A capsule may be as short as a sphere.
    if (length && !(shape->type == TD_SHAPE_CAPSULE && shape->half[2] == 0) && !is_size(shape->half[2]))
        return td_fail_at(error, TD_ERROR_INPUT, NULL, 0, field,
                          "a %s has the half length %g; it must be from 1e-9 to 1e9 m", name, shape->half[2]);
    return TD_OK;
}

tdStatus td_shape_mesh(tdArena *arena, int64_t n_nodes, const double *x, int64_t n_tris, const int32_t *tris,
                       tdShape *out, tdError *error)
{
    if (n_nodes <= 0 || n_tris <= 0 || n_nodes > INT32_MAX / 4 || n_tris > INT32_MAX / 4)
        return td_fail(error, TD_ERROR_INPUT, "a mesh for contact has %lld nodes and %lld triangles; it needs some",
                       (long long)n_nodes, (long long)n_tris);
    for (int64_t i = 0; i < 3 * n_nodes; i++)
        if (!(fabs(x[i]) < 1e15))
            return td_fail(error, TD_ERROR_INPUT, "node %lld of a mesh for contact is not at a finite place",
                           (long long)(i / 3));
    for (int64_t i = 0; i < 3 * n_tris; i++)
        if (tris[i] < 0 || tris[i] >= n_nodes)
            return td_fail(error, TD_ERROR_INPUT, "triangle %lld names node %d, but nodes run from 0 to %lld",
                           (long long)(i / 3), tris[i], (long long)n_nodes - 1);
    tdTriMesh *mesh = TD_TAKE(arena, tdTriMesh, 1);
    double *copy = TD_TAKE(arena, double, 3 * n_nodes);
    int32_t *copied = TD_TAKE(arena, int32_t, 3 * n_tris);
    if (mesh == NULL || copy == NULL || copied == NULL)
        return td_fail_memory(error, "a mesh for contact");
    memcpy(copy, x, (size_t)n_nodes * 3 * sizeof *x);
    memcpy(copied, tris, (size_t)n_tris * 3 * sizeof *tris);
    *mesh = (tdTriMesh){n_nodes, n_tris, copy, copied};
    *out = (tdShape){.type = TD_SHAPE_MESH, .mesh = mesh};
    return TD_OK;
}

// ---------------------------------------------------------------- signed distance

// Distance to a point with a radius around it; on the point itself the normal is `otherwise`.
static double from_point(const double x[3], const double point[3], double radius, const double otherwise[3],
                         double normal[3])
{
    td_subtract3(x, point, normal);
    double length = td_unit3(normal, 1e-300);
    if (!(length > 1e-300))
        memcpy(normal, otherwise, 3 * sizeof *normal);
    return length - radius;
}

static bool passed_over(const double *facing, const double n[3])
{
    return facing != NULL && td_dot3(facing, n) > SAME_WAY * td_length3(facing);
}

static double box_distance(const double half[3], const double x[3], const double *facing, double normal[3])
{
    double nearest[3];
    bool inside = true;
    for (int k = 0; k < 3; k++)
    {
        nearest[k] = fmax(-half[k], fmin(half[k], x[k]));
        inside = inside && nearest[k] == x[k];
    }
    if (!inside)
    {
        const double z[3] = {0, 0, 1};
        return from_point(x, nearest, 0, z, normal);
    }
    double best = -INFINITY;
    for (int pass = 0; pass < 2 && best == -INFINITY; pass++) // the second one without facing
        for (int f = 0; f < 6; f++)
        {
            double n[3] = {0, 0, 0}, s = f % 2 == 0 ? 1 : -1;
            n[f / 2] = s;
            double phi = s * x[f / 2] - half[f / 2];
            if (phi > best && (pass > 0 || !passed_over(facing, n)))
            {
                best = phi;
                memcpy(normal, n, sizeof n);
            }
        }
    return best;
}

static double cylinder_distance(double radius, double half, const double x[3], const double *facing, double normal[3])
{
    double r = sqrt(x[0] * x[0] + x[1] * x[1]), out[3] = {1, 0, 0};
    if (r > 1e-300)
    {
        out[0] = x[0] / r;
        out[1] = x[1] / r;
    }
    double side = r - radius, end = fabs(x[2]) - half, s = x[2] >= 0 ? 1 : -1;
    if (side > 0 && end > 0)
    {
        double d = sqrt(side * side + end * end);
        for (int k = 0; k < 3; k++)
            normal[k] = (k < 2 ? side * out[k] : end * s) / d;
        return d;
    }
    double ends[3] = {0, 0, s}, other[3] = {0, 0, -s}, far = -fabs(x[2]) - half;
    bool outside = side > 0 || end > 0;
    bool no_side = !outside && passed_over(facing, out), no_end = !outside && passed_over(facing, ends);
    if (side >= end && !no_side)
        no_end = true;
    if (!no_end)
    {
        memcpy(normal, ends, sizeof ends);
        return end;
    }
    if (!no_side || side >= far)
    {
        memcpy(normal, out, sizeof out);
        return side;
    }
    memcpy(normal, other, sizeof other);
    return far;
}

// Inside the nearest face is that of the nearest plane. Outside, the nearest point is on a face that sees x: within it
// only if that is the face whose plane is farthest away, else on an edge.
static double hull_distance(const tdHull *hull, const double x[3], const double *facing, double normal[3])
{
    double most = -INFINITY, allowed = -INFINITY;
    int face = 0, mine = -1;
    for (int f = 0; f < hull->n_faces; f++)
    {
        const double *plane = hull->plane + 4 * f;
        double phi = td_dot3(plane, x) - plane[3];
        if (phi > most)
        {
            most = phi;
            face = f;
        }
        if (phi > allowed && facing != NULL && !passed_over(facing, plane))
        {
            allowed = phi;
            mine = f;
        }
    }
    if (most <= 0)
    {
        int chosen = mine >= 0 ? mine : face;
        memcpy(normal, hull->plane + 4 * chosen, 3 * sizeof *normal);
        return mine >= 0 ? allowed : most;
    }
    const double *plane = hull->plane + 4 * face;
    double foot[3], best[3] = {0}, square = INFINITY;
    td_along3(x, -most, plane, foot);
    bool within = true;
    for (int32_t i = hull->first[face]; i < hull->first[face + 1] && within; i++)
    {
        const double *a = hull->x + 3 * hull->corner[i];
        const double *b = hull->x + 3 * hull->corner[i + 1 < hull->first[face + 1] ? i + 1 : hull->first[face]];
        double ab[3], ap[3];
        td_subtract3(b, a, ab);
        td_subtract3(foot, a, ap);
        within = td_triple3(plane, ab, ap) >= 0;
    }
    if (within)
    {
        memcpy(normal, plane, 3 * sizeof *normal);
        return most;
    }
    for (int e = 0; e < hull->n_edges; e++)
    {
        const int32_t *edge = hull->edge + 4 * e;
        const double *left = hull->plane + 4 * edge[2], *right = hull->plane + 4 * edge[3];
        if (td_dot3(left, x) <= left[3] && td_dot3(right, x) <= right[3])
            continue;
        const double *a = hull->x + 3 * edge[0], *b = hull->x + 3 * edge[1];
        double t = td_nearest_on_segment(x, a, b), p[3];
        for (int k = 0; k < 3; k++)
            p[k] = (1 - t) * a[k] + t * b[k];
        double d = td_square_between(x, p);
        if (d < square)
        {
            square = d;
            memcpy(best, p, sizeof p);
        }
    }
    return from_point(x, best, 0, plane, normal);
}

double td_shape_distance(const tdShape *shape, const double x[3], const double *facing, double normal[3])
{
    const double up[3] = {0, 0, 1}, side[3] = {1, 0, 0}, zero[3] = {0, 0, 0};
    switch (shape->type)
    {
    case TD_SHAPE_SPHERE: return from_point(x, zero, shape->radius, up, normal);
    case TD_SHAPE_CAPSULE:
    {
        double on[3] = {0, 0, fmax(-shape->half[2], fmin(shape->half[2], x[2]))};
        return from_point(x, on, shape->radius, side, normal);
    }
    case TD_SHAPE_BOX: return box_distance(shape->half, x, facing, normal);
    case TD_SHAPE_CYLINDER: return cylinder_distance(shape->radius, shape->half[2], x, facing, normal);
    case TD_SHAPE_HULL: return hull_distance(shape->hull, x, facing, normal);
    default: break; // the plane; meshes have no distance of their own
    }
    memcpy(normal, up, sizeof up);
    return x[2];
}

// ---------------------------------------------------------------- supports

static int hull_support(const tdHull *hull, const double d[3])
{
    // Climbing from corner to corner reaches the top of a convex body; small hulls are searched through.
    int best = 0;
    double most = td_dot3(d, hull->x);
    if (hull->n_points <= 32)
    {
        for (int i = 1; i < hull->n_points; i++)
            if (td_dot3(d, hull->x + 3 * i) > most)
            {
                most = td_dot3(d, hull->x + 3 * i);
                best = i;
            }
        return best;
    }
    for (bool climbs = true; climbs;)
    {
        climbs = false;
        for (int32_t j = hull->ring[best], end = hull->ring[best + 1]; j < end; j++)
        {
            double height = td_dot3(d, hull->x + 3 * hull->near_to[j]);
            if (height > most)
            {
                most = height;
                best = hull->near_to[j];
                climbs = true;
            }
        }
    }
    return best;
}

void td_shape_support(const tdShape *shape, const double d[3], double out[3])
{
    switch (shape->type)
    {
    case TD_SHAPE_SPHERE:
    case TD_SHAPE_CAPSULE:
    {
        double length = td_length3(d);
        for (int k = 0; k < 3; k++)
            out[k] = shape->radius * d[k] / length;
        out[2] += shape->type == TD_SHAPE_CAPSULE ? copysign(shape->half[2], d[2]) : 0;
        break;
    }
    case TD_SHAPE_BOX:
        for (int k = 0; k < 3; k++)
            out[k] = d[k] >= 0 ? shape->half[k] : -shape->half[k];
        break;
    case TD_SHAPE_CYLINDER:
    {
        double r = sqrt(d[0] * d[0] + d[1] * d[1]);
        out[0] = r > 1e-300 ? shape->radius * d[0] / r : shape->radius;
        out[1] = r > 1e-300 ? shape->radius * d[1] / r : 0;
        out[2] = d[2] >= 0 ? shape->half[2] : -shape->half[2];
        break;
    }
    case TD_SHAPE_HULL: memcpy(out, shape->hull->x + 3 * hull_support(shape->hull, d), 3 * sizeof *out); break;
    default: out[0] = out[1] = out[2] = 0;
    }
}

// ---------------------------------------------------------------- bounds

static void bounds_of_points(int64_t n, const double *x, const tdPose *pose, double box[6])
{
    for (int k = 0; k < 3; k++)
    {
        box[k] = INFINITY;
        box[3 + k] = -INFINITY;
    }
    for (int64_t i = 0; i < n; i++)
    {
        double p[3];
        td_place(pose, x + 3 * i, p);
        for (int k = 0; k < 3; k++)
        {
            box[k] = fmin(box[k], p[k]);
            box[3 + k] = fmax(box[3 + k], p[k]);
        }
    }
}

void td_shape_bounds(const tdShape *shape, const tdPose *pose, double box[6])
{
    if (shape->type == TD_SHAPE_HULL)
    {
        bounds_of_points(shape->hull->n_points, shape->hull->x, pose, box);
        return;
    }
    if (shape->type == TD_SHAPE_MESH)
    {
        bounds_of_points(shape->mesh->n_nodes, shape->mesh->x, pose, box);
        return;
    }
    for (int k = 0; k < 3; k++)
    {
        const double *R = pose->R + 3 * k;
        double way = 0;
        switch (shape->type)
        {
        case TD_SHAPE_SPHERE: way = shape->radius; break;
        case TD_SHAPE_CAPSULE: way = shape->radius + fabs(R[2]) * shape->half[2]; break;
        case TD_SHAPE_CYLINDER:
            way = fabs(R[2]) * shape->half[2] + shape->radius * sqrt(fmax(0, 1 - R[2] * R[2]));
            break;
        case TD_SHAPE_BOX:
            way = fabs(R[0]) * shape->half[0] + fabs(R[1]) * shape->half[1] + fabs(R[2]) * shape->half[2];
            break;
        default: way = INFINITY;
        }
        box[k] = pose->t[k] - way;
        box[3 + k] = pose->t[k] + way;
    }
}
