// SPDX-License-Identifier: Apache-2.0
// td_compare() and what is read of a comparison.
#include "study/compare.h"

#include "base/file.h"
#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

tdCompareSettings td_default_compare(void)
{
    return (tdCompareSettings){0};
}

// The caller's texts need not outlive the call.
static tdStatus keep(tdComparison *run, const char *text, const char **out, tdError *error)
{
    *out = text == NULL ? NULL : td_arena_copy(&run->arena, text);
    return text != NULL && *out == NULL ? td_fail_memory(error, "the comparison") : TD_OK;
}

static tdStatus add_other(tdComparison *run, const char *path, tdError *error)
{
    char extension[16];
    const char *file = NULL;
    TD_TRY(keep(run, path, &file, error));
    td_path_extension(extension, sizeof extension, file);
    bool rom = strcmp(extension, ".h5") == 0;
    return td_compare_add(run, rom ? TD_COMPARE_HYPER : TD_COMPARE_SCENE, rom ? run->scene : file, rom ? file : NULL,
                          error);
}

static tdStatus load(tdComparison *run, const char *scene, const tdCompareSettings *what, tdError *error)
{
    const char *rom = NULL, *coarse = NULL;
    TD_TRY(keep(run, scene, &run->scene, error));
    TD_TRY(keep(run, what->rom, &rom, error));
    TD_TRY(keep(run, what->coarse, &coarse, error));
    TD_TRY(td_compare_add(run, TD_COMPARE_FULL, run->scene, NULL, error));
    if (coarse != NULL)
        TD_TRY(td_compare_add(run, TD_COMPARE_SCENE, coarse, NULL, error));
    if (rom != NULL && !what->no_whole)
        TD_TRY(td_compare_add(run, TD_COMPARE_REDUCED, run->scene, rom, error));
    if (rom != NULL)
        TD_TRY(td_compare_add(run, TD_COMPARE_HYPER, run->scene, rom, error));
    for (int i = 0; i < what->n_others; i++)
        TD_TRY(add_other(run, what->others[i], error));
    return TD_OK;
}

tdStatus td_compare(const char *scene_path, const tdCompareSettings *what, const tdSettings *settings,
                    tdComparison **out, tdError *error)
{
    const tdCompareSettings standard = td_default_compare();
    what = what != NULL ? what : &standard;
    *out = NULL;
    if (what->rom == NULL && what->coarse == NULL && what->n_others == 0)
        return td_fail(error, TD_ERROR_USAGE, "nothing to compare with; give a reduced model, or another scene");
    if (what->steps < 0)
        return td_fail(error, TD_ERROR_USAGE, "a comparison of %lld steps; give 1 or more, or 0 for all",
                       (long long)what->steps);
    tdComparison *run = td_take(1, sizeof *run);
    if (run == NULL)
        return td_fail_memory(error, "the comparison");
    run->settings = settings != NULL ? *settings : td_default_settings();
    run->progress = what->progress;
    run->user = what->user;
    tdStatus status = load(run, scene_path, what, error);
    if (status == TD_OK)
        status = td_compare_prepare(run, what->steps, error);
    if (status == TD_OK)
        status = td_compare_measure(run, error);
    if (status == TD_OK)
        *out = run;
    else
        td_comparison_free(run);
    return status;
}

void td_comparison_free(tdComparison *comparison)
{
    if (comparison == NULL)
        return;
    td_compare_clear(comparison);
    free(comparison);
}

// ---------------------------------------------------------------- what is read

tdComparisonInfo td_comparison_info(const tdComparison *comparison)
{
    return (tdComparisonInfo){.motion = comparison->motion_name,
                              .steps = comparison->steps,
                              .time_step = comparison->models[0].model->scheme.h,
                              .models = comparison->n,
                              .errors = comparison->n_errors,
                              .stopped = comparison->stopped};
}

tdComparedInfo td_comparison_model(const tdComparison *comparison, int model)
{
    assert(model >= 0 && model < comparison->n);
    const tdCompared *m = &comparison->models[model];
    return (tdComparedInfo){.name = m->name,
                            .file = m->file,
                            .kind = m->kind,
                            .modes = m->modes,
                            .elements = m->elements,
                            .unknowns = td_model_dofs(m->model),
                            .steps = m->done,
                            .failure = m->failure.status != TD_OK ? &m->failure : NULL,
                            .worst_step = m->kind != TD_COMPARE_SCENE ? m->worst : 0,
                            .rate = m->rate,
                            .warnings = m->warnings,
                            .indicator = m->indicator,
                            .foretold = m->foretold,
                            .distance = m->distance};
}

const char *td_comparison_error_name(const tdComparison *comparison, int error)
{
    assert(error >= 0 && error < comparison->n_errors);
    const tdModel *model = comparison->models[0].model;
    return error < model->n_probes ? model->probes[error].name : "shape";
}

double td_comparison_amplitude(const tdComparison *comparison, int error)
{
    assert(error >= 0 && error < comparison->n_errors);
    return comparison->amplitude[error];
}

void td_comparison_error(const tdComparison *comparison, int model, int error, double *mean, double *most)
{
    assert(model >= 0 && model < comparison->n && error >= 0 && error < comparison->n_errors);
    if (mean != NULL)
        *mean = comparison->models[model].mean[error];
    if (most != NULL)
        *most = comparison->models[model].max[error];
}

const double *td_comparison_errors(const tdComparison *comparison, int model)
{
    assert(model >= 0 && model < comparison->n);
    return comparison->models[model].error;
}

const double *td_comparison_paths(const tdComparison *comparison, int model)
{
    assert(model >= 0 && model < comparison->n);
    return comparison->models[model].path;
}
