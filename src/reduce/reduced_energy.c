// SPDX-License-Identifier: Apache-2.0
// Energy of a reduced body, and where a step has brought it.
#include "reduce/reduced_body.h"

#include <math.h>
#include <string.h>

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

// Where forces were taken last.
double td_reduced_elastic(const tdReduced *reduced, const tdReducedState *mine)
{
    double sum = td_reduced_polynomial(reduced) ? mine->elastic : 0;
    for (int b = 0; b < reduced->domain.n_blocks; b++)
        sum += mine->points.sums[b].energy;
    return mine->factors[TD_FACTOR_YOUNG] * sum;
}

void td_reduced_sum_blocks(const tdReduced *reduced, const tdBody *body, const tdReducedState *mine, tdState *state)
{
    for (int b = 0; b < reduced->domain.n_blocks; b++)
    {
        const tdChunkSums *sums = &mine->points.sums[b];
        if (sums->bad != INT64_MAX &&
            (state->bad_element < 0 || state->bad_body != body->index || sums->bad < state->bad_element))
        {
            state->bad_element = sums->bad;
            state->bad_body = body->index;
        }
        // Projected tangents are a second look at a shape whose inverted elements have been counted.
        if (mine->projecting)
            state->report.projected_elements += sums->projected;
        else
        {
            state->report.inverted_elements += sums->inverted;
            state->report.extended_elements += reduced->domain.blocks[b].material.law->split ? sums->extended : 0;
        }
    }
}

// What would be left of it after relaxation, where a step has just been accepted; else NaN.
static double relaxed(const tdReduced *reduced, const tdReducedState *mine)
{
    double sum = mine->points.relaxed;
    for (int b = 0; b < reduced->domain.n_blocks; b++)
        sum += reduced->domain.blocks[b].material.n_prony == 0 ? mine->points.sums[b].energy : 0;
    return mine->factors[TD_FACTOR_YOUNG] * sum;
}

static double kinetic_energy(const tdBody *body, const tdState *state)
{
    const tdReduced *reduced = td_reduced_of(body);
    const double *q = state->q + body->first, *v = state->v + body->first;
    if (reduced->floating != NULL)
        return td_reduced_frame_kinetic(reduced, td_reduced_mine(body, state), q, v);
    double energy = 0;
    for (int i = 0; i < reduced->n; i++) // M is symmetric: half of it will do
    {
        const double *row = reduced->M + (int64_t)i * reduced->stride;
        energy += v[i] * (dot(i, row, v) + 0.5 * row[i] * v[i]);
    }
    return td_state_factors(state, body->index)[TD_FACTOR_MASS] * energy;
}

// Force times the motion of the step; the force inside a body does not know of its frame.
static double force_work(const tdBody *body, const tdState *state)
{
    int64_t first = body->first;
    double sum = 0;
    for (int i = 0; i < td_reduced_of(body)->n; i++)
        sum += state->force[first + i] * (state->q[first + i] - state->start[first + i]);
    return sum;
}

// Rotations and forces at the present q. The second choice of elements, which judges, takes its rotations there too.
static void arrive_domain(const tdModel *model, const tdReduced *reduced, tdReducedState *mine, const tdState *state,
                          const double *q)
{
    td_reduced_move(reduced, mine, q);
    if (reduced->domain.lagged && !td_reduced_rotation_follows(model, state))
        td_reduced_gradients(reduced, mine, state, true);
}

// What a material remembers changes when the step is accepted: then its forces are taken again.
void td_reduced_arrive(const tdModel *model, const tdBody *body, tdState *state, tdArrival *arrival)
{
    const tdReduced *reduced = td_reduced_of(body);
    tdReducedState *mine = td_reduced_mine(body, state);
    const tdScheme *scheme = &model->scheme;
    double *q = state->q + body->first;
    bool remembers = reduced->domain.history > 0;
    bool assemble = !remembers && !mine->K_valid && (scheme->ce > 0 || reduced->soft->beta > 0);
    mine->projecting = false;
    if (reduced->floating != NULL)
        td_reduced_frame_arrive(model, reduced, mine, state, q, state->v + body->first);
    arrival->force_work_start = force_work(body, state);
    arrive_domain(model, reduced, mine, state, q);
    if (reduced->check != NULL)
        arrive_domain(model, reduced->check, mine->check, state, q);
    td_reduced_domain_forces(model, reduced, mine, state, state->force + body->first, assemble ? mine->K : NULL);
    td_reduced_sum_blocks(reduced, body, mine, state);
    mine->arrived = !remembers;
    if (mine->check != NULL)
        mine->check->arrived = !remembers;
    arrival->kinetic = kinetic_energy(body, state);
    arrival->elastic = td_reduced_elastic(reduced, mine);
    arrival->elastic_start = mine->energy_start;
    arrival->remembers = remembers;
    arrival->force_work = force_work(body, state);
}

void td_reduced_energy(const tdModel *model, const tdBody *body, tdState *state, double *kinetic, double *elastic)
{
    const tdReduced *reduced = td_reduced_of(body);
    tdReducedState *mine = td_reduced_mine(body, state);
    if (kinetic != NULL)
        *kinetic = kinetic_energy(body, state);
    if (elastic == NULL)
        return;
    // As for a body of full order: the energy a new step would start from, after relaxation. Where a step has just
    // arrived it is known.
    bool moved = td_reduced_move(reduced, mine, state->q + body->first);
    *elastic = relaxed(reduced, mine);
    if (!isnan(*elastic))
        return;
    if (moved || !mine->arrived)
    {
        td_reduced_history_begin(reduced, mine, INFINITY);
        td_reduced_gradients(reduced, mine, state, true);
        double *force = td_scratch_take(state);
        td_reduced_domain_forces(model, reduced, mine, state, force, NULL);
        td_scratch_give(state, force);
    }
    *elastic = td_reduced_elastic(reduced, mine);
}
