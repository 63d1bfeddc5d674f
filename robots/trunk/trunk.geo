// SPDX-License-Identifier: Apache-2.0
// Tentacle of two sections driven by eight cables (S1, section IV-C), in mm. It hangs from its base at z = 0 down to
// the tip at z = -length.
//
// A tapered stack of discs, through which the cables run, on a thinner core, which bends. The cross-section is a
// polygon whose area is that of the circle of the given radius, so that the coarse and the fine mesh have the same
// volume. Corners point along the cables: every 45 deg from the x axis.
//   gmsh -3 trunk.geo -setnumber fine 1 -o fine.msh
SetFactory("OpenCASCADE");
DefineConstant[ fine = {0, Choices{0, 1}, Name "fine mesh"} ];
DefineConstant[ scale = {1, Name "size of its elements, times the usual one"} ];

length = 200;
radius_base = 17; // of the discs, at the base and at the tip
radius_tip = 8;
core = 0.6;       // radius of the core, in that of the discs
discs = 10;       // one every length / (discs - gap) mm
gap = 0.42;       // part of that length between two discs
bevel = 0.09;     // part of it on each side of a disc along which the radius falls to the core's

If (fine)
  sides = 16;
  size = 3.05;
Else
  sides = 8;
  size = 14.4;
EndIf
size = size * scale;

pitch = length / (discs - gap);
round = Sqrt(2 * Pi / (sides * Sin(2 * Pi / sides))); // equal area

// Levels from the base to the tip: depth and radius of the polygons.
depth() = {};
radius() = {};
Macro Level // depth d, part f of the discs' radius
  depth() += d;
  radius() += f * (radius_base + (radius_tip - radius_base) * d / length) * round;
Return
For i In {0:discs - 1}
  a = i * pitch;
  b = a + (1 - gap) * pitch;
  If (i > 0)
    d = a - bevel * pitch; f = core; Call Level;
  EndIf
  d = a; f = 1; Call Level;
  d = b; f = 1; Call Level;
  If (i < discs - 1)
    d = b + bevel * pitch; f = core; Call Level;
  EndIf
EndFor

n = #depth();
For k In {0:n - 1}
  For j In {0:sides - 1}
    t = 2 * Pi * j / sides;
    Point(k * sides + j + 1) = {radius(k) * Cos(t), radius(k) * Sin(t), -depth(k)};
  EndFor
EndFor
// Lines: around each level, then along from each level to the next.
along = n * sides;
For k In {0:n - 1}
  For j In {0:sides - 1}
    Line(k * sides + j + 1) = {k * sides + j + 1, k * sides + (j + 1) % sides + 1};
    If (k < n - 1)
      Line(along + k * sides + j + 1) = {k * sides + j + 1, (k + 1) * sides + j + 1};
    EndIf
  EndFor
EndFor
skin() = {};
For k In {0:n - 2}
  For j In {0:sides - 1}
    s = k * sides + j + 1;
    Curve Loop(s) = {s, along + k * sides + (j + 1) % sides + 1, -(s + sides), -(along + s)};
    Plane Surface(s) = {s};
    skin() += s;
  EndFor
EndFor
s = n * sides + 1;
Curve Loop(s) = {1:sides};
Plane Surface(s) = {s};
Curve Loop(s + 1) = {(n - 1) * sides + 1:n * sides};
Plane Surface(s + 1) = {s + 1};
Surface Loop(1) = {skin(), s, s + 1};
Volume(1) = {1};

Physical Volume("body", 1) = {1};
Physical Surface("base", 2) = {s};

// Finer towards the tip, as the radius.
Field[1] = MathEval;
Field[1].F = Sprintf("%g * (1 + %g * z)", size, (1 - radius_tip / radius_base) * 0.6 / length);
Background Field = 1;
Include "../mesh.geo";
