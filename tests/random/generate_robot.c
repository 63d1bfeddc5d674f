// SPDX-License-Identifier: Apache-2.0
// Trees of rigid links, as URDF files beside the scene, and what drives their joints.
#include "generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// A link of a box, from the origin up along z; its mass as of an even box.
static void write_link(FILE *out, int link, double length, double width, double mass)
{
    double side = mass * (width * width + length * length) / 12, across = mass * width * width / 6;
    fprintf(out,
            "  <link name=\"l%d\">\n    <inertial><origin xyz=\"0 0 %.6g\"/><mass value=\"%.6g\"/>"
            "<inertia ixx=\"%.6g\" iyy=\"%.6g\" izz=\"%.6g\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial>\n",
            link, 0.5 * length, mass, side, side, across);
    fprintf(out, "    <collision><origin xyz=\"0 0 %.6g\"/><geometry>", 0.5 * length);
    if (link % 3 == 0)
        fprintf(out, "<box size=\"%.6g %.6g %.6g\"/>", width, width, length);
    else if (link % 3 == 1)
        fprintf(out, "<cylinder radius=\"%.6g\" length=\"%.6g\"/>", 0.5 * width, length);
    else
        fprintf(out, "<sphere radius=\"%.6g\"/>", 0.5 * width);
    fprintf(out, "</geometry></collision>\n  </link>\n");
}

static void write_joint(uint64_t *seed, FILE *out, madeBody *body, int link, int parent, double length)
{
    int which = random_below(seed, 10);
    bool slides = which >= 7 && which < 9, fixed = which == 9 && link > 1, endless = which < 2;
    fprintf(out,
            "  <joint name=\"j%d\" type=\"%s\"><parent link=\"l%d\"/><child link=\"l%d\"/>"
            "<origin xyz=\"0 0 %.6g\" rpy=\"%.3g %.3g %.3g\"/>",
            link,
            fixed     ? "fixed"
            : slides  ? "prismatic"
            : endless ? "continuous"
                      : "revolute",
            parent, link, length, random_between(seed, -1, 1), random_between(seed, -1, 1),
            random_between(seed, -1, 1));
    double limit = slides ? length * random_between(seed, 0.2, 1) : random_between(seed, 0.3, 2.5);
    if (!fixed)
    {
        int axis = random_below(seed, 3);
        fprintf(out, "<axis xyz=\"%d %d %d\"/>", axis == 0, axis == 1, axis == 2);
        if (!endless)
            fprintf(out, "<limit lower=\"%.4g\" upper=\"%.4g\" effort=\"1000\" velocity=\"10\"/>",
                    -limit * random_between(seed, 0.1, 1), limit);
        if (random_chance(seed, 0.5))
            fprintf(out, "<dynamics damping=\"%.3g\" friction=\"%.3g\"/>", random_log(seed, 1e-4, 0.1),
                    random_chance(seed, 0.5) ? 0 : random_log(seed, 1e-4, 0.1));
        body->slides[body->joints] = slides;
        body->range[body->joints] = limit;
        body->joints++;
    }
    fprintf(out, "</joint>\n");
}

// Names of the joints that move are j1, j2, ... with gaps where one is fixed: kept so that the k-th is known.
void make_articulated(sceneMaking *making)
{
    uint64_t *seed = &making->seed;
    randomScene *scene = making->scene;
    int links = 2 + random_below(seed, 4);
    double length = making->size * random_between(seed, 0.3, 0.8), width = length * random_between(seed, 0.15, 0.5);
    double density = random_log(seed, 200, 5000), mass = density * length * width * width;
    // What it may reach, about its root's origin.
    double reach = length * links, low[3] = {-reach, -reach, -reach}, size[3] = {2 * reach, 2 * reach, 2 * reach};
    madeBody *body = made_body(making, MADE_ARTICULATED, "robot", low, size, true);
    bool free_base = !making->supports && random_chance(seed, 0.4);
    body->held = !free_base;
    char *text = NULL, file[32];
    size_t count = 0;
    FILE *out = open_memstream(&text, &count);
    if (out == NULL)
        abort();
    fprintf(out, "<?xml version=\"1.0\"?>\n<robot name=\"%s\">\n", body->name);
    for (int l = 0; l < links; l++)
        write_link(out, l, length, width, mass * random_log(seed, 0.2, 1));
    for (int l = 1; l < links; l++)
        write_joint(seed, out, body, l, random_chance(seed, 0.7) ? l - 1 : random_below(seed, l), length);
    fprintf(out, "</robot>\n");
    fclose(out);
    body->inertia = mass * reach * reach;
    snprintf(file, sizeof file, "%s.urdf", body->name);
    int key = scene_piece(scene, PIECE_KEY, body->piece, free_base ? "free robot" : "based robot",
                          "type: articulated, urdf: %s, base: %s", file, free_base ? "free" : "fixed");
    scene_file_of(scene, key, file, text);
    if (free_base && random_chance(seed, 0.5))
        scene_piece(scene, PIECE_KEY, body->piece, "spin",
                    "velocity: [%.3g, 0, 0], angular_velocity: [%.3g rad/s, %.3g rad/s, %.3g rad/s]", making->speed,
                    random_between(seed, -5, 5), random_between(seed, -5, 5), random_between(seed, -5, 5));
    make_joint_actuators(making, body);
    make_joint_coupling(making, body);
}

// Which link the k-th joint that moves belongs to is in the file; its name is looked for there.
static void joint_name(const randomScene *scene, const madeBody *body, int k, char *name, size_t size)
{
    const char *content = NULL;
    for (int i = 0; i < scene->n; i++)
        if (scene->pieces[i].owner == body->piece && scene->pieces[i].content != NULL)
            content = scene->pieces[i].content;
    for (const char *at = content; at != NULL && (at = strstr(at, "<joint name=\"")) != NULL;)
    {
        at += strlen("<joint name=\"");
        const char *end = strchr(at, '"');
        bool fixed = strncmp(end, "\" type=\"fixed\"", 14) == 0;
        if (!fixed && k-- == 0)
        {
            snprintf(name, size, "%.*s", (int)(end - at), at);
            return;
        }
    }
    snprintf(name, size, "none");
}

void make_joint_actuators(sceneMaking *making, const madeBody *body)
{
    uint64_t *seed = &making->seed;
    randomScene *scene = making->scene;
    static const char *const tags[] = {"joint effort", "joint position", "joint servo", "joint velocity"};
    for (int k = 0; k < body->joints; k++)
    {
        if (!making->supports && !random_chance(seed, 0.45))
            continue;
        // In a static scene every joint needs something that holds it.
        int which = making->supports ? 2 : random_below(seed, 4);
        char joint[16], name[40];
        joint_name(scene, body, k, joint, sizeof joint);
        snprintf(name, sizeof name, "%s_%s", body->name, joint);
        bool slides = body->slides[k];
        // Of a servo that swings with about 1 to 10 Hz.
        double omega = 2 * M_PI * random_log(seed, 1, 10), inertia = body->inertia;
        double lever = slides ? 1 / (making->size * making->size) : 1, stiffness = inertia * omega * omega * lever;
        int actuator = scene_piece(scene, PIECE_ACTUATOR, body->piece, tags[which],
                                   "name: %s, type: joint, body: %s, joint: %s, drive: %s", name, body->name, joint,
                                   which == 0   ? "effort"
                                   : which == 3 ? "velocity"
                                                : "position");
        if (which == 2)
            scene_piece(scene, PIECE_KEY, actuator, "servo", "stiffness: %.4g, damping: %.4g", stiffness,
                        stiffness / omega * random_between(seed, 0.1, 2));
        if (which == 3)
            scene_piece(scene, PIECE_KEY, actuator, "servo", "damping: %.4g", stiffness / omega);
        if (which >= 2 && random_chance(seed, 0.3))
            scene_piece(scene, PIECE_KEY, actuator, "effort limit", "effort_range: [%.4g, %.4g]",
                        -stiffness * 0.05 * body->range[k], stiffness * 0.1 * body->range[k]);
        double most = which == 0   ? 0.02 * stiffness * body->range[k]
                      : which == 3 ? omega * 0.1 * body->range[k]
                                   : random_between(seed, -0.1, 0.9) * body->range[k];
        if (random_chance(seed, 0.8))
            make_motion(making, actuator, name, !slides && which != 0 ? (which == 3 ? "rate" : "angle") : "input", 0,
                        most);
    }
}

void make_joint_coupling(sceneMaking *making, const madeBody *body)
{
    if (strcmp(making->method, "backward_euler") != 0 || body->joints < 2 || !random_chance(&making->seed, 0.2))
        return;
    if (body->slides[0] != body->slides[1])
        return;
    char first[16], second[16];
    joint_name(making->scene, body, 0, first, sizeof first);
    joint_name(making->scene, body, 1, second, sizeof second);
    scene_piece(making->scene, PIECE_COUPLING, body->piece, "gear",
                "name: gear_%s, terms: [{body: %s, joint: %s}, {body: %s, joint: %s, factor: %.3g}]", body->name,
                body->name, first, body->name, second, random_between(&making->seed, -2, -0.5));
}
