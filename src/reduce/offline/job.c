// SPDX-License-Identifier: Apache-2.0
#include "reduce/offline/job.h"

#include "base/hash.h"
#include "base/isa.h"
#include "base/timer.h"
#include "reduce/offline/job_parts.h"
#include "reduce/offline/walker.h"
#include "reduce/reduced.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOB_FORMAT       3
#define HELD_OUT_PLACES  40 // of a validation that the scene gives,
#define HELD_OUT_DEFAULT 20 // and without one

const char *td_reduce_phase_name(tdReducePhase phase)
{
    static const char *const names[TD_REDUCE_PHASES] = {"snapshots", "search", "pod",         "training",
                                                        "ecsw",      "modes",  "polynomials", "check"};
    return names[phase];
}

// ---------------------------------------------------------------- progress

// Charges the time since the last call to the present phase.
static void charge(tdJob *job)
{
    double now = td_seconds();
    job->report->seconds[job->phase] += now - job->clock;
    job->clock = now;
}

static void name_time(tdReducePhase phase, char out[64])
{
    snprintf(out, 64, "time-%s.part", td_reduce_phase_name(phase));
}

void td_job_begin(tdJob *job, tdReducePhase phase, uint64_t key, int64_t total)
{
    charge(job);
    job->phase = phase;
    if (!job->begun[phase])
    {
        double earlier = 0;
        char name[64];
        const tdWorkPart part = {&earlier, sizeof earlier};
        name_time(phase, name);
        job->begun[phase] = true;
        job->keys[phase] = key;
        if (td_work_load(&job->work, key, name, 1, &part))
            job->report->seconds[phase] += earlier;
    }
    job->done = 0;
    job->total = total;
    td_job_progress(job, 0);
}

bool td_job_progress(tdJob *job, int64_t more)
{
    pthread_mutex_lock(&job->mutex);
    job->done += more;
    if (job->task->progress != NULL && !job->stopped)
        job->stopped = !job->task->progress(job->task->user, job->phase, job->done, job->total);
    bool go_on = !job->stopped;
    pthread_mutex_unlock(&job->mutex);
    return go_on;
}

// ---------------------------------------------------------------- begin

// The body that was asked for in the place of the scene's.
static tdStatus choose_body(tdScene *scene, const char *name, tdError *error)
{
    for (int b = 0; b < scene->n_bodies && name != NULL; b++)
        if (strcmp(scene->bodies[b].name, name) == 0)
        {
            scene->reduction.body = b;
            return TD_OK;
        }
    if (name == NULL)
        return TD_OK;
    return td_fail_at(error, TD_ERROR_INPUT, scene->file, 0, "bodies", "there is no body '%s' to be reduced", name);
}

// The static scene, with the tolerances that the task gives in the place of its own.
static tdStatus edit_static(void *context, tdScene *scene, tdError *error)
{
    const tdReduceTask *task = context;
    tdSceneReduction *given = &scene->reduction;
    bool modes = given->basis == TD_BASIS_MODES, polynomials = given->kind == TD_REDUCTION_STVK;
    const char *useless = modes && (task->pod_tolerance > 0 || task->max_modes > 0) ? "basis modes has no snapshots"
                          : polynomials && task->ecsw_tolerance > 0 ? "the polynomials of kind stvk are exact"
                                                                    : NULL;
    if (useless != NULL)
        return td_fail_at(error, TD_ERROR_INPUT, scene->file, given->line, "reduction",
                          "a tolerance or a number of modes was given that has no effect: %s", useless);
    given->pod_tolerance = task->pod_tolerance > 0 ? task->pod_tolerance : given->pod_tolerance;
    given->ecsw_tolerance = task->ecsw_tolerance > 0 ? task->ecsw_tolerance : given->ecsw_tolerance;
    given->max_modes = task->max_modes > 0 ? task->max_modes : given->max_modes;
    TD_TRY(choose_body(scene, task->body, error));
    return td_walk_edit_static(NULL, scene, error);
}

static tdStatus load_model(tdJob *job, tdError *error)
{
    tdSettings settings = job->task->settings;
    settings.rom = NULL;
    TD_TRY(td_model_load_edited(job->task->scene, &settings, edit_static, (void *)job->task, &job->model, error));
    settings.log = NULL; // all has been said
    TD_TRY(td_model_load_edited(job->task->scene, &settings, td_walk_edit_moving, NULL, &job->moving, error));
    const tdScene *scene = &job->model->scene;
    const tdSceneReduction *given = &scene->reduction;
    if (given->body < 0)
        return td_fail_at(error, TD_ERROR_INPUT, scene->file, 0, "reduction",
                          "the scene has %d bodies; say which one is reduced, e.g. 'reduction: {body: %s}'",
                          scene->n_bodies, scene->bodies[0].name);
    if (scene->bodies[given->body].type != TD_BODY_SOFT)
        return td_fail_at(error, TD_ERROR_INPUT, scene->file, scene->bodies[given->body].line, "reduction",
                          "body '%s' is rigid: there is nothing to reduce; name a soft body",
                          scene->bodies[given->body].name);
    return TD_OK;
}

static tdStatus plan_held_out(tdJob *job, tdError *error)
{
    const tdSceneValidation *given = &job->model->scene.validation;
    const tdSceneMotion *motion = NULL;
    double duration = 0;
    if (given->motion == NULL && job->model->n_actuators == 0)
        return TD_OK; // nothing that could be moved at random
    if (given->line == 0 && job->model->scene.reduction.follow)
        return TD_OK; // what was learned is one motion: another one would tell nothing
    TD_TRY(td_sample_validation(job->model, &job->arena, &motion, &duration, error));
    int64_t count = given->line > 0 ? HELD_OUT_PLACES : HELD_OUT_DEFAULT;
    if (job->model->scene.reduction.follow)
        count = (int64_t)ceil(duration / job->moving->scheme.h - 1e-6); // the steps of that motion
    if (given->motion == NULL && given->steps < count)
        count = given->steps;
    return td_sample_motion(job->model, &job->arena, motion, duration, count, &job->held_out, error);
}

static uint64_t hash_path(const tdSamplePath *path)
{
    return td_hash_bytes(path->values, (size_t)(path->count * path->n) * sizeof(double)) ^
           td_hash_mix(td_hash_bytes(path->weight, (size_t)path->count * sizeof(double)) ^
                       td_hash_bytes(path->start, (size_t)path->n_trajectories * sizeof(int64_t)));
}

// What the snapshots are made from, line by line: work on other ones is not continued. All else is in the keys of
// parts.
static void describe(tdJob *job, tdText *out)
{
    static const char *const samples[] = {"corners", "grid", "latin_hypercube", "greedy", "motion", "sequence"};
    const tdSceneReduction *given = &job->model->scene.reduction;
    td_text_format(out, "Tendril %s, work of 'tendril reduce', format %d\n", td_version(), JOB_FORMAT);
    td_text_format(out, "body %s\n", job->model->bodies[given->body].name);
    td_text_format(out, "frame %s\n", td_frame_name(job->rom.frame));
    td_text_format(out, "kernels %s\n",
                   td_isa_pick(job->task->settings.portable) == TD_ISA_PORTABLE ? "portable" : "native");
    td_text_format(out, "scene %016" PRIx64 "\n", job->model->scene.equilibria);
    if (job->trainee.touching)
        td_text_format(out, "contact_friction %.17g, %s\n", given->contact_friction,
                       given->follow ? "as the scene runs" : "long steps");
    job->equilibria = out->failed ? 0 : td_work_key(0, out->data, strlen(out->data));
    if (given->basis == TD_BASIS_MODES)
        return;
    td_text_format(out, "samples %s\n", samples[given->samples]);
    td_text_format(out, "steps_between %d\n", given->steps_between);
    td_text_format(out, "snapshots %lld\n", (long long)job->path.count);
    td_text_format(out, "places %016" PRIx64 "\n", hash_path(&job->path));
}

static tdStatus open_work(tdJob *job, tdError *error)
{
    const tdReduceTask *task = job->task;
    tdText about = {0};
    char folder[PATH_MAX];
    int n = task->work != NULL ? snprintf(folder, sizeof folder, "%s", task->work)
                               : snprintf(folder, sizeof folder, "%s.work", task->out);
    if (n < 0 || (size_t)n >= sizeof folder)
        return td_fail_at(error, TD_ERROR_IO, task->out, 0, NULL, "the path is too long");
    describe(job, &about);
    tdStatus status = about.failed ? td_fail_memory(error, "the job")
                                   : td_work_open(folder, about.data, task->restart, &job->work, error);
    free(about.data);
    job->report->resumed = job->work.resumed;
    return status;
}

// Loads that acted in training, and between which values.
static tdStatus note_loads(tdJob *job, tdError *error)
{
    tdRom *rom = &job->rom;
    const tdSamplePath *path = &job->path;
    tdDeadLoads loads;
    TD_TRY(td_soft_dead_loads(job->model, job->trainee.body, &job->arena, &loads, error));
    rom->load_low = TD_TAKE(&job->arena, double, loads.n);
    rom->load_high = TD_TAKE(&job->arena, double, loads.n);
    if (rom->load_low == NULL || rom->load_high == NULL)
        return td_fail_memory(error, "the loads");
    rom->n_loads = loads.n;
    rom->loads = loads.what;
    for (int i = 0; i < loads.n; i++)
        for (int64_t k = 0; k < path->count; k++)
        {
            double value = loads.input[i] < 0 ? 1 : path->values[k * path->n + loads.input[i]];
            rom->load_low[i] = k == 0 ? value : fmin(rom->load_low[i], value);
            rom->load_high[i] = k == 0 ? value : fmax(rom->load_high[i], value);
        }
    return TD_OK;
}

static tdStatus begin(tdJob *job, tdError *error)
{
    TD_TRY(load_model(job, error));
    const tdModel *model = job->model;
    int body = model->scene.reduction.body;
    bool stvk = model->scene.reduction.kind == TD_REDUCTION_STVK;
    if (stvk)
        TD_TRY(td_job_stvk_plan(job, error));
    if (model->scene.reduction.basis == TD_BASIS_SNAPSHOTS)
        TD_TRY(td_sample_path(model, &job->arena, &job->path, error));
    TD_TRY(plan_held_out(job, error));
    TD_TRY(td_tasks_create(job->task->settings.threads, &job->tasks, error));
    TD_TRY(td_trainee_create(model, job->moving, body, &job->task->settings, &job->arena, &job->trainee, error));
    TD_TRY(td_job_greedy_plan(job, error));
    job->rom = (tdRom){.file = job->task->out,
                       .body = model->bodies[body].name,
                       .made_by = td_version(),
                       .physics = td_soft_physics(job->moving, body), // with the scene's supports alone
                       .n_nodes = model->bodies[body].nodes,
                       .n_u = job->trainee.n_u,
                       .inputs = job->trainee.inputs,
                       .psi = job->trainee.psi,
                       .frame = job->trainee.frame,
                       .kind = stvk ? TD_ROM_STVK : TD_ROM_DOMAINS,
                       .pod_tolerance = model->scene.reduction.pod_tolerance,
                       .contact = job->moving->touches && model->scene.reduction.basis == TD_BASIS_SNAPSHOTS,
                       .held_out_error = NAN,
                       .motion_error = NAN,
                       .indicator_slope = NAN,
                       .indicator_threshold = NAN,
                       .distance_threshold = NAN};
    if (model->scene.reduction.basis == TD_BASIS_SNAPSHOTS)
        TD_TRY(note_loads(job, error));
    return open_work(job, error);
}

// ---------------------------------------------------------------- phases

// Time of the phases is kept for the next run.
static void note_time(tdJob *job)
{
    charge(job);
    for (int i = 0; i < TD_REDUCE_PHASES; i++)
    {
        char name[64];
        const tdWorkPart part = {&job->report->seconds[i], sizeof(double)};
        name_time((tdReducePhase)i, name);
        if (job->begun[i])
            td_work_save(&job->work, job->keys[i], name, 1, &part, NULL); // only of interest
    }
}

static tdStatus snapshots(tdJob *job, tdError *error)
{
    if (job->model->scene.reduction.samples == TD_SAMPLE_GREEDY)
        return td_job_greedy(job, error);
    td_job_begin(job, TD_REDUCE_SNAPSHOTS, job->work.key, job->path.count);
    return td_job_visit(job, "snapshots", &job->path, false, error);
}

static tdStatus run_phases(tdJob *job, tdError *error)
{
    typedef tdStatus (*Phase)(tdJob * job, tdError * error);
    static const Phase of_domains[] = {snapshots, td_job_pod, td_job_ecsw, td_job_check, NULL};
    static const Phase of_snapshots[] = {snapshots, td_job_pod, td_job_polynomials, td_job_check, NULL};
    static const Phase of_vibrations[] = {td_job_modes, td_job_ecsw, td_job_check, NULL};
    static const Phase of_modes[] = {td_job_modes, td_job_polynomials, td_job_check, NULL};
    const tdSceneReduction *given = &job->model->scene.reduction;
    bool polynomials = given->kind == TD_REDUCTION_STVK;
    const Phase *phases = given->basis == TD_BASIS_MODES ? (polynomials ? of_modes : of_vibrations)
                                                         : (polynomials ? of_snapshots : of_domains);
    for (int i = 0; phases[i] != NULL && !job->stopped; i++)
    {
        tdStatus status = phases[i](job, error);
        note_time(job);
        if (status != TD_OK)
            return status;
    }
    return TD_OK;
}

// A model that is far off does more harm than good.
static tdStatus judge(const tdJob *job, tdError *error)
{
    const tdReduceReport *report = job->report;
    if (job->task->accept || !(report->held_out_error > TD_REDUCE_ACCEPTED))
        return TD_OK;
    char failures[480] = "", advice[160];
    if (report->failures > 0)
    {
        td_job_explain(job, advice, sizeof advice);
        snprintf(failures, sizeof failures, "; %lld places of training have no equilibrium, the first at %.200s; %s",
                 (long long)report->failures, report->why, advice);
    }
    return td_fail(
        error, TD_ERROR_NUMERIC,
        "the reduced model is off by %.0f %% at places that it was not trained on, and was not written%s. Take more "
        "samples, smaller tolerances or narrower ranges of the actuators, or write it as it is with --accept. The work "
        "is kept",
        100 * report->held_out_error, failures);
}

static tdStatus write_rom(tdJob *job, tdError *error)
{
    const char *names[TD_REDUCE_PHASES];
    for (int i = 0; i < TD_REDUCE_PHASES; i++)
        names[i] = td_reduce_phase_name((tdReducePhase)i);
    job->rom.n_phases = TD_REDUCE_PHASES;
    job->rom.phases = names;
    job->rom.seconds = job->report->seconds;
    job->report->content = td_rom_hash(&job->rom);
    job->report->kind = td_rom_kind_name(job->rom.kind);
    return td_rom_write(&job->rom, job->task->out, error);
}

tdStatus td_reduce(const tdReduceTask *given, tdReduceReport *report, tdError *error)
{
    tdReduceTask all = *given, *task = &all;
    all.settings.full_order = true; // the file that is made is compared with it
    *report = (tdReduceReport){.held_out_error = NAN, .held_out_worst = NAN, .motion_error = NAN, .motion_worst = NAN};
    tdJob job = {.task = task, .report = report, .work = {.lock = TD_UNLOCKED}};
    pthread_mutex_init(&job.mutex, NULL);
    tdStatus status = begin(&job, error);
    if (status == TD_OK)
    {
        job.clock = td_seconds();
        job.phase = job.model->scene.reduction.basis == TD_BASIS_MODES ? TD_REDUCE_MODES : TD_REDUCE_SNAPSHOTS;
        status = run_phases(&job, error);
    }
    if (status == TD_CANCELLED)
    {
        job.stopped = true;
        status = TD_OK;
    }
    report->stopped = status == TD_OK && job.stopped;
    if (status == TD_OK && !job.stopped)
        status = judge(&job, error);
    if (status == TD_OK && !job.stopped)
        status = write_rom(&job, error);
    td_work_close(&job.work, status == TD_OK && !job.stopped && !task->keep && task->work == NULL);
    td_tasks_free(job.tasks);
    td_model_free(job.model);
    td_model_free(job.moving);
    td_arena_free(&job.arena);
    pthread_mutex_destroy(&job.mutex);
    return status;
}
