// SPDX-License-Identifier: Apache-2.0
// tendril bench: how fast the engine is on this machine. Each figure is a median over runs with its
// spread, beside the rate of a dense matrix product on one core in the same run.
#include "bench.h"

#include "base/isa.h"
#include "base/timer.h"
#include "body/soft.h"
#include "folder.h"
#include "render/plot.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
    "usage: tendril bench [NAME] [--out DIR] [--runs N] [--threads N] [--only TEXT] [--roms DIR] [--json]\n\n"
    "Measures the speed of the engine on this machine: the named benchmark, or all of them.\n\n"
    "  laws       energy, stress and tangent of one point, one core, for every law in each of its forms\n"
    "  elements   forces and tangents of 72,000 tetrahedra with their scatter into the matrix, one core,\n"
    "             for every law, with AVX2 and portable kernels\n"
    "  step       a full-order step of a bending beam of 14,641 nodes and 72,000 tetrahedra, its tip moving\n"
    "             1.5 % of its length a step, at a relative residual of 1e-6; time by stage\n"
    "  growth     time and memory from 4,608 to 294,912 tetrahedra\n"
    "  inverse    actuation for targets of effectors, one linearization of 4 and 9 actuators, one core\n"
    "  qpcc       the same beside exact contact: 12 actuators, 60 contacts with friction, one core\n"
    "  control    robots along their paths by inverse control, one thread: control steps a second, time by stage\n"
    "  stvk       force and stiffness of reduced St. Venant-Kirchhoff bodies of 5 to 40 modes, one core\n"
    "  reduced    steps of a hyper-reduced arm of 34 modes and 376 elements on four cables, one core, for two\n"
    "             sizes of its mesh; time by stage\n"
    "  view       the viewer of reduced robots: steps a second as fast as it can with no server, with one client that\n"
    "             takes 60 frames a second, and with a hundred more that read nothing; bytes of a frame\n"
    "  collide    all contacts of a step: chains of soft rings, two bubbles, a ball with itself, a pile of\n"
    "             rigid bodies\n"
    "  sap        contact: condensation of a link of 810 and a torus of 28,800 coordinates, towers of boxes and\n"
    "             chains of 10 to 100 links\n"
    "  contact    steps with contact at the sizes of Table I of Han et al. 2023, one thread and all:\n"
    "             realtime rate, constraints, time by stage; a chain against its length, a torus against its mesh\n"
    "  sheet      a soft sheet that slides and sticks on a rough floor with 289 to 5,041 points, one thread: time of\n"
    "             a step and how it grows\n"
    "  rigid      robots and boxes of rigid bodies, free and on a floor, one thread: steps a second, median and worst\n"
    "             step\n"
    "  robots     shipped robots at full order along their motion, without contact and on a floor, one thread,\n"
    "             two and all: steps a second; median, 99 % and worst step; growth from the coarse to the fine mesh\n"
    "  batch      three reduced robots and one in contact, 1 to 4,096 of them: processor time of a step in a batch\n"
    "             beside that of one robot alone, share of time in which threads have work, resets by mask\n"
    "  haptic     asynchronous factors beside Courtecuisse et al. 2015, the force with them, a tick with\n"
    "             30 contacts\n\n"
    "  --out DIR    write bench.json and plots (PNG) there\n" OUT_HELP("    ") //
    "  --roms DIR   keep the reduced models of 'batch' in DIR, and reuse those that are there (default: make them each "
    "time)\n"
    "  --runs N     number of runs for each median (default 7)\n"
    "  --only TEXT  only those rows of 'robots' or 'contact' whose scene or description contains TEXT\n";

#define BEND_STEPS 40

// ---------------------------------------------------------------- statistics

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

spread bench_spread(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, compare_numbers);
    double middle = n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
    return (spread){middle, values[0], values[n - 1]};
}

void bench_json_spread(tdJson *json, const char *key, spread s)
{
    td_json_open(json, key, '{');
    td_json_number(json, "median", s.median);
    td_json_number(json, "low", s.low);
    td_json_number(json, "high", s.high);
    td_json_close(json, '}');
}

// ---------------------------------------------------------------- what all share

typedef struct bench
{
    tdSettings settings;
    int runs;
    const char *folder;
    tdJson json;
    bool print;
} bench;

// Rate of a dense product on one core [flop/s]: the arithmetic this machine has to offer just now.
static double dense_rate(void)
{
    enum
    {
        N = 768
    };
    double *a = td_take(3 * (size_t)N * N, sizeof *a), best = 0;
    if (a == NULL)
        return NAN;
    double *b = a + N * N, *c = b + N * N;
    for (int i = 0; i < N * N; i++)
        a[i] = b[i] = 1.0 / (1 + i % 97);
    openblas_set_num_threads(1);
    for (int run = 0; run < 5; run++)
    {
        double start = bench_processor_seconds();
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, a, N, b, N, 0, c, N);
        best = fmax(best, 2.0 * N * N * N / (bench_processor_seconds() - start));
    }
    free(a);
    return best;
}

// A beam of 12 : 1 : 1 with k cells through its thickness. Its end is moved sideways by 1.5 % of its
// length a step, out and back, while it may slide along its axis.
static tdStatus make_beam(const bench *b, const char *law, const char *elements, int k, const char *solver,
                          tdModel **out, tdError *error)
{
    tdText text = {0};
    char material[256];
    if (strcmp(law, "costa") == 0) // not isotropic: moduli of its own
        snprintf(material, sizeof material,
                 "law: costa, c: 20 kPa, b_ff: 15, b_ss: 10, b_nn: 10, b_fs: 8, b_fn: 8, b_sn: 6, bulk: 1.5 MPa, "
                 "fibre: [1, 0, 0], sheet: [0, 1, 0]");
    else if (strcmp(law, "viscoelastic") == 0)
        snprintf(material, sizeof material,
                 "law: neo_hookean, young: 450 kPa, poisson: 0.45, "
                 "viscoelastic: [{modulus: 0.3, time: 50 ms}, {modulus: 0.2, time: 0.5}]");
    else
        snprintf(material, sizeof material, "law: %s, young: 450 kPa, poisson: 0.45", law);
    td_text_format(&text,
                   "tendril: 1\n"
                   "time_step: 10 ms\n"
                   "steps: %d\n"
                   "bodies:\n"
                   "  - name: beam\n"
                   "    mesh: {box: [[0, 0, 0], [0.24, 0.02, 0.02]], cells: [%d, %d, %d], elements: %s}\n"
                   "    material: {%s, density: 1070}\n"
                   "    fixed: [{group: xmin}]\n"
                   "    prescribed: [{name: end, group: xmax, axes: z, displacement: [0, 0, 0.0036]}]\n"
                   "motion: {keyframes: [{t: 0, end: 0}, {t: 0.4, end: 40}, {t: 0.8, end: 0}]}\n"
                   "probes: [{name: tip, body: beam, group: xmax}]\n"
                   "solver: {type: %s, tolerance: 1e-6}\n",
                   BEND_STEPS, 12 * k, k, k, elements, material, solver);
    tdStatus status = text.failed
                          ? td_fail_memory(error, "the scene")
                          : td_model_parse(text.data, (size_t)text.size, "bench", NULL, &b->settings, out, error);
    free(text.data);
    return status;
}

// ---------------------------------------------------------------- elements

// Rates of a law as it is used and, where it has two forms, in its closed form: one of each in turn, so that both
// see the same machine, and the median of the ratios of neighbours.
typedef struct elementRates
{
    spread used, closed, ratio;
} elementRates;

static double element_rate(const tdModel *model, tdState *state, bool dense)
{
    const tdSoft *soft = model->bodies[0].soft;
    tdSoftState *mine = (tdSoftState *)state->bodies[0];
    mine->dense = dense;
    double start = td_seconds();
    td_soft_gradients(soft, mine, state, state->q, true);
    td_soft_forces(soft, mine, state, state->force, mine->K);
    return (double)model->bodies[0].elements / (td_seconds() - start);
}

static elementRates element_rates(const tdModel *model, tdState *state, bool two_forms, int runs)
{
    double used[BENCH_MOST_RUNS], closed[BENCH_MOST_RUNS], ratio[BENCH_MOST_RUNS];
    for (int run = -2; run < runs; run++) // two to warm up
    {
        double a = element_rate(model, state, false), b = two_forms ? element_rate(model, state, true) : a;
        if (run < 0)
            continue;
        used[run] = a;
        closed[run] = b;
        ratio[run] = a / b;
    }
    return (elementRates){bench_spread(used, runs), bench_spread(closed, runs), bench_spread(ratio, runs)};
}

typedef struct elementRow
{
    const char *name, *law, *elements;
} elementRow;

static tdStatus element_row(bench *b, const elementRow *row, elementRates rates[TD_ISAS], bool *two_forms,
                            tdError *error)
{
    tdModel *model = NULL;
    TD_TRY(make_beam(b, row->law, row->elements, 10, "auto", &model, error));
    const tdSoft *soft = model->bodies[0].soft;
    *two_forms = soft->blocks[0].kind == TD_ELEMENT_TET4 && soft->blocks[0].material.law->mjed[0] != NULL;
    tdStatus status = TD_OK;
    for (int isa = 0; isa <= (int)td_isa_pick(false) && status == TD_OK; isa++)
    {
        tdSettings settings = b->settings;
        settings.threads = 1;
        settings.portable = isa == TD_ISA_PORTABLE;
        tdState *state = NULL;
        status = td_state_create(model, &settings, &state, error);
        for (int step = 0; step < 3 && status == TD_OK; step++)
            if ((status = td_step(model, state)) != TD_OK)
                *error = td_state_report(state)->error;
        if (status == TD_OK)
            rates[isa] = element_rates(model, state, *two_forms, b->runs);
        td_state_free(state);
    }
    td_model_free(model);
    return status;
}

static tdStatus bench_elements(bench *b, tdError *error)
{
    static const elementRow rows[] = {
        {"linear", "linear", "tetrahedra"},
        {"corotational", "corotational", "tetrahedra"},
        {"corotational_lagged", "corotational_lagged", "tetrahedra"},
        {"stvk", "stvk", "tetrahedra"},
        {"neo_hookean", "neo_hookean", "tetrahedra"},
        {"mooney_rivlin", "mooney_rivlin", "tetrahedra"},
        {"arruda_boyce", "arruda_boyce", "tetrahedra"},
        {"veronda_westmann", "veronda_westmann", "tetrahedra"},
        {"ogden", "ogden", "tetrahedra"},
        {"costa", "costa", "tetrahedra"},
        {"hexahedra, neo_hookean", "neo_hookean", "hexahedra"},
    };
    static const char *const isa_names[TD_ISAS] = {[TD_ISA_PORTABLE] = "portable", [TD_ISA_AVX2] = "avx2"};
    double dense = dense_rate();
    if (b->print)
        printf(
            "Elements: force and tangent with scatter, 72,000 tetrahedra (or 12,000 hexahedra), one core, bent shape\n"
            "(million a second: median, least to most of %d runs; dense product beside it: %.1f Gflop/s; MJED: rate "
            "by\n"
            "invariants over that of the closed form, measured in turn)\n\n"
            "  %-24s %24s %24s    MJED, AVX2 and portable\n",
            b->runs, dense * 1e-9, "law", "AVX2", "portable");
    td_json_open(&b->json, "elements", '{');
    td_json_integer(&b->json, "tetrahedra", 72000);
    td_json_number(&b->json, "dgemm_gflops", dense * 1e-9);
    for (size_t l = 0; l < sizeof rows / sizeof rows[0]; l++)
    {
        elementRates rates[TD_ISAS] = {0};
        bool two_forms = false;
        TD_TRY(element_row(b, &rows[l], rates, &two_forms, error));
        td_json_open(&b->json, rows[l].name, '{');
        for (int isa = 0; isa < TD_ISAS; isa++)
        {
            td_json_open(&b->json, isa_names[isa], '{');
            bench_json_spread(&b->json, "rate", rates[isa].used);
            if (two_forms)
            {
                bench_json_spread(&b->json, "closed", rates[isa].closed);
                bench_json_spread(&b->json, "mjed_over_closed", rates[isa].ratio);
            }
            td_json_close(&b->json, '}');
        }
        td_json_close(&b->json, '}');
        if (!b->print)
            continue;
        spread fast = rates[TD_ISA_AVX2].used, slow = rates[TD_ISA_PORTABLE].used;
        printf("  %-24s %8.2f (%.2f to %.2f) %10.2f (%.2f to %.2f)", rows[l].name, fast.median * 1e-6, fast.low * 1e-6,
               fast.high * 1e-6, slow.median * 1e-6, slow.low * 1e-6, slow.high * 1e-6);
        if (two_forms)
            printf("    %.2f (%.2f to %.2f), %.2f", rates[TD_ISA_AVX2].ratio.median, rates[TD_ISA_AVX2].ratio.low,
                   rates[TD_ISA_AVX2].ratio.high, rates[TD_ISA_PORTABLE].ratio.median);
        printf("\n");
    }
    td_json_close(&b->json, '}');
    return TD_OK;
}

// ---------------------------------------------------------------- step

typedef struct bendResult
{
    int64_t nodes, elements, dofs;
    double compile_s;
    double factor_flops, factor_entries;
    double steps_per_s; // of the whole motion
    double step_s[BEND_STEPS];
    double stage_s[TD_STAGES];
    double least_motion; // of the tip in a step, over its length
    double worst_residual;
    int cg, factorizations;
    double peak_mb;
} bendResult;

static tdStatus bend(const bench *b, const char *law, int k, const char *solver, bendResult *out, tdError *error)
{
    tdModel *model = NULL;
    tdState *state = NULL;
    *out = (bendResult){.least_motion = INFINITY};
    double start = td_seconds();
    TD_TRY(make_beam(b, law, "tetrahedra", k, solver, &model, error));
    out->compile_s = td_seconds() - start;
    tdStatus status = td_state_create(model, &b->settings, &state, error);
    const tdSoft *soft = model->bodies[0].soft;
    out->nodes = model->bodies[0].nodes;
    out->elements = model->bodies[0].elements;
    out->dofs = model->unknowns;
    out->factor_flops = soft->linear.factor_flops;
    out->factor_entries = soft->linear.factor_entries;
    double before[3], after[3], total = 0;
    // One step to warm up: the first factorization and the first touch of the memory.
    for (int step = -1; step < BEND_STEPS && status == TD_OK; step++)
    {
        td_state_probe(model, state, 0, before);
        start = td_seconds();
        status = td_step(model, state);
        double taken = td_seconds() - start;
        const tdReport *report = td_state_report(state);
        if (status != TD_OK)
        {
            *error = report->error;
            break;
        }
        if (step < 0)
            continue;
        td_state_probe(model, state, 0, after);
        double moved = hypot(hypot(after[0] - before[0], after[1] - before[1]), after[2] - before[2]);
        out->least_motion = fmin(out->least_motion, moved / 0.24);
        out->worst_residual = fmax(out->worst_residual, report->residual);
        out->cg += report->cg_iterations;
        out->factorizations += report->factorizations;
        out->step_s[step] = taken;
        total += taken;
        for (int s = 0; s < TD_STAGES; s++)
            out->stage_s[s] += report->stage_seconds[s];
    }
    out->steps_per_s = BEND_STEPS / total;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    out->peak_mb = (double)usage.ru_maxrss / 1024;
    td_state_free(state);
    td_model_free(model);
    return status;
}

static void json_bend(bench *b, const char *key, const bendResult *r, spread rate)
{
    td_json_open(&b->json, key, '{');
    td_json_integer(&b->json, "nodes", r->nodes);
    td_json_integer(&b->json, "tetrahedra", r->elements);
    td_json_integer(&b->json, "dofs", r->dofs);
    bench_json_spread(&b->json, "steps_per_s", rate);
    td_json_number(&b->json, "compile_s", r->compile_s);
    td_json_number(&b->json, "least_tip_motion", r->least_motion);
    td_json_number(&b->json, "worst_residual", r->worst_residual);
    td_json_integer(&b->json, "cg_iterations", r->cg);
    td_json_integer(&b->json, "factorizations", r->factorizations);
    td_json_number(&b->json, "factor_gflop", r->factor_flops * 1e-9);
    td_json_number(&b->json, "factor_entries", r->factor_entries);
    td_json_number(&b->json, "peak_mb", r->peak_mb);
    td_json_open(&b->json, "stage_s", '{');
    for (int s = 0; s < TD_STAGES; s++)
        td_json_number(&b->json, td_stage_name(s), r->stage_s[s]);
    td_json_close(&b->json, '}');
    td_json_close(&b->json, '}');
}

typedef struct stepRow
{
    const char *name, *law, *solver;
    bool once; // slow and steady: one run is enough
} stepRow;

static void print_step(const stepRow *row, const bendResult *r, spread rate, int times)
{
    double steps[BEND_STEPS], total = 0;
    memcpy(steps, r->step_s, sizeof steps);
    spread one = bench_spread(steps, BEND_STEPS);
    printf("  %s: %.2f steps a second (%.2f to %.2f, %d runs); a step %.0f ms (%.0f to %.0f)\n"
           "    %.1f iterations and %.2f factorizations a step, residual at most %.1e, tip moves at least %.2f %% a "
           "step\n   ",
           row->name, rate.median, rate.low, rate.high, times, 1e3 * one.median, 1e3 * one.low, 1e3 * one.high,
           (double)r->cg / BEND_STEPS, (double)r->factorizations / BEND_STEPS, r->worst_residual,
           100 * r->least_motion);
    for (int k = 0; k < TD_STAGES; k++)
        total += r->stage_s[k];
    for (int k = 0; k < TD_STAGES; k++)
        printf(" %s %.1f %%", td_stage_name(k), 100 * r->stage_s[k] / total);
    printf("\n");
}

static tdStatus bench_step(bench *b, tdError *error)
{
    static const stepRow rows[] = {
        {"auto", "corotational", "auto", false},
        {"cholesky", "corotational", "cholesky", true},
        {"neo_hookean", "neo_hookean", "auto", false},
        {"neo_hookean, viscoelastic", "viscoelastic", "auto", false},
    };
    enum
    {
        ROWS = sizeof rows / sizeof rows[0]
    };
    int runs = b->runs < 5 ? b->runs : 5;
    td_json_open(&b->json, "step", '{');
    for (int k = 0; k < ROWS; k++)
    {
        bendResult last = {0};
        double rates[BENCH_MOST_RUNS];
        int times = rows[k].once ? 1 : runs;
        for (int run = 0; run < times; run++)
        {
            TD_TRY(bend(b, rows[k].law, 10, rows[k].solver, &last, error));
            rates[run] = last.steps_per_s;
        }
        cli_progress("bench step", k + 1, ROWS);
        spread rate = bench_spread(rates, times);
        json_bend(b, rows[k].name, &last, rate);
        if (b->print && k == 0)
            printf(
                "\nStep: bending beam, %lld nodes, %lld tetrahedra, %lld unknowns, backward Euler 10 ms; corotational "
                "with two solvers,\nthen neo-Hookean without and with two relaxation times\n",
                (long long)last.nodes, (long long)last.elements, (long long)last.dofs);
        if (b->print)
            print_step(&rows[k], &last, rate, times);
    }
    td_json_close(&b->json, '}');
    return TD_OK;
}

// ---------------------------------------------------------------- growth

// Each size in a process of its own, so that its peak of memory is its own.
static tdStatus bend_apart(const bench *b, int k, bendResult *out, tdError *error)
{
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0)
        return td_fail(error, TD_ERROR_IO, "cannot make a pipe");
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        return td_fail(error, TD_ERROR_IO, "cannot start a process");
    if (child == 0)
    {
        bendResult result;
        tdError why = {0};
        bool good = bend(b, "corotational", k, "auto", &result, &why) == TD_OK &&
                    write(pipe_ends[1], &result, sizeof result) == (ssize_t)sizeof result;
        _exit(good ? 0 : 1);
    }
    close(pipe_ends[1]);
    size_t got = 0;
    ssize_t n = 0;
    while (got < sizeof *out && (n = read(pipe_ends[0], (char *)out + got, sizeof *out - got)) > 0)
        got += (size_t)n;
    close(pipe_ends[0]);
    waitpid(child, NULL, 0);
    if (got < sizeof *out)
        return td_fail(error, TD_ERROR_NUMERIC, "the beam with %d cells through its thickness failed (memory?)", k);
    return TD_OK;
}

static tdStatus plot_growth(const bench *b, int n, const double *size, const double *time, const double *memory,
                            const double *compile, tdError *error)
{
    char path[4096];
    tdSeries series[] = {
        {.name = "time of a step [ms]", .n = n, .x = size, .y = time, .marker = TD_MARKER_CIRCLE},
        {.name = "set-up of the model [ms]", .n = n, .x = size, .y = compile, .marker = TD_MARKER_SQUARE},
        {.name = "peak memory [MB]", .n = n, .x = size, .y = memory, .marker = TD_MARKER_DIAMOND},
    };
    tdPlotSettings plot = td_default_plot();
    plot.title = "Full-order step of a bending beam";
    plot.x_label = "tetrahedra";
    plot.y_label = "milliseconds, megabytes";
    plot.x_log = plot.y_log = true;
    tdImage image = {0};
    TD_TRY(td_plot(&plot, 3, series, &image, error));
    td_path_join(path, sizeof path, b->folder, "growth.png");
    tdStatus status = td_image_write_png(&image, path, error);
    td_image_free(&image);
    return status;
}

static tdStatus bench_growth(bench *b, tdError *error)
{
    static const int cells[] = {4, 7, 10, 16};
    enum
    {
        SIZES = sizeof cells / sizeof cells[0]
    };
    double size[SIZES], time[SIZES], memory[SIZES], compile[SIZES];
    if (b->print)
        printf("\nGrowth: the same beam, finer\n\n"
               "  tetrahedra   nodes  unknowns  set-up s  step ms (least to most)  steps/s  factor Gflop  memory MB\n");
    td_json_open(&b->json, "growth", '[');
    for (int i = 0; i < SIZES; i++)
    {
        bendResult r;
        TD_TRY(bend_apart(b, cells[i], &r, error));
        cli_progress("bench growth", i + 1, SIZES);
        double steps[BEND_STEPS];
        memcpy(steps, r.step_s, sizeof steps);
        spread one = bench_spread(steps, BEND_STEPS);
        json_bend(b, NULL, &r, (spread){r.steps_per_s, r.steps_per_s, r.steps_per_s});
        size[i] = (double)r.elements;
        time[i] = 1e3 / r.steps_per_s;
        memory[i] = r.peak_mb;
        compile[i] = 1e3 * r.compile_s;
        if (b->print)
            printf("  %10lld %7lld %9lld %9.2f %8.1f (%.1f to %.1f) %12.2f %13.2f %10.0f\n", (long long)r.elements,
                   (long long)r.nodes, (long long)r.dofs, r.compile_s, 1e3 * one.median, 1e3 * one.low, 1e3 * one.high,
                   r.steps_per_s, r.factor_flops * 1e-9, r.peak_mb);
    }
    td_json_close(&b->json, ']');
    return b->folder != NULL ? plot_growth(b, SIZES, size, time, memory, compile, error) : TD_OK;
}

// ---------------------------------------------------------------- command

// False, with the names that there are, when a benchmark is none of them.
static bool is_known(const char *which)
{
    static const char *const names[] = {"laws",    "elements", "step",    "growth", "inverse", "qpcc",
                                        "control", "stvk",     "reduced", "view",   "collide", "sap",
                                        "contact", "sheet",    "rigid",   "robots", "batch",   "haptic"};
    const int n = (int)(sizeof names / sizeof names[0]);
    char list[256] = "";
    size_t used = 0;
    for (int i = 0; i < n && used < sizeof list; i++)
    {
        if (strcmp(which, names[i]) == 0)
            return true;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                 i == 0      ? ""
                                 : i + 1 < n ? ", "
                                             : " and ",
                                 names[i]);
    }
    cli_usage("there is no benchmark '%s'; there are %s", which, list);
    return false;
}

int cmd_bench(int argc, char **argv)
{
    const char *which = NULL, *folder = NULL, *runs_text = "7", *threads_text = "0", *roms = NULL, *only = NULL;
    const cliOption options[] = {OUT_OPTIONS(folder),
                                 {"--runs", &runs_text, NULL},
                                 {"--threads", &threads_text, NULL},
                                 {"--only", &only, NULL},
                                 {"--roms", &roms, NULL}};
    int code = cli_parse(argc, argv, help, options, (int)(sizeof options / sizeof options[0]), &which, 0, 1);
    long runs = 0, threads = 0;
    if (code >= 0)
        return code;
    if (!cli_integer("--runs", runs_text, 1, &runs) || !cli_integer("--threads", threads_text, 0, &threads))
        return TD_ERROR_USAGE;
    if (which != NULL && !is_known(which))
        return TD_ERROR_USAGE;
    bench b = {.settings = cli_settings(),
               .runs = runs < BENCH_MOST_RUNS ? (int)runs : BENCH_MOST_RUNS,
               .folder = folder,
               .print = !cli_json()};
    b.settings.threads = (int)threads;
    tdError error = {0};
    static const char *const names[] = {"bench.json",  "growth.png",         "stvk.png",
                                        "contact.png", "haptic-factors.png", NULL};
    outFolder out;
    code = out_take(&out, folder, names, false);
    if (code >= 0)
        return code;
    char machine[128];
    td_machine_name(machine, sizeof machine);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    td_json_open(&b.json, NULL, '{');
    td_json_string(&b.json, "version", td_version());
    td_json_string(&b.json, "machine", machine);
    td_json_integer(&b.json, "cores", cores);
    td_json_integer(&b.json, "threads", threads == 0 ? cores : threads);
    if (b.print)
        printf("tendril %s on %s, %ld cores, %ld threads\n\n", td_version(), machine, cores,
               threads == 0 ? cores : threads);
    tdStatus status = TD_OK;
    if (which == NULL || strcmp(which, "laws") == 0)
        status = bench_laws(b.runs, b.print, &b.json, &error);
    if (status == TD_OK && (which == NULL || strcmp(which, "elements") == 0))
        status = bench_elements(&b, &error);
    if (status == TD_OK && (which == NULL || strcmp(which, "step") == 0))
        status = bench_step(&b, &error);
    if (status == TD_OK && (which == NULL || strcmp(which, "growth") == 0))
        status = bench_growth(&b, &error);
    if (status == TD_OK && (which == NULL || strcmp(which, "inverse") == 0))
        status = bench_inverse(b.print, &b.json, &error);
    if (status == TD_OK && (which == NULL || strcmp(which, "qpcc") == 0))
        status = bench_qpcc(b.print, &b.json, &error);
    if (status == TD_OK && (which == NULL || strcmp(which, "control") == 0))
        status = bench_control(b.runs, b.print, &b.json, &error);
    if (status == TD_OK && (which == NULL || strcmp(which, "stvk") == 0))
        status = bench_stvk(b.runs, &b.settings, b.folder, b.print, &b.json, &error);
    if (status == TD_OK && (which == NULL || strcmp(which, "reduced") == 0))
        status = bench_reduced(&b.settings, dense_rate(), b.print, &b.json, &error);
    if (status == TD_OK && (which == NULL || strcmp(which, "view") == 0))
        status = bench_view(b.runs, &b.settings, b.print, &b.json, &error);
    if (status == TD_OK && (which == NULL || strcmp(which, "collide") == 0))
        status = bench_collide(b.runs, b.print, &b.json, &error);
    if (status == TD_OK && (which == NULL || strcmp(which, "sap") == 0))
        status = bench_sap(b.runs, b.settings.threads, b.print, &b.json, &error);
    if (status == TD_OK && (which == NULL || strcmp(which, "contact") == 0))
        status = bench_contact(&b.settings, b.folder, only, b.print, &b.json, &error);
    if (status == TD_OK && (which == NULL || strcmp(which, "sheet") == 0))
        status = bench_sheet(b.runs, b.print, &b.json, &error);
    if (status == TD_OK && (which == NULL || strcmp(which, "rigid") == 0))
        status = bench_rigid(b.runs, b.print, &b.json, &error);
    if (status == TD_OK && (which == NULL || strcmp(which, "robots") == 0))
    {
        benchRobots how = {.runs = b.runs, .threads = b.settings.threads, .only = only, .dense = dense_rate()};
        status = bench_robots(&how, b.print, &b.json, &error);
    }
    if (status == TD_OK && (which == NULL || strcmp(which, "batch") == 0))
        status = bench_batch(roms, b.runs, &b.settings, b.print, &b.json, &error);
    if (status == TD_OK && (which == NULL || strcmp(which, "haptic") == 0))
        status = bench_haptic(&b.settings, b.folder, b.print, &b.json, &error);
    td_json_close(&b.json, '}');
    if (status == TD_OK && folder != NULL)
    {
        char path[4096];
        td_path_join(path, sizeof path, folder, "bench.json");
        status = td_file_write(path, b.json.text.data, (size_t)b.json.text.size, &error);
    }
    if (status == TD_OK && cli_json())
        cli_print_json(&b.json);
    free(b.json.text.data);
    code = status == TD_OK ? 0 : cli_fail(&error);
    out_release(&out);
    return code;
}
