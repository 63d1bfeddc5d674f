// SPDX-License-Identifier: Apache-2.0
// Do triangles enclose a volume? If every edge has two of them, walking from triangle to triangle across edges gives
// each part one consistent side, or finds that it has none. Which side is outside follows from the sign of
//
//     V = 1/6 sum (a - o) . (b - o) x (c - o)
//
// and, for a part within another, from how often the others wind round it: sum of solid angles / 4 pi.
#include "base/memory.h"
#include "base/vector.h"
#include "mesh/edges.h"
#include "mesh/topology.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLAT 1e-12 // of the volume that the area could enclose; less is rounding

// A connected part: a run of the walk.
typedef struct surfacePart
{
    int64_t first, end;
    double min[3], max[3];
    double volume, area;
    bool inner; // within another
    bool turn;  // all of it
} surfacePart;

typedef struct surfaceWalk
{
    const double *x;
    int64_t n_tris;
    const int32_t *tris;
    int64_t *across; // 3 n_tris: the side on the other side of the edge, -1: none
    int64_t *order;  // triangles as reached, part after part
    uint8_t *state;  // of each triangle
    int64_t n_parts;
    surfacePart *parts;
} surfaceWalk;

enum
{
    REACHED = 1,
    TURN = 2, // round
    FIRST = 4 // of its part
};

// ---------------------------------------------------------------- edges

static void count_edge(int64_t *count, int32_t first[2], int32_t a, int32_t b)
{
    if ((*count)++ == 0)
    {
        first[0] = a;
        first[1] = b;
    }
}

static bool join_edges(int64_t n_nodes, surfaceWalk *walk, tdClosedResult *out)
{
    int64_t n = 0;
    tdEdgeUse *uses = td_sorted_edges(n_nodes, walk->n_tris, walk->tris, &n);
    if (uses == NULL)
        return false;
    for (int64_t i = 0; i < 3 * walk->n_tris; i++)
        walk->across[i] = -1;
    for (int64_t i = 0, end = 0; i < n; i = end)
    {
        end = td_edge_end(uses, n, i);
        if (end - i == 1)
            count_edge(&out->open, out->open_edge, uses[i].low, uses[i].high);
        else if (end - i > 2)
            count_edge(&out->crowded, out->crowded_edge, uses[i].low, uses[i].high);
        else
        {
            walk->across[uses[i].side] = uses[i + 1].side;
            walk->across[uses[i + 1].side] = uses[i].side;
        }
    }
    free(uses);
    return true;
}

// Do the triangles run along their common edge in the same direction, as the file has them?
static bool same_direction(const int32_t *tris, int64_t side, int64_t other)
{
    return tris[side] == tris[other];
}

// Reaches all triangles connected to order[first]; returns the end of the part.
static int64_t walk_part(surfaceWalk *walk, int64_t first, tdClosedResult *out)
{
    int64_t end = first + 1;
    for (int64_t at = first; at < end; at++)
        for (int64_t side = 3 * walk->order[at]; side < 3 * walk->order[at] + 3; side++)
        {
            int64_t other = walk->across[side];
            if (other < 0)
                continue;
            uint8_t *next = &walk->state[other / 3];
            bool turn = ((walk->state[side / 3] & TURN) != 0) != same_direction(walk->tris, side, other);
            if ((*next & REACHED) == 0)
            {
                *next = (uint8_t)(REACHED | (turn ? TURN : 0));
                walk->order[end++] = other / 3;
            }
            else if (((*next & TURN) != 0) != turn && side < other)
                count_edge(&out->one_sided, out->one_sided_edge, walk->tris[side], walk->tris[td_next_side(side)]);
        }
    return end;
}

static int64_t walk_all(surfaceWalk *walk, tdClosedResult *out)
{
    int64_t end = 0;
    for (int64_t t = 0; t < walk->n_tris; t++)
    {
        if ((walk->state[t] & REACHED) != 0 || td_collapsed(walk->tris + 3 * t))
            continue;
        walk->state[t] = REACHED | FIRST;
        walk->order[end] = t;
        end = walk_part(walk, end, out);
        out->parts++;
    }
    return end;
}

// ---------------------------------------------------------------- sides

// Corners as they will be: turned round where the walk says so.
static void corners(const surfaceWalk *walk, int64_t tri, const double *p[3])
{
    const int32_t *t = walk->tris + 3 * tri;
    bool turn = (walk->state[tri] & TURN) != 0;
    p[0] = walk->x + 3 * (int64_t)t[0];
    p[1] = walk->x + 3 * (int64_t)t[turn ? 2 : 1];
    p[2] = walk->x + 3 * (int64_t)t[turn ? 1 : 2];
}

// Corners from o.
static void corners_from(const surfaceWalk *walk, int64_t tri, const double o[3], double v[3][3])
{
    const double *p[3];
    corners(walk, tri, p);
    for (int i = 0; i < 3; i++)
        td_subtract3(p[i], o, v[i]);
}

// Twice the area.
static double area_of(const surfaceWalk *walk, int64_t tri, double *longest)
{
    const double *p[3];
    double v[3][3], n[3], third[3];
    corners(walk, tri, p);
    corners_from(walk, tri, p[0], v);
    td_cross3(v[1], v[2], n);
    td_subtract3(v[2], v[1], third);
    *longest = fmax(td_dot3(v[1], v[1]), fmax(td_dot3(v[2], v[2]), td_dot3(third, third)));
    return sqrt(td_dot3(n, n));
}

static void count_degenerate(const surfaceWalk *walk, tdClosedResult *out)
{
    for (int64_t t = 0; t < walk->n_tris; t++)
    {
        double longest, area = area_of(walk, t, &longest);
        if (!(area > 1e-14 * longest) && out->degenerate++ == 0)
            out->degenerate_tri = t;
    }
}

static void measure_part(const surfaceWalk *walk, surfacePart *part)
{
    const double *o = walk->x + 3 * (int64_t)walk->tris[3 * walk->order[part->first]];
    memcpy(part->min, o, sizeof part->min);
    memcpy(part->max, o, sizeof part->max);
    for (int64_t i = part->first; i < part->end; i++)
    {
        double v[3][3], longest;
        corners_from(walk, walk->order[i], o, v);
        part->volume += td_triple3(v[0], v[1], v[2]) / 6;
        part->area += 0.5 * area_of(walk, walk->order[i], &longest);
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 3; k++)
            {
                part->min[k] = fmin(part->min[k], o[k] + v[c][k]);
                part->max[k] = fmax(part->max[k], o[k] + v[c][k]);
            }
    }
}

// Is p inside the part?
static bool winds_round(const surfaceWalk *walk, const surfacePart *part, const double p[3])
{
    double sum = 0;
    for (int64_t i = part->first; i < part->end; i++)
    {
        double v[3][3];
        corners_from(walk, walk->order[i], p, v);
        sum += td_solid_angle(v[0], v[1], v[2]);
    }
    return fabs(sum) > 8 * atan(1); // half of 4 pi
}

// How many parts are around this one? It is inside of what they enclose when the number is odd.
static bool is_inner(const surfaceWalk *walk, int64_t number)
{
    const surfacePart *part = &walk->parts[number];
    const double *p[3];
    // The middle of a triangle: corners are where parts touch.
    corners(walk, walk->order[part->first], p);
    double middle[3];
    for (int k = 0; k < 3; k++)
        middle[k] = (p[0][k] + p[1][k] + p[2][k]) / 3;
    int depth = 0;
    for (int64_t i = 0; i < walk->n_parts; i++)
    {
        const surfacePart *other = &walk->parts[i];
        bool within = i != number;
        for (int k = 0; k < 3; k++)
            within = within && other->min[k] <= part->min[k] && part->max[k] <= other->max[k];
        depth += within && winds_round(walk, other, middle);
    }
    return depth % 2 == 1;
}

// Turns the parts to their right side; the walk has made each consistent.
static void choose_sides(surfaceWalk *walk, int64_t reached, tdClosedResult *out)
{
    for (int64_t i = 0; i < reached; i++)
    {
        if ((walk->state[walk->order[i]] & FIRST) != 0)
            walk->parts[walk->n_parts++].first = i;
        walk->parts[walk->n_parts - 1].end = i + 1;
    }
    for (int64_t i = 0; i < walk->n_parts; i++)
        measure_part(walk, &walk->parts[i]);
    for (int64_t i = 0; i < walk->n_parts; i++)
    {
        surfacePart *part = &walk->parts[i];
        part->inner = is_inner(walk, i);
        bool flat = !(fabs(part->volume) > FLAT * part->area * sqrt(part->area));
        part->turn = !flat && (part->volume < 0) != part->inner;
        out->inner += part->inner;
        out->flat += flat;
        out->volume += part->turn ? -part->volume : part->volume;
    }
}

static void turn_triangles(const surfaceWalk *walk, int32_t *tris, tdClosedResult *out)
{
    for (int64_t p = 0; p < walk->n_parts; p++)
        for (int64_t i = walk->parts[p].first; i < walk->parts[p].end; i++)
        {
            int64_t tri = walk->order[i];
            int32_t *t = tris + 3 * tri, kept = t[1];
            if (((walk->state[tri] & TURN) != 0) == walk->parts[p].turn)
                continue;
            t[1] = t[2];
            t[2] = kept;
            out->turned++;
        }
}

// ---------------------------------------------------------------- all of it

static tdStatus examine(int64_t n_nodes, surfaceWalk *walk, tdClosedResult *out, tdError *error)
{
    if (walk->across == NULL || walk->order == NULL || walk->state == NULL || !join_edges(n_nodes, walk, out))
        return td_fail_memory(error, "the edges of a surface");
    int64_t reached = walk_all(walk, out);
    count_degenerate(walk, out);
    out->closed = reached > 0 && out->open == 0 && out->crowded == 0 && out->one_sided == 0;
    if (!out->closed)
        return TD_OK;
    if (out->parts > TD_CLOSED_PARTS)
        return td_fail(
            error, TD_ERROR_INPUT,
            "the surface has %lld separate parts, inside and outside can be determined for at most %d; remove those "
            "that do not matter",
            (long long)out->parts, TD_CLOSED_PARTS);
    walk->parts = td_take((size_t)out->parts, sizeof *walk->parts);
    if (walk->parts == NULL)
        return td_fail_memory(error, "the parts of a surface");
    choose_sides(walk, reached, out);
    return TD_OK;
}

static tdStatus start(int64_t n_nodes, const double *x, int64_t n_tris, const int32_t *tris, surfaceWalk *walk,
                      tdClosedResult *out, tdError *error)
{
    *out = (tdClosedResult){0};
    *walk = (surfaceWalk){.x = x, .n_tris = n_tris, .tris = tris};
    if (n_tris <= 0)
        return TD_OK;
    walk->across = td_take((size_t)n_tris, 3 * sizeof *walk->across);
    walk->order = td_take((size_t)n_tris, sizeof *walk->order);
    walk->state = td_take((size_t)n_tris, sizeof *walk->state);
    return examine(n_nodes, walk, out, error);
}

static void finish(surfaceWalk *walk)
{
    free(walk->across);
    free(walk->order);
    free(walk->state);
    free(walk->parts);
}

tdStatus td_surface_closed(int64_t n_nodes, const double *x, int64_t n_tris, int32_t *tris, tdClosedResult *out,
                           tdError *error)
{
    surfaceWalk walk;
    tdStatus status = start(n_nodes, x, n_tris, tris, &walk, out, error);
    if (status == TD_OK)
        turn_triangles(&walk, tris, out);
    finish(&walk);
    return status;
}

tdStatus td_surface_inner(int64_t n_nodes, const double *x, int64_t n_tris, const int32_t *tris, int32_t *inner,
                          int32_t *n_inner, tdError *error)
{
    surfaceWalk walk;
    tdClosedResult result;
    tdStatus status = start(n_nodes, x, n_tris, tris, &walk, &result, error);
    *n_inner = 0;
    for (int64_t t = 0; t < n_tris; t++)
        inner[t] = -1;
    for (int64_t p = 0; status == TD_OK && p < walk.n_parts; p++)
    {
        const surfacePart *part = &walk.parts[p];
        for (int64_t i = part->first; i < part->end && part->inner; i++)
            inner[walk.order[i]] = *n_inner;
        *n_inner += part->inner;
    }
    finish(&walk);
    return status;
}

static void tell_edge(const char *what, int64_t count, const int32_t edge[2], const double *x, const char *advice,
                      char *out, size_t size)
{
    const double *a = x + 3 * (int64_t)edge[0], *b = x + 3 * (int64_t)edge[1];
    snprintf(out, size, "%s %lld edge%s, the first from (%g, %g, %g) to (%g, %g, %g); %s", what, (long long)count,
             count == 1 ? "" : "s", a[0], a[1], a[2], b[0], b[1], b[2], advice);
}

void td_closed_reason(const tdClosedResult *r, const double *x, char *out, size_t size)
{
    if (size > 0)
        out[0] = '\0';
    if (r->open > 0)
        tell_edge("the surface is open, with one triangle only at", r->open, r->open_edge, x,
                  "fill the holes and merge nodes at the same place ('tendril convert IN OUT --merge')", out, size);
    else if (r->crowded > 0)
        tell_edge("the surface branches, with more than two triangles at", r->crowded, r->crowded_edge, x,
                  "remove inner walls and repeated triangles", out, size);
    else if (r->one_sided > 0)
        tell_edge("the surface has one side only: it does not separate inside from outside across", r->one_sided,
                  r->one_sided_edge, x, "correct how its triangles are connected", out, size);
    else if (!r->closed)
        snprintf(out, size, "the surface has no triangles with three different nodes; give one that encloses a volume");
    else if (r->flat == r->parts)
        snprintf(out, size, "the surface is flat: it encloses nothing; give one that encloses a volume");
}
