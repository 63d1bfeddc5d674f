// SPDX-License-Identifier: Apache-2.0
// What the tests of actuators and of effectors in scenes share: a scene to add lines to, and tables of bad ones.
#pragma once
#include "test.h"

#include "base/file.h"
#include "describe/scene.h"

// Lines 1 to 10 of the scenes below; what a case adds begins on line 11.
#define HEAD                                                                                                           \
    "tendril: 1\nunits: {length: mm, mass: kg, time: s}\ntime_step: 10 ms\nsteps: 10\nbodies:\n"                       \
    "  - {name: robot, mesh: robot.msh, transform: {scale: 2}, material: &rubber {law: linear, young: 1 MPa, "         \
    "poisson: 0.3, density: 1 g/cm^3}}\n"                                                                              \
    "  - {name: base, mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [1, 1, 1]}, material: *rubber}\n"                     \
    "  - {name: sheet, plane: stress, mesh: {rectangle: [[0, 0], [1, 1]], cells: [1, 1]}, material: *rubber}\n"        \
    "actuators:\n"                                                                                                     \
    "  - {name: first, type: cable, body: robot, path: [[0, 0, 1], [0, 0, 2]], drive: displacement}\n"
#define NEXT(keys) HEAD "  - {name: next, " keys "}\n"

static inline tdStatus parse(const char *text, tdScene *scene, tdError *error)
{
    return td_scene_parse(text, strlen(text), "scene.yaml", TD_BUILD_DIR, scene, error);
}

static inline void write_file(const char *name, const char *text)
{
    tdError error = {0};
    char path[512];
    snprintf(path, sizeof path, "%s/%s", TD_BUILD_DIR, name);
    assert_ok(td_file_write(path, text, strlen(text), &error), error);
}

// Conversions from units multiply a few roundings, so numbers agree to some units in the last place.
static inline void assert_close(double a, double b)
{
    assert_near(a, b, 4e-16 * fabs(b));
}

static inline void assert_vector(const double *a, double x, double y, double z)
{
    assert_close(a[0], x);
    assert_close(a[1], y);
    assert_close(a[2], z);
}

static inline void assert_pair(const double *a, double least, double most)
{
    // Infinities subtract to NAN, so they are compared as they are.
    assert_true(a[0] == least || fabs(a[0] - least) <= 4e-16 * fabs(least));
    assert_true(a[1] == most || fabs(a[1] - most) <= 4e-16 * fabs(most));
}

typedef struct Bad
{
    const char *text;
    int line;
    const char *says;
} Bad;

static inline void expect_bad(const Bad *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
    {
        tdScene scene;
        tdError error = {0};
        tdStatus status = parse(cases[i].text, &scene, &error);
        td_scene_free(&scene);
        if (status == TD_OK)
            fail_msg("accepted:\n%s", cases[i].text);
        assert_int_equal(status, TD_ERROR_INPUT);
        if (error.line != cases[i].line || strstr(error.message, cases[i].says) == NULL)
            fail_msg("%s\nsays line %d, %s: \"%s\"\nexpected line %d: \"%s\"", cases[i].text, error.line, error.field,
                     error.message, cases[i].line, cases[i].says);
        assert_string_equal(error.file, "scene.yaml");
    }
}
#define EXPECT_BAD(cases) expect_bad(cases, sizeof cases / sizeof cases[0])
