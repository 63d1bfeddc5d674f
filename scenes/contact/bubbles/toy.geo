// SPDX-License-Identifier: Apache-2.0
// A soft toy that sits on the plane z = 0 and looks along x, of balls (lengths in mm): body, head, snout, ears, arms, legs.
//   gmsh -3 toy.geo -o toy.msh
SetFactory("OpenCASCADE");
DefineConstant[ size = {13.5, Name "edge length"} ];
Sphere(1) = {0, 0, 40, 38};
Sphere(2) = {0, 0, 94, 29};
Sphere(3) = {24, 0, 90, 12};
Sphere(4) = {0, 22, 118, 11};
Sphere(5) = {0, -22, 118, 11};
Sphere(6) = {6, 42, 56, 15};
Sphere(7) = {6, -42, 56, 15};
Sphere(8) = {20, 30, 18, 18};
Sphere(9) = {20, -30, 18, 18};
BooleanUnion(20) = { Volume{1}; Delete; }{ Volume{2:9}; Delete; };
// Feet and seat are flat.
Box(30) = {-100, -100, -20, 200, 200, 25};
BooleanDifference(40) = { Volume{20}; Delete; }{ Volume{30}; Delete; };
Physical Volume("body", 1) = {40};
Physical Surface("outer", 2) = Surface{:};
Field[1] = MathEval;
Field[1].F = Sprintf("%g", size);
Background Field = 1;
Include "../../../robots/mesh.geo";
