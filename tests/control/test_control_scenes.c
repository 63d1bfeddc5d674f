// SPDX-License-Identifier: Apache-2.0
// The shipped scenes that are controlled while they touch: their motion, and the same efforts in a fresh simulation.
#include "scenes.h"

#include "control/control.h"

#define MOST 16

typedef struct Run
{
    tdModel *model;
    tdState *state, *fresh; // controlled; driven by what control found
    tdControl *control;
} Run;

static Run begin(const char *scene, const char *goals)
{
    Run run = {0};
    tdError error = {0};
    tdStatus status = td_model_load(scene, NULL, &run.model, &error);
    assert_ok(status, error);
    run.state = scene_state(run.model);
    run.fresh = scene_state(run.model);
    tdControlSettings settings = td_default_control(run.model);
    status = td_control_create(run.model, &settings, &run.control, &error);
    assert_ok(status, error);
    status = td_control_load_goals(run.control, run.model, goals, &error);
    assert_ok(status, error);
    assert_true(td_model_actuators(run.model) <= MOST);
    return run;
}

static void finish(Run *run)
{
    td_control_free(run->control);
    td_state_free(run->fresh);
    scene_free(run->model, run->state);
}

// One step of control, and one of the simulation with the efforts, or displacements, that it found.
static void follow(Run *run)
{
    tdStatus status = td_control_step(run->control, run->model, run->state);
    assert_ok(status, td_state_report(run->state)->error);
    for (int a = 0; a < td_model_actuators(run->model); a++)
    {
        tdActuatorInfo info = td_model_actuator(run->model, a);
        tdActuation does = td_state_actuation(run->model, run->state, a);
        td_state_set_input(run->model, run->fresh, info.input,
                           strcmp(info.drive, "effort") == 0 ? does.effort : does.displacement);
    }
    status = td_step(run->model, run->fresh);
    assert_ok(status, td_state_report(run->fresh)->error);
}

static double off(const Run *run, int effector, const tdState *state, int row)
{
    double goal[3], value[3];
    assert_true(td_control_goal(run->control, effector, td_state_time(run->state), goal));
    td_state_effector(run->model, state, effector, value);
    return fabs(value[row] - goal[row]);
}

// The finger presses with what it is asked to while it is led along the wall.
static void test_wall(void **context)
{
    (void)context;
    Run run = begin(TD_SOURCE_DIR "/scenes/control/wall.yaml", TD_SOURCE_DIR "/scenes/control/wall.csv");
    double force = 0, height = 0, replayed = 0;
    for (int k = 0; k < 200; k++)
    {
        follow(&run);
        if (k < 60)
            continue;
        force = fmax(force, off(&run, 0, run.state, 0));
        height = fmax(height, off(&run, 1, run.state, 2));
        replayed = fmax(replayed, off(&run, 0, run.fresh, 0));
    }
    print_message("wall: force to %.1e N (replayed %.1e N) of 0.3 N, height to %.2f mm\n", force, replayed,
                  1e3 * height);
    assert_true(force < 1e-3);
    assert_true(height < 3e-4);
    assert_true(replayed < 0.03);
    finish(&run);
}

// The trunk leans on the rim of the tube and reaches what is beside it.
static void test_tube(void **context)
{
    (void)context;
    Run run = begin(TD_SOURCE_DIR "/robots/trunk/tube.yaml", TD_SOURCE_DIR "/robots/trunk/tube.csv");
    double distance = 0, replayed = 0, most = 0;
    int leaning = 0;
    for (int k = 0; k < 160; k++)
    {
        follow(&run);
        const tdContactPoint *points = NULL;
        int64_t n = td_state_contacts(run.state, &points);
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += hypot(hypot(points[i].force[0], points[i].force[1]), points[i].force[2]);
        most = fmax(most, sum);
        leaning += sum > 1e-4;
        for (int row = 0; row < 3 && k > 5; row++)
        {
            distance = fmax(distance, off(&run, 0, run.state, row));
            replayed = fmax(replayed, off(&run, 0, run.fresh, row));
        }
    }
    print_message("tube: tip to %.1e mm (replayed %.2f mm), leaning in %d steps with up to %.3f N\n", 1e3 * distance,
                  1e3 * replayed, leaning, most);
    assert_true(distance < 1e-5);
    assert_true(replayed < 2e-3); // one linearization a step
    assert_true(leaning > 20);
    finish(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_wall), cmocka_unit_test(test_tube)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
