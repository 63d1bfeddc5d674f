// SPDX-License-Identifier: Apache-2.0
// Reduced bodies on a free frame, for tests: random modes that move neither the centre of mass nor turn the body about
// it, momenta of nodes, and poses.
#pragma once
#include "reduced.h"

#include "base/vector.h"
#include "core/rotation.h"

static inline double frame_dot(int64_t n, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static inline void frame_mass(const tdSoft *soft, const double *x, double *y)
{
    td_block_multiply_scalar(NULL, &soft->pattern, soft->mass, x, y, false);
}

/// Six rigid motions, orthonormal by mass, 3 n_nodes each.
static inline double *frame_rigid(const tdSoft *soft)
{
    int64_t coords = 3 * (int64_t)soft->n_nodes;
    double *rigid = calloc((size_t)(6 * coords), sizeof *rigid), *y = calloc((size_t)coords, sizeof *y);
    for (int k = 0; k < 6; k++)
    {
        double *to = rigid + k * coords;
        for (int64_t i = 0; i < coords; i++)
        {
            const double *X = soft->rest + i / 3 * 3;
            double axis[3] = {0, 0, 0}, moved[3];
            axis[k % 3] = 1;
            td_cross3(axis, X, moved);
            to[i] = k < 3 ? axis[i % 3] : moved[i % 3];
        }
        for (int pass = 0; pass < 2; pass++)
        {
            for (int j = 0; j < k; j++)
            {
                frame_mass(soft, to, y);
                double along = frame_dot(coords, y, rigid + j * coords);
                for (int64_t i = 0; i < coords; i++)
                    to[i] -= along * rigid[j * coords + i];
            }
            frame_mass(soft, to, y);
            double size = sqrt(frame_dot(coords, y, to));
            for (int64_t i = 0; i < coords; i++)
                to[i] /= size;
        }
    }
    free(y);
    return rigid;
}

/// r <= 0: all modes there are beside the rigid ones.
static inline tdRom frame_rom(const tdModel *full, int r, int every)
{
    const tdSoft *soft = full->bodies[0].soft;
    int64_t coords = 3 * (int64_t)soft->n_nodes;
    tdRom rom = rom_of(full, 1, every);
    rom.frame = TD_FRAME_FREE;
    rom.r = r <= 0 ? (int)coords - 6 : r;
    rom.phi = rom_take(&rom, coords * rom.r, sizeof(double));
    double *rigid = frame_rigid(soft), *y = calloc((size_t)coords, sizeof *y), *x = calloc((size_t)coords, sizeof *x);
    uint64_t seed = 17;
    for (int j = 0; j < rom.r; j++)
    {
        for (int64_t i = 0; i < coords; i++)
            x[i] = next_random(&seed);
        for (int pass = 0; pass < 3; pass++)
        {
            frame_mass(soft, x, y);
            double along[6];
            for (int k = 0; k < 6; k++)
                along[k] = frame_dot(coords, y, rigid + k * coords);
            for (int k = 0; k < 6; k++)
                for (int64_t i = 0; i < coords; i++)
                    x[i] -= along[k] * rigid[k * coords + i];
            for (int k = 0; k < j; k++)
            {
                double part = 0;
                for (int64_t i = 0; i < coords; i++)
                    part += x[i] * rom.phi[i * rom.r + k];
                for (int64_t i = 0; i < coords; i++)
                    x[i] -= part * rom.phi[i * rom.r + k];
            }
            double size = sqrt(frame_dot(coords, x, x));
            for (int64_t i = 0; i < coords; i++)
                x[i] /= size;
        }
        for (int64_t i = 0; i < coords; i++)
            rom.phi[i * rom.r + j] = x[i];
    }
    free(rigid);
    free(x);
    free(y);
    return rom;
}

/// Momentum, angular momentum about the origin and kinetic energy of the nodes.
typedef struct frameMomenta
{
    double p[3], L[3], kinetic;
} frameMomenta;

static inline frameMomenta frame_momenta(const tdModel *model, const tdState *state)
{
    const tdSoft *soft = model->bodies[0].soft;
    int64_t coords = 3 * (int64_t)soft->n_nodes;
    const double *x = td_state_positions(model, state, 0), *v = td_state_velocities(model, state, 0);
    double *y = calloc((size_t)coords, sizeof *y);
    frameMomenta out = {0};
    frame_mass(soft, v, y);
    for (int64_t node = 0; node < soft->n_nodes; node++)
    {
        double L[3];
        td_cross3(x + 3 * node, y + 3 * node, L);
        for (int c = 0; c < 3; c++)
        {
            out.p[c] += y[3 * node + c];
            out.L[c] += L[c];
        }
    }
    out.kinetic = 0.5 * frame_dot(coords, v, y);
    free(y);
    return out;
}

/// Velocities of a rigid motion of a full model about a point; its reduced form spins about its centre.
static inline void frame_spin(tdState *state, const tdModel *model, const double centre[3], const double w[3])
{
    const tdSoft *soft = model->bodies[0].soft;
    for (int64_t node = 0; node < soft->n_nodes; node++)
    {
        double arm[3];
        td_subtract3(soft->rest + 3 * node, centre, arm);
        td_cross3(w, arm, state->v + 3 * node);
    }
}

static inline const tdReduced *frame_of(const tdModel *model)
{
    return model->bodies[0].data;
}

static inline tdFloatingState *frame_mine(const tdState *state)
{
    return ((tdReducedState *)state->bodies[0])->floating;
}

/// Largest distance of two shapes after the best rigid motion of one onto the other, relative to the size.
static inline double frame_shape_difference(const tdModel *model, const double *x, const double *y)
{
    int32_t n = (int32_t)model->bodies[0].nodes;
    tdRotationFit fit;
    double mean[3] = {0, 0, 0}, most = 0;
    td_rotation_fit(n, y, x, &fit);
    for (int64_t i = 0; i < 3 * (int64_t)n; i++)
        mean[i % 3] += x[i] / n;
    for (int32_t p = 0; p < n; p++)
    {
        double arm[3], turned[3];
        td_subtract3(y + 3 * (int64_t)p, fit.mean, arm);
        td_rotation_apply(fit.q, arm, turned);
        for (int c = 0; c < 3; c++)
            most = fmax(most, fabs(mean[c] + turned[c] - x[3 * (int64_t)p + c]));
    }
    return most / model->size;
}
