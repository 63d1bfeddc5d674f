// SPDX-License-Identifier: Apache-2.0
#include "view/paint.h"

#include "base/timer.h"
#include "body/soft.h"
#include "core/parts.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef enum painterStage
{
    PAINTER_IDLE,
    PAINTER_ASKED,
    PAINTER_DONE
} painterStage;

// What one body needs: the points of all its elements, whatever its coordinates are.
typedef struct canvas
{
    tdSoftState points;
    double *x;          ///< 3 n_nodes
    double *by_element; ///< von Mises, strain or energy
    double *at_node, *weight;
    float *values; ///< by vertex of the surface
} canvas;

struct tdViewPainter
{
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool running, stop;
    painterStage at;

    // handed over with `at`
    tdViewStage *stage; ///< held
    double *q;
    tdPose *poses;
    int64_t coords, n_poses;
    int64_t step;
    double time, seconds;
    unsigned wanted;
    tdText messages[TD_VIEW_FIELD_KINDS];

    // of the thread
    tdArena arena;
    tdState *state; ///< no more than the kernels ask for
    tdViewStage *prepared;
    canvas *canvases;
    float **values;
};

// ---------------------------------------------------------------- fields

static bool prepare(tdViewPainter *p)
{
    if (p->prepared == p->stage)
        return true;
    const tdModel *model = p->stage->model;
    td_arena_free(&p->arena);
    p->arena = (tdArena){0};
    td_view_stage_release(p->prepared);
    p->prepared = NULL;
    p->state = TD_TAKE(&p->arena, tdState, 1);
    p->canvases = TD_TAKE(&p->arena, canvas, model->n_bodies);
    p->values = TD_TAKE(&p->arena, float *, model->n_bodies);
    bool good = p->state != NULL && p->canvases != NULL && p->values != NULL;
    for (int b = 0; b < model->n_bodies && good; b++)
    {
        const tdSoft *soft = model->bodies[b].soft;
        canvas *c = &p->canvases[b];
        if (p->stage->surface[b] < 0)
            continue; // links have no strain
        good = td_soft_take_points(&p->arena, soft, &c->points);
        c->x = TD_TAKE(&p->arena, double, 3 * (int64_t)soft->n_nodes);
        c->by_element = TD_TAKE(&p->arena, double, soft->elements + 1);
        c->at_node = TD_TAKE(&p->arena, double, soft->n_nodes);
        c->weight = TD_TAKE(&p->arena, double, soft->n_nodes);
        c->values = p->values[b] = TD_TAKE(&p->arena, float, p->stage->meshes[p->stage->surface[b]].n_vertices);
        good = good && c->x != NULL && c->by_element != NULL && c->at_node != NULL && c->weight != NULL &&
               c->values != NULL;
    }
    if (!good)
        return false;
    p->state->isa = td_isa_pick(false);
    p->prepared = p->stage;
    td_view_stage_hold(p->prepared);
    return true;
}

// Stress and strain do not turn with a frame; displacements are told in the world.
static void expand(const tdBody *body, const double *all, double *x)
{
    const double *q = all + body->first;
    int64_t n = 3 * body->nodes;
    const tdBodyModes *modes = body->modes;
    if (modes == NULL)
    {
        memcpy(x, q, (size_t)n * sizeof *x);
        return;
    }
    for (int64_t i = 0; i < n; i++)
    {
        const double *row = modes->basis + i * modes->stride;
        x[i] = body->soft->rest[i];
        for (int j = 0; j < modes->n; j++)
            x[i] += row[j] * q[j];
    }
}

// Equivalent strain sqrt(2/3 e:e) of the deviator e of Green's strain, mean over the points of an element.
static double equivalent_strain(const double *F, int l)
{
    double E[6], trace = 0;
    static const int8_t at[6][2] = {{0, 0}, {1, 1}, {2, 2}, {1, 0}, {2, 0}, {2, 1}};
    for (int k = 0; k < 6; k++)
    {
        E[k] = k < 3 ? -0.5 : 0;
        for (int r = 0; r < 3; r++)
            E[k] += 0.5 * F[4 * (3 * r + at[k][0]) + l] * F[4 * (3 * r + at[k][1]) + l];
        trace += k < 3 ? E[k] : 0;
    }
    double sum = 2 * (E[3] * E[3] + E[4] * E[4] + E[5] * E[5]);
    for (int k = 0; k < 3; k++)
        sum += (E[k] - trace / 3) * (E[k] - trace / 3);
    return sqrt(2.0 / 3 * sum);
}

static void strains(const tdSoft *soft, const tdSoftState *points, double *out)
{
    for (int k = 0; k < soft->n_blocks; k++)
    {
        const tdElements *block = &soft->blocks[k];
        int n = td_element_shape[block->kind].points;
        for (int64_t i = 0; i < 4 * (int64_t)block->batches; i++)
        {
            int64_t batch = i / 4;
            int l = (int)(i % 4);
            if (block->element[i] < 0)
                continue;
            double sum = 0, volume = 0;
            for (int point = 0; point < n; point++)
            {
                double w = block->weight[4 * (n * batch + point) + l];
                volume += w;
                sum += w * equivalent_strain(points->F + 36 * (block->first + n * batch + point), l);
            }
            out[block->element[i]] = sum / volume;
        }
    }
}

// Means over the elements at a node, weighted by volume.
static void to_nodes(const tdSoft *soft, canvas *c)
{
    memset(c->at_node, 0, (size_t)soft->n_nodes * sizeof *c->at_node);
    memset(c->weight, 0, (size_t)soft->n_nodes * sizeof *c->weight);
    for (int k = 0; k < soft->n_blocks; k++)
    {
        const tdElements *block = &soft->blocks[k];
        const tdElementShape *shape = &td_element_shape[block->kind];
        for (int64_t i = 0; i < 4 * (int64_t)block->batches; i++)
        {
            int64_t batch = i / 4, l = i % 4;
            double volume = 0;
            if (block->element[i] < 0 || !isfinite(c->by_element[block->element[i]]))
                continue;
            for (int p = 0; p < shape->points; p++)
                volume += block->weight[4 * (shape->points * batch + p) + l];
            for (int a = 0; a < shape->nodes; a++)
            {
                int32_t node = block->nodes[4 * (shape->nodes * batch + a) + l];
                c->at_node[node] += volume * c->by_element[block->element[i]];
                c->weight[node] += volume;
            }
        }
    }
}

static void paint_body(tdViewPainter *p, int b, tdViewField field)
{
    const tdSoft *soft = p->stage->model->bodies[b].soft;
    const tdViewMesh *mesh = &p->stage->meshes[p->stage->surface[b]];
    const tdPose *pose = mesh->pose < 0 ? NULL : &p->poses[p->stage->first_pose[b]];
    canvas *c = &p->canvases[b];
    if (field != TD_VIEW_FIELD_DISPLACEMENT)
    {
        td_soft_history_begin(soft, &c->points, INFINITY);
        td_soft_fields_at(soft, &c->points, p->state, c->x, field == TD_VIEW_FIELD_VON_MISES ? c->by_element : NULL,
                          field == TD_VIEW_FIELD_ENERGY ? c->by_element : NULL);
        if (field == TD_VIEW_FIELD_STRAIN)
            strains(soft, &c->points, c->by_element);
        to_nodes(soft, c);
    }
    for (int32_t i = 0; i < mesh->n_vertices; i++)
    {
        int64_t node = mesh->nodes[i];
        const double *rest = soft->rest + 3 * node;
        double x[3] = {c->x[3 * node], c->x[3 * node + 1], c->x[3 * node + 2]};
        if (pose != NULL)
            td_place(pose, x, x);
        double way = hypot(hypot(x[0] - rest[0], x[1] - rest[1]), x[2] - rest[2]);
        c->values[i] = (float)(field == TD_VIEW_FIELD_DISPLACEMENT ? way
                               : c->weight[node] > 0               ? c->at_node[node] / c->weight[node]
                                                                   : NAN);
    }
}

static void paint(tdViewPainter *p)
{
    double start = td_seconds();
    const tdModel *model = p->stage->model;
    bool good = prepare(p);
    for (int b = 0; b < model->n_bodies && good; b++)
        if (p->stage->surface[b] >= 0)
            expand(&model->bodies[b], p->q, p->canvases[b].x);
    for (int f = 1; f < TD_VIEW_FIELD_KINDS && good; f++)
    {
        if (!(p->wanted & (1u << f)))
            continue;
        for (int b = 0; b < model->n_bodies; b++)
            if (p->stage->surface[b] >= 0)
                paint_body(p, b, (tdViewField)f);
        td_view_field(p->stage, p->step, p->time, (tdViewField)f, p->values, &p->messages[f]);
    }
    p->seconds = td_seconds() - start;
}

// ---------------------------------------------------------------- thread

static void *run(void *context)
{
    tdViewPainter *p = context;
    pthread_mutex_lock(&p->lock);
    while (!p->stop)
    {
        if (p->at != PAINTER_ASKED)
        {
            pthread_cond_wait(&p->wake, &p->lock);
            continue;
        }
        pthread_mutex_unlock(&p->lock);
        paint(p);
        pthread_mutex_lock(&p->lock);
        p->at = PAINTER_DONE;
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

bool td_view_painter_ask(tdViewPainter *p, const tdViewSnapshot *s, unsigned wanted)
{
    pthread_mutex_lock(&p->lock);
    bool idle = p->at == PAINTER_IDLE;
    pthread_mutex_unlock(&p->lock);
    if (!idle)
        return false;
    int64_t coords = s->stage->model->coords;
    if (coords > p->coords)
    {
        double *more = realloc(p->q, (size_t)coords * sizeof *more);
        if (more == NULL)
            return false;
        p->q = more;
        p->coords = coords;
    }
    if (s->stage->n_poses > p->n_poses)
    {
        tdPose *more = realloc(p->poses, (size_t)s->stage->n_poses * sizeof *more);
        if (more == NULL)
            return false;
        p->poses = more;
        p->n_poses = s->stage->n_poses;
    }
    if (p->stage != s->stage)
    {
        td_view_stage_release(p->stage);
        td_view_stage_hold(s->stage);
        p->stage = s->stage;
    }
    if (coords > 0)
        memcpy(p->q, s->q, (size_t)coords * sizeof *p->q);
    if (s->stage->n_poses > 0)
        memcpy(p->poses, s->poses, (size_t)s->stage->n_poses * sizeof *p->poses);
    p->step = s->step;
    p->time = s->time;
    p->wanted = wanted;
    pthread_mutex_lock(&p->lock);
    p->at = PAINTER_ASKED;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    return true;
}

bool td_view_painter_take(tdViewPainter *p, tdText messages[TD_VIEW_FIELD_KINDS], double *seconds)
{
    pthread_mutex_lock(&p->lock);
    bool done = p->at == PAINTER_DONE;
    if (done)
        p->at = PAINTER_IDLE;
    pthread_mutex_unlock(&p->lock);
    if (!done)
        return false;
    memcpy(messages, p->messages, sizeof p->messages);
    memset(p->messages, 0, sizeof p->messages);
    *seconds = p->seconds;
    return true;
}

tdStatus td_view_painter_create(tdViewPainter **out, tdError *error)
{
    *out = NULL;
    tdViewPainter *p = td_take(1, sizeof *p);
    if (p == NULL)
        return td_fail_memory(error, "the viewer");
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    p->running = pthread_create(&p->thread, NULL, run, p) == 0;
    if (!p->running)
    {
        td_view_painter_free(p);
        return td_fail(error, TD_ERROR_IO, "the system provides no thread for the fields of the viewer");
    }
    *out = p;
    return TD_OK;
}

void td_view_painter_free(tdViewPainter *p)
{
    if (p == NULL)
        return;
    if (p->running)
    {
        pthread_mutex_lock(&p->lock);
        p->stop = true;
        pthread_cond_signal(&p->wake);
        pthread_mutex_unlock(&p->lock);
        pthread_join(p->thread, NULL);
    }
    for (int f = 0; f < TD_VIEW_FIELD_KINDS; f++)
        free(p->messages[f].data);
    td_view_stage_release(p->prepared);
    td_view_stage_release(p->stage);
    td_arena_free(&p->arena);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->wake);
    free(p->q);
    free(p->poses);
    free(p);
}
