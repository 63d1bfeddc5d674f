// SPDX-License-Identifier: Apache-2.0
// tendril mesh IN -o OUT --size H: a body of tetrahedra from geometry or from a closed surface.
//
//   geometry  gmsh meshes it as it is                                             -> body
//   surface   check that it is closed; tell outer walls from cavities             -> shells
//             gmsh cuts it into patches and meshes these anew with the wanted size -> new shells
//             (left out with --keep-surface; given up, and said so, when it fails)
//             gmsh fills the shells                                               -> body
//   both      the doctor must find the body closed, not inverted, of the right volume
#include "cli.h"

#include "gmsh.h"
#include "mesh/decimate.h"
#include "mesh/doctor.h"
#include "shells.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The body's volume may differ from the surface's by this part, and the remeshed surface by a bit less.
#define VOLUME_TOLERANCE   0.01
#define SURFACE_TOLERANCE  0.009
#define REMESH_ATTEMPTS    4
#define FINEST_SURFACE     0.05 // of --size: what a tolerance may ask of the surface
#define MOST_TETRAHEDRA    2e7
#define MOST_FOR_MESHADAPT 1e5
#define POOR_QUALITY       0.05

static const char help[] =
    "usage: tendril mesh IN -o OUT --size H [options]\n"
    "\n"
    "Turns geometry (.geo, .step, .stp, .brep, .iges, .igs) or a closed surface (.stl, .obj, .ply,\n"
    ".dae, and .msh, .vtk, .vtu) into tetrahedra with the gmsh program, and checks the result. OUT\n"
    "is a .msh, .vtk or .vtu file.\n"
    "\n"
    "  -o OUT            where to write\n"
    "  --size H          approximate largest edge of an element, in the file's unit; finer sizes\n"
    "                  set in a .geo file are kept. The result lists the edges; a mesh much finer\n"
    "                  or coarser than H comes with the reason\n"
    "  --tolerance T     how far the new triangles of a surface may be from the old ones, in the\n"
    "                  file's unit; the surface is meshed more finely than H where it takes that.\n"
    "                  Without it the volume is preserved within 1 %, and the distance is reported\n"
    "  --keep-surface    keeps the triangles of a surface as the boundary; H applies inside\n"
    "  --order 1|2       linear (default) or quadratic tetrahedra\n"
    "  --timeout S       seconds until gmsh is stopped (default 600)\n"
    "\n"
    "A surface may have several closed parts: those inside others become cavities. Groups of the\n"
    "result: \"body\", \"outer\", \"cavity_1\", ...; a .geo file's own groups are kept.\n"
    "\n"
    "  tendril mesh finger.step -o finger.msh --size 3\n"
    "  tendril mesh scan.ply -o scan.msh --size 5 --tolerance 0.2\n"
    "  tendril mesh scan.stl -o scan.msh --size 5 --keep-surface\n";

typedef struct meshJob
{
    const char *input, *output;
    double size;
    double tolerance; // of the distance between the new surface and the old one; 0: not given
    long order;
    bool is_surface, keep_surface, own_sizes;
    tdMeshFormat format;

    gmshWork work;
    tdMesh surface;      // of the input
    meshShells shells;   // of the input
    double expected;     // volume the body must have; 0 when unknown
    bool remeshed;       // the boundary has new triangles
    double surface_size; // of these
    double distance;     // of these from the triangles of the input
    tdMesh body;
    tdMeshReport report;
} meshJob;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
    if (cli_quiet())
        return;
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs("\n", stderr);
}

// ---------------------------------------------------------------- gmsh

static tdStatus run_gmsh(meshJob *job, const char *dimension, const char *first, const char *second, const char *output,
                         tdMesh *result, tdError *error)
{
    char path[PATH_MAX];
    TD_TRY(gmsh_path(&job->work, output, path, error));
    bool quadratic = job->order == 2 && strcmp(dimension, "-3") == 0;
    // The list ends at the first NULL.
    const char *args[] = {dimension, first, second, "-format", "msh22", "-o", path, quadratic ? "-order" : NULL,
                          "2",       NULL};
    TD_TRY(gmsh_run(&job->work, args, error));
    return td_mesh_read(path, result, error);
}

// Writes a surface and a script into the folder and runs gmsh on both.
static tdStatus run_on_shells(meshJob *job, const char *dimension, const tdMesh *surface, const meshShells *shells,
                              const tdText *script, tdMesh *result, tdError *error)
{
    char mesh_path[PATH_MAX], script_path[PATH_MAX];
    TD_TRY(gmsh_path(&job->work, "surface.msh", mesh_path, error));
    TD_TRY(gmsh_path(&job->work, "script.geo", script_path, error));
    tdText text = {0};
    write_shells(surface, shells, &text);
    tdStatus status = gmsh_write(&job->work, "surface.msh", &text, error);
    free(text.data);
    TD_TRY(status);
    TD_TRY(gmsh_write(&job->work, "script.geo", script, error));
    return run_gmsh(job, dimension, mesh_path, script_path, "result.msh", result, error);
}

// ---------------------------------------------------------------- geometry

// May the geometry ask for sizes of its own, which then stay? Only a script can.
static tdStatus has_own_sizes(const char *path, bool *own, tdError *error)
{
    static const char *const words[] = {"Point", "MeshSize{", "MeshSize {", "Characteristic",
                                        "Field", "Include",   "Merge"};
    char extension[16], *text = NULL;
    size_t length = 0;
    *own = false;
    td_path_extension(extension, sizeof extension, path);
    if (strcmp(extension, ".geo") != 0)
        return TD_OK;
    TD_TRY(td_file_read(path, &text, &length, error));
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        *own = *own || strstr(text, words[i]) != NULL;
    free(text);
    return TD_OK;
}

static tdStatus mesh_geometry(meshJob *job, tdError *error)
{
    TD_TRY(has_own_sizes(job->input, &job->own_sizes, error));
    // A second file is merged after the first, so it has the last word on sizes. What a geometry
    // does not put into physical groups is not saved: a geometry without physical volumes gets one.
    tdText script = {0};
    td_text_format(&script,
                   "Mesh.MeshSizeMax = %.17g;\n"
                   "Mesh.Optimize = 1;\n"
                   "Mesh.HighOrderOptimize = %d;\n"
                   "volumes[] = Physical Volume{:};\n"
                   "If (#volumes[] == 0)\n"
                   "  Physical Volume(\"body\") = Volume{:};\n"
                   "EndIf\n",
                   job->size, job->order == 2);
    // Without a size at its points, gmsh would not go above a tenth of the geometry's diagonal.
    if (!job->own_sizes)
        td_text_format(&script, "MeshSize{PointsOf{Volume{:};}} = %.17g;\n", job->size);
    char path[PATH_MAX], input[PATH_MAX];
    tdStatus status = gmsh_write(&job->work, "size.geo", &script, error);
    free(script.data);
    TD_TRY(status);
    TD_TRY(gmsh_path(&job->work, "size.geo", path, error));
    // A name that starts with a dash would be taken for an option.
    int n = snprintf(input, sizeof input, "%s%s", job->input[0] == '-' ? "./" : "", job->input);
    if (n < 0 || (size_t)n >= sizeof input)
        return td_fail_at(error, TD_ERROR_INPUT, job->input, 0, NULL, "the path is too long");
    status = run_gmsh(job, "-3", input, path, "result.msh", &job->body, error);
    if (status != TD_OK && error->file[0] == '\0')
        return td_fail_at(error, status, job->input, 0, NULL, "%s", error->message);
    if (status != TD_OK && strncmp(error->file, job->work.folder, strlen(job->work.folder)) == 0)
        return td_fail_at(error, status, job->input, 0, NULL, "gmsh made no usable mesh of it: %s", error->message);
    return status;
}

// ---------------------------------------------------------------- surfaces

// A regular tetrahedron of edge h has volume h^3 / (6 √2).
static double estimate_tets(const meshJob *job, double h)
{
    return job->expected * 6 * sqrt(2.0) / (h * h * h);
}

// A group of all triangles, as an STL file's name makes one, says nothing; others would be missed.
static bool divides_surface(const tdMesh *surface)
{
    for (int g = 0; g < surface->n_groups; g++)
        if (surface->groups[g].count[TD_CELL_TRI] < surface->cells[TD_CELL_TRI].count)
            return true;
    return false;
}

static tdStatus read_surface(meshJob *job, tdError *error)
{
    tdMesh mesh = {0};
    tdStatus status = td_mesh_read(job->input, &mesh, error);
    if (status == TD_OK && mesh.notes != NULL)
        say("%s: %s", job->input, mesh.notes);
    if (status == TD_OK)
        status = td_mesh_boundary(&mesh, &job->surface, error);
    td_mesh_free(&mesh);
    if (status != TD_OK && error->file[0] == '\0')
        return td_fail_at(error, status, job->input, 0, NULL, "%s", error->message);
    TD_TRY(status);
    tdMeshReport *r = &job->report;
    TD_TRY(td_mesh_examine(&job->surface, r, error));
    // Many programs give each triangle, or each patch, nodes of its own.
    int64_t merged = 0;
    if (r->same.count + r->nearly_same.count > 0)
        TD_TRY(td_mesh_merge(&job->surface, TD_NEARLY_SAME * r->diagonal, &merged, error));
    if (merged > 0)
        say("%lld nodes at the place of another were merged", (long long)merged);
    TD_TRY(find_shells(job->input, &job->surface, &job->shells, error));
    job->expected = job->shells.volume;
    if (job->shells.turned > 0)
        say("%d of %d parts faced the wrong way and were turned", job->shells.turned, job->shells.n);
    if (job->shells.cavities > 0)
        say("%d of %d parts are inside others and become cavities", job->shells.cavities, job->shells.n);
    if (divides_surface(&job->surface))
        say("groups of the surface are not carried over; the result has \"body\", \"outer\" and \"cavity_N\"");
    double tets = estimate_tets(job, job->size);
    if (tets > MOST_TETRAHEDRA)
        return td_fail_at(error, TD_ERROR_INPUT, job->input, 0, "--size",
                          "%g would make about %.2g tetrahedra; use at least %.2g", job->size, tets,
                          job->size * cbrt(tets / MOST_TETRAHEDRA));
    return TD_OK;
}

// One attempt to give the surface new triangles of a size; *miss: by how much the error of the volume, or the distance
// from the old triangles, exceeds what it may be.
static tdStatus remesh_once(meshJob *job, double size, tdMesh *surface, meshShells *shells, double *miss,
                            tdError *error)
{
    tdText script = {0};
    td_text_format(&script,
                   "ClassifySurfaces{40 * Pi / 180, 1, 1, Pi};\n"
                   "CreateGeometry;\n"
                   "Mesh.Algorithm = %d;\n"
                   "Mesh.MeshSizeMax = %.17g;\n"
                   "Mesh.MeshSizeMin = 0;\n"
                   "Mesh.MeshSizeFromPoints = 0;\n"
                   "Mesh.MeshSizeExtendFromBoundary = 0;\n",
                   // MeshAdapt makes the best triangles on such patches; the frontal method is many times faster.
                   estimate_tets(job, size) > MOST_FOR_MESHADAPT ? 6 : 1, size);
    tdMesh mesh = {0};
    tdStatus status = run_on_shells(job, "-2", &job->surface, &job->shells, &script, &mesh, error);
    free(script.data);
    if (status == TD_OK)
        status = td_mesh_boundary(&mesh, surface, error);
    td_mesh_free(&mesh);
    TD_TRY(status);
    if (find_shells(NULL, surface, shells, NULL) != TD_OK)
        return td_fail(error, TD_ERROR_NUMERIC, "gmsh's new surface is not closed or cuts itself");
    if (shells->n != job->shells.n || shells->cavities != job->shells.cavities)
        return td_fail(error, TD_ERROR_NUMERIC,
                       "the new surface has %d parts, %d of them cavities, instead of %d and %d", shells->n,
                       shells->cavities, job->shells.n, job->shells.cavities);
    TD_TRY(td_surface_distance(surface->x, surface->cells[TD_CELL_TRI].count, surface->cells[TD_CELL_TRI].nodes,
                               job->surface.x, job->surface.cells[TD_CELL_TRI].count,
                               job->surface.cells[TD_CELL_TRI].nodes, &job->distance, error));
    *miss = fabs(shells->volume / job->expected - 1) / SURFACE_TOLERANCE;
    if (job->tolerance > 0)
        *miss = fmax(*miss, job->distance / job->tolerance);
    return TD_OK;
}

// New triangles, finer than asked where the volume or the tolerance needs it: errors go with the square of the size, on
// edges that the new triangles cut off with the size itself.
static tdStatus remesh(meshJob *job, tdMesh *surface, meshShells *shells, tdError *error)
{
    for (int i = 0; i < job->shells.n; i++)
        if (job->shells.shell[i].n_tris <= 4) // gmsh 4.8 divides it without end
            return td_fail(error, TD_ERROR_NUMERIC, "a part of four triangles is too coarse to be divided by gmsh");
    double size = job->size, miss = 0;
    for (int attempt = 1;; attempt++)
    {
        TD_TRY(remesh_once(job, size, surface, shells, &miss, error));
        if (miss <= 1)
            break;
        double off = 100 * fabs(shells->volume / job->expected - 1);
        double next = size * fmax(0.3, 0.9 * (attempt < 3 ? 1 / sqrt(miss) : 1 / miss));
        td_mesh_free(surface);
        free_shells(shells);
        if (attempt == REMESH_ATTEMPTS || next < FINEST_SURFACE * job->size)
            return td_fail(error, TD_ERROR_NUMERIC,
                           "new triangles of size %.3g are up to %.3g away from the old ones and change the volume by "
                           "%.2g %%",
                           size, job->distance, off);
        size = next;
    }
    job->surface_size = size;
    if (size < job->size)
        say("the surface has elements of %.3g, not %.3g, to preserve its volume within 1 %%%s", size, job->size,
            job->tolerance > 0 ? " and its shape within --tolerance" : "");
    return TD_OK;
}

// Inside a new surface the elements keep its size, which makes the best of them; inside a kept one, which
// may be much finer than asked, they grow to the wanted size at once.
static tdStatus fill(meshJob *job, const tdMesh *surface, const meshShells *shells, tdError *error)
{
    tdText script = {0};
    write_volumes(shells, &script);
    td_text_format(&script,
                   "Mesh.MeshSizeMax = %.17g;\n"
                   "Mesh.MeshSizeFromPoints = 0;\n"
                   "Mesh.MeshSizeExtendFromBoundary = %d;\n"
                   "Mesh.Algorithm3D = 1;\n" // Delaunay; it keeps the given triangles
                   "Mesh.Optimize = 1;\n"
                   "Mesh.SecondOrderLinear = 1;\n", // the surface is made of flat triangles
                   job->size, surface != &job->surface);
    tdStatus status = run_on_shells(job, "-3", surface, shells, &script, &job->body, error);
    free(script.data);
    return status;
}

static tdStatus check_body(meshJob *job, tdError *error);

static tdStatus fill_and_check(meshJob *job, const tdMesh *surface, const meshShells *shells, tdError *error)
{
    td_mesh_free(&job->body);
    TD_TRY(fill(job, surface, shells, error));
    return check_body(job, error);
}

static tdStatus mesh_surface(meshJob *job, tdError *error)
{
    TD_TRY(read_surface(job, error));
    if (!job->keep_surface)
    {
        tdMesh surface = {0};
        meshShells shells = {0};
        tdError why = {0};
        // Half of the time stays for filling the surface as it is, should this fail.
        double half = job->work.seconds / 2;
        job->work.seconds -= half;
        tdStatus status = remesh(job, &surface, &shells, &why);
        if (status == TD_OK)
            status = fill_and_check(job, &surface, &shells, &why);
        td_mesh_free(&surface);
        free_shells(&shells);
        job->work.seconds += half;
        job->remeshed = status == TD_OK;
        if (status == TD_OK)
            return TD_OK;
        if (job->work.hopeless)
            return td_fail(error, status, "%s", why.message);
        say("the surface cannot be meshed anew, so its own triangles are kept as the boundary (%s)", why.message);
    }
    tdStatus status = fill_and_check(job, &job->surface, &job->shells, error);
    if (status == TD_ERROR_INPUT && !job->work.hopeless)
        return td_fail_at(error, status, job->input, 0, NULL,
                          "%s; the surface may cut itself: look there, or repair it in the program that made it",
                          error->message);
    return status;
}

// ---------------------------------------------------------------- the result

// --size is met, or the reason is said.
static void explain_size(const meshJob *job)
{
    const tdMeshReport *r = &job->report;
    bool kept = job->is_surface && !job->remeshed;
    if (r->edge_mean < 0.5 * job->size)
        say("the mean edge is %.3g, less than half of --size %g, because %s", r->edge_mean, job->size,
            kept ? "the triangles of the surface are finer and are kept"
            : job->is_surface && job->surface_size < 0.8 * job->size
                ? "the surface has to be finer, and the inside follows it"
            : job->own_sizes ? "the script sets finer sizes itself, which are kept"
                             : "parts of the shape are thinner than that");
    if (r->edge_max > 2 * job->size)
        say("the longest edge is %.3g, more than twice --size %g, because %s", r->edge_max, job->size,
            kept ? "the triangles of the surface are coarser and are kept; subdivide them, or leave --keep-surface out"
                 : "gmsh did not divide an element that spans flat parts of the boundary");
}

static tdStatus check_body(meshJob *job, tdError *error)
{
    tdMeshReport *r = &job->report;
    TD_TRY(td_mesh_examine(&job->body, r, error));
    if (r->dim < 3)
        return td_fail_at(error, TD_ERROR_INPUT, job->input, 0, NULL,
                          "gmsh made no volume cells; the geometry must define a volume");
    if (r->inverted.count > 0)
        return td_fail(
            error, TD_ERROR_NUMERIC,
            "gmsh made %lld inverted or flat cells, the first is number %lld of the %s; use a smaller --size",
            (long long)r->inverted.count, (long long)r->inverted.cell[0], td_cell_name(r->inverted.type[0]));
    if (r->surface.open > 0 || r->surface.flipped > 0)
        return td_fail(error, TD_ERROR_NUMERIC,
                       "the boundary of the mesh is not closed (%lld edges); use another --size",
                       (long long)(r->surface.open + r->surface.flipped));
    double miss = job->expected > 0 ? fabs(r->volume / job->expected - 1) : 0;
    if (miss > VOLUME_TOLERANCE)
        return td_fail(error, TD_ERROR_NUMERIC,
                       "the mesh has a volume of %g, but the surface encloses %g; use a smaller --size", r->volume,
                       job->expected);
    return TD_OK;
}

static double least_quality(const tdMeshReport *r)
{
    double least = 1;
    for (int t = TD_CELL_TET; t < TD_CELL_TYPES; t++)
        if (r->quality[t].count > 0)
            least = fmin(least, r->quality[t].min);
    return least;
}

static void print_result(const meshJob *job)
{
    const tdMeshReport *r = &job->report;
    int64_t tets = r->count[TD_CELL_TET] + r->count[TD_CELL_TET10];
    tdCellType type = r->count[TD_CELL_TET10] > 0 ? TD_CELL_TET10
                      : r->count[TD_CELL_HEX] > 0 ? TD_CELL_HEX
                                                  : TD_CELL_TET;
    const tdQuality *q = &r->quality[type];
    explain_size(job);
    if (!cli_json())
    {
        printf("%s: %lld nodes, %lld tetrahedra", job->output, (long long)r->n_nodes, (long long)tets);
        if (r->count[TD_CELL_HEX] > 0)
            printf(", %lld hexahedra", (long long)r->count[TD_CELL_HEX]);
        printf(", edges %.3g on average, %.3g at most, volume %.6g, quality at least %.3f, mean %.3f", r->edge_mean,
               r->edge_max, r->volume, q->min, q->mean);
        if (job->remeshed)
            printf(", surface within %.2g of the file's", job->distance);
        printf("\n");
        return;
    }
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "input", job->input);
    td_json_string(&json, "output", job->output);
    td_json_integer(&json, "nodes", r->n_nodes);
    td_json_integer(&json, "tetrahedra", tets);
    td_json_integer(&json, "hexahedra", r->count[TD_CELL_HEX]);
    td_json_integer(&json, "order", job->order);
    td_json_number(&json, "volume", r->volume);
    td_json_number(&json, "input_volume", job->expected > 0 ? job->expected : NAN);
    td_json_number(&json, "volume_error", job->expected > 0 ? r->volume / job->expected - 1 : NAN);
    td_json_integer(&json, "inverted", r->inverted.count);
    td_json_integer(&json, "degenerate", r->degenerate.count);
    td_json_integer(&json, "parts", r->components);
    td_json_number(&json, "quality_min", q->min);
    td_json_number(&json, "quality_mean", q->mean);
    td_json_string(&json, "surface", !job->is_surface ? "geometry" : job->remeshed ? "remeshed" : "kept");
    td_json_number(&json, "surface_size", job->remeshed ? job->surface_size : NAN);
    td_json_number(&json, "surface_distance", job->remeshed ? job->distance : job->is_surface ? 0 : NAN);
    td_json_number(&json, "edge_mean", r->edge_mean);
    td_json_number(&json, "edge_max", r->edge_max);
    td_json_integer(&json, "gmsh_runs", job->work.runs);
    td_json_close(&json, '}');
    cli_print_json(&json);
}

static tdStatus make_body(meshJob *job, tdError *error)
{
    if (job->is_surface)
        TD_TRY(mesh_surface(job, error));
    else
    {
        TD_TRY(mesh_geometry(job, error));
        TD_TRY(check_body(job, error));
    }
    tdMeshEncoding encoding = job->format == TD_MESH_VTU ? TD_MESH_BINARY : TD_MESH_ASCII;
    if (least_quality(&job->report) < POOR_QUALITY)
        say("warning: the worst cell has a quality of %.2g; such cells cost accuracy and speed: use a smaller --size "
            "or "
            "a smoother surface, and see 'tendril info %s'",
            least_quality(&job->report), job->output);
    return td_mesh_write(&job->body, job->output, job->format, encoding, error);
}

// ---------------------------------------------------------------- the command

static bool one_of(const char *extension, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(extension, *list) == 0)
            return true;
    return false;
}

// Whatever can be known before gmsh starts: formats, and that files can be read and written.
static int check_files(meshJob *job)
{
    static const char *const geometry[] = {".geo", ".step", ".stp", ".brep", ".iges", ".igs", NULL};
    static const char *const surfaces[] = {".stl", ".obj", ".ply", ".dae", ".msh", ".vtk", ".vtu", NULL};
    char in[16], out[16], folder[PATH_MAX];
    td_path_extension(in, sizeof in, job->input);
    td_path_extension(out, sizeof out, job->output);
    job->is_surface = one_of(in, surfaces);
    if (!job->is_surface && !one_of(in, geometry))
        return cli_usage("%s: cannot mesh '%s' files; give .geo, .step, .stp, .brep, .iges, .stl, .obj, .ply or .dae",
                         job->input, in);
    job->format = strcmp(out, ".msh") == 0   ? TD_MESH_MSH41
                  : strcmp(out, ".vtk") == 0 ? TD_MESH_VTK
                  : strcmp(out, ".vtu") == 0 ? TD_MESH_VTU
                                             : TD_MESH_UNKNOWN;
    if (job->format == TD_MESH_UNKNOWN)
        return cli_usage("-o %s: tetrahedra are written to .msh, .vtk or .vtu files", job->output);
    if (job->keep_surface && !job->is_surface)
        return cli_usage("--keep-surface is for surfaces (.stl, .obj, ...); %s is geometry", job->input);
    if (job->tolerance > 0 && (!job->is_surface || job->keep_surface))
        return cli_usage("--tolerance is for surfaces whose triangles are made anew; %s",
                         job->keep_surface ? "leave --keep-surface out" : "geometry is meshed exactly");
    tdError error = {0};
    td_path_folder(folder, sizeof folder, job->output);
    if (access(job->input, R_OK) != 0)
        td_fail_at(&error, TD_ERROR_INPUT, job->input, 0, NULL, "cannot be opened: %s", strerror(errno));
    else if (access(folder, W_OK) != 0)
        td_fail_at(&error, TD_ERROR_IO, job->output, 0, NULL, "cannot be written: folder %s: %s", folder,
                   strerror(errno));
    return error.status == TD_OK ? -1 : cli_fail(&error);
}

static int run_job(meshJob *job, double timeout)
{
    tdError error = {0};
    tdStatus status = gmsh_open(&job->work, timeout, &error);
    if (status == TD_OK)
        status = make_body(job, &error);
    if (status == TD_OK)
        print_result(job);
    gmsh_close(&job->work);
    td_mesh_free(&job->surface);
    td_mesh_free(&job->body);
    free_shells(&job->shells);
    if (status == TD_OK)
        return 0;
    if (error.file[0] == '\0')
        snprintf(error.file, sizeof error.file, "%s", job->input);
    return cli_fail(&error);
}

int cmd_mesh(int argc, char **argv)
{
    const char *input = NULL, *output = NULL, *size = NULL, *order = "1", *timeout = "600", *tolerance = NULL;
    bool keep = false;
    const cliOption options[] = {
        {"-o", &output, NULL},         {"--size", &size, NULL},         {"--order", &order, NULL},
        {"--timeout", &timeout, NULL}, {"--keep-surface", NULL, &keep}, {"--tolerance", &tolerance, NULL},
    };
    int code = cli_parse(argc, argv, help, options, sizeof options / sizeof options[0], &input, 1, 1);
    if (code >= 0)
        return code;
    if (output == NULL || size == NULL)
        return cli_usage("%s is missing; --help shows the form", output == NULL ? "-o OUT" : "--size H");
    meshJob *job = calloc(1, sizeof *job);
    if (job == NULL)
        return cli_usage("out of memory");
    *job = (meshJob){.input = input, .output = output, .keep_surface = keep, .order = 1};
    double seconds = 0;
    if (!cli_number("--size", size, &job->size) || !cli_integer("--order", order, 1, &job->order) ||
        !cli_number("--timeout", timeout, &seconds) ||
        (tolerance != NULL && !cli_number("--tolerance", tolerance, &job->tolerance)))
        code = TD_ERROR_USAGE;
    else if (tolerance != NULL && !(job->tolerance > 0))
        code = cli_usage("--tolerance must be positive, not %s", tolerance);
    else if (!(job->size > 0))
        code = cli_usage("--size must be positive, not %s", size);
    else if (job->order > 2)
        code = cli_usage("--order is 1 or 2, not %s", order);
    else if (!(seconds > 0))
        code = cli_usage("--timeout must be positive, not %s", timeout);
    else
        code = check_files(job);
    if (code < 0)
        code = run_job(job, seconds);
    free(job);
    return code;
}
