// SPDX-License-Identifier: Apache-2.0
#include "constraint/bonded.h"

#include "base/lapack.h"

#include <cblas.h>
#include <string.h>

#define MOST_NUMBERS 250000000 // of Y: 2 GB

tdStatus td_bonded_create(const tdModel *model, tdState *state, int rows, int64_t entries, int columns, tdError *error)
{
    tdArena *arena = &state->arena;
    if (rows > MOST_NUMBERS / (model->coords + 1))
        return td_fail(error, TD_ERROR_INPUT,
                       "the attachments have %d rows, too many for bodies of %lld coordinates together with inverse "
                       "control, friction of cables, stops of an effort or nodes moved by one; attach fewer nodes",
                       rows, (long long)model->coords);
    tdBonded *bonded = TD_TAKE(arena, tdBonded, 1);
    if (bonded == NULL)
        return td_fail_memory(error, "the attachments");
    struct
    {
        double **array;
        int64_t count;
    } list[] = {{&bonded->B, entries},
                {&bonded->R, rows},
                {&bonded->aim, rows},
                {&bonded->Y, rows * model->coords},
                {&bonded->load, rows * model->coords},
                {&bonded->S, (int64_t)rows * rows},
                {&bonded->gamma, rows},
                {&bonded->G, (int64_t)rows * columns},
                {&bonded->right, rows}};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if ((*list[i].array = TD_TAKE(arena, double, list[i].count + 1)) == NULL)
            return td_fail_memory(error, "the attachments");
    bonded->start = TD_TAKE(arena, int64_t, rows + 1);
    bonded->coord = TD_TAKE(arena, int64_t, entries + 1);
    bonded->held = TD_TAKE(arena, bool, model->coords);
    if (bonded->start == NULL || bonded->coord == NULL || bonded->held == NULL)
        return td_fail_memory(error, "the attachments");
    for (int b = 0; b < model->n_bodies; b++)
        for (int32_t k = 0; k < model->bodies[b].n_held; k++)
            bonded->held[model->bodies[b].first + model->bodies[b].held[k]] = true;
    bonded->most = rows;
    state->bonded = bonded;
    return TD_OK;
}

// Row r times a vector over all coordinates.
static double dot_row(const tdBonded *bonded, int r, const double *x)
{
    double sum = 0;
    for (int64_t k = bonded->start[r]; k < bonded->start[r + 1]; k++)
        sum += bonded->B[k] * x[bonded->coord[k]];
    return sum;
}

static bool touches(const tdBonded *bonded, int r, const tdBody *body)
{
    for (int64_t k = bonded->start[r]; k < bonded->start[r + 1]; k++)
        if (bonded->coord[k] >= body->first && bonded->coord[k] < body->first + body->count)
            return true;
    return false;
}

tdStatus td_bonded_answer(const tdModel *model, tdState *state)
{
    tdBonded *bonded = state->bonded;
    int n = bonded->n;
    size_t bytes = (size_t)n * (size_t)model->coords * sizeof(double);
    memset(bonded->load, 0, bytes);
    memset(bonded->Y, 0, bytes);
    for (int r = 0; r < n; r++)
        for (int64_t k = bonded->start[r]; k < bonded->start[r + 1]; k++)
            bonded->load[r * model->coords + bonded->coord[k]] += bonded->B[k];
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        // Rows that act on the body, in runs; the others leave it alone.
        for (int r = 0, end = 0; r < n; r = end)
        {
            bool acts = touches(bonded, r, body);
            for (end = r + 1; end < n && touches(bonded, end, body) == acts; end++)
                ;
            int64_t at = r * model->coords + body->first;
            if (acts)
                TD_TRY(body->ops->apply_inverse(model, body, state, end - r, model->coords, bonded->load + at,
                                                bonded->Y + at));
        }
    }
    for (int r = 0; r < n; r++)
        for (int i = 0; i < n; i++)
            bonded->S[r + (int64_t)i * n] = dot_row(bonded, r, bonded->Y + i * model->coords);
    return TD_OK;
}

// S^-1 x in place.
static void solve(const tdBonded *bonded, double *x)
{
    int n = bonded->n;
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, bonded->S, n, x, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, n, bonded->S, n, x, 1);
}

// x += Y p
static void add(const tdModel *model, const tdBonded *bonded, const double *p, double *x)
{
    for (int r = 0; r < bonded->n; r++)
    {
        const double *Y = bonded->Y + r * model->coords;
        for (int64_t i = 0; i < model->coords && p[r] != 0; i++)
            x[i] += p[r] * Y[i];
    }
}

tdStatus td_bonded_factor(const tdModel *model, tdState *state)
{
    tdBonded *bonded = state->bonded;
    int n = bonded->n, info = 0;
    for (int r = 0; r < n; r++)
        bonded->S[r + (int64_t)r * n] += bonded->R[r];
    dpotrf_("L", &n, bonded->S, &n, &info, 1);
    if (info == 0)
        return TD_OK;
    return td_fail(&state->report.error, TD_ERROR_NUMERIC,
                   "attachments, t = %g s (step %lld): the bodies that they join do not resist them; use a smaller "
                   "time_step",
                   state->time + model->scheme.h, (long long)state->steps + 1);
}

tdStatus td_bonded_free(const tdModel *model, tdState *state)
{
    tdBonded *bonded = state->bonded;
    for (int r = 0; r < bonded->n; r++)
    {
        bonded->gamma[r] = bonded->aim[r];
        for (int64_t k = bonded->start[r]; k < bonded->start[r + 1]; k++)
        {
            int64_t i = bonded->coord[k];
            if (!bonded->held[i])
                bonded->gamma[r] -= bonded->B[k] * (state->v_new[i] + state->dv[i]);
        }
    }
    solve(bonded, bonded->gamma);
    add(model, bonded, bonded->gamma, state->dv);
    return TD_OK;
}

void td_bonded_project(const tdModel *model, const tdBonded *bonded, int at, int n, double *X)
{
    for (int j = 0; j < n; j++, X += model->coords)
    {
        double *G = bonded->G + (int64_t)(at + j) * bonded->most;
        for (int r = 0; r < bonded->n; r++)
            G[r] = -dot_row(bonded, r, X);
        solve(bonded, G);
        add(model, bonded, G, X);
    }
}

void td_bonded_change(tdBonded *bonded, int k, double change)
{
    for (int r = 0; r < bonded->n; r++)
        bonded->gamma[r] += change * bonded->G[(int64_t)k * bonded->most + r];
}

double td_bonded_along(const tdBonded *bonded, const double *gamma, const double *psi)
{
    double sum = 0;
    for (int r = 0; r < bonded->n; r++)
        sum += gamma[r] * dot_row(bonded, r, psi);
    return sum;
}
