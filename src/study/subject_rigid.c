// SPDX-License-Identifier: Apache-2.0
// What is drawn of links, planes and contact.
#include "study/subject.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/vector.h"
#include "body/soft.h"
#include "core/parts.h"
#include "core/state.h"
#include "render/render.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void stretch(double box[6], const double x[3])
{
    for (int k = 0; k < 3; k++)
    {
        box[k] = fmin(box[k], x[k]);
        box[3 + k] = fmax(box[3 + k], x[k]);
    }
}

bool td_subject_box(const tdSubject *s, double box[6])
{
    for (int k = 0; k < 3; k++)
    {
        box[k] = INFINITY;
        box[3 + k] = -INFINITY;
    }
    for (int p = 0; p < s->n_pictures; p++)
        for (int64_t i = 0; i < 3 * s->pictures[p].n_tris; i++)
            stretch(box, s->pictures[p].mesh.x + 3 * (int64_t)s->pictures[p].tris[i]);
    for (int p = 0; p < s->n_parts; p++)
        for (int64_t i = 0; i < s->parts[p].marks.n_nodes; i++)
            stretch(box, s->parts[p].marks.x + 3 * i);
    return box[3] >= box[0];
}

// ---------------------------------------------------------------- links

static tdSubjectPart *add_part(tdSubject *s, int body, const tdBodyDrawing *link)
{
    static const double grey[3] = {0.60, 0.65, 0.70};
    tdSubjectPart *more = realloc(s->parts, ((size_t)s->n_parts + 1) * sizeof *more);
    if (more == NULL)
        return NULL;
    s->parts = more;
    tdSubjectPart *part = &more[s->n_parts++];
    *part = (tdSubjectPart){.opacity = link->coloured ? link->colour[3] : 1, .body = body, .link = link->part};
    for (int k = 0; k < 3; k++)
        part->colour[k] = link->coloured ? link->colour[k] : grey[k];
    return part;
}

static bool draw_link(tdSubject *s, const tdBody *body, const double *x, const tdBodyDrawing *link)
{
    tdSubjectPart *part = add_part(s, body->index, link);
    if (part == NULL)
        return false;
    // Corners of its shapes follow each other.
    const int32_t *tris = body->soft->surface + 3 * link->triangle;
    int32_t low = INT32_MAX, high = 0;
    for (int64_t i = 0; i < 3 * link->triangles; i++)
    {
        low = tris[i] < low ? tris[i] : low;
        high = tris[i] > high ? tris[i] : high;
    }
    int32_t *own = malloc(3 * (size_t)link->triangles * sizeof *own);
    bool good = own != NULL;
    for (int64_t i = 0; i < 3 * link->triangles && good; i++)
        own[i] = tris[i] - low;
    good = good && td_mark_triangles(&part->marks, high - low + 1, x + 3 * (int64_t)low, link->triangles, own, 0);
    free(own);
    return good;
}

static bool draw_plane(tdSubject *s, const tdBody *body, const double *x, const tdBodyDrawing *link)
{
    const int32_t *t = body->soft->surface + 3 * link->triangle;
    double a[3], b[3], normal[3];
    td_subtract3(x + 3 * (int64_t)t[1], x + 3 * (int64_t)t[0], a);
    td_subtract3(x + 3 * (int64_t)t[2], x + 3 * (int64_t)t[0], b);
    td_cross3(a, b, normal);
    return td_subject_floor(s, x + 3 * (int64_t)t[0], normal);
}

bool td_subject_links(tdSubject *s, const tdModel *model, const tdState *state, bool parts)
{
    bool good = true;
    for (int b = 0; b < model->n_bodies && good; b++)
    {
        const tdBody *body = &model->bodies[b];
        if (body->parts == NULL)
            continue;
        const double *x = td_state_positions(model, state, b);
        for (int k = 0; k < body->parts->n_drawings && good; k++)
        {
            const tdBodyDrawing *drawing = &body->parts->drawings[k];
            if (drawing->plane != parts)
                good = parts ? draw_link(s, body, x, drawing) : draw_plane(s, body, x, drawing);
        }
    }
    return good;
}

// ---------------------------------------------------------------- planes

// Squares of a round size round the place that is nearest to the bodies; their diagonals are no edges.
static bool fill_floor(tdSubjectFloor *piece, const double middle[3], const double u[3], const double v[3], double cell,
                       int n)
{
    static const int32_t square[6] = {0, 1, 2, 0, 2, 3};
    piece->edge_mask = malloc(2 * (size_t)n * (size_t)n);
    bool good = piece->edge_mask != NULL;
    for (int i = 0; i < n * n && good; i++)
    {
        int column = i % n, row = i / n;
        double x[12];
        for (int c = 0; c < 4; c++)
        {
            double a = cell * (column - 0.5 * n + (c == 1 || c == 2)), b = cell * (row - 0.5 * n + (c >= 2));
            for (int k = 0; k < 3; k++)
                x[3 * c + k] = middle[k] + a * u[k] + b * v[k];
        }
        good = td_mark_triangles(&piece->marks, 4, x, 2, square, 0);
        piece->edge_mask[2 * i] = 3;
        piece->edge_mask[2 * i + 1] = 6;
    }
    return good;
}

bool td_subject_floor(tdSubject *s, const double at[3], const double normal[3])
{
    double box[6], size = 0, middle[3], away = 0, length = sqrt(td_dot3(normal, normal)), u[3], v[3], n[3];
    int least = 0;
    tdSubjectFloor *more = realloc(s->floors, ((size_t)s->n_floors + 1) * sizeof *more);
    if (more == NULL)
        return false;
    s->floors = more;
    tdSubjectFloor *piece = &more[s->n_floors++];
    *piece = (tdSubjectFloor){0};
    bool any = td_subject_box(s, box);
    for (int k = 0; k < 3; k++)
    {
        size = fmax(size, any ? box[3 + k] - box[k] : 2);
        middle[k] = any ? 0.5 * (box[k] + box[3 + k]) : at[k];
        n[k] = normal[k] / length;
        away += n[k] * (middle[k] - at[k]);
        least = fabs(n[k]) < fabs(n[least]) ? k : least;
    }
    for (int k = 0; k < 3; k++)
    {
        middle[k] -= away * n[k];
        u[k] = (k == least) - n[least] * n[k];
    }
    double across = sqrt(td_dot3(u, u));
    for (int k = 0; k < 3; k++)
        u[k] /= across;
    td_cross3(n, u, v);
    // Lines stand still where the bodies move: at multiples of their distance from the world's origin.
    double cell = td_nice_step(0, size, 6), along[2] = {td_dot3(middle, u), td_dot3(middle, v)};
    for (int k = 0; k < 3; k++)
        middle[k] += (cell * nearbyint(along[0] / cell) - along[0]) * u[k] +
                     (cell * nearbyint(along[1] / cell) - along[1]) * v[k];
    return fill_floor(piece, middle, u, v, cell, 2 * (int)ceil(1.1 * size / cell));
}

// ---------------------------------------------------------------- contact

bool td_subject_forces(tdSubject *s, int64_t n, const double *points)
{
    double longest = 45 * s->radius, factor = 1;
    bool good = true;
    s->force = 0;
    for (int64_t i = 0; i < n; i++)
    {
        double size = sqrt(td_dot3(points + 6 * i + 3, points + 6 * i + 3));
        s->force = isfinite(size) ? fmax(s->force, size) : s->force;
    }
    for (int64_t i = 0; i < n && good && s->force > 0; i++)
    {
        const double *x = points + 6 * i, *f = x + 3;
        double to[3], size = sqrt(td_dot3(f, f));
        if (!(size > 1e-3 * s->force)) // a dot at most
            continue;
        for (int k = 0; k < 3; k++)
            to[k] = x[k] + longest / s->force * f[k];
        good = td_mark_arrow(&s->contacts, x, to, 0.6 * s->radius, size);
        s->n_contacts++;
    }
    const char *prefix = td_si_prefix(s->force, &factor);
    snprintf(s->force_key, sizeof s->force_key, "contact forces, longest %.3g %sN", s->force / factor, prefix);
    return good;
}

// On the side that can move; of two that can on the later one of the scene.
bool td_subject_contacts(tdSubject *s, const tdModel *model, const tdState *state)
{
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(state, &points);
    double *table = calloc((size_t)n + 1, 6 * sizeof *table);
    if (table == NULL)
        return false;
    for (int64_t i = 0; i < n; i++)
    {
        const tdContactPoint *p = &points[i];
        bool moves[2] = {model->bodies[p->body[0]].count > 0, model->bodies[p->body[1]].count > 0};
        bool second = moves[0] == moves[1] ? p->body[1] >= p->body[0] : moves[1];
        for (int k = 0; k < 3; k++)
        {
            table[6 * i + k] = p->position[k];
            table[6 * i + 3 + k] = second ? p->force[k] : -p->force[k];
        }
    }
    bool good = td_subject_forces(s, n, table);
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < s->n_parts && td_dot3(points[i].force, points[i].force) > 0; k++)
            for (int side = 0; side < 2; side++)
                if (s->parts[k].body == points[i].body[side] && s->parts[k].link == points[i].link[side])
                    s->parts[k].touched = true;
    free(table);
    return good;
}
