// SPDX-License-Identifier: Apache-2.0
// Many robots of one model on all cores: each has its own stiffness, all get the same command, and one call takes all
// steps of all robots.
//
//     cc many_robots.c -o many_robots $(pkg-config --cflags --libs tendril) && ./many_robots 64
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tendril/tendril.h>

#define ROWS 20 // of inputs and outputs,
#define HOLD 5  // each for so many steps

static const char scene[] = "tendril: 1\n"
                            "time_step: 10 ms\n"
                            "steps: 100\n"
                            "bodies:\n"
                            "  - name: arm\n"
                            "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [10, 2, 2]}\n"
                            "    material: {law: corotational, young: 200 kPa, poisson: 0.4, density: 1000}\n"
                            "    damping: {mass: 10}\n"
                            "    fixed: [{group: xmin}]\n"
                            "actuators:\n"
                            "  - {name: top, type: cable, body: arm, drive: force,\n"
                            "     path: [[0.09, 0.01, 0.02], [0.05, 0.01, 0.02], [0, 0.01, 0.02]]}\n"
                            "probes: [{name: tip, body: arm, point: [0.1, 0.01, 0.01]}]\n";

static int fail(const tdError *error)
{
    char text[1200];
    td_error_format(error, text, sizeof text);
    fprintf(stderr, "many_robots: %s\n", text);
    return error->status;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 64;
    if (n < 2 || n > 100000)
        return fprintf(stderr, "usage: many_robots ROBOTS, 2 to 100000\n"), 2;
    tdModel *model = NULL;
    tdBatch *batch = NULL;
    tdError error = {0};
    if (td_model_parse(scene, strlen(scene), "arm", NULL, NULL, &model, &error) != TD_OK ||
        td_batch_create(model, NULL, n, &batch, &error) != TD_OK)
        return fail(&error);

    // Factors on Young's modulus from 0.5 to 2; inputs by (row), the same for all; outputs by (robot, row, 3).
    double *factor = calloc((size_t)n, sizeof *factor), *tips = calloc((size_t)n * ROWS * 3, sizeof *tips);
    double pull[ROWS];
    if (!factor || !tips)
        return fprintf(stderr, "many_robots: out of memory\n"), 5;
    for (int i = 0; i < n; i++)
        factor[i] = 0.5 + 1.5 * i / (n - 1);
    for (int t = 0; t < ROWS; t++)
        pull[t] = 0.5 * (t + 1) / ROWS; // [N]
    const char *outputs[] = {"probe:tip"};
    if (td_batch_set_parameter(batch, TD_PARAMETER_YOUNG, 0, factor, 1, NULL, &error) != TD_OK ||
        td_batch_choose_outputs(batch, 1, outputs, &error) != TD_OK)
        return fail(&error);

    tdRollout rollout = td_default_rollout();
    rollout.rows = ROWS;
    rollout.hold = HOLD;
    rollout.inputs = (tdSpan){pull, 0, 1, 1}; // robots share the rows: their stride is 0
    rollout.outputs = (tdSpan){tips, 3 * (int64_t)ROWS, 3, 1};
    if (td_batch_rollout(batch, &rollout, &error) != TD_OK)
        return fail(&error);
    int stopped = 0;
    for (int i = 0; i < n; i++) // a robot that fails stops, and the others go on
        stopped += td_batch_error(batch, i)->status != TD_OK;
    for (int i = 0; i < n; i += n - 1)
    {
        const double *tip = tips + 3 * ((int64_t)i * ROWS + ROWS - 1);
        printf("young x %.2f: tip at z = %.2f mm\n", factor[i], 1e3 * tip[2]);
    }
    printf("%d robots, %d steps each, %d stopped\n", n, ROWS * HOLD, stopped);
    td_batch_free(batch);
    td_model_free(model);
    free(tips);
    free(factor);
    return 0;
}
