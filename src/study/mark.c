// SPDX-License-Identifier: Apache-2.0
#include "study/mark.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AROUND 16 // corners of a circle
#define RINGS  7  // circles of a ball between its poles

void td_mark_free(tdMarkMesh *marks)
{
    free(marks->x);
    free(marks->value);
    free(marks->tris);
    *marks = (tdMarkMesh){0};
}

static bool grow(tdMarkMesh *m, int64_t nodes, int64_t tris)
{
    if (m->n_nodes + nodes > INT32_MAX / 4 || m->n_tris + tris > INT32_MAX / 4)
        return false;
    if (m->n_nodes + nodes > m->nodes_capacity)
    {
        int64_t capacity = 2 * (m->n_nodes + nodes);
        double *x = realloc(m->x, (size_t)capacity * 3 * sizeof *x);
        m->x = x != NULL ? x : m->x;
        double *value = x != NULL ? realloc(m->value, (size_t)capacity * sizeof *value) : NULL;
        m->value = value != NULL ? value : m->value;
        if (value == NULL)
            return false;
        m->nodes_capacity = capacity;
    }
    if (m->n_tris + tris > m->tris_capacity)
    {
        int64_t capacity = 2 * (m->n_tris + tris);
        int32_t *list = realloc(m->tris, (size_t)capacity * 3 * sizeof *list);
        if (list == NULL)
            return false;
        m->tris = list;
        m->tris_capacity = capacity;
    }
    return true;
}

static void add_node(tdMarkMesh *m, const double x[3], double value)
{
    memcpy(m->x + 3 * m->n_nodes, x, 3 * sizeof *x);
    m->value[m->n_nodes++] = value;
}

static void add_tri(tdMarkMesh *m, int64_t a, int64_t b, int64_t c)
{
    int32_t *t = m->tris + 3 * m->n_tris++;
    t[0] = (int32_t)a;
    t[1] = (int32_t)b;
    t[2] = (int32_t)c;
}

// Joins two circles of AROUND nodes each.
static void add_band(tdMarkMesh *m, int64_t a, int64_t b)
{
    for (int i = 0; i < AROUND; i++)
    {
        int j = (i + 1) % AROUND;
        add_tri(m, a + i, a + j, b + j);
        add_tri(m, a + i, b + j, b + i);
    }
}

bool td_mark_ball(tdMarkMesh *m, const double centre[3], double radius, double value)
{
    if (!grow(m, AROUND * RINGS + 2, 2 * AROUND * RINGS))
        return false;
    int64_t first = m->n_nodes;
    for (int r = 0; r < RINGS; r++)
        for (int i = 0; i < AROUND; i++)
        {
            double up = M_PI * (r + 1) / (RINGS + 1), around = 2 * M_PI * i / AROUND;
            add_node(m,
                     (double[]){centre[0] + radius * sin(up) * cos(around), centre[1] + radius * sin(up) * sin(around),
                                centre[2] + radius * cos(up)},
                     value);
        }
    add_node(m, (double[]){centre[0], centre[1], centre[2] + radius}, value);
    add_node(m, (double[]){centre[0], centre[1], centre[2] - radius}, value);
    int64_t top = m->n_nodes - 2, last = first + AROUND * (RINGS - 1);
    for (int r = 0; r + 1 < RINGS; r++)
        add_band(m, first + AROUND * r, first + AROUND * (r + 1));
    for (int i = 0; i < AROUND; i++)
    {
        add_tri(m, top, first + i, first + (i + 1) % AROUND);
        add_tri(m, top + 1, last + (i + 1) % AROUND, last + i);
    }
    return true;
}

// A tube whose circles have the radii ra at a and rb at b.
static bool tube(tdMarkMesh *m, const double a[3], const double b[3], double ra, double rb, double value)
{
    double d[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]}, length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    if (!(length > 0))
        return true;
    if (!grow(m, 2 * AROUND, 2 * AROUND))
        return false;
    // The axis of the world that is least along the rod gives its circles a direction to start from.
    int least = 0;
    for (int k = 0; k < 3; k++)
    {
        d[k] /= length;
        least = fabs(d[k]) < fabs(d[least]) ? k : least;
    }
    double u[3], v[3], size = 0;
    for (int k = 0; k < 3; k++)
    {
        u[k] = (k == least) - d[least] * d[k];
        size += u[k] * u[k];
    }
    for (int k = 0; k < 3; k++)
        u[k] /= sqrt(size);
    for (int k = 0; k < 3; k++)
        v[k] = d[(k + 1) % 3] * u[(k + 2) % 3] - d[(k + 2) % 3] * u[(k + 1) % 3];
    int64_t first = m->n_nodes;
    for (int end = 0; end < 2; end++)
        for (int i = 0; i < AROUND; i++)
        {
            double radius = end == 0 ? ra : rb, x[3];
            double c = radius * cos(2 * M_PI * i / AROUND), s = radius * sin(2 * M_PI * i / AROUND);
            for (int k = 0; k < 3; k++)
                x[k] = (end == 0 ? a : b)[k] + c * u[k] + s * v[k];
            add_node(m, x, value);
        }
    add_band(m, first, first + AROUND);
    return true;
}

bool td_mark_rod(tdMarkMesh *m, const double a[3], const double b[3], double radius, double value)
{
    return tube(m, a, b, radius, radius, value);
}

bool td_mark_arrow(tdMarkMesh *m, const double from[3], const double to[3], double radius, double value)
{
    double neck[3], length = 0;
    for (int k = 0; k < 3; k++)
        length += (to[k] - from[k]) * (to[k] - from[k]);
    length = sqrt(length);
    double head = fmin(6 * radius, 0.5 * length);
    for (int k = 0; k < 3; k++)
        neck[k] = length > 0 ? to[k] - head / length * (to[k] - from[k]) : from[k];
    return tube(m, from, neck, radius, radius, value) && tube(m, neck, to, fmin(2.6 * radius, 0.45 * head), 0, value);
}

bool td_mark_cross(tdMarkMesh *m, const double centre[3], double reach, double radius)
{
    bool good = true;
    for (int k = 0; k < 3 && good; k++)
    {
        double a[3], b[3];
        memcpy(a, centre, sizeof a);
        memcpy(b, centre, sizeof b);
        a[k] -= reach;
        b[k] += reach;
        good = td_mark_rod(m, a, b, radius, 0) && td_mark_ball(m, a, radius, 0) && td_mark_ball(m, b, radius, 0);
    }
    return good;
}

bool td_mark_triangles(tdMarkMesh *m, int64_t n, const double *x, int64_t n_tris, const int32_t *tris, double value)
{
    if (!grow(m, n, n_tris))
        return false;
    int64_t first = m->n_nodes;
    for (int64_t i = 0; i < n; i++)
        add_node(m, x + 3 * i, value);
    for (int64_t t = 0; t < n_tris; t++)
        add_tri(m, first + tris[3 * t], first + tris[3 * t + 1], first + tris[3 * t + 2]);
    return true;
}
