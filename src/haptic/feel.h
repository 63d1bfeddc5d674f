// SPDX-License-Identifier: Apache-2.0
// The force of a tick of the haptic loop: Signorini's and Coulomb's laws on the local model, with the gap moved by the
// device only (S3 IV-B).
//
//     0 <= gap_n _|_ lambda_n >= 0,   |lambda_t| <= mu lambda_n,   gap_t = 0 inside of the cone, against lambda_t on it
//
// by Gauss-Seidel over the contacts, from the forces of the tick before, with a bound on the sweeps; where some do not
// suffice, the next begin where the last lead. Efforts are forces
// [N] and gaps displacements [m]: nothing of it depends on the time step or on the period of the loop.
//
// What slips stays where it slipped to: tangential gaps are counted from there on, so that friction turns round with
// the hand within one local model. Nothing here allocates, locks or asks the system.
#pragma once
#include "base/isa.h"
#include "haptic/local.h"

#define TD_FEEL_WAYS 8 // of sweeps that are remembered

typedef struct tdFeelSettings
{
    int sweeps;       ///< most in a tick
    int plain;        ///< sweeps after which the next ones begin where the last ones lead
    double tolerance; ///< change of forces in a sweep at which it ends, relative to the largest
    double ahead;     ///< steps for which surfaces are taken to go on moving
    double late;      ///< steps after which a model is late, and the force fades
    double fade;      ///< [s] in which it does
} tdFeelSettings;

tdFeelSettings td_default_feel(void);

typedef struct tdFeel
{
    tdFeelSettings settings;
    tdIsa isa;
    const tdLocal *local; ///< the newest; NULL: none yet
    double lambda[TD_LOCAL_ROWS];
    double slip[TD_LOCAL_ROWS]; ///< tangential rows: where what slipped has come to [m]
    double gap[TD_LOCAL_ROWS];
    double moment[TD_LOCAL_ROWS][3]; ///< of the rows of the local model, about the tool's origin
    // What sweeps did, by which later ones get along faster.
    double last[TD_LOCAL_ROWS];                        ///< forces before the sweep
    double out[TD_LOCAL_ROWS], out_gap[TD_LOCAL_ROWS]; ///< after the one before, and
    double did[TD_LOCAL_ROWS];                         ///< what it changed
    int kept, next;                                    ///< ways from sweep to sweep that are known
    double way[TD_FEEL_WAYS][TD_LOCAL_ROWS];           ///< of forces
    double way_gap[TD_FEEL_WAYS][TD_LOCAL_ROWS];       ///< of gaps
    double change[TD_FEEL_WAYS][TD_LOCAL_ROWS];        ///< of what sweeps do
    double product[TD_FEEL_WAYS][TD_FEEL_WAYS];        ///< of these with each other
} tdFeel;

/// What a hand feels.
typedef struct tdFelt
{
    double force[3], torque[3]; ///< on the tool, about its origin [N, N m]
    tdPose tool;                ///< where the tool is: the device's pose, moved by what the coupling gives way
    int sweeps;
    bool converged;
    double residual; ///< change of forces in the last sweep, relative to the largest
    double fade;     ///< 1: the model is new enough; 0: no force is left
    int active;      ///< contacts that bear a force
    int slipping;
} tdFelt;

void td_feel_start(tdFeel *feel, const tdFeelSettings *settings);
/// A new local model, which must stay as it is until the next.
void td_feel_take(tdFeel *feel, const tdLocal *local);
/// The force at the device's pose and a time of the clock of td_local_make(). Poses that are not finite: no force.
void td_feel(tdFeel *feel, const tdCoupling *coupling, const tdPose *device, double clock, tdFelt *out);

// Kernels: gap += C' force, C the three rows of a contact, one after the other.
void td_feel_push_portable(int rows, const double *C, const double force[3], double *gap);
void td_feel_push_avx2(int rows, const double *C, const double force[3], double *gap);
/// out[k] = a . b_k, of n vectors b_k with a stride.
void td_feel_dots_portable(int rows, int n, const double *b, int stride, const double *a, double *out);
void td_feel_dots_avx2(int rows, int n, const double *b, int stride, const double *a, double *out);
