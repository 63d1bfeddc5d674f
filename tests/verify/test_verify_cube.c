// SPDX-License-Identifier: Apache-2.0
// S3 Fig. 3: a cube held on one side, the opposite side moved away and towards it; force over displacement of four
// laws whose parameters agree at small strain.
#include "verify_plot.h"

#define CELLS (VERIFY_SLOW ? 5 : 7) // 7: the 2,058 tetrahedra of the source's cube
#define STEPS 12                    // each way
#define LAWS  4
#define SMALL 0.01 // first step of both ways: what the stiffness at rest is taken from

static const struct
{
    const char *title, *material;
    int pushes; // StVK buckles in itself near 29 %: no equilibrium is found beyond
} laws[LAWS] = {{"corotational", "law: corotational, young: 1, poisson: 0.45", STEPS},
                {"StVK", "law: stvk, mu: 0.344, lambda: 3.10", 8},
                {"neo-Hookean", "law: neo_hookean, mu: 0.344, bulk: 3.33", STEPS},
                {"Mooney-Rivlin", "law: mooney_rivlin, c10: 0.086, c01: 0.086, bulk: 3.33", STEPS}};

// Forces [N] that hold the moved side at displacements [m] of one sign; 1 m^3. `slide`: both sides are held along x
// alone, so that the strain is the same everywhere.
static void curve(const char *material, bool slide, int n, const double *displacement, double *force)
{
    tdModel *model =
        verify_model("tendril: 1\n"
                     "integrator: {method: static, tolerance: 1e-8, max_iterations: 100}\n"
                     "bodies:\n"
                     "  - name: cube\n"
                     "    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [%d, %d, %d]}\n"
                     "    material: {%s}\n"
                     "    fixed: [%s]\n"
                     "    prescribed: [{name: pull, group: xmax, displacement: [1, 0, 0]%s}]\n"
                     "motion: {keyframes: [{t: 0, pull: 0}]}\n",
                     CELLS, CELLS, CELLS, material,
                     slide ? "{group: xmin, axes: x}, {group: ymin, axes: y}, {group: zmin, axes: z}" : "{group: xmin}",
                     slide ? ", axes: x" : "");
    const tdSoft *soft = verify_soft(model);
    tdState *state = verify_state(model);
    for (int k = 0; k < n; k++)
    {
        assert_int_equal(td_state_set_input(model, state, 0, displacement[k]), TD_OK);
        verify_step(model, state);
        force[k] = 0;
        for (int64_t i = 0; i < soft->n_nodes; i++)
            force[k] += soft->rest[3 * i] > 0.5 ? state->reaction[3 * i] : 0;
    }
    td_state_free(state);
    td_model_free(model);
}

// Share of the variance that a straight line through the origin explains.
static double straight(int n, const double *x, const double *y)
{
    double xx = 0, xy = 0, mean = 0, left = 0, all = 0;
    for (int k = 0; k < n; k++)
    {
        xx += x[k] * x[k];
        xy += x[k] * y[k];
        mean += y[k] / n;
    }
    for (int k = 0; k < n; k++)
    {
        left += pow(y[k] - xy / xx * x[k], 2);
        all += pow(y[k] - mean, 2);
    }
    return 1 - left / all;
}

static double pull[STEPS + 1], push[STEPS + 1], pulled[LAWS][STEPS + 1], pushed[LAWS][STEPS + 1];

// Stiffness between the last two points over that of the first step: above 1, the law hardens on the way.
static double hardening(int last, const double *x, const double *y)
{
    return (y[last] - y[last - 1]) / (x[last] - x[last - 1]) / (y[0] / x[0]);
}

static int setup(void **context)
{
    (void)context;
    pull[0] = SMALL;
    push[0] = -SMALL;
    for (int k = 1; k <= STEPS; k++)
    {
        pull[k] = 0.6 * k / STEPS;
        push[k] = -0.4 * k / STEPS;
    }
    for (int i = 0; i < LAWS; i++)
    {
        curve(laws[i].material, false, STEPS + 1, pull, pulled[i]);
        curve(laws[i].material, false, laws[i].pushes + 1, push, pushed[i]);
        for (int k = laws[i].pushes + 1; k <= STEPS; k++)
            pushed[i][k] = NAN;
    }
    return 0;
}

static void test_table(void **context)
{
    (void)context;
    printf("ROW\ts3-fig3\tdisplacement");
    for (int i = 0; i < LAWS; i++)
        printf("\t%s", laws[i].title);
    printf("\n");
    for (int k = -STEPS; k <= STEPS; k += 2)
    {
        printf("ROW\ts3-fig3\t%+.1f %%", k == 0 ? 0 : 100 * (k < 0 ? push[-k] : pull[k]));
        for (int i = 0; i < LAWS; i++)
            if (k < -laws[i].pushes)
                printf("\t");
            else
                printf("\t%+.4f", k == 0 ? 0 : k < 0 ? pushed[i][-k] : pulled[i][k]);
        printf("\n");
    }
    tdPlotSettings settings = td_default_plot();
    settings.title = "Cube held on one side, the other moved";
    settings.x_label = "displacement [m]";
    settings.y_label = "force [N]";
    double x[2 * STEPS + 1], y[LAWS][2 * STEPS + 1];
    tdSeries series[LAWS] = {{0}};
    for (int i = 0; i < LAWS; i++)
    {
        for (int k = -STEPS; k <= STEPS; k++)
        {
            x[k + STEPS] = k == 0 ? 0 : k < 0 ? push[-k] : pull[k];
            y[i][k + STEPS] = k == 0 ? 0 : k < 0 ? pushed[i][-k] : pulled[i][k];
        }
        series[i] =
            (tdSeries){.name = laws[i].title, .n = 2 * STEPS + 1, .x = x, .y = y[i], .marker = (tdMarker)(i + 1)};
    }
    verify_plot("s3-fig3.png", &settings, LAWS, series);
}

// The parameters were chosen to agree, so the stiffness at rest must: to the three digits they are given with,
// and to the curvature within the first step, of opposite sign both ways.
static void test_rest(void **context)
{
    (void)context;
    double first = (pulled[0][0] - pushed[0][0]) / (2 * SMALL);
    for (int i = 1; i < LAWS; i++)
    {
        char name[128];
        snprintf(name, sizeof name, "%s, stiffness at rest [N/m]", laws[i].title);
        verify_relative(name, "corotational", first, (pulled[i][0] - pushed[i][0]) / (2 * SMALL), 0.005);
    }
}

static void test_shape(void **context)
{
    (void)context;
    double slid[STEPS + 1];
    curve(laws[0].material, true, STEPS + 1, pull, slid);
    verify_absolute("corotational, pulled, sides free to slide: 1 - R² of a straight line",
                    "Courtecuisse et al. 2015: linear", 0, 1 - straight(STEPS + 1, pull, slid), 1e-12);
    verify_above("corotational, pulled: R² of a straight line", "Courtecuisse et al. 2015: linear", 0.995,
                 straight(STEPS + 1, pull, pulled[0]));
    verify_above("corotational, pushed: R² of a straight line", "Courtecuisse et al. 2015: linear", 0.995,
                 straight(STEPS + 1, push, pushed[0]));
    verify_above("StVK, pulled: stiffness at the end over that at rest", "Courtecuisse et al. 2015: hardens", 1.1,
                 hardening(STEPS, pull, pulled[1]));
    verify_below("StVK, pushed: the same", "Courtecuisse et al. 2015: softens", 0.9,
                 hardening(laws[1].pushes, push, pushed[1]));
    for (int i = 2; i < LAWS; i++)
    {
        char name[128];
        snprintf(name, sizeof name, "%s, pulled: stiffness at the end over that at rest", laws[i].title);
        verify_below(name, "Courtecuisse et al. 2015: softens", 0.9, hardening(STEPS, pull, pulled[i]));
        snprintf(name, sizeof name, "%s, pushed: the same", laws[i].title);
        verify_above(name, "Courtecuisse et al. 2015: hardens", 1.1, hardening(STEPS, push, pushed[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_rest),
                                       cmocka_unit_test(test_shape)};
    return cmocka_run_group_tests(tests, setup, NULL);
}
