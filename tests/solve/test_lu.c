// SPDX-License-Identifier: Apache-2.0
// Factors of small matrices that are not symmetric: solutions are those of the matrix, by both sets of kernels, and
// what is singular is said to be.
#include "test.h"

#include "solve/lu.h"

#define MOST   90
#define RIGHTS 21

static double uniform(uint32_t *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed * 0x1p-31 - 1;
}

static double A[MOST * (MOST + TD_LU_LANES)], F[MOST * (MOST + TD_LU_LANES)], x[MOST * (RIGHTS + TD_LU_LANES)],
    b[MOST * (RIGHTS + TD_LU_LANES)];

// Entries of very different sizes, and a zero where elimination would begin.
static void draw(int m, uint32_t *seed)
{
    int stride = td_lu_stride(m);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++)
            A[i * stride + j] = uniform(seed) * pow(10, 3 * uniform(seed));
    for (int i = 0; i < m; i++)
        A[i * stride + (i + 1) % m] += 1e3;
    if (m > 1)
        A[0] = 0;
}

// The largest of |A x - b| beside |A| |x| + |b|.
static double miss(int m, int n)
{
    int stride = td_lu_stride(m), wide = n == 1 ? 1 : td_lu_stride(n);
    double most = 0;
    for (int i = 0; i < m; i++)
        for (int k = 0; k < n; k++)
        {
            double sum = -b[i * wide + k], size = fabs(sum);
            for (int j = 0; j < m; j++)
            {
                sum += A[i * stride + j] * x[j * wide + k];
                size += fabs(A[i * stride + j] * x[j * wide + k]);
            }
            most = fmax(most, fabs(sum) / size);
        }
    return most;
}

static void test_solutions(void **context)
{
    (void)context;
    static const int rights[] = {1, 2, 3, 4, 5, 8, 13, 16, 17, RIGHTS};
    uint32_t seed = 7;
    int pivots[MOST];
    for (int set = 0; set < 2; set++)
        for (int m = 1; m <= MOST; m += m < 20 ? 1 : 7)
            for (size_t r = 0; r < sizeof rights / sizeof rights[0]; r++)
            {
                int n = rights[r];
                tdIsa isa = td_isa_pick(set == 0);
                draw(m, &seed);
                memcpy(F, A, sizeof F);
                for (size_t i = 0; i < sizeof b / sizeof b[0]; i++)
                    b[i] = x[i] = uniform(&seed);
                assert_true(td_lu_factor(isa, m, F, pivots));
                td_lu_solve(isa, m, F, pivots, n, x);
                assert_true(miss(m, n) < 1e-12);
            }
}

static void test_singular(void **context)
{
    (void)context;
    uint32_t seed = 11;
    int pivots[MOST];
    for (int set = 0; set < 2; set++)
        for (int m = 2; m <= 40; m += 3)
        {
            int stride = td_lu_stride(m);
            draw(m, &seed);
            for (int i = 0; i < m; i++)
                A[i * stride + m / 2] = 0;
            assert_false(td_lu_factor(td_isa_pick(set == 0), m, A, pivots));
            draw(m, &seed);
            A[(m - 1) * stride + m / 2] = NAN;
            bool good = td_lu_factor(td_isa_pick(set == 0), m, A, pivots);
            memset(x, 0, sizeof x);
            x[m - 1] = 1;
            if (good) // a number that is not finite is in the factor, and so in the solution
                td_lu_solve(td_isa_pick(set == 0), m, A, pivots, 1, x);
            assert_true(!good || !isfinite(x[0] + x[m - 1]));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solutions),
        cmocka_unit_test(test_singular),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
