// SPDX-License-Identifier: Apache-2.0
// What the short and the long tests of contact physics share: shipped scenes, a ball for Hertz, rings, and the laws of
// contact checked from what td_state_contacts and positions tell, without the solver.
#pragma once
#include "scenes.h"
#include "verify/verify_calculix.h"
#include "verify/verify_mesh.h"

#include "collide/geometry.h"

#define CONTACT_SCENES TD_SOURCE_DIR "/scenes/contact"

static inline tdModel *contact_scene(const char *file)
{
    char path[1024];
    tdModel *model = NULL;
    tdError error = {0};
    snprintf(path, sizeof path, CONTACT_SCENES "/%s", file);
    tdSettings settings = td_default_settings();
    settings.threads = 1;
    assert_ok(td_model_load(path, &settings, &model, &error), error);
    return model;
}

static inline void mean_position(const tdModel *model, const tdState *state, int body, double out[3])
{
    const double *x = td_state_positions(model, state, body);
    int n = td_model_body_nodes(model, body);
    out[0] = out[1] = out[2] = 0;
    for (int i = 0; i < 3 * n; i++)
        out[i % 3] += x[i] / n;
}

// ---------------------------------------------------------------- Hertz

#define HERTZ_RADIUS  0.1
#define HERTZ_WAY     1e-4 // the contact's radius is 3 % of the ball's: its finite size takes off 1.6 %
#define HERTZ_YOUNG   1e6
#define HERTZ_POISSON 0.3

/// Force on a ball that is pressed onto a rigid plane, from its lower half by symmetry: equator to plane. A quarter of
/// it, n cells along each edge, those at the pole `finest` times the radius of the contact.
static inline double hertz_force(int n, double finest, int *touching)
{
    char folder[256];
    tdMesh mesh = {0};
    tdError error = {0};
    double contact = sqrt(HERTZ_WAY / HERTZ_RADIUS), low = 1, high = 10;
    for (int k = 0; k < 100; k++) // ratio of neighbouring cells: their sum is 1
    {
        double ratio = 0.5 * (low + high), sum = finest * contact * (pow(ratio, n) - 1) / (ratio - 1);
        *(sum > 1 ? &high : &low) = ratio;
    }
    assert_ok(td_mesh_box((double[]){0, 0, 0}, (double[]){1, 1, 1}, (int[]){n, n, n}, true, &mesh, &error), error);
    for (int64_t i = 0; i < mesh.n_nodes; i++)
    {
        double *x = mesh.x + 3 * i, most = 0, square = 0;
        for (int k = 0; k < 3; k++)
            x[k] = (pow(low, n * x[k]) - 1) / (pow(low, n) - 1);
        x[2] -= 1;
        for (int k = 0; k < 3; k++)
        {
            most = fmax(most, fabs(x[k]));
            square += x[k] * x[k];
        }
        for (int k = 0; k < 3 && square > 0; k++) // the cube becomes a ball
            x[k] *= HERTZ_RADIUS * most / sqrt(square);
        x[2] += HERTZ_RADIUS;
    }
    make_folder(folder);
    mesh_save(&mesh, folder, "ball.msh");
    tdModel *model = scene_model(
        "tendril: 1\ntime_step: 1 s\nsteps: 6\ngravity: [0, 0, 0]\ncontact: {friction: 0, margin: 0.2 mm}\nbodies:\n"
        "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
        "  - name: ball\n    mesh: %s/ball.msh\n"
        "    material: {law: corotational_lagged, young: %g, poisson: %g, density: 1000}\n"
        "    fixed: [{plane: {point: [0, 0, 0], normal: [1, 0, 0]}, axes: x},\n"
        "            {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, axes: y}]\n"
        "    prescribed: [{name: way, plane: {point: [0, 0, %g], normal: [0, 0, 1]}, axes: z,\n"
        "                  displacement: [0, 0, %g]}]\n"
        "motion: {keyframes: [{t: 0, way: 0}, {t: 3, way: 1}]}\n",
        folder, HERTZ_YOUNG, HERTZ_POISSON, HERTZ_RADIUS, -HERTZ_WAY);
    tdState *state = scene_state(model);
    scene_steps(model, state, 6);
    double force[3];
    td_state_contact_force(state, 0, 1, force);
    *touching = td_state_report(state)->contacts_active;
    scene_free(model, state);
    remove_folder(folder);
    return 4 * force[2];
}

static inline double hertz_theory(void)
{
    return 4.0 / 3 * HERTZ_YOUNG / (1 - HERTZ_POISSON * HERTZ_POISSON) * sqrt(HERTZ_RADIUS) * pow(HERTZ_WAY, 1.5);
}

// ---------------------------------------------------------------- a ring, whole and in halves

/// Sector [from, to] of a ring like that of scenes/contact/cring, n cells along it. It grows wider and thinner along
/// the way, so that corners of one end meet the face of the other, not its edges, where a choice would be left.
static inline void ring_mesh(const char *folder, const char *file, double from, double to, int n)
{
    tdMesh mesh = {0};
    tdError error = {0};
    // x along the radius, y along the angle: right-handed
    assert_ok(td_mesh_box((double[]){0.03, from, 0}, (double[]){0.04, to, 0.01}, (int[]){2, n, 2}, true, &mesh, &error),
              error);
    for (int64_t i = 0; i < mesh.n_nodes; i++)
    {
        double *x = mesh.x + 3 * i, a = x[1], along = (a - 0.3) / (2 * M_PI - 0.6), r = x[0] + 0.004 * along;
        x[0] = r * cos(a);
        x[1] = r * sin(a);
        x[2] = 0.005 + (x[2] - 0.005) * (1 - 0.2 * along);
    }
    mesh_save(&mesh, folder, file);
}

// ---------------------------------------------------------------- laws, without the solver

/// Largest violations in the last step of what must hold for every point, relative to its normal force or slip.
typedef struct contactLaws
{
    double pull;    ///< normal force towards the other body
    double cone;    ///< |f_t| / (mu f_n) - 1
    double against; ///< 1 + cosine of the angle between friction and slip, of points that slide
    int points, sticking, sliding;
} contactLaws;

/// Points whose friction is below this share of the cone stick: there friction is -slip / R_t with some R_t > 0.
#define CONTACT_STICKS 0.999

static inline void check_laws(const tdState *state, double mu, contactLaws *laws)
{
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(state, &points);
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(td_dot3(points[i].force, points[i].normal)));
    for (int64_t i = 0; i < n; i++)
    {
        const tdContactPoint *p = &points[i];
        double normal = td_dot3(p->force, p->normal), along[3], slip = sqrt(td_dot3(p->slip, p->slip));
        if (normal <= 1e-5 * largest)
        {
            laws->pull = fmax(laws->pull, -normal / largest);
            continue;
        }
        for (int k = 0; k < 3; k++)
            along[k] = p->force[k] - normal * p->normal[k];
        double friction = sqrt(td_dot3(along, along));
        laws->points++;
        laws->cone = fmax(laws->cone, friction / (mu * normal) - 1);
        bool sticks = friction < CONTACT_STICKS * mu * normal;
        laws->sticking += sticks;
        laws->sliding += !sticks;
        if (slip > 0 && friction > 1e-6 * normal)
            laws->against = fmax(laws->against, 1 + td_dot3(along, p->slip) / (friction * slip));
    }
}

/// Momentum of a soft body of tetrahedra [N s], from masses that are summed up here.
static inline void momentum_of(const tdModel *model, const tdState *state, int body, double density, double out[3],
                               double *mass)
{
    const tdMesh *mesh = &model->bodies[body].soft->mesh;
    const double *v = td_state_velocities(model, state, body), *X = mesh->x;
    const tdCells *tets = &mesh->cells[TD_CELL_TET];
    memset(out, 0, 3 * sizeof *out);
    *mass = 0;
    for (int64_t t = 0; t < tets->count; t++)
    {
        const int32_t *c = tets->nodes + 4 * t;
        double e[3][3];
        for (int k = 0; k < 3; k++)
            td_subtract3(X + 3 * c[k + 1], X + 3 * c[0], e[k]);
        double m = density * td_triple3(e[0], e[1], e[2]) / 6;
        *mass += m;
        for (int k = 0; k < 4; k++)
            for (int a = 0; a < 3; a++)
                out[a] += 0.25 * m * v[3 * c[k] + a];
    }
}

/// Largest error of m dv/dt = m g + contact forces over the soft bodies of a scene in one step, relative to the weight.
static inline double balance_error(const tdModel *model, tdState *state, int first, double density)
{
    int bodies = td_model_bodies(model);
    double(*before)[3] = calloc((size_t)bodies, sizeof *before), mass, worst = 0, h = td_model_time_step(model);
    assert_non_null(before);
    for (int b = first; b < bodies; b++)
        momentum_of(model, state, b, density, before[b], &mass);
    scene_steps(model, state, 1);
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(state, &points);
    for (int b = first; b < bodies; b++)
    {
        double after[3], force[3] = {0}, size = 0;
        momentum_of(model, state, b, density, after, &mass);
        for (int64_t i = 0; i < n; i++)
        {
            double sign = points[i].body[1] == b ? 1 : points[i].body[0] == b ? -1 : 0;
            for (int k = 0; k < 3; k++)
                force[k] += sign * points[i].force[k];
            size += fabs(sign) * td_length3(points[i].force);
        }
        size = fmax(size, mass * 9.81);
        for (int k = 0; k < 3; k++)
        {
            double gain = (after[k] - before[b][k]) / h - force[k] + (k == 2 ? mass * 9.81 : 0);
            worst = fmax(worst, fabs(gain) / size);
        }
    }
    free(before);
    return worst;
}

// ---------------------------------------------------------------- convergence of all scenes

/// Runs a scene for so many steps at most; returns the steps whose contact problem did not reach the tolerance. Those
/// that ended at round-off, above it but with a residual below 1e-3, are counted apart.
static inline int steps_not_converged(const char *file, int most, int *steps, int *roundoff)
{
    tdModel *model = contact_scene(file);
    tdState *state = scene_state(model);
    int bad = 0;
    *steps = td_model_steps(model) < most ? td_model_steps(model) : most;
    *roundoff = 0;
    for (int i = 0; i < *steps; i++)
    {
        scene_steps(model, state, 1);
        const tdReport *report = td_state_report(state);
        bool above = report->contact_residual > 1e-6;
        *roundoff += above && !report->contact_limit && report->contact_residual < 1e-3;
        bad += report->contact_limit || (above && report->contact_residual >= 1e-3);
    }
    scene_free(model, state);
    return bad;
}

static inline void all_scenes_converge(int most)
{
    DIR *folder = opendir(CONTACT_SCENES);
    int scenes = 0;
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
    {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot == NULL || strcmp(dot, ".yaml") != 0)
            continue;
        int steps = 0, roundoff = 0, bad = steps_not_converged(entry->d_name, most, &steps, &roundoff);
        printf("%s: %d steps, %d at round-off, %d not converged\n", entry->d_name, steps, roundoff, bad);
        if (bad > 0)
            fail_msg("%s: %d of %d steps did not converge", entry->d_name, bad, steps);
        scenes++;
    }
    closedir(folder);
    assert_true(scenes >= 10);
}
