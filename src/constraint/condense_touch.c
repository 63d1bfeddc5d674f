// SPDX-License-Identifier: Apache-2.0
// Inverse control beside contact: the quadratic program of one place y, where impulses of contact are part of what
// effectors and actuators do (solve/steer.h).
//
//     error(y)  = error* + E* (y - start) + push(y)         E  = E* + dpush/dy
//     second(y) = second* + M* (y - start) + push(y)        M  = M* + dpush/dy
//
// The starred are those of the motion without contact, as in condense_inverse.c; push is what impulses do. Energy is
// that of the motion without contact, so that efforts do not jump when a contact opens or closes.
#include "base/timer.h"
#include "constraint/condense.h"
#include "core/state.h"
#include "solve/problem.h"

#include <math.h>
#include <string.h>

// ---------------------------------------------------------------- life

static int friction_rows(const tdModel *model)
{
    int n = 0;
    for (int a = 0; a < model->n_actuators; a++)
        n += model->actuators[a].given->friction > 0 && !model->actuators[a].held;
    return n;
}

int td_condense_touch_most(const tdModel *model, int n_e)
{
    return n_e + friction_rows(model);
}

tdStatus td_condense_touch_create(const tdModel *model, tdState *state, struct tdCondensed *cd, int n_e, tdError *error)
{
    tdArena *arena = &state->arena;
    int64_t n = model->n_actuators, read = td_condense_touch_most(model, n_e), forces = model->n_effectors;
    struct
    {
        double **array;
        int64_t count;
    } list[] = {
        {&cd->start, n},
        {&cd->E_free, n_e * n},
        {&cd->error_free, n_e},
        {&cd->M_free, n * n},
        {&cd->second_free, n},
        {&cd->error, n_e},
        {&cd->E_full, n_e * n},
        {&cd->size, n},
        {&cd->blocked, 4 * (int64_t)n_e * n_e + 3 * n_e + n},
        {&cd->kept, TD_MOST_KEPT * n},
        {&cd->kept_low, TD_MOST_KEPT},
        {&cd->force_row, forces * n},
        {&cd->force_low, forces},
        {&cd->force_high, forces},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if ((*list[i].array = TD_TAKE(arena, double, list[i].count + 1)) == NULL)
            return td_fail_memory(error, "inverse control beside contact");
    cd->read = TD_TAKE(arena, int, read + 1);
    return cd->read == NULL ? td_fail_memory(error, "inverse control beside contact") : TD_OK;
}

// ---------------------------------------------------------------- columns

static bool counts(const tdEffector *effector, int r)
{
    return effector->measure.rows == 1 || (effector->given->axes & 1 << r) != 0;
}

// Rows of the model whose response is read: of effectors with a target, in the order of E; of cables with friction,
// which push by another row than they measure.
static int list_rows(const tdModel *model, const tdState *state, int *read)
{
    const tdConstraintState *cs = state->constraint;
    int n = 0;
    for (int e = 0; e < model->n_effectors; e++)
        for (int r = 0; r < model->effectors[e].measure.rows && !isnan(cs->target[3 * e]); r++)
            if (counts(&model->effectors[e], r))
            {
                if (read != NULL)
                    read[n] = model->effectors[e].row + r;
                n++;
            }
    for (int a = 0; a < model->n_actuators; a++)
        if (cs->role[a] == TD_ROLE_INVERSE && model->actuators[a].given->friction > 0 && !model->actuators[a].held)
        {
            if (read != NULL)
                read[n] = model->actuators[a].row;
            n++;
        }
    return n;
}

int td_condense_touch_count(const tdModel *model, const tdState *state)
{
    const struct tdCondensed *cd = state->constraint->condensed;
    return cd == NULL || !state->joined || !state->constraint->inverse ? 0 : list_rows(model, state, NULL);
}

static bool acts_on(const tdModel *model, int row, const tdBody *body)
{
    for (int64_t k = model->row_start[row]; k < model->row_start[row + 1]; k++)
        if (model->row_coord[k] >= body->first && model->row_coord[k] < body->first + body->count)
            return true;
    return false;
}

void td_condense_touch_rows(const tdModel *model, const tdState *state, struct tdCondensed *cd)
{
    cd->n_read = list_rows(model, state, cd->read);
    cd->Y = cd->X - cd->n_read * model->coords;
    cd->Y_right = cd->B - cd->n_read * model->coords;
    memset(cd->Y_right, 0, (size_t)(cd->n_read * model->coords) * sizeof *cd->Y_right);
    memset(cd->Y, 0, (size_t)(cd->n_read * model->coords) * sizeof *cd->Y);
    for (int i = 0; i < cd->n_read; i++)
        for (int64_t k = model->row_start[cd->read[i]]; k < model->row_start[cd->read[i] + 1]; k++)
            cd->Y_right[i * model->coords + model->row_coord[k]] += state->constraint->J[k];
}

bool td_condense_touch_all(const tdModel *model, const struct tdCondensed *cd, const tdBody *body)
{
    for (int i = 0; i < cd->n_read; i++)
        if (!acts_on(model, cd->read[i], body))
            return false;
    return true;
}

tdStatus td_condense_touch_columns(const tdModel *model, tdState *state, struct tdCondensed *cd)
{
    bool known = state->ahead.n > 0; // with the free motion
    if (!known)
        td_condense_touch_rows(model, state, cd);
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        for (int i = 0, end = 0; i < cd->n_read && !(known && state->ahead.done[b]); i = end)
        {
            bool acts = acts_on(model, cd->read[i], body);
            for (end = i + 1; end < cd->n_read && acts_on(model, cd->read[end], body) == acts; end++)
                ;
            if (acts)
                TD_TRY(body->ops->apply_inverse(model, body, state, end - i, model->coords,
                                                cd->Y_right + i * model->coords + body->first,
                                                cd->Y + i * model->coords + body->first));
        }
    }
    return TD_OK;
}

// ---------------------------------------------------------------- the linearization

void td_condense_touch(const tdModel *model, tdState *state, struct tdCondensed *cd, const double *way)
{
    int n = cd->n;
    cd->n_e = td_condense_effectors(model, state, cd, way);
    td_condense_energy(model, cd);
    memcpy(cd->start, cd->now, (size_t)n * sizeof *cd->start);
    memcpy(cd->E_free, cd->E, (size_t)(cd->n_e * n) * sizeof *cd->E);
    memcpy(cd->M_free, cd->M, (size_t)(n * n) * sizeof *cd->M);
    memcpy(cd->second_free, cd->second, (size_t)n * sizeof *cd->second);
    for (int i = 0; i < cd->n_e; i++)
    {
        cd->error_free[i] = cd->e0[i];
        for (int k = 0; k < n; k++)
            cd->error_free[i] += cd->E[i * n + k] * cd->now[k];
    }
    for (int k = 0; k < n; k++)
    {
        double square = 0;
        for (int i = 0; i < cd->n_e; i++)
            square += cd->E[i * n + k] * cd->E[i * n + k];
        cd->size[k] = cd->W[k * n + k] > 0 ? sqrt(cd->W[k * n + k]) : sqrt(square);
    }
    cd->n_kept = 0;
    cd->reach = INFINITY;
    td_condense_open(model, state, cd);
}

static double total(const double *free, const double *slope, const struct tdCondensed *cd, const double *y, double push)
{
    double sum = *free + push;
    for (int k = 0; k < cd->n; k++)
        sum += slope[k] * (y[k] - cd->start[k]);
    return sum;
}

#define NO_FORCE 1e-6 // of the force

// Limits of what contact says of effectors; with values alone, rows whose bounds say by how much they are broken.
static void limit_forces(const tdModel *model, struct tdCondensed *cd, const double *y, const tdTouchReading *readings,
                         bool slopes)
{
    cd->n_forces = 0;
    for (int e = 0; e < model->n_effectors; e++)
    {
        const double *range = model->effectors[e].given->range;
        const tdTouchReading *reading = &readings[e];
        if (model->effectors[e].measure.kind != TD_MEASURE_CONTACT || !(isfinite(range[0]) || isfinite(range[1])))
            continue;
        double *row = cd->force_row + (int64_t)cd->n_forces * cd->n, constant = reading->value, most = 0;
        for (int k = 0; k < cd->n; k++)
        {
            row[k] = slopes ? reading->slope[k] : 0;
            constant -= row[k] * y[k];
            most = fmax(most, fabs(row[k] * y[k]));
        }
        // What efforts do not change, as the use of friction of contacts that slide, they need not try to.
        if (slopes && !(most > NO_FORCE * fmax(fabs(reading->value), fmin(fabs(range[0]), fabs(range[1])))))
            continue;
        cd->force_low[cd->n_forces] = range[0] - constant;
        cd->force_high[cd->n_forces++] = range[1] - constant;
    }
}

#define LOWER 0.01 // what an error of the next priority weighs when two places are compared

static double worth(const struct tdCondensed *cd, int row)
{
    int first = cd->level[row];
    for (int i = 0; i < cd->n_e; i++)
        first = cd->level[i] < first ? cd->level[i] : first;
    return pow(LOWER, 2 * (cd->level[row] - first));
}

double td_condense_touch_base(const tdModel *model, tdState *state, const double *y, const double *push,
                              const double *dpush, const tdTouchReading *readings)
{
    struct tdCondensed *cd = state->constraint->condensed;
    int n = cd->n, row = 0;
    double square = 0;
    memcpy(cd->now, y, (size_t)n * sizeof *y);
    memcpy(cd->next, y, (size_t)n * sizeof *y);
    for (int e = 0; e < model->n_effectors; e++)
        for (int r = 0; r < model->effectors[e].measure.rows; r++)
        {
            const tdEffector *effector = &model->effectors[e];
            bool contact = effector->measure.kind == TD_MEASURE_CONTACT;
            if (isnan(state->constraint->target[3 * e]) || !counts(effector, r))
                continue;
            double *E = cd->E + row * n, weight = td_condense_weight(model, effector);
            cd->error[row] = contact ? weight * (readings[e].value - state->constraint->target[3 * e])
                                     : total(&cd->error_free[row], cd->E_free + row * n, cd, y, push[row]);
            cd->e0[row] = cd->error[row];
            for (int k = 0; k < n; k++)
            {
                double slope = dpush == NULL ? 0 : contact ? weight * readings[e].slope[k] : dpush[row * n + k];
                E[k] = cd->E_free[row * n + k] + slope;
                cd->e0[row] -= E[k] * y[k];
            }
            square += worth(cd, row) * cd->error[row] * cd->error[row];
            row++;
        }
    for (int k = 0; k < n; k++)
    {
        int z = cd->n_e + k;
        cd->second[k] = total(&cd->second_free[k], cd->M_free + k * n, cd, y, push[z]);
        for (int j = 0; j < n; j++)
            cd->M[k * n + j] = cd->M_free[k * n + j] + (dpush == NULL ? 0 : dpush[z * n + j]);
    }
    memcpy(cd->E_full, cd->E, (size_t)(cd->n_e * n) * sizeof *cd->E);
    cd->n_blocked = 0;
    limit_forces(model, cd, y, readings, dpush != NULL);
    td_condense_limits(model, state, cd);
    return sqrt(square);
}

// Errors as the quadratic program has them: linear in y.
static void set_errors(struct tdCondensed *cd)
{
    for (int i = 0; i < cd->n_e; i++)
    {
        cd->e0[i] = cd->error[i];
        for (int k = 0; k < cd->n; k++)
            cd->e0[i] -= cd->E[i * cd->n + k] * cd->now[k];
    }
}

void td_condense_touch_free(struct tdCondensed *cd)
{
    memcpy(cd->E, cd->E_free, (size_t)(cd->n_e * cd->n) * sizeof *cd->E);
    cd->n_blocked = 0;
    set_errors(cd);
}

double td_condense_touch_said(const struct tdCondensed *cd, bool full)
{
    double square = 0;
    for (int i = 0; i < cd->n_e; i++)
    {
        double error = cd->error[i];
        for (int k = 0; k < cd->n; k++)
            error += (full ? cd->E_full : cd->E)[i * cd->n + k] * (cd->next[k] - cd->now[k]);
        square += worth(cd, i) * error * error;
    }
    return sqrt(square);
}

// ---------------------------------------------------------------- what contact blocks

// Eigenvalues of the symmetric n x n matrix A on its diagonal, eigenvectors in the rows of V, by Jacobi's rotations.
static void eigen(int n, double *A, double *V)
{
    for (int i = 0; i < n * n; i++)
        V[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < 30; sweep++)
    {
        double off = 0, on = 0;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                *(i == j ? &on : &off) += A[i * n + j] * A[i * n + j];
        if (off <= 1e-30 * on)
            return;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++)
            {
                if (A[p * n + q] == 0)
                    continue;
                double theta = (A[q * n + q] - A[p * n + p]) / (2 * A[p * n + q]);
                double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < n; k++)
                {
                    double a = A[k * n + p], b = A[k * n + q];
                    A[k * n + p] = c * a - s * b;
                    A[k * n + q] = s * a + c * b;
                }
                for (int k = 0; k < n; k++)
                {
                    double a = A[p * n + k], b = A[q * n + k], v = V[p * n + k], w = V[q * n + k];
                    A[p * n + k] = c * a - s * b;
                    A[q * n + k] = s * a + c * b;
                    V[p * n + k] = c * v - s * w;
                    V[q * n + k] = s * v + c * w;
                }
            }
    }
}

#define BLOCKED 0.1   // of what effectors would move without contact: what is left of it is what a wall gives way by
#define NO_WAY  1e-12 // of the largest square: actuators do not move effectors so

// B = E E*⁺ over the rows in which actuators move effectors without contact. Others (forces) are zero in E*.
static void compare_motion(const struct tdCondensed *cd, double *K, double *V, double *P, double *unit, double *B)
{
    int n = cd->n, m = cd->n_e;
    double most = 0;
    for (int k = 0; k < n; k++)
    {
        double square = 0;
        for (int i = 0; i < m; i++)
            square += cd->E_free[i * n + k] * cd->E_free[i * n + k];
        unit[k] = square > 0 ? 1 / square : 0;
    }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++)
        {
            double free = 0, touched = 0, own = 0;
            for (int k = 0; k < n; k++)
            {
                free += cd->E_free[i * n + k] * unit[k] * cd->E_free[j * n + k];
                touched += cd->E_full[i * n + k] * unit[k] * cd->E_free[j * n + k];
                own += fabs(cd->E_free[i * n + k]);
            }
            K[i * m + j] = free;
            P[i * m + j] = own > 0 ? touched : 0;
        }
    eigen(m, K, V);
    for (int i = 0; i < m; i++)
        most = fmax(most, K[i * m + i]);
    memset(B, 0, (size_t)(m * m) * sizeof *B);
    for (int q = 0; q < m; q++)
        for (int i = 0; i < m && K[q * m + q] > NO_WAY * most; i++)
        {
            double sum = 0;
            for (int j = 0; j < m; j++)
                sum += P[i * m + j] * V[q * m + j];
            for (int j = 0; j < m; j++)
                B[i * m + j] += sum * V[q * m + j] / K[q * m + q];
        }
}

// A target behind a wall: pressing harder brings the effector nearer by what the wall, taken as near-rigid, gives way,
// or by squeezing what is pressed, and the least distance would be had with all the force there is. B takes motion
// without contact to motion with it. Directions a in which it leaves less than a tenth are blocked: that tenth is taken
// out of E, and efforts that lead there count by the motion that they would be without contact.
void td_condense_unblock(struct tdCondensed *cd, bool slack)
{
    int n = cd->n, m = cd->n_e;
    double *K = cd->blocked, *V = K + (int64_t)m * m, *B = V + (int64_t)m * m, *P = B + (int64_t)m * m;
    compare_motion(cd, K, V, P, P + (int64_t)m * m, B);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++)
        {
            P[i * m + j] = 0;
            for (int l = 0; l < m; l++)
                P[i * m + j] += B[l * m + i] * B[l * m + j];
        }
    eigen(m, P, V);
    memcpy(cd->E, cd->E_full, (size_t)(m * n) * sizeof *cd->E);
    cd->n_blocked = 0;
    for (int q = 0; q < m; q++)
    {
        const double *a = V + q * m;
        double *row = cd->E + (m + cd->n_blocked) * n, *right = cd->e0 + m + cd->n_blocked;
        if (!(P[q * m + q] < BLOCKED * BLOCKED))
            continue;
        cd->level[m + cd->n_blocked] = td_condense_last_level(cd);
        *right = 0;
        for (int k = 0; k < n; k++)
        {
            row[k] = 0;
            for (int j = 0; j < m; j++)
                row[k] += a[j] * cd->E_free[j * n + k];
            *right -= row[k] * cd->now[k];
        }
        for (int i = 0; i < m; i++)
        {
            double image = 0;
            for (int j = 0; j < m; j++)
                image += B[i * m + j] * a[j];
            for (int k = 0; k < n; k++)
                cd->E[i * n + k] -= image * row[k];
        }
        cd->n_blocked += !slack;
    }
    set_errors(cd);
}

// ---------------------------------------------------------------- the solution

void td_condense_touch_take(const tdModel *model, tdState *state, const double *y, const double *push, double error,
                            double tolerance)
{
    struct tdCondensed *cd = state->constraint->condensed;
    tdConstraintState *cs = state->constraint;
    int n = cd->n, row = 0;
    for (int k = 0; k < n; k++)
    {
        int a = cd->unknown[k];
        double change = y[k] - cd->start[k];
        const double *X = cd->X + k * model->coords;
        cd->now[k] = cd->start[k];
        cd->next[k] = y[k];
        cd->predicted[k] = total(&cd->second_free[k], cd->M_free + k * n, cd, y, push[cd->n_e + k]);
        if (cs->role[a] != TD_ROLE_INVERSE)
            continue;
        for (int64_t i = 0; i < model->coords && change != 0; i++)
            state->dv[i] += change * X[i];
        if (model->actuators[a].held)
            continue;
        td_constraint_push(model, state, a, change);
        cs->effort[a] = y[k];
    }
    for (int e = 0; e < model->n_effectors; e++)
        for (int r = 0; r < model->effectors[e].measure.rows && !isnan(cs->target[3 * e]); r++)
            if (counts(&model->effectors[e], r))
            {
                cd->predicted_error[3 * e + r] = cd->error[row++] / td_condense_weight(model, &model->effectors[e]);
            }
    state->report.inverse = true;
    state->report.inverse_seconds += td_seconds() - cd->clock;
    state->report.inverse_residual = error;
    state->report.out_of_reach = td_condense_misses(model, state, cd, tolerance);
    cd->warm = true;
    cd->passes++;
}
