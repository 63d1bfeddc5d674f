// SPDX-License-Identifier: Apache-2.0
// Passes over a factor, see substitute.h. In tdReal or single precision, see real.h.
#pragma once
#include "solve/real.h"
#include "solve/substitute.h"

#include <string.h>

#define ROOM TD_SUBSTITUTE_FLOATS // lanes
#ifdef TD_SINGLE
#define WIDE 16 // lanes from which vectors of 512 bits are filled
#else
#define WIDE 8
#endif

#define ROW_PIECE    64 // rows or columns of a large supernode for one task
#define COLUMN_PIECE 16
#define SERIAL_WORK  32768 // entries below which a supernode is not worth sharing

static int32_t columns_of(const tdTriangularShape *t, int32_t s)
{
    return t->first[s + 1] - t->first[s];
}

static int32_t rows_of(const tdTriangularShape *t, int32_t s)
{
    return t->row_at[s + 1] - t->row_at[s];
}

tdStatus TD_REAL_NAME(td_substitution_create)(tdArena *arena, const tdTriangularShape *shape, tdIsa isa,
                                              tdRealSubstitution *out, tdError *error)
{
    *out = (tdRealSubstitution){.shape = shape, .isa = isa};
    int64_t above = shape->trees > 0 ? shape->above_at[shape->trees] : 0;
    out->x = TD_TAKE(arena, tdReal, (int64_t)shape->n * ROOM);
    out->buffer = TD_TAKE(arena, tdReal, (above + 1) * ROOM);
    out->work = TD_TAKE(arena, tdReal, (int64_t)(shape->trees + 1) * shape->longest * ROOM);
    if (out->x == NULL || out->buffer == NULL || out->work == NULL)
        return td_fail_memory(error, "the triangular solves");
    return TD_OK;
}

// ---------------------------------------------------------------- supernodes

typedef struct superWork
{
    tdRealPanel panel;
    int rows;
    tdIsa isa;
} superWork;

static superWork super_of(const tdRealSubstitution *s, int32_t super, tdReal *y)
{
    const tdTriangularShape *shape = s->shape;
    return (superWork){{s->L + shape->value_at[super], rows_of(shape, super), columns_of(shape, super), s->lanes, y},
                       rows_of(shape, super),
                       s->isa};
}

static void forward_triangle(const superWork *w)
{
    TD_REAL_CALL(td_forward_triangle, w->isa, w->panel.lanes >= WIDE, &w->panel);
}

static void forward_rows(void *context, int piece)
{
    const superWork *w = context;
    int begin = w->panel.columns + piece * ROW_PIECE;
    int end = begin + ROW_PIECE < w->rows ? begin + ROW_PIECE : w->rows;
    TD_REAL_CALL(td_forward_rows, w->isa, w->panel.lanes >= WIDE, &w->panel, begin, end);
}

static void backward_columns(void *context, int piece)
{
    const superWork *w = context;
    int begin = piece * COLUMN_PIECE;
    int end = begin + COLUMN_PIECE < w->panel.columns ? begin + COLUMN_PIECE : w->panel.columns;
    TD_REAL_CALL(td_backward_columns, w->isa, w->panel.lanes >= WIDE, &w->panel, begin, end, w->rows);
}

static void backward_triangle(const superWork *w)
{
    TD_REAL_CALL(td_backward_triangle, w->isa, w->panel.lanes >= WIDE, &w->panel);
}

static tdTasks *if_large(const superWork *w, tdTasks *tasks)
{
    return (int64_t)w->rows * w->panel.columns > SERIAL_WORK ? tasks : NULL;
}

// ---------------------------------------------------------------- trees and top

static void copy_row(int lanes, const tdReal *from, tdReal *to)
{
    if (lanes == 1)
        *to = *from;
    else if (lanes == 8) // constants, so that nothing is called
        memcpy(to, from, 8 * sizeof *to);
    else if (lanes == 4)
        memcpy(to, from, 4 * sizeof *to);
    else
        memcpy(to, from, 16 * sizeof *to);
}

static void add_row(int lanes, const tdReal *from, tdReal *to)
{
    if (lanes == 1)
    {
        *to += *from;
        return;
    }
    for (int l = 0; l < lanes; l++)
        to[l] += from[l];
}

// A right-hand side that is zero below a supernode stays zero there: forces at a few points reach the paths from these
// to the root only.
static bool is_zero(const tdReal *x, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (x[i] != 0)
            return false;
    return true;
}

static void forward_tree(void *context, int tree)
{
    const tdRealSubstitution *t = context;
    const tdTriangularShape *shape = t->shape;
    int lanes = t->lanes;
    tdReal *work = t->work + (int64_t)tree * shape->longest * ROOM;
    tdReal *above = t->buffer + shape->above_at[tree] * lanes;
    memset(above, 0, (size_t)((shape->above_at[tree + 1] - shape->above_at[tree]) * lanes) * sizeof *above);
    for (int32_t s = shape->tree_first[tree]; s <= shape->tree_last[tree]; s++)
    {
        superWork w = super_of(t, s, work);
        int columns = w.panel.columns;
        const int32_t *at = shape->near + shape->row_at[s];
        if (is_zero(t->x + (int64_t)shape->first[s] * lanes, columns * lanes))
            continue;
        memcpy(work, t->x + (int64_t)shape->first[s] * lanes, (size_t)(columns * lanes) * sizeof *work);
        memset(work + columns * lanes, 0, (size_t)((w.rows - columns) * lanes) * sizeof *work);
        forward_triangle(&w);
        for (int piece = 0; piece < td_pieces(w.rows - columns, ROW_PIECE); piece++)
            forward_rows(&w, piece);
        memcpy(t->x + (int64_t)shape->first[s] * lanes, work, (size_t)(columns * lanes) * sizeof *work);
        for (int32_t i = columns; i < w.rows; i++)
            add_row(lanes, work + i * lanes, at[i] >= 0 ? t->x + (int64_t)at[i] * lanes : above + ~at[i] * lanes);
    }
}

static void gather(const tdRealSubstitution *t, int32_t s, tdReal *work)
{
    const int32_t *row = t->shape->rows + t->shape->row_at[s];
    for (int32_t i = 0; i < rows_of(t->shape, s); i++)
        copy_row(t->lanes, t->x + (int64_t)row[i] * t->lanes, work + (int64_t)i * t->lanes);
}

static void backward_super(const tdRealSubstitution *t, tdTasks *tasks, int32_t s, tdReal *work)
{
    gather(t, s, work);
    superWork w = super_of(t, s, work);
    int columns = w.panel.columns;
    if (w.rows > columns)
        td_parallel(if_large(&w, tasks), td_pieces(columns, COLUMN_PIECE), backward_columns, &w);
    backward_triangle(&w);
    memcpy(t->x + (int64_t)t->shape->first[s] * t->lanes, work, (size_t)(columns * t->lanes) * sizeof *work);
}

static void backward_tree(void *context, int tree)
{
    const tdRealSubstitution *t = context;
    tdReal *work = t->work + (int64_t)tree * t->shape->longest * ROOM;
    for (int32_t s = t->shape->tree_last[tree]; s >= t->shape->tree_first[tree]; s--)
        backward_super(t, NULL, s, work);
}

static void solve_top(const tdRealSubstitution *t, tdTasks *tasks, const tdSubstituteTask *task)
{
    const tdTriangularShape *shape = t->shape;
    int lanes = t->lanes;
    tdReal *work = t->work + (int64_t)shape->trees * shape->longest * ROOM;
    for (int32_t tree = 0; tree < shape->trees; tree++)
    {
        int32_t s = shape->tree_last[tree];
        const int32_t *row = shape->rows + shape->row_at[s] + columns_of(shape, s);
        const tdReal *above = t->buffer + shape->above_at[tree] * lanes;
        for (int64_t i = 0; i < shape->above_at[tree + 1] - shape->above_at[tree]; i++)
            add_row(lanes, above + i * lanes, t->x + (int64_t)row[i] * lanes);
    }
    for (int32_t k = 0; k < shape->n_top; k++)
    {
        int32_t s = shape->top[k];
        const int32_t *row = shape->rows + shape->row_at[s];
        if (is_zero(t->x + (int64_t)shape->first[s] * lanes, columns_of(shape, s) * lanes))
            continue;
        gather(t, s, work);
        superWork w = super_of(t, s, work);
        forward_triangle(&w);
        td_parallel(if_large(&w, tasks), td_pieces(w.rows - w.panel.columns, ROW_PIECE), forward_rows, &w);
        for (int32_t i = 0; i < w.rows; i++)
            copy_row(lanes, work + (int64_t)i * lanes, t->x + (int64_t)row[i] * lanes);
    }
#ifdef TD_SINGLE
    (void)task;
#else
    if (task->between != NULL)
        task->between(task->context, lanes, t->x);
#endif
    for (int32_t k = shape->n_top - 1; k >= 0; k--)
        backward_super(t, tasks, shape->top[k], work);
}

// x = (L L')^-1 x
static void sweep(tdRealSubstitution *t, tdTasks *tasks, const tdSubstituteTask *task)
{
    td_parallel(tasks, t->shape->trees, forward_tree, t);
    solve_top(t, tasks, task);
    td_parallel(tasks, t->shape->trees, backward_tree, t);
}
