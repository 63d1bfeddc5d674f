// SPDX-License-Identifier: Apache-2.0
// The shipped robots: meshes of the stated size, volume and quality with closed chambers, scenes whose motion uses
// every actuator within its range, and robots that move the way they are built to.
#include "scenes.h"

#include "mesh/doctor.h"
#include "mesh/topology.h"

#include <glob.h>

#define ROBOTS TD_SOURCE_DIR "/robots/"

// ---------------------------------------------------------------- meshes

typedef struct robotMesh
{
    const char *robot, *resolution;
    int nodes, tets;    // asked for, where S1 gives them: the meshes are within 10 % of that; 0: not asked for
    double volume;      // [mm^3] of the geometry
    double faceting;    // part of it that straight edges on round shapes may lose
    double quality;     // least of a tetrahedron
    const char *cavity; // beginning of the names of the chambers' groups
    int cavities;
    double air; // [mm^3] of all chambers
    bool layer;
} robotMesh;

// Volumes of finger, chambers and trunk follow from the lengths in their geometry: 9 hollows of 5.5 x 13 x 12.5 and a
// channel of 5 x 2 between them, 48 long; 6 slots of 4.5 x 12 (spine 14) x 4.75 and a channel of 4 x 2, 12.5 long.
static const double finger_air = 9 * 5.5 * 13 * 12.5 + 48 * 5 * 2;
static const double leg_air = 6 * 4.5 * 12 * 4.75 + 12.5 * 4 * 2, spine_air = 6 * 4.5 * 14 * 4.75 + 12.5 * 4 * 2;

static int robot_meshes(robotMesh *out)
{
    const double multigait_air = 4 * leg_air + spine_air;
    const robotMesh list[] = {
        {"parallel", "coarse", 1628, 4147, 399.5e3, 2e-3, 0.3, NULL, 0, 0, false},
        {"parallel", "fine", 15553, 70000, 399.5e3, 2e-3, 0.3, NULL, 0, 0, false},
        {"trunk", "coarse", 0, 1565, 81743, 1e-4, 0.3, NULL, 0, 0, false},
        {"trunk", "fine", 0, 28221, 81743, 1e-4, 0.3, NULL, 0, 0, false},
        {"multigait", "coarse", 2509, 8222, 32281, 1e-4, 0.1, "chamber_", 5, multigait_air, true},
        {"multigait", "fine", 15787, 59296, 32281, 1e-4, 0.3, "chamber_", 5, multigait_air, true},
        {"finger", "coarse", 0, 0, 31734 - finger_air, 1e-9, 0.3, "chamber", 1, finger_air, true},
        {"finger", "fine", 0, 0, 31734 - finger_air, 1e-9, 0.3, "chamber", 1, finger_air, true},
        {"gripper", "coarse", 0, 0, 151e3, 5e-3, 0.3, "chamber_", 3, 3 * finger_air, true},
        {"gripper", "fine", 0, 0, 151e3, 5e-3, 0.2, "chamber_", 3, 3 * finger_air, true},
    };
    memcpy(out, list, sizeof list);
    return (int)(sizeof list / sizeof list[0]);
}

static void check_count(const char *what, const robotMesh *robot, int64_t count, int wanted)
{
    if (wanted > 0 && fabs((double)count / wanted - 1) > 0.1)
        fail_msg("%s %s: %lld %s, more than 10 %% off %d", robot->robot, robot->resolution, (long long)count, what,
                 wanted);
}

// Volume within the triangles of a group, which must be closed.
static double enclosed(const tdMesh *mesh, const tdGroup *group)
{
    int64_t n = group->count[TD_CELL_TRI];
    assert_true(n > 0);
    int32_t *tris = malloc((size_t)n * 3 * sizeof *tris);
    for (int64_t i = 0; i < n; i++)
        memcpy(tris + 3 * i, mesh->cells[TD_CELL_TRI].nodes + 3 * (int64_t)group->cells[TD_CELL_TRI][i],
               3 * sizeof *tris);
    tdClosedResult result;
    tdError error = {0};
    assert_ok(td_surface_closed(mesh->n_nodes, mesh->x, n, tris, &result, &error), error);
    free(tris);
    if (!result.closed || result.parts != 1)
        fail_msg("group %s is not one closed surface", group->name);
    return result.volume;
}

static void check_groups(const tdMesh *mesh, const robotMesh *robot)
{
    int cavities = 0, layers = 0;
    double air = 0;
    for (int g = 0; g < mesh->n_groups; g++)
    {
        const tdGroup *group = &mesh->groups[g];
        layers += strcmp(group->name, "layer") == 0 && group->count[TD_CELL_TRI] > 0;
        if (robot->cavity == NULL || strncmp(group->name, robot->cavity, strlen(robot->cavity)) != 0)
            continue;
        air += enclosed(mesh, group);
        cavities++;
    }
    assert_int_equal(cavities, robot->cavities);
    assert_int_equal(layers, robot->layer);
    assert_near(air, robot->air, 1e-9 * robot->air); // chambers are made of boxes
}

// False: a fine mesh that was not made.
static bool check_mesh(const robotMesh *robot)
{
    char path[512];
    snprintf(path, sizeof path, ROBOTS "%s/%s.msh", robot->robot, robot->resolution);
    if (strcmp(robot->resolution, "fine") == 0 && access(path, R_OK) != 0)
        return false;
    tdMesh mesh = {0};
    tdMeshReport *report = malloc(sizeof *report);
    tdError error = {0};
    assert_ok(td_mesh_read(path, &mesh, &error), error);
    assert_ok(td_mesh_examine(&mesh, report, &error), error);
    check_count("nodes", robot, report->n_nodes, robot->nodes);
    check_count("tetrahedra", robot, report->count[TD_CELL_TET], robot->tets);
    assert_near(report->volume, robot->volume, robot->faceting * robot->volume);
    if (report->n_problems > 0)
        fail_msg("%s: %s", path, report->problem[0].what);
    if (!(report->quality[TD_CELL_TET].min >= robot->quality))
        fail_msg("%s: a tetrahedron of quality %g", path, report->quality[TD_CELL_TET].min);
    assert_int_equal(report->components, 1);
    check_groups(&mesh, robot);
    td_mesh_free(&mesh);
    free(report);
    return true;
}

static void test_meshes(void **context)
{
    (void)context;
    robotMesh list[16];
    int n = robot_meshes(list);
    int missing = 0;
    for (int i = 0; i < n; i++)
        missing += !check_mesh(&list[i]);
    if (missing > 0)
        skip_because("%d of %d meshes of robots are not there; 'make robots FINE=1' makes them", missing, n);
}

// ---------------------------------------------------------------- scenes

static tdModel *load(const char *path)
{
    tdModel *model = NULL;
    tdError error = {0};
    assert_ok(td_model_load(path, NULL, &model, &error), error);
    return model;
}

// The motion takes every actuator from rest to some of its range and never out of it.
static void check_motion(const char *path, const tdModel *model)
{
    const tdSceneMotion *motion = &model->scene.motion;
    for (int a = 0; a < td_model_actuators(model); a++)
    {
        tdActuatorInfo info = td_model_actuator(model, a);
        const double *range = strcmp(info.drive, "effort") == 0 ? info.effort : info.displacement;
        if (!info.driven)
            fail_msg("%s: no motion drives %s", path, info.name);
        double most = 0;
        for (int k = 0; k < motion->n_times; k++)
        {
            double value = td_input_value(model, info.input, motion->times[k]);
            if (!(value >= range[0] && value <= range[1]))
                fail_msg("%s: %s is driven to %g, out of its range", path, info.name, value);
            most = fmax(most, value);
        }
        if (!(most >= 0.4 * range[1]))
            fail_msg("%s: %s is hardly driven", path, info.name);
        assert_near(td_input_value(model, info.input, 0), 0, 0);
    }
}

// What a cable is tied to and passes through is in the robot, not only near it: within 1e-3 mm, the digits of the
// scenes being 1e-2 mm and the points well inside.
static void check_cables(const char *path, const tdModel *model)
{
    for (int a = 0; a < model->n_actuators; a++)
    {
        const tdActuator *actuator = &model->actuators[a];
        if (actuator->given->kind != TD_ACTUATOR_CABLE)
            continue;
        for (int k = 0; k < 3 * actuator->given->n_path; k++)
            if (!(fabs(actuator->measure.rest[k] - actuator->given->path[k]) < 1e-6))
                fail_msg("%s: point %d of cable %s is not in the body", path, k / 3, actuator->name);
    }
}

static void check_scene(const char *path)
{
    tdModel *model = load(path);
    const double mass = scene_soft(model)->total_mass;
    const char *robot = path + strlen(ROBOTS);
    if (strncmp(robot, "parallel/", 9) == 0)
        assert_near(mass, 0.5, 1e-9);
    else if (strncmp(robot, "multigait/", 10) == 0)
        assert_near(mass, 0.035, 1e-4);
    else if (strncmp(robot, "trunk/", 6) == 0)
        assert_near(mass, 0.0875, 1e-3);
    assert_true(td_model_actuators(model) > 0 && td_model_effectors(model) > 0 && td_model_probes(model) > 0);
    check_motion(path, model);
    check_cables(path, model);
    td_model_free(model);
}

static void test_coarse_scenes(void **context)
{
    (void)context;
    glob_t found;
    assert_int_equal(glob(ROBOTS "*/coarse*.yaml", 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 6);
    for (size_t i = 0; i < found.gl_pathc; i++)
        check_scene(found.gl_pathv[i]);
    globfree(&found);
}

// Text of a scene after its head of comments, with the word `fine` made `coarse`.
static char *as_coarse(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    tdError error = {0};
    assert_ok(td_file_read(path, &text, &size, &error), error);
    char *out = calloc(2 * size + 1, 1), *end = out;
    const char *from = strstr(text, "\ntendril:");
    assert_non_null(from);
    while (*from != '\0')
        if (strncmp(from, "fine", 4) == 0)
        {
            end += sprintf(end, "coarse");
            from += 4;
        }
        else
            *end++ = *from++;
    free(text);
    return out;
}

static void test_fine_scenes_differ_in_the_mesh_alone(void **context)
{
    (void)context;
    glob_t found;
    assert_int_equal(glob(ROBOTS "*/fine*.yaml", 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 7);
    for (size_t i = 0; i < found.gl_pathc; i++)
    {
        if (strstr(found.gl_pathv[i], "fine_corners") != NULL) // of the fine mesh alone, for a comparison with a paper
            continue;
        const char *fine = found.gl_pathv[i], *name = strrchr(fine, '/') + 1;
        char coarse[512];
        snprintf(coarse, sizeof coarse, "%.*scoarse%s", (int)(name - fine), fine, name + strlen("fine"));
        char *a = as_coarse(fine), *b = as_coarse(coarse);
        assert_string_equal(a, b);
        free(a);
        free(b);
    }
    globfree(&found);
}

// ---------------------------------------------------------------- motion

// How far the first effector moves while `names` (ended by NULL) are driven to `value` in `steps` equal steps, and the
// other actuators stay at 0.
static void drive(const char *robot, const char *const *names, double value, int steps, double moved[3])
{
    char path[512];
    snprintf(path, sizeof path, ROBOTS "%s/coarse.yaml", robot);
    tdModel *model = load(path);
    tdState *state = scene_state(model);
    double rest[3];
    td_state_effector(model, state, 0, rest);
    for (int a = 0; a < td_model_actuators(model); a++)
        assert_int_equal(td_state_set_input(model, state, td_model_actuator(model, a).input, 0), TD_OK);
    for (int k = 1; k <= steps; k++)
    {
        for (int i = 0; names[i] != NULL; i++)
        {
            int input = td_model_find_input(model, names[i]);
            assert_true(input >= 0);
            assert_int_equal(td_state_set_input(model, state, input, value * k / steps), TD_OK);
        }
        scene_steps(model, state, 1);
    }
    td_state_effector(model, state, 0, moved);
    for (int c = 0; c < 3; c++)
        moved[c] -= rest[c];
    scene_free(model, state);
}

// Bounds are about two thirds of what was seen, in the direction that the robot is built for; others stay small.
static void test_cables_move_the_robots(void **context)
{
    (void)context;
    double d[3];
    drive("parallel", (const char *const[]){"north", "south", "east", "west", NULL}, 0.02, 20, d);
    assert_true(d[2] > 0.02 && fabs(d[0]) < 1e-3 && fabs(d[1]) < 1e-3);
    drive("parallel", (const char *const[]){"north", NULL}, 0.02, 20, d);
    assert_true(d[1] < -0.01 && fabs(d[0]) < 1e-3);
    drive("trunk", (const char *const[]){"lower_1", NULL}, 0.015, 20, d);
    assert_true(d[0] > 0.03 && fabs(d[1]) < 1e-3);
    drive("trunk", (const char *const[]){"slide", NULL}, 0.01, 20, d); // slower than it falls
    assert_near(d[2], -0.01, 1e-4);
    assert_true(fabs(d[0]) < 1e-4 && fabs(d[1]) < 1e-4);
}

static void test_air_bends_the_robots(void **context)
{
    (void)context;
    double d[3];
    drive("finger", (const char *const[]){"air", NULL}, 20e3, 20, d);
    assert_true(d[2] < -0.03 && fabs(d[1]) < 1e-3);
    drive("gripper", (const char *const[]){"finger_1", NULL}, 20e3, 20, d);
    assert_true(d[0] < -0.015 && fabs(d[1]) < 1e-3);
    drive("multigait", (const char *const[]){"leg_1", NULL}, 10e3, 20, d);
    assert_true(d[2] < -0.02 && fabs(d[1]) < 3e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meshes),
        cmocka_unit_test(test_coarse_scenes),
        cmocka_unit_test(test_fine_scenes_differ_in_the_mesh_alone),
        cmocka_unit_test(test_cables_move_the_robots),
        cmocka_unit_test(test_air_bends_the_robots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
