// SPDX-License-Identifier: Apache-2.0
// Settings of gmsh that all robots share; included last. Sizes come from the size field of each robot alone, and
// one thread with a fixed seed gives the same mesh again.
Mesh.MeshSizeExtendFromBoundary = 0;
Mesh.MeshSizeFromPoints = 0;
Mesh.Algorithm = 6;
Mesh.Algorithm3D = 1;
Mesh.Optimize = 1;
Mesh.OptimizeThreshold = 0.6; // tetrahedra of less quality are improved
Mesh.RandomSeed = 1;
Mesh.MshFileVersion = 4.1;
General.NumThreads = 1;
