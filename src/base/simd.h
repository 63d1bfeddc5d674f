// SPDX-License-Identifier: Apache-2.0
// Four doubles at a time, by the compilers' vector extension: AVX2 where the file is compiled
// for it, two SSE2 or NEON registers elsewhere, the same source. Included only by kernels.
//
// A kernel file is compiled once for each instruction set; TD_ISA(name) gives its functions the
// suffix of that set, and the caller picks one at run time (see base/isa.h).
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifndef TD_ISA_SUFFIX
#define TD_ISA_SUFFIX portable
#endif
#define TD_PASTE2(a, b) a##_##b
#define TD_PASTE(a, b)  TD_PASTE2(a, b)
#define TD_ISA(name)    TD_PASTE(name, TD_ISA_SUFFIX)

#define TD_LANES 4

typedef double td4 __attribute__((vector_size(32)));
typedef int64_t td4i __attribute__((vector_size(32))); // masks: 0 or -1 in each lane

static inline td4 td4_set(double a)
{
    return (td4){a, a, a, a};
}

static inline td4 td4_load(const double *p)
{
    td4 a;
    memcpy(&a, p, sizeof a);
    return a;
}

static inline void td4_store(double *p, td4 a)
{
    memcpy(p, &a, sizeof a);
}

/// Eight floats, for products that need not be exact.
typedef float td8f __attribute__((vector_size(32)));
typedef float td4f __attribute__((vector_size(16)));

static inline td8f td8f_set(float a)
{
    return (td8f){a, a, a, a, a, a, a, a};
}

static inline td8f td8f_load(const float *p)
{
    td8f a;
    memcpy(&a, p, sizeof a);
    return a;
}

static inline void td8f_store(float *p, td8f a)
{
    memcpy(p, &a, sizeof a);
}

#if defined(TD_WIDE)
/// Eight doubles and sixteen floats, in the kernels that are compiled for them too.
typedef double td8 __attribute__((vector_size(64)));
typedef float td16f __attribute__((vector_size(64)));

static inline td8 td8_set(double a)
{
    return (td8){a, a, a, a, a, a, a, a};
}

static inline td8 td8_load(const double *p)
{
    td8 a;
    memcpy(&a, p, sizeof a);
    return a;
}

static inline void td8_store(double *p, td8 a)
{
    memcpy(p, &a, sizeof a);
}

static inline td16f td16f_set(float a)
{
    return (td16f){a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a};
}

static inline td16f td16f_load(const float *p)
{
    td16f a;
    memcpy(&a, p, sizeof a);
    return a;
}

static inline void td16f_store(float *p, td16f a)
{
    memcpy(p, &a, sizeof a);
}
#endif

/// to[0..count) += a, with count 4 or 8.
static inline void td8f_add_to(double *to, td8f a, int count)
{
    td4f part[2];
    memcpy(part, &a, sizeof a);
    td4_store(to, td4_load(to) + __builtin_convertvector(part[0], td4));
    if (count > 4)
        td4_store(to + 4, td4_load(to + 4) + __builtin_convertvector(part[1], td4));
}

static inline td4 td4_select(td4i mask, td4 yes, td4 no)
{
    return (td4)((mask & (td4i)yes) | (~mask & (td4i)no));
}

/// Rows of the 4 x 4 matrix become columns.
static inline void td4_transpose(td4 *a)
{
#if defined(__clang__) || __GNUC__ >= 12
#define TD_MIX(x, y, i, j, k, l) __builtin_shufflevector(x, y, i, j, k, l)
#else
#define TD_MIX(x, y, i, j, k, l) __builtin_shuffle(x, y, (td4i){i, j, k, l})
#endif
    td4 low01 = TD_MIX(a[0], a[1], 0, 4, 2, 6), high01 = TD_MIX(a[0], a[1], 1, 5, 3, 7);
    td4 low23 = TD_MIX(a[2], a[3], 0, 4, 2, 6), high23 = TD_MIX(a[2], a[3], 1, 5, 3, 7);
    a[0] = TD_MIX(low01, low23, 0, 1, 4, 5);
    a[1] = TD_MIX(high01, high23, 0, 1, 4, 5);
    a[2] = TD_MIX(low01, low23, 2, 3, 6, 7);
    a[3] = TD_MIX(high01, high23, 2, 3, 6, 7);
#undef TD_MIX
}

static inline td4 td4_max(td4 a, td4 b)
{
    return td4_select(a > b, a, b);
}

static inline td4 td4_min(td4 a, td4 b)
{
    return td4_select(a < b, a, b);
}

static inline td4 td4_abs(td4 a)
{
    return (td4)((td4i)a & (td4i){INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX});
}

static inline td4 td4_sqrt(td4 a)
{
    td4 r;
    for (int i = 0; i < TD_LANES; i++)
        r[i] = sqrt(a[i]);
    return r;
}

static inline td4 td4_log(td4 a)
{
    td4 r;
    for (int i = 0; i < TD_LANES; i++)
        r[i] = log(a[i]);
    return r;
}

static inline int td4_any(td4i mask)
{
    return (mask[0] | mask[1] | mask[2] | mask[3]) != 0;
}
