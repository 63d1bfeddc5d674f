// SPDX-License-Identifier: Apache-2.0
// One soft body: mesh, supports, loads, tables.
#include "base/log.h"
#include "mesh/doctor.h"
#include "mesh/generate.h"
#include "mesh/topology.h"
#include "scene/compile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What the compilation of one body hands around.
typedef struct bodyWork
{
    tdModel *model;
    const tdSceneBody *given;
    const tdSettings *settings;
    tdSoft *soft;
    bool *chosen;      // scratch by node
    tdSurface surface; // boundary
    int index;
} bodyWork;

static tdStatus fail(const bodyWork *w, int line, tdError *error, const char *field, const char *message)
{
    return td_fail_at(error, TD_ERROR_INPUT, w->model->scene.file, line, field, "body '%s': %s", w->given->name,
                      message);
}

// ---------------------------------------------------------------- mesh

static tdStatus check_cells(const bodyWork *w, tdError *error)
{
    const tdMesh *mesh = &w->soft->mesh;
    int line = w->given->mesh_line;
    if (mesh->cells[TD_CELL_HEX].count > 0 || mesh->cells[TD_CELL_TET10].count > 0)
        return fail(
            w, line, error, "mesh",
            "the mesh has hexahedra or quadratic tetrahedra; this version simulates linear tetrahedra: make the "
            "mesh anew with 'tendril mesh'");
    if (mesh->cells[TD_CELL_TET].count > 0)
        return TD_OK;
    if (mesh->cells[TD_CELL_TRI].count + mesh->cells[TD_CELL_QUAD].count > 0)
        return fail(w, line, error, "mesh",
                    "the mesh is a surface; fill it with tetrahedra first: tendril mesh IN -o OUT.msh --size H");
    return fail(w, line, error, "mesh", "the mesh has no tetrahedra");
}

static tdStatus check_size(const bodyWork *w, tdError *error)
{
    const tdMesh *mesh = &w->soft->mesh;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int64_t i = 0; i < 3 * mesh->n_nodes; i++)
    {
        low[i % 3] = fmin(low[i % 3], mesh->x[i]);
        high[i % 3] = fmax(high[i % 3], mesh->x[i]);
    }
    double size = hypot(hypot(high[0] - low[0], high[1] - low[1]), high[2] - low[2]);
    double cube = size * size * size;
    if (!isfinite(cube) || cube < 1e-200)
        return td_fail_at(error, TD_ERROR_INPUT, w->model->scene.file, w->given->mesh_line, "mesh",
                          "body '%s' is %g m across, so its volume cannot be computed; check the scene's units and the "
                          "body's transform",
                          w->given->name, size);
    // Numbers in mm that are read as m give the most common wrong simulation.
    if (size > 50 || size < 1e-6)
        td_log(w->settings, TD_LOG_WARNING,
               "body '%s' is %g m across; the numbers of a mesh are in the scene's length unit, which 'units: {length: "
               "mm}' sets",
               w->given->name, size);
    return TD_OK;
}

// What a simulation would bear in silence and answer wrongly: repeated or degenerate cells, nodes that
// should be one.
static tdStatus tell_faults(const bodyWork *w, tdError *error)
{
    tdMeshReport *report = td_take(1, sizeof *report);
    if (report == NULL)
        return td_fail_memory(error, "the mesh");
    tdStatus status = td_mesh_examine(&w->soft->mesh, report, error);
    for (int i = 0; status == TD_OK && i < report->n_problems; i++)
        if (report->problem[i].blocks)
            td_log(w->settings, TD_LOG_WARNING, "body '%s': %s; %s", w->given->name, report->problem[i].what,
                   report->problem[i].advice);
    if (status == TD_OK && report->components > 1)
        td_log(w->settings, TD_LOG_WARNING,
               "body '%s': its mesh falls into %lld parts that share no node, so they move on their own",
               w->given->name, (long long)report->components);
    free(report);
    return status;
}

static tdStatus load_mesh(bodyWork *w, tdError *error)
{
    const tdSceneBody *given = w->given;
    tdMesh *mesh = &w->soft->mesh;
    if (given->mesh != NULL)
    {
        tdStatus status = td_mesh_read(given->mesh, mesh, error);
        if (status != TD_OK)
        {
            // The scene's line leads to the file; the reader's message says what is wrong with it.
            if (error != NULL)
            {
                char inner[700];
                td_error_format(error, inner, sizeof inner);
                td_fail_at(error, status, w->model->scene.file, given->mesh_line, "mesh", "%.600s", inner);
            }
            return status;
        }
        for (const char *note = mesh->notes; note != NULL && *note != '\0';)
        {
            const char *end = strchr(note, '\n');
            td_log(w->settings, TD_LOG_WARNING, "%s: %.*s", given->mesh, (int)(end == NULL ? 400 : end - note), note);
            note = end == NULL ? NULL : end + 1;
        }
    }
    else
        TD_TRY(td_mesh_box(given->box.min, given->box.max, given->box.cells, given->box.hexahedra, mesh, error));
    TD_TRY(check_cells(w, error));
    const double *R = given->rotation;
    for (int64_t i = 0; i < mesh->n_nodes; i++)
    {
        double *x = mesh->x + 3 * i, p[3] = {given->scale * x[0], given->scale * x[1], given->scale * x[2]};
        for (int c = 0; c < 3; c++)
            x[c] = R[3 * c] * p[0] + R[3 * c + 1] * p[1] + R[3 * c + 2] * p[2] + given->translate[c];
    }
    int64_t turned = td_mesh_orient(mesh);
    if (turned > 0)
        td_log(w->settings, TD_LOG_WARNING, "body '%s': %lld cells were numbered inside out and have been turned",
               given->name, (long long)turned);
    TD_TRY(check_size(w, error));
    if (given->mesh != NULL)
        TD_TRY(tell_faults(w, error));
    w->soft->n_nodes = (int32_t)mesh->n_nodes;
    w->soft->rest = mesh->x;
    return TD_OK;
}

// ---------------------------------------------------------------- supports

// Nodes of no element would make the matrix singular: they stay where they are.
static void hold_loose_nodes(bodyWork *w)
{
    tdSoft *soft = w->soft;
    const tdCells *tets = &soft->mesh.cells[TD_CELL_TET];
    memset(w->chosen, 0, (size_t)soft->n_nodes * sizeof *w->chosen);
    for (int64_t k = 0; k < 4 * tets->count; k++)
        w->chosen[tets->nodes[k]] = true;
    int64_t loose = 0;
    for (int32_t i = 0; i < soft->n_nodes; i++)
        if (!w->chosen[i])
        {
            loose++;
            for (int c = 0; c < 3; c++)
                soft->held[3 * i + c] = true;
        }
    if (loose > 0)
        td_log(w->settings, TD_LOG_WARNING,
               "body '%s': %lld nodes belong to no tetrahedron and are left where they are", w->given->name,
               (long long)loose);
}

static tdStatus add_driven(bodyWork *w, int k, int32_t *driver, tdError *error)
{
    const tdScenePrescribed *p = &w->given->prescribed[k];
    tdSoft *soft = w->soft;
    char field[64];
    snprintf(field, sizeof field, "bodies[%d].prescribed[%d]", w->index, k);
    TD_TRY(td_select_nodes(w->model, &soft->mesh, &p->select, field, w->chosen, error));
    int input = td_compile_input(w->model, p->name);
    for (int32_t i = 0; i < soft->n_nodes; i++)
        for (int c = 0; c < 3; c++)
        {
            if (!w->chosen[i] || !(p->axes & 1 << c))
                continue;
            int32_t coord = 3 * i + c;
            if (driver[coord] != 0)
                return td_fail_at(error, TD_ERROR_INPUT, w->model->scene.file, p->select.line, field,
                                  "node %d of body '%s' is %s in %c already; choose nodes or axes that do not overlap",
                                  i, w->given->name, driver[coord] < 0 ? "fixed" : "prescribed", 'x' + c);
            driver[coord] = k + 1;
            soft->held[coord] = true;
            soft->driven[soft->n_driven++] = (tdDriven){coord, input, p->displacement[c]};
        }
    return TD_OK;
}

static tdStatus add_supports(bodyWork *w, tdError *error)
{
    tdSoft *soft = w->soft;
    tdArena *arena = &w->model->arena;
    int64_t coords = 3 * (int64_t)soft->n_nodes;
    soft->held = TD_TAKE(arena, bool, coords);
    soft->held_list = TD_TAKE(arena, int32_t, coords);
    soft->driven = TD_TAKE(arena, tdDriven, w->given->n_prescribed > 0 ? coords : 0);
    int32_t *driver = td_take((size_t)coords, sizeof *driver); // -1 fixed, k + 1 prescribed by entry k
    if (soft->held == NULL || soft->held_list == NULL || soft->driven == NULL || driver == NULL)
    {
        free(driver);
        return td_fail_memory(error, "the supports");
    }
    tdStatus status = TD_OK;
    for (int k = 0; k < w->given->n_fixed && status == TD_OK; k++)
    {
        const tdSceneFixed *fixed = &w->given->fixed[k];
        char field[64];
        snprintf(field, sizeof field, "bodies[%d].fixed[%d]", w->index, k);
        status = td_select_nodes(w->model, &soft->mesh, &fixed->select, field, w->chosen, error);
        for (int32_t i = 0; status == TD_OK && i < soft->n_nodes; i++)
            for (int c = 0; c < 3; c++)
                if (w->chosen[i] && fixed->axes & 1 << c)
                {
                    soft->held[3 * i + c] = true;
                    driver[3 * i + c] = -1;
                }
    }
    for (int k = 0; k < w->given->n_prescribed && status == TD_OK; k++)
        status = add_driven(w, k, driver, error);
    free(driver);
    TD_TRY(status);
    hold_loose_nodes(w);
    for (int64_t i = 0; i < coords; i++)
        if (soft->held[i])
            soft->held_list[soft->n_held++] = (int32_t)i;
    if (w->model->scene.settings.method == TD_METHOD_STATIC && w->given->n_fixed + w->given->n_prescribed == 0)
        return fail(w, w->given->line, error, "fixed",
                    "nothing holds it, so it has no equilibrium; add 'fixed', or use a dynamic integrator");
    return TD_OK;
}

// ---------------------------------------------------------------- loads

static int compare_triples(const void *a, const void *b)
{
    return memcmp(a, b, 3 * sizeof(int32_t));
}

static void sorted_triple(const int32_t *n, int32_t *out)
{
    memcpy(out, n, 3 * sizeof *out);
    for (int i = 1; i < 3; i++)
        for (int j = i; j > 0 && out[j - 1] > out[j]; j--)
        {
            int32_t t = out[j];
            out[j] = out[j - 1];
            out[j - 1] = t;
        }
}

// Boundary faces of a selector. A group of triangles means just these triangles; every other selector
// means the faces all of whose nodes it chooses.
static tdStatus select_faces(bodyWork *w, const tdSelect *select, const char *field, bool *face, int64_t *count,
                             tdError *error)
{
    const tdMesh *mesh = &w->soft->mesh;
    TD_TRY(td_select_nodes(w->model, mesh, select, field, w->chosen, error));
    const tdGroup *group =
        select->kind == TD_SELECT_GROUP ? &mesh->groups[td_mesh_find_group(mesh, select->group)] : NULL;
    int64_t listed = group != NULL ? group->count[TD_CELL_TRI] : 0;
    int32_t *triples = td_take((size_t)(3 * listed), sizeof *triples);
    if (triples == NULL)
        return td_fail_memory(error, "the loads");
    for (int64_t k = 0; k < listed; k++)
        sorted_triple(mesh->cells[TD_CELL_TRI].nodes + 3 * (int64_t)group->cells[TD_CELL_TRI][k], triples + 3 * k);
    qsort(triples, (size_t)listed, 3 * sizeof *triples, compare_triples);
    *count = 0;
    for (int64_t f = 0; f < w->surface.n_tris; f++)
    {
        const int32_t *n = w->surface.tris + 3 * f;
        int32_t triple[3];
        sorted_triple(n, triple);
        face[f] = w->chosen[n[0]] && w->chosen[n[1]] && w->chosen[n[2]];
        if (listed > 0)
            face[f] = bsearch(triple, triples, (size_t)listed, sizeof triple, compare_triples) != NULL;
        *count += face[f];
    }
    free(triples);
    if (*count == 0)
        return td_fail_at(error, TD_ERROR_INPUT, w->model->scene.file, select->line, field,
                          "chooses no face of the surface of body '%s': a face is taken when all its nodes are chosen",
                          w->given->name);
    return TD_OK;
}

static double face_area(const double *x, const int32_t *n)
{
    double u[3], v[3];
    for (int c = 0; c < 3; c++)
    {
        u[c] = x[3 * (int64_t)n[1] + c] - x[3 * (int64_t)n[0] + c];
        v[c] = x[3 * (int64_t)n[2] + c] - x[3 * (int64_t)n[0] + c];
    }
    double a = u[1] * v[2] - u[2] * v[1], b = u[2] * v[0] - u[0] * v[2], c = u[0] * v[1] - u[1] * v[0];
    return 0.5 * sqrt(a * a + b * b + c * c);
}

// A load that no free coordinate feels is legal, but hardly meant.
static void warn_if_held(const bodyWork *w, int number, const tdSoftLoad *load)
{
    const double *vector = w->model->scene.loads[number].vector;
    bool pressure = load->kind == TD_LOAD_SURFACE_PRESSURE, any = pressure;
    for (int64_t k = 0; k < (pressure ? 3 : 1) * (int64_t)load->n; k++)
        for (int c = 0; c < 3; c++)
        {
            any = any || vector[c] != 0;
            if ((pressure || vector[c] != 0) && !w->soft->held[3 * (int64_t)load->nodes[k] + c])
                return;
        }
    if (any)
        td_log(w->settings, TD_LOG_WARNING,
               "%s:%d: loads[%d] acts on held nodes only: it changes the reaction but moves nothing",
               w->model->scene.file, w->model->scene.loads[number].line, number);
}

// Nodal forces of the nodes with a share > 0: share * vector.
static tdStatus add_dead_load(bodyWork *w, const tdSceneLoad *given, const double *share, tdSoftLoad *out,
                              tdError *error)
{
    int32_t n = 0;
    for (int32_t i = 0; i < w->soft->n_nodes; i++)
        n += share[i] > 0;
    out->nodes = TD_TAKE(&w->model->arena, int32_t, n);
    out->force = TD_TAKE(&w->model->arena, double, 3 * (int64_t)n);
    if (out->nodes == NULL || out->force == NULL)
        return td_fail_memory(error, "the loads");
    for (int32_t i = 0; i < w->soft->n_nodes; i++)
        if (share[i] > 0)
        {
            out->nodes[out->n] = i;
            for (int c = 0; c < 3; c++)
                out->force[3 * (int64_t)out->n + c] = share[i] * given->vector[c];
            out->n++;
        }
    return TD_OK;
}

// The blocks of the matrix that a pressure's stiffness is added to are found after the pattern is made.
static tdStatus add_pressure(bodyWork *w, const tdSceneLoad *given, const bool *face, int64_t faces, tdSoftLoad *out,
                             tdError *error)
{
    out->pressure = given->pressure;
    out->nodes = TD_TAKE(&w->model->arena, int32_t, 3 * faces);
    out->block = TD_TAKE(&w->model->arena, int32_t, 9 * faces);
    if (out->nodes == NULL || out->block == NULL)
        return td_fail_memory(error, "the loads");
    for (int64_t f = 0; f < w->surface.n_tris; f++)
        if (face[f])
            memcpy(out->nodes + 3 * (int64_t)out->n++, w->surface.tris + 3 * f, 3 * sizeof(int32_t));
    return TD_OK;
}

static tdStatus add_load(bodyWork *w, int number, double *share, bool *face, tdSoftLoad *out, tdError *error)
{
    const tdSceneLoad *given = &w->model->scene.loads[number];
    const tdSoft *soft = w->soft;
    char field[64];
    snprintf(field, sizeof field, "loads[%d]", number);
    out->kind = given->kind;
    out->input = td_compile_input(w->model, given->name);
    memset(share, 0, (size_t)soft->n_nodes * sizeof *share);
    if (given->kind == TD_LOAD_POINT_TOTAL || given->kind == TD_LOAD_POINT_EACH)
    {
        TD_TRY(td_select_nodes(w->model, &soft->mesh, &given->select, field, w->chosen, error));
        int64_t n = 0;
        for (int32_t i = 0; i < soft->n_nodes; i++)
            n += w->chosen[i];
        for (int32_t i = 0; i < soft->n_nodes; i++)
            if (w->chosen[i])
                share[i] = given->kind == TD_LOAD_POINT_EACH ? 1 : 1.0 / (double)n;
        return add_dead_load(w, given, share, out, error);
    }
    int64_t faces = 0;
    TD_TRY(select_faces(w, &given->select, field, face, &faces, error));
    if (given->kind == TD_LOAD_SURFACE_PRESSURE)
        return add_pressure(w, given, face, faces, out, error);
    double total = 0;
    for (int64_t f = 0; f < w->surface.n_tris; f++)
        if (face[f])
        {
            const int32_t *n = w->surface.tris + 3 * f;
            double area = face_area(soft->rest, n);
            total += area;
            for (int a = 0; a < 3; a++)
                share[n[a]] += area / 3;
        }
    if (given->kind == TD_LOAD_SURFACE_TOTAL)
        for (int32_t i = 0; i < soft->n_nodes; i++)
            share[i] /= total;
    return add_dead_load(w, given, share, out, error);
}

static tdStatus add_loads(bodyWork *w, tdError *error)
{
    const tdScene *scene = &w->model->scene;
    tdSoft *soft = w->soft;
    soft->loads = TD_TAKE(&w->model->arena, tdSoftLoad, scene->n_loads);
    double *share = td_take((size_t)soft->n_nodes, sizeof *share);
    bool *face = td_take((size_t)w->surface.n_tris, sizeof *face);
    tdStatus status = soft->loads == NULL || share == NULL || face == NULL ? td_fail_memory(error, "the loads") : TD_OK;
    for (int k = 0; k < scene->n_loads && status == TD_OK; k++)
        if (scene->loads[k].body == w->index)
        {
            status = add_load(w, k, share, face, &soft->loads[soft->n_loads++], error);
            if (status == TD_OK)
                warn_if_held(w, k, &soft->loads[soft->n_loads - 1]);
        }
    free(share);
    free(face);
    return status;
}

static void find_pressure_blocks(tdSoft *soft)
{
    for (int k = 0; k < soft->n_loads; k++)
    {
        tdSoftLoad *load = &soft->loads[k];
        if (load->kind != TD_LOAD_SURFACE_PRESSURE)
            continue;
        for (int64_t f = 0; f < load->n; f++)
            for (int p = 0; p < 9; p++)
            {
                int32_t a = load->nodes[3 * f + p / 3], b = load->nodes[3 * f + p % 3];
                load->block[9 * f + p] = td_block_find(&soft->pattern, a > b ? a : b, a > b ? b : a);
            }
    }
}

// ---------------------------------------------------------------- body

static void warn_about_material(const bodyWork *w)
{
    if (w->given->material.poisson > 0.49)
        td_log(w->settings, TD_LOG_WARNING,
               "body '%s': Poisson's ratio %g with linear tetrahedra: they lock (too stiff) near incompressibility; "
               "results are trustworthy up to about 0.45",
               w->given->name, w->given->material.poisson);
}

static void warn_about_statics(const bodyWork *w)
{
    const tdSceneBody *given = w->given;
    if (w->model->scene.settings.method != TD_METHOD_STATIC)
        return;
    if (given->damping_mass > 0 || given->damping_stiffness > 0)
        td_log(w->settings, TD_LOG_WARNING, "body '%s': damping has no effect in a static scene", given->name);
    if (given->consistent_mass)
        td_log(w->settings, TD_LOG_WARNING, "body '%s': the form of the mass has no effect in a static scene",
               given->name);
}

// A wave may not cross an element's least height in less than a step: h < height / c, c^2 = (lambda + 2 mu) / rho.
static void warn_about_step(const bodyWork *w)
{
    const tdSceneSettings *settings = &w->model->scene.settings;
    const tdMesh *mesh = &w->soft->mesh;
    const tdSceneMaterial *m = &w->given->material;
    const tdCells *tets = &mesh->cells[TD_CELL_TET];
    if (settings->method != TD_METHOD_THETA || settings->theta >= 0.5)
        return;
    double least = INFINITY, volume = 0;
    for (int64_t e = 0; e < tets->count; e++)
    {
        const int32_t *n = tets->nodes + 4 * e;
        double v = td_cell_volume(mesh, TD_CELL_TET, e), area = 0;
        for (int k = 0; k < 4; k++)
            area = fmax(area, face_area(mesh->x, (int32_t[3]){n[k], n[(k + 1) % 4], n[(k + 2) % 4]}));
        volume += v;
        least = fmin(least, 3 * v / area);
    }
    double modulus = m->young * (1 - m->poisson) / ((1 + m->poisson) * (1 - 2 * m->poisson));
    double density = m->density > 0 ? m->density : m->total_mass / volume, limit = least / sqrt(modulus / density);
    if (settings->time_step > limit)
        td_log(w->settings, TD_LOG_WARNING,
               "body '%s': time_step is %.3g s, but a method with theta below 1/2 (symplectic) is stable up to about "
               "%.2g s here; use a smaller time_step or an implicit method",
               w->given->name, settings->time_step, limit);
}

static tdStatus compile(bodyWork *w, tdError *error)
{
    tdSoft *soft = w->soft;
    TD_TRY(load_mesh(w, error));
    w->chosen = td_take((size_t)soft->n_nodes, sizeof *w->chosen);
    if (w->chosen == NULL)
        return td_fail_memory(error, "the body");
    TD_TRY(td_mesh_boundary_faces(&soft->mesh, &w->surface, error));
    soft->surface_tris = w->surface.n_tris;
    soft->surface = TD_TAKE(&w->model->arena, int32_t, 3 * w->surface.n_tris);
    if (soft->surface == NULL)
        return td_fail_memory(error, "the surface");
    if (w->surface.n_tris > 0)
        memcpy(soft->surface, w->surface.tris, 3 * (size_t)w->surface.n_tris * sizeof(int32_t));
    TD_TRY(add_supports(w, error));
    TD_TRY(add_loads(w, error));
    TD_TRY(td_soft_build(&w->model->arena, soft, w->given, w->model->scene.file, error));
    find_pressure_blocks(soft);
    warn_about_material(w);
    warn_about_statics(w);
    warn_about_step(w);
    return TD_OK;
}

tdStatus td_compile_soft(tdModel *model, int index, const tdSettings *settings, tdError *error)
{
    tdBody *body = &model->bodies[index];
    tdSoft *soft = TD_TAKE(&model->arena, tdSoft, 1);
    if (soft == NULL)
        return td_fail_memory(error, "the body");
    body->ops = &td_soft_ops;
    body->data = soft;
    bodyWork w = {
        .model = model, .given = &model->scene.bodies[index], .settings = settings, .soft = soft, .index = index};
    tdStatus status = compile(&w, error);
    free(w.chosen);
    td_surface_free(&w.surface);
    body->count = 3 * (int64_t)soft->n_nodes;
    body->nodes = soft->n_nodes;
    body->elements = soft->mesh.cells[TD_CELL_TET].count;
    body->unknowns = body->count - soft->n_held;
    body->n_held = soft->n_held;
    body->held = soft->held_list;
    return status;
}
