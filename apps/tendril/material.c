// SPDX-License-Identifier: Apache-2.0
// tendril material: laws from measurements (material_fit.c), and what the materials of a scene do.
#include "material.h"

#include "base/memory.h"
#include "base/suggest.h"
#include "describe/scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] = "usage: tendril material fit DATA.csv [options]\n"
                           "       tendril material plot SCENE [-o picture.png]\n"
                           "\n"
                           "  fit    finds the parameters of material laws that explain measured stresses\n"
                           "  plot   draws the response of a scene's materials to tension and shear\n"
                           "\n"
                           "'tendril material fit --help' and 'tendril material plot --help' explain them.\n";

static const char plot_help[] =
    "usage: tendril material plot SCENE [-o picture.png]\n"
    "\n"
    "Prints and draws the nominal stress of every material of a scene: pulled along one axis with free\n"
    "sides, along two axes, and in simple shear; with its Young's modulus and Poisson's ratio at small strain\n"
    "and the range in which the stress grows with the stretch. Meshes are not read.\n"
    "\n"
    "  -o FILE      the picture (material.png)\n"
    "  --low X      least stretch drawn (0.5)\n"
    "  --high X     largest stretch drawn (2); shear goes to this less 1\n"
    "  --json       print one JSON object, with the curves\n"
    "\n"
    "example: tendril material plot scenes/block.yaml -o block.png\n";

// ---------------------------------------------------------------- plot

typedef struct Curve
{
    double x[TD_MATERIAL_CURVE], y[TD_MATERIAL_CURVE];
} Curve;

// One material of the scene.
typedef struct Entry
{
    const tdSceneMaterial *material;
    char name[100];
    double parameters[TD_LAW_PARAMETERS], young, poisson;
    double stable[3][2];
    Curve curve[3];
} Entry;

static const tdTest drawn[3] = {TD_TEST_UNIAXIAL, TD_TEST_BIAXIAL, TD_TEST_SHEAR};

static tdStatus add_entry(const tdScene *scene, const tdSceneBody *body, const tdSceneMaterial *material,
                          const double range[2], Entry *entry, tdError *error)
{
    const tdLaw *law = td_law(material->law);
    entry->material = material;
    if (material->group != NULL)
        snprintf(entry->name, sizeof entry->name, "%.40s, group %.40s", body->name, material->group);
    else
        snprintf(entry->name, sizeof entry->name, "%.80s", body->name);
    TD_TRY(law->parameters(material, scene->file, entry->parameters, error));
    tdSpecimen specimen = {law, entry->parameters, false};
    td_law_engineering(law, entry->parameters, &entry->young, &entry->poisson);
    for (int t = 0; t < 3; t++)
    {
        bool shear = drawn[t] == TD_TEST_SHEAR;
        td_response_stable(&specimen, drawn[t], entry->stable[t]);
        td_material_curve(&specimen, drawn[t], shear ? 0 : range[0], shear ? range[1] - 1 : range[1], entry->curve[t].x,
                          entry->curve[t].y);
    }
    return TD_OK;
}

static void print_entries(int n, const Entry *entries)
{
    int wide = 8;
    for (int i = 0; i < n; i++)
        wide = (int)fmax(wide, (double)strlen(entries[i].name));
    printf("%-*s  %-19s  %10s  %6s  %-13s  %-13s  %s\n", wide, "material", "law", "E", "nu", "stable: pulled",
           "on two axes", "sheared");
    for (int i = 0; i < n; i++)
    {
        char young[32], range[3][32];
        td_material_pressure(entries[i].young, young, sizeof young);
        for (int t = 0; t < 3; t++)
            td_material_range(drawn[t], entries[i].stable[t], range[t], sizeof range[t]);
        printf("%-*s  %-19s  %10s  %6.4g  %-14s  %-13s  %s\n", wide, entries[i].name,
               td_law(entries[i].material->law)->name, young, entries[i].poisson, range[0], range[1], range[2]);
    }
    printf("\nnominal stress at a stretch of\n%-*s  %-8s", wide, "material", "test");
    const double at[] = {0.5, 0.8, 0.9, 1.1, 1.25, 1.5, 2, 3};
    for (int k = 0; k < 8; k++)
        printf("  %9.4g", at[k]);
    printf("\n");
    for (int i = 0; i < n; i++)
        for (int t = 0; t < 2; t++)
        {
            tdSpecimen specimen = {td_law(entries[i].material->law), entries[i].parameters, false};
            printf("%-*s  %-8s", wide, entries[i].name, td_test_name(drawn[t]));
            for (int k = 0; k < 8; k++)
            {
                char text[32] = "-";
                double stress;
                if (td_response(&specimen, drawn[t], at[k], &stress, NULL))
                    td_material_pressure(stress, text, sizeof text);
                printf("  %9s", text);
            }
            printf("\n");
        }
    for (int i = 0; i < n; i++)
    {
        if (entries[i].material->n_prony > 0)
            printf("%s: instantaneous; its relaxation is not drawn\n", entries[i].name);
        if (entries[i].material->has_fibre)
            printf("%s: pulled along the fibre\n", entries[i].name);
    }
}

static void print_entries_json(const tdScene *scene, const char *picture, int n, const Entry *entries)
{
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "scene", scene->file);
    td_json_string(&json, "picture", picture);
    td_json_open(&json, "materials", '[');
    for (int i = 0; i < n; i++)
    {
        td_json_open(&json, NULL, '{');
        td_json_string(&json, "name", entries[i].name);
        td_json_string(&json, "law", td_law(entries[i].material->law)->name);
        td_json_number(&json, "young", entries[i].young);
        td_json_number(&json, "poisson", entries[i].poisson);
        for (int t = 0; t < 3; t++)
        {
            td_json_open(&json, td_test_name(drawn[t]), '{');
            td_json_numbers(&json, "stable", 2, entries[i].stable[t]);
            td_json_numbers(&json, drawn[t] == TD_TEST_SHEAR ? "gamma" : "stretch", TD_MATERIAL_CURVE,
                            entries[i].curve[t].x);
            td_json_numbers(&json, "stress", TD_MATERIAL_CURVE, entries[i].curve[t].y);
            td_json_close(&json, '}');
        }
        td_json_close(&json, '}');
    }
    td_json_close(&json, ']');
    td_json_close(&json, '}');
    cli_print_json(&json);
}

static int compare_sizes(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Curves that leave the median material's range by far leave the picture, so that one does not flatten all others.
static tdStatus clip_curves(int n, Entry *entries, int t, tdError *error)
{
    double *size = td_take((size_t)n, sizeof *size);
    if (size == NULL)
        return td_fail_memory(error, "the curves");
    for (int i = 0; i < n; i++)
        for (int k = 0; k < TD_MATERIAL_CURVE; k++)
            size[i] = fmax(size[i], fabs(entries[i].curve[t].y[k]));
    qsort(size, (size_t)n, sizeof *size, compare_sizes);
    double most = 10 * size[(n - 1) / 2];
    for (int i = 0; i < n && most > 0; i++)
        for (int k = 0; k < TD_MATERIAL_CURVE; k++)
            if (fabs(entries[i].curve[t].y[k]) > most)
                entries[i].curve[t].y[k] = NAN;
    free(size);
    return TD_OK;
}

static tdStatus draw_entries(const char *path, int n, Entry *entries, tdError *error)
{
    tdSeries *series = td_take((size_t)n * 3, sizeof *series);
    if (series == NULL)
        return td_fail_memory(error, "the curves");
    tdMaterialPanel panels[3];
    tdStatus status = TD_OK;
    for (int t = 0; t < 3 && status == TD_OK; t++)
    {
        const double *x = entries[0].curve[t].x;
        status = clip_curves(n, entries, t, error);
        panels[t] =
            (tdMaterialPanel){drawn[t], n, series + (ptrdiff_t)t * n, {x[0], x[TD_MATERIAL_CURVE - 1]}, {NAN, NAN}};
        for (int i = 0; i < n; i++)
            panels[t].series[i] = (tdSeries){.name = n > 1 || t == 0 ? entries[i].name : NULL,
                                             .n = TD_MATERIAL_CURVE,
                                             .x = entries[i].curve[t].x,
                                             .y = entries[i].curve[t].y,
                                             .line = i < TD_PALETTE ? TD_LINE_SOLID : TD_LINE_DASHED};
    }
    if (status == TD_OK)
        status = td_material_draw(path, NULL, 3, panels, error);
    free(series);
    return status;
}

static tdStatus plot_scene(const tdScene *scene, const char *picture, const double range[2], tdError *error)
{
    int n = 0, filled = 0;
    for (int b = 0; b < scene->n_bodies; b++)
        n += 1 + scene->bodies[b].n_materials;
    Entry *entries = td_take((size_t)n, sizeof *entries);
    if (entries == NULL)
        return td_fail_memory(error, "the curves");
    tdStatus status = TD_OK;
    for (int b = 0; status == TD_OK && b < scene->n_bodies; b++)
    {
        const tdSceneBody *body = &scene->bodies[b];
        for (int m = -1; status == TD_OK && m < body->n_materials; m++)
            status =
                add_entry(scene, body, m < 0 ? &body->material : &body->materials[m], range, &entries[filled++], error);
    }
    if (status == TD_OK && cli_json())
        print_entries_json(scene, picture, n, entries);
    else if (status == TD_OK)
        print_entries(n, entries);
    if (status == TD_OK)
        status = draw_entries(picture, n, entries, error);
    free(entries);
    return status;
}

int material_plot(int argc, char **argv)
{
    const char *path = NULL, *picture = "material.png", *low = NULL, *high = NULL;
    const cliOption options[] = {{"-o", &picture, NULL}, {"--low", &low, NULL}, {"--high", &high, NULL}};
    int code = cli_parse(argc, argv, plot_help, options, 3, &path, 1, 1);
    if (code >= 0)
        return code;
    double range[2] = {0.5, 2};
    if ((low != NULL && !cli_number("--low", low, &range[0])) ||
        (high != NULL && !cli_number("--high", high, &range[1])))
        return TD_ERROR_USAGE;
    if (!(range[0] > 0 && range[0] <= 1 && range[1] > 1 && range[1] <= 100))
        return cli_usage("--low is > 0 and at most 1, --high > 1 and at most 100");
    char *text = NULL, folder[1024];
    size_t size = 0;
    tdError error = {0};
    tdScene scene = {0};
    td_path_folder(folder, sizeof folder, path);
    tdStatus status = td_file_read(path, &text, &size, &error);
    if (status == TD_OK)
        status = td_scene_parse(text, size, path, folder, &scene, &error);
    if (status == TD_OK)
        status = plot_scene(&scene, picture, range, &error);
    if (status == TD_OK && !cli_quiet())
        fprintf(stderr, "picture: %s\n", picture);
    td_scene_free(&scene);
    free(text);
    return status == TD_OK ? 0 : cli_fail(&error);
}

int cmd_material(int argc, char **argv)
{
    static const char *const names[2] = {"fit", "plot"};
    if (argc > 0 && strcmp(argv[0], "fit") == 0)
        return material_fit(argc - 1, argv + 1);
    if (argc > 0 && strcmp(argv[0], "plot") == 0)
        return material_plot(argc - 1, argv + 1);
    if (argc > 0 && argv[0][0] != '-')
    {
        const char *nearest = td_suggest(argv[0], names, 2);
        if (nearest != NULL)
            return cli_usage("'%s' is neither fit nor plot; did you mean '%s'?", argv[0], nearest);
        return cli_usage("'%s' is neither fit nor plot; 'tendril material --help' shows the form", argv[0]);
    }
    int code = cli_parse(argc, argv, help, NULL, 0, NULL, 0, 0);
    if (code >= 0)
        return code;
    return cli_usage("what to do is missing: tendril material fit, or tendril material plot");
}
