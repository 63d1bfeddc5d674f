// SPDX-License-Identifier: Apache-2.0
// The structure of a multigrid hierarchy, from the pattern of the matrix alone: aggregates, and which blocks of P, A P
// and of the matrices of coarser levels are not zero.
#include "solve/linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COARSEST 128  // rows of blocks that are not joined any more
#define FACTOR   16.0 // times the finest matrix that the factor of the last level may take
#define LITTLE   64e6 // [bytes] that it may take in any case

static tdStatus no_memory(tdError *error)
{
    return td_fail_memory(error, "the multigrid hierarchy");
}

// ---------------------------------------------------------------- lists

/// Growing lists of columns, row by row.
typedef struct Rows
{
    int64_t *row;
    int32_t *column;
    int64_t capacity;
    int32_t *mark; // by column: the row that has it already, + 1
} Rows;

static int compare_columns(const void *a, const void *b)
{
    int32_t one = *(const int32_t *)a, two = *(const int32_t *)b;
    return (one > two) - (one < two);
}

static bool begin_rows(Rows *rows, int32_t n, int32_t columns)
{
    *rows = (Rows){.row = td_take((size_t)n + 1, sizeof *rows->row),
                   .mark = td_take((size_t)columns + 1, sizeof *rows->mark)};
    return rows->row != NULL && rows->mark != NULL;
}

static bool put(Rows *rows, int32_t i, int64_t *end, int32_t column)
{
    if (rows->mark[column] == i + 1)
        return true;
    rows->mark[column] = i + 1;
    if (!td_grow((void **)&rows->column, &rows->capacity, *end + 1, sizeof *rows->column))
        return false;
    rows->column[(*end)++] = column;
    return true;
}

static void end_row(Rows *rows, int32_t i, int64_t end)
{
    int64_t begin = rows->row[i];
    rows->row[i + 1] = end;
    if (end > begin) // before the first column there is no array
        qsort(rows->column + begin, (size_t)(end - begin), sizeof *rows->column, compare_columns);
}

// Into the arena, as large as they came out.
static bool keep_rows(tdArena *arena, Rows *rows, int32_t n, bool good, int64_t **row, int32_t **column)
{
    int64_t count = good ? rows->row[n] : 0;
    *row = TD_TAKE(arena, int64_t, n + 1);
    *column = TD_TAKE(arena, int32_t, count);
    good = good && *row != NULL && *column != NULL;
    if (good)
    {
        memcpy(*row, rows->row, ((size_t)n + 1) * sizeof **row);
        if (count > 0)
            memcpy(*column, rows->column, (size_t)count * sizeof **column);
    }
    free(rows->row);
    free(rows->column);
    free(rows->mark);
    *rows = (Rows){0};
    return good;
}

// ---------------------------------------------------------------- levels

// The pattern with both of its triangles.
static bool open_pattern(tdArena *arena, const tdBlockPattern *pattern, tdAmgShape *out)
{
    int64_t count = 2 * pattern->blocks - pattern->n;
    *out = (tdAmgShape){.n = pattern->n, .b = 3};
    out->row = TD_TAKE(arena, int64_t, pattern->n + 1);
    out->column = TD_TAKE(arena, int32_t, count);
    out->at = TD_TAKE(arena, int32_t, count);
    out->turned = TD_TAKE(arena, bool, count);
    out->middle = TD_TAKE(arena, int64_t, pattern->n);
    if (out->row == NULL || out->column == NULL || out->at == NULL || out->turned == NULL || out->middle == NULL)
        return false;
    int64_t end = 0;
    for (int32_t i = 0; i < pattern->n; i++)
    {
        for (int64_t k = pattern->row[i]; k < pattern->row[i + 1]; k++, end++)
        {
            out->column[end] = pattern->column[k];
            out->at[end] = (int32_t)k;
        }
        out->middle[i] = end - 1;
        for (int64_t k = pattern->below[i]; k < pattern->below[i + 1]; k++, end++)
        {
            out->column[end] = pattern->below_row[k];
            out->at[end] = pattern->below_block[k];
            out->turned[end] = true;
        }
        out->row[i + 1] = end;
    }
    return true;
}

// A row none of whose neighbours belongs to an aggregate begins one with all of them.
static void begin_aggregates(tdAmgShape *level)
{
    for (int32_t i = 0; i < level->n; i++)
    {
        bool alone = level->joined[i] == -2;
        for (int64_t k = level->row[i]; k < level->row[i + 1] && alone; k++)
            alone = level->joined[level->column[k]] < 0;
        for (int64_t k = level->row[i]; k < level->row[i + 1] && alone; k++)
            if (level->joined[level->column[k]] == -2)
                level->joined[level->column[k]] = level->next;
        level->next += alone ? 1 : 0;
    }
}

// The rest joins the aggregate that most of its neighbours belong to; those that have none form some among themselves.
static bool end_aggregates(tdAmgShape *level)
{
    int32_t *before = td_take((size_t)level->n, sizeof *before), *votes = td_take((size_t)level->n, sizeof *votes);
    if (before == NULL || votes == NULL)
    {
        free(before);
        free(votes);
        return false;
    }
    memcpy(before, level->joined, (size_t)level->n * sizeof *before);
    for (int32_t i = 0; i < level->n; i++)
    {
        int32_t best = -1;
        if (before[i] != -2)
            continue;
        for (int64_t k = level->row[i]; k < level->row[i + 1]; k++)
        {
            int32_t a = before[level->column[k]];
            if (a >= 0 && (votes[a]++, best < 0 || votes[a] > votes[best]))
                best = a;
        }
        for (int64_t k = level->row[i]; k < level->row[i + 1]; k++)
            if (before[level->column[k]] >= 0)
                votes[before[level->column[k]]] = 0;
        if (best >= 0)
            level->joined[i] = best;
    }
    for (int32_t i = 0; i < level->n; i++)
    {
        if (level->joined[i] != -2)
            continue;
        for (int64_t k = level->row[i]; k < level->row[i + 1]; k++)
            if (level->joined[level->column[k]] == -2)
                level->joined[level->column[k]] = level->next;
        level->joined[i] = level->next++;
    }
    free(before);
    free(votes);
    return true;
}

// Rows of each aggregate; and the columns of P: for each the rows that have it.
static bool list_columns(tdArena *arena, tdAmgShape *level)
{
    level->members = TD_TAKE(arena, int64_t, level->next + 1);
    level->member = TD_TAKE(arena, int32_t, level->n);
    int64_t count = level->p_row[level->n];
    level->t_row = TD_TAKE(arena, int64_t, level->next + 1);
    level->t_from = TD_TAKE(arena, int32_t, count);
    level->t_block = TD_TAKE(arena, int64_t, count);
    int64_t *at = td_take(2 * (size_t)level->next + 2, sizeof *at), *at_member = at + level->next + 1;
    if (level->members == NULL || level->member == NULL || level->t_row == NULL || level->t_from == NULL ||
        level->t_block == NULL || at == NULL)
    {
        free(at);
        return false;
    }
    for (int64_t k = 0; k < count; k++)
        level->t_row[level->p_column[k] + 1]++;
    for (int32_t i = 0; i < level->n; i++)
        if (level->joined[i] >= 0)
            level->members[level->joined[i] + 1]++;
    for (int32_t a = 0; a < level->next; a++)
    {
        level->t_row[a + 1] += level->t_row[a];
        level->members[a + 1] += level->members[a];
        at[a] = level->t_row[a];
        at_member[a] = level->members[a];
    }
    for (int32_t i = 0; i < level->n; i++)
    {
        if (level->joined[i] >= 0)
            level->member[at_member[level->joined[i]]++] = i;
        for (int64_t k = level->p_row[i]; k < level->p_row[i + 1]; k++)
        {
            int64_t to = at[level->p_column[k]]++;
            level->t_from[to] = i;
            level->t_block[to] = k;
        }
    }
    free(at);
    return true;
}

// P: aggregates of a row and its neighbours. A P: those of the neighbours' neighbours too.
static bool list_products(tdArena *arena, tdAmgShape *level)
{
    Rows p, ap;
    int64_t end = 0;
    bool good = begin_rows(&p, level->n, level->next);
    for (int32_t i = 0; i < level->n && good; i++)
    {
        for (int64_t k = level->row[i]; k < level->row[i + 1] && good && level->joined[i] >= 0; k++)
            if (level->joined[level->column[k]] >= 0)
                good = put(&p, i, &end, level->joined[level->column[k]]);
        if (good)
            end_row(&p, i, end);
    }
    if (!keep_rows(arena, &p, level->n, good, &level->p_row, &level->p_column))
        return false;
    end = 0;
    good = begin_rows(&ap, level->n, level->next);
    for (int32_t i = 0; i < level->n && good; i++)
    {
        for (int64_t k = level->row[i]; k < level->row[i + 1] && good && level->joined[i] >= 0; k++)
            for (int64_t j = level->p_row[level->column[k]]; j < level->p_row[level->column[k] + 1] && good; j++)
                good = put(&ap, i, &end, level->p_column[j]);
        if (good)
            end_row(&ap, i, end);
    }
    return keep_rows(arena, &ap, level->n, good, &level->ap_row, &level->ap_column);
}

static bool list_next(tdArena *arena, const tdAmgShape *level, tdAmgShape *next)
{
    Rows rows;
    int64_t end = 0;
    *next = (tdAmgShape){.n = level->next, .b = TD_AMG_RIGID};
    bool good = begin_rows(&rows, next->n, next->n);
    for (int32_t a = 0; a < next->n && good; a++)
    {
        for (int64_t k = level->t_row[a]; k < level->t_row[a + 1]; k++)
            for (int64_t j = level->ap_row[level->t_from[k]]; j < level->ap_row[level->t_from[k] + 1] && good; j++)
                good = put(&rows, a, &end, level->ap_column[j]);
        if (good)
            end_row(&rows, a, end);
    }
    if (!keep_rows(arena, &rows, next->n, good, &next->row, &next->column))
        return false;
    next->middle = TD_TAKE(arena, int64_t, next->n);
    for (int32_t a = 0; a < next->n && next->middle != NULL; a++)
        for (int64_t k = next->row[a]; k < next->row[a + 1]; k++)
            if (next->column[k] == a)
                next->middle[a] = k;
    return next->middle != NULL;
}

static bool coarsen(tdArena *arena, const bool *held, tdAmgShape *level, tdAmgShape *next)
{
    level->joined = TD_TAKE(arena, int32_t, level->n);
    if (level->joined == NULL)
        return false;
    for (int32_t i = 0; i < level->n; i++)
    {
        bool fixed = held != NULL && held[3 * (int64_t)i] && held[3 * (int64_t)i + 1] && held[3 * (int64_t)i + 2];
        level->joined[i] = fixed ? -1 : -2;
    }
    begin_aggregates(level);
    return end_aggregates(level) && list_products(arena, level) && list_columns(arena, level) &&
           list_next(arena, level, next);
}

// ---------------------------------------------------------------- the last level

// The pattern of a level in blocks of 3 x 3, each row and column of 6 as two of them.
static tdStatus split_pattern(tdArena *arena, const tdAmgShape *level, tdBlockPattern *out, tdError *error)
{
    int m = level->b / 3;
    int32_t *cells = td_take((size_t)(level->row[level->n]) * 2 * (size_t)m, sizeof *cells);
    int64_t count = 0;
    if (cells == NULL)
        return no_memory(error);
    for (int32_t i = 0; i < level->n; i++)
        for (int64_t k = level->row[i]; k <= level->middle[i]; k++, count++)
            for (int c = 0; c < m; c++)
            {
                cells[2 * m * count + c] = m * i + c;
                cells[2 * m * count + m + c] = m * level->column[k] + c;
            }
    tdStatus status = td_block_pattern(arena, m * level->n, count, 2 * m, cells, out, error);
    free(cells);
    return status;
}

static void drop_last(tdAmgModel *model)
{
    if (model->last != NULL)
        td_linear_model_free(model->last);
    model->last = NULL;
    td_arena_free(&model->last_arena);
}

// A factor of the level, if it takes no more than `memory`; model->last stays NULL where it takes more.
static tdStatus end_here(tdAmgModel *model, const tdAmgShape *level, double memory, tdError *error)
{
    tdArena *arena = &model->last_arena;
    int32_t n = level->b / 3 * level->n;
    bool *held = TD_TAKE(arena, bool, 3 * (int64_t)n);
    model->last = TD_TAKE(arena, tdLinearModel, 1);
    if (held == NULL || model->last == NULL)
        return no_memory(error);
    TD_TRY(split_pattern(arena, level, &model->last_pattern, error));
    tdError why = {0};
    const tdLinearChoice choice = {.kind = TD_SOLVER_CHOLESKY, .memory = memory};
    tdStatus status = td_linear_model_create(arena, &model->last_pattern, held, &choice, model->last, &why);
    bool large = status == TD_ERROR_MEMORY && model->last->factor_bytes > memory;
    if (large)
        drop_last(model);
    else if (status != TD_OK)
        *error = why;
    else
        model->last->single = model->last->rough = false; // it is to be exact
    return large ? TD_OK : status;
}

tdStatus td_amg_model_create(tdArena *arena, const tdBlockPattern *pattern, const bool *held, double memory,
                             tdAmgModel **out, tdError *error)
{
    tdAmgModel *model = *out = TD_TAKE(arena, tdAmgModel, 1);
    if (model == NULL)
        return no_memory(error);
    model->pattern = pattern;
    model->held = held;
    model->levels = 1;
    if (!open_pattern(arena, pattern, &model->level[0]))
        return no_memory(error);
    double most = FACTOR * 36 * (double)model->level[0].row[pattern->n];
    most = fmax(fmin(most, 0.5 * memory), LITTLE);
    for (; model->levels < TD_AMG_LEVELS && model->last == NULL; model->levels++)
    {
        tdAmgShape *level = &model->level[model->levels - 1];
        if (!coarsen(arena, model->levels == 1 ? held : NULL, level, level + 1))
            return no_memory(error);
        if (level[1].n == level->n) // nothing was joined: pieces that do not touch each other
        {
            level->next = 0;
            break;
        }
        TD_TRY(end_here(model, level + 1, level[1].n <= COARSEST ? INFINITY : most, error));
    }
    return model->last != NULL ? TD_OK : end_here(model, &model->level[model->levels - 1], INFINITY, error);
}

void td_amg_model_free(tdAmgModel *model)
{
    if (model != NULL)
        drop_last(model);
}

double td_amg_bytes(const tdAmgModel *model)
{
    double bytes = 0;
    for (int l = 0; l < model->levels; l++)
    {
        const tdAmgShape *s = &model->level[l];
        double blocks = (double)s->row[s->n], b = s->b, rigid = TD_AMG_RIGID;
        bytes += blocks * b * b * (l == 0 ? 4 : 8) + (double)s->n * b * (8 * b + 16 * rigid + (l == 0 ? 32 : 48));
        if (s->next > 0)
            bytes += b * rigid * (4 * (double)s->p_row[s->n] + 8 * (double)s->ap_row[s->n]);
    }
    return bytes + 72 * (double)model->last_pattern.blocks + model->last->factor_bytes;
}

int td_amg_levels(const tdAmgModel *model, int64_t *rows, int most)
{
    for (int l = 0; l < model->levels && l < most; l++)
        rows[l] = model->level[l].n;
    return model->levels;
}
