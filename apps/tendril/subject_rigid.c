// SPDX-License-Identifier: Apache-2.0
// What is drawn of links, planes and contact.
#include "subject.h"

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

bool subject_box(const Subject *s, double box[6])
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

static Part *add_part(Subject *s, int body, const tdBodyDrawing *link)
{
    static const double grey[3] = {0.60, 0.65, 0.70};
    Part *more = realloc(s->parts, ((size_t)s->n_parts + 1) * sizeof *more);
    if (more == NULL)
        return NULL;
    s->parts = more;
    Part *part = &more[s->n_parts++];
    *part = (Part){.opacity = link->coloured ? link->colour[3] : 1, .body = body, .link = link->part};
    for (int k = 0; k < 3; k++)
        part->colour[k] = link->coloured ? link->colour[k] : grey[k];
    return part;
}

static bool draw_link(Subject *s, const tdBody *body, const double *x, const tdBodyDrawing *link)
{
    Part *part = add_part(s, body->index, link);
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
    good = good && marks_triangles(&part->marks, high - low + 1, x + 3 * (int64_t)low, link->triangles, own, 0);
    free(own);
    return good;
}

static bool draw_plane(Subject *s, const tdBody *body, const double *x, const tdBodyDrawing *link)
{
    const int32_t *t = body->soft->surface + 3 * link->triangle;
    double a[3], b[3], normal[3];
    td_subtract3(x + 3 * (int64_t)t[1], x + 3 * (int64_t)t[0], a);
    td_subtract3(x + 3 * (int64_t)t[2], x + 3 * (int64_t)t[0], b);
    td_cross3(a, b, normal);
    return subject_floor(s, x + 3 * (int64_t)t[0], normal);
}

bool subject_links(Subject *s, const tdModel *model, const tdState *state, bool parts)
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
static bool fill_floor(Floor *piece, const double middle[3], const double u[3], const double v[3], double cell, int n)
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
        good = marks_triangles(&piece->marks, 4, x, 2, square, 0);
        piece->edge_mask[2 * i] = 3;
        piece->edge_mask[2 * i + 1] = 6;
    }
    return good;
}

bool subject_floor(Subject *s, const double at[3], const double normal[3])
{
    double box[6], size = 0, middle[3], away = 0, length = sqrt(td_dot3(normal, normal)), u[3], v[3], n[3];
    int least = 0;
    Floor *more = realloc(s->floors, ((size_t)s->n_floors + 1) * sizeof *more);
    if (more == NULL)
        return false;
    s->floors = more;
    Floor *piece = &more[s->n_floors++];
    *piece = (Floor){0};
    bool any = subject_box(s, box);
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

bool subject_forces(Subject *s, int64_t n, const double *points)
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
        good = marks_arrow(&s->contacts, x, to, 0.6 * s->radius, size);
        s->n_contacts++;
    }
    const char *prefix = td_si_prefix(s->force, &factor);
    snprintf(s->force_key, sizeof s->force_key, "contact forces, longest %.3g %sN", s->force / factor, prefix);
    return good;
}

// On the side that can move; of two that can on the later one of the scene.
bool subject_contacts(Subject *s, const tdModel *model, const tdState *state)
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
    bool good = subject_forces(s, n, table);
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < s->n_parts && td_dot3(points[i].force, points[i].force) > 0; k++)
            for (int side = 0; side < 2; side++)
                if (s->parts[k].body == points[i].body[side] && s->parts[k].link == points[i].link[side])
                    s->parts[k].touched = true;
    free(table);
    return good;
}

// ---------------------------------------------------------------- folders

// A plane is written as a square of 2 m, which would dwarf what stands on it.
static bool is_plane(const tdPicture *p)
{
    double u[2][3], square[2] = {0, 0}, dot = 0;
    for (int e = 0; e < 2 && p->n_tris == 2; e++)
        for (int k = 0; k < 3; k++)
        {
            const int32_t *t = p->tris;
            u[e][k] = p->mesh.x[3 * (int64_t)t[e + 1] + k] - p->mesh.x[3 * (int64_t)t[e] + k];
            square[e] += u[e][k] * u[e][k];
            dot += e == 1 ? u[0][k] * u[1][k] : 0;
        }
    return p->n_tris == 2 && fabs(square[0] - 4) < 1e-9 && fabs(square[1] - 4) < 1e-9 && fabs(dot) < 1e-9;
}

bool subject_draw_planes(Subject *s)
{
    bool good = true;
    for (int i = s->n_pictures - 1; i >= 0 && s->n_pictures > 1 && good; i--)
    {
        tdPicture p = s->pictures[i];
        double at[3] = {0, 0, 0}, a[3], b[3], normal[3];
        if (!is_plane(&p))
            continue;
        for (int k = 0; k < 3; k++)
        {
            const double *x0 = p.mesh.x + 3 * (int64_t)p.tris[0], *x1 = p.mesh.x + 3 * (int64_t)p.tris[1],
                         *x2 = p.mesh.x + 3 * (int64_t)p.tris[2];
            at[k] = x1[k];
            a[k] = x1[k] - x0[k];
            b[k] = x2[k] - x1[k];
        }
        td_cross3(a, b, normal);
        memmove(&s->pictures[i], &s->pictures[i + 1], (size_t)(s->n_pictures - i - 1) * sizeof p);
        s->n_pictures--;
        td_picture_free(&p);
        good = subject_floor(s, at, normal);
    }
    return good;
}

// Points of contacts.csv; there may be none.
tdStatus subject_read_contacts(Subject *s, int64_t step, tdError *error)
{
    char path[PATH_MAX], *table = NULL;
    size_t size = 0;
    double *points = NULL;
    int64_t n = 0, capacity = 0;
    bool good = true;
    if (!td_path_join(path, sizeof path, s->path, "contacts.csv") || access(path, F_OK) != 0)
        return TD_OK;
    TD_TRY(td_file_read(path, &table, &size, error));
    for (const char *line = strchr(table, '\n'); line != NULL && *++line != '\0' && good; line = strchr(line, '\n'))
    {
        if (strtoll(line, NULL, 10) != step)
            continue;
        good = td_grow((void **)&points, &capacity, 6 * (n + 1), sizeof *points);
        for (int k = 0; k < 6 && good; k++)
            points[6 * n + k] = subject_field(line, k < 3 ? 6 + k : 10 + k);
        n++;
    }
    good = good && subject_forces(s, n, points);
    free(points);
    free(table);
    return good ? TD_OK : td_fail_memory(error, "the contacts");
}
