// SPDX-License-Identifier: Apache-2.0
// tendril demo: the first thing to try. Simulates the shipped scenes and draws them.
#include "base/file.h"
#include "body/soft.h"
#include "render/render.h"
#include "simulate.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] = "usage: tendril demo [--out DIR] [--scenes DIR]\n\n"
                           "Simulates the shipped examples, a beam under its weight and a block that is pressed and\n"
                           "sheared, and writes pictures and files for ParaView. Takes some seconds.\n\n"
                           "  --out DIR     where to write (default: out/demo)\n"
                           "  --scenes DIR  where the scenes are (default: those that came with the program)\n"
                           "  --json        print one JSON object instead of the table\n"
                           "  --quiet       no progress\n\n"
                           "example: tendril demo && paraview out/demo/beam/run.pvd\n";

static const char *const scenes[] = {"beam", "block"};
enum
{
    N_SCENES = sizeof scenes / sizeof scenes[0]
};

/// A scene and what came of it.
typedef struct demoRun
{
    const char *name;
    char folder[PATH_MAX], picture[PATH_MAX];
    tdModel *model;
    tdState *state;
    simResult result;
    double largest_stress; ///< von Mises, at nodes [Pa]
    double largest_way;    ///< of a node [m]
} demoRun;

// ---------------------------------------------------------------- scenes

static bool has_scenes(const char *folder)
{
    char path[PATH_MAX];
    for (int i = 0; i < N_SCENES; i++)
    {
        int n = snprintf(path, sizeof path, "%s/%s.yaml", folder, scenes[i]);
        if (n < 0 || (size_t)n >= sizeof path || access(path, R_OK) != 0)
            return false;
    }
    return true;
}

// Beside the build folder in the source tree, or where the installation puts them.
static bool find_scenes(char *out, size_t size)
{
    static const char *const places[] = {"../scenes", "../share/tendril/scenes", "../../scenes"};
    char program[PATH_MAX], folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return false;
    program[length] = '\0';
    td_path_folder(folder, sizeof folder, program);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
    {
        int n = snprintf(out, size, "%s/%s", folder, places[i]);
        if (n > 0 && (size_t)n < size && has_scenes(out))
            return true;
    }
    return false;
}

// ---------------------------------------------------------------- picture

// Means over the elements at a node, weighted by volume: what an element holds is constant in it.
static tdStatus stress_at_nodes(demoRun *run, const tdBody *body, double *stress, tdError *error)
{
    const tdSoft *soft = body->soft;
    double *by_element = td_take((size_t)body->elements + 1, sizeof(double));
    double *weight = td_take((size_t)body->nodes, sizeof(double));
    if (by_element == NULL || weight == NULL)
    {
        free(by_element);
        free(weight);
        return td_fail_memory(error, "a picture");
    }
    body->ops->fields(run->model, body, run->state, by_element, NULL);
    for (int k = 0; k < soft->n_blocks; k++)
    {
        const tdElements *block = &soft->blocks[k];
        const tdElementShape *shape = &td_element_shape[block->kind];
        int64_t stride = 4 * (int64_t)shape->nodes;
        for (int64_t i = 0; i < stride * block->batches; i++)
        {
            int64_t batch = i / stride, lane = i % 4;
            int32_t element = block->element[4 * batch + lane], node = block->nodes[i];
            double volume = 0;
            for (int p = 0; p < shape->points; p++)
                volume += block->weight[4 * (shape->points * batch + p) + lane];
            stress[node] += element < 0 ? 0 : volume * by_element[element];
            weight[node] += element < 0 ? 0 : volume;
        }
    }
    for (int64_t i = 0; i < body->nodes; i++)
    {
        stress[i] = weight[i] > 0 ? stress[i] / weight[i] : NAN;
        run->largest_stress = fmax(run->largest_stress, stress[i]);
    }
    free(by_element);
    free(weight);
    return TD_OK;
}

static void measure_way(demoRun *run, const tdBody *body)
{
    const tdSoft *soft = body->soft;
    const double *x = td_state_positions(run->model, run->state, body->index);
    for (int64_t i = 0; i < body->nodes; i++)
        run->largest_way =
            fmax(run->largest_way, hypot(hypot(x[3 * i] - soft->rest[3 * i], x[3 * i + 1] - soft->rest[3 * i + 1]),
                                         x[3 * i + 2] - soft->rest[3 * i + 2]));
}

// The body as it is, coloured by stress, and a shade of where it was.
static tdStatus draw_body(demoRun *run, const tdBody *body, const double *stress, tdError *error)
{
    const tdSoft *soft = body->soft;
    char title[128];
    snprintf(title, sizeof title, "%s: step %" PRId64 ", %g s", run->name, td_state_steps(run->state),
             td_state_time(run->state));
    tdDrawMesh shapes[2] = {td_default_draw(), td_default_draw()};
    shapes[0].x = td_state_positions(run->model, run->state, body->index);
    shapes[0].field = stress;
    shapes[0].edges = true;
    shapes[1].x = soft->rest;
    shapes[1].opacity = 0.15;
    for (int i = 0; i < 2; i++)
    {
        shapes[i].n_nodes = body->nodes;
        shapes[i].tris = soft->surface;
        shapes[i].n_tris = soft->surface_tris;
        shapes[i].features = true;
    }
    tdRenderSettings settings = td_default_render();
    settings.title = title;
    settings.legend_label = "von Mises stress";
    settings.legend_unit = "Pa";
    settings.scale_unit = "m";
    tdImage image = {0};
    TD_TRY(td_render(&settings, 2, shapes, &image, error));
    tdStatus status = td_image_write_png(&image, run->picture, error);
    td_image_free(&image);
    return status;
}

static tdStatus draw(demoRun *run, tdError *error)
{
    const tdBody *body = &run->model->bodies[0]; // each of the scenes has one
    double *stress = td_take((size_t)body->nodes, sizeof(double));
    if (stress == NULL)
        return td_fail_memory(error, "a picture");
    tdStatus status = stress_at_nodes(run, body, stress, error);
    if (status == TD_OK)
        status = draw_body(run, body, stress, error);
    measure_way(run, body);
    free(stress);
    return status;
}

// ---------------------------------------------------------------- the command

static tdStatus run_scene(const char *from, const char *to, demoRun *run, tdError *error)
{
    char scene[PATH_MAX];
    if (snprintf(scene, sizeof scene, "%s/%s.yaml", from, run->name) >= (int)sizeof scene ||
        snprintf(run->folder, sizeof run->folder, "%s/%s", to, run->name) >= (int)sizeof run->folder ||
        snprintf(run->picture, sizeof run->picture, "%s/%s.png", to, run->name) >= (int)sizeof run->picture)
        return td_fail_at(error, TD_ERROR_USAGE, to, 0, NULL, "the path is too long");
    tdSettings settings = cli_settings();
    TD_TRY(td_model_load(scene, &settings, &run->model, error));
    TD_TRY(td_state_create(run->model, &settings, &run->state, error));
    const simOptions options = {.what = run->name,
                                .until = td_model_steps(run->model),
                                .out = run->folder,
                                .every = run->model->scene.output.every};
    TD_TRY(sim_run(run->model, run->state, &options, &run->result, error));
    if (run->result.end == SIM_FAILED)
    {
        *error = run->result.error;
        return error->status;
    }
    return draw(run, error);
}

static void print_row(const demoRun *run)
{
    const simResult *result = &run->result;
    printf("%-8s %8d %9d %6" PRId64 " %8.2f %10.2f %12.4g %15.4g   %s\n", run->name, td_model_body_nodes(run->model, 0),
           td_model_body_elements(run->model, 0), result->totals.steps, result->wall_s,
           result->wall_s > 0 ? result->simulated_s / result->wall_s : 0, 1e3 * run->largest_way,
           1e-3 * run->largest_stress, run->picture);
}

static void json_row(tdJson *json, const demoRun *run)
{
    const simResult *result = &run->result;
    td_json_open(json, NULL, '{');
    td_json_string(json, "scene", run->name);
    td_json_integer(json, "nodes", td_model_body_nodes(run->model, 0));
    td_json_integer(json, "elements", td_model_body_elements(run->model, 0));
    td_json_integer(json, "steps", result->totals.steps);
    td_json_number(json, "wall_s", result->wall_s);
    td_json_number(json, "realtime_rate", result->wall_s > 0 ? result->simulated_s / result->wall_s : 0);
    td_json_number(json, "largest_displacement", run->largest_way);
    td_json_number(json, "largest_von_mises", run->largest_stress);
    td_json_string(json, "picture", run->picture);
    td_json_string(json, "folder", run->folder);
    td_json_close(json, '}');
}

// Runs all scenes, printing as they end. Returns the exit code.
static int run_all(const char *from, const char *to, tdJson *json)
{
    if (!cli_json())
        printf("%-8s %8s %9s %6s %8s %10s %12s %15s   %s\n", "scene", "nodes", "elements", "steps", "wall [s]",
               "real time", "moved [mm]", "stress [kPa]", "picture");
    int code = 0;
    for (int i = 0; i < N_SCENES && code == 0; i++)
    {
        demoRun run = {.name = scenes[i]};
        tdError error = {0};
        tdStatus status = run_scene(from, to, &run, &error);
        if (status != TD_OK)
            code = cli_fail(&error);
        else if (cli_json())
            json_row(json, &run);
        else
            print_row(&run);
        fflush(stdout);
        if (status == TD_OK)
            code = sim_exit_code(&run.result);
        td_state_free(run.state);
        td_model_free(run.model);
    }
    return code;
}

int cmd_demo(int argc, char **argv)
{
    const char *out = "out/demo", *from = NULL;
    const cliOption options[] = {{"--out", &out, NULL}, {"--scenes", &from, NULL}};
    int code = cli_parse(argc, argv, help, options, 2, NULL, 0, 0);
    if (code >= 0)
        return code;
    char folder[PATH_MAX];
    if (out[0] == '\0')
        return cli_usage("--out takes a folder, not an empty text");
    if (from == NULL)
    {
        if (!find_scenes(folder, sizeof folder))
            return cli_usage("the scenes beam.yaml and block.yaml were not found beside the program; "
                             "name their folder with --scenes DIR");
        from = folder;
    }
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "out", out);
    td_json_open(&json, "runs", '[');
    code = run_all(from, out, &json);
    td_json_close(&json, ']');
    td_json_close(&json, '}');
    if (cli_json())
        cli_print_json(&json);
    else if (code == 0)
        printf("\nFrames for ParaView are in %s/beam/run.pvd and %s/block/run.pvd.\n", out, out);
    free(json.text.data);
    return code;
}
