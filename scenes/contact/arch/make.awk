# SPDX-License-Identifier: Apache-2.0
# Blocks of a masonry arch along a catenary: block_00.msh and so on.
#
#     awk -f make.awk
#
# The middle line z = -a (cosh(x/a) - 1) is cut at right angles into pieces of the same length: bricks of eight nodes and
# six tetrahedra. The two at the ends are wedges of six nodes and three tetrahedra: they stand on sharp edges on the
# middle line, at z = 0.
function asinh(x) { return x < 0 ? -asinh(-x) : log(x + sqrt(x * x + 1)) }
function cut(i,    s, x, c) {
    s = -half + 2 * half * i / blocks
    x = a * asinh(s / a)
    c = sqrt(1 + s * s / (a * a)) # normal outwards: (s/a, 1) / c
    if (i == 0 || i == blocks)
        thick = 0
    inner_x[i] = x - thick / 2 * s / a / c; inner_z[i] = a - a * c - thick / 2 / c
    outer_x[i] = x + thick / 2 * s / a / c; outer_z[i] = a - a * c + thick / 2 / c
    thick = full
}
function node(x, y, z) { printf "%d %.12g %.12g %.12g\n", ++n, x, y, z - ground > file }
function open_file(b, nodes) {
    file = sprintf("block_%02d.msh", b); n = 0
    printf "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n%d\n", nodes > file
}
# corners: nodes of tetrahedra from 1
function close_file(corners,    c, m, t) {
    m = split(corners, c, " ")
    printf "$EndNodes\n$Elements\n%d\n", m / 4 > file
    for (t = 0; t < m / 4; t++)
        printf "%d 4 2 0 0 %d %d %d %d\n", t + 1, c[4*t+1], c[4*t+2], c[4*t+3], c[4*t+4] > file
    printf "$EndElements\n" > file
    close(file)
}
function wedge(b, i, j,    y) { # edge at cut i, face at cut j
    open_file(b, 6)
    for (y = -wide / 2; y < wide; y += wide) {
        node(inner_x[i], y, inner_z[i])
        node(inner_x[j], y, inner_z[j])
        node(outer_x[j], y, outer_z[j])
    }
    close_file(j > i ? "1 3 2 4  2 4 3 5  3 4 6 5" : "1 2 3 4  2 3 4 5  3 6 4 5")
}
function brick(b,    k, i, y) {
    open_file(b, 8)
    for (k = 0; k < 8; k++) { # bits: along the arch, y, outwards
        i = b + k % 2; y = (int(k / 2) % 2 - 0.5) * wide
        if (k < 4) node(inner_x[i], y, inner_z[i])
        else node(outer_x[i], y, outer_z[i])
    }
    close_file("1 2 4 8  1 6 2 8  1 5 6 8  1 4 3 8  1 3 7 8  1 7 5 8") # Kuhn's cut
}
BEGIN {
    blocks = 15; a = 1; half = 2; full = thick = 0.3; wide = 0.4
    for (i = 0; i <= blocks; i++)
        cut(i)
    ground = inner_z[0]
    wedge(0, 0, 1)
    for (b = 1; b < blocks - 1; b++)
        brick(b)
    wedge(blocks - 1, blocks, blocks - 1)
}
