# SPDX-License-Identifier: Apache-2.0
# Blocks of a masonry arch along a catenary: block_00.msh and so on, eight nodes and six tetrahedra each.
#
#     awk -f make.awk
#
# The middle line is z = -a (cosh(x/a) - 1), cut at right angles into pieces of the same length. The last cuts are not
# level, so that the arch stands on the inner edges of its ends, which are put at z = 0.
function asinh(x) { return x < 0 ? -asinh(-x) : log(x + sqrt(x * x + 1)) }
function cut(i,    s, x, c) {
    s = -half + 2 * half * i / blocks
    x = a * asinh(s / a)
    c = sqrt(1 + s * s / (a * a))
    # unit normal outwards: (s/a, 1) / c
    inner_x[i] = x - thick / 2 * s / a / c; inner_z[i] = a - a * c - thick / 2 / c
    outer_x[i] = x + thick / 2 * s / a / c; outer_z[i] = a - a * c + thick / 2 / c
}
function node(x, y, z) { printf "%d %.12g %.12g %.12g\n", ++n, x, y, z - ground > file }
BEGIN {
    blocks = 11; a = 1; half = 2; thick = 0.3; wide = 0.4
    for (i = 0; i <= blocks; i++)
        cut(i)
    ground = inner_z[0]
    # Kuhn's six tetrahedra of a brick, corners counted in bits x, y, z.
    split("0 1 3 7  0 5 1 7  0 4 5 7  0 3 2 7  0 2 6 7  0 6 4 7", corner, " ")
    for (b = 0; b < blocks; b++) {
        file = sprintf("block_%02d.msh", b); n = 0
        printf "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n8\n" > file
        for (k = 0; k < 8; k++) {
            i = b + k % 2; y = (int(k / 2) % 2 - 0.5) * wide
            if (k < 4) node(inner_x[i], y, inner_z[i])
            else node(outer_x[i], y, outer_z[i])
        }
        printf "$EndNodes\n$Elements\n6\n" > file
        for (t = 0; t < 6; t++)
            printf "%d 4 2 0 0 %d %d %d %d\n", t + 1, corner[4*t+1] + 1, corner[4*t+2] + 1, corner[4*t+3] + 1, corner[4*t+4] + 1 > file
        printf "$EndElements\n" > file
        close(file)
    }
}
