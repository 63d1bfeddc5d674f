// A bending finger, in mm: along x from its root at x = 0. Two notches in its back are where it bends.
//   tendril mesh finger.geo -o finger.msh --size 6
SetFactory("OpenCASCADE");
length = 80;
width = 16;
height = 14;
notch = 5; // radius

Box(1) = {0, -width / 2, 0, length, width, height};
Cylinder(2) = {25, -width, height, 0, 2 * width, 0, notch};
Cylinder(3) = {52, -width, height, 0, 2 * width, 0, notch};
BooleanDifference{ Volume{1}; Delete; }{ Volume{2, 3}; Delete; }

// Groups have names, by which the scene chooses them.
Physical Volume("body") = Volume{:};
Physical Surface("root") = Surface In BoundingBox {-1, -width, -1, 1, width, height + 1};
