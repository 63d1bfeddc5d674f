// SPDX-License-Identifier: Apache-2.0
// tendril view as a program: the address it prints, how it ends, what it refuses.
#include "program.h"
#include "view_client.h"

#define SCENE TD_SOURCE_DIR "/scenes/beam.yaml"

typedef struct running
{
    pid_t pid;
    FILE *out;
    char line[1024]; ///< the first of stdout
    int port;
} running;

// Starts the program and waits for its first line.
static running start(const char *const *more)
{
    int ends[2];
    running r = {0};
    assert_int_equal(pipe(ends), 0);
    r.pid = fork();
    assert_true(r.pid >= 0);
    if (r.pid == 0)
    {
        as_from_a_terminal();
        const char *argv[16] = {TD_PROGRAM, "view", SCENE, "--quiet", "--json", "--threads", "1"};
        for (int i = 0; more[i] != NULL; i++)
            argv[7 + i] = more[i];
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(TD_PROGRAM, (char *const *)argv);
        _exit(127);
    }
    close(ends[1]);
    r.out = fdopen(ends[0], "r");
    assert_non_null(fgets(r.line, sizeof r.line, r.out));
    const char *port = strstr(r.line, "\"port\": ");
    assert_non_null(port);
    r.port = atoi(port + 8);
    return r;
}

// Ends it by a signal; the exit code. Nothing may follow the first line.
static int end(running *r, int signal_number)
{
    int status = 0;
    char more[16];
    kill(r->pid, signal_number);
    assert_null(fgets(more, sizeof more, r->out));
    assert_int_equal(waitpid(r->pid, &status, 0), r->pid);
    fclose(r->out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void prints_its_address_and_ends_in_order(void **unused)
{
    (void)unused;
    const int signals[] = {SIGINT, SIGTERM};
    for (int i = 0; i < 2; i++)
    {
        running r = start((const char *const[]){"--port", "0", NULL});
        char address[64];
        snprintf(address, sizeof address, "\"address\": \"http://127.0.0.1:%d/\"", r.port);
        assert_non_null(strstr(r.line, address));
        assert_non_null(strstr(r.line, "\"token\": \"\""));
        viewClient c;
        client_open(&c, r.port);
        client_await(&c, "hello", "\"scene\": \"beam\"");
        assert_non_null(strstr(c.message, "robots/parallel/coarse")); // the shipped ones are offered
        client_await_binary(&c, 2);
        assert_int_equal(end(&r, signals[i]), 0);
        client_end(&c);
    }
}

static void token_is_part_of_the_address(void **unused)
{
    (void)unused;
    running r = start((const char *const[]){"--port", "0", "--token", "auto", NULL});
    const char *token = strstr(r.line, "/#token=");
    assert_non_null(token);
    viewClient c;
    char path[128];
    snprintf(path, sizeof path, "/ws?token=%.32s", token + 8);
    assert_int_equal(client_upgrade(&c, r.port, path, NULL, NULL), 101);
    client_end(&c);
    assert_int_equal(client_upgrade(&c, r.port, "/ws", NULL, NULL), 403);
    client_end(&c);
    assert_int_equal(end(&r, SIGINT), 0);
}

// A second one on the standard port takes the next.
static void standard_port_gives_way(void **unused)
{
    (void)unused;
    running a = start((const char *const[]){NULL}), b = start((const char *const[]){NULL});
    assert_int_not_equal(a.port, b.port);
    assert_true(a.port >= 8321 && b.port < 8341);
    assert_int_equal(end(&a, SIGINT), 0);
    assert_int_equal(end(&b, SIGINT), 0);
}

static void mistakes_are_told(void **unused)
{
    (void)unused;
    const struct
    {
        const char *arguments;
        int code;
        const char *says;
    } cases[] = {
        {"", 2, "missing"},
        {"nowhere.yaml --port 0", 3, "nowhere.yaml"},
        {SCENE " --port 70000", 2, "65535"},
        {SCENE " --port x", 2, "--port"},
        {SCENE " --port 0 --host 192.0.2.1", 2, "is not available"},
        {SCENE " --port 0 --token short", 2, "16 to 64"},
        {SCENE " --speed 0", 2, "--speed"},
        {SCENE " --clients 0", 2, "--clients"},
        {SCENE " --prot 1", 2, "--port"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_refuses("view", cases[i].arguments, cases[i].code, cases[i].says);
}

static int setup(void **state)
{
    (void)state;
    return make_folder();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_its_address_and_ends_in_order),
        cmocka_unit_test(token_is_part_of_the_address),
        cmocka_unit_test(standard_port_gives_way),
        cmocka_unit_test(mistakes_are_told),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
