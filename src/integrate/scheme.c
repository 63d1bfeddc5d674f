// SPDX-License-Identifier: Apache-2.0
#include "integrate/scheme.h"

#define MEAN 0.1 // of a step in the mean of velocities

tdScheme td_scheme_make(const tdSceneSettings *settings)
{
    double h = settings->time_step;
    tdScheme s = {.method = settings->method,
                  .h = h,
                  .theta = settings->theta,
                  .theta_vq = settings->theta_vq,
                  .beta = settings->beta,
                  .gamma = settings->gamma};
    switch (settings->method)
    {
    case TD_METHOD_THETA:
        s.mass = 1;
        s.s = h;
        s.ce = s.theta * s.theta_vq * h;
        s.de = s.theta;
        s.c = s.theta_vq * h;
        s.load_time = s.theta * h;
        break;
    case TD_METHOD_NEWMARK:
        s.mass = 1;
        s.s = s.gamma * h;
        s.ce = s.c = s.beta * h / s.gamma;
        s.de = 1;
        s.load_time = h;
        break;
    case TD_METHOD_RK4:
        s.mass = 1;
        s.s = s.c = s.load_time = h;
        break;
    case TD_METHOD_STATIC:
        s.s = s.ce = s.c = 1;
        s.load_time = h;
        break;
    }
    return s;
}

bool td_scheme_ends_apart(const tdScheme *s)
{
    return s->method == TD_METHOD_THETA && s->theta != 1;
}

bool td_scheme_sets_out_late(const tdScheme *s)
{
    return s->method == TD_METHOD_THETA && s->ce > 0 && s->theta_vq != 1;
}

// The roots of infinite frequency: (θ - 1)/θ and (θvq - 1)/θvq; of Newmark's method |root| < 1 when 2β > γ.
bool td_scheme_settles(const tdScheme *s)
{
    if (s->method == TD_METHOD_RK4)
        return false;
    if (s->method == TD_METHOD_NEWMARK)
        return s->gamma >= 0.5 && 2 * s->beta > s->gamma;
    return s->method == TD_METHOD_STATIC || (s->theta > 0.5 && s->theta_vq > 0.5);
}

tdPart td_scheme_part(const tdScheme *s)
{
    if (s->method == TD_METHOD_STATIC)
        return TD_PART_STATIC;
    if (s->method == TD_METHOD_RK4)
        return TD_PART_RK4;
    if (s->method == TD_METHOD_THETA && s->theta == 1 && s->theta_vq == 1)
        return TD_PART_BACKWARD_EULER;
    return td_scheme_settles(s) ? TD_PART_DAMPED : TD_PART_UNDAMPED;
}

void td_scheme_end(const tdScheme *s, int64_t n, const double *q0, const double *v0, const double *v, double *q)
{
    for (int64_t i = 0; i < n; i++)
        q[i] = q0[i] + s->h * (s->theta_vq * v[i] + (1 - s->theta_vq) * v0[i]);
}

// Newmark: acceleration at the end from the velocity there.
static double newmark_a1(const tdScheme *s, double v0, double a0, double v)
{
    return ((v - v0) / s->h - (1 - s->gamma) * a0) / s->gamma;
}

double td_scheme_drift(const tdScheme *s, double v0, double a0)
{
    if (s->method == TD_METHOD_STATIC)
        return 0;
    if (s->method == TD_METHOD_NEWMARK)
        return s->h * v0 + s->h * s->h * ((0.5 - s->beta) * a0 + s->beta * newmark_a1(s, v0, a0, 0));
    return s->h * (1 - s->theta_vq) * v0;
}

void td_scheme_start(const tdScheme *s, int64_t n, const double *v0, const double *a0, double *v)
{
    for (int64_t i = 0; i < n; i++)
    {
        if (s->method == TD_METHOD_STATIC)
            v[i] = 0;
        else if (s->method == TD_METHOD_NEWMARK)
        {
            double a1 = -(v0[i] / s->h + (0.5 - s->beta) * a0[i]) / s->beta;
            v[i] = v0[i] + s->h * ((1 - s->gamma) * a0[i] + s->gamma * a1);
        }
        else
            v[i] = s->ce > 0 ? -(1 - s->theta_vq) / s->theta_vq * v0[i] : v0[i];
    }
}

void td_scheme_evaluate(const tdScheme *s, int64_t n, const double *q0, const double *v0, const double *a0,
                        const double *v, double *q_e, double *v_e, double *inertia)
{
    double h = s->h, theta = s->theta, theta_vq = s->theta_vq;
    switch (s->method)
    {
    case TD_METHOD_STATIC:
        for (int64_t i = 0; i < n; i++)
        {
            q_e[i] = q0[i] + v[i];
            v_e[i] = inertia[i] = 0;
        }
        return;
    case TD_METHOD_NEWMARK:
        for (int64_t i = 0; i < n; i++)
        {
            double a1 = newmark_a1(s, v0[i], a0[i], v[i]);
            q_e[i] = q0[i] + h * v0[i] + h * h * ((0.5 - s->beta) * a0[i] + s->beta * a1);
            v_e[i] = v[i];
            inertia[i] = v[i] - v0[i] - h * (1 - s->gamma) * a0[i];
        }
        return;
    default:
        for (int64_t i = 0; i < n; i++)
        {
            q_e[i] = q0[i] + theta * h * (theta_vq * v[i] + (1 - theta_vq) * v0[i]);
            v_e[i] = theta * v[i] + (1 - theta) * v0[i];
            inertia[i] = v[i] - v0[i];
        }
    }
}

void td_scheme_finish(const tdScheme *s, int64_t n, double *q, double *v, double *a, const double *v_new)
{
    double h = s->h;
    for (int64_t i = 0; i < n; i++)
    {
        if (s->method == TD_METHOD_STATIC)
        {
            q[i] += v_new[i];
            v[i] = 0;
        }
        else if (s->method == TD_METHOD_RK4)
        {
            q[i] += h * a[i];
            v[i] = v_new[i];
        }
        else if (s->method == TD_METHOD_NEWMARK)
        {
            double a1 = newmark_a1(s, v[i], a[i], v_new[i]);
            q[i] += h * v[i] + h * h * ((0.5 - s->beta) * a[i] + s->beta * a1);
            a[i] = a1;
            v[i] = v_new[i];
        }
        else
        {
            q[i] += h * (s->theta_vq * v_new[i] + (1 - s->theta_vq) * v[i]);
            a[i] += MEAN * (v_new[i] - a[i]); // where contact begins to look
            v[i] = v_new[i];
        }
    }
}
