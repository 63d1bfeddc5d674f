// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "solve/linear.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define RIGID     TD_AMG_RIGID
#define GRAIN     256  // rows in a piece of work
#define DEGREE    3    // of the polynomials that smooth the finest level,
#define COARSE    4    // and those between it and the last
#define SMOOTHED  10.0 // they take on the upper part of the spectrum, from lambda / SMOOTHED on
#define POWERS    12   // products for the largest eigenvalue,
#define SAFETY    1.1  // which they come near to from below
#define DEPENDENT 1e-9 // part of a rigid motion that is left when those before are taken out: none

/// Numbers of one level.
typedef struct Level
{
    const tdAmgShape *shape;
    float *fine;     // blocks, column by column, of the finest level,
    double *values;  // of the others
    double *inverse; // of the blocks of the diagonal
    double *T;       // b x 6 by row: rigid motions; before they are made orthonormal, as they are
    float *P;        // b x 6
    double *AP;
    double lambda;         // largest eigenvalue of D^-1 A
    double *x, *f, *r, *d; // solution, right-hand side, residual, direction; of the finest level x and f are given
    double *left, *more;   // of the others: what the first visit leaves, and the second brings
} Level;

struct tdAmg
{
    const tdAmgModel *model;
    tdIsa isa;
    Level level[TD_AMG_LEVELS];
    double *last; // blocks of the last level, and its factor
    tdLinear *factor;
    atomic_bool failed; // a block of a diagonal is not positive definite
};

tdStatus td_amg_create(const tdAmgModel *model, tdArena *arena, tdIsa isa, tdAmg **out, tdError *error)
{
    tdAmg *amg = *out = TD_TAKE(arena, tdAmg, 1);
    bool good = amg != NULL;
    if (good)
        *amg = (tdAmg){.model = model, .isa = isa};
    for (int l = 0; l < model->levels && good; l++)
    {
        const tdAmgShape *s = &model->level[l];
        Level *level = &amg->level[l];
        int64_t blocks = s->row[s->n], size = (int64_t)s->n * s->b;
        level->shape = s;
        level->fine = l == 0 ? TD_TAKE(arena, float, blocks * 9 + 3) : NULL;
        level->values = l > 0 ? TD_TAKE(arena, double, blocks * s->b * s->b) : NULL;
        level->inverse = TD_TAKE(arena, double, size * s->b);
        level->T = TD_TAKE(arena, double, size *RIGID);
        level->r = TD_TAKE(arena, double, size);
        level->d = TD_TAKE(arena, double, size);
        level->x = l > 0 ? TD_TAKE(arena, double, size) : NULL;
        level->f = l > 0 ? TD_TAKE(arena, double, size) : NULL;
        level->left = l > 0 ? TD_TAKE(arena, double, size) : NULL;
        level->more = l > 0 ? TD_TAKE(arena, double, size) : NULL;
        good = (level->fine != NULL || level->values != NULL) && level->inverse != NULL && level->T != NULL &&
               level->r != NULL && level->d != NULL &&
               (l == 0 || (level->x != NULL && level->f != NULL && level->left != NULL && level->more != NULL));
        if (good && s->next > 0)
        {
            level->P = TD_TAKE(arena, float, s->p_row[s->n] * s->b * RIGID + 2);
            level->AP = TD_TAKE(arena, double, s->ap_row[s->n] * s->b * RIGID);
            good = level->P != NULL && level->AP != NULL;
        }
    }
    if (good)
        amg->last = TD_TAKE(arena, double, 9 * model->last_pattern.blocks);
    if (!good || amg->last == NULL)
        return td_fail_memory(error, "the multigrid preconditioner");
    return td_linear_create(model->last, arena, isa, &amg->factor, error);
}

void td_amg_free(tdAmg *amg)
{
    if (amg != NULL)
        td_linear_free(amg->factor);
}

// ---------------------------------------------------------------- work in pieces

/// A piece of work on rows [begin, end) of a level.
typedef struct Work Work;
struct Work
{
    tdAmg *amg;
    Level *level;
    void (*rows)(Work *work, int32_t begin, int32_t end);
    int32_t n;
    const double *values; // of the finest matrix
    const double *from, *given;
    double *to;
    double scale, keep;
};

static void do_piece(void *context, int i)
{
    Work *work = context;
    int32_t begin = i * GRAIN, end = begin + GRAIN < work->n ? begin + GRAIN : work->n;
    work->rows(work, begin, end);
}

static void in_pieces(tdTasks *tasks, Work *work, int32_t n)
{
    work->n = n;
    td_parallel(tasks, td_pieces(n, GRAIN), do_piece, work);
}

// ---------------------------------------------------------------- products

#if defined(__x86_64__)
#define CHOOSE(isa, name) ((isa) == TD_ISA_AVX2 ? name##_avx2 : name##_portable)
#else
#define CHOOSE(isa, name) name##_portable
#endif

// to = given - A from
static void residual_rows(Work *work, int32_t begin, int32_t end)
{
    const Level *level = work->level;
    const tdAmgShape *s = level->shape;
    if (s->b == 3)
    {
        CHOOSE(work->amg->isa, td_amg_residual_rows)
        (s, level->fine, work->given, work->from, work->to, begin, end);
        return;
    }
    for (int32_t i = begin; i < end; i++)
    {
        double y[RIGID] = {0};
        for (int64_t k = s->row[i]; k < s->row[i + 1]; k++)
        {
            const double *a = level->values + 36 * k, *v = work->from + RIGID * (int64_t)s->column[k];
            for (int r = 0; r < RIGID; r++)
                for (int c = 0; c < RIGID; c++)
                    y[r] += a[RIGID * r + c] * v[c];
        }
        for (int c = 0; c < RIGID; c++)
            work->to[RIGID * (int64_t)i + c] = work->given[RIGID * (int64_t)i + c] - y[c];
    }
}

static void residual(tdAmg *amg, tdTasks *tasks, Level *level, const double *f, const double *x, double *r)
{
    Work work = {.amg = amg, .level = level, .rows = residual_rows, .given = f, .from = x, .to = r};
    in_pieces(tasks, &work, level->shape->n);
}

// to = keep to + scale D^-1 from
static void divide_rows(Work *work, int32_t begin, int32_t end)
{
    int b = work->level->shape->b;
    for (int32_t i = begin; i < end; i++)
    {
        const double *inverse = work->level->inverse + (int64_t)b * b * i, *from = work->from + (int64_t)b * i;
        double *to = work->to + (int64_t)b * i;
        for (int r = 0; r < b; r++)
        {
            double sum = 0;
            for (int c = 0; c < b; c++)
                sum += inverse[b * r + c] * from[c];
            to[r] = (work->keep != 0 ? work->keep * to[r] : 0) + work->scale * sum;
        }
    }
}

static void divide(tdTasks *tasks, Level *level, double keep, double scale, const double *from, double *to)
{
    Work work = {.level = level, .rows = divide_rows, .from = from, .to = to, .keep = keep, .scale = scale};
    in_pieces(tasks, &work, level->shape->n);
}

// ---------------------------------------------------------------- numbers of a level

// The block k of row i, of the finest level without held coordinates: those have 1 on the diagonal and nothing else.
static const double *block_of(const Work *work, int32_t i, int64_t k, double room[9])
{
    const tdAmgShape *s = work->level->shape;
    if (s->b != 3)
        return work->level->values + 36 * k;
    const double *block = work->values + 9 * (int64_t)s->at[k];
    const bool *held = work->amg->model->held, *one = held + 3 * (int64_t)i, *two = held + 3 * (int64_t)s->column[k];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
        {
            double value = s->turned[k] ? block[3 * c + r] : block[3 * r + c];
            bool diagonal = k == s->middle[i] && r == c;
            room[3 * r + c] = one[r] || two[c] ? (diagonal ? 1 : 0) : value;
        }
    return room;
}

// The inverse of a small symmetric positive definite matrix; false where it is none.
static bool invert(int n, const double *A, double *out)
{
    double L[36] = {0}, X[36] = {0};
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++)
        {
            double sum = A[n * i + j];
            for (int k = 0; k < j; k++)
                sum -= L[n * i + k] * L[n * j + k];
            if (i == j && !(sum > 0))
                return false;
            L[n * i + j] = i == j ? sqrt(sum) : sum / L[n * j + j];
        }
    for (int c = 0; c < n; c++) // X = L^-1
        for (int i = c; i < n; i++)
        {
            double sum = i == c ? 1 : 0;
            for (int k = c; k < i; k++)
                sum -= L[n * i + k] * X[n * k + c];
            X[n * i + c] = sum / L[n * i + i];
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
        {
            double sum = 0;
            for (int k = i > j ? i : j; k < n; k++)
                sum += X[n * k + i] * X[n * k + j];
            out[n * i + j] = sum;
        }
    return true;
}

// Blocks in single precision, and the inverses of those on the diagonal.
static void take_rows(Work *work, int32_t begin, int32_t end)
{
    Level *level = work->level;
    const tdAmgShape *s = level->shape;
    double room[9];
    for (int32_t i = begin; i < end; i++)
    {
        for (int64_t k = s->row[i]; k < s->row[i + 1] && s->b == 3; k++)
        {
            const double *block = block_of(work, i, k, room);
            for (int c = 0; c < 9; c++)
                level->fine[9 * k + c] = (float)block[3 * (c % 3) + c / 3];
        }
        const double *diagonal = block_of(work, i, s->middle[i], room);
        if (!invert(s->b, diagonal, level->inverse + (int64_t)s->b * s->b * i))
            atomic_store(&work->amg->failed, true);
    }
}

// P = T - scale D^-1 A T
static void smooth_rows(Work *work, int32_t begin, int32_t end)
{
    Level *level = work->level;
    const tdAmgShape *s = level->shape;
    int b = s->b, size = b * RIGID;
    double room[9], sum[36];
    for (int32_t i = begin; i < end; i++)
        for (int64_t p = s->p_row[i]; p < s->p_row[i + 1]; p++)
        {
            int32_t a = s->p_column[p];
            memset(sum, 0, sizeof sum);
            for (int64_t k = s->row[i]; k < s->row[i + 1]; k++)
            {
                if (s->joined[s->column[k]] != a)
                    continue;
                const double *block = block_of(work, i, k, room), *T = level->T + size * (int64_t)s->column[k];
                for (int r = 0; r < b; r++)
                    for (int m = 0; m < b; m++)
                        for (int c = 0; c < RIGID; c++)
                            sum[RIGID * r + c] += block[b * r + m] * T[RIGID * m + c];
            }
            const double *inverse = level->inverse + (int64_t)b * b * i, *T = level->T + (int64_t)size * i;
            for (int r = 0; r < b; r++)
                for (int c = 0; c < RIGID; c++)
                {
                    double value = s->joined[i] == a ? T[RIGID * r + c] : 0;
                    for (int m = 0; m < b; m++)
                        value -= work->scale * inverse[b * r + m] * sum[RIGID * m + c];
                    level->P[size * p + RIGID * r + c] = (float)value;
                }
        }
}

// A P, block by block; columns of a row of P are among those of the row of A P, both ascending.
static void product_rows(Work *work, int32_t begin, int32_t end)
{
    Level *level = work->level;
    const tdAmgShape *s = level->shape;
    int b = s->b, size = b * RIGID;
    double room[9];
    for (int32_t i = begin; i < end; i++)
    {
        double *out = level->AP + size * s->ap_row[i];
        memset(out, 0, (size_t)(s->ap_row[i + 1] - s->ap_row[i]) * (size_t)size * sizeof *out);
        for (int64_t k = s->row[i]; k < s->row[i + 1] && s->joined[i] >= 0; k++)
        {
            const double *block = block_of(work, i, k, room);
            int64_t to = s->ap_row[i];
            int32_t j = s->column[k];
            for (int64_t p = s->p_row[j]; p < s->p_row[j + 1]; p++)
            {
                while (s->ap_column[to] != s->p_column[p])
                    to++;
                const float *P = level->P + size * p;
                double *sum = level->AP + size * to;
                for (int r = 0; r < b; r++)
                    for (int m = 0; m < b; m++)
                        for (int c = 0; c < RIGID; c++)
                            sum[RIGID * r + c] += block[b * r + m] * (double)P[RIGID * m + c];
            }
        }
    }
}

// The next level's matrix P' (A P), by its rows.
static void galerkin_rows(Work *work, int32_t begin, int32_t end)
{
    const Level *level = work->level;
    Level *next = work->level + 1;
    const tdAmgShape *s = level->shape, *t = next->shape;
    int b = s->b, size = b * RIGID;
    for (int32_t a = begin; a < end; a++)
    {
        memset(next->values + 36 * t->row[a], 0, (size_t)(t->row[a + 1] - t->row[a]) * 36 * sizeof(double));
        for (int64_t k = s->t_row[a]; k < s->t_row[a + 1]; k++)
        {
            const float *P = level->P + size * s->t_block[k];
            int32_t i = s->t_from[k];
            int64_t to = t->row[a];
            for (int64_t p = s->ap_row[i]; p < s->ap_row[i + 1]; p++)
            {
                while (t->column[to] != s->ap_column[p])
                    to++;
                const double *AP = level->AP + size * p;
                double *sum = next->values + 36 * to;
                for (int m = 0; m < b; m++)
                    for (int r = 0; r < RIGID; r++)
                        for (int c = 0; c < RIGID; c++)
                            sum[RIGID * r + c] += (double)P[RIGID * m + r] * AP[RIGID * m + c];
            }
        }
        // Aggregates of one or two nodes have fewer than six motions: what is none stays where it is.
        double *diagonal = next->values + 36 * t->middle[a];
        for (int c = 0; c < RIGID; c++)
            if (diagonal[(RIGID + 1) * c] == 0)
                diagonal[(RIGID + 1) * c] = 1;
    }
}

// Rigid motions of the nodes: three translations, three turns about the middle of all.
static void set_motions(tdAmg *amg, const double *x)
{
    Level *level = &amg->level[0];
    const bool *held = amg->model->held;
    int32_t n = level->shape->n;
    double middle[3] = {0, 0, 0};
    for (int64_t i = 0; i < 3 * (int64_t)n; i++)
        middle[i % 3] += x[i] / n;
    for (int32_t i = 0; i < n; i++)
    {
        double *T = level->T + 3 * RIGID * (int64_t)i, at[3];
        for (int c = 0; c < 3; c++)
            at[c] = x[3 * (int64_t)i + c] - middle[c];
        const double motions[3 * RIGID] = {1,      0, 0,     0, at[2], -at[1], 0,     1,      0,
                                           -at[2], 0, at[0], 0, 0,     1,      at[1], -at[0], 0};
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < RIGID; c++)
                T[RIGID * r + c] = held[3 * (int64_t)i + r] ? 0 : motions[RIGID * r + c];
    }
}

// T of each aggregate is made orthonormal, T = Q R; R are the same motions on the next level. Gram and Schmidt, twice.
static void orthonormal_rows(Work *work, int32_t begin, int32_t end)
{
    const Level *level = work->level;
    const tdAmgShape *s = level->shape;
    int b = s->b;
    for (int32_t a = begin; a < end; a++)
    {
        double R[36] = {0};
        for (int c = 0; c < RIGID; c++)
        {
            double whole = 0, left = 0;
            for (int pass = 0; pass < 2; pass++)
                for (int e = 0; e < c; e++)
                {
                    double dot = 0;
                    for (int64_t k = s->members[a]; k < s->members[a + 1]; k++)
                        for (int r = 0; r < b; r++)
                        {
                            const double *T = level->T + RIGID * ((int64_t)b * s->member[k] + r);
                            dot += T[c] * T[e];
                            whole += pass == 0 && e == 0 ? T[c] * T[c] : 0;
                        }
                    for (int64_t k = s->members[a]; k < s->members[a + 1]; k++)
                        for (int r = 0; r < b; r++)
                        {
                            double *T = level->T + RIGID * ((int64_t)b * s->member[k] + r);
                            T[c] -= dot * T[e];
                        }
                    R[RIGID * e + c] += dot;
                }
            for (int64_t k = s->members[a]; k < s->members[a + 1]; k++)
                for (int r = 0; r < b; r++)
                {
                    const double *T = level->T + RIGID * ((int64_t)b * s->member[k] + r);
                    left += T[c] * T[c];
                }
            left = sqrt(left);
            bool none = !(left > DEPENDENT * sqrt(whole));
            R[(RIGID + 1) * c] = none ? 0 : left;
            for (int64_t k = s->members[a]; k < s->members[a + 1]; k++)
                for (int r = 0; r < b; r++)
                {
                    double *T = level->T + RIGID * ((int64_t)b * s->member[k] + r);
                    T[c] = none ? 0 : T[c] / left;
                }
        }
        memcpy(work->level[1].T + 36 * (int64_t)a, R, sizeof R);
    }
}

// The largest eigenvalue of D^-1 A, by its powers, from a start that has some of every motion.
static double find_lambda(tdAmg *amg, tdTasks *tasks, Level *level)
{
    int64_t n = (int64_t)level->shape->n * level->shape->b;
    double lambda = 1;
    for (int64_t i = 0; i < n; i++)
        level->d[i] = (double)(td_hash_mix((uint64_t)i + 1) >> 11) * 0x1p-53 - 0.5;
    for (int k = 0; k < POWERS; k++)
    {
        double size = sqrt(td_dot(tasks, n, level->d, level->d));
        if (!(size > 0) || !isfinite(size))
            break;
        for (int64_t i = 0; i < n; i++)
        {
            level->d[i] /= size;
            level->r[i] = 0;
        }
        residual(amg, tasks, level, level->r, level->d, level->r);
        divide(tasks, level, 0, -1, level->r, level->d);
        lambda = sqrt(td_dot(tasks, n, level->d, level->d));
    }
    return SAFETY * lambda;
}

// D, lambda, and down to the next level. False: a block of the diagonal is not positive definite.
static bool set_level(tdAmg *amg, tdTasks *tasks, Level *level, const double *values)
{
    const tdAmgShape *s = level->shape;
    Work work = {.amg = amg, .level = level, .rows = take_rows, .values = values};
    atomic_store(&amg->failed, false);
    in_pieces(tasks, &work, s->n);
    if (atomic_load(&amg->failed))
        return false;
    if (s->next == 0)
        return true;
    level->lambda = find_lambda(amg, tasks, level);
    work.rows = orthonormal_rows;
    in_pieces(tasks, &work, s->next);
    work.rows = smooth_rows;
    work.scale = 4.0 / 3 / level->lambda;
    in_pieces(tasks, &work, s->n);
    work.rows = product_rows;
    in_pieces(tasks, &work, s->n);
    work.rows = galerkin_rows;
    in_pieces(tasks, &work, s->next);
    return true;
}

// The factor of the last level, of whose blocks those of 6 x 6 are four of 3 x 3.
static tdStatus set_last(tdAmg *amg, tdTasks *tasks, bool *definite, tdError *error)
{
    const Level *level = &amg->level[amg->model->levels - 1];
    const tdAmgShape *s = level->shape;
    const tdBlockPattern *pattern = &amg->model->last_pattern;
    int b = s->b, m = b / 3;
    for (int32_t i = 0; i < s->n; i++)
        for (int half = 0; half < m; half++)
        {
            int64_t to = pattern->row[m * i + half];
            for (int64_t k = s->row[i]; k <= s->middle[i]; k++)
                for (int part = 0; part < m && m * s->column[k] + part <= m * i + half; part++, to++)
                    for (int r = 0; r < 3; r++)
                        for (int c = 0; c < 3; c++)
                        {
                            int64_t from = (int64_t)b * b * k + b * (3 * half + r) + 3 * part + c;
                            amg->last[9 * to + 3 * r + c] =
                                b == 3 ? (double)level->fine[9 * k + 3 * c + r] : level->values[from];
                        }
        }
    tdStatus status = td_linear_refresh(amg->factor, tasks, amg->last, NULL, error);
    *definite = status == TD_OK;
    return status == TD_ERROR_NUMERIC ? TD_OK : status;
}

tdStatus td_amg_set(tdAmg *amg, tdTasks *tasks, const double *values, const double *x, bool *definite, tdError *error)
{
    set_motions(amg, x);
    *definite = true;
    for (int l = 0; l < amg->model->levels && *definite; l++)
        *definite = set_level(amg, tasks, &amg->level[l], values);
    return *definite ? set_last(amg, tasks, definite, error) : TD_OK;
}

// ---------------------------------------------------------------- the cycle

// x towards A^-1 f by a polynomial of D^-1 A, the best on [lambda / SMOOTHED, lambda] (Saad 2003, algorithm 12.1); r
// and d are scratch. zero: x is none yet.
static void smooth(tdAmg *amg, tdTasks *tasks, Level *level, const double *f, bool zero, double *x)
{
    int64_t n = (int64_t)level->shape->n * level->shape->b;
    double high = level->lambda, low = high / SMOOTHED, theta = (high + low) / 2, delta = (high - low) / 2;
    double sigma = theta / delta, rho = 1 / sigma;
    if (!zero)
        residual(amg, tasks, level, f, x, level->r);
    divide(tasks, level, 0, 1 / theta, zero ? f : level->r, level->d);
    for (int k = 1;; k++)
    {
        for (int64_t i = 0; i < n; i++)
            x[i] = (zero && k == 1 ? 0 : x[i]) + level->d[i];
        if (k == (level == amg->level ? DEGREE : COARSE))
            return;
        double next = 1 / (2 * sigma - rho);
        residual(amg, tasks, level, zero && k == 1 ? f : level->r, level->d, level->r);
        divide(tasks, level, next * rho, 2 * next / delta, level->r, level->d);
        rho = next;
    }
}

// to (of the next level) = P' from
static void restrict_rows(Work *work, int32_t begin, int32_t end)
{
    CHOOSE(work->amg->isa, td_amg_restrict_rows)
    (work->level->shape, work->level->P, work->from, work->to, begin, end);
}

// to += P from (of the next level)
static void prolong_rows(Work *work, int32_t begin, int32_t end)
{
    const tdAmgShape *s = work->level->shape;
    int b = s->b, size = b * RIGID;
    for (int32_t i = begin; i < end; i++)
        for (int64_t k = s->p_row[i]; k < s->p_row[i + 1]; k++)
        {
            const float *P = work->level->P + size * k;
            const double *from = work->from + RIGID * (int64_t)s->p_column[k];
            for (int r = 0; r < b; r++)
                for (int c = 0; c < RIGID; c++)
                    work->to[(int64_t)b * i + r] += (double)P[RIGID * r + c] * from[c];
        }
}

// x = about A^-1 f of a level. Levels between the finest and the last are visited twice (a W cycle): what one visit
// leaves of the softest motions would otherwise grow with the number of levels.
static void cycle(tdAmg *amg, tdTasks *tasks, int l, const double *f, double *x)
{
    Level *level = &amg->level[l], *next = level + 1;
    int last = amg->model->levels - 1;
    if (l == last)
    {
        td_linear_apply(amg->factor, tasks, f, x);
        return;
    }
    smooth(amg, tasks, level, f, true, x);
    residual(amg, tasks, level, f, x, level->r);
    Work down = {.amg = amg, .level = level, .rows = restrict_rows, .from = level->r, .to = next->f};
    in_pieces(tasks, &down, level->shape->next);
    cycle(amg, tasks, l + 1, next->f, next->x);
    if (l + 1 < last)
    {
        int64_t n = (int64_t)next->shape->n * next->shape->b;
        residual(amg, tasks, next, next->f, next->x, next->left);
        cycle(amg, tasks, l + 1, next->left, next->more);
        for (int64_t i = 0; i < n; i++)
            next->x[i] += next->more[i];
    }
    Work up = {.level = level, .rows = prolong_rows, .from = next->x, .to = x};
    in_pieces(tasks, &up, level->shape->n);
    smooth(amg, tasks, level, f, false, x);
}

void td_amg_apply(tdAmg *amg, tdTasks *tasks, const double *r, double *z)
{
    cycle(amg, tasks, 0, r, z);
}
