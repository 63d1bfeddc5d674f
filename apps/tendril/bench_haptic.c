// SPDX-License-Identifier: Apache-2.0
// tendril bench haptic: the asynchronous factor as S3 measured it, and a tick of the haptic loop.
//
//   factors   a cube of Mooney-Rivlin tetrahedra that a ball presses, at S3's numbers of nodes: time of a factorization
//             in the background and steps until it is used (S3 Fig. 5)
//   age       the same with fixed lags: iterations, and what becomes of the force
//   force     at 1 kHz along one motion of a hand: exact factors, asynchronous ones, the factor at rest (S3 Fig. 4)
//   tick      the small problem of 30 contacts with friction
#include "bench.h"

#include "base/timer.h"
#include "body/soft.h"
#include "haptic/haptic.h"
#include "render/plot.h"
#include "solve/async.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum
{
    PRESS_STEPS = 60,
    MOTION_TICKS = 5000,
    STEP_TICKS = 10,
    FEEL_CONTACTS = 30,
    FEEL_TICKS = 20000,
    FEEL_RUNS = 5 // of each tick the quickest counts: what interrupts it is not its own
};

// A cube of 60 mm on its base and a ball of 15 mm above it; `solver` as in a scene.
static tdStatus make_cube(const tdSettings *settings, int cells, const char *solver, tdModel **out, tdError *error)
{
    tdText text = {0};
    td_text_format(&text,
                   "tendril: 1\ngravity: [0, 0, 0]\ntime_step: 10 ms\nsteps: 1\nsolver: {%s}\n"
                   "contact: {friction: 0, margin: 1 mm, points: 2, stiffness: 2000 N/m}\nbodies:\n"
                   "  - name: cube\n"
                   "    mesh: {box: [[-0.03, -0.03, 0], [0.03, 0.03, 0.06]], cells: [%d, %d, %d]}\n"
                   "    material: {law: mooney_rivlin, c10: 1.7 kPa, c01: 0.4 kPa, poisson: 0.45, density: 1000}\n"
                   "    damping: {stiffness: 20 ms}\n"
                   "    fixed: [{group: zmin}]\n"
                   "  - {name: ball, type: rigid, shape: {sphere: 0.015}, guided: true, transform: {translate: [0.001, "
                   "0.0005, 0.0755]}}\n"
                   "motion: {keyframes: [{t: 0, ball.x: 0, ball.z: 0}, {t: 0.3, ball.x: 0, ball.z: -0.011}, "
                   "{t: 0.6, ball.x: 0.008, ball.z: -0.009}]}\n",
                   solver, cells, cells, cells);
    tdStatus status = text.failed ? td_fail_memory(error, "the scene")
                                  : td_model_parse(text.data, (size_t)text.size, "bench", NULL, settings, out, error);
    free(text.data);
    return status;
}

// ---------------------------------------------------------------- factors

typedef struct pressed
{
    int nodes;
    spread factor, step;       // [s]; of the factor: of the background
    double age, oldest;        // mean and most, in steps
    double iterations;         // of conjugate gradients, a step
    double force[PRESS_STEPS]; // on the ball, along z [N]
} pressed;

static tdStatus press(const tdSettings *settings, int cells, int steps, const char *solver, pressed *out,
                      tdError *error)
{
    tdModel *model = NULL;
    tdState *state = NULL;
    double factor[PRESS_STEPS], step[PRESS_STEPS];
    int64_t last = -1;
    int made = 0;
    tdSettings alone = *settings;
    *out = (pressed){0};
    alone.threads = 1; // of the simulation; the factor has its own
    TD_TRY(make_cube(&alone, cells, solver, &model, error));
    tdStatus status = td_state_create(model, &alone, &state, error);
    out->nodes = (int)model->bodies[0].nodes;
    for (int k = 0; k < steps && status == TD_OK; k++)
    {
        double start = bench_processor_seconds(), force[3];
        status = td_step(model, state);
        step[k] = bench_processor_seconds() - start;
        if (status != TD_OK)
            *error = td_state_report(state)->error;
        td_state_reaction(model, state, 1, force);
        out->force[k] = -force[2];
        out->iterations += (double)td_state_report(state)->cg_iterations / steps;
        const tdAsync *async = ((const tdSoftState *)state->bodies[0])->async;
        if (async == NULL)
            continue;
        tdAsyncReport report = td_async_report(async);
        double age = (double)(td_state_steps(state) - 1 - report.step);
        out->age += age / steps;
        out->oldest = fmax(out->oldest, age);
        if (report.step != last && report.step > 0) // the first is made in the step itself
            factor[made++] = report.seconds;
        last = report.step;
    }
    if (status == TD_OK)
        out->step = bench_spread(step, steps);
    if (made > 0)
        out->factor = bench_spread(factor, made);
    td_state_free(state);
    td_model_free(model);
    return status;
}

static tdStatus factors(const tdSettings *settings, bool print, tdJson *json, tdError *error)
{
    static const struct
    {
        int cells;
        double s3;
        int s3_steps;
        int steps;
    } rows[] = {{7, 0.03, 3, PRESS_STEPS},
                {9, 0.11, 5, PRESS_STEPS},
                {11, 0.41, 7, PRESS_STEPS},
                {13, 1.23, 10, PRESS_STEPS},
                {17, 0, 0, 20},
                {21, 0, 0, 20}};
    if (print)
        printf("Factors: a cube of Mooney-Rivlin tetrahedra, pressed by 11 mm of 60; asynchronous beside exact ones "
               "(Courtecuisse et al. 2015, Fig. 5; processor time, of the simulation's thread)\n\n"
               "  %6s %14s %10s %8s %14s %12s %12s %12s %10s\n",
               "nodes", "factor", "theirs", "ratio", "age in steps", "theirs", "step", "exact step", "CG");
    td_json_open(json, "factors", '[');
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
    {
        pressed late, exact;
        TD_TRY(press(settings, rows[k].cells, rows[k].steps, "type: asynchronous", &late, error));
        TD_TRY(press(settings, rows[k].cells, rows[k].steps, "type: auto", &exact, error));
        if (print)
            printf("  %6d %11.2f ms %7.0f ms %8.1f %9.1f (%.0f) %12d %9.2f ms %9.2f ms %10.1f\n", late.nodes,
                   1e3 * late.factor.median, 1e3 * rows[k].s3, rows[k].s3 / late.factor.median, late.age, late.oldest,
                   rows[k].s3_steps, 1e3 * late.step.median, 1e3 * exact.step.median, late.iterations);
        td_json_open(json, NULL, '{');
        td_json_integer(json, "nodes", late.nodes);
        bench_json_spread(json, "factor_s", late.factor);
        td_json_number(json, "s3_factor_s", rows[k].s3);
        td_json_number(json, "age_steps", late.age);
        td_json_number(json, "oldest_steps", late.oldest);
        td_json_integer(json, "s3_age_steps", rows[k].s3_steps);
        bench_json_spread(json, "step_s", late.step);
        bench_json_spread(json, "exact_step_s", exact.step);
        td_json_number(json, "cg_iterations", late.iterations);
        td_json_close(json, '}');
        cli_progress("bench haptic", (int64_t)k + 1, sizeof rows / sizeof rows[0]);
    }
    td_json_close(json, ']');
    return TD_OK;
}

// Relative to the exact curve, over the whole of it.
static double off_by(int n, const double *force, const double *exact)
{
    double square = 0, off = 0;
    for (int k = 0; k < n; k++)
    {
        off += (force[k] - exact[k]) * (force[k] - exact[k]);
        square += exact[k] * exact[k];
    }
    return sqrt(off / square);
}

static tdStatus ages(const tdSettings *settings, bool print, tdJson *json, tdError *error)
{
    static const int lags[] = {1, 2, 3, 5, 8, 12, 20};
    pressed exact, late;
    TD_TRY(press(settings, 7, PRESS_STEPS, "type: auto", &exact, error));
    if (print)
        printf("\nAge: 512 nodes, factors that are used a fixed number of steps after their matrix\n\n"
               "  %6s %12s %22s %18s\n",
               "lag", "mean age", "iterations a step", "force off by");
    td_json_open(json, "ages", '[');
    for (size_t k = 0; k < sizeof lags / sizeof lags[0]; k++)
    {
        char solver[64];
        snprintf(solver, sizeof solver, "type: asynchronous, lag: %d", lags[k]);
        TD_TRY(press(settings, 7, PRESS_STEPS, solver, &late, error));
        double off = off_by(PRESS_STEPS, late.force, exact.force);
        if (print)
            printf("  %6d %12.1f %22.1f %16.2f %%\n", lags[k], late.age, late.iterations, 100 * off);
        td_json_open(json, NULL, '{');
        td_json_integer(json, "lag", lags[k]);
        td_json_number(json, "age_steps", late.age);
        td_json_number(json, "cg_iterations", late.iterations);
        td_json_number(json, "force_off", off);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
    return TD_OK;
}

// ---------------------------------------------------------------- force

// Where a hand is at a time: from place to place without a jerk, with a tremor of 0.1 mm at 9 Hz.
static void hand_at(double time, double x[3])
{
    static const double way[][4] = {{0, 0, 0, 0},
                                    {0.6, 0, 0, -0.007},
                                    {0.9, 0, 0, -0.007},
                                    {1.4, 0, 0, 0.002},
                                    {2.1, 0.004, 0, -0.013},
                                    {2.5, 0.004, 0, -0.012},
                                    {3.3, -0.006, 0.004, -0.011},
                                    {3.8, 0, 0, 0.002},
                                    {4.5, 0, 0, -0.016},
                                    {5.1, 0, 0, 0.002}};
    size_t k = 0, n = sizeof way / sizeof way[0];
    while (k + 2 < n && way[k + 1][0] <= time)
        k++;
    double s = fmin(fmax((time - way[k][0]) / (way[k + 1][0] - way[k][0]), 0), 1);
    double share = s * s * s * (10 - 15 * s + 6 * s * s), w = 2 * 3.14159265358979 * 9 * time;
    for (int c = 0; c < 3; c++)
        x[c] = way[k][1 + c] + (way[k + 1][1 + c] - way[k][1 + c]) * share + 1e-4 * sin(w + 2 * c);
}

typedef struct felt
{
    double time[MOTION_TICKS], force[MOTION_TICKS];
    int n;          // ticks until a step failed, or all
    double largest; // [N]
} felt;

// Steps and ticks by turns. A step that fails ends it.
static tdStatus follow(const tdSettings *settings, const char *solver, felt *out, tdError *error)
{
    tdModel *model = NULL;
    tdState *state = NULL;
    tdHaptic *haptic = NULL;
    tdHapticSettings how = td_default_haptic();
    how.stiffness = 2000;
    how.max_force = 20;
    *out = (felt){0};
    TD_TRY(make_cube(settings, 7, solver, &model, error));
    tdStatus status = td_state_create(model, settings, &state, error);
    if (status == TD_OK)
        status = td_haptic_create(model, &how, &haptic, error);
    bool going = status == TD_OK;
    for (int k = 0; k < MOTION_TICKS && going; k++)
    {
        double clock = 1e-3 * k, position[3];
        tdHapticForce force;
        if (k % STEP_TICKS == 0)
            going = td_haptic_step(haptic, model, state, clock) == TD_OK;
        hand_at(clock, position);
        td_haptic_tick(haptic, clock, position, NULL, &force);
        out->time[k] = clock;
        out->force[k] = force.asked[2];
        out->largest = fmax(out->largest, fabs(force.asked[2]));
        out->n = going ? k + 1 : out->n;
    }
    td_haptic_free(haptic);
    td_state_free(state);
    td_model_free(model);
    return status;
}

static tdStatus plot(const char *folder, const felt curves[3], tdError *error)
{
    tdPlotSettings settings = td_default_plot();
    settings.width = 1100;
    settings.height = 480;
    settings.title = "force on one motion";
    settings.x_label = "time [s]";
    settings.y_label = "force [N]";
    static const char *const names[] = {"exact factors", "asynchronous", "factor at rest"};
    tdSeries series[3] = {0};
    for (int k = 0; k < 3; k++)
        series[k] = (tdSeries){.name = names[k],
                               .n = curves[k].n,
                               .x = curves[k].time,
                               .y = curves[k].force,
                               .line = k == 1 ? TD_LINE_DASHED : TD_LINE_SOLID};
    tdImage image;
    char path[4096];
    TD_TRY(td_plot(&settings, 3, series, &image, error));
    td_path_join(path, sizeof path, folder, "haptic-factors.png");
    tdStatus status = td_image_write_png(&image, path, error);
    td_image_free(&image);
    return status;
}

static tdStatus forces(const tdSettings *settings, const char *folder, bool print, tdJson *json, tdError *error)
{
    static const char *const solvers[] = {"type: auto", "type: asynchronous", "type: rest"};
    static const char *const names[] = {"exact", "asynchronous", "rest"};
    felt *curves = td_take(3, sizeof *curves);
    if (curves == NULL)
        return td_fail_memory(error, "the forces");
    tdStatus status = TD_OK;
    if (print)
        printf("\nForce: %g s of a hand's motion at 1 kHz, 2,058 tetrahedra, no friction (Courtecuisse and others "
               "2015, Fig. 4)\n\n",
               1e-3 * MOTION_TICKS);
    td_json_open(json, "forces", '{');
    for (int k = 0; k < 3 && status == TD_OK; k++)
    {
        status = follow(settings, solvers[k], &curves[k], error);
        if (status != TD_OK)
            break;
        int n = curves[k].n;
        double off = n > 0 ? off_by(n, curves[k].force, curves[0].force) : NAN;
        if (print)
            printf("  %-14s %.2f N at most, %.2f %% off%s", names[k], curves[k].largest, 100 * off,
                   n < MOTION_TICKS ? "" : "\n");
        if (print && n < MOTION_TICKS)
            printf(" until a step failed at %.2f s\n", 1e-3 * n);
        td_json_open(json, names[k], '{');
        td_json_number(json, "largest", curves[k].largest);
        td_json_number(json, "off", off);
        td_json_number(json, "until", 1e-3 * n);
        td_json_close(json, '}');
    }
    td_json_close(json, '}');
    if (status == TD_OK && folder != NULL)
        status = plot(folder, curves, error);
    free(curves);
    return status;
}

// ---------------------------------------------------------------- a tick

static double uniform(uint32_t *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed * 0x1p-31 - 1;
}

// Contacts of a patch on a body of forty motions, pressed by about a newton each.
static void make_local(tdLocal *local)
{
    enum
    {
        ROWS = 3 * FEEL_CONTACTS,
        MOTIONS = 40
    };
    double J[ROWS][MOTIONS];
    uint32_t seed = 7;
    memset(local, 0, sizeof *local);
    local->tool = td_pose_identity();
    local->h = 0.01;
    local->n = FEEL_CONTACTS;
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < MOTIONS; k++)
            J[i][k] = uniform(&seed) + (k == i % 3);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++)
        {
            double sum = i == j ? 20 : 0;
            for (int k = 0; k < MOTIONS; k++)
                sum += J[i][k] * J[j][k];
            local->C[i * ROWS + j] = 1e-5 * sum;
        }
    for (int c = 0; c < FEEL_CONTACTS; c++)
    {
        tdLocalContact *contact = &local->contact[c];
        contact->mu = 0.3;
        contact->direction[0][0] = contact->direction[1][1] = contact->direction[2][2] = 1;
        for (int k = 0; k < 2; k++)
            contact->arm[k] = 0.01 * uniform(&seed);
    }
}

typedef struct ticks
{
    tdLocal local[2];
    tdFeel feel;
    double quickest[FEEL_TICKS], all[FEEL_TICKS * FEEL_RUNS], sweeps[FEEL_TICKS]; // [s]
    double residual;                                                              // the largest where sweeps ended
    int64_t unsolved, slipping;
} ticks;

// The next local model, as after a step: two percent stiffer or softer, forces as they are, and slipped to here.
static void next_local(ticks *t, const tdPose *device, int k)
{
    tdLocal *local = &t->local[k % 2];
    const tdLocal *last = t->feel.local;
    int rows = 3 * FEEL_CONTACTS;
    double factor = k % 2 == 0 ? 1.0 / 1.02 : 1.02;
    *local = *last;
    local->tool = *device;
    for (int i = 0; i < rows * rows; i++)
        local->C[i] = factor * last->C[i];
    for (int i = 0; i < rows; i++)
    {
        tdLocalContact *contact = &local->contact[i / 3];
        double given = t->feel.gap[i];
        contact->force[i % 3] = t->feel.lambda[i];
        for (int j = 0; j < rows; j++)
            given -= last->C[i * rows + j] * t->feel.lambda[j];
        contact->b[i % 3] = given;
    }
    td_feel_take(&t->feel, local);
}

static void run_ticks(ticks *t, int run)
{
    tdFeelSettings settings = td_default_feel();
    tdCoupling coupling = {.stiffness = 2000, .angular_stiffness = INFINITY};
    make_local(&t->local[0]);
    td_feel_start(&t->feel, &settings);
    td_feel_take(&t->feel, &t->local[0]);
    for (int k = 0; k < FEEL_TICKS; k++)
    {
        tdFelt force;
        tdPose device = td_pose_identity();
        device.t[0] = 4e-3 * sin(2e-3 * k);
        device.t[1] = 4e-3 * sin(3e-3 * k);
        device.t[2] = -3e-3 - 2e-3 * sin(1e-3 * k);
        if (k > 0 && k % STEP_TICKS == 0)
        {
            tdPose before = td_pose_identity();
            before.t[0] = 4e-3 * sin(2e-3 * (k - 1));
            before.t[1] = 4e-3 * sin(3e-3 * (k - 1));
            before.t[2] = -3e-3 - 2e-3 * sin(1e-3 * (k - 1));
            next_local(t, &before, k / STEP_TICKS);
        }
        double start = bench_processor_seconds();
        td_feel(&t->feel, &coupling, &device, 0, &force);
        double took = bench_processor_seconds() - start;
        t->all[run * FEEL_TICKS + k] = took;
        t->quickest[k] = run == 0 ? took : fmin(t->quickest[k], took);
        t->sweeps[k] = force.sweeps;
        if (run > 0)
            continue;
        t->residual = force.converged ? t->residual : fmax(t->residual, force.residual);
        t->unsolved += !force.converged;
        t->slipping += force.slipping;
    }
}

static double share_of(const double *sorted, int n, double share)
{
    return sorted[(int)(share * (n - 1))];
}

static void json_percentiles(tdJson *json, const char *key, const double *sorted, int n, double factor)
{
    td_json_open(json, key, '{');
    td_json_number(json, "p50", factor * share_of(sorted, n, 0.5));
    td_json_number(json, "p99", factor * share_of(sorted, n, 0.99));
    td_json_number(json, "p99_9", factor * share_of(sorted, n, 0.999));
    td_json_number(json, "most", factor * sorted[n - 1]);
    td_json_close(json, '}');
}

// Work of ticks apart from what interrupts them: of each tick the quickest of some runs, beside all of them.
static tdStatus tick(bool print, tdJson *json, tdError *error)
{
    enum
    {
        N = FEEL_TICKS,
        ALL = FEEL_TICKS * FEEL_RUNS
    };
    ticks *t = td_take(1, sizeof *t);
    if (t == NULL)
        return td_fail_memory(error, "the ticks");
    for (int run = 0; run < FEEL_RUNS; run++)
        run_ticks(t, run);
    bench_spread(t->quickest, N); // sorted by it
    bench_spread(t->all, ALL);
    bench_spread(t->sweeps, N);
    if (print)
        printf("\nTick: %d contacts with friction, %.1f slipping, a new local model every %d ticks, processor time\n\n"
               "  %-34s %8s %8s %8s %8s\n  %-34s %8.1f %8.1f %8.1f %8.1f\n  %-34s %8.1f %8.1f %8.1f %8.1f\n"
               "  %-34s %8.0f %8.0f %8.0f %8.0f\n  %lld of %d reached the bound of %d sweeps, off by %.1e at most\n",
               FEEL_CONTACTS, (double)t->slipping / N, STEP_TICKS, "", "half", "p99", "p99.9", "most",
               "quickest of 5 runs [us]", 1e6 * share_of(t->quickest, N, 0.5), 1e6 * share_of(t->quickest, N, 0.99),
               1e6 * share_of(t->quickest, N, 0.999), 1e6 * t->quickest[N - 1], "all runs, interrupted too [us]",
               1e6 * share_of(t->all, ALL, 0.5), 1e6 * share_of(t->all, ALL, 0.99), 1e6 * share_of(t->all, ALL, 0.999),
               1e6 * t->all[ALL - 1], "sweeps", share_of(t->sweeps, N, 0.5), share_of(t->sweeps, N, 0.99),
               share_of(t->sweeps, N, 0.999), t->sweeps[N - 1], (long long)t->unsolved, N, td_default_feel().sweeps,
               t->residual);
    td_json_open(json, "tick", '{');
    td_json_integer(json, "contacts", FEEL_CONTACTS);
    td_json_integer(json, "unsolved", t->unsolved);
    td_json_number(json, "residual", t->residual);
    json_percentiles(json, "quickest_us", t->quickest, N, 1e6);
    json_percentiles(json, "all_us", t->all, ALL, 1e6);
    json_percentiles(json, "sweeps", t->sweeps, N, 1);
    td_json_close(json, '}');
    free(t);
    return TD_OK;
}

tdStatus bench_haptic(const tdSettings *settings, const char *folder, bool print, tdJson *json, tdError *error)
{
    td_json_open(json, "haptic", '{');
    TD_TRY(tick(print, json, error));
    if (print)
        printf("\n");
    TD_TRY(factors(settings, print, json, error));
    TD_TRY(ages(settings, print, json, error));
    TD_TRY(forces(settings, folder, print, json, error));
    td_json_close(json, '}');
    return TD_OK;
}
