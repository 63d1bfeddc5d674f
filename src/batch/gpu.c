// SPDX-License-Identifier: Apache-2.0
// Robots on a GPU. The device has a row of numbers for each (gpu/plan.h); here there is one state, which takes the
// shape of a robot where one is asked for, so that whatever can be read of a state can be read of a robot there, and
// values of states go from one device to the other.
#include "batch/gpu.h"

#include "base/log.h"
#include "gpu/compile.h"
#include "gpu/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tdGpuBatch
{
    const tdModel *model;
    tdSettings settings;
    tdGpuLibrary library;
    tdGpuRobots *robots;
    tdGpuPlan *plan;
    int n;
    tdState *state; ///< the shape of one robot, for the moment only
    double *rows;   ///< n x width: of all robots, for the moment only
    double *start;  ///< width: the row of a robot at the start
    bool varied;    ///< some parameter has been set: rows of robots differ at the start
    double *motion; ///< the scene's inputs at the ends of steps
    int64_t motion_capacity;
    int64_t *steps; ///< by robot
    int32_t *taken, *status;
    bool told;     ///< of steps that one linearization does not describe
    tdError error; ///< of td_gpu_batch_error()
};

static bool takes_part(const uint8_t *mask, int robot)
{
    return mask == NULL || mask[robot] != 0;
}

static tdStatus device_failed(const char *why, tdError *error)
{
    return why == NULL ? TD_OK : td_fail(error, TD_ERROR_NUMERIC, "the GPU has failed: %.500s", why);
}

// ---------------------------------------------------------------- life

static tdStatus take_room(tdGpuBatch *batch, tdError *error)
{
    size_t n = (size_t)batch->n, width = (size_t)batch->plan->at.width;
    batch->rows = td_take(n * width, sizeof *batch->rows);
    batch->start = td_take(width, sizeof *batch->start);
    batch->steps = td_take(n, sizeof *batch->steps);
    batch->taken = td_take(n, sizeof *batch->taken);
    batch->status = td_take(n, sizeof *batch->status);
    if (batch->rows == NULL || batch->start == NULL || batch->steps == NULL || batch->taken == NULL ||
        batch->status == NULL)
        return td_fail_memory(error, "a batch");
    return TD_OK;
}

tdStatus td_gpu_batch_create(const tdModel *model, const tdSettings *settings, int robots, tdGpuBatch **out,
                             tdError *error)
{
    tdGpuBatch *batch = *out = td_take(1, sizeof *batch);
    if (batch == NULL)
        return td_fail_memory(error, "a batch");
    batch->model = model;
    batch->settings = *settings;
    batch->n = robots;
    TD_TRY(td_gpu_compile(model, settings, NULL, &batch->plan, error));
    TD_TRY(td_gpu_open(settings->gpu, &batch->library, error));
    TD_TRY(td_state_create_like(model, settings, NULL, &batch->state, error));
    TD_TRY(take_room(batch, error));
    const char *why = batch->library.back->create(batch->plan, robots, &batch->robots);
    if (why != NULL)
        return td_fail(error, TD_ERROR_MEMORY, "%d robots on the GPU: %.400s", robots, why);
    td_gpu_row(model, batch->state, batch->plan, batch->start);
    return device_failed(batch->library.back->put(batch->robots, NULL, batch->start, 0), error);
}

void td_gpu_batch_free(tdGpuBatch *batch)
{
    if (batch == NULL)
        return;
    if (batch->robots != NULL)
        batch->library.back->free(batch->robots);
    td_gpu_close(&batch->library);
    td_state_free(batch->state);
    free(batch->plan);
    free(batch->rows);
    free(batch->start);
    free(batch->motion);
    free(batch->steps);
    free(batch->taken);
    free(batch->status);
    free(batch);
}

tdStatus td_gpu_batch_choose(tdGpuBatch *batch, const tdOutputs *outputs, tdError *error)
{
    tdGpuPlan *plan = NULL;
    TD_TRY(td_gpu_compile(batch->model, &batch->settings, outputs, &plan, error));
    tdStatus status = device_failed(batch->library.back->replan(batch->robots, plan), error);
    if (status != TD_OK)
    {
        free(plan);
        return status;
    }
    free(batch->plan);
    batch->plan = plan;
    return TD_OK;
}

// ---------------------------------------------------------------- rows and states

static double *row_of(const tdGpuBatch *batch, int robot)
{
    return batch->rows + (int64_t)robot * batch->plan->at.width;
}

static tdStatus get_rows(tdGpuBatch *batch, const uint8_t *mask, tdError *error)
{
    return device_failed(batch->library.back->get(batch->robots, mask, batch->rows, batch->plan->at.width), error);
}

// Rows to the device; what was known of those robots is so again.
static tdStatus put_rows(tdGpuBatch *batch, const uint8_t *mask, tdError *error)
{
    for (int i = 0; i < batch->n; i++)
        if (takes_part(mask, i))
        {
            batch->steps[i] = (int64_t)row_of(batch, i)[batch->plan->at.steps];
            batch->status[i] = (int32_t)row_of(batch, i)[batch->plan->at.status];
        }
    return device_failed(batch->library.back->put(batch->robots, mask, batch->rows, batch->plan->at.width), error);
}

static tdStatus shape(tdGpuBatch *batch, int robot, tdError *error)
{
    return td_gpu_state(batch->model, batch->plan, row_of(batch, robot), batch->state, error);
}

tdState *td_gpu_batch_state(tdGpuBatch *batch, int robot)
{
    uint8_t *mask = td_take((size_t)batch->n, 1);
    if (mask == NULL)
        return NULL;
    mask[robot] = 1;
    tdStatus status = get_rows(batch, mask, NULL);
    free(mask);
    return status == TD_OK && shape(batch, robot, NULL) == TD_OK ? batch->state : NULL;
}

const tdError *td_gpu_batch_error(tdGpuBatch *batch, int robot)
{
    static const char *const why[] = {
        [TD_GPU_GOES] = "",
        [TD_GPU_NOT_FINITE] = "a velocity is not finite",
        [TD_GPU_INDEFINITE] = "the reduced matrix of the step is not positive definite",
        [TD_GPU_CONTRADICTED] = "the driven actuators contradict each other or the limits of their efforts",
        [TD_GPU_NO_PHYSICS] =
            "the body has gained energy from nothing, more than it ever received as work: this is not physical",
        [TD_GPU_BAD_ELEMENT] = "an element turned inside out or flew apart",
        [TD_GPU_BAD_INPUT] = "an input is infinite; give a finite number, or NaN for the scene's motion",
        [TD_GPU_OVERLAPS] =
            "points of the surface are deeper in another body than contact allows: start the bodies apart",
        [TD_GPU_CROWDED] = "more points touch than the GPU has room for; give the body a coarser contact surface",
        [TD_GPU_NO_CONTACT] = "the contact problem has numbers that are not finite, or a matrix that is not definite",
    };
    int status = batch->status[robot];
    batch->error = (tdError){0};
    if (status == TD_GPU_GOES)
        return &batch->error;
    double h = batch->model->scheme.h;
    long long step = (long long)batch->steps[robot] + 1;
    td_fail(&batch->error, status == TD_GPU_BAD_INPUT ? TD_ERROR_USAGE : TD_ERROR_NUMERIC,
            "%s at t = %g s (step %lld); %s", why[status], (double)step * h, step,
            status == TD_GPU_OVERLAPS || status == TD_GPU_CROWDED ? "or use 'device: cpu'"
            : status == TD_GPU_BAD_INPUT                          ? "then reset the robot"
                                         : "use a smaller time_step or smaller loads, or 'device: cpu', which repeats "
                                           "such a step with Newton's method");
    return &batch->error;
}

tdStatus td_gpu_batch_reset(tdGpuBatch *batch, const uint8_t *mask, tdError *error)
{
    const tdGpuRow *at = &batch->plan->at;
    for (int i = 0; i < batch->n; i++)
        if (takes_part(mask, i))
        {
            batch->steps[i] = 0;
            batch->status[i] = TD_GPU_GOES;
        }
    if (!batch->varied)
        return device_failed(batch->library.back->put(batch->robots, mask, batch->start, 0), error);
    TD_TRY(get_rows(batch, mask, error));
    for (int i = 0; i < batch->n; i++)
    {
        double *row = row_of(batch, i), old[4];
        if (!takes_part(mask, i))
            continue;
        // Parameters stay: those behind the inputs that are set, and the factors.
        memcpy(old, (double[]){row[at->young], row[at->mass], row[at->damping], row[at->friction]}, sizeof old);
        memcpy(row, batch->start, (size_t)at->offset * sizeof *row);
        row[at->young] = old[0];
        row[at->mass] = old[1];
        row[at->damping] = old[2];
        row[at->friction] = old[3];
    }
    return put_rows(batch, mask, error);
}

tdStatus td_gpu_batch_set(tdGpuBatch *batch, tdParameter parameter, int index, const double *values, int64_t stride,
                          const uint8_t *mask, tdError *error)
{
    tdStatus status = get_rows(batch, mask, error);
    int done = 0;
    for (; done < batch->n && status == TD_OK; done++)
    {
        tdError why = {0};
        if (!takes_part(mask, done))
            continue;
        double stopped = row_of(batch, done)[batch->plan->at.status],
               doubts = row_of(batch, done)[batch->plan->at.doubts];
        status = shape(batch, done, &why);
        if (status == TD_OK)
            status = td_state_set_parameter(batch->model, batch->state, parameter, index, values[done * stride], &why);
        if (status != TD_OK)
            return td_fail(error, status, "robot %d: %.600s", done, why.message);
        td_gpu_row(batch->model, batch->state, batch->plan, row_of(batch, done));
        row_of(batch, done)[batch->plan->at.status] = stopped;
        row_of(batch, done)[batch->plan->at.doubts] = doubts;
    }
    batch->varied = true;
    return status == TD_OK ? put_rows(batch, mask, error) : status;
}

tdStatus td_gpu_batch_write(tdGpuBatch *batch, void *memory, size_t stride, const uint8_t *mask, tdError *error)
{
    size_t size = td_state_size(batch->model, batch->state);
    if (stride < size)
        return td_fail(error, TD_ERROR_USAGE, "states of %llu bytes are to be written %llu bytes apart",
                       (unsigned long long)size, (unsigned long long)stride);
    TD_TRY(get_rows(batch, mask, error));
    for (int i = 0; i < batch->n; i++)
    {
        if (!takes_part(mask, i))
            continue;
        TD_TRY(shape(batch, i, error));
        TD_TRY(td_state_write(batch->model, batch->state, (char *)memory + (size_t)i * stride, size, error));
    }
    return TD_OK;
}

tdStatus td_gpu_batch_read(tdGpuBatch *batch, const void *memory, size_t stride, const uint8_t *mask, tdError *error)
{
    size_t size = td_state_size(batch->model, batch->state);
    batch->varied = true; // a value has its parameters
    if (stride == 0)      // all are where one is, as sampling control has it in every turn
    {
        double *row = row_of(batch, 0);
        TD_TRY(td_state_read(batch->model, batch->state, memory, size, error));
        td_gpu_row(batch->model, batch->state, batch->plan, row);
        for (int i = 0; i < batch->n; i++)
            if (takes_part(mask, i))
            {
                batch->steps[i] = (int64_t)row[batch->plan->at.steps];
                batch->status[i] = TD_GPU_GOES;
            }
        return device_failed(batch->library.back->put(batch->robots, mask, row, 0), error);
    }
    for (int i = 0; i < batch->n; i++)
    {
        tdError why = {0};
        if (!takes_part(mask, i))
            continue;
        tdStatus status =
            td_state_read(batch->model, batch->state, (const char *)memory + (size_t)i * stride, size, &why);
        if (status != TD_OK)
            return td_fail(error, status, "robot %d: %.600s", i, why.message);
        td_gpu_row(batch->model, batch->state, batch->plan, row_of(batch, i));
    }
    return put_rows(batch, mask, error);
}

// ---------------------------------------------------------------- rollouts

static bool moves(const tdModel *model)
{
    bool any = false;
    for (int i = 0; i < model->n_inputs; i++)
        any = any || model->inputs[i].column >= 0;
    return any;
}

// The scene's inputs for all steps that robots may take in this call.
static tdStatus fill_motion(tdGpuBatch *batch, const uint8_t *mask, int64_t most, tdGpuSteps *steps, tdError *error)
{
    const tdModel *model = batch->model;
    int64_t first = INT64_MAX, last = 0;
    for (int i = 0; i < batch->n; i++)
        if (takes_part(mask, i))
        {
            first = batch->steps[i] < first ? batch->steps[i] : first;
            last = batch->steps[i] > last ? batch->steps[i] : last;
        }
    bool constant = !moves(model);
    first = first == INT64_MAX || constant ? 0 : first > 0 ? first - 1 : 0; // outputs look back
    steps->motion_first = first;
    steps->motion_rows = constant ? 1 : last + most - first + 1;
    if (steps->motion_rows > INT64_C(20000000))
        return td_fail(error, TD_ERROR_USAGE,
                       "robots of the batch are %lld steps apart, too many for the table of the scene's motion; reset "
                       "those that are far ahead",
                       (long long)steps->motion_rows);
    if (!td_grow((void **)&batch->motion, &batch->motion_capacity, steps->motion_rows * (model->n_inputs + 1),
                 sizeof *batch->motion))
        return td_fail_memory(error, "the motion of a scene");
    for (int64_t s = 0; s < steps->motion_rows; s++)
        for (int i = 0; i < model->n_inputs; i++)
            batch->motion[s * model->n_inputs + i] =
                td_input_value(model, i, (double)(first + s + 1) * model->scheme.h);
    steps->motion = batch->motion;
    return TD_OK;
}

static void tell(tdGpuBatch *batch, int64_t doubts)
{
    if (doubts > 0 && !batch->told)
        td_log(&batch->settings, TD_LOG_WARNING,
               "%lld steps of this call were too large for one linearization; 'device: cpu' repeats "
               "such steps with Newton's method, the GPU does not: use a smaller time_step, or inputs that change "
               "less in a step",
               (long long)doubts);
    batch->told = batch->told || doubts > 0;
}

#define CALL 256 // rows of a call to the device, after which it is asked whether to go on

tdStatus td_gpu_batch_rollout(tdGpuBatch *batch, const tdRollout *rollout, int n_inputs, const int *inputs,
                              tdError *error)
{
    const tdSpan *in = &rollout->inputs, *out = &rollout->outputs;
    tdGpuSteps steps = {.hold = rollout->hold,
                        .n_inputs = n_inputs,
                        .chosen = inputs,
                        .on_device = rollout->on_device,
                        .mask = rollout->mask,
                        .taken = batch->taken,
                        .status = batch->status};
    int64_t doubts = 0;
    bool cancelled = false;
    for (int i = 0; i < batch->n; i++)
        if (takes_part(rollout->mask, i) && rollout->steps != NULL)
            rollout->steps[i] = 0;
    int at = 0;
    for (; at < rollout->rows && !cancelled; at += steps.rows)
    {
        steps.rows = rollout->rows - at < CALL ? rollout->rows - at : CALL;
        TD_TRY(fill_motion(batch, rollout->mask, (int64_t)steps.rows * rollout->hold, &steps, error));
        steps.inputs = in->data == NULL ? NULL : in->data + at * in->time;
        steps.in_robot = in->robot;
        steps.in_time = in->time;
        steps.in_number = in->number;
        steps.outputs = out->data == NULL ? NULL : out->data + at * out->time;
        steps.out_robot = out->robot;
        steps.out_time = out->time;
        steps.out_number = out->number;
        TD_TRY(device_failed(batch->library.back->steps(batch->robots, &steps), error));
        doubts += steps.doubts;
        for (int i = 0; i < batch->n; i++)
        {
            if (!takes_part(rollout->mask, i))
                continue;
            batch->steps[i] += batch->taken[i];
            if (rollout->steps != NULL)
                rollout->steps[i] += batch->taken[i];
        }
        cancelled = batch->settings.cancel != NULL && at + steps.rows < rollout->rows &&
                    batch->settings.cancel(batch->settings.cancel_user);
    }
    for (int i = 0; i < batch->n && rollout->status != NULL; i++)
        if (takes_part(rollout->mask, i))
            rollout->status[i] = cancelled ? TD_CANCELLED : td_gpu_batch_error(batch, i)->status;
    for (int i = 0; i < batch->n && cancelled && out->data != NULL && !rollout->on_device; i++)
        for (int t = at; t < rollout->rows && takes_part(rollout->mask, i); t++)
            for (int64_t k = 0; k < batch->plan->width; k++)
                out->data[i * out->robot + t * out->time + k * out->number] = NAN;
    tell(batch, doubts);
    return cancelled ? td_fail(error, TD_CANCELLED, "cancelled after %d of %d rows", at, rollout->rows) : TD_OK;
}
