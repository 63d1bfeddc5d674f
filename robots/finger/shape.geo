// SPDX-License-Identifier: Apache-2.0
// Shape of a PneuNet finger, in mm: along x from its root at x = 0, its belly at z = 0, symmetric about y = 0. The
// gripper uses it too.
//
// A row of bellows on a slab. Each bellow is hollow, and a channel in the slab connects the hollows. Under pressure
// the facing walls of the bellows press each other apart; the belly, which a stiff layer keeps from stretching,
// stays as long as it is, so the finger bends.
finger_width = 18;
finger_height = 17;
slab = 6.5;        // height of the slab
bellows = 9;
bellow = 9;        // length of a bellow along the finger
bellow_gap = 2.5;  // between two bellows
root = 12;         // solid parts at the ends
tip = 8;
wall = 1.75;       // of a bellow, along the finger; roof
wall_side = 2.5;   // beside the hollows
floor = 2.75;      // between the belly and the hollows
channel_width = 5;
channel_height = 2;
finger_length = root + bellows * bellow + (bellows - 1) * bellow_gap + tip;

Macro Finger // leaves the numbers of two volumes: finger_solid, without its hollows, and finger_air
  outline() = {};
  p = newp; Point(p) = {0, -finger_width / 2, 0}; outline() += p;
  p = newp; Point(p) = {finger_length, -finger_width / 2, 0}; outline() += p;
  p = newp; Point(p) = {finger_length, -finger_width / 2, slab}; outline() += p;
  For i In {bellows - 1 : 0 : -1}
    x0 = root + i * (bellow + bellow_gap);
    p = newp; Point(p) = {x0 + bellow, -finger_width / 2, slab}; outline() += p;
    p = newp; Point(p) = {x0 + bellow, -finger_width / 2, finger_height}; outline() += p;
    If (i > 0)
      p = newp; Point(p) = {x0, -finger_width / 2, finger_height}; outline() += p;
      p = newp; Point(p) = {x0, -finger_width / 2, slab}; outline() += p;
    EndIf
  EndFor
  p = newp; Point(p) = {0, -finger_width / 2, finger_height}; outline() += p; // the root joins the first bellow
  n = #outline();
  edges() = {};
  For i In {0 : n - 1}
    c = newc; Line(c) = {outline(i), outline((i + 1) % n)}; edges() += c;
  EndFor
  k = newll; Curve Loop(k) = edges();
  s = news; Plane Surface(s) = {k};
  made() = Extrude {0, finger_width, 0} { Surface{s}; };
  finger_solid = made(1);

  hollow() = {};
  For i In {0 : bellows - 1}
    x0 = root + i * (bellow + bellow_gap) + wall;
    v = newv;
    Box(v) = {x0, -finger_width / 2 + wall_side, floor, bellow - 2 * wall, finger_width - 2 * wall_side,
              finger_height - wall - floor};
    hollow() += v;
  EndFor
  x0 = root + wall;
  x1 = finger_length - tip - wall;
  v = newv; Box(v) = {x0, -channel_width / 2, floor, x1 - x0, channel_width, channel_height};
  made() = BooleanUnion { Volume{v}; Delete; }{ Volume{hollow()}; Delete; };
  finger_air = made(0);
Return
