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

// Angular momentum, of a body that nothing holds; `momentum` by coordinate.
static void take_spin(const tdBody *body, const tdState *state, const double *momentum, tdArrival *arrival)
{
    const tdSoft *soft = soft_of(body);
    const double *q = state->q + body->first;
    double mass = 0, far = 0, moving = 0, sum[3] = {0}, centre[3] = {0}, total[3] = {0};
    for (int64_t i = 0; i < soft->n_nodes; i++)
    {
        const double *x = q + 3 * i, *p = momentum + 3 * i;
        mass += soft->node_mass[i];
        for (int c = 0; c < 3; c++)
        {
            int d = (c + 1) % 3, e = (c + 2) % 3;
            total[c] += x[d] * p[e] - x[e] * p[d];
            sum[c] += p[c];
            centre[c] += soft->node_mass[i] * x[c];
            far += soft->node_mass[i] * x[c] * x[c];
        }
    }
    for (int c = 0; c < 3; c++)
    {
        int d = (c + 1) % 3, e = (c + 2) % 3;
        arrival->turning[c] = total[c];
        arrival->spin[c] = total[c] - (centre[d] * sum[e] - centre[e] * sum[d]) / mass;
        far -= centre[c] * centre[c] / mass;
        moving += 0.5 * sum[c] * sum[c] / mass;
    }
    arrival->inertia = far;
    arrival->drift = moving;
    arrival->turns = true;
    arrival->braked = td_soft_alpha(soft, (const tdSoftState *)state->bodies[body->index]);
}

// arrival NULL: only the energy is wanted.
static double kinetic_energy(const tdBody *body, tdState *state, tdArrival *arrival)
{
    double *momentum = td_scratch_take(state), *product = td_scratch_take(state);
    memset(momentum, 0, (size_t)body->count * sizeof *momentum);
    td_soft_add_mass(soft_of(body), state->tasks, td_soft_mass_factor(mine_of(body, state)), state->v + body->first,
                     momentum, product);
    double energy = 0.5 * td_dot(state->tasks, body->count, momentum, state->v + body->first);
    if (arrival != NULL && body->n_held == 0)
        take_spin(body, state, momentum, arrival);
    td_scratch_give(state, momentum);
    return energy;
}

// Force times the motion of the step.
static double force_work(const tdBody *body, tdState *state)
{
    const double *q = state->q + body->first, *start = state->start + body->first;
    double *dq = td_scratch_take(state);
    for (int64_t i = 0; i < body->count; i++)
        dq[i] = q[i] - start[i];
    double work = td_dot(state->tasks, body->count, state->force + body->first, dq);
    td_scratch_give(state, dq);
    return work;
}

// Square of |F - I| of the lane of a block that has most of it, and where that is.
static double farthest(const tdElements *block, const double *F, int64_t *at)
{
    int64_t points = (int64_t)block->batches * td_element_shape[block->kind].points;
    double most = 0;
    for (int64_t p = 0; p < points; p++)
    {
        const double *f = F + 36 * p;
        double sum[4] = {0}, largest = 0;
        for (int c = 0; c < 9; c++)
            for (int l = 0; l < 4; l++)
            {
                double d = f[4 * c + l] - (c % 4 == 0);
                sum[l] += d * d;
            }
        for (int l = 0; l < 4; l++)
            largest = sum[l] > largest ? sum[l] : largest;
        if (!(largest > most))
            continue;
        for (int l = 0; l < 4; l++)
            if (sum[l] > most && block->weight[4 * p + l] > 0) // no padding
            {
                most = sum[l];
                *at = 4 * p + l;
            }
    }
    return most;
}

double td_soft_stray(const tdSoft *soft, const tdSoftState *mine, tdIsa isa, double *turn)
{
    double most = 0;
    *turn = 0;
    for (int b = 0; b < soft->n_blocks; b++)
    {
        const tdElements *block = &soft->blocks[b];
        const double *F = mine->F + 36 * block->first;
        int64_t at = -1;
        double found = block->material.law->constant ? farthest(block, F, &at) : 0;
        if (!(found > most) || at < 0)
            continue;
        _Alignas(64) double R[36];
        const double *r = R + at % 4;
        td_polar(isa)(F + 36 * (at / 4), R);
        most = found;
        *turn = acos(fmin(fmax(0.5 * (r[0] + r[16] + r[32] - 1), -1), 1));
    }
    return sqrt(most);
}

double td_soft_body_stray(const tdBody *body, const tdState *state, double *turn)
{
    return td_soft_stray(soft_of(body), (const tdSoftState *)state->bodies[body->index], state->isa, turn);
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
    arrival->kinetic = kinetic_energy(body, state, arrival);
    arrival->elastic = td_soft_energy(soft, mine);
    arrival->elastic_start = mine->energy_start;
    arrival->remembers = remembers;
    arrival->force_work = force_work(body, state);
    if (assemble)
        mine->same = false;
    if (assemble && soft->constant)
        mine->K_valid = true;
    mine->placed = !td_soft_thickness_relaxes(soft);
    mine->arrived = !remembers;
    memcpy(mine->arrived_q, state->q + body->first, (size_t)body->count * sizeof(double));
}

void td_soft_body_energy(const tdModel *model, const tdBody *body, tdState *state, double *kinetic, double *elastic)
{
    const tdSoft *soft = soft_of(body);
    tdSoftState *mine = mine_of(body, state);
    (void)model;
    if (kinetic != NULL)
        *kinetic = kinetic_energy(body, state, NULL);
    if (elastic == NULL)
        return;
    *elastic = td_soft_placed(soft, mine, state->q + body->first) ? td_soft_relaxed(soft, mine) : NAN;
    if (!isnan(*elastic)) // known since the step was accepted
        return;
    // A lagged rotation is that of the state itself here: the energy a new step would start from. Of a
    // viscoelastic body the part that would be left after relaxation counts.
    td_soft_history_begin(soft, mine, INFINITY);
    td_soft_gradients(soft, mine, state, state->q + body->first, true);
    double *force = td_scratch_take(state);
    td_soft_forces(soft, mine, state, force, NULL);
    td_scratch_give(state, force);
    *elastic = td_soft_energy(soft, mine);
}
