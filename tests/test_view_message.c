// SPDX-License-Identifier: Apache-2.0
// What the viewer takes from strangers: messages, and who may connect.
#include "test.h"

#include "view/access.h"
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
    bad("{\"type\": \"play\"} x", "behind the object");
    bad("{\"type\": \"play\", \"type\": \"pause\"}", "twice");
    bad("{\"type\": \"play\", \"loud\": 1}", "a key too many");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_all_types),       cmocka_unit_test(names_may_be_any_text),
        cmocka_unit_test(nonsense_is_refused),         cmocka_unit_test(long_ones_are_refused),
        cmocka_unit_test(loopback_is_known),           cmocka_unit_test(loopback_wants_its_own_names),
        cmocka_unit_test(elsewhere_the_token_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
