// SPDX-License-Identifier: Apache-2.0
// Devices: messages that are what they should be, and those that are not.
#include "felt.h"

#include "haptic/device.h"
#include "haptic/haply.h"
#include "haptic/haptic.h"
#include "haptic/loop.h"
#include "haptic/packet.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

static tdPosePacket pose_of(uint32_t sequence, double z)
{
    return (tdPosePacket){.sequence = sequence, .time = 1.5, .position = {0.01, -0.02, z}, .rotation = {1, 0, 0, 0}};
}

// ---------------------------------------------------------------- packets

// The layout is a promise to others: byte by byte.
static void test_layout(void **unused)
{
    (void)unused;
    uint8_t data[TD_PACKET_POSE], force[TD_PACKET_FORCE];
    tdPosePacket pose = pose_of(0x01020304, 1), back = {0};
    pose.buttons = 5;
    td_packet_write_pose(&pose, data);
    const uint8_t head[16] = {'T', 'D', 'H', 'P', 1, 0, 1, 0, 4, 3, 2, 1, 5, 0, 0, 0};
    const uint8_t one[8] = {0, 0, 0, 0, 0, 0, 0xF0, 0x3F};
    assert_memory_equal(data, head, sizeof head);
    assert_memory_equal(data + 40, one, sizeof one);
    assert_memory_equal(data + 48, one, sizeof one);
    assert_null(td_packet_read_pose(data, sizeof data, &back));
    assert_memory_equal(&back, &pose, sizeof pose);
    tdForcePacket out = {.sequence = 7, .pose = 9, .fault = 2, .force = {1, 2, 3}, .torque = {4, 5, 6}}, in = {0};
    td_packet_write_force(&out, force);
    assert_memory_equal(force + 24, one, sizeof one);
    assert_null(td_packet_read_force(force, sizeof force, &in));
    assert_true(in.sequence == 7 && in.pose == 9 && in.fault == 2);
    assert_memory_equal(in.force, out.force, sizeof in.force);
    assert_memory_equal(in.torque, out.torque, sizeof in.torque);
    assert_non_null(td_packet_read_force(data, sizeof data, &in));
    assert_non_null(td_packet_read_pose(force, sizeof force, &back));
}

static void test_bad_packets(void **unused)
{
    (void)unused;
    uint8_t good[TD_PACKET_POSE], data[TD_PACKET_POSE + 1];
    tdPosePacket pose = pose_of(1, 0.1), back;
    td_packet_write_pose(&pose, good);
    for (size_t size = 0; size < sizeof good; size++) // truncated
        assert_non_null(td_packet_read_pose(good, size, &back));
    memcpy(data, good, sizeof good);
    data[sizeof good] = 0;
    assert_non_null(td_packet_read_pose(data, sizeof data, &back)); // longer
    const double bad[] = {NAN, INFINITY, -INFINITY, 1e300, 11};
    for (int at = 2; at < 10; at++)
        for (int k = 0; k < 5; k++)
        {
            memcpy(data, good, sizeof good);
            memcpy(data + 8 * at, &bad[k], sizeof bad[k]);
            bool fine = at == 2 && k >= 3; // any finite time
            assert_true((td_packet_read_pose(data, sizeof good, &back) == NULL) == fine);
        }
    for (int k = 0; k < 8; k++) // magic, version, kind
    {
        memcpy(data, good, sizeof good);
        data[k] ^= 0x40;
        assert_non_null(td_packet_read_pose(data, sizeof good, &back));
    }
    assert_true(td_packet_is_newer(1, 0) && !td_packet_is_newer(0, 1) && !td_packet_is_newer(3, 3));
    assert_true(td_packet_is_newer(2, UINT32_MAX - 1) && !td_packet_is_newer(UINT32_MAX - 1, 2)); // around
}

// ---------------------------------------------------------------- a device that is far away

typedef struct udpClient
{
    int socket;
    struct sockaddr_in host;
} udpClient;

static udpClient client_of(const tdDevice *device)
{
    udpClient client = {.socket = socket(AF_INET, SOCK_DGRAM, 0), .host = {.sin_family = AF_INET}};
    assert_true(client.socket >= 0);
    client.host.sin_port = htons((uint16_t)atoi(strrchr(device->name, ':') + 1));
    inet_pton(AF_INET, "127.0.0.1", &client.host.sin_addr);
    return client;
}

static void send_bytes(const udpClient *client, const void *data, size_t size)
{
    assert_true(sendto(client->socket, data, size, 0, (const struct sockaddr *)&client->host, sizeof client->host) ==
                (ssize_t)size);
}

static void send_pose(const udpClient *client, uint32_t sequence, double z)
{
    uint8_t data[TD_PACKET_POSE];
    tdPosePacket pose = pose_of(sequence, z);
    td_packet_write_pose(&pose, data);
    send_bytes(client, data, sizeof data);
}

// Datagrams over the loopback are there when they were sent.
static void test_udp(void **unused)
{
    (void)unused;
    tdDevice *device = NULL;
    tdError error = {0};
    tdReading reading;
    tdForcePacket force;
    uint8_t data[256];
    const double f[3] = {0, 0, 1.5}, none[3] = {0, 0, 0};
    char told[300];
    assert_ok(td_device_udp("0", &device, &error), error);
    udpClient client = client_of(device), other = client_of(device);
    assert_false(device->ops->read(device, 0, &reading));
    device->ops->write(device, 0, f, none, 0); // nobody is there
    send_pose(&client, 10, -0.01);
    assert_true(device->ops->read(device, 0, &reading));
    assert_near(reading.position[2], -0.01, 0);
    device->ops->write(device, 0, f, none, 0);
    assert_true(recv(client.socket, data, sizeof data, 0) == TD_PACKET_FORCE);
    assert_null(td_packet_read_force(data, TD_PACKET_FORCE, &force));
    assert_true(force.pose == 10 && force.force[2] == 1.5);
    // Several at once: the newest counts. Replayed, reordered, truncated, of another, hostile: none does.
    send_pose(&client, 12, -0.03);
    send_pose(&client, 11, -0.02);
    assert_true(device->ops->read(device, 0.1, &reading));
    assert_near(reading.position[2], -0.03, 0);
    send_pose(&client, 12, 0.5);
    send_pose(&client, 9, 0.5);
    send_pose(&other, 13, 0.5);
    send_bytes(&client, "TDHP", 4);
    send_bytes(&client, "", 0);
    send_pose(&client, 14, NAN);
    memset(data, 0xFF, sizeof data);
    send_bytes(&client, data, sizeof data);
    assert_false(device->ops->read(device, 0.2, &reading));
    device->ops->tell(device, told, sizeof told);
    assert_non_null(strstr(told, "2 poses, 3 old or repeated, 4 refused, 1 of others"));
    // It vanished: after a second another may come, with a count of its own.
    send_pose(&other, 1, 0.001);
    assert_true(device->ops->read(device, 1.3, &reading));
    assert_near(reading.position[2], 0.001, 0);
    close(client.socket);
    close(other.socket);
    td_device_close(device);
    static const char *const bad[] = {"", "x", "70000", "-1", "1.2.3:5", "host:9", "9x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(td_device_udp(bad[i], &device, &error), TD_ERROR_USAGE);
}

// ---------------------------------------------------------------- a hand that vanishes, and nonsense

static void test_bad_device(void **unused)
{
    (void)unused;
    tdModel *model = scene_model(COLUMN_SCENE);
    tdState *state = scene_state(model);
    tdError error = {0};
    tdHapticSettings settings = td_default_haptic();
    tdHaptic *haptic = NULL;
    tdHapticForce felt = {0};
    double x[3] = {0, 0, 0};
    const double nan3[3] = {0, NAN, 0}, turn[4] = {NAN, 0, 0, 0}, zero[4] = {0};
    assert_ok(td_haptic_create(model, &settings, &haptic, &error), error);
    for (int k = 0; k < 400; k++)
    {
        x[2] = fmax(-2e-3, -1e-5 * k);
        if (k % 5 == 0)
            assert_ok(td_haptic_step(haptic, model, state, 1e-3 * k), td_state_report(state)->error);
        td_haptic_tick(haptic, 1e-3 * k, x, NULL, &felt);
    }
    assert_true(felt.force[2] > 0.5 && felt.fault == 0);
    const struct
    {
        const double *position, *rotation;
    } bad[] = {{nan3, NULL}, {x, turn}, {x, zero}};
    for (int i = 0; i < 3; i++)
    {
        td_haptic_tick(haptic, 0.4, bad[i].position, bad[i].rotation, &felt);
        assert_true(felt.force[2] == 0 && felt.fault != 0);
        assert_non_null(strstr(td_haptic_fault(felt.fault), "pose"));
        assert_ok(td_haptic_step(haptic, model, state, 0.4), td_state_report(state)->error); // goes on
        td_haptic_tick(haptic, 0.4, x, NULL, &felt);
        assert_true(felt.fault == 0 && felt.force[2] > 0);
    }
    for (int k = 0; k < 16; k++)
        td_haptic_tick(haptic, 0.4, NULL, NULL, &felt);
    assert_true(felt.force[2] == 0 && felt.fault != 0);
    td_haptic_free(haptic);
    scene_free(model, state);
}

// ---------------------------------------------------------------- by name

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_traces(void **unused)
{
    (void)unused;
    char folder[] = "/tmp/tendril_trace_XXXXXX", path[64];
    tdDevice *device = NULL;
    tdError error = {0};
    tdReading reading;
    tdSettings settings = td_default_settings();
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.csv", folder);
    write_file(path, "t,x [mm],rz [deg]\n0,0,0\n1,10,90\n");
    assert_ok(td_device_open(path, 1e-3, 0, &settings, &device, &error), error);
    assert_true(device->ops->read(device, 0.5, &reading));
    assert_near(reading.position[0], 5e-3, 1e-15);
    assert_near(reading.rotation[3], sin(M_PI / 8), 1e-12);
    assert_false(device->ops->ended(device, 0.99));
    assert_true(device->ops->ended(device, 1.01));
    td_device_close(device);
    static const char *const bad[] = {"t,w\n0,0\n", "t,x\n", "t,x\n0,nan\n", "t,rx\n0,1\n", "t,x\n1,0\n0,0\n", ""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    {
        write_file(path, bad[i]);
        assert_int_equal(td_device_open(path, 1e-3, 0, &settings, &device, &error), TD_ERROR_INPUT);
        assert_null(device);
    }
    unlink(path);
    rmdir(folder);
    assert_int_equal(td_device_open("phantom", 1e-3, 0, &settings, &device, &error), TD_ERROR_USAGE);
    assert_non_null(strstr(error.message, "udp:PORT"));
    assert_int_equal(td_device_force_dimension("/nowhere/libdhd.so", &device, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "is not installed"));
    assert_int_equal(td_device_open("auto", 1e-3, 0, &settings, &device, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "no device was found"));
}

// The vendor's library, as its documentation has it: a stand-in with the same functions.
static void test_vendor(void **unused)
{
    (void)unused;
    char folder[] = "/tmp/tendril_dhd_XXXXXX", source[64], library[64], command[256];
    tdDevice *device = NULL;
    tdError error = {0};
    tdReading reading;
    const double force[3] = {0, 0, 2}, none[3] = {0, 0, 0};
    assert_non_null(mkdtemp(folder));
    snprintf(source, sizeof source, "%s/dhd.c", folder);
    snprintf(library, sizeof library, "%s/libdhd.so", folder);
    write_file(source, "static double f; static int n;\n"
                       "int dhdOpen(void) { return 0; }\nint dhdClose(char id) { return id; }\n"
                       "int dhdGetPosition(double *x, double *y, double *z, char id)\n"
                       "{ *x = 1; *y = 2; *z = 3 + 0.001 * f; return id == (char)-1 && n++ < 3 ? 0 : -1; }\n"
                       "int dhdSetForce(double x, double y, double z, char id) { f = x + y + z; return 0 * id; }\n"
                       "int dhdEnableForce(unsigned char on, char id) { return 0 * on * id; }\n");
    snprintf(command, sizeof command, "cc -shared -fPIC -o %s %s 2>/dev/null", library, source);
    int built = system(command);
    if (built == 0)
    {
        assert_ok(td_device_force_dimension(library, &device, &error), error);
        assert_true(device->ops->read(device, 0, &reading));
        assert_near(reading.position[2], 0, 0);
        device->ops->write(device, 0, force, none, 0);
        assert_true(device->ops->read(device, 0, &reading));
        assert_near(reading.position[2], 2e-3, 1e-12);
        assert_false(device->ops->read(device, 0, &reading)); // it was unplugged
        td_device_close(device);
        write_file(source, "int dhdOpen(void) { return 0; }\n");
        assert_int_equal(system(command), 0);
    }
    unlink(source);
    if (built == 0)
        assert_int_equal(td_device_force_dimension(library, &device, &error), TD_ERROR_INPUT);
    unlink(library);
    rmdir(folder);
    if (built != 0)
        skip_because("there is no compiler 'cc' for a stand-in of the vendor's library");
    assert_non_null(strstr(error.message, "dhdClose"));
}

// OpenHaptics calls from a thread of its own; its axes are turned, its millimetres become metres, and a force that is
// not renewed ends.
static void test_openhaptics(void **unused)
{
    (void)unused;
    char folder[] = "/tmp/tendril_hd_XXXXXX", source[64], library[64], command[256];
    tdDevice *device = NULL;
    tdError error = {0};
    tdReading reading;
    const double force[3] = {1, 2, 3}, none[3] = {0, 0, 0};
    assert_int_equal(td_device_openhaptics("/nowhere/libHD.so", &device, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "is not installed"));
    assert_non_null(mkdtemp(folder));
    snprintf(source, sizeof source, "%s/hd.c", folder);
    snprintf(library, sizeof library, "%s/libHD.so", folder);
    // The position says what force it was given: y, which is our z, is 100 times the force along it.
    write_file(source,
               "#include <pthread.h>\n#include <stdatomic.h>\n#include <unistd.h>\n#include <string.h>\n"
               "static unsigned (*call)(void *); static void *user; static atomic_int go; static pthread_t thread;\n"
               "static double f[3];\n"
               "static void *run(void *x) { while (atomic_load(&go)) { call(user); usleep(200); } return x; }\n"
               "unsigned hdInitDevice(const char *name) { return name == 0 ? 7 : -1U; }\n"
               "void hdDisableDevice(unsigned h) { (void)h; }\nvoid hdEnable(unsigned w) { (void)w; }\n"
               "void hdStartScheduler(void) { atomic_store(&go, 1); pthread_create(&thread, 0, run, 0); }\n"
               "void hdStopScheduler(void) { atomic_store(&go, 0); pthread_join(thread, 0); }\n"
               "void hdBeginFrame(unsigned h) { (void)h; }\nvoid hdEndFrame(unsigned h) { (void)h; }\n"
               "void hdGetDoublev(unsigned w, double *v) { if (w != 0x2052) return; memset(v, 0, 16 * sizeof *v);\n"
               "  v[0] = v[5] = v[10] = v[15] = 1; for (int k = 0; k < 3; k++) v[12 + k] = 50 + 100 * f[k]; }\n"
               "void hdGetIntegerv(unsigned w, int *v) { *v = w == 0x2000; }\n"
               "void hdSetDoublev(unsigned w, const double *v) { if (w == 0x2700) memcpy(f, v, sizeof f); }\n"
               "unsigned long hdScheduleAsynchronous(unsigned (*c)(void *), void *u, unsigned short p)\n"
               "{ call = c; user = u; return p; }\nvoid hdUnschedule(unsigned long h) { (void)h; }\n");
    snprintf(command, sizeof command, "cc -shared -fPIC -o %s %s -lpthread 2>/dev/null", library, source);
    int built = system(command);
    if (built == 0)
    {
        assert_ok(td_device_openhaptics(library, &device, &error), error);
        while (!device->ops->read(device, 0, &reading))
            usleep(100);
        for (int k = 0; k < 3; k++)
            assert_near(reading.position[k], 0, 0);
        assert_true(reading.turned && reading.grip == 1 && fabs(reading.rotation[0]) > 0.999);
        do
        {
            device->ops->write(device, 0, force, none, 0);
            usleep(100);
        } while (!device->ops->read(device, 0, &reading) || reading.position[2] == 0);
        for (int k = 0; k < 3; k++)
            assert_near(reading.position[k], 0.1 * force[k], 1e-12);
        while (!device->ops->read(device, 0, &reading) || reading.position[2] != 0) // nothing renews it
            usleep(100);
        td_device_close(device);
        write_file(source, "unsigned hdInitDevice(const char *name) { return name == 0 ? -1U : 1; }\n");
        assert_int_equal(system(command), 0);
    }
    unlink(source);
    if (built == 0)
        assert_int_equal(td_device_openhaptics(library, &device, &error), TD_ERROR_INPUT);
    unlink(library);
    rmdir(folder);
    if (built != 0)
        skip_because("there is no compiler 'cc' for a stand-in of the vendor's library");
    assert_non_null(strstr(error.message, "hdDisableDevice"));
}

// ---------------------------------------------------------------- the Haply Inverse service

static void test_haply_messages(void **unused)
{
    (void)unused;
    static const char good[] =
        "{\"session_id\": 7, \"inverse3\": [{\"device_id\": \"049D\", \"config\": {\"type\": \"inverse3\", \"x\": [1, "
        "{\"y\": null}]},\n\"state\": {\"cursor_velocity\": {\"x\": 9}, \"cursor_position\": {\"x\": 0.01, \"y\": "
        "-1.2e-1, \"z\": 0.15}}}, {\"device_id\": \"0001\", \"state\": {\"cursor_position\": {\"x\": 5, \"y\": 5, "
        "\"z\": "
        "5}}}], \"wireless_verse_grip\": [{\"device_id\": \"61576\", \"state\": {\"orientation\": {\"w\": 0.6, \"x\": "
        "0, \"y\": 0.8, \"z\": 0}, \"buttons\": {\"a\": true, \"b\": false}}}]}";
    tdHaplyState state;
    assert_null(td_haply_read(good, strlen(good), &state));
    assert_string_equal(state.device, "049D");
    assert_true(state.has_position && state.has_rotation && state.button);
    assert_near(state.position[0], 0.01, 0);
    assert_near(state.position[1], -0.12, 0);
    assert_near(state.position[2], 0.15, 0);
    assert_near(state.rotation[2], 0.8, 0);
    for (size_t size = 0; size < strlen(good); size++) // truncated
    {
        char *part = malloc(size + 1); // exactly its size, so that a read behind the end is seen
        memcpy(part, good, size);
        assert_non_null(td_haply_read(part, size, &state));
        free(part);
    }
    static const char *const bad[] = {
        "",
        "[]",
        "{} {}",
        "{\"inverse3\": [{\"device_id\": \"a\\\"},{\"}]}",
        "{\"inverse3\": [{\"device_id\": \"0123456789012345678901234567890123456789\"}]}",
        "{\"inverse3\": [{\"state\": {\"cursor_position\": {\"x\": 1, \"y\": 2}}}]}",
        "{\"inverse3\": [{\"state\": {\"cursor_position\": {\"x\": nan, \"y\": 0, \"z\": 0}}}]}",
        "{\"inverse3\": [{\"state\": {\"cursor_position\": {\"x\": 1e999, \"y\": 0, \"z\": 0}}}]}",
        "{\"inverse3\": [{\"state\": {\"cursor_position\": {\"x\": 11, \"y\": 0, \"z\": 0}}}]}",
        "{\"verse_grip\": [{\"state\": {\"orientation\": {\"w\": 0, \"x\": 0, \"y\": 0, \"z\": 0}}}]}"};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
        assert_non_null(td_haply_read(bad[k], strlen(bad[k]), &state));
    char deep[200];
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"a\":", 5);
    assert_non_null(strstr(td_haply_read(deep, sizeof deep, &state), "deep"));
    char text[256];
    const double force[3] = {1.5, -0.25, NAN};
    size_t n = td_haply_write("049D", force, text, sizeof text);
    assert_int_equal(n, strlen(text));
    assert_string_equal(text, "{\"inverse3\":[{\"device_id\":\"049D\",\"commands\":{\"set_cursor_force\":{\"values\":{"
                              "\"x\":1.500000,\"y\":-0.250000,\"z\":0.000000}}}}]}");
    // Frames: of a client, unmasked as a server would send it, whole and in parts.
    uint8_t frame[400], server[400];
    size_t whole = td_web_write(1, text, n, 0x01020304, frame, sizeof frame);
    tdWebFrame read;
    assert_int_equal(whole, n + (n < 126 ? 6 : 8));
    assert_int_equal(td_web_read(frame, whole, 1000, &read), TD_WEB_BAD); // masked
    server[0] = 0x81;
    server[1] = 126;
    server[2] = 0;
    server[3] = (uint8_t)n;
    memcpy(server + 4, text, n);
    for (size_t size = 0; size < n + 4; size++)
        assert_int_equal(td_web_read(server, size, 1000, &read), TD_WEB_MORE);
    assert_int_equal(td_web_read(server, n + 4, 1000, &read), TD_WEB_FRAME);
    assert_true(read.opcode == 1 && read.last && read.size == n && read.whole == n + 4);
    assert_int_equal(td_web_read(server, n + 4, n - 1, &read), TD_WEB_BAD); // longer than there is room
    memset(server + 1, 0x7F, 1);
    memset(server + 2, 0xFF, 8);
    assert_int_equal(td_web_read(server, n + 4, 1000, &read), TD_WEB_BAD);
}

// A stand-in of the service: answers each force by a state whose z says what force it was.
typedef struct haplyService
{
    int listener, broken; ///< broken: 0 good, 1 no WebSocket, 2 no devices, 3 closes after the first state
    uint16_t port;
} haplyService;

static void serve_state(int peer, const char *id, double z)
{
    char text[400];
    uint8_t frame[500] = {0x81, 126};
    int n = snprintf(text, sizeof text,
                     "{\"session_id\": 1, \"inverse3\": [{\"state\": {\"cursor_position\": {\"x\": 0.1, \"y\": "
                     "0.2, \"z\": %.6f}}, \"device_id\": \"%s\", \"padding\": \"%080d\"}], \"other\": {}}",
                     z, id, 0);
    frame[2] = (uint8_t)(n >> 8);
    frame[3] = (uint8_t)n;
    memcpy(frame + 4, text, (size_t)n);
    send(peer, frame, (size_t)n + 4, MSG_NOSIGNAL); // the other side may have gone
}

static void *serve_haply(void *user)
{
    haplyService *service = user;
    int peer = accept(service->listener, NULL, NULL);
    char request[2048];
    size_t used = 0;
    ssize_t n;
    while (used + 1 < sizeof request && (n = recv(peer, request + used, sizeof request - 1 - used, 0)) > 0)
    {
        used += (size_t)n;
        request[used] = '\0';
        if (strstr(request, "\r\n\r\n") != NULL)
            break;
    }
    static const char accepted[] = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                   "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
                      refused[] = "HTTP/1.1 404 Not Found\r\n\r\n";
    const char *answer = service->broken == 1 ? refused : accepted;
    send(peer, answer, strlen(answer), MSG_NOSIGNAL);
    if (service->broken == 2)
        send(peer, "\x81\x10{\"inverse3\": []}", 18, MSG_NOSIGNAL);
    else if (service->broken != 1)
        serve_state(peer, "049D", 0.3);
    if (service->broken == 3)
    {
        close(peer);
        return NULL;
    }
    uint8_t data[4096];
    size_t have = 0;
    while ((n = recv(peer, data + have, sizeof data - have, 0)) > 0)
    {
        have += (size_t)n;
        // Frames of a client: masked, less than 64 kB.
        while (have >= 8)
        {
            size_t length = data[1] & 0x7F, head = 6;
            if (length == 126)
            {
                length = (size_t)(data[2] << 8 | data[3]);
                head = 8;
            }
            if (have < head + length)
                break;
            char text[2000] = "";
            for (size_t k = 0; k < length && k + 1 < sizeof text; k++)
                text[k] = (char)(data[head + k] ^ data[head - 4 + k % 4]);
            const char *z = strstr(text, "\"z\":");
            if (z != NULL && strstr(text, "\"device_id\":\"049D\"") != NULL)
                serve_state(peer, "049D", 0.3 + 0.01 * atof(z + 4));
            memmove(data, data + head + length, have - head - length);
            have -= head + length;
        }
    }
    close(peer);
    return NULL;
}

static haplyService service_of(int broken)
{
    haplyService service = {.listener = socket(AF_INET, SOCK_STREAM, 0), .broken = broken};
    struct sockaddr_in here = {.sin_family = AF_INET};
    socklen_t length = sizeof here;
    inet_pton(AF_INET, "127.0.0.1", &here.sin_addr);
    assert_int_equal(bind(service.listener, (const struct sockaddr *)&here, sizeof here), 0);
    assert_int_equal(listen(service.listener, 1), 0);
    assert_int_equal(getsockname(service.listener, (struct sockaddr *)&here, &length), 0);
    service.port = ntohs(here.sin_port);
    return service;
}

static void test_haply(void **unused)
{
    (void)unused;
    static const char *const why[] = {NULL, "refused a WebSocket", "finds no Inverse3", NULL};
    for (int broken = 0; broken < 4; broken++)
    {
        haplyService service = service_of(broken);
        pthread_t thread;
        char where[32], told[300];
        tdDevice *device = NULL;
        tdError error = {0};
        tdReading reading;
        const double force[3] = {0, 0, 2}, none[3] = {0, 0, 0};
        snprintf(where, sizeof where, "haply:%d", service.port);
        assert_int_equal(pthread_create(&thread, NULL, serve_haply, &service), 0);
        tdSettings settings = td_default_settings();
        tdStatus status = td_device_open(where, 1e-3, 0, &settings, &device, &error);
        if (why[broken] != NULL)
        {
            assert_int_equal(status, TD_ERROR_INPUT);
            assert_non_null(strstr(error.message, why[broken]));
        }
        else
            assert_ok(status, error);
        if (broken == 0)
        {
            device->ops->write(device, 0, force, none, 0);
            while (!device->ops->read(device, 0, &reading))
                usleep(100);
            assert_near(reading.position[0], 0, 1e-12);
            assert_near(reading.position[2], 0.02, 1e-9);
            assert_false(device->ops->read(device, 0, &reading)); // one state for each force
            device->ops->write(device, 0, none, none, 0);
            while (!device->ops->read(device, 0, &reading))
                usleep(100);
            assert_near(reading.position[2], 0, 1e-9);
            device->ops->tell(device, told, sizeof told);
            assert_non_null(strstr(told, "2 states, 0 refused, 0 forces lost"));
        }
        if (broken == 3) // it goes away: no pose comes, and the guard sees to the rest
        {
            pthread_join(thread, NULL);
            do
                assert_false(device->ops->read(device, 0, &reading));
            while (device->ops->tell(device, told, sizeof told), strstr(told, "has closed") == NULL);
            device->ops->write(device, 0, force, none, 0);
        }
        td_device_close(device);
        if (broken != 3)
            pthread_join(thread, NULL);
        close(service.listener);
    }
    tdDevice *device = NULL;
    tdError error = {0};
    assert_int_equal(td_device_haply("x:99999", &device, &error), TD_ERROR_USAGE);
    assert_int_equal(td_device_haply("nowhere:10001", &device, &error), TD_ERROR_USAGE);
    assert_int_equal(td_device_haply("1", &device, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "install and start it"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),      cmocka_unit_test(test_bad_packets), cmocka_unit_test(test_udp),
        cmocka_unit_test(test_bad_device),  cmocka_unit_test(test_traces),      cmocka_unit_test(test_vendor),
        cmocka_unit_test(test_openhaptics), cmocka_unit_test(test_haply),       cmocka_unit_test(test_haply_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
