// Organs of the abdomen and an eye, of our own geometry [mm]:
//
//     for n in 1 2 3 4 5 6; do gmsh -3 -format msh22 -setnumber organ $n -o organ.msh organs.geo; done
//
// 1 liver, 2 diaphragm, 3 stomach, 4 colon, 5 intestine, 6 eye
SetFactory("OpenCASCADE");
DefineConstant[organ = 1];
Mesh.Algorithm3D = 1;
Mesh.Optimize = 1;
Mesh.SaveAll = 1;
If (organ == 1)
  Sphere(1) = {0, 0, 0, 1};
  Dilate {{0, 0, 0}, {65, 38, 24}} { Volume{1}; }
  Sphere(2) = {0, 0, 0, 1};
  Dilate {{0, 0, 0}, {38, 30, 18}} { Volume{2}; }
  Translate {52, -4, 4} { Volume{2}; }
  BooleanUnion{ Volume{1}; Delete; }{ Volume{2}; Delete; }
  Mesh.MeshSizeMin = 9; Mesh.MeshSizeMax = 9.4;
EndIf
If (organ == 2)
  Sphere(1) = {0, 0, 0, 120};
  Sphere(2) = {0, 0, 0, 110};
  Box(3) = {-90, -60, 60, 180, 120, 80};
  BooleanDifference(4) = { Volume{1}; Delete; }{ Volume{2}; Delete; };
  BooleanIntersection(5) = { Volume{4}; Delete; }{ Volume{3}; Delete; };
  Mesh.MeshSizeMin = 22; Mesh.MeshSizeMax = 24;
EndIf
If (organ == 3)
  Sphere(1) = {0, 0, 0, 1};
  Dilate {{0, 0, 0}, {36, 24, 20}} { Volume{1}; }
  Sphere(2) = {0, 0, 0, 1};
  Dilate {{0, 0, 0}, {24, 17, 15}} { Volume{2}; }
  Translate {-34, -6, -6} { Volume{2}; }
  BooleanUnion{ Volume{1}; Delete; }{ Volume{2}; Delete; }
  Mesh.MeshSizeMin = 11; Mesh.MeshSizeMax = 11.5;
EndIf
If (organ == 4)
  Torus(1) = {0, 0, 0, 62, 12, 1.6 * Pi};
  Mesh.MeshSizeMin = 13; Mesh.MeshSizeMax = 13.5;
EndIf
If (organ == 5)
  Torus(1) = {0, 0, 0, 22, 14};
  Mesh.MeshSizeMin = 11; Mesh.MeshSizeMax = 12;
EndIf
If (organ == 6)
  Sphere(1) = {0, 0, 0, 12};
  Sphere(2) = {0, 0, 0, 10.4};
  BooleanDifference(3) = { Volume{1}; Delete; }{ Volume{2}; Delete; };
  Mesh.MeshSizeMin = 2.6; Mesh.MeshSizeMax = 2.8;
EndIf
