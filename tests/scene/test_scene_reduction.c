// SPDX-License-Identifier: Apache-2.0
// The keys `reduction` and `validation`.
#include "scene_actuator.h"

// One body and one actuator; what a case adds begins on line 8.
#define ONE                                                                                                            \
    "tendril: 1\nunits: {length: mm, mass: kg, time: s}\ntime_step: 10 ms\nsteps: 10\nbodies:\n"                       \
    "  - {name: arm, mesh: arm.msh, material: {law: linear, young: 1 MPa, poisson: 0.3, density: 1 g/cm^3}}\n"         \
    "actuators: [{name: pull, type: cable, body: arm, path: [[0, 0, 1], [0, 0, 2]], drive: displacement}]\n"

static void test_defaults(void **state)
{
    (void)state;
    tdScene scene;
    tdError error = {0};
    const char *texts[2] = {ONE, ONE "reduction: {}\n"};
    for (int i = 0; i < 2; i++)
    {
        assert_ok(parse(texts[i], &scene, &error), error);
        const tdSceneReduction *r = &scene.reduction;
        assert_int_equal(r->line, i == 0 ? 0 : 8);
        assert_int_equal(r->body, 0);
        assert_int_equal(r->samples, TD_SAMPLE_AUTO);
        assert_int_equal(r->steps_between, 1);
        assert_int_equal(r->count, 200);
        assert_close(r->error, 0.02);
        assert_true(r->find_pod && r->find_ecsw);
        assert_close(r->pod_tolerance, 1e-3);
        assert_close(r->ecsw_tolerance, 0.05);
        assert_int_equal(r->max_modes, 200);
        assert_int_equal(r->kind, TD_REDUCTION_DOMAINS);
        assert_int_equal(r->basis, TD_BASIS_SNAPSHOTS);
        assert_int_equal(r->frame, TD_FRAME_CHOICE_AUTO);
        assert_true(r->memory == 4000000000);
        assert_int_equal(r->seed, 1);
        assert_null(scene.validation.motion);
        assert_int_equal(scene.validation.steps, 200);
        assert_int_equal(scene.validation.moves, 8);
        assert_int_equal(scene.validation.seed, 1);
        td_scene_free(&scene);
    }
    // Without the key, several bodies are no error: the scene need not be reduced.
    assert_ok(parse(HEAD, &scene, &error), error);
    assert_int_equal(scene.reduction.body, -1);
    td_scene_free(&scene);
}

static void test_given(void **state)
{
    (void)state;
    write_file("test_reduction.csv", "first [cm]\n# a place on each line\n0\n1\n5 mm\n");
    tdScene scene;
    tdError error = {0};
    assert_ok(parse(HEAD "reduction:\n"
                         "  body: robot\n"
                         "  samples: latin_hypercube\n"
                         "  count: 12\n"
                         "  steps_between: 2\n"
                         "  pod_tolerance: 1e-6\n"
                         "  ecsw_tolerance: 0.01\n"
                         "  max_modes: 7\n"
                         "  frame: fixed\n"
                         "  memory: 512 MiB\n"
                         "  seed: 99\n"
                         "validation:\n"
                         "  motion: {keyframes: [{t: 0, first: 0}, {t: 2 s, first: 3 cm}], interpolation: smooth}\n",
                    &scene, &error),
              error);
    const tdSceneReduction *r = &scene.reduction;
    assert_int_equal(r->body, 0);
    assert_int_equal(r->samples, TD_SAMPLE_LATIN_HYPERCUBE);
    assert_int_equal(r->count, 12);
    assert_int_equal(r->steps_between, 2);
    assert_close(r->pod_tolerance, 1e-6);
    assert_close(r->ecsw_tolerance, 0.01);
    assert_int_equal(r->max_modes, 7);
    assert_int_equal(r->frame, TD_FRAME_CHOICE_FIXED);
    assert_true(r->memory == (int64_t)512 << 20);
    assert_int_equal(r->seed, 99);
    assert_int_equal(scene.validation.motion->n_times, 2);
    assert_true(scene.validation.motion->smooth);
    assert_close(scene.validation.motion->values[1], 0.03);
    assert_int_equal(scene.motion.n_times, 0);
    td_scene_free(&scene);

    assert_ok(parse(HEAD "reduction: {body: robot, sequence: test_reduction.csv}\n"
                         "validation: {random: {steps: 50, moves: 3, seed: 4}}\n",
                    &scene, &error),
              error);
    assert_int_equal(scene.reduction.samples, TD_SAMPLE_SEQUENCE);
    assert_int_equal(scene.reduction.steps_between, 1);
    assert_int_equal(scene.reduction.sequence->n_times, 3);
    assert_vector(scene.reduction.sequence->values, 0, 0.01, 0.005);
    assert_int_equal(scene.validation.steps, 50);
    assert_int_equal(scene.validation.moves, 3);
    assert_int_equal(scene.validation.seed, 4);
    td_scene_free(&scene);
    remove(TD_BUILD_DIR "/test_reduction.csv");
}

// Vibration modes alone, or beside those of snapshots.
static void test_modes(void **state)
{
    (void)state;
    tdScene scene;
    tdError error = {0};
    assert_ok(parse(ONE "reduction: {}\n", &scene, &error), error);
    assert_int_equal(scene.reduction.modes, 0);
    td_scene_free(&scene);
    assert_ok(parse(ONE "reduction: {modes: 5, samples: grid}\n", &scene, &error), error);
    assert_int_equal(scene.reduction.modes, 5);
    assert_int_equal(scene.reduction.basis, TD_BASIS_SNAPSHOTS);
    td_scene_free(&scene);
    assert_ok(parse(ONE "reduction: {basis: modes, ecsw_tolerance: 0.1, seed: 3}\n", &scene, &error), error);
    assert_int_equal(scene.reduction.modes, 6);
    assert_int_equal(scene.reduction.columns, 20);
    assert_int_equal(scene.reduction.kind, TD_REDUCTION_DOMAINS);
    td_scene_free(&scene);
}

static void test_bad(void **state)
{
    (void)state;
    const Bad cases[] = {
        {HEAD "reduction: {}\n", 11, "the scene has 3 bodies; add 'body'"},
        {HEAD "reduction: {body: robto}\n", 11, "did you mean 'robot'?"},
        {ONE "reduction: {sample: corners}\n", 8, "did you mean 'samples'?"},
        {ONE "reduction: {samples: corners, pod_tolerance: 0.1, ecsw_tolerance: 0.1, error: 0.1}\n", 8,
         "has no effect"},
        {ONE "reduction: {samples: corner}\n", 8, "did you mean 'corners'?"},
        {ONE "reduction: {levels: 3}\n", 8, "is used by samples grid only"},
        {ONE "reduction: {samples: grid, levels: 1}\n", 8, "expected a whole number from 2"},
        {ONE "reduction: {samples: grid, count: 9}\n", 8,
         "is used by samples auto, latin_hypercube, greedy and motion only"},
        {ONE "reduction: {samples: grid, candidates: 9}\n", 8, "is used by samples greedy only"},
        {ONE "reduction: {greedy_tolerance: 0.1}\n", 8, "is used by samples greedy only"},
        {ONE "reduction: {samples: greedy, greedy_tolerance: 1}\n", 8, "must be > 0 and < 1"},
        {ONE "reduction: {samples: sequence}\n", 8, "need 'sequence', a CSV file"},
        {ONE "reduction: {samples: grid, sequence: a.csv}\n", 8, "is used by samples sequence only"},
        {ONE "reduction: {sequence: no_such.csv}\n", 8, "cannot be opened"},
        {ONE "reduction: {samples: motion}\n", 8, "has no 'motion' to sample"},
        {ONE "reduction: {pod_tolerance: 0}\n", 8, "must be > 0 and < 1"},
        {ONE "reduction: {pod_tolerance: 1 mm}\n", 8, "expected a plain number"},
        {ONE "reduction: {ecsw_tolerance: 1}\n", 8, "must be > 0 and < 1"},
        {ONE "reduction: {max_modes: 0}\n", 8, "expected a whole number from 1"},
        {ONE "reduction: {steps_between: 0}\n", 8, "expected a whole number from 1"},
        {ONE "reduction: {modes: {eigen: 5}}\n", 8, "expected a whole number"},
        {ONE "reduction: {modes: 5, derivatives: 2}\n", 8, "is used by basis modes only"},
        {ONE "reduction: {kind: stvk, basis: snapshots, modes: 5}\n", 8, "is used by basis modes only"},
        {ONE "reduction: {basis: modes, samples: grid}\n", 8, "is used by basis snapshots only"},
        {ONE "reduction: {kind: stvk, modes: 0}\n", 8, "expected a whole number from 1"},
        {ONE "reduction: {kind: stvk, derivatives: 7}\n", 8, "derivatives of 7 modes, but there are only 6"},
        {ONE "reduction: {kind: stvk, columns: 28}\n", 8, "are 27 directions, fewer than 28"},
        {ONE "reduction: {kind: stvk, amplitude: 0 mm}\n", 8, "must be > 0"},
        {ONE "reduction: {kind: stvk, levels: 3}\n", 8, "is used by basis snapshots only"},
        {ONE "reduction: {kind: stvk, ecsw_tolerance: 0.1}\n", 8, "polynomials are exact"},
        {ONE "reduction: {kind: stkv}\n", 8, "did you mean 'stvk'?"},
        {ONE "reduction: {frame: fre}\n", 8, "did you mean 'free'?"},
        {ONE "reduction: {runs: 3}\n", 8, "in a scene with 'contact' only"},
        {ONE "reduction: {vary: [{set: a, from: 1, to: 2}]}\n", 8, "in a scene with 'contact' only"},
        {ONE "reduction: {basis: modes, runs: 3}\n", 8, "is used by basis snapshots only"},
        {ONE "reduction: {memory: 4}\n", 8, "a number of bytes with its unit"},
        {ONE "reduction: {memory: 4 kg}\n", 8, "a number of bytes with its unit"},
        {ONE "reduction: {memory: nan GB}\n", 8, "expected 16 MB"},
        {ONE "reduction: {memory: 1 MB}\n", 8, "expected 16 MB"},
        {ONE "reduction: {memory: -4 GB}\n", 8, "expected 16 MB"},
        {ONE "reduction: {memory: [4 GB]}\n", 8, "a number of bytes with its unit"},
        {ONE "validation: {}\n", 8, "one of 'motion' and 'random' is required"},
        {ONE "validation: {random: {}, motion: {keyframes: [{t: 0, pull: 1}]}}\n", 8, "exclude"},
        {ONE "validation: {random: {moves: 1}}\n", 8, "expected a whole number from 2"},
        {ONE "validation: {motion: {keyframes: [{t: 0, pul: 1}]}}\n", 8, "did you mean 'pull'?"},
        {ONE "validation: {motion: {keyframes: [{t: 1, pull: 1}, {t: 0, pull: 1}]}}\n", 8, "times must ascend"},
    };
    EXPECT_BAD(cases);
}

// Messages name the motion that is meant.
static void test_field(void **state)
{
    (void)state;
    tdScene scene;
    tdError error = {0};
    assert_int_equal(
        parse(ONE "validation: {motion: {keyframes: [{t: 0, pull: 1}, {t: 1, pull: 1 kg}]}}\n", &scene, &error),
        TD_ERROR_INPUT);
    td_scene_free(&scene);
    assert_string_equal(error.field, "validation.motion.keyframes[1].pull");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_given), cmocka_unit_test(test_modes),
        cmocka_unit_test(test_bad),      cmocka_unit_test(test_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
