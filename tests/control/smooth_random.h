// SPDX-License-Identifier: Apache-2.0
// Random problems of inverse control beside contact, the smooth way, and an oracle that knows no slopes: small soft
// bodies among walls, up to eight forces that control finds, up to three points that targets lead. A step of control is
// compared with forward simulations from the same state: with the efforts that it began with, and with the best that a
// search by values alone finds, from what control found, from where it began, and from all over the limits.
#pragma once
#include "scenes.h"

#define SMOOTH_EFFORTS 8
#define SMOOTH_POINTS  3
#define SMOOTH_STEPS   12 // of a scene, each with targets of its own

typedef struct smoothProblem
{
    uint64_t seed;
    int n_y, n_e;
    bool ball;
    tdModel *model;
    tdState *state, *fresh, *spare; // controlled; driven by what was found; for tries
    double rest[3 * SMOOTH_POINTS], target[3 * SMOOTH_POINTS];
    double limit[SMOOTH_EFFORTS][2];                  // of efforts
    double low[SMOOTH_EFFORTS], high[SMOOTH_EFFORTS]; // in this step, by rates
    double last[SMOOTH_EFFORTS], found[SMOOTH_EFFORTS];
    double rate; // in a step
    long tries;
} smoothProblem;

static inline double smooth_in(uint64_t *seed, double low, double high)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return low + (high - low) * (double)(*seed >> 11) * 0x1p-53;
}

static inline void smooth_direction(uint64_t *seed, double d[3])
{
    double length = 0;
    do
        for (int c = 0; c < 3; c++)
            d[c] = smooth_in(seed, -1, 1);
    while ((length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])) > 1 || length < 0.1);
    for (int c = 0; c < 3; c++)
        d[c] /= length;
}

static inline void smooth_add(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static inline void smooth_add(char *text, size_t size, const char *format, ...)
{
    size_t at = strlen(text);
    va_list list;
    va_start(list, format);
    int n = vsnprintf(text + at, size - at, format, list);
    va_end(list);
    assert_true(n > 0 && at + (size_t)n < size);
}

// A half space beside the arm: its plane is `gap` from the corner that is farthest towards it.
static inline void smooth_wall(smoothProblem *p, char *text, size_t size, int i)
{
    double n[3], far = 0, gap = smooth_in(&p->seed, 5e-5, 1e-3);
    const double high[3] = {0.06, 0.01, 0.01};
    smooth_direction(&p->seed, n); // into the wall
    for (int c = 0; c < 3; c++)
        far += fmax(n[c], 0) * high[c] + fmin(n[c], 0) * (c == 0 ? 0 : -high[c]);
    // Its z axis, which points out of it, is -n: turned by `down` about y, then by `around` about z.
    double down = acos(-n[2]) * 180 / M_PI, around = atan2(-n[1], -n[0]) * 180 / M_PI, away = far + gap;
    smooth_add(
        text, size,
        "  - {name: wall_%d, type: rigid, fixed: true, shape: {plane: true}, contact: {friction: %.3f}, transform: "
        "{rotate: [0 deg, %.6f deg, %.6f deg], translate: [%.9f, %.9f, %.9f]}}\n",
        i, smooth_in(&p->seed, 0, 1) < 0.4 ? 0 : smooth_in(&p->seed, 0.05, 0.8), down, around, away * n[0], away * n[1],
        away * n[2]);
}

static inline void smooth_begin(smoothProblem *p, uint64_t seed)
{
    static _Thread_local char text[8000];
    size_t size = sizeof text;
    *p = (smoothProblem){.seed = seed * UINT64_C(0x9E3779B97F4A7C15) + 1};
    uint64_t *s = &p->seed;
    smooth_in(s, 0, 1);
    int walls = 1 + (int)smooth_in(s, 0, 4);
    p->n_y = 1 + (int)smooth_in(s, 0, SMOOTH_EFFORTS);
    p->n_e = 1 + (int)smooth_in(s, 0, SMOOTH_POINTS);
    p->ball = smooth_in(s, 0, 1) < 0.3;
    p->rate = smooth_in(s, 0, 1) < 0.5 ? smooth_in(s, 0.05, 0.3) : INFINITY;
    text[0] = 0;
    smooth_add(text, size,
               "tendril: 1\ntime_step: 10 ms\nsteps: 10\ncontact: {friction: 0.3}\nbodies:\n"
               "  - name: arm\n    mesh: {box: [[0, -0.01, -0.01], [0.06, 0.01, 0.01]], cells: [3, 1, 1]}\n"
               "    material: {law: linear, young: 100 kPa, poisson: 0.4, density: 1000}\n"
               "    damping: {stiffness: 5 ms}\n    fixed: [{group: xmin}]\n");
    for (int i = 0; i < walls; i++)
        smooth_wall(p, text, size, i);
    if (p->ball) // a soft block that only walls and the arm hold
        smooth_add(text, size,
                   "  - name: ball\n    mesh: {box: [[0.0602, -0.005, -0.005], [0.0702, 0.005, 0.005]], cells: [1, 1, "
                   "1]}\n    material: {law: linear, young: 50 kPa, poisson: 0.3, density: 1000}\n"
                   "    damping: {mass: 20 1/s, stiffness: 5 ms}\n");
    smooth_add(text, size, "actuators:\n");
    for (int a = 0; a < p->n_y; a++)
    {
        double d[3];
        smooth_direction(s, d);
        p->limit[a][0] = smooth_in(s, 0, 1) < 0.3 ? 0 : -smooth_in(s, 0.05, 0.8);
        p->limit[a][1] = smooth_in(s, 0.05, 0.8);
        smooth_add(text, size,
                   "  - {name: f%d, type: force, body: arm, point: [%.9f, %.9f, %.9f], direction: [%.9f, %.9f, %.9f], "
                   "drive: force, range: [%.9f, %.9f]",
                   a, smooth_in(s, 0.02, 0.06), smooth_in(s, -0.01, 0.01), smooth_in(s, -0.01, 0.01), d[0], d[1], d[2],
                   p->limit[a][0], p->limit[a][1]);
        smooth_add(text, size, isfinite(p->rate) ? ", effort_rate: %.9f}\n" : "}\n", p->rate / 0.01);
    }
    smooth_add(text, size, "effectors:\n");
    for (int e = 0; e < p->n_e; e++)
    {
        p->rest[3 * e] = smooth_in(s, 0.03, 0.06);
        p->rest[3 * e + 1] = smooth_in(s, -0.01, 0.01);
        p->rest[3 * e + 2] = smooth_in(s, -0.01, 0.01);
        smooth_add(text, size, "  - {name: e%d, body: arm, point: [%.9f, %.9f, %.9f]}\n", e, p->rest[3 * e],
                   p->rest[3 * e + 1], p->rest[3 * e + 2]);
    }
    p->model = scene_model("%s", text);
    p->state = scene_state(p->model);
    p->fresh = scene_state(p->model);
    p->spare = scene_state(p->model);
}

static inline void smooth_end(smoothProblem *p)
{
    td_state_free(p->fresh);
    td_state_free(p->spare);
    scene_free(p->model, p->state);
}

static inline double smooth_distance(const smoothProblem *p, const tdState *state)
{
    double square = 0, is[3];
    for (int e = 0; e < p->n_e; e++)
    {
        td_state_effector(p->model, state, e, is);
        for (int c = 0; c < 3; c++)
            square += (is[c] - p->target[3 * e + c]) * (is[c] - p->target[3 * e + c]);
    }
    return sqrt(square);
}

// Of a forward simulation of the step with efforts y.
static inline double smooth_at(smoothProblem *p, const double *y)
{
    tdError error = {0};
    assert_ok(td_state_copy(p->model, p->spare, p->fresh, &error), error);
    for (int a = 0; a < p->n_y; a++)
        td_state_set_input(p->model, p->spare, td_model_actuator(p->model, a).input, y[a]);
    scene_steps(p->model, p->spare, 1);
    p->tries++;
    return smooth_distance(p, p->spare);
}

// A step of control towards random targets. Returns how far it is from them; p->fresh is where it began.
static inline double smooth_step(smoothProblem *p)
{
    double far = smooth_in(&p->seed, 0, 1) < 0.5 ? 2e-3 : 8e-3;
    for (int e = 0; e < p->n_e; e++)
    {
        for (int c = 0; c < 3; c++)
            p->target[3 * e + c] = p->rest[3 * e + c] + smooth_in(&p->seed, -far, far);
        assert_int_equal(td_state_set_target(p->model, p->state, e, p->target + 3 * e), TD_OK);
    }
    scene_steps(p->model, p->state, 1);
    for (int a = 0; a < p->n_y; a++)
    {
        p->found[a] = td_state_actuation(p->model, p->state, a).effort;
        p->low[a] = fmax(p->limit[a][0], p->last[a] - p->rate);
        p->high[a] = fmin(p->limit[a][1], p->last[a] + p->rate);
    }
    return smooth_distance(p, p->state);
}

// On to the next step.
static inline void smooth_go_on(smoothProblem *p)
{
    for (int a = 0; a < p->n_y; a++)
    {
        td_state_set_input(p->model, p->fresh, td_model_actuator(p->model, a).input, p->found[a]);
        p->last[a] = p->found[a];
    }
    scene_steps(p->model, p->fresh, 1);
}

// Steps along axes and random directions that become shorter, from y.
static inline double smooth_descend(smoothProblem *p, double *y, double least, double from)
{
    double next[SMOOTH_EFFORTS];
    for (double length = from; length > 5e-4;)
    {
        bool better = false;
        for (int k = 0; k < 4 * p->n_y && !better; k++)
        {
            for (int a = 0; a < p->n_y; a++)
            {
                double way = k < 2 * p->n_y ? (a == k / 2 ? 1 - 2 * (k % 2) : 0) : smooth_in(&p->seed, -1, 1);
                next[a] = fmin(fmax(y[a] + length * way * (p->high[a] - p->low[a]), p->low[a]), p->high[a]);
            }
            double value = smooth_at(p, next);
            better = value < least - 1e-9;
            if (better)
            {
                least = value;
                memcpy(y, next, sizeof next);
            }
        }
        length *= better ? 1.5 : 0.5;
    }
    return least;
}

// The best that is found without slopes: from what control found, from the start, and from the best of `random` places.
static inline double smooth_best(smoothProblem *p, int random, double *best)
{
    double y[SMOOTH_EFFORTS], other[SMOOTH_EFFORTS], least = INFINITY, value;
    memcpy(best, p->found, sizeof y);
    value = smooth_descend(p, best, smooth_at(p, best), 0.1);
    memcpy(y, p->last, sizeof y);
    for (int a = 0; a < p->n_y; a++)
        y[a] = fmin(fmax(y[a], p->low[a]), p->high[a]);
    double start = smooth_descend(p, y, smooth_at(p, y), 0.25);
    if (start < value)
    {
        value = start;
        memcpy(best, y, sizeof y);
    }
    for (int k = 0; k < random; k++)
    {
        for (int a = 0; a < p->n_y; a++)
            y[a] = smooth_in(&p->seed, p->low[a], p->high[a]);
        double here = smooth_at(p, y);
        if (here < least)
        {
            least = here;
            memcpy(other, y, sizeof y);
        }
    }
    if (random == 0)
        return value;
    least = smooth_descend(p, other, least, 0.25);
    if (least < value)
    {
        value = least;
        memcpy(best, other, sizeof other);
    }
    return value;
}

typedef struct smoothTally
{
    int n, worse, far, farther, stalled;
    double mean, same;
} smoothTally;

// All steps of a scene in which something touches. Nothing counts that is less than a micrometre.
static inline void smooth_scene(smoothTally *t, uint64_t seed, int random)
{
    smoothProblem p;
    smooth_begin(&p, seed);
    for (int i = 0; i < SMOOTH_STEPS; i++)
    {
        double found = smooth_step(&p), best[SMOOTH_EFFORTS];
        const tdReport *report = td_state_report(p.state);
        if (report->contacts_active > 0)
        {
            double start = smooth_at(&p, p.last), least = smooth_best(&p, random, best);
            t->n++;
            t->same = fmax(t->same, fabs(smooth_at(&p, p.found) - found));
            t->worse += found > start + 1e-6;
            t->far += least < found / 1.01 - 1e-6;
            t->farther += least < found / 1.05 - 1e-6;
            t->mean += fmax(found - least - 1e-6, 0) / found;
            t->stalled += report->inverse_end == TD_INVERSE_STALLED;
        }
        smooth_go_on(&p);
    }
    smooth_end(&p);
}

/// Random scenes from a seed on: none may be worse than its start, and a search without slopes may be better by 1 % in
/// no more than a share of the steps in contact.
static inline void smooth_check(uint64_t seed, int scenes, int tries, double far)
{
    smoothTally t = {0};
    for (int k = 0; k < scenes; k++)
        smooth_scene(&t, seed + (uint64_t)k, tries);
    print_message(
        "%d steps in contact: %d worse than their start; a search without slopes finds efforts that are better "
        "by 1 %% in %d (%.1f %%), by 5 %% in %d, by %.2f %% in the mean; %d end at the limit on steps; a "
        "simulation with the efforts is %.1e m off\n",
        t.n, t.worse, t.far, 100.0 * t.far / t.n, t.farther, 100 * t.mean / t.n, t.stalled, t.same);
    assert_true(t.n > 3 * scenes);
    assert_int_equal(t.worse, 0);
    assert_true(t.same < 1e-8);
    assert_true(t.far <= far * t.n);
    assert_true(t.stalled <= 0.05 * t.n);
}
