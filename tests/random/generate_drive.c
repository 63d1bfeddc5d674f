// SPDX-License-Identifier: Apache-2.0
// What acts on bodies: loads, prescribed motion, actuators, welds and rods.
#include "generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void make_motion(sceneMaking *making, int owner, const char *name, const char *tag, double start, double most)
{
    int motion = scene_piece(making->scene, PIECE_MOTION, owner, tag, "%s", name);
    double *values = making->scene->pieces[motion].values;
    values[0] = start;
    for (int k = 1; k < PIECE_VALUES; k++)
        values[k] = most * random_between(&making->seed, 0, 1);
    making->inputs++;
}

static bool soft_block(const madeBody *body)
{
    return body->kind == MADE_BLOCK;
}

// Area of the side at the end of x.
static double end_area(const madeBody *body)
{
    return body->size[1] * body->size[2];
}

static void direction_text(uint64_t *seed, char *text, size_t size)
{
    snprintf(text, size, "[%.3g, %.3g, %.3g]", random_between(seed, -1, 1), random_between(seed, -1, 1),
             random_between(seed, 0.1, 1));
}

void make_loads(sceneMaking *making, madeBody *body)
{
    uint64_t *seed = &making->seed;
    randomScene *scene = making->scene;
    if (!soft_block(body) || !random_chance(seed, 0.25))
        return;
    char name[32];
    snprintf(name, sizeof name, "load_%s", body->name);
    double force = 0.02 * body->young * end_area(body) * random_between(seed, 0.1, 1);
    int which = random_below(seed, 4), load = -1;
    if (which == 0)
        load = scene_piece(scene, PIECE_LOAD, body->piece, "point load",
                           "name: %s, type: point, body: %s, group: xmax, force: [%.4g, %.4g, %.4g]", name, body->name,
                           force * random_between(seed, -1, 1), force * random_between(seed, -1, 1),
                           force * random_between(seed, -1, 1));
    else if (which == 1)
        load = scene_piece(scene, PIECE_LOAD, body->piece, "pressure",
                           "name: %s, type: surface, body: %s, group: zmax, pressure: %.4g", name, body->name,
                           0.05 * body->young * random_between(seed, -1, 1));
    else if (which == 2)
        load = scene_piece(scene, PIECE_LOAD, body->piece, "traction",
                           "name: %s, type: surface, body: %s, group: ymax, traction: [%.4g, %.4g, 0]", name,
                           body->name, 0.02 * body->young * random_between(seed, -1, 1),
                           0.02 * body->young * random_between(seed, -1, 1));
    else if (!body->end_taken)
    {
        bool all = random_chance(seed, 0.5);
        load = scene_piece(scene, PIECE_KEY, body->piece, "prescribed",
                           "prescribed: [{name: %s, group: xmax, axes: %s, displacement: [%.4g, %.4g, %.4g]}]", name,
                           all ? "xyz" : "xy", 0.2 * body->size[0] * random_between(seed, -0.5, 1),
                           0.2 * body->size[0] * random_between(seed, -1, 1),
                           all ? 0.2 * body->size[0] * random_between(seed, -1, 1) : 0);
        body->end_taken = true;
    }
    // A prescribed displacement without a motion would jump there in the first step.
    if (load >= 0 && (which == 3 || random_chance(seed, 0.7)))
        make_motion(making, load, name, "input", 0, 1);
}

// ---------------------------------------------------------------- actuators of blocks

static void make_cable(sceneMaking *making, const madeBody *body)
{
    uint64_t *seed = &making->seed;
    double p[4][3], y = random_between(seed, 0.2, 0.8), z = random_between(seed, 0.7, 0.95);
    int points = 2 + random_below(seed, 2);
    char path[256] = "", name[32];
    size_t length = 0;
    for (int k = 0; k < points; k++)
    {
        made_point(body, 0.95 - 0.85 * k / (points - 1), y, k % 2 == 0 ? z : z - 0.2, p[k]);
        length += (size_t)snprintf(path + length, sizeof path - length, "%s[%.6g, %.6g, %.6g]", k == 0 ? "" : ", ",
                                   p[k][0], p[k][1], p[k][2]);
    }
    made_point(body, -0.3, y, z, p[3]);
    snprintf(name, sizeof name, "cable_%s", body->name);
    bool pulls = random_chance(seed, 0.5);
    int cable = scene_piece(making->scene, PIECE_ACTUATOR, body->piece, pulls ? "cable force" : "cable displacement",
                            "name: %s, type: cable, body: %s, path: [%s], drive: %s", name, body->name, path,
                            pulls ? "force" : "displacement");
    if (body->held)
        scene_piece(making->scene, PIECE_KEY, cable, "pull point", "pull_point: [%.6g, %.6g, %.6g]", p[3][0], p[3][1],
                    p[3][2]);
    if (!pulls && random_chance(seed, 0.3))
        scene_piece(making->scene, PIECE_KEY, cable, "elastic cable", "stiffness: %.4g",
                    body->young * end_area(body) * random_log(seed, 0.1, 10));
    // Friction of cables does not go together with what needs the convex problem, which backward Euler may have.
    if (points > 2 && strcmp(making->method, "backward_euler") != 0 && random_chance(seed, 0.6))
        scene_piece(making->scene, PIECE_KEY, cable, "cable friction", "friction: %.3g",
                    random_between(seed, 0.05, 0.5));
    if (random_chance(seed, 0.2))
        scene_piece(making->scene, PIECE_KEY, cable, "limits", "effort_range: [0, %.4g]",
                    0.02 * body->young * end_area(body));
    make_motion(making, cable, name, "input", 0,
                pulls ? 0.05 * body->young * end_area(body) : random_log(seed, 0.01, 0.25) * body->size[0]);
}

// A box inside, as a closed surface: the body is filled with its material, so that pressure acts on points of it.
static char *inner_box(const madeBody *body)
{
    static const int faces[12][3] = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}, {0, 1, 5}, {0, 5, 4},
                                     {2, 6, 7}, {2, 7, 3}, {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
    char *text = NULL;
    size_t count = 0;
    FILE *out = open_memstream(&text, &count);
    if (out == NULL)
        abort();
    fprintf(out, "solid box\n");
    for (int f = 0; f < 12; f++)
    {
        fprintf(out, "facet normal 0 0 0\nouter loop\n");
        for (int v = 0; v < 3; v++)
        {
            int corner = faces[f][v];
            fprintf(out, "vertex %.9g %.9g %.9g\n", (corner & 1 ? 0.7 : 0.3) * body->size[0],
                    (corner & 2 ? 0.7 : 0.3) * body->size[1], (corner & 4 ? 0.7 : 0.3) * body->size[2]);
        }
        fprintf(out, "endloop\nendfacet\n");
    }
    fprintf(out, "endsolid box\n");
    fclose(out);
    return text;
}

static void make_cavity(sceneMaking *making, const madeBody *body)
{
    uint64_t *seed = &making->seed;
    static const char *const drives[] = {"pressure", "volume", "gas"};
    static const char *const tags[] = {"cavity pressure", "cavity volume", "cavity gas"};
    int which = random_below(seed, 3);
    double volume = 0.064 * body->size[0] * body->size[1] * body->size[2];
    char name[32], file[40];
    snprintf(name, sizeof name, "cavity_%s", body->name);
    snprintf(file, sizeof file, "%s.stl", name);
    int cavity =
        scene_piece(making->scene, PIECE_ACTUATOR, body->piece, tags[which],
                    "name: %s, type: cavity, body: %s, drive: %s, surface: %s", name, body->name, drives[which], file);
    scene_file_of(making->scene, cavity, file, inner_box(body));
    make_motion(making, cavity, name, "input", 0,
                which == 0 ? 0.2 * body->young * random_between(seed, -0.3, 1)
                           : volume * random_between(seed, -0.1, 0.4));
}

static void make_force(sceneMaking *making, const madeBody *body)
{
    uint64_t *seed = &making->seed;
    char name[32], direction[64];
    snprintf(name, sizeof name, "force_%s", body->name);
    direction_text(seed, direction, sizeof direction);
    bool pushes = random_chance(seed, 0.6);
    int force =
        scene_piece(making->scene, PIECE_ACTUATOR, body->piece, pushes ? "force" : "force by displacement",
                    "name: %s, type: force, body: %s, group: xmax, direction: %s, drive: %s%s", name, body->name,
                    direction, pushes ? "force" : "displacement", random_chance(seed, 0.3) ? ", on: surface" : "");
    if (random_chance(seed, 0.2))
        scene_piece(making->scene, PIECE_KEY, force, "rate limit", "%s: %.4g",
                    pushes ? "effort_rate" : "displacement_rate",
                    pushes ? body->young * end_area(body) : body->size[0]);
    make_motion(making, force, name, "input", 0, pushes ? 0.02 * body->young * end_area(body) : 0.2 * body->size[0]);
}

static void make_held(sceneMaking *making, madeBody *body)
{
    uint64_t *seed = &making->seed;
    bool turns = random_chance(seed, 0.5);
    bool effort = (making->supports || strcmp(making->method, "backward_euler") == 0) && random_chance(seed, 0.4);
    char name[32], direction[64];
    snprintf(name, sizeof name, "%s_%s", turns ? "turn" : "shift", body->name);
    direction_text(seed, direction, sizeof direction);
    double center[3], area = end_area(body);
    made_point(body, 1, 0.5, 0.5, center);
    int held = -1;
    if (turns)
        held = scene_piece(making->scene, PIECE_ACTUATOR, body->piece, effort ? "rotation torque" : "rotation",
                           "name: %s, type: rotation, body: %s, group: xmax, axis: %s, center: [%.6g, %.6g, %.6g], "
                           "drive: %s",
                           name, body->name, direction, center[0], center[1], center[2], effort ? "torque" : "angle");
    else
        held = scene_piece(making->scene, PIECE_ACTUATOR, body->piece, effort ? "translation force" : "translation",
                           "name: %s, type: translation, body: %s, group: xmax, direction: %s, drive: %s", name,
                           body->name, direction, effort ? "force" : "displacement");
    body->end_taken = true;
    double most = turns ? (effort ? 0.005 * body->young * area * sqrt(area) : random_between(seed, -1, 1))
                        : (effort ? 0.02 * body->young * area : 0.2 * body->size[0]);
    make_motion(making, held, name, turns && !effort ? "angle" : "input", 0, most);
}

// Cables that inverse control finds, and a point that they bring towards a target near it.
static void make_inverse(sceneMaking *making, const madeBody *body)
{
    uint64_t *seed = &making->seed;
    double p[3], from[3], to[3];
    for (int k = 0; k < 2; k++)
    {
        made_point(body, 0.95, k == 0 ? 0.5 : 0.9, k == 0 ? 0.9 : 0.5, from);
        made_point(body, 0.05, k == 0 ? 0.5 : 0.9, k == 0 ? 0.9 : 0.5, to);
        scene_piece(making->scene, PIECE_ACTUATOR, body->piece, "inverse cable",
                    "name: found%d_%s, type: cable, body: %s, path: [[%.6g, %.6g, %.6g], [%.6g, %.6g, %.6g]], "
                    "drive: displacement, range: [0, %.4g]",
                    k, body->name, body->name, from[0], from[1], from[2], to[0], to[1], to[2], 0.2 * body->size[0]);
    }
    made_point(body, 0.98, 0.5, 0.5, p);
    int effector =
        scene_piece(making->scene, PIECE_EFFECTOR, body->piece, "effector",
                    "name: tip_%s, body: %s, point: [%.6g, %.6g, %.6g]", body->name, body->name, p[0], p[1], p[2]);
    for (int i = 0; i < 3; i++)
        p[i] += 0.1 * body->size[0] * random_between(seed, -1, 1);
    scene_piece(making->scene, PIECE_KEY, effector, "target", "target: [%.6g, %.6g, %.6g]", p[0], p[1], p[2]);
}

void make_actuators(sceneMaking *making, madeBody *body)
{
    uint64_t *seed = &making->seed;
    if (body->kind == MADE_RIGID && random_chance(seed, 0.15))
    {
        char name[32], direction[64];
        double p[3];
        snprintf(name, sizeof name, "push_%s", body->name);
        direction_text(seed, direction, sizeof direction);
        made_point(body, 0.6, 0.5, 0.4, p);
        int force =
            scene_piece(making->scene, PIECE_ACTUATOR, body->piece, "force on rigid",
                        "name: %s, type: force, body: %s, point: [%.6g, %.6g, %.6g], direction: %s, drive: force", name,
                        body->name, p[0], p[1], p[2], direction);
        make_motion(making, force, name, "input", 0, 1000 * pow(making->size, 3));
    }
    if (!soft_block(body))
        return;
    bool settles = making->supports || strcmp(making->method, "backward_euler") == 0;
    // A motion drives all others, or inverse control would find those too.
    if (settles && !making->contact && body->held && making->inputs == 0 && random_chance(seed, 0.12))
    {
        make_inverse(making, body);
        return;
    }
    if (random_chance(seed, 0.2))
        make_cable(making, body);
    if (random_chance(seed, 0.15))
        make_cavity(making, body);
    if (random_chance(seed, 0.12) && !body->end_taken)
        make_force(making, body);
    else if (random_chance(seed, 0.15) && !body->end_taken)
        make_held(making, body);
}

// ---------------------------------------------------------------- welds and rods

// A rigid box at the end of a block, welded to it.
static void weld_box(sceneMaking *making, madeBody *block)
{
    uint64_t *seed = &making->seed;
    randomScene *scene = making->scene;
    if (making->n == MADE_BODIES)
        return;
    char name[16];
    snprintf(name, sizeof name, "cap%d", making->n);
    double depth = 0.3 * block->size[0], center[3];
    made_point(block, 1 + 0.5 * depth / block->size[0], 0.5, 0.5, center);
    // The block's own rotation is in its transform; the cap takes it from there.
    const char *text = scene->pieces[block->piece].text, *turn = strstr(text, "rotate: ");
    int length = turn == NULL ? 0 : (int)(strchr(turn, ']') + 1 - turn);
    int cap = scene_piece(scene, PIECE_BODY, -1, "cap",
                          "name: %s, type: rigid, shape: {box: [%.6g, %.6g, %.6g]}, density: %.4g, "
                          "transform: {%.*s, translate: [%.10g, %.10g, %.10g]}",
                          name, depth, block->size[1], block->size[2], random_log(seed, 100, 8000), length, turn,
                          center[0], center[1], center[2]);
    making->n++;
    int weld = scene_piece(scene, PIECE_ATTACHMENT, block->piece, "weld", "name: weld_%s, a: %s, group: xmax, b: %s",
                           name, block->name, name);
    scene->pieces[weld].other = cap;
    if (random_chance(seed, 0.3))
        scene_piece(scene, PIECE_KEY, weld, "compliant weld", "stiffness: %.4g, dissipation: %.3g",
                    block->young * block->size[0] * random_log(seed, 0.1, 100), random_log(seed, 1e-4, 0.01));
    block->end_taken = true;
}

void make_attachments(sceneMaking *making)
{
    uint64_t *seed = &making->seed;
    randomScene *scene = making->scene;
    int bodies = making->n;
    for (int b = 0; b < bodies; b++)
    {
        madeBody *body = &making->bodies[b];
        double p[3], q[3];
        made_point(body, 0.5, 0.5, 0.5, p);
        // A cap beside the block must not start inside of another body.
        if (soft_block(body) && !body->end_taken && !making->contact && random_chance(seed, 0.2))
            weld_box(making, body);
        if (body->kind == MADE_RIGID && random_chance(seed, 0.15))
            scene_piece(scene, PIECE_ATTACHMENT, body->piece, "ball joint",
                        "name: ball_%s, a: %s, points: [[%.6g, %.6g, %.6g]], space: true", body->name, body->name,
                        p[0] + 0.3 * making->size, p[1], p[2]);
        else if ((body->kind == MADE_RIGID || soft_block(body)) && random_chance(seed, 0.12))
        {
            made_point(body, 0.5, 0.5, 3, q);
            scene_piece(scene, PIECE_COUPLING, body->piece, "rod",
                        "name: rod_%s, rod: {a: %s, point_a: [%.6g, %.6g, %.6g], point_b: [%.6g, %.6g, %.6g]%s}",
                        body->name, body->name, p[0], p[1], p[2], q[0], q[1], q[2],
                        random_chance(seed, 0.3) ? ", stiffness: 1e4, dissipation: 1e-3" : "");
        }
    }
}
