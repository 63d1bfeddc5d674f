// SPDX-License-Identifier: Apache-2.0
// Paths of the probes, in each model: for robots that travel, whose way is what matters (S1 section IV-B).
#include "study/compare.h"

#include "output/csv.h"
#include "render/plot.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_PROBES 2 // in the plot

static const double *place_of(const tdComparison *run, const tdCompared *m, int64_t step, int probe)
{
    return m->path + 3 * (step * (run->n_errors - 1) + probe);
}

static tdStatus write_csv(const tdComparison *run, const char *folder, tdError *error)
{
    const tdModel *model = run->models[0].model;
    tdText header = {0};
    int n = 3 * run->n * model->n_probes;
    double *row = td_take((size_t)n, sizeof *row);
    tdCsv *csv = NULL;
    for (int i = 0; i < run->n; i++)
        for (int k = 0; k < 3 * model->n_probes; k++)
        {
            char name[sizeof run->models[i].name], suffix[200];
            td_compare_plain_name(run->models[i].name, name, sizeof name);
            snprintf(suffix, sizeof suffix, " %.150s_%c", model->probes[k / 3].name, "xyz"[k % 3]);
            td_csv_title(&header, name, suffix, "m");
        }
    tdStatus status = row == NULL || header.failed ? td_fail_memory(error, "paths.csv")
                                                   : td_csv_open(folder, "paths.csv", &header, -1, &csv, error);
    for (int64_t s = 0; s < run->steps && status == TD_OK; s++)
    {
        for (int k = 0; k < n; k++)
        {
            const tdCompared *m = &run->models[k / (3 * model->n_probes)];
            int part = k % (3 * model->n_probes);
            row[k] = s < m->done ? place_of(run, m, s, part / 3)[part % 3] : NAN;
        }
        status = td_csv_row(csv, s + 1, (double)(s + 1) * model->scheme.h, n, row, error);
    }
    tdStatus closed = td_csv_close(csv, status == TD_OK ? error : NULL);
    free(header.data);
    free(row);
    return status == TD_OK ? closed : status;
}

// On which the probes of the reference go farthest.
static int longest_axis(const tdComparison *run)
{
    const tdCompared *full = &run->models[0];
    double most[3] = {0, 0, 0};
    for (int64_t s = 0; s < full->done; s++)
        for (int p = 0; p < full->model->n_probes && p < MOST_PROBES; p++)
            for (int c = 0; c < 3; c++)
                most[c] = fmax(most[c], fabs(place_of(run, full, s, p)[c]));
    int axis = most[1] > most[0] ? 1 : 0;
    return most[2] > most[axis] ? 2 : axis;
}

static tdStatus plot(const tdComparison *run, const char *folder, tdError *error)
{
    const tdModel *model = run->models[0].model;
    int probes = model->n_probes < MOST_PROBES ? model->n_probes : MOST_PROBES, n = 0, axis = longest_axis(run);
    tdSeries *series = td_take((size_t)(run->n * probes), sizeof *series);
    char(*names)[160] = td_take((size_t)(run->n * probes), sizeof *names), path[PATH_MAX], label[32];
    double *x = td_take((size_t)run->steps, sizeof *x);
    double *y = td_take((size_t)(run->n * probes) * (size_t)run->steps, sizeof *y);
    bool good = series != NULL && names != NULL && x != NULL && y != NULL;
    for (int64_t s = 0; s < run->steps && good; s++)
        x[s] = (double)(s + 1) * model->scheme.h;
    for (int i = 0; i < run->n && good; i++)
        for (int p = 0; p < probes; p++, n++)
        {
            const tdCompared *m = &run->models[i];
            double *to = y + n * run->steps;
            for (int64_t s = 0; s < run->steps; s++)
                to[s] = s < m->done ? 1e3 * place_of(run, m, s, p)[axis] : NAN;
            snprintf(names[n], sizeof names[n], "%.90s, %.60s", m->name, model->probes[p].name);
            series[n] = (tdSeries){.name = names[n],
                                   .n = run->steps,
                                   .x = x,
                                   .y = to,
                                   .colour = 1 + n % TD_PALETTE,
                                   .line = i == 0 ? TD_LINE_SOLID : TD_LINE_DASHED};
        }
    tdStatus status = good ? TD_OK : td_fail_memory(error, "paths.png");
    if (status == TD_OK && !td_path_join(path, sizeof path, folder, "paths.png"))
        status = td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "the path is too long");
    if (status == TD_OK)
    {
        tdPanel panel = {td_default_plot(), n, series};
        snprintf(label, sizeof label, "displacement along %c [mm]", "xyz"[axis]);
        panel.settings.title = "Paths of the probes";
        panel.settings.x_label = "time [s]";
        panel.settings.y_label = label;
        status = td_plot_panels(1, 1, &panel, path, error);
    }
    free(series);
    free(names);
    free(x);
    free(y);
    return status;
}

tdStatus td_compare_write_paths(const tdComparison *run, const char *folder, tdError *error)
{
    if (run->models[0].model->n_probes == 0 || run->steps < 2)
        return TD_OK;
    TD_TRY(write_csv(run, folder, error));
    return plot(run, folder, error);
}
