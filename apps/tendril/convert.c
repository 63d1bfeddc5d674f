// SPDX-License-Identifier: Apache-2.0
// tendril convert IN OUT: a mesh from one format to another, on request scaled, mended or its surface only.
#include "cli.h"

#include "base/suggest.h"
#include "mesh/topology.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tendril convert IN OUT [options]\n"
    "\n"
    "Reads a mesh (.msh, .vtk, .vtu, .stl, .obj, .ply, .dae) and writes it in the format of OUT's extension.\n"
    "STL and OBJ hold surfaces: a volume is written as its boundary.\n"
    "\n"
    "  --format msh22|msh41   version of a .msh file (default msh41)\n"
    "  --ascii | --binary     (default: binary for .stl and .vtu, else ascii)\n"
    "  --base64 | --compressed   encodings of .vtu files only\n"
    "  --scale F              multiplies all coordinates, e.g. 0.001 from mm to m\n"
    "  --surface              writes the boundary as triangles, with its groups\n"
    "  --merge                joins coincident nodes (within 1e-9 of the diagonal)\n"
    "  --orient               renumbers cells of negative volume\n"
    "\n"
    "  tendril convert arm.msh arm.vtu --compressed\n"
    "  tendril convert scan.stl scan.obj --scale 0.001\n";

typedef struct convertOptions
{
    const char *paths[2];
    const char *format, *scale;
    bool ascii, binary, base64, compressed, surface, merge, orient;
} convertOptions;

static int choose_format(const convertOptions *o, const char *extension, tdMeshFormat *format)
{
    static const char *const extensions[] = {".msh", ".vtk", ".vtu", ".stl", ".obj"};
    static const tdMeshFormat formats[] = {TD_MESH_MSH41, TD_MESH_VTK, TD_MESH_VTU, TD_MESH_STL, TD_MESH_OBJ};
    static const char *const versions[] = {"msh22", "msh41"};
    *format = TD_MESH_UNKNOWN;
    for (int i = 0; i < 5; i++)
        if (strcmp(extension, extensions[i]) == 0)
            *format = formats[i];
    if (*format == TD_MESH_UNKNOWN)
    {
        const char *near = td_suggest(extension, extensions, 5);
        return cli_usage("%s: unknown mesh format '%s'; use .msh, .vtk, .vtu, .stl or .obj%s%s%s", o->paths[1],
                         extension, near != NULL ? " (did you mean " : "", near != NULL ? near : "",
                         near != NULL ? "?)" : "");
    }
    if (o->format == NULL)
        return -1;
    if (strcmp(o->format, "msh22") != 0 && strcmp(o->format, "msh41") != 0)
    {
        const char *near = td_suggest(o->format, versions, 2);
        return cli_usage("--format takes msh22 or msh41, not '%s'%s%s%s", o->format, near ? "; did you mean " : "",
                         near ? near : "", near ? "?" : "");
    }
    if (*format != TD_MESH_MSH41)
        return cli_usage("--format is for .msh files; %s is written by its extension", o->paths[1]);
    if (strcmp(o->format, "msh22") == 0)
        *format = TD_MESH_MSH22;
    return -1;
}

static int choose_encoding(const convertOptions *o, tdMeshFormat format, tdMeshEncoding *encoding)
{
    if (o->ascii + o->binary + o->base64 + o->compressed > 1)
        return cli_usage("give only one of --ascii, --binary, --base64 and --compressed");
    if ((o->base64 || o->compressed) && format != TD_MESH_VTU)
        return cli_usage("%s is for .vtu files only", o->base64 ? "--base64" : "--compressed");
    if (o->binary && format == TD_MESH_OBJ)
        return cli_usage("an .obj file is always text; leave --binary out");
    bool binary = o->binary || (!o->ascii && (format == TD_MESH_STL || format == TD_MESH_VTU));
    *encoding = o->base64       ? TD_MESH_BASE64
                : o->compressed ? TD_MESH_COMPRESSED
                : binary        ? TD_MESH_BINARY
                                : TD_MESH_ASCII;
    return -1;
}

static double diagonal(const tdMesh *mesh)
{
    double sum = 0;
    for (int k = 0; k < 3; k++)
    {
        double low = INFINITY, high = -INFINITY;
        for (int64_t i = 0; i < mesh->n_nodes; i++)
        {
            low = fmin(low, mesh->x[3 * i + k]);
            high = fmax(high, mesh->x[3 * i + k]);
        }
        sum += (high - low) * (high - low);
    }
    return sqrt(sum);
}

// What the options ask for, in the order merge, scale, orient, surface.
static tdStatus transform(const convertOptions *o, double scale, tdMesh *mesh, tdError *error)
{
    int64_t merged = 0, turned = 0;
    if (o->merge)
        TD_TRY(td_mesh_merge(mesh, 1e-9 * diagonal(mesh), &merged, error));
    for (int64_t i = 0; i < 3 * mesh->n_nodes; i++)
        mesh->x[i] *= scale;
    if (o->orient) // after scaling, since a negative factor mirrors
        turned = td_mesh_orient(mesh);
    if (o->merge && !cli_quiet())
        fprintf(stderr, "%lld nodes merged\n", (long long)merged);
    if (o->orient && !cli_quiet())
        fprintf(stderr, "%lld cells renumbered\n", (long long)turned);
    if (!o->surface)
        return td_mesh_check(mesh, o->paths[0], error);
    tdMesh surface = {0};
    tdStatus status = td_mesh_boundary(mesh, &surface, error);
    if (status != TD_OK)
    {
        td_mesh_free(&surface);
        return status;
    }
    td_mesh_free(mesh);
    *mesh = surface;
    return td_mesh_check(mesh, o->paths[0], error);
}

static void report(const convertOptions *o, const tdMesh *mesh, const char *notes)
{
    if (!cli_json())
    {
        printf("%s: %lld nodes", o->paths[1], (long long)mesh->n_nodes);
        for (int t = 0; t < TD_CELL_TYPES; t++)
            if (mesh->cells[t].count > 0)
                printf(", %lld %s", (long long)mesh->cells[t].count, td_cell_name((tdCellType)t));
        printf(", %d groups\n", mesh->n_groups);
        return;
    }
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "input", o->paths[0]);
    td_json_string(&json, "output", o->paths[1]);
    td_json_integer(&json, "nodes", mesh->n_nodes);
    td_json_open(&json, "cells", '{');
    for (int t = 0; t < TD_CELL_TYPES; t++)
        td_json_integer(&json, td_cell_name((tdCellType)t), mesh->cells[t].count);
    td_json_close(&json, '}');
    td_json_integer(&json, "groups", mesh->n_groups);
    td_json_string(&json, "notes", notes);
    td_json_close(&json, '}');
    cli_print_json(&json);
}

static int convert(const convertOptions *o, double scale, tdMeshFormat format, tdMeshEncoding encoding)
{
    tdMesh mesh = {0};
    tdError error = {0};
    tdText notes = {0};
    tdStatus status = td_mesh_read(o->paths[0], &mesh, &error);
    td_text_format(&notes, "%s", mesh.notes == NULL ? "" : mesh.notes);
    if (status == TD_OK)
        status = transform(o, scale, &mesh, &error);
    if (o->surface && status == TD_OK && mesh.notes != NULL)
        td_text_format(&notes, "%s", mesh.notes);
    if (status == TD_OK)
        td_mesh_losses(&mesh, format, encoding, &notes);
    if (status == TD_OK)
        status = td_mesh_write(&mesh, o->paths[1], format, encoding, &error);
    if (status == TD_OK)
    {
        if (notes.size > 0 && !cli_quiet())
            fprintf(stderr, "%s: %s", o->paths[0], notes.data);
        report(o, &mesh, notes.data == NULL ? "" : notes.data);
    }
    free(notes.data);
    td_mesh_free(&mesh);
    if (status == TD_OK)
        return 0;
    if (error.file[0] == '\0')
        snprintf(error.file, sizeof error.file, "%s", o->paths[0]);
    return cli_fail(&error);
}

int cmd_convert(int argc, char **argv)
{
    convertOptions o = {0};
    const cliOption options[] = {
        {"--format", &o.format, NULL},   {"--scale", &o.scale, NULL},   {"--ascii", NULL, &o.ascii},
        {"--binary", NULL, &o.binary},   {"--base64", NULL, &o.base64}, {"--compressed", NULL, &o.compressed},
        {"--surface", NULL, &o.surface}, {"--merge", NULL, &o.merge},   {"--orient", NULL, &o.orient},
    };
    int code = cli_parse(argc, argv, help, options, sizeof options / sizeof options[0], o.paths, 2, 2);
    if (code >= 0)
        return code;
    char extension[16];
    td_path_extension(extension, sizeof extension, o.paths[1]);
    tdMeshFormat format = TD_MESH_UNKNOWN;
    tdMeshEncoding encoding = TD_MESH_ASCII;
    double scale = 1;
    if ((code = choose_format(&o, extension, &format)) >= 0 || (code = choose_encoding(&o, format, &encoding)) >= 0)
        return code;
    if (o.scale != NULL && !cli_number("--scale", o.scale, &scale))
        return TD_ERROR_USAGE;
    if (scale == 0)
        return cli_usage("--scale 0 would leave nothing of the mesh");
    return convert(&o, scale, format, encoding);
}
