// SPDX-License-Identifier: Apache-2.0
// tendril bench view: what a viewer costs the simulation. Each round measures, one after the other, steps without any
// server, with a server and one client that takes 60 frames a second, and with a hundred more that connect and read
// nothing; all as fast as they can, on one thread. What slows the machine slows all three.
#include "bench.h"

#include "base/timer.h"
#include "scenes.h"
#include "view/view.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum
{
    STALLED = 100
};

#define WARM    0.3 // [s] before each measurement
#define MEASURE 1.0

typedef struct viewRow
{
    const char *name;
    tdViewEntry entry;
    int64_t nodes, elements, modes, domain;
    double alone[BENCH_MOST_RUNS], shown[BENCH_MOST_RUNS], stalled[BENCH_MOST_RUNS]; ///< steps a second
    double ratio[BENCH_MOST_RUNS], stalled_ratio[BENCH_MOST_RUNS];                   ///< to `alone` of the same round
    double cost[3][BENCH_MOST_RUNS]; ///< [us] of a core for a step, which other work on the machine hardly changes
    double frames[BENCH_MOST_RUNS], stalled_frames[BENCH_MOST_RUNS]; ///< a second
    int64_t frame_bytes, topology_bytes;
} viewRow;

// ---------------------------------------------------------------- client

typedef struct viewer
{
    int fd;
    pthread_t thread;
    atomic_llong frames, frame_bytes, topology_bytes;
} viewer;

static bool read_all(int fd, void *out, size_t size)
{
    for (size_t at = 0; at < size;)
    {
        ssize_t n = read(fd, (char *)out + at, size - at);
        if (n <= 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

static int connect_client(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    char request[512], last[4] = {0};
    int n = snprintf(request, sizeof request,
                     "GET /ws HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                     "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                     "Sec-WebSocket-Protocol: tendril.1\r\n\r\n",
                     port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0 || write(fd, request, (size_t)n) != n)
    {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    while (memcmp(last, "\r\n\r\n", 4) != 0)
    {
        memmove(last, last + 1, 3);
        if (!read_all(fd, &last[3], 1))
        {
            close(fd);
            return -1;
        }
    }
    return fd;
}

// Takes all that comes, as a page does that draws as fast as it can.
static void *look(void *context)
{
    viewer *v = context;
    unsigned char head[10], *bytes = NULL;
    size_t capacity = 0;
    uint32_t kind = 0;
    int64_t message = 0;
    while (read_all(v->fd, head, 2))
    {
        uint64_t size = head[1] & 127;
        int more = size == 126 ? 2 : size == 127 ? 8 : 0;
        if (!read_all(v->fd, head + 2, (size_t)more))
            break;
        for (int i = 0; i < more; i++)
            size = (i == 0 ? 0 : size << 8) | head[2 + i];
        if (size > capacity)
        {
            unsigned char *larger = realloc(bytes, capacity = 2 * (size_t)size);
            if (larger == NULL)
                break;
            bytes = larger;
        }
        if (!read_all(v->fd, bytes, (size_t)size))
            break;
        if ((head[0] & 15) == 2 && size >= 4)
            memcpy(&kind, bytes, sizeof kind);
        else if ((head[0] & 15) != 0)
            kind = 0;
        message = (head[0] & 15) != 0 ? (int64_t)size : message + (int64_t)size;
        if (!(head[0] & 0x80))
            continue;
        if (kind == 1)
            atomic_store(&v->topology_bytes, message);
        if (kind == 2)
        {
            atomic_fetch_add(&v->frames, 1);
            atomic_store(&v->frame_bytes, message);
        }
    }
    free(bytes);
    return NULL;
}

static tdStatus open_viewer(int port, viewer *v, tdError *error)
{
    *v = (viewer){.fd = connect_client(port)};
    if (v->fd < 0 || pthread_create(&v->thread, NULL, look, v) != 0)
        return td_fail(error, TD_ERROR_IO, "no client can be connected: %s", strerror(errno));
    return TD_OK;
}

static void close_viewer(viewer *v)
{
    shutdown(v->fd, SHUT_RDWR);
    pthread_join(v->thread, NULL);
    close(v->fd);
}

// ---------------------------------------------------------------- measurements

static double thread_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// The same steps without a viewer.
static tdStatus measure_alone(viewRow *row, const tdSettings *settings, int round, tdError *error)
{
    tdSettings own = *settings;
    own.rom = row->entry.rom[0] == '\0' ? NULL : row->entry.rom;
    tdViewStage *stage = NULL;
    tdState *state = NULL;
    TD_TRY(td_view_stage_load(row->entry.path, row->name, &own, 1, &stage, error));
    tdStatus status = td_state_create(stage->model, &own, &state, error);
    const tdBody *body = &stage->model->bodies[0];
    row->nodes = body->nodes;
    row->elements = body->elements;
    row->modes = body->unknowns;
    int64_t steps = 0;
    double start = td_seconds(), warm = start + WARM, end = warm + MEASURE, now = start;
    double used = 0;
    bool counting = false;
    while (status == TD_OK && now < end)
    {
        for (int a = 0; a < stage->model->n_actuators; a++)
            td_state_set_input(stage->model, state, stage->model->actuators[a].input,
                               td_view_scene_value(stage, a, td_state_time(state)));
        status = td_step(stage->model, state);
        now = td_seconds();
        steps += counting;
        if (!counting && now >= warm)
        {
            counting = true;
            start = now;
            used = thread_seconds();
        }
    }
    if (status != TD_OK && state != NULL)
        *error = td_state_report(state)->error;
    row->alone[round] = (double)steps / (now - start);
    row->cost[0][round] = 1e6 * (thread_seconds() - used) / (double)(steps > 0 ? steps : 1);
    td_state_free(state);
    td_view_stage_release(stage);
    return status;
}

static void measure(const tdView *view, const viewer *v, double *steps, double *cost, double *frames)
{
    usleep((useconds_t)(1e6 * WARM));
    double start = td_seconds();
    tdViewCounts before = td_view_counts(view);
    int64_t frames_before = atomic_load(&v->frames);
    usleep((useconds_t)(1e6 * MEASURE));
    tdViewCounts after = td_view_counts(view);
    double seconds = td_seconds() - start, taken = (double)(after.steps - before.steps);
    *steps = taken / seconds;
    *cost = 1e6 * (after.seconds - before.seconds) / (taken > 0 ? taken : 1);
    *frames = (double)(atomic_load(&v->frames) - frames_before) / seconds;
}

static void *serve(void *view)
{
    td_view_run(view, NULL);
    return NULL;
}

static tdStatus measure_shown(viewRow *row, const tdSettings *settings, int round, tdError *error)
{
    tdViewSettings view_settings = td_default_view();
    view_settings.sim.model = *settings;
    view_settings.sim.entries = &row->entry;
    view_settings.sim.n_entries = 1;
    view_settings.sim.speed = INFINITY;
    view_settings.port = 0;
    tdView *view = NULL;
    pthread_t thread;
    TD_TRY(td_view_create(&view_settings, &view, error));
    if (pthread_create(&thread, NULL, serve, view) != 0)
    {
        td_view_free(view);
        return td_fail(error, TD_ERROR_IO, "the system provides no thread for the server");
    }
    viewer v;
    int idle[STALLED];
    tdStatus status = open_viewer(td_view_port(view), &v, error);
    if (status == TD_OK)
    {
        measure(view, &v, &row->shown[round], &row->cost[1][round], &row->frames[round]);
        for (int i = 0; i < STALLED; i++)
            idle[i] = connect_client(td_view_port(view));
        measure(view, &v, &row->stalled[round], &row->cost[2][round], &row->stalled_frames[round]);
        for (int i = 0; i < STALLED; i++)
            if (idle[i] >= 0)
                close(idle[i]);
            else
                status = td_fail(error, TD_ERROR_IO, "a hundred clients cannot be connected");
        row->frame_bytes = atomic_load(&v.frame_bytes);
        row->topology_bytes = atomic_load(&v.topology_bytes);
        close_viewer(&v);
    }
    td_view_stop(view);
    pthread_join(thread, NULL);
    td_view_free(view);
    return status;
}

// ---------------------------------------------------------------- report

static void report(viewRow *row, int runs, bool print, tdJson *json)
{
    spread alone = bench_spread(row->alone, runs), shown = bench_spread(row->shown, runs),
           stalled = bench_spread(row->stalled, runs), ratio = bench_spread(row->ratio, runs),
           stalled_ratio = bench_spread(row->stalled_ratio, runs), frames = bench_spread(row->frames, runs),
           stalled_frames = bench_spread(row->stalled_frames, runs), cost[3];
    for (int k = 0; k < 3; k++)
        cost[k] = bench_spread(row->cost[k], runs);
    td_json_open(json, NULL, '{');
    td_json_string(json, "scene", row->name);
    td_json_integer(json, "nodes", row->nodes);
    td_json_integer(json, "elements", row->elements);
    td_json_integer(json, "unknowns", row->modes);
    td_json_integer(json, "frame_bytes", row->frame_bytes);
    td_json_integer(json, "topology_bytes", row->topology_bytes);
    bench_json_spread(json, "steps_per_s", alone);
    bench_json_spread(json, "steps_per_s_shown", shown);
    bench_json_spread(json, "steps_per_s_stalled", stalled);
    bench_json_spread(json, "ratio_shown", ratio);
    bench_json_spread(json, "ratio_stalled", stalled_ratio);
    bench_json_spread(json, "step_cpu_us", cost[0]);
    bench_json_spread(json, "step_cpu_us_shown", cost[1]);
    bench_json_spread(json, "step_cpu_us_stalled", cost[2]);
    bench_json_spread(json, "frames_per_s", frames);
    bench_json_spread(json, "frames_per_s_stalled", stalled_frames);
    td_json_close(json, '}');
    if (print)
        printf("  %-31s %6lld %8.0f %6.1f %8.0f %5.1f %% %6.1f %5.1f %8.0f %5.1f %% %6.1f %5.1f %6lld %9lld\n",
               row->name, (long long)row->nodes, alone.median, cost[0].median, shown.median, 100 * ratio.median,
               cost[1].median, frames.median, stalled.median, 100 * stalled_ratio.median, cost[2].median,
               stalled_frames.median, (long long)row->frame_bytes, (long long)row->topology_bytes);
}

static tdStatus bench_row(viewRow *row, int runs, const tdSettings *settings, bool print, tdJson *json, tdError *error)
{
    for (int i = 0; i < runs; i++)
    {
        TD_TRY(measure_alone(row, settings, i, error));
        TD_TRY(measure_shown(row, settings, i, error));
        row->ratio[i] = row->shown[i] / row->alone[i];
        row->stalled_ratio[i] = row->stalled[i] / row->alone[i];
        cli_progress("bench view", i + 1, runs);
    }
    report(row, runs, print, json);
    return TD_OK;
}

// The parallel robot, reduced, where its reduced models have been made.
static tdStatus bench_viewed_robots(viewRow *row, int runs, const tdSettings *settings, bool print, tdJson *json,
                                    tdError *error)
{
    static const char *const names[] = {"robots/parallel/coarse (reduced)", "robots/parallel/fine (reduced)"};
    tdViewEntry none = {0}, *entries = NULL;
    int n = 0;
    TD_TRY(scenes_list(NULL, &none, &entries, &n, error));
    tdStatus status = TD_OK;
    for (int k = 0; k < 2; k++)
        for (int i = 1; i < n && status == TD_OK; i++)
            if (strcmp(entries[i].name, names[k]) == 0)
            {
                *row = (viewRow){.name = names[k], .entry = entries[i]};
                status = bench_row(row, runs, settings, print, json, error);
            }
    free(entries);
    return status;
}

tdStatus bench_view(int runs, const tdSettings *settings, bool print, tdJson *json, tdError *error)
{
    static viewRow row;
    tdSettings one = *settings;
    one.threads = 1;
    one.rom = NULL;
    char folder[] = "/tmp/tendril_bench_XXXXXX";
    if (mkdtemp(folder) == NULL)
        return td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "cannot be made: %s", strerror(errno));
    if (print)
        printf(
            "View: steps a second as fast as it can, one thread; with one client at 60 frames a second; with %d more "
            "that\nread nothing (medians of %d rounds; ratios to the same round without a server; CPU: microseconds of "
            "a core for a\nstep)\n\n  %-31s %6s %8s %6s %16s %6s %5s %16s %6s %5s %6s %9s\n",
            STALLED, runs, "scene", "nodes", "headless", "CPU", "one client", "CPU", "fps", "100 stalled too", "CPU",
            "fps", "frame", "topology");
    td_json_open(json, "view", '[');
    row = (viewRow){.name = "arm of 34 modes"};
    snprintf(row.entry.name, sizeof row.entry.name, "arm");
    snprintf(row.entry.path, sizeof row.entry.path, "%s/arm.yaml", folder);
    snprintf(row.entry.rom, sizeof row.entry.rom, "%s/arm.h5", folder);
    tdStatus status = bench_arm(&one, 10, row.entry.path, row.entry.rom, error);
    if (status == TD_OK)
        status = bench_row(&row, runs, &one, print, json, error);
    remove(row.entry.path);
    remove(row.entry.rom);
    rmdir(folder);
    if (status == TD_OK)
        status = bench_viewed_robots(&row, runs, &one, print, json, error);
    td_json_close(json, ']');
    if (print)
        printf("\n");
    return status;
}
