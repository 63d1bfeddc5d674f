// SPDX-License-Identifier: Apache-2.0
// The loop around a robot: measure, correct, command, in each time step. The robot here is the same scene with a
// modulus 20 % below that of the model; put your camera and your motors in its place.
//
//   cc loop.c -o loop $(pkg-config --cflags --libs tendril) -lm && ./loop scene.yaml path.csv 10
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tendril/tendril.h>

static int fail(const tdError *error)
{
    char text[1200];
    td_error_format(error, text, sizeof text);
    fprintf(stderr, "%s\n", text);
    return error->status;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return fprintf(stderr, "usage: loop SCENE.yaml GOALS.csv GAIN\n"), 2;
    tdModel *model = NULL, *robot = NULL; // what we think, and what is there
    tdState *state = NULL, *real = NULL;
    tdControl *control = NULL;
    tdError error = {0};
    tdSettings softer = td_default_settings();
    softer.set = "bodies[arm].material.young=0.8 MPa";
    if (td_model_load(argv[1], NULL, &model, &error) != TD_OK ||
        td_model_load(argv[1], &softer, &robot, &error) != TD_OK ||
        td_state_create(model, NULL, &state, &error) != TD_OK || td_state_create(robot, NULL, &real, &error) != TD_OK)
        return fail(&error);
    tdControlSettings settings = td_default_control(model);
    settings.gain = atof(argv[3]); // [1/s]; 0: the loop is open
    if (td_control_create(model, &settings, &control, &error) != TD_OK ||
        td_control_load_goals(control, model, argv[2], &error) != TD_OK)
        return fail(&error);

    double seen[3], goal[3], most = 0;
    while (td_state_time(state) < td_control_duration(control))
    {
        td_state_effector(robot, real, 0, seen); // the camera
        td_control_measure(control, 0, seen);    // moves the targets by what is missing
        if (td_control_step(control, model, state) != TD_OK)
            return fail(&td_state_report(state)->error);
        for (int a = 0; a < td_model_actuators(model); a++) // the motors
            td_state_set_input(robot, real, td_model_actuator(robot, a).input,
                               td_state_actuation(model, state, a).effort);
        if (td_step(robot, real) != TD_OK)
            return fail(&td_state_report(real)->error);
        td_control_goal(control, 0, td_state_time(state), goal);
        td_state_effector(robot, real, 0, seen);
        double off = hypot(seen[1] - goal[1], seen[2] - goal[2]); // x does not count in this scene
        if (td_state_time(state) > 0.2)                           // the start is over
            most = fmax(most, off);
    }
    printf("%.2f mm from the goal at most\n", 1e3 * most);
    td_control_free(control);
    td_state_free(real);
    td_state_free(state);
    td_model_free(robot);
    td_model_free(model);
    return 0;
}
