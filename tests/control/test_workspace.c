// SPDX-License-Identifier: Apache-2.0
// Sampling of actuators' ranges: axes, order of the visit, equilibria.
#include "scenes.h"

#include "arm.h"
#include "control/workspace.h"

static tdModel *static_model(const char *text)
{
    tdModel *model = NULL;
    tdError error = {0};
    tdStatus status =
        td_model_parse_edited(text, strlen(text), "scene.yaml", NULL, NULL, td_workspace_edit, NULL, &model, &error);
    assert_ok(status, error);
    return model;
}

static void test_axes(void **state)
{
    (void)state;
    tdModel *model = static_model(ARM_BODY("250 kPa") ARM_CABLES("[0.1, 0.5]") ARM_TIP
                                  "control: {groups: [{actuators: [north, up], ratio: [1, -2], share: effort}]}\n");
    tdArena arena = {0};
    tdError error = {0};
    int n = 0;
    tdWorkspaceAxis *axes = NULL;
    // The one would have to push where the other pulls.
    assert_int_equal(td_workspace_axes(model, &arena, &n, &axes, &error), TD_ERROR_INPUT);
    td_model_free(model);
    model = static_model(ARM_BODY("250 kPa") ARM_CABLES("[0.1, 0.5]") ARM_TIP
                         "control: {groups: [{actuators: [north, up], ratio: [1, 2], share: effort}]}\n");
    tdStatus status = td_workspace_axes(model, &arena, &n, &axes, &error);
    assert_ok(status, error);
    assert_int_equal(n, 3);
    assert_int_equal(axes[0].n, 2);
    assert_near(axes[0].range[0], 0.1, 1e-15);
    assert_near(axes[0].range[1], 0.25, 1e-15);
    assert_int_equal(axes[1].actuators[0], 1);
    assert_int_equal(axes[2].actuators[0], 3);
    td_model_free(model);
    model = static_model(ARM_BODY("250 kPa") ARM_CABLES("[0.1, none]") ARM_TIP);
    assert_int_equal(td_workspace_axes(model, &arena, &n, &axes, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "'north'"));
    assert_true(error.line > 0);
    td_model_free(model);
    td_arena_free(&arena);
}

static const tdWorkspaceAxis three[] = {{1, NULL, NULL, {0, 1}}, {1, NULL, NULL, {-2, 0}}, {1, NULL, NULL, {10, 30}}};

// In a grid only one axis moves at a time, by one place; all places are there, and they start at rest.
static void test_grid(void **state)
{
    (void)state;
    for (int each = 2; each <= 5; each++)
    {
        tdArena arena = {0};
        tdError error = {0};
        int64_t count = 0;
        double *places = NULL;
        tdStatus status = td_workspace_grid(&arena, 3, three, each, &count, &places, &error);
        assert_ok(status, error);
        assert_int_equal(count, each * each * each);
        assert_near(places[0], 0, 0);
        assert_near(places[1], 0, 0);
        assert_near(places[2], 10, 0);
        bool *seen = calloc((size_t)count, sizeof *seen);
        int64_t last[3] = {0};
        for (int64_t i = 0; i < count; i++)
        {
            int64_t at = 0, moved = 0;
            for (int k = 0; k < 3; k++)
            {
                double wide = three[k].range[1] - three[k].range[0];
                int64_t digit = llround((places[3 * i + k] - three[k].range[0]) / wide * (each - 1));
                assert_near(places[3 * i + k], three[k].range[0] + wide * (double)digit / (each - 1), 1e-12);
                moved += llabs(digit - last[k]);
                last[k] = digit;
                at = at * each + digit;
            }
            assert_false(seen[at]);
            seen[at] = true;
            assert_true(i == 0 || moved == 1);
        }
        free(seen);
        td_arena_free(&arena);
    }
    tdArena arena = {0};
    tdError error = {0};
    int64_t count = 0;
    double *places = NULL;
    assert_int_equal(td_workspace_grid(&arena, 3, three, 101, &count, &places, &error), TD_ERROR_USAGE);
    td_arena_free(&arena);
}

static double way(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int k = 0; k < n; k++)
    {
        double wide = three[k].range[1] - three[k].range[0];
        sum += (a[k] - b[k]) * (a[k] - b[k]) / (wide * wide);
    }
    return sqrt(sum);
}

static void test_samples(void **state)
{
    (void)state;
    enum
    {
        N = 500
    };
    tdArena arena = {0};
    tdError error = {0};
    double *places = NULL, longest = 0, total = 0;
    tdStatus status = td_workspace_samples(&arena, 3, three, N, &places, &error);
    assert_ok(status, error);
    int corners = 0, cells[8] = {0};
    for (int i = 0; i < N; i++)
    {
        int ends = 0, cell = 0;
        for (int k = 0; k < 3; k++)
        {
            double x = places[3 * i + k], low = three[k].range[0], high = three[k].range[1];
            assert_true(x >= low && x <= high);
            ends += x == low || x == high;
            cell = 2 * cell + (x > 0.5 * (low + high));
        }
        corners += ends == 3;
        cells[cell]++;
        if (i > 0)
        {
            double step = way(3, places + 3 * i, places + 3 * (i - 1));
            longest = fmax(longest, step);
            total += step;
        }
    }
    assert_int_equal(corners, 8);
    // They fill the box: an eighth has an eighth of them, within a few.
    for (int k = 0; k < 8; k++)
        assert_near(cells[k], N / 8.0, 8);
    // In random order a step would be 0.66 long on the mean; points that fill the box are 500^(-1/3) = 0.126 apart.
    assert_true(total / (N - 1) < 0.18);
    print_message("mean step %g, longest %g\n", total / (N - 1), longest);
    td_arena_free(&arena);
}

// Neighbours that bend the arm to both sides, from a dynamic scene with damping.
static void test_equilibria(void **state)
{
    (void)state;
    tdModel *model = static_model(ARM_BODY("250 kPa") "    damping: {mass: 1}\n" ARM_CABLES("[0, 0.4]") ARM_TIP);
    tdState *mine = scene_state(model);
    tdArena arena = {0};
    tdError error = {0};
    int n = 0;
    tdWorkspaceAxis *axes = NULL;
    tdStatus status = td_workspace_axes(model, &arena, &n, &axes, &error);
    assert_ok(status, error);
    assert_int_equal(n, 4);
    assert_int_equal(td_hold_inputs(model, mine, 0.1), TD_OK);
    double tip[2][3];
    for (int side = 0; side < 2; side++)
    {
        const double place[4] = {side == 0 ? 0.4 : 0, side == 0 ? 0 : 0.4, 0, 0};
        status = td_workspace_visit(model, mine, n, axes, place);
        assert_ok(status, td_state_report(mine)->error);
        td_state_effector(model, mine, 0, tip[side]);
        assert_near(td_state_actuation(model, mine, side).effort, 0.4, 1e-9);
    }
    // The mesh is not quite symmetric: the two differ by some per cent.
    assert_true(tip[0][1] > 1e-3 && tip[1][1] < -1e-3);
    assert_near(tip[0][1], -tip[1][1], 0.05 * tip[0][1]);
    td_arena_free(&arena);
    scene_free(model, mine);
}

#define WALL                                                                                                           \
    "  - {name: wall, type: rigid, fixed: true, shape: {box: [0.04, 0.01, 0.2]}, transform: {translate: [0.1, 0.017, " \
    "0]}}\n"                                                                                                           \
    "contact: {friction: 0.1}\n"

// Beside a wall: what is reached ends there, and elsewhere nothing is different. Rates are no matter at rest.
static void test_obstacle(void **state)
{
    (void)state;
    double tip[2][9][3];
    for (int wall = 0; wall < 2; wall++)
    {
        tdModel *model = static_model(wall ? ARM_BODY("250 kPa") WALL ARM_CABLES("[0, 0.8], effort_rate: 1 N/s") ARM_TIP
                                           : ARM_BODY("250 kPa") ARM_CABLES("[0, 0.8]") ARM_TIP);
        tdState *mine = scene_state(model);
        tdArena arena = {0};
        tdError error = {0};
        int n = 0;
        tdWorkspaceAxis *axes = NULL;
        tdStatus status = td_workspace_axes(model, &arena, &n, &axes, &error);
        assert_ok(status, error);
        assert_int_equal(td_hold_inputs(model, mine, 0.1), TD_OK);
        for (int i = 0; i < 9; i++) // from the side away from the wall to the other, at three heights
        {
            int y = i / 3 - 1, z = i % 3 - 1;
            const double place[4] = {y > 0 ? 0.8 : 0, y < 0 ? 0.8 : 0, z > 0 ? 0.4 : 0, z < 0 ? 0.4 : 0};
            status = td_workspace_visit(model, mine, n, axes, place);
            assert_ok(status, td_state_report(mine)->error);
            td_state_effector(model, mine, 0, tip[wall][i]);
            assert_true(td_state_report(mine)->penetration < 1e-4);
        }
        td_arena_free(&arena);
        scene_free(model, mine);
    }
    for (int i = 0; i < 9; i++)
    {
        bool beyond = i / 3 == 2;
        assert_true(!beyond || (tip[0][i][1] > 4e-3 && tip[1][i][1] < 3e-3)); // 2 mm are left for the side of the arm
        for (int k = 0; k < 3 && !beyond; k++)
            assert_near(tip[1][i][k], tip[0][i][k], 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_axes), cmocka_unit_test(test_grid),
                                       cmocka_unit_test(test_samples), cmocka_unit_test(test_equilibria),
                                       cmocka_unit_test(test_obstacle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
