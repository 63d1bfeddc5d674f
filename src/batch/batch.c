// SPDX-License-Identifier: Apache-2.0
// Many robots of one model. A robot is a state; a piece of work is a robot with all its steps of a call, so that what
// it reads stays near, and nothing that one thread does can reach another robot. The interface is plain arrays, masks
// and numbers: a device that holds its robots in its own memory can stand behind it.
#include "batch/batch.h"

#include "base/task.h"
#include "batch/gpu.h"
#include "core/state_room.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/// Rows of inputs on their way.
typedef struct tdDelay
{
    int steps;      ///< 0: none
    int64_t passed; ///< rows that came in since the start
    double *rows;   ///< `steps` of them, a ring
} tdDelay;

/// A small one: calls go through thousands of them.
typedef struct tdRobot
{
    tdState *state;
    tdRoom *own;    ///< where its scratch is, if in no room of the batch
    bool at_home;   ///< it is in a room of its own, or has its scratch to itself
    tdError *error; ///< why it stopped; status TD_OK: it has not
    tdDelay delay;
} tdRobot;

/// Scratch for one robot after the other.
typedef struct tdBatchRoom
{
    tdRoom *room;
    tdTasks *tasks; ///< of whoever is in it: no threads but this one
    atomic_bool taken;
    char apart[64]; ///< so that threads do not take cache lines from each other
} tdBatchRoom;

struct tdBatch
{
    const tdModel *model;
    tdTasks *tasks;
    int n;
    tdRobot *robots;
    tdError *errors;    ///< by robot
    tdBatchRoom *rooms; ///< one a thread
    char *homes;        ///< what all robots but the first two remember, one behind the other; may be NULL
    size_t home;        ///< bytes of each
    int n_inputs;
    int *inputs;
    tdOutputs *outputs;
    tdGpuBatch *gpu; ///< has the robots, and there are none here; NULL: on the CPU
};

static bool takes_part(const uint8_t *mask, int robot)
{
    return mask == NULL || mask[robot] != 0;
}

// ---------------------------------------------------------------- life

// A room that nobody is in: there are as many as threads.
static tdBatchRoom *enter_any(tdBatch *batch)
{
    for (int i = 0;; i = (i + 1) % td_tasks_threads(batch->tasks))
        if (!atomic_exchange_explicit(&batch->rooms[i].taken, true, memory_order_acquire))
            return &batch->rooms[i];
}

static void leave(tdBatchRoom *room)
{
    if (room != NULL)
        atomic_store_explicit(&room->taken, false, memory_order_release);
}

// Before anything is done with a robot; `room`: where this thread is.
static void enter(const tdRobot *robot, tdBatchRoom *room)
{
    if (robot->at_home)
        return;
    td_room_enter(&robot->state->arena, room->room);
    robot->state->tasks = room->tasks;
}

// What a robot remembers: of all but the first two.
static char *home_of(const tdBatch *batch, int robot)
{
    return batch->homes + (size_t)(robot - 2) * batch->home;
}

typedef struct creation
{
    tdBatch *batch;
    const tdSettings *settings;
    int first;
} creation;

static void create_robot(void *context, int i)
{
    const creation *work = context;
    tdBatch *batch = work->batch;
    tdBatchRoom *room = enter_any(batch);
    int robot = i + work->first;
    td_state_create_in(batch->model, work->settings, batch->robots[0].state, room->room, room->tasks,
                       batch->homes != NULL ? home_of(batch, robot) : NULL, batch->home, &batch->robots[robot].state,
                       &batch->errors[robot]);
    leave(room);
}

// The first has its scratch to itself, and what the others go back to; the second shows how much each of the others
// has to remember.
static tdStatus create_robots(tdBatch *batch, const tdSettings *settings, tdError *error)
{
    creation work = {batch, settings, 1};
    int threads = td_tasks_threads(batch->tasks);
    TD_TRY(td_state_create_like(batch->model, settings, NULL, &batch->robots[0].state, error));
    batch->robots[0].at_home = true;
    batch->rooms = td_take((size_t)threads, sizeof *batch->rooms);
    for (int i = 0; i < threads && batch->rooms != NULL; i++)
    {
        if ((batch->rooms[i].room = td_room_create(&batch->robots[0].state->arena)) == NULL)
            return td_fail_memory(error, "the scratch of a batch");
        TD_TRY(td_tasks_create_within(&batch->rooms[i].tasks, error));
    }
    if (batch->rooms == NULL)
        return td_fail_memory(error, "a batch");
    if (batch->n > 1)
        create_robot(&work, 0);
    if (batch->n > 2 && batch->robots[1].state != NULL)
    {
        batch->home = td_state_home(batch->robots[1].state);
        batch->homes = td_take_large((size_t)batch->n - 2, batch->home);
        if (batch->homes == NULL)
            return td_fail_memory(error, "a batch");
        work.first = 2;
        td_parallel(batch->tasks, batch->n - 2, create_robot, &work);
    }
    for (int i = 1; i < batch->n; i++)
        if (batch->robots[i].state == NULL)
        {
            if (error != NULL)
                *error = batch->errors[i];
            return batch->errors[i].status;
        }
    return TD_OK;
}

tdStatus td_batch_create(const tdModel *model, const tdSettings *settings, int robots, tdBatch **out, tdError *error)
{
    *out = NULL;
    if (robots < 1)
        return td_fail(error, TD_ERROR_USAGE, "a batch of %d robots; at least 1 is needed", robots);
    tdSettings plain = settings != NULL ? *settings : td_default_settings();
    tdBatch *batch = td_take(1, sizeof *batch);
    if (batch == NULL)
        return td_fail_memory(error, "a batch");
    bool gpu = plain.device == TD_DEVICE_GPU;
    batch->model = model;
    batch->robots = td_take(gpu ? 1 : (size_t)robots, sizeof *batch->robots);
    batch->errors = td_take(gpu ? 1 : (size_t)robots, sizeof *batch->errors);
    batch->inputs = td_take((size_t)model->n_inputs + 1, sizeof *batch->inputs);
    bool good = batch->robots != NULL && batch->errors != NULL && batch->inputs != NULL;
    batch->n = good ? robots : 0;
    for (int i = 0; i < robots && good && !gpu; i++)
        batch->robots[i].error = &batch->errors[i];
    tdStatus status = good ? TD_OK : td_fail_memory(error, "a batch");
    for (int i = 0; i < model->n_inputs && status == TD_OK; i++)
        batch->inputs[batch->n_inputs++] = i;
    if (status == TD_OK)
        status = td_tasks_create(plain.threads, &batch->tasks, error);
    if (status == TD_OK)
        status = td_outputs_create(model, 0, NULL, &batch->outputs, error);
    if (status == TD_OK)
        status =
            gpu ? td_gpu_batch_create(model, &plain, robots, &batch->gpu, error) : create_robots(batch, &plain, error);
    if (status != TD_OK)
    {
        td_batch_free(batch);
        return status;
    }
    *out = batch;
    return TD_OK;
}

void td_batch_free(tdBatch *batch)
{
    if (batch == NULL)
        return;
    bool gpu = batch->gpu != NULL;
    td_gpu_batch_free(batch->gpu);
    for (int i = batch->n - 1; i >= 0 && !gpu; i--) // the first has what the others go back to
    {
        if (batch->robots[i].state != NULL && !batch->robots[i].at_home)
            batch->robots[i].state->tasks = NULL; // of a room
        td_state_free(batch->robots[i].state);
        free(batch->robots[i].own);
        free(batch->robots[i].delay.rows);
    }
    for (int i = 0; i < td_tasks_threads(batch->tasks) && batch->rooms != NULL; i++)
    {
        free(batch->rooms[i].room);
        td_tasks_free(batch->rooms[i].tasks);
    }
    free(batch->rooms);
    free(batch->homes);
    td_tasks_free(batch->tasks);
    td_outputs_free(batch->outputs);
    free(batch->inputs);
    free(batch->errors);
    free(batch->robots);
    free(batch);
}

tdTasks *td_batch_tasks(tdBatch *batch)
{
    return batch->tasks;
}

int td_batch_robots(const tdBatch *batch)
{
    return batch->n;
}

tdState *td_batch_state(const tdBatch *batch, int robot)
{
    assert(robot >= 0 && robot < batch->n);
    if (batch->gpu != NULL)
        return td_gpu_batch_state(batch->gpu, robot);
    // Whoever asks may do with it what he likes, when he likes: it gets scratch of its own, for good.
    tdRobot *one = &batch->robots[robot];
    if (one->at_home)
        return one->state;
    tdTasks *tasks = NULL;
    if (one->own == NULL)
        one->own = td_room_create(&batch->robots[0].state->arena);
    if (one->own == NULL || td_tasks_create_within(&tasks, NULL) != TD_OK)
        return NULL;
    one->at_home = td_room_enter(&one->state->arena, one->own);
    one->state->tasks = tasks;
    return one->state;
}

const tdError *td_batch_error(const tdBatch *batch, int robot)
{
    assert(robot >= 0 && robot < batch->n);
    return batch->gpu != NULL ? td_gpu_batch_error(batch->gpu, robot) : &batch->errors[robot];
}

// ---------------------------------------------------------------- what rows hold

// Rows on their way are of other inputs, or of another length.
static void forget_rows(tdBatch *batch)
{
    for (int i = 0; i < batch->n && batch->gpu == NULL; i++)
    {
        free(batch->robots[i].delay.rows);
        batch->robots[i].delay.rows = NULL;
        batch->robots[i].delay.passed = 0;
    }
}

// Room for the rows of all delays.
static tdStatus take_rows(tdBatch *batch, tdError *error)
{
    for (int i = 0; i < batch->n && batch->gpu == NULL; i++)
    {
        tdDelay *delay = &batch->robots[i].delay;
        if (delay->steps > 0 && delay->rows == NULL)
            delay->rows = td_take((size_t)delay->steps * ((size_t)batch->n_inputs + 1), sizeof(double));
        if (delay->steps > 0 && delay->rows == NULL)
            return td_fail_memory(error, "the delays of a batch");
    }
    return TD_OK;
}

tdStatus td_batch_choose_inputs(tdBatch *batch, int n, const int *inputs, tdError *error)
{
    int most = batch->model->n_inputs;
    if (n < 0 || n > most)
        return td_fail(error, TD_ERROR_USAGE, "%d inputs were chosen, and the scene has %d", n, most);
    for (int i = 0; i < n; i++)
    {
        if (inputs[i] < 0 || inputs[i] >= most)
            return td_fail(error, TD_ERROR_USAGE, "there is no input %d; the scene has %d", inputs[i], most);
        for (int j = 0; j < i; j++)
            if (inputs[i] == inputs[j])
                return td_fail(error, TD_ERROR_USAGE, "input '%s' was chosen twice",
                               batch->model->inputs[inputs[i]].name);
    }
    if (n > 0)
        memcpy(batch->inputs, inputs, (size_t)n * sizeof *inputs);
    batch->n_inputs = n;
    forget_rows(batch);
    return take_rows(batch, error);
}

tdStatus td_batch_choose_outputs(tdBatch *batch, int n, const char *const *names, tdError *error)
{
    tdOutputs *chosen = NULL;
    TD_TRY(td_outputs_create(batch->model, n, names, &chosen, error));
    tdStatus status = batch->gpu != NULL ? td_gpu_batch_choose(batch->gpu, chosen, error) : TD_OK;
    if (status != TD_OK)
    {
        td_outputs_free(chosen);
        return status;
    }
    td_outputs_free(batch->outputs);
    batch->outputs = chosen;
    return TD_OK;
}

const tdOutputs *td_batch_outputs(const tdBatch *batch)
{
    return batch->outputs;
}

// ---------------------------------------------------------------- robot by robot

/// What is done to each robot of a call, in parallel.
typedef struct errand
{
    tdBatch *batch;
    const uint8_t *mask;
    char *memory;
    size_t stride;
    const tdSpan *span;
    const tdRollout *rollout;
    /// To a robot that takes part, in a room. A failure tells why in *refused.
    void (*task)(struct errand *work, int robot, tdError *refused);
    int share;        ///< robots of a piece
    atomic_int first; ///< robot that was refused, of all that were
    atomic_bool telling;
    tdError refused;   ///< why, see tell()
    atomic_bool ended; ///< somebody was told to end: so are all
} errand;

// Keeps what is said of the first of all robots that were refused.
static void tell(errand *work, int robot, const tdError *refused)
{
    while (atomic_exchange_explicit(&work->telling, true, memory_order_acquire))
        ; // for as long as a kilobyte is copied, where something is wrong
    if (robot < atomic_load_explicit(&work->first, memory_order_relaxed))
    {
        work->refused = *refused;
        atomic_store_explicit(&work->first, robot, memory_order_relaxed);
    }
    atomic_store_explicit(&work->telling, false, memory_order_release);
}

static void run_share(void *context, int piece)
{
    errand *work = context;
    tdBatch *batch = work->batch;
    int begin = piece * work->share, end = begin + work->share < batch->n ? begin + work->share : batch->n;
    tdBatchRoom *room = NULL;
    tdError refused = {0};
    for (int i = begin; i < end; i++)
    {
        if (!takes_part(work->mask, i))
            continue;
        if (room == NULL)
            room = enter_any(batch);
        enter(&batch->robots[i], room);
        work->task(work, i, &refused);
        if (refused.status != TD_OK)
            tell(work, i, &refused);
        refused.status = TD_OK;
    }
    leave(room);
}

// Tells of the first robot that was refused.
static tdStatus run_errand(errand *work, tdError *error)
{
    tdBatch *batch = work->batch;
    atomic_store(&work->first, INT_MAX);
    td_parallel(batch->tasks, td_pieces(batch->n, work->share), run_share, work);
    if (atomic_load(&work->first) == INT_MAX)
        return TD_OK;
    return td_fail(error, work->refused.status, "robot %d: %.600s", atomic_load(&work->first), work->refused.message);
}

#define SHORT_SHARE 32                // robots of a piece, where one takes a microsecond
#define FETCHED     ((size_t)1 << 16) // bytes of a robot that are fetched while another one steps, at most

static void clear(tdRobot *robot)
{
    if (robot->error->status != TD_OK) // it is a kilobyte, and mostly there is none
        *robot->error = (tdError){0};
    robot->delay.passed = 0;
}

static void reset_robot(errand *work, int i, tdError *refused)
{
    tdRobot *robot = &work->batch->robots[i];
    if (td_state_reset(work->batch->model, robot->state, refused) == TD_OK)
        clear(robot);
}

tdStatus td_batch_reset(tdBatch *batch, const uint8_t *mask, tdError *error)
{
    errand work = {.batch = batch, .mask = mask, .task = reset_robot, .share = SHORT_SHARE};
    return batch->gpu != NULL ? td_gpu_batch_reset(batch->gpu, mask, error) : run_errand(&work, error);
}

static void write_robot(errand *work, int i, tdError *refused)
{
    const tdRobot *robot = &work->batch->robots[i];
    td_state_write(work->batch->model, robot->state, work->memory + (size_t)i * work->stride,
                   td_state_size(work->batch->model, robot->state), refused);
}

static void read_robot(errand *work, int i, tdError *refused)
{
    tdRobot *robot = &work->batch->robots[i];
    size_t size = td_state_size(work->batch->model, robot->state);
    if (td_state_read(work->batch->model, robot->state, work->memory + (size_t)i * work->stride, size, refused) ==
        TD_OK)
        clear(robot);
}

tdStatus td_batch_write(const tdBatch *batch, void *memory, size_t stride, const uint8_t *mask, tdError *error)
{
    if (batch->gpu != NULL)
        return td_gpu_batch_write(batch->gpu, memory, stride, mask, error);
    size_t size = td_state_size(batch->model, batch->robots[0].state);
    if (stride < size)
        return td_fail(error, TD_ERROR_USAGE, "states of %llu bytes are to be written %llu bytes apart",
                       (unsigned long long)size, (unsigned long long)stride);
    errand work = {.batch = (tdBatch *)batch,
                   .mask = mask,
                   .memory = memory,
                   .stride = stride,
                   .task = write_robot,
                   .share = SHORT_SHARE};
    return run_errand(&work, error);
}

tdStatus td_batch_read(tdBatch *batch, const void *memory, size_t stride, const uint8_t *mask, tdError *error)
{
    errand work = {.batch = batch,
                   .mask = mask,
                   .memory = (char *)memory,
                   .stride = stride,
                   .task = read_robot,
                   .share = SHORT_SHARE};
    return batch->gpu != NULL ? td_gpu_batch_read(batch->gpu, memory, stride, mask, error) : run_errand(&work, error);
}

static void read_row(errand *work, int i, tdError *refused)
{
    const tdSpan *to = work->span;
    (void)refused;
    td_outputs_read(work->batch->outputs, work->batch->model, work->batch->robots[i].state, to->data + i * to->robot,
                    to->number);
}

tdStatus td_batch_read_outputs(tdBatch *batch, const tdSpan *outputs, const uint8_t *mask, tdError *error)
{
    errand work = {.batch = batch, .mask = mask, .span = outputs, .task = read_row, .share = SHORT_SHARE};
    if (batch->gpu != NULL)
    {
        tdRollout look = {.rows = 1, .outputs = *outputs, .mask = mask};
        return td_gpu_batch_rollout(batch->gpu, &look, 0, NULL, error);
    }
    return run_errand(&work, error);
}

// ---------------------------------------------------------------- parameters, delays

tdStatus td_batch_set_parameter(tdBatch *batch, tdParameter parameter, int index, const double *values, int64_t stride,
                                const uint8_t *mask, tdError *error)
{
    if (batch->gpu != NULL)
        return td_gpu_batch_set(batch->gpu, parameter, index, values, stride, mask, error);
    for (int i = 0; i < batch->n; i++)
    {
        tdError why = {0};
        if (!takes_part(mask, i))
            continue;
        enter(&batch->robots[i], &batch->rooms[0]); // nobody else is in it now
        tdStatus status =
            td_state_set_parameter(batch->model, batch->robots[i].state, parameter, index, values[i * stride], &why);
        if (status != TD_OK)
            return td_fail(error, status, "robot %d: %.600s", i, why.message);
    }
    return TD_OK;
}

tdStatus td_batch_set_delay(tdBatch *batch, const double *values, int64_t stride, const uint8_t *mask, tdError *error)
{
    double h = batch->model->scheme.h;
    for (int i = 0; i < batch->n; i++)
        if (takes_part(mask, i) && !(values[i * stride] >= 0 && values[i * stride] / h < 1e6))
            return td_fail(error, TD_ERROR_INPUT, "robot %d: a delay of %g s; give 0 to a million steps of %g s", i,
                           values[i * stride], h);
    if (batch->gpu != NULL)
        return td_fail(error, TD_ERROR_USAGE,
                       "the GPU does not delay inputs; hand over each row as many steps later, or use 'device: cpu'");
    for (int i = 0; i < batch->n; i++)
    {
        tdDelay *delay = &batch->robots[i].delay;
        int steps = takes_part(mask, i) ? (int)lround(values[i * stride] / h) : delay->steps;
        if (steps == delay->steps)
            continue;
        free(delay->rows);
        *delay = (tdDelay){.steps = steps};
    }
    return take_rows(batch, error);
}

// ---------------------------------------------------------------- rollouts

tdRollout td_default_rollout(void)
{
    return (tdRollout){.rows = 1, .hold = 1};
}

static tdStatus set_inputs(const tdBatch *batch, tdRobot *robot, const double *row, int64_t stride)
{
    for (int k = 0; k < batch->n_inputs; k++)
        if (td_state_set_input(batch->model, robot->state, batch->inputs[k], row[k * stride]) != TD_OK)
            return td_fail(robot->error, TD_ERROR_USAGE,
                           "input '%s' is %g; give a finite number, or NaN for the "
                           "scene's motion",
                           batch->model->inputs[batch->inputs[k]].name, row[k * stride]);
    return TD_OK;
}

// A row comes in; the one that came `steps` before it takes effect. NULL: the last one stays.
static tdStatus feed(const tdBatch *batch, tdRobot *robot, const double *row, int64_t stride)
{
    tdDelay *delay = &robot->delay;
    if (delay->steps == 0)
        return row == NULL ? TD_OK : set_inputs(batch, robot, row, stride);
    if (row == NULL && delay->passed == 0)
        return TD_OK;
    if (row == NULL)
    {
        row = delay->rows + (delay->passed - 1) % delay->steps * batch->n_inputs;
        stride = 1;
    }
    double *place = delay->rows + delay->passed % delay->steps * batch->n_inputs;
    tdStatus status = delay->passed >= delay->steps ? set_inputs(batch, robot, place, 1) : TD_OK;
    for (int k = 0; k < batch->n_inputs; k++)
        place[k] = row[k * stride];
    delay->passed++;
    return status;
}

// Steps of one row. Returns how many were taken; fewer: robot->error says why, or it was cancelled.
static int take_row(errand *work, tdRobot *robot, const double *row, bool *cancelled)
{
    const tdBatch *batch = work->batch;
    const tdRollout *rollout = work->rollout;
    for (int s = 0; s < rollout->hold; s++)
    {
        // Who cancels may answer one thread alone.
        if ((*cancelled = atomic_load_explicit(&work->ended, memory_order_relaxed)))
            return s;
        if ((s == 0 || robot->delay.steps > 0) && feed(batch, robot, row, rollout->inputs.number) != TD_OK)
            return s;
        tdStatus status = td_step(batch->model, robot->state);
        if (status == TD_OK)
            continue;
        *cancelled = status == TD_CANCELLED;
        if (!*cancelled)
        {
            *robot->error = td_state_report(robot->state)->error;
            robot->error->status = status;
        }
        return s;
    }
    return rollout->hold;
}

// Has the memory of a robot fetched while another one steps.
static void ask_ahead(const tdBatch *batch, int robot)
{
    if (batch->homes == NULL || robot < 2 || robot >= batch->n)
        return;
    const char *home = home_of(batch, robot);
    size_t bytes = batch->home < FETCHED ? batch->home : FETCHED;
    for (size_t k = 0; k < bytes; k += TD_ALIGN)
        __builtin_prefetch(home + k, 1, 2);
}

static void roll_robot(errand *work, int i, tdError *refused)
{
    const tdBatch *batch = work->batch;
    const tdRollout *rollout = work->rollout;
    const tdSpan *in = &rollout->inputs, *out = &rollout->outputs;
    tdRobot *robot = &batch->robots[i];
    bool cancelled = false;
    int steps = 0;
    ask_ahead(batch, i + td_tasks_threads(batch->tasks));
    for (int t = 0; t < rollout->rows; t++)
    {
        const double *row = in->data == NULL ? NULL : in->data + i * in->robot + t * in->time;
        double *to = out->data == NULL ? NULL : out->data + i * out->robot + t * out->time;
        cancelled = cancelled || atomic_load_explicit(&work->ended, memory_order_relaxed);
        bool goes = robot->error->status == TD_OK && !cancelled;
        int taken = goes ? take_row(work, robot, row, &cancelled) : 0;
        bool whole = goes && taken == rollout->hold;
        steps += taken;
        if (to != NULL && whole)
            td_outputs_read(batch->outputs, batch->model, robot->state, to, out->number);
        for (int64_t k = 0; to != NULL && !whole && k < td_outputs_width(batch->outputs); k++)
            to[k * out->number] = NAN;
    }
    if (rollout->status != NULL)
        rollout->status[i] = cancelled ? TD_CANCELLED : robot->error->status;
    if (rollout->steps != NULL)
        rollout->steps[i] = steps;
    if (!cancelled)
        return;
    atomic_store_explicit(&work->ended, true, memory_order_relaxed);
    td_fail(refused, TD_CANCELLED, "cancelled after %d steps", steps);
}

tdStatus td_batch_rollout(tdBatch *batch, const tdRollout *rollout, tdError *error)
{
    if (rollout->rows < 0 || rollout->hold < 1)
        return td_fail(error, TD_ERROR_USAGE, "a rollout of %d rows with %d steps each", rollout->rows, rollout->hold);
    errand work = {.batch = batch, .mask = rollout->mask, .rollout = rollout, .task = roll_robot, .share = 1};
    if (rollout->on_device && batch->gpu == NULL)
        return td_fail(error, TD_ERROR_USAGE,
                       "inputs and outputs are in GPU memory, but the robots of this batch are not");
    if (batch->gpu != NULL)
        return td_gpu_batch_rollout(batch->gpu, rollout, batch->n_inputs, batch->inputs, error);
    return run_errand(&work, error);
}
