// SPDX-License-Identifier: Apache-2.0
// Cases of the verification of actuators that run on coarse meshes in the short test and on finer ones in the long.
#pragma once
#include "actuators.h"
#include "verify.h"

#define PI 3.14159265358979323846

// ---------------------------------------------------------------- thick sphere under inner pressure

#define SPHERE_INNER 0.6
#define SPHERE_OUTER 1.0
#define SPHERE_YOUNG 1e5
#define SPHERE_NU    0.3

/// Lame: growth of the cavity for a pressure, small strain.
static inline double lame_growth(double p)
{
    double a3 = pow(SPHERE_INNER, 3), b3 = pow(SPHERE_OUTER, 3);
    double u = p * SPHERE_INNER / SPHERE_YOUNG * ((1 - 2 * SPHERE_NU) * a3 + (1 + SPHERE_NU) * b3 / 2) / (b3 - a3);
    return 4 * PI * SPHERE_INNER * SPHERE_INNER * u;
}

/// A hollow sphere with the cavity `air`: walls of its own mesh, or (finer > 0) a finer surface of its own.
static inline tdModel *sphere_model(const actBall *ball, int finer, const char *law, const char *drive,
                                    const char *more)
{
    char mesh[SCENE_PATH], surface[SCENE_PATH], walls[SCENE_PATH + 20];
    ball_files(ball, finer > 0 ? finer : ball->n, mesh, surface);
    snprintf(walls, sizeof walls, finer > 0 ? "surface: %s" : "group: inner", surface);
    tdModel *model =
        scene_model("tendril: 1\nintegrator: {method: static, tolerance: 1e-12}\nsolver: {type: cholesky}\n"
                    "bodies:\n  - name: ball\n    mesh: %s\n"
                    "    material: {law: %s, young: %g, poisson: %g}\n    fixed: [%s]\n"
                    "actuators: [{name: air, type: cavity, body: ball, %s, drive: %s}]\n%s",
                    mesh, law, SPHERE_YOUNG, SPHERE_NU, ball_support(ball->inner, ball->outer), walls, drive, more);
    unlink(mesh);
    unlink(surface);
    return model;
}

/// Growth of the cavity for a pressure of a millionth of Young's modulus, over Lame's.
static inline double sphere_growth(int n, bool tetrahedra, int finer)
{
    const actBall ball = {
        .n = n, .layers = n / 2, .inner = SPHERE_INNER, .outer = SPHERE_OUTER, .tetrahedra = tetrahedra};
    tdModel *model = sphere_model(&ball, finer, "linear", "pressure", "");
    tdState *state = scene_state(model);
    double p = 1e-6 * SPHERE_YOUNG;
    act_step(model, state, "air", p);
    double growth = act_of(model, state, "air").displacement / lame_growth(p);
    scene_free(model, state);
    return growth;
}

// ---------------------------------------------------------------- balloon of rubber

#define RUBBER_MU 4e4

/// Pressure in a thick sphere of incompressible neo-Hookean rubber whose inner radius has grown by a factor:
/// p = 2 mu [-1/x - 1/(4 x^4)] between the stretches of the outer and the inner wall.
static inline double rubber_pressure(double inner)
{
    double volume = pow(SPHERE_INNER, 3) * (pow(inner, 3) - 1);
    double outer = cbrt(pow(SPHERE_OUTER, 3) + volume) / SPHERE_OUTER;
    return RUBBER_MU * (2 / outer + 0.5 / pow(outer, 4) - 2 / inner - 0.5 / pow(inner, 4));
}

/// The same of hexahedra with mean dilatation, nu = 0.4999, driven by volume in steps.
static inline double balloon_pressure(int n, double inner, int steps)
{
    char mesh[SCENE_PATH], surface[SCENE_PATH];
    const actBall ball = {.n = n, .layers = n / 2, .inner = SPHERE_INNER, .outer = SPHERE_OUTER};
    ball_files(&ball, 2, mesh, surface);
    tdModel *model = scene_model("tendril: 1\nintegrator: {method: static}\nsolver: {type: cholesky}\n"
                                 "bodies:\n  - name: ball\n    mesh: %s\n    formulation: mean_dilatation\n"
                                 "    material: {law: neo_hookean, mu: %g, poisson: 0.4999}\n    fixed: [%s]\n"
                                 "actuators: [{name: air, type: cavity, body: ball, group: inner, drive: volume}]\n",
                                 mesh, RUBBER_MU, ball_support(ball.inner, ball.outer));
    unlink(mesh);
    unlink(surface);
    tdState *state = scene_state(model);
    double rest = model->actuators[0].rest_value;
    for (int k = 1; k <= steps; k++)
        act_step(model, state, "air", rest * (pow(inner, 3) - 1) * k / steps);
    double p = act_of(model, state, "air").effort;
    scene_free(model, state);
    return p;
}

// ---------------------------------------------------------------- work and stored energy

/// Drives an actuator by displacement along a path of n (even) equal increments and compares the work of its effort, by
/// Simpson's rule, with the elastic energy. Returns the relative difference.
static inline double work_and_energy(tdModel *model, const char *name, double most, int n, double *energy)
{
    tdState *state = scene_state(model);
    double work = 0, step = most / n, kinetic;
    for (int k = 1; k <= n; k++)
    {
        act_step(model, state, name, step * k);
        work += step / 3 * act_of(model, state, name).effort * (k == n ? 1 : k % 2 == 1 ? 4 : 2);
    }
    td_state_energy(model, state, &kinetic, energy);
    td_state_free(state);
    return work / *energy - 1;
}
