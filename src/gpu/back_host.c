// SPDX-License-Identifier: Apache-2.0
// The back end of robots on the host: the source of the device's steps, compiled by the host's compiler, one lane a
// robot. It shows on any machine that this source does what the library does.
#include "gpu/free.h"

#include <stdlib.h>
#include <string.h>

struct tdGpuRobots
{
    tdGpuPlan *plan;
    int32_t n;
    double *rows, *numbers;
    double *near, *far; // of robots that move as a whole or touch others
    float *singles;
};

const tdGpuBackEnd *td_gpu_back_end(void);

static const char *device(const char **why)
{
    *why = NULL;
    return "the host, one robot after the other";
}

static void release(tdGpuRobots *robots)
{
    if (robots == NULL)
        return;
    free(robots->plan);
    free(robots->rows);
    free(robots->numbers);
    free(robots->near);
    free(robots->far);
    free(robots->singles);
    free(robots);
}

static const char *replan(tdGpuRobots *robots, const tdGpuPlan *plan)
{
    tdGpuPlan *copy = malloc((size_t)plan->bytes);
    if (copy == NULL)
        return "there is not enough memory for the plan";
    memcpy(copy, plan, (size_t)plan->bytes);
    copy->arrays = (const char *)copy;
    free(robots->plan);
    robots->plan = copy;
    return NULL;
}

static const char *create(const tdGpuPlan *plan, int32_t n, tdGpuRobots **out)
{
    size_t r = (size_t)plan->r, a = (size_t)plan->actuators;
    tdGpuRobots *robots = *out = calloc(1, sizeof *robots);
    if (robots == NULL || replan(robots, plan) != NULL)
        return "there is not enough memory for the robots";
    robots->n = n;
    robots->rows = calloc((size_t)n * (size_t)plan->at.width, sizeof(double));
    robots->singles =
        calloc(r * (r + 1) / 2 + (1 + a) * r + 2 * r + TD_GPU_ACROSS * TD_ROW_U(r) + a * (a + 1), sizeof(float));
    robots->numbers = calloc(3 * (size_t)plan->cable_points + TD_CABLE_NUMBERS * a + TD_SMALL(a) + 1, sizeof(double));
    robots->near = calloc(plan->apart != 0 ? (size_t)td_free_near(plan) : 1, sizeof(double));
    robots->far = calloc(plan->apart != 0 ? (size_t)td_touch_far(plan) : 1, sizeof(double));
    return robots->rows == NULL || robots->singles == NULL || robots->numbers == NULL || robots->near == NULL ||
                   robots->far == NULL
               ? "there is not enough memory for the robots"
               : NULL;
}

static bool takes_part(const uint8_t *mask, int i)
{
    return mask == NULL || mask[i] != 0;
}

static const char *put(tdGpuRobots *robots, const uint8_t *mask, const double *rows, int64_t stride)
{
    int64_t width = robots->plan->at.width;
    for (int i = 0; i < robots->n; i++)
        if (takes_part(mask, i))
            memcpy(robots->rows + i * width, rows + i * stride, (size_t)width * sizeof *rows);
    return NULL;
}

static const char *get(tdGpuRobots *robots, const uint8_t *mask, double *rows, int64_t stride)
{
    int64_t width = robots->plan->at.width;
    for (int i = 0; i < robots->n; i++)
        if (takes_part(mask, i))
            memcpy(rows + i * stride, robots->rows + i * width, (size_t)width * sizeof *rows);
    return NULL;
}

static const char *tables_of(const tdGpuPlan *plan)
{
    return plan->arrays + plan->M;
}

static tdRobotWork work_of(const tdGpuRobots *robots)
{
    int r = robots->plan->r, a = robots->plan->actuators;
    tdRobotWork work = {.S = robots->singles, .tables = tables_of(robots->plan)};
    work.f = work.S + td_row(r, r + 1 + a);
    work.load = work.f + r;
    work.u = work.load + r;
    work.products = work.u + TD_GPU_ACROSS * (size_t)TD_ROW_U(r);
    work.place = robots->numbers;
    work.cable = work.place + 3 * (size_t)robots->plan->cable_points;
    work.matrix = work.cable + TD_CABLE_NUMBERS * (size_t)a;
    return work;
}

// The scene's inputs at the end of the step from `step` on.
static const double *motion_at(const tdGpuPlan *plan, const tdGpuSteps *steps, double step)
{
    int64_t k = (int64_t)step - steps->motion_first;
    k = k < 0 ? 0 : k >= steps->motion_rows ? steps->motion_rows - 1 : k;
    return steps->motion + k * plan->inputs;
}

// A step of one robot, by the lanes that it has.
typedef struct Step
{
    tdGpuRobots *robots;
    const tdRobotWork *work;
    const double *motion;
    double *row;
} Step;

static void advance(void *data, int lane)
{
    const Step *step = data;
    const tdGpuPlan *plan = step->robots->plan;
#if defined(TD_LANES) // as many as a device has (tests/gpu/warp.h)
    const tdLanes lanes = {lane, 32, ~0u, TD_WARP_ROWS(plan->coords)};
#else
    const tdLanes lanes = {lane, 1, 1, 0};
#endif
    float energy;
    bool odd = td_robot_assemble(plan, step->row, lanes, step->work, &energy);
    if (plan->apart != 0)
    {
        tdFreeWork own = td_free_room(plan, step->work, lanes, step->robots->near, step->robots->far);
        td_free_advance(plan, step->row, step->motion, lanes, step->work, &own, energy, odd);
    }
    else
        td_robot_advance(plan, step->row, step->motion, lanes, step->work, energy, odd);
}

static int take_row(tdGpuRobots *robots, const tdGpuSteps *steps, double *row)
{
    const tdGpuPlan *plan = robots->plan;
    tdRobotWork work = work_of(robots);
    int taken = 0;
    for (; taken < steps->hold && row[plan->at.status] == TD_GPU_GOES; taken++)
    {
        Step step = {robots, &work, motion_at(plan, steps, row[plan->at.steps]), row};
#if defined(TD_LANES)
        warp_run(advance, &step);
#else
        advance(&step, 0);
#endif
    }
    return taken - (row[plan->at.status] != TD_GPU_GOES && taken > 0);
}

static const char *take_steps(tdGpuRobots *robots, tdGpuSteps *steps)
{
    const tdGpuPlan *plan = robots->plan;
    const tdLanes lanes = {0, 1, 1, 0};
    steps->doubts = 0;
    for (int i = 0; i < robots->n; i++)
    {
        double *row = robots->rows + (int64_t)i * plan->at.width, doubts = row[plan->at.doubts];
        if (!takes_part(steps->mask, i))
            continue;
        int taken = 0;
        for (int t = 0; t < steps->rows; t++)
        {
            bool goes = row[plan->at.status] == TD_GPU_GOES;
            if (steps->inputs != NULL && goes)
                td_robot_feed(plan, row, steps->inputs + i * steps->in_robot + t * steps->in_time, steps->in_number,
                              steps->chosen, steps->n_inputs);
            taken += take_row(robots, steps, row);
            if (steps->outputs == NULL)
                continue;
            double *to = steps->outputs + i * steps->out_robot + t * steps->out_time, g[TD_GPU_MODES];
            bool stopped = row[plan->at.status] != TD_GPU_GOES;
            td_robot_outputs(plan, tables_of(plan), row, motion_at(plan, steps, row[plan->at.steps] - 1), stopped,
                             lanes, to, steps->out_number);
            if (plan->trusts)
                td_robot_trust(plan, tables_of(plan), row, stopped, lanes, g, to, steps->out_number);
        }
        steps->taken[i] = taken;
        steps->status[i] = (int32_t)row[plan->at.status];
        steps->doubts += (int64_t)(row[plan->at.doubts] - doubts);
    }
    return NULL;
}

const tdGpuBackEnd *td_gpu_back_end(void)
{
    static const tdGpuBackEnd back = {TD_GPU_VERSION, device, create, release, put, get, replan, take_steps};
    return &back;
}
