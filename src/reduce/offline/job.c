// SPDX-License-Identifier: Apache-2.0
#include "reduce/offline/job.h"

#include "base/hash.h"
#include "base/isa.h"
#include "base/log.h"
#include "base/timer.h"
#include "body/soft.h"
#include "reduce/offline/job_parts.h"
#include "reduce/offline/walker.h"
#include "reduce/reduced.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOB_FORMAT       6
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
    given->find_pod = given->find_pod && task->pod_tolerance == 0;
    given->find_ecsw = given->find_ecsw && task->ecsw_tolerance == 0;
    given->error = task->error > 0 ? task->error : given->error;
    given->memory = task->memory > 0 ? (int64_t)task->memory : given->memory;
    if (task->error > 0 && !given->find_pod && !given->find_ecsw && (modes || given->samples != TD_SAMPLE_AUTO))
        return td_fail_at(error, TD_ERROR_INPUT, scene->file, given->line, "reduction",
                          "an error was requested, but %s: nothing could be changed to reach it",
                          modes ? "basis modes has no samples" : "samples are not auto and both tolerances are given");
    TD_TRY(choose_body(scene, task->body, error));
    bool alone = task->alone && given->body >= 0;
    return td_walk_edit_static(alone ? (void *)scene->bodies[given->body].name : NULL, scene, error);
}

static tdStatus load_model(tdJob *job, tdError *error)
{
    tdSettings settings = job->task->settings;
    settings.rom = NULL;
    TD_TRY(td_model_load_edited(job->task->scene, &settings, edit_static, (void *)job->task, &job->model, error));
    settings.log = NULL; // all has been said
    const tdScene *scene = &job->model->scene;
    const tdSceneReduction *given = &scene->reduction;
    if (job->task->alone && given->body >= 0 &&
        (job->alone = td_arena_copy(&job->arena, scene->bodies[given->body].name)) == NULL)
        return td_fail_memory(error, "the job");
    TD_TRY(td_model_load_edited(job->task->scene, &settings, td_walk_edit_moving, job->alone, &job->moving, error));
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
    int64_t count = given->line != 0 ? HELD_OUT_PLACES : HELD_OUT_DEFAULT;
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
    static const char *const samples[] = {"corners", "grid", "latin_hypercube", "greedy", "motion", "sequence", "auto"};
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
    if (job->n_runs > 0)
        td_text_format(out, "runs %d, %016" PRIx64 "\n", job->n_runs, td_job_runs_hash(job));
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
    bool follows = job->crew != NULL && job->crew->rank > 0;
    tdStatus status = about.failed       ? td_fail_memory(error, "the job")
                      : follows          ? TD_OK
                      : task->shares > 0 ? td_work_share(folder, about.data, &job->work, error)
                                         : td_work_open(folder, about.data, task->restart, &job->work, error);
    if (job->crew != NULL)
        status = td_crew_agree(job->crew, status, error);
    if (status == TD_OK && job->crew != NULL)
    {
        status = follows ? td_work_join(folder, about.data, &job->work, error) : TD_OK;
        status = td_crew_agree(job->crew, status, error);
    }
    free(about.data);
    job->report->resumed = job->work.resumed;
    return status;
}

static void note_range(const tdSamplePath *path, int input, double *low, double *high)
{
    for (int64_t k = 0; k < path->count; k++)
    {
        double value = input < 0 ? 1 : path->values[k * path->n + input];
        *low = k == 0 ? value : fmin(*low, value);
        *high = k == 0 ? value : fmax(*high, value);
    }
}

// Loads and actuators that acted in training, and between which values.
static tdStatus note_loads(tdJob *job, tdError *error)
{
    tdRom *rom = &job->rom;
    const tdSamplePath *path = &job->path;
    tdDeadLoads loads;
    TD_TRY(td_soft_dead_loads(job->model, job->trainee.body, &job->arena, &loads, error));
    int most = loads.n + job->model->n_actuators;
    rom->load_low = TD_TAKE(&job->arena, double, most);
    rom->load_high = TD_TAKE(&job->arena, double, most);
    rom->loads = TD_TAKE(&job->arena, const char *, most);
    if (rom->load_low == NULL || rom->load_high == NULL || rom->loads == NULL)
        return td_fail_memory(error, "the loads");
    for (int i = 0; i < loads.n; i++)
    {
        rom->loads[rom->n_loads] = loads.what[i];
        note_range(path, loads.input[i], &rom->load_low[rom->n_loads], &rom->load_high[rom->n_loads]);
        rom->n_loads++;
    }
    for (int a = 0; a < job->model->n_actuators; a++)
    {
        const tdActuator *actuator = &job->model->actuators[a];
        char what[TD_DRIVE_TEXT];
        if (!td_soft_drive_text(job->model, job->trainee.body, a, actuator->given->drive, what))
            continue;
        if ((rom->loads[rom->n_loads] = td_arena_copy(&job->arena, what)) == NULL)
            return td_fail_memory(error, "the loads");
        double *low = &rom->load_low[rom->n_loads], *high = &rom->load_high[rom->n_loads];
        note_range(path, actuator->input, low, high);
        *low = fmin(*low, 0); // from where training begins
        *high = fmax(*high, 0);
        rom->n_loads++;
    }
    return TD_OK;
}

// A bound that was given on the command line is kept, or refused before any work. Without one, a trajectory takes what
// it takes, which is said where it is more than the scene allows for.
static tdStatus check_memory(const tdJob *job, tdError *error)
{
    const tdSceneReduction *given = &job->model->scene.reduction;
    double need = given->basis == TD_BASIS_SNAPSHOTS ? td_job_worker_bytes(job, true) : 0;
    const char *instead = job->model->bodies[job->trainee.body].soft->linear.amg == NULL
                              ? ", or 'solver: {type: amg}', which needs no factor"
                              : "";
    if (need <= (double)given->memory)
        return TD_OK;
    if (job->task->memory > 0)
        return td_fail_at(error, TD_ERROR_MEMORY, job->model->scene.file, given->line, "reduction",
                          "one trajectory at a time takes %.3g MB beside the scene, and --memory allows %.3g MB; allow "
                          "more, or use a coarser mesh%s",
                          1e-6 * need, 1e-6 * (double)given->memory, instead);
    td_log(&job->task->settings, TD_LOG_WARNING,
           "each trajectory needs up to %.3g GB, more than the %.3g GB of reduction.memory; make sure that there is as "
           "much, or use a coarser mesh%s",
           1e-9 * need, 1e-9 * (double)given->memory, instead);
    return TD_OK;
}

static tdStatus plan(tdJob *job, tdError *error)
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
    TD_TRY(td_job_plan_runs(job, error));
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
    return check_memory(job, error);
}

// Ranks go on together or not at all.
static tdStatus begin(tdJob *job, tdError *error)
{
    tdStatus status = plan(job, error);
    if (job->crew != NULL)
        status = td_crew_agree(job->crew, status, error);
    return status == TD_OK ? open_work(job, error) : status;
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

// Corners before all else: what has no equilibrium there is told at once, and not after hours.
static tdStatus pilot(tdJob *job, tdError *error)
{
    tdSamplePath corners = job->path;
    int failed = 0;
    corners.n_trajectories = 1 + job->path.n_pilots;
    TD_TRY(td_job_visit(job, "snapshots", &corners, false, error));
    for (int t = 1; t < corners.n_trajectories && !job->stopped; t++)
    {
        tdJobTrajectory data;
        TD_TRY(td_job_take(job, &corners, t, false, &data, error));
        if (td_job_load(job, "snapshots", &corners, t, false, &data) && data.found.failed > 0 && failed++ == 0)
        {
            snprintf(job->report->why, sizeof job->report->why, "%s", data.found.why);
            job->failure = data.found.failure;
        }
        td_job_drop(&data);
    }
    if (2 * failed <= job->path.n_pilots)
        return TD_OK;
    TD_TRY(td_job_explain(job, 1, job->report->advice, sizeof job->report->advice, error));
    td_log(&job->task->settings, TD_LOG_WARNING,
           "%d of %d corners of the ranges have no equilibrium, the first at %s; %s. Training continues with points "
           "that have one",
           failed, job->path.n_pilots, job->report->why, job->report->advice);
    return TD_OK;
}

static tdStatus snapshots(tdJob *job, tdError *error)
{
    if (job->model->scene.reduction.samples == TD_SAMPLE_GREEDY)
        return job->later ? TD_OK : td_job_greedy(job, error); // its places stay
    td_job_begin(job, TD_REDUCE_SNAPSHOTS, job->work.key, job->path.count);
    if (job->path.n_pilots == 0 || job->later)
        return td_job_visit(job, "snapshots", &job->path, false, error);
    TD_TRY(pilot(job, error));
    if (job->stopped)
        return TD_OK;
    job->done = 0; // corners are found again on the way, and counted then
    TD_TRY(td_job_visit(job, "snapshots", &job->path, false, error));
    if (!job->counted)
        job->report->reused[TD_REDUCE_SNAPSHOTS] -= job->path.start[1 + job->path.n_pilots];
    return TD_OK;
}

// Shapes of full order by which settings are found: where training has not been, and of motions.
static tdStatus look_ahead(tdJob *job, tdError *error)
{
    tdJobMotion motion[2] = {0};
    if (!td_job_adapts(job))
        return TD_OK;
    bool learns = td_job_learns_motion(job);
    td_job_begin(job, TD_REDUCE_CHECK, td_work_key(job->equilibria, &job->held_out.count, sizeof job->held_out.count),
                 job->held_out.count + (learns ? 2 : 0) * TD_JOB_MOTION_STEPS);
    tdStatus status = td_job_visit(job, "check-full", &job->held_out, true, error);
    for (int k = 0; k < 2 && learns && status == TD_OK && !job->stopped; k++)
        status = td_job_look_at_motion(job, k == 1, &motion[k], error);
    free(motion[0].q);
    free(motion[1].q);
    return status;
}

static tdStatus run_round(tdJob *job, tdError *error)
{
    typedef tdStatus (*Phase)(tdJob * job, tdError * error);
    static const Phase of_domains[] = {snapshots, look_ahead, td_job_pod, td_job_ecsw, td_job_check, NULL};
    static const Phase of_snapshots[] = {snapshots, look_ahead, td_job_pod, td_job_polynomials, td_job_check, NULL};
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

// Of a model that is far off: why, and ranges within which it would not be.
static tdStatus explain(tdJob *job, tdError *error)
{
    tdReduceReport *report = job->report;
    double within = 1;
    if (report->held_out_error <= TD_JOB_FAR_OFF && !(report->motion_error > TD_JOB_FAR_OFF))
        return TD_OK;
    TD_TRY(td_job_find_cause(job, report->cause, sizeof report->cause, &within, error));
    if (report->failures > 0 || within < 1)
        TD_TRY(td_job_explain(job, within, report->advice, sizeof report->advice, error));
    return TD_OK;
}

static tdStatus run_phases(tdJob *job, tdError *error)
{
    bool again = true;
    if (job->crew != NULL)
        TD_TRY(td_job_spread(job, error));
    TD_TRY(td_job_skip_rounds(job, error));
    while (again && !job->stopped)
    {
        td_job_begin_round(job);
        TD_TRY(run_round(job, error));
        TD_TRY(td_job_again(job, &again, error));
        job->later = true;
    }
    if (job->stopped)
        return TD_OK;
    td_job_note_domains(job);
    TD_TRY(explain(job, error));
    return job->stopped ? TD_OK : td_job_precision(job, error);
}

// A model that is far off does more harm than good.
static tdStatus judge(const tdJob *job, tdError *error)
{
    const tdReduceReport *report = job->report;
    if (job->task->accept)
        return TD_OK;
    if (report->held_out_places == 0 && report->held_out_failures > 0)
        return td_fail(error, TD_ERROR_NUMERIC,
                       "the reduced model has no equilibrium at any of %lld points that it was not trained on, and was "
                       "not written (use --accept to write it as it is; the work is kept). Use a smaller "
                       "ecsw_tolerance, or remove it so that it is found, or use narrower ranges of the actuators",
                       (long long)report->held_out_failures);
    if (report->held_out_places == 0 && report->motion_error > TD_REDUCE_ACCEPTED)
        return td_fail(
            error, TD_ERROR_NUMERIC,
            "the reduced model has an error of %.0f %% along a motion beside full order, and was not written "
            "(use --accept to write it as it is; the work is kept). Use more modes, or smaller tolerances",
            100 * report->motion_error);
    if (!(report->held_out_error > TD_REDUCE_ACCEPTED) && !(report->motion_error > TD_REDUCE_ACCEPTED))
        return TD_OK;
    if (!(report->held_out_error > TD_REDUCE_ACCEPTED))
        return td_fail(
            error, TD_ERROR_NUMERIC,
            "the reduced model has an error of %.0f %% along its validation motion, though only %.2g %% at "
            "rest, and was not written (use --accept to write it for slow motions; the work is kept): %s; %s",
            100 * report->motion_error, 100 * report->held_out_error, report->cause, report->advice);
    char failures[1000] = "";
    if (report->failures > 0)
        snprintf(failures, sizeof failures, "; %lld training points have no equilibrium: %.240s; the first at %.200s",
                 (long long)report->failures, report->advice, report->why);
    else if (report->cause[0] != '\0')
        snprintf(failures, sizeof failures, "; %.500s; %.380s", report->cause, report->advice);
    return td_fail(
        error, TD_ERROR_NUMERIC,
        "the reduced model has an error of %.0f %% at points that it was not trained on, and was not written (use "
        "--accept to write it as it is; the work is kept). Use more samples, smaller tolerances or narrower "
        "ranges of the actuators%s",
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
    assert(task->shares == 0 || (task->share >= 1 && task->share <= task->shares && task->work != NULL));
    *report = (tdReduceReport){.held_out_error = NAN, .held_out_worst = NAN, .motion_error = NAN, .motion_worst = NAN};
    tdJob job = {.task = task, .report = report, .work = {.lock = TD_UNLOCKED}};
    job.crew = task->crew != NULL && task->crew->size > 1 ? task->crew : NULL;
    bool leads = job.crew == NULL || job.crew->rank == 0, begun = false;
    pthread_mutex_init(&job.mutex, NULL);
    tdStatus status = begin(&job, error);
    begun = status == TD_OK;
    if (begun)
    {
        job.clock = td_seconds();
        job.phase = job.model->scene.reduction.basis == TD_BASIS_MODES ? TD_REDUCE_MODES : TD_REDUCE_SNAPSHOTS;
        status = task->merge ? td_job_complete(&job, error) : TD_OK;
    }
    begun = begun && job.crew != NULL;
    if (begun && !leads)
        status = td_job_follow(&job, error);
    else if (status == TD_OK)
        status = task->shares > 0 ? td_job_share(&job, error) : run_phases(&job, error);
    if (status == TD_CANCELLED)
    {
        job.stopped = true;
        status = TD_OK;
    }
    report->stopped = status == TD_OK && job.stopped;
    bool whole = status == TD_OK && !job.stopped && task->shares == 0 && leads;
    if (whole)
        status = judge(&job, error);
    if (whole && status == TD_OK)
        status = write_rom(&job, error);
    if (begun && leads)
        td_job_dismiss(&job, job.stopped ? TD_CANCELLED : status, error);
    td_work_close(&job.work, status == TD_OK && !job.stopped && !task->keep && task->work == NULL);
    td_tasks_free(job.tasks);
    td_model_free(job.model);
    td_model_free(job.moving);
    td_arena_free(&job.round);
    td_arena_free(&job.arena);
    pthread_mutex_destroy(&job.mutex);
    return status;
}
