// SPDX-License-Identifier: Apache-2.0
// See async.h.
#include "solve/async.h"

#include "base/exchange.h"
#include "base/lapack.h"
#include "solve/schur_tree.h"

#include <cblas.h>
#include <cholmod.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// A factor in one of the three slots.
typedef struct slotFactor
{
    cholmod_factor *factor;
    bool definite;
    double seconds;
} slotFactor;

enum
{
    PRESENT, // of the factor that is used
    NEXT,    // of the one that is being made, or that is done and not due yet
};

struct tdAsync
{
    const tdLinearModel *model;
    tdAsyncSettings settings;
    tdArena arena;
    cholmod_common common;
    tdExchange exchange;
    slotFactor slot[3];
    double *work; // of a factorization: whoever makes one

    // The simulation's. NEXT is the thread's to read until it is done.
    double *values[2], *turns[2];
    int64_t steps[2];
    bool due; // NEXT was given to the thread and not taken yet

    // The thread's.
    pthread_t thread;
    bool started;
    sem_t given, done;
    atomic_bool quit;
    atomic_llong made, refused;

    // Solutions.
    tdSubstitution substitution;
    double *turned, *push; // over coordinates
    tdSchurTree tree;
    bool *touched;                       // by node
    int32_t n, *places, *coord, *column; // the condensed body
    double *hat, *lower, *force;         // growing
    int64_t hat_room, lower_room, force_room;
};

// ---------------------------------------------------------------- life

static tdStatus take_arrays(tdAsync *b, tdError *error)
{
    const tdLinearModel *model = b->model;
    tdArena *arena = &b->arena;
    int64_t nodes = model->pattern->n, coords = 3 * nodes;
    for (int k = 0; k < 2; k++)
    {
        b->values[k] = TD_TAKE(arena, double, 9 * model->pattern->blocks);
        b->turns[k] = TD_TAKE(arena, double, 9 * nodes);
        b->steps[k] = -1;
    }
    b->work = TD_TAKE(arena, double, model->plan.room + 1);
    b->turned = TD_TAKE(arena, double, coords);
    b->push = TD_TAKE(arena, double, coords);
    b->touched = TD_TAKE(arena, bool, nodes);
    b->places = TD_TAKE(arena, int32_t, model->n);
    b->coord = TD_TAKE(arena, int32_t, model->n);
    b->column = TD_TAKE(arena, int32_t, coords);
    if (b->values[0] == NULL || b->values[1] == NULL || b->turns[0] == NULL || b->turns[1] == NULL || b->work == NULL ||
        b->turned == NULL || b->push == NULL || b->touched == NULL || b->places == NULL || b->coord == NULL ||
        b->column == NULL)
        return td_fail_memory(error, "the background factor");
    for (int64_t i = 0; i < coords; i++)
        b->column[i] = -1;
    if (model->n == 0)
        return TD_OK; // everything is held
    for (int k = 0; k < 3; k++)
    {
        b->slot[k].factor = cholmod_copy_factor(model->symbolic, &b->common);
        if (b->slot[k].factor == NULL)
            return td_fail_memory(error, "the background factor");
        TD_TRY(td_factor_ready(b->slot[k].factor, &b->common, error));
    }
    TD_TRY(td_substitution_create(arena, &model->shape, td_isa_pick_wide(false), &b->substitution, error));
    TD_TRY(td_schur_tree_create(arena, model->n, &b->tree, error));
    td_schur_tree_set(&b->tree, b->slot[0].factor);
    return TD_OK;
}

tdStatus td_async_create(const tdLinearModel *model, const tdAsyncSettings *settings, tdAsync **out, tdError *error)
{
    tdAsync *b = *out = td_take(1, sizeof *b);
    if (b == NULL)
        return td_fail_memory(error, "the background factor");
    b->model = model;
    b->settings = *settings;
    td_cholmod_start(&b->common);
    td_exchange_init(&b->exchange);
    sem_init(&b->given, 0, 0);
    sem_init(&b->done, 0, 0);
    tdStatus status = take_arrays(b, error);
    if (status == TD_OK)
        return TD_OK;
    td_async_free(b);
    *out = NULL;
    return status;
}

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0 && errno == EINTR)
        ;
}

void td_async_free(tdAsync *b)
{
    if (b == NULL)
        return;
    if (b->started)
    {
        atomic_store(&b->quit, true);
        sem_post(&b->given);
        pthread_join(b->thread, NULL);
    }
    for (int k = 0; k < 3; k++)
        cholmod_free_factor(&b->slot[k].factor, &b->common);
    cholmod_finish(&b->common);
    sem_destroy(&b->given);
    sem_destroy(&b->done);
    td_schur_tree_free(&b->tree);
    td_arena_free(&b->arena);
    free(b->hat);
    free(b->lower);
    free(b->force);
    free(b);
}

// ---------------------------------------------------------------- the thread

// Of this thread, whatever others do meanwhile.
static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Numbers of a matrix into the writer's slot. The bits are the same on any thread and for any number of them.
static void fill(tdAsync *b, tdTasks *tasks, const double *values)
{
    slotFactor *slot = &b->slot[b->exchange.writing];
    double start = processor_seconds();
    slot->definite = td_factor_numbers(&b->model->plan, tasks, values, b->work, slot->factor);
    slot->seconds = processor_seconds() - start;
}

static void *run(void *context)
{
    tdAsync *b = context;
    for (;;)
    {
        wait_for(&b->given);
        if (atomic_load(&b->quit))
            return NULL;
        fill(b, NULL, b->values[NEXT]);
        atomic_fetch_add(b->slot[b->exchange.writing].definite ? &b->made : &b->refused, 1);
        td_exchange_publish(&b->exchange);
        sem_post(&b->done);
    }
}

bool td_async_idle(const tdAsync *b)
{
    return !b->settings.rest && !b->due && b->model->n > 0;
}

tdStatus td_async_offer(tdAsync *b, int64_t step, const double *values, const double *turns, tdError *error)
{
    // With the first matrix, so that states that take no step have no thread.
    if (!b->started && pthread_create(&b->thread, NULL, run, b) != 0)
        return td_fail(error, TD_ERROR_MEMORY,
                       "the system provides no thread for the asynchronous factor; use 'solver: {type: auto}'");
    b->started = true;
    if (values != b->values[NEXT])
        memcpy(b->values[NEXT], values, 9 * (size_t)b->model->pattern->blocks * sizeof *values);
    if (turns != NULL && turns != b->turns[NEXT])
        memcpy(b->turns[NEXT], turns, 9 * (size_t)b->model->pattern->n * sizeof *turns);
    b->steps[NEXT] = step;
    b->due = true;
    sem_post(&b->given);
    return TD_OK;
}

// ---------------------------------------------------------------- the simulation's side

// The slot that was taken is that of NEXT.
static void promote(tdAsync *b)
{
    double *values = b->values[PRESENT], *turns = b->turns[PRESENT];
    b->values[PRESENT] = b->values[NEXT];
    b->turns[PRESENT] = b->turns[NEXT];
    b->steps[PRESENT] = b->steps[NEXT];
    b->values[NEXT] = values;
    b->turns[NEXT] = turns;
    b->steps[NEXT] = -1;
}

void td_async_take(tdAsync *b, int64_t step)
{
    bool fixed = b->settings.lag > 0;
    if (!b->due || (fixed && step - b->steps[NEXT] < b->settings.lag))
        return;
    if (fixed)
        wait_for(&b->done);
    else if (sem_trywait(&b->done) != 0)
        return; // it is not done
    b->due = false;
    int before = b->exchange.reading;
    bool good = td_exchange_take(&b->exchange) && b->slot[b->exchange.reading].definite;
    if (good)
    {
        promote(b);
        return;
    }
    // The matrix was not positive definite: the old factor goes on. Its slot went back to the middle, where only the
    // thread takes it from, and the thread is idle.
    atomic_store(&b->exchange.middle, b->exchange.reading);
    b->exchange.reading = before;
    b->steps[NEXT] = -1;
}

bool td_async_ready(const tdAsync *b)
{
    return b->steps[PRESENT] >= 0;
}

// Nothing is under way afterwards.
static void settle(tdAsync *b)
{
    if (!b->due)
        return;
    wait_for(&b->done);
    sem_post(&b->done); // for the one who takes it
}

static void drop_next(tdAsync *b)
{
    if (!b->due)
        return;
    wait_for(&b->done);
    b->due = false;
    b->steps[NEXT] = -1;
    // Out of the middle, where it would be taken for a newer one.
    atomic_store(&b->exchange.middle, atomic_load(&b->exchange.middle) & 3);
}

bool td_async_make(tdAsync *b, tdTasks *tasks, int64_t step, const double *values, const double *turns)
{
    drop_next(b);
    if (b->model->n > 0)
    {
        fill(b, tasks, values);
        if (!b->slot[b->exchange.writing].definite)
            return false;
        td_exchange_publish(&b->exchange);
        td_exchange_take(&b->exchange);
    }
    if (values != b->values[PRESENT])
        memcpy(b->values[PRESENT], values, 9 * (size_t)b->model->pattern->blocks * sizeof *values);
    if (turns != NULL && turns != b->turns[PRESENT])
        memcpy(b->turns[PRESENT], turns, 9 * (size_t)b->model->pattern->n * sizeof *turns);
    b->steps[PRESENT] = step;
    return true;
}

const double *td_async_turns(const tdAsync *b)
{
    return b->turns[PRESENT];
}

tdAsyncKept td_async_kept(tdAsync *b)
{
    settle(b);
    return (tdAsyncKept){.steps = b->steps,
                         .values = {b->values[PRESENT], b->values[NEXT]},
                         .turns = {b->turns[PRESENT], b->turns[NEXT]},
                         .n_values = 9 * b->model->pattern->blocks,
                         .n_turns = 9 * (int64_t)b->model->pattern->n};
}

tdStatus td_async_restore(tdAsync *b, tdTasks *tasks, tdError *error)
{
    int64_t present = b->steps[PRESENT], next = b->steps[NEXT];
    drop_next(b);
    b->steps[PRESENT] = -1;
    if (present < 0)
        return TD_OK;
    if (!td_async_make(b, tasks, present, b->values[PRESENT], b->turns[PRESENT]))
        return td_fail(error, TD_ERROR_NUMERIC, "the matrix of the kept factor is not positive definite");
    return next < 0 ? TD_OK : td_async_offer(b, next, b->values[NEXT], b->turns[NEXT], error);
}

void td_async_forget(tdAsync *b)
{
    drop_next(b);
    b->steps[PRESENT] = -1;
}

tdAsyncReport td_async_report(const tdAsync *b)
{
    return (tdAsyncReport){.step = b->steps[PRESENT],
                           .made = atomic_load(&b->made),
                           .refused = atomic_load(&b->refused),
                           .seconds = b->slot[b->exchange.reading].seconds};
}

// ---------------------------------------------------------------- solutions

void td_async_apply(tdAsync *b, tdTasks *tasks, const double *Q, const double *from, double *x)
{
    const tdLinearModel *model = b->model;
    td_linear_turn(model, Q, false, from, b->turned);
    memset(x, 0, 3 * (size_t)model->pattern->n * sizeof *x);
    if (model->n == 0)
        return;
    tdSubstituteTask task = {
        .values = b->slot[b->exchange.reading].factor->x, .coord = model->coord, .b = b->turned, .x = x};
    td_substitute(&b->substitution, tasks, &task);
    td_linear_turn(model, Q, true, x, x);
}

// Coordinates of the touched nodes, by their places in the factor.
static void list_places(tdAsync *b, int32_t n_nodes, const int32_t *nodes)
{
    const tdLinearModel *model = b->model;
    const int32_t *order = b->slot[0].factor->Perm;
    for (int32_t k = 0; k < b->n; k++)
        b->column[b->coord[k]] = -1;
    for (int32_t k = 0; k < n_nodes; k++)
        b->touched[nodes[k]] = true;
    b->n = 0;
    for (int32_t i = 0; i < model->n; i++)
    {
        int32_t coord = model->coord[order[i]];
        if (!b->touched[coord / 3])
            continue;
        b->places[b->n] = i;
        b->coord[b->n] = coord;
        b->column[coord] = b->n++;
    }
    for (int32_t k = 0; k < n_nodes; k++)
        b->touched[nodes[k]] = false;
}

// One side of W = Q_p W Q_p': rows of each node of W (n columns, `stride` between rows of a column, `next` between
// columns).
static void turn_rows(const tdAsync *b, const double *Q, double *W, int64_t stride, int64_t next)
{
    for (int32_t i = 0; i < b->n; i++)
    {
        int32_t node = b->coord[i] / 3;
        if (b->coord[i] % 3 != 0 || !b->model->turning[node])
            continue;
        const double *q = Q + 9 * (int64_t)node;
        const int32_t *row = b->column + 3 * (int64_t)node;
        for (int32_t j = 0; j < b->n; j++)
        {
            double *w = W + j * next, x = w[row[0] * stride], y = w[row[1] * stride], z = w[row[2] * stride];
            for (int c = 0; c < 3; c++)
                w[row[c] * stride] = q[3 * c] * x + q[3 * c + 1] * y + q[3 * c + 2] * z;
        }
    }
}

tdStatus td_async_condense(tdAsync *b, const double *Q, int32_t n_nodes, const int32_t *nodes, tdSchurBody *out,
                           tdError *error)
{
    double solve, square;
    int info = 0;
    if (b->model->n > 0)
        list_places(b, n_nodes, nodes);
    int n = b->n;
    int64_t size = (int64_t)n * n;
    if (!td_grow((void **)&b->hat, &b->hat_room, size, sizeof *b->hat) ||
        !td_grow((void **)&b->lower, &b->lower_room, size, sizeof *b->lower) ||
        !td_grow((void **)&b->force, &b->force_room, n, sizeof *b->force))
        return td_fail_memory(error, "the condensation");
    *out = (tdSchurBody){n, b->coord, b->column, b->hat, b->lower};
    if (n == 0)
        return TD_OK;
    b->tree.factor = b->slot[b->exchange.reading].factor; // of the same shape as the others
    td_schur_tree_visit(&b->tree, n, b->places, &solve, &square);
    TD_TRY(td_schur_tree_square(&b->tree, b->tree.factor->x, n, b->places, b->hat, error));
    for (int j = 0; Q != NULL && j < n; j++)
        for (int i = 0; i < j; i++)
            b->hat[i + (int64_t)j * n] = b->hat[j + (int64_t)i * n];
    if (Q != NULL)
    {
        turn_rows(b, Q, b->hat, 1, n);
        turn_rows(b, Q, b->hat, n, 1);
    }
    bool good = td_factor_panel(n, n, b->hat, n);
    if (good)
        dpotri_("L", &n, b->hat, &n, &info, 1);
    memcpy(b->lower, b->hat, (size_t)size * sizeof *b->hat);
    if (!good || info != 0 || !td_factor_panel(n, n, b->lower, n))
        return td_fail(error, TD_ERROR_NUMERIC,
                       "the compliance of the touched nodes is not positive definite; use a smaller time_step");
    return TD_OK;
}

void td_async_recover(tdAsync *b, tdTasks *tasks, const double *Q, const double *dv_p, double *dv)
{
    memset(b->push, 0, 3 * (size_t)b->model->pattern->n * sizeof *b->push);
    if (b->n > 0)
        cblas_dsymv(CblasColMajor, CblasLower, b->n, 1, b->hat, b->n, dv_p, 1, 0, b->force, 1);
    for (int32_t k = 0; k < b->n; k++)
        b->push[b->coord[k]] = b->force[k];
    td_async_apply(b, tasks, Q, b->push, dv);
}

double *td_async_push(tdAsync *b)
{
    return b->push;
}
