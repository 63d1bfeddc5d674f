// SPDX-License-Identifier: Apache-2.0
// Time integration as numbers. A step looks for the velocity v at its end (a displacement in a static
// scene) with
//
//     m(v) = mass M (v - v_hat) + s [ D v_e + f_int(q_e) - f_ext ] = 0
//     q_e = q_e(0) + ce v,   v_e = v_e(0) + de v
//     A = dm/dv = mass M + s (de D + ce K),   D = alpha M + beta K
//
//     theta-method              s = h        ce = theta theta_vq h   de = theta   v_hat = v0
//     Newmark                   s = gamma h  ce = beta h / gamma     de = 1       v_hat = v0 + h (1 - gamma) a0
//     Runge-Kutta 4             s = h        ce = 0                  de = 0       step/runge_kutta.c
//     static                    s = 1        ce = 1                  de = 0       mass = 0
//
// c = dq/dv and s with lambda = s * effort are what constraints need to know of the integrator.
#pragma once
#include "describe/scene.h"
#include "describe/together.h"

typedef struct tdScheme
{
    tdMethod method;
    double h;
    double theta, theta_vq;
    double beta, gamma;
    double mass, s, ce, de;
    double c;         ///< dq/dv at the end of the step
    double load_time; ///< loads are taken at t + load_time
} tdScheme;

tdScheme td_scheme_make(const tdSceneSettings *settings);

/// Whether forces are taken elsewhere than at the end of the step.
bool td_scheme_ends_apart(const tdScheme *scheme);
/// Whether velocities of the start move bodies for a while before forces change them: (1 - theta_vq) h.
bool td_scheme_sets_out_late(const tdScheme *scheme);
/// Whether what happens within a step dies away in the next ones. Where it does not, an effort that is to bring
/// something to its place by the end of a step has to undo what the last one did, and alternates for ever.
bool td_scheme_settles(const tdScheme *scheme);
/// Its place in the table of what goes together.
tdPart td_scheme_part(const tdScheme *scheme);
/// Positions at the end of the step for the velocity v.
void td_scheme_end(const tdScheme *scheme, int64_t n, const double *q0, const double *v0, const double *v, double *q);

/// How far a coordinate moves in the step when the velocity at its end is zero: q_end = q + drift + c v.
double td_scheme_drift(const tdScheme *scheme, double v0, double a0);

/// The velocity for which forces are evaluated at q0 itself: one Newton pass from it is the
/// linearization at the start of the step.
void td_scheme_start(const tdScheme *scheme, int64_t n, const double *v0, const double *a0, double *v);
/// Where forces and damping are evaluated for the velocity v, and v - v_hat.
void td_scheme_evaluate(const tdScheme *scheme, int64_t n, const double *q0, const double *v0, const double *a0,
                        const double *v, double *q_e, double *v_e, double *inertia);
/// End of the step: q, v and a from the start values and v; of Runge-Kutta's method q by the mean rates in a.
void td_scheme_finish(const tdScheme *scheme, int64_t n, double *q, double *v, double *a, const double *v_new);
