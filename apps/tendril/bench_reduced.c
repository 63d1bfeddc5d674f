// SPDX-License-Identifier: Apache-2.0
// tendril bench reduced: steps of a hyper-reduced arm on four cables, the size of S1's robots: 34 modes, 376 elements;
// a smaller one whose tables are written after every step; and what it costs that each step is judged before it counts.
// Modes are smooth and made here, elements drawn at random: what they are does not matter to the speed.
#include "bench.h"

#include "base/timer.h"
#include "output/frames.h"
#include "reduce/reduced_body.h"
#include "step/monitor.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODES 34 // at most
#define WARM  200
#define STEPS 2000

typedef struct romSize
{
    int modes, elements;
} romSize;

static const romSize usual = {MODES, 376}, small = {25, 150}, tiny = {6, 11};

typedef struct arm
{
    tdModel *model;
    tdState *state;
    int64_t mesh;
} arm;

static const char scene[] =
    "tendril: 1\ntime_step: 10 ms\nsteps: 1\ngravity: [0, 0, -9.81]\n"
    "bodies:\n  - name: arm\n    mesh: {box: [[0, -0.01, -0.01], [0.24, 0.01, 0.01]], cells: [%d, %d, %d]}\n"
    "    material: {law: %s, young: 450 kPa, poisson: 0.45, density: 1070}\n    damping: {mass: 1, stiffness: 0.02}\n"
    "    fixed: [{group: xmin}]\nactuators:\n"
    "  - {name: c0, type: cable, body: arm, path: [[0.235, 0.009, 0], [0.19, 0.009, 0], [0.14, 0.009, 0], [0.09, "
    "0.009, "
    "0], [0.04, 0.009, 0]], pull_point: [-0.01, 0.009, 0], drive: displacement}\n"
    "  - {name: c1, type: cable, body: arm, path: [[0.235, 0, 0.009], [0.19, 0, 0.009], [0.14, 0, 0.009], [0.09, 0, "
    "0.009], [0.04, 0, 0.009]], pull_point: [-0.01, 0, 0.009], drive: displacement}\n"
    "  - {name: c2, type: cable, body: arm, path: [[0.235, -0.009, 0], [0.19, -0.009, 0], [0.14, -0.009, 0], [0.09, "
    "-0.009, 0], [0.04, -0.009, 0]], pull_point: [-0.01, -0.009, 0], drive: displacement}\n"
    "  - {name: c3, type: cable, body: arm, path: [[0.235, 0, -0.009], [0.19, 0, -0.009], [0.14, 0, -0.009], [0.09, 0, "
    "-0.009], [0.04, 0, -0.009]], pull_point: [-0.01, 0, -0.009], drive: displacement}\n"
    "probes: [{name: tip, body: arm, point: [0.24, 0, 0]}, {name: middle, body: arm, point: [0.12, 0, 0]}, {name: "
    "edge, "
    "body: arm, point: [0.24, 0.01, 0.01]}]\n";

// Smooth shapes that vanish at the root: a sine along the arm times a low polynomial across it, in each direction.
static double shape(int j, const double *x, int axis)
{
    static const int powers[4][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
    int wave = j / 12, across = j / 3 % 4;
    if (j % 3 != axis)
        return 0;
    return sin(1.5707963267948966 * (2 * wave + 1) * x[0] / 0.24) * pow(x[1] / 0.01, powers[across][0]) *
           pow(x[2] / 0.01, powers[across][1]);
}

static bool make_modes(const tdSoft *soft, int modes, tdRom *rom)
{
    int64_t coords = 3 * (int64_t)soft->n_nodes;
    double *column = calloc((size_t)coords, sizeof *column), along[MODES];
    rom->phi = TD_TAKE(&rom->arena, double, coords *modes);
    for (int j = 0; j < modes && column != NULL && rom->phi != NULL; j++)
    {
        for (int64_t i = 0; i < coords; i++)
            column[i] = soft->held[i] ? 0 : shape(j, soft->rest + i / 3 * 3, (int)(i % 3));
        double size = 0;
        memset(along, 0, sizeof along);
        for (int64_t i = 0; i < coords; i++)
            for (int k = 0; k < j; k++)
                along[k] += column[i] * rom->phi[i * modes + k];
        for (int64_t i = 0; i < coords; i++)
        {
            for (int k = 0; k < j; k++)
                column[i] -= along[k] * rom->phi[i * modes + k];
            size += column[i] * column[i];
        }
        for (int64_t i = 0; i < coords; i++)
            rom->phi[i * modes + j] = column[i] / sqrt(size);
    }
    free(column);
    return column != NULL && rom->phi != NULL;
}

// One of each of as many equal runs of elements.
static bool draw_elements(const tdSoft *soft, int n, tdArena *arena, uint32_t seed, int32_t **element, double **weight)
{
    *element = TD_TAKE(arena, int32_t, n);
    *weight = TD_TAKE(arena, double, n);
    for (int k = 0; k < n && *element != NULL && *weight != NULL; k++)
    {
        seed = seed * 1664525U + 1013904223U;
        int64_t first = soft->elements * k / n, end = soft->elements * (k + 1) / n;
        (*element)[k] = (int32_t)(first + (int64_t)(seed * 0x1p-32 * (double)(end - first)));
        (*weight)[k] = (double)soft->elements / n;
    }
    return *element != NULL && *weight != NULL;
}

// judged: with a second choice of elements, so that each step tells whether it is to be trusted.
static bool make_rom(const tdModel *full, romSize of, bool judged, tdRom *rom)
{
    const tdSoft *soft = full->bodies[0].soft;
    *rom = (tdRom){.file = "bench", .body = "arm", .n_nodes = soft->n_nodes, .r = of.modes, .n_domains = 1};
    rom->physics = td_soft_physics(full, 0);
    rom->domains = TD_TAKE(&rom->arena, tdRomDomain, 1);
    rom->psi = TD_TAKE(&rom->arena, double, 1);
    if (rom->domains == NULL || rom->psi == NULL || !make_modes(soft, of.modes, rom))
        return false;
    tdRomDomain *d = rom->domains;
    *d = (tdRomDomain){.name = "volume", .n = of.elements};
    if (!draw_elements(soft, of.elements, &rom->arena, 1, &d->element, &d->weight) || !judged)
        return d->element != NULL && d->weight != NULL;
    rom->low = TD_TAKE(&rom->arena, double, of.modes);
    rom->high = TD_TAKE(&rom->arena, double, of.modes);
    for (int i = 0; i < of.modes && rom->low != NULL && rom->high != NULL; i++)
        rom->high[i] = -(rom->low[i] = -1e3); // never reached
    d->n_check = of.elements;
    return rom->low != NULL && rom->high != NULL &&
           draw_elements(soft, of.elements, &rom->arena, 2, &d->check, &d->check_weight);
}

static tdStatus make_arm(const tdSettings *settings, const char *law, int cells, romSize of, bool judged, arm *out,
                         tdError *error)
{
    char text[4000];
    tdModel *full = NULL;
    tdRom rom = {0};
    tdSettings one = *settings;
    one.threads = 1;
    int length = snprintf(text, sizeof text, scene, 12 * cells, cells, cells, law);
    TD_TRY(td_model_parse(text, (size_t)length, "bench", NULL, &one, &full, error));
    tdStatus status = make_rom(full, of, judged, &rom) ? TD_OK : td_fail_memory(error, "the reduced model");
    out->mesh = full->bodies[0].elements;
    td_model_free(full);
    if (status == TD_OK)
        status = td_model_parse_reduced(text, (size_t)length, "bench", NULL, &one, &rom, &out->model, error);
    td_arena_free(&rom.arena);
    if (status == TD_OK)
        status = td_state_create(out->model, &one, &out->state, error);
    return status;
}

tdStatus bench_arm_model(const tdSettings *settings, int modes, int elements, tdModel **out, tdError *error)
{
    arm made = {0};
    tdStatus status = make_arm(settings, "corotational", 10, (romSize){modes, elements}, false, &made, error);
    td_state_free(made.state);
    *out = made.model;
    return status;
}

// What a file has beside it, made up: who trained it is of no matter here.
static bool complete_rom(tdRom *rom)
{
    rom->spread = TD_TAKE(&rom->arena, double, MODES);
    rom->sigma = TD_TAKE(&rom->arena, double, MODES);
    rom->n_sigma = rom->n_snapshots = MODES;
    for (int i = 0; i < MODES && rom->spread != NULL && rom->sigma != NULL; i++)
        rom->spread[i] = rom->sigma[i] = 1;
    return rom->spread != NULL && rom->sigma != NULL;
}

tdStatus bench_arm(const tdSettings *settings, int cells, const char *scene_path, const char *rom_path, tdError *error)
{
    char text[4000];
    tdModel *full = NULL;
    tdRom rom = {0};
    int length = snprintf(text, sizeof text, scene, 12 * cells, cells, cells, "corotational");
    TD_TRY(td_model_parse(text, (size_t)length, "bench", NULL, settings, &full, error));
    tdStatus status =
        make_rom(full, usual, true, &rom) && complete_rom(&rom) ? TD_OK : td_fail_memory(error, "the arm");
    td_model_free(full);
    if (status == TD_OK)
        status = td_rom_write(&rom, rom_path, error);
    td_arena_free(&rom.arena);
    return status == TD_OK ? td_file_write(scene_path, text, (size_t)length, error) : status;
}

typedef struct timing
{
    double step[STEPS], each[TD_STAGES][STEPS], stage[TD_STAGES]; // microseconds; medians by stage
} timing;

// The tip goes round once in 400 steps, bent to either side.
static void pull(const arm *a, int k)
{
    for (int c = 0; c < 4; c++)
    {
        double phase = 0.015707963267948967 * k - 1.5707963267948966 * c, grow = k < 0 ? 1 + k / (double)WARM : 1;
        td_state_set_input(a->model, a->state, c, 4e-3 * grow * (cos(phase) + 0.2));
    }
}

// output: a frame after every step, and its time; or NULL.
static tdStatus take_steps(arm *a, tdOutput *output, timing *out, tdError *error)
{
    for (int k = -WARM; k < STEPS; k++)
    {
        pull(a, k);
        double start = td_seconds();
        tdStatus status = td_step(a->model, a->state);
        if (output != NULL && status == TD_OK)
        {
            td_output_count(output, td_state_report(a->state));
            TD_TRY(td_output_frame(output, a->state, error));
        }
        double end = td_seconds();
        if (status != TD_OK)
        {
            *error = td_state_report(a->state)->error;
            return status;
        }
        if (k < 0)
            continue;
        out->step[k] = 1e6 * (end - start);
        for (int i = 0; i < TD_STAGES; i++)
            out->each[i][k] = 1e6 * td_state_report(a->state)->stage_seconds[i];
    }
    for (int i = 0; i < TD_STAGES; i++)
        out->stage[i] = bench_spread(out->each[i], STEPS).median;
    return TD_OK;
}

// Additions and products of F = F0 + B q, B'P, and K: rows T = D B, 9 a point, or of corotational laws the four that
// are not constant, and the lower triangle of their product. Of the laws nothing.
static double flops(const tdReduced *reduced)
{
    double n = reduced->n, points = 4.0 * (double)reduced->domain.point_batches;
    return points * (36 * n + (reduced->constant[0] != NULL ? 74 * n + 4 * n * (n + 1) : 162 * n + 9 * n * (n + 1)));
}

/// Plain; each step judged by a second choice of elements; tangents in single precision.
typedef enum variant
{
    PLAIN,
    JUDGED,
    SINGLE
} variant;

static tdStatus bench_row(const tdSettings *settings, const char *law, int cells, variant how, double dense, bool print,
                          tdJson *json, tdError *error)
{
    arm a = {0};
    static timing t;
    tdSettings with = *settings;
    with.rom_precision = how == SINGLE ? TD_ROM_SINGLE : TD_ROM_DOUBLE;
    tdStatus status = make_arm(&with, law, cells, usual, how == JUDGED, &a, error);
    if (status == TD_OK)
        status = take_steps(&a, NULL, &t, error);
    if (status == TD_OK)
    {
        double work = flops(a.model->bodies[0].data);
        spread s = bench_spread(t.step, STEPS);
        double p99 = t.step[STEPS * 99 / 100], rate = work / t.stage[TD_STAGE_FORCES] * 1e-3;
        td_json_open(json, NULL, '{');
        td_json_string(json, "law", law);
        td_json_bool(json, "judged", how == JUDGED);
        td_json_bool(json, "single", how == SINGLE);
        td_json_integer(json, "mesh", a.mesh);
        bench_json_spread(json, "step_us", s);
        td_json_number(json, "p99_us", p99);
        td_json_number(json, "forces_gflops", rate);
        td_json_number(json, "dgemm_gflops", dense * 1e-9);
        for (int i = 0; i < TD_STAGES; i++)
            td_json_number(json, td_stage_name((tdStage)i), t.stage[i]);
        td_json_close(json, '}');
        if (print)
        {
            printf("  %-20s%c%7lld %8.0f %8.1f %8.1f", law, " +s"[how], (long long)a.mesh, 1e6 / s.median, s.median,
                   p99);
            printf("   %6.1f %6.1f %5.1f %5.1f %5.1f", t.stage[TD_STAGE_KINEMATICS], t.stage[TD_STAGE_FORCES],
                   t.stage[TD_STAGE_CONSTRAIN], t.stage[TD_STAGE_FREE], t.stage[TD_STAGE_SOLVE]);
            printf(" %6.1f", t.stage[TD_STAGE_PUBLISH]);
            printf(" %9.1f %5.0f %%\n", rate, 1e11 * rate / dense);
        }
    }
    td_state_free(a.state);
    td_model_free(a.model);
    return status;
}

static void remove_folder(const char *folder)
{
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        unlinkat(dirfd(directory), entry->d_name, 0); // not "." and "..", which are folders
    if (directory != NULL)
        closedir(directory);
    rmdir(folder);
}

// The smaller arm, tangents in single precision: each step judged, without files and with its tables in a folder that
// is removed; and with tables, not judged.
static tdStatus bench_written(const tdSettings *settings, bool print, tdJson *json, tdError *error)
{
    static timing t;
    tdSettings with = *settings;
    with.rom_precision = TD_ROM_SINGLE;
    spread s[3] = {{0}};
    double publish = 0;
    for (int way = 0; way < 3; way++)
    {
        const bool judged = way<2, written = way> 0;
        arm a = {0};
        char folder[] = "/tmp/tendril_bench_XXXXXX";
        tdOutput *output = NULL;
        tdStatus status = make_arm(&with, "corotational", 10, small, judged, &a, error);
        if (status == TD_OK && written && mkdtemp(folder) == NULL)
            status = td_fail(error, TD_ERROR_IO, "cannot make a folder in /tmp");
        const tdOutputSettings tables = {.csv = true, .keep = -1};
        if (status == TD_OK && written)
            status = td_output_open(a.model, folder, &tables, &output, error);
        if (status == TD_OK)
            status = take_steps(&a, output, &t, error);
        td_output_close(output, NULL);
        if (written)
            remove_folder(folder);
        td_state_free(a.state);
        td_model_free(a.model);
        TD_TRY(status);
        s[way] = bench_spread(t.step, STEPS);
        publish = t.stage[TD_STAGE_PUBLISH];
    }
    td_json_open(json, "reduced_written", '{');
    td_json_integer(json, "modes", small.modes);
    td_json_integer(json, "elements", small.elements);
    bench_json_spread(json, "step_us", s[0]);
    bench_json_spread(json, "step_and_tables_us", s[1]);
    bench_json_spread(json, "step_and_tables_not_judged_us", s[2]);
    td_json_number(json, "publish", publish);
    td_json_close(json, '}');
    if (print)
        printf("  %d modes, %d elements, corotational, judged, single precision: %.0f steps/s; with tables of probes, "
               "actuators and reports after each step %.0f, and not judged %.0f\n\n",
               small.modes, small.elements, 1e6 / s[0].median, 1e6 / s[1].median, 1e6 / s[2].median);
    return TD_OK;
}

// The same steps, judged and not (step/monitor.h), of two states that take turns: what else the machine does is seen by
// both alike.
static tdStatus bench_checks(const tdSettings *settings, romSize of, bool print, tdJson *json, tdError *error)
{
    static double took[2][STEPS];
    arm on = {0}, off = {0};
    tdStatus status = make_arm(settings, "corotational", 4, of, false, &on, error);
    if (status == TD_OK)
        status = make_arm(settings, "corotational", 4, of, false, &off, error);
    if (status == TD_OK)
        off.state->monitor->off = true;
    for (int k = -WARM; k < STEPS && status == TD_OK; k++)
        for (int way = 0; way < 2 && status == TD_OK; way++)
        {
            arm *a = (way + k) % 2 == 0 ? &on : &off;
            pull(a, k);
            double start = td_seconds();
            status = td_step(a->model, a->state);
            if (k >= 0)
                took[a == &off][k] = 1e6 * (td_seconds() - start);
            if (status != TD_OK)
                *error = td_state_report(a->state)->error;
        }
    td_state_free(on.state);
    td_state_free(off.state);
    td_model_free(on.model);
    td_model_free(off.model);
    TD_TRY(status);
    spread with = bench_spread(took[0], STEPS), without = bench_spread(took[1], STEPS);
    double share = 1 - without.median / with.median;
    td_json_open(json, NULL, '{');
    td_json_integer(json, "modes", of.modes);
    td_json_integer(json, "elements", of.elements);
    bench_json_spread(json, "step_us", with);
    bench_json_spread(json, "step_without_checks_us", without);
    td_json_number(json, "share_of_checks", share);
    td_json_close(json, '}');
    if (print)
        printf(
            "  %d modes, %d elements, corotational: the checks of energy, spin and linearization take %.2f of %.2f us "
            "(%.1f %%)\n",
            of.modes, of.elements, with.median - without.median, with.median, 100 * share);
    return TD_OK;
}

tdStatus bench_reduced(const tdSettings *settings, double dense, bool print, tdJson *json, tdError *error)
{
    static const char *const laws[] = {"corotational", "corotational_lagged", "mooney_rivlin", "neo_hookean"};
    if (print)
        printf(
            "Reduced: an arm of %d modes and %d elements on four displacement-driven cables, one core, microseconds\n"
            "(median of %d steps; dgemm: %.1f Gflop/s; +: each step is judged by a second choice of elements;\n"
            "s: tangents in single precision)\n\n"
            "  %-20s %7s %8s %8s %8s   %6s %6s %5s %5s %5s %6s %9s %7s\n",
            usual.modes, usual.elements, STEPS, dense * 1e-9, "law", "mesh", "steps/s", "step", "p99", "kin", "forces",
            "rows", "free", "solve", "judge", "Gflop/s", "of dgemm");
    td_json_open(json, "reduced", '[');
    for (size_t l = 0; l < sizeof laws / sizeof laws[0]; l++)
        for (int cells = 4; cells <= 10; cells += 6)
            for (int how = PLAIN; how <= (cells > 4 ? SINGLE : PLAIN); how++)
                TD_TRY(bench_row(settings, laws[l], cells, (variant)how, dense, print, json, error));
    td_json_close(json, ']');
    if (print)
        printf("\n");
    td_json_open(json, "reduced_checks", '[');
    TD_TRY(bench_checks(settings, usual, print, json, error));
    TD_TRY(bench_checks(settings, tiny, print, json, error));
    td_json_close(json, ']');
    if (print)
        printf("\n");
    return bench_written(settings, print, json, error);
}
