// SPDX-License-Identifier: Apache-2.0
// What one constraint of the convex problem asks (S5, and its reference 27: Castro, Permenter, Han 2022).
//
//     y = -(v_c - v_hat) / R            impulse before projection, R > 0 diagonal
//     gamma = P(y)                      projection onto the admissible set in the norm of R
//     l = gamma' R (y - gamma / 2)      cost, with dl/dv_c = -gamma; for cones it is gamma' R gamma / 2
//     G = -dgamma/dv_c                  symmetric positive semi-definite
//
// Contact: v_c = (two tangents, normal), the normal pointing from the other body to this one, so that v_n > 0
// separates; the set is the cone |gamma_t| <= mu gamma_n. Bilateral rows: everything. Box rows: lo <= gamma <= hi, each
// for itself. Turning: v_c is an angular velocity in the axes of a contact, the set the disc |gamma_t| <= hi_0 and, of
// the normal, lo_2 <= gamma <= hi_2.
#pragma once
#include <math.h>
#include <stdbool.h>

#define TD_SAP_ROWS 3 // most of one constraint

typedef enum tdSapKind
{
    TD_SAP_CONTACT,   ///< 3 rows
    TD_SAP_BILATERAL, ///< 1 to 3 rows: attachment, coupling, driven way
    TD_SAP_BOX,       ///< 1 to 3 rows: pull-only cable, joint limit, drive with a limited effort, joint friction
    TD_SAP_TURNING    ///< 3 rows: rolling and torsional friction of a contact
} tdSapKind;

/// Numbers of one constraint. v_hat is what v_c is drawn to; what the row moves by itself (J v + b) belongs to it:
/// v_hat - b.
typedef struct tdSapLaw
{
    tdSapKind kind;
    int rows;
    double mu;                               ///< contact: >= 0
    double R[TD_SAP_ROWS];                   ///< > 0; contact and turning: R[0] = R[1]
    double v_hat[TD_SAP_ROWS];               ///<
    double lo[TD_SAP_ROWS], hi[TD_SAP_ROWS]; ///< box, turning: bounds of the impulse, may be infinite; lo <= hi
} tdSapLaw;

#define TD_SAP_BETA_BOX         1e-3                                  // of bilateral and box rows
#define TD_SAP_NEAR_RIGID(beta) ((beta) * (beta) / (4 * M_PI * M_PI)) // R of a near-rigid row, as a share of w

/// What decides R and v_hat.
typedef struct tdSapTuning
{
    double c;      ///< dq/dv of the scheme at the end of the step: the time step of backward Euler [s]
    double s;      ///< impulse of a unit of force in a step: the same there [s]
    double beta;   ///< near-rigid regularization of contact normals, about 1
    double beta_b; ///< the same of bilateral and box rows, about 1e-3
    double sigma;  ///< tangents of contacts, about 1e-3: creep in stiction about sigma g h
} tdSapTuning;

tdSapTuning td_sap_tuning(double c, double s);

/// Contact. phi: signed distance at the start [m]; k: stiffness [N/m], INFINITY for near-rigid; tau: dissipation time
/// [s]; w: diagonal estimate of J A^-1 J' [1/kg].
tdSapLaw td_sap_contact(const tdSapTuning *t, double mu, double phi, double k, double tau, double w);
/// Bilateral rows with the errors g at the start. k: stiffness, INFINITY for near-rigid.
tdSapLaw td_sap_bilateral(const tdSapTuning *t, int rows, const double *g, double k, double tau, double w);
/// One row with impulse bounds. Pull only, joint limit (g the way left to it): lo = 0, hi = INFINITY; drive: lo =
/// -limit h, hi = limit h; friction of a joint: the same with td_sap_friction.
tdSapLaw td_sap_box(const tdSapTuning *t, double g, double k, double tau, double w, double lo, double hi);
/// Dry friction in one row: |gamma| <= limit, drawn to rest.
tdSapLaw td_sap_friction(const tdSapTuning *t, double limit, double w);
/// The same of a contact's turning: rolling and torsion [N m s] are the largest angular impulses.
tdSapLaw td_sap_turning(const tdSapTuning *t, double rolling, double torsion, double w);
/// w of a constraint from its block W = J A^-1 J' (rows x rows): Frobenius norm over the number of rows.
double td_sap_weight(int rows, const double *W);

/// gamma = P(y) from the constraint velocity; returns the cost l. G (rows x rows, row-major) may be NULL.
double td_sap_project(const tdSapLaw *law, const double *v_c, double *gamma, double *G);
/// Of a contact, for a line search: adds (before - gamma) . dv_c and dv_c . G dv_c, without making gamma and G.
void td_sap_contact_slope(const tdSapLaw *law, const double v_c[3], const double dv_c[3], const double before[3],
                          double *first, double *second);
/// Whether the numbers make a problem; where not, *reason says what is wrong.
bool td_sap_law_valid(const tdSapLaw *law, const char **reason);
