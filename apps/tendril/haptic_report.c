// SPDX-License-Identifier: Apache-2.0
// What 'tendril haptic' says at its end: forces by tick, timing of the loop, whether the scene is too heavy.
#include "haptic_report.h"

#include "simulate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

// ---------------------------------------------------------------- is it too heavy?

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile_of(const hapticSession *s, const double *sorted, double share)
{
    int64_t at = (int64_t)(share * (double)s->steps);
    return s->steps == 0 ? 0 : sorted[at < s->steps ? at : s->steps - 1];
}

static double step_quantile(const hapticSession *s, double share)
{
    return quantile_of(s, s->seconds, share);
}

// The body with most nodes: where to begin.
static int largest_body(const hapticSession *s)
{
    int largest = 0;
    for (int b = 1; b < td_model_bodies(s->model); b++)
        largest = td_model_body_nodes(s->model, b) > td_model_body_nodes(s->model, largest) ? b : largest;
    return largest;
}

static tdStage slowest(const hapticSession *s, double *share)
{
    tdStage worst = 0;
    double sum = 0;
    for (int k = 0; k < TD_STAGES; k++)
    {
        sum += s->stage[k];
        worst = s->stage[k] > s->stage[worst] ? (tdStage)k : worst;
    }
    *share = sum > 0 ? s->stage[worst] / sum : 0;
    return worst;
}

static const char *way_out(tdStage stage)
{
    switch (stage)
    {
    case TD_STAGE_COLLIDE:
        return "let bodies touch by fewer points: 'contact: {nodes: n}' of a body, a smaller 'points'";
    case TD_STAGE_SOLVE: return "let bodies touch by fewer points, or reduce the body ('tendril reduce')";
    case TD_STAGE_FORCES:
    case TD_STAGE_FREE: return "use a coarser mesh, or reduce the body ('tendril reduce' and --rom)";
    default: return "use a longer time_step, or a smaller scene";
    }
}

// One sentence; true: it is too heavy.
static bool judge(const hapticSession *s, char *out, size_t size)
{
    double h = td_model_time_step(s->model), p95 = step_quantile(s, 0.95), share = 0;
    tdStage stage = slowest(s, &share);
    double work = 0;
    for (int i = 0; i < s->n; i++)
        work = fmax(work, td_times_quantile(&s->tools[i].report.work, 0.999));
    if (work > 0.5 * s->period && !s->arguments->inside)
    {
        snprintf(out, size,
                 "too heavy for the device: 99.9 %% of the ticks take up to %.0f us of %.0f us; let fewer points of "
                 "the tool touch, or use a lower --rate",
                 1e6 * work, 1e6 * s->period);
        return true;
    }
    if (p95 <= h)
    {
        snprintf(out, size, "no: 95 %% of the steps take less than %.3g ms, and each has %.3g ms", 1e3 * p95, 1e3 * h);
        return false;
    }
    double worked = quantile_of(s, s->work, 0.95);
    if (worked <= 0.8 * h)
    {
        snprintf(out, size,
                 "on this busy machine yes: 5 %% of the steps take more than %.3g ms, and each has %.3g ms. But the "
                 "scene is "
                 "not the reason: 95 %% of the steps need less than %.3g ms of processor time and spend the rest "
                 "waiting for "
                 "a core. End the other programs that keep the cores busy",
                 1e3 * p95, 1e3 * h, 1e3 * worked);
        return true;
    }
    int body = largest_body(s);
    snprintf(
        out, size,
        "yes, %.2g times too heavy: 5 %% of the steps take more than %.3g ms, and each has %.3g ms. %.0f %% of it is "
        "the stage '%s': %s. The largest body is '%s' with %d nodes",
        p95 / h, 1e3 * p95, 1e3 * h, 100 * share, td_stage_name(stage), way_out(stage),
        td_model_body_name(s->model, body), td_model_body_nodes(s->model, body));
    return true;
}

// ---------------------------------------------------------------- what is told

static tdStatus write_forces(const hapticSession *s, const hapticTool *t, tdError *error)
{
    tdText text = {0};
    char name[160] = "forces.csv";
    if (s->n > 1)
        snprintf(name, sizeof name, "forces_%s.csv", t->name);
    td_text_format(&text, "time [s],device_x [m],device_y [m],device_z [m],tool_x [m],tool_y [m],tool_z [m],force_x "
                          "[N],force_y [N],force_z [N],asked_x [N],asked_y [N],asked_z [N],torque_x [N m],torque_y [N "
                          "m],torque_z [N m],contacts,slipping,fade,fault\n");
    for (int64_t i = 0; i < t->n_felt; i++)
    {
        const tdLoopRecord *r = &t->felt[i];
        td_text_format(&text, "%.9g", r->time);
        const double *const lists[] = {r->position, r->tool, r->force, r->asked, r->torque};
        for (int k = 0; k < 15; k++)
            td_text_format(&text, ",%.9g", lists[k / 3][k % 3]);
        td_text_format(&text, ",%d,%d,%.4g,%d\n", r->contacts, r->slipping, r->fade, r->fault);
    }
    tdStatus status = cli_write(s->arguments->out, name, &text, error);
    free(text.data);
    return status;
}

static const struct
{
    const char *name;
    double share;
} quantiles[] = {{"p50", 0.5}, {"p99", 0.99}, {"p99_9", 0.999}, {"p99_99", 0.9999}};

static void json_times(tdJson *json, const char *key, const tdTimes *times)
{
    td_json_open(json, key, '{');
    td_json_number(json, "least_us", 1e6 * times->least);
    for (int k = 0; k < 4; k++)
    {
        char name[24];
        snprintf(name, sizeof name, "%s_us", quantiles[k].name);
        td_json_number(json, name, 1e6 * td_times_quantile(times, quantiles[k].share));
    }
    td_json_number(json, "most_us", 1e6 * times->most);
    td_json_close(json, '}');
}

// Ticks by how late they began: [upper bound in us, how many], in buckets that double; the last has no bound.
static void json_histogram(tdJson *json, const tdTimes *times)
{
    int low = 0;
    td_json_open(json, "late_histogram", '[');
    for (int high = 1; low < TD_LOOP_BUCKETS; low = high, high *= 2)
    {
        int64_t n = 0;
        for (int k = low; k < high && k < TD_LOOP_BUCKETS; k++)
            n += times->bucket[k];
        td_json_open(json, NULL, '[');
        td_json_number(json, NULL, high < TD_LOOP_BUCKETS ? high : INFINITY);
        td_json_integer(json, NULL, n);
        td_json_close(json, ']');
    }
    td_json_close(json, ']');
}

static const char *const fault_keys[] = {"none", "nothing_received", "impossible_pose", "impossible_force"};

// What is of one hand alone.
static void json_tool(tdJson *json, const hapticTool *t)
{
    char told[300] = "";
    const tdHaptic *haptic = t->haptic;
    t->device->ops->tell(t->device, told, sizeof told);
    td_json_string(json, "device", t->device->name);
    td_json_string(json, "device_report", told);
    td_json_integer(json, "ticks", t->report.ticks);
    td_json_integer(json, "missed", t->report.missed);
    json_times(json, "late", &t->report.late);
    json_histogram(json, &t->report.late);
    json_times(json, "work", &t->report.work);
    td_json_bool(json, "priority", t->report.priority);
    td_json_bool(json, "locked", t->report.locked);
    td_json_string(json, "not_granted", t->report.why);
    td_json_integer(json, "most_contacts", haptic->most_contacts);
    td_json_integer(json, "steps_with_contacts_left_out", haptic->left_out);
    td_json_number(json, "largest_force", haptic->most_force);
    td_json_integer(json, "unsolved_ticks", haptic->unsolved);
    td_json_number(json, "unsolved_residual", haptic->residual);
    td_json_integer(json, "limited_ticks", haptic->guard.limited);
    td_json_integer(json, "cut_ticks", haptic->guard.cuts);
    td_json_integer(json, "faults", haptic->guard.faults);
    td_json_open(json, "faults_by_cause", '{');
    for (int k = TD_GUARD_SILENT; k <= TD_GUARD_BAD_FORCE; k++)
        td_json_integer(json, fault_keys[k], haptic->guard.begun[k]);
    td_json_close(json, '}');
    td_json_number(json, "energy_given", haptic->guard.most);
}

static void print_json(const hapticSession *s, const char *heavy, bool is_heavy)
{
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "status", s->status != TD_OK ? "failed" : s->interrupted ? "interrupted" : "done");
    if (s->status != TD_OK)
        cli_json_error(&json, &s->error);
    td_json_string(&json, "scene", s->arguments->scene);
    td_json_bool(&json, "lockstep", s->arguments->lockstep);
    td_json_bool(&json, "inside", s->arguments->inside);
    td_json_number(&json, "rate", 1 / s->period);
    struct utsname system = {0};
    uname(&system);
    char kernel[2 * sizeof system.release];
    snprintf(kernel, sizeof kernel, "%s %s", system.sysname, system.release);
    td_json_string(&json, "kernel", kernel);
    if (s->n == 1)
        json_tool(&json, &s->tools[0]);
    else
        td_json_open(&json, "tools", '[');
    for (int i = 0; i < s->n && s->n > 1; i++)
    {
        td_json_open(&json, NULL, '{');
        td_json_string(&json, "tool", s->tools[i].name);
        json_tool(&json, &s->tools[i]);
        td_json_close(&json, '}');
    }
    if (s->n > 1)
        td_json_close(&json, ']');
    td_json_integer(&json, "steps", s->steps);
    td_json_number(&json, "time", td_state_time(s->state));
    td_json_integer(&json, "late_steps", s->late);
    td_json_number(&json, "step_p50_ms", 1e3 * step_quantile(s, 0.5));
    td_json_number(&json, "step_p95_ms", 1e3 * step_quantile(s, 0.95));
    td_json_number(&json, "step_most_ms", 1e3 * step_quantile(s, 1));
    td_json_number(&json, "step_processor_p95_ms", 1e3 * quantile_of(s, s->work, 0.95));
    td_json_bool(&json, "too_heavy", is_heavy);
    td_json_string(&json, "too_heavy_why", heavy);
    td_json_integer(&json, "peak_rss", sim_peak_memory());
    td_json_close(&json, '}');
    cli_print_json(&json);
}

static void print_times(const char *name, const tdTimes *times)
{
    printf("%-11s minimum %.0f us, median %.0f, p99 %.0f, p99.9 %.0f, p99.99 %.0f, maximum %.0f us\n", name,
           1e6 * times->least, 1e6 * td_times_quantile(times, 0.5), 1e6 * td_times_quantile(times, 0.99),
           1e6 * td_times_quantile(times, 0.999), 1e6 * td_times_quantile(times, 0.9999), 1e6 * times->most);
}

// Ticks by how late they began, in buckets that double.
static void print_histogram(const tdTimes *times)
{
    int low = 0;
    for (int high = 1; low < TD_LOOP_BUCKETS; low = high, high *= 2)
    {
        int64_t n = 0;
        for (int k = low; k < high && k < TD_LOOP_BUCKETS; k++)
            n += times->bucket[k];
        if (n > 0)
            printf("            %s%d us: %" PRId64 "\n", high < TD_LOOP_BUCKETS ? "less than " : "more than ",
                   high < TD_LOOP_BUCKETS ? high : low, n);
    }
}

static void print_tool(const hapticSession *s, const hapticTool *t)
{
    char told[300] = "";
    struct utsname system = {0};
    const tdHaptic *haptic = t->haptic;
    uname(&system);
    t->device->ops->tell(t->device, told, sizeof told);
    if (s->n > 1)
        printf("tool        %s\n", t->name);
    printf("device      %s%s%s\n", t->device->name, told[0] != '\0' ? ": " : "", told);
    printf("force       %.3g N at most; %d contacts at most", haptic->most_force, haptic->most_contacts);
    if (haptic->left_out > 0)
        printf(" (more were in range in %lld steps)", (long long)haptic->left_out);
    printf(
        "\nguard       %lld ticks limited by passivity, %lld cut to the maximum, %lld faults; the hand was given %.3g "
        "mJ at most\n",
        (long long)haptic->guard.limited, (long long)haptic->guard.cuts, (long long)haptic->guard.faults,
        1e3 * haptic->guard.most);
    for (int k = TD_GUARD_SILENT; k <= TD_GUARD_BAD_FORCE; k++)
        if (haptic->guard.begun[k] > 0)
            printf("            no force %lld times: %s\n", (long long)haptic->guard.begun[k], td_haptic_fault(k));
    if (s->arguments->lockstep)
        return;
    printf("loop        %lld ticks at %g Hz, %lld missed\n", (long long)t->report.ticks, 1 / s->period,
           (long long)t->report.missed);
    print_times("late", &t->report.late);
    print_histogram(&t->report.late);
    print_times("work", &t->report.work);
    printf("system      %s %s; priority %s, memory %s%s%s\n", system.sysname, system.release,
           t->report.priority ? "granted" : "not granted", t->report.locked ? "locked" : "not locked",
           t->report.why[0] != '\0' ? " - " : "", t->report.why);
}

static void print_report(const hapticSession *s, const char *heavy)
{
    printf("scene       %s, %lld steps of %g ms\n", s->arguments->scene, (long long)s->steps,
           1e3 * td_model_time_step(s->model));
    for (int i = 0; i < s->n; i++)
        print_tool(s, &s->tools[i]);
    printf("steps       median %.3g ms, 95 %% below %.3g ms, maximum %.3g ms; %lld were longer than the time step\n",
           1e3 * step_quantile(s, 0.5), 1e3 * step_quantile(s, 0.95), 1e3 * step_quantile(s, 1), (long long)s->late);
    printf("too heavy?  %s\n", heavy);
}

int haptic_tell(hapticSession *s)
{
    char heavy[600];
    if (s->steps > 0)
    {
        qsort(s->seconds, (size_t)s->steps, sizeof *s->seconds, by_size);
        qsort(s->work, (size_t)s->steps, sizeof *s->work, by_size);
    }
    bool is_heavy = judge(s, heavy, sizeof heavy);
    tdError error = {0};
    for (int i = 0; i < s->n; i++)
    {
        hapticTool *t = &s->tools[i];
        if (s->arguments->out != NULL && write_forces(s, t, &error) != TD_OK)
            return cli_fail(&error);
    }
    if (cli_json())
        print_json(s, heavy, is_heavy);
    else
        print_report(s, heavy);
    if (s->status != TD_OK)
        return cli_json() ? (int)s->status : cli_fail(&s->error);
    return s->interrupted ? 130 : 0;
}
