// SPDX-License-Identifier: Apache-2.0
// Robots on a GPU that move as a whole and touch what stands still, beside those on the CPU: the worm of the golden
// trajectories on a frame, and the arm above things. The back end of the host is compared on any machine, that of the
// device where there is one.
#include "batches.h"

#include <math.h>
#include <stdio.h>

#define CABLE(name, from, middle, to, drive)                                                                           \
    "  - {name: " name ", type: cable, body: worm, path: [[" from ", 0.01, 0], [" middle ", 0.01, 0], [" to            \
    ", 0.01, 0]], " drive "}\n"
#define WORM(contact, others, drive, more)                                                                             \
    "tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 10 ms\nsteps: 200\n" contact                                       \
    "bodies:\n  - {name: worm, mesh: {box: [[0, 0, 0], [0.12, 0.02, 0.01]], cells: [12, 2, 1], elements: hexahedra}, " \
    "material: {law: corotational, young: 60 kPa, poisson: 0.4, density: 1000}, damping: {mass: 2 1/s}}\n" others      \
    "actuators:\n" CABLE("fore", "0.12", "0.1", "0.08", drive) CABLE("middle", "0.08", "0.06", "0.04", drive) CABLE(   \
        "hind", "0.04", "0.02", "0", drive) "probes: [{name: head, body: worm, point: [0.12, 0.01, 0.005]}]\n" more

#define RUBS  "contact: {friction: 0.5}\n"
#define PLANE "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
#define FORCE "drive: force, range: [0, 0.5 N]"

#define STANDING(shape, where)                                                                                         \
    "  - {name: floor, type: rigid, shape: {" shape "}, transform: {" where "}, fixed: true}\n"
#define PLANE_BELOW                                                                                                    \
    "  - {name: ground, type: rigid, shape: {plane: true}, transform: {translate: [0, 0, -0.02]}, fixed: true}\n"

static tdModel *worm(const char *text)
{
    return reduced_as(text, OWN "worm.h5");
}

// Inputs that differ from robot to robot and begin slowly, up to `most`: after a jump the CPU repeats the step.
static void wave(double most, int robots, double *inputs)
{
    for (int i = 0; i < robots; i++)
        for (int t = 0; t < ROWS; t++)
            for (int k = 0; k < 3; k++)
                inputs[((int64_t)i * ROWS + t) * 3 + k] =
                    most * (0.5 - 0.5 * cos((0.1 + 0.02 * (i % ROBOTS) + 0.05 * k) * t));
}

/// Outputs, with bounds of what they differ by, relative to the largest number.
typedef struct seen
{
    const char *name;
    double bound;
} seen;

static double *roll(tdBatch *batch, int robots, int n, const seen *outputs, const double *inputs)
{
    const char *names[16];
    const int chosen[3] = {0, 1, 2};
    for (int k = 0; k < n; k++)
        names[k] = outputs[k].name;
    return roll_outputs(batch, robots, 3, chosen, n, names, inputs);
}

// The same motion on both, robots after the first five being copies of those.
static void compare(const tdModel *model, const char *gpu, int robots, tdRomPrecision precision, const char *what,
                    int n, const seen *outputs, double most_input, double factor)
{
    double *inputs = malloc(sizeof(double) * (size_t)robots * ROWS * 3);
    wave(most_input, robots, inputs);
    tdBatch *cpu = make_with(model, ROBOTS, NULL, TD_ROM_AUTO), *other = make_with(model, robots, gpu, precision);
    double *a = roll(cpu, ROBOTS, n, outputs, inputs), *b = roll(other, robots, n, outputs, inputs);
    int64_t width = td_outputs_width(td_batch_outputs(cpu));
    for (int k = 0; k < n; k++)
    {
        tdOutputInfo info = td_outputs_info(td_batch_outputs(cpu), k);
        double most = 0, size = 0;
        for (int64_t row = 0; row < (int64_t)robots * ROWS; row++)
            for (int64_t c = info.first; c < info.first + info.count; c++)
            {
                double x = a[row % (ROBOTS * ROWS) * width + c], d = fabs(x - b[row * width + c]);
                most = d <= most ? most : d;
                size = fmax(size, fabs(x));
            }
        print_message("%d %-30s %-18s %.3g, off by %.1e\n", (int)precision, what, outputs[k].name, size,
                      size > 0 ? most / size : most);
        assert_true(most <= factor * outputs[k].bound * size);
    }
    free(a);
    free(b);
    free(inputs);
    td_batch_free(cpu);
    td_batch_free(other);
}

static const seen plain[] = {
    {"coords:worm", 1e-4},        {"rates:worm", 5e-3},  {"probe:head", 1e-4}, {"displacement:fore", 1e-4},
    {"effort:middle", 1e-3},      {"kinetic", 1e-3},     {"elastic", 1e-3},    {"contact:floor,worm", 1e-2},
    {"contact:worm,floor", 1e-2}, {"penetration", 1e-2}, {"contacts", 0.25}};
#define N_PLAIN ((int)(sizeof plain / sizeof plain[0]))

static void crawl(const char *gpu, int robots, tdRomPrecision precision)
{
    static const struct
    {
        const char *what, *text;
        double most;
    } list[] = {
        {"crawls", WORM(RUBS, PLANE, FORCE, ""), 0.5},
        {"by displacement", WORM(RUBS, PLANE, "drive: displacement, range: [0, 4 mm]", ""), 3e-3},
        {"effort with a stop",
         WORM(RUBS, PLANE, "drive: force, range: [0, 0.5 N], displacement_range: [-5 mm, 1 mm]", ""), 0.5},
        {"without friction", WORM("contact: {friction: 0}\n", PLANE, FORCE, ""), 0.5},
        {"a soft floor", WORM("contact: {friction: 0.5, stiffness: 200, dissipation: 20 ms}\n", PLANE, FORCE, ""), 0.5},
        {"sliding without a gap", WORM("contact: {friction: 0.3, sliding: corrected}\n", PLANE, FORCE, ""), 0.5},
        {"points of triangles", WORM("contact: {friction: 0.5, points: 2}\n", PLANE, FORCE, ""), 0.5},
        {"a box",
         WORM(RUBS,
              "  - {name: floor, type: rigid, shape: {box: [0.3, 0.3, 0.1]}, transform: {translate: [0.06, 0.01, "
              "-0.05]}, "
              "fixed: true}\n",
              FORCE, ""),
         0.5},
        {"a ball", WORM(RUBS, STANDING("sphere: 0.1", "translate: [0.06, 0.01, -0.1]"), FORCE, ""), 0.5},
        {"a capsule across",
         WORM(RUBS,
              STANDING("capsule: {radius: 0.03, length: 0.1}", "rotate: [90 deg, 0, 0], translate: "
                                                               "[0.06, 0.01, -0.03]"),
              FORCE, ""),
         0.5},
        {"edges of a box",
         WORM(RUBS, STANDING("box: [0.05, 0.05, 0.05]", "translate: [0.06, 0.01, -0.025]"), FORCE, ""), 0.5},
        {"corners of a box",
         WORM(RUBS,
              STANDING("box: [0.05, 0.05, 0.05]", "rotate: [45 deg, 35.264 deg, 0], translate: "
                                                  "[0.06, 0.01, -0.0433]") PLANE_BELOW,
              FORCE, ""),
         0.5},
    };
    const char *last = list[sizeof list / sizeof list[0] - 1].text;
    for (size_t k = 0; k < sizeof list / sizeof list[0]; k++)
    {
        tdModel *model = worm(list[k].text);
        compare(model, gpu, robots, precision, list[k].what, N_PLAIN, plain, list[k].most,
                precision == TD_ROM_SINGLE ? 50
                : list[k].text == last     ? 2
                                           : 1); // it tips off the corner: rounding grows
        td_model_free(model);
    }
}

// In flight: a force at one end turns it over, and its cables bend it.
static void fly(const char *gpu, int robots, tdRomPrecision precision)
{
    static const seen outputs[] = {
        {"coords:worm", 1e-4}, {"rates:worm", 1e-3}, {"probe:head", 1e-4}, {"kinetic", 1e-3}};
    tdModel *model =
        worm(WORM("", "", FORCE,
                  "loads: [{name: push, type: point, body: worm, group: xmax, force: [0, 0.1 N, 0.2 N]}]\n"
                  "motion: {interpolation: smooth, keyframes: [{t: 0, push: 0}, {t: 0.3, push: 1}, {t: 0.6, "
                  "push: -1}]}\n"));
    compare(model, gpu, robots, precision, "flies", 4, outputs, 0.3, precision == TD_ROM_SINGLE ? 50 : 1);
    td_model_free(model);
}

// An arm that is held falls on a box with its end and is pulled along it.
static void lean(const char *gpu, int robots, tdRomPrecision precision)
{
    static const seen outputs[] = {{"coords:arm", 1e-4}, {"rates:arm", 5e-3},        {"probe:tip", 1e-4},
                                   {"effort:top", 1e-2}, {"contact:step,arm", 1e-2}, {"elastic", 1e-3}};
    static const char text[] =
        "tendril: 1\ngravity: [0, 0, -9.81 m/s^2]\ntime_step: 10 ms\nsteps: 200\ncontact: {friction: 0.4}\nbodies:\n"
        "  - name: arm\n    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [10, 2, 2]}\n"
        "    material: {law: corotational, young: 100 kPa, poisson: 0.4, density: 1000}\n    damping: {mass: 10 1/s}\n"
        "    enrichment: false\n    fixed: [{group: xmin}]\n"
        "  - {name: step, type: rigid, shape: {box: [0.1, 0.1, 0.02]}, transform: {translate: [0.1, 0.01, -0.014]}, "
        "fixed: "
        "true}\nactuators:\n"
        "  - {name: top, type: cable, body: arm, path: [[0.09, 0.01, 0.02], [0.05, 0.01, 0.02], [0, 0.01, 0.02]], "
        "drive: "
        "displacement, range: [0, 10 mm]}\n"
        "  - {name: side, type: cable, body: arm, path: [[0.09, 0.02, 0.01], [0.05, 0.02, 0.01]], pull_point: [0, "
        "0.02, "
        "0.01], drive: displacement, range: [0, 10 mm]}\n"
        "  - {name: low, type: cable, body: arm, path: [[0.09, 0.01, 0], [0, 0.01, 0]], drive: force, range: [0, 1 "
        "N]}\n"
        "probes: [{name: tip, body: arm, point: [0.1, 0.01, 0.01]}]\n";
    tdError error = {0};
    tdRom rom = {0};
    tdModel *full = scene_parse(text), *model = NULL;
    assert_ok(td_rom_read(OWN "arm.h5", &rom, &error), error);
    rom.physics = td_soft_physics(full, 0);
    tdSettings settings = td_default_settings();
    assert_ok(td_model_parse_reduced(text, strlen(text), "arm.yaml", NULL, &settings, &rom, &model, &error), error);
    td_arena_free(&rom.arena);
    td_model_free(full);
    compare(model, gpu, robots, precision, "leans", 6, outputs, 3e-3, precision == TD_ROM_SINGLE ? 50 : 1);
    td_model_free(model);
}

// Robots that differ in gravity and friction, values that go from the CPU to the GPU and back in the middle of it, and
// a reset.
static void test_values(void **unused)
{
    (void)unused;
    double friction[ROBOTS] = {1, 0.2, 2, 1, 0}, down[ROBOTS] = {-9.81, -9.81, -5, -15, -9.81},
           inputs[ROBOTS * ROWS * 3], back[ROBOTS * ROWS * 3]; // the same way back, so that nothing jumps
    tdModel *model = worm(WORM(RUBS, PLANE, FORCE, ""));
    tdBatch *list[2] = {make_with(model, ROBOTS, NULL, TD_ROM_AUTO), make_with(model, ROBOTS, HOST, TD_ROM_AUTO)};
    tdError error = {0};
    wave(0.5, ROBOTS, inputs);
    for (int i = 0; i < ROBOTS * ROWS * 3; i++)
        back[i] = inputs[(i / (3 * ROWS) * ROWS + ROWS - 1 - i / 3 % ROWS) * 3 + i % 3];
    size_t size = td_state_size(model, td_batch_state(list[0], 0));
    char *values = malloc(size * ROBOTS);
    for (int again = 0; again < 3; again++)
    {
        double *out[2], most = 0, apart = 0;
        for (int k = 0; k < 2; k++)
        {
            if (again == 0)
            {
                assert_ok(td_batch_set_parameter(list[k], TD_PARAMETER_FRICTION, 0, friction, 1, NULL, &error), error);
                assert_ok(td_batch_set_parameter(list[k], TD_PARAMETER_GRAVITY_Z, 0, down, 1, NULL, &error), error);
            }
            out[k] = roll(list[k], ROBOTS, N_PLAIN, plain, again == 1 ? back : inputs);
        }
        int64_t width = td_outputs_width(td_batch_outputs(list[0])),
                coords = td_outputs_info(td_batch_outputs(list[0]), 0).count;
        for (int64_t row = 0; row < (int64_t)ROBOTS * ROWS; row++)
            for (int64_t c = 0; c < coords; c++)
            {
                most = fmax(most, fabs(out[0][row * width + c] - out[1][row * width + c]));
                apart = fmax(apart, fabs(out[0][row * width + c] - out[0][row % ROWS * width + c]));
            }
        print_message("turn %d: robots are %.3g apart, off by %.1e of it\n", again, apart, most / apart);
        assert_true(apart > 1e-3 && most <= 1e-4 * apart);
        free(out[0]);
        free(out[1]);
        if (again == 0)
        {
            assert_ok(td_batch_write(list[1], values, size, NULL, &error), error);
            assert_ok(td_batch_read(list[0], values, size, NULL, &error), error);
            assert_ok(td_batch_read(list[1], values, size, NULL, &error), error);
        }
        else
            for (int k = 0; k < 2; k++)
                assert_ok(td_batch_reset(list[k], NULL, &error), error);
    }
    for (int k = 0; k < 2; k++)
        td_batch_free(list[k]);
    free(values);
    td_model_free(model);
}

// A robot that starts in the floor, or whose weight is no number that floors are made for, stops alone and says why.
static void test_alone(void **unused)
{
    (void)unused;
    double down[ROBOTS] = {-9.81, -9.81, -1e30, -9.81, -9.81}, inputs[ROBOTS * ROWS * 3];
    tdModel *model = worm(WORM(RUBS, PLANE, FORCE, "")),
            *deep = worm(WORM(RUBS, STANDING("plane: true", "translate: [0, 0, 5e-3]"), FORCE, ""));
    tdError error = {0};
    int32_t status[ROBOTS];
    wave(0.5, ROBOTS, inputs);
    for (int k = 0; k < 2; k++)
    {
        tdBatch *batch = make_with(k == 0 ? model : deep, ROBOTS, HOST, TD_ROM_AUTO);
        if (k == 0)
            assert_ok(td_batch_set_parameter(batch, TD_PARAMETER_GRAVITY_Z, 0, down, 1, NULL, &error), error);
        tdRollout rollout = td_default_rollout();
        rollout.rows = 5;
        rollout.status = status;
        assert_ok(td_batch_rollout(batch, &rollout, &error), error);
        for (int i = 0; i < ROBOTS; i++)
            assert_int_equal(status[i], k == 1 || i == 2 ? TD_ERROR_NUMERIC : TD_OK);
        print_message("%s\n", td_batch_error(batch, 2)->message);
        assert_true(k == 0 || strstr(td_batch_error(batch, 2)->message, "deeper") != NULL);
        td_batch_free(batch);
    }
    td_model_free(model);
    td_model_free(deep);
}

// What the GPU does not support of contact is said.
static void test_refused(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *text, *why;
    } list[] = {
        {WORM(RUBS, STANDING("cylinder: {radius: 0.1, length: 0.1}", "translate: [0, 0, -0.05]"), FORCE, ""),
         "planes, spheres"},
        {WORM("contact: {friction: 0.5, self: true}\n", PLANE, FORCE, ""), "with itself"},
        {WORM("contact: {friction: 0.5, solver: nlcp}\n", PLANE, FORCE, ""), "convex"},
        {WORM(RUBS,
              PLANE "  - {name: ball, type: rigid, shape: {sphere: 0.01}, density: 1000, transform: {translate: [0, 0, "
                    "0.1]}}\n",
              FORCE, ""),
         "one soft body"},
        {WORM(RUBS, PLANE, FORCE ", pull_point: [0, 0, 0.1]", ""), "a place in space"},
    };
    for (size_t k = 0; k < sizeof list / sizeof list[0]; k++)
    {
        tdModel *model = worm(list[k].text);
        tdBatch *batch = NULL;
        tdError error = {0};
        tdSettings settings = td_default_settings();
        settings.device = TD_DEVICE_GPU;
        settings.gpu = HOST;
        assert_int_equal(td_batch_create(model, &settings, 2, &batch, &error), TD_ERROR_INPUT);
        if (strstr(error.message, list[k].why) == NULL)
            fail_msg("'%s' does not say '%s'", error.message, list[k].why);
        td_model_free(model);
    }
}

// The warps of a device, lane by lane on the host (tests/gpu/warp.h): a few steps, beside the source with one lane.
__attribute__((unused)) static void test_warp(void **unused)
{
    (void)unused;
    enum
    {
        FEW = 2,
        STEPS = 4
    };
    static const struct
    {
        const char *what, *text;
        double most;
    } list[] = {
        {"crawls", WORM(RUBS, PLANE, FORCE, ""), 0.5},
        {"by displacement", WORM(RUBS, PLANE, "drive: displacement, range: [0, 4 mm]", ""), 3e-3},
        {"across a capsule",
         WORM(RUBS,
              STANDING("capsule: {radius: 0.03, length: 0.1}", "rotate: [90 deg, 0, 0], translate: "
                                                               "[0.06, 0.01, -0.03]"),
              FORCE, ""),
         0.5},
    };
    const char *names[] = {"coords:worm", "rates:worm", "contact:floor,worm", "effort:middle"};
    const int chosen[3] = {0, 1, 2};
    for (size_t k = 0; k < sizeof list / sizeof list[0]; k++)
    {
        tdModel *model = worm(list[k].text);
        const char *back[2] = {HOST, WARPS};
        double inputs[FEW * STEPS * 3], *out[2] = {NULL, NULL};
        int64_t width = 0;
        tdError error = {0};
        for (int i = 0; i < FEW * STEPS * 3; i++)
            inputs[i] = list[k].most * (i / 3 % STEPS + 1) / STEPS * (0.5 + 0.2 * (i % 3) + 0.1 * (i / (3 * STEPS)));
        for (int b = 0; b < 2; b++)
        {
            int32_t status[FEW];
            tdBatch *batch = make_with(model, FEW, back[b], TD_ROM_AUTO);
            assert_ok(td_batch_choose_inputs(batch, 3, chosen, &error), error);
            assert_ok(td_batch_choose_outputs(batch, 4, names, &error), error);
            width = td_outputs_width(td_batch_outputs(batch));
            out[b] = malloc(sizeof(double) * (size_t)(FEW * STEPS * width));
            tdRollout rollout = td_default_rollout();
            rollout.rows = STEPS;
            rollout.inputs = (tdSpan){inputs, STEPS * 3, 3, 1};
            rollout.outputs = (tdSpan){out[b], STEPS * width, width, 1};
            rollout.status = status;
            assert_ok(td_batch_rollout(batch, &rollout, &error), error);
            for (int i = 0; i < FEW; i++)
                assert_int_equal(status[i], TD_OK);
            td_batch_free(batch);
        }
        double most = 0, size = 0;
        for (int64_t i = 0; i < FEW * STEPS * width; i++)
        {
            most = fmax(most, fabs(out[0][i] - out[1][i]));
            size = fmax(size, fabs(out[0][i]));
        }
        print_message("%s: a warp is off by %.1e of %.3g\n", list[k].what, most / size, size);
        assert_true(most <= 1e-5 * size);
        free(out[0]);
        free(out[1]);
        td_model_free(model);
    }
}

static void test_lean_host(void **unused)
{
    (void)unused;
    lean(HOST, ROBOTS, TD_ROM_AUTO);
}

static void test_crawl_host(void **unused)
{
    (void)unused;
    crawl(HOST, ROBOTS, TD_ROM_AUTO);
}

static void test_fly_host(void **unused)
{
    (void)unused;
    fly(HOST, ROBOTS, TD_ROM_AUTO);
}

// Skips the test where there is no device.
static void need_device(void)
{
    tdError error = {0};
    tdModel *model = worm(WORM(RUBS, PLANE, FORCE, ""));
    tdBatch *batch = NULL;
    tdSettings settings = td_default_settings();
    settings.device = TD_DEVICE_GPU;
    settings.gpu = CUDA;
    tdStatus status = td_batch_create(model, &settings, 1, &batch, &error);
    td_batch_free(batch);
    td_model_free(model);
    if (status != TD_OK)
        skip_because("%s", error.message);
}

static void test_crawl_device(void **unused)
{
    (void)unused;
    need_device();
    crawl(CUDA, ROBOTS, TD_ROM_AUTO);
    crawl(CUDA, 500 * ROBOTS, TD_ROM_AUTO);
    crawl(CUDA, ROBOTS, TD_ROM_DOUBLE);
}

static void test_lean_device(void **unused)
{
    (void)unused;
    need_device();
    lean(CUDA, ROBOTS, TD_ROM_AUTO);
    lean(CUDA, 500 * ROBOTS, TD_ROM_AUTO);
}

static void test_fly_device(void **unused)
{
    (void)unused;
    need_device();
    fly(CUDA, ROBOTS, TD_ROM_AUTO);
    fly(CUDA, 500 * ROBOTS, TD_ROM_AUTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#if defined(TD_GPU_WARPS)
        cmocka_unit_test(test_warp),
#endif
        cmocka_unit_test(test_crawl_host),
        cmocka_unit_test(test_fly_host),
        cmocka_unit_test(test_lean_host),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_crawl_device),
        cmocka_unit_test(test_fly_device),
        cmocka_unit_test(test_lean_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
