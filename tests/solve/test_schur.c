// SPDX-License-Identifier: Apache-2.0
// Condensation of a full-order body to touched nodes, both ways, against a dense elimination in extended precision.
#include "scenes.h"

#include "core/rotation.h"
#include "solve/async.h"
#include "solve/schur.h"

typedef struct fixture
{
    tdModel *model;
    tdState *state;
    const tdLinearModel *linear;
    const tdBlockPattern *pattern;
    const double *A;
    int nodes, coords;
} fixture;

// A bar of linear elasticity, bent a little and held at one end; A of one step.
static fixture make(double poisson, double h, const char *cells)
{
    fixture f = {.model =
                     scene_model("tendril: 1\n"
                                 "time_step: %g\n"
                                 "steps: 2\n"
                                 "gravity: [0, 0, -9.81]\n"
                                 "bodies:\n"
                                 "  - name: bar\n"
                                 "    mesh: {box: [[0, 0, 0], [0.12, 0.04, 0.03]], cells: %s}\n"
                                 "    material: {law: corotational_lagged, young: 1 MPa, poisson: %g, density: 1000}\n"
                                 "    damping: {stiffness: 0.01}\n"
                                 "    fixed: [{group: xmin}]\n",
                                 h, cells, poisson)};
    f.state = scene_state(f.model);
    scene_steps(f.model, f.state, 2);
    f.linear = &scene_soft(f.model)->linear;
    f.pattern = f.linear->pattern;
    f.A = scene_mine(f.state)->A;
    f.nodes = f.pattern->n;
    f.coords = 3 * f.nodes;
    return f;
}

static void drop(fixture *f)
{
    scene_free(f->model, f->state);
}

static tdSchur *make_schur(const fixture *f, tdSchurWay way, int patience)
{
    tdSchur *schur = NULL;
    tdError error = {0};
    tdSchurSettings settings = {way, patience};
    tdStatus status = td_schur_create(f->linear, &settings, &schur, &error);
    assert_ok(status, error);
    return schur;
}

// Dense A over free unknowns, those of the set last; eliminates the others in extended precision. The caller frees it:
// m x m, m the size of the set, in the order of `coord`.
static double *reference(const fixture *f, int m, const int32_t *coord)
{
    int n = f->linear->n, k = 0, *order = malloc((size_t)n * sizeof *order);
    bool *in = calloc((size_t)f->coords, sizeof *in);
    for (int i = 0; i < m; i++)
        in[coord[i]] = true;
    for (int i = 0; i < n; i++)
        if (!in[f->linear->coord[i]])
            order[k++] = f->linear->coord[i];
    for (int i = 0; i < m; i++)
        order[k++] = coord[i];
    assert_int_equal(k, n);
    double *dense = dense_of(f->pattern, f->A), *out = malloc((size_t)m * (size_t)m * sizeof *out + 8);
    long double *M = malloc((size_t)n * (size_t)n * sizeof *M);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            M[i * n + j] = dense[order[i] * f->coords + order[j]];
    for (int p = 0; p < n - m; p++)
        for (int i = p + 1; i < n; i++)
        {
            long double factor = M[i * n + p] / M[p * n + p];
            for (int j = p + 1; j < n && factor != 0; j++)
                M[i * n + j] -= factor * M[p * n + j];
        }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++)
            out[i * m + j] = (double)M[(n - m + i) * n + n - m + j];
    free(order);
    free(in);
    free(dense);
    free(M);
    return out;
}

// Largest entry of D (A_hat - reference) D, D the reference's diagonal to -1/2.
static double off_by(const tdSchurBody *body, const double *expected)
{
    double worst = 0;
    for (int j = 0; j < body->n; j++)
        for (int i = j; i < body->n; i++)
        {
            double size = sqrt(expected[i * body->n + i] * expected[j * body->n + j]);
            worst = fmax(worst, fabs(body->A[i + j * body->n] - expected[i * body->n + j]) / size);
        }
    return worst;
}

static tdSchurReport factor(tdSchur *schur, const fixture *f, int n, const int32_t *nodes)
{
    tdSchurReport report;
    tdError error = {0};
    tdStatus status = td_schur_factor(schur, NULL, f->A, n, nodes, &report, &error);
    assert_ok(status, error);
    assert_false(report.indefinite);
    return report;
}

static tdSchurBody condense(tdSchur *schur, bool lower)
{
    tdSchurBody body;
    tdError error = {0};
    tdStatus status = td_schur_condense(schur, lower, &body, &error);
    assert_ok(status, error);
    return body;
}

static int pick_nodes(const fixture *f, int kind, uint64_t *seed, int32_t *nodes)
{
    int n = 0;
    for (int i = 0; i < f->nodes; i++)
    {
        double keep = 0.5 * (1 + next_random(seed));
        bool in = kind == 0   ? i % 29 == 5            // scattered
                  : kind == 1 ? i < f->nodes / 6       // a patch
                  : kind == 2 ? keep < 0.3             // many
                  : kind == 3 ? i >= f->nodes - 40     // another patch
                  : kind == 4 ? true                   // all, held ones too
                              : i == f->nodes / 2 + 1; // one
        if (in)
            nodes[n++] = i;
    }
    return n;
}

static void both_ways_agree_with_dense_elimination(void **unused)
{
    (void)unused;
    const struct
    {
        double poisson, h, tolerance;
    } cases[] = {
        {0.3, 0.01, 1e-12},
        {0.45, 1, 1e-12},
        // Near incompressibility A is stiff. Reading the factor keeps two digits that inverting an inverse loses.
        {0.499, 0.01, 5e-11},
        {0.499, 1, 2e-10},
    };
    uint64_t seed = 5;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
    {
        fixture f = make(cases[c].poisson, cases[c].h, "[8, 3, 2]");
        int32_t *nodes = malloc((size_t)f.nodes * sizeof *nodes);
        for (int kind = 0; kind < 6; kind++)
        {
            int n = pick_nodes(&f, kind, &seed, nodes);
            for (tdSchurWay way = TD_SCHUR_AUTO; way <= TD_SCHUR_PATH; way++)
            {
                tdSchur *schur = make_schur(&f, way, 5);
                tdSchurReport report = factor(schur, &f, n, nodes);
                tdSchurBody body = condense(schur, true);
                assert_int_equal(report.participating, body.n);
                if (way != TD_SCHUR_AUTO && body.n > 0)
                    assert_int_equal(report.way, way);
                double *expected = reference(&f, body.n, body.coord);
                assert_near(off_by(&body, expected), 0, cases[c].tolerance);
                for (int j = 0; j < body.n; j++)
                    for (int i = j; i < body.n; i++)
                    {
                        double sum = 0; // L L' = A_hat
                        for (int k = 0; k <= j; k++)
                            sum += body.L[i + k * body.n] * body.L[j + k * body.n];
                        double size = sqrt(body.A[i + i * body.n] * body.A[j + j * body.n]);
                        assert_near(sum, body.A[i + j * body.n], 1e-13 * size);
                    }
                free(expected);
                td_schur_free(schur);
            }
        }
        free(nodes);
        drop(&f);
    }
}

// |a - b| over |b|
static double distance(int n, const double *a, const double *b)
{
    double off = 0, size = 0;
    for (int i = 0; i < n; i++)
    {
        off += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    return sqrt(off / size);
}

static void solve_recover_and_dual(void **unused)
{
    (void)unused;
    fixture f = make(0.45, 0.01, "[8, 3, 2]");
    uint64_t seed = 9;
    tdError error = {0};
    int32_t *nodes = malloc((size_t)f.nodes * sizeof *nodes);
    double *b = calloc((size_t)f.coords, sizeof *b), *x = calloc((size_t)f.coords, sizeof *x);
    double *y = calloc((size_t)f.coords, sizeof *y), *dv = calloc((size_t)f.coords, sizeof *dv);
    for (tdSchurWay way = TD_SCHUR_LAST; way <= TD_SCHUR_PATH; way++)
        for (int kind = 0; kind < 4; kind++)
        {
            tdSchur *schur = make_schur(&f, way, 5);
            int n = pick_nodes(&f, kind, &seed, nodes);
            factor(schur, &f, n, nodes);
            tdSchurBody body = condense(schur, false);
            // A x = b on all coordinates.
            for (int i = 0; i < f.coords; i++)
                b[i] = next_random(&seed);
            assert_ok(td_schur_solve(schur, NULL, 1, 0, b, x, &error), error);
            td_block_multiply(NULL, f.pattern, f.A, x, y, false);
            for (int i = 0; i < f.coords; i++)
                if (f.linear->dof[i] < 0)
                    y[i] = b[i] = 0;
            assert_near(distance(f.coords, y, b), 0, 1e-12);
            // Recovery: A dv is a force on the participating coordinates alone, and dv there is what was given.
            double dv_p[3 * 400], force = 0, stray = 0;
            for (int i = 0; i < body.n; i++)
                dv_p[i] = next_random(&seed);
            assert_ok(td_schur_recover(schur, NULL, dv_p, dv, &error), error);
            td_block_multiply(NULL, f.pattern, f.A, dv, y, false);
            for (int i = 0; i < f.coords; i++)
                if (f.linear->dof[i] < 0)
                    assert_near(dv[i], 0, 0);
                else if (body.column[i] >= 0)
                {
                    assert_near(dv[i], dv_p[body.column[i]], 1e-9);
                    assert_int_equal(body.coord[body.column[i]], i);
                    force = fmax(force, fabs(y[i]));
                }
                else
                    stray = fmax(stray, fabs(y[i]));
            assert_near(stray / force, 0, 1e-11);
            // Dual: W = J A^-1 J' for rows of three entries, some on held coordinates.
            enum
            {
                ROWS = 7
            };
            int64_t start[ROWS + 1] = {0};
            int32_t coord[3 * ROWS];
            double J[3 * ROWS], W[ROWS * ROWS] = {0};
            for (int r = 0; r < ROWS; r++)
            {
                for (int k = 0; k < 3; k++)
                {
                    coord[3 * r + k] = 3 * nodes[(5 * r + 7 * k) % n] + (r + k) % 3;
                    J[3 * r + k] = next_random(&seed);
                }
                start[r + 1] = 3 * (r + 1);
            }
            assert_ok(td_schur_dual(schur, ROWS, start, coord, J, W, &error), error);
            for (int r = 0; r < ROWS; r++)
            {
                memset(b, 0, (size_t)f.coords * sizeof *b);
                for (int k = 0; k < 3; k++)
                    b[coord[3 * r + k]] += J[3 * r + k];
                assert_ok(td_schur_solve(schur, NULL, 1, 0, b, x, &error), error);
                for (int s = 0; s < ROWS; s++)
                {
                    double sum = 0;
                    for (int k = 0; k < 3; k++)
                        sum += J[3 * s + k] * x[coord[3 * s + k]];
                    assert_near(W[r * ROWS + s], sum, 1e-11 * (fabs(W[r * ROWS + r]) + fabs(W[s * ROWS + s]) + 1e-12));
                }
            }
            td_schur_free(schur);
        }
    free(nodes);
    free(b);
    free(x);
    free(y);
    free(dv);
    drop(&f);
}

// ---------------------------------------------------------------- sets that change

// A patch that wanders along the bar and flickers.
static int wandering(const fixture *f, int step, uint64_t *seed, int32_t *nodes)
{
    int n = 0, first = (step / 8) % (f->nodes - 30);
    for (int i = 0; i < 30; i++)
        if (next_random(seed) < 0.6)
            nodes[n++] = first + i;
    return n;
}

static void orders_follow_the_contact(void **unused)
{
    (void)unused;
    fixture f = make(0.45, 0.01, "[8, 3, 2]");
    int32_t nodes[64];
    int analyses[2] = {0}, paths[2] = {0};
    double keep[4000];
    for (int run = 0; run < 2; run++) // the second time the same bits
    {
        tdSchur *schur = make_schur(&f, TD_SCHUR_AUTO, 20);
        uint64_t seed = 3;
        for (int step = 0; step < 200; step++)
        {
            int n = wandering(&f, step, &seed, nodes);
            tdSchurReport report = factor(schur, &f, n, nodes);
            tdSchurBody body = condense(schur, false);
            analyses[run] += report.analysed;
            paths[run] += report.way == TD_SCHUR_PATH;
            double trace = 0;
            for (int i = 0; i < body.n; i++)
                trace += body.A[i + i * body.n];
            if (run == 0)
                keep[step] = trace;
            else
                assert_true(keep[step] == trace);
            if (step % 40 == 0 && run == 0)
            {
                double *expected = reference(&f, body.n, body.coord);
                assert_near(off_by(&body, expected), 0, 1e-10);
                free(expected);
            }
        }
        // Nothing touches any more: after the patience the standing order is back.
        for (int step = 0; step < 25; step++)
        {
            tdSchurReport report = factor(schur, &f, 0, NULL);
            assert_int_equal(report.participating, 0);
            if (step == 24)
                assert_int_equal(report.ordered, 0);
        }
        assert_int_equal(condense(schur, true).n, 0);
        td_schur_free(schur);
    }
    assert_int_equal(analyses[0], analyses[1]);
    assert_int_equal(paths[0], paths[1]);
    // A new node enters every eight steps and twelve flicker in each: without patience there would be 200 orders.
    assert_true(analyses[0] >= 3 && analyses[0] <= 60);
    drop(&f);
}

static void checkpoints_make_the_same_order(void **unused)
{
    (void)unused;
    fixture f = make(0.45, 0.01, "[8, 3, 2]");
    int32_t nodes[64];
    uint64_t seed = 3;
    tdSchur *schur = make_schur(&f, TD_SCHUR_AUTO, 20), *other = make_schur(&f, TD_SCHUR_AUTO, 20);
    tdError error = {0};
    for (int step = 0; step < 60; step++)
        factor(schur, &f, wandering(&f, step, &seed, nodes), nodes);
    tdSchurKept from = td_schur_kept(schur), to = td_schur_kept(other);
    memcpy(to.ordered, from.ordered, (size_t)from.nodes * sizeof *to.ordered);
    memcpy(to.left, from.left, (size_t)from.nodes * sizeof *to.left);
    *to.spent = *from.spent;
    assert_ok(td_schur_restore(other, &error), error);
    for (int step = 60; step < 120; step++)
    {
        int n = wandering(&f, step, &seed, nodes);
        tdSchurReport a = factor(schur, &f, n, nodes), b = factor(other, &f, n, nodes);
        assert_int_equal(a.way, b.way);
        assert_int_equal(a.analysed, b.analysed);
        tdSchurBody x = condense(schur, false), y = condense(other, false);
        assert_int_equal(x.n, y.n);
        for (int j = 0; j < x.n; j++)
            assert_memory_equal(x.A + j + j * x.n, y.A + j + j * x.n, (size_t)(x.n - j) * sizeof *x.A);
    }
    td_schur_free(schur);
    td_schur_free(other);
    drop(&f);
}

static void bad_input_is_refused(void **unused)
{
    (void)unused;
    fixture f = make(0.45, 0.01, "[4, 2, 2]");
    tdSchur *schur = make_schur(&f, TD_SCHUR_AUTO, 5);
    tdSchurReport report;
    tdSchurBody body;
    tdError error = {0};
    int32_t nodes[1] = {f.nodes};
    assert_int_equal(td_schur_factor(schur, NULL, f.A, 1, nodes, &report, &error), TD_ERROR_USAGE);
    nodes[0] = f.nodes - 1;
    double *values = malloc(9 * (size_t)f.pattern->blocks * sizeof *values);
    for (int64_t i = 0; i < 9 * f.pattern->blocks; i++)
        values[i] = -f.A[i];
    assert_ok(td_schur_factor(schur, NULL, values, 1, nodes, &report, &error), error);
    assert_true(report.indefinite);
    assert_true(td_schur_condense(schur, false, &body, &error) != TD_OK);
    assert_non_null(strstr(error.message, "positive definite"));
    // A row on a node that does not participate.
    factor(schur, &f, 1, nodes);
    int64_t start[2] = {0, 1};
    int32_t coord[1] = {3 * (f.nodes - 2)};
    double J[1] = {1}, W[1] = {0};
    assert_int_equal(td_schur_dual(schur, 1, start, coord, J, W, &error), TD_ERROR_USAGE);
    free(values);
    td_schur_free(schur);
    drop(&f);
}

// A' = Q A Q', each node turned by itself.
static void turn_matrix(const tdBlockPattern *pattern, const double *A, const double *Q, double *out)
{
    for (int32_t i = 0; i < pattern->n; i++)
        for (int64_t k = pattern->row[i]; k < pattern->row[i + 1]; k++)
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < 3; c++)
                {
                    double sum = 0;
                    for (int a = 0; a < 3; a++)
                        for (int b = 0; b < 3; b++)
                            sum += Q[9 * i + 3 * r + a] * A[9 * k + 3 * a + b] * Q[9 * pattern->column[k] + 3 * c + b];
                    out[9 * k + 3 * r + c] = sum;
                }
}

// An asynchronous factor with a lag of two steps: taken when it is due and not before; turned, it is that of the turned
// matrix, whose condensed body and motions it gives; what is not positive definite leaves the old one in place.
static void asynchronous_factor(void **unused)
{
    (void)unused;
    fixture f = make(0.4, 0.01, "[6, 3, 2]");
    size_t blocks = 9 * (size_t)f.pattern->blocks;
    double *Q = calloc(9 * (size_t)f.nodes, sizeof *Q), *turned = malloc(blocks * sizeof *turned),
           *bad = malloc(blocks * sizeof *bad), *x = calloc(2 * (size_t)f.coords, sizeof *x), *y = x + f.coords;
    uint64_t seed = 5;
    for (int i = 0; i < f.nodes; i++)
    {
        double vector[3], q[4];
        bool turns = f.linear->turning[i]; // nodes that are held do not
        for (int k = 0; k < 3; k++)
            vector[k] = turns ? 2 * next_random(&seed) : 0;
        td_rotation_from_vector(vector, q);
        td_rotation_matrix(q, Q + 9 * (int64_t)i);
    }
    turn_matrix(f.pattern, f.A, Q, turned);
    for (size_t i = 0; i < blocks; i++)
        bad[i] = -f.A[i];
    tdAsync *async = NULL;
    tdAsyncSettings settings = {.lag = 2};
    tdError error = {0};
    assert_ok(td_async_create(f.linear, &settings, &async, &error), error);
    assert_false(td_async_ready(async));
    assert_false(td_async_make(async, NULL, 0, bad, Q));
    assert_false(td_async_ready(async));
    assert_true(td_async_make(async, NULL, 3, turned, Q));
    assert_ok(td_async_offer(async, 4, f.A, Q, &error), error);
    assert_false(td_async_idle(async));
    td_async_take(async, 5);
    assert_int_equal(td_async_report(async).step, 3);
    td_async_take(async, 6);
    assert_int_equal(td_async_report(async).step, 4);
    assert_true(td_async_idle(async));
    assert_ok(td_async_offer(async, 6, bad, Q, &error), error);
    td_async_take(async, 8);
    tdAsyncReport report = td_async_report(async);
    assert_int_equal(report.step, 4);
    assert_int_equal(report.made, 1);
    assert_int_equal(report.refused, 1);

    const int32_t nodes[] = {f.nodes - 1, f.nodes / 2, f.nodes - 3, f.nodes / 2 + 1};
    tdSchur *schur = make_schur(&f, TD_SCHUR_PATH, 0);
    tdSchurReport made;
    assert_ok(td_schur_factor(schur, NULL, turned, 4, nodes, &made, &error), error);
    tdSchurBody expected = condense(schur, true), body;
    assert_ok(td_async_condense(async, Q, 4, nodes, &body, &error), error);
    assert_int_equal(body.n, expected.n);
    double worst = 0, size = 0, dv_p[64];
    for (int j = 0; j < body.n; j++)
        for (int i = j; i < body.n; i++)
        {
            assert_int_equal(body.coord[i], expected.coord[i]);
            size = fmax(size, fabs(expected.A[i + j * body.n]));
            worst = fmax(worst, fabs(body.A[i + j * body.n] - expected.A[i + j * body.n]));
        }
    assert_true(worst < 1e-11 * size);
    for (int i = 0; i < body.n; i++)
        dv_p[i] = next_random(&seed);
    td_async_recover(async, NULL, Q, dv_p, x);
    assert_ok(td_schur_recover(schur, NULL, dv_p, y, &error), error);
    for (int i = 0; i < f.coords; i++)
        assert_near(x[i], y[i], 1e-11);
    for (int i = 0; i < body.n; i++)
        assert_near(x[body.coord[i]], dv_p[i], 1e-11);
    td_schur_free(schur);
    td_async_free(async);
    free(Q);
    free(turned);
    free(bad);
    free(x);
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways_agree_with_dense_elimination),
        cmocka_unit_test(solve_recover_and_dual),
        cmocka_unit_test(orders_follow_the_contact),
        cmocka_unit_test(checkpoints_make_the_same_order),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(asynchronous_factor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
