// SPDX-License-Identifier: Apache-2.0
#include "reduce/offline/walker.h"

#include "body/soft.h"
#include "control/workspace.h"
#include "reduce/offline/alone.h"
#include "reduce/offline/rigid.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APPROACH    3  // static steps from rest to the first place
#define LOAD_STEPS  4  // a static step is cut into as many at most: what takes more is beyond a limit point
#define ITERATIONS  20 // of Newton in each
#define TOLERANCE   1e-7
#define RAMP        30   // moving steps from rest to a place,
#define RAMP_NEAR   10   // or from place to place
#define SETTLE      200  // and as many at most until it rests:
#define NEARLY      1e-4 // no node moves more than this share of the size in a step, and Newton's method does the rest;
#define AT_REST     1e-6 // or this, where it does not
#define LONG_STEP   5    // moving: times the scene's time step, which damps what is faster
#define DAMPED_STEP 0.2  // share of the velocity that mass damping takes in a step
#define TOUCH_RAMP  10   // with contact: moving steps from rest to a place,
#define TOUCH_STEPS 3    // and from place to place, the last of which is the snapshot
#define MOST_ARRAYS 256  // of a state

// ---------------------------------------------------------------- scenes

static bool moves(const tdScene *scene, int body)
{
    for (int a = 0; a < scene->n_actuators; a++)
        if (scene->actuators[a].body == body &&
            (scene->actuators[a].kind == TD_ACTUATOR_TRANSLATION || scene->actuators[a].kind == TD_ACTUATOR_ROTATION))
            return true;
    return false;
}

// Bodies that nothing holds have equilibria of their shape alone. Where there are no others, gravity has no effect.
static void set_adrift(tdScene *scene)
{
    bool all = true;
    if (scene->n_attachments > 0) // of a body that is alone: they hold it
        return;
    for (int b = 0; b < scene->n_bodies; b++)
    {
        tdSceneBody *body = &scene->bodies[b];
        body->adrift = body->n_fixed + body->n_prescribed == 0 && body->plane == TD_PLANE_NONE && !moves(scene, b);
        all = all && body->adrift;
    }
    if (all)
        memset(scene->settings.gravity, 0, sizeof scene->settings.gravity);
}

// What touches remembers its way by friction. Along the scene's own motion training therefore does what the scene does.
static void set_follow(tdScene *scene)
{
    scene->reduction.follow = scene->contact.line != 0 && scene->reduction.samples == TD_SAMPLE_MOTION;
}

// context: name of the body that is trained alone, or NULL.
static tdStatus leave_alone(const char *name, tdScene *scene, tdError *error)
{
    for (int b = 0; b < scene->n_bodies && name != NULL; b++)
        if (strcmp(scene->bodies[b].name, name) == 0)
        {
            td_scene_alone(scene, b);
            return TD_OK;
        }
    return name == NULL ? TD_OK
                        : td_fail_at(error, TD_ERROR_INPUT, scene->file, 0, "bodies", "there is no body '%s'", name);
}

tdStatus td_walk_edit_motion(void *context, tdScene *scene, tdError *error)
{
    TD_TRY(leave_alone(context, scene, error));
    return td_workspace_edit_targets(NULL, scene, error);
}

// A scene that is static itself keeps its integrator, but for load steps. Nothing touches in it.
tdStatus td_walk_edit_static(void *context, tdScene *scene, tdError *error)
{
    tdSceneSettings *settings = &scene->settings;
    TD_TRY(leave_alone(context, scene, error));
    if (settings->method != TD_METHOD_STATIC)
    {
        settings->max_iterations = ITERATIONS;
        settings->tolerance = TOLERANCE;
        settings->min_load_step_inverse = LOAD_STEPS;
    }
    if (settings->min_load_step_inverse > LOAD_STEPS)
        settings->min_load_step_inverse = LOAD_STEPS;
    set_adrift(scene);
    set_follow(scene);
    if (context != NULL)
        TD_TRY(td_scene_hold_attached(scene, error));
    else if (scene->n_attachments + scene->n_couplings > 0)
        return td_fail_at(error, TD_ERROR_INPUT, scene->file,
                          scene->n_attachments > 0 ? scene->attachments[0].line : scene->couplings[0].line,
                          scene->n_attachments > 0 ? "attachments" : "couplings",
                          "bodies are trained without attachments and couplings; '--alone' trains one as if nothing "
                          "else were there");
    scene->contact.line = 0;
    return td_workspace_edit(NULL, scene, error);
}

tdStatus td_walk_edit_moving(void *context, tdScene *scene, tdError *error)
{
    TD_TRY(leave_alone(context, scene, error));
    double friction = scene->reduction.contact_friction;
    set_follow(scene);
    for (int b = 0; b < scene->n_bodies && !isnan(friction); b++)
        scene->bodies[b].contact.friction = NAN; // that of the scene
    if (!isnan(friction))
        scene->contact.friction = friction;
    if (scene->reduction.follow)
        return td_workspace_edit_targets(NULL, scene, error);
    TD_TRY(td_workspace_edit(NULL, scene, error));
    if (scene->contact.line == 0)
        set_adrift(scene);
    tdSceneSettings *settings = &scene->settings;
    settings->time_step *= LONG_STEP;
    scene->contact.softness /= LONG_STEP; // points give way as they do at the scene's own step
    settings->method = TD_METHOD_THETA;
    settings->theta = settings->theta_vq = 1;
    settings->newton = false;
    for (int b = 0; b < scene->n_bodies; b++)
        scene->bodies[b].damping_mass = DAMPED_STEP / settings->time_step;
    return TD_OK;
}

// ---------------------------------------------------------------- walker

struct tdWalker
{
    tdWalk walk;
    tdSettings settings;
    tdState *at_rest, *moving; // made when they are needed
    tdState *state;            // the one that stands at the place
    bool started;              // not at rest any more
    double *at;                // inputs of the place where it is
    char why[320];
    bool restless; // why: it went on moving
    int64_t iterations;
    int guessed;                 // body of
    const double *guess, *loose; // td_walker_guess()
    double *before;              // coordinates of the model, scratch
};

static const tdModel *model_of(const tdWalker *walker)
{
    return walker->state == walker->moving ? walker->walk.moving : walker->walk.at_rest;
}

tdStatus td_walker_create(const tdWalk *walk, const tdSettings *settings, tdWalker **out, tdError *error)
{
    tdWalker *walker = td_take(1, sizeof *walker);
    *out = NULL;
    if (walker == NULL)
        return td_fail_memory(error, "a walk through equilibria");
    walker->walk = *walk;
    walker->settings = *settings;
    walker->at = td_take((size_t)walk->at_rest->n_inputs + 1, sizeof(double));
    walker->before = td_take((size_t)walk->at_rest->coords, sizeof(double));
    tdStatus status =
        walker->at == NULL || walker->before == NULL ? td_fail_memory(error, "a walk through equilibria") : TD_OK;
    if (status == TD_OK && walk->settle)
        status = td_state_create(walk->moving, settings, &walker->moving, error);
    else if (status == TD_OK)
        status = td_state_create(walk->at_rest, settings, &walker->at_rest, error);
    walker->state = walk->settle ? walker->moving : walker->at_rest;
    if (status != TD_OK)
        td_walker_free(walker);
    else
        *out = walker;
    return status;
}

void td_walker_free(tdWalker *walker)
{
    if (walker == NULL)
        return;
    td_state_free(walker->at_rest);
    td_state_free(walker->moving);
    free(walker->at);
    free(walker->before);
    free(walker);
}

const char *td_walker_why(const tdWalker *walker)
{
    return walker->why;
}

bool td_walker_restless(const tdWalker *walker)
{
    return walker->restless;
}

const double *td_walker_nodes(const tdWalker *walker, int body)
{
    return td_state_positions(model_of(walker), walker->state, body);
}

const tdState *td_walker_state(const tdWalker *walker)
{
    return walker->state;
}

const tdReport *td_walker_report(const tdWalker *walker)
{
    return td_state_report(walker->state);
}

// ---------------------------------------------------------------- steps

// One step at a share of the way from where it is to a place.
static tdStatus step(tdWalker *walker, const double *to, double share)
{
    const tdModel *model = model_of(walker);
    for (int i = 0; i < model->n_inputs; i++)
    {
        double value = share < 1 ? walker->at[i] + share * (to[i] - walker->at[i]) : to[i];
        tdStatus status = td_state_set_input(model, walker->state, i, value);
        if (status != TD_OK)
            return status;
    }
    tdStatus status = td_step(model, walker->state);
    walker->iterations += td_state_report(walker->state)->newton_iterations;
    walker->restless = false;
    if (status != TD_OK)
        snprintf(walker->why, sizeof walker->why, "%.300s", td_state_report(walker->state)->error.message);
    return status;
}

// Where actuators are at rest and all else acts as at the place.
static void start_at_rest(tdWalker *walker, const double *place)
{
    const tdModel *model = walker->walk.at_rest;
    memcpy(walker->at, place, (size_t)model->n_inputs * sizeof(double));
    for (int a = 0; a < model->n_actuators; a++)
        walker->at[model->actuators[a].input] = 0;
}

void td_walker_guess(tdWalker *walker, int body, const double *nodes, const double *loose)
{
    walker->guessed = body;
    walker->guess = nodes;
    walker->loose = loose;
}

int64_t td_walker_iterations(const tdWalker *walker)
{
    return walker->iterations;
}

// From the shape that was guessed. Where that fails the body is where it was.
static tdStatus go_guessing(tdWalker *walker, const double *place)
{
    tdState *state = walker->state;
    const tdModel *model = walker->walk.at_rest;
    const tdBody *body = &model->bodies[walker->guessed];
    memcpy(walker->before, state->q, (size_t)model->coords * sizeof(double));
    for (int64_t i = 0; i < body->count; i++)
        if (walker->loose[i] != 0)
            state->q[body->first + i] = walker->guess[i];
    tdStatus status = step(walker, place, 1);
    if (status == TD_ERROR_NUMERIC)
        memcpy(state->q, walker->before, (size_t)model->coords * sizeof(double));
    return status;
}

static tdStatus go_static(tdWalker *walker, const double *place)
{
    if (walker->started && walker->guess != NULL)
    {
        tdStatus came = go_guessing(walker, place);
        if (came != TD_ERROR_NUMERIC)
            return came;
    }
    int steps = walker->started ? 1 : APPROACH;
    tdStatus status = TD_OK;
    for (int k = 1; k <= steps && status == TD_OK; k++)
        status = step(walker, place, (double)k / steps);
    return status;
}

// The moving model goes on to the place, or waits there, until no node moves more than a share of the size in a step.
static tdStatus settle(tdWalker *walker, const double *place, int ramp, double slow)
{
    const tdModel *model = walker->walk.moving;
    tdStatus status = TD_OK;
    for (int k = 1; k <= ramp && status == TD_OK; k++)
        status = step(walker, place, (double)k / ramp);
    for (int k = 0; k < SETTLE && status == TD_OK; k++)
    {
        double fastest = 0;
        status = step(walker, place, 1);
        for (int64_t i = 0; i < model->coords; i++)
            fastest = fmax(fastest, fabs(walker->state->v[i]));
        if (status == TD_OK && fastest * model->scheme.h <= slow * model->size)
            return TD_OK;
    }
    if (status == TD_OK)
    {
        snprintf(walker->why, sizeof walker->why, "the body does not come to rest there");
        walker->restless = true;
        status = TD_ERROR_NUMERIC;
    }
    return status;
}

// ---------------------------------------------------------------- from one model to the other

static bool carried(const char *name)
{
    static const char *const own[] = {"time", "steps", "v", "a", "columns", "solver_counts"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(name, own[i]) == 0)
            return false;
    return strncmp(name, "factor_", 7) != 0;
}

// The other state takes the shape and the efforts, without velocity, and is the one that goes on.
static tdStatus change(tdWalker *walker, bool moving, const double *at, double weight, tdError *error)
{
    tdStateArray from[MOST_ARRAYS], to[MOST_ARRAYS];
    tdState **other = moving ? &walker->moving : &walker->at_rest;
    const tdModel *model = moving ? walker->walk.moving : walker->walk.at_rest;
    int n_from = td_state_arrays(model_of(walker), walker->state, from, MOST_ARRAYS);
    if (*other == NULL)
        TD_TRY(td_state_create(model, &walker->settings, other, error));
    int n_to = td_state_arrays(model, *other, to, MOST_ARRAYS);
    assert(model->coords == model_of(walker)->coords); // of full order, or reduced by the same file
    for (int i = 0; i < n_from && i < n_to; i++)
    {
        // Both models are of one scene.
        bool same = strcmp(from[i].name, to[i].name) == 0 && from[i].body == to[i].body && from[i].count == to[i].count;
        if (same && carried(to[i].name) && to[i].count > 0)
            memcpy(to[i].data, from[i].data, (size_t)to[i].count * sizeof(double));
    }
    tdState *state = walker->state = *other;
    memset(state->v, 0, (size_t)model->coords * sizeof(double));
    memcpy(state->load_last, at, (size_t)model->n_inputs * sizeof(double));
    state->load_last[model->n_inputs] = state->weight = weight;
    return td_state_restore(model, state, error);
}

// A body that nothing holds has gone somewhere; the static model has it on supports, which bear nothing only where they
// stand as at rest. Its shape is what matters, so it is put there. What materials remember does not know of turns.
// False: it cannot be.
static bool seat(const tdWalker *walker, tdState *state)
{
    const tdModel *model = walker->walk.at_rest;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        const tdSoft *pinned = body->soft, *loose = walker->walk.moving->bodies[b].soft;
        int32_t held[6], n = 0;
        if (!model->scene.bodies[b].adrift || body->count != 3 * body->nodes)
            continue;
        for (int32_t k = 0; k < pinned->n_held; k++)
            if (!loose->held[pinned->held_list[k]] && n < 6)
                held[n++] = pinned->held_list[k];
        if (n == 6 && !td_rigid_seat(pinned->n_nodes, pinned->rest, held, state->q + body->first))
            return false;
    }
    return true;
}

// With contact, S1's way: from place to place in a few long, damped steps. On a floor without friction a body may glide
// for long before it rests, while its shape, which is all that is taken of it, has followed the actuators. Or along the
// scene's motion as it is, whose places are its steps.
static tdStatus press_on(tdWalker *walker, const double *place)
{
    int ramp = walker->started ? 1 : TOUCH_RAMP;
    tdStatus status = TD_OK;
    if (walker->walk.moving->scene.reduction.follow)
        return step(walker, place, 1);
    for (int k = 1; k <= ramp + TOUCH_STEPS - 1 && status == TD_OK; k++)
        status = step(walker, place, k < ramp ? (double)k / ramp : 1);
    return status;
}

// From where the body is to an equilibrium at the place: moving, and from close to it by Newton's method. Where that
// fails the moving model goes on alone.
static tdStatus go_settling(tdWalker *walker, const double *place, int ramp, double weight, tdError *error)
{
    if (walker->walk.moving->touches)
        return press_on(walker, place);
    if (walker->walk.at_rest == walker->walk.moving)
        return settle(walker, place, ramp, AT_REST);
    TD_TRY(settle(walker, place, ramp, NEARLY));
    TD_TRY(change(walker, false, place, weight, error));
    tdStatus status = seat(walker, walker->state) ? step(walker, place, 1) : TD_ERROR_NUMERIC;
    if (status != TD_ERROR_NUMERIC)
        return status;
    walker->state = walker->moving;
    return settle(walker, place, 0, AT_REST);
}

tdStatus td_walker_visit(tdWalker *walker, const double *values, double weight, bool *reached, tdError *error)
{
    tdError why = {0};
    double before = walker->state->weight;
    tdStatus status = TD_ERROR_NUMERIC;
    walker->state->weight = weight;
    if (!walker->started)
        start_at_rest(walker, values);
    if (walker->state != walker->moving && !walker->walk.settle)
        status = go_static(walker, values);
    if (status == TD_ERROR_NUMERIC && walker->walk.moving != NULL)
    {
        status = TD_OK;
        if (walker->state != walker->moving)
            status = change(walker, true, walker->at, walker->started ? before : weight, &why);
        walker->state->weight = weight;
        if (status == TD_OK)
            status = go_settling(walker, values, walker->started ? RAMP_NEAR : RAMP, weight, &why);
    }
    walker->started = true;
    walker->guess = NULL;
    memcpy(walker->at, values, (size_t)walker->walk.at_rest->n_inputs * sizeof(double));
    *reached = status == TD_OK;
    if (status != TD_OK && status != TD_ERROR_NUMERIC && error != NULL)
        *error = why.message[0] != '\0' ? why : td_state_report(walker->state)->error;
    return status == TD_ERROR_NUMERIC ? TD_OK : status;
}

tdStatus td_walker_settle_from(tdWalker *walker, const double *values, int body, const double *coords, bool *reached,
                               tdError *error)
{
    assert(walker->started && walker->walk.moving != NULL && !walker->walk.moving->touches);
    tdStatus status = TD_OK;
    *reached = false;
    if (walker->state != walker->moving)
        TD_TRY(change(walker, true, walker->at, walker->state->weight, error));
    memset(walker->state->v, 0, (size_t)walker->walk.moving->coords * sizeof(double));
    TD_TRY(td_state_set_coords(walker->walk.moving, walker->state, body, coords, NULL, NULL, error));
    status = go_settling(walker, values, 0, walker->state->weight, error);
    *reached = status == TD_OK;
    return status == TD_ERROR_NUMERIC ? TD_OK : status;
}
