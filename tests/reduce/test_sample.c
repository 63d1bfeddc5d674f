// SPDX-License-Identifier: Apache-2.0
// Paths of training: each place near the one before, everywhere that was asked for, cut into trajectories.
#include "test.h"

#include "reduce/offline/sample.h"

static tdModel *make_model(const char *actuators, const char *more)
{
    char text[4096];
    snprintf(text, sizeof text,
             "tendril: 1\n"
             "time_step: 10 ms\n"
             "duration: 1 s\n"
             "bodies:\n"
             "  - name: arm\n"
             "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [4, 1, 1]}\n"
             "    material: {law: linear, young: 100 kPa, poisson: 0.4, density: 1000}\n"
             "    fixed: [{group: xmin}]\n"
             "loads: [{name: push, type: point, body: arm, group: xmax, force: [0, 0, 1]}]\n"
             "actuators:\n%s%s",
             actuators, more);
    tdModel *model = NULL;
    tdError error = {0};
    assert_ok(td_model_parse(text, strlen(text), "scene", NULL, NULL, &model, &error), error);
    return model;
}

#define FORCE(name, range)                                                                                             \
    "  - {name: " name ", type: force, body: arm, group: xmax, direction: [1, 0, 0], drive: force, range: " range "}"  \
    "\n"
#define FOUR FORCE("a", "[0, 4]") FORCE("b", "[0, 4]") FORCE("c", "[-1, 1]") FORCE("d", "[-8, 0]")

static double value(const tdModel *model, const tdSamplePath *path, int64_t place, const char *name)
{
    return path->values[place * path->n + td_model_find_input(model, name)];
}

static void get_path(const tdModel *model, tdArena *arena, tdSamplePath *path)
{
    tdError error = {0};
    assert_ok(td_sample_path(model, arena, path, &error), error);
    assert_int_equal(path->start[0], 0);
    assert_int_equal(path->start[path->n_trajectories], path->count);
    for (int t = 0; t < path->n_trajectories; t++)
        assert_true(path->start[t] < path->start[t + 1]);
}

// S1, section IV-A: four actuators, nine steps between corners, 136 snapshots.
static void test_corners(void **unused)
{
    (void)unused;
    tdModel *model = make_model(FOUR, "motion: {keyframes: [{t: 0, push: 0}, {t: 2 s, push: 1}]}\n"
                                      "reduction: {samples: corners}\n");
    tdArena arena = {0};
    tdSamplePath path;
    get_path(model, &arena, &path);
    assert_int_equal(path.count, 136);
    const char *names[4] = {"a", "b", "c", "d"};
    const double low[4] = {0, 0, -1, -8}, high[4] = {4, 4, 1, 0};
    bool seen[16] = {false};
    for (int64_t i = 0; i < path.count; i++)
    {
        int corner = 0, ends = 0, moved = 0;
        for (int k = 0; k < 4; k++)
        {
            double x = value(model, &path, i, names[k]);
            assert_true(x >= low[k] && x <= high[k]);
            corner |= x == high[k] ? 1 << k : 0;
            ends += x == high[k] || x == low[k];
            moved += i > 0 && x != value(model, &path, i - 1, names[k]);
        }
        assert_true(i == 0 || moved == 1); // one actuator at a time
        assert_true(ends >= 3);
        if (i % 9 == 0)
        {
            assert_int_equal(ends, 4);
            assert_false(seen[corner]);
            seen[corner] = true;
        }
        // What is not sampled stays as at the end of the scene.
        assert_near(value(model, &path, i, "push"), 0.5, 1e-15);
    }
    for (int c = 0; c < 16; c++)
        assert_true(seen[c]);
    td_arena_free(&arena);
    td_model_free(model);
}

// The cut depends on the scene alone; trajectories hold a few dozen snapshots.
static void test_trajectories(void **unused)
{
    (void)unused;
    tdModel *model = make_model(FOUR, "reduction: {samples: corners}\n");
    tdArena arena = {0};
    tdSamplePath path;
    get_path(model, &arena, &path);
    assert_int_equal(path.n_trajectories, 4);
    for (int t = 0; t < 4; t++)
        assert_int_equal(path.start[t + 1] - path.start[t], 34);
    td_arena_free(&arena);
    td_model_free(model);
}

static void test_grid(void **unused)
{
    (void)unused;
    tdModel *model = make_model(FORCE("a", "[0, 4]") FORCE("b", "[0, 2]"), "reduction: {samples: grid, levels: 3}\n");
    tdArena arena = {0};
    tdSamplePath path;
    get_path(model, &arena, &path);
    assert_int_equal(path.count, 9);
    for (int64_t i = 1; i < 9; i++)
    {
        double da = value(model, &path, i, "a") - value(model, &path, i - 1, "a");
        double db = value(model, &path, i, "b") - value(model, &path, i - 1, "b");
        assert_near(fabs(da) / 2 + fabs(db), 1, 1e-15); // to a neighbour
    }
    td_arena_free(&arena);
    td_model_free(model);
}

static void test_latin_hypercube(void **unused)
{
    (void)unused;
    enum
    {
        COUNT = 20
    };
    double first[COUNT];
    for (int run = 0; run < 3; run++) // twice the same seed, then another
    {
        tdModel *model = make_model(FORCE("a", "[0, 4]") FORCE("b", "[-1, 1]"),
                                    run < 2 ? "reduction: {samples: latin_hypercube, count: 20}\n"
                                            : "reduction: {samples: latin_hypercube, count: 20, seed: 2}\n");
        tdArena arena = {0};
        tdSamplePath path;
        get_path(model, &arena, &path);
        assert_int_equal(path.count, COUNT);
        bool a[COUNT] = {false}, b[COUNT] = {false};
        int same = 0;
        for (int i = 0; i < COUNT; i++)
        {
            // Each slice of each axis has one place.
            int at_a = (int)(value(model, &path, i, "a") / 4 * COUNT);
            int at_b = (int)((value(model, &path, i, "b") + 1) / 2 * COUNT);
            assert_true(at_a >= 0 && at_a < COUNT && !a[at_a]);
            assert_true(at_b >= 0 && at_b < COUNT && !b[at_b]);
            a[at_a] = b[at_b] = true;
            same += run > 0 && value(model, &path, i, "a") == first[i];
            if (run == 0)
                first[i] = value(model, &path, i, "a");
        }
        assert_int_equal(same, run == 1 ? COUNT : 0);
        td_arena_free(&arena);
        td_model_free(model);
    }
}

// Greedy begins with each actuator alone, from rest to the ends that are not rest, and adds any place likewise.
static void test_greedy(void **unused)
{
    (void)unused;
    tdModel *model = make_model(FORCE("a", "[0, 4]") FORCE("b", "[-1, 1]"),
                                "reduction: {samples: greedy, steps_between: 2, count: 5}\n");
    tdArena arena = {0};
    tdError error = {0};
    tdSamplePath path, candidates;
    get_path(model, &arena, &path);
    assert_int_equal(path.count, 7);
    assert_int_equal(path.n_trajectories, 4);
    const double expected[7][2] = {{0, 0}, {2, 0}, {4, 0}, {0, -0.5}, {0, -1}, {0, 0.5}, {0, 1}};
    for (int i = 0; i < 7; i++)
    {
        assert_near(value(model, &path, i, "a"), expected[i][0], 1e-15);
        assert_near(value(model, &path, i, "b"), expected[i][1], 1e-15);
        assert_near(value(model, &path, i, "push"), 1, 0); // what is not sampled is there all the way
    }
    assert_ok(td_sample_candidates(model, &arena, 6, &candidates, &error), error);
    assert_int_equal(candidates.count, 4 + 6);
    for (int i = 0; i < 4; i++) // corners
    {
        double a = value(model, &candidates, i, "a"), b = value(model, &candidates, i, "b");
        assert_true((a == 0 || a == 4) && (b == -1 || b == 1));
    }
    td_sample_append(model, &path, candidates.values + 7 * candidates.n, 42);
    assert_int_equal(path.count, 9);
    assert_int_equal(path.number[4], 42);
    assert_int_equal(path.start[5], 9);
    assert_near(value(model, &path, 8, "a"), value(model, &candidates, 7, "a"), 0);
    assert_near(value(model, &path, 7, "a"), 0.5 * value(model, &candidates, 7, "a"), 1e-15);
    assert_near(value(model, &path, 7, "push"), 1, 0);
    td_arena_free(&arena);
    td_model_free(model);
}

static void test_motion(void **unused)
{
    (void)unused;
    tdModel *model = make_model(FORCE("a", "[0, 4]"), "motion: {keyframes: [{t: 0, push: 0, a: 0}, {t: 1 s, push: 1, "
                                                      "a: 2}]}\nreduction: {samples: motion, count: 10}\n");
    tdArena arena = {0};
    tdSamplePath path;
    get_path(model, &arena, &path);
    assert_int_equal(path.count, 10);
    for (int i = 0; i < 10; i++)
    {
        assert_near(value(model, &path, i, "push"), (i + 1) / 10.0, 1e-14);
        assert_near(value(model, &path, i, "a"), (i + 1) / 5.0, 1e-14);
    }
    td_arena_free(&arena);
    td_model_free(model);
}

// A random validation: the same each time, inside the ranges, from end to end of each.
static void test_validation(void **unused)
{
    (void)unused;
    tdModel *model = make_model(FOUR, "validation: {random: {steps: 100, moves: 6, seed: 3}}\n");
    tdArena arena = {0};
    const tdSceneMotion *motion = NULL, *again = NULL;
    double duration = 0;
    tdError error = {0};
    assert_ok(td_sample_validation(model, &arena, &motion, &duration, &error), error);
    assert_ok(td_sample_validation(model, &arena, &again, &duration, &error), error);
    assert_near(duration, 1, 1e-15);
    assert_int_equal(motion->n_times, 7);
    assert_int_equal(motion->n_names, 4);
    assert_memory_equal(motion->values, again->values, 28 * sizeof(double));
    const double low[4] = {0, 0, -1, -8}, high[4] = {4, 4, 1, 0};
    for (int k = 0; k < 4; k++)
    {
        double least = INFINITY, most = -INFINITY;
        for (int i = 0; i < 7; i++)
        {
            least = fmin(least, motion->values[4 * i + k]);
            most = fmax(most, motion->values[4 * i + k]);
        }
        assert_near(least, low[k], 0);
        assert_near(most, high[k], 0);
        assert_near(motion->values[k], 0, 1e-15); // begins at rest
    }
    td_arena_free(&arena);
    td_model_free(model);
}

static void test_refusals(void **unused)
{
    (void)unused;
    const struct
    {
        const char *actuators, *more, *says;
    } cases[] = {
        {FORCE("a", "[0, 4]") "  - {name: b, type: force, body: arm, all: true, direction: [1, 0, 0], drive: force}\n",
         "", "is not limited"},
        {FOUR, "reduction: {samples: grid, levels: 100}\n", "more than 1000000 samples"},
        {FOUR, "reduction: {steps_between: 10000, samples: grid, levels: 5}\n", "more than 1000000 snapshots"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        tdModel *model = make_model(cases[i].actuators, cases[i].more);
        tdArena arena = {0};
        tdSamplePath path;
        tdError error = {0};
        assert_int_equal(td_sample_path(model, &arena, &path, &error), TD_ERROR_INPUT);
        if (strstr(error.message, cases[i].says) == NULL)
            fail_msg("'%s' is not in '%s'", cases[i].says, error.message);
        td_arena_free(&arena);
        td_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corners),         cmocka_unit_test(test_trajectories), cmocka_unit_test(test_grid),
        cmocka_unit_test(test_latin_hypercube), cmocka_unit_test(test_greedy),       cmocka_unit_test(test_motion),
        cmocka_unit_test(test_validation),      cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
