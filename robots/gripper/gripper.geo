// SPDX-License-Identifier: Apache-2.0
// Gripper of three PneuNet fingers (../finger/shape.geo) that hang from a palm, in mm, z up: one body. Finger k is
// at (k - 1) 120 deg from the x axis, its belly towards the z axis, so that the fingers close when they bend.
//   gmsh -3 gripper.geo -setnumber fine 1 -o fine.msh
SetFactory("OpenCASCADE");
DefineConstant[ fine = {0, Choices{0, 1}, Name "fine mesh"} ];
size = fine ? 1.9 : 5.775;  // of the fingers
size_palm = fine ? 5 : 12.6;

reach = 30;        // distance of the bellies from the z axis
palm_radius = 52;
palm_height = 10;  // above z = 0
sunk = 4;          // length of the fingers' roots within the palm

Include "../finger/shape.geo";
Cylinder(1) = {0, 0, 0, 0, 0, palm_height, palm_radius};
solids() = {};
airs() = {};
For finger In {0 : 2}
  Call Finger;
  Rotate {{0, 1, 0}, {0, 0, 0}, Pi / 2} { Volume{finger_solid, finger_air}; }
  Translate {reach, 0, sunk} { Volume{finger_solid, finger_air}; }
  Rotate {{0, 0, 1}, {0, 0, 0}, finger * 2 * Pi / 3} { Volume{finger_solid, finger_air}; }
  solids() += finger_solid;
  airs() += finger_air;
EndFor
whole() = BooleanUnion { Volume{1}; Delete; }{ Volume{solids()}; Delete; };
BooleanFragments { Volume{whole()}; Delete; }{ Volume{airs()}; Delete; }

// The fragments are the air of each finger, all below the palm, and the solid around them.
e = 1e-3;
air() = Volume In BoundingBox {-120, -120, -finger_length, 120, 120, -e};
body() = Volume{:};
body() -= air();
bottom = sunk - finger_length;
box_1() = {0, -finger_width, bottom, 120, finger_width, -e};
box_2() = {-120, 0, bottom, 0, 120, -e};
box_3() = {-120, -120, bottom, 0, 0, -e};
chamber_1() = Abs(Boundary { Volume{Volume In BoundingBox {box_1()}}; });
chamber_2() = Abs(Boundary { Volume{Volume In BoundingBox {box_2()}}; });
chamber_3() = Abs(Boundary { Volume{Volume In BoundingBox {box_3()}}; });
Delete { Volume{air()}; }

// The bellies: what lies in the box around each, without walls of chambers.
layer() = {};
For finger In {0 : 2}
  t = finger * 2 * Pi / 3;
  dx = finger_width / 2 * Fabs(Sin(t)) + e;
  dy = finger_width / 2 * Fabs(Cos(t)) + e;
  x = reach * Cos(t);
  y = reach * Sin(t);
  layer() += Surface In BoundingBox {x - dx, y - dy, bottom - e, x + dx, y + dy, e};
EndFor
layer() -= {chamber_1(), chamber_2(), chamber_3()};

Physical Volume("body", 1) = {body()};
Physical Surface("chamber_1", 2) = {chamber_1()};
Physical Surface("chamber_2", 3) = {chamber_2()};
Physical Surface("chamber_3", 4) = {chamber_3()};
Physical Surface("layer", 5) = {layer()};
Physical Surface("palm", 6) = Surface In BoundingBox {-120, -120, palm_height - e, 120, 120, palm_height + e};

Field[1] = MathEval;
Field[1].F = Sprintf("%g + %g * Max(0, Min(1, (z + 4) / 10))", size, size_palm - size);
Background Field = 1;
Include "../mesh.geo";
