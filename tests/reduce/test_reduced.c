// SPDX-License-Identifier: Apache-2.0
// Reduced bodies at run time. With all modes and all elements they are the full model in other coordinates, so every
// stage of a step, every actuator and every integrator is compared with it; with few modes forces and tangents are
// checked against energies by differences.
#include "actuators.h"
#include "elements.h"
#include "reduced.h"

// ---------------------------------------------------------------- the full model in other coordinates

#define BARE                                                                                                           \
    "bodies:\n  - name: beam\n    mesh: {box: [[0, 0, 0], [0.06, 0.02, 0.02]], cells: [3, 2, 2]}\n"                    \
    "    material: {law: %s, young: 100 kPa, poisson: 0.4, density: 1000}\n    fixed: [{group: xmin}]\n"
#define BODY BARE "    damping: {mass: 2, stiffness: 0.01}\n"
#define CABLE                                                                                                          \
    "  - {name: pull, type: cable, body: beam, path: [[0.045, 0.01, 0.018], [0.025, 0.01, 0.018]], "                   \
    "pull_point: [-0.01, 0.01, 0.018]%s}\n"
#define END    "  - {name: end, type: translation, body: beam, group: xmax, direction: [0, 0, 1], drive: displacement}\n"
#define SOLVER "gravity: [0, 0, -9.81]\nsolver: {type: cholesky}\n"

static double worst_difference(const tdModel *full, const tdState *a, const tdModel *reduced, const tdState *b)
{
    const double *x = td_state_positions(full, a, 0), *y = td_state_positions(reduced, b, 0);
    const double *v = td_state_velocities(full, a, 0), *w = td_state_velocities(reduced, b, 0);
    double worst = 0, fastest = 0;
    for (int64_t i = 0; i < 3 * full->bodies[0].nodes; i++)
        fastest = fmax(fastest, fabs(v[i]));
    for (int64_t i = 0; i < 3 * full->bodies[0].nodes; i++)
    {
        worst = fmax(worst, fabs(x[i] - y[i]) / full->size);
        worst = fmax(worst, fastest > 0 ? fabs(v[i] - w[i]) / (full->size / full->scheme.h + fastest) : 0);
    }
    return worst;
}

// Runs both with the inputs of `drive` and compares positions, velocities, efforts and energies after every step.
static void compare(const char *text, int steps, void (*drive)(const tdModel *, tdState *, int), double tolerance)
{
    tdModel *full = scene_parse(text);
    tdRom rom = rom_of(full, 0, 1);
    tdModel *reduced = rom_model(text, &rom, false);
    td_arena_free(&rom.arena);
    tdState *a = scene_state(full), *b = scene_state(reduced);
    double moved = 0;
    for (int k = 0; k < steps; k++)
    {
        if (drive != NULL)
        {
            drive(full, a, k);
            drive(reduced, b, k);
        }
        scene_steps(full, a, 1);
        scene_steps(reduced, b, 1);
        assert_near(worst_difference(full, a, reduced, b), 0, tolerance);
        for (int i = 0; i < td_model_actuators(full); i++)
        {
            tdActuation x = td_state_actuation(full, a, i), y = td_state_actuation(reduced, b, i);
            assert_near(y.effort, x.effort, 1e3 * tolerance * (fabs(x.effort) + 1));
            assert_near(y.displacement, x.displacement, tolerance * full->actuators[i].size);
        }
        double ka, ea, kb, eb;
        td_state_energy(full, a, &ka, &ea);
        td_state_energy(reduced, b, &kb, &eb);
        assert_near(kb, ka, 1e3 * tolerance * (ka + ea));
        assert_near(eb, ea, 1e3 * tolerance * (ka + ea));
    }
    const double *x = td_state_positions(full, a, 0);
    for (int64_t i = 0; i < 3 * full->bodies[0].nodes; i++)
        moved = fmax(moved, fabs(x[i] - full->bodies[0].soft->rest[i]));
    assert_true(moved > 0.02 * full->size); // else there was nothing to compare
    scene_free(full, a);
    scene_free(reduced, b);
}

static void drive_cable(const tdModel *model, tdState *state, int step)
{
    act_set(model, state, "pull", 2e-4 * (step + 1));
}

static void drive_both(const tdModel *model, tdState *state, int step)
{
    act_set(model, state, "pull", 1e-4 * (step + 1));
    act_set(model, state, "end", 3e-4 * (step + 1));
}

// Every coordinate is turned by an orthonormal matrix: rounding alone differs, and grows with the condition of A
// (about 1e4) over the steps.
#define SAME 1e-10

static void same_motion(void **unused)
{
    (void)unused;
    const char *laws[] = {"linear", "corotational", "corotational_lagged", "stvk", "neo_hookean", "mooney_rivlin"};
    char text[4000];
    for (size_t k = 0; k < sizeof laws / sizeof laws[0]; k++)
    {
        snprintf(text, sizeof text, "tendril: 1\ntime_step: 5 ms\nsteps: 9\n" SOLVER BODY "actuators:\n" CABLE, laws[k],
                 ", drive: displacement");
        compare(text, 8, drive_cable, SAME);
    }
    snprintf(text, sizeof text,
             "tendril: 1\ntime_step: 5 ms\nsteps: 9\nintegrator: {newton: true, tolerance: 1e-11}\n" SOLVER BODY
             "actuators:\n" CABLE END,
             "neo_hookean", ", drive: displacement");
    compare(text, 6, drive_both, SAME);
    snprintf(text, sizeof text,
             "tendril: 1\ntime_step: 0.1 ms\nsteps: 9\nintegrator: {method: symplectic}\n" SOLVER BARE
             "    velocity: [0, 20, 1]\nactuators:\n" CABLE END,
             "stvk", ", drive: force");
    compare(text, 10, drive_both, SAME);
}

static void same_by_newmark(void **unused)
{
    (void)unused;
    char text[4000];
    snprintf(
        text, sizeof text,
        "tendril: 1\ntime_step: 2 ms\nsteps: 9\nintegrator: {method: newmark, beta: 0.3025, gamma: 0.6, newton: true, "
        "tolerance: 1e-11}\n" SOLVER BODY "    velocity: [0, 0, 1]\nactuators:\n" CABLE END,
        "corotational", ", drive: force");
    compare(text, 8, drive_both, SAME);
}

static void same_equilibrium(void **unused)
{
    (void)unused;
    char text[4000];
    snprintf(text, sizeof text,
             "tendril: 1\nintegrator: {method: static, tolerance: 1e-11}\n" SOLVER BODY "actuators:\n" CABLE END,
             "mooney_rivlin", ", drive: displacement");
    compare(text, 8, drive_both, SAME);
    snprintf(text, sizeof text,
             "tendril: 1\nintegrator: {method: static, tolerance: 1e-11}\n" SOLVER BODY "actuators:\n" CABLE END,
             "corotational_lagged", ", drive: force");
    compare(text, 8, drive_both, SAME);
}

// Pushed together until the tangent is indefinite: points are projected one by one, which is the same in both.
static void same_when_projected(void **unused)
{
    (void)unused;
    char text[4000];
    snprintf(text, sizeof text,
             "tendril: 1\ntime_step: 50 ms\nsteps: 4\nintegrator: {newton: true, tolerance: 1e-11, max_iterations: "
             "100}\n" SOLVER BARE "    prescribed: [{name: push, group: xmax, displacement: [-1, 0, 0]}]\n",
             "stvk");
    tdModel *full = scene_parse(text);
    tdRom rom = rom_of(full, 0, 1);
    tdModel *reduced = rom_model(text, &rom, false);
    td_arena_free(&rom.arena);
    tdState *a = scene_state(full), *b = scene_state(reduced);
    int projected = 0, also = 0;
    for (int s = 1; s <= 3; s++)
    {
        act_set(full, a, "push", 0.01 * s);
        act_set(reduced, b, "push", 0.01 * s);
        scene_steps(full, a, 1);
        scene_steps(reduced, b, 1);
        projected += td_state_report(a)->projected_elements;
        also += td_state_report(b)->projected_elements;
        // An unstable equilibrium on the way makes more of rounding than elsewhere.
        assert_near(worst_difference(full, a, reduced, b), 0, 1e-8);
    }
    assert_true(projected > 0);
    assert_int_equal(also, projected);
    scene_free(full, a);
    scene_free(reduced, b);
}

// A reduced body beside one of full order, before or after it, with a cable between them.
static void same_beside_others(void **unused)
{
    (void)unused;
    const char *text =
        "tendril: 1\ntime_step: 10 ms\nsteps: 1\ngravity: [0, 0, -9.81]\nsolver: {type: cholesky}\n"
        "integrator: {newton: true, tolerance: 1e-11}\nbodies:\n"
        "  - {name: beam, mesh: {box: [[0.3, 0, 0], [0.4, 0.02, 0.02]], cells: [5, 1, 1]}, material: {law: "
        "neo_hookean, young: 100 kPa, poisson: 0.3, density: 1000}, fixed: [{group: xmin}]}\n"
        "  - {name: stick, mesh: {box: [[0, 0.3, 0], [0.1, 0.32, 0.02]], cells: [4, 1, 1]}, material: {law: stvk, "
        "young: 100 kPa, poisson: 0.3, density: 1000}, damping: {stiffness: 5 ms}, fixed: [{group: xmin}],\n"
        "     prescribed: [{name: end, group: xmax, axes: z, displacement: [0, 0, 0.02]}]}\nactuators:\n"
        "  - {name: rope, type: cable, body: beam, path: [[0.36, 0, 0.01]], pull_point: [0.05, 0.3, 0.01], "
        "pull_body: stick, drive: displacement}\n";
    for (int which = 0; which < 2; which++)
    {
        tdModel *full = scene_parse(text);
        tdRom rom = rom_of_body(full, which, 0, 1);
        tdModel *reduced = rom_model(text, &rom, false);
        td_arena_free(&rom.arena);
        assert_true(reduced->coords < full->coords);
        tdState *a = scene_state(full), *b = scene_state(reduced);
        for (int k = 1; k <= 5; k++)
        {
            act_set(full, a, "rope", 4e-3 * k);
            act_set(reduced, b, "rope", 4e-3 * k);
            scene_steps(full, a, 1);
            scene_steps(reduced, b, 1);
            // Newton without the block of A between two bodies converges slowly, and stops at its tolerance.
            for (int body = 0; body < 2; body++)
            {
                const double *x = td_state_positions(full, a, body), *y = td_state_positions(reduced, b, body);
                for (int64_t i = 0; i < 3 * full->bodies[body].nodes; i++)
                    assert_near(y[i], x[i], 1e-8 * full->size);
            }
        }
        scene_free(full, a);
        scene_free(reduced, b);
    }
}

// ---------------------------------------------------------------- forces of every law and element

#define LAW(name)   "    material: {law: " name ", young: 1e5, poisson: 0.3, density: 1000}\n"
#define MEAN        "    formulation: mean_dilatation\n"
#define SKIN(law)   "    materials: [{group: zmax, element: membrane, thickness: 0.1, " law ", density: 1000}]\n"
#define RELAXING    "viscoelastic: [{modulus: 0.3, time: 20 ms}, {modulus: 0.2, time: 0.1 s}]"
#define VISCO(name) "    material: {law: " name ", young: 1e5, poisson: 0.3, density: 1000, " RELAXING "}\n"
#define COSTA                                                                                                          \
    "    material: {law: costa, c: 20 kPa, b_ff: 2, b_ss: 1, b_nn: 1, b_fs: 0.8, b_fn: 0.8, b_sn: 0.6, bulk: 200 "     \
    "kPa, "                                                                                                            \
    "fibre: [1, 0.5, 0], sheet: [0, 0, 1], density: 1000}\n"

static const struct
{
    meshKind mesh;
    const char *text;
} cases[] = {
    {MESH_TET, LAW("linear")},
    {MESH_TET, LAW("corotational")},
    {MESH_TET, LAW("corotational_lagged")},
    {MESH_TET, LAW("stvk")},
    {MESH_TET, LAW("neo_hookean")},
    {MESH_TET, LAW("mooney_rivlin")},
    {MESH_TET, LAW("ogden")},
    {MESH_TET, LAW("arruda_boyce")},
    {MESH_TET, LAW("veronda_westmann")},
    {MESH_TET, COSTA},
    {MESH_TET, VISCO("mooney_rivlin")},
    {MESH_TET, LAW("stvk") SKIN("law: neo_hookean, young: 1e6, poisson: 0.4")},
    {MESH_TET, LAW("stvk") SKIN("law: mooney_rivlin, young: 1e6, poisson: 0.45, " RELAXING)},
    {MESH_HEX, LAW("corotational")},
    {MESH_HEX, LAW("mooney_rivlin")},
    {MESH_HEX, LAW("corotational_lagged")},
    {MESH_HEX, LAW("mooney_rivlin") MEAN},
    {MESH_HEX, VISCO("neo_hookean") MEAN},
    {MESH_TET10, LAW("neo_hookean")},
    {MESH_CURVED, LAW("arruda_boyce") MEAN},
    {MESH_FLAT, LAW("neo_hookean") "    plane: strain\n"},
    {MESH_FLAT, LAW("corotational_lagged") "    plane: stress\n"},
    {MESH_FLAT, LAW("corotational") "    plane: stress\n    thickness: 0.1\n"},
    {MESH_FLAT, LAW("mooney_rivlin") "    plane: stress\n"},
};
#define CASES (int)(sizeof cases / sizeof cases[0])
#define MODES 9

typedef struct pair
{
    fixture full;
    tdModel *model;
    tdState *state;
    const tdReduced *reduced;
    tdReducedState *mine;
} pair;

static pair make_pair(int k, bool whole, int every)
{
    bool quadratic = cases[k].mesh == MESH_TET10 || cases[k].mesh == MESH_CURVED;
    const char *mesh = element_mesh(cases[k].mesh, quadratic ? 1 : 2, 0.2, true);
    char text[4000];
    pair p = {.full = element_fixture(mesh, cases[k].text, 1, false)};
    snprintf(text, sizeof text,
             "tendril: 1\ntime_step: 10 ms\nsteps: 1\nintegrator: {newton: true}\nbodies:\n  - name: a\n    mesh: "
             "%s\n%s",
             mesh, cases[k].text);
    tdRom rom = rom_of(p.full.model, MODES, every);
    p.model = rom_model(text, &rom, whole);
    p.state = scene_state(p.model);
    p.reduced = p.model->bodies[0].data;
    p.mine = (tdReducedState *)p.state->bodies[0];
    td_arena_free(&rom.arena);
    return p;
}

static void free_pair(pair *p)
{
    fixture_free(&p->full);
    scene_free(p->model, p->state);
}

// Forces at q through the body's own calls; the energy.
static double evaluate_reduced(pair *p, const double *q, bool tangent)
{
    const tdBody *body = &p->model->bodies[0];
    memcpy(p->state->q_e, q, MODES * sizeof *q);
    body->ops->kinematics(p->model, body, p->state);
    assert_int_equal(body->ops->forces(p->model, body, p->state, tangent), TD_OK);
    double sum = 0;
    for (int b = 0; b < p->reduced->domain.n_blocks; b++)
        sum += p->mine->points.sums[b].energy;
    return sum;
}

// A past at `before` and a present at `now`: history and lagged rotations of both bodies.
static void give_past(pair *p, const double *before)
{
    const tdBody *body = &p->model->bodies[0];
    memcpy(p->state->q, before, MODES * sizeof *before);
    for (int k = 0; k < 3; k++)
    {
        body->ops->begin(p->model, body, p->state);
        body->ops->commit(p->model, body, p->state);
    }
    body->ops->begin(p->model, body, p->state);
    const double *x = td_state_positions(p->model, p->state, 0);
    fixture *f = &p->full;
    td_soft_gradients(f->soft, f->mine, f->state, x, true);
    for (int k = 0; k < 3; k++)
    {
        td_soft_history_begin(f->soft, f->mine, 0.01);
        td_soft_history_commit(f->soft, f->mine, f->state, x, 0.01);
    }
    td_soft_history_begin(f->soft, f->mine, 0.01);
    td_soft_gradients(f->soft, f->mine, f->state, x, true);
}

static void amplitudes(double *before, double *now)
{
    uint64_t seed = 3;
    for (int j = 0; j < MODES; j++)
    {
        before[j] = 0.1 * next_random(&seed);
        now[j] = 0.25 * next_random(&seed);
    }
}

// Over all elements, the projection of the full model's forces and tangent; the same by `whole` and by a domain of all
// elements; also with projected tangents. Only sums in another order differ.
static void projects(void **unused)
{
    (void)unused;
    int projected_points = 0;
    for (int k = 0; k < CASES; k++)
        for (int variant = 0; variant < 4; variant++)
        {
            pair p = make_pair(k, variant % 2 == 0, 1);
            fixture *f = &p.full;
            double before[MODES], now[MODES], x[400], force[400], projected[MODES] = {0}, size = 0, stiffest = 0;
            assert_true(f->n <= 400);
            amplitudes(before, now);
            give_past(&p, before);
            p.mine->projecting = f->mine->projecting = variant > 1;
            double energy = evaluate_reduced(&p, now, true);
            projected_points += p.state->report.projected_elements;
            for (int i = 0; i < f->n; i++)
            {
                x[i] = f->soft->rest[i];
                for (int j = 0; j < MODES; j++)
                    x[i] += p.reduced->basis[i * p.reduced->stride + j] * now[j];
            }
            double full = evaluate(f, x, false, force, f->mine->K), *K = dense_of(&f->soft->pattern, f->mine->K);
            assert_near(energy, full, 1e-11 * fabs(full));
            for (int i = 0; i < f->n; i++)
                for (int j = 0; j < MODES; j++)
                    projected[j] += force[i] * p.reduced->basis[i * p.reduced->stride + j];
            for (int j = 0; j < MODES; j++)
                size = fmax(size, fabs(projected[j]));
            for (int i = 0; i < f->n * f->n; i++)
                stiffest = fmax(stiffest, fabs(K[i]));
            assert_true(size > 10);
            for (int j = 0; j < MODES; j++)
            {
                assert_near(p.state->force[j], projected[j], 1e-11 * size);
                for (int l = 0; l < MODES; l++)
                {
                    double entry = 0;
                    for (int a = 0; a < f->n; a++)
                        for (int b = 0; b < f->n; b++)
                            entry += p.reduced->basis[a * p.reduced->stride + j] * K[a * f->n + b] *
                                     p.reduced->basis[b * p.reduced->stride + l];
                    if (!(fabs(p.mine->K[j * p.reduced->stride + l] - entry) <= 1e-11 * stiffest))
                        fail_msg("case %d: K(%d, %d) = %g, projected %g", k, j, l, p.mine->K[j * p.reduced->stride + l],
                                 entry);
                }
            }
            free(K);
            free_pair(&p);
        }
    assert_true(projected_points > CASES);
}

// A part of the elements with weights of their own: force = dE/dq, K = dforce/dq. Central differences of 1e-5 are good
// to 1e-7 of the largest entry here.
static void derivatives(void **unused)
{
    (void)unused;
    for (int k = 0; k < CASES; k++)
    {
        pair p = make_pair(k, false, 3);
        double before[MODES], now[MODES], force[MODES], K[MODES][MODES], largest = 0, stiffest = 0, h = 1e-5;
        amplitudes(before, now);
        give_past(&p, before);
        evaluate_reduced(&p, now, true);
        for (int j = 0; j < MODES; j++)
        {
            force[j] = p.state->force[j];
            largest = fmax(largest, fabs(force[j]));
            for (int l = 0; l < MODES; l++)
            {
                K[j][l] = p.mine->K[j * p.reduced->stride + l];
                stiffest = fmax(stiffest, fabs(K[j][l]));
            }
        }
        assert_true(largest > 1);
        for (int j = 0; j < MODES; j++)
        {
            double keep = now[j], plus[MODES];
            now[j] = keep + h;
            double up = evaluate_reduced(&p, now, false);
            memcpy(plus, p.state->force, sizeof plus);
            now[j] = keep - h;
            double down = evaluate_reduced(&p, now, false);
            now[j] = keep;
            assert_near((up - down) / (2 * h), force[j], 1e-6 * largest + 1e-8 * stiffest);
            for (int l = 0; l < MODES; l++)
                if (!(fabs((plus[l] - p.state->force[l]) / (2 * h) - K[l][j]) <= 2e-6 * stiffest))
                    fail_msg("case %d: df_%d/dq_%d = %g, K %g", k, l, j, (plus[l] - p.state->force[l]) / (2 * h),
                             K[l][j]);
        }
        free_pair(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_motion),         cmocka_unit_test(same_by_newmark),    cmocka_unit_test(same_equilibrium),
        cmocka_unit_test(same_when_projected), cmocka_unit_test(same_beside_others), cmocka_unit_test(projects),
        cmocka_unit_test(derivatives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
