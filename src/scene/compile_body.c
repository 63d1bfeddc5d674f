// SPDX-License-Identifier: Apache-2.0
// One soft body: mesh, supports, tables. Its materials are in compile_material.c, its loads in compile_load.c.
#include "base/log.h"
#include "describe/unit.h"
#include "mesh/doctor.h"
#include "mesh/generate.h"
#include "mesh/topology.h"
#include "scene/compile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tdStatus fail(const tdBodyWork *w, int line, tdError *error, const char *field, const char *message)
{
    return td_fail_at(error, TD_ERROR_INPUT, w->model->scene.file, line, field, "body '%s': %s", w->given->name,
                      message);
}

// ---------------------------------------------------------------- mesh

// Extents of a placed body are lengths, with the limits of lengths, however it was scaled.
static tdStatus check_size(const tdBodyWork *w, tdError *error)
{
    const tdMesh *mesh = &w->soft->mesh;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, size = 0;
    for (int64_t i = 0; i < 3 * mesh->n_nodes; i++)
    {
        low[i % 3] = fmin(low[i % 3], mesh->x[i]);
        high[i % 3] = fmax(high[i % 3], mesh->x[i]);
    }
    bool good = true;
    char why[TD_UNIT_WHY], bad[TD_UNIT_WHY] = "";
    for (int c = 0; c < 3; c++)
    {
        double extent = high[c] - low[c]; // of a plane body zero along z
        size = hypot(size, extent);
        good = good && td_dim_check(TD_DIM_LENGTH, extent != 0, extent, bad) &&
               td_dim_check(TD_DIM_LENGTH, false, high[c], bad) && td_dim_check(TD_DIM_LENGTH, false, low[c], bad);
    }
    if (!td_dim_check(TD_DIM_LENGTH, true, size, why) || !good)
        return td_fail_at(error, TD_ERROR_INPUT, w->model->scene.file, w->given->mesh_line, "mesh",
                          "body '%s' is %g x %g x %g m: %.300s Check the scene's units and the body's transform",
                          w->given->name, high[0] - low[0], high[1] - low[1], high[2] - low[2], good ? why : bad);
    return TD_OK;
}

// What a simulation would bear in silence and answer wrongly: repeated or degenerate cells, nodes that
// should be one.
static tdStatus tell_faults(const tdBodyWork *w, tdError *error)
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

static tdStatus load_mesh(tdBodyWork *w, tdError *error)
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
                char inner[700], field[64];
                bool missing = access(given->mesh, F_OK) != 0;
                td_error_format(error, inner, sizeof inner);
                snprintf(field, sizeof field, "bodies[%d].mesh", (int)(given - w->model->scene.bodies));
                td_fail_at(error, status, w->model->scene.file, given->mesh_line, field, "%.600s%s", inner,
                           missing ? ". Paths are relative to the scene; 'tendril mesh' makes a mesh from CAD" : "");
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
    else if (given->torus.cells[0] > 0)
        TD_TRY(td_mesh_torus(given->torus.major, given->torus.minor, given->torus.cells, mesh, error));
    else if (given->box.cells[2] == 0)
        TD_TRY(td_mesh_rectangle(given->box.min, given->box.max, given->box.cells, mesh, error));
    else
        TD_TRY(td_mesh_box(given->box.min, given->box.max, given->box.cells, given->box.hexahedra, mesh, error));
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
static void hold_loose_nodes(tdBodyWork *w)
{
    tdSoft *soft = w->soft;
    memset(w->chosen, 0, (size_t)soft->n_nodes * sizeof *w->chosen);
    for (int k = 0; k < w->n_lists; k++)
    {
        const tdElementShape *shape = &td_element_shape[w->lists[k].kind];
        for (int64_t e = 0; e < w->lists[k].count; e++)
            for (int a = 0; a < shape->nodes; a++)
                w->chosen[soft->mesh.cells[shape->cell].nodes[shape->nodes * (int64_t)w->lists[k].cells[e] + a]] = true;
    }
    int64_t loose = 0;
    for (int32_t i = 0; i < soft->n_nodes; i++)
        if (!w->chosen[i])
        {
            loose++;
            for (int c = 0; c < 3; c++)
                soft->held[3 * i + c] = true;
        }
    if (loose > 0)
        td_log(w->settings, TD_LOG_WARNING, "body '%s': %lld nodes belong to no element and stay where they are",
               w->given->name, (long long)loose);
}

static tdStatus add_driven(tdBodyWork *w, int k, int32_t *driver, tdError *error)
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

// Nodes that an actuator moves as one piece.
static tdStatus add_moved(tdBodyWork *w, int number, int32_t *driver, tdError *error)
{
    tdSoft *soft = w->soft;
    const tdSceneActuator *given = &w->model->scene.actuators[number];
    char field[64];
    snprintf(field, sizeof field, "actuators[%d]", number);
    TD_TRY(td_select_nodes(w->model, &soft->mesh, &given->select, field, w->chosen, error));
    int32_t input = td_compile_input(w->model, given->name);
    for (int32_t i = 0; i < soft->n_nodes; i++)
    {
        if (!w->chosen[i])
            continue;
        for (int c = 0; c < 3; c++)
        {
            int32_t coord = 3 * i + c;
            if (driver[coord] != 0)
                return td_fail_at(error, TD_ERROR_INPUT, w->model->scene.file, given->select.line, field,
                                  "node %d of body '%s' is %s in %c already; choose nodes that do not overlap", i,
                                  w->given->name, driver[coord] < 0 ? "fixed" : "moved by something else", 'x' + c);
            driver[coord] = INT32_MAX;
            soft->held[coord] = true;
            if (given->kind == TD_ACTUATOR_TRANSLATION)
                soft->driven[soft->n_driven++] = (tdDriven){coord, input, given->direction[c]};
        }
        if (given->kind == TD_ACTUATOR_TRANSLATION)
            continue;
        tdTurned *turned = &soft->turned[soft->n_turned++];
        *turned = (tdTurned){.node = i, .input = input};
        memcpy(turned->center, given->center, sizeof turned->center);
        memcpy(turned->axis, given->direction, sizeof turned->axis);
    }
    return TD_OK;
}

static bool moves_nodes(const tdBodyWork *w, int actuator)
{
    const tdSceneActuator *given = &w->model->scene.actuators[actuator];
    return given->body == w->index && (given->kind == TD_ACTUATOR_TRANSLATION || given->kind == TD_ACTUATOR_ROTATION);
}

static tdStatus add_supports(tdBodyWork *w, tdError *error)
{
    tdSoft *soft = w->soft;
    tdArena *arena = &w->model->arena;
    int64_t coords = 3 * (int64_t)soft->n_nodes;
    soft->held = TD_TAKE(arena, bool, coords);
    soft->held_list = TD_TAKE(arena, int32_t, coords);
    int n_moved = 0;
    for (int a = 0; a < w->model->scene.n_actuators; a++)
        n_moved += moves_nodes(w, a);
    soft->driven = TD_TAKE(arena, tdDriven, w->given->n_prescribed + n_moved > 0 ? coords : 0);
    soft->turned = TD_TAKE(arena, tdTurned, n_moved > 0 ? soft->n_nodes : 0);
    int32_t *driver = td_take((size_t)coords, sizeof *driver); // -1 fixed, k + 1 prescribed by entry k
    if (soft->held == NULL || soft->held_list == NULL || soft->driven == NULL || soft->turned == NULL || driver == NULL)
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
    for (int a = 0; a < w->model->scene.n_actuators && status == TD_OK; a++)
        if (moves_nodes(w, a))
            status = add_moved(w, a, driver, error);
    free(driver);
    TD_TRY(status);
    hold_loose_nodes(w);
    bool at_rest = w->model->scene.settings.method == TD_METHOD_STATIC;
    if (at_rest && w->given->adrift)
        td_compile_pin(w);
    for (int64_t i = 2; i < coords && w->given->plane != TD_PLANE_NONE; i += 3)
        soft->held[i] = true;
    for (int64_t i = 0; i < coords; i++)
        if (soft->held[i])
            soft->held_list[soft->n_held++] = (int32_t)i;
    int supports = w->given->n_fixed + w->given->n_prescribed + n_moved;
    soft->supported = supports > 0 || w->given->plane != TD_PLANE_NONE;
    const tdScene *scene = &w->model->scene;
    bool held_by_others = td_compile_holds_others(scene);
    soft->leans = at_rest && supports == 0 && !w->given->adrift && held_by_others;
    if (at_rest && supports == 0 && !w->given->adrift && !held_by_others)
        return fail(
            w, w->given->line, error, "fixed",
            "nothing holds it, so it has no equilibrium; add 'fixed' or a support ('contact', 'attachments', a rod "
            "of 'couplings'), or use a dynamic integrator");
    return TD_OK;
}

// ---------------------------------------------------------------- body

// Triangles for pictures and for loads: the boundary, or the elements of a body of triangles.
static tdStatus take_surface(tdBodyWork *w, tdError *error)
{
    tdSoft *soft = w->soft;
    tdSurface *surface = &w->surface;
    TD_TRY(td_mesh_boundary_faces(&soft->mesh, surface, error));
    if (!td_body_is_flat(w))
    {
        soft->surface_tris = surface->n_tris;
        soft->surface = TD_TAKE(&w->model->arena, int32_t, 3 * surface->n_tris);
        if (soft->surface == NULL)
            return td_fail_memory(error, "the surface");
        if (surface->n_tris > 0)
            memcpy(soft->surface, surface->tris, 3 * (size_t)surface->n_tris * sizeof(int32_t));
        return TD_OK;
    }
    for (int k = 0; k < w->n_lists; k++)
        soft->surface_tris += w->lists[k].count;
    soft->surface = TD_TAKE(&w->model->arena, int32_t, 3 * soft->surface_tris);
    if (soft->surface == NULL)
        return td_fail_memory(error, "the surface");
    int32_t *to = soft->surface;
    for (int k = 0; k < w->n_lists; k++)
        for (int64_t e = 0; e < w->lists[k].count; e++, to += 3)
            memcpy(to, soft->mesh.cells[TD_CELL_TRI].nodes + 3 * (int64_t)w->lists[k].cells[e], 3 * sizeof *to);
    return TD_OK;
}

// What stands in the place of a factor, and why.
static void tell_of_multigrid(const tdBodyWork *w)
{
    const tdLinearModel *linear = &w->soft->linear;
    if (linear->amg == NULL)
        return;
    int64_t rows[TD_AMG_LEVELS];
    int levels = td_amg_levels(linear->amg, rows, TD_AMG_LEVELS);
    char why[120] = "";
    if (linear->factor_bytes > 0 && isfinite(linear->factor_bytes))
        snprintf(why, sizeof why, "a factor of its matrix would take %.2g GB, more than solver.memory; ",
                 1e-9 * linear->factor_bytes);
    else if (linear->factor_bytes > 0)
        snprintf(why, sizeof why, "a factor of its matrix would have too many entries; ");
    td_log(w->settings, TD_LOG_INFO, "body '%s': %smultigrid of %d levels, from %lld nodes to %lld, takes %.2g GB",
           w->given->name, why, levels, (long long)rows[0], (long long)rows[levels - 1],
           1e-9 * td_amg_bytes(linear->amg));
}

static void warn_about_statics(const tdBodyWork *w)
{
    const tdSceneBody *given = w->given;
    if (w->model->scene.settings.method != TD_METHOD_STATIC)
        return;
    if (given->damping_mass > 0 || given->damping_stiffness > 0)
        td_log(w->settings, TD_LOG_WARNING, "body '%s': damping has no effect in a static scene", given->name);
    if (given->consistent_mass)
        td_log(w->settings, TD_LOG_WARNING, "body '%s': the form of the mass matrix has no effect in a static scene",
               given->name);
}

static double face_area(const double *x, int32_t a, int32_t b, int32_t c)
{
    double u[3], v[3];
    for (int k = 0; k < 3; k++)
    {
        u[k] = x[3 * (int64_t)b + k] - x[3 * (int64_t)a + k];
        v[k] = x[3 * (int64_t)c + k] - x[3 * (int64_t)a + k];
    }
    return 0.5 * hypot(hypot(u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2]), u[0] * v[1] - u[1] * v[0]);
}

// The least height of a tetrahedron; for other cells the edge of a cube of their volume.
static double cell_size(const tdMesh *mesh, tdCellType type, int64_t cell)
{
    double volume = fabs(td_cell_volume(mesh, type, cell)), area = 0;
    const int32_t *n = mesh->cells[type].nodes + cell * td_cell_nodes(type);
    if (type != TD_CELL_TET)
        return cbrt(volume);
    for (int k = 0; k < 4; k++)
        area = fmax(area, face_area(mesh->x, n[k], n[(k + 1) % 4], n[(k + 2) % 4]));
    return 3 * volume / area;
}

// A wave may not cross an element in less than a step: h < size / c, c^2 = (lambda + 2 mu) / rho.
static void warn_about_step(const tdBodyWork *w)
{
    const tdSceneSettings *settings = &w->model->scene.settings;
    const tdSoft *soft = w->soft;
    if (settings->method != TD_METHOD_THETA || settings->theta >= 0.5 || td_body_is_flat(w))
        return;
    double least = INFINITY, fastest = 0;
    for (int t = TD_CELL_TET; t < TD_CELL_TYPES; t++)
        for (int64_t e = 0; e < soft->mesh.cells[t].count; e++)
            least = fmin(least, cell_size(&soft->mesh, t, e));
    for (int b = 0; b < soft->n_blocks; b++)
    {
        const tdMaterial *material = &soft->blocks[b].material;
        double young = 0, poisson = 0;
        td_law_engineering(material->law, material->parameters, &young, &poisson);
        double modulus = young * (1 - poisson) / ((1 + poisson) * (1 - 2 * poisson));
        fastest = fmax(fastest, sqrt(modulus / material->density));
    }
    if (settings->time_step > least / fastest)
        td_log(w->settings, TD_LOG_WARNING,
               "body '%s': time_step is %.3g s, but a method with theta below 1/2 (symplectic) is stable up to about "
               "%.2g s here; use a smaller time_step or an implicit method",
               w->given->name, settings->time_step, least / fastest);
}

static tdStatus compile(tdBodyWork *w, tdError *error)
{
    tdSoft *soft = w->soft;
    TD_TRY(load_mesh(w, error));
    w->chosen = td_take((size_t)soft->n_nodes, sizeof *w->chosen);
    if (w->chosen == NULL)
        return td_fail_memory(error, "the body");
    TD_TRY(td_compile_materials(w, error));
    TD_TRY(take_surface(w, error));
    TD_TRY(add_supports(w, error));
    TD_TRY(td_compile_loads(w, error));
    TD_TRY(td_compile_body_points(w, error));
    TD_TRY(td_soft_build(&w->model->arena, soft, w->n_lists, w->lists, (int)w->n_couplings, w->couplings, w->given,
                         &w->model->scene.settings, w->model->scene.file, error));
    td_compile_pressure_blocks(soft);
    if (w->given->adrift)
        TD_TRY(td_compile_adrift(w, error));
    tell_of_multigrid(w);
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
    body->soft = soft;
    tdBodyWork w = {
        .model = model, .given = &model->scene.bodies[index], .settings = settings, .soft = soft, .index = index};
    tdStatus status = compile(&w, error);
    free(w.chosen);
    free(w.couplings);
    td_surface_free(&w.surface);
    td_arena_free(&w.scratch);
    body->count = 3 * (int64_t)soft->n_nodes;
    body->nodes = soft->n_nodes;
    body->elements = soft->elements;
    body->mass = soft->total_mass;
    body->unknowns = body->count - soft->n_held;
    body->n_held = soft->n_held;
    body->held = soft->held_list;
    return status;
}
