// SPDX-License-Identifier: Apache-2.0
// An oracle for contacts in space: branch and bound over the modes of contacts, where sliding has a direction.
//
// Nodes are quadratic programs in efforts and impulses as in qpcc_random.h. A contact is undecided, open, sticks, or
// slides within a sector of directions, which is halved further on. Cones of friction are planes around them, more of
// them where a solution lies outside; in a sector they are the planes at its borders and its middle and the chord. All
// of that allows more than the laws do, so that the value of a node is a lower bound of everything below it, and
// branches that cannot hold anything better than 1 % below what is known are left out. Where a node obeys the laws, or
// its sectors are as narrow as they become, its efforts are tried with the laws themselves, by Gauss-Seidel.
#pragma once
#include "qpcc_random.h"

#include "solve/dual_set.h"

#define SPACE_UNKNOWNS (QPCC_ACTUATORS + 3 * QPCC_CONTACTS)
#define SPACE_CUTS     8 // planes of a cone, and as many more
#define SPACE_ROWS     (QPCC_CONTACTS * (3 + 2 * SPACE_CUTS + 6))
#define SPACE_NARROW   4e-3 // [rad] half of the narrowest sector
#define SPACE_NODES    20000

enum
{
    SPACE_UNDECIDED,
    SPACE_OPEN,
    SPACE_STICK,
    SPACE_SLIDE
};

typedef struct spaceMode
{
    signed char mode, cuts;
    double at, half;        // of the sector of what friction points to
    double cut[SPACE_CUTS]; // directions of more planes
} spaceMode;

typedef struct spaceOracle
{
    qpccProblem *p;
    tdArena arena;
    tdQpWork *work;
    tdDualSet quick;
    double W[9 * QPCC_CONTACTS * QPCC_CONTACTS], B[3 * QPCC_CONTACTS * QPCC_ACTUATORS], u0[3 * QPCC_CONTACTS];
    double Z[QPCC_ERRORS * 3 * QPCC_CONTACTS];
    double best, prune;
    bool sure; // set by the caller: programs without solution are solved by another method as well
    double C[SPACE_ROWS * SPACE_UNKNOWNS], R[SPACE_UNKNOWNS * SPACE_UNKNOWNS], cl[SPACE_ROWS], cu[SPACE_ROWS];
    int n, m, rows;
    long nodes, narrow, failed; // narrow: that end although they do not obey the laws
    long slow;                  // where another method finds what the quick one does not
} spaceOracle;

static inline void space_begin(spaceOracle *o, qpccProblem *p)
{
    static _Thread_local double J[3 * QPCC_CONTACTS][QPCC_N], Y[3 * QPCC_CONTACTS][QPCC_N];
    int n = p->n_p + p->n_c;
    o->p = p;
    o->m = 3 * p->n_c;
    o->n = p->n_y + o->m;
    o->nodes = o->narrow = o->failed = o->slow = 0;
    for (int i = 0; i < o->m; i++)
    {
        const tdSapConstraint *constraint = &p->problem->constraints[i / 3];
        const tdSapSide *side = &constraint->side[0];
        memset(J[i], 0, sizeof J[i]);
        for (int j = 0; j < side->count; j++)
            J[i][side->columns[j]] = side->J[i % 3 * side->count + j];
        memcpy(Y[i], J[i], sizeof Y[i]);
        qpcc_solve(p->A, n, Y[i]);
        o->u0[i] = -constraint->law.v_hat[i % 3];
        for (int k = 0; k < n; k++)
            o->u0[i] += J[i][k] * p->v_star[k];
        for (int k = 0; k < p->n_y; k++)
        {
            double *b = &o->B[i * p->n_y + k];
            *b = 0;
            for (int j = 0; j < n; j++)
                *b += J[i][j] * p->X[k * n + j];
            o->u0[i] -= *b * p->start[k];
        }
        for (int e = 0; e < p->n_e; e++)
        {
            o->Z[e * o->m + i] = 0;
            for (int j = 0; j < n; j++)
                o->Z[e * o->m + i] += J[i][j] * p->Q[e * n + j];
        }
    }
    for (int i = 0; i < o->m; i++)
        for (int j = 0; j < o->m; j++)
        {
            double *w = &o->W[i * o->m + j];
            *w = 0;
            for (int k = 0; k < n; k++)
                *w += J[i][k] * Y[j][k];
            if (i == j)
                *w += i % 3 == 2 ? p->problem->constraints[i / 3].law.R[2] : 1e-7 * *w;
        }
    if (o->work == NULL)
    {
        o->work = td_qp_work(&o->arena, SPACE_UNKNOWNS, SPACE_ROWS);
        assert_true(td_dual_set_take(&o->quick, &o->arena, SPACE_UNKNOWNS, SPACE_ROWS));
    }
}

static inline double *space_row(spaceOracle *o, double low, double high)
{
    double *row = o->C + o->rows * o->n;
    memset(row, 0, (size_t)o->n * sizeof *row);
    o->cl[o->rows] = low;
    o->cu[o->rows++] = high;
    return row;
}

// Adds factor times velocity i to a row; what does not depend on the unknowns is returned.
static inline double space_velocity(const spaceOracle *o, int i, double factor, double *row)
{
    const qpccProblem *p = o->p;
    for (int k = 0; k < p->n_y; k++)
        row[k] += factor * o->B[i * p->n_y + k];
    for (int j = 0; j < o->m; j++)
        row[p->n_y + j] += factor * o->W[i * o->m + j];
    return factor * o->u0[i];
}

// a . f <= mu f_n of contact c
static inline void space_cone(spaceOracle *o, int c, double mu, double angle)
{
    double *row = space_row(o, 0, INFINITY) + o->p->n_y + 3 * c;
    row[0] = -cos(angle);
    row[1] = -sin(angle);
    row[2] = mu;
}

// What holds in a sector: friction f and the motion against it, -u.
static inline void space_sector(spaceOracle *o, int c, double mu, const spaceMode *mode)
{
    double a = mode->at - mode->half, b = mode->at + mode->half;
    space_cone(o, c, mu, a);
    space_cone(o, c, mu, mode->at);
    space_cone(o, c, mu, b);
    double *chord = space_row(o, 0, INFINITY) + o->p->n_y + 3 * c;
    chord[0] = cos(mode->at);
    chord[1] = sin(mode->at);
    chord[2] = -mu * cos(mode->half);
    for (int side = 0; side < 2; side++)
    {
        double x = side == 0 ? -sin(a) : sin(b), y = side == 0 ? cos(a) : -cos(b); // (x, y) . f >= 0 within
        double *f = space_row(o, 0, INFINITY) + o->p->n_y + 3 * c;
        f[0] = x;
        f[1] = y;
        double *u = space_row(o, 0, INFINITY);
        double constant = space_velocity(o, 3 * c, -x, u);
        constant += space_velocity(o, 3 * c + 1, -y, u);
        o->cl[o->rows - 1] = -constant;
    }
}

static inline void space_rows(spaceOracle *o, const spaceMode *modes)
{
    const qpccProblem *p = o->p;
    o->rows = 0;
    for (int c = 0; c < p->n_c; c++)
    {
        double mu = p->problem->constraints[c].law.mu;
        const spaceMode *mode = &modes[c];
        bool apart = mode->mode == SPACE_OPEN || mode->mode == SPACE_UNDECIDED;
        double *normal = space_row(o, 0, 0), constant = space_velocity(o, 3 * c + 2, 1, normal);
        o->cl[o->rows - 1] = -constant;
        o->cu[o->rows - 1] = apart ? INFINITY : -constant;
        if (mu == 0 || mode->mode == SPACE_OPEN)
            continue;
        if (mode->mode == SPACE_SLIDE)
        {
            space_sector(o, c, mu, mode);
            continue;
        }
        for (int k = 0; k < SPACE_CUTS; k++)
            space_cone(o, c, mu, 2 * M_PI * k / SPACE_CUTS);
        for (int k = 0; k < mode->cuts; k++)
            space_cone(o, c, mu, mode->cut[k]);
        for (int r = 0; r < 2 && mode->mode == SPACE_STICK; r++)
        {
            double *row = space_row(o, 0, 0);
            o->cl[o->rows - 1] = o->cu[o->rows - 1] = -space_velocity(o, 3 * c + r, 1, row);
        }
    }
}

// The program of a node. False where there is nothing.
static inline bool space_node(spaceOracle *o, const spaceMode *modes, double *x, double *value)
{
    const qpccProblem *p = o->p;
    double xl[SPACE_UNKNOWNS], xu[SPACE_UNKNOWNS], q[QPCC_ERRORS];
    static _Thread_local double z[SPACE_UNKNOWNS + SPACE_ROWS];
    static _Thread_local signed char active[SPACE_UNKNOWNS + SPACE_ROWS];
    int n = o->n;
    for (int k = 0; k < n; k++)
    {
        int i = k - p->n_y, c = i / 3;
        bool none = i >= 0 && (modes[c].mode == SPACE_OPEN || (i % 3 < 2 && p->problem->constraints[c].law.mu == 0));
        xl[k] = i < 0 ? p->lo[k] : none ? 0 : i % 3 == 2 ? 0 : -INFINITY;
        xu[k] = i < 0 ? p->hi[k] : none ? 0 : INFINITY;
        x[k] = i < 0 ? p->start[k] : 0;
    }
    space_rows(o, modes);
    memset(o->R, 0, (size_t)(p->n_e * n) * sizeof *o->R);
    memset(active, 0, sizeof active);
    for (int e = 0; e < p->n_e; e++)
    {
        q[e] = p->e0[e];
        for (int k = 0; k < p->n_y; k++)
        {
            o->R[e * n + k] = p->E[e * p->n_y + k];
            q[e] -= o->R[e * n + k] * p->start[k];
        }
        for (int i = 0; i < o->m; i++)
            o->R[e * n + p->n_y + i] = o->Z[e * o->m + i];
    }
    // Where the quick method finds nothing, another one is asked: always where sectors are so narrow that their rows
    // all but contradict each other.
    bool narrow = false;
    for (int c = 0; c < p->n_c; c++)
        narrow = narrow || (modes[c].mode == SPACE_SLIDE && modes[c].half < 0.1);
    tdDualSetProblem quick = {
        .n = n, .e = p->n_e, .m = o->rows, .E = o->R, .e0 = q, .xl = xl, .xu = xu, .C = o->C, .cl = o->cl, .cu = o->cu};
    int iterations = 0;
    bool good = td_dual_set_solve(&o->quick, &quick, x, active, &iterations);
    if (!good && (o->sure || narrow))
    {
        tdQp qp = {.n = n, .m = o->rows, .xl = xl, .xu = xu, .C = o->C, .cl = o->cl, .cu = o->cu};
        tdQpSolution solution = {.x = x, .active = active, .z = z};
        td_qp_solve_squares(&qp, p->n_e, o->R, q, o->work, false, &solution);
        o->failed += solution.status == TD_QP_ITERATIONS;
        good = solution.status != TD_QP_INFEASIBLE || solution.violation < 1e-8;
        o->slow += good && !narrow;
    }
    o->nodes++;
    double square = 0;
    for (int e = 0; e < p->n_e; e++)
    {
        double sum = q[e];
        for (int k = 0; k < n; k++)
            sum += o->R[e * n + k] * x[k];
        square += sum * sum;
    }
    *value = sqrt(square);
    return good;
}

// How far a contact is from its laws at x.
static inline double space_off(const spaceOracle *o, int c, const double *x)
{
    const qpccProblem *p = o->p;
    double u[3], mu = p->problem->constraints[c].law.mu;
    const double *f = x + p->n_y + 3 * c;
    for (int r = 0; r < 3; r++)
    {
        u[r] = o->u0[3 * c + r];
        for (int k = 0; k < p->n_y; k++)
            u[r] += o->B[(3 * c + r) * p->n_y + k] * x[k];
        for (int j = 0; j < o->m; j++)
            u[r] += o->W[(3 * c + r) * o->m + j] * x[p->n_y + j];
    }
    double off = fmin(f[2], fmax(u[2], 0)), speed = hypot(u[0], u[1]);
    if (mu == 0 || f[2] < 1e-9)
        return off;
    double slides = speed > 0 ? hypot(f[0] + mu * f[2] * u[0] / speed, f[1] + mu * f[2] * u[1] / speed) : INFINITY;
    double sticks = fmax(speed, hypot(f[0], f[1]) - mu * f[2]);
    return fmax(off, fmin(sticks, slides));
}

// More planes where friction lies outside of its cone. False: there are none.
static inline bool space_cut(const spaceOracle *o, spaceMode *modes, const double *x)
{
    bool any = false;
    for (int c = 0; c < o->p->n_c; c++)
    {
        const double *f = x + o->p->n_y + 3 * c;
        double mu = o->p->problem->constraints[c].law.mu;
        bool cone = mu > 0 && (modes[c].mode == SPACE_UNDECIDED || modes[c].mode == SPACE_STICK);
        if (!cone || modes[c].cuts == SPACE_CUTS || hypot(f[0], f[1]) <= mu * f[2] * 1.001 + 1e-9)
            continue;
        modes[c].cut[modes[c].cuts++] = atan2(f[1], f[0]);
        any = true;
    }
    return any;
}

static inline void space_branch(spaceOracle *o, const spaceMode *given)
{
    double x[SPACE_UNKNOWNS], value;
    spaceMode modes[QPCC_CONTACTS];
    memcpy(modes, given, sizeof modes);
    do
        if (o->nodes >= SPACE_NODES || !space_node(o, modes, x, &value) || value >= o->prune * o->best)
            return;
    while (space_cut(o, modes, x));
    int worst = -1;
    double most = 1e-6;
    for (int c = 0; c < o->p->n_c; c++)
    {
        bool open_ended =
            modes[c].mode == SPACE_UNDECIDED || (modes[c].mode == SPACE_SLIDE && modes[c].half > SPACE_NARROW);
        double off = open_ended ? space_off(o, c, x) : 0;
        if (off > most)
        {
            most = off;
            worst = c;
        }
    }
    if (worst < 0)
    {
        double there = qpcc_error_at(o->p, TD_SOLVE_COULOMB, x);
        o->narrow += !(there <= value * 1.005 + 1e-6);
        if (there < o->best)
            o->best = there;
        return;
    }
    spaceMode *mode = &modes[worst], was = *mode;
    if (was.mode == SPACE_SLIDE)
    {
        mode->half = was.half / 2;
        for (int side = -1; side <= 1; side += 2)
        {
            mode->at = was.at + side * mode->half;
            space_branch(o, modes);
        }
        return;
    }
    mode->mode = SPACE_OPEN;
    space_branch(o, modes);
    mode->mode = SPACE_STICK;
    space_branch(o, modes);
    if (o->p->problem->constraints[worst].law.mu == 0)
        return; // closed is what sticking means then
    mode->mode = SPACE_SLIDE;
    mode->half = M_PI / 4;
    for (int k = 0; k < 4; k++)
    {
        mode->at = M_PI / 2 * k;
        space_branch(o, modes);
    }
}

// The least error there is, if it is below prune times `known`; else `known`. *whole: the tree was gone through.
static inline double space_best(spaceOracle *o, qpccProblem *p, double known, double prune, bool *whole)
{
    spaceMode modes[QPCC_CONTACTS] = {{0}};
    space_begin(o, p);
    o->best = known;
    o->prune = prune;
    space_branch(o, modes);
    *whole = o->nodes < SPACE_NODES;
    return o->best;
}
