// SPDX-License-Identifier: Apache-2.0
#include "solve/exact.h"

#include "base/lapack.h"
#include "solve/lu.h"
#include "solve/nlcp.h"
#include "solve/problem.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#define NEWTONS 25   // steps of Newton's method; a handful is usual
#define SWEEPS  400  // of Gauss-Seidel where it does not arrive
#define TRIES   3    // of both
#define CHORDS  6    // steps with a factor that is there
#define SHRINKS 0.1  // what each of them has to leave
#define TURNED  1e-3 // of directions of sliding: slopes by a factor from before
#define SOLVED  1e-8 // of the motion: what impulses of a solution may lack
#define ARRIVED 1e-2 // of the tolerance: the last step of Newton's method is worth several digits

// ---------------------------------------------------------------- modes

static void set_efforts(const tdExact *e, const double *y)
{
    memcpy(e->b, e->b0, (size_t)e->n * sizeof *e->b);
    if (e->n == 0)
        return;
    cblas_dgemv(CblasRowMajor, CblasNoTrans, e->n, e->n_y, 1, e->B, e->n_y, y, 1, 1, e->b, 1);
    cblas_dgemv(CblasRowMajor, CblasNoTrans, e->n, e->n_y, -1, e->B, e->n_y, e->y0, 1, 1, e->b, 1);
}

// u at gamma
static void read_motion(const tdExact *e)
{
    if (e->n == 0)
        return;
    cblas_dsymv(CblasRowMajor, CblasLower, e->n, 1, e->problem->dual.W, e->n, e->gamma, 1, 0, e->u, 1);
    for (int i = 0; i < e->n; i++)
        e->u[i] += e->b[i] - e->v_hat[i] + e->R[i] * e->gamma[i];
}

static double diagonal(const tdExact *e, int i)
{
    double w = e->problem->dual.W[i * (int64_t)e->n + i] + e->R[i];
    return w > 0 ? w : 1;
}

// Modes by the projections of gamma - u / w.
static void find_modes(const tdExact *e)
{
    const tdProblem *p = e->problem;
    for (int32_t each = 0; each < e->n_in; each++)
    {
        int32_t c = e->in[each];
        const tdSapLaw *law = &p->constraints[c].law;
        int i = p->dual.first[c];
        const double *gamma = e->gamma + i, *u = e->u + i;
        if (law->kind == TD_SAP_CONTACT)
        {
            double w = fmax(diagonal(e, i), diagonal(e, i + 1)), normal = gamma[2] - u[2] / diagonal(e, i + 2);
            double t[2] = {gamma[0] - u[0] / w, gamma[1] - u[1] / w}, length = hypot(t[0], t[1]);
            tdExactMode mode = normal <= 0                                          ? TD_EXACT_OPEN
                               : law->mu > 0 && length <= law->mu * fmax(normal, 0) ? TD_EXACT_STICK
                                                                                    : TD_EXACT_SLIDE;
            if (mode == TD_EXACT_SLIDE && length > 0)
                for (int r = 0; r < 2; r++)
                    e->along[2 * c + r] = t[r] / length;
            e->mode[i] = (signed char)mode;
            continue;
        }
        for (int r = 0; r < law->rows; r++)
        {
            double at = gamma[r] - u[r] / diagonal(e, i + r);
            signed char mode = 0;
            if (law->kind == TD_SAP_BOX)
                mode = at < law->lo[r] ? -1 : at > law->hi[r] ? 1 : 0;
            e->mode[i + r] = mode;
        }
    }
}

// ---------------------------------------------------------------- one piece

// Rows whose impulse is given get it; the others are numbered.
static int number_rows(tdExact *e)
{
    const tdProblem *p = e->problem;
    int m = 0;
    e->given = false;
    for (int32_t each = 0; each < e->n_in; each++)
    {
        int32_t c = e->in[each];
        const tdSapLaw *law = &p->constraints[c].law;
        int i = p->dual.first[c];
        for (int r = 0; r < law->rows; r++)
        {
            bool contact = law->kind == TD_SAP_CONTACT;
            bool given = contact ? e->mode[i] == TD_EXACT_OPEN || (r < 2 && law->mu == 0) : e->mode[i + r] != 0;
            if (given)
                e->gamma[i + r] = contact ? 0 : e->mode[i + r] < 0 ? law->lo[r] : law->hi[r];
            e->given = e->given || (given && e->gamma[i + r] != 0);
            e->place[i + r] = given ? -1 : m;
            if (!given)
                e->rows[m++] = i + r;
        }
    }
    return m;
}

static double *row_of(const tdExact *e, int m, int row)
{
    return e->K + row * (int64_t)td_lu_stride(m);
}

// Right-hand sides of an equation: of slopes, and last of the impulses.
static double *right_of(const tdExact *e, int columns, int row)
{
    return e->right + row * (int64_t)(columns == 1 ? 1 : td_lu_stride(columns));
}

// factor times (u_i = 0) into equation `row`, columns of K being unknowns.
static void add_motion(const tdExact *e, int m, int row, int i, double factor)
{
    const double *W = e->problem->dual.W + i * (int64_t)e->n, *B = e->B + i * (int64_t)e->n_y;
    double sum = e->b[i] - e->v_hat[i], *K = row_of(e, m, row), *right = right_of(e, e->columns, row);
    for (int j = 0; j < m; j++)
        K[j] += factor * W[e->rows[j]];
    if (e->place[i] >= 0)
        K[e->place[i]] += factor * e->R[i];
    for (int j = 0; j < e->n && e->given; j++)
        if (e->place[j] < 0)
            sum += W[j] * e->gamma[j];
    for (int k = 0; k < e->columns - 1; k++)
        right[k] -= factor * B[k];
    right[e->columns - 1] -= factor * sum;
}

// How much of the direction of friction turns with the motion: mu gamma_n / |t|.
static double turn_of(const tdExact *e, int32_t c, const double *state)
{
    double length = hypot(state[0], state[1]);
    return length > 0 ? fmin(fmax(e->problem->constraints[c].law.mu * state[2] / length, 0), 1) : 0;
}

static double tangent_weight(const tdExact *e, int i)
{
    return fmax(diagonal(e, i), diagonal(e, i + 1));
}

// gamma_t = mu gamma_n d with d = t / |t|, t = gamma_t - u_t / w, linear about the state: P = I - d d' turns it,
//     gamma_t - mu d gamma_n - mu gamma_n / |t| P (gamma_t - u_t / w) = 0
static void add_slide(const tdExact *e, int m, int32_t c)
{
    const double *d = e->along + 2 * (int64_t)c;
    double mu = e->problem->constraints[c].law.mu, turn = turn_of(e, c, e->state + 3 * (int64_t)c);
    int i = e->problem->dual.first[c];
    double w = tangent_weight(e, i);
    for (int r = 0; r < 2; r++)
    {
        int row = e->place[i + r];
        double *K = row_of(e, m, row);
        K[row] += 1;
        K[e->place[i + 2]] -= mu * d[r];
        for (int s = 0; s < 2 && turn > 0; s++)
        {
            double P = (r == s) - d[r] * d[s];
            K[e->place[i + s]] -= turn * P;
            add_motion(e, m, row, i + s, turn * P / w);
        }
    }
}

static bool slides(const tdExact *e, int32_t c, signed char mode)
{
    const tdSapLaw *law = &e->problem->constraints[c].law;
    return law->kind == TD_SAP_CONTACT && mode == TD_EXACT_SLIDE && law->mu > 0;
}

static void read_slide(const tdExact *e, int i, double w, double state[3])
{
    for (int r = 0; r < 2; r++)
        state[r] = e->gamma[i + r] - e->u[i + r] / w;
    state[2] = e->gamma[i + 2];
}

// What directions of sliding are linear about: impulses and motion as they are.
static void read_state(const tdExact *e)
{
    const tdProblem *p = e->problem;
    for (int32_t each = 0; each < e->n_in; each++)
    {
        int32_t c = e->in[each];
        int i = p->dual.first[c];
        if (p->constraints[c].law.kind != TD_SAP_CONTACT)
            continue;
        read_slide(e, i, tangent_weight(e, i), e->state + 3 * (int64_t)c);
    }
}

static bool all_finite(const double *a, int n)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(a[i]))
            return false;
    return true;
}

// gamma and slopes over the unknown rows for the modes as they stand.
static bool solve_piece(tdExact *e, int columns)
{
    const tdProblem *p = e->problem;
    double *before = e->last;
    memcpy(before, e->gamma, (size_t)e->n * sizeof *before);
    read_state(e);
    int m = e->m = number_rows(e);
    e->columns = columns;
    memset(e->K, 0, (size_t)(row_of(e, m, m) - e->K) * sizeof *e->K);
    memset(e->right, 0, (size_t)(right_of(e, columns, m) - e->right) * sizeof *e->right);
    for (int32_t each = 0; each < e->n_in; each++)
    {
        int32_t c = e->in[each];
        const tdSapLaw *law = &p->constraints[c].law;
        int i = p->dual.first[c];
        bool sliding = slides(e, c, e->mode[i]);
        if (sliding)
            add_slide(e, m, c);
        for (int r = sliding ? 2 : 0; r < law->rows; r++)
            if (e->place[i + r] >= 0)
                add_motion(e, m, e->place[i + r], i + r, 1);
    }
    bool good = e->has_factor = td_lu_factor(e->isa, m, e->K, e->pivots);
    if (good)
        td_lu_solve(e->isa, m, e->K, e->pivots, columns, e->right);
    memcpy(e->factored, e->mode, (size_t)e->n);
    memcpy(e->factored_along, e->along, 2 * (size_t)p->n_constraints * sizeof *e->along);
    for (int j = 0; j < m && good; j++)
        good = all_finite(right_of(e, columns, j), columns);
    for (int j = 0; j < m; j++)
        e->gamma[e->rows[j]] = good ? right_of(e, columns, j)[columns - 1] : before[e->rows[j]];
    if (!good)
        memcpy(e->gamma, before, (size_t)e->n * sizeof *before);
    else
        read_motion(e);
    return good;
}

// How far impulses are from their projections, as a motion.
static double residual(const tdExact *e)
{
    const tdProblem *p = e->problem;
    double most = 0;
    for (int32_t each = 0; each < e->n_in; each++)
    {
        int32_t c = e->in[each];
        const tdSapLaw *law = &p->constraints[c].law;
        int i = p->dual.first[c];
        const double *gamma = e->gamma + i, *u = e->u + i;
        if (law->kind == TD_SAP_CONTACT)
        {
            double w = tangent_weight(e, i), w_n = diagonal(e, i + 2), normal = fmax(0, gamma[2] - u[2] / w_n);
            double t[2] = {gamma[0] - u[0] / w, gamma[1] - u[1] / w}, length = hypot(t[0], t[1]);
            double cut = length > law->mu * normal ? law->mu * normal / length : 1;
            most = fmax(most, w_n * fabs(gamma[2] - normal));
            for (int r = 0; r < 2; r++)
                most = fmax(most, w * fabs(gamma[r] - cut * t[r]));
            continue;
        }
        for (int r = 0; r < law->rows; r++)
        {
            double w = diagonal(e, i + r), to = gamma[r] - u[r] / w;
            if (law->kind == TD_SAP_BOX)
                to = fmin(fmax(to, law->lo[r]), law->hi[r]);
            most = fmax(most, w * fabs(gamma[r] - to));
        }
    }
    return most;
}

// Whether impulses are a solution and the last factor is that of their piece, but for a turn of directions of sliding
// that slopes do not feel.
static bool has_piece(const tdExact *e)
{
    const tdProblem *p = e->problem;
    double size = 0;
    if (!e->has_factor || e->m == 0 || memcmp(e->factored, e->mode, (size_t)e->n) != 0)
        return false;
    for (int32_t each = 0; each < e->n_in; each++)
    {
        int32_t c = e->in[each];
        int i = p->dual.first[c];
        if (!slides(e, c, e->mode[i]))
            continue;
        const double *d = e->along + 2 * (int64_t)c, *was = e->factored_along + 2 * (int64_t)c;
        double w = tangent_weight(e, i), state[3];
        read_slide(e, i, w, state);
        if (!(fabs(d[0] - was[0]) + fabs(d[1] - was[1]) +
                  fabs(turn_of(e, c, state) - turn_of(e, c, e->state + 3 * (int64_t)c)) <=
              TURNED))
            return false;
    }
    for (int i = 0; i < e->n; i++)
        size = fmax(size, fabs(e->b[i] - e->v_hat[i]));
    return residual(e) <= SOLVED * size;
}

// Right-hand sides of slopes alone, for the last factor.
static bool solve_slopes(tdExact *e)
{
    const tdProblem *p = e->problem;
    int m = e->m, n_y = e->n_y, columns = e->columns = n_y + 1;
    for (int32_t each = 0; each < e->n_in; each++)
    {
        int32_t c = e->in[each];
        int i = p->dual.first[c];
        bool sliding = slides(e, c, e->mode[i]);
        const double *d = e->along + 2 * (int64_t)c, *B = e->B + i * (int64_t)n_y;
        double turn = sliding ? turn_of(e, c, e->state + 3 * (int64_t)c) / tangent_weight(e, i) : 0;
        for (int r = 0; r < p->constraints[c].law.rows; r++)
        {
            double *right = e->place[i + r] < 0 ? NULL : right_of(e, columns, e->place[i + r]);
            for (int k = 0; k < n_y && right != NULL; k++)
            {
                double across = sliding && r < 2 ? d[0] * B[k] + d[1] * B[n_y + k] : 0;
                right[k] = sliding && r < 2 ? -turn * (B[r * n_y + k] - d[r] * across) : -B[r * n_y + k];
            }
            if (right != NULL)
                right[n_y] = 0;
        }
    }
    td_lu_solve(e->isa, m, e->K, e->pivots, columns, e->right);
    bool good = true;
    for (int j = 0; j < m && good; j++)
        good = all_finite(right_of(e, columns, j), n_y);
    return good;
}

bool td_exact_piece(tdExact *e, const double *y)
{
    set_efforts(e, y);
    memcpy(e->last, e->u, (size_t)e->n * sizeof *e->last);
    read_motion(e);
    if (!(has_piece(e) && solve_slopes(e)))
    {
        memcpy(e->u, e->last, (size_t)e->n * sizeof *e->u); // the state that is asked for
        if (!solve_piece(e, e->n_y + 1))
            return false;
    }
    int m = e->m, n = e->n, n_y = e->n_y;
    memset(e->slope, 0, (size_t)n * (size_t)n_y * sizeof *e->slope);
    for (int j = 0; j < m; j++)
        memcpy(e->slope + e->rows[j] * (int64_t)n_y, right_of(e, n_y + 1, j), (size_t)n_y * sizeof *e->slope);
    memcpy(e->u_slope, e->B, (size_t)n * (size_t)n_y * sizeof *e->B);
    for (int j = 0; j < m; j++)
        memcpy(e->part + j * (int64_t)n, e->problem->dual.W + e->rows[j] * (int64_t)n, (size_t)n * sizeof *e->part);
    if (m > 0)
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, n_y, m, 1, e->part, n, e->right, td_lu_stride(n_y + 1),
                    1, e->u_slope, n_y);
    for (int j = 0; j < m; j++)
        for (int k = 0, i = e->rows[j]; k < n_y; k++)
            e->u_slope[i * (int64_t)n_y + k] += e->R[i] * e->slope[i * (int64_t)n_y + k];
    return true;
}

// ---------------------------------------------------------------- neighbours of a piece

void td_exact_keep(tdExact *e, const double *gamma, const double *u)
{
    tdExactBase *base = &e->base;
    size_t n = (size_t)e->n, columns = n * (size_t)e->n_y, constraints = (size_t)e->problem->n_constraints;
    double *K = base->K;
    int *pivots = base->pivots;
    base->K = e->K;
    base->pivots = e->pivots;
    e->K = K;
    e->pivots = pivots;
    e->has_factor = false;
    base->m = e->m;
    base->contact = -1;
    memcpy(base->gamma, gamma, n * sizeof *base->gamma);
    memcpy(base->u, u, n * sizeof *base->u);
    memcpy(base->own, e->gamma, n * sizeof *base->own);
    memcpy(base->own + n, e->u, n * sizeof *base->own);
    memcpy(base->slope, e->slope, columns * sizeof *base->slope);
    memcpy(base->u_slope, e->u_slope, columns * sizeof *base->u_slope);
    memcpy(base->state, e->state, 3 * constraints * sizeof *base->state);
    memcpy(base->along, e->along, 2 * constraints * sizeof *base->along);
    memcpy(base->place, e->place, n * sizeof *base->place);
    memcpy(base->rows, e->rows, n * sizeof *base->rows);
    memcpy(base->mode, e->mode, n);
}

void td_exact_recall(tdExact *e)
{
    const tdExactBase *base = &e->base;
    size_t n = (size_t)e->n, columns = n * (size_t)e->n_y;
    memcpy(e->gamma, base->own, n * sizeof *e->gamma);
    memcpy(e->u, base->own + n, n * sizeof *e->u);
    memcpy(e->slope, base->slope, columns * sizeof *e->slope);
    memcpy(e->u_slope, base->u_slope, columns * sizeof *e->u_slope);
    memcpy(e->along, base->along, 2 * (size_t)e->problem->n_constraints * sizeof *e->along);
    memcpy(e->mode, base->mode, n);
}

// What an impulse on row l, whose contact is open, adds to the equations of the base.
static void open_column(const tdExact *e, int l, int stride, double *out)
{
    const tdExactBase *base = &e->base;
    const tdProblem *p = e->problem;
    const double *W = p->dual.W + l * (int64_t)e->n;
    for (int j = 0; j < base->m; j++)
        out[j * (int64_t)stride] = -W[base->rows[j]];
    // Rows of tangents that slide: turn / w P u_t.
    for (int32_t each = 0; each < e->n_in; each++)
    {
        int32_t c = e->in[each];
        int i = p->dual.first[c];
        if (!slides(e, c, base->mode[i]))
            continue;
        const double *d = base->along + 2 * (int64_t)c;
        double turn = turn_of(e, c, base->state + 3 * (int64_t)c) / tangent_weight(e, i);
        double across = d[0] * W[i] + d[1] * W[i + 1];
        for (int r = 0; r < 2; r++)
            out[base->place[i + r] * (int64_t)stride] = -turn * (W[i + r] - d[r] * across);
    }
}

// Impulses that leave all equations of the base as they are but those of contact c, and their motion.
static bool make_directions(tdExact *e, int32_t c)
{
    tdExactBase *base = &e->base;
    const tdProblem *p = e->problem;
    int i = p->dual.first[c], first = p->constraints[c].law.mu > 0 ? 0 : 2, count = 3 - first, m = base->m;
    int stride = count == 1 ? 1 : td_lu_stride(count);
    int64_t n = e->n;
    if (base->contact == c)
        return true;
    double *right = e->right; // m x count
    memset(right, 0, (size_t)(m * stride) * sizeof *right);
    for (int r = first; r < 3; r++)
        if (base->place[i + r] < 0)
            open_column(e, i + r, stride, right + r - first);
        else
            right[base->place[i + r] * stride + r - first] = 1;
    td_lu_solve(e->isa, m, base->K, base->pivots, count, right);
    memset(base->Z, 0, 3 * (size_t)n * sizeof *base->Z);
    memset(base->WZ, 0, 3 * (size_t)n * sizeof *base->WZ);
    for (int r = first; r < 3; r++)
    {
        double *Z = base->Z + r * n, *WZ = base->WZ + r * n;
        for (int j = 0; j < m; j++)
            Z[base->rows[j]] = right[j * stride + r - first];
        if (base->place[i + r] < 0)
            Z[i + r] = 1;
        for (int64_t j = 0; j < n; j++)
            if (Z[j] != 0)
                cblas_daxpy((int)n, Z[j], p->dual.W + j * n, 1, WZ, 1);
        for (int64_t j = 0; j < n; j++)
            WZ[j] += e->R[j] * Z[j];
    }
    base->contact = c;
    return true;
}

// The equations of contact c in its mode, of impulses and motion; they are linear.
static void contact_equations(const tdExact *e, int32_t c, const double gamma[3], const double u[3], double out[3])
{
    const tdSapLaw *law = &e->problem->constraints[c].law;
    int i = e->problem->dual.first[c];
    memcpy(out, e->mode[i] == TD_EXACT_OPEN ? gamma : u, 3 * sizeof *out);
    if (!slides(e, c, e->mode[i]))
        return;
    const double *d = e->along + 2 * (int64_t)c, *at = e->base.gamma + i, *moves = e->base.u + i;
    double w = tangent_weight(e, i);
    double turn = turn_of(e, c, (const double[3]){at[0] - moves[0] / w, at[1] - moves[1] / w, at[2]});
    double t[2] = {gamma[0] - u[0] / w, gamma[1] - u[1] / w}, across = d[0] * t[0] + d[1] * t[1];
    for (int r = 0; r < 2; r++)
        out[r] = gamma[r] - law->mu * d[r] * gamma[2] - turn * (t[r] - d[r] * across);
}

// out += scale times what the share s of the directions does
static void add_directions(const tdExact *e, const double *directions, const double *s, int columns, double *out)
{
    int64_t n = e->n;
    for (int r = 0; r < 3; r++)
        for (int64_t j = 0; j < n; j++)
        {
            double z = directions[r * n + j];
            for (int k = 0; k < columns && z != 0; k++)
                out[j * columns + k] += z * s[r * columns + k];
        }
}

bool td_exact_neighbour(tdExact *e, int32_t c)
{
    const tdExactBase *base = &e->base;
    int i = e->problem->dual.first[c], n_y = e->n_y, columns = n_y + 1, info = 0, pivots[3];
    int first = e->problem->constraints[c].law.mu > 0 ? 0 : 2, count = 3 - first;
    int64_t n = e->n;
    double S[9], gamma[3], u[3], out[3];
    if (!make_directions(e, c))
        return false;
    for (int r = first; r < 3; r++)
    {
        for (int q = 0; q < 3; q++)
        {
            gamma[q] = base->Z[r * n + i + q];
            u[q] = base->WZ[r * n + i + q];
        }
        contact_equations(e, c, gamma, u, out);
        memcpy(S + (r - first) * count, out + first, (size_t)count * sizeof *S);
    }
    double *right = e->right, *share = right + 3 * (int64_t)columns; // of the equations; by direction
    for (int k = 0; k < columns; k++)
    {
        for (int q = 0; q < 3; q++)
        {
            gamma[q] = k == 0 ? base->gamma[i + q] : base->slope[(i + q) * (int64_t)n_y + k - 1];
            u[q] = k == 0 ? base->u[i + q] : base->u_slope[(i + q) * (int64_t)n_y + k - 1];
        }
        contact_equations(e, c, gamma, u, out);
        for (int r = 0; r < count; r++)
            right[k * count + r] = -out[first + r];
    }
    dgesv_(&count, &columns, S, &count, pivots, right, &count, &info);
    if (info != 0)
        return false;
    memset(share, 0, 3 * (size_t)columns * sizeof *share);
    for (int r = first; r < 3; r++)
        for (int k = 0; k < columns; k++)
        {
            double value = right[k * count + r - first];
            if (!isfinite(value))
                return false;
            share[k == 0 ? 3 * n_y + r : r * n_y + k - 1] = value;
        }
    memcpy(e->gamma, base->gamma, (size_t)n * sizeof *e->gamma);
    memcpy(e->u, base->u, (size_t)n * sizeof *e->u);
    memcpy(e->slope, base->slope, (size_t)n * (size_t)n_y * sizeof *e->slope);
    memcpy(e->u_slope, base->u_slope, (size_t)n * (size_t)n_y * sizeof *e->u_slope);
    add_directions(e, base->Z, share + 3 * (int64_t)n_y, 1, e->gamma);
    add_directions(e, base->WZ, share + 3 * (int64_t)n_y, 1, e->u);
    add_directions(e, base->Z, share, n_y, e->slope);
    add_directions(e, base->WZ, share, n_y, e->u_slope);
    return true;
}

// ---------------------------------------------------------------- at efforts

// What the equations of K lack at gamma and u, the direction of sliding as it is there.
static void read_miss(const tdExact *e)
{
    const tdProblem *p = e->problem;
    for (int j = 0; j < e->m; j++)
        e->miss[j] = -e->u[e->rows[j]];
    for (int32_t each = 0; each < e->n_in; each++)
    {
        int32_t c = e->in[each];
        int i = p->dual.first[c];
        if (!slides(e, c, e->factored[i]))
            continue;
        double w = tangent_weight(e, i), most = p->constraints[c].law.mu * e->gamma[i + 2];
        double t[2] = {e->gamma[i] - e->u[i] / w, e->gamma[i + 1] - e->u[i + 1] / w}, length = hypot(t[0], t[1]);
        for (int r = 0; r < 2; r++)
            e->miss[e->place[i + r]] = (length > 0 ? most * t[r] / length : 0) - e->gamma[i + r];
    }
}

// Steps with the factor of the last piece, as long as what is left shrinks: directions of sliding turn by little, and a
// contact at the edge of its mode bears nothing in either. True: arrived.
static bool chord(tdExact *e, double tolerance, double size)
{
    double last = INFINITY;
    for (int k = 0; k < CHORDS && e->has_factor && e->m > 0; k++)
    {
        double left = residual(e);
        if (left <= ARRIVED * tolerance * size)
        {
            find_modes(e);
            return true;
        }
        if (!(left < SHRINKS * last))
            return false;
        last = left;
        read_miss(e);
        td_lu_solve(e->isa, e->m, e->K, e->pivots, 1, e->miss);
        for (int j = 0; j < e->m; j++)
            e->gamma[e->rows[j]] += e->miss[j];
        read_motion(e);
    }
    return false;
}

// Impulses that obey the laws are a solution, whether or not a step of Newton's method led to them: a piece whose modes
// hold has them already.
static bool newton(tdExact *e, double tolerance, double size, int *iterations)
{
    for (int k = 0; k <= NEWTONS; k++)
    {
        find_modes(e);
        if (residual(e) <= ARRIVED * tolerance * size)
            return true;
        if (k == NEWTONS || !solve_piece(e, 1))
            return false;
        ++*iterations;
    }
    return false;
}

// By Gauss-Seidel, from no impulses as simulations do.
static void sweep(tdExact *e, double tolerance, tdTasks *tasks, int *iterations)
{
    tdDual *dual = &e->problem->dual;
    tdNlcpSettings settings = {.tolerance = tolerance, .max_iterations = SWEEPS, .tasks = tasks};
    tdNlcpResult result;
    for (int32_t each = 0; each < e->n_in; each++)
    {
        int32_t c = e->in[each];
        dual->laws[each] = e->problem->constraints[c].law;
        for (int r = 0; r < dual->laws[each].rows; r++)
            dual->laws[each].R[r] = e->R[dual->first[c] + r];
    }
    for (int i = 0; i < e->n; i++)
    {
        dual->b[i] = e->b[i] - e->v_hat[i];
        e->gamma[i] = 0;
    }
    const tdNlcp small = {e->n_in, dual->laws, e->n, e->n, dual->W, dual->b, e->gamma};
    td_nlcp_solve(&small, &settings, e->u, &result);
    *iterations += result.iterations;
    e->converged = result.converged;
}

void td_exact_solve(tdExact *e, const double *y, double tolerance, tdTasks *tasks, int *iterations)
{
    double size = 0;
    set_efforts(e, y);
    for (int i = 0; i < e->n; i++)
        size = fmax(size, fabs(e->b[i] - e->v_hat[i]));
    read_motion(e);
    e->converged = e->n == 0 || chord(e, tolerance, size) || newton(e, tolerance, size, iterations);
    for (int k = 0; k < TRIES && !e->converged; k++)
    {
        sweep(e, tolerance, tasks, iterations);
        bool swept = e->converged;
        e->converged = newton(e, tolerance, size, iterations) || swept;
    }
}
