// A ball of 20 mm radius [mm]:
//
//     gmsh -3 -format msh22 -o ball.msh ball.geo
SetFactory("OpenCASCADE");
Sphere(1) = {0, 0, 0, 20};
Mesh.Algorithm3D = 1;
Mesh.Optimize = 1;
Mesh.MeshSizeMin = 7.5;
Mesh.MeshSizeMax = 7.5;
Physical Volume("ball") = {1};
