// SPDX-License-Identifier: Apache-2.0
// Coulomb friction on the dual: one contact against its law, random problems, and the convex solver on the same
// problems where both must agree.
#include "sap_random.h"

#include "solve/nlcp.h"

static void spd3(uint64_t *seed, double W[9])
{
    double B[9];
    for (int i = 0; i < 9; i++)
        B[i] = random_in(seed, -1, 1);
    for (int i = 0; i < 9; i++)
    {
        W[i] = i % 4 == 0 ? 0.05 : 0;
        for (int k = 0; k < 3; k++)
            W[i] += B[3 * (i / 3) + k] * B[3 * (i % 3) + k];
    }
}

static void one_contact_obeys_signorini_and_coulomb(void **unused)
{
    (void)unused;
    uint64_t seed = 17;
    int met[3] = {0};
    for (int k = 0; k < 20000; k++)
    {
        double W[9], q[3], gamma[3], v[3], mu = random_friction(&seed);
        spd3(&seed, W);
        for (int i = 0; i < 3; i++)
            q[i] = random_in(&seed, -1, 1) * (i < 2 ? random_power(&seed, -3, 0) : 1);
        td_nlcp_contact(W, q, mu, gamma);
        double size = 1, slip, friction = hypot(gamma[0], gamma[1]);
        for (int i = 0; i < 3; i++)
        {
            v[i] = q[i] + W[3 * i] * gamma[0] + W[3 * i + 1] * gamma[1] + W[3 * i + 2] * gamma[2];
            size = fmax(size, fabs(gamma[i]));
        }
        slip = hypot(v[0], v[1]);
        // Bisection ends at neighbouring numbers; large impulses on nearly singular W round more.
        double e = 1e-9 * size;
        assert_true(gamma[2] >= 0 && v[2] >= -e && fabs(v[2] * gamma[2]) <= e * size);
        assert_true(friction <= mu * gamma[2] * (1 + 1e-9) + 1e-12);
        if (gamma[2] == 0)
            met[0]++;
        else if (slip <= e)
            met[1]++;
        else
        {
            met[2]++;
            assert_near(friction, mu * gamma[2], e);
            assert_near(v[0] * gamma[0] + v[1] * gamma[1], -slip * friction, 1e-6 * size); // against the slip
        }
    }
    for (int i = 0; i < 3; i++)
        assert_true(met[i] > 1000);
}

// ---------------------------------------------------------------- both solvers

typedef struct dual
{
    int n;
    double W[9 * RANDOM_CONSTRAINTS * RANDOM_CONSTRAINTS], b[3 * RANDOM_CONSTRAINTS], gamma[3 * RANDOM_CONSTRAINTS];
    double v[3 * RANDOM_CONSTRAINTS];
    tdSapLaw laws[RANDOM_CONSTRAINTS];
    tdNlcp problem;
} dual;

// W = J A^-1 J', b = J v* - v_hat, by plain elimination, block by block.
static void make_dual(const tdSapProblem *problem, dual *d)
{
    static double A[RANDOM_SIZE][RANDOM_SIZE], X[3 * RANDOM_CONSTRAINTS][RANDOM_SIZE],
        J[3 * RANDOM_CONSTRAINTS][RANDOM_SIZE];
    d->n = 0;
    for (int c = 0; c < problem->n_constraints; c++)
    {
        d->laws[c] = problem->constraints[c].law;
        for (int r = 0; r < d->laws[c].rows; r++)
            d->b[d->n++] = -d->laws[c].v_hat[r];
    }
    int n = d->n;
    memset(d->W, 0, sizeof(double) * (size_t)(n * n));
    memset(d->gamma, 0, sizeof d->gamma);
    for (int b = 0; b < problem->n_blocks; b++)
    {
        const tdSapBlock *block = &problem->blocks[b];
        memset(J, 0, sizeof J);
        for (int c = 0, row = 0; c < problem->n_constraints; row += d->laws[c++].rows)
            for (int s = 0; s < problem->constraints[c].sides; s++)
            {
                const tdSapSide *side = &problem->constraints[c].side[s];
                for (int r = 0; r < d->laws[c].rows && side->block == b; r++)
                    for (int j = 0; j < side->count; j++)
                        J[row + r][side->columns == NULL ? j : side->columns[j]] += side->J[r * side->count + j];
            }
        for (int i = 0; i < block->n; i++)
            for (int j = 0; j < block->n; j++)
                A[i][j] = entry_of(block, i, j);
        memcpy(X, J, sizeof X);
        for (int p = 0; p < block->n; p++) // Gauss and Jordan
        {
            for (int i = 0; i < block->n; i++)
            {
                double f = i == p ? 0 : A[i][p] / A[p][p];
                for (int j = p; j < block->n && f != 0; j++)
                    A[i][j] -= f * A[p][j];
                for (int r = 0; r < n && f != 0; r++)
                    X[r][i] -= f * X[r][p];
            }
        }
        for (int r = 0; r < n; r++)
            for (int i = 0; i < block->n; i++)
                X[r][i] /= A[i][i];
        for (int r = 0; r < n; r++)
        {
            for (int s = 0; s < n; s++)
                for (int i = 0; i < block->n; i++)
                    d->W[r * n + s] += J[r][i] * X[s][i];
            for (int i = 0; i < block->n; i++)
                d->b[r] += J[r][i] * block->v_star[i];
        }
    }
    d->problem = (tdNlcp){problem->n_constraints, d->laws, n, n, d->W, d->b, d->gamma};
}

// Problems of a size and conditioning that Gauss-Seidel can do: compliant, few constraints.
static void mild_problem(randomProblem *p, tdSap *sap, uint64_t seed, bool friction)
{
    do
        random_problem(p, sap, seed += 1000003);
    while (p->problem.n_constraints > 10 || p->problem.n_blocks > 6);
    tdError error = {0};
    tdStatus status = td_sap_weights(sap, NULL, &p->problem, TD_SAP_EXACT, NULL, p->w, &error);
    assert_ok(status, error);
    for (int c = 0; c < p->problem.n_constraints; c++)
    {
        tdSapLaw *law = &p->constraints[c].law;
        double w = p->w[c] > 0 ? p->w[c] : 1;
        law->mu = friction ? random_in(&p->seed, 0, 1) : 0;
        for (int r = 0; r < law->rows; r++)
            law->R[r] = 0.3 * w;
    }
}

// Without friction both solve the same problem, bilateral and box rows included: same R, same impulses.
static void both_solvers_agree_without_friction(void **unused)
{
    (void)unused;
    static randomProblem p;
    static dual d;
    tdSap *sap = NULL;
    tdError error = {0};
    assert_ok(td_sap_create(&sap, &error), error);
    int converged = 0;
    for (int k = 0; k < 300; k++)
    {
        mild_problem(&p, sap, (uint64_t)k + 1, false);
        tdSapSettings settings = td_default_sap();
        tdSapResult result;
        settings.tolerance = 1e-12;
        assert_ok(td_sap_solve(sap, NULL, &p.problem, &settings, &result, &error), error);
        make_dual(&p.problem, &d);
        tdNlcpSettings dual_settings = {.tolerance = 1e-12, .max_iterations = 5000};
        tdNlcpResult dual_result;
        td_nlcp_solve(&d.problem, &dual_settings, d.v, &dual_result);
        converged += dual_result.converged;
        if (!dual_result.converged)
            continue; // there is no guarantee, and 5000 sweeps are enough
        assert_true(dual_result.residual < 1e-9);
        double off = 0, size = 0;
        for (int c = 0, row = 0; c < p.problem.n_constraints; row += d.laws[c++].rows)
            for (int r = 0; r < d.laws[c].rows; r++)
            {
                // As velocities: impulses of redundant rows are only as unique as R makes them.
                off = fmax(off, d.laws[c].R[r] * fabs(d.gamma[row + r] - p.gamma[3 * c + r]));
                size = fmax(size, fmax(fabs(d.b[row + r]), d.laws[c].R[r] * fabs(p.gamma[3 * c + r])));
            }
        assert_true(off <= 1e-6 * size);
    }
    assert_true(converged >= 297);
    td_sap_free(sap);
}

// With friction they agree where nothing slides, and differ by the known gap where something does: the convex problem
// is Coulomb's with v_n + mu |v_t| for v_n.
static void the_convex_solution_obeys_coulomb_but_for_the_gap(void **unused)
{
    (void)unused;
    static randomProblem p;
    static dual d;
    tdSap *sap = NULL;
    tdError error = {0};
    assert_ok(td_sap_create(&sap, &error), error);
    int stuck = 0, sliding = 0;
    for (int k = 0; k < 400; k++)
    {
        mild_problem(&p, sap, (uint64_t)k + 77, true);
        tdSapSettings settings = td_default_sap();
        tdSapResult result;
        settings.tolerance = 1e-12;
        assert_ok(td_sap_solve(sap, NULL, &p.problem, &settings, &result, &error), error);
        bool slides = false;
        make_dual(&p.problem, &d);
        for (int c = 0, row = 0; c < p.problem.n_constraints; row += d.laws[c++].rows)
        {
            const double *g = p.gamma + 3 * c;
            if (d.laws[c].kind != TD_SAP_CONTACT || g[2] == 0)
                continue;
            double reach = hypot(g[0], g[1]);
            if (reach < d.laws[c].mu * g[2] * (1 - 1e-9))
                continue;
            slides = true;
            // The shifted problem: slip speeds of the convex solution as part of b. v_t = -R_t y_t.
            double slip = hypot(p.v_c[3 * c] - d.laws[c].v_hat[0], p.v_c[3 * c + 1] - d.laws[c].v_hat[1]);
            // Compliance of the tangents moves with the slip: R_t gamma_t is part of the dual's v_t.
            d.b[row + 2] -= d.laws[c].mu * (slip - d.laws[c].R[0] * reach);
        }
        // The convex solution obeys Coulomb's law of the shifted problem, which may have others too: it is judged, not
        // sought.
        for (int c = 0, row = 0; c < p.problem.n_constraints; row += d.laws[c++].rows)
            memcpy(d.gamma + row, p.gamma + 3 * c, (size_t)d.laws[c].rows * sizeof *d.gamma);
        tdNlcpSettings judge = {.tolerance = 1e-9, .max_iterations = 0};
        tdNlcpResult dual_result;
        td_nlcp_solve(&d.problem, &judge, d.v, &dual_result);
        if (result.roundoff == 0)
            assert_true(dual_result.residual < 1e-8);
        stuck += !slides;
        sliding += slides;
    }
    assert_true(stuck > 20 && sliding > 100);
    td_sap_free(sap);
}

// A block on an incline: Coulomb without the convex problem's gap.
static void an_incline_slides_without_a_gap(void **unused)
{
    (void)unused;
    double m = 3, mu = 0.5, g = 9.81, h = 1e-3, angle = atan(mu) + 0.02, v[3] = {0}, W[9] = {0}, gamma[3] = {0};
    double velocity[3], b[3];
    for (int i = 0; i < 3; i++)
        W[4 * i] = 1 / m;
    tdSapLaw law = {.kind = TD_SAP_CONTACT, .rows = 3, .mu = mu}; // rigid: R = 0
    tdNlcp problem = {1, &law, 3, 3, W, b, gamma};
    tdNlcpSettings settings = td_default_nlcp();
    for (int k = 0; k < 1000; k++)
    {
        tdNlcpResult result;
        b[0] = v[0] + h * g * sin(angle);
        b[1] = v[1];
        b[2] = v[2] - h * g * cos(angle);
        td_nlcp_solve(&problem, &settings, velocity, &result);
        assert_true(result.converged && result.iterations <= 2);
        memcpy(v, velocity, sizeof v);
        assert_near(v[2], 0, 1e-15);
        assert_near(gamma[2], m * g * h * cos(angle), 1e-12);
    }
    assert_near(v[0], g * (sin(angle) - mu * cos(angle)), 1e-9);
}

// The bound is kept, and what is left is said.
static void the_bound_is_hard(void **unused)
{
    (void)unused;
    static randomProblem p;
    static dual d;
    tdSap *sap = NULL;
    tdError error = {0};
    assert_ok(td_sap_create(&sap, &error), error);
    mild_problem(&p, sap, 5, true);
    make_dual(&p.problem, &d);
    tdNlcpSettings settings = {.tolerance = 1e-15, .max_iterations = 3};
    tdNlcpResult short_run, long_run;
    td_nlcp_solve(&d.problem, &settings, d.v, &short_run);
    assert_int_equal(short_run.iterations, 3);
    settings = (tdNlcpSettings){.tolerance = 1e-10, .max_iterations = 5000};
    td_nlcp_solve(&d.problem, &settings, d.v, &long_run); // warm
    assert_true(long_run.residual <= short_run.residual);
    td_nlcp_solve(&d.problem, &settings, d.v, &long_run);
    assert_int_equal(long_run.iterations, 1); // a solution is its own warm start
    td_sap_free(sap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_contact_obeys_signorini_and_coulomb),
        cmocka_unit_test(both_solvers_agree_without_friction),
        cmocka_unit_test(the_convex_solution_obeys_coulomb_but_for_the_gap),
        cmocka_unit_test(an_incline_slides_without_a_gap),
        cmocka_unit_test(the_bound_is_hard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
