// SPDX-License-Identifier: Apache-2.0
// Loads from measured points: a shape is made under known loads, disturbed by noise, and the loads are found again.
#include "scenes.h"

#include "control/estimate.h"

#define BEAM                                                                                                           \
    "tendril: 1\n"                                                                                                     \
    "time_step: 10 ms\n"                                                                                               \
    "steps: 5\n"                                                                                                       \
    "gravity: [0, 0, -9.81]\n"                                                                                         \
    "bodies:\n"                                                                                                        \
    "  - name: beam\n"                                                                                                 \
    "    mesh: {box: [[0, -0.01, -0.01], [0.1, 0.01, 0.01]], cells: [10, 2, 2]}\n"                                     \
    "    material: {law: neo_hookean, young: 100 kPa, poisson: 0.4, density: 1000}\n"                                  \
    "    fixed: [{group: xmin}]\n"
#define PULL "  - {name: fx, type: force, body: beam, group: xmax, direction: [1, 0, 0], drive: force}\n"
#define BEND                                                                                                           \
    "  - {name: fy, type: force, body: beam, group: xmax, direction: [0, 1, 0], drive: force}\n"                       \
    "  - {name: fz, type: force, body: beam, group: xmax, direction: [0, 0, 1], drive: force}\n"

#define NOISE 1e-4 // m: a camera's, a thousandth of the beam

// What acts, by the name of the actuator [N]: 9 mm at the tip.
static double truth(const tdModel *model, int actuator)
{
    switch (td_model_actuator(model, actuator).name[1])
    {
    case 'x': return 0.05;
    case 'y': return 0.03;
    default: return -0.02;
    }
}

static void write_text(const char *path, const char *text, size_t size)
{
    tdError error = {0};
    tdStatus status = td_file_write(path, text, size, &error);
    assert_ok(status, error);
}

static const char *path_of(const char *name)
{
    static char path[4][SCENE_PATH];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], SCENE_PATH, TD_BUILD_DIR "/estimate_%d_%s", (int)getpid(), name);
    return path[next];
}

// Nearly normal, of deviation one.
static double noise(uint64_t *seed)
{
    double sum = 0;
    for (int k = 0; k < 12; k++)
        sum += 0.5 * next_random(seed);
    return sum;
}

// Points all over the beam, where the loads put them, with noise.
static int make_marks(const char *path, const char *scene, double sigma)
{
    tdModel *model = scene_model("%sintegrator: {method: static}\n", scene);
    tdState *state = scene_state(model);
    for (int a = 0; a < td_model_actuators(model); a++)
        td_state_set_input(model, state, td_model_actuator(model, a).input, truth(model, a));
    scene_steps(model, state, 1);
    const double *x = td_state_positions(model, state, 0);
    const tdSoft *soft = scene_soft(model);
    tdText text = {0};
    uint64_t seed = 42;
    int n = 0;
    td_text_format(&text, "x0 [mm],y0 [mm],z0 [mm],x,y,z\n");
    for (int k = 0; k < 4; k++) // each node is seen by four cameras
        for (int32_t i = 0; i < soft->n_nodes; i++, n++)
        {
            for (int c = 0; c < 3; c++)
                td_text_format(&text, "%.9g,", 1e3 * soft->rest[3 * i + c]);
            for (int c = 0; c < 3; c++)
                td_text_format(&text, "%.9g%s", x[3 * i + c] + sigma * noise(&seed), c < 2 ? "," : "\n");
        }
    write_text(path, text.data, (size_t)text.size);
    free(text.data);
    scene_free(model, state);
    return n;
}

typedef struct Case
{
    tdArena arena;
    tdMarks marks;
    tdModel *model;
    tdState *state;
    tdEstimate estimate;
} Case;

static void estimate(const char *scene, const char *marks, double given, Case *c)
{
    tdError error = {0};
    const char *path = path_of("scene.yaml");
    write_text(path, scene, strlen(scene));
    tdStatus status = td_marks_read(marks, &c->arena, &c->marks, &error);
    assert_ok(status, error);
    status = td_estimate_load(path, NULL, &c->marks, NULL, &c->model, &error);
    assert_ok(status, error);
    c->state = scene_state(c->model);
    tdEstimateSettings what = td_default_estimate();
    what.noise = given;
    status = td_estimate(c->model, c->state, &c->marks, &what, &c->arena, &c->estimate, &error);
    assert_ok(status, error);
    remove(path);
}

static void forget(Case *c)
{
    scene_free(c->model, c->state);
    td_arena_free(&c->arena);
    *c = (Case){0};
}

static void test_force(void **state)
{
    (void)state;
    static const char scene[] = BEAM "actuators:\n" BEND;
    const char *marks = path_of("marks.csv");
    Case c = {0};
    int n = make_marks(marks, scene, NOISE);
    assert_true(n >= 300);
    estimate(scene, marks, NAN, &c);
    assert_int_equal(c.estimate.n, 2);
    double deviation = c.estimate.deviation[0];
    for (int j = 0; j < 2; j++)
    {
        double known = truth(c.model, j), off = c.estimate.effort[j] - known;
        print_message("%d points: %g N for %g N, deviation %g N\n", n, c.estimate.effort[j], known,
                      c.estimate.deviation[j]);
        assert_true(fabs(off) < 0.01 * fabs(known));
        // Four deviations: one in 16,000 draws is beyond. A beam of tip stiffness 3EI/L^3 = 4 N/m, seen by 396 points
        // that move by 0.45 of its tip (rms), has 1e-4 * 4 / 0.45 / sqrt(396) = 4.5e-5; the mesh is half as stiff
        // again.
        assert_true(fabs(off) < 4 * c.estimate.deviation[j]);
        assert_near(c.estimate.deviation[j], 1.5 * 4.5e-5, 1e-5);
    }
    // 1,188 coordinates tell the noise to 1 / sqrt(2 * 1188) = 2 %.
    assert_near(c.estimate.sigma, NOISE, 0.1 * NOISE);
    double sigma = c.estimate.sigma;
    forget(&c);
    // Deviations are proportional to a noise that is known.
    estimate(scene, marks, 2 * sigma, &c);
    assert_near(c.estimate.deviation[0], 2 * deviation, 1e-6 * deviation);
    remove(marks);
    forget(&c);
}

// Without noise the loads come back to the digits of the file, whatever the scene's integrator is.
static void test_exact(void **state)
{
    (void)state;
    static const char scene[] = BEAM "actuators:\n" PULL BEND;
    const char *marks = path_of("marks.csv");
    Case c = {0};
    make_marks(marks, scene, 0);
    estimate(scene, marks, NOISE, &c);
    assert_int_equal(c.estimate.n, 3);
    for (int j = 0; j < 3; j++)
        assert_near(c.estimate.effort[j], truth(c.model, j), 1e-5 * 0.05);
    // A pull along the beam moves the points less than a push across it.
    assert_true(c.estimate.deviation[0] > 2 * c.estimate.deviation[1]);
    remove(marks);
    forget(&c);
}

// Two loads that do the same cannot be told apart: their deviations are infinite, and a third one's is not.
static void test_alike(void **state)
{
    (void)state;
    static const char known[] = BEAM "actuators:\n" BEND;
    static const char scene[] =
        BEAM "actuators:\n" BEND "  - {name: again, type: force, body: beam, group: xmax, direction: [0, 0, 1], "
             "drive: force}\n";
    const char *marks = path_of("marks.csv");
    Case c = {0};
    make_marks(marks, known, NOISE);
    estimate(scene, marks, NAN, &c);
    assert_int_equal(c.estimate.n, 3);
    assert_true(isfinite(c.estimate.deviation[0]));
    assert_true(isinf(c.estimate.deviation[1]) && isinf(c.estimate.deviation[2]));
    assert_near(c.estimate.effort[1] + c.estimate.effort[2], -0.02, 0.01 * 0.02);
    remove(marks);
    forget(&c);
}

static void refused(const char *scene, const char *csv, const char *file, int line, const char *field)
{
    const char *yaml = path_of("scene.yaml"), *marks = path_of("marks.csv");
    Case c = {0};
    tdError error = {0};
    write_text(yaml, scene, strlen(scene));
    write_text(marks, csv, strlen(csv));
    tdStatus status = td_marks_read(marks, &c.arena, &c.marks, &error);
    if (status == TD_OK)
        status = td_estimate_load(yaml, NULL, &c.marks, NULL, &c.model, &error);
    assert_int_equal(status, TD_ERROR_INPUT);
    assert_string_equal(error.file, strcmp(file, "scene") == 0 ? yaml : marks);
    assert_int_equal(error.line, line);
    assert_string_equal(error.field, field);
    remove(yaml);
    remove(marks);
    td_arena_free(&c.arena);
}

static void test_refused(void **state)
{
    (void)state;
    static const char scene[] = BEAM "actuators:\n" PULL BEND;
    refused(scene, "x0,y0,z0,x,y,z\n0.1,0,0,0.1,0,0\n0.1,0,0,0.1,,0\n", "marks", 3, "y");
    refused(scene, "x0,y0,z0,x,y,z\n0.1,0,0,0.1,nan,0\n", "marks", 2, "y");
    refused(scene, "x0,y0,z0,x,y\n0.1,0,0,0.1,0\n", "marks", 1, "z");
    refused(scene, "x0,y0,z0,x,y,w\n0.1,0,0,0.1,0,0\n", "marks", 1, "w");
    refused(scene, "x0,y0,z0,x,y,z\n0.1,0,0,0.1,0,0\n# far off\n0.5,0,0,0.1,0,0\n", "marks", 4, "x0, y0, z0");
    refused(BEAM, "x0,y0,z0,x,y,z\n0.1,0,0,0.1,0,0\n", "scene", 0, "actuators");
    refused(BEAM "actuators:\n" PULL BEND "motion: {keyframes: [{t: 0, fx: 0, fy: 0, fz: 0}]}\n",
            "x0,y0,z0,x,y,z\n0.1,0,0,0.1,0,0\n", "scene", 0, "actuators");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_force), cmocka_unit_test(test_exact),
                                       cmocka_unit_test(test_alike), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
