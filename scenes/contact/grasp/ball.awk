# SPDX-License-Identifier: Apache-2.0
# The surface of a ball of radius 45 (mm) as OBJ: faces of an icosahedron cut into 9 triangles each, 92 corners, one
# triangle flat at the bottom. gmsh fills it:
#   awk -f ball.awk > ball.obj && tendril mesh ball.obj -o ball.msh --size 14.2 --keep-surface
function corner(x, y, z,    l, key)
{
    l = 45 / sqrt(x * x + y * y + z * z)
    x *= l; y *= l; z *= l
    key = sprintf("%.6f %.6f %.6f", x + 1e-9, y + 1e-9, z + 1e-9)
    if (!(key in known)) {
        known[key] = ++n
        X[n] = x; Y[n] = y; Z[n] = z
    }
    return known[key]
}
# Corner i, j of the face a, b, c: i cuts towards b, j towards c.
function at(a, b, c, i, j,    k)
{
    k = cut - i - j
    return corner(k * px[a] + i * px[b] + j * px[c], k * py[a] + i * py[b] + j * py[c], k * pz[a] + i * pz[b] + j * pz[c])
}
function face(a, b, c,    i, j)
{
    for (i = 0; i < cut; i++)
        for (j = 0; i + j < cut; j++) {
            F[++f] = at(a, b, c, i, j) " " at(a, b, c, i + 1, j) " " at(a, b, c, i, j + 1)
            if (i + j + 1 < cut)
                F[++f] = at(a, b, c, i + 1, j) " " at(a, b, c, i + 1, j + 1) " " at(a, b, c, i, j + 1)
        }
}
BEGIN {
    cut = 3
    g = (1 + sqrt(5)) / 2
    # Three rectangles across each other.
    for (s = 0; s < 4; s++) {
        u = s % 2 ? 1 : -1; v = (s > 1 ? 1 : -1) * g
        px[s] = 0; py[s] = u; pz[s] = v
        px[4 + s] = u; py[4 + s] = v; pz[4 + s] = 0
        px[8 + s] = v; py[8 + s] = 0; pz[8 + s] = u
    }
    for (a = 0; a < 12; a++)
        for (b = a + 1; b < 12; b++)
            for (c = b + 1; c < 12; c++) {
                ab = (px[a] - px[b]) ^ 2 + (py[a] - py[b]) ^ 2 + (pz[a] - pz[b]) ^ 2
                bc = (px[c] - px[b]) ^ 2 + (py[c] - py[b]) ^ 2 + (pz[c] - pz[b]) ^ 2
                ca = (px[a] - px[c]) ^ 2 + (py[a] - py[c]) ^ 2 + (pz[a] - pz[c]) ^ 2
                if (ab > 4.1 || bc > 4.1 || ca > 4.1)
                    continue
                vol = px[a] * (py[b] * pz[c] - pz[b] * py[c]) + py[a] * (pz[b] * px[c] - px[b] * pz[c]) + pz[a] * (px[b] * py[c] - py[b] * px[c])
                if (vol > 0)
                    face(a, b, c)
                else
                    face(a, c, b)
            }
    # The middle of the first triangle goes down: turn about the axis that is across it and -z.
    split(F[1], t, " ")
    for (k = 1; k <= 3; k++) {
        mx += X[t[k]] / 3; my += Y[t[k]] / 3; mz += Z[t[k]] / 3
    }
    l = sqrt(mx * mx + my * my + mz * mz)
    mx /= l; my /= l; mz /= l
    ax = -my; ay = mx # m x (0, 0, -1)
    co = -mz
    for (k = 1; k <= n; k++) {
        d = (ax * X[k] + ay * Y[k]) / (1 + co)
        printf "v %.6f %.6f %.6f\n", co * X[k] + ay * Z[k] + ax * d, co * Y[k] - ax * Z[k] + ay * d, co * Z[k] + ax * Y[k] - ay * X[k]
    }
    for (k = 1; k <= f; k++)
        print "f " F[k]
}
