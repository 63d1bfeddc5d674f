# SPDX-License-Identifier: Apache-2.0
# A ring about z with a gap at the side of +x: 40 x 2 x 2 hexahedra. Groups "upper" and "lower": the two ends.
#
#     awk -f make.awk > cring.msh
function node(i, j, k) { return 1 + i + (n + 1) * (j + 3 * k) }
BEGIN {
    n = 40; inner = 30; thick = 10; deep = 10; open = 0.3; pi = 3.141592653589793 # mm, rad
    printf "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n3\n2 1 \"upper\"\n2 2 \"lower\"\n3 3 \"body\"\n$EndPhysicalNames\n"
    printf "$Nodes\n%d\n", (n + 1) * 9
    for (k = 0; k < 3; k++)
        for (j = 0; j < 3; j++)
            for (i = 0; i <= n; i++) {
                a = open + (2 * pi - 2 * open) * i / n; r = inner + thick * j / 2
                printf "%d %.9g %.9g %.9g\n", node(i, j, k), r * cos(a), r * sin(a), deep * k / 2
            }
    printf "$EndNodes\n$Elements\n%d\n", 4 * n + 8
    for (k = 0; k < 2; k++)
        for (j = 0; j < 2; j++) {
            printf "%d 3 2 1 1 %d %d %d %d\n", ++e, node(0, j, k), node(0, j + 1, k), node(0, j + 1, k + 1), node(0, j, k + 1)
            printf "%d 3 2 2 2 %d %d %d %d\n", ++e, node(n, j, k), node(n, j, k + 1), node(n, j + 1, k + 1), node(n, j + 1, k)
        }
    for (k = 0; k < 2; k++)
        for (j = 0; j < 2; j++)
            for (i = 0; i < n; i++)
                printf "%d 5 2 3 3 %d %d %d %d %d %d %d %d\n", ++e, node(i, j, k), node(i, j + 1, k), node(i + 1, j + 1, k),
                    node(i + 1, j, k), node(i, j, k + 1), node(i, j + 1, k + 1), node(i + 1, j + 1, k + 1), node(i + 1, j, k + 1)
    printf "$EndElements\n"
}
