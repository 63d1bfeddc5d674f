// SPDX-License-Identifier: Apache-2.0
// Random starts of robots and boxes: overlapping, in the floor, beyond what joints may do, fast. Whatever they are,
// steps stay finite, and no body has energy from nothing: kinetic energy is never above what it had, what it may have
// fallen, and what lifting it out of an overlap takes.
#pragma once
#include "rigid.h"

#include "contact/contact.h"

#define G 9.81

typedef struct randomStart
{
    sceneText urdf, scene;
    double potential; ///< that may be gained on the way: by falling to the floor, by coming out of it [J]
} randomStart;

static inline double random_in(uint64_t *seed, double low, double high)
{
    return low + 0.5 * (next_random(seed) + 1) * (high - low);
}

/// A tree of 2 to 9 links, capsules, boxes and balls on hinges and slides with limits, friction, damping and springs.
static inline void random_tree(uint64_t *seed, randomStart *out, int *links, double *mass)
{
    sceneText *t = &out->urdf;
    *links = 2 + (int)random_in(seed, 0, 7.99);
    *mass = 0;
    scene_add(t, "<robot name=\"r\">");
    for (int l = 0; l < *links; l++)
    {
        double m = pow(10, random_in(seed, -2, 1)), r = random_in(seed, 0.02, 0.06), s = 0.4 * m * r * r + 1e-7;
        int shape = (int)random_in(seed, 0, 2.99);
        *mass += m;
        scene_add(
            t,
            "<link name=\"l%d\"><inertial><origin xyz=\"0 0 0.1\"/><mass value=\"%g\"/><inertia ixx=\"%g\" ixy=\"0\" "
            "ixz=\"0\" iyy=\"%g\" iyz=\"0\" izz=\"%g\"/></inertial><collision><origin xyz=\"0 0 0.1\"/><geometry>",
            l, m, 3 * s, 3 * s, s);
        if (shape == 0)
            scene_add(t, "<capsule radius=\"%g\" length=\"0.12\"/>", r);
        else if (shape == 1)
            scene_add(t, "<box size=\"%g %g 0.2\"/>", r, r);
        else
            scene_add(t, "<sphere radius=\"%g\"/>", 1.5 * r);
        scene_add(t, "</geometry></collision></link>");
        if (l == 0)
            continue;
        int parent = (int)random_in(seed, 0, l - 0.01), slides = random_in(seed, 0, 1) < 0.2;
        scene_add(t,
                  "<joint name=\"j%d\" type=\"%s\"><parent link=\"l%d\"/><child link=\"l%d\"/><origin xyz=\"0 0 0.2\" "
                  "rpy=\"%g %g 0\"/><axis xyz=\"%g %g 1\"/><limit lower=\"%g\" upper=\"%g\" effort=\"%g\" "
                  "velocity=\"5\"/><dynamics damping=\"%g\" friction=\"%g\"/></joint>",
                  l, slides ? "prismatic" : "revolute", parent, l, next_random(seed), next_random(seed),
                  next_random(seed), next_random(seed), slides ? -0.1 : random_in(seed, -2, -0.1),
                  slides ? 0.1 : random_in(seed, 0.1, 2), pow(10, random_in(seed, 0, 2)),
                  random_in(seed, 0, 1) < 0.5 ? 0 : pow(10, random_in(seed, -3, 0)),
                  random_in(seed, 0, 1) < 0.6 ? 0 : pow(10, random_in(seed, -2, 0)));
    }
    scene_add(t, "</robot>");
}

static inline void random_scene(uint64_t seed, randomStart *out)
{
    static const double steps[] = {1, 2, 5, 10};
    sceneText *t = &out->scene;
    double mass = 0;
    int links = 0, boxes = (int)random_in(&seed, 0, 5.99);
    memset(out, 0, sizeof *out);
    random_tree(&seed, out, &links, &mass);
    double height = random_in(&seed, -0.3, 0.8), fast = pow(10, random_in(&seed, -1, 1.5));
    bool free = random_in(&seed, 0, 1) < 0.7;
    double reach = 0.25 * links + 0.3;
    scene_add(
        t,
        "tendril: 1\ntime_step: %g ms\nsteps: 1\ngravity: [0, 0, -9.81]\ncontact: {friction: %g, self: %s}\nbodies:\n",
        steps[(int)random_in(&seed, 0, 3.99)], random_in(&seed, 0, 1), random_in(&seed, 0, 1) < 0.5 ? "true" : "false");
    scene_add(t, "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n");
    scene_add(
        t,
        "  - {name: r, type: articulated, urdf: robot.urdf, base: %s, transform: {rotate: [%g rad, %g rad, 0 rad], "
        "translate: [0, 0, %g]}",
        free ? "free" : "fixed", 3 * next_random(&seed), 3 * next_random(&seed), height);
    if (free)
        scene_add(t, ", velocity: [%g, %g, %g], angular_velocity: [%g rad/s, %g rad/s, %g rad/s]",
                  fast * next_random(&seed), fast * next_random(&seed), fast * next_random(&seed),
                  3 * fast * next_random(&seed), 3 * fast * next_random(&seed), 3 * fast * next_random(&seed));
    scene_add(t, "}\n");
    out->potential = mass * G * (fmax(height, 0) + 2 * reach + fmax(-height, 0));
    for (int b = 0; b < boxes; b++)
    {
        double z = random_in(&seed, -0.1, 0.5);
        scene_add(t,
                  "  - {name: b%d, type: rigid, shape: {box: [0.2, 0.15, 0.1]}, total_mass: 2, velocity: [%g, %g, %g], "
                  "transform: {rotate: [%g rad, %g rad, %g rad], translate: [%g, %g, %g]}}\n",
                  b, fast * next_random(&seed), fast * next_random(&seed), fast * next_random(&seed),
                  3 * next_random(&seed), 3 * next_random(&seed), 3 * next_random(&seed), 0.3 * next_random(&seed),
                  0.3 * next_random(&seed), z);
        out->potential += 2 * G * (fabs(z) + 0.5);
    }
    out->potential += (mass + 2 * boxes) * G * 0.3; // out of each other, by the size of one
}

/// Runs one; says what is wrong with it, and which it was.
static inline void random_run(uint64_t seed, int n_steps, double *worst)
{
    static randomStart start;
    char folder[] = "/tmp/tendril_start_XXXXXX", path[64];
    tdModel *model = NULL;
    tdState *state = NULL;
    tdError error = {0};
    random_scene(seed, &start);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/robot.urdf", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(start.urdf.text, file);
    fclose(file);
    tdStatus status = td_model_parse(start.scene.text, start.scene.length, "scene.yaml", folder, NULL, &model, &error);
    unlink(path);
    rmdir(folder);
    if (status != TD_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
    assert_ok(td_state_create(model, NULL, &state, &error), error);
    double first = 0, kinetic = 0;
    td_state_energy(model, state, &first, NULL);
    for (int k = 0; k < n_steps; k++)
    {
        if (td_step(model, state) != TD_OK)
            fail_msg("seed %llu, step %d: %s", (unsigned long long)seed, k + 1, state->report.error.message);
        for (int64_t i = 0; i < model->coords; i++)
            if (!isfinite(state->q[i]) || !isfinite(state->v[i]))
                fail_msg("seed %llu, step %d: not finite", (unsigned long long)seed, k + 1);
        td_state_energy(model, state, &kinetic, NULL);
        double share = kinetic / (first + start.potential);
        *worst = fmax(*worst, share);
        if (share > 1)
            fail_msg("seed %llu, step %d: %.3g J of motion, but %.3g J at the start and %.3g J to be gained",
                     (unsigned long long)seed, k + 1, kinetic, first, start.potential);
    }
    td_state_free(state);
    td_model_free(model);
}
