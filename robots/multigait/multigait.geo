// SPDX-License-Identifier: Apache-2.0
// Multigait robot (S1, section IV-B): four legs on a spine, in mm, z up, the belly at z = 0, the spine along x.
//
// Each leg and the spine have an air chamber of their own: a row of slots joined by a channel. The belly carries a
// thin layer that bends but does not stretch, so a chamber under pressure arches the part that it is in, and its ends
// press down.
//   gmsh -3 multigait.geo -setnumber fine 1 -o fine.msh
SetFactory("OpenCASCADE");
DefineConstant[ fine = {0, Choices{0, 1}, Name "fine mesh"} ];
size = fine ? 1.515 : 4.455;

height = 8.5;
spine_length = 50;   // between the joints of the legs
spine_width = 20;
leg_length = 62;     // from the joint to the end of the foot
leg_width = 19;      // at the joint and at the foot
foot_width = 16;
foot = 5;            // length of the bevelled end
splay = 36 * Pi / 180; // angle between a leg and the spine

floor = 1.75;        // between the belly and the air
roof = 2;            // above it
slot = 4.5;          // length of a slot along its part, and between slots
slot_gap = 2.5;
leg_slots = 6;
leg_first = 16;      // distance of the first slot from the joint
leg_slot_width = 12;
spine_slots = 6;
spine_slot_width = 14;
channel_width = 4;
channel_height = 2;

Macro Outline // of a part along x: half widths w at x0, u at x1, with a bevel of b at x1
  p = newp;
  Point(p) = {x0, -w, 0};
  Point(p + 1) = {x1 - b, -u, 0};
  Point(p + 2) = {x1, -u + b, 0};
  Point(p + 3) = {x1, u - b, 0};
  Point(p + 4) = {x1 - b, u, 0};
  Point(p + 5) = {x0, w, 0};
  c = newc;
  For i In {0 : 5}
    Line(c + i) = {p + i, p + (i + 1) % 6};
  EndFor
  k = newll; Curve Loop(k) = {c : c + 5};
  s = news; Plane Surface(s) = {k};
  made() = Extrude {0, 0, height} { Surface{s}; };
  solid = made(1);
Return

Macro Air // along x from x0: `slots` slots of width w
  x1 = x0 + slots * slot + (slots - 1) * slot_gap;
  rooms() = {};
  For i In {0 : slots - 1}
    v = newv; Box(v) = {x0 + i * (slot + slot_gap), -w / 2, floor, slot, w, height - floor - roof};
    rooms() += v;
  EndFor
  v = newv; Box(v) = {x0, -channel_width / 2, floor, x1 - x0, channel_width, channel_height};
  made() = BooleanUnion { Volume{v}; Delete; }{ Volume{rooms()}; Delete; };
  air = made(0);
Return

v = newv; Box(v) = {-spine_length / 2, -spine_width / 2, 0, spine_length, spine_width, height};
solids() = {v};
slots = spine_slots;
w = spine_slot_width;
x0 = -(slots * slot + (slots - 1) * slot_gap) / 2;
Call Air;
airs() = {air};
For leg In {0 : 3}
  x0 = 0; x1 = leg_length; w = leg_width / 2; u = foot_width / 2; b = foot;
  Call Outline;
  x0 = leg_first; slots = leg_slots; w = leg_slot_width;
  Call Air;
  front = leg < 2 ? 1 : -1; // legs by quadrant, counter-clockwise from that of x, y > 0
  turn = leg == 0 ? splay : (leg == 1 ? Pi - splay : (leg == 2 ? Pi + splay : -splay));
  side = leg == 0 || leg == 3 ? 1 : -1;
  Rotate {{0, 0, 1}, {0, 0, 0}, turn} { Volume{solid, air}; }
  Translate {side * (spine_length / 2 - 5), front * 2, 0} { Volume{solid, air}; }
  solids() += solid;
  airs() += air;
EndFor
whole() = BooleanUnion { Volume{solids(0)}; Delete; }{ Volume{solids(1), solids(2), solids(3), solids(4)}; Delete; };
BooleanFragments { Volume{whole()}; Delete; }{ Volume{airs()}; Delete; }

// The fragments are the five airs and the solid around them, which alone reaches the belly.
e = 1e-3;
far = 200;
air() = Volume In BoundingBox {-far, -far, e, far, far, height - e};
body() = Volume{:};
body() -= air();
mid() = Volume In BoundingBox {-spine_length / 2, -spine_width / 2, e, spine_length / 2, spine_width / 2, height - e};
leg_1() = Volume In BoundingBox {0, 0, e, far, far, height - e};
leg_2() = Volume In BoundingBox {-far, 0, e, 0, far, height - e};
leg_3() = Volume In BoundingBox {-far, -far, e, 0, 0, height - e};
leg_4() = Volume In BoundingBox {0, -far, e, far, 0, height - e};
wall_mid() = Abs(Boundary { Volume{mid()}; });
wall_1() = Abs(Boundary { Volume{leg_1()}; });
wall_2() = Abs(Boundary { Volume{leg_2()}; });
wall_3() = Abs(Boundary { Volume{leg_3()}; });
wall_4() = Abs(Boundary { Volume{leg_4()}; });
Delete { Volume{air()}; }

Physical Volume("body", 1) = {body()};
Physical Surface("chamber_spine", 2) = {wall_mid()};
Physical Surface("chamber_leg_1", 3) = {wall_1()};
Physical Surface("chamber_leg_2", 4) = {wall_2()};
Physical Surface("chamber_leg_3", 5) = {wall_3()};
Physical Surface("chamber_leg_4", 6) = {wall_4()};
Physical Surface("layer", 7) = Surface In BoundingBox {-far, -far, -e, far, far, e};

Field[1] = MathEval;
Field[1].F = Sprintf("%g", size);
Background Field = 1;
Include "../mesh.geo";
