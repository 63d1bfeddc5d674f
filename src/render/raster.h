// SPDX-License-Identifier: Apache-2.0
// Inside of the renderer: what its stages hand to each other.
//
//   camera   fits the view                               -> tdCamera
//   corners  normals at corners, edges that are drawn    -> by triangle
//   raster   visibility and shading, by bands of rows    -> tdFrame
//   shadow   occlusion from depth, shadow on the ground  -> factors by pixel
//   overlay  legend, title, key, axes, scale bar              -> image
#pragma once
#include "render/render.h"

/// Looks along -back at the centre. Pixel = origin + scale * (view - middle) / w, y down.
typedef struct tdCamera
{
    double centre[3], right[3], up[3], back[3];
    double world_up[3];
    double radius;   ///< of a ball about the centre that holds all
    double distance; ///< of the eye from the centre; 0 = parallel projection
    double scale;    ///< pixels per length at the centre's depth
    double middle[2], origin[2];
} tdCamera;

/// A point on the screen. `key` grows towards the viewer and is linear on the screen, as is inverse_w.
typedef struct tdScreenPoint
{
    double x, y, key, inverse_w;
} tdScreenPoint;

/// area = x0, y0, x1, y1 of the picture [pixels] that the meshes shall fill.
tdStatus td_camera_fit(const tdView *view, const double area[4], int n, const tdDrawMesh *meshes, tdCamera *camera,
                       tdError *error);
tdScreenPoint td_camera_project(const tdCamera *camera, const double x[3]);
/// Distance towards the viewer from the centre, from a key.
double td_camera_depth(const tdCamera *camera, double key);
/// Where the ray through a pixel meets the plane up . x = height; false when it does not.
bool td_camera_ground(const tdCamera *camera, double px, double py, double height, double x[3]);

#define TD_LINE_ALL    0x007 // bits 0-2: edges of the mesh
#define TD_LINE_SHARP  0x038 // bits 3-5: borders, creases, outline
#define TD_LINE_CORNER 0x1C0 // bits 6-8: corners where a sharp edge ends, also one of a neighbour
#define TD_LINE_SHIFT  3

/// Normals at corners (9 floats a triangle, smooth up to the crease angle) and drawn edges.
/// reads  mesh, camera      writes  normals, lines
tdStatus td_corners_prepare(const tdDrawMesh *mesh, const tdCamera *camera, double crease, float *normals,
                            uint16_t *lines, tdError *error);

/// What the rasterizer leaves, by pixel. Colours are linear and multiplied by their coverage.
typedef struct tdFrame
{
    int width, height;
    float *surface; ///< r g b coverage of what is opaque
    float *layer;   ///< r g b alpha of what is translucent; NULL if nothing is
    float *depth;   ///< towards the viewer from the centre; -INFINITY where nothing is
    float *normal;  ///< 3, in the camera's frame
} tdFrame;

tdStatus td_raster(const tdRenderSettings *settings, const tdCamera *camera, const double range[2], int n,
                   const tdDrawMesh *meshes, tdFrame *frame, tdError *error);

/// Factor on the surface's light, by pixel; free().
tdStatus td_occlusion(const tdFrame *frame, const tdCamera *camera, tdTasks *tasks, float **factor, tdError *error);

/// Shadow that falls on the ground: share of the light that is kept out, on a grid on the plane.
typedef struct tdGround
{
    double height;  ///< of the plane along world_up
    int up, e1, e2; ///< axes of the world: along world_up, and the two on the plane
    double corner[2], cells_per_length;
    int n;        ///< grid points along a side
    float *shade; ///< n * n; free()
} tdGround;

tdStatus td_ground_shadow(const tdCamera *camera, int n, const tdDrawMesh *meshes, tdTasks *tasks, tdGround *ground,
                          tdError *error);
double td_ground_shade(const tdGround *ground, const double x[3]);

/// Legend, title, key, axes and scale bar. has_field: some mesh is coloured by a field.
tdStatus td_overlay(const tdRenderSettings *settings, const tdCamera *camera, bool has_field, const double range[2],
                    tdImage *image, tdError *error);
/// The part of the picture that is left for the meshes.
void td_overlay_area(const tdRenderSettings *settings, bool has_field, double area[4]);
