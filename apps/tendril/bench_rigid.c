// SPDX-License-Identifier: Apache-2.0
// tendril bench rigid: steps a second of rigid bodies and robots on one thread, in processor time, so that other work
// on the machine does not count. Cases are made here: an arm of seven joints and a humanoid of 21, free and on a floor;
// a hanging chain; boxes that are stacked, fall, lie and sleep; an arm at rest on the dry friction of its joints. Steps
// are of 2 ms. A case first runs until it does what its name says; then each of its steps is timed.
#include "bench.h"

#include "base/file.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---------------------------------------------------------------- robots

// A link that is a capsule from its origin to `to`, with the mass of water.
static void add_link(tdText *urdf, const char *name, const double to[3], double radius)
{
    double length = sqrt(to[0] * to[0] + to[1] * to[1] + to[2] * to[2]), r = radius;
    double mass = 1000 * M_PI * r * r * (length + 4 * r / 3);
    double across = mass * (length * length / 12 + r * r / 4 + r * r / 10), along = 0.5 * mass * r * r;
    double pitch = length > 0 ? acos(to[2] / length) : 0, yaw = atan2(to[1], to[0]);
    td_text_format(
        urdf,
        "<link name=\"%s\"><inertial><origin xyz=\"%g %g %g\" rpy=\"0 %g %g\"/><mass value=\"%g\"/>"
        "<inertia ixx=\"%g\" iyy=\"%g\" izz=\"%g\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial>"
        "<collision><origin xyz=\"%g %g %g\" rpy=\"0 %g %g\"/><geometry><capsule radius=\"%g\" length=\"%g\"/>"
        "</geometry></collision></link>\n",
        name, to[0] / 2, to[1] / 2, to[2] / 2, pitch, yaw, mass, across, across, along, to[0] / 2, to[1] / 2, to[2] / 2,
        pitch, yaw, radius, length);
}

static void add_joint(tdText *urdf, const char *parent, const char *child, const double at[3], const char *axis,
                      double limit, double damping, double friction)
{
    td_text_format(
        urdf,
        "<joint name=\"%s_joint\" type=\"revolute\"><parent link=\"%s\"/><child link=\"%s\"/><origin xyz=\"%g "
        "%g %g\"/><axis xyz=\"%s\"/><limit lower=\"%g\" upper=\"%g\" effort=\"200\" velocity=\"20\"/>"
        "<dynamics damping=\"%g\" friction=\"%g\"/></joint>\n",
        child, parent, child, at[0], at[1], at[2], axis, -limit, limit, damping, friction);
}

static void add_arm(tdText *urdf, int joints, double damping, double friction)
{
    static const char *const axes[] = {"0 0 1", "0 1 0", "0 0 1", "0 -1 0", "0 0 1", "0 1 0", "0 0 1"};
    td_text_format(urdf, "<robot name=\"arm\">\n");
    const double foot[3] = {0, 0, 0.15}, bone[3] = {0, 0, 0.18};
    add_link(urdf, "base", foot, 0.08);
    for (int k = 0; k < joints; k++)
    {
        char name[2][32];
        snprintf(name[0], sizeof name[0], k == 0 ? "base" : "link_%d", k);
        snprintf(name[1], sizeof name[1], "link_%d", k + 1);
        add_link(urdf, name[1], bone, 0.06 - 0.004 * k);
        add_joint(urdf, name[0], name[1], k == 0 ? foot : bone, axes[k], 2.9, damping, friction);
    }
    td_text_format(urdf, "</robot>\n");
}

static void add_chain(tdText *urdf, int joints)
{
    td_text_format(urdf, "<robot name=\"chain\"><link name=\"base\"/>\n");
    const double bone[3] = {0, 0, -0.1}, none[3] = {0, 0, 0};
    for (int k = 0; k < joints; k++)
    {
        char name[2][32];
        snprintf(name[0], sizeof name[0], k == 0 ? "base" : "link_%d", k);
        snprintf(name[1], sizeof name[1], "link_%d", k + 1);
        add_link(urdf, name[1], bone, 0.02);
        td_text_format(urdf,
                       "<joint name=\"joint_%d\" type=\"continuous\"><parent link=\"%s\"/><child link=\"%s\"/><origin "
                       "xyz=\"0 0 %g\"/><axis xyz=\"%s\"/><dynamics damping=\"0.01\"/></joint>\n",
                       k + 1, name[0], name[1], k == 0 ? none[2] : bone[2], k % 2 == 0 ? "0 1 0" : "1 0 0");
    }
    td_text_format(urdf, "</robot>\n");
}

// A limb of several hinges at one place: all but the last carry a ball of 1 % of a link's size.
static void add_hinges(tdText *urdf, const char *parent, const char *child, const double at[3], const char *axes,
                       const double to[3], double radius)
{
    static const double none[3] = {0, 0, 0};
    char last[64], name[64];
    snprintf(last, sizeof last, "%s", parent);
    for (const char *axis = axes; *axis != '\0'; axis++)
    {
        bool end = axis[1] == '\0';
        snprintf(name, sizeof name, end ? "%s" : "%s_%c", child, *axis);
        if (end)
            add_link(urdf, name, to, radius);
        else // too small to be met
            td_text_format(urdf,
                           "<link name=\"%s\"><inertial><mass value=\"0.3\"/><inertia ixx=\"3e-4\" iyy=\"3e-4\" "
                           "izz=\"3e-4\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link>\n",
                           name);
        add_joint(urdf, last, name, axis == axes ? at : none,
                  *axis == 'x'   ? "1 0 0"
                  : *axis == 'y' ? "0 1 0"
                                 : "0 0 1",
                  1.2, 1, 0);
        snprintf(last, sizeof last, "%s", name);
    }
}

// 21 hinges and a free root: 27 coordinates.
static void add_humanoid(tdText *urdf)
{
    td_text_format(urdf, "<robot name=\"humanoid\">\n");
    add_link(urdf, "torso", (const double[3]){0, 0, 0.3}, 0.11);
    add_hinges(urdf, "torso", "pelvis", (const double[3]){0, 0, -0.05}, "xyz", (const double[3]){0, 0, -0.12}, 0.1);
    for (int s = 0; s < 2; s++)
    {
        double y = s == 0 ? 1 : -1;
        const char *side = s == 0 ? "left" : "right";
        char thigh[32], shin[32], foot[32], upper[32], lower[32];
        snprintf(thigh, sizeof thigh, "%s_thigh", side);
        snprintf(shin, sizeof shin, "%s_shin", side);
        snprintf(foot, sizeof foot, "%s_foot", side);
        snprintf(upper, sizeof upper, "%s_upper", side);
        snprintf(lower, sizeof lower, "%s_lower", side);
        add_hinges(urdf, "pelvis", thigh, (const double[3]){0, 0.1 * y, -0.16}, "xzy", (const double[3]){0, 0, -0.34},
                   0.06);
        add_hinges(urdf, thigh, shin, (const double[3]){0, 0, -0.4}, "y", (const double[3]){0, 0, -0.3}, 0.049);
        add_hinges(urdf, shin, foot, (const double[3]){0, 0, -0.37}, "yx", (const double[3]){0.14, 0, 0}, 0.03);
        add_hinges(urdf, "torso", upper, (const double[3]){0, 0.19 * y, 0.26}, "xy",
                   (const double[3]){0.1, 0.1 * y, -0.2}, 0.04);
        add_hinges(urdf, upper, lower, (const double[3]){0.12, 0.12 * y, -0.24}, "y",
                   (const double[3]){0.14, -0.1 * y, 0.1}, 0.031);
    }
    td_text_format(urdf, "</robot>\n");
}

// ---------------------------------------------------------------- scenes

#define FLOOR "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"

static void add_head(tdText *scene, bool contact, bool sleep)
{
    td_text_format(scene, "tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 2 ms\nsteps: 1\n");
    if (contact)
        td_text_format(scene, "contact: {friction: 0.8%s}\n", sleep ? ", sleep: 5 mm/s" : "");
    td_text_format(scene, "bodies:\n");
}

static void add_robot(tdText *scene, const char *more)
{
    td_text_format(scene, "  - {name: robot, type: articulated, urdf: robot.urdf%s}\n", more);
}

static void add_boxes(tdText *scene, int n, int columns, double gap)
{
    for (int i = 0; i < n; i++)
    {
        int layer = i / (columns * columns), at = i % (columns * columns), row = at / columns;
        double x = 0.22 * (at % columns) + 0.013 * (layer % 3), y = 0.22 * row + 0.011 * (layer % 4);
        td_text_format(scene,
                       "  - {name: box_%d, type: rigid, shape: {box: [0.2, 0.2, 0.2]}, density: 500, transform: "
                       "{translate: [%g, %g, %g]}}\n",
                       i, x, y, 0.1 + gap + (0.2 + gap) * layer);
    }
}

typedef enum rigidCase
{
    ARM_FREE,
    ARM_FLOOR,
    HUMANOID_FREE,
    HUMANOID_FLOOR,
    CHAIN,
    STACK,
    BOXES_FALLING,
    BOXES_RESTING,
    BOXES_ASLEEP,
    ARM_FRICTION,
    CASES
} rigidCase;

static const struct
{
    const char *name;
    int settle, steps;
} cases[CASES] = {
    [ARM_FREE] = {"arm of seven joints, free", 10, 2000},
    [ARM_FLOOR] = {"arm of seven joints, on a floor", 3000, 2000},
    [HUMANOID_FREE] = {"humanoid, free", 10, 1000},
    [HUMANOID_FLOOR] = {"humanoid, on a floor", 2000, 1000},
    [CHAIN] = {"hanging chain of 20", 10, 2000},
    [STACK] = {"stack of ten boxes", 500, 2000},
    [BOXES_FALLING] = {"100 boxes, falling", 10, 500},
    [BOXES_RESTING] = {"100 boxes, at rest", 2000, 500},
    [BOXES_ASLEEP] = {"100 boxes, asleep", 2000, 500},
    [ARM_FRICTION] = {"arm at rest on joint friction", 2000, 2000},
};

static void write_case(rigidCase which, tdText *scene, tdText *urdf)
{
    bool floor = which == ARM_FLOOR || which == HUMANOID_FLOOR || (which >= STACK && which <= BOXES_ASLEEP);
    add_head(scene, floor, which == BOXES_ASLEEP);
    if (floor)
        td_text_format(scene, FLOOR);
    switch (which)
    {
    case ARM_FREE:
    case ARM_FLOOR:
        add_arm(urdf, 7, 0.1, 0);
        add_robot(scene,
                  ", base: fixed, joints: [{name: link_2_joint, position: 0.6 rad}, {name: link_3_joint, position: "
                  "0.3 rad}, {name: link_4_joint, position: -0.5 rad}]");
        break;
    case HUMANOID_FREE:
    case HUMANOID_FLOOR:
        add_humanoid(urdf);
        add_robot(scene, which == HUMANOID_FREE ? ", base: free, angular_velocity: [0.5 rad/s, 1 rad/s, 0.3 rad/s]"
                                                : ", base: free, transform: {translate: [0, 0, 1.1]}");
        break;
    case CHAIN:
        add_chain(urdf, 20);
        add_robot(scene,
                  ", base: fixed, joints: [{name: joint_1, position: 0.5 rad}, {name: joint_2, position: 0.3 rad}]");
        break;
    case STACK: add_boxes(scene, 10, 1, 0); break;
    case BOXES_FALLING: add_boxes(scene, 100, 5, 0.1); break;
    case BOXES_RESTING:
    case BOXES_ASLEEP: add_boxes(scene, 100, 5, 0); break;
    case ARM_FRICTION:
    default:
        add_arm(urdf, 6, 1, 20);
        add_robot(scene,
                  ", base: fixed, joints: [{name: link_2_joint, position: 0.5 rad}, {name: link_4_joint, position: "
                  "0.5 rad}]");
        break;
    }
}

// ---------------------------------------------------------------- measured

static tdStatus load_case(rigidCase which, tdModel **model, tdError *error)
{
    char folder[] = "/tmp/tendril_bench_XXXXXX", path[64];
    tdText scene = {0}, urdf = {0};
    if (mkdtemp(folder) == NULL)
        return td_fail(error, TD_ERROR_IO, "cannot make a folder in /tmp");
    snprintf(path, sizeof path, "%s/robot.urdf", folder);
    write_case(which, &scene, &urdf);
    tdStatus status = TD_OK;
    if (scene.failed || urdf.failed)
        status = td_fail(error, TD_ERROR_MEMORY, "no memory for a scene");
    if (status == TD_OK && urdf.size > 0)
        status = td_file_write(path, urdf.data, (size_t)urdf.size, error);
    if (status == TD_OK)
        status = td_model_parse(scene.data, (size_t)scene.size, cases[which].name, folder, NULL, model, error);
    unlink(path);
    rmdir(folder);
    free(scene.data);
    free(urdf.data);
    return status;
}

tdStatus bench_rigid(int runs, bool print, tdJson *json, tdError *error)
{
    if (print)
        printf("\nRigid bodies: steps of 2 ms, one thread, processor time, no output\n\n"
               "  %-34s %6s %11s %10s %10s %8s %8s %7s\n",
               "", "dofs", "steps/s", "median us", "worst us", "ratio", "points", "passes");
    td_json_open(json, "rigid", '{');
    for (int i = 0; i < CASES; i++)
    {
        tdModel *model = NULL;
        benchTimes r = {0};
        benchSteps how = {.threads = 1, .settle = cases[i].settle, .steps = cases[i].steps, .runs = runs};
        tdStatus status = load_case((rigidCase)i, &model, error);
        if (status == TD_OK)
            status = bench_time_steps(model, &how, &r, error);
        int64_t dofs = status == TD_OK ? td_model_dofs(model) : 0;
        td_model_free(model);
        if (status != TD_OK)
            return status;
        if (print)
            printf("  %-34s %6lld %11.0f %10.2f %10.2f %8.1f %8.1f %7.2f\n", cases[i].name, (long long)dofs, r.rate,
                   1e6 * r.middle, 1e6 * r.worst, r.worst / r.middle, r.points, r.passes);
        cli_progress("bench rigid", i + 1, CASES);
        td_json_open(json, cases[i].name, '{');
        td_json_integer(json, "dofs", dofs);
        td_json_number(json, "steps_per_s", r.rate);
        td_json_number(json, "step_median_s", r.middle);
        td_json_number(json, "step_worst_s", r.worst);
        td_json_number(json, "contacts_active", r.points);
        td_json_number(json, "contact_iterations", r.passes);
        td_json_close(json, '}');
    }
    td_json_close(json, '}');
    return TD_OK;
}
