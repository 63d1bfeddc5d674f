// SPDX-License-Identifier: Apache-2.0
#include "reduce/offline/alone.h"

#include "base/file.h"
#include "base/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MODES   8  // vibration modes of a body that nothing drives, with all their derivatives
#define COLUMNS 20 // kept of them

static bool is_input(const tdScene *scene, const char *name)
{
    for (int k = 0; k < scene->n_loads; k++)
        if (scene->loads[k].name != NULL && strcmp(scene->loads[k].name, name) == 0)
            return true;
    for (int k = 0; k < scene->bodies[0].n_prescribed; k++)
        if (scene->bodies[0].prescribed[k].name != NULL && strcmp(scene->bodies[0].prescribed[k].name, name) == 0)
            return true;
    for (int k = 0; k < scene->n_actuators; k++)
        if (strcmp(scene->actuators[k].name, name) == 0)
            return true;
    return false;
}

// Columns of inputs that are still there.
static void keep_columns(const tdScene *scene, tdSceneMotion *motion)
{
    int n = 0;
    if (motion == NULL)
        return;
    for (int k = 0; k < motion->n_names; k++)
        if (is_input(scene, motion->names[k]))
            n++;
    int64_t to = 0;
    for (int i = 0; i < motion->n_times; i++)
        for (int k = 0; k < motion->n_names; k++)
            if (is_input(scene, motion->names[k]))
                motion->values[to++] = motion->values[(int64_t)i * motion->n_names + k];
    for (int k = 0, at = 0; k < motion->n_names; k++)
        if (is_input(scene, motion->names[k]))
            motion->names[at++] = motion->names[k];
    motion->n_names = n;
}

// place: by former number of an actuator, its number now; -1: gone.
static void keep_groups(tdSceneControl *control, const int *place)
{
    int groups = 0;
    for (int g = 0; g < control->n_groups; g++)
    {
        tdSceneGroup group = control->groups[g];
        int n = 0;
        for (int k = 0; k < group.n; k++)
            if (place[group.actuators[k]] >= 0)
            {
                group.ratio[n] = group.ratio[k];
                group.actuators[n++] = place[group.actuators[k]];
            }
        group.n = n;
        if (n > 0)
            control->groups[groups++] = group;
    }
    control->n_groups = groups;
}

static void keep_actuators(tdScene *scene, int body)
{
    int *place = TD_TAKE(&scene->arena, int, scene->n_actuators), n = 0;
    for (int a = 0; a < scene->n_actuators; a++)
    {
        tdSceneActuator actuator = scene->actuators[a];
        if (place != NULL)
            place[a] = actuator.body == body ? n : -1;
        if (actuator.body != body)
            continue;
        actuator.body = 0;
        actuator.pull_body = actuator.pull_body == body ? 0 : -1;
        scene->actuators[n++] = actuator;
    }
    scene->n_actuators = n;
    if (place != NULL)
        keep_groups(&scene->control, place);
    else
        scene->control.n_groups = 0;
}

// What was welded to another body is welded to space.
static void keep_attachments(tdScene *scene, int body)
{
    int n = 0;
    for (int k = 0; k < scene->n_attachments; k++)
        if (scene->attachments[k].a == body)
        {
            tdSceneAttachment *to = &scene->attachments[n++];
            *to = scene->attachments[k];
            to->a = 0;
            to->b = -1;
            to->link = NULL;
        }
    scene->n_attachments = n;
}

tdStatus td_scene_hold_attached(tdScene *scene, tdError *error)
{
    tdSceneBody *body = &scene->bodies[0];
    tdSceneFixed *fixed = TD_TAKE(&scene->arena, tdSceneFixed, body->n_fixed + scene->n_attachments);
    int n = 0;
    if (fixed == NULL)
        return td_fail_memory(error, "the supports of a body");
    if (body->n_fixed > 0)
        memcpy(fixed, body->fixed, (size_t)body->n_fixed * sizeof *fixed);
    body->fixed = fixed;
    for (int k = 0; k < scene->n_attachments; k++)
        if (scene->attachments[k].n_points == 0)
            fixed[body->n_fixed++] = (tdSceneFixed){.select = scene->attachments[k].select, .axes = 7};
        else
            scene->attachments[n++] = scene->attachments[k];
    scene->n_attachments = n;
    return TD_OK;
}

static void keep_loads(tdScene *scene, int body)
{
    int loads = 0, probes = 0;
    for (int k = 0; k < scene->n_loads; k++)
        if (scene->loads[k].body == body)
        {
            scene->loads[loads] = scene->loads[k];
            scene->loads[loads++].body = 0;
        }
    for (int k = 0; k < scene->n_probes; k++)
        if (scene->probes[k].body == body)
        {
            scene->probes[probes] = scene->probes[k];
            scene->probes[probes++].body = 0;
        }
    scene->n_loads = loads;
    scene->n_probes = probes;
}

static bool is_driven(const tdScene *scene)
{
    bool named = scene->bodies[0].n_prescribed > 0 || scene->n_actuators > 0;
    for (int k = 0; k < scene->n_loads; k++)
        named = named || scene->loads[k].name != NULL;
    return named;
}

void td_scene_alone(tdScene *scene, int body)
{
    tdSceneReduction *reduction = &scene->reduction;
    keep_actuators(scene, body);
    keep_loads(scene, body);
    keep_attachments(scene, body);
    scene->bodies[0] = scene->bodies[body];
    scene->n_bodies = 1;
    scene->n_effectors = scene->n_couplings = scene->n_tools = scene->n_sensors = 0;
    scene->contact.line = 0;
    keep_columns(scene, &scene->motion);
    keep_columns(scene, scene->validation.motion);
    keep_columns(scene, reduction->sequence);
    reduction->body = 0;
    reduction->contact_friction = NAN;
    scene->equilibria = td_hash_mix(scene->equilibria + 1 + (uint64_t)body);
    if (is_driven(scene) || reduction->basis == TD_BASIS_MODES)
        return;
    reduction->basis = TD_BASIS_MODES;
    reduction->modes = reduction->derivatives = MODES;
    reduction->columns = COLUMNS;
    reduction->amplitude = NAN;
    reduction->find_pod = reduction->find_ecsw = false;
}

// ---------------------------------------------------------------- which

static tdStatus list(const tdScene *scene, tdReduceBodies *out, tdError *error)
{
    out->names = TD_TAKE(&out->arena, const char *, scene->n_bodies);
    out->files = TD_TAKE(&out->arena, const char *, scene->n_bodies);
    if (out->names == NULL || out->files == NULL)
        return td_fail_memory(error, "the bodies");
    for (int b = 0; b < scene->n_bodies; b++)
    {
        if (scene->bodies[b].rom == NULL)
            continue;
        out->names[out->n] = td_arena_copy(&out->arena, scene->bodies[b].name);
        out->files[out->n] = td_arena_copy(&out->arena, scene->bodies[b].rom);
        if (out->names[out->n] == NULL || out->files[out->n] == NULL)
            return td_fail_memory(error, "the bodies");
        out->n++;
    }
    if (out->n == 0)
        return td_fail_at(error, TD_ERROR_INPUT, scene->file, 0, "bodies",
                          "no body names the file of its reduced model; add 'rom: FILE.h5' to those that are to have "
                          "one");
    return TD_OK;
}

tdStatus td_reduce_bodies(const char *path, const tdSettings *settings, tdReduceBodies *out, tdError *error)
{
    *out = (tdReduceBodies){0};
    char *text = NULL, folder[4096];
    size_t length = 0;
    tdScene scene = {0};
    td_path_folder(folder, sizeof folder, path);
    if (settings->text == NULL)
        TD_TRY(td_file_read(path, &text, &length, error));
    else
        length = strlen(settings->text);
    tdStatus status = td_scene_parse_with(text != NULL ? text : settings->text, length, path, folder,
                                          settings->packages, settings->set, &scene, error);
    if (status == TD_OK)
        status = list(&scene, out, error);
    td_scene_free(&scene);
    free(text);
    return status;
}
