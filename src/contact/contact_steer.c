// SPDX-License-Identifier: Apache-2.0
// Inverse control beside contact: what the search for efforts (solve/steer.h) has to know of bodies and of contacts.
//
// Blocks get the columns by which efforts move them, X, and those by which impulses on them move effectors and
// actuators, Q = A^-1 J'. Both are columns of the condensed problem, taken where velocities of a block are: at
// coordinates that take part, along scalar rows, along nodes that efforts move.
#include "contact/contact.h"

#include "constraint/condense.h"
#include "constraint/constraint.h"
#include "core/state.h"

#include "base/lapack.h"

#include <math.h>
#include <string.h>

#define STEPS  32 // in a region of trust
#define STARTS 2  // of the search by pieces: control goes on from where it is, and jumps are no virtue
#define PASSES                                                                                                         \
    10 // of Newton's method in which efforts are looked for beside contacts, which may switch; then they stay
#define KEPT_DEPTH 1e-6 // of the model's size: a contact that is kept closed is pressed in by this much
#define SLACK      1e-3 // of the friction that is left, that a contact which sticks keeps
#define ROUNDS     4    // of rows that keep contacts, each for those that the last ones made switch
#define SLOW       0.3  // of the error: where contacts that stay as they are allow less, others are looked at
#define CLEARLY    4    // times that gain, which is reason enough to switch them

// ---------------------------------------------------------------- columns of blocks

// A vector over all coordinates, s or 1 times A^-1 of a load, as a column of the block of a body.
static void restrict_column(const tdModel *model, const tdState *state, const tdBody *body, const double *full,
                            double factor, double *out)
{
    const tdContactBody *mine = &state->contact->bodies[body->index];
    for (int32_t j = 0; j < mine->n_scalar; j++)
        out[j] = factor * td_contact_dot_row(model, state, mine->scalar[j], body, full);
    for (int32_t j = 0; j < mine->n_moved; j++)
        out[mine->n_scalar + j] = 0;
    double *part = out + mine->n_scalar + mine->n_moved;
    for (int32_t i = 0; i < mine->part.n; i++)
    {
        int64_t coord = td_block_coord(&mine->part, i);
        part[i] = coord < 0 ? 0 : factor * full[body->first + coord];
    }
}

// Velocities of nodes that efforts move: M^-1 of what drives them.
static void solve_moved(const tdContactBody *mine, const tdSapBlock *block, const double *L, double *x)
{
    int n = mine->n_moved, one = 1, info = 0, stride = block->stride;
    if (n > 0 && L != NULL)
        dpotrs_("L", &n, &one, L + mine->n_scalar + (int64_t)mine->n_scalar * stride, &stride, x + mine->n_scalar, &n,
                &info, 1);
}

// dv*/dy of unknown k. What nodes that efforts move are held by depends on y too. Where y itself moves nodes, it is a
// velocity of the block that takes the rest along; what takes part is counted from there.
static void effort_column(const tdModel *model, const tdState *state, const tdBody *body, int k, double *out)
{
    const struct tdCondensed *cd = state->constraint->condensed;
    const tdContactBody *mine = &state->contact->bodies[body->index];
    const tdProblem *problem = state->contact->problem;
    const tdSapBlock *block = &problem->blocks[mine->block];
    memset(out, 0, (size_t)block->n * sizeof *out);
    if (state->constraint->role[cd->unknown[k]] != TD_ROLE_INVERSE)
        return; // a velocity of the problem
    if (!model->actuators[cd->unknown[k]].held)
        restrict_column(model, state, body, cd->X + k * model->coords, 1, out);
    for (int32_t j = 0; j < mine->n_moved; j++)
        out[mine->n_scalar + j] =
            td_contact_is_led(state, mine, j) ? 0 : -model->scheme.s * cd->M_free[mine->moved[j] * cd->n + k];
    solve_moved(mine, block, problem->factors[mine->block], out);
    for (int32_t j = 0; j < mine->n_moved; j++)
        if (mine->moved[j] == k)
            out[mine->n_scalar + j] = td_condense_per_step(model);
}

// What impulses do to the effort of nodes that unknown k moves: they push along its motion, as they push on nodes that
// efforts move, which push on it through the body.
static void led_column(const tdModel *model, const tdState *state, const tdBody *body, int k, double *out)
{
    const struct tdCondensed *cd = state->constraint->condensed;
    const tdContactBody *mine = &state->contact->bodies[body->index];
    const tdProblem *problem = state->contact->problem;
    const tdSapBlock *block = &problem->blocks[mine->block];
    memset(out, 0, (size_t)block->n * sizeof *out);
    for (int32_t j = 0; j < mine->n_moved; j++)
        out[mine->n_scalar + j] = td_contact_is_led(state, mine, j)
                                      ? 0
                                      : cd->M_free[k * cd->n + mine->moved[j]] / td_condense_per_step(model);
    solve_moved(mine, block, problem->factors[mine->block], out);
    for (int32_t j = 0; j < mine->n_moved; j++)
        if (mine->moved[j] == k)
            out[mine->n_scalar + j] = -1 / model->scheme.s;
}

// What impulses on the block do to row i of those that are read, times `factor`.
static void read_column(const tdModel *model, const tdState *state, const tdBody *body, int i, double factor,
                        double *out)
{
    const struct tdCondensed *cd = state->constraint->condensed;
    const tdContactBody *mine = &state->contact->bodies[body->index];
    const tdProblem *problem = state->contact->problem;
    restrict_column(model, state, body, cd->Y + i * model->coords, factor, out);
    for (int32_t j = 0; j < mine->n_moved; j++)
    {
        const double *motion = td_contact_motion(model, state, mine, j);
        out[mine->n_scalar + j] =
            td_contact_is_led(state, mine, j)
                ? 0 // impulses do not move them
                : factor * td_row_dot(model, state->constraint->J, cd->read[i], motion) / td_condense_per_step(model);
    }
    solve_moved(mine, &problem->blocks[mine->block], problem->factors[mine->block], out);
}

// Rows that are read, in the order of steer.h: effectors, then displacements of unknowns.
static void fill_reading(const tdModel *model, const tdState *state, const tdBody *body, int64_t n, double *Q)
{
    const struct tdCondensed *cd = state->constraint->condensed;
    const tdConstraintState *cs = state->constraint;
    double c = model->scheme.c;
    int row = 0, rubs = cd->n_e;
    for (int e = 0; e < model->n_effectors; e++)
        for (int r = 0; r < model->effectors[e].measure.rows && !isnan(cs->target[3 * e]); r++)
            if (model->effectors[e].measure.rows == 1 || model->effectors[e].given->axes & 1 << r)
            {
                read_column(model, state, body, row, c * td_condense_weight(model, &model->effectors[e]), Q + row * n);
                row++;
            }
    for (int k = 0; k < cd->n; k++, row++)
    {
        const tdActuator *actuator = &model->actuators[cd->unknown[k]];
        memset(Q + row * n, 0, (size_t)n * sizeof *Q);
        if (cs->role[cd->unknown[k]] != TD_ROLE_INVERSE)
            continue;
        if (actuator->held)
            led_column(model, state, body, k, Q + row * n);
        else if (actuator->given->friction > 0)
            read_column(model, state, body, rubs++, c, Q + row * n);
        else // X = s A^-1 J'
        {
            effort_column(model, state, body, k, Q + row * n);
            for (int64_t i = 0; i < n; i++)
                Q[row * n + i] *= c / model->scheme.s;
        }
    }
}

static tdStatus make_columns(const tdModel *model, tdState *state, tdSteer *steer)
{
    tdContactState *cs = state->contact;
    tdProblem *problem = cs->problem;
    tdStack *stack = &problem->entries;
    const double **X = td_stack_take(stack, problem->n_blocks, sizeof *X);
    const double **Q = td_stack_take(stack, problem->n_blocks, sizeof *Q);
    if (X == NULL || Q == NULL)
        return td_fail_memory(&state->report.error, "inverse control beside contact");
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        if (cs->bodies[b].block < 0)
            continue;
        int64_t n = problem->blocks[cs->bodies[b].block].n;
        double *x = td_stack_take(stack, n * steer->n, sizeof *x), *q = td_stack_take(stack, n * steer->n_z, sizeof *q);
        if (x == NULL || q == NULL)
            return td_fail_memory(&state->report.error, "inverse control beside contact");
        for (int k = 0; k < steer->n; k++)
            effort_column(model, state, body, k, x + k * n);
        fill_reading(model, state, body, n, q);
        X[cs->bodies[b].block] = x;
        Q[cs->bodies[b].block] = q;
    }
    steer->X = X;
    steer->Q = Q;
    return TD_OK;
}

// ---------------------------------------------------------------- contacts as they are

static double along(const double *row, const double *d, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += row[k] * d[k];
    return sum;
}

// Adds the row a . y >= low, if there is room.
static void keep(struct tdCondensed *cd, const double *a, double now, double least)
{
    if (cd->n_kept == TD_MOST_KEPT)
        return;
    double *row = cd->kept + (int64_t)cd->n_kept * cd->n;
    memcpy(row, a, (size_t)cd->n * sizeof *row);
    cd->kept_low[cd->n_kept++] = least - now + along(a, cd->now, cd->n);
}

// A contact that would slide if it went on as it does.
static void keep_stuck(struct tdCondensed *cd, const tdSapLaw *law, const double *gamma, const double *slope,
                       const double *d, double *row)
{
    int n = cd->n;
    double t[2] = {gamma[0] + along(slope, d, n), gamma[1] + along(slope + n, d, n)};
    double normal = gamma[2] + along(slope + 2 * (int64_t)n, d, n), length = hypot(t[0], t[1]);
    double left = law->mu * gamma[2] - hypot(gamma[0], gamma[1]);
    if (!(left > 1e-9 * law->mu * gamma[2]) || length <= law->mu * normal || length == 0)
        return;
    for (int k = 0; k < n; k++)
        row[k] = law->mu * slope[2 * n + k] - (t[0] * slope[k] + t[1] * slope[n + k]) / length;
    keep(cd, row, law->mu * gamma[2] - (t[0] * gamma[0] + t[1] * gamma[1]) / length, SLACK * left);
}

// Rows for contacts that open, close or begin to slide on the way to cd->next. Returns how many there are now.
static int keep_contacts(const tdModel *model, tdState *state, const tdSteer *steer)
{
    struct tdCondensed *cd = state->constraint->condensed;
    const tdProblem *problem = state->contact->problem;
    int n = cd->n;
    double *d = state->contact->direction, *row = d + n, depth = KEPT_DEPTH * model->size;
    for (int k = 0; k < n; k++)
        d[k] = cd->next[k] - cd->now[k];
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        int64_t at = TD_SAP_ROWS * (int64_t)c;
        const tdSapLaw *law = &problem->constraints[c].law;
        const double *gamma = problem->gamma + at, *slope = steer->dgamma + at * n;
        const double *normal = slope + 2 * (int64_t)n, *opens = steer->dv_c + (at + 2) * n;
        if (problem->owner[c].kind != TD_OWNER_CONTACT)
            continue;
        double least = fmin(gamma[2], depth / (model->scheme.c * law->R[2])),
               open = problem->v_c[at + 2] - law->v_hat[2];
        if (gamma[2] > 0 && gamma[2] + along(normal, d, n) < 0.999 * least)
            keep(cd, normal, gamma[2], least);
        else if (gamma[2] > 0 && law->mu > 0)
            keep_stuck(cd, law, gamma, slope, d, row);
        else if (gamma[2] <= 0 && open + along(opens, d, n) < -1e-9 * fabs(open))
            keep(cd, opens, open, fmin(open, 0));
    }
    return cd->n_kept;
}

// ---------------------------------------------------------------- what the search asks

static tdSteerPlace measure(void *context)
{
    const struct tdContactLoads *loads = context;
    const tdModel *model = loads->model;
    tdState *state = loads->state;
    const tdSteer *steer = &state->contact->problem->steer;
    struct tdCondensed *cd = state->constraint->condensed;
    td_contact_read(model, state, steer);
    cd->n_kept = 0;
    cd->reach = INFINITY;
    tdSteerPlace place = {
        .error = td_condense_touch_base(model, state, steer->y, steer->push, NULL, state->contact->readings)};
    place.violation = td_condense_violation(cd, cd->inverse.n_c);
    return place;
}

static double region_length(const struct tdCondensed *cd)
{
    double length = 0, size = 0;
    for (int k = 0; k < cd->n; k++)
    {
        length = fmax(length, cd->size[k] * fabs(cd->next[k] - cd->now[k]));
        size = fmax(size, cd->size[k] * fmax(fabs(cd->next[k]), fabs(cd->now[k])));
    }
    return length <= 1e-9 * size ? 0 : length;
}

static double gain_of(const struct tdCondensed *cd, double error)
{
    double said = td_condense_touch_said(cd, false);
    return sqrt(fmax((error - said) * (error + said), 0));
}

// Contacts that would open on the way that efforts take without contact lose their impulses. Those that press do not
// let effectors move, and slopes have no reason to open them. False: there are none.
static bool list_opening(tdState *state, tdSteer *steer)
{
    const struct tdCondensed *cd = state->constraint->condensed;
    const tdProblem *problem = state->contact->problem;
    int n = cd->n;
    double *d = state->contact->direction;
    bool any = false;
    for (int k = 0; k < n; k++)
        d[k] = cd->next[k] - cd->now[k];
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        int64_t at = TD_SAP_ROWS * (int64_t)c;
        const double *gamma = problem->gamma + at;
        bool opens = problem->owner[c].kind == TD_OWNER_CONTACT && gamma[2] > 0 &&
                     gamma[2] + along(steer->dgamma + (at + 2) * n, d, n) < 0;
        for (int r = 0; r < TD_SAP_ROWS; r++)
            steer->change[at + r] = opens ? -gamma[r] : NAN;
        any = any || opens;
    }
    return any;
}

// Steps on which contacts switch, best first.
typedef struct Ways
{
    int n;
    double gain[3];
    double *y[3];
} Ways;

static void add_way(const struct tdCondensed *cd, Ways *ways, const tdSteer *steer, double error, double gain)
{
    int at = ways->n;
    double *y = ways->y[at];
    if (td_steer_is_little(gain, error, steer->tolerance))
        return;
    memcpy(y, cd->next, (size_t)cd->n * sizeof *y);
    for (; at > 0 && ways->gain[at - 1] < gain; at--)
    {
        ways->gain[at] = ways->gain[at - 1];
        ways->y[at] = ways->y[at - 1];
    }
    ways->gain[at] = gain;
    ways->y[at] = y;
    ways->n++;
}

// A step with impulses that change as steer->change says.
static void add_release(const tdModel *model, tdState *state, double error, Ways *ways)
{
    tdContactState *cs = state->contact;
    const tdSteer *steer = &cs->problem->steer;
    struct tdCondensed *cd = state->constraint->condensed;
    int n = cd->n;
    tdStackMark mark = td_stack_mark(&cs->problem->entries);
    double *push = td_stack_take(&cs->problem->entries, steer->n_z, sizeof *push);
    double *dpush = td_stack_take(&cs->problem->entries, (int64_t)steer->n_z * n, sizeof *dpush);
    if (push != NULL && dpush != NULL && td_steer_release(cs->problem))
    {
        for (int z = 0; z < steer->n_z; z++)
        {
            push[z] = steer->push[z] + steer->released[z * (n + 1) + n];
            memcpy(dpush + z * n, steer->released + z * (n + 1), (size_t)n * sizeof *dpush);
        }
        td_condense_touch_base(model, state, steer->y, push, dpush, cs->readings);
        td_condense_unblock(cd, false);
        td_condense_choose(state, cd, 0);
        add_way(cd, ways, steer, error, gain_of(cd, error));
    }
    td_stack_release(&cs->problem->entries, mark);
}

// With the contacts open that would open on the way that efforts take without contact; and with all of them.
static void add_releases(const tdModel *model, tdState *state, double error, Ways *ways)
{
    tdContactState *cs = state->contact;
    const tdProblem *problem = cs->problem;
    tdSteer *steer = &cs->problem->steer;
    struct tdCondensed *cd = state->constraint->condensed;
    bool more = false;
    cd->n_kept = 0;
    td_condense_touch_free(cd);
    td_condense_choose(state, cd, 0);
    if (!list_opening(state, steer))
        return;
    add_release(model, state, error, ways);
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        int64_t at = TD_SAP_ROWS * (int64_t)c;
        bool bears = problem->owner[c].kind == TD_OWNER_CONTACT && problem->gamma[at + 2] > 0;
        more = more || (bears && isnan(steer->change[at + 2]));
        for (int r = 0; r < TD_SAP_ROWS; r++)
            steer->change[at + r] = bears ? -problem->gamma[at + r] : NAN;
    }
    if (more)
        add_release(model, state, error, ways);
}

// Nothing is to be gained: what presses without moving effectors may press less, as far as contacts stay as they are.
static void slacken(const tdModel *model, tdState *state, double reach, double *next, tdSteerStep *step)
{
    tdContactState *cs = state->contact;
    const tdSteer *steer = &cs->problem->steer;
    struct tdCondensed *cd = state->constraint->condensed;
    cd->n_kept = 0;
    cd->reach = reach;
    td_condense_touch_base(model, state, steer->y, steer->push, steer->dpush, cs->readings);
    td_condense_unblock(cd, true);
    td_condense_choose(state, cd, 0);
    for (int round = 0, before = 0; round < ROUNDS && keep_contacts(model, state, steer) > before; round++)
    {
        td_condense_choose(state, cd, before);
        before = cd->n_kept;
    }
    if (cs->problem->scalar.result.status != TD_QP_OPTIMAL)
        return;
    memcpy(next, cd->next, (size_t)cd->n * sizeof *next);
    step->error = td_condense_touch_said(cd, true);
}

// Slopes hold as long as contacts stay as they are: what can be gained so comes first. Then a target may be a reason
// for a contact to open, close or slide; less energy is none.
static tdSteerStep propose(void *context, double reach, double leap, double *next)
{
    const struct tdContactLoads *loads = context;
    const tdModel *model = loads->model;
    tdState *state = loads->state;
    tdContactState *cs = state->contact;
    const tdSteer *steer = &cs->problem->steer;
    const tdInverseResult *result = &cs->problem->scalar.result;
    struct tdCondensed *cd = state->constraint->condensed;
    int n = cd->n;
    double *kept = cs->direction + 2 * n;
    Ways ways = {.y = {kept + n, kept + 2 * n, kept + 3 * n}};
    td_contact_read(model, state, steer);
    cd->n_kept = 0;
    cd->reach = reach;
    double error = td_condense_touch_base(model, state, steer->y, steer->push, steer->dpush, cs->readings);
    td_condense_unblock(cd, false);
    td_condense_choose(state, cd, 0);
    bool infeasible = result->status == TD_QP_INFEASIBLE;
    add_way(cd, &ways, steer, error, gain_of(cd, error));
    for (int round = 0, before = 0; round < ROUNDS && keep_contacts(model, state, steer) > before; round++)
    {
        td_condense_choose(state, cd, before);
        before = cd->n_kept;
    }
    bool breaks = cd->n_kept > 0 && !infeasible && result->status == TD_QP_INFEASIBLE;
    tdSteerStep step = {
        .gain = gain_of(cd, error), .error = td_condense_touch_said(cd, true), .infeasible = infeasible};
    memcpy(kept, cd->next, (size_t)n * sizeof *kept);
    if (!infeasible && td_steer_is_vain(&step, error))
        step.gain = 0;
    bool little = breaks || td_steer_is_little(step.gain, error, steer->tolerance);
    if (little || (!infeasible && step.gain < SLOW * error))
    {
        bool switches = cd->n_kept > 0; // else the step without conditions is the same
        cd->reach = leap;
        cd->n_kept = 0;
        ways.n = switches ? ways.n : 0;
        if (switches && leap != reach)
        {
            ways.n = 0;
            td_condense_choose(state, cd, 0);
            add_way(cd, &ways, steer, error, gain_of(cd, error));
        }
        add_releases(model, state, error, &ways);
        if (!little && (steer->failed >= ways.n || ways.gain[steer->failed] < CLEARLY * step.gain))
            ways.n = 0;
        step.ways = ways.n;
    }
    if (step.ways > 0)
        step.gain = ways.gain[steer->failed % step.ways];
    else if (td_steer_is_little(step.gain, error, steer->tolerance))
        slacken(model, state, reach, kept, &step);
    memcpy(cd->next, step.ways > 0 ? ways.y[steer->failed % step.ways] : kept, (size_t)n * sizeof *kept);
    memcpy(next, cd->next, (size_t)n * sizeof *next);
    step.length = region_length(cd);
    return step;
}

// Of one piece of the motion, with the rows that the search asks for.
static tdSteerStep choose(void *context, double reach, bool slack, double *next)
{
    const struct tdContactLoads *loads = context;
    const tdModel *model = loads->model;
    tdState *state = loads->state;
    tdContactState *cs = state->contact;
    const tdSteer *steer = &cs->problem->steer;
    struct tdCondensed *cd = state->constraint->condensed;
    td_contact_read(model, state, steer);
    cd->reach = reach;
    cd->n_kept = steer->n_kept;
    memcpy(cd->kept, steer->kept, (size_t)(steer->n_kept * cd->n) * sizeof *cd->kept);
    memcpy(cd->kept_low, steer->kept_low, (size_t)steer->n_kept * sizeof *cd->kept_low);
    td_condense_touch_base(model, state, steer->y, steer->push, steer->dpush, cs->readings);
    td_condense_unblock(cd, slack);
    cd->inverse.reach_only = steer->gain_only;
    cd->inverse.or_nothing = steer->or_nothing;
    cd->inverse.near = true;
    td_condense_choose(state, cd, 0);
    cd->inverse.reach_only = cd->inverse.or_nothing = cd->inverse.near = false;
    memcpy(next, cd->next, (size_t)cd->n * sizeof *next);
    return (tdSteerStep){.gain = gain_of(cd, steer->place.error),
                         .error = td_condense_touch_said(cd, true),
                         .infeasible = cs->problem->scalar.result.status == TD_QP_INFEASIBLE,
                         .length = region_length(cd)};
}

tdStatus td_contact_steer(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    struct tdCondensed *cd = state->constraint->condensed;
    tdSteer *steer = &cs->problem->steer;
    bool any = false;
    for (int k = 0; cd != NULL && state->constraint->inverse && k < cd->n; k++)
        any = any || state->constraint->role[cd->unknown[k]] == TD_ROLE_INVERSE;
    if (!any)
        return TD_OK;
    *steer = (tdSteer){.n = cd->n,
                       .n_z = cd->n_e + cd->n,
                       .tolerance = cd->inverse.tolerance,
                       .most = cd->passes < PASSES || state->contact->n == 0 ? STEPS : 0,
                       .context = &cs->loads,
                       .restart = td_contact_restart,
                       .measure = measure,
                       .propose = propose,
                       .exact = model->contact_solver == TD_CONTACT_NLCP,
                       .starts = STARTS,
                       .choose = choose};
    steer->y = td_stack_take(&cs->problem->entries, cd->n, sizeof *steer->y);
    if (steer->y == NULL)
        return td_fail_memory(&state->report.error, "inverse control beside contact");
    memcpy(steer->y, cd->now, (size_t)cd->n * sizeof *steer->y);
    // Bits depend on nothing but the state: choices begin with working sets of this step alone.
    memset(cd->inverse_active, 0, (size_t)cd->n * sizeof *cd->inverse_active);
    cd->n_chosen = -1;
    return make_columns(model, state, steer);
}

// ---------------------------------------------------------------- the solution

// The contact that does most against the way that efforts would take if nothing were touched, by what it bears already
// and what it would bear more.
static int32_t most_blocking(tdState *state, const tdSteer *steer)
{
    const struct tdCondensed *cd = state->constraint->condensed;
    const tdProblem *problem = state->contact->problem;
    int n = cd->n;
    const double *d = state->contact->direction;
    double worst = 0;
    int32_t found = -1;
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        double against = 0;
        if (problem->owner[c].kind != TD_OWNER_CONTACT)
            continue;
        for (int r = 0; r < TD_SAP_ROWS; r++)
        {
            int64_t at = TD_SAP_ROWS * (int64_t)c + r;
            double impulse = problem->gamma[at] + along(steer->dgamma + at * n, d, n);
            for (int i = 0; i < cd->n_e && impulse != 0; i++)
                against += cd->error[i] * steer->W[i * steer->n_rows + at] * impulse;
        }
        if (against > worst)
        {
            worst = against;
            found = c;
        }
    }
    return found;
}

#define BLOCKS 0.005 // of the error, or of the size where that is less: by so much it would be less without contact

// Whether the same step without contact would come nearer, although it begins where contact has led so far; and which
// contact is in the way.
static void report_block(const tdModel *model, tdState *state, const tdSteer *steer)
{
    tdContactState *cs = state->contact;
    struct tdCondensed *cd = state->constraint->condensed;
    tdReport *report = &state->report;
    tdStackMark mark = td_stack_mark(&cs->problem->entries);
    double *none = td_stack_take(&cs->problem->entries, steer->n_z + 1, sizeof *none);
    double said = INFINITY;
    cd->n_kept = 0;
    cd->reach = INFINITY;
    if (none != NULL)
    {
        memset(none, 0, (size_t)steer->n_z * sizeof *none);
        td_condense_touch_base(model, state, steer->y, none, NULL, cs->readings);
        td_condense_choose(state, cd, 0);
        said = td_condense_touch_said(cd, false);
        for (int k = 0; k < cd->n; k++)
            cs->direction[k] = cd->next[k] - cd->now[k];
    }
    td_stack_release(&cs->problem->entries, mark);
    if (!(steer->place.error - said > fmax(steer->tolerance, BLOCKS * fmin(steer->place.error, model->size))))
        return;
    td_condense_touch_base(model, state, steer->y, steer->push, steer->dpush, cs->readings);
    int32_t c = most_blocking(state, steer);
    if (c < 0)
        return;
    const tdContact *contact = &cs->contacts[cs->problem->owner[c].index];
    report->contact_blocks = true;
    report->blocking_body[0] = model->contact->colliders[contact->a.collider].body;
    report->blocking_body[1] = model->contact->colliders[contact->b.collider].body;
    memcpy(report->blocking_point, contact->position, sizeof report->blocking_point);
}

void td_contact_steer_take(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    const tdSteer *steer = &cs->problem->steer;
    const struct tdCondensed *cd = state->constraint->condensed;
    static const tdInverseEnd ends[] = {[TD_STEER_OPTIMAL] = TD_INVERSE_OPTIMAL,
                                        [TD_STEER_STATIONARY] = TD_INVERSE_STATIONARY,
                                        [TD_STEER_STALLED] = TD_INVERSE_STALLED,
                                        [TD_STEER_INFEASIBLE] = TD_INVERSE_INFEASIBLE};
    tdReport *report = &state->report;
    report->contact_blocks = false;
    if (steer->place.error > steer->tolerance)
        report_block(model, state, steer);
    tdSteerPlace place = measure(&cs->loads); // errors, and rows of limits, of the solution
    report->inverse_end = ends[steer->end];
    report->inverse_steps += steer->steps;
    report->inverse_optimality = 0;
    report->inverse_limit = steer->end == TD_STEER_STALLED;
    report->bound_violation = place.violation;
    report->active_bounds = 0;
    for (int k = 0; k < cd->n; k++)
    {
        const tdConstraintState *rows = state->constraint;
        bool held = model->actuators[cd->unknown[k]].held;
        const double *limit = (held ? rows->travel_limit : rows->effort_limit) + 2 * cd->unknown[k];
        report->active_bounds += td_bound_of(limit, steer->y[k], fabs(steer->y[k])) != 0;
    }
    td_condense_touch_take(model, state, steer->y, steer->push, place.error, steer->tolerance);
}
