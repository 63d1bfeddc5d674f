// SPDX-License-Identifier: Apache-2.0
#include "mesh/decimate.h"

#include "base/memory.h"
#include "base/vector.h"
#include "mesh/edges.h"
#include "mesh/locate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH 1e-3 // of the area times the square of the length: what an edge costs besides its quadric
#define RIM    10   // times their own area: planes that hold the rim of an open surface
#define TURN   0.3  // cosine by which a triangle may turn in one step
#define THIN   0.05 // least shape of a triangle: 4 sqrt(3) area / sum of squared edges is 1 at best

/// A symmetric quadric: x' A x + 2 b' x + c, A as xx xy xz yy yz zz.
typedef struct Quadric
{
    double A[6], b[3], c;
} Quadric;

typedef struct Vertex
{
    Quadric q;
    double area;        // of the triangles around it, at the start
    int32_t head, tail; // its corners, linked by Work.next
    int32_t stamp;      // changes when its surroundings do
    int32_t mark;       // of a search
    bool gone, rim;
} Vertex;

typedef struct Candidate
{
    double cost;
    int32_t from, to, stamp_from, stamp_to;
} Candidate;

typedef struct Work
{
    const double *x;
    int64_t n_tris;
    int32_t *tris; // 3 n_tris, as they are by now
    bool *dead;    // by triangle
    int32_t *next; // by corner: the next one of the same vertex; -1: none
    Vertex *verts;
    int64_t alive; // vertices
    int64_t n_heap, heap_room;
    Candidate *heap;
    int32_t mark;
} Work;

// ---------------------------------------------------------------- quadrics

// Adds weight (n . x - d)^2.
static void add_plane(Quadric *q, const double n[3], double d, double weight)
{
    static const int pair[6][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}};
    for (int k = 0; k < 6; k++)
        q->A[k] += weight * n[pair[k][0]] * n[pair[k][1]];
    for (int k = 0; k < 3; k++)
        q->b[k] -= weight * d * n[k];
    q->c += weight * d * d;
}

// Adds the plane through p, its normal n not scaled; none without a direction.
static void add_plane_at(Quadric *q, const double n[3], const double p[3], double weight)
{
    double size = sqrt(td_dot3(n, n)), unit[3] = {n[0] / size, n[1] / size, n[2] / size};
    if (size > 0)
        add_plane(q, unit, td_dot3(unit, p), weight);
}

static void add_quadric(Quadric *q, const Quadric *other)
{
    for (int k = 0; k < 6; k++)
        q->A[k] += other->A[k];
    for (int k = 0; k < 3; k++)
        q->b[k] += other->b[k];
    q->c += other->c;
}

static double value_of(const Quadric *q, const double x[3])
{
    const double *A = q->A;
    double square = A[0] * x[0] * x[0] + A[3] * x[1] * x[1] + A[5] * x[2] * x[2] +
                    2 * (A[1] * x[0] * x[1] + A[2] * x[0] * x[2] + A[4] * x[1] * x[2]);
    return square + 2 * td_dot3(q->b, x) + q->c;
}

// ---------------------------------------------------------------- heap

static bool cheaper(const Candidate *a, const Candidate *b)
{
    if (a->cost != b->cost)
        return a->cost < b->cost;
    return a->from != b->from ? a->from < b->from : a->to < b->to;
}

static bool push(Work *w, Candidate c)
{
    if (!td_grow((void **)&w->heap, &w->heap_room, w->n_heap + 1, sizeof *w->heap))
        return false;
    int64_t at = w->n_heap++;
    for (; at > 0 && cheaper(&c, &w->heap[(at - 1) / 2]); at = (at - 1) / 2)
        w->heap[at] = w->heap[(at - 1) / 2];
    w->heap[at] = c;
    return true;
}

static Candidate pop(Work *w)
{
    Candidate top = w->heap[0], last = w->heap[--w->n_heap];
    int64_t at = 0;
    for (int64_t child = 1; child < w->n_heap; at = child, child = 2 * at + 1)
    {
        if (child + 1 < w->n_heap && cheaper(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!cheaper(&w->heap[child], &last))
            break;
        w->heap[at] = w->heap[child];
    }
    w->heap[at] = last;
    return top;
}

static bool propose(Work *w, int32_t from, int32_t to)
{
    const Vertex *a = &w->verts[from], *b = &w->verts[to];
    const double *u = w->x + 3 * (int64_t)to;
    double way[3], moved[3];
    Quadric sum = a->q;
    add_quadric(&sum, &b->q);
    td_subtract3(w->x + 3 * (int64_t)from, u, way);
    td_subtract3(u, w->x, moved); // quadrics are about the first node, where rounding is small
    double cost = fmax(0, value_of(&sum, moved)) + LENGTH * (a->area + b->area) * td_dot3(way, way);
    return push(w, (Candidate){cost, from, to, a->stamp, b->stamp});
}

// ---------------------------------------------------------------- what may be drawn together

static int32_t corner_of(const Work *w, int32_t tri, int32_t vertex)
{
    for (int32_t k = 0; k < 3; k++)
        if (w->tris[3 * (int64_t)tri + k] == vertex)
            return k;
    return -1;
}

static double area_vector(const double *a, const double *b, const double *c, double n[3])
{
    double u[3], v[3];
    td_subtract3(b, a, u);
    td_subtract3(c, a, v);
    td_cross3(u, v, n);
    return sqrt(td_dot3(n, n));
}

static double shape_of(const double *a, const double *b, const double *c)
{
    double n[3], e[3][3];
    td_subtract3(b, a, e[0]);
    td_subtract3(c, b, e[1]);
    td_subtract3(a, c, e[2]);
    double edges = td_dot3(e[0], e[0]) + td_dot3(e[1], e[1]) + td_dot3(e[2], e[2]);
    return edges > 0 ? 2 * sqrt(3.0) * area_vector(a, b, c, n) / edges : 0;
}

// Whether triangle t may have `to` in the place of `from`: it does not turn over nor become a sliver.
static bool keeps_shape(const Work *w, int32_t t, int32_t from, int32_t to)
{
    const double *before[3], *after[3];
    double n[3], m[3];
    for (int k = 0; k < 3; k++)
    {
        int32_t v = w->tris[3 * (int64_t)t + k];
        before[k] = w->x + 3 * (int64_t)v;
        after[k] = w->x + 3 * (int64_t)(v == from ? to : v);
    }
    double a = area_vector(before[0], before[1], before[2], n), b = area_vector(after[0], after[1], after[2], m);
    double shape = shape_of(before[0], before[1], before[2]);
    return td_dot3(n, m) > TURN * a * b && shape_of(after[0], after[1], after[2]) > fmin(THIN, 0.5 * shape);
}

// Whether a triangle of `to` has the two other corners of t, so that t would become its double.
static bool has_double(const Work *w, int32_t t, int32_t from, int32_t to)
{
    for (int32_t c = w->verts[to].head; c >= 0; c = w->next[c])
    {
        int shared = 0;
        for (int k = 0; k < 3; k++)
        {
            int32_t v = w->tris[3 * (int64_t)t + k];
            shared += v != from && !w->dead[c / 3] && corner_of(w, c / 3, v) >= 0;
        }
        if (shared == 2)
            return true;
    }
    return false;
}

// Edges of one triangle go along with the rim only; else the two ends have no neighbours in common but those of the
// triangles between them.
static bool may_join(Work *w, int32_t from, int32_t to)
{
    int32_t between = 0, common = 0, seen = ++w->mark, counted = ++w->mark;
    for (int32_t c = w->verts[from].head; c >= 0; c = w->next[c])
        for (int k = 0; k < 3 && !w->dead[c / 3]; k++)
            w->verts[w->tris[c / 3 * 3 + k]].mark = seen;
    w->verts[from].mark = w->verts[to].mark = counted;
    for (int32_t c = w->verts[to].head; c >= 0; c = w->next[c])
    {
        between += !w->dead[c / 3] && corner_of(w, c / 3, from) >= 0;
        for (int k = 0; k < 3 && !w->dead[c / 3]; k++)
        {
            Vertex *v = &w->verts[w->tris[c / 3 * 3 + k]];
            common += v->mark == seen;
            v->mark = v->mark == seen ? counted : v->mark;
        }
    }
    if (between < 1 || between > 2 || common != between || (w->verts[from].rim && between != 1))
        return false;
    for (int32_t c = w->verts[from].head; c >= 0; c = w->next[c])
        if (!w->dead[c / 3] && corner_of(w, c / 3, to) < 0 &&
            (!keeps_shape(w, c / 3, from, to) || has_double(w, c / 3, from, to)))
            return false;
    return true;
}

// ---------------------------------------------------------------- the work

static void join(Work *w, int32_t from, int32_t to)
{
    Vertex *a = &w->verts[from], *b = &w->verts[to];
    for (int32_t c = a->head; c >= 0; c = w->next[c])
    {
        if (w->dead[c / 3])
            continue;
        if (corner_of(w, c / 3, to) >= 0)
            w->dead[c / 3] = true;
        else
            w->tris[c] = to;
    }
    w->next[b->tail] = a->head;
    b->tail = a->tail;
    add_quadric(&b->q, &a->q);
    b->area += a->area;
    a->gone = true;
    b->stamp++;
    w->alive--;
}

// Corners of dead triangles leave the list, and all edges of the vertex are proposed anew.
static bool refresh(Work *w, int32_t at)
{
    Vertex *v = &w->verts[at];
    int32_t seen = ++w->mark, last = -1;
    for (int32_t c = v->head; c >= 0; c = w->next[c])
    {
        if (w->dead[c / 3])
            continue;
        if (last < 0)
            v->head = c;
        else
            w->next[last] = c;
        last = c;
        for (int k = 0; k < 3; k++)
        {
            int32_t other = w->tris[c / 3 * 3 + k];
            if (other == at || w->verts[other].mark == seen)
                continue;
            w->verts[other].mark = seen;
            if (!propose(w, at, other) || !propose(w, other, at))
                return false;
        }
    }
    if (last >= 0)
        w->next[last] = -1;
    v->tail = last;
    return true;
}

static bool reduce(Work *w, int64_t nodes)
{
    while (w->alive > nodes && w->n_heap > 0)
    {
        Candidate c = pop(w);
        const Vertex *from = &w->verts[c.from], *to = &w->verts[c.to];
        if (from->gone || to->gone || from->stamp != c.stamp_from || to->stamp != c.stamp_to ||
            !may_join(w, c.from, c.to))
            continue;
        join(w, c.from, c.to);
        if (!refresh(w, c.to))
            return false;
    }
    return true;
}

// Planes of triangles around each vertex, and its corners.
static void list_corners(Work *w, int64_t n_nodes)
{
    for (int64_t i = 0; i < n_nodes; i++)
        w->verts[i] = (Vertex){.head = -1, .tail = -1, .gone = true};
    for (int64_t c = 3 * w->n_tris - 1; c >= 0; c--) // backwards, so that lists begin with the lowest
    {
        Vertex *v = &w->verts[w->tris[c]];
        const int32_t *t = w->tris + c / 3 * 3;
        double n[3], corner[3];
        w->dead[c / 3] = td_collapsed(t);
        if (w->dead[c / 3])
            continue;
        double area = area_vector(w->x + 3 * (int64_t)t[0], w->x + 3 * (int64_t)t[1], w->x + 3 * (int64_t)t[2], n);
        td_subtract3(w->x + 3 * (int64_t)t[0], w->x, corner);
        add_plane_at(&v->q, n, corner, 0.5 * area);
        v->area += 0.5 * area;
        w->next[c] = v->head;
        v->tail = v->head < 0 ? (int32_t)c : v->tail;
        v->head = (int32_t)c;
        w->alive += v->gone;
        v->gone = false;
    }
}

// Planes across an edge of one triangle hold the rim.
static void hold_rim(Work *w, const tdEdgeUse *edge)
{
    const int32_t *t = w->tris + edge->side / 3 * 3;
    const double *a = w->x + 3 * (int64_t)edge->low;
    double n[3], along[3], across[3], corner[3];
    area_vector(w->x + 3 * (int64_t)t[0], w->x + 3 * (int64_t)t[1], w->x + 3 * (int64_t)t[2], n);
    td_subtract3(w->x + 3 * (int64_t)edge->high, a, along);
    td_subtract3(a, w->x, corner);
    td_cross3(n, along, across);
    for (int k = 0; k < 2; k++)
    {
        Vertex *v = &w->verts[k == 0 ? edge->low : edge->high];
        add_plane_at(&v->q, across, corner, RIM * td_dot3(along, along));
        v->rim = true;
    }
}

static bool start(Work *w, int64_t n_nodes)
{
    int64_t n = 0;
    list_corners(w, n_nodes);
    tdEdgeUse *uses = td_sorted_edges(n_nodes, w->n_tris, w->tris, &n);
    bool good = uses != NULL;
    for (int64_t i = 0, end = 0; good && i < n; i = end)
    {
        end = td_edge_end(uses, n, i);
        if (end - i == 1)
            hold_rim(w, &uses[i]);
    }
    for (int64_t i = 0; good && i < n; i = td_edge_end(uses, n, i))
        good = propose(w, uses[i].low, uses[i].high) && propose(w, uses[i].high, uses[i].low);
    free(uses);
    return good;
}

tdStatus td_surface_decimate(int64_t n_nodes, const double *x, int64_t n_tris, const int32_t *tris, int64_t nodes,
                             int32_t *out, int64_t *out_tris, int64_t *out_nodes, tdError *error)
{
    Work w = {.x = x, .n_tris = n_tris, .tris = out};
    w.dead = td_take((size_t)n_tris + 1, sizeof *w.dead);
    w.next = td_take((size_t)n_tris + 1, 3 * sizeof *w.next);
    w.verts = td_take((size_t)n_nodes + 1, sizeof *w.verts);
    bool good = w.dead != NULL && w.next != NULL && w.verts != NULL;
    if (n_tris > 0)
        memcpy(out, tris, 3 * (size_t)n_tris * sizeof *out);
    good = good && start(&w, n_nodes) && reduce(&w, nodes);
    *out_tris = 0;
    *out_nodes = w.alive;
    for (int64_t t = 0; good && t < n_tris; t++)
        if (!w.dead[t])
            memmove(out + 3 * (*out_tris)++, out + 3 * t, 3 * sizeof *out);
    free(w.dead);
    free(w.next);
    free(w.verts);
    free(w.heap);
    return good ? TD_OK : td_fail_memory(error, "a coarser surface");
}

// ---------------------------------------------------------------- distance

static tdStatus make_locator(const double *x, int64_t n_tris, const int32_t *tris, tdMesh *mesh, tdLocator *out,
                             tdError *error)
{
    int32_t most = 0;
    for (int64_t i = 0; i < 3 * n_tris; i++)
        most = tris[i] >= most ? tris[i] + 1 : most;
    *mesh = (tdMesh){.n_nodes = most, .x = (double *)x};
    mesh->cells[TD_CELL_TRI] = (tdCells){n_tris, n_tris, (int32_t *)tris};
    return td_locator_make(mesh, out, error);
}

static double farthest(const tdLocator *to, const double *x, int64_t n_tris, const int32_t *tris, bool middles)
{
    // Corners, then middles of edges and of the triangle.
    static const double weights[7][3] = {
        {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0.5, 0.5, 0}, {0, 0.5, 0.5}, {0.5, 0, 0.5}, {1.0 / 3, 1.0 / 3, 1.0 / 3},
    };
    double most = 0;
    for (int64_t t = 0; t < n_tris; t++)
        for (int s = 0; s < (middles ? 7 : 3); s++)
        {
            double p[3] = {0, 0, 0};
            tdPlace place;
            for (int k = 0; k < 3; k++)
                for (int c = 0; c < 3; c++)
                    p[c] += weights[s][k] * x[3 * (int64_t)tris[3 * t + k] + c];
            if (td_locator_find(to, p, &place))
                most = fmax(most, place.distance);
        }
    return most;
}

tdStatus td_surface_distance(const double *x, int64_t n_tris, const int32_t *tris, const double *other_x,
                             int64_t other_n_tris, const int32_t *other_tris, double *out, tdError *error)
{
    tdMesh mesh[2];
    tdLocator locator[2] = {{0}, {0}};
    *out = 0;
    tdStatus status = make_locator(x, n_tris, tris, &mesh[0], &locator[0], error);
    if (status == TD_OK)
        status = make_locator(other_x, other_n_tris, other_tris, &mesh[1], &locator[1], error);
    if (status == TD_OK)
        *out = fmax(farthest(&locator[1], x, n_tris, tris, false),
                    farthest(&locator[0], other_x, other_n_tris, other_tris, true));
    td_locator_free(&locator[0]);
    td_locator_free(&locator[1]);
    return status;
}
