// SPDX-License-Identifier: Apache-2.0
// Inverse control in the condensed problem: from columns and rows to the small problem of inverse.h and back.
#include "base/timer.h"
#include "constraint/condense.h"
#include "core/state.h"
#include "solve/problem.h"

#include <math.h>
#include <string.h>

// Errors are weighed as lengths: a volume by its share of the volume at rest and an angle by its share of a radian, of
// the body's size. In plain units a volume would weigh nothing beside a position.
double td_condense_weight(const tdModel *model, const tdEffector *effector)
{
    return effector->given->weight * model->size / td_effector_size(model, effector);
}

// Errors of the effectors as functions of y, weighted; returns their number.
int td_condense_effectors(const tdModel *model, tdState *state, struct tdCondensed *cd, const double *way)
{
    const tdConstraintState *cs = state->constraint;
    int n = 0;
    for (int e = 0; e < model->n_effectors; e++)
    {
        const tdEffector *effector = &model->effectors[e];
        if (isnan(cs->target[3 * e]))
            continue;
        for (int r = 0; r < effector->measure.rows; r++)
        {
            if (effector->measure.rows == 3 && !(effector->given->axes & 1 << r))
                continue;
            double weight = td_condense_weight(model, effector), *E = cd->E + n * cd->n;
            cd->level[n] = effector->given->priority;
            cd->e0[n] = weight * (cs->error[3 * e + r] + td_row_dot(model, cs->J, effector->row + r, way));
            for (int k = 0; k < cd->n; k++)
            {
                E[k] =
                    weight * model->scheme.c * td_row_dot(model, cs->J, effector->row + r, cd->X + k * model->coords);
                cd->e0[n] -= E[k] * cd->now[k];
            }
            n++;
        }
    }
    return n;
}

// A row cl <= C y <= cu over the second quantity of unknown k.
static int second_row(const tdModel *model, struct tdCondensed *cd, int row, int k, double least, double most)
{
    const tdActuator *actuator = &model->actuators[cd->unknown[k]];
    double constant = cd->second[k];
    for (int j = 0; j < cd->n; j++)
    {
        cd->C[row * cd->n + j] = cd->M[k * cd->n + j];
        constant -= cd->M[k * cd->n + j] * cd->now[j];
    }
    cd->cl[row] = least - constant;
    cd->cu[row] = most - constant;
    cd->row_size[row] = actuator->held ? 0 : actuator->size;
    return row + 1;
}

// Gas that was pumped in, at ambient pressure: (p + ambient) V / ambient - V at rest, linear in y about y = now.
static int gas_row(const tdModel *model, struct tdCondensed *cd, int row, int k)
{
    const tdActuator *actuator = &model->actuators[cd->unknown[k]];
    double ambient = actuator->given->ambient, volume = actuator->rest_value + cd->second[k];
    double share = (cd->now[k] + ambient) / ambient, constant = share * volume - actuator->rest_value;
    for (int j = 0; j < cd->n; j++)
    {
        double slope = share * cd->M[k * cd->n + j] + (j == k ? volume / ambient : 0);
        cd->C[row * cd->n + j] = slope;
        constant -= slope * cd->now[j];
    }
    cd->cl[row] = actuator->given->gas[0] - constant;
    cd->cu[row] = actuator->given->gas[1] - constant;
    cd->row_size[row] = actuator->size;
    return row + 1;
}

// Limits of each unknown, limits of its second quantity, and what driven actuators ask for.
static int make_limits(const tdModel *model, const tdState *state, struct tdCondensed *cd)
{
    const tdConstraintState *cs = state->constraint;
    int rows = 0;
    for (int k = 0; k < cd->n; k++)
    {
        int a = cd->unknown[k];
        bool held = model->actuators[a].held;
        const double *gas = model->actuators[a].given->gas;
        const double *first = (held ? cs->travel_limit : cs->effort_limit) + 2 * a;
        const double *second = (held ? cs->effort_limit : cs->travel_limit) + 2 * a;
        cd->xl[k] = first[0];
        cd->xu[k] = first[1];
        if (state->joined && cs->role[a] != TD_ROLE_INVERSE)
            cd->xl[k] = cd->xu[k] = cd->now[k]; // a velocity of the problem
        else if (cs->role[a] != TD_ROLE_INVERSE)
        {
            // M and `second` of this unknown get the law; what it asks for is a row without slack.
            td_condense_law(model, state, cd, k);
            double asked = cd->second[k] - cd->b[k];
            cd->xl[k] = cd->lo[k];
            cd->xu[k] = cd->hi[k];
            if (cd->lo[k] < cd->hi[k])
                rows = second_row(model, cd, rows, k, asked, asked);
        }
        else if (isfinite(second[0]) || isfinite(second[1]))
            rows = second_row(model, cd, rows, k, second[0], second[1]);
        if (cs->role[a] == TD_ROLE_INVERSE && (isfinite(gas[0]) || isfinite(gas[1])))
            rows = gas_row(model, cd, rows, k);
    }
    return rows;
}

// Cables that one motor winds in and lets out: those that it lets out hang slack, whatever their length.
static bool is_antagonistic(const tdModel *model, const tdSceneGroup *group)
{
    bool in = false, out = false;
    for (int i = 0; i < group->n; i++)
    {
        if (group->effort || model->actuators[group->actuators[i]].given->kind != TD_ACTUATOR_CABLE)
            return false;
        in = in || group->ratio[i] > 0;
        out = out || group->ratio[i] < 0;
    }
    return in && out;
}

int td_condense_antagonists(const tdModel *model)
{
    int n = 0;
    for (int g = 0; g < model->control.n_groups; g++)
        n += is_antagonistic(model, &model->control.groups[g]);
    return n;
}

// Whether the motor of a group turns so that a member hangs slack; bit b of `turns` is that of antagonistic group b.
static bool is_slack(const tdModel *model, int g, int member, unsigned turns)
{
    const tdSceneGroup *groups = model->control.groups;
    if (!is_antagonistic(model, &groups[g]))
        return false;
    int bit = 0;
    for (int k = 0; k < g; k++)
        bit += is_antagonistic(model, &groups[k]);
    return (groups[g].ratio[member] > 0) == (turns >> bit & 1);
}

// Slack cables do not pull.
static void slacken(const tdModel *model, struct tdCondensed *cd, unsigned turns)
{
    for (int g = 0; g < model->control.n_groups; g++)
        for (int i = 0; i < model->control.groups[g].n; i++)
            for (int k = 0; k < cd->n; k++)
                if (cd->unknown[k] == model->control.groups[g].actuators[i] && is_slack(model, g, i, turns))
                    cd->xl[k] = cd->xu[k] = 0;
}

// y_i / ratio_i = y_0 / ratio_0, or the same of displacements, for the members that do not hang slack.
static int make_groups(const tdModel *model, const tdState *state, struct tdCondensed *cd, int rows, unsigned turns)
{
    int place[2];
    for (int g = 0; g < model->control.n_groups; g++)
    {
        const tdSceneGroup *group = &model->control.groups[g];
        int leader = 0;
        while (leader < group->n - 1 && is_slack(model, g, leader, turns))
            leader++;
        for (int i = leader + 1; i < group->n; i++)
        {
            if (is_slack(model, g, i, turns))
                continue;
            int member[2] = {group->actuators[leader], group->actuators[i]};
            double ratio[2] = {group->ratio[leader], group->ratio[i]}, *C = cd->C + rows * cd->n, constant = 0;
            place[0] = place[1] = -1;
            for (int k = 0; k < cd->n; k++)
                for (int side = 0; side < 2; side++)
                    if (cd->unknown[k] == member[side] && state->constraint->role[member[side]] == TD_ROLE_INVERSE)
                        place[side] = k;
            if (place[0] < 0 || place[1] < 0)
                continue; // one of them is driven
            memset(C, 0, (size_t)cd->n * sizeof *C);
            for (int side = 0; side < 2; side++)
            {
                int k = place[side];
                double factor = (side == 0 ? 1 : -1) / ratio[side];
                bool first = model->actuators[member[side]].held ? !group->effort : group->effort;
                if (first)
                    C[k] += factor;
                else
                {
                    constant += factor * cd->second[k];
                    for (int j = 0; j < cd->n; j++)
                    {
                        C[j] += factor * cd->M[k * cd->n + j];
                        constant -= factor * cd->M[k * cd->n + j] * cd->now[j];
                    }
                }
            }
            cd->cl[rows] = cd->cu[rows] = -constant;
            cd->row_size[rows] = group->effort ? 0 : model->actuators[member[0]].size / fabs(ratio[0]);
            rows++;
        }
    }
    return rows;
}

// Largest excess over the bounds of a row, relative to the size of a displacement, or to the efforts that it adds up.
double td_condense_violation(const struct tdCondensed *cd, int rows)
{
    double most = 0;
    for (int i = 0; i < rows; i++)
    {
        double y = 0, size = cd->row_size[i];
        for (int k = 0; k < cd->n; k++)
        {
            y += cd->C[i * cd->n + k] * cd->next[k];
            size = cd->row_size[i] > 0 ? size : fmax(size, fabs(cd->C[i * cd->n + k] * cd->next[k]));
        }
        double beyond = fmax(cd->cl[i] - y, y - cd->cu[i]);
        if (beyond > 0 && size > 0)
            most = fmax(most, beyond / size);
    }
    return most;
}

// Energy of deformation: efforts and held coordinates do not mix in it.
void td_condense_energy(const tdModel *model, struct tdCondensed *cd)
{
    for (int k = 0; k < cd->n; k++)
        for (int j = 0; j < cd->n; j++)
        {
            bool mixed = model->actuators[cd->unknown[k]].held != model->actuators[cd->unknown[j]].held;
            cd->W[k * cd->n + j] = mixed ? 0 : 0.5 * (cd->M[k * cd->n + j] + cd->M[j * cd->n + k]);
        }
}

static double energy_of(const struct tdCondensed *cd, const double *y, const double *from)
{
    double sum = 0;
    for (int k = 0; k < cd->n; k++)
        for (int j = 0; j < cd->n; j++)
            sum += (y[k] - from[k]) * cd->W[k * cd->n + j] * (y[j] - from[j]);
    return sum;
}

int td_condense_last_level(const struct tdCondensed *cd)
{
    int last = 0;
    for (int i = 0; i < cd->n_e; i++)
        last = cd->level[i] > last ? cd->level[i] : last;
    return last;
}

// Where a target cannot be reached, the least distance may be had only by going to the limits for next to nothing (four
// cables turn an arm about its axis by a hair), and the curvature of the effectors' paths counts as much as their
// slope, which is all that a linearization has: passes may then go to and fro. Rows sqrt(damping W_kk) (y - now)
// shorten them; they vanish as the passes converge. A base that carries the whole body along stores no energy, and its
// W_kk is rounding of either sign. Returns the number of rows.
static int damp(struct tdCondensed *cd, int rows)
{
    double slope = 0, energy = 0;
    // Beside contact by what efforts move without it: forces of contact have slopes of another size.
    bool touched = cd->context.state->joined;
    const double *E = touched ? cd->E_free : cd->E;
    for (int i = 0; i < (touched ? cd->n_e : rows) * cd->n; i++)
        slope += E[i] * E[i];
    for (int k = 0; k < cd->n; k++)
        energy += fmax(cd->W[k * cd->n + k], 0);
    for (int k = 0; k < cd->n; k++, rows++)
    {
        double weight = energy > 0 ? sqrt(cd->damping * slope / energy * fmax(cd->W[k * cd->n + k], 0)) : 0;
        memset(cd->E + rows * cd->n, 0, (size_t)cd->n * sizeof *cd->E);
        cd->E[rows * cd->n + k] = weight;
        cd->level[rows] = td_condense_last_level(cd);
        cd->e0[rows] = -weight * cd->now[k];
    }
    return rows;
}

// More damping when the last passes did not get shorter.
static void adapt_damping(struct tdCondensed *cd, bool out_of_reach)
{
    double move = sqrt(fmax(energy_of(cd, cd->next, cd->now), 0));
    if (cd->passes++ >= 3 && out_of_reach && move > 0.6 * cd->move)
        cd->damping *= 4;
    cd->move = move;
}

static void predict_errors(const tdModel *model, const tdState *state, struct tdCondensed *cd)
{
    int n = 0;
    for (int e = 0; e < model->n_effectors; e++)
        for (int r = 0; r < model->effectors[e].measure.rows && !isnan(state->constraint->target[3 * e]); r++)
        {
            if (model->effectors[e].measure.rows == 3 && !(model->effectors[e].given->axes & 1 << r))
                continue;
            double sum = cd->e0[n];
            for (int k = 0; k < cd->n; k++)
                sum += cd->E[n * cd->n + k] * cd->next[k];
            cd->predicted_error[3 * e + r] = sum / td_condense_weight(model, &model->effectors[e]);
            n++;
        }
}

// Whether some effector stays farther from its target than the tolerance: a length, and of other kinds the same share
// of their size. Weights and units of the others have no say in that.
bool td_condense_misses(const tdModel *model, const tdState *state, const struct tdCondensed *cd, double tolerance)
{
    for (int e = 0; e < model->n_effectors; e++)
    {
        const tdEffector *effector = &model->effectors[e];
        double sum = 0;
        for (int r = 0; r < effector->measure.rows && !isnan(state->constraint->target[3 * e]); r++)
            if (effector->measure.rows == 1 || effector->given->axes & 1 << r)
                sum += cd->predicted_error[3 * e + r] * cd->predicted_error[3 * e + r];
        if (!(sqrt(sum) <= tolerance * td_effector_size(model, effector) / model->size))
            return true;
    }
    return false;
}

// ---------------------------------------------------------------- tries

enum
{
    TURNS, // which way each antagonistic motor turns: all are tried, the nearest wins, and of equals the least energy
    FOUND, // with the best turns
    DAMPED // a target is out of reach: what a change of y costs counts too
};

// Beside contact: no farther than slopes are trusted; limits of forces; contacts that stay as they are.
static int add_touch(struct tdCondensed *cd, int rows)
{
    int n = cd->n;
    for (int k = 0; k < n && isfinite(cd->reach); k++)
        if (cd->size[k] > 0 && cd->xl[k] < cd->xu[k])
        {
            // A limit that is broken already is met as far as may be.
            cd->xl[k] =
                fmin(fmax(cd->xl[k], cd->now[k] - cd->reach / cd->size[k]), cd->now[k] + cd->reach / cd->size[k]);
            cd->xu[k] =
                fmax(fmin(cd->xu[k], cd->now[k] + cd->reach / cd->size[k]), cd->now[k] - cd->reach / cd->size[k]);
        }
    for (int i = 0; i < cd->n_forces + cd->n_kept; i++, rows++)
    {
        bool force = i < cd->n_forces;
        const double *row = force ? cd->force_row + i * n : cd->kept + (i - cd->n_forces) * n;
        memcpy(cd->C + rows * n, row, (size_t)n * sizeof *row);
        cd->cl[rows] = force ? cd->force_low[i] : cd->kept_low[i - cd->n_forces];
        cd->cu[rows] = force ? cd->force_high[i] : INFINITY;
        cd->row_size[rows] = force ? 1 : 0;
    }
    return rows;
}

// Bounds and groups for motors that turn so.
static void set_turns(struct tdCondensed *cd, unsigned turns)
{
    const tdModel *model = cd->context.model;
    const double *xl = cd->scratch, *xu = xl + cd->n; // without turns
    memcpy(cd->xl, xl, (size_t)cd->n * sizeof *xl);
    memcpy(cd->xu, xu, (size_t)cd->n * sizeof *xu);
    if (td_condense_antagonists(model) > 0)
        slacken(model, cd, turns);
    cd->inverse.n_c = make_groups(model, cd->context.state, cd, cd->n_limits, turns);
    if (cd->context.state->joined)
        cd->inverse.n_c = add_touch(cd, cd->inverse.n_c);
}

// The next try begins at the present y.
static void begin(struct tdCondensed *cd, int phase, bool warm)
{
    cd->phase = phase;
    cd->context.state->problem->scalar.warm = warm;
    if (phase != TURNS)
        memcpy(cd->next, cd->now, (size_t)cd->n * sizeof *cd->next);
}

static void judge_turns(struct tdCondensed *cd, double residual)
{
    double energy = 0, tolerance = cd->inverse.tolerance;
    for (int k = 0; k < cd->n; k++)
        for (int j = 0; j < cd->n; j++)
            energy += cd->next[k] * cd->W[k * cd->n + j] * cd->next[j];
    bool nearer = residual < cd->best_residual - tolerance;
    if (!nearer && (residual >= cd->best_residual + tolerance || energy >= cd->best_energy))
        return;
    cd->best = cd->turns;
    cd->best_residual = residual;
    cd->best_energy = energy;
}

static bool try_again(void *context, tdProblem *problem, const tdSolveResult *unused)
{
    struct tdCondensed *cd = context;
    const tdModel *model = cd->context.model;
    tdState *state = cd->context.state;
    tdReport *report = &state->report;
    const tdInverseResult *result = &problem->scalar.result;
    (void)unused;
    report->inverse_iterations += result->iterations;
    if (cd->phase == TURNS)
    {
        judge_turns(cd, result->residual);
        bool all = ++cd->turns == 1u << td_condense_antagonists(model);
        set_turns(cd, all ? cd->best : cd->turns);
        begin(cd, all ? FOUND : TURNS, all && cd->warm);
        return true;
    }
    if (cd->phase == FOUND)
    {
        predict_errors(model, state, cd);
        report->out_of_reach = td_condense_misses(model, state, cd, cd->inverse.tolerance);
        report->inverse_residual = result->residual;
        report->inverse_optimality = result->stationarity;
        if (!report->out_of_reach)
            return false;
        cd->inverse.n_e = damp(cd, cd->inverse.n_e);
        begin(cd, DAMPED, true);
        return true;
    }
    report->inverse_optimality = fmax(report->inverse_optimality, result->stationarity);
    return false;
}

// The problem's numbers stand in cd; settings of the scene.
void td_condense_open(const tdModel *model, tdState *state, struct tdCondensed *cd)
{
    const tdSceneControl *control = &model->control;
    cd->inverse = (tdInverse){.n_a = cd->n,
                              .n_e = cd->n_e,
                              .E = cd->E,
                              .e0 = cd->e0,
                              .W = cd->W,
                              .xl = cd->xl,
                              .xu = cd->xu,
                              .C = cd->C,
                              .cl = cd->cl,
                              .cu = cd->cu,
                              .level = cd->level,
                              .energy = control->energy,
                              .solver = control->solver,
                              .epsilon = control->epsilon,
                              .max_iterations = control->max_iterations,
                              .tolerance = control->tolerance > 0 ? control->tolerance : 1e-6 * model->size};
    cd->context = (struct tdCondensedContext){model, state};
    cd->clock = td_seconds();
}

// Limits, and the first of its tries.
void td_condense_limits(const tdModel *model, const tdState *state, struct tdCondensed *cd)
{
    cd->n_limits = make_limits(model, state, cd);
    cd->inverse.n_e = cd->n_e;
    cd->turns = cd->best = 0;
    cd->best_residual = cd->best_energy = INFINITY;
    memcpy(cd->scratch, cd->xl, (size_t)cd->n * sizeof *cd->xl);
    memcpy(cd->scratch + cd->n, cd->xu, (size_t)cd->n * sizeof *cd->xu);
    set_turns(cd, 0);
}

static void first_try(const tdModel *model, tdState *state, struct tdCondensed *cd)
{
    tdProblem *problem = state->problem;
    problem->scalar.work = cd->work;
    problem->scalar.result = (tdInverseResult){.x = cd->next, .active = cd->inverse_active};
    bool motors = td_condense_antagonists(model) > 0;
    begin(cd, motors ? TURNS : FOUND, !motors && cd->warm);
}

void td_condense_inverse(const tdModel *model, tdState *state, struct tdCondensed *cd, const double *way)
{
    tdProblem *problem = state->problem;
    cd->n_e = td_condense_effectors(model, state, cd, way);
    td_condense_open(model, state, cd);
    td_condense_limits(model, state, cd);
    td_condense_energy(model, cd);
    problem->scalar.inverse = &cd->inverse;
    problem->again = try_again;
    problem->context = cd;
    first_try(model, state, cd);
}

void td_condense_choose(tdState *state, struct tdCondensed *cd, int same)
{
    tdProblem *problem = state->problem;
    tdScalarRows *scalar = &problem->scalar;
    const tdSolveResult none = {0};
    cd->inverse.n_e = cd->n_e + cd->n_blocked;
    cd->turns = cd->best = 0;
    cd->best_residual = cd->best_energy = INFINITY;
    set_turns(cd, 0);
    int limits = cd->inverse.n_c - cd->n_kept, since = limits == cd->n_chosen ? limits + same : 0;
    memset(cd->inverse_active + cd->n + since, 0, (size_t)(cd->inverse.n_c - since) * sizeof *cd->inverse_active);
    cd->n_chosen = limits;
    cd->warm = true;
    first_try(cd->context.model, state, cd);
    do
        td_inverse_solve(&cd->inverse, scalar->work, scalar->warm, &scalar->result);
    while (try_again(cd, problem, &none));
}

// Without contact the problem is convex: what has no better neighbour is the best.
static tdInverseEnd end_of(const tdInverseResult *result)
{
    return result->status == TD_QP_INFEASIBLE   ? TD_INVERSE_INFEASIBLE
           : result->status == TD_QP_ITERATIONS ? TD_INVERSE_STALLED
                                                : TD_INVERSE_OPTIMAL;
}

void td_condense_inverse_take(tdState *state, struct tdCondensed *cd)
{
    const tdModel *model = cd->context.model;
    const tdInverseResult *result = &state->problem->scalar.result;
    tdReport *report = &state->report;
    report->inverse_seconds += td_seconds() - cd->clock;
    report->inverse = true;
    report->inverse_limit = result->status == TD_QP_ITERATIONS;
    report->inverse_end = end_of(result);
    report->bound_violation = result->violation > 0 ? td_condense_violation(cd, cd->inverse.n_c) : result->violation;
    report->active_bounds = 0;
    for (int k = 0; k < cd->n + cd->inverse.n_c; k++)
        report->active_bounds += result->active[k] != 0;
    cd->warm = true;
    adapt_damping(cd, report->out_of_reach);
    predict_errors(model, state, cd);
}
