// SPDX-License-Identifier: Apache-2.0
// What the viewer takes from strangers: messages, and who may connect.
#include "test.h"

#include "view/access.h"
#include "view/frames.h"
#include "view/message.h"

// ---------------------------------------------------------------- messages

static tdViewMessage good(const char *text)
{
    tdViewMessage message;
    char why[TD_VIEW_WHY];
    if (!td_view_message(text, strlen(text), &message, why))
        fail_msg("%s: %s", text, why);
    return message;
}

static void bad(const char *text, const char *reason)
{
    tdViewMessage message;
    char why[TD_VIEW_WHY];
    if (td_view_message(text, strlen(text), &message, why))
        fail_msg("taken: %s", text);
    if (strstr(why, reason) == NULL)
        fail_msg("%s: '%s' does not say '%s'", text, why, reason);
    for (const char *c = why; *c != '\0'; c++)
        assert_true(*c >= 0x20 && *c < 0x7f);
}

static void messages_of_all_types(void **unused)
{
    (void)unused;
    assert_int_equal(good("{\"type\": \"play\"}").action, TD_VIEW_PLAY);
    assert_int_equal(good("  { \"type\" :\t\"pause\"\n}\r\n").action, TD_VIEW_PAUSE);
    assert_int_equal(good("{\"type\": \"step\"}").count, 1);
    assert_int_equal(good("{\"count\": 1e2, \"type\": \"step\"}").count, 100);
    assert_int_equal(good("{\"type\": \"reset\"}").action, TD_VIEW_RESET);
    assert_near(good("{\"type\": \"speed\", \"value\": 0.5}").value[0], 0.5, 0);
    tdViewMessage m = good("{\"type\": \"actuator\", \"name\": \"north\", \"value\": -1.25e-2}");
    assert_int_equal(m.action, TD_VIEW_ACTUATOR);
    assert_string_equal(m.name, "north");
    assert_int_equal(m.n_values, 1);
    assert_near(m.value[0], -0.0125, 0);
    assert_int_equal(good("{\"type\": \"actuator\", \"name\": \"north\", \"value\": null}").n_values, 0);
    m = good("{\"type\": \"target\", \"name\": \"t\", \"value\": [1, 2, 3]}");
    assert_int_equal(m.n_values, 3);
    assert_near(m.value[2], 3, 0);
    assert_int_equal(good("{\"type\": \"target\", \"name\": \"t\", \"value\": [0.3]}").n_values, 1);
    assert_int_equal(good("{\"type\": \"target\", \"name\": \"t\", \"value\": 0.3}").n_values, 1);
    m = good(
        "{\"type\": \"spring\", \"mesh\": 1, \"triangle\": 12, \"weights\": [0.2, 0.3, 0.5], \"anchor\": [1, 0, -1]}");
    assert_true(m.tied && isnan(m.stiffness));
    assert_int_equal(m.mesh, 1);
    assert_int_equal(m.triangle, 12);
    assert_near(m.weights[0] + m.weights[1] + m.weights[2], 1, 1e-15);
    assert_false(good("{\"type\": \"spring\", \"anchor\": [1, 0, -1]}").tied);
    assert_int_equal(good("{\"type\": \"release\"}").action, TD_VIEW_RELEASE);
    m = good("{\"type\": \"tool\", \"name\": \"hand\", \"linear\": [0.1, 0, -0.2], \"angular\": [0, 1, 0]}");
    assert_int_equal(m.action, TD_VIEW_TOOL);
    assert_int_equal(m.n_values, 3);
    assert_near(m.value[2], -0.2, 0);
    assert_near(m.turn[1], 1, 0);
    assert_near(good("{\"type\": \"tool\", \"name\": \"hand\", \"linear\": [1, 2, 3]}").turn[0], 0, 0);
    assert_int_equal(good("{\"type\": \"tool\", \"name\": \"hand\", \"linear\": null}").n_values, 0);
    m = good("{\"type\": \"lead\", \"name\": \"hand\", \"to\": [0.1, 0, -0.2]}");
    assert_int_equal(m.action, TD_VIEW_LEAD);
    assert_near(m.anchor[2], -0.2, 0);
    m = good("{\"type\": \"group\", \"actuators\": [0, 7, 2147483647], \"rate\": -0.5}");
    assert_int_equal(m.n_list, 3);
    assert_int_equal(m.list[2], 2147483647);
    assert_near(m.value[0], -0.5, 0);
    assert_string_equal(good("{\"type\": \"field\", \"name\": \"von_mises\"}").name, "von_mises");
    assert_true(good("{\"type\": \"record\", \"action\": \"start\", \"every\": 5}").start);
    assert_false(good("{\"type\": \"record\", \"action\": \"stop\"}").start);
    assert_int_equal(good("{\"type\": \"ack\", \"frame\": 4294967295}").count, 4294967295);
    assert_int_equal(good("{\"type\": \"ping\", \"id\": 0}").count, 0);
    for (int a = 0; a < TD_VIEW_ACTIONS; a++)
        assert_true(strlen(td_view_action_name((tdViewAction)a)) > 0);
}

static void names_may_be_any_text(void **unused)
{
    (void)unused;
    assert_string_equal(good("{\"type\": \"field\", \"name\": \"a\\\"\\\\\\/\\n\\u00e9\\ud83d\\ude00\"}").name,
                        "a\"\\/\n\xc3\xa9\xf0\x9f\x98\x80");
    bad("{\"type\": \"field\", \"name\": \"\\ud83d\"}", "escape");
    bad("{\"type\": \"field\", \"name\": \"\\udc00\"}", "escape");
    bad("{\"type\": \"field\", \"name\": \"\\u0000\"}", "escape");
    bad("{\"type\": \"field\", \"name\": \"\\x\"}", "escape");
    bad("{\"type\": \"field\", \"name\": \"a\nb\"}", "control character");
}

static void nonsense_is_refused(void **unused)
{
    (void)unused;
    bad("", "one JSON object");
    bad("[]", "one JSON object");
    bad("{", "string is expected");
    bad("{}", "'type' is missing");
    bad("{\"type\"}", "colon");
    bad("{\"type\": 3}", "'type' is missing");
    bad("{\"type\": \"dance\"}", "no message of type 'dance'");
    bad("{\"type\": \"play\"} x", "follows the object");
    bad("{\"type\": \"play\", \"type\": \"pause\"}", "twice");
    bad("{\"type\": \"play\", \"loud\": 1}", "an unknown key");
    bad("{\"type\": \"play\" \"loud\": 1}", "comma");
    bad("{\"type\": \"play\", }", "string is expected");
    bad("{\"type\": {\"type\": \"play\"}}", "number is expected");
    bad("{\"type\": true}", "number is expected");
    bad("{\"type\": \"speed\"}", "'value' is missing");
    bad("{\"type\": \"speed\", \"value\": null}", "must be a number");
    bad("{\"type\": \"speed\", \"value\": 0}", "from 0.01 to 100");
    bad("{\"type\": \"speed\", \"value\": 1e999}", "too large");
    bad("{\"type\": \"speed\", \"value\": nan}", "number is expected");
    bad("{\"type\": \"speed\", \"value\": 0x10}", "comma");
    bad("{\"type\": \"speed\", \"value\": 01}", "number is expected");
    bad("{\"type\": \"speed\", \"value\": +1}", "number is expected");
    bad("{\"type\": \"speed\", \"value\": .5}", "number is expected");
    bad("{\"type\": \"speed\", \"value\": 1.}", "number is expected");
    bad("{\"type\": \"speed\", \"value\": 1e}", "number is expected");
    bad("{\"type\": \"speed\", \"value\": --1}", "number is expected");
    bad("{\"type\": \"step\", \"count\": 1.5}", "whole number");
    bad("{\"type\": \"step\", \"count\": 1001}", "from 1 to 1000");
    bad("{\"type\": \"target\", \"name\": \"t\", \"value\": [1, 2, 3, 4]}", "at most three");
    bad("{\"type\": \"target\", \"name\": \"t\", \"value\": []}", "number is expected");
    bad("{\"type\": \"target\", \"name\": \"t\", \"value\": [[1]]}", "number is expected");
    bad("{\"type\": \"target\", \"name\": \"t\", \"value\": [1", "not closed");
    bad("{\"type\": \"actuator\", \"name\": \"t\", \"value\": [1, 2, 3]}", "number or null");
    bad("{\"type\": \"actuator\", \"name\": 4, \"value\": 1}", "must be a string");
    bad("{\"type\": \"record\", \"action\": \"perhaps\"}", "'start' or 'stop'");
    bad("{\"type\": \"spring\", \"mesh\": 0, \"anchor\": [0, 0, 0]}", "or none of them");
    bad("{\"type\": \"spring\", \"stiffness\": 5, \"anchor\": [0, 0, 0]}", "where the spring is tied");
    bad("{\"type\": \"spring\", \"mesh\": 0, \"triangle\": 0, \"weights\": [1, 1, 1], \"anchor\": [0, 0, 0]}",
        "sum to 1");
    bad("{\"type\": \"spring\", \"mesh\": 0, \"triangle\": 0, \"weights\": [2, -1, 0], \"anchor\": [0, 0, 0]}",
        "from 0 to 1");
    bad("{\"type\": \"spring\", \"mesh\": -1, \"triangle\": 0, \"weights\": [1, 0, 0], \"anchor\": [0, 0, 0]}",
        "from 0");
    bad("{\"type\": \"tool\", \"name\": \"hand\"}", "'linear' is missing");
    bad("{\"type\": \"tool\", \"name\": \"hand\", \"linear\": [1, 2]}", "three numbers or null");
    bad("{\"type\": \"tool\", \"name\": \"hand\", \"linear\": [1, 2, 3, 4]}", "three numbers or null");
    bad("{\"type\": \"tool\", \"name\": \"hand\", \"linear\": [1, 2, 101]}", "from -100 to 100");
    bad("{\"type\": \"tool\", \"name\": \"hand\", \"linear\": [1, 2, 3], \"angular\": null}", "three numbers");
    bad("{\"type\": \"lead\", \"name\": \"hand\", \"to\": null}", "three numbers");
    bad("{\"type\": \"lead\", \"name\": \"hand\"}", "'to' is missing");
    bad("{\"type\": \"group\", \"actuators\": 3, \"rate\": 1}", "array of whole numbers");
    bad("{\"type\": \"group\", \"actuators\": [1.5], \"rate\": 1}", "array of whole numbers");
    bad("{\"type\": \"group\", \"actuators\": [-1], \"rate\": 1}", "from 0");
    bad("{\"type\": \"group\", \"actuators\": [2147483648], \"rate\": 1}", "from 0");
    bad("{\"type\": \"group\", \"actuators\": [1], \"rate\": 11}", "from -10 to 10");
    bad("{\"type\": \"a\x01\xff\"}", "control");
    bad("{\"type\": \"\xff\xfe\"}", "no message of type '?\?'");
}

static void long_ones_are_refused(void **unused)
{
    (void)unused;
    char text[TD_VIEW_MESSAGE + 2], why[TD_VIEW_WHY];
    tdViewMessage message;
    memset(text, ' ', sizeof text);
    memcpy(text, "{\"type\": \"play\"}", 16);
    assert_true(td_view_message(text, TD_VIEW_MESSAGE, &message, why));
    assert_false(td_view_message(text, TD_VIEW_MESSAGE + 1, &message, why));
    memset(text, '[', TD_VIEW_MESSAGE); // no depth to fall into
    assert_false(td_view_message(text, TD_VIEW_MESSAGE, &message, why));
    char list[400] = "{\"type\": \"group\", \"rate\": 1, \"actuators\": [0";
    for (int i = 1; i < TD_VIEW_LIST; i++)
        memcpy(list + strlen(list), ", 1", 4);
    memcpy(list + strlen(list), "]}", 3);
    assert_int_equal(good(list).n_list, TD_VIEW_LIST);
    memcpy(list + strlen(list) - 2, ", 1]}", 6);
    bad(list, "more than 64 numbers");
    char name[400];
    snprintf(name, sizeof name, "{\"type\": \"field\", \"name\": \"%0200d\"}", 0);
    bad(name, "longer than 127");
    bad("{\"type\": \"speed\", \"value\": 0.0000000000000000000000000000000000000000000000000000000000000000001}",
        "number is expected");
}

// ---------------------------------------------------------------- access

static void loopback_is_known(void **unused)
{
    (void)unused;
    static const char *const inside[] = {"localhost", "LOCALHOST", "127.0.0.1", "127.255.3.4", "::1", "[::1]"};
    static const char *const outside[] = {"0.0.0.0", "127.0.0.1.evil.com", "128.0.0.1", "", "localhost.evil.com",
                                          "127.1",   "127.0.0.999",        "::"};
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++)
        assert_true(td_view_is_loopback(inside[i]));
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++)
        assert_false(td_view_is_loopback(outside[i]));
}

static void loopback_wants_its_own_names(void **unused)
{
    (void)unused;
    const tdViewAccess access = {.loopback = true, .host = "localhost"};
    assert_int_equal(td_view_check(&access, "127.0.0.1:8321", NULL, NULL), TD_VIEW_WELCOME);
    assert_int_equal(td_view_check(&access, "localhost:9000", "http://localhost:9000", NULL), TD_VIEW_WELCOME);
    assert_int_equal(td_view_check(&access, "[::1]:8321", "http://[::1]:8321", NULL), TD_VIEW_WELCOME);
    // A name of somebody else's that leads here.
    assert_int_equal(td_view_check(&access, "evil.com:8321", "http://evil.com:8321", NULL), TD_VIEW_WRONG_HOST);
    assert_int_equal(td_view_check(&access, "127.0.0.1.evil.com", NULL, NULL), TD_VIEW_WRONG_HOST);
    assert_int_equal(td_view_check(&access, NULL, NULL, NULL), TD_VIEW_WRONG_HOST);
    assert_int_equal(td_view_check(&access, "", NULL, NULL), TD_VIEW_WRONG_HOST);
    assert_int_equal(td_view_check(&access, "localhost:80x", NULL, NULL), TD_VIEW_WRONG_HOST);
    assert_int_equal(td_view_check(&access, "[::1", NULL, NULL), TD_VIEW_WRONG_HOST);
    // A page of another site, or of another server on this machine.
    static const char *const origins[] = {"http://evil.com",       "null",    "",
                                          "http://localhost:3000", "file://", "http://localhost:8321.evil.com"};
    for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++)
        assert_int_equal(td_view_check(&access, "localhost:8321", origins[i], NULL), TD_VIEW_WRONG_ORIGIN);
}

static void elsewhere_the_token_decides(void **unused)
{
    (void)unused;
    tdViewAccess access = {.host = "0.0.0.0"};
    tdError error = {0};
    assert_ok(td_view_make_token(access.token, &error), error);
    assert_int_equal(strlen(access.token), 32);
    assert_true(td_view_is_token(access.token));
    char other[TD_VIEW_TOKEN + 1], longer[TD_VIEW_TOKEN + 2];
    assert_ok(td_view_make_token(other, &error), error);
    assert_string_not_equal(access.token, other);
    snprintf(longer, sizeof longer, "%s0", access.token);
    assert_int_equal(td_view_check(&access, "robot.lab:8321", "http://robot.lab:8321", access.token), TD_VIEW_WELCOME);
    assert_int_equal(td_view_check(&access, "robot.lab:8321", NULL, NULL), TD_VIEW_WRONG_TOKEN);
    assert_int_equal(td_view_check(&access, "robot.lab:8321", NULL, ""), TD_VIEW_WRONG_TOKEN);
    assert_int_equal(td_view_check(&access, "robot.lab:8321", NULL, other), TD_VIEW_WRONG_TOKEN);
    assert_int_equal(td_view_check(&access, "robot.lab:8321", NULL, longer), TD_VIEW_WRONG_TOKEN);
    assert_int_equal(td_view_check(&access, "robot.lab:8321", "http://evil.com", access.token), TD_VIEW_WRONG_ORIGIN);
    assert_false(td_view_is_token("short"));
    assert_false(td_view_is_token("with spaces in between"));
}

// ---------------------------------------------------------------- frames

typedef struct sample
{
    const char *what;
    int size; ///< of the bytes, all of which have a mask of zeros unless the second says that they have none
    const char *bytes;
    tdViewEvent event;
    int code;
} sample;

#define MASKED "\0\0\0\0"

// What RFC 6455 allows and forbids, each alone.
static void frames_are_read_by_the_rules(void **unused)
{
    (void)unused;
    static const sample samples[] = {
        {"text", 8, "\x81\x82" MASKED "{}", TD_VIEW_TEXT, 0},
        {"nothing", 6, "\x81\x80" MASKED, TD_VIEW_TEXT, 0},
        {"binary", 7, "\x82\x81" MASKED "\xff", TD_VIEW_BINARY, 0},
        {"a piece", 7, "\x01\x81" MASKED "\xff", TD_VIEW_PIECE, 0},
        {"ping", 7, "\x89\x81" MASKED "x", TD_VIEW_PINGED, 0},
        {"pong", 6, "\x8a\x80" MASKED, TD_VIEW_PONGED, 0},
        {"close", 6, "\x88\x80" MASKED, TD_VIEW_CLOSED, 1000},
        {"close with a code", 8, "\x88\x82" MASKED "\x03\xe9", TD_VIEW_CLOSED, 1001},
        {"close with a code of one's own", 9, "\x88\x83" MASKED "\x0f\xa0x", TD_VIEW_CLOSED, 4000},
        {"the head of a long one", 8, "\x81\xfe\x10\x00" MASKED, TD_VIEW_NOTHING, 0},
        {"text without a mask", 2, "\x81\x02", TD_VIEW_BROKEN, 1002},
        {"nothing without a mask", 2, "\x81\x00", TD_VIEW_BROKEN, 1002},
        {"ping without a mask", 2, "\x89\x00", TD_VIEW_BROKEN, 1002},
        {"a bit of an extension", 2, "\xc1\x82", TD_VIEW_BROKEN, 1002},
        {"an unknown kind", 2, "\x83\x80", TD_VIEW_BROKEN, 1002},
        {"an unknown control", 2, "\x8b\x80", TD_VIEW_BROKEN, 1002},
        {"a ping in pieces", 2, "\x09\x80", TD_VIEW_BROKEN, 1002},
        {"a ping that is too long", 2, "\x89\xfe", TD_VIEW_BROKEN, 1002},
        {"more of what has not begun", 2, "\x80\x80", TD_VIEW_BROKEN, 1002},
        {"a length that is too long", 8, "\x81\xfe\0\x7d" MASKED, TD_VIEW_BROKEN, 1002},
        {"a longer one", 14, "\x81\xff\0\0\0\0\0\0\xff\xff" MASKED, TD_VIEW_BROKEN, 1002},
        {"a negative length", 14, "\x81\xff\xff\0\0\0\0\0\0\0" MASKED, TD_VIEW_BROKEN, 1002},
        {"too large", 8, "\x81\xfe\x10\x01" MASKED, TD_VIEW_BROKEN, 1009},
        {"far too large", 14, "\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff" MASKED, TD_VIEW_BROKEN, 1009},
        {"no UTF-8", 8, "\x81\x82" MASKED "\xc0\x80", TD_VIEW_BROKEN, 1007},
        {"half a character", 7, "\x81\x81" MASKED "\xc3", TD_VIEW_BROKEN, 1007},
        {"a surrogate", 9, "\x81\x83" MASKED "\xed\xa0\x80", TD_VIEW_BROKEN, 1007},
        {"half a code", 7, "\x88\x81" MASKED "\x03", TD_VIEW_BROKEN, 1002},
        {"a code that is never sent", 8, "\x88\x82" MASKED "\x03\xed", TD_VIEW_BROKEN, 1002},
        {"a code that is none", 8, "\x88\x82" MASKED "\x00\x01", TD_VIEW_BROKEN, 1002},
        {"a reason that is no text", 9, "\x88\x83" MASKED "\x03\xe8\xff", TD_VIEW_BROKEN, 1007},
    };
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++)
    {
        tdViewReader reader = {0};
        tdViewEvent event;
        size_t used =
            td_view_reader_take(&reader, (const unsigned char *)samples[i].bytes, (size_t)samples[i].size, &event);
        if (event != samples[i].event || (samples[i].code != 0 && reader.code != samples[i].code) ||
            used != (size_t)samples[i].size)
            fail_msg("%s: event %d, code %d, %d bytes", samples[i].what, (int)event, reader.code, (int)used);
    }
}

// A message in pieces with a ping between them, a byte at a time, by a mask that changes.
static void pieces_make_a_message(void **unused)
{
    (void)unused;
    static const unsigned char bytes[] = {0x01, 0x82, 1,    2, 3,       4,    'a' ^ 1, 'b' ^ 2, 0x89,    0x81,
                                          9,    9,    9,    9, '?' ^ 9, 0x00, 0x80,    0,       0,       0,
                                          0,    0x80, 0x83, 5, 6,       7,    8,       'c' ^ 5, 'd' ^ 6, 'e' ^ 7};
    static const tdViewEvent expected[] = {TD_VIEW_PIECE, TD_VIEW_PINGED, TD_VIEW_PIECE, TD_VIEW_TEXT};
    tdViewReader reader = {0};
    int n = 0;
    for (size_t i = 0; i < sizeof bytes; i++)
    {
        tdViewEvent event;
        assert_int_equal(td_view_reader_take(&reader, bytes + i, 1, &event), 1);
        if (event != TD_VIEW_NOTHING)
            assert_int_equal(event, expected[n++]);
        if (event == TD_VIEW_PINGED)
            assert_true(reader.control_size == 1 && reader.control[0] == '?');
    }
    assert_int_equal(n, 4);
    assert_int_equal(reader.size, 5);
    assert_memory_equal(reader.message, "abcde", 5);
    // A new message may not begin within another.
    tdViewEvent event;
    td_view_reader_take(&reader, bytes, 8, &event);
    assert_int_equal(event, TD_VIEW_PIECE);
    td_view_reader_take(&reader, bytes, 8, &event);
    assert_int_equal(event, TD_VIEW_BROKEN);
    assert_int_equal(reader.code, 1002);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_all_types),       cmocka_unit_test(names_may_be_any_text),
        cmocka_unit_test(nonsense_is_refused),         cmocka_unit_test(long_ones_are_refused),
        cmocka_unit_test(loopback_is_known),           cmocka_unit_test(loopback_wants_its_own_names),
        cmocka_unit_test(elsewhere_the_token_decides), cmocka_unit_test(frames_are_read_by_the_rules),
        cmocka_unit_test(pieces_make_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
