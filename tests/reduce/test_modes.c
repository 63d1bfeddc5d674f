// SPDX-License-Identifier: Apache-2.0
// Vibration modes against closed forms and counts of eigenvalues, derivatives against static responses, bases.
#include "elements.h"

#include "reduce/modes.h"
#include "reduce/stvk.h"

#define HEAD "tendril: 1\ntime_step: 10 ms\nsteps: 1\nintegrator: {newton: true}\nbodies:\n  - name: a\n"

static fixture open_scene(const char *body)
{
    fixture f = {.model = scene_model(HEAD "%s", body)};
    f.state = scene_state(f.model);
    f.soft = scene_soft(f.model);
    f.mine = scene_mine(f.state);
    f.n = (int)f.model->coords;
    return f;
}

static tdModes modes_of(const fixture *f, int k, int derivatives)
{
    tdModes modes;
    tdError error = {0};
    tdModesSettings wanted = td_default_modes();
    wanted.modes = k;
    wanted.derivatives = derivatives;
    tdSettings settings = td_default_settings();
    settings.threads = 1;
    tdStatus status = td_modes(f->model, 0, &settings, &wanted, &modes, &error);
    assert_ok(status, error);
    return modes;
}

static double mass_product(const fixture *f, const double *a, const double *b)
{
    double sum = 0, *Mb = malloc((size_t)f->n * sizeof *Mb);
    td_modes_mass(f->soft, NULL, b, Mb);
    for (int i = 0; i < f->n; i++)
        sum += a[i] * Mb[i];
    free(Mb);
    return sum;
}

// psi' M psi = I, also with the rigid modes.
static void check_orthonormal(const fixture *f, const tdModes *m)
{
    for (int i = 0; i < m->k + m->n_rigid; i++)
        for (int j = 0; j <= i; j++)
        {
            const double *a = i < m->k ? m->psi + i * m->n : m->rigid + (i - m->k) * m->n;
            const double *b = j < m->k ? m->psi + j * m->n : m->rigid + (j - m->k) * m->n;
            assert_near(mass_product(f, a, b), i == j, 1e-12);
        }
}

// ---------------------------------------------------------------- closed forms

// A bar of 20 hexahedra held sideways, nu = 0: a chain of linear elements, whose own frequencies are known, and near
// them those of the continuum, (2 k - 1) / 4 L sqrt(E / rho).
static void test_bar(void **context)
{
    (void)context;
    for (int consistent = 0; consistent < 2; consistent++)
    {
        char text[1024];
        snprintf(text, sizeof text,
                 "    mesh: {box: [[0, 0, 0], [1, 0.02, 0.02]], cells: [20, 1, 1], elements: hexahedra}\n"
                 "    material: {law: stvk, young: 400, poisson: 0, density: 4}\n    mass: %s\n"
                 "    fixed: [{group: xmin}, {all: true, axes: yz}]\n",
                 consistent ? "consistent" : "lumped");
        fixture f = open_scene(text);
        tdModes m = modes_of(&f, 5, 0);
        assert_int_equal(m.n_rigid, 0);
        for (int k = 0; k < 5; k++)
        {
            double h = 0.05, theta = (2 * k + 1) * M_PI / 40, c2 = 100;
            double chain = consistent ? 6 * c2 / (h * h) * (1 - cos(theta)) / (2 + cos(theta))
                                      : 2 * c2 / (h * h) * (1 - cos(theta));
            assert_near(m.lambda[k], chain, 1e-9 * chain);
            // The chain is off by theta^2 / 24 of the frequency.
            double bar = (2 * k + 1) / 4.0 * sqrt(c2);
            assert_near(td_modes_frequency(m.lambda[k]), bar, (theta * theta / 24 * 1.1 + 1e-9) * bar);
        }
        assert_true(m.residual < 1e-9);
        check_orthonormal(&f, &m);
        td_modes_free(&m);
        fixture_free(&f);
    }
}

// The same bar of tetrahedra, mesh and motion free to be uneven: within the error of a mesh.
static void test_bar_of_tetrahedra(void **context)
{
    (void)context;
    fixture f = open_scene("    mesh: {box: [[0, 0, 0], [1, 0.05, 0.05]], cells: [20, 1, 1]}\n"
                           "    material: {law: neo_hookean, young: 400, poisson: 0, density: 4}\n"
                           "    fixed: [{group: xmin}, {all: true, axes: yz}]\n");
    tdModes m = modes_of(&f, 2, 0);
    assert_near(td_modes_frequency(m.lambda[0]), 2.5, 0.01 * 2.5);
    assert_near(td_modes_frequency(m.lambda[1]), 7.5, 0.01 * 7.5);
    td_modes_free(&m);
    fixture_free(&f);
}

// Cantilever of quadratic tetrahedra, 20 times as long as thick: Euler and Bernoulli's 1.8751^2 / 2 pi
// sqrt(E I / rho A L^4). Shear and rotary inertia take 0.2 % off the first frequency and 1.5 % off the second.
static void test_beam(void **context)
{
    (void)context;
    tdMesh mesh = {0};
    tdError error = {0};
    char path[SCENE_PATH], text[1024];
    snprintf(path, sizeof path, "%s", scene_cube(1, 0, false));
    assert_ok(td_mesh_box((double[3]){0, 0, 0}, (double[3]){1, 0.05, 0.06}, (int[3]){20, 1, 1}, false, &mesh, &error),
              error);
    split_edges(&mesh);
    assert_ok(td_mesh_write(&mesh, path, TD_MESH_UNKNOWN, TD_MESH_BINARY, &error), error);
    td_mesh_free(&mesh);
    snprintf(text, sizeof text,
             "    mesh: %s\n    material: {law: corotational, young: 1 MPa, poisson: 0, density: 1000}\n"
             "    mass: consistent\n    fixed: [{box: [[-1, -1, -1], [1e-6, 1, 1]]}]\n",
             path);
    fixture f = open_scene(text);
    tdModes m = modes_of(&f, 4, 0);
    static const double root[2] = {1.875104, 4.694091}, thick[2] = {0.05, 0.06};
    for (int k = 0; k < 4; k++)
    {
        double r = root[k / 2], beam = r * r / (2 * M_PI) * sqrt(1e6 / 1000 * thick[k % 2] * thick[k % 2] / 12);
        assert_near(td_modes_frequency(m.lambda[k]), beam, (k < 2 ? 0.01 : 0.025) * beam);
    }
    check_orthonormal(&f, &m);
    td_modes_free(&m);
    fixture_free(&f);
}

// ---------------------------------------------------------------- none is missed

// Eigenvalues below s: negative pivots of K - s M.
static int count_below(fixture *f, double s)
{
    int n = 0, count = 0, *at = malloc((size_t)f->n * sizeof *at);
    double *K = malloc(9 * (size_t)f->soft->pattern.blocks * sizeof *K), *force = malloc((size_t)f->n * sizeof *force);
    evaluate(f, f->soft->rest, true, force, K);
    for (int64_t b = 0; b < f->soft->pattern.blocks; b++)
        for (int c = 0; c < 9; c += 4)
            K[9 * b + c] -= s * f->soft->mass[b];
    double *all = dense_of(&f->soft->pattern, K);
    for (int i = 0; i < f->n; i++)
        if (!f->soft->held[i])
            at[n++] = i;
    double *L = malloc((size_t)(n * n) * sizeof *L);
    for (int i = 0; i < n * n; i++)
        L[i] = all[at[i / n] * f->n + at[i % n]];
    for (int j = 0; j < n; j++)
    {
        count += L[j * n + j] < 0;
        for (int i = j + 1; i < n; i++)
        {
            double factor = L[i * n + j] / L[j * n + j];
            for (int k = j + 1; k < n; k++)
                L[i * n + k] -= factor * L[j * n + k];
        }
    }
    free(at);
    free(K);
    free(force);
    free(all);
    free(L);
    return count;
}

// Cubes of hexahedra have modes twice, which Lanczos' method could see once; free, fixed on a side, and on a hinge.
static void test_counts(void **context)
{
    (void)context;
    static const struct
    {
        const char *fixed;
        int rigid;
    } cases[] = {{"", 6}, {"    fixed: [{group: zmin}]\n", 0}, {"    fixed: [{box: [[0, 0, 0], [0, 2, 0]]}]\n", 1}};
    for (int c = 0; c < 3; c++)
        for (int consistent = 0; consistent < 2; consistent++)
        {
            char text[1024];
            snprintf(text, sizeof text,
                     "    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [2, 2, 2], elements: hexahedra}\n"
                     "    material: {law: stvk, young: 1e6, poisson: 0.3, density: 500}\n    mass: %s\n%s",
                     consistent ? "consistent" : "lumped", cases[c].fixed);
            fixture f = open_scene(text);
            tdModes m = modes_of(&f, 14, 0);
            assert_int_equal(m.n_rigid, cases[c].rigid);
            check_orthonormal(&f, &m);
            for (int k = 0; k < 14; k++)
            {
                // As many as found so far, counting those that are equal as one.
                int same = k + 1;
                while (same < 14 && m.lambda[same] < m.lambda[k] * (1 + 1e-8))
                    same++;
                if (same == 14)
                    break;
                assert_int_equal(count_below(&f, m.lambda[k] * (1 + 5e-9)), same + m.n_rigid);
            }
            td_modes_free(&m);
            fixture_free(&f);
        }
}

static void test_plane(void **context)
{
    (void)context;
    fixture f = open_scene("    mesh: {rectangle: [[0, 0], [1, 0.7]], cells: [5, 4]}\n    plane: stress\n"
                           "    material: {law: stvk, young: 1e4, poisson: 0.3, density: 1000}\n");
    tdModes m = modes_of(&f, 6, 3);
    assert_int_equal(m.n_rigid, 3);
    check_orthonormal(&f, &m);
    assert_int_equal(count_below(&f, m.lambda[4] * 1.0001), 5 + 3);
    for (int64_t i = 2; i < m.n; i += 3)
        for (int k = 0; k < 6; k++)
            assert_true(m.psi[k * m.n + i] == 0 && m.derived[k * m.n + i] == 0);
    td_modes_free(&m);
    fixture_free(&f);
}

// ---------------------------------------------------------------- derivatives

// Equilibrium under the load sum_i p_i lambda_i M psi_i by Newton's method with a dense matrix.
static void equilibrium(fixture *f, const tdModes *m, int i, double pi, int j, double pj, double *u)
{
    int n = f->n;
    double *x = malloc((size_t)n * sizeof *x), *r = malloc((size_t)n * sizeof *r),
           *load = calloc((size_t)n, sizeof *load);
    double *K = malloc(9 * (size_t)f->soft->pattern.blocks * sizeof *K), *psi = malloc((size_t)n * sizeof *psi);
    for (int k = 0; k < n; k++)
        psi[k] = pi * m->lambda[i] * m->psi[i * m->n + k] + pj * m->lambda[j] * m->psi[j * m->n + k];
    td_modes_mass(f->soft, NULL, psi, load);
    memset(u, 0, (size_t)n * sizeof *u);
    for (int pass = 0; pass < 30; pass++)
    {
        for (int k = 0; k < n; k++)
            x[k] = f->soft->rest[k] + u[k];
        evaluate(f, x, true, r, K);
        double *A = dense_of(&f->soft->pattern, K), change = 0, size = 0;
        for (int k = 0; k < n; k++)
        {
            r[k] = f->soft->held[k] ? 0 : load[k] - r[k];
            for (int l = 0; l < n && f->soft->held[k]; l++)
                A[k * n + l] = A[l * n + k] = k == l;
        }
        assert_true(dense_factor(n, A));
        dense_solve(n, A, r, r);
        for (int k = 0; k < n; k++)
        {
            u[k] += r[k];
            change = fmax(change, fabs(r[k]));
            size = fmax(size, fabs(u[k]));
        }
        free(A);
        if (change <= 1e-15 * size)
            break;
    }
    free(x);
    free(r);
    free(load);
    free(K);
    free(psi);
}

// d2u / dp_i dp_j at rest by central differences with steps d.
static void response(fixture *f, const tdModes *m, int i, int j, double d, double *out)
{
    double *u = malloc((size_t)f->n * sizeof *u);
    memset(out, 0, (size_t)f->n * sizeof *out);
    for (int s = 0; s < 4; s++)
    {
        double a = s & 1 ? d : -d, b = s & 2 ? d : -d;
        equilibrium(f, m, i, a, j, b, u);
        for (int k = 0; k < f->n; k++)
            out[k] += (a * b > 0 ? 1 : -1) * u[k] / (4 * d * d);
    }
    free(u);
}

// Differences of steps d and 2 d leave an error of the order of strain^4, some 1e-7 here; Newton's rounding over d^2
// leaves less.
static void test_derivatives(void **context)
{
    (void)context;
    static const char *const laws[] = {"stvk", "neo_hookean", "corotational"};
    for (int law = 0; law < 3; law++)
    {
        char text[1024];
        snprintf(text, sizeof text,
                 "    mesh: %s\n    material: {law: %s, young: 1e4, poisson: 0.35, density: 1000}\n"
                 "    fixed: [{box: [[-1, -1, -1], [1e-6, 2, 2]]}]\n",
                 scene_cube(2, 0.2, false), laws[law]);
        fixture f = open_scene(text);
        tdModes m = modes_of(&f, 3, 3);
        double *one = malloc(2 * (size_t)f.n * sizeof *one), *two = one + f.n;
        for (int j = 0, c = 0; j < 3; j++)
            for (int i = 0; i <= j; i++, c++)
            {
                double most = 0, size = 0;
                for (int k = 0; k < f.n; k++)
                    most = fmax(most, fmax(fabs(m.psi[i * m.n + k]), fabs(m.psi[j * m.n + k])));
                double d = 0.005 / most;
                response(&f, &m, i, j, d, one);
                response(&f, &m, i, j, 2 * d, two);
                for (int k = 0; k < f.n; k++)
                    size = fmax(size, fabs(m.derived[c * m.n + k]));
                for (int k = 0; k < f.n; k++)
                    assert_near(m.derived[c * m.n + k], (4 * one[k] - two[k]) / 3, 2e-5 * size);
            }
        free(one);
        td_modes_free(&m);
        fixture_free(&f);
    }
}

// K psi_ij = -(dK : psi_i) psi_j too, the other way round; of a free body up to forces that only rigid modes feel.
static void test_symmetry(void **context)
{
    (void)context;
    static const char *const fixed[] = {"    fixed: [{box: [[-1, -1, -1], [1e-6, 2, 2]]}]\n", ""};
    for (int free_body = 0; free_body < 2; free_body++)
    {
        char text[1024];
        snprintf(text, sizeof text,
                 "    mesh: %s\n    material: {law: stvk, young: 1e4, poisson: 0.35, density: 1000}\n%s",
                 scene_cube(2, 0.2, false), fixed[free_body]);
        fixture f = open_scene(text);
        tdModes m = modes_of(&f, 4, 4);
        assert_int_equal(m.n_rigid, free_body ? 6 : 0);
        size_t n = (size_t)f.n, values = 9 * (size_t)f.soft->pattern.blocks;
        double *K = malloc(3 * values * sizeof *K), *K1 = K + values, *K2 = K1 + values;
        double *x = malloc(4 * n * sizeof *x), *force = x + n, *left = force + n, *right = left + n;
        evaluate(&f, f.soft->rest, true, force, K);
        for (int i = 0; i < 4; i++)
        {
            const double *psi = m.psi + i * m.n;
            double step = 1e-3;
            for (int k = 0; k < f.n; k++)
                x[k] = f.soft->rest[k] + step * psi[k];
            evaluate(&f, x, true, force, K1);
            for (int k = 0; k < f.n; k++)
                x[k] = f.soft->rest[k] - step * psi[k];
            evaluate(&f, x, true, force, K2);
            for (size_t c = 0; c < values; c++)
                K1[c] = (K1[c] - K2[c]) / (2 * step);
            for (int j = i; j < 4; j++)
            {
                const double *derived = m.derived + (j * (j + 1) / 2 + i) * m.n;
                td_block_multiply(NULL, &f.soft->pattern, K, derived, left, false);
                td_block_multiply(NULL, &f.soft->pattern, K1, m.psi + j * m.n, right, false);
                double size = 0;
                for (int k = 0; k < f.n; k++)
                {
                    left[k] = f.soft->held[k] ? 0 : left[k] + right[k];
                    size = fmax(size, fabs(right[k]));
                }
                for (int z = 0; z < m.n_rigid; z++)
                {
                    double amount = 0;
                    for (int k = 0; k < f.n; k++)
                        amount += m.rigid[z * m.n + k] * left[k];
                    td_modes_mass(f.soft, NULL, m.rigid + z * m.n, x);
                    for (int k = 0; k < f.n; k++)
                        left[k] -= amount * x[k];
                    assert_near(mass_product(&f, m.rigid + z * m.n, derived), 0,
                                1e-10 * sqrt(mass_product(&f, derived, derived)));
                }
                for (int k = 0; k < f.n; k++)
                    assert_near(left[k], 0, 1e-8 * size);
            }
        }
        free(K);
        free(x);
        td_modes_free(&m);
        fixture_free(&f);
    }
}

// Sums in one order whatever the number of threads; ARPACK starts from a vector of ours.
static void test_threads(void **context)
{
    (void)context;
    char text[1024];
    snprintf(text, sizeof text,
             "    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [7, 7, 7]}\n    mass: consistent\n"
             "    material: {law: stvk, young: 1e4, poisson: 0.3, density: 1000}\n");
    fixture f = open_scene(text);
    tdModes m[2];
    for (int k = 0; k < 2; k++)
    {
        tdError error = {0};
        tdSettings settings = td_default_settings();
        settings.threads = 1 + 2 * k;
        tdModesSettings wanted = {.modes = 4, .derivatives = 2, .memory = 1e9};
        assert_ok(td_modes(f.model, 0, &settings, &wanted, &m[k], &error), error);
    }
    size_t n = (size_t)f.n * sizeof(double);
    assert_memory_equal(m[0].lambda, m[1].lambda, 4 * sizeof(double));
    assert_memory_equal(m[0].psi, m[1].psi, 4 * n);
    assert_memory_equal(m[0].derived, m[1].derived, 3 * n);
    td_modes_free(&m[0]);
    td_modes_free(&m[1]);
    fixture_free(&f);
}

// ---------------------------------------------------------------- bases

#define BEAM                                                                                                           \
    "    mesh: {box: [[0, 0, 0], [1, 0.1, 0.08]], cells: [10, 1, 1], elements: hexahedra}\n"                           \
    "    fixed: [{group: xmin}]\n    material: {law: %s, young: 1e6, poisson: 0.3, density: 1000}\n"

static void test_basis(void **context)
{
    (void)context;
    enum
    {
        R = 9
    };
    char text[1024];
    snprintf(text, sizeof text, BEAM, "stvk");
    fixture f = open_scene(text);
    tdModes m = modes_of(&f, 5, 5);
    double *U = malloc(2 * (size_t)(f.n * R) * sizeof *U), *V = U + f.n * R, sigma[R];
    double *a = malloc(2 * (size_t)f.n * sizeof *a), *b = a + f.n;
    tdError error = {0};
    assert_ok(td_modes_basis(&m, f.soft, NULL, R, NAN, TD_ORTHONORMAL_MASS, U, sigma, &error), error);
    assert_ok(td_modes_basis(&m, f.soft, NULL, R, NAN, TD_ORTHONORMAL_PLAIN, V, NULL, &error), error);
    for (int i = 0; i < R; i++)
    {
        assert_true(i == 0 || (sigma[i] <= sigma[i - 1] && sigma[i] > 0));
        for (int j = 0; j <= i; j++)
        {
            double plain = 0, both = 0;
            for (int k = 0; k < f.n; k++)
            {
                a[k] = U[k * R + i];
                b[k] = U[k * R + j];
                plain += V[k * R + i] * V[k * R + j];
                both += V[k * R + i] * V[k * R + i];
            }
            assert_near(mass_product(&f, a, b), i == j, 1e-12);
            assert_near(plain, i == j, 1e-12);
            assert_near(both, 1, 1e-12);
        }
    }
    // The same directions: V's columns are in the span of U.
    for (int i = 0; i < R; i++)
    {
        for (int k = 0; k < f.n; k++)
            a[k] = V[k * R + i];
        double rest = mass_product(&f, a, a), whole = rest;
        for (int j = 0; j < R; j++)
        {
            for (int k = 0; k < f.n; k++)
                b[k] = U[k * R + j];
            double part = mass_product(&f, a, b);
            rest -= part * part;
        }
        assert_near(rest, 0, 1e-11 * whole);
    }
    // Refused: more than there are.
    assert_int_equal(td_modes_basis(&m, f.soft, NULL, 21, NAN, TD_ORTHONORMAL_MASS, U, NULL, &error), TD_ERROR_INPUT);
    free(U);
    free(a);
    td_modes_free(&m);
    fixture_free(&f);

    snprintf(text, sizeof text, BEAM, "linear");
    f = open_scene(text);
    m = modes_of(&f, 5, 5);
    U = malloc((size_t)(f.n * R) * sizeof *U);
    assert_int_equal(td_modes_basis(&m, f.soft, NULL, 6, NAN, TD_ORTHONORMAL_MASS, U, NULL, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "5 independent"));
    assert_ok(td_modes_basis(&m, f.soft, NULL, 5, NAN, TD_ORTHONORMAL_MASS, U, NULL, &error), error);
    free(U);
    td_modes_free(&m);
    fixture_free(&f);
}

// In other units the same basis: relative singular values do not change.
static void test_units(void **context)
{
    (void)context;
    double sigma[2][9];
    for (int mm = 0; mm < 2; mm++)
    {
        fixture f = {.model = scene_model("tendril: 1\ntime_step: 10 ms\nsteps: 1\nbodies:\n  - name: a\n"
                                          "    mesh: {box: [[0, 0, 0], [%g, %g, %g]], cells: [8, 1, 1]}\n"
                                          "    fixed: [{group: xmin}]\n"
                                          "    material: {law: stvk, young: 1 MPa, poisson: 0.3, density: %g}\n",
                                          mm ? 1000.0 : 1, mm ? 100.0 : 0.1, mm ? 80.0 : 0.08, mm ? 1e-6 : 1000)};
        f.state = scene_state(f.model);
        f.soft = scene_soft(f.model);
        f.n = (int)f.model->coords;
        tdModes m = modes_of(&f, 4, 4);
        double *U = malloc((size_t)(9 * f.n) * sizeof *U);
        tdError error = {0};
        assert_ok(td_modes_basis(&m, f.soft, NULL, 9, NAN, TD_ORTHONORMAL_MASS, U, sigma[mm], &error), error);
        free(U);
        td_modes_free(&m);
        scene_free(f.model, f.state);
    }
    for (int i = 0; i < 9; i++)
        assert_near(sigma[1][i] / sigma[1][0], sigma[0][i] / sigma[0][0], 1e-7 * sigma[0][i] / sigma[0][0]);
}

// How far training goes by default: a fifth of the longest side of the body, whichever way that points.
static void test_default_amplitude(void **context)
{
    (void)context;
    for (int way = 0; way < 3; way++)
    {
        double side[3] = {0.1, 0.1, 0.1};
        int cells[3] = {1, 1, 1};
        side[way] = 1;
        side[(way + 1) % 3] = 0.08;
        cells[way] = 8;
        fixture f = {.model = scene_model("tendril: 1\ntime_step: 10 ms\nsteps: 1\nbodies:\n  - name: a\n"
                                          "    mesh: {box: [[0.5, 0.5, 0.5], [%g, %g, %g]], cells: [%d, %d, %d]}\n"
                                          "    fixed: [{group: %cmin}]\n"
                                          "    material: {law: stvk, young: 1 MPa, poisson: 0.3, density: 1000}\n",
                                          0.5 + side[0], 0.5 + side[1], 0.5 + side[2], cells[0], cells[1], cells[2],
                                          'x' + way)};
        f.state = scene_state(f.model);
        f.soft = scene_soft(f.model);
        f.n = (int)f.model->coords;
        tdModes m = modes_of(&f, 2, 0);
        double given = td_modes_amplitude(&m, f.soft, 0.2), standard = td_modes_amplitude(&m, f.soft, NAN);
        assert_near(standard, given, 1e-12 * given);
        assert_near(td_modes_amplitude(&m, f.soft, 0.1), given / 2, 1e-12 * given);
        td_modes_free(&m);
        scene_free(f.model, f.state);
    }
}

// Newton's method on the polynomials under a force on the tip; the displacement there.
static double reduced_tip(const tdStvk *stvk, const double *load, const double *tip)
{
    enum
    {
        MOST = 32
    };
    int r = stvk->r;
    double q[MOST] = {0}, f[MOST], K[MOST * MOST], *scratch = td_take((size_t)td_stvk_scratch(r), sizeof *scratch);
    for (int step = 1; step <= 20; step++)
        for (int pass = 0; pass < 40; pass++)
        {
            double change = 0;
            td_stvk_kernel(td_isa_pick(false))(stvk, q, scratch, f, K, r, NULL);
            for (int i = 0; i < r; i++)
                f[i] = step / 20.0 * load[i] - f[i];
            assert_true(dense_factor(r, K));
            dense_solve(r, K, f, f);
            for (int i = 0; i < r; i++)
            {
                q[i] += f[i];
                change = fmax(change, fabs(f[i]));
            }
            if (change < 1e-12)
                break;
        }
    double sum = 0;
    for (int i = 0; i < r; i++)
        sum += tip[i] * q[i];
    free(scratch);
    return sum;
}

// A cantilever bent by a third of its length: with modes alone it stretches as it turns and is far too stiff, with
// their derivatives it follows the full model.
static void test_bending(void **context)
{
    (void)context;
    char text[640];
    snprintf(text, sizeof text, BEAM, "stvk");
    fixture f = open_scene(text);
    tdModes m = modes_of(&f, 6, 6);
    double *U = malloc((size_t)(f.n * 20) * sizeof *U), load[20], tip[20], found[2];
    int32_t corner = 0;
    tdError error = {0};
    for (int32_t i = 0; i < f.soft->n_nodes; i++)
        if (f.soft->rest[3 * i] > 0.999)
            corner = i;
    for (int derived = 0; derived < 2; derived++)
    {
        int r = derived ? 20 : 6;
        tdModes some = m;
        some.k2 = derived ? 6 : 0;
        assert_ok(td_modes_basis(&some, f.soft, NULL, r, NAN, TD_ORTHONORMAL_MASS, U, NULL, &error), error);
        tdStvk stvk;
        assert_ok(td_stvk_create(f.soft, NULL, r, U, TD_STVK_MEMORY, &stvk, &error), error);
        for (int i = 0; i < r; i++)
        {
            tip[i] = U[(3 * corner + 2) * r + i];
            load[i] = 0;
            for (int32_t k = 0; k < f.soft->n_nodes; k++)
                if (f.soft->rest[3 * k] > 0.999)
                    load[i] += U[(3 * k + 2) * r + i] * 8 / 4;
        }
        found[derived] = reduced_tip(&stvk, load, tip);
        td_stvk_free(&stvk);
    }
    // The full model, by the step itself.
    tdModel *model =
        scene_model("tendril: 1\nintegrator: {method: static}\nsteps: 20\nbodies:\n  - name: a\n"
                    "    mesh: {box: [[0, 0, 0], [1, 0.1, 0.08]], cells: [10, 1, 1], elements: hexahedra}\n"
                    "    fixed: [{group: xmin}]\n"
                    "    material: {law: stvk, young: 1e6, poisson: 0.3, density: 1000}\n"
                    "loads: [{name: tip, type: point, body: a, group: xmax, force: [0, 0, 8]}]\n"
                    "motion: {keyframes: [{t: 0, tip: 0}, {t: 20 s, tip: 1}]}\ntime_step: 1\n");
    tdState *state = scene_state(model);
    scene_steps(model, state, 20);
    double full = td_state_positions(model, state, 0)[3 * corner + 2] - f.soft->rest[3 * corner + 2];
    assert_true(full > 0.25);
    assert_near(found[1], full, 0.03 * full);
    assert_true(found[0] < 0.7 * full);
    scene_free(model, state);
    free(U);
    td_modes_free(&m);
    fixture_free(&f);
}

// ---------------------------------------------------------------- refusals

static void expect_refusal(const fixture *f, tdModesSettings wanted, tdStatus kind, const char *words)
{
    tdModes modes;
    tdError error = {0};
    assert_int_equal(td_modes(f->model, 0, NULL, &wanted, &modes, &error), kind);
    if (strstr(error.message, words) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, words);
    assert_null(modes.psi);
}

static void test_refusals(void **context)
{
    (void)context;
    fixture f = open_scene("    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [1, 1, 1]}\n"
                           "    material: {law: stvk, young: 1e6, poisson: 0.3, density: 1000}\n");
    expect_refusal(&f, (tdModesSettings){18, 0, 1e9}, TD_ERROR_INPUT, "has 18 apart");
    expect_refusal(&f, (tdModesSettings){5, 6, 1e9}, TD_ERROR_INPUT, "derivatives of no more");
    expect_refusal(&f, (tdModesSettings){0, 0, 1e9}, TD_ERROR_INPUT, "0 modes");
    expect_refusal(&f, (tdModesSettings){5, 5, 1000}, TD_ERROR_INPUT, "request fewer");
    tdModes all = modes_of(&f, 17, 2); // all but one: the whole space is searched
    check_orthonormal(&f, &all);
    td_modes_free(&all);
    fixture_free(&f);
    f = open_scene("    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [2, 2, 2]}\n"
                   "    material: {law: stvk, young: 1e6, poisson: 0.3, density: 1000}\n"
                   "    fixed: [{all: true}]\n");
    expect_refusal(&f, td_default_modes(), TD_ERROR_INPUT, "has 0 apart");
    fixture_free(&f);
}

// Two cubes that do not touch are no body in one piece.
static void test_pieces(void **context)
{
    (void)context;
    tdMesh mesh = {0};
    tdError error = {0};
    char path[SCENE_PATH], text[1024];
    snprintf(path, sizeof path, "%s", scene_cube(1, 0, false));
    assert_ok(td_mesh_box((double[3]){0, 0, 0}, (double[3]){1, 1, 1}, (int[3]){1, 1, 1}, false, &mesh, &error), error);
    int64_t nodes = mesh.n_nodes, cells = mesh.cells[TD_CELL_TET].count;
    int group = td_mesh_group(&mesh, "second", 3, 7);
    for (int64_t i = 0; i < nodes; i++)
        assert_true(td_mesh_add_node(&mesh, mesh.x[3 * i] + 3, mesh.x[3 * i + 1], mesh.x[3 * i + 2]));
    for (int64_t e = 0; e < cells; e++)
    {
        int32_t moved[4];
        for (int a = 0; a < 4; a++)
            moved[a] = mesh.cells[TD_CELL_TET].nodes[4 * e + a] + (int32_t)nodes;
        assert_true(td_mesh_add_cell(&mesh, TD_CELL_TET, moved) &&
                    td_mesh_group_add(&mesh, group, TD_CELL_TET, cells + e));
    }
    assert_ok(td_mesh_write(&mesh, path, TD_MESH_UNKNOWN, TD_MESH_BINARY, &error), error);
    td_mesh_free(&mesh);
    for (int held = 0; held < 2; held++)
    {
        snprintf(text, sizeof text,
                 "    mesh: %s\n    material: {law: stvk, young: 1e6, poisson: 0.3, density: 1000}\n%s", path,
                 held ? "    fixed: [{box: [[-1, -1, -1], [0.1, 2, 2]]}]\n" : "");
        fixture f = open_scene(text);
        expect_refusal(&f, (tdModesSettings){4, 0, 1e9}, TD_ERROR_NUMERIC, "not connected");
        fixture_free(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bar),      cmocka_unit_test(test_bar_of_tetrahedra),
        cmocka_unit_test(test_beam),     cmocka_unit_test(test_counts),
        cmocka_unit_test(test_plane),    cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_symmetry), cmocka_unit_test(test_basis),
        cmocka_unit_test(test_units),    cmocka_unit_test(test_default_amplitude),
        cmocka_unit_test(test_bending),  cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_pieces),   cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
