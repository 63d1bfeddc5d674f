// SPDX-License-Identifier: Apache-2.0
// Measures against closed forms and finite differences. A central difference with h = 1e-5 of numbers around one has
// errors of h^2 and of rounding / h, both around 1e-10; 1e-7 leaves room for third derivatives up to 1000.
#include "core/measure.h"
#include "core/rotation.h"
#include "test.h"

#define STEP      1e-5
#define TOLERANCE 1e-7
#define MOST      64

static double uniform(uint64_t *random)
{
    *random = *random * 6364136223846793005U + 1442695040888963407U;
    return (double)(*random >> 11) * 0x1p-53 * 2 - 1;
}

static void scatter(int n, uint64_t seed, double *x)
{
    for (int i = 0; i < 3 * n; i++)
        x[i] = uniform(&seed);
}

// x = s R(r) X + c
static void move(int n, const double *X, const double r[3], const double c[3], double s, double *x)
{
    double q[4];
    td_rotation_from_vector(r, q);
    for (int i = 0; i < n; i++)
    {
        td_rotation_apply(q, X + (ptrdiff_t)3 * i, x + (ptrdiff_t)3 * i);
        for (int k = 0; k < 3; k++)
            x[3 * i + k] = s * x[3 * i + k] + c[k];
    }
}

static int32_t cube_tris[36] = {0, 2, 1, 0, 3, 2, 4, 5, 6, 4, 6, 7, 0, 1, 5, 0, 5, 4,
                                1, 2, 6, 1, 6, 5, 2, 3, 7, 2, 7, 6, 3, 0, 4, 3, 4, 7};
static double cube[24] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1};

static tdMeasure measure_of(tdMeasureKind kind, int n, double *rest)
{
    bool single = kind == TD_MEASURE_LENGTH || kind == TD_MEASURE_VOLUME || kind == TD_MEASURE_ALONG;
    return (tdMeasure){.kind = kind, .rows = single ? 1 : 3, .n = n, .rest = rest, .direction = {0.6, 0, 0.8}};
}

static tdMeasure cube_measure(void)
{
    tdMeasure m = measure_of(TD_MEASURE_VOLUME, 8, cube);
    m.n_tris = 12;
    m.tris = cube_tris;
    return m;
}

// Differences of the value; of orientations those of the motion, log(R(+h) R(-h)').
static void check_gradient(const tdMeasure *m, const double *x_at)
{
    double x[3 * MOST], gradient[9 * MOST], value[3], plus[3], minus[3], change[3], scale = 0;
    memcpy(x, x_at, (size_t)m->n * 3 * sizeof *x);
    td_measure(m, x, NULL, value, gradient);
    for (int i = 0; i < 3 * m->n * m->rows; i++)
        scale = fmax(scale, fabs(gradient[i]));
    for (int i = 0; i < 3 * m->n; i++)
    {
        x[i] = x_at[i] + STEP;
        td_measure(m, x, NULL, plus, NULL);
        x[i] = x_at[i] - STEP;
        td_measure(m, x, NULL, minus, NULL);
        x[i] = x_at[i];
        td_measure_error(m->kind, plus, minus, change);
        for (int r = 0; r < m->rows; r++)
            assert_near(gradient[r * 3 * m->n + i], change[r] / (2 * STEP), TOLERANCE * fmax(1, scale));
    }
}

static void test_gradients(void **state)
{
    (void)state;
    double rest[3 * 12], x[3 * 12], ball[24];
    for (uint64_t seed = 1; seed <= 20; seed++)
    {
        scatter(12, seed, rest);
        scatter(12, 100 + seed, x);
        tdMeasure m = measure_of(TD_MEASURE_LENGTH, 12, rest);
        check_gradient(&m, x);
        m = measure_of(TD_MEASURE_ALONG, 1, rest);
        check_gradient(&m, x);
        m = measure_of(TD_MEASURE_POSITION, 1, rest);
        check_gradient(&m, x);
        m = cube_measure();
        scatter(8, seed, ball);
        check_gradient(&m, ball);
        m.n_tris = 7; // exact for an open surface as well
        check_gradient(&m, ball);
    }
}

// Random stretch and shear of 50 % and any rotation, and noise on top: far from rigid.
static void deform(int n, const double *X, uint64_t seed, double *x)
{
    double F[9], r[3], moved[3 * MOST];
    for (int i = 0; i < 9; i++)
        F[i] = (i % 4 == 0 ? 1 : 0) + 0.5 * uniform(&seed);
    for (int k = 0; k < 3; k++)
        r[k] = 3 * uniform(&seed);
    move(n, X, r, (double[]){0.3, -2, 5}, 1, moved);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            x[3 * i + k] = F[3 * k] * moved[3 * i] + F[3 * k + 1] * moved[3 * i + 1] + F[3 * k + 2] * moved[3 * i + 2] +
                           0.1 * uniform(&seed);
}

static void test_fit_gradients(void **state)
{
    (void)state;
    double rest[3 * 12], x[3 * 12];
    int checked = 0;
    for (uint64_t seed = 1; seed <= 50; seed++)
    {
        int n = seed % 3 == 0 ? 3 : 12; // three points are always in a plane
        scatter(n, seed, rest);
        deform(n, rest, 1000 + seed, x);
        tdMeasure m = measure_of(TD_MEASURE_ORIENTATION, n, rest);
        // The motion of a fit grows without bound where it is hardly determined; differences are of no use there.
        double gradient[9 * MOST], value[3], most = 0;
        td_measure(&m, x, NULL, value, gradient);
        for (int i = 0; i < 9 * n; i++)
            most = fmax(most, fabs(gradient[i]));
        if (most > 20)
            continue;
        check_gradient(&m, x);
        m.kind = TD_MEASURE_DIRECTION;
        check_gradient(&m, x);
        checked++;
    }
    assert_true(checked > 40);
}

// ---------------------------------------------------------------- second derivatives

typedef struct hessian
{
    int n;
    double entry[3 * MOST][3 * MOST];
} hessian;

static void add_block(void *context, int32_t i, int32_t j, const double H[9])
{
    hessian *sum = context;
    assert_true(i >= 0 && i < sum->n && j >= 0 && j < sum->n);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
        {
            sum->entry[3 * i + r][3 * j + c] += H[3 * r + c];
            if (i != j)
                sum->entry[3 * j + c][3 * i + r] += H[3 * r + c];
        }
}

static void check_stiffness(const tdMeasure *m, const double *x_at, const double *share)
{
    static hessian sum;
    memset(&sum, 0, sizeof sum);
    sum.n = m->n;
    double x[3 * MOST], plus[3 * MOST], minus[3 * MOST], value[1], scale = 1;
    memcpy(x, x_at, (size_t)m->n * 3 * sizeof *x);
    td_measure_stiffness(m, x, share, add_block, &sum);
    for (int i = 0; i < 9 * m->n * m->n; i++)
        scale = fmax(scale, fabs(sum.entry[i / (3 * m->n)][i % (3 * m->n)]));
    for (int i = 0; i < 3 * m->n; i++)
    {
        for (int sign = -1; sign <= 1; sign += 2)
        {
            x[i] = x_at[i] + sign * STEP;
            double *out = sign > 0 ? plus : minus;
            if (m->kind == TD_MEASURE_LENGTH)
                td_cable_gradient(m, x, share, out);
            else
                td_measure(m, x, NULL, value, out);
        }
        x[i] = x_at[i];
        for (int k = 0; k < 3 * m->n; k++)
            assert_near(sum.entry[k][i], (plus[k] - minus[k]) / (2 * STEP), TOLERANCE * scale);
    }
}

static void test_stiffness(void **state)
{
    (void)state;
    double x[3 * 10], share[9];
    for (uint64_t seed = 1; seed <= 10; seed++)
    {
        scatter(10, seed, x);
        tdMeasure cable = measure_of(TD_MEASURE_LENGTH, 10, x);
        check_stiffness(&cable, x, NULL);
        td_cable_shares(&cable, x, 0.3, share);
        check_stiffness(&cable, x, share);
        tdMeasure m = cube_measure();
        scatter(8, seed, x);
        check_stiffness(&m, x, NULL);
        m.n_tris = 5;
        check_stiffness(&m, x, NULL);
        m.tris = (int32_t[]){0, 1, 2, 3, 3, 4, 5, 6, 5, 7, 7, 7}; // three of them collapsed
        m.n_tris = 4;
        check_stiffness(&m, x, NULL);
    }
    // What moves with the body only has no stiffness.
    tdMeasure along = measure_of(TD_MEASURE_ALONG, 1, x);
    check_stiffness(&along, x, NULL);
}

// ---------------------------------------------------------------- lengths and volumes

static void test_rigid_motion_changes_neither_length_nor_volume(void **state)
{
    (void)state;
    double x[24], y[24], before, after;
    for (uint64_t seed = 1; seed <= 10; seed++)
    {
        double r[3];
        scatter(8, seed, x);
        scatter(1, seed + 50, r);
        move(8, x, r, (double[]){3, -7, 11}, 1, y);
        tdMeasure m = measure_of(TD_MEASURE_LENGTH, 8, cube);
        td_measure(&m, x, NULL, &before, NULL);
        td_measure(&m, y, NULL, &after, NULL);
        assert_near(after, before, 1e-14 * 100); // rounding of coordinates around 10
        m = cube_measure();
        td_measure(&m, x, NULL, &before, NULL);
        td_measure(&m, y, NULL, &after, NULL);
        assert_near(after, before, 1e-14 * 10 * 10 * 10); // and of their products
    }
}

static void test_volume_of_a_cube(void **state)
{
    (void)state;
    tdMeasure m = cube_measure();
    double value, gradient[24], x[24];
    td_measure(&m, cube, NULL, &value, gradient);
    assert_near(value, 1, 1e-15);
    // dV/dx of a rigid shift is nothing, of a growth s is 3 V.
    double shift[3] = {0}, growth = 0;
    for (int i = 0; i < 24; i++)
    {
        shift[i % 3] += gradient[i];
        growth += gradient[i] * cube[i];
    }
    for (int k = 0; k < 3; k++)
        assert_near(shift[k], 0, 1e-15);
    assert_near(growth, 3, 1e-14);
    move(8, cube, (double[]){1, 2, 3}, (double[]){5, 5, 5}, 2, x);
    td_measure(&m, x, NULL, &value, NULL);
    assert_near(value, 8, 1e-12);
}

static void test_volume_of_a_sphere(void **state)
{
    (void)state;
    enum
    {
        ROUND = 96,
        RINGS = 48,
        N = ROUND * RINGS + 2
    };
    static double x[3 * N], gradient[3 * N];
    static int32_t tris[6 * ROUND * RINGS];
    const double pi = acos(-1);
    int n_tris = 0;
    for (int ring = 0; ring < RINGS; ring++)
        for (int k = 0; k < ROUND; k++)
        {
            double theta = pi * (ring + 1) / (RINGS + 1), phi = 2 * pi * k / ROUND, *p = x + 3 * (ring * ROUND + k);
            p[0] = sin(theta) * cos(phi);
            p[1] = sin(theta) * sin(phi);
            p[2] = cos(theta);
            int32_t a = ring * ROUND + k, b = ring * ROUND + (k + 1) % ROUND;
            int32_t top[3] = {N - 2, a, b}, bottom[3] = {N - 1, b, a};
            if (ring == 0)
                memcpy(tris + 3 * n_tris++, top, sizeof top);
            if (ring == RINGS - 1)
                memcpy(tris + 3 * n_tris++, bottom, sizeof bottom);
            else
            {
                int32_t two[6] = {a, a + ROUND, b, b, a + ROUND, b + ROUND};
                memcpy(tris + 3 * n_tris, two, sizeof two);
                n_tris += 2;
            }
        }
    x[3 * (N - 2) + 2] = 1;
    x[3 * (N - 1) + 2] = -1;
    tdMeasure m = measure_of(TD_MEASURE_VOLUME, N, x);
    m.n_tris = n_tris;
    m.tris = tris;
    double value;
    td_measure(&m, x, NULL, &value, gradient);
    // Chords lie inside by a part of about (2 pi / 96)^2 / 2, a little less than 0.3 %.
    assert_near(value, 4 * pi / 3, 0.003 * 4 * pi / 3);
    assert_true(value < 4 * pi / 3);
    double outward = 0;
    for (int i = 0; i < 3 * N; i++)
        outward += gradient[i] * x[i];
    assert_near(outward, 3 * value, 1e-12);
}

static void test_capstan(void **state)
{
    (void)state;
    enum
    {
        N = 33
    };
    const double half_pi = acos(0), mu = 0.35;
    double x[3 * N] = {0}, share[N - 1], gradient[3 * N];
    for (int i = 0; i < N; i++) // straight, a quarter of a circle by polygon, straight
    {
        double phi = half_pi * fmin(1, fmax(0, (i - 1.5) / (N - 4)));
        x[3 * i] = i == 0 ? 0 : x[3 * i - 3] + cos(phi);
        x[3 * i + 1] = i == 0 ? 0 : x[3 * i - 2] + sin(phi);
    }
    tdMeasure m = measure_of(TD_MEASURE_LENGTH, N, x);
    td_cable_shares(&m, x, mu, share);
    assert_near(share[N - 2], 1, 0);
    // The polygon turns by exactly the angle between its ends.
    double dx = x[3 * N - 3] - x[3 * N - 6], dy = x[3 * N - 2] - x[3 * N - 5];
    assert_near(share[0], exp(-mu * atan2(dy, dx)), 1e-14);
    assert_near(atan2(dy, dx), half_pi, 1e-14);
    for (int k = 0; k + 2 < N; k++)
        assert_true(share[k] <= share[k + 1]);
    // Released instead of pulled: tension grows towards the tied end. No friction: one everywhere.
    td_cable_shares(&m, x, -mu, share);
    assert_near(share[0], exp(mu * half_pi), 1e-13);
    td_cable_shares(&m, x, 0, share);
    assert_near(share[0], 1, 0);
    // The force at the tied end has the size of its share.
    td_cable_shares(&m, x, mu, share);
    td_cable_gradient(&m, x, share, gradient);
    assert_near(hypot(gradient[0], gradient[1]), exp(-mu * half_pi), 1e-14);
    // A doubled point in the bend changes nothing.
    double y[3 * (N + 1)], doubled[N];
    memcpy(y, x, 48 * sizeof *y);
    memcpy(y + 48, x + 45, sizeof x - 45 * sizeof *x);
    m.n = N + 1;
    td_cable_shares(&m, y, mu, doubled);
    assert_near(doubled[0], share[0], 1e-15);
    assert_near(doubled[N - 1], 1, 0);
}

static void test_capstan_of_a_fold(void **state)
{
    (void)state;
    double x[9] = {0, 0, 0, 1, 0, 0, 0, 0, 0}, share[2]; // there and back: half a turn
    tdMeasure m = measure_of(TD_MEASURE_LENGTH, 3, x);
    td_cable_shares(&m, x, 0.5, share);
    assert_near(share[0], exp(-0.5 * acos(-1)), 1e-15);
}

// ---------------------------------------------------------------- orientation

static void assert_vector(const double *a, const double *b, double tolerance)
{
    for (int k = 0; k < 3; k++)
        assert_near(a[k], b[k], tolerance);
}

static void test_orientation_of_rigid_motions(void **state)
{
    (void)state;
    double rest[3 * 12], x[3 * 12], value[3], d[3], q[4];
    for (uint64_t seed = 1; seed <= 50; seed++)
    {
        double r[3];
        int n = seed % 2 ? 12 : 4;
        scatter(n, seed, rest);
        for (int i = 0; i < n && seed % 3 == 0; i++)
            rest[3 * i + 2] = 0.25 * rest[3 * i] + 7; // in a plane
        scatter(1, seed + 99, r);
        for (int k = 0; k < 3; k++)
            r[k] *= 1.8; // at most 3.12, less than pi
        move(n, rest, r, (double[]){4, 5, -6}, seed % 5 == 0 ? 3 : 1, x);
        tdMeasure m = measure_of(TD_MEASURE_ORIENTATION, n, rest);
        td_measure(&m, x, NULL, value, NULL);
        assert_vector(value, r, 1e-12); // rounding, times how thin a random set may be
        m.kind = TD_MEASURE_DIRECTION;
        td_measure(&m, x, NULL, value, NULL);
        td_rotation_from_vector(r, q);
        td_rotation_apply(q, m.direction, d);
        assert_vector(value, d, 1e-12);
    }
}

static void test_mirrored_points_get_a_rotation(void **state)
{
    (void)state;
    double rest[3 * 12], x[3 * 12], value[3], gradient[9 * 12];
    scatter(12, 3, rest);
    for (int i = 0; i < 36; i++)
        x[i] = i % 3 == 2 ? -0.2 * rest[i] : rest[i];
    tdMeasure m = measure_of(TD_MEASURE_ORIENTATION, 12, rest);
    td_measure(&m, x, NULL, value, gradient);
    assert_true(sqrt(value[0] * value[0] + value[1] * value[1] + value[2] * value[2]) < 0.5);
    check_gradient(&m, x);
}

static void test_rotation_vector_goes_on_beyond_half_a_turn(void **state)
{
    (void)state;
    double rest[3 * 6], x[3 * 6], value[3], near[3] = {0}, r[3];
    const double axis[3] = {2. / 3, -1. / 3, 2. / 3};
    scatter(6, 5, rest);
    tdMeasure m = measure_of(TD_MEASURE_ORIENTATION, 6, rest);
    for (int sign = -1; sign <= 1; sign += 2)
    {
        memset(near, 0, sizeof near);
        for (int step = 0; step <= 200; step++) // to 20 rad, three turns and more
        {
            for (int k = 0; k < 3; k++)
                r[k] = sign * 0.1 * step * axis[k];
            move(6, rest, r, (double[]){0, 0, 0}, 1, x);
            td_measure(&m, x, near, value, NULL);
            assert_vector(value, r, 1e-11); // next to whole turns the axis is known to rounding / angle only
            memcpy(near, value, sizeof near);
        }
    }
    // Exactly whole turns keep the direction of what was before.
    const double turn = 2 * acos(-1);
    for (int k = 0; k < 3; k++)
        r[k] = turn * axis[k];
    td_measure(&m, rest, r, value, NULL);
    assert_vector(value, r, 1e-14 * 100);
    td_measure(&m, rest, NULL, value, NULL);
    assert_vector(value, (double[]){0, 0, 0}, 1e-14);
}

static void test_error(void **state)
{
    (void)state;
    double error[3];
    td_measure_error(TD_MEASURE_LENGTH, (double[]){3}, (double[]){1}, error);
    assert_near(error[0], 2, 0);
    td_measure_error(TD_MEASURE_POSITION, (double[]){1, 2, 3}, (double[]){3, 2, 2}, error);
    assert_vector(error, (double[]){-2, 0, 1}, 0);
    // About one axis angles subtract; a turn more is no error.
    td_measure_error(TD_MEASURE_ORIENTATION, (double[]){0, 0, 0.7}, (double[]){0, 0, 0.2}, error);
    assert_vector(error, (double[]){0, 0, 0.5}, 1e-15);
    td_measure_error(TD_MEASURE_ORIENTATION, (double[]){0, 0, 0.7 + 2 * acos(-1)}, (double[]){0, 0, 0.2}, error);
    assert_vector(error, (double[]){0, 0, 0.5}, 1e-14);
    // R(value) = R(error) R(target) about different axes.
    double value[3] = {0.4, -1, 2}, target[3] = {-0.3, 2, 0.5}, q[4], t[4], v[4], p[3] = {1, 2, 3}, a[3], b[3], c[3];
    td_measure_error(TD_MEASURE_ORIENTATION, value, target, error);
    td_rotation_from_vector(error, q);
    td_rotation_from_vector(target, t);
    td_rotation_from_vector(value, v);
    td_rotation_apply(t, p, a);
    td_rotation_apply(q, a, b);
    td_rotation_apply(v, p, c);
    assert_vector(b, c, 1e-14);
}

// ---------------------------------------------------------------- degenerate inputs

static void assert_finite(const tdMeasure *m, const double *x)
{
    double value[3], gradient[9 * MOST];
    td_measure(m, x, (double[]){0.1, 0.2, 0.3}, value, gradient);
    for (int i = 0; i < m->rows; i++)
        assert_true(isfinite(value[i]));
    for (int i = 0; i < m->rows * 3 * m->n; i++)
        assert_true(isfinite(gradient[i]));
}

static void test_degenerate_sets(void **state)
{
    (void)state;
    double place[15], line[15], full[15], tiny[15], value[3], gradient[45];
    scatter(5, 9, full);
    for (int i = 0; i < 15; i++)
    {
        place[i] = 1.5;
        line[i] = 0.1 * (i / 3) * (double[]){1, 2, -3}[i % 3] + 0.3;
        tiny[i] = 1e-160 * full[i];
    }
    double *sets[4] = {place, line, full, tiny};
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++)
            for (int kind = 0; kind <= TD_MEASURE_DIRECTION; kind++)
            {
                bool one = kind == TD_MEASURE_ALONG || kind == TD_MEASURE_POSITION;
                tdMeasure m = measure_of((tdMeasureKind)kind, one ? 1 : 5, sets[a]);
                assert_finite(&m, sets[b]);
            }
    // A line turned by a quarter: the least rotation that does it, and no motion about the line.
    double x[15], r[3] = {0}, axis[3] = {1 / sqrt(14), 2 / sqrt(14), -3 / sqrt(14)};
    r[0] = -2 / sqrt(5) * acos(0); // across the line
    r[1] = 1 / sqrt(5) * acos(0);
    move(5, line, r, (double[]){1, 1, 1}, 1, x);
    tdMeasure m = measure_of(TD_MEASURE_ORIENTATION, 5, line);
    td_measure(&m, x, NULL, value, gradient);
    assert_vector(value, r, 1e-12);
    double along[3], q[4];
    td_rotation_from_vector(r, q);
    td_rotation_apply(q, axis, along);
    for (int i = 0; i < 15; i++)
        assert_near(along[0] * gradient[i] + along[1] * gradient[15 + i] + along[2] * gradient[30 + i], 0, 1e-12);
    // The end for end of a line is half a turn about some axis across it.
    for (int i = 0; i < 15; i++)
        x[i] = -line[i];
    td_measure(&m, x, NULL, value, gradient);
    assert_near(hypot(hypot(value[0], value[1]), value[2]), acos(-1), 1e-12);
    assert_near(value[0] * axis[0] + value[1] * axis[1] + value[2] * axis[2], 0, 1e-12);

    // A cable with a doubled point pulls as if it were one; stiffness skips what has no length.
    double cable[12] = {0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 0}, share[3];
    m = measure_of(TD_MEASURE_LENGTH, 4, cable);
    td_measure(&m, cable, NULL, value, gradient);
    assert_near(value[0], 2, 0);
    assert_near(gradient[3] + gradient[6], 1, 0);
    assert_near(gradient[4] + gradient[7], -1, 0);
    td_cable_shares(&m, cable, 1, share);
    assert_near(share[0], exp(-acos(0)), 1e-15);
    static hessian sum;
    sum.n = 4;
    td_measure_stiffness(&m, cable, NULL, add_block, &sum);
    for (int i = 0; i < 12; i++)
        for (int k = 0; k < 12; k++)
            assert_true(isfinite(sum.entry[i][k]));
}

static void test_rank(void **state)
{
    (void)state;
    double x[15];
    for (int i = 0; i < 15; i++)
        x[i] = 1000.1;
    assert_int_equal(td_measure_fit_rank(0, x), 0);
    assert_int_equal(td_measure_fit_rank(1, x), 0);
    assert_int_equal(td_measure_fit_rank(5, x), 0);
    for (int i = 0; i < 15; i++)
        x[i] = 1000.1 + (i / 3) * (double[]){0.1, 0.7, 0.3}[i % 3];
    assert_int_equal(td_measure_fit_rank(2, x), 1);
    assert_int_equal(td_measure_fit_rank(5, x), 1);
    x[3] += 0.01;
    assert_int_equal(td_measure_fit_rank(5, x), 2);
    x[7] += 0.01;
    x[8] -= 0.02;
    assert_int_equal(td_measure_fit_rank(5, x), 3);
    assert_int_equal(td_measure_fit_rank(3, x), 2);
    assert_int_equal(td_measure_fit_rank(8, cube), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_fit_gradients),
        cmocka_unit_test(test_stiffness),
        cmocka_unit_test(test_rigid_motion_changes_neither_length_nor_volume),
        cmocka_unit_test(test_volume_of_a_cube),
        cmocka_unit_test(test_volume_of_a_sphere),
        cmocka_unit_test(test_capstan),
        cmocka_unit_test(test_capstan_of_a_fold),
        cmocka_unit_test(test_orientation_of_rigid_motions),
        cmocka_unit_test(test_mirrored_points_get_a_rotation),
        cmocka_unit_test(test_rotation_vector_goes_on_beyond_half_a_turn),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_degenerate_sets),
        cmocka_unit_test(test_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
