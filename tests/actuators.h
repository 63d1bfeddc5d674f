// SPDX-License-Identifier: Apache-2.0
// What the tests of actuators share: beams and hollow balls driven by hand, inputs set from step to step.
#pragma once
#include "scenes.h"

#include "constraint/constraint.h"
#include "mesh/mesh.h"

// ---------------------------------------------------------------- driving

static inline int act_index(const tdModel *model, const char *name)
{
    for (int a = 0; a < td_model_actuators(model); a++)
        if (strcmp(td_model_actuator(model, a).name, name) == 0)
            return a;
    fail_msg("no actuator '%s'", name);
    return -1;
}

static inline tdActuation act_of(const tdModel *model, const tdState *state, const char *name)
{
    return td_state_actuation(model, state, act_index(model, name));
}

/// Gives an input its value from now on.
static inline void act_set(const tdModel *model, tdState *state, const char *name, double value)
{
    int input = td_model_find_input(model, name);
    assert_true(input >= 0);
    assert_int_equal(td_state_set_input(model, state, input, value), TD_OK);
}

static inline void act_step(const tdModel *model, tdState *state, const char *name, double value)
{
    act_set(model, state, name, value);
    scene_steps(model, state, 1);
}

/// Steps until nothing moves any more: to `still` of the body's size in a second. Returns the number of steps.
static inline int act_settle(const tdModel *model, tdState *state, double still, int most)
{
    for (int k = 1; k <= most; k++)
    {
        scene_steps(model, state, 1);
        double fastest = 0;
        for (int64_t i = 0; i < model->coords; i++)
            fastest = fmax(fastest, fabs(state->v[i]));
        if (k > 3 && fastest <= still * model->size)
            return k;
    }
    fail_msg("still moving after %d steps", most);
    return most;
}

/// Largest difference of positions, relative to the size of the bodies.
static inline double act_distance(const tdModel *model, const double *a, const double *b)
{
    double most = 0;
    for (int64_t i = 0; i < model->coords; i++)
        most = fmax(most, fabs(a[i] - b[i]));
    return most / model->size;
}

static inline double *act_copy(const tdModel *model, const double *x)
{
    double *out = malloc((size_t)model->coords * sizeof *out);
    assert_non_null(out);
    memcpy(out, x, (size_t)model->coords * sizeof *out);
    return out;
}

// ---------------------------------------------------------------- scenes

/// A beam of 100 x 20 x 20 mm held at x = 0, of 100 kPa.
#define ACT_BEAM                                                                                                       \
    "bodies:\n  - name: beam\n    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [6, 2, 2]}\n"                     \
    "    material: {law: neo_hookean, young: 100 kPa, poisson: 0.4, density: 1000}\n"                                  \
    "    damping: {mass: 2, stiffness: 0.02}\n    fixed: [{group: xmin}]\n"

#define ACT_STATIC "tendril: 1\nintegrator: {method: static, tolerance: 1e-10}\nsolver: {type: cholesky}\n"

/// Along the upper side of the beam, pulled behind its root: it bends the beam upwards.
#define ACT_CABLE                                                                                                      \
    "type: cable, body: beam, path: [[0.1, 0.01, 0.018], [0.05, 0.01, 0.018]], pull_point: [-0.01, 0.01, 0.018]"

// ---------------------------------------------------------------- a hollow ball

typedef struct actBall
{
    int n;               ///< cells along each side of the six patches; even, so that the axes meet nodes
    int layers;          ///< across the wall
    double inner, outer; ///< radii
    bool tetrahedra;     ///< else hexahedra
} actBall;

static inline int32_t ball_node(tdMesh *mesh, const double p[3])
{
    for (int32_t i = 0; i < mesh->n_nodes; i++)
        if (fabs(mesh->x[3 * i] - p[0]) + fabs(mesh->x[3 * i + 1] - p[1]) + fabs(mesh->x[3 * i + 2] - p[2]) < 1e-9)
            return i;
    assert_true(td_mesh_add_node(mesh, p[0], p[1], p[2]));
    return (int32_t)mesh->n_nodes - 1;
}

/// The unit sphere as 6 n^2 quadrilaterals that face outwards: a cube's sides with equal angles, blown up.
static inline tdMesh ball_sphere(int n)
{
    tdMesh mesh = {0};
    for (int side = 0; side < 6; side++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++)
            {
                int32_t quad[4];
                for (int k = 0; k < 4; k++)
                {
                    double u = tan(atan(1) * (2.0 * (i + (k == 1 || k == 2)) / n - 1));
                    double v = tan(atan(1) * (2.0 * (j + (k > 1)) / n - 1));
                    double sign = side < 3 ? 1 : -1, p[3], size = sqrt(1 + u * u + v * v);
                    p[side % 3] = sign / size;
                    p[(side + 1) % 3] = sign * u / size; // mirrored patches keep their sense when one axis is
                    p[(side + 2) % 3] = v / size;
                    quad[k] = ball_node(&mesh, p);
                }
                assert_true(td_mesh_add_cell(&mesh, TD_CELL_QUAD, quad));
            }
    return mesh;
}

// Three tetrahedra of the prism between triangle t at the inner and at the outer end. Every side is cut from its
// lowest-numbered node, so that neighbours agree.
static inline void ball_prism(tdMesh *mesh, const int32_t *t, int32_t shift)
{
    int32_t s[3] = {t[0], t[1], t[2]};
    bool odd = false;
    for (int pass = 0; pass < 3; pass++)
        for (int k = 0; k < 2; k++)
            if (s[k] > s[k + 1])
            {
                int32_t swap = s[k];
                s[k] = s[k + 1];
                s[k + 1] = swap;
                odd = !odd;
            }
    for (int k = 0; k < 3; k++)
    {
        int32_t n[4];
        int m = 0;
        for (int a = 0; a < 3 - k; a++)
            n[m++] = s[a];
        for (int a = 2 - k; a < 3; a++)
            n[m++] = s[a] + shift;
        if (odd != (k == 1))
        {
            int32_t swap = n[2];
            n[2] = n[3];
            n[3] = swap;
        }
        assert_true(td_mesh_add_cell(mesh, TD_CELL_TET, n));
    }
}

/// The wall with the group `inner` of its inner faces.
static inline tdMesh ball_mesh(const actBall *ball)
{
    tdMesh sphere = ball_sphere(ball->n), mesh = {0};
    int32_t shift = (int32_t)sphere.n_nodes;
    for (int l = 0; l <= ball->layers; l++)
    {
        double r = ball->inner * pow(ball->outer / ball->inner, (double)l / ball->layers);
        for (int64_t i = 0; i < sphere.n_nodes; i++)
            assert_true(td_mesh_add_node(&mesh, r * sphere.x[3 * i], r * sphere.x[3 * i + 1], r * sphere.x[3 * i + 2]));
    }
    int group = td_mesh_group(&mesh, "inner", 2, 0);
    for (int64_t c = 0; c < sphere.cells[TD_CELL_QUAD].count; c++)
    {
        const int32_t *q = sphere.cells[TD_CELL_QUAD].nodes + 4 * c;
        int least = 0; // tetrahedra: cut where the library cuts quadrilaterals
        for (int k = 1; k < 4; k++)
            least = q[k] < q[least] ? k : least;
        const int32_t a = q[least], b = q[(least + 1) % 4], d = q[(least + 2) % 4], e = q[(least + 3) % 4];
        for (int l = 0; l < ball->layers; l++)
        {
            int32_t o = l * shift;
            if (ball->tetrahedra)
            {
                ball_prism(&mesh, (int32_t[]){a + o, b + o, d + o}, shift);
                ball_prism(&mesh, (int32_t[]){a + o, d + o, e + o}, shift);
                continue;
            }
            int32_t hex[8];
            for (int k = 0; k < 8; k++)
                hex[k] = q[k % 4] + o + (k > 3 ? shift : 0);
            assert_true(td_mesh_add_cell(&mesh, TD_CELL_HEX, hex));
        }
        if (ball->tetrahedra)
        {
            assert_true(td_mesh_add_cell(&mesh, TD_CELL_TRI, (int32_t[]){a, b, d}));
            assert_true(td_mesh_add_cell(&mesh, TD_CELL_TRI, (int32_t[]){a, d, e}));
            assert_true(td_mesh_group_add(&mesh, group, TD_CELL_TRI, 2 * c));
            assert_true(td_mesh_group_add(&mesh, group, TD_CELL_TRI, 2 * c + 1));
        }
        else
        {
            assert_true(td_mesh_add_cell(&mesh, TD_CELL_QUAD, q));
            assert_true(td_mesh_group_add(&mesh, group, TD_CELL_QUAD, c));
        }
    }
    td_mesh_free(&sphere);
    return mesh;
}

static inline void ball_save(tdMesh *mesh, const char *path)
{
    tdError error = {0};
    assert_ok(td_mesh_write(mesh, path, TD_MESH_UNKNOWN, TD_MESH_BINARY, &error), error);
    td_mesh_free(mesh);
}

/// Writes the ball as a mesh and, as a surface of its own, a finer sphere on its inner wall: `mesh`, `surface` are the
/// paths, of SCENE_PATH characters. Removed when the test ends.
static inline void ball_files(const actBall *ball, int finer, char *mesh, char *surface)
{
    snprintf(mesh, SCENE_PATH, TD_BUILD_DIR "/ball_%d.msh", (int)getpid());
    snprintf(surface, SCENE_PATH, TD_BUILD_DIR "/ball_%d.stl", (int)getpid());
    tdMesh body = ball_mesh(ball), wall = ball_sphere(finer), tris = {0};
    for (int64_t i = 0; i < wall.n_nodes; i++)
        assert_true(td_mesh_add_node(&tris, ball->inner * wall.x[3 * i], ball->inner * wall.x[3 * i + 1],
                                     ball->inner * wall.x[3 * i + 2]));
    for (int64_t c = 0; c < wall.cells[TD_CELL_QUAD].count; c++)
    {
        const int32_t *q = wall.cells[TD_CELL_QUAD].nodes + 4 * c;
        int least = 0;
        for (int k = 1; k < 4; k++)
            least = q[k] < q[least] ? k : least;
        for (int t = 1; t < 3; t++)
            assert_true(td_mesh_add_cell(&tris, TD_CELL_TRI,
                                         (int32_t[]){q[least], q[(least + t) % 4], q[(least + t + 1) % 4]}));
    }
    td_mesh_free(&wall);
    ball_save(&body, mesh);
    ball_save(&tris, surface);
}

/// Holds a ball about the origin against rigid motion where symmetry holds it anyway: nodes on the axes, across them.
static inline const char *ball_support(double inner, double outer)
{
    static char text[2000];
    int at = 0;
    for (int axis = 0; axis < 3; axis++)
        for (int sign = -1; sign <= 1; sign += 2)
        {
            double low[3], high[3];
            for (int c = 0; c < 3; c++)
            {
                low[c] = c == axis ? (sign < 0 ? -1.01 * outer : 0.99 * inner) : -1e-9 * outer;
                high[c] = c == axis ? (sign < 0 ? -0.99 * inner : 1.01 * outer) : 1e-9 * outer;
            }
            at += snprintf(text + at, sizeof text - (size_t)at,
                           "%s{box: [[%.12g, %.12g, %.12g], [%.12g, %.12g, %.12g]], axes: %s}", at > 0 ? ", " : "",
                           low[0], low[1], low[2], high[0], high[1], high[2],
                           axis == 0   ? "yz"
                           : axis == 1 ? "xz"
                                       : "xy");
        }
    return text;
}

// ---------------------------------------------------------------- one of every kind

/// Three bodies with actuators of every kind and drive, moved by a motion of 0.2 s: a ball with gas, a cable with
/// friction and a force on its surface, a beam on two cables whose end is moved, a beam whose end is turned, and a
/// cable between two bodies. `by_effort`: ends are moved and turned by force and torque (backward Euler and static
/// only).
static inline tdModel *act_robot(const char *integrator, const char *solver, bool by_effort)
{
    char mesh[SCENE_PATH], surface[SCENE_PATH];
    const actBall ball = {.n = 2, .layers = 1, .inner = 0.06, .outer = 0.1, .tetrahedra = true};
    ball_files(&ball, 2, mesh, surface);
    const char *material = "{law: neo_hookean, young: 100 kPa, poisson: 0.3, density: 1000}";
    tdModel *model = scene_model(
        "tendril: 1\ntime_step: 10 ms\nsteps: 20\nintegrator: {%s}\nsolver: {type: %s}\nbodies:\n"
        "  - {name: ball, mesh: %s, material: %s, damping: {stiffness: 5 ms}, fixed: [{box: [[-1, -1, -1], [1, 1, "
        "-0.05]]}]}\n"
        "  - {name: beam, mesh: {box: [[0.3, 0, 0], [0.4, 0.02, 0.02]], cells: [6, 2, 2]}, material: %s,\n"
        "     damping: {stiffness: 5 ms}, fixed: [{group: xmin}]}\n"
        "  - {name: stick, mesh: {box: [[0, 0.3, 0], [0.1, 0.32, 0.02]], cells: [4, 1, 1]}, material: %s,\n"
        "     damping: {stiffness: 5 ms}, fixed: [{group: xmin}]}\n"
        "actuators:\n"
        "  - {name: air, type: cavity, body: ball, group: inner, drive: gas}\n"
        "  - {name: walls, type: cavity, body: ball, surface: %s, drive: pressure}\n"
        "  - {name: bent, type: cable, body: ball, path: [[0.08, 0, 0], [0, 0.08, 0], [0, 0.02, 0.08]],\n"
        "     pull_point: [0, 0, 0.2], drive: displacement, friction: 0.2, stiffness: 500}\n"
        "  - {name: push, type: force, body: ball, box: [[-1, -1, 0.05], [1, 1, 1]], direction: [1, 0, -1], drive: "
        "force}\n"
        "  - {name: upper, type: cable, body: beam, path: [[0.39, 0.01, 0.018], [0.35, 0.01, 0.018]],\n"
        "     pull_point: [0.29, 0.01, 0.018], drive: displacement, effort_range: [0, 2]}\n"
        "  - {name: rope, type: cable, body: beam, path: [[0.36, 0, 0.01]], pull_point: [0.05, 0.3, 0.01],\n"
        "     pull_body: stick, drive: force, displacement_range: [-1, 1]}\n"
        "  - {name: end, type: translation, body: beam, group: xmax, direction: [0, 1, 0], drive: %s}\n"
        "  - {name: twist, type: rotation, body: stick, group: xmax, axis: [1, 0, 0], center: [0, 0.31, 0.01],\n"
        "     drive: %s}\n"
        "probes: [{name: tip, body: beam, group: xmax}]\n"
        "motion:\n  keyframes:\n"
        "    - {t: 0, air: 0, walls: 0, bent: 0, push: 0, upper: 0, rope: 0, end: 0, twist: 0}\n"
        "    - {t: 0.2, air: 1e-4, walls: 500, bent: 2 mm, push: 0.5, upper: 4 mm, rope: 0.3, end: %s, twist: %s}\n",
        integrator, solver, mesh, material, material, material, surface, by_effort ? "force" : "displacement",
        by_effort ? "torque" : "angle", by_effort ? "0.1 N" : "5 mm", by_effort ? "2 N mm" : "0.2 rad");
    unlink(mesh);
    unlink(surface);
    return model;
}
