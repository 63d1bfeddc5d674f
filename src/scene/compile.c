// SPDX-License-Identifier: Apache-2.0
// The model: bodies, inputs, probes; and what the public header tells of a model.
#include "scene/compile.h"

#include "base/blas.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/vector.h"
#include "constraint/constraint.h"
#include "contact/contact.h"
#include "mesh/shape.h"
#include "mesh/topology.h"
#include "reduce/reduced.h"
#include "scene/include.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- inputs

int td_compile_input(const tdModel *model, const char *name)
{
    return name == NULL ? -1 : td_model_find_input(model, name);
}

static void add_input(tdModel *model, const char *name, double standard)
{
    if (name == NULL || td_model_find_input(model, name) >= 0)
        return;
    const tdSceneMotion *motion = &model->scene.motion;
    tdInput *input = &model->inputs[model->n_inputs++];
    *input = (tdInput){name, -1, standard};
    for (int k = 0; k < motion->n_names; k++)
        if (strcmp(motion->names[k], name) == 0)
            input->column = k;
}

// Without a motion a joint that is driven to positions stays where it starts.
static double actuator_standard(const tdScene *scene, const tdSceneActuator *given)
{
    bool joint = given->kind == TD_ACTUATOR_JOINT || given->kind == TD_ACTUATOR_SLIDE;
    if (given->rests)
        return given->rest;
    return joint && given->drive != TD_DRIVE_EFFORT && !given->rate
               ? scene->bodies[given->body].tree->links[given->joint].start
               : 0;
}

static tdStatus compile_inputs(tdModel *model, tdError *error)
{
    const tdScene *scene = &model->scene;
    int most = scene->n_loads + scene->n_actuators + 6 * scene->n_tools;
    for (int b = 0; b < scene->n_bodies; b++)
        most += scene->bodies[b].n_prescribed + (scene->bodies[b].guided[0] != NULL ? 6 : 0);
    model->inputs = TD_TAKE(&model->arena, tdInput, most);
    if (model->inputs == NULL)
        return td_fail_memory(error, "the inputs");
    for (int k = 0; k < scene->n_loads; k++)
        add_input(model, scene->loads[k].name, 1);
    for (int b = 0; b < scene->n_bodies; b++)
        for (int k = 0; k < scene->bodies[b].n_prescribed; k++)
            add_input(model, scene->bodies[b].prescribed[k].name, 1);
    for (int k = 0; k < scene->n_actuators; k++)
        add_input(model, scene->actuators[k].name, actuator_standard(scene, &scene->actuators[k]));
    for (int k = 0; k < 6 * scene->n_tools; k++)
        add_input(model, scene->tools[k / 6].inputs[k % 6], 0);
    for (int k = 0; k < 6 * scene->n_bodies; k++)
        add_input(model, scene->bodies[k / 6].guided[k % 6], 0);
    return TD_OK;
}

// The last keyframe at or before a time, -1 if there is none: bisection, since a motion from a CSV file may
// have a hundred thousand.
static int keyframe_before(const tdSceneMotion *motion, double time)
{
    int low = -1, high = motion->n_times;
    while (high - low > 1)
    {
        int middle = low + (high - low) / 2;
        if (motion->times[middle] <= time)
            low = middle;
        else
            high = middle;
    }
    return low;
}

double td_input_value(const tdModel *model, int input, double time)
{
    const tdInput *given = &model->inputs[input];
    return given->column < 0 ? given->standard
                             : td_motion_value(&model->scene.motion, given->column, time, given->standard);
}

double td_motion_value(const tdSceneMotion *motion, int column, double time, double standard)
{
    // Keyframes may leave a name out: look for the nearest that have it.
    const double *values = motion->values + column;
    int n = motion->n_names, before = keyframe_before(motion, time), after = before + 1;
    while (before >= 0 && isnan(values[before * n]))
        before--;
    while (after < motion->n_times && isnan(values[after * n]))
        after++;
    if (before < 0 && after >= motion->n_times)
        return standard;
    if (before < 0 || after >= motion->n_times)
        return values[(before < 0 ? after : before) * n];
    double s = (time - motion->times[before]) / (motion->times[after] - motion->times[before]);
    if (motion->smooth)
        s = s * s * (3 - 2 * s);
    return values[before * n] + s * (values[after * n] - values[before * n]);
}

// ---------------------------------------------------------------- material points

const tdLocator *td_compile_locator(const tdModel *model, int body, tdError *error)
{
    tdLocator *locator = &model->compile->locators[body];
    const tdMesh *mesh = &model->bodies[body].soft->mesh;
    if (locator->mesh == NULL && td_locator_make(mesh, locator, error) != TD_OK)
        return NULL;
    return locator;
}

static double mean_edge(const tdMesh *mesh, const tdPlace *place)
{
    int n = td_cell_nodes(place->type), edges = 0;
    const int32_t *nodes = mesh->cells[place->type].nodes + n * place->cell;
    // Of a hexahedron the sides of its bottom and top; of all others the lines between corners.
    int corners = place->type == TD_CELL_HEX ? 8 : td_cell_dim(place->type) + 1;
    double sum = 0;
    for (int i = 0; i < corners; i++)
        for (int j = i + 1; j < corners; j++)
        {
            double edge[3];
            if (corners == 8 && !(j == i + 4 || (j == i + 1 && j != 4) || (j == i + 3 && i % 4 == 0)))
                continue;
            td_subtract3(mesh->x + 3 * (int64_t)nodes[i], mesh->x + 3 * (int64_t)nodes[j], edge);
            sum += sqrt(td_dot3(edge, edge));
            edges++;
        }
    return sum / edges;
}

// Of the scene's unit of length, for messages.
static const char *length_name(double unit)
{
    static const struct
    {
        double metres;
        const char *name;
    } known[] = {{1, "m"}, {1e-3, "mm"}, {1e-2, "cm"}, {1e-6, "um"}, {1e3, "km"}, {0.0254, "in"}, {0.3048, "ft"}};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
        if (fabs(unit - known[k].metres) <= 1e-9 * unit)
            return known[k].name;
    return "of the scene's unit of length";
}

tdStatus td_compile_point(const tdModel *model, int body, const tdGivenPoint *given, tdMaterialPoint *out,
                          tdSnapped *snapped, tdError *error)
{
    const tdLocator *locator = td_compile_locator(model, body, error);
    if (locator == NULL)
        return TD_ERROR_MEMORY;
    tdPlace place;
    if (!td_locator_find(locator, given->at, &place))
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, given->line, given->field,
                          "body '%s' has no elements that could carry a point", model->bodies[body].name);
    const double *p = given->at, *low = locator->low, *high = locator->high;
    double unit = model->scene.length_unit, edge = mean_edge(locator->mesh, &place);
    const char *name = length_name(unit);
    double allowed = isnan(given->snap) ? model->scene.bodies[body].snap : given->snap;
    double most = isnan(allowed) ? TD_SNAP * edge : allowed;
    if (!(place.distance <= most))
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, given->line, given->field,
                          "the point (%g, %g, %g) %s is %g %s outside body '%s', which reaches from (%g, %g, %g) to "
                          "(%g, %g, %g) %s; at "
                          "most %g %s is allowed, %s",
                          p[0] / unit, p[1] / unit, p[2] / unit, name, place.distance / unit, name,
                          model->bodies[body].name, low[0] / unit, low[1] / unit, low[2] / unit, high[0] / unit,
                          high[1] / unit, high[2] / unit, name, most / unit, name,
                          isnan(allowed)
                              ? "half the edge of an element there; move it, or allow more by the body's 'snap'"
                              : "by the body's 'snap'");
    out->n = td_cell_nodes(place.type);
    memcpy(out->nodes, locator->mesh->cells[place.type].nodes + out->n * place.cell, (size_t)out->n * sizeof(int32_t));
    memcpy(out->weights, place.weights, (size_t)out->n * sizeof(double));
    if (snapped == NULL)
        return TD_OK;
    snapped->moved += place.distance > TD_SNAP_TOLD * edge;
    if (place.distance > snapped->distance)
    {
        snapped->distance = place.distance;
        snapped->edge = edge;
        snapped->number = snapped->points;
        memcpy(snapped->at, p, sizeof snapped->at);
    }
    snapped->points++;
    return TD_OK;
}

tdStatus td_compile_body_point(const tdModel *model, int body, const char *part, double slack,
                               const tdGivenPoint *given, tdMaterialPoint *out, tdSnapped *snapped, tdError *error)
{
    const tdBody *b = &model->bodies[body];
    if (b->ops->locate == NULL)
        return td_compile_point(model, body, given, out, snapped, error);
    out->n = b->ops->locate(b, part, given->at, slack, out->nodes, out->weights);
    if (out->n > 0)
        return TD_OK;
    return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, given->line, given->field,
                      "the point (%g, %g, %g) m is on no link of body '%s'; name the link ('link', where the key "
                      "exists), or use a point on a link",
                      given->at[0], given->at[1], given->at[2], b->name);
}

void td_compile_tell_snapped(const tdModel *model, int body, const tdSnapped *snapped, int line, const char *field)
{
    double unit = model->scene.length_unit;
    const char *name = length_name(unit);
    bool one = snapped->points == 1;
    char which[64] = "a point lies", farthest[64] = "it is";
    if (!one)
    {
        snprintf(which, sizeof which, "%lld of %lld points %s", (long long)snapped->moved, (long long)snapped->points,
                 snapped->moved == 1 ? "lies" : "lie");
        snprintf(farthest, sizeof farthest, "the farthest is point %lld", (long long)snapped->number);
    }
    if (snapped->moved > 0 && isnan(model->scene.bodies[body].snap))
        td_log(model->compile->settings, TD_LOG_WARNING,
               "%s:%d: %s: %s outside body '%s' and %s moved onto it; %s at (%g, %g, %g) %s, off by %.3g %s, %.2g of "
               "the edge "
               "of an element there. Move %s onto the body, or say by its 'snap' how far is meant",
               td_include_file(&model->scene, line), td_include_line(line), field, which, model->bodies[body].name,
               snapped->moved == 1 ? "is" : "are", farthest, snapped->at[0] / unit, snapped->at[1] / unit,
               snapped->at[2] / unit, name, snapped->distance / unit, name, snapped->distance / snapped->edge,
               one ? "it" : "them");
}

// ---------------------------------------------------------------- model

static void warn_about_newmark(const tdModel *model, const tdSettings *settings)
{
    const tdSceneSettings *s = &model->scene.settings;
    if (s->method == TD_METHOD_NEWMARK && (s->gamma < 0.5 || 2 * s->beta < s->gamma))
        td_log(settings, TD_LOG_WARNING,
               "%s: integrator: Newmark with beta %g and gamma %g is stable for small steps only; 2 beta >= gamma >= "
               "1/2 is stable for all",
               model->scene.file, s->beta, s->gamma);
}

// A checkpoint belongs to the text of the scene and to what was read from the files that it names.
static void hash_motion(uint64_t *hash, const tdSceneMotion *motion)
{
    if (motion == NULL)
        return;
    *hash = td_hash_mix(*hash ^ td_hash_bytes(motion->times, (size_t)motion->n_times * sizeof *motion->times));
    for (int64_t i = 0; i < (int64_t)motion->n_times * motion->n_names; i++)
    {
        double value = isnan(motion->values[i]) ? NAN : motion->values[i]; // one of the many
        *hash = td_hash_mix(*hash ^ td_hash_bytes(&value, sizeof value));
    }
}

static void hash_files(tdModel *model)
{
    uint64_t found = 0, *hash = &found;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdMesh *mesh = &model->bodies[b].soft->mesh;
        *hash = td_hash_mix(*hash ^ td_hash_bytes(mesh->x, 3 * (size_t)mesh->n_nodes * sizeof *mesh->x));
        for (int t = 0; t < TD_CELL_TYPES; t++)
        {
            const tdCells *cells = &mesh->cells[t];
            size_t bytes = (size_t)td_cell_nodes((tdCellType)t) * (size_t)cells->count * sizeof *cells->nodes;
            *hash = bytes > 0 ? td_hash_mix(*hash ^ td_hash_bytes(cells->nodes, bytes)) : *hash;
        }
        if (model->bodies[b].ops->hash != NULL)
            model->bodies[b].ops->hash(&model->bodies[b], hash);
    }
    for (int a = 0; a < model->n_actuators; a++)
    {
        const tdMeasure *measure = &model->actuators[a].measure;
        *hash = td_hash_mix(*hash ^ td_hash_bytes(measure->rest, 3 * (size_t)measure->n * sizeof *measure->rest));
    }
    for (int f = 0; model->contact != NULL && f < model->contact->n_fields; f++)
        if (model->contact->fields[f].n_points > 0)
            *hash = td_hash_mix(*hash ^ model->contact->fields[f].hash);
    hash_motion(hash, &model->scene.motion);
    model->scene.equilibria = td_hash_mix(model->scene.equilibria ^ found);
    hash = &model->scene.hash;
    *hash = td_hash_mix(*hash ^ found);
    hash_motion(hash, model->scene.reduction.sequence);
    hash_motion(hash, model->scene.validation.motion);
}

// Newmark without damping of its own keeps an effort that meets a given displacement swinging from step to step.
static void warn_of_ringing(const tdModel *model, const tdSettings *settings)
{
    if (model->scheme.method != TD_METHOD_NEWMARK || model->scheme.gamma >= 0.55)
        return;
    for (int a = 0; a < model->n_actuators; a++)
        if (!model->actuators[a].held && model->actuators[a].servo < 0 &&
            model->actuators[a].given->drive != TD_DRIVE_EFFORT)
        {
            td_log(settings, TD_LOG_WARNING,
                   "actuator '%s': with the integrator newmark and gamma %g the effort that a given displacement or "
                   "amount of gas needs oscillates from step to step; use gamma 0.6 and beta 0.3025, or another method",
                   model->actuators[a].name, model->scheme.gamma);
            return;
        }
}

static int find_body(const tdScene *scene, const char *name)
{
    for (int b = 0; b < scene->n_bodies; b++)
        if (strcmp(scene->bodies[b].name, name) == 0)
            return b;
    return -1;
}

#define MUCH 0.1 // relative error of a reduced model that is hardly meant

static void warn_of_errors(const tdRom *rom, const tdSettings *settings)
{
    double off = fmax(rom->held_out_error, rom->motion_error); // fmax() of a number and NAN is the number
    if (off > MUCH)
        td_log(settings, TD_LOG_WARNING,
               "%s: the reduced model of body '%s' was off by %.0f %% of the displacements where it was checked; train "
               "it with more samples (reduction.samples), with smaller tolerances",
               rom->file, rom->body, 100 * off);
}

static tdStatus reduce_body(tdModel *model, int b, const tdRom *rom, const tdSettings *settings, tdError *error)
{
    if (model->scene.bodies[b].type != TD_BODY_SOFT)
        return td_fail_at(error, TD_ERROR_INPUT, rom->file, 0, NULL,
                          "the reduced model is of a soft body '%s', but that of '%s' is rigid", rom->body,
                          model->scene.file);
    TD_TRY(td_compile_reduced(model, b, rom, settings, error));
    warn_of_errors(rom, settings);
    return TD_OK;
}

// By the file that the scene names.
static tdStatus reduce_by_own(tdModel *model, int b, const tdSettings *settings, tdError *error)
{
    const tdSceneBody *given = &model->scene.bodies[b];
    tdRom rom = {0};
    tdError why = {0};
    tdStatus status = td_rom_read(given->rom, &rom, &why);
    if (status == TD_OK)
        status = reduce_body(model, b, &rom, settings, &why);
    td_rom_free(&rom);
    if (status == TD_OK)
        return TD_OK;
    char field[64];
    snprintf(field, sizeof field, "bodies[%d].rom", b);
    return td_fail_at(error, status, model->scene.file, given->rom_line, field,
                      "%s: %.600s. 'tendril reduce %s --body %s -o %s' makes it", given->rom, why.message,
                      model->scene.file, given->name, given->rom);
}

// What of an actuator the integrator may not know.
static tdStatus check_actuator(const tdModel *model, const tdActuator *actuator, tdError *error)
{
    const tdSceneActuator *given = actuator->given;
    bool effort = given->drive == TD_DRIVE_EFFORT, servo = actuator->servo >= 0;
    const struct
    {
        bool is;
        tdPart part;
    } list[] = {{!effort && !servo, TD_PART_DISPLACEMENT},
                {effort && actuator->held, TD_PART_MOVED},
                {effort && td_actuator_has_stops(actuator), TD_PART_GIVEN_EFFORT},
                {given->friction > 0, TD_PART_CABLE_FRICTION}};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
    {
        const char *clash = list[i].is ? td_part_clash(list[i].part, td_scheme_part(&model->scheme)) : NULL;
        if (clash != NULL)
            return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, given->line, actuator->name, "%s", clash);
    }
    return TD_OK;
}

static tdStatus check_integrator(const tdModel *model, tdError *error)
{
    const char *clash = td_part_clash(TD_PART_SOFT, td_scheme_part(&model->scheme));
    for (int b = 0; b < model->n_bodies && clash != NULL; b++)
        if (model->bodies[b].parts == NULL)
            return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, model->scene.bodies[b].line,
                              model->bodies[b].name, "%s", clash);
    for (int a = 0; a < model->n_actuators; a++)
        TD_TRY(check_actuator(model, &model->actuators[a], error));
    for (int e = 0; e < model->n_effectors; e++) // after contact is known
        if (model->effectors[e].given->has_target)
            TD_TRY(td_inverse_suits(model, model->effectors[e].given->line, error));
    return TD_OK;
}

// rom: of one of the bodies; NULL: none.
static tdStatus compile_all(tdModel *model, const tdSettings *settings, const tdRom *rom, tdError *error)
{
    const tdScene *scene = &model->scene;
    model->file = scene->file;
    model->settings = scene->settings;
    model->control = scene->control;
    model->contact_solver = scene->contact.solver;
    model->n_attachments = scene->n_attachments;
    model->n_couplings = scene->n_couplings;
    model->scheme = td_scheme_make(&scene->settings);
    model->bodies = TD_TAKE(&model->arena, tdBody, scene->n_bodies);
    if (model->bodies == NULL)
        return td_fail_memory(error, "the bodies");
    if (rom != NULL && find_body(scene, rom->body) < 0)
        return td_fail_at(error, TD_ERROR_INPUT, rom->file, 0, NULL,
                          "the reduced model is of a body '%s', which '%s' does not have", rom->body, scene->file);
    warn_about_newmark(model, settings);
    TD_TRY(compile_inputs(model, error));
    TD_TRY(td_compile_actuators_begin(model, error));
    for (int b = 0; b < scene->n_bodies; b++)
    {
        tdBody *body = &model->bodies[b];
        body->name = scene->bodies[b].name;
        body->index = b;
        body->first = model->coords;
        model->n_bodies++; // before it is complete, so that a failure frees it
        tdBodyCompiler *compiler = scene->bodies[b].compiler != NULL       ? scene->bodies[b].compiler
                                   : scene->bodies[b].type == TD_BODY_SOFT ? td_compile_soft
                                   : scene->bodies[b].guided[0] != NULL    ? td_compile_guided
                                                                           : td_compile_articulated;
        TD_TRY(compiler(model, b, settings, error));
        if (rom != NULL && find_body(scene, rom->body) == b)
            TD_TRY(reduce_body(model, b, rom, settings, error));
        else if (scene->bodies[b].rom != NULL && !settings->full_order)
            TD_TRY(reduce_by_own(model, b, settings, error));
        model->coords += body->count;
        model->unknowns += body->unknowns;
    }
    TD_TRY(td_compile_actuators_end(model, error));
    TD_TRY(td_compile_tools(model, error));
    TD_TRY(td_compile_contact(model, settings, error));
    TD_TRY(td_compile_sensors(model, error));
    TD_TRY(check_integrator(model, error));
    warn_of_ringing(model, settings);
    td_compile_plausible(model, settings);
    hash_files(model);
    model->hash = model->scene.hash;
    return TD_OK;
}

static tdStatus compile(tdModel *model, const tdSettings *settings, const tdRom *rom, tdError *error)
{
    tdCompileWork work = {settings, td_take((size_t)model->scene.n_bodies + 1, sizeof *work.locators)};
    if (work.locators == NULL)
        return td_fail_memory(error, "the bodies");
    model->compile = &work;
    tdStatus status = compile_all(model, settings, rom, error);
    model->compile = NULL;
    for (int b = 0; b < model->scene.n_bodies; b++)
        td_locator_free(&work.locators[b]);
    free(work.locators);
    return status;
}

// What a scene is compiled with besides its text.
typedef struct additions
{
    const tdSettings *settings;
    tdSceneEdit *edit; // NULL: none
    void *context;
    const tdRom *rom; // NULL: none
} additions;

static tdStatus parse(const char *text, size_t length, const char *name, const char *folder, const additions *more,
                      tdModel **out, tdError *error)
{
    *out = NULL;
    tdModel *model = td_take(1, sizeof *model);
    if (model == NULL)
        return td_fail_memory(error, "the model");
    tdStatus status = td_scene_parse_with(text, length, name, folder, more->settings->packages, more->settings->set,
                                          &model->scene, error);
    if (status == TD_OK && more->edit != NULL)
        status = more->edit(more->context, &model->scene, error);
    if (status == TD_OK)
        status = td_blas_reserve(0, error);
    if (status == TD_OK)
        status = compile(model, more->settings, more->rom, error);
    if (status != TD_OK)
    {
        td_include_place(&model->scene, error);
        td_model_free(model);
        return status;
    }
    *out = model;
    return TD_OK;
}

tdStatus td_model_parse_edited(const char *text, size_t length, const char *name, const char *folder,
                               const tdSettings *settings, tdSceneEdit *edit, void *context, tdModel **out,
                               tdError *error)
{
    *out = NULL;
    tdSettings quiet = td_default_settings();
    additions more = {.settings = settings != NULL ? settings : &quiet, .edit = edit, .context = context};
    if (more.settings->rom == NULL)
        return parse(text, length, name, folder, &more, out, error);
    tdRom rom = {0};
    tdStatus status = td_rom_read(more.settings->rom, &rom, error);
    more.rom = &rom;
    if (status == TD_OK)
        status = parse(text, length, name, folder, &more, out, error);
    td_rom_free(&rom);
    return status;
}

tdStatus td_model_parse_reduced(const char *text, size_t length, const char *name, const char *folder,
                                const tdSettings *settings, const tdRom *rom, tdModel **out, tdError *error)
{
    tdSettings quiet = td_default_settings();
    additions more = {.settings = settings != NULL ? settings : &quiet, .rom = rom};
    return parse(text, length, name, folder, &more, out, error);
}

tdStatus td_model_parse(const char *text, size_t length, const char *name, const char *folder,
                        const tdSettings *settings, tdModel **out, tdError *error)
{
    return td_model_parse_edited(text, length, name, folder, settings, NULL, NULL, out, error);
}

tdStatus td_model_load_edited(const char *scene_path, const tdSettings *settings, tdSceneEdit *edit, void *context,
                              tdModel **out, tdError *error)
{
    *out = NULL;
    char *text = NULL, folder[4096];
    size_t length = 0;
    td_path_folder(folder, sizeof folder, scene_path);
    if (settings != NULL && settings->text != NULL)
        return td_model_parse_edited(settings->text, strlen(settings->text), scene_path, folder, settings, edit,
                                     context, out, error);
    TD_TRY(td_file_read(scene_path, &text, &length, error));
    tdStatus status = td_model_parse_edited(text, length, scene_path, folder, settings, edit, context, out, error);
    free(text);
    return status;
}

tdStatus td_model_load(const char *scene_path, const tdSettings *settings, tdModel **out, tdError *error)
{
    return td_model_load_edited(scene_path, settings, NULL, NULL, out, error);
}

void td_model_free(tdModel *model)
{
    if (model == NULL)
        return;
    for (int b = 0; b < model->n_bodies; b++)
        if (model->bodies[b].data != NULL)
            model->bodies[b].ops->free_model(&model->bodies[b]);
    td_contact_model_free(model->contact);
    td_scene_free(&model->scene);
    td_arena_free(&model->arena);
    free(model);
}
