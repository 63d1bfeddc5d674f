// SPDX-License-Identifier: Apache-2.0
// What a hand feels of a nodule along a line over it, less what it feels there in plain tissue, against static
// equilibria of finer meshes. With TENDRIL_VERIFY_IMAGES=DIR it draws docs/images/haptic-nodule.png.
#include "nodule.h"

#include "render/plot.h"

#define PLACES 6
#define TICKS  1000 // of half of a stroke: 20 mm in a second

static const double places[PLACES] = {0, 2e-3, 4e-3, 6e-3, 8e-3, 10e-3};

// A ball that is let down and held at a place: mean force over 0.4 s, and mean depth of the tool.
static double hold(double x, bool plain, double *depth)
{
    rig r = rig_of(nodule_model("integrator: {method: backward_euler}", NULL, NULL, plain, false), 2000);
    double at[3] = {x - NODULE_START_X, 0, 0}, force = 0;
    const double down[3] = {at[0], 0, -3.5e-3};
    go(&r, at, down, 250);
    go(&r, at, at, 300);
    *depth = -NODULE_START_Z;
    for (int k = 0; k < 400; k++)
    {
        go(&r, at, at, 1);
        force += r.felt.force[2] / 400;
        *depth += r.felt.tool[2] / 400;
    }
    rig_free(&r);
    return force;
}

// The same on the way, from -10 mm to 10 mm.
static void stroke(bool plain, double *force)
{
    rig r = rig_of(nodule_model("integrator: {method: backward_euler}", NULL, NULL, plain, false), 2000);
    double at[3] = {-10e-3 - NODULE_START_X, 0, 0};
    const double down[3] = {at[0], 0, -3.5e-3};
    go(&r, at, down, 250);
    go(&r, at, at, 100);
    for (int k = 0; k < TICKS; k++)
    {
        const double to[3] = {-10e-3 - NODULE_START_X + 20e-3 * k / TICKS, 0, -3.5e-3};
        go(&r, at, to, 1);
        force[k] = r.felt.force[2];
    }
    rig_free(&r);
}

static void draw(const double *fine, const double *felt)
{
    const char *folder = getenv("TENDRIL_VERIFY_IMAGES");
    static double x[TICKS], over[TICKS], tissue[TICKS], adds[TICKS], side[2 * PLACES - 1], says[2 * PLACES - 1],
        held[2 * PLACES - 1];
    stroke(false, over);
    stroke(true, tissue);
    for (int k = 0; k < TICKS; k++)
    {
        x[k] = -10 + 20. * k / TICKS;
        adds[k] = over[k] - tissue[k];
    }
    for (int i = 0; i < 2 * PLACES - 1; i++)
    {
        int k = abs(i - (PLACES - 1));
        side[i] = 1e3 * (i < PLACES - 1 ? -1 : 1) * places[k];
        says[i] = fine[k];
        held[i] = felt[k];
    }
    tdPlotSettings settings = td_default_plot();
    settings.width = 1000;
    settings.height = 460;
    settings.title = "what a nodule adds to the force on a ball";
    settings.x_label = "way over the nodule [mm]";
    settings.y_label = "force [N]";
    const tdSeries series[] = {
        {.name = "felt, on the way", .n = TICKS, .x = x, .y = adds},
        {.name = "felt, held", .n = 2 * PLACES - 1, .x = side, .y = held, .marker = (tdMarker)1},
        {.name = "static, half the element size", .n = 2 * PLACES - 1, .x = side, .y = says, .marker = (tdMarker)2},
    };
    tdImage image = {0};
    tdError error = {0};
    char path[1024];
    if (folder == NULL)
        return;
    assert_ok(td_plot(&settings, 3, series, &image, &error), error);
    snprintf(path, sizeof path, "%s/haptic-nodule.png", folder);
    assert_ok(td_image_write_png(&image, path, &error), error);
    td_image_free(&image);
}

static void test_profile(void **unused)
{
    (void)unused;
    double felt[PLACES][2], fine[PLACES][2], adds[PLACES], says[PLACES];
    for (int i = 0; i < PLACES; i++)
    {
        for (int plain = 0; plain < 2; plain++)
        {
            double depth;
            felt[i][plain] = hold(places[i], plain, &depth);
            fine[i][plain] = nodule_static(2, places[i], depth, plain);
        }
        adds[i] = felt[i][0] - felt[i][1];
        says[i] = fine[i][0] - fine[i][1];
        print_message(
            "%4.0f mm: felt %.4f, %.4f N, adds %.4f N; half the element size %.4f, %.4f, %.4f N: off by %.1f %% "
            "of the largest\n",
            1e3 * places[i], felt[i][0], felt[i][1], adds[i], fine[i][0], fine[i][1], says[i],
            100 * (adds[i] - says[i]) / says[0]);
    }
    draw(says, adds);
    for (int i = 0; i < PLACES; i++)
    {
        assert_near(adds[i], says[i], 0.05 * says[0]);
        assert_near(felt[i][1], fine[i][1], 0.05 * fine[i][1]);
    }
}

// Where finer meshes lead, over the middle.
static void test_converges(void **unused)
{
    (void)unused;
    double adds[3], force[3];
    for (int n = 1; n <= 3; n++)
    {
        force[n - 1] = nodule_static(n, 0, -3.3e-3, true);
        adds[n - 1] = nodule_static(n, 0, -3.3e-3, false) - force[n - 1];
        print_message("elements of 1/%d: %.5f N in plain tissue, the nodule adds %.5f N\n", n, force[n - 1],
                      adds[n - 1]);
    }
    assert_near(adds[2], adds[1], 0.025 * adds[1]);
    assert_near(force[2], force[1], 0.025 * force[1]);
    assert_true(fabs(adds[2] - adds[1]) < 0.7 * fabs(adds[1] - adds[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_converges), cmocka_unit_test(test_profile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
