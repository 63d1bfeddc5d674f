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
    FEEL_TICKS = 50000
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

static tdStatus press(const tdSettings *settings, int cells, const char *solver, pressed *out, tdError *error)
{
    tdModel *model = NULL;
    tdState *state = NULL;
    double factor[PRESS_STEPS], step[PRESS_STEPS];
    int64_t last = -1;
    int made = 0;
    *out = (pressed){0};
    TD_TRY(make_cube(settings, cells, solver, &model, error));
    tdStatus status = td_state_create(model, settings, &state, error);
    out->nodes = (int)model->bodies[0].nodes;
    for (int k = 0; k < PRESS_STEPS && status == TD_OK; k++)
    {
        double start = td_seconds(), force[3];
        status = td_step(model, state);
        step[k] = td_seconds() - start;
        if (status != TD_OK)
            *error = td_state_report(state)->error;
        td_state_reaction(model, state, 1, force);
        out->force[k] = -force[2];
        out->iterations += (double)td_state_report(state)->cg_iterations / PRESS_STEPS;
        const tdAsync *async = ((const tdSoftState *)state->bodies[0])->async;
        if (async == NULL)
            continue;
        tdAsyncReport report = td_async_report(async);
        double age = (double)(td_state_steps(state) - 1 - report.step);
        out->age += age / PRESS_STEPS;
        out->oldest = fmax(out->oldest, age);
        if (report.step != last && report.step > 0) // the first is made in the step itself
            factor[made++] = report.seconds;
        last = report.step;
    }
    if (status == TD_OK)
        out->step = bench_spread(step, PRESS_STEPS);
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
    } rows[] = {{7, 0.03, 3}, {9, 0.11, 5}, {11, 0.41, 7}, {13, 1.23, 10}};
    if (print)
        printf("Factors: a cube of Mooney-Rivlin tetrahedra, pressed by 11 mm of 60; asynchronous beside exact ones "
               "(Courtecuisse and others 2015, Fig. 5)\n\n  %6s %14s %10s %8s %14s %12s %12s %12s\n",
               "nodes", "factor", "theirs", "ratio", "age in steps", "theirs", "step", "exact step");
    td_json_open(json, "factors", '[');
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
    {
        pressed late, exact;
        TD_TRY(press(settings, rows[k].cells, "type: asynchronous", &late, error));
        TD_TRY(press(settings, rows[k].cells, "type: auto", &exact, error));
        if (print)
            printf("  %6d %11.2f ms %7.0f ms %8.1f %9.1f (%.0f) %12d %9.2f ms %9.2f ms\n", late.nodes,
                   1e3 * late.factor.median, 1e3 * rows[k].s3, rows[k].s3 / late.factor.median, late.age, late.oldest,
                   rows[k].s3_steps, 1e3 * late.step.median, 1e3 * exact.step.median);
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
        cli_progress("bench haptic", (int64_t)k + 1, 4);
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
    TD_TRY(press(settings, 7, "type: auto", &exact, error));
    if (print)
        printf("\nAge: 512 nodes, factors that are used a fixed number of steps after their matrix\n\n"
               "  %6s %12s %22s %18s\n",
               "lag", "mean age", "iterations a step", "force off by");
    td_json_open(json, "ages", '[');
    for (size_t k = 0; k < sizeof lags / sizeof lags[0]; k++)
    {
        char solver[64];
        snprintf(solver, sizeof solver, "type: asynchronous, lag: %d", lags[k]);
        TD_TRY(press(settings, 7, solver, &late, error));
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

// Of this thread: what others take of the machine is not the solver's.
static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static tdStatus tick(bool print, tdJson *json, tdError *error)
{
    tdLocal *local = td_take(1, sizeof *local);
    double *times = td_take(FEEL_TICKS, sizeof *times);
    if (local == NULL || times == NULL)
    {
        free(local);
        free(times);
        return td_fail_memory(error, "the ticks");
    }
    tdFeel feel;
    tdFeelSettings settings = td_default_feel();
    tdCoupling coupling = {.stiffness = 2000, .angular_stiffness = INFINITY};
    make_local(local);
    td_feel_start(&feel, &settings);
    td_feel_take(&feel, local);
    int64_t sweeps = 0, unsolved = 0, slipping = 0;
    int most = 0;
    for (int k = 0; k < FEEL_TICKS; k++)
    {
        tdFelt force;
        tdPose device = td_pose_identity();
        device.t[0] = 4e-3 * sin(2e-3 * k);
        device.t[1] = 4e-3 * sin(3e-3 * k);
        device.t[2] = -3e-3 - 2e-3 * sin(1e-3 * k);
        double start = processor_seconds();
        td_feel(&feel, &coupling, &device, 0, &force);
        times[k] = processor_seconds() - start;
        sweeps += force.sweeps;
        most = force.sweeps > most ? force.sweeps : most;
        unsolved += !force.converged;
        slipping += force.slipping;
    }
    spread all = bench_spread(times, FEEL_TICKS); // sorted by it
    double p99 = times[(int)(0.99 * FEEL_TICKS)], p999 = times[(int)(0.999 * FEEL_TICKS)];
    if (print)
        printf("\nTick: %d contacts with friction, %.1f slipping, %.1f sweeps (%d at most), %lld of %d without an end: "
               "half below "
               "%.1f us, p99 %.1f, p99.9 %.1f, most %.1f us\n",
               FEEL_CONTACTS, (double)slipping / FEEL_TICKS, (double)sweeps / FEEL_TICKS, most, (long long)unsolved,
               FEEL_TICKS, 1e6 * all.median, 1e6 * p99, 1e6 * p999, 1e6 * all.high);
    td_json_open(json, "tick", '{');
    td_json_integer(json, "contacts", FEEL_CONTACTS);
    td_json_number(json, "sweeps", (double)sweeps / FEEL_TICKS);
    td_json_integer(json, "most_sweeps", most);
    td_json_integer(json, "unsolved", unsolved);
    td_json_number(json, "p50_us", 1e6 * all.median);
    td_json_number(json, "p99_us", 1e6 * p99);
    td_json_number(json, "p99_9_us", 1e6 * p999);
    td_json_number(json, "most_us", 1e6 * all.high);
    td_json_close(json, '}');
    free(local);
    free(times);
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
