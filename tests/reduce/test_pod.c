// SPDX-License-Identifier: Apache-2.0
// The incremental decomposition of snapshots against LAPACK's of the whole matrix.
#include "base/lapack.h"
#include "reduce/offline/pod.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum
{
    N = 300,
    M = 47
};

static double noise(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 23) - 1;
}

// Smooth columns with a tail of small singular values.
static void make_snapshots(double *S)
{
    unsigned seed = 7;
    for (int j = 0; j < M; j++)
        for (int i = 0; i < N; i++)
        {
            double x = (double)i / N, t = (double)j / M;
            S[i + j * N] = sin(3 * x + 5 * t) + 0.3 * cos(20 * x * t) + 1e-3 * noise(&seed);
        }
}

static tdPod *decompose(const double *S, int block, int most, double drop)
{
    tdPod *pod = NULL;
    tdError error = {0};
    assert_ok(td_pod_create(N, most, drop, &pod, &error), error);
    for (int j = 0; j < M; j += block)
        assert_ok(td_pod_add(pod, NULL, j + block < M ? block : M - j, S + j * N, &error), error);
    return pod;
}

static void test_against_lapack(void **state)
{
    (void)state;
    static double S[N * M], copy[N * M], sigma[M], U[N * M], work[100 * M];
    make_snapshots(S);
    memcpy(copy, S, sizeof S);
    const int n = N, m = M, one = 1, n_work = 100 * M;
    int info = 0;
    dgesvd_("S", "N", &n, &m, copy, &n, sigma, U, &n, NULL, &one, work, &n_work, &info, 1, 1);
    assert_int_equal(info, 0);
    double all = 0;
    for (int i = 0; i < M; i++)
        all += sigma[i] * sigma[i];
    const int blocks[] = {1, 5, 16, M};
    for (int b = 0; b < 4; b++)
    {
        tdPod *pod = decompose(S, blocks[b], M, 0);
        assert_int_equal(td_pod_rank(pod), M);
        for (int i = 0; i < M; i++)
            assert_near(td_pod_sigma(pod)[i], sigma[i], 1e-12 * sigma[0]); // rounding of M updates
        double left = 0, tail = 0;
        int r = td_pod_modes(pod, sqrt(1e-3), &left), expected = M;
        while (expected > 1 && tail + sigma[expected - 1] * sigma[expected - 1] <= 1e-3 * all)
        {
            expected--;
            tail += sigma[expected] * sigma[expected];
        }
        assert_int_equal(r, expected);
        assert_near(left * left, tail / all, 1e-12);
        // Orthonormal, and the same space as LAPACK's.
        double *phi = malloc(sizeof(double) * N * (size_t)r);
        td_pod_basis(pod, r, phi);
        for (int i = 0; i < r; i++)
            for (int j = 0; j <= i; j++)
            {
                double dot = 0, across = 0;
                for (int k = 0; k < N; k++)
                {
                    dot += phi[k * r + i] * phi[k * r + j];
                    across += phi[k * r + i] * U[k + j * N];
                }
                assert_near(dot, i == j, 1e-13);
                if (i == j && sigma[i] > 1.05 * sigma[i + 1])
                    assert_near(fabs(across), 1, 1e-6); // gaps of some percent
            }
        free(phi);
        td_pod_free(pod);
    }
}

// Snapshots that repeat add nothing; zeros are no mode.
static void test_rank(void **state)
{
    (void)state;
    static double S[N * M];
    for (int j = 0; j < M; j++)
        for (int i = 0; i < N; i++)
            S[i + j * N] = (j % 3) * sin(0.1 * i) + (j % 2) * cos(0.07 * i);
    tdPod *pod = decompose(S, 4, 20, 1e-12);
    assert_int_equal(td_pod_rank(pod), 2);
    td_pod_free(pod);
    memset(S, 0, sizeof S);
    pod = decompose(S, 4, 20, 1e-12);
    double left = 1;
    assert_int_equal(td_pod_rank(pod), 0);
    assert_int_equal(td_pod_modes(pod, 1e-3, &left), 0);
    assert_near(left, 0, 0);
    td_pod_free(pod);
}

// What does not fit into `most` modes is counted in the error.
static void test_dropping(void **state)
{
    (void)state;
    static double S[N * M];
    make_snapshots(S);
    tdPod *whole = decompose(S, 8, M, 0), *cut = decompose(S, 8, 12, 0);
    double left_cut = 0;
    assert_int_equal(td_pod_rank(cut), 12);
    int r = td_pod_modes(cut, 1e-30, &left_cut);
    assert_int_equal(r, 12);
    double tail = 0, all = 0;
    for (int i = 0; i < M; i++)
        all += td_pod_sigma(whole)[i] * td_pod_sigma(whole)[i];
    for (int i = 12; i < M; i++)
        tail += td_pod_sigma(whole)[i] * td_pod_sigma(whole)[i];
    assert_true(left_cut * left_cut >= tail / all * (1 - 1e-9)); // no basis of 12 does better
    assert_true(left_cut * left_cut <= 1.5 * tail / all);        // and this one is nearly as good
    td_pod_free(whole);
    td_pod_free(cut);
}

static void test_refuses_nan(void **state)
{
    (void)state;
    static double S[N * M];
    make_snapshots(S);
    S[N + 3] = (double)NAN;
    tdPod *pod = NULL;
    tdError error = {0};
    assert_ok(td_pod_create(N, M, 0, &pod, &error), error);
    assert_int_equal(td_pod_add(pod, NULL, 1, S, &error), TD_OK);
    assert_int_equal(td_pod_add(pod, NULL, M - 1, S + N, &error), TD_ERROR_NUMERIC);
    assert_int_equal(td_pod_rank(pod), 1);
    td_pod_free(pod);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_lapack), cmocka_unit_test(test_rank),
                                       cmocka_unit_test(test_dropping), cmocka_unit_test(test_refuses_nan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
