// SPDX-License-Identifier: Apache-2.0
// Slips of units that stay within all limits are told with line, value, usual range and a guess; poses that the limits
// of joints exclude are refused. What is usual is told nothing.
#include "test.h"

#include "base/file.h"
#include "core/model.h"

#include <unistd.h>

static char folder[] = "/tmp/tendril-plausible-XXXXXX";

static void collect(void *user, tdLogLevel level, const char *message)
{
    if (level == TD_LOG_WARNING)
        td_text_format(user, "%s\n", message);
}

// Warnings of a scene, one a line; the caller frees them. NULL: none.
static char *warnings_of(const char *text)
{
    tdText log = {0};
    tdError error = {0};
    tdModel *model = NULL;
    tdSettings settings = td_default_settings();
    settings.log = collect;
    settings.log_user = &log;
    assert_ok(td_model_parse(text, strlen(text), "scene.yaml", folder, &settings, &model, &error), error);
    td_model_free(model);
    return log.data;
}

static void expect(const char *text, const char *warning, const char *guess)
{
    char *got = warnings_of(text);
    if (warning == NULL && got != NULL)
        fail_msg("unexpected: %s\n%s", got, text);
    if (warning != NULL && (got == NULL || strstr(got, warning) == NULL || strstr(got, guess) == NULL))
        fail_msg("'%s' and '%s' are not in: %s", warning, guess, got != NULL ? got : "(nothing)");
    free(got);
}

#define SOFT(head, material)                                                                                           \
    "tendril: 1\n" head "steps: 1\nbodies:\n  - name: b\n    mesh: {box: [[0, 0, 0], [0.1 m, 0.1 m, 0.1 m]], "         \
    "cells: [1, 1, 1]}\n    material: {law: linear, poisson: 0.3, " material "}\n"
#define RIGID(mass)                                                                                                    \
    "tendril: 1\ntime_step: 1 ms\nsteps: 1\nbodies:\n  - {name: r, type: rigid, shape: {sphere: 0.1}, " mass "}\n"
#define MM "units: {length: mm}\ntime_step: 10 ms\n"
#define M  "time_step: 10 ms\n"

static void test_slips(void **unused)
{
    (void)unused;
    expect(SOFT(M "gravity: [0, 0, -9.81]\n", "young: 450 kPa, density: 1070"), NULL, "");
    expect(SOFT(MM "gravity: [0, 0, -9.81 m/s^2]\n", "young: 450, density: 1.07 g/cm^3"), NULL, "");
    expect(SOFT(MM, "young: 450 kPa, density: 1070"),
           "scene.yaml:8: the density of body 'b' is 1.07e+12 kg/m^3; usual values are 10 to 23000 kg/m^3 (rubber has "
           "about "
           "1100).",
           "Multiplied by 1e-09 it would be usual: was a number in kg/m^3 read as one in kg/mm^3? Write the "
           "unit");
    expect(SOFT(M, "young: 450 kPa, density: 1.07"), "is 1.07 kg/m^3; usual", "was a number in g/cm^3 read");
    expect(SOFT(M, "young: 0.45, density: 1000"), "scene.yaml:7: Young's modulus of body 'b' is 0.45 Pa; usual",
           "was a number in MPa read as one in Pa?");
    expect(SOFT(M, "young: 1e14, density: 1000"), "is 1e+14 Pa", "was a number in Pa read as one in kPa?");
    expect(SOFT(M, "young: 450 kPa, total_mass: 1e7"),
           "the mass of body 'b' is 1e+07 kg; usual values are 1e-09 to 1e+06 kg", "");
    expect(SOFT(MM "gravity: [0, 0, -9.81]\n", "young: 450 kPa, density: 1 g/cm^3"),
           "scene.yaml:4: gravity is 0.00981 m/s^2; usual values are 0.1 to 300 m/s^2",
           "was a number in m/s^2 read as one in mm/s^2?");
    expect(SOFT(M "gravity: [0, 0, -9810]\n", "young: 450 kPa, density: 1000"), "gravity is 9810 m/s^2",
           "was a number in mm/s^2 read");
    expect(SOFT("time_step: 1e7 s\n", "young: 450 kPa, density: 1000"), "crosses body 'b'",
           "the steps do not resolve its motion");
    expect(SOFT("time_step: 1e-12 s\n", "young: 450 kPa, density: 1000"), "crosses body 'b'",
           "more than 1e8 steps until anything happens");
    expect(RIGID("density: 1000"), NULL, "");
    expect(RIGID("density: 1e6"), "scene.yaml:5: the density of body 'r' is 1e+06 kg/m^3", "read as one in g/cm^3");
    expect(RIGID("total_mass: 1e8"), "the mass of body 'r' is 1e+08 kg", "");
}

// A repeated body has one line, and is told of once.
static void test_repeated(void **unused)
{
    (void)unused;
    char *got = warnings_of(SOFT(M, "young: 450 kPa, density: 1.07") "    repeat: {count: 5, translate: [1, 0, 0]}\n");
    assert_non_null(got);
    const char *first = strstr(got, "the density");
    assert_non_null(first);
    assert_null(strstr(first + 1, "the density"));
    free(got);
}

// ---------------------------------------------------------------- robots

#define LINK(name, mass)                                                                                               \
    "<link name='" name "'><inertial><mass value='" mass "'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>\n"
#define ARM(mass, limit, more)                                                                                         \
    "<robot name='r'>\n" LINK("a", "1") LINK("b", mass)                                                                \
        LINK("c", "1") "<joint name='elbow' type='revolute'><parent link='a'/><child link='b'/><axis xyz='0 1 0'/>"    \
                       "<limit " limit " effort='10' velocity='1'/></joint>\n"                                         \
                       "<joint name='wrist' type='revolute'><parent link='b'/><child link='c'/><axis xyz='0 1 0'/>"    \
                       "<limit lower='-3' upper='3' effort='10' velocity='1'/>" more "</joint>\n</robot>\n"
#define ROBOT(joints)                                                                                                  \
    "tendril: 1\ntime_step: 1 ms\nsteps: 1\nbodies:\n  - {name: r, type: articulated, urdf: r.urdf" joints "}\n"

static void write_robot(const char *text)
{
    char path[128];
    tdError error = {0};
    snprintf(path, sizeof path, "%s/r.urdf", folder);
    assert_ok(td_file_write(path, text, strlen(text), &error), error);
}

static void refuse(const char *scene, const char *message)
{
    tdError error = {0};
    tdModel *model = NULL;
    assert_int_equal(td_model_parse(scene, strlen(scene), "scene.yaml", folder, NULL, &model, &error), TD_ERROR_INPUT);
    assert_int_equal(error.line, 5);
    if (strstr(error.message, message) == NULL)
        fail_msg("'%s' is not in: %s", message, error.message);
}

static void test_links(void **unused)
{
    (void)unused;
    write_robot(ARM("1", "lower='-1' upper='1'", ""));
    expect(ROBOT(""), NULL, "");
    write_robot(ARM("2e9", "lower='-1' upper='1'", ""));
    expect(ROBOT(""), "r.urdf:3: the mass of link 'b' of body 'r' is 2e+09 kg", "");
}

static void test_start_beyond_limits(void **unused)
{
    (void)unused;
    write_robot(ARM("1", "lower='0.5' upper='1'", ""));
    // Where nobody said where it starts, it starts at the nearer limit.
    expect(ROBOT(""), "joint 'elbow'", "0.5");
    expect(ROBOT(", joints: [{name: wrist, position: 1 rad}]"), "joint 'elbow'", "0.5");
    refuse(ROBOT(", joints: [{name: elbow, position: 1.1 rad}]"), "1.1 is outside it");
    expect(ROBOT(", joints: [{name: elbow, position: 0.5 rad}]"), NULL, "");
    // One that follows another is where that one takes it.
    write_robot(ARM("1", "lower='0.5' upper='2'", "<mimic joint='elbow' multiplier='2'/>"));
    expect(ROBOT(", joints: [{name: elbow, position: 1.5 rad}]"), NULL, "");
    refuse(ROBOT(", joints: [{name: elbow, position: 1.6 rad}]"),
           "starts at 3.2 rad, but its limits are -3 and 3 rad; set its start: 'joints: [{name: elbow");
}

static int make_folder(void **unused)
{
    (void)unused;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **unused)
{
    (void)unused;
    char path[128];
    snprintf(path, sizeof path, "%s/r.urdf", folder);
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slips),
        cmocka_unit_test(test_repeated),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_start_beyond_limits),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
