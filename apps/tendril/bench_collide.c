// SPDX-License-Identifier: Apache-2.0
// tendril bench collide: all contacts of one step, from positions to the sorted list. Bodies move a little from step to
// step, as they would in a simulation.
#include "bench.h"

#include "base/timer.h"
#include "collide/collide.h"
#include "mesh/generate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARM  3
#define STEPS 15

typedef struct subject
{
    const char *name;
    int n_colliders;
    tdColliderDef *colliders;
    int n_fields, n_frames;
    int64_t n_tris;
    double **x;     ///< positions now
    tdMesh *meshes; ///< positions at rest, of each field
    tdPose *poses;  ///< of each frame
    double margin;  ///< [m]
    double tremble; ///< how far bodies move from step to step [m]
} subject;

static void subject_free(subject *s)
{
    for (int i = 0; i < s->n_fields; i++)
    {
        td_mesh_free(&s->meshes[i]);
        free(s->x[i]);
    }
    free(s->x);
    free(s->meshes);
    free(s->colliders);
    free(s->poses);
    *s = (subject){0};
}

static bool subject_room(subject *s, int fields, int frames)
{
    s->x = calloc((size_t)fields + 1, sizeof *s->x);
    s->meshes = calloc((size_t)fields + 1, sizeof *s->meshes);
    s->colliders = calloc((size_t)(fields + frames) + 1, sizeof *s->colliders);
    s->poses = calloc((size_t)frames + 1, sizeof *s->poses);
    return s->x != NULL && s->meshes != NULL && s->colliders != NULL && s->poses != NULL;
}

// Takes the mesh that was made in its place, turned by a quarter about x if asked, and moved.
static tdStatus add_field(subject *s, bool turned, double x, double y, double z, tdError *error)
{
    tdMesh *mesh = &s->meshes[s->n_fields++];
    for (int64_t i = 0; i < mesh->n_nodes; i++)
    {
        double *p = mesh->x + 3 * i, b = p[1], c = p[2];
        p[0] += x;
        p[1] = (turned ? -c : b) + y;
        p[2] = (turned ? b : c) + z;
    }
    double *now = malloc((size_t)mesh->n_nodes * 3 * sizeof *now);
    s->x[s->n_fields - 1] = now;
    if (now == NULL)
        return td_fail_memory(error, "a benchmark");
    tdColliderDef c = td_default_collider(TD_COLLIDER_SOFT);
    c.field = s->n_fields - 1;
    c.n_nodes = mesh->n_nodes;
    c.rest = mesh->x;
    c.n_tris = mesh->cells[TD_CELL_TRI].count;
    c.tris = mesh->cells[TD_CELL_TRI].nodes;
    s->n_tris += c.n_tris;
    s->colliders[s->n_colliders++] = c;
    return TD_OK;
}

// Rings of 600 triangles hung in each other: S5's chain.
static tdStatus make_chain(subject *s, const char *name, int rings, tdError *error)
{
    *s = (subject){.name = name, .margin = 0.002, .tremble = 1e-4};
    if (!subject_room(s, rings, 0))
        return td_fail_memory(error, "a benchmark");
    for (int i = 0; i < rings; i++)
    {
        TD_TRY(td_mesh_torus_surface(0.05, 0.012, 25, 12, &s->meshes[i], error));
        TD_TRY(add_field(s, i % 2 == 1, 0.078 * i, 0, 0, error));
    }
    return TD_OK;
}

// Two balls of 5,120 triangles pressed flat against each other, as bubbles are against what they grip.
static tdStatus make_bubbles(subject *s, const char *name, tdError *error)
{
    *s = (subject){.name = name, .margin = 0.001, .tremble = 1e-4};
    if (!subject_room(s, 2, 0))
        return td_fail_memory(error, "a benchmark");
    const double center[3] = {0, 0, 0};
    for (int i = 0; i < 2; i++)
    {
        TD_TRY(td_mesh_sphere_surface(center, 0.05, 4, &s->meshes[i], error));
        for (int64_t k = 0; k < s->meshes[i].n_nodes; k++)
        {
            double *z = s->meshes[i].x + 3 * k + 2;
            *z = i == 0 ? fmin(*z, 0.03) : fmax(*z, -0.03);
        }
        TD_TRY(add_field(s, false, 1e-3 * i, 0, 0.0603 * i, error));
    }
    return TD_OK;
}

// A ball of 20,480 triangles that meets itself, on a floor.
static tdStatus make_self(subject *s, const char *name, tdError *error)
{
    *s = (subject){.name = name, .margin = 0.001, .tremble = 1e-5};
    if (!subject_room(s, 1, 1))
        return td_fail_memory(error, "a benchmark");
    const double center[3] = {0, 0, 0.0495};
    TD_TRY(td_mesh_sphere_surface(center, 0.05, 5, &s->meshes[0], error));
    TD_TRY(add_field(s, false, 0, 0, 0, error));
    s->colliders[0].self = true;
    tdColliderDef floor = td_default_collider(TD_COLLIDER_RIGID);
    floor.shape = td_shape_plane();
    s->colliders[s->n_colliders++] = floor;
    return TD_OK;
}

// Rigid boxes and cylinders in layers, each on four others.
static tdStatus make_pile(subject *s, const char *name, tdError *error)
{
    enum
    {
        SIDE = 8,
        LAYERS = 8
    };
    *s = (subject){.name = name, .margin = 0.002, .tremble = 1e-5};
    if (!subject_room(s, 0, SIDE * SIDE * LAYERS + 1))
        return td_fail_memory(error, "a benchmark");
    for (int i = 0; i < SIDE * SIDE * LAYERS; i++)
    {
        int layer = i / (SIDE * SIDE);
        double shift = layer % 2 == 0 ? 0 : 0.03;
        s->poses[i] = td_pose_identity();
        s->poses[i].t[0] = 0.061 * (i % SIDE) + shift;
        s->poses[i].t[1] = 0.061 * (i / SIDE % SIDE) + shift;
        s->poses[i].t[2] = 0.02 + 0.04 * layer;
        tdColliderDef c = td_default_collider(TD_COLLIDER_RIGID);
        c.shape = i % 4 == 3 ? td_shape_cylinder(0.03, 0.04) : td_shape_box(0.06, 0.06, 0.04);
        c.frame = s->n_frames++;
        s->colliders[s->n_colliders++] = c;
    }
    tdColliderDef floor = td_default_collider(TD_COLLIDER_RIGID);
    floor.shape = td_shape_plane();
    s->colliders[s->n_colliders++] = floor;
    return TD_OK;
}

static void move(const subject *s, int step)
{
    for (int i = 0; i < s->n_fields; i++)
    {
        double a = s->tremble * sin(0.7 * step + i), b = s->tremble * cos(0.9 * step + 2 * i);
        for (int64_t k = 0; k < s->meshes[i].n_nodes; k++)
        {
            const double *p = s->meshes[i].x + 3 * k;
            s->x[i][3 * k] = p[0] + a;
            s->x[i][3 * k + 1] = p[1] + b;
            s->x[i][3 * k + 2] = p[2] + 0.5 * a;
        }
    }
    for (int i = 0; i < s->n_frames; i++)
        s->poses[i].t[0] += s->tremble * sin(0.7 * step + i);
}

typedef struct timing
{
    spread total;
    double bounds, near_phase, sort; ///< medians of stages
    int64_t contacts, pairs, candidates;
} timing;

static tdStatus measure(const subject *s, tdTasks *tasks, int runs, timing *out, tdError *error)
{
    tdCollideDef def = {.n_colliders = s->n_colliders, .colliders = s->colliders, .margin = s->margin};
    tdCollideWorld *world = NULL;
    tdCollideState *state = NULL;
    double all[BENCH_MOST_RUNS], stage[3][BENCH_MOST_RUNS];
    tdStatus status = td_collide_world(&def, NULL, &world, error);
    if (status == TD_OK)
        status = td_collide_state(world, tasks, &state, error);
    for (int run = -WARM; run < runs && status == TD_OK; run++)
    {
        double total = 0, parts[3] = {0, 0, 0};
        for (int step = 0; step < STEPS && status == TD_OK; step++)
        {
            move(s, run * STEPS + step);
            tdCollideInput input = {.x = (const double *const *)s->x, .poses = s->poses};
            double start = td_seconds();
            status = td_collide(world, state, &input, error);
            total += td_seconds() - start;
            const tdCollideReport *r = td_collide_report(state);
            parts[0] += r->bounds;
            parts[1] += r->near_phase;
            parts[2] += r->sort;
            out->contacts = r->contacts;
            out->pairs = r->pairs;
            out->candidates = r->candidates;
        }
        if (run < 0)
            continue;
        all[run] = 1e3 * total / STEPS;
        for (int k = 0; k < 3; k++)
            stage[k][run] = 1e3 * parts[k] / STEPS;
    }
    if (status == TD_OK)
    {
        out->total = bench_spread(all, runs);
        out->bounds = bench_spread(stage[0], runs).median;
        out->near_phase = bench_spread(stage[1], runs).median;
        out->sort = bench_spread(stage[2], runs).median;
    }
    td_collide_state_free(state);
    td_collide_world_free(world);
    return status;
}

static void show(const subject *s, int threads, const timing *t, bool print, tdJson *json)
{
    td_json_open(json, NULL, '{');
    td_json_string(json, "name", s->name);
    td_json_integer(json, "threads", threads);
    td_json_integer(json, "colliders", s->n_colliders);
    td_json_integer(json, "triangles", s->n_tris);
    td_json_integer(json, "pairs", t->pairs);
    td_json_integer(json, "candidates", t->candidates);
    td_json_integer(json, "contacts", t->contacts);
    bench_json_spread(json, "ms", t->total);
    td_json_number(json, "bounds_ms", t->bounds);
    td_json_number(json, "near_phase_ms", t->near_phase);
    td_json_number(json, "sort_ms", t->sort);
    td_json_close(json, '}');
    if (print)
        printf("  %-20s %7d %9d %9lld %6lld %8lld %7.2f (%.2f to %.2f) %7.2f %7.2f %6.2f\n", s->name, threads,
               s->n_colliders, (long long)s->n_tris, (long long)t->pairs, (long long)t->contacts, t->total.median,
               t->total.low, t->total.high, t->bounds, t->near_phase, t->sort);
}

tdStatus bench_collide(int runs, bool print, tdJson *json, tdError *error)
{
    static const struct
    {
        const char *name;
        int rings;
    } chains[] = {{"chain of 25 rings", 25}, {"chain of 50 rings", 50}, {"chain of 100 rings", 100}};
    if (print)
        printf("\nCollide: all contacts of a step, milliseconds\n\n"
               "  %-20s %7s %9s %9s %6s %8s %7s %20s %7s %6s\n",
               "", "threads", "colliders", "triangles", "pairs", "contacts", "median", "boxes", "narrow", "names");
    td_json_open(json, "collide", '[');
    tdTasks *two = NULL;
    tdStatus status = td_tasks_create(2, &two, error);
    for (int k = 0; k < 6 && status == TD_OK; k++)
    {
        subject s;
        if (k < 3)
            status = make_chain(&s, chains[k].name, chains[k].rings, error);
        else if (k == 3)
            status = make_bubbles(&s, "two bubbles", error);
        else
            status = k == 4 ? make_self(&s, "ball with itself", error) : make_pile(&s, "pile of rigid bodies", error);
        for (int threads = 1; threads <= 2 && status == TD_OK; threads++)
        {
            timing t = {0};
            status = measure(&s, threads == 1 ? NULL : two, runs, &t, error);
            if (status == TD_OK)
                show(&s, threads, &t, print, json);
        }
        subject_free(&s);
    }
    td_tasks_free(two);
    td_json_close(json, ']');
    return status;
}
