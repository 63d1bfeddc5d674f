// SPDX-License-Identifier: Apache-2.0
// A small arm for tests of control: a beam of 100 x 20 x 20 mm along x, held at its root, with a cable on each side.
#pragma once

#define ARM_CABLE(name, y, z, limits)                                                                                  \
    "  - {name: " name ", type: cable, body: arm, path: [[0.1, " y ", " z "], [0.05, " y ", " z "], [0, " y ", " z     \
    "]], drive: force, range: " limits "}\n"

#define ARM_CABLES(limits)                                                                                             \
    "actuators:\n" ARM_CABLE("north", "0.01", "0", limits) ARM_CABLE("south", "-0.01", "0", limits)                    \
        ARM_CABLE("up", "0", "0.01", limits) ARM_CABLE("down", "0", "-0.01", limits)

#define ARM_TIP "effectors: [{name: tip, body: arm, point: [0.1, 0, 0]}]\n"

/// Young's modulus as text.
#define ARM_BODY(young)                                                                                                \
    "tendril: 1\n"                                                                                                     \
    "time_step: 10 ms\n"                                                                                               \
    "steps: 10\n"                                                                                                      \
    "bodies:\n"                                                                                                        \
    "  - name: arm\n"                                                                                                  \
    "    mesh: {box: [[0, -0.01, -0.01], [0.1, 0.01, 0.01]], cells: [8, 2, 2]}\n"                                      \
    "    material: {law: corotational, young: " young ", poisson: 0.4, density: 1000}\n"                               \
    "    fixed: [{group: xmin}]\n"

#define ARM_STATIC "integrator: {method: static}\n"
