// SPDX-License-Identifier: Apache-2.0
// Numbers with units: "450 kPa", "1.07 g/cm^3", "9.81 m/s²", "0.1 1/s".
//
//   quantity = number [unit]        unit = factor { ("*" | "/" | " ") factor }
//   factor   = ("1" | name | "(" unit ")") [ "^" integer ]
//
// A bare number is in the scene's base units, except that an angle must say deg or rad. Angles are
// a dimension here, so that degrees do not pass for a ratio.
#pragma once
#include <stdbool.h>
#include <stddef.h>

/// Exponents of the base quantities.
typedef struct tdDim
{
    int length, mass, time, angle;
} tdDim;

#define TD_DIM_NONE         ((tdDim){0, 0, 0, 0})
#define TD_DIM_LENGTH       ((tdDim){1, 0, 0, 0})
#define TD_DIM_VOLUME       ((tdDim){3, 0, 0, 0})
#define TD_DIM_MASS         ((tdDim){0, 1, 0, 0})
#define TD_DIM_TIME         ((tdDim){0, 0, 1, 0})
#define TD_DIM_ANGLE        ((tdDim){0, 0, 0, 1})
#define TD_DIM_VELOCITY     ((tdDim){1, 0, -1, 0})
#define TD_DIM_ACCELERATION ((tdDim){1, 0, -2, 0})
#define TD_DIM_FORCE        ((tdDim){1, 1, -2, 0})
#define TD_DIM_TORQUE       ((tdDim){2, 1, -2, 0})
#define TD_DIM_PRESSURE     ((tdDim){-1, 1, -2, 0})
#define TD_DIM_DENSITY      ((tdDim){-3, 1, 0, 0})
#define TD_DIM_FREQUENCY    ((tdDim){0, 0, -1, 0})
#define TD_DIM_TURNING      ((tdDim){0, 0, -1, 1})

/// SI values of a scene's base units: {1e-3, 1, 1} is mm-kg-s.
typedef struct tdUnits
{
    double length, mass, time;
} tdUnits;

/// Longest message that the functions below write into `why`.
#define TD_UNIT_WHY 400

/// Text -> SI value. On failure returns false and says in `why` what was found and expected.
bool td_quantity_parse(const char *text, const tdUnits *base, tdDim expected, double *out, char why[TD_UNIT_WHY]);

/// Text of a unit without a number -> its SI value, e.g. "mm" -> 1e-3.
bool td_unit_parse(const char *text, tdDim expected, double *out, char why[TD_UNIT_WHY]);

/// "a pressure", or the exponents when the dimension has no name: "m^2 kg". `size` of 64 is enough.
void td_dim_describe(tdDim dim, char *out, size_t size);
/// A unit that a user would write for this dimension ("kPa"), "" for a plain number, NULL if unnamed.
const char *td_dim_example(tdDim dim);
/// Name without article ("pressure"), or NULL.
const char *td_dim_name(tdDim dim);

/// Limits of the magnitude of a quantity, in SI units: beyond `most` nothing is read; what must be positive is at least
/// `least`. Physically absurd, but such that what is computed from them stays finite.
void td_dim_limits(tdDim dim, double *least, double *most);
/// Whether a value, in SI units, is within them; else the reason in `why`.
bool td_dim_check(tdDim dim, bool positive, double value, char why[TD_UNIT_WHY]);
/// The named dimensions, for the reference: name, SI unit and limits; returns false past the end.
bool td_dim_at(int i, const char **name, const char **si, double *least, double *most);

/// The known units, for the reference: returns false past the end.
bool td_unit_at(int i, const char **name, tdDim *dim, double *si);
