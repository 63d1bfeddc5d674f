// SPDX-License-Identifier: Apache-2.0
// Assembled quantities of a soft body: forces against the energy, tangents against the forces, what rigid
// motion and affine motion must give, mass.
#include "scenes.h"

static const char *const laws[] = LAWS_LIST;
#define YOUNG 1e5
#define LAWS  (int)(sizeof laws / sizeof laws[0])

// A shaken cube of 2 x 2 x 2 cells, free, of one law.
typedef struct fixture
{
    tdModel *model;
    tdState *state;
    const tdSoft *soft;
    tdSoftState *mine;
    int n; // coordinates
} fixture;

static fixture make(const char *law, bool portable)
{
    fixture f = {.model = scene_model("tendril: 1\ntime_step: 1 ms\nsteps: 1\nbodies:\n  - name: cube\n    mesh: %s\n"
                                      "    material: {law: %s, young: %g, poisson: 0.3, density: 1000}\n",
                                      scene_cube(2, 0.2, true), law, YOUNG)};
    f.state = scene_state_with(f.model, 1, portable);
    f.soft = scene_soft(f.model);
    f.mine = scene_mine(f.state);
    f.n = (int)f.model->coords;
    return f;
}

static void drop(fixture *f)
{
    scene_free(f->model, f->state);
}

// Forces (and tangent) at x; the energy. `start` also sets lagged rotations.
static double evaluate(fixture *f, const double *x, bool start, double *force, double *K)
{
    td_soft_gradients(f->soft, f->mine, f->state, x, start);
    td_soft_forces(f->soft, f->mine, f->state, force, K);
    return td_soft_energy(f->soft, f->mine);
}

static void rotation(uint64_t *seed, double R[9])
{
    double q[4], square = 0;
    for (int i = 0; i < 4; i++)
        q[i] = next_random(seed);
    for (int i = 0; i < 4; i++)
        square += q[i] * q[i];
    for (int i = 0; i < 4; i++)
        q[i] /= sqrt(square);
    double w = q[0], x = q[1], y = q[2], z = q[3];
    double r[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                   2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                   2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    memcpy(R, r, sizeof r);
}

// x = R rest + shift, then every coordinate moved by up to `shake`.
static void move(const fixture *f, uint64_t *seed, bool turn, double shake, double *x)
{
    double R[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, shift[3];
    if (turn)
        rotation(seed, R);
    for (int c = 0; c < 3; c++)
        shift[c] = next_random(seed);
    for (int i = 0; i < f->n; i++)
    {
        const double *X = f->soft->rest + i / 3 * 3, *r = R + 3 * (i % 3);
        x[i] = r[0] * X[0] + r[1] * X[1] + r[2] * X[2] + shift[i % 3] + shake * next_random(seed);
    }
}

// ---------------------------------------------------------------- derivatives

static void force_is_gradient_of_energy(void **unused)
{
    (void)unused;
    for (int l = 0; l < LAWS; l++)
    {
        fixture f = make(laws[l], false);
        double x[81], force[81], dummy[81];
        assert_int_equal(f.n, 81);
        uint64_t seed = 3;
        move(&f, &seed, strcmp(laws[l], "linear") != 0, 0.05, x);
        evaluate(&f, x, true, force, NULL);
        double largest = 0, h = 1e-5;
        for (int i = 0; i < f.n; i++)
            largest = fmax(largest, fabs(force[i]));
        assert_true(largest > 1e-3 * YOUNG); // the shaken body is strained
        for (int i = 0; i < f.n; i++)
        {
            double keep = x[i];
            x[i] = keep + h;
            double plus = evaluate(&f, x, false, dummy, NULL);
            x[i] = keep - h;
            double minus = evaluate(&f, x, false, dummy, NULL);
            x[i] = keep;
            // h^2 of truncation, 1e-16 E / h of rounding
            assert_near((plus - minus) / (2 * h), force[i], 1e-6 * largest);
        }
        drop(&f);
    }
}

static void tangent_is_derivative_of_force(void **unused)
{
    (void)unused;
    for (int l = 0; l < LAWS; l++)
    {
        fixture f = make(laws[l], false);
        double x[81], force[81], plus[81], minus[81];
        uint64_t seed = 5;
        move(&f, &seed, strcmp(laws[l], "linear") != 0, 0.05, x);
        evaluate(&f, x, true, force, f.mine->K);
        double *K = dense_of(&f.soft->pattern, f.mine->K), largest = 0, h = 1e-6;
        for (int i = 0; i < f.n * f.n; i++)
            largest = fmax(largest, fabs(K[i]));
        for (int j = 0; j < f.n; j++)
        {
            double keep = x[j];
            x[j] = keep + h;
            evaluate(&f, x, false, plus, NULL);
            x[j] = keep - h;
            evaluate(&f, x, false, minus, NULL);
            x[j] = keep;
            for (int i = 0; i < f.n; i++)
                assert_near((plus[i] - minus[i]) / (2 * h), K[i * f.n + j], 1e-6 * largest);
        }
        free(K);
        drop(&f);
    }
}

// ---------------------------------------------------------------- rigid motion, balance

static void rigid_motion_gives_no_force(void **unused)
{
    (void)unused;
    for (int l = 0; l < LAWS; l++)
    {
        fixture f = make(laws[l], false);
        double x[81], force[81];
        uint64_t seed = 11;
        for (int k = 0; k < 10; k++)
        {
            move(&f, &seed, strcmp(laws[l], "linear") != 0, 0, x);
            double energy = evaluate(&f, x, true, force, NULL);
            assert_near(energy, 0, 1e-12 * YOUNG);
            for (int i = 0; i < f.n; i++)
                assert_near(force[i], 0, 1e-9 * YOUNG);
        }
        drop(&f);
    }
}

// Internal forces have no resultant, and no torque where the law is objective.
static void internal_forces_balance(void **unused)
{
    (void)unused;
    for (int l = 0; l < LAWS; l++)
    {
        fixture f = make(laws[l], false);
        double x[81], force[81], sum[3] = {0}, torque[3] = {0};
        uint64_t seed = 13;
        bool linear = strcmp(laws[l], "linear") == 0;
        move(&f, &seed, !linear, 0.05, x);
        evaluate(&f, x, true, force, NULL);
        for (int i = 0; i < 27; i++)
        {
            // The linear law balances torque about the rest shape.
            const double *p = linear ? f.soft->rest + 3 * i : x + 3 * i, *g = force + 3 * i;
            for (int c = 0; c < 3; c++)
            {
                sum[c] += g[c];
                torque[c] += p[(c + 1) % 3] * g[(c + 2) % 3] - p[(c + 2) % 3] * g[(c + 1) % 3];
            }
        }
        for (int c = 0; c < 3; c++)
        {
            assert_near(sum[c], 0, 1e-11 * YOUNG);
            assert_near(torque[c], 0, 1e-11 * YOUNG);
        }
        drop(&f);
    }
}

static void kernels_agree(void **unused)
{
    (void)unused;
    for (int l = 0; l < LAWS; l++)
    {
        fixture a = make(laws[l], true), b = make(laws[l], false);
        double x[81], fa[81], fb[81], largest = 0;
        uint64_t seed = 17;
        assert_int_equal(a.state->isa, TD_ISA_PORTABLE);
        move(&a, &seed, true, 0.05, x);
        double ea = evaluate(&a, x, true, fa, a.mine->K), eb = evaluate(&b, x, true, fb, b.mine->K);
        assert_near(ea, eb, 1e-12 * fabs(ea));
        for (int i = 0; i < a.n; i++)
            largest = fmax(largest, fabs(fa[i]));
        for (int i = 0; i < a.n; i++)
            assert_near(fa[i], fb[i], 1e-12 * largest);
        largest = 0;
        for (int64_t i = 0; i < 9 * a.soft->pattern.blocks; i++)
            largest = fmax(largest, fabs(a.mine->K[i]));
        for (int64_t i = 0; i < 9 * a.soft->pattern.blocks; i++)
            assert_near(a.mine->K[i], b.mine->K[i], 1e-12 * largest);
        drop(&a);
        drop(&b);
    }
}

// ---------------------------------------------------------------- patch test

// Boundary nodes follow x = F X; equilibrium must put the nodes inside there too, with one stress for all.
static void patch_test(void **unused)
{
    (void)unused;
    const double small[9] = {1.001, 0.0004, 0, 0.0002, 0.9995, 0.0003, 0, -0.0006, 1.0008};
    const double large[9] = {1.2, 0.15, 0, -0.3, 0.9, 0.1, 0.05, -0.2, 1.1};
    for (int l = 0; l < LAWS; l++)
    {
        const double *F = l == 0 ? small : large;
        const char *path = scene_cube(3, 0.2, false);
        tdMesh mesh = {0};
        tdError error = {0};
        tdStatus status = td_mesh_read(path, &mesh, &error);
        assert_ok(status, error);
        static sceneText t;
        t.length = 0;
        scene_add(&t,
                  "tendril: 1\nintegrator: {method: static, tolerance: 1e-12, max_iterations: 300}\n"
                  "solver: {tolerance: 1e-13}\nbodies:\n  - name: cube\n    mesh: %s\n"
                  "    material: {law: %s, young: %g, poisson: 0.3}\n    prescribed:\n",
                  path, laws[l], YOUNG);
        int inside = 0;
        double far = 0;
        for (int64_t i = 0; i < mesh.n_nodes; i++)
        {
            const double *X = mesh.x + 3 * i;
            bool boundary = false;
            for (int c = 0; c < 3; c++)
                boundary = boundary || X[c] < 1e-9 || X[c] > 1 - 1e-9;
            inside += !boundary;
            double u[3];
            for (int c = 0; c < 3; c++)
                u[c] = F[3 * c] * X[0] + F[3 * c + 1] * X[1] + F[3 * c + 2] * X[2] - X[c];
            far = fmax(far, fabs(u[0]) + fabs(u[1]) + fabs(u[2]));
            if (boundary)
                scene_add(&t, "      - {nodes: [%d], displacement: [%.17g, %.17g, %.17g]}\n", (int)i, u[0], u[1], u[2]);
        }
        assert_int_equal(inside, 8);
        tdModel *model = scene_parse(t.text);
        tdState *state = scene_state(model);
        scene_steps(model, state, 1);
        for (int64_t i = 0; i < 3 * mesh.n_nodes; i++)
        {
            const double *X = mesh.x + i / 3 * 3, *r = F + 3 * (i % 3);
            assert_near(state->q[i], r[0] * X[0] + r[1] * X[1] + r[2] * X[2], 1e-10 * far);
        }
        double stress[162], energy[162];
        assert_int_equal(model->bodies[0].elements, 162);
        td_soft_fields(model, &model->bodies[0], state, stress, energy);
        assert_true(stress[0] > 1e-5 * YOUNG);
        for (int e = 1; e < 162; e++)
        {
            assert_near(stress[e], stress[0], 1e-8 * stress[0]);
            assert_near(energy[e], energy[0], 1e-8 * energy[0]);
        }
        td_mesh_free(&mesh);
        scene_free(model, state);
    }
}

// Rollers on three sides, the fourth pulled: uniaxial stress, E times the strain, whatever the mesh.
static void uniaxial_stress(void **unused)
{
    (void)unused;
    const double strain = 1e-3, size[3] = {2, 1, 0.5};
    tdModel *model = scene_model("tendril: 1\nintegrator: {method: static, tolerance: 1e-12}\n"
                                 "solver: {tolerance: 1e-13}\nbodies:\n  - name: bar\n    mesh: %s\n"
                                 "    material: {law: linear, young: %g, poisson: 0.3}\n"
                                 "    fixed: [{group: xmin, axes: x}, {group: ymin, axes: y}, {group: zmin, axes: z}]\n"
                                 "    prescribed: [{group: xmax, axes: x, displacement: [%.17g, 0, 0]}]\n",
                                 scene_mesh(size, (int[3]){4, 3, 2}, 0.2, false), YOUNG, strain * size[0]);
    tdState *state = scene_state(model);
    const tdSoft *soft = scene_soft(model);
    scene_steps(model, state, 1);
    double pull = 0, back = 0, sum[3], force = YOUNG * strain * size[1] * size[2];
    for (int i = 0; i < soft->n_nodes; i++)
    {
        const double *X = soft->rest + 3 * i;
        pull += X[0] > size[0] - 1e-9 ? state->reaction[3 * i] : 0;
        back += X[0] < 1e-9 ? state->reaction[3 * i] : 0;
        assert_near(state->q[3 * i] - X[0], strain * X[0], 1e-9 * strain);
        assert_near(state->q[3 * i + 1] - X[1], -0.3 * strain * X[1], 1e-9 * strain);
        assert_near(state->q[3 * i + 2] - X[2], -0.3 * strain * X[2], 1e-9 * strain);
    }
    assert_near(pull, force, 1e-9 * force);
    assert_near(back, -force, 1e-9 * force);
    td_state_reaction(model, state, 0, sum);
    for (int c = 0; c < 3; c++)
        assert_near(sum[c], 0, 1e-9 * force);
    scene_free(model, state);
}

// Small strain: E e when stretched freely, sqrt(3) mu g when sheared by g, nothing when swollen; energies too.
static void stress_of_simple_strains(void **unused)
{
    (void)unused;
    const double e = 1e-5, mu = YOUNG / 2.6, bulk = YOUNG / 1.2;
    const struct
    {
        double F[9], stress, energy;
    } cases[] = {{{1 + e, 0, 0, 0, 1 - 0.3 * e, 0, 0, 0, 1 - 0.3 * e}, YOUNG * e, 0.5 * YOUNG * e * e},
                 {{1, e, 0, 0, 1, 0, 0, 0, 1}, sqrt(3) * mu * e, 0.5 * mu * e * e},
                 {{1, 0, 0, 0, 1, 0, e, 0, 1}, sqrt(3) * mu * e, 0.5 * mu * e * e},
                 {{1, 0, 0, 0, 1, e, 0, 0, 1}, sqrt(3) * mu * e, 0.5 * mu * e * e},
                 {{1 + e, 0, 0, 0, 1 + e, 0, 0, 0, 1 + e}, 0, 4.5 * bulk * e * e}};
    for (int l = 0; l < LAWS; l++)
    {
        fixture f = make(laws[l], false);
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        {
            double stress[48], energy[48];
            assert_int_equal(f.model->bodies[0].elements, 48);
            for (int i = 0; i < f.n; i++)
            {
                const double *X = f.soft->rest + i / 3 * 3, *r = cases[k].F + 3 * (i % 3);
                f.state->q[i] = r[0] * X[0] + r[1] * X[1] + r[2] * X[2];
            }
            td_soft_fields(f.model, &f.model->bodies[0], f.state, stress, energy);
            for (int element = 0; element < 48; element++)
            {
                // the next order of the strain, and the rounding of F - 1
                assert_near(stress[element], cases[k].stress, 1e-4 * YOUNG * e);
                assert_near(energy[element], cases[k].energy, 1e-4 * YOUNG * e * e);
            }
        }
        drop(&f);
    }
}

// ---------------------------------------------------------------- mass

static tdModel *mass_model(const char *mass, const char *weight)
{
    return scene_model("tendril: 1\ntime_step: 1 ms\nsteps: 1\nbodies:\n  - name: bar\n    mesh: %s\n"
                       "    material: {law: linear, young: 1e5, poisson: 0.3, %s}\n    mass: %s\n",
                       scene_mesh((double[3]){1, 2, 3}, (int[3]){2, 3, 3}, 0.2, false), weight, mass);
}

static void mass_matrices(void **unused)
{
    (void)unused;
    const char *const kinds[] = {"lumped", "consistent"}, *const weights[] = {"density: 500", "total_mass: 3000"};
    for (int k = 0; k < 4; k++)
    {
        tdModel *model = mass_model(kinds[k % 2], weights[k / 2]);
        const tdSoft *soft = scene_soft(model);
        assert_near(soft->total_mass, 3000, 1e-9);
        assert_near(soft->blocks[0].material.density, 500, 1e-10);
        assert_near(soft->rest_volume, 6, 1e-12);
        size_t bytes = (size_t)model->coords * sizeof(double);
        double total = 0, *ones = malloc(bytes), *rows = malloc(bytes);
        for (int64_t i = 0; i < model->coords; i++)
            ones[i] = 1;
        td_block_multiply_scalar(NULL, &soft->pattern, soft->mass, ones, rows, false);
        for (int i = 0; i < soft->n_nodes; i++)
        {
            assert_true(soft->node_mass[i] > 0);
            assert_near(rows[3 * i], soft->node_mass[i], 1e-12 * 3000);
            total += soft->node_mass[i];
        }
        assert_near(total, 3000, 1e-9);
        free(ones);
        free(rows);
        td_model_free(model);
    }
}

// The consistent mass integrates the square of a linear velocity field exactly: a turning box.
static void kinetic_energy_of_rotation(void **unused)
{
    (void)unused;
    const double w[3] = {0.3, -0.7, 1.1}, size[3] = {1, 2, 3};
    for (int consistent = 0; consistent < 2; consistent++)
    {
        tdModel *model = mass_model(consistent ? "consistent" : "lumped", "density: 500");
        tdState *state = scene_state(model);
        for (int64_t i = 0; i < model->coords; i++)
        {
            const double *X = scene_soft(model)->rest + i / 3 * 3;
            int b = (i + 1) % 3, c = (i + 2) % 3;
            state->v[i] = w[b] * X[c] - w[c] * X[b];
        }
        // second moments of the box about its corner: m s_i s_j / 4, on the diagonal m s_i^2 / 3
        double moment[3][3], energy = 0, square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2], kinetic, elastic;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
            {
                moment[i][j] = 3000 * size[i] * size[j] / (i == j ? 3 : 4);
                energy += 0.5 * ((i == j ? square * moment[i][j] : 0) - w[i] * w[j] * moment[i][j]);
            }
        td_state_energy(model, state, &kinetic, &elastic);
        if (consistent)
            assert_near(kinetic, energy, 1e-11 * energy);
        else
            assert_true(kinetic > energy * 1.001 && kinetic < energy * 1.2); // masses moved outwards
        assert_near(elastic, 0, 1e-12);
        scene_free(model, state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(force_is_gradient_of_energy),
        cmocka_unit_test(tangent_is_derivative_of_force),
        cmocka_unit_test(rigid_motion_gives_no_force),
        cmocka_unit_test(internal_forces_balance),
        cmocka_unit_test(kernels_agree),
        cmocka_unit_test(patch_test),
        cmocka_unit_test(stress_of_simple_strains),
        cmocka_unit_test(uniaxial_stress),
        cmocka_unit_test(mass_matrices),
        cmocka_unit_test(kinetic_energy_of_rotation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
