// SPDX-License-Identifier: Apache-2.0
// The shipped hand: reduced models of two fingers and a ball are made by what 'reduce --all' does, and the hand lifts
// the ball with them as it does at full order.
#include "test.h"

#include "reduce/offline/alone.h"
#include "reduce/offline/job.h"
#include "tendril/tendril.h"

#include <limits.h>
#include <unistd.h>

#define HAND  TD_SOURCE_DIR "/robots/hand/hand.yaml"
#define STEPS 320 // the ball is up

static void own_file(const char *body, char out[PATH_MAX])
{
    char folder[PATH_MAX - 100];
    assert_non_null(getcwd(folder, sizeof folder));
    snprintf(out, PATH_MAX, "%s/test_hand_%.40s.h5", folder, body);
}

// Each body that names a file, alone.
static void make_models(void)
{
    tdReduceBodies bodies;
    tdError error = {0};
    tdSettings settings = td_default_settings();
    assert_ok(td_reduce_bodies(HAND, &settings, &bodies, &error), error);
    assert_int_equal(bodies.n, 3);
    for (int b = 0; b < bodies.n; b++)
    {
        char file[PATH_MAX];
        tdReduceReport report;
        own_file(bodies.names[b], file);
        const tdReduceTask task = {
            .scene = HAND, .out = file, .body = bodies.names[b], .alone = true, .restart = true, .settings = settings};
        assert_ok(td_reduce(&task, &report, &error), error);
        bool finger = strcmp(bodies.names[b], "ball") != 0;
        assert_int_equal(report.failures, 0);
        assert_int_equal(report.snapshots > 0, finger); // the ball has vibration modes
        if (finger)
        {
            assert_true(report.held_out_places > 0);
            assert_true(report.held_out_error <= 0.04); // what the scene asks for
        }
        else
            assert_true(report.vibration_modes > 0);
    }
    td_arena_free(&bodies.arena);
}

/// What the hand does with the ball, and by what.
typedef struct Lift
{
    double height, tip; // [m] of the ball; of a finger's tip
    double pinch;       // [N]
    double tension;     // [N] of a cable
    int warnings;
} Lift;

static double length(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static Lift lift(bool full_order)
{
    char left[PATH_MAX], right[PATH_MAX], ball[PATH_MAX], set[3 * PATH_MAX + 100];
    own_file("left", left);
    own_file("right", right);
    own_file("ball", ball);
    snprintf(set, sizeof set, "bodies[left].rom=%s\nbodies[right].rom=%s\nbodies[ball].rom=%s\n", left, right, ball);
    tdSettings settings = td_default_settings();
    settings.full_order = full_order;
    settings.set = set;
    tdModel *model = NULL;
    tdState *state = NULL;
    tdError error = {0};
    Lift out = {0};
    double x[3];
    assert_ok(td_model_load(HAND, &settings, &model, &error), error);
    assert_ok(td_state_create(model, &settings, &state, &error), error);
    for (int k = 0; k < STEPS; k++)
    {
        assert_ok(td_step(model, state), td_state_report(state)->error);
        out.warnings += td_state_report(state)->rom_warning;
    }
    td_state_probe(model, state, td_model_find_probe(model, "ball"), x);
    out.height = x[2];
    td_state_probe(model, state, td_model_find_probe(model, "left_tip"), x);
    out.tip = x[2];
    out.tension = td_state_actuation(model, state, td_model_find_actuator(model, "left_flex")).effort;
    const tdContactSum *sums = NULL;
    for (int64_t i = 0, n = td_state_contact_sums(state, &sums); i < n; i++)
        out.pinch += length(sums[i].force) / 2;
    td_state_free(state);
    td_model_free(model);
    return out;
}

static void test_hand_lifts_ball(void **unused)
{
    (void)unused;
    make_models();
    Lift full = lift(true), reduced = lift(false);
    print_message("height %.4f, %.4f m; tip %.4f, %.4f m; pinch %.3f, %.3f N; cable %.3f, %.3f N; %d warnings\n",
                  full.height, reduced.height, full.tip, reduced.tip, full.pinch, reduced.pinch, full.tension,
                  reduced.tension, reduced.warnings);
    assert_true(full.height > 0.075 && full.pinch > 0.1); // it is held, and not by the table
    assert_near(reduced.height, full.height, 5e-4);
    assert_near(reduced.tip, full.tip, 5e-4);
    assert_near(reduced.pinch, full.pinch, 0.05 * full.pinch);
    assert_near(reduced.tension, full.tension, 0.02 * full.tension);
    assert_int_equal(reduced.warnings, 0);
    static const char *const bodies[] = {"left", "right", "ball"};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
    {
        char file[PATH_MAX];
        own_file(bodies[i], file);
        unlink(file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hand_lifts_ball)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
