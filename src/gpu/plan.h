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

#define TD_GPU_VERSION    5    // of this file: plan, rows and calls
#define TD_GPU_MODES      48   // of a body, at most
#define TD_GPU_NARROW     40   // the same of one that is held and touches nothing
#define TD_GPU_ACTUATORS  16   // of a robot, at most
#define TD_GPU_TOUCHES    1024 // points of a robot that touch at once, at most
#define TD_GPU_FRAME      6    // coordinates of a frame
#define TD_GPU_ACROSS     8    // rows of stiffness of cables that are added together
#define TD_GPU_PAIRS(r)   ((r) * ((r) + 1) / 2)
#define TD_GPU_TRIPLES(r) ((r) * ((r) + 1) * ((r) + 2) / 6)
#define TD_GPU_TILE       16                        // rows of a polynomial's table that are next to each other
#define TD_GPU_COLUMNS    32                        // of a body whose energy is a polynomial, at most
#define TD_GPU_ROW(r)     ((((r) + 3) / 4 | 1) * 4) // of r floats and zeros, an odd number of fours: see TD_GPU_TABLE
#define TD_GPU_SYMBOL     "td_gpu_back_end"         // const tdGpuBackEnd *(void)
#define TD_GPU_LIBRARY    "libtendril_gpu.so"

/// Why a robot stopped.
enum
{
    TD_GPU_GOES,
    TD_GPU_NOT_FINITE,   // a velocity
    TD_GPU_INDEFINITE,   // the matrix of the step
    TD_GPU_CONTRADICTED, // driven actuators ask for what cannot be
    TD_GPU_NO_PHYSICS,   // energy from nothing
    TD_GPU_BAD_ELEMENT,  // an energy that is not finite
    TD_GPU_BAD_INPUT,    // an input that is infinite
    TD_GPU_OVERLAPS,     // points are deep in a shape where the robot starts
    TD_GPU_CROWDED,      // more points touch than TD_GPU_TOUCHES
    TD_GPU_NO_CONTACT    // the contact problem has numbers that are not finite, or no definite matrix
};

/// Of a point of the domain.
enum
{
    TD_GPU_COROTATIONAL,
    TD_GPU_LAGGED,
    TD_GPU_STVK, // from here on the tangent has no short form
    TD_GPU_NEO_HOOKEAN,
    TD_GPU_MOONEY_RIVLIN,
    TD_GPU_MEMBRANE = 16 // beside one of these: F n = 0 but for a thickness that makes P n = 0
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

/// A cable, or a cavity. Limits are infinite where there are none.
typedef struct tdGpuActuator
{
    int32_t input, drive;
    int32_t first, points; ///< of a cable among those of all cables; of a cavity the first is its number
    int32_t cavity, pad;
    double sign, rest, compliance, size;
    double effort[2], displacement[2];
    double effort_rate, displacement_rate;
} tdGpuActuator;

/// What robots touch, where it stands.
enum
{
    TD_GPU_PLANE, // everything below z = 0
    TD_GPU_SPHERE,
    TD_GPU_CAPSULE, // along z
    TD_GPU_BOX
};

typedef struct tdGpuShape
{
    int32_t type, other; ///< other: which of the bodies that robots touch
    double R[9], t[3], half[3], radius;
    double friction;               ///< of the pair, before the robot's factor
    double stiffness, dissipation; ///< of the pair; an infinite stiffness is near-rigid
    double give;                   ///< by which a near-rigid point gives way at most [m]
} tdGpuShape;

/// Of the surface that touches; corners are among the points that do.
typedef struct tdGpuTriangle
{
    int32_t corner[3], across[3]; ///< across: the triangle beyond the side from corner k to the next; -1: none
    int32_t number, pad;          ///< decides between triangles that are equally near
} tdGpuTriangle;

typedef struct tdGpuEdge
{
    int32_t corner[2], beside[2]; ///< beside: triangles, the second may be -1
    int32_t bend, pad;            ///< 1: sharp; hollow edges meet nothing and are not there
} tdGpuEdge;

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
    TD_GPU_OUT_KINETIC,
    TD_GPU_OUT_CONTACT,     // index: body that is touched; -1 - index: the force on that body
    TD_GPU_OUT_CONTACTS,    // points that bear
    TD_GPU_OUT_PENETRATION, // of the deepest [m]
    TD_GPU_OUT_INDICATOR,   // after the others, by td_robot_trust
    TD_GPU_OUT_ROM_ERROR,
    TD_GPU_OUT_ELASTIC
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
    int32_t doubts;            ///< steps that one linearization does not describe
    int32_t known;             ///< the next four are there
    int32_t kinetic, elastic;  ///< of the start of the last step; elastic: where it began
    int32_t most, gain;        ///< energy that it came by honestly, and from nothing
    int32_t work, force_work;  ///< of the last step: by what acts on the body, by forces inside at its start
    int32_t q, v;              ///< coords each
    int32_t turn;              ///< 4: of a frame
    int32_t touch;             ///< 3 for each body that is touched: its force; then points that bear, and how deep
    int32_t effort;            ///< by actuator; displacements follow from q
    int32_t override_, offset; ///< by input
    int32_t gravity;           ///< 3
    int32_t young, mass, damping, friction; ///< factors
    int32_t width;
} tdGpuRow;

typedef struct tdGpuPlan
{
    int32_t version;
    int32_t r, points, actuators, cable_points, inputs, loads, outputs, point_rows;
    int32_t check_points; ///< of the second choice of elements, behind the others; 0: there is none
    int32_t trusts;       ///< some output asks whether the body is to be trusted
    int32_t width;        ///< of a row of outputs
    int32_t precision;    ///< of the products of the tangent
    int32_t general;      ///< some point has a tangent without a short form: K0 is zero, and all of them are made whole
    int32_t lagged;       ///< every point is TD_GPU_LAGGED: K0 is sum w mu B'B, and one row a point is left
    int32_t gathers; ///< cables have so many segments that their stiffness is gathered in parts, or there are cavities
    int32_t cavities;
    int32_t membranes; ///< some point is one
    // Of bodies that move as a whole or touch others (free.h)
    int32_t apart;                        ///< it is one of these
    int32_t coords;                       ///< r, and those of a frame
    int32_t frame;                        ///< there is one
    int32_t touch_points, shapes, others; ///< points that can touch; what they touch; bodies of these
    int32_t touches;                      ///< points that can touch at once, at most
    int32_t triangles, edges, rings;      ///< of the surface, for shapes that are no planes
    int32_t corrected;                    ///< what slides does not ride on a gap
    int64_t bytes;                        ///< of the plan with all its arrays
    double h;                             ///< [s]
    double alpha, beta;                   ///< Rayleigh damping
    double noise;                         ///< energy of motions that nobody would see [J]
    double slope, offset;                 ///< of the estimated error, as reduce/reduced_body.h
    double body_mass, centre[3];          ///< of a frame
    double margin, slide;                 ///< as tdContactModel
    double mean_edge, depth;              ///< of the surface [m]; how deep a corner of a shape finds it
    tdGpuRow at;
    const char *arrays; ///< where offsets count from: of a back end, the beginning of its plan
    // Offsets [bytes] of arrays
    int64_t B;          ///< float, (points + check_points) x 9 x r
    int64_t F0;         ///< float, likewise x 9
    int64_t point;      ///< tdGpuPoint, likewise
    int64_t volume;     ///< double, cavities x TD_GPU_TRIPLES(1 + r): V = sum T_ijk y_i y_j y_k with y = (1, q), T
                        ///< symmetric, i >= j >= k kept
    int64_t rest;       ///< double, r x r: inverse of the stiffness at rest, by the amplitude of training
    int64_t polynomial; ///< float, P Q S of reduce/stvk.h as one matrix by pairs, rows in tiles: column after column
                        ///< of one tile; 0: energy is a sum over points
    int64_t E, D;       ///< double, 6 and 3 x (1 + r)^2: inertia of a frame, reduce/floating.h
    int64_t force;      ///< double, (1 + loads) x 3: of dead loads on a frame; of the weight the mass
    int64_t moment;     ///< double, (1 + loads) x (1 + r) x 9: the same about it; of the weight for 1 m/s^2, column 0
    int64_t touch;      ///< double, 3 x r x touch_points: how modes move points that can touch
    int64_t touch_rows; ///< double, touch_points x 3 x r: the same
    int64_t touch_rest; ///< double, 3 x touch_points: where they are, in the frame
    int64_t touch_most; ///< double, r + 1: largest motion of a point by each mode; its largest distance from the centre
    int64_t shape;      ///< tdGpuShape
    int64_t triangle;   ///< tdGpuTriangle
    int64_t edge;       ///< tdGpuEdge
    int64_t ring_first; ///< int32_t, touch_points + 1: where the triangles at each corner are listed
    int64_t ring;       ///< int32_t
    int64_t K0;         ///< float, r x TD_GPU_ROW(r): 2 sum w mu B'B, or see general, lagged
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
#define TD_BOTH         static __host__ __device__ __forceinline__
#define TD_UNROLL       _Pragma("unroll")
#define TD_ROLL         _Pragma("unroll 1")
#define TD_TEXT(x)      #x
#define TD_UNROLL_BY(n) _Pragma(TD_TEXT(unroll n))
#else
#define TD_BOTH static inline
#define TD_UNROLL
#define TD_ROLL
#define TD_UNROLL_BY(n)
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
