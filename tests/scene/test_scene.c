// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include "base/file.h"
#include "describe/csv.h"
#include "describe/scene.h"
#include "scene/parse.h"

// Lines 1 to 7 of most scenes below; what a case adds begins on line 8.
#define HEAD "tendril: 1\ntime_step: 10 ms\nsteps: 10\n"
#define BODY                                                                                                           \
    "bodies:\n  - name: beam\n    mesh: beam.msh\n"                                                                    \
    "    material: {law: linear, young: 1 MPa, poisson: 0.3, density: 1000}\n"
#define GOOD HEAD BODY

static tdStatus parse(const char *text, tdScene *scene, tdError *error)
{
    return td_scene_parse(text, strlen(text), "scene.yaml", "some/folder", scene, error);
}

// ---------------------------------------------------------------- good scenes

static const char full[] = //
    "tendril: 1\n"
    "units: {length: mm, mass: kg, time: s}\n"
    "gravity: [0, 0, -9.81 m/s^2]\n"
    "time_step: 10 ms\n"
    "duration: 1 s\n"
    "bodies:\n"
    "  - name: beam\n" // 7
    "    type: soft\n"
    "    mesh: beam.msh\n"
    "    transform: {scale: 2, rotate: [90 deg, 0, 0], translate: [0, 0, 35]}\n"
    "    material: {law: neo_hookean, young: 450, poisson: 0.45, density: 1.07 g/cm^3}\n"
    "    mass: consistent\n"
    "    damping: {mass: 0.1 1/s, stiffness: 0.01 s}\n"
    "    velocity: [1, 0, 2 m/s]\n"
    "    fixed: [{box: [[-15, -15, -40], [15, 15, 10]], axes: xz}, {all: true}]\n" // 15
    "    prescribed: [{name: pull, group: right, axes: x, displacement: [10, 0, 0]}]\n"
    "  - name: block\n" // 17
    "    mesh: {box: [[0, 0, 0], [100, 10, 20]], cells: [20, 4, 5], elements: tetrahedra}\n"
    "    material: {law: stvk, lambda: 400 kPa, mu: 100 kPa, total_mass: 20 g}\n"
    "loads:\n"
    "  - {name: tip, type: point, body: beam, sphere: {center: [1, 2, 3], radius: 4}, force: [0, 0, -1 N]}\n"
    "  - {name: push, type: surface, body: block, plane: {point: [0, 0, 10], normal: [0, 3, 4]}, pressure: 1 kPa}\n"
    "  - {type: point, body: block, nodes: [5, 0, 7], force_each: [1, 0, 0]}\n"
    "  - {type: surface, body: block, group: xmax, traction: [2, 0, 0]}\n"
    "  - {type: surface, body: block, group: xmax, force: [3 N, 0, 0]}\n"
    "probes:\n"
    "  - {name: tip, body: beam, point: [100, 5, 5]}\n" // 27
    "  - {name: mean, body: block, plane: {point: [0, 0, 0], normal: [1, 0, 0], tolerance: 0.5}}\n"
    "motion:\n" // 29
    "  keyframes: [{t: 0, pull: 0, tip: 1}, {t: 500 ms, pull: 50 %}, {t: 1, tip: -1, pull: 1}]\n"
    "  interpolation: smooth\n"
    "integrator: {method: newmark, beta: 0.3, gamma: 0.6, newton: true, tolerance: 1e-6, max_iterations: 7}\n"
    "solver: {type: cg, tolerance: 1e-10}\n"
    "output: {every: 5, formats: [hdf5, csv], checkpoint_every: 50}\n";

static void check_bodies(const tdScene *scene)
{
    assert_int_equal(scene->n_bodies, 2);
    const tdSceneBody *b = &scene->bodies[0];
    assert_string_equal(b->name, "beam");
    assert_int_equal(b->line, 7);
    assert_string_equal(b->mesh, "some/folder/beam.msh");
    assert_int_equal(b->mesh_line, 9);
    assert_near(b->scale, 2e-3, 1e-18);
    const double about_x[9] = {1, 0, 0, 0, 0, -1, 0, 1, 0};
    for (int i = 0; i < 9; i++)
        assert_near(b->rotation[i], about_x[i], 0);
    assert_near(b->translate[2], 0.035, 1e-17);
    assert_int_equal(b->material.law, TD_LAW_NEO_HOOKEAN);
    assert_int_equal(b->material.line, 11);
    assert_near(b->material.young, 450e3, 1e-9);
    assert_near(b->material.poisson, 0.45, 0);
    assert_near(b->material.density, 1070, 1e-10);
    assert_near(b->material.total_mass, 0, 0);
    assert_true(b->consistent_mass);
    assert_near(b->damping_mass, 0.1, 0);
    assert_near(b->damping_stiffness, 0.01, 0);
    assert_near(b->velocity[0], 1e-3, 0);
    assert_near(b->velocity[2], 2, 0);
    assert_int_equal(b->n_fixed, 2);
    assert_int_equal(b->fixed[0].axes, TD_AXIS_X | TD_AXIS_Z);
    assert_int_equal(b->fixed[0].select.kind, TD_SELECT_BOX);
    assert_int_equal(b->fixed[0].select.line, 15);
    assert_near(b->fixed[0].select.a[2], -0.04, 1e-17);
    assert_near(b->fixed[0].select.b[2], 0.01, 1e-17);
    assert_int_equal(b->fixed[1].select.kind, TD_SELECT_ALL);
    assert_int_equal(b->fixed[1].axes, TD_AXIS_ALL);
    assert_int_equal(b->n_prescribed, 1);
    assert_string_equal(b->prescribed[0].name, "pull");
    assert_int_equal(b->prescribed[0].select.kind, TD_SELECT_GROUP);
    assert_string_equal(b->prescribed[0].select.group, "right");
    assert_int_equal(b->prescribed[0].axes, TD_AXIS_X);
    assert_near(b->prescribed[0].displacement[0], 0.01, 1e-17);

    const tdSceneBody *c = &scene->bodies[1];
    assert_null(c->mesh);
    assert_int_equal(c->line, 17);
    assert_near(c->scale, 1, 0);
    assert_near(c->rotation[0] + c->rotation[4] + c->rotation[8], 3, 0);
    assert_near(c->box.max[0], 0.1, 1e-17);
    assert_near(c->box.max[2], 0.02, 1e-17);
    assert_int_equal(c->box.cells[0], 20);
    assert_int_equal(c->box.cells[2], 5);
    assert_false(c->box.hexahedra);
    assert_int_equal(c->material.law, TD_LAW_STVK);
    // E = mu (3 lambda + 2 mu) / (lambda + mu), nu = lambda / (2 (lambda + mu))
    assert_near(c->material.young, 280e3, 1e-9);
    assert_near(c->material.poisson, 0.4, 1e-15);
    assert_near(c->material.density, 0, 0);
    assert_near(c->material.total_mass, 0.02, 1e-17);
    assert_false(c->consistent_mass);
}

static void check_loads(const tdScene *scene)
{
    assert_int_equal(scene->n_loads, 5);
    const tdSceneLoad *l = scene->loads;
    assert_string_equal(l[0].name, "tip");
    assert_int_equal(l[0].kind, TD_LOAD_POINT_TOTAL);
    assert_int_equal(l[0].body, 0);
    assert_int_equal(l[0].line, 21);
    assert_int_equal(l[0].select.kind, TD_SELECT_SPHERE);
    assert_near(l[0].select.a[2], 3e-3, 1e-18);
    assert_near(l[0].select.radius, 4e-3, 1e-18);
    assert_near(l[0].vector[2], -1, 0);
    assert_int_equal(l[1].kind, TD_LOAD_SURFACE_PRESSURE);
    assert_int_equal(l[1].body, 1);
    assert_int_equal(l[1].select.kind, TD_SELECT_PLANE);
    assert_near(l[1].select.b[1], 0.6, 1e-16);
    assert_near(l[1].select.b[2], 0.8, 1e-16);
    assert_true(l[1].select.radius < 0);
    assert_near(l[1].pressure, 1000, 0);
    assert_null(l[2].name);
    assert_int_equal(l[2].kind, TD_LOAD_POINT_EACH);
    assert_int_equal(l[2].select.kind, TD_SELECT_NODES);
    assert_int_equal(l[2].select.n_nodes, 3);
    assert_int_equal(l[2].select.nodes[0], 5);
    assert_int_equal(l[2].select.nodes[2], 7);
    assert_near(l[2].vector[0], 1e-3, 0); // a bare force is in kg mm/s^2
    assert_int_equal(l[3].kind, TD_LOAD_SURFACE_STRESS);
    assert_near(l[3].vector[0], 2000, 1e-12);
    assert_int_equal(l[4].kind, TD_LOAD_SURFACE_TOTAL);
    assert_near(l[4].vector[0], 3, 0);

    assert_int_equal(scene->n_probes, 2);
    assert_true(scene->probes[0].at_point);
    assert_int_equal(scene->probes[0].line, 27);
    assert_near(scene->probes[0].point[0], 0.1, 1e-17);
    assert_false(scene->probes[1].at_point);
    assert_int_equal(scene->probes[1].body, 1);
    assert_near(scene->probes[1].select.radius, 5e-4, 1e-18);
}

static void check_motion(const tdSceneMotion *m)
{
    assert_int_equal(m->line, 29);
    assert_true(m->smooth);
    assert_int_equal(m->n_names, 2);
    assert_int_equal(m->n_times, 3);
    assert_string_equal(m->names[0], "pull");
    assert_string_equal(m->names[1], "tip");
    assert_near(m->times[1], 0.5, 0);
    assert_near(m->values[0], 0, 0);
    assert_near(m->values[1], 1, 0);
    assert_near(m->values[2], 0.5, 0);
    assert_true(isnan(m->values[3]));
    assert_near(m->values[4], 1, 0);
    assert_near(m->values[5], -1, 0);
}

static void test_full_scene(void **state)
{
    (void)state;
    tdScene scene;
    tdError error = {0};
    assert_ok(parse(full, &scene, &error), error);
    assert_string_equal(scene.file, "scene.yaml");
    assert_near(scene.length_unit, 1e-3, 0);
    assert_near(scene.settings.gravity[2], -9.81, 0);
    assert_near(scene.settings.time_step, 0.01, 0);
    assert_int_equal(scene.settings.steps, 100);
    assert_int_equal(scene.settings.method, TD_METHOD_NEWMARK);
    assert_near(scene.settings.beta, 0.3, 0);
    assert_near(scene.settings.gamma, 0.6, 0);
    assert_true(scene.settings.newton);
    assert_near(scene.settings.tolerance, 1e-6, 0);
    assert_int_equal(scene.settings.max_iterations, 7);
    assert_int_equal(scene.settings.solver, TD_SOLVER_CG);
    assert_near(scene.settings.solver_tolerance, 1e-10, 0);
    assert_int_equal(scene.output.every, 5);
    assert_false(scene.output.vtu);
    assert_true(scene.output.csv);
    assert_true(scene.output.hdf5);
    assert_int_equal(scene.output.checkpoint_every, 50);
    check_bodies(&scene);
    check_loads(&scene);
    check_motion(&scene.motion);
    td_scene_free(&scene);
}

static void test_defaults(void **state)
{
    (void)state;
    tdScene scene;
    tdError error = {0};
    assert_ok(parse(GOOD, &scene, &error), error);
    const tdSceneSettings *s = &scene.settings;
    assert_near(scene.length_unit, 1, 0);
    assert_near(s->gravity[0] + s->gravity[1] + s->gravity[2], 0, 0);
    assert_int_equal(s->method, TD_METHOD_THETA);
    assert_near(s->theta, 1, 0);
    assert_near(s->theta_vq, 1, 0);
    assert_near(s->beta, 0.25, 0);
    assert_near(s->gamma, 0.5, 0);
    assert_false(s->newton);
    assert_near(s->tolerance, 1e-8, 0);
    assert_int_equal(s->max_iterations, 30);
    assert_int_equal(s->min_load_step_inverse, 1024);
    assert_int_equal(s->solver, TD_SOLVER_AUTO);
    assert_near(s->solver_tolerance, 1e-8, 0);
    assert_int_equal(scene.output.every, 1);
    assert_true(scene.output.vtu && scene.output.csv && !scene.output.hdf5);
    assert_int_equal(scene.output.checkpoint_every, 0);
    const tdSceneBody *b = &scene.bodies[0];
    assert_near(b->scale, 1, 0);
    assert_near(b->rotation[0], 1, 0);
    assert_false(b->consistent_mass);
    assert_int_equal(b->n_fixed + b->n_prescribed + scene.n_loads + scene.n_probes + scene.motion.n_times, 0);
    // FNV-1a of the text, and of the empty text its offset basis.
    assert_true(scene.hash != 0xcbf29ce484222325U);
    uint64_t first = scene.hash;
    td_scene_free(&scene);
    assert_ok(parse(GOOD "# a comment\n", &scene, &error), error);
    assert_true(scene.hash != first);
    td_scene_free(&scene);
}

static void test_methods(void **state)
{
    (void)state;
    const struct
    {
        const char *text;
        tdMethod method;
        double theta, theta_vq;
    } cases[] = {
        {GOOD "integrator: {method: backward_euler}", TD_METHOD_THETA, 1, 1},
        {GOOD "integrator: {method: midpoint}", TD_METHOD_THETA, 0.5, 0.5},
        {GOOD "integrator: {method: symplectic}", TD_METHOD_THETA, 0, 1},
        {GOOD "integrator: {method: theta, theta: 0.6, theta_vq: 0.7}", TD_METHOD_THETA, 0.6, 0.7},
        {GOOD "integrator: {method: static, min_load_step: 0.01}", TD_METHOD_STATIC, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        tdScene scene;
        tdError error = {0};
        assert_ok(parse(cases[i].text, &scene, &error), error);
        assert_int_equal(scene.settings.method, cases[i].method);
        assert_near(scene.settings.theta, cases[i].theta, 0);
        assert_near(scene.settings.theta_vq, cases[i].theta_vq, 0);
        assert_int_equal(scene.settings.newton, cases[i].method == TD_METHOD_STATIC);
        if (cases[i].method == TD_METHOD_STATIC)
            assert_int_equal(scene.settings.min_load_step_inverse, 100);
        td_scene_free(&scene);
    }
}

static void test_static_needs_neither_time_nor_mass(void **state)
{
    (void)state;
    tdScene scene;
    tdError error = {0};
    assert_ok(parse("tendril: 1\nbodies: [{name: a, mesh: a.msh, material: {law: linear, young: 1, poisson: 0}}]\n"
                    "integrator: {method: static}\n",
                    &scene, &error),
              error);
    assert_near(scene.settings.time_step, 1, 0);
    assert_int_equal(scene.settings.steps, 1);
    assert_near(scene.bodies[0].material.density + scene.bodies[0].material.total_mass, 0, 0);
    td_scene_free(&scene);
}

static void test_duration_is_rounded_up_to_steps(void **state)
{
    (void)state;
    const struct
    {
        const char *duration;
        int steps;
    } cases[] = {{"1 s", 100}, {"0.3 s", 30}, {"0.7 s", 70}, {"1.001 s", 101}, {"10 ms", 1}, {"2 h", 720000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        char text[512];
        tdScene scene;
        tdError error = {0};
        snprintf(text, sizeof text, "tendril: 1\ntime_step: 10 ms\nduration: %s\n%s", cases[i].duration, BODY);
        assert_ok(parse(text, &scene, &error), error);
        assert_int_equal(scene.settings.steps, cases[i].steps);
        td_scene_free(&scene);
    }
}

static void test_rotation_order(void **state)
{
    (void)state;
    tdScene scene;
    tdError error = {0};
    assert_ok(parse(GOOD "    transform: {rotate: [90 deg, 90 deg, 30 deg]}\n", &scene, &error), error);
    // y goes to z by x, then to x by y, then to (cos 30, sin 30, 0) by z.
    const double *r = scene.bodies[0].rotation;
    assert_near(r[1], sqrt(3) / 2, 1e-15);
    assert_near(r[4], 0.5, 1e-15);
    assert_near(r[7], 0, 0);
    td_scene_free(&scene);
}

static void test_aliases(void **state)
{
    (void)state;
    tdScene scene;
    tdError error = {0};
    assert_ok(parse("tendril: 1\ntime_step: &h 10 ms\nduration: *h\nbodies:\n"
                    "  - {name: a, mesh: a.msh, material: &m {law: linear, young: 1, poisson: 0, density: 1}}\n"
                    "  - {name: b, mesh: b.msh, material: *m}\n",
                    &scene, &error),
              error);
    assert_int_equal(scene.settings.steps, 1);
    assert_int_equal(scene.n_bodies, 2);
    assert_near(scene.bodies[1].material.young, 1, 0);
    td_scene_free(&scene);
    // A byte order mark and Windows line ends are no trouble.
    assert_ok(parse("\xEF\xBB\xBFtendril: 1\r\nsteps: 1\r\ntime_step: 1\r\n" BODY, &scene, &error), error);
    td_scene_free(&scene);
}

// ---------------------------------------------------------------- bad scenes

typedef struct Bad
{
    const char *text;
    int line;
    const char *says;
} Bad;

static void expect_bad(const Bad *cases, size_t n)
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

static void test_bad_yaml(void **state)
{
    (void)state;
    const Bad cases[] = {
        {"", 1, "the file is empty"},
        {"# nothing\n", 1, "the file is empty"},
        {"[1, 2]\n", 1, "a scene is a map"},
        {"hello\n", 1, "a scene is a map"},
        {"tendril: 1\nbodies: [\n", 3, "YAML syntax"},
        {"tendril: 1\nunits: [a, b\ntime_step: 1\n", 3, "close the '[', or put a comma between its items"},
        {"tendril: 1\nunits: {length: mm\ntime_step: 1\n", 3, "close the '{', or put a comma between its keys"},
        {"tendril: 1\ntime_step: 1\n  steps: 3\n", 3, "begin all keys of a map in the same column"},
        {"tendril: 1\nunits: {length: mm, 4}\n", 2,
         "a number stands where a key is expected; the decimal mark is a point"},
        {"tendril: 1\n\tbodies: 2\n", 2, "a tab indents this line"},
        {"tendril: 1\nbodies: }\n", 2, "YAML syntax"},
        {"tendril: 1\n\"a\n", 3, "YAML syntax"},
        {"tendril: 1\nname: \xff\xfe\n", 2, "not valid UTF-8"},
        {"tendril: 1\n\nname: a\x01z\n", 3, "not valid UTF-8"},
        {"tendril: 1\nsteps: 3\nsteps: 4\n", 3, "'steps' is given twice, on line 2 and on line 3"},
        {"{tendril: 1, steps: 3, steps: 4}\n", 1, "'steps' is given twice on line 1"},
        {"tendril: 1\n<<: {steps: 3}\n", 2, "merge keys '<<' are not supported"},
        {"tendril: 1\nsteps: !!int 3\n", 2, "the tag 'tag:yaml.org,2002:int'"},
        {"tendril: 1\nsteps: *there\n", 2, "alias '*there' has no anchor"},
        {"tendril: 1\nsteps: &a [*a]\n", 2, "is inside its own anchor"},
        {"tendril: 1\n{a: 1}: 2\n", 2, "a key must be plain text"},
        {"tendril: 1\n--- \nsteps: 3\n", 2, "a second document begins"},
        {"tendril: 1\nname: \"a\\0b\"\n", 2, "zero character"},
        {"a: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n", 1, "nested deeper"},
        // Ten levels of ten aliases would be ten thousand million nodes.
        {"a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
         "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
         "f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\n",
         6, "more than 262144 values"},
    };
    EXPECT_BAD(cases);
}

static void test_bad_keys(void **state)
{
    (void)state;
    const Bad cases[] = {
        {"steps: 3\n", 1, "a scene begins with 'tendril: 1'"},
        {"tendril: 2\n", 1, "this program reads version 1"},
        {"tendril: [1]\n", 1, "this program reads version 1"},
        {"tendril: 1\nsteps: 1\ntime_step: 1\n", 1, "'bodies' is missing"},
        {HEAD "bodies: []\n", 4, "the list has 0 items, expected 1"},
        {HEAD "bodies: {name: a}\n", 4, "found a map, expected a list"},
        {HEAD "bodies: [beam]\n", 4, "found 'beam', expected a map"},
        {GOOD "gravty: [0, 0, 0]\n", 8,
         "unknown key 'gravty'; did you mean 'gravity'? Known keys: tendril, include, units"},
        {GOOD "zzz: 0\n", 8, "unknown key 'zzz'. Known keys: tendril"},
        {GOOD "    transfrom: {}\n", 8, "did you mean 'transform'?"},
        {GOOD "    fixed: [{boks: [[0,0,0],[1,1,1]]}]\n", 8, "did you mean 'box'?"},
        {GOOD "    damping: {mass: 1, stifness: 2}\n", 8, "did you mean 'stiffness'?"},
        {GOOD "solver: {typ: cg}\n", 8, "did you mean 'type'?"},
        {GOOD "solver:\n", 8, "found nothing, expected a map"},
        {GOOD "contact: {frction: 1}\n", 8, "did you mean 'friction'?"},
        {GOOD "    type: articulated\n", 6, "takes no 'mesh'; it is for type soft"},
        {GOOD "    type: membrane\n", 8, "'membrane' is not supported by this version"},
        {HEAD "bodies:\n  - {name: a, type: articulated}\n", 5, "'urdf' is missing"},
        {HEAD "bodies:\n  - {name: a, type: rigid, shape: {sphere: 1}}\n", 5, "needs a mass"},
        {HEAD "bodies:\n  - {name: a, type: rigid, shape: {sphere: 1, box: [1, 1, 1]}, density: 1}\n", 5,
         "exclude each other"},
        {HEAD "bodies:\n  - {name: a, type: rigid, shape: {plane: true}, density: 1}\n", 5, "a plane cannot move"},
        {HEAD "bodies:\n  - {name: a, type: rigid, shape: {box: [1, -1, 1]}, density: 1}\n", 5, "longer than zero"},
        {HEAD "bodies:\n  - {name: a, type: rigid, shape: {sphere: 1}, density: 1, fixed: [{all: true}]}\n", 5,
         "'fixed: true', without a list"},
        {GOOD "    fixed: true\n", 8, "held at nodes"},
        {GOOD "    type: sofa\n", 8, "did you mean 'soft'?"},
        {HEAD "bodies:\n  - mesh: a.msh\n    material: {}\n", 5, "'name' is missing"},
        {HEAD "bodies:\n  - name: a\n    material: {}\n", 5, "'mesh' is missing"},
        {HEAD "bodies:\n  - name: a\n    mesh: a.msh\n", 5, "'material' is missing"},
        {HEAD "bodies:\n  - name: a/b\n    mesh: a.msh\n", 5, "expected a name"},
        {HEAD "bodies:\n  - name:\n    mesh: a.msh\n", 5, "found nothing, expected a name"},
        {GOOD "  - {name: beam, mesh: b.msh, material: {law: linear, young: 1, poisson: 0, density: 1}}\n", 8,
         "already that of the body on line 5"},
    };
    EXPECT_BAD(cases);
}

#define MATERIAL(text) HEAD "bodies:\n  - name: beam\n    mesh: beam.msh\n    material: {" text "}\n"

static void test_bad_values(void **state)
{
    (void)state;
    const Bad cases[] = {
        {MATERIAL("law: linear, young: 40 mm, poisson: 0.3, density: 1"), 7,
         "found '40 mm' (length), expected a pressure, e.g. '40 kPa'"},
        {MATERIAL("law: linear, young: 0, poisson: 0.3, density: 1"), 7, "must be > 0"},
        // Nothing, in the three ways in which YAML writes it.
        {HEAD "bodies:\n  - name:\n    mesh: beam.msh\n", 5, "found nothing, expected a name"},
        {HEAD "bodies:\n  - name: ~\n    mesh: beam.msh\n", 5, "found nothing, expected a name"},
        {HEAD "bodies:\n  - name: null\n    mesh: beam.msh\n", 5, "found nothing, expected a name"},
        {MATERIAL("law: linear, young: -3 kPa, poisson: 0.3, density: 1"), 7, "found '-3 kPa', must be > 0"},
        {MATERIAL("law: linear, young: .nan, poisson: 0.3, density: 1"), 7, "found '.nan', expected a pressure"},
        {MATERIAL("law: linear, young: .inf, poisson: 0.3, density: 1"), 7, "expected a pressure"},
        {MATERIAL("law: linear, young: 1e400, poisson: 0.3, density: 1"), 7, "too large"},
        {MATERIAL("law: linear, young: 1 kpa, poisson: 0.3, density: 1"), 7, "did you mean 'kPa'?"},
        {MATERIAL("law: linear, young: [1], poisson: 0.3, density: 1"), 7, "found a list of 1, expected a pressure"},
        {MATERIAL("law: linear, young: 1, poisson: 0.5, density: 1"), 7, "must be > -1 and < 0.5"},
        {MATERIAL("law: linear, young: 1, poisson: -1, density: 1"), 7, "must be > -1 and < 0.5"},
        {MATERIAL("law: linear, young: 1, poisson: 0.3, density: 0"), 7, "must be > 0"},
        {MATERIAL("law: linear, young: 1, poisson: 0.3"), 7, "the mass is missing"},
        {MATERIAL("law: linear, young: 1, poisson: 0.3, density: 1, total_mass: 1"), 7, "exclude each other"},
        {MATERIAL("law: linear, young: 1, density: 1"), 7, "'poisson' is missing; 'young' needs it"},
        {MATERIAL("law: linear, mu: 1, density: 1"), 7, "'lambda' is missing; 'mu' needs it"},
        {MATERIAL("law: linear, density: 1"), 7, "the stiffness is missing"},
        {MATERIAL("law: linear, young: 1, poisson: 0.3, mu: 1, density: 1"), 7, "give one pair"},
        {MATERIAL("law: linear, lambda: -1, mu: 1, density: 1"), 7, "must be > -2/3 of mu"},
        {MATERIAL("law: linear, lambda: 1e15, mu: 1e-9, density: 1"), 7, "incompressible"},
        {MATERIAL("law: neohookean, young: 1, poisson: 0.3, density: 1"), 7, "did you mean 'neo_hookean'?"},
        {MATERIAL("young: 1, poisson: 0.3, density: 1"), 7, "'law' is missing"},
        {GOOD "    transform: {rotate: [90, 0, 0]}\n", 8, "'90 deg' or '90 rad'"},
        {GOOD "    transform: {rotate: [90 deg, 0]}\n", 8, "expected a list of three numbers"},
        {GOOD "    transform: {scale: 0}\n", 8, "must be > 0"},
        {GOOD "    mass: heavy\n", 8, "expected one of: lumped, consistent"},
        {GOOD "    damping: {mass: -1}\n", 8, "must be >= 0"},
        {GOOD "    damping: {stiffness: 1 Hz}\n", 8, "(rate), expected a time"},
        {GOOD "    velocity: 3\n", 8, "expected a list of three numbers"},
        {GOOD "    velocity:\n      - 0\n      - 1 m\n      - 0\n", 10, "(length), expected a velocity"},
        {GOOD "    mass: consistent\nintegrator: {method: symplectic}\n", 8, "needs 'mass: lumped'"},
        {GOOD "units: {length: kg}\n", 8, "found 'kg' (mass), expected a unit of length"},
        {GOOD "units: {length: 1}\n", 8, "(number), expected a unit of length"},
        {GOOD "gravity: -9.81\n", 8, "expected a list of three numbers"},
        {GOOD "gravity: [0, 0, -9.81 m/s]\n", 8, "(velocity), expected an acceleration"},
        {"tendril: 1\nsteps: 1\n" BODY, 1, "'time_step' is missing"},
        {"tendril: 1\ntime_step: 1\n" BODY, 1, "one of 'duration' and 'steps' is required"},
        {GOOD "duration: 1 s\n", 3, "exclude each other"},
        {"tendril: 1\nsteps: 0\n", 2, "expected a whole number from 1"},
        {"tendril: 1\nsteps: 1.5\n", 2, "expected a whole number from 1"},
        {"tendril: 1\nsteps: 99999999999999999999\n", 2, "expected a whole number from 1"},
        {"tendril: 1\ntime_step: 0\n", 2, "must be > 0"},
        {"tendril: 1\ntime_step: 1e-12\nduration: 1 h\n" BODY, 3, "more than 1000000000 steps"},
        {"tendril: 1\ntime_step: 10 ms\nduration: 9 ms\n" BODY, 3, "'9 ms' is shorter than one time_step of 0.01 s"},
        {GOOD "integrator: {method: leapfrog_four}\n", 8, "expected one of: backward_euler"},
        {GOOD "integrator: {method: theta, theta: 1}\n", 8, "method theta needs 'theta_vq'"},
        {GOOD "integrator: {method: theta, theta: 1.1, theta_vq: 1}\n", 8, "must be >= 0 and <= 1"},
        {GOOD "integrator: {theta: 1}\n", 8, "used by method theta only"},
        {GOOD "integrator: {beta: 0.25}\n", 8, "used by method newmark only"},
        {GOOD "integrator: {method: newmark, beta: 0}\n", 8, "must be > 0 and <= 0.5"},
        {GOOD "integrator: {method: newmark, beta: 0.6}\n", 8, "must be > 0 and <= 0.5"},
        {GOOD "integrator: {method: newmark, gamma: 1.2}\n", 8, "must be > 0 and <= 1"},
        {GOOD "integrator: {min_load_step: 0.1}\n", 8, "used by method static only"},
        {GOOD "integrator: {method: static, newton: false}\n", 8, "static always iterates"},
        {GOOD "    velocity: [1, 0, 0]\nintegrator: {method: static}\n", 8, "no velocities"},
        {GOOD "integrator: {newton: yes}\n", 8, "expected true or false"},
        {GOOD "integrator: {max_iterations: 0}\n", 8, "expected a whole number from 1"},
        {GOOD "integrator: {tolerance: 0}\n", 8, "must be > 0 and < 1"},
        {GOOD "integrator: {tolerance: 1e-3}\n", 8, "used by Newton's iteration only"},
        {GOOD "integrator: {max_iterations: 9}\n", 8, "used by Newton's iteration only"},
        {GOOD "solver: {type: lu}\n", 8, "expected one of: auto, cholesky, cg, amg, asynchronous, rest"},
        {GOOD "solver: {type: cg, lag: 3}\n", 8, "set 'type: asynchronous'"},
        {GOOD "solver: {type: asynchronous, lag: 0}\n", 8, "a whole number from 1 to 1000"},
        {GOOD "solver: {type: rest}\nintegrator: {method: static}\n", 8, "a static scene uses 'auto'"},
        {GOOD "output: {formats: [vtk]}\n", 8, "did you mean 'vtu'?"},
        {GOOD "output: {formats: vtu}\n", 8, "expected a list of some of: vtu"},
        {GOOD "output: {formats: [csv, csv]}\n", 8, "'csv' is listed twice"},
        {GOOD "output: {every: -1}\n", 8, "expected a whole number from 0"},
    };
    EXPECT_BAD(cases);
}

#define BLOCK(text)                                                                                                    \
    HEAD "bodies:\n  - name: a\n    mesh: {" text "}\n    material: {law: linear, young: 1, poisson: 0, density: 1}\n"
#define LOAD(text) GOOD "loads:\n  - {" text "}\n"

static void test_bad_parts(void **state)
{
    (void)state;
    const Bad cases[] = {
        {BLOCK("box: [[0,0,0],[1,1,1]], cells: [1,1]"), 6, "expected a list of three whole numbers"},
        {BLOCK("box: [[0,0,0],[1,1,1]], cells: [1,1,0]"), 6, "expected a whole number from 1 to 1000"},
        {BLOCK("box: [[0,0,0],[1,1,1]], cells: [1,1,1001]"), 6, "expected a whole number from 1 to 1000"},
        {BLOCK("box: [[0,0,0],[1,1,1]], cells: [1000,1000,1000]"), 6, "1000000000 cells in all"},
        {BLOCK("box: [[0,0,0],[1,1,1]]"), 6, "'cells' is missing"},
        {BLOCK("box: [[0,0,0],[1,0,1]], cells: [1,1,1]"), 6, "no extent along y"},
        {BLOCK("box: [[0,0,2],[1,1,1]], cells: [1,1,1]"), 6, "the first corner's z (2 m) is larger"},
        {BLOCK("box: [[0,0,0]], cells: [1,1,1]"), 6, "expected two corners"},
        {BLOCK("box: [[0,0,0],[1,1,1]], cells: [1,1,1], elements: triangles"), 6,
         "expected one of: tetrahedra, hexahedra"},
        {GOOD "    fixed: [{box: [[0,0,0],[1,-1,1]]}]\n", 8, "first corner's y"},
        {GOOD "    fixed: [{axes: xx, all: true}]\n", 8, "letters of x, y and z"},
        {GOOD "    fixed: [{axes: w, all: true}]\n", 8, "letters of x, y and z"},
        {GOOD "    fixed: [{axes: x}]\n", 8,
         "one of these keys is required: all, box, sphere, plane, side, part, group, nodes"},
        {GOOD "    fixed:\n      - all: true\n        group: a\n", 10, "'all' (line 9) and 'group' exclude each other"},
        {GOOD "    fixed: [{all: false}]\n", 8, "chooses nothing"},
        {GOOD "    fixed: [{nodes: []}]\n", 8, "the list has 0 items"},
        {GOOD "    fixed: [{nodes: [0, -1]}]\n", 8, "expected a whole number from 0"},
        {GOOD "    fixed: [{nodes: [4, 7, 4]}]\n", 8, "node 4 is listed twice"},
        {GOOD "    fixed: [{sphere: {center: [0,0,0], radius: 0}}]\n", 8, "must be > 0"},
        {GOOD "    fixed: [{sphere: {center: [0,0,0]}}]\n", 8, "'radius' is missing"},
        {GOOD "    fixed: [{plane: {point: [0,0,0], normal: [0,0,0]}}]\n", 8, "the normal is zero"},
        {GOOD "    fixed: [{plane: {point: [0,0,0], normal: [0,0,1], tolerance: -1}}]\n", 8, "must be >= 0"},
        {GOOD "    prescribed: [{all: true}]\n", 8, "'displacement' is missing"},
        {GOOD "    prescribed: [{all: true, axes: x, displacement: [1, 2, 0]}]\n", 8, "the y component is not zero"},
        {GOOD "    prescribed: [{all: true, name: t, displacement: [1, 2, 0]}]\n", 8, "'t' is the time"},
        {LOAD("type: point, body: bean, all: true, force: [0,0,1]"), 9, "no body 'bean'; did you mean 'beam'?"},
        {LOAD("type: point, body: zzzzzz, all: true, force: [0,0,1]"), 9, "the first body is 'beam'"},
        {LOAD("type: point, body: beam, all: true"), 9, "one of these keys is required: force"},
        {LOAD("type: point, body: beam, all: true, pressure: 1"), 9, "a point load has no 'pressure'"},
        {LOAD("type: surface, body: beam, all: true, force_each: [0,0,1]"), 9, "a surface load has no 'force_each'"},
        {LOAD("type: surface, body: beam, all: true, pressure: 1, force: [0,0,1]"), 9, "exclude each other"},
        {LOAD("type: volume, body: beam, all: true, force: [0,0,1]"), 9, "expected one of: point, surface"},
        {LOAD("body: beam, all: true, force: [0,0,1]"), 9, "'type' is missing"},
        {LOAD("type: point, body: beam, all: true, force: [0,0,1 kg]"), 9, "(mass), expected a force"},
        {LOAD("type: point, body: beam, force: [0,0,1]"), 9, "one of these keys is required: all"},
        {LOAD("name: a, type: point, body: beam, all: true, force: [0,0,1]}\n  - {name: a, type: point, body: beam, "
              "all: true, force: [0,0,1]"),
         10, "already taken by the load, prescribed motion or actuator on line 9"},
        {GOOD "probes: [{name: p, body: beam}]\n", 8, "one of these keys is required: point, all"},
        {GOOD "probes: [{name: p, body: beam, point: [0,0,0], all: true}]\n", 8, "exclude each other"},
        {GOOD "probes:\n  - {name: p, body: beam, all: true}\n  - {name: p, body: beam, all: true}\n", 10,
         "the probe on line 9 has the same name"},
    };
    EXPECT_BAD(cases);
}

#define MOTION(text) LOAD("name: tip, type: point, body: beam, all: true, force: [0,0,1]") "motion: {" text "}\n"

static void test_bad_motion(void **state)
{
    (void)state;
    const Bad cases[] = {
        {GOOD "motion: {keyframes: [{t: 0, tip: 1}]}\n", 8, "drives nothing"},
        {MOTION("keyframes: [{t: 0}]"), 10, "drives nothing"},
        {MOTION("keyframes: []"), 10, "the list has 0 items"},
        {MOTION("keyframes: [{t: 0, tp: 1}]"), 10,
         "no load, prescribed motion, actuator or tool is named 'tp'; did you mean 'tip'?"},
        {MOTION("keyframes: [{tip: 1}]"), 10, "'t' is missing"},
        {MOTION("keyframes: [{t: 0, tip: 1}, {t: 0, tip: 1}]"), 10, "times must ascend"},
        {MOTION("keyframes: [{t: 0, tip: 1 mm}]"), 10, "(length), expected a plain number"},
        {MOTION("keyframes: [{t: 0 m, tip: 1}]"), 10, "(length), expected a time"},
        {MOTION("keyframes: [3]"), 10, "found '3', expected a map"},
        {MOTION("interpolation: linear"), 10, "one of these keys is required: keyframes, csv"},
        {MOTION("keyframes: [{t: 0, tip: 1}], csv: a.csv"), 10, "exclude each other"},
        {MOTION("keyframes: [{t: 0, tip: 1}], interpolation: cubic"), 10, "expected one of: linear, smooth"},
        {MOTION("csv: missing.csv"), 10,
         "'some/folder/missing.csv' cannot be opened: No such file or directory. Paths are relative to the scene"},
        {MOTION("csv: /dev/zero"), 10, "is not a plain file"},
        {MOTION("csv: /"), 10, "is not a plain file"},
    };
    EXPECT_BAD(cases);
}

static void test_error_names_the_field(void **state)
{
    (void)state;
    tdScene scene;
    tdError error = {0};
    parse(GOOD "    fixed: [{all: true}, {box: [[0, 0, 0], [1, 1 kg, 1]]}]\n", &scene, &error);
    td_scene_free(&scene);
    assert_string_equal(error.field, "bodies[0].fixed[1].box[1][1]");
    // No error to fill, and no folder: both may be NULL.
    assert_int_equal(td_scene_parse("tendril: 2", 10, "x", NULL, &scene, NULL), TD_ERROR_INPUT);
    td_scene_free(&scene);
    // A quoted line end or a character cut in two does not reach the message.
    parse("tendril: 1\nsteps: \"3\\n4\"\n", &scene, &error);
    td_scene_free(&scene);
    assert_null(strchr(error.message, '\n'));
}

// ---------------------------------------------------------------- motion from CSV

static void test_csv(void **state)
{
    (void)state;
    tdArena arena = {0};
    tdSceneMotion motion = {0};
    tdError error = {0};
    const tdUnits si = {1, 1, 1};
    const tdCsvFormat format = {.units = &si, .what = "load", .gaps = true};
    const char good[] = "# a pull\r\n\r\nt, pull ,push\r\n0,0,\r\n0.5, 1 ,-2e0\r\n\r\n1,,3";
    assert_ok(td_csv_parse(good, sizeof good - 1, "m.csv", &format, &arena, &motion, &error), error);
    assert_int_equal(motion.n_names, 2);
    assert_int_equal(motion.n_times, 3);
    assert_string_equal(motion.names[0], "pull");
    assert_string_equal(motion.names[1], "push");
    assert_near(motion.times[1], 0.5, 0);
    assert_true(isnan(motion.values[1]));
    assert_near(motion.values[2], 1, 0);
    assert_near(motion.values[3], -2, 0);
    assert_true(isnan(motion.values[4]));
    td_arena_free(&arena);

    const Bad cases[] = {
        {"", 0, "the file is empty"},
        {"time,a\n0,1\n", 1, "the first column is named 'time'"},
        {"t;a\n0;1\n", 1, "separated by semicolons"},
        {"t\ta\n0\t1\n", 1, "separated by tabs"},
        {"t\n0\n", 1, "names no load"},
        {"t,a\n", 1, "no line of values"},
        {"t,a,\n0,1,2\n", 1, "the name of column 3 is empty"},
        {"t,a,a\n0,1,2\n", 1, "columns 2 and 3 have the same name"},
        {"t,a\n0,1\n0,2\n", 3, "times must ascend"},
        {"t,a\n0,1,2\n", 2, "more cells than the header"},
        {"t,a,b\n0,1\n", 2, "the line has 2 cells, the header has 3"},
        {"t,a\n\n,1\n", 3, "expected a time"},
        {"t,a\n0,x\n", 2, "expected a plain number"},
        {"t,a\n0,nan\n", 2, "expected a plain number"},
        {"t,a\n0,\n1,\n", 1, "has no value on any line"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        assert_int_equal(td_csv_parse(cases[i].text, strlen(cases[i].text), "m.csv", &format, &arena, &motion, &error),
                         TD_ERROR_INPUT);
        if (error.line != cases[i].line || strstr(error.message, cases[i].says) == NULL)
            fail_msg("%s\nsays line %d: \"%s\"\nexpected line %d: \"%s\"", cases[i].text, error.line, error.message,
                     cases[i].line, cases[i].says);
        assert_string_equal(error.file, "m.csv");
        td_arena_free(&arena);
    }
}

static void test_csv_file_of_a_scene(void **state)
{
    (void)state;
    tdScene scene;
    tdError error = {0};
    const char text[] = MOTION("csv: test_scene_motion.csv");
    const char *path = TD_BUILD_DIR "/test_scene_motion.csv";
    assert_ok(td_file_write(path, "t,tip\n0,0\n2,1\n", 14, &error), error);
    assert_ok(td_scene_parse(text, sizeof text - 1, "scene.yaml", TD_BUILD_DIR, &scene, &error), error);
    assert_int_equal(scene.motion.n_times, 2);
    assert_near(scene.motion.values[1], 1, 0);
    td_scene_free(&scene);
    // The error is in the other file, and says so.
    assert_ok(td_file_write(path, "#\nt,top\n0,0\n", 12, &error), error);
    assert_int_equal(td_scene_parse(text, sizeof text - 1, "scene.yaml", TD_BUILD_DIR, &scene, &error), TD_ERROR_INPUT);
    td_scene_free(&scene);
    assert_non_null(strstr(error.file, "test_scene_motion.csv"));
    assert_int_equal(error.line, 2);
    assert_non_null(strstr(error.message, "did you mean 'tip'?"));
    remove(path);
}

// ---------------------------------------------------------------- the reference and the program

static void test_reference_is_up_to_date(void **state)
{
    (void)state;
    tdText text = {0};
    tdError error = {0};
    char *stored = NULL;
    size_t size = 0;
    td_scene_reference(&text);
    assert_false(text.failed);
    assert_ok(td_file_read(TD_SOURCE_DIR "/docs/scene.md", &stored, &size, &error), error);
    if (size != (size_t)text.size || memcmp(stored, text.data, size) != 0)
        fail_msg("docs/scene.md differs from the schema; run: tendril check --reference > docs/scene.md");
    free(stored);
    free(text.data);
}

// The YAML blocks of the reference: the first is a whole scene, which must be right.
static void test_example_of_the_reference_is_right(void **state)
{
    (void)state;
    tdText text = {0};
    tdScene scene;
    tdError error = {0};
    td_scene_reference(&text);
    const char *from = strstr(text.data, "```yaml\n") + strlen("```yaml\n");
    const char *to = strstr(from, "```");
    assert_ok(td_scene_parse(from, (size_t)(to - from), "reference", NULL, &scene, &error), error);
    assert_int_equal(scene.n_loads, 1);
    td_scene_free(&scene);
    free(text.data);
}

// The short examples: each is a key with a value that the schema of its section must take.
static void test_examples_of_the_sections_are_right(void **state)
{
    (void)state;
    const struct
    {
        const tdSchema *schema, *of_value;
    } cases[] = {
        {&td_schema_units, &td_schema_units},
        {&td_schema_mesh_box, &td_schema_mesh_box},
        {&td_schema_transform, &td_schema_transform},
        {&td_schema_material, &td_schema_material},
        {&td_schema_part, &td_schema_part},
        {&td_schema_term, &td_schema_term},
        {&td_schema_viscoelastic, &td_schema_viscoelastic},
        {&td_schema_damping, &td_schema_damping},
        {&td_schema_select, &td_schema_fixed},
        {&td_schema_sphere, &td_schema_sphere},
        {&td_schema_plane, &td_schema_plane},
        {&td_schema_fixed, &td_schema_fixed},
        {&td_schema_prescribed, &td_schema_prescribed},
        {&td_schema_load, &td_schema_load},
        {&td_schema_probe, &td_schema_probe},
        {&td_schema_actuator, &td_schema_actuator},
        {&td_schema_effector, &td_schema_effector},
        {&td_schema_control, &td_schema_control},
        {&td_schema_group, &td_schema_control},
        {&td_schema_motion, &td_schema_motion},
        {&td_schema_integrator, &td_schema_integrator},
        {&td_schema_solver, &td_schema_solver},
        {&td_schema_output, &td_schema_output},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        tdArena arena = {0};
        tdYaml *root = NULL;
        tdError error = {0};
        tdRecord record;
        const char *example = cases[i].schema->example;
        const tdReader reader = {.file = example, .units = {1, 1, 1}, .error = &error};
        assert_ok(td_yaml_parse(example, strlen(example), example, &arena, &root, &error), error);
        const tdYaml *value = root->first, *item = value->kind == TD_YAML_LIST ? value->first : value;
        for (; item != NULL; item = value->kind == TD_YAML_LIST ? item->next : NULL)
            assert_ok(td_schema_read(&reader, item, cases[i].of_value, "", &record), error);
        td_arena_free(&arena);
    }
}

static int run(const char *arguments, char *out, size_t size)
{
    char command[1024];
    snprintf(command, sizeof command, "%s check %s 2>&1", TD_PROGRAM, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t n = fread(out, 1, size - 1, pipe);
    out[n] = '\0';
    while (fgetc(pipe) != EOF)
        ;
    return pclose(pipe) >> 8;
}

static void test_check_command(void **state)
{
    (void)state;
    static char out[8192];
    tdError error = {0};
    const char *path = TD_BUILD_DIR "/test_scene_check.yaml";
    const char checked[] = "tendril: 1\n"
                           "time_step: 10 ms\n"
                           "steps: 100\n"
                           "bodies:\n"
                           "  - name: cube\n"
                           "    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [2, 2, 2]}\n"
                           "    material: {law: stvk, young: 450 kPa, poisson: 0.3, density: 1000}\n"
                           "    fixed: [{group: xmin}]\n"
                           "integrator: {method: newmark}\n";
    assert_ok(td_file_write(path, checked, sizeof checked - 1, &error), error);
    assert_int_equal(run(TD_BUILD_DIR "/test_scene_check.yaml", out, sizeof out), 0);
    assert_non_null(strstr(out, "Young's modulus 450 kPa (450000 Pa)"));
    assert_non_null(strstr(out, "newmark: 100 steps of 0.01 s"));
    assert_int_equal(run("--json " TD_BUILD_DIR "/test_scene_check.yaml", out, sizeof out), 0);
    assert_int_equal(strncmp(out, "{", 1), 0);
    assert_non_null(strstr(out, "\"ok\": true"));
    assert_non_null(strstr(out, "\"law\": \"stvk\""));
    assert_non_null(strstr(out, "\"bulk\": null"));
    // What only the mesh can tell is checked too.
    char absent[sizeof checked];
    memcpy(absent, checked, sizeof checked);
    memcpy(strstr(absent, "xmin"), "xmun", 4);
    assert_ok(td_file_write(path, absent, sizeof absent - 1, &error), error);
    assert_int_equal(run(TD_BUILD_DIR "/test_scene_check.yaml", out, sizeof out), 3);
    assert_non_null(strstr(out, "did you mean 'xmin'?"));
    const char bad[] = GOOD "gravty: [0, 0, 0]\n";
    assert_ok(td_file_write(path, bad, sizeof bad - 1, &error), error);
    assert_int_equal(run(TD_BUILD_DIR "/test_scene_check.yaml", out, sizeof out), 3);
    assert_non_null(strstr(out, "test_scene_check.yaml:8: gravty: unknown key"));
    assert_non_null(strstr(out, "    8 | gravty: [0, 0, 0]\n      | ^\n"));
    assert_int_equal(run("", out, sizeof out), 2);
    assert_int_equal(run("nowhere.yaml", out, sizeof out), 3);
    assert_int_equal(run("--reference", out, sizeof out), 0);
    assert_non_null(strstr(out, "# Scene file"));
    remove(path);
}

static void test_check_command_on_materials(void **state)
{
    (void)state;
    static char out[8192];
    tdError error = {0};
    const char *path = TD_BUILD_DIR "/test_scene_materials.yaml";
    const char text[] = "tendril: 1\n"
                        "time_step: 10 ms\n"
                        "steps: 1\n"
                        "bodies:\n"
                        "  - name: cube\n"
                        "    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [2, 2, 2]}\n"
                        "    material: {law: stvk, young: 450 kPa, poisson: 0.3, density: 1000}\n"
                        "    materials:\n"
                        "      - group: xmax\n"
                        "        element: membrane\n"
                        "        thickness: 0.5 mm\n"
                        "        law: neo_hookean\n"
                        "        young: 1 MPa\n"
                        "        poisson: 0.4\n"
                        "        volumetric: log\n"
                        "        density: 1100\n"
                        "    fixed: [{group: xmin}]\n"
                        "  - name: lump\n"
                        "    mesh: {box: [[0, 0, 2], [1, 1, 3]], cells: [2, 2, 2]}\n"
                        "    material: {law: stvk, young: 1 MPa, poisson: 0.3, density: 1000}\n"
                        "    materials: [{group: body, law: stvk, young: 2 MPa, poisson: 0.3, density: 1000}]\n"
                        "    fixed: [{group: xmin}]\n"
                        "  - name: sheet\n"
                        "    mesh: {rectangle: [[0, 4], [1, 5]], cells: [2, 2]}\n"
                        "    plane: stress\n"
                        "    thickness: 2 mm\n"
                        "    material: {law: stvk, young: 1 MPa, poisson: 0.3, density: 1000}\n"
                        "    materials: [{group: body, law: stvk, young: 3 MPa, poisson: 0.3, density: 1000}]\n"
                        "    fixed: [{group: xmin}]\n";
    assert_ok(td_file_write(path, text, sizeof text - 1, &error), error);
    assert_int_equal(run(TD_BUILD_DIR "/test_scene_materials.yaml", out, sizeof out), 0);
    assert_non_null(strstr(out, "material: stvk, Young's modulus 450 kPa"));
    assert_non_null(
        strstr(out, "membrane xmax, 8 triangles, 0.0005 m thick: neo_hookean, Young's modulus 1 MPa (1000000 Pa), "
                    "Poisson's ratio 0.4, volumetric energy log\n  density: 1100 kg/m^3"));
    // Only what has a thickness in space is a membrane.
    assert_non_null(strstr(out, "material of body, 48 elements: stvk, Young's modulus 2 MPa"));
    assert_non_null(strstr(out, "material of body, 8 elements: stvk, Young's modulus 3 MPa"));
    assert_int_equal(run("--json " TD_BUILD_DIR "/test_scene_materials.yaml", out, sizeof out), 0);
    assert_non_null(strstr(out, "\"group\": \"xmax\""));
    assert_non_null(strstr(out, "\"thickness\": 0.0005"));
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_scene),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_static_needs_neither_time_nor_mass),
        cmocka_unit_test(test_duration_is_rounded_up_to_steps),
        cmocka_unit_test(test_rotation_order),
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_bad_yaml),
        cmocka_unit_test(test_bad_keys),
        cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_bad_parts),
        cmocka_unit_test(test_bad_motion),
        cmocka_unit_test(test_error_names_the_field),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_file_of_a_scene),
        cmocka_unit_test(test_reference_is_up_to_date),
        cmocka_unit_test(test_example_of_the_reference_is_right),
        cmocka_unit_test(test_examples_of_the_sections_are_right),
        cmocka_unit_test(test_check_command),
        cmocka_unit_test(test_check_command_on_materials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
