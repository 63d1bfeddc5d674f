// SPDX-License-Identifier: Apache-2.0
// A small robot with a reduced model, and motions inside and outside of what it was trained for.
#pragma once
#include "scenes.h"

#include "reduce/offline/job.h"
#include "reduce/rom.h"

#include <sys/stat.h>

/// Time step [ms]: the longer, the slower all motions are.
static inline const char *arm_step(void)
{
    const char *asked = getenv("TENDRIL_INDICATOR_STEP");
    return asked != NULL ? asked : "50";
}

/// An arm on two cables that bend it to two sides. Trained up to 6 mm; the scenes that use it may go farther and push
/// it, which changes nothing that a reduced model depends on.
static inline void arm_text(char *text, size_t size, double range, const char *more)
{
    snprintf(
        text, size,
        "tendril: 1\nunits: {length: mm, mass: kg, time: s}\ntime_step: %s ms\nsteps: 60\nbodies:\n"
        "  - name: arm\n    mesh: {box: [[0, 0, 0], [100, 12, 12]], cells: [12, 2, 2]}\n"
        "    material: {law: neo_hookean, young: 300 kPa, poisson: 0.4, density: 1 g/cm^3}\n"
        "    damping: {mass: 2 1/s, stiffness: 10 ms}\n    fixed: [{group: xmin}]\n"
        "actuators:\n"
        "  - {name: side, type: cable, body: arm, path: [[100, 0, 6], [50, 0, 6]], pull_point: [0, 0, 6],\n"
        "     drive: displacement, range: [0, %g]}\n"
        "  - {name: top, type: cable, body: arm, path: [[100, 6, 12], [50, 6, 12]], pull_point: [0, 6, 12],\n"
        "     drive: displacement, range: [0, %g]}\n"
        "probes:\n  - {name: tip, body: arm, point: [100, 6, 6]}\n  - {name: middle, body: arm, point: [50, 6, 6]}\n"
        "reduction: {samples: grid, levels: 4, steps_between: 3, pod_tolerance: 3.0e-4, ecsw_tolerance: 0.01}\n"
        "validation: {random: {steps: 60, moves: 4}}\n%s",
        arm_step(), range, range, more);
}

#define ARM_RANGE 6e-3 // [m] of training
#define ARM_PUSH                                                                                                       \
    "loads: [{name: push, type: point, body: arm, box: [[45, -1, -1], [55, 13, 13]], force: [0, 0.2 N, -0.2 N]}]\n"

/// Trains it in the folder `where`; the file is arm.h5 there.
static inline void arm_train(const char *where)
{
    static char text[6000], scene[SCENE_PATH], out[SCENE_PATH];
    tdReduceReport report;
    tdError error = {0};
    arm_text(text, sizeof text, 6, "");
    snprintf(scene, sizeof scene, "%s/train.yaml", where);
    snprintf(out, sizeof out, "%s/arm.h5", where);
    assert_ok(td_file_write(scene, text, strlen(text), &error), error);
    tdReduceTask task = {.scene = scene, .out = out, .settings = td_default_settings()};
    task.settings.threads = 1;
    assert_ok(td_reduce(&task, &report, &error), error);
    assert_true(report.modes > 2);
}
