// SPDX-License-Identifier: Apache-2.0
// Keys of how a scene is solved and what is written: integrator, solver, output.
#include "describe/scene.h"
#include "scene/schema.h"

#define LIMIT_STEPS 1000000000

static const tdChoice method_choices[] = {
    {"backward_euler", TD_CHOICE_BACKWARD_EULER, "θ-method with θ = θvq = 1: robust, damps", NULL},
    {"midpoint", TD_CHOICE_MIDPOINT, "θ = θvq = 1/2: second order, does not damp", NULL},
    {"symplectic", TD_CHOICE_SYMPLECTIC, "θ = 0, θvq = 1: explicit, needs small steps and lumped mass", NULL},
    {"theta", TD_CHOICE_THETA, "θ-method with `theta` and `theta_vq` as given", NULL},
    {"newmark", TD_CHOICE_NEWMARK, "implicit Newmark with `beta` and `gamma`", NULL},
    {"static", TD_CHOICE_STATIC, "equilibrium at the end of each step, no inertia", NULL},
    {0},
};
static const tdKey integrator_keys[] = {
    {.name = "method",
     .kind = TD_KEY_CHOICE,
     .choices = method_choices,
     .standard = "backward_euler",
     .doc = "time integration"},
    {.name = "theta",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_CLOSED,
     .lo = 0,
     .hi = 1,
     .standard_doc = "required by method theta",
     .doc = "θ, weight of the end of the step in the forces; method theta only"},
    {.name = "theta_vq",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_CLOSED,
     .lo = 0,
     .hi = 1,
     .standard_doc = "required by method theta",
     .doc = "θvq, weight of the end velocity in the positions; method theta only"},
    {.name = "beta",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_HALF_OPEN,
     .lo = 0,
     .hi = 0.5,
     .standard = "0.25",
     .doc = "Newmark's β; method newmark only. Not 0: the step would divide by it (`symplectic` is explicit)"},
    {.name = "gamma",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_HALF_OPEN,
     .lo = 0,
     .hi = 1,
     .standard = "0.5",
     .doc = "Newmark's γ; method newmark only"},
    {.name = "newton",
     .kind = TD_KEY_BOOL,
     .standard_doc = "`false`; method static always iterates",
     .doc = "iterate each step to `tolerance` instead of linearizing once"},
    {.name = "tolerance",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_OPEN,
     .lo = 0,
     .hi = 1,
     .standard = "1e-8",
     .doc = "relative residual at which Newton's iteration ends"},
    {.name = "max_iterations",
     .kind = TD_KEY_INTEGER,
     .least = 1,
     .most = 10000,
     .standard = "30",
     .doc = "bound on Newton's iterations"},
    {.name = "min_load_step",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_CLOSED,
     .lo = 1e-9,
     .hi = 1,
     .standard_doc = "1/1024",
     .doc = "method static: fraction of a step's load below which a failing step is given up"},
    {0},
};
const tdSchema td_schema_integrator = {
    .title = "integrator",
    .doc = "How time is advanced.",
    .example = "integrator: {method: backward_euler, newton: true, tolerance: 1e-6}",
    .keys = integrator_keys,
};

static const tdChoice solver_choices[] = {
    {"auto", TD_SOLVER_AUTO, "the faster one for the size of the problem", NULL},
    {"cholesky", TD_SOLVER_CHOLESKY, "sparse Cholesky factorization", NULL},
    {"cg", TD_SOLVER_CG, "preconditioned conjugate gradients", NULL},
    {0},
};
static const tdKey solver_keys[] = {
    {.name = "type", .kind = TD_KEY_CHOICE, .choices = solver_choices, .standard = "auto", .doc = "method of solution"},
    {.name = "tolerance",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_OPEN,
     .lo = 0,
     .hi = 1,
     .standard = "1e-8",
     .doc = "relative residual at which conjugate gradients end"},
    {0},
};
const tdSchema td_schema_solver = {
    .title = "solver",
    .doc = "How the linear systems are solved.",
    .example = "solver: {type: cg, tolerance: 1e-10}",
    .keys = solver_keys,
};

static const tdChoice format_choices[] = {
    {"vtu", TD_OUTPUT_VTU, "meshes and cables for ParaView, one file a frame and body", NULL},
    {"csv", TD_OUTPUT_CSV, "tables of probes, reactions, actuators, effectors and of what the steps did", NULL},
    {"hdf5", TD_OUTPUT_HDF5, "all of it in one HDF5 file", NULL},
    {0},
};
static const tdKey output_keys[] = {
    {.name = "every",
     .kind = TD_KEY_INTEGER,
     .least = 0,
     .most = LIMIT_STEPS,
     .standard = "1",
     .doc = "steps between frames; 0 writes only the last"},
    {.name = "formats",
     .kind = TD_KEY_CHOICES,
     .choices = format_choices,
     .standard = "[vtu, csv]",
     .doc = "what is written"},
    {.name = "checkpoint_every",
     .kind = TD_KEY_INTEGER,
     .least = 0,
     .most = LIMIT_STEPS,
     .standard = "0",
     .doc = "steps between checkpoints, from which a run can go on; 0 writes none"},
    {0},
};
const tdSchema td_schema_output = {
    .title = "output",
    .doc = "What a run writes.",
    .example = "output: {every: 10, formats: [vtu, csv]}",
    .keys = output_keys,
};
