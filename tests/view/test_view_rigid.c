// SPDX-License-Identifier: Apache-2.0
// The viewer's server with links, planes, contact, tools and reduced bodies on frames: what it sends is where things
// are, and what clients move stops with them.
#include "frames.h"
#include "view_server.h"

#include "view/describe.h"

static const char tumbling[] =
    "tendril: 1\n"
    "gravity: [0, 0, -10]\n"
    "time_step: 0.002\n"
    "duration: 1\n"
    "contact: {friction: 0.5}\n"
    "bodies:\n"
    "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
    "  - {name: wall, type: rigid, shape: {box: [0.1, 1, 1]}, fixed: true, transform: {translate: [2, 0, 0.6]}}\n"
    "  - name: arm\n"
    "    type: articulated\n"
    "    urdf: arm.urdf\n"
    "    transform: {translate: [0, 0, 1.5]}\n"
    "  - {name: brick, type: rigid, shape: {box: [0.2, 0.1, 0.1]}, density: 100, transform: {translate: [0, 1, "
    "0.05]}}\n"
    "  - name: jelly\n"
    "    mesh: {box: [[-0.1, -1, 0], [0.1, -0.8, 0.2]], cells: [2, 2, 2]}\n"
    "    material: {law: corotational_lagged, young: 2e5, poisson: 0.4, density: 1000}\n"
    "  - {name: lamp, type: rigid, shape: {sphere: 0.1}, density: 100, transform: {translate: [-1, 0, 2]}}\n"
    "attachments: [{name: hook, a: lamp, points: [[-1, 0, 2.1]], space: true}]\n"
    "actuators:\n"
    "  - {name: knee, type: joint, body: arm, joint: knee, drive: position, stiffness: 500, damping: 50}\n"
    "  - {name: claw, type: joint, body: arm, joint: claw, drive: position, stiffness: 500, damping: 50}\n"
    "tools: [{name: hand, body: arm, link: shin}]\n"
    "probes:\n"
    "  - {name: tip, body: arm, link: shin, point: [0.9, 0.05, 1.5]}\n"
    "  - {name: edge, body: brick, link: brick, point: [0.1, 1.05, 0.1]}\n";

static const char arm[] =
    "<robot name=\"arm\"><material name=\"red\"><color rgba=\"0.9 0.1 0.2 1\"/></material><link name=\"base\"/>"
    "<link name=\"thigh\"><inertial><origin xyz=\"0.25 0 0\"/><mass value=\"1\"/><inertia ixx=\"0.1\" iyy=\"0.1\" "
    "izz=\"0.1\"/></inertial><visual><origin xyz=\"0.25 0 0\"/><geometry><box size=\"0.5 0.1 0.1\"/></geometry>"
    "<material name=\"red\"/></visual></link>"
    "<link name=\"shin\"><inertial><origin xyz=\"0.2 0 0\"/><mass value=\"1\"/><inertia ixx=\"0.1\" iyy=\"0.1\" "
    "izz=\"0.1\"/></inertial><visual><origin xyz=\"0.2 0 0\"/><geometry><box size=\"0.4 0.1 0.1\"/></geometry></visual>"
    "</link>"
    "<link name=\"nail\"><inertial><mass value=\"0.1\"/><inertia ixx=\"0.01\" iyy=\"0.01\" izz=\"0.01\"/></inertial>"
    "<visual><geometry><sphere radius=\"0.03\"/></geometry></visual></link>"
    "<joint name=\"hip\" type=\"ball\"><parent link=\"base\"/><child link=\"thigh\"/></joint>"
    "<joint name=\"knee\" type=\"revolute\"><parent link=\"thigh\"/><child link=\"shin\"/><origin xyz=\"0.5 0 0\"/>"
    "<axis xyz=\"0 1 0\"/><limit lower=\"-1\" upper=\"2\" effort=\"1000\" velocity=\"10\"/></joint>"
    "<joint name=\"claw\" type=\"prismatic\"><parent link=\"shin\"/><child link=\"nail\"/><origin xyz=\"0.4 0 0\"/>"
    "<axis xyz=\"1 0 0\"/><limit lower=\"0\" upper=\"0.1\" effort=\"100\" velocity=\"1\"/></joint></robot>";

static void begin_with(server *s, viewClient *c, bool paused, double hold)
{
    char path[128];
    server_files(s);
    snprintf(path, sizeof path, "%s/arm.urdf", s->folder);
    server_file(path, arm);
    for (int i = 0; i < 2; i++)
        server_file(s->entries[i].path, tumbling);
    tdViewSettings settings = server_settings(s);
    settings.sim.paused = paused;
    settings.sim.out = s->folder;
    settings.sim.hold = hold;
    server_begin(s, &settings);
    client_open(c, s->port);
}

static void begin(server *s, viewClient *c, bool paused)
{
    begin_with(s, c, paused, 3600);
}

static void finish(server *s, viewClient *c)
{
    client_end(c);
    server_stop(s);
    server_clean(s);
}

// ---------------------------------------------------------------- places

typedef struct mesh
{
    uint32_t vertices, triangles;
    float *rest;
} mesh;

// Rest positions of all meshes.
static int take_rest(viewClient *c, mesh *out, int most)
{
    int n = 0;
    uint32_t width;
    client_await_binary(c, TD_VIEW_TOPOLOGY);
    for (; n < most; n++)
    {
        const float *rest = client_section(c, TD_VIEW_REST, (uint32_t)n, &out[n].vertices, &width);
        if (rest == NULL || client_section(c, TD_VIEW_TRIANGLES, (uint32_t)n, &out[n].triangles, &width) == NULL)
            break;
        out[n].rest = malloc(12 * (size_t)out[n].vertices);
        memcpy(out[n].rest, rest, 12 * (size_t)out[n].vertices);
    }
    return n;
}

// x = t + R(q) rest
static void move(const float pose[7], const float *rest, double x[3])
{
    double q[4] = {pose[3], pose[4], pose[5], pose[6]}, size = 0;
    for (int k = 0; k < 4; k++)
        size += q[k] * q[k];
    assert_near(size, 1, 1e-6);
    double u[3] = {rest[0], rest[1], rest[2]}, a[3], b[3];
    td_cross3(q, u, a);
    for (int k = 0; k < 3; k++)
        a[k] += q[3] * u[k];
    td_cross3(q, a, b);
    for (int k = 0; k < 3; k++)
        x[k] = pose[k] + u[k] + 2 * b[k];
}

// The vertex at a place at rest, or -1.
static int vertex_at(const mesh *m, double x, double y, double z)
{
    for (uint32_t i = 0; i < m->vertices; i++)
        if (fabs(m->rest[3 * i] - x) + fabs(m->rest[3 * i + 1] - y) + fabs(m->rest[3 * i + 2] - z) < 1e-5)
            return (int)i;
    return -1;
}

static void links_are_where_their_poses_say(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    uint32_t n, width;
    mesh meshes[16];
    begin(&s, &c, false);
    client_await(&c, "hello", "\"kind\": \"rigid\"");
    assert_non_null(strstr(c.message, "\"links\": [\"base\",\"thigh\",\"shin\",\"nail\"]"));
    assert_non_null(strstr(c.message, "\"kind\": \"plane\""));
    assert_non_null(strstr(c.message, "\"colour\": [0.9"));
    assert_non_null(strstr(c.message, "\"tools\": [{ \"name\": \"hand\""));
    assert_non_null(strstr(c.message, "\"attachments\": [\"hook\"]"));
    assert_non_null(strstr(c.message, "\"contact\": { \"possible\": true"));
    double bounds[6];
    const char *at = strstr(c.message, "\"bounds\": [");
    assert_int_equal(sscanf(at, "\"bounds\": [[%lf, %lf, %lf], [%lf, %lf, %lf]]", bounds, bounds + 1, bounds + 2,
                            bounds + 3, bounds + 4, bounds + 5),
                     6);
    // Without the plane, whose square is a metre wide to each side.
    assert_near(bounds[0], -1.1, 1e-6);
    assert_near(bounds[2], 0, 1e-6);
    assert_near(bounds[3], 2.05, 1e-6);
    int count = take_rest(&c, meshes, 16);
    assert_int_equal(count, 8); // floor, wall, three links, brick, jelly, lamp
    int tip = vertex_at(&meshes[3], 0.9, 0.05, 1.55), edge = vertex_at(&meshes[5], 0.1, 1.05, 0.1);
    assert_true(tip >= 0 && edge >= 0);
    double moved = 0;
    UNTIL (moved > 0.1) // the arm falls about its hip
    {
        client_await_binary(&c, TD_VIEW_FRAME);
        // What cannot move is not sent again, links have no positions, and soft bodies have no pose.
        for (int m = 0; m < 6; m++)
            assert_null(client_section(&c, TD_VIEW_POSITIONS, (uint32_t)m, &n, &width));
        assert_non_null(client_section(&c, TD_VIEW_POSITIONS, 6, &n, &width));
        for (int b = 0; b < 6; b++)
            assert_int_equal(client_section(&c, TD_VIEW_POSES, (uint32_t)b, &n, &width) != NULL,
                             b == 2 || b == 3 || b == 5);
        const float *probes = client_section(&c, TD_VIEW_PROBES, 0, &n, &width);
        const float *pose = client_section(&c, TD_VIEW_POSES, 2, &n, &width);
        assert_int_equal(n, 4);
        assert_int_equal(width, 7);
        double x[3], y[3];
        move(pose + 7 * 2, meshes[3].rest + 3 * tip, x);
        pose = client_section(&c, TD_VIEW_POSES, 3, &n, &width);
        assert_int_equal(n, 1);
        move(pose, meshes[5].rest + 3 * edge, y);
        for (int k = 0; k < 3; k++)
        {
            // The probe is 5 cm below the corner, in the axes of the link: only the length of the way is the same.
            moved += fabs(x[k] - meshes[3].rest[3 * tip + k]);
            assert_near(y[k], probes[3 + k], 1e-6); // of floats of up to 1
        }
        double way = hypot(hypot(x[0] - probes[0], x[1] - probes[1]), x[2] - probes[2]);
        assert_near(way, 0.05, 1e-6);
    }
    for (int m = 0; m < count; m++)
        free(meshes[m].rest);
    finish(&s, &c);
}

// ---------------------------------------------------------------- contact

// Weights of what rests on the floor, as points and as sums.
static void contacts_bear_the_weights(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    uint32_t n, width;
    begin(&s, &c, true);
    client_say(&c, "{\"type\": \"step\", \"count\": 1000}");
    int64_t step = 0;
    while (step < 1000)
    {
        client_await_binary(&c, TD_VIEW_FRAME);
        memcpy(&step, c.message + 8, sizeof step);
    }
    const float *touch = client_section(&c, TD_VIEW_CONTACTS, 0, &n, &width);
    assert_non_null(touch);
    assert_int_equal(width, 8);
    double sum[6] = {0};
    for (uint32_t i = 0; i < n; i++, touch += 8)
    {
        int body = (int)touch[6];
        assert_true(body >= 0 && body < 6 && touch[7] == 0); // on what can move, by the floor
        sum[body] += touch[5];
    }
    assert_near(sum[3], 0.2 * 0.1 * 0.1 * 100 * 10, 1e-2); // it swings for a while
    assert_near(sum[4], 0.2 * 0.2 * 0.2 * 1000 * 10, 1);
    // The lamp hangs on its hook.
    const float *hook = client_section(&c, TD_VIEW_ATTACHMENTS, 0, &n, &width);
    assert_non_null(hook);
    assert_int_equal(n * width, 6);
    assert_near(hook[2], 2.1, 1e-4);
    assert_near(hook[5], 4.0 / 3 * M_PI * 1e-3 * 100 * 10, 1e-3);
    const float *pair = client_section(&c, TD_VIEW_PAIR_FORCES, 0, &n, &width);
    assert_non_null(pair);
    assert_int_equal(width, 11);
    for (uint32_t i = 0; i < n; i++, pair += 11)
    {
        assert_near(pair[5], sum[(int)pair[6]], 1e-4 * (1 + sum[(int)pair[6]]));
        assert_true(pair[9] >= -1 && pair[10] == 0); // the floor has one link
    }
    client_await(&c, "status", "\"step\": 1000,");
    assert_non_null(strstr(c.message, "\"contact\": { \"points\": "));
    int points = 0, active = 0;
    assert_int_equal(
        sscanf(strstr(c.message, "\"contact\": {"), "\"contact\": { \"points\": %d, \"active\": %d", &points, &active),
        2);
    assert_true(active >= 8 && points >= active);
    finish(&s, &c);
}

// ---------------------------------------------------------------- what clients move

static void springs_pull_links(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    uint32_t n, width;
    begin(&s, &c, false);
    // A triangle of the brick: up to where a spring that bears it lets it hang.
    client_say(&c, "{\"type\": \"spring\", \"mesh\": 5, \"triangle\": 0, \"weights\": [0.2, 0.3, 0.5], \"anchor\": "
                   "[0, 1, 1], \"stiffness\": 20}");
    client_await(&c, "status", "\"stiffness\": 20");
    double highest = 0;
    UNTIL (highest >= 0.3)
    {
        client_await_binary(&c, TD_VIEW_FRAME);
        const float *pull = client_section(&c, TD_VIEW_SPRINGS, 0, &n, &width);
        highest = pull == NULL ? highest : fmax(highest, pull[3]);
    }
    client_say(&c, "{\"type\": \"release\"}");
    // The wall is fixed, a plane has no surface to hold.
    client_say(&c,
               "{\"type\": \"spring\", \"mesh\": 1, \"triangle\": 0, \"weights\": [1, 0, 0], \"anchor\": [0, 0, 0]}");
    client_await(&c, "refused", "fixed");
    client_say(&c,
               "{\"type\": \"spring\", \"mesh\": 0, \"triangle\": 0, \"weights\": [1, 0, 0], \"anchor\": [0, 0, 0]}");
    client_await(&c, "refused", "no such triangle");
    finish(&s, &c);
}

// Position of the tool's target.
static void tool_target(viewClient *c, double x[3], int *client)
{
    uint32_t n, width;
    client_await_binary(c, TD_VIEW_FRAME);
    const float *tool = client_section(c, TD_VIEW_TOOLS, 0, &n, &width);
    assert_non_null(tool);
    assert_int_equal(n, 1);
    assert_int_equal(width, 15);
    for (int k = 0; k < 3; k++)
        x[k] = tool[7 + k];
    *client = (int)tool[14];
}

static void tools_stop_with_their_client(void **unused)
{
    (void)unused;
    server s;
    viewClient c, other;
    double from[3], to[3];
    int who = 0;
    begin(&s, &c, false);
    client_await(&c, "status", "\"tools\": [{ \"driven\": false");
    assert_non_null(strstr(c.message, "\"mode\": \"tool\"")); // the knee is the tool's
    client_say(&c, "{\"type\": \"tool\", \"name\": \"nose\", \"linear\": [0, 0, 1]}");
    client_await(&c, "refused", "no tool");
    tool_target(&c, from, &who);
    assert_int_equal(who, 0);
    client_open(&other, s.port);
    client_say(&c, "{\"type\": \"tool\", \"name\": \"hand\", \"linear\": [0, 0, 0.05], \"angular\": [0, 0.1, 0]}");
    client_await(&other, "status", "\"driven\": true");
    client_say(&other, "{\"type\": \"tool\", \"name\": \"hand\", \"linear\": [1, 0, 0]}");
    client_await(&other, "refused", "another client");
    to[2] = from[2];
    UNTIL (to[2] > from[2] + 0.005)
        tool_target(&other, to, &who);
    assert_true(who != 0); // one word was enough: it is held for long here
    // Who goes lets go, and the tool stands where it is.
    client_end(&c);
    UNTIL (who == 0)
        tool_target(&other, to, &who);
    client_await(&other, "status", "\"twist\": [0, 0, 0, 0, 0, 0]");
    client_say(&other, "{\"type\": \"tool\", \"name\": \"hand\", \"linear\": null}");
    client_await(&other, "status", "\"driven\": false");
    finish(&s, &other);
}

// Who is not heard of for long enough lets go without going.
static void tools_stop_when_their_client_hangs(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    double to[3];
    int who = 0;
    begin_with(&s, &c, false, 0.2);
    UNTIL (who > 0) // as a key does that is held down
    {
        client_say(&c, "{\"type\": \"tool\", \"name\": \"hand\", \"linear\": [0, 0, 0.05]}");
        tool_target(&c, to, &who);
    }
    UNTIL (who == 0)
        tool_target(&c, to, &who);
    client_await(&c, "status", "\"twist\": [0, 0, 0, 0, 0, 0]");
    finish(&s, &c);
}

static const char held[] = "tendril: 1\ngravity: [0, 0, 0]\ntime_step: 0.01\nduration: 1\nbodies:\n"
                           "  - {name: plate, type: rigid, shape: {box: [0.3, 0.2, 0.1]}, guided: true}\n";

// The pose of the one body; the angle of its turn.
static double pose_of_plate(viewClient *c, double turn[4])
{
    uint32_t n, width;
    client_await_binary(c, TD_VIEW_FRAME);
    const float *pose = client_section(c, TD_VIEW_POSES, 0, &n, &width);
    assert_non_null(pose);
    for (int k = 0; k < 4; k++)
        turn[k] = pose[3 + k]; // x, y, z, w
    return 2 * atan2(sqrt(turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2]), fabs(turn[3]));
}

// A guided body is turned by keys about the axes of the world, however it has been turned before.
static void guided_bodies_turn(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    double first[4], q[4];
    server_files(&s);
    server_file(s.entries[0].path, held);
    tdViewSettings settings = server_settings(&s);
    server_begin(&s, &settings);
    client_open(&c, s.port);
    client_say(&c, "{\"type\": \"tool\", \"name\": \"plate\", \"linear\": [0, 0, 0], \"angular\": [0, 0, 1]}");
    UNTIL (pose_of_plate(&c, first) > 0.5)
        ;
    client_say(&c, "{\"type\": \"tool\", \"name\": \"plate\", \"linear\": [0, 0, 0], \"angular\": [0, 0, 0]}");
    client_await(&c, "status", "\"twist\": [0, 0, 0, 0, 0, 0]");
    client_await_binary(&c, TD_VIEW_FRAME);
    double angle = pose_of_plate(&c, first);
    assert_near(fabs(first[2]), sin(angle / 2), 1e-6);
    client_say(&c, "{\"type\": \"tool\", \"name\": \"plate\", \"linear\": [0, 0, 0], \"angular\": [1, 0, 0]}");
    double by[3] = {0};
    UNTIL (fabs(by[0]) > 0.25)
    {
        pose_of_plate(&c, q);
        // q times the first turned back: about x alone.
        double w = q[3] * first[3] + td_dot3(q, first), cross[3];
        td_cross3(q, first, cross);
        for (int k = 0; k < 3; k++)
            by[k] = (w < 0 ? -1 : 1) * (first[3] * q[k] - q[3] * first[k] - cross[k]);
        assert_near(by[1], 0, 1e-5);
        assert_near(by[2], 0, 1e-5);
    }
    assert_true(by[0] > 0);
    finish(&s, &c);
}

// A pointer leads a body to where it is, and no other client does meanwhile; by keys it goes on from there.
static void guided_bodies_are_led(void **unused)
{
    (void)unused;
    server s;
    viewClient c, other;
    double x[3], before[3] = {0, 0, 0}, longest = 0;
    int who = 0;
    uint32_t n, width;
    server_files(&s);
    server_file(s.entries[0].path, held);
    tdViewSettings settings = server_settings(&s);
    server_begin(&s, &settings);
    client_open(&c, s.port);
    client_open(&other, s.port);
    const double goal[3] = {0.02, -0.01, 0.03};
    double away = 1;
    UNTIL (away < 1e-6)
    {
        client_say(&c, "{\"type\": \"lead\", \"name\": \"plate\", \"to\": [0.02, -0.01, 0.03]}");
        client_await_binary(&c, TD_VIEW_FRAME);
        const float *tool = client_section(&c, TD_VIEW_TOOLS, 0, &n, &width);
        assert_true(tool != NULL && n == 1);
        away = 0;
        for (int k = 0; k < 3; k++)
        {
            x[k] = tool[k];
            away = fmax(away, fabs(x[k] - goal[k]));
            longest = fmax(longest, fabs(x[k]) - fabs(goal[k]));
            assert_true(fabs(x[k]) >= fabs(before[k]) - 1e-6); // straight there
            before[k] = x[k];
        }
        who = (int)tool[14];
    }
    assert_true(longest < 1e-6 && who > 0);
    client_say(&c, "{\"type\": \"lead\", \"name\": \"plate\", \"to\": [0.02, -0.01, 0.03]}");
    client_say(&other, "{\"type\": \"lead\", \"name\": \"plate\", \"to\": [1, 0, 0]}");
    client_await(&other, "refused", "another client is driving");
    client_say(&other, "{\"type\": \"lead\", \"name\": \"nose\", \"to\": [1, 0, 0]}");
    client_await(&other, "refused", "no guided body of this name");
    client_say(&c, "{\"type\": \"tool\", \"name\": \"plate\", \"linear\": [0, 0, 0.05]}");
    UNTIL (x[2] > 0.04)
    {
        client_await_binary(&c, TD_VIEW_FRAME);
        const float *tool = client_section(&c, TD_VIEW_TOOLS, 0, &n, &width);
        assert_non_null(tool);
        x[2] = tool[2];
        assert_near(tool[0], goal[0], 1e-6);
    }
    client_end(&other);
    finish(&s, &c);
}

static void groups_move_together(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    uint32_t n, width;
    begin(&s, &c, false);
    client_say(&c, "{\"type\": \"group\", \"actuators\": [1, 7], \"rate\": 1}");
    client_await(&c, "refused", "no actuator of number 7");
    client_say(&c, "{\"type\": \"group\", \"actuators\": [1], \"rate\": 1}");
    client_await(&c, "status", "\"mode\": \"manual\"");
    double value = 0;
    UNTIL (value >= 0.02)
    {
        client_await_binary(&c, TD_VIEW_FRAME);
        value = client_section(&c, TD_VIEW_ACTUATORS, 0, &n, &width) == NULL
                    ? 0
                    : ((const float *)client_section(&c, TD_VIEW_ACTUATORS, 0, &n, &width))[5];
        assert_true(value <= 0.1f); // the end of its range
    }
    client_say(&c, "{\"type\": \"group\", \"actuators\": [1], \"rate\": 0}");
    client_say(&c, "{\"type\": \"pause\"}");
    client_await(&c, "status", "\"playing\": false");
    finish(&s, &c);
}

// Whatever is asked of it, in any order and size, it goes on: springs on every mesh, tools and groups at their fastest.
static void survives_rough_hands(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    uint64_t seed = 5;
    begin(&s, &c, false);
    for (int i = 0; i < 250; i++)
    {
        double r = next_random(&seed), u = 100 * next_random(&seed);
        int m = (int)(4.5 * (1 + next_random(&seed))), t = (int)(10 * (1 + next_random(&seed)));
        if (r < -0.5)
            client_say(
                &c,
                "{\"type\": \"spring\", \"mesh\": %d, \"triangle\": %d, \"weights\": [0.2, 0.3, 0.5], \"anchor\": "
                "[%g, 0, 1]}",
                m, t, u);
        else if (r < 0)
            client_say(&c, "{\"type\": \"tool\", \"name\": \"hand\", \"linear\": [%g, %g, 0], \"angular\": [0, %g, 0]}",
                       u, -u, u);
        else if (r < 0.4)
            client_say(&c, "{\"type\": \"group\", \"actuators\": [%d, 1, 1, 0], \"rate\": %g}", m / 4, u / 10);
        else if (r < 0.6)
            client_say(&c, "{\"type\": \"group\", \"actuators\": [2147483647], \"rate\": 1}");
        else
            client_say(&c, i % 9 == 0 ? "{\"type\": \"reset\"}" : "{\"type\": \"release\"}");
        if (i % 10 == 9) // so that not all comes at once
        {
            client_say(&c, "{\"type\": \"ping\", \"id\": %d}", i);
            client_await(&c, "pong", "\"id\"");
        }
    }
    // The numbers may have failed; a reset starts anew.
    client_say(&c, "{\"type\": \"release\"}");
    client_say(&c, "{\"type\": \"reset\"}");
    client_say(&c, "{\"type\": \"play\"}");
    client_say(&c, "{\"type\": \"ping\", \"id\": 99}");
    client_await(&c, "pong", "\"id\": 99");
    client_await(&c, "status", "\"playing\": true");
    for (int i = 0; i < 10; i++)
        client_await_binary(&c, TD_VIEW_FRAME);
    finish(&s, &c);
}

static void records_and_paints_links(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    uint32_t n, width;
    begin(&s, &c, false);
    client_say(&c, "{\"type\": \"record\", \"action\": \"start\"}");
    client_await(&c, "status", "\"active\": true");
    client_say(&c, "{\"type\": \"field\", \"name\": \"von_mises\"}");
    client_await_binary(&c, TD_VIEW_FIELDS);
    assert_null(client_section(&c, TD_VIEW_VALUES, 2, &n, &width));
    assert_non_null(client_section(&c, TD_VIEW_VALUES, 6, &n, &width)); // of the jelly alone
    assert_int_equal(n, 26);
    client_say(&c, "{\"type\": \"record\", \"action\": \"stop\"}");
    client_await(&c, "notice", "recorded");
    char command[256];
    snprintf(command, sizeof command, "ls %s/0-001/*arm*.vtu %s/0-001/contacts.csv > /dev/null", s.folder, s.folder);
    assert_int_equal(system(command), 0);
    finish(&s, &c);
}

// ---------------------------------------------------------------- frames

static const char bar[] = "tendril: 1\ngravity: [0, 0, -1]\ntime_step: 0.005\nduration: 1\nbodies:\n  - name: bar\n"
                          "    mesh: {box: [[0, 0, 0], [0.4, 0.1, 0.1]], cells: [3, 1, 1]}\n"
                          "    material: {law: corotational, young: 2e4, poisson: 0.3, density: 1000}\n"
                          "actuators:\n"
                          "  - {name: pull, type: cable, body: bar, path: [[0.4, 0.05, 0.1], [0, 0.05, 0.1]], drive: "
                          "force, range: [0, 100]}\n"
                          "  - {name: kick, type: force, body: bar, point: [0.4, 0.1, 0.1], direction: [0, 1, 0], "
                          "drive: force, range: [-9, 9]}\n"
                          "probes: [{name: corner, body: bar, point: [0.4, 0.1, 0.1]}]\n";

static void bodies_on_frames_turn(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    uint32_t n, width, modes;
    mesh meshes[4];
    tdError error = {0};
    server_files(&s);
    for (int i = 0; i < 2; i++)
        server_file(s.entries[i].path, bar);
    tdModel *full = scene_parse(bar);
    tdRom rom = frame_rom(full, 0, 1);
    rom_check(full, &rom, 3, 1);
    rom.spread = rom_take(&rom, rom.r, sizeof(double));
    rom.sigma = rom_take(&rom, rom.r, sizeof(double));
    rom.n_sigma = rom.n_snapshots = rom.r;
    for (int i = 0; i < rom.r; i++)
        rom.spread[i] = rom.sigma[i] = 1;
    snprintf(s.entries[0].rom, sizeof s.entries[0].rom, "%s/0.h5", s.folder);
    assert_ok(td_rom_write(&rom, s.entries[0].rom, &error), error);
    td_arena_free(&rom.arena);
    td_model_free(full);
    tdViewSettings settings = server_settings(&s);
    server_begin(&s, &settings);
    client_open(&c, s.port);
    client_await(&c, "hello", "\"pose\": 0");
    int count = take_rest(&c, meshes, 4);
    const float *section = client_section(&c, TD_VIEW_MODES, 0, &modes, &width);
    float *columns = malloc(4 * (size_t)modes * width);
    memcpy(columns, section, 4 * (size_t)modes * width);
    int corner = vertex_at(&meshes[0], 0.4, 0.1, 0.1);
    assert_true(corner >= 0);
    client_say(&c, "{\"type\": \"actuator\", \"name\": \"kick\", \"value\": 2}");
    double turned = 0;
    UNTIL (turned >= 0.3)
    {
        client_await_binary(&c, TD_VIEW_FRAME);
        const float *q = client_section(&c, TD_VIEW_COORDINATES, 0, &n, &width);
        assert_int_equal(n, modes);
        const float *pose = client_section(&c, TD_VIEW_POSES, 0, &n, &width);
        assert_int_equal(n, 1);
        const float *probe = client_section(&c, TD_VIEW_PROBES, 0, &n, &width);
        float local[3];
        double x[3];
        for (int k = 0; k < 3; k++)
        {
            double sum = meshes[0].rest[3 * corner + k];
            for (uint32_t j = 0; j < modes; j++)
                sum += (double)columns[3 * (size_t)meshes[0].vertices * j + 3 * (size_t)corner + (size_t)k] * q[j];
            local[k] = (float)sum;
        }
        move(pose, local, x);
        for (int k = 0; k < 3; k++)
            assert_near(x[k], probe[k], 2e-6); // floats of 1
        turned = fmax(turned, fabs(pose[5]));
    }
    // All modes and elements: full order, started in its midst, does the same, but for the frame that turns with it. It
    // starts by a step that it is told of, and follows twenty more.
    client_say(&c, "{\"type\": \"actuator\", \"name\": \"kick\", \"value\": 0}");
    client_say(&c, "{\"type\": \"pause\"}");
    client_await(&c, "status", "\"playing\": false");
    client_say(&c, "{\"type\": \"field\", \"name\": \"error\"}");
    do
    {
        assert_true(client_receive(&c));
        if (c.opcode == 1 && strstr(c.message, "\"type\": \"status\"") != NULL)
            client_say(&c, "{\"type\": \"step\"}");
    } while (c.opcode != 2 || client_word(&c, 0) != TD_VIEW_FIELDS);
    uint64_t step = 0, last = 0;
    memcpy(&last, c.message + 8, sizeof last);
    last += 20;
    client_say(&c, "{\"type\": \"step\", \"count\": 20}");
    UNTIL (step >= last)
    {
        client_await_binary(&c, TD_VIEW_FIELDS);
        memcpy(&step, c.message + 8, sizeof step);
    }
    assert_int_equal(client_word(&c, 28), TD_VIEW_FIELD_ERROR);
    const float *value = client_section(&c, TD_VIEW_VALUES, 0, &n, &width);
    double error_m = 0;
    for (uint32_t i = 0; i < n; i++)
        error_m = fmax(error_m, value[i]);
    assert_true(error_m < 1e-3);
    print_message("off by %.2g m after 20 steps\n", error_m);
    for (int m = 0; m < count; m++)
        free(meshes[m].rest);
    free(columns);
    finish(&s, &c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_are_where_their_poses_say),
        cmocka_unit_test(contacts_bear_the_weights),
        cmocka_unit_test(springs_pull_links),
        cmocka_unit_test(tools_stop_with_their_client),
        cmocka_unit_test(tools_stop_when_their_client_hangs),
        cmocka_unit_test(guided_bodies_turn),
        cmocka_unit_test(guided_bodies_are_led),
        cmocka_unit_test(groups_move_together),
        cmocka_unit_test(records_and_paints_links),
        cmocka_unit_test(bodies_on_frames_turn),
        cmocka_unit_test(survives_rough_hands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
