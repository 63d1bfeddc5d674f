// SPDX-License-Identifier: Apache-2.0
// Robots as they come: what other programs read is read, what cannot be is said, and what is only drawn is never fatal.
#include "rigid.h"

#include "contact/contact.h"
#include "mesh/dae.h"
#include "scene/urdf.h"

#include <sys/stat.h>

#define MASS "<inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/></inertial>"

static const char tet[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n";
static const char open_box[] = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\nf 1 4 3 2\n"
                               "f 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n";

// ---------------------------------------------------------------- files

typedef struct place
{
    tdArena arena;
    tdTree tree;
    tdError error;
    char folder[64];
} place;

static void put(const char *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *c = path + strlen(folder) + 1; *c != '\0'; c++)
        if (*c == '/')
        {
            *c = '\0';
            mkdir(path, 0700);
            *c = '/';
        }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void make_place(place *p)
{
    *p = (place){.folder = "/tmp/tendril_robots_XXXXXX"};
    assert_non_null(mkdtemp(p->folder));
}

static void leave(place *p)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", p->folder);
    assert_int_equal(system(command), 0);
    td_arena_free(&p->arena);
}

static tdStatus parse_in(place *p, const char *text, const char *folder, const char *packages, bool hulls)
{
    const tdRobotFiles files = {.folder = folder, .packages = packages, .hulls = hulls};
    p->error = (tdError){0};
    return td_urdf_parse(&p->arena, text, strlen(text), "robot.urdf", &files, &p->tree, NULL, &p->error);
}

static bool warned(const tdTree *tree, const char *what)
{
    for (int i = 0; i < tree->n_warnings; i++)
        if (strstr(tree->warnings[i], what) != NULL)
            return true;
    for (int i = 0; i < tree->n_warnings; i++)
        printf("warning: %s\n", tree->warnings[i]);
    return false;
}

// ---------------------------------------------------------------- numbers, colours, joints

static void numbers_of_the_world(void **unused)
{
    (void)unused;
    place p = {.folder = ""};
    static const char text[] = "<robot name=\"r\"><link name=\"a\"/><link name=\"b\">" MASS
                               "<collision><origin xyz=\"\n .00254\t+1  1. \" rpy=\" -.5e-1 0 0\"/><geometry>"
                               "<box size=\"  1\n1\t+1. \"/></geometry></collision></link>"
                               "<joint name=\"j\" type=\"continuous\"><parent link=\"a\"/><child link=\"b\"/>"
                               "<axis xyz=\"0 0 1.\"/></joint></robot>";
    assert_ok(parse_in(&p, text, NULL, NULL, false), p.error);
    const tdPose *pose = &p.tree.shapes[0].pose;
    assert_true(pose->t[0] == 0.00254 && pose->t[1] == 1 && pose->t[2] == 1);
    assert_near(pose->R[7], sin(-0.05), 1e-16);
    assert_int_equal(p.tree.n_warnings, 0);
    td_arena_free(&p.arena);
}

// A colour that one visual defines is that of others which name it; colours that are wrong are not worth an error.
static void colours(void **unused)
{
    (void)unused;
    place p = {.folder = ""};
    static const char text[] =
        "<robot name=\"r\"><link name=\"a\">"
        "<visual><geometry><box size=\"1 1 1\"/></geometry><material name=\"late\"/></visual>\n"
        "<visual><geometry><box size=\"1 1 1\"/></geometry><material name=\"late\"><color rgba=\"0 .5 0 "
        "1\"/></material>"
        "</visual>\n<visual><geometry><box size=\"1 1 1\"/></geometry><material><color rgba=\"9 0 0 1\"/></material>"
        "</visual>\n<visual><geometry><box size=\"1 1 1\"/></geometry><material><color rgba=\"1 0 red\"/></material>"
        "</visual></link></robot>";
    assert_ok(parse_in(&p, text, NULL, NULL, false), p.error);
    assert_int_equal(p.tree.n_shapes, 4);
    assert_true(p.tree.shapes[0].colour[1] == 0.5F && p.tree.shapes[1].colour[1] == 0.5F);
    assert_true(p.tree.shapes[2].colour[0] == 1 && p.tree.shapes[3].colour[0] == -1);
    assert_true(warned(&p.tree, "range from 0 to 1") && warned(&p.tree, "this colour is not used"));
    td_arena_free(&p.arena);
}

static void joints_as_others_read_them(void **unused)
{
    (void)unused;
    place p = {.folder = ""};
    static const char text[] =
        ROBOT(BASE LINK("a", "1", "0 0 0", "1", "1", "1") LINK("b", "1", "0 0 0", "1", "1", "1")
                  LINK("c", "1", "0 0 0", "1", "1", "1") LINK("d", "1", "0 0 0", "1", "1", "1")
                      JOINT("plane", "planar", "base", "a", "0 0 1", "0 0 1", "")
                          JOINT("wide", "revolute", "a", "b", "0 0 0", "0 0 1", "")
                              JOINT("wrong", "revolute", "b", "c", "0 0 0", "0 0 1",
                                    "<limit lower=\"1\" upper=\"-1\" effort=\"0\"/><mimic joint=\"nobody\"/>")
                                  JOINT("held", "fixed", "c", "d", "0 0 0", "0 0 1", "<dynamics damping=\"1\"/>"));
    assert_ok(parse_in(&p, text, NULL, NULL, false), p.error);
    assert_int_equal(p.tree.n_links, 7);
    // x, y, then the rotation, one after the other.
    const tdTreeLink *x = &p.tree.links[1], *y = &p.tree.links[2], *turn = &p.tree.links[3];
    assert_string_equal(x->joint, "plane_x");
    assert_string_equal(turn->joint, "plane");
    assert_string_equal(turn->name, "a");
    assert_true(x->kind == TD_JOINT_PRISMATIC && y->kind == TD_JOINT_PRISMATIC && turn->kind == TD_JOINT_CONTINUOUS);
    assert_true(x->axis[0] == 1 && y->axis[1] == 1 && turn->axis[2] == 1 && x->origin.t[2] == 1 &&
                turn->origin.t[2] == 0);
    assert_true(y->parent == 1 && turn->parent == 2);
    const tdTreeLink *wide = &p.tree.links[4], *wrong = &p.tree.links[5], *held = &p.tree.links[6];
    assert_true(isinf(wide->upper) && isinf(wrong->upper) && isinf(wrong->lower) && isinf(wrong->effort));
    assert_true(wrong->mimic == -1 && held->damping == 0);
    assert_true(warned(&p.tree, "has no <limit>") && warned(&p.tree, "nothing is between them") &&
                warned(&p.tree, "limited to zero") && warned(&p.tree, "no joint 'nobody'") &&
                warned(&p.tree, "<dynamics> is not used"));
    td_arena_free(&p.arena);
}

// ---------------------------------------------------------------- masses

// An arm without masses gets those of its shapes, all of them; what has no shape is held.
static void masses_left_out(void **unused)
{
    (void)unused;
    place p = {.folder = ""};
    static const char text[] =
        "<robot name=\"r\"><link name=\"base\"/>"
        "<link name=\"a\"><collision><origin xyz=\"0 0 1\"/><geometry><box size=\"1 2 "
        "3\"/></geometry></collision></link>"
        "<link name=\"b\"><visual><geometry><sphere radius=\"0.1\"/></geometry></visual></link><link name=\"c\"/>"
        "<link name=\"d\">" MASS "</link>" JOINT("ja", "continuous", "base", "a", "0 0 0", "0 0 1", "")
            JOINT("jb", "continuous", "a", "b", "0 0 0", "0 0 1", "")
                JOINT("jc", "continuous", "b", "c", "0 0 0", "0 0 1", "")
                    JOINT("jd", "continuous", "base", "d", "0 0 0", "0 0 1", "") "</robot>";
    assert_ok(parse_in(&p, text, NULL, NULL, false), p.error);
    const tdTreeLink *a = &p.tree.links[1], *b = &p.tree.links[2], *c = &p.tree.links[3], *d = &p.tree.links[4];
    assert_near(a->mass, 6000, 1e-9);
    assert_near(a->center[2], 1, 1e-15);
    assert_near(a->inertia[0], 6000.0 / 12 * (4 + 9), 1e-8);
    assert_near(b->mass, 1000 * 4.0 / 3 * 3.14159265358979 * 1e-3, 1e-9);
    assert_true(c->kind == TD_JOINT_FIXED && c->mass == 0 && d->mass == 1);
    assert_true(warned(&p.tree, "2 links that joints move (the first is 'a'") &&
                warned(&p.tree, "joint 'jc' moves nothing that has a mass or a shape, so it is fixed"));
    td_arena_free(&p.arena);
}

// Masses that are points on their axis would spin without resistance.
static void point_masses(void **unused)
{
    (void)unused;
    place p = {.folder = ""};
    static const char text[] =
        "<robot name=\"r\"><link name=\"base\"/>"
        "<link name=\"a\"><inertial><mass value=\"2\"/><inertia ixx=\"0\" iyy=\"0\" izz=\"0\"/></inertial>"
        "<visual><geometry><box size=\"1 1 1\"/></geometry></visual></link>"
        "<link name=\"b\"><inertial><origin xyz=\"1 0 0\"/><mass value=\"2\"/><inertia ixx=\"0\" iyy=\"0\" izz=\"0\"/>"
        "</inertial></link>"
        "<link name=\"c\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"1.5\"/></inertial>"
        "</link>" JOINT("ja", "continuous", "base", "a", "0 0 0", "0 0 1", "")
            JOINT("jb", "continuous", "base", "b", "0 0 0", "0 0 1", "")
                JOINT("jc", "continuous", "base", "c", "0 0 0", "0 0 1", "") "</robot>";
    assert_ok(parse_in(&p, text, NULL, NULL, false), p.error);
    assert_near(p.tree.links[1].inertia[2], 2.0 / 6, 1e-12);
    assert_near(p.tree.links[2].inertia[2], 0, 0); // at the end of an arm a point is enough
    assert_near(p.tree.links[3].inertia[2], 1 + 0.5 + 2.5e-6, 1e-12);
    assert_true(warned(&p.tree, "1 link has a mass but no inertia") && warned(&p.tree, "link 'c' is not positive"));
    td_arena_free(&p.arena);
}

// ---------------------------------------------------------------- meshes

static void visuals_are_never_fatal(void **unused)
{
    (void)unused;
    place p = {.folder = ""};
    static const char text[] =
        "<robot name=\"r\"><link name=\"a\"><visual><geometry><mesh filename=\"none.stl\"/></geometry></visual>"
        "<visual><geometry><torus/></geometry></visual><visual/>"
        "<collision><geometry><box size=\"1 1 1\"/></geometry></collision></link>"
        "<link name=\"b\"><visual><geometry><sphere radius=\"-1\"/></geometry></visual></link>"
        "<joint name=\"j\" type=\"fixed\"><parent link=\"a\"/><child link=\"b\"/></joint></robot>";
    assert_ok(parse_in(&p, text, "/tmp", NULL, false), p.error);
    assert_int_equal(p.tree.n_shapes, 1);
    assert_true(warned(&p.tree, "a visual of link 'a' is left out") &&
                warned(&p.tree, "its collision shapes are drawn: there is no file") &&
                warned(&p.tree, "a visual of link 'b' is left out, and unless others are left, it is not drawn"));
    td_arena_free(&p.arena);
}

static void shapes_without_size_are_left_out(void **unused)
{
    (void)unused;
    place p;
    make_place(&p);
    put(p.folder, "flat.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    static const char text[] =
        "<robot name=\"r\"><link name=\"a\"><collision><geometry><sphere radius=\"0\"/></geometry></collision>"
        "<collision><geometry><box size=\"1 0 1\"/></geometry></collision>"
        "<collision><geometry><capsule radius=\"1\" length=\"0\"/></geometry></collision>"
        "<collision><geometry><mesh filename=\"flat.obj\"/></geometry></collision>"
        "<collision><geometry><mesh filename=\"flat.obj\" scale=\"0 1 1\"/></geometry></collision></link></robot>";
    assert_ok(parse_in(&p, text, p.folder, NULL, false), p.error);
    assert_int_equal(p.tree.n_shapes, 1);
    assert_int_equal(p.tree.shapes[0].shape.type, TD_SHAPE_CAPSULE);
    assert_true(warned(&p.tree, "this sphere has a size of zero") && warned(&p.tree, "this box has a size of zero") &&
                warned(&p.tree, "it is flat, without a volume") && warned(&p.tree, "a scale of zero"));
    leave(&p);
}

#define MESH(name)                                                                                                     \
    "<robot name=\"r\"><link name=\"a\"><collision><geometry><mesh filename=\"" name                                   \
    "\"/></geometry></collision></link></robot>"

// Closed surfaces stay; others touch as their hull, which is said; the hull on request, without a word.
static void hulls(void **unused)
{
    (void)unused;
    place p;
    make_place(&p);
    put(p.folder, "tet.obj", tet);
    put(p.folder, "open.obj", open_box);
    // Three triangles on one edge.
    put(p.folder, "fin.obj",
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 1 1 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\nf 1 2 5\n");
    assert_ok(parse_in(&p, MESH("tet.obj"), p.folder, NULL, false), p.error);
    assert_int_equal(p.tree.shapes[0].shape.type, TD_SHAPE_MESH);
    assert_int_equal(p.tree.n_warnings, 0);
    static const char *const bad[] = {MESH("open.obj"), MESH("fin.obj")};
    for (int k = 0; k < 2; k++)
    {
        assert_ok(parse_in(&p, bad[k], p.folder, NULL, false), p.error);
        assert_int_equal(p.tree.shapes[0].shape.type, TD_SHAPE_HULL);
        assert_true(warned(&p.tree, k == 0 ? "link 'a' touches with the convex hull of the mesh 'open.obj'"
                                           : "link 'a' touches with the convex hull of the mesh 'fin.obj'"));
    }
    assert_ok(parse_in(&p, MESH("tet.obj"), p.folder, NULL, true), p.error);
    assert_int_equal(p.tree.shapes[0].shape.type, TD_SHAPE_HULL);
    assert_int_equal(p.tree.n_warnings, 0);
    leave(&p);
}

// A ball of thousands of nodes becomes a hull of a few hundred corners, as large to a percent.
static void hulls_have_few_corners(void **unused)
{
    (void)unused;
    tdArena arena = {0};
    tdShape shape;
    double x[3 * 9000], volume, center[3], inertia[6];
    for (int i = 0; i < 9000; i++)
    {
        double z = 1 - (2.0 * i + 1) / 9000, r = sqrt(1 - z * z);
        x[3 * i] = r * cos(2.4 * i);
        x[3 * i + 1] = r * sin(2.4 * i);
        x[3 * i + 2] = z;
    }
    assert_true(td_robot_hull(&arena, 9000, x, &shape));
    assert_true(shape.hull->n_points <= TD_ROBOT_CORNERS && shape.hull->n_points > 200);
    td_shape_mass(&shape, &volume, center, inertia);
    assert_near(volume, 4.0 / 3 * 3.14159265, 0.03 * 4.2); // 256 corners inscribed
    td_arena_free(&arena);
}

static void packages(void **unused)
{
    (void)unused;
    place p;
    char folder[128], list[256];
    make_place(&p);
    put(p.folder, "stack/robot/deep/er/keep", "");
    put(p.folder, "stack/robot/meshes/tet.obj", tet);
    put(p.folder, "stack/other/meshes/tet.obj", tet);
    put(p.folder, "stack/meshes/visual/tet.obj", tet);
    snprintf(folder, sizeof folder, "%s/stack/robot/deep/er", p.folder);
    // Above the file: in its package, and beside it.
    assert_ok(parse_in(&p, MESH("package://robot/meshes/tet.obj"), folder, NULL, false), p.error);
    assert_ok(parse_in(&p, MESH("package://other/meshes/tet.obj"), folder, NULL, false), p.error);
    assert_int_equal(p.tree.n_warnings, 0);
    // Elsewhere: by name, by a folder of packages, by the package's own folder.
    char elsewhere[128];
    snprintf(elsewhere, sizeof elsewhere, "%s", p.folder);
    assert_int_equal(parse_in(&p, MESH("package://mine/meshes/tet.obj"), elsewhere, NULL, false), TD_ERROR_INPUT);
    assert_non_null(strstr(p.error.message, "--package mine=FOLDER"));
    snprintf(list, sizeof list, "nobody=/tmp:mine=%s/stack/other/", p.folder);
    assert_ok(parse_in(&p, MESH("package://mine/meshes/tet.obj"), elsewhere, list, false), p.error);
    snprintf(list, sizeof list, "/nowhere:%s/stack", p.folder);
    assert_ok(parse_in(&p, MESH("package://other/meshes/tet.obj"), elsewhere, list, false), p.error);
    snprintf(list, sizeof list, "%s/stack/other", p.folder);
    assert_ok(parse_in(&p, MESH("package://other/meshes/tet.obj"), elsewhere, list, false), p.error);
    assert_int_equal(p.tree.n_warnings, 0);
    // A package whose files were copied without their first folders; said.
    assert_ok(parse_in(&p, MESH("package://lost/in/space/visual/tet.obj"), folder, NULL, false), p.error);
    assert_true(warned(&p.tree, "package 'lost' was not found"));
    leave(&p);
}

// ---------------------------------------------------------------- Collada

#define DAE(asset, geometry, scene)                                                                                    \
    "<?xml version=\"1.0\"?><COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" version=\"1.4.1\">"        \
    "<asset>" asset "</asset><library_effects><effect id=\"e\"><profile_COMMON><technique><phong><diffuse>"            \
    "<color>1 0.5 0 1</color></diffuse></phong></technique></profile_COMMON></effect></library_effects>"               \
    "<library_materials><material id=\"orange\"><instance_effect url=\"#e\"/></material></library_materials>"          \
    "<library_geometries><geometry id=\"g\"><mesh><source id=\"p\"><float_array id=\"f\" count=\"12\">0 0 0  1 0 0  "  \
    "0 1 0\n 0 0 1</float_array><technique_common><accessor source=\"#f\" count=\"4\" stride=\"3\"/>"                  \
    "</technique_common></source><vertices id=\"v\"><input semantic=\"POSITION\" source=\"#p\"/></vertices>" geometry  \
    "</mesh></geometry></library_geometries><library_visual_scenes><visual_scene id=\"s\">" scene                      \
    "</visual_scene></library_visual_scenes><scene><instance_visual_scene url=\"#s\"/></scene></COLLADA>"
#define BIND                                                                                                           \
    "<bind_material><technique_common><instance_material symbol=\"m\" target=\"#orange\"/></technique_common>"         \
    "</bind_material>"
#define TRIANGLES                                                                                                      \
    "<triangles count=\"4\" material=\"m\"><input semantic=\"VERTEX\" source=\"#v\" offset=\"0\"/><input "             \
    "semantic=\"NORMAL\" source=\"#n\" offset=\"1\"/><p>0 9 2 9 1 9 0 9 1 9 3 9 1 9 2 9 3 9 0 9 3 9 2 "                \
    "9</p></triangles>"
#define POLYGONS                                                                                                       \
    "<polylist count=\"4\"><input semantic=\"VERTEX\" source=\"#v\" offset=\"0\"/><vcount>3 3 3 3</vcount><p>0 2 1 0 " \
    "1 3 1 2 3 0 3 2</p></polylist>"
#define INSTANCE "<instance_geometry url=\"#g\">" BIND "</instance_geometry>"

static void read_dae(const char *text, bool as_written, tdMesh *mesh, tdDaeColours *colours_of)
{
    tdError error = {0};
    *mesh = (tdMesh){0};
    assert_ok(td_mesh_read_dae_colours(text, strlen(text), "x.dae", as_written, mesh, colours_of, &error), error);
}

static double volume_of(const tdMesh *mesh)
{
    double volume = 0;
    for (int64_t t = 0; t < mesh->cells[TD_CELL_TRI].count; t++)
    {
        const int32_t *n = mesh->cells[TD_CELL_TRI].nodes + 3 * t;
        const double *a = mesh->x + 3 * (int64_t)n[0], *b = mesh->x + 3 * (int64_t)n[1],
                     *c = mesh->x + 3 * (int64_t)n[2];
        volume += (a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) +
                   a[2] * (b[0] * c[1] - b[1] * c[0])) /
                  6;
    }
    return volume;
}

static void collada(void **unused)
{
    (void)unused;
    tdMesh mesh;
    tdDaeColours colours_of = {0};
    // A unit of 1 cm, turned, moved and scaled by nodes within nodes; with its colour.
    read_dae(DAE("<unit meter=\"0.01\"/><up_axis>Z_UP</up_axis>", TRIANGLES,
                 "<node><translate>10 0 0</translate><node><rotate>0 0 1 90</rotate><scale>2 1 1</scale>" INSTANCE
                 "</node></node>"),
             false, &mesh, &colours_of);
    assert_int_equal(mesh.cells[TD_CELL_TRI].count, 4);
    assert_near(mesh.x[3], 0.1, 1e-15); // (1, 0, 0) -> (0, 2, 0) -> (10, 2, 0) cm
    assert_near(mesh.x[4], 0.02, 1e-15);
    assert_near(volume_of(&mesh), 2e-6 / 6, 1e-18);
    assert_int_equal(colours_of.n, 1);
    assert_true(colours_of.rgba[0][0] == 1 && colours_of.rgba[0][1] == 0.5F);
    free(colours_of.rgba);
    td_mesh_free(&mesh);
    // Y up becomes z up, unless it is to be left as it is; a mirror keeps the outside outside.
    for (int k = 0; k < 2; k++)
    {
        read_dae(DAE("<up_axis>Y_UP</up_axis>", POLYGONS, "<node><scale>1 -1 1</scale>" INSTANCE "</node>"), k == 1,
                 &mesh, NULL);
        assert_near(mesh.x[6 + (k == 1 ? 1 : 2)], -1, 0);
        assert_near(volume_of(&mesh), 1.0 / 6, 1e-15);
        td_mesh_free(&mesh);
    }
    // Strips and fans, a matrix, a node that is an instance.
    read_dae(
        DAE("<up_axis>Z_UP</up_axis>",
            "<tristrips count=\"1\"><input semantic=\"VERTEX\" source=\"#v\" offset=\"0\"/><p>0 1 2 3</p></tristrips>"
            "<trifans count=\"1\"><input semantic=\"VERTEX\" source=\"#v\" offset=\"0\"/><p>0 1 2 3</p></trifans>"
            "<lines count=\"1\"><input semantic=\"VERTEX\" source=\"#v\" offset=\"0\"/><p>0 1</p></lines>",
            "<node id=\"n\"><matrix>1 0 0 5  0 1 0 0  0 0 1 0  0 0 0 1</matrix>" INSTANCE
            "</node><node><instance_node url=\"#n\"/></node>"),
        false, &mesh, NULL);
    const int32_t *tris = mesh.cells[TD_CELL_TRI].nodes;
    const int32_t expected[12] = {0, 1, 2, 2, 1, 3, 0, 1, 2, 0, 2, 3};
    assert_int_equal(mesh.cells[TD_CELL_TRI].count, 8);
    assert_memory_equal(tris, expected, sizeof expected);
    assert_near(mesh.x[0], 5, 0);
    assert_non_null(strstr(mesh.notes, "lines"));
    td_mesh_free(&mesh);
}

static void bad_collada(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *text, *why;
    } cases[] = {
        {"<robot/>", "not a Collada file"},
        {"<COLLADA", "not well-formed XML"},
        {"<!DOCTYPE a><COLLADA/>", "document type"},
        {"<COLLADA/>", "no triangles"},
        {DAE("", TRIANGLES, "<node><instance_geometry url=\"#x\"/></node>"), "not in the file"},
        {DAE("", TRIANGLES, "<node id=\"n\"><instance_node url=\"#n\"/></node>"), "in a circle"},
        {DAE("", "<triangles><p>0 1 2</p></triangles>", "<node>" INSTANCE "</node>"), "are the vertices"},
        {DAE("", "<triangles><input semantic=\"VERTEX\" offset=\"0\"/><p>0 1 7</p></triangles>",
             "<node>" INSTANCE "</node>"),
         "a position that does not exist"},
        {DAE("", "<triangles><input semantic=\"VERTEX\" offset=\"-1\"/><p>0 1 2</p></triangles>",
             "<node>" INSTANCE "</node>"),
         "0 to 63"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        tdMesh mesh = {0};
        tdError error = {0};
        assert_int_equal(td_mesh_read_dae(cases[i].text, strlen(cases[i].text), "x.dae", &mesh, &error),
                         TD_ERROR_INPUT);
        if (strstr(error.message, cases[i].why) == NULL)
            fail_msg("case %zu: expected '%s', found '%s'", i, cases[i].why, error.message);
        td_mesh_free(&mesh);
    }
}

// Of a robot the axes of a Collada file are as written, and its colours are kept.
static void collada_of_a_robot(void **unused)
{
    (void)unused;
    place p;
    make_place(&p);
    put(p.folder, "tet.dae", DAE("<up_axis>Y_UP</up_axis>", TRIANGLES, "<node>" INSTANCE "</node>"));
    static const char text[] = "<robot name=\"r\"><link name=\"a\"><visual><geometry><mesh filename=\"tet.dae\" "
                               "scale=\"2\"/></geometry></visual></link></robot>";
    assert_ok(parse_in(&p, text, p.folder, NULL, false), p.error);
    assert_int_equal(p.tree.n_shapes, 1);
    assert_true(p.tree.shapes[0].colour[1] == 0.5F);
    double largest[3] = {0};
    const tdTriMesh *mesh = p.tree.shapes[0].shape.mesh;
    for (int64_t i = 0; i < 3 * mesh->n_nodes; i++)
        largest[i % 3] = fmax(largest[i % 3], mesh->x[i]);
    assert_true(largest[0] == 2 && largest[1] == 2 && largest[2] == 2);
    leave(&p);
}

// ---------------------------------------------------------------- xacro

// A program of that name on the PATH expands the file; without it a message says how.
static void xacro(void **unused)
{
    (void)unused;
    place p;
    char path[160], robot[160], before[4096];
    make_place(&p);
    put(p.folder, "robot.urdf.xacro",
        "<robot name=\"r\" xmlns:xacro=\"http://www.ros.org/wiki/xacro\"><xacro:property name=\"x\"/></robot>");
    put(p.folder, "bin/xacro",
        "#!/bin/sh\n[ \"$ROS_PACKAGE_PATH\" = /here: ] && echo '<robot name=\"r\"><link "
        "name=\"expanded\"/></robot>'\n");
    snprintf(robot, sizeof robot, "%s/robot.urdf.xacro", p.folder);
    snprintf(path, sizeof path, "%s/bin/xacro", p.folder);
    chmod(path, 0700);
    snprintf(before, sizeof before, "%s", getenv("PATH"));
    const tdRobotFiles files = {.packages = "named=/there:/here"}, none = {.packages = "named=/there"};
    setenv("PATH", "/nonexistent", 1);
    assert_int_equal(td_urdf_read(&p.arena, robot, &files, &p.tree, &p.error), TD_ERROR_INPUT);
    assert_non_null(strstr(p.error.message, "xacro robot.urdf.xacro > robot.urdf"));
    snprintf(path, sizeof path, "%s/bin:/bin:/usr/bin", p.folder);
    setenv("PATH", path, 1);
    p.error = (tdError){0};
    assert_ok(td_urdf_read(&p.arena, robot, &files, &p.tree, &p.error), p.error);
    assert_string_equal(p.tree.links[0].name, "expanded");
    assert_int_equal(td_urdf_read(&p.arena, robot, &none, &p.tree, &p.error), TD_ERROR_INPUT);
    assert_non_null(strstr(p.error.message, "xacro cannot expand it"));
    setenv("PATH", before, 1);
    leave(&p);
}

// ---------------------------------------------------------------- starts

#define ELBOW(limits)                                                                                                  \
    ROBOT(BASE LINK("a", "1", "0 0 0", "1", "1", "1") LINK("b", "1", "0 0 0", "1", "1", "1")                           \
              JOINT("shoulder", "revolute", "base", "a", "0 0 0", "0 0 1", limits)                                     \
                  JOINT("elbow", "revolute", "a", "b", "0 0 0", "0 0 1",                                               \
                        "<limit lower=\"-1\" upper=\"1.5\"/><mimic joint=\"shoulder\" multiplier=\"-1\"/>"))

// A start that nobody gave is moved into the limits, also those of joints that follow; one that was given is refused.
static void starts_outside_limits(void **unused)
{
    (void)unused;
    static const char limits[] = ELBOW("<limit lower=\"0.5\" upper=\"2\"/>");
    tdModel *model = robot_model(limits, "time_step: 1 ms\nsteps: 1", "", "");
    assert_near(model->scene.bodies[0].tree->links[1].start, 0.5, 0);
    assert_true(warned(model->scene.bodies[0].tree,
                       "joint 'shoulder' would start at 0 rad, but its limits are 0.5 and 1 "
                       "rad; it starts at 0.5 rad"));
    td_model_free(model);
    robot_refused(limits, "time_step: 1 ms\nsteps: 1", "joints: [{name: shoulder, position: 0.1 rad}]", "",
                  "the range of joint 'shoulder' is 0.5 to 2 (rad); 0.1 is outside it");
    robot_refused(limits, "time_step: 1 ms\nsteps: 1", "joints: [{name: shoulder, position: 1.2 rad}]", "",
                  "joint 'elbow' (line 1 of");
    // Limits that contradict each other have no start.
    robot_refused(ELBOW("<limit lower=\"1.5\" upper=\"2\"/>"), "time_step: 1 ms\nsteps: 1", "", "", "its limits are");
}

// ---------------------------------------------------------------- links that meet

#define SOLID(name, mass, size)                                                                                        \
    "<link name=\"" name "\"><inertial><mass value=\"" mass "\"/><inertia ixx=\"" mass "\" iyy=\"" mass                \
    "\" izz=\"" mass "\"/></inertial><collision><geometry><box size=\"" size "\"/></geometry></collision></link>"

// base - (massless) - a: neighbours; a - b: neighbours; base and b: not, but they overlap; c stands alone.
static const char chain[] = ROBOT(SOLID("base", "1", "1 1 1") "<link name=\"middle\"/>" SOLID("a", "1", "1 1 1")
                                      SOLID("b", "1", "1 1 1") SOLID("c", "1", "1 1 1") SOLID("d", "1", "1 1 1")
                                          JOINT("j1", "continuous", "base", "middle", "0 0 0", "0 0 1", "")
                                              JOINT("j2", "continuous", "middle", "a", "0.2 0 0", "0 1 0", "")
                                                  JOINT("j3", "continuous", "a", "b", "0.2 0 0", "0 0 1", "")
                                                      JOINT("j4", "continuous", "b", "c", "4 0 0", "0 0 1", "")
                                                          JOINT("j5", "continuous", "c", "d", "4 0 0", "0 0 1", ""));

static bool meet(const tdModel *model, const char *one, const char *other)
{
    const tdTree *tree = model->scene.bodies[0].tree;
    int a = td_tree_link(tree, one), b = td_tree_link(tree, other), at[2] = {-1, -1};
    for (int i = 0; i < td_collide_colliders(model->contact->world); i++)
    {
        if (model->contact->colliders[i].link == a)
            at[0] = i;
        if (model->contact->colliders[i].link == b)
            at[1] = i;
    }
    assert_true(at[0] >= 0 && at[1] >= 0);
    return td_collide_may_meet(model->contact->world, at[0], at[1]);
}

static void who_meets_whom(void **unused)
{
    (void)unused;
    tdModel *model = robot_model(chain, "time_step: 1 ms\nsteps: 1", "", "contact: {self: true}");
    assert_true(!meet(model, "base", "a") && !meet(model, "a", "b"));
    assert_false(meet(model, "base", "b")); // overlap at the start
    assert_true(meet(model, "base", "c") && meet(model, "b", "d"));
    td_model_free(model);
    model = robot_model(chain, "time_step: 1 ms\nsteps: 1", "",
                        "contact: {self: true, overlapping: meet, exclude: [{a: r, link_a: base, b: r, link_b: c}]}");
    assert_true(!meet(model, "base", "a") && meet(model, "base", "b") && !meet(model, "base", "c"));
    td_model_free(model);
    robot_refused(chain, "time_step: 1 ms\nsteps: 1", "", "contact: {exclude: [{a: r, b: r, link_a: base}]}",
                  "two links of one");
    robot_refused(chain, "time_step: 1 ms\nsteps: 1", "",
                  "contact: {exclude: [{a: r, b: r, link_a: base, link_b: bass}]}", "did you mean 'base'");
}

// What overlaps at the start is said, by the links' names and how deep.
static void hear(void *user, tdLogLevel level, const char *message)
{
    (void)level;
    if (strstr(message, "overlap at the start") != NULL)
        snprintf(user, 400, "%s", message);
}

static void overlaps_are_said(void **unused)
{
    (void)unused;
    char path[] = "/tmp/tendril_robot_XXXXXX", text[400], said[400] = "";
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, chain, strlen(chain)) == (ssize_t)strlen(chain));
    close(file);
    snprintf(text, sizeof text,
             "tendril: 1\ntime_step: 1 ms\nsteps: 1\nbodies: [{name: r, type: articulated, urdf: %s}]\ncontact: {self: "
             "true}\n",
             path);
    tdSettings settings = td_default_settings();
    settings.log = hear;
    settings.log_user = said;
    tdModel *model = NULL;
    tdError error = {0};
    assert_ok(td_model_parse(text, strlen(text), "scene.yaml", NULL, &settings, &model, &error), error);
    assert_non_null(strstr(said, "links 'base' and 'b' overlap at the start by 600 mm and do not meet"));
    td_model_free(model);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_the_world),
        cmocka_unit_test(colours),
        cmocka_unit_test(joints_as_others_read_them),
        cmocka_unit_test(masses_left_out),
        cmocka_unit_test(point_masses),
        cmocka_unit_test(visuals_are_never_fatal),
        cmocka_unit_test(shapes_without_size_are_left_out),
        cmocka_unit_test(hulls),
        cmocka_unit_test(hulls_have_few_corners),
        cmocka_unit_test(packages),
        cmocka_unit_test(collada),
        cmocka_unit_test(bad_collada),
        cmocka_unit_test(collada_of_a_robot),
        cmocka_unit_test(xacro),
        cmocka_unit_test(starts_outside_limits),
        cmocka_unit_test(who_meets_whom),
        cmocka_unit_test(overlaps_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
