// SPDX-License-Identifier: Apache-2.0
// tendril reduce: the offline stage, from a scene to the file of a reduced model.
#include "reduce.h"

#include "base/timer.h"
#include "simulate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: tendril reduce SCENE -o FILE.h5 [options]\n\n"
    "Makes a reduced model of a body, with which 'run', 'control' and the rest go on in real time (--rom FILE.h5):\n"
    "equilibria all over the ranges of the actuators give modes, and few elements are chosen that stand for all. How,\n"
    "the scene says under 'reduction'; the default are the corners of the ranges, 9 steps apart, a POD tolerance of\n"
    "1e-3 and an ECSW tolerance of 0.05. At the end the model is compared with full order at places that training did "
    "not visit\n"
    "('validation'). With 'kind: stvk', vibration modes take the place of equilibria and polynomials that of "
    "elements.\n"
    "\n"
    "What is done is kept in FILE.h5.work/ until the end. Killed or interrupted, the same command goes on from there,\n"
    "and the model that comes out is the same, bit for bit. With --keep or --work, a run with other tolerances or\n"
    "another validation takes from there what does not depend on them: equilibria first of all.\n\n"
    "  -o FILE              the reduced model (HDF5)\n"
    "  --body NAME          the body, in the place of the scene's 'reduction.body'\n"
    "  --pod-tolerance X    in the place of the scene's: of the modes,\n"
    "  --ecsw-tolerance X   of the reduced domain,\n"
    "  --max-modes N        modes at most\n"
    "  --work FOLDER        keep the work there, and leave it: for several outputs from the same equilibria\n"
    "  --keep               leave the work folder\n"
    "  --accept             write the model even if it is off by more than 20 %, which is otherwise exit code 4\n"
    "  --restart            throw work away that an earlier run left\n"
    "  --threads N          worker threads (default: all cores); the result does not depend on it\n" CLI_SCENE_HELP
    "  --portable           use kernels without AVX2, for results that are the same on any machine\n"
    "  --json               print one JSON object: snapshots, modes, elements, rid_elements, pod_error, ecsw_error,\n"
    "                       held_out_error, reused work and seconds of each phase, peak_rss\n"
    "  --quiet              no progress\n\n"
    "Exit codes: 0 done, 2 usage, 3 bad input, 4 numerical failure, 5 out of memory, 6 a file could not be\n"
    "written, 130 interrupted.\n\n"
    "example: tendril reduce robots/parallel/coarse.yaml -o parallel.h5\n"
    "         for t in 0.03 0.05 0.1; do tendril reduce robots/parallel/coarse.yaml -o tau-$t.h5 --work sweep \\\n"
    "           --ecsw-tolerance $t; done\n";

// ---------------------------------------------------------------- progress

static void put_time(char out[32], double seconds)
{
    if (seconds < 90)
        snprintf(out, 32, "%.0f s", seconds);
    else if (seconds < 5400)
        snprintf(out, 32, "%.0f min", seconds / 60);
    else
        snprintf(out, 32, "%.1f h", seconds / 3600);
}

bool reduce_show(void *user, tdReducePhase phase, int64_t done, int64_t total)
{
    reduceProgress *p = user;
    double now = td_seconds();
    bool terminal = isatty(STDERR_FILENO), first = phase != p->phase || p->shown == 0;
    if (first)
    {
        if (terminal && p->shown != 0 && !cli_quiet())
            fputs("\n", stderr);
        *p = (reduceProgress){phase, now, done, now, -1};
    }
    bool go_on = !sig_came();
    if (cli_quiet() || (terminal && !first && done < total && now - p->shown < 0.1))
        return go_on;
    // Some work is done at a leap when it was done before: the rest goes on at the pace of what is done now.
    char left[32] = "";
    if (!first && done > p->first && done < total)
        put_time(left, (now - p->begin) * (double)(total - done) / (double)(done - p->first));
    const char *name = td_reduce_phase_name(phase);
    int tenth = total > 0 ? (int)(done * 10 / total) : 0;
    if (terminal && total > 0)
        fprintf(stderr, "\r%-10s %8" PRId64 " of %" PRId64 "%s%s          ", name, done, total,
                left[0] != '\0' ? ", left: " : "", left);
    else if (terminal)
        fprintf(stderr, "\r%-10s %8" PRId64 " %s          ", name, done,
                phase == TD_REDUCE_SEARCH ? "tried" : "chosen");
    else if (first && total == 0)
        fprintf(stderr, "%s\n", name);
    else if (tenth != p->tenth && total > 0)
        fprintf(stderr, "%s: %" PRId64 " of %" PRId64 "%s%s\n", name, done, total, left[0] != '\0' ? ", left: " : "",
                left);
    p->tenth = tenth;
    p->shown = now;
    fflush(stderr);
    return go_on;
}

void reduce_shown(const reduceProgress *p)
{
    if (isatty(STDERR_FILENO) && p->shown != 0 && !cli_quiet())
        fputs("\n", stderr);
}

// ---------------------------------------------------------------- result

static void print_json(const tdReduceTask *task, const tdReduceReport *report)
{
    tdJson json = {0};
    double all = 0;
    char content[17];
    snprintf(content, sizeof content, "%016" PRIx64, report->content);
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "status", report->stopped ? "interrupted" : "done");
    td_json_string(&json, "scene", task->scene);
    td_json_string(&json, "rom", task->out);
    td_json_bool(&json, "resumed", report->resumed);
    if (!report->stopped)
        td_json_string(&json, "kind", report->kind);
    td_json_integer(&json, "vibration_modes", report->vibration_modes);
    if (report->polynomial_bytes > 0)
        td_json_number(&json, "polynomial_bytes", report->polynomial_bytes);
    td_json_integer(&json, "snapshots", report->snapshots);
    td_json_integer(&json, "weight_snapshots", report->weight_snapshots);
    td_json_integer(&json, "failures", report->failures);
    if (report->failures > 0)
        td_json_string(&json, "first_failure", report->why);
    if (report->greedy_error > 0)
    {
        td_json_integer(&json, "greedy_added", report->greedy_added);
        td_json_number(&json, "greedy_error", report->greedy_error);
    }
    td_json_integer(&json, "modes", report->modes);
    td_json_number(&json, "pod_error", report->pod_error);
    td_json_integer(&json, "elements", report->elements);
    td_json_integer(&json, "rid_elements", report->rid_elements);
    td_json_number(&json, "ecsw_error", report->ecsw_error);
    td_json_open(&json, "domains", '[');
    for (int d = 0; d < report->n_domains; d++)
    {
        td_json_open(&json, NULL, '{');
        td_json_string(&json, "name", report->domains[d].name);
        td_json_integer(&json, "elements", report->domains[d].elements);
        td_json_integer(&json, "rid_elements", report->domains[d].rid_elements);
        td_json_integer(&json, "check_elements", report->domains[d].check_elements);
        td_json_number(&json, "error", report->domains[d].error);
        td_json_number(&json, "check_error", report->domains[d].check_error);
        if (report->domains[d].why != NULL)
            td_json_string(&json, "above_tolerance", report->domains[d].why);
        td_json_close(&json, '}');
    }
    td_json_close(&json, ']');
    td_json_integer(&json, "held_out_places", report->held_out_places);
    td_json_integer(&json, "held_out_failures", report->held_out_failures);
    td_json_number(&json, "held_out_error", report->held_out_error);
    td_json_number(&json, "held_out_worst", report->held_out_worst);
    td_json_integer(&json, "motion_steps", report->motion_steps);
    td_json_number(&json, "motion_error", report->motion_error);
    td_json_number(&json, "motion_worst", report->motion_worst);
    td_json_string(&json, "content", content);
    td_json_open(&json, "seconds", '{');
    for (int i = 0; i < TD_REDUCE_PHASES; i++)
    {
        td_json_number(&json, td_reduce_phase_name((tdReducePhase)i), report->seconds[i]);
        all += report->seconds[i];
    }
    td_json_close(&json, '}');
    td_json_open(&json, "reused", '{');
    for (int i = 0; i < TD_REDUCE_PHASES; i++)
        td_json_integer(&json, td_reduce_phase_name((tdReducePhase)i), report->reused[i]);
    td_json_close(&json, '}');
    td_json_number(&json, "wall_s", all);
    td_json_integer(&json, "peak_rss", sim_peak_memory());
    td_json_close(&json, '}');
    cli_print_json(&json);
}

// What an earlier run had done of each phase.
static void print_reused(const tdReduceReport *report)
{
    static const char *const what[TD_REDUCE_PHASES] = {
        "equilibria",          "places of samples greedy", "the modes", "elements' forces",
        "choices of elements", "the vibration modes",      "",          "held-out places"};
    int n = 0;
    for (int i = 0; i < TD_REDUCE_PHASES; i++)
    {
        if (report->reused[i] == 0)
            continue;
        fputs(n++ == 0 ? "reused      " : ", ", stdout);
        if (i == TD_REDUCE_POD || i == TD_REDUCE_MODES)
            fputs(what[i], stdout);
        else
            printf("%" PRId64 " %s", report->reused[i], what[i]);
    }
    if (n > 0)
        fputs(", of an earlier run\n", stdout);
}

static void print_table(const tdReduceTask *task, const tdReduceReport *report)
{
    printf("scene       %s\n", task->scene);
    printf("rom         %s\n", task->out);
    bool snapshots = report->snapshots > 0;
    if (snapshots)
        printf("snapshots   %" PRId64 ", and %" PRId64 " while gravity comes on\n", report->snapshots,
               report->weight_snapshots);
    if (report->greedy_error > 0)
        printf("greedy      %" PRId64 " places added, estimated error %.3g at the worst\n", report->greedy_added,
               report->greedy_error);
    print_reused(report);
    if (report->failures > 0)
        printf("failures    %" PRId64 " places without an equilibrium, the first: %s\n", report->failures, report->why);
    if (!snapshots)
        printf("modes       %d, of %d vibration modes from %.4g Hz on and their derivatives\n", report->modes,
               report->vibration_modes, report->frequency);
    else
        printf("modes       %d, which leave %.2e of the snapshots behind\n", report->modes, report->pod_error);
    if (snapshots && report->vibration_modes > 0)
        printf(
            "            among them %d vibration modes from %.4g Hz on, as far as those of the snapshots lack them\n",
            report->vibration_modes, report->frequency);
    for (int d = 0; d < report->n_domains; d++)
        printf("%-11s %" PRId64 " of %" PRId64 " elements, error of the training forces %.3g\n",
               report->domains[d].name, report->domains[d].rid_elements, report->domains[d].elements,
               report->domains[d].error);
    if (report->polynomial_bytes > 0)
        printf("polynomials %.3g MB while they run\n", 1e-6 * report->polynomial_bytes);
    if (report->held_out_places > 0)
        printf("held out    relative error %.3g at %" PRId64 " places, %.3g at the worst\n", report->held_out_error,
               report->held_out_places, report->held_out_worst);
    if (report->held_out_failures > 0)
        printf("            %" PRId64 " more without an equilibrium\n", report->held_out_failures);
    if (report->motion_steps > 0)
        printf("moving      relative error %.3g in %" PRId64 " steps, %.3g at the worst\n", report->motion_error,
               report->motion_steps, report->motion_worst);
    fputs("seconds    ", stdout);
    for (int i = 0, n = 0; i < TD_REDUCE_PHASES; i++)
        if (report->seconds[i] > 0)
            printf("%s %s %.3g", n++ > 0 ? "," : "", td_reduce_phase_name((tdReducePhase)i), report->seconds[i]);
    printf("\npeak memory %.0f MB\n", (double)sim_peak_memory() / 1e6);
}

// ---------------------------------------------------------------- the command

static bool tolerance(const char *option, const char *text, double *out)
{
    if (text == NULL)
        return true;
    if (!cli_number(option, text, out))
        return false;
    if (*out > 0 && *out < 1)
        return true;
    cli_usage("%s: found '%s', expected a number > 0 and < 1", option, text);
    return false;
}

static bool mode_count(const char *text, int *out)
{
    long value = 0;
    if (text == NULL)
        return true;
    if (!cli_integer("--max-modes", text, 1, &value))
        return false;
    if (value <= TD_REDUCE_MOST_MODES)
    {
        *out = (int)value;
        return true;
    }
    cli_usage("--max-modes: found '%s', expected at most %d", text, TD_REDUCE_MOST_MODES);
    return false;
}

// What the numbers say, for those who do not read them.
static void warn_of_errors(const tdReduceReport *report)
{
    if (report->stopped)
        return;
    if (report->held_out_error > 0.1)
        fprintf(stderr,
                "warning: the model is off by %.0f %% at places that training did not visit; take more samples or "
                "smaller tolerances "
                "(docs/reduction.md)\n",
                100 * report->held_out_error);
    if (report->motion_error > TD_REDUCE_ACCEPTED)
        fprintf(stderr,
                "warning: while it moves along its validation the model is off by %.0f %%: that motion is too fast for "
                "modes "
                "made of equilibria. Use the model for slower ones, add vibration modes (reduction.modes) or "
                "damping (docs/reduction.md)\n",
                100 * report->motion_error);
    if (report->held_out_places == 0 && report->held_out_failures > 0)
        fprintf(stderr,
                "warning: the model found no equilibrium at any of the %" PRId64
                " places that training did not visit; it is of no use\n",
                report->held_out_failures);
}

int cmd_reduce(int argc, char **argv)
{
    const char *threads = NULL, *pod = NULL, *ecsw = NULL, *most = NULL;
    tdReduceTask task = {0};
    bool portable = false;
    const cliOption options[] = {
        {"-o", &task.out, NULL},           {"--body", &task.body, NULL},     {"--pod-tolerance", &pod, NULL},
        {"--ecsw-tolerance", &ecsw, NULL}, {"--max-modes", &most, NULL},     {"--work", &task.work, NULL},
        {"--keep", NULL, &task.keep},      {"--accept", NULL, &task.accept}, {"--restart", NULL, &task.restart},
        {"--threads", &threads, NULL},     {"--portable", NULL, &portable},  CLI_SCENE_OPTIONS,
    };
    int code = cli_parse(argc, argv, help, options, (int)(sizeof options / sizeof options[0]), &task.scene, 1, 1);
    if (code >= 0)
        return code;
    if (task.out == NULL)
        return cli_usage("where to? give -o FILE.h5");
    size_t length = strlen(task.out);
    if (length < 4 || strcmp(task.out + length - 3, ".h5") != 0)
        return cli_usage("-o takes the name of the reduced model, which ends in .h5, not '%s'", task.out);
    if (!tolerance("--pod-tolerance", pod, &task.pod_tolerance) ||
        !tolerance("--ecsw-tolerance", ecsw, &task.ecsw_tolerance) || !mode_count(most, &task.max_modes))
        return 2;
    task.settings = cli_settings();
    task.settings.portable = portable;
    code = sim_check_common(threads, NULL, &task.settings);
    if (code >= 0)
        return code;
    reduceProgress progress = {0};
    task.progress = reduce_show;
    task.user = &progress;
    tdReduceReport report;
    tdError error = {0};
    sigBefore before = sig_catch();
    tdStatus status = td_reduce(&task, &report, &error);
    sig_release(&before);
    reduce_shown(&progress);
    if (status != TD_OK)
        return cli_fail(&error);
    if (cli_json())
        print_json(&task, &report);
    else if (!report.stopped)
        print_table(&task, &report);
    if (report.stopped)
        fprintf(stderr, "tendril: interrupted; the same command goes on from %s%s\n",
                task.work != NULL ? task.work : task.out, task.work != NULL ? "" : ".work");
    if (report.failures > 0)
        fprintf(stderr, "warning: %" PRId64 " places have no equilibrium and are no snapshots; the first: %s\n",
                report.failures, report.why);
    warn_of_errors(&report);
    return report.stopped ? 130 : 0;
}
