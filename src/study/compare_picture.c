// SPDX-License-Identifier: Apache-2.0
// What a comparison writes: errors over time, shapes on top of each other, errors as colours, errors against
// speed.
#include "study/compare.h"

#include "output/csv.h"
#include "render/plot.h"
#include "study/picture.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PLOTTED 3 // errors in the plot: more could not be told apart

static tdStatus join(char path[PATH_MAX], const char *folder, const char *name, tdError *error)
{
    if (!td_path_join(path, PATH_MAX, folder, name))
        return td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "the path is too long");
    return TD_OK;
}

// ---------------------------------------------------------------- errors.csv

void td_compare_plain_name(const char *name, char *out, size_t size)
{
    size_t n = 0;
    for (; *name != '\0' && n + 1 < size; name++)
        if (strchr("(),\"", *name) == NULL)
            out[n++] = *name;
    out[n] = '\0';
}

static tdStatus write_errors(const tdComparison *run, const char *folder, tdError *error)
{
    tdText header = {0};
    int n = (run->n - 1) * run->n_errors;
    double *row = td_take((size_t)n, sizeof *row);
    tdCsv *csv = NULL;
    for (int i = 1; i < run->n; i++)
        for (int k = 0; k < run->n_errors; k++)
        {
            char name[sizeof run->models[i].name], suffix[200];
            td_compare_plain_name(run->models[i].name, name, sizeof name);
            snprintf(suffix, sizeof suffix, " %.150s", td_comparison_error_name(run, k));
            td_csv_title(&header, name, suffix, "");
        }
    tdStatus status = row == NULL || header.failed ? td_fail_memory(error, "errors.csv")
                                                   : td_csv_open(folder, "errors.csv", &header, -1, &csv, error);
    for (int64_t s = 0; s < run->steps && status == TD_OK; s++)
    {
        for (int i = 1; i < run->n; i++)
            for (int k = 0; k < run->n_errors; k++)
                row[(i - 1) * run->n_errors + k] = s < run->models[i].done && run->amplitude[k] > 0
                                                       ? run->models[i].error[s * run->n_errors + k] / run->amplitude[k]
                                                       : NAN;
        status = td_csv_row(csv, s + 1, (double)(s + 1) * run->models[0].model->scheme.h, n, row, error);
    }
    tdStatus closed = td_csv_close(csv, status == TD_OK ? error : NULL);
    free(header.data);
    free(row);
    return status == TD_OK ? closed : status;
}

// ---------------------------------------------------------------- shapes

static tdStatus make_picture(const tdComparison *run, int which, tdPicture *p, tdError *error)
{
    const tdModel *model = run->models[0].model;
    TD_TRY(td_picture_add_bodies(p, model, run->models[0].state, true, error));
    memcpy(p->mesh.x, run->shape[which], 3 * (size_t)p->mesh.n_nodes * sizeof(double));
    return td_picture_surface(p, model->scene.file, error);
}

static tdDrawMesh draw(const tdPicture *p)
{
    tdDrawMesh mesh = td_default_draw();
    mesh.x = p->mesh.x;
    mesh.n_nodes = p->mesh.n_nodes;
    mesh.tris = p->tris;
    mesh.n_tris = p->n_tris;
    mesh.edge_mask = p->edge_mask;
    mesh.features = true;
    return mesh;
}

static tdStatus draw_both(const tdComparison *run, const tdPicture *full, const tdPicture *other,
                          tdRenderSettings settings, tdImage *image, tdError *error)
{
    const tdCompared *m = &run->models[run->shown];
    tdDrawMesh meshes[2] = {draw(full), draw(other)};
    tdKeyLine keys[2] = {{run->models[0].name, {0.72, 0.77, 0.84}, 1}, {m->name, {0.93, 0.42, 0.12}, 0.45}};
    char title[200];
    snprintf(title, sizeof title, "Step %lld, where they differ most", (long long)m->worst);
    for (int k = 0; k < 2; k++)
    {
        memcpy(meshes[k].colour, keys[k].colour, sizeof keys[k].colour);
        meshes[k].opacity = keys[k].opacity;
    }
    settings.title = title;
    settings.keys = keys;
    settings.n_keys = 2;
    settings.scale_unit = "m";
    return td_render(&settings, 2, meshes, image, error);
}

static tdStatus draw_error(const tdComparison *run, const tdPicture *full, tdPicture *other, tdRenderSettings settings,
                           tdImage *image, tdError *error)
{
    const tdCompared *m = &run->models[run->shown];
    int64_t n = other->mesh.n_nodes;
    other->values = td_take((size_t)n, sizeof(double));
    if (other->values == NULL)
        return td_fail_memory(error, "the error of the nodes");
    for (int64_t i = 0; i < n; i++)
        other->values[i] =
            hypot(hypot(other->mesh.x[3 * i] - full->mesh.x[3 * i], other->mesh.x[3 * i + 1] - full->mesh.x[3 * i + 1]),
                  other->mesh.x[3 * i + 2] - full->mesh.x[3 * i + 2]);
    tdDrawMesh mesh = draw(other);
    char title[200];
    mesh.field = other->values;
    snprintf(title, sizeof title, "%s at step %lld", m->name, (long long)m->worst);
    settings.title = title;
    settings.colours = TD_COLOURS_EMBER;
    settings.legend_label = "distance from full order";
    settings.legend_unit = "m";
    return td_render(&settings, 1, &mesh, image, error);
}

bool td_compare_has_shapes(const tdComparison *run)
{
    return run->shown >= 0 && run->models[run->shown].done > 0;
}

tdStatus td_compare_draw(const tdComparison *run, tdComparePicture which, const tdRenderSettings *settings,
                         tdImage *image, tdError *error)
{
    tdPicture full = {0}, other = {0};
    *image = (tdImage){0};
    tdStatus status = make_picture(run, 0, &full, error);
    if (status == TD_OK)
        status = make_picture(run, 1, &other, error);
    if (status == TD_OK)
        status = which == TD_COMPARE_SHAPES ? draw_both(run, &full, &other, *settings, image, error)
                                            : draw_error(run, &full, &other, *settings, image, error);
    td_picture_free(&full);
    td_picture_free(&other);
    return status;
}

static tdStatus draw_shapes(const tdComparison *run, const char *folder, tdError *error)
{
    static const char *const names[] = {"shapes.png", "error.png"};
    const tdRenderSettings settings = td_default_render();
    for (int i = 0; i < 2; i++)
    {
        char path[PATH_MAX];
        tdImage image = {0};
        TD_TRY(join(path, folder, names[i], error));
        TD_TRY(td_compare_draw(run, (tdComparePicture)i, &settings, &image, error));
        tdStatus status = td_image_write_png(&image, path, error);
        td_image_free(&image);
        TD_TRY(status);
    }
    return TD_OK;
}

// ---------------------------------------------------------------- errors against speed

// Models of a family, slow ones first; returns how many.
static int family(const tdComparison *run, bool hyper, int k, double *x, double *y)
{
    int n = 0;
    for (int i = 0; i < run->n; i++)
    {
        const tdCompared *m = &run->models[i];
        bool in = hyper ? m->kind == TD_COMPARE_HYPER : m->kind == TD_COMPARE_FULL || m->kind == TD_COMPARE_SCENE;
        if (!in || !(m->rate > 0) || isnan(m->mean[k]))
            continue;
        int at = n++;
        for (; at > 0 && x[at - 1] > m->rate; at--)
        {
            x[at] = x[at - 1];
            y[at] = y[at - 1];
        }
        x[at] = m->rate;
        y[at] = m->mean[k];
    }
    return n;
}

// S1 Fig. 6: relative error against steps a second, meshes joined by solid lines, reduced domains by dashed ones.
static tdStatus plot_rates(const tdComparison *run, const char *folder, tdError *error)
{
    double x[2 * MOST_PLOTTED][TD_COMPARE_MODELS], y[2 * MOST_PLOTTED][TD_COMPARE_MODELS];
    char names[2 * MOST_PLOTTED][120];
    tdSeries series[2 * MOST_PLOTTED];
    char path[PATH_MAX];
    int n = 0, probes = run->n_errors - 1; // the shape only where there are none: it is not known on other meshes
    int first = 0, end = probes == 0 ? 1 : probes < MOST_PLOTTED ? probes : MOST_PLOTTED;
    for (int k = first; k < end; k++)
        for (int hyper = 0; hyper < 2; hyper++)
        {
            int count = family(run, hyper, k, x[n], y[n]);
            if (count == 0)
                continue;
            snprintf(names[n], sizeof names[n], "%s, %.80s", hyper ? "hyper-reduced" : "full order",
                     td_comparison_error_name(run, k));
            series[n] = (tdSeries){.name = names[n],
                                   .n = count,
                                   .x = x[n],
                                   .y = y[n],
                                   .colour = k - first + 1,
                                   .marker = hyper ? TD_MARKER_CIRCLE : TD_MARKER_SQUARE,
                                   .line = hyper ? TD_LINE_DASHED : TD_LINE_SOLID};
            n++;
        }
    if (n == 0)
        return TD_OK;
    tdPanel panel = {td_default_plot(), n, series};
    panel.settings.title = "Error against speed, one thread";
    panel.settings.x_label = "steps a second";
    panel.settings.y_label = "mean error / amplitude";
    panel.settings.x_log = true;
    TD_TRY(join(path, folder, "rates.png", error));
    return td_plot_panels(1, 1, &panel, path, error);
}

tdStatus td_comparison_write(const tdComparison *run, const char *folder, tdError *error)
{
    TD_TRY(td_path_make(folder, error));
    TD_TRY(write_errors(run, folder, error));
    if (td_compare_has_shapes(run))
        TD_TRY(draw_shapes(run, folder, error));
    TD_TRY(td_compare_write_paths(run, folder, error));
    return plot_rates(run, folder, error);
}
