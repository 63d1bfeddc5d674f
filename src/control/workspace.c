// SPDX-License-Identifier: Apache-2.0
#include "control/workspace.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// ---------------------------------------------------------------- scene

tdStatus td_workspace_edit(void *context, tdScene *scene, tdError *error)
{
    scene->settings.method = TD_METHOD_STATIC;
    scene->settings.newton = true;
    for (int b = 0; b < scene->n_bodies; b++)
    {
        // What has no effect at rest would only cause warnings.
        tdSceneBody *body = &scene->bodies[b];
        body->damping_mass = body->damping_stiffness = 0;
        body->consistent_mass = false;
        memset(body->velocity, 0, sizeof body->velocity);
    }
    for (int a = 0; a < scene->n_actuators; a++) // an equilibrium takes no time
        scene->actuators[a].effort_rate = scene->actuators[a].displacement_rate = INFINITY;
    return td_workspace_edit_targets(context, scene, error);
}

tdStatus td_workspace_edit_targets(void *context, tdScene *scene, tdError *error)
{
    (void)context;
    (void)error;
    for (int e = 0; e < scene->n_effectors; e++)
    {
        scene->effectors[e].has_target = false;
        scene->effectors[e].path = NULL;
    }
    return TD_OK;
}

// ---------------------------------------------------------------- axes

static tdStatus driven_range(const tdModel *model, int actuator, double range[2], tdError *error)
{
    static const char *const what[] = {"effort", "displacement", "amount of gas", "command"};
    const tdSceneActuator *given = &model->scene.actuators[actuator];
    const double *from = given->drive == TD_DRIVE_EFFORT ? given->effort
                         : given->drive == TD_DRIVE_GAS  ? given->gas
                                                         : given->displacement;
    memcpy(range, from, 2 * sizeof *range);
    char field[64];
    snprintf(field, sizeof field, "actuators[%d].range", actuator);
    if (!isfinite(range[0]) || !isfinite(range[1]))
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, given->line, field,
                          "the %s of actuator '%s' is not limited %s, so that its range cannot be sampled; add 'range: "
                          "[minimum, maximum]'",
                          what[given->drive], given->name,
                          isfinite(range[0])   ? "above"
                          : isfinite(range[1]) ? "below"
                                               : "on either side");
    return TD_OK;
}

// A group's common value may go as far as all of its actuators can follow.
static tdStatus group_axis(const tdModel *model, const tdSceneGroup *group, tdWorkspaceAxis *axis, tdError *error)
{
    *axis = (tdWorkspaceAxis){group->n, group->actuators, group->ratio, {-INFINITY, INFINITY}};
    for (int k = 0; k < group->n; k++)
    {
        double range[2], ratio = group->ratio[k];
        const tdSceneActuator *actuator = &model->scene.actuators[group->actuators[k]];
        if (actuator->drive != (group->effort ? TD_DRIVE_EFFORT : TD_DRIVE_DISPLACEMENT))
            return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, group->line, "control.groups",
                              "the group shares %s, but actuator '%s' is driven by another quantity; let both be the "
                              "same",
                              group->effort ? "efforts" : "displacements", actuator->name);
        TD_TRY(driven_range(model, group->actuators[k], range, error));
        if (ratio == 0)
            continue;
        double a = range[0] / ratio, b = range[1] / ratio;
        axis->range[0] = fmax(axis->range[0], fmin(a, b));
        axis->range[1] = fmin(axis->range[1], fmax(a, b));
    }
    if (!(axis->range[0] <= axis->range[1]) || isinf(axis->range[0]) || isinf(axis->range[1]))
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, group->line, "control.groups",
                          "the ranges of the group's actuators have no common value; widen them");
    return TD_OK;
}

tdStatus td_workspace_axes(const tdModel *model, tdArena *arena, int *n, tdWorkspaceAxis **axes, tdError *error)
{
    const tdScene *scene = &model->scene;
    const tdSceneControl *control = &scene->control;
    int most = control->n_groups + scene->n_actuators;
    *n = 0;
    if (scene->n_actuators == 0)
        return td_fail_at(error, TD_ERROR_INPUT, scene->file, 0, "actuators",
                          "the scene has no actuator, so there is nothing to sample; add a cable, a cavity or "
                          "another one");
    *axes = TD_TAKE(arena, tdWorkspaceAxis, most);
    int *single = TD_TAKE(arena, int, scene->n_actuators);
    double *one = TD_TAKE(arena, double, 1);
    bool *grouped = TD_TAKE(arena, bool, scene->n_actuators);
    if (*axes == NULL || single == NULL || one == NULL || grouped == NULL)
        return td_fail_memory(error, "the workspace");
    *one = 1;
    for (int g = 0; g < control->n_groups; g++)
    {
        TD_TRY(group_axis(model, &control->groups[g], &(*axes)[(*n)++], error));
        for (int k = 0; k < control->groups[g].n; k++)
            grouped[control->groups[g].actuators[k]] = true;
    }
    for (int a = 0; a < scene->n_actuators; a++)
    {
        single[a] = a;
        if (grouped[a])
            continue;
        tdWorkspaceAxis *axis = &(*axes)[(*n)++];
        *axis = (tdWorkspaceAxis){1, &single[a], one, {0, 0}};
        TD_TRY(driven_range(model, a, axis->range, error));
    }
    if (*n > TD_WORKSPACE_AXES)
        return td_fail_at(error, TD_ERROR_INPUT, scene->file, 0, "actuators",
                          "%d actuators are too many to sample, at most %d are; join some in 'control: {groups: ...}'",
                          *n, TD_WORKSPACE_AXES);
    return TD_OK;
}

// ---------------------------------------------------------------- places

double td_workspace_value(const tdWorkspaceAxis *axis, double share)
{
    return share < 1 ? axis->range[0] + share * (axis->range[1] - axis->range[0]) : axis->range[1];
}

double td_workspace_rest(const tdWorkspaceAxis *axis)
{
    double wide = axis->range[1] - axis->range[0];
    return wide > 0 ? fmin(fmax(-axis->range[0] / wide, 0), 1) : 0;
}

static tdStatus take_places(tdArena *arena, int n, int64_t count, double **places, tdError *error)
{
    *places = TD_TAKE(arena, double, n *count);
    return *places == NULL ? td_fail_memory(error, "the places of the workspace") : TD_OK;
}

tdStatus td_workspace_grid(tdArena *arena, int n, const tdWorkspaceAxis *axes, int each, int64_t *count,
                           double **places, tdError *error)
{
    assert(each >= 2);
    *count = 1;
    for (int k = 0; k < n; k++)
    {
        *count *= each;
        if (*count > TD_WORKSPACE_GRID)
            return td_fail(error, TD_ERROR_USAGE,
                           "a grid of %d values on each of %d axes has more than %d points; use fewer, or --samples",
                           each, n, TD_WORKSPACE_GRID);
    }
    TD_TRY(take_places(arena, n, *count, places, error));
    for (int64_t i = 0; i < *count; i++)
    {
        // As one ploughs: an axis turns round where a slower one moves on (a reflected Gray code), so that only one of
        // them moves, by one place. Each starts at the end that is nearer to rest.
        int64_t rest = i;
        for (int k = 0; k < n; k++)
        {
            int64_t digit = rest % each;
            rest /= each;
            if (rest % 2 != 0)
                digit = each - 1 - digit;
            if (td_workspace_rest(&axes[k]) > 0.5)
                digit = each - 1 - digit;
            (*places)[i * n + k] = td_workspace_value(&axes[k], (double)digit / (each - 1));
        }
    }
    return TD_OK;
}

// The i-th number of van der Corput's sequence, its digits multiplied by `factor`, which breaks the likeness of
// neighbouring bases (Halton's points in many dimensions lie on lines otherwise).
static double radical_inverse(int64_t i, int base, int factor)
{
    double out = 0, digit = 1.0 / base;
    for (; i > 0; i /= base, digit /= base)
        out += (double)((i % base) * factor % base) * digit;
    return out;
}

static void halton(int n, int64_t i, double *out)
{
    static const int primes[TD_WORKSPACE_AXES] = {2,   3,   5,   7,   11,  13,  17,  19,  23,  29,  31,  37,  41,  43,
                                                  47,  53,  59,  61,  67,  71,  73,  79,  83,  89,  97,  101, 103, 107,
                                                  109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173};
    for (int k = 0; k < n; k++)
    {
        int factor = (int)(0.618 * primes[k]);
        out[k] = radical_inverse(i + 1, primes[k], factor > 0 ? factor : 1);
    }
}

static double distance2(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sum;
}

void td_workspace_walk(int n, int64_t count, double *shares, const double *rest)
{
    const double *from = rest;
    for (int64_t i = 0; i < count; i++)
    {
        int64_t nearest = i;
        double least = INFINITY;
        for (int64_t j = i; j < count; j++)
        {
            double d = distance2(n, from, shares + j * n);
            if (d < least)
            {
                least = d;
                nearest = j;
            }
        }
        for (int k = 0; k < n; k++)
        {
            double swap = shares[i * n + k];
            shares[i * n + k] = shares[nearest * n + k];
            shares[nearest * n + k] = swap;
        }
        from = shares + i * n;
    }
}

tdStatus td_workspace_samples(tdArena *arena, int n, const tdWorkspaceAxis *axes, int64_t count, double **places,
                              tdError *error)
{
    assert(count >= 1 && count <= TD_WORKSPACE_SAMPLES && n <= TD_WORKSPACE_AXES);
    double rest[TD_WORKSPACE_AXES];
    TD_TRY(take_places(arena, n, count, places, error));
    int64_t corners = n < 20 && ((int64_t)2 << n) <= count ? (int64_t)1 << n : 0;
    for (int64_t i = 0; i < count; i++)
    {
        double *share = *places + i * n;
        if (i >= corners)
            halton(n, i - corners, share);
        for (int k = 0; i < corners && k < n; k++)
            share[k] = (double)(i >> k & 1);
    }
    for (int k = 0; k < n; k++)
        rest[k] = td_workspace_rest(&axes[k]);
    td_workspace_walk(n, count, *places, rest);
    for (int64_t i = 0; i < n * count; i++)
        (*places)[i] = td_workspace_value(&axes[i % n], (*places)[i]);
    return TD_OK;
}

// ---------------------------------------------------------------- equilibria

tdStatus td_hold_inputs(const tdModel *model, tdState *state, double time)
{
    for (int i = 0; i < model->n_inputs; i++)
        TD_TRY(td_state_set_input(model, state, i, td_input_value(model, i, time)));
    for (int a = 0; a < model->n_actuators; a++) // what a tool commands follows from the tool's inputs
        if (model->actuators[a].tool >= 0)
            TD_TRY(td_state_set_input(model, state, model->actuators[a].input, NAN));
    return TD_OK;
}

tdStatus td_workspace_visit(const tdModel *model, tdState *state, int n, const tdWorkspaceAxis *axes,
                            const double *place)
{
    for (int k = 0; k < n; k++)
        for (int j = 0; j < axes[k].n; j++)
            TD_TRY(td_state_set_input(model, state, td_model_actuator(model, axes[k].actuators[j]).input,
                                      axes[k].ratio[j] * place[k]));
    return td_step(model, state);
}
