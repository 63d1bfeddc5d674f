// SPDX-License-Identifier: Apache-2.0
// The convex contact problem as a whole: convergence on random problems with checks that share no code with the solver,
// convexity, derivatives, the supernodal Hessian, threads, memory and errors.
#include "sap_random.h"

#include "solve/sap_plan.h"
#include "solve/sap_sparse.h"

static tdSap *make_sap(void)
{
    tdSap *sap = NULL;
    tdError error = {0};
    tdStatus status = td_sap_create(&sap, &error);
    assert_ok(status, error);
    return sap;
}

static tdSapResult solve(tdSap *sap, tdTasks *tasks, const tdSapProblem *problem, const tdSapSettings *settings)
{
    tdSapSettings usual = td_default_sap();
    tdSapResult result;
    tdError error = {0};
    tdStatus status = td_sap_solve(sap, tasks, problem, settings == NULL ? &usual : settings, &result, &error);
    assert_ok(status, error);
    return result;
}

// ---------------------------------------------------------------- convergence

static void ten_thousand_random_problems(void **unused)
{
    (void)unused;
    static randomProblem p;
    tdSap *sap = make_sap();
    int roundoff = 0, detected = 0;
    for (int k = 0; k < 10000; k++)
    {
        random_problem(&p, sap, (uint64_t)k + 200001);
        tdSapSettings settings = td_default_sap();
        settings.structure = k % 3;
        tdSapResult result = solve(sap, NULL, &p.problem, &settings);
        double momentum = momentum_residual(&p.problem), law = law_residual(&p.problem);
        // Both residuals are those of the issue: 1e-6, or 1e-4 where rounding stopped it.
        if (result.bound != 0 || !(momentum <= (result.roundoff > 0 ? 1e-4 : 1.0001e-6)) || !(law <= 1e-12))
            fail_msg("problem %d: %d iterations, residual %g, momentum %g, law %g, %d at round-off", k,
                     result.iterations, result.residual, momentum, law, result.roundoff);
        roundoff += result.roundoff > 0;
        // The checks themselves can fail: a thousandth of one impulse is seen by one of them.
        double keep = p.gamma[2];
        p.gamma[2] = keep + 1e-3 * fmax(fabs(keep), 1);
        if (p.constraints[0].law.rows == 3)
            detected += momentum_residual(&p.problem) > 1e-6 || law_residual(&p.problem) > 1e-12;
        else
            detected++;
        p.gamma[2] = keep;
    }
    assert_true(roundoff <= 10);
    assert_true(detected > 9000);
    td_sap_free(sap);
}

// All ways of factoring solve the same problem.
static void structures_agree(void **unused)
{
    (void)unused;
    static randomProblem p;
    static double dense[RANDOM_BLOCKS][RANDOM_SIZE], start[RANDOM_BLOCKS][RANDOM_SIZE];
    tdSap *sap = make_sap();
    int sparse = 0;
    for (int k = 0; k < 300; k++)
    {
        random_problem(&p, sap, (uint64_t)k + 500001);
        memcpy(start, p.v, sizeof start);
        for (int structure = TD_SAP_AUTO; structure <= TD_SAP_SPARSE; structure++)
        {
            tdSapSettings settings = td_default_sap();
            settings.structure = structure;
            settings.tolerance = 1e-10;
            memcpy(p.v, start, sizeof start);
            tdSapResult result = solve(sap, NULL, &p.problem, &settings);
            assert_int_equal(result.bound, 0);
            sparse += result.sparse;
            if (structure == TD_SAP_AUTO)
                memcpy(dense, p.v, sizeof dense);
            // The minimum is unique; |v - v'|_A is what the residual bounds.
            double off = 0, size = 0;
            for (int b = 0; b < p.problem.n_blocks; b++)
                for (int i = 0; i < p.blocks[b].n; i++)
                {
                    double d = entry_of(&p.blocks[b], i, i);
                    off += d * pow(p.v[b][i] - dense[b][i], 2);
                    size += d * (pow(p.v[b][i], 2) + pow(p.v_star[b][i], 2));
                }
            if (result.roundoff == 0)
                assert_true(off <= 1e-8 * size); // least eigenvalue of D A D down to 1e-4
        }
    }
    assert_true(sparse > 200);
    td_sap_free(sap);
}

static void warm_starts_need_nothing(void **unused)
{
    (void)unused;
    static randomProblem p;
    tdSap *sap = make_sap();
    for (int k = 0; k < 200; k++)
    {
        random_problem(&p, sap, (uint64_t)k + 600001);
        if (solve(sap, NULL, &p.problem, NULL).roundoff > 0)
            continue;
        tdSapResult result = solve(sap, NULL, &p.problem, NULL);
        assert_int_equal(result.total_iterations, 0);
    }
    td_sap_free(sap);
}

// ---------------------------------------------------------------- cost

// The gradient is that of the cost, and it grows: (grad(a) - grad(b)) (a - b) >= |a - b|²_A, which is convexity.
static void the_cost_is_convex(void **unused)
{
    (void)unused;
    static randomProblem p;
    static double at[RANDOM_BLOCKS * RANDOM_SIZE], g1[RANDOM_BLOCKS * RANDOM_SIZE], g2[RANDOM_BLOCKS * RANDOM_SIZE];
    tdSap *sap = make_sap();
    for (int k = 0; k < 300; k++)
    {
        random_problem(&p, sap, (uint64_t)k + 700001);
        double step[RANDOM_BLOCKS][RANDOM_SIZE], size = random_power(&p.seed, -3, 1), inner = 0, norm = 0, terms = 0;
        td_sap_evaluate(&p.problem, g1);
        double slope = 0;
        for (int b = 0, i = 0; b < p.problem.n_blocks; b++)
            for (int j = 0; j < p.blocks[b].n; j++, i++)
            {
                at[i] = p.v[b][j];
                step[b][j] = random_in(&p.seed, -size, size);
                slope += g1[i] * step[b][j];
                terms += fabs(g1[i] * step[b][j]);
            }
        for (int b = 0, i = 0; b < p.problem.n_blocks; b++)
            for (int j = 0; j < p.blocks[b].n; j++, i++)
                p.v[b][j] = at[i] + step[b][j];
        td_sap_evaluate(&p.problem, g2);
        for (int b = 0, i = 0; b < p.problem.n_blocks; b++)
            for (int j = 0; j < p.blocks[b].n; j++, i++)
            {
                inner += (g2[i] - g1[i]) * step[b][j];
                terms += fabs(g2[i] * step[b][j]);
                for (int l = 0; l < p.blocks[b].n; l++)
                    norm += step[b][j] * entry_of(&p.blocks[b], j, l) * step[b][l];
            }
        assert_true(inner >= norm - 1e-12 * terms);
        // Central difference of the cost, relative to the sizes of its terms at these points.
        double e = 1e-5, cost[2];
        for (int s = 0; s < 2; s++)
        {
            for (int b = 0, i = 0; b < p.problem.n_blocks; b++)
                for (int j = 0; j < p.blocks[b].n; j++, i++)
                    p.v[b][j] = at[i] + (s == 0 ? e : -e) * step[b][j];
            cost[s] = td_sap_evaluate(&p.problem, NULL);
        }
        assert_near((cost[0] - cost[1]) / (2 * e), slope, e * (terms + fabs(inner)) + 1e-15 / e * fabs(cost[0]));
    }
    td_sap_free(sap);
}

#define DENSE 160 // unknowns

// H = A + sum J' G J by plain loops, in the order of the blocks.
static void plain_hessian(const tdSapProblem *problem, int n, double H[DENSE][DENSE])
{
    int first[RANDOM_BLOCKS], at = 0;
    memset(H, 0, sizeof(double) * DENSE * DENSE);
    for (int b = 0; b < problem->n_blocks; at += problem->blocks[b++].n)
    {
        first[b] = at;
        for (int i = 0; i < problem->blocks[b].n; i++)
            for (int j = 0; j < problem->blocks[b].n; j++)
                H[at + i][at + j] = entry_of(&problem->blocks[b], i, j);
    }
    for (int c = 0; c < problem->n_constraints; c++)
    {
        const tdSapConstraint *constraint = &problem->constraints[c];
        double J[3][DENSE] = {0}, v_c[3] = {0}, gamma[3], G[9];
        int rows = constraint->law.rows;
        for (int s = 0; s < constraint->sides; s++)
        {
            const tdSapSide *side = &constraint->side[s];
            for (int r = 0; r < rows; r++)
                for (int j = 0; j < side->count; j++)
                {
                    int column = side->columns == NULL ? j : side->columns[j];
                    J[r][first[side->block] + column] += side->J[r * side->count + j];
                    v_c[r] += side->J[r * side->count + j] * problem->blocks[side->block].v[column];
                }
        }
        td_sap_project(&constraint->law, v_c, gamma, G);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                for (int k = 0; k < rows * rows; k++)
                    H[i][j] += J[k / rows][i] * G[k] * J[k % rows][j];
    }
}

// The gradient's differences are the plain Hessian's, and the supernodal factor solves with it.
static void the_hessian_is_assembled_and_factored(void **unused)
{
    (void)unused;
    static randomProblem p;
    static double H[DENSE][DENSE], up[DENSE], down[DENSE], step[DENSE];
    tdSap *sap = make_sap();
    int stacked = 0, split = 0, smooth = 0, differences = 0;
    for (int k = 0; k < 1500; k++)
    {
        random_problem(&p, sap, (uint64_t)k + 800001);
        int n = 0;
        for (int b = 0; b < p.problem.n_blocks; b++)
            n += p.blocks[b].n;
        if (n > DENSE)
            continue;
        plain_hessian(&p.problem, n, H);
        // Differences along a step so small that few problems have a kink on it.
        double off = 0, size = 0, noise = 0, e = 1e-6;
        for (int b = 0, i = 0; b < p.problem.n_blocks; b++)
            for (int j = 0; j < p.blocks[b].n; j++, i++)
                p.v[b][j] += e * (step[i] = random_in(&p.seed, -1, 1));
        td_sap_evaluate(&p.problem, up);
        for (int b = 0, i = 0; b < p.problem.n_blocks; b++)
            for (int j = 0; j < p.blocks[b].n; j++, i++)
                p.v[b][j] -= 2 * e * step[i];
        td_sap_evaluate(&p.problem, down);
        for (int b = 0, i = 0; b < p.problem.n_blocks; b++)
            for (int j = 0; j < p.blocks[b].n; j++, i++)
                p.v[b][j] += e * step[i];
        for (int i = 0; i < n; i++)
        {
            double Hs = 0;
            for (int j = 0; j < n; j++)
                Hs += H[i][j] * step[j];
            off = fmax(off, fabs((up[i] - down[i]) / (2 * e) - Hs) / sqrt(H[i][i]));
            size = fmax(size, fabs(Hs) / sqrt(H[i][i]));
            noise = fmax(noise, 0x1p-46 / e * fabs(up[i]) / sqrt(H[i][i]));
        }
        differences++;
        smooth += off <= 1e-4 * size + noise;
        // The factor, in the order of the islands.
        tdSapPlan plan;
        tdError error = {0};
        td_stack_reset(&sap->stack);
        tdStatus status = td_sap_plan(sap, &p.problem, k % 3, &plan, &error);
        assert_ok(status, error);
        for (int i = 0; i < plan.n_islands; i++)
        {
            tdSapIsland *island = &plan.islands[i];
            td_sap_load(&p.problem, island);
            for (int l = 0; l < island->n_links; l++)
            {
                const tdSapLink *link = &island->links[l];
                double v_c[3] = {0}, gamma[3];
                for (int r = 0; r < link->law->rows; r++)
                    for (int j = 0; j < link->patch.n; j++)
                        v_c[r] += link->J[r * link->patch.n + j] * island->v[link->patch.at[j]];
                td_sap_project(link->law, v_c, gamma, island->G + 9 * l);
            }
            split += island->n_supers > 1;
            for (int s = 0; s < island->n_supers; s++)
                stacked += island->supers[s].stacked != NULL;
            assert_true(td_sap_factor(&p.problem, island, NULL, 0));
            // H x = b: the residual of x with the plain H, backward stable.
            int coordinate[DENSE];
            for (int m = 0; m < island->n_members; m++)
                for (int j = 0; j < island->members[m].patch.n; j++)
                {
                    int first = 0;
                    for (int b = 0; b < island->members[m].block; b++)
                        first += p.blocks[b].n;
                    coordinate[island->members[m].patch.at[j]] = first + island->members[m].column[j];
                }
            for (int j = 0; j < island->n; j++)
                island->x[j] = random_in(&p.seed, -1, 1) * sqrt(H[coordinate[j]][coordinate[j]]);
            td_sap_substitute(island, island->x, island->dv);
            for (int j = 0; j < island->n; j++)
            {
                double sum = 0, terms = 0;
                for (int l = 0; l < island->n; l++)
                {
                    double term = H[coordinate[j]][coordinate[l]] * island->dv[l];
                    sum += term;
                    terms +=
                        fabs(sqrt(H[coordinate[j]][coordinate[j]] * H[coordinate[l]][coordinate[l]]) * island->dv[l]);
                }
                assert_near(sum, island->x[j], 1e-13 * terms * island->n);
            }
        }
    }
    assert_true(stacked > 20 && split > 100);
    assert_true(differences > 1000 && smooth > 0.9 * differences); // the others have a kink within 1e-6
    td_sap_free(sap);
}

// ---------------------------------------------------------------- threads, memory

static void threads_do_not_change_a_bit(void **unused)
{
    (void)unused;
    static randomProblem p;
    static double alone[RANDOM_BLOCKS][RANDOM_SIZE], gamma[3 * RANDOM_CONSTRAINTS], start[RANDOM_BLOCKS][RANDOM_SIZE];
    tdError error = {0};
    tdSap *sap = make_sap();
    int islands = 0;
    for (int threads = 2; threads <= 4; threads++)
    {
        tdTasks *tasks = NULL;
        tdStatus status = td_tasks_create(threads, &tasks, &error);
        assert_ok(status, error);
        for (int k = 0; k < 100; k++)
        {
            random_problem(&p, sap, (uint64_t)k + 900001);
            memcpy(start, p.v, sizeof start);
            solve(sap, NULL, &p.problem, NULL);
            memcpy(alone, p.v, sizeof alone);
            memcpy(gamma, p.gamma, sizeof gamma);
            memcpy(p.v, start, sizeof start);
            islands += solve(sap, tasks, &p.problem, NULL).islands > 1;
            assert_memory_equal(alone, p.v, sizeof alone);
            assert_memory_equal(gamma, p.gamma, (size_t)p.problem.n_constraints * 3 * sizeof *gamma);
        }
        td_tasks_free(tasks);
    }
    assert_true(islands > 50);
    td_sap_free(sap);
}

static void memory_grows_only_with_the_problem(void **unused)
{
    (void)unused;
    static randomProblem p;
    tdSap *sap = make_sap();
    for (int round = 0; round < 3; round++)
        for (int k = 0; k < 300; k++)
        {
            random_problem(&p, sap, (uint64_t)k + 1000001); // weights take from the same memory
            bool grown = solve(sap, NULL, &p.problem, NULL).grown;
            if (round == 2)
                assert_false(grown);
        }
    td_sap_free(sap);
}

// ---------------------------------------------------------------- small things

static void weights_are_those_of_the_delassus_operator(void **unused)
{
    (void)unused;
    // Two masses, one contact between them: W = (1/m1 + 1/m2) I; one body on itself: rows subtract.
    double A1[9] = {2, 0, 0, 0, 2, 0, 0, 0, 2}, A2[9] = {3, 0, 0, 0, 3, 0, 0, 0, 3}, zero[3] = {0}, v[2][3] = {{0}};
    double J[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, minus[9] = {-1, 0, 0, 0, -1, 0, 0, 0, -1}, gamma[9], w[3];
    tdSapBlock blocks[2] = {{.n = 3, .stride = 3, .A = A1, .v_star = zero, .v = v[0]},
                            {.n = 3, .stride = 3, .A = A2, .v_star = zero, .v = v[1]}};
    int32_t first[1] = {0}, second[1] = {1};
    double one[1] = {1}, less[1] = {-1};
    tdSapConstraint constraints[3] = {
        {.law = {.rows = 3}, .sides = 2, .side = {{0, 3, NULL, J}, {1, 3, NULL, minus}}},
        {.law = {.rows = 1}, .sides = 2, .side = {{0, 1, first, one}, {0, 1, second, less}}},
        {.law = {.rows = 1}, .sides = 2, .side = {{0, 1, first, one}, {0, 1, first, less}}},
    };
    tdSapProblem problem = {2, 3, blocks, constraints, gamma, NULL};
    tdSap *sap = make_sap();
    tdError error = {0};
    for (int how = TD_SAP_EXACT; how <= TD_SAP_DIAGONAL; how++)
    {
        tdStatus status = td_sap_weights(sap, NULL, &problem, how, NULL, w, &error);
        assert_ok(status, error);
        assert_near(w[0], sqrt(3) * (0.5 + 1 / 3.0) / 3, 1e-15);
        assert_near(w[1], 1, 1e-15);
        assert_near(w[2], 0, 0);
    }
    td_sap_free(sap);
}

// Exact weights by both ways: many sparse contacts take the inverse, single ones a solve.
static void weights_do_not_depend_on_the_company(void **unused)
{
    (void)unused;
    static randomProblem p;
    tdSap *sap = make_sap();
    tdError error = {0};
    int checked = 0;
    for (int k = 0; k < 100; k++)
    {
        random_problem(&p, sap, (uint64_t)k + 1100001);
        tdStatus status = td_sap_weights(sap, NULL, &p.problem, TD_SAP_EXACT, NULL, p.w, &error);
        assert_ok(status, error);
        for (int c = 0; c < p.problem.n_constraints; c += 7)
        {
            tdSapProblem one = p.problem;
            double w;
            one.n_constraints = 1;
            one.constraints = &p.constraints[c];
            status = td_sap_weights(sap, NULL, &one, TD_SAP_EXACT, NULL, &w, &error);
            assert_ok(status, error);
            assert_near(w, p.w[c], 1e-8 * p.w[c]); // conditions to 1e7
            checked++;
        }
    }
    assert_true(checked > 200);
    td_sap_free(sap);
}

// A chain of blocks: its tree is cut into two, factored at the same time.
static void a_long_chain_is_cut_and_keeps_its_bits(void **unused)
{
    (void)unused;
    static randomProblem p;
    static double start[RANDOM_BLOCKS][RANDOM_SIZE], alone[RANDOM_BLOCKS][RANDOM_SIZE];
    uint64_t *seed = &p.seed;
    tdSap *sap = make_sap();
    tdError error = {0};
    int n = 0;
    p.seed = 4711;
    for (int b = 0; b < RANDOM_BLOCKS; b++)
        random_block(&p, b, RANDOM_SIZE, 1);
    for (int c = 0; c < 4 * (RANDOM_BLOCKS - 1); c++)
    {
        p.constraints[c] = (tdSapConstraint){.law = {.kind = TD_SAP_CONTACT, .rows = 3}, .sides = 2};
        for (int s = 0; s < 2; s++)
        {
            random_side(&p, c, s, c / 4 + s, 3, 1);
            tdSapSide *side = &p.constraints[c].side[s];
            side->columns = p.columns[c][s];
            side->count = 12;
            for (int k = 0; k < 12; k++) // the second half touches the first half of the next
                p.columns[c][s][k] = random_whole(seed, 0, RANDOM_SIZE / 2 - 1) + (s == 0 ? RANDOM_SIZE / 2 : 0);
            for (int k = 0; k < 36; k++)
                p.J[c][s][k] = random_in(seed, -1, 1);
        }
        n++;
    }
    p.problem = (tdSapProblem){RANDOM_BLOCKS, n, p.blocks, p.constraints, p.gamma, p.v_c};
    assert_ok(td_sap_weights(sap, NULL, &p.problem, TD_SAP_EXACT, NULL, p.w, &error), error);
    for (int c = 0; c < n; c++)
        random_law(&p, c, 0.01);
    tdSapPlan plan;
    td_stack_reset(&sap->stack);
    assert_ok(td_sap_plan(sap, &p.problem, TD_SAP_AUTO, &plan, &error), error);
    assert_int_equal(plan.n_islands, 1);
    assert_true(plan.islands[0].sparse && plan.islands[0].n_trees >= 3);
    memcpy(start, p.v, sizeof start);
    for (int threads = 1; threads <= 3; threads++)
    {
        tdTasks *tasks = NULL;
        assert_ok(td_tasks_create(threads, &tasks, &error), error);
        memcpy(p.v, start, sizeof start);
        tdSapResult result = solve(sap, tasks, &p.problem, NULL);
        assert_int_equal(result.converged, 1);
        assert_true(momentum_residual(&p.problem) <= 1.0001e-6 && law_residual(&p.problem) <= 1e-12);
        if (threads == 1)
            memcpy(alone, p.v, sizeof alone);
        assert_memory_equal(alone, p.v, sizeof alone);
        td_tasks_free(tasks);
    }
    td_sap_free(sap);
}

static void bodies_without_constraints_move_freely(void **unused)
{
    (void)unused;
    double A[1] = {2}, star[2] = {3, -1}, v[2] = {0}, J[1] = {1}, gamma[3];
    tdSapBlock blocks[2] = {{.n = 1, .stride = 1, .A = A, .v_star = &star[0], .v = &v[0]},
                            {.n = 1, .stride = 1, .A = A, .v_star = &star[1], .v = &v[1]}};
    tdSapTuning tuning = td_sap_tuning(0.01, 0.01);
    tdSapConstraint stop = {.law = td_sap_box(&tuning, 0, INFINITY, 0, 0.5, 0, INFINITY),
                            .sides = 1,
                            .side[0] = {.block = 1, .count = 1, .J = J}};
    tdSapProblem problem = {2, 1, blocks, &stop, gamma, NULL};
    tdSap *sap = make_sap();
    double history[501];
    tdSapSettings settings = td_default_sap();
    settings.history = history;
    tdSapResult result = solve(sap, NULL, &problem, &settings);
    assert_int_equal(result.islands, 1);
    assert_near(v[0], 3, 0);
    assert_near(v[1], 0, 1e-6);
    assert_int_equal(result.history, result.iterations + 1);
    for (int i = 1; i < result.history; i++)
        assert_true(history[i] <= history[i - 1]);
    problem.n_constraints = 0;
    result = solve(sap, NULL, &problem, NULL);
    assert_int_equal(result.islands, 0);
    assert_near(v[1], -1, 0);
    td_sap_free(sap);
}

static void expect_error(tdSap *sap, const tdSapProblem *problem, const char *text)
{
    tdSapSettings settings = td_default_sap();
    tdSapResult result;
    tdError error = {0};
    assert_true(td_sap_solve(sap, NULL, problem, &settings, &result, &error) != TD_OK);
    if (strstr(error.message, text) == NULL)
        fail_msg("'%s' does not mention '%s'", error.message, text);
}

static void bad_problems_are_refused(void **unused)
{
    (void)unused;
    double A[4] = {2, 0, 0, 2}, star[2] = {3, -1}, v[2] = {7, 7}, J[6] = {1, 1, 1, 1, 1, 1}, gamma[3];
    int32_t columns[2] = {0, 1};
    tdSapBlock block = {.n = 2, .stride = 2, .A = A, .v_star = star, .v = v};
    tdSapTuning tuning = td_sap_tuning(0.01, 0.01);
    tdSapConstraint contact = {.law = td_sap_contact(&tuning, 0.5, 0, INFINITY, 0, 0.5),
                               .sides = 1,
                               .side[0] = {.block = 0, .count = 2, .columns = columns, .J = J}};
    tdSapProblem problem = {1, 1, &block, &contact, gamma, NULL};
    tdSap *sap = make_sap();
    solve(sap, NULL, &problem, NULL);
    v[0] = v[1] = 7;
    columns[1] = 2;
    expect_error(sap, &problem, "column 2");
    columns[1] = 1;
    contact.side[0].block = 1;
    expect_error(sap, &problem, "block 1 of 1");
    contact.side[0].block = 0;
    contact.sides = 3;
    expect_error(sap, &problem, "3 sides");
    contact.sides = 1;
    J[3] = NAN;
    expect_error(sap, &problem, "constraint 0");
    J[3] = 1;
    star[1] = INFINITY;
    expect_error(sap, &problem, "velocities");
    star[1] = -1;
    A[3] = -1;
    expect_error(sap, &problem, "not positive definite");
    A[3] = 2;
    A[1] = NAN;
    expect_error(sap, &problem, "not finite");
    A[1] = 100; // indefinite; friction does not make up for it
    star[1] = 1;
    contact.law.v_hat[2] = -1e9;
    expect_error(sap, &problem, "not positive definite");
    A[1] = 0;
    contact.law.R[2] = 0;
    expect_error(sap, &problem, "regularization");
    assert_near(v[0], 7, 0); // v keeps its start
    td_sap_free(sap);
}

// ---------------------------------------------------------------- sparse blocks

enum
{
    LONG = 300, // velocities of a sparse block
    SHORT = 12,
    TOUCHES = 60
};

typedef struct sparseBlock
{
    int32_t start[LONG + 1], row[4 * LONG];
    double values[4 * LONG], A[LONG * LONG];
    tdSapSparse sparse;
} sparseBlock;

// A band, with one entry farther off in some columns.
static void make_band(sparseBlock *b, int n, uint64_t *seed)
{
    int at = 0;
    memset(b->A, 0, sizeof b->A);
    for (int j = 0; j < n; j++)
    {
        int far = j + random_whole(seed, 3, 40);
        b->start[j] = at;
        for (int i = j; i < n; i++)
        {
            if (i > j + 1 && i != far)
                continue;
            b->row[at] = i;
            b->values[at] = i == j ? random_in(seed, 1.2, 3) : random_in(seed, -0.25, 0.25);
            b->A[i + j * LONG] = b->values[at++];
        }
    }
    b->start[n] = at;
    b->sparse = (tdSapSparse){.start = b->start, .row = b->row, .values = b->values};
}

// Two sparse blocks and a small dense one, joined by points, welds, and rows over all of a block (which are borders):
// the same solution as with dense blocks.
static void sparse_blocks_give_the_same(void **unused)
{
    (void)unused;
    static sparseBlock sparse[3];
    static double v_star[3][LONG], v[2][3][LONG], J[TOUCHES + 4][2][9], wide[2][LONG], gamma[2][3 * (TOUCHES + 4)];
    static int32_t columns[TOUCHES + 4][2][3];
    tdSap *sap = make_sap();
    tdSapTuning tuning = td_sap_tuning(0.01, 0.01);
    for (uint64_t seed = 1; seed < 40; seed += 3)
    {
        uint64_t random = seed * 7919;
        int n[3] = {LONG, SHORT, LONG / 2}, most = TOUCHES + 4;
        tdSapConstraint constraints[TOUCHES + 4];
        for (int b = 0; b < 3; b++)
        {
            make_band(&sparse[b], n[b], &random);
            for (int i = 0; i < n[b]; i++)
                v_star[b][i] = random_in(&random, -1, 1);
        }
        for (int c = 0; c < most; c++)
        {
            bool over_all = c >= TOUCHES && c < TOUCHES + 2, box = c == TOUCHES + 2;
            int rows = over_all || box ? 1 : 3;
            constraints[c] = (tdSapConstraint){.sides = over_all || c % 3 == 0 ? 1 : 2};
            for (int s = 0; s < constraints[c].sides; s++)
            {
                int block = over_all ? 0 : s == 0 ? (c % 2) * 2 : (c % 4 == 1 ? 1 : 2 - (c % 2) * 2), count = 3;
                for (int j = 0; j < count; j++)
                    columns[c][s][j] = random_whole(&random, 0, n[block] - 1);
                for (int j = 0; j < 9; j++)
                    J[c][s][j] = random_in(&random, -1, 1);
                constraints[c].side[s] =
                    (tdSapSide){.block = block, .count = count, .columns = columns[c][s], .J = J[c][s]};
            }
            if (over_all)
            {
                for (int i = 0; i < LONG; i++)
                    wide[c - TOUCHES][i] = random_in(&random, -1, 1);
                constraints[c].side[0] = (tdSapSide){.block = 0, .count = LONG, .J = wide[c - TOUCHES]};
            }
            double g[3] = {0, 1e-3, -1e-3};
            constraints[c].law = over_all || box ? td_sap_box(&tuning, 2e-3, INFINITY, 0, over_all ? 100 : 0.5,
                                                              box ? -0.01 : 0, box ? 0.01 : INFINITY)
                                 : c % 7 == 0    ? td_sap_bilateral(&tuning, rows, g, INFINITY, 0, 0.5)
                                                 : td_sap_contact(&tuning, 0.5, -1e-3, INFINITY, 0, 0.5);
        }
        for (int way = 0; way < 2; way++)
        {
            tdSapBlock blocks[3];
            for (int b = 0; b < 3; b++)
            {
                memset(v[way][b], 0, sizeof v[way][b]);
                blocks[b] =
                    (tdSapBlock){.n = n[b], .stride = LONG, .A = sparse[b].A, .v_star = v_star[b], .v = v[way][b]};
                if (way == 1 && b != 1)
                    blocks[b] =
                        (tdSapBlock){.n = n[b], .v_star = v_star[b], .v = v[way][b], .sparse = &sparse[b].sparse};
            }
            tdSapProblem problem = {3, most, blocks, constraints, gamma[way], NULL};
            tdSapSettings settings = td_default_sap();
            settings.tolerance = 1e-10;
            tdSapResult result = solve(sap, NULL, &problem, &settings);
            assert_int_equal(result.bound, 0);
            assert_int_equal(result.islands, 1);
        }
        for (int b = 0; b < 3; b++)
            for (int i = 0; i < n[b]; i++)
                assert_near(v[1][b][i], v[0][b][i], 1e-7);
        // The same structure again is not analysed again.
        tdSapBlock again[3];
        for (int b = 0; b < 3; b++)
            again[b] =
                b == 1 ? (tdSapBlock){.n = n[b], .stride = LONG, .A = sparse[b].A, .v_star = v_star[b], .v = v[1][b]}
                       : (tdSapBlock){.n = n[b], .v_star = v_star[b], .v = v[1][b], .sparse = &sparse[b].sparse};
        tdSapProblem problem = {3, most, again, constraints, gamma[1], NULL};
        tdSapResult result = solve(sap, NULL, &problem, NULL);
        assert_int_equal(result.iterations, 0);
        result = solve(sap, NULL, &problem, NULL);
        assert_false(result.grown);
    }
    // Some iterations went by the factor of one before them.
    int64_t changes = 0;
    for (const tdSapFactor *f = sap->factors; f != NULL; f = f->next)
        changes += f->changes;
    assert_true(changes > 0);
    td_sap_free(sap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse_blocks_give_the_same),
        cmocka_unit_test(ten_thousand_random_problems),
        cmocka_unit_test(structures_agree),
        cmocka_unit_test(warm_starts_need_nothing),
        cmocka_unit_test(the_cost_is_convex),
        cmocka_unit_test(the_hessian_is_assembled_and_factored),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(memory_grows_only_with_the_problem),
        cmocka_unit_test(weights_are_those_of_the_delassus_operator),
        cmocka_unit_test(weights_do_not_depend_on_the_company),
        cmocka_unit_test(a_long_chain_is_cut_and_keeps_its_bits),
        cmocka_unit_test(bodies_without_constraints_move_freely),
        cmocka_unit_test(bad_problems_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
