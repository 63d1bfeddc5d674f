// SPDX-License-Identifier: Apache-2.0
// Random convex contact problems, and checks of their solutions that share no code with the solver: momentum balance by
// plain loops, projections by bisection.
#pragma once
#include "test.h"

#include "solve/sap.h"

#define RANDOM_BLOCKS      40
#define RANDOM_SIZE        96 // unknowns of a block
#define RANDOM_CONSTRAINTS 160
#define RANDOM_ENTRIES     (3 * RANDOM_SIZE)

typedef struct randomProblem
{
    uint64_t seed;
    tdSapBlock blocks[RANDOM_BLOCKS];
    tdSapConstraint constraints[RANDOM_CONSTRAINTS];
    double A[RANDOM_BLOCKS][RANDOM_SIZE * RANDOM_SIZE];
    double v_star[RANDOM_BLOCKS][RANDOM_SIZE], v[RANDOM_BLOCKS][RANDOM_SIZE];
    double J[RANDOM_CONSTRAINTS][2][RANDOM_ENTRIES];
    int32_t columns[RANDOM_CONSTRAINTS][2][RANDOM_SIZE];
    double gamma[3 * RANDOM_CONSTRAINTS], v_c[3 * RANDOM_CONSTRAINTS], w[RANDOM_CONSTRAINTS];
    tdSapProblem problem;
} randomProblem;

static inline double random_unit(uint64_t *seed) // [0, 1)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (double)(*seed >> 11) * 0x1p-53;
}

static inline double random_in(uint64_t *seed, double low, double high)
{
    return low + (high - low) * random_unit(seed);
}

static inline int random_whole(uint64_t *seed, int low, int high)
{
    int k = low + (int)(random_unit(seed) * (high - low + 1));
    return k > high ? high : k;
}

static inline bool random_chance(uint64_t *seed, double p)
{
    return random_unit(seed) < p;
}

static inline double random_power(uint64_t *seed, double low, double high)
{
    return pow(10, random_in(seed, low, high));
}

// A = B'B + small, with units of the coordinates up to three decades apart.
static inline void random_block(randomProblem *p, int b, int n, double mass)
{
    uint64_t *seed = &p->seed;
    double B[RANDOM_SIZE], unit[RANDOM_SIZE], least = random_power(seed, -4, 0), *A = p->A[b];
    bool units = random_chance(seed, 0.3);
    int terms = n < 12 ? n : 12;
    memset(A, 0, (size_t)(n * n) * sizeof *A);
    for (int i = 0; i < n; i++)
        unit[i] = units ? random_power(seed, -1.5, 1.5) : 1;
    for (int k = 0; k < terms; k++)
    {
        for (int i = 0; i < n; i++)
            B[i] = random_in(seed, -1, 1) * unit[i];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                A[i + j * n] += mass * B[i] * B[j];
    }
    for (int i = 0; i < n; i++)
        A[i + i * n] += mass * least * unit[i] * unit[i];
    double speed = random_chance(seed, 0.1) ? 0 : random_power(seed, -3, 1);
    int start = random_whole(seed, 0, 3);
    for (int i = 0; i < n; i++)
    {
        p->v_star[b][i] = random_in(seed, -speed, speed) / unit[i];
        p->v[b][i] = start == 0   ? p->v_star[b][i]
                     : start == 1 ? 0
                     : start == 2 ? p->v_star[b][i] + random_in(seed, -1e-3, 1e-3)
                                  : random_in(seed, -100, 100);
    }
    p->blocks[b] = (tdSapBlock){.n = n, .stride = n, .A = A, .v_star = p->v_star[b], .v = p->v[b]};
}

static inline void random_side(randomProblem *p, int c, int s, int block, int rows, double scale)
{
    uint64_t *seed = &p->seed;
    int n = p->blocks[block].n, count = random_chance(seed, 0.3) ? n : random_whole(seed, 1, n < 12 ? n : 12);
    bool all = count == n && random_chance(seed, 0.5);
    for (int k = 0; k < count; k++) // columns may repeat
        p->columns[c][s][k] = random_whole(seed, 0, n - 1);
    for (int k = 0; k < rows * count; k++)
        p->J[c][s][k] = scale * random_in(seed, -1, 1);
    p->constraints[c].side[s] =
        (tdSapSide){.block = block, .count = count, .columns = all ? NULL : p->columns[c][s], .J = p->J[c][s]};
}

static inline double random_friction(uint64_t *seed)
{
    double kind = random_unit(seed);
    return kind < 0.15 ? 0 : kind < 0.7 ? random_in(seed, 0, 1) : kind < 0.85 ? 10 : random_in(seed, 0, 10);
}

// Law of constraint c once its w is known.
static inline void random_law(randomProblem *p, int c, double h)
{
    uint64_t *seed = &p->seed;
    tdSapConstraint *constraint = &p->constraints[c];
    tdSapTuning tuning = td_sap_tuning(h, h);
    double w = p->w[c] > 0 ? p->w[c] : 1, tau = random_chance(seed, 0.5) ? 0 : random_power(seed, -4, -1);
    double k = random_chance(seed, 0.5) ? INFINITY : random_power(seed, -2, 6) / (h * h * w);
    double phi = random_in(seed, -1e-2, 2e-3), g[3] = {random_in(seed, -1e-2, 1e-2), random_in(seed, -1e-2, 1e-2), phi};
    int rows = constraint->law.rows;
    if (constraint->law.kind == TD_SAP_CONTACT)
        constraint->law = td_sap_contact(&tuning, random_friction(seed), phi, k, tau, w);
    else if (constraint->law.kind == TD_SAP_BILATERAL)
        constraint->law = td_sap_bilateral(&tuning, rows, g, k, tau, w);
    else
    {
        double limit = random_power(seed, -3, 2) * h / w;
        constraint->law = td_sap_bilateral(&tuning, rows, g, k, tau, w);
        constraint->law.kind = TD_SAP_BOX;
        for (int r = 0; r < rows; r++)
        {
            int kind = random_whole(seed, 0, 3);
            constraint->law.lo[r] = kind == 0 ? 0 : kind == 1 ? -INFINITY : -limit;
            constraint->law.hi[r] = kind == 0 ? INFINITY : kind == 1 ? limit * 0.1 : limit;
        }
        if (rows == 1 && random_chance(seed, 0.3))
            constraint->law = td_sap_friction(&tuning, limit, w);
    }
}

// Same rows as an earlier constraint: one contact found many times, or bilateral rows that contradict each other.
static inline bool random_copy(randomProblem *p, int c)
{
    if (c == 0 || !random_chance(&p->seed, 0.25))
        return false;
    int from = random_whole(&p->seed, 0, c - 1);
    p->constraints[c] = p->constraints[from];
    return true;
}

static inline void random_problem(randomProblem *p, tdSap *sap, uint64_t seed)
{
    p->seed = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    uint64_t *s = &p->seed;
    random_unit(s);
    bool many = random_chance(s, 0.02), ratios = random_chance(s, 0.5);
    int n_blocks = many ? random_whole(s, 10, RANDOM_BLOCKS) : random_whole(s, 1, 6);
    int n_constraints = random_whole(s, 1, many ? RANDOM_CONSTRAINTS : 24);
    double h = random_power(s, -3, -1);
    for (int b = 0; b < n_blocks; b++)
    {
        int n = random_chance(s, 0.02) ? RANDOM_SIZE : random_chance(s, 0.5) ? 6 : random_whole(s, 1, 14);
        random_block(p, b, n, ratios ? random_power(s, -4, 4) : random_power(s, -1, 1));
    }
    for (int c = 0; c < n_constraints; c++)
    {
        if (random_copy(p, c))
            continue;
        double kind = random_unit(s), scale = random_chance(s, 0.2) ? random_power(s, -2, 2) : 1;
        tdSapLaw law = {.kind = kind < 0.7 ? TD_SAP_CONTACT : kind < 0.85 ? TD_SAP_BILATERAL : TD_SAP_BOX};
        law.rows = law.kind == TD_SAP_CONTACT ? 3 : random_whole(s, 1, 3);
        p->constraints[c] = (tdSapConstraint){.law = law, .sides = random_whole(s, 1, 2)};
        for (int k = 0; k < p->constraints[c].sides; k++)
            random_side(p, c, k, random_whole(s, 0, n_blocks - 1), law.rows, scale);
    }
    p->problem = (tdSapProblem){.n_blocks = n_blocks,
                                .n_constraints = n_constraints,
                                .blocks = p->blocks,
                                .constraints = p->constraints,
                                .gamma = p->gamma,
                                .v_c = p->v_c};
    tdError error = {0};
    tdSapWeighing how = random_chance(s, 0.8) ? TD_SAP_EXACT : TD_SAP_DIAGONAL;
    tdStatus status = td_sap_weights(sap, NULL, &p->problem, how, NULL, p->w, &error);
    assert_ok(status, error);
    for (int c = 0; c < n_constraints; c++)
        random_law(p, c, h);
}

// ---------------------------------------------------------------- independent checks

static inline double entry_of(const tdSapBlock *block, int i, int j)
{
    return i >= j ? block->A[i + (int64_t)j * block->stride] : block->A[j + (int64_t)i * block->stride];
}

/// |D (A (v - v*) - J' gamma)| over the larger of |D A v| and |D J' gamma|, over all blocks; zero where it is below
/// 1e-14 sqrt(J) (times the root of the number of islands, at most of blocks): nothing moves.
static inline double momentum_residual(const tdSapProblem *problem)
{
    static double force[RANDOM_BLOCKS][RANDOM_SIZE], noise[RANDOM_BLOCKS][RANDOM_SIZE];
    double off = 0, size_a = 0, size_j = 0;
    assert_true(problem->n_blocks <= RANDOM_BLOCKS);
    memset(force, 0, sizeof force);
    memset(noise, 0, sizeof noise);
    for (int c = 0; c < problem->n_constraints; c++)
        for (int s = 0; s < problem->constraints[c].sides; s++)
        {
            const tdSapSide *side = &problem->constraints[c].side[s];
            for (int r = 0; r < problem->constraints[c].law.rows; r++)
                for (int j = 0; j < side->count; j++)
                {
                    int column = side->columns == NULL ? j : side->columns[j];
                    double term = side->J[r * side->count + j] * problem->gamma[3 * c + r];
                    force[side->block][column] += term;
                    noise[side->block][column] += 8 * 0x1p-52 * fabs(term);
                }
        }
    for (int b = 0; b < problem->n_blocks; b++)
    {
        const tdSapBlock *block = &problem->blocks[b];
        for (int i = 0; i < block->n; i++)
        {
            double change = 0, momentum = 0, d = 1 / entry_of(block, i, i);
            for (int j = 0; j < block->n; j++)
            {
                change += entry_of(block, i, j) * (block->v[j] - block->v_star[j]);
                momentum += entry_of(block, i, j) * block->v[j];
            }
            // Impulses that cancel (rows that contradict each other) leave the rounding of their sum.
            double rest = fmax(0, fabs(change - force[b][i]) - noise[b][i]);
            off += d * rest * rest;
            size_a += d * momentum * momentum;
            size_j += d * force[b][i] * force[b][i];
        }
    }
    return off <= 1e-28 * problem->n_blocks ? 0 : sqrt(off / fmax(size_a, size_j));
}

/// Projection of y onto the cone in the norm of R by bisection: the length of the normal impulse at which the
/// derivative of the squared distance changes its sign, with the tangent the nearest that the cone allows.
static inline void bisect_cone(const tdSapLaw *law, const double y[3], double gamma[3])
{
    double r = hypot(y[0], y[1]), low = 0, high = fmax(fmax(y[2], 0), law->mu > 0 ? r / law->mu : 0) + 1e-300;
    for (int k = 0; k < 2000 && high - low > 1e-17 * high; k++)
    {
        double n = 0.5 * (low + high), d = law->R[2] * (n - y[2]);
        if (law->mu * n < r)
            d += law->R[0] * law->mu * (law->mu * n - r);
        if (n == low || n == high)
            break;
        if (d > 0)
            high = n;
        else
            low = n;
    }
    gamma[2] = low;
    double t = fmin(r, law->mu * low);
    gamma[0] = r > 0 ? t * y[0] / r : 0;
    gamma[1] = r > 0 ? t * y[1] / r : 0;
}

/// Largest difference between gamma and the projection of y(v), relative to |y|.
static inline double law_residual(const tdSapProblem *problem)
{
    double worst = 0;
    for (int c = 0; c < problem->n_constraints; c++)
    {
        const tdSapConstraint *constraint = &problem->constraints[c];
        const tdSapLaw *law = &constraint->law;
        double v_c[3] = {0}, y[3] = {0}, gamma[3] = {0}, size = 0, noise = 0;
        for (int s = 0; s < constraint->sides; s++)
        {
            const tdSapSide *side = &constraint->side[s];
            for (int r = 0; r < law->rows; r++)
                for (int j = 0; j < side->count; j++)
                {
                    double term = side->J[r * side->count + j] *
                                  problem->blocks[side->block].v[side->columns == NULL ? j : side->columns[j]];
                    v_c[r] += term;
                    noise = fmax(noise, fabs(term) / law->R[r]);
                }
        }
        for (int r = 0; r < law->rows; r++)
        {
            y[r] = (law->v_hat[r] - v_c[r]) / law->R[r];
            size += y[r] * y[r];
            noise = fmax(noise, fabs(law->v_hat[r]) / law->R[r]);
        }
        if (law->kind == TD_SAP_CONTACT)
            bisect_cone(law, y, gamma);
        for (int r = 0; r < law->rows && law->kind != TD_SAP_CONTACT; r++)
            gamma[r] = law->kind == TD_SAP_BILATERAL ? y[r]
                       : y[r] < law->lo[r]           ? law->lo[r]
                       : y[r] > law->hi[r]           ? law->hi[r]
                                                     : y[r];
        for (int r = 0; r < law->rows; r++)
        {
            double off = fabs(gamma[r] - problem->gamma[3 * c + r]);
            // Sums in another order differ by the rounding of their largest term.
            off = fmax(0, off - 64 * 0x1p-52 * noise * fmax(1, law->kind == TD_SAP_CONTACT ? law->mu : 1));
            worst = fmax(worst, size > 0 ? off / sqrt(size) : off);
        }
    }
    return worst;
}
