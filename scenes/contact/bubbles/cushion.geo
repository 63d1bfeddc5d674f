// SPDX-License-Identifier: Apache-2.0
// A cushion (lengths in mm): half an ellipsoid of 80 x 64 mm, 26 mm high along x, on the flat base x = 0.
//   gmsh -3 cushion.geo -o cushion.msh
SetFactory("OpenCASCADE");
DefineConstant[ size = {10, Name "edge length"} ];
Sphere(1) = {0, 0, 0, 1};
Dilate {{0, 0, 0}, {26, 32, 40}} { Volume{1}; }
Box(2) = {-100, -100, -100, 100, 200, 200};
BooleanDifference(3) = { Volume{1}; Delete; }{ Volume{2}; Delete; };
e = 1e-3;
Physical Volume("body", 1) = {3};
Physical Surface("base", 2) = Surface In BoundingBox {-e, -100, -100, e, 100, 100};
Field[1] = MathEval;
// Coarse where it is welded, fine where it touches.
Field[1].F = Sprintf("%g * (2 - x / 26)", size);
Background Field = 1;
Include "../../../robots/mesh.geo";
