// SPDX-License-Identifier: Apache-2.0
// The cases, by what they are there for. 200 steps each, or the scene's own where they are fewer; where other numbers
// stand, 200 steps take too long, or bodies tumble so that differences of rounding grow beyond what is compared. In
// these few steps the scene's motion is hurried along, so that all of its actuators act. Scenes that are shipped come
// first in each group; those of tests/golden/scenes cover what no shipped one has.
#include "golden.h"

#define SCENES  "scenes/"
#define CONTACT "scenes/contact/"
#define ROBOTS  "robots/"
#define OWN     "tests/golden/scenes/"

const goldenCase golden_cases[] = {
    // soft bodies, laws, elements, loads
    {.name = "beam", .scene = SCENES "beam.yaml", .steps = 40, .bits = 6},
    {.name = "block", .scene = SCENES "block.yaml", .steps = 8, .bits = 4, .hurry = 5}, // static, prescribed
    {.name = "tissue", .scene = SCENES "tissue.yaml", .steps = 8, .bits = 3},           // ogden, mean dilatation
    {.name = "two_layers", .scene = SCENES "two_layers.yaml", .bits = 4}, // membranes, pressure on a surface
    {.name = "plane", .scene = OWN "plane.yaml", .quick = true},
    {.name = "quadratic", .scene = OWN "quadratic.yaml", .steps = 60, .bits = 10}, // relaxes, turned by an angle
    {.name = "beam_spring", .scene = SCENES "beam.yaml", .steps = 10, .bits = 3, .spring = true},

    // integrators; backward Euler has all the others
    {.name = "pendulum", .scene = CONTACT "pendulum.yaml", .quick = true}, // midpoint
    {.name = "beam_midpoint", .scene = SCENES "beam.yaml", .steps = 10, .bits = 3, .method = GOLDEN_MIDPOINT},
    {.name = "beam_theta", .scene = SCENES "beam.yaml", .steps = 10, .bits = 3, .method = GOLDEN_THETA},
    {.name = "beam_newmark", .scene = SCENES "beam.yaml", .steps = 10, .bits = 3, .method = GOLDEN_NEWMARK},
    {.name = "plane_symplectic", .scene = OWN "plane.yaml", .method = GOLDEN_SYMPLECTIC, .time_step = 5e-5},
    {.name = "plane_damped", .scene = OWN "plane.yaml", .method = GOLDEN_NEWMARK_DAMPED, .bits = 10},
    {.name = "tendons_theta",
     .scene = OWN "tendons.yaml",
     .method = GOLDEN_THETA,
     .newton = true,
     .steps = 100,
     .bits = 10},
    {.name = "cavity_newmark", .scene = OWN "cavity_gas.yaml", .method = GOLDEN_NEWMARK, .steps = 60, .bits = 10},

    // actuators and inverse control
    {.name = "finger", .scene = ROBOTS "finger/coarse.yaml", .steps = 40, .bits = 6, .hurry = 10}, // pressures
    {.name = "gripper", .scene = ROBOTS "gripper/coarse.yaml", .steps = 10, .bits = 3, .hurry = 40},
    {.name = "multigait", .scene = ROBOTS "multigait/coarse.yaml", .steps = 10, .bits = 3, .hurry = 60},
    {.name = "multigait_free", .scene = ROBOTS "multigait/free.yaml", .steps = 10, .bits = 3, .hurry = 60},
    {.name = "parallel",
     .scene = ROBOTS "parallel/coarse.yaml",
     .steps = 40,
     .bits = 4,
     .hurry = 15}, // cables by displacement
    {.name = "parallel_mooney", .scene = ROBOTS "parallel/coarse_mooney.yaml", .steps = 30, .bits = 4, .hurry = 20},
    {.name = "parallel_circle",
     .scene = ROBOTS "parallel/coarse.yaml",
     .steps = 40,
     .bits = 6,
     .goals = ROBOTS "parallel/circle.csv",
     .offset = 1e-3},
    {.name = "parallel_static",
     .scene = ROBOTS "parallel/coarse.yaml",
     .steps = 4,
     .bits = 2,
     .method = GOLDEN_STATIC,
     .time_step = 0.2,
     .goals = ROBOTS "parallel/circle.csv"},
    {.name = "control_wall",
     .scene = SCENES "control/wall.yaml",
     .steps = 40,
     .bits = 10,
     .goals = SCENES "control/wall.csv"}, // inverse control beside contact, by force
    {.name = "trunk",
     .scene = ROBOTS "trunk/coarse.yaml",
     .steps = 60,
     .bits = 4,
     .hurry = 8}, // cables and a translation
    {.name = "trunk_path",
     .scene = ROBOTS "trunk/coarse.yaml",
     .steps = 20,
     .bits = 6,
     .goals = ROBOTS "trunk/path.csv"},
    {.name = "tendons", .scene = OWN "tendons.yaml", .quick = true}, // friction of cables, stops, elastic
    {.name = "cavity_volume", .scene = OWN "cavity_volume.yaml", .steps = 100, .bits = 10},
    {.name = "cavity_gas", .scene = OWN "cavity_gas.yaml", .steps = 100, .bits = 10},
    {.name = "held", .scene = OWN "held.yaml", .steps = 100, .bits = 10}, // moved by a force and a torque

    // reduced bodies
    {.name = "arm_reduced", .scene = OWN "arm.yaml", .rom = OWN "arm.h5", .quick = true},
    {.name = "modes_reduced", .scene = OWN "modes.yaml", .rom = OWN "modes.h5"},             // polynomials
    {.name = "worm_reduced", .scene = OWN "worm.yaml", .rom = OWN "worm.h5", .quick = true}, // on a frame, in contact
    {.name = "worm", .scene = OWN "worm.yaml"},

    // contact, attachments, couplings, joints, servos, tools
    {.name = "lean", .scene = CONTACT "lean.yaml", .bits = 60}, // driven cables while contacts come and go
    {.name = "arm_hand", .scene = CONTACT "arm_hand.yaml"},
    {.name = "bubbles", .scene = CONTACT "bubbles.yaml", .steps = 16, .bits = 4}, // attachments
    {.name = "chain", .scene = CONTACT "chain.yaml", .steps = 20, .bits = 4},
    {.name = "cring", .scene = OWN "cring.yaml", .steps = 120, .bits = 8}, // meets itself
    {.name = "cylinder_1", .scene = CONTACT "cylinder_1.yaml"},
    {.name = "cylinder_2", .scene = CONTACT "cylinder_2.yaml"},
    {.name = "cylinder_3", .scene = CONTACT "cylinder_3.yaml", .bits = 6, .steps = 100},
    {.name = "fingers", .scene = CONTACT "fingers.yaml"},
    {.name = "fingers_nlcp", .scene = CONTACT "fingers.yaml", .steps = 80, .bits = 50, .nlcp = true},
    {.name = "gear", .scene = CONTACT "gear.yaml", .steps = 400, .bits = 40, .quick = true}, // a coupling
    {.name = "gear_nlcp", .scene = CONTACT "gear.yaml", .steps = 200, .bits = 20, .nlcp = true},
    {.name = "grasp", .scene = CONTACT "grasp.yaml", .steps = 100, .bits = 6}, // a tool
    {.name = "guided", .scene = OWN "guided.yaml", .steps = 80, .bits = 20},   // a rigid body whose motion is given
    {.name = "turning", .scene = OWN "turning.yaml", .bits = 20},              // torsional and rolling friction
    {.name = "incline", .scene = CONTACT "incline.yaml"},
    {.name = "incline_nlcp", .scene = CONTACT "incline.yaml", .steps = 40, .bits = 10, .nlcp = true},
    {.name = "plates", .scene = CONTACT "plates.yaml", .tolerance = 1e-8},
    // Solved whole, by iterations, which go on to their end with Newton's method only.
    {.name = "crawl", .scene = ROBOTS "multigait/crawl.yaml", .steps = 6, .bits = 3, .newton = true, .hurry = 60},
    {.name = "surfaces", .scene = OWN "surfaces.yaml", .bits = 20},  // of a file, coarser
    {.name = "linkage", .scene = OWN "linkage.yaml", .quick = true}, // stops and friction of joints, a rod, welds
    {.name = "mjcf", .scene = OWN "mjcf.yaml", .quick = true}, // a gripper with a loop, followers, springs and drives
    {0},
};
