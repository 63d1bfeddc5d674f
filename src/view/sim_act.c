// SPDX-License-Identifier: Apache-2.0
// What clients ask of the simulation. Everything here happens between two steps, in the simulation's thread.
#include "view/sim_own.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PENDING 100000 // steps that wait to be taken one by one
#include <sys/stat.h>

static void refuse(tdViewSim *sim, int client, tdViewAction action, const char *why)
{
    td_view_sim_say(sim, client, true, true, action, "%s", why);
}

// ---------------------------------------------------------------- actuators and targets

static bool scene_has_target(const tdModel *model)
{
    for (int e = 0; e < model->n_effectors; e++)
        if (model->effectors[e].given->has_target)
            return true;
    return false;
}

static bool is_servo(const tdModel *model, int a)
{
    return model->actuators[a].given->drive == TD_DRIVE_SERVO;
}

// A client's target takes over all actuators that are not moved by hand; one of the scene those that its motion leaves.
// Servos are not found by inverse control.
tdViewMode td_view_sim_mode(const tdViewSim *sim, int a)
{
    if (!isnan(sim->manual[a]))
        return TD_VIEW_MODE_MANUAL;
    if (sim->stage->model->actuators[a].tool >= 0)
        return TD_VIEW_MODE_TOOL;
    bool moved = sim->stage->actuators[a].column >= 0;
    bool found = sim->targets > 0 || (scene_has_target(sim->stage->model) && !moved);
    if (found && !is_servo(sim->stage->model, a))
        return TD_VIEW_MODE_INVERSE;
    return TD_VIEW_MODE_SCENE;
}

double td_view_sim_value(const tdViewSim *sim, int a)
{
    const tdModel *model = sim->stage->model;
    tdViewMode mode = td_view_sim_mode(sim, a);
    if (mode != TD_VIEW_MODE_SCENE)
        return mode == TD_VIEW_MODE_MANUAL ? sim->manual[a] : NAN;
    double value = td_view_scene_value(sim->stage, a, td_state_time(sim->state) - model->scheme.h);
    return isnan(value) ? model->inputs[model->actuators[a].input].standard : value;
}

void td_view_sim_drive(tdViewSim *sim)
{
    const tdModel *model = sim->stage->model;
    td_view_sim_move_on(sim);
    for (int a = 0; a < model->n_actuators; a++)
    {
        tdViewMode mode = td_view_sim_mode(sim, a);
        double value = mode == TD_VIEW_MODE_MANUAL  ? sim->manual[a]
                       : mode == TD_VIEW_MODE_SCENE ? td_view_scene_value(sim->stage, a, td_state_time(sim->state))
                                                    : NAN;
        td_state_set_input(model, sim->state, model->actuators[a].input, value);
    }
}

static int find_actuator(const tdModel *model, const char *name)
{
    for (int a = 0; a < model->n_actuators; a++)
        if (strcmp(model->actuators[a].name, name) == 0)
            return a;
    return -1;
}

static void act_actuator(tdViewSim *sim, int client, const tdViewMessage *m)
{
    int a = find_actuator(sim->stage->model, m->name);
    if (a < 0)
        refuse(sim, client, m->action, "the scene has no actuator of this name");
    else
        sim->manual[a] = m->n_values == 0 ? NAN : m->value[0];
}

// When the last target goes, a robot that let go of everything would fall: actuators stay where they are.
static void hold_actuators(tdViewSim *sim)
{
    const tdModel *model = sim->stage->model;
    for (int a = 0; a < model->n_actuators && !scene_has_target(model); a++)
    {
        tdActuation now = td_state_actuation(model, sim->state, a);
        tdDrive drive = model->actuators[a].given->drive;
        if (isnan(sim->manual[a]) && (drive == TD_DRIVE_EFFORT || drive == TD_DRIVE_DISPLACEMENT))
            sim->manual[a] = drive == TD_DRIVE_EFFORT ? now.effort : now.displacement;
    }
}

static void act_target(tdViewSim *sim, int client, const tdViewMessage *m)
{
    const tdModel *model = sim->stage->model;
    int e = td_model_find_effector(model, m->name);
    if (e < 0)
    {
        refuse(sim, client, m->action, "the scene has no effector of this name");
        return;
    }
    if (m->n_values != 0 && m->n_values != model->effectors[e].measure.rows)
    {
        td_view_sim_say(sim, client, true, true, m->action, "a target of '%s' has %d numbers", m->name,
                        model->effectors[e].measure.rows);
        return;
    }
    if (sim->stage->inverse[0] != '\0' ||
        td_state_set_target(model, sim->state, e, m->n_values == 0 ? NULL : m->value) != TD_OK)
    {
        td_view_sim_say(sim, client, true, true, m->action, "targets cannot be set: %.600s", sim->stage->inverse);
        return;
    }
    if (m->n_values != 0 && sim->targets == 0)
        for (int a = 0; a < model->n_actuators; a++)
            sim->manual[a] = is_servo(model, a) ? sim->manual[a] : NAN;
    bool set = m->n_values != 0, last = !set && sim->given[e] && sim->targets == 1;
    sim->targets += (int)set - (int)sim->given[e];
    sim->given[e] = set;
    if (last)
        hold_actuators(sim);
}

// ---------------------------------------------------------------- springs

static void untie(tdViewSim *sim, int k)
{
    sim->springs[k].client = 0;
    td_state_set_spring(sim->stage->model, sim->state, k, NULL);
}

static int spring_of(const tdViewSim *sim, int client)
{
    for (int k = 0; k < TD_SPRINGS; k++)
        if (sim->springs[k].client == client)
            return k;
    return -1;
}

static void act_spring(tdViewSim *sim, int client, const tdViewMessage *m)
{
    int k = spring_of(sim, client);
    tdSpring spring;
    if (!m->tied)
    {
        if (k < 0 || !td_spring_get(sim->state->springs, k, &spring))
        {
            refuse(sim, client, m->action, "this client has no spring whose anchor could move");
            return;
        }
    }
    else
    {
        const tdViewStage *stage = sim->stage;
        if (m->mesh >= stage->n_meshes || stage->meshes[m->mesh].kind != TD_VIEW_SURFACE ||
            m->triangle >= stage->meshes[m->mesh].n_triangles)
        {
            refuse(sim, client, m->action, "there is no such triangle on the surface of a body");
            return;
        }
        k = k >= 0 ? k : spring_of(sim, 0);
        if (k < 0)
        {
            refuse(sim, client, m->action, "other clients use all available springs");
            return;
        }
        const tdViewMesh *mesh = &stage->meshes[m->mesh];
        spring = (tdSpring){.body = mesh->body, .stiffness = isnan(m->stiffness) ? stage->stiffness : m->stiffness};
        if (spring.stiffness > 100 * stage->stiffness)
        {
            td_view_sim_say(sim, client, true, true, m->action, "the stiffness is above the most of %g N/m",
                            100 * stage->stiffness);
            return;
        }
        for (int c = 0; c < 3; c++)
        {
            spring.nodes[c] = mesh->nodes[mesh->triangles[3 * (int64_t)m->triangle + c]];
            spring.weights[c] = m->weights[c];
        }
    }
    memcpy(spring.anchor, m->anchor, sizeof spring.anchor);
    if (td_state_set_spring(sim->stage->model, sim->state, k, &spring) != TD_OK)
        refuse(sim, client, m->action,
               sim->stage->model->bodies[spring.body].count == 0 ? "this body is fixed: a spring would not move it"
                                                                 : "the spring cannot be tied there");
    else
    {
        sim->springs[k].client = client;
        sim->springs[k].stiffness = spring.stiffness;
    }
}

// ---------------------------------------------------------------- recordings

void td_view_sim_stop_recording(tdViewSim *sim)
{
    if (sim->output == NULL)
        return;
    tdError error = {0};
    tdStatus status = td_output_close(sim->output, &error);
    sim->output = NULL;
    if (status == TD_OK)
        td_view_sim_say(sim, 0, false, false, TD_VIEW_RECORD, "recorded %" PRId64 " frames in %s", sim->recorded,
                        sim->folder);
    else
        td_view_sim_say(sim, 0, false, true, TD_VIEW_RECORD, "the recording failed: %s", error.message);
}

// A new folder OUT/NAME-001, -002, ...
static tdStatus make_folder(tdViewSim *sim, tdError *error)
{
    const char *file = sim->stage->file, *dot = strrchr(file, '.');
    int length = dot == NULL ? (int)strlen(file) : (int)(dot - file);
    TD_TRY(td_path_make(sim->settings.out, error));
    for (int i = 1; i < 10000; i++)
    {
        int n = snprintf(sim->folder, sizeof sim->folder, "%s/%.*s-%03d", sim->settings.out, length, file, i);
        if (n < 0 || (size_t)n >= sizeof sim->folder)
            return td_fail_at(error, TD_ERROR_IO, sim->settings.out, 0, NULL, "the path is too long");
        if (mkdir(sim->folder, 0777) == 0)
            return TD_OK;
        if (errno != EEXIST)
            return td_fail_at(error, TD_ERROR_IO, sim->folder, 0, NULL, "cannot be made: %s", strerror(errno));
    }
    return td_fail_at(error, TD_ERROR_IO, sim->settings.out, 0, NULL, "is full of recordings; remove some");
}

static void act_record(tdViewSim *sim, int client, const tdViewMessage *m)
{
    if (!m->start)
    {
        td_view_sim_stop_recording(sim);
        return;
    }
    if (sim->settings.out == NULL || sim->output != NULL)
    {
        refuse(sim, client, m->action,
               sim->output != NULL ? "a recording is already running"
                                   : "the server may not write; start it with --out FOLDER");
        return;
    }
    tdError error = {0};
    tdOutputSettings settings = td_default_output(sim->stage->model);
    settings.vtu = settings.csv = true;
    settings.hdf5 = false;
    settings.keep = -1;
    tdStatus status = make_folder(sim, &error);
    if (status == TD_OK)
        status = td_output_open(sim->stage->model, sim->folder, &settings, &sim->output, &error);
    if (status == TD_OK)
        status = td_output_frame(sim->output, sim->state, &error);
    sim->every = m->count;
    sim->recorded = 1;
    if (status == TD_OK)
        return;
    td_output_close(sim->output, NULL);
    sim->output = NULL;
    td_view_sim_say(sim, client, true, true, m->action, "the recording cannot start: %s", error.message);
}

// ---------------------------------------------------------------- scenes

static void forget_control(tdViewSim *sim)
{
    for (int a = 0; a < sim->stage->model->n_actuators; a++)
        sim->manual[a] = NAN;
    memset(sim->given, 0, (size_t)sim->stage->model->n_effectors * sizeof *sim->given);
    memset(sim->springs, 0, sizeof sim->springs);
    memset(sim->groups, 0, sizeof sim->groups);
    memset(sim->tools, 0, (size_t)td_view_stage_tools(sim->stage) * sizeof *sim->tools);
    memset(sim->guides, 0, (size_t)sim->stage->n_guides * sizeof *sim->guides);
    sim->targets = 0;
    sim->pending = 0;
    sim->failed = false;
    sim->pace.due = 0;
}

static void act_reset(tdViewSim *sim)
{
    tdState *fresh = NULL;
    tdError error = {0};
    if (td_state_create(sim->stage->model, &sim->settings.model, &fresh, &error) != TD_OK)
    {
        td_view_sim_say(sim, 0, false, true, TD_VIEW_RESET, "the scene cannot be reset: %s", error.message);
        return;
    }
    td_view_sim_stop_recording(sim);
    td_state_free(sim->state);
    sim->state = fresh;
    sim->resets++;
    forget_control(sim);
    td_view_sim_log(sim);
}

tdStatus td_view_sim_load(tdViewSim *sim, const tdViewEntry *entry, tdError *error)
{
    tdSettings settings = sim->settings.model;
    settings.rom = entry->rom[0] == '\0' ? NULL : entry->rom;
    tdViewStage *stage = NULL;
    tdState *state = NULL;
    tdStatus status = td_view_stage_load(entry->path, entry->name, &settings, sim->generation + 1, &stage, error);
    if (status == TD_OK)
        status = td_state_create(stage->model, &sim->settings.model, &state, error);
    double *manual = NULL, *turns = NULL;
    bool *given = NULL;
    tdViewHand *tools = NULL;
    tdViewGuideMotion *guides = NULL;
    if (status == TD_OK)
    {
        manual = calloc((size_t)stage->model->n_actuators + 1, sizeof *manual);
        given = calloc((size_t)stage->model->n_effectors + 1, sizeof *given);
        turns = calloc((size_t)stage->n_turns + 1, sizeof *turns);
        tools = calloc((size_t)td_view_stage_tools(stage) + 1, sizeof *tools);
        guides = calloc((size_t)stage->n_guides + 1, sizeof *guides);
        status = manual != NULL && given != NULL && turns != NULL && tools != NULL && guides != NULL
                     ? TD_OK
                     : td_fail_memory(error, "the viewer");
    }
    if (status != TD_OK)
    {
        free(manual);
        free(given);
        free(turns);
        free(tools);
        free(guides);
        td_state_free(state);
        td_view_stage_release(stage);
        return status;
    }
    td_view_sim_stop_recording(sim);
    td_state_free(sim->state);
    td_view_stage_release(sim->stage);
    free(sim->manual);
    free(sim->given);
    free(sim->turns);
    free(sim->tools);
    free(sim->guides);
    sim->stage = stage;
    sim->state = state;
    sim->manual = manual;
    sim->given = given;
    sim->turns = turns;
    sim->tools = tools;
    sim->guides = guides;
    sim->generation++;
    sim->resets = 0;
    forget_control(sim);
    td_view_sim_watch_included(sim);
    return TD_OK;
}

bool td_view_sim_open(tdViewSim *sim, const tdViewEntry *entry)
{
    memcpy(sim->loading, entry->name, sizeof sim->loading);
    td_view_sim_publish(sim);
    tdError error = {0};
    char text[600];
    td_view_sim_watch(sim, entry); // also one that cannot be loaded: whoever mends it sees it come
    tdStatus status = td_view_sim_load(sim, entry, &error);
    sim->loading[0] = '\0';
    sim->changed = true; // publishing above has cleared it
    if (status == TD_OK)
        return true;
    td_error_format(&error, text, sizeof text);
    td_view_sim_say(sim, 0, false, true, TD_VIEW_SCENE, "'%s' cannot be loaded: %s", entry->name, text);
    return false;
}

static void act_scene(tdViewSim *sim, int client, const tdViewMessage *m)
{
    const tdViewEntry *entry = NULL;
    for (int i = 0; i < sim->settings.n_entries; i++)
        if (strcmp(sim->settings.entries[i].name, m->name) == 0)
            entry = &sim->settings.entries[i];
    if (entry == NULL)
    {
        refuse(sim, client, m->action, "there is no scene of this name in the list");
        return;
    }
    td_view_sim_open(sim, entry);
}

// ---------------------------------------------------------------- all

void td_view_sim_act(tdViewSim *sim, int client, const tdViewMessage *m)
{
    sim->changed = true;
    switch (m->action)
    {
    case TD_VIEW_PLAY:
        sim->playing = true;
        sim->failed = false;
        sim->pending = 0;
        break;
    case TD_VIEW_PAUSE:
        sim->playing = false;
        sim->pending = 0;
        break;
    case TD_VIEW_STEP:
        sim->playing = sim->failed = false;
        sim->pending = sim->pending < MOST_PENDING ? sim->pending + m->count : sim->pending; // clicks add up
        break;
    case TD_VIEW_SPEED:
        sim->speed = m->value[0];
        sim->pace.due = 0; // not what the old speed would have waited for
        break;
    case TD_VIEW_RESET: act_reset(sim); break;
    case TD_VIEW_ACTUATOR: act_actuator(sim, client, m); break;
    case TD_VIEW_TARGET: act_target(sim, client, m); break;
    case TD_VIEW_SPRING: act_spring(sim, client, m); break;
    case TD_VIEW_RELEASE:
        if (spring_of(sim, client) >= 0)
            untie(sim, spring_of(sim, client));
        if (m->start)
            td_view_sim_let_go(sim, client);
        break;
    case TD_VIEW_TOOL: td_view_sim_tool(sim, client, m); break;
    case TD_VIEW_LEAD: td_view_sim_lead(sim, client, m); break;
    case TD_VIEW_GROUP: td_view_sim_group(sim, client, m); break;
    case TD_VIEW_GRIP: td_view_sim_grip(sim, client, m); break;
    case TD_VIEW_SCENE: act_scene(sim, client, m); break;
    case TD_VIEW_RECORD: act_record(sim, client, m); break;
    default: break; // the server's own
    }
}
