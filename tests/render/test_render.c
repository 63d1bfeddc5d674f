// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include "render/canvas.h"
#include "render/plot_axis.h"
#include "render/raster.h"
#include "render/render.h"

#include <png.h>

// ---------------------------------------------------------------- shapes

typedef struct Shape
{
    int64_t n_nodes, n_tris;
    double *x;
    int32_t *tris;
    double *field;
} Shape;

static void shape_free(Shape *shape)
{
    free(shape->x);
    free(shape->tris);
    free(shape->field);
}

// Unit sphere from a grid of rows x columns; the field is the height.
static Shape sphere(int rows, int columns)
{
    Shape s = {.n_nodes = (int64_t)(rows + 1) * (columns + 1), .n_tris = 2 * (int64_t)rows * columns};
    s.x = calloc((size_t)s.n_nodes * 3, sizeof(double));
    s.field = calloc((size_t)s.n_nodes, sizeof(double));
    s.tris = calloc((size_t)s.n_tris * 3, sizeof(int32_t));
    for (int i = 0; i <= rows; i++)
        for (int j = 0; j <= columns; j++)
        {
            double a = M_PI * i / rows, b = 2 * M_PI * j / columns, *x = s.x + 3 * (i * (columns + 1) + j);
            x[0] = sin(a) * cos(b);
            x[1] = sin(a) * sin(b);
            x[2] = s.field[i * (columns + 1) + j] = cos(a);
        }
    int32_t *t = s.tris;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++, t += 6)
        {
            int32_t a = i * (columns + 1) + j, b = a + 1, c = a + columns + 1, d = c + 1;
            memcpy(t, (int32_t[]){a, c, b, b, c, d}, 6 * sizeof(int32_t));
        }
    return s;
}

static tdDrawMesh draw_of(const Shape *s, double r, double g, double b)
{
    tdDrawMesh mesh = td_default_draw();
    mesh.x = s->x;
    mesh.n_nodes = s->n_nodes;
    mesh.tris = s->tris;
    mesh.n_tris = s->n_tris;
    memcpy(mesh.colour, (double[]){r, g, b}, sizeof mesh.colour);
    return mesh;
}

// Square of half-width w in the plane y = depth, seen full-on from azimuth -90.
static const int32_t square_tris[6] = {0, 1, 2, 0, 2, 3};

static tdDrawMesh square(double x[12], double w, double depth, double r, double g, double b)
{
    memcpy(x, (double[]){-w, depth, -w, w, depth, -w, w, depth, w, -w, depth, w}, 12 * sizeof(double));
    tdDrawMesh mesh = td_default_draw();
    mesh.x = x;
    mesh.n_nodes = 4;
    mesh.tris = square_tris;
    mesh.n_tris = 2;
    memcpy(mesh.colour, (double[]){r, g, b}, sizeof mesh.colour);
    return mesh;
}

// Nothing but the bodies, seen along y on white.
static tdRenderSettings bare(int size)
{
    tdRenderSettings s = td_default_render();
    s.width = s.height = size;
    s.view = (tdView){.azimuth = -90, .up = 2, .zoom = 1};
    s.background = TD_BACKGROUND_WHITE;
    s.ground_shadow = s.occlusion = s.legend = s.triad = false;
    return s;
}

static tdImage rendered(const tdRenderSettings *s, int n, const tdDrawMesh *meshes)
{
    tdImage image;
    tdError error = {0};
    assert_ok(td_render(s, n, meshes, &image, &error), error);
    return image;
}

static const uint8_t *pixel(const tdImage *image, int x, int y)
{
    return image->rgb + 3 * (y * image->width + x);
}

static bool same_image(const tdImage *a, const tdImage *b)
{
    return a->width == b->width && a->height == b->height &&
           memcmp(a->rgb, b->rgb, (size_t)a->width * (size_t)a->height * 3) == 0;
}

// ---------------------------------------------------------------- rasterizer

static void test_sphere_covers_its_disc(void **state)
{
    (void)state;
    Shape ball = sphere(90, 180);
    tdDrawMesh mesh = draw_of(&ball, 0.85, 0.05, 0.05);
    tdRenderSettings s = bare(400);
    tdImage image = rendered(&s, 1, &mesh);
    // 7 % margin on each side: the radius in pixels follows.
    double radius = 0.5 * (400 - 2 * 0.07 * 400), area = 0;
    for (int y = 0; y < 400; y++)
        for (int x = 0; x < 400; x++)
        {
            const uint8_t *p = pixel(&image, x, y);
            double from_centre = hypot(x + 0.5 - 200, y + 0.5 - 200);
            area += p[1] < 200; // green: 255 outside, about 70 inside; an edge pixel counts when half covered
            if (from_centre < radius - 2)
                assert_true(p[0] > p[1] + 20 && p[1] < 160); // no gap between triangles
            if (from_centre > radius + 2)
                assert_true(p[0] == 255 && p[1] == 255 && p[2] == 255);
        }
    assert_near(area, M_PI * radius * radius, 0.01 * M_PI * radius * radius);
    // Lit from the upper left.
    assert_true(pixel(&image, 130, 130)[0] > pixel(&image, 270, 290)[0] + 20);
    td_image_free(&image);
    shape_free(&ball);
}

static void test_same_bytes_for_any_threads(void **state)
{
    (void)state;
    Shape ball = sphere(40, 60);
    tdDrawMesh meshes[2] = {draw_of(&ball, 0.2, 0.5, 0.8), draw_of(&ball, 0.5, 0.5, 0.5)};
    meshes[0].field = ball.field;
    meshes[0].edges = true;
    meshes[1].opacity = 0.2;
    meshes[1].features = true;
    tdRenderSettings s = td_default_render();
    s.width = 320;
    s.height = 240;
    s.title = "deterministic";
    s.scale_unit = "m";
    tdImage serial = rendered(&s, 2, meshes);
    for (int threads = 1; threads <= 3; threads++)
    {
        assert_int_equal(td_tasks_create(threads, &s.tasks, NULL), TD_OK);
        tdImage image = rendered(&s, 2, meshes);
        assert_true(same_image(&serial, &image));
        td_image_free(&image);
        td_tasks_free(s.tasks);
    }
    s.view.azimuth += 1;
    s.tasks = NULL;
    tdImage other = rendered(&s, 2, meshes);
    assert_false(same_image(&serial, &other));
    td_image_free(&other);
    td_image_free(&serial);
    shape_free(&ball);
}

static void test_nearer_hides_farther(void **state)
{
    (void)state;
    double xa[12], xb[12];
    for (int parallel = 0; parallel < 2; parallel++)
        for (int order = 0; order < 2; order++)
        {
            // The viewer is at negative y: the small red square is in front of the large blue one.
            tdDrawMesh red = square(xa, 0.5, -1, 0.9, 0.1, 0.1), blue = square(xb, 1, 1, 0.1, 0.1, 0.9);
            tdDrawMesh meshes[2] = {order ? red : blue, order ? blue : red};
            tdRenderSettings s = bare(200);
            s.view.field_of_view = parallel ? 0 : 30;
            tdImage image = rendered(&s, 2, meshes);
            const uint8_t *middle = pixel(&image, 100, 100), *corner = pixel(&image, 25, 25);
            assert_true(middle[0] > 150 && middle[2] < 100);
            assert_true(corner[2] > 150 && corner[0] < 100);
            td_image_free(&image);
        }
}

static void test_translucent_mixes(void **state)
{
    (void)state;
    double xa[12], xb[12];
    tdDrawMesh meshes[2] = {square(xa, 0.5, -1, 0.9, 0.1, 0.1), square(xb, 1, 1, 0.1, 0.1, 0.9)};
    tdRenderSettings s = bare(200);
    meshes[0].opacity = 0.4;
    tdImage image = rendered(&s, 2, meshes);
    const uint8_t *middle = pixel(&image, 100, 100), *corner = pixel(&image, 25, 25);
    assert_true(middle[0] > corner[0] + 30 && middle[2] > 100 && middle[2] < corner[2]);
    td_image_free(&image);

    // Behind an opaque body it is not seen at all.
    memcpy(xa, (double[]){-0.5, 2, -0.5, 0.5, 2, -0.5, 0.5, 2, 0.5, -0.5, 2, 0.5}, sizeof xa);
    image = rendered(&s, 2, meshes);
    assert_memory_equal(pixel(&image, 100, 100), pixel(&image, 25, 25), 3);
    td_image_free(&image);
}

static void test_faces_of_a_cube_are_flat(void **state)
{
    (void)state;
    double x[24];
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 3; k++)
            x[3 * i + k] = i >> k & 1;
    const int32_t tris[36] = {0, 1, 3, 0, 3, 2, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4,
                              2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 3, 7, 1, 7, 5};
    tdDrawMesh cube = td_default_draw();
    cube.x = x;
    cube.n_nodes = 8;
    cube.tris = tris;
    cube.n_tris = 12;
    tdRenderSettings s = bare(300);
    s.view.azimuth = -45;
    s.view.elevation = 35;
    tdImage image = rendered(&s, 1, &cube);
    // Three faces are seen, some wound one way and some the other; each has one colour.
    const int at[3][2] = {{150, 80}, {80, 190}, {220, 190}};
    for (int f = 0; f < 3; f++)
    {
        const uint8_t *here = pixel(&image, at[f][0], at[f][1]);
        assert_true(here[0] < 250);
        for (int d = -15; d <= 15; d++)
            assert_memory_equal(pixel(&image, at[f][0] + d, at[f][1]), here, 3);
    }
    assert_true(abs(pixel(&image, 150, 80)[1] - pixel(&image, 220, 190)[1]) > 15);
    td_image_free(&image);
}

static void test_edges_are_drawn_as_asked(void **state)
{
    (void)state;
    double x[12];
    tdDrawMesh mesh = square(x, 1, 0, 0.9, 0.9, 0.9);
    tdRenderSettings s = bare(201);
    tdImage plain = rendered(&s, 1, &mesh);
    mesh.edges = true;
    tdImage all = rendered(&s, 1, &mesh);
    const uint8_t without_diagonal[2] = {3, 6};
    mesh.edge_mask = without_diagonal;
    tdImage masked = rendered(&s, 1, &mesh);
    mesh.edges = false;
    mesh.features = true;
    tdImage border = rendered(&s, 1, &mesh);
    // The diagonal goes through the middle; the left side is at the margin.
    assert_true(pixel(&all, 100, 100)[1] < pixel(&plain, 100, 100)[1] - 30);
    assert_memory_equal(pixel(&masked, 100, 100), pixel(&plain, 100, 100), 3);
    assert_memory_equal(pixel(&border, 100, 100), pixel(&plain, 100, 100), 3);
    assert_true(pixel(&masked, 14, 100)[1] < pixel(&plain, 14, 100)[1] - 30);
    assert_true(pixel(&border, 14, 100)[1] < pixel(&plain, 14, 100)[1] - 30);
    td_image_free(&plain);
    td_image_free(&all);
    td_image_free(&masked);
    td_image_free(&border);
}

static void test_ground_shadow_and_occlusion_darken(void **state)
{
    (void)state;
    Shape ball = sphere(30, 60);
    tdDrawMesh mesh = draw_of(&ball, 0.5, 0.5, 0.5);
    tdRenderSettings s = bare(240);
    s.view.elevation = 30;
    tdImage without = rendered(&s, 1, &mesh);
    s.ground_shadow = true;
    tdImage with = rendered(&s, 1, &mesh);
    int darker = 0, brighter = 0;
    for (int i = 0; i < 240 * 240 * 3; i++)
    {
        darker += with.rgb[i] < without.rgb[i];
        brighter += with.rgb[i] > without.rgb[i];
    }
    assert_int_equal(brighter, 0);
    assert_true(darker > 1000);
    td_image_free(&with);
    td_image_free(&without);

    // Two balls side by side: the crease between them is darker with occlusion, their fronts are not.
    Shape pair[2] = {ball, sphere(30, 60)};
    for (int64_t i = 0; i < pair[1].n_nodes; i++)
        pair[1].x[3 * i] += 1.9;
    tdDrawMesh meshes[2] = {mesh, draw_of(&pair[1], 0.5, 0.5, 0.5)};
    s = bare(400);
    without = rendered(&s, 2, meshes);
    s.occlusion = true;
    with = rendered(&s, 2, meshes);
    assert_true(pixel(&with, 200, 200)[1] + 8 < pixel(&without, 200, 200)[1]);
    assert_true(abs(pixel(&with, 110, 200)[1] - pixel(&without, 110, 200)[1]) <= 3);
    td_image_free(&with);
    td_image_free(&without);
    shape_free(&pair[0]);
    shape_free(&pair[1]);
}

// ---------------------------------------------------------------- colours

static double luminance(const double rgb[3])
{
    return 0.2126 * td_srgb_to_linear(rgb[0]) + 0.7152 * td_srgb_to_linear(rgb[1]) + 0.0722 * td_srgb_to_linear(rgb[2]);
}

static void test_colour_maps(void **state)
{
    (void)state;
    double rgb[3];
    for (int m = 0; m < TD_COLOURS; m++)
    {
        double before = -1;
        for (int i = 0; i <= 200; i++)
        {
            td_colour_map((tdColourMap)m, i / 200.0, rgb);
            double now = luminance(rgb);
            for (int k = 0; k < 3; k++)
                assert_true(rgb[k] >= 0 && rgb[k] <= 1);
            bool falls = m == TD_COLOURS_BALANCE && i > 100;
            if (i > 0)
                assert_true(falls ? now < before : now > before);
            before = now;
        }
    }
    // The diverging map is near white in the middle and equally dark at both ends.
    double low[3], high[3];
    td_colour_map(TD_COLOURS_BALANCE, 0.5, rgb);
    assert_true(fmin(rgb[0], fmin(rgb[1], rgb[2])) > 0.9);
    td_colour_map(TD_COLOURS_BALANCE, 0, low);
    td_colour_map(TD_COLOURS_BALANCE, 1, high);
    assert_true(low[2] > low[0] + 0.3 && high[0] > high[2] + 0.3);
    assert_near(luminance(low), luminance(high), 0.03);
    // Outside stays at the ends; a missing value is grey.
    td_colour_map(TD_COLOURS_LAGOON, 7, high);
    td_colour_map(TD_COLOURS_LAGOON, 1, rgb);
    assert_memory_equal(high, rgb, sizeof rgb);
    td_colour_map(TD_COLOURS_LAGOON, NAN, rgb);
    assert_true(rgb[0] == rgb[1] && rgb[1] == rgb[2]);
    for (int i = 0; i <= 255; i++)
        assert_near(255 * td_linear_to_srgb(td_srgb_to_linear(i / 255.0)), i, 1e-6);
}

static void test_ticks_and_prefixes(void **state)
{
    (void)state;
    double factor;
    char text[32];
    assert_near(td_nice_step(0, 1, 5), 0.2, 1e-15);
    assert_near(td_nice_step(-3, 97, 5), 20, 1e-12);
    assert_near(td_nice_step(0, 6e-7, 6), 1e-7, 1e-20);
    assert_string_equal(td_si_prefix(2.5e5, &factor), "k");
    assert_near(factor, 1e3, 0);
    assert_string_equal(td_si_prefix(-0.02, &factor), "m");
    assert_string_equal(td_si_prefix(0, &factor), "");
    assert_string_equal(td_si_prefix(0.99999, &factor), "");
    td_tick_label(-0.3, 0.1, text, sizeof text);
    assert_string_equal(text, "\xE2\x88\x92"
                              "0.3");
    td_tick_label(-1e-17, 0.1, text, sizeof text);
    assert_string_equal(text, "0.0");
}

// Long numbers at an axis share a factor, a power of a thousand behind its label; numbers of usual length have none.
static void test_factor_of_an_axis(void **state)
{
    (void)state;
    static const struct
    {
        tdAxis axis;
        double factor;
        const char *label;
    } cases[] = {{{.lo = 0, .hi = 20}, 1, "x"},
                 {{.lo = -2000, .hi = 100}, 1, "x"},
                 {{.lo = 0, .hi = 0.05}, 1, "x"},
                 {{.lo = 0, .hi = 3e5}, 1e3, "x (\xC3\x97 1e3)"},
                 {{.lo = -4e7, .hi = 0}, 1e6, "x (\xC3\x97 1e6)"},
                 {{.lo = 0, .hi = 2e-3}, 1e-3, "x (\xC3\x97 1e-3)"},
                 {{.log = true, .lo = -0.001, .hi = 0.001}, 1, "x"}}; // powers have their own way to be short
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
        char label[32];
        assert_near(td_axis_factor(&cases[i].axis), cases[i].factor, 1e-12 * cases[i].factor);
        td_axis_label(&cases[i].axis, "x", label, sizeof label);
        assert_string_equal(label, cases[i].label);
    }
}

// The labels of an axis in order, with blanks between; exponents of ten are marked by ^.
static void labels_of(const tdAxis *axis, int wanted, char *out, size_t size)
{
    tdTick ticks[TD_TICKS];
    double step;
    size_t used = 0;
    int n = td_axis_ticks(axis, wanted, &step, ticks);
    out[0] = '\0';
    for (int i = 0; i < n; i++)
    {
        char text[32];
        bool power = td_axis_tick_text(axis, ticks[i], step, td_axis_factor(axis), text, sizeof text);
        if (ticks[i].labelled && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s%s", used > 0 ? " " : "", power ? "^" : "", text);
    }
}

#define MINUS "\xE2\x88\x92"

// Round numbers, those at both ends too. On a log axis decades have labels; 2 and 5 also where there are few decades,
// and not every decade where there are many; exponents where the numbers would be long.
static void test_labels_of_an_axis(void **state)
{
    (void)state;
    static const struct
    {
        tdAxis axis;
        const char *labels;
    } cases[] = {
        {{.lo = 0, .hi = 1}, "0.0 0.2 0.4 0.6 0.8 1.0"},
        {{.lo = -0.1, .hi = 0.79}, "0.0 0.2 0.4 0.6"},
        {{.lo = 0, .hi = 4e6}, "0 1 2 3 4"},
        {{.log = true, .lo = 0, .hi = 2}, "1 10 100"},
        {{.log = true, .lo = -0.4, .hi = 0.4}, "0.5 1 2"},
        {{.log = true, .lo = -3, .hi = 1}, "0.001 0.01 0.1 1 10"},
        {{.log = true, .lo = -4, .hi = -2}, "^" MINUS "4 ^" MINUS "3 ^" MINUS "2"},
        {{.log = true, .lo = 4, .hi = 6}, "^4 ^5 ^6"},
        {{.log = true, .lo = -12, .hi = 12}, "^" MINUS "12 ^" MINUS "8 ^" MINUS "4 ^0 ^4 ^8 ^12"},
    };
    char labels[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
        labels_of(&cases[i].axis, 5, labels, sizeof labels);
        assert_string_equal(labels, cases[i].labels);
    }
    // Marks without labels stand at 2 to 9 of a decade; there are never more of them than the array holds.
    tdTick ticks[TD_TICKS + 1];
    double step;
    assert_int_equal(td_axis_ticks(&(tdAxis){.log = true, .lo = 0, .hi = 2}, 5, &step, ticks), 19);
    assert_near(ticks[1].at, log10(2), 1e-12);
    assert_int_equal(td_axis_ticks(&(tdAxis){.lo = 0, .hi = 1}, 1000, &step, ticks), TD_TICKS);
}

// An axis of positive numbers begins at zero where it would come near, and exactly there; else there is some room.
static void test_range_of_an_axis(void **state)
{
    (void)state;
    tdError error = {0};
    const double any[2] = {NAN, NAN}, given[2] = {-1, 7};
    tdAxis axis = {0};
    assert_ok(td_axis_set(&axis, "x", any, (double[]){1, 10}, false, false, &error), error);
    assert_true(axis.lo == 0 && axis.hi > 10 && axis.hi < 11);
    assert_ok(td_axis_set(&axis, "x", any, (double[]){9, 10}, false, false, &error), error);
    assert_true(axis.lo > 8.9 && axis.lo < 9);
    assert_ok(td_axis_set(&axis, "x", any, (double[]){9, 10}, true, false, &error), error);
    assert_true(axis.lo == 0);
    assert_ok(td_axis_set(&axis, "x", any, (double[]){-10, -9}, true, false, &error), error);
    assert_true(axis.hi == 0 && axis.lo < -10);
    assert_ok(td_axis_set(&axis, "x", given, (double[]){1, 10}, false, false, &error), error);
    assert_true(axis.lo == -1 && axis.hi == 7);
    axis.log = true;
    assert_ok(td_axis_set(&axis, "x", any, (double[]){1, 100}, false, false, &error), error);
    assert_true(axis.lo < 0 && axis.lo > -0.2 && axis.hi > 2 && axis.hi < 2.2);
}

// The legend's bar holds the colours of the map in order, and the body those of its field.
static void test_legend_and_field(void **state)
{
    (void)state;
    Shape ball = sphere(60, 90);
    tdDrawMesh mesh = draw_of(&ball, 0.5, 0.5, 0.5);
    mesh.field = ball.field;
    tdRenderSettings s = bare(400);
    s.width = 600;
    s.legend = true;
    s.legend_label = "height";
    s.legend_unit = "m";
    tdImage image = rendered(&s, 1, &mesh);
    int found = -1, column = 0;
    double top[3];
    for (int x = 400; x < 600 && found < 0; x++)
        for (int y = 0; y < 200; y++)
        {
            const uint8_t *p = pixel(&image, x, y + 1), *q = pixel(&image, x + 3, y + 1);
            td_colour_map(TD_COLOURS_LAGOON, 0.995, top);
            if (abs(p[0] - (int)(255 * top[0])) < 4 && abs(p[2] - (int)(255 * top[2])) < 6 && memcmp(p, q, 3) == 0)
            {
                found = y;
                column = x + 3;
                break;
            }
        }
    assert_true(found > 0);
    double before = 2;
    int rows = 0;
    for (int y = found + 4; y < 310; y += 4, rows++)
    {
        const uint8_t *p = pixel(&image, column, y);
        double now = luminance((double[]){p[0] / 255.0, p[1] / 255.0, p[2] / 255.0});
        assert_true(now < before);
        before = now;
    }
    assert_true(rows > 40);
    // Yellow above, violet below.
    const uint8_t *high = pixel(&image, 250, 50), *low = pixel(&image, 250, 350);
    assert_true(high[0] > 120 && high[2] < 110);
    assert_true(low[2] > low[1] + 15);
    td_image_free(&image);
    shape_free(&ball);
}

// ---------------------------------------------------------------- bad input

static void assert_refused(const tdRenderSettings *s, int n, const tdDrawMesh *meshes, tdStatus status, const char *why)
{
    tdImage image;
    tdError error = {0};
    assert_int_equal(td_render(s, n, meshes, &image, &error), status);
    assert_non_null(strstr(error.message, why));
    assert_null(image.rgb);
}

// A title that is longer than the picture is wide is written smaller, and a short one as large as ever.
static void test_title_fits(void **state)
{
    (void)state;
    const char *const titles[2] = {
        "Hi", "A title of many words, of which no picture of this width could hold the half at its size"};
    int wide[2], high[2];
    for (int k = 0; k < 2; k++)
    {
        tdRenderSettings s = bare(300);
        tdImage image, plain;
        tdError error = {0};
        assert_ok(td_image_create(s.width, s.height, &image, &error), error);
        assert_ok(td_image_create(s.width, s.height, &plain, &error), error);
        s.title = titles[k];
        assert_ok(td_overlay(&s, NULL, false, NULL, &image, &error), error);
        int left = s.width, right = -1, top = s.height, bottom = -1;
        for (int y = 0; y < s.height; y++)
            for (int x = 0; x < s.width; x++)
                if (memcmp(pixel(&image, x, y), pixel(&plain, x, y), 3) != 0)
                {
                    left = x < left ? x : left;
                    right = x > right ? x : right;
                    top = y < top ? y : top;
                    bottom = y > bottom ? y : bottom;
                }
        wide[k] = right - left + 1;
        high[k] = bottom - top + 1;
        assert_near(left + right, s.width, 0.05 * s.width); // in the middle
        td_image_free(&image);
        td_image_free(&plain);
    }
    assert_true(wide[0] > 5 && wide[0] < 60);
    assert_true(wide[1] > 0.88 * 300 && wide[1] < 0.96 * 300);
    assert_true(high[1] < high[0]);
}

static void test_bad_input_is_refused(void **state)
{
    (void)state;
    double x[12];
    tdDrawMesh good = square(x, 1, 0, 0.5, 0.5, 0.5), bad = good;
    tdRenderSettings s = bare(64), t = s;
    assert_refused(&s, 0, NULL, TD_ERROR_INPUT, "no triangle");
    bad.n_tris = 0;
    assert_refused(&s, 1, &bad, TD_ERROR_INPUT, "no triangle");
    const int32_t outside[3] = {0, 1, 4};
    bad.tris = outside;
    bad.n_tris = 1;
    assert_refused(&s, 1, &bad, TD_ERROR_INPUT, "node 4");
    x[4] = NAN;
    assert_refused(&s, 1, &good, TD_ERROR_INPUT, "finite");
    square(x, 1e200, 0, 0, 0, 0);
    assert_refused(&s, 1, &good, TD_ERROR_INPUT, "too");
    square(x, 1, 0, 0, 0, 0);
    const double field[4] = {NAN, NAN, NAN, NAN};
    bad = good;
    bad.field = field;
    assert_refused(&s, 1, &bad, TD_ERROR_INPUT, "no finite value");
    bad.tri_field = field;
    assert_refused(&s, 1, &bad, TD_ERROR_USAGE, "give one");
    bad = good;
    bad.opacity = 2;
    assert_refused(&s, 1, &bad, TD_ERROR_USAGE, "opacity");
    t.width = 1000000;
    assert_refused(&t, 1, &good, TD_ERROR_USAGE, "1000000");
    t = s;
    t.height = 0;
    assert_refused(&t, 1, &good, TD_ERROR_USAGE, "pixels");
    t = s;
    t.supersample = 9;
    assert_refused(&t, 1, &good, TD_ERROR_USAGE, "samples");
    t = s;
    t.range[0] = 2;
    t.range[1] = 1;
    assert_refused(&t, 1, &good, TD_ERROR_USAGE, "range");
    t = s;
    t.view.zoom = NAN;
    assert_refused(&t, 1, &good, TD_ERROR_USAGE, "zoom");
    t = s;
    t.view.elevation = 100;
    assert_refused(&t, 1, &good, TD_ERROR_USAGE, "elevation");
}

// Odd but drawable: the picture is made, and nothing is written where it should not.
static void test_odd_input_is_drawn(void **state)
{
    (void)state;
    double x[12];
    tdDrawMesh mesh = square(x, 1, 0, 0.5, 0.5, 0.5);
    tdRenderSettings s = td_default_render();
    s.width = 160;
    s.height = 120;
    s.view.elevation = 90;
    double field[4] = {NAN, 1, 1, 1};
    mesh.field = field;
    mesh.edges = mesh.features = true;
    s.view.elevation = 0;
    s.view.azimuth = -90;
    tdImage image = rendered(&s, 1, &mesh); // constant where it is not missing
    td_image_free(&image);
    field[1] = INFINITY;
    image = rendered(&s, 1, &mesh);
    td_image_free(&image);
    const double odd[4][2] = {{0, 5e-324}, {1e16, 1e16 + 2}, {-0.7e308, 0.7e308}, {-1e-300, 1e-300}};
    for (int i = 0; i < 4; i++)
    {
        memcpy(field, (double[]){odd[i][0], odd[i][1], odd[i][0], odd[i][1]}, sizeof field);
        image = rendered(&s, 1, &mesh);
        td_image_free(&image);
    }
    mesh.field = NULL;
    s.view.elevation = 10;
    square(x, 0, 0, 0, 0, 0); // shrunk to a point
    image = rendered(&s, 1, &mesh);
    td_image_free(&image);
    memcpy(x, (double[]){0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}, sizeof x); // on a line
    image = rendered(&s, 1, &mesh);
    td_image_free(&image);
    square(x, 1e-150, 0, 0, 0, 0);
    mesh.opacity = 0.5; // and nothing that throws a shadow
    tdError error = {0};
    if (td_render(&s, 1, &mesh, &image, &error) == TD_OK)
        td_image_free(&image);
    mesh.opacity = 1;
    square(x, 1, 0, 0, 0, 0);
    s.view.zoom = 50; // corners far outside the picture
    image = rendered(&s, 1, &mesh);
    assert_true(pixel(&image, 10, 10)[0] < 200);
    td_image_free(&image);
    for (int up = 0; up < 3; up++)
        for (int e = -90; e <= 90; e += 90)
        {
            s.view = (tdView){.azimuth = 30, .elevation = e, .up = up, .zoom = 1, .field_of_view = up * 30};
            image = rendered(&s, 1, &mesh);
            td_image_free(&image);
        }
}

// A node with very many triangles must not make the cost quadratic.
static void test_fan_with_a_crowded_node(void **state)
{
    (void)state;
    enum
    {
        N = 60000
    };
    double *x = calloc(3 * (N + 1), sizeof(double));
    int32_t *tris = calloc(3 * N, sizeof(int32_t));
    for (int i = 0; i < N; i++)
    {
        x[3 * i] = cos(2 * M_PI * i / N);
        x[3 * i + 2] = sin(2 * M_PI * i / N);
        memcpy(tris + 3 * i, (int32_t[]){N, i, (i + 1) % N}, 3 * sizeof(int32_t));
    }
    tdDrawMesh mesh = td_default_draw();
    mesh.x = x;
    mesh.n_nodes = N + 1;
    mesh.tris = tris;
    mesh.n_tris = N;
    mesh.features = true;
    tdRenderSettings s = bare(100);
    tdImage image = rendered(&s, 1, &mesh);
    assert_true(pixel(&image, 50, 40)[0] < 200);
    td_image_free(&image);
    free(x);
    free(tris);
}

// ---------------------------------------------------------------- PNG

static void test_png_keeps_the_pixels(void **state)
{
    (void)state;
    tdImage image;
    tdError error = {0};
    tdText text = {0};
    assert_ok(td_image_create(61, 47, &image, &error), error);
    for (int i = 0; i < 61 * 47 * 3; i++)
        image.rgb[i] = (uint8_t)(i * 7919 >> 3);
    assert_ok(td_image_encode_png(&image, &text, &error), error);
    png_image png = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(&png, text.data, (size_t)text.size));
    png.format = PNG_FORMAT_RGB;
    assert_int_equal(png.width, 61);
    assert_int_equal(png.height, 47);
    uint8_t *back = malloc(PNG_IMAGE_SIZE(png));
    assert_true(png_image_finish_read(&png, NULL, back, 0, NULL));
    assert_memory_equal(back, image.rgb, 61 * 47 * 3);
    tdText again = {0};
    assert_ok(td_image_encode_png(&image, &again, &error), error);
    assert_int_equal(again.size, text.size);
    assert_memory_equal(again.data, text.data, (size_t)text.size);
    assert_int_equal(td_image_write_png(&image, "/no/such/folder/a.png", &error), TD_ERROR_IO);
    free(back);
    free(text.data);
    free(again.data);
    td_image_free(&image);
}

// Dashes and gaps go on around corners, and each is as long as it was asked for.
static void test_dashes(void **unused)
{
    (void)unused;
    enum
    {
        WIDTH = 120,
        LINE = 10,
        DASH = 10,
        GAP = 6
    };
    const double xy[] = {LINE, 10, LINE + 36, 10, LINE + 96, 10}; // the corner is within the third dash
    tdImage image;
    tdCanvas canvas;
    assert_int_equal(td_image_create(WIDTH, 20, &image, NULL), TD_OK);
    assert_int_equal(td_canvas_open(&image, &canvas, NULL), TD_OK);
    td_canvas_dashes(&canvas, 3, xy, 2, DASH, GAP, (tdInk){{1, 1, 1}, 1});
    td_canvas_close(&canvas);
    for (int x = 0; x < WIDTH; x++)
    {
        double at = fmod(x + 0.5 - LINE, DASH + GAP);
        bool on_line = x >= LINE && x < LINE + 96;
        if (on_line && at > 1 && at < DASH - 1)
            assert_int_equal(image.rgb[3 * (9 * WIDTH + x)], 255);
        else if (!on_line ? x < LINE - 2 || x > LINE + 98 : at > DASH + 2 && at < DASH + GAP - 2) // ends are round
            assert_int_equal(image.rgb[3 * (9 * WIDTH + x)], 0);
    }
    td_image_free(&image);
}

// ---------------------------------------------------------------- text

static tdImage written(const char *text)
{
    tdImage image;
    tdCanvas canvas;
    tdInk ink = {{1, 1, 1}, 1};
    assert_int_equal(td_image_create(120, 60, &image, NULL), TD_OK);
    assert_int_equal(td_canvas_open(&image, &canvas, NULL), TD_OK);
    td_canvas_text(&canvas, 20, 40, (tdTextStyle){.size = 20}, ink, text);
    td_canvas_close(&canvas);
    return image;
}

static int inked(const char *text)
{
    tdImage image = written(text);
    int count = 0;
    for (int i = 0; i < 120 * 60; i++)
        count += image.rgb[3 * i] > 128;
    td_image_free(&image);
    return count;
}

static bool same_text(const char *a, const char *b)
{
    tdImage one = written(a), two = written(b);
    bool same = same_image(&one, &two);
    td_image_free(&one);
    td_image_free(&two);
    return same;
}

static void test_font(void **state)
{
    (void)state;
    const char *box = "\x01";
    assert_true(inked(box) > 20);
    assert_int_equal(inked(" "), 0);
    for (int c = 33; c < 127; c++)
    {
        char text[2] = {(char)c, 0}, next[2] = {(char)(c + 1), 0};
        assert_true(inked(text) > 4);
        assert_false(same_text(text, box));
        assert_false(same_text(text, c < 126 ? next : " "));
    }
    assert_false(same_text("\xC2\xB0", box)); // degree
    assert_false(same_text("\xC2\xB5", box)); // micro
    assert_true(td_text_width(10, "mm") > td_text_width(10, "m"));
    assert_near(td_text_width(20, "tendril"), 2 * td_text_width(10, "tendril"), 1e-12);
    assert_near(td_text_width(10, "0.123"), td_text_width(10, "0.987"), 1e-12); // figures of one width
    inked("\xE2\x88");                                                          // cut short
    inked("\xFF\xC2 \x80");                                                     // not UTF-8
}

// ---------------------------------------------------------------- plots

static int count_colour(const tdImage *image, const uint8_t rgb[3], int slack, double *mean_y)
{
    int n = 0;
    double sum = 0;
    for (int y = 0; y < image->height; y++)
        for (int x = 0; x < image->width; x++)
        {
            const uint8_t *p = pixel(image, x, y);
            if (abs(p[0] - rgb[0]) > slack || abs(p[1] - rgb[1]) > slack || abs(p[2] - rgb[2]) > slack)
                continue;
            n++;
            sum += y + 0.5;
        }
    *mean_y = n > 0 ? sum / n : NAN;
    return n;
}

static void test_plot_puts_values_in_place(void **state)
{
    (void)state;
    const uint8_t first[3] = {26, 102, 184};
    double x[2] = {1, 100}, y[2] = {10, 10}, low, high, at;
    tdPlotSettings s = td_default_plot();
    s.x_log = s.y_log = true;
    s.y_range[0] = 1;
    s.y_range[1] = 1000;
    tdSeries series = {.n = 2, .x = x, .y = y};
    tdError error = {0};
    tdImage image;
    // On a log axis, 8 is a third of the way from 2 to 128.
    double value[3] = {2, 128, 8}, *place[3] = {&low, &high, &at};
    for (int i = 0; i < 3; i++)
    {
        y[0] = y[1] = value[i];
        assert_ok(td_plot(&s, 1, &series, &image, &error), error);
        assert_true(count_colour(&image, first, 12, place[i]) > 400);
        td_image_free(&image);
    }
    assert_true(high < low - 200);
    assert_near((low - at) / (low - high), 1.0 / 3, 0.005);
}

// Extent of the pixels of a colour.
static void extent(const tdImage *image, const uint8_t rgb[3], int box[4])
{
    box[0] = box[1] = TD_IMAGE_MAX;
    box[2] = box[3] = -1;
    for (int y = 0; y < image->height; y++)
        for (int x = 0; x < image->width; x++)
        {
            const uint8_t *c = image->rgb + 3 * ((size_t)y * (size_t)image->width + (size_t)x);
            if (abs(c[0] - rgb[0]) + abs(c[1] - rgb[1]) + abs(c[2] - rgb[2]) > 12)
                continue;
            box[0] = x < box[0] ? x : box[0];
            box[1] = y < box[1] ? y : box[1];
            box[2] = x > box[2] ? x : box[2];
            box[3] = y > box[3] ? y : box[3];
        }
}

// A circle of points is round where units are equal, and not else.
static void test_plot_equal_units(void **state)
{
    (void)state;
    const uint8_t first[3] = {26, 102, 184};
    double x[64], y[64];
    for (int i = 0; i < 64; i++)
    {
        x[i] = 5 + cos(i * 0.0981747704246810387);
        y[i] = -3 + sin(i * 0.0981747704246810387);
    }
    tdSeries series = {.n = 64, .x = x, .y = y, .marker = TD_MARKER_DOT, .line = TD_LINE_NONE};
    tdPlotSettings s = td_default_plot();
    for (int equal = 0; equal < 2; equal++)
    {
        tdImage image;
        tdError error = {0};
        int box[4];
        s.equal = equal;
        assert_ok(td_plot(&s, 1, &series, &image, &error), error);
        extent(&image, first, box);
        int wide = box[2] - box[0], high = box[3] - box[1];
        assert_true(high > 300);
        assert_true(equal ? abs(wide - high) <= 2 : wide > high + 100);
        td_image_free(&image);
    }
}

static uint32_t big_endian(const char *at)
{
    const unsigned char *b = (const unsigned char *)at;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void test_plot_panels(void **state)
{
    (void)state;
    double x[2] = {0, 1};
    tdSeries series = {.n = 2, .x = x, .y = x};
    tdPanel panels[3];
    tdError error = {0};
    const char *path = TD_BUILD_DIR "/panels.png";
    char *data = NULL;
    size_t size = 0;
    for (int k = 0; k < 3; k++)
        panels[k] = (tdPanel){td_default_plot(), 1, &series};
    assert_ok(td_plot_panels(2, 3, panels, path, &error), error);
    assert_ok(td_file_read(path, &data, &size, &error), error);
    // A PNG begins with its signature and the header: width, height.
    assert_int_equal(big_endian(data + 16), 2 * panels[0].settings.width);
    assert_int_equal(big_endian(data + 20), 2 * panels[0].settings.height);
    free(data);
    remove(path);
    panels[2].n = 0; // a plot that cannot be drawn
    assert_int_equal(td_plot_panels(2, 3, panels, path, &error), TD_ERROR_USAGE);
    assert_int_not_equal(remove(path), 0);
}

static void test_plot_input(void **state)
{
    (void)state;
    double x[4] = {1, 2, NAN, 4}, y[4] = {1, NAN, 3, 4}, zero[4] = {1, 0, 3, 4}, mean;
    const char *const names[4] = {"a", "b", "c", "d"};
    tdSeries series = {.name = "one", .n = 4, .x = x, .y = y, .marker = TD_MARKER_DIAMOND, .line = TD_LINE_DASHED};
    tdPlotSettings s = td_default_plot();
    tdError error = {0};
    tdImage image, again;
    s.title = "gaps";
    assert_ok(td_plot(&s, 1, &series, &image, &error), error);
    assert_ok(td_plot(&s, 1, &series, &again, &error), error);
    assert_true(same_image(&image, &again));
    td_image_free(&image);
    td_image_free(&again);
    s.y_log = true;
    series.y = zero;
    assert_int_equal(td_plot(&s, 1, &series, &image, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "logarithmic"));
    s.y_log = false;
    s.n_categories = 3;
    s.categories = names;
    assert_int_equal(td_plot(&s, 1, &series, &image, &error), TD_ERROR_USAGE);
    s.n_categories = 4;
    s.bar_values = true;
    assert_ok(td_plot(&s, 1, &series, &image, &error), error);
    assert_true(count_colour(&image, (const uint8_t[]){26, 102, 184}, 2, &mean) > 5000);
    td_image_free(&image);
    assert_int_equal(td_plot(&s, 0, NULL, &image, &error), TD_ERROR_USAGE);
    s = td_default_plot();
    series.n = 1; // a single point, and no point at all
    assert_ok(td_plot(&s, 1, &series, &image, &error), error);
    td_image_free(&image);
    series.n = 0;
    assert_ok(td_plot(&s, 1, &series, &image, &error), error);
    td_image_free(&image);
    const double odd[4][2] = {{0, 5e-324}, {1e16, 1e16 + 2}, {-0.7e308, 0.7e308}, {-1e-300, 1e-300}};
    for (int i = 0; i < 4; i++)
    {
        tdSeries strange = {.n = 2, .x = odd[i], .y = odd[3 - i], .marker = TD_MARKER_SQUARE};
        assert_ok(td_plot(&s, 1, &strange, &image, &error), error);
        td_image_free(&image);
    }
    s.y_range[0] = 3;
    s.y_range[1] = 2;
    assert_int_equal(td_plot(&s, 1, &series, &image, &error), TD_ERROR_USAGE);
    assert_null(image.rgb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sphere_covers_its_disc),
        cmocka_unit_test(test_same_bytes_for_any_threads),
        cmocka_unit_test(test_nearer_hides_farther),
        cmocka_unit_test(test_translucent_mixes),
        cmocka_unit_test(test_faces_of_a_cube_are_flat),
        cmocka_unit_test(test_edges_are_drawn_as_asked),
        cmocka_unit_test(test_ground_shadow_and_occlusion_darken),
        cmocka_unit_test(test_colour_maps),
        cmocka_unit_test(test_ticks_and_prefixes),
        cmocka_unit_test(test_factor_of_an_axis),
        cmocka_unit_test(test_labels_of_an_axis),
        cmocka_unit_test(test_range_of_an_axis),
        cmocka_unit_test(test_legend_and_field),
        cmocka_unit_test(test_title_fits),
        cmocka_unit_test(test_bad_input_is_refused),
        cmocka_unit_test(test_odd_input_is_drawn),
        cmocka_unit_test(test_fan_with_a_crowded_node),
        cmocka_unit_test(test_png_keeps_the_pixels),
        cmocka_unit_test(test_dashes),
        cmocka_unit_test(test_font),
        cmocka_unit_test(test_plot_puts_values_in_place),
        cmocka_unit_test(test_plot_equal_units),
        cmocka_unit_test(test_plot_panels),
        cmocka_unit_test(test_plot_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
