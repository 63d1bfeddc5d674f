// SPDX-License-Identifier: Apache-2.0
// Robots from URDF files, through libxml2. Numbers of a URDF are in SI units, whatever the scene's units are.
//
// What is read: links with inertial, visual and collision; joints of the types revolute, continuous, prismatic, fixed,
// floating, planar and (an extension) ball, with origin, axis, limit, dynamics (armature is an extension) and mimic;
// boxes, spheres, cylinders, capsules (an extension) and meshes (STL, OBJ, Collada). What is not used is told by a
// warning, once for each kind of element or attribute; what would change the robot's motion and cannot be represented
// is an error. What is only drawn is never one.
#pragma once
#include "scene/robot.h"

/// A document in memory; text[size] must be a zero byte. `name` stands for the file in messages. The root link's joint
/// is fixed and without a name: who places the robot decides. All memory is of the arena. *xacro (may be NULL): the
/// document has to be expanded first.
tdStatus td_urdf_parse(tdArena *arena, const char *text, size_t size, const char *name, const tdRobotFiles *files,
                       tdTree *tree, bool *xacro, tdError *error);
/// The same of a file, in whose folder other files are looked for. A xacro file is expanded where the program is there.
tdStatus td_urdf_read(tdArena *arena, const char *path, const tdRobotFiles *files, tdTree *tree, tdError *error);
