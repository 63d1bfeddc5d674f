// SPDX-License-Identifier: Apache-2.0
// What clients cannot do to the viewer: come from elsewhere, read files, flood it, hold it up.
#include "view_server.h"

#include "view/access.h"
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

// The hash of a text as a Content-Security-Policy has it, by another program than ours.
static void hash_text(const server *s, const char *text, size_t size, char out[64])
{
    char path[128], command[256];
    snprintf(path, sizeof path, "%s/part", s->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    fclose(file);
    snprintf(command, sizeof command,
             "sha256sum %s | cut -c 1-64 | tr -d '\\n' | sed 's/../\\\\x&/g' | xargs -0 printf %%b | base64", path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(out, 64, pipe));
    assert_int_equal(pclose(pipe), 0);
    out[strcspn(out, "\n")] = '\0';
    assert_int_equal(strlen(out), 44);
}

// The rules for the page allow what it brings along by its hash, and nothing else.
static void page_runs_only_its_own(void **unused)
{
    (void)unused;
    static const char *const names[] = {"script", "style"};
    server s;
    viewClient c;
    server_start(&s);
    assert_int_equal(client_request(&c, s.port, "GET /", "Host: localhost\r\nConnection: close\r\n"), 200);
    while (client_fill(&c))
        ;
    c.bytes[c.held] = '\0';
    char *body = strstr((char *)c.bytes, "\r\n\r\n");
    assert_non_null(body);
    *body = '\0';
    body += 4;
    const char *policy = strstr((const char *)c.bytes, "content-security-policy: ");
    assert_non_null(policy);
    assert_null(strstr(policy, "unsafe"));
    for (int k = 0; k < 2; k++)
    {
        char open[16], close[16], rule[32];
        snprintf(open, sizeof open, "<%s", names[k]);
        snprintf(close, sizeof close, "</%s>", names[k]);
        snprintf(rule, sizeof rule, "; %s-src ", names[k]);
        const char *from = strstr(policy, rule);
        assert_non_null(from);
        int found = 0, given = 0;
        for (const char *at = from + strlen(rule); *at != ';'; at++)
            given += strncmp(at, "'sha256-", 8) == 0;
        const char *part = strstr(body, open), *end;
        for (; part != NULL && strchr(part, '>') != NULL; part = strstr(end, open), found++)
        {
            char hash[64], want[80];
            part = strchr(part, '>') + 1;
            end = strstr(part, close);
            assert_non_null(end);
            hash_text(&s, part, (size_t)(end - part), hash);
            snprintf(want, sizeof want, " 'sha256-%s'", hash);
            if (strstr(from, want) == NULL)
                fail_msg("no%s for a %s in %s", want, names[k], policy);
        }
        assert_true(found > 0);
        assert_int_equal(found, given);
    }
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
    assert_int_equal(client_close_code(&c), 1009);
    client_end(&c);
    // Frames that are no WebSocket, and text that is no UTF-8, end that client only.
    client_open(&other, s.port);
    client_open(&c, s.port);
    assert_true(write(c.fd, "\xff\xff\xff\xff garbage", 12) == 12);
    assert_int_equal(client_close_code(&c), 1002);
    client_end(&c);
    client_open(&c, s.port);
    client_send_frame(&c, 0x81, "\xff\xfe", 2);
    assert_int_equal(client_close_code(&c), 1007);
    client_end(&c);
    client_await_binary(&other, TD_VIEW_FRAME);
    client_end(&other);
    free(large);
    server_stop(&s);
    server_clean(&s);
}

// RFC 6455, 5.1: a server closes a connection on which a frame is not masked. None of them is obeyed.
static void unmasked_frames_close(void **unused)
{
    (void)unused;
    static const char pause[] = "{\"type\": \"pause\"}";
    static const unsigned char zeros[4] = {0};
    static const struct
    {
        int first;
        const char *text;
    } frames[] = {{0x81, pause}, {0x82, pause}, {0x01, pause}, {0x89, "ping"}, {0x8a, "pong"}, {0x88, ""}};
    server s;
    viewClient c, other;
    server_start(&s);
    client_open(&other, s.port);
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++)
    {
        client_open(&c, s.port);
        client_await_binary(&c, TD_VIEW_FRAME);
        client_send_masked(&c, frames[i].first, frames[i].text, strlen(frames[i].text), NULL);
        client_say(&c, "%s", pause); // what comes after is not heard either
        assert_int_equal(client_close_code(&c), 1002);
        client_end(&c);
        // Also after some that are as they should be, and in the midst of a message.
        client_open(&c, s.port);
        client_say(&c, "{\"type\": \"ping\", \"id\": 7}");
        client_await(&c, "pong", "7");
        client_send_frame(&c, 0x01, pause, 5);
        client_send_masked(&c, 0x80, pause + 5, sizeof pause - 6, NULL);
        assert_int_equal(client_close_code(&c), 1002);
        client_end(&c);
    }
    assert_int_equal(td_view_counts(s.view).messages, 6); // the pings
    // A mask of zeros is one.
    client_say(&other, "{\"type\": \"ping\", \"id\": 8}");
    client_await(&other, "pong", "8");
    client_await(&other, "status", "\"playing\": true");
    client_send_masked(&other, 0x81, pause, sizeof pause - 1, zeros);
    client_await(&other, "status", "\"playing\": false");
    client_end(&other);
    server_stop(&s);
    server_clean(&s);
}

// Control frames as RFC 6455, 5.5 has them.
static void pings_and_goodbyes_are_answered(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    server_start(&s);
    client_open(&c, s.port);
    for (size_t size = 0; size <= 125; size += 25)
    {
        char text[126];
        memset(text, 'a' + (int)(size / 25), sizeof text);
        client_send_frame(&c, 0x89, text, size);
        do
            assert_true(client_receive(&c));
        while (c.opcode != 10);
        assert_int_equal(c.size, size);
        assert_memory_equal(c.message, text, size);
    }
    client_send_frame(&c, 0x88, "\x03\xe9", 2); // 1001: going away
    assert_int_equal(client_close_code(&c), 1001);
    assert_false(client_receive(&c)); // and the connection ends
    client_end(&c);
    UNTIL (td_view_counts(s.view).clients == 0)
        usleep(1000);
    server_stop(&s);
    server_clean(&s);
}

// As many messages as a client may send at once are taken and not one more; after a number of refusals it is closed.
static void floods_are_cut_off(void **unused)
{
    (void)unused;
    enum
    {
        AT_ONCE = 40,
        REFUSED = 300
    };
    server s;
    viewClient c, other;
    server_files(&s);
    tdViewSettings settings = server_settings(&s);
    settings.messages = 0; // none come back with time
    settings.at_once = AT_ONCE;
    settings.most_refused = REFUSED;
    server_begin(&s, &settings);
    client_open(&c, s.port);
    client_open(&other, s.port);
    for (int i = 0; i < AT_ONCE; i++)
    {
        client_say(&c, "{\"type\": \"ping\", \"id\": %d}", i);
        client_await(&c, "pong", "\"id\"");
    }
    assert_int_equal(td_view_counts(s.view).refused, 0);
    int answers = 0;
    for (int i = 0; i <= REFUSED; i++)
        client_say(&c, "{\"type\": \"ping\", \"id\": 1}");
    for (int i = 0; i < 1000; i++)
        client_say(&c, "{\"type\": \"ping\", \"id\": 1}"); // nobody listens any more
    while (client_receive(&c) && c.opcode != 8)
    {
        assert_true(c.opcode != 1 || strstr(c.message, "\"type\": \"pong\"") == NULL);
        answers += c.opcode == 1 && strstr(c.message, "refused\",") != NULL && strstr(c.message, "messages") != NULL;
    }
    assert_int_equal(c.opcode, 8);
    assert_int_equal((unsigned char)c.message[0] << 8 | (unsigned char)c.message[1], 1008);
    assert_int_equal(td_view_counts(s.view).refused, REFUSED + 1);
    assert_true(answers > 0 && answers < 25); // a flood is not answered by a flood
    // Pieces of a message and pings count too, and what one client has used up another has not.
    for (int i = 0; i < AT_ONCE - 1; i++)
        client_send_frame(&other, i == 0 ? 0x01 : 0x00, "", 0);
    client_send_frame(&other, 0x89, "", 0);
    client_send_frame(&other, 0x80, "", 0);
    client_await(&other, "refused", "messages");
    assert_int_equal(td_view_counts(s.view).refused, REFUSED + 2);
    client_end(&c);
    client_end(&other);
    server_stop(&s);
    server_clean(&s);
}

// The limit itself, by times that are given: what docs/viewer.md says.
static void messages_come_back_with_time(void **unused)
{
    (void)unused;
    tdViewSettings settings = td_default_view();
    assert_near(settings.messages, 200, 0);
    assert_near(settings.at_once, 400, 0);
    assert_int_equal(settings.most_refused, 1000);
    tdViewAllowance a = {.left = settings.at_once, .counted = 100};
    const struct
    {
        double now;
        int taken;
    } bursts[] = {{100, 400}, {100, 0}, {100.0625, 12}, {100.125, 13}, {101.125, 200}, {104.125, 400}, {1000, 400}};
    for (size_t i = 0; i < sizeof bursts / sizeof bursts[0]; i++)
    {
        int taken = 0;
        while (td_view_allow(&a, settings.messages, settings.at_once, bursts[i].now))
            taken++;
        assert_int_equal(taken, bursts[i].taken);
    }
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
    UNTIL (code != 503)
        if ((code = client_upgrade(&c[0], s.port, "/ws", NULL, NULL)) == 503)
            client_end(&c[0]);
    assert_int_equal(code, 101);
    client_end(&c[0]);
    client_end(&c[1]);
    server_stop(&s);
    server_clean(&s);
}

// Connections that never finish their request, never take the page, or say nothing at all: the page comes all the same,
// though their time is far from over.
static void half_open_connections_keep_nobody_out(void **unused)
{
    (void)unused;
    enum
    {
        MANY = 300
    };
    static const char *const begun[] = {"", "GET / HTTP/1.1\r\nHost: localhost\r\n", "G",
                                        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"};
    server s;
    viewClient c;
    int fds[MANY];
    server_start(&s);
    client_open(&c, s.port);
    client_await_binary(&c, TD_VIEW_FRAME);
    for (int i = 0; i < MANY; i++)
    {
        int small = 4096;
        fds[i] = client_connect(s.port);
        setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        const char *text = begun[i % 4];
        assert_int_equal(send(fds[i], text, strlen(text), MSG_NOSIGNAL), strlen(text));
    }
    viewClient visitor;
    assert_int_equal(client_request(&visitor, s.port, "GET /", "Host: localhost\r\n"), 200);
    UNTIL (memmem(visitor.bytes, visitor.held, "</html>", 7) != NULL)
        assert_true(client_fill(&visitor));
    client_end(&visitor);
    // A new client gets its place, and one that was there keeps it.
    client_open(&visitor, s.port);
    client_await_binary(&visitor, TD_VIEW_FRAME);
    client_await_binary(&c, TD_VIEW_FRAME);
    assert_int_equal(td_view_counts(s.view).clients, 2);
    // Those that came first had to go.
    const tdViewSettings settings = server_settings(&s);
    for (int i = 0; i < MANY - settings.visitors; i++)
    {
        char byte;
        struct pollfd p = {.fd = fds[i], .events = POLLIN};
        assert_int_equal(poll(&p, 1, (int)(1000 * CLIENT_PATIENCE)), 1);
        if (i % 4 != 3) // those who asked for the page get what of it was on the way
            assert_true(read(fds[i], &byte, 1) <= 0);
    }
    for (int i = 0; i < MANY; i++)
        close(fds[i]);
    client_end(&visitor);
    client_end(&c);
    server_stop(&s);
    server_clean(&s);
}

// Clients that connect and read nothing: time goes on, and one that reads gets its frames. How fast is measured by
// 'tendril bench view'.
static void stalled_clients_hold_nothing_up(void **unused)
{
    (void)unused;
    enum
    {
        STALLED = 100,
        FRAMES = 100
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
    uint64_t first, step = 0;
    memcpy(&first, c.message + 8, sizeof first);
    for (int i = 0; i < FRAMES; i++)
    {
        uint64_t last = step;
        client_await_binary(&c, TD_VIEW_FRAME);
        memcpy(&step, c.message + 8, sizeof step);
        assert_true(step > last); // a newer one each time
    }
    assert_true(step >= first + FRAMES);
    assert_int_equal(td_view_counts(s.view).clients, STALLED + 1);
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
    viewClient c, other;
    server_start(&s);
    client_open(&c, s.port);
    client_open(&other, s.port);
    client_await_binary(&c, TD_VIEW_FRAME);
    client_say(&c, "{\"type\": \"ack\", \"frame\": %u}", client_word(&c, 28));
    client_say(&c, "{\"type\": \"ping\", \"id\": 1}");
    client_await(&c, "pong", "1"); // from here on it counts
    for (int i = 0; i < 40; i++)
        client_await_binary(&other, TD_VIEW_FRAME); // meanwhile another one sees what happens
    client_say(&c, "{\"type\": \"ping\", \"id\": 2}");
    int waiting = 0;
    for (;;)
    {
        assert_true(client_receive(&c));
        waiting += c.opcode == 2 && client_word(&c, 0) == TD_VIEW_FRAME;
        if (c.opcode == 1 && strstr(c.message, "\"pong\"") != NULL)
            break;
    }
    assert_true(waiting <= 4); // without it most of the 40
    client_end(&c);
    client_end(&other);
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
        cmocka_unit_test(page_runs_only_its_own),
        cmocka_unit_test(other_sites_stay_outside),
        cmocka_unit_test(token_is_asked_for),
        cmocka_unit_test(port_in_use_is_told),
        cmocka_unit_test(nonsense_is_counted),
        cmocka_unit_test(unmasked_frames_close),
        cmocka_unit_test(pings_and_goodbyes_are_answered),
        cmocka_unit_test(floods_are_cut_off),
        cmocka_unit_test(messages_come_back_with_time),
        cmocka_unit_test(more_clients_than_taken),
        cmocka_unit_test(half_open_connections_keep_nobody_out),
        cmocka_unit_test(stalled_clients_hold_nothing_up),
        cmocka_unit_test(acknowledging_clients_see_the_present),
        cmocka_unit_test(server_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
