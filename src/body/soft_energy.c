// SPDX-License-Identifier: Apache-2.0
// Mass and energy of a soft body, and where a step has brought it.
#include "body/soft.h"

#include <math.h>
#include <string.h>

static const tdSoft *soft_of(const tdBody *body)
{
    return body->data;
}

static tdSoftState *mine_of(const tdBody *body, tdState *state)
{
    return (tdSoftState *)state->bodies[body->index];
}

// y += M x
void td_soft_add_mass(const tdSoft *soft, tdTasks *tasks, double factor, const double *x, double *y, double *work)
{
    int64_t n = 3 * (int64_t)soft->n_nodes;
    if (!soft->consistent)
    {
        for (int64_t i = 0; i < n; i++)
            y[i] += factor * soft->node_mass[i / 3] * x[i];
        return;
    }
    td_block_multiply_scalar(tasks, &soft->pattern, soft->mass, x, work, false);
    for (int64_t i = 0; i < n; i++)
        y[i] += factor * work[i];
}

void td_soft_sum_chunks(const tdSoft *soft, const tdBody *body, const tdSoftState *mine, tdState *state)
{
    int projected = 0, inverted = 0, extended = 0;
    for (int k = 0; k < soft->n_blocks; k++)
        for (int32_t c = 0; c < soft->blocks[k].chunks && soft->blocks[k].material.law->split; c++)
            extended += mine->sums[soft->blocks[k].first_chunk + c].extended;
    for (int32_t c = 0; c < soft->chunks; c++)
    {
        const tdChunkSums *sums = &mine->sums[c];
        projected += sums->projected;
        inverted += sums->inverted;
        if (sums->bad != INT64_MAX &&
            (state->bad_element < 0 || state->bad_body != body->index || sums->bad < state->bad_element))
        {
            state->bad_element = sums->bad;
            state->bad_body = body->index;
        }
    }
    // Projected tangents are a second look at a shape whose inverted elements have been counted.
    if (mine->projecting)
        state->report.projected_elements += projected;
    else
    {
        state->report.inverted_elements += inverted;
        state->report.extended_elements += extended;
    }
}

static double kinetic_energy(const tdBody *body, tdState *state)
{
    double *momentum = state->work + body->first;
    memset(momentum, 0, (size_t)body->count * sizeof *momentum);
    td_soft_add_mass(soft_of(body), state->tasks, 1, state->v + body->first, momentum, state->scratch + body->first);
    return 0.5 * td_dot(state->tasks, body->count, momentum, state->v + body->first);
}

// Force times the motion of the step.
static double force_work(const tdBody *body, tdState *state)
{
    const double *q = state->q + body->first, *start = state->start + body->first;
    double *dq = state->work + body->first;
    for (int64_t i = 0; i < body->count; i++)
        dq[i] = q[i] - start[i];
    return td_dot(state->tasks, body->count, state->force + body->first, dq);
}

// What a material remembers changes when the step is accepted: then its forces are taken again.
void td_soft_arrive(const tdModel *model, const tdBody *body, tdState *state, tdArrival *arrival)
{
    const tdSoft *soft = soft_of(body);
    tdSoftState *mine = mine_of(body, state);
    const tdScheme *scheme = &model->scheme;
    bool remembers = soft->history > 0;
    bool assemble = !remembers && !mine->K_valid && (scheme->ce > 0 || soft->beta > 0);
    mine->projecting = false;
    arrival->force_work_start = force_work(body, state);
    td_soft_gradients(soft, mine, state, state->q + body->first, true);
    td_soft_forces(soft, mine, state, state->force + body->first, assemble ? mine->K : NULL);
    td_soft_sum_chunks(soft, body, mine, state);
    arrival->kinetic = kinetic_energy(body, state);
    arrival->elastic = td_soft_energy(soft, mine);
    arrival->elastic_start = mine->energy_start;
    arrival->force_work = force_work(body, state);
    if (assemble)
        mine->same = false;
    if (assemble && soft->constant)
        mine->K_valid = true;
    mine->arrived = !remembers;
    memcpy(mine->arrived_q, state->q + body->first, (size_t)body->count * sizeof(double));
}

void td_soft_body_energy(const tdModel *model, const tdBody *body, tdState *state, double *kinetic, double *elastic)
{
    const tdSoft *soft = soft_of(body);
    tdSoftState *mine = mine_of(body, state);
    (void)model;
    *kinetic = kinetic_energy(body, state);
    // A lagged rotation is that of the state itself here: the energy a new step would start from. Of a
    // viscoelastic body the part that would be left after relaxation counts.
    td_soft_history_begin(soft, mine, INFINITY);
    td_soft_gradients(soft, mine, state, state->q + body->first, true);
    td_soft_forces(soft, mine, state, state->scratch + body->first, NULL);
    *elastic = td_soft_energy(soft, mine);
}
