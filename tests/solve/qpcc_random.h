// SPDX-License-Identifier: Apache-2.0
// Random problems of inverse control beside exact contact, and an oracle that knows nothing of how they are solved: it
// enumerates the modes of contacts (open, stick, slide to either side) as a tree, whose nodes are quadratic programs in
// efforts and impulses with the laws of the contacts that are decided, and without complementarity of the others. That
// is a lower bound of all leaves below, so that branches without anything better are left out. Contacts are plane: with
// one tangent that can move, all of it is linear and the enumeration exact.
//
// The tree's programs are solved by src/solve/qp.c or, `interior`, by a method that shares nothing with it. Contacts in
// space, whose friction has a direction, have no such enumeration: what is found is compared with a search that knows
// no slopes (qpcc_search), with the laws solved by Gauss-Seidel.
#pragma once
#include "qp_interior.h"
#include "test.h"

#include "solve/problem.h"

#define QPCC_CONTACTS  12
#define QPCC_ACTUATORS 8
#define QPCC_PLANE     12 // coordinates in the plane; one more for each contact, across it
#define QPCC_N         (QPCC_PLANE + QPCC_CONTACTS)
#define QPCC_ERRORS    3
#define QPCC_UNKNOWNS  (QPCC_ACTUATORS + 2 * QPCC_CONTACTS)
#define QPCC_ROWS      (4 * QPCC_CONTACTS)

typedef struct qpccProblem
{
    uint64_t seed;
    tdProblem *problem;
    int n_y, n_c, n_e, n_p;
    bool solid; // set by the caller: contacts in space, both tangents move
    int most_y; // likewise: actuators at most; 0: QPCC_ACTUATORS
    double A[QPCC_N * QPCC_N], X[QPCC_N * QPCC_ACTUATORS], Q[QPCC_N * QPCC_ERRORS];
    double E[QPCC_ERRORS * QPCC_ACTUATORS], e0[QPCC_ERRORS]; // of the motion without contact, at y = start
    double lo[QPCC_ACTUATORS], hi[QPCC_ACTUATORS], start[QPCC_ACTUATORS], y[QPCC_ACTUATORS];
    double v_star[QPCC_N];
    const double *columns[1], *readings[1];
    const double *warm, *warm_v; // set by the caller: impulses and velocities to start from, or NULL
    // the owner's
    tdArena arena;
    tdInverseWork *work;
    double Ey[QPCC_ERRORS * QPCC_ACTUATORS], ey[QPCC_ERRORS], xl[QPCC_ACTUATORS], xu[QPCC_ACTUATORS];
    double energy[QPCC_ACTUATORS * QPCC_ACTUATORS], x[QPCC_ACTUATORS], high[TD_STEER_KEPT];
} qpccProblem;

static inline double qpcc_unit(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (double)(*seed >> 11) * 0x1p-53;
}

static inline double qpcc_in(uint64_t *seed, double low, double high)
{
    return low + (high - low) * qpcc_unit(seed);
}

// ---------------------------------------------------------------- the owner

static inline double qpcc_errors(qpccProblem *p)
{
    const tdSteer *steer = &p->problem->steer;
    double square = 0;
    for (int i = 0; i < p->n_e; i++)
    {
        p->ey[i] = p->e0[i] + steer->push[i];
        for (int k = 0; k < p->n_y; k++)
            p->ey[i] += p->E[i * p->n_y + k] * (steer->y[k] - p->start[k]);
        square += p->ey[i] * p->ey[i];
    }
    return sqrt(square);
}

static inline tdSteerPlace qpcc_measure(void *context)
{
    return (tdSteerPlace){.error = qpcc_errors(context)};
}

static inline tdSteerStep qpcc_choose(void *context, double reach, bool slack, double *next)
{
    qpccProblem *p = context;
    const tdSteer *steer = &p->problem->steer;
    int n = p->n_y;
    double error = steer->place.error;
    qpcc_errors(p);
    (void)slack;
    for (int i = 0; i < p->n_e; i++)
        for (int k = 0; k < n; k++)
        {
            p->Ey[i * n + k] = p->E[i * n + k] + steer->dpush[i * n + k];
            p->ey[i] -= p->Ey[i * n + k] * steer->y[k];
        }
    for (int k = 0; k < n; k++)
    {
        p->xl[k] = fmax(p->lo[k], steer->y[k] - reach);
        p->xu[k] = fmin(p->hi[k], steer->y[k] + reach);
        p->x[k] = steer->y[k];
        if (steer->guess[k] == 0 && (steer->y[k] <= p->xl[k] || steer->y[k] >= p->xu[k]))
            steer->guess[k] = (signed char)(steer->y[k] <= p->xl[k] ? -1 : 1);
        for (int j = 0; j < n; j++)
            p->energy[k * n + j] = k == j;
    }
    for (int i = 0; i < steer->n_kept; i++)
        p->high[i] = INFINITY;
    tdInverse inverse = {.n_a = n,
                         .n_e = p->n_e,
                         .n_c = steer->n_kept,
                         .E = p->Ey,
                         .e0 = p->ey,
                         .W = p->energy,
                         .xl = p->xl,
                         .xu = p->xu,
                         .C = steer->kept,
                         .cl = steer->kept_low,
                         .cu = p->high,
                         .energy = TD_ENERGY_NULL_SPACE,
                         .reach_only = steer->gain_only,
                         .or_nothing = steer->or_nothing,
                         .near = true,
                         .tolerance = steer->tolerance};
    tdInverseResult result = {.x = p->x, .active = steer->guess};
    td_inverse_solve(&inverse, p->work, true, &result);
    tdSteerStep step = {.error = result.residual,
                        .gain = sqrt(fmax((error - result.residual) * (error + result.residual), 0)),
                        .infeasible = result.status == TD_QP_INFEASIBLE};
    for (int k = 0; k < n; k++)
    {
        step.length = fmax(step.length, fabs(p->x[k] - steer->y[k]));
        next[k] = p->x[k];
    }
    return step;
}

// ---------------------------------------------------------------- the problem

// x = A^-1 b by elimination; A is positive definite.
static inline void qpcc_solve(const double *A, int n, double *b)
{
    static _Thread_local double M[QPCC_N * QPCC_N];
    memcpy(M, A, (size_t)(n * n) * sizeof *M);
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++)
        {
            double f = M[i * n + k] / M[k * n + k];
            for (int j = k; j < n && f != 0; j++)
                M[i * n + j] -= f * M[k * n + j];
            b[i] -= f * b[k];
        }
    for (int k = n - 1; k >= 0; k--)
    {
        for (int j = k + 1; j < n; j++)
            b[k] -= M[k * n + j] * b[j];
        b[k] /= M[k * n + k];
    }
}

static inline void qpcc_row(qpccProblem *p, int c, double mu, double give)
{
    tdProblem *problem = p->problem;
    int n = p->n_p + p->n_c;
    double *J;
    int32_t *columns;
    assert_int_equal(td_problem_row(problem, (tdOwner){0, c}, TD_SAP_CONTACT, 3), c);
    td_problem_side(problem, 0, p->n_p + 1, &J, &columns);
    for (int j = 0; j <= p->n_p; j++)
    {
        bool plane = j < p->n_p;
        columns[j] = plane ? j : p->n_p + c;
        J[j] = plane ? qpcc_in(&p->seed, -1, 1) : 0;
        J[p->n_p + 1 + j] = p->solid && plane ? qpcc_in(&p->seed, -1, 1) : plane == p->solid;
        J[2 * (p->n_p + 1) + j] = plane ? qpcc_in(&p->seed, -1, 1) : 0;
    }
    double normal[QPCC_N] = {0}, w = 0;
    for (int j = 0; j < p->n_p; j++)
        normal[j] = J[2 * (p->n_p + 1) + j];
    qpcc_solve(p->A, n, normal);
    for (int j = 0; j < p->n_p; j++)
        w += normal[j] * J[2 * (p->n_p + 1) + j];
    problem->constraints[c].law = (tdSapLaw){.kind = TD_SAP_CONTACT,
                                             .rows = 3,
                                             .mu = mu,
                                             .R = {1e-3 * w, 1e-3 * w, give * w},
                                             .v_hat = {0, 0, qpcc_in(&p->seed, -1.5, 0.5)}};
}

static inline void qpcc_random(qpccProblem *p, uint64_t seed, int most_contacts)
{
    p->seed = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    uint64_t *s = &p->seed;
    qpcc_unit(s);
    p->n_y = 1 + (int)(qpcc_unit(s) * (p->most_y > 0 ? p->most_y : QPCC_ACTUATORS));
    p->n_c = 1 + (int)(qpcc_unit(s) * most_contacts);
    p->n_e = 1 + (int)(qpcc_unit(s) * QPCC_ERRORS);
    p->n_p = 3 + (int)(qpcc_unit(s) * (QPCC_PLANE - 2));
    int n = p->n_p + p->n_c;
    double mu = qpcc_unit(s) < 0.4 ? 0 : qpcc_in(s, 0.05, 0.8), give = qpcc_unit(s) < 0.5 ? 0.025 : 1e-3;
    double readings[QPCC_ERRORS][QPCC_N] = {{0}};
    memset(p->A, 0, sizeof p->A);
    for (int t = 0; t < p->n_p + 2; t++)
    {
        double row[QPCC_N];
        for (int i = 0; i < p->n_p; i++)
            row[i] = qpcc_in(s, -1, 1);
        for (int i = 0; i < p->n_p; i++)
            for (int j = 0; j < p->n_p; j++)
                p->A[i * n + j] += row[i] * row[j];
    }
    for (int i = 0; i < n; i++)
        p->A[i * n + i] += i < p->n_p ? 0.3 : 1;
    td_problem_clear(p->problem);
    assert_int_equal(td_problem_block(p->problem, n, n, p->A, NULL), 0);
    for (int k = 0; k < p->n_y; k++)
    {
        double *X = p->X + k * n;
        for (int i = 0; i < n; i++)
            X[i] = i < p->n_p ? qpcc_in(s, -1, 1) : 0;
        qpcc_solve(p->A, n, X);
        p->lo[k] = qpcc_unit(s) < 0.5 ? 0 : -qpcc_in(s, 0.2, 2);
        p->hi[k] = qpcc_in(s, 0.2, 3);
        p->start[k] = p->y[k] = qpcc_in(s, p->lo[k], p->hi[k]);
    }
    for (int i = 0; i < n; i++)
        p->v_star[i] = i < p->n_p ? qpcc_in(s, -1, 1) : 0;
    for (int c = 0; c < p->n_c; c++)
        qpcc_row(p, c, mu, give);
    for (int e = 0; e < p->n_e; e++)
    {
        for (int i = 0; i < p->n_p; i++)
            readings[e][i] = p->Q[e * n + i] = qpcc_in(s, -1, 1);
        for (int i = p->n_p; i < n; i++)
            p->Q[e * n + i] = 0;
        qpcc_solve(p->A, n, p->Q + e * n);
        p->e0[e] = qpcc_in(s, -2, 2);
        for (int i = 0; i < n; i++)
            p->e0[e] += readings[e][i] * p->v_star[i];
        for (int k = 0; k < p->n_y; k++)
        {
            p->E[e * p->n_y + k] = 0;
            for (int i = 0; i < n; i++)
                p->E[e * p->n_y + k] += readings[e][i] * p->X[k * n + i];
        }
    }
    p->columns[0] = p->X;
    p->readings[0] = p->Q;
    if (p->work == NULL)
        p->work = td_inverse_work(&p->arena, QPCC_ACTUATORS, QPCC_ERRORS, TD_STEER_KEPT);
}

// Solves from the start; returns the error, and that of the start.
static inline double qpcc_run(qpccProblem *p, int pivots, int starts, double *before)
{
    tdSolveResult result;
    tdError error = {0};
    memcpy((double *)p->problem->blocks[0].v_star, p->v_star, sizeof(double) * (size_t)(p->n_p + p->n_c));
    memcpy(p->problem->blocks[0].v, p->warm != NULL ? p->warm_v : p->v_star,
           sizeof(double) * (size_t)(p->n_p + p->n_c));
    for (int most = 0; most < 2; most++)
    {
        memcpy(p->y, p->start, sizeof p->y);
        p->problem->steer = (tdSteer){.n = p->n_y,
                                      .n_z = p->n_e,
                                      .X = p->columns,
                                      .Q = p->readings,
                                      .y = p->y,
                                      .tolerance = 1e-7,
                                      .most = most,
                                      .exact = true,
                                      .pivots = pivots,
                                      .starts = starts,
                                      .warm = p->warm,
                                      .context = p,
                                      .measure = qpcc_measure,
                                      .choose = qpcc_choose};
        tdStackMark mark = td_stack_mark(&p->problem->entries);
        memcpy((double *)p->problem->blocks[0].v_star, p->v_star, sizeof(double) * (size_t)(p->n_p + p->n_c));
        if (p->warm != NULL)
            memcpy(p->problem->blocks[0].v, p->warm_v, sizeof(double) * (size_t)(p->n_p + p->n_c));
        assert_int_equal(td_solve(p->problem, TD_SOLVE_INVERSE, 1e-9, NULL, &result, &error), TD_OK);
        td_stack_release(&p->problem->entries, mark);
        if (most == 0)
            *before = result.limit ? INFINITY : p->problem->steer.place.error; // no solution of contact is found there
    }
    return p->problem->steer.place.error;
}

// ---------------------------------------------------------------- the oracle

enum
{
    QPCC_UNDECIDED,
    QPCC_OPEN,
    QPCC_STICK,
    QPCC_LEFT,
    QPCC_RIGHT,
    QPCC_MODES
};

typedef struct qpccOracle
{
    const qpccProblem *p;
    tdArena arena;
    tdQpWork *work;
    bool interior; // set by the caller: programs by qp_interior.h
    interiorWork inside;
    double W[4 * QPCC_CONTACTS * QPCC_CONTACTS], B[2 * QPCC_CONTACTS * QPCC_ACTUATORS], u0[2 * QPCC_CONTACTS];
    double Z[QPCC_ERRORS * 2 * QPCC_CONTACTS];
    double best, x[QPCC_UNKNOWNS]; // and where
    long nodes, failed;
} qpccOracle;

// W, B and what is read, of the tangent and the normal of each contact, by plain elimination.
static inline void qpcc_oracle_begin(qpccOracle *o, const qpccProblem *p)
{
    int n = p->n_p + p->n_c, m = 2 * p->n_c;
    static _Thread_local double J[2 * QPCC_CONTACTS][QPCC_N], Y[2 * QPCC_CONTACTS][QPCC_N];
    o->p = p;
    o->nodes = o->failed = 0;
    for (int i = 0; i < m; i++)
    {
        const tdSapConstraint *constraint = &p->problem->constraints[i / 2];
        int row = i % 2 == 0 ? 0 : 2;
        memset(J[i], 0, sizeof J[i]);
        for (int j = 0; j < constraint->side[0].count; j++)
            J[i][constraint->side[0].columns[j]] = constraint->side[0].J[row * constraint->side[0].count + j];
        memcpy(Y[i], J[i], sizeof Y[i]);
        qpcc_solve(p->A, n, Y[i]);
        o->u0[i] = -constraint->law.v_hat[row];
        for (int k = 0; k < n; k++)
            o->u0[i] += J[i][k] * p->v_star[k];
        for (int k = 0; k < p->n_y; k++)
        {
            o->B[i * p->n_y + k] = 0;
            for (int j = 0; j < n; j++)
                o->B[i * p->n_y + k] += J[i][j] * p->X[k * n + j];
            o->u0[i] -= o->B[i * p->n_y + k] * p->start[k];
        }
        for (int e = 0; e < p->n_e; e++)
        {
            o->Z[e * m + i] = 0;
            for (int j = 0; j < n; j++)
                o->Z[e * m + i] += J[i][j] * p->Q[e * n + j];
        }
    }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++)
        {
            o->W[i * m + j] = 0;
            for (int k = 0; k < n; k++)
                o->W[i * m + j] += J[i][k] * Y[j][k];
            if (i == j)
                o->W[i * m + j] += i % 2 == 1 ? p->problem->constraints[i / 2].law.R[2] : 1e-7 * o->W[i * m + j];
        }
    if (o->work == NULL)
        o->work = td_qp_work(&o->arena, QPCC_UNKNOWNS, QPCC_ROWS);
}

// The program of a node: its value, and its x. Returns false where there is nothing.
static inline bool qpcc_node(qpccOracle *o, const int *modes, double *x, double *value)
{
    static _Thread_local double C[QPCC_ROWS * QPCC_UNKNOWNS], R[QPCC_UNKNOWNS * QPCC_UNKNOWNS];
    double cl[QPCC_ROWS], cu[QPCC_ROWS], xl[QPCC_UNKNOWNS], xu[QPCC_UNKNOWNS], q[QPCC_ERRORS],
        z[QPCC_UNKNOWNS + QPCC_ROWS];
    signed char active[QPCC_UNKNOWNS + QPCC_ROWS];
    const qpccProblem *p = o->p;
    int m = 2 * p->n_c, n = p->n_y + m, rows = 0;
    memset(C, 0, sizeof C);
    memset(active, 0, sizeof active);
    for (int k = 0; k < p->n_y; k++)
    {
        xl[k] = p->lo[k];
        xu[k] = p->hi[k];
        x[k] = p->start[k];
    }
    for (int i = 0; i < m; i++)
    {
        bool tangent = i % 2 == 0;
        double mu = p->problem->constraints[i / 2].law.mu;
        int mode = modes[i / 2];
        xl[p->n_y + i] = tangent ? -INFINITY : 0;
        xu[p->n_y + i] = INFINITY;
        x[p->n_y + i] = 0;
        if (mode == QPCC_OPEN || (tangent && mu == 0))
            xl[p->n_y + i] = xu[p->n_y + i] = 0;
        // u: 0 where it is closed (normal) or sticks (tangent)
        bool needs = !tangent || (mu > 0 && mode != QPCC_OPEN && mode != QPCC_UNDECIDED);
        if (needs)
        {
            double *row = C + rows * n;
            for (int k = 0; k < p->n_y; k++)
                row[k] = o->B[i * p->n_y + k];
            for (int j = 0; j < m; j++)
                row[p->n_y + j] = o->W[i * m + j];
            bool apart = mode == QPCC_OPEN || mode == QPCC_UNDECIDED;
            cl[rows] = -o->u0[i];
            cu[rows] = tangent ? (mode == QPCC_RIGHT ? INFINITY : -o->u0[i]) : apart ? INFINITY : -o->u0[i];
            if (tangent && mode == QPCC_LEFT)
                cl[rows] = -INFINITY;
            rows++;
        }
        if (!tangent || mu == 0 || mode == QPCC_OPEN)
            continue;
        for (int side = -1; side <= 1; side += 2) // mu gamma_n + side gamma_t >= 0; on it where it slides against side
        {
            double *row = C + rows * n;
            row[p->n_y + i + 1] = mu;
            row[p->n_y + i] = side;
            cl[rows] = 0;
            bool slides = (mode == QPCC_RIGHT && side == 1) || (mode == QPCC_LEFT && side == -1);
            cu[rows++] = slides ? 0 : INFINITY;
        }
    }
    memset(R, 0, sizeof R);
    for (int e = 0; e < p->n_e; e++)
    {
        q[e] = p->e0[e];
        for (int k = 0; k < p->n_y; k++)
        {
            R[e * n + k] = p->E[e * p->n_y + k];
            q[e] -= R[e * n + k] * p->start[k];
        }
        for (int i = 0; i < m; i++)
            R[e * n + p->n_y + i] = o->Z[e * m + i];
    }
    tdQp qp = {.n = n, .m = rows, .xl = xl, .xu = xu, .C = C, .cl = cl, .cu = cu};
    tdQpSolution solution = {.x = x, .active = active, .z = z};
    bool good = true;
    if (o->interior)
        good = interior_squares(&o->inside, n, p->n_e, R, q, xl, xu, rows, C, cl, cu, x);
    else
    {
        td_qp_solve_squares(&qp, p->n_e, R, q, o->work, false, &solution);
        o->failed += solution.status == TD_QP_ITERATIONS;
        good = solution.status != TD_QP_INFEASIBLE || solution.violation < 1e-8;
    }
    o->nodes++;
    double square = 0;
    for (int e = 0; e < p->n_e; e++)
    {
        double sum = q[e];
        for (int k = 0; k < n; k++)
            sum += R[e * n + k] * x[k];
        square += sum * sum;
    }
    *value = sqrt(square);
    return good;
}

// The undecided contact that is farthest from its laws; -1: all obey them.
static inline int qpcc_worst(const qpccOracle *o, const int *modes, const double *x)
{
    const qpccProblem *p = o->p;
    int m = 2 * p->n_c, found = -1;
    double worst = 1e-7;
    for (int c = 0; c < p->n_c; c++)
    {
        double u[2], mu = p->problem->constraints[c].law.mu, t = x[p->n_y + 2 * c], g = x[p->n_y + 2 * c + 1];
        for (int r = 0; r < 2; r++)
        {
            u[r] = o->u0[2 * c + r];
            for (int k = 0; k < p->n_y; k++)
                u[r] += o->B[(2 * c + r) * p->n_y + k] * x[k];
            for (int j = 0; j < m; j++)
                u[r] += o->W[(2 * c + r) * m + j] * x[p->n_y + j];
        }
        double off = fmin(g, fmax(u[1], 0));
        if (mu > 0 && g > 1e-9) // it sticks, or friction is against the motion with all it has
            off = fmax(off, fmin(fabs(u[0]), fabs(t + copysign(mu * g, u[0]))));
        if (modes[c] == QPCC_UNDECIDED && off > worst)
        {
            worst = off;
            found = c;
        }
    }
    return found;
}

#define QPCC_MOST_NODES 20000

static inline void qpcc_branch(qpccOracle *o, int *modes, double prune)
{
    double x[QPCC_UNKNOWNS], value;
    if (o->nodes >= QPCC_MOST_NODES || !qpcc_node(o, modes, x, &value) || value >= prune * o->best)
        return;
    int c = qpcc_worst(o, modes, x);
    if (c < 0)
    {
        o->best = value;
        memcpy(o->x, x, sizeof x);
        return;
    }
    bool rubs = o->p->problem->constraints[c].law.mu > 0;
    for (int mode = QPCC_OPEN; mode < QPCC_MODES; mode++)
        if (rubs || mode < QPCC_LEFT)
        {
            modes[c] = mode;
            qpcc_branch(o, modes, prune);
        }
    modes[c] = QPCC_UNDECIDED;
}

// The least error of all modes, if it is below prune times `known`; else `known`.
static inline double qpcc_best(qpccOracle *o, const qpccProblem *p, double known, double prune)
{
    int modes[QPCC_CONTACTS] = {0};
    qpcc_oracle_begin(o, p);
    o->best = known;
    qpcc_branch(o, modes, prune);
    return o->best;
}

// ---------------------------------------------------------------- a search without slopes

// The error at y, with the laws of the method; NAN: it does not converge.
static inline double qpcc_error_at(qpccProblem *p, tdSolveMethod method, const double *y)
{
    tdProblem *problem = p->problem;
    int n = p->n_p + p->n_c;
    double *v_star = (double *)problem->blocks[0].v_star, square = 0;
    tdSolveResult result;
    tdError error = {0};
    problem->steer = (tdSteer){0};
    for (int i = 0; i < n; i++)
    {
        v_star[i] = p->v_star[i];
        for (int k = 0; k < p->n_y; k++)
            v_star[i] += p->X[k * n + i] * (y[k] - p->start[k]);
        problem->blocks[0].v[i] = v_star[i];
    }
    tdStackMark mark = td_stack_mark(&problem->entries);
    tdStatus status = td_solve(problem, method, 1e-9, NULL, &result, &error);
    td_stack_release(&problem->entries, mark);
    if (status != TD_OK || result.limit)
        return NAN;
    for (int e = 0; e < p->n_e; e++)
    {
        double sum = p->e0[e];
        for (int k = 0; k < p->n_y; k++)
            sum += p->E[e * p->n_y + k] * (y[k] - p->start[k]);
        for (int c = 0; c < p->n_c; c++)
        {
            const tdSapSide *side = &problem->constraints[c].side[0];
            for (int r = 0; r < 3; r++)
                for (int j = 0; j < side->count; j++)
                    sum += p->Q[e * n + side->columns[j]] * side->J[r * side->count + j] * problem->gamma[3 * c + r];
        }
        square += sum * sum;
    }
    return sqrt(square);
}

// The least error by random places in the ranges and, from the best of them and from `from`, steps along the axes and
// along random directions that become shorter.
static inline double qpcc_search(qpccProblem *p, tdSolveMethod method, int samples, const double *from)
{
    enum
    {
        BEST = 4
    };
    double spots[BEST + 1][QPCC_ACTUATORS], values[BEST + 1], y[QPCC_ACTUATORS], least;
    int n = p->n_y;
    for (int i = 0; i < BEST; i++)
        values[i] = INFINITY;
    for (int k = 0; k < samples; k++)
    {
        for (int a = 0; a < n; a++)
            y[a] = qpcc_in(&p->seed, p->lo[a], p->hi[a]);
        double value = qpcc_error_at(p, method, y);
        if (!(value < values[BEST - 1]))
            continue;
        int at = BEST - 1;
        for (; at > 0 && values[at - 1] > value; at--)
        {
            values[at] = values[at - 1];
            memcpy(spots[at], spots[at - 1], sizeof y);
        }
        values[at] = value;
        memcpy(spots[at], y, sizeof y);
    }
    memcpy(spots[BEST], from, (size_t)n * sizeof *from);
    least = values[BEST] = qpcc_error_at(p, method, from);
    for (int i = 0; i <= BEST; i++)
    {
        for (double length = 0.2; length > 1e-5 && isfinite(values[i]);)
        {
            bool better = false;
            for (int k = 0; k < 4 * n && !better; k++)
            {
                for (int a = 0; a < n; a++)
                {
                    double way = k < 2 * n ? (a == k / 2 ? 1 - 2 * (k % 2) : 0) : qpcc_in(&p->seed, -1, 1);
                    y[a] = fmin(fmax(spots[i][a] + length * way * (p->hi[a] - p->lo[a]), p->lo[a]), p->hi[a]);
                }
                double value = qpcc_error_at(p, method, y);
                better = value < values[i];
                if (better)
                {
                    values[i] = value;
                    memcpy(spots[i], y, sizeof y);
                }
            }
            length *= better ? 1.5 : 0.5;
        }
        least = fmin(least, values[i]);
    }
    return least;
}
