// SPDX-License-Identifier: Apache-2.0
// Where equilibria end: after a training that failed, how far its actuators may go together. The places of training
// that are farthest from rest are drawn towards it, all by the same share, until each of them is reached.
#include "constraint/constraint.h"
#include "core/state.h"
#include "reduce/offline/job_parts.h"
#include "reduce/offline/walker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES  8    // that are tried
#define ROUNDS  4    // of bisection
#define SHORT   64   // places of a path that is tried as a whole
#define PULLS   0.25 // share of its range from which on an actuator acts
#define AGAINST 0.3  // share of what an actuator moves that another one takes back: they act against each other

/// What is tried.
typedef struct Search
{
    const tdJob *job;
    int n;
    const double *place[PLACES];
    double *most;   // by actuator: its farthest
    double *values; // of all inputs, scratch
} Search;

static double distance(const Search *search, const double *values)
{
    const tdModel *model = search->job->trainee.model;
    double sum = 0;
    for (int a = 0; a < model->n_actuators; a++)
        if (search->most[a] > 0)
            sum += pow(values[model->actuators[a].input] / search->most[a], 2);
    return sum;
}

static bool is_listed(const Search *search, const double *values, int inputs)
{
    for (int k = 0; k < search->n; k++)
        if (memcmp(search->place[k], values, (size_t)inputs * sizeof *values) == 0)
            return true;
    return false;
}

void td_job_farthest(const tdJob *job, double *most)
{
    const tdModel *model = job->trainee.model;
    const tdSamplePath *path = &job->path;
    for (int a = 0; a < model->n_actuators; a++)
        most[a] = 0;
    for (int64_t i = 0; i < path->count; i++)
        for (int a = 0; a < model->n_actuators; a++)
            most[a] = fmax(most[a], fabs(path->values[i * path->n + model->actuators[a].input]));
}

static void find_farthest(Search *search)
{
    const tdSamplePath *path = &search->job->path;
    td_job_farthest(search->job, search->most);
    while (search->n < PLACES)
    {
        const double *best = NULL;
        for (int64_t i = 0; i < path->count; i++)
        {
            const double *values = path->values + i * path->n;
            if (distance(search, values) > (best == NULL ? 0 : distance(search, best)) &&
                !is_listed(search, values, path->n))
                best = values;
        }
        if (best == NULL)
            return;
        search->place[search->n++] = best;
    }
}

static tdStatus visit(const Search *search, tdWalker *walker, const double *place, double weight, double share,
                      bool *reached, tdError *error)
{
    const tdModel *model = search->job->trainee.model;
    memcpy(search->values, place, (size_t)model->n_inputs * sizeof(double));
    for (int a = 0; a < model->n_actuators; a++)
        search->values[model->actuators[a].input] *= share;
    return td_walker_visit(walker, search->values, weight, reached, error);
}

// Whether all places are reached, drawn towards rest: along the path of training where it is short, as what is reached
// depends on the way; else the farthest ones from rest.
static tdStatus reaches(const Search *search, double share, bool *all, tdError *error)
{
    const tdTrainee *trainee = &search->job->trainee;
    const tdSamplePath *path = &search->job->path;
    const tdWalk walk = {trainee->model, trainee->moving, false};
    bool whole = path->count <= SHORT, reached = true;
    tdStatus status = TD_OK;
    tdSettings settings = search->job->task->settings;
    settings.threads = 1;
    settings.log = NULL;
    for (int k = 0; k < (whole ? path->n_trajectories : search->n) && reached && status == TD_OK; k++)
    {
        tdWalker *walker = NULL;
        status = td_walker_create(&walk, &settings, &walker, error);
        if (!whole && status == TD_OK)
            status = visit(search, walker, search->place[k], 1, share, &reached, error);
        for (int64_t i = path->start[k]; whole && i < path->start[k + 1] && reached && status == TD_OK; i++)
            status = visit(search, walker, path->values + i * path->n, path->weight[i], share, &reached, error);
        td_walker_free(walker);
    }
    *all = reached;
    return status;
}

static void write_ranges(const Search *search, double share, bool reached, char *out, size_t size)
{
    const tdModel *model = search->job->trainee.model;
    int n = snprintf(out, size, "within %.3g %% of the ranges %s (in SI units ", 100 * share,
                     !reached                           ? "this was not seen"
                     : search->job->path.count <= SHORT ? "all of them have one"
                                                        : "the farthest ones have one");
    for (int a = 0; a < model->n_actuators && n > 0 && (size_t)n < size - 60; a++)
        n += snprintf(out + n, size - (size_t)n, "%s%.32s up to %.3g", a > 0 ? ", " : "", model->actuators[a].name,
                      share * search->most[a]);
    if (n > 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, ")");
}

// ---------------------------------------------------------------- actuators against each other

/// Unit efforts of actuators on the body at rest.
typedef struct Pull
{
    int actuator;
    double *force, *moved; // f and K0^-1 f
} Pull;

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

// reads rows at rest      writes the force of a unit effort and what it moves
static bool respond(const tdTrainee *trainee, tdState *state, Pull *pull)
{
    const tdModel *model = trainee->model;
    const tdBody *body = &model->bodies[trainee->body];
    int64_t n = trainee->n;
    pull->force = td_take(2 * (size_t)n, sizeof(double));
    if (pull->force == NULL)
        return false;
    pull->moved = pull->force + n;
    memset(state->m, 0, (size_t)model->coords * sizeof(double));
    td_constraint_push(model, state, pull->actuator, -1);
    for (int64_t i = 0; i < n; i++)
        pull->force[i] = trainee->loose[i] * state->m[body->first + i];
    return body->ops->apply_inverse(model, body, state, 1, n, pull->force, pull->moved) == TD_OK;
}

// Of the actuators that act at the place, the two of which one takes back most of what the other moves: f K0^-1 g
// beside that of each alone.
static void find_opposed(const tdJob *job, tdState *state, const double *place, char *out, size_t size)
{
    const tdTrainee *trainee = &job->trainee;
    const tdModel *model = trainee->model;
    Pull *pulls = td_take((size_t)model->n_actuators, sizeof *pulls);
    int n = 0, worst[2] = {0, 0};
    double most = AGAINST;
    for (int a = 0; a < model->n_actuators && pulls != NULL; a++)
    {
        const tdActuator *actuator = &model->actuators[a];
        double value = fabs(place[actuator->input]);
        double range = 0;
        for (int64_t i = 0; i < job->path.count; i++)
            range = fmax(range, fabs(job->path.values[i * job->path.n + actuator->input]));
        bool pulling = actuator->given->kind == TD_ACTUATOR_CABLE || actuator->given->kind == TD_ACTUATOR_CAVITY;
        if (!pulling || !(value >= PULLS * range) || value == 0)
            continue;
        pulls[n].actuator = a;
        n += respond(trainee, state, &pulls[n]) ? 1 : 0;
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
        {
            double alone =
                dot(trainee->n, pulls[i].force, pulls[i].moved) * dot(trainee->n, pulls[k].force, pulls[k].moved);
            double both = dot(trainee->n, pulls[i].force, pulls[k].moved);
            if (alone > 0 && -both / sqrt(alone) > most)
            {
                most = -both / sqrt(alone);
                worst[0] = pulls[k].actuator;
                worst[1] = pulls[i].actuator;
            }
        }
    if (most > AGAINST)
        snprintf(out, size,
                 "'%.40s' and '%.40s' act against each other there: each undoes %.0f %% of what the other moves",
                 model->actuators[worst[0]].name, model->actuators[worst[1]].name, 100 * most);
    for (int i = 0; pulls != NULL && i < model->n_actuators; i++)
        free(pulls[i].force);
    free(pulls);
}

static void note_opposed(const tdJob *job, char *out, size_t size)
{
    const tdTrainee *trainee = &job->trainee;
    const tdModel *model = trainee->model;
    tdState *state = NULL;
    tdError error;
    out[0] = '\0';
    if (job->path.count == 0 || model->n_actuators < 2)
        return;
    if (td_state_create(model, &job->task->settings, &state, &error) == TD_OK &&
        td_trainee_stiffness(trainee, state, 1) == TD_OK)
    {
        memcpy(state->q_c, state->q, (size_t)model->coords * sizeof(double));
        td_constrain(model, state, false);
        find_opposed(job, state, job->path.values + job->failure * job->path.n, out, size);
    }
    td_state_free(state);
}

// The largest share, `most` at the utmost, by bisection; 0: none.
static tdStatus find_share(const Search *search, double most, double *out, tdError *error)
{
    double low = 0, high = most;
    bool all = false;
    if (most < 1 && search->n > 0)
        TD_TRY(reaches(search, most, &all, error));
    low = all ? most : 0;
    for (int k = 0; k < ROUNDS && search->n > 0 && low < most; k++)
    {
        double share = 0.5 * (low + high);
        TD_TRY(reaches(search, share, &all, error));
        *(all ? &low : &high) = share;
    }
    *out = low;
    return TD_OK;
}

tdStatus td_job_explain(const tdJob *job, double most, char *out, size_t size, tdError *error)
{
    const tdModel *model = job->trainee.model;
    Search search = {.job = job,
                     .most = td_take((size_t)model->n_actuators + 1, sizeof(double)),
                     .values = td_take((size_t)model->n_inputs + 1, sizeof(double))};
    snprintf(out, size, "use smaller ranges, or more steps_between");
    if (search.most != NULL && search.values != NULL && !job->trainee.touching)
        find_farthest(&search);
    bool missing = job->report->failures > 0 || most == 1; // equilibria
    double low = 0;
    tdStatus status = search.most == NULL || search.values == NULL ? td_fail_memory(error, "the ranges that work")
                                                                   : find_share(&search, most, &low, error);
    if (low > 0)
        write_ranges(&search, low, missing, out, size);
    else if (search.n > 0)
        snprintf(out, size, "there are failures even within a %dth of the ranges: check the scene at rest first",
                 1 << ROUNDS);
    size_t used = strlen(out);
    if (status == TD_OK && missing && used + 3 < size)
    {
        note_opposed(job, out + used + 2, size - used - 2);
        if (out[used + 2] != '\0')
            memcpy(out + used, "; ", 2);
    }
    free(search.most);
    free(search.values);
    return status;
}
