// SPDX-License-Identifier: Apache-2.0
#include "view/sim.h"

#include "base/timer.h"
#include "constraint/constraint.h"
#include "view/log.h"
#include "view/sim_own.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUBLISH_EVERY 0.002 // [s] between snapshots while steps follow fast
#define BACKLOG       0.1   // [s] behind the clock after which the time that was lost is given up
#define JUDGE_EVERY   0.2   // [s] between looks at the times of steps

// ---------------------------------------------------------------- queues

bool td_view_sim_command(tdViewSim *sim, int client, const tdViewMessage *message)
{
    pthread_mutex_lock(&sim->lock);
    bool room = sim->n_commands < TD_VIEW_COMMANDS;
    if (room)
    {
        int at = (sim->first_command + sim->n_commands++) % TD_VIEW_COMMANDS;
        sim->commands[at].client = client;
        sim->commands[at].message = *message;
        pthread_cond_signal(&sim->wake);
    }
    pthread_mutex_unlock(&sim->lock);
    return room;
}

void td_view_sim_leave(tdViewSim *sim, int client)
{
    const tdViewMessage release = {.action = TD_VIEW_RELEASE, .start = true}; // of everything, not of the spring alone
    if (td_view_sim_command(sim, client, &release))
        return;
    // A spring that nobody holds would pull for ever, and a tool go on: rather the newest of the others' wishes is
    // lost.
    pthread_mutex_lock(&sim->lock);
    int at = (sim->first_command + (sim->n_commands > 0 ? sim->n_commands - 1 : sim->n_commands++)) % TD_VIEW_COMMANDS;
    sim->commands[at].client = client;
    sim->commands[at].message = release;
    pthread_mutex_unlock(&sim->lock);
}

static bool take_command(tdViewSim *sim, int *client, tdViewMessage *out)
{
    pthread_mutex_lock(&sim->lock);
    bool any = sim->n_commands > 0;
    if (any)
    {
        *client = sim->commands[sim->first_command].client;
        *out = sim->commands[sim->first_command].message;
        sim->first_command = (sim->first_command + 1) % TD_VIEW_COMMANDS;
        sim->n_commands--;
    }
    pthread_mutex_unlock(&sim->lock);
    return any;
}

void td_view_sim_say(tdViewSim *sim, int client, bool refused, bool warning, tdViewAction action, const char *format,
                     ...)
{
    tdViewReply reply = {.client = client, .refused = refused, .warning = warning, .action = action};
    va_list list;
    va_start(list, format);
    vsnprintf(reply.text, sizeof reply.text, format, list);
    va_end(list);
    pthread_mutex_lock(&sim->lock);
    // When nobody takes them the oldest are lost.
    if (sim->n_replies == TD_VIEW_REPLIES)
    {
        sim->first_reply = (sim->first_reply + 1) % TD_VIEW_REPLIES;
        sim->n_replies--;
    }
    sim->replies[(sim->first_reply + sim->n_replies++) % TD_VIEW_REPLIES] = reply;
    pthread_mutex_unlock(&sim->lock);
}

bool td_view_sim_reply(tdViewSim *sim, tdViewReply *out)
{
    pthread_mutex_lock(&sim->lock);
    bool any = sim->n_replies > 0;
    if (any)
    {
        *out = sim->replies[sim->first_reply];
        sim->first_reply = (sim->first_reply + 1) % TD_VIEW_REPLIES;
        sim->n_replies--;
    }
    pthread_mutex_unlock(&sim->lock);
    return any;
}

// Until a time or a command, whichever comes first.
static void wait_until(tdViewSim *sim, double time)
{
    struct timespec until = {.tv_sec = (time_t)time};
    until.tv_nsec = (long)(1e9 * (time - (double)until.tv_sec));
    pthread_mutex_lock(&sim->lock);
    int rc = 0;
    while (sim->n_commands == 0 && !atomic_load(&sim->stop) && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&sim->wake, &sim->lock, &until);
    pthread_mutex_unlock(&sim->lock);
}

// ---------------------------------------------------------------- pace

// A static scene has no clock of its own: it is shown at 20 equilibria a second.
double td_view_sim_time_step(const tdViewSim *sim)
{
    const tdScheme *scheme = &sim->stage->model->scheme;
    return scheme->method == TD_METHOD_STATIC || !(scheme->h > 0) ? 0.05 : scheme->h;
}

static void time_step(tdViewSim *sim, double start, double end)
{
    tdViewPace *pace = &sim->pace;
    double took = end - start, budget = td_view_sim_time_step(sim) / sim->speed;
    int at = (int)(pace->n % TD_VIEW_STEPS);
    if (start - pace->last > 0.5)
        pace->played = start; // it was paused
    pace->last = end;
    pace->took[at] = took;
    pace->ended[at] = end;
    pace->late[at] = isfinite(sim->speed) && took > budget;
    pace->missed += pace->late[at];
    pace->n++;
    sim->since.steps++;
    sim->since.sum += took;
    sim->since.longest = fmax(sim->since.longest, took);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void judge_pace(tdViewSim *sim, double now)
{
    tdViewPace *pace = &sim->pace;
    tdViewTiming *timing = &pace->timing;
    double times[TD_VIEW_STEPS], h = td_view_sim_time_step(sim), oldest = now;
    if (now - pace->judged < JUDGE_EVERY)
        return;
    pace->judged = now;
    int n = 0;
    *timing = (tdViewTiming){.missed_total = pace->missed};
    for (int64_t i = pace->n - 1; i >= 0 && i > pace->n - TD_VIEW_STEPS; i--)
    {
        int at = (int)(i % TD_VIEW_STEPS);
        if (now - pace->ended[at] > 1)
            break;
        times[n++] = pace->took[at];
        timing->misses += pace->late[at];
        oldest = pace->ended[at] - pace->took[at];
    }
    if (n == 0)
        return;
    qsort(times, (size_t)n, sizeof *times, by_size);
    timing->steps = n;
    timing->p50 = times[n / 2];
    timing->p99 = times[(n - 1) * 99 / 100];
    timing->longest = times[n - 1];
    timing->possible = timing->p50 > 0 ? h / timing->p50 : 0;
    // Over the time that the steps at hand took up, which is less than a second where they follow fast.
    timing->steps_a_second = n / fmax(now - oldest, 1e-6);
    timing->realtime = h * timing->steps_a_second;
    timing->heavy = isfinite(sim->speed) && sim->playing && now - pace->played > 0.5 && timing->p50 * sim->speed > h;
}

// ---------------------------------------------------------------- snapshots

static bool make_room(tdViewSnapshot *s, const tdViewStage *stage)
{
    const tdModel *model = stage->model;
    if (s->coords >= model->coords && s->n_actuators >= model->n_actuators && s->n_effectors >= model->n_effectors &&
        s->n_poses >= stage->n_poses && s->n_tools >= td_view_stage_tools(stage) &&
        s->n_attachments >= td_model_attachments(model) && s->q != NULL)
        return true;
    free(s->q);
    free(s->poses);
    free(s->actuators);
    free(s->effectors);
    free(s->tools);
    free(s->attachments);
    s->q = calloc((size_t)model->coords + 1, sizeof *s->q);
    s->poses = calloc((size_t)stage->n_poses + 1, sizeof *s->poses);
    s->actuators = calloc((size_t)model->n_actuators + 1, sizeof *s->actuators);
    s->effectors = calloc((size_t)model->n_effectors + 1, sizeof *s->effectors);
    s->tools = calloc((size_t)td_view_stage_tools(stage) + 1, sizeof *s->tools);
    s->attachments = calloc((size_t)td_model_attachments(model) + 1, sizeof *s->attachments);
    bool good = s->q != NULL && s->poses != NULL && s->actuators != NULL && s->effectors != NULL && s->tools != NULL &&
                s->attachments != NULL;
    s->n_tools = good ? td_view_stage_tools(stage) : 0;
    s->n_attachments = good ? td_model_attachments(model) : 0;
    s->coords = good ? model->coords : 0;
    s->n_poses = good ? stage->n_poses : 0;
    s->n_actuators = good ? model->n_actuators : 0;
    s->n_effectors = good ? model->n_effectors : 0;
    return good;
}

static void copy_control(const tdViewSim *sim, tdViewSnapshot *s)
{
    const tdModel *model = sim->stage->model;
    for (int a = 0; a < model->n_actuators; a++)
    {
        tdActuation now = td_state_actuation(model, sim->state, a);
        tdViewActuation *to = &s->actuators[a];
        *to = (tdViewActuation){.effort = now.effort, .displacement = now.displacement, .value = NAN};
        to->mode = td_view_sim_mode(sim, a);
        to->bound = now.effort_bound != 0 ? now.effort_bound : now.displacement_bound;
        to->value = td_view_sim_value(sim, a);
    }
    for (int t = 0; t < model->n_tools; t++)
        s->tools[t] = (tdViewTool){sim->tools[t].client, td_state_tool(model, sim->state, t), {NAN, NAN, NAN}, NAN};
    for (int g = 0; g < sim->stage->n_guides; g++)
        td_view_sim_read_guide(sim, g, &s->tools[model->n_tools + g]);
    for (int e = 0; e < model->n_effectors; e++)
    {
        tdViewEffect *to = &s->effectors[e];
        const double *wanted = sim->state->constraint->wanted + 3 * e;
        td_state_effector(model, sim->state, e, to->value);
        // A client's counts from the moment it is set or taken away, whether a step has seen it or not.
        bool scene = model->effectors[e].given->has_target && td_state_target(model, sim->state, e, to->target);
        if (!isnan(wanted[0]))
            memcpy(to->target, wanted, sizeof to->target);
        else if (!scene || sim->state->steps == 0)
            to->target[0] = to->target[1] = to->target[2] = NAN;
        double error[3] = {0};
        int rows = model->effectors[e].measure.rows;
        if (!isnan(to->target[0]))
            td_measure_error(model->effectors[e].measure.kind, to->value, to->target, error);
        to->error = isnan(to->target[0]) ? NAN
                    : rows == 1          ? fabs(error[0])
                                         : sqrt(error[0] * error[0] + error[1] * error[1] + error[2] * error[2]);
        to->set = sim->given[e];
    }
}

static void copy_springs(const tdViewSim *sim, tdViewSnapshot *s)
{
    memset(s->springs, 0, sizeof s->springs);
    for (int k = 0; k < TD_SPRINGS; k++)
    {
        tdViewPull *to = &s->springs[k];
        tdSpring spring;
        if (!td_spring_get(sim->state->springs, k, &spring) ||
            !td_state_spring(sim->stage->model, sim->state, k, to->point, to->force))
            continue;
        to->client = sim->springs[k].client;
        to->stiffness = spring.stiffness;
        memcpy(to->anchor, spring.anchor, sizeof to->anchor);
    }
}

static void copy_report(const tdViewSim *sim, tdViewSnapshot *s)
{
    const tdReport *report = td_state_report(sim->state);
    s->inverse = report->inverse;
    s->out_of_reach = report->out_of_reach;
    s->contact_blocks = report->contact_blocks;
    memcpy(s->blocking_body, report->blocking_body, sizeof s->blocking_body);
    s->inverse_residual = report->inverse_residual;
    s->active_bounds = report->active_bounds;
    s->rom_indicator = report->rom_indicator;
    s->rom_error = report->rom_error;
    s->rom_distance = report->rom_distance;
    s->rom_warning = report->rom_warning;
}

void td_view_sim_publish(tdViewSim *sim)
{
    tdViewSnapshot *s = &sim->slots[sim->exchange.writing];
    const tdModel *model = sim->stage->model;
    double now = td_seconds();
    sim->published = now;
    sim->changed = false;
    if (!make_room(s, sim->stage))
        return; // the next one may have more luck
    if (s->stage != sim->stage)
    {
        td_view_stage_release(s->stage);
        td_view_stage_hold(sim->stage);
        s->stage = sim->stage;
    }
    judge_pace(sim, now);
    s->number = ++sim->publications;
    s->step = td_state_steps(sim->state);
    s->time = td_state_time(sim->state);
    s->speed = sim->speed;
    s->playing = sim->playing;
    s->resets = sim->resets;
    s->failed = sim->failed;
    s->error = sim->error;
    s->recording = sim->output != NULL;
    s->recorded = sim->recorded;
    memcpy(s->folder, sim->folder, sizeof s->folder);
    memcpy(s->loading, sim->loading, sizeof s->loading);
    memcpy(s->q, sim->state->q, (size_t)model->coords * sizeof *s->q);
    td_view_poses(sim->stage, sim->state, s->poses);
    copy_control(sim, s);
    copy_springs(sim, s);
    td_view_sim_contacts(sim, &s->contact);
    for (int a = 0; a < td_model_attachments(model); a++)
        td_state_attachment_force(sim->state, a, s->attachments[a], NULL, s->attachments[a] + 3);
    copy_report(sim, s);
    s->timing = sim->pace.timing;
    s->since.steps = sim->since.steps;
    s->since.mean = sim->since.steps > 0 ? sim->since.sum / sim->since.steps : 0;
    s->since.longest = sim->since.longest;
    memset(&sim->since, 0, sizeof sim->since);
    td_exchange_publish(&sim->exchange);
}

const tdViewSnapshot *td_view_sim_snapshot(tdViewSim *sim)
{
    td_exchange_take(&sim->exchange);
    return &sim->slots[sim->exchange.reading];
}

int64_t td_view_sim_steps(const tdViewSim *sim)
{
    return atomic_load(&sim->steps);
}

double td_view_sim_seconds(const tdViewSim *sim)
{
    clockid_t clock;
    struct timespec time = {0};
    if (pthread_getcpuclockid(sim->thread, &clock) != 0 || clock_gettime(clock, &time) != 0)
        return 0;
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// ---------------------------------------------------------------- log

// Actuators as they were, whoever found their values: given these, full order does the same.
static double actuation_of(const tdViewSim *sim, int a)
{
    const tdModel *model = sim->stage->model;
    tdDrive drive = model->actuators[a].given->drive;
    int input = model->actuators[a].input;
    tdActuation now = td_state_actuation(model, sim->state, a);
    if (drive == TD_DRIVE_EFFORT || drive == TD_DRIVE_DISPLACEMENT)
        return drive == TD_DRIVE_EFFORT ? now.effort : now.displacement;
    return isnan(sim->state->override[input]) ? model->inputs[input].standard : sim->state->override[input];
}

void td_view_sim_log(tdViewSim *sim)
{
    tdViewLog *log = sim->settings.log;
    if (log == NULL || !atomic_load_explicit(&log->open, memory_order_relaxed) || !sim->stage->reduced)
        return;
    const tdModel *model = sim->stage->model;
    bool tied = false;
    for (int k = 0; k < TD_SPRINGS; k++)
        tied = tied || sim->springs[k].client != 0;
    tdViewStepHead head = {.generation = sim->generation,
                           .resets = (double)sim->resets,
                           .step = (double)td_state_steps(sim->state),
                           .time = td_state_time(sim->state),
                           .actuators = model->n_actuators,
                           .springs = tied ? TD_SPRINGS * TD_SPRING_NUMBERS : 0,
                           .turns = sim->stage->n_turns,
                           .coords = (double)model->coords};
    head.size = TD_VIEW_STEP_HEAD + head.actuators + head.springs + head.turns + 2 * head.coords;
    uint64_t offset = 0;
    if (!td_view_log_fits(log, (uint64_t)head.size))
        return;
    td_view_log_put(log, &offset, (const double *)&head, TD_VIEW_STEP_HEAD);
    for (int a = 0; a < model->n_actuators; a++)
    {
        double value = actuation_of(sim, a);
        td_view_log_put(log, &offset, &value, 1);
    }
    td_view_log_put(log, &offset, sim->state->springs, (int64_t)head.springs);
    td_view_turns(sim->stage, sim->state, sim->turns);
    td_view_log_put(log, &offset, sim->turns, sim->stage->n_turns);
    td_view_log_put(log, &offset, sim->state->q, model->coords);
    td_view_log_put(log, &offset, sim->state->v, model->coords);
    td_view_log_commit(log, offset);
}

// ---------------------------------------------------------------- thread

static void record(tdViewSim *sim)
{
    tdError error = {0};
    td_output_count(sim->output, td_state_report(sim->state));
    if (td_state_steps(sim->state) % sim->every != 0)
        return;
    if (td_output_frame(sim->output, sim->state, &error) == TD_OK)
    {
        sim->recorded++;
        return;
    }
    td_view_sim_say(sim, 0, false, true, TD_VIEW_RECORD, "the recording ends: %s", error.message);
    td_view_sim_stop_recording(sim);
}

static void step(tdViewSim *sim)
{
    td_view_sim_drive(sim);
    double start = td_seconds();
    tdStatus status = td_step(sim->stage->model, sim->state);
    time_step(sim, start, td_seconds());
    sim->pending -= sim->pending > 0;
    if (status == TD_OK)
    {
        atomic_fetch_add_explicit(&sim->steps, 1, memory_order_relaxed);
        td_view_sim_log(sim);
        if (sim->output != NULL)
            record(sim);
        return;
    }
    // The state is the last good one: it stays on show until somebody resets or tries again.
    sim->error = td_state_report(sim->state)->error;
    sim->error.status = status;
    sim->failed = sim->changed = true;
    sim->playing = false;
    sim->pending = 0;
}

// When the next step may be taken. Time that was lost is not made up for: the robot must not rush.
static double next_due(tdViewSim *sim, double now)
{
    tdViewPace *pace = &sim->pace;
    if (pace->due == 0 || now - pace->due > BACKLOG)
        pace->due = now;
    return pace->due;
}

static void *run(void *context)
{
    tdViewSim *sim = context;
    td_view_sim_publish(sim);
    while (!atomic_load(&sim->stop))
    {
        int client;
        tdViewMessage message;
        while (take_command(sim, &client, &message))
            td_view_sim_act(sim, client, &message);
        td_view_sim_look(sim);
        if (!sim->playing && sim->pending == 0)
        {
            if (sim->changed || sim->since.steps > 0)
                td_view_sim_publish(sim);
            sim->pace.due = 0;
            wait_until(sim, td_seconds() + TD_VIEW_LOOK_EVERY);
            continue;
        }
        double now = td_seconds();
        bool paced = sim->playing && isfinite(sim->speed);
        bool early = paced && next_due(sim, now) - now > 0.0002;
        // Before waiting all is told; without waiting now and then.
        if (sim->changed || ((early || now - sim->published >= PUBLISH_EVERY) && sim->since.steps > 0))
            td_view_sim_publish(sim);
        if (early)
        {
            wait_until(sim, sim->pace.due);
            if (td_seconds() < sim->pace.due)
                continue; // a command
        }
        if (paced)
            sim->pace.due += td_view_sim_time_step(sim) / sim->speed;
        step(sim);
    }
    return NULL;
}

static tdStatus start(tdViewSim *sim, tdError *error)
{
    pthread_condattr_t attributes;
    bool good = pthread_mutex_init(&sim->lock, NULL) == 0 && pthread_condattr_init(&attributes) == 0;
    good = good && pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
           pthread_cond_init(&sim->wake, &attributes) == 0;
    if (good)
        pthread_condattr_destroy(&attributes);
    td_view_sim_watch(sim, &sim->settings.entries[0]);
    TD_TRY(td_view_sim_load(sim, &sim->settings.entries[0], error));
    // Before the first reader, so that there always is a snapshot.
    td_view_sim_publish(sim);
    sim->running = good && pthread_create(&sim->thread, NULL, run, sim) == 0;
    return sim->running ? TD_OK : td_fail(error, TD_ERROR_IO, "the system provides no thread for the simulation");
}

tdStatus td_view_sim_create(const tdViewSimSettings *settings, tdViewSim **out, tdError *error)
{
    *out = NULL;
    tdViewSim *sim = td_take(1, sizeof *sim);
    if (sim == NULL)
        return td_fail_memory(error, "the viewer");
    sim->settings = *settings;
    sim->playing = !settings->paused;
    sim->speed = settings->speed;
    td_exchange_init(&sim->exchange);
    tdStatus status = start(sim, error);
    if (status != TD_OK)
        td_view_sim_free(sim);
    else
        *out = sim;
    return status;
}

void td_view_sim_free(tdViewSim *sim)
{
    if (sim == NULL)
        return;
    if (sim->running)
    {
        pthread_mutex_lock(&sim->lock);
        atomic_store(&sim->stop, true);
        pthread_cond_signal(&sim->wake);
        pthread_mutex_unlock(&sim->lock);
        pthread_join(sim->thread, NULL);
    }
    td_view_sim_stop_recording(sim);
    td_state_free(sim->state);
    for (int i = 0; i < 3; i++)
    {
        td_view_stage_release(sim->slots[i].stage);
        free(sim->slots[i].q);
        free(sim->slots[i].poses);
        free(sim->slots[i].actuators);
        free(sim->slots[i].effectors);
        free(sim->slots[i].tools);
        free(sim->slots[i].attachments);
    }
    td_view_stage_release(sim->stage);
    free(sim->manual);
    free(sim->given);
    free(sim->turns);
    free(sim->tools);
    free(sim->guides);
    pthread_mutex_destroy(&sim->lock);
    pthread_cond_destroy(&sim->wake);
    free(sim);
}
