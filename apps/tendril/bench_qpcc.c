// SPDX-License-Identifier: Apache-2.0
// tendril bench qpcc: inverse control beside exact contact, the condensed problem alone, along a motion as control
// would meet it. A body of 60 coordinates on 60 contacts with friction; targets circle in and out of reach, gaps come
// and go.
#include "bench.h"

#include "base/timer.h"
#include "solve/problem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum
{
    STEPS = 300,
    WARM_UP = 20,
    ACTUATORS = 12,
    CONTACTS = 60,
    COORDINATES = 60,
    ERRORS = 6,
    STARTS = 0
};

typedef struct robot
{
    tdProblem *problem;
    double A[COORDINATES * COORDINATES], X[COORDINATES * ACTUATORS], Q[COORDINATES * ERRORS],
        J[3 * CONTACTS][COORDINATES];
    double E[ERRORS * ACTUATORS], e0[ERRORS], target[ERRORS], y[ACTUATORS], start[ACTUATORS], v[COORDINATES];
    const double *columns[1], *readings[1];
    tdInverseWork *work;
    double Ey[ERRORS * ACTUATORS], ey[ERRORS], xl[ACTUATORS], xu[ACTUATORS], energy[ACTUATORS * ACTUATORS];
    double x[ACTUATORS], high[TD_STEER_KEPT];
    signed char active[ACTUATORS + TD_STEER_KEPT];
} robot;

static double uniform(uint32_t *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed * 0x1p-31 - 1;
}

// ---------------------------------------------------------------- the owner of the search

static void find_errors(robot *r)
{
    const tdSteer *steer = &r->problem->steer;
    for (int i = 0; i < ERRORS; i++)
    {
        r->ey[i] = r->e0[i] + steer->push[i];
        for (int k = 0; k < ACTUATORS; k++)
            r->ey[i] += r->E[i * ACTUATORS + k] * (steer->y[k] - r->start[k]);
    }
}

static tdSteerPlace measure(void *context)
{
    robot *r = context;
    double square = 0;
    find_errors(r);
    for (int i = 0; i < ERRORS; i++)
        square += r->ey[i] * r->ey[i];
    return (tdSteerPlace){.error = sqrt(square)};
}

static tdSteerStep choose(void *context, double reach, bool slack, double *next)
{
    robot *r = context;
    const tdSteer *steer = &r->problem->steer;
    double error = steer->place.error;
    (void)slack;
    find_errors(r);
    for (int i = 0; i < ERRORS; i++)
        for (int k = 0; k < ACTUATORS; k++)
        {
            double *E = &r->Ey[i * ACTUATORS + k];
            *E = r->E[i * ACTUATORS + k] + steer->dpush[i * ACTUATORS + k];
            r->ey[i] -= *E * steer->y[k];
        }
    for (int k = 0; k < ACTUATORS; k++)
    {
        r->xl[k] = fmax(0, steer->y[k] - reach);
        r->xu[k] = fmin(4, steer->y[k] + reach);
        r->x[k] = steer->y[k];
    }
    tdInverse inverse = {.n_a = ACTUATORS,
                         .n_e = ERRORS,
                         .n_c = steer->n_kept,
                         .E = r->Ey,
                         .e0 = r->ey,
                         .W = r->energy,
                         .xl = r->xl,
                         .xu = r->xu,
                         .C = steer->kept,
                         .cl = steer->kept_low,
                         .cu = r->high,
                         .energy = TD_ENERGY_NULL_SPACE,
                         .tolerance = steer->tolerance};
    tdInverseResult result = {.x = r->x, .active = r->active};
    memset(r->active, 0, sizeof r->active);
    td_inverse_solve(&inverse, r->work, true, &result);
    tdSteerStep step = {.error = result.residual,
                        .gain = sqrt(fmax((error - result.residual) * (error + result.residual), 0)),
                        .infeasible = result.status == TD_QP_INFEASIBLE};
    for (int k = 0; k < ACTUATORS; k++)
        step.length = fmax(step.length, fabs(r->x[k] - steer->y[k]));
    memcpy(next, r->x, sizeof r->x);
    return step;
}

// ---------------------------------------------------------------- the robot

// Softer the higher the number of the coordinate is, as modes are; A is diagonal in them, dense as the problem has it.
static double compliance(int i)
{
    return 1.0 / (1 + 0.15 * i);
}

static tdStatus make_robot(robot *r, tdArena *arena, tdError *error)
{
    uint32_t seed = 3;
    for (int i = 0; i < COORDINATES; i++)
        r->A[i * COORDINATES + i] = 1 / compliance(i);
    for (int k = 0; k < ACTUATORS; k++)
        for (int i = 0; i < COORDINATES; i++)
            r->X[k * COORDINATES + i] = 0.5 * uniform(&seed) * compliance(i);
    for (int c = 0; c < 3 * CONTACTS; c++)
        for (int i = 0; i < COORDINATES; i++)
            r->J[c][i] = 0.5 * uniform(&seed);
    for (int e = 0; e < ERRORS; e++)
    {
        double row[COORDINATES];
        for (int i = 0; i < COORDINATES; i++)
        {
            row[i] = 0.5 * uniform(&seed);
            r->Q[e * COORDINATES + i] = compliance(i) * row[i];
        }
        for (int k = 0; k < ACTUATORS; k++)
            for (int i = 0; i < COORDINATES; i++)
                r->E[e * ACTUATORS + k] += row[i] * r->X[k * COORDINATES + i];
        r->target[e] = uniform(&seed);
    }
    for (int k = 0; k < ACTUATORS; k++)
    {
        r->energy[k * ACTUATORS + k] = 1;
        r->y[k] = 1;
    }
    for (int i = 0; i < TD_STEER_KEPT; i++)
        r->high[i] = INFINITY;
    r->columns[0] = r->X;
    r->readings[0] = r->Q;
    r->work = td_inverse_work(arena, ACTUATORS, ERRORS, TD_STEER_KEPT);
    return r->work == NULL ? td_fail_memory(error, "the inverse problem") : td_problem_create(&r->problem, error);
}

// Rows, gaps and targets of a step; efforts stand where the last one left them.
static tdStatus at_step(robot *r, int step, tdError *error)
{
    tdProblem *p = r->problem;
    double phase = 0.005 * step; // 0.8 Hz at 1 kHz
    td_problem_clear(p);
    if (td_problem_block(p, COORDINATES, COORDINATES, r->A, NULL) < 0)
        return td_fail_memory(error, "the inverse problem");
    for (int c = 0; c < CONTACTS; c++)
    {
        double *J = NULL, w = 0;
        int32_t *columns = NULL;
        if (td_problem_row(p, (tdOwner){0, c}, TD_SAP_CONTACT, 3) < 0 ||
            td_problem_side(p, 0, COORDINATES, &J, &columns) == NULL)
            return td_fail_memory(error, "the inverse problem");
        for (int i = 0; i < COORDINATES; i++)
        {
            columns[i] = i;
            for (int row = 0; row < 3; row++)
                J[row * COORDINATES + i] = r->J[3 * c + row][i];
            w += r->J[3 * c + 2][i] * r->J[3 * c + 2][i] * compliance(i);
        }
        p->constraints[c].law = (tdSapLaw){.kind = TD_SAP_CONTACT,
                                           .rows = 3,
                                           .mu = 0.4,
                                           .R = {1e-3 * w, 1e-3 * w, 0.025 * w},
                                           .v_hat = {0, 0, -0.3 + 0.4 * sin(0.3 * phase + c)}};
    }
    double *v_star = (double *)p->blocks[0].v_star;
    memcpy(r->start, r->y, sizeof r->y);
    memset(v_star, 0, sizeof r->v);
    for (int k = 0; k < ACTUATORS; k++)
        for (int i = 0; i < COORDINATES; i++)
            v_star[i] += r->y[k] * r->X[k * COORDINATES + i];
    memcpy(p->blocks[0].v, r->v, sizeof r->v);
    for (int e = 0; e < ERRORS; e++)
    {
        r->e0[e] = -0.5 * r->target[e] * sin(phase + e);
        for (int k = 0; k < ACTUATORS; k++)
            r->e0[e] += r->E[e * ACTUATORS + k] * r->y[k];
    }
    p->steer = (tdSteer){.n = ACTUATORS,
                         .n_z = ERRORS,
                         .X = r->columns,
                         .Q = r->readings,
                         .y = r->y,
                         .tolerance = 1e-6,
                         .most = 1,
                         .exact = true,
                         .starts = STARTS,
                         .context = r,
                         .measure = measure,
                         .choose = choose};
    return TD_OK;
}

// ---------------------------------------------------------------- command

static tdStatus follow(robot *r, double *times, int *ends, double *bearing, double *solutions, tdError *error)
{
    for (int step = -WARM_UP; step < STEPS; step++)
    {
        tdSolveResult result;
        TD_TRY(at_step(r, step, error));
        double start = td_seconds();
        TD_TRY(td_solve(r->problem, TD_SOLVE_INVERSE, 1e-9, NULL, &result, error));
        double end = td_seconds();
        memcpy(r->v, r->problem->blocks[0].v, sizeof r->v);
        if (step < 0)
            continue;
        times[step] = 1e6 * (end - start);
        ends[r->problem->steer.end]++;
        *solutions += (double)r->problem->steer.solutions / STEPS;
        for (int c = 0; c < CONTACTS; c++)
            *bearing += (r->problem->gamma[3 * c + 2] > 0) / (double)STEPS;
    }
    return TD_OK;
}

tdStatus bench_qpcc(bool print, tdJson *json, tdError *error)
{
    static const char *const names[] = {"optimal", "stationary", "stalled", "infeasible"};
    static double times[STEPS];
    static robot r;
    tdArena arena = {0};
    int ends[4] = {0};
    double bearing = 0, solutions = 0;
    r = (robot){0};
    tdStatus status = make_robot(&r, &arena, error);
    if (status == TD_OK)
        status = follow(&r, times, ends, &bearing, &solutions, error);
    td_problem_free(r.problem);
    td_arena_free(&arena);
    if (status != TD_OK)
        return status;
    double median = bench_spread(times, STEPS).median; // sorted by it
    td_json_open(json, "qpcc_us", '{');
    td_json_integer(json, "actuators", ACTUATORS);
    td_json_integer(json, "contacts", CONTACTS);
    td_json_number(json, "bearing", bearing);
    td_json_number(json, "solutions", solutions);
    td_json_number(json, "median", median);
    td_json_number(json, "p90", times[STEPS * 90 / 100]);
    td_json_number(json, "p99", times[STEPS * 99 / 100]);
    td_json_number(json, "most", times[STEPS - 1]);
    for (int i = 0; i < 4; i++)
        td_json_integer(json, names[i], ends[i]);
    td_json_close(json, '}');
    if (print)
        printf("Inverse beside exact contact: %d actuators, %d contacts with friction (%.1f bear), %d steps of a "
               "motion, one "
               "core\n\n  median %.0f us, p90 %.0f us, p99 %.0f us, most %.0f us; %.1f contact problems a step\n"
               "  optimal %d, stationary %d, stalled %d, infeasible %d\n\n",
               ACTUATORS, CONTACTS, bearing, STEPS, median, times[STEPS * 90 / 100], times[STEPS * 99 / 100],
               times[STEPS - 1], solutions, ends[0], ends[1], ends[2], ends[3]);
    return TD_OK;
}
