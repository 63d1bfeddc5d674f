// SPDX-License-Identifier: Apache-2.0
// Cantilevers against beam theory: small deflection, the elastica, frequencies.
//
// Poisson's ratio is 0, so that a clamped end does not stiffen the beam and a strip held in its plane
// bends like a free one. Linear tetrahedra are too stiff in bending by an amount that falls with the square
// of the cell size, so each figure is taken on meshes halved each time, and the limit is extrapolated.
#pragma once
#include "verify.h"

#define BEAM_YOUNG   1e6    // [Pa]
#define BEAM_DENSITY 1000.0 // [kg/m^3]

/// A beam along x, bending in z.
typedef struct verifyBeam
{
    const char *law;
    double length, width, height;
    bool plane; ///< held in its plane, one cell wide
    int n;      ///< cells over the height, as long as high
} verifyBeam;

static inline double beam_inertia(const verifyBeam *b)
{
    return b->width * b->height * b->height * b->height / 12;
}

/// `head` and `tail` are lines of the scene before and after the body.
static inline tdModel *beam_model(const verifyBeam *b, const char *head, const char *tail)
{
    int along = (int)lround(b->length / b->height * b->n);
    int across = b->plane ? 1 : (int)lround(b->width / b->height * b->n);
    return verify_model("tendril: 1\n"
                        "solver: {tolerance: 1e-11}\n"
                        "%s"
                        "bodies:\n"
                        "  - name: beam\n"
                        "    mesh: {box: [[0, 0, 0], [%.17g, %.17g, %.17g]], cells: [%d, %d, %d]}\n"
                        "    material: {law: %s, young: %g, poisson: 0, density: %g}\n"
                        "    fixed: [{group: xmin}%s]\n"
                        "probes: [{name: tip, body: beam, group: xmax}]\n"
                        "%s",
                        head, b->length, b->width, b->height, along, across, b->n, b->law, BEAM_YOUNG, BEAM_DENSITY,
                        b->plane ? ", {all: true, axes: y}" : "", tail);
}

// ---------------------------------------------------------------- small deflection

/// Tip deflection [m] under the tip load P, linear.
static inline double beam_deflection(const verifyBeam *b, double P)
{
    char tail[256];
    snprintf(tail, sizeof tail, "loads: [{type: surface, body: beam, group: xmax, force: [0, 0, %.17g]}]\n", -P);
    tdModel *model = beam_model(b, "integrator: {method: static}\n", tail);
    tdState *state = verify_state(model);
    verify_step(model, state);
    double tip[3];
    td_state_probe(model, state, 0, tip);
    td_state_free(state);
    td_model_free(model);
    return b->height / 2 - tip[2];
}

// ---------------------------------------------------------------- elastica

#define ELASTICA_LOADS 4
// a = P L^2 / (E I), deflection and shortening of the tip over the length (Mattiasson 1981).
static const double elastica_a[ELASTICA_LOADS] = {1, 2, 5, 10};
static const double elastica_down[ELASTICA_LOADS] = {0.30172, 0.49346, 0.71379, 0.81061};
static const double elastica_short[ELASTICA_LOADS] = {0.05643, 0.16064, 0.38763, 0.55500};

// The elastica itself, by shooting: with the slope angle t(s) of a beam of length 1,
//     t'' = -a cos t,   t(0) = 0,   t'(1) = 0;   deflection = int sin t, shortening = 1 - int cos t.
// path (may be NULL): reach and depth at ELASTICA_POINTS + 1 equal arcs.
#define ELASTICA_POINTS 40
static inline double elastica_shoot(double a, double slope, double *down, double *shorter, double (*path)[2])
{
    const int steps = 10 * ELASTICA_POINTS;
    const double h = 1.0 / steps;
    double y[4] = {0, slope, 0, 0}; // t, t', depth, reach
    for (int k = 0; k < steps; k++)
    {
        if (path != NULL && k % 10 == 0)
            memcpy(path[k / 10], (double[]){y[3], y[2]}, sizeof path[0]);
        double rate[4][4], sum[4];
        for (int stage = 0; stage < 4; stage++)
        {
            double at[4], part = stage == 0 ? 0 : stage == 3 ? h : h / 2;
            for (int c = 0; c < 4; c++)
                at[c] = y[c] + (stage == 0 ? 0 : part * rate[stage - 1][c]);
            rate[stage][0] = at[1];
            rate[stage][1] = -a * cos(at[0]);
            rate[stage][2] = sin(at[0]);
            rate[stage][3] = cos(at[0]);
        }
        for (int c = 0; c < 4; c++)
        {
            sum[c] = rate[0][c] + 2 * rate[1][c] + 2 * rate[2][c] + rate[3][c];
            y[c] += h / 6 * sum[c];
        }
    }
    if (path != NULL)
        memcpy(path[ELASTICA_POINTS], (double[]){y[3], y[2]}, sizeof path[0]);
    *down = y[2];
    *shorter = 1 - y[3];
    return y[1];
}

static inline void elastica(double a, double *down, double *shorter, double (*path)[2])
{
    double low = 0, high = a; // a straight beam needs t'(0) = a, a bent one less
    for (int k = 0; k < 50; k++)
    {
        double middle = 0.5 * (low + high);
        *(elastica_shoot(a, middle, down, shorter, path) < 0 ? &low : &high) = middle;
    }
}

/// Results over the length of the beam.
typedef struct elasticaResult
{
    double tip[2][ELASTICA_LOADS];                       ///< deflections, shortenings
    double path[ELASTICA_LOADS][ELASTICA_POINTS + 1][2]; ///< reach and depth of the axis at equal arcs
} elasticaResult;

// The axis is the line of nodes at half the height; cells over the height and the points must divide evenly.
static inline void beam_path(const verifyBeam *b, const double *q, double (*path)[2])
{
    int64_t along = lround(b->length / b->height * b->n), row = along + 1;
    assert_true(b->n % 2 == 0 && along % ELASTICA_POINTS == 0);
    for (int k = 0; k <= ELASTICA_POINTS; k++)
    {
        const double *x = q + 3 * (k * along / ELASTICA_POINTS + 2 * row * (b->n / 2)); // two rows a layer
        path[k][0] = x[0] / b->length;
        path[k][1] = (b->height / 2 - x[2]) / b->length;
    }
}

/// Deforms the beam by each of the loads.
static inline void beam_elastica(const verifyBeam *b, elasticaResult *out)
{
    char tail[512];
    double P = 10 * BEAM_YOUNG * beam_inertia(b) / (b->length * b->length);
    snprintf(tail, sizeof tail,
             "loads: [{name: tip, type: surface, body: beam, group: xmax, force: [0, 0, %.17g]}]\n"
             "motion: {keyframes: [{t: 0, tip: 0}, {t: 1, tip: 0.1}, {t: 2, tip: 0.2}, {t: 3, tip: 0.5}, "
             "{t: 4, tip: 1}]}\n",
             -P);
    tdModel *model =
        beam_model(b, "steps: 4\nintegrator: {method: static, tolerance: 1e-8, max_iterations: 60}\n", tail);
    tdState *state = verify_state(model);
    for (int k = 0; k < ELASTICA_LOADS; k++)
    {
        verify_step(model, state);
        double tip[3];
        td_state_probe(model, state, 0, tip);
        out->tip[0][k] = (b->height / 2 - tip[2]) / b->length;
        out->tip[1][k] = 1 - tip[0] / b->length;
        beam_path(b, td_state_positions(model, state, 0), out->path[k]);
    }
    td_state_free(state);
    td_model_free(model);
}

// ---------------------------------------------------------------- frequencies

// First frequency of a fixed-free bar, axial [Hz].
static inline double bar_frequency(const verifyBeam *b)
{
    return sqrt(BEAM_YOUNG / BEAM_DENSITY) / (4 * b->length);
}

// Euler-Bernoulli, first bending frequency of a cantilever [Hz].
#define BEAM_ROOT 1.875104068711961 // cos k cosh k = -1
static inline double euler_frequency(const verifyBeam *b)
{
    double area = b->width * b->height, l2 = b->length * b->length;
    return BEAM_ROOT * BEAM_ROOT / (2 * M_PI * l2) * sqrt(BEAM_YOUNG * beam_inertia(b) / (BEAM_DENSITY * area));
}

// Characteristic function of a Timoshenko cantilever (Huang 1961), p^2 = rho A L^4 w^2 / (E I).
static inline double timoshenko_function(double p, double r2, double s2)
{
    double root = sqrt((r2 - s2) * (r2 - s2) + 4 / (p * p));
    double alpha = sqrt((root - (r2 + s2)) / 2), beta = sqrt((root + (r2 + s2)) / 2);
    return 2 + (p * p * (r2 - s2) * (r2 - s2) + 2) * cosh(p * alpha) * cos(p * beta) -
           p * (r2 + s2) / sqrt(1 - p * p * r2 * s2) * sinh(p * alpha) * sin(p * beta);
}

static inline double timoshenko_frequency(const verifyBeam *b)
{
    double r2 = b->height * b->height / (12 * b->length * b->length); // I / (A L^2)
    double s2 = r2 * 2 / (5.0 / 6);                                   // E I / (kappa G A L^2), G = E / 2
    double low = 0.5 * BEAM_ROOT * BEAM_ROOT, high = BEAM_ROOT * BEAM_ROOT;
    for (int k = 0; k < 60; k++)
    {
        double middle = 0.5 * (low + high);
        // Positive at 0 (where it is 4) and until the first root.
        *(timoshenko_function(middle, r2, s2) > 0 ? &low : &high) = middle;
    }
    return euler_frequency(b) * low / (BEAM_ROOT * BEAM_ROOT);
}

// Puts the nodes into the first mode of beam theory: u = sin(pi x / 2 L), or w and sections that turn with it.
static inline void beam_mode(const verifyBeam *b, bool axial, double amplitude, double *q)
{
    const double k = BEAM_ROOT / b->length;
    const double c = (cos(BEAM_ROOT) + cosh(BEAM_ROOT)) / (sin(BEAM_ROOT) + sinh(BEAM_ROOT));
    double x = q[0], z = q[2] - b->height / 2;
    if (axial)
    {
        q[0] += amplitude * sin(M_PI * x / (2 * b->length));
        return;
    }
    double w = cosh(k * x) - cos(k * x) - c * (sinh(k * x) - sin(k * x));
    double slope = k * (sinh(k * x) + sin(k * x) - c * (cosh(k * x) - cos(k * x)));
    q[2] += amplitude * 0.5 * w;
    q[0] -= amplitude * 0.5 * slope * z;
}

/// Frequency [Hz] of the free swing from the first mode, by the times at which the tip passes its rest
/// position. A period of the `guess` is cut into
/// `pace` steps, for which Newmark's rule is low by (2 pi / pace)^2 / 12: 0.03 % at 100, 0.008 % at 200.
static inline double beam_frequency(const verifyBeam *b, bool axial, double guess, int periods, int pace)
{
    char head[256];
    snprintf(head, sizeof head, "time_step: %.17g\nsteps: %d\nintegrator: {method: newmark}\n", 1 / (pace * guess),
             pace * periods);
    tdModel *model = beam_model(b, head, "");
    tdState *state = verify_state(model);
    for (int64_t i = 0; i < model->coords; i += 3)
        beam_mode(b, axial, 1e-3 * b->length, state->q + i);
    double rest = axial ? b->length : b->height / 2, last = 0, first_time = 0, last_time = 0;
    int passes = 0;
    for (int k = 0; k < td_model_steps(model); k++)
    {
        double tip[3];
        verify_step(model, state);
        td_state_probe(model, state, 0, tip);
        double now = tip[axial ? 0 : 2] - rest, h = td_model_time_step(model);
        if (k > 0 && (now > 0) != (last > 0))
        {
            last_time = td_state_time(state) - h * now / (now - last);
            if (passes++ == 0)
                first_time = last_time;
        }
        last = now;
    }
    td_state_free(state);
    td_model_free(model);
    assert_true(passes >= 3);
    return (passes - 1) / (2 * (last_time - first_time));
}

// ---------------------------------------------------------------- the cases, on meshes of n and 2 n cells

/// Tip deflection by Timoshenko: P L^3 / 3 E I + P L / (kappa G A), G = E / 2.
static inline double timoshenko_deflection(const verifyBeam *b, double P)
{
    double l = b->length;
    return P * l * l * l / (3 * BEAM_YOUNG * beam_inertia(b)) +
           P * l / (5.0 / 6 * BEAM_YOUNG / 2 * b->width * b->height);
}

/// What a coarse strip gives: n cells over the height.
static inline void verify_coarse(int n, double tolerance)
{
    verifyBeam b = {"linear", 1, 0.1, 0.1, true, n};
    char name[128];
    snprintf(name, sizeof name, "cantilever, strip, deflection [m], %d cells high", n);
    verify_relative(name, "Timoshenko, PL³/3EI + PL/κGA", timoshenko_deflection(&b, 1), beam_deflection(&b, 1),
                    tolerance);
}

/// Deflection of a beam of length 10 heights. `finest`, `limit`: tolerances.
static inline void verify_deflection(bool plane, int n, double finest, double limit)
{
    const char *reference = "Timoshenko, PL³/3EI + PL/κGA";
    verifyBeam b = {"linear", 1, 0.1, 0.1, plane, n};
    double P = 1, expected = timoshenko_deflection(&b, P), coarse = beam_deflection(&b, P);
    b.n = 2 * n;
    double fine = beam_deflection(&b, P);
    const char *shape = plane ? "strip" : "square section";
    char name[128];
    snprintf(name, sizeof name, "cantilever, %s, deflection [m], %d cells high", shape, 2 * n);
    verify_relative(name, reference, expected, fine, finest);
    snprintf(name, sizeof name, "cantilever, %s, deflection [m], limit of %d and %d cells", shape, n, 2 * n);
    verify_relative(name, reference, expected, verify_limit(coarse, fine), limit);
}

/// The elastica by a strip of the given slenderness, limit of the meshes. fine: result on the finer one.
static inline void verify_elastica(const char *law, double slender, int n, double tolerance, elasticaResult *fine)
{
    verifyBeam b = {law, 1, 0.1, 1 / slender, true, n};
    elasticaResult coarse;
    beam_elastica(&b, &coarse);
    b.n = 2 * n;
    beam_elastica(&b, fine);
    for (int k = 0; k < ELASTICA_LOADS; k++)
        for (int way = 0; way < 2; way++)
        {
            char name[128];
            snprintf(name, sizeof name, "elastica, %s, PL²/EI = %g, %s / L, limit of %d and %d cells", law,
                     elastica_a[k], way == 0 ? "deflection" : "shortening", n, 2 * n);
            verify_relative(name, "Mattiasson 1981", way == 0 ? elastica_down[k] : elastica_short[k],
                            verify_limit(coarse.tip[way][k], fine->tip[way][k]), tolerance);
        }
}

/// Axial frequency of a bar with n cells over the height, 10 n along.
static inline void verify_bar(int n, double tolerance)
{
    verifyBeam b = {"linear", 1, 0.1, 0.1, false, n};
    double expected = bar_frequency(&b);
    char name[128];
    snprintf(name, sizeof name, "bar, first axial frequency [Hz], %d cells along", 10 * n);
    verify_relative(name, "√(E/ρ) / 4L", expected, beam_frequency(&b, true, expected, 4, 200), tolerance);
}

/// Bending frequency of a strip of length 20 heights.
static inline void verify_swing(int n, int pace, double finest, double limit)
{
    verifyBeam b = {"linear", 1, 0.05, 0.05, true, n};
    double expected = timoshenko_frequency(&b), coarse = beam_frequency(&b, false, expected, 2, pace);
    b.n = 2 * n;
    double fine = beam_frequency(&b, false, expected, 2, pace);
    char name[128];
    snprintf(name, sizeof name, "cantilever, first bending frequency [Hz], %d cells high", 2 * n);
    verify_relative(name, "Timoshenko (Huang 1961)", expected, fine, finest);
    snprintf(name, sizeof name, "cantilever, first bending frequency [Hz], limit of %d and %d cells", n, 2 * n);
    verify_relative(name, "Timoshenko (Huang 1961)", expected, verify_limit(coarse, fine), limit);
    // Shear and rotary inertia, which this leaves out, are 0.16 %.
    verify_relative(name, "Euler-Bernoulli", euler_frequency(&b), verify_limit(coarse, fine), limit + 0.002);
}
