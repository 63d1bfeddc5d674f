// SPDX-License-Identifier: Apache-2.0
// Scene text -> tdScene, in SI units. The order matters: units first, since bare numbers are in
// them; the integrator before the bodies, since it decides what a body needs; motion after all
// that it may drive.
#include "scene/parse.h"

#include "base/hash.h"
#include "base/suggest.h"
#include "describe/csv.h"
#include "scene/edit.h"
#include "scene/include.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// ---------------------------------------------------------------- shared by the parser's parts

tdStatus td_parse_copy(tdSceneParser *parser, const char *text, const char **out)
{
    *out = td_arena_copy(parser->arena, text);
    return *out != NULL ? TD_OK : td_fail_memory(parser->reader.error, "the scene");
}

tdStatus td_parse_path(tdSceneParser *parser, const tdRecord *record, const char *key, const char *file,
                       const char **out)
{
    char path[PATH_MAX], folder[PATH_MAX];
    td_include_folder(parser->scene, td_record_line(record, key), parser->folder, folder, sizeof folder);
    if (!td_path_join(path, sizeof path, folder, file))
        return td_record_fail(&parser->reader, record, key, "the path '%.60s...' is too long", file);
    return td_parse_copy(parser, path, out);
}

tdStatus td_parse_read_csv(tdSceneParser *parser, const tdRecord *record, const char *key, const char **path,
                           char **text, size_t *size)
{
    char why[400];
    TD_TRY(td_parse_path(parser, record, key, td_record_get(record, key)->node->text, path));
    tdStatus status = td_csv_read_file(*path, text, size, why, sizeof why, parser->reader.error);
    if (status != TD_OK && why[0] != '\0')
        td_record_fail(&parser->reader, record, key, "%s%s", why,
                       access(*path, F_OK) != 0 ? ". Paths are relative to the scene" : "");
    return status;
}

tdStatus td_parse_input(tdSceneParser *parser, const tdRecord *record, tdDim dim, const char **out)
{
    const tdValue *name = td_record_get(record, "name");
    *out = NULL;
    return name->node == NULL ? TD_OK : td_parse_input_name(parser, record, name->text, dim, out);
}

tdStatus td_parse_input_name(tdSceneParser *parser, const tdRecord *record, const char *name, tdDim dim,
                             const char **out)
{
    if (strcmp(name, "t") == 0)
        return td_record_fail(&parser->reader, record, "name", "'t' is the time in keyframes; use another name");
    for (int i = 0; i < parser->n_inputs; i++)
        if (strcmp(parser->inputs[i].name, name) == 0)
            return td_record_fail(
                &parser->reader, record, "name",
                "the name '%s' is already taken by the load, prescribed motion or actuator on line %d", name,
                parser->inputs[i].line);
    if (parser->n_inputs == TD_MOST_INPUTS)
        return td_record_fail(&parser->reader, record, "name",
                              "more than %d named loads, prescribed motions and actuators", TD_MOST_INPUTS);
    TD_TRY(td_parse_copy(parser, name, out));
    parser->inputs[parser->n_inputs].name = *out;
    parser->inputs[parser->n_inputs].dim = dim;
    parser->inputs[parser->n_inputs++].line = td_record_line(record, "name");
    return TD_OK;
}

// ---------------------------------------------------------------- settings

static tdStatus only_with(const tdSceneParser *parser, const tdRecord *record, const char *key, const char *method)
{
    if (td_record_get(record, key)->node == NULL)
        return TD_OK;
    return td_record_fail(&parser->reader, record, key, "is used by method %s only; remove it or set 'method: %s'",
                          method, method);
}

static tdStatus parse_theta(const tdSceneParser *parser, const tdRecord *record, tdSceneSettings *settings)
{
    if (parser->method != TD_CHOICE_THETA)
    {
        TD_TRY(only_with(parser, record, "theta", "theta"));
        TD_TRY(only_with(parser, record, "theta_vq", "theta"));
        settings->theta = parser->method == TD_CHOICE_MIDPOINT ? 0.5 : parser->method == TD_CHOICE_SYMPLECTIC ? 0 : 1;
        settings->theta_vq = parser->method == TD_CHOICE_MIDPOINT ? 0.5 : 1;
        return TD_OK;
    }
    const char *names[2] = {"theta", "theta_vq"};
    for (int i = 0; i < 2; i++)
        if (td_record_get(record, names[i])->node == NULL)
            return td_record_fail(&parser->reader, record, names[i], "method theta needs '%s', a number from 0 to 1",
                                  names[i]);
    settings->theta = td_record_get(record, "theta")->number[0];
    settings->theta_vq = td_record_get(record, "theta_vq")->number[0];
    return TD_OK;
}

static tdStatus parse_integrator(tdSceneParser *parser, const tdYaml *node)
{
    tdSceneSettings *settings = &parser->scene->settings;
    tdRecord record;
    const tdReader *reader = &parser->reader;
    TD_TRY(td_schema_read(reader, node, &td_schema_integrator, "integrator", &record));
    parser->method = (tdMethodChoice)td_record_get(&record, "method")->integer[0];
    bool newmark = parser->method == TD_CHOICE_NEWMARK, is_static = parser->method == TD_CHOICE_STATIC;
    bool rk4 = parser->method == TD_CHOICE_RK4;
    settings->method = newmark     ? TD_METHOD_NEWMARK
                       : rk4       ? TD_METHOD_RK4
                       : is_static ? TD_METHOD_STATIC
                                   : TD_METHOD_THETA;
    TD_TRY(parse_theta(parser, &record, settings));
    if (!newmark)
    {
        TD_TRY(only_with(parser, &record, "beta", "newmark"));
        TD_TRY(only_with(parser, &record, "gamma", "newmark"));
    }
    if (!is_static)
        TD_TRY(only_with(parser, &record, "min_load_step", "static"));
    settings->beta = td_record_get(&record, "beta")->number[0];
    settings->gamma = td_record_get(&record, "gamma")->number[0];
    const tdValue *newton = td_record_get(&record, "newton"), *least = td_record_get(&record, "min_load_step");
    if (is_static && newton->node != NULL && newton->integer[0] == 0)
        return td_record_fail(reader, &record, "newton", "method static always iterates; remove 'newton: false'");
    if (rk4 && newton->node != NULL && newton->integer[0] != 0)
        return td_record_fail(reader, &record, "newton", "method rk4 is explicit; remove 'newton: true'");
    settings->newton = is_static || newton->integer[0] != 0;
    for (int i = 0; i < 2 && !settings->newton; i++)
    {
        const char *name = i == 0 ? "tolerance" : "max_iterations";
        if (td_record_get(&record, name)->node != NULL)
            return td_record_fail(reader, &record, name,
                                  "is used by Newton's iteration only; remove it or set 'newton: true'");
    }
    settings->tolerance = td_record_get(&record, "tolerance")->number[0];
    settings->max_iterations = (int)td_record_get(&record, "max_iterations")->integer[0];
    settings->min_load_step_inverse = least->has ? (int)lround(1 / least->number[0]) : 1024;
    return TD_OK;
}

static tdStatus parse_solver(tdSceneParser *parser, const tdYaml *node)
{
    tdRecord record;
    TD_TRY(td_schema_read(&parser->reader, node, &td_schema_solver, "solver", &record));
    tdSceneSettings *settings = &parser->scene->settings;
    const tdValue *lag = td_record_get(&record, "lag");
    settings->solver = (tdSolverKind)td_record_get(&record, "type")->integer[0];
    settings->solver_tolerance = td_record_get(&record, "tolerance")->number[0];
    settings->solver_lag = lag->has ? (int)lag->integer[0] : 0;
    TD_TRY(td_parse_memory(parser, &record, 1000000, 8000000000, &settings->solver_memory));
    if (lag->has && settings->solver != TD_SOLVER_ASYNCHRONOUS)
        return td_record_fail(&parser->reader, &record, "lag",
                              "applies to an asynchronous factor; remove it or set 'type: asynchronous'");
    if (settings->solver >= TD_SOLVER_ASYNCHRONOUS && settings->method == TD_METHOD_STATIC)
        return td_record_fail(
            &parser->reader, &record, "type",
            "a kept factor is for steps in time; a static scene uses 'auto', 'cholesky', 'cg' or 'amg'");
    return TD_OK;
}

static tdStatus parse_output(tdSceneParser *parser, const tdYaml *node)
{
    tdRecord record;
    tdSceneOutput *output = &parser->scene->output;
    TD_TRY(td_schema_read(&parser->reader, node, &td_schema_output, "output", &record));
    int64_t formats = td_record_get(&record, "formats")->integer[0];
    output->every = (int)td_record_get(&record, "every")->integer[0];
    output->vtu = formats & TD_OUTPUT_VTU;
    output->csv = formats & TD_OUTPUT_CSV;
    output->hdf5 = formats & TD_OUTPUT_HDF5;
    output->checkpoint_every = (int)td_record_get(&record, "checkpoint_every")->integer[0];
    return TD_OK;
}

// Length and number of steps. A static scene is one equilibrium unless it says otherwise.
static tdStatus parse_time(tdSceneParser *parser, const tdRecord *root)
{
    tdSceneSettings *settings = &parser->scene->settings;
    const tdReader *reader = &parser->reader;
    const tdValue *step = td_record_get(root, "time_step"), *duration = td_record_get(root, "duration");
    const tdValue *steps = td_record_get(root, "steps");
    bool is_static = settings->method == TD_METHOD_STATIC;
    if (!step->has && !is_static)
        return td_record_fail(reader, root, "time_step",
                              "the key 'time_step' is missing; give one, e.g. 'time_step: 10 ms', or set the "
                              "integrator's method to static");
    settings->time_step = step->has ? step->number[0] : 1;
    if (!duration->has && !steps->has && !is_static)
        return td_record_fail(reader, root, "duration",
                              "one of 'duration' and 'steps' is required, e.g. 'duration: 1 s'");
    settings->steps = steps->has ? (int)steps->integer[0] : 1;
    if (!duration->has)
        return TD_OK;
    // Rounding of 1 s / 10 ms must not make a 101st step.
    double n = ceil(duration->number[0] / settings->time_step * (1 - 1e-12) - 1e-9);
    if (!(n <= 1e9))
        return td_record_fail(reader, root, "duration",
                              "'%.60s' is more than 1000000000 steps of %g s; use a larger 'time_step'",
                              duration->node->text, settings->time_step);
    if (duration->number[0] < settings->time_step * (1 - 1e-9))
        return td_record_fail(reader, root, "duration",
                              "'%.60s' is shorter than one time_step of %g s; use a longer duration, a smaller "
                              "'time_step', or 'steps: 1'",
                              duration->node->text, settings->time_step);
    settings->steps = n < 1 ? 1 : (int)n;
    return TD_OK;
}

// ---------------------------------------------------------------- loads and probes

tdStatus td_parse_body_name(tdSceneParser *parser, const tdRecord *record, const char *key, int *out)
{
    const tdScene *scene = parser->scene;
    const char *given = td_record_get(record, key)->text;
    const char *names[1000]; // to guess from
    int n = 0;
    for (int b = 0; b < scene->n_bodies; b++)
    {
        if (strcmp(scene->bodies[b].name, given) == 0)
        {
            *out = b;
            return TD_OK;
        }
        if (n < 1000)
            names[n++] = scene->bodies[b].name;
    }
    const char *nearest = td_suggest(given, names, n);
    if (nearest != NULL)
        return td_record_fail(&parser->reader, record, key, "there is no body '%s'; did you mean '%s'?", given,
                              nearest);
    return td_record_fail(&parser->reader, record, key, "there is no body '%s'; the first body is '%s'", given,
                          names[0]);
}

static tdStatus parse_load(tdSceneParser *parser, const tdYaml *node, int index, tdSceneLoad *load)
{
    const tdReader *reader = &parser->reader;
    char path[64];
    tdRecord record;
    td_path_item(path, sizeof path, "loads", "", index);
    TD_TRY(td_schema_read(reader, node, &td_schema_load, path, &record));
    load->line = node->line;
    TD_TRY(td_parse_input(parser, &record, TD_DIM_NONE, &load->name));
    TD_TRY(td_parse_body_name(parser, &record, "body", &load->body));
    if (parser->scene->bodies[load->body].type != TD_BODY_SOFT)
        return td_record_fail(reader, &record, "body",
                              "body '%s' is rigid, and loads are for soft bodies; use an actuator of type force",
                              parser->scene->bodies[load->body].name);
    TD_TRY(td_parse_select(parser, &record, &load->select));
    bool surface = td_record_get(&record, "type")->integer[0] == TD_TYPE_SURFACE;
    static const struct
    {
        const char *key;
        bool of_point, of_surface;
        tdLoadKind point, surface;
    } forms[] = {
        {"force", true, true, TD_LOAD_POINT_TOTAL, TD_LOAD_SURFACE_TOTAL},
        {"force_each", true, false, TD_LOAD_POINT_EACH, TD_LOAD_POINT_EACH},
        {"traction", false, true, TD_LOAD_SURFACE_STRESS, TD_LOAD_SURFACE_STRESS},
        {"pressure", false, true, TD_LOAD_SURFACE_PRESSURE, TD_LOAD_SURFACE_PRESSURE},
    };
    for (int i = 0; i < 4; i++)
    {
        const tdValue *value = td_record_get(&record, forms[i].key);
        if (value->node == NULL)
            continue;
        if (!(surface ? forms[i].of_surface : forms[i].of_point))
            return td_record_fail(reader, &record, forms[i].key, "a %s load has no '%s'; it takes %s",
                                  surface ? "surface" : "point", forms[i].key,
                                  surface ? "'pressure', 'traction' or 'force'" : "'force' or 'force_each'");
        load->kind = surface ? forms[i].surface : forms[i].point;
        if (load->kind == TD_LOAD_SURFACE_PRESSURE)
            load->pressure = value->number[0];
        else
            memcpy(load->vector, value->number, sizeof load->vector);
    }
    return TD_OK;
}

static tdStatus parse_loads(tdSceneParser *parser, const tdYaml *list)
{
    tdScene *scene = parser->scene;
    scene->loads = TD_TAKE(parser->arena, tdSceneLoad, list->n);
    if (scene->loads == NULL)
        return td_fail_memory(parser->reader.error, "the loads");
    for (const tdYaml *item = list->first; item != NULL; item = item->next, scene->n_loads++)
        TD_TRY(parse_load(parser, item, scene->n_loads, &scene->loads[scene->n_loads]));
    return TD_OK;
}

static tdStatus parse_probes(tdSceneParser *parser, const tdYaml *list)
{
    tdScene *scene = parser->scene;
    scene->probes = TD_TAKE(parser->arena, tdSceneProbe, list->n);
    if (scene->probes == NULL)
        return td_fail_memory(parser->reader.error, "the probes");
    for (const tdYaml *item = list->first; item != NULL; item = item->next, scene->n_probes++)
    {
        tdSceneProbe *probe = &scene->probes[scene->n_probes];
        char path[64];
        tdRecord record;
        td_path_item(path, sizeof path, "probes", "", scene->n_probes);
        TD_TRY(td_schema_read(&parser->reader, item, &td_schema_probe, path, &record));
        probe->line = item->line;
        TD_TRY(td_parse_copy(parser, td_record_get(&record, "name")->text, &probe->name));
        for (int i = 0; i < scene->n_probes; i++)
            if (strcmp(scene->probes[i].name, probe->name) == 0)
                return td_record_fail(&parser->reader, &record, "name", "the probe on line %d has the same name '%s'",
                                      scene->probes[i].line, probe->name);
        TD_TRY(td_parse_body_name(parser, &record, "body", &probe->body));
        const tdValue *point = td_record_get(&record, "point");
        probe->at_point = point->node != NULL;
        memcpy(probe->point, point->number, sizeof probe->point);
        TD_TRY(td_parse_link(parser, &record, probe->body, probe->at_point, &probe->link));
        if (!probe->at_point)
            TD_TRY(td_parse_select(parser, &record, &probe->select));
    }
    return TD_OK;
}

// ---------------------------------------------------------------- the scene

// Version and units stand before everything else: they decide how the rest is read.
static tdStatus parse_head(tdSceneParser *parser, const tdYaml *root)
{
    tdReader *reader = &parser->reader;
    reader->units = (tdUnits){1, 1, 1};
    if (root->kind != TD_YAML_MAP)
        return td_reader_fail(reader, root->line, "", NULL, "a scene is a map of keys, beginning with 'tendril: 1'");
    const tdYaml *version = td_yaml_find(root, "tendril"), *units = td_yaml_find(root, "units");
    if (version == NULL)
        return td_reader_fail(reader, root->line, "tendril", NULL,
                              "the key 'tendril' is missing; a scene begins with 'tendril: 1'");
    if (version->kind != TD_YAML_SCALAR || strcmp(version->text, "1") != 0)
    {
        char found[80];
        td_yaml_describe(version, found, sizeof found);
        return td_reader_fail(reader, version->line, "tendril", NULL,
                              "found version %s of the scene format; this program reads version 1", found);
    }
    if (units != NULL)
    {
        tdRecord record;
        TD_TRY(td_schema_read(reader, units, &td_schema_units, "units", &record));
        reader->units = (tdUnits){td_record_get(&record, "length")->number[0],
                                  td_record_get(&record, "mass")->number[0], td_record_get(&record, "time")->number[0]};
    }
    parser->scene->length_unit = reader->units.length;
    return TD_OK;
}

// A map that the scene leaves out is read as an empty one, which fills in the defaults.
static const tdYaml *or_empty(const tdRecord *root, const char *key)
{
    static const tdYaml empty = {.kind = TD_YAML_MAP};
    const tdYaml *node = td_record_get(root, key)->node;
    return node != NULL ? node : &empty;
}

static tdStatus parse_scene(tdSceneParser *parser, const tdYaml *root_node)
{
    TD_TRY(parse_head(parser, root_node));
    tdRecord root;
    TD_TRY(td_schema_read(&parser->reader, root_node, &td_schema_scene, "", &root));
    memcpy(parser->scene->settings.gravity, td_record_get(&root, "gravity")->number, 3 * sizeof(double));
    parser->scene->settings.gravity_line = td_record_line(&root, "gravity");
    TD_TRY(parse_integrator(parser, or_empty(&root, "integrator")));
    TD_TRY(parse_solver(parser, or_empty(&root, "solver")));
    TD_TRY(parse_output(parser, or_empty(&root, "output")));
    TD_TRY(parse_time(parser, &root));
    TD_TRY(td_parse_bodies(parser, td_record_get(&root, "bodies")->node));
    const tdYaml *loads = td_record_get(&root, "loads")->node, *probes = td_record_get(&root, "probes")->node;
    if (loads != NULL)
        TD_TRY(parse_loads(parser, loads));
    if (probes != NULL)
        TD_TRY(parse_probes(parser, probes));
    const tdYaml *actuators = td_record_get(&root, "actuators")->node;
    const tdYaml *effectors = td_record_get(&root, "effectors")->node;
    if (actuators != NULL)
        TD_TRY(td_parse_actuators(parser, actuators));
    TD_TRY(td_parse_robot_drives(parser));
    if (effectors != NULL)
        TD_TRY(td_parse_effectors(parser, effectors));
    const tdYaml *tools = td_record_get(&root, "tools")->node;
    if (tools != NULL)
        TD_TRY(td_parse_tools(parser, tools));
    TD_TRY(td_parse_control(parser, or_empty(&root, "control")));
    const tdYaml *motion = td_record_get(&root, "motion")->node;
    if (motion != NULL)
        TD_TRY(td_parse_motion(parser, motion, "motion", &parser->scene->motion));
    TD_TRY(td_parse_contact(parser, td_record_get(&root, "contact")->node));
    TD_TRY(td_parse_reduction(parser, or_empty(&root, "reduction")));
    TD_TRY(td_parse_validation(parser, or_empty(&root, "validation")));
    const tdYaml *attachments = td_record_get(&root, "attachments")->node;
    if (attachments != NULL)
        TD_TRY(td_parse_attachments(parser, attachments));
    TD_TRY(td_parse_robot_bonds(parser));
    const tdYaml *couplings = td_record_get(&root, "couplings")->node;
    if (couplings != NULL)
        TD_TRY(td_parse_couplings(parser, couplings));
    const tdYaml *sensors = td_record_get(&root, "sensors")->node;
    if (sensors != NULL)
        TD_TRY(td_parse_sensors(parser, sensors));
    TD_TRY(td_parse_check_control(parser));
    TD_TRY(td_parse_check_tools(parser));
    return td_parse_check_targets(parser);
}

static uint64_t fnv1a(const char *text, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325U;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3U;
    return hash;
}

// Of the tree below a node: neither layout nor comments count. Trees are not deep.
static uint64_t hash_tree(uint64_t hash, const tdYaml *node)
{
    hash = td_hash_mix(hash ^ (uint64_t)node->kind);
    if (node->key != NULL)
        hash = td_hash_mix(hash ^ td_hash_bytes(node->key, strlen(node->key)));
    if (node->text != NULL)
        hash = td_hash_mix(hash ^ td_hash_bytes(node->text, strlen(node->text)));
    for (const tdYaml *child = node->first; child != NULL; child = child->next)
        hash = hash_tree(hash, child);
    return td_hash_mix(hash + 1); // where it ends
}

static uint64_t hash_equilibria(const tdYaml *root)
{
    static const char *const others[] = {"reduction", "validation", "output", "probes", "sensors"};
    uint64_t hash = 0;
    for (const tdYaml *child = root->first; child != NULL; child = child->next)
    {
        bool counts = true;
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
            counts = counts && (child->key == NULL || strcmp(child->key, others[i]) != 0);
        hash = counts ? hash_tree(hash, child) : hash;
    }
    return hash;
}

tdStatus td_scene_parse(const char *text, size_t length, const char *name, const char *folder, tdScene *scene,
                        tdError *error)
{
    return td_scene_parse_with(text, length, name, folder, NULL, NULL, scene, error);
}

tdStatus td_scene_parse_with(const char *text, size_t length, const char *name, const char *folder,
                             const char *packages, const char *set, tdScene *scene, tdError *error)
{
    memset(scene, 0, sizeof *scene);
    tdArena tree = {0};
    tdSceneParser parser = {.scene = scene, .arena = &scene->arena, .folder = folder, .packages = packages};
    parser.reader = (tdReader){.error = error};
    tdStatus status = td_parse_copy(&parser, name != NULL ? name : "scene", &scene->file);
    parser.reader.file = scene->file;
    parser.inputs = td_arena_take(&tree, TD_MOST_INPUTS, sizeof *parser.inputs);
    if (status == TD_OK && parser.inputs == NULL)
        status = td_fail_memory(error, "the scene");
    tdYaml *root = NULL;
    if (status == TD_OK)
        status = td_yaml_parse(text, length, scene->file, &tree, &root, error);
    scene->hash = fnv1a(text, length);
    if (status == TD_OK)
        status = td_include(root, scene, folder, &tree, error);
    if (status == TD_OK)
        status = td_yaml_edit(root, scene->file, set, &tree, error);
    if (set != NULL)
        scene->hash = td_hash_mix(scene->hash ^ fnv1a(set, strlen(set)));
    if (status == TD_OK)
        scene->equilibria = hash_equilibria(root);
    if (status == TD_OK)
        status = parse_scene(&parser, root);
    td_arena_free(&tree);
    if (status != TD_OK)
    {
        td_include_place(scene, error);
        td_error_clean(error);
    }
    return status;
}

void td_scene_free(tdScene *scene)
{
    if (scene == NULL)
        return;
    td_arena_free(&scene->arena);
    memset(scene, 0, sizeof *scene);
}
