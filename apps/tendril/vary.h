// SPDX-License-Identifier: Apache-2.0
// What 'tendril sweep' varies: keys of a scene, each over a list, a range or a distribution.
//
//     contact.friction=0.2,0.5,0.8             the values of a list
//     bodies[arm].material.young=0.5..2 MPa:4  from one to the other in equal steps; log 0.5..2 MPa:4: in equal ratios
//     time_step=uniform(5 ms, 10 ms)           one draw for each seed; also normal(MEAN, DEVIATION) and
//                                              lognormal(MEDIAN, DEVIATION OF THE LOGARITHM)
#pragma once
#include "base/memory.h"

#include <stdbool.h>
#include <stdint.h>

#define VARY_WHY   256
#define VARY_VALUE 200

typedef enum varyKind
{
    VARY_LIST,
    VARY_RANGE,
    VARY_LOG_RANGE,
    VARY_UNIFORM,
    VARY_NORMAL,
    VARY_LOGNORMAL
} varyKind;

typedef struct varyAxis
{
    const char *path; ///< as for --set
    varyKind kind;
    int n;               ///< values; 1 of a distribution
    const char **values; ///< of a list
    double a, b;         ///< of a range or a distribution
    const char *unit;    ///< of all numbers; "" where they have none
    bool numeric;        ///< false: a list of words
} varyAxis;

/// Reads PATH=VALUES; strings are taken from the arena. False with the reason in `why`.
bool vary_parse(const char *text, tdArena *arena, varyAxis *out, char why[VARY_WHY]);
static inline bool vary_is_drawn(const varyAxis *axis)
{
    return axis->kind >= VARY_UNIFORM;
}
/// Value i of an axis, as it is given to the scene; of a distribution the draw of a seed, where `axis_number` keeps the
/// draws of several axes apart. *number: without its unit, NAN for a word.
void vary_value(const varyAxis *axis, int i, uint64_t seed, int axis_number, char out[VARY_VALUE], double *number);
