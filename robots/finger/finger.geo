// SPDX-License-Identifier: Apache-2.0
// PneuNet bending finger, see shape.geo: fixed at its root, x = 0, it bends towards -z.
//   gmsh -3 finger.geo -setnumber fine 1 -o fine.msh
SetFactory("OpenCASCADE");
DefineConstant[ fine = {0, Choices{0, 1}, Name "fine mesh"} ];
size = fine ? 1.5 : 5;

Include "shape.geo";
Call Finger;
BooleanFragments { Volume{finger_solid}; Delete; }{ Volume{finger_air}; Delete; }
// The fragments are the air and the solid around it, which alone reaches the ends.
e = 1e-3;
air() = Volume In BoundingBox {e, -finger_width, e, finger_length - e, finger_width, finger_height};
body() = Volume{:};
body() -= air();
chamber() = Abs(Boundary { Volume{air()}; });
Delete { Volume{air()}; }

Physical Volume("body", 1) = {body()};
Physical Surface("chamber", 2) = {chamber()};
Physical Surface("layer", 3) = Surface In BoundingBox {-e, -finger_width, -e, finger_length + e, finger_width, e};
Physical Surface("root", 4) = Surface In BoundingBox {-e, -finger_width, -e, e, finger_width, finger_height + e};

Field[1] = MathEval;
Field[1].F = Sprintf("%g", size);
Background Field = 1;
Include "../mesh.geo";
