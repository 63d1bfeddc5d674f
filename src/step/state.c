// SPDX-License-Identifier: Apache-2.0
// Making, reading and restoring a state.
#include "core/state_room.h"

#include "base/hash.h"
#include "body/soft.h"
#include "body/spring.h"
#include "constraint/condense.h"
#include "constraint/friction.h"
#include "constraint/tool.h"
#include "contact/contact.h"
#include "step/monitor.h"
#include "step/sensor.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static tdStatus take_vectors(const tdModel *model, tdState *state, tdError *error)
{
    double **over_coords[] = {&state->q,     &state->v,       &state->a,     &state->reaction, &state->q_e,
                              &state->v_e,   &state->inertia, &state->force, &state->load,     &state->m,
                              &state->dv,    &state->v_new,   &state->q_end, &state->held,     &state->v_before,
                              &state->start, &state->m_free,  &state->own,   &state->v_start,  &state->a_start,
                              &state->asked};
    for (size_t i = 0; i < sizeof over_coords / sizeof over_coords[0]; i++)
        if ((*over_coords[i] = TD_TAKE(&state->arena, double, model->coords)) == NULL)
            return td_fail_memory(error, "the state");
    state->scratch = TD_TAKE(&state->arena, tdScratch, 1);
    if (state->scratch == NULL)
        return td_fail_memory(error, "the state");
    state->scratch->length = model->coords > 0 ? model->coords : 1;
    state->scratch->room =
        TD_ROOM_TAKE(&state->arena, double, &state->scratch->room, TD_SCRATCH_VECTORS * state->scratch->length);
    if (state->scratch->room == NULL)
        return td_fail_memory(error, "the state");
    double **over_inputs[] = {&state->override, &state->input, &state->input_end, &state->load_last, &state->load_next};
    for (size_t i = 0; i < sizeof over_inputs / sizeof over_inputs[0]; i++)
        if ((*over_inputs[i] = TD_TAKE(&state->arena, double, model->n_inputs + 1)) == NULL)
            return td_fail_memory(error, "the state");
    state->q_c = td_scheme_ends_apart(&model->scheme) ? TD_TAKE(&state->arena, double, model->coords) : state->q_e;
    state->q_together =
        td_scheme_sets_out_late(&model->scheme) ? TD_TAKE(&state->arena, double, model->coords) : state->q_c;
    state->q_r = state->q_c;
    if (state->q_c == NULL || state->q_together == NULL)
        return td_fail_memory(error, "the state");
    state->bodies = TD_TAKE(&state->arena, tdBodyState *, model->n_bodies);
    state->springs = TD_TAKE(&state->arena, double, TD_SPRINGS *TD_SPRING_NUMBERS);
    state->listed = TD_ROOM_TAKE(&state->arena, tdStateArray, &state->listed, td_state_most_arrays(model));
    state->parameters = TD_TAKE(&state->arena, double, TD_STATE_PARAMETERS(model));
    if (state->bodies == NULL || state->springs == NULL || state->listed == NULL || state->parameters == NULL)
        return td_fail_memory(error, "the state");
    memcpy(state->parameters, model->settings.gravity, 3 * sizeof(double));
    for (int i = 0; i < 1 + TD_FACTORS * model->n_bodies; i++)
        state->parameters[3 + i] = 1;
    for (int i = 0; i < model->n_inputs; i++)
        state->override[i] = NAN;
    for (int64_t i = 0; i < model->coords; i++)
        state->asked[i] = NAN;
    return TD_OK;
}

// In front of its arena.
#define STATE_BYTES ((sizeof(tdState) + TD_ALIGN - 1) / TD_ALIGN * TD_ALIGN)

size_t td_state_home(const tdState *state)
{
    return STATE_BYTES + td_arena_room(&state->arena);
}

static tdStatus create(const tdModel *model, const tdSettings *settings, bool pool, const tdState *like, tdRoom *room,
                       tdTasks *tasks, void *home, size_t bytes, tdState **out, tdError *error)
{
    *out = NULL;
    tdState *state = home != NULL ? home : td_take(1, sizeof *state);
    if (state == NULL)
        return td_fail_memory(error, "the state");
    if (home != NULL)
    {
        *state = (tdState){.lent = true};
        td_arena_lend(&state->arena, (char *)home + STATE_BYTES, bytes - STATE_BYTES);
    }
    state->settings = settings != NULL ? *settings : td_default_settings();
    state->isa = td_isa_pick(state->settings.portable);
    state->model = model;
    state->weight = 1;
    state->tasks = tasks;
    tdStatus status = tasks != NULL ? TD_OK
                      : pool        ? td_tasks_create(state->settings.threads, &state->tasks, error)
                                    : td_tasks_create_within(&state->tasks, error);
    if (status == TD_OK && room != NULL && !td_room_enter(&state->arena, room))
        status = td_fail_memory(error, "the state");
    if (status == TD_OK)
        status = take_vectors(model, state, error);
    if (status == TD_OK)
        status = td_problem_create(&state->problem, error);
    for (int b = 0; b < model->n_bodies && status == TD_OK; b++)
        status = model->bodies[b].ops->state_create(model, &model->bodies[b], state, error);
    if (status == TD_OK)
        status = td_constraint_create(model, state, error);
    if (status == TD_OK)
        status = td_tools_create(model, state, error);
    if (status == TD_OK)
        status = td_condense_create(model, state, error);
    if (status == TD_OK)
        status = td_friction_create(model, state, error);
    if (status == TD_OK)
        status = td_contact_create(model, state, error);
    if (status == TD_OK)
        status = td_monitor_create(model, state, error);
    if (status == TD_OK)
        status = td_sensors_create(model, state, error);
    if (status == TD_OK)
        status = td_state_begin_with(model, state, like, error);
    if (status != TD_OK)
    {
        if (tasks != NULL)
            state->tasks = NULL;
        td_state_free(state);
        return status;
    }
    *out = state;
    return TD_OK;
}

tdStatus td_state_create(const tdModel *model, const tdSettings *settings, tdState **out, tdError *error)
{
    return create(model, settings, true, NULL, NULL, NULL, NULL, 0, out, error);
}

tdStatus td_state_create_like(const tdModel *model, const tdSettings *settings, const tdState *like, tdState **out,
                              tdError *error)
{
    return create(model, settings, false, like, NULL, NULL, NULL, 0, out, error);
}

tdStatus td_state_create_in(const tdModel *model, const tdSettings *settings, const tdState *like, tdRoom *room,
                            tdTasks *tasks, void *home, size_t bytes, tdState **out, tdError *error)
{
    return create(model, settings, false, like, room, tasks, home, bytes, out, error);
}

void td_state_free(tdState *state)
{
    if (state == NULL)
        return;
    for (int b = 0; state->bodies != NULL && b < state->model->n_bodies; b++)
        if (state->model->bodies[b].ops->state_free != NULL)
            state->model->bodies[b].ops->state_free(&state->model->bodies[b], state);
    td_contact_free(state);
    td_problem_free(state->problem);
    td_tasks_free(state->tasks);
    free(state->before);
    bool lent = state->lent;
    td_arena_free(&state->arena);
    if (!lent)
        free(state);
}

int td_state_most_arrays(const tdModel *model)
{
    return 64 * (model->n_bodies + 1); // a state, and each body, has some twenty
}

int td_state_arrays(const tdModel *model, tdState *state, tdStateArray *out, int most)
{
    const tdConstraintState *cs = state->constraint;
    int64_t columns = cs->condensed == NULL ? 0 : model->n_actuators * model->coords;
    tdStateArray list[] = {
        {"parameters", -1, false, TD_STATE_PARAMETERS(model), state->parameters}, // the first: td_state_reset()
        {"time", -1, false, 1, &state->time},
        {"steps", -1, true, 1, &state->steps},
        {"q", -1, false, model->coords, state->q},
        {"v", -1, false, model->coords, state->v},
        {"a", -1, false, model->coords, state->a},
        {"reaction", -1, false, model->coords, state->reaction},
        {"override", -1, false, model->n_inputs, state->override},
        {"springs", -1, false, TD_SPRINGS * TD_SPRING_NUMBERS, state->springs},
        {"load_last", -1, false, model->n_inputs + 1, state->load_last},
        {"effort", -1, false, model->n_actuators, cs->effort},
        {"displacement", -1, false, model->n_actuators, cs->displacement},
        {"slide", -1, false, model->n_actuators, cs->slide},
        {"effector", -1, false, 3 * (int64_t)model->n_effectors, cs->value},
        {"wanted", -1, false, 3 * (int64_t)model->n_effectors, cs->wanted},
        {"columns", -1, false, columns, columns > 0 ? cs->condensed->X : NULL},
    };
    int n = 0, listed = (int)(sizeof list / sizeof list[0]);
    for (; n < listed && n < most; n++)
        out[n] = list[n];
    if (state->tools != NULL && n < most)
        out[n++] = (tdStateArray){"tools", -1, false, state->tools->count, state->tools->kept};
    n += td_monitor_arrays(model, state, out + n, most - n);
    for (int b = 0; b < model->n_bodies; b++)
        if (model->bodies[b].ops->arrays != NULL)
            n += model->bodies[b].ops->arrays(model, &model->bodies[b], state, out + n, most - n);
    return n + td_contact_arrays(model, state, out + n, most - n);
}

int td_state_listed(const tdModel *model, const tdState *state, const tdStateArray **list)
{
    assert(state->model == model);
    int most = td_state_most_arrays(model);
    // The list points into the state, which one thread at a time has.
    int n = td_state_arrays(model, (tdState *)state, state->listed, most);
    assert(n < most); // or some may have been left out
    *list = state->listed;
    return n;
}

// Of a word after others: for each value of one of them all values of the other give different hashes.
static uint64_t hash_on(uint64_t hash, uint64_t word)
{
    return td_hash_mix(hash + word);
}

uint64_t td_state_hash(const tdModel *model, const tdState *state)
{
    const tdStateArray *list = NULL;
    int n = td_state_listed(model, state, &list);
    uint64_t hash = 1;
    for (int i = 0; i < n; i++)
    {
        hash = hash_on(hash, td_hash_bytes(list[i].name, strlen(list[i].name)));
        hash = hash_on(hash, (uint64_t)list[i].body);
        hash = hash_on(hash, (uint64_t)list[i].count);
        const char *from = list[i].data;
        for (int64_t k = 0; k < list[i].count; k++)
        {
            uint64_t word; // all are of 64 bits: there is no padding
            memcpy(&word, from + 8 * k, sizeof word);
            hash = hash_on(hash, word);
        }
    }
    return hash;
}

// Of the text of an error its end alone: it is a kilobyte.
static void clear_report(tdReport *report)
{
    tdError *error = &report->error;
    memset(&report->newton_iterations, 0, sizeof *report - offsetof(tdReport, newton_iterations));
    report->status = error->status = TD_OK;
    error->line = 0;
    error->file[0] = error->field[0] = error->message[0] = '\0';
}

tdStatus td_state_restore(const tdModel *model, tdState *state, tdError *error)
{
    clear_report(&state->report);
    state->gravity = 1;
    TD_TRY(td_springs_check(model, state->springs, error));
    TD_TRY(td_tools_check(model, state, error));
    for (int b = 0; b < model->n_bodies; b++)
        TD_TRY(td_body_restore(model, &model->bodies[b], state, error));
    td_contact_restore(state);
    td_sensors_forget(model, state);
    return TD_OK;
}

// ---------------------------------------------------------------- accessors

double td_state_time(const tdState *state)
{
    return state->time;
}

int64_t td_state_steps(const tdState *state)
{
    return state->steps;
}

const double *td_state_positions(const tdModel *model, const tdState *state, int body)
{
    assert(state->model == model && body >= 0 && body < model->n_bodies);
    return model->bodies[body].ops->nodes(model, &model->bodies[body], state);
}

const double *td_state_velocities(const tdModel *model, const tdState *state, int body)
{
    assert(state->model == model && body >= 0 && body < model->n_bodies);
    return model->bodies[body].ops->node_velocities(model, &model->bodies[body], state);
}

void td_state_probe(const tdModel *model, const tdState *state, int probe, double position[3])
{
    assert(state->model == model && probe >= 0 && probe < model->n_probes);
    const tdPointSet *set = &model->probes[probe].point;
    const tdBody *body = &model->bodies[set->body];
    body->ops->positions(body, state, set, state->q + body->first, position);
    if (body->ops->give != NULL)
        body->ops->give(body, state, set, position);
}

tdStatus td_state_set_input(const tdModel *model, tdState *state, int input, double value)
{
    if (input < 0 || input >= model->n_inputs || isinf(value))
        return TD_ERROR_USAGE;
    state->override[input] = value;
    return TD_OK;
}

const tdReport *td_state_report(const tdState *state)
{
    return &state->report;
}

void td_state_energy(const tdModel *model, tdState *state, double *kinetic, double *elastic)
{
    double sum_kinetic = 0, sum_elastic = 0;
    for (int b = 0; b < model->n_bodies; b++)
    {
        double k = 0, e = 0;
        model->bodies[b].ops->energy(model, &model->bodies[b], state, &k, &e);
        sum_kinetic += k;
        sum_elastic += e;
    }
    if (kinetic != NULL)
        *kinetic = sum_kinetic;
    if (elastic != NULL)
        *elastic = sum_elastic;
}
