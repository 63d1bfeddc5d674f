// SPDX-License-Identifier: Apache-2.0
// tendril check: validates a scene and says what was understood of it.
#include "actuation.h"
#include "cli.h"

#include "body/soft.h"
#include "contact/contact.h"
#include "core/model.h"
#include "describe/tree.h"
#include "mesh/topology.h"
#include "scene/compile.h"
#include "scene/schema.h"
#include "step/monitor.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] = "usage: tendril check SCENE [--json]\n"
                           "       tendril check --reference\n"
                           "\n"
                           "Validates a scene file without running it and prints what was understood.\n"
                           "An error names the line and shows it.\n"
                           "\n" CLI_ROM_HELP("   ") //
    "  --reference   print the reference of the scene file (Markdown)\n"
    "  --json        print one JSON object: the summary, or the error\n"
    "  --quiet       print nothing when the scene is valid\n"
    "\n"
    "example:\n"
    "  tendril check beam.yaml\n";

// ---------------------------------------------------------------- errors

static bool of_a_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

// Not within another: the key g is not the end of young.
static const char *find_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    const char *at = length > 0 ? strstr(text, word) : NULL;
    while (at != NULL && ((at > text && of_a_word(at[-1]) && of_a_word(word[0])) ||
                          (of_a_word(at[length]) && of_a_word(word[length - 1]))))
        at = strstr(at + 1, word);
    return at;
}

// Column at which the fault stands, found by what the message quotes or by the field's last key; -1 if neither is
// on the line.
static int column_of(const tdError *error, const char *line, size_t length)
{
    char word[128] = "", text[1024];
    snprintf(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : sizeof text - 1), line);
    const char *quote = strstr(error->message, "found '");
    if (quote != NULL)
    {
        snprintf(word, sizeof word, "%s", quote + strlen("found '"));
        word[strcspn(word, "'")] = '\0';
    }
    const char *at = find_word(text, word);
    if (at == NULL)
    {
        const char *dot = strrchr(error->field, '.');
        snprintf(word, sizeof word, "%s", dot != NULL ? dot + 1 : error->field);
        word[strcspn(word, "[")] = '\0';
        at = find_word(text, word);
    }
    return at == NULL ? -1 : (int)(at - text);
}

// The offending line with a caret below it, on stderr.
static void show_line(const tdError *error)
{
    char *text = NULL;
    size_t size = 0;
    if (error->line <= 0 || error->file[0] == '\0' || td_file_read(error->file, &text, &size, NULL) != TD_OK)
        return;
    const char *line = text, *end = text + size;
    for (int i = 1; i < error->line && line != NULL; i++)
    {
        line = memchr(line, '\n', (size_t)(end - line));
        line = line != NULL ? line + 1 : NULL;
    }
    if (line != NULL)
    {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((newline != NULL ? newline : end) - line);
        length -= length > 0 && line[length - 1] == '\r';
        if (length > 200)
            length = 200;
        int column = column_of(error, line, length);
        fprintf(stderr, "%5d | %.*s\n", error->line, (int)length, line);
        // Tabs are repeated so that the caret stands below the right character.
        if (column >= 0)
        {
            fputs("      | ", stderr);
            for (int i = 0; i < column; i++)
                if (((unsigned char)line[i] & 0xC0) != 0x80)
                    fputc(line[i] == '\t' ? '\t' : ' ', stderr);
            fputs("^\n", stderr);
        }
    }
    free(text);
}

static int report_error(const tdError *error)
{
    if (cli_json())
    {
        tdJson json = {0};
        td_json_open(&json, NULL, '{');
        td_json_bool(&json, "ok", false);
        cli_json_error(&json, error);
        td_json_close(&json, '}');
        cli_print_json(&json);
    }
    int code = cli_fail(error);
    show_line(error);
    return code;
}

// ---------------------------------------------------------------- summary

static const char *const volumetric_names[] = {"square", "log", "mixed"};
static const char *const plane_names[] = {"", "strain", "stress"};
static const char *const load_names[] = {"point, total force", "point, force at each node", "surface, total force",
                                         "surface, traction", "surface, pressure"};
static const char *const select_names[] = {"all nodes", "box",   "sphere", "plane",
                                           "group",     "nodes", "side",   "connected part"};

// A pressure in the prefix that people would use.
static void pressure_text(double pascal, char *out, size_t size)
{
    double a = fabs(pascal);
    if (a >= 1e9)
        snprintf(out, size, "%g GPa", pascal / 1e9);
    else if (a >= 1e6)
        snprintf(out, size, "%g MPa", pascal / 1e6);
    else if (a >= 1e3)
        snprintf(out, size, "%g kPa", pascal / 1e3);
    else
        snprintf(out, size, "%g Pa", pascal);
}

static const char *method_text(const tdSceneSettings *s)
{
    if (s->method != TD_METHOD_THETA)
        return s->method == TD_METHOD_STATIC ? "static" : s->method == TD_METHOD_RK4 ? "rk4" : "newmark";
    if (s->theta == 1 && s->theta_vq == 1)
        return "backward_euler";
    if (s->theta == 0.5 && s->theta_vq == 0.5)
        return "midpoint";
    return s->theta == 0 && s->theta_vq == 1 ? "symplectic" : "theta";
}

static void select_text(const tdSelect *select, char *out, size_t size)
{
    if (select->kind == TD_SELECT_GROUP)
        snprintf(out, size, "group %s", select->group);
    else if (select->kind == TD_SELECT_NODES)
        snprintf(out, size, "%d node%s", select->n_nodes, select->n_nodes == 1 ? "" : "s");
    else
        snprintf(out, size, "%s", select_names[select->kind]);
}

// Extents of a placed body [m].
static void measure(const tdSoft *soft, double size[3])
{
    for (int c = 0; c < 3; c++)
    {
        double low = INFINITY, high = -INFINITY;
        for (int64_t i = 0; i < soft->n_nodes; i++)
        {
            low = fmin(low, soft->rest[3 * i + c]);
            high = fmax(high, soft->rest[3 * i + c]);
        }
        size[c] = high - low;
    }
}

static void print_size(const tdModel *model, const double size[3])
{
    const char *unit;
    double factor = act_unit(model, "m", fmax(size[0], fmax(size[1], size[2])), &unit);
    printf("  placed: %g x %g x %g %s", size[0] / factor, size[1] / factor, size[2] / factor, unit);
}

// Whether a parameter of a law is a pressure, as its key says; those of Ogden's terms have the names of theirs.
static bool is_modulus(const char *name)
{
    char key[32];
    size_t n = strlen(name);
    snprintf(key, sizeof key, "%.*s", (int)(n > 2 && name[n - 2] == '_' && isdigit(name[n - 1]) ? n - 2 : n), name);
    for (const tdKey *k = td_schema_material.keys; k->name != NULL; k++)
        if (strcmp(k->name, key) == 0)
            return k->dim.mass != 0;
    return false;
}

static void print_constants(const tdSceneMaterial *m)
{
    char pressure[32];
    if (!isnan(m->young))
    {
        pressure_text(m->young, pressure, sizeof pressure);
        printf(", Young's modulus %s (%.9g Pa)", pressure, m->young);
    }
    int n = 0;
    const char *const *names = td_law_names(m->law, &n);
    for (int i = 0; i < n && !isnan(m->value[i]); i++)
    {
        pressure_text(m->value[i], pressure, sizeof pressure);
        if (is_modulus(names[i]))
            printf(", %s %s", names[i], pressure);
        else
            printf(", %s %g", names[i], m->value[i]);
    }
    pressure_text(m->bulk, pressure, sizeof pressure);
    if (!isnan(m->bulk))
        printf(", bulk modulus %s", pressure);
    if (!isnan(m->poisson))
        printf(", Poisson's ratio %g", m->poisson);
    if (m->volumetric != TD_VOLUMETRIC_SQUARE)
        printf(", volumetric energy %s", volumetric_names[m->volumetric]);
}

static const char *caveat_of(const tdModel *model, const tdSceneMaterial *m)
{
    return td_monitor_caveat(&model->scheme, model->scene.settings.newton, td_law(m->law));
}

// Cells that a material is for: triangles of a membrane or a plane body, else volume elements.
static int64_t count_cells(const tdSoft *soft, const tdSceneBody *body, const tdSceneMaterial *m)
{
    bool flat = body->plane != TD_PLANE_NONE || m->thickness > 0;
    int g = td_mesh_find_group(&soft->mesh, m->group);
    int64_t n = 0;
    for (int type = 0; type < TD_CELL_TYPES && g >= 0; type++)
        if (flat ? type == TD_CELL_TRI : td_cell_dim((tdCellType)type) == 3)
            n += soft->mesh.groups[g].count[type];
    return n;
}

// Nodes that a selector chooses; -1: there is no mesh to count them in.
static int64_t count_nodes(const tdModel *model, const tdSoft *soft, const tdSelect *select)
{
    int64_t n = 0;
    bool *chosen = calloc((size_t)soft->mesh.n_nodes + 1, sizeof *chosen);
    if (chosen == NULL || soft->mesh.n_nodes == 0 ||
        td_select_nodes(model, &soft->mesh, select, "", chosen, NULL) != TD_OK)
        n = -1;
    for (int64_t i = 0; i < soft->mesh.n_nodes && n >= 0; i++)
        n += chosen[i];
    free(chosen);
    return n;
}

static void print_nodes(const tdModel *model, const tdSoft *soft, const tdSelect *select)
{
    int64_t n = count_nodes(model, soft, select);
    if (n >= 0)
        printf(", %lld node%s", (long long)n, n == 1 ? "" : "s");
}

static void print_material(const tdModel *model, const tdSceneBody *body, const tdSoft *soft, const tdSceneMaterial *m)
{
    const char *mass = body->consistent_mass ? "consistent" : "lumped";
    if (m->group == NULL)
        printf("  material: %s", td_scene_law(m->law));
    else if (m->thickness > 0 && body->plane == TD_PLANE_NONE)
        printf("  membrane %s, %lld triangles, %g m thick: %s", m->group, (long long)count_cells(soft, body, m),
               m->thickness, td_scene_law(m->law));
    else
        printf("  material of %s, %lld elements: %s", m->group, (long long)count_cells(soft, body, m),
               td_scene_law(m->law));
    print_constants(m);
    printf("\n");
    if (m->has_fibre)
        printf("    fibre [%g, %g, %g], sheet [%g, %g, %g]\n", m->fibre[0], m->fibre[1], m->fibre[2], m->fibre[3],
               m->fibre[4], m->fibre[5]);
    for (int i = 0; i < m->n_prony; i++)
        printf("    relaxes by %g in %g s\n", m->prony_g[i], m->prony_tau[i]);
    if (m->density > 0)
        printf("  density: %.9g kg/m^3 (%g g/cm^3), %s mass\n", m->density, m->density / 1e3, mass);
    else if (m->total_mass > 0)
        printf("  total mass: %.9g kg (%g g), %s mass\n", m->total_mass, m->total_mass * 1e3, mass);
    else
        printf("  no mass\n");
    if (caveat_of(model, m) != NULL)
        printf("  energy: %s\n", caveat_of(model, m));
}

static void print_mesh(const tdSceneBody *body)
{
    const tdSceneBox *box = &body->box;
    double size[3];
    for (int i = 0; i < 3; i++)
        size[i] = body->scale * (box->max[i] - box->min[i]);
    if (body->mesh != NULL)
        printf("body %s: mesh %s, scale %g\n", body->name, body->mesh, body->scale);
    else if (body->torus.cells[0] > 0)
        printf("body %s: torus of radii %g and %g m, %d sections of %d x %d points\n", body->name,
               body->scale * body->torus.major, body->scale * body->torus.minor, body->torus.cells[0],
               body->torus.cells[1], body->torus.cells[2]);
    else if (box->cells[2] == 0)
        printf("body %s: rectangle of %g x %g m, %d x %d cells\n", body->name, size[0], size[1], box->cells[0],
               box->cells[1]);
    else
        printf("body %s: block of %g x %g x %g m, %d x %d x %d cells%s\n", body->name, size[0], size[1], size[2],
               box->cells[0], box->cells[1], box->cells[2], box->hexahedra ? " of hexahedra" : "");
    if (body->plane != TD_PLANE_NONE)
        printf("  plane %s, %g m thick\n", plane_names[body->plane], body->material.thickness);
    if (body->formulation == TD_FORMULATION_MEAN_DILATATION)
        printf("  one volume change per element (mean_dilatation)\n");
}

// Links, joints and what limits them.
static void print_rigid(const tdModel *model, int index)
{
    const tdSceneBody *body = &model->scene.bodies[index];
    int64_t coords = model->bodies[index].count;
    const tdTree *tree = body->tree;
    double size[3];
    measure(model->bodies[index].soft, size);
    printf("body %s: %s, %d link%s, %lld coordinate%s, %s base\n", body->name,
           body->type == TD_BODY_RIGID ? "rigid" : tree->file, tree->n_links, tree->n_links == 1 ? "" : "s",
           (long long)coords, coords == 1 ? "" : "s", tree->links[0].kind == TD_JOINT_FREE ? "free" : "fixed");
    print_size(model, size);
    printf(", %.4g kg; %d shapes\n", model->bodies[index].soft->total_mass, tree->n_shapes);
    for (int l = 1; l < tree->n_links; l++)
    {
        const tdTreeLink *link = &tree->links[l];
        const char *unit = link->kind == TD_JOINT_PRISMATIC ? "m" : "rad";
        if (td_joint_coordinates(link->kind) == 0)
            continue;
        printf("  joint %s: %s, carries %s", link->joint, td_joint_name(link->kind), link->name);
        if (td_joint_coordinates(link->kind) == 1 && link->mimic < 0)
            printf(", at %g %s", link->start, unit);
        if (isfinite(link->lower) || isfinite(link->upper))
            printf(", %g to %g %s", link->lower, link->upper, unit);
        if (isfinite(link->effort))
            printf(", at most %g %s", link->effort, link->kind == TD_JOINT_PRISMATIC ? "N" : "N m");
        if (link->mimic >= 0)
            printf(", %g times %s%s", link->ratio, tree->links[link->mimic].joint,
                   link->offset != 0 ? " and an offset" : "");
        printf("\n");
    }
}

// What of a soft body can touch; NULL: it does not.
static const tdContactField *field_of(const tdModel *model, int index)
{
    for (int f = 0; model->contact != NULL && f < model->contact->n_fields; f++)
        if (model->contact->fields[f].body == index)
            return &model->contact->fields[f];
    return NULL;
}

static void print_surface(const tdContactField *field)
{
    if (field == NULL)
        return;
    printf("  contact surface: %d nodes, %lld triangles", field->corners, (long long)field->tris);
    if (!isnan(field->error))
        printf(", given separately, at most %.3g m from that of the mesh", field->error);
    printf("%s\n", field->walls > 0 ? "; walls of cavities touch only each other" : "");
}

static void print_body(const tdModel *model, int index)
{
    const tdSceneBody *body = &model->scene.bodies[index];
    const tdSoft *soft = model->bodies[index].soft;
    char where[128];
    double size[3];
    if (body->type != TD_BODY_SOFT)
    {
        print_rigid(model, index);
        return;
    }
    print_mesh(body);
    measure(soft, size);
    print_size(model, size);
    printf(", %.4g kg; %d nodes, %d elements\n", soft->total_mass, td_model_body_nodes(model, index),
           td_model_body_elements(model, index));
    print_material(model, body, soft, &body->material);
    for (int i = 0; i < body->n_materials; i++)
        print_material(model, body, soft, &body->materials[i]);
    if (body->damping_mass > 0 || body->damping_stiffness > 0)
        printf("  damping: %g 1/s of mass, %g s of stiffness\n", body->damping_mass, body->damping_stiffness);
    for (int i = 0; i < body->n_fixed; i++)
    {
        int axes = body->fixed[i].axes;
        select_text(&body->fixed[i].select, where, sizeof where);
        printf("  fixed: %s, axes %s%s%s", where, axes & TD_AXIS_X ? "x" : "", axes & TD_AXIS_Y ? "y" : "",
               axes & TD_AXIS_Z ? "z" : "");
        print_nodes(model, soft, &body->fixed[i].select);
        printf("\n");
    }
    for (int i = 0; i < body->n_prescribed; i++)
    {
        const tdScenePrescribed *p = &body->prescribed[i];
        select_text(&p->select, where, sizeof where);
        printf("  prescribed%s%s: %s, by [%g, %g, %g] m", p->name != NULL ? " " : "", p->name != NULL ? p->name : "",
               where, p->displacement[0], p->displacement[1], p->displacement[2]);
        print_nodes(model, soft, &p->select);
        printf("\n");
    }
    print_surface(field_of(model, index));
}

static void print_loads(const tdModel *model)
{
    const tdScene *scene = &model->scene;
    char where[128], pressure[32];
    for (int i = 0; i < scene->n_loads; i++)
    {
        const tdSceneLoad *load = &scene->loads[i];
        select_text(&load->select, where, sizeof where);
        printf("load%s%s: %s on %s of %s, ", load->name != NULL ? " " : "", load->name != NULL ? load->name : "",
               load_names[load->kind], where, scene->bodies[load->body].name);
        pressure_text(load->pressure, pressure, sizeof pressure);
        if (load->kind == TD_LOAD_SURFACE_PRESSURE)
            printf("%s", pressure);
        else
            printf("[%g, %g, %g] %s", load->vector[0], load->vector[1], load->vector[2],
                   load->kind == TD_LOAD_SURFACE_STRESS ? "Pa" : "N");
        if (model->bodies[load->body].soft != NULL)
            print_nodes(model, model->bodies[load->body].soft, &load->select);
        printf("\n");
    }
    for (int i = 0; i < scene->n_probes; i++)
        printf("probe %s: on %s\n", scene->probes[i].name, scene->bodies[scene->probes[i].body].name);
}

static void print_motion(const tdSceneMotion *motion)
{
    if (motion->n_times > 0)
    {
        printf("motion: %d times from %g s to %g s, %s, drives", motion->n_times, motion->times[0],
               motion->times[motion->n_times - 1], motion->smooth ? "smooth" : "linear");
        for (int k = 0; k < motion->n_names; k++)
            printf(" %s", motion->names[k]);
        printf("\n");
    }
}

static void print_summary(const tdModel *model)
{
    const tdScene *scene = &model->scene;
    const tdSceneSettings *s = &scene->settings;
    for (int i = 0; i < scene->n_bodies; i++)
        print_body(model, i);
    print_loads(model);
    act_print_scene(model);
    print_motion(&scene->motion);
    printf("gravity: [%g, %g, %g] m/s^2\n", s->gravity[0], s->gravity[1], s->gravity[2]);
    printf("%s: %d step%s of %g s, %g s in all%s\n", method_text(s), s->steps, s->steps == 1 ? "" : "s", s->time_step,
           s->steps * s->time_step, s->newton ? ", Newton" : "");
    printf("%s is valid\n", scene->file);
}

// What was given; null for the rest of the constants.
static void json_material(tdJson *json, const tdModel *model, const tdSceneMaterial *m)
{
    td_json_string(json, "law", td_scene_law(m->law));
    if (caveat_of(model, m) != NULL)
        td_json_string(json, "energy_caveat", caveat_of(model, m));
    td_json_number(json, "young", m->young);
    td_json_number(json, "poisson", m->poisson);
    td_json_number(json, "bulk", m->bulk);
    int n = 0;
    const char *const *names = td_law_names(m->law, &n);
    for (int i = 0; i < n && !isnan(m->value[i]); i++)
        td_json_number(json, names[i], m->value[i]);
    if (m->has_fibre)
    {
        td_json_numbers(json, "fibre", 3, m->fibre);
        td_json_numbers(json, "sheet", 3, m->fibre + 3);
    }
    if (m->n_prony > 0)
    {
        td_json_numbers(json, "relaxing_moduli", m->n_prony, m->prony_g);
        td_json_numbers(json, "relaxation_times", m->n_prony, m->prony_tau);
    }
    td_json_number(json, "density", m->density);
    td_json_number(json, "total_mass", m->total_mass);
    if (m->thickness > 0)
        td_json_number(json, "thickness", m->thickness);
}

static void json_body(tdJson *json, const tdModel *model, int index)
{
    const tdSceneBody *body = &model->scene.bodies[index];
    const tdSoft *soft = model->bodies[index].soft;
    double size[3];
    measure(soft, size);
    td_json_open(json, NULL, '{');
    td_json_string(json, "name", body->name);
    if (body->type != TD_BODY_SOFT)
    {
        td_json_string(json, "type", body->type == TD_BODY_RIGID ? "rigid" : "articulated");
        td_json_integer(json, "links", body->tree->n_links);
        td_json_integer(json, "coordinates", model->bodies[index].count);
        td_json_numbers(json, "size", 3, size);
        td_json_number(json, "kg", soft->total_mass);
        td_json_close(json, '}');
        return;
    }
    if (body->mesh != NULL)
        td_json_string(json, "mesh", body->mesh);
    td_json_number(json, "scale", body->scale);
    if (body->plane != TD_PLANE_NONE)
        td_json_string(json, "plane", plane_names[body->plane]);
    td_json_string(json, "formulation",
                   body->formulation == TD_FORMULATION_MEAN_DILATATION ? "mean_dilatation" : "standard");
    json_material(json, model, &body->material);
    td_json_open(json, "materials", '[');
    for (int i = 0; i < body->n_materials; i++)
    {
        td_json_open(json, NULL, '{');
        td_json_string(json, "group", body->materials[i].group);
        td_json_integer(json, "cells", count_cells(soft, body, &body->materials[i]));
        json_material(json, model, &body->materials[i]);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
    td_json_numbers(json, "size", 3, size);
    td_json_number(json, "kg", soft->total_mass);
    td_json_integer(json, "nodes", td_model_body_nodes(model, index));
    td_json_integer(json, "elements", td_model_body_elements(model, index));
    td_json_string(json, "mass", body->consistent_mass ? "consistent" : "lumped");
    td_json_integer(json, "fixed", body->n_fixed);
    td_json_integer(json, "prescribed", body->n_prescribed);
    const tdContactField *field = field_of(model, index);
    if (field != NULL)
    {
        td_json_open(json, "touches", '{');
        td_json_integer(json, "nodes", field->corners);
        td_json_integer(json, "triangles", field->tris);
        td_json_integer(json, "wall_triangles", field->walls);
        td_json_number(json, "surface_error", field->error);
        td_json_close(json, '}');
    }
    td_json_close(json, '}');
}

static void print_summary_json(const tdModel *model)
{
    const tdScene *scene = &model->scene;
    const tdSceneSettings *s = &scene->settings;
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_bool(&json, "ok", true);
    td_json_string(&json, "file", scene->file);
    td_json_numbers(&json, "gravity", 3, s->gravity);
    td_json_string(&json, "method", method_text(s));
    td_json_number(&json, "time_step", s->time_step);
    td_json_integer(&json, "steps", s->steps);
    td_json_open(&json, "bodies", '[');
    for (int i = 0; i < scene->n_bodies; i++)
        json_body(&json, model, i);
    td_json_close(&json, ']');
    td_json_open(&json, "loads", '[');
    for (int i = 0; i < scene->n_loads; i++)
    {
        td_json_open(&json, NULL, '{');
        if (scene->loads[i].name != NULL)
            td_json_string(&json, "name", scene->loads[i].name);
        td_json_string(&json, "kind", load_names[scene->loads[i].kind]);
        td_json_string(&json, "body", scene->bodies[scene->loads[i].body].name);
        td_json_close(&json, '}');
    }
    td_json_close(&json, ']');
    td_json_open(&json, "probes", '[');
    for (int i = 0; i < scene->n_probes; i++)
        td_json_string(&json, NULL, scene->probes[i].name);
    td_json_close(&json, ']');
    act_json_scene(&json, model);
    td_json_open(&json, "motion", '[');
    for (int k = 0; k < scene->motion.n_names; k++)
        td_json_string(&json, NULL, scene->motion.names[k]);
    td_json_close(&json, ']');
    td_json_close(&json, '}');
    cli_print_json(&json);
}

// ---------------------------------------------------------------- the command

static int print_reference(void)
{
    tdText text = {0};
    td_scene_reference(&text);
    if (!text.failed)
        fputs(text.data, stdout);
    free(text.data);
    return text.failed ? TD_ERROR_INPUT : 0;
}

int cmd_check(int argc, char **argv)
{
    bool reference = false;
    const cliOption options[] = {{"--reference", NULL, &reference}, CLI_ROM_OPTIONS};
    const char *path = NULL;
    int code = cli_parse(argc, argv, help, options, (int)(sizeof options / sizeof options[0]), &path, 0, 1);
    if (code >= 0)
        return code;
    if (reference)
        return print_reference();
    if (path == NULL)
        return cli_usage("the scene file is missing: tendril check SCENE");
    // Compiled and thrown away: meshes are read, groups, probes and supports resolved as in a run.
    tdSettings settings = cli_settings();
    tdModel *model = NULL;
    tdError error = {0};
    if (td_model_load(path, &settings, &model, &error) != TD_OK)
        return report_error(&error);
    if (cli_json())
        print_summary_json(model);
    else if (!cli_quiet())
        print_summary(model);
    td_model_free(model);
    return 0;
}
