// SPDX-License-Identifier: Apache-2.0
// Which surface of a soft body touches: walls of cavities do not meet others unless asked for, and meet themselves
// where the body does; coarser surfaces, and surfaces from files that elements carry.
#include "actuators.h"
#include "frames.h"

#include "contact/contact.h"
#include "mesh/topology.h"

// ---------------------------------------------------------------- walls of cavities

/// A hollow ball of radii 60 and 100 mm on the floor, and a marble that lies on the wall inside.
static tdModel *hollow(const char *contact, const char *actuators)
{
    return scene_model("tendril: 1\ntime_step: 5 ms\nsteps: 10\ngravity: [0, 0, -9.81]\n"
                       "integrator: {method: backward_euler}\ncontact: {margin: 1 mm}\nbodies:\n"
                       "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
                       "  - name: ball\n    mesh: %s\n    transform: {translate: [0, 0, 0.1]}\n"
                       "    material: {law: corotational_lagged, young: 500 kPa, poisson: 0.3, density: 1000}\n"
                       "    contact: {%s}\n"
                       "  - {name: marble, type: rigid, shape: {sphere: 0.01}, total_mass: 0.1, transform: "
                       "{translate: [0, 0, 0.0505]}}\n%s",
                       scene_file(), contact, actuators);
}

static const tdContactField *field_of(const tdModel *model)
{
    assert_int_equal(model->contact->n_fields, 1);
    return &model->contact->fields[0];
}

static int points_between(const tdState *state, int a, int b)
{
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(state, &points);
    int found = 0;
    for (int64_t i = 0; i < n; i++)
        found +=
            (points[i].body[0] == a && points[i].body[1] == b) || (points[i].body[0] == b && points[i].body[1] == a);
    return found;
}

#define AIR(how) "actuators: [{name: air, type: cavity, body: ball, " how ", drive: pressure}]\n"

static void test_walls_meet_nothing_unless_asked_for(void **unused)
{
    (void)unused;
    for (int tetrahedra = 0; tetrahedra < 2; tetrahedra++)
    {
        const actBall ball = {.n = 4, .layers = 2, .inner = 0.06, .outer = 0.1, .tetrahedra = tetrahedra == 1};
        const actBall skin = {.n = 4, .layers = 1, .inner = 0.1, .outer = 0.2};
        char surface[SCENE_PATH], outer[SCENE_PATH], by_file[SCENE_PATH + 100], of_skin[SCENE_PATH + 100];
        snprintf(outer, sizeof outer, TD_BUILD_DIR "/skin_%d.stl", (int)getpid());
        ball_files(&skin, 4, scene_file(), surface);
        assert_int_equal(rename(surface, outer), 0);
        ball_files(&ball, 6, scene_file(), surface);
        snprintf(by_file, sizeof by_file, AIR("surface: %s"), surface);
        snprintf(of_skin, sizeof of_skin, AIR("surface: %s"), outer);
        int64_t half = 2 * 6 * 4 * 4; // triangles of each of the two spheres
        // A marble inside meets the wall where nothing says that it is one of a cavity; the outer skin is never one.
        const struct
        {
            const char *contact, *actuators;
            bool wall;
        } cases[] = {
            {"", "", false},     {"", AIR("group: inner"), true}, {"walls: true", AIR("group: inner"), false},
            {"", by_file, true}, {"walls: true", by_file, false}, {"", of_skin, false},
        };
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        {
            tdModel *model = hollow(cases[i].contact, cases[i].actuators);
            tdState *state = scene_state(model);
            assert_int_equal(field_of(model)->walls, cases[i].wall ? half : 0);
            assert_int_equal(field_of(model)->tris, cases[i].wall ? half : 2 * half);
            scene_steps(model, state, 1);
            assert_true(points_between(state, 0, 1) > 0);
            assert_int_equal(points_between(state, 1, 2) > 0, !cases[i].wall);
            scene_free(model, state);
        }
        unlink(surface);
        unlink(outer);
        unlink(scene_file());
    }
}

/// A box of 80 x 80 x 80 mm of hexahedra of 10 mm, without those of a chamber of 60 x 60 x 40 mm, and the walls of it.
static void chamber_files(const char *mesh_path, const char *surface_path)
{
    tdMesh box = {0}, mesh = {0}, walls = {0}, surface = {0};
    tdError error = {0};
    assert_ok(td_mesh_box((double[3]){0, 0, 0}, (double[3]){0.08, 0.08, 0.08}, (int[3]){8, 8, 8}, true, &box, &error),
              error);
    for (int64_t i = 0; i < box.n_nodes; i++)
        assert_true(td_mesh_add_node(&mesh, box.x[3 * i], box.x[3 * i + 1], box.x[3 * i + 2]));
    for (int64_t c = 0; c < box.cells[TD_CELL_HEX].count; c++)
    {
        const int32_t *n = box.cells[TD_CELL_HEX].nodes + 8 * c;
        double middle[3];
        for (int k = 0; k < 3; k++)
            middle[k] = 0.5 * (box.x[3 * n[0] + k] + box.x[3 * n[6] + k]);
        if (!(fabs(middle[0] - 0.04) < 0.03 && fabs(middle[1] - 0.04) < 0.03 && fabs(middle[2] - 0.04) < 0.02))
            assert_true(td_mesh_add_cell(&mesh, TD_CELL_HEX, n));
    }
    assert_ok(td_mesh_box((double[3]){0.01, 0.01, 0.02}, (double[3]){0.07, 0.07, 0.06}, (int[3]){1, 1, 1}, true, &walls,
                          &error),
              error);
    assert_ok(td_mesh_boundary(&walls, &surface, &error), error);
    td_mesh_free(&box);
    td_mesh_free(&walls);
    ball_save(&mesh, mesh_path);
    ball_save(&surface, surface_path);
}

// The roof of a chamber is pressed down by 45 mm, farther than the chamber is high: with `self` its walls meet each
// other, and nothing outside; without, they pass through each other.
static void test_walls_meet_themselves(void **unused)
{
    (void)unused;
    char mesh[SCENE_PATH], surface[SCENE_PATH];
    snprintf(mesh, sizeof mesh, TD_BUILD_DIR "/chamber_%d.msh", (int)getpid());
    snprintf(surface, sizeof surface, TD_BUILD_DIR "/chamber_%d.stl", (int)getpid());
    chamber_files(mesh, surface);
    for (int self = 0; self < 2; self++)
    {
        tdModel *model = scene_model(
            "tendril: 1\ntime_step: 10 ms\nsteps: 100\ngravity: [0, 0, 0]\nintegrator: {method: backward_euler}\n"
            "contact: {margin: 1 mm}\nbodies:\n  - name: box\n    mesh: %s\n"
            "    material: {law: corotational_lagged, young: 100 kPa, poisson: 0.2, density: 1000}\n"
            "    damping: {mass: 20 1/s}\n    contact: {self: %s}\n"
            "    fixed: [{box: [[-1, -1, -1], [1, 1, 0.015]]}]\n"
            "    prescribed: [{name: press, box: [[0.025, 0.025, 0.065], [0.055, 0.055, 1]], displacement: [0, 0, "
            "-1]}]\n"
            "  - {name: far, type: rigid, shape: {sphere: 0.01}, fixed: true, transform: {translate: [1, 0, 0]}}\n"
            "actuators: [{name: air, type: cavity, body: box, surface: %s, drive: pressure}]\n"
            "motion: {keyframes: [{t: 0, press: 0}, {t: 0.5, press: 0.045}]}\n",
            mesh, self == 1 ? "true" : "false", surface);
        tdState *state = scene_state(model);
        assert_int_equal(field_of(model)->walls, 2 * (2 * 36 + 4 * 24));
        scene_steps(model, state, 60);
        double roof = INFINITY, bottom = -INFINITY;
        const tdSoft *soft = model->bodies[0].soft;
        for (int32_t i = 0; i < soft->n_nodes; i++)
        {
            const double *x = soft->rest + 3 * (int64_t)i;
            bool middle = fabs(x[0] - 0.04) < 0.006 && fabs(x[1] - 0.04) < 0.006;
            if (middle && fabs(x[2] - 0.06) < 1e-9)
                roof = state->q[3 * (int64_t)i + 2];
            if (middle && fabs(x[2] - 0.02) < 1e-9)
                bottom = state->q[3 * (int64_t)i + 2];
        }
        if (self == 1)
            assert_true(roof > bottom - 5e-4 && td_state_report(state)->contacts_active > 0);
        else
            assert_true(roof < bottom - 2e-3 && td_state_report(state)->contacts == 0);
        scene_free(model, state);
    }
    unlink(mesh);
    unlink(surface);
}

// ---------------------------------------------------------------- surfaces of one's choice

/// A block of 100 x 60 x 40 mm, of 6 x 4 x 3 cells of hexahedra or of tetrahedra, 1 mm above the floor.
#define BLOCK_ON_FLOOR(elements, contact)                                                                              \
    "tendril: 1\ntime_step: 2 ms\nsteps: 10\ngravity: [0, 0, -9.81]\nintegrator: {method: backward_euler}\n"           \
    "contact: {friction: 0.4, stiffness: 2 kN/m, dissipation: 20 ms}\nbodies:\n  - name: block\n"                      \
    "    mesh: {box: [[-0.05, -0.03, -0.02], [0.05, 0.03, 0.02]], cells: [6, 4, 3]" elements "}\n"                     \
    "    transform: {translate: [0, 0, 0.021]}\n"                                                                      \
    "    material: {law: corotational_lagged, young: 0.2 MPa, poisson: 0.3, density: 1000}\n"                          \
    "    contact: {" contact "}\n"                                                                                     \
    "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"

static const double block_weight = 1000 * 0.1 * 0.06 * 0.04 * 9.81;

/// A box of `cells` cells a side as a surface file, `larger` than the block on all sides, in its own coordinates.
static void save_box(const char *path, int cells, double larger, bool open)
{
    tdMesh box = {0}, surface = {0};
    tdError error = {0};
    const double half[3] = {0.05 + larger, 0.03 + larger, 0.02 + larger};
    assert_ok(td_mesh_box((double[3]){-half[0], -half[1], -half[2]}, half, (int[3]){cells, cells, cells}, false, &box,
                          &error),
              error);
    assert_ok(td_mesh_boundary(&box, &surface, &error), error);
    int groups = surface.n_groups;
    surface.cells[TD_CELL_TRI].count -= open;
    surface.n_groups = 0; // not written, which may name the triangle that is missing
    td_mesh_free(&box);
    assert_ok(td_mesh_write(&surface, path, TD_MESH_UNKNOWN, TD_MESH_BINARY, &error), error);
    surface.n_groups = groups;
    td_mesh_free(&surface);
}

// Eight corners of the block: they are as far from its sides as sides are flat, not at all.
static void test_fewer_nodes(void **unused)
{
    (void)unused;
    static const int asked[] = {8, 20, 60, 5000};
    for (int i = 0; i < 4; i++)
    {
        tdModel *model = scene_model(BLOCK_ON_FLOOR("", "nodes: %d"), asked[i]);
        tdState *state = scene_state(model);
        const tdContactField *field = field_of(model);
        assert_int_equal(field->corners, asked[i] < 5000 ? asked[i] : 7 * 5 * 4 - 5 * 3 * 2);
        assert_int_equal(field->tris, 2 * field->corners - 4);
        assert_int_equal(field->n_points, 0);
        assert_int_equal(field->n_nodes, field->corners);
        assert_true(field->error < 1e-12);
        scene_steps(model, state, 300);
        double force[3];
        td_state_contact_force(state, 1, 0, force);
        assert_near(force[2], block_weight, 1e-3 * block_weight);
        if (i == 0) // at rest on four springs
        {
            assert_int_equal(td_state_report(state)->contacts_active, 4);
            double low = INFINITY; // of the corners: the block sags between them
            for (int32_t k = 0; k < field->n_nodes; k++)
                low = fmin(low, state->q[3 * (int64_t)field->nodes[k] + 2]);
            assert_near(low, -block_weight / 4 / 2e3, 1e-6);
        }
        scene_free(model, state);
    }
}

// Points of a surface are where the nodes carry them, their velocities too, and a force there is the same force and
// torque on the nodes, wherever the body has come to.
static void check_points(const tdModel *model, tdState *state)
{
    const tdContactField *field = field_of(model);
    const tdBody *body = &model->bodies[0];
    int64_t n = 0;
    assert_true(field->n_points > 0);
    const tdContact *contacts = state->contact->contacts;
    n = state->contact->n;
    assert_true(n > 0);
    td_contact_place(model, state, 0);
    double *m = calloc((size_t)model->coords, sizeof *m);
    for (int64_t i = 0; i < n; i++)
    {
        const tdContactSide *side = contacts[i].a.n > 0 ? &contacts[i].a : &contacts[i].b;
        const double f[3] = {0.3, -1, 2}, *x = state->contact->x[0];
        double p[3] = {0}, sum[3] = {0}, torque[3] = {0}, expected[3];
        for (int k = 0; k < side->n; k++)
            for (int c = 0; c < 3; c++)
                p[c] += side->weight[k] * x[3 * (int64_t)side->node[k] + c];
        memset(m, 0, (size_t)model->coords * sizeof *m);
        td_contact_push_side(model, state, side, false, f, m);
        for (int64_t k = 0; k < body->nodes; k++)
        {
            double turn[3];
            td_cross3(state->q + 3 * k, m + 3 * k, turn);
            for (int c = 0; c < 3; c++)
            {
                sum[c] += m[3 * k + c];
                torque[c] += turn[c];
            }
        }
        td_cross3(p, f, expected);
        for (int c = 0; c < 3; c++)
        {
            assert_near(sum[c], f[c], 1e-12);
            assert_near(torque[c], expected[c], 1e-12);
        }
    }
    free(m);
}

// A box of few triangles around the block, 0.5 mm larger: its corners and the middles of its sides touch, carried by
// elements that do not reach there.
static void test_surface_of_a_file(void **unused)
{
    (void)unused;
    char path[SCENE_PATH];
    snprintf(path, sizeof path, TD_BUILD_DIR "/surface_%d.stl", (int)getpid());
    for (int hexahedra = 0; hexahedra < 2; hexahedra++)
    {
        save_box(path, 2, 5e-4, false);
        tdModel *model = hexahedra == 1
                             ? scene_model(BLOCK_ON_FLOOR(", elements: hexahedra", "surface: %s, points: 2"), path)
                             : scene_model(BLOCK_ON_FLOOR("", "surface: %s, points: 2"), path);
        tdState *state = scene_state(model);
        const tdContactField *field = field_of(model);
        assert_int_equal(field->n_points, 26);
        assert_int_equal(field->tris, 48);
        assert_near(field->error, 5e-4 * sqrt(3.0), 1e-8); // at the corners; files have seven digits
        for (int32_t p = 0; p < 26; p++)
        {
            double sum = 0;
            for (int32_t k = field->start[p]; k < field->start[p + 1]; k++)
                sum += field->weight[k];
            assert_near(sum, 1, 1e-12);
        }
        scene_steps(model, state, 300);
        double force[3];
        td_state_contact_force(state, 1, 0, force);
        assert_near(force[2], block_weight, 1e-3 * block_weight);
        assert_true(td_state_report(state)->contacts_active > 9);
        check_points(model, state);
        scene_free(model, state);
    }
    unlink(path);
}

// Dropped on an edge: a reduced body with all modes bears the forces of the one of full order.
static void test_reduced(void **unused)
{
    (void)unused;
    char path[SCENE_PATH], text[3000];
    snprintf(path, sizeof path, TD_BUILD_DIR "/surface_%d.vtk", (int)getpid());
    save_box(path, 2, 5e-4, false);
    for (int file = 0; file < 2; file++)
    {
        snprintf(text, sizeof text,
                 "tendril: 1\ntime_step: 1 ms\nsteps: 10\ngravity: [0, 0, -9.81]\n"
                 "integrator: {method: backward_euler}\n"
                 "contact: {friction: 0.4, stiffness: 2 kN/m, dissipation: 20 ms}\nbodies:\n  - name: block\n"
                 "    mesh: {box: [[-0.05, -0.03, -0.02], [0.05, 0.03, 0.02]], cells: [3, 2, 2]}\n"
                 "    transform: {translate: [0, 0, 0.021]}\n    velocity: [0.1, 0, 0]\n"
                 "    material: {law: corotational_lagged, young: 0.2 MPa, poisson: 0.3, density: 1000}\n"
                 "    contact: {%s%s}\n  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n",
                 file == 1 ? "surface: " : "nodes: 12", file == 1 ? path : "");
        tdModel *full = scene_parse(text);
        tdRom rom = frame_rom(full, 0, 1);
        tdModel *reduced = rom_model(text, &rom, true);
        tdState *a = scene_state(full), *b = scene_state(reduced);
        assert_true(field_of(reduced)->n_nodes < full->bodies[0].nodes);
        double off = 0, size = 0;
        for (int k = 0; k < 150; k++)
        {
            double f[3], g[3];
            scene_steps(full, a, 1);
            scene_steps(reduced, b, 1);
            td_state_contact_force(a, 1, 0, f);
            td_state_contact_force(b, 1, 0, g);
            for (int c = 0; c < 3; c++)
                off += fabs(f[c] - g[c]);
            size += fabs(f[2]);
        }
        assert_true(size > 0 && off < 1e-4 * size);
        scene_free(full, a);
        scene_free(reduced, b);
        td_rom_free(&rom);
    }
    unlink(path);
}

// A checkpoint is of the surface that its file had.
static void test_checkpoint(void **unused)
{
    (void)unused;
    char path[SCENE_PATH], kept[SCENE_PATH];
    snprintf(path, sizeof path, TD_BUILD_DIR "/kept_%d.vtk", (int)getpid());
    snprintf(kept, sizeof kept, TD_BUILD_DIR "/kept_%d.h5", (int)getpid());
    for (int k = 0; k < 3; k++)
    {
        save_box(path, 2, k == 2 ? 6e-4 : 5e-4, false);
        tdModel *model = scene_model(BLOCK_ON_FLOOR("", "surface: %s"), path);
        tdState *state = scene_state(model);
        tdError error = {0};
        if (k == 0)
        {
            scene_steps(model, state, 20);
            assert_ok(td_state_save(model, state, kept, &error), error);
        }
        else
            assert_int_equal(td_state_load(model, state, kept, &error) == TD_OK, k == 1);
        scene_free(model, state);
    }
    unlink(path);
    unlink(kept);
}

static void refused(const char *contact, int line, const char *field, const char *words)
{
    char text[3000];
    snprintf(text, sizeof text, BLOCK_ON_FLOOR("", "%s"), contact);
    tdModel *model = NULL;
    tdError error = {0};
    if (td_model_parse(text, strlen(text), "scene.yaml", NULL, NULL, &model, &error) == TD_OK)
        fail_msg("not refused: %s", contact);
    if (error.line != line || strstr(error.field, field) == NULL || strstr(error.message, words) == NULL)
        fail_msg("%d, %s: %s", error.line, error.field, error.message);
}

static void test_refusals(void **unused)
{
    (void)unused;
    char path[SCENE_PATH], given[SCENE_PATH + 100];
    snprintf(path, sizeof path, TD_BUILD_DIR "/refused_%d.stl", (int)getpid());
    snprintf(given, sizeof given, "surface: %s", path);
    refused(given, 12, "surface", "refused_");
    save_box(path, 2, 0, true);
    refused(given, 12, "block.contact.surface", "the surface is open");
    save_box(path, 2, 0.01, false);
    refused(given, 12, "block.contact.surface", "at most 0.005 is allowed; move or scale the surface");
    save_box(path, 2, 0, false);
    snprintf(given, sizeof given, "nodes: 9, surface: %s", path);
    refused(given, 12, "nodes", "exclude each other");
    snprintf(given, sizeof given, "walls: true, surface: %s", path);
    refused(given, 12, "walls", "include the walls in it");
    refused("nodes: 9, meets: false", 12, "nodes", "touches nothing");
    refused("nodes: 3", 12, "nodes", "3");
    refused("nodes: 4", 12, "block.contact.nodes", "more than a tenth of the body's size; request more nodes");
    unlink(path);
    tdModel *model = NULL;
    tdError error = {0};
    static const char rigid[] = "tendril: 1\nsteps: 1\ntime_step: 1 ms\ncontact: {}\nbodies:\n"
                                "  - {name: a, type: rigid, shape: {sphere: 1}, total_mass: 1, contact: {nodes: 9}}\n";
    assert_int_not_equal(td_model_parse(rigid, strlen(rigid), "scene.yaml", NULL, NULL, &model, &error), TD_OK);
    assert_non_null(strstr(error.message, "links touch by their shapes"));
    // A ring has a hole, which seven nodes at least go round.
    static const char ring[] =
        "tendril: 1\nsteps: 1\ntime_step: 1 ms\ncontact: {}\nbodies:\n"
        "  - {name: a, mesh: {torus: {major: 0.1, minor: 0.03, sections: 12, around: 8}}, contact: {nodes: 5},\n"
        "     material: {law: corotational_lagged, young: 1 MPa, poisson: 0.3, density: 1000}}\n";
    assert_int_not_equal(td_model_parse(ring, strlen(ring), "scene.yaml", NULL, NULL, &model, &error), TD_OK);
    if (strstr(error.message, "would fold with fewer than") == NULL || strcmp(error.field, "a.contact.nodes") != 0)
        fail_msg("%s: %s", error.field, error.message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walls_meet_nothing_unless_asked_for),
        cmocka_unit_test(test_walls_meet_themselves),
        cmocka_unit_test(test_fewer_nodes),
        cmocka_unit_test(test_surface_of_a_file),
        cmocka_unit_test(test_reduced),
        cmocka_unit_test(test_checkpoint),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
