// SPDX-License-Identifier: Apache-2.0
#include "view/mirror.h"

#include "base/timer.h"
#include "base/vector.h"
#include "body/soft.h"
#include "body/spring.h"
#include "constraint/constraint.h"
#include "core/parts.h"
#include "core/state.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SHOW_EVERY 0.1 // [s]

struct tdViewMirror
{
    tdSettings settings;
    tdViewLog *log;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool running;

    // under the lock
    bool stop;
    tdViewStage *wanted; ///< held; NULL: nobody asks
    tdText message;
    char why[640];

    // of the thread
    tdViewStage *stage; ///< the reduced one, held
    tdViewStage *full;
    tdState *state;
    double *record; ///< actuators, springs, reference rotations, coordinates, velocities
    int64_t room;
    double resets;
    bool synced, failed;
    float **values;
    double shown;
};

static void complain(tdViewMirror *m, const char *what, const tdError *error)
{
    pthread_mutex_lock(&m->lock);
    snprintf(m->why, sizeof m->why, "the error of the reduced model cannot be shown: %s%.500s", what, error->message);
    pthread_mutex_unlock(&m->lock);
    m->failed = true;
}

// ---------------------------------------------------------------- the two models

static void forget(tdViewMirror *m)
{
    td_state_free(m->state);
    td_view_stage_release(m->full);
    for (int b = 0; m->values != NULL && b < m->stage->model->n_bodies; b++)
        free(m->values[b]);
    free(m->values);
    td_view_stage_release(m->stage);
    m->state = NULL;
    m->full = m->stage = NULL;
    m->values = NULL;
    m->synced = m->failed = false;
}

static bool take_values(tdViewMirror *m)
{
    int n = m->stage->model->n_bodies;
    m->values = calloc((size_t)n, sizeof *m->values);
    bool good = m->values != NULL;
    for (int b = 0; b < n && good; b++)
        good = m->stage->surface[b] < 0 ||
               (m->values[b] =
                    calloc((size_t)m->stage->meshes[m->stage->surface[b]].n_vertices + 1, sizeof **m->values)) != NULL;
    return good;
}

// The full model of a stage. Its actuators are all given, so nothing is left for targets of the scene to find.
static void prepare(tdViewMirror *m, tdViewStage *stage)
{
    tdError error = {0};
    forget(m);
    m->stage = stage; // takes over the hold
    tdSettings settings = m->settings;
    settings.rom = NULL;
    settings.threads = 1;
    settings.log = NULL;
    tdStatus status = td_view_stage_load(stage->path, stage->name, &settings, stage->generation, &m->full, &error);
    for (int e = 0; status == TD_OK && e < m->full->model->n_effectors; e++)
        m->full->model->scene.effectors[e].has_target = false;
    if (status == TD_OK)
        status = td_state_create(m->full->model, &settings, &m->state, &error);
    if (status == TD_OK && !take_values(m))
        status = td_fail_memory(&error, "the errors");
    if (status != TD_OK)
        complain(m, "", &error);
}

typedef struct record
{
    tdViewStepHead head;
    const double *actuators, *springs, *turns, *q, *v;
} record;

static bool is_framed(const tdBody *body)
{
    return body->modes != NULL && body->modes->framed;
}

// Coordinates that are the same in both models.
static void copy(tdViewMirror *m, const tdBody *from, const tdBody *to, const double *turn, const record *r)
{
    memcpy(m->state->q + to->first, r->q + from->first, (size_t)from->count * sizeof(double));
    memcpy(m->state->v + to->first, r->v + from->first, (size_t)from->count * sizeof(double));
    if (to->n_turns == 0)
        return;
    tdError unused; // reference rotations are all that is put back
    memcpy(to->ops->turns(to, m->state), turn, (size_t)to->n_turns * sizeof(double));
    (void)td_body_restore(m->full->model, to, m->state, &unused);
}

static void start_from(tdViewMirror *m, const record *r)
{
    const tdModel *reduced = m->stage->model, *full = m->full->model;
    const double *turn = r->turns;
    for (int b = 0; b < full->n_bodies; b++)
    {
        const tdBody *from = &reduced->bodies[b], *to = &full->bodies[b];
        if (from->modes != NULL)
            from->ops->expand(from, turn, r->q + from->first, r->v + from->first, m->state->q + to->first,
                              m->state->v + to->first);
        else if (from->count > 0)
            copy(m, from, to, turn, r);
        turn += from->n_turns;
    }
    memset(m->state->a, 0, (size_t)full->coords * sizeof(double));
    m->state->time = r->head.time;
    m->state->steps = (int64_t)r->head.step;
    td_constraint_measure(full, m->state);
    m->resets = r->head.resets;
    m->synced = true;
}

static void follow(tdViewMirror *m, const record *r)
{
    const tdModel *full = m->full->model;
    for (int a = 0; a < full->n_actuators; a++)
        td_state_set_input(full, m->state, full->actuators[a].input, r->actuators[a]);
    for (int k = 0; k < TD_SPRINGS; k++)
    {
        tdSpring spring;
        bool tied = r->springs != NULL && td_spring_get(r->springs, k, &spring);
        td_state_set_spring(full, m->state, k, tied ? &spring : NULL);
    }
    if (td_step(full, m->state) == TD_OK)
        return;
    complain(m, "full order fails: ", &td_state_report(m->state)->error);
    m->synced = false;
}

// Distances of the vertices of a body from where full order has them, x.
static void compare(tdViewMirror *m, const tdBody *body, const double *turn, const double *q, const double *x)
{
    const tdViewMesh *mesh = &m->stage->meshes[m->stage->surface[body->index]];
    const tdBodyModes *modes = body->modes;
    tdPose pose = td_pose_identity();
    if (is_framed(body))
        body->ops->frame(body, turn, q, &pose);
    for (int32_t i = 0; i < mesh->n_vertices; i++)
    {
        double sum = 0, y[3];
        int64_t at = 3 * (int64_t)mesh->nodes[i];
        for (int c = 0; c < 3; c++)
            y[c] = modes != NULL ? body->soft->rest[at + c] + td_modes_along(modes, at + c, q) : q[at + c];
        td_place(&pose, y, y);
        for (int c = 0; c < 3; c++)
            sum += (x[at + c] - y[c]) * (x[at + c] - y[c]);
        m->values[body->index][i] = (float)sqrt(sum);
    }
}

static void show(tdViewMirror *m, const record *r)
{
    const tdModel *reduced = m->stage->model, *full = m->full->model;
    tdText message = {0};
    const double *turn = r->turns;
    for (int b = 0; b < full->n_bodies; b++)
    {
        const tdBody *body = &reduced->bodies[b];
        if (m->stage->surface[b] >= 0)
            compare(m, body, turn, r->q + body->first, m->state->q + full->bodies[b].first);
        turn += body->n_turns;
    }
    td_view_field(m->stage, (int64_t)r->head.step, r->head.time, TD_VIEW_FIELD_ERROR, m->values, &message);
    m->shown = td_seconds();
    pthread_mutex_lock(&m->lock);
    free(m->message.data);
    m->message = message;
    pthread_mutex_unlock(&m->lock);
}

// ---------------------------------------------------------------- thread

// The oldest record; false: it is not of this scene, or memory ran out, and it was skipped.
static bool read_record(tdViewMirror *m, record *r)
{
    uint64_t offset = 0;
    td_view_log_get(m->log, &offset, (double *)&r->head, TD_VIEW_STEP_HEAD);
    int64_t n = (int64_t)r->head.size - TD_VIEW_STEP_HEAD;
    bool ours = m->full != NULL && r->head.generation == m->stage->generation;
    if (ours && n > m->room)
    {
        double *more = realloc(m->record, (size_t)n * sizeof *more);
        ours = more != NULL;
        m->record = ours ? more : m->record;
        m->room = ours ? n : m->room;
    }
    if (ours)
    {
        td_view_log_get(m->log, &offset, m->record, n);
        const double *at = m->record;
        r->actuators = at;
        at += (int64_t)r->head.actuators;
        r->springs = r->head.springs > 0 ? at : NULL;
        at += (int64_t)r->head.springs;
        r->turns = at;
        at += (int64_t)r->head.turns;
        r->q = at;
        r->v = at + (int64_t)r->head.coords;
    }
    td_view_log_done(m->log, (uint64_t)r->head.size);
    return ours;
}

static void take_record(tdViewMirror *m)
{
    record r;
    if (!read_record(m, &r))
        return;
    bool again = m->synced && r.head.resets != m->resets;
    m->failed = m->failed && !again;
    if (m->failed)
        return;
    if (!m->synced || again || r.head.step != (double)m->state->steps + 1)
        start_from(m, &r);
    else
        follow(m, &r);
    if (m->synced && (td_seconds() - m->shown > SHOW_EVERY || !td_view_log_any(m->log)))
        show(m, &r);
}

// What clients want now. False: to end.
static bool look_around(tdViewMirror *m)
{
    pthread_mutex_lock(&m->lock);
    while (!m->stop && m->wanted == NULL)
    {
        atomic_store(&m->log->open, false);
        pthread_cond_wait(&m->wake, &m->lock);
    }
    bool stop = m->stop;
    tdViewStage *stage = !stop && m->wanted != m->stage ? m->wanted : NULL;
    if (stage != NULL)
        td_view_stage_hold(stage);
    pthread_mutex_unlock(&m->lock);
    if (stage != NULL)
        prepare(m, stage);
    if (!stop && !atomic_load(&m->log->open))
    {
        // What it wrote for the one before is of no use.
        m->synced = false;
        while (td_view_log_any(m->log))
        {
            tdViewStepHead head;
            uint64_t offset = 0;
            td_view_log_get(m->log, &offset, (double *)&head, TD_VIEW_STEP_HEAD);
            td_view_log_done(m->log, (uint64_t)head.size);
        }
        atomic_store(&m->log->open, true);
    }
    return !stop;
}

static void *run(void *context)
{
    tdViewMirror *m = context;
    // Whatever it takes, the simulation that is looked at comes first.
    setpriority(PRIO_PROCESS, (id_t)gettid(), 10);
    while (look_around(m))
    {
        if (td_view_log_any(m->log))
            take_record(m);
        else
            usleep(2000);
    }
    return NULL;
}

void td_view_mirror_want(tdViewMirror *m, tdViewStage *stage)
{
    pthread_mutex_lock(&m->lock);
    if (stage != m->wanted)
    {
        td_view_stage_release(m->wanted);
        if (stage != NULL)
            td_view_stage_hold(stage);
        m->wanted = stage;
        pthread_cond_signal(&m->wake);
    }
    pthread_mutex_unlock(&m->lock);
}

bool td_view_mirror_take(tdViewMirror *m, tdText *message)
{
    pthread_mutex_lock(&m->lock);
    *message = m->message;
    m->message = (tdText){0};
    pthread_mutex_unlock(&m->lock);
    return message->data != NULL;
}

void td_view_mirror_why(tdViewMirror *m, char *out, size_t size)
{
    pthread_mutex_lock(&m->lock);
    snprintf(out, size, "%s", m->why);
    m->why[0] = '\0';
    pthread_mutex_unlock(&m->lock);
}

tdStatus td_view_mirror_create(const tdSettings *settings, tdViewLog *log, tdViewMirror **out, tdError *error)
{
    *out = NULL;
    tdViewMirror *m = td_take(1, sizeof *m);
    if (m == NULL)
        return td_fail_memory(error, "the viewer");
    m->settings = *settings;
    m->log = log;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->wake, NULL);
    m->running = pthread_create(&m->thread, NULL, run, m) == 0;
    if (!m->running)
    {
        td_view_mirror_free(m);
        return td_fail(error, TD_ERROR_IO, "the system provides no thread for the errors of the viewer");
    }
    *out = m;
    return TD_OK;
}

void td_view_mirror_free(tdViewMirror *m)
{
    if (m == NULL)
        return;
    if (m->running)
    {
        pthread_mutex_lock(&m->lock);
        m->stop = true;
        pthread_cond_signal(&m->wake);
        pthread_mutex_unlock(&m->lock);
        pthread_join(m->thread, NULL);
    }
    forget(m);
    td_view_stage_release(m->wanted);
    free(m->message.data);
    free(m->record);
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->wake);
    free(m);
}
