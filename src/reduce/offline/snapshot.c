// SPDX-License-Identifier: Apache-2.0
#include "reduce/offline/snapshot.h"

#include "reduce/offline/walker.h"

#include "body/soft.h"
#include "core/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- the body

static tdStatus refuse(const tdModel *model, int body, tdError *error, const char *why)
{
    const tdSceneBody *given = &model->scene.bodies[body];
    return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, given->line, "reduction.body",
                      "body '%s' cannot be reduced: %s", given->name, why);
}

// What pulls from outside at a body that nothing holds sets it in motion: there is no equilibrium.
static tdStatus check_actuators(const tdModel *model, int body, tdError *error)
{
    for (int a = 0; a < model->n_actuators; a++)
    {
        const tdActuator *actuator = &model->actuators[a];
        bool here = false, elsewhere = actuator->given->kind == TD_ACTUATOR_FORCE;
        for (int s = 0; s < actuator->measure.n_sets; s++)
        {
            here = here || actuator->measure.sets[s].body == body;
            elsewhere = elsewhere || actuator->measure.sets[s].body != body;
        }
        if (here && elsewhere)
            return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, actuator->given->line, "actuators",
                              "actuator '%s' pulls from outside at body '%s', which nothing holds, so there is no "
                              "equilibrium to learn from; hold the body, let the cable begin and end on the body, or "
                              "leave the actuator out of the scene that is reduced",
                              actuator->name, model->bodies[body].name);
    }
    return TD_OK;
}

static tdStatus check_frame(const tdModel *model, const tdModel *moving, int body, tdFrameKind *frame, tdError *error)
{
    tdFrameChoice choice = model->scene.reduction.frame;
    bool held = moving->bodies[body].soft->supported; // attached nodes are held in the static one only
    if (held && (choice == TD_FRAME_CHOICE_TRANSLATION || choice == TD_FRAME_CHOICE_FREE))
        return refuse(model, body, error,
                      "something holds it, so no frame can carry it; remove 'frame', or what holds it");
    if (!held && choice == TD_FRAME_CHOICE_FIXED)
        return refuse(model, body, error,
                      "nothing holds it, so that its frame cannot be fixed; remove 'frame', or add "
                      "'fixed'");
    *frame = held ? TD_FRAME_FIXED : choice == TD_FRAME_CHOICE_TRANSLATION ? TD_FRAME_TRANSLATION : TD_FRAME_FREE;
    if (held)
        return TD_OK;
    if (!(model->bodies[body].soft->total_mass > 0))
        return refuse(model, body, error, "nothing holds it and it has no mass; give its materials a density");
    return moving->scene.n_attachments > 0 ? TD_OK : check_actuators(model, body, error); // those hold it
}

static tdStatus check_body(const tdModel *model, int body, tdError *error)
{
    const tdSoft *soft = model->bodies[body].soft;
    if (soft->n_turned > 0)
        return refuse(model, body, error,
                      "nodes turned by a rotation actuator are not linear in its angle; hold them, or turn "
                      "them by two cables");
    for (int k = 0; k < soft->n_loads; k++)
        if (soft->loads[k].kind == TD_LOAD_SURFACE_PRESSURE)
            return refuse(model, body, error,
                          "the pressure of a load follows the deformed faces, whose cost grows with the mesh; use a "
                          "cavity actuator, or a traction");
    return TD_OK;
}

// Inputs that move held coordinates, in the order of the model's; what moves by a constant comes last.
static tdStatus find_inputs(tdTrainee *trainee, tdArena *arena, tdError *error)
{
    const tdModel *model = trainee->model;
    const tdSoft *soft = model->bodies[trainee->body].soft;
    trainee->inputs = TD_TAKE(arena, const char *, model->n_inputs + 1);
    trainee->coord = TD_TAKE(arena, int32_t, model->n_inputs + 1);
    trainee->per_u = TD_TAKE(arena, double, model->n_inputs + 1);
    if (trainee->inputs == NULL || trainee->coord == NULL || trainee->per_u == NULL)
        return td_fail_memory(error, "the moved inputs");
    for (int i = 0; i <= model->n_inputs; i++)
    {
        int input = i < model->n_inputs ? i : -1;
        double largest = 0;
        for (int32_t k = 0; k < soft->n_driven; k++)
            if (soft->driven[k].input == input && fabs(soft->driven[k].displacement) > largest)
            {
                largest = fabs(soft->driven[k].displacement);
                trainee->coord[trainee->n_u] = soft->driven[k].coord;
                trainee->per_u[trainee->n_u] = soft->driven[k].displacement;
            }
        if (largest > 0)
            trainee->inputs[trainee->n_u++] = input >= 0 ? model->inputs[input].name : "";
    }
    return TD_OK;
}

tdStatus td_trainee_stiffness(const tdTrainee *trainee, tdState *state, int columns)
{
    const tdModel *model = trainee->model;
    const tdBody *body = &model->bodies[trainee->body];
    memcpy(state->q_e, state->q, (size_t)model->coords * sizeof(double));
    memset(state->v_e, 0, (size_t)model->coords * sizeof(double));
    memset(state->inertia, 0, (size_t)model->coords * sizeof(double));
    memset(state->held, 0, (size_t)model->coords * sizeof(double));
    state->gravity = 0;
    state->bad_element = -1;
    state->columns = columns;
    body->ops->begin(model, body, state);
    body->ops->kinematics(model, body, state);
    TD_TRY(body->ops->forces(model, body, state, true));
    return body->ops->free_motion(model, body, state);
}

// psi = d - K^-1 K d with d the displacement of the held coordinates: free ones are in balance.
static tdStatus respond(const tdTrainee *trainee, tdState *state, double *work, tdError *error)
{
    const tdModel *model = trainee->model;
    const tdBody *body = &model->bodies[trainee->body];
    double *drive = work, *pull = work + trainee->n, *back = work + 2 * trainee->n;
    tdStatus status = td_trainee_stiffness(trainee, state, trainee->n_u);
    for (int j = 0; j < trainee->n_u && status == TD_OK; j++)
    {
        int input = trainee->inputs[j][0] == '\0' ? -1 : td_model_find_input(model, trainee->inputs[j]);
        body->ops->drive(model, body, state, input, drive);
        body->ops->multiply(model, body, state, drive, pull);
        for (int64_t i = 0; i < trainee->n; i++)
            pull[i] *= trainee->loose[i];
        memset(back, 0, (size_t)trainee->n * sizeof *back);
        status = body->ops->apply_inverse(model, body, state, 1, trainee->n, pull, back);
        for (int64_t i = 0; i < trainee->n; i++)
            trainee->psi[i * trainee->n_u + j] = trainee->loose[i] != 0 ? -back[i] : drive[i];
    }
    if (status != TD_OK && error != NULL)
        *error = state->report.error;
    return status;
}

tdStatus td_trainee_create(const tdModel *model, const tdModel *moving, int body, const tdSettings *settings,
                           tdArena *arena, tdTrainee *out, tdError *error)
{
    const tdSoft *soft = moving->bodies[body].soft; // without the supports of a body that nothing holds
    *out = (tdTrainee){.model = model, .moving = moving, .body = body, .n = model->bodies[body].count};
    out->touching = moving->touches;
    TD_TRY(check_body(model, body, error));
    TD_TRY(check_frame(model, moving, body, &out->frame, error));
    if (out->frame != TD_FRAME_FIXED)
        TD_TRY(td_rigid_create(arena, soft, &out->rigid, error));
    TD_TRY(find_inputs(out, arena, error));
    out->psi = TD_TAKE(arena, double, out->n * out->n_u);
    out->loose = TD_TAKE(arena, double, out->n);
    if (out->psi == NULL || out->loose == NULL)
        return td_fail_memory(error, "the responses to moved inputs");
    for (int64_t i = 0; i < out->n; i++)
        out->loose[i] = soft->held[i] ? 0 : 1;
    if (out->n_u == 0)
        return TD_OK;
    tdState *state = NULL;
    double *work = td_take(3 * (size_t)out->n, sizeof *work);
    tdStatus status =
        work == NULL ? td_fail_memory(error, "a response") : td_state_create(model, settings, &state, error);
    if (status == TD_OK)
        status = respond(out, state, work, error);
    td_state_free(state);
    free(work);
    return status;
}

void td_trainee_steady(const tdTrainee *trainee, double *d)
{
    if (trainee->frame != TD_FRAME_TRANSLATION)
        return;
    double mean[3] = {0, 0, 0}, n = 0;
    for (int64_t i = 0; i < trainee->n; i++)
    {
        mean[i % 3] += d[i];
        n += trainee->loose[i] / 3;
    }
    for (int64_t i = 0; i < trainee->n; i++)
        d[i] -= trainee->loose[i] * mean[i % 3] / n;
}

// How a body that nothing holds is turned where it was found is an accident of the supports there.
static void split_frame(const tdTrainee *trainee, const double *q, double *d)
{
    double x[3], R[9];
    td_rigid_split(&trainee->rigid, q, x, R, d);
    for (int64_t i = 0; i < trainee->n; i++)
        d[i] *= trainee->loose[i]; // nodes of no element stay behind
    td_trainee_steady(trainee, d);
}

void td_trainee_split(const tdTrainee *trainee, const double *q, double *u, double *d)
{
    const double *rest = trainee->model->bodies[trainee->body].soft->rest;
    if (trainee->frame != TD_FRAME_FIXED)
    {
        split_frame(trainee, q, d);
        return;
    }
    for (int j = 0; j < trainee->n_u; j++)
        u[j] = (q[trainee->coord[j]] - rest[trainee->coord[j]]) / trainee->per_u[j];
    for (int64_t i = 0; i < trainee->n; i++)
    {
        double moved = 0;
        for (int j = 0; j < trainee->n_u; j++)
            moved += trainee->psi[i * trainee->n_u + j] * u[j];
        d[i] = trainee->loose[i] * (q[i] - rest[i] - moved);
    }
}

// ---------------------------------------------------------------- trajectories

#define GUESS_LEAST 3    // snapshots of a trajectory from which on shapes are guessed
#define REACH       0.7  // ranges over which a shape tells of another
#define NUGGET      1e-6 // that keeps the weights apart
#define GUESS_MOST  200  // places of a trajectory, up to which they are
#define UNSURE      0.3  // of the variance: what is farther from all snapshots is not guessed

// Values of inputs and the share of gravity, in ranges of the path.
typedef struct Ranges
{
    int n;
    double *scale; // of each input; 0: it does not vary
} Ranges;

static double likeness(const Ranges *ranges, const double *a, double weight_a, const double *b, double weight_b)
{
    double square = (weight_a - weight_b) * (weight_a - weight_b);
    for (int k = 0; k < ranges->n; k++)
        square += pow((a[k] - b[k]) * ranges->scale[k], 2);
    return exp(-square / (2 * REACH * REACH));
}

static void find_ranges(const tdSamplePath *path, Ranges *ranges)
{
    for (int k = 0; k < path->n; k++)
    {
        double low = INFINITY, high = -INFINITY;
        for (int64_t i = 0; i < path->count; i++)
        {
            low = fmin(low, path->values[i * path->n + k]);
            high = fmax(high, path->values[i * path->n + k]);
        }
        ranges->scale[k] = high > low ? 1 / (high - low) : 0;
    }
}

// Weights of the m snapshots so far in the shape at a place: the best linear guess of a field that varies smoothly over
// the ranges (kriging), about the last of them. Solves (K + nugget) w = k by Cholesky. False: the place is too far
// away.
static bool weigh(const tdSamplePath *path, const Ranges *ranges, const tdSnapshots *found, int m, int64_t place,
                  double *K, double *w)
{
    const double *at = path->values + place * path->n;
    double known = 0;
    for (int i = 0; i < m; i++)
    {
        int64_t p = found->place[i];
        w[i] = likeness(ranges, at, path->weight[place], path->values + p * path->n, path->weight[p]);
        for (int j = 0; j <= i; j++)
        {
            int64_t r = found->place[j];
            double sum = likeness(ranges, path->values + p * path->n, path->weight[p], path->values + r * path->n,
                                  path->weight[r]) +
                         (i == j ? NUGGET : 0);
            for (int k = 0; k < j; k++)
                sum -= K[i * m + k] * K[j * m + k];
            K[i * m + j] = i == j ? sqrt(fmax(sum, 1e-300)) : sum / K[j * m + j];
        }
    }
    for (int i = 0; i < m; i++)
    {
        for (int k = 0; k < i; k++)
            w[i] -= K[i * m + k] * w[k];
        w[i] /= K[i * m + i];
        known += w[i] * w[i];
    }
    for (int i = m - 1; i >= 0; i--)
    {
        for (int k = i + 1; k < m; k++)
            w[i] -= K[k * m + i] * w[k];
        w[i] /= K[i * m + i];
    }
    return 1 - known < UNSURE;
}

// The shape at a place as the snapshots of the trajectory so far let it be expected, from where held coordinates are
// now. False: they tell too little. Equilibria of a fixed body alone.
static bool guess(const tdTrainee *trainee, const tdSamplePath *path, const Ranges *ranges, const tdSnapshots *found,
                  int64_t place, double *work, double *nodes)
{
    int m = (int)found->reached, n_u = trainee->n_u;
    double *K = work, *w = work + (int64_t)m * m;
    if (m < GUESS_LEAST || !weigh(path, ranges, found, m, place, K, w))
        return false;
    const double *rest = trainee->model->bodies[trainee->body].soft->rest;
    const double *last = found->d + (m - 1) * trainee->n, *u = found->u + (int64_t)(m - 1) * n_u;
    for (int64_t i = 0; i < trainee->n; i++)
    {
        nodes[i] = rest[i] + last[i];
        for (int j = 0; j < n_u; j++)
            nodes[i] += trainee->psi[i * n_u + j] * u[j];
    }
    for (int k = 0; k < m - 1; k++)
    {
        const double *d = found->d + k * trainee->n;
        for (int64_t i = 0; i < trainee->n; i++)
            nodes[i] += w[k] * (d[i] - last[i]);
    }
    return true;
}

static void keep(const tdTrainee *trainee, const double *q, int64_t place, tdSnapshots *out)
{
    int64_t k = out->reached++;
    out->place[k] = place;
    td_trainee_split(trainee, q, out->u + k * trainee->n_u, out->d + k * trainee->n);
    if (out->q != NULL)
        memcpy(out->q + k * trainee->n, q, (size_t)trainee->n * sizeof *q);
}

// What the shape tells in which the body was left.
static void describe_shape(const tdWalker *walker, char *out, size_t size)
{
    const tdReport *report = td_walker_report(walker);
    out[0] = '\0';
    if (report->inverted_elements > 0)
        snprintf(out, size, "; %d elements are inside out", report->inverted_elements);
    else if (report->extended_elements > 0)
        snprintf(out, size, "; it collapses: %d elements are pressed to a tenth", report->extended_elements);
    else
        snprintf(
            out, size,
            "; no element is inside out or crushed: equilibria end on the way there, as where a body buckles or snaps");
}

static void note_failure(const tdModel *model, const tdWalker *walker, int64_t place, const double *values,
                         tdSnapshots *out)
{
    if (out->failed++ > 0)
        return;
    int n = 0;
    out->failure = place;
    for (int i = 0; i < model->n_inputs && n < 160; i++)
        n += snprintf(out->why + n, sizeof out->why - (size_t)n, "%s%.32s = %g", i > 0 ? ", " : "",
                      model->inputs[i].name, values[i]);
    n += snprintf(out->why + n, sizeof out->why - (size_t)n, ": %.160s", td_walker_why(walker));
    if ((size_t)n < sizeof out->why)
        describe_shape(walker, out->why + n, sizeof out->why - (size_t)n);
}

tdStatus td_snapshot_trajectory(const tdTrainee *trainee, const tdSettings *settings, const tdSamplePath *path,
                                int trajectory, bool settle, tdVisitedFn visited, void *user, tdSnapshots *out,
                                bool *stopped, tdError *error)
{
    tdWalker *walker = NULL;
    out->reached = out->failed = out->iterations = 0;
    out->failure = path->start[trajectory];
    out->why[0] = '\0';
    bool touching = trainee->touching;
    const tdWalk walk = {touching ? trainee->moving : trainee->model, trainee->moving, settle || touching};
    tdStatus status = td_walker_create(&walk, settings, &walker, error);
    int64_t places = path->start[trajectory + 1] - path->start[trajectory];
    bool guesses = status == TD_OK && !walk.settle && trainee->frame == TD_FRAME_FIXED && places <= GUESS_MOST;
    double *work = guesses ? td_take((size_t)(places * (places + 1) + trainee->n + path->n + 1), sizeof *work) : NULL;
    Ranges ranges = {path->n, work};
    double *nodes = guesses && work != NULL ? work + path->n : NULL, *weights = guesses ? nodes + trainee->n : NULL;
    if (guesses && work == NULL)
        status = td_fail_memory(error, "the guess of a shape");
    else if (guesses)
        find_ranges(path, &ranges);
    for (int64_t i = path->start[trajectory]; i < path->start[trajectory + 1] && status == TD_OK && !*stopped; i++)
    {
        const double *place = path->values + i * path->n;
        bool reached = false;
        if (guesses && guess(trainee, path, &ranges, out, i, weights, nodes))
            td_walker_guess(walker, trainee->body, nodes, trainee->loose);
        status = td_walker_visit(walker, place, path->weight[i], &reached, error);
        if (status != TD_OK)
            break;
        bool wanted = path->every <= 1 || (i + 1 - path->start[trajectory]) % path->every == 0;
        if (reached && wanted)
            keep(trainee, td_walker_nodes(walker, trainee->body), i, out);
        else if (!reached)
            note_failure(trainee->model, walker, i, place, out);
        *stopped = !visited(user);
    }
    if (walker != NULL)
        out->iterations = td_walker_iterations(walker);
    free(work);
    td_walker_free(walker);
    return status;
}

double td_snapshot_memory(const tdModel *model)
{
    double bytes = 30 * 8 * (double)model->coords;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdSoft *soft = model->bodies[b].soft;
        // The factor with its work, three block matrices, deformation gradients and rotations.
        bytes += (soft->linear.amg == NULL ? soft->linear.factor_bytes : 0) + 3 * 72 * (double)soft->pattern.blocks +
                 2 * 36 * 8 * (double)soft->point_batches + 16 * (double)soft->n_nodes * 9;
        bytes += soft->linear.amg != NULL ? td_amg_bytes(soft->linear.amg) : 0;
    }
    return bytes;
}
