// SPDX-License-Identifier: Apache-2.0
#include "render/render.h"

#include "base/memory.h"
#include "render/raster.h"

#include <math.h>
#include <stdlib.h>

#define BAND 16

tdDrawMesh td_default_draw(void)
{
    return (tdDrawMesh){.colour = {0.36, 0.56, 0.78}, .opacity = 1};
}

tdRenderSettings td_default_render(void)
{
    return (tdRenderSettings){
        .width = 1200,
        .height = 800,
        .supersample = 3,
        .view = {.azimuth = -60, .elevation = 22, .up = 2, .zoom = 1, .field_of_view = 24},
        .ground_shadow = true,
        .occlusion = true,
        .crease = 35,
        .line_width = 1,
        .range = {NAN, NAN},
        .legend = true,
        .triad = true,
    };
}

// ---------------------------------------------------------------- checks

static tdStatus check_settings(const tdRenderSettings *s, tdError *error)
{
    const tdView *v = &s->view;
    if (s->supersample < 1 || s->supersample > 4)
        return td_fail(error, TD_ERROR_USAGE, "%d samples along a pixel; use 1 to 4", s->supersample);
    if (!isfinite(v->azimuth) || !(fabs(v->elevation) <= 90) || v->up < 0 || v->up > 2)
        return td_fail(error, TD_ERROR_USAGE,
                       "azimuth %g and elevation %g are not a viewing direction; the elevation is from -90 to 90",
                       v->azimuth, v->elevation);
    if (!(v->zoom >= 0.01 && v->zoom <= 50))
        return td_fail(error, TD_ERROR_USAGE, "a zoom of %g; use 0.01 to 50", v->zoom);
    if (!(v->field_of_view >= 0 && v->field_of_view <= 100))
        return td_fail(error, TD_ERROR_USAGE, "a field of view of %g degrees; use 0 (parallel) to 100",
                       v->field_of_view);
    if (!(s->crease >= 0 && s->crease <= 180) || !(s->line_width > 0 && s->line_width <= 100))
        return td_fail(error, TD_ERROR_USAGE,
                       "crease angle %g and line width %g; use 0 to 180 degrees and up to 100 pixels", s->crease,
                       s->line_width);
    if (isinf(s->range[0]) || isinf(s->range[1]) || s->range[0] >= s->range[1])
        return td_fail(error, TD_ERROR_USAGE, "the colours' range from %g to %g is empty; the first must be less",
                       s->range[0], s->range[1]);
    return TD_OK;
}

static tdStatus check_mesh(const tdDrawMesh *mesh, int m, tdError *error)
{
    if (mesh->n_nodes < 0 || mesh->n_tris < 0 || mesh->n_tris > INT32_MAX / 4 || mesh->n_nodes > INT32_MAX)
        return td_fail(error, TD_ERROR_USAGE, "object %d has %lld triangles on %lld nodes, which cannot be drawn", m,
                       (long long)mesh->n_tris, (long long)mesh->n_nodes);
    if (mesh->field != NULL && mesh->tri_field != NULL)
        return td_fail(error, TD_ERROR_USAGE, "object %d has a field by node and one by triangle; give one", m);
    if (!(mesh->opacity >= 0 && mesh->opacity <= 1))
        return td_fail(error, TD_ERROR_USAGE, "object %d has an opacity of %g; use 0 to 1", m, mesh->opacity);
    for (int64_t i = 0; i < 3 * mesh->n_tris; i++)
    {
        int32_t node = mesh->tris[i];
        if (node < 0 || node >= mesh->n_nodes)
            return td_fail(error, TD_ERROR_INPUT, "triangle %lld of object %d names node %d, but there are %lld nodes",
                           (long long)(i / 3), m, node, (long long)mesh->n_nodes);
        const double *x = mesh->x + 3 * (int64_t)node;
        if (!isfinite(x[0]) || !isfinite(x[1]) || !isfinite(x[2]))
            return td_fail(error, TD_ERROR_INPUT,
                           "node %d of object %d is at (%g, %g, %g); only finite positions can be drawn", node, m, x[0],
                           x[1], x[2]);
    }
    return TD_OK;
}

static void widen(double range[2], const double more[2])
{
    range[0] = isnan(range[0]) || more[0] < range[0] ? more[0] : range[0];
    range[1] = isnan(range[1]) || more[1] > range[1] ? more[1] : range[1];
}

// The range of all fields, where the settings leave it open.
static tdStatus find_range(const tdRenderSettings *s, int n, const tdDrawMesh *meshes, bool *has_field, double range[2],
                           tdError *error)
{
    double found[2] = {NAN, NAN}, one[2];
    *has_field = false;
    for (int m = 0; m < n; m++)
    {
        const tdDrawMesh *mesh = &meshes[m];
        const double *field = mesh->field != NULL ? mesh->field : mesh->tri_field;
        *has_field = *has_field || field != NULL;
        if (field != NULL && td_field_range(mesh->field != NULL ? mesh->n_nodes : mesh->n_tris, field, one))
            widen(found, one);
    }
    range[0] = isnan(s->range[0]) ? found[0] : s->range[0];
    range[1] = isnan(s->range[1]) ? found[1] : s->range[1];
    if (!*has_field)
    {
        range[0] = 0;
        range[1] = 1;
    }
    if (isnan(range[0]) || isnan(range[1]))
        return td_fail(error, TD_ERROR_INPUT,
                       "the field holds no finite value; draw another one, or give the colours' range");
    if (range[1] < range[0])
        return td_fail(error, TD_ERROR_USAGE, "the colours' range from %g to %g is empty; give both of its ends",
                       range[0], range[1]);
    // A constant field gets some room around its value.
    double least = 1e-9 * fmax(fabs(range[0]), fabs(range[1]));
    if (range[1] - range[0] <= least)
    {
        double room = range[0] != 0 ? 0.5 * fabs(range[0]) : 1;
        range[0] -= room;
        range[1] += room;
    }
    return isfinite(range[1] - range[0]) ? TD_OK
                                         : td_fail(error, TD_ERROR_INPUT, "the field's values are too large to draw");
}

// ---------------------------------------------------------------- composition

typedef struct Compose
{
    const tdRenderSettings *settings;
    const tdCamera *camera;
    const tdFrame *frame;
    const float *occlusion; // NULL = none
    const tdGround *ground;
    tdImage *image;
} Compose;

// Linear colour behind everything: a vertical gradient, a little brighter about the middle.
static void backdrop(const Compose *c, int x, int y, double rgb[3])
{
    static const double tops[TD_BACKGROUNDS][3] = {{0.72, 0.77, 0.83}, {1, 1, 1}, {0.016, 0.020, 0.030}};
    static const double bottoms[TD_BACKGROUNDS][3] = {{0.96, 0.97, 0.98}, {1, 1, 1}, {0.060, 0.070, 0.088}};
    double t = (y + 0.5) / c->image->height, u = (x + 0.5) / c->image->width - 0.5;
    double glow = c->settings->background == TD_BACKGROUND_WHITE ? 1 : 1 - 0.18 * u * u;
    for (int k = 0; k < 3; k++)
    {
        double a = tops[c->settings->background][k], b = bottoms[c->settings->background][k];
        rgb[k] = (a + (b - a) * t * (2 - t)) * glow;
    }
    double ground[3];
    if (c->ground->shade != NULL && td_camera_ground(c->camera, x + 0.5, y + 0.5, c->ground->height, ground))
    {
        double dark = 1 - 0.52 * td_ground_shade(c->ground, ground);
        for (int k = 0; k < 3; k++)
            rgb[k] *= dark;
    }
}

// Leaves colours as they are up to 0.8 and bends what is brighter towards 1 instead of cutting it.
static double soft_top(double v)
{
    return v <= 0.8 ? v : 0.8 + 0.2 * (1 - exp(-(v - 0.8) / 0.2));
}

static void compose_band(void *context, int b)
{
    const Compose *c = context;
    for (int y = b * BAND; y < (b + 1) * BAND && y < c->image->height; y++)
        for (int x = 0; x < c->image->width; x++)
        {
            size_t i = (size_t)y * (size_t)c->image->width + (size_t)x;
            const float *s = c->frame->surface + 4 * i, *l = c->frame->layer != NULL ? c->frame->layer + 4 * i : NULL;
            double light = c->occlusion != NULL ? c->occlusion[i] : 1, back[3] = {0};
            if (s[3] < 1)
                backdrop(c, x, y, back);
            for (int k = 0; k < 3; k++)
            {
                double v = (1 - s[3]) * back[k] + s[3] * (s[3] > 0 ? soft_top(light * s[k] / s[3]) : 0);
                if (l != NULL)
                    v = l[k] + (1 - l[3]) * v;
                c->image->rgb[3 * i + (size_t)k] = (uint8_t)(255 * td_linear_to_srgb(v) + 0.5);
            }
        }
}

static tdStatus frame_make(const tdRenderSettings *s, bool layers, tdFrame *f, tdError *error)
{
    size_t pixels = (size_t)s->width * (size_t)s->height;
    *f = (tdFrame){.width = s->width, .height = s->height};
    f->surface = td_take(pixels, 4 * sizeof(float));
    f->layer = layers ? td_take(pixels, 4 * sizeof(float)) : NULL;
    f->depth = td_take(pixels, sizeof(float));
    f->normal = td_take(pixels, 3 * sizeof(float));
    if (f->surface == NULL || (layers && f->layer == NULL) || f->depth == NULL || f->normal == NULL)
        return td_fail_memory(error, "the picture's buffers");
    for (size_t i = 0; i < pixels; i++)
        f->depth[i] = -INFINITY;
    return TD_OK;
}

static void frame_free(tdFrame *f)
{
    free(f->surface);
    free(f->layer);
    free(f->depth);
    free(f->normal);
}

static tdStatus draw(const tdRenderSettings *s, int n, const tdDrawMesh *meshes, const tdCamera *camera,
                     const double range[2], tdImage *image, tdError *error)
{
    bool layers = false;
    for (int m = 0; m < n; m++)
        layers = layers || meshes[m].opacity < 1;
    tdFrame frame;
    tdGround ground = {0};
    float *occlusion = NULL;
    tdStatus status = frame_make(s, layers, &frame, error);
    if (status == TD_OK)
        status = td_raster(s, camera, range, n, meshes, &frame, error);
    if (status == TD_OK && s->occlusion)
        status = td_occlusion(&frame, camera, s->tasks, &occlusion, error);
    // From below, the ground would hide what stands on it: no shadow then.
    if (status == TD_OK && s->ground_shadow && s->view.elevation > 0)
        status = td_ground_shadow(camera, n, meshes, s->tasks, &ground, error);
    if (status == TD_OK)
    {
        Compose c = {s, camera, &frame, occlusion, &ground, image};
        td_parallel(s->tasks, td_pieces(s->height, BAND), compose_band, &c);
    }
    free(occlusion);
    free(ground.shade);
    frame_free(&frame);
    return status;
}

static tdStatus render_into(const tdRenderSettings *s, int n, const tdDrawMesh *meshes, tdImage *image, tdError *error)
{
    int64_t total = 0;
    for (int m = 0; m < n; m++)
    {
        TD_TRY(check_mesh(&meshes[m], m, error));
        total += meshes[m].n_tris;
    }
    if (total == 0)
        return td_fail(error, TD_ERROR_INPUT, "there is no triangle to draw; a mesh of lines or points has no surface");
    if (total > INT32_MAX / 4)
        return td_fail(error, TD_ERROR_INPUT, "%lld triangles are too many for one picture", (long long)total);
    bool has_field;
    double range[2], area[4];
    tdCamera camera;
    TD_TRY(find_range(s, n, meshes, &has_field, range, error));
    td_overlay_area(s, has_field, area);
    TD_TRY(td_camera_fit(&s->view, area, n, meshes, &camera, error));
    TD_TRY(draw(s, n, meshes, &camera, range, image, error));
    return td_overlay(s, &camera, has_field, range, image, error);
}

tdStatus td_render(const tdRenderSettings *settings, int n, const tdDrawMesh *meshes, tdImage *image, tdError *error)
{
    *image = (tdImage){0};
    TD_TRY(check_settings(settings, error));
    TD_TRY(td_image_create(settings->width, settings->height, image, error));
    tdStatus status = render_into(settings, n, meshes, image, error);
    if (status != TD_OK)
        td_image_free(image);
    return status;
}
