// SPDX-License-Identifier: Apache-2.0
// Batches on a GPU beside those on the CPU. The back end of the host, which is the source of the device's steps, is
// compared on any machine; that of the device where there is one.
#include "batches.h"

#include "base/file.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>

// The arm of the golden trajectories, with what a test is about.
#define ARM                                                                                                            \
    "tendril: 1\ngravity: [0, 0, -9.81 m/s^2]\ntime_step: 10 ms\nsteps: 200\nbodies:\n  - name: arm\n"                 \
    "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [10, 2, 2]}\n"                                             \
    "    material: {law: %s, young: 100 kPa, poisson: 0.4, density: 1000}\n    damping: {%s}\n"                        \
    "    fixed: [{group: xmin}]\nactuators:\n"                                                                         \
    "  - {name: top, type: cable, body: arm, path: [[0.09, 0.01, 0.02], [0.05, 0.01, 0.02], [0, 0.01, 0.02]], %s}\n"   \
    "  - {name: side, type: cable, body: arm, path: [[0.09, 0.02, 0.01], [0.05, 0.02, 0.01]], pull_point: "            \
    "[0, 0.02, 0.01], %s}\n"                                                                                           \
    "probes: [{name: tip, body: arm, point: [0.1, 0.01, 0.01]}]\n"                                                     \
    "effectors: [{name: tip, body: arm, point: [0.1, 0.01, 0.01]}]\n%s"

#define DISPLACEMENT "drive: displacement, range: [0, 10 mm]"

// More cables behind the second one, that pull a little: segments and unknown efforts beyond what a step holds at once.
#define WEAK     DISPLACEMENT ", effort_range: [0, 0.05]"
#define ONE_MORE "}\n  - {type: cable, body: arm, "
#define MORE_CABLES                                                                                                    \
    DISPLACEMENT ONE_MORE                                                                                              \
        "name: low, path: [[0.09, 0.01, 0], [0.07, 0.01, 0], [0.05, 0.01, 0], [0, 0.01, 0]], " WEAK ONE_MORE           \
        "name: left, path: [[0.09, 0, 0.01], [0.05, 0, 0.01], [0, 0, 0.01]], " WEAK ONE_MORE                           \
        "name: edge, path: [[0.09, 0, 0.02], [0, 0, 0.02]], " WEAK

// A chamber below the middle of the arm, which the scene inflates.
#define CHAMBER  DISPLACEMENT "}\n  - {name: air, type: cavity, body: arm, surface: " OWN "arm_chamber.obj, "
#define PRESSURE CHAMBER "drive: pressure, range: [0, 30 kPa]"
#define VOLUME   CHAMBER "drive: volume, range: [0, 500 mm^3], effort_range: [0, 15 kPa]"
#define INFLATE  "motion: {interpolation: smooth, keyframes: [{t: 0, air: 0}, {t: 0.5, air: 20 kPa}]}\n"
#define GROW     "motion: {interpolation: smooth, keyframes: [{t: 0, air: 0}, {t: 0.5, air: 400 mm^3}]}\n"

/// Modes and elements of the golden arm, whatever the law.
static tdModel *arm(const char *law, const char *damping, const char *top, const char *side, const char *more)
{
    static sceneText text;
    text.length = 0;
    scene_add(&text, ARM, law, damping, top, side, more);
    return reduced_as(text.text, OWN "arm.h5");
}

static tdBatch *make(const tdModel *model, int robots, const char *gpu)
{
    return make_with(model, robots, gpu, TD_ROM_AUTO);
}

static const char *const names[] = {"time",       "probe:tip", "effector:tip",     "effort:top",        "effort:side",
                                    "coords:arm", "rates:arm", "displacement:top", "displacement:side", "input:top",
                                    "kinetic"};
#define N_NAMES ((int)(sizeof names / sizeof names[0]))

// Inputs that differ from robot to robot: smooth, up to `most`.
static void wave(double most, double *inputs)
{
    for (int i = 0; i < ROBOTS; i++)
        for (int t = 0; t < ROWS; t++)
            for (int k = 0; k < 2; k++)
                inputs[(i * ROWS + t) * 2 + k] =
                    most * (0.5 - 0.5 * cos((0.08 + 0.02 * i) * t + 1.5 * k)) * (1 - 0.3 * k) * (t > 2);
}

// What is not the caller's to set moves by the scene.
static double *roll_many(const tdModel *model, tdBatch *batch, int robots, const double *inputs)
{
    const int chosen[2] = {td_model_find_input(model, "top"), td_model_find_input(model, "side")};
    return roll_outputs(batch, robots, 2, chosen, N_NAMES, names, inputs);
}

static double *roll(const tdModel *model, tdBatch *batch, const double *inputs)
{
    return roll_many(model, batch, ROBOTS, inputs);
}

// Largest difference of an output over all robots and rows from `from` on, relative to the largest number of it.
static double off_from(const tdBatch *batch, int output, int from, const double *a, const double *b)
{
    tdOutputInfo info = td_outputs_info(td_batch_outputs(batch), output);
    int64_t width = td_outputs_width(td_batch_outputs(batch));
    double most = 0, size = 0;
    for (int64_t row = 0; row < ROBOTS * ROWS; row++)
        for (int64_t k = info.first; k < info.first + info.count; k++)
        {
            double d = row % ROWS < from ? 0 : fabs(a[row * width + k] - b[row * width + k]);
            most = d > most || isnan(d) ? d : most;
            size = fmax(size, fabs(a[row * width + k]));
        }
    return size > 0 ? most / size : most;
}

static double off(const tdBatch *batch, int output, const double *a, const double *b)
{
    return off_from(batch, output, 0, a, b);
}

// The same motion on both: within 1e-4 after 100 steps and on the way; one pass of halves comes less near.
static void compare(const tdModel *model, const char *gpu, tdRomPrecision precision, const char *what, double most)
{
    double bound = precision == TD_ROM_SINGLE ? 5e-3 : 1e-4;
    double inputs[ROBOTS * ROWS * 2];
    wave(most, inputs);
    tdBatch *cpu = make(model, ROBOTS, NULL), *other = make_with(model, ROBOTS, gpu, precision);
    double *a = roll(model, cpu, inputs), *b = roll(model, other, inputs);
    for (int k = 0; k < N_NAMES; k++)
    {
        double way = off(cpu, k, a, b), end = off_from(cpu, k, ROWS - 1, a, b);
        print_message("%d %-30s %-18s %.1e on the way, %.1e at the end\n", (int)precision, what, names[k], way, end);
        // A velocity is what a step adds, an effort what holds against it: their peaks are of single steps.
        bool quick = strncmp(names[k], "rates", 5) == 0 || strncmp(names[k], "effort", 6) == 0 ||
                     strcmp(names[k], "kinetic") == 0;
        assert_true(fmax(way, end) <= (quick ? 10 : 1) * bound);
    }
    free(a);
    free(b);
    td_batch_free(cpu);
    td_batch_free(other);
}

static void compare_all(const char *gpu, tdRomPrecision precision)
{
    static const struct
    {
        const char *what, *law, *damping, *top, *side, *more;
        double most;
    } list[] = {
        {"displacement", "corotational", "mass: 10 1/s", DISPLACEMENT, DISPLACEMENT, "", 8e-3},
        {"lagged, damped", "corotational_lagged", "mass: 2 1/s, stiffness: 2 ms", DISPLACEMENT, DISPLACEMENT, "", 8e-3},
        {"stiffness damping", "corotational", "mass: 2 1/s, stiffness: 2 ms", DISPLACEMENT, DISPLACEMENT, "", 8e-3},
        {"limits of effort", "corotational", "mass: 10 1/s", DISPLACEMENT ", effort_range: [0, 0.4]", DISPLACEMENT, "",
         8e-3},
        {"rates", "corotational", "mass: 10 1/s", DISPLACEMENT ", displacement_rate: 10 mm/s", DISPLACEMENT, "", 8e-3},
        {"effort", "corotational", "mass: 10 1/s", "drive: force, range: [0, 2]", "drive: force, range: [0, 2]", "",
         0.5},
        {"effort with a stop", "corotational", "mass: 10 1/s",
         "drive: force, range: [0, 2], displacement_range: [-1 mm, 2 mm]", "drive: force, range: [0, 2]", "", 0.5},
        {"elastic cable", "corotational", "mass: 10 1/s", DISPLACEMENT ", stiffness: 20 N", DISPLACEMENT, "", 8e-3},
        {"many cables", "corotational", "mass: 10 1/s", DISPLACEMENT, MORE_CABLES, "", 8e-3},
        {"neo-Hookean", "neo_hookean", "mass: 10 1/s", DISPLACEMENT, DISPLACEMENT, "", 8e-3},
        {"neo-Hookean, damped", "neo_hookean", "mass: 2 1/s, stiffness: 2 ms", DISPLACEMENT, DISPLACEMENT, "", 8e-3},
        {"Mooney-Rivlin", "mooney_rivlin", "mass: 2 1/s, stiffness: 2 ms", DISPLACEMENT, DISPLACEMENT, "", 8e-3},
        {"logarithmic volume", "mooney_rivlin, volumetric: log", "mass: 10 1/s", DISPLACEMENT, DISPLACEMENT, "", 8e-3},
        {"mixed volume", "neo_hookean, volumetric: mixed", "mass: 10 1/s", DISPLACEMENT, DISPLACEMENT, "", 8e-3},
        {"St. Venant-Kirchhoff", "stvk", "mass: 10 1/s, stiffness: 1 ms", DISPLACEMENT, DISPLACEMENT, "", 8e-3},
        {"the scene's motion and a load", "corotational", "mass: 10 1/s", DISPLACEMENT, DISPLACEMENT,
         "loads: [{name: push, type: point, body: arm, group: xmax, force: [0, 0.02 N, 0]}]\n"
         "motion: {interpolation: smooth, keyframes: [{t: 0, push: 0}, {t: 0.4, push: 1}]}\n",
         4e-3},
        {"cavity by pressure", "corotational", "mass: 10 1/s", DISPLACEMENT, PRESSURE, INFLATE, 4e-3},
        {"cavity by volume", "neo_hookean", "mass: 10 1/s", DISPLACEMENT, VOLUME, GROW, 4e-3},
    };
    for (size_t k = 0; k < sizeof list / sizeof list[0]; k++)
    {
        tdModel *model = arm(list[k].law, list[k].damping, list[k].top, list[k].side, list[k].more);
        compare(model, gpu, precision, list[k].what, list[k].most);
        td_model_free(model);
    }
}

static void test_host(void **unused)
{
    (void)unused;
    compare_all(HOST, TD_ROM_AUTO);
}

// Skips the test where there is no device.
static void need_device(void)
{
    tdError error = {0};
    tdModel *model = arm("corotational", "mass: 10 1/s", DISPLACEMENT, DISPLACEMENT, "");
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

static void test_device(void **unused)
{
    (void)unused;
    need_device();
    compare_all(CUDA, TD_ROM_AUTO);
    compare_all(CUDA, TD_ROM_SINGLE);
    compare_all(CUDA, TD_ROM_DOUBLE);
}

// Many robots go through other kernels than a few: copies of the same five, of scenes with few cables and with many.
static void test_crowd_device(void **unused)
{
    (void)unused;
    enum
    {
        CROWD = 500 * ROBOTS
    };
    need_device();
    double *inputs = malloc(sizeof(double) * CROWD * ROWS * 2);
    wave(8e-3, inputs);
    for (int k = 1; k < CROWD / ROBOTS; k++)
        memcpy(inputs + (ptrdiff_t)k * ROBOTS * ROWS * 2, inputs, sizeof(double) * ROBOTS * ROWS * 2);
    static const struct
    {
        const char *law, *damping, *side, *more;
        tdRomPrecision precision;
    } list[] = {{"corotational", "mass: 10 1/s", DISPLACEMENT, "", TD_ROM_AUTO},
                {"corotational", "mass: 10 1/s", MORE_CABLES, "", TD_ROM_AUTO},
                {"corotational", "mass: 10 1/s", PRESSURE, INFLATE, TD_ROM_AUTO},
                {"neo_hookean", "mass: 10 1/s", DISPLACEMENT, "", TD_ROM_AUTO},
                // With one pass of halves one row a point, and a product that all robots share.
                {"corotational_lagged", "mass: 2 1/s, stiffness: 2 ms", DISPLACEMENT, "", TD_ROM_AUTO},
                {"corotational_lagged", "mass: 2 1/s, stiffness: 2 ms", DISPLACEMENT, "", TD_ROM_SINGLE}};
    for (int many = 0; many < (int)(sizeof list / sizeof list[0]); many++)
    {
        tdModel *model = arm(list[many].law, list[many].damping, DISPLACEMENT, list[many].side, list[many].more);
        tdRomPrecision precision = list[many].precision;
        tdBatch *cpu = make(model, ROBOTS, NULL), *gpu = make_with(model, CROWD, CUDA, precision),
                *again = make_with(model, CROWD, CUDA, precision);
        double *a = roll(model, cpu, inputs), *b = roll_many(model, gpu, CROWD, inputs), most[N_NAMES] = {0};
        double *c = roll_many(model, again, CROWD, inputs);
        int64_t width = td_outputs_width(td_batch_outputs(cpu));
        assert_memory_equal(b, c, sizeof *b * (size_t)(CROWD * ROWS * width)); // every run comes to the same bits
        free(c);
        td_batch_free(again);
        for (int k = 0; k < CROWD / ROBOTS; k++)
            for (int o = 0; o < N_NAMES; o++)
            {
                double here = off(cpu, o, a, b + k * ROBOTS * ROWS * width);
                most[o] = here > most[o] || isnan(here) ? here : most[o];
            }
        for (int o = 0; o < N_NAMES; o++)
        {
            print_message("crowd %d %-18s %.1e\n", many, names[o], most[o]);
            bool quick = strncmp(names[o], "rates", 5) == 0 || strncmp(names[o], "effort", 6) == 0 ||
                         strcmp(names[o], "kinetic") == 0;
            assert_true(most[o] <= (precision == TD_ROM_SINGLE ? 50 : 1) * (quick ? 1e-3 : 1e-4));
        }
        free(a);
        free(b);
        td_batch_free(cpu);
        td_batch_free(gpu);
        td_model_free(model);
    }
    free(inputs);
}

// Where a robot comes to rest it is where the CPU's is, whatever the tangent is made of.
static void come_to_rest(const char *gpu, tdRomPrecision precision)
{
    static const char *const laws[] = {"corotational", "neo_hookean"};
    for (size_t k = 0; k < sizeof laws / sizeof laws[0]; k++)
    {
        tdModel *model = arm(laws[k], "mass: 40 1/s, stiffness: 10 ms", DISPLACEMENT, DISPLACEMENT, "");
        tdBatch *list[2] = {make(model, ROBOTS, NULL), make_with(model, ROBOTS, gpu, precision)};
        double inputs[ROBOTS * ROWS * 2], *out[2] = {NULL, NULL};
        for (int i = 0; i < ROBOTS; i++)
            for (int t = 0; t < 2 * ROWS; t++)
                inputs[i * 2 * ROWS + t] = 1e-3 * (1 + i) * (t % 2 == 0 ? 1 : 0.5);
        for (int b = 0; b < 2; b++)
            for (int again = 0; again < 4; again++)
            {
                free(out[b]);
                out[b] = roll(model, list[b], inputs);
            }
        for (int o = 1; o < 6; o++)
        {
            double there = off_from(list[0], o, ROWS - 1, out[0], out[1]);
            print_message("%d rest, %-12s %-18s %.1e\n", (int)precision, laws[k], names[o], there);
            assert_true(there <= (strncmp(names[o], "effort", 6) == 0 ? 1e-4 : 1e-5)); // some cable hardly pulls
        }
        for (int b = 0; b < 2; b++)
        {
            free(out[b]);
            td_batch_free(list[b]);
        }
        td_model_free(model);
    }
}

static void test_rest_host(void **unused)
{
    (void)unused;
    come_to_rest(HOST, TD_ROM_AUTO);
}

static void test_rest_device(void **unused)
{
    (void)unused;
    need_device();
    come_to_rest(CUDA, TD_ROM_AUTO);
    come_to_rest(CUDA, TD_ROM_SINGLE);
}

// Polynomials: a bar that its own load bends, each robot under a gravity of its own.
static void polynomials(const char *gpu, int robots, tdRomPrecision precision)
{
    static const char *const outputs[] = {"coords:bar", "rates:bar", "kinetic", "elastic"};
    tdError error = {0};
    tdModel *model = NULL;
    tdSettings settings = td_default_settings();
    settings.rom = OWN "modes.h5";
    assert_ok(td_model_load(OWN "modes.yaml", &settings, &model, &error), error);
    tdBatch *list[2] = {make(model, ROBOTS, NULL), make_with(model, robots, gpu, precision)};
    double *out[2], *down = malloc(sizeof *down * (size_t)robots);
    int64_t width = 0;
    for (int i = 0; i < robots; i++)
        down[i] = -1.0 - 2 * (i % ROBOTS);
    for (int b = 0; b < 2; b++)
    {
        int n = b == 0 ? ROBOTS : robots;
        assert_ok(td_batch_choose_outputs(list[b], 4, outputs, &error), error);
        assert_ok(td_batch_set_parameter(list[b], TD_PARAMETER_GRAVITY_Z, 0, down, 1, NULL, &error), error);
        width = td_outputs_width(td_batch_outputs(list[b]));
        out[b] = malloc(sizeof(double) * (size_t)(n * 100 * width));
        tdRollout rollout = td_default_rollout();
        rollout.rows = 100;
        rollout.outputs = (tdSpan){out[b], 100 * width, width, 1};
        assert_ok(td_batch_rollout(list[b], &rollout, &error), error);
    }
    for (int o = 0; o < 4; o++)
    {
        tdOutputInfo info = td_outputs_info(td_batch_outputs(list[0]), o);
        double most = 0, size = 0;
        for (int64_t row = 0; row < (int64_t)robots * 100; row++)
            for (int64_t k = info.first; k < info.first + info.count; k++)
            {
                double a = out[0][row % (ROBOTS * 100) * width + k], d = fabs(a - out[1][row * width + k]);
                most = d <= most ? most : d;
                size = fmax(size, fabs(a));
            }
        print_message("%d polynomials, %d robots %-12s %.1e\n", (int)precision, robots, outputs[o], most / size);
        assert_true(most <= (o == 0 ? 1e-4 : 1e-3) * size);
    }
    for (int b = 0; b < 2; b++)
    {
        free(out[b]);
        td_batch_free(list[b]);
    }
    free(down);
    td_model_free(model);
}

static void test_polynomials_host(void **unused)
{
    (void)unused;
    polynomials(HOST, ROBOTS, TD_ROM_AUTO);
}

static void test_polynomials_device(void **unused)
{
    (void)unused;
    need_device();
    polynomials(CUDA, ROBOTS, TD_ROM_AUTO);
    polynomials(CUDA, 700 * ROBOTS, TD_ROM_AUTO);
    polynomials(CUDA, ROBOTS, TD_ROM_DOUBLE);
}

// Two runs come to the same bits, whatever another robot does; one that fails stops alone, and goes on after a reset.
static void alone(const char *gpu)
{
    tdModel *model = arm("corotational", "mass: 10 1/s", DISPLACEMENT, DISPLACEMENT, "");
    double inputs[ROBOTS * ROWS * 2];
    wave(8e-3, inputs);
    tdBatch *one = make(model, ROBOTS, gpu), *two = make(model, ROBOTS, gpu);
    double *a = roll(model, one, inputs);
    tdError error = {0};
    inputs[(2 * ROWS + 10) * 2] = INFINITY;
    assert_ok(td_batch_choose_outputs(two, N_NAMES, names, &error), error);
    int64_t width = td_outputs_width(td_batch_outputs(two));
    double *b = malloc(sizeof(double) * (size_t)(ROBOTS * ROWS * width));
    int32_t status[ROBOTS], steps[ROBOTS];
    tdRollout rollout = td_default_rollout();
    rollout.rows = ROWS;
    rollout.hold = HOLD;
    rollout.inputs = (tdSpan){inputs, (int64_t)ROWS * 2, 2, 1};
    rollout.outputs = (tdSpan){b, ROWS * width, width, 1};
    rollout.status = status;
    rollout.steps = steps;
    assert_ok(td_batch_rollout(two, &rollout, &error), error);
    for (int i = 0; i < ROBOTS; i++)
    {
        int good = i == 2 ? 10 : ROWS;
        assert_int_equal(steps[i], good * HOLD);
        assert_int_equal(status[i], i == 2 ? TD_ERROR_USAGE : TD_OK);
        assert_memory_equal(a + i * ROWS * width, b + i * ROWS * width, sizeof(double) * (size_t)(good * width));
        assert_true(good == ROWS || isnan(b[(i * ROWS + good) * width]));
    }
    assert_non_null(strstr(td_batch_error(two, 2)->message, "infinite"));
    assert_int_equal(td_state_steps(td_batch_state(two, 2)), 20);
    // Back to the start alone; the others stay.
    const uint8_t mask[ROBOTS] = {0, 0, 1, 0, 0};
    assert_ok(td_batch_reset(two, mask, &error), error);
    assert_int_equal(td_batch_error(two, 2)->status, TD_OK);
    assert_int_equal(td_state_steps(td_batch_state(two, 2)), 0);
    assert_int_equal(td_state_steps(td_batch_state(two, 1)), ROWS * HOLD);
    inputs[(2 * ROWS + 10) * 2] = inputs[(2 * ROWS + 9) * 2];
    rollout.mask = mask;
    b[0] = 42;
    assert_ok(td_batch_rollout(two, &rollout, &error), error);
    assert_memory_equal(a + 2 * ROWS * width, b + 2 * ROWS * width, sizeof(double) * (size_t)(10 * width));
    assert_true(b[0] == 42 && steps[2] == ROWS * HOLD); // who does not take part is left alone
    free(a);
    free(b);
    td_batch_free(one);
    td_batch_free(two);
    td_model_free(model);
}

static void test_alone_host(void **unused)
{
    (void)unused;
    alone(HOST);
}

static void test_alone_device(void **unused)
{
    (void)unused;
    need_device();
    alone(CUDA);
}

// Pressure and growth of a chamber, and what they do: it lifts the arm by more than a tenth of its thickness.
static void inflate(const char *gpu)
{
    static const char *const drives[][2] = {{PRESSURE, INFLATE}, {VOLUME, GROW}, {PRESSURE, ""}},
                             *const outputs[] = {"effort:air", "displacement:air", "probe:tip"};
    double out[3][2][ROWS * 5], most = 0;
    for (int d = 0; d < 3; d++)
    {
        tdModel *model = arm("corotational", "mass: 40 1/s", DISPLACEMENT, drives[d][0], drives[d][1]);
        tdError error = {0};
        for (int b = 0; b < 2; b++)
        {
            tdBatch *batch = make(model, 1, b == 0 ? NULL : gpu);
            assert_ok(td_batch_choose_inputs(batch, 0, NULL, &error), error);
            assert_ok(td_batch_choose_outputs(batch, 3, outputs, &error), error);
            tdRollout rollout = td_default_rollout();
            rollout.rows = ROWS;
            rollout.hold = HOLD;
            rollout.outputs = (tdSpan){out[d][b], 0, 5, 1};
            assert_ok(td_batch_rollout(batch, &rollout, &error), error);
            td_batch_free(batch);
        }
        for (int k = 0; k < 3; k++)
        {
            double worst = 0, size = 0;
            for (int i = 0; i < ROWS * 5; i++)
                if ((i % 5 < 2 ? i % 5 : 2) == k)
                {
                    worst = fmax(worst, fabs(out[d][0][i] - out[d][1][i]));
                    size = fmax(size, fabs(out[d][0][i]));
                }
            print_message("cavity %d, %s: %.3g, off by %.1e\n", d, outputs[k], size, worst);
            assert_true(worst <= (k == 0 ? 1e-3 : 1e-4) * size);
        }
        td_model_free(model);
    }
    for (int d = 0; d < 2; d++)
        most = fmax(most, fabs(out[d][0][ROWS * 5 - 1] - out[2][0][ROWS * 5 - 1]));
    assert_true(most > 2e-3);
}

static void test_inflate_host(void **unused)
{
    (void)unused;
    inflate(HOST);
}

static void test_inflate_device(void **unused)
{
    (void)unused;
    need_device();
    inflate(CUDA);
}

// A block with a stiff skin: all of its coordinates as modes, all elements, robots under a gravity of their own.
static void skin(const char *gpu, int robots, tdRomPrecision precision)
{
    static const char *const skins[][2] = {{"corotational", "law: corotational, young: 1e6, poisson: 0.4"},
                                           {"neo_hookean", "law: neo_hookean, young: 1e6, poisson: 0.3"},
                                           {"corotational", "law: mooney_rivlin, young: 1e6, poisson: 0.45"}},
                             *const outputs[] = {"coords:block", "rates:block"};
    for (size_t k = 0; k < sizeof skins / sizeof skins[0]; k++)
    {
        static sceneText text;
        tdError error = {0};
        tdModel *model = NULL;
        text.length = 0;
        scene_add(&text,
                  "tendril: 1\ntime_step: 10 ms\nsteps: 100\nbodies:\n  - name: block\n"
                  "    mesh: {box: [[0, 0, 0], [0.3, 0.1, 0.1]], cells: [3, 1, 1]}\n"
                  "    material: {law: %s, young: 3e4, poisson: 0.3, density: 1000}\n"
                  "    materials: [{group: zmax, element: membrane, thickness: 0.005, %s, density: 1000}]\n"
                  "    damping: {mass: 1 1/s, stiffness: 5 ms}\n    fixed: [{group: xmin}]\n",
                  skins[k][0], skins[k][1]);
        tdModel *full = scene_parse(text.text);
        tdRom rom = rom_of(full, 0, 1);
        tdSettings settings = td_default_settings();
        assert_ok(
            td_model_parse_reduced(text.text, strlen(text.text), "block.yaml", NULL, &settings, &rom, &model, &error),
            error);
        td_arena_free(&rom.arena);
        td_model_free(full);
        tdBatch *list[2] = {make(model, ROBOTS, NULL), make_with(model, robots, gpu, precision)};
        double *out[2], *down = malloc(sizeof *down * (size_t)robots);
        int64_t width = 0;
        for (int i = 0; i < robots; i++)
            down[i] = -4.0 - 4 * (i % ROBOTS);
        for (int b = 0; b < 2; b++)
        {
            int n = b == 0 ? ROBOTS : robots;
            assert_ok(td_batch_choose_outputs(list[b], 2, outputs, &error), error);
            assert_ok(td_batch_set_parameter(list[b], TD_PARAMETER_GRAVITY_Z, 0, down, 1, NULL, &error), error);
            width = td_outputs_width(td_batch_outputs(list[b]));
            out[b] = malloc(sizeof(double) * (size_t)(n * 100 * width));
            tdRollout rollout = td_default_rollout();
            rollout.rows = 100;
            rollout.outputs = (tdSpan){out[b], 100 * width, width, 1};
            assert_ok(td_batch_rollout(list[b], &rollout, &error), error);
        }
        for (int o = 0; o < 2; o++)
        {
            tdOutputInfo info = td_outputs_info(td_batch_outputs(list[0]), o);
            double most = 0, size = 0;
            for (int64_t row = 0; row < (int64_t)robots * 100; row++)
                for (int64_t c = info.first; c < info.first + info.count; c++)
                {
                    double a = out[0][row % (ROBOTS * 100) * width + c], d = fabs(a - out[1][row * width + c]);
                    most = d <= most ? most : d;
                    size = fmax(size, fabs(a));
                }
            print_message("%d skin, %s on %s, %d robots, %s: %.3g, off by %.1e\n", (int)precision, skins[k][1],
                          skins[k][0], robots, outputs[o], size, most / size);
            double bound = (precision == TD_ROM_SINGLE ? 50 : 1) * (o == 0 ? 1e-4 : 1e-3);
            assert_true(size > 0.01 && most <= bound * size);
        }
        for (int b = 0; b < 2; b++)
        {
            free(out[b]);
            td_batch_free(list[b]);
        }
        free(down);
        td_model_free(model);
    }
}

static void test_skin_host(void **unused)
{
    (void)unused;
    skin(HOST, ROBOTS, TD_ROM_AUTO);
}

static void test_skin_device(void **unused)
{
    (void)unused;
    need_device();
    skin(CUDA, ROBOTS, TD_ROM_AUTO);
    skin(CUDA, 500 * ROBOTS, TD_ROM_AUTO);
    skin(CUDA, 500 * ROBOTS, TD_ROM_SINGLE);
    skin(CUDA, ROBOTS, TD_ROM_DOUBLE);
}

// Whether the body is to be trusted: the CPU's indicator, and the error that it tells of.
static void trust(const char *gpu, int robots)
{
    static const char *const laws[] = {"corotational", "corotational_lagged", "neo_hookean"}, *const outputs[] = {
                                                                                                  "indicator", "time",
                                                                                                  "rom_error"};
    double *inputs = malloc(sizeof(double) * (size_t)robots * ROWS * 2);
    wave(8e-3, inputs);
    for (int k = 1; k < robots / ROBOTS; k++)
        memcpy(inputs + (ptrdiff_t)k * ROBOTS * ROWS * 2, inputs, sizeof(double) * ROBOTS * ROWS * 2);
    for (size_t law = 0; law < sizeof laws / sizeof laws[0]; law++)
    {
        tdModel *model = arm(laws[law], "mass: 10 1/s", DISPLACEMENT, DISPLACEMENT, "");
        tdBatch *list[2] = {make(model, ROBOTS, NULL), make(model, robots, gpu)};
        tdError error = {0};
        double *out[2], most = 0, size = 0;
        for (int b = 0; b < 2; b++)
        {
            int n = b == 0 ? ROBOTS : robots;
            const int chosen[2] = {td_model_find_input(model, "top"), td_model_find_input(model, "side")};
            assert_ok(td_batch_choose_inputs(list[b], 2, chosen, &error), error);
            assert_ok(td_batch_choose_outputs(list[b], 3, outputs, &error), error);
            out[b] = malloc(sizeof(double) * (size_t)(n * ROWS * 3));
            tdRollout rollout = td_default_rollout();
            rollout.rows = ROWS;
            rollout.hold = HOLD;
            rollout.inputs = (tdSpan){inputs, (int64_t)ROWS * 2, 2, 1};
            rollout.outputs = (tdSpan){out[b], (int64_t)ROWS * 3, 3, 1};
            assert_ok(td_batch_rollout(list[b], &rollout, &error), error);
        }
        for (int64_t k = 0; k < (int64_t)robots * ROWS * 3; k++)
        {
            double a = out[0][k % ((int64_t)ROBOTS * ROWS * 3)], d = fabs(a - out[1][k]);
            if (k % 3 == 1)
                assert_true(d == 0);
            else if (isnan(a)) // an error that nobody has calibrated
                assert_true(k % 3 == 2 && isnan(out[1][k]));
            else
            {
                most = d <= most ? most : d;
                size = fmax(size, fabs(a));
            }
        }
        print_message("indicator, %s, %d robots: %.3g, off by %.1e\n", laws[law], robots, size, most / size);
        // A difference of forces, made of displacements of the softest modes: single precision leaves fewer digits of
        // it.
        assert_true(size > 0 && most <= 1e-3 * size);
        for (int b = 0; b < 2; b++)
        {
            free(out[b]);
            td_batch_free(list[b]);
        }
        td_model_free(model);
    }
    free(inputs);
}

static void test_trust_host(void **unused)
{
    (void)unused;
    trust(HOST, ROBOTS);
}

static void test_trust_device(void **unused)
{
    (void)unused;
    need_device();
    trust(CUDA, ROBOTS);
    trust(CUDA, 500 * ROBOTS);
}

// Robots that numbers run away with, among others in the same blocks and products: those come to the same bits as
// without them.
static void run_away(const char *gpu, int robots, const char *law, tdRomPrecision precision)
{
    tdModel *model = arm(law, "mass: 2 1/s, stiffness: 1 ms", DISPLACEMENT, DISPLACEMENT, "");
    double *inputs = malloc(sizeof(double) * (size_t)robots * ROWS * 2), *down = malloc(sizeof *down * (size_t)robots);
    wave(8e-3, inputs);
    for (int i = 0; i < robots; i++)
    {
        memcpy(inputs + (ptrdiff_t)i * ROWS * 2, inputs + (ptrdiff_t)(i % ROBOTS) * ROWS * 2,
               sizeof(double) * ROWS * 2);
        down[i] = i % 7 == 3 ? -1e30 : -9.81;
    }
    tdBatch *list[2] = {make_with(model, robots, gpu, precision), make_with(model, robots, gpu, precision)};
    tdError error = {0};
    double *out[2];
    int32_t *status = malloc(sizeof *status * (size_t)robots), *steps = malloc(sizeof *steps * (size_t)robots);
    int64_t width = 0;
    for (int b = 0; b < 2; b++)
    {
        const int chosen[2] = {td_model_find_input(model, "top"), td_model_find_input(model, "side")};
        assert_ok(td_batch_choose_inputs(list[b], 2, chosen, &error), error);
        assert_ok(td_batch_choose_outputs(list[b], N_NAMES, names, &error), error);
        width = td_outputs_width(td_batch_outputs(list[b]));
        if (b == 1)
            assert_ok(td_batch_set_parameter(list[b], TD_PARAMETER_GRAVITY_Z, 0, down, 1, NULL, &error), error);
        out[b] = malloc(sizeof(double) * (size_t)(robots * ROWS * width));
        tdRollout rollout = td_default_rollout();
        rollout.rows = ROWS;
        rollout.hold = HOLD;
        rollout.inputs = (tdSpan){inputs, (int64_t)ROWS * 2, 2, 1};
        rollout.outputs = (tdSpan){out[b], ROWS * width, width, 1};
        rollout.status = status;
        rollout.steps = steps;
        assert_ok(td_batch_rollout(list[b], &rollout, &error), error);
    }
    for (int i = 0; i < robots; i++)
    {
        const double *a = out[0] + i * ROWS * width, *b = out[1] + i * ROWS * width;
        if (i % 7 != 3)
        {
            assert_int_equal(status[i], TD_OK);
            assert_memory_equal(a, b, sizeof(double) * (size_t)(ROWS * width));
            continue;
        }
        assert_true(status[i] != TD_OK && steps[i] < ROWS * HOLD);
        assert_true(td_batch_error(list[1], i)->message[0] != '\0');
        for (int64_t k = (ROWS - 1) * width; k < ROWS * width; k++)
            assert_true(isnan(b[k]));
    }
    for (int b = 0; b < 2; b++)
    {
        free(out[b]);
        td_batch_free(list[b]);
    }
    free(inputs);
    free(down);
    free(status);
    free(steps);
    td_model_free(model);
}

static void test_run_away_host(void **unused)
{
    (void)unused;
    run_away(HOST, 2 * ROBOTS, "corotational_lagged", TD_ROM_AUTO);
    run_away(HOST, 2 * ROBOTS, "neo_hookean", TD_ROM_AUTO);
}

static void test_run_away_device(void **unused)
{
    (void)unused;
    static const char *const laws[] = {"corotational", "corotational_lagged", "mooney_rivlin"};
    need_device();
    for (size_t k = 0; k < sizeof laws / sizeof laws[0]; k++)
        for (int robots = 20; robots <= 2500; robots += 2480)
        {
            run_away(CUDA, robots, laws[k], TD_ROM_AUTO);
            run_away(CUDA, robots, laws[k], TD_ROM_SINGLE);
        }
}

// Inputs and outputs that are where the robots are. On a device its driver gives memory, in the context of the batch.
static void resident(const char *gpu, bool device)
{
    typedef unsigned long long address;
    int (*take)(address *, size_t) = NULL, (*to)(address, const void *, size_t) = NULL,
                           (*from)(void *, address, size_t) = NULL;
    void *driver = device ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
    void *symbols[3] = {device ? dlsym(driver, "cuMemAlloc_v2") : NULL,
                        device ? dlsym(driver, "cuMemcpyHtoD_v2") : NULL,
                        device ? dlsym(driver, "cuMemcpyDtoH_v2") : NULL};
    memcpy(&take, &symbols[0], sizeof take);
    memcpy(&to, &symbols[1], sizeof to);
    memcpy(&from, &symbols[2], sizeof from);
    tdModel *model = arm("corotational", "mass: 10 1/s", DISPLACEMENT, DISPLACEMENT, "");
    double inputs[ROBOTS * ROWS * 2];
    wave(8e-3, inputs);
    tdBatch *one = make(model, ROBOTS, gpu), *two = make(model, ROBOTS, gpu);
    double *a = roll(model, one, inputs);
    tdError error = {0};
    assert_ok(td_batch_choose_outputs(two, N_NAMES, names, &error), error);
    int64_t width = td_outputs_width(td_batch_outputs(two));
    size_t bytes = sizeof(double) * (size_t)(ROBOTS * ROWS * width);
    double *b = calloc(1, bytes);
    address in = (address)(size_t)inputs, out = (address)(size_t)b;
    if (device)
    {
        assert_int_equal(take(&in, sizeof inputs), 0);
        assert_int_equal(take(&out, bytes), 0);
        assert_int_equal(to(in, inputs, sizeof inputs), 0);
    }
    tdRollout rollout = td_default_rollout();
    rollout.rows = ROWS;
    rollout.hold = HOLD;
    rollout.on_device = true;
    rollout.inputs = (tdSpan){(double *)(size_t)in, (int64_t)ROWS * 2, 2, 1};
    rollout.outputs = (tdSpan){(double *)(size_t)out, ROWS * width, width, 1};
    assert_ok(td_batch_rollout(two, &rollout, &error), error);
    if (device)
        assert_int_equal(from(b, out, bytes), 0);
    assert_memory_equal(a, b, bytes);
    free(a);
    free(b);
    td_batch_free(one);
    td_batch_free(two);
    td_model_free(model);
}

static void test_resident_host(void **unused)
{
    (void)unused;
    resident(HOST, false);
}

static void test_resident_device(void **unused)
{
    (void)unused;
    need_device();
    resident(CUDA, true);
}

// Robots that differ, and values that go from the CPU to the GPU and back.
static void test_parameters_and_values(void **unused)
{
    (void)unused;
    tdModel *model = arm("corotational", "mass: 10 1/s", DISPLACEMENT, DISPLACEMENT, "");
    double inputs[ROBOTS * ROWS * 2], young[ROBOTS] = {1, 0.7, 1.3, 1, 1}, mass[ROBOTS] = {1, 1, 1, 1.5, 1},
                                      gravity[ROBOTS] = {-9.81, -9.81, 0, -9.81, -20};
    wave(8e-3, inputs);
    tdBatch *list[2] = {make(model, ROBOTS, NULL), make(model, ROBOTS, HOST)};
    tdError error = {0};
    double *out[2];
    for (int again = 0; again < 2; again++) // parameters outlast a reset
    {
        for (int k = 0; k < 2; k++)
        {
            if (again == 0)
            {
                assert_ok(td_batch_set_parameter(list[k], TD_PARAMETER_YOUNG, 0, young, 1, NULL, &error), error);
                assert_ok(td_batch_set_parameter(list[k], TD_PARAMETER_MASS, 0, mass, 1, NULL, &error), error);
                assert_ok(td_batch_set_parameter(list[k], TD_PARAMETER_GRAVITY_Z, 0, gravity, 1, NULL, &error), error);
            }
            out[k] = roll(model, list[k], inputs);
        }
        assert_true(off(list[0], 1, out[0], out[1]) < 1e-4);
        for (int k = 0; k < 2; k++)
        {
            free(out[k]);
            if (again == 0)
                assert_ok(td_batch_reset(list[k], NULL, &error), error);
        }
    }
    size_t size = td_state_size(model, td_batch_state(list[0], 0));
    char *values = malloc(size * ROBOTS);
    assert_ok(td_batch_write(list[0], values, size, NULL, &error), error);
    assert_ok(td_batch_read(list[1], values, size, NULL, &error), error);
    for (int i = 0; i < ROBOTS; i++)
        assert_memory_equal(td_state_coords(model, td_batch_state(list[0], i), 0),
                            td_state_coords(model, td_batch_state(list[1], i), 0),
                            sizeof(double) * (size_t)td_model_body_coords(model, 0));
    assert_ok(td_batch_write(list[1], values, size, NULL, &error), error);
    assert_ok(td_batch_read(list[0], values, size, NULL, &error), error);
    for (int k = 0; k < 2; k++)
        out[k] = roll(model, list[k], inputs);
    assert_true(off(list[0], 1, out[0], out[1]) < 1e-4);
    // A look at outputs takes no step.
    double one[ROBOTS][64];
    int64_t width = td_outputs_width(td_batch_outputs(list[1]));
    assert_true(width <= 64);
    assert_ok(td_batch_read_outputs(list[1], &(tdSpan){one[0], 64, 0, 1}, NULL, &error), error);
    for (int i = 0; i < ROBOTS; i++)
        assert_memory_equal(one[i], out[1] + (i * ROWS + ROWS - 1) * width, sizeof(double) * (size_t)width);
    for (int k = 0; k < 2; k++)
    {
        free(out[k]);
        td_batch_free(list[k]);
    }
    free(values);
    td_model_free(model);
}

// What the GPU does not support is said, and nothing else happens.
static void refused(const tdModel *model, const char *gpu, const char *why)
{
    tdBatch *batch = NULL;
    tdError error = {0};
    tdSettings settings = td_default_settings();
    settings.device = TD_DEVICE_GPU;
    settings.gpu = gpu;
    assert_int_equal(td_batch_create(model, &settings, 2, &batch, &error), TD_ERROR_INPUT);
    assert_null(batch);
    if (strstr(error.message, why) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, why);
}

static void test_refused(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *top, *more, *why;
    } list[] = {
        {DISPLACEMENT ", friction: 0.1", "", "friction"},
        {CHAMBER "drive: gas", "", "drives actuators by"},
        {DISPLACEMENT, "integrator: {method: newmark}\n", "backward Euler"},
        {DISPLACEMENT, "integrator: {newton: true}\n", "one linearization"},
    };
    for (size_t k = 0; k < sizeof list / sizeof list[0]; k++)
    {
        tdModel *model = arm("corotational", "mass: 10 1/s", list[k].top, DISPLACEMENT, list[k].more);
        refused(model, HOST, list[k].why);
        td_model_free(model);
    }
    tdModel *model = arm("arruda_boyce", "mass: 10 1/s", DISPLACEMENT, DISPLACEMENT, "");
    refused(model, HOST, "laws");
    td_model_free(model);
    model = arm("corotational", "mass: 10 1/s", DISPLACEMENT, DISPLACEMENT, "");
    refused(model, "no/such/file.so", "the GPU is not used");
    refused(model, TD_BUILD_DIR "/libtendril_inside.so", "not a GPU back end");
    tdBatch *batch = make(model, 2, HOST);
    tdError error = {0};
    const char *const elsewhere[] = {"reaction:arm"};
    double delay = 0.1;
    tdBatch *cpu = make(model, 1, NULL);
    tdRollout away = td_default_rollout();
    away.on_device = true;
    assert_int_equal(td_batch_rollout(cpu, &away, &error), TD_ERROR_USAGE);
    td_batch_free(cpu);
    assert_int_equal(td_batch_choose_outputs(batch, 1, elsewhere, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "does not support this output"));
    assert_int_equal(td_batch_set_delay(batch, &delay, 0, NULL, &error), TD_ERROR_USAGE);
    td_batch_free(batch);
    td_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_device),
        cmocka_unit_test(test_crowd_device),
        cmocka_unit_test(test_rest_host),
        cmocka_unit_test(test_rest_device),
        cmocka_unit_test(test_polynomials_host),
        cmocka_unit_test(test_polynomials_device),
        cmocka_unit_test(test_alone_host),
        cmocka_unit_test(test_alone_device),
        cmocka_unit_test(test_inflate_host),
        cmocka_unit_test(test_inflate_device),
        cmocka_unit_test(test_skin_host),
        cmocka_unit_test(test_skin_device),
        cmocka_unit_test(test_trust_host),
        cmocka_unit_test(test_trust_device),
        cmocka_unit_test(test_run_away_host),
        cmocka_unit_test(test_run_away_device),
        cmocka_unit_test(test_resident_host),
        cmocka_unit_test(test_resident_device),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_parameters_and_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
