// SPDX-License-Identifier: Apache-2.0
// The same bits from any number of threads, run after run, and from states that share a model.
#include "actuators.h"

#include <pthread.h>

// Fewer under a sanitizer, which makes them ten times as long.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define STEPS 6
#else
#define STEPS 30
#endif

// A beam with all that acts in parallel: gravity, pressure, damping, a driven end. Its 1,152 elements make
// 36 chunks in several colours.
static tdModel *beam(const char *law, const char *solver, const char *integrator, const int cells[3])
{
    return scene_model("tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 10 ms\nsteps: 1\nsolver: {type: %s}\n"
                       "integrator: {%s}\nbodies:\n  - name: beam\n"
                       "    mesh: {box: [[0, 0, 0], [3, 1, 1]], cells: [%d, %d, %d]}\n"
                       "    material: {law: %s, young: 2e5, poisson: 0.4, density: 1000}\n"
                       "    damping: {mass: 0.1, stiffness: 1 ms}\n    fixed: [{group: xmin}]\n"
                       "    prescribed: [{name: twist, group: xmax, axes: y, displacement: [0, 0.3, 0]}]\n"
                       "loads: [{type: surface, body: beam, group: zmin, pressure: 500}]\n"
                       "motion: {keyframes: [{t: 0, twist: 0}, {t: 200 ms, twist: 1}]}\n",
                       solver, integrator, cells[0], cells[1], cells[2], law);
}

typedef struct result
{
    size_t bytes;
    double *q, *v;
} result;

static result run(const tdModel *model, int threads, int steps)
{
    tdState *state = scene_state_with(model, threads, false);
    scene_steps(model, state, steps);
    result r = {(size_t)model->coords * sizeof(double), malloc((size_t)model->coords * sizeof(double)),
                malloc((size_t)model->coords * sizeof(double))};
    memcpy(r.q, state->q, r.bytes);
    memcpy(r.v, state->v, r.bytes);
    td_state_free(state);
    return r;
}

static void drop(result *r)
{
    free(r->q);
    free(r->v);
}

static void compare(const tdModel *model, const result *first, int threads, int steps)
{
    result other = run(model, threads, steps);
    assert_memory_equal(other.q, first->q, first->bytes);
    assert_memory_equal(other.v, first->v, first->bytes);
    drop(&other);
}

static void threads_give_the_same_bits(void **unused)
{
    (void)unused;
    const char *const laws[] = LAWS_LIST, *const solvers[] = {"auto", "asynchronous, lag: 2", "cg"};
    for (int k = 0; k < 15; k++)
    {
        tdModel *model = beam(laws[k / 3], solvers[k % 3], "method: backward_euler", (const int[3]){12, 4, 4});
        const tdElements *tets = &scene_soft(model)->blocks[0];
        assert_true(tets->chunks > 20 && tets->colours > 2); // else there is nothing to race
        result first = run(model, 1, STEPS);
        for (size_t i = 0; i < first.bytes / sizeof(double); i++)
            assert_true(isfinite(first.q[i]));
        for (int threads = 2; threads <= 4; threads++)
            compare(model, &first, threads, STEPS);
        if (k % 3 == 0)
            compare(model, &first, 1, STEPS); // the same once more
        drop(&first);
        td_model_free(model);
    }
}

static void every_integrator_gives_the_same_bits(void **unused)
{
    (void)unused;
    const char *const integrators[] = {"method: newmark", "method: midpoint, newton: true", "method: symplectic",
                                       "method: static, min_load_step: 0.01"};
    for (int k = 0; k < 4; k++)
    {
        tdModel *model = beam("corotational", "auto", integrators[k], (const int[3]){12, 4, 4});
        int steps = k == 2 ? 3 : 8; // explicit steps of this length would soon fly apart
        result first = run(model, 1, steps);
        for (int threads = 2; threads <= 4; threads++)
            compare(model, &first, threads, steps);
        drop(&first);
        td_model_free(model);
    }
}

// Large enough that products and sums over all coordinates are cut into several pieces too.
static void large_mesh_gives_the_same_bits(void **unused)
{
    (void)unused;
    tdModel *model = beam("corotational", "auto", "method: backward_euler", (const int[3]){24, 9, 9});
    assert_true(model->coords > 4096 && model->bodies[0].nodes > 1024);
    int steps = STEPS / 6;
    result first = run(model, 1, steps);
    for (int threads = 2; threads <= 4; threads++)
        compare(model, &first, threads, steps);
    drop(&first);
    td_model_free(model);
}

static void actuators_give_the_same_bits(void **unused)
{
    (void)unused;
    const char *const integrators[] = {"method: backward_euler", "method: backward_euler, newton: true",
                                       "method: static"};
    for (int k = 0; k < 6; k++)
    {
        tdModel *model = act_robot(integrators[k / 2], k % 2 == 0 ? "auto" : "cg", true);
        int steps = k / 2 == 0 ? STEPS : STEPS / 3;
        result first = run(model, 1, steps);
        for (int threads = 2; threads <= 4; threads++)
            compare(model, &first, threads, steps);
        drop(&first);
        td_model_free(model);
    }
}

// ---------------------------------------------------------------- states that share a model

typedef struct job
{
    const tdModel *model;
    int threads;
    tdStatus status;
    tdState *state;
} job;

// No assertions here: cmocka's belong to the thread that runs the test.
static void *work(void *argument)
{
    job *j = argument;
    tdSettings settings = td_default_settings();
    settings.threads = j->threads;
    j->status = td_state_create(j->model, &settings, &j->state, NULL);
    for (int s = 0; s < STEPS && j->status == TD_OK; s++)
        j->status = td_step(j->model, j->state);
    return NULL;
}

static void states_do_not_disturb_each_other(void **unused)
{
    (void)unused;
    const char *const laws[] = {"linear", "neo_hookean"}, *const solvers[] = {"auto", "cholesky"};
    for (int k = 0; k < 2; k++)
    {
        tdModel *model = beam(laws[k], solvers[k], "method: backward_euler", (const int[3]){12, 4, 4});
        result alone = run(model, 1, STEPS);
        job jobs[2] = {{.model = model, .threads = 1}, {.model = model, .threads = 2}};
        pthread_t threads[2];
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, work, &jobs[i]), 0);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < 2; i++)
        {
            assert_int_equal(jobs[i].status, TD_OK);
            assert_memory_equal(jobs[i].state->q, alone.q, alone.bytes);
            assert_memory_equal(jobs[i].state->v, alone.v, alone.bytes);
            td_state_free(jobs[i].state);
        }
        drop(&alone);
        td_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_give_the_same_bits),       cmocka_unit_test(every_integrator_gives_the_same_bits),
        cmocka_unit_test(large_mesh_gives_the_same_bits),   cmocka_unit_test(actuators_give_the_same_bits),
        cmocka_unit_test(states_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
