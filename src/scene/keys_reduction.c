// SPDX-License-Identifier: Apache-2.0
// Keys of reduction and validation. What belongs to which kind of samples is checked in scene/parse_reduction.c.
#include "describe/scene.h"
#include "scene/schema.h"

#define MOST_SAMPLES 100000

static const tdChoice kind_choices[] = {
    {"domains", TD_REDUCTION_DOMAINS, "a few elements, with weights, represent all: any law", NULL},
    {"stvk", TD_REDUCTION_STVK,
     "polynomials of the modes, exact, replace all elements: law stvk only, and a few dozen modes", NULL},
    {0},
};
static const tdChoice basis_choices[] = {
    {"snapshots", TD_BASIS_SNAPSHOTS, "modes of equilibria at the points of `samples`", NULL},
    {"modes", TD_BASIS_MODES, "vibration modes and their derivatives, no equilibria", NULL},
    {0},
};
static const tdChoice sample_choices[] = {
    {"auto", TD_SAMPLE_AUTO,
     "some corners and points across the ranges, then more of them, mostly near the held-out points where the error is "
     "largest, until the held-out error is within `error`, or after `count`",
     NULL},
    {"corners", TD_SAMPLE_CORNERS,
     "the ends of the ranges in all combinations, visited so that one actuator moves at a time", NULL},
    {"grid", TD_SAMPLE_GRID, "`levels` values of every actuator in all combinations, visited likewise", NULL},
    {"latin_hypercube", TD_SAMPLE_LATIN_HYPERCUBE,
     "`count` points that share no value of any actuator, visited from neighbour to neighbour", NULL},
    {"greedy", TD_SAMPLE_GREEDY,
     "begins with each actuator alone and adds the point where the error of the reduced model is largest, until it is "
     "nowhere above `greedy_tolerance`, or after `count`",
     NULL},
    {"motion", TD_SAMPLE_MOTION,
     "along the scene's own `motion`, one point per step, or `count` of them; with `contact` the scene runs as it is, "
     "and "
     "every "
     "step is a snapshot",
     NULL},
    {"sequence", TD_SAMPLE_SEQUENCE, "the rows of the file `sequence`, one after the other", NULL},
    {0},
};
static const tdChoice norm_choices[] = {
    {"auto", TD_ECSW_AUTO, "`energy`, or `forces` if `ecsw_tolerance` is given", NULL},
    {"forces", TD_ECSW_FORCES, "all forces on the modes count alike (Goury and Duriez 2018, eq. 21)", NULL},
    {"energy", TD_ECSW_ENERGY,
     "forces count as much as they deform the body at rest, so that fewer elements reach the same accuracy", NULL},
    {0},
};
static const tdChoice frame_choices[] = {
    {"auto", TD_FRAME_CHOICE_AUTO, "fixed for a body that is held somewhere, else free", NULL},
    {"fixed", TD_FRAME_CHOICE_FIXED, "q = q0 + Φ α: something must hold the body", NULL},
    {"translation", TD_FRAME_CHOICE_TRANSLATION,
     "three translations are modes too (Goury and Duriez 2018, eq. 22): for a body that nothing holds and that does "
     "not turn",
     NULL},
    {"free", TD_FRAME_CHOICE_FREE, "q = x + R (q0 + Φ α): a rigid frame, for a body that nothing holds", NULL},
    {0},
};
static const tdKey vary_keys[] = {
    {.name = "set",
     .kind = TD_KEY_TEXT,
     .required = true,
     .doc = "what differs, written as for `--set`, such as `contact.friction`, `gravity[0]` or `motion.csv`; nothing "
            "that belongs to the body itself"},
    {.name = "from",
     .kind = TD_KEY_QUANTITY,
     .standard_doc = "required without `values`",
     .doc = "one end of the range of a number"},
    {.name = "to", .kind = TD_KEY_QUANTITY, .standard_doc = "required without `values`", .doc = "the other end"},
    {.name = "unit", .kind = TD_KEY_TEXT, .standard_doc = "that of a bare number there", .doc = "unit of both"},
    {.name = "values",
     .kind = TD_KEY_OTHER,
     .form = "list of numbers, quantities, words or files",
     .doc = "instead of a range: values that are taken in turn, each as often as the others, in random order"},
    {0},
};
const tdSchema td_schema_vary = {
    .title = "vary",
    .doc =
        "What differs in the scene from run to run of training with contact: numbers, or the file of the motion. The "
        "first run is the scene as it is. In the others, values are spread over their ranges, ends included (a Latin "
        "hypercube), and one more run with values between them is kept for the check, along the motion of the scene "
        "itself or its `validation`.",
    .example = "reduction:\n"
               "  samples: motion\n"
               "  runs: 6\n"
               "  vary:\n"
               "    - {set: contact.friction, from: 0.2, to: 0.8}\n"
               "    - {set: 'gravity[0]', from: -1, to: 1, unit: m/s^2}\n"
               "    - {set: motion.csv, values: [walk.csv, turn.csv]}",
    .keys = vary_keys,
};

static const tdKey reduction_keys[] = {
    {.name = "body", .kind = TD_KEY_NAME, .standard_doc = "the only body", .doc = "the body that is reduced"},
    {.name = "kind",
     .kind = TD_KEY_CHOICE,
     .choices = kind_choices,
     .standard = "domains",
     .doc = "what stands for the elements"},
    {.name = "basis",
     .kind = TD_KEY_CHOICE,
     .choices = basis_choices,
     .standard_doc = "`modes` with kind stvk, else `snapshots`",
     .doc = "what the modes are made of"},
    {.name = "modes",
     .kind = TD_KEY_INTEGER,
     .least = 1,
     .most = 500,
     .standard = "6",
     .standard_doc = "6; none with basis snapshots",
     .doc = "vibration modes, the lowest ones; with basis snapshots and kind domains in addition to those of the "
            "snapshots, for waves that occur in no equilibrium"},
    {.name = "derivatives",
     .kind = TD_KEY_INTEGER,
     .least = 0,
     .most = 500,
     .standard_doc = "as many as `modes`",
     .doc = "basis modes: derivatives of all pairs of this many of the first modes"},
    {.name = "columns",
     .kind = TD_KEY_INTEGER,
     .least = 1,
     .most = 500,
     .standard_doc = "20, or as many as modes and derivatives give",
     .doc = "basis modes: number of directions kept of modes and derivatives, the most important ones"},
    {.name = "amplitude",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_POSITIVE,
     .standard_doc = "a fifth of the body's size",
     .doc = "basis modes: amplitude of the first mode at which derivatives are weighed against modes"},
    {.name = "samples",
     .kind = TD_KEY_CHOICE,
     .choices = sample_choices,
     .standard = "auto",
     .standard_doc = "`auto`; `sequence` where that key is given",
     .doc = "sample points of the actuators for the snapshots"},
    {.name = "levels",
     .kind = TD_KEY_INTEGER,
     .least = 2,
     .most = 1000,
     .standard = "3",
     .doc = "samples grid: values of every actuator, the ends of its range included"},
    {.name = "count",
     .kind = TD_KEY_INTEGER,
     .least = 1,
     .most = MOST_SAMPLES,
     .standard_doc = "100; 200 with samples auto; all steps with samples motion",
     .doc =
         "samples latin_hypercube and motion: number of points; auto: at most; greedy: number of points added at most"},
    {.name = "candidates",
     .kind = TD_KEY_INTEGER,
     .least = 1,
     .most = 20000,
     .standard = "100",
     .doc =
         "samples greedy: points of a Latin hypercube, in addition to the corners, among which the worst is searched"},
    {.name = "greedy_tolerance",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_OPEN,
     .lo = 0,
     .hi = 1,
     .standard = "0.01",
     .doc =
         "samples greedy: estimated error, relative to the largest displacement, below which no more points are added"},
    {.name = "sequence",
     .kind = TD_KEY_FILE,
     .doc = "samples sequence: a CSV file with a header of names of actuators, loads or prescribed motions, one point "
            "per line; bare numbers are in the scene's units, or in the unit that the header gives: `north [mm]`"},
    {.name = "steps_between",
     .kind = TD_KEY_INTEGER,
     .least = 1,
     .most = 10000,
     .standard_doc = "9 with samples corners, 3 with greedy, else 1",
     .doc = "equilibria from one point to the next (greedy, and corners of auto: from rest to each), all of which are "
            "snapshots"},
    {.name = "error",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_OPEN,
     .lo = 0,
     .hi = 1,
     .standard = "0.02",
     .doc = "relative error to be reached at held-out points: tolerances that are not given are tightened, and samples "
            "auto adds points, until it is"},
    {.name = "pod_tolerance",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_OPEN,
     .lo = 0,
     .hi = 1,
     .standard = "1e-3",
     .standard_doc = "1e-3, and as many more modes as the held-out points need for `error`",
     .doc = "share of the snapshots that the modes need not represent: the square root of eq. 15 of Goury and Duriez "
            "2018, which agrees with its numbers of modes"},
    {.name = "ecsw_tolerance",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_OPEN,
     .lo = 0,
     .hi = 1,
     .standard = "0.05",
     .standard_doc = "0.05, 0.01 by energy, and smaller as far as `error` needs it",
     .doc = "relative error of the training forces allowed with the reduced integration domain (Goury and Duriez "
            "2018, eq. 21)"},
    {.name = "ecsw_norm",
     .kind = TD_KEY_CHOICE,
     .choices = norm_choices,
     .standard = "auto",
     .doc = "how the training forces are measured to which `ecsw_tolerance` applies"},
    {.name = "ecsw_parts",
     .kind = TD_KEY_INTEGER,
     .least = 1,
     .most = 4096,
     .standard_doc = "1; as many as `memory` requires on meshes of more than some 900,000 elements",
     .doc = "elements are chosen in so many parts of the mesh first, which ranks share, and then among those chosen "
            "([cluster.md](cluster.md#choosing-elements-in-parts))"},
    {.name = "max_modes",
     .kind = TD_KEY_INTEGER,
     .least = 1,
     .most = 2000,
     .standard_doc = "200; 40 with kind stvk",
     .doc = "largest number of modes from snapshots, whatever the tolerance"},
    {.name = "frame",
     .kind = TD_KEY_CHOICE,
     .choices = frame_choices,
     .standard = "auto",
     .doc = "what carries the modes"},
    {.name = "contact_friction",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_NOT_NEGATIVE,
     .standard_doc = "0; that of the scene with samples motion",
     .doc = "of all contacts in training, where the scene has `contact`: without friction a robot takes its shapes and "
            "stays in place (Goury and Duriez 2018)"},
    {.name = "runs",
     .kind = TD_KEY_INTEGER,
     .least = 2,
     .most = 1000,
     .standard_doc = "8 with `vary`, else 1",
     .doc = "samples motion, with `contact`: how often the scene runs, with other numbers from `vary` each time"},
    {.name = "vary",
     .kind = TD_KEY_LIST,
     .schema = &td_schema_vary,
     .least = 1,
     .most = 20,
     .doc = "samples motion, with `contact`: what differs from run to run, such as friction, slopes, places of other "
            "bodies and motions"},
    {.name = "every",
     .kind = TD_KEY_INTEGER,
     .least = 1,
     .most = 1000,
     .standard = "1",
     .doc = "samples motion, with `contact`: one step of so many is a snapshot"},
    {.name = "memory",
     .kind = TD_KEY_OTHER,
     .form = "number of bytes with `MB` or `GB`, 16 MB at least",
     .standard = "4 GB",
     .doc = "memory limit in addition to the scene itself"},
    {.name = "seed",
     .kind = TD_KEY_INTEGER,
     .least = 0,
     .most = INT32_MAX,
     .standard = "1",
     .doc = "seed of the Latin hypercube, of vibrations in training, and of the sketch of the training forces"},
    {0},
};
const tdSchema td_schema_reduction = {
    .title = "reduction",
    .doc = "How `tendril reduce` makes a reduced model of a body: the actuators visit points in their ranges, the "
           "equilibria there give modes, and a few elements are chosen that represent all. A body of the law stvk may "
           "do without either: vibration modes instead of equilibria, polynomials instead of elements. See "
           "[reduction.md](reduction.md).",
    .example = "reduction: {samples: corners, steps_between: 9, pod_tolerance: 1e-3, ecsw_tolerance: 0.05}",
    .keys = reduction_keys,
};

// ---------------------------------------------------------------- validation

static const tdKey random_keys[] = {
    {.name = "steps",
     .kind = TD_KEY_INTEGER,
     .least = 1,
     .most = 1000000,
     .standard = "200",
     .doc = "length of the path in steps of the scene"},
    {.name = "moves",
     .kind = TD_KEY_INTEGER,
     .least = 2,
     .most = 10000,
     .standard = "8",
     .doc = "straight moves that it is made of"},
    {.name = "seed",
     .kind = TD_KEY_INTEGER,
     .least = 0,
     .most = INT32_MAX,
     .standard = "1",
     .doc = "of its random numbers"},
    {0},
};
const tdSchema td_schema_random = {
    .title = "random",
    .doc = "A path between random points, on which every actuator goes from one end of its range to the other. It is "
           "the same every time.",
    .example = "validation: {random: {steps: 200, seed: 1}}",
    .keys = random_keys,
};

static const tdKey validation_keys[] = {
    {.name = "motion",
     .kind = TD_KEY_MAP,
     .schema = &td_schema_motion,
     .either = 'v',
     .doc = "values over time, as the scene's own motion"},
    {.name = "random", .kind = TD_KEY_MAP, .schema = &td_schema_random, .either = 'v', .doc = "a random path"},
    {0},
};
const tdSchema td_schema_validation = {
    .title = "validation",
    .doc = "A motion that is not used in training. Reduced models are tested on it.",
    .example = "validation: {motion: {keyframes: [{t: 0, north: 0}, {t: 1 s, north: 17 mm}]}}",
    .keys = validation_keys,
};
