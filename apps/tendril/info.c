// SPDX-License-Identifier: Apache-2.0
// tendril info FILE: the mesh doctor's report, for people or as JSON.
#include "cli.h"

#include "mesh/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tendril info FILE [--plot PNG] [--json]\n"
    "\n"
    "Examines a mesh (.msh, .vtk, .vtu, .stl, .obj, .ply, .dae): counts, size, volume, groups, quality of\n"
    "its cells, and a list of problems with advice. The exit code is 0 if the file could be read,\n"
    "even if the mesh has problems; with --json, \"usable\" says whether it can be simulated.\n"
    "\n"
    "For a scene (.yaml) it prints the same as 'tendril check'. For a reduced model (.h5) it prints\n"
    "a description; --plot draws its singular values.\n"
    "\n"
    "Quality is 1 for a regular cell and 0 for a flat or inverted one. Numbers of nodes and\n"
    "cells start at 0.\n"
    "\n"
    "  tendril info arm.msh\n"
    "  tendril info cavity.stl --json\n"
    "  tendril info robot.h5 --plot modes.png\n";

static bool usable(const tdMeshReport *r)
{
    for (int i = 0; i < r->n_problems; i++)
        if (r->problem[i].blocks)
            return false;
    return true;
}

static int64_t group_total(const tdGroup *group)
{
    int64_t total = 0;
    for (int t = 0; t < TD_CELL_TYPES; t++)
        total += group->count[t];
    return total;
}

// ---------------------------------------------------------------- text

static void print_quality(const tdMeshReport *r, tdCellType type)
{
    static const char bar[] = "##################################################";
    const tdQuality *q = &r->quality[type];
    printf("quality of the %s: least %.4f (number %lld), mean %.4f\n", td_cell_name(type), q->min, (long long)q->worst,
           q->mean);
    int64_t most = 1;
    for (int b = 0; b < TD_REPORT_BINS; b++)
        most = q->bins[b] > most ? q->bins[b] : most;
    for (int b = 0; b < TD_REPORT_BINS; b++)
    {
        int length = (int)((double)q->bins[b] / (double)most * (double)(sizeof bar - 1));
        if (length == 0 && q->bins[b] > 0)
            length = 1; // a single bad cell must be seen
        printf("  %.1f to %.1f %9lld %s%.*s\n", b / 10.0, (b + 1) / 10.0, (long long)q->bins[b], length > 0 ? " " : "",
               length, bar);
    }
}

static void print_cells(const char *title, const tdCellList *list)
{
    if (list->count == 0)
        return;
    printf("%s:", title);
    for (int i = 0; i < list->n; i++)
    {
        bool named = i > 0 && list->type[i] == list->type[i - 1];
        printf("%s%s%s %lld", i > 0 ? "," : "", named ? "" : " ", named ? "" : td_cell_name(list->type[i]),
               (long long)list->cell[i]);
    }
    if (list->count > list->n)
        printf(" and %lld more", (long long)(list->count - list->n));
    puts("");
}

static void print_groups(const tdMesh *mesh)
{
    if (mesh->n_groups == 0)
        return;
    puts("groups:");
    for (int g = 0; g < mesh->n_groups; g++)
    {
        const tdGroup *group = &mesh->groups[g];
        printf("  %-20s", group->name);
        const char *separator = " ";
        for (int t = 0; t < TD_CELL_TYPES; t++)
            if (group->count[t] > 0)
            {
                printf("%s%lld %s", separator, (long long)group->count[t], td_cell_name((tdCellType)t));
                separator = ", ";
            }
        puts(group_total(group) == 0 ? " empty" : "");
    }
}

static void print_surface(const tdMeshReport *r)
{
    if (r->dim < 2)
        return;
    const tdSurfaceCheck *s = &r->surface;
    printf("%s: %lld triangles, %s", r->dim == 3 ? "boundary" : "surface", (long long)r->boundary_tris,
           s->closed ? "closed" : "not closed");
    if (!s->closed)
        printf(" (%lld open, %lld non-manifold, %lld inconsistent of %lld edges)", (long long)s->open,
               (long long)s->crowded, (long long)s->flipped, (long long)s->n_edges);
    puts("");
}

static void print_report(const char *path, const tdMesh *mesh, const tdMeshReport *r)
{
    printf("%s: %lld nodes", path, (long long)r->n_nodes);
    for (int t = 0; t < TD_CELL_TYPES; t++)
        if (r->count[t] > 0)
            printf(", %lld %s", (long long)r->count[t], td_cell_name((tdCellType)t));
    puts("");
    printf("box: (%g, %g, %g) to (%g, %g, %g), diagonal %g\n", r->min[0], r->min[1], r->min[2], r->max[0], r->max[1],
           r->max[2], r->diagonal);
    printf("volume: %.6g   area: %.6g   parts: %lld\n", r->volume, r->area, (long long)r->components);
    print_surface(r);
    printf("edges: least %.4g, mean %.4g, largest %.4g\n", r->edge_min, r->edge_mean, r->edge_max);
    print_groups(mesh);
    for (int t = 0; t < TD_CELL_TYPES; t++)
        if (r->quality[t].count > 0 && td_cell_dim((tdCellType)t) == r->dim)
            print_quality(r, (tdCellType)t);
    print_cells("inverted", &r->inverted);
    print_cells("degenerate", &r->degenerate);
    print_cells("repeated", &r->duplicate);
    if (mesh->notes != NULL)
        printf("skipped by the reader:\n%s", mesh->notes);
    if (r->n_problems == 0)
        puts("problems: none");
    else
        puts("problems:");
    for (int i = 0; i < r->n_problems; i++)
        printf("  - %s%s;\n    %s\n", r->problem[i].blocks ? "" : "(note) ", r->problem[i].what, r->problem[i].advice);
}

// ---------------------------------------------------------------- JSON

static void json_cells(tdJson *json, const char *key, const tdCellList *list)
{
    td_json_open(json, key, '{');
    td_json_integer(json, "count", list->count);
    td_json_open(json, "first", '[');
    for (int i = 0; i < list->n; i++)
    {
        td_json_open(json, NULL, '{');
        td_json_string(json, "type", td_cell_name(list->type[i]));
        td_json_integer(json, "cell", list->cell[i]);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
    td_json_close(json, '}');
}

static void json_quality(tdJson *json, const tdMeshReport *r)
{
    td_json_open(json, "quality", '{');
    for (int t = 0; t < TD_CELL_TYPES; t++)
    {
        const tdQuality *q = &r->quality[t];
        if (q->count == 0)
            continue;
        td_json_open(json, td_cell_name((tdCellType)t), '{');
        td_json_number(json, "min", q->min);
        td_json_number(json, "mean", q->mean);
        td_json_integer(json, "worst", q->worst);
        td_json_open(json, "histogram", '[');
        for (int b = 0; b < TD_REPORT_BINS; b++)
            td_json_integer(json, NULL, q->bins[b]);
        td_json_close(json, ']');
        td_json_close(json, '}');
    }
    td_json_close(json, '}');
}

static void json_groups(tdJson *json, const tdMesh *mesh)
{
    td_json_open(json, "groups", '[');
    for (int g = 0; g < mesh->n_groups; g++)
    {
        td_json_open(json, NULL, '{');
        td_json_string(json, "name", mesh->groups[g].name);
        td_json_integer(json, "dim", mesh->groups[g].dim);
        td_json_integer(json, "tag", mesh->groups[g].tag);
        td_json_integer(json, "cells", group_total(&mesh->groups[g]));
        for (int t = 0; t < TD_CELL_TYPES; t++)
            if (mesh->groups[g].count[t] > 0)
                td_json_integer(json, td_cell_name((tdCellType)t), mesh->groups[g].count[t]);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
}

static void json_surface(tdJson *json, const tdMeshReport *r)
{
    td_json_open(json, "boundary", '{');
    td_json_integer(json, "triangles", r->boundary_tris);
    td_json_bool(json, "closed", r->surface.closed);
    td_json_integer(json, "edges", r->surface.n_edges);
    td_json_integer(json, "open_edges", r->surface.open);
    td_json_integer(json, "non_manifold_edges", r->surface.crowded);
    td_json_integer(json, "inconsistent_edges", r->surface.flipped);
    td_json_integer(json, "faces_of_more_than_two_cells", r->crowded_faces);
    td_json_close(json, '}');
}

static void json_problems(tdJson *json, const tdMesh *mesh, const tdMeshReport *r)
{
    td_json_open(json, "problems", '[');
    for (int i = 0; i < r->n_problems; i++)
    {
        td_json_open(json, NULL, '{');
        td_json_bool(json, "blocks", r->problem[i].blocks);
        td_json_string(json, "what", r->problem[i].what);
        td_json_string(json, "advice", r->problem[i].advice);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
    td_json_string(json, "notes", mesh->notes == NULL ? "" : mesh->notes);
    td_json_bool(json, "usable", usable(r));
}

static void print_json(const char *path, const tdMesh *mesh, const tdMeshReport *r)
{
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "file", path);
    td_json_integer(&json, "nodes", r->n_nodes);
    td_json_open(&json, "cells", '{');
    for (int t = 0; t < TD_CELL_TYPES; t++)
        td_json_integer(&json, td_cell_name((tdCellType)t), r->count[t]);
    td_json_close(&json, '}');
    td_json_integer(&json, "dimension", r->dim);
    td_json_numbers(&json, "min", 3, r->min);
    td_json_numbers(&json, "max", 3, r->max);
    td_json_number(&json, "diagonal", r->diagonal);
    td_json_number(&json, "volume", r->volume);
    td_json_number(&json, "area", r->area);
    td_json_integer(&json, "parts", r->components);
    td_json_numbers(&json, "edge_min_mean_max", 3, (double[]){r->edge_min, r->edge_mean, r->edge_max});
    json_surface(&json, r);
    json_groups(&json, mesh);
    json_quality(&json, r);
    td_json_integer(&json, "equal_nodes", r->same.count);
    td_json_integer(&json, "nearly_equal_nodes", r->nearly_same.count);
    td_json_integer(&json, "unused_nodes", r->unused);
    td_json_integer(&json, "loose_nodes", r->loose);
    json_cells(&json, "inverted", &r->inverted);
    json_cells(&json, "degenerate", &r->degenerate);
    json_cells(&json, "repeated", &r->duplicate);
    td_json_integer(&json, "repeated_lower", r->lower_repeats);
    json_problems(&json, mesh, r);
    td_json_close(&json, '}');
    cli_print_json(&json);
}

int cmd_info(int argc, char **argv)
{
    const char *path = NULL, *picture = NULL;
    const cliOption options[] = {{"--plot", &picture, NULL}};
    int code = cli_parse(argc, argv, help, options, 1, &path, 1, 1);
    if (code >= 0)
        return code;
    char extension[16];
    td_path_extension(extension, sizeof extension, path);
    if (strcmp(extension, ".h5") == 0 || strcmp(extension, ".hdf5") == 0)
        return cmd_info_rom(path, picture);
    if (picture != NULL)
        return cli_usage("--plot draws the singular values of a reduced model (.h5); for a mesh, see 'tendril render'");
    if (strcmp(extension, ".yaml") == 0 || strcmp(extension, ".yml") == 0)
        return cmd_check(argc, argv);
    tdMesh mesh = {0};
    tdMeshReport *report = calloc(1, sizeof *report);
    tdError error = {0};
    tdStatus status = report == NULL ? td_fail_memory(&error, path) : td_mesh_read(path, &mesh, &error);
    if (status == TD_OK)
        status = td_mesh_examine(&mesh, report, &error);
    if (status == TD_OK && cli_json())
        print_json(path, &mesh, report);
    else if (status == TD_OK)
        print_report(path, &mesh, report);
    td_mesh_free(&mesh);
    free(report);
    if (status == TD_OK)
        return 0;
    if (error.file[0] == '\0')
        snprintf(error.file, sizeof error.file, "%s", path);
    return cli_fail(&error);
}
