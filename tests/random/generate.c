// SPDX-License-Identifier: Apache-2.0
// The scene as a whole: how time is advanced, gravity, contact, how many bodies of which kind and where they are.
#include "generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void made_point(const madeBody *body, double x, double y, double z, double out[3])
{
    double local[3] = {body->low[0] + x * body->size[0], body->low[1] + y * body->size[1],
                       body->low[2] + z * body->size[2]};
    for (int i = 0; i < 3; i++)
    {
        out[i] = body->t[i];
        for (int j = 0; j < 3; j++)
            out[i] += body->R[3 * i + j] * local[j];
    }
}

// About x first, then y, then z: R = Rz Ry Rx.
static void turn_of(const double a[3], double R[9])
{
    double cx = cos(a[0]), sx = sin(a[0]), cy = cos(a[1]), sy = sin(a[1]), cz = cos(a[2]), sz = sin(a[2]);
    const double turn[9] = {cz * cy,
                            cz * sy * sx - sz * cx,
                            cz * sy * cx + sz * sx,
                            sz * cy,
                            sz * sy * sx + cz * cx,
                            sz * sy * cx - cz * sx,
                            -sy,
                            cy * sx,
                            cy * cx};
    memcpy(R, turn, sizeof turn);
}

// In a scene with contact bodies stand above each other, a little apart, so that they fall on each other and never
// start inside one another; else anywhere.
madeBody *made_body(sceneMaking *making, madeKind kind, const char *name, const double low[3], const double size[3],
                    bool turn)
{
    uint64_t *seed = &making->seed;
    madeBody *body = &making->bodies[making->n];
    *body = (madeBody){.kind = kind, .piece = -1};
    snprintf(body->name, sizeof body->name, "%s%d", name, making->n);
    making->n++;
    memcpy(body->low, low, sizeof body->low);
    memcpy(body->size, size, sizeof body->size);
    double angles[3] = {0}, center[3], radius = 0.5 * sqrt(size[0] * size[0] + size[1] * size[1] + size[2] * size[2]);
    // Written with few digits, so that what is computed here is what the scene says.
    if (turn && random_chance(seed, 0.4))
        for (int i = 0; i < 3; i++)
            angles[i] = round(random_between(seed, -3, 3) * 1e3) / 1e3;
    turn_of(angles, body->R);
    double rise = turn && (angles[0] != 0 || angles[1] != 0) ? radius : 0.5 * size[2];
    if (making->contact)
    {
        for (int i = 0; i < 2; i++)
            center[i] = random_between(seed, -0.3, 0.3) * making->size;
        center[2] = making->top + rise + random_log(seed, 1e-4, 0.5) * making->size;
        making->top = center[2] + rise;
    }
    else
        for (int i = 0; i < 3; i++)
            center[i] = random_between(seed, -3, 3) * making->size;
    for (int i = 0; i < 3; i++)
    {
        body->t[i] = center[i];
        for (int j = 0; j < 3; j++)
            body->t[i] -= body->R[3 * i + j] * (low[j] + 0.5 * size[j]);
        body->t[i] = round(body->t[i] * 1e6) / 1e6;
    }
    char *transform = made_transform(body, angles);
    body->piece = scene_piece(making->scene, PIECE_BODY, -1, name, "name: %s%s", body->name, transform);
    free(transform);
    return body;
}

char *made_transform(const madeBody *body, const double angles[3])
{
    return format_text(", transform: {rotate: [%g rad, %g rad, %g rad], translate: [%.10g, %.10g, %.10g]}", angles[0],
                       angles[1], angles[2], body->t[0], body->t[1], body->t[2]);
}

// ---------------------------------------------------------------- settings

static void choose_integrator(sceneMaking *making)
{
    uint64_t *seed = &making->seed;
    randomScene *scene = making->scene;
    double which = random_between(seed, 0, 1);
    making->newton = random_chance(seed, 0.45);
    making->method = which < 0.6    ? "backward_euler"
                     : which < 0.7  ? "midpoint"
                     : which < 0.8  ? "newmark"
                     : which < 0.86 ? "symplectic"
                     : which < 0.9  ? "theta"
                                    : "static";
    making->supports = strcmp(making->method, "static") == 0;
    if (making->supports || strcmp(making->method, "symplectic") == 0)
        making->newton = false;
    char *more = format_text("%s", making->newton ? ", newton: true" : "");
    if (strcmp(making->method, "theta") == 0)
    {
        free(more);
        more = format_text(", theta: %.3g, theta_vq: %.3g%s", random_between(seed, 0.5, 1),
                           random_between(seed, 0.5, 1), making->newton ? ", newton: true" : "");
    }
    scene_piece(scene, PIECE_TOP, -1, making->method, "integrator: {method: %s%s}", making->method, more);
    free(more);
    if (making->newton)
        scene_piece(scene, PIECE_TOP, -1, "newton", "# iterates each step");
    if (random_chance(seed, 0.3))
    {
        bool direct = random_chance(seed, 0.5);
        scene_piece(scene, PIECE_TOP, -1, direct ? "cholesky" : "cg", "solver: {type: %s}", direct ? "cholesky" : "cg");
    }
}

static void choose_gravity(sceneMaking *making)
{
    uint64_t *seed = &making->seed;
    if (random_chance(seed, making->contact ? 0.1 : 0.35))
        return;
    making->gravity[2] = -9.81;
    if (random_chance(seed, 0.2))
        for (int i = 0; i < 3; i++)
            making->gravity[i] = random_between(seed, -10, 10);
    scene_piece(making->scene, PIECE_TOP, -1, "gravity", "gravity: [%.4g, %.4g, %.4g]", making->gravity[0],
                making->gravity[1], making->gravity[2]);
}

#define TURNS 5 // from here on keys that do not go together with nlcp

static void choose_contact(sceneMaking *making)
{
    uint64_t *seed = &making->seed;
    bool nlcp = random_chance(seed, 0.12), self = random_chance(seed, 0.1);
    char *text = format_text("friction: %.3g", random_chance(seed, 0.2) ? 0 : random_between(seed, 0.05, 1.5));
    static const struct
    {
        double chance, low, high;
        const char *key, *tag;
    } keys[] = {{0.25, 1e2, 1e6, "stiffness", "compliant"},
                {0.2, 1e-4, 0.05, "dissipation", "dissipation"},
                {0.1, 0.3, 1, "softness", "softness"},
                {0.1, 1e-5, 1e-2, "stiction", "stiction"},
                {0.15, 2, 3.99, "points", "face points"},
                {0.15, 1e-5, 1e-2, "torsional_friction", "torsion"},
                {0.15, 1e-5, 1e-2, "rolling_friction", "rolling"}};
    randomScene *scene = making->scene;
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
    {
        if (!random_chance(seed, keys[k].chance) || (k >= TURNS && nlcp))
            continue;
        double value = random_log(seed, keys[k].low, keys[k].high);
        char *longer = format_text("%s, %s: %.4g", text, keys[k].key, k == 4 ? floor(value) : value);
        free(text);
        text = longer;
        scene_piece(scene, PIECE_TOP, -1, keys[k].tag, "# contact: %s", keys[k].tag);
    }
    uint64_t own = *seed; // what follows is as it would be without sleep
    bool sleep = !making->newton && random_chance(&own, 0.2);
    scene_piece(scene, PIECE_TOP, -1, "contact", "contact: {%s%s%s%s}", text, nlcp ? ", solver: nlcp" : "",
                self ? ", self: true" : "", sleep ? ", sleep: 2 mm/s" : "");
    if (sleep)
        scene_piece(scene, PIECE_TOP, -1, "sleep", "# contact: sleep");
    if (nlcp)
        scene_piece(scene, PIECE_TOP, -1, "nlcp", "# contact: nlcp");
    if (self)
        scene_piece(scene, PIECE_TOP, -1, "self-contact", "# contact: self");
    free(text);
}

static void choose_bodies(sceneMaking *making)
{
    uint64_t *seed = &making->seed;
    bool reducible = strcmp(making->method, "backward_euler") == 0 || strcmp(making->method, "newmark") == 0;
    if (reducible && !making->contact && random_chance(seed, 0.1))
    {
        make_reduced(making); // alone: its file is of a scene of one body
        return;
    }
    bool fixed = making->contact && random_chance(seed, 0.85);
    if (fixed)
        make_fixed(making, random_chance(seed, 0.7));
    int bodies = 1 + random_below(seed, making->contact ? 4 : 3);
    for (int b = 0; b < bodies; b++)
    {
        double which = random_between(seed, 0, 1);
        if (which < 0.55)
            make_soft(making);
        else if (which < 0.62 && !making->contact)
            make_plane(making);
        else if (which < 0.82)
            make_rigid(making);
        else
            make_articulated(making);
    }
}

// An explicit method is stable below the time in which a wave crosses the smallest cell; its bodies are of some six
// cells a side. Every sixth scene is beyond it, which must be noticed.
static void choose_time_step(sceneMaking *making)
{
    uint64_t *seed = &making->seed;
    double h = random_log(seed, 1e-4, 0.05);
    if (strcmp(making->method, "symplectic") == 0)
        h = making->size / 25 / sqrt(1e6 / 1000) * (random_chance(seed, 0.17) ? 10 : random_between(seed, 0.02, 0.1));
    // With the digits that the scene will have.
    double digit = pow(10, floor(log10(h)) - 2);
    making->scene->time_step = round(h / digit) * digit;
    double end = making->scene->time_step * making->scene->steps;
    for (int k = 0; k < PIECE_VALUES; k++)
        making->scene->key_times[k] = end * k / (PIECE_VALUES - 0.5);
}

void scene_generate(uint64_t seed, uint64_t number, int steps, randomScene *scene)
{
    *scene = (randomScene){.seed = seed, .number = number, .steps = steps};
    sceneMaking making = {.seed = seed * UINT64_C(0x100000001b3) + number, .scene = scene};
    random_next(&making.seed);
    making.size = random_log(&making.seed, 0.02, 0.5);
    making.speed = random_log(&making.seed, 0.01, 3);
    choose_integrator(&making);
    choose_time_step(&making);
    making.contact = strcmp(making.method, "backward_euler") == 0 && random_chance(&making.seed, 0.6);
    choose_gravity(&making);
    if (making.contact)
        choose_contact(&making);
    choose_bodies(&making);
    int bodies = making.n; // attachments may add some
    for (int b = 0; b < bodies; b++)
    {
        make_loads(&making, &making.bodies[b]);
        make_actuators(&making, &making.bodies[b]);
    }
    if (strcmp(making.method, "backward_euler") == 0)
        make_attachments(&making);
}
