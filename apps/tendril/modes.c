// SPDX-License-Identifier: Apache-2.0
// tendril modes: vibration modes of a soft body, their derivatives and pictures of both.
#include "folder.h"

#include "base/timer.h"
#include "body/soft.h"
#include "reduce/modes.h"
#include "reduce/stvk.h"
#include "render/render.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tendril modes SCENE [--body NAME] [--modes N] [--derivatives N] [--basis R] [--out DIR] [--json]\n"
    "\n"
    "Vibration modes of a soft body at rest with its supports: frequencies, and shapes as pictures. Rigid motions of "
    "a\n"
    "free body are left out. Derivatives describe how a mode changes shape when another is excited; a reduced model "
    "needs\n"
    "them for large motions.\n"
    "\n"
    "  --body NAME      which body (default: the first)\n"
    "  --modes N        how many (default 10)\n"
    "  --derivatives N  of all pairs of the first N modes (default 0)\n"
    "  --basis R        singular values of a basis of R columns from modes and derivatives, and, where all elements "
    "have\n"
    "                   the law stvk, the size of its polynomials\n"
    "  --out DIR        writes frequencies.csv, modes.png and derivatives.png there\n" OUT_HELP("          ") //
    "  --deform F       largest displacement in pictures, as part of the body's size (default 0.2)\n"
    "  --threads N      default: all cores\n" CLI_SCENE_HELP "\n"
    "example: tendril modes scenes/beam.yaml --modes 8 --derivatives 4 --out modes\n";

typedef struct Task
{
    const char *folder;
    const outFolder *out;
    int body, basis;
    double deform;
    tdModesSettings wanted;
    tdSettings settings;
} Task;

// ---------------------------------------------------------------- pictures

enum
{
    TILE_WIDTH = 480,
    TILE_HEIGHT = 360,
    COLUMNS = 4,
    MOST_TILES = 24 // of a sheet
};

static double body_size(const tdSoft *soft)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int64_t i = 0; i < 3 * (int64_t)soft->n_nodes; i++)
    {
        low[i % 3] = fmin(low[i % 3], soft->rest[i]);
        high[i % 3] = fmax(high[i % 3], soft->rest[i]);
    }
    return fmax(fmax(high[0] - low[0], high[1] - low[1]), high[2] - low[2]);
}

// A shape over the translucent rest shape, coloured by displacement.
static tdStatus draw_shape(const tdSoft *soft, tdTasks *tasks, const double *u, double deform, const char *title,
                           double *work, tdImage *image, tdError *error)
{
    int64_t n = soft->n_nodes;
    double *x = work, *length = work + 3 * n, most = 0;
    bool plane = true;
    for (int64_t i = 0; i < n; i++)
    {
        const double *v = u + 3 * i;
        length[i] = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        most = fmax(most, length[i]);
        plane = plane && soft->rest[3 * i + 2] == soft->rest[2];
    }
    for (int64_t i = 0; i < 3 * n; i++)
        x[i] = soft->rest[i] + (most > 0 ? deform * body_size(soft) / most * u[i] : 0);
    tdDrawMesh meshes[2] = {td_default_draw(), td_default_draw()};
    meshes[0].x = x;
    meshes[0].n_nodes = n;
    meshes[0].tris = soft->surface;
    meshes[0].n_tris = soft->surface_tris;
    meshes[1] = meshes[0];
    meshes[0].field = length;
    meshes[0].features = meshes[1].features = true;
    meshes[1].x = soft->rest;
    meshes[1].opacity = 0.13;
    tdRenderSettings settings = td_default_render();
    settings.width = TILE_WIDTH;
    settings.height = TILE_HEIGHT;
    settings.title = title;
    settings.legend = false;
    settings.tasks = tasks;
    if (plane)
    {
        settings.view.elevation = 90;
        settings.view.azimuth = -90;
        settings.view.field_of_view = 0;
        settings.ground_shadow = false;
    }
    return td_render(&settings, 2, meshes, image, error);
}

typedef struct Sheet
{
    const tdModes *modes;
    bool derivatives;
    int count;
} Sheet;

static const double *sheet_shape(const Sheet *sheet, int tile, char *title, size_t size)
{
    const tdModes *m = sheet->modes;
    if (!sheet->derivatives)
    {
        snprintf(title, size, "mode %d: %.4g Hz", tile + 1, td_modes_frequency(m->lambda[tile]));
        return m->psi + tile * m->n;
    }
    int j = 0;
    while ((j + 1) * (j + 2) / 2 <= tile)
        j++;
    snprintf(title, size, "derivative %d, %d", tile - j * (j + 1) / 2 + 1, j + 1);
    return m->derived + tile * m->n;
}

static tdStatus draw_sheet(const tdSoft *soft, const Sheet *sheet, double deform, tdTasks *tasks, const char *path,
                           tdError *error)
{
    int columns = sheet->count < COLUMNS ? sheet->count : COLUMNS, lines = (sheet->count + columns - 1) / columns;
    tdImage whole = {0}, tile = {0};
    double *work = td_take(4 * (size_t)soft->n_nodes, sizeof *work);
    tdStatus status = work == NULL ? td_fail_memory(error, "a picture")
                                   : td_image_create(columns * TILE_WIDTH, lines * TILE_HEIGHT, &whole, error);
    for (size_t i = 0; i < 3 * (size_t)whole.width * (size_t)whole.height && status == TD_OK; i++)
        whole.rgb[i] = 255;
    for (int k = 0; k < sheet->count && status == TD_OK; k++)
    {
        char title[64];
        const double *u = sheet_shape(sheet, k, title, sizeof title);
        status = draw_shape(soft, tasks, u, deform, title, work, &tile, error);
        for (int row = 0; row < TILE_HEIGHT && status == TD_OK; row++)
            memcpy(whole.rgb + 3 * ((size_t)(k / columns * TILE_HEIGHT + row) * (size_t)whole.width +
                                    (size_t)(k % columns * TILE_WIDTH)),
                   tile.rgb + 3 * (size_t)row * TILE_WIDTH, 3 * TILE_WIDTH);
        td_image_free(&tile);
        cli_progress(sheet->derivatives ? "derivatives.png" : "modes.png", k + 1, sheet->count);
    }
    if (status == TD_OK)
        status = td_image_write_png(&whole, path, error);
    td_image_free(&whole);
    free(work);
    return status;
}

// ---------------------------------------------------------------- files

static tdStatus write_files(const Task *task, const tdSoft *soft, const tdModes *modes, tdTasks *tasks, tdError *error)
{
    char path[4096];
    tdText text = {0};
    out_clear(task->out);
    td_text_format(&text, "mode,frequency [Hz],lambda [1/s^2]\n");
    for (int i = 0; i < modes->k; i++)
        td_text_format(&text, "%d,%.17g,%.17g\n", i + 1, td_modes_frequency(modes->lambda[i]), modes->lambda[i]);
    tdStatus status = cli_write(task->folder, "frequencies.csv", &text, error);
    free(text.data);
    Sheet sheet = {.modes = modes, .count = modes->k < MOST_TILES ? modes->k : MOST_TILES};
    td_path_join(path, sizeof path, task->folder, "modes.png");
    if (status == TD_OK)
        status = draw_sheet(soft, &sheet, task->deform, tasks, path, error);
    int pairs = modes->k2 * (modes->k2 + 1) / 2;
    sheet = (Sheet){.modes = modes, .derivatives = true, .count = pairs < MOST_TILES ? pairs : MOST_TILES};
    td_path_join(path, sizeof path, task->folder, "derivatives.png");
    if (status == TD_OK && pairs > 0)
        status = draw_sheet(soft, &sheet, task->deform, tasks, path, error);
    return status;
}

// ---------------------------------------------------------------- report

static bool has_polynomials(const tdSoft *soft)
{
    for (int b = 0; b < soft->n_blocks; b++)
        if (soft->blocks[b].material.law != td_law(TD_LAW_STVK))
            return false;
    return true;
}

static void print_table(const tdSoft *soft, const char *name, const tdModes *modes, int basis, const double *sigma,
                        double seconds)
{
    printf("Body '%s': %lld elements, %d unknowns, mass %.4g kg; %d rigid modes put aside\n\n"
           "  mode  frequency [Hz]   period [s]\n",
           name, (long long)soft->elements, soft->linear.n, soft->total_mass, modes->n_rigid);
    for (int i = 0; i < modes->k; i++)
    {
        double f = td_modes_frequency(modes->lambda[i]);
        printf("  %4d %15.6g %12.4g\n", i + 1, f, 1 / f);
    }
    printf("\n  %d derivatives; largest relative residual of a mode %.1e; %d solves, %.2f s\n",
           modes->k2 * (modes->k2 + 1) / 2, modes->residual, modes->solves, seconds);
    if (basis == 0)
        return;
    printf("\n  basis of %d columns, singular values relative to the first:\n ", basis);
    for (int i = 0; i < basis; i++)
        printf(" %.2e%s", sigma[i] / sigma[0], i % 8 == 7 && i + 1 < basis ? "\n " : "");
    printf("\n");
    tdStvkCost cost = td_stvk_cost(soft, basis);
    if (has_polynomials(soft))
        printf("  polynomials of this basis: %.3g Gflop and %.3g MB to make, %.3g MB kept, %.4g kflop a step\n",
               1e-9 * cost.flops, 1e-6 * cost.bytes, 1e-6 * cost.kept, 1e-3 * td_stvk_flops(basis));
}

static void print_object(const tdSoft *soft, const char *name, const tdModes *modes, int basis, const double *sigma,
                         double seconds)
{
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "body", name);
    td_json_integer(&json, "elements", soft->elements);
    td_json_integer(&json, "dofs", soft->linear.n);
    td_json_number(&json, "mass_kg", soft->total_mass);
    td_json_string(&json, "mass", soft->consistent ? "consistent" : "lumped");
    td_json_integer(&json, "rigid_modes", modes->n_rigid);
    td_json_open(&json, "frequencies_hz", '[');
    for (int i = 0; i < modes->k; i++)
        td_json_number(&json, NULL, td_modes_frequency(modes->lambda[i]));
    td_json_close(&json, ']');
    td_json_integer(&json, "derivatives", modes->k2 * (modes->k2 + 1) / 2);
    td_json_number(&json, "residual", modes->residual);
    td_json_integer(&json, "solves", modes->solves);
    td_json_number(&json, "wall_s", seconds);
    if (basis > 0)
    {
        td_json_open(&json, "basis", '{');
        td_json_integer(&json, "columns", basis);
        td_json_numbers(&json, "singular_values", basis, sigma);
        if (has_polynomials(soft))
        {
            tdStvkCost cost = td_stvk_cost(soft, basis);
            td_json_number(&json, "polynomials_flops", cost.flops);
            td_json_number(&json, "polynomials_bytes", cost.bytes);
            td_json_number(&json, "polynomials_kept_bytes", cost.kept);
            td_json_number(&json, "step_flops", td_stvk_flops(basis));
        }
        td_json_close(&json, '}');
    }
    td_json_close(&json, '}');
    cli_print_json(&json);
}

// ---------------------------------------------------------------- command

static tdStatus find_basis(const tdSoft *soft, const tdModes *modes, tdTasks *tasks, int r, double *sigma,
                           tdError *error)
{
    double *U = td_take((size_t)modes->n * (size_t)r, sizeof *U);
    if (U == NULL)
        return td_fail_memory(error, "the basis");
    tdStatus status = td_modes_basis(modes, soft, tasks, r, NAN, TD_ORTHONORMAL_MASS, U, sigma, error);
    free(U);
    return status;
}

static tdStatus work(const Task *task, const tdModel *model, tdError *error)
{
    const tdBody *body = &model->bodies[task->body];
    tdModes modes = {0};
    tdTasks *tasks = NULL;
    double *sigma = td_take((size_t)task->basis + 1, sizeof *sigma), start = td_seconds();
    tdStatus status =
        sigma != NULL ? td_tasks_create(task->settings.threads, &tasks, error) : td_fail_memory(error, "the basis");
    if (status == TD_OK)
        status = td_modes(model, task->body, &task->settings, &task->wanted, &modes, error);
    double seconds = td_seconds() - start;
    if (status == TD_OK && task->basis > 0)
        status = find_basis(body->soft, &modes, tasks, task->basis, sigma, error);
    if (status == TD_OK && task->folder != NULL)
        status = write_files(task, body->soft, &modes, tasks, error);
    if (status == TD_OK)
        (cli_json() ? print_object : print_table)(body->soft, body->name, &modes, task->basis, sigma, seconds);
    td_modes_free(&modes);
    td_tasks_free(tasks);
    free(sigma);
    return status;
}

static int find_body(const tdModel *model, const char *name)
{
    for (int b = 0; b < model->n_bodies; b++)
        if (name == NULL || strcmp(model->bodies[b].name, name) == 0)
            return b;
    return -1;
}

int cmd_modes(int argc, char **argv)
{
    const char *scene = NULL, *body = NULL, *modes = "10", *derivatives = "0", *basis = "0", *deform = "0.2",
               *threads = "0";
    Task task = {.settings = cli_settings(), .wanted = td_default_modes()};
    const cliOption options[] = {
        {"--body", &body, NULL},       {"--modes", &modes, NULL}, {"--derivatives", &derivatives, NULL},
        {"--basis", &basis, NULL},     OUT_OPTIONS(task.folder),  {"--deform", &deform, NULL},
        {"--threads", &threads, NULL}, CLI_SCENE_OPTIONS};
    int code = cli_parse(argc, argv, help, options, (int)(sizeof options / sizeof options[0]), &scene, 1, 1);
    long n = 0, n_derivatives = 0, columns = 0, n_threads = 0;
    if (code >= 0)
        return code;
    if (!cli_integer("--modes", modes, 1, &n) || !cli_integer("--derivatives", derivatives, 0, &n_derivatives) ||
        !cli_integer("--basis", basis, 0, &columns) || !cli_integer("--threads", threads, 0, &n_threads) ||
        !cli_number("--deform", deform, &task.deform))
        return TD_ERROR_USAGE;
    if (n > 10000 || n_derivatives > n)
        return cli_usage("--modes is at most 10000, and --derivatives at most as many");
    if (columns > n + n_derivatives * (n_derivatives + 1) / 2)
        return cli_usage("--basis %ld requests more columns than there are modes and derivatives", columns);
    task.wanted.modes = (int)n;
    task.wanted.derivatives = (int)n_derivatives;
    task.basis = (int)columns;
    task.settings.threads = (int)n_threads;
    static const char *const names[] = {"frequencies.csv", "modes.png", "derivatives.png", NULL};
    outFolder folder;
    code = out_take(&folder, task.folder, names, false);
    if (code >= 0)
        return code;
    task.out = &folder;
    tdModel *model = NULL;
    tdError error = {0};
    tdStatus status = td_model_load(scene, &task.settings, &model, &error);
    task.body = status == TD_OK ? find_body(model, body) : 0;
    if (task.body < 0)
        code = cli_usage("the scene has no body '%s'", body);
    else if (status != TD_OK || work(&task, model, &error) != TD_OK)
        code = cli_fail(&error);
    else
        code = 0;
    td_model_free(model);
    out_release(&folder);
    return code;
}
