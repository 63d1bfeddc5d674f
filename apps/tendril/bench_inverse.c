// SPDX-License-Identifier: Apache-2.0
// tendril bench inverse: the inverse problem of one linearization, along a motion as control would meet it. Targets
// circle in and out of reach, so that bounds become active and inactive; E and W change a little every step.
#include "bench.h"

#include "base/timer.h"
#include "solve/inverse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum
{
    STEPS = 2000,
    MOST_A = 9,
    MOST_E = 6
};

typedef struct robot
{
    int n_a, n_e;
    double E[MOST_E * MOST_A], W[MOST_A * MOST_A];
} robot;

// Actuators around the axis: cables of force and, beyond the fourth, cavities of pressure (1e5 times the number).
static void make_robot(robot *r, int n_a, int n_e)
{
    uint32_t seed = 7;
    *r = (robot){.n_a = n_a, .n_e = n_e};
    for (int j = 0; j < n_a; j++)
    {
        double unit = j < 4 ? 1e-3 : 1e-8, angle = 6.283185307179586 * j / n_a;
        double column[MOST_E] = {cos(angle), sin(angle), -0.3, 0.5 * sin(2 * angle), 0.5 * cos(2 * angle), 0.2};
        for (int i = 0; i < n_e; i++)
        {
            seed = seed * 1664525U + 1013904223U;
            r->E[i * n_a + j] = unit * (column[i] + 0.2 * (seed * 0x1p-32 - 0.5));
        }
        for (int k = 0; k < n_a; k++) // neighbours help each other
            r->W[j * n_a + k] =
                unit * (k < 4 ? 1e-3 : 1e-8) * (j == k ? 1500 : 500 * cos(angle - 6.283185307179586 * k / n_a));
    }
}

typedef struct track
{
    double E[MOST_E * MOST_A], e0[MOST_E], W[MOST_A * MOST_A], xl[MOST_A], xu[MOST_A];
    double C[MOST_A * MOST_A], cl[MOST_A], cu[MOST_A], x[MOST_A];
    signed char active[2 * MOST_A];
} track;

static void at_step(const robot *r, int step, track *t)
{
    double phase = 0.01 * step;
    for (int i = 0; i < r->n_e * r->n_a; i++)
        t->E[i] = r->E[i] * (1 + 0.1 * sin(phase + i));
    double stiff = 1 + 0.1 * sin(0.7 * phase);
    for (int i = 0; i < r->n_a * r->n_a; i++)
        t->W[i] = t->C[i] = r->W[i] * stiff;
    for (int i = 0; i < r->n_e; i++) // where an actuation would bring the effectors that leaves its bounds at times
    {
        t->e0[i] = 0;
        for (int j = 0; j < r->n_a; j++)
            t->e0[i] -= r->E[i * r->n_a + j] * (j < 4 ? 1 : 1e5) *
                        (5 + (5 + 4 * sin(0.37 * phase)) * sin(phase - 6.283185307179586 * j / r->n_a));
    }
    for (int j = 0; j < r->n_a; j++)
    {
        double unit = j < 4 ? 1 : 1e5;
        t->xl[j] = 0; // cables pull, cavities press
        t->xu[j] = 10 * unit;
        t->cl[j] = -1;
        t->cu[j] = 6 * t->W[j * r->n_a + j] * unit; // displacement of the actuator: as if pulled by 6 alone
    }
}

typedef struct timing
{
    double median, p99, iterations;
    int bounds, out_of_reach, failed;
} timing;

static timing follow(const robot *r, tdInverseWork *work, tdEnergyMode energy, tdInverseSolver solver, bool warm)
{
    static double times[STEPS];
    track t = {0};
    timing result = {0};
    tdInverse p = {.n_a = r->n_a,
                   .n_e = r->n_e,
                   .n_c = r->n_a,
                   .E = t.E,
                   .e0 = t.e0,
                   .W = t.W,
                   .xl = t.xl,
                   .xu = t.xu,
                   .C = t.C,
                   .cl = t.cl,
                   .cu = t.cu,
                   .energy = energy,
                   .solver = solver,
                   .epsilon = 1e-3,
                   .tolerance = 1e-6};
    tdInverseResult out = {.x = t.x, .active = t.active};
    for (int step = -100; step < STEPS; step++)
    {
        at_step(r, step, &t);
        double start = td_seconds();
        td_inverse_solve(&p, work, warm && step > -100, &out);
        double end = td_seconds();
        if (step < 0)
            continue;
        times[step] = 1e6 * (end - start);
        result.iterations += (double)out.iterations / STEPS;
        result.out_of_reach += out.out_of_reach;
        result.failed += out.status != TD_QP_OPTIMAL;
        for (int j = 0; j < 2 * r->n_a; j++)
            result.bounds += t.active[j] != 0;
    }
    result.median = bench_spread(times, STEPS).median; // sorted by it
    result.p99 = times[STEPS * 99 / 100];
    return result;
}

tdStatus bench_inverse(bool print, tdJson *json, tdError *error)
{
    static const struct
    {
        const char *name;
        tdEnergyMode energy;
        tdInverseSolver solver;
    } modes[] = {{"null_space", TD_ENERGY_NULL_SPACE, TD_INVERSE_QP},
                 {"s4", TD_ENERGY_S4, TD_INVERSE_QP},
                 {"gauss_seidel", TD_ENERGY_S4, TD_INVERSE_GAUSS_SEIDEL}};
    static const int sizes[][2] = {{4, 3}, {9, 3}, {9, 6}};
    tdArena arena = {0};
    tdInverseWork *work = td_inverse_work(&arena, MOST_A, MOST_E, MOST_A);
    if (work == NULL)
    {
        td_arena_free(&arena);
        return td_fail_memory(error, "the inverse problem");
    }
    if (print)
        printf("Inverse: one linearization, microseconds (%d steps of a motion, one core)\n\n"
               "  %-9s %-9s %-13s %-5s %8s %8s %11s %7s %13s %10s\n",
               STEPS, "actuators", "effectors", "mode", "start", "median", "p99", "iterations", "bounds",
               "out of reach", "unfinished");
    td_json_open(json, "inverse_us", '[');
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++)
            for (int warm = 1; warm >= 0; warm--)
            {
                robot r;
                make_robot(&r, sizes[s][0], sizes[s][1]);
                timing t = follow(&r, work, modes[m].energy, modes[m].solver, warm == 1);
                td_json_open(json, NULL, '{');
                td_json_integer(json, "actuators", r.n_a);
                td_json_integer(json, "effector_rows", r.n_e);
                td_json_integer(json, "displacement_rows", r.n_a);
                td_json_string(json, "mode", modes[m].name);
                td_json_bool(json, "warm", warm == 1);
                td_json_number(json, "median", t.median);
                td_json_number(json, "p99", t.p99);
                td_json_number(json, "iterations", t.iterations);
                td_json_number(json, "bounds", (double)t.bounds / STEPS);
                td_json_number(json, "out_of_reach", (double)t.out_of_reach / STEPS);
                td_json_integer(json, "unfinished", t.failed);
                td_json_close(json, '}');
                if (print)
                    printf("  %-9d %-9d %-13s %-5s %8.1f %8.1f %11.1f %7.1f %11.0f %% %10d\n", r.n_a, r.n_e,
                           modes[m].name, warm == 1 ? "warm" : "cold", t.median, t.p99, t.iterations,
                           (double)t.bounds / STEPS, 100.0 * t.out_of_reach / STEPS, t.failed);
            }
    td_json_close(json, ']');
    if (print)
        printf("\n");
    td_arena_free(&arena);
    return TD_OK;
}
