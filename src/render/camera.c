// SPDX-License-Identifier: Apache-2.0
#include "render/raster.h"

#include <math.h>

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double *a, const double *b, double *c)
{
    for (int k = 0; k < 3; k++)
        c[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

// Axes of the view: azimuth turns from the axis after `up` (for z: from x towards y).
static void set_axes(const tdView *view, tdCamera *camera)
{
    double a = view->azimuth * M_PI / 180, e = view->elevation * M_PI / 180;
    int z = view->up, x = (z + 1) % 3, y = (z + 2) % 3;
    camera->world_up[z] = 1;
    camera->back[x] = cos(e) * cos(a);
    camera->back[y] = cos(e) * sin(a);
    camera->back[z] = sin(e);
    // Straight down, the horizon vanishes; the azimuth still says which way is right.
    camera->right[x] = -sin(a);
    camera->right[y] = cos(a);
    camera->right[z] = 0;
    cross(camera->back, camera->right, camera->up);
}

// A floor is looked at only where there is nothing else.
static bool counts(int n, const tdDrawMesh *meshes, int m)
{
    for (int k = 0; k < n && meshes[m].floor; k++)
        if (!meshes[k].floor && meshes[k].n_tris > 0)
            return false;
    return true;
}

static tdStatus find_ball(int n, const tdDrawMesh *meshes, tdCamera *camera, tdError *error)
{
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int m = 0; m < n; m++)
        for (int64_t i = 0; i < 3 * meshes[m].n_tris && counts(n, meshes, m); i++)
            for (int k = 0; k < 3; k++)
            {
                double x = meshes[m].x[3 * (int64_t)meshes[m].tris[i] + k];
                lo[k] = fmin(lo[k], x);
                hi[k] = fmax(hi[k], x);
            }
    double r2 = 0;
    for (int k = 0; k < 3; k++)
    {
        double half = 0.5 * hi[k] - 0.5 * lo[k];
        camera->centre[k] = lo[k] + half;
        r2 += half * half;
    }
    camera->radius = sqrt(r2);
    if (!isfinite(camera->radius))
        return td_fail(error, TD_ERROR_INPUT, "the coordinates reach too far to be drawn; check the mesh's units");
    // A single point, or triangles that have all shrunk to one, are drawn as nothing around it.
    if (!(camera->radius > 0))
        camera->radius = 1;
    return TD_OK;
}

static tdStatus fit(const tdView *view, const double area[4], int n, const tdDrawMesh *meshes, tdCamera *camera,
                    tdError *error)
{
    *camera = (tdCamera){.scale = 1};
    TD_TRY(find_ball(n, meshes, camera, error));
    set_axes(view, camera);
    if (view->field_of_view > 0)
        camera->distance = camera->radius / sin(0.5 * view->field_of_view * M_PI / 180);

    // With scale 1 and no shift, the projection gives the extent in lengths; y runs down.
    double lo[2] = {INFINITY, INFINITY}, hi[2] = {-INFINITY, -INFINITY};
    for (int m = 0; m < n; m++)
        for (int64_t i = 0; i < 3 * meshes[m].n_tris && counts(n, meshes, m); i++)
        {
            tdScreenPoint p = td_camera_project(camera, meshes[m].x + 3 * (int64_t)meshes[m].tris[i]);
            lo[0] = fmin(lo[0], p.x);
            hi[0] = fmax(hi[0], p.x);
            lo[1] = fmin(lo[1], p.y);
            hi[1] = fmax(hi[1], p.y);
        }
    double least = 1e-6 * camera->radius;
    double across = (area[2] - area[0]) / fmax(hi[0] - lo[0], least);
    double along = (area[3] - area[1]) / fmax(hi[1] - lo[1], least);
    camera->middle[0] = 0.5 * (lo[0] + hi[0]);
    camera->middle[1] = -0.5 * (lo[1] + hi[1]);
    camera->scale = fmin(across, along) * view->zoom;
    camera->origin[0] = 0.5 * (area[0] + area[2]);
    camera->origin[1] = 0.5 * (area[1] + area[3]);
    if (!isfinite(camera->scale) || !(camera->scale > 0))
        return td_fail(error, TD_ERROR_INPUT,
                       "what is to be drawn has a size of %g, too small or too large; check the mesh's units",
                       2 * camera->radius);
    return TD_OK;
}

// The corners of a box as triangles, for frames of a moving picture that share a view.
static tdStatus fit_box(const tdView *view, const double area[4], tdCamera *camera, tdError *error)
{
    static const int32_t tris[] = {0, 1, 2, 3, 4, 5, 6, 7, 0};
    double x[8][3];
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 3; k++)
            x[i][k] = view->fit[3 * (i >> k & 1) + k];
    tdDrawMesh box = td_default_draw();
    box.x = x[0];
    box.n_nodes = 8;
    box.tris = tris;
    box.n_tris = 3;
    return fit(view, area, 1, &box, camera, error);
}

tdStatus td_camera_fit(const tdView *view, const double area[4], int n, const tdDrawMesh *meshes, tdCamera *camera,
                       tdError *error)
{
    return view->fit != NULL ? fit_box(view, area, camera, error) : fit(view, area, n, meshes, camera, error);
}

tdScreenPoint td_camera_project(const tdCamera *camera, const double x[3])
{
    double d[3];
    for (int k = 0; k < 3; k++)
        d[k] = x[k] - camera->centre[k];
    double u = dot(d, camera->right), v = dot(d, camera->up), w = dot(d, camera->back);
    tdScreenPoint p = {.inverse_w = 1, .key = w / camera->radius};
    if (camera->distance > 0)
        p.key = p.inverse_w = camera->distance / (camera->distance - w);
    p.x = camera->origin[0] + camera->scale * (u * p.inverse_w - camera->middle[0]);
    p.y = camera->origin[1] - camera->scale * (v * p.inverse_w - camera->middle[1]);
    return p;
}

double td_camera_depth(const tdCamera *camera, double key)
{
    return camera->distance > 0 ? camera->distance * (1 - 1 / key) : key * camera->radius;
}

bool td_camera_ground(const tdCamera *camera, double px, double py, double height, double x[3])
{
    double u = (px - camera->origin[0]) / camera->scale + camera->middle[0];
    double v = (camera->origin[1] - py) / camera->scale + camera->middle[1];
    double eye[3], ray[3];
    for (int k = 0; k < 3; k++)
    {
        double on_screen = u * camera->right[k] + v * camera->up[k];
        bool parallel = camera->distance <= 0;
        double back = (parallel ? camera->radius : camera->distance) * camera->back[k];
        eye[k] = camera->centre[k] + back + (parallel ? on_screen : 0);
        ray[k] = (parallel ? 0 : on_screen) - back;
    }
    double fall = -dot(ray, camera->world_up), above = dot(eye, camera->world_up) - height;
    if (!(fall > 1e-9 * camera->radius) || above <= 0)
        return false;
    for (int k = 0; k < 3; k++)
        x[k] = eye[k] + above / fall * ray[k];
    return true;
}
