// SPDX-License-Identifier: Apache-2.0
// URDF files: what is read of them, and that bad ones are refused with file, line and reason.
#include "rigid.h"

#include "scene/urdf.h"

#include <sys/stat.h>

static tdStatus parse(tdArena *arena, const char *text, tdTree *tree, tdError *error)
{
    const tdRobotFiles files = {.folder = "/tmp"};
    return td_urdf_parse(arena, text, strlen(text), "robot.urdf", &files, tree, NULL, error);
}

// ---------------------------------------------------------------- what is read

static const char whole[] =
    "<?xml version=\"1.0\"?>\n"
    "<robot name=\"r\">\n"
    "  <material name=\"blue\"><color rgba=\"0 0 1 0.5\"/></material>\n"
    "  <link name=\"tip\"><inertial><origin xyz=\"0 0 0.1\" rpy=\"0 0 1.5707963267948966\"/><mass value=\"0.5\"/>\n"
    "    <inertia ixx=\"0.01\" iyy=\"0.02\" izz=\"0.025\" ixy=\"0.001\" ixz=\"0\" iyz=\"0\"/></inertial>\n"
    "    <collision><origin xyz=\"1 2 3\"/><geometry><sphere radius=\"0.1\"/></geometry></collision>\n"
    "    <collision><geometry><capsule radius=\"0.1\" length=\"0.3\"/></geometry></collision>\n"
    "    <visual><geometry><cylinder radius=\"0.2\" length=\"0.4\"/></geometry><material name=\"blue\"/></visual>\n"
    "  </link>\n"
    "  <link name=\"base\"/>\n"
    "  <link name=\"middle\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/></inertial>\n"
    "    <visual><geometry><box size=\"1 2 3\"/></geometry></visual></link>\n"
    "  <joint name=\"second\" type=\"prismatic\"><parent link=\"middle\"/><child link=\"tip\"/>\n"
    "    <origin xyz=\"0 0 1\" rpy=\"0.1 0.2 0.3\"/><axis xyz=\"0 0 2\"/><limit lower=\"-0.1\" upper=\"0.2\" "
    "effort=\"30\" "
    "velocity=\"4\"/>\n"
    "    <dynamics damping=\"0.7\" friction=\"0.3\" armature=\"0.05\"/></joint>\n"
    "  <joint name=\"first\" type=\"revolute\"><parent link=\"base\"/><child link=\"middle\"/><limit lower=\"-1\" "
    "upper=\"1\" effort=\"9\" velocity=\"2\"/><mimic joint=\"second\" multiplier=\"2\" offset=\"0.1\"/></joint>\n"
    "  <transmission name=\"t\"/><transmission name=\"u\"/><gazebo/>\n"
    "</robot>\n";

static void reads_all(void **unused)
{
    (void)unused;
    tdArena arena = {0};
    tdTree tree;
    tdError error = {0};
    assert_ok(parse(&arena, whole, &tree, &error), error);
    assert_int_equal(tree.n_links, 3);
    assert_string_equal(tree.links[0].name, "base");
    assert_string_equal(tree.links[1].name, "middle");
    assert_string_equal(tree.links[2].name, "tip");
    assert_int_equal(tree.links[0].parent, -1);
    assert_int_equal(tree.links[2].parent, 1);
    const tdTreeLink *tip = &tree.links[2], *middle = &tree.links[1];
    assert_string_equal(tip->joint, "second");
    assert_int_equal(tip->kind, TD_JOINT_PRISMATIC);
    assert_int_equal(tip->joint_line, 13);
    assert_int_equal(tip->line, 4);
    assert_true(tip->axis[2] == 1 && tip->lower == -0.1 && tip->upper == 0.2 && tip->effort == 30 &&
                tip->velocity == 4);
    assert_true(tip->damping == 0.7 && tip->friction == 0.3 && tip->armature == 0.05 && tip->mass == 0.5);
    // Turned by a quarter about z: xx and yy change places, xy changes its sign.
    assert_near(tip->inertia[0], 0.02, 1e-15);
    assert_near(tip->inertia[1], 0.01, 1e-15);
    assert_near(tip->inertia[3], -0.001, 1e-15);
    assert_near(tip->center[2], 0.1, 0);
    // R = Rz(0.3) Ry(0.2) Rx(0.1)
    assert_near(tip->origin.R[0], cos(0.3) * cos(0.2), 1e-15);
    assert_near(tip->origin.R[6], -sin(0.2), 1e-15);
    assert_near(tip->origin.R[7], cos(0.2) * sin(0.1), 1e-15);
    assert_int_equal(middle->mimic, 2);
    assert_true(middle->ratio == 2 && middle->offset == 0.1);
    assert_int_equal(tree.n_shapes, 4);
    assert_int_equal(tree.shapes[0].shape.type, TD_SHAPE_BOX);
    assert_true(tree.shapes[0].drawn && !tree.shapes[0].collides && tree.shapes[0].shape.half[2] == 1.5);
    assert_int_equal(tree.shapes[1].shape.type, TD_SHAPE_SPHERE);
    assert_true(tree.shapes[1].collides && tree.shapes[1].pose.t[2] == 3);
    assert_true(tree.shapes[2].shape.type == TD_SHAPE_CAPSULE && tree.shapes[2].shape.half[2] == 0.15);
    assert_true(tree.shapes[3].shape.type == TD_SHAPE_CYLINDER && tree.shapes[3].colour[2] == 1);
    // Each kind of what is not used, once.
    assert_int_equal(tree.n_warnings, 2);
    assert_non_null(strstr(tree.warnings[0], "<transmission>"));
    assert_non_null(strstr(tree.warnings[1], "<gazebo>"));
    td_arena_free(&arena);
}

// Chains of mimics end at the joint that leads.
static void mimic_of_a_mimic(void **unused)
{
    (void)unused;
    static const char text[] =
        ROBOT(BASE LINK("a", "1", "0 0 0", "1", "1", "1") LINK("b", "1", "0 0 0", "1", "1", "1")
                  LINK("c", "1", "0 0 0", "1", "1", "1") JOINT("ja", "continuous", "base", "a", "0 0 0", "0 0 1",
                                                               "<mimic joint=\"jb\" multiplier=\"2\" offset=\"1\"/>")
                      JOINT("jb", "continuous", "a", "b", "0 0 0", "0 0 1",
                            "<mimic joint=\"jc\" multiplier=\"-3\" offset=\"0.5\"/>")
                          JOINT("jc", "continuous", "b", "c", "0 0 0", "0 0 1", ""));
    tdArena arena = {0};
    tdTree tree;
    tdError error = {0};
    assert_ok(parse(&arena, text, &tree, &error), error);
    assert_int_equal(tree.links[1].mimic, 3);
    assert_true(tree.links[1].ratio == -6 && tree.links[1].offset == 2); // 2 (-3 q + 0.5) + 1
    assert_int_equal(tree.links[2].mimic, 3);
    assert_true(tree.links[2].ratio == -3 && tree.links[2].offset == 0.5);
    td_arena_free(&arena);
}

// Meshes relative to the file, package:// beside it, scaled and mirrored with normals outside.
static void meshes(void **unused)
{
    (void)unused;
    char folder[] = "/tmp/tendril_urdf_XXXXXX", path[128], text[1200];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/meshes", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/meshes/tet.obj", folder);
    static const char tet[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n";
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(tet, file);
    fclose(file);
    static const char *const names[] = {"meshes/tet.obj", "package://robot/meshes/tet.obj"};
    for (int k = 0; k < 2; k++)
    {
        snprintf(text, sizeof text,
                 "<robot name=\"r\"><link name=\"a\"><collision><geometry><mesh filename=\"%s\" scale=\"-2 1 "
                 "1\"/></geometry></collision></link></robot>",
                 names[k]);
        tdArena arena = {0};
        tdTree tree;
        tdError error = {0};
        const tdRobotFiles files = {.folder = folder};
        assert_ok(td_urdf_parse(&arena, text, strlen(text), "robot.urdf", &files, &tree, NULL, &error), error);
        double volume, center[3], inertia[6];
        assert_int_equal(tree.shapes[0].shape.mesh->n_tris, 4);
        td_shape_mass(&tree.shapes[0].shape, &volume, center, inertia);
        assert_near(volume, 2.0 / 6, 1e-15);
        assert_near(center[0], -0.5, 1e-15);
        td_arena_free(&arena);
    }
    unlink(path);
    snprintf(path, sizeof path, "%s/meshes", folder);
    rmdir(path);
    rmdir(folder);
}

// Of a convex hull they are those of the body: here of a box that lies askew to the axes, away from the origin.
static void mass_of_a_hull(void **unused)
{
    (void)unused;
    const double half[3] = {0.3, 0.2, 0.1}, at[3] = {1, -2, 0.5}, c = 0.8, s = 0.6;
    double x[24], volume, center[3], inertia[6];
    for (int i = 0; i < 8; i++)
    {
        double p[3];
        for (int k = 0; k < 3; k++)
            p[k] = (i >> k & 1 ? 1 : -1) * half[k];
        x[3 * i] = at[0] + c * p[0] - s * p[1]; // turned about z
        x[3 * i + 1] = at[1] + s * p[0] + c * p[1];
        x[3 * i + 2] = at[2] + p[2];
    }
    tdArena arena = {0};
    tdShape shape = {0};
    tdError error = {0};
    assert_ok(td_shape_hull(&arena, 8, x, &shape, &error), error);
    td_shape_mass(&shape, &volume, center, inertia);
    double V = 8 * half[0] * half[1] * half[2], square[3], own[3];
    for (int k = 0; k < 3; k++)
        square[k] = half[k] * half[k] / 3;
    for (int k = 0; k < 3; k++)
        own[k] = V * (square[(k + 1) % 3] + square[(k + 2) % 3]);
    assert_near(volume, V, 1e-12);
    for (int k = 0; k < 3; k++)
        assert_near(center[k], at[k], 1e-12);
    assert_near(inertia[0], c * c * own[0] + s * s * own[1], 1e-12); // xx, yy, zz, xy, xz, yz
    assert_near(inertia[1], s * s * own[0] + c * c * own[1], 1e-12);
    assert_near(inertia[2], own[2], 1e-12);
    assert_near(inertia[3], c * s * (own[0] - own[1]), 1e-12);
    assert_near(inertia[4], 0, 1e-12);
    assert_near(inertia[5], 0, 1e-12);
    td_arena_free(&arena);
}

// ---------------------------------------------------------------- what is refused

#define A           LINK("a", "1", "0 0 0", "1", "1", "1")
#define B           LINK("b", "1", "0 0 0", "1", "1", "1")
#define AB(more)    A B more
#define HINGE(more) JOINT("j", "continuous", "a", "b", "0 0 0", "0 0 1", more)
#define SOLID(text) "<link name=\"a\"><inertial>" text "</inertial></link>"
#define GEOMETRY(t) "<link name=\"a\"><collision><geometry>" t "</geometry></collision></link>"

static void bad_documents(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *text, *why;
        int line;
    } cases[] = {
        {"", "not well-formed XML", -1},
        {"<robot>", "not well-formed XML", 1},
        {"<robot name=\"r\"></robot>", "no <link>", 1},
        {"<sdf/>", "SDF is not read", 1},
        {"<mujoco/>", "write 'mjcf'", 1},
        {"<html/>", "expected <robot>", 1},
        {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git lfs pull", -1},
        {"robot", "not well-formed XML", 1},
        {"<!DOCTYPE robot [<!ENTITY a \"aaaa\">]><robot name=\"&a;\"/>", "document type", -1},
        {"<!DOCTYPE lolz [<!ENTITY l \"lol\"><!ENTITY m \"&l;&l;&l;&l;&l;&l;&l;&l;&l;&l;\"><!ENTITY n "
         "\"&m;&m;&m;&m;&m;&m;&m;&m;&m;&m;\">]><robot>&n;</robot>",
         "document type", -1},
        {"<!DOCTYPE r SYSTEM \"file:///etc/passwd\"><robot/>", "document type", -1},
        {"<robot name=\"&unknown;\"><link name=\"a\"/></robot>", "not well-formed XML", 1},
        {ROBOT("<link/>"), "'name' is missing", 1},
        {ROBOT("<link name=\"a,b\"/>"), "must not have", 1},
        {ROBOT("<link name=\"a&#10;b\"/>"), "must not have", 1},
        {ROBOT(A A), "same name 'a'", 1},
        {ROBOT(A B), "two links have no parent", 1},
        {ROBOT(AB(HINGE("") HINGE(""))), "same name 'j'", 1},
        {ROBOT(AB(HINGE("") JOINT("k", "fixed", "a", "b", "0 0 0", "0 0 1", ""))), "closed loops", 1},
        {ROBOT(AB(HINGE("") JOINT("k", "fixed", "b", "a", "0 0 0", "0 0 1", ""))), "form a loop", 1},
        {ROBOT(AB(JOINT("k", "fixed", "a", "a", "0 0 0", "0 0 1", ""))), "its own parent", 1},
        {ROBOT(AB(LINK("c", "1", "0 0 0", "1", "1", "1") JOINT("k", "fixed", "a", "b", "0 0 0", "0 0 1", "")
                      JOINT("l", "fixed", "b", "a", "0 0 0", "0 0 1", ""))),
         "a loop that the root 'c' is not in", 1},
        {ROBOT(A JOINT("j", "fixed", "a", "x", "0 0 0", "0 0 1", "")), "no link 'x'", 1},
        {ROBOT(A JOINT("j", "fixed", "y", "a", "0 0 0", "0 0 1", "")), "no link 'y'", 1},
        {ROBOT(AB("<joint name=\"j\" type=\"fixed\"><child link=\"b\"/></joint>")), "<parent", 1},
        {ROBOT(AB("<joint name=\"j\"><parent link=\"a\"/><child link=\"b\"/></joint>")), "'type' is missing", 1},
        {ROBOT(AB(JOINT("j", "screw", "a", "b", "0 0 0", "0 0 1", ""))), "'screw' are not supported", 1},
        {ROBOT(AB(JOINT("j", "continuous", "a", "b", "0 0 0", "0 0 0", ""))), "the axis is zero", 1},
        {ROBOT(AB(JOINT("j", "continuous", "a", "b", "0 0", "0 0 1", ""))), "expected 3 finite numbers", 1},
        {ROBOT(AB(JOINT("j", "continuous", "a", "b", "0 0 0 0", "0 0 1", ""))), "nothing more", 1},
        {ROBOT(AB(JOINT("j", "continuous", "a", "b", "nan 0 0", "0 0 1", ""))), "expected 3 finite numbers", 1},
        {ROBOT(AB(JOINT("j", "continuous", "a", "b", "1e400 0 0", "0 0 1", ""))), "expected 3 finite numbers", 1},
        {ROBOT(AB(JOINT("j", "continuous", "a", "b", "1e100 0 0", "0 0 1", ""))),
         "1e+100 m is more than any scene needs", 1},
        {ROBOT(AB(HINGE("<dynamics damping=\"-1\"/>"))), "must not be negative", 1},
        {ROBOT(AB(HINGE("<limit effort=\"-1\"/>"))), "must not be negative", 1},
        {ROBOT(AB(HINGE("<mimic joint=\"j\"/>"))), "in a circle", 1},
        {ROBOT(AB(HINGE("<mimic/>"))), "'joint' is missing", 1},
        {ROBOT(AB(HINGE("<axis xyz=\"1 0 0\"/>"))), "already exists", 1},
        {ROBOT(SOLID("<mass value=\"-1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/>")), "must not be negative", 1},
        {ROBOT(SOLID("<mass value=\"1\"/><inertia ixx=\"1\" iyy=\"-1\" izz=\"1\"/>")), "is not positive", 1},
        {ROBOT(SOLID("<mass value=\"1\"/>")), "<inertia> is missing", 1},
        {ROBOT(SOLID("<mass value=\"one\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/>")), "expected 1 finite number", 1},
        {ROBOT(GEOMETRY("")), "no shape in it", 1},
        {ROBOT(GEOMETRY("<torus/>")), "'torus' is not supported", 1},
        {ROBOT(GEOMETRY("<box size=\"1 1 1\"/><box size=\"1 1 1\"/>")), "a second shape", 1},
        {ROBOT(GEOMETRY("<sphere radius=\"-1\"/>")), "more than zero", 1},
        {ROBOT(GEOMETRY("<cylinder radius=\"1\"/>")), "'length' is missing", 1},
        {ROBOT(GEOMETRY("<mesh filename=\"package://nobody/none.stl\"/>")), "--package nobody=FOLDER", 1},
        {ROBOT(GEOMETRY("<mesh filename=\"none.stl\"/>")), "none.stl", 1},
        {ROBOT(GEOMETRY("<mesh filename=\"http://a/b.stl\"/>")), "is not a file", 1},
        {"<robot name=\"r\" xmlns:xacro=\"http://x\"><xacro:macro/></robot>", "xacro", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        tdArena arena = {0};
        tdTree tree;
        tdError error = {0};
        char text[1200];
        tdStatus status = parse(&arena, cases[i].text, &tree, &error);
        td_error_format(&error, text, sizeof text);
        if (status != TD_ERROR_INPUT || strstr(text, cases[i].why) == NULL || strstr(text, "robot.urdf") == NULL)
            fail_msg("case %zu (%s): expected '%s', found '%s'", i, cases[i].text, cases[i].why,
                     status == TD_OK ? "no error" : text);
        if (cases[i].line >= 0)
            assert_int_equal(error.line, cases[i].line);
        td_arena_free(&arena);
    }
    printf("%zu refused\n", sizeof cases / sizeof cases[0]);
}

// Sizes that a file can claim: too many links and shapes, very deep trees and elements, long names, long mimic chains.
static void absurd_sizes(void **unused)
{
    (void)unused;
    size_t room = 8 << 20, n = 0;
    char *text = malloc(room);
    tdArena arena = {0};
    tdTree tree;
    tdError error = {0};
    n = (size_t)snprintf(text, room, "<robot name=\"r\">");
    for (int i = 0; i < TD_TREE_LINKS + 1; i++)
        n += (size_t)snprintf(text + n, room - n, "<link name=\"l%d\"/>", i);
    snprintf(text + n, room - n, "</robot>");
    assert_int_equal(parse(&arena, text, &tree, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "4096"));
    // A chain of all links that may be, written from its end: deep, and every joint follows the one before it.
    n = (size_t)snprintf(text, room, "<robot name=\"r\">");
    for (int i = 0; i < TD_TREE_LINKS; i++)
        n += (size_t)snprintf(text + n, room - n,
                              "<link name=\"l%d\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" "
                              "izz=\"1\"/></inertial></link>",
                              i);
    for (int i = TD_TREE_LINKS - 1; i > 0; i--)
    {
        n += (size_t)snprintf(text + n, room - n,
                              "<joint name=\"j%d\" type=\"continuous\"><parent link=\"l%d\"/><child link=\"l%d\"/>", i,
                              i - 1, i);
        if (i > 1)
            n += (size_t)snprintf(text + n, room - n, "<mimic joint=\"j%d\"/>", i - 1);
        n += (size_t)snprintf(text + n, room - n, "</joint>");
    }
    snprintf(text + n, room - n, "</robot>");
    error = (tdError){0};
    assert_ok(parse(&arena, text, &tree, &error), error);
    assert_int_equal(tree.n_links, TD_TREE_LINKS);
    assert_int_equal(tree.links[TD_TREE_LINKS - 1].mimic, 1);
    // Nested elements are libxml2's to refuse.
    n = (size_t)snprintf(text, room, "<robot name=\"r\">");
    for (int i = 0; i < 100000; i++)
        n += (size_t)snprintf(text + n, room - n, "<link>");
    assert_int_equal(parse(&arena, text, &tree, &error), TD_ERROR_INPUT);
    n = (size_t)snprintf(text, room, "<robot name=\"r\"><link name=\"");
    memset(text + n, 'x', 100000);
    snprintf(text + n + 100000, room - n - 100000, "\"/></robot>");
    assert_int_equal(parse(&arena, text, &tree, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "200 are allowed"));
    free(text);
    td_arena_free(&arena);
}

// Inertias that no body can have are told, not refused: many files have them.
static void doubtful_inertia(void **unused)
{
    (void)unused;
    tdArena arena = {0};
    tdTree tree;
    tdError error = {0};
    assert_ok(parse(&arena, ROBOT(LINK("a", "1", "0 0 0", "1", "1", "3")), &tree, &error), error);
    assert_int_equal(tree.n_warnings, 1);
    assert_non_null(strstr(tree.warnings[0], "no body has the inertia of link 'a'"));
    td_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mass_of_a_hull),   cmocka_unit_test(reads_all),     cmocka_unit_test(mimic_of_a_mimic),
        cmocka_unit_test(meshes),           cmocka_unit_test(bad_documents), cmocka_unit_test(absurd_sizes),
        cmocka_unit_test(doubtful_inertia),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
