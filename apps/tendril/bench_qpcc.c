// SPDX-License-Identifier: Apache-2.0
// tendril bench qpcc: inverse control beside exact contact, the condensed problem alone, along a motion as control
// would meet it. A body of 60 coordinates on 60 contacts with friction; targets circle in and out of reach, gaps come
// and go.
#include "bench.h"

#include "solve/problem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum
{
    ROBOTS = 4, // of different numbers: which problems a motion meets depends on which local minimum it follows
    STEPS = 300,
    ALL = ROBOTS * STEPS,
    RUNS = 4, // of each step the quickest counts: what interrupts it is not its own
    WARM_UP = 20,
    ACTUATORS = 12,
    CONTACTS = 60,
    COORDINATES = 60,
    ERRORS = 6,
    STARTS = 0,
    PIVOTS = 6 // hard bound a step, as in real time; what is left is for the next
};

typedef struct robot
{
    tdProblem *problem;
    double A[COORDINATES * COORDINATES], L[COORDINATES * COORDINATES], X[COORDINATES * ACTUATORS],
        Q[COORDINATES * ERRORS], J[3 * CONTACTS][COORDINATES];
    double E[ERRORS * ACTUATORS], e0[ERRORS], target[ERRORS], y[ACTUATORS], start[ACTUATORS], v[COORDINATES];
    const double *columns[1], *readings[1];
    tdInverseWork *work;
    double Ey[ERRORS * ACTUATORS], ey[ERRORS], xl[ACTUATORS], xu[ACTUATORS], energy[ACTUATORS * ACTUATORS];
    double gamma[TD_SAP_ROWS * CONTACTS]; // of the last step
    double x[ACTUATORS], high[TD_STEER_KEPT];
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
        if (steer->guess[k] == 0 && (steer->y[k] <= r->xl[k] || steer->y[k] >= r->xu[k]))
            steer->guess[k] = (signed char)(steer->y[k] <= r->xl[k] ? -1 : 1);
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
                         .reach_only = steer->gain_only,
                         .or_nothing = steer->or_nothing,
                         .near = true,
                         .tolerance = steer->tolerance};
    tdInverseResult result = {.x = r->x, .active = steer->guess};
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

static tdStatus make_robot(robot *r, uint32_t seed, tdArena *arena, tdError *error)
{
    for (int i = 0; i < COORDINATES; i++)
    {
        r->A[i * COORDINATES + i] = 1 / compliance(i);
        r->L[i * COORDINATES + i] = sqrt(r->A[i * COORDINATES + i]);
    }
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
    if (td_problem_block(p, COORDINATES, COORDINATES, r->A, r->L) < 0)
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
                         .pivots = PIVOTS,
                         .starts = STARTS,
                         .warm = r->gamma,
                         .context = r,
                         .measure = measure,
                         .choose = choose};
    return TD_OK;
}

// ---------------------------------------------------------------- command

typedef struct tally
{
    double times[ALL], all[RUNS * ALL]; // [us] of each step, the quickest of the runs; of all runs
    double dual[ALL];                   // [us] of it, W = J A^-1 J'
    int ends[4];
    double bearing, solutions, pieces; // means
} tally;

static tdStatus follow(robot *r, int number, int run, tally *out, tdError *error)
{
    for (int step = -WARM_UP; step < STEPS; step++)
    {
        tdSolveResult result;
        TD_TRY(at_step(r, step, error));
        const tdProblem *p = r->problem;
        const tdSapProblem rows = {.n_blocks = p->n_blocks,
                                   .n_constraints = p->n_constraints,
                                   .blocks = p->blocks,
                                   .constraints = p->constraints,
                                   .gamma = p->gamma,
                                   .v_c = p->v_c};
        double start = bench_processor_seconds();
        TD_TRY(td_dual_make(&r->problem->dual, &rows, p->factors, NULL, error));
        double made = 1e6 * (bench_processor_seconds() - start);
        start = bench_processor_seconds();
        TD_TRY(td_solve(r->problem, TD_SOLVE_INVERSE, 1e-9, NULL, &result, error));
        double took = 1e6 * (bench_processor_seconds() - start);
        memcpy(r->v, r->problem->blocks[0].v, sizeof r->v);
        memcpy(r->gamma, r->problem->gamma, sizeof r->gamma);
        if (step < 0)
            continue;
        const tdSteer *steer = &r->problem->steer;
        int at = number * STEPS + step;
        out->times[at] = run == 0 ? took : fmin(out->times[at], took);
        out->dual[at] = run == 0 ? made : fmin(out->dual[at], made);
        out->all[run * ALL + at] = took;
        out->ends[steer->end] += run == 0;
        out->solutions += (double)steer->solutions / (RUNS * ALL);
        out->pieces += (double)steer->pieces / (RUNS * ALL);
        for (int c = 0; c < CONTACTS; c++)
            out->bearing += (r->problem->gamma[3 * c + 2] > 0) / (double)(RUNS * ALL);
    }
    return TD_OK;
}

tdStatus bench_qpcc(bool print, tdJson *json, tdError *error)
{
    static const char *const names[] = {"optimal", "stationary", "stalled", "infeasible"};
    static tally t;
    static robot r;
    tdStatus status = TD_OK;
    t = (tally){0};
    for (int run = 0; run < RUNS * ROBOTS && status == TD_OK; run++)
    {
        tdArena arena = {0};
        r = (robot){0};
        status = make_robot(&r, 3 + (uint32_t)(run % ROBOTS), &arena, error);
        if (status == TD_OK)
            status = follow(&r, run % ROBOTS, run / ROBOTS, &t, error);
        td_problem_free(r.problem);
        td_arena_free(&arena);
    }
    if (status != TD_OK)
        return status;
    double median = bench_spread(t.times, ALL).median; // sorted by it
    double dual = bench_spread(t.dual, ALL).median;
    bench_spread(t.all, RUNS * ALL);
    td_json_open(json, "qpcc_us", '{');
    td_json_integer(json, "actuators", ACTUATORS);
    td_json_integer(json, "contacts", CONTACTS);
    td_json_number(json, "bearing", t.bearing);
    td_json_number(json, "solutions", t.solutions);
    td_json_number(json, "pieces", t.pieces);
    td_json_number(json, "median", median);
    td_json_number(json, "dual", dual);
    td_json_number(json, "p90", t.times[ALL * 90 / 100]);
    td_json_number(json, "p99", t.times[ALL * 99 / 100]);
    td_json_number(json, "most", t.times[ALL - 1]);
    td_json_number(json, "p99_of_all_runs", t.all[RUNS * ALL * 99 / 100]);
    for (int i = 0; i < 4; i++)
        td_json_integer(json, names[i], t.ends[i]);
    td_json_close(json, '}');
    if (print)
        printf(
            "Inverse beside exact contact: %d actuators, %d contacts with friction (%.1f bear), %d steps of %d "
            "motions, processor time of one core, of each step the quickest of %d runs\n\n"
            "  median %.0f us, p90 %.0f us, p99 %.0f us, most %.0f us, of which W takes %.0f us; p99 of all runs %.0f "
            "us\n"
            "  %.1f contact problems and %.1f pieces a step; optimal %d, stationary %d, stalled %d, infeasible %d\n\n",
            ACTUATORS, CONTACTS, t.bearing, ALL, ROBOTS, RUNS, median, t.times[ALL * 90 / 100], t.times[ALL * 99 / 100],
            t.times[ALL - 1], dual, t.all[RUNS * ALL * 99 / 100], t.solutions, t.pieces, t.ends[0], t.ends[1],
            t.ends[2], t.ends[3]);
    return TD_OK;
}
