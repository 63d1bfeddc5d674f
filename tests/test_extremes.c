// SPDX-License-Identifier: Apache-2.0
// Numbers at the edge of what a double holds, and of what a scene may say: every number of every shipped scene is
// replaced by each of them. A scene is then refused with a line and a reason, or it runs and all that it tells is
// finite, or a step says that it failed and leaves a finite state.
#include "test.h"

#include "model.h"
#include "state.h"

#include <dirent.h>
#include <stdbool.h>

#define STEPS 3

static const char *const extremes[] = {"1e308", "-1e308", "1e-308", "1e200", "5e-324", "nan", ".inf", // edge of doubles
                                       "1e18",  "1e9",    "-1e9",   "1e-12", "0"};                    // edge of limits

typedef struct Count
{
    int refused, ran, failed, wrong;
} Count;

// ---------------------------------------------------------------- numbers of a text

// Length of the number at `at`; 0 where none begins. Numbers within names, units and files are none.
static size_t number_at(const char *text, const char *at)
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

static bool all_finite(const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

// NULL, or what is not finite. Where a reaction cannot be known it is NaN by contract: reduced bodies, none here.
static const char *not_finite(const tdModel *model, tdState *state)
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

static void run(const char *text, const char *name, const char *folder, const char *what, Count *count)
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

static void vary(const char *name, const char *folder, const char *text, Count *count)
{
    size_t room = strlen(text) + 64;
    char *changed = malloc(room), what[200];
    assert_non_null(changed);
    int line = 1;
    for (const char *at = text; *at != '\0'; at++)
    {
        line += *at == '\n';
        if (*at == '#') // a comment
        {
            at += strcspn(at, "\n") - 1;
            continue;
        }
        size_t n = number_at(text, at);
        for (size_t k = 0; n > 0 && k < sizeof extremes / sizeof extremes[0]; k++)
        {
            snprintf(changed, room, "%.*s%s%s", (int)(at - text), text, extremes[k], at + n);
            snprintf(what, sizeof what, "%s for '%.*s' on line %d", extremes[k], (int)n, at, line);
            run(changed, name, folder, what, count);
        }
        at += n > 0 ? n - 1 : 0;
    }
    free(changed);
}

static int vary_folder(const char *place, const char *only, Count *count)
{
    DIR *folder = opendir(place);
    assert_non_null(folder);
    int scenes = 0;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
    {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot == NULL || strcmp(dot, ".yaml") != 0 || (only != NULL && strcmp(entry->d_name, only) != 0))
            continue;
        char path[1024], *text = NULL;
        size_t size = 0;
        tdError error = {0};
        snprintf(path, sizeof path, "%s/%s", place, entry->d_name);
        assert_ok(td_file_read(path, &text, &size, &error), error);
        vary(path, place, text, count);
        free(text);
        scenes++;
    }
    closedir(folder);
    return scenes;
}

static void test_shipped_scenes(void **unused)
{
    (void)unused;
    Count count = {0};
    assert_true(vary_folder(TD_SOURCE_DIR "/scenes/contact", getenv("ONLY"), &count) >= 0);
    printf("%d refused, %d ran, %d failed in a step\n", count.refused, count.ran, count.failed);
    assert_int_equal(count.wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shipped_scenes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
