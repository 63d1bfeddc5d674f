// SPDX-License-Identifier: Apache-2.0
// The back end of robots on a GPU of NVIDIA. A step is two kernels: forces and tangents of 16 robots a block on the
// matrix units (assemble.cuh), then the rest of the step, eight lanes a robot (robot.h). Where products are to be exact
// to single precision, a warp does all of a robot's step instead. Nothing is summed in an order that may change, so
// that every run comes to the same bits.
#include "gpu/polynomial.cuh"
#include "gpu/whole.cuh"

#define TD_WARP      1 // free.h has one
#define TD_STIFFNESS stiffness_of
static __host__ __device__ double stiffness_of(const tdRobotWork *work, int r, int i, int j);
#include "gpu/free.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define LANES  8          // of a robot, after assembly
#define ROBOTS 16         // of a block, after assembly
#define PARTS  16         // blocks that share the elements of a few robots, at most
#define SLICE  (16 << 20) // bytes of inputs that go to the device together, about
#define GATHER (1 << 17)  // numbers from which on several threads gather them

struct tdGpuRobots
{
    tdGpuPlan *plan; // of the host
    void *device;    // the same there
    int n, parts, multiprocessors;
    int pairs; // of modes, of the product that robots share
    int helpers; // threads that gather inputs beside the caller's
    size_t most; // bytes of shared memory of a block
    bool lagged; // one row a point, and a product that all robots share (lagged.cuh)
    bool few;    // all steps of a call in one launch
    bool warps;  // one a robot after assembly
    int apart;   // blocks that take robots one after the other, which move as a whole or touch others; 0: none does
    int together; // robots of such a block
    double *far; // what those blocks have no room for in shared memory
    double *rows;
    cudaStream_t stream;
    tdFragments fragments;
    const float *scale, *constant; // see Step; K0 from the halves that rows are made of
    std::vector<void *> tables;
    tdAssembled assembled;
    size_t shared, shared_one, shared_few; // of a block
    int tables_few; // see Step
    uint32_t *arrived;
    // Of a call, kept from one to the next.
    void *inputs, *outputs, *motion, *staged;
    size_t inputs_bytes, outputs_bytes, motion_bytes, staged_bytes, slice_bytes[2];
    void *slice[2]; // of inputs, on the host: one is filled while the other is on its way
    cudaEvent_t sent[2];
    uint8_t *mask;
    int32_t *taken, *chosen, *status;
    double *doubts;
    char why[300];
};

// ---------------------------------------------------------------- errors, memory

static char problem[300]; // of calls that have no robots yet

static const char *failed(tdGpuRobots *robots, cudaError_t error, const char *what)
{
    char *to = robots != nullptr ? robots->why : problem;
    if (error == cudaSuccess)
        return nullptr;
    snprintf(to, sizeof problem, "%s: %s", what, cudaGetErrorString(error));
    return to;
}

#define TRY(robots, call, what)                                                                                        \
    do                                                                                                                 \
    {                                                                                                                  \
        const char *why_ = failed(robots, call, what);                                                                 \
        if (why_ != nullptr)                                                                                           \
            return why_;                                                                                               \
    } while (0)

static const char *grow(tdGpuRobots *robots, void **memory, size_t *bytes, size_t need)
{
    if (need <= *bytes)
        return nullptr;
    cudaFree(*memory);
    *memory = nullptr;
    *bytes = 0;
    TRY(robots, cudaMalloc(memory, need), "memory for what goes in and out");
    *bytes = need;
    return nullptr;
}

static const char *grow_on_host(tdGpuRobots *robots, void **memory, size_t *bytes, size_t need)
{
    if (need <= *bytes)
        return nullptr;
    cudaFreeHost(*memory);
    *memory = nullptr;
    *bytes = 0;
    TRY(robots, cudaMallocHost(memory, need), "memory of the host");
    *bytes = need;
    return nullptr;
}

// ---------------------------------------------------------------- kernels

/// Numbers that go in or out, as tdSpan; data NULL: none.
typedef struct Numbers
{
    double *data;
    int64_t robot, number;
} Numbers;

/// Arguments of steps.
typedef struct Step
{
    tdGpuPlan plan; // here, where kernels read it without waiting; its arrays are in the device's memory
    double *rows;
    int n, parts, stride; // stride: RP of what was assembled
    bool lagged;          // of tangents that damping multiplies
    tdAssembled assembled;
    const float *scale, *constant; // of f; K0 in rows of TD_GPU_ROW, and behind it the scale of K
    const uint8_t *mask;
    const double *motion;
    int64_t motion_first, motion_rows;
    Numbers in, out;
    const int32_t *chosen;
    int n_inputs;
    int32_t *taken;
    // Of a kernel that takes several: from one row of numbers to the next, rows, and steps of each.
    int64_t in_time, out_time;
    int count, hold;
    uint32_t *arrived; // by group: blocks that came to the end of a phase, 0 before the first
    int tables;        // bytes of shared memory before those for tables of the plan; 0: there is no room for these
} Step;

static __device__ const double *motion_at(const Step &step, double at)
{
    int64_t k = (int64_t)at - step.motion_first;
    k = k < 0 ? 0 : k >= step.motion_rows ? step.motion_rows - 1 : k;
    return step.motion + k * step.plan.inputs;
}

// Of a robot after assembly. Rows u come first, since they are read 16 bytes at a time; where the matrix is not gathered
// in S they are where the triangle of its factor is later.
static __host__ __device__ bool shares(const tdGpuPlan *plan)
{
    return plan->precision != TD_GPU_SINGLE && plan->gathers == 0 &&
           td_row(plan->r, plan->r) >= TD_GPU_ACROSS * TD_ROW_U(plan->r);
}

static __host__ __device__ size_t floats_of(const tdGpuPlan *plan)
{
    int r = plan->r, a = plan->actuators;
    size_t n = (shares(plan) ? 0 : TD_GPU_ACROSS * (size_t)TD_ROW_U(r)) + (size_t)td_row(r, r + 1 + a) +
               2 * (size_t)r + (size_t)a * (a + 1);
    return (n + 3) / 4 * 4;
}

static __host__ __device__ size_t doubles_of(const tdGpuPlan *plan)
{
    int a = plan->actuators;
    return (3 * (size_t)plan->cable_points + TD_CABLE_NUMBERS * a + TD_SMALL(a) + 1) / 2 * 2;
}

static __host__ __device__ size_t numbers_of(const tdGpuPlan *plan)
{
    return doubles_of(plan) + floats_of(plan) / 2;
}

static __device__ tdRobotWork work_in(const tdGpuPlan *plan, double *memory, const char *tables)
{
    int r = plan->r, a = plan->actuators;
    tdRobotWork work;
    work.tables = tables;
    work.place = memory;
    work.cable = work.place + 3 * plan->cable_points;
    work.matrix = work.cable + TD_CABLE_NUMBERS * a;
    work.u = (float *)(memory + doubles_of(plan));
    work.S = work.u + (shares(plan) ? 0 : TD_GPU_ACROSS * TD_ROW_U(r));
    work.f = work.S + td_row(r, r + 1 + a);
    work.load = work.f + r;
    work.products = work.load + r;
    work.from = nullptr;
    return work;
}

static __device__ tdAssembledRobot assembled_of(const Step &step, int robot, const float *constant)
{
    const size_t size = (size_t)step.stride * step.stride;
    return {step.assembled.K + robot * size,
            constant + step.plan.r * TD_GPU_ROW(step.plan.r),
            constant,
            step.stride,
            step.parts,
            step.n * size,
            0.0f,
            1.0f,
            false};
}

/// What free.h reads of the tangent: as the factor's registers take it (factor.cuh).
static __host__ __device__ double stiffness_of(const tdRobotWork *work, int r, int i, int j)
{
#if defined(__CUDA_ARCH__)
    const tdAssembledRobot *in = work->from;
    if (in != nullptr)
    {
        float sum = 0;
        for (int p = 0; p < in->parts; p++)
            sum += __ldcg(in->K + p * in->apart + i * in->stride + j);
        return in->varying * in->scale[i] * in->scale[j] * sum + in->constant * in->K0[i * TD_GPU_ROW(r) + j];
    }
#endif
    return work->S[td_row(r, i) + j];
}

/// Inputs of a step come in.
static __device__ __forceinline__ void take_inputs(const Step &step, int robot, double *row, tdLanes lanes, Numbers in)
{
    if (row[step.plan.at.status] != TD_GPU_GOES || in.data == nullptr)
        return;
    const double *given = in.data + robot * in.robot;
    for (int k = lanes.lane; k < step.n_inputs; k += lanes.n)
        row[step.plan.at.override_ + step.chosen[k]] = given[k * in.number];
    __syncwarp(lanes.mask);
}

/// f and energy of what was assembled; whether some tangent was odd.
static __device__ __forceinline__ bool take_sums(const Step &step, int robot, const double *row, tdLanes lanes,
                                                 const tdRobotWork *work, tdAssembledRobot *from, float *energy)
{
    from->constant = 1 + td_robot_damped(&step.plan, row);
    from->varying = step.lagged ? from->constant : 1.0f;
    if (from->near) // add_up() came before
    {
        const float *f = from->K + step.stride * step.stride;
        for (int i = lanes.lane; i < step.plan.r; i += lanes.n)
            work->f[i] = step.scale[i] * f[i];
        *energy = f[step.stride];
        __syncwarp(lanes.mask);
        return f[step.stride + 1] > 0;
    }
    for (int i = lanes.lane; i < step.plan.r; i += lanes.n)
    {
        float sum = 0;
#pragma unroll 8
        for (int p = 0; p < step.parts; p++)
            sum += __ldcg(step.assembled.f + ((size_t)p * step.n + robot) * step.stride + i);
        work->f[i] = step.scale[i] * sum;
    }
    float odds = 0;
#pragma unroll 8
    for (int p = 0; p < step.parts; p++)
    {
        float2 other = __ldcg((const float2 *)step.assembled.other + (size_t)p * step.n + robot);
        *energy += other.x;
        odds += other.y;
    }
    __syncwarp(lanes.mask);
    return odds > 0;
}

/// Everything of a step but assembly: inputs, motion, outputs. EXACT: assembly too.
template <bool EXACT>
static __device__ __forceinline__ void take_step(const Step &step, int robot, double *row, tdLanes lanes,
                                                 tdRobotWork work, tdAssembledRobot from, Numbers in, Numbers out)
{
    const tdGpuPlan *plan = &step.plan;
    bool goes = row[plan->at.status] == TD_GPU_GOES;
    take_inputs(step, robot, row, lanes, in);
    if (goes)
    {
        float energy = 0;
        bool odd = false;
        if (EXACT)
            odd = td_robot_assemble(plan, row, lanes, &work, &energy);
        else
        {
            work.from = &from;
            odd = take_sums(step, robot, row, lanes, &work, &from, &energy);
        }
        td_robot_advance(plan, row, motion_at(step, row[plan->at.steps]), lanes, &work, energy, odd);
        __syncwarp(lanes.mask);
        if (lanes.lane == 0 && row[plan->at.status] == TD_GPU_GOES)
            step.taken[robot]++;
    }
    if (out.data != nullptr)
        td_robot_outputs(plan, work.tables, row, motion_at(step, row[plan->at.steps] - 1),
                         row[plan->at.status] != TD_GPU_GOES, lanes, out.data + robot * out.robot, out.number);
}

static __host__ __device__ size_t table_bytes(const tdGpuPlan *plan)
{
    return (size_t)(plan->bytes - plan->M); // a multiple of 64
}

static __host__ __device__ size_t constant_floats(const tdGpuPlan *plan)
{
    return (size_t)(plan->r + 1) * TD_GPU_ROW(plan->r);
}

/// Many robots, eight lanes each. Tables and rows come to where they are near, all at once.
template <int SHAPE>
static __global__ void __launch_bounds__(LANES *ROBOTS, SHAPE % 10 <= 4 ? 3 : 2)
    advance_kernel(const __grid_constant__ Step step)
{
    extern __shared__ double memory[];
    const tdGpuPlan *plan = &step.plan;
    const int local = threadIdx.x / LANES, lane = threadIdx.x % LANES, robot = blockIdx.x * ROBOTS + local,
              width = plan->at.width;
    const bool takes = robot < step.n && (step.mask == nullptr || step.mask[robot] != 0);
    const size_t own = width + numbers_of(plan);
    double *row = memory + local * own, *kept = step.rows + (size_t)robot * width;
    char *tables = (char *)(memory + ROBOTS * own);
    float *constant = (float *)(tables + table_bytes(plan));
    if (takes)
    {
        for (int i = lane; i < plan->r; i += LANES) // on its way while the rest is done
            asm volatile("prefetch.global.L2 [%0];" ::"l"(step.assembled.K +
                                                          ((size_t)robot * step.stride + i) * step.stride));
        for (int i = lane; i < width / 2; i += LANES)
            ((double2 *)row)[i] = ((const double2 *)kept)[i];
    }
    for (int i = threadIdx.x; i < (int)(table_bytes(plan) / 16); i += LANES * ROBOTS)
        ((uint4 *)tables)[i] = __ldg((const uint4 *)(plan->arrays + plan->M) + i);
    for (int i = threadIdx.x; i < (int)(constant_floats(plan) / 4); i += LANES * ROBOTS)
        ((uint4 *)constant)[i] = __ldg((const uint4 *)step.constant + i);
    __syncthreads();
    if (!takes)
        return;
    tdLanes lanes = {lane, LANES, ((1u << LANES) - 1) << (threadIdx.x % 32 / LANES * LANES), SHAPE};
    take_step<false>(step, robot, row, lanes, work_in(plan, row + width, tables), assembled_of(step, robot, constant),
                     step.in, step.out);
    __syncwarp(lanes.mask);
    for (int i = lane; i < width / 2; i += LANES)
        ((double2 *)kept)[i] = ((const double2 *)row)[i];
}

/// A warp a robot: where products are exact, which it makes too, and where there are too many rows for eight lanes.
template <bool EXACT, int SHAPE>
static __global__ void __launch_bounds__(32) warp_kernel(const __grid_constant__ Step step)
{
    extern __shared__ double memory[];
    const tdGpuPlan *plan = &step.plan;
    int robot = blockIdx.x;
    if (step.mask != nullptr && step.mask[robot] == 0)
        return;
    tdLanes lanes = {(int)threadIdx.x, 32, ~0u, SHAPE};
    take_step<EXACT>(step, robot, step.rows + (size_t)robot * plan->at.width, lanes,
                     work_in(plan, memory, plan->arrays + plan->M), assembled_of(step, robot, step.constant), step.in,
                     step.out);
}

// Numbers of a robot of free_kernel in shared memory.
static __host__ __device__ size_t apart_numbers(const tdGpuPlan *plan)
{
    return plan->at.width + (numbers_of(plan) + 1) / 2 * 2 + td_free_near(plan);
}

// Robots of a block of free_kernel, at most: as many as there are registers for.
#define TOGETHER(N) ((N) == TD_WARP_FEW ? 8 : 6)

/// Robots that move as a whole or touch others: a warp takes one after the other, with matrices of N blocks (warp.h).
/// What free.h has no room for near by is in the device's memory, once for each warp. All warps of a block begin with
/// their next robots at once, since what such a step waits for most is its code: so they are near the same place of it.
template <bool EXACT, int N>
static __global__ void __launch_bounds__(32 * TOGETHER(N), 1) free_kernel(const __grid_constant__ Step step, double *far_)
{
    extern __shared__ double memory[];
    const tdGpuPlan *plan = &step.plan;
    const int width = plan->at.width, w = threadIdx.x / 32, warps = blockDim.x / 32;
    const tdLanes lanes = {(int)(threadIdx.x % 32), 32, ~0u, N};
    double *near = memory + w * apart_numbers(plan), *row = near + td_free_near(plan);
    const char *tables = plan->arrays + plan->M;
    for (int first = blockIdx.x * warps; first < step.n; first += gridDim.x * warps)
    {
        const int robot = first + w;
        __syncthreads();
        if (robot >= step.n)
            continue;
        double *kept = step.rows + (size_t)robot * width;
        if (step.mask != nullptr && step.mask[robot] == 0)
            continue;
        for (int i = lanes.lane; i < width; i += 32)
            row[i] = kept[i];
        __syncwarp();
        tdRobotWork work = work_in(plan, row + width, tables);
        tdAssembledRobot from = assembled_of(step, robot, step.constant);
        const bool goes = row[plan->at.status] == TD_GPU_GOES;
        take_inputs(step, robot, row, lanes, step.in);
        if (goes)
        {
            float energy = 0;
            bool odd;
            if (EXACT)
                odd = td_robot_assemble(plan, row, lanes, &work, &energy);
            else
            {
                work.from = &from;
                odd = take_sums(step, robot, row, lanes, &work, &from, &energy);
            }
            tdFreeWork own = td_free_room(plan, &work, lanes, near,
                                          far_ + (blockIdx.x * warps + w) * (size_t)td_touch_far(plan));
            td_free_advance(plan, row, motion_at(step, row[plan->at.steps]), lanes, &work, &own, energy, odd);
            __syncwarp();
            if (lanes.lane == 0 && row[plan->at.status] == TD_GPU_GOES)
                step.taken[robot]++;
        }
        if (step.out.data != nullptr)
            td_robot_outputs(plan, tables, row, motion_at(step, row[plan->at.steps] - 1),
                             row[plan->at.status] != TD_GPU_GOES, lanes, step.out.data + robot * step.out.robot,
                             step.out.number);
        __syncwarp();
        for (int i = lanes.lane; i < width; i += 32)
            kept[i] = row[i];
    }
}

/// All blocks of a group have come here, and what they wrote can be read.
static __device__ void gather(uint32_t *arrived, uint32_t until)
{
    __syncthreads();
    if (threadIdx.x == 0)
    {
        __threadfence();
        atomicAdd(arrived, 1u);
        while ((int32_t)(*(volatile uint32_t *)arrived - until) < 0)
            ;
        __threadfence();
    }
    __syncthreads();
}

// Numbers of add_up().
static __host__ __device__ size_t sums_of(int stride)
{
    return (size_t)stride * stride + stride + 4;
}

/// What blocks have assembled of a robot, part after part, by all threads of a block: K, f, energy and odd points.
static __device__ __forceinline__ void add_up(const Step &step, int robot, float *sums)
{
    const int squares = step.stride * step.stride / 4, forces = step.stride / 4;
    for (int i = threadIdx.x; i < squares + forces; i += WARPS * 32)
    {
        const int each = i < squares ? squares : forces;
        const float4 *from = (const float4 *)(i < squares ? step.assembled.K : step.assembled.f) + (size_t)robot * each +
                             (i < squares ? i : i - squares);
        float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 8
        for (int p = 0; p < step.parts; p++)
        {
            const float4 x = __ldcg(from + (size_t)p * step.n * each);
            sum.x += x.x;
            sum.y += x.y;
            sum.z += x.z;
            sum.w += x.w;
        }
        ((float4 *)sums)[i] = sum;
    }
    if (threadIdx.x >= WARPS * 32 - 2)
    {
        const int k = threadIdx.x - (WARPS * 32 - 2);
        float sum = 0;
#pragma unroll 8
        for (int p = 0; p < step.parts; p++)
            sum += __ldcg(step.assembled.other + 2 * ((size_t)p * step.n + robot) + k);
        sums[4 * (squares + forces) + k] = sum;
    }
    __syncthreads();
}

/// Few robots, whose steps are short, one after the other without a launch: blocks that share the elements of a group
/// share its robots afterwards, a warp each. All blocks run at once (a cooperative launch). Nearly all of such a step is
/// waiting for memory: tables and rows are near, and where a block has but one robot all its warps add up what was
/// assembled.
template <int R_, bool SPLIT, int SHAPE>
static __global__ void __launch_bounds__(WARPS * 32, 1) few_kernel(const __grid_constant__ Step step, tdFragments in)
{
    extern __shared__ uint32_t sm[];
    const tdGpuPlan *plan = &step.plan;
    const int w = threadIdx.x / 32, first = blockIdx.x * GROUP, width = plan->at.width;
    const bool alone = min(GROUP, step.n - first) <= (int)gridDim.y;
    tdLanes lanes = {(int)(threadIdx.x % 32), 32, ~0u, SHAPE};
    const size_t own = width + numbers_of(plan);
    double *row = (double *)sm + w * own;
    float *sums = (float *)((double *)sm + WARPS * own);
    const char *tables = plan->arrays + plan->M;
    const float *constant = step.constant;
    if (step.tables > 0)
    {
        char *near = (char *)sm + step.tables, *behind = near + table_bytes(plan);
        for (int i = threadIdx.x; i < (int)(table_bytes(plan) / 16); i += WARPS * 32)
            ((uint4 *)near)[i] = __ldg((const uint4 *)tables + i);
        for (int i = threadIdx.x; i < (int)(constant_floats(plan) / 4); i += WARPS * 32)
            ((uint4 *)behind)[i] = __ldg((const uint4 *)constant + i);
        tables = near;
        constant = (const float *)behind;
    }
    tdRobotWork work = work_in(plan, row + width, tables);
    uint32_t *arrived = step.arrived + blockIdx.x, until = 0;
    for (int t = 0; t < step.count; t++)
        for (int s = 0; s < step.hold; s++)
        {
            assemble<R_, SPLIT, true>(plan, step.rows, step.n, in, step.assembled, sm);
            gather(arrived, until += gridDim.y);
            Numbers given = step.in, seen = step.out;
            given.data = given.data == nullptr || s > 0 ? nullptr : given.data + t * step.in_time;
            seen.data = seen.data == nullptr || s < step.hold - 1 ? nullptr : seen.data + t * step.out_time;
            if (alone && blockIdx.y < GROUP && first + (int)blockIdx.y < step.n)
                add_up(step, first + blockIdx.y, sums);
            for (int k = blockIdx.y + w * gridDim.y; k < GROUP; k += WARPS * gridDim.y)
            {
                int robot = first + k;
                if (robot >= step.n || (step.mask != nullptr && step.mask[robot] == 0))
                    continue;
                double *kept = step.rows + (size_t)robot * width;
                for (int i = lanes.lane; i < width / 2; i += 32)
                    ((double2 *)row)[i] = ((const double2 *)kept)[i];
                tdAssembledRobot from = assembled_of(step, robot, constant);
                if (alone)
                {
                    from.K = sums;
                    from.parts = 1;
                    from.near = true;
                }
                __syncwarp();
                take_step<false>(step, robot, row, lanes, work, from, given, seen);
                __syncwarp();
                for (int i = lanes.lane; i < width / 2; i += 32)
                    ((double2 *)kept)[i] = ((const double2 *)row)[i];
            }
            gather(arrived, until += gridDim.y);
        }
}

/// Outputs without a step.
static __global__ void look_kernel(const __grid_constant__ Step step)
{
    int robot = (int)(blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    tdLanes lanes = {(int)(threadIdx.x % LANES), LANES, 0, 0};
    if (robot >= step.n || (step.mask != nullptr && step.mask[robot] == 0))
        return;
    const tdGpuPlan *plan = &step.plan;
    const double *row = step.rows + (size_t)robot * plan->at.width;
    td_robot_outputs(plan, plan->arrays + plan->M, row, motion_at(step, row[plan->at.steps] - 1),
                     row[plan->at.status] != TD_GPU_GOES, lanes, step.out.data + robot * step.out.robot,
                     step.out.number);
}

/// Outputs that need forces once more, behind the others: a warp a robot.
static __global__ void __launch_bounds__(32) trust_kernel(const __grid_constant__ Step step)
{
    __shared__ double g[TD_GPU_MODES];
    const tdGpuPlan *plan = &step.plan;
    const int robot = blockIdx.x;
    if (step.mask != nullptr && step.mask[robot] == 0)
        return;
    const double *row = step.rows + (size_t)robot * plan->at.width;
    td_robot_trust(plan, plan->arrays + plan->M, row, row[plan->at.status] != TD_GPU_GOES, {(int)threadIdx.x, 32, ~0u, 0},
                   g, step.out.data + robot * step.out.robot, step.out.number);
}

/// Rows from a staging place, or one row for all.
static __global__ void put_kernel(double *rows, const double *from, int64_t stride, const uint8_t *mask, int n,
                                  int width)
{
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < (int64_t)n * width && (mask == nullptr || mask[i / width] != 0))
        rows[i] = from[i / width * stride + i % width];
}

/// What the host keeps of each robot after a call.
static __global__ void status_kernel(const tdGpuPlan *plan, const double *rows, int n, int32_t *status, double *doubts)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const double *row = rows + (size_t)i * plan->at.width;
    status[i] = (int32_t)row[plan->at.status];
    doubts[i] = row[plan->at.doubts];
}

// ---------------------------------------------------------------- which kernel

typedef void (*AssembleKernel)(const tdGpuPlan *, const double *, int, tdFragments, tdAssembled);
typedef void (*FewKernel)(Step, tdFragments);
typedef void (*AdvanceKernel)(Step);
typedef void (*FreeKernel)(Step, double *);

typedef struct Variant
{
    int stride, steps, shared; // RP, KS
    AssembleKernel kernel;
    FewKernel few;         // nullptr: there is none
    AssembleKernel lagged; // likewise
    int lagged_shared;
} Variant;

// Rows that the factor has room for: those behind the matrix are at least five (factor.cuh).
static int rows_of(const tdGpuPlan *plan)
{
    return plan->r + 1 + (plan->actuators > TD_SMALL_FEW ? plan->actuators : TD_SMALL_FEW);
}

template <int R, bool SPLIT, int SHAPE> static Variant variant_as()
{
    typedef Shape<R, SPLIT> s;
    return {s::RP,
            s::KS,
            s::SMEM,
            assemble_kernel<R, SPLIT>,
            few_kernel<R, SPLIT, SHAPE>,
            SPLIT ? (AssembleKernel) nullptr : lagged_kernel<R>,
            LaggedShape<R>::SMEM};
}

template <int R, bool SPLIT> static Variant variant_whole(bool thin)
{
    typedef WholeShape<R, SPLIT> s;
    return {s::RP,   s::KS,   s::SMEM, thin ? whole_kernel<R, SPLIT, true> : whole_kernel<R, SPLIT, false>,
            nullptr, nullptr, 0};
}

template <int R, int SHAPE> static Variant variant(const tdGpuPlan *plan)
{
    if (plan->polynomial != 0) // polynomial_kernel, and the width of what it writes
        return {Shape<R, false>::RP, 0, 0, nullptr, nullptr, nullptr, 0};
    const bool split = plan->precision != TD_GPU_HALF;
    if (plan->general != 0)
        return split ? variant_whole<R, true>(plan->membranes != 0) : variant_whole<R, false>(plan->membranes != 0);
    return split ? variant_as<R, true, SHAPE>() : variant_as<R, false, SHAPE>();
}

// The narrowest that holds r modes. More than 40 have whole tangents (compile.c).
static Variant variant_of(const tdGpuPlan *plan)
{
    if (plan->r > 40)
        return plan->precision != TD_GPU_HALF ? variant_whole<48, true>(true) : variant_whole<48, false>(true);
    if (rows_of(plan) > 32)
        return plan->r <= 32 ? variant<32, SHAPE_OF(32, 40, 2)>(plan) : variant<40, SHAPE_OF(32, 40, 2)>(plan);
    return plan->r <= 16 ? variant<16, SHAPE_OF(32, 32, 1)>(plan) : variant<32, SHAPE_OF(32, 32, 1)>(plan);
}

// Eight lanes a robot; nullptr: it has too many rows for them.
static AdvanceKernel advance_of(const tdGpuPlan *plan)
{
    int rows = rows_of(plan);
    if (rows <= 4 * LANES)
        return advance_kernel<SHAPE_OF(LANES, 28, 4)>;
    if (rows <= 5 * LANES)
        return advance_kernel<SHAPE_OF(LANES, 36, 5)>;
    return rows <= 6 * LANES ? advance_kernel<SHAPE_OF(LANES, 40, 6)> : (AdvanceKernel) nullptr;
}

// A warp a robot.
static AdvanceKernel warp_of(const tdGpuPlan *plan)
{
    return plan->precision == TD_GPU_SINGLE ? warp_kernel<true, 0> : warp_kernel<false, SHAPE_OF(32, 40, 2)>;
}

static FreeKernel free_of(const tdGpuPlan *plan)
{
    const bool few = TD_WARP_ROWS(plan->coords) == TD_WARP_FEW;
    if (plan->precision == TD_GPU_SINGLE)
        return few ? free_kernel<true, TD_WARP_FEW> : free_kernel<true, TD_WARP_MANY>;
    return few ? free_kernel<false, TD_WARP_FEW> : free_kernel<false, TD_WARP_MANY>;
}

// ---------------------------------------------------------------- fragments

static uint16_t half_of(float x)
{
    __half h = __float2half_rn(x);
    uint16_t out;
    memcpy(&out, &h, 2);
    return out;
}

static float left_of(float x)
{
    return x - __half2float(__float2half_rn(x));
}

static uint32_t words(float x, float y, bool left)
{
    return left ? half_of(left_of(x)) | (uint32_t)half_of(left_of(y)) << 16 : half_of(x) | (uint32_t)half_of(y) << 16;
}

template <class T> static const char *upload(tdGpuRobots *robots, const std::vector<T> &from, const T **to)
{
    void *memory = nullptr;
    TRY(robots, cudaMalloc(&memory, from.size() * sizeof(T) + 16), "memory for the plan");
    robots->tables.push_back(memory);
    TRY(robots, cudaMemcpy(memory, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice), "the plan");
    *to = (const T *)memory;
    return nullptr;
}

// Polynomials need no scale and have nothing that is constant.
static const char *make_no_fragments(tdGpuRobots *robots)
{
    const int r = robots->plan->r;
    std::vector<float> scale(r, 1.0f), constant(constant_floats(robots->plan), 0.0f);
    for (int j = 0; j < r; j++)
        constant[(size_t)r * TD_GPU_ROW(r) + j] = 1;
    const char *why = upload(robots, scale, &robots->scale);
    return why == nullptr ? upload(robots, constant, &robots->constant) : why;
}

/// What lagged.cuh reads, and what is constant beside it. Rows of its table are pairs of modes, an even number of those
/// of one mode, so that two of them are next to each other in K too.
static const char *make_cofactors(tdGpuRobots *robots, int stride, const std::vector<float> &mode, float mu, float root,
                                  std::vector<float> *constant)
{
    const tdGpuPlan *plan = robots->plan;
    const int r = plan->r, E = plan->points, row = robots->fragments.chunks * CHUNK * TURNED;
    const float *B = TD_GPU_ARRAY(plan, float, B), *F0 = TD_GPU_ARRAY(plan, float, F0);
    const tdGpuPoint *point = TD_GPU_ARRAY(plan, tdGpuPoint, point);
    std::vector<int> place;
    for (int i = 0; i < r; i++)
        for (int j = 0; j <= i; j += 2)
            place.push_back(i * stride + j);
    while (place.size() % (PRODUCT_TILE / 2) != 0)
        place.push_back(-1);
    robots->pairs = 2 * (int)place.size();
    std::vector<float> rest((size_t)robots->fragments.chunks * CHUNK * REST, 0.0f);
    std::vector<uint16_t> table((size_t)robots->pairs * row, 0);
    std::vector<double> sums((size_t)r * r, 0.0);
    std::vector<float> scaled(9 * (size_t)r);
    for (int e = 0; e < robots->fragments.chunks * CHUNK; e++)
        for (int c = 0; c < 9; c += 4)
            rest[(size_t)e * REST + c] = 1;
    for (int e = 0; e < E; e++)
    {
        float *R = &rest[(size_t)e * REST], C[6];
        const float *own = B + (size_t)e * 9 * r, weight = point[e].weight / (root * root) * point[e].mu / mu;
        td_polar(F0 + 9 * e, R, C);
        for (int k = 0; k < 9 * r; k++)
            scaled[k] = own[k] / mode[k % r];
        for (size_t p = 0; p < place.size(); p++)
            for (int q = 0; q < 2 && place[p] >= 0; q++)
            {
                const int i = place[p] / stride, j = place[p] % stride + q;
                float A[9];
                double at_rest = 0;
                for (int c = 0; c < 9 && j <= i; c++)
                    A[c] = scaled[c * r + i];
                for (int c = 0; c < 9 && j <= i; c++)
                {
                    const float x = -weight * td_gpu_cross(A, &scaled[j], r, c);
                    at_rest += (double)x * R[c];
                    table[(2 * p + q) * row + (size_t)e * TURNED + c] = half_of(COFACTOR * x);
                }
                if (j > i)
                    continue;
                for (int c = 0; c < 9; c++)
                    at_rest += (double)weight * A[c] * scaled[c * r + j];
                at_rest *= (double)mode[i] * mode[j] * root * root * mu;
                sums[(size_t)i * r + j] += at_rest;
                if (i != j)
                    sums[(size_t)j * r + i] += at_rest;
            }
    }
    for (int k = 0; k < r * r; k++)
        (*constant)[(size_t)(k / r) * TD_GPU_ROW(r) + k % r] = (float)sums[k];
    const size_t tall = ((size_t)robots->n + PRODUCT_TILE - 1) / PRODUCT_TILE * PRODUCT_TILE;
    const size_t bytes = tall * row * sizeof(uint16_t);
    TRY(robots, cudaMalloc(&robots->fragments.turned, bytes), "memory for the robots");
    robots->tables.push_back(robots->fragments.turned);
    TRY(robots, cudaMemset(robots->fragments.turned, 0, bytes), "memory for the robots");
    const uint16_t *halves = nullptr;
    const char *why = upload(robots, table, &halves);
    if (why == nullptr)
        why = upload(robots, place, &robots->fragments.place);
    if (why == nullptr)
        why = upload(robots, rest, &robots->fragments.rest);
    robots->fragments.cofactor = (const uint32_t *)halves;
    return why;
}

static const char *make_fragments(tdGpuRobots *robots)
{
    const tdGpuPlan *plan = robots->plan;
    if (plan->polynomial != 0)
        return make_no_fragments(robots);
    const Variant v = variant_of(plan);
    const int r = plan->r, E = plan->points, NJ = v.stride / 8, NP = v.stride / 2;
    const float *B = TD_GPU_ARRAY(plan, float, B), *F0 = TD_GPU_ARRAY(plan, float, F0);
    const tdGpuPoint *point = TD_GPU_ARRAY(plan, tdGpuPoint, point);
    const int together = robots->lagged ? AT_ONCE : 1, chunks = (E + together * CHUNK - 1) / (together * CHUNK) * together;
    std::vector<float> mode(r, 0.0f), scale(r, 0.0f), constant(constant_floats(plan), 0.0f), points((size_t)chunks * CHUNK * POINT, 0.0f);
    float mu = 0, stiff = 0, root = 0;
    for (int e = 0; e < E; e++)
    {
        mu = fmaxf(mu, point[e].mu);
        stiff = fmaxf(stiff, point[e].lambda + 2 * point[e].mu);
        root = fmaxf(root, sqrtf(point[e].weight));
        for (int k = 0; k < 9 * r; k++)
            mode[k % r] = fmaxf(mode[k % r], fabsf(B[(size_t)e * 9 * r + k]));
    }
    for (float &a : mode)
        a = a > 0 ? a : 1.0f;
    robots->fragments.chunks = chunks;
    robots->fragments.of_row = plan->general != 0 ? 1 / stiff : 1 / sqrtf(mu);
    const float of_K = plan->general != 0 ? sqrtf(stiff) : sqrtf(mu);
    robots->fragments.of_stress = 64 / (2 * mu * root);
    for (int j = 0; j < r; j++)
    {
        constant[(size_t)r * TD_GPU_ROW(r) + j] = mode[j] * root * of_K;
        scale[j] = mode[j] * root / robots->fragments.of_stress;
    }
    auto number = [&](int e, int c, int j)
    { return e < E && c < 9 && j < r ? B[((size_t)e * 9 + c) * r + j] / mode[j] : 0.0f; };
    const int pairs = (v.steps + 1) / 2;
    std::vector<uint32_t> gradient((size_t)chunks * WARPS * 3 * pairs * 32 * 4, 0),
        rows((size_t)chunks * 4 * NJ * 3 * 32 * 4, 0);
    for (int two = 0; two < chunks * WARPS; two++) // elements
        for (int m = 0; m < 3; m++)
            for (int k = 0; k < 2 * pairs; k++)
                for (int l = 0; l < 32; l++)
                    for (int q = 0; q < 2; q++)
                    {
                        int column = 8 * m + (l >> 2), e = 2 * two + column / 12, c = column % 12;
                        int p = k * 8 + (l & 3) + q * 4, j = 2 * (p % NP);
                        if (p < 3 * NP)
                            gradient[((((size_t)two * 3 + m) * pairs + k / 2) * 32 + l) * 4 + 2 * (k % 2) + q] =
                                words(B_SCALE * number(e, c, j), B_SCALE * number(e, c, j + 1), p / NP == 2);
                    }
    for (int e = 0; e < chunks * CHUNK; e++)
    {
        const tdGpuPoint none = {0, mu, mu, TD_GPU_LAGGED, 0, 0, 0, 0}, *own = e < E ? &point[e] : &none;
        float *to = &points[(size_t)e * POINT], weight = sqrtf(own->weight);
        for (int c = 0; c < 9; c++)
            to[c] = e < E ? F0[9 * e + c] : c % 4 == 0;
        const float numbers[] = {weight, own->mu, own->lambda, 0, own->kappa, own->c10, own->c01, 0};
        memcpy(to + 9, numbers, sizeof numbers);
        memcpy(to + 12, &own->law, sizeof own->law);
        memcpy(to + 16, &own->volumetric, sizeof own->volumetric);
        for (int j = 0; j < NJ; j++)
            for (int l = 0; l < 32; l++)
                for (int q = 0; q < 3; q++)
                {
                    int t = l & 3, mode_ = 8 * j + (l >> 2), c = q < 2 ? 2 * t : 8, word = (e % 4) * 3 + q;
                    float x = number(e, c, mode_) * weight / root, y = number(e, c + 1, mode_) * weight / root;
                    bool left = q == 1 || (q == 2 && t == 2);
                    rows[((((size_t)(e / 4) * NJ + j) * 3 + word / 4) * 32 + l) * 4 + word % 4] =
                        q == 2 && t == 3 ? 0 : words(x, y, left);
                }
    }
    // B as the first factor of B'(D B): modes by elements, four tiles of 8 x 8 numbers in a thread's words.
    const int NI = (v.stride + 15) / 16;
    std::vector<uint32_t> columns(plan->general != 0 ? (size_t)chunks * 9 * NI * 2 * 32 * 4 : 0, 0);
    for (size_t k = 0; k < columns.size(); k++)
    {
        int q = (int)(k % 4), l = (int)(k / 4 % 32), left = (int)(k / 128 % 2), i = (int)(k / 256 % NI);
        int c = (int)(k / 256 / NI % 9), chunk = (int)(k / 256 / NI / 9);
        int mode_ = 16 * i + (l >> 2) + 8 * (q & 1), e = CHUNK * chunk + 4 * (l & 3) + 2 * (q >> 1);
        auto weighted = [&](int e_)
        { return e_ < E ? number(e_, c, mode_) * sqrtf(point[e_].weight) / root : 0.0f; };
        columns[k] = words(weighted(e), weighted(e + 1), left != 0);
    }
    // What is constant in the tangent and what is taken away from it have to be of the same halves: where a body turns
    // more than it strains, most of the one goes with the other.
    std::vector<double> sums((size_t)r * r, 0.0);
    std::vector<float> rounded(r);
    for (int e = 0; e < E && plan->general == 0; e++)
        for (int c = 0; c < 9; c++)
        {
            for (int j = 0; j < r; j++)
            {
                float x = number(e, c, j) * sqrtf(point[e].weight) / root;
                rounded[j] = (plan->precision == TD_GPU_HALF ? x - left_of(x) : x) * mode[j] * root;
            }
            for (int i = 0; i < r; i++)
                for (int j = 0; j < r; j++)
                    sums[(size_t)i * r + j] += 2.0 * point[e].mu * rounded[i] * rounded[j];
        }
    for (int k = 0; k < r * r; k++)
        constant[(size_t)(k / r) * TD_GPU_ROW(r) + k % r] = (float)sums[k];
    const uint32_t *g = nullptr, *b = nullptr, *c = nullptr;
    const char *why = robots->lagged ? make_cofactors(robots, v.stride, mode, mu, root, &constant) : nullptr;
    if (why == nullptr)
        why = upload(robots, gradient, &g);
    if (why == nullptr)
        why = upload(robots, rows, &b);
    if (why == nullptr)
        why = upload(robots, columns, &c);
    if (why == nullptr)
        why = upload(robots, points, &robots->fragments.point);
    if (why == nullptr)
        why = upload(robots, mode, &robots->fragments.mode);
    if (why == nullptr)
        why = upload(robots, scale, &robots->scale);
    if (why == nullptr)
        why = upload(robots, constant, &robots->constant);
    robots->fragments.gradient = (const uint4 *)g;
    robots->fragments.rows = (const uint4 *)b;
    robots->fragments.columns = (const uint4 *)c;
    return why;
}

// ---------------------------------------------------------------- life

static const char *device(const char **why)
{
    static cudaDeviceProp properties; // the name has to stay
    int count = 0;
    *why = failed(nullptr, cudaGetDeviceCount(&count), "CUDA says");
    if (*why == nullptr && count == 0)
        *why = "there is none";
    if (*why == nullptr)
        *why = failed(nullptr, cudaGetDeviceProperties(&properties, 0), "CUDA says");
    if (*why != nullptr)
        return nullptr;
    cudaFuncAttributes attributes;
    *why = failed(nullptr, cudaFuncGetAttributes(&attributes, look_kernel), "the back end is built for another GPU");
    return *why == nullptr ? properties.name : nullptr;
}

static void release(tdGpuRobots *robots)
{
    if (robots == nullptr)
        return;
    if (robots->stream != nullptr)
        cudaStreamSynchronize(robots->stream);
    void *list[] = {robots->device, robots->rows,    robots->assembled.K, robots->assembled.f, robots->assembled.other,
                    robots->inputs, robots->outputs, robots->motion,      robots->mask,        robots->taken,
                    robots->chosen, robots->status,  robots->doubts,      robots->arrived,     robots->far};
    for (void *memory : list)
        cudaFree(memory);
    for (void *memory : robots->tables)
        cudaFree(memory);
    cudaFreeHost(robots->staged);
    for (int k = 0; k < 2; k++)
    {
        cudaFreeHost(robots->slice[k]);
        if (robots->sent[k] != nullptr)
            cudaEventDestroy(robots->sent[k]);
    }
    if (robots->stream != nullptr)
        cudaStreamDestroy(robots->stream);
    free(robots->plan);
    delete robots;
}

// Shared memory of the kernels that assemble.
static const char *choose_assembly(tdGpuRobots *robots, const Variant &v)
{
    if (robots->plan->polynomial != 0)
        TRY(robots,
            cudaFuncSetAttribute(polynomial_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)robots->most),
            "set up");
    else
        TRY(robots, cudaFuncSetAttribute(v.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, v.shared), "set up");
    if (robots->lagged)
    {
        TRY(robots, cudaFuncSetAttribute(v.lagged, cudaFuncAttributeMaxDynamicSharedMemorySize, v.lagged_shared),
            "set up");
        TRY(robots,
            cudaFuncSetAttribute(cofactor_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)product_shared()),
            "set up");
    }
    return nullptr;
}

// Robots that move as a whole or touch others: as many blocks as run at once, and few robots on all multiprocessors.
static const char *choose_apart(tdGpuRobots *robots, const Variant &v)
{
    const tdGpuPlan *plan = robots->plan;
    const size_t bytes = apart_numbers(plan) * sizeof(double);
    const int room = (int)(robots->most / bytes), most = TOGETHER(TD_WARP_ROWS(plan->coords)),
              each = (robots->n + robots->multiprocessors - 1) / robots->multiprocessors;
    robots->together = each < most ? each : most;
    robots->together = robots->together < room ? robots->together : room;
    const int blocks = (robots->n + robots->together - 1) / robots->together;
    robots->apart = blocks < robots->multiprocessors ? blocks : robots->multiprocessors;
    TRY(robots,
        cudaFuncSetAttribute(free_of(plan), cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)(robots->together * bytes)),
        "set up");
    const char *why = choose_assembly(robots, v);
    if (why != nullptr)
        return why;
    cudaFree(robots->far);
    robots->far = nullptr;
    TRY(robots, cudaMalloc(&robots->far, (size_t)robots->apart * robots->together * (size_t)td_touch_far(plan) * sizeof(double)),
        "memory for the robots");
    return nullptr;
}

// What fits where; the tables of outputs count.
static const char *choose_kernels(tdGpuRobots *robots)
{
    const tdGpuPlan *plan = robots->plan;
    const Variant v = variant_of(plan);
    const size_t one = numbers_of(plan) * sizeof(double);
    const int most = (int)robots->most;
    robots->shared_one = one;
    robots->shared = ROBOTS * (one + plan->at.width * sizeof(double)) + table_bytes(plan) +
                     constant_floats(plan) * sizeof(float);
    const size_t few = WARPS * (one + plan->at.width * sizeof(double)) + sums_of(v.stride) * sizeof(float),
                 tables = table_bytes(plan) + constant_floats(plan) * sizeof(float);
    robots->shared_few = (few > (size_t)v.shared ? few : (size_t)v.shared) / 16 * 16 + 16;
    robots->tables_few = robots->shared_few + tables <= robots->most ? (int)robots->shared_few : 0;
    robots->shared_few += robots->tables_few > 0 ? tables : 0;
    if (one > robots->most || (plan->apart != 0 && apart_numbers(plan) * sizeof(double) > robots->most))
        return "the model has more modes and actuators than fit into the chip's shared memory";
    if (plan->apart != 0)
        return choose_apart(robots, v);
    robots->few = v.few != nullptr && plan->trusts == 0 && plan->precision != TD_GPU_SINGLE && robots->shared_few <= robots->most &&
                  ((robots->n + GROUP - 1) / GROUP) * robots->parts <= robots->multiprocessors;
    robots->warps = plan->precision == TD_GPU_SINGLE || advance_of(plan) == nullptr || robots->shared > robots->most;
    TRY(robots,
        cudaFuncSetAttribute(robots->warps ? warp_of(plan) : advance_of(plan),
                             cudaFuncAttributeMaxDynamicSharedMemorySize, most),
        "set up");
    const char *why = choose_assembly(robots, v);
    if (why != nullptr)
        return why;
    if (robots->few)
        TRY(robots, cudaFuncSetAttribute(v.few, cudaFuncAttributeMaxDynamicSharedMemorySize, most), "set up");
    return nullptr;
}

// What was copied or cleared outside of the stream is there before anything in it begins: the stream does not wait for
// it, and such calls may return earlier.
static const char *settle(tdGpuRobots *robots)
{
    TRY(robots, cudaDeviceSynchronize(), "set up");
    return nullptr;
}

static const char *replan(tdGpuRobots *robots, const tdGpuPlan *plan)
{
    void *memory = nullptr;
    tdGpuPlan *copy = (tdGpuPlan *)malloc((size_t)plan->bytes);
    if (copy == nullptr)
        return "there is not enough memory for the plan";
    memcpy(copy, plan, (size_t)plan->bytes);
    copy->arrays = (const char *)copy;
    free(robots->plan);
    robots->plan = copy;
    TRY(robots, cudaMalloc(&memory, (size_t)plan->bytes), "memory for the plan");
    cudaFree(robots->device);
    robots->device = memory;
    TRY(robots, cudaMemcpy(memory, plan, (size_t)plan->bytes, cudaMemcpyHostToDevice), "the plan");
    const char *why = robots->rows != nullptr ? choose_kernels(robots) : nullptr;
    return why == nullptr ? settle(robots) : why;
}

// A few robots do not fill the chip: then their elements are shared out. So they are where a second round of blocks would
// be nearly empty: the time of so many rounds of so many chunks, and of what a block does before and after them.
static int parts_of(const tdGpuRobots *robots, int multiprocessors)
{
    int blocks = (robots->n + GROUP - 1) / GROUP, chunks = robots->fragments.chunks, best = 1;
    if (chunks == 0 || robots->lagged)
        return 1;
    if (blocks <= multiprocessors)
    {
        int parts = multiprocessors / blocks;
        parts = parts > PARTS ? PARTS : parts;
        return parts > chunks ? chunks : parts;
    }
    double least = INFINITY;
    for (int parts = 1; parts <= 8 && parts <= chunks && blocks <= 4 * multiprocessors; parts++)
    {
        int rounds = (blocks * parts + multiprocessors - 1) / multiprocessors, each = (chunks + parts - 1) / parts;
        double time = rounds * (each + 1.0);
        best = time < least ? parts : best;
        least = fmin(time, least);
    }
    return best;
}

static const char *make_room(tdGpuRobots *robots)
{
    const tdGpuPlan *plan = robots->plan;
    size_t n = (size_t)robots->n, s = (size_t)variant_of(plan).stride;
    int most = 0;
    cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
    robots->parts = parts_of(robots, robots->multiprocessors);
    size_t p = (plan->precision == TD_GPU_SINGLE) ? 0 : (size_t)robots->parts;
    TRY(robots, cudaMalloc(&robots->rows, n * plan->at.width * sizeof(double)), "memory for the robots");
    TRY(robots, cudaMalloc(&robots->assembled.K, p * n * s * s * sizeof(float) + 16), "memory for the robots");
    TRY(robots, cudaMalloc(&robots->assembled.f, p * n * s * sizeof(float) + 16), "memory for the robots");
    TRY(robots, cudaMalloc(&robots->assembled.other, p * n * 2 * sizeof(float) + 16), "memory for the robots");
    TRY(robots, cudaMalloc(&robots->mask, n), "memory for the robots");
    TRY(robots, cudaMalloc(&robots->taken, n * sizeof(int32_t)), "memory for the robots");
    TRY(robots, cudaMalloc(&robots->status, n * sizeof(int32_t)), "memory for the robots");
    TRY(robots, cudaMalloc(&robots->doubts, n * sizeof(double)), "memory for the robots");
    TRY(robots, cudaMalloc(&robots->chosen, ((size_t)plan->inputs + 1) * sizeof(int32_t)), "memory for the robots");
    TRY(robots, cudaMemset(robots->rows, 0, n * plan->at.width * sizeof(double)), "memory for the robots");
    TRY(robots, cudaMemset(robots->taken, 0, n * sizeof(int32_t)), "memory for the robots");
    TRY(robots, cudaMalloc(&robots->arrived, (n / GROUP + 1) * sizeof(uint32_t)), "memory for the robots");
    robots->most = (size_t)most;
    const unsigned cores = std::thread::hardware_concurrency();
    robots->helpers = cores > 8 ? 7 : cores > 1 ? (int)cores - 1 : 0;
    return choose_kernels(robots);
}

static const char *create(const tdGpuPlan *plan, int32_t n, tdGpuRobots **out)
{
    tdGpuRobots *robots = *out = new (std::nothrow) tdGpuRobots();
    if (robots == nullptr)
        return "there is not enough memory for the robots";
    robots->n = n;
    cudaDeviceGetAttribute(&robots->multiprocessors, cudaDevAttrMultiProcessorCount, 0);
    robots->lagged = plan->lagged != 0 && plan->precision == TD_GPU_HALF &&
                     (n + GROUP - 1) / GROUP > robots->multiprocessors; // fewer share out the elements instead
    TRY(robots, cudaStreamCreateWithFlags(&robots->stream, cudaStreamNonBlocking), "a stream");
    for (cudaEvent_t &sent : robots->sent)
        TRY(robots, cudaEventCreateWithFlags(&sent, cudaEventDisableTiming), "a stream");
    const char *why = replan(robots, plan);
    if (why == nullptr)
        why = make_fragments(robots);
    if (why == nullptr)
        why = make_room(robots);
    return why == nullptr ? settle(robots) : why;
}

// ---------------------------------------------------------------- rows

static const char *send_mask(tdGpuRobots *robots, const uint8_t *mask)
{
    if (mask != nullptr)
        TRY(robots, cudaMemcpyAsync(robots->mask, mask, (size_t)robots->n, cudaMemcpyHostToDevice, robots->stream),
            "a mask");
    return nullptr;
}

static const char *put(tdGpuRobots *robots, const uint8_t *mask, const double *rows, int64_t stride)
{
    size_t width = (size_t)robots->plan->at.width, n = stride == 0 ? 1 : (size_t)robots->n;
    const char *why = grow(robots, &robots->inputs, &robots->inputs_bytes, n * width * sizeof(double));
    if (why == nullptr)
        why = send_mask(robots, mask);
    if (why != nullptr)
        return why;
    TRY(robots,
        cudaMemcpy2DAsync(robots->inputs, width * sizeof(double), rows,
                          (stride == 0 ? width : (size_t)stride) * sizeof(double), width * sizeof(double), n,
                          cudaMemcpyHostToDevice, robots->stream),
        "rows of robots");
    int64_t count = (int64_t)robots->n * (int64_t)width;
    put_kernel<<<(unsigned)((count + 255) / 256), 256, 0, robots->stream>>>(
        robots->rows, (const double *)robots->inputs, stride == 0 ? 0 : (int64_t)width,
        mask == nullptr ? nullptr : robots->mask, robots->n, (int)width);
    TRY(robots, cudaGetLastError(), "rows of robots");
    TRY(robots, cudaStreamSynchronize(robots->stream), "rows of robots");
    return nullptr;
}

static const char *get(tdGpuRobots *robots, const uint8_t *mask, double *rows, int64_t stride)
{
    size_t width = (size_t)robots->plan->at.width * sizeof(double);
    if (mask == nullptr)
        TRY(robots,
            cudaMemcpy2DAsync(rows, (size_t)stride * sizeof(double), robots->rows, width, width, (size_t)robots->n,
                              cudaMemcpyDeviceToHost, robots->stream),
            "rows of robots");
    for (int i = 0; i < robots->n && mask != nullptr; i++)
    {
        int last = i;
        if (mask[i] == 0)
            continue;
        while (last + 1 < robots->n && mask[last + 1] != 0)
            last++;
        TRY(robots,
            cudaMemcpy2DAsync(rows + i * stride, (size_t)stride * sizeof(double),
                              (const char *)robots->rows + i * width, width, width, (size_t)(last - i + 1),
                              cudaMemcpyDeviceToHost, robots->stream),
            "rows of robots");
        i = last;
    }
    TRY(robots, cudaStreamSynchronize(robots->stream), "rows of robots");
    return nullptr;
}

// ---------------------------------------------------------------- what goes in and out

// Whether rows of one robot lie one behind the other.
static bool dense(int64_t width, int64_t rows, int64_t robot, int64_t time, int64_t number)
{
    return number == 1 && (time == width || rows == 1) && (robot >= rows * width);
}

// Inputs go to the device by slices of rows, (robots, rows, numbers) each: while it steps through one the host gathers
// the next.
typedef struct Slices
{
    int robots, rows; // that have inputs of their own; rows of a slice
    int first, count; // rows of the present one
    int sent;
} Slices;

static const char *make_slices(tdGpuRobots *robots, const tdGpuSteps *steps, Slices *out)
{
    size_t n = steps->in_robot == 0 ? 1 : (size_t)robots->n, row = n * (size_t)steps->n_inputs * sizeof(double);
    size_t rows = SLICE / row < 1 ? 1 : SLICE / row;
    rows = rows > (size_t)steps->rows ? (size_t)steps->rows : rows;
    *out = {(int)n, (int)rows, 0, 0, 0};
    const char *why = grow(robots, &robots->inputs, &robots->inputs_bytes, (size_t)steps->rows * row + 16);
    for (int k = 0; k < 2 && why == nullptr && (k == 0 || rows < (size_t)steps->rows); k++)
        why = grow_on_host(robots, &robots->slice[k], &robots->slice_bytes[k], rows * row);
    return why;
}

static const char *send_slice(tdGpuRobots *robots, const tdGpuSteps *steps, Slices *slices)
{
    int k = slices->sent++ % 2, numbers = steps->n_inputs;
    slices->first += slices->count;
    slices->count = slices->first + slices->rows <= steps->rows ? slices->rows : steps->rows - slices->first;
    TRY(robots, cudaEventSynchronize(robots->sent[k]), "inputs");
    size_t each = (size_t)slices->count * (size_t)numbers, before = (size_t)slices->robots * (size_t)numbers;
    double *to = (double *)robots->slice[k];
    auto gather = [=](int64_t begin, int64_t end)
    {
        for (int64_t i = begin; i < end; i++)
        {
            const double *from = steps->inputs + i * steps->in_robot + slices->first * steps->in_time;
            double *own = to + (size_t)i * each;
            if (steps->in_number == 1 && (steps->in_time == numbers || slices->count == 1))
                memcpy(own, from, each * sizeof(double));
            else
                for (int t = 0; t < slices->count; t++)
                    for (int j = 0; j < numbers; j++)
                        own[t * numbers + j] = from[t * steps->in_time + j * steps->in_number];
        }
    };
    // A device that takes a hundred million steps a second waits for one thread that copies.
    int64_t n = slices->robots, share = n * (int64_t)each > GATHER ? (n + robots->helpers) / (robots->helpers + 1) : n;
    int64_t begun = 0;
    std::vector<std::thread> threads;
    try
    {
        for (; begun + share < n; begun += share)
            threads.emplace_back(gather, begun, begun + share);
    }
    catch (const std::exception &) // no more threads: the rest is the caller's
    {
    }
    gather(begun, n);
    for (std::thread &thread : threads)
        thread.join();
    TRY(robots,
        cudaMemcpyAsync((double *)robots->inputs + (size_t)slices->first * before, robots->slice[k],
                        (size_t)slices->robots * each * sizeof(double), cudaMemcpyHostToDevice, robots->stream),
        "inputs");
    TRY(robots, cudaEventRecord(robots->sent[k], robots->stream), "inputs");
    return nullptr;
}

// The row of step `t`, which is in the present slice.
static Numbers slice_row(const tdGpuRobots *robots, const tdGpuSteps *steps, const Slices *slices, int t)
{
    size_t before = (size_t)slices->first * (size_t)slices->robots + (size_t)(t - slices->first);
    return {(double *)robots->inputs + before * (size_t)steps->n_inputs,
            slices->robots == 1 ? 0 : (int64_t)slices->count * steps->n_inputs, 1};
}

static const char *fetch_outputs(tdGpuRobots *robots, const tdGpuSteps *steps, size_t width)
{
    size_t each = (size_t)steps->rows * width, n = (size_t)robots->n;
    if (each == 0)
        return nullptr;
    bool direct = steps->mask == nullptr &&
                  dense((int64_t)width, steps->rows, steps->out_robot, steps->out_time, steps->out_number);
    const char *why =
        direct ? nullptr : grow_on_host(robots, &robots->staged, &robots->staged_bytes, n * each * sizeof(double));
    if (why != nullptr)
        return why;
    double *to = direct ? steps->outputs : (double *)robots->staged;
    TRY(robots,
        cudaMemcpy2DAsync(to, (direct ? (size_t)steps->out_robot : each) * sizeof(double), robots->outputs,
                          each * sizeof(double), each * sizeof(double), n, cudaMemcpyDeviceToHost, robots->stream),
        "outputs");
    TRY(robots, cudaStreamSynchronize(robots->stream), "steps");
    for (size_t i = 0; i < n && !direct; i++)
        for (int t = 0; t < steps->rows && (steps->mask == nullptr || steps->mask[i] != 0); t++)
            for (size_t k = 0; k < width; k++)
                steps->outputs[(int64_t)i * steps->out_robot + t * steps->out_time + (int64_t)k * steps->out_number] =
                    to[i * each + (size_t)t * width + k];
    return nullptr;
}

// ---------------------------------------------------------------- steps

static const char *launch(tdGpuRobots *robots, const Step &step, bool look)
{
    int n = robots->n;
    Variant v = variant_of(robots->plan);
    dim3 grid((unsigned)((n + GROUP - 1) / GROUP), (unsigned)robots->parts);
    if (look)
        look_kernel<<<(unsigned)((n * LANES + 127) / 128), 128, 0, robots->stream>>>(step);
    else if (robots->few)
    {
        void *arguments[] = {(void *)&step, &robots->fragments};
        TRY(robots, cudaMemsetAsync(robots->arrived, 0, grid.x * sizeof(uint32_t), robots->stream), "steps");
        TRY(robots,
            cudaLaunchCooperativeKernel((const void *)v.few, grid, dim3(WARPS * 32), arguments, robots->shared_few,
                                        robots->stream),
            "steps");
    }
    else if (robots->plan->precision != TD_GPU_SINGLE && robots->plan->polynomial != 0)
        polynomial_kernel<<<(unsigned)((n + 31) / 32), WARPS * 32, polynomial_shared(robots->plan->r),
                            robots->stream>>>((const tdGpuPlan *)robots->device, robots->rows, n, v.stride,
                                              robots->assembled);
    else if (robots->lagged)
    {
        dim3 product((unsigned)robots->pairs / PRODUCT_TILE, (unsigned)((n + PRODUCT_TILE - 1) / PRODUCT_TILE));
        v.lagged<<<grid, WARPS * 32, (size_t)v.lagged_shared, robots->stream>>>(
            (const tdGpuPlan *)robots->device, robots->rows, n, robots->fragments, robots->assembled);
        cofactor_kernel<<<product, PRODUCT_WARPS * 32, product_shared(), robots->stream>>>(
            robots->fragments, n, v.stride, robots->assembled.K);
    }
    else if (robots->plan->precision != TD_GPU_SINGLE)
        v.kernel<<<grid, WARPS * 32, (size_t)v.shared, robots->stream>>>(
            (const tdGpuPlan *)robots->device, robots->rows, n, robots->fragments, robots->assembled);
    if (!look && robots->apart > 0)
        free_of(robots->plan)<<<(unsigned)robots->apart, 32 * robots->together,
                                robots->together * apart_numbers(robots->plan) * sizeof(double), robots->stream>>>(
            step, robots->far);
    else if (!look && !robots->few && robots->warps)
        warp_of(robots->plan)<<<(unsigned)n, 32, robots->shared_one, robots->stream>>>(step);
    else if (!look && !robots->few)
        advance_of(
            robots->plan)<<<(unsigned)((n + ROBOTS - 1) / ROBOTS), LANES * ROBOTS, robots->shared, robots->stream>>>(
            step);
    if (robots->plan->trusts != 0 && step.out.data != nullptr)
        trust_kernel<<<(unsigned)n, 32, 0, robots->stream>>>(step);
    TRY(robots, cudaGetLastError(), "a step");
    return nullptr;
}

// Doubts so far, of robots that take part.
static const char *count(tdGpuRobots *robots, const tdGpuSteps *steps, int64_t *doubts)
{
    size_t n = (size_t)robots->n;
    std::vector<double> each(n);
    std::vector<int32_t> status(n), taken(n);
    status_kernel<<<(unsigned)((n + 127) / 128), 128, 0, robots->stream>>>(
        (const tdGpuPlan *)robots->device, robots->rows, robots->n, robots->status, robots->doubts);
    TRY(robots, cudaGetLastError(), "steps");
    TRY(robots, cudaMemcpyAsync(each.data(), robots->doubts, n * 8, cudaMemcpyDeviceToHost, robots->stream), "steps");
    TRY(robots, cudaMemcpyAsync(status.data(), robots->status, n * 4, cudaMemcpyDeviceToHost, robots->stream), "steps");
    TRY(robots, cudaMemcpyAsync(taken.data(), robots->taken, n * 4, cudaMemcpyDeviceToHost, robots->stream), "steps");
    TRY(robots, cudaStreamSynchronize(robots->stream), "steps");
    *doubts = 0;
    for (size_t i = 0; i < n; i++)
    {
        *doubts += (int64_t)each[i];
        if (steps->mask != nullptr && steps->mask[i] == 0)
            continue;
        steps->status[i] = status[i];
        steps->taken[i] = taken[i];
    }
    return nullptr;
}

static const char *take_steps(tdGpuRobots *robots, tdGpuSteps *steps)
{
    const tdGpuPlan *plan = robots->plan;
    size_t width = (size_t)plan->width, motion = (size_t)steps->motion_rows * (size_t)plan->inputs * sizeof(double);
    bool in = steps->inputs != nullptr && steps->n_inputs > 0, out = steps->outputs != nullptr && width > 0;
    bool sends = in && !steps->on_device && steps->hold > 0 && steps->rows > 0;
    Slices slices = {};
    int64_t before = 0, after = 0;
    const char *why = send_mask(robots, steps->mask);
    if (why == nullptr)
        why = grow(robots, &robots->motion, &robots->motion_bytes, motion + 16);
    if (why == nullptr && sends)
        why = make_slices(robots, steps, &slices);
    if (why == nullptr && out && !steps->on_device)
        why = grow(robots, &robots->outputs, &robots->outputs_bytes,
                   (size_t)robots->n * (size_t)steps->rows * width * sizeof(double));
    if (why == nullptr)
        why = count(robots, steps, &before);
    if (why != nullptr)
        return why;
    TRY(robots, cudaMemcpyAsync(robots->motion, steps->motion, motion, cudaMemcpyHostToDevice, robots->stream),
        "the scene's motion");
    if (in)
        TRY(robots,
            cudaMemcpyAsync(robots->chosen, steps->chosen, (size_t)steps->n_inputs * sizeof(int32_t),
                            cudaMemcpyHostToDevice, robots->stream),
            "inputs");
    TRY(robots, cudaMemsetAsync(robots->taken, 0, (size_t)robots->n * sizeof(int32_t), robots->stream), "steps");
    if (steps->on_device) // what the caller has begun to write there comes first
    {
        TRY(robots, cudaEventRecord(robots->sent[0], cudaStreamLegacy), "inputs");
        TRY(robots, cudaStreamWaitEvent(robots->stream, robots->sent[0], 0), "inputs");
    }
    Step step = {};
    step.plan = *plan;
    step.plan.arrays = (const char *)robots->device;
    step.rows = robots->rows;
    step.n = robots->n;
    step.parts = robots->parts;
    step.stride = variant_of(plan).stride;
    step.lagged = robots->lagged;
    step.assembled = robots->assembled;
    step.scale = robots->scale;
    step.constant = robots->constant;
    step.arrived = robots->arrived;
    step.tables = robots->tables_few;
    step.mask = steps->mask != nullptr ? robots->mask : nullptr;
    step.motion = (const double *)robots->motion;
    step.motion_first = steps->motion_first;
    step.motion_rows = steps->motion_rows;
    step.chosen = robots->chosen;
    step.n_inputs = steps->n_inputs;
    step.taken = robots->taken;
    const bool look = steps->hold == 0, together = robots->few && !look;
    step.hold = look ? 1 : steps->hold;
    step.out_time = steps->on_device ? steps->out_time : (int64_t)width;
    step.in_time = sends ? steps->n_inputs : steps->in_time;
    for (int t = 0; t < steps->rows; t += step.count)
    {
        step.in = step.out = {nullptr, 0, 0};
        step.count = together ? steps->rows - t : 1;
        if (sends)
        {
            if (t == slices.first + slices.count && (why = send_slice(robots, steps, &slices)) != nullptr)
                return why;
            step.in = slice_row(robots, steps, &slices, t);
            step.count = together ? slices.first + slices.count - t : 1;
        }
        else if (in && !look)
            step.in = {(double *)steps->inputs + t * steps->in_time, steps->in_robot, steps->in_number};
        if (out)
            step.out = {(steps->on_device ? steps->outputs : (double *)robots->outputs) + t * step.out_time,
                        steps->on_device ? steps->out_robot : (int64_t)steps->rows * (int64_t)width,
                        steps->on_device ? steps->out_number : 1};
        for (int s = 0; s < (together ? 1 : step.hold); s++)
        {
            Step one = step;
            if (!together && s > 0)
                one.in.data = nullptr;
            if (!together && s < step.hold - 1)
                one.out.data = nullptr;
            if ((why = launch(robots, one, look)) != nullptr)
                return why;
        }
    }
    if (out && !steps->on_device && (why = fetch_outputs(robots, steps, width)) != nullptr)
        return why;
    why = count(robots, steps, &after);
    steps->doubts = after - before;
    return why;
}

extern "C" __attribute__((visibility("default"))) const tdGpuBackEnd *td_gpu_back_end(void);

const tdGpuBackEnd *td_gpu_back_end(void)
{
    static const tdGpuBackEnd back = {TD_GPU_VERSION, device, create, release, put, get, replan, take_steps};
    return &back;
}
