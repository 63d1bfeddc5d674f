// SPDX-License-Identifier: Apache-2.0
// The back end of robots on a GPU of NVIDIA. A step is two kernels: forces and tangents of 16 robots a block on the
// matrix units (assemble.cuh), then the rest of the step, eight lanes a robot (robot.h). Where products are to be exact
// to single precision, a warp does all of a robot's step instead. Nothing is summed in an order that may change, so
// that every run comes to the same bits.
#include "gpu/assemble.cuh"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define LANES  8          // of a robot, after assembly
#define ROBOTS 8          // of a block, after assembly
#define PARTS  16         // blocks that share the elements of a few robots, at most
#define FEW    1024       // robots that have a warp each after assembly, at most
#define SLICE  (16 << 20) // bytes of inputs that go to the device together, about

struct tdGpuRobots
{
    tdGpuPlan *plan; // of the host
    void *device;    // the same there
    int n, parts;
    bool warps; // one a robot after assembly
    double *rows;
    cudaStream_t stream;
    tdFragments fragments;
    float *scale; // 2 RP: of K and f
    float *K0;    // r x RP: of the plan, from the halves that rows are made of
    float *M;     // r x RP
    std::vector<void *> tables;
    tdAssembled assembled;
    size_t shared, shared_one;
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

/// Arguments of a step.
typedef struct Step
{
    tdGpuPlan plan; // here, where kernels read it without waiting; its arrays are in the device's memory
    double *rows;
    int n, parts, stride; // stride: RP of what was assembled
    tdAssembled assembled;
    const float *scale, *K0, *M;
    const uint8_t *mask;
    const double *motion;
    int64_t motion_first, motion_rows;
    Numbers in, out;
    const int32_t *chosen;
    int n_inputs;
    int32_t *taken;
} Step;

static __device__ const double *motion_at(const Step &step, double at)
{
    int64_t k = (int64_t)at - step.motion_first;
    k = k < 0 ? 0 : k >= step.motion_rows ? step.motion_rows - 1 : k;
    return step.motion + k * step.plan.inputs;
}

// Of a robot; u comes first, since it is read 16 bytes at a time.
static __host__ __device__ size_t floats_of(const tdGpuPlan *plan)
{
    int r = plan->r;
    size_t n = TD_GPU_ACROSS * (size_t)TD_ROW_U(r) + (size_t)td_row(r, r + 1 + plan->actuators) + 2 * (size_t)r;
    return (n + 3) / 4 * 4;
}

static __host__ __device__ size_t doubles_of(const tdGpuPlan *plan)
{
    int a = plan->actuators;
    return (3 * (size_t)plan->cable_points + TD_CABLE_NUMBERS * a + TD_SMALL(a) + 1) / 2 * 2;
}

static __device__ tdRobotWork work_in(const tdGpuPlan *plan, double *memory)
{
    int r = plan->r, a = plan->actuators;
    tdRobotWork work;
    work.place = memory;
    work.cable = work.place + 3 * plan->cable_points;
    work.matrix = work.cable + TD_CABLE_NUMBERS * a;
    work.u = (float *)(memory + doubles_of(plan));
    work.S = work.u + TD_GPU_ACROSS * TD_ROW_U(r);
    work.f = work.S + td_row(r, r + 1 + a);
    work.load = work.f + r;
    work.from = nullptr;
    return work;
}

/// Everything of a step but assembly: inputs, motion, outputs.
template <bool EXACT> static __device__ void take_step(const Step &step, int robot, tdLanes lanes, tdRobotWork work)
{
    const tdGpuPlan *plan = &step.plan;
    double *row = step.rows + (size_t)robot * plan->at.width;
    int r = plan->r;
    bool goes = row[plan->at.status] == TD_GPU_GOES;
    tdAssembledRobot from;
    if (!EXACT)
    {
        from.K = step.assembled.K + (size_t)robot * step.stride * step.stride;
        from.scale = step.scale;
        from.K0 = step.K0;
        from.M = step.M;
        from.stride = step.stride;
        from.parts = step.parts;
        from.apart = (size_t)step.n * step.stride * step.stride;
        work.from = &from;
        for (int i = lanes.lane; i < r; i += lanes.n) // on its way while the rest is done
            asm volatile("prefetch.global.L2 [%0];" ::"l"(from.K + i * step.stride));
    }
    if (goes && step.in.data != nullptr)
    {
        const double *given = step.in.data + robot * step.in.robot;
        for (int k = lanes.lane; k < step.n_inputs; k += lanes.n)
            row[plan->at.override_ + step.chosen[k]] = given[k * step.in.number];
        __syncwarp(lanes.mask);
    }
    if (goes)
    {
        float energy = 0;
        bool odd = false;
        if (EXACT)
            odd = td_robot_assemble(plan, row, lanes, &work, &energy);
        else
        {
            from.constant = 1 + td_robot_damped(plan, row);
            for (int i = lanes.lane; i < r; i += lanes.n)
            {
                float sum = 0;
                for (int p = 0; p < step.parts; p++)
                    sum += step.assembled.f[((size_t)p * step.n + robot) * step.stride + i];
                work.f[i] = step.scale[step.stride + i] * sum;
            }
            float odds = 0;
            for (int p = 0; p < step.parts; p++)
            {
                energy += step.assembled.other[2 * ((size_t)p * step.n + robot)];
                odds += step.assembled.other[2 * ((size_t)p * step.n + robot) + 1];
            }
            odd = odds > 0;
            __syncwarp(lanes.mask);
        }
        td_robot_advance(plan, row, motion_at(step, row[plan->at.steps]), lanes, &work, energy, odd);
        __syncwarp(lanes.mask);
        if (lanes.lane == 0 && row[plan->at.status] == TD_GPU_GOES)
            step.taken[robot]++;
    }
    if (step.out.data != nullptr)
        td_robot_outputs(plan, row, motion_at(step, row[plan->at.steps] - 1), row[plan->at.status] != TD_GPU_GOES,
                         lanes, step.out.data + robot * step.out.robot, step.out.number);
}

template <int SHAPE>
static __global__ void __launch_bounds__(LANES *ROBOTS, SHAPE % 10 <= 4 ? 6 : 5)
    advance_kernel(const __grid_constant__ Step step)
{
    extern __shared__ double memory[];
    int local = threadIdx.x / LANES, robot = blockIdx.x * ROBOTS + local;
    if (robot >= step.n || (step.mask != nullptr && step.mask[robot] == 0))
        return;
    tdLanes lanes = {(int)(threadIdx.x % LANES), LANES, ((1u << LANES) - 1) << (threadIdx.x % 32 / LANES * LANES),
                     SHAPE};
    size_t each = doubles_of(&step.plan) + floats_of(&step.plan) / 2;
    take_step<false>(step, robot, lanes, work_in(&step.plan, memory + local * each));
}

/// A warp a robot: where products are exact, which it makes too, and for few robots, whose steps are short then.
template <bool EXACT, int SHAPE>
static __global__ void __launch_bounds__(32) warp_kernel(const __grid_constant__ Step step)
{
    extern __shared__ double memory[];
    int robot = blockIdx.x;
    if (step.mask != nullptr && step.mask[robot] == 0)
        return;
    tdLanes lanes = {(int)threadIdx.x, 32, ~0u, SHAPE};
    take_step<EXACT>(step, robot, lanes, work_in(&step.plan, memory));
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
    td_robot_outputs(plan, row, motion_at(step, row[plan->at.steps] - 1), row[plan->at.status] != TD_GPU_GOES, lanes,
                     step.out.data + robot * step.out.robot, step.out.number);
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

typedef struct Variant
{
    int stride, steps, shared; // RP, KS
    AssembleKernel kernel;
} Variant;

template <int R> static Variant variant(bool split)
{
    if (split)
        return {Shape<R, true>::RP, Shape<R, true>::KS, Shape<R, true>::SMEM, assemble_kernel<R, true>};
    return {Shape<R, false>::RP, Shape<R, false>::KS, Shape<R, false>::SMEM, assemble_kernel<R, false>};
}

typedef void (*AdvanceKernel)(Step);

// Eight lanes a robot; nullptr: it has too many rows for them.
static AdvanceKernel advance_of(const tdGpuPlan *plan)
{
    int r = plan->r, each = (r + 1 + plan->actuators + LANES - 1) / LANES;
    if (r <= 28 && each <= 4)
        return advance_kernel<SHAPE_OF(LANES, 28, 4)>;
    if (r <= 32 && each <= 4)
        return advance_kernel<SHAPE_OF(LANES, 32, 4)>;
    if (r <= 36 && each <= 5)
        return advance_kernel<SHAPE_OF(LANES, 36, 5)>;
    if (r <= 40 && each <= 5)
        return advance_kernel<SHAPE_OF(LANES, 40, 5)>;
    return r <= 40 && each <= 6 ? advance_kernel<SHAPE_OF(LANES, 40, 6)> : (AdvanceKernel) nullptr;
}

// A warp a robot.
static AdvanceKernel warp_of(const tdGpuPlan *plan)
{
    if (plan->precision == TD_GPU_SINGLE)
        return warp_kernel<true, 0>;
    return plan->r + 1 + plan->actuators <= 32 ? warp_kernel<false, SHAPE_OF(32, 32, 1)>
                                               : warp_kernel<false, SHAPE_OF(32, 40, 2)>;
}

// The narrowest that holds r modes.
static Variant variant_of(const tdGpuPlan *plan)
{
    bool split = plan->precision != TD_GPU_HALF;
    if (plan->r <= 16)
        return variant<16>(split);
    if (plan->r <= 32)
        return variant<32>(split);
    return variant<40>(split);
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

static const char *make_fragments(tdGpuRobots *robots)
{
    const tdGpuPlan *plan = robots->plan;
    const Variant v = variant_of(plan);
    const int r = plan->r, E = plan->points, NJ = v.stride / 8, NP = v.stride / 2;
    const float *B = TD_GPU_ARRAY(plan, float, B), *F0 = TD_GPU_ARRAY(plan, float, F0),
                *point = TD_GPU_ARRAY(plan, float, point);
    const int chunks = (E + CHUNK - 1) / CHUNK;
    std::vector<float> mode(r, 0.0f), scale(2 * v.stride, 0.0f), points((size_t)chunks * CHUNK * 16, 0.0f);
    float mu = 0, root = 0;
    for (int e = 0; e < E; e++)
    {
        mu = fmaxf(mu, point[4 * e + 1]);
        root = fmaxf(root, sqrtf(point[4 * e]));
        for (int k = 0; k < 9 * r; k++)
            mode[k % r] = fmaxf(mode[k % r], fabsf(B[(size_t)e * 9 * r + k]));
    }
    for (float &a : mode)
        a = a > 0 ? a : 1.0f;
    robots->fragments.chunks = chunks;
    robots->fragments.of_row = 1 / sqrtf(mu);
    robots->fragments.of_stress = 64 / (2 * mu * root);
    for (int j = 0; j < r; j++)
    {
        scale[j] = mode[j] * root / robots->fragments.of_row;
        scale[v.stride + j] = mode[j] * root / robots->fragments.of_stress;
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
        float *to = &points[(size_t)e * 16], weight = e < E ? sqrtf(point[4 * e]) : 0.0f;
        for (int c = 0; c < 9; c++)
            to[c] = e < E ? F0[9 * e + c] : c % 4 == 0;
        to[9] = weight;
        to[10] = e < E ? point[4 * e + 1] : mu;
        to[11] = e < E ? point[4 * e + 2] : mu;
        to[12] = e < E ? point[4 * e + 3] : (float)TD_GPU_LAGGED;
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
    // What is constant in the tangent and what is taken away from it have to be of the same halves: where a body turns
    // more than it strains, most of the one goes with the other.
    std::vector<double> sums((size_t)r * r, 0.0);
    std::vector<float> K0((size_t)r * v.stride, 0.0f), M((size_t)r * v.stride, 0.0f), rounded(r);
    for (int e = 0; e < E; e++)
        for (int c = 0; c < 9; c++)
        {
            for (int j = 0; j < r; j++)
            {
                float x = number(e, c, j) * sqrtf(point[4 * e]) / root;
                rounded[j] = (plan->precision == TD_GPU_HALF ? x - left_of(x) : x) * mode[j] * root;
            }
            for (int i = 0; i < r; i++)
                for (int j = 0; j < r; j++)
                    sums[(size_t)i * r + j] += 2.0 * point[4 * e + 1] * rounded[i] * rounded[j];
        }
    for (int k = 0; k < r * r; k++)
    {
        K0[(size_t)(k / r) * v.stride + k % r] = (float)sums[k];
        M[(size_t)(k / r) * v.stride + k % r] = TD_GPU_ARRAY(plan, float, M)[k];
    }
    const uint32_t *g = nullptr, *b = nullptr;
    const float *s = nullptr, *k0 = nullptr, *m = nullptr;
    const char *why = upload(robots, gradient, &g);
    if (why == nullptr)
        why = upload(robots, rows, &b);
    if (why == nullptr)
        why = upload(robots, points, &robots->fragments.point);
    if (why == nullptr)
        why = upload(robots, mode, &robots->fragments.mode);
    if (why == nullptr)
        why = upload(robots, scale, &s);
    if (why == nullptr)
        why = upload(robots, K0, &k0);
    if (why == nullptr)
        why = upload(robots, M, &m);
    robots->K0 = (float *)k0;
    robots->M = (float *)m;
    robots->fragments.gradient = (const uint4 *)g;
    robots->fragments.rows = (const uint4 *)b;
    robots->scale = (float *)s;
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
                    robots->chosen, robots->status,  robots->doubts};
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
    return nullptr;
}

// A few robots do not fill the chip: then their elements are shared out.
static int parts_of(const tdGpuRobots *robots, int multiprocessors)
{
    int blocks = (robots->n + GROUP - 1) / GROUP, parts = multiprocessors / blocks;
    parts = parts > PARTS ? PARTS : parts < 1 ? 1 : parts;
    return parts > robots->fragments.chunks ? robots->fragments.chunks : parts;
}

static const char *make_room(tdGpuRobots *robots)
{
    const tdGpuPlan *plan = robots->plan;
    size_t n = (size_t)robots->n, s = (size_t)variant_of(plan).stride;
    int multiprocessors = 1, most = 0;
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
    cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
    robots->parts = parts_of(robots, multiprocessors);
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
    robots->shared_one = doubles_of(plan) * sizeof(double) + floats_of(plan) * sizeof(float);
    robots->shared = ROBOTS * robots->shared_one;
    if (robots->shared_one > (size_t)most)
        return "the model has more modes and actuators than fit into the chip's shared memory";
    robots->warps = plan->precision == TD_GPU_SINGLE || robots->n <= FEW || advance_of(plan) == nullptr ||
                    robots->shared > (size_t)most;
    TRY(robots,
        cudaFuncSetAttribute(robots->warps ? warp_of(plan) : advance_of(plan),
                             cudaFuncAttributeMaxDynamicSharedMemorySize, most),
        "set up");
    TRY(robots,
        cudaFuncSetAttribute(variant_of(plan).kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             variant_of(plan).shared),
        "set up");
    return nullptr;
}

static const char *create(const tdGpuPlan *plan, int32_t n, tdGpuRobots **out)
{
    tdGpuRobots *robots = *out = new (std::nothrow) tdGpuRobots();
    if (robots == nullptr)
        return "there is not enough memory for the robots";
    robots->n = n;
    TRY(robots, cudaStreamCreateWithFlags(&robots->stream, cudaStreamNonBlocking), "a stream");
    for (cudaEvent_t &sent : robots->sent)
        TRY(robots, cudaEventCreateWithFlags(&sent, cudaEventDisableTiming), "a stream");
    const char *why = replan(robots, plan);
    if (why == nullptr)
        why = make_fragments(robots);
    if (why == nullptr)
        why = make_room(robots);
    return why;
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
    for (int64_t i = 0; i < slices->robots; i++)
    {
        const double *from = steps->inputs + i * steps->in_robot + slices->first * steps->in_time;
        if (steps->in_number == 1 && (steps->in_time == numbers || slices->count == 1))
            memcpy(to, from, each * sizeof(double));
        else
            for (int t = 0; t < slices->count; t++)
                for (int j = 0; j < numbers; j++)
                    to[t * numbers + j] = from[t * steps->in_time + j * steps->in_number];
        to += each;
    }
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
    if (look)
        look_kernel<<<(unsigned)((n * LANES + 127) / 128), 128, 0, robots->stream>>>(step);
    else if (robots->plan->precision != TD_GPU_SINGLE)
    {
        Variant v = variant_of(robots->plan);
        dim3 grid((unsigned)((n + GROUP - 1) / GROUP), (unsigned)robots->parts);
        v.kernel<<<grid, WARPS * 32, (size_t)v.shared, robots->stream>>>(
            (const tdGpuPlan *)robots->device, robots->rows, n, robots->fragments, robots->assembled);
    }
    if (!look && robots->warps)
        warp_of(robots->plan)<<<(unsigned)n, 32, robots->shared_one, robots->stream>>>(step);
    else if (!look)
        advance_of(
            robots->plan)<<<(unsigned)((n + ROBOTS - 1) / ROBOTS), LANES * ROBOTS, robots->shared, robots->stream>>>(
            step);
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
    Step step = {};
    step.plan = *plan;
    step.plan.arrays = (const char *)robots->device;
    step.rows = robots->rows;
    step.n = robots->n;
    step.parts = robots->parts;
    step.stride = variant_of(plan).stride;
    step.assembled = robots->assembled;
    step.scale = robots->scale;
    step.K0 = robots->K0;
    step.M = robots->M;
    step.mask = steps->mask != nullptr ? robots->mask : nullptr;
    step.motion = (const double *)robots->motion;
    step.motion_first = steps->motion_first;
    step.motion_rows = steps->motion_rows;
    step.chosen = robots->chosen;
    step.n_inputs = steps->n_inputs;
    step.taken = robots->taken;
    int64_t out_time = steps->on_device ? steps->out_time : (int64_t)width;
    for (int t = 0; t < steps->rows; t++)
        for (int s = 0; s < (steps->hold > 0 ? steps->hold : 1); s++)
        {
            step.in = {nullptr, 0, 0};
            step.out = {nullptr, 0, 0};
            if (sends && s == 0)
            {
                if (t == slices.first + slices.count && (why = send_slice(robots, steps, &slices)) != nullptr)
                    return why;
                step.in = slice_row(robots, steps, &slices, t);
            }
            else if (in && s == 0 && steps->hold > 0)
                step.in = {(double *)steps->inputs + t * steps->in_time, steps->in_robot, steps->in_number};
            if (out && s >= steps->hold - 1)
                step.out = {(steps->on_device ? steps->outputs : (double *)robots->outputs) + t * out_time,
                            steps->on_device ? steps->out_robot : (int64_t)steps->rows * (int64_t)width,
                            steps->on_device ? steps->out_number : 1};
            if ((why = launch(robots, step, steps->hold == 0)) != nullptr)
                return why;
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
