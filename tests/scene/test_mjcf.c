// SPDX-License-Identifier: Apache-2.0
// MJCF files: the same robots as by URDF, with the drives, loops and pairs of contact that the format has besides.
#include "rigid.h"

#include "contact/contact.h"
#include "scene/mjcf.h"

#include <sys/stat.h>

typedef struct robot
{
    tdArena arena;
    tdTree tree;
    tdError error;
} robot;

static tdStatus parse(robot *r, const char *text, const char *keyframe)
{
    const tdRobotFiles files = {0};
    *r = (robot){0};
    return td_mjcf_parse(&r->arena, text, strlen(text), "robot.xml", &files, keyframe, &r->tree, &r->error);
}

static const tdTreeLink *link_of(const robot *r, const char *name)
{
    int l = td_tree_link(&r->tree, name);
    if (l < 0)
        fail_msg("no link '%s'", name);
    return &r->tree.links[l];
}

static const tdTreeLink *joint_of(const robot *r, const char *name)
{
    int l = td_tree_joint(&r->tree, name);
    if (l < 0)
        fail_msg("no joint '%s'", name);
    return &r->tree.links[l];
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

#define WORLD(bodies) "<mujoco><worldbody>" bodies "</worldbody></mujoco>"
#define BALL          "<geom size=\"0.1\" mass=\"2\"/>"

// ---------------------------------------------------------------- bodies and joints

static void bodies_and_joints(void **unused)
{
    (void)unused;
    robot r;
    static const char text[] =
        "<mujoco><compiler eulerseq=\"XYZ\"/><worldbody><geom type=\"plane\" size=\"1 1 1\" pos=\"0 0 -1\"/>\n"
        "<body name=\"base\" pos=\"0 0 1\" euler=\"90 0 0\"><freejoint name=\"root\"/>" BALL "\n"
        "<body name=\"arm\" pos=\"1 0 0\"><joint name=\"x\" type=\"slide\" axis=\"2 0 0\" range=\"-1 2\"/>"
        "<joint name=\"turn\" pos=\"0 0 0.5\" axis=\"0 1 0\" range=\"-90 45\" damping=\"3\" armature=\"0.1\" "
        "frictionloss=\"0.2\"/><inertial pos=\"0 0 1\" mass=\"3\" diaginertia=\"1 2 3\"/>\n"
        "<geom type=\"box\" size=\"0.1 0.2 0.3\" pos=\"0 0 0.5\"/>\n"
        "<body name=\"hand\" pos=\"0 0 2\" quat=\"0.7071067811865476 0 0 0.7071067811865476\"><joint "
        "type=\"ball\"/>" BALL
        "</body></body><body pos=\"0 1 0\"><geom type=\"capsule\" fromto=\"0 0 0 0 0 2\" size=\"0.1\"/></body></body>"
        "</worldbody></mujoco>";
    assert_ok(parse(&r, text, NULL), r.error);
    assert_int_equal(r.tree.n_links, 6);
    assert_string_equal(r.tree.links[0].name, "world");
    const tdTreeLink *base = link_of(&r, "base"), *x = joint_of(&r, "x"), *turn = joint_of(&r, "turn");
    assert_true(base->kind == TD_JOINT_FREE && base->mass == 2 && base->parent == 0);
    assert_near(base->inertia[0], 0.4 * 2 * 0.01, 1e-15);
    assert_near(base->origin.R[5], -1, 1e-15); // y to z
    // A body with two joints: a link without mass, then its own, with its frame at the second joint's anchor.
    assert_true(x->kind == TD_JOINT_PRISMATIC && x->axis[0] == 1 && x->mass == 0 && x->origin.t[0] == 1);
    assert_string_equal(turn->name, "arm");
    assert_true(turn->kind == TD_JOINT_REVOLUTE && turn->origin.t[2] == 0.5 &&
                turn->parent == td_tree_joint(&r.tree, "x"));
    assert_near(turn->lower, -2 * atan(1), 1e-15);
    assert_near(turn->upper, atan(1), 1e-15);
    assert_true(turn->damping == 3 && turn->armature == 0.1 && turn->friction == 0.2 && turn->mass == 3);
    assert_true(turn->center[2] == 0.5 && turn->inertia[2] == 3);
    const tdTreeLink *hand = link_of(&r, "hand");
    assert_true(hand->kind == TD_JOINT_BALL && hand->origin.t[2] == 1.5);
    assert_near(hand->origin.R[3], 1, 1e-15);
    const tdTreeLink *pole = &r.tree.links[5];
    assert_true(pole->kind == TD_JOINT_FIXED && pole->center[2] == 1);
    assert_near(pole->mass, 1000 * 3.14159265358979 * (0.01 * 2 + 4.0 / 3 * 0.001), 1e-9);
    // Shapes by link, in their frames.
    assert_int_equal(r.tree.n_shapes, 5);
    assert_true(r.tree.shapes[0].shape.type == TD_SHAPE_PLANE && r.tree.shapes[0].pose.t[2] == -1);
    const tdTreeShape *box = &r.tree.shapes[2];
    assert_true(box->shape.type == TD_SHAPE_BOX && box->pose.t[2] == 0 && box->shape.half[2] == 0.3);
    assert_near(r.tree.shapes[4].shape.half[2], 1, 1e-15);
    assert_int_equal(r.tree.n_warnings, 0);
    td_arena_free(&r.arena);
}

// Where links are, with joints away from zero, is where the formulas of the format have them.
static void kinematics(void **unused)
{
    (void)unused;
    robot r;
    static const char text[] = WORLD(
        "<body name=\"a\" pos=\"1 2 3\"><joint name=\"s\" type=\"slide\" axis=\"0 0 1\"/><joint name=\"h\" pos=\"0 1 "
        "0\" axis=\"1 0 0\"/>" BALL "<body name=\"b\" pos=\"0 3 0\"><joint name=\"k\"/>" BALL "</body></body>");
    assert_ok(parse(&r, text, NULL), r.error);
    double angle = 0.7;
    r.tree.links[td_tree_joint(&r.tree, "s")].start = 0.25;
    r.tree.links[td_tree_joint(&r.tree, "h")].start = angle;
    tdPose b = td_tree_start(&r.tree, td_tree_link(&r.tree, "b"));
    // From the anchor at (1, 3, 3.25) two metres along y, turned about x.
    assert_near(b.t[0], 1, 1e-15);
    assert_near(b.t[1], 3 + 2 * cos(angle), 1e-15);
    assert_near(b.t[2], 3.25 + 2 * sin(angle), 1e-15);
    td_arena_free(&r.arena);
}

static void orientations(void **unused)
{
    (void)unused;
    // All of these turn z to x.
    static const char *const ways[] = {"axisangle=\"0 1 0 90\"", "euler=\"0 90 0\"", "zaxis=\"2 0 0\"",
                                       "xyaxes=\"0 0 -1 0 3 0\"", "quat=\"1 0 1 0\""};
    for (int k = 0; k < 5; k++)
    {
        robot r;
        char text[300];
        snprintf(text, sizeof text, WORLD("<body name=\"a\" %s><freejoint/>" BALL "</body>"), ways[k]);
        assert_ok(parse(&r, text, NULL), r.error);
        const double *R = link_of(&r, "a")->origin.R;
        assert_near(R[2], 1, 1e-15);
        assert_near(R[4], 1, 1e-15);
        assert_near(R[6], -1, 1e-15);
        td_arena_free(&r.arena);
    }
}

// Copies: turned once more each, moved on in the axes of the one before, with numbers in their names; also copies of
// copies, and geoms of one body. An actuator names the copy that it drives.
static void copies(void **unused)
{
    (void)unused;
    robot r;
    static const char text[] =
        "<mujoco><worldbody><replicate count=\"11\" offset=\"1 0 0\" sep=\"_\"><body name=\"ball\" pos=\"0 2 "
        "0\"><freejoint/>" BALL "</body></replicate>"
        "<body name=\"wheel\"><joint name=\"hub\"/><replicate count=\"4\" euler=\"0 0 90\"><geom name=\"spoke\" "
        "size=\"0.1\" mass=\"2\" pos=\"1 0 0\"/></replicate></body>"
        "<replicate count=\"2\" sep=\"o\" offset=\"0 0 1\"><replicate count=\"3\" sep=\"i\" offset=\"1 0 0\" "
        "euler=\"0 0 90\"><body name=\"b\" pos=\"5 0 0\"><joint name=\"j\"/>" BALL "</body></replicate></replicate>"
        "</worldbody><actuator><motor name=\"m\" joint=\"ji2o1\"/></actuator></mujoco>";
    assert_ok(parse(&r, text, NULL), r.error);
    assert_int_equal(r.tree.n_warnings, 0);
    assert_int_equal(r.tree.n_links, 1 + 11 + 1 + 6);
    for (int i = 0; i < 11; i++)
    {
        char name[16];
        snprintf(name, sizeof name, "ball_%02d", i);
        const double *t = link_of(&r, name)->origin.t;
        assert_true(t[0] == i && t[1] == 2 && t[2] == 0);
    }
    // Four balls of 2 kg around the hub.
    const tdTreeLink *wheel = link_of(&r, "wheel");
    assert_near(wheel->mass, 8, 1e-12);
    assert_near(wheel->inertia[2], 8 * (1 + 0.4 * 0.01), 1e-12);
    for (int k = 0; k < 3; k++)
        assert_near(wheel->center[k], 0, 1e-15);
    // The frames of the inner ones: at (0, 0), then (1, 0) turned to y, then (1, 1) turned to -x; all of that 1 higher.
    static const double places[3][2] = {{5, 0}, {1, 5}, {1 - 5, 1}};
    for (int i = 0; i < 6; i++)
    {
        char name[16];
        snprintf(name, sizeof name, "bi%do%d", i % 3, i / 3);
        const double *t = link_of(&r, name)->origin.t;
        assert_near(t[0], places[i % 3][0], 1e-14);
        assert_near(t[1], places[i % 3][1], 1e-14);
        assert_near(t[2], i / 3, 1e-14);
    }
    assert_int_equal(r.tree.n_drives, 1);
    td_arena_free(&r.arena);
}

// Classes within classes, the class of a body for all below it, and one's own; what is written at the element wins.
static void defaults(void **unused)
{
    (void)unused;
    robot r;
    static const char text[] =
        "<mujoco><compiler angle=\"radian\"/><default><geom size=\"0.2\" rgba=\"1 0 0 1\"/><joint damping=\"1\"/>"
        "<default class=\"soft\"><joint damping=\"2\" axis=\"1 0 0\"/><default class=\"softer\"><joint damping=\"4\"/>"
        "</default></default></default><default><geom friction=\"0.3\"/></default>\n"
        "<worldbody><body name=\"a\"><joint name=\"ja\"/><geom/><body name=\"b\" childclass=\"softer\"><joint "
        "name=\"jb\"/><geom size=\"0.3\" contype=\"0\" conaffinity=\"0\" group=\"1\"/><body name=\"c\"><joint "
        "name=\"jc\" "
        "class=\"soft\" range=\"0 1\" limited=\"false\"/><geom group=\"3\"/></body></body></body></worldbody></mujoco>";
    assert_ok(parse(&r, text, NULL), r.error);
    const tdTreeLink *a = joint_of(&r, "ja"), *b = joint_of(&r, "jb"), *c = joint_of(&r, "jc");
    assert_true(a->damping == 1 && a->axis[2] == 1 && b->damping == 4 && b->axis[0] == 1 && c->damping == 2);
    assert_true(isinf(c->upper) && c->kind == TD_JOINT_CONTINUOUS);
    const tdTreeShape *s = r.tree.shapes;
    assert_int_equal(r.tree.n_shapes, 3);
    assert_true(s[0].shape.radius == 0.2 && s[1].shape.radius == 0.3 && s[0].colour[0] == 1);
    assert_true(s[0].rubs && s[0].friction == 0.3);
    assert_true(s[0].collides && s[0].drawn && !s[1].collides && s[1].drawn && s[2].collides && !s[2].drawn);
    td_arena_free(&r.arena);
}

// ---------------------------------------------------------------- what acts

#define TWO                                                                                                            \
    "<worldbody><body name=\"a\"><joint name=\"j\" axis=\"0 1 0\"/>" BALL "<body name=\"b\" pos=\"0 0 1\"><joint "     \
    "name=\"k\" axis=\"0 1 0\" actuatorfrcrange=\"-5 5\"/>" BALL "</body></body></worldbody>"

static void actuators(void **unused)
{
    (void)unused;
    robot r;
    static const char text[] =
        "<mujoco><default><default class=\"p\"><position kp=\"100\" ctrlrange=\"-1 1\" forcerange=\"-20 "
        "20\"/></default>"
        "</default>" TWO "<tendon><fixed name=\"both\"><joint joint=\"j\" coef=\"1\"/><joint joint=\"k\" coef=\"2\"/>"
        "</fixed></tendon><actuator><motor name=\"m\" joint=\"j\" gear=\"10\" ctrlrange=\"-1 2\"/>"
        "<position name=\"p\" class=\"p\" joint=\"k\" kv=\"3\"/><velocity name=\"v\" joint=\"j\" kv=\"7\"/>"
        "<general name=\"g\" joint=\"j\" gear=\"2\" gaintype=\"fixed\" biastype=\"affine\" gainprm=\"50\" biasprm=\"10 "
        "-100 -4\" ctrlrange=\"0 4\"/><general name=\"plain\" joint=\"j\" gainprm=\"3\"/>"
        "<position name=\"critical\" joint=\"j\" kp=\"50\" dampratio=\"1\"/>"
        "<position name=\"t\" tendon=\"both\" kp=\"9\"/><muscle joint=\"j\"/><motor "
        "site=\"nowhere\"/></actuator></mujoco>";
    assert_ok(parse(&r, text, NULL), r.error);
    const tdTreeDrive *d = r.tree.drives;
    assert_int_equal(r.tree.n_drives, 6);
    assert_true(d[0].kind == TD_TREE_EFFORT && d[0].effort[0] == -10 && d[0].effort[1] == 20);
    assert_true(d[1].kind == TD_TREE_POSITION && d[1].stiffness == 100 && d[1].damping == 3 && d[1].range[1] == 1);
    assert_true(d[1].effort[1] == 5); // that of the joint, which is less
    assert_true(d[2].kind == TD_TREE_RATE && d[2].damping == 7);
    // 50 c + 10 - 100 (2 x) - 4 (2 v), twice at the joint: stiffness 400 about x = (50 c + 10) / 200.
    assert_true(d[3].kind == TD_TREE_POSITION && d[3].stiffness == 400 && d[3].damping == 16);
    assert_near(d[3].range[0], 0.05, 1e-15);
    assert_near(d[3].range[1], 1.05, 1e-15);
    assert_true(d[4].kind == TD_TREE_EFFORT && isinf(d[4].effort[1]));
    // Two balls of 2 kg, one a metre away.
    assert_near(d[5].damping, 2 * sqrt(50 * (2 * 0.008 + 2)), 1e-9);
    assert_true(warned(&r.tree, "actuator position (1), actuator muscle (1), motor site (1), actuator motor (1)"));
    td_arena_free(&r.arena);
}

// Of joints that follow each other a drive is one of the leader, by tendon too.
static void followers(void **unused)
{
    (void)unused;
    robot r;
    static const char text[] =
        "<mujoco>" TWO "<tendon><fixed name=\"both\"><joint joint=\"j\" coef=\"1\"/><joint joint=\"k\" coef=\"2\"/>"
        "</fixed></tendon><equality><joint joint1=\"k\" joint2=\"j\" polycoef=\"0.1 3 0 0 0\"/></equality>"
        "<actuator><position name=\"t\" tendon=\"both\" kp=\"9\"/><motor name=\"m\" joint=\"k\"/></actuator></mujoco>";
    assert_ok(parse(&r, text, NULL), r.error);
    int j = td_tree_joint(&r.tree, "j");
    const tdTreeLink *k = joint_of(&r, "k");
    assert_true(k->mimic == j && k->ratio == 3 && k->offset == 0.1);
    const tdTreeDrive *d = r.tree.drives;
    assert_true(d[0].link == j && d[0].stiffness == 9 * 49 && d[1].link == j && d[1].effort[1] == 5 * 3);
    td_arena_free(&r.arena);
}

// A spring of a joint pulls towards its rest.
static void springs(void **unused)
{
    (void)unused;
    robot r;
    assert_ok(
        parse(&r,
              WORLD("<body name=\"a\"><joint name=\"j\" stiffness=\"30\" springref=\"90\" ref=\"10\"/>" BALL "</body>"),
              NULL),
        r.error);
    assert_int_equal(r.tree.n_drives, 1);
    assert_string_equal(r.tree.drives[0].name, "j_spring");
    assert_true(r.tree.drives[0].stiffness == 30);
    assert_near(r.tree.drives[0].target, 80 * atan(1) / 45, 1e-15);
    td_arena_free(&r.arena);
}

static void keyframes(void **unused)
{
    (void)unused;
    robot r;
    static const char text[] =
        "<mujoco><worldbody><body name=\"a\"><freejoint/>" BALL "<body name=\"b\"><joint name=\"j\"/>" BALL
        "<body name=\"c\"><joint type=\"ball\"/>" BALL
        "</body></body></body></worldbody><actuator><position name=\"p\" "
        "joint=\"j\" kp=\"10\" gear=\"2\"/></actuator><keyframe><key name=\"other\" qpos=\"0\"/><key name=\"home\" "
        "qpos=\"1 "
        "2 3 0 0 0 1 0.5 1 0 0 0\" ctrl=\"3\"/></keyframe></mujoco>";
    assert_ok(parse(&r, text, "home"), r.error);
    const tdTreeLink *a = link_of(&r, "a");
    assert_true(a->origin.t[2] == 3 && a->origin.R[0] == -1 && joint_of(&r, "j")->start == 0.5);
    assert_near(r.tree.drives[0].target, 1.5, 1e-15);
    td_arena_free(&r.arena);
    assert_ok(parse(&r, text, NULL), r.error);
    assert_true(link_of(&r, "a")->origin.t[2] == 0 && isnan(r.tree.drives[0].target));
    td_arena_free(&r.arena);
    assert_int_equal(parse(&r, text, "other"), TD_ERROR_INPUT);
    assert_non_null(strstr(r.error.message, "'qpos' has 1 numbers; the joints of the file have 12"));
    td_arena_free(&r.arena);
    assert_int_equal(parse(&r, text, "none"), TD_ERROR_INPUT);
    assert_non_null(strstr(r.error.message, "no keyframe 'none'"));
    td_arena_free(&r.arena);
}

// Everything that is not read is in one warning, with its count.
static void nothing_is_dropped_silently(void **unused)
{
    (void)unused;
    robot r;
    static const char text[] =
        "<mujoco><option timestep=\"0.001\"/><visual><headlight/></visual><worldbody><light/><light/><camera/>"
        "<geom type=\"hfield\"/><body><freejoint/><geom size=\"0.1\" solref=\"1 1\"/><geom size=\"0.1\" solref=\"1 "
        "1\"/>"
        "</body></worldbody><sensor><gyro/><gyro/></sensor><equality><tendon/><connect active=\"false\"/></equality>"
        "<contact><thing/></contact></mujoco>";
    assert_ok(parse(&r, text, NULL), r.error);
    assert_int_equal(r.tree.n_warnings, 1);
    static const char *const parts[] = {"light (2)",
                                        "camera (1)",
                                        "geom of type hfield (1)",
                                        "geom solref (2)",
                                        "sensor gyro (2)",
                                        "option timestep (1)",
                                        "visual (1)",
                                        "contact thing",
                                        "equality tendon (1)",
                                        "equality that is not active: connect (1)"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        assert_true(warned(&r.tree, parts[i]));
    td_arena_free(&r.arena);
}

// So is an attribute that nobody knows, of whatever element.
static void attributes_are_not_dropped_silently(void **unused)
{
    (void)unused;
    robot r;
    static const char text[] =
        "<mujoco><compiler odd=\"1\"/>"
        "<asset><mesh name=\"m\" odd=\"1\" vertex=\"0 0 0 1 0 0 0 1 0 0 0 1\"/><material name=\"red\" "
        "odd=\"1\"/></asset>"
        "<worldbody><frame odd=\"1\"><body name=\"a\" odd=\"1\"><joint name=\"j\" odd=\"1\"/><inertial odd=\"1\" "
        "mass=\"1\" "
        "pos=\"0 0 0\" diaginertia=\"1 1 1\"/><geom name=\"g\" size=\"0.1\" odd=\"1\"/><site name=\"s\" "
        "odd=\"1\"/></body></frame>"
        "<replicate count=\"1\" odd=\"1\"><body name=\"b\" pos=\"1 0 0\"><freejoint odd=\"1\"/><geom name=\"h\" "
        "size=\"0.1\"/>"
        "</body></replicate></worldbody>"
        "<actuator><motor joint=\"j\" odd=\"1\"/></actuator>"
        "<equality><connect active=\"false\" odd=\"1\"/><weld active=\"false\" odd=\"1\"/><joint active=\"false\" "
        "odd=\"1\"/></equality>"
        "<contact><exclude body1=\"a\" body2=\"a\" odd=\"1\"/><pair geom1=\"g\" geom2=\"g\" odd=\"1\"/></contact>"
        "</mujoco>";
    assert_ok(parse(&r, text, NULL), r.error);
    static const char *const parts[] = {"compiler odd (1)", "mesh odd (1)",      "material odd (1)",  "frame odd (1)",
                                        "body odd (1)",     "joint odd (2)",     "inertial odd (1)",  "geom odd (1)",
                                        "site odd (1)",     "replicate odd (1)", "freejoint odd (1)", "motor odd (1)",
                                        "connect odd (1)",  "weld odd (1)",      "exclude odd (1)",   "pair odd (1)"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!warned(&r.tree, parts[i]))
            fail_msg("%s is not in: %s", parts[i], r.tree.n_warnings > 0 ? r.tree.warnings[0] : "");
    td_arena_free(&r.arena);
}

static void bad_documents(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *text, *why;
    } cases[] = {
        {"<robot/>", "not an MJCF file"},
        {"<mujoco/>", "no <worldbody>"},
        {"<!DOCTYPE a><mujoco/>", "document type"},
        {WORLD("<body><joint type=\"screw\"/>" BALL "</body>"), "'screw' are not supported"},
        {WORLD("<body><joint axis=\"0 0 0\"/>" BALL "</body>"), "the axis is zero"},
        {WORLD("<body><joint axis=\"0 0\"/>" BALL "</body>"), "expected 3 numbers"},
        {WORLD("<body><joint damping=\"-1\"/>" BALL "</body>"), "must not be negative"},
        {WORLD("<body quat=\"0 0 0 0\"/>"), "quaternion is zero"},
        {WORLD("<body xyaxes=\"1 0 0 2 0 0\"/>"), "or both are one"},
        {WORLD("<body pos=\"x 0 0\"/>"), "expected 3 numbers"},
        {WORLD("<body pos=\"1e99 0 0\"/>"), "expected finite numbers"},
        {WORLD("<body><body><freejoint/>" BALL "</body></body>"), "a free joint is the only one"},
        {WORLD("<body><freejoint/><inertial mass=\"-1\"/></body>"), "must not be negative"},
        {WORLD("<geom class=\"none\"/>"), "no default class 'none'"},
        {WORLD("<body childclass=\"none\"/>"), "no default class 'none'"},
        {WORLD("<body name=\"a\"/><body><body name=\"a\"/></body>"), "two bodies have the same name 'a'"},
        {WORLD("<body><joint name=\"j\"/><geom size=\"1\"/></body><body><joint name=\"j\"/><geom size=\"1\"/></body>"),
         "two joints have the same name 'j'"},
        {WORLD("<geom type=\"mesh\" mesh=\"none\"/>"), "no mesh 'none'"},
        {WORLD("<geom contype=\"0.5\"/>"), "a whole number"},
        {WORLD("<replicate><geom/></replicate>"), "'count' is 0; 1 to 65536"},
        {WORLD("<replicate count=\"1000000\"/>"), "1 to 65536 copies"},
        {WORLD("<replicate count=\"60000\"><replicate count=\"60000\"/></replicate>"), "1 to 5536 copies"},
        {WORLD("<replicate count=\"2\" euler=\"0 0\"/>"), "expected 3 numbers"},
        {"<mujoco><include file=\"x.xml\"/></mujoco>", "has no folder"},
        {"<mujoco><include/></mujoco>", "'file' is missing"},
        {"<mujoco><compiler coordinate=\"global\"/></mujoco>", "only local coordinates"},
        {"<mujoco><compiler eulerseq=\"abc\"/></mujoco>", "letters x, y, z"},
        {"<mujoco>" TWO "<actuator><motor joint=\"none\"/></actuator></mujoco>", "no joint 'none'"},
        {"<mujoco>" TWO "<equality><connect body1=\"none\" anchor=\"0 0 0\"/></equality></mujoco>",
         "a body that does not exist"},
        {"<mujoco>" TWO "<contact><exclude body1=\"a\" body2=\"none\"/></contact></mujoco>",
         "a body that does not exist"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        robot r;
        char text[1200];
        tdStatus status = parse(&r, cases[i].text, NULL);
        td_error_format(&r.error, text, sizeof text);
        if (status != TD_ERROR_INPUT || strstr(text, cases[i].why) == NULL || strstr(text, "robot.xml") == NULL)
            fail_msg("case %zu (%s): expected '%s', found '%s'", i, cases[i].text, cases[i].why,
                     status == TD_OK ? "no error" : text);
        td_arena_free(&r.arena);
    }
}

// ---------------------------------------------------------------- files

// Meshes below meshdir, scaled, touch by their hulls; what is included stands where it is included.
static void files(void **unused)
{
    (void)unused;
    char folder[] = "/tmp/tendril_mjcf_XXXXXX", path[128];
    assert_non_null(mkdtemp(folder));
    static const char *const names[] = {"assets/tet.obj", "arm.xml", "robot.xml"};
    static const char *const texts[] = {
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n",
        "<mujoco><asset><mesh file=\"tet.obj\" scale=\"2 1 1\" refpos=\"1 0 0\"/><material name=\"green\" rgba=\"0 1 0 "
        "1\"/></asset><worldbody><body name=\"a\"><freejoint/><geom type=\"mesh\" mesh=\"tet\" material=\"green\" "
        "group=\"0\"/><geom type=\"mesh\" mesh=\"none\" contype=\"0\" conaffinity=\"0\"/></body></worldbody></mujoco>",
        "<mujoco><compiler meshdir=\"assets\"/><include file=\"arm.xml\"/></mujoco>"};
    snprintf(path, sizeof path, "%s/assets", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    for (int k = 0; k < 3; k++)
    {
        snprintf(path, sizeof path, "%s/%s", folder, names[k]);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(texts[k], file);
        fclose(file);
    }
    robot r = {0};
    const tdRobotFiles none = {0};
    assert_ok(td_mjcf_read(&r.arena, path, &none, NULL, &r.tree, &r.error), r.error);
    assert_int_equal(r.tree.n_shapes, 2);
    assert_true(r.tree.shapes[0].shape.type == TD_SHAPE_MESH && r.tree.shapes[0].drawn && !r.tree.shapes[0].collides);
    assert_true(r.tree.shapes[1].shape.type == TD_SHAPE_HULL && r.tree.shapes[1].collides && !r.tree.shapes[1].drawn);
    assert_true(r.tree.shapes[0].colour[1] == 1);
    assert_near(link_of(&r, "a")->mass, 1000 * 2.0 / 6, 1e-9);
    assert_near(link_of(&r, "a")->center[0], 0.5 - 1, 1e-12);
    // The hull is sound where refpos has moved it.
    double normal[3], at[3] = {-0.5, 0.25, 0.25};
    assert_true(td_shape_distance(&r.tree.shapes[1].shape, at, NULL, normal) < 0);
    assert_true(warned(&r.tree, "is not drawn: there is no mesh 'none'"));
    td_arena_free(&r.arena);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

// ---------------------------------------------------------------- scenes

static tdModel *load(const char *key, const char *robot_text, const char *body, const char *rest)
{
    char path[64] = "/tmp/tendril_robot_XXXXXX";
    static char text[4096];
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, robot_text, strlen(robot_text)), (ssize_t)strlen(robot_text));
    close(file);
    snprintf(
        text, sizeof text,
        "tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 1 ms\nsteps: 10\nbodies:\n  - {name: r, type: articulated, "
        "%s: %s%s%s}\n%s\n",
        key, path, body[0] != '\0' ? ", " : "", body, rest);
    tdModel *model = NULL;
    tdError error = {0};
    tdStatus status = td_model_parse(text, strlen(text), "scene.yaml", NULL, NULL, &model, &error);
    unlink(path);
    assert_ok(status, error);
    return model;
}

static tdState *run(const tdModel *model, int steps)
{
    tdState *state = NULL;
    tdError error = {0};
    assert_ok(td_state_create(model, NULL, &state, &error), error);
    for (int i = 0; i < steps; i++)
        assert_ok(td_step(model, state), td_state_report(state)->error);
    return state;
}

// The same double pendulum by both formats moves alike.
static void same_as_urdf(void **unused)
{
    (void)unused;
    static const char urdf[] =
        "<robot name=\"r\"><link name=\"base\"/><link name=\"a\"><inertial><origin xyz=\"0 0 -0.5\"/><mass "
        "value=\"1\"/>"
        "<inertia ixx=\"0.1\" iyy=\"0.2\" izz=\"0.15\"/></inertial></link><link name=\"b\"><inertial><origin xyz=\"0.1 "
        "0 "
        "-0.5\"/><mass value=\"2\"/><inertia ixx=\"0.1\" iyy=\"0.2\" izz=\"0.15\" ixy=\"0.01\"/></inertial></link>"
        "<joint name=\"ja\" type=\"continuous\"><parent link=\"base\"/><child link=\"a\"/><origin xyz=\"0 0 1\"/><axis "
        "xyz=\"0 1 0\"/><dynamics damping=\"0.1\"/></joint><joint name=\"jb\" type=\"revolute\"><parent "
        "link=\"a\"/><child "
        "link=\"b\"/><origin xyz=\"0 0 -1\" rpy=\"0.3 0 0\"/><axis xyz=\"0 1 0\"/><limit lower=\"-1\" upper=\"1\" "
        "effort=\"9\"/></joint></robot>";
    static const char mjcf[] = WORLD(
        "<body name=\"a\" pos=\"0 0 1\"><joint name=\"ja\" axis=\"0 1 0\" damping=\"0.1\"/><inertial pos=\"0 0 -0.5\" "
        "mass=\"1\" diaginertia=\"0.1 0.2 0.15\"/><body name=\"b\" pos=\"0 0 -1\" axisangle=\"1 0 0 "
        "17.188733853924695\"><joint name=\"jb\" axis=\"0 1 0\" range=\"-57.29577951308232 57.29577951308232\"/>"
        "<inertial pos=\"0.1 0 -0.5\" mass=\"2\" fullinertia=\"0.1 0.2 0.15 0.01 0 0\"/></body></body>");
    static const char start[] = "joints: [{name: ja, position: 1 rad}, {name: jb, position: 0.5 rad}]";
    tdModel *models[2] = {load("urdf", urdf, start, ""), load("mjcf", mjcf, start, "")};
    tdState *states[2] = {run(models[0], 500), run(models[1], 500)};
    const double *x[2];
    for (int k = 0; k < 2; k++)
        x[k] = td_state_positions(models[k], states[k], 0);
    // Nodes 8 and on are the frame of the last link.
    for (int i = 3 * 8; i < 3 * 12; i++)
        assert_near(x[1][i], x[0][i], 1e-10);
    for (int k = 0; k < 2; k++)
    {
        td_state_free(states[k]);
        td_model_free(models[k]);
    }
}

// Drives are actuators of the scene by their names; servos hold the keyframe's control.
static void drives_act(void **unused)
{
    (void)unused;
    static const char text[] =
        "<mujoco><worldbody><body name=\"a\"><joint name=\"j\" axis=\"0 1 0\" damping=\"1\"/><geom size=\"0.1\" "
        "mass=\"1\" "
        "pos=\"0 0 -1\"/></body></worldbody><actuator><position name=\"servo\" joint=\"j\" kp=\"1e5\" kv=\"1e3\"/>"
        "</actuator><keyframe><key name=\"home\" qpos=\"0.2\" ctrl=\"0.4\"/></keyframe></mujoco>";
    tdModel *model = load("mjcf", text, "keyframe: home", "");
    assert_int_equal(td_model_actuators(model), 1);
    assert_string_equal(td_model_actuator(model, 0).name, "servo");
    tdState *state = run(model, 1000);
    assert_near(td_state_actuation(model, state, 0).displacement, 0.4, 1e-3);
    td_state_free(state);
    td_model_free(model);
    // A spring alone: g m l sin(x) = k x.
    model = load("mjcf",
                 WORLD("<body name=\"a\"><joint name=\"j\" axis=\"0 1 0\" damping=\"100\" stiffness=\"981\" "
                       "springref=\"57.29577951308232\"/><geom size=\"0.1\" mass=\"1\" pos=\"0 0 -1\"/></body>"),
                 "", "");
    state = run(model, 5000);
    double x = td_state_actuation(model, state, 0).displacement;
    assert_near(981 * (1 - x), 9.81 * sin(x), 1e-3 * 981);
    td_state_free(state);
    td_model_free(model);
}

// A loop that `connect` closes stays closed: a four-bar linkage swings.
static void loops_stay_closed(void **unused)
{
    (void)unused;
    static const char text[] =
        "<mujoco><worldbody><body name=\"a\"><joint axis=\"0 1 0\"/><geom type=\"capsule\" fromto=\"0 0 0 0 0 -1\" "
        "size=\"0.02\" contype=\"0\" conaffinity=\"0\"/><body name=\"b\" pos=\"0 0 -1\"><joint axis=\"0 1 0\"/><geom "
        "type=\"capsule\" fromto=\"0 0 0 1 0 0\" size=\"0.02\" contype=\"0\" conaffinity=\"0\"/></body></body>"
        "<body name=\"c\" pos=\"1 0 0\"><joint axis=\"0 1 0\"/><geom type=\"capsule\" fromto=\"0 0 0 0 0 -1\" "
        "size=\"0.02\" contype=\"0\" conaffinity=\"0\"/></body></worldbody><equality><connect name=\"loop\" "
        "body1=\"b\" "
        "body2=\"c\" anchor=\"1 0 0\"/></equality></mujoco>";
    tdModel *model = load("mjcf", text, "joints: [{name: a_joint1, position: 0.01 rad}]", "");
    assert_int_equal(model->scene.n_attachments, 1);
    assert_string_equal(model->scene.attachments[0].name, "r.loop");
    // At the start the joint is turned a little, so that b's end is not where c's is: what matters is that they stay.
    tdState *state = run(model, 300);
    const tdTree *tree = model->scene.bodies[0].tree;
    const double *x = td_state_positions(model, state, 0);
    int b = td_tree_link(tree, "b"), c = td_tree_link(tree, "c");
    // b's frame does not turn in a parallelogram, a and c alike.
    double drop_a = x[3 * (4 * b) + 2], across = x[3 * (4 * c)];
    assert_true(drop_a > -1 - 1e-6 && across == 1);
    assert_true(td_state_report(state)->attachment_error < 1e-5);
    td_state_free(state);
    td_model_free(model);
}

static bool meet(const tdModel *model, const char *one, const char *other)
{
    const tdTree *tree = model->scene.bodies[0].tree;
    int at[2] = {-1, -1}, n = 0;
    for (int s = 0; s < tree->n_shapes; s++)
    {
        if (!tree->shapes[s].collides)
            continue;
        for (int k = 0; k < 2; k++)
            if (strcmp(tree->shapes[s].name, k == 0 ? one : other) == 0)
                at[k] = n;
        n++;
    }
    assert_true(at[0] >= 0 && at[1] >= 0);
    return td_collide_may_meet(model->contact->world, at[0], at[1]);
}

#define FREE(name, x, more)                                                                                            \
    "<body name=\"" name "\" pos=\"" x " 0 0\"><freejoint/><geom name=\"" name "\" size=\"0.1\" mass=\"1\" " more      \
    "/></body>"

// Masks of types, pairs that are left out and pairs that meet in any case; friction of single geoms.
static void who_meets_whom(void **unused)
{
    (void)unused;
    static const char text[] =
        "<mujoco><worldbody><geom name=\"floor\" type=\"plane\" pos=\"0 0 -1\"/>" FREE("a", "0", "") FREE("b", "1", "")
            FREE("c", "2", "contype=\"2\" conaffinity=\"2\" friction=\"0.9 0.03 0.02\" condim=\"4\"")
                FREE("d", "3", "contype=\"0\" conaffinity=\"0\" condim=\"6\" friction=\"0.7\"")
                    FREE("e", "4", "condim=\"1\"") "</worldbody><contact><exclude body1=\"a\" body2=\"b\"/><pair "
                                                   "geom1=\"d\" geom2=\"a\"/></contact></mujoco>";
    tdModel *model = load("mjcf", text, "", "contact: {friction: 0.4, rolling_friction: 1 mm}");
    assert_true(meet(model, "floor", "a") && meet(model, "floor", "b") && !meet(model, "floor", "c"));
    assert_true(!meet(model, "a", "b") && !meet(model, "a", "c") && meet(model, "a", "e"));
    assert_true(meet(model, "a", "d") && !meet(model, "b", "d") && !meet(model, "floor", "d"));
    assert_near(model->contact->colliders[1].friction, 0.4, 0);
    assert_near(model->contact->colliders[3].friction, 0.9, 0);
    assert_near(model->contact->colliders[5].friction, 0, 0);
    // Of a geom that says how many directions resist, all of them; of others what the scene says.
    static const double torsion[] = {0, 0, 0, 0.03, 0.005, 0}, rolling[] = {1e-3, 1e-3, 1e-3, 0, 1e-4, 0};
    for (int i = 0; i < 6; i++)
    {
        assert_near(model->contact->colliders[i].torsion, torsion[i], 0);
        assert_near(model->contact->colliders[i].rolling, rolling[i], 0);
    }
    // A ball falls on the floor of the file and lies there.
    tdState *state = run(model, 1500);
    const double *x = td_state_positions(model, state, 0);
    int a = td_tree_link(model->scene.bodies[0].tree, "a");
    assert_near(x[3 * (4 * a) + 2], -0.9, 2e-3);
    td_state_free(state);
    td_model_free(model);
}

static void keys_of_scenes(void **unused)
{
    (void)unused;
    static const char *const cases[][2] = {
        {"urdf: a.urdf, mjcf: b.xml", "exclude each other"},
        {"mjcf: none.xml, base: free", "an MJCF file says itself what is free"},
        {"mjcf: none.xml, collision_mesh: hull", "by their convex hulls"},
        {"urdf: none.urdf, keyframe: home", "is for MJCF files"},
        {"joints: []", "the key 'urdf' is missing"},
    };
    for (int i = 0; i < 5; i++)
    {
        char text[300], message[1200];
        snprintf(text, sizeof text,
                 "tendril: 1\ntime_step: 1 ms\nsteps: 1\nbodies: [{name: r, type: articulated, %s}]\n", cases[i][0]);
        tdModel *model = NULL;
        tdError error = {0};
        assert_int_equal(td_model_parse(text, strlen(text), "scene.yaml", NULL, NULL, &model, &error), TD_ERROR_INPUT);
        td_error_format(&error, message, sizeof message);
        if (strstr(message, cases[i][1]) == NULL)
            fail_msg("expected '%s', found '%s'", cases[i][1], message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_and_joints),
        cmocka_unit_test(kinematics),
        cmocka_unit_test(orientations),
        cmocka_unit_test(copies),
        cmocka_unit_test(defaults),
        cmocka_unit_test(actuators),
        cmocka_unit_test(followers),
        cmocka_unit_test(springs),
        cmocka_unit_test(keyframes),
        cmocka_unit_test(nothing_is_dropped_silently),
        cmocka_unit_test(attributes_are_not_dropped_silently),
        cmocka_unit_test(bad_documents),
        cmocka_unit_test(files),
        cmocka_unit_test(same_as_urdf),
        cmocka_unit_test(drives_act),
        cmocka_unit_test(loops_stay_closed),
        cmocka_unit_test(who_meets_whom),
        cmocka_unit_test(keys_of_scenes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
