# A slab of 44 x 24 x 20 mm with a nodule of about 10 x 10 x 5 mm, 5 mm below its surface, as a mesh of hexahedra with
# the group "nodule". They are small where the ball passes, and of every n-th part of that with -v n=2, n=3; the half
# y > 0 with -v cut=y, the quarter x > 0 and y > 0 with -v cut=xy:
#
#     awk -f nodule.awk > nodule.msh
function lines(text, x,   i, k, m, w) {
    m = split(text, w, " ")
    for (i = 1; i < m; i++) for (k = 0; k < n; k++) x[(i - 1) * n + k] = w[i] + (w[i + 1] - w[i]) * k / n
    x[(m - 1) * n] = w[m]
    return (m - 1) * n
}
function node(i, j, k) { return 1 + i + (nx + 1) * (j + (ny + 1) * k) }
function size(v) { return v < 0 ? -v : v }
function inside(x, y, z) { return size(x) < 5 && size(y) < 5 && !(size(x) > 2.5 && size(y) > 3.33) && z < -5 && z > -10 }
BEGIN {
    if (n == 0) n = 1
    nx = lines((cut ~ /x/ ? "" : "-22 -16 -13 -10 -7.5 -5 -2.5 ") "0 2.5 5 7.5 10 13 16 22", x)
    ny = lines((cut ~ /y/ ? "" : "-12 -8.5 -5 -3.33333 -1.66667 ") "0 1.66667 3.33333 5 8.5 12", y)
    nz = lines("-20 -15 -12 -10 -7.5 -5 -3.75 -2.5 -1.25 0", z)
    print "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n3 1 \"tissue\"\n3 2 \"nodule\"\n$EndPhysicalNames\n$Nodes"
    print (nx + 1) * (ny + 1) * (nz + 1)
    for (k = 0; k <= nz; k++) for (j = 0; j <= ny; j++) for (i = 0; i <= nx; i++)
        printf "%d %.6g %.6g %.6g\n", node(i, j, k), x[i], y[j], z[k]
    print "$EndNodes\n$Elements\n" nx * ny * nz
    for (k = 0; k < nz; k++) for (j = 0; j < ny; j++) for (i = 0; i < nx; i++) {
        g = inside((x[i] + x[i + 1]) / 2, (y[j] + y[j + 1]) / 2, (z[k] + z[k + 1]) / 2) ? 2 : 1
        print ++e " 5 2 " g " " g, node(i, j, k), node(i + 1, j, k), node(i + 1, j + 1, k), node(i, j + 1, k), \
            node(i, j, k + 1), node(i + 1, j, k + 1), node(i + 1, j + 1, k + 1), node(i, j + 1, k + 1)
    }
    print "$EndElements"
}
