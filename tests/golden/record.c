// SPDX-License-Identifier: Apache-2.0
// What is recorded of a run, and how two records compare.
//
// Of each body positions and velocities: of all nodes where they are few, else of some that are spread over the body
// and of random sums of all of them, Σ ±x / √n, in which a difference d of all nodes shows as about d. Of what acts,
// the end of the run and its sum over all steps, so that a step that was off in between is not forgotten:
// efforts, displacements, reactions, contact, attachments, couplings.
//
// Scales: the body's size for positions, size / h for velocities (a step makes dx of dv h), the actuator's own for its
// displacement; of forces, torques and pressures the largest of the scene in all the run, because a small one
// is the difference of large ones.
#include "golden.h"

#include "base/file.h"
#include "base/hash.h"
#include "contact/contact.h"
#include "core/state.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEW_NODES 40
#define SPREAD    24 // nodes
#define SUMS      8

static double *add_vector(goldenRecord *record, int n, double scale, const char *format, ...) TD_PRINTF(4, 5);
static double *add_vector(goldenRecord *record, int n, double scale, const char *format, ...)
{
    goldenVector *grown = realloc(record->vectors, (size_t)(record->n + 1) * sizeof *grown);
    double *x = calloc((size_t)n + 1, sizeof *x);
    if (grown == NULL || x == NULL)
        abort(); // of a test: nobody can go on
    record->vectors = grown;
    goldenVector *v = &grown[record->n++];
    *v = (goldenVector){.scale = scale, .n = n, .x = x};
    va_list list;
    va_start(list, format);
    vsnprintf(v->name, sizeof v->name, format, list);
    va_end(list);
    for (char *c = v->name; *c != '\0'; c++)
        *c = *c == ' ' ? '_' : *c;
    return x;
}

void golden_free(goldenRecord *record)
{
    for (int i = 0; i < record->n; i++)
        free(record->vectors[i].x);
    free(record->vectors);
    *record = (goldenRecord){0};
}

// ---------------------------------------------------------------- bodies

static void sample(const double *x, int64_t nodes, double *out)
{
    if (nodes <= FEW_NODES)
    {
        memcpy(out, x, (size_t)(3 * nodes) * sizeof *x);
        return;
    }
    for (int64_t k = 0; k < SPREAD; k++, out += 3)
        memcpy(out, x + 3 * (k * (nodes - 1) / (SPREAD - 1)), 3 * sizeof *x);
    for (int64_t k = 0; k < SUMS; k++)
    {
        double sum = 0;
        for (int64_t i = 0; i < 3 * nodes; i++)
            sum += td_hash_mix((uint64_t)(k * 3 * nodes + i + 1)) & 1 ? x[i] : -x[i];
        *out++ = sum / sqrt((double)(3 * nodes));
    }
}

static double extent(const double *x, int64_t nodes)
{
    double most = 0;
    for (int c = 0; c < 3; c++)
    {
        double low = INFINITY, high = -INFINITY;
        for (int64_t i = 0; i < nodes; i++)
        {
            low = fmin(low, x[3 * i + c]);
            high = fmax(high, x[3 * i + c]);
        }
        most = fmax(most, high - low);
    }
    return most;
}

static void add_bodies(const goldenRun *run, const double *sizes, goldenRecord *out)
{
    double h = td_model_time_step(run->model);
    for (int b = 0; b < td_model_bodies(run->model); b++)
    {
        int64_t nodes = td_model_body_nodes(run->model, b);
        if (nodes == 0)
            continue;
        int n = nodes <= FEW_NODES ? (int)(3 * nodes) : 3 * SPREAD + SUMS;
        const char *name = td_model_body_name(run->model, b);
        sample(td_state_positions(run->model, run->state, b), nodes,
               add_vector(out, n, sizes[b], "positions:%s", name));
        sample(td_state_velocities(run->model, run->state, b), nodes,
               add_vector(out, n, sizes[b] / h, "velocities:%s", name));
    }
}

// ---------------------------------------------------------------- what acts

enum
{
    FORCE,
    TORQUE,
    PRESSURE,
    UNITS
};

/// Sums over the run and the largest of each unit.
typedef struct tally
{
    double most[UNITS];
    double *effort, *displacement;                ///< by actuator
    double (*reaction)[3], (*contact)[3], *press; ///< by body
    double (*attachment)[3], *coupling;
    double (*touch)[3], *touch_press; ///< contact of the last step
} tally;

static int unit_of(const char *unit)
{
    return strcmp(unit, "N") == 0 ? FORCE : strcmp(unit, "Pa") == 0 ? PRESSURE : TORQUE;
}

static void widen(double *most, const double f[3])
{
    *most = fmax(*most, sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2]));
}

static void add_to(double sum[3], const double f[3], double factor)
{
    for (int c = 0; c < 3; c++)
        sum[c] += factor * f[c];
}

static void touch(const goldenRun *run, tally *t)
{
    int bodies = td_model_bodies(run->model);
    memset(t->touch, 0, (size_t)bodies * sizeof *t->touch);
    memset(t->touch_press, 0, (size_t)bodies * sizeof *t->touch_press);
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(run->state, &points);
    for (int64_t i = 0; i < n; i++)
        for (int side = 0; side < 2; side++)
        {
            const double *f = points[i].force;
            add_to(t->touch[points[i].body[side]], f, side == 0 ? -1 : 1);
            t->touch_press[points[i].body[side]] += sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2]);
        }
    for (int b = 0; b < bodies; b++)
    {
        add_to(t->contact[b], t->touch[b], 1);
        t->press[b] += t->touch_press[b];
        t->most[FORCE] = fmax(t->most[FORCE], t->touch_press[b]);
    }
}

static void take_in(const goldenRun *run, tally *t)
{
    const tdModel *model = run->model;
    for (int a = 0; a < td_model_actuators(model); a++)
    {
        tdActuation is = td_state_actuation(model, run->state, a);
        int unit = unit_of(td_model_actuator(model, a).effort_unit);
        t->most[unit] = fmax(t->most[unit], fabs(is.effort));
        t->effort[a] += is.effort;
        t->displacement[a] += is.displacement;
    }
    for (int b = 0; b < td_model_bodies(model); b++)
    {
        double f[3];
        td_state_reaction(model, run->state, b, f);
        widen(&t->most[FORCE], f);
        add_to(t->reaction[b], f, 1);
    }
    touch(run, t);
    for (int k = 0; k < td_model_attachments(model); k++)
    {
        double f[3];
        td_state_attachment_force(run->state, k, f, NULL, NULL);
        widen(&t->most[FORCE], f);
        add_to(t->attachment[k], f, 1);
    }
    for (int k = 0; k < td_model_couplings(model); k++)
    {
        double effort = td_state_coupling_effort(run->state, k);
        t->most[TORQUE] = fmax(t->most[TORQUE], fabs(effort)); // [N] of some, but then of all in our scenes
        t->coupling[k] += effort;
    }
}

static void put3(double *out, const double is[3], const double sum[3], int steps)
{
    for (int c = 0; c < 3; c++)
    {
        out[c] = is[c];
        out[3 + c] = sum[c] / steps;
    }
}

static void add_actuators(const goldenRun *run, const tally *t, goldenRecord *out)
{
    const tdModel *model = run->model;
    for (int a = 0; a < td_model_actuators(model); a++)
    {
        tdActuatorInfo info = td_model_actuator(model, a);
        tdActuation is = td_state_actuation(model, run->state, a);
        double *x = add_vector(out, 2, t->most[unit_of(info.effort_unit)], "effort:%s", info.name);
        x[0] = is.effort;
        x[1] = t->effort[a] / run->steps;
        x = add_vector(out, 2, model->actuators[a].size, "displacement:%s", info.name);
        x[0] = is.displacement;
        x[1] = t->displacement[a] / run->steps;
    }
}

static void add_forces(const goldenRun *run, const tally *t, goldenRecord *out)
{
    const tdModel *model = run->model;
    double f[3], newton = t->most[FORCE];
    for (int b = 0; b < td_model_bodies(model); b++)
    {
        td_state_reaction(model, run->state, b, f);
        put3(add_vector(out, 6, newton, "reaction:%s", td_model_body_name(model, b)), f, t->reaction[b], run->steps);
        if (model->contact == NULL || model->contact->world == NULL)
            continue;
        double *x = add_vector(out, 8, newton, "contact:%s", td_model_body_name(model, b));
        put3(x, t->touch[b], t->contact[b], run->steps);
        x[6] = t->touch_press[b];
        x[7] = t->press[b] / run->steps;
    }
    for (int k = 0; k < td_model_attachments(model); k++)
    {
        td_state_attachment_force(run->state, k, f, NULL, NULL);
        put3(add_vector(out, 6, newton, "attachment:%s", td_model_attachment_name(model, k)), f, t->attachment[k],
             run->steps);
    }
    for (int k = 0; k < td_model_couplings(model); k++)
    {
        double *x = add_vector(out, 2, t->most[TORQUE], "coupling:%s", td_model_coupling_name(model, k));
        x[0] = td_state_coupling_effort(run->state, k);
        x[1] = t->coupling[k] / run->steps;
    }
}

// ---------------------------------------------------------------- a run

static tdStatus run_to_its_end(goldenRun *run, const double *sizes, tally *t, goldenRecord *out, tdError *error)
{
    for (int s = 0; s < run->steps; s++)
    {
        TD_TRY(golden_step(run, error));
        take_in(run, t);
    }
    out->steps = run->steps;
    *add_vector(out, 1, td_model_time_step(run->model), "time") = td_state_time(run->state);
    add_bodies(run, sizes, out);
    add_actuators(run, t, out);
    add_forces(run, t, out);
    return TD_OK;
}

tdStatus golden_take(const goldenCase *given, const tdModel *model, bool portable, goldenRecord *out, tdError *error)
{
    *out = (goldenRecord){0};
    goldenRun run;
    tdArena arena = {0};
    tdStatus status = golden_start(given, model, 1, portable, &run, error);
    if (status == TD_OK)
    {
        int bodies = td_model_bodies(run.model), actuators = td_model_actuators(run.model);
        int attachments = td_model_attachments(run.model), couplings = td_model_couplings(run.model);
        tally t = {.effort = TD_TAKE(&arena, double, actuators + 1),
                   .displacement = TD_TAKE(&arena, double, actuators + 1),
                   .reaction = td_arena_take(&arena, (size_t)bodies, sizeof *t.reaction),
                   .contact = td_arena_take(&arena, (size_t)bodies, sizeof *t.contact),
                   .touch = td_arena_take(&arena, (size_t)bodies, sizeof *t.touch),
                   .press = TD_TAKE(&arena, double, bodies),
                   .touch_press = TD_TAKE(&arena, double, bodies),
                   .attachment = td_arena_take(&arena, (size_t)attachments + 1, sizeof *t.attachment),
                   .coupling = TD_TAKE(&arena, double, couplings + 1)};
        double *sizes = TD_TAKE(&arena, double, bodies);
        for (int b = 0; b < bodies; b++)
        {
            sizes[b] = extent(td_state_positions(run.model, run.state, b), td_model_body_nodes(run.model, b));
            if (!(sizes[b] > 0)) // a plane that nothing draws
                sizes[b] = td_model_size(run.model);
        }
        status = run_to_its_end(&run, sizes, &t, out, error);
    }
    td_arena_free(&arena);
    golden_end(&run);
    return status;
}

// ---------------------------------------------------------------- files

#define HEADER "golden 1"

tdStatus golden_write(const goldenCase *given, const goldenRecord *record, const char *path, tdError *error)
{
    tdText text = {0};
    td_text_format(&text, HEADER " %s, %d steps; written by golden --record\n%d %d\n", given->scene, record->steps,
                   record->steps, record->n);
    for (int i = 0; i < record->n; i++)
    {
        const goldenVector *v = &record->vectors[i];
        td_text_format(&text, "%s %.6g %d", v->name, v->scale, v->n);
        for (int k = 0; k < v->n; k++)
            td_text_format(&text, "%c%.15g", k % 6 == 0 ? '\n' : ' ', v->x[k]);
        td_text_format(&text, "\n");
    }
    tdStatus status =
        text.failed ? td_fail_memory(error, "a record") : td_file_write(path, text.data, (size_t)text.size, error);
    free(text.data);
    return status;
}

tdStatus golden_read(const char *path, goldenRecord *out, tdError *error)
{
    *out = (goldenRecord){0};
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, "", "there is no record; make it by golden --record");
    int n = 0;
    bool good = fscanf(file, HEADER "%*[^\n]%d %d", &out->steps, &n) == 2;
    for (int i = 0; i < n && good; i++)
    {
        char name[sizeof out->vectors->name];
        double scale = 0;
        int count = 0;
        good = fscanf(file, "%95s %lf %d", name, &scale, &count) == 3 && count >= 0 && count < 100000;
        double *x = good ? add_vector(out, count, scale, "%s", name) : NULL;
        for (int k = 0; k < count && good; k++)
            good = fscanf(file, "%lf", &x[k]) == 1;
    }
    fclose(file);
    return good ? TD_OK : td_fail_at(error, TD_ERROR_INPUT, path, 0, "", "is no record; make it by golden --record");
}

// ---------------------------------------------------------------- comparison

goldenDifference golden_compare(const goldenRecord *is, const goldenRecord *was)
{
    goldenDifference most = {0};
    if (is->n != was->n || is->steps != was->steps)
    {
        most.share = INFINITY;
        snprintf(most.where, sizeof most.where, "%d steps and %d vectors, recorded are %d and %d", is->steps, is->n,
                 was->steps, was->n);
        return most;
    }
    for (int i = 0; i < is->n; i++)
    {
        const goldenVector *a = &is->vectors[i], *b = &was->vectors[i];
        if (strcmp(a->name, b->name) != 0 || a->n != b->n)
        {
            most.share = INFINITY;
            snprintf(most.where, sizeof most.where, "%.60s, recorded is %.60s", a->name, b->name);
            return most;
        }
        for (int k = 0; k < a->n; k++)
        {
            double off = fabs(a->x[k] - b->x[k]);
            double share = off == 0 || (isnan(a->x[k]) && isnan(b->x[k])) ? 0 : off / b->scale;
            if (share <= most.share)
                continue;
            most.share = isnan(share) ? INFINITY : share;
            snprintf(most.where, sizeof most.where, "%s[%d]: %.15g, recorded %.15g", a->name, k, a->x[k], b->x[k]);
        }
    }
    return most;
}
