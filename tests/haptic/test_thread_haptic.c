// SPDX-License-Identifier: Apache-2.0
// Two threads on one object of haptics: local models go over whole, and neither side waits.
#include "base/file.h"
#include "felt.h"

#include "haptic/haptic.h"
#include "haptic/loop.h"
#include "solve/async.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

typedef struct shared
{
    tdHaptic *haptic;
    atomic_bool stop;
    atomic_llong taken; ///< local models
    int64_t broken;
} shared;

// Presses to and fro; every force must be one that a whole local model gives.
static void *ticking(void *user)
{
    shared *s = user;
    for (int64_t k = 0; !atomic_load(&s->stop); k++)
    {
        tdHapticForce felt;
        const double position[3] = {0, 0, -4e-3 * (1 - fabs((double)(k % 400) / 200 - 1))};
        td_haptic_tick(s->haptic, 0, position, NULL, &felt);
        bool good = isfinite(felt.force[2]) && felt.asked[2] >= -1e-9 && felt.asked[2] < 20 && felt.fault == 0;
        s->broken += !good;
        atomic_store(&s->taken, s->haptic->taken);
        if (k % 50 == 0)
            sched_yield(); // on one core the other has its turn
    }
    return NULL;
}

static void test_handover(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(COLUMN_SCENE);
    tdState *state = scene_state(model);
    tdError error = {0};
    tdHapticSettings settings = td_default_haptic();
    shared s = {0};
    assert_ok(td_haptic_create(model, &settings, &s.haptic, &error), error);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ticking, &s), 0);
    // However the two take turns, it goes on until many have gone over.
    for (int k = 0; k < 300 || atomic_load(&s.taken) < 50; k++)
        assert_ok(td_haptic_step(s.haptic, model, state, 0), td_state_report(state)->error);
    atomic_store(&s.stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(s.broken, 0);
    assert_true(s.haptic->taken >= 50 && s.haptic->taken <= s.haptic->published);
    td_haptic_free(s.haptic);
    scene_free(model, state);
}

// A thread makes factors while steps go on; a checkpoint is taken in between, and the state goes on from it.
static void test_factors(void **unused)
{
    (void)unused;
    tdModel *model = NULL;
    tdError error = {0};
    tdSettings settings = td_default_settings();
    char *text = NULL;
    size_t size = 0;
    assert_ok(td_file_read(TD_SOURCE_DIR "/tests/haptic/late.yaml", &text, &size, &error), error);
    char *lag = strstr(text, ", lag: 4");
    memcpy(lag, "        ", 8); // as the clock has it
    assert_ok(td_model_parse(text, size, "late.yaml", NULL, &settings, &model, &error), error);
    tdState *state = scene_state(model), *other = scene_state(model);
    const tdAsync *async = scene_mine(state)->async;
    // However the two take turns, it goes on until some have gone over.
    for (int k = 0; k < 12 || td_async_report(async).step < 5; k++)
    {
        scene_steps(model, state, 1);
        if (k % 5 == 0)
            assert_ok(td_state_copy(model, other, state, &error), error);
    }
    assert_true(td_async_report(async).made >= 2);
    scene_steps(model, other, 2);
    free(text);
    td_state_free(other);
    scene_free(model, state);
}

// The thread of the loop with a device: it ends with the recording, and reports each tick.
static void test_loop(void **unused)
{
    (void)unused;
    char path[] = "/tmp/tendril_trace_XXXXXX.csv";
    int file = mkstemps(path, 4);
    const char text[] = "t,z [mm]\n0,0\n0.05,-3\n0.1,0\n";
    assert_true(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
    tdModel *model = scene_model(COLUMN_SCENE);
    tdState *state = scene_state(model);
    tdError error = {0};
    tdHapticSettings settings = td_default_haptic();
    tdSettings library = td_default_settings();
    tdHaptic *haptic = NULL;
    tdDevice *device = NULL;
    tdLoop *loop = NULL;
    assert_ok(td_haptic_create(model, &settings, &haptic, &error), error);
    assert_ok(td_device_open(path, 1e-3, 0, &library, &device, &error), error);
    tdLoopSettings how = td_default_loop(1e-3);
    how.priority = 0;
    how.lock = false;
    how.records = 1000;
    assert_ok(td_loop_start(haptic, device, &how, &loop, &error), error);
    while (!td_loop_ended(loop))
        assert_ok(td_haptic_step(haptic, model, state, td_loop_clock(loop)), td_state_report(state)->error);
    const tdLoopReport *report = td_loop_stop(loop);
    int64_t n = 0;
    const tdLoopRecord *records = td_loop_records(loop, &n);
    assert_true(report->ticks >= 1 && report->ticks == n && report->late.n == n && report->work.n == n);
    assert_true(report->ticks + report->missed >= 100);
    for (int64_t i = 1; i < n; i++)
        assert_true(records[i].time > records[i - 1].time);
    assert_true(td_times_quantile(&report->late, 0.5) <= td_times_quantile(&report->late, 0.99));
    td_loop_free(loop);
    td_device_close(device);
    td_haptic_free(haptic);
    scene_free(model, state);
    unlink(path);
}

typedef struct inside
{
    tdHaptic *haptic;
    tdModel *model;
    tdState *state;
} inside;

static tdStatus step_inside(void *user, double clock)
{
    inside *s = user;
    return td_haptic_step(s->haptic, s->model, s->state, clock);
}

// The loop itself takes the steps: one for each tick, and what is felt in a tick is of the step before it.
static void test_inside(void **unused)
{
    (void)unused;
    inside s = {.model = scene_model(COLUMN_SCENE)};
    tdError error = {0};
    tdHapticSettings settings = td_default_haptic();
    tdSettings library = td_default_settings();
    tdDevice *device = NULL;
    tdLoop *loop = NULL;
    char path[] = "/tmp/tendril_trace_XXXXXX.csv";
    int file = mkstemps(path, 4);
    const char text[] = "t,z [mm]\n0,-1\n0.2,-1\n";
    assert_true(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
    s.state = scene_state(s.model);
    assert_ok(td_haptic_create(s.model, &settings, &s.haptic, &error), error);
    assert_ok(td_device_open(path, 1e-3, 0, &library, &device, &error), error);
    tdLoopSettings how = td_default_loop(1e-3);
    how.priority = 0;
    how.lock = false;
    how.step = step_inside;
    how.user = &s;
    assert_ok(td_loop_start(s.haptic, device, &how, &loop, &error), error);
    while (!td_loop_ended(loop))
        sched_yield();
    const tdLoopReport *report = td_loop_stop(loop);
    assert_int_equal(report->status, TD_OK);
    assert_int_equal(report->ticks, s.haptic->published);
    assert_int_equal(s.haptic->taken, s.haptic->published);
    td_loop_free(loop);
    td_device_close(device);
    td_haptic_free(s.haptic);
    scene_free(s.model, s.state);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_handover), cmocka_unit_test(test_factors),
                                       cmocka_unit_test(test_loop), cmocka_unit_test(test_inside)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
