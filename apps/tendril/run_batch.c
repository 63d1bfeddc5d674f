// SPDX-License-Identifier: Apache-2.0
// tendril run SCENE --batch: many robots from a file of inputs to a file of outputs.
#include "run_batch.h"

#include "base/memory.h"
#include "simulate.h"
#include "tendril/study.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Cuts names apart at blanks, in place; returns how many.
static int split(char *text, const char **names, int most)
{
    int n = 0;
    char *rest = NULL;
    for (char *name = strtok_r(text, " ", &rest); name != NULL && n < most; name = strtok_r(NULL, " ", &rest))
        names[n++] = name;
    return n;
}

static void print(const runBatch *arguments, const tdSweep *sweep)
{
    if (cli_json())
    {
        tdJson json = {0};
        td_json_open(&json, NULL, '{');
        td_json_string(&json, "status", sweep->stopped ? "interrupted" : "done");
        td_json_string(&json, "scene", arguments->scene);
        td_json_bool(&json, "resumed", sweep->resumed);
        td_json_integer(&json, "robots", sweep->robots);
        td_json_integer(&json, "rows", sweep->rows);
        td_json_integer(&json, "steps", sweep->steps);
        td_json_integer(&json, "failed", sweep->failed);
        td_json_number(&json, "wall_s", sweep->seconds);
        td_json_string(&json, "out", arguments->out);
        td_json_integer(&json, "peak_rss", sim_peak_memory());
        td_json_close(&json, '}');
        cli_print_json(&json);
        return;
    }
    if (sweep->stopped)
        return;
    printf("scene       %s\n", arguments->scene);
    printf("robots      %" PRId64 ", %" PRId64 " of them stopped\n", sweep->robots, sweep->failed);
    printf("rows        %" PRId64 "\n", sweep->rows);
    printf("steps       %" PRId64 " of all robots\n", sweep->steps);
    printf("wall time   %.3g s%s\n", sweep->seconds, sweep->resumed ? ", resumed from an earlier run" : "");
    printf("out         %s\n", arguments->out);
}

int run_batch(const runBatch *arguments, const tdSettings *settings)
{
    tdSweepSettings what = td_default_sweep();
    tdSweep sweep = {0};
    tdError error = {0};
    long hold = 1;
    size_t length = arguments->out != NULL ? strlen(arguments->out) : 0;
    if (length < 4 || strcmp(arguments->out + length - 3, ".h5") != 0)
        return cli_usage("the output is missing: with --batch, --out takes the name of a file that ends in .h5");
    if (arguments->hold != NULL && !cli_integer("--hold", arguments->hold, 1, &hold))
        return TD_ERROR_USAGE;
    if (access(arguments->out, F_OK) == 0 && !*cli_force())
        return cli_usage("%s already exists; --force overwrites it", arguments->out);
    const char *names[256];
    char *text = strdup(arguments->outputs != NULL ? arguments->outputs : "");
    if (text == NULL)
    {
        td_fail_memory(&error, "the names of outputs");
        return cli_fail(&error);
    }
    what.n_outputs = split(text, names, 256);
    what.outputs = names;
    what.inputs = arguments->inputs;
    what.out = arguments->out;
    what.hold = (int)hold;
    what.restart = *cli_force();
    what.progress = cli_study;
    sigBefore before = sig_catch();
    tdStatus status = td_sweep_run(arguments->scene, &what, settings, &sweep, &error);
    sig_release(&before);
    free(text);
    if (status != TD_OK)
        return cli_fail(&error);
    print(arguments, &sweep);
    if (sweep.stopped)
        fprintf(stderr, "tendril: interrupted; the same command resumes from there (%s.work)\n", arguments->out);
    else if (sweep.failed > 0)
        fprintf(stderr, "warning: %" PRId64 " of %" PRId64 " robots stopped; 'status' in %s says which\n", sweep.failed,
                sweep.robots, arguments->out);
    return sweep.stopped ? 130 : sweep.failed == sweep.robots ? TD_ERROR_NUMERIC : 0;
}
