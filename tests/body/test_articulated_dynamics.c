// SPDX-License-Identifier: Apache-2.0
// The algorithms of articulated bodies against each other and against Newton's and Euler's laws of single links.
#include "trees.h"

#include "base/vector.h"

static double largest(const double *a, int64_t n)
{
    double size = 0;
    for (int64_t i = 0; i < n; i++)
        size = fmax(size, fabs(a[i]));
    return size;
}

// Column j of M is what a unit acceleration takes: tau(e_j) - tau(0). Two algorithms that share the columns S only;
// both sum a few hundred products, so that 1e-12 of the largest entry leaves room for rounding and nothing else.
static void mass_equals_newton_euler(void **unused)
{
    (void)unused;
    uint64_t seed = 7;
    double worst = 0;
    int coordinates = 0;
    for (int trial = 0; trial < 4000; trial++)
    {
        treeFixture f;
        tree_random(&f, &seed, 1 + trial % 24, trial % 2 == 1);
        int n = f.body.n;
        double *M = calloc((size_t)(n * n + 1), sizeof *M), *tau = calloc((size_t)n + 1, sizeof *tau),
               *rest = calloc((size_t)n + 1, sizeof *rest), *unit = calloc((size_t)n + 1, sizeof *unit);
        td_tree_mass(&f.body, &f.work, M);
        td_tree_inverse(&f.body, f.v, NULL, f.body.gravity, &f.work, rest);
        double size = largest(M, (int64_t)n * n);
        for (int j = 0; j < n; j++)
        {
            unit[j] = 1;
            td_tree_inverse(&f.body, f.v, unit, f.body.gravity, &f.work, tau);
            unit[j] = 0;
            for (int i = 0; i < n; i++)
            {
                double scale = fmax(size, fabs(rest[i])); // tau(0) is taken away again
                worst = fmax(worst, fabs(M[i * n + j] - (tau[i] - rest[i])) / scale);
                assert_true(M[i * n + j] == M[j * n + i]);
            }
        }
        coordinates += n;
        free(M);
        free(tau);
        free(rest);
        free(unit);
        tree_free(&f);
    }
    printf("%d coordinates, worst %.2g\n", coordinates, worst);
    assert_true(coordinates > 50000);
    assert_near(worst, 0, 1e-12);
}

// ---------------------------------------------------------------- single links

// Poses of all links at time t of the motion with velocity v and acceleration dv at t = 0.
static void poses_at(treeFixture *f, double t, tdPose *out)
{
    double q[256];
    assert_true(f->body.n <= 256);
    for (int i = 0; i < f->body.n; i++)
        q[i] = f->q[i] + t * f->v[i] + 0.5 * t * t * f->dv[i];
    td_tree_kinematics(&f->body, q, f->reference, &f->work);
    memcpy(out, f->work.pose, (size_t)f->body.n_links * sizeof *out);
}

// Axial vector of (A B')/step, the turn from B to A
static void turning(const tdPose *a, const tdPose *b, double step, double w[3])
{
    double D[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            D[3 * i + j] = td_dot3(a->R + 3 * (size_t)i, b->R + 3 * (size_t)j);
    w[0] = (D[7] - D[5]) / (2 * step);
    w[1] = (D[2] - D[6]) / (2 * step);
    w[2] = (D[3] - D[1]) / (2 * step);
}

static void spin_of(const tdTreeLink *link, const tdPose *pose, const double w[3], double out[3])
{
    const double *I = link->inertia;
    double local[3], turned[3];
    td_turn_back(pose, w, local);
    const double L[3] = {I[0] * local[0] + I[3] * local[1] + I[4] * local[2],
                         I[3] * local[0] + I[1] * local[1] + I[5] * local[2],
                         I[4] * local[0] + I[5] * local[1] + I[2] * local[2]};
    td_turn(pose, L, turned);
    memcpy(out, turned, sizeof turned);
}

// Newton's and Euler's laws of each link in space, by differences of its pose in time, projected on what each
// coordinate moves: sum over links of m (c'' - g) . dc/dq + dL/dt . w. Uses poses only. Differences of 1e-4 leave 1e-8
// of the third derivatives and 1e-16/1e-8 of positions near 1 m.
static void newton_euler_of_links(void **unused)
{
    (void)unused;
    uint64_t seed = 12;
    const double e = 1e-4, d = 1e-5;
    double worst = 0;
    for (int trial = 0; trial < 100; trial++)
    {
        treeFixture f;
        tdPose at[5][12], moved[2][12];
        tree_random(&f, &seed, 1 + trial % 12, trial % 2 == 1);
        for (int l = 0; l < f.body.n_links; l++)
            f.tree.links[l].armature = f.body.links[l].armature = 0; // not a link's
        double *tau = calloc((size_t)f.body.n + 1, sizeof *tau);
        td_tree_kinematics(&f.body, f.q, f.reference, &f.work);
        td_tree_inverse(&f.body, f.v, f.dv, f.body.gravity, &f.work, tau);
        double size = fmax(largest(tau, f.body.n), 1);
        static const double times[5] = {-2, -1, 0, 1, 2};
        for (int k = 0; k < 5; k++)
            poses_at(&f, times[k] * e, at[k]);
        for (int i = 0; i < f.body.n; i++)
        {
            double sum = 0;
            for (int side = 0; side < 2; side++)
            {
                double kept = f.q[i];
                f.q[i] += side ? d : -d;
                poses_at(&f, 0, moved[side]);
                f.q[i] = kept;
            }
            for (int l = 0; l < f.body.n_links; l++)
            {
                const tdTreeLink *link = &f.tree.links[l];
                double c[5][3], low[3], high[3], w[3], L[2][3], column[3], wl[3];
                for (int k = 0; k < 5; k++)
                    td_place(&at[k][l], link->center, c[k]);
                td_place(&moved[0][l], link->center, low);
                td_place(&moved[1][l], link->center, high);
                turning(&moved[1][l], &moved[0][l], 2 * d, column);
                turning(&at[4][l], &at[2][l], 2 * e, w);
                spin_of(link, &at[3][l], w, L[1]);
                turning(&at[2][l], &at[0][l], 2 * e, wl);
                spin_of(link, &at[1][l], wl, L[0]);
                for (int k = 0; k < 3; k++)
                {
                    double a = (c[3][k] - 2 * c[2][k] + c[1][k]) / (e * e) - f.body.gravity[k];
                    sum += link->mass * a * (high[k] - low[k]) / (2 * d);
                    sum += (L[1][k] - L[0][k]) / (2 * e) * column[k];
                }
            }
            worst = fmax(worst, fabs(sum - tau[i]) / size);
        }
        free(tau);
        tree_free(&f);
    }
    printf("worst %.2g\n", worst);
    assert_near(worst, 0, 2e-5);
}

// Kinetic energy of links by their twists equals v'Mv/2; momentum does not depend on where vectors are taken.
static void energy_and_momentum(void **unused)
{
    (void)unused;
    uint64_t seed = 3;
    for (int trial = 0; trial < 200; trial++)
    {
        treeFixture f;
        tree_random(&f, &seed, 1 + trial % 15, trial % 2 == 1);
        int n = f.body.n;
        double *M = calloc((size_t)(n * n + 1), sizeof *M), twice = 0, energy, p[3], L[3], c[3];
        td_tree_mass(&f.body, &f.work, M);
        td_tree_momentum(&f.body, f.v, &f.work, &energy, p, L, c);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                twice += f.v[i] * M[i * n + j] * f.v[j];
        assert_near(energy, 0.5 * twice, 1e-12 * (1 + energy));
        // Link by link: poses and their differences in time.
        tdPose low[24], high[24];
        const double e = 1e-5;
        memset(f.dv, 0, (size_t)n * sizeof *f.dv);
        poses_at(&f, -e, low);
        poses_at(&f, e, high);
        td_tree_kinematics(&f.body, f.q, f.reference, &f.work);
        double sum[3] = {0}, spin[3] = {0};
        for (int l = 0; l < f.body.n_links; l++)
        {
            double a[3], b[3], at[3], v[3], w[3], own[3], orbital[3];
            td_place(&low[l], f.tree.links[l].center, a);
            td_place(&high[l], f.tree.links[l].center, b);
            td_place(&f.work.pose[l], f.tree.links[l].center, at);
            turning(&high[l], &low[l], 2 * e, w);
            spin_of(&f.tree.links[l], &f.work.pose[l], w, own);
            for (int k = 0; k < 3; k++)
                v[k] = f.tree.links[l].mass * (b[k] - a[k]) / (2 * e);
            td_cross3(at, v, orbital);
            for (int k = 0; k < 3; k++)
            {
                sum[k] += v[k];
                spin[k] += own[k] + orbital[k];
            }
        }
        double size = 1 + fmax(largest(p, 3), largest(L, 3));
        for (int k = 0; k < 3; k++)
        {
            assert_near(p[k], sum[k], 2e-6 * size); // positions and arms near 100 m: rounding of 1e-14 / e times 100
            assert_near(L[k], spin[k], 2e-6 * size);
        }
        free(M);
        tree_free(&f);
    }
}

// A joint that mimics another: M and forces of the tree in which both are free, seen through q_full = G q + g.
static void mimic_is_a_coupling(void **unused)
{
    (void)unused;
    uint64_t seed = 21;
    int coupled = 0;
    for (int trial = 0; trial < 100; trial++)
    {
        treeFixture f;
        tree_random(&f, &seed, 2 + trial % 12, true);
        tdTreeLink *links = f.tree.links;
        int n = f.body.n, full_n = f.body.n_columns;
        treeFixture full = {0};
        full.tree = f.tree;
        full.tree.links = TD_TAKE(&full.arena, tdTreeLink, f.tree.n_links);
        memcpy(full.tree.links, links, (size_t)f.tree.n_links * sizeof *links);
        for (int l = 0; l < f.tree.n_links; l++)
        {
            coupled += links[l].mimic >= 0;
            full.tree.links[l].mimic = -1;
        }
        tdPose base = td_pose_identity();
        if (f.body.links[0].kind == TD_JOINT_FREE)
            memcpy(base.t, f.body.start, sizeof base.t);
        tree_build(&full, &base, f.body.gravity);
        full.body.links[0].origin = f.body.links[0].origin;
        memcpy(full.reference, f.reference, 4 * (size_t)f.body.n_balls * sizeof(double));
        double *M = calloc((size_t)(n * n + 1), sizeof *M), *Mf = calloc((size_t)(full_n * full_n + 1), sizeof *Mf),
               *tau = calloc((size_t)n + 1, sizeof *tau), *tf = calloc((size_t)full_n + 1, sizeof *tf),
               *sum = calloc((size_t)n + 1, sizeof *sum), *G = calloc((size_t)(full_n * n + 1), sizeof *G);
        for (int l = 0; l < f.body.n_links; l++)
            for (int c = 0; c < f.body.links[l].columns; c++)
            {
                int i = full.body.links[l].coord + c, j = f.body.links[l].coord + c;
                G[i * n + j] = f.body.links[l].ratio;
                full.q[i] = f.body.links[l].ratio * f.q[j] + f.body.links[l].offset;
                full.v[i] = f.body.links[l].ratio * f.v[j];
                full.dv[i] = f.body.links[l].ratio * f.dv[j];
            }
        td_tree_kinematics(&full.body, full.q, full.reference, &full.work);
        td_tree_mass(&f.body, &f.work, M);
        td_tree_mass(&full.body, &full.work, Mf);
        td_tree_inverse(&f.body, f.v, f.dv, f.body.gravity, &f.work, tau);
        td_tree_inverse(&full.body, full.v, full.dv, f.body.gravity, &full.work, tf);
        double size = 1 + largest(M, (int64_t)n * n), force = 1 + largest(tf, full_n);
        for (int i = 0; i < n; i++)
        {
            double pulled = 0;
            for (int k = 0; k < full_n; k++)
                pulled += G[k * n + i] * tf[k];
            assert_near(tau[i], pulled, 1e-11 * force);
            for (int j = 0; j < n; j++)
            {
                double entry = 0;
                for (int k = 0; k < full_n; k++)
                    for (int m = 0; m < full_n; m++)
                        entry += G[k * n + i] * Mf[k * full_n + m] * G[m * n + j];
                assert_near(M[i * n + j], entry, 1e-12 * size);
            }
        }
        free(M), free(Mf), free(tau), free(tf), free(sum), free(G);
        tree_free(&full);
        tree_free(&f);
    }
    assert_true(coupled > 50);
}

// Stiffness of gravity is the derivative of its forces; exact for joints with one coordinate.
static void gravity_stiffness(void **unused)
{
    (void)unused;
    uint64_t seed = 33;
    for (int trial = 0; trial < 100; trial++)
    {
        treeFixture f;
        tree_random(&f, &seed, 1 + trial % 10, false);
        for (int l = 0; l < f.tree.n_links; l++)
            if (f.tree.links[l].kind >= TD_JOINT_BALL)
                f.tree.links[l].kind = TD_JOINT_REVOLUTE;
        tdPose base = td_pose_identity();
        tree_build(&f, &base, f.body.gravity);
        tree_shake(&f, &seed, true);
        int n = f.body.n;
        const double none[256] = {0}, e = 1e-5;
        double *K = calloc((size_t)(n * n + 1), sizeof *K), *low = calloc((size_t)n + 1, sizeof *low),
               *high = calloc((size_t)n + 1, sizeof *high);
        td_tree_gravity_stiffness(&f.body, f.body.gravity, &f.work, K);
        double size = 1 + largest(K, (int64_t)n * n);
        for (int j = 0; j < n; j++)
        {
            double kept = f.q[j], potential[2];
            for (int side = 0; side < 2; side++)
            {
                f.q[j] = kept + (side ? e : -e);
                td_tree_kinematics(&f.body, f.q, f.reference, &f.work);
                td_tree_inverse(&f.body, none, NULL, f.body.gravity, &f.work, side ? high : low);
                potential[side] = td_tree_potential(&f.body, f.body.gravity, &f.work);
            }
            f.q[j] = kept;
            // The force itself is the derivative of the potential, to the curvature between the two.
            assert_near((potential[1] - potential[0]) / (2 * e), 0.5 * (low[j] + high[j]), 1e-7 * size);
            for (int i = 0; i < n; i++)
                assert_near(K[i * n + j], (high[i] - low[i]) / (2 * e), 1e-8 * size);
        }
        free(K);
        free(low);
        free(high);
        tree_free(&f);
    }
}

// A fold changes coordinates and reference, and nothing that can be seen.
static void fold_moves_nothing(void **unused)
{
    (void)unused;
    uint64_t seed = 5;
    for (int trial = 0; trial < 200; trial++)
    {
        treeFixture f;
        tree_random(&f, &seed, 1 + trial % 8, false);
        tree_shake(&f, &seed, false);
        tdPose before[24];
        memcpy(before, f.work.pose, (size_t)f.body.n_links * sizeof *before);
        td_tree_fold(&f.body, f.q, f.reference);
        td_tree_kinematics(&f.body, f.q, f.reference, &f.work);
        for (int l = 0; l < f.body.n_links; l++)
        {
            for (int k = 0; k < 9; k++)
                assert_near(f.work.pose[l].R[k], before[l].R[k], 1e-14);
            for (int k = 0; k < 3; k++)
                assert_near(f.work.pose[l].t[k], before[l].t[k], 1e-12);
        }
        tree_free(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mass_equals_newton_euler), cmocka_unit_test(newton_euler_of_links),
        cmocka_unit_test(energy_and_momentum),      cmocka_unit_test(mimic_is_a_coupling),
        cmocka_unit_test(gravity_stiffness),        cmocka_unit_test(fold_moves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
