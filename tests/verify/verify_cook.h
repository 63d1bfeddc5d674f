// SPDX-License-Identifier: Apache-2.0
// Cook's membrane: a trapezoid clamped on the left, sheared on the right. Cantilevers of any element, with and
// without a skin.
#pragma once
#include "verify_calculix.h"
#include "verify_mesh.h"

typedef enum cookCells
{
    COOK_TRI, ///< a plane body
    COOK_TET,
    COOK_TET_JITTERED, ///< inner nodes moved at random
    COOK_HEX,
    COOK_TET10
} cookCells;

// From the unit square; corners (0, 0), (48, 44), (48, 60), (0, 44).
static inline void cook_map(double x[3])
{
    double s = x[0], t = x[1];
    x[0] = 48 * s;
    x[1] = 44 * s + t * (44 - 28 * s);
}

// Moves inner nodes in the plane by up to 15 % of a cell.
static inline void cook_jitter(tdMesh *mesh, int n)
{
    uint64_t seed = 7;
    for (int64_t i = 0; i < mesh->n_nodes; i++)
        for (int c = 0; c < 2; c++)
        {
            double x = mesh->x[3 * i], y = mesh->x[3 * i + 1];
            bool inside = x > 1e-9 && x < 1 - 1e-9 && y > 1e-9 && y < 1 - 1e-9;
            mesh->x[3 * i + c] += inside ? mesh_jitter(&seed) / n : 0;
        }
}

static inline tdMesh cook_mesh(cookCells cells, int n)
{
    tdMesh mesh = {0};
    tdError error = {0};
    if (cells == COOK_TRI)
        assert_ok(td_mesh_rectangle((double[]){0, 0}, (double[]){1, 1}, (int[]){n, n}, &mesh, &error), error);
    else
        mesh = mesh_brick(1, n, n, cells == COOK_HEX);
    if (cells == COOK_TET_JITTERED)
        cook_jitter(&mesh, n);
    if (cells == COOK_TET10)
        mesh_quadratic(&mesh);
    mesh_map(&mesh, cook_map);
    return mesh;
}

static inline double cook_probe(tdModel *model, const tdState *state, double rest)
{
    double at[3];
    td_state_probe(model, state, 0, at);
    return at[1] - rest;
}

// ---------------------------------------------------------------- plane stress

/// Vertical displacement of the middle of the loaded side; n x n cells of two triangles.
static inline double cook_stress(int n)
{
    char folder[256];
    make_folder(folder);
    tdMesh mesh = cook_mesh(COOK_TRI, n);
    mesh_save(&mesh, folder, "cook.vtu");
    // A uniform traction gives a corner half of what the other nodes get.
    tdModel *model = verify_model(
        "tendril: 1\n"
        "integrator: {method: static}\n"
        "solver: {tolerance: 1e-11}\n"
        "bodies:\n"
        "  - name: cook\n"
        "    mesh: %s/cook.vtu\n"
        "    plane: stress\n"
        "    material: {law: linear, young: 1, poisson: 0.333333333333333}\n"
        "    fixed: [{plane: {point: [0, 0, 0], normal: [1, 0, 0]}}]\n"
        "probes: [{name: middle, body: cook, sphere: {center: [48, 52, 0], radius: 0.01}}]\n"
        "loads:\n"
        "  - {type: point, body: cook, plane: {point: [48, 0, 0], normal: [1, 0, 0]}, force_each: [0, %.17g, 0]}\n"
        "  - {type: point, body: cook, sphere: {center: [48, 44, 0], radius: 0.01}, force: [0, %.17g, 0]}\n"
        "  - {type: point, body: cook, sphere: {center: [48, 60, 0], radius: 0.01}, force: [0, %.17g, 0]}\n",
        folder, 1.0 / n, -0.5 / n, -0.5 / n);
    tdState *state = verify_state(model);
    verify_step(model, state);
    double tip = cook_probe(model, state, 52);
    td_state_free(state);
    td_model_free(model);
    remove_folder(folder);
    return tip;
}

/// n, n/2 and n/4 cells give the order and the limit (Aitken); the clamped corner is singular, so it is below 2.
static inline void verify_cook_stress(int n, double tolerance)
{
    double u[3] = {cook_stress(n / 4), cook_stress(n / 2), cook_stress(n)};
    double limit = verify_aitken(u);
    char name[128];
    snprintf(name, sizeof name, "Cook, plane stress, %d triangles, middle of the side", 2 * n * n);
    verify_relative(name, "published", 23.96, u[2], tolerance);
    snprintf(name, sizeof name, "Cook, plane stress, limit of %d, %d and %d cells", n / 4, n / 2, n);
    verify_relative(name, "published", 23.96, limit, VERIFY_SLOW ? 0.02 : 0.002);
}

// ---------------------------------------------------------------- nearly incompressible

/// Plane strain: triangles, or a slice one cell thick and held in its plane.
static inline tdModel *cook_model(const char *folder, cookCells cells, bool mean, double poisson, int n)
{
    tdMesh mesh = cook_mesh(cells, n);
    mesh_save(&mesh, folder, "cook.vtu");
    bool flat = cells == COOK_TRI;
    return verify_model("tendril: 1\n"
                        "integrator: {method: static, tolerance: 1e-8, max_iterations: 100}\n"
                        "solver: {type: cholesky}\n"
                        "bodies:\n"
                        "  - name: cook\n"
                        "    mesh: %s/cook.vtu\n"
                        "    material: {law: neo_hookean, young: 240.565, poisson: %.17g}\n"
                        "    formulation: %s\n"
                        "    fixed: [{plane: {point: [0, 0, 0], normal: [1, 0, 0]}}%s]\n"
                        "%s"
                        "probes: [{name: corner, body: cook, box: [[47.99, 59.99, -1], [48.01, 60.01, 2]]}]\n"
                        "loads: [{type: %s, body: cook, plane: {point: [48, 0, 0], normal: [1, 0, 0]},\n"
                        "         force: [0, 100, 0]}]\n",
                        folder, poisson, mean ? "mean_dilatation" : "standard", flat ? "" : ", {all: true, axes: z}",
                        flat ? "    plane: strain\n" : "", flat ? "point" : "surface");
}

static inline double cook_rubber(cookCells cells, bool mean, int n)
{
    char folder[256];
    make_folder(folder);
    tdModel *model = cook_model(folder, cells, mean, 0.4999, n);
    tdState *state = verify_state(model);
    verify_step(model, state);
    double tip = cook_probe(model, state, 60);
    td_state_free(state);
    td_model_free(model);
    remove_folder(folder);
    return tip;
}

// Reported for this membrane since the nineties, with two digits. CalculiX tends there: test_cook_calculix.
#define COOK_RUBBER 6.9
#define COOK_PAPERS "published, two digits"

/// n cells a side, and half and a quarter of it.
static inline void verify_cook_rubber(int n)
{
    static const struct
    {
        const char *title;
        cookCells cells;
        bool mean;
        int coarser; // a quadratic element has as many nodes as eight linear ones
    } kinds[] = {{"linear tetrahedra, inner nodes moved", COOK_TET_JITTERED, false, 1},
                 {"linear tetrahedra, mirrored pattern", COOK_TET, false, 1},
                 {"hexahedra", COOK_HEX, false, 1},
                 {"hexahedra, mean dilatation", COOK_HEX, true, 1},
                 {"quadratic tetrahedra", COOK_TET10, false, 2}};
    double u[5][3];
    printf("ROW\tcook\telements\t%d cells a side\t%d\t%d\n", n / 4, n / 2, n);
    for (int i = 0; i < 5; i++)
    {
        printf("ROW\tcook\t%s%s", kinds[i].title, kinds[i].coarser == 2 ? " (half as many cells)" : "");
        for (int k = 0; k < 3; k++)
        {
            u[i][k] = cook_rubber(kinds[i].cells, kinds[i].mean, (n >> (2 - k)) / kinds[i].coarser);
            printf("\t%.3f", u[i][k]);
        }
        printf("\n");
    }
    verify_below("Cook, ν = 0.4999, linear tetrahedra lock: tip over the published", COOK_PAPERS, 0.9,
                 u[0][2] / COOK_RUBBER);
    verify_below("Cook, ν = 0.4999, hexahedra lock: tip over the published", COOK_PAPERS, 0.6, u[2][2] / COOK_RUBBER);
    verify_relative("Cook, ν = 0.4999, hexahedra, mean dilatation", COOK_PAPERS, COOK_RUBBER, u[3][2],
                    VERIFY_SLOW ? 0.05 : 0.01);
    verify_relative("Cook, ν = 0.4999, quadratic tetrahedra", COOK_PAPERS, COOK_RUBBER, u[4][2],
                    VERIFY_SLOW ? 0.08 : 0.02);
}

static inline void cook_calculix(const char *title, cookCells cells, double poisson, int n)
{
    char folder[256], name[128];
    make_folder(folder);
    tdModel *model = cook_model(folder, cells, false, poisson, n);
    tdState *state = verify_state(model);
    verify_step(model, state);
    ccxResult theirs = ccx_solve(model, folder, true);
    const tdSoft *soft = verify_soft(model);
    const double *q = td_state_positions(model, state, 0);
    double difference = 0, size = 0;
    for (int64_t i = 0; i < 3 * (int64_t)soft->n_nodes; i++)
    {
        difference += pow(q[i] - soft->rest[i] - theirs.u[i], 2);
        size += theirs.u[i] * theirs.u[i];
    }
    snprintf(name, sizeof name, "Cook, ν = %g, %s, all displacements, relative L2 difference", poisson, title);
    verify_absolute(name, "CalculiX, same mesh", 0, sqrt(difference / size), 1e-5);
    ccx_free(&theirs);
    td_state_free(state);
    td_model_free(model);
    remove_folder(folder);
}

// ---------------------------------------------------------------- cantilevers

#define CANTILEVER_LENGTH 1.0 // [m]
#define CANTILEVER_HEIGHT 0.05
#define CANTILEVER_WIDTH  0.05
#define CANTILEVER_YOUNG  1e6 // [Pa]

typedef enum cantileverCells
{
    CANTILEVER_TET,
    CANTILEVER_HEX,
    CANTILEVER_TET10
} cantileverCells;

/// Tip deflection [m] of a strip of Poisson's ratio 0, held in its plane, n cells high, under 1 N at the tip. skin:
/// extensional stiffness of the upper face over that of the section; 0: none.
static inline double cantilever(cantileverCells cells, int n, double skin)
{
    char folder[256], parts[256] = "";
    make_folder(folder);
    tdMesh mesh = {0};
    tdError error = {0};
    double max[3] = {CANTILEVER_LENGTH, CANTILEVER_WIDTH, CANTILEVER_HEIGHT};
    int along = (int)lround(CANTILEVER_LENGTH / CANTILEVER_HEIGHT) * n;
    assert_ok(td_mesh_box((double[]){0, 0, 0}, max, (int[]){along, 1, n}, cells == CANTILEVER_HEX, &mesh, &error),
              error);
    if (cells == CANTILEVER_TET10)
        mesh_quadratic(&mesh);
    mesh_save(&mesh, folder, "beam.msh");
    const double thickness = 1e-4;
    if (skin > 0)
        snprintf(parts, sizeof parts,
                 "    materials: [{group: zmax, element: membrane, thickness: %.17g, law: linear, young: %.17g,"
                 " poisson: 0}]\n",
                 thickness, skin * CANTILEVER_YOUNG * CANTILEVER_HEIGHT / thickness);
    tdModel *model =
        verify_model("tendril: 1\n"
                     "integrator: {method: static}\n"
                     "solver: {type: cholesky}\n"
                     "bodies:\n"
                     "  - name: beam\n"
                     "    mesh: %s/beam.msh\n"
                     "    material: {law: linear, young: %.17g, poisson: 0}\n"
                     "%s"
                     "    fixed: [{plane: {point: [0, 0, 0], normal: [1, 0, 0]}}, {all: true, axes: y}]\n"
                     "probes: [{name: tip, body: beam, point: [%.17g, %.17g, %.17g]}]\n"
                     "loads: [{type: surface, body: beam, plane: {point: [%.17g, 0, 0], normal: [1, 0, 0]},"
                     " force: [0, 0, -1]}]\n",
                     folder, CANTILEVER_YOUNG, parts, CANTILEVER_LENGTH, CANTILEVER_WIDTH / 2, CANTILEVER_HEIGHT / 2,
                     CANTILEVER_LENGTH);
    tdState *state = verify_state(model);
    verify_step(model, state);
    double tip[3];
    td_state_probe(model, state, 0, tip);
    td_state_free(state);
    td_model_free(model);
    remove_folder(folder);
    return CANTILEVER_HEIGHT / 2 - tip[2];
}

// Bending and shear (Timoshenko, 5/6 of the section, G = E/2).
static inline double cantilever_theory(double stiffening)
{
    double area = CANTILEVER_WIDTH * CANTILEVER_HEIGHT, inertia = area * CANTILEVER_HEIGHT * CANTILEVER_HEIGHT / 12;
    double bend = pow(CANTILEVER_LENGTH, 3) / (3 * CANTILEVER_YOUNG * inertia * stiffening);
    return (bend + CANTILEVER_LENGTH / (5.0 / 6 * CANTILEVER_YOUNG / 2 * area));
}

/// Quadratic tetrahedra are held to theory as they are, hexahedra in the limit of n and 2n cells.
static inline void verify_cantilever(const char *title, cantileverCells cells, int n, double tolerance)
{
    char name[128];
    double u = cantilever(cells, n, 0), fine = cantilever(cells, 2 * n, 0);
    if (cells == CANTILEVER_HEX)
    {
        snprintf(name, sizeof name, "cantilever of %s, limit of %d and %d cells high, tip [m]", title, n, 2 * n);
        verify_relative(name, "Timoshenko", cantilever_theory(1), verify_limit(u, fine), tolerance);
        return;
    }
    snprintf(name, sizeof name, "cantilever of %s, %d cell high, tip [m]", title, n);
    verify_relative(name, "Timoshenko", cantilever_theory(1), u, 0.01);
    snprintf(name, sizeof name, "cantilever of %s, %d cells high, tip [m]", title, 2 * n);
    verify_relative(name, "Timoshenko", cantilever_theory(1), fine, tolerance);
}

// A thin layer of extensional stiffness n E h on one face of a beam of height h moves the neutral axis towards it by
// e = n h/(2 (1 + n)), and E I = E (h^3/12 + h e^2 + n h (h/2 - e)^2) is E h^3/12 (1 + 3 n/(1 + n)).
static inline void verify_skin(double n, int cells, double tolerance)
{
    double bare = verify_limit(cantilever(CANTILEVER_TET, cells, 0), cantilever(CANTILEVER_TET, 2 * cells, 0));
    double skin = verify_limit(cantilever(CANTILEVER_TET, cells, n), cantilever(CANTILEVER_TET, 2 * cells, n));
    double shear = cantilever_theory(1e30); // what is left of a beam that does not bend
    char name[128];
    snprintf(name, sizeof name, "beam with a skin of %g of its stiffness: EI/EI0", n);
    verify_relative(name, "1 + 3n/(1 + n)", 1 + 3 * n / (1 + n), (bare - shear) / (skin - shear), tolerance);
}
