// SPDX-License-Identifier: Apache-2.0
// tendril bench stvk: force and stiffness of a reduced St. Venant-Kirchhoff body from its polynomials, for 5 to 40
// modes and from meshes of 1,000 and 100,000 tetrahedra, and what making the polynomials costs.
#include "bench.h"

#include "base/timer.h"
#include "body/soft.h"
#include "reduce/stvk.h"
#include "render/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum
{
    SIZES = 8,      // 5, 10, ... 40 modes
    MOST = 40,      // modes
    MESHES = 2,     // few and many elements
    MADE_MODES = 20 // of which polynomials are made from both meshes
};

typedef struct row
{
    int r;
    spread us[TD_ISAS]; // microseconds an evaluation
} row;

static spread measure(const tdStvk *stvk, tdIsa isa, int runs, double *scratch)
{
    tdStvkKernel kernel = td_stvk_kernel(isa);
    double times[BENCH_MOST_RUNS], q[MOST], f[MOST], *K = scratch + td_stvk_scratch(MOST);
    for (int i = 0; i < stvk->r; i++)
        q[i] = 1.0 / (1 + i);
    // Long against the clock's resolution, short against the slices of a busy machine.
    int burst = (int)fmax(2, fmin(1000, 3e6 / td_stvk_flops(stvk->r)));
    for (int run = -2; run < runs; run++) // two to warm up
    {
        double start = td_seconds();
        for (int k = 0; k < burst; k++)
        {
            kernel(stvk, q, scratch, f, K, stvk->r, NULL);
            q[0] = 1 + 1e-9 * (f[0] > 0); // one after the other, as steps are
        }
        if (run >= 0)
            times[run] = (td_seconds() - start) * 1e6 / burst;
    }
    return bench_spread(times, runs);
}

// Polynomials without a body: their cost depends on r alone.
static tdStatus make_plain(int r, tdStvk *out, tdError *error)
{
    size_t n = (size_t)td_stvk_quadruples(r);
    double *values = td_take(n, sizeof *values);
    if (values == NULL)
        return td_fail_memory(error, "the polynomials");
    for (size_t i = 0; i < n; i++)
        values[i] = 1.0 / (double)(1 + i % 97);
    tdStatus status = td_stvk_set(r, values, values, values, out, error);
    free(values);
    return status;
}

// Smooth fields on a beam: what they are does not matter to the time.
static double *smooth_basis(const tdSoft *soft, int r)
{
    double *basis = td_take(3 * (size_t)soft->n_nodes * (size_t)r, sizeof *basis);
    for (int64_t i = 0; i < 3 * (int64_t)soft->n_nodes && basis != NULL; i++)
        for (int k = 0; k < r; k++)
        {
            int wave = 1 + k / 3;
            bool along = k % 3 == i % 3 && !soft->held[i];
            basis[i * r + k] = along ? sin(6.0 * wave * soft->rest[i / 3 * 3]) : 0;
        }
    return basis;
}

static tdStatus bench_mesh(int cells, int runs, const tdSettings *settings, bool print, tdJson *json, double *scratch,
                           spread *evaluation, tdError *error)
{
    tdText text = {0};
    tdModel *model = NULL;
    tdTasks *tasks = NULL;
    tdStvk stvk = {0};
    td_text_format(&text,
                   "tendril: 1\ntime_step: 10 ms\nsteps: 1\nbodies:\n  - name: beam\n    fixed: [{group: xmin}]\n"
                   "    mesh: {box: [[0, 0, 0], [0.24, 0.02, 0.02]], cells: [%d, %d, %d]}\n"
                   "    material: {law: stvk, young: 450 kPa, poisson: 0.4, density: 1070}\n",
                   12 * cells, cells, cells);
    tdStatus status = text.failed
                          ? td_fail_memory(error, "the scene")
                          : td_model_parse(text.data, (size_t)text.size, "bench", NULL, settings, &model, error);
    free(text.data);
    if (status == TD_OK)
        status = td_tasks_create(settings->threads, &tasks, error);
    const tdSoft *soft = status == TD_OK ? model->bodies[0].soft : NULL;
    double *basis = soft != NULL ? smooth_basis(soft, MADE_MODES) : NULL, start = td_seconds();
    if (status == TD_OK)
        status = basis == NULL ? td_fail_memory(error, "the basis")
                               : td_stvk_create(soft, tasks, MADE_MODES, basis, TD_STVK_MEMORY, &stvk, error);
    if (status == TD_OK)
    {
        double seconds = td_seconds() - start;
        tdStvkCost cost = td_stvk_cost(soft, MADE_MODES);
        *evaluation = measure(&stvk, td_isa_pick(false), runs, scratch);
        td_json_open(json, NULL, '{');
        td_json_integer(json, "elements", soft->elements);
        td_json_integer(json, "modes", MADE_MODES);
        td_json_number(json, "make_s", seconds);
        td_json_number(json, "make_flops", cost.flops);
        td_json_number(json, "make_bytes", cost.bytes);
        td_json_number(json, "kept_bytes", cost.kept);
        bench_json_spread(json, "evaluate_us", *evaluation);
        td_json_close(json, '}');
        if (print)
            printf("  %8lld elements, %d modes: made in %.2f s (%.1f Gflop/s, %.1f MB), evaluated in %.2f us (%.2f to "
                   "%.2f)\n",
                   (long long)soft->elements, MADE_MODES, seconds, 1e-9 * cost.flops / seconds, 1e-6 * cost.bytes,
                   evaluation->median, evaluation->low, evaluation->high);
    }
    td_stvk_free(&stvk);
    free(basis);
    td_tasks_free(tasks);
    td_model_free(model);
    return status;
}

static tdStatus plot(const row *rows, const char *folder, tdError *error)
{
    char path[4096];
    double r[SIZES], us[TD_ISAS][SIZES], law[SIZES];
    int best = (int)td_isa_pick(false);
    for (int k = 0; k < SIZES; k++)
    {
        r[k] = rows[k].r;
        law[k] = rows[SIZES - 1].us[best].median * pow(r[k] / rows[SIZES - 1].r, 4);
        for (int isa = 0; isa <= best; isa++)
            us[isa][k] = rows[k].us[isa].median;
    }
    tdSeries series[3] = {{.name = "r^4", .n = SIZES, .x = r, .y = law, .line = TD_LINE_DASHED, .colour = -1}};
    int n = 1;
    for (int isa = best; isa >= 0; isa--)
        series[n++] = (tdSeries){.name = isa == TD_ISA_PORTABLE ? "portable" : "AVX2",
                                 .n = SIZES,
                                 .x = r,
                                 .y = us[isa],
                                 .marker = isa == TD_ISA_PORTABLE ? TD_MARKER_SQUARE : TD_MARKER_CIRCLE};
    tdPlotSettings settings = td_default_plot();
    settings.title = "Force and stiffness of a reduced St. Venant-Kirchhoff body, one core";
    settings.x_label = "modes";
    settings.y_label = "microseconds";
    settings.x_log = settings.y_log = true;
    tdImage image = {0};
    TD_TRY(td_plot(&settings, n, series, &image, error));
    td_path_join(path, sizeof path, folder, "stvk.png");
    tdStatus status = td_image_write_png(&image, path, error);
    td_image_free(&image);
    return status;
}

static tdStatus bench_sizes(int runs, bool print, tdJson *json, double *scratch, row *rows, tdError *error)
{
    int best = (int)td_isa_pick(false);
    if (print)
        printf("Reduced St. Venant-Kirchhoff: force and stiffness from polynomials, one core (median of %d runs)\n\n"
               "  modes   kflop      AVX2 us (least to most)  Gflop/s     portable us  Gflop/s\n",
               runs);
    td_json_open(json, "evaluation", '[');
    for (int k = 0; k < SIZES; k++)
    {
        tdStvk stvk;
        rows[k].r = 5 * (k + 1);
        TD_TRY(make_plain(rows[k].r, &stvk, error));
        double flops = td_stvk_flops(rows[k].r);
        for (int isa = 0; isa <= best; isa++)
            rows[k].us[isa] = measure(&stvk, (tdIsa)isa, runs, scratch);
        td_stvk_free(&stvk);
        cli_progress("bench stvk", k + 1, SIZES);
        td_json_open(json, NULL, '{');
        td_json_integer(json, "modes", rows[k].r);
        td_json_number(json, "flops", flops);
        for (int isa = 0; isa <= best; isa++)
        {
            bench_json_spread(json, isa == TD_ISA_PORTABLE ? "portable_us" : "avx2_us", rows[k].us[isa]);
            td_json_number(json, isa == TD_ISA_PORTABLE ? "portable_gflops" : "avx2_gflops",
                           1e-3 * flops / rows[k].us[isa].median);
        }
        td_json_close(json, '}');
        spread portable = rows[k].us[TD_ISA_PORTABLE], fast = rows[k].us[best];
        if (print)
            printf("  %5d %7.1f %8.2f (%.2f to %.2f) %13.1f %14.2f %8.1f\n", rows[k].r, 1e-3 * flops, fast.median,
                   fast.low, fast.high, 1e-3 * flops / fast.median, portable.median, 1e-3 * flops / portable.median);
    }
    td_json_close(json, ']');
    return TD_OK;
}

tdStatus bench_stvk(int runs, const tdSettings *settings, const char *folder, bool print, tdJson *json, tdError *error)
{
    static const int cells[MESHES] = {2, 11}; // 576 and 95,832 tetrahedra
    row rows[SIZES];
    spread evaluation[MESHES];
    double *scratch = td_take((size_t)td_stvk_scratch(MOST) + MOST * MOST, sizeof *scratch);
    if (scratch == NULL)
        return td_fail_memory(error, "the scratch of an evaluation");
    td_json_open(json, "stvk", '{');
    tdStatus status = bench_sizes(runs, print, json, scratch, rows, error);
    if (status == TD_OK && print)
        printf("\n");
    td_json_open(json, "meshes", '[');
    for (int m = 0; m < MESHES && status == TD_OK; m++)
        status = bench_mesh(cells[m], runs, settings, print, json, scratch, &evaluation[m], error);
    td_json_close(json, ']');
    if (status == TD_OK)
        td_json_number(json, "time_ratio_of_meshes", evaluation[1].median / evaluation[0].median);
    td_json_close(json, '}');
    free(scratch);
    return status == TD_OK && folder != NULL ? plot(rows, folder, error) : status;
}
