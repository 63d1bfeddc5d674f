// SPDX-License-Identifier: Apache-2.0
// What makes a body sit in its place: darker creases, from the depth of the picture alone, and a
// soft shadow on the ground, by casting the triangles from many points of a large lamp.
#include "render/raster.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_OPACITY 0.3 // of what throws a shadow on the ground

#define BAND   16
#define PROBES 20   // depths looked at around a pixel
#define REACH  0.18 // of an occluder, relative to the size of what is drawn

#define TURNS 16 // the probes' spiral is turned from pixel to pixel, 4 x 4 ways

typedef struct Occlusion
{
    const tdFrame *frame;
    const tdCamera *camera;
    float *raw, *smooth;
    float probe[TURNS][PROBES][2]; // relative to the reach
} Occlusion;

static void place_probes(Occlusion *o)
{
    for (int t = 0; t < TURNS; t++)
        for (int i = 0; i < PROBES; i++)
        {
            double share = (i + 0.5) / PROBES, angle = 2 * M_PI * (t * 1.37 / TURNS + share * 7);
            o->probe[t][i][0] = (float)(share * cos(angle));
            o->probe[t][i][1] = (float)(share * sin(angle));
        }
}

// Share of the sky above a pixel that nearby surfaces hide (McGuire et al. 2011, eq. 10).
static double hidden(const Occlusion *o, int px, int py)
{
    const tdFrame *f = o->frame;
    size_t at = (size_t)py * (size_t)f->width + (size_t)px;
    double z = f->depth[at], reach = REACH * o->camera->radius;
    double w = o->camera->distance > 0 ? o->camera->distance / (o->camera->distance - z) : 1;
    double pixels = reach * o->camera->scale * w, sum = 0;
    // The smoothing afterwards has about the size of the pattern of turns.
    const float(*probe)[2] = o->probe[((px & 3) * 4 + (py & 3) * 7) % TURNS];
    const float *n = f->normal + 3 * at;
    for (int i = 0; i < PROBES; i++)
    {
        int x = px + (int)lrint(pixels * probe[i][0]), y = py + (int)lrint(pixels * probe[i][1]);
        if (x < 0 || y < 0 || x >= f->width || y >= f->height)
            continue;
        double there = f->depth[(size_t)y * (size_t)f->width + (size_t)x];
        if (!isfinite(there))
            continue;
        double v[3] = {(x - px) / (o->camera->scale * w), (py - y) / (o->camera->scale * w), there - z};
        double vv = v[0] * v[0] + v[1] * v[1] + v[2] * v[2], vn = v[0] * n[0] + v[1] * n[1] + v[2] * n[2];
        double near = fmax(reach * reach - vv, 0) / (reach * reach);
        sum += near * near * fmax(vn - 0.04 * reach - 0.06 * sqrt(vv), 0) / (vv + 1e-4 * reach * reach) * reach;
    }
    return sum / PROBES;
}

static void occlude_band(void *context, int b)
{
    Occlusion *o = context;
    const tdFrame *f = o->frame;
    for (int y = b * BAND; y < (b + 1) * BAND && y < f->height; y++)
        for (int x = 0; x < f->width; x++)
        {
            size_t at = (size_t)y * (size_t)f->width + (size_t)x;
            o->raw[at] = isfinite(f->depth[at]) ? (float)fmax(1 - 1.3 * hidden(o, x, y), 0.3) : 1.0f;
        }
}

// Mean over 5 x 5 pixels of about the same depth.
static void smooth_band(void *context, int b)
{
    Occlusion *o = context;
    const tdFrame *f = o->frame;
    double same = 0.06 * o->camera->radius;
    for (int y = b * BAND; y < (b + 1) * BAND && y < f->height; y++)
        for (int x = 0; x < f->width; x++)
        {
            size_t at = (size_t)y * (size_t)f->width + (size_t)x;
            double sum = 0, weight = 0;
            for (int j = y - 2; j <= y + 2; j++)
                for (int i = x - 2; i <= x + 2; i++)
                {
                    if (i < 0 || j < 0 || i >= f->width || j >= f->height)
                        continue;
                    size_t k = (size_t)j * (size_t)f->width + (size_t)i;
                    double w = k == at || fabs((double)f->depth[k] - f->depth[at]) < same ? 1 : 0;
                    sum += w * o->raw[k];
                    weight += w;
                }
            o->smooth[at] = (float)(sum / weight);
        }
}

tdStatus td_occlusion(const tdFrame *frame, const tdCamera *camera, tdTasks *tasks, float **factor, tdError *error)
{
    size_t pixels = (size_t)frame->width * (size_t)frame->height;
    Occlusion o = {.frame = frame, .camera = camera};
    o.raw = td_take(pixels, sizeof(float));
    o.smooth = td_take(pixels, sizeof(float));
    if (o.raw == NULL || o.smooth == NULL)
    {
        free(o.raw);
        free(o.smooth);
        return td_fail_memory(error, "the picture's occlusion");
    }
    place_probes(&o);
    td_parallel(tasks, td_pieces(frame->height, BAND), occlude_band, &o);
    td_parallel(tasks, td_pieces(frame->height, BAND), smooth_band, &o);
    free(o.raw);
    *factor = o.smooth;
    return TD_OK;
}

// ---------------------------------------------------------------- ground

#define LAMPS 96 // points of the lamp, cast in groups that run in parallel
#define GROUP 12
#define LAMP  0.42 // radius of the lamp: slope of its outermost light against the middle's
#define CELLS 384  // of the ground along a side

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// Slope of the light from the lamp's middle: the shift on the ground per unit of height.
static void lamp_tilt(const tdCamera *camera, const tdGround *ground, double tilt[2])
{
    double key[3];
    for (int k = 0; k < 3; k++)
        key[k] = -0.42 * camera->right[k] + 0.60 * camera->up[k] + 0.55 * camera->back[k] + 0.9 * camera->world_up[k];
    double high = fmax(dot(key, camera->world_up), 0.5);
    tilt[0] = -key[ground->e1] / high;
    tilt[1] = -key[ground->e2] / high;
}

// Point i of a golden-angle spiral over the round lamp.
static void lamp_slope(const tdCamera *camera, const tdGround *ground, int i, double slope[2])
{
    double radius = LAMP * sqrt((i + 0.5) / LAMPS), angle = i * 2.39996322972865332;
    lamp_tilt(camera, ground, slope);
    slope[0] += radius * cos(angle);
    slope[1] += radius * sin(angle);
}

typedef struct Spot
{
    double x, y;
} Spot;

// Shadow of a point, in cells.
static Spot cast(const tdGround *ground, const double *x, const double slope[2])
{
    double h = x[ground->up] - ground->height, cells = ground->cells_per_length;
    return (Spot){(x[ground->e1] + slope[0] * h - ground->corner[0]) * cells,
                  (x[ground->e2] + slope[1] * h - ground->corner[1]) * cells};
}

static double side(Spot a, Spot b, double x, double y)
{
    return (b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x);
}

static void cast_tri(const Spot p[3], int n, uint8_t *hit)
{
    double sign = side(p[0], p[1], p[2].x, p[2].y) < 0 ? -1 : 1;
    int i0 = (int)fmax(ceil(fmin(p[0].x, fmin(p[1].x, p[2].x))), 0);
    int i1 = (int)fmin(floor(fmax(p[0].x, fmax(p[1].x, p[2].x))), n - 1);
    int j0 = (int)fmax(ceil(fmin(p[0].y, fmin(p[1].y, p[2].y))), 0);
    int j1 = (int)fmin(floor(fmax(p[0].y, fmax(p[1].y, p[2].y))), n - 1);
    for (int j = j0; j <= j1; j++)
        for (int i = i0; i <= i1; i++)
            if (!hit[j * n + i] && sign * side(p[0], p[1], i, j) >= 0 && sign * side(p[1], p[2], i, j) >= 0 &&
                sign * side(p[2], p[0], i, j) >= 0)
                hit[j * n + i] = 1;
}

// Box on the ground that holds the shadow of every lamp point.
static void ground_extent(const tdCamera *camera, int n, const tdDrawMesh *meshes, tdGround *ground)
{
    double lo[2] = {INFINITY, INFINITY}, hi[2] = {-INFINITY, -INFINITY};
    ground->cells_per_length = 1;
    double tilt[2];
    lamp_tilt(camera, ground, tilt);
    for (int m = 0; m < n; m++)
        for (int64_t t = 0; meshes[m].opacity >= LEAST_OPACITY && t < 3 * meshes[m].n_tris; t++)
        {
            const double *x = meshes[m].x + 3 * (int64_t)meshes[m].tris[t];
            Spot s = cast(ground, x, tilt);
            double spread = LAMP * (x[ground->up] - ground->height);
            lo[0] = fmin(lo[0], s.x - spread);
            lo[1] = fmin(lo[1], s.y - spread);
            hi[0] = fmax(hi[0], s.x + spread);
            hi[1] = fmax(hi[1], s.y + spread);
        }
    // Four empty cells around, so that smoothing and interpolation end at zero.
    double size = fmax(fmax(hi[0] - lo[0], hi[1] - lo[1]), 1e-6 * camera->radius);
    ground->n = CELLS;
    ground->cells_per_length = (CELLS - 9) / size;
    for (int k = 0; k < 2; k++)
        ground->corner[k] = lo[k] - 4 / ground->cells_per_length;
}

static void smooth_shade(int n, const float *from, float *to)
{
    for (int j = 1; j + 1 < n; j++)
        for (int i = 1; i + 1 < n; i++)
        {
            const float *c = from + j * n + i;
            to[j * n + i] = 0.25f * c[0] + 0.125f * (c[-1] + c[1] + c[-n] + c[n]) +
                            0.0625f * (c[-n - 1] + c[-n + 1] + c[n - 1] + c[n + 1]);
        }
}

typedef struct Cast
{
    const tdCamera *camera;
    const tdGround *ground;
    const tdDrawMesh *meshes;
    int n;
    uint8_t *hit, *count; // by group of lamp points, by cell
} Cast;

static void cast_group(void *context, int g)
{
    const Cast *c = context;
    int cells = c->ground->n * c->ground->n;
    uint8_t *hit = c->hit + (size_t)g * (size_t)cells, *count = c->count + (size_t)g * (size_t)cells;
    for (int i = g * GROUP; i < (g + 1) * GROUP; i++)
    {
        double slope[2];
        lamp_slope(c->camera, c->ground, i, slope);
        memset(hit, 0, (size_t)cells);
        for (int m = 0; m < c->n; m++)
            for (int64_t t = 0; c->meshes[m].opacity >= LEAST_OPACITY && t < c->meshes[m].n_tris; t++)
            {
                const int32_t *tri = c->meshes[m].tris + 3 * t;
                Spot p[3];
                for (int k = 0; k < 3; k++)
                    p[k] = cast(c->ground, c->meshes[m].x + 3 * (int64_t)tri[k], slope);
                cast_tri(p, c->ground->n, hit);
            }
        for (int k = 0; k < cells; k++)
            count[k] += hit[k];
    }
}

static tdStatus cast_all(const tdCamera *camera, int n, const tdDrawMesh *meshes, tdTasks *tasks, tdGround *ground,
                         tdError *error)
{
    size_t cells = (size_t)ground->n * (size_t)ground->n;
    const int groups = LAMPS / GROUP;
    Cast c = {.camera = camera, .ground = ground, .meshes = meshes, .n = n};
    c.hit = td_take(cells * (size_t)groups, 1);
    c.count = td_take(cells * (size_t)groups, 1);
    float *other = td_take(cells, sizeof(float));
    ground->shade = td_take(cells, sizeof(float));
    bool room = c.hit != NULL && c.count != NULL && other != NULL && ground->shade != NULL;
    if (room)
    {
        td_parallel(tasks, groups, cast_group, &c);
        for (size_t i = 0; i < cells * (size_t)groups; i++)
            ground->shade[i % cells] += c.count[i] * (1.0f / LAMPS);
        for (int pass = 0; pass < 3; pass++)
        {
            smooth_shade(ground->n, ground->shade, other);
            smooth_shade(ground->n, other, ground->shade);
        }
    }
    free(c.hit);
    free(c.count);
    free(other);
    return room ? TD_OK : td_fail_memory(error, "the ground's shadow");
}

static bool is_level(const tdDrawMesh *mesh, int up)
{
    bool level = mesh->n_tris > 0;
    for (int64_t t = 1; t < 3 * mesh->n_tris && level; t++)
        level = mesh->x[3 * (int64_t)mesh->tris[t] + up] == mesh->x[3 * (int64_t)mesh->tris[0] + up];
    return level;
}

tdStatus td_ground_shadow(const tdCamera *camera, int n, const tdDrawMesh *meshes, tdTasks *tasks, tdGround *ground,
                          tdError *error)
{
    *ground = (tdGround){.height = INFINITY};
    int up = camera->world_up[0] > 0 ? 0 : camera->world_up[1] > 0 ? 1 : 2;
    ground->up = up;
    ground->e1 = (up + 1) % 3;
    ground->e2 = (up + 2) % 3;
    bool any = false;
    for (int m = 0; m < n; m++)
        for (int64_t t = 0; meshes[m].opacity >= LEAST_OPACITY && t < 3 * meshes[m].n_tris; t++, any = true)
            ground->height = fmin(ground->height, meshes[m].x[3 * (int64_t)meshes[m].tris[t] + up]);
    if (!any)
        return TD_OK;
    // A floor may be below what is held up above it.
    for (int m = 0; m < n; m++)
        if (meshes[m].floor && is_level(&meshes[m], up))
            ground->height = fmin(ground->height, meshes[m].x[3 * (int64_t)meshes[m].tris[0] + up]);
    ground_extent(camera, n, meshes, ground);
    return cast_all(camera, n, meshes, tasks, ground, error);
}

double td_ground_shade(const tdGround *ground, const double x[3])
{
    double u = (x[ground->e1] - ground->corner[0]) * ground->cells_per_length;
    double v = (x[ground->e2] - ground->corner[1]) * ground->cells_per_length;
    if (ground->shade == NULL || !(u >= 0 && v >= 0 && u < ground->n - 1 && v < ground->n - 1))
        return 0;
    int i = (int)u, j = (int)v;
    double a = u - i, b = v - j;
    const float *c = ground->shade + j * ground->n + i;
    return (1 - b) * ((1 - a) * c[0] + a * c[1]) + b * ((1 - a) * c[ground->n] + a * c[ground->n + 1]);
}
