// SPDX-License-Identifier: Apache-2.0
// Numbers at the edge of what a double holds, and of what a scene may say: every number of every shipped scene is
// replaced by each of them. A scene is then refused with a line and a reason, or it runs and all that it tells is
// finite, or a step says that it failed and leaves a finite state.
#pragma once
#include "test.h"

#include "core/model.h"
#include "core/state.h"

#include <stdbool.h>

#define STEPS 3

// At the edge of doubles: refused by most keys before anything is built. At the edge of limits: taken by many.
static const char *const extremes[] = {"1e308", "-1e308", "1e-308", "1e200", "5e-324", "nan", ".inf"};
static const char *const limits[] = {"1e18", "1e9", "-1e9", "1e-12", "0"};

enum
{
    N_EXTREMES = sizeof extremes / sizeof extremes[0],
    N_LIMITS = sizeof limits / sizeof limits[0]
};

typedef struct Count
{
    int refused, ran, failed, wrong;
} Count;

// ---------------------------------------------------------------- numbers of a text

// Length of the number at `at`; 0 where none begins. Numbers within names, units and files are none.
static inline size_t number_at(const char *text, const char *at)
{
    char before = at == text ? '\n' : at[-1];
    if (strchr(" [,:{\n", before) == NULL)
        return 0;
    size_t n = *at == '-' || *at == '+';
    if (at[n] < '0' || at[n] > '9')
        return 0;
    n += strspn(at + n, "0123456789.");
    if ((at[n] == 'e' || at[n] == 'E') && strspn(at + n + 1, "+-0123456789") > 0)
        n += 1 + strspn(at + n + 1, "+-0123456789");
    return strchr(" ],}\n", at[n]) != NULL ? n : 0; // strchr finds the end of the text too
}

// ---------------------------------------------------------------- what a scene tells

static inline bool all_finite(const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

// NULL, or what is not finite. Where a reaction cannot be known it is NaN by contract: reduced bodies, none here.
static inline const char *not_finite(const tdModel *model, tdState *state)
{
    double kinetic = 0, elastic = 0, force[3];
    if (!all_finite(state->q, model->coords))
        return "positions";
    if (!all_finite(state->v, model->coords))
        return "velocities";
    td_state_energy(model, state, &kinetic, &elastic);
    if (!isfinite(kinetic) || !isfinite(elastic))
        return "energy";
    for (int b = 0; b < model->n_bodies && state->steps > 0; b++) // before a step those of links are not known
    {
        td_state_reaction(model, state, b, force);
        if (!all_finite(force, 3))
            return "reactions";
    }
    for (int p = 0; p < model->n_probes; p++)
    {
        td_state_probe(model, state, p, force);
        if (!all_finite(force, 3))
            return "probes";
    }
    for (int a = 0; a < model->n_actuators; a++)
    {
        tdActuation told = td_state_actuation(model, state, a);
        if (!isfinite(told.effort) || !isfinite(told.displacement))
            return "actuators";
    }
    const tdReport *report = td_state_report(state);
    if (!isfinite(report->residual + report->constraint_error + report->contact_residual + report->attachment_error))
        return "report";
    return NULL;
}

static inline void run(const char *text, const char *name, const char *folder, const char *what, Count *count)
{
    tdModel *model = NULL;
    tdState *state = NULL;
    tdError error = {0};
    tdSettings settings = td_default_settings();
    settings.threads = 1;
    tdStatus status = td_model_parse(text, strlen(text), name, folder, &settings, &model, &error);
    if (status == TD_OK)
        status = td_state_create(model, &settings, &state, &error);
    if (status != TD_OK)
    {
        if (error.message[0] == '\0' || error.line <= 0)
        {
            print_error("%s with %s: refused without a line and a reason (line %d, '%s')\n", name, what, error.line,
                        error.message);
            count->wrong++;
        }
        count->refused++;
        td_model_free(model);
        return;
    }
    for (int i = 0; i < STEPS && status == TD_OK; i++)
        status = td_step(model, state);
    bool mute = status != TD_OK && td_state_report(state)->error.message[0] == '\0';
    const char *bad = not_finite(model, state);
    if (mute || bad != NULL)
    {
        print_error("%s with %s: %s, %s %s\n", name, what, status == TD_OK ? "runs" : "a step fails",
                    mute ? "without a reason" : bad, mute ? "" : "not finite");
        count->wrong++;
    }
    count->ran += status == TD_OK;
    count->failed += status != TD_OK;
    td_state_free(state);
    td_model_free(model);
}

// ---------------------------------------------------------------- scenes

// all: each number by all values of both lists; else by those at the edge of doubles and by one at the edge of limits.
static inline void extremes_vary(const char *name, const char *folder, const char *text, bool all, Count *count)
{
    size_t room = strlen(text) + 64;
    char *changed = malloc(room), what[200];
    assert_non_null(changed);
    int line = 1, number = 0;
    for (const char *at = text; *at != '\0'; at++)
    {
        line += *at == '\n';
        if (*at == '#') // a comment
        {
            at += strcspn(at, "\n") - 1;
            continue;
        }
        size_t n = number_at(text, at);
        for (int k = 0; n > 0 && k < N_EXTREMES + N_LIMITS; k++)
        {
            if (k >= N_EXTREMES && !all && k - N_EXTREMES != number % N_LIMITS)
                continue;
            const char *value = k < N_EXTREMES ? extremes[k] : limits[k - N_EXTREMES];
            snprintf(changed, room, "%.*s%s%s", (int)(at - text), text, value, at + n);
            snprintf(what, sizeof what, "%s for '%.*s' on line %d", value, (int)n, at, line);
            run(changed, name, folder, what, count);
        }
        number += n > 0;
        at += n > 0 ? n - 1 : 0;
    }
    free(changed);
}

static inline void extremes_scene(const char *folder, const char *file, bool all, Count *count)
{
    char path[1400], *text = NULL;
    size_t size = 0;
    tdError error = {0};
    snprintf(path, sizeof path, "%s/%s", folder, file);
    assert_ok(td_file_read(path, &text, &size, &error), error);
    extremes_vary(path, folder, text, all, count);
    free(text);
}
