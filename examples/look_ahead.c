// SPDX-License-Identifier: Apache-2.0
// Control by trial: before every decision the state is copied, each choice is simulated on the copy, and the robot
// takes the one that ends nearest to the goal. A state is a value: the copy continues with the same bits as the
// original.
//
//     cc look_ahead.c -o look_ahead $(pkg-config --cflags --libs tendril) -lm && ./look_ahead
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tendril/tendril.h>

#define DECISIONS 30
#define AHEAD     10 // steps that each choice is followed for,
#define TAKEN     5  // and steps that are taken of the best

static const char scene[] = "tendril: 1\n"
                            "time_step: 10 ms\n"
                            "steps: 100\n"
                            "bodies:\n"
                            "  - name: arm\n"
                            "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [10, 2, 2]}\n"
                            "    material: {law: corotational, young: 200 kPa, poisson: 0.4, density: 1000}\n"
                            "    damping: {mass: 20}\n"
                            "    fixed: [{group: xmin}]\n"
                            "actuators:\n"
                            "  - {name: top, type: cable, body: arm, drive: displacement, range: [0, 10 mm],\n"
                            "     path: [[0.09, 0.01, 0.02], [0.05, 0.01, 0.02], [0, 0.01, 0.02]]}\n"
                            "probes: [{name: tip, body: arm, point: [0.1, 0.01, 0.01]}]\n";

static int fail(const tdError *error)
{
    char text[1200];
    td_error_format(error, text, sizeof text);
    fprintf(stderr, "look_ahead: %s\n", text);
    return error->status;
}

// Holds the cable at `pull` [m] for some steps; the height of the tip then [m], or infinity where a step failed.
static double follow(const tdModel *model, tdState *state, double pull, int steps)
{
    double tip[3];
    td_state_set_input(model, state, td_model_find_input(model, "top"), pull);
    for (int i = 0; i < steps; i++)
        if (td_step(model, state) != TD_OK)
            return INFINITY;
    td_state_probe(model, state, 0, tip);
    return tip[2];
}

int main(void)
{
    const double goal = 25e-3;                                                       // [m] height of the tip
    const double changes[] = {-1e-3, -0.25e-3, -0.05e-3, 0, 0.05e-3, 0.25e-3, 1e-3}; // [m] of the cable
    tdModel *model = NULL;
    tdState *robot = NULL, *trial = NULL;
    tdError error = {0};
    if (td_model_parse(scene, strlen(scene), "arm", NULL, NULL, &model, &error) != TD_OK ||
        td_state_create(model, NULL, &robot, &error) != TD_OK || td_state_create(model, NULL, &trial, &error) != TD_OK)
        return fail(&error);
    double pull = 0, height = 0;
    for (int k = 0; k < DECISIONS; k++)
    {
        double best = INFINITY, chosen = pull;
        for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        {
            double candidate = fmin(fmax(pull + changes[i], 0), 10e-3);
            if (td_state_copy(model, trial, robot, &error) != TD_OK)
                return fail(&error);
            double miss = fabs(follow(model, trial, candidate, AHEAD) - goal);
            if (miss < best)
                best = miss, chosen = candidate;
        }
        pull = chosen;
        height = follow(model, robot, pull, TAKEN);
        if (!isfinite(height))
            return fail(&td_state_report(robot)->error);
    }
    printf("%.2f s: the tip is at %.2f mm, the goal at %.2f mm; the cable is %.2f mm shorter\n", td_state_time(robot),
           1e3 * height, 1e3 * goal, 1e3 * pull);
    td_state_free(trial);
    td_state_free(robot);
    td_model_free(model);
    return fabs(height - goal) < 0.5e-3 ? 0 : 4;
}
