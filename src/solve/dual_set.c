// SPDX-License-Identifier: Apache-2.0
// See dual_set.h. Unknowns are scaled so that columns of E have unit length; J J' = H⁻¹, and the triangle T is that of
// J' N for the normals N of the bounds that hold, over the first columns of J.
#include "solve/dual_set.h"

#include "solve/dense.h"

#include <string.h>

#define EPS       1e-7  // what keeps H definite
#define MET       1e-10 // of the sizes of its terms: a bound that is violated by less holds
#define DEPENDENT 1e-13 // square of a normal's part that those which hold do not span

bool td_dual_set_take(tdDualSet *s, tdArena *arena, int n, int m)
{
    size_t un = (size_t)n, um = (size_t)m;
    *s = (tdDualSet){.n = n, .m = m};
    struct
    {
        double **at;
        size_t count;
    } parts[] = {{&s->H, un * un}, {&s->J, un * un}, {&s->T, un * un}, {&s->unit, un}, {&s->row, um}, {&s->C, um * un},
                 {&s->x, un},      {&s->g, un},      {&s->d, un},      {&s->z, un},    {&s->u, un},   {&s->r, un}};
    bool good = true;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        good = (*parts[i].at = TD_TAKE(arena, double, parts[i].count + 1)) != NULL && good;
    s->held = TD_TAKE(arena, int, un + 1);
    s->side = TD_TAKE(arena, signed char, un + um + 1);
    return good && s->held != NULL && s->side != NULL;
}

// ---------------------------------------------------------------- the minimum without bounds

// H, its factor as J = L^-T by columns, and x. False: numbers are none, or a row without unknowns is not met.
static bool begin(tdDualSet *s, const tdDualSetProblem *p, const double *near)
{
    int n = p->n;
    double *H = s->H, *J = s->J;
    memset(H, 0, (size_t)(n * n) * sizeof *H);
    memset(s->g, 0, (size_t)n * sizeof *s->g);
    for (int i = 0; i < p->e; i++)
    {
        const double *row = p->E + i * n;
        double error = p->e0[i] + td_dot(row, near, n);
        for (int j = 0; j < n; j++)
        {
            s->g[j] += row[j] * error;
            for (int k = 0; k <= j; k++)
                H[j * n + k] += row[j] * row[k];
        }
    }
    double most = 0;
    for (int j = 0; j < n; j++)
        most = fmax(most, H[j * n + j]);
    for (int j = 0; j < n; j++)
    {
        double range = p->xu[j] - p->xl[j];
        s->unit[j] = H[j * n + j] > 1e-28 * most ? 1 / sqrt(H[j * n + j]) : range > 0 && isfinite(range) ? range : 1;
    }
    for (int j = 0; j < n; j++)
    {
        for (int k = 0; k <= j; k++)
            H[j * n + k] *= s->unit[j] * s->unit[k];
        H[j * n + j] += EPS;
        s->g[j] *= s->unit[j];
    }
    for (int j = 0; j < n; j++) // L over H, by rows
        for (int k = 0; k <= j; k++)
        {
            double sum = H[j * n + k] - td_dot(H + j * n, H + k * n, k);
            if (k < j)
                H[j * n + k] = sum / H[k * n + k];
            else if (sum > 0)
                H[j * n + j] = sqrt(sum);
            else
                return false;
        }
    // Column i of L^-T is row i of L^-1.
    memset(J, 0, (size_t)(n * n) * sizeof *J);
    for (int i = 0; i < n; i++)
    {
        double *row = J + i * n;
        for (int k = 0; k < i; k++)
            for (int l = 0; l <= k; l++)
                row[l] -= H[i * n + k] * J[k * n + l];
        row[i] = 1;
        for (int l = 0; l <= i; l++)
            row[l] /= H[i * n + i];
    }
    for (int i = 0; i < n; i++)
        s->d[i] = td_dot(J + i * n, s->g, n);
    for (int j = 0; j < n; j++)
        s->x[j] = near[j] / s->unit[j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            s->x[j] -= J[i * n + j] * s->d[i];
    for (int i = 0; i < p->m; i++)
    {
        double *row = s->C + i * n;
        for (int j = 0; j < n; j++)
            row[j] = p->C[i * n + j] * s->unit[j];
        double length = td_norm(row, n);
        s->row[i] = length > 0 ? 1 / length : 0;
        if (length == 0 && (p->cl[i] > 0 || p->cu[i] < 0))
            return false;
        for (int j = 0; j < n; j++)
            row[j] *= s->row[i];
    }
    return td_all_finite(s->x, (size_t)n) && td_all_finite(s->C, (size_t)(p->m * n));
}

// ---------------------------------------------------------------- bounds

// Bounds of unknown or row j, scaled.
static void bounds_of(const tdDualSet *s, const tdDualSetProblem *p, int j, double *lo, double *hi)
{
    double scale = j < p->n ? 1 / s->unit[j] : s->row[j - p->n];
    *lo = scale * (j < p->n ? p->xl[j] : p->cl[j - p->n]);
    *hi = scale * (j < p->n ? p->xu[j] : p->cu[j - p->n]);
}

// By how much x is beyond the bound of j on this side.
static double beyond(const tdDualSet *s, const tdDualSetProblem *p, int j, int side)
{
    double at = j < p->n ? s->x[j] : td_dot(s->C + (j - p->n) * p->n, s->x, p->n), lo, hi;
    bounds_of(s, p, j, &lo, &hi);
    return side < 0 ? lo - at : at - hi;
}

// The bound that is violated most; -1: none is.
static int most_violated(const tdDualSet *s, const tdDualSetProblem *p, int *side)
{
    int n = p->n, found = -1;
    double size = td_norm(s->x, n), most = 0;
    for (int j = 0; j < n + p->m; j++)
    {
        if (s->side[j] != 0 || (j >= n && s->row[j - n] == 0))
            continue;
        double at = j < n ? s->x[j] : td_dot(s->C + (j - n) * n, s->x, n), lo, hi;
        bounds_of(s, p, j, &lo, &hi);
        double bound = at < lo ? lo : hi, off = fmax(lo - at, at - hi) - MET * fmax(size, fabs(bound));
        if (off > most)
        {
            most = off;
            found = j;
            *side = at < lo ? -1 : 1;
        }
    }
    return found;
}

// d = J' normal, the normal pointing to where the bound is met.
static void turn_normal(const tdDualSet *s, const tdDualSetProblem *p, int j, int side, double *d)
{
    int n = p->n;
    for (int i = 0; i < n; i++)
        d[i] = -side * (j < n ? s->J[i * n + j] : td_dot(s->J + i * n, s->C + (j - n) * n, n));
}

// Columns i and i + 1 of J, and of what is multiplied by them, turned so that b becomes 0.
static void rotate(double *J, int n, double *a, double *b, double *cosine, double *sine)
{
    double length = sqrt(*a * *a + *b * *b);
    *cosine = length > 0 ? *a / length : 1;
    *sine = length > 0 ? *b / length : 0;
    *a = length;
    *b = 0;
    for (int j = 0; j < n; j++)
    {
        double first = J[j], second = J[n + j];
        J[j] = *cosine * first + *sine * second;
        J[n + j] = *cosine * second - *sine * first;
    }
}

// The bound j holds from now on.
static void add(tdDualSet *s, int n, int count, int j, int side)
{
    double cosine, sine;
    for (int i = n - 2; i >= count; i--)
        if (s->d[i + 1] != 0)
            rotate(s->J + i * n, n, s->d + i, s->d + i + 1, &cosine, &sine);
    memcpy(s->T + count * n, s->d, (size_t)(count + 1) * sizeof *s->d);
    s->held[count] = j;
    s->side[j] = (signed char)side;
}

// The bound at place `out` does not hold any more.
static void drop(tdDualSet *s, int n, int count, int out)
{
    s->side[s->held[out]] = 0;
    for (int i = out; i + 1 < count; i++)
    {
        s->held[i] = s->held[i + 1];
        s->u[i] = s->u[i + 1];
        memcpy(s->T + i * n, s->T + (i + 1) * n, (size_t)(i + 2) * sizeof *s->T);
    }
    for (int i = out; i + 1 < count; i++)
    {
        double cosine, sine;
        rotate(s->J + i * n, n, s->T + i * n + i, s->T + i * n + i + 1, &cosine, &sine);
        for (int k = i + 1; k + 1 < count; k++)
        {
            double *a = s->T + k * n + i, first = a[0], second = a[1];
            a[0] = cosine * first + sine * second;
            a[1] = cosine * second - sine * first;
        }
    }
}

// ---------------------------------------------------------------- steps

// Takes in bound j. False: it contradicts those that hold.
static bool take_in(tdDualSet *s, const tdDualSetProblem *p, int j, int side, int *count, int *left)
{
    int n = p->n;
    double mine = 0; // its multiplier
    while ((*left)-- > 0)
    {
        int out = -1;
        double part = 0, whole, dual = INFINITY, *z = s->z, *r = s->r;
        turn_normal(s, p, j, side, s->d);
        memset(z, 0, (size_t)n * sizeof *z);
        for (int i = *count; i < n; i++)
        {
            part += s->d[i] * s->d[i];
            for (int k = 0; k < n; k++)
                z[k] += s->d[i] * s->J[i * n + k];
        }
        whole = part + td_dot(s->d, s->d, *count);
        for (int i = *count - 1; i >= 0; i--)
        {
            double sum = s->d[i];
            for (int k = i + 1; k < *count; k++)
                sum -= s->T[k * n + i] * r[k];
            r[i] = sum / s->T[i * n + i];
            double lo, hi;
            bounds_of(s, p, s->held[i], &lo, &hi);
            if (r[i] > 0 && lo < hi && s->u[i] < dual * r[i])
            {
                dual = fmax(0, s->u[i] / r[i]);
                out = i;
            }
        }
        double full = part > DEPENDENT * whole ? beyond(s, p, j, side) / part : INFINITY, t = fmin(full, dual);
        if (!(t < INFINITY))
            return false;
        for (int i = 0; i < *count; i++)
            s->u[i] -= t * r[i];
        mine += t;
        for (int k = 0; k < n && full < INFINITY; k++)
            s->x[k] += t * z[k];
        if (t == full)
        {
            add(s, n, *count, j, side);
            s->u[(*count)++] = mine;
            return true;
        }
        drop(s, n, (*count)--, out);
    }
    return false;
}

bool td_dual_set_solve(tdDualSet *s, const tdDualSetProblem *p, double *x, signed char *active, int *iterations)
{
    int n = p->n, count = 0, most = 10 * (n + p->m) + 20, left = most, side = 0;
    if (n == 0 || !begin(s, p, x))
        return false;
    memset(s->side, 0, (size_t)(n + p->m) * sizeof *s->side);
    for (int j = most_violated(s, p, &side); j >= 0; j = most_violated(s, p, &side))
        if (!take_in(s, p, j, side, &count, &left))
            return false;
    *iterations += most - left;
    for (int j = 0; j < n; j++)
        x[j] = s->side[j] < 0   ? p->xl[j]
               : s->side[j] > 0 ? p->xu[j]
                                : fmin(fmax(s->x[j] * s->unit[j], p->xl[j]), p->xu[j]);
    memcpy(active, s->side, (size_t)(n + p->m) * sizeof *active);
    return true;
}
