// SPDX-License-Identifier: Apache-2.0
// tendril reduce: the offline stage, from a scene to the file of a reduced model.
#include "reduce.h"

#include "base/timer.h"
#include "reduce/offline/alone.h"
#include "reduce/offline/crew.h"
#include "simulate.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_SHARES 100000

static const char help[] =
    "usage: tendril reduce SCENE -o FILE.h5 [options]\n"
    "       tendril reduce SCENE --all [options]\n"
    "       tendril reduce SCENE --work FOLDER --job I/N [options]\n"
    "       tendril reduce SCENE --work FOLDER --merge -o FILE.h5 [options]\n\n"
    "Makes a reduced model of a body, with which 'run', 'control' and other commands run in real time (--rom "
    "FILE.h5).\n"
    "Equilibria across the ranges of the actuators give modes, and a few elements are chosen to represent all. The "
    "scene's\n"
    "'reduction' sets how. By default it goes in rounds: equilibria across the ranges, a comparison with full order "
    "at\nother points ('validation'), then more elements, modes or points, whichever the error calls for, until it is "
    "2 % "
    "or\n"
    "less ('error'). With 'kind: stvk', vibration modes replace equilibria and polynomials replace "
    "elements.\n"
    "\n"
    "Work in progress is kept in FILE.h5.work/ until the end. If the command is killed or interrupted, the same "
    "command\n"
    "resumes from there, and the resulting model is the same, bit for bit. With --keep or --work, a run with other "
    "tolerances\n"
    "or another validation reuses whatever does not depend on them, above all the equilibria.\n\n"
    "On a cluster, --job 1/8 to --job 8/8 compute the equilibria, each its share, at the same time and on any machine\n"
    "that sees the folder; --merge makes the model from them, the same as from one process. 'mpirun -n 8 tendril "
    "reduce\n"
    "SCENE -o FILE.h5' does all of it, and assigns the equilibria to ranks as they become free (docs/cluster.md).\n\n"
    "  -o FILE              the reduced model (HDF5)\n"
    "  --body NAME          the body, instead of the scene's 'reduction.body'\n"
    "  --alone              train the body as if nothing else were there: no other bodies, no contact, attachments to "
    "space\n"
    "  --all                every body of the scene that has a 'rom', each alone, into that file\n"
    "  --error X            goal for the held-out error, instead of the scene's\n"
    "  --pod-tolerance X    tolerance of the modes, likewise\n"
    "  --ecsw-tolerance X   tolerance of the reduced domain, likewise\n"
    "  --max-modes N        largest number of modes, likewise\n"
    "  --work FOLDER        folder for work in progress, kept at the end: for several outputs from the same "
    "equilibria\n"
    "  --keep               do not delete the work folder at the end\n"
    "  --job I/N            compute share I of N of the equilibria into the folder of --work, and no model\n"
    "  --merge              build the model from the results of the jobs; refused if equilibria are missing\n"
    "  --tsqr               make the modes of all snapshots at once, in blocks of rows that ranks share; the same for "
    "any\n"
    "                       number of them, and as those without it but for rounding\n"
    "  --memory SIZE        e.g. 2 GB: what the work may take beside the scene, instead of 'reduction.memory'\n"
    "  --accept             write the model even if its error exceeds 20 %, which is otherwise exit code 4\n"
    "  --restart            discard the work of an earlier run\n"
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

#define LEAP   0.05 // [s] from the begin of a phase
#define SMOOTH 8    // places over which the pace is smoothed

static void put_time(char out[32], double seconds)
{
    if (seconds < 90)
        snprintf(out, 32, "%.0f s", seconds);
    else if (seconds < 5400)
        snprintf(out, 32, "%.0f min", seconds / 60);
    else
        snprintf(out, 32, "%.1f h", seconds / 3600);
}

// Time that the phase will take, from the pace of what was done lately. Work of an earlier run is done at a leap when
// the phase begins, and is no measure of the rest. Clocks go on by themselves: only what a new pace says otherwise is
// mixed in, by a part, so that a place that takes long does not make the figure jump.
static void estimate(reduceProgress *p, double now, int64_t done, int64_t total)
{
    int64_t more = done - p->done;
    if (more <= 0)
        return;
    double took = now - p->when;
    bool leap = p->pace == 0 && now - p->begin < LEAP;
    if (!leap)
    {
        double part = p->pace == 0 ? 1 : 1 - exp(-(double)more / SMOOTH);
        p->pace += part * (took / (double)more - p->pace);
        double rest = p->pace * (double)(total - done), expected = fmax(p->left - took, 0);
        p->left = p->left == 0 ? rest : expected + part * (rest - expected);
    }
    p->done = done;
    p->when = now;
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
        *p = (reduceProgress){.phase = phase, .begin = now, .done = done, .when = now, .shown = now, .tenth = -1};
    }
    estimate(p, now, done, total);
    bool go_on = !sig_came();
    if (cli_quiet() || (terminal && !first && done < total && now - p->shown < 0.1))
        return go_on;
    char left[32] = "";
    if (p->pace > 0 && done < total)
        put_time(left, p->left);
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

// What full order took, for those who plan how many processes to use.
static void print_trajectories(tdJson *json, const tdReduceReport *report)
{
    if (report->trajectories == 0)
        return;
    td_json_integer(json, "trajectories", report->trajectories);
    td_json_integer(json, "places", report->places);
    td_json_number(json, "trajectory_s", report->trajectory_seconds);
    td_json_number(json, "longest_trajectory_s", report->longest_trajectory);
}

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
    td_json_integer(&json, "ranks", task->crew != NULL ? task->crew->size : 1);
    print_trajectories(&json, report);
    if (!report->stopped)
        td_json_string(&json, "kind", report->kind);
    td_json_integer(&json, "vibration_modes", report->vibration_modes);
    if (report->polynomial_bytes > 0)
        td_json_number(&json, "polynomial_bytes", report->polynomial_bytes);
    td_json_integer(&json, "snapshots", report->snapshots);
    td_json_integer(&json, "weight_snapshots", report->weight_snapshots);
    td_json_integer(&json, "moving_snapshots", report->moving_snapshots);
    td_json_integer(&json, "runs", report->runs);
    td_json_integer(&json, "rounds", report->rounds);
    td_json_integer(&json, "newton_iterations", report->iterations);
    td_json_integer(&json, "failures", report->failures);
    if (report->failures > 0)
        td_json_string(&json, "first_failure", report->why);
    if (report->cause[0] != '\0')
        td_json_string(&json, "cause", report->cause);
    if (report->failures > 0 || report->cause[0] != '\0')
        td_json_string(&json, "advice", report->advice);
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
        "equilibria",          "greedy sample points", "the modes", "elements' forces",
        "choices of elements", "the vibration modes",  "",          "held-out points"};
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
        printf("snapshots   %" PRId64 ", and %" PRId64 " while gravity is applied\n", report->snapshots,
               report->weight_snapshots);
    if (report->runs > 1)
        printf("            of %d runs of the scene with other numbers each ('vary')\n", report->runs);
    if (report->moving_snapshots > 0)
        printf("            and %" PRId64 " steps of a motion\n", report->moving_snapshots);
    if (report->rounds > 1)
        printf("rounds      %d, for an error of %.3g\n", report->rounds, report->asked);
    if (report->greedy_error > 0)
        printf("greedy      %" PRId64 " points added, largest estimated error %.3g\n", report->greedy_added,
               report->greedy_error);
    print_reused(report);
    if (report->failures > 0)
        printf("failures    %" PRId64 " points without an equilibrium, the first: %s\n", report->failures, report->why);
    if (!snapshots)
        printf("modes       %d, of %d vibration modes from %.4g Hz on and their derivatives\n", report->modes,
               report->vibration_modes, report->frequency);
    else
        printf("modes       %d, which leave out %.2e of the snapshots\n", report->modes, report->pod_error);
    if (snapshots && report->vibration_modes > 0)
        printf("            among them %d vibration modes from %.4g Hz on, less what the others already span\n",
               report->vibration_modes, report->frequency);
    for (int d = 0; d < report->n_domains; d++)
        printf("%-11s %" PRId64 " of %" PRId64 " elements, error of the training forces %.3g\n",
               report->domains[d].name, report->domains[d].rid_elements, report->domains[d].elements,
               report->domains[d].error);
    if (report->polynomial_bytes > 0)
        printf("polynomials %.3g MB while they run\n", 1e-6 * report->polynomial_bytes);
    if (report->held_out_places > 0)
        printf("held out    relative error %.3g at %" PRId64 " points, %.3g at most\n", report->held_out_error,
               report->held_out_places, report->held_out_worst);
    if (report->held_out_failures > 0)
        printf("            %" PRId64 " more without an equilibrium\n", report->held_out_failures);
    if (report->motion_steps > 0)
        printf("moving      relative error %.3g in %" PRId64 " steps, %.3g at most\n", report->motion_error,
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

// A size with its unit, as scenes have it.
static bool bytes_of(const char *text, double *out)
{
    char *end = NULL;
    if (text == NULL)
        return true;
    double value = strtod(text, &end);
    end += strspn(end, " ");
    double unit = strcmp(end, "MB") == 0 ? 1e6 : strcmp(end, "GB") == 0 ? 1e9 : 0;
    *out = value * unit;
    if (end != text && isfinite(*out) && *out >= 16e6 && *out <= 1e15)
        return true;
    cli_usage("--memory: found '%s', expected a number with MB or GB, 16 MB at least", text);
    return false;
}

// I/N, e.g. 3/8.
static bool share_of(const char *text, int *share, int *shares)
{
    char *end = NULL;
    long i = 0, n = 0;
    if (text == NULL)
        return true;
    if (text[0] >= '0' && text[0] <= '9')
        i = strtol(text, &end, 10);
    if (end != NULL && end[0] == '/' && end[1] >= '0' && end[1] <= '9')
        n = strtol(end + 1, &end, 10);
    if (n < 1 || n > MOST_SHARES || i < 1 || i > n || end[0] != '\0')
    {
        cli_usage("--job: found '%s', expected I/N with 1 <= I <= N <= %d, e.g. 3/8", text, MOST_SHARES);
        return false;
    }
    *share = (int)i;
    *shares = (int)n;
    return true;
}

// What jobs and their merge need, and what they have no use for. -1: all is well.
static int check_shares(const tdReduceTask *task)
{
    bool job = task->shares > 0;
    if (job && task->merge)
        return cli_usage("--job computes a share, --merge makes the model of all shares; give one of them");
    if ((job || task->merge) && task->work == NULL)
        return cli_usage("%s needs --work FOLDER, which all jobs see", job ? "--job" : "--merge");
    if ((job || task->merge) && task->restart)
        return cli_usage("--restart would throw the work of all jobs away; remove the folder '%s' instead", task->work);
    if (job && task->out != NULL)
        return cli_usage("--job writes no model; give -o to --merge, when all jobs are done");
    if (job && (task->error > 0 || task->pod_tolerance > 0 || task->ecsw_tolerance > 0 || task->max_modes > 0 ||
                task->accept || task->tsqr))
        return cli_usage(
            "--error, tolerances, --max-modes, --tsqr and --accept have no effect on equilibria; give them to --merge");
    return -1;
}

// A job has no model to tell of.
static void print_share(const tdReduceTask *task, const tdReduceReport *report)
{
    int64_t reused = report->reused[TD_REDUCE_SNAPSHOTS] + report->reused[TD_REDUCE_CHECK];
    if (cli_json())
    {
        tdJson json = {0};
        td_json_open(&json, NULL, '{');
        td_json_string(&json, "status", report->stopped ? "interrupted" : "done");
        td_json_string(&json, "scene", task->scene);
        td_json_string(&json, "work", task->work);
        td_json_integer(&json, "job", task->share);
        td_json_integer(&json, "jobs", task->shares);
        td_json_integer(&json, "trajectories", report->trajectories);
        td_json_integer(&json, "places", report->places);
        td_json_integer(&json, "reused", reused);
        td_json_integer(&json, "peak_rss", sim_peak_memory());
        td_json_close(&json, '}');
        cli_print_json(&json);
    }
    else if (!report->stopped && report->trajectories == 0)
        printf("job %d of %d: nothing to do, there are fewer trajectories than jobs\n", task->share, task->shares);
    else if (!report->stopped)
        printf("job %d of %d: %" PRId64 " trajectories with %" PRId64 " points are done, %" PRId64
               " of those points by earlier runs\n",
               task->share, task->shares, report->trajectories, report->places, reused);
}

// What the numbers say, for those who do not read them.
static void warn_of_errors(const tdReduceReport *report)
{
    if (report->stopped)
        return;
    if (report->rounds > 0 && report->held_out_error > report->asked && report->held_out_error <= 0.1)
        fprintf(stderr,
                "note: the model has an error of %.2g %% at points that training did not visit, and %.2g %% was "
                "requested; allow more points (reduction.count) or narrower ranges\n",
                100 * report->held_out_error, 100 * report->asked);
    if (report->held_out_error > 0.1)
        fprintf(
            stderr,
            "warning: the model has an error of %.0f %% at points that training did not visit; take more samples or "
            "smaller tolerances "
            "(docs/reduction.md)\n",
            100 * report->held_out_error);
    if (report->motion_error > TD_REDUCE_ACCEPTED)
        fprintf(stderr,
                "warning: along its validation motion the model has an error of %.0f %%; use it for slower ones "
                "(docs/reduction.md)\n",
                100 * report->motion_error);
    if (report->cause[0] != '\0')
        fprintf(stderr, "warning: %s%s%s\n", report->cause, report->advice[0] != '\0' ? "; " : "", report->advice);
    if (report->held_out_places == 0 && report->held_out_failures > 0)
        fprintf(stderr,
                "warning: the model found no equilibrium at any of the %" PRId64
                " points that training did not visit; it cannot be used\n",
                report->held_out_failures);
}

static void print_result(const tdReduceTask *task, const tdReduceReport *report)
{
    if (task->shares > 0)
        print_share(task, report);
    else if (cli_json())
        print_json(task, report);
    else if (!report->stopped)
        print_table(task, report);
    if (report->stopped)
        fprintf(stderr, "tendril: interrupted; the same command resumes from %s%s\n",
                task->work != NULL ? task->work : task->out, task->work != NULL ? "" : ".work");
    if (report->failures > 0)
        fprintf(stderr, "warning: %" PRId64 " samples have no equilibrium and are left out; the first: %s%s%s\n",
                report->failures, report->why, report->advice[0] != '\0' ? "; " : "", report->advice);
    warn_of_errors(report);
}

// Makes one model, and tells of it. rank: of this process; the first speaks.
static int reduce_one(tdReduceTask *task, int rank)
{
    reduceProgress progress = {0};
    if (rank == 0)
    {
        task->progress = reduce_show;
        task->user = &progress;
    }
    tdReduceReport report;
    tdError error = {0};
    sigBefore before = sig_catch();
    tdStatus status = td_reduce(task, &report, &error);
    sig_release(&before);
    reduce_shown(&progress);
    if (status != TD_OK)
        return rank == 0 ? cli_fail(&error) : (int)status;
    if (rank == 0)
        print_result(task, &report);
    return report.stopped ? 130 : 0;
}

// Those of all bodies that name a file, one after the other.
static int reduce_all(tdReduceTask *task, int rank)
{
    tdReduceBodies bodies;
    tdError error = {0};
    tdStatus status = td_reduce_bodies(task->scene, &task->settings, &bodies, &error);
    int code = status == TD_OK ? 0 : rank == 0 ? cli_fail(&error) : (int)status;
    for (int b = 0; b < bodies.n && code == 0; b++)
    {
        task->body = bodies.names[b];
        task->out = bodies.files[b];
        task->alone = true;
        if (b > 0 && rank == 0 && !cli_json())
            printf("\n");
        code = reduce_one(task, rank);
    }
    td_arena_free(&bodies.arena);
    return code;
}

// ---------------------------------------------------------------- ranks

// Ranks beside the first say nothing; they stop when they are told to.
static bool follow_quietly(void *user, tdReducePhase phase, int64_t done, int64_t total)
{
    (void)user;
    (void)phase;
    (void)done;
    (void)total;
    return !sig_came();
}

// Ranks of one machine share its cores, unless the launcher has given each its own.
static int threads_of_rank(const tdCrew *crew)
{
    cpu_set_t set;
    long all = sysconf(_SC_NPROCESSORS_ONLN);
    int mine = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)all;
    int share = mine < all ? mine : (int)(all / crew->local);
    return share < 1 ? 1 : share;
}

// By the launcher, before the library for MPI is asked: one of them is enough to tell what is wrong.
static bool is_first(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]) != NULL)
            return atoi(getenv(names[i])) == 0;
    return true;
}

// -1: all is well
static int join_ranks(tdReduceTask *task, tdCrew *crew)
{
    tdError error = {0};
    if (task->shares > 0 || task->merge || td_crew_started() < 2)
        return -1;
    tdStatus status = td_crew_open(NULL, crew, &error);
    if (status != TD_OK)
        return is_first() ? cli_fail(&error) : 3;
    task->crew = crew;
    if (task->settings.threads == 0)
        task->settings.threads = threads_of_rank(crew);
    if (crew->rank == 0)
        return -1;
    task->settings.log = NULL;
    task->progress = follow_quietly;
    task->user = NULL;
    return -1;
}

int cmd_reduce(int argc, char **argv)
{
    const char *threads = NULL, *pod = NULL, *ecsw = NULL, *most = NULL, *asked = NULL, *share = NULL, *memory = NULL;
    tdReduceTask task = {0};
    bool portable = false, all = false;
    const cliOption options[] = {
        {"-o", &task.out, NULL},
        {"--error", &asked, NULL},
        {"--body", &task.body, NULL},
        {"--alone", NULL, &task.alone},
        {"--all", NULL, &all},
        {"--pod-tolerance", &pod, NULL},
        {"--ecsw-tolerance", &ecsw, NULL},
        {"--max-modes", &most, NULL},
        {"--work", &task.work, NULL},
        {"--keep", NULL, &task.keep},
        {"--accept", NULL, &task.accept},
        {"--restart", NULL, &task.restart},
        {"--job", &share, NULL},
        {"--merge", NULL, &task.merge},
        {"--tsqr", NULL, &task.tsqr},
        {"--memory", &memory, NULL},
        {"--threads", &threads, NULL},
        {"--portable", NULL, &portable},
        CLI_SCENE_OPTIONS,
    };
    int code = cli_parse(argc, argv, help, options, (int)(sizeof options / sizeof options[0]), &task.scene, 1, 1);
    if (code >= 0)
        return code;
    if (!tolerance("--error", asked, &task.error) || !tolerance("--pod-tolerance", pod, &task.pod_tolerance) ||
        !tolerance("--ecsw-tolerance", ecsw, &task.ecsw_tolerance) || !mode_count(most, &task.max_modes) ||
        !bytes_of(memory, &task.memory) || !share_of(share, &task.share, &task.shares))
        return 2;
    code = check_shares(&task);
    if (code >= 0)
        return code;
    if (all && (task.out != NULL || task.body != NULL || task.work != NULL))
        return cli_usage("--all takes bodies and files from the scene; leave out -o, --body and --work");
    if (task.out == NULL && task.shares == 0 && !all)
        return cli_usage("the output file is missing; give -o FILE.h5");
    size_t length = task.out != NULL ? strlen(task.out) : 0;
    if (task.out != NULL && (length < 4 || strcmp(task.out + length - 3, ".h5") != 0))
        return cli_usage("-o takes the name of the reduced model, which ends in .h5, not '%s'", task.out);
    task.settings = cli_settings();
    task.settings.portable = portable;
    code = sim_check_common(threads, NULL, &task.settings);
    if (code >= 0)
        return code;
    tdCrew crew = {0};
    code = join_ranks(&task, &crew);
    if (code >= 0)
        return code;
    code = all ? reduce_all(&task, crew.rank) : reduce_one(&task, crew.rank);
    td_crew_close(&crew);
    return code;
}
