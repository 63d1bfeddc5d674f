// SPDX-License-Identifier: Apache-2.0
// Bodies of one piece: soft ones of every kind of element and law, rigid ones of every shape.
#include "generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- materials

// A law with constants that make a shear modulus of about young/3 at small strain.
static char *law_text(uint64_t *seed, double young, const char **law, bool *splits)
{
    static const char *const laws[] = {
        "linear", "corotational", "corotational_lagged", "stvk", "neo_hookean", "mooney_rivlin",
        "ogden",  "arruda_boyce", "veronda_westmann",    "costa"};
    int k = random_below(seed, 10);
    *law = laws[k];
    *splits = k >= 4;
    double poisson = random_chance(seed, 0.15) ? random_between(seed, 0.45, 0.495) : random_between(seed, 0, 0.45);
    double mu = young / 3, bulk = mu * random_log(seed, 1, 50);
    if (k < 4 || (k == 4 && random_chance(seed, 0.5)))
        return format_text("young: %.4g, poisson: %.4g", young, poisson);
    static const char *const volumetric[] = {"square", "log", "mixed"};
    char *tail = format_text("bulk: %.4g, volumetric: %s", bulk, volumetric[random_below(seed, 3)]), *text = NULL;
    if (k == 4)
        text = format_text("mu: %.4g, %s", mu, tail);
    if (k == 5)
        text = format_text("c10: %.4g, c01: %.4g, %s", 0.4 * mu, 0.1 * mu, tail);
    if (k == 6)
        text = format_text("terms: [{mu: %.4g, alpha: %.3g}, {mu: %.4g, alpha: %.3g}], %s", 0.9 * mu,
                           random_between(seed, 1.2, 4), 0.1 * mu, random_between(seed, -4, -1), tail);
    if (k == 7)
        text = format_text("mu: %.4g, lambda_m: %.3g, %s", mu, random_log(seed, 1.5, 10), tail);
    if (k == 8)
        text = format_text("c1: %.4g, c2: %.3g, %s", mu / 4, random_log(seed, 0.5, 5), tail);
    if (k == 9)
    {
        free(tail);
        tail = format_text("bulk: %.4g", bulk);
        text = format_text("c: %.4g, b_ff: %.3g, b_ss: %.3g, b_nn: %.3g, b_fs: %.3g, b_fn: %.3g, b_sn: %.3g, "
                           "fibre: [%.3g, 1, 0.2], sheet: [0.1, %.3g, 1], %s",
                           mu / 5, random_log(seed, 1, 10), random_log(seed, 1, 10), random_log(seed, 1, 10),
                           random_log(seed, 1, 10), random_log(seed, 1, 10), random_log(seed, 1, 10),
                           random_between(seed, -1, 1), random_between(seed, -0.3, 0.3), tail);
    }
    free(tail);
    return text;
}

static void make_material(sceneMaking *making, madeBody *body, bool may_average)
{
    uint64_t *seed = &making->seed;
    randomScene *scene = making->scene;
    bool explicit = strcmp(making->method, "symplectic") == 0;
    body->young = explicit ? random_log(seed, 1e5, 1e6) : random_log(seed, 3e3, 1e8);
    const char *law = NULL;
    bool splits = false;
    char *text = law_text(seed, body->young, &law, &splits), *prony = NULL;
    if ((splits || strcmp(law, "stvk") == 0) && random_chance(seed, 0.25))
        prony = format_text(", viscoelastic: [{modulus: %.3g, time: %.3g}, {modulus: %.3g, time: %.3g}]",
                            random_between(seed, 0.1, 0.5), random_log(seed, 1e-3, 1), random_between(seed, 0.05, 0.4),
                            random_log(seed, 1e-2, 10));
    scene_piece(scene, PIECE_KEY, body->piece, law, "material: {law: %s, %s, density: %.4g%s}", law, text,
                explicit ? 1000 : random_log(seed, 100, 8000), prony != NULL ? prony : "");
    if (prony != NULL)
        scene_piece(scene, PIECE_TOP, body->piece, "prony", "# material: prony");
    free(text);
    free(prony);
    if (may_average && splits && strcmp(law, "costa") != 0 && random_chance(seed, 0.5))
        scene_piece(scene, PIECE_KEY, body->piece, "mean_dilatation", "formulation: mean_dilatation");
    if (!explicit && random_chance(seed, 0.2))
        scene_piece(scene, PIECE_KEY, body->piece, "consistent", "mass: consistent");
    if (random_chance(seed, 0.4))
        scene_piece(scene, PIECE_KEY, body->piece, "damping", "damping: {mass: %.3g, stiffness: %.3g}",
                    random_chance(seed, 0.5) ? 0 : random_log(seed, 0.01, 10),
                    explicit || random_chance(seed, 0.4) ? 0 : random_log(seed, 1e-5, 0.05));
}

static void make_velocity(sceneMaking *making, const madeBody *body)
{
    uint64_t *seed = &making->seed;
    if (making->supports || !random_chance(seed, 0.6))
        return;
    scene_piece(making->scene, PIECE_KEY, body->piece, "velocity", "velocity: [%.4g, %.4g, %.4g]",
                making->speed * random_between(seed, -1, 1), making->speed * random_between(seed, -1, 1),
                body->kind == MADE_PLANE ? 0 : making->speed * random_between(seed, -1, 0.5));
}

// ---------------------------------------------------------------- soft bodies

// Points of a block on a grid twice as fine as its cells: corners of tetrahedra and the midpoints of their edges. Six
// tetrahedra to a cell, along the paths from one of its corners to the opposite one.
static char *quadratic_mesh(const double size[3], const int cells[3])
{
    static const int paths[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    static const int edges[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}};
    int m[3] = {2 * cells[0] + 1, 2 * cells[1] + 1, 2 * cells[2] + 1};
    int points = m[0] * m[1] * m[2], tets = 6 * cells[0] * cells[1] * cells[2];
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (out == NULL)
        abort();
    fprintf(out, "# vtk DataFile Version 3.0\nblock\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS %d double\n", points);
    for (int p = 0; p < points; p++)
        fprintf(out, "%.9g %.9g %.9g\n", size[0] * (p % m[0]) / (m[0] - 1), size[1] * (p / m[0] % m[1]) / (m[1] - 1),
                size[2] * floor(p / m[0] / m[1]) / (m[2] - 1));
    fprintf(out, "CELLS %d %d\n", tets, 11 * tets);
    for (int c = 0; c < tets; c++)
    {
        int cell = c / 6, at[4][3] = {{cell % cells[0], cell / cells[0] % cells[1], cell / cells[0] / cells[1]}};
        const int *path = paths[c % 6];
        for (int a = 1; a < 4; a++)
        {
            memcpy(at[a], at[a - 1], sizeof at[a]);
            at[a][path[a - 1]]++;
        }
        if (c % 6 >= 3) // the odd permutations turn it inside out
            for (int i = 0; i < 3; i++)
            {
                int keep = at[1][i];
                at[1][i] = at[2][i];
                at[2][i] = keep;
            }
        fprintf(out, "10");
        for (int a = 0; a < 10; a++)
        {
            const int *from = at[a < 4 ? a : edges[a - 4][0]], *to = at[a < 4 ? a : edges[a - 4][1]];
            fprintf(out, " %d", from[0] + to[0] + m[0] * (from[1] + to[1] + m[1] * (from[2] + to[2])));
        }
        fprintf(out, "\n");
    }
    fprintf(out, "CELL_TYPES %d\n", tets);
    for (int c = 0; c < tets; c++)
        fprintf(out, "24\n");
    fclose(out);
    return text;
}

// The nodes of its side x = 0.
static char *quadratic_side(const int cells[3])
{
    int m[3] = {2 * cells[0] + 1, 2 * cells[1] + 1, 2 * cells[2] + 1};
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (out == NULL)
        abort();
    for (int p = 0; p < m[1] * m[2]; p++)
        fprintf(out, "%s%d", p == 0 ? "" : ", ", p * m[0]);
    fclose(out);
    return text;
}

static void make_torus(sceneMaking *making)
{
    uint64_t *seed = &making->seed;
    double minor = making->size * random_between(seed, 0.15, 0.3), major = minor * random_between(seed, 1.8, 3);
    const double low[3] = {-major - minor, -major - minor, -minor}, size[3] = {-2 * low[0], -2 * low[1], 2 * minor};
    madeBody *body = made_body(making, MADE_TORUS, "torus", low, size, true);
    scene_piece(making->scene, PIECE_KEY, body->piece, "torus mesh",
                "mesh: {torus: {major: %.6g, minor: %.6g, sections: %d, around: %d}}", major, minor,
                6 + random_below(seed, 5), 4 + random_below(seed, 3));
    make_material(making, body, false);
    make_velocity(making, body);
    if (making->supports || random_chance(seed, 0.25))
    {
        body->held = making->supports;
        scene_piece(making->scene, PIECE_KEY, body->piece, "fixed", "fixed: [{nodes: [0, 1, 2, 3, 4, 5]}]");
    }
}

void make_soft(sceneMaking *making)
{
    uint64_t *seed = &making->seed;
    randomScene *scene = making->scene;
    if (random_chance(seed, 0.15))
    {
        make_torus(making);
        return;
    }
    int cells[3];
    double size[3], low[3] = {0}, cell = making->size * random_between(seed, 0.2, 0.5);
    for (int i = 0; i < 3; i++)
    {
        cells[i] = i == 0 ? 1 + random_below(seed, 6) : 1 + random_below(seed, 3);
        size[i] = round(cells[i] * cell * random_between(seed, 0.6, 1.4) * 1e5) / 1e5;
    }
    bool quadratic = random_chance(seed, 0.15), hexahedra = !quadratic && random_chance(seed, 0.35);
    for (int i = 0; quadratic && i < 3; i++)
        cells[i] = cells[i] > 2 ? 2 : cells[i];
    madeBody *body =
        made_body(making, quadratic ? MADE_QUADRATIC : MADE_BLOCK, quadratic ? "quad" : "block", low, size, true);
    if (quadratic)
    {
        char file[32];
        snprintf(file, sizeof file, "%s.vtk", body->name);
        int mesh = scene_piece(scene, PIECE_KEY, body->piece, "quadratic tetrahedra", "mesh: %s", file);
        scene_file_of(scene, mesh, file, quadratic_mesh(size, cells));
    }
    else
        scene_piece(scene, PIECE_KEY, body->piece, hexahedra ? "hexahedra" : "tetrahedra",
                    "mesh: {box: [[0, 0, 0], [%.6g, %.6g, %.6g]], cells: [%d, %d, %d], elements: %s}", size[0], size[1],
                    size[2], cells[0], cells[1], cells[2], hexahedra ? "hexahedra" : "tetrahedra");
    make_material(making, body, quadratic || hexahedra);
    make_velocity(making, body);
    if (!quadratic && !hexahedra && random_chance(seed, 0.15)) // of triangles
        scene_piece(scene, PIECE_KEY, body->piece, "membrane",
                    "materials: [{group: zmax, element: membrane, thickness: %.3g, law: %s, young: %.4g, poisson: 0.4, "
                    "density: 1000}]",
                    0.02 * cell, random_chance(seed, 0.5) ? "neo_hookean" : "corotational", 5 * body->young);
    if (making->contact && random_chance(seed, 0.2)) // as far as the corners, of which its sides are made
        scene_piece(scene, PIECE_KEY, body->piece, "coarser surface", "contact: {nodes: %d}",
                    8 + random_below(seed, 30));
    if (making->supports || random_chance(seed, making->contact ? 0.2 : 0.55))
    {
        char *side = quadratic ? quadratic_side(cells) : NULL;
        body->held = true;
        if (quadratic)
            scene_piece(scene, PIECE_KEY, body->piece, "fixed", "fixed: [{nodes: [%s]}]", side);
        else
            scene_piece(scene, PIECE_KEY, body->piece, "fixed", "fixed: [{group: xmin%s}]",
                        !making->supports && random_chance(seed, 0.2) ? ", axes: xz" : "");
        free(side);
    }
}

// A block of its own that `tendril reduce` makes polynomials of. The run is that of the reduced model.
void make_reduced(sceneMaking *making)
{
    uint64_t *seed = &making->seed;
    randomScene *scene = making->scene;
    double low[3] = {0}, size[3] = {making->size, 0.3 * making->size, 0.3 * making->size};
    madeBody *body = made_body(making, MADE_REDUCED, "reduced", low, size, true);
    body->young = random_log(seed, 3e4, 1e7);
    body->held = true;
    scene_piece(scene, PIECE_KEY, body->piece, "reduced stvk",
                "mesh: {box: [[0, 0, 0], [%.6g, %.6g, %.6g]], cells: [4, 1, 1]}, fixed: [{group: xmin}], "
                "material: {law: stvk, young: %.4g, poisson: 0.3, density: %.4g}",
                size[0], size[1], size[2], body->young, random_log(seed, 300, 3000));
    if (random_chance(seed, 0.5))
        scene_piece(scene, PIECE_KEY, body->piece, "damping", "damping: {mass: %.3g, stiffness: %.3g}",
                    random_log(seed, 0.01, 10), random_log(seed, 1e-5, 0.01));
    scene_piece(scene, PIECE_TOP, body->piece, "reduction", "reduction: {kind: stvk, modes: 4, columns: 8}");
    double tip[3], most = 0.01 * body->young * size[1] * size[2];
    made_point(body, 0.99, 0.5, 0.5, tip);
    int push = scene_piece(scene, PIECE_ACTUATOR, body->piece, "force on reduced",
                           "name: push, type: force, body: %s, point: [%.6g, %.6g, %.6g], direction: [0.1, 0.6, 0.8], "
                           "drive: force, range: [%.4g, %.4g]",
                           body->name, tip[0], tip[1], tip[2], -most, most);
    make_motion(making, push, "push", "input", 0, most);
}

void make_plane(sceneMaking *making)
{
    uint64_t *seed = &making->seed;
    randomScene *scene = making->scene;
    double low[3] = {0},
           size[3] = {making->size * random_between(seed, 0.5, 2), making->size * random_between(seed, 0.5, 1), 0};
    madeBody *body = &making->bodies[making->n];
    *body = (madeBody){.kind = MADE_PLANE, .R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    snprintf(body->name, sizeof body->name, "sheet%d", making->n++);
    memcpy(body->low, low, sizeof low);
    memcpy(body->size, size, sizeof size);
    bool stress = random_chance(seed, 0.5);
    body->piece = scene_piece(scene, PIECE_BODY, -1, stress ? "plane stress" : "plane strain",
                              "name: %s, plane: %s, thickness: %.4g, "
                              "mesh: {rectangle: [[0, 0], [%.6g, %.6g]], cells: [%d, %d]}",
                              body->name, stress ? "stress" : "strain", 0.1 * making->size, size[0], size[1],
                              2 + random_below(seed, 5), 2 + random_below(seed, 3));
    make_material(making, body, false);
    make_velocity(making, body);
    if (making->supports || random_chance(seed, 0.6))
    {
        body->held = true;
        scene_piece(scene, PIECE_KEY, body->piece, "fixed", "fixed: [{group: xmin}]");
    }
}

// ---------------------------------------------------------------- rigid bodies

// A wedge, as a closed surface.
static char *wedge(double size)
{
    return format_text("v 0 0 0\nv %.6g 0 0\nv %.6g %.6g 0\nv 0 %.6g 0\nv 0 0 %.6g\nv 0 %.6g %.6g\n"
                       "f 1 4 3\nf 1 3 2\nf 1 2 5\nf 4 6 3\nf 1 5 6\nf 1 6 4\nf 2 3 6\nf 2 6 5\n",
                       size, size, 0.7 * size, 0.7 * size, 0.5 * size, 0.7 * size, 0.5 * size);
}

static int shape_piece(sceneMaking *making, const char *name, int which, double a, double b, double c)
{
    randomScene *scene = making->scene;
    int owner = making->bodies[making->n - 1].piece;
    switch (which)
    {
    case 0: return scene_piece(scene, PIECE_KEY, owner, "rigid box", "shape: {box: [%.6g, %.6g, %.6g]}", a, b, c);
    case 1: return scene_piece(scene, PIECE_KEY, owner, "rigid sphere", "shape: {sphere: %.6g}", 0.5 * a);
    case 2:
        return scene_piece(scene, PIECE_KEY, owner, "rigid cylinder", "shape: {cylinder: {radius: %.6g, length: %.6g}}",
                           0.5 * a, c);
    case 3:
        return scene_piece(scene, PIECE_KEY, owner, "rigid capsule", "shape: {capsule: {radius: %.6g, length: %.6g}}",
                           0.5 * a, c - a);
    case 4:
        return scene_piece(scene, PIECE_KEY, owner, "rigid torus",
                           "shape: {torus: {major: %.6g, minor: %.6g, sections: 10, around: 6}}", 0.5 * (a - c),
                           0.5 * c);
    default:
    {
        char file[32];
        snprintf(file, sizeof file, "%s.obj", name);
        int shape = scene_piece(scene, PIECE_KEY, owner, "rigid mesh", "shape: {mesh: %s}", file);
        scene_file_of(scene, shape, file, wedge(a));
        return shape;
    }
    }
}

// The box of each shape, from a, b, c; the wedge has its corner at the origin.
static madeBody *make_shape(sceneMaking *making, madeKind kind, const char *name)
{
    uint64_t *seed = &making->seed;
    int which = random_below(seed, 6);
    double a = making->size * random_between(seed, 0.3, 1.2), b = a, c = a;
    if (which == 0)
    {
        b = making->size * random_between(seed, 0.3, 1.2);
        c = making->size * random_between(seed, 0.3, 1.2);
    }
    if (which == 2)
        c = a * random_between(seed, 0.3, 3);
    if (which == 3)
        c = a * random_between(seed, 1.3, 3);
    if (which == 4)
        c = a * random_between(seed, 0.15, 0.3);
    if (which == 5)
    {
        b = 0.7 * a;
        c = 0.5 * a;
    }
    double size[3] = {a, b, c}, low[3] = {-0.5 * a, -0.5 * b, -0.5 * c};
    if (which == 5)
        low[0] = low[1] = low[2] = 0;
    madeBody *body = made_body(making, kind, name, low, size, true);
    shape_piece(making, body->name, which, a, b, c);
    return body;
}

void make_rigid(sceneMaking *making)
{
    uint64_t *seed = &making->seed;
    if (making->supports)
    {
        make_soft(making); // nothing holds a rigid body in a static scene
        return;
    }
    madeBody *body = make_shape(making, MADE_RIGID, "rigid");
    scene_piece(making->scene, PIECE_KEY, body->piece, "rigid", "type: rigid");
    scene_piece(making->scene, PIECE_KEY, body->piece, "density", "density: %.4g", random_log(seed, 50, 8000));
    make_velocity(making, body);
    if (random_chance(seed, 0.4))
        scene_piece(making->scene, PIECE_KEY, body->piece, "spin",
                    "angular_velocity: [%.4g rad/s, %.4g rad/s, %.4g rad/s]", random_between(seed, -10, 10),
                    random_between(seed, -10, 10), random_between(seed, -10, 10));
}

void make_fixed(sceneMaking *making, bool floor)
{
    uint64_t *seed = &making->seed;
    if (!floor)
    {
        madeBody *body = make_shape(making, MADE_FIXED, "rock");
        scene_piece(making->scene, PIECE_KEY, body->piece, "obstacle", "type: rigid, fixed: true");
        return;
    }
    madeBody *body = &making->bodies[making->n];
    *body = (madeBody){.kind = MADE_FIXED, .R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    snprintf(body->name, sizeof body->name, "floor%d", making->n++);
    double tilt = random_chance(seed, 0.3) ? random_between(seed, -0.5, 0.5) : 0;
    body->piece = scene_piece(making->scene, PIECE_BODY, -1, "floor",
                              "name: %s, type: rigid, shape: {plane: true}, fixed: true, "
                              "transform: {rotate: [%.3g rad, 0 rad, 0 rad]}",
                              body->name, tilt);
    // The lowest body must clear the slope.
    making->top = fabs(tan(tilt)) * 3 * making->size;
}
