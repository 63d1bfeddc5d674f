// SPDX-License-Identifier: Apache-2.0
// Parallel robot of silicone with four legs (S1, section IV-A), in mm, z up.
//
// A base block holds the motors. Each leg leaves it low, turns up, thins to an elbow, which is its hinge, and
// runs inward to the effector on top. A cable pulls each elbow towards the centre, which lifts the effector.
//   gmsh -3 parallel.geo -setnumber fine 1 -o fine.msh
SetFactory("OpenCASCADE");
DefineConstant[ fine = {0, Choices{0, 1}, Name "fine mesh"} ];
DefineConstant[ scale = {1, Name "size of its elements, times the usual one"} ];

elbow_r = 97;     // radius and height of the elbow, where the cable is tied
elbow_z = 45;
top_z = 125;      // height of the effector
width = 22;       // of a leg, across its plane
elbow_t = 8;      // thickness of a leg at the elbow
arm_t = 20;       // thickness of its two arms
base = 30;        // sides of the base block
base_z0 = -38;    // its lower and upper side
base_z1 = 10;
effector = 30;    // sides of the effector block
effector_t = 18;  // and its thickness

If (fine)
  size = 3.12;     // of the arms
  size_elbow = 2.7;
Else
  size = 9.6;
  size_elbow = 6;
EndIf
size = size * scale;
size_elbow = size_elbow * scale;

// Outline of a leg in the plane of r = x and z: outer points from the base to the effector, inner ones back.
h = arm_t / 2;
e = elbow_t / 2;
z0 = base_z0 + h + 8; // middle of the lower arm at the base
outer() = {};
inner() = {};
Macro Station // centre (r, z), outward normal (nr, nz), half thickness t
  p = newp; Point(p) = {r + t * nr, 0, z + t * nz}; outer() += p;
  p = newp; Point(p) = {r - t * nr, 0, z - t * nz}; inner() += p;
Return
r = 0;            z = z0;            nr = 0;    nz = -1;   t = h;       Call Station;
r = 30;           z = z0;            nr = 0;    nz = -1;   t = h;       Call Station;
r = 58;           z = z0 + 5;        nr = 0.45; nz = -0.9; t = h;       Call Station;
r = 82;           z = elbow_z - 28;  nr = 0.86; nz = -0.5; t = h - 1.5; Call Station;
r = elbow_r;      z = elbow_z;       nr = 1;    nz = 0;    t = e;       Call Station;
r = elbow_r - 18; z = elbow_z + 15;  nr = 0.6;  nz = 0.8;  t = h - 2;   Call Station;
r = 46;           z = elbow_z + 37.5; nr = 0.6;  nz = 0.8;  t = h;       Call Station;
r = 6;            z = top_z - 15.5;  nr = 0.6;  nz = 0.8;  t = h - 2;   Call Station;
n = #outer();
p = newp; Point(p) = {0, 0, top_z - 8};
q = newp; Point(q) = {0, 0, top_z - effector_t};

l() = {};
c = newc; Spline(c) = outer(); l() += c;
c = newc; Line(c) = {outer(n - 1), p}; l() += c;
c = newc; Line(c) = {p, q}; l() += c;
c = newc; Line(c) = {q, inner(n - 1)}; l() += c;
c = newc; Spline(c) = inner(); l() += c;
c = newc; Line(c) = {inner(0), outer(0)}; l() += c;
k = newll; Curve Loop(k) = l();
s = news; Plane Surface(s) = {k};
Translate {0, -width / 2, 0} { Surface{s}; }
out() = Extrude {0, width, 0} { Surface{s}; };
leg() = {out(1)};
For i In {1:3}
  leg() += Rotate {{0, 0, 1}, {0, 0, 0}, i * Pi / 2} { Duplicata { Volume{out(1)}; } };
EndFor
b = newv; Box(b) = {-base / 2, -base / 2, base_z0, base, base, base_z1 - base_z0};
f = newv; Box(f) = {-effector / 2, -effector / 2, top_z - effector_t, effector, effector, effector_t};
body() = BooleanUnion { Volume{leg(0)}; Delete; }{ Volume{leg(1), leg(2), leg(3), b, f}; Delete; };

Physical Volume("body", 1) = {body()};

// Finer at the four elbows, which bend.
Field[1] = MathEval;
Field[1].F = Sprintf("%g + %g * Min(1, (Sqrt((Sqrt(x*x + y*y) - %g)^2 + (z - %g)^2)) / 30)", size_elbow,
                     size - size_elbow, elbow_r, elbow_z);
Background Field = 1;
Include "../mesh.geo";
