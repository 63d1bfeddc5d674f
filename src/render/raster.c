// SPDX-License-Identifier: Apache-2.0
// Visibility by a z-buffer of supersample² samples a pixel, on integer coordinates, so that
// neighbouring triangles leave no gap. Shading is once for each triangle that a pixel sees, at the
// middle of the samples that see it; lines are drawn from the distance to the triangle's edges.
#include "render/raster.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BAND   16  // pixel rows of a piece of work
#define GRID   256 // steps of a sample's side to which corners are rounded
#define COLOUR 1024
#define MOST   16 // samples of a pixel at supersample 4

typedef struct Tri
{
    int32_t x[3], y[3]; // samples * GRID
    float key[3], inverse_w[3];
    float normal[9]; // towards the viewer, in the camera's frame
    float value[3];  // 0 to 1 in the field's range; NaN = missing
    int32_t mesh;
    uint16_t lines;
    bool plain; // no field
} Tri;

typedef struct Look
{
    double rgb[3], alpha;
} Look;

typedef struct Raster
{
    const tdRenderSettings *settings;
    const tdCamera *camera;
    const tdDrawMesh *meshes;
    tdFrame *frame;
    int n_meshes, samples, bands;
    int64_t n_tris;
    Tri *tris;
    int64_t *band_start; // by band, into band_tris
    int32_t *band_tris;
    bool *band_failed;
    double sky[3]; // world's up in the camera's frame
    float colours[COLOUR + 1][3];
} Raster;

// ---------------------------------------------------------------- setup

static int32_t to_grid(const Raster *r, double pixels)
{
    double g = pixels * r->samples * GRID, limit = 1 << 29; // products of differences stay below 2^62
    return (int32_t)lrint(g < -limit ? -limit : g > limit ? limit : g);
}

static int64_t signed_area(const Tri *t)
{
    return ((int64_t)t->x[1] - t->x[0]) * ((int64_t)t->y[2] - t->y[0]) -
           ((int64_t)t->x[2] - t->x[0]) * ((int64_t)t->y[1] - t->y[0]);
}

static void swap_corners(Tri *t)
{
    Tri old = *t;
    t->x[1] = old.x[2], t->x[2] = old.x[1];
    t->y[1] = old.y[2], t->y[2] = old.y[1];
    t->key[1] = old.key[2], t->key[2] = old.key[1];
    t->inverse_w[1] = old.inverse_w[2], t->inverse_w[2] = old.inverse_w[1];
    t->value[1] = old.value[2], t->value[2] = old.value[1];
    memcpy(t->normal + 3, old.normal + 6, 3 * sizeof(float));
    memcpy(t->normal + 6, old.normal + 3, 3 * sizeof(float));
    // Edges 01 12 20 become 02 21 10: the first and the last change places; so do the last two corners.
    t->lines = (uint16_t)((old.lines & 0x052) | (old.lines & 0x009) << 2 | (old.lines & 0x024) >> 2 |
                          (old.lines & 0x080) << 1 | (old.lines & 0x100) >> 1);
}

// One triangle on the screen; false when it covers nothing.
static bool make_tri(const Raster *r, int m, int64_t i, const double range[2], const float *normals, uint16_t lines,
                     Tri *t)
{
    const tdDrawMesh *mesh = &r->meshes[m];
    const double *basis[3] = {r->camera->right, r->camera->up, r->camera->back};
    *t = (Tri){.mesh = m, .lines = lines, .plain = mesh->field == NULL && mesh->tri_field == NULL};
    double flat[2][3];
    for (int c = 0; c < 3; c++)
    {
        int32_t node = mesh->tris[3 * i + c];
        tdScreenPoint p = td_camera_project(r->camera, mesh->x + 3 * (int64_t)node);
        t->x[c] = to_grid(r, p.x);
        t->y[c] = to_grid(r, p.y);
        flat[0][c] = p.x;
        flat[1][c] = p.y;
        t->key[c] = (float)p.key;
        t->inverse_w[c] = (float)p.inverse_w;
        const float *n = normals + 9 * i + 3 * c;
        for (int k = 0; k < 3; k++)
            t->normal[3 * c + k] = (float)(n[0] * basis[k][0] + n[1] * basis[k][1] + n[2] * basis[k][2]);
        double value = mesh->field != NULL ? mesh->field[node] : mesh->tri_field != NULL ? mesh->tri_field[i] : 0;
        value = (value - range[0]) / (range[1] - range[0]);
        t->value[c] = (float)(isfinite(value) ? fmin(fmax(value, 0), 1) : isnan(value) ? NAN : value > 0 ? 1 : 0);
    }
    // The picture's y runs down: a triangle that faces the viewer is negative in it.
    bool away =
        (flat[0][1] - flat[0][0]) * (flat[1][2] - flat[1][0]) - (flat[0][2] - flat[0][0]) * (flat[1][1] - flat[1][0]) >
        0;
    for (int k = 0; away && k < 9; k++)
        t->normal[k] = -t->normal[k];
    int64_t area = signed_area(t);
    if (area < 0)
        swap_corners(t);
    return area != 0;
}

// Bands that a triangle touches; false when it is outside the picture.
static bool bands_of(const Raster *r, const Tri *t, int *from, int *to)
{
    int32_t x0 = t->x[0], x1 = t->x[0], y0 = t->y[0], y1 = t->y[0];
    for (int c = 1; c < 3; c++)
    {
        x0 = t->x[c] < x0 ? t->x[c] : x0;
        x1 = t->x[c] > x1 ? t->x[c] : x1;
        y0 = t->y[c] < y0 ? t->y[c] : y0;
        y1 = t->y[c] > y1 ? t->y[c] : y1;
    }
    int64_t unit = (int64_t)r->samples * GRID;
    if (x1 < 0 || y1 < 0 || x0 >= unit * r->frame->width || y0 >= unit * r->frame->height)
        return false;
    *from = y0 > 0 ? (int)(y0 / (unit * BAND)) : 0;
    *to = (int)(y1 / (unit * BAND));
    *to = *to < r->bands ? *to : r->bands - 1;
    return true;
}

static tdStatus sort_into_bands(Raster *r, tdError *error)
{
    r->band_start = td_take((size_t)r->bands + 2, sizeof(int64_t));
    r->band_failed = td_take((size_t)r->bands, sizeof(bool));
    if (r->band_start == NULL || r->band_failed == NULL)
        return td_fail_memory(error, "the rasterizer");
    int from, to;
    for (int64_t i = 0; i < r->n_tris; i++)
        if (bands_of(r, &r->tris[i], &from, &to))
            for (int b = from; b <= to; b++)
                r->band_start[b + 2]++;
    for (int b = 2; b <= r->bands + 1; b++)
        r->band_start[b] += r->band_start[b - 1];
    r->band_tris = td_take((size_t)r->band_start[r->bands + 1], sizeof(int32_t));
    if (r->band_tris == NULL)
        return td_fail_memory(error, "the rasterizer");
    for (int64_t i = 0; i < r->n_tris; i++)
        if (bands_of(r, &r->tris[i], &from, &to))
            for (int b = from; b <= to; b++)
                r->band_tris[r->band_start[b + 1]++] = (int32_t)i;
    return TD_OK;
}

static tdStatus make_tris(Raster *r, const double range[2], tdError *error)
{
    int64_t total = 0, largest = 0;
    for (int m = 0; m < r->n_meshes; m++)
    {
        total += r->meshes[m].n_tris;
        largest = r->meshes[m].n_tris > largest ? r->meshes[m].n_tris : largest;
    }
    r->tris = td_take((size_t)total, sizeof(Tri));
    float *normals = td_take((size_t)largest, 9 * sizeof(float));
    uint16_t *lines = td_take((size_t)largest, sizeof(uint16_t));
    tdStatus status = TD_OK;
    if (r->tris == NULL || normals == NULL || lines == NULL)
        status = td_fail_memory(error, "the triangles of the picture");
    for (int m = 0; status == TD_OK && m < r->n_meshes; m++)
    {
        status = td_corners_prepare(&r->meshes[m], r->camera, r->settings->crease, normals, lines, error);
        for (int64_t i = 0; status == TD_OK && i < r->meshes[m].n_tris; i++)
            r->n_tris += make_tri(r, m, i, range, normals, lines[i], &r->tris[r->n_tris]);
    }
    free(normals);
    free(lines);
    return status;
}

// ---------------------------------------------------------------- shading

static double clamp01(double v)
{
    return v < 0 ? 0 : v > 1 ? 1 : v;
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// Key light over the viewer's left shoulder, fill from the right, light of the sky from above.
static void light(const Raster *r, const double n[3], const double base[3], double out[3])
{
    static const double key[3] = {-0.4190, 0.6042, 0.6778}, fill[3] = {0.8058, 0.1151, 0.5808};
    static const double half[3] = {-0.2288, 0.3298, 0.9159}; // between the key light and the viewer
    // A large lamp reaches around the edge and fades out there without a line.
    double wrap = fmax((dot(n, key) + 0.3) / 1.3, 0), low = fmax((dot(n, fill) + 0.3) / 1.3, 0);
    double diffuse = 0.33 + 0.10 * dot(n, r->sky) + 0.78 * wrap * sqrt(wrap) + 0.16 * low * sqrt(low);
    double shine = fmax(dot(n, half), 0);
    shine *= shine;
    shine *= shine;
    shine *= shine;
    shine *= shine; // 16th power
    double tight = shine * shine * shine;
    double edge = 1 - clamp01(n[2]);
    double rim = 0.05 * edge * edge * edge;
    for (int k = 0; k < 3; k++)
        out[k] = base[k] * diffuse + 0.030 * shine + 0.055 * tight + rim;
}

static void base_colour(const Raster *r, const Tri *t, const double b[3], double rgb[3])
{
    if (t->plain)
    {
        for (int k = 0; k < 3; k++)
            rgb[k] = td_srgb_to_linear(r->meshes[t->mesh].colour[k]);
        return;
    }
    double v = b[0] * t->value[0] + b[1] * t->value[1] + b[2] * t->value[2];
    for (int k = 0; k < 3; k++)
        rgb[k] = isnan(v) ? 0.32 : r->colours[(int)(clamp01(v) * COLOUR + 0.5)][k];
}

// Cover of the lines of a kind by a point with edge functions w (twice the area of the parts).
static double line_cover(const Raster *r, const Tri *t, int kind, const double w[3], double width)
{
    double best = 0, pixel = r->samples * GRID;
    for (int e = 0; e < 3; e++)
    {
        if (!(kind >> e & 1))
            continue;
        double dx = t->x[(e + 1) % 3] - t->x[e], dy = t->y[(e + 1) % 3] - t->y[e];
        double distance = w[(e + 2) % 3] / (sqrt(dx * dx + dy * dy) * pixel);
        best = fmax(best, clamp01(0.5 * width + 0.5 - distance));
    }
    return best;
}

// Cover of the ends of sharp lines at the corners, where the line itself is in a neighbour.
static double corner_cover(const Raster *r, const Tri *t, double x, double y, double width)
{
    double best = 0, pixel = r->samples * GRID;
    for (int c = 0; c < 3; c++)
        if (t->lines >> (c + 2 * TD_LINE_SHIFT) & 1)
            best = fmax(best, clamp01(0.5 * width + 0.5 - hypot(x - t->x[c], y - t->y[c]) / pixel));
    return best;
}

// Lines of a mesh so fine that they would paint it black are drawn paler.
static double line_strength(const Raster *r, const Tri *t, double area)
{
    double longest = 0, pixel = r->samples * GRID;
    for (int e = 0; e < 3; e++)
    {
        double dx = t->x[(e + 1) % 3] - t->x[e], dy = t->y[(e + 1) % 3] - t->y[e];
        longest = fmax(longest, sqrt(dx * dx + dy * dy));
    }
    return clamp01(area / (longest * pixel) / (7 * r->settings->line_width));
}

// Where a point of the screen (samples * GRID) is on a triangle.
typedef struct Spot
{
    double w[3], area; // edge functions on the screen, and their sum
    double share[3];   // of the corners, in space
    double key;        // depth
    double normal[3];
} Spot;

static Spot spot_at(const Tri *t, double x, double y)
{
    Spot p = {0};
    double sum = 0;
    for (int c = 0; c < 3; c++)
    {
        int i = (c + 1) % 3, j = (c + 2) % 3;
        p.w[c] = fmax(((double)t->x[j] - t->x[i]) * (y - t->y[i]) - ((double)t->y[j] - t->y[i]) * (x - t->x[i]), 0);
        p.area += p.w[c];
        p.share[c] = p.w[c] * t->inverse_w[c];
        sum += p.share[c];
    }
    for (int c = 0; c < 3; c++)
    {
        p.key += p.w[c] / p.area * t->key[c];
        p.share[c] /= sum;
    }
    for (int k = 0; k < 3; k++)
        p.normal[k] = p.share[0] * t->normal[k] + p.share[1] * t->normal[3 + k] + p.share[2] * t->normal[6 + k];
    double length = sqrt(dot(p.normal, p.normal));
    for (int k = 0; k < 3; k++)
        p.normal[k] = length > 0 ? p.normal[k] / length : k == 2;
    return p;
}

// How much of a spot lines cover: of the mesh and, stronger, sharp ones.
static double line_at(const Raster *r, const Tri *t, const Spot *p, double x, double y)
{
    double line = 0, width = r->settings->line_width;
    if (t->lines & TD_LINE_ALL)
        line = 0.62 * line_strength(r, t, p->area) * line_cover(r, t, t->lines, p->w, width);
    if (t->lines & (TD_LINE_SHARP | TD_LINE_CORNER))
    {
        line = fmax(line, 0.85 * line_cover(r, t, t->lines >> TD_LINE_SHIFT, p->w, 1.4 * width));
        line = fmax(line, 0.85 * corner_cover(r, t, x, y, 1.4 * width));
    }
    return line;
}

static Look shade(const Raster *r, const Tri *t, const Spot *p, double x, double y)
{
    Look look = {.alpha = 1};
    double base[3];
    base_colour(r, t, p->share, base);
    light(r, p->normal, base, look.rgb);
    const tdDrawMesh *mesh = &r->meshes[t->mesh];
    double line = line_at(r, t, p, x, y);
    // Lines of a ghost keep its colour: darker than it before a light background, brighter before a dark one.
    double ink = 0.03;
    if (t->plain && mesh->opacity < 1)
        ink = r->settings->background == TD_BACKGROUND_DARK ? 2.2 : 0.22;
    for (int k = 0; k < 3; k++)
        look.rgb[k] += line * (ink * base[k] - look.rgb[k]);
    if (mesh->opacity < 1)
    {
        // Like glass, a translucent body is denser where it is seen at a slant.
        double slant = 1 - clamp01(p->normal[2]);
        look.alpha = fmax(clamp01(mesh->opacity * (1 + 2 * slant * slant)), 0.85 * line);
    }
    return look;
}

// ---------------------------------------------------------------- bands

typedef struct Band
{
    int y0, rows, columns; // first sample row; size in samples
    float *z;              // key of the nearest opaque sample
    float *layer_z;        // and of the nearest sample of the layer at work
    int32_t *id;           // triangle + 1
} Band;

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

// Samples of a triangle within the band that are nearer than z. A layer is also tested against the
// opaque samples, with a small margin, so that coinciding surfaces do not flicker.
static void fill(Band *band, const Tri *t, int32_t id, float *z, const float *behind)
{
    int64_t x0 = INT32_MAX, x1 = INT32_MIN, y0 = INT32_MAX, y1 = INT32_MIN;
    for (int c = 0; c < 3; c++)
    {
        x0 = t->x[c] < x0 ? t->x[c] : x0;
        x1 = t->x[c] > x1 ? t->x[c] : x1;
        y0 = t->y[c] < y0 ? t->y[c] : y0;
        y1 = t->y[c] > y1 ? t->y[c] : y1;
    }
    // A sample is at the middle of its cell: GRID * (i + 1/2).
    int64_t i0 = floor_div(x0 + GRID / 2, GRID), i1 = floor_div(x1 - GRID / 2, GRID);
    int64_t j0 = floor_div(y0 + GRID / 2, GRID), j1 = floor_div(y1 - GRID / 2, GRID);
    i0 = i0 > 0 ? i0 : 0;
    j0 = j0 > band->y0 ? j0 : band->y0;
    i1 = i1 < band->columns ? i1 : band->columns - 1;
    j1 = j1 < band->y0 + band->rows ? j1 : band->y0 + band->rows - 1;

    int64_t start[3], dx[3], dy[3];
    double area = (double)signed_area(t), key = 0, key_x = 0, key_y = 0;
    for (int c = 0; c < 3; c++)
    {
        int i = (c + 1) % 3, j = (c + 2) % 3;
        int64_t ex = (int64_t)t->x[j] - t->x[i], ey = (int64_t)t->y[j] - t->y[i];
        start[c] = ex * (j0 * GRID + GRID / 2 - t->y[i]) - ey * (i0 * GRID + GRID / 2 - t->x[i]);
        dx[c] = -ey * GRID;
        dy[c] = ex * GRID;
        key += (double)start[c] / area * t->key[c];
        key_x += (double)dx[c] / area * t->key[c];
        key_y += (double)dy[c] / area * t->key[c];
    }
    for (int64_t j = j0; j <= j1; j++)
    {
        int64_t w0 = start[0] + (j - j0) * dy[0], w1 = start[1] + (j - j0) * dy[1], w2 = start[2] + (j - j0) * dy[2];
        double row_key = key + (double)(j - j0) * key_y;
        int64_t row = (j - band->y0) * band->columns;
        for (int64_t i = i0; i <= i1; i++, w0 += dx[0], w1 += dx[1], w2 += dx[2])
        {
            if ((w0 | w1 | w2) < 0)
                continue;
            float k = (float)(row_key + (double)(i - i0) * key_x);
            if (k <= z[row + i] || (behind != NULL && k <= behind[row + i] + 1e-4f))
                continue;
            z[row + i] = k;
            band->id[row + i] = id;
        }
    }
}

// One pixel: each triangle that it sees is shaded where its samples are.
static void resolve(const Raster *r, const Band *band, int px, int py, bool layer)
{
    int s = r->samples, n = 0, count[MOST];
    int32_t ids[MOST];
    double at[MOST][2];
    for (int j = 0; j < s; j++)
        for (int i = 0; i < s; i++)
        {
            int64_t row = (int64_t)py * s + j - band->y0;
            int32_t id = band->id[row * band->columns + px * s + i];
            if (id == 0)
                continue;
            int k = 0;
            while (k < n && ids[k] != id)
                k++;
            if (k == n)
            {
                ids[n] = id;
                count[n] = 0;
                at[n][0] = at[n][1] = 0;
                n++;
            }
            count[k]++;
            at[k][0] += (px * s + i + 0.5) * GRID;
            at[k][1] += (py * s + j + 0.5) * GRID;
        }
    if (n == 0)
        return;
    tdFrame *frame = r->frame;
    size_t pixel = (size_t)py * (size_t)frame->width + (size_t)px;
    double sum[4] = {0};
    int most = 0;
    for (int k = 0; k < n; k++)
    {
        const Tri *t = &r->tris[ids[k] - 1];
        double share = (double)count[k] / (s * s), x = at[k][0] / count[k], y = at[k][1] / count[k];
        Spot spot = spot_at(t, x, y);
        Look look = shade(r, t, &spot, x, y);
        for (int c = 0; c < 3; c++)
            sum[c] += share * look.alpha * look.rgb[c];
        sum[3] += share * look.alpha;
        if (layer || count[k] <= most)
            continue;
        most = count[k];
        frame->depth[pixel] = (float)td_camera_depth(r->camera, spot.key);
        for (int c = 0; c < 3; c++)
            frame->normal[3 * pixel + (size_t)c] = (float)spot.normal[c];
    }
    float *out = (layer ? frame->layer : frame->surface) + 4 * pixel;
    for (int c = 0; c < 4; c++)
        out[c] = (float)(sum[c] + (layer ? (1 - sum[3]) * out[c] : 0));
}

static void draw_pass(const Raster *r, Band *band, int b, int mesh)
{
    bool layer = mesh >= 0;
    size_t samples = (size_t)band->rows * (size_t)band->columns;
    float *z = layer ? band->layer_z : band->z;
    for (size_t i = 0; i < samples; i++)
        z[i] = -INFINITY;
    memset(band->id, 0, samples * sizeof *band->id);
    for (int64_t i = r->band_start[b]; i < r->band_start[b + 1]; i++)
    {
        const Tri *t = &r->tris[r->band_tris[i]];
        bool opaque = r->meshes[t->mesh].opacity >= 1;
        if (layer ? t->mesh == mesh : opaque)
            fill(band, t, r->band_tris[i] + 1, z, layer ? band->z : NULL);
    }
    int rows = band->rows / r->samples; // NOLINT(clang-analyzer-unix.Malloc): draw_band frees all three
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < r->frame->width; x++)
            resolve(r, band, x, b * BAND + y, layer);
}

static void draw_band(void *context, int b)
{
    Raster *r = context;
    int y0 = b * BAND, rows = r->frame->height - y0 < BAND ? r->frame->height - y0 : BAND;
    Band band = {.y0 = y0 * r->samples, .rows = rows * r->samples, .columns = r->frame->width * r->samples};
    size_t samples = (size_t)band.rows * (size_t)band.columns;
    band.z = malloc(samples * sizeof *band.z);
    band.layer_z = malloc(samples * sizeof *band.layer_z);
    band.id = malloc(samples * sizeof *band.id);
    if (band.z == NULL || band.layer_z == NULL || band.id == NULL)
        r->band_failed[b] = true;
    else
    {
        draw_pass(r, &band, b, -1);
        for (int m = 0; m < r->n_meshes; m++)
            if (r->meshes[m].opacity < 1 && r->meshes[m].opacity > 0)
                draw_pass(r, &band, b, m);
    }
    free(band.z);
    free(band.layer_z);
    free(band.id);
}

static void fill_colours(Raster *r)
{
    for (int i = 0; i <= COLOUR; i++)
    {
        double rgb[3];
        td_colour_map(r->settings->colours, (double)i / COLOUR, rgb);
        for (int k = 0; k < 3; k++)
            r->colours[i][k] = (float)td_srgb_to_linear(rgb[k]);
    }
    const double *basis[3] = {r->camera->right, r->camera->up, r->camera->back};
    for (int k = 0; k < 3; k++)
        r->sky[k] = dot(basis[k], r->camera->world_up);
}

tdStatus td_raster(const tdRenderSettings *settings, const tdCamera *camera, const double range[2], int n,
                   const tdDrawMesh *meshes, tdFrame *frame, tdError *error)
{
    Raster *r = td_take(1, sizeof *r);
    if (r == NULL)
        return td_fail_memory(error, "the rasterizer");
    r->settings = settings;
    r->camera = camera;
    r->meshes = meshes;
    r->n_meshes = n;
    r->frame = frame;
    r->samples = settings->supersample;
    r->bands = td_pieces(frame->height, BAND);
    fill_colours(r);
    tdStatus status = make_tris(r, range, error);
    if (status == TD_OK)
        status = sort_into_bands(r, error);
    if (status == TD_OK)
        td_parallel(settings->tasks, r->bands, draw_band, r);
    for (int b = 0; status == TD_OK && b < r->bands; b++)
        if (r->band_failed[b])
            status = td_fail_memory(error, "the z-buffer");
    free(r->tris);
    free(r->band_start);
    free(r->band_tris);
    free(r->band_failed);
    free(r);
    return status;
}
