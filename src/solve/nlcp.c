// SPDX-License-Identifier: Apache-2.0
// See nlcp.h.
#include "solve/nlcp.h"

#include <assert.h>
#include <float.h>
#include <string.h>

tdNlcpSettings td_default_nlcp(void)
{
    return (tdNlcpSettings){.tolerance = 1e-6, .max_iterations = 1000};
}

// ---------------------------------------------------------------- one contact

// gamma with (W + diag(lambda, lambda, 0)) gamma = -q by elimination of the normal; false where W is singular.
static bool with_sliding(const double W[9], const double q[3], double lambda, double gamma[3])
{
    double a = W[0] + lambda - W[2] * W[6] / W[8], b = W[1] - W[2] * W[7] / W[8];
    double c = W[3] - W[5] * W[6] / W[8], d = W[4] + lambda - W[5] * W[7] / W[8];
    double r0 = -q[0] + W[2] * q[2] / W[8], r1 = -q[1] + W[5] * q[2] / W[8], det = a * d - b * c;
    if (!(det > 1e-14 * fabs(a * d)))
        return false;
    gamma[0] = (d * r0 - b * r1) / det;
    gamma[1] = (a * r1 - c * r0) / det;
    gamma[2] = (-q[2] - W[6] * gamma[0] - W[7] * gamma[1]) / W[8];
    return true;
}

void td_nlcp_contact(const double W[9], const double q[3], double mu, double gamma[3])
{
    memset(gamma, 0, 3 * sizeof *gamma);
    if (q[2] >= 0 || !(W[8] > 0)) // it separates by itself, or cannot be pushed
        return;
    if (mu == 0)
    {
        gamma[2] = -q[2] / W[8];
        return;
    }
    if (with_sliding(W, q, 0, gamma) && gamma[2] >= 0 && hypot(gamma[0], gamma[1]) <= mu * gamma[2])
        return; // stick
    // Slip: v_t = -lambda gamma_t. |gamma_t| - mu gamma_n is positive at lambda = 0 and negative far out, where gamma_t
    // vanishes; a root in between by bisection in the exponent, then by halves.
    double size = W[0] + W[4] + W[8], low = 0, high = 1e-12 * size;
    for (int k = 0; k < 80; k++, high *= 4)
    {
        if (with_sliding(W, q, high, gamma) && hypot(gamma[0], gamma[1]) <= mu * gamma[2])
            break;
        low = high;
    }
    for (int k = 0; k < 100 && high - low > DBL_EPSILON * high; k++)
    {
        double middle = 0.5 * (low + high), at[3];
        if (middle <= low || middle >= high)
            break;
        if (with_sliding(W, q, middle, at) && hypot(at[0], at[1]) <= mu * at[2])
        {
            high = middle;
            memcpy(gamma, at, sizeof at);
        }
        else
            low = middle;
    }
}

// ---------------------------------------------------------------- sweeps

// W_i gamma + b + R gamma on the rows of one constraint.
static void velocity_of(const tdNlcp *p, const tdSapLaw *law, int first, double *v)
{
    for (int r = 0; r < law->rows; r++)
    {
        const double *row = p->W + (int64_t)(first + r) * p->stride;
        double sum = p->b[first + r] + law->R[r] * p->gamma[first + r];
        for (int j = 0; j < p->n; j++)
            sum += row[j] * p->gamma[j];
        v[r] = sum;
    }
}

static double clamp(const tdSapLaw *law, int r, double gamma)
{
    return law->kind == TD_SAP_BOX ? fmin(fmax(gamma, law->lo[r]), law->hi[r]) : gamma;
}

// Solves one constraint with the others held; returns the largest change of its velocity.
static double relax(const tdNlcp *p, const tdSapLaw *law, int first)
{
    double W[9], q[3], v[3], before[3], change = 0, *gamma = p->gamma + first;
    int n = law->rows;
    velocity_of(p, law, first, v);
    memcpy(before, gamma, (size_t)n * sizeof *gamma);
    for (int r = 0; r < n; r++)
        for (int s = 0; s < n; s++)
            W[r * n + s] = p->W[(int64_t)(first + r) * p->stride + first + s] + (r == s ? law->R[r] : 0);
    if (law->kind == TD_SAP_CONTACT)
    {
        for (int r = 0; r < 3; r++)
            q[r] = v[r] - W[3 * r] * gamma[0] - W[3 * r + 1] * gamma[1] - W[3 * r + 2] * gamma[2];
        td_nlcp_contact(W, q, law->mu, gamma);
    }
    else
        for (int r = 0; r < n; r++)
        {
            double step = W[r * n + r] > 0 ? clamp(law, r, gamma[r] - v[r] / W[r * n + r]) - gamma[r] : 0;
            gamma[r] += step;
            for (int s = 0; s < n; s++)
                v[s] += W[s * n + r] * step;
        }
    for (int r = 0; r < n; r++)
    {
        double moved = 0;
        for (int s = 0; s < n; s++)
            moved += W[r * n + s] * (gamma[s] - before[s]);
        change = fmax(change, fabs(moved));
    }
    return change;
}

// How far a constraint is from its law, as a velocity: for a contact the distance of gamma from the cone's projection
// of gamma - v' / w, with v' = v + mu |v_t| n (De Saxce: Coulomb's law as one complementarity), times w.
static double violation(const tdNlcp *p, const tdSapLaw *law, int first, const double *v)
{
    const double *gamma = p->gamma + first;
    double worst = 0, w = 0;
    for (int r = 0; r < law->rows; r++)
        w = fmax(w, p->W[(int64_t)(first + r) * p->stride + first + r] + law->R[r]);
    if (!(w > 0))
        return 0;
    double y[3], nearest[3];
    for (int r = 0; r < law->rows; r++)
        y[r] = gamma[r] - v[r] / w;
    if (law->kind == TD_SAP_CONTACT)
    {
        y[2] -= law->mu * hypot(v[0], v[1]) / w;
        tdSapLaw cone = {.kind = TD_SAP_CONTACT, .rows = 3, .mu = law->mu, .R = {1, 1, 1}};
        double minus[3] = {-y[0], -y[1], -y[2]};
        td_sap_project(&cone, minus, nearest, NULL);
    }
    else
        for (int r = 0; r < law->rows; r++)
            nearest[r] = clamp(law, r, y[r]);
    for (int r = 0; r < law->rows; r++)
        worst = fmax(worst, w * fabs(gamma[r] - nearest[r]));
    return worst;
}

// Sweeps that go in a circle, as with much friction they may, end before the bound: what has hardly changed in a
// hundred of them does not arrive in the rest.
#define WATCH 100
#define STUCK 0.9

void td_nlcp_solve(const tdNlcp *problem, const tdNlcpSettings *settings, double *velocity, tdNlcpResult *result)
{
    double size = 0, before = INFINITY;
    int rows = 0;
    *result = (tdNlcpResult){0};
    for (int c = 0; c < problem->n_constraints; c++)
        rows += problem->laws[c].rows;
    assert(rows == problem->n);
    (void)rows; // without asserts
    for (int i = 0; i < problem->n; i++)
        size = fmax(size, fabs(problem->b[i]));
    while (!result->converged && result->iterations < settings->max_iterations)
    {
        double change = 0;
        for (int c = 0, first = 0; c < problem->n_constraints; first += problem->laws[c++].rows)
            change = fmax(change, relax(problem, &problem->laws[c], first));
        result->iterations++;
        result->converged = change <= settings->tolerance * size;
        if (result->converged || result->iterations % WATCH != 0)
            continue;
        if ((result->iterations > WATCH && change > STUCK * before) || td_tasks_cancelled(settings->tasks))
            break;
        before = change;
    }
    for (int c = 0, first = 0; c < problem->n_constraints; first += problem->laws[c++].rows)
    {
        velocity_of(problem, &problem->laws[c], first, velocity + first);
        double off = violation(problem, &problem->laws[c], first, velocity + first);
        result->residual = fmax(result->residual, size > 0 ? off / size : off);
    }
}
