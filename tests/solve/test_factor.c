// SPDX-License-Identifier: Apache-2.0
// The multifrontal factorization against CHOLMOD's own on the same symbolic factor: entry by entry, on meshes from one
// supernode to fronts that are cut into tiles; matrices that are not positive definite; the same bits on more threads.
// Solves with one to eleven right-hand sides against CHOLMOD's. Fronts by vectors of any length against plain loops.
#include "base/isa.h"
#include "mesh/generate.h"
#include "scenes.h"
#include "solve/linear.h"

#include <cholmod.h>

typedef struct fixture
{
    tdArena arena;
    tdMesh mesh;
    tdBlockPattern pattern;
    tdLinearModel model;
    cholmod_common common;
    double *values, *work;
    int64_t coords;
} fixture;

// A body with some held coordinates and a matrix over its pattern: B'B of a random B for each element.
static void make(fixture *f, tdMesh *mesh)
{
    tdError error = {0};
    *f = (fixture){.mesh = *mesh};
    const tdCells *tets = &f->mesh.cells[TD_CELL_TET];
    assert_ok(td_block_pattern(&f->arena, (int32_t)f->mesh.n_nodes, tets->count, 4, tets->nodes, &f->pattern, &error),
              error);
    f->coords = 3 * (int64_t)f->pattern.n;
    bool *held = TD_TAKE(&f->arena, bool, f->coords);
    for (int64_t i = 0; i < f->coords; i++)
        held[i] = i < 3 || i % 97 == 5;
    assert_ok(td_linear_model_create(&f->arena, &f->pattern, held, NULL, &f->model, &error), error);
    f->values = TD_TAKE(&f->arena, double, 9 * f->pattern.blocks);
    f->work = TD_TAKE(&f->arena, double, f->model.plan.room + 1);
    uint64_t seed = 7;
    for (int64_t e = 0; e < tets->count; e++)
    {
        double B[3][12];
        for (int i = 0; i < 36; i++)
            B[i / 12][i % 12] = next_random(&seed);
        for (int i = 0; i < 12; i++)
            for (int j = 0; j < 12; j++)
            {
                int32_t a = tets->nodes[4 * e + i / 3], b = tets->nodes[4 * e + j / 3];
                double sum = i == j ? 0.1 : 0;
                for (int k = 0; k < 3; k++)
                    sum += B[k][i] * B[k][j];
                if (a >= b)
                    f->values[9 * (int64_t)td_block_find(&f->pattern, a, b) + 3 * (i % 3) + j % 3] += sum;
            }
    }
    td_cholmod_start(&f->common);
}

static void drop(fixture *f)
{
    cholmod_finish(&f->common);
    td_linear_model_free(&f->model);
    td_mesh_free(&f->mesh);
    td_arena_free(&f->arena);
}

static cholmod_factor *symbolic(fixture *f)
{
    tdError error = {0};
    cholmod_factor *factor = cholmod_copy_factor(f->model.symbolic, &f->common);
    assert_non_null(factor);
    assert_ok(td_factor_ready(factor, &f->common, &error), error);
    return factor;
}

// CHOLMOD's own numbers; NULL: it finds the matrix not positive definite.
static cholmod_factor *reference(fixture *f)
{
    const tdLinearModel *model = &f->model;
    double *x = test_malloc((size_t)model->Ap[model->n] * sizeof *x);
    for (int32_t k = 0; k < model->Ap[model->n]; k++)
        x[k] = f->values[model->source[k]];
    cholmod_sparse A = {.nrow = (size_t)model->n,
                        .ncol = (size_t)model->n,
                        .nzmax = (size_t)model->Ap[model->n],
                        .p = model->Ap,
                        .i = model->Ai,
                        .x = x,
                        .stype = -1,
                        .itype = CHOLMOD_INT,
                        .xtype = CHOLMOD_REAL,
                        .dtype = CHOLMOD_DOUBLE,
                        .sorted = 1,
                        .packed = 1};
    cholmod_factor *factor = cholmod_copy_factor(model->symbolic, &f->common);
    int levels = td_openmp_quiet();
    cholmod_factorize(&A, factor, &f->common);
    td_openmp_restore(levels);
    if (f->common.status == CHOLMOD_NOT_POSDEF)
        cholmod_free_factor(&factor, &f->common);
    test_free(x);
    return factor;
}

// Largest difference of two factors, relative to the largest entry; above the diagonal there is nothing to compare.
static double difference(const cholmod_factor *a, const cholmod_factor *b)
{
    const int32_t *super = a->super, *row = a->pi, *at = a->px;
    const double *x = a->x, *y = b->x;
    double off = 0, largest = 0;
    for (size_t s = 0; s < a->nsuper; s++)
    {
        int64_t columns = super[s + 1] - super[s], rows = row[s + 1] - row[s];
        for (int64_t j = 0; j < columns; j++)
            for (int64_t i = j; i < rows; i++)
            {
                int64_t k = at[s] + j * rows + i;
                off = fmax(off, fabs(x[k] - y[k]));
                largest = fmax(largest, fabs(y[k]));
                assert_true(isfinite(x[k]));
            }
    }
    return off / largest;
}

// Right-hand sides one by one by CHOLMOD, and together by the kernels of each instruction set, on one to three threads.
static void compare_solves(fixture *f, cholmod_factor *factor)
{
    enum
    {
        MOST = 11
    };
    int32_t n = f->model.n;
    uint64_t seed = 3;
    double *b = test_malloc((size_t)(MOST * f->coords) * sizeof *b),
           *x = test_malloc((size_t)(2 * MOST * f->coords) * sizeof *x);
    double *theirs = test_malloc((size_t)(MOST * n) * sizeof *theirs), *first = x + MOST * f->coords;
    const tdIsa sets[] = {TD_ISA_PORTABLE, td_isa_pick(false), td_isa_pick_wide(false)};
    for (int64_t i = 0; i < MOST * f->coords; i++)
        b[i] = next_random(&seed) - 0.5;
    for (int j = 0; j < MOST; j++)
    {
        cholmod_dense *B = cholmod_zeros((size_t)n, 1, CHOLMOD_REAL, &f->common);
        for (int32_t k = 0; k < n; k++)
            ((double *)B->x)[k] = b[j * f->coords + f->model.coord[k]];
        cholmod_dense *X = cholmod_solve(CHOLMOD_A, factor, B, &f->common);
        memcpy(theirs + (int64_t)j * n, X->x, (size_t)n * sizeof(double));
        cholmod_free_dense(&B, &f->common);
        cholmod_free_dense(&X, &f->common);
    }
    for (int count = 1; count <= MOST; count += count < 6 ? 1 : 5)
        for (int set = 0; set < 3; set++)
            for (int threads = 1; threads <= 3; threads++)
            {
                tdTasks *tasks = NULL;
                tdError error = {0};
                tdArena arena = {0};
                tdSubstitution room;
                assert_ok(td_tasks_create(threads, &tasks, &error), error);
                assert_ok(td_substitution_create(&arena, &f->model.shape, sets[set], &room, &error), error);
                for (int64_t i = 0; i < MOST * f->coords; i++)
                    x[i] = 7;
                tdSubstituteTask task = {.values = factor->x,
                                         .coord = f->model.coord,
                                         .b = b,
                                         .x = x,
                                         .more = count - 1,
                                         .stride = f->coords,
                                         .more_b = b + f->coords,
                                         .more_x = x + f->coords};
                td_substitute(&room, tasks, &task);
                double off = 0, largest = 0;
                for (int j = 0; j < count; j++)
                    for (int32_t k = 0; k < n; k++)
                    {
                        off = fmax(off, fabs(x[j * f->coords + f->model.coord[k]] - theirs[(int64_t)j * n + k]));
                        largest = fmax(largest, fabs(theirs[(int64_t)j * n + k]));
                    }
                assert_true(off < 1e-11 * largest); // the matrix has a condition of some thousands
                for (int j = 0; j < MOST; j++)
                    for (int64_t i = 0; i < f->coords; i++)
                        if (j >= count || f->model.dof[i] < 0)
                            assert_true(x[j * f->coords + i] == 7); // not touched
                if (threads == 1)
                    memcpy(first, x, (size_t)(MOST * f->coords) * sizeof *x);

                assert_memory_equal(first, x, (size_t)(MOST * f->coords) * sizeof *x);
                td_arena_free(&arena);
                td_tasks_free(tasks);
            }
    test_free(b);
    test_free(x);
    test_free(theirs);
}

// The same in single precision: as near as seven digits allow, and the same bits with any number of threads.
static void compare_single(const fixture *f, const cholmod_factor *exact)
{
    size_t bytes = exact->xsize * sizeof(float);
    float *x = test_malloc(bytes), *again = test_malloc(bytes);
    float *work = test_malloc((size_t)(f->model.plan.room + 1) * sizeof *work);
    cholmod_factor rounded = *exact;
    rounded.x = test_malloc(exact->xsize * sizeof(double));
    assert_true(td_factor_fill_single(&f->model.plan, NULL, f->values, work, x));
    for (size_t i = 0; i < exact->xsize; i++)
        ((double *)rounded.x)[i] = (double)x[i];
    double off = difference(exact, &rounded);
    assert_true(off > 1e-12 && off < 1e-4);
    for (int threads = 1; threads <= 3; threads++)
    {
        tdTasks *tasks = NULL;
        tdError error = {0};
        assert_ok(td_tasks_create(threads, &tasks, &error), error);
        assert_true(td_factor_fill_single(&f->model.plan, tasks, f->values, work, again));
        assert_memory_equal(x, again, bytes);
        td_tasks_free(tasks);
    }
    test_free(rounded.x);
    test_free(work);
    test_free(again);
    test_free(x);
}

static void compare(tdMesh *mesh, bool trees)
{
    fixture f;
    make(&f, mesh);
    assert_int_equal(f.model.plan.n_top > 0, trees);
    cholmod_factor *mine = symbolic(&f), *theirs = reference(&f);
    assert_non_null(theirs);
    assert_true(td_factor_numbers(&f.model.plan, NULL, f.values, f.work, mine));
    assert_true(difference(mine, theirs) < 1e-12);
    // Again, over numbers that are there already, and shared among threads.
    double *first = test_malloc(mine->xsize * sizeof *first);
    memcpy(first, mine->x, mine->xsize * sizeof *first);
    for (int threads = 1; threads <= 3; threads++)
    {
        tdTasks *tasks = NULL;
        tdError error = {0};
        assert_ok(td_tasks_create(threads, &tasks, &error), error);
        assert_true(td_factor_numbers(&f.model.plan, tasks, f.values, f.work, mine));
        assert_memory_equal(first, mine->x, mine->xsize * sizeof *first);
        td_tasks_free(tasks);
    }
    test_free(first);
    compare_solves(&f, mine);
    compare_single(&f, mine);
    cholmod_free_factor(&mine, &f.common);
    cholmod_free_factor(&theirs, &f.common);
    drop(&f);
}

static void test_small_bodies(void **state)
{
    (void)state;
    const int cells[][3] = {{1, 1, 1}, {2, 1, 1}, {3, 2, 2}, {6, 5, 4}};
    for (size_t k = 0; k < sizeof cells / sizeof cells[0]; k++)
    {
        tdMesh mesh = {0};
        tdError error = {0};
        assert_ok(td_mesh_box((double[3]){0}, (double[3]){1, 1, 1}, cells[k], false, &mesh, &error), error);
        compare(&mesh, false);
    }
    tdMesh link = {0};
    tdError error = {0};
    assert_ok(td_mesh_torus(0.05, 0.015, (int[3]){30, 10, 1}, &link, &error), error);
    compare(&link, false);
}

static void test_large_body(void **state)
{
    (void)state;
    tdMesh mesh = {0};
    tdError error = {0};
    assert_ok(td_mesh_box((double[3]){0}, (double[3]){1, 1, 1}, (int[3]){14, 13, 12}, false, &mesh, &error), error);
    compare(&mesh, true);
}

// One diagonal entry made too small: in the first supernodes, in the middle and at the root.
static void test_indefinite(void **state)
{
    (void)state;
    const int cells[2][3] = {{6, 5, 4}, {14, 13, 12}};
    for (int k = 0; k < 2; k++)
    {
        tdMesh mesh = {0};
        tdError error = {0};
        fixture f;
        assert_ok(td_mesh_box((double[3]){0}, (double[3]){1, 1, 1}, cells[k], false, &mesh, &error), error);
        make(&f, &mesh);
        cholmod_factor *mine = symbolic(&f);
        const int32_t *order = mine->Perm;
        for (int share = 0; share <= 4; share++)
        {
            int32_t place = (f.model.n - 1) * share / 4, coord = f.model.coord[order[place]];
            int64_t at = 9 * (int64_t)(f.pattern.row[coord / 3 + 1] - 1) + 4 * (coord % 3);
            double kept = f.values[at];
            const double wrong[2] = {-1, NAN};
            for (int w = 0; w < 2; w++)
            {
                f.values[at] = wrong[w];
                assert_false(td_factor_numbers(&f.model.plan, NULL, f.values, f.work, mine));
                if (w == 0)
                    assert_null(reference(&f));
            }
            f.values[at] = kept;
        }
        assert_true(td_factor_numbers(&f.model.plan, NULL, f.values, f.work, mine)); // and it recovers
        cholmod_factor *theirs = reference(&f);
        assert_true(difference(mine, theirs) < 1e-12);
        cholmod_free_factor(&mine, &f.common);
        cholmod_free_factor(&theirs, &f.common);
        drop(&f);
    }
}

#if defined(__x86_64__)
// A front of n columns and m rows below: its triangle, what is below, their square and a product, by one set of
// kernels. Room behind each is filled with sevens, which must stay.
enum
{
    MOST_COLUMNS = 24,
    MOST_ROWS = 70,
    FRONT = MOST_ROWS + MOST_COLUMNS,
    PANEL = FRONT * MOST_COLUMNS,
    SQUARE = MOST_ROWS * MOST_ROWS + 16 // the upper triangle may be written
};
#define FRONT_KERNELS(real, productOf, set)                                                                            \
    static bool front_##set(int n, int m, const double *A, real *L, real *U, real *C)                                  \
    {                                                                                                                  \
        static real pack[(MOST_ROWS + 16) * MOST_COLUMNS], inverse[TD_FACTOR_BLOCK];                                   \
        productOf product = {m, n, n, L + n, n + m, L, n + m, C, m, false, false};                                     \
        for (int i = 0; i < PANEL; i++)                                                                                \
            L[i] = i < n * (n + m) ? (real)A[i] : 7;                                                                   \
        for (int i = 0; i < SQUARE; i++)                                                                               \
            U[i] = 7;                                                                                                  \
        for (int i = 0; i < PANEL; i++)                                                                                \
            C[i] = 7;                                                                                                  \
        bool good = td_factor_triangle_##set(n, L, n + m, inverse);                                                    \
        td_factor_divide_##set(n, m, L, n + m, inverse, L + n, n + m);                                                 \
        td_factor_square_##set(m, n, L + n, n + m, U, m, pack);                                                        \
        td_factor_product_##set(&product);                                                                             \
        return good;                                                                                                   \
    }
FRONT_KERNELS(double, tdProduct, avx2)
FRONT_KERNELS(float, tdProductSingle, single_avx2)
FRONT_KERNELS(double, tdProduct, avx512)
FRONT_KERNELS(float, tdProductSingle, single_avx512)

// Columns of A by plain loops, and what the kernels made of them.
static void judge_front(int n, int m, double *A, const double *L, const double *U, const double *C)
{
    int rows = n + m;
    for (int j = 0; j < n; j++)
    {
        for (int k = 0; k < j; k++)
            for (int i = j; i < rows; i++)
                A[i + j * rows] -= A[i + k * rows] * A[j + k * rows];
        double root = sqrt(A[j + j * rows]);
        for (int i = j; i < rows; i++)
        {
            A[i + j * rows] /= root;
            assert_true(fabs(L[i + j * rows] - A[i + j * rows]) < 1e-13);
        }
    }
    for (int j = 0; j < m; j++)
        for (int i = j; i < m; i++)
        {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum -= A[n + i + k * rows] * A[n + j + k * rows];
            assert_true(fabs(U[i + j * m] - sum) < 1e-13);
        }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
        {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum -= L[n + i + k * rows] * L[j + k * rows];
            assert_true(fabs(C[i + j * m] - sum) < 1e-13);
        }
}

static bool alike(double a, double b)
{
    return fabs(a - b) < 1e-5; // of numbers of about one in single precision
}

// Vectors of 512 bits against plain loops and, in single precision, against those of 256; nothing is written behind.
static void test_long_vectors(void **state)
{
    static double A[PANEL], again[PANEL], L[2][PANEL], U[2][SQUARE], C[2][PANEL];
    static float L1[2][PANEL], U1[2][SQUARE], C1[2][PANEL];
    uint64_t seed = 5;
    (void)state;
    if (td_isa_pick_wide(false) != TD_ISA_AVX512)
        skip_because("this machine has no vectors of 512 bits");
    for (int n = 1; n <= MOST_COLUMNS; n++)
        for (int m = 0; m <= MOST_ROWS; m += m < 36 ? 1 : 7)
        {
            int rows = n + m;
            for (int j = 0; j < n; j++)
                for (int i = 0; i < rows; i++)
                    A[i + j * rows] = i == j ? 2 + n : next_random(&seed) - 0.5;
            assert_true(front_avx2(n, m, A, L[0], U[0], C[0]) && front_avx512(n, m, A, L[1], U[1], C[1]));
            assert_true(front_single_avx2(n, m, A, L1[0], U1[0], C1[0]) &&
                        front_single_avx512(n, m, A, L1[1], U1[1], C1[1]));
            for (int j = 0; j < n; j++)
                for (int i = j; i < rows; i++)
                    assert_true(alike((double)L1[0][i + j * rows], (double)L1[1][i + j * rows]));
            for (int j = 0; j < m; j++)
                for (int i = j; i < m; i++)
                    assert_true(alike((double)U1[0][i + j * m], (double)U1[1][i + j * m]));
            for (int i = 0; i < PANEL; i++)
                assert_true(alike((double)C1[0][i], (double)C1[1][i]) && (i < m * n || C[1][i] == 7));
            for (int i = n * rows; i < PANEL; i++)
                assert_true(L[1][i] == 7 && L1[1][i] == 7);
            for (int i = m * m; i < SQUARE; i++)
                assert_true(U[1][i] == 7 && U1[1][i] == 7);
            memcpy(again, A, sizeof A);
            judge_front(n, m, again, L[0], U[0], C[0]);
            judge_front(n, m, A, L[1], U[1], C[1]);
        }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
        cmocka_unit_test(test_long_vectors),
#endif
        cmocka_unit_test(test_small_bodies),
        cmocka_unit_test(test_large_body),
        cmocka_unit_test(test_indefinite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
