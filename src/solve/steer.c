// SPDX-License-Identifier: Apache-2.0
#include "solve/steer.h"

#include "solve/problem.h"

#include <math.h>
#include <string.h>

#define SHARPER    1e-9 // tolerance of the convex problem: errors of effectors are differences of its solutions
#define ROUNDS     4    // with laws that follow the loads
#define WORTH      0.05 // share of the gain that slopes promise, that a step has to bring
#define AGREES     0.7  // share that lets the next step be longer
#define NEGLIGIBLE 3e-3 // of the error: less than this is not worth a step of its own
#define KEPT       1e-6 // violation of limits, relative to sizes, that counts as none
#define CROSSINGS  5    // steps across switches that may fail before they are given up
#define DRIFTS     0.1  // share by which a step that gains nothing may miss what slopes say

// What goes on while y is looked for.
typedef struct Search
{
    tdProblem *problem;
    tdSteer *steer;
    tdTasks *tasks;
    tdSolveResult *result;
    tdError *error;
    double tolerance;
    double *y0;       // where v0 holds
    double *v0;       // v_star of the blocks, one after the other
    double *y, *next; // the last good one, and the next to try
    double *v, *keep; // velocities of the blocks there; gamma, v_c and push
    int64_t n_v;      // velocities
} Search;

// ---------------------------------------------------------------- the convex problem at y

static bool take_parts(tdStack *stack, int n, double **const *at, const int64_t *count)
{
    for (int i = 0; i < n; i++)
        if ((*at[i] = td_stack_take(stack, count[i] + 1, sizeof(double))) == NULL)
            return false;
    return true;
}

// Four sums at a time stay in registers.
void td_steer_along(const tdSapSide *side, int row, const double *x, int n, double *sum)
{
    const double *J = side->J + row * (int64_t)side->count;
    int k = 0;
    for (; k + 4 <= n; k += 4)
    {
        double a[4] = {0, 0, 0, 0};
        for (int32_t i = 0; i < side->count; i++)
        {
            const double *at = x + (side->columns != NULL ? side->columns[i] : i) * (int64_t)n + k;
            for (int j = 0; j < 4; j++)
                a[j] += J[i] * at[j];
        }
        for (int j = 0; j < 4; j++)
            sum[k + j] += a[j];
    }
    for (; k < n; k++)
    {
        double a = 0;
        for (int32_t i = 0; i < side->count; i++)
            a += J[i] * x[(side->columns != NULL ? side->columns[i] : i) * (int64_t)n + k];
        sum[k] += a;
    }
}

// W = Q' J': what is read of an impulse of each row. What is read lies side by side for each velocity.
bool td_steer_readings(tdProblem *p, const bool *only)
{
    const tdSteer *steer = &p->steer;
    int64_t n_z = steer->n_z;
    memset(steer->W, 0, (size_t)(n_z * steer->n_rows) * sizeof *steer->W);
    for (int32_t b = 0; b < p->n_blocks; b++)
    {
        const double *Q = steer->Q[b];
        int64_t n = p->blocks[b].n;
        if (Q == NULL)
            continue;
        tdStackMark mark = td_stack_mark(&p->entries);
        double *turned = td_stack_take(&p->entries, (n + 1) * n_z + 1, sizeof *turned);
        if (turned == NULL)
            return false;
        double *sum = turned + n * n_z;
        for (int64_t z = 0; z < n_z; z++)
            for (int64_t i = 0; i < n; i++)
                turned[i * n_z + z] = Q[i + z * n];
        for (int32_t c = 0; c < p->n_constraints; c++)
            for (int k = 0; k < p->constraints[c].sides; k++)
            {
                const tdSapSide *side = &p->constraints[c].side[k];
                bool acts = side->block == b && (only == NULL || only[c]);
                for (int r = 0; acts && r < p->constraints[c].law.rows; r++)
                {
                    memset(sum, 0, (size_t)n_z * sizeof *sum);
                    td_steer_along(side, r, turned, (int)n_z, sum);
                    for (int64_t z = 0; z < n_z; z++)
                        steer->W[z * steer->n_rows + TD_SAP_ROWS * (int64_t)c + r] += sum[z];
                }
            }
        td_stack_release(&p->entries, mark);
    }
    return true;
}

bool td_steer_room(tdProblem *p, tdTasks *tasks)
{
    tdSteer *steer = &p->steer;
    int64_t n = steer->n;
    steer->n_rows = TD_SAP_ROWS * (int64_t)p->n_constraints;
    double **const at[] = {&steer->W,      &steer->push, &steer->dpush, &steer->released, &steer->change,
                           &steer->dgamma, &steer->dv_c, &steer->kept,  &steer->kept_low};
    const int64_t count[] = {
        steer->n_z * steer->n_rows, steer->n_z,        steer->n_z * n,          steer->n_z * (n + 1), steer->n_rows,
        steer->n_rows * n,          steer->n_rows * n, (TD_STEER_KEPT + 1) * n, TD_STEER_KEPT};
    steer->tasks = tasks;
    steer->n_kept = 0;
    steer->blocking = -1;
    return take_parts(&p->entries, (int)(sizeof at / sizeof at[0]), at, count);
}

static bool take(Search *s)
{
    tdProblem *p = s->problem;
    int64_t n = s->steer->n;
    s->n_v = 0;
    for (int32_t b = 0; b < p->n_blocks; b++)
        s->n_v += p->blocks[b].n;
    double **const at[] = {&s->y0, &s->v0, &s->y, &s->next, &s->v, &s->keep};
    const int64_t count[] = {n, s->n_v, n, n, s->n_v, 2 * TD_SAP_ROWS * (int64_t)p->n_constraints + s->steer->n_z};
    return take_parts(&p->entries, (int)(sizeof at / sizeof at[0]), at, count) && td_steer_room(p, s->tasks) &&
           td_steer_readings(p, NULL);
}

void td_steer_read(tdProblem *problem)
{
    const tdSteer *steer = &problem->steer;
    const double *gamma = problem->gamma;
    for (int z = 0; z < steer->n_z; z++)
    {
        double sum = 0;
        for (int64_t i = 0; i < steer->n_rows; i++)
            sum += steer->W[z * steer->n_rows + i] * gamma[i];
        steer->push[z] = sum;
    }
}

void td_steer_set(tdProblem *p, const double *y0, const double *v0, const double *y)
{
    const tdSteer *steer = &p->steer;
    for (int32_t b = 0; b < p->n_blocks; v0 += p->blocks[b++].n)
    {
        double *v_star = (double *)p->blocks[b].v_star;
        int32_t n = p->blocks[b].n;
        if (steer->X[b] == NULL)
            continue;
        memcpy(v_star, v0, (size_t)n * sizeof *v_star);
        for (int k = 0; k < steer->n; k++)
            for (int32_t i = 0; i < n && y[k] != y0[k]; i++)
                v_star[i] += (y[k] - y0[k]) * steer->X[b][i + (int64_t)k * n];
    }
}

static tdStatus solve_at(Search *s, const double *y)
{
    td_steer_set(s->problem, s->y0, s->v0, y);
    s->steer->solutions++;
    memcpy(s->steer->y, y, (size_t)s->steer->n * sizeof *y);
    TD_TRY(td_problem_by_velocities(s->problem, fmin(s->tolerance, SHARPER), s->tasks, s->result, s->error));
    td_steer_read(s->problem);
    return TD_OK;
}

// With laws that go with the loads, as a simulation with these efforts would have them.
static tdStatus settle(Search *s, const double *y)
{
    tdProblem *p = s->problem;
    if (s->steer->restart != NULL)
        s->steer->restart(s->steer->context);
    do
        TD_TRY(solve_at(s, y));
    while (p->again != NULL && p->again(p->context, p, s->result));
    return TD_OK;
}

// Where to come back to.
static void keep_place(const Search *s)
{
    const tdProblem *p = s->problem;
    const tdSteer *steer = s->steer;
    double *v = s->v;
    for (int32_t b = 0; b < p->n_blocks; v += p->blocks[b++].n)
        memcpy(v, p->blocks[b].v, (size_t)p->blocks[b].n * sizeof *v);
    memcpy(s->y, steer->y, (size_t)steer->n * sizeof *s->y);
    memcpy(s->keep, p->gamma, (size_t)steer->n_rows * sizeof *s->keep);
    memcpy(s->keep + steer->n_rows, p->v_c, (size_t)steer->n_rows * sizeof *s->keep);
    memcpy(s->keep + 2 * steer->n_rows, steer->push, (size_t)steer->n_z * sizeof *s->keep);
}

static void go_back(const Search *s)
{
    const tdProblem *p = s->problem;
    const tdSteer *steer = s->steer;
    const double *v = s->v;
    for (int32_t b = 0; b < p->n_blocks; v += p->blocks[b++].n)
        memcpy(p->blocks[b].v, v, (size_t)p->blocks[b].n * sizeof *v);
    memcpy(steer->y, s->y, (size_t)steer->n * sizeof *s->y);
    memcpy(p->gamma, s->keep, (size_t)steer->n_rows * sizeof *s->keep);
    memcpy(p->v_c, s->keep + steer->n_rows, (size_t)steer->n_rows * sizeof *s->keep);
    memcpy(steer->push, s->keep + 2 * steer->n_rows, (size_t)steer->n_z * sizeof *s->keep);
}

// ---------------------------------------------------------------- slopes and steps

void td_steer_read_slopes(const tdSteer *steer, int n, const double *dgamma, double *out)
{
    memset(out, 0, (size_t)(steer->n_z * n) * sizeof *out);
    for (int z = 0; z < steer->n_z; z++)
        for (int64_t i = 0; i < steer->n_rows; i++)
        {
            double w = steer->W[z * steer->n_rows + i];
            for (int k = 0; k < n && w != 0; k++)
                out[z * n + k] += w * dgamma[i * n + k];
        }
}

static tdStatus make_slopes(const Search *s)
{
    tdProblem *p = s->problem;
    tdSteer *steer = s->steer;
    TD_TRY(td_problem_slope(p, s->tasks, steer->n, steer->X, NULL, steer->dgamma, steer->dv_c, s->error));
    td_steer_read_slopes(steer, steer->n, steer->dgamma, steer->dpush);
    return TD_OK;
}

bool td_steer_release(tdProblem *problem)
{
    tdSteer *steer = &problem->steer;
    int n = steer->n + 1;
    tdStackMark mark = td_stack_mark(&problem->entries);
    double *dgamma = td_stack_take(&problem->entries, steer->n_rows * n + 1, sizeof *dgamma);
    double *dv_c = td_stack_take(&problem->entries, steer->n_rows * n + 1, sizeof *dv_c);
    tdError unused;
    bool good = dgamma != NULL && dv_c != NULL &&
                td_problem_slope(problem, steer->tasks, n, steer->X, steer->change, dgamma, dv_c, &unused) == TD_OK;
    for (int64_t i = 0; good && i < steer->n_rows; i++)
        if (!isnan(steer->change[i]))
            dgamma[i * n + steer->n] = steer->change[i];
    if (good)
        td_steer_read_slopes(steer, n, dgamma, steer->released);
    td_stack_release(&problem->entries, mark);
    return good;
}

bool td_steer_is_little(double gain, double error, double tolerance)
{
    return gain <= fmax(tolerance, NEGLIGIBLE * error);
}

bool td_steer_is_vain(const tdSteerStep *step, double error)
{
    return (error - step->error) * (error + step->error) < WORTH * step->gain * step->gain;
}

bool td_steer_is_better(const tdSteerPlace *was, const tdSteerStep *step, const tdSteerPlace *is, double tolerance,
                        double *share)
{
    *share = 1;
    if (was->violation > KEPT && is->violation < 0.9 * was->violation)
        return true;
    if (is->violation > fmax(was->violation, KEPT))
        return false;
    if (!td_steer_is_little(step->gain, was->error, tolerance))
    {
        *share = (was->error - is->error) * (was->error + is->error) / (step->gain * step->gain);
        return *share > WORTH;
    }
    // For less energy alone: nothing may be lost beyond what slopes say, which is what constraints give way by.
    double said = fmax(was->error, step->error);
    return is->error <= said + DRIFTS * fabs(step->error - was->error) + fmax(tolerance, NEGLIGIBLE * was->error);
}

// Where slopes promise little, one step for less energy is tried; it is the last.
static tdStatus search(Search *s)
{
    tdSteer *steer = s->steer;
    double reach = INFINITY, leap = INFINITY;
    bool fresh = false;
    steer->failed = 0;
    steer->end = steer->place.error <= steer->tolerance ? TD_STEER_OPTIMAL : TD_STEER_STALLED;
    for (int k = 0; k < steer->most; k++)
    {
        if (!fresh)
            TD_TRY(make_slopes(s));
        fresh = true;
        tdSteerStep step = steer->propose(steer->context, reach, leap, s->next);
        double *region = step.ways > 0 ? &leap : &reach;
        // Limits that are broken are a reason to go on, in shorter steps.
        bool broken = steer->place.violation > KEPT;
        bool last = !broken && td_steer_is_little(step.gain, steer->place.error, steer->tolerance);
        steer->end = step.infeasible                          ? TD_STEER_INFEASIBLE
                     : !last                                  ? TD_STEER_STALLED
                     : steer->place.error <= steer->tolerance ? TD_STEER_OPTIMAL
                                                              : TD_STEER_STATIONARY;
        if (step.length == 0 || (last && *region != INFINITY))
            return TD_OK;
        if (step.ways > 0 && steer->failed >= CROSSINGS)
        {
            steer->end = step.infeasible ? TD_STEER_INFEASIBLE : TD_STEER_STATIONARY;
            return TD_OK;
        }
        keep_place(s);
        steer->steps++;
        TD_TRY(solve_at(s, s->next));
        tdSteerPlace place = steer->measure(steer->context);
        double share = 1;
        if (td_steer_is_better(&steer->place, &step, &place, steer->tolerance, &share))
        {
            steer->place = place;
            fresh = false;
            steer->failed = 0;
            *region = share < 0.25 ? 0.5 * step.length : share > AGREES ? fmax(*region, 2 * step.length) : *region;
        }
        else
        {
            go_back(s);
            steer->failed += step.ways > 0;
            if (step.ways == 0 || steer->failed % step.ways == 0) // all ways were tried
                *region = 0.25 * step.length;
        }
        if (last)
            return TD_OK;
    }
    return TD_OK;
}

tdStatus td_steer_solve(tdProblem *problem, double tolerance, tdTasks *tasks, tdSolveResult *result, tdError *error)
{
    tdSteer *steer = &problem->steer;
    Search s = {
        .problem = problem, .steer = steer, .tasks = tasks, .result = result, .error = error, .tolerance = tolerance};
    if (!take(&s))
        return td_fail_memory(error, "inverse control beside contact");
    double *v0 = s.v0;
    for (int32_t b = 0; b < problem->n_blocks; v0 += problem->blocks[b++].n)
        memcpy(v0, problem->blocks[b].v_star, (size_t)problem->blocks[b].n * sizeof *v0);
    memcpy(s.y0, steer->y, (size_t)steer->n * sizeof *s.y0);
    memcpy(s.next, steer->y, (size_t)steer->n * sizeof *s.next);
    steer->steps = steer->solutions = 0;
    TD_TRY(settle(&s, s.next));
    steer->place = steer->measure(steer->context);
    for (int round = 0; round < ROUNDS; round++)
    {
        TD_TRY(search(&s));
        tdSteerPlace before = steer->place;
        memcpy(s.next, steer->y, (size_t)steer->n * sizeof *s.next);
        TD_TRY(settle(&s, s.next));
        steer->place = steer->measure(steer->context);
        if (fabs(steer->place.error - before.error) <= fmax(steer->tolerance, NEGLIGIBLE * before.error))
            break;
    }
    return TD_OK;
}
