// SPDX-License-Identifier: Apache-2.0
// Trees without damping, whose energy must stay: pendulums, chains of hinges, tops, boxes that tumble.
#pragma once
#include "rigid.h"

typedef enum undampedKind
{
    UNDAMPED_PENDULUM, ///< two hinges, let go 143 degrees from hanging
    UNDAMPED_FLAT,     ///< a chain of hinges in a plane, let go level
    UNDAMPED_CHAIN,    ///< the same with every other axis across
    UNDAMPED_HEAVY,    ///< a top on a ball joint
    UNDAMPED_FREE,     ///< an asymmetric top in space
    UNDAMPED_BOXES,    ///< ten boxes that tumble
    UNDAMPED_KINDS
} undampedKind;

static const char *const undamped_names[UNDAMPED_KINDS] = {"double pendulum", "flat chain", "chain",
                                                           "heavy top",       "free top",   "ten boxes"};

#define UNDAMPED_REACH 1.0 // [m] length of chains

/// URDF text of a chain of n hinges from a base, level, along x; until the next call.
static inline const char *undamped_chain(int n, bool across)
{
    static sceneText t;
    t.length = 0;
    double length = UNDAMPED_REACH / n, mass = 2.0 / n;
    scene_add(&t, "<robot name=\"chain\"><link name=\"l0\"/>");
    for (int i = 1; i <= n; i++)
        scene_add(&t,
                  "<link name=\"l%d\"><inertial><origin xyz=\"%g 0 0\"/><mass value=\"%g\"/><inertia ixx=\"%g\" "
                  "iyy=\"%g\" izz=\"%g\"/></inertial></link><joint name=\"j%d\" type=\"continuous\"><parent "
                  "link=\"l%d\"/><child link=\"l%d\"/><origin xyz=\"%g 0 0\"/><axis xyz=\"%s\"/></joint>",
                  i, 0.5 * length, mass, 0.02 * mass * length * length, mass * length * length / 12,
                  mass * length * length / 12, i, i - 1, i, i == 1 ? 0 : length,
                  across && i % 2 == 0 ? "0 0 1" : "0 1 0");
    scene_add(&t, "</robot>");
    return t.text;
}

/// n: hinges of a chain. `more`: lines of settings, e.g. an integrator.
static inline tdModel *undamped_model(undampedKind kind, int n, double h, const char *more)
{
    char settings[400];
    bool weightless = kind == UNDAMPED_FREE || kind == UNDAMPED_BOXES;
    snprintf(settings, sizeof settings, "gravity: [0, 0, %s]\ntime_step: %.17g\nsteps: 1\n%s",
             weightless ? "0" : "-9.81", h, more);
    switch (kind)
    {
    case UNDAMPED_PENDULUM:
        return robot_model(ROBOT(BASE LINK("upper", "1.5", "0 0 -0.4", "0.1", "0.1", "0.001")
                                     LINK("lower", "0.8", "0 0 -0.3", "0.03", "0.03", "0.001")
                                         JOINT("a", "continuous", "base", "upper", "0 0 0", "0 1 0", "")
                                             JOINT("b", "continuous", "upper", "lower", "0 0 -0.7", "0 1 0", "")),
                           settings, "joints: [{name: a, position: 2.5 rad}, {name: b, position: 0.7 rad}]", "");
    case UNDAMPED_FLAT:
    case UNDAMPED_CHAIN: return robot_model(undamped_chain(n, kind == UNDAMPED_CHAIN), settings, "", "");
    case UNDAMPED_HEAVY:
        return robot_model(ROBOT(BASE LINK("top", "1", "0 0 0.1", "0.002", "0.002", "0.001")
                                     JOINT("ball", "ball", "base", "top", "0 0 0", "0 0 1", "")),
                           settings, "", "");
    case UNDAMPED_FREE:
        return robot_model(ROBOT(LINK("body", "2", "0.02 0 0.05", "0.02", "0.03", "0.045")), settings,
                           "base: free, angular_velocity: [0.3 rad/s, 9 rad/s, 0.2 rad/s]", "");
    default:
    {
        static sceneText t;
        t.length = 0;
        scene_add(&t, "tendril: 1\n%s\nbodies:\n", settings);
        for (int i = 0; i < 10; i++)
            scene_add(&t,
                      "  - {name: box%d, type: rigid, shape: {box: [0.1, 0.15, 0.2]}, density: 500 kg/m^3, transform: "
                      "{translate: [%d, 0, 0]}, velocity: [0, 0.1, 0], angular_velocity: [%d rad/s, %d rad/s, %d "
                      "rad/s]}\n",
                      i, i, i, 10 - i, 3 * i);
        return scene_parse(t.text);
    }
    }
}

static inline double undamped_energy(const tdModel *model, tdState *state)
{
    double sum = 0;
    for (int b = 0; b < model->n_bodies; b++)
    {
        robotSums sums = robot_sums(model, state, b);
        sum += sums.kinetic + sums.potential;
    }
    return sum;
}

/// The heavy top starts at 60 degrees, spinning about its axis; the others as their scenes say.
static inline tdState *undamped_state(const tdModel *model, undampedKind kind)
{
    tdState *state = robot_state(model);
    if (kind == UNDAMPED_HEAVY)
    {
        double *turn = td_articulated_mine(&model->bodies[0], state)->reference;
        turn[0] = cos(0.5236);
        turn[1] = sin(0.5236);
        state->v[2] = 40;
    }
    return state;
}

/// URDF text of a tree of n links with random joints, limits and friction as asked for; until the next call.
static inline const char *undamped_tree(uint64_t *seed, int n, bool limits, bool friction)
{
    static const char *const kinds[] = {"revolute", "continuous", "prismatic", "ball"};
    static sceneText t;
    t.length = 0;
    scene_add(&t,
              "<robot name=\"tree\"><link name=\"l0\"><inertial><origin xyz=\"0 0 0.01\"/><mass value=\"1\"/><inertia "
              "ixx=\"0.01\" iyy=\"0.012\" izz=\"0.015\"/></inertial><collision><geometry><box size=\"0.2 0.2 0.2\"/>"
              "</geometry></collision></link>");
    for (int i = 1; i <= n; i++)
    {
        double mass = 0.2 + 0.9 * (1 + next_random(seed)), size = 0.1 + 0.05 * next_random(seed);
        int kind = (int)(1.999 * (1 + next_random(seed))), parent = (int)(0.5 * (i - 1e-9) * (1 + next_random(seed)));
        scene_add(&t,
                  "<link name=\"l%d\"><inertial><origin xyz=\"%g %g 0\"/><mass value=\"%g\"/><inertia ixx=\"%g\" "
                  "iyy=\"%g\" izz=\"%g\"/></inertial><collision><origin xyz=\"%g 0 0\"/><geometry><box size=\"%g 0.05 "
                  "0.05\"/></geometry></collision></link>",
                  i, size, 0.3 * size, mass, 0.2 * mass * size * size, 0.4 * mass * size * size,
                  0.5 * mass * size * size, size, 2 * size);
        scene_add(
            &t,
            "<joint name=\"j%d\" type=\"%s\"><parent link=\"l%d\"/><child link=\"l%d\"/><origin xyz=\"%g %g %g\"/>"
            "<axis xyz=\"%g %g %g\"/>",
            i, kinds[kind], parent, i, 0.2 * next_random(seed), 0.2 * next_random(seed), 0.2 * next_random(seed),
            1 + next_random(seed), next_random(seed), next_random(seed));
        if (kind == 0 || kind == 2)
            scene_add(&t, "<limit lower=\"%g\" upper=\"%g\" effort=\"1000\" velocity=\"1000\"/>", limits ? -0.5 : -1e6,
                      limits ? 0.5 : 1e6);
        if (friction && kind != 3)
            scene_add(&t, "<dynamics damping=\"0\" friction=\"%g\"/>", 0.2 * (1 + next_random(seed)));
        scene_add(&t, "</joint>");
    }
    scene_add(&t, "</robot>");
    return t.text;
}
