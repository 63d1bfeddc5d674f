// SPDX-License-Identifier: Apache-2.0
// tendril bench sap: the contact solvers at the sizes of S5's chain and torus. Condensation of one body both ways,
// towers of rigid boxes by both solvers, and chains of links in contact; one core unless said otherwise.
#include "bench.h"

#include "base/timer.h"
#include "solve/nlcp.h"
#include "solve/sap.h"
#include "solve/schur.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP 0.02 // S5's time step for chain and torus [s]

static double random_unit(uint32_t *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed * 0x1p-32;
}

// ---------------------------------------------------------------- rings

// A ring of tetrahedra about the z axis and its matrix A of one step: 500 kg/m³, 10 MPa, 0.4, damping 0.05 s (S5).
typedef struct ring
{
    int sections, cells; // around; across, in both directions
    int32_t nodes, tets;
    double *X;
    tdArena arena;
    tdBlockPattern pattern;
    tdLinearModel model;
    double *values;
} ring;

static const double major = 0.1, minor = 0.02;

static void place_nodes(ring *r)
{
    int across = r->cells + 1;
    for (int s = 0; s < r->sections; s++)
        for (int i = 0; i < across; i++)
            for (int j = 0; j < across; j++)
            {
                double u = 2.0 * i / r->cells - 1, v = 2.0 * j / r->cells - 1; // a square onto a disc
                double x = u * sqrt(1 - v * v / 2), y = v * sqrt(1 - u * u / 2);
                double radius = major + minor * x, angle = 2 * M_PI * s / r->sections;
                double *X = r->X + 3 * ((s * across + i) * across + j);
                X[0] = radius * cos(angle);
                X[1] = radius * sin(angle);
                X[2] = minor * y;
            }
}

static void list_tets(const ring *r, int32_t *tets)
{
    static const int kuhn[6][4] = {{0, 1, 3, 7}, {0, 1, 5, 7}, {0, 2, 3, 7}, {0, 2, 6, 7}, {0, 4, 5, 7}, {0, 4, 6, 7}};
    int across = r->cells + 1;
    for (int s = 0; s < r->sections; s++)
        for (int i = 0; i < r->cells; i++)
            for (int j = 0; j < r->cells; j++)
                for (int k = 0; k < 24; k++)
                {
                    int corner = kuhn[k / 4][k % 4];
                    int section = (s + (corner & 1)) % r->sections;
                    *tets++ = (section * across + i + ((corner >> 1) & 1)) * across + j + (corner >> 2);
                }
}

// M (lumped) + h (h + beta) K of one linear tetrahedron.
static void element(const double *const X[4], double M[12][12])
{
    const double young = 10e6, poisson = 0.4, density = 500, of_K = STEP * (STEP + 0.05);
    double mu = young / (2 * (1 + poisson)), lambda = young * poisson / ((1 + poisson) * (1 - 2 * poisson));
    double e[3][3], g[4][3] = {{0}};
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 3; c++)
            e[k][c] = X[k + 1][c] - X[0][c];
    double cross[3][3];
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 3; c++)
        {
            const double *u = e[(k + 1) % 3], *v = e[(k + 2) % 3];
            cross[k][c] = u[(c + 1) % 3] * v[(c + 2) % 3] - u[(c + 2) % 3] * v[(c + 1) % 3];
        }
    double det = e[0][0] * cross[0][0] + e[0][1] * cross[0][1] + e[0][2] * cross[0][2], volume = fabs(det) / 6;
    for (int c = 0; c < 3; c++)
        for (int k = 0; k < 3; k++)
        {
            g[k + 1][c] = cross[k][c] / det;
            g[0][c] -= g[k + 1][c];
        }
    for (int a = 0; a < 12; a++)
        for (int b = 0; b < 12; b++)
        {
            const double *ga = g[a / 3], *gb = g[b / 3];
            int i = a % 3, j = b % 3;
            double dot = ga[0] * gb[0] + ga[1] * gb[1] + ga[2] * gb[2];
            M[a][b] = of_K * volume * (lambda * ga[i] * gb[j] + mu * ga[j] * gb[i] + (i == j ? mu * dot : 0));
            M[a][b] += a == b ? density * volume / 4 : 0;
        }
}

static void ring_free(ring *r)
{
    td_linear_model_free(&r->model);
    td_arena_free(&r->arena);
}

static tdStatus ring_make(ring *r, int sections, int cells, tdError *error)
{
    *r = (ring){.sections = sections, .cells = cells};
    r->nodes = sections * (cells + 1) * (cells + 1);
    r->tets = 6 * sections * cells * cells;
    r->X = TD_TAKE(&r->arena, double, 3 * (int64_t)r->nodes);
    int32_t *tets = TD_TAKE(&r->arena, int32_t, 4 * (int64_t)r->tets);
    bool *held = TD_TAKE(&r->arena, bool, 3 * (int64_t)r->nodes);
    if (r->X == NULL || tets == NULL || held == NULL)
        return td_fail_memory(error, "the ring");
    place_nodes(r);
    list_tets(r, tets);
    TD_TRY(td_block_pattern(&r->arena, r->nodes, r->tets, 4, tets, &r->pattern, error));
    TD_TRY(td_linear_model_create(&r->arena, &r->pattern, held, NULL, &r->model, error));
    r->values = TD_TAKE(&r->arena, double, 9 * r->pattern.blocks);
    if (r->values == NULL)
        return td_fail_memory(error, "the ring");
    for (int32_t t = 0; t < r->tets; t++)
    {
        const int32_t *n = tets + 4 * (int64_t)t;
        const double *const X[4] = {r->X + 3 * n[0], r->X + 3 * n[1], r->X + 3 * n[2], r->X + 3 * n[3]};
        double M[12][12];
        element(X, M);
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++)
                for (int k = 0; k < 9 && n[a] >= n[b]; k++)
                    r->values[9 * (int64_t)td_block_find(&r->pattern, n[a], n[b]) + k] +=
                        M[3 * a + k / 3][3 * b + k % 3];
    }
    return TD_OK;
}

// The n surface nodes nearest to a point inside the ring: where another link would touch it.
static int32_t ring_patch(const ring *r, double x, int32_t n, int32_t *nodes)
{
    int across = r->cells + 1;
    double last = -1;
    for (int32_t k = 0; k < n; k++)
    {
        int32_t best = -1;
        double nearest = INFINITY;
        for (int32_t i = 0; i < r->nodes; i++)
        {
            int a = i % (across * across) / across, b = i % across;
            const double *X = r->X + 3 * i;
            double d = hypot(hypot(X[0] - x, X[1]), X[2]) + 1e-12 * i; // ties by number
            if ((a == 0 || b == 0 || a == r->cells || b == r->cells) && d > last && d < nearest)
            {
                nearest = d;
                best = i;
            }
        }
        nodes[k] = best;
        last = nearest;
    }
    return n;
}

// ---------------------------------------------------------------- condensation

typedef struct schurTimes
{
    spread factor, condense, recover;
    double analysis, flops, condense_flops;
    int32_t participating;
} schurTimes;

static tdStatus time_schur(const ring *r, tdSchurWay way, int32_t n, const int32_t *nodes, int runs, schurTimes *out,
                           tdError *error)
{
    tdSchur *schur = NULL;
    tdSchurSettings settings = td_default_schur();
    settings.way = way;
    TD_TRY(td_schur_create(&r->model, &settings, &schur, error));
    double factor[BENCH_MOST_RUNS], condense[BENCH_MOST_RUNS], recover[BENCH_MOST_RUNS];
    double *dv = td_take(6 * (size_t)r->nodes, sizeof *dv), first = 0;
    tdStatus status = dv == NULL ? td_fail_memory(error, "the velocities") : TD_OK;
    for (int32_t i = 0; i < 3 * r->nodes && dv != NULL; i++) // of zeros nothing would be solved
        dv[3 * r->nodes + i] = 1e-3 * (i % 7 - 3);
    for (int run = -2; run < runs && status == TD_OK; run++)
    {
        tdSchurReport report;
        tdSchurBody body;
        double t0 = td_seconds();
        status = td_schur_factor(schur, NULL, r->values, n, nodes, &report, error);
        double t1 = td_seconds();
        if (status == TD_OK)
            status = td_schur_condense(schur, false, &body, error);
        double t2 = td_seconds();
        if (status == TD_OK)
            status = td_schur_recover(schur, NULL, dv + 3 * (size_t)r->nodes, dv, error);
        double t3 = td_seconds();
        if (run == -2)
            first = t1 - t0;
        out->participating = report.participating;
        out->flops = report.factor_flops;
        out->condense_flops = report.condense_flops;
        if (run < 0)
            continue;
        factor[run] = t1 - t0;
        condense[run] = t2 - t1;
        recover[run] = t3 - t2;
    }
    if (status == TD_OK)
    {
        out->factor = bench_spread(factor, runs);
        out->condense = bench_spread(condense, runs);
        out->recover = bench_spread(recover, runs);
        out->analysis = fmax(0, first - out->factor.median); // the first also touches the memory
    }
    free(dv);
    td_schur_free(schur);
    return status;
}

// Steps until the automatic way makes an order for a set that stays; -1: it does not in `most`.
static tdStatus steps_to_order(const ring *r, int32_t n, const int32_t *nodes, int most, int *out, tdError *error)
{
    tdSchur *schur = NULL;
    tdSchurSettings settings = td_default_schur();
    TD_TRY(td_schur_create(&r->model, &settings, &schur, error));
    tdStatus status = TD_OK;
    *out = -1;
    for (int step = 1; step <= most && *out < 0 && status == TD_OK; step++)
    {
        tdSchurReport report;
        status = td_schur_factor(schur, NULL, r->values, n, nodes, &report, error);
        if (report.analysed)
            *out = step;
    }
    td_schur_free(schur);
    return status;
}

static tdStatus bench_condensation(int runs, bool print, tdJson *json, tdError *error)
{
    static const struct
    {
        const char *name;
        int sections, cells, nodes[4];
    } rings[] = {{"link", 30, 2, {13, 40, 84, 0}}, {"torus", 96, 9, {17, 50, 150, 400}}};
    static const char *const names[] = {"", "last", "path"};
    if (print)
        printf(
            "Condensation: milliseconds, median of %d runs, one core; order: the symbolic factor where one is made\n\n"
            "  %-6s %7s %8s %-5s %7s %8s %9s %8s %10s %14s\n",
            runs, "body", "coords", "touched", "way", "order", "factor", "condense", "recover", "Mflop",
            "auto orders at");
    td_json_open(json, "condensation", '[');
    tdStatus status = TD_OK;
    for (size_t k = 0; k < sizeof rings / sizeof rings[0] && status == TD_OK; k++)
    {
        ring r;
        status = ring_make(&r, rings[k].sections, rings[k].cells, error);
        for (int s = 0; s < 4 && rings[k].nodes[s] > 0 && status == TD_OK; s++)
        {
            int32_t nodes[400], n = ring_patch(&r, major - minor, rings[k].nodes[s], nodes);
            int at = -1;
            status = steps_to_order(&r, n, nodes, r.nodes > 1000 ? 12 : 200, &at, error);
            for (tdSchurWay way = TD_SCHUR_LAST; way <= TD_SCHUR_PATH && status == TD_OK; way++)
            {
                schurTimes t = {0};
                status = time_schur(&r, way, n, nodes, runs, &t, error);
                td_json_open(json, NULL, '{');
                td_json_string(json, "body", rings[k].name);
                td_json_integer(json, "coords", 3 * (int64_t)r.nodes);
                td_json_integer(json, "participating", t.participating);
                td_json_string(json, "way", names[way]);
                td_json_number(json, "order_s", t.analysis);
                bench_json_spread(json, "factor_s", t.factor);
                bench_json_spread(json, "condense_s", t.condense);
                bench_json_spread(json, "recover_s", t.recover);
                td_json_number(json, "factor_flops", t.flops);
                td_json_number(json, "condense_flops", t.condense_flops);
                td_json_integer(json, "auto_orders_at_step", at);
                td_json_close(json, '}');
                if (print)
                    printf("  %-6s %7d %8d %-5s %7.1f %8.2f %9.2f %8.2f %6.1f+%.1f %10d\n", rings[k].name, 3 * r.nodes,
                           t.participating, names[way], way == TD_SCHUR_LAST ? t.analysis * 1e3 : 0,
                           t.factor.median * 1e3, t.condense.median * 1e3, t.recover.median * 1e3, t.flops * 1e-6,
                           t.condense_flops * 1e-6, at);
            }
        }
        ring_free(&r);
    }
    td_json_close(json, ']');
    if (print)
        printf("\n");
    return status;
}

// ---------------------------------------------------------------- problems

enum
{
    CONTACT_COLUMNS = 12
};

// Bodies that all have the same A, and contacts between neighbours.
typedef struct scene
{
    int32_t n_blocks, n, n_constraints;
    const double *A;
    tdSapBlock *blocks;
    tdSapConstraint *constraints;
    double *v_star, *v, *J, *gamma, *w;
    int32_t *columns;
    tdArena arena;
} scene;

static tdStatus scene_make(scene *s, int32_t blocks, int32_t n, const double *A, int32_t constraints, tdError *error)
{
    *s = (scene){.n_blocks = blocks, .n = n, .A = A};
    s->blocks = TD_TAKE(&s->arena, tdSapBlock, blocks);
    s->constraints = TD_TAKE(&s->arena, tdSapConstraint, constraints);
    s->v_star = TD_TAKE(&s->arena, double, (int64_t)blocks *n);
    s->v = TD_TAKE(&s->arena, double, (int64_t)blocks *n);
    s->J = TD_TAKE(&s->arena, double, (int64_t)constraints * 6 * CONTACT_COLUMNS);
    s->columns = TD_TAKE(&s->arena, int32_t, (int64_t)constraints * 2 * CONTACT_COLUMNS);
    s->gamma = TD_TAKE(&s->arena, double, (int64_t)constraints *TD_SAP_ROWS);
    s->w = TD_TAKE(&s->arena, double, constraints);
    if (s->blocks == NULL || s->constraints == NULL || s->v_star == NULL || s->v == NULL || s->J == NULL ||
        s->columns == NULL || s->gamma == NULL || s->w == NULL)
        return td_fail_memory(error, "the contact problem");
    for (int32_t b = 0; b < blocks; b++)
        s->blocks[b] =
            (tdSapBlock){.n = n, .stride = n, .A = A, .v_star = s->v_star + (int64_t)b * n, .v = s->v + (int64_t)b * n};
    return TD_OK;
}

// Room for one side of the newest constraint.
static void scene_side(scene *s, int side, int32_t block, int32_t count, double **J, int32_t **columns)
{
    int64_t at = 2 * (int64_t)s->n_constraints + side;
    *J = s->J + at * 3 * CONTACT_COLUMNS;
    *columns = s->columns + at * CONTACT_COLUMNS;
    s->constraints[s->n_constraints].law.rows = 3;
    s->constraints[s->n_constraints].sides = side + 1;
    s->constraints[s->n_constraints].side[side] = (tdSapSide){block, count, *columns, *J};
}

static tdSapProblem problem_of(const scene *s)
{
    return (tdSapProblem){s->n_blocks, s->n_constraints, s->blocks, s->constraints, s->gamma, NULL};
}

static tdStatus scene_laws(scene *s, tdSap *sap, double h, double mu, tdError *error)
{
    tdSapProblem problem = problem_of(s);
    tdSapTuning tuning = td_sap_tuning(h, h);
    uint32_t seed = 5;
    TD_TRY(td_sap_weights(sap, NULL, &problem, TD_SAP_EXACT, NULL, s->w, error));
    for (int32_t c = 0; c < s->n_constraints; c++)
        s->constraints[c].law = td_sap_contact(&tuning, mu, 1e-5 * (random_unit(&seed) - 0.8), INFINITY, 0, s->w[c]);
    return TD_OK;
}

typedef struct sapTimes
{
    spread cold, warm, weights;
    tdSapResult cold_result, warm_result;
} sapTimes;

// Cold from v*; warm from the solution of a problem whose v* differs by a hundredth, as from step to step.
static tdStatus time_sap(scene *s, tdSap *sap, tdTasks *tasks, int runs, sapTimes *out, tdError *error)
{
    tdSapProblem problem = problem_of(s);
    tdSapSettings settings = td_default_sap();
    int64_t n = (int64_t)s->n_blocks * s->n;
    double cold[BENCH_MOST_RUNS], warm[BENCH_MOST_RUNS], weights[BENCH_MOST_RUNS];
    for (int run = -1; run < runs; run++)
    {
        double t0 = td_seconds();
        TD_TRY(td_sap_weights(sap, tasks, &problem, TD_SAP_EXACT, NULL, s->w, error));
        double t1 = td_seconds();
        memcpy(s->v, s->v_star, (size_t)n * sizeof *s->v);
        double t2 = td_seconds();
        TD_TRY(td_sap_solve(sap, tasks, &problem, &settings, &out->cold_result, error));
        double t3 = td_seconds();
        uint32_t seed = 77 + (uint32_t)(run + 1);
        for (int64_t i = 0; i < n; i++)
            s->v_star[i] *= 1 + 0.01 * (random_unit(&seed) - 0.5);
        double t4 = td_seconds();
        TD_TRY(td_sap_solve(sap, tasks, &problem, &settings, &out->warm_result, error));
        double t5 = td_seconds();
        if (run < 0)
            continue;
        weights[run] = t1 - t0;
        cold[run] = t3 - t2;
        warm[run] = t5 - t4;
    }
    out->cold = bench_spread(cold, runs);
    out->warm = bench_spread(warm, runs);
    out->weights = bench_spread(weights, runs);
    return TD_OK;
}

static void report_sap(const char *name, const scene *s, int threads, const sapTimes *t, bool print, tdJson *json)
{
    td_json_open(json, NULL, '{');
    td_json_string(json, "problem", name);
    td_json_integer(json, "bodies", s->n_blocks);
    td_json_integer(json, "unknowns", (int64_t)s->n_blocks * s->n);
    td_json_integer(json, "contacts", s->n_constraints);
    td_json_integer(json, "islands", t->cold_result.islands);
    td_json_integer(json, "threads", threads);
    bench_json_spread(json, "weights_s", t->weights);
    bench_json_spread(json, "cold_s", t->cold);
    bench_json_spread(json, "warm_s", t->warm);
    td_json_integer(json, "cold_iterations", t->cold_result.iterations);
    td_json_integer(json, "warm_iterations", t->warm_result.iterations);
    td_json_number(json, "residual", fmax(t->cold_result.residual, t->warm_result.residual));
    td_json_close(json, '}');
    if (print)
        printf("  %-8s %7d %9lld %9d %8d %8d %9.2f %9.2f (%2d) %9.2f (%2d) %9.1e\n", name, s->n_blocks,
               (long long)s->n_blocks * s->n, s->n_constraints, t->cold_result.islands, threads,
               t->weights.median * 1e3, t->cold.median * 1e3, t->cold_result.iterations, t->warm.median * 1e3,
               t->warm_result.iterations, t->cold_result.residual);
}

// ---------------------------------------------------------------- towers

// Towers of boxes of 0.1 m and 1 kg, four contacts between neighbours and with the floor. Velocities: linear, angular.
static tdStatus make_towers(scene *s, tdSap *sap, int towers, int height, tdError *error)
{
    static double A[36];
    uint32_t seed = 3;
    for (int i = 0; i < 6; i++)
        A[7 * i] = i < 3 ? 1 : 1.0 / 6 * 0.01;
    TD_TRY(scene_make(s, towers * height, 6, A, 4 * towers * height, error));
    for (int b = 0; b < s->n_blocks; b++)
    {
        for (int i = 0; i < 6; i++)
            s->v_star[6 * b + i] = 0.02 * (random_unit(&seed) - 0.5);
        s->v_star[6 * b + 2] -= 9.81 * 0.01;
        for (int k = 0; k < 4; k++, s->n_constraints++)
            for (int side = 0; side < (b % height == 0 ? 1 : 2); side++)
            {
                double *J, sign = side == 0 ? 1 : -1;
                double x[3] = {k & 1 ? 0.05 : -0.05, k & 2 ? 0.05 : -0.05, -0.05 * sign};
                int32_t *columns;
                scene_side(s, side, b - side, 6, &J, &columns);
                for (int i = 0; i < 6; i++)
                    columns[i] = i;
                for (int r = 0; r < 3; r++) // v + omega x: rows of the unit matrix and of -[x]
                {
                    memset(J + 6 * r, 0, 6 * sizeof *J);
                    J[6 * r + r] = sign;
                    J[6 * r + 3 + (r + 1) % 3] = sign * x[(r + 2) % 3];
                    J[6 * r + 3 + (r + 2) % 3] = -sign * x[(r + 1) % 3];
                }
            }
    }
    return scene_laws(s, sap, 0.01, 0.5, error);
}

// One tower on the dual: W = J A^-1 J' with the diagonal A, the same compliance, sweeps to the same tolerance.
static tdStatus time_dual(const scene *s, int runs, spread *time, tdNlcpResult *result, tdError *error)
{
    int n = 3 * s->n_constraints;
    double *W = td_take((size_t)n * (size_t)(n + 3), sizeof *W), times[BENCH_MOST_RUNS];
    tdSapLaw *laws = td_take((size_t)s->n_constraints, sizeof *laws);
    if (W == NULL || laws == NULL)
    {
        free(W);
        free(laws);
        return td_fail_memory(error, "the dual problem");
    }
    double *b = W + (size_t)n * (size_t)n, *gamma = b + n, *v = gamma + n;
    for (int i = 0; i < n; i++)
    {
        const tdSapConstraint *c = &s->constraints[i / 3];
        laws[i / 3] = c->law;
        b[i] = -c->law.v_hat[i % 3];
        for (int p = 0; p < c->sides; p++)
        {
            const double *J = c->side[p].J + 6 * (i % 3);
            for (int k = 0; k < 6; k++)
                b[i] += J[k] * s->v_star[6 * c->side[p].block + k];
            for (int j = 0; j < n; j++)
                for (int q = 0; q < s->constraints[j / 3].sides; q++)
                {
                    const tdSapSide *other = &s->constraints[j / 3].side[q];
                    for (int k = 0; k < 6 && other->block == c->side[p].block; k++)
                        W[(size_t)i * (size_t)n + (size_t)j] += J[k] * other->J[6 * (j % 3) + k] / s->A[7 * k];
                }
        }
    }
    tdNlcp problem = {s->n_constraints, laws, n, n, W, b, gamma};
    tdNlcpSettings settings = td_default_nlcp();
    for (int run = 0; run < runs; run++)
    {
        memset(gamma, 0, (size_t)n * sizeof *gamma);
        double start = td_seconds();
        td_nlcp_solve(&problem, &settings, v, result);
        times[run] = td_seconds() - start;
    }
    *time = bench_spread(times, runs);
    free(W);
    free(laws);
    return TD_OK;
}

// ---------------------------------------------------------------- chains

// Links condensed to two patches; each contact joins three nodes of a link's lower patch with three of the next one's
// upper patch. The first hangs on something fixed.
static tdStatus make_chain(scene *s, tdSap *sap, int links, const tdSchurBody *body, int32_t patch,
                           const int32_t *nodes, int contacts, tdError *error)
{
    uint32_t seed = 9;
    TD_TRY(scene_make(s, links, body->n, body->A, links * contacts, error));
    for (int b = 0; b < links; b++)
    {
        for (int32_t i = 0; i < body->n; i++)
            s->v_star[b * body->n + i] =
                (body->coord[i] % 3 == 2 ? -9.81 * STEP : 0) + 0.01 * (random_unit(&seed) - 0.5);
        for (int k = 0; k < contacts; k++, s->n_constraints++)
        {
            double tilt = 0.5 * (random_unit(&seed) - 0.5), turn = 6.28 * random_unit(&seed);
            double n[3] = {sin(tilt) * cos(turn), sin(tilt) * sin(turn), cos(tilt)};
            double t1[3] = {n[2], 0, -n[0]}, length = hypot(t1[0], t1[2]), t2[3];
            for (int c = 0; c < 3; c++)
                t1[c] /= length;
            for (int c = 0; c < 3; c++)
                t2[c] = n[(c + 1) % 3] * t1[(c + 2) % 3] - n[(c + 2) % 3] * t1[(c + 1) % 3];
            const double *frame[3] = {t1, t2, n};
            for (int side = 0; side < (b == 0 ? 1 : 2); side++) // its upper patch on the lower one of the link above
            {
                double *J, sign = side == 0 ? 1 : -1, share[3] = {0.2 + 0.3 * random_unit(&seed), 0.3, 0};
                int32_t *columns, first = side == 0 ? 0 : patch, at = (int32_t)(random_unit(&seed) * (patch - 2));
                share[2] = 1 - share[0] - share[1];
                scene_side(s, side, b - side, 9, &J, &columns);
                for (int i = 0; i < 9; i++)
                {
                    columns[i] = body->column[3 * nodes[first + at + i / 3] + i % 3];
                    for (int r = 0; r < 3; r++)
                        J[9 * r + i] = sign * share[i / 3] * frame[r][i % 3];
                }
            }
        }
    }
    return scene_laws(s, sap, STEP, 0.5, error);
}

static tdStatus chain_rows(tdSap *sap, int32_t patch, int runs, bool print, tdJson *json, tdError *error)
{
    static const int lengths[] = {10, 50, 100};
    ring r;
    TD_TRY(ring_make(&r, 30, 2, error));
    int32_t nodes[128];
    tdSchur *schur = NULL;
    tdSchurSettings settings = td_default_schur();
    tdSchurReport report;
    tdSchurBody body;
    ring_patch(&r, major - minor, patch, nodes);
    ring_patch(&r, minor - major, patch, nodes + patch);
    tdStatus status = td_schur_create(&r.model, &settings, &schur, error);
    if (status == TD_OK)
        status = td_schur_factor(schur, NULL, r.values, 2 * patch, nodes, &report, error);
    if (status == TD_OK)
        status = td_schur_condense(schur, false, &body, error);
    for (int k = 0; k < 3 && status == TD_OK; k++)
    {
        scene s = {0};
        sapTimes t = {0};
        status = make_chain(&s, sap, lengths[k], &body, patch, nodes, 39, error);
        if (status == TD_OK)
            status = time_sap(&s, sap, NULL, runs, &t, error);
        if (status == TD_OK)
            report_sap("chain", &s, 1, &t, print, json);
        td_arena_free(&s.arena);
    }
    td_schur_free(schur);
    ring_free(&r);
    return status;
}

static tdStatus tower_rows(tdSap *sap, int runs, int threads, bool print, tdJson *json, tdError *error)
{
    scene s = {0};
    sapTimes t = {0};
    tdTasks *tasks = NULL;
    tdStatus status = make_towers(&s, sap, 1, 10, error);
    spread dual = {0};
    tdNlcpResult result = {0};
    if (status == TD_OK)
        status = time_dual(&s, runs, &dual, &result, error);
    if (status == TD_OK)
        status = time_sap(&s, sap, NULL, runs, &t, error);
    if (status == TD_OK)
        report_sap("tower", &s, 1, &t, print, json);
    td_arena_free(&s.arena);
    td_json_open(json, NULL, '{');
    td_json_string(json, "problem", "tower_dual");
    bench_json_spread(json, "cold_s", dual);
    td_json_integer(json, "sweeps", result.iterations);
    td_json_number(json, "residual", result.residual);
    td_json_close(json, '}');
    if (print)
        printf("  %-8s the same tower on the dual by Gauss-Seidel, W given %20.2f (%d sweeps, residual %.1e)\n", "",
               dual.median * 1e3, result.iterations, result.residual);
    if (status == TD_OK)
        status = make_towers(&s, sap, 100, 10, error);
    if (status == TD_OK)
        status = td_tasks_create(threads, &tasks, error);
    for (int k = 0; k < 2 && status == TD_OK; k++)
    {
        status = time_sap(&s, sap, k == 0 ? NULL : tasks, runs, &t, error);
        if (status == TD_OK)
            report_sap("towers", &s, k == 0 ? 1 : td_tasks_threads(tasks), &t, print, json);
    }
    td_tasks_free(tasks);
    td_arena_free(&s.arena);
    return status;
}

tdStatus bench_sap(int runs, int threads, bool print, tdJson *json, tdError *error)
{
    tdSap *sap = NULL;
    TD_TRY(td_sap_create(&sap, error));
    td_json_open(json, "sap", '{');
    tdStatus status = bench_condensation(runs, print, json, error);
    if (print)
        printf(
            "Convex contact: milliseconds, median of %d runs (iterations of Newton); cold: from the free motion, warm: "
            "from\na solution whose free motion differs by 1 %%\n\n"
            "  %-8s %7s %9s %9s %8s %8s %9s %14s %14s %9s\n",
            runs, "problem", "bodies", "unknowns", "contacts", "islands", "threads", "weights", "cold", "warm",
            "residual");
    td_json_open(json, "problems", '[');
    if (status == TD_OK)
        status = tower_rows(sap, runs, threads, print, json, error);
    if (status == TD_OK)
        status = chain_rows(sap, 20, runs, print, json, error);
    if (status == TD_OK)
        status = chain_rows(sap, 40, runs, print, json, error);
    td_json_close(json, ']');
    td_json_close(json, '}');
    if (print)
        printf("\n");
    td_sap_free(sap);
    return status;
}
