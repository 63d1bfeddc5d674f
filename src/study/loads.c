// SPDX-License-Identifier: Apache-2.0
// td_loads_estimate(): unknown loads from where points of a body were measured, and what it writes.
#include "study/loads.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/print.h"
#include "base/timer.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

tdEstimateSettings td_default_estimate(void)
{
    return (tdEstimateSettings){.noise = NAN};
}

static tdStatus solve(const char *scene, const tdEstimateSettings *what, const tdSettings *settings, tdLoads *loads,
                      tdError *error)
{
    tdMarks *marks = &loads->marks;
    if (what->noise < 0)
        return td_fail(error, TD_ERROR_USAGE, "the noise is a length of 0 or more, not %g", what->noise);
    if (what->measured != NULL)
        TD_TRY(td_marks_read(what->measured, &loads->arena, marks, error));
    else
        TD_TRY(td_marks_take(what->n, what->rest, what->position, &loads->arena, marks, error));
    TD_TRY(td_estimate_load(scene, what->body, marks, settings, &loads->model, error));
    TD_TRY(td_state_create(loads->model, settings, &loads->state, error));
    double start = td_seconds();
    TD_TRY(td_estimate(loads->model, loads->state, marks, what, &loads->arena, &loads->estimate, error));
    loads->seconds = td_seconds() - start;
    loads->estimate.what = NULL; // the caller's
    return TD_OK;
}

tdStatus td_loads_estimate(const char *scene_path, const tdEstimateSettings *what, const tdSettings *settings,
                           tdLoads **out, tdError *error)
{
    *out = NULL;
    tdLoads *loads = td_take(1, sizeof *loads);
    if (loads == NULL)
        return td_fail_memory(error, "the estimate");
    tdStatus status = solve(scene_path, what, settings, loads, error);
    if (status == TD_OK)
        *out = loads;
    else
        td_loads_free(loads);
    return status;
}

void td_loads_free(tdLoads *loads)
{
    if (loads == NULL)
        return;
    td_state_free(loads->state);
    td_model_free(loads->model);
    td_arena_free(&loads->arena);
    free(loads);
}

tdLoadsInfo td_loads_info(const tdLoads *loads)
{
    const tdEstimate *e = &loads->estimate;
    return (tdLoadsInfo){.loads = e->n,
                         .points = loads->marks.n,
                         .residual = e->residual,
                         .sigma = e->sigma,
                         .equilibria = e->steps,
                         .seconds = loads->seconds};
}

tdLoadInfo td_loads_load(const tdLoads *loads, int load)
{
    const tdEstimate *e = &loads->estimate;
    assert(load >= 0 && load < e->n);
    tdActuatorInfo info = td_model_actuator(loads->model, e->actuator[load]);
    return (tdLoadInfo){info.name, info.effort_unit, e->effort[load], e->deviation[load], e->bound[load]};
}

const double *td_loads_fitted(const tdLoads *loads)
{
    return loads->estimate.fitted;
}

// ---------------------------------------------------------------- files

static tdStatus write_text(const char *folder, const char *name, const tdText *text, tdError *error)
{
    char path[PATH_MAX];
    if (text->failed)
        return td_fail_memory(error, "a file");
    if (!td_path_join(path, sizeof path, folder, name))
        return td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "the path is too long");
    return td_file_write(path, text->data, (size_t)text->size, error);
}

static void put_numbers(tdText *text, int n, const double *values, const char *before)
{
    for (int k = 0; k < n; k++)
    {
        td_text_format(text, "%s", k == 0 ? before : ",");
        td_print_number(text, values[k]);
    }
}

tdStatus td_loads_write(const tdLoads *loads, const char *folder, tdError *error)
{
    const tdModel *model = loads->model;
    const tdMarks *marks = &loads->marks;
    const tdEstimate *estimate = &loads->estimate;
    tdText text = {0};
    TD_TRY(td_path_make(folder, error));
    td_text_format(&text, "load,unit,effort,deviation\n");
    for (int j = 0; j < estimate->n; j++)
    {
        tdActuatorInfo info = td_model_actuator(model, estimate->actuator[j]);
        td_text_format(&text, "%s,%s", info.name, info.effort_unit);
        put_numbers(&text, 1, &estimate->effort[j], ",");
        put_numbers(&text, 1, &estimate->deviation[j], ",");
        td_text_append(&text, "\n", 1);
    }
    tdStatus status = write_text(folder, "loads.csv", &text, error);
    text.size = 0;
    td_text_format(&text, "x0 [m],y0 [m],z0 [m],x [m],y [m],z [m],fitted.x [m],fitted.y [m],fitted.z [m],error [m]\n");
    for (int i = 0; i < marks->n; i++)
    {
        const double *measured = marks->measured + 3 * i, *fitted = estimate->fitted + 3 * i;
        double miss = hypot(hypot(measured[0] - fitted[0], measured[1] - fitted[1]), measured[2] - fitted[2]);
        put_numbers(&text, 3, marks->rest + 3 * i, "");
        put_numbers(&text, 3, measured, ",");
        put_numbers(&text, 3, fitted, ",");
        put_numbers(&text, 1, &miss, ",");
        td_text_append(&text, "\n", 1);
    }
    if (status == TD_OK)
        status = write_text(folder, "points.csv", &text, error);
    free(text.data);
    return status;
}
