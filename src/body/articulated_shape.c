// SPDX-License-Identifier: Apache-2.0
// Triangles that shapes of links are drawn with, and what they would weigh.
#include "base/vector.h"
#include "body/articulated.h"

#include <math.h>
#include <string.h>

#define AROUND 24  // corners of a circle
#define RINGS  6   // from a pole to the equator
#define WIDE   1.0 // half of the side of the square that stands for a plane [m]

// A body of revolution about z is drawn as rings of AROUND nodes between two poles.
static int rings_of(const tdShape *shape)
{
    switch (shape->type)
    {
    case TD_SHAPE_SPHERE: return 2 * RINGS - 1;
    case TD_SHAPE_CAPSULE: return 2 * RINGS;
    case TD_SHAPE_CYLINDER: return 2;
    default: return 0;
    }
}

void td_shape_drawing_size(const tdShape *shape, int64_t *nodes, int64_t *tris)
{
    int rings = rings_of(shape);
    *nodes = *tris = 0;
    if (rings > 0)
    {
        *nodes = 2 + rings * (int64_t)AROUND;
        *tris = 2 * rings * (int64_t)AROUND;
    }
    else if (shape->type == TD_SHAPE_BOX)
    {
        *nodes = 8;
        *tris = 12;
    }
    else if (shape->type == TD_SHAPE_PLANE)
    {
        *nodes = 4;
        *tris = 2;
    }
    else if (shape->type == TD_SHAPE_MESH)
    {
        *nodes = shape->mesh->n_nodes;
        *tris = shape->mesh->n_tris;
    }
    else if (shape->type == TD_SHAPE_HULL)
    {
        *nodes = shape->hull->n_points;
        *tris = shape->hull->first[shape->hull->n_faces] - 2 * (int64_t)shape->hull->n_faces;
    }
}

// Radius and height of ring i, counted from the lower pole.
static void ring(const tdShape *shape, int i, double *radius, double *z)
{
    int rings = rings_of(shape);
    if (shape->type == TD_SHAPE_CYLINDER)
    {
        *radius = shape->radius;
        *z = i == 0 ? -shape->half[2] : shape->half[2];
        return;
    }
    const double quarter = 2 * atan(1);
    bool above = shape->type == TD_SHAPE_CAPSULE ? i >= rings / 2 : i >= RINGS;
    int from_pole = above ? rings - i : i + 1;
    double angle = quarter * from_pole / RINGS;
    *radius = shape->radius * sin(angle);
    *z = (above ? 1 : -1) * (shape->radius * cos(angle) + shape->half[2]);
}

static void draw_round(const tdShape *shape, double *x, int32_t *tri)
{
    int rings = rings_of(shape);
    double turn = 8 * atan(1), end = shape->half[2] + (shape->type == TD_SHAPE_CYLINDER ? 0 : shape->radius);
    int32_t poles[2] = {rings * AROUND, rings * AROUND + 1};
    for (int i = 0; i < rings; i++)
        for (int k = 0; k < AROUND; k++, x += 3)
        {
            double radius, z;
            ring(shape, i, &radius, &z);
            x[0] = radius * cos(turn * k / AROUND);
            x[1] = radius * sin(turn * k / AROUND);
            x[2] = z;
        }
    const double ends[6] = {0, 0, -end, 0, 0, end};
    memcpy(x, ends, sizeof ends);
    for (int k = 0; k < AROUND; k++)
    {
        int32_t a = k, b = (k + 1) % AROUND, top = (rings - 1) * AROUND;
        const int32_t caps[6] = {poles[0], b, a, poles[1], top + a, top + b};
        memcpy(tri, caps, sizeof caps);
        tri += 6;
        for (int i = 0; i + 1 < rings; i++, tri += 6)
        {
            int32_t low = i * AROUND, high = low + AROUND;
            const int32_t sides[6] = {low + a, low + b, high + b, low + a, high + b, high + a};
            memcpy(tri, sides, sizeof sides);
        }
    }
}

static void draw_box(const double half[3], double *x, int32_t *tri)
{
    static const int32_t faces[36] = {0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4,
                                      2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5};
    for (int i = 0; i < 8; i++)
        for (int c = 0; c < 3; c++)
            x[3 * i + c] = i & 1 << c ? half[c] : -half[c];
    memcpy(tri, faces, sizeof faces);
}

void td_shape_drawing(const tdShape *shape, double *x, int32_t *tri)
{
    if (rings_of(shape) > 0)
        draw_round(shape, x, tri);
    else if (shape->type == TD_SHAPE_BOX)
        draw_box(shape->half, x, tri);
    else if (shape->type == TD_SHAPE_PLANE)
    {
        const double corners[12] = {-WIDE, -WIDE, 0, WIDE, -WIDE, 0, WIDE, WIDE, 0, -WIDE, WIDE, 0};
        const int32_t halves[6] = {0, 1, 2, 0, 2, 3};
        memcpy(x, corners, sizeof corners);
        memcpy(tri, halves, sizeof halves);
    }
    else if (shape->type == TD_SHAPE_MESH)
    {
        memcpy(x, shape->mesh->x, 3 * (size_t)shape->mesh->n_nodes * sizeof *x);
        memcpy(tri, shape->mesh->tris, 3 * (size_t)shape->mesh->n_tris * sizeof *tri);
    }
    else if (shape->type == TD_SHAPE_HULL)
    {
        const tdHull *hull = shape->hull;
        memcpy(x, hull->x, 3 * (size_t)hull->n_points * sizeof *x);
        for (int f = 0; f < hull->n_faces; f++)
            for (int32_t k = hull->first[f] + 1; k + 1 < hull->first[f + 1]; k++, tri += 3)
            {
                const int32_t fan[3] = {hull->corner[hull->first[f]], hull->corner[k], hull->corner[k + 1]};
                memcpy(tri, fan, sizeof fan);
            }
    }
}

// ---------------------------------------------------------------- mass

static void solid_box(const double h[3], double *volume, double inertia[6])
{
    *volume = 8 * h[0] * h[1] * h[2];
    for (int c = 0; c < 3; c++)
        inertia[c] = *volume / 3 * (h[(c + 1) % 3] * h[(c + 1) % 3] + h[(c + 2) % 3] * h[(c + 2) % 3]);
}

// A cylinder between two half balls, either of which may be missing.
static void solid_round(const tdShape *shape, double *volume, double inertia[6])
{
    const double pi = 4 * atan(1);
    double r = shape->radius, h = shape->half[2];
    bool caps = shape->type != TD_SHAPE_CYLINDER;
    double tube = 2 * pi * r * r * h, ball = caps ? 4.0 / 3 * pi * r * r * r : 0;
    *volume = tube + ball;
    inertia[2] = tube * r * r / 2 + ball * 0.4 * r * r;
    // Half balls have their center 3/8 r from the flat side.
    double across = tube * (r * r / 4 + h * h / 3) + ball * (0.4 * r * r + h * h + 0.75 * h * r);
    inertia[0] = inertia[1] = across;
}

// Tetrahedra between the triangles and the origin: exact integrals of 1, x and x x'.
static void solid_triangles(int64_t tris, const double *x, const int32_t *tri, double *volume, double center[3],
                            double inertia[6])
{
    double V = 0, first[3] = {0}, second[9] = {0};
    for (int64_t t = 0; t < tris; t++)
    {
        const double *p[3];
        double sum[3];
        for (int k = 0; k < 3; k++)
            p[k] = x + 3 * (int64_t)tri[3 * t + k];
        double six = td_triple3(p[0], p[1], p[2]);
        for (int i = 0; i < 3; i++)
            sum[i] = p[0][i] + p[1][i] + p[2][i];
        V += six / 6;
        for (int i = 0; i < 3; i++)
        {
            first[i] += six / 24 * sum[i];
            for (int j = 0; j < 3; j++)
                second[3 * i + j] +=
                    six / 120 * (sum[i] * sum[j] + p[0][i] * p[0][j] + p[1][i] * p[1][j] + p[2][i] * p[2][j]);
        }
    }
    *volume = V;
    for (int i = 0; i < 3; i++)
        center[i] = V != 0 ? first[i] / V : 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            second[3 * i + j] -= V * center[i] * center[j];
    for (int i = 0; i < 3; i++)
        inertia[i] = second[4 * ((i + 1) % 3)] + second[4 * ((i + 2) % 3)];
    inertia[3] = -second[1];
    inertia[4] = -second[2];
    inertia[5] = -second[5];
}

static void solid_hull(const tdHull *hull, double *volume, double center[3], double inertia[6])
{
    double V = 0, first[3] = {0}, sum[6] = {0}, c[3], I[6];
    // Face by face, each as a fan; moments are added up about the origin.
    for (int f = 0; f < hull->n_faces; f++)
        for (int32_t k = hull->first[f] + 1; k + 1 < hull->first[f + 1]; k++)
        {
            const int32_t fan[3] = {hull->corner[hull->first[f]], hull->corner[k], hull->corner[k + 1]};
            double part;
            solid_triangles(1, hull->x, fan, &part, c, I);
            V += part;
            double square = td_dot3(c, c);
            static const int pair[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
            for (int e = 0; e < 6; e++)
                sum[e] += I[e] + part * ((e < 3 ? square : 0) - c[pair[e][0]] * c[pair[e][1]]);
            for (int i = 0; i < 3; i++)
                first[i] += part * c[i];
        }
    *volume = V;
    for (int i = 0; i < 3; i++)
        center[i] = V != 0 ? first[i] / V : 0;
    double square = td_dot3(center, center);
    for (int e = 0; e < 3; e++)
        inertia[e] = sum[e] - V * (square - center[e] * center[e]);
    inertia[3] = sum[3] + V * center[0] * center[1];
    inertia[4] = sum[4] + V * center[0] * center[2];
    inertia[5] = sum[5] + V * center[1] * center[2];
}

void td_shape_mass(const tdShape *shape, double *volume, double center[3], double inertia[6])
{
    *volume = 0;
    memset(center, 0, 3 * sizeof *center);
    memset(inertia, 0, 6 * sizeof *inertia);
    switch (shape->type)
    {
    case TD_SHAPE_BOX: solid_box(shape->half, volume, inertia); break;
    case TD_SHAPE_SPHERE:
    case TD_SHAPE_CAPSULE:
    case TD_SHAPE_CYLINDER: solid_round(shape, volume, inertia); break;
    case TD_SHAPE_MESH:
        solid_triangles(shape->mesh->n_tris, shape->mesh->x, shape->mesh->tris, volume, center, inertia);
        break;
    case TD_SHAPE_HULL: solid_hull(shape->hull, volume, center, inertia); break;
    default: break;
    }
}

// ---------------------------------------------------------------- parts

// What a link is drawn with: its visual shapes or, if it has none, those for contact.
static bool is_drawn(const tdTree *tree, int s)
{
    bool visual = false;
    for (int k = 0; k < tree->n_shapes && !visual; k++)
        visual = tree->shapes[k].link == tree->shapes[s].link && tree->shapes[k].drawn;
    return visual ? tree->shapes[s].drawn : tree->shapes[s].collides;
}

bool td_articulated_part(const tdArticulated *body, tdLinkPart *part)
{
    const tdTree *tree = body->tree;
    const tdTreeShape *first = NULL;
    part->triangle += part->triangles;
    part->triangles = 0;
    for (; part->shape < tree->n_shapes; part->shape++)
    {
        const tdTreeShape *shape = &tree->shapes[part->shape];
        int64_t nodes = 0, tris = 0;
        bool plane = shape->shape.type == TD_SHAPE_PLANE;
        if (!is_drawn(tree, part->shape))
            continue;
        bool same = first != NULL && !plane && !part->plane && shape->link == first->link;
        for (int c = 0; c < 4 && same; c++)
            same = shape->colour[c] == first->colour[c];
        if (first != NULL && !same)
            break;
        first = shape;
        part->link = shape->link;
        part->plane = plane;
        part->coloured = shape->colour[0] >= 0;
        memcpy(part->colour, shape->colour, sizeof part->colour);
        td_shape_drawing_size(&shape->shape, &nodes, &tris);
        part->triangles += tris;
    }
    return first != NULL;
}
