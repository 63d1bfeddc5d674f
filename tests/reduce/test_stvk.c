// SPDX-License-Identifier: Apache-2.0
// Polynomials of reduced St. Venant-Kirchhoff bodies against the full elements, projected.
#include "elements.h"

#include "base/timer.h"
#include "reduce/stvk.h"

// Sums of some thousand terms that partly cancel: rounding leaves 1e-14 to 1e-13 of the largest.
#define SAME 1e-11

enum
{
    MODES = 9
};

// A mesh of shaken cells; every second cell belongs to the group "other".
static const char *two_materials(meshKind kind)
{
    static char path[SCENE_PATH];
    tdMesh mesh = {0};
    tdError error = {0};
    const double low[3] = {0, 0, 0}, high[3] = {1, 1, 1};
    snprintf(path, sizeof path, "%s", scene_cube(1, 0, false));
    tdStatus status = kind == MESH_FLAT ? td_mesh_rectangle(low, high, (int[2]){4, 4}, &mesh, &error)
                                        : td_mesh_box(low, high, (int[3]){3, 2, 2}, kind == MESH_HEX, &mesh, &error);
    assert_ok(status, error);
    shake_nodes(&mesh, kind == MESH_FLAT ? 2 : 3, 0.05, true);
    if (kind == MESH_TET10)
        split_edges(&mesh);
    tdCellType cell = kind == MESH_FLAT    ? TD_CELL_TRI
                      : kind == MESH_HEX   ? TD_CELL_HEX
                      : kind == MESH_TET10 ? TD_CELL_TET10
                                           : TD_CELL_TET;
    int group = td_mesh_group(&mesh, "other", kind == MESH_FLAT ? 2 : 3, 77);
    for (int64_t e = 0; e < mesh.cells[cell].count; e += 2)
        assert_true(td_mesh_group_add(&mesh, group, cell, e));
    status = td_mesh_write(&mesh, path, TD_MESH_UNKNOWN, TD_MESH_BINARY, &error);
    assert_ok(status, error);
    td_mesh_free(&mesh);
    return path;
}

// Smooth fields with some noise, so that gradients stay of the size of q while nothing is special.
static double *make_basis(const fixture *f, int r)
{
    double *basis = calloc((size_t)(f->n * r), sizeof *basis);
    uint64_t seed = 11;
    for (int i = 0; i < r; i++)
    {
        double a[3][10];
        for (int c = 0; c < 30; c++)
            a[c / 10][c % 10] = next_random(&seed);
        for (int k = 0; k < f->n; k++)
        {
            const double *X = f->soft->rest + k / 3 * 3, *b = a[k % 3];
            double field = b[0] + b[1] * X[0] + b[2] * X[1] + b[3] * X[2] + b[4] * X[0] * X[0] + b[5] * X[1] * X[1] +
                           b[6] * X[2] * X[2] + b[7] * X[0] * X[1] + b[8] * X[1] * X[2] + b[9] * X[0] * X[2];
            basis[k * r + i] = f->soft->held[k] ? 0 : field + 0.02 * next_random(&seed);
        }
    }
    return basis;
}

static void random_q(int r, double size, uint64_t seed, double *q)
{
    for (int i = 0; i < r; i++)
        q[i] = size * next_random(&seed);
}

// x = rest + U q; W, U'f and U'KU of the full elements.
static double projected(fixture *f, int r, const double *basis, const double *q, double *force, double *K)
{
    int n = f->n;
    double *x = malloc((size_t)n * sizeof *x), *full = malloc((size_t)n * sizeof *full);
    double *values = malloc(9 * (size_t)f->soft->pattern.blocks * sizeof *values);
    for (int k = 0; k < n; k++)
    {
        x[k] = f->soft->rest[k];
        for (int i = 0; i < r; i++)
            x[k] += basis[k * r + i] * q[i];
    }
    double energy = evaluate(f, x, true, full, values);
    memset(force, 0, (size_t)r * sizeof *force);
    memset(K, 0, (size_t)(r * r) * sizeof *K);
    for (int i = 0; i < r; i++)
    {
        for (int k = 0; k < n; k++)
        {
            force[i] += basis[k * r + i] * full[k];
            x[k] = basis[k * r + i];
        }
        double *Kx = calloc((size_t)n, sizeof *Kx);
        td_block_multiply(NULL, &f->soft->pattern, values, x, Kx, false);
        for (int j = 0; j < r; j++)
            for (int k = 0; k < n; k++)
                K[i * r + j] += basis[k * r + j] * Kx[k];
        free(Kx);
    }
    free(x);
    free(full);
    free(values);
    return energy;
}

static double largest(int n, const double *a)
{
    double m = 0;
    for (int i = 0; i < n; i++)
        m = fmax(m, fabs(a[i]));
    return m;
}

static void compare(fixture *f, int r, const double *basis, const tdStvk *stvk, double size)
{
    double *scratch = td_take((size_t)td_stvk_scratch(r), sizeof *scratch);
    double *K = malloc(2 * (size_t)(r * r) * sizeof *K), *K_full = K + r * r, q[64], force[64], full[64], energy;
    tdIsa best = td_isa_pick(false);
    for (int isa = 0; isa <= (int)best; isa++)
        for (uint64_t seed = 1; seed < 5; seed++)
        {
            random_q(r, size, seed, q);
            double expected = projected(f, r, basis, q, full, K_full);
            assert_true(isfinite(expected));
            td_stvk_kernel((tdIsa)isa)(stvk, q, scratch, force, K, r, &energy);
            assert_near(energy, expected, SAME * expected);
            double f_scale = largest(r, full), K_scale = largest(r * r, K_full);
            for (int i = 0; i < r; i++)
                assert_near(force[i], full[i], SAME * f_scale);
            for (int i = 0; i < r * r; i++)
                assert_near(K[i], K_full[i], SAME * K_scale);
        }
    free(K);
    free(scratch);
}

static tdStvk make(fixture *f, int r, const double *basis)
{
    tdStvk stvk;
    tdError error = {0};
    tdStatus status = td_stvk_create(f->soft, f->state->tasks, r, basis, TD_STVK_MEMORY, &stvk, &error);
    assert_ok(status, error);
    return stvk;
}

// ---------------------------------------------------------------- against the full elements

// One to nine modes: all remainders of four that the kernels meet.
static void test_solids(void **context)
{
    (void)context;
    static const meshKind kinds[] = {MESH_TET, MESH_HEX, MESH_TET10};
    for (int k = 0; k < 3; k++)
    {
        fixture f = element_fixture(two_materials(kinds[k]),
                                    "    material: {law: stvk, young: 100, poisson: 0.3, density: 1}\n"
                                    "    materials:\n      - {group: other, law: stvk, young: 700, poisson: 0.45, "
                                    "density: 2}\n    fixed: [{box: [[-1, -1, -1], [0.1, 2, 2]]}]\n",
                                    1, false);
        assert_int_equal(f.soft->n_blocks, 2);
        double *basis = make_basis(&f, MODES);
        for (int r = k == 0 ? 1 : MODES; r <= MODES; r++)
        {
            double *some = malloc((size_t)(f.n * r) * sizeof *some);
            for (int i = 0; i < f.n * r; i++)
                some[i] = basis[i / r * MODES + i % r];
            tdStvk stvk = make(&f, r, some);
            compare(&f, r, some, &stvk, 1.5); // gradients beyond 1: elements turn over
            td_stvk_free(&stvk);
            free(some);
        }
        free(basis);
        fixture_free(&f);
    }
}

static void test_plane(void **context)
{
    (void)context;
    static const char *const plane[] = {"strain", "stress"};
    for (int k = 0; k < 2; k++)
    {
        char text[512];
        snprintf(text, sizeof text,
                 "    plane: %s\n    thickness: 0.1\n    material: {law: stvk, young: 100, poisson: 0.3, density: 1}\n"
                 "    materials:\n      - {group: other, law: stvk, young: 400, poisson: 0.2, density: 2}\n",
                 plane[k]);
        fixture f = element_fixture(two_materials(MESH_FLAT), text, 1, false);
        assert_int_equal(f.soft->n_blocks, 2);
        double *basis = make_basis(&f, MODES);
        tdStvk stvk = make(&f, MODES, basis);
        // Of plane stress the thickness must stay real: see td_stvk_create().
        compare(&f, MODES, basis, &stvk, k == 0 ? 1.5 : 0.12);
        td_stvk_free(&stvk);
        free(basis);
        fixture_free(&f);
    }
}

// Tetrahedra with a membrane on a side: triangles that turn in space.
static void test_membrane(void **context)
{
    (void)context;
    fixture f = element_fixture(two_materials(MESH_TET),
                                "    material: {law: stvk, young: 100, poisson: 0.3, density: 1}\n    materials:\n"
                                "      - {group: zmin, element: membrane, thickness: 0.01, law: stvk, young: 9000, "
                                "poisson: 0.25, density: 2}\n",
                                1, false);
    double *basis = make_basis(&f, MODES);
    tdStvk stvk = make(&f, MODES, basis);
    compare(&f, MODES, basis, &stvk, 0.1);
    td_stvk_free(&stvk);
    free(basis);
    fixture_free(&f);
}

// ---------------------------------------------------------------- properties

static fixture small_cube(int threads)
{
    return element_fixture(scene_cube(4, 0.2, false),
                           "    material: {law: stvk, young: 100, poisson: 0.3, density: 1}\n", threads, false);
}

// A rotation has no energy though each of its terms has: with the columns d(Rx)/d(cos), d(Rx)/d(sin) the path
// q = (cos t - 1, sin t) is one.
static void test_rotation(void **context)
{
    (void)context;
    fixture f = small_cube(1);
    double *basis = calloc((size_t)(f.n * 2), sizeof *basis);
    for (int i = 0; i < f.n; i += 3)
    {
        const double *X = f.soft->rest + i;
        basis[2 * i] = X[0];
        basis[2 * (i + 1)] = X[1];
        basis[2 * i + 1] = -X[1];
        basis[2 * (i + 1) + 1] = X[0];
    }
    tdStvk stvk = make(&f, 2, basis);
    double *scratch = td_take((size_t)td_stvk_scratch(2), sizeof *scratch), force[2], energy;
    for (double t = 0; t < 7; t += 0.7)
    {
        double q[2] = {cos(t) - 1, sin(t)};
        td_stvk_kernel(td_isa_pick(false))(&stvk, q, scratch, force, NULL, 0, &energy);
        assert_near(energy, 0, 1e-12 * stvk.P[0]);
        assert_near(force[0], 0, 1e-12 * stvk.P[0]);
        assert_near(force[1], 0, 1e-12 * stvk.P[0]);
    }
    free(scratch);
    td_stvk_free(&stvk);
    free(basis);
    fixture_free(&f);
}

// f = dW/dq and K = df/dq. For polynomials of degree 4 and 3 the symmetric quotient with its next correction,
// (8 (g(h) - g(-h)) - (g(2h) - g(-2h))) / 12 h, has no error but rounding, whatever h.
static void test_derivatives(void **context)
{
    (void)context;
    enum
    {
        R = 7
    };
    fixture f = small_cube(1);
    double *basis = make_basis(&f, R), q[R], K[R * R], force[R], h = 0.25;
    tdStvk stvk = make(&f, R, basis);
    double *scratch = td_take((size_t)td_stvk_scratch(R), sizeof *scratch);
    tdStvkKernel kernel = td_stvk_kernel(td_isa_pick(false));
    random_q(R, 1, 5, q);
    double wide[R * (R + 3)];
    memset(wide, 0xff, sizeof wide);
    kernel(&stvk, q, scratch, NULL, wide, R + 3, NULL);
    kernel(&stvk, q, scratch, force, K, R, NULL);
    for (int i = 0; i < R * (R + 3); i++)
        assert_true(i % (R + 3) < R ? wide[i] == K[i / (R + 3) * R + i % (R + 3)] : isnan(wide[i]));
    double f_scale = largest(R, force), K_scale = largest(R * R, K);
    for (int i = 0; i < R; i++)
    {
        static const double weight[4] = {1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12}, way[4] = {-2, -1, 1, 2};
        double slope = 0, column[R] = {0}, keep = q[i];
        for (int s = 0; s < 4; s++)
        {
            double energy, moved[R];
            q[i] = keep + way[s] * h;
            kernel(&stvk, q, scratch, moved, NULL, 0, &energy);
            slope += weight[s] * energy / h;
            for (int j = 0; j < R; j++)
                column[j] += weight[s] * moved[j] / h;
        }
        q[i] = keep;
        assert_near(slope, force[i], SAME * f_scale);
        for (int j = 0; j < R; j++)
        {
            assert_near(column[j], K[j * R + i], SAME * K_scale);
            assert_true(K[j * R + i] == K[i * R + j]); // written, not computed twice
        }
    }
    free(scratch);
    td_stvk_free(&stvk);
    free(basis);
    fixture_free(&f);
}

// The coefficients of the first modes are those of a smaller basis; kept ones give the same bits.
static void test_kept(void **context)
{
    (void)context;
    fixture f = small_cube(1);
    double *basis = make_basis(&f, MODES), q[MODES], a[MODES], b[MODES];
    tdStvk whole = make(&f, MODES, basis), again, less;
    tdError error = {0};
    assert_ok(td_stvk_set(MODES, whole.P, whole.Q, whole.S, &again, &error), error);
    assert_ok(td_stvk_set(5, whole.P, whole.Q, whole.S, &less, &error), error);
    double *scratch = td_take((size_t)td_stvk_scratch(MODES), sizeof *scratch);
    tdStvkKernel kernel = td_stvk_kernel(td_isa_pick(false));
    random_q(MODES, 1, 3, q);
    kernel(&whole, q, scratch, a, NULL, 0, NULL);
    kernel(&again, q, scratch, b, NULL, 0, NULL);
    assert_memory_equal(a, b, sizeof a);
    memset(q + 5, 0, (MODES - 5) * sizeof *q);
    kernel(&whole, q, scratch, a, NULL, 0, NULL);
    kernel(&less, q, scratch, b, NULL, 0, NULL);
    for (int i = 0; i < 5; i++)
        assert_near(a[i], b[i], 1e-13 * largest(MODES, a));
    free(scratch);
    td_stvk_free(&whole);
    td_stvk_free(&again);
    td_stvk_free(&less);
    free(basis);
    fixture_free(&f);
}

// 16 modes: several tiles of the Gram matrix, and several passes over the points.
static void test_threads(void **context)
{
    (void)context;
    enum
    {
        R = 16
    };
    double *P = NULL, *S = NULL;
    for (int threads = 1; threads <= 3; threads++)
    {
        fixture f = small_cube(threads);
        double *basis = make_basis(&f, R);
        tdStvk stvk = make(&f, R, basis);
        size_t p = (size_t)td_stvk_pairs(R) * sizeof *P, s = (size_t)td_stvk_quadruples(R) * sizeof *S;
        if (P == NULL)
        {
            P = malloc(p);
            S = malloc(s);
            memcpy(P, stvk.P, p);
            memcpy(S, stvk.S, s);
        }
        assert_memory_equal(P, stvk.P, p);
        assert_memory_equal(S, stvk.S, s);
        td_stvk_free(&stvk);
        free(basis);
        fixture_free(&f);
    }
    free(P);
    free(S);
}

// ---------------------------------------------------------------- refusals

static void expect_refusal(fixture *f, int r, const double *basis, double limit, const char *words)
{
    tdStvk stvk;
    tdError error = {0};
    assert_int_equal(td_stvk_create(f->soft, NULL, r, basis, limit, &stvk, &error), TD_ERROR_INPUT);
    if (strstr(error.message, words) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, words);
    assert_null(stvk.P);
    td_stvk_free(&stvk);
}

static void test_refusals(void **context)
{
    (void)context;
    fixture f = small_cube(1);
    // Refused before anything is read or taken.
    expect_refusal(&f, 0, NULL, TD_STVK_MEMORY, "1 to");
    expect_refusal(&f, 100000, NULL, TD_STVK_MEMORY, "1 to");
    expect_refusal(&f, 300, NULL, TD_STVK_MEMORY, "use fewer modes");
    tdStvkCost cost = td_stvk_cost(f.soft, 300);
    assert_true(cost.bytes > TD_STVK_MEMORY && cost.kept < cost.bytes);
    double *basis = make_basis(&f, 3);
    cost = td_stvk_cost(f.soft, 3);
    expect_refusal(&f, 3, basis, cost.bytes - 1, "MB");
    tdStvk stvk;
    tdError error = {0};
    assert_ok(td_stvk_create(f.soft, NULL, 3, basis, cost.bytes, &stvk, &error), error);
    td_stvk_free(&stvk);
    free(basis);
    fixture_free(&f);

    f = element_fixture(scene_cube(1, 0, false), "    material: {law: linear, young: 100, poisson: 0.3, density: 1}\n",
                        1, false);
    expect_refusal(&f, 1, NULL, TD_STVK_MEMORY, "'linear'");
    fixture_free(&f);

    f = element_fixture(scene_cube(1, 0, false),
                        "    material: {law: stvk, young: 100, poisson: 0.3, density: 1, viscoelastic: [{modulus: 0.3, "
                        "time: 1}]}\n",
                        1, false);
    expect_refusal(&f, 1, NULL, TD_STVK_MEMORY, "viscoelastic");
    fixture_free(&f);

    f = element_fixture(two_materials(MESH_FLAT),
                        "    plane: strain\n    material: {law: stvk, young: 100, poisson: 0.3, density: 1}\n", 1,
                        false);
    basis = calloc((size_t)f.n, sizeof *basis);
    basis[2] = 1; // lifts a node
    expect_refusal(&f, 1, basis, TD_STVK_MEMORY, "leaves the plane");
    free(basis);
    fixture_free(&f);
}

// ---------------------------------------------------------------- cost

// Arithmetic only, so that a busy machine does not matter; times are those of "tendril bench stvk".
static void test_flops(void **context)
{
    (void)context;
    assert_true(td_stvk_flops(20) < 1.1e5 && td_stvk_flops(30) < 5e5);
    assert_near(td_stvk_flops(40) / td_stvk_flops(20), 16, 2); // the law r^4
    assert_int_equal(td_stvk_quadruples(4), 35);
    assert_int_equal(td_stvk_triples(4), 20);
    assert_int_equal(td_stvk_scratch(5), 48);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solids),      cmocka_unit_test(test_plane), cmocka_unit_test(test_membrane),
        cmocka_unit_test(test_rotation),    cmocka_unit_test(test_kept),  cmocka_unit_test(test_threads),
        cmocka_unit_test(test_derivatives), cmocka_unit_test(test_flops), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
