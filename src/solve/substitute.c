// SPDX-License-Identifier: Apache-2.0
// See substitute.h.
#include "solve/substitute.h"

#include <string.h>

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

tdStatus td_substitution_create(tdArena *arena, const tdTriangularShape *shape, tdIsa isa, tdSubstitution *out,
                                tdError *error)
{
    *out = (tdSubstitution){.shape = shape, .isa = isa};
    int64_t above = shape->trees > 0 ? shape->above_at[shape->trees] : 0;
    out->x = TD_TAKE(arena, double, (int64_t)shape->n *TD_SUBSTITUTE_LANES);
    out->buffer = TD_TAKE(arena, double, (above + 1) * TD_SUBSTITUTE_LANES);
    out->work = TD_TAKE(arena, double, (int64_t)(shape->trees + 1) * shape->longest * TD_SUBSTITUTE_LANES);
    if (out->x == NULL || out->buffer == NULL || out->work == NULL)
        return td_fail_memory(error, "the triangular solves");
    return TD_OK;
}

// ---------------------------------------------------------------- supernodes

typedef struct superWork
{
    tdSubstitutePanel panel;
    int rows;
    tdIsa isa;
} superWork;

static superWork super_of(const tdSubstitution *s, int32_t super, double *y)
{
    const tdTriangularShape *shape = s->shape;
    return (superWork){{s->L + shape->value_at[super], rows_of(shape, super), columns_of(shape, super), s->lanes, y},
                       rows_of(shape, super),
                       s->isa};
}

static void forward_triangle(const superWork *w)
{
#if defined(__x86_64__)
    if (w->isa == TD_ISA_AVX2)
    {
        td_forward_triangle_avx2(&w->panel);
        return;
    }
#endif
    td_forward_triangle_portable(&w->panel);
}

static void forward_rows(void *context, int piece)
{
    const superWork *w = context;
    int begin = w->panel.columns + piece * ROW_PIECE;
    int end = begin + ROW_PIECE < w->rows ? begin + ROW_PIECE : w->rows;
#if defined(__x86_64__)
    if (w->isa == TD_ISA_AVX2)
    {
        td_forward_rows_avx2(&w->panel, begin, end);
        return;
    }
#endif
    td_forward_rows_portable(&w->panel, begin, end);
}

static void backward_columns(void *context, int piece)
{
    const superWork *w = context;
    int begin = piece * COLUMN_PIECE;
    int end = begin + COLUMN_PIECE < w->panel.columns ? begin + COLUMN_PIECE : w->panel.columns;
#if defined(__x86_64__)
    if (w->isa == TD_ISA_AVX2)
    {
        td_backward_columns_avx2(&w->panel, begin, end, w->rows);
        return;
    }
#endif
    td_backward_columns_portable(&w->panel, begin, end, w->rows);
}

static void backward_triangle(const superWork *w)
{
#if defined(__x86_64__)
    if (w->isa == TD_ISA_AVX2)
    {
        td_backward_triangle_avx2(&w->panel);
        return;
    }
#endif
    td_backward_triangle_portable(&w->panel);
}

static tdTasks *if_large(const superWork *w, tdTasks *tasks)
{
    return (int64_t)w->rows * w->panel.columns > SERIAL_WORK ? tasks : NULL;
}

// ---------------------------------------------------------------- trees and top

static void copy_row(int lanes, const double *from, double *to)
{
    memcpy(to, from, (lanes == 4 ? 4 : 8) * sizeof *to);
}

static void add_row(int lanes, const double *from, double *to)
{
    for (int l = 0; l < lanes; l++)
        to[l] += from[l];
}

static void forward_tree(void *context, int tree)
{
    const tdSubstitution *t = context;
    const tdTriangularShape *shape = t->shape;
    int lanes = t->lanes;
    double *work = t->work + (int64_t)tree * shape->longest * TD_SUBSTITUTE_LANES;
    double *above = t->buffer + shape->above_at[tree] * lanes;
    memset(above, 0, (size_t)((shape->above_at[tree + 1] - shape->above_at[tree]) * lanes) * sizeof *above);
    for (int32_t s = shape->tree_first[tree]; s <= shape->tree_last[tree]; s++)
    {
        superWork w = super_of(t, s, work);
        int columns = w.panel.columns;
        const int32_t *at = shape->near + shape->row_at[s];
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

static void gather(const tdSubstitution *t, int32_t s, double *work)
{
    const int32_t *row = t->shape->rows + t->shape->row_at[s];
    for (int32_t i = 0; i < rows_of(t->shape, s); i++)
        copy_row(t->lanes, t->x + (int64_t)row[i] * t->lanes, work + (int64_t)i * t->lanes);
}

static void backward_super(const tdSubstitution *t, tdTasks *tasks, int32_t s, double *work)
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
    const tdSubstitution *t = context;
    double *work = t->work + (int64_t)tree * t->shape->longest * TD_SUBSTITUTE_LANES;
    for (int32_t s = t->shape->tree_last[tree]; s >= t->shape->tree_first[tree]; s--)
        backward_super(t, NULL, s, work);
}

static void solve_top(const tdSubstitution *t, tdTasks *tasks, const tdSubstituteTask *task)
{
    const tdTriangularShape *shape = t->shape;
    int lanes = t->lanes;
    double *work = t->work + (int64_t)shape->trees * shape->longest * TD_SUBSTITUTE_LANES;
    for (int32_t tree = 0; tree < shape->trees; tree++)
    {
        int32_t s = shape->tree_last[tree];
        const int32_t *row = shape->rows + shape->row_at[s] + columns_of(shape, s);
        const double *above = t->buffer + shape->above_at[tree] * lanes;
        for (int64_t i = 0; i < shape->above_at[tree + 1] - shape->above_at[tree]; i++)
            add_row(lanes, above + i * lanes, t->x + (int64_t)row[i] * lanes);
    }
    for (int32_t k = 0; k < shape->n_top; k++)
    {
        int32_t s = shape->top[k];
        const int32_t *row = shape->rows + shape->row_at[s];
        gather(t, s, work);
        superWork w = super_of(t, s, work);
        forward_triangle(&w);
        td_parallel(if_large(&w, tasks), td_pieces(w.rows - w.panel.columns, ROW_PIECE), forward_rows, &w);
        for (int32_t i = 0; i < w.rows; i++)
            copy_row(lanes, work + (int64_t)i * lanes, t->x + (int64_t)row[i] * lanes);
    }
    if (task->between != NULL)
        task->between(task->context, lanes, t->x);
    for (int32_t k = shape->n_top - 1; k >= 0; k--)
        backward_super(t, tasks, shape->top[k], work);
}

static int32_t place_of(const tdTriangularShape *shape, const tdSubstituteTask *task, int32_t i)
{
    return task->coord == NULL ? shape->order[i] : task->coord[shape->order[i]];
}

void td_substitute(tdSubstitution *t, tdTasks *tasks, const tdSubstituteTask *task)
{
    const tdTriangularShape *shape = t->shape;
    t->L = task->values;
    for (int first = 0; first < 1 + task->more; first += t->lanes)
    {
        int n = 1 + task->more - first;
        t->lanes = n > 4 ? 8 : 4;
        n = n < t->lanes ? n : t->lanes;
        const double *b[TD_SUBSTITUTE_LANES];
        double *x[TD_SUBSTITUTE_LANES];
        for (int j = 0; j < n; j++)
        {
            int64_t column = (first + j - 1) * task->stride;
            b[j] = first + j == 0 ? task->b : task->more_b + column;
            x[j] = first + j == 0 ? task->x : task->more_x + column;
        }
        for (int32_t i = 0; i < shape->n; i++)
        {
            int32_t place = place_of(shape, task, i);
            double *to = t->x + (int64_t)i * t->lanes;
            for (int j = 0; j < n; j++)
                to[j] = b[j][place];
            for (int j = n; j < t->lanes; j++)
                to[j] = 0;
        }
        td_parallel(tasks, shape->trees, forward_tree, t);
        solve_top(t, tasks, task);
        td_parallel(tasks, shape->trees, backward_tree, t);
        for (int32_t i = 0; i < shape->n; i++)
        {
            int32_t place = place_of(shape, task, i);
            for (int j = 0; j < n; j++)
                x[j][place] = t->x[(int64_t)i * t->lanes + j];
        }
    }
}
