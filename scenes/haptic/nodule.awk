# A slab of 60 x 30 x 20 mm with a ball of 5 mm below its surface, as a mesh of tetrahedra with the group "nodule":
#
#     awk -f nodule.awk > nodule.msh
function node(i, j, k) { return 1 + i + (nx + 1) * (j + (ny + 1) * k) }
function inside(i, j, k) {
    x = (i + 0.5) * 60 / nx - 30; y = (j + 0.5) * 30 / ny - 15; z = (k + 0.5) * 20 / nz - 13
    return x * x + y * y + z * z < 25
}
function tet(a, b, c, d, group) { out[++n] = n " 4 2 " group " " group " " a " " b " " c " " d }
BEGIN {
    nx = 18; ny = 9; nz = 6
    print "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n3 1 \"tissue\"\n3 2 \"nodule\"\n$EndPhysicalNames\n$Nodes"
    print (nx + 1) * (ny + 1) * (nz + 1)
    for (k = 0; k <= nz; k++) for (j = 0; j <= ny; j++) for (i = 0; i <= nx; i++)
        printf "%d %.6g %.6g %.6g\n", node(i, j, k), i * 60 / nx - 30, j * 30 / ny - 15, k * 20 / nz - 20
    print "$EndNodes\n$Elements"
    for (k = 0; k < nz; k++) for (j = 0; j < ny; j++) for (i = 0; i < nx; i++) {
        g = inside(i, j, k) ? 2 : 1
        a = node(i, j, k); b = node(i + 1, j, k); c = node(i + 1, j + 1, k); d = node(i, j + 1, k)
        e = node(i, j, k + 1); f = node(i + 1, j, k + 1); h = node(i + 1, j + 1, k + 1); l = node(i, j + 1, k + 1)
        tet(a, b, c, h, g); tet(a, c, d, h, g); tet(a, d, l, h, g); tet(a, l, e, h, g); tet(a, e, f, h, g); tet(a, f, b, h, g)
    }
    print n
    for (i = 1; i <= n; i++) print out[i]
    print "$EndElements"
}
