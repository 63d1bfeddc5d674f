# SPDX-License-Identifier: Apache-2.0
# A tube that goes straight down and then round a corner, in mm: a closed surface of triangles around its wall.
#
#     awk -f bend.awk > bend.obj
#
# Its axis runs from z = -top to z = -turn, then along a circle of radius `bend` towards x, by 90 degrees.
function ring(x, z, a, r,   i, t) { # across the direction (sin a, 0, -cos a)
    for (i = 0; i < n; i++) {
        t = 2 * pi * i / n
        printf "v %.4f %.4f %.4f\n", x + r * cos(t) * cos(a), r * sin(t), z + r * cos(t) * sin(a)
    }
    return rings++
}
function axis(k, r,   a) { # ring k of the tube
    if (k < straight)
        return ring(0, -top - (turn - top) * k / straight, 0, r)
    a = pi / 2 * (k - straight) / round
    return ring(bend * (1 - cos(a)), -turn - bend * sin(a), a, r)
}
function quad(a, b, c, d) { faces = faces sprintf("f %d %d %d\nf %d %d %d\n", a, b, c, a, c, d) }
function wall(a, b,   i, j) { # between two rings, seen from where they turn to the right
    for (i = 0; i < n; i++) {
        j = (i + 1) % n
        quad(1 + a * n + i, 1 + a * n + j, 1 + b * n + j, 1 + b * n + i)
    }
}
BEGIN {
    pi = atan2(0, -1)
    n = 24; straight = 4; round = 12
    top = 135; turn = 180; bend = 50; inner = 17; outer = 21
    print "# SPDX-License-Identifier: Apache-2.0"
    for (k = 0; k <= straight + round; k++) inside[k] = axis(k, inner)
    for (k = 0; k <= straight + round; k++) outside[k] = axis(k, outer)
    for (k = 0; k < straight + round; k++) {
        wall(inside[k], inside[k + 1])
        wall(outside[k + 1], outside[k])
    }
    wall(outside[0], inside[0])
    wall(inside[straight + round], outside[straight + round])
    printf "%s", faces
}
