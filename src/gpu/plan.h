// SPDX-License-Identifier: Apache-2.0
// What passes between the library and a back end that steps many robots at once: a plan, rows and a few calls. A back
// end is a shared object of its own, found at run time (device.h), so that the library needs nothing of CUDA. Read by
// C and by CUDA C++.
//
// The plan is what never changes, one block of memory with its arrays behind it, at offsets from its beginning: a
// device copies it whole. A robot is a row of doubles, the same on both sides; numbers of it are at tdGpuPlan.at.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TD_GPU_VERSION   3  // of this file: plan, rows and calls
#define TD_GPU_MODES     40 // of a body, at most
#define TD_GPU_ACTUATORS 16 // of a robot, at most
#define TD_GPU_ACROSS    8  // rows of stiffness of cables that are added together
#define TD_GPU_PAIRS(r)  ((r) * ((r) + 1) / 2)
#define TD_GPU_TILE      16                        // rows of a polynomial's table that are next to each other
#define TD_GPU_COLUMNS   32                        // of a body whose energy is a polynomial, at most
#define TD_GPU_ROW(r)    ((((r) + 3) / 4 | 1) * 4) // of r floats and zeros, an odd number of fours: see TD_GPU_TABLE
#define TD_GPU_SYMBOL    "td_gpu_back_end"         // const tdGpuBackEnd *(void)
#define TD_GPU_LIBRARY   "libtendril_gpu.so"

/// Why a robot stopped.
enum
{
    TD_GPU_GOES,
    TD_GPU_NOT_FINITE,   // a velocity
    TD_GPU_INDEFINITE,   // the matrix of the step
    TD_GPU_CONTRADICTED, // driven actuators ask for what cannot be
    TD_GPU_NO_PHYSICS,   // energy from nothing
    TD_GPU_BAD_ELEMENT,  // an energy that is not finite
    TD_GPU_BAD_INPUT     // an input that is infinite
};

/// Of a point of the domain.
enum
{
    TD_GPU_COROTATIONAL,
    TD_GPU_LAGGED,
    TD_GPU_STVK, // from here on the tangent has no short form
    TD_GPU_NEO_HOOKEAN,
    TD_GPU_MOONEY_RIVLIN
};

/// Energy of a change of volume.
enum
{
    TD_GPU_SQUARE, // kappa/2 (J - 1)^2
    TD_GPU_LOG,    // kappa/2 ln(J)^2
    TD_GPU_MIXED   // kappa/2 ((J^2 - 1)/2 - ln J)
};

typedef struct tdGpuPoint
{
    float weight;     ///< [m^3]
    float mu, lambda; ///< [Pa], at rest
    int32_t law;
    float kappa, c10, c01;
    int32_t volumetric;
} tdGpuPoint;

/// Of the products of the tangent.
enum
{
    TD_GPU_SPLIT, // halves, and what halves leave: as good as single precision
    TD_GPU_HALF,  // one pass of halves
    TD_GPU_SINGLE // single precision, without matrix units
};

enum
{
    TD_GPU_EFFORT,
    TD_GPU_DISPLACEMENT
};

/// A cable. Limits are infinite where there are none.
typedef struct tdGpuActuator
{
    int32_t input, drive;
    int32_t first, points; ///< of it among those of all cables
    double sign, rest, compliance, size;
    double effort[2], displacement[2];
    double effort_rate, displacement_rate;
} tdGpuActuator;

/// Numbers of an output, `count` of them.
enum
{
    TD_GPU_OUT_TIME,
    TD_GPU_OUT_INPUT,        // index: input
    TD_GPU_OUT_EFFORT,       // index: actuator
    TD_GPU_OUT_DISPLACEMENT, // index: actuator
    TD_GPU_OUT_POINT,        // index: row of its first number among those of points
    TD_GPU_OUT_COORDS,
    TD_GPU_OUT_RATES,
    TD_GPU_OUT_KINETIC
};

typedef struct tdGpuOutput
{
    int32_t kind, index, count, pad;
} tdGpuOutput;

/// Places in the row of a robot.
typedef struct tdGpuRow
{
    int32_t status; ///< see above; a robot that has stopped keeps its row
    int32_t steps;
    int32_t doubts;               ///< steps that one linearization does not describe
    int32_t known;                ///< the next four are there
    int32_t kinetic, elastic;     ///< of the start of the last step; elastic: where it began
    int32_t most, gain;           ///< energy that it came by honestly, and from nothing
    int32_t work, force_work;     ///< of the last step: by what acts on the body, by forces inside at its start
    int32_t q, v;                 ///< r each
    int32_t effort;               ///< by actuator; displacements follow from q
    int32_t override_, offset;    ///< by input
    int32_t gravity;              ///< 3
    int32_t young, mass, damping; ///< factors
    int32_t width;
} tdGpuRow;

typedef struct tdGpuPlan
{
    int32_t version;
    int32_t r, points, actuators, cable_points, inputs, loads, outputs, point_rows;
    int32_t width;      ///< of a row of outputs
    int32_t precision;  ///< of the products of the tangent
    int32_t general;    ///< some point has a tangent without a short form: K0 is zero, and all of them are made whole
    int32_t gathers;    ///< cables have so many segments that their stiffness is gathered in parts
    int64_t bytes;      ///< of the plan with all its arrays
    double h;           ///< [s]
    double alpha, beta; ///< Rayleigh damping
    double noise;       ///< energy of motions that nobody would see [J]
    tdGpuRow at;
    const char *arrays; ///< where offsets count from: of a back end, the beginning of its plan
    // Offsets [bytes] of arrays
    int64_t B;          ///< float, points x 9 x r
    int64_t F0;         ///< float, points x 9
    int64_t point;      ///< tdGpuPoint
    int64_t polynomial; ///< float, P Q S of reduce/stvk.h as one matrix by pairs, rows in tiles: column after column
                        ///< of one tile; 0: energy is a sum over points
    int64_t K0;         ///< float, r x TD_GPU_ROW(r): 2 sum w mu B'B, or zero
    int64_t M;          ///< float, r x TD_GPU_ROW(r)
    int64_t weight;     ///< double, 3 x r: load of 1 m/s^2 along each axis
    int64_t load;       ///< double, loads x (1 + r): input (-1: constant 1), force
    int64_t actuator;   ///< tdGpuActuator
    int64_t cable;      ///< double, 3 cable_points x (1 + r): place at rest, motion
    int64_t segment;    ///< float, cable_points x 3 x r: motion of the next point beside that of a point
    int64_t output;     ///< tdGpuOutput
    int64_t seen;       ///< double, point_rows x (1 + r), as cable
} tdGpuPlan;

#if defined(__CUDACC__)
#define TD_BOTH   static __host__ __device__ __forceinline__
#define TD_UNROLL _Pragma("unroll")
#else
#define TD_BOTH static inline
#define TD_UNROLL
#endif

/// An array of a back end's plan.
#define TD_GPU_ARRAY(plan, type, name) ((const type *)((plan)->arrays + (plan)->name))

/// What a call of steps reads and writes: numbers of the caller's, as tdSpan.
typedef struct tdGpuSteps
{
    int32_t rows, hold;
    const double *inputs; ///< NULL: they stay
    int64_t in_robot, in_time, in_number;
    int32_t n_inputs;
    const int32_t *chosen; ///< n_inputs: which they are
    double *outputs;       ///< NULL: not wanted
    int64_t out_robot, out_time, out_number;
    bool on_device;       ///< inputs and outputs are in the memory of the device
    const uint8_t *mask;  ///< by robot; NULL: all
    const double *motion; ///< by step from `motion_first` on, x inputs: the scene's
    int64_t motion_first, motion_rows;
    int32_t *taken;  ///< by robot: steps of this call
    int32_t *status; ///< by robot: why it stopped
    int64_t doubts;  ///< written: steps of this call that one linearization does not describe
} tdGpuSteps;

typedef struct tdGpuRobots tdGpuRobots;

/// Calls of a back end. Those that return a text have failed if it is not NULL: why, in a sentence, until the next
/// call.
typedef struct tdGpuBackEnd
{
    int32_t version;
    /// Whether there is a device: its name; NULL: why says why not.
    const char *(*device)(const char **why);
    const char *(*create)(const tdGpuPlan *plan, int32_t robots, tdGpuRobots **out);
    void (*free)(tdGpuRobots *robots);
    /// Rows to the device: robot i from rows + i * stride (in numbers); stride 0: all the same.
    const char *(*put)(tdGpuRobots *robots, const uint8_t *mask, const double *rows, int64_t stride);
    const char *(*get)(tdGpuRobots *robots, const uint8_t *mask, double *rows, int64_t stride);
    /// Outputs that are wanted from now on: another plan, different in its outputs alone.
    const char *(*replan)(tdGpuRobots *robots, const tdGpuPlan *plan);
    /// rows x hold steps; hold 0: outputs alone.
    const char *(*steps)(tdGpuRobots *robots, tdGpuSteps *steps);
} tdGpuBackEnd;
