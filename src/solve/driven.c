// SPDX-License-Identifier: Apache-2.0
#include "solve/driven.h"

#include <math.h>
#include <string.h>

// Gaussian elimination with row exchange on A (n x n row-major) and x; false when A is singular.
static bool eliminate(int n, double *A, double *x)
{
    for (int k = 0; k < n; k++)
    {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(A[i * n + k]) > fabs(A[best * n + k]))
                best = i;
        if (!(fabs(A[best * n + k]) > 0))
            return false;
        for (int j = k; j < n && best != k; j++)
        {
            double t = A[k * n + j];
            A[k * n + j] = A[best * n + j];
            A[best * n + j] = t;
        }
        double t = x[k];
        x[k] = x[best];
        x[best] = t;
        for (int i = k + 1; i < n; i++)
        {
            double f = A[i * n + k] / A[k * n + k];
            for (int j = k; j < n && f != 0; j++)
                A[i * n + j] -= f * A[k * n + j];
            x[i] -= f * x[k];
        }
    }
    for (int k = n - 1; k >= 0; k--)
    {
        for (int j = k + 1; j < n; j++)
            x[k] -= A[k * n + j] * x[j];
        x[k] /= A[k * n + k];
    }
    return true;
}

// y for a guess of who is at which bound.
static bool solve_free(const tdDrivenProblem *p, const signed char *active, double *A, double *rhs, double *y)
{
    int n = p->n, m = 0;
    for (int i = 0; i < n; i++)
        if (active[i] != 0)
            y[i] = active[i] < 0 ? p->lo[i] : p->hi[i];
    for (int i = 0; i < n; i++)
    {
        if (active[i] != 0)
            continue;
        rhs[m] = -p->b[i];
        for (int j = 0; j < n; j++)
            rhs[m] -= active[j] != 0 ? p->M[i * n + j] * y[j] : 0;
        m++;
    }
    for (int i = 0, row = 0; i < n; i++)
    {
        if (active[i] != 0)
            continue;
        for (int j = 0, column = 0; j < n; j++)
            if (active[j] == 0)
                A[row * m + column++] = p->M[i * n + j];
        row++;
    }
    if (!eliminate(m, A, rhs))
        return false;
    for (int i = 0, k = 0; i < n; i++)
        if (active[i] == 0)
            y[i] = rhs[k++];
    return true;
}

// Where unknown i belongs: its present place when nothing is wrong with it.
static signed char place(const tdDrivenProblem *p, int i, signed char active, const double *y, double scale)
{
    if (active == 0)
        return (signed char)(y[i] < p->lo[i] ? -1 : y[i] > p->hi[i] ? 1 : 0);
    double r = p->b[i];
    for (int j = 0; j < p->n; j++)
        r += p->M[i * p->n + j] * y[j];
    if (p->lo[i] == p->hi[i])
        return active;
    return (active < 0 && r < -scale) || (active > 0 && r > scale) ? 0 : active;
}

static double rounding(const tdDrivenProblem *p)
{
    double largest = 0;
    for (int i = 0; i < p->n; i++)
        largest = fmax(largest, fabs(p->b[i]));
    return 1e-13 * largest;
}

bool td_driven_solve(const tdDrivenProblem *p, double *scratch, double *y, signed char *active)
{
    int n = p->n, least = n + 1, blocks = 3;
    double *A = scratch, *rhs = scratch + (int64_t)n * n, tiny = rounding(p);
    for (int i = 0; i < n; i++)
        if ((active[i] < 0 && isinf(p->lo[i])) || (active[i] > 0 && isinf(p->hi[i])))
            active[i] = 0;
    bool solved = false;
    for (int pivot = 0; pivot < 10 * n + 20 && !solved; pivot++)
    {
        if (!solve_free(p, active, A, rhs, y))
            break;
        int wrong = 0, last = -1;
        for (int i = 0; i < n; i++)
            if (place(p, i, active[i], y, tiny) != active[i])
            {
                wrong++;
                last = i;
            }
        solved = wrong == 0;
        // Blocks while they make progress, or a few times without; else one at a time, the last first (Murty), which
        // ends for every matrix whose principal minors are positive.
        bool block = wrong < least || blocks-- > 0;
        if (wrong < least)
        {
            least = wrong;
            blocks = 3;
        }
        if (!solved && block)
            for (int i = 0; i < n; i++)
                active[i] = place(p, i, active[i], y, tiny);
        else if (!solved)
            active[last] = place(p, last, active[last], y, tiny);
    }
    for (int i = 0; i < n; i++)
        y[i] = fmin(fmax(y[i], p->lo[i]), p->hi[i]);
    return solved;
}
