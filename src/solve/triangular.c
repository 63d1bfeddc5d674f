// SPDX-License-Identifier: Apache-2.0
#include "solve/triangular.h"

#include <cholmod.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TREES   32  // pieces of the lower part: enough to share among cores, few enough to sum
#define PANEL        64  // columns of a large supernode solved before its rows are updated
#define ROW_PIECE    512 // rows or columns of a panel for one task
#define COLUMN_PIECE 16
#define SERIAL_WORK  65536 // entries below which a panel is not worth sharing

// ---------------------------------------------------------------- shape

static int32_t columns_of(const tdTriangularShape *t, int32_t s)
{
    return t->first[s + 1] - t->first[s];
}

static int32_t rows_of(const tdTriangularShape *t, int32_t s)
{
    return t->row_at[s + 1] - t->row_at[s];
}

// Cuts the tree: the heaviest subtree is replaced by its children until the pieces are small. Columns are
// in postorder, so a subtree is a range of supernodes that ends with its root.
static tdStatus cut_tree(tdArena *arena, tdTriangularShape *t, tdError *error)
{
    int32_t n = t->supers;
    int32_t *of_column = td_take((size_t)t->n, sizeof *of_column), *parent = td_take((size_t)n, sizeof *parent);
    int32_t *begin = td_take((size_t)n, sizeof *begin);
    double *weight = td_take((size_t)n, sizeof *weight);
    char *place = td_take((size_t)n, 1); // 0 inside a subtree, 1 root of one, 2 top
    tdStatus status = TD_OK;
    t->tree_first = TD_TAKE(arena, int32_t, n);
    t->tree_last = TD_TAKE(arena, int32_t, n);
    t->top = TD_TAKE(arena, int32_t, n);
    t->top_place = TD_TAKE(arena, int32_t, t->n);
    t->top_column = TD_TAKE(arena, int32_t, t->n);
    if (of_column == NULL || parent == NULL || begin == NULL || weight == NULL || place == NULL ||
        t->tree_first == NULL || t->tree_last == NULL || t->top == NULL || t->top_place == NULL ||
        t->top_column == NULL)
        status = td_fail_memory(error, "the triangular solves");
    else
    {
        for (int32_t s = 0; s < n; s++)
        {
            begin[s] = s;
            for (int32_t c = t->first[s]; c < t->first[s + 1]; c++)
                of_column[c] = s;
        }
        double total = 0;
        for (int32_t s = 0; s < n; s++)
        {
            bool root = rows_of(t, s) == columns_of(t, s);
            parent[s] = root ? -1 : of_column[t->rows[t->row_at[s] + columns_of(t, s)]];
            weight[s] += (double)columns_of(t, s) * rows_of(t, s);
            total += (double)columns_of(t, s) * rows_of(t, s);
            if (root)
                place[s] = 1;
            else
            {
                weight[parent[s]] += weight[s];
                if (begin[s] < begin[parent[s]])
                    begin[parent[s]] = begin[s];
            }
        }
        for (;;)
        {
            int32_t heaviest = -1, pieces = 0;
            for (int32_t s = 0; s < n; s++)
                if (place[s] == 1)
                {
                    pieces++;
                    if (heaviest < 0 || weight[s] > weight[heaviest])
                        heaviest = s;
                }
            if (heaviest < 0 || weight[heaviest] < total / 24 || pieces > MOST_TREES - 4)
                break;
            place[heaviest] = 2;
            for (int32_t s = begin[heaviest]; s < heaviest; s++)
                if (parent[s] == heaviest)
                    place[s] = 1;
        }
        for (int32_t c = 0; c < t->n; c++)
            t->top_place[c] = -1;
        for (int32_t s = 0; s < n; s++)
        {
            if (place[s] == 1)
            {
                t->tree_first[t->trees] = begin[s];
                t->tree_last[t->trees++] = s;
            }
            else if (place[s] == 2)
            {
                t->top[t->n_top++] = s;
                for (int32_t c = t->first[s]; c < t->first[s + 1]; c++)
                {
                    t->top_column[t->top_columns] = c;
                    t->top_place[c] = t->top_columns++;
                }
            }
        }
    }
    free(of_column);
    free(parent);
    free(begin);
    free(weight);
    free(place);
    return status;
}

// Rows above a subtree are among those of its root: what it adds to them is kept by their places there.
static tdStatus find_rows_above(tdArena *arena, tdTriangularShape *t, tdError *error)
{
    t->above_at = TD_TAKE(arena, int64_t, t->trees + 1);
    t->near = TD_TAKE(arena, int32_t, t->row_at[t->supers]);
    int32_t *place = td_take((size_t)t->n, sizeof *place);
    if (t->above_at == NULL || t->near == NULL || place == NULL)
    {
        free(place);
        return td_fail_memory(error, "the triangular solves");
    }
    for (int32_t tree = 0; tree < t->trees; tree++)
    {
        int32_t root = t->tree_last[tree], begin = t->first[t->tree_first[tree]], end = t->first[root + 1];
        const int32_t *above = t->rows + t->row_at[root] + columns_of(t, root);
        int32_t n = rows_of(t, root) - columns_of(t, root);
        t->above_at[tree + 1] = t->above_at[tree] + n;
        for (int32_t i = 0; i < n; i++)
            place[above[i]] = i;
        for (int32_t k = t->row_at[t->tree_first[tree]]; k < t->row_at[root + 1]; k++)
            t->near[k] = t->rows[k] >= begin && t->rows[k] < end ? t->rows[k] : ~place[t->rows[k]];
    }
    free(place);
    return TD_OK;
}

tdStatus td_triangular_shape(tdArena *arena, const struct cholmod_factor_struct *symbolic, tdTriangularShape *out,
                             tdError *error)
{
    *out = (tdTriangularShape){.n = (int32_t)symbolic->n,
                               .supers = (int32_t)symbolic->nsuper,
                               .first = symbolic->super,
                               .row_at = symbolic->pi,
                               .value_at = symbolic->px,
                               .rows = symbolic->s,
                               .order = symbolic->Perm,
                               .values = (int64_t)symbolic->xsize};
    for (int32_t s = 0; s < out->supers; s++)
        if (rows_of(out, s) > out->longest)
            out->longest = rows_of(out, s);
    TD_TRY(cut_tree(arena, out, error));
    return find_rows_above(arena, out, error);
}

tdStatus td_triangular_create(tdArena *arena, const tdTriangularShape *shape, tdIsa isa, tdTriangular *out,
                              tdError *error)
{
    *out = (tdTriangular){.shape = shape, .isa = isa == TD_ISA_PORTABLE ? isa : td_isa_pick_wide(false)};
    out->values = TD_TAKE(arena, float, shape->values);
    out->x = TD_TAKE(arena, float, shape->n);
    out->buffer = TD_TAKE(arena, float, (int64_t)shape->trees * shape->top_columns);
    out->work = TD_TAKE(arena, float, (int64_t)(shape->trees + 1) * shape->longest);
    if (out->values == NULL || out->x == NULL || out->buffer == NULL || out->work == NULL)
        return td_fail_memory(error, "the triangular solves");
    return TD_OK;
}

typedef struct setWork
{
    tdTriangular *t;
    const double *values;
} setWork;

#define SET_GRAIN 262144

static void set_piece(void *context, int piece)
{
    setWork *w = context;
    int64_t begin = (int64_t)piece * SET_GRAIN, end = begin + SET_GRAIN;
    if (end > w->t->shape->values)
        end = w->t->shape->values;
    for (int64_t i = begin; i < end; i++)
        w->t->values[i] = (float)w->values[i];
}

void td_triangular_set(tdTriangular *t, tdTasks *tasks, const double *values)
{
    setWork work = {t, values};
    td_parallel(tasks, td_pieces(t->shape->values, SET_GRAIN), set_piece, &work);
}

// ---------------------------------------------------------------- panels

// The dense columns [begin, end) of a supernode, with all their rows at or below the first.
typedef struct panelWork
{
    const float *A; // rows below the panel's triangle
    int32_t stride, rows, columns;
    const float *x;
    float *y;
    tdIsa isa;
} panelWork;

#if defined(__x86_64__)
#define CALL(isa, name, ...)                                                                                           \
    ((isa) == TD_ISA_AVX512 ? name##_avx512(__VA_ARGS__)                                                               \
     : (isa) == TD_ISA_AVX2 ? name##_avx2(__VA_ARGS__)                                                                 \
                            : name##_portable(__VA_ARGS__))
#else
#define CALL(isa, name, ...) name##_portable(__VA_ARGS__)
#endif

static void gemv(tdIsa isa, int32_t m, int32_t k, const float *A, int32_t stride, const float *x, float *y)
{
    (void)isa;
    CALL(isa, td_gemv, m, k, A, stride, x, y);
}

static void gemv_transposed(tdIsa isa, int32_t m, int32_t k, const float *A, int32_t stride, const float *x, float *y)
{
    (void)isa;
    CALL(isa, td_gemv_transposed, m, k, A, stride, x, y);
}

// y = L_cc^-1 y, or L_cc^-T y.
static void triangle(tdIsa isa, bool forward, int32_t k, const float *A, int32_t stride, float *y)
{
    (void)isa;
    if (forward)
        CALL(isa, td_triangle_forward, k, A, stride, y);
    else
        CALL(isa, td_triangle_backward, k, A, stride, y);
}

static void forward_rows(void *context, int piece)
{
    const panelWork *w = context;
    int32_t begin = piece * ROW_PIECE, m = w->rows - begin < ROW_PIECE ? w->rows - begin : ROW_PIECE;
    gemv(w->isa, m, w->columns, w->A + begin, w->stride, w->x, w->y + begin);
}

static void backward_columns(void *context, int piece)
{
    const panelWork *w = context;
    int32_t begin = piece * COLUMN_PIECE, k = w->columns - begin < COLUMN_PIECE ? w->columns - begin : COLUMN_PIECE;
    gemv_transposed(w->isa, w->rows, k, w->A + (int64_t)begin * w->stride, w->stride, w->x, w->y + begin);
}

// Forward: y holds the supernode's rows; its columns become the solution, its other rows are updated.
// tasks NULL: alone. The pieces are the same, so the bits are.
static void forward_super(const tdTriangular *t, tdTasks *tasks, int32_t s, float *y)
{
    const tdTriangularShape *shape = t->shape;
    int32_t columns = columns_of(shape, s), rows = rows_of(shape, s);
    const float *L = t->values + shape->value_at[s];
    for (int32_t begin = 0; begin < columns; begin += PANEL)
    {
        int32_t k = columns - begin < PANEL ? columns - begin : PANEL, below = rows - begin - k;
        const float *A = L + (int64_t)begin * rows + begin;
        triangle(t->isa, true, k, A, rows, y + begin);
        panelWork work = {A + k, rows, below, k, y + begin, y + begin + k, t->isa};
        bool shared = (int64_t)below * k > SERIAL_WORK;
        td_parallel(shared ? tasks : NULL, td_pieces(below, ROW_PIECE), forward_rows, &work);
    }
}

// Backward: y holds the solution on the rows below and the right-hand side on the columns.
static void backward_super(const tdTriangular *t, tdTasks *tasks, int32_t s, float *y)
{
    const tdTriangularShape *shape = t->shape;
    int32_t columns = columns_of(shape, s), rows = rows_of(shape, s);
    const float *L = t->values + shape->value_at[s];
    for (int32_t begin = (columns - 1) / PANEL * PANEL; begin >= 0; begin -= PANEL)
    {
        int32_t k = columns - begin < PANEL ? columns - begin : PANEL, below = rows - begin - k;
        const float *A = L + (int64_t)begin * rows + begin;
        panelWork work = {A + k, rows, below, k, y + begin + k, y + begin, t->isa};
        bool shared = (int64_t)below * k > SERIAL_WORK;
        td_parallel(shared ? tasks : NULL, td_pieces(k, COLUMN_PIECE), backward_columns, &work);
        triangle(t->isa, false, k, A, rows, y + begin);
    }
}

// ---------------------------------------------------------------- trees

static void forward_tree(void *context, int tree)
{
    tdTriangular *t = context;
    const tdTriangularShape *shape = t->shape;
    float *work = t->work + (int64_t)tree * shape->longest, *buffer = t->buffer + (int64_t)tree * shape->top_columns;
    memset(buffer, 0, (size_t)shape->top_columns * sizeof *buffer);
    for (int32_t s = shape->tree_first[tree]; s <= shape->tree_last[tree]; s++)
    {
        int32_t columns = columns_of(shape, s), rows = rows_of(shape, s);
        const int32_t *row = shape->rows + shape->row_at[s];
        memcpy(work, t->x + shape->first[s], (size_t)columns * sizeof *work);
        memset(work + columns, 0, (size_t)(rows - columns) * sizeof *work);
        forward_super(t, NULL, s, work);
        memcpy(t->x + shape->first[s], work, (size_t)columns * sizeof *work);
        for (int32_t i = columns; i < rows; i++)
        {
            int32_t place = shape->top_place[row[i]];
            *(place < 0 ? &t->x[row[i]] : &buffer[place]) += work[i];
        }
    }
}

static void backward_tree(void *context, int tree)
{
    tdTriangular *t = context;
    const tdTriangularShape *shape = t->shape;
    float *work = t->work + (int64_t)tree * shape->longest;
    for (int32_t s = shape->tree_last[tree]; s >= shape->tree_first[tree]; s--)
    {
        int32_t columns = columns_of(shape, s), rows = rows_of(shape, s);
        const int32_t *row = shape->rows + shape->row_at[s];
        for (int32_t i = 0; i < rows; i++)
            work[i] = t->x[row[i]];
        backward_super(t, NULL, s, work);
        memcpy(t->x + shape->first[s], work, (size_t)columns * sizeof *work);
    }
}

static void forward_top(tdTriangular *t, tdTasks *tasks)
{
    const tdTriangularShape *shape = t->shape;
    float *work = t->work + (int64_t)shape->trees * shape->longest;
    for (int32_t tree = 0; tree < shape->trees; tree++)
        for (int32_t k = 0; k < shape->top_columns; k++)
            t->x[shape->top_column[k]] += t->buffer[(int64_t)tree * shape->top_columns + k];
    for (int32_t k = 0; k < shape->n_top; k++)
    {
        int32_t s = shape->top[k], rows = rows_of(shape, s);
        const int32_t *row = shape->rows + shape->row_at[s];
        for (int32_t i = 0; i < rows; i++)
            work[i] = t->x[row[i]];
        forward_super(t, tasks, s, work);
        for (int32_t i = 0; i < rows; i++)
            t->x[row[i]] = work[i];
    }
}

static void backward_top(tdTriangular *t, tdTasks *tasks)
{
    const tdTriangularShape *shape = t->shape;
    float *work = t->work + (int64_t)shape->trees * shape->longest;
    for (int32_t k = shape->n_top - 1; k >= 0; k--)
    {
        int32_t s = shape->top[k], columns = columns_of(shape, s), rows = rows_of(shape, s);
        const int32_t *row = shape->rows + shape->row_at[s];
        for (int32_t i = 0; i < rows; i++)
            work[i] = t->x[row[i]];
        backward_super(t, tasks, s, work);
        memcpy(t->x + shape->first[s], work, (size_t)columns * sizeof *work);
    }
}

void td_triangular_solve(tdTriangular *t, tdTasks *tasks, const double *b, double *x)
{
    const tdTriangularShape *shape = t->shape;
    // Scaled to about one: a residual of 1e-40 must not vanish in single precision.
    double largest = 0;
    for (int32_t i = 0; i < shape->n; i++)
    {
        double size = b[i] < 0 ? -b[i] : b[i];
        largest = size > largest ? size : largest;
    }
    double down = largest > 0 ? 1 / largest : 0;
    for (int32_t i = 0; i < shape->n; i++)
        t->x[i] = (float)(down * b[shape->order[i]]);
    td_parallel(tasks, shape->trees, forward_tree, t);
    forward_top(t, tasks);
    if (t->between != NULL)
        t->between(t->context, t->x);
    backward_top(t, tasks);
    td_parallel(tasks, shape->trees, backward_tree, t);
    for (int32_t i = 0; i < shape->n; i++)
        x[shape->order[i]] = largest * (double)t->x[i];
}
