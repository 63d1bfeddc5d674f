// SPDX-License-Identifier: Apache-2.0
// What effectors say of contact: the normal force between bodies, and how much of their friction is used. While inverse
// control looks for efforts, with slopes; at the end of a step, of what came of it.
#include "contact/contact.h"

#include "constraint/condense.h"
#include "constraint/constraint.h"
#include "core/state.h"

#include <math.h>
#include <string.h>

static bool is_between(const tdModel *model, const tdContact *contact, const int bodies[2])
{
    int a = model->contact->colliders[contact->a.collider].body,
        b = model->contact->colliders[contact->b.collider].body;
    if (bodies[1] < 0)
        return a == bodies[0] || b == bodies[0];
    return (a == bodies[0] && b == bodies[1]) || (a == bodies[1] && b == bodies[0]);
}

// Sum of normal forces; where nothing touches, the force with which the nearest point would have to be pulled to be
// where it is, so that what is to press goes nearer.
static void read_force(const tdModel *model, tdState *state, const tdSteer *steer, const int bodies[2],
                       tdTouchReading *out)
{
    const tdContactState *cs = state->contact;
    const tdProblem *problem = cs->problem;
    double s = model->scheme.s, nearest = -INFINITY;
    int32_t open = -1;
    bool any = false;
    out->value = 0;
    memset(out->slope, 0, (size_t)steer->n * sizeof *out->slope);
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        int64_t at = TD_SAP_ROWS * (int64_t)c + 2;
        if (problem->owner[c].kind != TD_OWNER_CONTACT ||
            !is_between(model, &cs->contacts[problem->owner[c].index], bodies))
            continue;
        double pull = (problem->constraints[c].law.v_hat[2] - problem->v_c[at]) / (problem->w[c] * s);
        if (problem->gamma[at] > 0)
        {
            any = true;
            out->value += problem->gamma[at] / s;
            for (int k = 0; k < steer->n; k++)
                out->slope[k] += steer->dgamma[at * steer->n + k] / s;
        }
        else if (pull > nearest)
        {
            nearest = pull;
            open = c;
        }
    }
    if (any || open < 0)
        return;
    int64_t at = TD_SAP_ROWS * (int64_t)open + 2;
    out->value = fmin(nearest, 0);
    for (int k = 0; k < steer->n; k++)
        out->slope[k] = -steer->dv_c[at * steer->n + k] / (problem->w[open] * s);
}

// Impulse that would stop a contact which slides, by its speed, and its slopes; 0 where it sticks.
static double stopping(const tdProblem *problem, const tdSteer *steer, int32_t c, double *slope)
{
    int64_t at = TD_SAP_ROWS * (int64_t)c;
    const double *gamma = problem->gamma + at, *v = problem->v_c + at, *dv = steer->dv_c + at * steer->n;
    double speed = hypot(v[0], v[1]), mu = problem->constraints[c].law.mu;
    bool slides = hypot(gamma[0], gamma[1]) > (1 - 1e-9) * mu * gamma[2] && speed > 0;
    for (int k = 0; k < steer->n; k++)
        slope[k] = slides ? (v[0] * dv[k] + v[1] * dv[steer->n + k]) / (speed * problem->w[c]) : 0;
    return slides ? speed / problem->w[c] : 0;
}

// Sum of tangential forces over that of mu times normal ones. Contacts that slide use all of their friction whatever
// efforts do; what would stop them is added, so that there is a way back.
static void read_friction(const tdModel *model, tdState *state, const tdSteer *steer, const int bodies[2],
                          tdTouchReading *out)
{
    const tdContactState *cs = state->contact;
    const tdProblem *problem = cs->problem;
    double used = 0, most = 0, *stop = cs->direction;
    memset(out->slope, 0, (size_t)steer->n * sizeof *out->slope);
    for (int pass = 0; pass < 2; pass++)
        for (int32_t c = 0; c < problem->n_constraints; c++)
        {
            int64_t at = TD_SAP_ROWS * (int64_t)c;
            const double *gamma = problem->gamma + at, *slope = steer->dgamma + at * steer->n;
            double t = hypot(gamma[0], gamma[1]), mu = problem->constraints[c].law.mu;
            if (problem->owner[c].kind != TD_OWNER_CONTACT || !(gamma[2] > 0) ||
                !is_between(model, &cs->contacts[problem->owner[c].index], bodies))
                continue;
            double more = stopping(problem, steer, c, stop);
            used += pass == 0 ? t + more : 0;
            most += pass == 0 ? mu * gamma[2] : 0;
            for (int k = 0; k < steer->n && pass == 1 && most > 0; k++)
            {
                double along_t = t > 0 ? (gamma[0] * slope[k] + gamma[1] * slope[steer->n + k]) / t : 0;
                out->slope[k] += (along_t + stop[k] - used / most * mu * slope[2 * steer->n + k]) / most;
            }
        }
    out->value = most > 0 ? used / most : 0;
}

void td_contact_read(const tdModel *model, tdState *state, const tdSteer *steer)
{
    for (int e = 0; e < model->n_effectors; e++)
    {
        const tdSceneEffector *given = model->effectors[e].given;
        if (given->kind == TD_EFFECTOR_CONTACT)
            read_force(model, state, steer, given->bodies, &state->contact->readings[e]);
        else if (given->kind == TD_EFFECTOR_FRICTION)
            read_friction(model, state, steer, given->bodies, &state->contact->readings[e]);
    }
}

void td_contact_effectors(const tdModel *model, tdState *state)
{
    const tdContactState *cs = state->contact;
    for (int e = 0; e < model->n_effectors; e++)
    {
        const tdSceneEffector *given = model->effectors[e].given;
        double normal = 0, used = 0, most = 0;
        if (model->effectors[e].measure.kind != TD_MEASURE_CONTACT)
            continue;
        for (int64_t i = 0; cs != NULL && i < cs->n_points; i++)
        {
            const tdContactPoint *point = &cs->points[i];
            double f = point->force[0] * point->normal[0] + point->force[1] * point->normal[1] +
                       point->force[2] * point->normal[2];
            double square = 0;
            if (!is_between(model, &cs->contacts[i], given->bodies))
                continue;
            for (int k = 0; k < 3; k++)
                square += (point->force[k] - f * point->normal[k]) * (point->force[k] - f * point->normal[k]);
            normal += f;
            used += sqrt(square);
            most += td_contact_pair(model, &cs->contacts[i]).mu * f;
        }
        state->constraint->value[3 * e] = given->kind == TD_EFFECTOR_CONTACT ? normal : most > 0 ? used / most : 0;
    }
}
