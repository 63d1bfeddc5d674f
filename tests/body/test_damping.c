// SPDX-License-Identifier: Apache-2.0
// Stiffness damping takes energy and never gives any, whatever the law, the elements and the shape
// (docs/theory/damping.md).
#include "reduced.h"

typedef struct bodyCase
{
    const char *name, *text;
} bodyCase;

static void assert_below(double value, double limit, const char *what)
{
    if (!(value <= limit))
        fail_msg("%s: %g is above %g", what, value, limit);
}

#define SOLID(elements, law)                                                                                           \
    "    mesh: {box: [[0, 0, 0], [0.3, 0.1, 0.1]], cells: [3, 1, 1]" elements "}\n    material: {" law                 \
    ", density: 1000}\n"

#define FLAT(law) "    mesh: {rectangle: [[0, 0], [0.3, 0.1]], cells: [3, 2]}\n    material: {" law ", density: 1000}\n"

static const bodyCase cases[] = {
    {"linear", SOLID("", "law: linear, young: 1e5, poisson: 0.3")},
    {"corotational", SOLID("", "law: corotational, young: 1e5, poisson: 0.3")},
    {"lagged", SOLID(", elements: hexahedra", "law: corotational_lagged, young: 1e5, poisson: 0.3")},
    {"stvk", SOLID(", elements: hexahedra", "law: stvk, young: 1e5, poisson: 0.3")},
    {"neo_hookean", SOLID("", "law: neo_hookean, young: 1e5, poisson: 0.45")},
    {"mean dilatation",
     "    formulation: mean_dilatation\n" SOLID(", elements: hexahedra", "law: neo_hookean, young: 1e5, poisson: "
                                                                         "0.49")},
    {"Prony", SOLID("", "law: neo_hookean, young: 1e5, poisson: 0.45, viscoelastic: [{modulus: 0.5, time: 0.1 s}]")},
    {"costa", SOLID("", "law: costa, c: 20 kPa, b_ff: 2, b_ss: 1, b_nn: 1, b_fs: 0.8, b_fn: 0.8, b_sn: 0.6, bulk: 200 "
                        "kPa, fibre: [1, 1, 0], sheet: [-1, 1, 0]")},
    {"skin",
     SOLID("", "law: linear, young: 1e3, poisson: 0.3") "    materials: [{group: zmax, element: membrane, thickness: 1 "
                                                        "mm, law: neo_hookean, young: 1e5, poisson: 0.4, "
                                                        "density: 1000}]\n"},
    {"plane stress", "    plane: stress\n" FLAT("law: neo_hookean, young: 1e5, poisson: 0.4")},
    {"plane strain", "    plane: strain\n" FLAT("law: stvk, young: 1e5, poisson: 0.3")},
};

static tdModel *body_model(const bodyCase *c)
{
    return scene_model(
        "tendril: 1\ntime_step: 1 ms\nsteps: 1\nbodies:\n  - name: b\n%s    damping: {stiffness: 5 ms}\n", c->text);
}

// K of damping at the positions x, all of it. Freed by the caller.
static double *damping_at(const tdModel *model, tdState *state, const double *x)
{
    const tdSoft *soft = scene_soft(model);
    tdSoftState *mine = scene_mine(state);
    td_soft_gradients(soft, mine, state, x, true);
    td_soft_damping(soft, mine, state, mine->K_apart);
    return dense_of(&soft->pattern, mine->K_apart);
}

static double form(int n, const double *K, const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            sum += x[i] * K[(int64_t)i * n + j] * y[j];
    return sum;
}

// At rest it is the tangent. Squeezed, bent and turned it has no negative eigenvalue, where the tangent has. A body
// that turns as a whole is not damped by laws that know of large rotations.
static void never_drives(void **unused)
{
    (void)unused;
    int indefinite = 0;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
    {
        tdModel *model = body_model(&cases[k]);
        tdState *state = scene_state(model);
        const tdSoft *soft = scene_soft(model);
        tdSoftState *mine = scene_mine(state);
        int n = 3 * soft->n_nodes;
        double *x = calloc((size_t)n, sizeof *x), *v = calloc((size_t)n, sizeof *v);
        uint64_t seed = 5;
        td_soft_history_begin(soft, mine, 0);
        double *D = damping_at(model, state, soft->rest);
        td_soft_forces(soft, mine, state, state->force, mine->K);
        double *K = dense_of(&soft->pattern, mine->K), size = 0, off = 0;
        for (int64_t i = 0; i < (int64_t)n * n; i++)
        {
            size = fmax(size, fabs(K[i]));
            off = fmax(off, fabs(K[i] - D[i]));
        }
        assert_below(off, 1e-9 * size, cases[k].name);
        free(D);
        free(K);
        // Pressed to seven tenths, turned by a right angle about z, shaken.
        for (int i = 0; i < n; i += 3)
        {
            const double *r = soft->rest + i;
            x[i] = -r[1] + 0.004 * next_random(&seed);
            x[i + 1] = 0.7 * r[0] + 0.004 * next_random(&seed);
            x[i + 2] = r[2];
            v[i] = -x[i + 1];
            v[i + 1] = x[i];
        }
        D = damping_at(model, state, x);
        td_soft_forces(soft, mine, state, state->force, mine->K);
        K = dense_of(&soft->pattern, mine->K);
        bool turns = soft->blocks[0].material.rest != NULL;
        if (turns)
            assert_below(fabs(form(n, D, v, v)), 1e-12 * form(n, D, x, x), cases[k].name);
        for (int i = 0; i < n; i++)
        {
            D[(int64_t)i * n + i] += 1e-9 * size;
            K[(int64_t)i * n + i] += 1e-9 * size;
        }
        if (!dense_factor(n, D))
            fail_msg("%s: damping is indefinite", cases[k].name);
        indefinite += !dense_factor(n, K);
        free(D);
        free(K);
        free(x);
        free(v);
        scene_free(model, state);
    }
    assert_true(indefinite >= 5);
}

#define FINGER                                                                                                         \
    "tendril: 1\nunits: {length: mm, mass: kg, time: s}\ntime_step: 5 ms\nduration: 5 s\nbodies:\n  - name: finger\n"  \
    "    mesh: {box: [[0, 0, 0], [100, 15, 15]], cells: [8, 1, 1]}\n"                                                  \
    "    material: {law: neo_hookean, young: 100 kPa, poisson: 0.45, density: 1000 kg/m^3}\n"                          \
    "    damping: {stiffness: 5 ms}\n    fixed: [{group: xmin}]\n"                                                     \
    "actuators: [{name: pull, type: cable, body: finger, drive: force, path: [[100, 12, 7.5], [75, 12, 7.5], "         \
    "[50, 12, 7.5], [25, 12, 7.5]], pull_point: [0, 12, 7.5]}]\n"                                                      \
    "motion: {keyframes: [{t: 0, pull: 0 N}, {t: 0.5 s, pull: %s}]}\n"

static double fastest(const tdModel *model, const tdState *state)
{
    const double *v = model->bodies[0].ops->node_velocities(model, &model->bodies[0], state);
    double most = 0;
    for (int64_t i = 0; i < 3 * model->bodies[0].nodes; i++)
        most = fmax(most, fabs(v[i]));
    return most;
}

static void comes_to_rest(const tdModel *model, const char *what)
{
    tdState *state = scene_state(model);
    double moved = 0;
    for (int s = 0; s < 1000; s++)
    {
        scene_steps(model, state, 1);
        moved = fmax(moved, fastest(model, state));
    }
    assert_true(moved > 0.01);
    assert_below(fastest(model, state), 1e-3 * moved, what);
    td_state_free(state);
}

// With all modes and one linearization a step, where a reduced body adds damping to the tangent before its products,
// the motion is that of full order: conjugate gradients leave 1e-6 there.
static void reduced_agrees(void **unused)
{
    (void)unused;
    static const char *const laws[] = {"neo_hookean", "corotational", "stvk"};
    for (int k = 0; k < 3; k++)
    {
        char text[2000];
        snprintf(text, sizeof text,
                 "tendril: 1\ntime_step: 5 ms\nsteps: 40\ngravity: [0, 3, -9.81]\nsolver: {tolerance: 1e-12}\nbodies:\n"
                 "  - {name: b, mesh: {box: [[0, 0, 0], [0.2, 0.03, 0.03]], cells: [5, 1, 1]}, fixed: [{group: xmin}], "
                 "damping: {stiffness: 20 ms}, material: {law: %s, young: 5e4, poisson: 0.3, density: 1000}}\n",
                 laws[k]);
        tdModel *full = scene_parse(text);
        tdRom rom = rom_of(full, 0, 1);
        tdModel *reduced = rom_model(text, &rom, false);
        td_arena_free(&rom.arena);
        tdState *one = scene_state(full), *two = scene_state(reduced);
        scene_steps(full, one, 40);
        scene_steps(reduced, two, 40);
        const double *x = full->bodies[0].ops->nodes(full, &full->bodies[0], one);
        const double *y = reduced->bodies[0].ops->nodes(reduced, &reduced->bodies[0], two);
        double off = 0, moved = 0;
        for (int64_t i = 0; i < full->coords; i++)
        {
            off = fmax(off, fabs(x[i] - y[i]));
            moved = fmax(moved, fabs(x[i] - scene_soft(full)->rest[i]));
        }
        assert_true(moved > 0.02);
        assert_below(off, 1e-7 * moved, laws[k]);
        scene_free(full, one);
        scene_free(reduced, two);
    }
}

// A finger that its cable buckles comes to rest, at full order, with all of its modes, and with weights on its
// elements. Damped by the indefinite tangent it swung for ever.
static void finger_rests(void **unused)
{
    (void)unused;
    static const char *const tensions[] = {"0.5 N", "1 N"};
    for (int k = 0; k < 2; k++)
    {
        char text[2000];
        snprintf(text, sizeof text, FINGER, tensions[k]);
        tdModel *full = scene_parse(text);
        comes_to_rest(full, tensions[k]);
        for (int weighted = 0; weighted <= 1; weighted++)
        {
            tdRom rom = rom_of(full, 0, 1);
            uint64_t seed = 3;
            for (int e = 0; e < rom.domains->n && weighted; e++)
                rom.domains->weight[e] = 1 + 0.5 * next_random(&seed);
            tdModel *reduced = rom_model(text, &rom, false);
            td_arena_free(&rom.arena);
            comes_to_rest(reduced, weighted ? "weighted elements" : "all modes");
            td_model_free(reduced);
        }
        td_model_free(full);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_drives),
        cmocka_unit_test(reduced_agrees),
        cmocka_unit_test(finger_rests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
