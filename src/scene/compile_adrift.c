// SPDX-License-Identifier: Apache-2.0
// Bodies that nothing holds, made fit for equilibria: training looks for their shapes, and where they are is of no
// matter. Weight strains nothing in a fall and is left out; of a load the part that would speed the body up as a whole
// is borne by its inertia (inertia relief); and in a static scene six coordinates of three nodes are held, which takes
// away the six rigid motions and no more, so that the supports bear nothing of loads that are in balance.
#include "base/vector.h"
#include "scene/compile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- supports

static int32_t farthest(const tdBodyWork *w, const double from[3], const double *line)
{
    const double *x = w->soft->rest;
    double most = -1, unit = line == NULL ? 0 : td_dot3(line, line);
    int32_t best = 0;
    for (int32_t i = 0; i < w->soft->n_nodes; i++)
    {
        double arm[3];
        td_subtract3(x + 3 * (int64_t)i, from, arm);
        double along = line == NULL ? 0 : td_dot3(arm, line), way = td_dot3(arm, arm);
        way -= unit > 0 ? along * along / unit : 0;
        if (w->chosen[i] && way > most)
        {
            most = way;
            best = i;
        }
    }
    return best;
}

static int largest(const double a[3])
{
    int k = fabs(a[1]) > fabs(a[0]) ? 1 : 0;
    return fabs(a[2]) > fabs(a[k]) ? 2 : k;
}

// Three coordinates of a node, two of another one so that the body can only turn about the line between them, one of a
// third that this turn would move most.
void td_compile_pin(tdBodyWork *w)
{
    const double *x = w->soft->rest, origin[3] = {0, 0, 0};
    bool *held = w->soft->held;
    int32_t a = farthest(w, origin, NULL), b = farthest(w, x + 3 * (int64_t)a, NULL);
    double line[3], arm[3], way[3];
    td_subtract3(x + 3 * (int64_t)b, x + 3 * (int64_t)a, line);
    int32_t c = farthest(w, x + 3 * (int64_t)a, line);
    td_subtract3(x + 3 * (int64_t)c, x + 3 * (int64_t)a, arm);
    td_cross3(line, arm, way);
    for (int k = 0; k < 3; k++)
    {
        held[3 * (int64_t)a + k] = true;
        if (k != largest(line))
            held[3 * (int64_t)b + k] = true;
    }
    held[3 * (int64_t)c + largest(way)] = true;
}

// ---------------------------------------------------------------- loads

typedef struct drift
{
    double centre[3], mass;
    double J[9];
    double *x, *mx; // positions from the centre, and mass times these
} drift;

static void find_drift(const tdSoft *soft, drift *d)
{
    int64_t coords = 3 * (int64_t)soft->n_nodes;
    td_block_multiply_scalar(NULL, &soft->pattern, soft->mass, soft->rest, d->mx, false);
    for (int64_t i = 0; i < coords; i++)
        d->centre[i % 3] += d->mx[i] / soft->total_mass;
    for (int64_t i = 0; i < coords; i++)
        d->x[i] = soft->rest[i] - d->centre[i % 3];
    td_block_multiply_scalar(NULL, &soft->pattern, soft->mass, d->x, d->mx, false);
    for (int64_t i = 0; i < coords; i += 3)
        for (int k = 0; k < 9; k++)
            d->J[k] += (k % 4 == 0 ? td_dot3(d->x + i, d->mx + i) : 0) - d->x[i + k / 3] * d->mx[i + k % 3];
}

// force = -mass (F/m + J^-1 torque x X) at every node
static void relieve(const tdSoft *soft, const drift *d, const tdSoftLoad *load, double *work, double *force)
{
    double F[3] = {0, 0, 0}, torque[3] = {0, 0, 0}, turn[3] = {0, 0, 0}, cofactor[9];
    for (int32_t i = 0; i < load->n; i++)
    {
        double moment[3];
        td_cross3(d->x + 3 * (int64_t)load->nodes[i], load->force + 3 * (int64_t)i, moment);
        for (int c = 0; c < 3; c++)
        {
            F[c] += load->force[3 * (int64_t)i + c];
            torque[c] += moment[c];
        }
    }
    for (int k = 0; k < 3; k++)
        td_cross3(d->J + 3 * ((k + 1) % 3), d->J + 3 * ((k + 2) % 3), cofactor + 3 * k);
    double determinant = td_dot3(d->J, cofactor);
    for (int k = 0; k < 3 && determinant > 0; k++)
        turn[k] = td_dot3(cofactor + 3 * k, torque) / determinant; // J is symmetric
    for (int32_t i = 0; i < soft->n_nodes; i++)
    {
        double across[3];
        td_cross3(turn, d->x + 3 * (int64_t)i, across);
        for (int c = 0; c < 3; c++)
            work[3 * (int64_t)i + c] = -(F[c] / soft->total_mass + across[c]);
    }
    td_block_multiply_scalar(NULL, &soft->pattern, soft->mass, work, force, false);
}

static tdStatus add_reliefs(tdBodyWork *w, const drift *d, double *work, tdError *error)
{
    tdSoft *soft = w->soft;
    tdArena *arena = &w->model->arena;
    int n = soft->n_loads;
    tdSoftLoad *loads = TD_TAKE(arena, tdSoftLoad, 2 * (int64_t)n);
    int32_t *nodes = TD_TAKE(arena, int32_t, soft->n_nodes);
    if (loads == NULL || nodes == NULL)
        return td_fail_memory(error, "the loads");
    memcpy(loads, soft->loads, (size_t)n * sizeof *loads);
    soft->loads = loads;
    for (int32_t i = 0; i < soft->n_nodes; i++)
        nodes[i] = i;
    for (int k = 0; k < n; k++)
    {
        if (loads[k].kind == TD_LOAD_SURFACE_PRESSURE)
            continue;
        tdSoftLoad *to = &loads[soft->n_loads];
        *to = (tdSoftLoad){.kind = TD_LOAD_POINT_EACH, .input = loads[k].input, .nodes = nodes, .relief = true};
        to->n = soft->n_nodes;
        to->force = TD_TAKE(arena, double, 3 * (int64_t)soft->n_nodes);
        if (to->force == NULL)
            return td_fail_memory(error, "the loads");
        relieve(soft, d, &loads[k], work, to->force);
        soft->n_loads++;
    }
    return TD_OK;
}

tdStatus td_compile_adrift(tdBodyWork *w, tdError *error)
{
    tdSoft *soft = w->soft;
    size_t coords = 3 * (size_t)soft->n_nodes;
    memset(soft->node_weight, 0, (size_t)soft->n_nodes * sizeof *soft->node_weight);
    if (soft->n_loads == 0 || !(soft->total_mass > 0))
        return TD_OK;
    double *memory = td_take(3 * coords, sizeof *memory);
    if (memory == NULL)
        return td_fail_memory(error, "the loads");
    drift d = {.x = memory, .mx = memory + coords};
    find_drift(soft, &d);
    tdStatus status = add_reliefs(w, &d, memory + 2 * coords, error);
    free(memory);
    return status;
}
