// SPDX-License-Identifier: Apache-2.0
// Points that lie outside of a soft body are moved onto it: told from 1 % of an element's edge on, refused from half of
// it, unless the body's 'snap' says how far is meant.
#include "test.h"

#include "base/file.h"
#include "core/model.h"

// Cells of 10 mm; the mean edge of its tetrahedra is 10 (6 sides, 5 of them longer) mm, about 12.
#define HEAD                                                                                                           \
    "tendril: 1\nunits: {length: mm}\ntime_step: 10 ms\nsteps: 1\nbodies:\n  - name: beam\n"                           \
    "    mesh: {box: [[0, 0, 0], [40, 10, 10]], cells: [4, 1, 1]}\n"                                                   \
    "    material: {law: linear, young: 100 kPa, poisson: 0.3, density: 1 g/cm^3}\n    fixed: [{group: xmin}]\n"

static void collect(void *user, tdLogLevel level, const char *message)
{
    if (level == TD_LOG_WARNING)
        td_text_format(user, "%s\n", message);
}

static tdStatus load(const char *rest, char **warnings, tdError *error)
{
    char scene[2048];
    tdText log = {0};
    tdModel *model = NULL;
    tdSettings settings = td_default_settings();
    settings.log = collect;
    settings.log_user = &log;
    int n = snprintf(scene, sizeof scene, HEAD "%s", rest);
    tdStatus status = td_model_parse(scene, (size_t)n, "scene.yaml", NULL, &settings, &model, error);
    td_model_free(model);
    *warnings = log.data;
    return status;
}

static void accept(const char *rest, const char *warning)
{
    char *got = NULL;
    tdError error = {0};
    assert_ok(load(rest, &got, &error), error);
    if (warning == NULL && got != NULL)
        fail_msg("unexpected: %s", got);
    if (warning != NULL && (got == NULL || strstr(got, warning) == NULL))
        fail_msg("'%s' is not in: %s", warning, got != NULL ? got : "(nothing)");
    free(got);
}

static void refuse(const char *rest, int line, const char *message)
{
    char *got = NULL;
    tdError error = {0};
    assert_int_equal(load(rest, &got, &error), TD_ERROR_INPUT);
    assert_int_equal(error.line, line);
    if (strstr(error.message, message) == NULL)
        fail_msg("'%s' is not in: %s", message, error.message);
    free(got);
}

#define PROBE(x) "probes: [{name: p, body: beam, point: [" x ", 5, 5]}]\n"
#define CABLE(y)                                                                                                       \
    "actuators:\n  - {name: c, type: cable, body: beam, path: [[40, 5, 10], [20, 5, " y "], [5, 5, 10]], "             \
    "drive: force, pull_point: [-10, 5, 10]}\n"

static void test_points(void **unused)
{
    (void)unused;
    accept(PROBE("40"), NULL);
    accept(PROBE("40.0000001"), NULL);
    accept(PROBE("43"), "scene.yaml:10: probes[0]: a point lies outside body 'beam' and is moved onto it; it is at "
                        "(43, 5, 5) mm, off by 3 mm, 0.2");
    refuse(PROBE("48"), 10, "the point (48, 5, 5) mm is 8 mm outside body 'beam'");
    refuse(PROBE("48"), 10, "half the edge of an element there; move it, or allow more by the body's 'snap'");
    accept(CABLE("10"), NULL);
    accept(CABLE("13"),
           "actuators[0].path: 1 of 3 points lies outside body 'beam' and is moved onto it; the farthest is point "
           "1 at (20, 5, 13) mm, off by 3 mm");
    refuse(CABLE("18"), 11, "(20, 5, 18) mm is 8 mm ");
    accept("effectors: [{name: e, body: beam, point: [20, 12, 5]}]\n", "effectors[0]: a point lies outside");
    accept("actuators: [{name: f, type: force, body: beam, point: [20, 12, 5], drive: force, direction: [1, 0, 0]}]\n",
           "a point lies outside body 'beam' and is moved");
    accept("attachments: [{name: a, a: beam, points: [[20, 5, 5], [20, 5, 12]], space: true}]\n",
           "attachments[0]: 1 of 2 points lies outside body 'beam'");
    accept("couplings: [{name: r, rod: {a: beam, point_a: [40, 5, 12], point_b: [40, 5, 50]}}]\n",
           "couplings[0]: a point lies outside body 'beam'");
}

// Who says how far is meant is told nothing, and held to it.
static void test_snap(void **unused)
{
    (void)unused;
    accept("    snap: 9 mm\n" PROBE("48"), NULL);
    refuse("    snap: 1 mm\n" PROBE("43"), 11, "at most 1 mm is allowed, by the body's 'snap'");
    refuse("    snap: 0\n" PROBE("41"), 11, "at most 0 mm is allowed");
    refuse("  - {name: r, type: rigid, shape: {sphere: 1}, density: 1 g/cm^3, snap: 1}\n", 10, "takes no 'snap'");
}

// Of a hexahedron the sides alone count, in all three directions: cells of 10, 10 and 40 mm have 20 mm in the mean.
static void test_hexahedra(void **unused)
{
    (void)unused;
    for (int way = 0; way < 3; way++)
        for (int far = 0; far < 2; far++)
        {
            int size[3] = {10, 10, 10}, at[3];
            char scene[1000];
            tdError error = {0};
            tdModel *model = NULL;
            size[way] = 40;
            for (int k = 0; k < 3; k++)
                at[k] = size[k] / 2;
            at[(way + 1) % 3] = 10 + (far ? 11 : 9); // half of it is 10
            int n = snprintf(scene, sizeof scene,
                             "tendril: 1\nunits: {length: mm}\ntime_step: 10 ms\nsteps: 1\nbodies:\n  - name: beam\n"
                             "    mesh: {box: [[0, 0, 0], [%d, %d, %d]], cells: [1, 1, 1], elements: hexahedra}\n"
                             "    material: {law: linear, young: 100 kPa, poisson: 0.3, density: 1 g/cm^3}\n"
                             "    fixed: [{group: xmin}]\nprobes: [{name: p, body: beam, point: [%d, %d, %d]}]\n",
                             size[0], size[1], size[2], at[0], at[1], at[2]);
            tdSettings settings = td_default_settings();
            tdStatus status = td_model_parse(scene, (size_t)n, "scene.yaml", NULL, &settings, &model, &error);
            if (!far)
                assert_ok(status, error);
            else
            {
                assert_int_equal(status, TD_ERROR_INPUT);
                assert_non_null(strstr(error.message, "at most 10 mm is allowed"));
            }
            td_model_free(model);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_points), cmocka_unit_test(test_snap),
                                       cmocka_unit_test(test_hexahedra)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
