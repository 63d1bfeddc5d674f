// SPDX-License-Identifier: Apache-2.0
// From a scene to a model: which nodes selectors choose, what is refused and how, what is warned about.
#include "scenes.h"

#include "base/log.h"

#define HEAD     "tendril: 1\ntime_step: 1 ms\nsteps: 1\nbodies:\n"
#define MATERIAL "    material: {law: linear, young: 1e5, poisson: 0.3, density: 1000}\n"
// Lines 5 to 7; what a case adds begins on line 8.
#define BOX "  - name: block\n    mesh: {box: [[0, 0, 0], [3, 2, 2]], cells: [3, 2, 2]}\n" MATERIAL

// ---------------------------------------------------------------- selectors

// The held nodes of `fixed: [SELECTOR]` are those that `expected` says of rest positions (in metres).
static void check_selector(const char *head, const char *body, const char *selector, bool (*expected)(const double *X))
{
    tdModel *model = scene_model("%s%s    fixed: [{%s}]\n", head, body, selector);
    const tdSoft *soft = scene_soft(model);
    int chosen = 0;
    for (int i = 0; i < soft->n_nodes; i++)
    {
        bool held = soft->held[3 * i];
        chosen += held;
        if (held != expected(soft->rest + 3 * i))
            fail_msg("%s: node %d at (%g, %g, %g) is %s", selector, i, soft->rest[3 * i], soft->rest[3 * i + 1],
                     soft->rest[3 * i + 2], held ? "chosen" : "not chosen");
        assert_true(soft->held[3 * i + 1] == held && soft->held[3 * i + 2] == held);
    }
    assert_true(chosen > 0);
    assert_int_equal(soft->n_held, 3 * chosen);
    assert_int_equal(td_model_dofs(model), 3 * (soft->n_nodes - chosen));
    td_model_free(model);
}

static bool always(const double *X)
{
    (void)X;
    return true;
}

static bool in_box(const double *X)
{
    return X[0] >= 0.9 && X[0] <= 2.1 && X[1] <= 1.1;
}

static bool in_sphere(const double *X)
{
    return (X[0] - 1) * (X[0] - 1) + (X[1] - 1) * (X[1] - 1) + (X[2] - 1) * (X[2] - 1) <= 1 + 1e-9;
}

static bool on_slope(const double *X)
{
    return fabs(X[0] + X[1] - 2) < 1e-9;
}

static bool near_slope(const double *X)
{
    return fabs(X[0] + X[1] - 2) <= sqrt(2) * 0.8;
}

static bool at_end(const double *X)
{
    return X[0] > 3 - 1e-9;
}

static bool listed(const double *X)
{
    return X[1] < 1e-9 && X[2] < 1e-9 && X[0] > 0.5 && X[0] < 2.5; // nodes 1 and 2: x runs first
}

static void selectors_choose_nodes(void **unused)
{
    (void)unused;
    check_selector(HEAD, BOX, "all: true", always);
    check_selector(HEAD, BOX, "box: [[1, -5, 0], [2, 1, 9]]", in_box); // its surface included
    check_selector(HEAD, BOX, "sphere: {center: [1, 1, 1], radius: 1}", in_sphere);
    check_selector(HEAD, BOX, "plane: {point: [2, 0, 0], normal: [5, 5, 0]}", on_slope);
    check_selector(HEAD, BOX, "plane: {point: [2, 0, 7], normal: [-1, -1, 0], tolerance: 0.8}", near_slope);
    check_selector(HEAD, BOX, "group: xmax", at_end);
    check_selector(HEAD, BOX, "nodes: [2, 1]", listed);
    // In millimetres, placed: selectors speak of where the body is.
    const char *const mm = "tendril: 1\nunits: {length: mm}\ntime_step: 1 ms\nsteps: 1\nbodies:\n";
    const char *const placed = "  - name: block\n    mesh: {box: [[0, 0, 0], [200, 300, 200]], cells: [2, 3, 2]}\n"
                               "    transform: {scale: 10, rotate: [0, 0, -90 deg], translate: [0, 2000, 0]}\n"
                               "    material: {law: linear, young: 100 kPa, poisson: 0.3, density: 1000 kg/m^3}\n";
    check_selector(mm, placed, "plane: {point: [3000, 0, 0], normal: [1, 0, 0]}", at_end);
    check_selector(mm, placed, "group: ymax", at_end);
    check_selector(mm, placed, "box: [[1 m, -5, 0], [2000, 1000, 9000]]", in_box);
}

// Axes hold single components, and a second entry adds to the first.
static void axes_hold_components(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(HEAD BOX "    fixed: [{group: xmin, axes: xz}, {nodes: [0], axes: y}]\n"
                                          "    prescribed: [{group: xmax, axes: y, displacement: [0, 1, 0]}]\n");
    const tdSoft *soft = scene_soft(model);
    for (int i = 0; i < soft->n_nodes; i++)
    {
        bool left = soft->rest[3 * i]<1e-9, right = soft->rest[3 * i]> 3 - 1e-9;
        assert_int_equal(soft->held[3 * i], left);
        assert_int_equal(soft->held[3 * i + 1], right || i == 0);
        assert_int_equal(soft->held[3 * i + 2], left);
    }
    assert_int_equal(soft->n_driven, 9);
    td_model_free(model);
}

static void probes_follow_points_and_means(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(HEAD BOX "    velocity: [1, 0, 0]\n"
                                          "probes: [{name: p, body: block, point: [1.3, 0.7, 1.9]}, "
                                          "{name: m, body: block, group: xmax}]\n");
    tdState *state = scene_state(model);
    double p[3], m[3];
    scene_steps(model, state, 10);
    td_state_probe(model, state, 0, p);
    td_state_probe(model, state, 1, m);
    const double expected[2][3] = {{1.31, 0.7, 1.9}, {3.01, 1, 1}};
    for (int c = 0; c < 3; c++)
    {
        assert_near(p[c], expected[0][c], 1e-9);
        assert_near(m[c], expected[1][c], 1e-9);
    }
    assert_string_equal(td_model_probe_name(model, 1), "m");
    scene_free(model, state);
}

// ---------------------------------------------------------------- errors

// The scene is refused with this line and field, and the message holds both parts.
static void refuse(const char *text, int line, const char *field, const char *part, const char *other)
{
    tdModel *model = NULL;
    tdError error = {0};
    assert_int_equal(td_model_parse(text, strlen(text), "bad.yaml", NULL, NULL, &model, &error), TD_ERROR_INPUT);
    assert_null(model);
    char all[1200];
    td_error_format(&error, all, sizeof all);
    if (strcmp(error.file, "bad.yaml") != 0 || error.line != line || strstr(error.field, field) == NULL ||
        strstr(error.message, part) == NULL || strstr(error.message, other) == NULL)
        fail_msg("%s\nexpected line %d, field %s, '%s', '%s'", all, line, field, part, other);
}

static void bad_selectors_are_named(void **unused)
{
    (void)unused;
    refuse(HEAD BOX "    fixed: [{group: xmn}]\n", 8, "bodies[0].fixed[0]", "'xmn'", "did you mean 'xmin'");
    refuse(HEAD BOX "    fixed: [{group: xmin}, {group: qqqqqqqq}]\n", 8, "bodies[0].fixed[1]", "'qqqqqqqq'",
           "tendril info");
    refuse(HEAD BOX "    fixed:\n      - {group: xmin}\n      - {box: [[10, 0, 0], [11, 1, 1]]}\n", 10,
           "bodies[0].fixed[1]", "selects no node", "units");
    refuse(HEAD BOX "    fixed: [{nodes: [36]}]\n", 8, "bodies[0].fixed[0]", "node 36", "0 to 35");
    refuse(HEAD BOX "    fixed: [{group: xmin}]\n    prescribed: [{nodes: [0], displacement: [1, 0, 0]}]\n", 9,
           "bodies[0].prescribed[0]", "node 0 of body 'block' is fixed in x", "do not overlap");
    refuse(HEAD BOX "    prescribed:\n      - {group: xmin, axes: z, displacement: [0, 0, 1]}\n"
                    "      - {group: ymin, axes: yz, displacement: [0, 0, 1]}\n",
           10, "bodies[0].prescribed[1]", "is prescribed in z", "do not overlap");
    refuse(HEAD BOX "loads:\n  - {type: surface, body: block, nodes: [0, 1], pressure: 1}\n", 9, "loads[0]",
           "selects no face", "all its nodes");
    refuse(HEAD BOX "loads:\n  - {type: point, body: block, group: top, force: [1, 0, 0]}\n", 9, "loads[0]", "'top'",
           "");
    refuse(HEAD BOX "probes:\n  - {name: p, body: block, point: [4, 1, 1]}\n", 9, "probes[0]",
           "(4, 1, 1) m is 1 m outside", "to (3, 2, 2)");
    refuse(HEAD BOX "probes:\n  - {name: p, body: block, group: tip}\n", 9, "probes[0]", "'tip'", "");
}

static void bad_materials_are_named(void **unused)
{
    (void)unused;
#define ROW(law)                                                                                                       \
    HEAD "  - name: block\n    mesh: {box: [[0, 0, 0], [3, 2, 2]], cells: [3, 2, 2]}\n    material: {" law "}\n"
#define SOUND "law: neo_hookean, mu: 1, bulk: 1, density: 1"
#define SUM   "law: mooney_rivlin, c10: 1, c01: -1, bulk: 1, density: 1"
    refuse(ROW(SUM), 7, "bodies[0].material", "c10 + c01 is 0 Pa", "must be positive");
    refuse(ROW(SOUND) "    materials:\n      - {group: xmin, element: membrane, thickness: 1, " SOUND "}\n"
                      "      - {group: xmax, element: membrane, thickness: 1, " SUM "}\n",
           10, "bodies[0].materials[1]", "c10 + c01 is 0 Pa", "must be positive");
    refuse(ROW(SOUND) "    formulation: mean_dilatation\n", 5, "formulation", "a linear tetrahedron has one point",
           "remove 'formulation'");
}

// Writes the mesh, and checks how a scene with it is refused.
static void refuse_mesh(tdMesh *mesh, const char *name, const char *part, const char *other)
{
    char path[512], text[1200];
    tdError error = {0};
    snprintf(path, sizeof path, TD_BUILD_DIR "/compile_%d_%s", (int)getpid(), name);
    tdStatus status = td_mesh_write(mesh, path, TD_MESH_UNKNOWN, TD_MESH_ASCII, &error);
    assert_ok(status, error);
    snprintf(text, sizeof text, HEAD "  - name: block\n    mesh: %s\n" MATERIAL, path);
    refuse(text, 6, "mesh", part, other);
    remove(path);
    td_mesh_free(mesh);
    *mesh = (tdMesh){0};
}

static void bad_meshes_are_named(void **unused)
{
    (void)unused;
    tdMesh mesh = {0};
    tdError error = {0};
    const double low[3] = {0, 0, 0}, high[3] = {3, 2, 2};
    const int cells[3] = {3, 2, 2};
    // A hexahedron with a corner pushed through it: a point of it is inside out, though its volume is not.
    tdStatus status = td_mesh_box(low, high, cells, true, &mesh, &error);
    assert_ok(status, error);
    memcpy(mesh.x, (double[3]){0.9, 0.9, 0.9}, 3 * sizeof(double));
    refuse_mesh(&mesh, "hex.msh", "hexahedron) is flat or folded", "tendril info");
    status = td_mesh_sphere_surface(low, 1, 1, &mesh, &error);
    assert_ok(status, error);
    refuse_mesh(&mesh, "sphere.obj", "surface", "tendril mesh");
    status = td_mesh_sphere_surface(low, 1, 1, &mesh, &error);
    assert_ok(status, error);
    refuse_mesh(&mesh, "sphere.stl", "surface", "'block'");
    // A flat element.
    status = td_mesh_box(low, high, cells, false, &mesh, &error);
    assert_ok(status, error);
    const int32_t *first = mesh.cells[TD_CELL_TET].nodes;
    memcpy(mesh.x + 3 * first[0], mesh.x + 3 * first[1], 3 * sizeof(double));
    refuse_mesh(&mesh, "flat.msh", ") is flat", "tendril info");
    refuse(HEAD "  - name: block\n    mesh: no/such/file.msh\n" MATERIAL, 6, "mesh", "no/such/file.msh", "");
}

// ---------------------------------------------------------------- mesh files, warnings

typedef struct heard
{
    int warnings;
    char text[2000];
} heard;

static void listen(void *user, tdLogLevel level, const char *message)
{
    heard *h = user;
    if (level != TD_LOG_WARNING)
        return;
    h->warnings++;
    strncat(h->text, message, sizeof h->text - strlen(h->text) - 2);
    strcat(h->text, "\n");
}

static tdModel *compile_mesh(tdMesh *mesh, const char *more, heard *h)
{
    char path[512], text[1400];
    tdError error = {0};
    snprintf(path, sizeof path, TD_BUILD_DIR "/compile_%d.msh", (int)getpid());
    tdStatus status = td_mesh_write(mesh, path, TD_MESH_UNKNOWN, TD_MESH_BINARY, &error);
    assert_ok(status, error);
    td_mesh_free(mesh);
    *mesh = (tdMesh){0};
    snprintf(text, sizeof text, HEAD "  - name: block\n    mesh: %s\n" MATERIAL "%s", path, more);
    tdSettings settings = td_default_settings();
    settings.log = listen;
    settings.log_user = h;
    settings.level = TD_LOG_WARNING;
    *h = (heard){0};
    tdModel *model = NULL;
    status = td_model_parse(text, strlen(text), "scene.yaml", NULL, &settings, &model, &error);
    assert_ok(status, error);
    remove(path);
    return model;
}

// A group of faces loads just these faces, though its nodes span another one too; other selectors take the
// faces all of whose nodes they choose.
static void group_means_its_faces(void **unused)
{
    (void)unused;
    tdMesh mesh = {0};
    tdError error = {0};
    heard h;
    tdStatus status = td_mesh_box((double[3]){0}, (double[3]){3, 2, 2}, (int[3]){3, 2, 2}, false, &mesh, &error);
    assert_ok(status, error);
    int ring = td_mesh_group(&mesh, "ring", 2, 77), top = td_mesh_find_group(&mesh, "zmax");
    assert_int_equal(mesh.groups[top].count[TD_CELL_TRI], 12); // 3 x 2 squares of two triangles
    for (int k = 0; k < 12; k++)
        assert_true(k == 5 || td_mesh_group_add(&mesh, ring, TD_CELL_TRI, mesh.groups[top].cells[TD_CELL_TRI][k]));
    tdModel *model = compile_mesh(&mesh,
                                  "loads: [{type: surface, body: block, group: zmax, pressure: 1}, "
                                  "{type: surface, body: block, group: ring, pressure: 1}, "
                                  "{type: surface, body: block, box: [[0, 0, 2], [1, 2, 2]], pressure: 1}]\n",
                                  &h);
    const tdSoft *soft = scene_soft(model);
    assert_int_equal(soft->n_loads, 3);
    assert_int_equal(soft->loads[0].n, 12);
    assert_int_equal(soft->loads[1].n, 11);
    assert_int_equal(soft->loads[2].n, 4);
    td_model_free(model);
}

static void odd_meshes_are_mended_with_a_warning(void **unused)
{
    (void)unused;
    tdMesh mesh = {0};
    tdError error = {0};
    heard h;
    const double low[3] = {0, 0, 0}, high[3] = {3, 2, 2};
    const int cells[3] = {3, 2, 2};
    tdStatus status = td_mesh_box(low, high, cells, false, &mesh, &error);
    assert_ok(status, error);
    tdModel *model = compile_mesh(&mesh, "", &h);
    assert_int_equal(h.warnings, 0); // a good mesh is silent
    td_model_free(model);

    // Two nodes of no element: they stay, the rest falls.
    status = td_mesh_box(low, high, cells, false, &mesh, &error);
    assert_ok(status, error);
    assert_true(td_mesh_add_node(&mesh, 9, 9, 9) && td_mesh_add_node(&mesh, 8, 8, 8));
    model = compile_mesh(&mesh, "gravity: [0, 0, -10]\n", &h);
    if (td_model_body_nodes(model, 0) == 38)
    {
        assert_int_equal(h.warnings, 1);
        assert_non_null(strstr(h.text, "2 nodes belong to no element"));
        tdState *state = scene_state(model);
        scene_steps(model, state, 10);
        assert_near(state->v[2], -0.1, 1e-6);
        assert_true(state->q[36 * 3] == 9 && state->q[37 * 3 + 2] == 8);
        td_state_free(state);
    }
    else
        fail_msg("the reader has left out nodes: %s", h.text);
    td_model_free(model);

    // Elements numbered inside out: turned, and the body is what it was.
    status = td_mesh_box(low, high, cells, false, &mesh, &error);
    assert_ok(status, error);
    for (int e = 0; e < 72; e += 24)
    {
        int32_t *n = mesh.cells[TD_CELL_TET].nodes + 4 * e, keep = n[1];
        n[1] = n[2];
        n[2] = keep;
    }
    model = compile_mesh(&mesh, "", &h);
    assert_int_equal(h.warnings, 1);
    assert_non_null(strstr(h.text, "3 cells were numbered inside out"));
    assert_near(scene_soft(model)->rest_volume, 12, 1e-12);
    tdState *state = scene_state(model);
    scene_steps(model, state, 1);
    assert_int_equal(td_state_report(state)->inverted_elements, 0);
    for (int64_t f = 0; f < scene_soft(model)->surface_tris; f++)
    {
        // outwards: from the centre of the block to the face
        const int32_t *n = scene_soft(model)->surface + 3 * f;
        const double *a = state->q + 3 * n[0], *b = state->q + 3 * n[1], *c = state->q + 3 * n[2];
        double out = 0, centre[3] = {1.5, 1, 1};
        for (int i = 0; i < 3; i++)
        {
            int j = (i + 1) % 3, k = (i + 2) % 3;
            out += (a[i] - centre[i]) * ((b[j] - a[j]) * (c[k] - a[k]) - (b[k] - a[k]) * (c[j] - a[j]));
        }
        assert_true(out > 0);
    }
    scene_free(model, state);
}

static void near_incompressible_is_warned_about(void **unused)
{
    (void)unused;
    heard h = {0};
    tdSettings settings = td_default_settings();
    settings.log = listen;
    settings.log_user = &h;
    const char *text = HEAD "  - name: block\n    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [1, 1, 1]}\n"
                            "    material: {law: linear, young: 1e5, poisson: 0.495, density: 1000}\n";
    tdModel *model = NULL;
    tdError error = {0};
    tdStatus status = td_model_parse(text, strlen(text), "scene.yaml", NULL, &settings, &model, &error);
    assert_ok(status, error);
    assert_int_equal(h.warnings, 1);
    assert_non_null(strstr(h.text, "0.495"));
    td_model_free(model);
}

// ---------------------------------------------------------------- materials by place

#define OTHER "law: linear, young: 2e5, poisson: 0.3, density: 1000"

// Where the body has come after three steps, with such `materials`.
static uint64_t state_with(const char *materials)
{
    tdModel *model = scene_model(HEAD BOX "    fixed: [{group: xmin}]\n    materials: [%s]\n"
                                          "gravity: [0, 0, -10]\n",
                                 materials);
    tdState *state = NULL;
    tdError error = {0};
    assert_ok(td_state_create(model, NULL, &state, &error), error);
    for (int i = 0; i < 3; i++)
        assert_int_equal(td_step(model, state), TD_OK);
    uint64_t hash = td_state_hash(model, state);
    td_state_free(state);
    td_model_free(model);
    return hash;
}

static int64_t chosen_by(const char *selector, const char *more, int type)
{
    tdModel *model =
        scene_model(HEAD BOX "    fixed: [{group: xmin}]\n    materials: [{%s, %s" OTHER "}]\n", selector, more);
    const tdMesh *mesh = &scene_soft(model)->mesh;
    int64_t n = mesh->groups[mesh->n_groups - 1].count[type];
    td_model_free(model);
    return n;
}

// The body has its total_mass, whatever else is in it and on it.
static void total_mass_of_parts(void **state)
{
    (void)state;
#define WHOLE(mass, parts)                                                                                             \
    HEAD "  - name: block\n    mesh: {box: [[0, 0, 0], [3, 2, 2]], cells: [3, 2, 2]}\n"                                \
         "    material: {law: linear, young: 1e5, poisson: 0.3, total_mass: " mass "}\n    materials: [" parts "]\n"
#define SKIN "{plane: {point: [3, 0, 0], normal: [1, 0, 0]}, element: membrane, thickness: 0.1, " OTHER "}"
    // A third of other material, 4,000 kg, and a skin of 400 kg.
    tdModel *model = scene_model("%s", WHOLE("10000", "{box: [[0, 0, 0], [1, 2, 2]], " OTHER "}, " SKIN));
    const tdSoft *soft = scene_soft(model);
    assert_near(soft->total_mass, 10000, 1e-8);
    int own = 0;
    for (int b = 0; b < soft->n_blocks; b++)
        own += fabs(soft->blocks[b].material.density - 5600.0 / 8) < 1e-9;
    assert_int_equal(own, 1);
    td_model_free(model);
    refuse(WHOLE("4000", "{box: [[0, 0, 0], [1, 2, 2]], " OTHER "}, " SKIN), 7, "total_mass",
           "its 'total_mass' is 4000 kg", "alone weigh 4400 kg");
    refuse(WHOLE("1", "{all: true, " OTHER "}"), 7, "total_mass", "no element is left", "give 'density'");
}

static void materials_by_place(void **state)
{
    (void)state;
    const char *skin = "element: membrane, thickness: 0.1, ";
    // Six tetrahedra a cell; 3 x 2 x 2 cells. A box that ends within cells takes the elements whose middle is inside.
    assert_int_equal(chosen_by("box: [[1, 0, 0], [3, 2, 2]]", "", TD_CELL_TET), 2 * 4 * 6);
    assert_int_equal(chosen_by("box: [[0.99, 0, 0], [2.01, 1.01, 2]]", "", TD_CELL_TET), 1 * 2 * 6);
    assert_int_equal(chosen_by("sphere: {center: [0, 0, 0], radius: 9}", "", TD_CELL_TET), 12 * 6);
    assert_int_equal(chosen_by("plane: {point: [3, 0, 0], normal: [1, 0, 0]}", skin, TD_CELL_TRI), 2 * 2 * 2);
    assert_int_equal(chosen_by("box: [[0, 0, 2], [2, 2, 2]]", skin, TD_CELL_TRI), 2 * 2 * 2);
    assert_int_equal(chosen_by("all: true", skin, TD_CELL_TRI), 2 * (2 * 4 + 4 * 6));
    // The same to the bit as by a group of the mesh.
    assert_true(state_with("{group: body, " OTHER "}") == state_with("{all: true, " OTHER "}"));
    assert_true(
        state_with("{group: zmax, element: membrane, thickness: 0.1, " OTHER "}") ==
        state_with("{plane: {point: [0, 0, 2], normal: [0, 0, 1]}, element: membrane, thickness: 0.1, " OTHER "}"));
    assert_true(state_with("{box: [[1, 0, 0], [3, 2, 2]], " OTHER "}") != state_with("{all: true, " OTHER "}"));
    refuse(HEAD BOX "    materials: [{box: [[5, 5, 5], [6, 6, 6]], " OTHER "}]\n", 8, "bodies[0].materials[0]",
           "selects no element of body 'block'", "tendril info");
    refuse(HEAD BOX
           "    materials: [{plane: {point: [0, 0, 1], normal: [0, 0, 1]}, element: membrane, thickness: 1, " OTHER
           "}]\n",
           8, "bodies[0].materials[0]", "selects no face of the boundary", "");
    refuse(HEAD BOX "    materials: [{all: true, " OTHER "}, {box: [[0, 0, 0], [1, 1, 1]], " OTHER "}]\n", 8,
           "bodies[0].materials[1]", "is in both 'materials[0], by its all'", "and 'materials[1], by its box'");
}

// ---------------------------------------------------------------- sides and parts

// 3 x 3 x 3 cubes of 1 m without the middle one, and a single cube 10 m away. No groups are left.
static void hollow_mesh(tdMesh *mesh)
{
    tdError error = {0};
    assert_ok(td_mesh_box((double[3]){0}, (double[3]){3, 3, 3}, (int[3]){3, 3, 3}, true, mesh, &error), error);
    tdMesh all = *mesh;
    *mesh = (tdMesh){0};
    for (int64_t i = 0; i < all.n_nodes; i++)
        assert_true(td_mesh_add_node(mesh, all.x[3 * i], all.x[3 * i + 1], all.x[3 * i + 2]));
    for (int64_t c = 0; c < all.cells[TD_CELL_HEX].count; c++)
        assert_true(c == 13 || td_mesh_add_cell(mesh, TD_CELL_HEX, all.cells[TD_CELL_HEX].nodes + 8 * c));
    td_mesh_free(&all);
    static const double corner[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                        {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
    int32_t nodes[8];
    for (int a = 0; a < 8; a++)
    {
        nodes[a] = (int32_t)mesh->n_nodes;
        assert_true(td_mesh_add_node(mesh, 10 + corner[a][0], corner[a][1], corner[a][2]));
    }
    assert_true(td_mesh_add_cell(mesh, TD_CELL_HEX, nodes));
}

// Faces that a pressure on a selector acts on, in the hollow mesh.
static int64_t loaded_faces(const char *selector)
{
    tdMesh mesh = {0};
    heard h;
    char text[300];
    hollow_mesh(&mesh);
    snprintf(text, sizeof text, "loads: [{type: surface, body: block, %s, pressure: 1}]\n", selector);
    tdModel *model = compile_mesh(&mesh, text, &h);
    int64_t n = scene_soft(model)->loads[0].n;
    td_model_free(model);
    return n;
}

// Nodes that a force on a selector acts on, in the hollow mesh: 64 of the block, 8 of the cube.
static int64_t loaded_nodes(const char *selector)
{
    tdMesh mesh = {0};
    heard h;
    char text[300];
    hollow_mesh(&mesh);
    snprintf(text, sizeof text, "loads: [{type: point, body: block, %s, force: [1, 0, 0]}]\n", selector);
    tdModel *model = compile_mesh(&mesh, text, &h);
    int64_t n = scene_soft(model)->loads[0].n;
    td_model_free(model);
    return n;
}

static bool on_top(const double *X)
{
    return X[2] > 2 - 1e-9;
}

static bool on_surface(const double *X)
{
    return X[0] < 1e-9 || X[0] > 3 - 1e-9 || X[1] < 1e-9 || X[1] > 2 - 1e-9 || X[2] < 1e-9 || X[2] > 2 - 1e-9;
}

static void sides_and_parts(void **state)
{
    (void)state;
    check_selector(HEAD, BOX, "side: {facing: [9, 0, 0]}", at_end);
    check_selector(HEAD, BOX, "side: {of: outer, facing: [0, 0, 1], angle: 1 deg}", on_top);
    check_selector(HEAD, BOX, "side: {of: any}", on_surface);
    check_selector(HEAD, BOX, "side: {facing: [1, 0, 1], angle: 179 deg}", on_surface);
    check_selector(HEAD, BOX, "part: {point: [99, 0, 0]}", always); // the nearest element's

    assert_int_equal(loaded_faces("side: {of: outer}"), 6 * 9 + 6);
    assert_int_equal(loaded_faces("side: {of: inner}"), 6);
    assert_int_equal(loaded_faces("side: {of: any}"), 6 * 9 + 6 + 6);
    assert_int_equal(loaded_faces("side: {of: inner, facing: [0, 0, 1]}"), 1); // the floor of the cavity
    assert_int_equal(loaded_faces("side: {facing: [0, 0, 1]}"), 9 + 1 + 1);
    // Of the corner between three sides only those faces that have the direction, though their nodes are on others.
    assert_int_equal(loaded_faces("side: {of: outer, facing: [1, 1, 0], angle: 46 deg}"), 2 * 9 + 2);
    assert_int_equal(loaded_nodes("side: {of: inner}"), 8);
    assert_int_equal(loaded_nodes("part: {point: [10.5, 0.5, 0.5]}"), 8);
    assert_int_equal(loaded_nodes("part: {point: [1.5, 1.5, 1.5]}"), 64);
    assert_int_equal(loaded_faces("part: {point: [10.5, 0.5, 0.5]}"), 6);

    // Materials: elements of a part, faces of a side.
    const char *skin = "element: membrane, thickness: 0.1, ";
    assert_int_equal(chosen_by("part: {point: [1, 1, 1]}", "", TD_CELL_TET), 12 * 6);
    assert_int_equal(chosen_by("side: {facing: [0, -1, 0]}", skin, TD_CELL_TRI), 3 * 2 * 2);
    assert_int_equal(chosen_by("side: {of: outer}", skin, TD_CELL_TRI), 2 * (2 * 4 + 4 * 6));
    assert_int_equal(chosen_by("part: {point: [1, 1, 1]}", skin, TD_CELL_TRI), 2 * (2 * 4 + 4 * 6));

#define FIXED(selector) HEAD BOX "    fixed: [{" selector "}]\n"
    refuse(FIXED("side: {facing: [0, 0, 0]}"), 8, "bodies[0].fixed[0].side.facing", "is zero", "[0, 0, 1]");
    refuse(FIXED("side: {angle: 30 deg}"), 8, "bodies[0].fixed[0].side.angle", "'facing', which is missing", "both");
    refuse(FIXED("side: {facing: [0, 0, 1], angle: 180 deg}"), 8, "side.angle", "below 180 deg", "leave out");
    refuse(FIXED("side: {of: upper}"), 8, "side.of", "'upper'", "outer");
    refuse(FIXED("side: {of: inner}"), 8, "bodies[0].fixed[0]", "encloses no cavity", "facing");
    refuse(FIXED("side: {facing: [1, 1, 1], angle: 5 deg}"), 8, "bodies[0].fixed[0]", "selects no node", "");
    refuse(FIXED("side: {of: outer, where: 1}"), 8, "side", "unknown key 'where'", "facing");
    refuse(FIXED("part: {}"), 8, "part", "'point' is missing", "");
    refuse(FIXED("part: {point: [1, 2]}"), 8, "part.point", "", "");
    refuse(FIXED("side: {of: outer}, part: {point: [0, 0, 0]}"), 8, "bodies[0].fixed[0]", "", "");
    refuse(HEAD BOX "    materials: [{side: {of: outer}, " OTHER "}]\n", 8, "bodies[0].materials[0]",
           "faces and no elements", "membrane");
#define SHEET                                                                                                          \
    "  - name: sheet\n    mesh: {rectangle: [[0, 0], [1, 1]], cells: [2, 2]}\n    plane: strain\n    thickness: 1\n"
    refuse(HEAD SHEET MATERIAL "    fixed: [{side: {facing: [1, 0, 0]}}]\n", 10, "bodies[0].fixed[0]",
           "boundary of volume elements", "box");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sides_and_parts),
        cmocka_unit_test(selectors_choose_nodes),
        cmocka_unit_test(axes_hold_components),
        cmocka_unit_test(group_means_its_faces),
        cmocka_unit_test(probes_follow_points_and_means),
        cmocka_unit_test(bad_selectors_are_named),
        cmocka_unit_test(bad_materials_are_named),
        cmocka_unit_test(bad_meshes_are_named),
        cmocka_unit_test(odd_meshes_are_mended_with_a_warning),
        cmocka_unit_test(near_incompressible_is_warned_about),
        cmocka_unit_test(total_mass_of_parts),
        cmocka_unit_test(materials_by_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
