// SPDX-License-Identifier: Apache-2.0
// Supernodes of a plan, for those who make and fill it.
#pragma once
#include "solve/factor.h"

#include <cholmod.h>

static inline int32_t first_of(const tdFactorPlan *p, int32_t s)
{
    return ((const int32_t *)p->shape->super)[s];
}

static inline int32_t columns_of(const tdFactorPlan *p, int32_t s)
{
    return first_of(p, s + 1) - first_of(p, s);
}

static inline int32_t rows_at(const tdFactorPlan *p, int32_t s)
{
    return ((const int32_t *)p->shape->pi)[s];
}

static inline int32_t rows_of(const tdFactorPlan *p, int32_t s)
{
    return rows_at(p, s + 1) - rows_at(p, s);
}

static inline int64_t below_of(const tdFactorPlan *p, int32_t s)
{
    return rows_of(p, s) - columns_of(p, s);
}

static inline const int32_t *list_of(const tdFactorPlan *p, int32_t s)
{
    return (const int32_t *)p->shape->s + rows_at(p, s);
}

static inline double super_flops(const tdFactorPlan *p, int32_t s)
{
    double n = columns_of(p, s), m = (double)below_of(p, s);
    return n * n * n / 3 + n * n * m + n * m * m;
}
