// SPDX-License-Identifier: Apache-2.0
// Materials, parts, plane bodies and generated meshes of a scene, as the parser understands and refuses them.
#include "test.h"

#include "describe/scene.h"

#define HEAD             "tendril: 1\ntime_step: 10 ms\nsteps: 10\n"
#define BODY(material)   "bodies:\n  - name: beam\n    mesh: beam.msh\n    material: {" material "}\n" // line 7
#define MATERIAL(text)   HEAD BODY(text)
#define RUBBER           "law: neo_hookean, young: 1 MPa, poisson: 0.45, density: 1000"
#define GOOD             MATERIAL(RUBBER)
#define STATIC           "integrator: {method: static}\n"
#define COSTA            "c: 1 kPa, b_ff: 1, b_ss: 2, b_nn: 3, b_fs: 4, b_fn: 5, b_sn: 6, density: 1"
#define FRAME            ", bulk: 1 MPa, fibre: [1, 0, 0], sheet: [0, 1, 0]"
#define FLAT(body, mesh) HEAD "bodies:\n  - name: a\n    mesh: {" mesh "}\n    material: {" RUBBER "}\n" body

static tdStatus parse(const char *text, tdScene *scene, tdError *error)
{
    return td_scene_parse(text, strlen(text), "scene.yaml", "some/folder", scene, error);
}

// The body of a scene that must be right; td_scene_free() by the caller.
static const tdSceneBody *body_of(const char *text, tdScene *scene)
{
    tdError error = {0};
    assert_ok(parse(text, scene, &error), error);
    return &scene->bodies[0];
}

static void expect_values(const tdSceneMaterial *m, int n, const double *values)
{
    for (int i = 0; i < TD_LAW_VALUES; i++)
        if (i >= n)
            assert_true(isnan(m->value[i]));
        else
            assert_near(m->value[i], values[i], 1e-12 * fabs(values[i]));
}

// ---------------------------------------------------------------- laws

static void test_engineering_constants_of_every_law(void **state)
{
    (void)state;
    for (int law = 0; law < TD_LAW_COSTA; law++)
    {
        char text[512];
        tdScene scene;
        snprintf(text, sizeof text, MATERIAL("law: %s, young: 2 MPa, poisson: 0.3, density: 1"),
                 td_scene_law((tdLawKind)law));
        const tdSceneMaterial *m = &body_of(text, &scene)->material;
        assert_int_equal(m->law, law);
        assert_null(m->group);
        assert_near(m->young, 2e6, 1e-9);
        assert_near(m->poisson, 0.3, 0);
        assert_true(isnan(m->bulk));
        expect_values(m, 0, NULL);
        assert_int_equal(m->volumetric, TD_VOLUMETRIC_SQUARE);
        assert_int_equal(m->n_terms + m->n_prony + m->has_fibre, 0);
        assert_near(m->thickness, 0, 0);
        td_scene_free(&scene);
    }
    assert_string_equal(td_scene_law(TD_LAWS), "");
}

static void test_own_parameters(void **state)
{
    (void)state;
    const struct
    {
        const char *text;
        tdLawKind law;
        int n, n_terms;
        double value[TD_LAW_VALUES], bulk, poisson;
    } cases[] = {
        {MATERIAL("law: neo_hookean, mu: 3 kPa, bulk: 1 MPa, density: 1"), TD_LAW_NEO_HOOKEAN, 1, 0, {3e3}, 1e6, NAN},
        {MATERIAL("law: neo_hookean, mu: 3 kPa, poisson: 0.4, density: 1"), TD_LAW_NEO_HOOKEAN, 1, 0, {3e3}, NAN, 0.4},
        {MATERIAL("law: mooney_rivlin, c10: 80 kPa, c01: -2 kPa, bulk: 2, density: 1"),
         TD_LAW_MOONEY_RIVLIN,
         2,
         0,
         {80e3, -2e3},
         2,
         NAN},
        {MATERIAL("law: ogden, terms: [{mu: 1 kPa, alpha: 2}, {alpha: -3.5, mu: -2 Pa}], poisson: 0.49, density: 1"),
         TD_LAW_OGDEN,
         4,
         2,
         {1e3, 2, -2, -3.5},
         NAN,
         0.49},
        {MATERIAL(
             "law: ogden, terms: [{mu: 1, alpha: 1}, {mu: 2, alpha: 2}, {mu: 3, alpha: 3}, {mu: 4, alpha: 4}, {mu: "
             "5, alpha: 5}, {mu: 6, alpha: 6}], bulk: 7, density: 1"),
         TD_LAW_OGDEN,
         12,
         6,
         {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6},
         7,
         NAN},
        {MATERIAL("law: arruda_boyce, mu: 1 MPa, lambda_m: 7, bulk: 1 GPa, density: 1"),
         TD_LAW_ARRUDA_BOYCE,
         2,
         0,
         {1e6, 7},
         1e9,
         NAN},
        {MATERIAL("law: veronda_westmann, c1: 2 kPa, c2: 9, bulk: 1 MPa, density: 1"),
         TD_LAW_VERONDA_WESTMANN,
         2,
         0,
         {2e3, 9},
         1e6,
         NAN},
        {MATERIAL("law: costa, " COSTA FRAME), TD_LAW_COSTA, 7, 0, {1e3, 1, 2, 3, 4, 5, 6}, 1e6, NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        tdScene scene;
        const tdSceneMaterial *m = &body_of(cases[i].text, &scene)->material;
        assert_int_equal(m->law, cases[i].law);
        assert_int_equal(m->line, 7);
        assert_int_equal(m->n_terms, cases[i].n_terms);
        expect_values(m, cases[i].n, cases[i].value);
        assert_true(isnan(m->young));
        assert_int_equal(isnan(m->bulk) != 0, isnan(cases[i].bulk) != 0);
        assert_int_equal(isnan(m->poisson) != 0, isnan(cases[i].poisson) != 0);
        if (isnan(m->bulk))
            assert_near(m->poisson, cases[i].poisson, 0);
        else
            assert_near(m->bulk, cases[i].bulk, 1e-12 * cases[i].bulk);
        assert_int_equal(m->has_fibre, cases[i].law == TD_LAW_COSTA);
        td_scene_free(&scene);
    }
}

// With lambda beside it mu is Lamé's, and both become engineering constants.
static void test_lame_constants_of_neo_hookean(void **state)
{
    (void)state;
    tdScene scene;
    const tdSceneMaterial *m =
        &body_of(MATERIAL("law: neo_hookean, lambda: 400 kPa, mu: 100 kPa, density: 1"), &scene)->material;
    assert_near(m->young, 280e3, 1e-9);
    assert_near(m->poisson, 0.4, 1e-15);
    assert_true(isnan(m->bulk));
    expect_values(m, 0, NULL);
    td_scene_free(&scene);
}

static void test_volumetric_and_relaxation(void **state)
{
    (void)state;
    tdScene scene;
    const tdSceneMaterial *m =
        &body_of(MATERIAL(RUBBER ", volumetric: log, viscoelastic: [{modulus: 0.3, time: 0.1 s}, {modulus: 20 %, time: "
                                 "2 min}]"),
                 &scene)
             ->material;
    assert_int_equal(m->volumetric, TD_VOLUMETRIC_LOG);
    assert_int_equal(m->n_prony, 2);
    assert_near(m->prony_g[0], 0.3, 0);
    assert_near(m->prony_tau[0], 0.1, 0);
    assert_near(m->prony_g[1], 0.2, 1e-16);
    assert_near(m->prony_tau[1], 120, 0);
    td_scene_free(&scene);
    m = &body_of(MATERIAL(RUBBER ", volumetric: mixed"), &scene)->material;
    assert_int_equal(m->volumetric, TD_VOLUMETRIC_MIXED);
    td_scene_free(&scene);
    m = &body_of(MATERIAL("law: stvk, young: 1, poisson: 0, density: 1, viscoelastic: [{modulus: 0.9, time: 1}]"),
                 &scene)
             ->material;
    assert_int_equal(m->n_prony, 1);
    td_scene_free(&scene);
}

// Directions of any length and angle become an orthonormal frame of right hand; the transform leaves it.
static void test_fibre_frame(void **state)
{
    (void)state;
    tdScene scene;
    const tdSceneMaterial *m =
        &body_of(
             MATERIAL("law: costa, " COSTA
                      ", bulk: 1 MPa, fibre: [0, 3e17, 0], sheet: [1e-200, -1e-200, 0]") "    transform: {rotate: [30 "
                                                                                         "deg, 40 deg, 50 deg]}\n",
             &scene)
             ->material;
    const double expected[9] = {0, 1, 0, 1, 0, 0, 0, 0, -1};
    assert_true(m->has_fibre);
    for (int i = 0; i < 9; i++)
        assert_near(m->fibre[i], expected[i], 1e-15);
    td_scene_free(&scene);
    m = &body_of(MATERIAL("law: costa, " COSTA ", bulk: 1 MPa, fibre: [1, 2, 3], sheet: [1, 2, 3.0001]"), &scene)
             ->material;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
        {
            const double *a = m->fibre + 3 * i, *b = m->fibre + 3 * j;
            assert_near(a[0] * b[0] + a[1] * b[1] + a[2] * b[2], i == j, 1e-15);
        }
    td_scene_free(&scene);
}

// ---------------------------------------------------------------- bodies

static void test_parts(void **state)
{
    (void)state;
    tdScene scene;
    const tdSceneBody *b =
        body_of("units: {length: mm, mass: kg, time: s}\n" GOOD "    materials:\n"
                "      - {group: stiff part, law: stvk, young: 10 MPa, poisson: 0.3, density: 1100 kg/m^3}\n" // 10
                "      - group: belly\n"
                "        element: membrane\n"
                "        thickness: 0.5\n"
                "        law: ogden\n"
                "        terms: [{mu: 1 MPa, alpha: 3}]\n"
                "        bulk: 1 GPa\n"
                "        density: 1 g/cm^3\n"
                "    formulation: standard\n",
                &scene);
    assert_int_equal(b->n_materials, 2);
    assert_null(b->material.group);
    assert_int_equal(b->material.line, 8);
    const tdSceneMaterial *m = b->materials;
    assert_string_equal(m[0].group, "stiff part");
    assert_int_equal(m[0].line, 10);
    assert_int_equal(m[0].law, TD_LAW_STVK);
    assert_near(m[0].density, 1100, 1e-9);
    assert_near(m[0].thickness, 0, 0);
    assert_string_equal(m[1].group, "belly");
    assert_int_equal(m[1].line, 11);
    assert_near(m[1].thickness, 5e-4, 1e-18);
    assert_near(m[1].density, 1000, 1e-9);
    assert_near(m[1].value[0], 1e6, 1e-6);
    assert_int_equal(m[1].n_terms, 1);
    assert_int_equal(b->plane, TD_PLANE_NONE);
    assert_int_equal(b->formulation, TD_FORMULATION_STANDARD);
    td_scene_free(&scene);
}

static void test_plane_bodies(void **state)
{
    (void)state;
    tdScene scene;
    const tdSceneBody *b =
        body_of("units: {length: mm, mass: kg, time: s}\n" FLAT(
                    "    plane: strain\n    formulation: mean_dilatation\n"
                    "    materials: [{group: core, law: neo_hookean, mu: 1 MPa, bulk: 1 GPa, density: 1}]\n",
                    "rectangle: [[-1, 2], [10, 20 mm]], cells: [10, 20]"),
                &scene);
    assert_int_equal(b->plane, TD_PLANE_STRAIN);
    assert_int_equal(b->formulation, TD_FORMULATION_MEAN_DILATATION);
    assert_near(b->material.thickness, 1, 0); // a metre, whatever the unit
    assert_near(b->materials[0].thickness, 1, 0);
    assert_null(b->mesh);
    const double min[3] = {-1e-3, 2e-3, 0}, max[3] = {1e-2, 2e-2, 0};
    const int cells[3] = {10, 20, 0};
    for (int i = 0; i < 3; i++)
    {
        assert_near(b->box.min[i], min[i], 1e-17);
        assert_near(b->box.max[i], max[i], 1e-17);
        assert_int_equal(b->box.cells[i], cells[i]);
    }
    td_scene_free(&scene);
    b = body_of(GOOD "    plane: stress\n    thickness: 2 mm\n", &scene);
    assert_int_equal(b->plane, TD_PLANE_STRESS);
    assert_near(b->material.thickness, 2e-3, 1e-18);
    td_scene_free(&scene);
    // A rectangle may also be a membrane in space.
    b = body_of(FLAT("    materials: [{group: body, element: membrane, thickness: 1 mm, " RUBBER "}]\n",
                     "rectangle: [[0, 0], [1, 1]], cells: [1, 1]"),
                &scene);
    assert_near(b->materials[0].thickness, 1e-3, 1e-18);
    td_scene_free(&scene);
    // A membrane of a law without a volumetric energy does not stand in the way of mean dilatation.
    b = body_of(GOOD
                "    formulation: mean_dilatation\n    materials: [{group: skin, element: membrane, thickness: 1 mm, "
                "law: stvk, young: 1, poisson: 0, density: 1}]\n",
                &scene);
    assert_int_equal(b->formulation, TD_FORMULATION_MEAN_DILATATION);
    td_scene_free(&scene);
}

static void test_hexahedra(void **state)
{
    (void)state;
    tdScene scene;
    const tdSceneBody *b =
        body_of(FLAT("", "box: [[0, 0, 0], [1, 1, 1]], cells: [2, 3, 4], elements: hexahedra"), &scene);
    assert_true(b->box.hexahedra);
    assert_int_equal(b->box.cells[2], 4);
    td_scene_free(&scene);
}

static void test_static_parts_need_no_mass(void **state)
{
    (void)state;
    tdScene scene;
    const tdSceneBody *b = body_of("tendril: 1\n" STATIC BODY("law: neo_hookean, mu: 1, bulk: 2") //
                                   "    materials: [{group: a, law: linear, young: 1, poisson: 0}]\n",
                                   &scene);
    assert_near(b->material.density + b->materials[0].density, 0, 0);
    td_scene_free(&scene);
}

// With gravity, whichever way it points, they do.
static void test_weight_needs_a_mass(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++)
        for (int part = 0; part < 2; part++)
        {
            char text[1000];
            int g[3] = {0};
            g[way] = -1;
            snprintf(text, sizeof text, "tendril: 1\ngravity: [%d, %d, %d]\n" STATIC "%s", g[0], g[1], g[2],
                     part ? BODY("law: neo_hookean, mu: 1, bulk: 2, density: 1") //
                         "    materials: [{group: a, law: linear, young: 1, poisson: 0}]\n"
                          : BODY("law: neo_hookean, mu: 1, bulk: 2"));
            tdScene scene;
            tdError error = {0};
            assert_int_equal(parse(text, &scene, &error), TD_ERROR_INPUT);
            assert_non_null(strstr(error.message, "the mass is missing; give 'density'"));
            td_scene_free(&scene);
        }
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
        assert_int_equal(strncmp(error.field, "bodies[0]", 9), 0);
    }
}
#define EXPECT_BAD(cases) expect_bad(cases, sizeof cases / sizeof cases[0])

static void test_keys_of_other_laws(void **state)
{
    (void)state;
    const Bad cases[] = {
        {MATERIAL("law: ogden, c10: 1 kPa, density: 1"), 7,
         "c10 belongs to mooney_rivlin; the law here is ogden, which takes 'young' and 'poisson', or 'terms'"},
        {MATERIAL("law: neo_hookean, c01: 1 kPa, density: 1"), 7, "c01 belongs to mooney_rivlin"},
        {MATERIAL("law: mooney_rivlin, mu: 1 kPa, density: 1"), 7,
         "mu belongs to linear, corotational, corotational_lagged, stvk, neo_hookean and arruda_boyce; the law here is "
         "mooney_rivlin, which takes 'young' and 'poisson', or 'c10' and 'c01' with one of 'bulk' and 'poisson'"},
        {MATERIAL("law: ogden, mu: 1 kPa, bulk: 1 MPa, density: 1"), 7, "the law here is ogden"},
        {MATERIAL("law: arruda_boyce, lambda: 1 kPa, mu: 1 kPa, density: 1"), 7, "lambda belongs to linear"},
        {MATERIAL("law: neo_hookean, lambda_m: 3, mu: 1 kPa, bulk: 1, density: 1"), 7,
         "lambda_m belongs to arruda_boyce"},
        {MATERIAL("law: mooney_rivlin, terms: [{mu: 1, alpha: 2}], density: 1"), 7, "terms belongs to ogden"},
        {MATERIAL("law: costa, c1: 1, density: 1"), 7, "c1 belongs to veronda_westmann"},
        {MATERIAL("law: costa, c2: 1, density: 1"), 7, "c2 belongs to veronda_westmann"},
        {MATERIAL("law: costa, young: 1, density: 1"), 7, "young belongs to linear"},
        {MATERIAL("law: costa, poisson: 0.3, density: 1"), 7, "poisson belongs to linear"},
        {MATERIAL("law: veronda_westmann, c: 1, density: 1"), 7, "c belongs to costa"},
        {MATERIAL("law: veronda_westmann, b_ff: 1, density: 1"), 7, "b_ff belongs to costa"},
        {MATERIAL("law: veronda_westmann, b_ss: 1, density: 1"), 7, "b_ss belongs to costa"},
        {MATERIAL("law: veronda_westmann, b_nn: 1, density: 1"), 7, "b_nn belongs to costa"},
        {MATERIAL("law: veronda_westmann, b_fn: 1, density: 1"), 7, "b_fn belongs to costa"},
        {MATERIAL("law: veronda_westmann, b_sn: 1, density: 1"), 7, "b_sn belongs to costa"},
        {MATERIAL("law: stvk, young: 1, poisson: 0, b_fs: 1, density: 1"), 7, "b_fs belongs to costa"},
        {MATERIAL(RUBBER ", fibre: [1, 0, 0]"), 7, "fibre belongs to costa"},
        {MATERIAL(RUBBER ", sheet: [1, 0, 0]"), 7, "sheet belongs to costa"},
        {MATERIAL("law: costa, young: 1, poisson: 0.3, density: 1"), 7,
         "the law here is costa, which takes 'c', 'b_ff'"},
        {MATERIAL("law: linear, young: 1, poisson: 0.3, bulk: 1, density: 1"), 7,
         "bulk belongs to neo_hookean, mooney_rivlin, ogden, arruda_boyce, veronda_westmann and costa"},
        {MATERIAL("law: stvk, young: 1, poisson: 0.3, volumetric: log, density: 1"), 7, "volumetric belongs to"},
        {MATERIAL("law: corotational, young: 1, poisson: 0, viscoelastic: [{modulus: 0.1, time: 1}], density: 1"), 7,
         "viscoelastic belongs to stvk, neo_hookean"},
        {GOOD "    materials:\n      - group: a\n        law: ogden\n        c10: 1\n        density: 1\n", 11,
         "c10 belongs to mooney_rivlin"},
    };
    EXPECT_BAD(cases);
}

static void test_bad_constants(void **state)
{
    (void)state;
    const Bad cases[] = {
        {MATERIAL("law: neo_hookean, density: 1"), 7,
         "the stiffness is missing; give 'young' and 'poisson', or 'lambda'"},
        {MATERIAL("law: mooney_rivlin, density: 1"), 7, "or 'c10' and 'c01' with one of 'bulk' and 'poisson'"},
        {MATERIAL("law: mooney_rivlin, bulk: 1 MPa, density: 1"), 7, "the stiffness is missing"},
        {MATERIAL("law: costa, bulk: 1, density: 1"), 7, "the stiffness is missing; give 'c', 'b_ff'"},
        {MATERIAL("law: costa, " COSTA ", poisson: 0.3"), 7, "'b_ff' to 'b_sn', 'bulk', 'fibre' and 'sheet'"},
        {MATERIAL("law: costa, " COSTA), 7, "give 'bulk' beside 'c'"},
        {MATERIAL("law: ogden, poisson: 0.3, density: 1"), 7, "'young' is missing; 'poisson' needs it"},
        {MATERIAL("law: ogden, young: 1, density: 1"), 7, "'poisson' is missing; 'young' needs it"},
        {MATERIAL("law: neo_hookean, mu: 1 kPa, density: 1"), 7,
         "the compressibility is missing; give 'bulk' or 'poisson' beside 'mu'"},
        {MATERIAL("law: neo_hookean, lambda: 1 kPa, density: 1"), 7, "'mu' is missing; 'lambda' needs it"},
        {MATERIAL("law: neo_hookean, mu: 1 kPa, bulk: 1 MPa, poisson: 0.4, density: 1"), 7,
         "'bulk' and 'poisson' exclude each other"},
        {MATERIAL("law: neo_hookean, lambda: 1 kPa, mu: 1 kPa, bulk: 1 MPa, density: 1"), 7,
         "'lambda' and 'mu' define the bulk modulus; remove 'bulk'"},
        {MATERIAL(RUBBER ", bulk: 1 MPa"), 7, "'young' and 'poisson' define the bulk modulus; remove 'bulk'"},
        {MATERIAL(RUBBER ", mu: 1 MPa"), 7, "'young' and 'mu' exclude each other; neo_hookean takes"},
        {MATERIAL(RUBBER ", lambda: 1 MPa"), 7, "give one pair"},
        {MATERIAL("law: mooney_rivlin, young: 1, poisson: 0.3, c01: 1, density: 1"), 7, "'young' and 'c01' exclude"},
        {MATERIAL("law: mooney_rivlin, c01: 1, bulk: 1, density: 1"), 7, "'c10' is missing; 'c01' needs it"},
        {MATERIAL("law: arruda_boyce, mu: 1, bulk: 1, density: 1"), 7, "'lambda_m' is missing; 'mu' needs it"},
        {MATERIAL("law: veronda_westmann, c1: 1, bulk: 1, density: 1"), 7, "'c2' is missing; 'c1' needs it"},
        {MATERIAL("law: costa, c: 1, b_ff: 1, b_ss: 2, b_nn: 3, b_fs: 4, b_fn: 5, density: 1" FRAME), 7,
         "'b_sn' is missing; 'c' needs it"},
        {MATERIAL("law: mooney_rivlin, c10: 1 mm, c01: 1, bulk: 1, density: 1"), 7, "(length), expected a pressure"},
        {MATERIAL("law: veronda_westmann, c1: 1, c2: 1 kPa, bulk: 1, density: 1"), 7,
         "(pressure), expected a plain number"},
        {MATERIAL("law: arruda_boyce, mu: 0, lambda_m: 3, bulk: 1, density: 1"), 7, "must be > 0"},
        {MATERIAL("law: arruda_boyce, mu: 1, lambda_m: .inf, bulk: 1, density: 1"), 7, "expected a plain number"},
        {MATERIAL("law: neo_hookean, mu: 1, bulk: -1 MPa, density: 1"), 7, "found '-1 MPa', must be > 0"},
        {MATERIAL("law: neo_hookean, mu: 1, poisson: 0.5, density: 1"), 7, "must be > -1 and < 0.5"},
        {MATERIAL("law: ogden, terms: [], bulk: 1, density: 1"), 7, "the list has 0 items, expected 1 to 6"},
        {MATERIAL("law: ogden, terms: {mu: 1, alpha: 2}, bulk: 1, density: 1"), 7, "found a map, expected a list"},
        {MATERIAL("law: ogden, terms: [{mu: 1}], bulk: 1, density: 1"), 7, "'alpha' is missing"},
        {MATERIAL("law: ogden, terms: [{alpha: 1}], bulk: 1, density: 1"), 7, "'mu' is missing"},
        {MATERIAL("law: ogden, terms: [{mu: 1, alpha: 1 Pa}], bulk: 1, density: 1"), 7, "(pressure), expected a plain"},
        {MATERIAL("law: ogden, terms: [{mu: 1, beta: 1}], bulk: 1, density: 1"), 7, "unknown key 'beta'"},
        {MATERIAL(
             "law: ogden, terms: [{mu: 1, alpha: 1}, {mu: 1, alpha: 1}, {mu: 1, alpha: 1}, {mu: 1, alpha: 1}, {mu: "
             "1, alpha: 1}, {mu: 1, alpha: 1}, {mu: 1, alpha: 1}], bulk: 1, density: 1"),
         7, "the list has 7 items, expected 1 to 6"},
        {MATERIAL("law: ogdn, young: 1, poisson: 0, density: 1"), 7, "did you mean 'ogden'?"},
        {MATERIAL("law: rubber, young: 1, poisson: 0, density: 1"), 7,
         "expected one of: linear, corotational, corotational_lagged, stvk, neo_hookean, mooney_rivlin, ogden, "
         "arruda_boyce, veronda_westmann, costa"},
        {MATERIAL(RUBBER ", volumetric: cube"), 7, "expected one of: square, log, mixed"},
        {MATERIAL("law: costa, " COSTA ", bulk: 1"), 7, "costa needs 'fibre'"},
        {MATERIAL("law: costa, " COSTA ", bulk: 1, fibre: [1, 0, 0]"), 7, "costa needs 'sheet'"},
        {MATERIAL("law: costa, " COSTA ", bulk: 1, fibre: [0, 0, 0], sheet: [1, 0, 0]"), 7, "the direction is zero"},
        {MATERIAL("law: costa, " COSTA ", bulk: 1, fibre: [1, 2, 3], sheet: [-2, -4, -6]"), 7, "parallel to 'fibre'"},
        {MATERIAL("law: costa, " COSTA ", bulk: 1, fibre: [1, 2], sheet: [0, 0, 1]"), 7,
         "expected a list of three numbers"},
        {MATERIAL("law: costa, " COSTA ", bulk: 1, fibre: [1 mm, 0, 0], sheet: [0, 0, 1]"), 7,
         "(length), expected a plain"},
    };
    EXPECT_BAD(cases);
}

#define RELAX(text) MATERIAL(RUBBER ", viscoelastic: [" text "]")

static void test_bad_relaxation(void **state)
{
    (void)state;
    const Bad cases[] = {
        {RELAX(""), 7, "the list has 0 items, expected 1 to 8"},
        {RELAX("{modulus: 0.3}"), 7, "'time' is missing"},
        {RELAX("{time: 1 s}"), 7, "'modulus' is missing"},
        {RELAX("{modulus: 0, time: 1 s}"), 7, "must be > 0 and < 1"},
        {RELAX("{modulus: 1, time: 1 s}"), 7, "must be > 0 and < 1"},
        {RELAX("{modulus: 1 kPa, time: 1 s}"), 7, "(pressure), expected a plain number"},
        {RELAX("{modulus: 0.1, time: 0}"), 7, "must be > 0"},
        {RELAX("{modulus: 0.1, time: 1 Hz}"), 7, "(rate), expected a time"},
        {RELAX("{modulus: 0.5, time: 1}, {modulus: 0.5, time: 2}"), 7, "the moduli sum to 1, must be < 1"},
        {RELAX("{modulus: 0.1, tau: 1}"), 7, "unknown key 'tau'"},
        {MATERIAL(RUBBER ", viscoelastic: 0.3"), 7, "expected a list"},
    };
    EXPECT_BAD(cases);
}

#define PART(text) GOOD "    materials:\n      - {" text "}\n" // line 9

static void test_bad_parts(void **state)
{
    (void)state;
    const Bad cases[] = {
        {GOOD "    materials: []\n", 8, "the list has 0 items"},
        {GOOD "    materials: {group: a}\n", 8, "found a map, expected a list"},
        {PART(RUBBER), 9, "one of these keys is required: group, box"},
        {PART("group: a"), 9, "'law' is missing"},
        {PART("group: a, law: linear, young: 1, poisson: 0"), 9, "the mass is missing; give 'density' (only"},
        {PART("group: a, law: linear, young: 1, poisson: 0, total_mass: 1"), 9,
         "'total_mass' is that of the whole body, in its 'material'"},
        {PART("group: a, " RUBBER "}\n      - {group: b, " RUBBER "}\n      - {group: a, " RUBBER), 11,
         "the group 'a' has a material already, on line 9"},
        {PART("group: a, element: membrane, " RUBBER), 9, "a membrane needs 'thickness'"},
        {PART("group: a, thickness: 1 mm, " RUBBER), 9, "add 'element: membrane' or remove it"},
        {PART("group: a, element: membrane, thickness: 0, " RUBBER), 9, "must be > 0"},
        {PART("group: a, element: membrane, thickness: 1 kg, " RUBBER), 9, "(mass), expected a length"},
        {PART("group: a, element: shell, thickness: 1, " RUBBER), 9, "expected one of: volume, membrane"},
        {PART("group: a, densty: 1, law: linear, young: 1, poisson: 0"), 9, "did you mean 'density'?"},
        {MATERIAL("group: a, " RUBBER), 7, "unknown key 'group'"},
        {MATERIAL("thickness: 1, " RUBBER), 7, "unknown key 'thickness'"},
    };
    EXPECT_BAD(cases);
}

#define RECTANGLE "rectangle: [[0, 0], [1, 1]], cells: [1, 1]"
#define BLOCK     "box: [[0, 0, 0], [1, 1, 1]], cells: [1, 1, 1]"

static void test_bad_bodies(void **state)
{
    (void)state;
    const Bad cases[] = {
        {GOOD "    plane: bent\n", 8, "expected one of: strain, stress"},
        {GOOD "    thickness: 1 mm\n", 8, "'thickness' is that of a plane body"},
        {GOOD "    plane: stress\n    thickness: -1 mm\n", 9, "must be > 0"},
        {GOOD "    plane: strain\n    velocity: [0, 0, 1]\n", 9, "does not move along z"},
        {GOOD "    plane: strain\n    prescribed: [{all: true, displacement: [1, 0, 1]}]\n", 9,
         "does not move along z"},
        {FLAT("    plane: strain\n", BLOCK), 6, "give a 'rectangle' instead of the 'box'"},
        {GOOD "    plane: strain\n    materials:\n      - {group: a, element: membrane, thickness: 1, " RUBBER "}\n",
         10, "a plane body has no membranes"},
        {GOOD "    plane: strain\n    materials:\n      - {group: a, thickness: 1, " RUBBER "}\n", 10,
         "a plane body has one 'thickness'; give it next to 'plane'"},
        {GOOD "    formulation: averaged\n", 8, "expected one of: standard, mean_dilatation"},
        {GOOD "    plane: stress\n    formulation: mean_dilatation\n", 9, "nothing locks; remove 'formulation'"},
        {MATERIAL("law: stvk, young: 1, poisson: 0, density: 1") "    formulation: mean_dilatation\n", 8,
         "the law on line 7 is stvk"},
        {PART("group: a, law: linear, young: 1, poisson: 0, density: 1") "    formulation: mean_dilatation\n", 10,
         "the law on line 9 is linear"},
        {FLAT("", "rectangle: [[0, 0], [1, 1]], cells: [1, 1, 1]"), 6,
         "found a list of 3, expected a list of two whole numbers [nx, ny] for a rectangle"},
        {FLAT("", "box: [[0, 0, 0], [1, 1, 1]], cells: [1, 1]"), 6, "expected a list of three whole numbers"},
        {FLAT("", "rectangle: [[0, 0], [1, 1]], cells: [1]"), 6, "found a list of 1, expected a list of whole numbers"},
        {FLAT("", "rectangle: [[0, 0], [1, 1]], cells: [1, 0]"), 6, "expected a whole number from 1 to 1000"},
        {FLAT("", "rectangle: [[0, 0], [1, 1]]"), 6, "'cells' is missing"},
        {FLAT("", "cells: [1, 1]"), 6, "one of these keys is required: box, rectangle"},
        {FLAT("", "rectangle: [[0, 0, 0], [1, 1, 1]], cells: [1, 1]"), 6, "expected a list of two numbers [x, y]"},
        {FLAT("", "rectangle: [0, 1], cells: [1, 1]"), 6, "expected a list of two numbers [x, y]"},
        {FLAT("", "rectangle: 1, cells: [1, 1]"), 6, "expected two corners [[xmin, ymin], [xmax, ymax]]"},
        {FLAT("", "rectangle: [[0, 0], [1, 0]], cells: [1, 1]"), 6, "the rectangle has no extent along y"},
        {FLAT("", "rectangle: [[0, 2], [1, 1]], cells: [1, 1]"), 6, "the first corner's y (2 m) is larger"},
        {FLAT("", RECTANGLE ", elements: hexahedra"), 6, "a rectangle is made of triangles; remove 'elements'"},
        {FLAT("", BLOCK ", rectangle: [[0, 0], [1, 1]]"), 6, "exclude each other"},
    };
    EXPECT_BAD(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_engineering_constants_of_every_law),
        cmocka_unit_test(test_own_parameters),
        cmocka_unit_test(test_lame_constants_of_neo_hookean),
        cmocka_unit_test(test_volumetric_and_relaxation),
        cmocka_unit_test(test_fibre_frame),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_plane_bodies),
        cmocka_unit_test(test_hexahedra),
        cmocka_unit_test(test_static_parts_need_no_mass),
        cmocka_unit_test(test_weight_needs_a_mass),
        cmocka_unit_test(test_keys_of_other_laws),
        cmocka_unit_test(test_bad_constants),
        cmocka_unit_test(test_bad_relaxation),
        cmocka_unit_test(test_bad_parts),
        cmocka_unit_test(test_bad_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
