// An organ, in mm: half an ellipsoid on a flat base, with a hard nodule below its surface.
//   tendril mesh organ.geo -o organ.msh --size 12
SetFactory("OpenCASCADE");
Sphere(1) = {0, 0, 0, 1};
Dilate {{0, 0, 0}, {50, 35, 25}} { Volume{1}; }
Box(2) = {-100, -100, -100, 200, 200, 100};
BooleanDifference{ Volume{1}; Delete; }{ Volume{2}; Delete; }
organ = Volume{:};
Sphere(10) = {20, 0, 12, 7};
BooleanFragments{ Volume{1}; Delete; }{ Volume{10}; Delete; }

nodule() = Volume In BoundingBox {12, -8, 4, 28, 8, 20};
tissue() = Volume{:};
tissue() -= nodule();
Physical Volume("tissue") = tissue();
Physical Volume("nodule") = nodule();
Physical Surface("base") = Surface In BoundingBox {-60, -60, -0.1, 60, 60, 0.1};
