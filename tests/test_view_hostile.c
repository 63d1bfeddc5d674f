// SPDX-License-Identifier: Apache-2.0
// What clients cannot do to the viewer: come from elsewhere, read files, flood it, hold it up.
#include "view_server.h"

#include "view/describe.h"

// ---------------------------------------------------------------- doors

static int get(int port, const char *line, const char *host)
{
    viewClient c;
    char headers[256];
    snprintf(headers, sizeof headers, "Host: %s\r\n", host);
    int code = client_request(&c, port, line, headers);
    client_end(&c);
    return code;
}

static void serves_the_page_and_no_file(void **unused)
{
    (void)unused;
    server s;
    server_start(&s);
    assert_int_equal(get(s.port, "GET /", "localhost"), 200);
    assert_int_equal(get(s.port, "GET /index.html", "127.0.0.1"), 200);
    static const char *const none[] = {"/etc/passwd",
                                       "/../../../../etc/passwd",
                                       "/%2e%2e/%2e%2e/etc/passwd",
                                       "//etc/passwd",
                                       "/index.html/../../etc/passwd",
                                       "/ws",
                                       "/0.yaml",
                                       "/index.html%00.js"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
    {
        char line[128];
        snprintf(line, sizeof line, "GET %s", none[i]);
        int code = get(s.port, line, "localhost");
        if (code != 404 && code != 403 && code != 400 && code != 0)
            fail_msg("%s: %d", none[i], code);
    }
    assert_int_equal(get(s.port, "POST /", "localhost"), 405);
    assert_int_equal(get(s.port, "GET /", "evil.com"), 403);
    assert_int_equal(get(s.port, "GET /", "localhost.evil.com"), 403);
    // The page whole, with the rules that keep it to itself.
    viewClient c;
    assert_int_equal(client_request(&c, s.port, "GET /", "Host: localhost\r\nConnection: close\r\n"), 200);
    while (client_fill(&c))
        ;
    c.bytes[c.held] = '\0';
    const char *page = (const char *)c.bytes;
    assert_non_null(strstr(page, "default-src 'none'"));
    assert_non_null(strstr(page, "nosniff"));
    assert_non_null(strstr(page, "</html>"));
    client_end(&c);
    server_stop(&s);
    server_clean(&s);
}

static void other_sites_stay_outside(void **unused)
{
    (void)unused;
    server s;
    server_start(&s);
    const struct
    {
        const char *path, *host, *origin;
        int code;
    } doors[] = {
        {"/ws", NULL, NULL, 101},
        {"/ws", "localhost:9000", "http://localhost:9000", 101}, // behind a tunnel
        {"/ws", "localhost:9000", "http://localhost:9001", 403},
        {"/ws", NULL, "http://evil.com", 403},
        {"/ws", NULL, "null", 403},
        {"/ws", "evil.com", "http://evil.com", 403},
        {"/", NULL, NULL, 404},
        {"/wss", NULL, NULL, 404},
    };
    for (size_t i = 0; i < sizeof doors / sizeof doors[0]; i++)
    {
        viewClient c;
        int code = client_upgrade(&c, s.port, doors[i].path, doors[i].host, doors[i].origin);
        if (code != doors[i].code)
            fail_msg("door %d: %d instead of %d", (int)i, code, doors[i].code);
        client_end(&c);
    }
    assert_int_equal(td_view_counts(s.view).rejected, 6);
    server_stop(&s);
    server_clean(&s);
}

static void token_is_asked_for(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    char path[256];
    server_files(&s);
    tdViewSettings settings = server_settings(&s);
    settings.token = "";
    server_begin(&s, &settings);
    assert_non_null(strstr(td_view_address(s.view), "/#token="));
    assert_int_equal(client_upgrade(&c, s.port, "/ws", NULL, NULL), 403);
    client_end(&c);
    assert_int_equal(client_upgrade(&c, s.port, "/ws?token=0123456789abcdef0123456789abcdef", NULL, NULL), 403);
    client_end(&c);
    snprintf(path, sizeof path, "/ws?token=%s", td_view_token(s.view));
    assert_int_equal(client_upgrade(&c, s.port, path, NULL, NULL), 101);
    client_await(&c, "hello", "protocol");
    client_end(&c);
    server_stop(&s);
    // On all addresses there is one whether asked for or not.
    settings.token = NULL;
    settings.host = "0.0.0.0";
    server_begin(&s, &settings);
    assert_int_equal(strlen(td_view_token(s.view)), 32);
    assert_int_equal(client_upgrade(&c, s.port, "/ws", NULL, NULL), 403);
    client_end(&c);
    server_stop(&s);
    tdError error = {0};
    settings.token = "short";
    assert_int_equal(td_view_create(&settings, &s.view, &error), TD_ERROR_USAGE);
    settings.token = NULL;
    settings.host = "192.0.2.1"; // of nobody's machine
    assert_int_equal(td_view_create(&settings, &s.view, &error), TD_ERROR_USAGE);
    assert_non_null(strstr(error.message, "--host"));
    server_clean(&s);
}

static void port_in_use_is_told(void **unused)
{
    (void)unused;
    server s;
    server_start(&s);
    tdViewSettings settings = server_settings(&s);
    tdView *second = NULL;
    tdError error = {0};
    settings.port = s.port;
    assert_int_equal(td_view_create(&settings, &second, &error), TD_ERROR_USAGE);
    assert_non_null(strstr(error.message, "in use"));
    settings.tries = 20;
    assert_ok(td_view_create(&settings, &second, &error), error);
    assert_int_not_equal(td_view_port(second), s.port);
    td_view_free(second);
    server_stop(&s);
    server_clean(&s);
}

// ---------------------------------------------------------------- nonsense

static void nonsense_is_counted(void **unused)
{
    (void)unused;
    server s;
    viewClient c, other;
    server_start(&s);
    client_open(&c, s.port);
    static const char *const texts[] = {
        "", "hello", "{}", "{\"type\": \"fly\"}", "[[[[[[[[[[[[[[[[", "{\"type\": \"speed\", \"value\": 1e400}"};
    for (size_t i = 0; i < 6; i++)
    {
        client_send_frame(&c, 0x81, texts[i], strlen(texts[i]));
        client_await(&c, "refused", "message");
    }
    client_send_frame(&c, 0x82, "{\"type\": \"pause\"}", 17); // binary
    client_await(&c, "refused", "text");
    assert_int_equal(td_view_counts(s.view).refused, 7);
    // In pieces it is one message all the same.
    client_send_frame(&c, 0x01, "{\"type\": ", 9);
    client_send_frame(&c, 0x00, "\"ping\", \"id\"", 12);
    client_send_frame(&c, 0x80, ": 5}", 4);
    client_await(&c, "pong", "5");
    // Too large: closed with the code that says so.
    char *large = calloc(1, 1 << 20);
    memset(large, ' ', 1 << 20);
    client_send_frame(&c, 0x81, large, 1 << 20);
    int code = 0;
    while (client_receive(&c) && c.opcode != 8)
        ;
    if (c.opcode == 8 && c.size >= 2)
        code = (unsigned char)c.message[0] << 8 | (unsigned char)c.message[1];
    assert_int_equal(code, 1009);
    client_end(&c);
    // Frames that are no WebSocket, and text that is no UTF-8, end that client only.
    client_open(&other, s.port);
    client_open(&c, s.port);
    assert_true(write(c.fd, "\xff\xff\xff\xff garbage", 12) == 12);
    while (client_receive(&c) && c.opcode != 8)
        ;
    client_end(&c);
    client_open(&c, s.port);
    client_send_frame(&c, 0x81, "\xff\xfe", 2);
    while (client_receive(&c) && c.opcode != 8)
        ;
    client_end(&c);
    client_await_binary(&other, TD_VIEW_FRAME);
    client_end(&other);
    free(large);
    server_stop(&s);
    server_clean(&s);
}

static void floods_are_cut_off(void **unused)
{
    (void)unused;
    server s;
    viewClient c, other;
    server_start(&s);
    client_open(&c, s.port);
    client_open(&other, s.port);
    // Good messages, too many: refused beyond the burst, and after a thousand of those it is closed.
    for (int i = 0; i < 3000; i++)
        client_say(&c, "{\"type\": \"speed\", \"value\": 1}");
    int answers = 0;
    while (client_receive(&c) && c.opcode != 8)
        answers +=
            c.opcode == 1 && strstr(c.message, "refused\",") != NULL && strstr(c.message, "200 messages") != NULL;
    assert_int_equal(c.opcode, 8);
    assert_int_equal((unsigned char)c.message[0] << 8 | (unsigned char)c.message[1], 1008);
    assert_true(answers < 50); // a flood is not answered by a flood
    assert_true(td_view_counts(s.view).refused > 1000);
    client_say(&other, "{\"type\": \"ping\", \"id\": 1}");
    client_await(&other, "pong", "1");
    client_end(&c);
    client_end(&other);
    server_stop(&s);
    server_clean(&s);
}

// ---------------------------------------------------------------- crowds

static void more_clients_than_taken(void **unused)
{
    (void)unused;
    server s;
    viewClient c[3];
    server_files(&s);
    tdViewSettings settings = server_settings(&s);
    settings.clients = 2;
    server_begin(&s, &settings);
    for (int i = 0; i < 2; i++)
    {
        client_open(&c[i], s.port);
        client_await_binary(&c[i], TD_VIEW_FRAME);
    }
    assert_int_equal(client_upgrade(&c[2], s.port, "/ws", NULL, NULL), 503);
    client_end(&c[2]);
    // A place that becomes free is given away again.
    client_end(&c[0]);
    int code = 503;
    for (int i = 0; i < 200 && code == 503; i++)
    {
        usleep(10000);
        if ((code = client_upgrade(&c[0], s.port, "/ws", NULL, NULL)) == 503)
            client_end(&c[0]);
    }
    assert_int_equal(code, 101);
    client_end(&c[0]);
    client_end(&c[1]);
    server_stop(&s);
    server_clean(&s);
}

// Clients that connect and read nothing: the simulation keeps its pace, and one that reads gets its frames.
static void stalled_clients_hold_nothing_up(void **unused)
{
    (void)unused;
    enum
    {
        STALLED = 100
    };
    server s;
    viewClient stalled[STALLED], c;
    server_start(&s);
    for (int i = 0; i < STALLED; i++)
    {
        int small = 4096;
        client_open(&stalled[i], s.port);
        setsockopt(stalled[i].fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        client_say(&stalled[i], "{\"type\": \"rate\", \"value\": 240}");
    }
    client_open(&c, s.port);
    client_await_binary(&c, TD_VIEW_FRAME);
    int64_t before = td_view_counts(s.view).steps;
    double start = td_seconds();
    int frames = 0;
    while (td_seconds() - start < 1)
    {
        client_await_binary(&c, TD_VIEW_FRAME);
        frames++;
    }
    double rate = (double)(td_view_counts(s.view).steps - before) / (td_seconds() - start);
    assert_int_equal(td_view_counts(s.view).clients, STALLED + 1);
    // 100 a second are asked for and 60 frames: half of it on a machine that has other things to do.
    if (rate < 50 || frames < 30)
        fail_msg("%g steps and %d frames a second with %d stalled clients", rate, frames, STALLED);
    client_end(&c);
    for (int i = 0; i < STALLED; i++)
        client_end(&stalled[i]);
    server_stop(&s);
    server_clean(&s);
}

// Where the way is slow only the newest frames are shown: a client that acknowledges is never more than four behind.
static void acknowledging_clients_see_the_present(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    server_start(&s);
    client_open(&c, s.port);
    client_await_binary(&c, TD_VIEW_FRAME);
    client_say(&c, "{\"type\": \"ack\", \"frame\": %u}", client_word(&c, 28));
    client_say(&c, "{\"type\": \"ping\", \"id\": 1}");
    client_await(&c, "pong", "1"); // from here on it counts
    usleep(500000);
    client_say(&c, "{\"type\": \"ping\", \"id\": 2}");
    int waiting = 0;
    for (;;)
    {
        assert_true(client_receive(&c));
        waiting += c.opcode == 2 && client_word(&c, 0) == TD_VIEW_FRAME;
        if (c.opcode == 1 && strstr(c.message, "\"pong\"") != NULL)
            break;
    }
    assert_true(waiting <= 4); // 30 would have come
    client_end(&c);
    server_stop(&s);
    server_clean(&s);
}

static void server_comes_back(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    server_start(&s);
    client_open(&c, s.port);
    client_await_binary(&c, TD_VIEW_FRAME);
    int port = s.port;
    server_stop(&s);
    while (client_receive(&c)) // to its end, whatever was on the way
        ;
    client_end(&c);
    tdViewSettings settings = server_settings(&s);
    settings.port = port;
    server_begin(&s, &settings);
    assert_int_equal(s.port, port);
    client_open(&c, port);
    client_await(&c, "hello", "\"generation\": 1");
    client_await_binary(&c, TD_VIEW_FRAME);
    client_end(&c);
    server_stop(&s);
    server_clean(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serves_the_page_and_no_file),
        cmocka_unit_test(other_sites_stay_outside),
        cmocka_unit_test(token_is_asked_for),
        cmocka_unit_test(port_in_use_is_told),
        cmocka_unit_test(nonsense_is_counted),
        cmocka_unit_test(floods_are_cut_off),
        cmocka_unit_test(more_clients_than_taken),
        cmocka_unit_test(stalled_clients_hold_nothing_up),
        cmocka_unit_test(acknowledging_clients_see_the_present),
        cmocka_unit_test(server_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
