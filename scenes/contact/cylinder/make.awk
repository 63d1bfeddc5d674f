# SPDX-License-Identifier: Apache-2.0
# Slice of a cylinder along y, one layer of hexahedra, standing on z = 0: a square of 2n x 2n cells in the middle and n
# rings around it, 12 n^2 in all.
#
#     awk -v n=8 -f make.awk > cylinder_4.msh
function node(x, z) { # one of each layer; -0 becomes 0
    x += 0; z += 0
    if (!((key = sprintf("%.9f %.9f", x + 1, z + 1)) in number)) {
        number[key] = ++nodes
        place[nodes] = sprintf("%.12g %s %.12g", x, "%.12g", z + radius)
    }
    return number[key]
}
function square(i, j) { return node(side * i / n, side * j / n) } # i, j from -n to n
# m runs along the square's edge and the circle, 8n steps from the lower right corner.
function edge_x(m,    q, r) { q = int(m / (2 * n)) % 4; r = m % (2 * n) / n - 1; return side * (q == 0 ? 1 : q == 1 ? -r : q == 2 ? -1 : r) }
function edge_z(m,    q, r) { q = int(m / (2 * n)) % 4; r = m % (2 * n) / n - 1; return side * (q == 0 ? r : q == 1 ? 1 : q == 2 ? -r : -1) }
function ring(m, k,    a, f) {
    m = (m + 8 * n) % (8 * n)
    if (k == 0)
        return node(edge_x(m), edge_z(m))
    a = (m / (4 * n) - 0.25) * 3.141592653589793; f = k / n
    return node((1 - f) * edge_x(m) + f * radius * cos(a), (1 - f) * edge_z(m) + f * radius * sin(a))
}
function cell(a, b, c, d) { quad[++cells] = a " " b " " c " " d }
BEGIN {
    radius = 0.2; depth = 0.05; side = 0.42 * radius
    for (i = -n; i < n; i++)
        for (j = -n; j < n; j++)
            cell(square(i, j), square(i + 1, j), square(i + 1, j + 1), square(i, j + 1))
    for (k = 0; k < n; k++)
        for (m = 0; m < 8 * n; m++)
            cell(ring(m, k), ring(m, k + 1), ring(m + 1, k + 1), ring(m + 1, k))
    printf "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n%d\n", 2 * nodes
    for (layer = 0; layer < 2; layer++)
        for (i = 1; i <= nodes; i++)
            printf "%d " place[i] "\n", layer * nodes + i, layer * depth
    printf "$EndNodes\n$Elements\n%d\n", cells
    for (i = 1; i <= cells; i++) {
        split(quad[i], c, " ")
        # x, z and -y are right-handed: the layer at y = depth comes first
        printf "%d 5 2 0 0", i
        for (k = 0; k < 8; k++)
            printf " %d", c[k % 4 + 1] + (k < 4 ? nodes : 0)
        printf "\n"
    }
    printf "$EndElements\n"
}
