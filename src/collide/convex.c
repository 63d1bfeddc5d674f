// SPDX-License-Identifier: Apache-2.0
// Contacts of two convex shapes by closed forms: planes, spheres, capsules. What is left, boxes, cylinders and hulls
// against each other, is in manifold.c.
#include "collide/internal.h"

#include <string.h>

#define PI           3.14159265358979323846
#define MOST_CORNERS TD_PATCH_POINTS

// ---------------------------------------------------------------- the list

static void velocity_of(const tdNarrow *narrow, const tdContactSide *side, const double p[3], double v[3])
{
    const tdCollider *collider = &narrow->world->colliders[side->collider];
    const tdPlaced *placed = &narrow->state->placed[side->collider];
    v[0] = v[1] = v[2] = 0;
    if (collider->kind == TD_COLLIDER_SOFT)
    {
        const double *field = narrow->state->input->v[collider->field];
        for (int i = 0; i < side->n; i++)
            td_along3(v, side->weight[i], field + 3 * (int64_t)side->node[i], v);
        return;
    }
    double arm[3], turn[3];
    td_subtract3(p, placed->frame.t, arm);
    td_cross3(placed->twist + 3, arm, turn);
    for (int k = 0; k < 3; k++)
        v[k] = placed->twist[k] + turn[k];
}

void td_meet_add(tdNarrow *narrow, tdMeet *meet)
{
    const tdCollideInput *input = narrow->state->input;
    double allowed = narrow->world->margin;
    if (input->v != NULL && meet->phi > allowed)
    {
        double v0[3], v1[3], v[3];
        velocity_of(narrow, &meet->s[0], meet->p[0], v0);
        velocity_of(narrow, &meet->s[1], meet->p[1], v1);
        td_subtract3(v0, v1, v);
        double along = td_dot3(v, meet->n), aside = sqrt(fmax(0, td_dot3(v, v) - along * along));
        allowed += input->h * (fmax(0, along) + input->slide * aside);
    }
    if (!(meet->phi <= allowed))
        return;
    tdPiece *piece = narrow->piece;
    if (!td_grow((void **)&piece->contacts, &piece->room, piece->n + 1, sizeof *piece->contacts))
    {
        piece->failed = true;
        return;
    }
    bool turned = meet->s[0].collider > meet->s[1].collider;
    tdContactKind kind = meet->kind;
    if (turned && (kind == TD_CONTACT_VERTEX_A || kind == TD_CONTACT_VERTEX_B))
        kind = kind == TD_CONTACT_VERTEX_A ? TD_CONTACT_VERTEX_B : TD_CONTACT_VERTEX_A;
    for (int i = 0; i < 2; i++)
    {
        tdContactSide *side = &meet->s[i];
        if (narrow->world->colliders[side->collider].kind == TD_COLLIDER_RIGID)
            td_place_back(&narrow->state->placed[side->collider].frame, meet->p[i], side->local);
    }
    tdContact *c = &piece->contacts[piece->n++];
    *c = (tdContact){.key = td_contact_key(kind, meet->name[turned ? 1 : 0], meet->name[turned ? 0 : 1]),
                     .previous = -1,
                     .kind = kind,
                     .phi = meet->phi,
                     .a = meet->s[turned ? 1 : 0],
                     .b = meet->s[turned ? 0 : 1]};
    for (int k = 0; k < 3; k++)
    {
        c->normal[k] = turned ? -meet->n[k] : meet->n[k];
        c->position[k] = 0.5 * (meet->p[0][k] + meet->p[1][k]);
    }
}

// From the surface of side 0, where n is its normal, to the point q of side 1.
static void add_point(tdNarrow *narrow, int32_t c0, int32_t c1, tdContactKind kind, uint32_t name, double phi,
                      const double n[3], const double q[3])
{
    tdMeet meet = {.kind = kind, .phi = phi, .name = {0, name}};
    meet.s[0].collider = c0;
    meet.s[1].collider = c1;
    meet.s[1].feature = (int32_t)name;
    memcpy(meet.n, n, sizeof meet.n);
    memcpy(meet.p[1], q, sizeof meet.p[1]);
    td_along3(q, -phi, n, meet.p[0]);
    narrow->piece->looked_at++;
    td_meet_add(narrow, &meet);
}

// ---------------------------------------------------------------- on a plane

int td_spread_out(tdSpot *low, int n, const tdPose *pose, const double normal[3], double slack)
{
    if (n <= MOST_CORNERS)
        return n;
    int axis = 0;
    double u[3], v[3];
    for (int k = 1; k < 3; k++)
    {
        double mine[3] = {pose->R[k], pose->R[3 + k], pose->R[6 + k]};
        double best[3] = {pose->R[axis], pose->R[3 + axis], pose->R[6 + axis]};
        if (fabs(td_dot3(mine, normal)) < fabs(td_dot3(best, normal)) - 0.1)
            axis = k;
    }
    for (int k = 0; k < 3; k++)
        u[k] = pose->R[3 * k + axis];
    td_cross3(normal, u, v);
    int chosen[MOST_CORNERS + 1], n_chosen = 0;
    double least = INFINITY;
    for (int d = 0; d <= MOST_CORNERS; d++)
    {
        double angle = 2 * PI * d / MOST_CORNERS, c = cos(angle), s = sin(angle), most = -INFINITY;
        int best = 0;
        for (int i = 0; i < n; i++)
        {
            double reach = d == MOST_CORNERS ? -low[i].phi : c * td_dot3(u, low[i].q) + s * td_dot3(v, low[i].q);
            if (reach > most)
            {
                most = reach;
                best = i;
            }
        }
        bool there = d == MOST_CORNERS && low[best].phi >= least - slack;
        for (int i = 0; i < n_chosen; i++)
            there = there || chosen[i] == best;
        if (there)
            continue;
        chosen[n_chosen++] = best;
        least = fmin(least, low[best].phi);
    }
    // Ascending, so that the entries can move down in place.
    for (int i = 1; i < n_chosen; i++)
        for (int j = i; j > 0 && chosen[j] < chosen[j - 1]; j--)
        {
            int swap = chosen[j];
            chosen[j] = chosen[j - 1];
            chosen[j - 1] = swap;
        }
    for (int i = 0; i < n_chosen; i++)
        low[i] = low[chosen[i]];
    return n_chosen;
}

static void hull_on_plane(tdNarrow *narrow, int32_t plane, int32_t body, const double n[3], const double *origin)
{
    enum
    {
        ROOM = 256
    };
    const tdHull *hull = narrow->world->colliders[body].hull;
    const tdPose *pose = &narrow->state->placed[body].pose;
    tdSpot low[ROOM];
    int found = 0;
    double allowed = narrow->world->margin + narrow->sweep;
    for (int i = 0; i < hull->n_points; i++)
    {
        double q[3], d[3];
        td_place(pose, hull->x + 3 * i, q);
        td_subtract3(q, origin, d);
        double phi = td_dot3(n, d);
        if (phi > allowed)
            continue;
        if (found == ROOM)
            found = td_spread_out(low, found, pose, n, 0.01 * narrow->world->margin);
        low[found] = (tdSpot){.name = {0, (uint32_t)i}, .phi = phi};
        memcpy(low[found++].q, q, sizeof q);
    }
    found = td_spread_out(low, found, pose, n, 0.01 * narrow->world->margin);
    for (int i = 0; i < found; i++)
        add_point(narrow, plane, body, TD_CONTACT_VERTEX_B, low[i].name[1], low[i].phi, n, low[i].q);
}

// The lowest point of each rim, exactly; and eight points fixed to the rim of an end that faces the plane, since the
// lowest one has no place of its own when the cylinder stands upright.
static void cylinder_on_plane(tdNarrow *narrow, int32_t plane, int32_t body, const double n[3], const double *origin)
{
    const tdShape *shape = &narrow->world->colliders[body].shape;
    const tdPose *pose = &narrow->state->placed[body].pose;
    double down[3], local[3];
    for (int k = 0; k < 3; k++)
        down[k] = -n[k];
    td_turn_back(pose, down, local);
    double slope = sqrt(local[0] * local[0] + local[1] * local[1]);
    for (int end = 0; end < 2; end++)
    {
        double z = end == 0 ? -shape->half[2] : shape->half[2];
        bool faces = local[2] * z > 0.5 * shape->half[2];
        for (int i = -1; i < 8; i++)
        {
            if ((i < 0 && slope < 1e-6) || (i >= 0 && !faces))
                continue;
            double angle = 2 * PI / 8 * i, q[3], d[3];
            double p[3] = {shape->radius * (i < 0 ? local[0] / slope : cos(angle)),
                           shape->radius * (i < 0 ? local[1] / slope : sin(angle)), z};
            td_place(pose, p, q);
            td_subtract3(q, origin, d);
            add_point(narrow, plane, body, TD_CONTACT_VERTEX_B, (uint32_t)(9 * end + i + 1), td_dot3(n, d), n, q);
        }
    }
}

static void on_plane(tdNarrow *narrow, int32_t plane, int32_t body)
{
    const tdShape *shape = &narrow->world->colliders[body].shape;
    const tdPose *pose = &narrow->state->placed[body].pose, *floor = &narrow->state->placed[plane].pose;
    double n[3] = {floor->R[2], floor->R[5], floor->R[8]};
    if (shape->type == TD_SHAPE_BOX || shape->type == TD_SHAPE_HULL)
        hull_on_plane(narrow, plane, body, n, floor->t);
    else if (shape->type == TD_SHAPE_CYLINDER)
        cylinder_on_plane(narrow, plane, body, n, floor->t);
    else if (shape->type != TD_SHAPE_PLANE)
        for (int end = 0; end < (shape->type == TD_SHAPE_CAPSULE ? 2 : 1); end++)
        {
            double c[3] = {0, 0, end == 0 ? -shape->half[2] : shape->half[2]}, q[3], d[3];
            td_place(pose, c, q);
            td_along3(q, -shape->radius, n, q);
            td_subtract3(q, floor->t, d);
            add_point(narrow, plane, body, TD_CONTACT_VERTEX_B, (uint32_t)end, td_dot3(n, d), n, q);
        }
}

// ---------------------------------------------------------------- balls and capsules

// Signed distance of the world point p to a convex collider; n in the world.
static double distance_of(const tdNarrow *narrow, int32_t body, const double p[3], double n[3])
{
    const tdPose *pose = &narrow->state->placed[body].pose;
    double x[3], local[3];
    td_place_back(pose, p, x);
    double phi = td_shape_distance(&narrow->world->colliders[body].shape, x, NULL, local);
    td_turn(pose, local, n);
    return phi;
}

static void add_ball(tdNarrow *narrow, int32_t body, int32_t ball, uint32_t name, const double center[3], double radius)
{
    double n[3], q[3];
    double phi = distance_of(narrow, body, center, n) - radius;
    td_along3(center, -radius, n, q);
    add_point(narrow, body, ball, TD_CONTACT_NEAREST, name, phi, n, q);
}

typedef struct tdAxis
{
    const tdNarrow *narrow;
    int32_t body;
    double a[3], b[3];
} tdAxis;

static double along_axis(const tdAxis *axis, double s, double p[3])
{
    double n[3];
    for (int k = 0; k < 3; k++)
        p[k] = (1 - s) * axis->a[k] + s * axis->b[k];
    return distance_of(axis->narrow, axis->body, p, n);
}

// Least distance along the axis: it is convex there, so golden sections find it.
static double lowest_on_axis(const tdAxis *axis, double *phi)
{
    const double golden = 0.6180339887498949;
    double low = 0, high = 1, p[3], x = 1 - golden, y = golden;
    double fx = along_axis(axis, x, p), fy = along_axis(axis, y, p);
    for (int i = 0; i < 45; i++)
    {
        bool left = fx <= fy;
        if (left)
        {
            high = y;
            y = x;
            fy = fx;
            x = high - golden * (high - low);
            fx = along_axis(axis, x, p);
        }
        else
        {
            low = x;
            x = y;
            fx = fy;
            y = low + golden * (high - low);
            fy = along_axis(axis, y, p);
        }
    }
    double s = fx <= fy ? x : y, f0 = along_axis(axis, 0, p), f1 = along_axis(axis, 1, p);
    *phi = fmin(fx, fy);
    if (f0 <= *phi || f1 <= *phi)
        s = f0 <= f1 ? 0 : 1;
    *phi = fmin(*phi, fmin(f0, f1));
    return s;
}

// Where the distance rises above `level` on the way from s to `end`.
static double rises_at(const tdAxis *axis, double s, double end, double level)
{
    double p[3];
    if (along_axis(axis, end, p) <= level)
        return end;
    for (int i = 0; i < 40; i++)
    {
        double mid = 0.5 * (s + end);
        *(along_axis(axis, mid, p) <= level ? &s : &end) = mid;
    }
    return s;
}

// Both ends of the part that is within a quarter of the margin of the nearest point carry a capsule that lies flat and
// rocks. Where it hangs over, or crosses another, the nearest part is between them: its ends, or its only point.
static void capsule_on(tdNarrow *narrow, int32_t body, int32_t capsule)
{
    const tdShape *shape = &narrow->world->colliders[capsule].shape;
    const tdPose *pose = &narrow->state->placed[capsule].pose;
    tdAxis axis = {.narrow = narrow, .body = body};
    double low[3] = {0, 0, -shape->half[2]}, high[3] = {0, 0, shape->half[2]}, p[3], phi;
    td_place(pose, low, axis.a);
    td_place(pose, high, axis.b);
    double allowed = narrow->world->margin + narrow->sweep;
    if (along_axis(&axis, 0.5, p) - shape->half[2] - shape->radius > allowed)
        return;
    double s = lowest_on_axis(&axis, &phi), near = 0.25 * narrow->world->margin, at[4];
    if (phi - shape->radius > allowed)
        return;
    for (int i = 0; i < 4; i++)
        at[i] = rises_at(&axis, s, i % 2, phi + (i < 2 ? near : 1e-4 * near));
    double apart = 0.1 * shape->radius / (2 * shape->half[2]), n[2][3]; // nearer points are one
    for (int i = 0; i < 2; i++)
    {
        along_axis(&axis, at[2 + i], p);
        distance_of(narrow, body, p, n[i]);
    }
    // Over a flat face normals turn less from end to end than around the capsule; elsewhere the nearest part is a
    // point.
    double turn = sqrt(td_square_between(n[0], n[1])), width = (at[3] - at[2]) * 2 * shape->half[2];
    if (at[3] - at[2] < apart || width < 10 * shape->radius * turn)
        at[2] = at[3] = s;
    for (int i = 0; i < 4; i++)
    {
        bool there = false;
        for (int j = 0; j < i; j++)
            there = there || fabs(at[i] - at[j]) < (i == 1 ? 1e-9 : apart);
        // The nearest point itself is never left out.
        if (there && !(i == 2 && at[2] == at[3] && s > at[0] && s < at[1]))
            continue;
        along_axis(&axis, at[i], p);
        add_ball(narrow, body, capsule, (uint32_t)i, p, shape->radius);
    }
}

void td_meet_convex(tdNarrow *narrow, int32_t a, int32_t b)
{
    const tdCollider *c = narrow->world->colliders;
    tdShapeType first = c[a].shape.type, second = c[b].shape.type;
    if (first == TD_SHAPE_PLANE)
        on_plane(narrow, a, b);
    else if (second == TD_SHAPE_PLANE)
        on_plane(narrow, b, a);
    else if (first == TD_SHAPE_SPHERE || second == TD_SHAPE_SPHERE)
    {
        int32_t ball = second == TD_SHAPE_SPHERE ? b : a, other = ball == b ? a : b;
        add_ball(narrow, other, ball, 0, narrow->state->placed[ball].pose.t, c[ball].shape.radius);
    }
    else if (first == TD_SHAPE_CAPSULE || second == TD_SHAPE_CAPSULE)
        capsule_on(narrow, second == TD_SHAPE_CAPSULE ? a : b, second == TD_SHAPE_CAPSULE ? b : a);
    else
        td_meet_faces(narrow, a, b);
}
