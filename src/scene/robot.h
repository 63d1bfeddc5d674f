// SPDX-License-Identifier: Apache-2.0
// What the readers of robots (URDF, MJCF) share: files of meshes as shapes, folders of packages, masses that a file
// leaves out, programs that expand files.
#pragma once
#include "describe/tree.h"
#include "mesh/mesh.h"

/// Where the files of a robot are looked for, and how its meshes are taken.
typedef struct tdRobotFiles
{
    const char *folder;   ///< of the robot's own file; NULL: no files are read
    const char *packages; ///< "NAME=FOLDER:FOLDER:...": folders of packages by name, and folders that hold packages or
                          ///< are one, as in ROS_PACKAGE_PATH; NULL: none
    bool hulls;           ///< all meshes for contact as their convex hulls
} tdRobotFiles;

/// Finds a file by a path relative to the robot's folder, file://PATH or package://NAME/PATH. A package is looked for
/// by its name, then in the folders of `packages`, then as PATH and as NAME/PATH in the robot's folder and in all above
/// it; at last without the first folders of PATH, which files lose that are copied from their package: then `why`, else
/// empty, says which file was taken. False: it is not there, and `why` says where it was looked for.
bool td_robot_find(const tdRobotFiles *files, const char *given, char *out, size_t size, char *why, size_t why_size);

/// What a mesh is for.
typedef enum tdMeshUse
{
    TD_MESH_DRAWN,
    TD_MESH_COLLIDES, ///< closed and manifold as it is, else the convex hull
    TD_MESH_HULL      ///< the convex hull
} tdMeshUse;

/// A mesh, or the part of it that has one colour.
typedef struct tdRobotMesh
{
    tdShape shape;
    float colour[4]; ///< of the file; red negative: not given
} tdRobotMesh;

/// Memory and counts of a reader.
typedef struct tdRobotReader
{
    tdArena *arena;
    tdTree *tree;
    tdRobotFiles files;
    int64_t n_tris; ///< of all meshes so far
} tdRobotReader;

/// Reads a mesh file (STL, OBJ, Collada, ...), scaled. The parts are in the arena: one, or several by colour when it is
/// drawn. *why (empty: none) says why a mesh for contact is its hull, or TD_OK with n == 0 that nothing is left of it.
tdStatus td_robot_mesh(tdRobotReader *reader, const char *path, const double scale[3], tdMeshUse use, int *n,
                       tdRobotMesh **parts, char *why, size_t why_size, tdError *error);
/// Convex hull of points, of TD_ROBOT_CORNERS corners at most: where there are more, the farthest points in as many
/// directions spread evenly. False: they have no volume.
#define TD_ROBOT_CORNERS 256
bool td_robot_hull(tdArena *arena, int64_t n, const double *x, tdShape *out);

#define TD_ROBOT_DENSITY 1000.0 // of links whose mass a file leaves out, where a joint needs it [kg/m^3]

/// Where all that a joint moves has no mass: masses by the volume of the links' shapes, those for contact or else those
/// that are drawn. A joint that then still moves nothing is made a fixed one. Masses that are points on the axis of
/// their joint get an inertia. Each is a warning.
tdStatus td_robot_masses(tdArena *arena, tdTree *tree, tdError *error);

/// Starts of joints for which nothing was given are moved into their limits: `given` by link. Each is a warning.
tdStatus td_robot_starts(tdArena *arena, tdTree *tree, const bool *given, tdError *error);

/// What the program xacro makes of a file. *text (released by free()) has a zero byte behind its end. *missing: there
/// is no such program.
tdStatus td_robot_xacro(const char *path, const char *packages, char **text, size_t *size, bool *missing,
                        tdError *error);
