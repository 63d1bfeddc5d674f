// SPDX-License-Identifier: Apache-2.0
// tendril bench laws: energy, stress and tangent of one point, for every law in closed form and, where there
// is one, in the form by invariants with its shared expansion.
#include "bench.h"

#include "base/timer.h"
#include "material/law.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum
{
    BATCHES = 64, // of four points, from the first level of cache
    REPEATS = 10
};

typedef struct points
{
    _Alignas(64) double F[BATCHES][36];
    double R[36]; // identity: rotations and fibres
} points;

// Gradients within 15 % of the identity, the same in every run.
static void make_points(points *p)
{
    uint32_t seed = 1;
    for (int b = 0; b < BATCHES; b++)
        for (int i = 0; i < 36; i++)
        {
            seed = seed * 1664525U + 1013904223U;
            p->F[b][i] = (i / 4 % 4 == 0 ? 1 : 0) + 0.3 * (seed * 0x1p-32 - 0.5);
        }
    for (int i = 0; i < 36; i++)
        p->R[i] = i / 4 % 4 == 0;
}

static tdStatus make_parameters(tdLawKind kind, double *parameters, tdError *error)
{
    tdSceneMaterial material = {.law = kind, .young = 450e3, .poisson = 0.45};
    if (kind == TD_LAW_COSTA)
    {
        const double muscle[7] = {1e4, 8, 3, 2, 6, 4, 2.5};
        material = (tdSceneMaterial){.law = kind, .young = NAN, .poisson = NAN, .bulk = 1e6, .has_fibre = true};
        memcpy(material.value, muscle, sizeof muscle);
    }
    return td_law(kind)->parameters(&material, NULL, parameters, error);
}

// Nanoseconds a point.
static double measure(const points *p, const tdLaw *law, tdIsa isa, const double *parameters, bool mjed)
{
    _Alignas(64) double psi[4], P[36], D[4 * TD_TANGENT], I1[4], I2[4], J[4], W[36];
    tdMjedInvariants invariants = td_mjed_invariants(isa);
    tdMjedExpand expand = td_mjed_expand(isa);
    double start = td_seconds();
    for (int k = 0; k < REPEATS; k++)
        for (int b = 0; b < BATCHES; b++)
            if (mjed)
            {
                invariants(p->F[b], I1, I2, J);
                law->mjed[isa](parameters, I1, I2, J, psi, W, true);
                expand(p->F[b], W, P, D);
            }
            else
                law->kernel[isa](parameters, p->F[b], p->R, psi, P, D);
    return (td_seconds() - start) * 1e9 / (4.0 * BATCHES * REPEATS);
}

static spread measure_runs(const points *p, const tdLaw *law, tdIsa isa, const double *parameters, bool mjed, int runs)
{
    double times[BENCH_MOST_RUNS];
    for (int run = -2; run < runs; run++) // two to warm up
    {
        double t = measure(p, law, isa, parameters, mjed);
        if (run >= 0)
            times[run] = t;
    }
    return bench_spread(times, runs);
}

tdStatus bench_laws(int runs, bool print, tdJson *json, tdError *error)
{
    static const char *const isa_names[TD_ISAS] = {"portable", "avx2"}, *const ways[2] = {"closed", "invariants"};
    points p;
    make_points(&p);
    if (print)
        printf("Laws: energy, stress and tangent, nanoseconds a point (median of %d runs, one core)\n\n"
               "  %-20s %29s %29s\n  %-20s %14s %14s %14s %14s\n",
               runs, "", "AVX2        ", "portable      ", "law", "closed", "invariants", "closed", "invariants");
    td_json_open(json, "laws_ns", '{');
    for (int kind = 0; kind < TD_LAWS; kind++)
    {
        const tdLaw *law = td_law(kind);
        double parameters[TD_LAW_PARAMETERS] = {0};
        TD_TRY(make_parameters(kind, parameters, error));
        td_json_open(json, law->name, '{');
        if (print)
            printf("  %-20s", law->name);
        for (int isa = (int)td_isa_pick(false); isa >= 0; isa--)
        {
            td_json_open(json, isa_names[isa], '{');
            for (int way = 0; way < 2; way++)
            {
                if (way == 1 && law->mjed[isa] == NULL)
                {
                    if (print)
                        printf(" %14s", "-");
                    continue;
                }
                spread s = measure_runs(&p, law, isa, parameters, way == 1, runs);
                bench_json_spread(json, ways[way], s);
                if (print)
                    printf(" %14.1f", s.median);
            }
            td_json_close(json, '}');
        }
        td_json_close(json, '}');
        if (print)
            printf("\n");
    }
    td_json_close(json, '}');
    if (print)
        printf("\n");
    return TD_OK;
}
