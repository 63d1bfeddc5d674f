// SPDX-License-Identifier: Apache-2.0
// Convex hull by quickhull (Barber, Dobkin, Huhdanpaa 1996): a tetrahedron grows by the point farthest from one of its
// faces until no point is outside. Then triangles in one plane become polygons, which is what faces of boxes and
// prisms need for their contacts.
#include "collide/geometry.h"
#include "collide/shape.h"

#include <stdlib.h>
#include <string.h>

// Parts of the extent: how far a point must be outside to count, how thin a hull may be, what is one plane.
#define OUTSIDE   1e-9
#define FLAT      1e-6
#define ONE_PLANE 1e-7

typedef struct tdFacet
{
    int32_t v[3], next_to[3]; ///< next_to[k] shares the side from v[k] to the next
    int32_t list;             ///< points outside of it, -1 at the end
    bool alive, seen;
    double n[3], d;
} tdFacet;

typedef struct tdQuickhull
{
    int64_t n;
    const double *x;
    double extent;
    int32_t *next; ///< chains of points outside
    tdFacet *facets;
    int64_t n_facets, facet_room;
    int32_t *horizon; ///< pairs: facet that stays, its side
    int64_t n_horizon, horizon_room;
    int32_t *seen; ///< facets that the point at hand sees
    int64_t n_seen, seen_room;
    int added;
    bool starved; ///< memory ran out
} tdQuickhull;

static bool make_room(tdQuickhull *h, void **data, int64_t *room, int64_t need, size_t size)
{
    h->starved = !td_grow(data, room, need, size);
    return !h->starved;
}

static double above(const tdFacet *f, const double *p)
{
    return td_dot3(f->n, p) - f->d;
}

static int32_t new_facet(tdQuickhull *h, int32_t a, int32_t b, int32_t c)
{
    if (h->n_facets > INT32_MAX / 2 ||
        !make_room(h, (void **)&h->facets, &h->facet_room, h->n_facets + 1, sizeof *h->facets))
        return -1;
    tdFacet *f = &h->facets[h->n_facets];
    *f = (tdFacet){.v = {a, b, c}, .next_to = {-1, -1, -1}, .list = -1, .alive = true};
    const double *p = h->x + 3 * (int64_t)a;
    double u[3], v[3];
    td_subtract3(h->x + 3 * (int64_t)b, p, u);
    td_subtract3(h->x + 3 * (int64_t)c, p, v);
    td_cross3(u, v, f->n);
    if (!(td_unit3(f->n, 0) > 0))
        f->n[0] = f->n[1] = f->n[2] = 0; // no point is outside of it
    f->d = td_dot3(f->n, p);
    return (int32_t)h->n_facets++;
}

// Gives a point to the facet it is farthest from, among those from `first` on.
static void hand_out(tdQuickhull *h, int32_t point, int64_t first)
{
    double most = OUTSIDE * h->extent;
    int64_t to = -1;
    for (int64_t f = first; f < h->n_facets; f++)
    {
        double d = above(&h->facets[f], h->x + 3 * (int64_t)point);
        if (d > most)
        {
            most = d;
            to = f;
        }
    }
    if (to >= 0)
    {
        h->next[point] = h->facets[to].list;
        h->facets[to].list = point;
    }
}

static tdStatus first_tetrahedron(tdQuickhull *h, tdError *error)
{
    int64_t v[4] = {0, 0, 0, 0};
    double most = -1;
    for (int64_t i = 0; i < h->n; i++) // far from the first, far from that one, from their line, from their plane
        if (td_square_between(h->x + 3 * i, h->x) > most)
        {
            most = td_square_between(h->x + 3 * i, h->x);
            v[0] = i;
        }
    const double *a = h->x + 3 * v[0];
    most = 0;
    for (int64_t i = 0; i < h->n; i++)
        if (td_square_between(h->x + 3 * i, a) > most)
        {
            most = td_square_between(h->x + 3 * i, a);
            v[1] = i;
        }
    h->extent = sqrt(most);
    double u[3], w[3], n[3], best[3] = {0, 0, 0}, side = 0;
    td_subtract3(h->x + 3 * v[1], a, u);
    td_unit3(u, 0);
    most = 0;
    for (int64_t i = 0; i < h->n; i++)
    {
        td_subtract3(h->x + 3 * i, a, w);
        td_cross3(u, w, n);
        if (td_length3(n) > most)
        {
            most = td_length3(n);
            v[2] = i;
            memcpy(best, n, sizeof n);
        }
    }
    double off_line = most;
    td_unit3(best, 0);
    most = 0;
    for (int64_t i = 0; i < h->n; i++)
    {
        td_subtract3(h->x + 3 * i, a, w);
        if (fabs(td_dot3(best, w)) > most)
        {
            most = fabs(td_dot3(best, w));
            side = td_dot3(best, w);
            v[3] = i;
        }
    }
    if (!(h->extent > 0) || !(off_line > FLAT * h->extent) || !(most > FLAT * h->extent))
        return td_fail(
            error, TD_ERROR_INPUT,
            "the %lld points of a convex hull lie %s (extent %g m, thickness %g m); give it a thickness, or use a box",
            (long long)h->n,
            !(h->extent > 0)                 ? "at one place"
            : !(off_line > FLAT * h->extent) ? "on a line"
                                             : "in a plane",
            h->extent, most);
    int32_t p = (int32_t)v[0], q = (int32_t)v[side > 0 ? 2 : 1], r = (int32_t)v[side > 0 ? 1 : 2], top = (int32_t)v[3];
    const int32_t corners[4][3] = {{p, q, r}, {p, top, q}, {q, top, r}, {r, top, p}};
    static const int32_t around[4][3] = {{1, 2, 3}, {3, 2, 0}, {1, 3, 0}, {2, 1, 0}};
    for (int f = 0; f < 4; f++)
    {
        if (new_facet(h, corners[f][0], corners[f][1], corners[f][2]) < 0)
            return td_fail_memory(error, "a convex hull");
        memcpy(h->facets[f].next_to, around[f], sizeof around[f]);
    }
    for (int64_t i = 0; i < h->n; i++)
        hand_out(h, (int32_t)i, 0);
    return TD_OK;
}

// Marks what the point sees and lists the sides around it, in order. Facets in one plane with the point count as seen,
// or slivers would arise.
static bool find_horizon(tdQuickhull *h, const double *p, int32_t facet, int from)
{
    h->facets[facet].seen = true;
    if (!make_room(h, (void **)&h->seen, &h->seen_room, h->n_seen + 1, sizeof *h->seen))
        return false;
    h->seen[h->n_seen++] = facet;
    for (int i = 0; i < 3; i++)
    {
        int k = (from + i) % 3;
        int32_t other = h->facets[facet].next_to[k];
        if (h->facets[other].seen)
            continue;
        int back = 0;
        while (h->facets[other].next_to[back] != facet || h->facets[other].v[back] != h->facets[facet].v[(k + 1) % 3])
            if (++back == 3)
                return false;
        if (above(&h->facets[other], p) > -OUTSIDE * h->extent)
        {
            if (!find_horizon(h, p, other, back))
                return false;
            continue;
        }
        if (!make_room(h, (void **)&h->horizon, &h->horizon_room, 2 * (h->n_horizon + 1), sizeof *h->horizon))
            return false;
        h->horizon[2 * h->n_horizon] = other;
        h->horizon[2 * h->n_horizon + 1] = back;
        h->n_horizon++;
    }
    return true;
}

// Replaces what the facet's farthest point sees by a fan of new facets.
static bool add_point(tdQuickhull *h, int32_t facet)
{
    int32_t top = -1;
    double most = -INFINITY;
    for (int32_t i = h->facets[facet].list; i >= 0; i = h->next[i])
        if (above(&h->facets[facet], h->x + 3 * (int64_t)i) > most)
        {
            most = above(&h->facets[facet], h->x + 3 * (int64_t)i);
            top = i;
        }
    int64_t first = h->n_facets;
    h->n_horizon = h->n_seen = 0;
    if (!find_horizon(h, h->x + 3 * (int64_t)top, facet, 0) || h->n_horizon < 3)
        return false;
    for (int64_t i = 0; i < h->n_horizon; i++)
    {
        int32_t other = h->horizon[2 * i], side = h->horizon[2 * i + 1];
        int32_t b = h->facets[other].v[side], a = h->facets[other].v[(side + 1) % 3];
        int32_t made = new_facet(h, a, b, top);
        if (made < 0)
            return false;
        h->facets[made].next_to[0] = other;
        h->facets[other].next_to[side] = made;
        h->facets[made].next_to[1] = (int32_t)(first + (i + 1) % h->n_horizon);
        h->facets[made].next_to[2] = (int32_t)(first + (i + h->n_horizon - 1) % h->n_horizon);
    }
    for (int64_t i = 0; i < h->n_horizon; i++) // the sides must form one loop
        if (h->facets[first + i].v[1] != h->facets[first + (i + 1) % h->n_horizon].v[0])
            return false;
    for (int64_t f = 0; f < h->n_seen; f++)
    {
        tdFacet *old = &h->facets[h->seen[f]];
        old->alive = false;
        for (int32_t i = old->list, after; i >= 0; i = after)
        {
            after = h->next[i];
            if (i != top)
                hand_out(h, i, first);
        }
        old->list = -1;
    }
    return true;
}

static tdStatus grow_hull(tdQuickhull *h, tdError *error)
{
    for (int64_t f = 0; f < h->n_facets; f++) // new facets come behind
    {
        if (!h->facets[f].alive || h->facets[f].list < 0)
            continue;
        if (++h->added > 4 * TD_HULL_POINTS)
            return td_fail(error, TD_ERROR_INPUT,
                           "a convex hull has more than %d corners; simplify its mesh, or use it as a mesh",
                           TD_HULL_POINTS);
        bool added = add_point(h, (int32_t)f);
        if (h->starved)
            return td_fail_memory(error, "a convex hull");
        if (!added)
            return td_fail(error, TD_ERROR_INPUT,
                           "the convex hull of %lld points breaks down near point %d; move the points that nearly "
                           "coincide apart, or use the mesh itself",
                           (long long)h->n, h->facets[f].list);
    }
    return TD_OK;
}

// ---------------------------------------------------------------- polygons

static int32_t root_of(int32_t *group, int32_t f)
{
    while (group[f] != f)
        f = group[f] = group[group[f]];
    return f;
}

static bool one_plane(const tdQuickhull *h, const tdFacet *a, const tdFacet *b)
{
    for (int k = 0; k < 3; k++)
        if (fabs(above(a, h->x + 3 * (int64_t)b->v[k])) > ONE_PLANE * h->extent ||
            fabs(above(b, h->x + 3 * (int64_t)a->v[k])) > ONE_PLANE * h->extent)
            return false;
    return true;
}

typedef struct tdPolygons
{
    int32_t *group;  ///< of each facet
    int32_t *meets;  ///< groups at each point
    int32_t *number; ///< of each point among the corners, -1: none
    int32_t *after;  ///< next corner round the face at hand, by point
    int32_t *start;  ///< first side of each group, -1: none
    int32_t *chain;  ///< next side of the same group; side k of facet f is 3 f + k
} tdPolygons;

// The corners round the group of facet f, starting at its first; 0 where they do not form one loop.
static int walk(const tdQuickhull *h, const tdPolygons *p, int32_t g, int32_t *out, int room)
{
    int64_t sides = 0;
    int32_t start = -1;
    for (int32_t side = p->start[g]; side >= 0; side = p->chain[side])
    {
        const tdFacet *f = &h->facets[side / 3];
        int k = side % 3;
        p->after[f->v[k]] = f->v[(k + 1) % 3];
        start = start < 0 || f->v[k] < start ? f->v[k] : start;
        sides++;
    }
    int n = 0;
    int32_t at = start;
    for (int64_t i = 0; i < sides; i++)
    {
        if (i > 0 && at == start)
            return 0;
        if (p->meets[at] >= 3)
        {
            if (n == room)
                return 0;
            out[n++] = at;
        }
        at = p->after[at];
    }
    return at == start ? n : 0;
}

static void face_plane(const tdHull *hull, int face, double plane[4])
{
    int32_t first = hull->first[face], end = hull->first[face + 1];
    const double *a = hull->x + 3 * hull->corner[first];
    plane[0] = plane[1] = plane[2] = 0;
    for (int32_t i = first + 1; i + 1 < end; i++)
    {
        double u[3], v[3], n[3];
        td_subtract3(hull->x + 3 * hull->corner[i], a, u);
        td_subtract3(hull->x + 3 * hull->corner[i + 1], a, v);
        td_cross3(u, v, n);
        for (int k = 0; k < 3; k++)
            plane[k] += n[k];
    }
    td_unit3(plane, 0);
    plane[3] = -INFINITY;
    for (int32_t i = first; i < end; i++)
        plane[3] = fmax(plane[3], td_dot3(plane, hull->x + 3 * hull->corner[i]));
}

// Edges and neighbours from the polygons: each side a -> b has one partner b -> a.
static tdStatus join_edges(tdArena *arena, tdHull *hull, tdError *error)
{
    int sides = hull->first[hull->n_faces];
    hull->n_edges = sides / 2;
    hull->edge = TD_TAKE(arena, int32_t, 4 * (size_t)hull->n_edges);
    hull->ring = TD_TAKE(arena, int32_t, hull->n_points + 1);
    hull->near_to = TD_TAKE(arena, int32_t, sides);
    int32_t *of_face = TD_TAKE(arena, int32_t, sides);
    if (hull->edge == NULL || hull->ring == NULL || hull->near_to == NULL || of_face == NULL)
        return td_fail_memory(error, "a convex hull");
    for (int i = 0; i < sides; i++)
        hull->ring[hull->corner[i] + 1]++;
    for (int i = 0; i < hull->n_points; i++)
        hull->ring[i + 1] += hull->ring[i];
    for (int f = 0; f < hull->n_faces; f++)
        for (int32_t i = hull->first[f]; i < hull->first[f + 1]; i++)
        {
            int32_t at = hull->ring[hull->corner[i]]++;
            hull->near_to[at] = hull->corner[i + 1 < hull->first[f + 1] ? i + 1 : hull->first[f]];
            of_face[at] = f;
        }
    memmove(hull->ring + 1, hull->ring, (size_t)hull->n_points * sizeof *hull->ring);
    hull->ring[0] = 0;
    int n = 0;
    for (int a = 0; a < hull->n_points; a++)
        for (int32_t i = hull->ring[a]; i < hull->ring[a + 1]; i++)
        {
            int32_t b = hull->near_to[i], j = hull->ring[b];
            while (j < hull->ring[b + 1] && hull->near_to[j] != a)
                j++;
            if (j == hull->ring[b + 1])
                return td_fail(error, TD_ERROR_INPUT,
                               "the faces of a convex hull do not close; move points that nearly coincide apart, or "
                               "use the mesh itself");
            if (a < b && n < hull->n_edges)
            {
                int32_t edge[4] = {a, b, of_face[i], of_face[j]};
                memcpy(hull->edge + 4 * n++, edge, sizeof edge);
            }
        }
    return TD_OK;
}

static tdStatus collect(tdArena *arena, const tdQuickhull *h, tdPolygons *p, bool merged, tdHull *hull, tdError *error,
                        bool *again)
{
    int64_t alive = 0;
    *again = false;
    for (int64_t f = 0; f < h->n_facets; f++)
        p->group[f] = (int32_t)f;
    for (int64_t f = 0; f < h->n_facets && merged; f++)
        for (int k = 0; k < 3 && h->facets[f].alive; k++)
            if (one_plane(h, &h->facets[f], &h->facets[h->facets[f].next_to[k]]))
                p->group[root_of(p->group, (int32_t)f)] = root_of(p->group, h->facets[f].next_to[k]);
    for (int64_t f = 0; f < h->n_facets; f++)
    {
        p->group[f] = root_of(p->group, (int32_t)f);
        alive += h->facets[f].alive;
    }
    // At how many polygons a point is a corner: sides that leave it towards another group.
    memset(p->meets, 0, (size_t)h->n * sizeof *p->meets);
    for (int64_t f = 0; f < h->n_facets; f++)
        p->start[f] = -1;
    for (int64_t f = 0; f < h->n_facets; f++)
        for (int k = 0; k < 3 && h->facets[f].alive; k++)
            if (p->group[h->facets[f].next_to[k]] != p->group[f])
            {
                p->meets[h->facets[f].v[k]]++;
                p->chain[3 * f + k] = p->start[p->group[f]];
                p->start[p->group[f]] = (int32_t)(3 * f + k);
            }
    *hull = (tdHull){0};
    for (int64_t i = 0; i < h->n; i++)
        p->number[i] = p->meets[i] >= 3 ? hull->n_points++ : -1;
    if (hull->n_points > TD_HULL_POINTS)
        return td_fail(error, TD_ERROR_INPUT, "a convex hull has %d corners, more than %d; simplify its mesh",
                       hull->n_points, TD_HULL_POINTS);
    hull->x = TD_TAKE(arena, double, 3 * (size_t)hull->n_points);
    hull->first = TD_TAKE(arena, int32_t, alive + 1);
    hull->plane = TD_TAKE(arena, double, 4 * alive);
    hull->corner = TD_TAKE(arena, int32_t, 3 * alive);
    if (hull->x == NULL || hull->first == NULL || hull->plane == NULL || hull->corner == NULL)
        return td_fail_memory(error, "a convex hull");
    for (int64_t i = 0; i < h->n; i++)
        for (int k = 0; k < 3 && p->number[i] >= 0; k++)
        {
            hull->x[3 * p->number[i] + k] = h->x[3 * i + k];
            hull->center[k] += h->x[3 * i + k] / hull->n_points;
        }
    for (int64_t f = 0; f < h->n_facets; f++)
    {
        if (!h->facets[f].alive || p->group[f] != f)
            continue;
        int32_t *to = hull->corner + hull->first[hull->n_faces];
        int n = walk(h, p, (int32_t)f, to, (int)(3 * alive) - hull->first[hull->n_faces]);
        for (int i = 0; i < n; i++)
            to[i] = p->number[to[i]];
        if (n < 3)
            *again = true;
        hull->first[hull->n_faces + 1] = hull->first[hull->n_faces] + n;
        face_plane(hull, hull->n_faces, hull->plane + 4 * hull->n_faces);
        hull->n_faces++;
    }
    return TD_OK;
}

static tdStatus make_polygons(tdArena *arena, const tdQuickhull *h, tdHull *hull, tdError *error)
{
    tdArena scratch = {0};
    tdPolygons p = {TD_TAKE(&scratch, int32_t, h->n_facets), TD_TAKE(&scratch, int32_t, h->n),
                    TD_TAKE(&scratch, int32_t, h->n),        TD_TAKE(&scratch, int32_t, h->n),
                    TD_TAKE(&scratch, int32_t, h->n_facets), TD_TAKE(&scratch, int32_t, 3 * h->n_facets)};
    bool room =
        p.group != NULL && p.meets != NULL && p.number != NULL && p.after != NULL && p.start != NULL && p.chain != NULL;
    tdStatus status = room ? TD_OK : td_fail_memory(error, "a convex hull");
    // Triangles themselves are faces too, should their polygons not close.
    bool again = true;
    for (int pass = 0; pass < 2 && again && status == TD_OK; pass++)
        status = collect(arena, h, &p, pass == 0, hull, error, &again);
    if (status == TD_OK)
        status = again ? td_fail(error, TD_ERROR_INPUT, "the faces of a convex hull do not close") : TD_OK;
    td_arena_free(&scratch);
    return status == TD_OK ? join_edges(arena, hull, error) : status;
}

tdStatus td_shape_hull(tdArena *arena, int64_t n, const double *x, tdShape *out, tdError *error)
{
    if (n < 4 || n > TD_HULL_INPUT || x == NULL)
        return td_fail(error, TD_ERROR_INPUT, "a convex hull of %lld points; it needs 4 to %d", (long long)n,
                       TD_HULL_INPUT);
    for (int64_t i = 0; i < 3 * n; i++)
        if (!(fabs(x[i]) < 1e15))
            return td_fail(error, TD_ERROR_INPUT, "point %lld of a convex hull is not at a finite place",
                           (long long)(i / 3));
    tdQuickhull h = {.n = n, .x = x, .next = malloc((size_t)n * sizeof *h.next)};
    tdHull *hull = TD_TAKE(arena, tdHull, 1);
    tdStatus status = h.next != NULL && hull != NULL ? TD_OK : td_fail_memory(error, "a convex hull");
    if (status == TD_OK)
        status = first_tetrahedron(&h, error);
    if (status == TD_OK)
        status = grow_hull(&h, error);
    if (status == TD_OK)
        status = make_polygons(arena, &h, hull, error);
    free(h.next);
    free(h.facets);
    free(h.horizon);
    free(h.seen);
    if (status == TD_OK)
        *out = (tdShape){.type = TD_SHAPE_HULL, .hull = hull};
    return status;
}
