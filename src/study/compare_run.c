// SPDX-License-Identifier: Apache-2.0
// Models on one motion, side by side: errors of their displacements, and how fast they are.
#include "study/compare.h"

#include "base/timer.h"
#include "body/soft.h"
#include "core/parts.h"
#include "reduce/offline/sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPEATS  5    // runs for the speed of a model
#define PATIENCE 10.0 // [s] that they may take in all

// ---------------------------------------------------------------- models

static int64_t elements_of(const tdModel *model)
{
    int64_t n = 0;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBodyModes *modes = model->bodies[b].modes;
        n += modes != NULL ? modes->domain_elements : model->bodies[b].elements;
    }
    return n;
}

static void name_model(tdCompared *m)
{
    for (int b = 0; b < m->model->n_bodies; b++)
        m->modes += m->model->bodies[b].modes != NULL ? m->model->bodies[b].modes->free : 0;
    m->elements = elements_of(m->model);
    if (m->kind == TD_COMPARE_FULL)
        snprintf(m->name, sizeof m->name, "full order");
    else if (m->kind == TD_COMPARE_REDUCED)
        snprintf(m->name, sizeof m->name, "reduced (%d)", m->modes);
    else if (m->kind == TD_COMPARE_HYPER)
        snprintf(m->name, sizeof m->name, "hyper-reduced (%d, %lld)", m->modes, (long long)m->elements);
    else
        snprintf(m->name, sizeof m->name, "%.90s", m->file);
}

tdStatus td_compare_add(tdComparison *run, tdCompareKind kind, const char *scene, const char *rom, tdError *error)
{
    if (run->n == TD_COMPARE_MODELS)
        return td_fail(error, TD_ERROR_USAGE, "at most %d models can be compared at once", TD_COMPARE_MODELS);
    tdCompared *m = &run->models[run->n++];
    *m = (tdCompared){.kind = kind, .file = rom != NULL ? rom : scene};
    tdSettings settings = run->settings;
    settings.threads = 1; // so that all are measured alike
    settings.rom = rom;
    if (kind == TD_COMPARE_SCENE)
        settings.text = NULL;
    settings.full_order = true;
    settings.rom_whole = kind == TD_COMPARE_REDUCED;
    if (kind != TD_COMPARE_FULL)
        settings.level = TD_LOG_WARNING;
    if (run->silent)
        settings.log = NULL;
    TD_TRY(td_model_load(scene, &settings, &m->model, error));
    TD_TRY(td_state_create(m->model, &settings, &m->state, error));
    name_model(m);
    return TD_OK;
}

void td_compare_clear(tdComparison *run)
{
    for (int i = 0; i < run->n; i++)
    {
        td_state_free(run->models[i].state);
        td_model_free(run->models[i].model);
    }
    td_arena_free(&run->arena);
}

// ---------------------------------------------------------------- motion

// The scene's validation, else its own motion, else random with defaults.
static tdStatus choose_motion(tdComparison *run, int64_t steps, tdError *error)
{
    const tdModel *model = run->models[0].model;
    const tdSceneValidation *given = &model->scene.validation;
    double duration = 0;
    run->steps = model->scene.settings.steps;
    run->motion_name = model->scene.motion.n_names > 0 ? "the scene's motion" : "the scene's loads";
    run->motion = model->scene.motion.n_names > 0 ? &model->scene.motion : NULL; // for other scenes too
    if (given->line != 0 || (model->scene.motion.n_names == 0 && model->n_actuators > 0))
    {
        TD_TRY(td_sample_validation(model, &run->arena, &run->motion, &duration, error));
        run->motion_name = given->motion != NULL ? "the validation" : "a random path";
        run->steps = (int64_t)ceil(duration / model->scheme.h - 1e-6);
    }
    if (steps > 0)
        run->steps = steps;
    return TD_OK;
}

static tdStatus match_other(tdComparison *run, tdCompared *m, tdError *error)
{
    const tdModel *model = run->models[0].model;
    if (fabs(m->model->scheme.h - model->scheme.h) > 1e-9 * model->scheme.h)
        return td_fail_at(error, TD_ERROR_INPUT, m->file, 0, "time_step",
                          "is %g s, that of '%s' is %g s; models are compared with equal steps", m->model->scheme.h,
                          model->scene.file, model->scheme.h);
    for (int p = 0; p < model->n_probes; p++)
    {
        m->probe[p] = -1;
        for (int k = 0; k < m->model->n_probes; k++)
            if (strcmp(m->model->probes[k].name, model->probes[p].name) == 0)
                m->probe[p] = k;
        if (m->probe[p] < 0)
            return td_fail_at(error, TD_ERROR_INPUT, m->file, 0, "probes",
                              "there is no probe '%s' as in '%s'; add it, so that the same point can be compared",
                              model->probes[p].name, model->scene.file);
    }
    for (int k = 0; run->motion != NULL && k < run->motion->n_names; k++)
    {
        m->input[k] = td_model_find_input(m->model, run->motion->names[k]);
        if (m->input[k] < 0)
            return td_fail_at(error, TD_ERROR_INPUT, m->file, 0, "actuators",
                              "there is no actuator or load '%s', which the motion of '%s' moves",
                              run->motion->names[k], model->scene.file);
    }
    return TD_OK;
}

static int64_t nodes_of(const tdModel *model)
{
    int64_t n = 0;
    for (int b = 0; b < model->n_bodies; b++)
        n += model->bodies[b].nodes;
    return n;
}

tdStatus td_compare_prepare(tdComparison *run, int64_t steps, tdError *error)
{
    tdArena *arena = &run->arena;
    const tdModel *model = run->models[0].model;
    TD_TRY(choose_motion(run, steps, error));
    run->n_errors = model->n_probes + 1;
    run->shown = -1;
    run->amplitude = TD_TAKE(arena, double, run->n_errors);
    bool good = run->amplitude != NULL;
    for (int k = 0; k < 2 && good; k++)
        good = (run->shape[k] = TD_TAKE(arena, double, 3 * nodes_of(model))) != NULL;
    for (int i = 0; i < run->n && good; i++)
    {
        tdCompared *m = &run->models[i];
        int names = run->motion == NULL ? 0 : run->motion->n_names;
        m->probe = TD_TAKE(arena, int, model->n_probes);
        m->input = TD_TAKE(arena, int, names);
        m->error = TD_TAKE(arena, double, run->steps * run->n_errors);
        m->path = TD_TAKE(arena, double, run->steps * model->n_probes * 3);
        m->mean = TD_TAKE(arena, double, run->n_errors);
        m->max = TD_TAKE(arena, double, run->n_errors);
        m->seconds = TD_TAKE(arena, double, run->steps);
        good = m->probe != NULL && m->input != NULL && m->error != NULL && m->path != NULL && m->mean != NULL &&
               m->max != NULL && m->seconds != NULL;
        if (good)
            TD_TRY(match_other(run, m, error));
        if (run->shown < 0 || (m->kind == TD_COMPARE_HYPER && run->models[run->shown].kind == TD_COMPARE_REDUCED))
            run->shown = m->kind == TD_COMPARE_HYPER || m->kind == TD_COMPARE_REDUCED ? i : run->shown;
    }
    return good ? TD_OK : td_fail_memory(error, "the comparison");
}

// ---------------------------------------------------------------- side by side

static tdStatus take_step(const tdComparison *run, const tdCompared *m, tdState *state, int64_t step, double *seconds)
{
    double time = (double)(step + 1) * m->model->scheme.h;
    for (int k = 0; run->motion != NULL && k < run->motion->n_names; k++)
        TD_TRY(td_state_set_input(m->model, state, m->input[k],
                                  td_motion_value(run->motion, k, time, m->model->inputs[m->input[k]].standard)));
    double start = td_seconds();
    tdStatus status = td_step(m->model, state);
    *seconds = td_seconds() - start;
    return status;
}

// Root mean square of the nodes' distances from those of `other`, or from rest.
static double shape_off(const tdCompared *m, const tdCompared *other)
{
    double sum = 0;
    for (int b = 0; b < m->model->n_bodies; b++)
    {
        const double *x = td_state_positions(m->model, m->state, b);
        const double *y =
            other == NULL ? m->model->bodies[b].soft->rest : td_state_positions(other->model, other->state, b);
        for (int64_t i = 0; i < 3 * m->model->bodies[b].nodes; i++)
            sum += (x[i] - y[i]) * (x[i] - y[i]);
    }
    return sqrt(sum / (double)nodes_of(m->model));
}

static double apart(const double a[3], const double b[3])
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

static void rest_of(const tdModel *model, int probe, double x[3])
{
    const tdPointSet *point = &model->probes[probe].point;
    memcpy(x, point->rest, 3 * sizeof *x);
}

// Displacements are compared, not positions: the same point rests elsewhere on another mesh, by a little.
static void note_errors(tdComparison *run, tdCompared *m, int64_t step)
{
    const tdCompared *full = &run->models[0];
    double *error = m->error + step * run->n_errors;
    for (int p = 0; p < full->model->n_probes; p++)
    {
        double x[3], y[3], rest_x[3], rest_y[3];
        td_state_probe(m->model, m->state, m->probe[p], x);
        td_state_probe(full->model, full->state, p, y);
        rest_of(m->model, m->probe[p], rest_x);
        rest_of(full->model, p, rest_y);
        if (m == full)
            run->amplitude[p] = fmax(run->amplitude[p], apart(y, rest_y));
        for (int c = 0; c < 3; c++)
        {
            x[c] += rest_y[c] - rest_x[c];
            m->path[3 * (step * full->model->n_probes + p) + c] = x[c] - rest_y[c];
        }
        error[p] = apart(x, y);
    }
    int last = run->n_errors - 1;
    error[last] = m->kind == TD_COMPARE_SCENE ? NAN : shape_off(m, full);
    if (m == full)
        run->amplitude[last] = fmax(run->amplitude[last], shape_off(full, NULL));
    if (m->worst > 0 && !(error[last] > m->error[(m->worst - 1) * run->n_errors + last]))
        return;
    m->worst = step + 1;
    if (run->shown < 0 || m != &run->models[run->shown])
        return;
    for (int k = 0; k < 2; k++)
    {
        const tdCompared *from = k == 0 ? full : m;
        double *to = run->shape[k];
        for (int b = 0; b < from->model->n_bodies; b++)
        {
            int64_t n = 3 * from->model->bodies[b].nodes;
            memcpy(to, td_state_positions(from->model, from->state, b), (size_t)n * sizeof *to);
            to += n;
        }
    }
}

static void note_report(tdCompared *m)
{
    const tdReport *report = td_state_report(m->state);
    m->indicator = fmax(m->indicator, report->rom_indicator);
    m->foretold = fmax(m->foretold, report->rom_error);
    m->distance = fmax(m->distance, report->rom_distance);
    m->warnings += report->rom_warning;
}

static bool go_on(tdComparison *run, const char *phase, int64_t done, int64_t total)
{
    run->stopped = run->stopped || (run->progress != NULL && !run->progress(run->user, phase, done, total));
    return !run->stopped;
}

// A model that fails stops there; without full order there is nothing to compare with.
static tdStatus side_by_side(tdComparison *run, tdError *error)
{
    for (int64_t s = 0; s < run->steps && go_on(run, "comparing", s, run->steps); s++)
    {
        for (int i = 0; i < run->n; i++)
        {
            tdCompared *m = &run->models[i];
            if (m->done < s)
                continue;
            tdStatus status = take_step(run, m, m->state, s, &m->seconds[s]);
            if (status == TD_CANCELLED)
            {
                // Steps that not all have taken are not compared.
                run->stopped = true;
                for (int j = 0; j < run->n; j++)
                    run->models[j].done = run->models[j].done > s ? s : run->models[j].done;
                return TD_OK;
            }
            if (status != TD_OK && i == 0)
            {
                *error = td_state_report(m->state)->error;
                return status;
            }
            if (status != TD_OK)
            {
                m->failure = td_state_report(m->state)->error;
                continue;
            }
            m->done = s + 1;
            note_report(m);
            note_errors(run, m, s);
        }
    }
    if (!run->stopped)
        go_on(run, "comparing", run->steps, run->steps);
    return TD_OK;
}

static void sum_up(tdComparison *run, tdCompared *m)
{
    const tdModel *model = run->models[0].model;
    for (int k = 0; k < run->n_errors; k++)
    {
        double sum = 0, most = 0;
        for (int64_t s = 0; s < m->done; s++)
        {
            double e = m->error[s * run->n_errors + k];
            sum += e;
            most = isnan(e) ? NAN : fmax(most, e);
        }
        bool known = m->done > 0 && run->amplitude[k] > 1e-9 * model->size;
        m->mean[k] = known ? sum / (double)m->done / run->amplitude[k] : NAN;
        m->max[k] = known ? most / run->amplitude[k] : NAN;
    }
}

// ---------------------------------------------------------------- speed

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Once more and alone, because side by side the models push each other out of the caches. Each step counts at its
// fastest: what else the machine does can only make it slower.
static tdStatus time_alone(tdComparison *run, tdCompared *m, tdError *error)
{
    tdSettings settings = run->settings;
    settings.threads = 1;
    settings.log = NULL; // it has been said
    double once = 0;
    for (int64_t s = 0; s < m->done; s++)
        once += m->seconds[s];
    for (int k = 0; k < REPEATS && (k + 1) * once < PATIENCE && go_on(run, "timing", k, REPEATS); k++)
    {
        tdState *state = NULL;
        TD_TRY(td_state_create(m->model, &settings, &state, error));
        for (int64_t s = 0; s < m->done; s++)
        {
            double seconds = 0;
            if (take_step(run, m, state, s, &seconds) != TD_OK)
                break;
            m->seconds[s] = fmin(m->seconds[s], seconds);
        }
        td_state_free(state);
    }
    return TD_OK;
}

tdStatus td_compare_measure(tdComparison *run, tdError *error)
{
    tdStatus status = side_by_side(run, error);
    for (int i = 0; i < run->n && status == TD_OK; i++)
    {
        tdCompared *m = &run->models[i];
        sum_up(run, m);
        status = time_alone(run, m, error);
        double *sorted = td_take((size_t)m->done, sizeof *sorted);
        if (sorted == NULL)
            status = td_fail_memory(error, "the comparison");
        else if (m->done > 0)
        {
            memcpy(sorted, m->seconds, (size_t)m->done * sizeof *sorted);
            qsort(sorted, (size_t)m->done, sizeof *sorted, ascending);
            m->rate = 1 / sorted[m->done / 2];
        }
        free(sorted);
    }
    if (status == TD_OK && run->models[0].done < run->steps)
        run->steps = run->models[0].done;
    return status;
}
