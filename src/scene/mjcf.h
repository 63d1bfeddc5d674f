// SPDX-License-Identifier: Apache-2.0
// Robots from MJCF files, MuJoCo's format, through libxml2.
//
// What is read: compiler (angle, eulerseq, directories, limits, inertia from geoms), defaults and classes, include;
// bodies, frames, inertias, joints (hinge, slide, ball, free; several of a body), geoms (plane, sphere, capsule,
// ellipsoid, cylinder, box, mesh), meshes and colours of materials; actuators of joints (motor, position, velocity,
// general where it is one of these); equality (connect, weld, joint); pairs of contact and those left out; keyframes.
// Everything else is listed in one warning with its count.
//
// The root link is the world, fixed; a body with several joints is a chain of links without mass. A link's frame is at
// its joint: that of the file's body, moved to the joint's anchor.
#pragma once
#include "scene/robot.h"

/// A document in memory; text[size] must be a zero byte. keyframe: where joints start; NULL: as the bodies are placed.
tdStatus td_mjcf_parse(tdArena *arena, const char *text, size_t size, const char *name, const tdRobotFiles *files,
                       const char *keyframe, tdTree *tree, tdError *error);
tdStatus td_mjcf_read(tdArena *arena, const char *path, const tdRobotFiles *files, const char *keyframe, tdTree *tree,
                      tdError *error);
